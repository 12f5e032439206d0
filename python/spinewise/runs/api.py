"""Run a spec from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.own.contract import with_scheme
from spinewise.own.scheme import Scheme
from spinewise.plain import as_whole, shown
from spinewise.runs.result import Result
from spinewise.runs.simulated import simulated
from spinewise.specs.lines import located
from spinewise.specs.spec import as_spec, file_of, resolve

MOST_THREADS = 1024


def run(
    spec: Mapping[str, object] | str | Path,
    *,
    seed: int | None = None,
    progress: ProgressHook | None = None,
    trace: Iterable[int] | None = None,
    scheme: str | type[Scheme] | None = None,
    threads: int = 1,
) -> Result:
    """Simulate one spec and return its results.

    Args:
        spec: a dict with the structure of the TOML file, or the path of a TOML file.
        seed: in place of the spec's own seed.
        progress: called about ten times a second with a `spinewise.core.Progress`; an exception it
            raises stops the run.
        trace: flows, by number, whose choices of paths are traced: see `Result.trace`. It takes a second
            pass, and the outcome is the same.
        scheme: in place of the spec's own: the name of one, or a class derived from `spinewise.HostScheme` or
            `spinewise.SwitchScheme`. The spec's [scheme] table is kept if it names the same.
        threads: the most threads for the run, at least 1; the outcome is the same. A large fabric gains most. No
            more are used than there are processors, or memory for: each sets up all of the run. A run that cannot be
            split, or whose threads would wait more than they work, uses one thread, and a warning says why.

    Raises:
        SchemeError: a scheme written in Python raised an exception.
        SpecError: naming the key, the value given and what is allowed.
    """
    checked_threads(threads, trace)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: a function of a Progress is needed, not {type(progress).__name__}")
    resolved = resolve(spec if scheme is None else with_scheme(as_spec(spec), scheme), seed=seed)
    try:
        return simulated(resolved, progress, traced(trace), threads)
    except SpecError as error:
        raise located(error, file_of(spec)) from None


def checked_threads(threads: object, trace: object) -> None:
    """Check that this many threads can be used for a run.

    Raises:
        SpecError: they cannot.
    """
    number = as_whole(threads)
    if number is None or not 1 <= number <= MOST_THREADS:
        raise SpecError("threads", shown(threads), f"a whole number, 1 to {MOST_THREADS}")
    if number > 1 and trace is not None:
        raise SpecError("threads", number, "1 together with trace", "one thread follows all the flows that are traced")


def traced(flows: Iterable[int] | None) -> list[int] | None:
    """The flows to trace, each once; None for none.

    Raises:
        SpecError: one is not a flow number.
    """
    if flows is None:
        return None
    if not isinstance(flows, Iterable):
        raise TypeError(f"trace: a list of numbers of flows is needed, not {type(flows).__name__}")
    numbers = []
    for flow in flows:
        number = as_whole(flow)
        if number is None or not 0 <= number < 2**32:
            raise SpecError("trace", shown(flow), "numbers of flows, 0 to 4294967295")
        numbers.append(number)
    return sorted(set(numbers)) or None
