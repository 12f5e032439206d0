"""SELB Fig. 6: Hadoop on T3-B, lossless and IRN, six schemes over load."""

from __future__ import annotations

import runpy
from pathlib import Path

EVALUATION = runpy.run_path(str(Path(__file__).with_name("evaluation.py")))

# §IV-C, at 0.8: mean and 99th percentile of SELB below those of ConWeave.
CLAIMED = {
    "lossless": {"mean_fct_s": {"ConWeave": 0.25}, "p99_fct_s": {"ConWeave": 0.21}},
    "IRN": {"mean_fct_s": {"ConWeave": 0.16}, "p99_fct_s": {"ConWeave": 0.23}},
}
IDS = {
    ("lossless", "mean_fct_s"): "C3-09a",
    ("lossless", "p99_fct_s"): "C3-09b",
    ("IRN", "mean_fct_s"): "C3-10a",
    ("IRN", "p99_fct_s"): "C3-10b",
}

EXPERIMENT = EVALUATION["experiment"](
    number="6",
    workload="hadoop",
    title="SELB Fig. 6: Hadoop",
    statements=(
        *EVALUATION["reductions"]("6", IDS, CLAIMED),
        *EVALUATION["drill_unexpectedly_good"]("C3-11", "6"),
        *EVALUATION["old_ones_alike"]("C3-12", "6"),
    ),
)
