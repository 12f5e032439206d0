"""The contents of a page. Everything is plain data: `html` writes what can be read, the scripts draw the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from spinewise.page.packed import Ref

Scale = Literal["linear", "signed", "near", "log", "log2", "nines", "words"]
Tone = Literal["", "good", "bad", "unsure", "head"]


@dataclass(frozen=True)
class Words:
    """Paragraphs; with `listed` a list.

    Attributes:
        lines: the texts.
        listed: one point a line.
        small: set as a note.
        verbatim: set verbatim in a fixed-width font, such as a story of `explain`.
        summary: shown in place of the text until it is opened; "" shows it at once.
    """

    lines: tuple[str, ...]
    listed: bool = False
    small: bool = False
    verbatim: bool = False
    summary: str = ""


@dataclass(frozen=True)
class Answer:
    """The head of a part: a question, the answer in large type, and what goes with it.

    Attributes:
        question: such as "web, p99 FCT of short flows".
        answer: in a few words.
        more: lines below.
        tone: the tone of the answer.
    """

    question: str
    answer: str
    more: tuple[str, ...] = ()
    tone: Tone = ""


@dataclass(frozen=True)
class Answers:
    """Answers side by side."""

    of: tuple[Answer, ...]


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, its sort key, and its mark."""

    text: str
    sort: float | str | None = None
    tone: Tone = ""


@dataclass(frozen=True)
class Table:
    """A table whose columns can be sorted.

    Attributes:
        title: above it.
        heads: the heads of the columns.
        rows: as many cells each as heads.
        note: below it.
        numeric: whether each column holds numbers, and is set to the right.
        summary: shown in its place until it is opened; "" shows it at once.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    numeric: tuple[bool, ...] = ()
    summary: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis: its title with unit, its scale, and words in place of numbers.

    A near scale is linear, without zero; a signed one is for bars that may be below it.
    """

    title: str
    scale: Scale = "linear"
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Curve:
    """A line or a row of points.

    Attributes:
        label: the label in the legend.
        colour: the colour as #RRGGBB.
        dash: the style of the line: solid, dashed or dotted.
        symbol: the symbol of the points; "none" draws only the line.
        x, y: values; a y that is unknown is NaN.
        half: how far intervals around y reach, upwards if `below` has the other way; empty for none. Bars have them
            around x.
        hollow: points that leave something out; empty for none.
        joined: whether points are joined by a line.
        below: how far they reach downwards; empty if as far as upwards.
    """

    label: str
    colour: str
    dash: str
    symbol: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    half: tuple[float, ...] = ()
    hollow: tuple[bool, ...] = ()
    joined: bool = True
    below: tuple[float, ...] = ()


@dataclass(frozen=True)
class Chart:
    """A chart with its axes.

    Attributes:
        title: its title.
        x, y: axes.
        curves: in the order of the legend.
        note: what a reader must know, below it.
        bars: one value a curve, as bars that begin at zero, with the labels at the left.
        shaded: stretches of x with a name: faults, overloaded loads.
        kind: the kind, for the scripts.
    """

    title: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    note: str = ""
    bars: bool = False
    shaded: tuple[tuple[float, float, str], ...] = ()
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True)
class Charts:
    """Charts side by side, with one text below."""

    of: tuple[Chart, ...]
    note: str = ""


@dataclass(frozen=True)
class Node:
    """A node of the fabric as drawn: position across (0 to 1), tier, and the number of hosts it represents."""

    name: str
    tier: str
    x: float
    level: int


@dataclass(frozen=True)
class Link:
    """One direction of a cable: ends by place among the nodes, rate in bit/s, tier by place among the tiers."""

    name: str
    begin: int
    end: int
    rate_bps: float
    tier: int
    slow: bool
    up: bool


