"""Tables for reading, from the output of `spinewise reproduce`.

`python -m spinewise.papers.lbsp.tables DIR...` prints them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from spinewise.reproduction.markdown import Column, print_tables, rows

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
    "lbsp-pointer": (*ALL, *PACKETS),
    "lbsp-7c": (*ALL, ("S2, ms", "S2_mean_s", 1e3), *PACKETS),
    "lbsp-s5": (("difference, packets", "gap", 1.0), ("p99", "gap_p99", 1.0), *ALL, *PACKETS),
    "lbsp-groups": (*ALL, ("mean of the leaf, ms", "own_mean_s", 1e3), *PACKETS),
}


if __name__ == "__main__":
    print_tables(sys.argv[1:], lambda name, measured: rows(measured, COLUMNS[name]) if name in COLUMNS else "")
