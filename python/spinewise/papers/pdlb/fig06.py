"""PDLB Fig. 6: the model's completion time against the simulated one, over the size of flowcells.

Set-up T0-A with two slow paths, of 300 and of 600 µs ("the delay of two bad paths (D_b) ... 300 µs, 600 µs"). The text
has flows of 10,000 packets in the set-up and of 100,000 beside the figure; the model gets the simulated values.
"""

from __future__ import annotations

from functools import partial

from scipy.stats import rankdata

from spinewise.measures import stats
from spinewise.papers.pdlb import fig03
from spinewise.papers.pdlb.fig03 import TRANSPORTS
from spinewise.papers.pdlb.measure.fig06 import MODELS, measure
from spinewise.papers.pdlb.transports import THREE
from spinewise.reproduction import claims, readings
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Panel,
    Run,
    Status,
    Verdict,
)

SIZES = (1, 2, 3, 4, 6, 8, 11, 16, 22, 30, 37, 44)
BAD = fig03.OF_FIG_3
SIMULATION = "simulation"
# A model is useful if its size costs at most this much more than the best one.
CLOSE = 0.05

PRINTED = "Eq. 9"


def variant(rtt_us: int, transport: str) -> str:
    """Name of a delay of slow paths under a transport."""
    return f"{rtt_us} µs, {transport}"


def runs(effort: Effort) -> list[Run]:
    """Every size at both delays under all transports, over seeds."""
    return [
        Run(SIMULATION, float(gran), seed, fig03.spec(BAD, rtt, gran, keys), variant(rtt, name))
        for name, keys in TRANSPORTS.items()
        for rtt in fig03.BAD_RTTS_US
        for gran in effort.choose(full=SIZES, quick=(1, 4, 16, 44))
        for seed in range(1, 1 + effort.choose(full=5, quick=2))
    ]


def same_trend(name: str, measured: Measured) -> Verdict:
    """The model ranks the sizes like the simulation: rank correlation above zero, by seed."""
    models = [measured.values(SIMULATION, x, name)[0] for x in measured.xs]
    by_seed = zip(*(measured.values(SIMULATION, x, readings.MEAN) for x in measured.xs), strict=True)
    found = stats.t_interval([rank_correlation(times, models) for times in by_seed])
    sizes = len(measured.xs)
    return claims.told(found, f"rank correlation over {sizes} sizes {found.mean:.2f} ±{found.half:.2f}")


def rank_correlation(a: tuple[float, ...], b: list[float]) -> float:
    """Spearman's coefficient."""
    ranks = [rankdata(values) - (len(values) + 1) / 2.0 for values in (a, b)]
    return float((ranks[0] * ranks[1]).sum() / ((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()) ** 0.5)


def same_best(name: str, measured: Measured) -> Verdict:
    """The size that the model would choose costs at most 5 % more than the best one simulated."""
    chosen = min(measured.xs, key=lambda x: measured.values(SIMULATION, x, name)[0])
    best = min(measured.xs, key=lambda x: measured.interval(SIMULATION, x, readings.MEAN).mean)
    its = measured.interval(SIMULATION, best, readings.MEAN).mean
    change = claims.step(measured, SIMULATION, readings.MEAN, best, chosen)
    text = f"model's best size {chosen:g}, simulated best {best:g}; costs {claims.percent(change, its)} more"
    if chosen == best:
        return claims.bounded(Status.HOLDS, text)
    status = (
        Status.HOLDS
        if change.high <= CLOSE * its
        else Status.FAILS
        if change.low > CLOSE * its
        else claims.unsure(change)
    )
    return claims.bounded(status, text)


def both(name: str, measured: Measured) -> Verdict:
    """Trend and optimum."""
    return claims.graded([same_trend(name, measured), same_best(name, measured)])


def panel(rtt_us: int, transport: str) -> Panel:
    """Simulation and models."""
    return Panel(
        "6",
        readings.MEAN,
        "completion time, simulated and by the model",
        fig03.X,
        "ms",
        1e3,
        variant(rtt_us, transport),
        log=True,
        log_x=True,
        also=tuple((name, name) for name in MODELS),
    )


PLACES = [(rtt, name) for name in TRANSPORTS for rtt in fig03.BAD_RTTS_US]

EXPERIMENT = Experiment(
    id="pdlb-6",
    figures=("6",),
    title="PDLB Fig. 6: model and simulation",
    setup="as pdlb-3 with two slow paths",
    runs=runs,
    measure=measure,
    panels=tuple(panel(*place) for place in PLACES),
    claims=tuple(
        Claim(
            "C0-08",
            "6",
            "the model's trend over the sizes is that of the simulation, and its best size as good",
            claims.within(variant(*place), partial(both, name)),
            reading=f"{name}; {variant(*place)}",
            headline=name == PRINTED and place[1] == THREE,
        )
        for place in PLACES
        for name in MODELS
    ),
    assumptions=(
        *fig03.ASSUMPTIONS,
        Assumption("MaxW", "44 packets; 9 and 258 beside it", "no value is published"),
        Assumption("W / gran", "rounded up", "not given"),
        Assumption("flow size", "10,000 packets", "the text has 10,000, and 100,000 beside the figure"),
    ),
    headline="Eq. 9 as printed with the 44 packets of the authors' code, both delays; three duplicate ACKs",
    notes=(
        "The model is of one flow alone; ten share the paths in the simulation. Its level is not judged.",
        "In Eq. 9 as printed the delay of slow paths counts for nothing from 3 packets on (4 % at one packet).",
    ),
)
