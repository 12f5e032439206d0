"""Pages of what is neither a run nor a comparison: advice, claims of papers, studies."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import msgspec
import pytest

import spinewise as sw
from samples import TINY_TOML
from spinewise import core
from spinewise.advice import files as advice_files
from spinewise.advice.answer import CaseAnswer
from spinewise.advice.stress import Regret
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.page import of_advice, of_claims, source
from spinewise.page.model import Table, text
from spinewise.page.of_study import best, read_study, unfinished
from spinewise.studies.beside import Flows
from spinewise.studies.conduct import Repeat
from spinewise.studies.metrics import Metric
from test_page import Reader

EVIDENCE = Path(__file__).resolve().parents[2] / "docs" / "evidence"


def page(*words: str, out: Path) -> Reader:
    assert main(["report", *words, "--out", str(out)]) == 0
    return Reader.of(out)


def test_bars_of_an_advice_reach_as_far_as_their_intervals(tmp_path: Path) -> None:
    """Intervals of geometric means reach as many times below as above; they were drawn as far to each side."""
    (tmp_path / "tiny.toml").write_text(TINY_TOML)
    told = ["advise", str(tmp_path / "tiny.toml"), "--schemes", "ecmp,rps", "--budget", "3s", "--jobs", "1"]
    assert main([*told, "--out", str(tmp_path / "advice")]) == 0
    found = page(str(tmp_path / "advice"), out=tmp_path / "page.html")
    bars = [one for chart in found.models() if chart.get("bars") for one in chart["curves"] if one["below"]]
    assert bars
    for one in bars:
        middle, above, below = one["x"][0], one["half"][0], one["below"][0]
        assert 0.0 < below < above
        assert (middle + above) / middle == pytest.approx(middle / (middle - below), rel=1e-3)
        assert f"({middle - below:.4g} to {middle + above:.4g})" in found.text


def test_an_advice_is_answered_first(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY_TOML)
    told = ["advise", str(tmp_path / "tiny.toml"), "--schemes", "ecmp,rps", "--budget", "3s", "--jobs", "1"]
    assert main([*told, "--out", str(tmp_path / "advice")]) == 0
    advice = advice_files.read(tmp_path / "advice")
    found = page(str(tmp_path / "advice"), out=tmp_path / "page.html")
    place = found.text.index(advice.entrant(advice.advised).about)
    assert place < found.text.index("Every scheme that was tried")
    for entrant in advice.entrants:
        assert any(row[0] == entrant.label for row in found.rows if row)
    for step in advice.gear:
        assert step.source in found.text
    (bars,) = (one for one in found.models() if one.get("bars"))
    assert {curve["label"] for curve in bars["curves"]} == {one.label for one in advice.entrants}

    (best,) = (row for row in found.rows if row and row[0] == advice.tied[0] and len(row) == 8)
    assert best[5] == "", "its own number was that of the next"
    others = [row[5] for row in found.rows if row and row[0] in {"ecmp", "rps"} - {advice.tied[0]} and len(row) == 8]
    assert others
    assert all(others)


def test_regrets_have_room_beside_each_other(tmp_path: Path) -> None:
    """Six of them, with their intervals, were cut off at 1,280 pixels."""
    (tmp_path / "tiny.toml").write_text(TINY_TOML)
    advice = sw.advise(tmp_path / "tiny.toml", schemes="ecmp,rps", budget_s=3, jobs=1, band=0.3)
    case = CaseAnswer("c", "c", tried=True, because=None, regrets=(Regret("rps", 0.5, 0.25, 0.75, 4),))
    assert of_advice.regret(case, "rps", advice).text == "+50.0 %\n[+25.0 %, +75.0 %]"


def test_what_an_advice_cannot_tell_comes_back_as_no_number(tmp_path: Path) -> None:
    regret = Regret("ecmp", 0.0, math.nan, math.nan, 1)
    plain = msgspec.to_builtins(regret) | {"low": None, "high": None}
    raw = {"name": "x", "words": "x", "tried": True, "because": None, "regrets": [plain]}
    found = msgspec.convert(advice_files.with_nan(CaseAnswer, raw), CaseAnswer)
    assert found.because is None
    assert math.isnan(found.regrets[0].low)
    assert found.regrets[0].mean == 0.0


def test_a_study_of_faults_shows_its_tables_and_a_bar_a_scheme(tmp_path: Path) -> None:
    fault = '\n[[fault]]\nkind = "down"\nends = ["leaf0", "spine1"]\nat_us = 100\n'
    (tmp_path / "tiny.toml").write_text(TINY_TOML + fault)
    out = tmp_path / "study"
    told = ["resilience", str(tmp_path / "tiny.toml"), "--schemes", "ecmp,rps", "--seeds", "2", "--out", str(out)]
    assert main(told) == 0
    found = page(str(out), out=tmp_path / "page.html")
    printed = [word for word in (out / "table.txt").read_text().split() if not word.startswith("─")]
    assert [word for word in printed if word not in found.text] == []
    (bars,) = (one for one in found.models() if one.get("bars"))
    record = json.loads((out / "resilience.json").read_text())
    lost = {one: [run["goodput_lost"] for run in record["runs"] if run["scheme"] == one] for one in ("ecmp", "rps")}
    means = {one["label"]: one["x"][0] for one in bars["curves"]}
    assert means == pytest.approx({one: 100 * sum(shares) / 2 for one, shares in lost.items()}, abs=0.01)


def test_a_study_of_faults_that_an_older_version_wrote_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "resilience.json").write_text('{"format": "spinewise-resilience-1"}')
    with pytest.raises(SpecError, match="makes it again"):
        source.read(str(tmp_path), source.OfStudy(""))


def test_kept_evidence_shows_every_verdict_and_draws_its_panels(tmp_path: Path) -> None:
    found = page(str(EVIDENCE / "pdlb-3"), out=tmp_path / "page.html")
    record = json.loads((EVIDENCE / "pdlb-3" / "evidence.json").read_text())
    for check in record["checks"]:
        for line in check["evidence"]:
            assert line in found.text
    verdicts = {row[0]: row[1] for row in found.rows if row and row[0].startswith("C0-")}
    single = next(one for one in record["checks"] if one["claim"] == "C0-04" and one["headline"])
    assert verdicts["C0-04"] == single["status"]
    assert sum(one["kind"] == "chart" for one in found.models()) >= 4


def test_all_the_evidence_is_one_page(tmp_path: Path) -> None:
    found = page(str(EVIDENCE), out=tmp_path / "page.html")
    table = next(place for place, row in enumerate(found.rows) if row[:2] == ["claim", "verdict"])
    ids = {row[0] for row in takewhile(lambda row: len(row) == 7, found.rows[table + 1 :])}
    kept = [one for file in sorted(EVIDENCE.glob("*/evidence.json")) for one in json.loads(file.read_text())["checks"]]
    assert {re.sub(r"(?<=\d)[a-z]$", "", one["claim"]) for one in kept} == ids
    assert (tmp_path / "page.html").stat().st_size < 10_000_000


def test_a_reproduction_is_read_back_as_it_was_judged(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    told = ["reproduce", "pdlb-facts", "--quick", "--store", store, "--out", str(tmp_path / "facts")]
    assert main(told) == 0
    (found,) = of_claims.read_claims(tmp_path / "facts")
    record = json.loads((tmp_path / "facts" / "reproduce.json").read_text())
    assert [one.key for one in found.checks] == [
        ", ".join(word for word in (one["id"], one["reading"]) if word) for one in record["claims"]
    ]
    assert [one.verdict.evidence if one.verdict else () for one in found.checks] == [
        tuple(one["evidence"]) for one in record["claims"]
    ]
    assert record["title"] in page(str(tmp_path / "facts"), out=tmp_path / "page.html").text


def test_a_damaged_reproduction_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "reproduce.json").write_text('{"format": "spinewise-reproduce-2", "id": "x"}')
    assert main(["report", str(tmp_path / "bad"), "--out", str(tmp_path / "page.html")]) == 2
    assert "reproduce.json" in capsys.readouterr().err
    shutil.copytree(EVIDENCE / "pdlb-3", tmp_path / "cut")
    (tmp_path / "cut" / "runs.parquet").write_bytes(b"PAR1")
    assert main(["report", str(tmp_path / "cut"), "--out", str(tmp_path / "page.html")]) == 2
    assert "evidence" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(TINY_TOML)
    file = tmp_path / "study.toml"
    file.write_text(
        '[study]\nname = "loads"\nspec = "tiny.toml"\nseeds = 2\nmetrics = ["fct_s.p99", "drops"]\n'
        '[grid]\nschemes = ["ecmp", "rps"]\nloads = [0.2, 0.4]\n'
    )
    return file


def test_a_study_shows_what_its_store_has(study: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    done = sw.sweep(study, store=store, jobs=1)
    again = read_study(str(study), str(store))
    assert repr(again.rows()) == repr(done.rows())
    assert again.left == 0
    found = page(str(study), "--store", str(store), out=tmp_path / "page.html")
    assert "8 of 8" in found.text
    chart = next(one for one in found.models() if one["y"]["title"].startswith("p99 FCT"))
    assert [curve["label"] for curve in chart["curves"]] == ["ecmp", "rps"]
    for curve in chart["curves"]:
        means = [row["mean"] for row in done.rows() if row["scheme"] == curve["label"] and row["metric"] == "fct_s.p99"]
        ratio = [y / float(mean or 0.0) for y, mean in zip(curve["y"], means, strict=True)]
        assert ratio == pytest.approx([ratio[0]] * 2, rel=1e-4)


@pytest.mark.parametrize(("loads", "scale"), [("[0.6, 0.9]", "near"), ("[0.01, 0.9]", "log")])
def test_the_x_axis_of_a_study_is_around_its_values(study: Path, tmp_path: Path, loads: str, scale: str) -> None:
    """Loads from 0.6 to 0.9 filled a third of an axis that started at 0."""
    study.write_text(study.read_text().replace("[0.2, 0.4]", loads))
    sw.sweep(study, store=tmp_path / "store", jobs=1)
    chart = next(one for one in page(str(study), "--store", str(tmp_path / "store"), out=tmp_path / "p.html").models())
    assert chart["x"]["scale"] == scale


def test_a_study_of_schemes_alone_has_a_bar_for_each(study: Path, tmp_path: Path) -> None:
    """Points stood one above the other, over an axis without a name."""
    study.write_text(study.read_text().replace("loads = [0.2, 0.4]\n", ""))
    sw.sweep(study, store=tmp_path / "store", jobs=1)
    chart = next(one for one in page(str(study), "--store", str(tmp_path / "store"), out=tmp_path / "p.html").models())
    assert (chart["bars"], chart["y"]["words"]) == (True, ["ecmp", "rps"])
    assert chart["x"]["title"].startswith("p99 FCT [")


@pytest.mark.parametrize(
    ("grid", "words"),
    [("", ["loads"]), ('"transport.min_rto_us" = [200, 900]', ["min_rto_us 200", "min_rto_us 900"])],
    ids=["no grid", "a key"],
)
def test_a_study_without_schemes_names_its_bars(study: Path, tmp_path: Path, grid: str, words: list[str]) -> None:
    """Without a [grid] there was no page, but a traceback."""
    head = study.read_text().partition("[grid]")[0]
    study.write_text(head + (f"[grid]\n{grid}\n" if grid else ""))
    sw.sweep(study, store=tmp_path / "store", jobs=1)
    found = page(str(study), "--store", str(tmp_path / "store"), out=tmp_path / "p.html")
    assert found.models()[0]["y"]["words"] == words


def test_an_unfinished_study_says_how_far_it_is(study: Path, tmp_path: Path) -> None:
    whole = study.read_text()
    study.write_text(whole.replace("[0.2, 0.4]", "[0.2]"))
    sw.sweep(study, store=tmp_path / "store", jobs=1)
    study.write_text(whole)
    found = page(str(study), "--store", str(tmp_path / "store"), out=tmp_path / "page.html")
    assert "4 of 8" in found.text
    assert "not run yet 4" in found.text
    assert any(row[:3] == ["ecmp", "0.4", "0 of 2"] for row in found.rows)


def test_runs_of_another_engine_are_told_of(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a study said "0 of 8" after a rebuild, and not where its runs had gone."""
    sw.sweep(study, store=tmp_path / "store", jobs=1)
    monkeypatch.setattr(core, "engine_digest", lambda: "another")
    found = page(str(study), "--store", str(tmp_path / "store"), out=tmp_path / "page.html")
    assert "0 of 8" in found.text
    assert "the store has 8 runs of these points from another version of the engine" in found.text


