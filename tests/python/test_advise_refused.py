"""What `spinewise advise` refuses, and budgets that are too small."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import spinewise as sw
from spinewise import cli
from spinewise.advice import api, conduct, files, planned, trials
from spinewise.cli.arguments import span
from spinewise.specs.spec import as_spec
from spinewise.specs.variants import Variant
from test_advise import FABRIC, WEB, small, spec_file


def refused(*words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The refusal of a command line, by part."""
    assert cli.main(["advise", *words, "--json"]) == 2
    found: dict[str, str] = json.loads(capsys.readouterr().out)["error"]
    return found


def test_a_scheme_that_nobody_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What runs today must be known too; so must be its seed."""
    text = FABRIC.replace("[[traffic]]", '[scheme]\nname = "eccmp"\n[[traffic]]')
    assert refused(spec_file(tmp_path, text), capsys=capsys)["hint"] == 'did you mean "ecmp"?'
    assert refused(spec_file(tmp_path, 'seed = "one"\n' + FABRIC), capsys=capsys)["key"] == "seed"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--may", "spines"], ("--may", "configuration, hosts, leaves, switches", "")),
        (["--may", "switch"], ("--may", "configuration, hosts, leaves, switches", 'did you mean "switches"?')),
        (["--aim", "p99 slowdown of wed"], ("--aim", "slowdown of one of: web; or of all", 'did you mean "web"?')),
        (["--aim", "p99 latency of web"], ("--aim", "STATISTIC QUANTITY of ENTRY", "is not a quantity")),
        (["--aim", "p42 FCT of web"], ("--aim", "STATISTIC QUANTITY of ENTRY", "p42 is not kept")),
        (["--aim", "bus bandwidth of web"], ("--aim", "no traffic entry here has it", "")),
        (["--aim", "p99 FCT of huge flows of web"], ("--aim", "a size class: short, long, all", "")),
        (["--aim", "mean FCT", "--aim", "mean FCT of web"], ("--aim", "aims that differ", "")),
        (["--schemes", "falcon"], ("--schemes", "ecmp, packet_scatter", "")),
        (["--schemes", "ecmp"], ("--schemes", "at least one scheme to choose besides ecmp", "")),
        (
            ["--schemes", "ecmp,proportional"],
            ("--schemes", "at least one scheme to choose", "an oracle to compare with"),
        ),
        (["--budget", "5"], ("--budget", "a time with its unit", "")),
        (["--budget", "0.01s"], ("--budget", "to see each of", "")),
        (["--band", "0"], ("--band", "a share", "")),
    ],
)
def test_bad_input(
    words: list[str], told: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each refusal names the option, its value, and what is allowed."""
    key, allowed, hint = told
    found = refused(spec_file(tmp_path, FABRIC), *words, capsys=capsys)
    assert found["key"] == key
    assert allowed in found["allowed"]
    assert hint in (found["hint"] or "")


def test_a_budget_that_the_pilot_outruns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the estimate was too kind, the runs that were made tell what it takes."""
    monkeypatch.setattr(api, "check_cost", lambda *_: None)
    with pytest.raises(sw.SpecError) as refused:
        sw.advise(small(), budget_s=0.05)
    assert refused.value.key == "--budget"
    assert refused.value.value == "0.05s"
    assert "to see each of" in refused.value.allowed
    assert "--store DIR would keep the runs made so far" in str(refused.value.hint)


def test_a_budget_that_is_too_short_is_refused_by_its_first_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not after the whole budget: a few runs tell what all would take, and what is named as enough is so when typed."""
    made: list[int] = []
    usual = trials.Trials.run

    def slow(self: trials.Trials, case: str, variants: list[Variant], seeds: list[int], end: float) -> bool:
        whole = usual(self, case, variants, seeds, end)
        made.append(len(variants))
        self.spent_s += 10.0 * len(variants)
        return whole

    monkeypatch.setattr(trials.Trials, "run", slow)
    with pytest.raises(sw.SpecError) as refused:
        sw.advise(small(), budget_s=100.0, jobs=2)
    assert made == [2]
    assert refused.value.value == "100s"
    enough = span(refused.value.allowed.split()[0])
    schemes = int(re.findall(r"each of (\d+) schemes", refused.value.allowed)[0])
    assert "a shorter duration_us or fewer hosts make runs shorter" in str(refused.value.hint)
    assert 10.0 * 3 * schemes < enough < 25.0 * 3 * schemes
    made.clear()
    monkeypatch.setattr(conduct.Course, "enter", stopped)
    with pytest.raises(InterruptedError):
        sw.advise(small(), budget_s=enough, jobs=2)
    assert sum(made) == schemes


