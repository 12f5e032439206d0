"""Why a percentile differs between two runs of the same traffic: the same flows in both, and what they waited for.

The flows in the tail of either run are compared, not those of one: the slowest flows of a run alone would on average be
faster in any other run, whatever the two runs are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from spinewise.comparison.side_by_side import SideBySide
from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.explanation.again import repeated
from spinewise.explanation.pairs import Asked, Pairs
from spinewise.explanation.parts import OWN, PARTS, TRAVEL, Accounts, Amounts, Spent
from spinewise.measures.nodes import Nodes
from spinewise.measures.tables import Values as Array
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result
from spinewise.specs.carriers import kinds

MOST_FLOWS = 40
"""The number of flows whose packets are examined."""
MOST_SENT = 300_000
"""The number of packets that they may have sent together."""
MOST_TRACED = 40_000
"""The number of packets of those of them that are traced, so that queues are known by link."""
COUNTS = ("timeouts", "retransmits", "spurious_retransmits", "out_of_order", "marks", "nacks", "cnps", "path_changes",
          "packets")  # fmt: skip
MOST_PLACES = 12
"""The number of links kept of each part."""

Watch = Callable[[str], ProgressHook | None]
"""Makes the progress hook of a run, by its label."""


@dataclass(frozen=True)
class Side:
    """A run.

    Attributes:
        label: its name here.
        folder: where it is kept.
        transport: the kind of its transport.
        value: the percentile: µs, or a slowdown.
        finished, unfinished: flows asked for that finished and that did not.
        tail: flows that took as long as the percentile or longer.
        only: the flows that finished in this run and not in the other.
    """

    label: str
    folder: str
    transport: str
    value: float
    finished: int
    unfinished: int
    tail: int
    only: list[int]


@dataclass(frozen=True)
class Both:
    """A number in both runs: the mean over flows.

    Attributes:
        name: what.
        a, b: in the first run and in the second.
    """

    name: str
    a: float
    b: float

    @property
    def more(self) -> float:
        """How much more it is in the second run."""
        return self.b - self.a


@dataclass(frozen=True)
class Part:
    """A part of the times.

    Attributes:
        name: one of `PARTS`.
        words: what it is.
        a, b: means over the examined flows: µs, or multiples of their ideals.
        share: its part of the mean difference; NaN if there is none.
        places: where, by link, by path or by the fate of packets.
    """

    name: str
    words: str
    a: float
    b: float
    share: float
    places: list[Both]

    @property
    def more(self) -> float:
        """How much more it is in the second run."""
        return self.b - self.a


@dataclass(frozen=True)
class Pair:
    """A flow in both runs.

    Attributes:
        flow: its number.
        src, dst: hosts.
        size_bytes: its size.
        a_us, b_us: its completion times.
        ideal_us: its ideal, in the first run.
        in_tails: the runs in whose tail it is, by their labels.
        counts: what it met, by column of flows.parquet: in the first run and in the second.
        src_name, dst_name: what the spec calls the hosts; None where it names none.
        most: the part that makes most of its difference, and how much of it, µs; None if it was not examined.
    """

    flow: int
    src: int
    dst: int
    size_bytes: int
    a_us: float
    b_us: float
    ideal_us: float
    in_tails: list[str]
    counts: dict[str, tuple[int, int]]
    most: tuple[str, float] | None
    src_name: str | None = None
    dst_name: str | None = None


@dataclass(frozen=True)
class Difference:
    """Why a percentile differs between two runs.

    Attributes:
        asked: the percentile.
        sides: the two runs.
        differing: the keys in which the specs differ, with both values.
        entries: names of the traffic entries whose flows are asked for, together.
        same: whether the runs have the same outcome, bit for bit.
        other_ideals: flows whose ideals differ.
        shared: flows in both tails.
        flows: flows in either tail that finished in both runs; longer, shorter: those that took longer in the second
            run, and those that took less time.
        mean: how much longer these took in the second run: µs, or multiples of their ideals; NaN without flows.
        counts: what they met.
        pairs: the flows, those that differ most first.
        examined: the number of flows whose packets were examined; traced: those of them whose queues are known by link.
        mean_examined: how much longer the examined flows took; the shares are of this.
        parts: what the time of the examined flows was spent on, the greatest difference first.
        crossings: how often packets and acknowledgements crossed the network for an examined flow, one after the other:
            two are a round trip.
        crossing_us: how long one took without waiting, µs.
        exact: the number of examined flows of which that is exact in both runs: of others it is the least.
        unexamined: why no packets were examined; None if they were.
    """

    asked: Asked
    sides: tuple[Side, Side]
    differing: dict[str, list[object]]
    entries: list[str]
    same: bool
    other_ideals: int
    shared: int
    flows: int
    longer: int
    shorter: int
    mean: float
    counts: list[Both]
    pairs: list[Pair]
    examined: int
    traced: int
    mean_examined: float
    parts: list[Part]
    crossings: Both
    crossing_us: Both
    exact: int
    unexamined: str | None

    def as_dict(self) -> dict[str, object]:
        """The difference as a dictionary for JSON."""
        return asdict(self)


def differ(
    a: Result, b: Result, asked: Asked, folders: tuple[str, str] = ("A", "B"), watch: Watch | None = None
) -> Difference:
    """Explain why a percentile differs between two runs of the same traffic.

    Both runs are repeated, unless they were made on Linux. If they have the same outcome, one of them is repeated for
    one flow, and none for a percentile.

    Args:
        a: the first run.
        b: the second run.
        asked: the percentile, and of which flows.
        folders: where they are kept, for messages and labels.
        watch: makes the progress hook of each repeated run.

    Raises:
        SpecError: the flows of the runs cannot be paired, or none of them is asked for.
    """
    side_by_side = SideBySide.of(folders, (a, b))
    one, two = side_by_side.labels
    pairs = Pairs(a, b, (one, two), asked)
    same = a.report["outcome_hash"] == b.report["outcome_hash"]
    flows = pairs.either
    chosen, traced = examinable(pairs) if asked.flow is not None or not same else ([], [])
    spent, why = examined(pairs, chosen, traced, folders, watch, same=same) if chosen else ([], None)
    known = [flow for flow, *both in zip(chosen, *spent, strict=False) if all(both)] if spent else []
    by_flow = [{flow: one for flow, one in zip(chosen, side, strict=True) if one and flow in known} for side in spent]
    longer = pairs.longer(flows)
    mean_examined = mean(pairs.longer(known))
    return Difference(
        asked=asked,
        sides=(side_of(pairs, 0, folders[0]), side_of(pairs, 1, folders[1])),
        differing=side_by_side.differing,
        entries=pairs.entries,
        same=same,
        other_ideals=pairs.other_ideals,
        shared=len({*pairs.tails[0]} & {*pairs.tails[1]}),
        flows=len(flows),
        longer=int((longer > 0).sum()),
        shorter=int((longer < 0).sum()),
        mean=mean(longer),
        counts=counts(pairs, flows),
        pairs=[pair_of(pairs, flow, by_flow) for flow in by_difference(pairs, flows)],
        examined=len(known),
        traced=len({*known} & {*traced}),
        mean_examined=mean_examined,
        parts=parts_of(pairs, known, by_flow, mean_examined),
        crossings=crossings(known, by_flow),
        crossing_us=crossing_us(known, by_flow),
        exact=sum(all(side[flow].exact for side in by_flow) for flow in known),
        unexamined=why,
    )


def examinable(pairs: Pairs) -> tuple[list[int], list[int]]:
    """The flows to be examined, those nearest to the percentiles first, and those of them to be traced."""
    sent = np.maximum(*(numbers(run.flows, "packets").astype(np.int64) for run in pairs.runs))
    chosen: list[int] = []
    traced: list[int] = []
    for flow in pairs.either:
        if len(chosen) == MOST_FLOWS:
            break
        if not chosen or sent[[*chosen, flow]].sum() <= MOST_SENT:
            chosen.append(flow)
            if not traced or sent[[*traced, flow]].sum() <= MOST_TRACED:
                traced.append(flow)
    return chosen, traced


def examined(
    pairs: Pairs, flows: list[int], traced: list[int], folders: tuple[str, str], watch: Watch | None, *, same: bool
) -> tuple[list[list[Spent | None]], str | None]:
    """What the time of flows was spent on, in both runs; or why that is not known."""
    found: list[list[Spent | None]] = []
    for run, label, folder in zip(pairs.runs, pairs.labels, folders, strict=True):
        if same and found:
            return [*found, *found], None
        if "linux" in run.report:
            return [], f"{label} was measured on Linux, which keeps no packets and is never alike twice"
        try:
            again = repeated(run, flows, traced, folder, watch(label) if watch else None)
        except SpecError as error:
            if error.key != "outcome_hash":
                raise
            return [], f"{label} does not come out as it did: {error.hint}"
        accounts = Accounts(again)
        found.append([accounts.spent(flow) for flow in flows])
    return found, None


def side_of(pairs: Pairs, run: int, folder: str) -> Side:
    """One of the runs."""
    return Side(
        label=pairs.labels[run],
        folder=folder,
        transport=kinds(pairs.runs[run].spec),
        value=pairs.at[run],
        finished=int((pairs.counts & pairs.finished[run]).sum()),
        unfinished=pairs.unfinished(run),
        tail=len(pairs.tails[run]),
        only=pairs.only(run),
    )


def mean(values: Sequence[float] | Array) -> float:
    """The mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def by_difference(pairs: Pairs, flows: list[int]) -> list[int]:
    """Flows, those whose times differ most first."""
    longer = pairs.longer(flows)
    return [flows[at] for at in np.argsort(-np.abs(longer), kind="stable")]


