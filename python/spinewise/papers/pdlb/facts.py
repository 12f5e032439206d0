"""PDLB's statements about its algorithm (Table 3) and its workloads, computed without a run.

Only the caption of Table 3 is published; the text has the search at O(gran), gran at most 44. Here the terms of the
model's sums are counted while it searches, over the number of paths n. The distributions are those that come with the
engine, whose points are below; a test compares them with the engine's files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from spinewise.papers.pdlb import model
from spinewise.papers.pdlb.measure.facts import measure
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import (
    Assumption,
    Claim,
    Effort,
    Experiment,
    Measured,
    Run,
    Status,
    Verdict,
)

Points = Sequence[tuple[float, float]]

# Bytes, and the share of flows that are no larger.
WEB_SEARCH: Points = (
    (0, 0.0), (10e3, 0.15), (20e3, 0.2), (30e3, 0.3), (50e3, 0.4), (80e3, 0.53), (200e3, 0.6), (1e6, 0.7), (2e6, 0.8),
    (5e6, 0.9), (10e6, 0.97), (30e6, 1.0),
)  # fmt: skip
DATA_MINING: Points = (
    (100, 0.0), (10e3, 0.8), (152_522, 0.8346), (390_541, 0.9), (3_223_542, 0.953846), (100e6, 0.99), (1e9, 1.0),
)  # fmt: skip

# Numbers of paths; from 44 on no window is cut into more cells.
PATHS = (2, 4, 8, 16, 32, 64, 128, 256)
# A value that grows with less than this power of n does not depend on it.
FLAT = 0.1


def share_below(points: Points, size: float) -> float:
    """The share of flows that are no larger than `size` bytes; sizes are uniform between points."""
    before = points[0]
    for point in points[1:]:
        if size <= point[0]:
            return before[1] + (size - before[0]) / (point[0] - before[0]) * (point[1] - before[1])
        before = point
    return 1.0


def mean_bytes(points: Points, above: float = 0.0) -> float:
    """The bytes in flows above `above`, per flow of any size."""
    total, before = 0.0, points[0]
    for point in points[1:]:
        low, slope = max(before[0], above), (point[1] - before[1]) / (point[0] - before[0])
        if point[0] > low:
            total += slope * (point[0] ** 2 - low**2) / 2.0
        before = point
    return total


def share_of_bytes(points: Points, above: float) -> float:
    """The share of bytes in flows above `above`."""
    return mean_bytes(points, above) / mean_bytes(points)


def as_printed(what: str, value: float, printed: str, unit: str) -> Verdict:
    """Judge a value against the printed one, to the paper's digits."""
    digits = len(printed.partition(".")[2])
    status = Status.HOLDS if f"{value:.{digits}f}" == printed else Status.FAILS
    return claims.line(status, f"{what}: {value:.{digits + 2}f} {unit}, paper {printed}", comparisons=0)


def more_than(what: str, value: float, limit: float, unit: str) -> Verdict:
    """Judge whether a value is above one that the paper gives."""
    status = Status.HOLDS if value > limit else Status.FAILS
    return claims.line(status, f"{what}: {value:.2f} {unit}, paper more than {limit:g}", comparisons=0)


def web_search(_measured: Measured) -> Verdict:
    """Judge the statements about web search."""
    return claims.graded(
        [
            more_than("bytes in flows above 1 MB", 100 * share_of_bytes(WEB_SEARCH, 1e6), 95.0, "%"),
            as_printed("flows above 1 MB", 100 * (1.0 - share_below(WEB_SEARCH, 1e6)), "30", "%"),
            as_printed("mean", mean_bytes(WEB_SEARCH) / 1e6, "1.6", "MB"),
        ]
    )


