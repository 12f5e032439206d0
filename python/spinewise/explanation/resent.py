"""The retransmissions of a flow, its silences before them, and the fate of the original packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spinewise.explanation.breaks import listed
from spinewise.explanation.losses import Losses, Lost
from spinewise.measures.afterwards import timeouts_of
from spinewise.runs.result import Result
from spinewise.specs.carriers import transport_of

if TYPE_CHECKING:
    from spinewise.explanation.choices import Choices

# A timer begins with what was sent or acknowledged a little before the last packet left.
NEARLY = 0.9


@dataclass(frozen=True)
class Again:
    """A packet with bytes that had been sent before.

    Attributes:
        time_us: when it left the device that chooses; before_us: when these bytes last passed there.
        seq: its first byte; subflow: whose bytes are counted, 0: the flow's.
        silent_us: the time since the flow's previous packet, at this device.
        timeout: whether that was as long as the least retransmission timeout, which begins a few packets earlier; if
            the flow has subflows, the time since the previous packet of the same one counts.
        path: links chosen for the earlier packet, up to the last switch that had a route.
        lost: the loss of that packet; None if it was not lost.
        acks: the flow's acknowledgements that were lost between the two.
        faults: the faults active between the two, in words.
        others_went_on: whether others continued meanwhile. Over Ultra Ethernet a timer is for one packet: then the time
            since it left before counts.
    """

    time_us: float
    before_us: float
    seq: int
    silent_us: float
    timeout: bool
    path: list[str]
    lost: Lost | None = None
    acks: tuple[Lost, ...] = ()
    faults: tuple[str, ...] = ()
    others_went_on: bool = False
    subflow: int = 0


def sent_again(choices: Choices, result: Result, losses: Losses) -> list[Again]:
    """Packets that carried bytes sent before; none if an older version did not record whose bytes they are."""
    if not losses.apart:
        return []
    row = result.flows.slice(choices.flow, 1).to_pylist() if choices.flow < result.flows.num_rows else []
    transport = transport_of(result.spec, row[0]["entry"]) if row else result.spec.get("transport") or {}
    least_us = min((seconds * 1e6 for _, seconds, _ in timeouts_of(transport)), default=float(np.inf))
    of_packets = transport.get("kind") == "uet"
    # The first device that chooses sees every packet once.
    here = [at for at in range(len(choices)) if choices.device[at] == choices.device[0]]
    seen: dict[tuple[int, int], int] = {}
    latest: dict[int, float] = {}
    found = []
    for place, at in enumerate(here):
        subflow, seq, now = int(choices.subflow[at]), int(choices.seq[at]), float(choices.time[at])
        before = seen.get((subflow, seq))
        if choices.again[at] and before is not None:
            then = float(choices.time[before])
            silent = float(now - choices.time[here[place - 1]])
            waited = now - (then if of_packets else latest[subflow])
            found.append(
                Again(
                    time_us=now,
                    before_us=then,
                    seq=seq,
                    silent_us=silent,
                    timeout=waited >= NEARLY * least_us,
                    path=choices.links[int(choices.chosen[before])],
                    lost=losses.of_packet(subflow, seq, then, now),
                    acks=tuple(losses.acks(then, now)),
                    faults=tuple(listed(one for one in losses.breaks if one.holds(then, now))),
                    others_went_on=of_packets or silent < NEARLY * least_us <= waited,
                    subflow=subflow,
                )
            )
        seen[subflow, seq] = at
        latest[subflow] = now
    return found
