"""What follows from the fabric is told: by `validate` with how it came about, by `run` on one line, and in results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.show import worked_out as shown
from spinewise.specs.spec import worked_out

LINUX = """
preset = "linux"

[topology]
leaves = 2
spines = 2
hosts_per_leaf = 2

[[traffic]]
kind = "permutation"
size_bytes = 9000
"""


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    """A small spec of hosts of today."""
    path = tmp_path / "linux.toml"
    path.write_text(LINUX)
    return path


def test_validate_says_what_and_how(linux: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(linux)]) == 0
    out = capsys.readouterr().out
    assert "derived from the fabric:" in out
    assert "transport.min_rto_us" in out
    assert "5 ms, or ten base round trips" in out


def test_a_preset_of_papers_works_nothing_out(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert worked_out(tiny) == []
    assert main(["validate", str(tiny)]) == 0
    assert "worked out" not in capsys.readouterr().out
    assert shown.block([]) == shown.line([]) == []


def test_run_tells_the_values_and_keeps_them(linux: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(linux), "--out", str(tmp_path / "kept")]) == 0
    assert "from the fabric: transport.min_rto_us 5,000" in capsys.readouterr().out
    report = json.loads((tmp_path / "kept" / "run.json").read_text())["report"]
    assert report["worked_out"][0]["key"] == "transport.min_rto_us"


def test_specs_without_a_preset_mean_hosts_of_today() -> None:
    spec = sw.resolve({"traffic": [{"kind": "permutation", "size_bytes": 1}]})
    assert (spec["preset"], spec["transport"]["recovery"], spec["transport"]["kind"]) == ("linux", "rack", "dctcp")
