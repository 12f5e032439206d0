"""Why a flow moved: the choices of one flow out of a trace, as facts that `spinewise.explanation.story` tells.

All times are in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Required, TypedDict, cast

import numpy as np

from spinewise import core
from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.explanation.resent import Again, sent_again
from spinewise.measures.entries import names
from spinewise.measures.tables import Values as Array
from spinewise.measures.tables import numbers
from spinewise.measures.units import duration
from spinewise.runs import api, formats
from spinewise.runs.result import Result

if TYPE_CHECKING:
    import pyarrow as pa

PS_PER_US = 1e6
DEAD_END = "into a dead end"
"""What a way is called that leads to no path."""
# What stands in a trace besides what schemes saw.
FACTS = ("size_bytes", "src", "dst", "finished", "packets", "retransmits", "timeouts", "fast_retransmits",
         "dupack3_events", "out_of_order", "spurious_retransmits", "marks")  # fmt: skip


class FlowFacts(TypedDict, total=False):
    """What flows.parquet says of a flow: `FACTS`, and times in µs. Its number alone where a run kept no flows."""

    flow: Required[int]
    traffic: str
    transport: str
    size_bytes: int
    src: int
    dst: int
    finished: bool
    start_us: float
    fct_us: float
    ideal_fct_us: float
    packets: int
    retransmits: int
    timeouts: int
    fast_retransmits: int
    dupack3_events: int
    out_of_order: int
    spurious_retransmits: int
    marks: int


@dataclass(frozen=True)
class Candidate:
    """A way that a packet could have taken.

    Attributes:
        name: the switches it leads over.
        links: its links, from the device to the destination; where choices are yet to be made, the best ones.
        queue_bytes: queued at the port of each link.
        state: of each link: up, paused or down.
        queueing_us: how long the packet would have waited there, if nothing else came.
        travel_us: transmission and propagation.
        worse_us: how much longer than on the best candidate.
        saw: what the scheme saw of it, by quantity.
    """

    name: str
    links: list[str]
    queue_bytes: list[int]
    state: list[str]
    queueing_us: float
    travel_us: float
    worse_us: float
    saw: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Move:
    """A packet that took another way than the one before it.

    Attributes:
        time_us: when; since_start_us: counted from the start of the flow.
        device: who chose.
        seq: first byte of the packet.
        silent_us: since the packet before, at this device.
        rule: why, in the scheme's words; None if it does not tell.
        decided_us: when that was decided, where it was at an earlier packet.
        saw: what the scheme saw of the flow, by quantity.
        old, new, best: where from, where to, and what would have been best; old is None at the first packet.
        gain_us: how much sooner through than on the old way.
        sent_again: packets sent again before the next move.
    """

    time_us: float
    since_start_us: float
    device: str
    seq: int
    silent_us: float | None
    rule: str | None
    decided_us: float | None
    saw: dict[str, float]
    old: Candidate | None
    new: Candidate
    best: Candidate
    gain_us: float | None
    sent_again: int


@dataclass(frozen=True)
class Share:
    """What one way got: packets, the mean wait its packets met there, and how often it was best as any packet chose."""

    device: str
    name: str
    packets: int
    queueing_us: float
    best: int


@dataclass(frozen=True)
class Story:
    """All that is told of a flow.

    Attributes:
        flow: its facts, as in flows.parquet; times as `start_us`, `fct_us`, `ideal_fct_us`.
        scheme: who chose, and about, what that is.
        quantities: what the scheme looks at: (unit, meaning) by name.
        first: where its first packet went.
        moves: those asked for, in order; moves_in_all: how many there were.
        shares: packets by way.
        again: packets sent again, in order, as far as the trace tells.
        summary: counts and means over the whole flow.
    """

    flow: FlowFacts
    scheme: str
    about: str
    quantities: dict[str, tuple[str, str]]
    first: Move
    moves: list[Move]
    moves_in_all: int
    shares: list[Share]
    again: list[Again]
    summary: dict[str, float | int | None]

    def as_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return asdict(self)


def traced(result: Result, flow: int, folder: str, progress: ProgressHook | None = None) -> Result:
    """`result` with a trace of `flow`: its own, or that of the same run once more.

    Raises:
        SpecError: the flow cannot be traced, or the run does not come out as it did.
    """
    if flow in result.report.get("traced_flows", ()):
        return result
    try:
        again = api.run(result.spec, trace=[flow], progress=progress)
    except SpecError as error:
        if error.key == "trace":
            # It made no choices; what it came to is known all the same.
            hint = "; ".join(text for text in (error.hint, in_short(flow_facts(result, flow))) if text)
            raise SpecError("--flow", error.value, error.allowed, hint) from None
        raise error.with_file(f"{folder}/{formats.RUN.record}") from None
    old, new = (each.report["outcome_hash"] for each in (result, again))
    if old != new:
        made, now = result.report.get("version", "another version"), core.version()
        why = (
            f"it was made by Spinewise {made}, this is {now}: run it anew"
            if made != now
            else "this version is another build, or the folder was changed: run it anew"
        )
        raise SpecError("outcome_hash", f"{new}, run once more", f"{old}, as when it was made", why, file=folder)
    return again


class Choices:
    """The choices of a flow's data packets, in the order of time: arrays by choice, candidates by row."""

    def __init__(self, trace: pa.Table, flow: int) -> None:
        import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

        self.acks = int(pc.sum(pc.and_(mine(trace, flow, "ack"), trace.column("chosen"))).as_py() or 0)
        self.rows = trace.filter(mine(trace, flow, "data"))
        self.saw = [name for name in self.rows.column_names if "." in name]
        self.of_flow = {name for name in self.saw if is_of_flow(self.rows.schema.field(name))}
        number = self.numbers("choice")
        self.starts = np.flatnonzero(np.diff(number, prepend=-1)).astype(int)
        self.ends = np.append(self.starts[1:], len(number))
        self.chosen = np.flatnonzero(self.numbers("chosen"))
        previous = np.flatnonzero(self.numbers("previous"))
        self.previous = np.full(len(self.starts), -1)
        self.previous[np.searchsorted(self.starts, previous, side="right") - 1] = previous
        self.time = self.numbers("time_ps")[self.starts] / PS_PER_US
        self.seq = self.numbers("seq")[self.starts]
        self.again = self.numbers("retransmit")[self.starts]
        self.worse = self.numbers("worse_ps") / PS_PER_US
        self.queueing = self.numbers("queueing_ps") / PS_PER_US
        self.travel = self.numbers("travel_ps") / PS_PER_US
        self.whole = self.queueing + self.travel
        self.device = self.words("device")
        self.acts = self.words("acts")
        self.rules = self.words("rule")
        links, paths = self.rows.column("links").to_pylist(), self.numbers("paths")
        self.names = [way_name(links[row][:-1], int(paths[row])) for row in range(len(number))]

    def __len__(self) -> int:
        return len(self.starts)

    def numbers(self, name: str) -> Array:
        """A column of numbers, by row."""
        return numbers(self.rows, name)

    def words(self, name: str) -> list[str | None]:
        """A column of words, by choice."""
        column = self.rows.column(name).combine_chunks()
        values: list[str | None] = column.dictionary_decode().to_pylist()
        return [values[start] for start in self.starts]

    def stray(self, row: int) -> bool:
        """Whether a candidate leads to no path: of its links only that to the host is known."""
        return self.names[row] == DEAD_END

    def moves(self) -> Array:
        """The choices at which the flow moved."""
        return np.flatnonzero((self.previous >= 0) & (self.previous != self.chosen))

    def decisions(self) -> Array:
        """The choices at which something was decided, as far as the scheme tells."""
        return np.array([at for at, acts in enumerate(self.acts) if acts in (None, "chooses")], dtype=int)

    def decided_at(self, at: int) -> int:
        """The choice at which what happened at `at` was decided."""
        here = at
        while here > 0 and self.acts[here] == "follows":
            here = next((k for k in range(here - 1, -1, -1) if self.device[k] == self.device[at]), 0)
        return here if self.acts[here] == "chooses" else at

    def best(self, at: int) -> int:
        """The row of the best candidate; the chosen one if it is as good."""
        first, last = self.starts[at], self.ends[at]
        return int(min(range(first, last), key=lambda row: (self.worse[row], row != self.chosen[at])))

    def candidate(self, row: int, seen: int | None = None) -> Candidate:
        """A candidate by its row; what the scheme saw of it from row `seen`."""
        one = self.rows.slice(row, 1).to_pylist()[0]
        saw = one if seen is None else self.rows.slice(seen, 1).to_pylist()[0]
        return Candidate(
            name=self.names[row],
            links=one["links"],
            queue_bytes=one["queue_bytes"],
            state=one["state"],
            queueing_us=float(self.queueing[row]),
            travel_us=float(self.travel[row]),
            worse_us=float(self.worse[row]),
            saw={name: saw[name] for name in self.saw if saw[name] is not None},
        )


