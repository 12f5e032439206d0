"""MEET Fig. 8: the enterprise workload, tiny flows, on the symmetric fabric, at one load."""

from __future__ import annotations

import runpy
from functools import partial
from pathlib import Path

E = runpy.run_path(str(Path(__file__).with_name("evaluation.py")))
Statement, below = E["Statement"], E["below"]

PLAN = E["Plan"](
    number="8",
    workload="enterprise_meet",
    topology="symmetric",
    loads=(0.4,),
    duration_us=8_000.0,
    seeds=5,
    quick=((0.4,), 1_000.0, 3),
    beside={},
)

EXPERIMENT = E["experiment"](
    PLAN,
    "MEET Fig. 8: enterprise, symmetric",
    "8 ms of the enterprise workload (quick: 1 ms)",
    (
        Statement("C2-01", "", "50 % of flows below 75 B, 90 % below 350 B, 99 % below 10 kB", E["percentiles"]),
        Statement(
            "C2-20",
            "abcd",
            "CONGA 6 % better than MEET and Hermes, at every size",
            partial(below, "CONGA", ["MEET", "Hermes"], E["TINY_FCT"], 0.06),
        ),
        Statement("C2-21", "abcd", "MEET's average FCT below 300 µs", E["below_300_us"]),
    ),
    notes=(E["TINY_NOTE"],),
)
