"""Texts of a checkout that are generated from its sources.

- docs/papers.md: which function implements which equation or section of which paper or standard. A citation
  is a comment such as ``// CONGA §3.3 step 2`` or ``// RFC 6298 (5.3)`` at the line that acts, or a
  standard at the beginning of a function's documentation; on a line of its own it is about the next.
- The table of schemes in README.md.
- The effect of each rule of a followed program, in docs/agreement.md, from the runs kept in docs/agreement.json.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from spinewise import core
from spinewise.agreement import worth
from spinewise.show.markdown import cell

POLICY = Path("crates/policy/src")
SCHEMES = POLICY / "schemes"
TRANSPORTS = Path("crates/sim/src/transport")
PAPERS = Path("python/spinewise/papers/papers.toml")
PAGE = Path("docs/papers.md")
README = Path("README.md")
AGREEMENT = Path("docs/agreement.md")
# The output of python -m spinewise.agreement.worth.
WORTH = Path("docs/agreement.json")

STANDARDS = {
    "RFC 2018": "TCP selective acknowledgment options",
    "RFC 2883": "An extension to the selective acknowledgement (SACK) option for TCP",
    "RFC 3168": "The addition of explicit congestion notification (ECN) to IP",
    "RFC 3522": "The Eifel detection algorithm for TCP",
    "RFC 4015": "The Eifel response algorithm for TCP",
    "RFC 5681": "TCP congestion control",
    "RFC 6298": "Computing TCP's retransmission timer",
    "RFC 6356": "Coupled congestion control for multipath transport protocols",
    "RFC 6582": "The NewReno modification to TCP's fast recovery algorithm",
    "RFC 6675": "A conservative loss recovery algorithm based on selective acknowledgment (SACK) for TCP",
    "RFC 6937": "Proportional rate reduction for TCP",
    "RFC 7661": "Updating TCP to support rate-limited traffic",
    "RFC 8257": "Data Center TCP (DCTCP)",
    "RFC 8684": "TCP extensions for multipath operation with multiple addresses (MPTCP)",
    "RFC 8985": "The RACK-TLP loss detection algorithm for TCP",
    "RFC 9438": "CUBIC for fast and long-distance networks",
    "RFC 9293": "Transmission Control Protocol (TCP)",
}

_STEPS = r"(?: steps? \d+(?:(?:,| and| to) \d+)*)?"
_PLACE = rf'(?:§"[^"]+"|§\d+(?:\.\d+)*{_STEPS}|Eq\. \d+|eq\. \(\d+\)|Algorithm \d+|\(\d+\.\d+\))'
_CITATION = re.compile(rf"\b(RFC \d+|[A-Z]\w+) ({_PLACE})(?:,? and ({_PLACE}))?")
# A plain comment cites; documentation (///) describes, unless it begins with a standard.
_COMMENT = re.compile(r"(?<![/:])//(?![/!])(.*)")
_DOCUMENTED = re.compile(rf"^\s*/// (RFC \d+ {_PLACE}.*)")
_FUNCTION = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?(?:const )?fn (\w+)")
_HEAD_ROW = re.compile(r"^//! \| (.*) \| .* \|$")


@dataclass(frozen=True)
class Citation:
    """One place of a paper or standard, and the line that acts on it."""

    work: str
    place: str
    file: Path
    line: int
    function: str


def sources(folder: Path) -> list[Path]:
    """The source files below a folder, tests left out."""
    found = (path for path in folder.rglob("*.rs") if path.stem != "tests" and "tests" not in path.parts)
    return sorted(path for path in found if path.stem != "both_ends")


def citations(root: Path, file: Path) -> Iterator[Citation]:
    """The citations in the lines of a file."""
    lines = file.read_text().partition("#[cfg(test)]")[0].splitlines()
    for index, text in enumerate(lines):
        comment = _COMMENT.search(text) or _DOCUMENTED.match(text)
        for found in _CITATION.finditer(comment[1]) if comment else ():
            acting = acting_line(lines, index)
            for place in filter(None, found.group(2, 3)):
                where = file.relative_to(root)
                yield Citation(found[1], place, where, acting + 1, function_of(lines, acting))


def acting_line(lines: list[str], index: int) -> int:
    """The line that a comment at `index` is about: its own, or the next with code."""
    while index + 1 < len(lines) and lines[index].lstrip().startswith(("//", "#[")):
        index += 1
    return index


def function_of(lines: list[str], index: int) -> str:
    """The function that a line is in or begins."""
    while index >= 0:
        found = _FUNCTION.match(lines[index])
        if found:
            return found[1]
        index -= 1
    return ""


def all_citations(root: Path) -> list[Citation]:
    """Every citation of the schemes, with what they share, and of the transports."""
    files = [*sources(root / POLICY), *sources(root / TRANSPORTS)]
    return [found for file in files for found in citations(root, file)]


class Paper(TypedDict):
    """A paper of papers.toml, with the keys that the page uses."""

    key: str
    authors: str
    venue: str
    title: str


def papers(root: Path) -> dict[str, Paper]:
    """The papers by key."""
    listed: list[Paper] = tomllib.loads((root / PAPERS).read_text())["paper"]
    return {paper["key"]: paper for paper in listed}


def unresolved(root: Path) -> list[Citation]:
    """Citations of papers that papers.toml does not have, and of standards without a title here."""
    known = papers(root)
    return [one for one in all_citations(root) if one.work not in STANDARDS and one.work.lower() not in known]


def promised(root: Path) -> list[tuple[Path, str, str]]:
    """The places that the head tables of schemes promise, as (file, paper, place)."""
    found = []
    for file in sources(root / SCHEMES):
        for row in map(_HEAD_ROW.match, file.read_text().splitlines()):
            places = re.findall(_PLACE, row[1]) if row else []
            found += [(file.relative_to(root), file.stem, place) for place in places]
    return found


def papers_page(root: Path) -> str:
    """docs/papers.md."""
    found = all_citations(root)
    lines = [
        "<!-- Generated by `make docs`; edit the source, not this page. -->",
        "",
        "# Which function implements what",
        "",
        "Lines that act on an equation, algorithm or section cite it in a comment. This is the index.",
        "*Departures* at the head of a scheme's file lists what it leaves out or does differently.",
    ]
    for key, paper in papers(root).items():
        mine = [one for one in found if one.work.lower() == key]
        if mine:
            work = f"{paper['authors']}. {paper['venue']}."
            title = paper["title"].removeprefix(f"{mine[0].work}: ")
            lines += ["", f"## {mine[0].work}: {title}", "", work, "", *table(mine)]
    for name, title in STANDARDS.items():
        mine = [one for one in found if one.work == name]
        if mine:
            lines += ["", f"## {name}: {title}", "", *table(mine)]
    return "\n".join(lines) + "\n"


def table(found: list[Citation]) -> list[str]:
    """Citations of one work, in the order of the work."""
    rows = [
        # Without line numbers: the page must not change with every edit above a citation.
        f"| {cell(one.place)} | [`{one.file}`](../{one.file}) | {named(one)} |"
        for one in sorted(found, key=lambda one: (natural(one.place), str(one.file), one.line))
    ]
    return ["| place | file | function |", "|---|---|---|", *dict.fromkeys(rows)]


def named(one: Citation) -> str:
    """The function of a citation; a dash for one at a constant, before any function."""
    return f"`{one.function}`" if one.function else "–"


def natural(text: str) -> list[tuple[int, str]]:
    """A sort key that puts Eq. 10 after Eq. 9."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", text)]


