"""The model as HTML that can be read without JavaScript: words, tables, and the numbers behind every chart."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import count

from spinewise.measures.curves import LEVELS
from spinewise.page import model
from spinewise.page.model import Chart, Page, Part, Section

SHOWN_LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""Shares of flows at which the numbers of a distribution are listed."""
LONG, SHORT = 48, 18
"""Letters of a cell that gets more room, and of one that is never broken."""
ANCHOR = "part-{}-section-{}"


def body(page: Page) -> str:
    """The page between `<main>` and its end, and the list of contents before it."""
    places: Callable[[], int] = count().__next__
    parts = "\n".join(part(one, number, places) for number, one in enumerate(page.parts))
    # A section does not repeat what another says.
    notes = [note for note in page.notes if escape(note) not in parts]
    return f"{contents(page)}\n<main>\n{parts}\n{closing(notes, page.made)}\n</main>"


def contents(page: Page) -> str:
    """Links to all sections."""
    groups = []
    for number, one in enumerate(page.parts):
        links = "".join(
            f'<a href="#{ANCHOR.format(number, place)}">{escape(section.title)}</a>'
            for place, section in enumerate(one.sections)
        )
        head = f"<span>{escape(one.title)}</span>" if len(page.parts) > 1 else ""
        groups.append(f"<div>{head}{links}</div>")
    return f'<nav aria-label="Contents">{"".join(groups)}</nav>'


def part(one: Part, number: int, places: Callable[[], int]) -> str:
    """One of RESULTS."""
    sections = "\n".join(section(each, number, place, places) for place, each in enumerate(one.sections))
    return (
        f'<article data-kind="{escape(one.kind)}"><header><p class="kind">{escape(one.kind)}</p>'
        f"<h1>{escape(one.title)}</h1><p>{escape(one.subtitle)}</p></header>\n{sections}\n</article>"
    )


def section(one: Section, number: int, place: int, places: Callable[[], int]) -> str:
    """A heading with its items; `places` numbers what the scripts draw, in the order of `drawn`."""
    inner = "\n".join(item(each, places) for each in one.items)
    return f'<section id="{ANCHOR.format(number, place)}"><h2>{escape(one.title)}</h2>\n{inner}\n</section>'


def drawn(page: Page) -> Iterator[Chart | model.Replay | model.Steps]:
    """The items that the scripts draw, in the order of the page."""
    for one in page.parts:
        for each in one.sections:
            for thing in each.items:
                if isinstance(thing, model.Charts):
                    yield from thing.of
                elif isinstance(thing, model.Replay | model.Steps):
                    yield thing


def closing(notes: Sequence[str], made: str) -> str:
    """A note on how the page was made."""
    lines = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"<footer>{f'<ul>{lines}</ul>' if lines else ''}<p>{escape(made)}</p></footer>"


def item(one: model.Item, places: Callable[[], int]) -> str:
    """One item of a section."""
    match one:
        case model.Words():
            return words(one)
        case model.Answers():
            return answers(one)
        case model.Table():
            return table(one)
        case model.Charts():
            return charts(one, places)
        case model.Replay():
            return replay(one, places())
        case model.Steps():
            return steps(one, places())


def words(one: model.Words) -> str:
    """Paragraphs, a list, or verbatim text."""
    if one.verbatim:
        text = f"<pre>{escape(chr(10).join(one.lines))}</pre>"
    elif one.listed:
        small = ' class="note"' if one.small else ""
        text = f"<ul{small}>{''.join(f'<li>{escape(line)}</li>' for line in one.lines)}</ul>"
    else:
        text = "".join(f"<p>{escape(line)}</p>" for line in one.lines)
    return opened(text, one.summary)


def answers(one: model.Answers) -> str:
    """Cards side by side."""
    cards = "".join(
        f'<div class="answer {each.tone}"><h3>{escape(each.question)}</h3>'
        + (f'<p class="is">{unbroken(escape(each.answer))}</p>' if each.answer else "")
        + "".join(f"<p>{whole(escape(line))}</p>" for line in each.more)
        + "</div>"
        for each in one.of
    )
    return f'<div class="answers">{cards}</div>'


def unbroken(text: str) -> str:
    """Names of links (escaped) in large letters, which break before their arrow, never within it."""
    return text.replace("-&gt;", '<wbr><span class="whole">-&gt;</span>')


def whole(text: str) -> str:
    """Names of links (escaped) in small letters, which do not break."""
    return re.sub(r"[\w#]+-&gt;[\w#]+", r'<span class="whole">\g<0></span>', text)


def table(one: model.Table) -> str:
    """A table with heads to sort by."""
    heads = "".join(
        f'<th scope="col"{numeric(one, place)}><button type="button">{escape(head)}</button></th>'
        for place, head in enumerate(one.heads)
    )
    rows = "".join(f"<tr>{''.join(cell(one, place, each) for place, each in enumerate(row))}</tr>" for row in one.rows)
    title = f"<caption>{escape(one.title)}</caption>" if one.title else ""
    note = f'<p class="note">{escape(one.note)}</p>' if one.note else ""
    inner = f'<table class="sortable">{title}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return opened(f'<div class="scroll" tabindex="0">{inner}</div>{note}', one.summary)