@dataclass(frozen=True)
class Fabric:
    """A fabric to be drawn; its nodes level by level, hosts first."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    tiers: tuple[str, ...]


@dataclass(frozen=True)
class Fault:
    """A fault in a replay: in words, the links it hits by number, and the stretches (µs) for which it lasts."""

    text: str
    links: tuple[int, ...]
    spans_us: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Quantity:
    """A quantity of all links over time.

    Attributes:
        name: such as "use".
        title: with its unit, such as "bytes queued".
        unit: "share", "bytes" or "packets".
        most: the value represented by 255.
        power: values are kept as 255 (value / most)^(1 / power).
        values: 8 bits each, frame by frame of the first link, then of the second, …
    """

    name: str
    title: str
    unit: str
    most: float
    power: float
    values: Ref


@dataclass(frozen=True)
class Step:
    """A bar of a step chart: µs from and to (NaN: not finished), and the flow that was last."""

    label: str
    begin_us: float
    end_us: float
    last: str
    longest: bool


@dataclass(frozen=True)
class Steps:
    """Steps of collective operations, below each other; tracks side by side.

    Attributes:
        title: the title.
        tracks: label and steps of each run.
        note: below it.
        kind: the kind, for the scripts.
    """

    title: str
    tracks: tuple[tuple[str, tuple[Step, ...]], ...]
    note: str
    kind: Literal["steps"] = "steps"


@dataclass(frozen=True)
class Path:
    """A flow's choices over time.

    Attributes:
        flow: its number.
        track: number of the run in the replay.
        title: in a line.
        run: label of the only run that has this flow; "" if all have it, and it is selected in all of them together.
        facts: name and value.
        why: why it took so long, a sentence each.
        story: the output of `spinewise explain`; "" if nothing was traced.
        ways: names of the ways that its packets could take, by device.
        times_us, way, wait_us, again: of every packet shown: when it chose, which way (by place in `ways`), how long it
            would wait there, whether its bytes were sent before.
        route, routes: the links of every packet, by place in `routes`, which hold numbers of links.
        met: charts of the queues that it found on its links.
        packets: the number of packets that chose, some of which may not be shown.
    """

    flow: int
    track: int
    title: str
    facts: tuple[tuple[str, str], ...]
    why: tuple[str, ...]
    run: str = ""
    story: str = ""
    ways: tuple[str, ...] = ()
    times_us: Ref | None = None
    way: Ref | None = None
    wait_us: Ref | None = None
    again: Ref | None = None
    route: Ref | None = None
    routes: tuple[tuple[int, ...], ...] = ()
    met: Chart | None = None
    packets: int = 0


@dataclass(frozen=True)
class Track:
    """One run of a replay: its label, quantities, faults, and goodput of all hosts by frame (bit/s)."""

    label: str
    colour: str
    frames: int
    quantities: tuple[Quantity, ...]
    goodput: Ref | None
    faults: tuple[Fault, ...]


@dataclass(frozen=True)
class Replay:
    """Links over time, of one run or of several on one clock.

    Attributes:
        title: the title.
        fabric: the fabric of all runs.
        frame_us: how long a frame lasts.
        tracks: the runs.
        paths: flows that can be picked.
        drawn: cables as lines, or, for a large fabric, links as cells.
        note: below it.
        kind: for the scripts.
    """

    title: str
    fabric: Fabric
    frame_us: float
    tracks: tuple[Track, ...]
    paths: tuple[Path, ...]
    drawn: Literal["lines", "cells"]
    note: str
    kind: Literal["replay"] = "replay"


Item = Words | Answers | Table | Charts | Replay | Steps


@dataclass(frozen=True)
class Section:
    """A heading with the items below it."""

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Part:
    """The part of a page for one of RESULTS.

    Attributes:
        title: the title.
        kind: such as "comparison".
        subtitle: the runs, in a line.
        sections: the answer first.
    """

    title: str
    kind: str
    subtitle: str
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Page:
    """All parts, and notes about the page itself."""

    title: str
    parts: tuple[Part, ...]
    made: str
    notes: tuple[str, ...] = field(default_factory=tuple)


def text(value: str, tone: Tone = "") -> Cell:
    """A cell of words, sorted by them."""
    return Cell(value, value, tone)


def number(value: float, shown: str, tone: Tone = "") -> Cell:
    """A cell of a number, sorted by it; unknown values come last."""
    return Cell(shown, value if math.isfinite(value) else None, tone)
