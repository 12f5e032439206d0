"""The engine's report of a run, key by key. Keys that an older engine did not report are `NotRequired`."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from spinewise.replies import Loads, Warned, WorkedOut


class Account(TypedDict):
    """Packets of a fate, and their bytes on the wire."""

    packets: int
    bytes: int


class Counters(TypedDict):
    """The fate of all packets, and what hosts and switches created besides data."""

    created: Account
    delivered: Account
    dropped: NotRequired[Account]
    lost: Account
    lost_in_switches: int
    consumed: Account
    in_network_at_stop: Account
    acks: NotRequired[Account]
    handshakes: NotRequired[Account]
    probes: NotRequired[Account]
    messages: NotRequired[Account]
    pause_frames: NotRequired[Account]
    lossless_drops: int
    most_buffer_bytes: list[int]
    most_headroom_bytes: int
    scheme_header_bytes: int
    unroutable: int
    resequencing: NotRequired[Resequencing]
    trimmed: NotRequired[Account]
    headers_lost: NotRequired[int]


class Resequencing(TypedDict):
    """Packets that receivers held back below TCP (transport.resequencing)."""

    held_packets: int
    timeouts: int
    overflows: int


class Captured(TypedDict):
    """A port that captured packets: how many it saw and kept, and the time of the last one kept if it saw more."""

    name: str
    rate_bps: int
    packets: int
    kept: int
    full_ps: int | None


class Totals(TypedDict):
    """Sums over all flows but UDP."""

    sent: int
    retransmits: int
    spurious_retransmits: NotRequired[int]
    timeouts: int
    fast_retransmits: NotRequired[int]
    out_of_order: int
    dupack3_events: int
    marks: int
    path_changes: NotRequired[int]
    reroutes: NotRequired[int | None]
    nacks: int
    cnps: int


class ClassCounts(TypedDict):
    """A size class: counts, means, and histograms as [lower edge, flows]."""

    name: str
    from_bytes: int
    below_bytes: int | None
    flows: int
    finished: int
    mean_fct_ps: float | None
    mean_slowdown: float | None
    fct_ps_histogram: list[list[int]]
    slowdown_thousandths_histogram: list[list[int]]


class EntryCounts(TypedDict):
    """A traffic entry: its flows, by its own size classes."""

    name: str
    kind: str
    flows: int
    finished: int
    udp: bool
    totals: Totals
    classes: list[ClassCounts]


class QueueBytes(TypedDict):
    """Bytes that waited for a link, over the samples."""

    mean: float
    p50: int
    p95: int
    p99: int
    max: int


class Link(TypedDict):
    """One direction of a link, and the port at its sender."""

    name: str
    fabric: bool
    rate_bps: NotRequired[int]
    packets: int
    bytes: int
    lost: int
    drops: int
    dropped_bytes: int
    marks: int
    longest_queue_bytes: int
    queue_bytes: NotRequired[QueueBytes | None]
    paused_ps: int
    pauses: int
    utilisation: float
    use_max: NotRequired[float | None]
    trimmed: NotRequired[int]
    headers_lost: NotRequired[int]


class Balance(TypedDict):
    """The evenness of switches' use of links of equal cost."""

    imbalance_mean: float
    imbalance_max: float
    most_uneven: str


class Samples(TypedDict):
    """The sampling of links."""

    interval_ps: int
    taken: int


class Unfinished(TypedDict):
    """Unfinished flows by reason, in a run with faults."""

    cut_off: int
    out_of_time: int


class CollectiveBounds(TypedDict):
    """Begin and end of a round of a collective; the table `collectives` has its steps."""

    entry: int
    group: int
    round: int
    start_ps: int
    end_ps: int
    flows: int
    bytes: int


class Awaited(TypedDict):
    """An operation that has not ended and waits for no other: its id, rank and progress, and what waits for it."""

    operation: str
    rank: int
    state: str
    waiting: list[str]
    waiting_count: int


class Operations(TypedDict):
    """The fate of the operations of an entry of kind "dag"; `end_ps` is when the last of those that ended did."""

    entry: int
    operations: int
    ended: int
    end_ps: int
    waited_for: list[Awaited]


class OnLinux(TypedDict):
    """The facts about a run on Linux instead of the simulator (docs/real-hosts.md).

    `factor` is the spec's rates over those of the lab, `steered_by` what chose paths, `base_rtt_us` the median of the
    shortest round trips that the flows saw, `busy_share` the load of the whole machine, `unmeasured` keys that are zero
    or missing because the kernel does not report them, `agents` the counts and events of each agent, by host.
    """

    factor: int
    kernel: str
    congestion: str
    steered_by: str
    base_rtt_us: float | None
    late_flows: int
    start_lag_p99_us: float | None
    busy_share: float
    traffic_cpu_s: float
    unmeasured: list[str]
    notes: list[str]
    agents: dict[str, dict[str, object]]


class Report(TypedDict):
    """The engine's report of a run besides its tables."""

    seed: int
    version: str
    wall_seconds: float
    stop_ps: int
    events: int
    packet_hops: int
    outcome_hash: str
    traffic_hash: str
    flows: int
    finished: int
    totals: NotRequired[Totals]
    counters: Counters
    loads: Loads | None
    deadlock: list[str] | None
    series_names: list[str]
    entity_names: list[str]
    samples: NotRequired[Samples | None]
    balance: NotRequired[Balance | None]
    links: list[Link]
    classes: list[ClassCounts]
    entries: NotRequired[list[EntryCounts]]
    collectives: NotRequired[list[CollectiveBounds]]
    warnings: NotRequired[list[Warned]]
    worked_out: NotRequired[list[WorkedOut]]
    unfinished: NotRequired[Unfinished]
    operations: NotRequired[list[Operations]]
    traced_flows: NotRequired[list[int]]
    captured: NotRequired[list[Captured]]
    linux: NotRequired[OnLinux]
