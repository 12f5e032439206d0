from __future__ import annotations

import json
import math
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import samples
import spinewise as sw
from samples import TINY_SPEC
from spinewise.comparison import cells, figures, report, tables
from spinewise.comparison import files as comparison_files
from spinewise.comparison.cells import Cell, Comparison
from spinewise.comparison.plan import Plan
from spinewise.errors import Cancelled, SpecError
from spinewise.measures.curves import Curves
from spinewise.measures.stats import Interval
from spinewise.runs import jobs
from spinewise.runs.jobs import Case
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.show.terminal import console
from spinewise.specs.variants import parse_list
from spinewise.studies import file
from spinewise.studies.study import Study


def cell(label: str, load: float | None, seed: int, fct_us: float, **changes: Any) -> Cell:
    flows = {
        "size_bytes": [10, 10**6],
        "fct_ps": [int(fct_us * 1e6), int(fct_us * 1e7)],
        "slowdown": [1.0, 2.0],
    }
    summary = samples.result(**(flows | changes)).summary()
    return Cell(label, load, seed, summary, "00", f"t{load}{seed}", 1.0, 100)


def comparison(**changes: Any) -> Comparison:
    """Scheme b takes 1.1 times as long as a; both vary tenfold between seeds."""
    cells = [
        cell(label, load, seed, 10.0**seed * load * factor, **changes)
        for label, factor in (("a", 1.0), ("b", 1.1))
        for load in (0.3, 0.8)
        for seed in (1, 2, 3)
    ]
    return Comparison({"name": "x"}, parse_list("a,b"), [0.3, 0.8], [1, 2, 3], cells)


def test_means_and_paired_differences() -> None:
    found = comparison()
    own = found.interval("a", 0.3, "short", "fct_s.mean")
    assert own.mean == pytest.approx(1e-6 * 0.3 * (10 + 100 + 1000) / 3)
    assert own.n == 3
    difference = found.difference("b", 0.3, "short", "fct_s.mean")
    assert difference.mean == pytest.approx(0.1)
    first = found.difference("a", 0.3, "short", "fct_s.mean")
    assert (first.mean, first.half) == (0.0, 0.0)


def test_rows_cover_every_cell() -> None:
    found = comparison()
    rows = found.rows()
    assert len(rows) == 2 * 2 * 3 * len(cells.METRICS)
    assert {row["size_class"] for row in rows} == {"short", "long", "all"}


def test_unfinished_flows_are_counted_and_shown() -> None:
    found = comparison(finished=[True, False])
    assert found.unfinished("a", 0.3) == 3
    assert found.unfinished("a", 0.3, "short") == 0
    assert "12 flows did not finish" in printed(found)
    assert "hollow" in figures.caption(found, "auto")
    assert math.isnan(found.interval("a", 0.3, "long", "fct_s.mean").mean)


def drawn_caption(found: Comparison, name: str) -> str:
    return " ".join(figures.figures(found)[name].get_supxlabel().split())


def overloaded(found: Cell) -> Cell:
    return replace(found, summary=replace(found.summary, overloaded=True))


def test_captions_tell_of_nothing_that_the_figure_does_not_show() -> None:
    """Distributions have neither intervals nor hollow marks nor shades, and are of the last load alone."""
    kept = {"all": Curves.of(samples.result(size_bytes=[10], fct_ps=[10**6], slowdown=[1.0]).flows)}
    found = comparison(finished=[True, False])
    cells = [replace(overloaded(one), curves=kept) for one in found.cells]
    full = replace(found, cells=cells)
    levels, spreads = drawn_caption(full, "fct"), drawn_caption(full, "cdf")
    for words in ("bars are 95 % Student-t intervals over 3 seeds", "12 flows that did not finish (hollow)",
                  "OVERLOADED loads (shaded)"):  # fmt: skip
        assert words in levels
    assert "x: means over 3 seeds at each share of flows, the same traffic for every scheme. At load 0.8." in spreads
    assert "Left out: 6 flows that did not finish." in spreads
    assert "OVERLOADED: the results depend on how long the run lasts." in spreads
    for words in ("bars", "interval", "hollow", "shaded"):
        assert words not in spreads
    # At one load there are bars, without a shade.
    alone = replace(full, loads=[0.8], cells=[one for one in cells if one.load == 0.8])
    assert "OVERLOADED: the results" in drawn_caption(alone, "fct")
    # An overload that is not drawn is not told of.
    calm = replace(full, cells=[one if one.load == 0.3 else replace(one, summary=replace(one.summary, overloaded=False))
                                for one in cells])  # fmt: skip
    assert "OVERLOADED" not in drawn_caption(calm, "cdf")
    assert "OVERLOADED" in drawn_caption(calm, "fct")
    assert "x: one seed, the same" in drawn_caption(
        replace(full, seeds=[1], cells=[c for c in cells if c.seed == 1]), "cdf"
    )


