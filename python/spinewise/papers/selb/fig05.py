"""SELB Fig. 5: AliStorage on T3-B, lossless and IRN, six schemes over load."""

from __future__ import annotations

from spinewise.papers.selb import evaluation

# §IV-B, at 0.8: mean and 99th percentile of SELB below those of each, lossless and IRN.
CLAIMED = {
    "lossless": {
        "mean_fct_s": {"ECMP": 0.48, "LetFlow": 0.49, "CONGA": 0.39, "DRILL": 0.60, "ConWeave": 0.33},
        "p99_fct_s": {"ECMP": 0.56, "LetFlow": 0.54, "CONGA": 0.50, "DRILL": 0.62, "ConWeave": 0.21},
    },
    "IRN": {
        "mean_fct_s": {"ECMP": 0.62, "LetFlow": 0.60, "CONGA": 0.48, "DRILL": 0.71, "ConWeave": 0.26},
        "p99_fct_s": {"ECMP": 0.62, "LetFlow": 0.59, "CONGA": 0.46, "DRILL": 0.71, "ConWeave": 0.21},
    },
}
IDS = {
    ("lossless", "mean_fct_s"): "C3-03",
    ("lossless", "p99_fct_s"): "C3-04",
    ("IRN", "mean_fct_s"): "C3-05",
    ("IRN", "p99_fct_s"): "C3-06",
}

EXPERIMENT = evaluation.experiment(
    number="5",
    workload="ali_storage",
    title="SELB Fig. 5: AliStorage",
    statements=(
        *evaluation.reductions("5", IDS, CLAIMED),
        *evaluation.drill_is_poor("C3-07", "5"),
        *evaluation.conweave_fades("C3-08", "5"),
        evaluation.best_case("C3-13", "5"),
    ),
)
