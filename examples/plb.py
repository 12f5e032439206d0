"""PLB, in Python: the second scheme of CONTRIBUTING.md, draw for draw. It runs with scheme.path_tag = "inner"."""

from dataclasses import dataclass

import spinewise as sw


@dataclass(slots=True)
class Round:
    """Row per flow: its label, and the round under way."""

    label: int | None = None
    sent: int = 0
    acked: int = 0
    ends_at: int = 0
    delivered: int = 0
    marked: int = 0
    congested: int = 0
    paused_until: int = 0


class Plb(sw.HostScheme):
    """Flows marked for several rounds take another flow label, and so perhaps another path."""

    name = "plb_example"
    source = "Qureshi et al., SIGCOMM 2022"
    unit = "flow"
    series = (("bent", "label: that of a flow from now on"),)
    losses = True  # feedback hears of timeouts too
    Flow = Round

    rehash_rounds = sw.whole(12, 1, 31, "N: this many congested rounds in a row change the path.")
    idle_rehash_rounds = sw.whole(3, 0, 31, "M: so many do where nothing is in flight; 0: never.")
    congested_share = sw.number(0.5, 0, 1, "A round is congested if at least this share of its bytes was marked.")
    suspend_us = sw.number(60e6, 0, 255e6, "After a timeout marks change no path for this to twice this, microseconds.")

    def __init__(self):
        self.share = int(self.congested_share * 1e9 + 0.5)
        self.suspend = sw.us(self.suspend_us)

    def layout(self, shape):
        # A label is a number to be hashed, not the number of a path.
        return sw.Layout(draws_tags=True)

    def pick(self, cx, flow, packet, header):
        if packet.kind != "data":
            return None
        flow.sent = max(flow.sent, packet.seq + packet.payload)
        if flow.label is None:
            flow.label = cx.rng.below(65_535)
        return flow.label

    def feedback(self, cx, flow, feedback):
        if flow is None:
            return
        event = feedback.event
        if event == "ack":
            self.acknowledged(cx, flow, feedback.bytes, feedback.marked)
        elif event == "timeout":
            part = cx.rng.below(1 << 16)
            flow.paused_until = cx.now + self.suspend + (self.suspend * part >> 16)
            self.bend(cx, flow)

    def acknowledged(self, cx, flow, count, marked):
        if flow.ends_at == 0:
            flow.ends_at = flow.sent
        flow.acked += count
        flow.delivered += count
        if marked:
            flow.marked += count
        if flow.acked < flow.ends_at:
            return
        if flow.delivered:
            congested = flow.marked * 1_000_000_000 >= self.share * flow.delivered
            flow.congested = min(flow.congested + 1, self.rehash_rounds) if congested else 0
        flow.ends_at = flow.sent if flow.sent > flow.acked else 0
        flow.marked = flow.delivered = 0
        idle = self.idle_rehash_rounds > 0 and flow.acked >= flow.sent
        enough = flow.congested >= self.rehash_rounds or (idle and flow.congested >= self.idle_rehash_rounds)
        if enough and cx.now >= flow.paused_until:
            self.bend(cx, flow)

    def bend(self, cx, flow):
        flow.label = cx.rng.below(65_535)
        flow.congested = 0
        cx.out.record(0, flow.label)
