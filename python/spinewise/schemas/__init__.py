"""JSON Schemas of spec and study files, for editors that complete, explain and check TOML.

| file | what it holds |
|---|---|
| `parts.py` | pieces of a schema: a key with its meaning, a table, a table whose keys depend on its kind |
| `spec.py` | spec files, from the engine's registry of keys |
| `study.py` | study files |
| `shapes.py` | the same tables as types of Python: `spinewise/shapes.py`, written by `make docs` |
| `spec.json`, `study.json` | the schemas as they are installed, written by `make docs` |
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
KINDS = ("spec", "study")


def path(kind: str) -> Path:
    """The installed schema of a kind of file, `spec` or `study`."""
    return FOLDER / f"{kind}.json"
