"""A store asked by SQL: what its views hold, what is damaged, what is refused, and how answers are given."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import samples
import spinewise as sw
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.own.load import load_scheme
from spinewise.results import StoreWarning
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.specs.variants import parse, parse_list
from spinewise.sweeps import exported, store, verdicts
from spinewise.sweeps.columns import schema, views
from spinewise.sweeps.local import Local
from spinewise.sweeps.measures import Measure
from spinewise.sweeps.sweep import sweep
from spinewise.sweeps.task import Task
from spinewise.sweeps.views import Views

SMALL: Spec = {**samples.TINY_SPEC, "metrics": {"facts": True}}
SEEDS = (1, 2, 3)


def refuses(spec: Spec, _result: Result) -> int:
    raise ValueError(f"seed {spec['seed']} is not liked")


FAILS = Measure("fails", int, refuses)


def counted(_spec: Spec, result: Result) -> int:
    return len(result.flows)


COUNTED = Measure("counted", int, counted)


def tasks() -> list[Task]:
    """Three runs, two of them with their flows; one with rounds, of which something cannot be read; one that fails."""
    small = [
        Task(sw.resolve(SMALL, seed=seed), (), study="mine", label={"scheme": "plain", "load": 0.3, "seed": seed},
             flows=seed < 3)
        for seed in SEEDS
    ]  # fmt: skip
    wrong: Spec = {**sw.resolve(SMALL, seed=9), "run": {"until_us": -1}}
    return [*small, Task(sw.resolve(samples.TWO_ENTRIES, seed=1), (FAILS,)), Task(wrong, ())]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("filled") / "store"
    with store.opened(place) as ledger:
        done = sweep(tasks(), ledger, engine=Local(2))
        assert (len(done.failed), len(done.unmeasured)) == (1, 1)
    return place


@pytest.fixture
def place(filled: Path, tmp_path: Path) -> Path:
    """A store of one's own, which nobody has asked."""
    return shutil.copytree(filled, tmp_path / "store", ignore=shutil.ignore_patterns(exported.FOLDER))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The views that were read from the ledger."""
    seen: list[str] = []
    usual = Views.table

    def table(self: Views, name: str) -> Any:
        seen.append(name)
        return usual(self, name)

    monkeypatch.setattr(Views, "table", table)
    return seen


def rows(place: Path, sql: str) -> list[dict[str, Any]]:
    return list(sw.query(place, sql).to_pylist())


# ---- what the views hold ----


@pytest.mark.parametrize("name", list(views()))
def test_a_view_has_the_columns_that_are_documented(filled: Path, name: str) -> None:
    found = sw.query(filled, f"from {name}")
    assert isinstance(found, pa.Table)
    view = views()[name]
    assert found.column_names == view.names
    documented = {one.name: one.type for one in schema(view.columns)}
    for one in found.schema:
        wanted = documented[one.name]
        assert one.type == wanted or (pa.types.is_integer(one.type) and pa.types.is_integer(wanted)), one.name
    assert (found.num_rows > 0) == (name != "claims")
    assert all(column.meaning for column in view.columns)


def test_numbers_are_those_of_the_run(filled: Path) -> None:
    spec = sw.resolve(samples.TWO_ENTRIES, seed=1)
    result = sw.run(spec)
    summary = result.summary()
    (run,) = rows(filled, "from runs where name = 'two'")
    assert (run["outcome_hash"], run["status"], run["load"]) == (result.report["outcome_hash"], "done", 0.6)
    assert run["drops"] == summary.facts.drops > 0
    assert run["wire_of_nominal"] == summary.loads["wire_of_nominal"]
    cells = rows(filled, "from cells where name = 'two'")
    assert {one["entry"] for one in cells} == {"all", *(entry.name for entry in summary.asked)}
    for one in cells:
        entry = None if one["entry"] == "all" else one["entry"]
        found = summary.of(one["size_class"], entry)
        assert (one["flows"], one["unfinished"]) == (found.flows, found.unfinished)
        if found.flows:
            assert (one["fct_p99_s"], one["slowdown_mean"]) == (found.fct_s.p99, found.slowdown.mean)
        else:
            assert (one["fct_p99_s"], one["slowdown_mean"]) == (None, None)
    links = rows(filled, "select links.* from links join runs using (key) where runs.name = 'two'")
    wanted = [link for link in result.report["links"] if link["fabric"]]
    assert [(one["name"], one["use"], one["drops"]) for one in links] == [
        (link["name"], link["utilisation"], link["drops"]) for link in wanted
    ]
    (job,) = rows(filled, "from collectives")
    assert (job["entry"], job["mean_s"], job["ranks"]) == ("incast", result.rounds.jobs[0].mean_s, 9)


def test_what_differs_is_told_apart(tmp_path: Path) -> None:
    """Means by scheme and load went over LetFlow with two gaps, over several specs, and over other code of a scheme."""
    place, code = tmp_path / "store", "import spinewise as sw\nclass Mine(sw.SwitchScheme):\n    name = 'mine'\n"
    code += "    Flow = None\n    bias = sw.whole(0, 0, 9, 'Bias.')\n    def pick(self, cx, flow, packet, header):\n"
    specs: list[Spec] = [
        {**SMALL, "scheme": {"name": "letflow"}},
        {**SMALL, "scheme": {"name": "letflow", "params": {"flowlet_gap_us": 50}}},
        {**SMALL, "scheme": {"name": "letflow"}, "topology": {**SMALL["topology"], "spines": 3}},
        {**SMALL, "scheme": {"name": "pdlb", "fabric": "letflow", "fabric_params": {"flowlet_gap_us": 70}}},
        {**SMALL, "scheme": {"name": "conga", "params": {"header_bytes": 4}, "hash": "murmur3"}},
    ]
    wanted = [Task(sw.resolve(spec, seed=seed), ()) for spec in specs for seed in (1, 2)]
    for number in range(2):
        file = tmp_path / f"{number}.py"
        file.write_text(f"{code}        return {number}\n")
        (own,) = parse_list([load_scheme(f"{file}:Mine")])
        wanted.append(Task(sw.resolve(own.apply(SMALL), seed=1), ()))
    with store.opened(place) as ledger:
        assert not sweep(wanted, ledger, engine=Local(2)).failed
    every = "from cells where entry = 'all' and size_class = 'all'"
    sql = f"select variant, count(*) n {every} group by variant, load, cell, engine order by all"
    assert [(one["variant"], one["n"]) for one in rows(place, sql)] == [
        ("conga:scheme.hash=murmur3:scheme.params.header_bytes=4", 2),
        ("letflow", 2),
        ("letflow", 2),
        ("letflow:flowlet_gap_us=50", 2),
        ("mine:bias=0", 1),
        ("mine:bias=0", 1),
        ("pdlb:fabric=letflow:scheme.fabric_params.flowlet_gap_us=70", 2),
    ]
    for spec in specs:
        task = Task(sw.resolve(spec, seed=1), ())
        (told,) = rows(place, f"select variant, cell from runs where key = '{task.key}'")
        assert told["cell"] == task.cell
        # It can be given as it is told.
        assert sw.resolve(parse(told["variant"]).apply({**spec, "scheme": {}}), seed=1) == task.spec


def test_a_run_says_its_transport(tmp_path: Path) -> None:
    """Runs of one scheme over two transports were one variant at one load."""
    place = tmp_path / "store"
    rdma = {**SMALL, "preset": "linux", "transport": {"kind": "rdma", "recovery": "irn"}}
    wanted = [Task(sw.resolve(spec, seed=1), ()) for spec in (SMALL, rdma)]
    with store.opened(place) as ledger:
        assert not sweep(wanted, ledger, engine=Local(2)).failed
    told = rows(place, "select distinct variant, transport from cells order by all")
    assert [tuple(one.values()) for one in told] == [("ecmp", "dctcp, newreno"), ("ecmp", "rdma, irn, dcqcn")]


def test_flows_are_those_of_the_runs_that_keep_them(filled: Path) -> None:
    result = sw.run(sw.resolve(SMALL, seed=2))
    found = sw.query(filled, "select flows.* exclude (key) from flows join runs using (key) where seed = 2")
    assert found.to_pydict() == result.flows.to_pydict()
    assert rows(filled, "select seed from runs where flows_kept order by seed") == [{"seed": 1}, {"seed": 2}]


def test_flows_stay_kept_when_a_run_is_stored_again_without_them(place: Path) -> None:
    """The last run decided, and the flows of the one before lay there unseen."""
    again = Task(sw.resolve(SMALL, seed=2), (COUNTED,))
    with store.opened(place) as ledger:
        assert sweep([again], ledger, engine=Local(1)).made
    kept = rows(place, "select distinct seed, flows_kept from flows join runs using (key) order by seed")
    assert kept == [{"seed": 1, "flows_kept": True}, {"seed": 2, "flows_kept": True}]


def test_flows_of_a_run_with_more_than_are_kept_are_not_said_to_be_kept(tmp_path: Path) -> None:
    """The file was there, without a row. A run without flows has all of them."""
    many: Spec = {**SMALL, "metrics": {"keep_flows_up_to": 0}}
    none: Spec = {**SMALL, "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 1e-6, "duration_us": 1}]}
    wanted = [Task(sw.resolve(spec, seed=1), (), flows=True) for spec in (SMALL, many, none)]
    with store.opened(tmp_path / "store") as ledger:
        sweep(wanted, ledger, engine=Local(1))
        assert not sweep(wanted, ledger, engine=Local(1)).made
    kept = {one["key"]: one["flows_kept"] for one in rows(tmp_path / "store", "select key, flows_kept from runs")}
    assert [kept[task.key] for task in wanted] == [True, False, True]
    assert [one["key"] for one in rows(tmp_path / "store", "select distinct key from flows")] == [wanted[0].key]


def test_a_failed_run_has_its_error_and_no_numbers(filled: Path) -> None:
    (run,) = rows(filled, "select seed, scheme, error, drops, wall_s from runs where status = 'failed'")
    assert run.pop("error").startswith("SpecError: run.until_us = -1: allowed is")
    assert run == {"seed": 9, "scheme": "ecmp", "drops": None, "wall_s": None}


def test_a_run_that_could_not_be_read_whole_says_so_and_has_its_numbers(filled: Path) -> None:
    (run,) = rows(filled, "select name, status, error, unmeasured, drops from runs where unmeasured is not null")
    assert run.pop("drops") > 0
    error = "fails: ValueError: seed 1 is not liked"
    assert run == {"name": "two", "status": "done", "error": None, "unmeasured": error}


def test_places_in_studies_and_specs(filled: Path) -> None:
    joined = "select scheme, load, studies.seed s, label->>'$.seed' t from studies where study = 'mine' order by s"
    assert rows(filled, joined) == [{"scheme": "plain", "load": 0.3, "s": n, "t": str(n)} for n in SEEDS]
    hosts = rows(
        filled, "select spec->>'$.topology.hosts_per_leaf' hosts, count(*) n from specs group by all order by n"
    )
    assert hosts == [{"hosts": "6", "n": 1}, {"hosts": "2", "n": 4}]


def test_verdicts_are_kept_and_replaced(place: Path) -> None:
    first = verdicts.Judged("C1-01", "", "7a", "it is best", "holds", "one\ntwo")
    with store.opened(place) as ledger:
        verdicts.keep(
            ledger, "mine-1", "quick", [first, verdicts.Judged("C1-02", "lossless", "7b", "it is so", "holds", "")]
        )
        verdicts.keep(ledger, "mine-1", "full", [first])
        verdicts.keep(
            ledger, "mine-1", "quick", [verdicts.Judged("C1-01", "", "7a", "it is best", "does not hold", "")]
        )
    found = rows(place, "select effort, claim, verdict, evidence from claims order by effort")
    assert found == [
        {"effort": "full", "claim": "C1-01", "verdict": "holds", "evidence": "one\ntwo"},
        {"effort": "quick", "claim": "C1-01", "verdict": "does not hold", "evidence": ""},
    ]


def test_an_empty_store_has_all_views(tmp_path: Path) -> None:
    with store.opened(tmp_path / "new"):
        pass
    for name in views():
        assert rows(tmp_path / "new", f"from {name}") == []


# ---- what is read, and when ----


def test_a_run_is_read_from_the_ledger_once(place: Path, read: list[str]) -> None:
    answers = [rows(place, "from cells order by all") for _ in range(2)]
    assert answers[0] == answers[1]
    assert read == ["cells"]
    before = rows(place, "select count(*) n from runs")
    with store.opened(place) as ledger:
        sweep([Task(sw.resolve(SMALL, seed=20), ())], ledger, engine=Local(1))
        # While a sweep holds the store, others may ask.
        assert rows(place, "select count(*) n from runs") == [{"n": before[0]["n"] + 1}]
    assert len(rows(place, "from cells where seed = 20")) == len(rows(place, "from cells where seed = 2")) > 0
    assert len(list((place / exported.FOLDER).glob("cells-*"))) == 1


def test_other_code_reads_the_ledger_again(
    place: Path, read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the present code reads came from files of code that read otherwise."""
    assert {*exported.READERS} >= {"views.py", "variant.py", "basics.py"}
    before = rows(place, "select variant from runs")
    changed = tmp_path / "variant.py"
    changed.write_text("other code")
    monkeypatch.setattr(exported, "READERS", (*exported.READERS, str(changed)))
    monkeypatch.setattr("spinewise.sweeps.views.variant_of", lambda _: "by other code")
    after = rows(place, "select variant from runs")
    assert read == ["runs", "runs"]
    assert after == [{"variant": "by other code"}] * len(before) != before
    assert rows(place, "select variant from runs") == after
    assert len(read) == 2


