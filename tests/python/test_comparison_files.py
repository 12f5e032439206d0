"""The tables that a comparison leaves: their columns with unit and meaning, and curves with their levels."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import parquet

import spinewise as sw
from samples import TINY_SPEC
from spinewise.comparison import files, kept
from spinewise.comparison.cells import Comparison
from spinewise.comparison.columns import CELLS, CURVES
from spinewise.shapes import Spec
from spinewise.sweeps.columns import Column, schema
from spinewise.sweeps.tables import signed, unsigned


@pytest.fixture(scope="module")
def found() -> Comparison:
    return sw.compare(TINY_SPEC, "ecmp,rps", seeds=2)


@pytest.fixture(scope="module")
def out(found: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("comparison") / "out"
    sw.write(found, place)
    return place


@pytest.mark.parametrize(("file", "declared"), [("cells.parquet", CELLS), ("curves.parquet", CURVES)])
def test_columns_have_unit_and_meaning(out: Path, file: str, declared: tuple[Column, ...]) -> None:
    """Only the tables of runs had them; a load that was not given made a column of no type."""
    there = parquet.read_schema(out / file)
    assert there.equals(schema(declared))
    for field in there:
        told = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        assert told.get("meaning"), field.name
        assert (told["unit"] == "s") == field.name.endswith("_s"), field.name
        assert (told["unit"] == "bytes") == ("bytes" in field.name or "_queue_" in field.name), field.name


def test_cells_have_the_numbers_of_the_runs(found: Comparison, out: Path) -> None:
    rows = parquet.read_table(out / "cells.parquet").to_pylist()
    (row,) = [one for one in rows if (one["scheme"], one["seed"]) == ("rps", 2)
              and (one["entry"], one["size_class"]) == ("all", "all")]  # fmt: skip
    (cell,) = [one for one in found.cells if (one.label, one.seed) == ("rps", 2)]
    assert (row["load"], row["fct_p99_s"]) == (None, cell.value("all", "fct_s.p99"))
    facts = cell.summary.facts.flat()
    assert repr({name: row[name] for name in facts}) == repr(facts), "which have NaN"


def test_curves_have_the_level_of_each_value(found: Comparison, out: Path) -> None:
    """Lists of 120 values stood there, of which nothing told what they belong to."""
    for row in parquet.read_table(out / "curves.parquet").to_pylist():
        assert len(row["level"]) == len(row["fct_s"]) == len(row["slowdown"])
        (cell,) = [one for one in found.cells if (one.label, one.seed) == (row["scheme"], row["seed"])]
        entry = None if row["entry"] == "all" else row["entry"]
        for quantity in ("fct_s", "slowdown"):
            at = dict(zip(row["level"], row[quantity], strict=True))
            assert (at[0.1], at[0.5]) == tuple(cell.value("all", f"{quantity}.{p}", entry) for p in ("p10", "p50"))
        assert sum(row["size_flows"]) == row["flows"]


def test_curves_of_before_are_read_without_their_levels(out: Path, tmp_path: Path) -> None:
    whole = kept.read_curves(out / "curves.parquet")
    parquet.write_table(parquet.read_table(out / "curves.parquet").drop_columns(["level"]), tmp_path / "curves.parquet")
    assert whole
    assert repr(kept.read_curves(tmp_path / "curves.parquet")) == repr(whole)


def test_what_never_finished_leaves_figures_out(tmp_path: Path) -> None:
    """A comparison of runs without a finished round drew a figure without a panel, and wrote nothing."""
    spec: Spec = {
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
        "traffic": [{"kind": "permutation", "size_bytes": 10**6}],
        "run": {"until_us": 20},
    }
    files.write(sw.compare(spec, "ecmp,rps", seeds=2), tmp_path / "out")
    assert (tmp_path / "out" / "compare.json").exists()
    assert not list((tmp_path / "out").glob("jobs*"))


def test_a_greatest_seed_is_kept_as_it_is(tmp_path: Path) -> None:
    """SQLite has whole numbers of 63 bits and a sign."""
    seed = 2**64 - 1
    spec: Spec = {
        "seed": seed,
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
        "traffic": [{"kind": "permutation", "size_bytes": 1000}],
    }
    sw.compare(spec, "ecmp,rps", seeds=1, store=tmp_path / "store")
    found = sw.query(tmp_path / "store", "select distinct seed from runs")
    assert found.to_pylist() == [{"seed": seed}]
    assert [unsigned(signed(one)) for one in (0, 1, 2**63 - 1, 2**63, seed)] == [0, 1, 2**63 - 1, 2**63, seed]
    with pytest.raises(sw.SpecError) as refused:
        sw.compare(spec, "ecmp,rps", seeds=2)
    assert (refused.value.key, refused.value.allowed) == ("--seeds", f"at most 1 from seed {seed} on")
