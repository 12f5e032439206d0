"""Four things behind the verdicts that the experiments do not show: `python -m spinewise.papers.elab.checks`.

How CLOVE's split depends on how often a weight is cut; at which splits three duplicate acknowledgements come; and how
ELAB fares on the asymmetric fabric, by leaf, by time, when it knows all paths from the start, and against Hermes
as arrivals last longer.
"""

from __future__ import annotations

import numpy as np

import spinewise as sw
from spinewise.measures.tables import numbers
from spinewise.papers.elab import fabric, fig02, fig13, large
from spinewise.papers.elab.labels import MAIN, TOLERANT
from spinewise.papers.elab.measure import splits
from spinewise.papers.elab.measure.fig02 import measure
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.specs.spec import set_path
from spinewise.specs.variants import parse

SIZE_BYTES = 1_000_000_000
CUTS_US = (0, 500, 1000, 2000, 4000, 8000, 16_000)


def measured(scheme: str, transport: str, rate_gbps: float = 3.0) -> dict[str, float]:
    """One run of Fig. 2; lines left out."""
    spec = fabric.under(parse(scheme), fig02.spec(rate_gbps, transport, SIZE_BYTES))
    found = measure(Run("", rate_gbps, 2, spec), sw.run(spec, seed=2))
    return {name: value for name, value in found.items() if not isinstance(value, Timeline)}


def cuts() -> None:
    """Print CLOVE's splits by the least time between two cuts of a weight."""
    for cut in CUTS_US:
        found = measured(f"clove:redistribute=off:flowlet_gap_us=0:cut_interval_us={cut}", MAIN)
        splits = ", ".join(f"{found[f'first_p{p:02}'] / (1 - found[f'first_p{p:02}'] + 1e-9):.2f}" for p in (5, 50, 95))
        print(
            f"CLOVE, cuts {cut or 'half a base RTT':>5} µs apart: {100 * found['utilisation']:.1f} %, ratios {splits}"
        )


def duplicates() -> None:
    """Print what the oracle's split resends with three duplicates, by how unequal the paths are."""
    for rate in (6.0, 4.0, 3.0, 2.0, 1.5, 1.0):
        found = measured("proportional", MAIN, rate)
        print(
            f"1:{6 / rate:.1f}: {100 * found['utilisation']:.1f} % of both paths, {100 * found['out_of_order']:.1f} %"
            f" out of order, {100 * found['resent']:.2f} % sent again"
        )


def asymmetric(load: float, arrivals_us: float) -> None:
    """Print completion times by the sending leaf and by time, and the traffic on the slow leaf's uplinks."""
    for scheme in ("ecmp", "proportional", fabric.HERMES_SPEC, "elab", "elab:discovery=blind"):
        spec = fabric.under(parse(scheme), large.spec(load, TOLERANT, arrivals_us, fig13.OVERRIDE))
        if scheme.endswith("blind"):
            set_path(spec, "scheme.path_tag", "explicit")
        result = sw.run(spec, seed=1)
        start, fct = (numbers(result.flows, name) / 1e9 for name in ("start_ps", "fct_ps"))
        leaf = numbers(result.flows, "src") // 16
        step = arrivals_us / 3e3
        parts = [float(fct[(start >= n * step) & (start < (n + 1) * step)].mean()) for n in range(3)]
        carried = np.array([splits.carried(result, 1, spine) for spine in range(4)])
        slow = 100 * carried[:2].sum() / carried.sum()
        print(
            f"T4-D, {load:g}, {scheme.partition(':t_')[0]}: mean FCT leaf 1 {fct[leaf == 0].mean():.2f}, leaf 2"
            f" {fct[leaf == 1].mean():.2f} ms; thirds of the run {', '.join(f'{part:.2f}' for part in parts)};"
            f" {slow:.0f} % of leaf 2's bytes by slow uplinks"
        )


def longer(load: float, arrivals_us: float) -> None:
    """Print ELAB's mean completion time over Hermes' in arrivals of this length, and its growth during them."""
    for seed in (1, 2):
        means, thirds = [], []
        for scheme in ("elab", fabric.HERMES_SPEC):
            spec = fabric.under(parse(scheme), large.spec(load, TOLERANT, arrivals_us, fig13.OVERRIDE))
            result = sw.run(spec, seed=seed)
            start, fct = (numbers(result.flows, name) for name in ("start_ps", "fct_ps"))
            third = arrivals_us * 1e6 / 3
            means.append(fct.mean())
            thirds.append(fct[start >= 2 * third].mean() / fct[start < third].mean())
        grown = " and ".join(f"{one:.2f}" for one in thirds)
        print(
            f"T4-D, {load:g}, {arrivals_us / 1e3:g} ms, seed {seed}: ELAB's mean FCT {means[0] / means[1]:.2f} times"
            f" Hermes'; last third over first {grown}"
        )


if __name__ == "__main__":
    cuts()
    duplicates()
    asymmetric(0.5, 150_000.0)
    for length in (50_000.0, 150_000.0, 450_000.0):
        longer(0.5, length)
