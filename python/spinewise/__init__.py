"""Spinewise: a packet-level simulator of datacenter load balancing.

import spinewise as sw

result = sw.run("scenarios/demo.toml", seed=3)
result.flows                    # pyarrow.Table, one row per flow
result.summary().of("short").fct_s.p99
"""

from importlib import import_module
from typing import TYPE_CHECKING

from spinewise import core
from spinewise.comparison.cells import Comparison
from spinewise.errors import SchemeError, SpecError
from spinewise.measures.facts import Facts
from spinewise.measures.summary import Summary
from spinewise.own.params import flag, number, whole, word
from spinewise.own.scheme import ANY, HostScheme, Key, Layout, SwitchScheme, To, us
from spinewise.results import query, read, write
from spinewise.runs.api import run
from spinewise.runs.result import Result
from spinewise.runs.validation import Validation, validate
from spinewise.specs.schemes import schemes
from spinewise.specs.spec import load, resolve

if TYPE_CHECKING:
    from spinewise.advice.answer import Advice
    from spinewise.advice.api import advise
    from spinewise.comparison.plan import compare
    from spinewise.comparison.verdict import Verdict, verdicts
    from spinewise.studies.api import sweep

__all__ = [
    "ANY",
    "Advice",
    "Comparison",
    "Facts",
    "HostScheme",
    "Key",
    "Layout",
    "Result",
    "SchemeError",
    "SpecError",
    "Summary",
    "SwitchScheme",
    "To",
    "Validation",
    "Verdict",
    "advise",
    "compare",
    "flag",
    "load",
    "number",
    "query",
    "read",
    "resolve",
    "run",
    "schemes",
    "sweep",
    "us",
    "validate",
    "verdicts",
    "whole",
    "word",
    "write",
]

__version__: str

# What takes many runs needs the store and its libraries, which a single run does not: loaded when first asked for.
LATER = {
    "Advice": "spinewise.advice.answer",
    "advise": "spinewise.advice.api",
    "Verdict": "spinewise.comparison.verdict",
    "compare": "spinewise.comparison.plan",
    "sweep": "spinewise.studies.api",
    "verdicts": "spinewise.comparison.verdict",
}


def __getattr__(name: str) -> object:
    """``__version__`` comes from the engine, which is loaded when first needed; see also `LATER`."""
    if name == "__version__":
        return core.version()
    if name in LATER:
        return getattr(import_module(LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """All that the package offers, loaded or not."""
    return sorted({*globals(), *LATER})
