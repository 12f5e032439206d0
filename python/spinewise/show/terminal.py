"""The terminal: its console, and the common look of all tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 118

# Padding on both sides and the gap behind, of one column; the edges of a table.
AROUND = 3
EDGES = 1


class Terminal(Console):
    """A console that does not interpret brackets or colons as markup, and does not exit on a closed pipe."""

    def __init__(self, *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None) -> None:
        super().__init__(stderr=stderr, file=file, width=width, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Leave a broken pipe to the command: rich would end the process with an error."""
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console that does not squeeze its tables when the output is not a terminal."""
    found = Terminal(stderr=stderr)
    return found if found.is_terminal else Terminal(stderr=stderr, width=PLAIN_WIDTH)


def write(path: Path, what: RenderableType) -> None:
    """Write tables and text into a file as shown on a terminal of the plain width."""
    with path.open("w", encoding="utf-8") as stream:
        Terminal(file=stream, width=PLAIN_WIDTH).print(what)


@dataclass(frozen=True)
class Line:
    """A row of a table."""

    cells: tuple[str, ...]
    end_section: bool


class Grid(Table):
    """A table whose cells are shown verbatim: brackets in a label are not markup.

    If it is too wide, its right-aligned columns go into several tables one below the other, each with the left ones.
    """

    heading = ""
    left: Sequence[str] = ()
    right: Sequence[str] = ()
    together = 1
    lines: list[Line]

    def line(self, *cells: str, end_section: bool = False) -> None:
        """Add a row."""
        self.lines.append(Line(cells, end_section))
        self.add_row(*(Text(cell) for cell in cells), end_section=end_section)

    def widths(self) -> list[int]:
        """The width of each column, including its surroundings."""
        rows = [(*self.left, *self.right), *(line.cells for line in self.lines)]
        return [AROUND + max(cell_len(row[k]) for row in rows if k < len(row)) for k in range(len(rows[0]))]

    def parts(self, room: int) -> list[list[int]]:
        """The right columns by table: as many as fit into `room`, with columns that belong together in one."""
        widths, first = self.widths(), len(self.left)
        taken = EDGES + sum(widths[:first])
        groups = [list(range(k, min(k + self.together, len(widths)))) for k in range(first, len(widths), self.together)]
        parts: list[list[int]] = [[]]
        left = room - taken
        for group in groups:
            need = sum(widths[k] for k in group)
            if parts[-1] and need > left:
                parts.append([])
                left = room - taken
            parts[-1] += group
            left -= need
        return parts

    def part(self, columns: Sequence[int], heading: str) -> Grid:
        """The same rows with some of the right columns."""
        made = new_table(heading, self.left, [self.right[k - len(self.left)] for k in columns], self.together)
        for column in made.columns[: len(self.left)]:
            column.no_wrap = True
        for line in self.lines:
            cells = [line.cells[k] for k in (*range(len(self.left)), *columns) if k < len(line.cells)]
            made.line(*cells, end_section=line.end_section)
        return made

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        parts = self.parts(options.max_width)
        for number, columns in enumerate(parts):
            heading = f"{self.heading}, continued" if number else self.heading
            if heading:
                # Not the table's own title, which would wrap if the table is narrow.
                yield Text(heading, style="bold")
            part = self if len(parts) == 1 else self.part(columns, heading)
            if EDGES + sum(part.widths()) > options.max_width:
                # Too narrow for a single column of numbers: better two lines than half a number.
                for column in part.columns:
                    column.no_wrap, column.overflow = False, "fold"
            yield from Table.__rich_console__(part, console, options)


def new_table(title: str, left: Sequence[str], right: Iterable[str], together: int = 1) -> Grid:
    """An empty table: some left-aligned columns, then right-aligned ones, kept together in groups of a given size."""
    table = Grid(header_style="", box=SIMPLE_HEAD)
    table.heading, table.left, table.right, table.together, table.lines = title, left, list(right), together, []
    for name in left:
        table.add_column(Text(name))
    for name in table.right:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table
