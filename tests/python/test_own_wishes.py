"""What a scheme written in Python asks for: what cannot be is refused at the call."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

import spinewise as sw
from spinewise.own.scheme import Scheme

SMALL: dict[str, Any] = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"kind": "permutation", "size_bytes": 100_000}],
    "run": {"until_us": 1_000},
}
BODIES = 70_000


class Asks(Scheme):
    """Asks at its first packet for what a test wants asked, and keeps what came of it."""

    name = "asks"
    series = (("points", "of the test"),)
    wish: ClassVar[Any] = None
    heard: ClassVar[list[Any]] = []

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(bytes=BODIES)

    def message(self, cx: Any, flow: Any, message: Any) -> None:
        self.heard.append((cx.now, message.body))

    def feedback(self, cx: Any, flow: Any, feedback: Any) -> None:
        if feedback.event.startswith("probe"):
            self.heard.append((cx.now, feedback.event))

    def timer(self, cx: Any, flow: Any, key: Any) -> None:
        self.heard.append((cx.now, key))


class AtSwitch(Asks, sw.SwitchScheme):
    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        if packet.flow == 0 and packet.kind == "data" and packet.seq == 0:
            type(self).wish(cx)
        return 0


class AtHost(Asks, sw.HostScheme):
    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> None:
        if packet.flow == 0 and packet.seq == 0:
            type(self).wish(cx)


def asked(scheme: Any, wish: Any) -> tuple[sw.Result, list[Any]]:
    """A run in which the first packet of flow 0 asks for `wish`, once, at host 0 or leaf 0; and what came of it."""
    heard: list[Any] = []
    return sw.run(SMALL, scheme=type("Asked", (scheme,), {"wish": staticmethod(wish), "heard": heard})), heard


def refused(scheme: Any, wish: Any) -> str:
    """What is said to that."""
    with pytest.raises(sw.SchemeError) as failed:
        asked(scheme, wish)
    assert isinstance(failed.value.__cause__, ValueError)
    return str(failed.value.__cause__)


@pytest.mark.parametrize("scheme", [AtSwitch, AtHost])
@pytest.mark.parametrize("late", [0, 1, 10**12])
def test_a_timer_is_armed_for_an_instant_to_come(scheme: Any, late: int) -> None:
    """At `cx.now` it went off and armed itself again and again, and no time passed."""
    said = refused(scheme, lambda cx: cx.out.arm(sw.Key.node(7), cx.now - late))
    assert said.startswith("arm(('node', 7), ")
    assert "an instant in picoseconds after cx.now, which is " in said
    _, [(at, key)] = asked(scheme, lambda cx: cx.out.arm(sw.Key.node(7), cx.now + 1))
    assert key == sw.Key.node(7)
    assert at > 0


def test_ticks_are_no_shorter_than_a_nanosecond() -> None:
    for allowed in (None, 0, 1000, sw.us(5)):
        assert sw.Layout(tick=allowed).tick == allowed
    for short in (1, 999):
        with pytest.raises(ValueError, match=f"Layout.tick = {short}: allowed is 0 for never, or 1000 ps"):
            sw.Layout(tick=short)
