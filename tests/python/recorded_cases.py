"""Where recorded cases of an independent simulator lie, if this machine has them; and small ones made by hand."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from spinewise import core
from spinewise.agreement.recorded import COLUMNS, Flows
from spinewise.agreement.setting import PRESET

# Beside the checkout, and not part of it; or where this variable says.
FOLDER = Path(os.environ.get("SPINEWISE_RECORDED") or Path(__file__).parents[3] / "shared" / "validation")


def present(pattern: str) -> list[Path]:
    """The recorded cases that fit, none where the folder is not there."""
    return sorted(FOLDER.glob(pattern))


def engine_has_the_preset() -> bool:
    return any(preset["name"] == PRESET for preset in core.registry()["presets"])


def ideal_ns(size: int, *, across: bool) -> int:
    return (8_320 if across else 4_160) + (size + 48 * -(-size // 1000)) * 8 // 100


def flows(rows: Sequence[tuple[int, int, int, int]], slowdown: float = 1.5, per_leaf: int = 16) -> Flows:
    """Flows of (src, dst, size, start), each with the same slowdown."""
    table = []
    for src, dst, size, start in rows:
        ideal = ideal_ns(size, across=src // per_leaf != dst // per_leaf)
        table.append((src, dst, size, start, int(ideal * slowdown), ideal))
    return Flows(*np.array(table, dtype=np.int64).T)


def random_rows(count: int, hosts: int = 128, seed: int = 1) -> list[tuple[int, int, int, int]]:
    rng = np.random.default_rng(seed)
    src = rng.integers(0, hosts, count)
    dst = (src + rng.integers(1, hosts, count)) % hosts
    size = np.where(rng.random(count) < 0.9, rng.integers(1, 20_000, count), rng.integers(104_000, 400_000, count))
    start = np.sort(rng.integers(0, 2_000_000, count))
    return [tuple(row) for row in np.stack([src, dst, size, start], axis=1).tolist()]


def write(path: Path, recorded: Flows) -> Path:
    """A case as the file it comes in."""
    columns = [getattr(recorded, name).tolist() for name in COLUMNS]
    lines = [",".join(COLUMNS), *(",".join(map(str, row)) for row in zip(*columns, strict=True))]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
    return path
