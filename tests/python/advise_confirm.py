"""Ten times the seeds behind an advice: is its winner the winner, and are its ties ties?

    python tests/python/advise_confirm.py scenarios/advise_rdma.toml results/advice --budget 20min

Runs the answer, what it was tied with, what was dropped last and what runs today on seeds that the advice has not seen,
ten times as many, and prints what the advice said of each beside what they show. It takes long; with --store what is
made is kept, and the same command goes on.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass

import numpy as np

from spinewise.advice import aims, choice, files
from spinewise.advice.answer import Advice, Entrant
from spinewise.advice.race import contrast
from spinewise.advice.trials import PLAIN, Trials
from spinewise.cli.arguments import span, whole
from spinewise.measures import stats, units
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars
from spinewise.specs.spec import load, parse_value, resolve
from spinewise.specs.variants import Variant, with_one_ideal
from spinewise.sweeps.local import Local
from spinewise.sweeps.store import opened

TIED, DROPPED = 8, 3
BLOCK = 8
"""Seeds made at a time, so that what the budget cuts off is little."""


@dataclass(frozen=True)
class Row:
    """What was said of a scheme against the answer, and what many seeds show, as logarithms of ratios.

    Attributes:
        label: the scheme.
        status: what the advice said of it.
        said, low, high: mean and interval of the advice.
        found: mean and 95 % interval over the new seeds.
    """

    label: str
    status: str
    said: float
    low: float
    high: float
    found: stats.Interval

    @property
    def verdict(self) -> str:
        """Whether the new seeds bear out what was said."""
        inside = self.found.high >= self.low and self.found.low <= self.high
        if self.status in ("dropped", "behind"):
            return "worse, as said" if self.found.mean > 0.0 else "NOT worse"
        told = "told apart now" if self.found.excludes_zero else "still tied"
        return f"{told}, {'within' if inside else 'OUTSIDE'} that"


def chosen(advice: Advice, dropped: int) -> list[Entrant]:
    """The schemes to confirm: the answer first."""
    by_status = {name: [one for one in advice.entrants if one.status == name] for name in ("tied", "behind", "dropped")}
    today = advice.entrant(advice.today)
    some = [advice.entrant(advice.advised), *by_status["tied"][:TIED], *by_status["behind"][:1]]
    return list({one.label: one for one in [*some, *by_status["dropped"][:dropped], today]}.values())


def variant(one: Entrant) -> Variant:
    """A scheme with its settings."""
    return Variant(one.label, one.scheme, tuple((key, parse_value(key, value)) for key, value in one.settings))


def row(one: Entrant, advice: Advice, trials: Trials, seeds: list[int]) -> Row:
    """A scheme against the answer."""
    winner = advice.entrant(advice.advised)
    sign = -1.0 if advice.aims[0].more_is_better else 1.0
    before = {sample.seed: sample.values[0] for sample in one.samples}
    other = {sample.seed: sample.values[0] for sample in winner.samples}
    both = sorted(before.keys() & other.keys())
    mine, theirs = (np.array([of[seed] for seed in both]) ** sign for of in (before, other))
    said = contrast(mine, theirs, advice.alpha / max(len(advice.entrants) - 1, 1))
    logs = [
        np.log([trials.found[PLAIN, label, seed].costs[0] for seed in seeds]) for label in (one.label, winner.label)
    ]
    return Row(one.label, one.status, said.mean, said.low, said.high, stats.t_interval(logs[0] - logs[1]))


def percent(log: float) -> str:
    """A log ratio as a share."""
    return choice.percent(math.expm1(log)) if math.isfinite(log) else "?"


def main() -> None:
    """Make the runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec")
    parser.add_argument("advice", help="the folder with advice.json")
    parser.add_argument("--times", type=whole(1, 1000), default=10)
    parser.add_argument("--dropped", type=whole(0, 100), default=DROPPED, help="how many of those that were dropped")
    parser.add_argument("--budget", type=span, default=1200.0)
    parser.add_argument("--store")
    parser.add_argument("--jobs", type=whole(1, 1024))
    args = parser.parse_args()
    advice = files.read(args.advice)
    given = with_one_ideal(load(args.spec), [variant(one) for one in advice.entrants])
    wanted = [aims.parse(one.text.replace("all traffic", "all"), resolve(given)) for one in advice.aims]
    some = chosen(advice, args.dropped)
    first = 1 + max(sample.seed for one in advice.entrants for sample in one.samples)
    seeds = [first + place for place in range(args.times * advice.effort.seeds)]
    deadline = time.monotonic() + args.budget
    with opened(args.store) as ledger, bars() as bar:
        watch = BatchProgress(bar, 0, "confirm")
        trials = Trials(advice.name, {PLAIN: given}, wanted, ledger, Local(args.jobs), watch)
        for place in range(0, len(seeds), BLOCK):
            if not trials.run(PLAIN, [variant(one) for one in some], seeds[place : place + BLOCK], deadline):
                break
        made = trials.seeds(PLAIN, [one.label for one in some])
        rows = [row(one, advice, trials, made) for one in some if one.label != advice.advised]
    wide = f"{advice.advised} of {advice.name}: {advice.aims[0].text}; said on {advice.effort.seeds} seeds"
    table = terminal.new_table(wide, ["scheme", "was", "said", f"on {len(made)} other seeds", "so"], [])
    for one in sorted(rows, key=lambda found: found.found.mean):
        low, high = percent(one.found.low), percent(one.found.high)
        said = f"{percent(one.said)} [{percent(one.low)}, {percent(one.high)}]"
        table.line(one.label, one.status, said, f"{percent(one.found.mean)} [{low}, {high}]", one.verdict)
    out = terminal.console()
    out.print(table)
    best = min([0.0, *(one.found.mean for one in rows)])
    out.print(
        f"{advice.advised} is {units.percent(math.expm1(-best))} behind the best of these; band {advice.aims[0].band:g}"
    )


if __name__ == "__main__":
    main()
