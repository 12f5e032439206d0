"""The terminal: its console, and the one look of all tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

PLAIN_WIDTH = 118


def console(*, stderr: bool = False) -> Console:
    """A console that does not squeeze its tables when nobody's terminal is attached."""
    found = Console(stderr=stderr, highlight=False)
    return found if found.is_terminal else Console(stderr=stderr, highlight=False, width=PLAIN_WIDTH)


class Grid(Table):
    """A table whose cells are shown as they are: brackets in a label are no markup."""

    def line(self, *cells: str, end_section: bool = False) -> None:
        """Add a row."""
        self.add_row(*(Text(cell) for cell in cells), end_section=end_section)


def new_table(title: str, left: Sequence[str], right: Iterable[str]) -> Grid:
    """An empty table: some left-aligned columns, then right-aligned ones."""
    table = Grid(title=title or None, title_justify="left", title_style="bold", header_style="", box=SIMPLE_HEAD)
    for name in left:
        table.add_column(Text(name))
    for name in right:
        table.add_column(Text(name), justify="right", no_wrap=True)
    return table
