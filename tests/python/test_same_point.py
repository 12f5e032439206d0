"""The first variation of a study of assumptions changes nothing: it must find what its experiment finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from spinewise.docs import reproduced
from spinewise.measures.stats import Interval
from spinewise.papers.meet import evaluation as of_meet
from spinewise.papers.meet import fabric as meet_fabric
from spinewise.papers.meet import variations as meet
from spinewise.papers.pdlb import fig07_variations, fig10, fig10_variations
from spinewise.papers.selb import evaluation as of_selb
from spinewise.papers.selb import fabric
from spinewise.papers.selb import variations as selb
from spinewise.reproduction.reproduce import OWN_PAPERS, listed

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Place:
    """A point of an experiment."""

    experiment: str
    variant: str
    x: float


@dataclass(frozen=True)
class Point:
    """A point of a study whose first variation is a point of an experiment, and what is compared there with what.

    Where runs of the study are `shorter`, and differences grow with time, it must not find the opposite, and say so.
    """

    study: Place
    experiment: Place
    curve: str
    others: tuple[str, ...]
    metrics: tuple[str, ...]
    shorter: bool = False


# Tiny flows of MEET are left out: the study has the second half of 10 ms, the figure that of 20 ms, and times grow.
CELLS = {meet.WEB: "meet-9", meet.SEARCH: "meet-6", meet.MINING: "meet-7", meet.SLOW: "meet-10"}


def points() -> Iterator[Point]:
    """All that are kept."""
    usual = fig07_variations.VARIATIONS[0].name
    for hot in (1.0, 4.0):
        study, others = Place("pdlb-7-variations", usual, hot), ("RPS", "ECMP", "LetFlow", "Presto")
        shares = ("mean_fct_s", "utilisation", "goodput_share")
        yield Point(study, Place("pdlb-7", "", hot), "PDLB", others, shares)
    study = Place("pdlb-10-variations", fig10_variations.VARIATIONS[0].name, 0.0)
    metrics = (f"{fig10.DRAWN} inside", f"{fig10.PAYLOAD} inside")
    yield Point(study, Place("pdlb-10", fig10.REPAIRED, 0.0), "PDLB", fig10.FIXED, metrics)
    for mode in fabric.MODES:
        study = Place("selb-variations", f"{selb.VARIATIONS[0].name}, {mode}", 0.0)
        yield Point(study, Place("selb-5", mode, of_selb.HIGH), "SELB", selb.OTHERS, ("mean_fct_s",), shorter=True)
    for cell, figure in CELLS.items():
        study = Place("meet-variations", f"{meet.VARIATIONS[0].name}; {cell}", 0.0)
        place = Place(figure, meet_fabric.EVERY_HOST, meet.CELLS[cell].load)
        yield Point(study, place, "MEET", ("Hermes", "CONGA"), tuple(of_meet.WORDS))


POINTS = tuple(points())


@pytest.fixture(scope="module")
def book() -> reproduced.Book:
    return reproduced.book(ROOT)


def apart(one: Interval, other: Interval) -> bool:
    """Whether two intervals have nothing in common."""
    return one.high < other.low or other.high < one.low


def opposed(one: Interval, other: Interval) -> bool:
    """Whether one ratio is above 1 for sure, the other below."""
    return one.low > 1.0 > other.high or other.low > 1.0 > one.high


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.study.experiment}, {point.study.variant}")
def test_what_changes_nothing_finds_what_the_experiment_finds(book: reproduced.Book, point: Point) -> None:
    for other, metric in product(point.others, point.metrics):
        study, experiment = (
            book.kept[place.experiment].measured.within(place.variant).ratio(point.curve, other, place.x, metric)
            for place in (point.study, point.experiment)
        )
        assert study.n >= 3
        assert experiment.n >= 3
        differ = opposed if point.shorter else apart
        assert not differ(study, experiment), f"{metric} against {other}: {study} in the study, {experiment} without it"


@pytest.mark.parametrize("point", [one for one in POINTS if one.shorter], ids=lambda point: point.study.variant)
def test_a_study_of_shorter_runs_says_so(book: reproduced.Book, point: Point) -> None:
    (one,) = (one for one in book.experiments if one.entry.id == point.study.experiment)
    assert any(f"shorter than those of {point.experiment.experiment}" in note for note in one.experiment.notes)
    # What decides must have begun: without losses pauses do.
    if point.study.variant.endswith("lossless"):
        paused = one.kept and one.kept.measured.within(point.study.variant).interval("SELB", point.study.x, "pauses")
        assert paused
        assert paused.low > 1000.0


def test_no_study_of_assumptions_is_left_out() -> None:
    studies = {entry.id for entry in listed(OWN_PAPERS) if entry.id.endswith("-variations")}
    assert {point.study.experiment for point in POINTS} == studies
