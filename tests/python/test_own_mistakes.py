"""Schemes written in Python that go wrong: mistakes are refused in words, where they are made."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

import spinewise as sw
from spinewise.own.contract import contract
from spinewise.own.load import load_scheme

SMALL: dict[str, Any] = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"kind": "permutation", "size_bytes": 100_000}],
    "run": {"until_us": 100_000},
}


class Faulty(sw.SwitchScheme):
    """Fails at a packet of flow 1."""

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        if packet.flow >> 1 == 1:
            raise ZeroDivisionError("mine")
        return 0


def test_an_exception_ends_the_run_and_says_where() -> None:
    with pytest.raises(sw.SchemeError) as failed:
        sw.run(SMALL, scheme=Faulty)
    error = failed.value
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.__cause__.__traceback__ is not None
    assert (error.hook, error.flow) == ("Faulty.pick", 1)
    assert f"at {error.now_ps / 1e6:g}"[:6] in str(error)
    assert "flow 1, a packet from host" in str(error)
    with pytest.raises(sw.SchemeError):
        sw.compare(SMALL, ["ecmp", Faulty], seeds=2)
    # And the next run is none the worse.
    sw.run(SMALL, scheme=Timed)


class Stateful(sw.SwitchScheme):
    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        self.count = 1
        return 0


class Astray(sw.SwitchScheme):
    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        return 2


class Beyond(sw.HostScheme):
    tag: ClassVar[int | None] = 2

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int | None:
        return self.tag


class Greedy(sw.HostScheme):
    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> None:
        for number in range(9):
            cx.out.cancel(sw.Key.node(number))


class Armed(sw.SwitchScheme):
    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        cx.out.arm(sw.Key.node(), cx.now + 1)
        return 0


class Untimed(sw.SwitchScheme):
    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(actions=9)

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        return 0

    def tick(self, cx: Any) -> None:
        return None


class Rowless(sw.SwitchScheme):
    class Flow:
        def __init__(self) -> None:
            raise LookupError("no such row")

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        return 0


class Peerless(sw.SwitchScheme):
    class Peer:
        pass

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        assert cx.peer is not None
        return 0


class Wayless(sw.HostScheme):
    class Route:
        pass

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(peers="leaves")

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        assert cx.route(1) is not None
        assert cx.route(7) is not None
        return 0


class Lonely(sw.HostScheme):
    class Peer:
        pass

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(peers="leaves")

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        assert cx.peers.at(0) is cx.peer
        assert cx.peers.at(7) is not None
        return 0


class Ticking(sw.HostScheme):
    class Peer:
        pass

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(peers="leaves", all_peers=True, tick=sw.us(10))

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        assert cx.peer is not None
        return 0

    def tick(self, cx: Any) -> None:
        assert cx.peers.at(0) is not None
        assert cx.peer is not None


class Unpaid(sw.SwitchScheme):
    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        assert header.data == b""
        header.data = b"abcd"
        return 0


class Unbuilt(sw.HostScheme):
    def __init__(self) -> None:
        raise OSError("no such table")

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> None:
        return None


class Mislaid(sw.HostScheme):
    def layout(self, shape: Any) -> Any:
        return sw.Layout(peers="racks")  # type: ignore[arg-type]

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> None:
        return None


@pytest.mark.parametrize(
    ("scheme", "hook", "says"),
    [
        (Stateful, "pick", "keep state in rows"),
        (Astray, "pick", "pick returned 2: allowed is a place in cx.view.candidates, from 0 to 1"),
        (Beyond, "pick", "pick returned 2: allowed is the number of a path, from 0 to 1"),
        (Greedy, "pick", "Layout(actions=…)"),
        (Armed, "pick", "give the class a method timer"),
        (Untimed, "layout", "no layout gives a period for the method tick"),
        (Rowless, "Flow", "no such row"),
        (Peerless, "pick", 'cx.peer and cx.route need Layout(peers="hosts") or Layout(peers="leaves")'),
        (Ticking, "tick", "this call is about no peer"),
        (Wayless, "pick", "route 7: there are 2, counted from 0"),
        (Lonely, "pick", "peer 7: there is 1, counted from 0"),
        (Unpaid, "pick", "give the class the attribute header = True"),
        (Unbuilt, "__init__", "no such table"),
        (Mislaid, "layout", 'allowed is None, "hosts" or "leaves"'),
    ],
)
def test_mistakes_are_told_where_they_are_made(scheme: Any, hook: str, says: str) -> None:
    with pytest.raises(sw.SchemeError) as failed:
        sw.run(SMALL, scheme=scheme)
    assert failed.value.hook == f"{scheme.__name__}.{hook}"
    assert says in str(failed.value)


def test_a_layout_that_cannot_be_is_told_with_the_line_that_makes_it() -> None:
    with pytest.raises(sw.SchemeError) as failed:
        sw.run(SMALL, scheme=Mislaid)
    line = Mislaid.layout.__code__.co_firstlineno + 1
    assert str(failed.value).endswith(f"({Path(__file__).name}:{line})")


def test_an_object_in_place_of_its_class_is_told() -> None:
    for given in (lambda one: sw.run(SMALL, scheme=one), lambda one: sw.compare(SMALL, [one])):
        with pytest.raises(sw.SpecError) as refused:
            given(Mislaid())
        assert "an object of Mislaid" in str(refused.value)
        assert "the class Mislaid itself" in str(refused.value)


class Timed(Untimed):
    """Ticks at one tier only, or not at all where its parameter says so."""

    period_us = sw.number(10, 0, 100, "Period, microseconds; 0: never.")

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(tick=sw.us(self.period_us)) if shape.tier == "leaf" else sw.Layout()


def test_a_period_may_be_of_some_seats_or_none_on_purpose() -> None:
    for period in (10, 0):
        sw.run(SMALL | {"scheme": {"name": "Timed", "params": {"period_us": period}}}, scheme=Timed)


def test_a_hook_that_is_none_undoes_that_of_a_base_class() -> None:
    """It was refused as a slip in its own name."""
    sw.run(SMALL, scheme=type("Quiet", (Untimed,), {"tick": None}))


def test_a_slip_in_the_name_of_a_hook_is_told() -> None:
    with pytest.raises(sw.SpecError, match='did you mean "feedback"'):
        sw.run(SMALL, scheme=picker(feedbak=lambda *_: None))

    def nothing(*_: object) -> None:
        return None

    harmless: list[dict[str, object]] = [
        {"_ticks": nothing},
        {"picks_way": nothing},
        {"feedback": nothing, "feedbacks": nothing},
        {"links": 3, "tick": None},
    ]
    for attributes in harmless:
        sw.run(SMALL, scheme=picker(**attributes))


def test_tags_that_are_hashed_may_be_any(monkeypatch: pytest.MonkeyPatch) -> None:
    for tag in (0, 1, None, sw.ANY):
        monkeypatch.setattr(Beyond, "tag", tag)
        sw.run(SMALL, scheme=Beyond)
    for tag in (2, 65_534):
        monkeypatch.setattr(Beyond, "tag", tag)
        for path_tag in ("outer", "inner"):
            sw.run(SMALL | {"scheme": {"name": "Beyond", "path_tag": path_tag}}, scheme=Beyond)
    for wrong in (2, -1, "1", 65_536):
        monkeypatch.setattr(Beyond, "tag", wrong)
        with pytest.raises(sw.SchemeError, match="the number of a path, from 0 to 1"):
            sw.run(SMALL, scheme=Beyond)


def test_ctrl_c_in_a_hook_is_ctrl_c() -> None:
    class Stopped(sw.SwitchScheme):
        def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sw.run(SMALL, scheme=Stopped)


def test_a_hook_that_ends_the_program_is_told() -> None:
    """`sys.exit` in a hook ended a comparison without a word."""

    class Ends(sw.SwitchScheme):
        def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
            sys.exit(3)

    with pytest.raises(sw.SchemeError, match=r"Ends\.pick failed .*SystemExit: 3 \(test_own_mistakes\.py:\d+\)"):
        sw.run(SMALL, scheme=Ends)


def picker(**attributes: Any) -> Any:
    return type("Odd", (sw.HostScheme,), {"pick": lambda *_: None, **attributes})


@pytest.mark.parametrize(
    ("scheme", "key"),
    [
        (object, "scheme"),
        (sw.HostScheme, "HostScheme.pick"),
        (picker(name="ecmp"), "Odd.name"),
        (picker(name="two words"), "Odd.name"),
        (picker(tiers=("leaf",)), "Odd.tiers"),
        (picker(egress=lambda *_: None), "Odd.egress"),
        (picker(losses=True), "Odd.losses"),
        (picker(unit="burst"), "Odd.unit"),
        (picker(params=sw.number(1, 0, 2)), "Odd.params"),
        (picker(tick=sw.number(1, 0, 2)), "Odd.tick"),
        (picker(source=sw.word("a", ("a", "b"))), "Odd.source"),
        (picker(tick=5), "Odd.tick"),
        (picker(pick=None), "Odd.pick"),
        (picker(pick=3), "Odd.pick"),
        (picker(layout=3), "Odd.layout"),
        (picker(Flow=3), "Odd.Flow"),
        (picker(tick=lambda *_: None), "Odd.tick"),
        (picker(feedbak=lambda *_: None), "Odd.feedbak"),
        (picker(mesage=lambda *_: None), "Odd.mesage"),
        (picker(layouts=lambda *_: None), "Odd.layouts"),
        (picker(name=3), "Odd.name"),
        (picker(source=3), "Odd.source"),
        (picker(unit=None), "Odd.unit"),
        (picker(in_three_tiers=1), "Odd.in_three_tiers"),
        (picker(told=3), "Odd.told"),
        (picker(told="the rates"), "Odd.told"),
        (picker(told=(3,)), "Odd.told"),
        (picker(tiers="host"), "Odd.tiers"),
        (picker(header="yes"), "Odd.header"),
        (picker(losses=1), "Odd.losses"),
        (picker(series=3), "Odd.series"),
        (picker(series=("ab",)), "Odd.series"),
        (picker(series=(("a", 3),)), "Odd.series"),
        (picker(gap=sw.number(5, 0, 1)), "Odd.gap"),
        (picker(pick=lambda self, cx, flow, packet: None), "Odd.pick"),
        (picker(Flow=lambda self: 1), "Odd.Flow"),
    ],
)
def test_a_class_that_contradicts_itself_is_refused(scheme: Any, key: str) -> None:
    with pytest.raises(sw.SpecError) as refused:
        sw.run(SMALL, scheme=scheme)
    assert refused.value.key == key


TWO = """import spinewise as sw


