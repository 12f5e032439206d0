"""Shared fixtures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from samples import TINY_TOML
from spinewise import core


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A small spec file."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY_TOML)
    return path


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the runs that the engine was asked for."""
    seen: list[int] = []
    usual = core.run

    def counted(spec: Any, *others: Any) -> Any:
        seen.append(spec["seed"])
        return usual(spec, *others)

    monkeypatch.setattr(core, "run", counted)
    return seen
