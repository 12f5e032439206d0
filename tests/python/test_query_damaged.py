"""A store whose ledger has values that its columns cannot have: the rest is answered, and what to do is told."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.errors import SpecError
from spinewise.results import StoreWarning
from spinewise.sweeps import store
from test_studies import STUDY, place

ALL = 8


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = place(tmp_path, STUDY)
    sw.sweep(path, store=tmp_path / "store", jobs=1)
    return path


def changed(study: Path, sql: str) -> Path:
    """The store of a study, after a change of its ledger by hand."""
    folder = study.parent / "store"
    connection = sqlite3.connect(folder / store.LEDGER)
    connection.execute(sql)
    connection.commit()
    connection.close()
    return folder


@pytest.mark.parametrize(
    "change",
    [
        "key = X'ff00'",
        "key = NULL",
        "seed = 'abc'",
        "wall_seconds = 'x'",
        "scheme = X'ff'",
        "spec = 'text'",
        "flows = X''",
    ],
)
def test_damaged_rows_of_runs_are_left_out_and_named(study: Path, change: str) -> None:
    """Queries ended in a traceback of Arrow's, or of a number that is none."""
    folder = changed(study, f"UPDATE runs SET {change} WHERE rowid = 3")
    said = r"ledger\.sqlite is damaged in 1 row of runs \(3\), left out here; nothing else is lost\. Remove them"
    for view in ("runs", "cells", "specs"):
        with pytest.warns(StoreWarning, match=said):
            assert sw.query(folder, f"select distinct key from {view}").num_rows == ALL - 1
    changed(study, "DELETE FROM runs WHERE rowid IN (3)")
    assert sw.sweep(study, store=folder, jobs=1).made == 1
    assert sw.query(folder, "from runs").num_rows == ALL


@pytest.mark.parametrize("change", ["key = X'ff'", "label = '{'", "label = X'ff'", "study = X'00'"])
def test_damaged_places_of_studies_are_left_out_and_named(study: Path, change: str) -> None:
    folder = changed(study, f"UPDATE labels SET {change} WHERE rowid = (SELECT max(rowid) FROM labels)")
    with pytest.warns(StoreWarning, match=r"is damaged in 1 row of labels \(\d+\), left out here"):
        assert sw.query(folder, "from studies").num_rows == ALL - 1


def test_text_that_cannot_be_decoded_is_called_damage(study: Path) -> None:
    """It was called a problem of writing, after which the same command continues."""
    folder = changed(study, "UPDATE runs SET scheme = CAST(X'ff' AS TEXT) WHERE rowid = 3")
    with pytest.raises(SpecError, match="its ledger is damaged") as refused:
        sw.query(folder, "from runs")
    assert str(folder) in str(refused.value)
