"""docs/how-to/own-scheme.md lists what the contract of schemes in Python has: hooks, words, and what is lent."""

from __future__ import annotations

import ast
import re
from copy import deepcopy
from pathlib import Path

from spinewise import core
from spinewise.own.contract import ALL_HOOKS, ARGUMENTS, HOOKS
from spinewise.own.scheme import ANY, HostScheme, Key, Scheme, SwitchScheme, To

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "own-scheme.md").read_text()
LENT = ROOT / "crates" / "py" / "src" / "own"
STUB = ast.parse((ROOT / "python" / "spinewise" / "_core.pyi").read_text())


def table(head: str) -> list[list[str]]:
    """The cells of each row of the table whose first column is called so."""
    lines = PAGE.split(f"\n| {head} |")[1].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    """The names in a cell, without what they are called with."""
    return re.findall(r"`(\w+)[^`]*`", cell)


def first(head: str) -> list[str]:
    """The names in the first column of a table."""
    return [name for row in table(head) for name in names(row[0])]


def words(file: str, match: str) -> list[str]:
    """The words that the engine gives where it matches on an enumeration."""
    return re.findall(rf'{match}::\w+(?: {{ \.\. }})? => (?:intern!\(py, )?"(\w+)"', (LENT / file).read_text())


def public(name: str) -> set[str]:
    """The attributes of what a hook is lent, as the engine has them."""
    return {one for one in dir(getattr(core.engine(), name)) if not one.startswith("_")}


def test_every_hook_is_listed_with_its_place() -> None:
    listed = {row[0].split("(")[0].strip("`"): row[1] for row in table("hook")}
    assert sorted(listed) == sorted(["pick", *ALL_HOOKS])
    for hook, place in listed.items():
        sites = [site for site in HOOKS if hook == "pick" or hook in HOOKS[site]]
        assert [site for site in HOOKS if f"{site}s" in place or f"{site}es" in place] == sites, hook


def test_hooks_are_called_with_what_is_listed() -> None:
    for row in table("hook"):
        name, _, arguments = row[0].strip("`)").partition("(")
        assert tuple(arguments.split(", ")) == ARGUMENTS[name]


def test_every_wish_is_listed_with_its_arguments() -> None:
    """As the types have them; those beside place, timer and port are told of in the same row."""
    rows = {row[0].split("(")[0].strip("`"): row for row in table("call of `cx.out`")}
    assert sorted(rows) == sorted(public("Out"))
    body = next(one for one in STUB.body if isinstance(one, ast.ClassDef) and one.name == "Out").body
    for method in (one for one in body if isinstance(one, ast.FunctionDef)):
        arguments = deepcopy(method.args)
        arguments.args = arguments.args[1:]
        named = [*arguments.args, *arguments.kwonlyargs]
        for one in named:
            one.annotation = None
        call, _, meanings = rows[method.name]
        written = f"`{method.name}({ast.unparse(arguments)})`".replace(str(ANY), "sw.ANY")
        assert call.replace('"', "'") == written
        assert re.findall(r"`(\w+)`: ", meanings) == [one.arg for one in named if one.arg not in ("to", "key", "port")]


def test_every_place_and_every_timer_is_listed() -> None:
    for head, of in (("`to`", To), ("`key`", Key)):
        listed = [word for row in table(head) for word in re.findall(rf"`sw\.{of.__name__}\.(\w+)", row[0])]
        assert sorted(listed) == sorted(name for name in vars(of) if not name.startswith("_"))


def test_every_word_is_listed() -> None:
    events, changes = words("packet.rs", "Event"), words("hooks.rs", "Change")
    assert len(events) == 8
    assert sorted(first("event")) == sorted(events)
    assert sorted(first("change")) == sorted(changes) == ["degraded", "down", "up"]
    assert [word for row in table("of `packet`") if row[0] == "`kind`" for word in names(row[1])] == [
        "data", "ack", "probe", "probe_reply", "message",
    ]  # fmt: skip


def test_every_field_of_an_event_is_listed() -> None:
    """As the engine refuses what does not belong to an event."""
    told = re.findall(r'only\("(\w+)", "([^"]+)"\)', (LENT / "packet.rs").read_text())
    belongs = {field: set(re.split(r", | or ", events)) for field, events in told}
    assert {
        field: {row[0].strip("`") for row in table("event") if field in names(row[2])} for field in belongs
    } == belongs
    assert sorted(first("field of `feedback`")) == sorted(belongs)
    assert public("Feedback") == {*belongs, "event", "way", "flow"}


def test_all_that_is_lent_is_listed() -> None:
    heads = {
        "Cx": "of `cx`",
        "Packet": "of `packet`",
        "SwitchView": "of `cx.view` at a switch",
        "HostView": "of `cx.view` at a host",
    }
    for name, head in heads.items():
        assert sorted(first(head)) == sorted(public(name)), name
    cells = {row[0]: row[1] for row in table("of `cx`")}
    assert sorted(names(cells["`out`"])) == sorted(public("Out"))
    assert sorted(names(cells["`rng`"])) == sorted(public("Rng"))
    assert public("Peers") <= set(names(cells["`peers`"]))
    assert set(names(PAGE.split("A `message` has ")[1].split("\n\n")[0])) == public("Message")


def test_types_have_what_the_engine_lends() -> None:
    """`last_hop` was missing."""
    for name in ("Cx", "Packet", "Feedback", "Message", "Header", "Rng", "Out", "HostView", "SwitchView", "Peers"):
        body = next(one for one in STUB.body if isinstance(one, ast.ClassDef) and one.name == name).body
        typed = {one.target.id for one in body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}
        typed |= {one.name for one in body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")}
        assert typed == public(name), name


def test_help_tells_of_every_attribute() -> None:
    """It told of none: the text of a base is not shown."""
    attributes = [name for name in Scheme.__annotations__ if not name.startswith("_")]
    assert len(attributes) == 14
    for base in (HostScheme, SwitchScheme):
        told = re.findall(r"^    (\w+): ", base.__doc__ or "", re.MULTILINE)
        assert told == attributes