def test_a_study_shows_what_its_ranking_leaves_out(study: Path, tmp_path: Path) -> None:
    """Which scheme has the least means little where it left more flows unfinished, or the load is an overload."""
    cut = study.read_text().replace("[0.2, 0.4]", "[0.1, 2.0]").replace("fct_s.p99", "fct_s.mean of poisson/long")
    study.write_text(f'{cut}"run.until_us" = [2000]\n')
    done = sw.sweep(study, store=tmp_path / "store", jobs=1)
    found = page(str(study), "--store", str(tmp_path / "store"), out=tmp_path / "page.html")
    lost = {row["scheme"]: row["unfinished"] for row in done.rows() if row["load"] == 2.0 and row["metric"] != "drops"}
    head = next(row for row in found.rows if "least" in row)
    assert head[-1] == "left unfinished"
    least = next(row for row in found.rows if row[0] == "2 !" and row[2] in lost)
    assert least[-1].startswith(f"{least[2]} {lost[least[2]]}, ")
    every = done.every_flow()
    assert f"flows that did not finish {every.unfinished} of {every.flows}" in found.text
    assert "points overloaded 2 of 4" in found.text
    assert [row[1] for row in found.rows if row[0] in lost and len(row) == len(done.study.axes) + 6] == [
        "0.1", "2 !", "0.1", "2 !",
    ]  # fmt: skip
    chart = next(one for one in found.models() if one["y"]["title"].startswith("mean FCT"))
    assert [curve["hollow"][-1] for curve in chart["curves"]] == [True, True]
    assert [name for _, _, name in chart["shaded"]] == ["overloaded"]
    assert chart["shaded"][0][0] < 2.0 < chart["shaded"][0][1]
    drops = next(one for one in found.models() if one["y"]["title"] == "drops")
    assert not any(curve["hollow"] for curve in drops["curves"])


