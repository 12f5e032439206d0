"""Two runs of the same traffic, flow by flow: what can be paired, and the flows in the tail of either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Literal

import numpy as np
import numpy.typing as npt

from spinewise.comparison.side_by_side import SideBySide
from spinewise.errors import SpecError
from spinewise.explanation.wanted import wanted
from spinewise.magnitudes import PS_PER_US
from spinewise.measures import stats
from spinewise.measures.entries import entries_of
from spinewise.measures.tables import Values as Array
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result

Measure = Literal["fct", "slowdown"]
SAME = ("src", "dst", "entry", "tcp", "size_bytes")
"""Columns in which the same flow is alike in both runs."""


@dataclass(frozen=True)
class Asked:
    """The percentile to be explained.

    Attributes:
        percentile: such as 99.
        entry, size_class: whose flows; None: of all traffic, of every size.
        measure: of completion times, or of slowdowns.
        flow: one flow alone, in place of a percentile.
    """

    percentile: float = 99.0
    entry: str | None = None
    size_class: str | None = None
    measure: Measure = "fct"
    flow: int | None = None

    @property
    def name(self) -> str:
        """The percentile: p99."""
        return f"p{self.percentile:g}"


class Pairs:
    """The flows of two runs, one array element for each flow of the traffic; UDP's do not count."""

    def __init__(self, a: Result, b: Result, labels: tuple[str, str], asked: Asked) -> None:
        """Pair the flows.

        Raises:
            SpecError: they are not the same flows in both runs, or none of them is asked for.
        """
        self.runs, self.labels, self.asked = (a, b), labels, asked
        refuse_others(self.runs, labels)
        self.ideal = [np.maximum(numbers(run.flows, "ideal_fct_ps"), 1) / PS_PER_US for run in self.runs]
        if asked.measure == "slowdown":
            refuse_ideals(self.ideal, labels)
        self.finished = [numbers(run.flows, "finished").astype(bool) for run in self.runs]
        self.took = [numbers(run.flows, "fct_ps") / PS_PER_US for run in self.runs]
        self.scale = self.ideal[0] if asked.measure == "slowdown" else np.ones(len(self.ideal[0]))
        self.counts = self.chosen()
        self.both = self.counts & self.finished[0] & self.finished[1]

    def chosen(self) -> npt.NDArray[np.bool_]:
        """Which flows are asked for.

        Raises:
            SpecError: none is.
        """
        flows, asked = self.runs[0].flows, self.asked
        chosen: npt.NDArray[np.bool_] = numbers(flows, "tcp").astype(bool)
        if asked.flow is not None:
            if asked.flow >= len(chosen):
                raise SpecError("--flow", asked.flow, f"a flow of these runs, 0 to {len(chosen) - 1}")
            chosen[np.arange(len(chosen)) != asked.flow] = False
            return chosen
        chosen = chosen & wanted(self.runs[0], asked.entry, asked.size_class)
        if not chosen.any():
            raise SpecError("RUN", "a run without such flows", "runs with flows that are not UDP")
        return chosen

    @property
    def entries(self) -> list[str]:
        """Names of the traffic entries that have flows among those asked for."""
        names = [one.name for one in entries_of(self.runs[0].spec)]
        return [names[int(place)] for place in np.unique(numbers(self.runs[0].flows, "entry")[self.counts])]

    @cached_property
    def at(self) -> tuple[float, float]:
        """The percentile in both runs, of flows that finished: µs, or slowdowns; NaN of no flows."""
        one, two = (
            stats.percentile((took / self.scale)[self.counts & done], self.asked.percentile / 100.0)
            for took, done in zip(self.took, self.finished, strict=True)
        )
        return float(one), float(two)

    def tail(self, run: int) -> list[int]:
        """The flows of a run that took as long as its percentile or longer, the nearest to it first."""
        flows = np.flatnonzero(self.counts & self.finished[run])
        order = flows[np.argsort((self.took[run] / self.scale)[flows], kind="stable")]
        return (
            [int(flow) for flow in order[stats.rank(self.asked.percentile / 100.0, len(order)) :]] if len(order) else []
        )

    @cached_property
    def tails(self) -> tuple[list[int], list[int]]:
        """The tails of both runs; of one flow, that flow."""
        return self.tail(0), self.tail(1)

    @cached_property
    def either(self) -> list[int]:
        """The flows in either tail that finished in both runs, the nearest to the percentiles first."""
        turns = (flow for pair in zip_longest(*self.tails) for flow in pair if flow is not None)
        return [flow for flow in dict.fromkeys(turns) if self.both[flow]]

    def unfinished(self, run: int) -> int:
        """How many of the flows had not finished."""
        return int((self.counts & ~self.finished[run]).sum())

    def only(self, run: int) -> list[int]:
        """The flows that finished in this run alone."""
        return [int(flow) for flow in np.flatnonzero(self.counts & self.finished[run] & ~self.finished[1 - run])]

    def longer(self, flows: list[int]) -> Array:
        """How much longer flows took in the second run than in the first: µs, or multiples of their ideals."""
        found: Array = (self.took[1] - self.took[0])[flows] / self.scale[flows]
        return found

    @property
    def other_ideals(self) -> int:
        """The number of flows whose ideals differ between the runs."""
        return int((self.ideal[0] != self.ideal[1])[self.counts].sum())


