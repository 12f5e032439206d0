"""SELB Fig. 6: Hadoop on T3-B, lossless and IRN, six schemes over load."""

from __future__ import annotations

from spinewise.papers.selb import evaluation

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

EXPERIMENT = evaluation.experiment(
    number="6",
    workload="hadoop",
    title="SELB Fig. 6: Hadoop",
    statements=(
        *evaluation.reductions("6", IDS, CLAIMED),
        *evaluation.drill_unexpectedly_good("C3-11", "6"),
        *evaluation.old_ones_alike("C3-12", "6"),
        *evaluation.in_this_order("C3-15", "6"),
    ),
)
