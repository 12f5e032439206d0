"""The reasons why a scheme does better: sentences, each with its numbers and runs, and a check of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spinewise.comparison.cells import Cell, Comparison
from spinewise.comparison.measured import MEASURE
from spinewise.comparison.reasons import Fact, facts, full_port, idle_links, reasons
from spinewise.measures import stats
from spinewise.measures.facts import HEADERS
from spinewise.shapes import Spec
from spinewise.specs.variants import Variant
from spinewise.sweeps.store import Ledger

Relation = Literal["less", "more"]
SAME = 1e-9
"""The relative difference below which numbers count as equal to those of the runs."""


@dataclass(frozen=True)
class Claim:
    """A claim that a fact of one scheme's runs differs from that of another's, by more than chance.

    Attributes:
        scheme, other: the two schemes.
        fact: the name of the fact, as in `comparison.reasons.facts`.
        entry: the traffic entry; None for all traffic.
        relation: whether `scheme` has less of it or more.
        mine, theirs: means over the seeds, in the unit of the fact.
        text: the sentence.
        runs, other_runs: keys of the runs in the store, seed by seed.
    """

    scheme: str
    other: str
    fact: str
    entry: str | None
    relation: Relation
    mine: float
    theirs: float
    text: str
    runs: tuple[str, ...]
    other_runs: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One of two schemes that are compared.

    Attributes:
        label: its name.
        cells: the comparison's cells of its runs.
        keys: the keys of the runs, in the same order.
    """

    label: str
    cells: Sequence[Cell]
    keys: tuple[str, ...]


def claims(spec: Spec, entry: str | None, mine: Side, theirs: Side) -> tuple[list[Claim], list[Claim]]:
    """Facts by which `mine` does better than `theirs` on the same seeds, and facts by which it does worse."""
    both = comparison(spec, mine, theirs)
    better, price = reasons(both, entry, None, mine.label, theirs.label)
    named = {fact.name: fact for fact in facts(entry)}
    return (
        [claim(named[one.fact], entry, mine, theirs) for one in better],
        [claim(named[one.fact], entry, mine, theirs) for one in price],
    )


def comparison(spec: Spec, mine: Side, theirs: Side) -> Comparison:
    """The runs of two schemes as a comparison."""
    return Comparison(
        spec=spec,
        variants=[Variant(side.label, side.label) for side in (mine, theirs)],
        loads=[None],
        seeds=[cell.seed for cell in mine.cells],
        cells=[*mine.cells, *theirs.cells],
    )


def nobodys_choice(spec: Spec, entry: str | None, mine: Side, theirs: Side) -> str | None:
    """A claim that packets were dropped in every run where no scheme has a choice, or that links were idle; or None."""
    both = comparison(spec, mine, theirs)
    found = full_port(both, entry, None) or idle_links(both, None)
    return None if found is None else found.text


def claim(fact: Fact, entry: str | None, mine: Side, theirs: Side) -> Claim:
    """A claim with its numbers and its sentence."""
    one, two = (mean(fact, side.cells) for side in (mine, theirs))
    return Claim(
        scheme=mine.label,
        other=theirs.label,
        fact=fact.name,
        entry=entry,
        relation="less" if one < two else "more",
        mine=one,
        theirs=two,
        text=sentence(fact, mine.label, theirs.label, one, two),
        runs=mine.keys,
        other_runs=theirs.keys,
    )


def mean(fact: Fact, cells: Sequence[Cell]) -> float:
    """The mean of a fact over runs."""
    return stats.mean([fact.value(cell) for cell in cells])


def sentence(fact: Fact, scheme: str, other: str, mine: float, theirs: float) -> str:
    """A claim in words."""
    return f"{fact.words}: {fact.tell(mine)} under {scheme}, {fact.tell(theirs)} under {other}"


def check(found: Claim, ledger: Ledger) -> str | None:
    """The error in a claim, by the runs in a store; None if it is true.

    Its numbers are recomputed from the runs, and its sentence is rewritten from the numbers.
    """
    fact = next((one for one in facts(found.entry) if one.name == found.fact), None)
    if fact is None:
        return f"no fact {found.fact!r}"
    try:
        mine, theirs = (
            stats.mean([value(fact, key, ledger) for key in keys]) for keys in (found.runs, found.other_runs)
        )
    except KeyError as missing:
        return f"a run is not there: {missing.args[0]}"
    for said, there, who in ((found.mine, mine, found.scheme), (found.theirs, theirs, found.other)):
        if not math.isclose(said, there, rel_tol=SAME):
            return f"{fact.words} of {who}: {said!r} is said, and the runs have {there!r}"
    if found.relation != ("less" if mine < theirs else "more"):
        return f"{found.scheme} has not {found.relation} than {found.other}: {mine!r}, {theirs!r}"
    if found.text != (said_text := sentence(fact, found.scheme, found.other, mine, theirs)):
        return f'the sentence is "{found.text}", and the numbers say "{said_text}"'
    return None


def value(fact: Fact, key: str, ledger: Ledger) -> float:
    """A fact of a stored run."""
    measured = ledger.value(key, MEASURE)
    cell = Cell(
        label="", load=None, seed=0, summary=measured.summary, outcome_hash="", traffic_hash="", wall_seconds=0.0,
        packet_hops=0, jobs=measured.jobs, min_rto_s=measured.min_rto_s, transport=measured.transport,
    )  # fmt: skip
    return fact.value(cell)


def extra_bytes(cells: Sequence[Cell]) -> dict[str, float]:
    """Bytes that only the scheme required, as shares of all bytes made, by kind: probes, messages, headers."""
    made: dict[str, float] = {}
    for kind in ("probes", "messages", HEADERS):
        shares = [
            cell.summary.facts.overhead_bytes.get(kind, 0.0) / cell.summary.created_bytes
            for cell in cells
            if cell.summary.created_bytes
        ]
        if shares and stats.mean(shares) > 0.0:
            made[kind] = stats.mean(shares)
    return made