def counts(pairs: Pairs, flows: list[int]) -> list[Both]:
    """What flows met, as means; what none of them met is left out."""
    found = []
    for name in COUNTS:
        one, two = (mean(numbers(run.flows, name)[flows]) for run in pairs.runs)
        if one or two:
            found.append(Both(name, one, two))
    return found


def pair_of(pairs: Pairs, flow: int, spent: Sequence[dict[int, Spent]]) -> Pair:
    """A flow in both runs."""
    rows = [run.flows.slice(flow, 1).to_pylist()[0] for run in pairs.runs]
    most = None
    if spent and flow in spent[0]:
        more = {part: spent[1][flow].us[part] - spent[0][flow].us[part] for part in PARTS}
        sign = 1.0 if pairs.took[1][flow] >= pairs.took[0][flow] else -1.0
        # A flow sends the same bytes in both runs: how many of them back to back follows from the other parts.
        part = max(PARTS, key=lambda part: (sign * more[part] > 0.0, part != OWN, sign * more[part]))
        most = (part, more[part])
    nodes = Nodes.of(pairs.runs[0].spec)
    return Pair(
        flow=flow,
        src=rows[0]["src"],
        dst=rows[0]["dst"],
        size_bytes=rows[0]["size_bytes"],
        a_us=float(pairs.took[0][flow]),
        b_us=float(pairs.took[1][flow]),
        ideal_us=float(pairs.ideal[0][flow]),
        in_tails=[label for label, tail in zip(pairs.labels, pairs.tails, strict=True) if flow in tail],
        counts={name: (rows[0][name], rows[1][name]) for name in COUNTS if rows[0][name] or rows[1][name]},
        most=most,
        src_name=nodes.host(rows[0]["src"]) if nodes.given else None,
        dst_name=nodes.host(rows[0]["dst"]) if nodes.given else None,
    )


