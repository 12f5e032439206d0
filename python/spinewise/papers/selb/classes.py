"""Whether a congested path has company in its class, and how much of a path's delay its source sees.

`python -m spinewise.papers.selb.classes` samples all queues of a run of SELB (at 0.8) every τ and classifies the
uplinks of every leaf as SELB does (its own samples have a random phase).
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import spinewise as sw
from spinewise.papers.selb import fabric
from spinewise.runs.result import Result
from spinewise.specs.variants import parse

Floats = NDArray[np.float64]

K, TAU_US, THETA = 3, 10, 0.2
GROWTH_BYTES = THETA * 100e9 / 8.0 * TAU_US * 1e-6
LEAVES = SPINES = 8
BYTES_PER_US = 100e9 / 8.0 * 1e-6


def run(workload: str, mode: str) -> Result:
    """SELB with its queues sampled."""
    spec = fabric.spec(fabric.EVALUATION_HOSTS, mode, workload, 0.8, 1000.0)
    spec["metrics"]["series_interval_us"] = TAU_US
    return sw.run(parse(f"{fabric.SELB}:reorder_queues=8").apply(spec), seed=1)


def queues(result: Result, name: str) -> Floats:
    """Samples of one link while flows arrive."""
    times, values = result.series_of("link_queue_bytes", name)
    return values[times <= 1e-3]


def classes(lengths: Floats) -> NDArray[np.intp]:
    """Classify lengths by k-means, starting from quantiles of the distinct lengths."""
    different = np.unique(lengths)
    k = min(K, len(different))
    centroids = different[[(2 * i + 1) * len(different) // (2 * k) for i in range(k)]].astype(float)
    while True:
        nearest: NDArray[np.intp] = np.abs(lengths[:, None] - centroids[None, :]).argmin(axis=1)
        means = [lengths[nearest == i].mean() if (nearest == i).any() else centroids[i] for i in range(k)]
        if np.array_equal(means, centroids):
            return nearest
        centroids = np.array(means)


def company(uplinks: Floats) -> Counter[str]:
    """Count what a congested uplink finds in its class, over all samples of one leaf: rows are samples."""
    found: Counter[str] = Counter()
    for before, now in pairwise(uplinks):
        congested, nearest = now - before > GROWTH_BYTES, classes(now)
        for path in np.flatnonzero(congested):
            others = (nearest == nearest[path]) & (np.arange(SPINES) != path)
            found["alone" if not others.any() else "others, all congested" if congested[others].all() else "a way"] += 1
    return found


def show(workload: str, mode: str) -> None:
    """One run in two lines."""
    result = run(workload, mode)
    up = np.array([[queues(result, f"leaf{a}->spine{s}") for s in range(SPINES)] for a in range(LEAVES)])
    down = np.array([[queues(result, f"spine{s}->leaf{b}") for s in range(SPINES)] for b in range(LEAVES)])
    found = sum((company(leaf.T) for leaf in up), Counter())
    total = sum(found.values())
    print(f"{workload}, {mode}: {total} samples of a congested uplink")
    for what, many in found.most_common():
        print(f"  in its class: {what}: {100 * many / total:.0f} %")
    # The spread between the eight paths of a leaf at one instant, which is what a choice among them can gain.
    for name, side in (("uplinks", up), ("downlinks", down)):
        spread = np.sqrt(side.var(axis=1).mean()) / BYTES_PER_US
        print(
            f"  {name}: queue {side.mean() / BYTES_PER_US:.1f} µs on average, spread over spines {spread:.1f} µs (rms)"
        )


if __name__ == "__main__":
    for cdf in ("ali_storage", "hadoop"):
        for kind in fabric.MODES:
            show(cdf, kind)
