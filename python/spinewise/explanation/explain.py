"""Why a flow moved: the choices of one flow out of a trace, as facts that `spinewise.explanation.story` tells.

All times are in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from spinewise import core
from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.explanation.choices import Candidate, Choices
from spinewise.explanation.facts import FlowFacts, flow_facts, in_short
from spinewise.explanation.resent import Again, sent_again
from spinewise.measures.tables import Values as Array
from spinewise.runs import api, formats
from spinewise.runs.result import Result

if TYPE_CHECKING:
    import pyarrow as pa

PS_PER_US = 1e6


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
    """`result` with a trace of `flow`: its own, or that of the same run once more; of one on Linux, the simulator's.

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
    if "linux" in result.report:
        return again
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


def on_linux(result: Result, flow: int) -> str | None:
    """What became of a flow on Linux, which does not tell its choices; None of a run of the simulator."""
    if "linux" not in result.report:
        return None
    return (
        f"On Linux {in_short(flow_facts(result, flow))}. Linux keeps no choices: what follows is the simulator's run of"
        " the same flows, in which the scheme may have chosen otherwise."
    )


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
