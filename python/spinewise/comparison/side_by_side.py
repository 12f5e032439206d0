"""Kept runs side by side: the differences of their specs, their results, and which flows got faster.

`compare` repeats schemes over seeds and reports how certain a difference is. Here each run is single: the tables show
what happened in it, and a difference of a few percent may be chance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from spinewise.measures import units
from spinewise.measures.summary import ALL, Summary
from spinewise.measures.tables import numbers
from spinewise.runs.result import Numbers, Result
from spinewise.shapes import Spec
from spinewise.show.terminal import Grid, new_table

UNNAMED = ("name",)
"""Keys of a spec that do not affect a run."""
MOST_ENTRIES = 16
"""The number of entries of a list that are shown one by one."""
LONGEST = 48
"""Characters of a value of a key."""
TIMES: tuple[tuple[str, Callable[[Summary, str], float]], ...] = (
    ("mean FCT", lambda summary, name: summary.of(name).fct_s.mean),
    ("p50 of FCT", lambda summary, name: summary.of(name).fct_s.p50),
    ("p99 of FCT", lambda summary, name: summary.of(name).fct_s.p99),
    ("mean slowdown", lambda summary, name: summary.of(name).slowdown.mean),
)
COUNTS: tuple[tuple[str, Callable[[Summary], float]], ...] = (
    ("unfinished flows", lambda summary: summary.of(ALL).unfinished),
    ("packets sent", lambda summary: summary.packets.sent),
    ("packets sent again", lambda summary: summary.packets.retransmits),
    ("timeouts", lambda summary: summary.packets.timeouts),
    ("arrivals out of order", lambda summary: summary.packets.out_of_order),
    ("arrivals marked CE", lambda summary: summary.packets.marks),
    ("packets dropped", lambda summary: summary.facts.drops),
    ("packets trimmed", lambda summary: summary.facts.trims),
)


@dataclass(frozen=True)
class Matched:
    """The flows of one run beside the same flows of another.

    Attributes:
        both: flows that finished in both.
        faster, slower: of these, those that took less time and more; the rest took the same, to the picosecond.
        ratio: geometric mean of FCT over that in the other run; NaN of no flows.
        only_here, only_there: flows that finished in one of the two.
    """

    both: int
    faster: int
    slower: int
    ratio: float
    only_here: int
    only_there: int

    def line(self, label: str, first: str) -> str:
        """The note about a run."""
        if not self.both:
            return f"{label}: no flow finished both there and in {first}."
        said = (
            f"{label}: of {units.counted(self.both, 'flow')} that finished in both, {self.faster:,} took less time than"
            f" in {first} and {self.slower:,} more; the geometric mean of FCT changes by"
            f" {units.signed_percent(self.ratio - 1.0, ' ')}."
        )
        alone = [
            f"{units.counted(count, 'flow')} finished in {which} alone"
            for count, which in ((self.only_here, "it"), (self.only_there, first))
            if count
        ]
        return f"{said} {' and '.join(alone)}." if alone else said


@dataclass(frozen=True)
class SideBySide:
    """Kept runs, compared with the first of them.

    Attributes:
        labels: their names, each once.
        runs: the runs, in the same order.
    """

    labels: Sequence[str]
    runs: Sequence[Result]

    @classmethod
    def of(cls, places: Sequence[str], runs: Sequence[Result]) -> SideBySide:
        """Name runs by the places where they are kept: by scheme, folder or place, whichever suffices."""
        schemes = [str(run.spec["scheme"].get("name", "")) for run in runs]
        folders = [Path(place).resolve().name for place in places]
        numbered = [f"{place} ({number})" for number, place in enumerate(places, 1)]
        choices = (schemes, folders, list(places), numbered)
        return cls(next(names for names in choices if len({*names}) == len(names)), runs)

    @cached_property
    def summaries(self) -> list[Summary]:
        """The summaries of the runs."""
        return [run.summary() for run in self.runs]

    @cached_property
    def differing(self) -> dict[str, list[object]]:
        """The keys in which the resolved specs differ, with the value in each run; None if a run has no such key.

        Parameters that one scheme has and another does not are left out.
        """
        flat = [flattened(run.spec) for run in self.runs]
        found = {key: [one.get(key) for one in flat] for key in dict.fromkeys(key for one in flat for key in one)}
        schemes = {one.get("scheme.name") for one in flat}
        return {
            key: values
            for key, values in found.items()
            if any(value != values[0] for value in values)
            and key not in UNNAMED
            and not (len(schemes) > 1 and key.startswith("scheme.params.") and None in values)
        }

    @property
    def same_traffic(self) -> bool:
        """Whether all carried the same flows, so that each flow has a counterpart in every run."""
        return len({run.report["traffic_hash"] for run in self.runs}) == 1

    @property
    def matchable(self) -> bool:
        """Whether flows can be matched one by one: the same ones, except UDP, with a row each in every run."""
        return self.same_traffic and all(completion_times(run).size for run in self.runs)

    def matched(self, place: int) -> Matched:
        """The flows of one run beside those of the first, which must carry the same traffic."""
        one, first = (completion_times(run) for run in (self.runs[place], self.runs[0]))
        done, before = one > 0, first > 0
        both = done & before
        ratio = float(np.exp(np.mean(np.log(one[both] / first[both])))) if both.any() else math.nan
        return Matched(
            both=int(both.sum()),
            faster=int((one[both] < first[both]).sum()),
            slower=int((one[both] > first[both]).sum()),
            ratio=ratio,
            only_here=int((done & ~before).sum()),
            only_there=int((before & ~done).sum()),
        )

    def spec_table(self) -> Grid:
        """The table of keys where the specs differ; without rows if there are none."""
        table = new_table("Where the specs differ", ["key"], self.labels)
        for key, values in self.differing.items():
            table.line(key, *(units.NOTHING if value is None else short(value) for value in values))
        return table

    def outcome_table(self) -> Grid:
        """The table of the results of each run, with the difference from the first in percent."""
        table = new_table("Completion times and counts, each against the first run", ["flows", "quantity"], self.labels)
        for name in self.classes:
            before = name
            for title, value in TIMES:
                values = [value(summary, name) for summary in self.summaries]
                shown = units.duration if "slowdown" not in title else units.digits
                table.line(before, title, *beside(values, shown), end_section=title == TIMES[-1][0])
                before = ""
        for title, count in COUNTS:
            values = [count(summary) for summary in self.summaries]
            if any(value and math.isfinite(value) for value in values):
                table.line("", title, *beside(values, whole))
        return table

    @property
    def classes(self) -> list[str]:
        """The size classes that have flows in any run, "all" last; only "all" if runs have different ones."""
        first, *others = (run.spec.get("metrics", {}).get("size_classes") for run in self.runs)
        if any(other != first for other in others):
            return [ALL]
        names = dict.fromkeys(found.name for one in self.summaries for found in one.classes if found.flows)
        parts = [name for name in names if name != ALL]
        return [*(parts if len(parts) > 1 else []), ALL]

    def lines(self) -> list[str]:
        """Notes on how to read the tables."""
        first = self.labels[0]
        said = []
        if not self.differing:
            said.append("The specs differ only in their names.")
        if self.matchable:
            said += [self.matched(place).line(self.labels[place], first) for place in range(1, len(self.runs))]
        elif not self.same_traffic:
            said.append(
                "The runs carry different traffic, or drew it from different seeds, so flows cannot be matched."
            )
        elif any(run.report["flows"] and not run.flows.num_rows for run in self.runs):
            said.append("A run has kept no row per flow (metrics.keep_flows_up_to), so no flows are matched.")
        if len({summary.of(ALL).unfinished for summary in self.summaries}) > 1:
            said.append("Times cover finished flows only, and the runs left different numbers unfinished.")
        if any(summary.mixed for summary in self.summaries):
            said.append("Times are of the flows of all traffic entries together; each run's page has them by entry.")
        said.append("Each is one run: `spinewise compare` repeats over seeds and says how sure a difference is.")
        return said

    def plain(self) -> dict[str, object]:
        """The comparison for other programs."""
        matched = range(1, len(self.runs)) if self.matchable else ()
        return {
            "runs": list(self.labels),
            "differing": {key: dict(zip(self.labels, values, strict=True)) for key, values in self.differing.items()},
            "same_traffic": self.same_traffic,
            "against_first": {self.labels[place]: vars(self.matched(place)) for place in matched},
        }


def share_a_table(spec: Spec, other: Spec) -> bool:
    """Whether two runs have enough in common to be compared: fabric or traffic."""
    return any(spec[table] == other[table] for table in ("topology", "traffic"))


def flattened(value: object, key: str = "") -> dict[str, object]:
    """A spec by dotted keys, such as `traffic[0].load`."""
    if isinstance(value, dict):
        parts = [flattened(one, f"{key}.{name}" if key else str(name)) for name, one in value.items()]
    elif isinstance(value, list) and len(value) <= MOST_ENTRIES and any(isinstance(one, dict) for one in value):
        parts = [flattened(one, f"{key}[{place}]") for place, one in enumerate(value)]
    else:
        return {key: value}
    return {name: one for part in parts for name, one in part.items()}


def short(value: object) -> str:
    """A value of a spec as it is written in a file, cut if it is long; for a long list, its length."""
    if isinstance(value, list) and len(value) > MOST_ENTRIES:
        return f"{len(value):,} entries"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"


def beside(values: Sequence[float], shown: Callable[[float], str]) -> list[str]:
    """Values in words: the first, and each other one with its change from it."""
    first, *others = values
    return [shown(first), *(f"{shown(value)}{change(value, first)}" for value in others)]


def change(value: float, first: float) -> str:
    """The difference of a value from the first, in percent; "" if it is negligible."""
    if not (math.isfinite(value) and math.isfinite(first) and first) or value == first:
        return ""
    return f" ({units.signed_percent(value / first - 1.0, ' ')})"


def completion_times(run: Result) -> Numbers:
    """The FCT of every flow but UDP's, in ps; 0 if it has not finished."""
    times = numbers(run.flows, "fct_ps")[numbers(run.flows, "tcp").astype(bool)]
    return np.asarray(times, dtype=np.float64)


def whole(value: float) -> str:
    """A count."""
    return f"{value:,.0f}" if math.isfinite(value) else units.NOTHING
