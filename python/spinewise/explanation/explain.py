"""Explain why a flow moved: the choices of one flow from a trace, as facts for `spinewise.explanation.story`.

All times are in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from spinewise import core
from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.explanation.breaks import listed
from spinewise.explanation.choices import Candidate, Choices
from spinewise.explanation.facts import FlowFacts, flow_facts, in_short
from spinewise.explanation.losses import Losses, Lost
from spinewise.explanation.resent import Again, sent_again
from spinewise.magnitudes import PS_PER_US
from spinewise.measures.nodes import Nodes
from spinewise.measures.tables import Values as Array
from spinewise.runs import api, formats
from spinewise.runs.otherwise import why_otherwise
from spinewise.runs.result import Result

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Move:
    """A packet that took another path than the previous one.

    Attributes:
        time_us: the time; since_start_us: the time since the start of the flow.
        device: the device that chose.
        seq: first byte of the packet.
        silent_us: since the packet before, at this device.
        rule: the reason, in the scheme's words; None if it gives none.
        decided_us: when that was decided, if it was at an earlier packet.
        saw: the quantities that the scheme saw of the flow.
        old, new, best: the old path, the new path and the best one; old is None at the first packet.
        gain_us: how much earlier it arrived than on the old path; None if either led nowhere, or is unknown.
        gone, come: uplinks that left its candidates since the previous packet, and those that joined them.
        faults: the faults active on the old and the new path at that time, in words.
        by_routes: the device kept its choice, and switches behind it used another path.
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
    gone: tuple[str, ...] = ()
    come: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    by_routes: bool = False

    @property
    def escaped(self) -> bool:
        """Whether nothing got through on the old path, and something did on the new one."""
        return self.old is not None and not self.old.open and self.new.open


@dataclass(frozen=True)
class Share:
    """The share of one path: packets, their mean wait there, and how often it was best when any packet chose."""

    device: str
    name: str
    packets: int
    queueing_us: float
    best: int