def test_what_would_make_a_run_shorter_is_what_the_traffic_has() -> None:
    """A list of flows was told to have a shorter duration_us."""
    flows = {"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 1}]}
    web = {"kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 10}
    tail = "or fewer hosts make runs shorter; --schemes names fewer schemes"
    assert planned.shorter(as_spec({"traffic": [flows]})) == f"fewer flows in the list {tail}"
    reduce = {"kind": "all_reduce", "size_bytes": 100}
    both = {"traffic": [reduce | {"rounds": 2}, web, reduce | {"kind": "all_to_all", "rounds": 3}]}
    assert planned.shorter(as_spec(both)) == f"fewer rounds, a shorter duration_us {tail}"
    single = {"traffic": [reduce | {"rounds": 1}, {"kind": "all_to_all", "pair_bytes": 9, "rounds": 1}]}
    counted = {"traffic": [{"kind": "poisson", "max_flows": 50}, {"kind": "on_off", "flows": 9}, {"kind": "udp"}]}
    assert planned.shorter(as_spec(counted)) == f"fewer flows {tail}"
    assert planned.shorter(as_spec({"traffic": [{"kind": "udp"}]})) == tail.removeprefix("or ")
    assert planned.shorter(as_spec(single)) == f"a smaller size_bytes, a smaller pair_bytes {tail}"


def stopped(*_: object) -> None:
    """The pilot's first seed has fitted."""
    raise InterruptedError


def test_a_budget_for_the_pilot_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seeds tell nothing for sure: what runs today stays, and the answer says that it is spent."""
    monkeypatch.setattr(conduct.Course, "run_race", lambda *_: None)
    monkeypatch.setattr(conduct, "STRESS_SHARE", 1.0)
    monkeypatch.setattr(conduct, "STRESS_DOUBT", 1e9)
    lines: list[str] = []
    found = sw.advise(small(), schemes="ecmp,rps,drill", budget_s=15, say=lines.append)
    assert found.effort.seeds == 3
    assert found.ended == "budget spent"
    assert set(found.tied) == {"ecmp", "rps", "drill"}
    assert all(share.low is None for one in found.entrants for share in one.than_best)
    assert "no time is left to settle it" in lines[0]
    assert "if the pilot's 3 seeds are typical, up to" in lines[0]
    last = found.levels[-1]
    assert found.advised == "ecmp"
    assert last.stands == ("good enough" if "ecmp" in last.near else "undecided")
    if last.look_at is not None:
        text = files.markdown(found)
        assert "**Run.** keep ecmp: nothing is shown to be better yet" in text
        assert f"the most promising is {last.look_at}" in text


def test_time_that_the_tests_leave_goes_to_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of the budget is kept for the tests, which need little of it: the race settles after them."""
    monkeypatch.setattr(conduct, "STRESS_SHARE", 1.0)
    monkeypatch.setattr(conduct, "STRESS_DOUBT", 1e9)
    found = sw.advise(small(), schemes="ecmp,rps", band=0.3, budget_s=60)
    assert found.ended == "settled"
    assert found.effort.seeds > 3
    assert any(case.tried for case in found.cases)


def test_an_aim_that_few_seeds_have() -> None:
    """Long flows of a workload that has almost none: the aim is refused, with on how many seeds it has a value."""
    tiny = small(traffic=[WEB | {"cdf": "ali_storage", "duration_us": 20, "load": 0.1}])
    with pytest.raises(sw.SpecError, match=r"none on \d of 3 seeds") as refused:
        sw.advise(tiny, aims="p99 FCT of long flows of web", schemes="ecmp,rps", budget_s=10)
    assert refused.value.key == "--aim"


def test_flows_that_were_not_kept() -> None:
    """It said that no flow was of that kind, of flows of which the run kept no rows; so of rounds."""
    for traffic in (WEB, {"name": "ring", "kind": "all_reduce", "size_bytes": 6000}):
        unkept = small(traffic=[traffic], metrics={"keep_flows_up_to": 1})
        with pytest.raises(sw.SpecError, match="aims need a row per flow") as refused:
            sw.advise(unkept, schemes="ecmp,rps", budget_s=10)
        assert (refused.value.key, refused.value.value) == ("metrics.keep_flows_up_to", "1")
        most = int(refused.value.allowed.removesuffix(" flows or more").replace(",", ""))
        enough = small(traffic=[traffic], metrics={"keep_flows_up_to": most})
        assert sw.advise(enough, schemes="ecmp,rps", budget_s=2).advised


def test_may_that_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fabric that schemes at the leaves cannot serve, when only leaves may change."""
    text = FABRIC.replace("[[traffic]]", '[scheme]\nname = "conweave"\n[[traffic]]')
    found = refused(spec_file(tmp_path, text), "--may", "leaves", "--schemes", "conweave,ecmp", capsys=capsys)
    assert found["key"] == "--may"
    assert "besides conweave, which runs today" in found["allowed"]
    assert "ecmp: it changes configuration" in str(found["hint"])


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Nodes 16\nConnections 2\n2->11 id 1 start 0 size 2000000\n", "(whole file)"),
        ("[project]\nname = 'other'\n", "(whole file)"),
        ("[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n", "traffic"),
        (FABRIC.replace("leaves = 2", "leafs = 2"), "topology.leafs"),
        (FABRIC + '[[fault]]\nkind = "down"\nends = ["leaf0", "agg0"]\nat_us = 0\n', "fault[0].ends"),
    ],
)
def test_a_file_of_something_else(text: str, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fabric of another tool, a spec without traffic, a wrong key, a link that is not there."""
    found = refused(spec_file(tmp_path, text), capsys=capsys)
    assert found["key"] == key
    assert str(found["file"]).endswith("fabric.toml")
    assert key != "(whole file)" or "`spinewise import`" in str(found["hint"])


def test_nothing_is_advised_where_nothing_finishes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every flow counted with the time it had waited, the same under all schemes: that was called settled."""
    fabric = FABRIC.partition("[[traffic]]")[0]
    text = fabric + '[[traffic]]\nkind = "permutation"\nsize_bytes = 100000\n[run]\nuntil_us = 1\n'
    told = refused(spec_file(tmp_path, text), "--schemes", "ecmp,rps", "--budget", "5s", capsys=capsys)
    assert (told["key"], told["value"]) == ("run.until_us", "1")
    assert "none had finished in" in told["hint"]
