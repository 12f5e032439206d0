"""Measures as plain values, which JSON can say."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """`value` with dataclasses as dicts of the fields that are written, and without NaN."""
    if is_dataclass(value) and not isinstance(value, type):
        written = [one.name for one in fields(value) if not one.metadata.get("unwritten")]
        return {name: plain(getattr(value, name)) for name in written}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def without_nan(value: Any) -> Any:
    """`value` with every NaN and infinity below it replaced by None, which JSON can say."""
    return plain(value)
