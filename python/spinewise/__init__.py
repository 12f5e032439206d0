"""Spinewise: a packet-level simulator of datacenter load balancing.

import spinewise as sw

result = sw.run("scenarios/demo.toml", seed=3)
result.flows                    # pyarrow.Table, one row per flow
result.summary().of("short").fct_s.p99
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinewise.advice.answer import Advice
    from spinewise.advice.api import advise
    from spinewise.comparison.cells import Comparison
    from spinewise.comparison.plan import compare
    from spinewise.comparison.verdict import Verdict, verdicts
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

# Loaded on first use: users who only read the help of the command, or press Ctrl-C at once, need not wait.
LATER = {
    "ANY": "spinewise.own.scheme",
    "Advice": "spinewise.advice.answer",
    "Comparison": "spinewise.comparison.cells",
    "Facts": "spinewise.measures.facts",
    "HostScheme": "spinewise.own.scheme",
    "Key": "spinewise.own.scheme",
    "Layout": "spinewise.own.scheme",
    "Result": "spinewise.runs.result",
    "SchemeError": "spinewise.errors",
    "SpecError": "spinewise.errors",
    "Summary": "spinewise.measures.summary",
    "SwitchScheme": "spinewise.own.scheme",
    "To": "spinewise.own.scheme",
    "Validation": "spinewise.runs.validation",
    "Verdict": "spinewise.comparison.verdict",
    "advise": "spinewise.advice.api",
    "compare": "spinewise.comparison.plan",
    "flag": "spinewise.own.params",
    "load": "spinewise.specs.spec",
    "number": "spinewise.own.params",
    "query": "spinewise.results",
    "read": "spinewise.results",
    "resolve": "spinewise.specs.spec",
    "run": "spinewise.runs.api",
    "schemes": "spinewise.specs.schemes",
    "sweep": "spinewise.studies.api",
    "us": "spinewise.own.scheme",
    "validate": "spinewise.runs.validation",
    "verdicts": "spinewise.comparison.verdict",
    "whole": "spinewise.own.params",
    "word": "spinewise.own.params",
    "write": "spinewise.results",
}

MODULES = ("core", "resilience", "results")
"""Modules that are used by their own names."""


def __getattr__(name: str) -> object:
    """Return a public name from the module that defines it; ``__version__`` comes from the engine."""
    if name == "__version__":
        return import_module("spinewise.core").version()
    if name in MODULES:
        return import_module(f"spinewise.{name}")
    if name in LATER:
        # Kept: hooks of schemes ask for `sw.ANY` or `sw.us` a million times.
        return globals().setdefault(name, getattr(import_module(LATER[name]), name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names of all that the package offers, loaded or not."""
    return sorted({*globals(), *LATER, *MODULES})