def refuse_others(runs: tuple[Result, Result], labels: tuple[str, str]) -> None:
    """Refuse runs whose flows cannot be paired.

    Raises:
        SpecError: they carried other traffic, or a run has kept no rows of flows.
    """
    for run, label in zip(runs, labels, strict=True):
        if not run.flows.num_rows:
            many = run.report["flows"]
            hint = "raise metrics.keep_flows_up_to, and run it again" if many else None
            raise SpecError("flows", f"{many:,} without a row each in {label}", "runs that kept a row per flow", hint)
    seeds = [run.report["seed"] for run in runs]
    hint = (
        f"another seed draws other flows: run {labels[1]} again with --seed {seeds[0]}"
        if seeds[0] != seeds[1]
        else differing(runs, labels)
    )
    for key in ("flows", "traffic_hash"):
        one, two = (run.report[key] for run in runs)
        if one != two:
            raise SpecError(key, f"{two} in {labels[1]}", f"{one}, as in {labels[0]}: the same flows", hint)
    unlike = [name for name in SAME if not np.array_equal(numbers(runs[0].flows, name), numbers(runs[1].flows, name))]
    if unlike:
        raise SpecError(f"flows.{unlike[0]}", f"other values in {labels[1]}", f"those of {labels[0]}, flow by flow")


def differing(runs: tuple[Result, Result], labels: tuple[str, str]) -> str | None:
    """The keys of the specs that may be why the traffic differs."""
    found = SideBySide(labels, runs).differing
    keys = list(keys_of(found))
    return f"their specs differ in {', '.join(keys[:5])}" if keys else None


def keys_of(found: dict[str, list[object]]) -> Iterator[str]:
    """The keys of traffic and fabric; all, if there are none."""
    near = [key for key in found if key.partition(".")[0].partition("[")[0] in {"traffic", "topology"}]
    yield from near or found


def refuse_ideals(ideals: list[Array], labels: tuple[str, str]) -> None:
    """Refuse slowdowns over other ideals: they would differ although the times do not.

    Raises:
        SpecError: a flow has another ideal.
    """
    unlike = np.flatnonzero(ideals[0] != ideals[1])
    if len(unlike):
        flow = int(unlike[0])
        one, two = (f"{ideal[flow]:.4f} µs" for ideal in ideals)
        hint = "compare completion times, without --slowdown; or give both runs the same metrics.ideal_frames"
        value = f"{two} for flow {flow} in {labels[1]}, and another for {len(unlike):,} of {len(ideals[0]):,} flows"
        raise SpecError("ideal_fct_ps", value, f"{one}, as in {labels[0]}", hint)
