"""What `make quick` and `make build` do to a fresh checkout, with a stand-in for maturin that notes its calls."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MATURIN = """#!/bin/sh
echo "$@" >> calls
mkdir -p python/spinewise && touch python/spinewise/_core.abi3.so
"""
INSTALLS_QUICK = "develop --profile quick --quiet"
QUICK = "develop --profile quick --skip-install --quiet"
INSTALLS_RELEASE = "develop --release --quiet"
RELEASE = "develop --release --skip-install --quiet"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a source of the engine, and an environment that has what `make` calls."""
    source = tmp_path / "crates" / "py" / "src" / "lib.rs"
    for path in (source, tmp_path / "pyproject.toml", tmp_path / "requirements-dev.txt", tmp_path / "Cargo.toml"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name, script in {"maturin": MATURIN, "python": "#!/bin/sh\n"}.items():
        tool = tmp_path / ".venv" / "bin" / name
        tool.parent.mkdir(parents=True, exist_ok=True)
        tool.write_text(script)
        tool.chmod(0o755)
    return tmp_path


def calls(checkout: Path, target: str) -> Sequence[str]:
    """What maturin is asked for by `make TARGET`."""
    told = checkout / "calls"
    told.unlink(missing_ok=True)
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "CARGO_"))}
    subprocess.run(["make", target], cwd=checkout, env=alone, capture_output=True, check=True)
    return told.read_text().splitlines() if told.exists() else []


def test_the_first_quick_build_installs_the_package(checkout: Path) -> None:
    assert INSTALLS_QUICK in calls(checkout, "quick")
    assert calls(checkout, "quick") == [QUICK]


def test_a_quick_engine_gives_way_to_a_release_one(checkout: Path) -> None:
    calls(checkout, "quick")
    assert calls(checkout, "build") == [INSTALLS_RELEASE]
    assert calls(checkout, "build") == []
    assert calls(checkout, "quick") == [QUICK]
    assert calls(checkout, "build") == [RELEASE]
    assert calls(checkout, "build") == []


def test_a_changed_source_builds_the_engine_anew(checkout: Path) -> None:
    calls(checkout, "build")
    os.utime(checkout / "python" / "spinewise" / "_core.abi3.so", (1e9, 1e9))
    assert calls(checkout, "build") == [RELEASE]
