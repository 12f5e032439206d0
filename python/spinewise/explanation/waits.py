"""Where the packets of a flow waited: at which ports of their paths.

A port that captured packets says exactly when it sent one. For other ports, a trace says what was queued for the first
link of a path when it was chosen; what was queued for the links behind it when the packet got there is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spinewise.explanation.chain import Step
from spinewise.explanation.choices import mine, subflows_of, way_name
from spinewise.explanation.shortest import Link
from spinewise.measures.nodes import Nodes, ends
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("data", "ack")


@dataclass(frozen=True)
class Leg:
    """The choice of a path for a packet.

    Attributes:
        time: when, ps.
        device: where.
        travel: transmission and propagation from there on, ps.
        links: the links of the path.
        queued: the bytes queued for the first of them.
        wire_bytes: the size of the packet.
    """

    time: int
    device: str
    travel: int
    links: list[str]
    queued: int
    wire_bytes: int


Passed = dict[tuple[str, int, int], list[tuple[int, str]]]
"""When ports started to send a packet, and which: by its kind, subflow and number, in order of time."""


class Waits:
    """The waits of one flow's packets."""

    def __init__(self, result: Result, flow: int, links: Mapping[str, Link], passed: Passed) -> None:
        """Read what is known of a flow.

        Args:
            result: a run that has traced it, or not.
            flow: its number.
            links: the links of the run.
            passed: when its packets passed the ports on their paths; empty if that was not captured.
        """
        self.links, self.passed = links, passed
        self.is_host = Nodes.of(result.spec).is_host
        self.legs = {kind: legs(result, flow, kind) for kind in KINDS}

    def path(self, step: Step) -> list[Leg]:
        """The choices for the packet of a crossing, the first one first."""
        legs = self.legs[step.part].get((step.subflow, step.number), [])
        return [leg for leg in legs if step.begin <= leg.time <= step.end]

    def travel(self, path: list[Leg], begin: int) -> int | None:
        """How long the packet would have taken on its path without waiting, ps; None if the path is not known."""
        return path[0].time - begin + path[0].travel if path else None

    def route(self, path: list[Leg]) -> str | None:
        """The switches on the path, in words; None if it is not known."""
        links = route(path)
        return way_name(links, 1) if links else None

    def at_ports(self, step: Step, nic: str) -> dict[str, int]:
        """How long the packet of a crossing waited at each port that captured it, ps; `nic` is the port of its host."""
        found: dict[str, int] = {}
        time, last = step.begin, nic
        for at, link in self.passed.get((step.part, step.subflow, step.number), []):
            if not step.begin < at < step.end or ends(link).begin != ends(last).end:
                continue
            arrived = time + self.links[last].takes(step.wire_bytes) + self.links[last].delay_ps
            if at > arrived:
                found[link] = at - arrived
            time, last = at, link
        return found

    def at_choices(self, path: list[Leg], waited: int) -> dict[str, int]:
        """How long the packet waited at the ports that were chosen for it, ps, and behind them: `waited` in all."""
        found: dict[str, int] = {}
        behind = None
        for leg in path:
            if leg.links and not self.is_host(leg.device):
                wait = min(self.links[leg.links[0]].takes(leg.queued), waited)
                found[leg.links[0]] = wait
                waited -= wait
            behind = leg.links[0] if leg.links else behind
        if behind is not None and waited:
            found[f"behind {behind}"] = waited
        return {link: wait for link, wait in found.items() if wait}


def route(path: list[Leg]) -> list[str]:
    """The links that a packet took: of each choice, those up to the next one."""
    return [link for place, leg in enumerate(path) for link in until(leg, path[place + 1 : place + 2])]


def until(leg: Leg, after: list[Leg]) -> list[str]:
    """The links from a choice up to the next one, if there is one."""
    stops = [place for place, link in enumerate(leg.links) if after and ends(link).begin == after[0].device]
    return leg.links[: stops[0]] if stops else leg.links


def legs(result: Result, flow: int, kind: str) -> dict[tuple[int, int], list[Leg]]:
    """The chosen paths of a flow's packets of one kind, in order of time, by their subflow and number."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import

    if result.trace is None:
        return {}
    rows = result.trace.filter(pc.and_(mine(result.trace, flow, kind), result.trace.column("chosen")))
    found: dict[tuple[int, int], list[Leg]] = {}
    columns = (
        subflows_of(rows).tolist(),
        numbers(rows, "seq").tolist(),
        numbers(rows, "time_ps").astype(np.int64).tolist(),
        rows.column("device").combine_chunks().dictionary_decode().to_pylist(),
        numbers(rows, "travel_ps").astype(np.int64).tolist(),
        rows.column("links").to_pylist(),
        rows.column("queue_bytes").to_pylist(),
        numbers(rows, "wire_bytes").tolist(),
    )
    for subflow, number, time, device, travel, links, queued, size in zip(*columns, strict=True):
        leg = Leg(time, device, travel, links, queued[0] if queued else 0, size)
        found.setdefault((subflow, number), []).append(leg)
    return found


def links_on(result: Result, flow: int) -> set[str]:
    """The links that the packets of a traced flow took, and those their answers took."""
    found: set[str] = set()
    for kind in KINDS:
        for path in legs(result, flow, kind).values():
            found.update(link for leg in path for link in leg.links)
    return found


def passed_by_flow(packets: pa.Table, flows: list[int]) -> dict[int, Passed]:
    """When ports sent the packets of these flows."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    wanted = pc.is_in(packets.column("flow"), value_set=pa.array(flows, packets.schema.field("flow").type))
    rows = packets.filter(pc.and_(wanted, packets.column("outbound")))
    found: dict[int, Passed] = {flow: {} for flow in flows}
    columns = (
        numbers(rows, "flow").tolist(),
        rows.column("kind").combine_chunks().dictionary_decode().to_pylist(),
        numbers(rows, "subflow").tolist(),
        numbers(rows, "seq").tolist(),
        numbers(rows, "ack").tolist(),
        numbers(rows, "time_ps").astype(np.int64).tolist(),
        rows.column("interface").combine_chunks().dictionary_decode().to_pylist(),
    )
    for flow, kind, subflow, seq, ack, time, link in zip(*columns, strict=True):
        found[flow].setdefault((kind, subflow, seq if kind == "data" else ack), []).append((time, link))
    return found
