"""The few parameters worth trying, for the schemes that remain after the first seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from spinewise.advice.candidates import Candidate
from spinewise.specs.variants import Variant

Value = float | int | str


@dataclass(frozen=True)
class Knob:
    """A parameter with a large effect, and values of it besides the default.

    Attributes:
        key: its name.
        values: the values to try.
        why: the reason for these.
    """

    key: str
    values: tuple[Value, ...]
    why: str


GAP_WHY = (
    "a gap longer than the delay difference of paths keeps order, a shorter one moves more often; auto follows the"
    " base round trip "
    "and the marking threshold"
)
GAP: Final = Knob("flowlet_gap_us", ("auto", 100), GAP_WHY)

KNOBS: Final[dict[str, Knob]] = {
    "letflow": GAP,
    "conga": GAP,
    "clove": GAP,
    "meet": GAP,
    "hula": Knob("flowlet_gap_us", ("auto", 300), GAP_WHY),
    "drill": Knob("d", (1, 4), "how many queues are drawn for each packet"),
    "presto": Knob("weights", ("cells",), "fewer cells on slower paths, as after a failure"),
    "flowcell": Knob("packets", (11, 176), "a quarter of the cell and four times it"),
    "luopan": Knob("samples", (4,), "more paths sampled in each period"),
    "flowbender": Knob("t", (0.02, 0.15), "the share of marks above which a flow moves"),
    "elab": Knob("t_explore_rtts", (100, 500), "how long an unmarked path is left unprobed (§5.1: 100 to 500)"),
    "conweave": Knob("theta_reply_us", ("auto", 16), "the deadline of an answer, which follows the base round trip"),
    "selb": Knob("theta", (0.1, 0.4), "how fast a queue grows before flows leave its path"),
    "hermes": Knob("t_rtt_high_us", (100, 200), "the delay above which a path is congested"),
    "pdlb": Knob("period_us", (50, 500), "the time between measurements of paths (500 µs for PDLB's Fig. 10)"),
    "hedera": Knob("interval_ms", (1,), "the controller's round: 5 s is longer than most simulated runs"),
    "ttc": Knob("threshold_bytes", (4500, 45000), "by how much another queue must be shorter"),
    "qdaps": Knob("reroute_above_packets", (20, 80), "the queue above which a packet may leave its path"),
}
"""The parameters tried for each scheme; for the others, no paper asks for tuning."""


def variants(candidate: Candidate) -> list[Candidate]:
    """A candidate with other values of its parameter; empty if it has no knob, or the knob is set already."""
    knob = KNOBS.get(candidate.variant.name)
    if knob is None or candidate.tuned is not None or any(key == knob.key for key, _ in candidate.variant.settings):
        return []
    return [
        replace(candidate, variant=with_value(candidate.variant, knob.key, value), tuned=candidate.label)
        for value in knob.values
    ]


def with_value(variant: Variant, key: str, value: Value) -> Variant:
    """A variant with one more setting, which its label shows."""
    label = f"{variant.label} {key}={value}"
    return Variant(label, variant.name, (*variant.settings, (key, value)))


def most(candidates: Sequence[Candidate]) -> int:
    """The number of candidates with all their possible variants: the error budget is divided by it."""
    return sum(1 + len(variants(one)) for one in candidates)
