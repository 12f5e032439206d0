"""Lossless AliStorage at 0.8 with ten times the buffer, so that nothing is paused: who is ahead then.

`python -m spinewise.papers.selb.buffer` repeats these runs of Fig. 5 for ECMP, ConWeave and SELB, and prints the tables
of `tables`.
"""

from __future__ import annotations

from pathlib import Path

import spinewise as sw
from spinewise.papers.selb import fabric, tables
from spinewise.papers.selb.measure.figures import measure
from spinewise.reproduction.experiment import Measured, Measurement, Run
from spinewise.specs.variants import Variant, parse_list

HERE = Path(__file__).parent
LOAD = 0.8
BUFFER_BYTES = 90 << 20
SCHEMES = ("ECMP", "ConWeave", "SELB")


def measured(variant: Variant, seed: int) -> Measurement:
    """A run of Fig. 5 in the larger buffer."""
    spec = fabric.spec(fabric.EVALUATION_HOSTS, "lossless", "ali_storage", LOAD, 3000.0)
    spec["switch"]["buffer_bytes"] = BUFFER_BYTES
    run = Run(variant.label, LOAD, seed, variant.apply(spec), "lossless, 90 MiB")
    result = sw.run(run.spec, seed=seed)
    summary = result.summary()
    unfinished = summary.of("all").unfinished
    outcome = str(result.report["outcome_hash"])
    return Measurement(run, measure(run, result), outcome, unfinished, summary.overloaded)


if __name__ == "__main__":
    variants = [variant for variant in parse_list(fabric.SCHEMES) if variant.label in SCHEMES]
    print(tables.everything(Measured([measured(variant, seed) for seed in range(1, 6) for variant in variants])))
