"""Power of two, in Python: the scheme of CONTRIBUTING.md, draw for draw."""

from dataclasses import dataclass

import spinewise as sw


@dataclass(slots=True)
class Flowlet:
    """Row per flow and direction: its last flowlet."""

    last: int = 0
    port: int | None = None


class PowerOfTwo(sw.SwitchScheme):
    """Each flowlet on the shorter of two queues drawn at random."""

    name = "power_of_two"
    source = "Mitzenmacher, IEEE TPDS 2001"
    unit = "flowlet"
    Flow = Flowlet

    flowlet_gap_us = sw.number(100.0, 0, 1e9, "Flowlet gap, microseconds: a longer idle time opens a new flowlet.")

    def __init__(self):
        self.gap = sw.us(self.flowlet_gap_us)

    def layout(self, shape):
        # A row older than the gap says no more than no row.
        return sw.Layout(flow_idle=self.gap)

    def pick(self, cx, flowlet, packet, header):
        view, now = cx.view, cx.now
        candidates = view.candidates
        of_flow = packet.kind in ("data", "ack")
        if of_flow and now - flowlet.last <= self.gap and flowlet.port in candidates:
            way = candidates.index(flowlet.port)
        else:
            n, below, queue = len(candidates), cx.rng.below, view.queue_bytes
            first = below(n)
            second = (first + (1 + below(n - 1) if n > 1 else 0)) % n
            way = second if queue(candidates[second]) < queue(candidates[first]) else first
        if of_flow:
            flowlet.last, flowlet.port = now, candidates[way]
        return way