def test_a_best_scheme_that_left_more_flows_behind_is_no_plain_winner() -> None:
    def one(label: str, seed: int, fct_us: float, done: int) -> Cell:
        many = {"size_bytes": [10] * 200, "fct_ps": [int(fct_us * 1e6)] * 200, "slowdown": [1.0] * 200}
        return cell(label, 0.3, seed, fct_us, finished=[True] * done + [False] * (200 - done), **many)

    cells = [one("a", seed, 10.0, 199) for seed in (1, 2)]
    cells += [one("b", seed, 11.0, 200) for seed in (1, 2)]
    found = Comparison({"name": "x"}, parse_list("a,b"), [0.3], [1, 2], cells)
    assert "but a left 2 flows unfinished: in no mean here; b none" in " ".join(printed(found).split())
    assert "left" not in printed(comparison())


def test_of_all_that_is_unfinished_the_whole_range_is_told() -> None:
    def left(**unfinished: int) -> str:
        def one(label: str, fct_us: float) -> Cell:
            done = [*[False] * unfinished[label], *[True] * (900 - unfinished[label])]
            many = {"size_bytes": [10] * 900, "fct_ps": [int(fct_us * 1e6)] * 900, "slowdown": [1.0] * 900}
            return cell(label, 0.3, 1, fct_us, finished=done, **many)

        cells = [one("a", 10.0), one("b", 11.0), one("c", 12.0)]
        return " ".join(printed(Comparison({"name": "x"}, parse_list("a,b,c"), [0.3], [1], cells)).split())

    assert "but a left 3 flows unfinished: in no mean here; the others 2 (b) to 5 (c)" in left(a=3, b=2, c=5)
    assert " a left 1 flow unfinished: in no mean here; each of the others 4" in left(a=1, b=4, c=4)
    assert "but" not in left(a=1, b=4, c=4)
    assert "in no mean here" not in left(a=0, b=4, c=4)


def test_different_traffic_is_reported() -> None:
    found = comparison()
    assert found.paired
    assert "NOT PAIRED" not in printed(found)
    odd = [Cell(**{**vars(c), "traffic_hash": c.label}) for c in found.cells]
    changed = Comparison(found.spec, found.variants, found.loads, found.seeds, odd)
    assert not changed.paired
    assert "NOT PAIRED" in printed(changed)


def printed(found: Comparison) -> str:
    out = console()
    with out.capture() as capture:
        out.print(report.comparison_report(found))
    return capture.get()


def test_the_table_shows_labels_as_they_are() -> None:
    found = comparison()
    renamed = [Cell(**{**vars(c), "label": c.label.replace("b", "[b]")}) for c in found.cells]
    text = printed(Comparison(found.spec, parse_list("a,b@[b]"), found.loads, found.seeds, renamed))
    assert "[b]" in text
    assert "short [µs]" in text
    assert "long [ms]" in text
    assert "+10.0%" in text.replace("(", "").replace(")", "")


@pytest.mark.parametrize(
    ("interval", "text"),
    [
        (Interval(0.1, 0.05, 3), "+10.0%"),
        (Interval(0.1, 0.2, 3), "(+10.0%)"),
        (Interval(-0.1, math.nan, 1), "-10.0%"),
        (Interval(math.nan, math.nan, 0), "–"),
        (Interval(-0.0004, 0.0001, 3), "0.0%"),
        (Interval(-0.0004, 0.1, 3), "(0.0%)"),
        (Interval(0.0004, 0.1, 3), "(0.0%)"),
    ],
)
def test_differences_that_may_be_none_stand_in_brackets(interval: Interval, text: str) -> None:
    assert tables.difference(interval, max(interval.n, 1)) == text


