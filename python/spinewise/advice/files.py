"""An advice as files: advice.json, which has all of it, and advice.md, which reads like the screen."""

from __future__ import annotations

from pathlib import Path

import msgspec

from spinewise.advice import show
from spinewise.advice.answer import Advice, CaseAnswer
from spinewise.advice.choice import percent
from spinewise.errors import SpecError
from spinewise.reading import printable
from spinewise.runs import formats
from spinewise.runs.formats import ADVISE
from spinewise.show.markdown import line

JSON, MARKDOWN = ADVISE.record, "advice.md"


def encoded(advice: Advice) -> bytes:
    """The advice as JSON; what is not a number becomes null."""
    return msgspec.json.format(msgspec.json.encode(advice), indent=2) + b"\n"


def write_files(advice: Advice, folder: Path) -> None:
    """Write both files into an existing folder."""
    (folder / JSON).write_bytes(encoded(advice))
    (folder / MARKDOWN).write_text(markdown(advice), encoding="utf-8")


def read(folder: str | Path) -> Advice:
    """The advice in a folder that `write_files` wrote.

    Raises:
        SpecError: there is none, or it is of another format.
    """
    file = Path(folder) / ADVISE.record
    formats.read(file, ADVISE, "RESULTS", f"a folder with {ADVISE.record}, which `spinewise advise --out` writes")
    try:
        return msgspec.json.decode(file.read_bytes(), type=Advice)
    except msgspec.MsgspecError as error:
        raise SpecError("(whole file)", str(error), "an advice that was not changed", file=printable(file)) from None


def markdown(advice: Advice) -> str:
    """The advice as a page of text."""
    lines = [f"# {show.title(advice)}", ""]
    for head, found in show.sections(advice):
        lines += [f"**{head}.** {found[0]}", *(f"- {one}" for one in found[1:]), ""]
    lines += ["## The best at each level", "", line(["level", "run", "tied with"]), line(["---"] * 3)]
    lines += [line(list(show.level_row(one))) for one in advice.levels]
    tried = [case for case in advice.cases if case.tried]
    if tried:
        names = list(dict.fromkeys(one.scheme for case in tried for one in case.regrets))
        lines += ["", "## Regret: how much worse than the best of these", "", line(["case", *names])]
        lines += [line(["---"] * (len(names) + 1)), *(line([case.words, *row(case, names)]) for case in tried)]
    lines += ["", f"Method: {advice.method}. Intervals of regrets are 95 % Student-t, each case by itself."]
    return "\n".join(lines) + "\n"


def row(case: CaseAnswer, names: list[str]) -> list[str]:
    """The regrets of a case, scheme by scheme."""
    found = {one.scheme: one for one in case.regrets}
    return [
        "did not fit" if name not in found else "best" if found[name].mean == 0.0 else
        f"{percent(found[name].mean)} [{percent(found[name].low)}, {percent(found[name].high)}]"
        for name in names
    ]  # fmt: skip
