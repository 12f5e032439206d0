from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.measures import stats
from spinewise.resilience import files, setting, show
from spinewise.resilience.measures import NEVER, goodput, lost_share, recovery
from spinewise.resilience.recorded import Recording
from spinewise.resilience.setting import FABRICS, FAULTS, FULL, QUICK
from spinewise.resilience.study import Plan, Study, outcome, study
from spinewise.runs import formats
from spinewise.runs.jobs import run_all
from spinewise.show.terminal import console
from spinewise.specs.spec import resolve

STEADY = np.full(20, 100.0)


def series(*parts: tuple[int, float]) -> np.ndarray:
    """(intervals, bytes in each) one after the other."""
    return np.concatenate([np.full(count, value) for count, value in parts])


# ---- measures ----


def test_goodput_lost_is_a_share_of_what_came_without_the_fault() -> None:
    assert lost_share(series((10, 50.0), (10, 100.0)), STEADY) == pytest.approx(0.25)
    assert lost_share(series((20, 110.0)), STEADY) == pytest.approx(-0.1)
    assert math.isnan(lost_share(np.array([]), np.array([])))


@pytest.mark.parametrize(
    ("broken", "back"),
    [
        (STEADY, 0),
        (series((3, 0.0), (17, 100.0)), 3),
        (series((3, 0.0), (17, 95.0)), 3),
        (series((3, 0.0), (17, 94.9)), NEVER),
        # What was kept back comes at once: the first window that holds some of it may begin a little earlier.
        (series((3, 0.0), (3, 200.0), (14, 100.0)), 2),
        # One interval too low amid good ones is a queue that is served later.
        (series((3, 0.0), (5, 100.0), (1, 90.0), (1, 110.0), (10, 100.0)), 3),
        # Goodput that falls later for good has not come back.
        (series((3, 0.0), (8, 100.0), (9, 50.0)), NEVER),
        # A good moment shortly before the end is no recovery.
        (series((17, 50.0), (3, 100.0)), NEVER),
    ],
)
def test_recovery(broken: np.ndarray, back: float) -> None:
    assert recovery(broken, STEADY, window=2, hold=5) == back


def test_recovery_is_measured_against_the_other_run_and_not_against_its_mean() -> None:
    whole = series((10, 160.0), (10, 40.0))
    assert recovery(0.96 * whole, whole, window=2, hold=5) == 0
    assert recovery(STEADY, whole, window=2, hold=5) == 9


def test_recovery_of_series_shorter_than_what_must_hold() -> None:
    assert recovery(STEADY[:4], STEADY[:4], window=2, hold=5) == NEVER


def recording(goodput_: np.ndarray, **changes: float) -> Recording:
    values = {"p999_s": 0.002, "flows": 10, "lost": 0, "dropped": 1, "unroutable": 0, "cut_off": 0, "out_of_time": 0}
    return Recording(goodput=goodput_, at_least=False, outcome_hash="o", traffic_hash="t", **(values | changes))  # type: ignore[arg-type]


