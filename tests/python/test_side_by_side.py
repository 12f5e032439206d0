"""Kept runs side by side."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.comparison.side_by_side import Matched, SideBySide, share_a_table
from spinewise.measures.tables import numbers
from spinewise.show import terminal

SPEC: dict[str, Any] = {
    "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 4},
    "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.5, "pairs": "inter_rack", "duration_us": 3000}],
}
OTHER: dict[str, Any] = SPEC | {"traffic": [{"kind": "permutation", "size_bytes": 30_000}]}


@pytest.fixture(scope="module")
def runs() -> dict[str, sw.Result]:
    return {
        "ecmp": sw.run(SPEC),
        "letflow": sw.run(SPEC, scheme="letflow"),
        "seed": sw.run(SPEC, seed=2),
        "short": sw.run(SPEC | {"run": {"stop": "time", "until_us": 1500}}),
        "other": sw.run(OTHER),
    }


def plain_text(table: Any) -> str:
    stream = io.StringIO()
    terminal.Terminal(file=stream, width=200).print(table)
    return stream.getvalue()


def beside(*runs: sw.Result) -> SideBySide:
    return SideBySide.of([f"place/{place}" for place in range(len(runs))], runs)


def test_the_keys_that_differ_are_named_and_no_other(runs: dict[str, sw.Result]) -> None:
    assert beside(runs["ecmp"], runs["letflow"]).differing == {"scheme.name": ["ecmp", "letflow"]}
    assert beside(runs["ecmp"], runs["seed"]).differing == {"seed": [1, 2]}
    assert beside(runs["ecmp"], runs["ecmp"]).differing == {}
    named = sw.run(SPEC | {"name": "another"})
    assert beside(runs["ecmp"], named).differing == {}
    gaps = [sw.run(SPEC | {"scheme": {"name": "letflow", "params": {"flowlet_gap_us": gap}}}) for gap in (50, 100)]
    assert beside(*gaps).differing == {"scheme.params.flowlet_gap_us": [50, 100]}


def test_a_key_that_one_run_alone_has_is_none_in_the_other(runs: dict[str, sw.Result]) -> None:
    found = beside(runs["ecmp"], runs["other"]).differing
    assert found["traffic[0].load"] == [0.5, None]
    assert found["traffic[0].kind"] == ["poisson", "permutation"]


def test_the_same_flows_are_matched_one_by_one(runs: dict[str, sw.Result]) -> None:
    found = beside(runs["ecmp"], runs["letflow"])
    assert found.same_traffic
    matched = found.matched(1)
    first, one = (numbers(runs[name].flows, "fct_ps").astype(float) for name in ("ecmp", "letflow"))
    assert matched.both == len(first) == len(one)
    assert matched.faster == (one < first).sum() > 0
    assert matched.slower == (one > first).sum() > 0
    assert matched.ratio == pytest.approx(np.prod((one / first) ** (1 / len(first))))
    itself = beside(runs["ecmp"], runs["ecmp"]).matched(1)
    assert (itself.faster, itself.slower, itself.ratio) == (0, 0, 1.0)


def test_flows_that_did_not_finish_are_told_apart(runs: dict[str, sw.Result]) -> None:
    short = sw.run(SPEC | {"run": {"stop": "time", "until_us": 4000}}, scheme="letflow")
    whole = sw.run(SPEC | {"run": {"stop": "time", "until_us": 100_000}}, scheme="letflow")
    found = beside(whole, short)
    matched = found.matched(1)
    unfinished = short.summary().of("all").unfinished
    assert (matched.only_there, matched.only_here) == (unfinished, 0)
    assert unfinished > 0
    assert matched.both == short.flows.num_rows - unfinished
    assert any("different numbers unfinished" in line for line in found.lines())
    assert f"finished in {found.labels[0]} alone" in matched.line(*reversed(found.labels))
    assert matched.line("b", "RunA").endswith("finished in RunA alone.")


def test_runs_without_rows_of_flows_are_set_side_by_side_all_the_same(runs: dict[str, sw.Result]) -> None:
    """A page of such runs was lost to a traceback."""
    bare = sw.run(SPEC | {"metrics": {"keep_flows_up_to": 1}})
    for pair in ((runs["ecmp"], bare), (bare, runs["ecmp"]), (bare, bare)):
        found = beside(*pair)
        assert found.plain()["against_first"] == {}
        assert any("metrics.keep_flows_up_to" in line for line in found.lines())
        assert "mean FCT" in plain_text(found.outcome_table())


def test_runs_with_other_size_classes_are_compared_over_all_flows(runs: dict[str, sw.Result]) -> None:
    other = sw.run(SPEC | {"metrics": {"size_classes": [{"name": "tiny", "below_bytes": 9000}, {"name": "rest"}]}})
    assert beside(runs["ecmp"], other).classes == ["all"]
    assert "tiny" not in plain_text(beside(runs["ecmp"], other).outcome_table())


def test_udp_alone_leaves_nothing_to_match() -> None:
    one = sw.run("one_udp_flow")
    found = beside(one, one)
    assert found.plain()["against_first"] == {}
    assert not any("no flow finished" in line for line in found.lines())


def test_long_lists_of_a_spec_are_one_key(runs: dict[str, sw.Result]) -> None:
    flows = [{"src": 0, "dst": 4, "size_bytes": 900, "start_ns": at} for at in range(40)]
    found = beside(runs["other"], sw.run(SPEC | {"traffic": [{"kind": "flows", "list": flows}]}))
    before, after = found.differing["traffic[0].list"]
    assert before is None
    assert isinstance(after, list)
    assert len(after) == 40
    assert "40 entries" in plain_text(found.spec_table())


def test_other_traffic_is_not_matched(runs: dict[str, sw.Result]) -> None:
    found = beside(runs["ecmp"], runs["seed"])
    assert not found.same_traffic
    assert "flows cannot be matched" in " ".join(found.lines())
    assert found.plain()["against_first"] == {}


def test_no_flow_in_both_is_said() -> None:
    nothing = Matched(both=0, faster=0, slower=0, ratio=float("nan"), only_here=1, only_there=2)
    assert nothing.line("one", "first") == "one: no flow finished both there and in first."


def test_runs_are_called_by_what_tells_them_apart(runs: dict[str, sw.Result]) -> None:
    both = [runs["ecmp"], runs["letflow"]]
    assert list(SideBySide.of(["a/x", "b/x"], both).labels) == ["ecmp", "letflow"]
    same = [runs["ecmp"], runs["seed"]]
    assert list(SideBySide.of(["a/x", "a/y"], same).labels) == ["x", "y"]
    assert list(SideBySide.of(["a/x", "b/x"], same).labels) == ["a/x", "b/x"]
    assert list(SideBySide.of(["a/x", "a/x"], same).labels) == ["a/x (1)", "a/x (2)"]


def test_what_shares_neither_fabric_nor_traffic_is_not_set_side_by_side(runs: dict[str, sw.Result]) -> None:
    wider = sw.run(SPEC | {"topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}})
    assert share_a_table(runs["ecmp"].spec, wider.spec)
    assert share_a_table(runs["ecmp"].spec, runs["other"].spec)
    assert not share_a_table(wider.spec, runs["other"].spec)


def test_the_page_and_the_terminal_show_them(
    runs: dict[str, sw.Result], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [str(runs[name].write(tmp_path / name) or tmp_path / name) for name in ("ecmp", "letflow", "short")]
    assert main(["report", *places[:2], "--out", str(tmp_path / "page.html"), "--no-rerun"]) == 0
    shown = capsys.readouterr().out
    mean = runs["letflow"].summary().of("all").fct_s.mean / runs["ecmp"].summary().of("all").fct_s.mean
    assert f"({100 * (mean - 1):+.1f} %)" in shown
    assert "scheme.name" in shown
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What was set differently" in page
    assert f"({100 * (mean - 1):+.1f} %)" in page
    assert main(["report", *places, "--out", str(tmp_path / "all.html"), "--no-rerun", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["parts"] == ["runs", "run", "run", "run"]
    assert told["side_by_side"]["runs"] == ["ecmp", "letflow", "short"]


def test_a_page_of_runs_with_unequal_numbers_of_flows_traces_those_there_are(
    runs: dict[str, sw.Result], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [str(tmp_path / name) for name in ("ecmp", "short")]
    runs["ecmp"].write(places[0])
    runs["short"].write(places[1])
    assert runs["short"].flows.num_rows < runs["ecmp"].flows.num_rows
    assert main(["report", *places, "--out", str(tmp_path / "page.html")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "None" not in shown
    assert shown.count("with the choices of") == 2
