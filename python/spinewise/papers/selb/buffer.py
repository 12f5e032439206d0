"""Fig. 5 without losses at 0.8, in larger buffers: is SELB behind ECMP because links are paused?

Runs are as long as those of Fig. 5; only the buffer differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from spinewise.papers.selb import evaluation, fabric, fig05
from spinewise.papers.selb.measure.figures import measure
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Assumption, Claim, Effort, Experiment, Measured, Run, Verdict
from spinewise.shapes import Spec
from spinewise.specs.variants import parse_list

MODE = "lossless"
OF_MEAN, OF_P99 = (fig05.IDS[MODE, metric] for metric in evaluation.WORDS)
HUNDRED_TIMES = "a hundred times the buffer"
ALL = ("ECMP", "LetFlow", "CONGA", "DRILL", "ConWeave", "SELB")
# The buffers by their variant: their name, their ratio to that of Fig. 5, and the schemes run.
BUFFERS = {
    MODE: (fabric.TEN_TIMES, 10, ALL),
    f"{MODE}, {HUNDRED_TIMES}": (HUNDRED_TIMES, 100, ("ECMP", "ConWeave", "SELB")),
}
METRICS = {
    (OF_MEAN, "mean_fct_s", ""): "mean FCT",
    (OF_P99, "p99_fct_s", ""): "p99 FCT",
    (OF_P99, "short_p99_fct_s", "short flows, "): "p99 FCT of short flows",
}


def spec(name: str, times: int, duration_us: float) -> Spec:
    """Fig. 5's spec at 0.8 in this many times the buffer, without a scheme."""
    hosts, load = fabric.EVALUATION_HOSTS, evaluation.HIGH
    made = fabric.spec(hosts, MODE, "ali_storage", load, duration_us, name=f"SELB, {name}")
    made["switch"]["buffer_bytes"] = times * fabric.BUFFER_BYTES
    return made


def runs(effort: Effort) -> list[Run]:
    """The schemes of Fig. 5 in both buffers, over seeds."""
    duration, _ = evaluation.extent(evaluation.HIGH, effort)
    return [
        Run(one.label, evaluation.HIGH, seed, one.apply(spec(name, times, duration)), variant)
        for variant, (name, times, schemes) in BUFFERS.items()
        for seed in range(1, 1 + effort.choose(full=5, quick=3))
        for one in parse_list(fabric.SCHEMES)
        if one.label in schemes
    ]


def nothing_is_paused(measured: Measured) -> Verdict:
    """No link is paused in any run."""
    return claims.combined(claims.zero(measured, curve, "pauses") for curve in measured.curves)


def statements(variant: str) -> Iterator[Claim]:
    """The statements of Fig. 5 about this point, in one of the buffers; for the mean also scheme by scheme."""
    name, _, schemes = BUFFERS[variant]
    for (key, metric, of), words in METRICS.items():
        claimed = fig05.CLAIMED[MODE][metric.removeprefix("short_")]
        numbers = {other: share for other, share in claimed.items() if other in schemes}
        readings = {f"{of}{name}": numbers}
        if metric == "mean_fct_s":
            readings |= {f"against {other}, {name}": {other: share} for other, share in numbers.items()}
        for reading, shares in readings.items():
            parts = ", ".join(f"{other} {100 * share:.0f}" for other, share in shares.items())
            check = partial(evaluation.selb_is_lower, variant, metric, shares)
            yield claims.beside(key, "5ab", f"SELB's {words} lower by, in %: {parts}", check, reading)


EXPERIMENT = Experiment(
    id="selb-buffer",
    figures=(),
    title="SELB Fig. 5, own addition: lossless at 0.8 in ten and in a hundred times the buffer",
    setup="as selb-5 at load 0.8, lossless, 10 ms of arrivals (quick: 0.4 ms), and 90 or 900 MiB of buffer a switch",
    runs=runs,
    measure=measure,
    panels=(),
    claims=(
        *(claim for variant in BUFFERS for claim in statements(variant)),
        *(
            Claim(
                "own-paused",
                "5ab",
                "no link is paused",
                claims.within(variant, nothing_is_paused),
                reading=name,
                headline=name == HUNDRED_TIMES,
            )
            for variant, (name, *_) in BUFFERS.items()
        ),
    ),
    headline="none of the paper's statements: those of selb-5 are; of our own question the larger buffer",
    assumptions=(Assumption("all else", "as in selb-5", "so that one thing differs"),),
    notes=(
        "The variant `lossless` of the measurements is that in ten times the buffer. In a hundred times the buffer only"
        " ECMP, ConWeave and SELB are run.",
    ),
)
