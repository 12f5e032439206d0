"""What a scheme written in Python asks for: what cannot be is refused at the call."""

from __future__ import annotations

import re
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
    assert isinstance(failed.value.__cause__, ValueError | IndexError | AttributeError)
    return str(failed.value.__cause__)


@pytest.mark.parametrize("scheme", [AtSwitch, AtHost])
@pytest.mark.parametrize("late", [0, 1, 10**12])
def test_a_timer_is_armed_for_an_instant_to_come(scheme: Any, late: int) -> None:
    """At `cx.now` it went off and armed itself again and again, and no time passed."""
    said = refused(scheme, lambda cx: cx.out.arm(sw.Key.node(7), cx.now - late))
    assert said.startswith("arm(('node', 7), ")
    assert "allowed is an instant after cx.now, which is " in said
    for wrong in (10**30, 1.5e12, "soon"):
        said = refused(scheme, lambda cx: cx.out.arm(sw.Key.node(7), wrong))  # noqa: B023
        assert f"arm(('node', 7), {wrong}): allowed is" in said
        assert said.endswith("a whole number of picoseconds below 2^64")
    _, [(at, key)] = asked(scheme, lambda cx: cx.out.arm(sw.Key.node(7), cx.now + 1))
    assert key == sw.Key.node(7)
    assert at > 0


def test_ticks_are_no_shorter_than_a_nanosecond() -> None:
    for allowed in (None, 0, 1000, sw.us(5)):
        assert sw.Layout(tick=allowed).tick == allowed
    for short in (1, 999):
        with pytest.raises(ValueError, match=f"Layout.tick = {short}: allowed is 0 for never, or 1000 ps"):
            sw.Layout(tick=short)


def sent(body: bytes, **wire: int) -> Any:
    return lambda cx: cx.out.send(sw.To.leaf(1), 1, body, **wire)


@pytest.mark.parametrize(("length", "wire"), [(0, 64), (22, 64), (23, 65), (1000, 1042), (65_493, 65_535)])
def test_a_message_pays_for_its_body(length: int, wire: int) -> None:
    """A thousand bytes travelled in a frame of 64."""
    result, heard = asked(AtSwitch, sent(b"a" * length))
    assert result.report["counters"]["messages"] == {"packets": 1, "bytes": wire}
    assert [body for _, body in heard] == [b"a" * length]


def test_a_body_goes_into_what_it_is_sent_in() -> None:
    result, _ = asked(AtSwitch, sent(b"a" * 100, wire=100))
    assert result.report["counters"]["messages"] == {"packets": 1, "bytes": 100}
    assert "wire = 99: allowed is 100 to 65535 bytes" in refused(AtSwitch, sent(b"a" * 100, wire=99))
    assert "wire = 0: allowed is 1 to 65535 bytes" in refused(AtSwitch, sent(b"", wire=0))
    assert "wire = 65542: allowed is 65500 to 65535 bytes" in refused(AtSwitch, sent(b"a" * 65_500))
    assert "a body of 65536 bytes: at most 65535" in refused(AtSwitch, sent(b"a" * 65_536))


@pytest.mark.parametrize(
    ("scheme", "to", "says"),
    [
        (AtSwitch, sw.To.leaf(0), "To.leaf(0) is this switch itself"),
        (AtSwitch, sw.To.host(3), "no host would read it"),
        (AtSwitch, sw.To.rack, "no host would read it"),
        (AtSwitch, sw.To.port(1), "behind port 1 is a host"),
        (AtHost, sw.To.leaf(0), "no switch would read it"),
        (AtHost, sw.To.leaf(1), "no switch would read it"),
        (AtHost, sw.To.neighbours, "no switch would read it"),
        (AtHost, sw.To.port(0), "no switch would read it"),
    ],
)
def test_a_message_that_nobody_would_read_is_refused(scheme: Any, to: Any, says: str) -> None:
    """It vanished: counted as unroutable, or brought to a device without the scheme."""
    assert says in refused(scheme, lambda cx: cx.out.send(to, 1))


