"""Detect whose format a file has, for files given to the wrong reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

# Only this much of a file is inspected.
_HEAD_BYTES = 4_096


class Look(NamedTuple):
    """The features of a format.

    Attributes:
        what: the word of ``spinewise import``.
        name: its usual name.
        fits: whether the head of a file, split into lines that are not blank, looks like it.
    """

    what: str
    name: str
    fits: Callable[[list[str]], bool]


def numbers(count: int) -> Callable[[list[str]], bool]:
    """Return a test whether the first line is `count` whole numbers."""
    return lambda lines: len(words := lines[0].split()) == count and all(word.isdecimal() for word in words)


def any_line(pattern: str) -> Callable[[list[str]], bool]:
    """Return a test whether a line of the head has this form."""
    return lambda lines: any(re.match(pattern, line, re.IGNORECASE) for line in lines)


def header(*parts: str) -> Callable[[list[str]], bool]:
    """Return a test whether the first line is a header of which, for each of these patterns, some column begins so."""

    def fits(lines: list[str]) -> bool:
        words = re.split(r"[,;\t]", next((line for line in lines if not line.startswith("#")), "").lower())
        return len(words) > 2 and all(any(re.match(part, word.strip()) for word in words) for part in parts)

    return fits


LOOKS = (
    Look("flows", "a list of flows", header(r"size|bytes", r"start", r"(src|from|source)$")),
    Look("topology", "a list of links", header(r"(rate|capacity|bandwidth|speed)(_|$)", r"(a|node_a|src|from)$")),
    Look("goal", "a GOAL schedule", any_line(r"num_ranks\s+\d+$")),
    Look("htsim-topo", "an htsim topology", any_line(r"(Tiers|Podsize|Downlink_speed_Gbps)\s+[\d.]+$")),
    Look("htsim-cm", "an htsim connection matrix", any_line(r"(Connections\s+\d+$|\d+->\d+\s)")),
    Look("simai-workload", "a SimAI workload", any_line(r"(HYBRID_\w+|MICRO\w*|DATA|MODEL)\b.*\ball_gpus:")),
    Look("simai-topology", "a SimAI topology", any_line(r"\d+\s+\d+\s+\d+\s+\d+\s+\d+\s+\w*[A-Za-z]\w*$")),
    Look("topology", "a topology of HPCC or ConWeave", numbers(3)),
    Look("flows", "a flow list of HPCC or ConWeave", numbers(1)),
)


def looks_like(path: str | Path, but: str) -> str | None:
    """A hint at the reader for which a file seems made; None if there is none, or it is that of `but`.

    Args:
        path: the file.
        but: the word of the reader that got the file.
    """
    try:
        with Path(path).open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError:
        return None
    if head.startswith(b"PAR1"):
        return "it looks like a Parquet file: `spinewise import flows`"
    if head[1:2] == b"\x0a" and b"0.0." in head[:40]:
        return "it looks like a Chakra trace: `spinewise import chakra`"
    lines = [line.strip() for line in head.decode("utf-8", "replace").splitlines() if line.strip()]
    if lines and lines[0].lstrip("\ufeff").startswith("{"):
        return "it looks like JSON"
    found = next((look for look in LOOKS if lines and look.fits(lines)), None)
    if found is None or found.what == but:
        return None
    return f"it looks like {found.name}: `spinewise import {found.what}`"