def way_name(links: list[str], paths: int) -> str:
    """The switches between the ends of a path, by its links; of several paths the first switch.

    Behind a fault a candidate may lead to no path at all.
    """
    if not links:
        return DEAD_END
    hops = [link.partition("->")[2] for link in links]
    if paths > 1:
        return f"via {hops[0]} and on"
    last, parallel, number = hops[-1].partition("#")
    between = [*hops[:-1], *([f"link {number} on"] if parallel else [])]
    return f"via {', '.join(between)}" if between else f"straight to {last}"


def mine(trace: pa.Table, flow: int, kind: str) -> pa.Array | pa.ChunkedArray:
    """Which rows are of this flow and kind of packet."""
    import pyarrow.compute as pc  # noqa: PLC0415

    return pc.and_(pc.equal(trace.column("flow"), flow), pc.equal(trace.column("kind").cast("string"), kind))


def is_of_flow(quantity: pa.Field) -> bool:
    """Whether what a scheme saw is of the flow, and not of a way."""
    return (quantity.metadata or {}).get(b"of") == b"flow"


def story(result: Result, flow: int, wanted: Callable[[Move], bool] = lambda _: True) -> Story:
    """What the trace of `result` tells of a flow; of its moves those that are `wanted`.

    Raises:
        SpecError: the flow has sent nothing.
    """
    choices = None if result.trace is None else Choices(result.trace, flow)
    if not choices:
        raise SpecError("--flow", flow, "a flow that has sent a packet between two racks in this run")
    facts = flow_facts(result, flow)
    start = float(facts.get("start_us", choices.time[0]))
    scheme = str(choices.words("scheme")[0])
    known = {entry["name"]: entry for entry in core.registry()["schemes"]}
    told = describe(choices.rows, choices.saw)
    moves = choices.moves()
    return Story(
        flow=facts,
        scheme=scheme,
        about=known[scheme]["about"] if scheme in known else "",
        quantities=told,
        first=move_at(choices, 0, start, len(choices)),
        moves=[move for move in all_moves(choices, moves, start) if wanted(move)],
        moves_in_all=len(moves),
        shares=shares(choices),
        again=sent_again(choices, result),
        summary=summary(choices, moves),
    )