def charts(one: model.Charts, places: Callable[[], int]) -> str:
    """Charts side by side."""
    figures = "".join(chart(each, places()) for each in one.of)
    note = f'<p class="note">{escape(one.note)}</p>' if one.note else ""
    return f'<div class="charts">{figures}</div>{note}'


def replay(one: model.Replay, place: int) -> str:
    """The place where the scripts play links over time; without them, the reasons why flows took so long."""
    flows = "".join(
        f"<h4>{escape(path.title)}</h4><ul>{''.join(f'<li>{escape(line)}</li>' for line in path.why)}</ul>"
        for path in one.paths
    )
    return (
        f'<div class="replay" data-place="{place}"></div>'
        f'<noscript><p class="note">The replay of links over time needs JavaScript.</p>{flows}</noscript>'
        f'<p class="note">{escape(one.note)}</p>'
    )


def steps(one: model.Steps, place: int) -> str:
    """A step chart, and its numbers."""
    heads = ("run", "step", "from [µs]", "to [µs]", "last")
    most = max(len(steps) for _, steps in one.tracks)
    rows = [
        (label, step.label, shown(step.begin_us), shown(step.end_us), step.last)
        for label, steps in one.tracks
        for step in steps
    ]
    return (
        f'<figure class="steps" style="--rows:{most}"><figcaption>{escape(one.title)}</figcaption>'
        f'<div class="plot" data-place="{place}" role="img" aria-label="{escape(one.title)}"></div>'
        f'{numbers(heads, rows)}</figure><p class="note">{escape(one.note)}</p>'
    )


def chart(one: Chart, place: int) -> str:
    """A chart to be drawn, and its numbers, which are shown if nothing is drawn."""
    label = escape(f"{one.title}: {one.y.title or 'value'} over {one.x.title}")
    small = f' style="--rows:{len(one.curves)}"' if one.bars else ""
    return (
        f'<figure class="{"bars" if one.bars else "lines"}"{small}><figcaption>{escape(one.title)}</figcaption>'
        f'<div class="plot" data-place="{place}" role="img" aria-label="{label}"></div>'
        f"{numbers(*listed(one))}</figure>"
    )


def listed(one: Chart) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Heads and rows of the numbers of a chart."""
    if one.bars:
        return ("", one.x.title), [(each.label, with_half(each, 0, each.x[0])) for each in one.curves]
    if one.y.scale == "nines":
        known = {each.label: dict(zip(each.y, each.x, strict=True)) for each in one.curves}
        levels = [level for level in LEVELS if level in SHOWN_LEVELS]
        heads = (one.y.title, *known)
        return heads, [(f"{100 * p:g} %", *(shown(of.get(p, math.nan)) for of in known.values())) for p in levels]
    xs = sorted({x for each in one.curves for x in each.x})
    heads = (one.x.title, *(each.label for each in one.curves))
    return heads, [(along(one, x), *(at(each, x) for each in one.curves)) for x in xs]


def along(one: Chart, x: float) -> str:
    """A place on the x axis."""
    return one.x.words[int(x)] if one.x.scale == "words" and 0 <= int(x) < len(one.x.words) else shown(x)


def at(one: model.Curve, x: float) -> str:
    """The value of a curve at a place."""
    return with_half(one, one.x.index(x), one.y[one.x.index(x)]) if x in one.x else ""


def with_half(one: model.Curve, place: int, value: float) -> str:
    """A value with half its interval, or with its ends if it reaches further to one side."""
    half = one.half[place] if one.half else math.nan
    if not math.isfinite(half):
        return shown(value)
    if one.below:
        return f"{shown(value)} ({value - one.below[place]:.4g} to {value + half:.4g})"
    return f"{shown(value)} ±{half:.3g}"


def shown(value: float) -> str:
    """A number of a chart."""
    return f"{value:.5g}" if math.isfinite(value) else "–"


def numbers(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The numbers behind a chart. They are open until the scripts close them."""
    top = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    inner = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{inner}</tbody></table>"
    return f'<details class="numbers" open><summary>Numbers</summary><div class="scroll">{table}</div></details>'


def cell(of: model.Table, place: int, one: model.Cell) -> str:
    """A cell, with its sort key if that is not its text."""
    sort = "" if one.sort is None or one.sort == one.text else f' data-sort="{escape(str(one.sort))}"'
    tone = f' data-tone="{one.tone}"' if one.tone else ""
    size = "wide" if len(one.text) > LONG else "short" if len(one.text) < SHORT else ""
    wide = f' class="{size}"' if size and not numeric(of, place) else ""
    lines = "<br>".join(escape(line) for line in one.text.split("\n"))
    return f"<td{numeric(of, place)}{sort}{tone}{wide}>{lines}</td>"


def numeric(of: model.Table, place: int) -> str:
    """The class of a column of numbers."""
    return ' class="number"' if place < len(of.numeric) and of.numeric[place] else ""


def opened(text: str, summary: str) -> str:
    """The text, or a line that opens it."""
    return f"<details><summary>{escape(summary)}</summary>{text}</details>" if summary else text
