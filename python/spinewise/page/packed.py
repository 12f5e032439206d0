"""Arrays of numbers in one block, which the page inflates once; the model holds references into it."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["u8", "u16", "u32", "f32"]

DTYPES: dict[Kind, str] = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "f32": "<f4"}
ALIGNED = 4
"""Arrays begin at multiples of this, as a browser's typed arrays require."""
LEVEL = 9


@dataclass(frozen=True)
class Ref:
    """The place of an array in the block.

    Attributes:
        kind: the kind of its numbers.
        at: first byte, from the start of the arrays.
        count: the number of numbers.
    """

    kind: Kind
    at: int
    count: int


@dataclass
class Block:
    """Arrays, one after the other.

    Attributes:
        data: the bytes so far.
    """

    data: bytearray = field(default_factory=bytearray)

    def add(self, values: npt.NDArray[np.generic] | Sequence[float], kind: Kind) -> Ref:
        """Append an array, and return its place."""
        found = np.ascontiguousarray(values).astype(DTYPES[kind])
        self.data += b"\0" * (-len(self.data) % ALIGNED)
        at = len(self.data)
        self.data += found.tobytes()
        return Ref(kind, at, int(found.size))

    def text(self, model: bytes) -> str:
        """The model (JSON) and the arrays, compressed, as base64: length of the JSON in 4 bytes, JSON, arrays."""
        model += b" " * (-len(model) % ALIGNED)
        whole = len(model).to_bytes(4, "little") + model + bytes(self.data)
        return base64.b64encode(gzip.compress(whole, LEVEL, mtime=0)).decode("ascii")