@pytest.mark.parametrize(
    ("scheme", "to", "many"),
    [
        (AtSwitch, sw.To.leaf(1), 1),
        (AtSwitch, sw.To.port(2), 1),
        (AtSwitch, sw.To.neighbours, 2),
        (AtSwitch, sw.To.neighbours_but(2), 1),
        (AtSwitch, sw.To.neighbours_but(0), 2),
        (AtHost, sw.To.host(3), 1),
        (AtHost, sw.To.host(0), 1),
        (AtHost, sw.To.rack, 1),
    ],
)
def test_other_messages_come_where_they_go(scheme: Any, to: Any, many: int) -> None:
    result, heard = asked(scheme, lambda cx: cx.out.send(to, 1))
    assert len(heard) == many
    assert result.report["counters"]["unroutable"] == 0


def test_a_probe_goes_to_any_host_or_leaf_but_to_itself() -> None:
    for scheme, to in ((AtSwitch, sw.To.host(3)), (AtSwitch, sw.To.leaf(1)), (AtHost, sw.To.leaf(0))):
        _, heard = asked(scheme, lambda cx, to=to: cx.out.probe(to, 0, give_up=sw.us(500)))
        assert [event for _, event in heard] == ["probe_reply"], to
    said = refused(AtSwitch, lambda cx: cx.out.probe(sw.To.leaf(0), 0, give_up=sw.us(500)))
    assert "To.leaf(0) is this switch itself" in said


@pytest.mark.parametrize(
    ("missing", "wish", "says"),
    [
        ("message", lambda cx: cx.out.send(sw.To.host(3), 1), "send: nothing would be told of the message"),
        (
            "feedback",
            lambda cx: cx.out.probe(sw.To.host(3), 0, give_up=sw.us(500)),
            "probe: nothing would be told of its answer",
        ),
        ("timer", lambda cx: cx.out.arm(sw.Key.node(), cx.now + 1), "arm: nothing would be called"),
    ],
)
def test_what_no_method_would_hear_of_is_refused(missing: str, wish: Any, says: str) -> None:
    """Messages and probes were sent, and took up links, for nobody."""
    with pytest.raises(sw.SchemeError) as failed:
        asked(type("Deaf", (AtHost,), {missing: None}), wish)
    assert isinstance(failed.value.__cause__, AttributeError)
    assert says in str(failed.value.__cause__)
    assert f"give the class a method {missing}(" in str(failed.value.__cause__)


def test_a_path_that_is_not_there_is_refused_at_hosts() -> None:
    """It was taken modulo the number of paths, and `feedback` told of a path that nobody has."""
    probe = {"give_up": sw.us(500)}
    for to, ways in ((sw.To.host(3), 2), (sw.To.leaf(1), 2)):
        asked(AtHost, lambda cx, to=to, ways=ways: cx.out.probe(to, ways - 1, **probe))
        said = refused(AtHost, lambda cx, to=to, ways=ways: cx.out.probe(to, ways, **probe))
        assert "probe: way 2: allowed is the number of a path, from 0 to 1" in said
    assert "send: way 7" in refused(AtHost, lambda cx: cx.out.send(sw.To.host(3), 1, way=7))
    asked(AtHost, lambda cx: cx.out.send(sw.To.host(1), 1, way=7))
    asked(AtHost, lambda cx: cx.out.probe(sw.To.host(3), sw.ANY, **probe))


