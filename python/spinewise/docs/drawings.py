"""The figures of the generated pages: drawn from the kept evidence, small, each naming its source data.

A file carries the digest of the curves that it shows, not of its bytes, which differ between versions of matplotlib:
whether it is current can be checked without drawing it.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from spinewise.errors import SpecError
from spinewise.reproduction import files
from spinewise.reproduction.forms import headline_forms
from spinewise.reproduction.reproduce import Reproduction
from spinewise.show import style

# The key of the text in a PNG that names its source.
SOURCE = "Source"
DPI = 100
# More than the lines of a figure have with their soft edges: MAXCOVERAGE keeps rare colours, median cut mixes them.
COLOURS = 128
# At most this many forms of an experiment that no claim heads are drawn.
MOST_FORMS = 4
# Significant digits of a number: further digits may differ between machines.
DIGITS = 9


def shown_forms(done: Reproduction) -> list[str]:
    """The forms of an experiment whose figures a page shows: those that head verdicts, else its first few.

    A figure that needs measurements missing since it changed is left out until the runs are made again.
    """
    forms = files.variants(done)
    wanted = headline_forms(done.experiment, forms) or forms[:MOST_FORMS]
    return [form for form in wanted if can_be_drawn(done, form)]


def can_be_drawn(done: Reproduction, form: str) -> bool:
    """Whether all that a figure shows was measured."""
    try:
        digest(done, form)
    except SpecError:
        return False
    return True


def digest(done: Reproduction, form: str) -> str:
    """SHA-256 (hex) of the contents of a figure: its curves, titles and caption."""
    measured = done.measured.within(form)
    panels = [files.drawn(panel, measured) for panel in done.experiment.panels if panel.variant == form]
    shown = [files.caption(done, measured), done.experiment.title, *map(plain, panels)]
    return digest_of(shown)


def digest_of(shown: object) -> str:
    """SHA-256 (hex) of plain values."""
    return hashlib.sha256(json.dumps(shown, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def plain(value: object) -> object:
    """The contents of a figure as plain values, with numbers to a few digits.

    A field that has its default is left out: so a new field leaves the figures that do not use it as they are.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value) if not is_default(value, one)}
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(one) for one in value]
    if isinstance(value, str | bool | None):
        return value
    return format(float(str(value)), f".{DIGITS}g")


def is_default(value: object, one: Field[object]) -> bool:
    """Whether a field of a dataclass has its default."""
    default = one.default if one.default_factory is MISSING else one.default_factory()
    return default is not MISSING and getattr(value, one.name) == default


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn: a form of an experiment."""

    done: Reproduction
    form: str

    def is_current(self, path: Path) -> bool:
        """Whether a file was drawn from this."""
        return drawn_from(path) == digest(self.done, self.form)

    def draw(self, path: Path) -> None:
        """Draw it."""
        write_small(files.figure(self.done, self.form), digest(self.done, self.form), path)


@dataclass(frozen=True)
class Picture:
    """A figure to be drawn from plain values.

    Attributes:
        data: its contents.
        figure: a function that draws it.
    """

    data: dict[str, object]
    figure: Callable[[dict[str, object]], Figure]

    def is_current(self, path: Path) -> bool:
        """Whether a file was drawn from this."""
        return drawn_from(path) == digest_of(self.data)

    def draw(self, path: Path) -> None:
        """Draw it."""
        write_small(self.figure(self.data), digest_of(self.data), path)


def drawn_from(path: Path) -> object:
    """The digest of the data a file was drawn from; None without a file, or if it has none."""
    if not path.is_file():
        return None
    with Image.open(path) as image:
        found: object = image.info.get(SOURCE)
    return found


def write_small(figure: Figure, source: str, path: Path) -> None:
    """Write a figure with the digest of its source data: 100 dots an inch, few colours."""
    whole = io.BytesIO()
    style.save_png(figure, whole, DPI)
    told = PngInfo()
    told.add_text(SOURCE, source)
    with Image.open(whole) as image:
        few = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(path, optimize=True, pnginfo=told)