def test_an_outcome_looks_at_the_fault_and_at_what_follows_the_repair() -> None:
    before, during, after = (n // setting.INTERVAL_US for n in (10_000, 20_000, 20_000))
    whole = recording(np.full(before + during + after, 100.0))
    broken = recording(
        series((before, 100.0), (8, 0.0), (during - 8, 100.0), (4, 50.0), (after - 4, 100.0)), lost=7, p999_s=0.003
    )
    found = outcome(broken, whole, FULL)
    assert found.goodput_lost == pytest.approx(8 / during)
    assert found.recovery_ms == 2.0
    assert found.after_repair_ms == 1.0
    assert (found.lost, found.p999_ms, found.p999_whole_ms) == (7, 3.0, 2.0)


# ---- the setting ----


@pytest.mark.parametrize("fabric", FABRICS.values(), ids=list(FABRICS))
def test_traffic_is_even_between_racks_and_a_function_of_the_seed(fabric: setting.Fabric) -> None:
    flows = setting.flow_list(fabric, 8_000, 1)
    assert flows == setting.flow_list(fabric, 8_000, 1)
    assert flows != setting.flow_list(fabric, 8_000, 2)
    sent = [sum(flow["size_bytes"] for flow in flows if flow["src"] == host) for host in range(setting.HOSTS)]
    assert set(sent) == {40 * 50_000 + 2 * 1_000_000}
    assert all(flow["src"] // fabric.rack != flow["dst"] // fabric.rack for flow in flows)
    assert max(flow["start_ns"] for flow in flows) < 8_000_000


@pytest.mark.parametrize("fabric", FABRICS.values(), ids=list(FABRICS))
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_every_fault_fits_every_fabric(fabric: setting.Fabric, fault: setting.Fault) -> None:
    spec = resolve(setting.spec_of(fabric, fault, QUICK, 1, {"list": setting.flow_list(fabric, 200, 1)}))
    assert spec["fault"][0]["kind"] == fault.keys["kind"]
    assert spec["detection"]["mode"] == fault.detection["mode"]


# ---- the study ----


@pytest.fixture(scope="module")
def tiny() -> Study:
    """Two schemes and a scheme that does not serve the fabric, two faults, two seeds."""
    return study("ecmp,letflow,lbsp", faults="link,link-unseen", fabrics="leaf-spine", seeds=2, quick=True)


def test_what_is_found_and_what_is_not(tiny: Study) -> None:
    assert tiny.paired
    for label in ("ecmp", "letflow"):
        found = tiny.at("leaf-spine", "link", label)
        assert all(abs(one.goodput_lost) < 0.05 and one.recovery_ms <= 4.0 for one in found)
        assert all(one.lost > 0 and one.p999_ms > 0 for one in found)
    assert tiny.never("leaf-spine", "link-unseen", "ecmp", "recovery_ms") == 2
    unseen = {label: tiny.interval("leaf-spine", "link-unseen", label, "goodput_lost") for label in ("ecmp", "letflow")}
    assert unseen["ecmp"].mean > 0.15 > unseen["letflow"].mean
    assert tiny.slower("leaf-spine", "link-unseen", "ecmp").mean > 1.0


def test_a_percentile_that_an_unfinished_flow_makes_is_a_bound(tiny: Study) -> None:
    assert not any(one.at_least for one in tiny.recordings.values())
    bounded = Study(tiny.plan, {key: replace(one, at_least=key[2] == "ecmp") for key, one in tiny.recordings.items()})
    shown = {label: show.cells(bounded, "leaf-spine", "link", label)[2:4] for label in ("ecmp", "letflow")}
    assert [[cell.startswith("≥ ") for cell in cells] for cells in shown.values()] == [[True, True], [False, False]]
    rows = [one for one in show.markdown(bounded).splitlines() if "≥" in one]
    assert [row.split("`")[1] for row in rows] == ["ecmp"]


def test_a_scheme_that_cannot_serve_a_fabric_is_skipped_with_its_word(tiny: Study) -> None:
    assert tiny.labels("leaf-spine") == ["ecmp", "letflow"]
    assert [one.label for one in tiny.plan.skipped["leaf-spine"]] == ["lbsp"]
    assert "SKIPPED lbsp on leaf-spine: lbsp relies on the numbering of a fat-tree" in printed(tiny)


def test_tables_show_every_cell(tiny: Study) -> None:
    text = printed(tiny)
    assert "…" not in text
    assert text.count("letflow") >= 2
    assert "never" in text
    rows = [one for one in show.markdown(tiny).splitlines() if one.startswith("| `")]
    assert len(rows) == 4
    assert "∞" in rows[0]


def test_the_caption_fits_the_figure(tiny: Study) -> None:
    made = show.figure(tiny)
    made.draw_without_rendering()
    texts = [text for text in made.findobj(Text) if isinstance(text, Text)]
    (caption,) = [text for text in texts if "share of goodput lost" in " ".join(text.get_text().split())]
    extent = caption.get_window_extent()
    assert 0.0 <= extent.x0 < extent.x1 <= made.bbox.x1


def test_what_rounds_to_zero_has_no_sign() -> None:
    assert show.fixed(stats.t_interval([-0.0001, 0.0])).startswith("0.0 ±")
    assert show.slower(stats.t_interval([-0.001]), 1) == "+0%"
    assert show.slower(stats.t_interval([-0.001]), 3) == "(+0%)"


def test_the_same_study_gives_the_same_numbers(tiny: Study) -> None:
    again = study("letflow", faults="link-unseen", fabrics="leaf-spine", seeds=[2], quick=True)
    key = ("leaf-spine", "link-unseen", "letflow", 2)
    assert again.outcomes[key] == tiny.outcomes[key]


def test_goodput_adds_up_to_what_flows_carry(tmp_path: Path) -> None:
    plan = Plan.of("rps", "loss", "fat-tree", 1, quick=True)
    sent = sum(flow["size_bytes"] for flow in setting.flow_list(FABRICS["fat-tree"], QUICK.end_us, 1))
    kept: list[np.ndarray] = []
    whole_run = QUICK.stop_us // setting.INTERVAL_US
    run_all(plan.cases(tmp_path)[1:], lambda _, result: kept.append(goodput(result, setting.INTERVAL_US, whole_run)))
    # The interval in which the run ends has no point.
    assert 0.995 * sent < kept[0].sum() <= sent


def printed(found: Study) -> str:
    out = console()
    with out.capture() as capture:
        out.print(show.report(found))
    return capture.get()


def test_files(tiny: Study, tmp_path: Path) -> None:
    files.write_files(tiny, tmp_path)
    record = json.loads((tmp_path / "resilience.json").read_text())
    assert record["format"] == formats.RESILIENCE.name
    assert [one["never_recovered"] for one in record["cells"] if one["scheme"] == "ecmp"] == [0, 2]
    with (tmp_path / "cells.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == 2 * 2 * 2
    assert (tmp_path / "resilience.png").stat().st_size > 10_000


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "out")
    args = ["resilience", "--quick", "--schemes", "ecmp", "--faults", "link", "--fabrics", "fat-tree", "--out", folder]
    assert main([*args, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seeds"] == [1]
    assert main(args) == 2
    assert main([*args, "--force"]) == 0
    assert "95 % after" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("make", "key", "value", "allowed"),
    [
        (lambda: Plan.of(faults="nix"), "--faults", "nix", "link, link-hello"),
        (lambda: Plan.of(faults="link,"), "--faults", "(nothing)", "black-hole"),
        (lambda: Plan.of(fabrics="ring"), "--fabrics", "ring", "leaf-spine, fat-tree"),
        (lambda: Plan.of("emcp"), "--schemes", '"emcp"', '"ecmp"'),
        (lambda: Plan.of("lbsp", fabrics="leaf-spine"), "--schemes", "lbsp", "at least one scheme that serves"),
        (lambda: Plan.of("ecmp", seeds=0), "--seeds", "0", "a number of seeds from 1"),
        (lambda: Plan.of("letflow:flowlet_gap_us=-1"), "--schemes", "-1", ""),
    ],
)
def test_bad_input(make: Callable[[], Plan], key: str, value: str, allowed: str) -> None:
    with pytest.raises(SpecError) as caught:
        make()
    assert caught.value.key == key
    assert value in caught.value.value
    assert allowed in caught.value.allowed


@pytest.mark.parametrize("empty", ["faults", "fabrics"])
def test_no_faults_and_no_fabrics_are_refused(empty: str) -> None:
    given: Any = {empty: []}
    with pytest.raises(SpecError, match=rf"--{empty} = \(none\)"):
        study("ecmp", quick=True, **given)


def test_what_cannot_watch_runs_is_refused() -> None:
    monitor: Any = object()
    with pytest.raises(TypeError, match="monitor"):
        study("ecmp", quick=True, monitor=monitor)


def test_one_seed_has_no_interval_and_no_brackets() -> None:
    one = study("ecmp,rps", faults="link-unseen", fabrics="leaf-spine", seeds=1, quick=True)
    said = " ".join(show.notes(one))
    assert "one seed: no interval" in said
    assert "±" not in said
    assert "brackets" not in said
    assert "(" not in show.slower(one.slower("leaf-spine", "link-unseen", "rps"), 1)
