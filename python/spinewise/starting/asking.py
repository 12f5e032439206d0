"""Ask the wishes of a user at a terminal, one by one; an empty answer means the default."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from spinewise.errors import SpecError
from spinewise.starting import wishes
from spinewise.starting.wishes import COLLECTIVES, LEAF_SPINE, Given, SlowLink, Wishes, form_of_slow_links

Read = Callable[[str], object]
AUTO = "auto"
USUAL = {"hosts_per_leaf": "under_leaf", "link_gbps": "between_gbps"}
"""Properties of `Wishes` with the defaults of optional fields."""


@dataclass(frozen=True)
class Question:
    """A question to the user.

    Attributes:
        field: the field of `Wishes`.
        text: the question.
        read: makes a value of an answer.
        offered: the default for an empty answer.
        applies: whether it is asked, given the answers so far.
    """

    field: str
    text: str
    read: Read
    offered: Callable[[Wishes], str]
    applies: Callable[[Wishes], bool] = lambda _: True


def ask(
    start: Wishes,
    questions: list[Question],
    read_line: Callable[[str], str],
    tell: Callable[[str], None],
    check: Callable[[Wishes], None],
) -> Wishes:
    """Ask the questions in turn; an invalid answer is asked for again.

    Args:
        start: what is known in advance.
        questions: the questions.
        read_line: reads an answer.
        tell: reports why an answer is invalid.
        check: refuses wishes that do not fit each other, by a `SpecError`.

    Raises:
        SpecError: the answers end before the questions.
    """
    known = start
    for question in questions:
        while question.applies(known):
            try:
                answer = read_line(f"{question.text} [{question.offered(known)}]: ").strip()
            except EOFError:
                raise SpecError("(answers)", "(end of input)", "an answer to each question, or options") from None
            try:
                value = question.read(answer or question.offered(known))
                wanted = replace(known, **cast(Given, {question.field: value}))
                check(wanted)
            except (argparse.ArgumentTypeError, SpecError) as error:
                tell(f"  allowed is {getattr(error, 'allowed', error)}")
                continue
            known = wanted
            break
    return known


def slow_links(known: Wishes) -> Read:
    """Return a reader of slow links, several separated by blanks, or none."""

    def read(text: str) -> tuple[SlowLink, ...]:
        return () if text == "none" else tuple(SlowLink.of(one, known.topology) for one in text.split())

    return read


def questions(numbers: Mapping[str, Read]) -> list[Question]:
    """The questions; `numbers` are the converters of the options that have one, by field."""

    def offer(field: str) -> Callable[[Wishes], str]:
        return lambda known: f"{getattr(known, USUAL.get(field, field)):g}"

    def choice(words: list[str]) -> Read:
        def read(text: str) -> str:
            if text not in words:
                raise SpecError("", text, ", ".join(words))
            return text

        return read

    def workload(text: str) -> str:
        found = wishes.workload_named(text)
        if found is None:
            raise SpecError("", text, ", ".join(known_workloads))
        return found

    def size(text: str) -> object:
        return None if text == AUTO else numbers["size"](text)

    def flat(known: Wishes) -> bool:
        return known.topology == LEAF_SPINE

    def number(field: str, text: str, applies: Callable[[Wishes], bool] = lambda _: True) -> Question:
        return Question(field, text, numbers[field], offer(field), applies)

    known_workloads = wishes.workloads()
    return [
        Question("topology", f"Fabric: {' or '.join(wishes.TOPOLOGIES)}", choice([*wishes.TOPOLOGIES]),
                 lambda known: known.topology),
        number("leaves", "Leaf switches (racks)", flat),
        number("spines", "Spine switches", flat),
        number("k", "Ports of a switch, k of the fat-tree", lambda known: not flat(known)),
        number("hosts_per_leaf", "Hosts under each leaf"),
        number("host_gbps", "Rate of a host's link, Gbps"),
        number("link_gbps", "Rate of a link between switches, Gbps"),
        Question("transport", f"Transport: {', '.join(wishes.TRANSPORTS)}", choice([*wishes.TRANSPORTS]),
                 lambda known: known.transport),
        Question("workload", f"Workload: {', '.join(known_workloads)}", workload,
                 lambda known: known.workload),
        number("load", "Load, as a share of the leaves' uplinks", lambda known: known.workload not in COLLECTIVES),
        Question("size", "Data of each host, bytes, or auto", size, lambda _: AUTO,
                 lambda known: known.workload in COLLECTIVES),
        number("incast", "Incast: hosts that send to one at once, 0 for none"),
    ]  # fmt: skip


def slow_link_question(known: Wishes) -> Question:
    """The question about links below their rate, once the fabric is known."""
    form = form_of_slow_links(known.topology)
    return Question("slow_links", f"Slow links, {form}", slow_links(known), lambda _: "none")


def last_questions() -> list[Question]:
    """The questions that depend on all others."""

    def names(text: str) -> tuple[str, ...]:
        return tuple(one.strip() for one in text.split(",") if one.strip())

    return [
        Question("aim", "Aim, what to optimise for", str, lambda known: known.aims),
        Question("schemes", "Schemes to compare", names, lambda known: ",".join(known.compared)),
    ]
