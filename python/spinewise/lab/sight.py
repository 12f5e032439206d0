"""The schemes' views of each path over time, and its true state: on Linux, as agents record it, and simulated.

The truth is that of the links between switches, from the lab's sampler and the simulator's series: how long what
is queued there takes at the links' rates, and how much of each is in use. Both are laid on the clock of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from spinewise.errors import SpecError
from spinewise.lab import measure
from spinewise.lab.plan import Plan
from spinewise.lab.sensed import Sight
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result
from spinewise.runs.validation import validate
from spinewise.shapes import Metrics

if TYPE_CHECKING:
    import pyarrow as pa

Floats = npt.NDArray[np.float64]
STEP_MS = 20
"""The interval at which paths are sampled."""
STEP_S = STEP_MS / 1e3
METRICS: Metrics = {"series_interval_us": 1e3 * STEP_MS, "series_links": "all"}
"""The metrics that a spec must measure for it."""
GATE_PACKETS = 3.0
"""PDLB's gate: it calls a path congested only if the slowest and the fastest are this many full packets apart."""
APART_MS = 2.0
"""The difference of queues below which paths are alike: it does not matter which is taken."""


@dataclass(frozen=True)
class Quantity:
    """A quantity in a scheme's view of a path.

    Attributes:
        name: the name in the scheme.
        label: the label with its unit.
        good: 1 if more of it is better, -1 if less is.
        classes: a quantity that is 1 for the paths the scheme calls congested, if it has one.
    """

    name: str
    label: str
    good: int
    classes: str | None = None


QUANTITIES = {
    "elab": Quantity("ceiling", "B_i [Mbps]", 1),
    "meet": Quantity("excess", "congestion value\n(delay above K) [µs]", -1),
    "pdlb": Quantity("delay", "delay [µs]", -1, "congested"),
}


@dataclass(frozen=True)
class Seen:
    """One host's view of its paths to another, and their true state, at the same moments.

    Attributes:
        host, target: the pair.
        spines: one path each.
        at_s: moments, in seconds of the run.
        held: the values by moment and path; NaN where there are none.
        classes: 1 where the scheme called the path congested; empty if it has no classes.
        queue_ms: how long what was queued on the path took at its links' rates.
        use: the share in use of the link that was in use most.
        rate_mbps: the rate of each path's slowest link.
    """

    host: str
    target: str
    spines: list[str]
    at_s: Floats
    held: Floats
    classes: Floats
    queue_ms: Floats
    use: Floats
    rate_mbps: list[float]

    @property
    def free_mbps(self) -> Floats:
        """The spare capacity of each path: its slowest link's rate times the unused share."""
        return np.asarray((1.0 - self.use) * np.array(self.rate_mbps))


def both_sides(plan: Plan, tell: measure.Tell) -> dict[str, list[Seen]]:
    """The views of a scheme in a running lab, on Linux and in the simulator.

    Raises:
        LabError: the lab is not as it was built.
    """
    traced = measure.predicted(plan, trace=range(validate(plan.spec).estimate.flows))
    pair = measure.run(plan, traced, tell)
    return {"Linux": of_linux(plan, pair.linux, pair.sensed.sights), "simulated": of_simulated(plan, traced)}


def record(sides: Mapping[str, Sequence[Seen]]) -> dict[str, object]:
    """The views of the pair that a figure shows, in a form for JSON, with few digits."""

    def rounded(values: Floats) -> list[list[float]]:
        return [[float(f"{value:.4g}") for value in row] for row in values]

    pair = busiest(sides)
    return {
        side: [
            {
                "host": one.host,
                "target": one.target,
                "spines": one.spines,
                "rate_mbps": one.rate_mbps,
                "at_s": [round(float(moment), 3) for moment in one.at_s],
                "held": rounded(one.held),
                **({"congested": rounded(one.classes)} if np.isfinite(one.classes).any() else {}),
                "queue_ms": rounded(one.queue_ms),
                "use": rounded(one.use),
            }
            for one in found
            if (one.host, one.target) == pair
        ]
        for side, found in sides.items()
    }


def busiest(sides: Mapping[str, Sequence[Seen]]) -> tuple[str, str]:
    """The pair of hosts with most values on every side; the side with the fewest counts."""
    counts = [{(one.host, one.target): int(np.isfinite(one.held).sum()) for one in found} for found in sides.values()]
    common = set.intersection(*(set(count) for count in counts))
    return max(sorted(common), key=lambda pair: min(count[pair] for count in counts))