@pytest.mark.parametrize("sql", ["select count(*) n from runs", "select count(distinct key) n from cells"])
def test_a_query_sees_the_store_as_it_was_when_it_began(place: Path, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    """A run that was stored between two looks at the ledger ended in a KeyError: each query while a sweep wrote."""
    before = rows(place, sql)
    shutil.rmtree(place / exported.FOLDER)
    usual, seeds = Views.texts, iter(range(100, 200))

    def texts(self: Views, specs: Any) -> Any:
        found = usual(self, specs)
        with store.opened(place) as ledger:
            assert sweep([Task(sw.resolve(SMALL, seed=next(seeds)), ())], ledger, engine=Local(1)).made
        return found

    monkeypatch.setattr(Views, "texts", texts)
    assert rows(place, sql) == before
    monkeypatch.undo()
    assert rows(place, sql) == [{"n": before[0]["n"] + 1}]


@pytest.mark.parametrize("times", [1, 2])
def test_exports_that_others_remove_are_made_again_or_done_without(
    place: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """Those who ask at the same time replace each other's: the answer was that the SQL is wrong."""
    usual = exported.export
    left = [times]

    def export(*given: Any) -> Any:
        found = usual(*given)
        if left[0] and given[1] == "cells":
            left[0] -= 1
            shutil.rmtree(place / exported.FOLDER)
        return found

    monkeypatch.setattr(exported, "export", export)
    sql = "select count(*) n from cells join runs using (key) where status = 'done'"
    assert rows(place, sql)[0]["n"] > 0
    assert left == [0]


def test_a_whole_thousand_that_is_gone_is_read_from_the_ledger(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows of a view lie partly in files and partly in memory, pyarrow reads the files."""
    monkeypatch.setattr(exported, "ROWS", 2)
    wanted = rows(place, "from runs order by key")
    usual = exported.export

    def export(*given: Any) -> Any:
        found = usual(*given)
        found.tables.append(parquet.read_table(found.files.pop()))
        shutil.rmtree(place / exported.FOLDER)
        return found

    monkeypatch.setattr(exported, "export", export)
    assert rows(place, "from runs order by key") == wanted


def test_whole_thousands_are_written_as_a_sweep_ends(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported, "ROWS", 2)
    with store.opened(place) as ledger:
        sweep([], ledger)
    numbers = {file.name.split("-")[1] for file in (place / exported.FOLDER).iterdir()}
    assert numbers == {"000000", "000001"}
    assert len(rows(place, "from runs")) == 5


def test_a_store_that_cannot_be_written_is_answered_from(place: Path, read: list[str]) -> None:
    (place / exported.FOLDER).write_text("in the way")
    assert len(rows(place, "from runs")) == len(rows(place, "from runs")) == 5
    assert read == ["runs", "runs"]


def test_a_store_that_only_others_may_write_is_answered_from(place: Path) -> None:
    """It was refused, for it "cannot be opened for writing"; damaged files that cannot be removed are read past."""
    rows(place, "from links")
    (file,) = (place / exported.FOLDER).glob("links-*")
    file.write_bytes(b"no")
    folders = [place, *(one for one in place.iterdir() if one.is_dir())]
    # Root may write everywhere, unless it gives that up.
    without = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    code = "import sys, spinewise as sw; print([sw.query(sys.argv[1], f'from {v}').num_rows for v in sys.argv[2:]])"
    try:
        for folder in folders:
            folder.chmod(0o555)
        words = [*without, sys.executable, "-c", code, str(place), "runs", "links", "flows", "specs"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    finally:
        for folder in folders:
            folder.chmod(0o755)
    wanted = [len(rows(place, f"from {view}")) for view in ("runs", "links", "flows", "specs")]
    assert (done.stdout.strip(), done.returncode) == (str(wanted), 0), done.stderr


# ---- what an answer looks like ----


def test_columns_of_one_name_are_told_apart(filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first of them had the values of the last, and pyarrow could not read the file."""
    sql = "select links.name, runs.name, runs.seed as name_1, links.name from links join runs using (key)"
    found = sw.query(filled, sql)
    assert found.column_names == ["name", "name_2", "name_1", "name_3"]
    assert set(found.column("name_2").to_pylist()) == {"tiny", "two"}
    assert found.column("name").to_pylist() == found.column("name_3").to_pylist() != found.column("name_2").to_pylist()
    assert main(["query", sql, "--store", str(filled), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.to_pylist()
    file = tmp_path / "joined.parquet"
    assert main(["query", "from links join runs using (key)", "--store", str(filled), "--parquet", str(file)]) == 0
    names = parquet.read_table(file).column_names
    assert len(names) == len(set(names))


def test_views_are_shown_and_pivoted(filled: Path) -> None:
    """The one gave an empty table, and of the other it was said that it changes something."""
    assert {one["name"] for one in rows(filled, "show tables")} == set(views())
    assert {one["table_name"] for one in rows(filled, "select table_name from information_schema.tables")} == set(
        views()
    )
    assert [one["column_name"] for one in rows(filled, "describe claims")] == views()["claims"].names
    (pivoted,) = rows(filled, "pivot (select status, seed from runs) on status using count(seed)")
    assert pivoted == {"done": 4, "failed": 1}
    assert rows(filled, "with p as (pivot (select status from runs) on status) select done from p") == [{"done": 4}]


def test_lists_and_the_like_are_printed(filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "select [1.5::double, 'nan'] l, {'a': [seed, null]} s, interval 1 day i, sum(seed)::hugeint n, 'x,\"y' t"
    sql += " from runs where seed = 3 group by seed"
    assert asked(filled, sql, "--csv") == 0
    out = capsys.readouterr().out
    assert list(csv.reader(io.StringIO(out)))[1] == [
        "[1.5, null]", '{"a": [3, null]}', "MonthDayNano(months=0, days=1, nanoseconds=0)", "3", 'x,"y',
    ]  # fmt: skip
    assert asked(filled, sql, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["l"], found["s"], found["n"], found["t"]) == ([1.5, None], {"a": [3, None]}, 3, 'x,"y')
    assert asked(filled, sql, "--parquet", str(tmp_path / "a.parquet")) == 2
    assert "allowed  columns that a Parquet file can hold" in capsys.readouterr().err


# ---- what is damaged ----


def test_a_damaged_file_of_flows_is_named_and_left_out(place: Path) -> None:
    whole = rows(place, "from flows")
    file = next((place / "flows").iterdir())
    content = file.read_bytes()
    for damaged in (b"", b"PAR1 no", content[: len(content) // 2], content[:8] + bytes(2000) + content[2008:]):
        file.write_bytes(damaged)
        with pytest.warns(
            StoreWarning, match=rf"{file.name} is damaged .*: the flows of run {file.stem[:12]}… are left"
        ):
            left = rows(place, "from flows")
        assert left == [one for one in whole if one["key"] != file.stem]
        # What asks for nothing of it says nothing of it.
        assert len(rows(place, "from runs")) == 5


def test_files_of_flows_may_have_other_columns(place: Path) -> None:
    files = sorted((place / "flows").iterdir())
    whole = rows(place, "from flows order by key, flow")
    table = parquet.read_table(files[0])
    parquet.write_table(table.drop_columns(["nacks"]), files[0])
    wanted = [{**one, "nacks": None} if one["key"] == files[0].stem else one for one in whole]
    assert rows(place, "select key, flow, nacks from flows order by all") == [
        {name: one[name] for name in ("key", "flow", "nacks")} for one in wanted
    ]


def test_a_damaged_export_is_made_anew(place: Path) -> None:
    whole = rows(place, "from links order by all")
    (file,) = (place / exported.FOLDER).glob("links-*")
    for damaged in (b"no", file.read_bytes()[:200]):
        file.write_bytes(damaged)
        assert rows(place, "from links order by all") == whole


def test_a_damaged_measurement_is_told_each_time(place: Path) -> None:
    with sqlite3.connect(place / store.LEDGER) as connection:
        connection.execute("UPDATE measurements SET crc = crc + 1 WHERE key = (SELECT key FROM runs WHERE seed = 2)")
    connection.close()
    for _ in range(2):
        with pytest.warns(StoreWarning, match="1 of 5 runs: numbers damaged, or of another version"):
            assert {one["seed"] for one in rows(place, "select seed from cells where load = 0.3")} == {1, 3}


def test_a_damaged_spec_is_told_and_the_rest_is_answered(place: Path) -> None:
    """Every query ended in a traceback."""
    with sqlite3.connect(place / store.LEDGER) as connection:
        ((key,),) = connection.execute("SELECT key FROM runs WHERE seed = 2").fetchall()
        connection.execute("UPDATE runs SET spec = ? WHERE seed = 2", (b"damaged",))
        connection.execute("UPDATE runs SET spec = ? WHERE seed = 3", (zlib.compress(b"[1]"),))
    connection.close()
    with store.reading(place) as ledger, pytest.raises(SpecError, match=f"the spec of run {key[:12]}… is damaged"):
        ledger.spec(key)
    for sql in ("from runs", "from cells", "from specs"):
        with pytest.warns(StoreWarning, match="2 of 5 runs: spec damaged"):
            assert rows(place, sql)
    with pytest.warns(StoreWarning):
        loads = rows(place, "select seed, load, spec is null gone from runs join specs using (key) where name <> 'two'")
    assert {one["seed"] for one in loads if one["load"] is None} == {2, 3}
    assert {one["seed"] for one in loads if one["gone"]} == {2, 3}


# ---- what is refused ----


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select fct_p9 from cells", r'columns of cells: key, name, .*fct_p99_s.*"fct_p9" not found.*"fct_p99_s"'),
        ("from cell", r'a query over runs, cells, links.*Table with name cell does not exist.*did you mean "cells"'),
        ("selec 1", 'syntax error at or near "selec"'),
        ("", "one read-only statement: SELECT.*there are 0 statements"),
        ("select 1; select 2", "there are 2 statements"),
        ("drop table runs", "this one does more than read"),
        ("copy runs to 'runs.csv'", "this one does more than read"),
        ("install httpfs", "this one does more than read"),
        ("select entry + 1 from cells", r"columns of cells: key.*No function matches .* explicit type casts\.\)$"),
        ("from 'https://a.b/c.parquet'", "requires the extension httpfs"),
    ],
)
def test_wrong_queries_are_refused_on_a_line(filled: Path, sql: str, told: str) -> None:
    with pytest.raises(SpecError, match=told) as caught:
        sw.query(filled, sql)
    assert "\n" not in str(caught.value)


def test_variables_of_python_are_no_tables(filled: Path) -> None:
    a_table = pa.table({"a": [1]})
    assert a_table.num_rows
    with pytest.raises(SpecError, match="a_table does not exist"):
        sw.query(filled, "from a_table")


def test_a_folder_without_a_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"a folder with ledger\.sqlite"):
        sw.query(tmp_path, "from runs")


# ---- the command ----


def asked(place: Path, *words: str) -> int:
    return main(["query", *words, "--store", str(place)])


def test_a_table_shows_a_few_digits_of_keys(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each block of columns repeated 64 digits, so that two cells took eight blocks."""
    sql = "select key, scheme from cells order by all limit 1"
    assert asked(filled, sql, "--csv") == 0
    key = capsys.readouterr().out.splitlines()[1].split(",")[0].strip('"')
    assert len(key) == 64
    assert asked(filled, sql) == 0
    assert f" {key[:12]}… " in capsys.readouterr().out
    # Two rows of 80 columns were some twenty tables.
    assert asked(filled, "select * from cells limit 2") == 0
    out = capsys.readouterr().out
    assert out.split()[:5] == ["column", "row", "1", "row", "2"]
    assert sum(line.split()[:1] == ["scheme"] for line in out.splitlines()) == 1


def test_the_command_shows_a_table_with_units_in_its_names(filled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(filled, "select scheme, load, fct_mean_s, fct_mean_s from cells where entry = 'all' limit 1") == 0
    heads, _, row = [line for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert heads.split()[:3] == ["scheme", "load", "fct_mean_s"]
    assert row.split()[:2] == ["ecmp", "0.3"]
    assert asked(filled, "from links cross join runs") == 0
    assert "more rows: --csv, --json and --parquet FILE give all" in capsys.readouterr().out
    assert asked(filled, "from claims") == 0
    assert "no rows" in capsys.readouterr().out


def test_the_command_gives_csv_json_and_parquet(
    filled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "select seed, status, drops, finished_at from runs order by seed"
    assert asked(filled, sql, "--csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], len(lines)) == ('"seed","status","drops","finished_at"', 6)
    assert asked(filled, sql, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["seed"] for one in found] == [1, 1, 2, 3, 9]
    assert (found[-1]["status"], found[-1]["drops"]) == ("failed", None)
    file = tmp_path / "found.parquet"
    assert asked(filled, sql, "--parquet", str(file)) == 0
    assert parquet.read_table(file).num_rows == 5
    assert asked(filled, sql, "--parquet", str(file)) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert asked(filled, sql, "--parquet", str(file), "--force") == 0
    assert asked(filled, sql, "--json", "--csv") == 2
    assert asked(filled, sql, "--force") == 2


def test_the_command_names_what_is_damaged(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = next((place / "flows").iterdir())
    file.write_bytes(b"no")
    assert asked(place, "select count(*) from flows") == 0
    assert f"spinewise: note: {file} is damaged" in capsys.readouterr().err