class Odd(sw.SwitchScheme):
    share = {share}

    def pick(self, cx, flow, packet, header):
        return 0


class Even(sw.SwitchScheme):
    def pick(self, cx, flow, packet, header):
        return 0
"""


@pytest.mark.parametrize(
    ("share", "value", "allowed"),
    [
        ('sw.number(5, 0, 1, "a share")', "5", "a number in the range beside it, from 0 to 1"),
        ("sw.number(0, 0, float('inf'))", "0", "a number and a finite range, not 0 to inf"),
        ('sw.number("x", 0, 1)', "x", "a number in the range beside it, from 0 to 1"),
        ("sw.whole(0.5, 0, 1)", "0.5", "a whole number in the range beside it, from 0 to 1"),
        ('sw.word("c", ("a", "b"))', "c", "one of a, b"),
        ('sw.word("c", 3)', "c", 'one of a tuple of texts, such as ("one", "two"), not 3'),
    ],
)
def test_a_parameter_that_cannot_be_is_told_with_its_place(
    share: str, value: str, allowed: str, tmp_path: Path
) -> None:
    """It was told without name and line, and no other class of its file could be run."""
    file = tmp_path / "mine.py"
    file.write_text(TWO.format(share=share))
    with pytest.raises(sw.SpecError) as refused:
        load_scheme(f"{file}:Odd")
    error = refused.value
    assert (error.key, error.value, error.allowed) == ("Odd.share", value, allowed)
    assert (error.file, error.line) == (str(file), 5)
    assert load_scheme(f"{file}:Even").__name__ == "Even"


def test_a_class_that_cannot_be_is_told_with_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(TWO.format(share="0").replace("flow, packet, header", "flow, packet"))
    with pytest.raises(sw.SpecError) as refused:
        load_scheme(f"{file}:Even")
    assert (refused.value.file, refused.value.line) == (str(file), 12)


def test_a_file_that_does_not_run_says_at_which_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(TWO.format(share="1 // 0"))
    with pytest.raises(sw.SpecError, match="ZeroDivisionError") as refused:
        load_scheme(str(file))
    assert (refused.value.file, refused.value.line) == (str(file), 5)


class Signed(sw.SwitchScheme):
    """Hooks that take what they are called with, in other ways than by one name each."""

    @staticmethod
    def pick(cx: Any, flow: Any, packet: Any, header: Any) -> int:
        return 0

    @classmethod
    def timer(cls, cx: Any, *rest: Any) -> None: ...

    def message(self, cx: Any, flow: Any, message: Any, more: int = 0, **rest: Any) -> None: ...

    tick = partial(print, end="")
    Flow = dict
    Node = dataclass(type("Row", (), {"__annotations__": {"n": int}, "n": 0}))

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(tick=0)


def test_what_takes_its_arguments_is_taken() -> None:
    assert sw.run(SMALL, scheme=Signed).report["finished"] == 4


@pytest.mark.parametrize(
    ("name", "method", "written", "allowed"),
    [
        ("pick", lambda self, cx: 0, "pick(self, cx)", "pick(self, cx, flow, packet, header)"),
        ("message", lambda cx, flow, message: 0, "message(cx, flow, message)", "message(self, cx, flow, message)"),
        ("pick", staticmethod(lambda cx: 0), "pick(cx)", "pick(cx, flow, packet, header)"),
        ("feedback", lambda self, cx, flow: 0, "feedback(self, cx, flow)", "feedback(self, cx, flow, feedback)"),
        ("tick", lambda self: 0, "tick(self)", "tick(self, cx)"),
        ("timer", lambda self, cx, key, *, x: 0, "timer(self, cx, key, *, x)", "timer(self, cx, flow, key)"),
        ("layout", lambda self: 0, "layout(self)", "layout(self, shape)"),
        ("Node", lambda self, n: 0, "Node(self, n)", "Node()"),
    ],
)
def test_what_does_not_take_its_arguments_is_told_before_the_run(
    name: str, method: Any, written: str, allowed: str
) -> None:
    """It was found at the first packet."""
    with pytest.raises(sw.SpecError) as refused:
        contract(picker(**{name: method}))
    assert (refused.value.key, refused.value.value, refused.value.allowed) == (f"Odd.{name}", written, allowed)
