from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spinewise import core
from spinewise.docs import compared
from spinewise.papers.pdlb import table03
from spinewise.show.markdown import line


def rows(page: str, title: str) -> dict[str, str]:
    section = page.split(f"## {title}")[1].split("\n## ", maxsplit=1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return {line.split("`")[1]: line for line in lines}


def test_every_scheme_that_is_built_is_compared_and_no_other() -> None:
    page = compared.page()
    built = {str(entry["name"]) for entry in core.registry()["schemes"]}
    schemes = {name for name in built if not name.startswith("loopback")}
    assert set(rows(page, "Time against")) == schemes
    # MEET's Table 1 has a transport among them.
    assert set(rows(page, "All schemes")) == {*schemes, "mptcp"}
    fabrics = rows(page, "Fabrics")
    assert set(fabrics) == schemes
    assert "| fat_tree | leaves and aggregation switches" in fabrics["lbsp"]
    assert "| any | every switch that has a choice" in fabrics["letflow"]
    assert "names a whole path" in fabrics["presto"]
    assert set(rows(page, "Against PDLB")) == set(compared.PDLB_TABLE_1)
    # What MEET's Table 1 has of them.
    of_meet = rows(page, "All schemes")
    assert "| flow | switches" in of_meet["ecmp"]
    assert "| no |" in of_meet["ecmp"]
    assert "| flowlet | switches (leaf, spine)" in of_meet["conga"]
    assert "its own queues" in of_meet["drill"]
    assert "| subflow | host | paths it has met itself |" in of_meet["mptcp"]
    assert all("flow" in line for line in rows(page, "Flowlets and").values())


def test_what_is_said_not_to_be_here_is_not() -> None:
    built = {str(entry["name"]).replace("_", "") for entry in core.registry()["schemes"]}
    section = compared.page().split("## Not here, and why")[1]
    for name, *facts in compared.UNBUILT:
        assert name.lower() not in built
        assert all(line((name, *facts)) in section and fact for fact in facts)
    # The page names these as built.
    assert {"luopan", "ttc", "sred"} <= built


def test_a_scheme_that_says_nothing_is_said_to() -> None:
    entry: dict[str, Any] = {"name": "mute", "compared": None}
    assert compared.fact("aware")(entry) == compared.UNSAID


def record(scheme: str, paths: int, pick: float, tick: float | None) -> dict[str, Any]:
    parts = {"pick_ns": pick, "egress_ns": None, "feedback_ns": None, "tick_ns": tick}
    return {"name": "x", "scheme": scheme, "paths": paths, "peers": 16, "reference_ns": 9.0, **parts}


def test_the_measured_table_names_the_growth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = table03
    records = [record("pdlb", n, 10.0, 5.0 * n) for n in (4, 16, 64, 256)]
    records += [record("ecmp", n, 0.5 * n * n, None) for n in (4, 16, 64, 256)]
    (tmp_path / "bench.json").write_text(json.dumps(records))
    module.main(["--json", str(tmp_path / "bench.json")])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    assert [line.split(" | ")[1] for line in lines] == ["one decision", "one tick", "one decision"]
    assert [line.split(" | ")[-1] for line in lines] == ["n^0.00 |", "n^1.00 |", "n^2.00 |"]
    assert "O(1)" in lines[0]
    assert "1,280" in lines[1]


def test_decisions_are_measured_for_every_scheme_that_says_how_it_compares() -> None:
    records = core.bench("decisions", rounds=1, share=0.001)
    said = {str(entry["name"]) for entry in compared.schemes() if entry["compared"] is not None}
    assert {str(one["scheme"]) for one in records} == said
    assert all(one["pick_ns"] > 0 for one in records)
    assert "| `ecmp` | one decision | O(1) |" in table03.table(records)
