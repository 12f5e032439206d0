"""Tables for reading, from the output of `spinewise reproduce`.

`python -m spinewise.papers.elab.tables DIR...` prints them.
"""

from __future__ import annotations

import math
import sys

from spinewise.measures.stats import mean
from spinewise.reproduction.experiment import Measured, Timeline
from spinewise.reproduction.markdown import print_tables, rows, rows_against, table

FLOW = (
    ("goodput, %", "utilisation", 100.0),
    ("carried, %", "carried", 100.0),
    ("path 1's share, %", "first", 100.0),
    ("p5", "first_p05", 100.0),
    ("p95", "first_p95", 100.0),
)
PACKETS = (
    ("resent, %", "resent", 100.0),
    ("out of order, %", "out_of_order", 100.0),
    ("timeouts", "timeouts", 1.0),
    ("drops", "drops", 1.0),
)
TWO = (
    ("mean, ms", "mean_fct_s", 1e3),
    ("F1, ms", "F1_fct_s", 1e3),
    ("F2, ms", "F2_fct_s", 1e3),
    ("F1 over spine 1, %", "F1_first", 100.0),
    ("F2 over spine 1, %", "F2_first", 100.0),
)
LARGE = (("mean, ms", "mean_fct_s", 1e3), ("short, ms", "short_mean_fct_s", 1e3), ("p99, ms", "p99_fct_s", 1e3))
CHANGE = ("quiet_s", "sensed_s", "settled_s", "freed_s", "resettled_s")


def placements(measured: Measured) -> str:
    """ECMP's outcomes by the placement of the two flows, and their frequency."""
    found = []
    for variant in dict.fromkeys(m.run.variant for m in measured.measurements):
        part = [m for m in measured.within(variant).measurements if m.run.curve == "ECMP"]
        for one in (11, 12, 21, 22):
            values = [m.values["mean_fct_s"] for m in part if m.values["placement"] == one]
            times = [1e3 * value for value in values if not isinstance(value, Timeline)]
            if times:
                found.append([variant, f"{one // 10}, {one % 10}", str(len(times)), f"{mean(times):.0f}"])
    return table(["", "F1, F2 over spine", "runs", "mean, ms"], found)


def soon(measured: Measured) -> str:
    """Median, minimum and maximum over seeds in ms, and how often it never came."""
    found = []
    for variant in dict.fromkeys(m.run.variant for m in measured.measurements):
        part = measured.within(variant)
        for curve in part.curves:
            cells = []
            for metric in CHANGE:
                values = [1e3 * value for value in part.values(curve, 0.0, metric)]
                known = sorted(value for value in values if not math.isnan(value))
                text = f"{known[len(known) // 2]:.2f} ({known[0]:.2f} to {known[-1]:.2f})" if known else "–"
                missing = len(values) - len(known)
                cells.append(text + (f"; {missing} of {len(values)} never" if missing else ""))
            found.append([variant, curve, *cells])
    return table(["", "scheme", *CHANGE], found)


def everything(name: str, measured: Measured) -> str:
    """All tables of one experiment."""
    if name == "elab-2":
        return rows(measured, (*FLOW, *PACKETS))
    if name == "elab-9":
        return "\n".join((rows(measured, (*TWO, *PACKETS)), placements(measured)))
    if name == "elab-change":
        return soon(measured)
    parts = [rows(measured, (*LARGE, *PACKETS))]
    parts += [
        rows_against(measured, base, ("mean_fct_s", "short_mean_fct_s", "p99_fct_s")) for base in ("ECMP", "ELAB")
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    print_tables(sys.argv[1:], everything)
