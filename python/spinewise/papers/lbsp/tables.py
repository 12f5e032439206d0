"""Tables to read by hand, from what `spinewise reproduce` wrote.

`python -m spinewise.papers.lbsp.tables DIR...` prints them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from spinewise.reproduction.markdown import Column, read, rows, verdicts

PACKETS: tuple[Column, ...] = (
    ("out of order, %", "out_of_order", 100.0),
    ("resent, per mille", "resent", 1e3),
    ("timeouts", "timeouts", 1.0),
    ("drops", "drops", 1.0),
)
ALL: tuple[Column, ...] = (("p99.9, ms", "p999_s", 1e3), ("mean, ms", "mean_s", 1e3))
COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "lbsp-6a": (*ALL, *PACKETS),
    "lbsp-6b": (*ALL, *((f"{pair}, ms", f"{pair}_mean_s", 1e3) for pair in ("S1", "S2", "S3")), *PACKETS),
    "lbsp-7a": (*ALL, *PACKETS),
    "lbsp-7c": (*ALL, ("S2, ms", "S2_mean_s", 1e3), *PACKETS),
    "lbsp-s5": (("difference, packets", "gap", 1.0), ("p99", "gap_p99", 1.0), *ALL, *PACKETS),
    "lbsp-groups": (*ALL, ("mean of the leaf, ms", "own_mean_s", 1e3), *PACKETS),
}


def main(folders: Sequence[str]) -> None:
    """Print the tables of these folders."""
    for folder in folders:
        name, measured = read(Path(folder))
        seeds = len({m.run.seed for m in measured.measurements})
        print(f"### {name}, {seeds} seeds (* a run is overloaded)\n")
        if name in COLUMNS:
            print(rows(measured, COLUMNS[name]))
        print(verdicts(Path(folder)))


if __name__ == "__main__":
    main(sys.argv[1:])
