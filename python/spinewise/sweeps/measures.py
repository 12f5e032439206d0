"""Measures: what is taken from a run, under a name, and the code that takes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.sweeps.packed import pack, unpack
from spinewise.sweeps.sources import digest

T_co = TypeVar("T_co", covariant=True)

MeasureId = tuple[str, str]
"""Name and digest of a measure."""


@dataclass(frozen=True)
class Measure(Generic[T_co]):
    """A value to keep of a run.

    Attributes:
        name: its name in a store; two measures of one name differ by their digests.
        kind: type of the value: a dataclass of plain values and NumPy arrays, or such a value itself.
        function: takes the resolved spec and the result. A function of a module, or a `functools.partial` of one, so
            that it can be sent to another process.
    """

    name: str
    kind: type[T_co]
    function: Callable[[Spec, Result], T_co]

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of its code and arguments; see `spinewise.sweeps.sources`."""
        return digest(self.function)

    @property
    def id(self) -> MeasureId:
        """Name and digest: the key of a measurement, with that of its run."""
        return self.name, self.digest

    def take(self, spec: Spec, result: Result) -> bytes:
        """The value for one run, in the form that a store keeps."""
        return pack(self.function(spec, result))

    def read(self, blob: bytes) -> T_co:
        """The value that `take` returned.

        Raises:
            ValueError: the bytes are damaged.
        """
        return unpack(blob, self.kind)