@pytest.mark.parametrize(
    ("site", "hook", "call", "where"),
    [
        (sw.SwitchScheme, "pick", "discard", "egress"),
        (sw.SwitchScheme, "ingress", "discard", "egress"),
        (sw.SwitchScheme, "egress", "discard", None),
        (sw.SwitchScheme, "pick", "mask_ecn", "ingress at hosts"),
        (sw.SwitchScheme, "ingress", "mask_ecn", "ingress at hosts"),
        (sw.HostScheme, "pick", "mask_ecn", "ingress at hosts"),
        (sw.HostScheme, "ingress", "mask_ecn", None),
    ],
)
def test_the_packet_in_hand_is_changed_where_that_does_something(site: Any, hook: str, call: str, where: Any) -> None:
    """Elsewhere nothing came of it, and nothing was said."""

    def ask(self: Any, cx: Any, flow: Any, packet: Any, header: Any) -> None:
        getattr(cx.out, call)()

    def pick(self: Any, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        return 0

    scheme = type("Changes", (site,), {"pick": pick, hook: ask})
    if where is None:
        assert sw.run(SMALL, scheme=scheme).report["flows"] == 4
        return
    with pytest.raises(sw.SchemeError, match=f"{call} is for {where}"):
        sw.run(SMALL, scheme=scheme)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_point_of_a_series_is_a_finite_number(value: float) -> None:
    assert "allowed is a finite number" in refused(AtSwitch, lambda cx: cx.out.record(0, value))
    result, _ = asked(AtSwitch, lambda cx: cx.out.record(0, -1.5))
    assert list(result.series_of("asks.points")[1]) == [-1.5]


class Holds(AtSwitch):
    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(bytes=BODIES, queues=2)

    def drained(self, cx: Any, flow: Any, port: int, queue: int) -> None:
        raise AssertionError("nothing was held")


def test_only_a_queue_of_the_layout_is_released() -> None:
    """A queue that there is not was released without a word."""
    assert "queue 2: there are 2, counted from 0" in refused(Holds, lambda cx: cx.out.release(0, 2))
    assert "Layout(queues=N) asks for N" in refused(AtSwitch, lambda cx: cx.out.release(0, 0))
    asked(Holds, lambda cx: cx.out.release(0, 1))


def test_a_probe_is_given_up_after_some_time() -> None:
    said = refused(AtHost, lambda cx: cx.out.probe(sw.To.host(3), 0, give_up=0))
    assert said == "give_up = 0: allowed is a time in picoseconds, longer than the answer takes"
    assert (sw.us(-1), sw.us(-0.5), sw.us(0.0000015)) == (-1_000_000, -500_000, 2)


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        (lambda cx: cx.view.queue_bytes(-1), "argument 'port': -1: allowed is a whole number from 0 to 65535"),
        (lambda cx: cx.rng.below(-2), "argument 'n': -2: allowed is a whole number from 0 to 4294967295"),
        (lambda cx: cx.out.send(sw.To.leaf(1), 400), "argument 'kind': 400: allowed is a whole number from 0 to 255"),
        (lambda cx: cx.out.send(sw.To.leaf(1), 1, wire=-4), "argument 'wire': -4: allowed is a whole number"),
        (lambda cx: cx.view.rate(1.5), "argument 'port': 'float' object cannot be interpreted as an integer"),
    ],
)
def test_a_number_out_of_range_is_named(wish: Any, says: str) -> None:
    """All said "out of range integral type conversion attempted"."""
    with pytest.raises(sw.SchemeError, match=re.escape(says)):
        asked(AtSwitch, wish)


class Eats(sw.SwitchScheme):
    """Keeps whatever crosses the fabric."""

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        return 0

    def ingress(self, cx: Any, flow: Any, packet: Any, header: Any) -> str | None:
        return "consume"


class Drops(Eats):
    """Drops whatever would enter the fabric."""

    def ingress(self, cx: Any, flow: Any, packet: Any, header: Any) -> None:
        pass

    def egress(self, cx: Any, port: Any, packet: Any, header: Any) -> None:
        cx.out.discard()


@pytest.mark.parametrize(("scheme", "what"), [(Eats, "consumed by the scheme"), (Drops, "dropped")])
def test_a_scheme_that_lets_nothing_through_is_told_as_the_cause(scheme: Any, what: str) -> None:
    """It said that no packet had arrived yet, or that no flow leaves its rack."""
    told = {one.code: one.text for one in sw.run(SMALL, scheme=scheme).summary().warnings}
    assert re.fullmatch(rf"No packet arrived at a host: \d+ {what}\.", told.pop("no_packet_arrived"))
    assert list(told) == ["ended_early"]
    assert "before any packet arrived" not in told["ended_early"]
