"""MEET Fig. 11: the enterprise workload, tiny flows, on the asymmetric fabric, at one load."""

from __future__ import annotations

import runpy
from functools import partial
from pathlib import Path

E = runpy.run_path(str(Path(__file__).with_name("evaluation.py")))
Statement, below, ahead = E["Statement"], E["below"], E["ahead"]

PLAN = E["Plan"](
    number="11",
    workload="enterprise_meet",
    topology="asymmetric",
    loads=(0.2,),
    duration_us=8_000.0,
    seeds=5,
    quick=((0.2,), 1_000.0, 3),
    beside={},
)

EXPERIMENT = E["experiment"](
    PLAN,
    "MEET Fig. 11: enterprise, asymmetric",
    "13 to 19 of 64 fabric links at 1 Gbps; 8 ms of the enterprise workload (quick: 1 ms)",
    (
        Statement(
            "C2-33a",
            "abcd",
            "CONGA better than all others, at every size",
            partial(ahead, "CONGA", ["MEET", "Hermes", *E["REST"]], E["TINY_FCT"]),
        ),
        Statement(
            "C2-33b",
            "abcd",
            "CONGA 25 % better than MEET, at every size",
            partial(below, "CONGA", ["MEET"], E["TINY_FCT"], 0.25),
        ),
    ),
    notes=(E["TINY_NOTE"],),
)
