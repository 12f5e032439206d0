"""The study of 2026: its evidence is whole and fair, can be made again, and bears out each sentence of its page."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.docs import edge
from spinewise.edge import evidence, findings, supports
from spinewise.edge.evidence import Evidence, kind
from spinewise.edge.numbers import Cell, Numbers, numbers_of
from spinewise.edge.row import Row, faulty_share, trimmed
from spinewise.edge.setting import CONDITIONS, DEAD, FABRICS, HEALTHY, LOSSY, SCHEMES, SLOW, WORKLOADS, Scheme, spec_of
from spinewise.edge.study import Found, Place, Refusal, measure, planned
from spinewise.errors import SpecError
from spinewise.measures.report import Link
from spinewise.specs.spec import resolve

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def kept() -> Evidence:
    return edge.read(ROOT)


@pytest.fixture(scope="module")
def numbers(kept: Evidence) -> Numbers:
    return numbers_of(kept.rows)


# ---- the evidence ----


def test_the_evidence_has_every_run_of_the_study(kept: Evidence) -> None:
    wanted, refused = planned()
    assert set(kept.rows) == set(wanted)
    assert {kind(one) for one in kept.refusals} == {kind(one) for one in refused}


def test_all_schemes_saw_the_same_flows_and_finished_them(kept: Evidence) -> None:
    seen: dict[tuple[str, int, int], set[tuple[str, int]]] = {}
    for place, row in kept.rows.items():
        seen.setdefault((place.workload, place.hosts, place.seed), set()).add((row.traffic, row.flows))
        assert row.unfinished == 0, place
    assert all(len(found) == 1 for found in seen.values())


@pytest.mark.parametrize(
    ("workload", "condition", "scheme"),
    [
        ("permutation", HEALTHY, "reps"),
        ("permutation", DEAD, "lbsp"),
        ("permutation", DEAD, "bitmap"),
        ("permutation", DEAD, "uet_mixed"),
        ("permutation", DEAD, "mrc"),
        ("web search", DEAD, "reps"),
        ("incast, victims", SLOW, "meet, packets"),
        ("all-to-all", LOSSY, "adaptive"),
        ("storage", HEALTHY, "selb"),
    ],
)
def test_a_run_of_the_evidence_can_be_made_again(kept: Evidence, workload: str, condition: str, scheme: str) -> None:
    """If this fails the engine gives other results: `python -m spinewise.edge` makes the evidence anew."""
    place = Place(workload, 128, condition, scheme, 2)
    wanted, _ = planned([workload], [scheme], [128])
    spec = wanted[place].spec
    row = measure(WORKLOADS[workload]).function(spec, sw.run(spec))
    assert row == replace(kept.rows[place], wall_s=row.wall_s, other_s=row.other_s)
    assert repr(row.other_s) == repr(kept.rows[place].other_s)


def test_evidence_is_read_as_it_was_written(kept: Evidence, tmp_path: Path) -> None:
    some = Evidence(dict(list(kept.rows.items())[:40]), [Refusal("a", 128, "b", "c", "why")], {"ab": "2026-11-23"})
    evidence.write(some, tmp_path)
    again = evidence.read(tmp_path)
    assert (repr(again.rows), again.refusals, again.engines) == (repr(some.rows), some.refusals, some.engines)
    assert evidence.read(tmp_path / "none").rows == {}


def test_damaged_evidence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text('{"format": "spinewise-edge-2"}')
    with pytest.raises(SpecError, match="spinewise-edge-1"):
        evidence.read(tmp_path)


def test_a_part_made_again_replaces_that_part_alone() -> None:
    def place(scheme: str, seed: int) -> Place:
        return Place("permutation", 128, HEALTHY, scheme, seed)

    before = Evidence({place("a", 1): row(1.0), place("a", 2): row(1.0), place("b", 1): row(1.0)})
    after = before.with_found(Found({place("a", 1): row(2.0)}))
    assert {at: found.value for at, found in after.rows.items()} == {place("a", 1): 2.0, place("b", 1): 1.0}
    assert len(after.engines) == 1


def row(value: float, **more: float) -> Row:
    """A made-up row."""
    zero = {one.name: "" if one.type == "str" else 0 for one in fields(Row)}
    return Row(**(zero | {"value": value} | more))  # type: ignore[arg-type]


# ---- what is read off a run ----


def link(name: str, size: int, cut: int) -> Link:
    """A link of a made-up report."""
    found: Link = {
        "name": name, "fabric": True, "packets": 1, "bytes": size, "lost": 0, "drops": 0, "dropped_bytes": 0,
        "marks": 0, "longest_queue_bytes": 0, "paused_ps": 0, "pauses": 0, "utilisation": 0.0, "trimmed": cut,
    }  # fmt: skip
    return found


LINKS = [
    link("host0->leaf0", 100, 0),
    link("leaf0->aggregation0", 20, 1),
    link("leaf0->aggregation1", 90, 2),
    link("aggregation0->leaf0", 10, 4),
    link("aggregation1->leaf0", 30, 8),
    link("aggregation0->core1", 5, 16),
    link("core1->aggregation0", 5, 32),
    link("leaf0->host0", 50, 64),
    link("leaf1->aggregation0", 999, 0),
]


def test_trims_are_told_by_direction() -> None:
    assert trimmed(LINKS) == (1 + 2 + 16, 4 + 8 + 32, 64)


def test_use_of_the_faulty_uplink_is_that_over_the_others_both_ways() -> None:
    assert faulty_share(LINKS, "leaf0", "aggregation0") == (20 + 10) / (90 + 30)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_conditions_break_what_they_say(workload: str) -> None:
    for name, condition in CONDITIONS.items():
        spec = resolve(spec_of(WORKLOADS[workload], FABRICS[128], condition))
        faults = [(one["kind"], tuple(one["ends"])) for one in spec.get("fault", [])]
        expected = {HEALTHY: 0, SLOW: 1, DEAD: 1, LOSSY: 128}[name]
        assert len(set(faults)) == expected
        if name in (SLOW, DEAD):
            assert faults[0][1] == ("leaf0", "aggregation0")


# ---- statistics ----


def cell(**rows: list[float]) -> Cell:
    """A made-up cell: values of schemes by seed."""
    made = {name: [row(value, dropped=int(10 * value)) for value in values] for name, values in rows.items()}
    return Cell(WORKLOADS["permutation"], 128, HEALTHY, made)


def test_the_best_and_who_is_not_told_apart_from_it() -> None:
    found = cell(far=[9.0, 9.1, 9.2], best=[1.0, 1.1, 1.2], near=[1.0, 1.2, 1.1])
    assert found.order == ["best", "near", "far"]
    assert found.ties == ["best", "near"]
    assert found.less("best", "far")
    assert not found.less("best", "near")
    assert not found.less("far", "best")
    assert found.less("best", "far", share=0.2)
    assert not found.less("best", "far", share=0.1)
    odd = cell(a=[2.0] * 19 + [100.0], b=[1.0 + seed / 100 for seed in range(19)] + [400.0])
    assert not odd.less("a", "b"), "the ratios tell them apart the other way round"


def test_supports_fail_where_the_runs_say_otherwise() -> None:
    found = cell(far=[9.0, 9.1, 9.2], best=[1.0, 1.1, 1.2], near=[1.0, 1.2, 1.1])
    assert supports.less(found, "value", "best", "far").holds
    assert not supports.less(found, "value", "best", "far", "near").holds
    assert supports.more(found, "dropped", "far", "best", "near").holds
    assert not supports.more(found, "dropped", "near", "best").holds
    assert supports.within(found, 1.05, "near").holds
    assert not supports.within(found, 1.05, "far").holds
    assert supports.leads(found, "best", "near").holds
    assert not supports.leads(found, "far").holds
    assert supports.at_most(found, "dropped", 12, "best").holds
    assert not supports.at_most(found, "dropped", 11, "best").holds
    assert supports.alike(found, "value", 1.05, "best", "near").holds
    assert not supports.alike(found, "value", 1.05, "best", "far").holds
    assert [one.holds for one in supports.barely_slower(found, found, 1.0, "far", "near")] == [True, True]
    assert [one.holds for one in supports.barely_slower(found, found, 0.9, "far")] == [False]
    assert [one.holds for one in supports.grown(found, found, 0.9, "far", "near")] == [True, False]


def test_a_support_tells_its_numbers() -> None:
    text = supports.less(cell(one=[1.0, 1.0], other=[2.0, 2.5]), "dropped", "one", "other").text
    assert text == "permutation, healthy: packets dropped at switches: `one` 10 < `other` 22"


# ---- the page ----


@pytest.mark.parametrize("statement", findings.STATEMENTS, ids=lambda one: one.__name__)
def test_every_sentence_is_borne_out(numbers: Numbers, statement: object) -> None:
    assert callable(statement)
    finding = statement(numbers)
    assert finding.supports
    assert [one.text for one in finding.supports if not one.holds] == []


def test_sentences_have_no_number_that_is_typed_by_hand(numbers: Numbers) -> None:
    for finding in findings.found(numbers):
        words = (finding.head + finding.text).replace("LBSP §3.4", "").replace("30 ms", "")
        assert not any(letter.isdigit() for letter in words), finding.head


def test_the_page_is_what_the_evidence_says(kept: Evidence) -> None:
    for path, text in edge.texts(kept).items():
        assert (ROOT / path).read_text() == text, "run `python -m spinewise.docs`"
    for path, picture in edge.drawings(kept).items():
        assert picture.is_current(ROOT / path), "run `python -m spinewise.docs`"


def test_the_page_shows_every_scheme_under_every_workload(kept: Evidence, numbers: Numbers) -> None:
    page = edge.texts(kept)[edge.PAGE]
    for one in numbers.cells.values():
        for scheme in one.rows:
            assert f"| `{scheme}` |" in page
            assert edge.judged(one, scheme) in page


def test_the_page_changes_with_a_row(kept: Evidence) -> None:
    place = Place("permutation", 128, HEALTHY, "ecmp", 1)
    other = replace(kept, rows=kept.rows | {place: replace(kept.rows[place], value=1.0)})
    assert edge.texts(other) != edge.texts(kept)
    assert not all(picture.is_current(ROOT / path) for path, picture in edge.drawings(other).items())


def test_what_a_reader_refuses_is_told_with_its_reason() -> None:
    workload = WORKLOADS["permutation"]
    assert edge.refused("ecmp", workload) is None
    assert "flowlet_gap_us" in str(edge.refused("meet:flowlet_gap_us=-1", workload))
    reasons: dict[str, int] = {}
    wrong = Scheme("wrong", "meet:flowlet_gap_us=-1", SCHEMES["meet"].kind)
    assert edge.place(wrong, workload.transport, reasons) == "no (1)"
    assert len(reasons) == 1
