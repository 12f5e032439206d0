"""What the token buckets of a lab have counted."""

from __future__ import annotations

import json
from dataclasses import dataclass

from spinewise.lab import machine
from spinewise.lab.plan import Plan


@dataclass(frozen=True)
class Count:
    """A port's packets, bytes and drops, and what waits there now."""

    packets: int
    sent_bytes: int
    drops: int
    waiting_bytes: int

    def since(self, before: Count) -> Count:
        """What came after another count; what waits is of now."""
        return Count(
            self.packets - before.packets,
            self.sent_bytes - before.sent_bytes,
            self.drops - before.drops,
            self.waiting_bytes,
        )


def read(plan: Plan) -> dict[str, Count]:
    """The counts of every port, by the name of the link that it feeds."""
    names = {(port.node, port.device): port.link for port in plan.ports}
    found: dict[str, Count] = {}
    for node in plan.nodes:
        told = json.loads(machine.said(["tc", "-n", plan.namespace(node), "-s", "-j", "qdisc", "show"]))
        for entry in told:
            link = names.get((node, entry.get("dev", "")))
            if link is not None and entry["kind"] == "tbf":
                found[link] = Count(entry["packets"], entry["bytes"], entry["drops"], entry["backlog"])
    return found


def between(before: dict[str, Count], after: dict[str, Count]) -> dict[str, Count]:
    """What every port counted between two looks."""
    return {link: count.since(before[link]) for link, count in after.items()}