def of_linux(plan: Plan, result: Result, sights: Sequence[Sight]) -> list[Seen]:
    """The views that agents recorded, with the state of the token buckets."""
    quantity = quantity_of(plan)
    rows = [
        (sight.at_ns / 1e9, (sight.host, sight.target), sight.spine, sight.saw)
        for sight in sights
        if sight.at_ns >= 0 and quantity.name in sight.saw
    ]
    return seen(plan, result, rows)


def of_simulated(plan: Plan, traced: Result) -> list[Seen]:
    """The views of the scheme at every choice of the traced flows, with the state of the simulator's links."""
    quantity, scheme = quantity_of(plan), str(plan.spec["scheme"]["name"])
    trace = traced.trace
    if trace is None:
        raise SpecError("trace", "none", "a run whose flows are traced")
    targets = dict(zip(numbers(traced.flows, "flow").tolist(), numbers(traced.flows, "dst").tolist(), strict=True))
    sources = dict(zip(numbers(traced.flows, "flow").tolist(), numbers(traced.flows, "src").tolist(), strict=True))
    names = [quantity.name, *([quantity.classes] if quantity.classes else [])]
    kept = at_hosts(trace, f"{scheme}.{quantity.name}")
    saw = {name: kept[f"{scheme}.{name}"].to_numpy(zero_copy_only=False) for name in names}
    spines = [str(links[0]).partition("->")[2] for links in kept["links"].to_pylist()]
    at, flows = numbers(kept, "time_ps") / 1e12, numbers(kept, "flow").tolist()
    devices = kept["device"].to_pylist()
    rows = []
    for place, (moment, flow, device, spine) in enumerate(zip(at.tolist(), flows, devices, spines, strict=True)):
        # Acknowledgements go the other way.
        number = targets[flow] if plan.hosts[sources[flow]] == device else sources[flow]
        rows.append((moment, (device, plan.hosts[number]), spine, {name: float(saw[name][place]) for name in names}))
    return seen(plan, traced, rows)


def at_hosts(trace: pa.Table, column: str) -> pa.Table:
    """The rows of a trace that belong to hosts and have this column."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    told = np.isfinite(trace[column].to_numpy(zero_copy_only=False))
    hosts = np.array([device.startswith("host") for device in trace["device"].to_pylist()])
    return trace.filter(pa.array(told & hosts))


def quantity_of(plan: Plan) -> Quantity:
    """The quantity of a lab's scheme that can be compared.

    Raises:
        SpecError: the scheme has no view of paths that can be compared.
    """
    name = str(plan.spec["scheme"]["name"])
    if name not in QUANTITIES:
        raise SpecError("scheme.name", name, f"{', '.join(QUANTITIES)}: schemes that hold something of each path")
    return QUANTITIES[name]


Row = tuple[float, tuple[str, str], str, Mapping[str, float]]


def seen(plan: Plan, result: Result, rows: Sequence[Row]) -> list[Seen]:
    """Rows of a scheme's view, by pair, with the truth; each moment has the newest value of the previous step."""
    quantity = quantity_of(plan)
    last = int(result.report["stop_ps"] / 1e12 / STEP_S)
    pairs: dict[tuple[str, str], dict[str, list[tuple[float, Mapping[str, float]]]]] = {}
    for at, pair, spine, saw in rows:
        pairs.setdefault(pair, {}).setdefault(spine, []).append((at, saw))
    found = []
    for (host, target), by_spine in sorted(pairs.items()):
        spines = sorted(by_spine)
        held = np.full((last, len(spines)), np.nan)
        classes = np.full_like(held, np.nan)
        for column, spine in enumerate(spines):
            for at, saw in by_spine[spine]:
                row = int(at / STEP_S)
                if row >= last:
                    continue
                held[row, column] = saw.get(quantity.name, np.nan)
                if quantity.classes is not None:
                    classes[row, column] = saw.get(quantity.classes, np.nan)
        at_s: Floats = np.arange(1, last + 1, dtype=np.float64) * np.float64(STEP_S)
        queue, use, rates = truth(plan, result, (plan.leaf_of[host], plan.leaf_of[target]), spines, at_s)
        found.append(Seen(host, target, spines, at_s, held, classes, queue, use, rates))
    return found


def truth(
    plan: Plan, result: Result, leaves: tuple[str, str], spines: Sequence[str], at_s: Floats
) -> tuple[Floats, Floats, list[float]]:
    """Queueing in milliseconds and use by moment and path, and the rate of each path's slowest link in megabits."""
    ports = {port.link: port for cable in plan.core for port in cable.ports}
    queue, use, rates = [], [], []
    for spine in spines:
        links = [ports[f"{leaves[0]}->{spine}"], ports[f"{spine}->{leaves[1]}"]]
        rates.append(min(port.rate_bps for port in links) / 1e6)
        waits = [at(result, "link_queue_bytes", port.link, at_s) * 8e3 / port.rate_bps for port in links]
        queue.append(np.sum(waits, axis=0))
        use.append(np.max([at(result, "link_utilisation", port.link, at_s) for port in links], axis=0))
    return np.array(queue).T, np.array(use).T, rates


