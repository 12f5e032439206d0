"""The quantity to minimise (or maximise): the grammar of an aim, and its value in a run.

An aim is written in plain words: ``p99 slowdown of web``, ``mean FCT of short flows of web``, ``p99.9 FCT of all``,
``worst round time of reduce``, ``bus bandwidth of reduce``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from spinewise.advice.observed import Flows, Observed, Operations, Rounds, completes, has_bus
from spinewise.errors import SpecError, nearest
from spinewise.measures.classes import ALL
from spinewise.measures.collectives import WITH_ROUNDS
from spinewise.measures.entries import Entry, entries_of
from spinewise.shapes import Spec

STATISTICS = {
    "mean": "mean", "average": "mean", "median": "p50", "p50": "p50", "p95": "p95", "p99": "p99", "p99.9": "p999",
    "p999": "p999", "worst": "worst", "max": "worst", "maximum": "worst",
}  # fmt: skip
"""Words for statistics, and their names in `observed.Spread`."""
SHOWN = {"mean": "mean", "p50": "median", "p95": "p95", "p99": "p99", "p999": "p99.9", "worst": "worst"}
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
QUANTITIES = {
    "bus bandwidth": "bus bandwidth", "busbw": "bus bandwidth", "round time": "round time", "job time": "job time",
    "slowdown": "slowdown", "fct": "FCT", "flow completion time": "FCT", "completion time": "FCT",
}  # fmt: skip
"""Words for quantities, and their names here."""
OF_ROUNDS = ("round time", "job time", "bus bandwidth")
ONE_A_RUN = ("job time", "bus bandwidth")
"""Quantities with a single value per run, so that no statistic applies to them."""
NOISE = ("the", "flows", "flow", "traffic", "of", "entry")
FORM = (
    'STATISTIC QUANTITY of ENTRY, such as "p99 slowdown of web", "mean FCT of short flows of web" or "worst round time'
    ' of reduce"; STATISTIC: mean, median, p95, p99, p99.9, worst; QUANTITY: slowdown, FCT, round time, job time, bus'
    " bandwidth"
)
WITH_OPERATIONS = "dag"
"""A kind of traffic whose job is done when all its operations have ended."""
TAIL_FLOWS = 5
"""A percentile with fewer flows above it in a run is little more than the worst of a few."""


@dataclass(frozen=True)
class Aim:
    """The quantity that is asked for.

    Attributes:
        statistic: of `observed.Spread`; empty where a run has one value.
        quantity: FCT, slowdown, round time, job time or bus bandwidth.
        entry: the name of its traffic entry; "all" is all traffic.
        size_class: the size class of its flows; "all" for any size.
    """

    statistic: str
    quantity: str
    entry: str
    size_class: str = ALL

    @property
    def text(self) -> str:
        """The aim in plain words."""
        of = "all traffic" if self.entry == ALL else self.entry
        sizes = "" if self.size_class == ALL else f"{self.size_class} flows of "
        head = f"{SHOWN[self.statistic]} " if self.statistic else ""
        return f"{head}{self.quantity} of {sizes}{of}"

    @property
    def unit(self) -> str:
        """Unit of the value: "s", "GB/s", or "" for a ratio."""
        return {"slowdown": "", "bus bandwidth": "GB/s"}.get(self.quantity, "s")

    @property
    def more_is_better(self) -> bool:
        """Whether a greater value is the better one."""
        return self.quantity == "bus bandwidth"

    def value(self, observed: Observed) -> float:
        """Its value in a run, in its unit; NaN if the run has none."""
        if self.quantity in OF_ROUNDS:
            if done := self.operations(observed):
                return done.time_s
            found = rounds(observed, self.entry)
            if found is None:
                return math.nan
            if self.quantity == "round time":
                return float(getattr(found.time_s, self.statistic))
            return found.total_s if self.quantity == "job time" else found.busbw_gbyte_per_s
        flows = self.flows(observed)
        if flows is None:
            return math.nan
        return float(getattr(flows.fct_s if self.quantity == "FCT" else flows.slowdown, self.statistic))

    def cost(self, observed: Observed) -> float:
        """The value as a positive number, of which lower is better."""
        value = self.value(observed)
        return 1.0 / value if self.more_is_better else value

    def operations(self, observed: Observed) -> Operations | None:
        """The operations it is about."""
        of_job = self.quantity == "job time"
        return next((one for one in observed.operations if of_job and one.entry == self.entry), None)

    def flows(self, observed: Observed) -> Flows | None:
        """The flows it is about."""
        same = (one for one in observed.flows if (one.entry, one.size_class) == (self.entry, self.size_class))
        return next(same, None)

    def behind(self, observed: Observed) -> tuple[int, int]:
        """The number of flows, rounds or operations behind the value in a run, and how many had not finished."""
        if done := self.operations(observed):
            return done.operations, done.unfinished
        if self.quantity in OF_ROUNDS:
            found = rounds(observed, self.entry)
            return (0, 0) if found is None else (found.rounds, found.unfinished)
        flows = self.flows(observed)
        return (0, 0) if flows is None else (flows.flows, flows.unfinished)

    def has_ended(self, behind: int, unfinished: int) -> bool:
        """Whether enough of what is behind its value had finished: all of a job, else one flow or round."""
        return behind == 0 or unfinished == 0 or (self.quantity != "job time" and unfinished < behind)

    @property
    def needs_ended(self) -> str:
        """What must have finished in some run."""
        return "the whole job" if self.quantity == "job time" else "some"

    def thin(self, many: int) -> bool:
        """Whether there are so few flows a run that the percentile is one of the last few."""
        return self.statistic in SHARES and many * (1.0 - SHARES[self.statistic]) < TAIL_FLOWS


def rounds(observed: Observed, entry: str) -> Rounds | None:
    """The rounds of a traffic entry."""
    return next((one for one in observed.rounds if one.entry == entry), None)


def defaults(spec: Spec) -> list[Aim]:
    """An aim for each traffic entry of a resolved spec that completes, in order.

    Collective operations, incasts and permutations by the mean time of a round, requests by their p99, the operations
    of a trace by the time until all have ended, other flows by their p99 slowdown.

    Raises:
        SpecError: nothing completes.
    """
    found = [aim for entry in entries_of(spec) if (aim := of_entry(entry)) is not None]
    if not found:
        kinds = "poisson, flows, all_reduce, …"
        raise SpecError(
            "traffic", "constant-rate UDP only", f"an entry whose flows complete ({kinds})", "no aim has a value"
        )
    return found


def default(spec: Spec) -> Aim:
    """The aim of a resolved spec without one: that of its first traffic entry that completes."""
    return defaults(spec)[0]


def of_entry(entry: Entry) -> Aim | None:
    """The aim of a traffic entry for which none is given; None if it does not complete."""
    if entry.kind in WITH_ROUNDS:
        return Aim("p99" if entry.kind == "rpc" else "mean", "round time", entry.name)
    if entry.kind == WITH_OPERATIONS:
        return Aim("", "job time", entry.name)
    return Aim("p99", "slowdown", entry.name) if completes(entry) else None


def parse(text: str, spec: Spec) -> Aim:
    """The aim that a text names in a resolved spec.

    Raises:
        SpecError: it is not an aim, or cannot be measured here.
    """
    words = " ".join(text.split())
    head, of, tail = words.partition(" of ")
    statistic, rest = statistic_of(text, head)
    quantity = QUANTITIES.get(rest.lower())
    if quantity is None:
        known = dict.fromkeys(QUANTITIES.values())
        raise SpecError("--aim", text, FORM, nearest(rest.lower(), known) or f'"{rest}" is not a quantity')
    if quantity in ONE_A_RUN and statistic:
        raise SpecError("--aim", text, f'"{quantity} of ENTRY", without a statistic', "a run has a single value")
    entry, size_class = target(text, tail if of else "", spec, quantity)
    return Aim("" if quantity in ONE_A_RUN else statistic or "mean", quantity, entry, size_class)


def statistic_of(text: str, head: str) -> tuple[str, str]:
    """The statistic at the beginning of an aim, empty if there is none, and the rest."""
    first, _, rest = head.partition(" ")
    if first.lower() in STATISTICS:
        return STATISTICS[first.lower()], rest
    if re.fullmatch(r"p\d+(\.\d+)?", first.lower()):
        raise SpecError("--aim", text, FORM, f"{first} is not kept for every run: median, p95, p99 and p99.9 are")
    return "", head


def target(text: str, tail: str, spec: Spec, quantity: str) -> tuple[str, str]:
    """The traffic entry whose flows an aim is about, or "all", and the size class."""
    entries = [one for one in entries_of(spec) if completes(one)]
    if quantity in OF_ROUNDS:
        kinds = (*WITH_ROUNDS, WITH_OPERATIONS) if quantity == "job time" else WITH_ROUNDS
        entries = [one for one in entries if one.kind in kinds]
    if quantity == "bus bandwidth":
        entries = [one for one in entries if has_bus(one.kind)]
    names = [one.name for one in entries]
    allowed = f"{quantity} of one of: {', '.join(names) or 'nothing: no traffic entry here has it'}"
    if quantity not in OF_ROUNDS:
        allowed += f"; or of {ALL}"
    words = [word for word in tail.split() if word.lower() not in NOISE or word in names]
    name, before = entry_of(words, names)
    if name is None and words and words[-1].lower() == ALL and quantity not in OF_ROUNDS:
        name, before = ALL, words[:-1]
    if name is None and len(names) == 1 and len(words) <= 1 and all(one in classes(entries[0]) for one in words):
        name, before = names[0], words
    if name is None:
        asked = words[-1] if words else "(nothing)"
        raise SpecError("--aim", text, allowed, nearest(asked, [*names, ALL]) or f"there is no entry {asked}")
    of = next((one for one in entries if one.name == name), Entry(ALL, "", spec["metrics"]["size_classes"]))
    return name, size_class_of(text, before, of, quantity)


def entry_of(words: Sequence[str], names: Sequence[str]) -> tuple[str | None, list[str]]:
    """The name at the end of some words, the longest of several, and the words before it."""
    for start in range(len(words)):
        if (name := " ".join(words[start:])) in names:
            return name, list(words[:start])
    return None, list(words)


def size_class_of(text: str, words: Sequence[str], entry: Entry, quantity: str) -> str:
    """The size class before the name of an entry; "all" if there is none."""
    if not words:
        return ALL
    word = " ".join(words)
    known = classes(entry)
    if quantity in OF_ROUNDS or word not in known:
        allowed = "rounds, which have no size classes" if quantity in OF_ROUNDS else f"a size class: {', '.join(known)}"
        raise SpecError("--aim", text, allowed, nearest(word, known) or f'{entry.name} has no "{word}"')
    return word


def classes(entry: Entry) -> list[str]:
    """Names of the size classes of an entry, "all" last."""
    return [*(str(one["name"]) for one in entry.size_classes), ALL]