def test_a_scheme_none_of_whose_flows_finished_is_in_the_ranking_too(study: Path) -> None:
    done = sw.sweep(study, jobs=1)

    def stuck(one: Repeat) -> Repeat:
        assert one.beside is not None
        return replace(one, values=(math.nan, 0.0), beside=replace(one.beside, behind=(Flows(7, 7), Flows(7, 7))))

    repeats = [list(map(stuck, ones)) if cell.label == {"scheme": "rps", "load": 0.4} else ones
               for cell, ones in zip(done.study.cells, done.repeats, strict=True)]  # fmt: skip
    (ranking,) = best(replace(done, repeats=repeats))
    assert isinstance(ranking, Table)
    assert [row[-1].text for row in ranking.rows] == ["", "ecmp none, rps 14"]
    assert unfinished("a", {"a": 3, "b": 0}, Metric("fct_s.mean")) == text("a 3, b none", "bad")
    assert unfinished("a", {"a": 3, "b": 4}, Metric("drops")).text == ""


def test_a_scheme_that_deadlocked_is_not_the_least(study: Path) -> None:
    """Its runs end early, with the flows that were quick."""
    done = sw.sweep(study, jobs=1)

    def locked(one: Repeat) -> Repeat:
        assert one.beside is not None
        return replace(one, values=(1e-9, 0.0), beside=replace(one.beside, deadlock=True))

    def with_locked(*schemes: str) -> Table:
        repeats = [list(map(locked, ones)) if cell.label["scheme"] in schemes and cell.label["load"] == 0.4 else ones
                   for cell, ones in zip(done.study.cells, done.repeats, strict=True)]  # fmt: skip
        (ranking,) = best(replace(done, repeats=repeats))
        assert isinstance(ranking, Table)
        return ranking

    ranking = with_locked("rps")
    assert ranking.rows[1][1].text == "ecmp"
    assert ranking.note.endswith("A scheme that deadlocked at a place is not judged there.")
    assert with_locked("rps", "ecmp").rows[1][1].text == "none is judged"


