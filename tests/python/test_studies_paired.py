"""Differences between the schemes of a study, seed by seed, as comparisons have them."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.comparison.tables import NOT_PAIRED, difference
from spinewise.page.of_study import points, read_study
from spinewise.specs.spec import load
from spinewise.studies.report import against
from test_studies import STUDY, place

THREE = STUDY.replace("seeds = 2", "seeds = 3")


def test_differences_are_those_of_a_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By terminal, record, Python and page: the same numbers as `compare` has of the same runs."""
    path, kept = place(tmp_path, THREE), str(tmp_path / "store")
    assert main(["sweep", str(path), "--store", kept]) == 0
    out = capsys.readouterr().out
    schemes = "ecmp,letflow:flowlet_gap_us=200@gap 200"
    same = sw.compare(load(tmp_path / "tiny.toml"), schemes, loads=[0.2, 0.4], seeds=3, store=kept)
    assert "'vs ecmp' is the mean paired difference; in (brackets) when its 95 % interval includes zero." in out
    assert main(["sweep", str(path), "--store", kept, "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["label"]["scheme"] for cell in cells] == ["ecmp", "ecmp", "gap 200", "gap 200"]
    rows = sw.sweep(path, store=kept).rows()
    table = points(read_study(str(path), kept))
    at = table.heads.index("vs ecmp")
    for number, at_load in ((2, 0.2), (3, 0.4)):
        wanted = same.difference("gap 200", at_load, "all", "fct_s.mean")
        assert wanted.n >= 2
        assert abs(wanted.mean) > 1e-4
        metric, row = cells[number]["metrics"][0], rows[3 * number]
        assert (metric["vs_first"], metric["vs_first_ci95_half"]) == (wanted.mean, wanted.half)
        assert (row["vs_first"], row["vs_first_ci95_half"]) == (wanted.mean, wanted.half)
        assert difference(wanted, 3) in out
        assert table.rows[number][at].text == difference(wanted, 3)
        assert table.rows[number - 2][at].text == ""


def test_pairs_are_the_seeds_that_both_have(tmp_path: Path) -> None:
    """A point that stopped at another number of seeds is compared on common ones, and the table says so."""
    whole = sw.sweep(place(tmp_path, STUDY.replace("seeds = 2", "seeds = 5")), store=tmp_path / "store")
    ecmp, other = whole.repeats[1], whole.repeats[3]
    done = replace(whole, repeats=[whole.repeats[0], ecmp[:4], whole.repeats[2], other])
    ones, twos = ([one.values[0] for one in repeats[:4] if one.values] for repeats in (ecmp, other))
    both = [(one, two) for one, two in zip(ones, twos, strict=True) if math.isfinite(one + two)]
    found = done.against_first(3, 0)
    assert found.n == len(both) < done.interval(3, 0).n
    mean = sum(two - one for one, two in both) / sum(one for one, _ in both)
    assert math.isclose(found.mean, mean, rel_tol=1e-9)
    assert against(done, 3, 0) == [f"{difference(found, 5)}, {found.n} seeds"]
    assert against(whole, 3, 0) == [difference(whole.against_first(3, 0), 5)]


def test_one_scheme_has_nothing_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = STUDY.replace('["ecmp", "letflow:flowlet_gap_us=200@gap 200"]', '["ecmp"]')
    path, kept = place(tmp_path, alone), str(tmp_path / "store")
    assert main(["sweep", str(path), "--store", kept]) == 0
    assert "vs " not in capsys.readouterr().out
    assert math.isnan(float(str(sw.sweep(path, store=kept).rows()[0]["vs_first"])))


def test_other_traffic_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A variant that changes the traffic has no pairs; on one seed there is no interval."""
    other = STUDY.replace("letflow:flowlet_gap_us=200@gap 200", "ecmp:traffic[0].load=0.6@more")
    path, kept = place(tmp_path, other.replace("loads = [0.2, 0.4]\n", "")), str(tmp_path / "store")
    assert main(["sweep", str(path), "--store", kept]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert NOT_PAIRED in out
    assert "'vs ecmp' is the mean difference, seed by seed" in out
    path.write_text(path.read_text().replace("seeds = 2", "seeds = 1"))
    assert main(["sweep", str(path), "--store", kept]) == 0
    assert "'vs ecmp' is the difference on this seed." in " ".join(capsys.readouterr().out.split())