def data_mining(_measured: Measured) -> Verdict:
    """Judge the statements about data mining."""
    return claims.graded(
        [
            as_printed("bytes in flows above 35 MB", 100 * share_of_bytes(DATA_MINING, 35e6), "95", "%"),
            as_printed("flows above 35 MB", 100 * (1.0 - share_below(DATA_MINING, 35e6)), "3.6", "%"),
            more_than("flows below 10 KB", 100 * share_below(DATA_MINING, 10e3), 80.0, "%"),
            as_printed("mean", mean_bytes(DATA_MINING) / 1e6, "7.4", "MB"),
        ]
    )


def terms(paths: int) -> int:
    """Count the terms of the sums of Eq. 2 in one search over all granularities, half of the paths being congested.

    One round for each granularity has min(n, W / gran) + 1 of them, W being the window of the authors' code.
    """
    of = model.Paths(m=paths, bad=paths // 2, good_s=100e-6, bad_s=300e-6, rate=1e9 / 12_000)
    constants = model.Constants()
    sizes = range(1, model.COARSEST + 1)
    return sum(model.cells(constants.max_window, gran, of, constants) + 1 for gran in sizes)


def growth(values: Mapping[int, float]) -> float:
    """The power of n by which values grow from the first to the last."""
    (first, low), *_, (last, high) = values.items()
    return math.log(high / low) / math.log(last / first)


def search_ignores_paths(paths: Sequence[int], _measured: Measured) -> Verdict:
    """Judge whether one search takes as many terms for any number of paths."""
    counted = {n: float(terms(n)) for n in paths}
    power = growth(counted)
    shown = ", ".join(f"{value:.0f} at n = {n}" for n, value in counted.items())
    status = Status.HOLDS if power < FLAT else Status.FAILS
    return claims.line(status, f"terms of one search: {shown}; grows as n^{power:.2f}", comparisons=0)


def update_ignores_paths(paths: Sequence[int], _measured: Measured) -> Verdict:
    """Judge whether a whole update does, too, which reads the delay of each path first."""
    counted = {n: float(terms(n) + n) for n in paths}
    power = growth(counted)
    shown = ", ".join(f"{value:.0f} at n = {n}" for n, value in counted.items())
    status = Status.HOLDS if power < FLAT else Status.FAILS
    return claims.line(status, f"delays read and terms: {shown}; grows as n^{power:.2f}", comparisons=0)


def constant(measured: Measured) -> Verdict:
    """Judge up to the paper's largest fabric, and beyond, where a window has no more packets to cut."""
    few, many = (tuple(n for n in PATHS if (n >= model.COARSEST) == large) for large in (False, True))
    return claims.graded(search_ignores_paths(paths, measured) for paths in (few, many))


def no_runs(_effort: Effort) -> list[Run]:
    """No runs."""
    return []


EXPERIMENT = Experiment(
    id="pdlb-facts",
    figures=(),
    title="PDLB, Table 3 and the workloads: what is stated without a run",
    setup="the model's sums counted over the number of paths; the distributions that come with the engine",
    runs=no_runs,
    measure=measure,
    panels=(),
    claims=(
        Claim("C0-01", "Table 3", "the search takes O(gran), whatever the number of paths", constant, "the search"),
        claims.beside("C0-01", "Table 3", "so does an update", partial(update_ignores_paths, PATHS), "delays read too"),
        Claim("C0-29", "text", "web search: over 95 % of bytes, 30 % of flows above 1 MB; mean 1.6 MB", web_search),
        Claim("C0-30", "text", "data mining: 95 % of bytes, 3.6 % of flows above 35 MB; mean 7.4 MB", data_mining),
    ),
    headline="the search alone, of which the text gives the O(gran)",
    assumptions=(
        Assumption("sizes between points", "even", "as the programs have it that the distributions come from"),
        Assumption("agrees", "rounded to the digits that the paper prints; 'over' and 'more' strictly", "no tolerance"),
        Assumption("one round", "a window of 44 packets, at most n cells", "Eq. 4; the authors' code"),
    ),
)
