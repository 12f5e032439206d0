"""Running the grid, and the table of what it gave when it was recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import spinewise as sw
from outcomes.grid import grid

FILE = Path(__file__).with_name("hashes.json")


def run(part: str = "", threads: int = 1) -> Iterator[tuple[str, str]]:
    """Name and outcome hash of the cases whose names begin with `part`."""
    for name, spec in grid():
        if name.startswith(part):
            yield name, str(sw.run(spec, threads=threads).report["outcome_hash"])


def recorded(part: str = "") -> dict[str, str]:
    """What the table has of the cases whose names begin with `part`."""
    table: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: outcome for name, outcome in table.items() if name.startswith(part)}


def record() -> int:
    """Write the table anew; how many cases it has."""
    table = dict(sorted(run()))
    FILE.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")
    return len(table)


def changed(part: str = "", threads: int = 1) -> list[str]:
    """Which cases are not as they were, each with both hashes."""
    now, then = dict(run(part, threads)), recorded(part)
    names = sorted(now.keys() | then.keys())
    return [
        f"{name}: {then.get(name, 'not recorded')} then, {now.get(name, 'not in the grid')} now"
        for name in names
        if now.get(name) != then.get(name)
    ]
