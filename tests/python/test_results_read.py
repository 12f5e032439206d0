"""Reading results: only what is of a known format, complete and unchanged; the rest is refused in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import spinewise as sw
from samples import TINY_SPEC
from spinewise import Result, SpecError, compare, read, run, write
from spinewise.cli import main
from spinewise.lab import cost, machine
from spinewise.runs import formats


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("kept") / "run"
    short: dict[str, Any] = {**TINY_SPEC, "traffic": [{**TINY_SPEC["traffic"][0], "duration_us": 2000}]}
    return run(short).write(folder)


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    copy = tmp_path / "run"
    copy.mkdir()
    for path in kept.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    return copy


def changed(folder: Path, change: Callable[[Any], object]) -> None:
    """Change the record."""
    record = json.loads((folder / "run.json").read_text())
    change(record)
    (folder / "run.json").write_text(json.dumps(record))


def test_what_was_written_is_read(folder: Path) -> None:
    found = Result.read(folder)
    assert found.flows.num_rows == found.report["flows"]
    files = ["collectives.parquet", "flows.parquet", "run.json", "series.parquet"]
    assert json.loads((folder / "run.json").read_text())["files"] == files


RECORDS: dict[str, tuple[Callable[[Any], object], str, str]] = {
    "newer": (lambda r: r.update(format="spinewise-run-99"), "format", "a newer Spinewise"),
    "never written": (lambda r: r.update(format="spinewise-run-0"), "format", "no Spinewise has written that version"),
    "other": (lambda r: r.update(format="spinewise-compare-1"), "format", "spinewise compare"),
    "odd": (lambda r: r.update(format=["spinewise-run-1"]), "format", '"spinewise-run-1"'),
    "none": (lambda r: r.pop("format"), "format", "(nothing)"),
    "no report": (lambda r: r.pop("report"), "report", "a table"),
    "empty report": (lambda r: r.update(report={}), "report.counters", "a table"),
    "report of another type": (lambda r: r["report"].update(links=5), "report.links", "a list"),
    "empty spec": (lambda r: r.update(spec={}), "spec.topology", "a table"),
    "changed spec": (lambda r: r["spec"]["topology"].update(leaves=99_999), "spec_hash", "changed after"),
    "other flows": (lambda r: r["report"].update(flows=3), "rows", "as the record says"),
    "no seed": (lambda r: r.pop("seed"), "seed", "a whole number"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_record_of_another_format_is_refused(folder: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, key, said = RECORDS[case]
    changed(folder, change)
    with pytest.raises(SpecError) as caught:
        Result.read(folder)
    assert caught.value.key == key
    assert said in str(caught.value)
    assert main(["export", str(folder), "--fct", str(folder / "fct.txt")]) == 2
    assert main(["explain", str(folder), "--flow", "1"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert "run.json" in err or "parquet" in err


@pytest.mark.parametrize("content", ["", "{", "[]", "5", '"text"', "[" * 100_000, "\0"])
def test_what_is_no_record_is_refused(folder: Path, content: str) -> None:
    (folder / "run.json").write_text(content)
    with pytest.raises(SpecError):
        Result.read(folder)


def test_a_folder_without_a_record_is_named_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "."]) == 2
    err = capsys.readouterr().err
    assert "value    .\n" in err
    assert "it holds no run.json" in err


def test_missing_columns_are_named(folder: Path) -> None:
    table = parquet.read_table(folder / "flows.parquet")
    parquet.write_table(table.drop_columns(["tcp", "src"]), folder / "flows.parquet")
    with pytest.raises(SpecError, match="missing: src, tcp"):
        Result.read(folder)


def test_columns_of_another_type_or_with_gaps_are_refused(folder: Path) -> None:
    table = parquet.read_table(folder / "flows.parquet")
    at = table.schema.names.index("src")
    words = table.set_column(at, "src", pa.array(["x"] * table.num_rows))
    parquet.write_table(words, folder / "flows.parquet")
    with pytest.raises(SpecError, match="column src"):
        Result.read(folder)
    gaps = table.set_column(at, "src", pa.array([None] * table.num_rows, pa.uint32()))
    parquet.write_table(gaps, folder / "flows.parquet")
    with pytest.raises(SpecError, match="empty cells"):
        Result.read(folder)


@pytest.mark.parametrize("name", ["flows.parquet", "series.parquet"])
@pytest.mark.parametrize("spoil", ["gone", "empty", "folder", "text", "device"])
def test_spoilt_tables_are_refused(folder: Path, name: str, spoil: str) -> None:
    path = folder / name
    path.unlink()
    if spoil == "folder":
        path.mkdir()
    elif spoil == "device":
        path.symlink_to("/dev/zero")
    elif spoil != "gone":
        path.write_text("" if spoil == "empty" else "no Parquet")
    with pytest.raises(SpecError, match=name):
        Result.read(folder)


@pytest.mark.parametrize("kind", formats.ALL)
def test_folders_of_other_results_are_told_apart(tmp_path: Path, kind: formats.Format) -> None:
    if kind is formats.RUN:
        (tmp_path / "run.json").symlink_to("/dev/zero")
    else:
        (tmp_path / kind.record).write_text("{}")
    with pytest.raises(SpecError) as caught:
        Result.read(tmp_path)
    assert caught.value.key == "RUN"
    assert ("a device" if kind is formats.RUN else kind.by) in str(caught.value.hint)


def test_costs_of_an_agent_are_results_that_may_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--force` refused what the same command had written."""
    monkeypatch.setattr(machine, "looked_at", lambda: None)
    monkeypatch.setattr(cost, "measured", lambda *_: cost.Costs([], 1, 1, 0.1, 2))
    words = ["lab", "cost", "--out", str(tmp_path / "cost")]
    assert main(words) == 0
    assert main([*words, "--force"]) == 0
    assert json.loads((tmp_path / "cost" / "cost.json").read_text())["format"] == "spinewise-cost-1"
    assert main(["report", str(tmp_path / "cost"), "--out", str(tmp_path / "page.html")]) == 2
    assert "results of `spinewise lab cost`" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["none", "file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecError, match="a results folder of one run"):
        Result.read(tmp_path / name)


def changes(record: Any, random: Random) -> None:
    """Change one thing anywhere in a record."""
    node, other = record, [None, 5, "x", [], {}, -1, 1e308, [5], {"a": 1}]
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = random.choice(keys)
        if isinstance(node[key], dict | list) and random.random() < 0.8:
            node = node[key]
            continue
        if random.random() < 0.3:
            del node[key]
        else:
            node[key] = random.choice(other)
        return


def test_records_changed_anywhere_are_read_or_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random, text = Random(1), (folder / "run.json").read_text()
    refused = 0
    for _ in range(150):
        record = json.loads(text)
        changes(record, random)
        (folder / "run.json").write_text(json.dumps(record))
        refused += main(["export", str(folder), "--fct", str(tmp_path / "fct"), "--force"]) == 2
        with suppress(SpecError):
            Result.read(folder).run_record()
    assert refused > 40
    assert "Traceback" not in capsys.readouterr().err


def test_comparisons_changed_anywhere_are_read_or_refused(tmp_path: Path) -> None:
    short: dict[str, Any] = {**TINY_SPEC, "traffic": [{**TINY_SPEC["traffic"][0], "duration_us": 1000}]}
    write(compare(short, "ecmp,rps", seeds=2), tmp_path / "out")
    file = tmp_path / "out" / "compare.json"
    random, text = Random(1), file.read_text()
    for _ in range(150):
        record = json.loads(text)
        changes(record, random)
        file.write_text(json.dumps(record))
        with suppress(SpecError):
            read(tmp_path / "out")


def test_a_flow_that_takes_no_time_has_finished() -> None:
    """A transmission time rounded down to 0 ns over links without delay: 0 stands for flows that never ended."""
    spec = {
        "topology": {
            "leaves": 2, "spines": 1, "hosts_per_leaf": 1, "host_rate_gbps": 400, "fabric_rate_gbps": 400,
            "host_delay_ns": 0, "fabric_delay_ns": 0, "tx_time_rounding": "floor_1ns",
        },
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 3}]}],
    }  # fmt: skip
    result = sw.run(spec)
    assert result.report["finished"] == 1
    assert result.flows["fct_ps"].to_pylist() == [1]
