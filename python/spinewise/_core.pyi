"""Types of the compiled engine: the whole boundary between Rust and Python."""

from collections.abc import Callable, Sequence
from typing import Any, NotRequired, TypedDict

Address = tuple[str, *tuple[int, ...]]

class RawTrace(TypedDict):
    """Columns of a trace; `offsets` locates the hops of each row, and the remaining items describe them, as JSON."""

    rows: dict[str, tuple[str, bytes]]
    hops: dict[str, tuple[str, bytes]]
    offsets: bytes
    saw: dict[str, bytes]
    quantities: str
    words: str
    losses: dict[str, tuple[str, bytes]]
    loss_words: str

class RawPackets(TypedDict):
    """Columns of captured packets; `offsets` locates the blocks of each row, and `words` is JSON."""

    rows: dict[str, tuple[str, bytes]]
    blocks: dict[str, tuple[str, bytes]]
    offsets: bytes
    words: str

class RawOutcome(TypedDict):
    """Columns as (dtype, little-endian bytes), the report as JSON, a trace and captured packets if there are any."""

    flows: dict[str, tuple[str, bytes]]
    collectives: dict[str, tuple[str, bytes]]
    series: dict[str, tuple[str, bytes]]
    report: str
    trace: NotRequired[RawTrace]
    packets: NotRequired[RawPackets]

class SpecError(ValueError):
    """A spec was refused."""

    key: str
    value: str
    allowed: str
    hint: str | None
    unserved: bool

class SchemeError(RuntimeError):
    """A scheme written in Python raised the exception that is the cause of this one."""

    hook: str
    now_ps: int
    flow: int | None

class InternalError(RuntimeError):
    """An invariant of the engine does not hold: a defect of Spinewise."""

__version__: str
ENGINE_DIGEST: str

class OwnScheme:
    """A class of Python as the engine lists it; `facts` is JSON."""

    name: str
    def __init__(self, scheme: type, facts: str, /) -> None: ...

def resolve(spec_json: str, own: Sequence[OwnScheme] | None = None) -> str: ...
def worked_out(spec_json: str, own: Sequence[OwnScheme] | None = None) -> str: ...
def topology(spec_json: str, /) -> str: ...
def toml_lines(text: str, /) -> list[tuple[str, int]] | None: ...
def run(
    spec_json: str,
    progress: Callable[[int, int, int, int], object] | None = None,
    tuning: str | None = None,
    flows: Sequence[int] | None = None,
    own: Sequence[OwnScheme] | None = None,
) -> RawOutcome:
    """`progress(simulated_ps, packet_hops, open_flows, all_flows)` is called ten times a second; `flows` are traced."""

def validate(
    spec_json: str,
    progress: Callable[[int, int, int, int], object] | None = None,
    tuning: str | None = None,
    seconds: float = 0.3,
    own: Sequence[OwnScheme] | None = None,
) -> str:
    """JSON with `spec`, `warnings`, `estimate`, and what the first `seconds` of the run have shown: `measured`."""

def registry() -> str: ...
def columns() -> str: ...
def bench(options_json: str, /) -> str:
    """Options, all needed: `only` (part of a case's name), `rounds`, `share` of the full length."""

# What hooks of schemes written in Python are lent. Times are picoseconds, rates bits per second.

class Rng:
    """The random stream of this seat."""

    def below(self, n: int) -> int: ...
    def bits(self) -> int: ...
    def unit(self) -> float: ...

class Out:
    """Actions to take when the hook has returned; `to` and `key` are made by `spinewise.To` and `spinewise.Key`.

    docs/how-to/own-scheme.md has the meaning and the unit of each argument.
    """

    def send(
        self,
        to: Address,
        kind: int,
        body: bytes = b"",
        *,
        wire: int | None = None,
        flow: int | None = None,
        way: int = 65535,
    ) -> None: ...
    def probe(self, to: Address, way: int, *, wire: int = 64, ttl: int = 0, give_up: int) -> None: ...
    def arm(self, key: Address, at: int) -> None: ...
    def cancel(self, key: Address) -> None: ...
    def release(self, port: int, queue: int) -> None: ...
    def mask_ecn(self) -> None: ...
    def discard(self) -> None: ...
    def record(self, series: int, value: float) -> None: ...

