"""Tables for reading, from the output of `spinewise reproduce`.

`python -m spinewise.papers.meet.tables DIR...` prints them.
"""

from __future__ import annotations

import sys

from spinewise.reproduction.experiment import Measured
from spinewise.reproduction.markdown import Column, print_tables, rows, rows_against

TIMES: tuple[Column, ...] = (
    ("small, µs", "small_mean_fct_s", 1e6),
    ("large, ms", "large_mean_fct_s", 1e3),
    ("mean, ms", "mean_fct_s", 1e3),
    ("p99, ms", "p99_fct_s", 1e3),
)
TINY: tuple[Column, ...] = (
    ("below 200 B, µs", "below_200_mean_fct_s", 1e6),
    ("800 B", "below_800_mean_fct_s", 1e6),
    ("3200 B", "below_3200_mean_fct_s", 1e6),
    ("12800 B", "below_12800_mean_fct_s", 1e6),
    ("p99, µs", "p99_fct_s", 1e6),
)
NETWORK: tuple[Column, ...] = (
    ("slowdown", "mean_slowdown", 1.0),
    ("out of order, %", "out_of_order", 100.0),
    ("resent, %", "resent", 100.0),
    ("timeouts", "timeouts", 1.0),
    ("drops", "drops", 1.0),
    ("path changes, 1000", "path_changes", 1e-3),
    ("own bytes, %", "own_bytes", 100.0),
    ("unfinished", "unfinished", 1.0),
    ("run, ms", "run_s", 1e3),
)
CELLS: tuple[Column, ...] = (
    ("flows", "flows", 1.0),
    ("small", "small_flows", 1.0),
    ("large", "large_flows", 1.0),
    ("wire of nominal", "wire_of_nominal", 1.0),
    ("of worst leaf", "wire_of_available", 1.0),
)


def everything(measured: Measured) -> str:
    """All tables of one experiment."""
    large = measured.values(measured.curves[0], measured.xs[0], "large_flows")
    # The enterprise workload has no large flows; its figure is of tiny ones.
    times = TIMES if any(large) else TINY
    metrics = [metric for _, metric, _ in times]
    return "\n".join(
        [
            rows(measured, CELLS, measured.curves[:1]),
            rows(measured, times),
            *(rows_against(measured, base, metrics) for base in ("MEET", "ECMP") if base in measured.curves),
            rows(measured, NETWORK),
        ]
    )


if __name__ == "__main__":
    print_tables(sys.argv[1:], lambda _, measured: everything(measured))