def test_a_single_pair_of_several_seeds_is_uncertain() -> None:
    assert tables.difference(Interval(-0.1, math.nan, 1), 3) == "(-10.0%)"


def test_the_plan_takes_what_is_not_given_from_the_spec() -> None:
    spec: Spec = {"seed": 7, "compare": {"schemes": ["a", "b"], "loads": [0.5], "seeds": 2}}
    plan = Plan.of(spec, None, None, None)
    assert (plan.loads, plan.seeds) == ([0.5], [7, 8])
    assert [variant.name for variant in plan.variants] == ["a", "b"]
    plan = Plan.of(spec, "c", [0.1], [3, 9])
    assert (plan.loads, plan.seeds) == ([0.1], [3, 9])


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"scheme": ["a"]}, "compare.scheme"),
        ({"schemes": "a"}, "compare.schemes"),
        ({"schemes": ["a"], "loads": ["x"]}, "--loads"),
        ({"schemes": ["a"], "loads": [0]}, "--loads"),
        ({"schemes": ["a"], "loads": [0.5, 0.5]}, "--loads"),
        ({"schemes": ["a"], "seeds": 0}, "--seeds"),
        ({"schemes": ["a"], "seeds": [1, 1]}, "--seeds"),
        ({"schemes": ["a"], "seeds": True}, "compare.seeds"),
        ({}, "--schemes"),
        (3, "compare"),
    ],
)
def test_a_bad_plan_is_refused(table: Any, key: str) -> None:
    with pytest.raises(SpecError) as caught:
        Plan.of({"compare": table}, None, None, None)
    assert caught.value.key == key


def test_loads_need_traffic_with_a_load() -> None:
    with pytest.raises(SpecError, match="no \\[\\[traffic\\]\\] entry has one"):
        Plan.of({"traffic": [{"kind": "incast"}]}, "ecmp", [0.5], 1).cases()