class HostView:
    """The knowledge of a host: what it can observe, and what its operator has configured."""

    host: int
    leaf: int
    link_rate: int
    path_rate: int
    base_rtt: int
    base_one_way: int
    mss: int
    mtu: int
    def leaf_of(self, host: int) -> int: ...
    def ways_to_host(self, host: int) -> int: ...
    def ways_to_leaf(self, leaf: int) -> int: ...
    def rate_to_host(self, host: int, way: int) -> int: ...

class SwitchView:
    """The knowledge of a switch: what it can observe of itself, and what it is told."""

    switch: int
    tier: str
    candidates: tuple[int, ...]
    host_ports: int
    salt: int
    fabric_salt: int
    def queue_bytes(self, port: int) -> int: ...
    def queue_packets(self, port: int) -> int: ...
    def data_bytes(self, port: int) -> int: ...
    def queue_room(self, port: int) -> int | None: ...
    def queueing_delay(self, port: int) -> int: ...
    def busy_time(self, port: int) -> int: ...
    def is_paused(self, port: int) -> bool: ...
    def rate(self, port: int) -> int: ...
    def free_queue(self, port: int) -> int | None: ...
    def free_queues(self, host: int) -> int: ...
    def leaf_of(self, host: int) -> int: ...
    def towards(self, leaf: int) -> tuple[int, ...]: ...
    def told_capacity(self, port: int, leaf: int) -> int: ...
    def told_path(self, from_leaf: int, to_leaf: int, n: int) -> tuple[int, int] | None: ...
    def told_loss(self, leaf: int) -> bool: ...
    def told_paths(self, leaf: int) -> int: ...
    def told_hop(self, from_leaf: int, to_leaf: int, way: int) -> int | None: ...
    def told_component(self, from_leaf: int, to_leaf: int, n: int) -> tuple[int, tuple[int, ...]] | None: ...

class Peers:
    """The peers that this seat has met, in that order; their rows are made by the class's `Peer` and `Route`."""

    ids: tuple[int, ...]
    def __len__(self) -> int: ...
    def position(self, peer: int, /) -> int | None: ...
    def at(self, n: int) -> Any: ...
    def route(self, n: int, way: int) -> Any: ...

class Cx:
    """The context passed to every hook; the view is a `HostView` or a `SwitchView`, depending on the scheme's place."""

    now: int
    view: Any
    rng: Rng
    out: Out
    node: Any
    peer: Any
    peers: Peers
    def route(self, way: int) -> Any: ...
    def port(self, port: int) -> Any: ...

class Packet:
    """The packet in hand; `kind` is data, ack, probe, probe_reply or message."""

    kind: str
    flow: int
    src: int
    dst: int
    seq: int
    wire: int
    payload: int
    ce: bool
    retransmit: bool
    way: int
    in_port: int
    out_port: int
    def spread(self, salt: int, n: int) -> int: ...

class Header:
    """The in-band header of the packet in hand: at most 15 bytes."""

    data: bytes

class Feedback:
    """An event of a flow, a path or a probe; reading a field that the event does not have raises AttributeError.

    docs/how-to/own-scheme.md lists the values of `event`, and the fields of each.
    """

    event: str
    way: int
    flow: int | None
    size: int
    bytes: int
    rtt: int
    one_way: int
    marked: bool
    last_hop: bool
    by: tuple[str, int]
    port: int

class Message:
    """A message between schemes."""

    sender: tuple[str, int]
    kind: int
    flow: int | None
    in_port: int
    body: bytes