def test_a_scheme_without_a_value_on_a_seed_is_not_the_least(study: Path) -> None:
    """Its mean over the other seeds would be that of its lucky ones."""
    done = sw.sweep(study, jobs=1)

    def lucky(ones: list[Repeat]) -> list[Repeat]:
        return [replace(ones[0], values=(math.nan, 0.0)), *(replace(one, values=(1e-9, 0.0)) for one in ones[1:])]

    repeats = [lucky(ones) if cell.label == {"scheme": "rps", "load": 0.4} else ones
               for cell, ones in zip(done.study.cells, done.repeats, strict=True)]  # fmt: skip
    (ranking,) = best(replace(done, repeats=repeats))
    assert isinstance(ranking, Table)
    assert ranking.rows[1][1].text == "ecmp"
    assert ranking.note.endswith("A scheme without a value on a seed where another has one is not judged there.")


def test_schemes_are_ordered_by_the_seeds_that_all_have(study: Path) -> None:
    """A point that stopped early was called the least for its easy seeds; one with a single seed is not judged."""
    study.write_text(study.read_text().replace("seeds = 2", "seeds = 3").replace('"rps"]', '"rps", "letflow"]'))
    done = sw.sweep(study, jobs=1)
    times = {"ecmp": (1.0, 1.0, 9.0), "rps": (2.0, 2.0), "letflow": (0.5,)}

    def of(ones: list[Repeat], values: tuple[float, ...]) -> list[Repeat]:
        return [replace(one, values=(value, 0.0)) for one, value in zip(ones, values, strict=False)]

    repeats = [of(ones, times[str(cell.label["scheme"])]) if cell.label["load"] == 0.4 else ones
               for cell, ones in zip(done.study.cells, done.repeats, strict=True)]  # fmt: skip
    (ranking,) = best(replace(done, repeats=repeats))
    assert isinstance(ranking, Table)
    assert [one.text for one in ranking.rows[1][1:6:3]] == ["ecmp", "rps"]
    assert ranking.rows[1][2].sort == pytest.approx(1.0)
    assert "A scheme with one run, where another has more, is not judged there." in ranking.note
    assert ranking.note.endswith("Schemes are compared on the seeds that all judged ones have.")


