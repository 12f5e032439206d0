"""The figures of a run."""

from __future__ import annotations

from matplotlib.figure import Figure

from spinewise import core
from spinewise.errors import SpecError
from spinewise.figures import faults, heat, spread, steps, topology
from spinewise.figures.kinds import Kind, UnfitError, by_name
from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures.curves import Curves
from spinewise.measures.entries import names
from spinewise.measures.tables import numbers
from spinewise.runs.api import run
from spinewise.runs.result import Result
from spinewise.specs.faults import without_faults

ROUNDS = ("all_reduce", "all_to_all", "rpc", "incast", "permutation")
"""Kinds of traffic in rounds."""


def spreads(result: Result) -> dict[str, Curves]:
    """The curves of the flows of each traffic entry that has finished flows.

    Raises:
        UnfitError: none has, or the run kept no row per flow.
    """
    check_kept(result)
    known = set(numbers(result.flows, "entry").tolist())
    curves = {
        name: Curves.of(result.flows, number)
        for number, name in enumerate(names(result.spec["traffic"]))
        if number in known
    }
    found = {name: one for name, one in curves.items() if one.flows}
    if not found:
        raise UnfitError("needs finished flows, and flows.parquet has none")
    return found


def check_kept(result: Result) -> None:
    """Check that the run kept a row per flow.

    Raises:
        UnfitError: it had more flows than it was to keep.
    """
    had = result.report["flows"]
    if had and not result.flows.num_rows:
        raise UnfitError(f"needs a row per flow, and of {had:,} flows none was kept: raise metrics.keep_flows_up_to")


def title_of(result: Result) -> str:
    """The title of a run."""
    scheme = result.spec.get("scheme", {}).get("name", "")
    return f"{result.spec.get('name', 'run')}, {scheme}, seed {result.report['seed']}"


def cdf(result: Result) -> Figure:
    """Distributions of completion time and slowdown, a curve for each traffic entry."""
    curves = spreads(result)
    flows = ", ".join(f"{name} {one.flows:,}" for name, one in curves.items())
    return spread.cdf(
        {"": {name: [one] for name, one in curves.items()}}, f"{title_of(result)}. Finished flows: {flows}."
    )


def size(result: Result) -> Figure:
    """Slowdown against flow size, a row for each traffic entry."""
    rows = {name: {name: [one]} for name, one in spreads(result).items()}
    made = spread.by_size(rows, f"{title_of(result)}. Sizes in bins, four a decade.")
    if made is None:
        raise UnfitError("needs flows of three sizes or more, ten of each")
    return made


def links(result: Result) -> Figure:
    """Links against time."""
    for name in (heat.USE, heat.QUEUE):
        if name not in result.report["series_names"] or not result.entities_of(name):
            raise UnfitError("needs series of links: run with --set metrics.series_interval_us=100, say")
    return heat.heat(result)


def around_faults(result: Result) -> Figure:
    """Goodput around faults; the same spec is run again without them."""
    if not result.spec.get("fault"):
        raise UnfitError("needs a run with [[fault]] tables")
    if "linux" in result.report:
        raise UnfitError("needs a run of the simulator: a run measured on Linux is never alike twice")
    if not result.spec.get("metrics", {}).get("series_interval_us"):
        raise UnfitError("needs goodput over time: run with --set metrics.series_interval_us=100, say")
    try:
        whole = run(without_faults(result.spec))
    except SpecError as error:
        why = f"{error.key}, {error.value}, is not {error.allowed}"
        raise UnfitError(f"needs the same run again without faults: {why}") from None
    return faults.around_faults(result, whole)


def fabric(result: Result) -> Figure:
    """The topology with its links coloured by use."""
    found = core.topology(result.spec)
    if len(found["links"]) > topology.MOST_LINKS:
        raise UnfitError(
            f"needs a fabric of at most {topology.MOST_LINKS:,} links, and this one has {len(found['links']):,}"
        )
    use = {str(link["name"]): float(link["utilisation"]) for link in result.report["links"]}
    return topology.topology(found, use, f"{title_of(result)}.")


def step_chart(result: Result) -> Figure:
    """The steps of collective operations, requests and other rounds."""
    rounds = result.rounds.rounds
    if not rounds:
        if any(entry["kind"] in ROUNDS or entry.get("rounds", 1) > 1 for entry in result.spec["traffic"]):
            check_kept(result)
        raise UnfitError(f"needs traffic in rounds: {', '.join(ROUNDS[:-1])} or {ROUNDS[-1]}")
    if not any(one.begun for one in rounds):
        raise UnfitError("needs a round that has begun")
    return steps.steps(rounds, f"{title_of(result)}.", result.report["stop_ps"] / PS_PER_SECOND)


KINDS = by_name(
    [
        Kind("cdf", "cumulative distributions of completion time and slowdown, by traffic entry", cdf),
        Kind("size", "slowdown against flow size: median and 99th percentile", size),
        Kind("links", "links against time: how busy, how long their queues", links),
        Kind("topology", "the fabric: slow, dead and faulty links, and how busy each was", fabric),
        Kind("steps", "when each step of a collective began and ended, and which flow was last", step_chart),
        Kind("faults", "goodput around faults, beside the same run without them", around_faults),
    ]
)
