"""Shared fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

from samples import TINY_TOML


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A small spec file."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY_TOML)
    return path