def test_a_scheme_that_left_many_more_flows_is_not_the_least(study: Path) -> None:
    """The mean of those that ended is one of lucky flows; `compare` judged none such, and a page of a study did."""
    done = sw.sweep(study, jobs=1)

    def left(one: Repeat, number: int) -> Repeat:
        assert one.beside is not None
        behind = (Flows(1000, number), *one.beside.behind[1:])
        return replace(one, values=(1e-9, *(one.values or ())[1:]), beside=replace(one.beside, behind=behind))

    def with_left(number: int) -> Table:
        repeats = [[left(one, number) for one in ones] if cell.label == {"scheme": "rps", "load": 0.4} else ones
                   for cell, ones in zip(done.study.cells, done.repeats, strict=True)]  # fmt: skip
        (ranking,) = best(replace(done, repeats=repeats))
        assert isinstance(ranking, Table)
        return ranking

    assert with_left(10).rows[1][1].text == "rps"
    ranking = with_left(11)
    assert ranking.rows[1][1].text == "ecmp"
    assert ranking.rows[1][-1].text == "ecmp none, rps 22"
    assert "unfinished more than 1 percentage point above another's is not judged there." in ranking.note


def test_a_study_whose_flows_all_finish_says_nothing_of_it(study: Path, tmp_path: Path) -> None:
    sw.sweep(study, store=tmp_path / "store", jobs=1)
    found = page(str(study), "--store", str(tmp_path / "store"), out=tmp_path / "page.html")
    assert "unfinished" not in found.text
    assert "overloaded" not in found.text


def test_a_store_without_its_study_is_refused(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sw.sweep(study, store=tmp_path / "store", jobs=1)
    assert main(["report", str(tmp_path / "store"), "--out", str(tmp_path / "page.html")]) == 2
    assert "report STUDY.toml --store" in capsys.readouterr().err
    assert main(["report", str(study), "--store", str(tmp_path / "none"), "--out", str(tmp_path / "page.html")]) == 2
    assert "ledger.sqlite" in capsys.readouterr().err


def test_pages_say_what_was_simulated(tmp_path: Path, tiny: Path) -> None:
    """A page of a study had neither fabric nor traffic."""
    sw.write(sw.compare(tiny, "ecmp,rps", seeds=1), tmp_path / "compared")
    assert main(["report", str(tmp_path / "compared"), "--no-rerun", "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text()
    assert "What was simulated" in page
    assert "fabric: " in page
    assert "as for ecmp, where the others do not set it" in page
    assert "The runs of " not in page, "there are no others"


def test_pages_say_which_load_and_seed_they_show(tmp_path: Path, tiny: Path) -> None:
    """Of several loads one was named as all that was simulated, and links over time had neither load nor seed."""
    sw.write(sw.compare(tiny, "ecmp,rps", loads=[0.2, 0.4], seeds=[3, 4]), tmp_path / "compared")
    found = page(str(tmp_path / "compared"), out=tmp_path / "page.html")
    assert "as for ecmp at load 0.2, where the others do not set it" in found.text
    assert "repeated at load 0.4" in found.text
    assert "Links over time, and the slowest flows The runs of load 0.4, seed 3." in found.text