def flow_facts(result: Result, flow: int) -> FlowFacts:
    """What flows.parquet says of a flow; its number alone where a run kept no flows."""
    facts: FlowFacts = {"flow": flow}
    if flow < result.flows.num_rows:
        row = result.flows.slice(flow, 1).to_pylist()[0]
        times = {f"{name}_us": row[f"{name}_ps"] / PS_PER_US for name in ("start", "fct", "ideal_fct")}
        facts |= cast(FlowFacts, {name: row[name] for name in FACTS} | times)
        facts["traffic"] = names(result.spec["traffic"])[row["entry"]]
        facts["transport"] = result.spec["transport"]["kind"] if row["tcp"] else "udp"
    return facts


def in_short(facts: FlowFacts) -> str:
    """What became of a flow, in a line; nothing where a run kept no flows."""
    if "fct_us" not in facts:
        return ""
    took = f"arrived after {duration(facts['fct_us'] / 1e6)}" if facts["finished"] else "had not arrived"
    times = f", {facts['fct_us'] / facts['ideal_fct_us']:.1f} times its ideal" if facts["ideal_fct_us"] else ""
    many = (
        f"{count:,} {one}{'s' * (count != 1)}{rest}"
        for count, one, rest in ((facts["timeouts"], "timeout", ""), (facts["retransmits"], "packet", " sent again"))
    )
    return f"flow {facts['flow']} {took}{times if facts['finished'] else ''}, with {' and '.join(many)}"


