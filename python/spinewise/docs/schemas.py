"""Files made from the registry and installed with the package: JSON Schemas, and the types of a spec in Python."""

from __future__ import annotations

import json
from pathlib import Path

from spinewise.schemas.shapes import shapes
from spinewise.schemas.spec import spec_schema
from spinewise.schemas.study import study_schema

FOLDER = Path("python/spinewise/schemas")
SHAPES = Path("python/spinewise/shapes.py")


def texts() -> dict[Path, str]:
    """Every file, by its path in the checkout."""
    spec = spec_schema()
    made = {"spec.json": spec, "study.json": study_schema()}
    found = {FOLDER / name: json.dumps(schema, indent=1, ensure_ascii=False) + "\n" for name, schema in made.items()}
    return found | {SHAPES: shapes(spec)}