@dataclass(frozen=True)
class Story:
    """Everything reported about a flow.

    Attributes:
        flow: its facts, as in flows.parquet; times as `start_us`, `fct_us`, `ideal_fct_us`.
        scheme: the scheme that chose, and about, its description.
        quantities: the quantities that the scheme uses: (unit, meaning) by name.
        first: the choice of its first packet.
        moves: the requested moves, in order; moves_in_all: the number of all.
        shares: packets by path.
        again: packets sent again, in order, as far as the trace has them.
        lost: packets and acknowledgements that never arrived, or not whole, by place; None if unknown.
        faults: the faults active while it was in progress, in words.
        hashed: whether a hash of the header decides its paths.
        estimated_us: when the last of its packets would have arrived by the estimates of waiting, since the start; None
            if nothing got through on any path taken.
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
    lost: list[Lost] | None
    faults: list[str]
    hashed: bool
    estimated_us: float | None
    summary: dict[str, float | int | None]

    def as_dict(self) -> dict[str, object]:
        """The story as a dictionary for JSON."""
        return asdict(self)


def traced(result: Result, flow: int, folder: str, progress: ProgressHook | None = None) -> Result:
    """Return `result` with a trace of `flow`: its own, or that of the repeated run; for one on Linux, the simulator's.

    Raises:
        SpecError: the flow cannot be traced, or the run does not come out as it did.
    """
    if flow in result.report.get("traced_flows", ()) and result.losses is not None:
        return result
    try:
        again = api.run(result.spec, trace=[flow], progress=progress)
    except SpecError as error:
        if error.key == "trace":
            # It had no choices; its outcome is known nevertheless.
            hint = "; ".join(text for text in (error.hint, in_short(flow_facts(result, flow))) if text)
            raise SpecError("--flow", error.value, error.allowed, hint) from None
        raise error.with_file(f"{folder}/{formats.RUN.record}") from None
    return again if "linux" in result.report else traced_again(result, again, folder)


def traced_again(result: Result, again: Result, folder: str | None = None) -> Result:
    """Return `again`, a repetition of the same run.

    Raises:
        SpecError: it does not come out as it did.
    """
    old, new = (each.report["outcome_hash"] for each in (result, again))
    if old != new:
        allowed = f"{old}, as in the kept run"
        raise SpecError("outcome_hash", f"{new} in the repeated run", allowed, why_otherwise(result), file=folder)
    return again


def on_linux(result: Result, flow: int) -> str | None:
    """The outcome of a flow on Linux, which does not record choices; None for a run of the simulator."""
    if "linux" not in result.report:
        return None
    return (
        f"On Linux {in_short(flow_facts(result, flow))}. Linux records no choices: what follows is the simulator's"
        f" run of"
        " the same flows, in which the scheme may have chosen differently."
    )


def no_choice(facts: FlowFacts) -> tuple[str, str | None]:
    """What a flow needs to be explained, and what this one without choices was."""
    if facts.get("packets"):
        waits = "`explain RUN RUN --flow N` tells what it waited for"
        hint = f"this one had a single path throughout; {in_short(facts)}; {waits}"
        return "a flow that had more than one path", hint
    return "a flow that has sent a packet between two racks in this run", None


def story(result: Result, flow: int, wanted: Callable[[Move], bool] = lambda _: True) -> Story:
    """The story of a flow, from the trace of `result`; of its moves, only those `wanted`.

    Raises:
        SpecError: the flow has sent nothing.
    """
    subflows = result.spec["transport"]["kind"] == "mptcp"
    values = result.spec["scheme"].get("path_tag") == "outer"
    nodes = Nodes.of(result.spec)
    choices = (
        None if result.trace is None else Choices(result.trace, flow, subflows=subflows, values=values, nodes=nodes)
    )
    facts = flow_facts(result, flow)
    if not choices:
        raise SpecError("--flow", flow, *no_choice(facts))
    start = float(facts.get("start_us", choices.time[0]))
    scheme = str(choices.words("scheme")[0])
    known = {entry["name"]: entry for entry in core.registry()["schemes"]}
    told = describe(choices.rows, choices.saw)
    moves, losses = choices.moves(), Losses(result, flow)
    carried = choices.carried()
    told_moves = [*all_moves(choices, moves, start, losses), *by_routes(choices, carried, start, losses)]
    end = start + facts["fct_us"] if facts.get("finished") else result.report["stop_ps"] / PS_PER_US
    return Story(
        flow=facts,
        scheme=scheme,
        about=known[scheme]["about"] if scheme in known else "",
        quantities=told,
        first=move_at(choices, 0, start, len(choices), losses),
        moves=[move for move in sorted(told_moves, key=lambda move: move.time_us) if wanted(move)],
        moves_in_all=len(told_moves),
        shares=shares(choices),
        again=sent_again(choices, result, losses),
        lost=losses.all() if losses.known else None,
        faults=listed(one for one in losses.breaks if one.holds(start, end)),
        hashed=choices.hashed,
        estimated_us=estimated_us(choices, start),
        summary=summary(choices, moves) | {"moves_by_routes": len(carried)},
    )


def estimated_us(choices: Choices, start: float) -> float | None:
    """When the last packet would have arrived if each had waited as estimated when it chose, since the start."""
    went = choices.open[choices.chosen]
    arrivals = (choices.time + choices.whole[choices.chosen])[went]
    return float(arrivals.max()) - start if len(arrivals) else None


def describe(trace: pa.Table, names: list[str]) -> dict[str, tuple[str, str]]:
    """Unit and meaning of what schemes saw."""
    about = {name: trace.schema.field(name).metadata or {} for name in names}
    return {name: (of.get(b"unit", b"").decode(), of.get(b"meaning", b"").decode()) for name, of in about.items()}


def all_moves(choices: Choices, moves: Array, start: float, losses: Losses) -> Iterator[Move]:
    """Every move that a choice made."""
    for place, at in enumerate(moves):
        following = int(moves[place + 1]) if place + 1 < len(moves) else len(choices)
        made, then = move_at(choices, int(at), start, following, losses), choices.stale(int(at))
        yield made if then is None else off(choices, then, made, losses, by_routes=False)


def by_routes(choices: Choices, carried: list[tuple[int, int]], start: float, losses: Losses) -> Iterator[Move]:
    """The moves of packets whose choice was kept, by switches whose routes had changed."""
    for at, then in carried:
        yield off(choices, then, move_at(choices, at, start, at, losses), losses, by_routes=True)


def off(choices: Choices, then: int, move: Move, losses: Losses, *, by_routes: bool) -> Move:
    """A move off the path that the packet of choice `then` took; what was queued there meanwhile is unknown."""
    old = without(choices.candidate(int(choices.chosen[then])), choices.of_flow)
    links = set(old.links)
    cut = any(one.cuts and one.holds(move.time_us, move.time_us) and links & one.links for one in losses.breaks)
    faults = faults_of(losses, old, move.time_us)
    return replace(move, old=replace(old, open=old.open and not cut), gain_us=None, faults=faults, by_routes=by_routes)


def move_at(choices: Choices, at: int, start: float, following: int, losses: Losses) -> Move:
    """The choice `at` as a move; the next one is `following`."""
    decided = choices.decided_at(at)
    shift = int(choices.starts[decided] - choices.starts[at])
    chosen, previous, best = int(choices.chosen[at]), int(choices.previous[at]), choices.best(at)
    old = choices.candidate(previous, previous + shift) if previous >= 0 else None
    new = choices.candidate(chosen, chosen + shift)
    of_flow = choices.of_flow
    before = choices.before(at)
    now, earlier = choices.offers(at), [] if before is None else choices.offers(before)
    both_open = previous >= 0 and bool(choices.open[previous] and choices.open[chosen])
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
        gain_us=float(choices.whole[previous] - choices.whole[chosen]) if both_open else None,
        sent_again=int(choices.again[at:following].sum()),
        gone=tuple(link for link in earlier if link not in now),
        come=tuple(link for link in now if link not in earlier) if before is not None else (),
        faults=tuple(
            dict.fromkeys(one for way in (old, new) for one in faults_of(losses, way, float(choices.time[at])))
        ),
    )


def faults_of(losses: Losses, way: Candidate | None, at_us: float) -> tuple[str, ...]:
    """The faults active on a path at some instant."""
    links = set() if way is None else set(way.links)
    found = [one for one in losses.breaks if one.holds(at_us, at_us) and links & one.links]
    # If a path ends at a switch without an onward route, the link behind that switch is down.
    if not found and way is not None and not way.open and way.links:
        end = way.links[-1].partition("->")[2].partition("#")[0]
        found = [one for one in losses.breaks if one.cuts and one.holds(at_us, at_us) and one.touches(end)]
    return tuple(listed(found))


def without(candidate: Candidate, names: set[str]) -> Candidate:
    """A candidate without the quantities that are not about it alone."""
    saw = {name: value for name, value in candidate.saw.items() if name not in names}
    return Candidate(**(vars(candidate) | {"saw": saw}))


def shares(choices: Choices) -> list[Share]:
    """Packets by path."""
    found: dict[tuple[str, str], list[float]] = {}
    for at in range(len(choices)):
        for row in range(choices.starts[at], choices.ends[at]):
            entry = found.setdefault((str(choices.device[at]), choices.names[row]), [0, 0.0, 0])
            took = row == choices.chosen[at]
            entry[0] += took
            entry[1] += choices.queueing[row] if took else 0.0
            entry[2] += bool(choices.is_best[row])
    return [
        Share(device, name, int(packets), waits / packets if packets else 0.0, int(best))
        for (device, name), (packets, waits, best) in sorted(found.items())
    ]


def summary(choices: Choices, moves: Array) -> dict[str, float | int | None]:
    """Counts and means over the whole flow."""
    worse, best, went = choices.worse[choices.chosen], choices.is_best[choices.chosen], choices.open[choices.chosen]
    decided = choices.decisions()
    old, new = choices.previous[moves], choices.chosen[moves]
    both = choices.open[old] & choices.open[new]
    gains = (choices.whole[old] - choices.whole[new])[both]
    escapes = int((~choices.open[old] & choices.open[new]).sum())

    def mean(values: Array) -> float | None:
        return float(values.mean()) if len(values) else None

    return {
        "packets": len(choices),
        "decisions": len(decided),
        "moves": len(moves),
        "moves_that_paid": int((gains > 0).sum()) + escapes,
        "moves_off_dead_paths": escapes,
        "mean_gain_us": mean(gains),
        "decisions_that_were_best": mean(best[decided]),
        "mean_regret_us": mean(worse[decided][went[decided]]),
        "packets_on_the_best": mean(best),
        "packets_on_dead_paths": int((~went).sum()),
        "mean_regret_of_packets_us": mean(worse[went]),
        "acks_that_chose": choices.acks,
    }