def describe(trace: pa.Table, names: list[str]) -> dict[str, tuple[str, str]]:
    """Unit and meaning of what schemes saw."""
    about = {name: trace.schema.field(name).metadata or {} for name in names}
    return {name: (of.get(b"unit", b"").decode(), of.get(b"meaning", b"").decode()) for name, of in about.items()}


def all_moves(choices: Choices, moves: Array, start: float) -> Iterator[Move]:
    """Every move."""
    for place, at in enumerate(moves):
        following = int(moves[place + 1]) if place + 1 < len(moves) else len(choices)
        yield move_at(choices, int(at), start, following)


def move_at(choices: Choices, at: int, start: float, following: int) -> Move:
    """The choice `at` as a move; the next one is `following`."""
    decided = choices.decided_at(at)
    shift = int(choices.starts[decided] - choices.starts[at])
    chosen, previous, best = int(choices.chosen[at]), int(choices.previous[at]), choices.best(at)
    old = choices.candidate(previous, previous + shift) if previous >= 0 else None
    new = choices.candidate(chosen, chosen + shift)
    of_flow = choices.of_flow
    before = next((k for k in range(at - 1, -1, -1) if choices.device[k] == choices.device[at]), None)
    return Move(
        time_us=float(choices.time[at]),
        since_start_us=float(choices.time[at] - start),
        device=str(choices.device[at]),
        seq=int(choices.seq[at]),
        silent_us=None if before is None else float(choices.time[at] - choices.time[before]),
        rule=choices.rules[decided],
        decided_us=float(choices.time[decided]) if decided != at else None,
        saw={name: value for name, value in new.saw.items() if name in of_flow},
        old=old and without(old, of_flow),
        new=without(new, of_flow),
        best=without(choices.candidate(best, best + shift), of_flow),
        gain_us=None if previous < 0 else float(choices.whole[previous] - choices.whole[chosen]),
        sent_again=int(choices.again[at:following].sum()),
    )


def without(candidate: Candidate, names: set[str]) -> Candidate:
    """A candidate without what is no fact of it alone."""
    saw = {name: value for name, value in candidate.saw.items() if name not in names}
    return Candidate(**(vars(candidate) | {"saw": saw}))


def shares(choices: Choices) -> list[Share]:
    """Packets by way."""
    found: dict[tuple[str, str], list[float]] = {}
    for at in range(len(choices)):
        for row in range(choices.starts[at], choices.ends[at]):
            entry = found.setdefault((str(choices.device[at]), choices.names[row]), [0, 0.0, 0])
            took = row == choices.chosen[at]
            entry[0] += took
            entry[1] += choices.queueing[row] if took else 0.0
            entry[2] += choices.worse[row] == 0.0
    return [
        Share(device, name, int(packets), waits / packets if packets else 0.0, int(best))
        for (device, name), (packets, waits, best) in sorted(found.items())
    ]


def summary(choices: Choices, moves: Array) -> dict[str, float | int | None]:
    """Counts and means over the whole flow."""
    worse = choices.worse[choices.chosen]
    decided = choices.decisions()
    gains = choices.whole[choices.previous[moves]] - choices.whole[choices.chosen[moves]]

    def mean(values: Array) -> float | None:
        return float(values.mean()) if len(values) else None

    return {
        "packets": len(choices),
        "decisions": len(decided),
        "moves": len(moves),
        "moves_that_paid": int((gains > 0).sum()),
        "mean_gain_us": mean(gains),
        "decisions_that_were_best": mean(worse[decided] == 0.0),
        "mean_regret_us": mean(worse[decided]),
        "packets_on_the_best": mean(worse == 0.0),
        "mean_regret_of_packets_us": mean(worse),
        "acks_that_chose": choices.acks,
    }
