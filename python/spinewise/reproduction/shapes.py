"""What experiments share: usual panels, numbers read off a run, one thing varied at a time."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spinewise.measures.summary import PS_PER_SECOND
from spinewise.measures.tables import numbers
from spinewise.reproduction.experiment import Panel
from spinewise.runs.result import Result
from spinewise.specs.spec import Spec, set_path

MEAN, P99 = "mean_fct_s", "p99_fct_s"


PER_SECOND = {"µs": 1e6, "ms": 1e3}


def mean_fct(
    figure: str, x_label: str, *, size: str = "", variant: str = "", log: bool = False, unit: str = "µs"
) -> Panel:
    """Mean completion time: metric ``mean_fct_s``, or ``short_mean_fct_s`` of the size class "short"."""
    panel = Panel(figure, MEAN, "mean completion time", x_label, unit, PER_SECOND[unit], variant, log=log)
    return of_class(panel, size)


def p99_fct(
    figure: str, x_label: str, *, size: str = "", variant: str = "", log: bool = False, unit: str = "µs"
) -> Panel:
    """99th percentile of completion times: metric ``p99_fct_s``, or that of a size class."""
    return of_class(Panel(figure, P99, "99th percentile", x_label, unit, PER_SECOND[unit], variant, log=log), size)


def of_class(panel: Panel, size: str) -> Panel:
    """The same of one size class."""
    return replace(panel, metric=f"{size}_{panel.metric}", title=f"{panel.title}, {size}") if size else panel


def share(figure: str, metric: str, title: str, x_label: str, *, of: str = "", variant: str = "") -> Panel:
    """A share, drawn in percent of what `of` says."""
    return Panel(figure, metric, title, x_label, f"% of {of}" if of else "%", 100.0, variant)


def completion(result: Result, *classes: str) -> dict[str, float]:
    """Flows, mean and 99th percentile (s) of all flows and of these size classes; unfinished flows count for neither.

    Keys are those that `mean_fct` and `p99_fct` draw, and ``flows``, ``short_flows``.
    """
    summary = result.summary()
    values: dict[str, float] = {}
    for prefix, name in (("", "all"), *((f"{name}_", name) for name in classes)):
        found = summary.of(name)
        values[f"{prefix}flows"] = float(found.flows)
        values[prefix + MEAN], values[prefix + P99] = found.fct_s.mean, found.fct_s.p99
    return values


def resent(result: Result, inside: Any) -> float:
    """Packets sent again over packets sent, of the flows that the mask `inside` selects; NaN without any."""
    sent = float(numbers(result.flows, "packets")[inside].sum())
    return float(numbers(result.flows, "retransmits")[inside].sum()) / sent if sent else float("nan")


def throughput_gbps(result: Result, inside: Any) -> float:
    """Sum over the finished flows of `inside` of size over completion time, in Gbps."""
    done = inside & numbers(result.flows, "finished").astype(bool)
    size, fct_ps = numbers(result.flows, "size_bytes")[done], numbers(result.flows, "fct_ps")[done].astype(float)
    return float(np.sum(8e3 * size / fct_ps))


def busy_seconds(result: Result) -> float:
    """From the first start to the last end of a flow."""
    start = numbers(result.flows, "start_ps")
    end = start + numbers(result.flows, "fct_ps")
    return float(end.max() - start.min()) / PS_PER_SECOND


def uplinks_of_leaf(result: Result, leaf: int, seconds: float) -> float:
    """Mean share of `seconds` for which the uplinks of one leaf were sending."""
    used = [link["utilisation"] for link in result.report["links"] if link["name"].startswith(f"leaf{leaf}->spine")]
    return float(sum(used)) / len(used) * float(result.report["stop_ps"]) / PS_PER_SECOND / seconds


def path_bits_per_second(result: Result) -> float:
    """Rate of all uplinks of a leaf together, overrides left out."""
    topology = result.spec["topology"]
    return 1e9 * float(topology["spines"]) * float(topology["fabric_rate_gbps"])


def override_of_path(path_rtt_ns: int, host_delay_ns: int) -> int:
    """Delay of each of the four fabric links of a round trip that takes `path_rtt_ns`, four host links included."""
    return round((path_rtt_ns - 4 * host_delay_ns) / 4)


@dataclass(frozen=True)
class Variation:
    """One thing changed against an experiment: keys of its spec, and text appended to a scheme (":key=value").

    Attributes:
        name: what is changed, in words.
        spec: key paths and values.
        schemes: by label, what is appended to the scheme.
    """

    name: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    schemes: Mapping[str, str] = field(default_factory=dict)

    def of(self, base: Spec) -> Spec:
        """A copy of `base` with the keys changed."""
        return changed(base, self.spec)

    def added(self, label: str) -> str:
        """What is appended to the scheme of this label."""
        return self.schemes.get(label, "")


def changed(base: Spec, changes: Mapping[str, Any]) -> Spec:
    """A copy of `base` with these key paths set."""
    made = deepcopy(base)
    for key, value in changes.items():
        set_path(made, key, value)
    return made