def test_what_a_variant_sets_wins_over_the_loads_as_in_a_study(tmp_path: Path) -> None:
    spec = TINY_SPEC | {"traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.3, "duration_us": 1000}]}
    variants = ["ecmp", "rps:traffic[0].load=0.2@light"]
    cases = Plan.of(spec, variants, [0.4, 0.5], [1]).cases()
    of_compare = [case.spec["traffic"][0]["load"] for case in cases]
    assert of_compare == [0.4, 0.2, 0.5, 0.2]
    (tmp_path / "study.toml").write_text(
        f"[study]\nseeds = [1]\n[grid]\nloads = [0.4, 0.5]\nschemes = {json.dumps(variants)}\n"
        "[study.spec]\ntopology = { leaves = 2, spines = 2, hosts_per_leaf = 4 }\n"
        'traffic = [{ kind = "poisson", cdf = "web_search", load = 0.3, duration_us = 1000 }]\n'
    )
    cells = Study.of(file.read(tmp_path / "study.toml")).cells
    assert [cell.spec["traffic"][0]["load"] for cell in cells] == of_compare


def test_every_cell_is_checked_before_any_runs() -> None:
    with pytest.raises(SpecError) as caught:
        sw.compare(TINY_SPEC, "ecmp,pdbl", seeds=1)
    assert caught.value.value.strip('"') == "pdbl"
    assert "in scheme pdbl" in str(caught.value.hint)
    with pytest.raises(SpecError) as unlike_any:
        sw.compare(TINY_SPEC, "ecmp,zzzz", seeds=1)
    assert str(unlike_any.value.hint).startswith("a scheme of your own needs --scheme-file FILE.py:CLASS")
    assert str(unlike_any.value.hint).endswith(" (in scheme zzzz)")


LBSP_NEEDS = 'lbsp relies on the numbering of a fat-tree: topology.kind = "fat_tree"'


def test_a_scheme_that_cannot_serve_the_fabric_is_left_out_with_a_word() -> None:
    found = sw.compare(TINY_SPEC, "lbsp,ecmp,rps", seeds=1)
    assert found.labels == ["ecmp", "rps"]
    assert [one.label for one in found.skipped] == ["lbsp"]
    assert LBSP_NEEDS in found.skipped[0].reason
    assert f"SKIPPED lbsp, which cannot serve this fabric: {LBSP_NEEDS}" in " ".join(printed(found).split())
    record = comparison_files.record(found)
    assert record["schemes"] == ["ecmp", "rps"]
    assert record["skipped"] == [{"scheme": "lbsp", "reason": found.skipped[0].reason}]
    assert [one.outcome_hash for one in found.cells] == [
        one.outcome_hash for one in sw.compare(TINY_SPEC, "ecmp,rps", seeds=1).cells
    ]


@pytest.mark.parametrize("loads", [None, [0.3]])
def test_the_word_for_a_scheme_left_out_names_it_once_and_says_what_would_help(loads: list[float] | None) -> None:
    spec = TINY_SPEC | {"traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.3, "duration_us": 1000}]}
    (skipped,) = sw.compare(spec, "ecmp,reps", loads=loads, seeds=1).skipped
    assert skipped.reason.startswith("reps takes a timeout for a failed path")
    assert 'transport.kind = "uet"' in skipped.reason
    assert skipped.reason.endswith('; scheme.params.freezing: "idle_timeout" where switches do not trim')
    assert "in scheme" not in skipped.reason


@pytest.mark.parametrize(
    ("schemes", "names"),
    [("lbsp", LBSP_NEEDS), ("lbsp,ecmp,letflow:gap=1", "flowlet_gap_us"), ("lbsp:bits=1,ecmp", "leaf_bits")],
)
def test_mistakes_and_comparisons_of_nothing_still_stop(schemes: str, names: str) -> None:
    with pytest.raises(SpecError, match=names):
        sw.compare(TINY_SPEC, schemes, seeds=1)


def test_in_a_fat_tree_everyone_takes_part() -> None:
    tree = TINY_SPEC | {"topology": {"kind": "fat_tree", "k": 4}}
    found = sw.compare(tree, "ecmp,lbsp,lbsp:leaf_bits=1@again", seeds=1)
    assert (found.labels, found.skipped) == (["ecmp", "lbsp", "again"], [])
    with pytest.raises(SpecError, match="leaf_bits"):
        sw.compare(tree, "ecmp,lbsp:leaf_bits=2", seeds=1)


def test_the_same_cells_whatever_the_number_of_jobs() -> None:
    one, two = (sw.compare(TINY_SPEC, "ecmp,rps", loads=[0.2, 0.4], seeds=2, jobs=n) for n in (1, 2))
    assert [(c.label, c.load, c.seed, c.outcome_hash) for c in one.cells] == [
        (c.label, c.load, c.seed, c.outcome_hash) for c in two.cells
    ]
    assert one.paired
    assert len({c.traffic_hash for c in one.cells}) == 4


def test_an_error_in_one_run_stops_the_others_and_is_the_one_raised() -> None:
    resolved = sw.resolve(TINY_SPEC)
    measured = []

    def measure(case: Case[int], _result: Result) -> int:
        measured.append(case.key)
        if case.key == 1:
            raise ZeroDivisionError
        time.sleep(0.01)
        return case.key

    cases = [Case(key, resolved) for key in range(40)]
    with pytest.raises(ZeroDivisionError):
        jobs.run_all(cases, measure, jobs=2)
    assert len(measured) < 40


def test_a_run_stops_when_its_progress_hook_raises() -> None:
    calls = threading.Event()

    def stop(_state: object) -> None:
        calls.set()
        raise Cancelled

    long = {**TINY_SPEC, "traffic": [{**TINY_SPEC["traffic"][0], "duration_us": 100_000_000}]}
    with pytest.raises(Cancelled):
        sw.run(long, progress=stop)
    assert calls.is_set()


def test_files_of_a_comparison(tmp_path: Any) -> None:
    sw.write(comparison(), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "compare.json", "cells.parquet", "curves.parquet", "table.txt",
        "fct.png", "fct.svg", "slowdown.png", "slowdown.svg",
    }  # fmt: skip
    first = (tmp_path / "out" / "fct.svg").read_bytes()
    sw.write(comparison(), tmp_path / "out", force=True)
    assert (tmp_path / "out" / "fct.svg").read_bytes() == first


# ---- figures ----


def panels(found: Comparison) -> list[str]:
    return [axes.get_title(loc="left") for axes in figures.figures(found)["fct"].axes if axes.axison]


def test_without_loads_there_are_bars_by_scheme() -> None:
    found = comparison()
    alone = Comparison(found.spec, found.variants, [None], found.seeds, [
        Cell(**{**vars(c), "load": None}) for c in found.cells if c.load == found.loads[0]
    ])  # fmt: skip
    (first, *_) = figures.figures(alone)["fct"].axes
    assert [text.get_text() for text in first.get_yticklabels()] == found.labels
    assert first.get_xlabel().startswith("mean FCT [")
    (against_load, *_) = figures.figures(found)["fct"].axes
    assert against_load.get_xlabel() == "offered load"


def test_every_panel_of_a_comparison_is_filled_and_named() -> None:
    titles = panels(comparison())
    assert len(titles) == len(set(titles))
    assert {title.partition(": ")[2] for title in titles} == {"mean FCT", "p99 FCT"}


def test_a_comparison_is_read_back_as_it_was(tmp_path: Any) -> None:
    found = sw.compare(TINY_SPEC, "ecmp,rps:transport.dupack_threshold=0@rps 0", seeds=2)
    sw.write(found, tmp_path / "out")
    again = sw.read(tmp_path / "out")
    assert isinstance(again, Comparison)
    assert again.variants == found.variants
    assert repr(again.rows()) == repr(found.rows())
    assert [cell.summary.as_dict() for cell in again.cells] == [cell.summary.as_dict() for cell in found.cells]
    assert repr(again.cells[0].curves) == repr(found.cells[0].curves)
    sw.write(again, tmp_path / "again")
    assert (tmp_path / "again" / "cdf.svg").read_bytes() == (tmp_path / "out" / "cdf.svg").read_bytes()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cells": 5}, "not iterable"),
        ({"loads": ["x"]}, "loads[0]: 'x' is not a float"),
        ({"format": "spinewise-compare-99"}, "spinewise-compare-99"),
    ],
)
def test_a_damaged_comparison_is_refused_in_words(tmp_path: Any, change: dict[str, Any], says: str) -> None:
    sw.write(sw.compare(TINY_SPEC, "ecmp,rps", seeds=1), tmp_path / "out")
    path = tmp_path / "out" / "compare.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(SpecError) as error:
        sw.read(tmp_path / "out")
    assert says in str(error.value)


