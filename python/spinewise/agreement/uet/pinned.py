"""Cases of uet-htsim with recorded paths, run again on those paths, flow by flow.

Nothing in them is drawn: one entropy value a flow, queues in which everything has room, marks above a step. On the
recorded paths, and in htsim's order of what falls on one instant, each flow takes the same time to the picosecond.
Packets that grant credit change their value with each packet, and their paths were not recorded: here they take any. So
where receivers pace, the means are compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from spinewise.agreement.uet.recorded import Refused, Times, UetCase, refused
from spinewise.agreement.uet.setting import spec_of
from spinewise.errors import SpecError
from spinewise.measures.tables import numbers
from spinewise.own.scheme import HostScheme, Layout, Shape
from spinewise.runs.api import run
from spinewise.runs.hidden import scratch
from spinewise.shapes import Spec

if TYPE_CHECKING:
    from spinewise._core import Cx, Header, Packet

COLUMNS = ("flow", "dir", "tor", "spine")
# If paths of credit are not recorded: the largest difference of the mean.
MEAN_WITHIN = 0.0025
# Values that packets with credit use, one after the other.
CREDIT_VALUES = 128
# A run this long, in microseconds, shows how flows are numbered.
MOMENT_US = 0.001


@dataclass(frozen=True)
class PinnedAgreement:
    """A recorded run on its own paths.

    Attributes:
        case: its name.
        seed: of the recorded run.
        flows: how many it has.
        equal: how many take the same time to the picosecond.
        largest_ps: the largest difference of a flow, ours less theirs, picoseconds.
        mean: relative difference of the means.
        problems: why it does not agree; empty if it does.
    """

    case: str
    seed: int
    flows: int
    equal: int
    largest_ps: int
    mean: float
    problems: list[str]

    def as_dict(self) -> dict[str, object]:
        """The record in the JSON list."""
        return {
            "case": self.case, "seed": self.seed, "flows": self.flows, "equal": self.equal,
            "largest_ps": self.largest_ps, "mean_relative": self.mean,
            "verdict": "fail" if self.problems else "pass", "problems": self.problems,
        }  # fmt: skip


class Sent:
    """Row of a flow's direction: packets that granted credit."""

    def __init__(self) -> None:
        """Start without any grants."""
        self.grants = 0


class Pinned(HostScheme):
    """Each flow's data on one recorded spine, and its answers on another."""

    name = "pinned"
    source = "recorded paths of uet-htsim"
    unit = "flow"
    Flow = Sent

    # The spine of each flow and direction, by the engine's keys.
    spines: ClassVar[dict[int, int]] = {}

    def layout(self, shape: Shape) -> Layout:
        """Answers have paths, too."""
        del shape
        return Layout(picks_acks=True)

    def pick(self, cx: Cx, flow: Sent, packet: Packet, header: Header) -> int | None:
        """Choose the recorded spine; for packets that grant credit any, by a value that counts up."""
        del header
        if packet.kind == "ack" and packet.seq == 0:
            flow.grants += 1
            # A mixing hash: a linear one, as CRC-32 is, spreads the values of a flow far more evenly than chance does.
            value = hashlib.blake2b(f"{packet.flow} {flow.grants % CREDIT_VALUES}".encode(), digest_size=8).digest()
            return int.from_bytes(value) % int(cx.view.ways_to_host(packet.dst))
        return Pinned.spines.get(packet.flow, 0)


def replays(cases: Sequence[UetCase]) -> tuple[list[PinnedAgreement], list[Refused]]:
    """Run each recorded run of each case on its paths; also return the cases that cannot be built here, or read.

    Raises:
        SpecError: there is no other case.
    """
    found: list[PinnedAgreement] = []
    errors: dict[str, SpecError] = {}
    for case in cases:
        try:
            found += [replay(case, seed) for seed in case.seeds]
        except SpecError as error:
            errors[case.name] = error
    return found, refused(errors, found)


def replay(case: UetCase, seed: int) -> PinnedAgreement:
    """One recorded run."""
    with scratch() as folder:
        spec = spec_of(case, seed, Path(folder) / "flows.csv")
        if spec["topology"]["kind"] != "leaf_spine":
            raise SpecError(
                "topo", case.topo, "a fabric of two tiers, where the paths of a case are given", file=case.name
            )
        spec["scheme"] = {"name": Pinned.name, "path_tag": "explicit"}
        spines, times = paths(case, seed), case.times(seed)
        pairs = numbered(spec, times)
        directions = enumerate(("data", "ctrl"))
        Pinned.spines = {
            ours << 1 | bit: spines[times.flows[theirs], direction]
            for bit, direction in directions
            for ours, theirs in pairs
            if (times.flows[theirs], direction) in spines
        }
        found = numbers(run(spec, scheme=Pinned).flows, "sender_fct_ps").astype(np.int64)
    differences = np.array([found[ours] - times.fct_ps[theirs] for ours, theirs in pairs], dtype=np.int64)
    return judged(case, seed, differences, times.fct_ps)


def numbered(spec: Spec, times: Times) -> list[tuple[int, int]]:
    """Each recorded flow: its number here, and its place there."""
    if spec["traffic"][0]["kind"] != "dag":
        # By their start, and then as they are listed.
        return list(enumerate(sorted(range(len(times.flows)), key=lambda place: times.start_ps[place])))
    # Before they start, flows that wait for others have only their hosts: a moment of the run shows their numbers.
    table = run({**spec, "scheme": {"name": "ecmp"}, "run": {**spec["run"], "until_us": MOMENT_US}}).flows
    places: dict[tuple[int, int], list[int]] = {}
    for place, ends in enumerate(times.ends):
        places.setdefault(ends, []).append(place)
    ours = zip(numbers(table, "src").tolist(), numbers(table, "dst").tolist(), strict=True)
    # Between other hosts there are only messages of ours, from the host of one flow to that of the next.
    return [(number, places[ends].pop(0)) for number, ends in enumerate(ours) if places.get(ends)]


def judged(case: UetCase, seed: int, differences: npt.NDArray[np.int64], theirs: Sequence[int]) -> PinnedAgreement:
    """One recorded run from the differences of its flows."""
    equal, mean = int((differences == 0).sum()), float(differences.mean() / np.mean(theirs))
    problems = []
    if case.receiver_paces and abs(mean) > MEAN_WITHIN:
        problems.append(f"mean {100 * mean:+.2f} % off (at most {100 * MEAN_WITHIN:g} %)")
    if not case.receiver_paces and equal < differences.size:
        problems.append(f"{differences.size - equal} of {differences.size} flows are not equal to the picosecond")
    largest = int(differences[np.abs(differences).argmax()])
    return PinnedAgreement(case.name, seed, differences.size, equal, largest, mean, problems)


def paths(case: UetCase, seed: int) -> dict[tuple[int, str], int]:
    """The recorded spine of each flow and direction that leaves its rack.

    Raises:
        SpecError: the file is missing, or is not such a file.
    """
    told = case.rows(seed, "paths", COLUMNS, lambda row: ((int(row["flow"]), row["dir"]), int(row["spine"])))
    return dict(told)