def at(result: Result, series: str, link: str, moments: Floats) -> Floats:
    """A series of a link at these moments."""
    times, values = result.series_of(series, link)
    return np.asarray(np.interp(moments, times, values), dtype=np.float64)


@dataclass(frozen=True)
class Agreement:
    """How closely a scheme's view of its paths matched the truth, over all pairs of hosts.

    Attributes:
        pairs, values: the number of pairs of hosts, and of values.
        rho: rank correlation of the view, the better path first, with the path's queueing, the shorter first.
        rho_moment: the same among the paths at one moment, mean over the moments at which their queues were apart.
        best: share of those moments at which the path held to be best had a queue no longer than the shortest and 2 ms.
        best_drawn: the same share for a path drawn at random.
        rho_free: rank correlation of the view with the path's spare capacity.
        classes: share of values whose class is that of the truth by the scheme's own rule; None without classes.
        congested, congested_true: shares of values that are in that class, in the view and in truth.
    """

    pairs: int
    values: int
    rho: float
    rho_moment: float
    best: float
    best_drawn: float
    rho_free: float
    classes: float | None = None
    congested: float | None = None
    congested_true: float | None = None


def agreement(plan: Plan, found: Sequence[Seen]) -> Agreement:
    """Compute how closely the views matched the truth."""
    quantity = quantity_of(plan)
    held = np.concatenate([quantity.good * one.held.ravel() for one in found] or [np.empty(0)])
    queue = np.concatenate([one.queue_ms.ravel() for one in found] or [np.empty(0)])
    free = np.concatenate([one.free_mbps.ravel() for one in found] or [np.empty(0)])
    known = np.isfinite(held)
    moments = [
        (quantity.good * one.held[row], one.queue_ms[row])
        for one in found
        for row in range(len(one.at_s))
        if np.isfinite(one.held[row]).all() and np.ptp(one.queue_ms[row]) > APART_MS and len(one.spines) > 1
    ]
    by_moment = [rho for mine, waits in moments if np.isfinite(rho := ranks_agree(mine, -waits))]
    chosen = [float(np.mean(waits[mine == mine.max()] <= waits.min() + APART_MS)) for mine, waits in moments]
    drawn = [float(np.mean(waits <= waits.min() + APART_MS)) for _, waits in moments]
    classes = class_shares(plan, found) if quantity.classes else (None, None, None)
    return Agreement(
        len(found),
        int(known.sum()),
        ranks_agree(held[known], -queue[known]),
        mean(by_moment),
        mean(chosen),
        mean(drawn),
        ranks_agree(held[known], free[known]),
        *classes,
    )


def class_shares(plan: Plan, found: Sequence[Seen]) -> tuple[float, float, float]:
    """How often a path's class matched the truth, and how often each called paths congested.

    PDLB's own rule (gt_mean_with_gate): above the mean, where the slowest and the fastest differ by more than three
    full packets at the rate of an empty path.
    """
    packet_ms = 8e3 * plan.mtu / max(cable.lower.rate_bps for cable in plan.core)
    same, mine, true = [], [], []
    for one in found:
        known = np.isfinite(one.classes).all(axis=1)
        delays = one.queue_ms[known] + np.array([8.0 * plan.mtu / 1e3 / rate for rate in one.rate_mbps])
        apart = np.ptp(delays, axis=1) > GATE_PACKETS * packet_ms
        congested = (delays > delays.mean(axis=1, keepdims=True)) & apart[:, None]
        held = one.classes[known] > 0
        same.append((held == congested).ravel())
        mine.append(held.ravel())
        true.append(congested.ravel())
    return mean(np.concatenate(same)), mean(np.concatenate(mine)), mean(np.concatenate(true))


def mean(values: Sequence[float] | npt.NDArray[np.bool_] | Floats) -> float:
    """The mean of numbers; NaN if there are none."""
    return float(np.mean(values)) if len(values) else float("nan")


def ranks_agree(one: Floats, other: Floats) -> float:
    """Spearman's rank correlation, equal values sharing their ranks; NaN if one does not vary."""
    if len(one) < 2:
        return float("nan")
    first, second = ranks(one), ranks(other)
    spread = float(first.std() * second.std())
    return float(((first - first.mean()) * (second - second.mean())).mean() / spread) if spread > 0 else float("nan")


def ranks(values: Floats) -> Floats:
    """Ranks from 0; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - counts + ends - 1) / 2.0)[inverse]
