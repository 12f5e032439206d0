"""Types of the compiled engine: the whole boundary between Rust and Python."""

from collections.abc import Callable, Sequence
from typing import NotRequired, TypedDict

class RawTrace(TypedDict):
    """Columns of a trace; `offsets` says where the hops of each row begin, the rest describes them, as JSON."""

    rows: dict[str, tuple[str, bytes]]
    hops: dict[str, tuple[str, bytes]]
    offsets: bytes
    saw: dict[str, bytes]
    quantities: str
    words: str

class RawOutcome(TypedDict):
    """Columns as (dtype, little-endian bytes), and the report as JSON; the trace if there is one."""

    flows: dict[str, tuple[str, bytes]]
    series: dict[str, tuple[str, bytes]]
    report: str
    trace: NotRequired[RawTrace]

class SpecError(ValueError):
    """A spec was refused."""

    key: str
    value: str
    allowed: str
    hint: str | None
    unserved: bool

class InternalError(RuntimeError):
    """An invariant of the engine does not hold: a defect of Spinewise."""

__version__: str

def resolve(spec_json: str, /) -> str: ...
def topology(spec_json: str, /) -> str: ...
def run(
    spec_json: str,
    progress: Callable[[int, int, int], object] | None = None,
    tuning: str | None = None,
    flows: Sequence[int] | None = None,
) -> RawOutcome:
    """`progress(simulated_ps, packet_hops, open_flows)` is called about ten times a second; `flows` are traced."""

def registry() -> str: ...
def columns() -> str: ...
def bench(options_json: str, /) -> str:
    """Options, all needed: `only` (part of a case's name), `rounds`, `share` of the full length."""
