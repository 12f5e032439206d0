"""The packets of a flow that never arrived, including acknowledgements: their fate, where, and by which fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spinewise.explanation.breaks import Break, breaks, listed, onward
from spinewise.explanation.choices import subflows_of
from spinewise.explanation.facts import has_subflows
from spinewise.magnitudes import PS_PER_US
from spinewise.measures import units
from spinewise.measures.nodes import Nodes
from spinewise.measures.tables import Values as Array
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result

# The fates of packets, in the engine's words.
NO_ROOM, TRIMMED, DISCARDED, ON_LINK, NO_WAY, DIED, CIRCLED = (
    "no room", "trimmed", "discarded", "lost on the link", "no way on", "died", "hop limit reached",
)  # fmt: skip
BY_FAULTS = {ON_LINK, NO_WAY, DIED, CIRCLED}

Place = tuple[str, str, str, str | None]
"""The kind of packets with the same fate, the fate, the device and the link."""


@dataclass(frozen=True)
class Lost:
    """Packets of a flow with the same fate at the same place.

    Attributes:
        kind: "data" or "ack".
        fate: as in losses.parquet.
        device: the place.
        link: the link it should have left by; if lost on a link or without an onward route, the one it came by.
        packets: the number; first_us, last_us: the times.
        rerouted_us: when the switch that had sent the last of them used other routes; None: never, or unknown.
        faults: the faults that explain it, in words.
    """

    kind: str
    fate: str
    device: str
    link: str | None
    packets: int
    first_us: float
    last_us: float
    rerouted_us: float | None
    faults: tuple[str, ...]

    def __str__(self) -> str:
        noun = "acknowledgement" if self.kind == "ack" else "packet"
        return f"{units.counted(self.packets, noun)} {self.did()}{self.when()}{self.cause()}"

    def did(self) -> str:
        """The fate of the packets, and where."""
        several = self.packets != 1
        its, it, were = ("their", "them", "were") if several else ("its", "it", "was")
        sender = f", where {self.link.partition('->')[0]} had sent {it}" if self.link else ""
        return {
            NO_ROOM: f"found no room at {self.link}",
            TRIMMED: f"lost {its} payload at {self.link}",
            DISCARDED: f"{were} dropped by the scheme at {self.link}",
            ON_LINK: f"{were} lost on {self.link}",
            NO_WAY: f"had no onward route at {self.device}{sender}",
            DIED: f"waited at {self.device} when it failed",
            CIRCLED: f"looped until {its} hop limit was reached at {self.device}{sender}",
        }[self.fate]

    def when(self) -> str:
        """The time of the losses."""
        first, last = (units.duration(us / 1e6) for us in (self.first_us, self.last_us))
        return f" (at {first})" if first == last else f" (from {first} to {last})"

    def cause(self) -> str:
        """The fault that caused the losses, and when the sender avoided it."""
        told = [*self.faults]
        if self.rerouted_us is not None and self.link and self.fate in BY_FAULTS:
            sender = self.link.partition("->")[0]
            told.append(f"{sender} used other routes from {units.duration(self.rerouted_us / 1e6)} on")
        return f": {'; '.join(told)}" if told else ""


class Losses:
    """The losses of a flow, in order of time; empty if the run recorded none."""

    def __init__(self, result: Result, flow: int) -> None:
        import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

        self.breaks = breaks(result)
        self.result = result
        rows = result.flows.filter(pc.equal(result.flows.column("flow"), flow)).select(["src", "dst"]).to_pylist()
        self.ways: dict[tuple[str, str], frozenset[str]] = {}
        # The destination of packets of a kind.
        host = Nodes.of(result.spec).host
        self.goal = {"data": host(rows[0]["dst"]), "ack": host(rows[0]["src"])} if rows else {}
        table = result.losses
        self.known = table is not None
        mine = None if table is None else table.filter(pc.equal(table.column("flow"), flow))

        def words(name: str) -> list[str | None]:
            return [] if mine is None else mine.column(name).combine_chunks().dictionary_decode().to_pylist()

        def times(name: str) -> Array:
            return np.zeros(0) if mine is None else numbers(mine, name) / PS_PER_US

        self.kind, self.fate, self.device, self.link = (words(name) for name in ("kind", "fate", "device", "link"))
        self.time, self.rerouted = times("time_ps"), times("rerouted_ps")
        self.seq = np.zeros(0, dtype=np.uint64) if mine is None else numbers(mine, "seq")
        self.subflow = np.zeros(0, dtype=np.uint16) if mine is None else subflows_of(mine)
        # Numbers of bytes are those of subflows, which an older version did not record.
        self.apart = table is None or "subflow" in table.column_names or not has_subflows(result, flow)

    def of_packet(self, subflow: int, seq: int, begin_us: float, end_us: float) -> Lost | None:
        """The loss of a data packet with these bytes that was in flight then; None if it was not lost."""
        inside = self.within("data", begin_us, end_us)
        found = self.groups([at for at in inside if (self.subflow[at], self.seq[at]) == (subflow, seq)][:1])
        return found[0] if found else None

    def acks(self, begin_us: float, end_us: float) -> list[Lost]:
        """The acknowledgements lost between two instants."""
        return self.groups(self.within("ack", begin_us, end_us))

    def all(self) -> list[Lost]:
        """All that was lost, data first."""
        return self.groups(range(len(self.time)))

    def within(self, kind: str, begin_us: float, end_us: float) -> list[int]:
        """The losses of one kind between two instants."""
        between = (self.time >= begin_us) & (self.time <= end_us)
        return [int(at) for at in np.flatnonzero(between) if self.kind[at] == kind]

    def groups(self, chosen: Sequence[int]) -> list[Lost]:
        """Group these losses by kind, fate and place, data first and then by number."""
        together: dict[Place, list[int]] = {}
        for at in chosen:
            place = (str(self.kind[at]), str(self.fate[at]), str(self.device[at]), self.link[at])
            together.setdefault(place, []).append(at)
        found = []
        for (kind, fate, device, link), ats in together.items():
            first, last = float(self.time[ats[0]]), float(self.time[ats[-1]])
            rerouted = float(self.rerouted[ats[-1]]) or None
            by = self.causes((kind, fate, device, link), first, last)
            found.append(Lost(kind, fate, device, link, len(ats), first, last, rerouted, tuple(listed(by))))
        return sorted(found, key=lambda one: (one.kind != "data", -one.packets))

    def causes(self, place: Place, first_us: float, last_us: float) -> list[Break]:
        """The faults behind a loss: those of its link, or of links further on, that were active or had been last."""
        kind, fate, device, link = place
        if fate not in BY_FAULTS:
            return []
        begun = [one for one in self.breaks if one.begin_us <= last_us]
        if fate == ON_LINK:
            near = [one for one in begun if link in one.links]
        elif fate == DIED:
            near = [one for one in begun if one.switch == device]
        else:
            cut = [one for one in begun if one.cuts]
            here = [one for one in cut if one.touches(device)]
            ahead = [one for one in cut if one.links & self.way(device, self.goal.get(kind, ""))]
            near = [one for one in here if one in ahead] or ahead or here or cut
        return [one for one in near if one.holds(first_us, last_us)] or near[-1:]

    def way(self, device: str, host: str) -> frozenset[str]:
        """The links from a device to a host; cached, as the search takes half a second in a large fabric."""
        if (device, host) not in self.ways:
            self.ways[device, host] = onward(self.result, device, host)
        return self.ways[device, host]