def parts_of(pairs: Pairs, flows: list[int], spent: Sequence[dict[int, Spent]], whole: float) -> list[Part]:
    """The parts of the times of flows, the greatest difference first."""
    if not flows:
        return []
    found = []
    for name, words in PARTS.items():
        one, two = (mean([side[flow].us[name] / pairs.scale[flow] for flow in flows]) for side in spent)
        if one or two:
            places = places_of(pairs, flows, spent, name)
            found.append(Part(name, words, one, two, (two - one) / whole if whole else float("nan"), places))
    return sorted(found, key=lambda part: -abs(part.more))


def crossings(flows: list[int], spent: Sequence[dict[int, Spent]]) -> Both:
    """How often the network was crossed for a flow."""
    one, two = (mean([side[flow].crossings for flow in flows]) for side in spent or ({}, {}))
    return Both("crossings", one, two)


def crossing_us(flows: list[int], spent: Sequence[dict[int, Spent]]) -> Both:
    """How long a crossing took without waiting, over all of them."""
    found = []
    for side in spent or ({}, {}):
        many = sum(side[flow].crossings for flow in flows)
        found.append(sum(side[flow].us[TRAVEL] for flow in flows) / many if many else float("nan"))
    return Both("crossing_us", *found)


KEPT_BY = {"travel": "routes", "queues": "queues", "ack_queues": "ack_queues", "timers": "timers", "resent": "resent"}
"""The places that a part has, as an attribute of `Spent`."""


def places_of(pairs: Pairs, flows: list[int], spent: Sequence[dict[int, Spent]], part: str) -> list[Both]:
    """Where a part of the times was spent, the greatest difference first."""
    if part not in KEPT_BY:
        return []
    sums = []
    for side in spent:
        places: dict[str, float] = defaultdict(float)
        for flow in flows:
            at: Amounts = getattr(side[flow], KEPT_BY[part])
            for place, us in at.items():
                places[place] += us / pairs.scale[flow] / len(flows)
        sums.append(places)
    names = {*sums[0], *sums[1]}
    found = [Both(name, float(sums[0][name]), float(sums[1][name])) for name in names]
    return sorted(found, key=lambda one: (-abs(one.more), one.name))[:MOST_PLACES]
