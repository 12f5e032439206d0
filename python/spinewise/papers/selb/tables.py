"""Tables for reading, from the output of `spinewise reproduce`.

`python -m spinewise.papers.selb.tables DIR...` prints them.
"""

from __future__ import annotations

import sys

from spinewise.reproduction.experiment import Measured
from spinewise.reproduction.markdown import print_tables, rows, rows_against

TIMES = (("mean, µs", "mean_fct_s", 1e6), ("p99, µs", "p99_fct_s", 1e6), ("short p99, µs", "short_p99_fct_s", 1e6))
NETWORK = (
    ("uplinks, %", "uplinks", 100.0),
    ("CNPs, 1000", "cnps", 1e-3),
    ("NACKs, 1000", "nacks", 1e-3),
    ("out of order, %", "out_of_order", 100.0),
    ("resent, %", "resent", 100.0),
    ("pause, ms", "pause_s", 1e3),
    ("drops", "drops", 1.0),
)
REORDERING = (
    ("reroutes, 1000", "reroutes", 1e-3),
    ("TAILs, 1000", "tails", 1e-3),
    ("held", "held", 1.0),
    ("held, µs", "held_mean_us", 1.0),
    ("p99, µs", "held_p99_us", 1.0),
    ("early, µs", "early_mean_us", 1.0),
    ("packets held", "held_packets", 1.0),
    ("in use, mean x 100", "mean_in_use", 100.0),
    ("most", "most_in_use", 1.0),
    ("no queue", "no_queue", 1.0),
    ("expired", "expired", 1.0),
)
COMPARED = ("mean_fct_s", "p99_fct_s", "short_mean_fct_s", "short_p99_fct_s", "mean_slowdown")
REORDERERS = ("ConWeave", "ConWeave-l", "ConWeave-n", "SELB")


def everything(measured: Measured) -> str:
    """All tables of one experiment."""
    bases = [base for base in ("ConWeave", "ConWeave-n", "ECMP") if base in measured.curves]
    parts = [
        rows(measured, TIMES),
        *(rows_against(measured, base, COMPARED) for base in bases),
        rows(measured, NETWORK),
        rows(measured, REORDERING, REORDERERS),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    print_tables(sys.argv[1:], lambda _, measured: everything(measured))
