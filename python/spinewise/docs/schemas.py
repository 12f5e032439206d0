"""The JSON Schemas that are installed with the package."""

from __future__ import annotations

import json
from pathlib import Path

from spinewise.schemas.spec import spec_schema
from spinewise.schemas.study import study_schema

FOLDER = Path("python/spinewise/schemas")


def texts() -> dict[Path, str]:
    """Every schema, by its path in the checkout."""
    made = {"spec.json": spec_schema(), "study.json": study_schema()}
    return {FOLDER / name: json.dumps(schema, indent=1, ensure_ascii=False) + "\n" for name, schema in made.items()}