RING = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"kind": "all_reduce", "size_bytes": 200_000, "rounds": 2}],
}


def test_rounds_have_a_figure_and_are_read_back(tmp_path: Any) -> None:
    found = sw.compare(RING, "ecmp,rps", seeds=1)
    made = figures.figures(found)["jobs"]
    assert [axes.get_title(loc="left") for axes in made.axes] == [
        "all_reduce: mean time of a round", "all_reduce: bus bandwidth"
    ]  # fmt: skip
    sw.write(found, tmp_path / "out")
    again = sw.read(tmp_path / "out")
    assert isinstance(again, Comparison)
    assert repr(again.cells[0].jobs) == repr(found.cells[0].jobs)
    assert "jobs" not in figures.figures(sw.compare(TINY_SPEC, "ecmp,rps", seeds=1))


@pytest.mark.parametrize(
    ("short", "told"), [(2, "short (2), long (1), all (3)"), (99, "short (99), long (1)"), (100, "long (1)")]
)
def test_percentiles_of_a_few_flows_are_told(short: int, told: str) -> None:
    """The p99 of four flows stood in a table as if it were one."""
    sizes = [10] * short + [10**6]
    found = comparison(size_bytes=sizes, fct_ps=[10**6] * len(sizes), slowdown=[1.0] * len(sizes))
    assert tables.thin_tails(found) == [f"p99 of fewer than 100 flows a run is about their slowest: {told}."]


def test_percentiles_of_many_flows_need_no_word() -> None:
    sizes = [10, 10**6] * 100
    assert not tables.thin_tails(comparison(size_bytes=sizes, fct_ps=[10**6] * 200, slowdown=[1.0] * 200))
