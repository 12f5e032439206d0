"""Parts that experiments share: usual panels, and one thing varied at a time."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace

from spinewise.reproduction.experiment import Panel
from spinewise.reproduction.readings import MEAN, P99
from spinewise.shapes import Spec
from spinewise.specs.spec import set_path

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
    """The same panel for one size class."""
    return replace(panel, metric=f"{size}_{panel.metric}", title=f"{panel.title}, {size}") if size else panel


def share(
    figure: str,
    metric: str,
    title: str,
    x_label: str,
    *,
    of: str = "",
    variant: str = "",
    words: tuple[tuple[float, str], ...] = (),
) -> Panel:
    """A share, drawn in percent of `of`; `words` as in `Panel.words`."""
    return Panel(figure, metric, title, x_label, f"% of {of}" if of else "%", 100.0, variant, words=words)


def override_of_path(path_rtt_ns: int, host_delay_ns: int) -> int:
    """The delay of each of the four fabric links of a round trip that takes `path_rtt_ns` with its four host links."""
    return round((path_rtt_ns - 4 * host_delay_ns) / 4)


@dataclass(frozen=True)
class Variation:
    """One change of an experiment: keys of its spec, and text appended to a scheme (":key=value").

    Attributes:
        name: the change, in words.
        spec: key paths and values.
        schemes: the text appended to the scheme, by label.
    """

    name: str
    spec: Mapping[str, object] = field(default_factory=dict)
    schemes: Mapping[str, str] = field(default_factory=dict)

    def of(self, base: Spec) -> Spec:
        """A copy of `base` with the keys changed."""
        return changed(base, self.spec)

    def added(self, label: str) -> str:
        """The text appended to the scheme of this label."""
        return self.schemes.get(label, "")


def changed(base: Spec, changes: Mapping[str, object]) -> Spec:
    """A copy of `base` with these key paths set."""
    made = deepcopy(base)
    for key, value in changes.items():
        set_path(made, key, value)
    return made
