"""Types of the compiled engine: the whole boundary between Rust and Python."""

from collections.abc import Callable
from typing import TypedDict

class Progress(TypedDict):
    """What a running simulation tells, a few times a second of wall time."""

    simulated_ps: int
    horizon_ps: int
    events: int
    packet_hops: int
    flows_finished: int
    flows_total: int

class RawOutcome(TypedDict):
    """Columns as (dtype, little-endian bytes), and the report as JSON."""

    flows: dict[str, tuple[str, bytes]]
    series: dict[str, tuple[str, bytes]]
    report: str

class SpecError(ValueError):
    """A spec was refused."""

    key: str
    value: str
    allowed: str
    hint: str | None

__version__: str

def resolve(spec_json: str, /) -> str: ...
def run(spec_json: str, progress: Callable[[Progress], object] | None, /) -> RawOutcome: ...
def registry() -> str: ...
def columns() -> str: ...
def bench(options_json: str, /) -> str: ...
