"""PDLB's model of a flow's completion time, Eqs. 1 to 9, separate from the engine's own code for it.

Delays in seconds, windows and flows in packets, rates in packets per second. `Paths` describes the paths,
`Constants` has what the paper leaves open: MaxW, and the rounding of W / gran.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

COARSEST = 44


@dataclass(frozen=True)
class Paths:
    """m paths, N_b of them congested; D_g and D_b are their delays, C the rate of each."""

    m: int
    bad: int
    good_s: float
    bad_s: float
    rate: float

    @property
    def p_bad(self) -> float:
        """P_b: the chance of a flowcell to draw a congested path."""
        return self.bad / self.m


@dataclass(frozen=True)
class Constants:
    """F_size; MaxW, for which no value is published (44 in the authors' code); the rounding of W / gran."""

    flow: float = 10_000.0
    max_window: float = 44.0
    whole: Callable[[float], int] = math.ceil


def reordering(p_bad: float, n: int) -> float:
    """Eq. 2: all sequences of n cells except good^k bad^(n-k)."""
    return 1.0 - math.fsum(p_bad ** (n - k) * (1.0 - p_bad) ** k for k in range(n + 1))


def cells(window: float, gran: int, paths: Paths, k: Constants) -> int:
    """n_i = min(m, W / gran), at least one."""
    return max(1, min(paths.m, k.whole(window / gran)))


def windows(gran: int, paths: Paths, k: Constants) -> list[tuple[float, int]]:
    """Eqs. 4 and 5: (W_i, n_i) of the rounds until their sum reaches F_size; W_0 is m MaxW. W stays at one or more."""
    window = paths.m * k.max_window
    rounds = [(window, cells(window, gran, paths, k))]
    total = window
    while total < k.flow:
        n = cells(window, gran, paths, k)
        p = reordering(paths.p_bad, n)
        window = max(1.0, min(n * k.max_window, (window + 1.0) * (1.0 - p) + window / 2.0 * p))
        rounds.append((window, n))
        total += window
    return rounds


def mean_window(rounds: list[tuple[float, int]]) -> float:
    """Eq. 6 as printed: the sum of r + 1 windows over r."""
    return math.fsum(window for window, _ in rounds) / max(1, len(rounds) - 1)


def printed(gran: int, paths: Paths, k: Constants) -> float:
    """Eq. 9, last line."""
    return rounds_at_mean_window(gran, paths, k) + gran / paths.rate


def second_line(gran: int, paths: Paths, k: Constants) -> float:
    """Eq. 9, second line: F_size / (n C) where the last has gran / C; n is the mean number of cells."""
    rounds = windows(gran, paths, k)
    n = math.fsum(n for _, n in rounds) / len(rounds)
    return rounds_at_mean_window(gran, paths, k) + k.flow / (n * paths.rate)


def rounds_at_mean_window(gran: int, paths: Paths, k: Constants) -> float:
    """The first term of Eq. 9: rounds times the round-trip time of Eq. 8, whose (N_b / m)^W vanishes, and X with it."""
    window = mean_window(windows(gran, paths, k))
    ratio = paths.bad_s / paths.good_s
    return k.flow / window * ((ratio - 1.0) * math.pow(paths.p_bad, window) + 1.0) * paths.good_s


def repaired(gran: int, paths: Paths, k: Constants) -> float:
    """Rounds of Eqs. 4 to 6, each as long as its slowest cell; our own reading of the meaning of Eqs. 7 to 9."""

    def seconds(window: float, n: int) -> float:
        all_good = (1.0 - paths.p_bad) ** n
        return all_good * paths.good_s + (1.0 - all_good) * paths.bad_s + window / (n * paths.rate)

    return math.fsum(seconds(window, n) for window, n in windows(gran, paths, k))


Equation = Callable[[int, Paths, Constants], float]


def best(model: Equation, paths: Paths, k: Constants) -> int:
    """Eq. 10; 1 without a congested path."""
    if paths.bad == 0:
        return 1
    return min(range(1, COARSEST + 1), key=lambda gran: model(gran, paths, k))
