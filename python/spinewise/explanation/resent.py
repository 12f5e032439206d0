"""What a flow sent again, how long it was silent before, and where the packets before may have been lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spinewise.measures.afterwards import timeouts_of
from spinewise.runs.result import Result

if TYPE_CHECKING:
    from spinewise.explanation.choices import Choices

# A timer begins with what was sent or acknowledged a little before the last packet left.
NEARLY = 0.9


@dataclass(frozen=True)
class Again:
    """A packet that carried bytes sent before.

    Attributes:
        time_us: when it left the device that chooses; before_us: when these bytes had passed there last.
        seq: first byte of it.
        silent_us: since the packet before of this flow, at this device.
        timeout: whether that was as long as the least retransmission timeout, which begins a few packets earlier.
        path: links that the packet before had been sent to take; none where no path was left.
        dropped_at: of these, the links at which this run dropped, lost or trimmed packets, with how many.
        fate: what befell those: "lost", "trimmed" or "lost or trimmed".
    """

    time_us: float
    before_us: float
    seq: int
    silent_us: float
    timeout: bool
    path: list[str]
    dropped_at: dict[str, int]
    fate: str = "lost"
    # Over Ultra Ethernet a timer is of one packet, and others go on: then the time since it left before counts.
    others_went_on: bool = False


def sent_again(choices: Choices, result: Result) -> list[Again]:
    """Packets that carried bytes sent before; what became of those is inferred from where this run lost packets."""
    links_told = result.report["links"]
    lost_at = {str(link["name"]): int(link["drops"]) + int(link.get("lost", 0)) for link in links_told}
    trimmed_at = {str(link["name"]): int(link.get("trimmed", 0)) for link in links_told}
    transport = result.spec.get("transport") or {}
    least_us = min((seconds * 1e6 for _, seconds, _ in timeouts_of(transport)), default=float(np.inf))
    of_packets = transport.get("kind") == "uet"
    links = choices.rows.column("links")
    # The first device that chooses sees every packet once.
    here = [at for at in range(len(choices)) if choices.device[at] == choices.device[0]]
    seen: dict[int, int] = {}
    found = []
    for place, at in enumerate(here):
        seq, before = int(choices.seq[at]), seen.get(int(choices.seq[at]))
        if choices.again[at] and before is not None:
            row = int(choices.chosen[before])
            path = [] if choices.stray(row) else [str(link) for link in links[row].as_py()]
            dropped_at = {link: lost_at[link] + trimmed_at[link] for link in path if lost_at[link] + trimmed_at[link]}
            silent = float(choices.time[at] - choices.time[here[place - 1]])
            waited = float(choices.time[at] - choices.time[before]) if of_packets else silent
            found.append(
                Again(
                    time_us=float(choices.time[at]),
                    before_us=float(choices.time[before]),
                    seq=seq,
                    silent_us=silent,
                    timeout=waited >= NEARLY * least_us,
                    others_went_on=of_packets,
                    path=path,
                    dropped_at=dropped_at,
                    fate=fate([lost_at[link] for link in path], [trimmed_at[link] for link in path]),
                )
            )
        seen[seq] = at
    return found


def fate(lost: list[int], trimmed: list[int]) -> str:
    """What befell the packets that these links lost and trimmed."""
    words = [word for word, counts in (("lost", lost), ("trimmed", trimmed)) if any(counts)]
    return " or ".join(words) or "lost"
