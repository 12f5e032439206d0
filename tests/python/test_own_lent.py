"""What a scheme written in Python is lent is lent for the call: what it keeps finds nothing later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import spinewise as sw

SMALL: dict[str, Any] = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"kind": "permutation", "size_bytes": 100_000}],
    "run": {"until_us": 1_000},
}

Keep = Callable[[Any, Any, Any], Any]
Look = Callable[[Any], object]


class Keeps(sw.SwitchScheme):
    """Keeps something of its first packet, and looks at it with the second."""

    keep: ClassVar[Keep]
    look: ClassVar[Look]
    kept: ClassVar[list[Any]] = []
    said: ClassVar[list[str]] = []

    class Node:
        pass

    class Peer:
        pass

    class Route:
        pass

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(peers="leaves", bytes=8)

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        own = type(self)
        if not self.kept:
            self.kept.append(own.keep(cx, packet, header))
            own.look(self.kept[0])
        elif not self.said:
            with pytest.raises(RuntimeError) as refused:
                own.look(self.kept[0])
            self.said.append(str(refused.value))
            # What was lent anew is there.
            assert (cx.view.switch, packet.kind, len(header.data)) == (0, "data", 0)
        return int(packet.spread(cx.view.salt, len(cx.view.candidates)))

    def message(self, cx: Any, flow: Any, message: Any) -> None:
        pass


WAYS: dict[str, tuple[Keep, Look]] = {
    "cx": (lambda cx, packet, header: cx, lambda cx: cx.now),
    "node": (lambda cx, packet, header: cx, lambda cx: cx.node),
    "peer": (lambda cx, packet, header: cx, lambda cx: cx.peer),
    "route": (lambda cx, packet, header: cx, lambda cx: cx.route(0)),
    "view through cx": (lambda cx, packet, header: cx, lambda cx: cx.view.switch),
    "view": (lambda cx, packet, header: cx.view, lambda view: view.queue_bytes(2)),
    "candidates": (lambda cx, packet, header: cx.view, lambda view: view.candidates),
    "method": (lambda cx, packet, header: cx.view.queue_bytes, lambda queue: queue(2)),
    "rng": (lambda cx, packet, header: cx.rng, lambda rng: rng.below(2)),
    "out": (lambda cx, packet, header: cx.out, lambda out: out.send(sw.To.leaf(1), 1, b"x")),
    "peers": (lambda cx, packet, header: cx.peers, lambda peers: peers.ids),
    "packet": (lambda cx, packet, header: packet, lambda packet: packet.dst),
    "hash": (lambda cx, packet, header: packet, lambda packet: packet.spread(1, 2)),
    "header": (lambda cx, packet, header: header, lambda header: header.data),
}


@pytest.mark.parametrize("what", WAYS)
def test_what_was_kept_finds_nothing_in_a_later_hook(what: str) -> None:
    """It answered with the values of the later place."""
    keep, look = WAYS[what]
    own = {"keep": staticmethod(keep), "look": staticmethod(look), "kept": [], "said": []}
    scheme = type("Kept", (Keeps,), own)
    assert sw.run(SMALL, scheme=scheme).report["finished"] == 4
    assert "is gone once the hook returns" in vars(scheme)["said"][0]


class Hears(sw.HostScheme):
    """Keeps what tells of feedback and of a message."""

    kept: ClassVar[dict[str, Any]] = {}
    refused: ClassVar[set[str]] = set()

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(bytes=8)

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> None:
        cx.out.send(sw.To.host(packet.dst), 1, b"x")

    def feedback(self, cx: Any, flow: Any, feedback: Any) -> None:
        self.look("feedback", feedback, lambda kept: kept.event)

    def message(self, cx: Any, flow: Any, message: Any) -> None:
        self.look("message", message, lambda kept: kept.body)

    def look(self, name: str, lent: Any, look: Look) -> None:
        if name in self.kept:
            with pytest.raises(RuntimeError, match="is gone once the hook returns"):
                look(self.kept[name])
            self.refused.add(name)
        self.kept[name] = lent
        look(lent)


def test_so_do_feedback_and_messages() -> None:
    sw.run(SMALL, scheme=Hears)
    assert Hears.refused == {"feedback", "message"}


class Frugal(sw.SwitchScheme):
    """Keeps nothing, and notes which objects it is lent."""

    seen: ClassVar[set[int]] = set()
    keeps: ClassVar[bool] = False
    kept: ClassVar[list[Any]] = []

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        self.seen.add(id(cx))
        if self.keeps:
            self.kept.append(cx)
        return int(packet.spread(cx.view.salt, len(cx.view.candidates)))


def test_hooks_that_keep_nothing_are_lent_the_same_objects_and_nothing_else_differs() -> None:
    Frugal.seen.clear()
    frugal = sw.run(SMALL, scheme=Frugal)
    assert len(Frugal.seen) == 1
    keeper = sw.run(SMALL, scheme=type("Frugal", (Frugal,), {"keeps": True}))
    assert len(Frugal.seen) > 100
    assert keeper.report["outcome_hash"] == frugal.report["outcome_hash"]


class Reads(sw.SwitchScheme):
    """Reads of its ports what it can, at each tick and packet."""

    busy: ClassVar[dict[tuple[int, int], int]] = {}
    of_paths: ClassVar[list[int]] = []

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(tick=sw.us(1))

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        return 0

    def egress(self, cx: Any, port: int, packet: Any, header: Any) -> None:
        view = cx.view
        assert view.data_bytes(port) <= view.queue_bytes(port) <= view.queue_room(port)
        assert view.is_paused(port) is False

    def tick(self, cx: Any) -> None:
        view = cx.view
        for port in range(view.host_ports, view.host_ports + 2):
            self.busy[view.switch, port] = view.busy_time(port)
        if view.tier == "leaf":
            self.of_paths.append(view.told_capacity(0, 1 - view.switch))
        else:
            self.of_paths.append(view.told_paths(0))


def test_a_switch_reads_what_its_ports_have_done() -> None:
    """Time in use is bytes over rate, of the uplink that takes all and of the one that takes nothing."""
    result = sw.run({**SMALL, "run": {"until_us": 2_000}}, scheme=Reads)
    assert result.report["finished"] == 4
    links = {link["name"]: link for link in result.report["links"]}
    for leaf in (0, 1):
        first, second = links[f"leaf{leaf}->spine0"], links[f"leaf{leaf}->spine1"]
        assert Reads.busy[leaf, 2] == first["bytes"] * 8 * 10**12 // first["rate_bps"] > 0
        assert Reads.busy[leaf, 3] == second["bytes"] == 0
    # Of a port to a host and of paths from a spine there is nothing to tell: the engine broke off.
    assert set(Reads.of_paths) == {0}
