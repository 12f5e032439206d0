"""The metrics of a run: ``fct_s.p99``, ``slowdown.mean of short``, ``fct_s.p99 of web``, ``fct_s.p99 of web/short``.

They are of all traffic, of a size class, of a traffic entry, or of a size class of an entry. Times of rounds are of an
entry: ``round_s.mean of reduce``. A fact of the whole run (``drops``, ``timeouts``, ``hottest.max_use``) has no such
suffix.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from spinewise.comparison.cells import attribute
from spinewise.comparison.measured import Measured
from spinewise.errors import SpecError, nearest
from spinewise.measures import units
from spinewise.measures.collectives import has_rounds
from spinewise.measures.distribution import share, step
from spinewise.measures.entries import entries_of
from spinewise.measures.facts import LINK_NUMBERS, NUMBERS
from spinewise.measures.summary import ALL
from spinewise.plain import shown
from spinewise.shapes import Spec

FACTS = (*NUMBERS, *(f"{link}.{name}" for link in ("hottest", "hottest_edge") for name in LINK_NUMBERS))
DEFAULT = "fct_s.mean"
QUANTITIES = {"fct_s": "FCT", "slowdown": "slowdown", "round_s": "round time", "job_s": "job time"}
ALLOWED = (
    'a metric such as "fct_s.p99", "slowdown.mean of short", "fct_s.p99 of web" (a [[traffic]] entry),'
    ' "fct_s.p99 of web/short", "round_s.mean of reduce" (an entry with rounds), or a fact such as "drops"'
)
ROUNDS = {
    "round_s.mean": "mean_s",
    "round_s.p50": "p50_s",
    "round_s.p99": "p99_s",
    "round_s.max": "max_s",
    "job_s": "total_s",
}
"""Times of the rounds of an entry, and of all of them together: what they are called, and the field of a `Job`."""
_CLASS_METRIC = re.compile(r"(fct_s|slowdown)\.(mean|p\d{1,2}(\.\d+)?|p999)|flows|unfinished")


@dataclass(frozen=True)
class Metric:
    """A number of a run.

    Attributes:
        path: the path below a class of flows, or a fact.
        entry: name of the traffic entry; None for all traffic.
        size_class: name of the size class.
    """

    path: str
    entry: str | None = None
    size_class: str = ALL

    @property
    def of(self) -> str:
        """The suffix for the flows of the metric: " of web/short", or empty for all traffic."""
        of = "/".join([*([self.entry] if self.entry else []), *([self.size_class] if self.size_class != ALL else [])])
        return f" of {of}" if of else ""

    @property
    def text(self) -> str:
        """The metric as it is written."""
        return self.path + self.of

    @property
    def words(self) -> str:
        """In words: "p99 FCT of web" for ``fct_s.p99 of web``; facts are called by their names."""
        quantity, _, statistic = self.path.partition(".")
        if quantity not in QUANTITIES:
            return self.text
        return f"{statistic} {QUANTITIES[quantity]}{self.of}".lstrip()

    @property
    def of_finished(self) -> bool:
        """Whether flows that have not finished are left out of it."""
        return self.is_time or self.path.startswith("slowdown")

    @property
    def is_time(self) -> bool:
        """Whether it is in seconds."""
        return self.path.startswith("fct_s") or self.path in ROUNDS

    def value(self, measured: Measured) -> float:
        """The value in one run; NaN if there is none."""
        if self.path in FACTS:
            return measured.summary.facts.get(self.path)
        if self.path in ROUNDS:
            job = measured.jobs.get(self.entry or "")
            return math.nan if job is None else float(getattr(job, ROUNDS[self.path]))
        return attribute(measured.summary.of(self.size_class, self.entry), self.path)

    def shown(self, value: float, significant: int = 4) -> str:
        """A value for people."""
        if self.is_time:
            return units.duration(value, significant)
        return units.digits(value, significant)


def quantile_of(path: str) -> None:
    """Refuse a percentile that no distribution has.

    Raises:
        ValueError: it is between two that are kept.
    """
    name = path.partition(".")[2]
    if name not in ("", "mean"):
        step(share(name))


def metric(where: str, given: object, spec: Spec) -> Metric:
    """A metric from its text, which must be there in runs of a resolved spec.

    Raises:
        SpecError: it is not a metric, or names an entry or a class that the spec does not have.
    """
    text = given if isinstance(given, str) else ""
    path, of, name = (part.strip() for part in text.partition(" of "))
    if path in FACTS and not of:
        return Metric(path)
    if path in ROUNDS:
        return of_rounds(where, given, (path, name), spec)
    if not _CLASS_METRIC.fullmatch(path) or (of and not name):
        words = [*FACTS, *ROUNDS, "fct_s.mean", "fct_s.p99", "slowdown.mean", "slowdown.p99"]
        raise SpecError(where, shown(given), ALLOWED, nearest(path, words) if path else None)
    try:
        quantile_of(path)
    except ValueError as error:
        raise SpecError(where, shown(given), "a percentile in steps of a tenth, or p99.99", str(error)) from None
    entries = {entry.name: [str(one["name"]) for one in entry.size_classes] for entry in entries_of(spec)}
    classes = [str(one["name"]) for one in spec.get("metrics", {}).get("size_classes", [])]
    whole = {ALL: Metric(path)} | {one: Metric(path, None, one) for one in classes}
    whole |= {entry: Metric(path, entry) for entry in entries}
    whole |= {f"{entry}/{one}": Metric(path, entry, one) for entry, ones in entries.items() for one in ones}
    if not of:
        return Metric(path)
    if name not in whole:
        raise SpecError(where, shown(given), f"of one of {', '.join(whole)}", nearest(name, whole))
    return whole[name]


def of_rounds(where: str, given: object, asked: tuple[str, str], spec: Spec) -> Metric:
    """A time of rounds, of the entry that is named or the only one that has some.

    Raises:
        SpecError: no entry has rounds, or that one has none.
    """
    path, name = asked
    traffic = spec.get("traffic", [])
    known = [entry.name for entry, one in zip(entries_of(spec), traffic, strict=True) if has_rounds(one)]
    if not name and len(known) == 1:
        name = known[0]
    if name not in known:
        of = f"{path} of one of {', '.join(known)}" if known else "times of flows: no traffic entry has rounds"
        raise SpecError(where, shown(given), of, nearest(name, known))
    return Metric(path, name)
