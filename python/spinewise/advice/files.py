"""Advice as files: advice.json, which has everything, and advice.md, which reads like the screen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import msgspec

from spinewise.advice import cases, show, tried
from spinewise.advice.answer import Advice
from spinewise.errors import SpecError
from spinewise.reading import printable
from spinewise.runs import formats
from spinewise.runs.formats import ADVISE
from spinewise.show.markdown import cell, line

JSON, MARKDOWN = ADVISE.record, "advice.md"


def encoded(advice: Advice) -> bytes:
    """The advice as JSON; a number that is not finite becomes null."""
    return msgspec.json.format(msgspec.json.encode(advice), indent=2) + b"\n"


def write_files(advice: Advice, folder: Path) -> None:
    """Write both files into an existing folder."""
    (folder / JSON).write_bytes(encoded(advice))
    (folder / MARKDOWN).write_text(markdown(advice), encoding="utf-8")


def read(folder: str | Path) -> Advice:
    """The advice in a folder that `write_files` wrote.

    Raises:
        SpecError: there is none, or its format is another.
    """
    file = Path(folder) / ADVISE.record
    formats.read(file, ADVISE, "RESULTS", f"a folder with {ADVISE.record}, which `spinewise advise --out` writes")
    try:
        return msgspec.convert(with_nan(Advice, msgspec.json.decode(file.read_bytes())), Advice)
    except msgspec.MsgspecError as error:
        raise SpecError("(whole file)", str(error), "an advice that was not changed", file=printable(file)) from None


def with_nan(kind: object, value: object) -> object:
    """Reverse `encoded`: put NaN in place of null where `kind` wants a number and does not allow None."""
    if value is None and kind is float:
        return math.nan
    if isinstance(value, list) and get_origin(kind) is tuple:
        return [with_nan(get_args(kind)[0], item) for item in value]
    if isinstance(value, dict):
        inner = next((one for one in (kind, *get_args(kind)) if is_dataclass(one) and isinstance(one, type)), None)
        wanted = {} if inner is None else get_type_hints(inner)
        return {name: with_nan(wanted.get(name), item) for name, item in value.items()}
    return value


def markdown(advice: Advice) -> str:
    """The advice as a page of text."""
    lines = [f"# {show.title(advice)}", ""]
    for head, found in show.sections(advice):
        lines += [f"**{head}.** {found[0]}", *(f"- {one}" for one in found[1:]), ""]
    heads, *rows = (list(one) for one in show.level_rows(advice))
    lines += ["## The best at each level", "", row(heads), line(["---"] * len(heads)), *map(row, rows)]
    words, numbers = tried.heads(advice)
    lines += [
        "",
        f"## {tried.HEADING}",
        "",
        line([*words, *numbers]),
        line([*["---"] * len(words), *["--:"] * len(numbers)]),
    ]
    lines += map(row, tried.rows(advice))
    compared = [case for case in advice.cases if case.tried]
    if compared:
        names = cases.in_cases(advice)
        lines += ["", "## Regret: how much worse than the best of these", "", row(["case", *names])]
        lines += [
            line(["---"] * (len(names) + 1)),
            *(row([case.words, *(cases.regret_told(case, name) for name in names)]) for case in compared),
        ]
    if advice.simulated:
        lines += ["", "## What was simulated", "", *(f"- {one}" for one in advice.simulated)]
    lines += ["", f"Method: {advice.method}. Intervals of regrets are 95 % Student-t, each by itself."]
    return "\n".join(lines) + "\n"


def row(cells: Iterable[str]) -> str:
    """A row of a table, whatever characters labels have."""
    return line([cell(one) for one in cells])