START, END = "<!-- schemes: `make docs` -->", "<!-- end of schemes -->"


def readme(root: Path) -> str:
    """README.md with the registry's table of schemes; test schemes are left out."""
    rows = [f"| `{one['name']}` | {cell(one['about'])} | {one['site']} |" for one in core.schemes()]
    lines = ["| scheme | what it does | decides at |", "|---|---|---|", *rows]
    return marked(root, README, (START, END), lines)


RULES_START, RULES_END = "<!-- rules: `make docs` -->", "<!-- end of rules -->"


def agreement(root: Path) -> str:
    """docs/agreement.md with the effect of each rule of a followed program, from the kept runs."""
    lines = worth.table(json.loads((root / WORTH).read_text()))
    return marked(root, AGREEMENT, (RULES_START, RULES_END), lines)


def marked(root: Path, page: Path, marks: tuple[str, str], lines: Sequence[str]) -> str:
    """A page with these lines between its marks.

    Raises:
        ValueError: a mark is missing.
    """
    start, end = marks
    before, has_start, rest = (root / page).read_text().partition(start)
    _, has_end, after = rest.partition(end)
    if not (has_start and has_end):
        raise ValueError(f"{page} has lost its marks {start} and {end}")
    return f"{before}{start}\n" + "\n".join(lines) + f"\n{end}{after}"


def texts(root: Path) -> dict[Path, str]:
    """Every generated text of the checkout at `root`."""
    return {PAGE: papers_page(root), README: readme(root), AGREEMENT: agreement(root)}
