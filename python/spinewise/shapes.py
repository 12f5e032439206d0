"""The tables of a spec, key by key. Written by `make docs` from the engine's registry; do not edit.

A key of several kinds of a table has the types of all of them. Which keys and values go together, the engine knows.
"""

from __future__ import annotations

from typing import TypeAlias, TypedDict

Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value]"
"""What a key of TOML can hold, dates aside."""


class Transport(TypedDict, total=False):
    """The transport: TCP, RDMA or Ultra Ethernet."""

    kind: str
    recovery: str
    mss_bytes: int
    header_bytes: int
    ack_bytes: int
    initial_window_segments: int
    max_window_segments: int
    initial_ssthresh_segments: int
    max_burst_segments: int
    min_rto_us: float | str
    initial_rto_us: float | str
    max_rto_us: float
    rto_granularity_us: float | str
    rto_tick_us: float
    pacing: bool
    delayed_ack_segments: int
    delayed_ack_timeout_us: float
    subflows: int
    mptcp_options: str
    dupack_threshold: int
    rack_least_rtt_us: float
    limited_transmit: bool
    ack_duplicates: bool
    hold_after_mark: bool
    handshake: bool
    syn_bytes: int
    syn_timeout_us: float
    resequencing: str
    resequencing_in_order_us: float
    resequencing_timeout_us: float
    resequencing_limit_bytes: int
    resequencing_period_us: float
    resequencing_at_once_bytes: int
    fin: bool
    dctcp_g: float
    dctcp_initial_alpha: float
    cubic_c: float
    cubic_beta: float
    cubic_fast_convergence: bool
    cubic_ecn: bool
    swift_base_target_us: float
    swift_per_hop_us: float
    swift_fs_range_us: float
    swift_fs_min_window: float
    swift_fs_max_window: float
    swift_ai: float
    swift_beta: float
    swift_max_mdf: float
    swift_min_window: float
    swift_retx_reset: int
    congestion_control: str
    nack_interval_us: float
    rto_us: float | str
    rto_low_us: float
    rto_high_us: float
    rto_low_packets: int
    window_bytes: int | str
    ooo_cnp: bool
    cnp_interval_us: float
    pacing_rounding: str
    queue_pairs: int
    queue_pair_use: str
    dcqcn_g: float
    dcqcn_initial_alpha: float
    dcqcn_alpha_timer_us: float
    dcqcn_decrease_interval_us: float
    dcqcn_increase_timer_us: float
    dcqcn_byte_counter_bytes: int
    dcqcn_fast_recovery_steps: int
    dcqcn_additive_increase_gbps: float
    dcqcn_hyper_increase_gbps: float
    dcqcn_min_rate_gbps: float
    dcqcn_clamp_target: bool
    timely_t_low_us: float
    timely_t_high_us: float
    timely_min_rtt_us: float
    timely_alpha: float
    timely_beta: float
    timely_increase_gbps: float
    timely_hai: int
    timely_min_rate_gbps: float
    hpcc_eta: float
    hpcc_max_stage: int
    hpcc_increase_gbps: float
    hpcc_base_rtt_us: float
    hpcc_min_rate_gbps: float
    ack_every_bytes: int
    connections: int
    sleek_target_rtts: float | str
    requests: str
    ask_again: bool
    receiver_credit: bool
    pull_bytes: int
    pull_values: int
    pull_share: float
    pull_after_end: bool
    pull_heeds: str
    pull_least: float | str
    nscc_target_rtts: float
    nscc_gamma: float
    nscc_delay_weight: float
    nscc_quick_adapt_gate: int
    nscc_base_rtt_from_trims: bool
    nscc_flight_wraps: bool


class Override(TypedDict, total=False):
    """Changes to the links that all given selectors fit."""

    leaf: int | list[int]
    spine: int | list[int]
    link: int | list[int]
    host: int | list[int]
    direction: str
    rate_gbps: float
    delay_ns: float
    up: bool
    aggregation: int | list[int]
    core: int | list[int]


class Cable(TypedDict, total=False):
    """One link."""

    a: int | str
    b: int | str
    rate_gbps: float
    delay_ns: float


class Route(TypedDict, total=False):
    """One static route."""

    switch: int | str
    dst: int | str
    next: int | str


class Topology(TypedDict, total=False):
    """The fabric."""

    kind: str
    leaves: int
    spines: int
    hosts_per_leaf: int
    host_rate_gbps: float
    fabric_rate_gbps: float
    host_delay_ns: float
    fabric_delay_ns: float
    parallel_links: int
    switch_latency_ns: float
    tx_time_rounding: str
    override: list[Override]
    k: int
    pods: int
    leaves_per_pod: int
    aggregations_per_pod: int
    cores_per_aggregation: int
    core_rate_gbps: float
    core_delay_ns: float
    hosts: int
    switches: int
    names: list[str]
    links: list[list[float | str] | Cable]
    routes: list[list[int | str] | Route]
    file: str
    format: str


class Ecn(TypedDict, total=False):
    """How a data priority is marked."""

    priority: int
    min_bytes: int
    max_bytes: int
    max_probability: float


class Switch(TypedDict, total=False):
    """What a switch does with packets that must wait."""

    model: str
    buffer_packets: int
    buffer_bytes: int | str
    buffer_us: float | str
    ecn_threshold_packets: int
    ecn_threshold_bytes: int
    ecn_threshold_us: float | str
    ecn_at: str
    device_queue_packets: int
    nics: str
    queue_counts: str
    ports: str
    pfc: bool
    priorities: int
    lossy_priorities: list[int]
    headroom_bytes: int
    headroom_use: str
    guaranteed_bytes: int
    reserved_packets: int
    egress_alpha: float
    egress_threshold: str
    ingress_alpha: float
    pause_offset_bytes: int
    resume_offset_bytes: int
    pause_us: float
    pause_renewal: str
    pause_frame_bytes: int
    ecn_min_bytes: int | str
    ecn_max_bytes: int | str
    ecn_max_probability: float
    ecn: list[Ecn]
    control_bytes: int
    trim: bool
    trimmed_bytes: int
    mark_last_hop: bool


_Source = TypedDict("_Source", {"class": str}, total=False)


class Source(_Source, total=False):
    """Where the code of a scheme written in Python lies."""

    file: str
    sha256: str


class Scheme(TypedDict, total=False):
    """The load-balancing scheme; its parameters are in [scheme.params]."""

    name: str
    source: Source
    params: dict[str, str | float | bool]
    path_tag: str
    fabric: str
    fabric_params: dict[str, str | float | bool]
    header_bytes: str
    acks: str
    hash: str
    hash_salt: int


class SizeClass(TypedDict, total=False):
    """A class of flow sizes."""

    name: str
    from_bytes: int
    below_bytes: int


class ListedFlow(TypedDict, total=False):
    """One flow."""

    src: int
    dst: int
    size_bytes: int
    start_ns: float
    batch: int


class Step(TypedDict, total=False):
    """A rate and when it takes effect."""

    at_us: float
    rate_gbps: float


class Traffic(TypedDict, total=False):
    """What is sent."""

    kind: str
    name: str
    priority: int
    cdf: str
    cdf_file: str
    cdf_file_digest: str
    load: float
    load_of: str
    pairs: str
    hosts: list[int] | str | list[list[int]]
    from_leaf: int
    to_leaf: int
    start_us: float
    duration_us: float
    max_flows: int
    subflows: int
    transport: Transport
    size_classes: list[SizeClass]
    flows: int
    min_bytes: int
    max_bytes: int
    tail_index: float
    arrivals_per_second: float
    on_us: float
    off_mean_us: float
    off_sd_us: float
    file: str
    file_digest: str
    list: list[ListedFlow]
    rounds: int
    gap_us: float
    format: str
    size_bytes: int
    inter_rack: bool
    repeat: int
    period_us: float
    receiver: int
    senders: int | list[int]
    fan_in: int
    request_bytes: int
    requests: int
    arrivals: str
    groups: int
    grouping: str
    order: str
    pair_bytes: int
    concurrent: bool
    local_ranks: int
    local_rate_gbps: float
    local_delay_ns: float
    src: int
    dst: int
    packet_bytes: int
    schedule: list[Step]
    end_us: float


class Fault(TypedDict, total=False):
    """What breaks during the run: a link or a switch."""

    kind: str
    ends: list[str]
    link: int
    switch: str
    direction: str
    at_us: float
    until_us: float
    period_us: float
    down_us: float
    probability: float
    fraction: float
    pairs: list[list[int]]
    rate_gbps: float
    added_us: float
    may_cut_off: bool


class Detection(TypedDict, total=False):
    """How faults are found and repaired."""

    mode: str
    carrier_us: float
    hello_interval_us: float
    hello_dead_count: int
    reconverge: bool
    flood_hop_us: float
    control_plane_us: float


class Run(TypedDict, total=False):
    """When a run ends, and by which engine."""

    stop: str
    until_us: float
    grid_ns: float
    engine: str
    window_ns: float
    follow: str


class Capture(TypedDict, total=False):
    """Packets captured as they pass chosen ports."""

    at: list[str]
    from_us: float
    to_us: float
    max_packets: int


class Metrics(TypedDict, total=False):
    """What is recorded and how it is summarized."""

    size_classes: list[SizeClass]
    series_interval_us: float
    series_links: str | list[str]
    facts: bool
    sample_interval_us: float
    ideal: str
    ideal_frames: list[list[int]]
    keep_flows_up_to: int
    capture: Capture


class Compare(TypedDict, total=False):
    """What `spinewise compare` does with the spec."""

    schemes: list[str]
    loads: list[float]
    seeds: int | list[int]


_Spec = TypedDict("_Spec", {"import": dict[str, Value]}, total=False)


class Spec(_Spec, total=False):
    """What is simulated: fabric, transport, scheme, traffic, faults."""

    name: str
    seed: int
    preset: str
    topology: Topology
    switch: Switch
    transport: Transport
    scheme: Scheme
    traffic: list[Traffic]
    fault: list[Fault]
    detection: Detection
    run: Run
    follow: dict[str, Value]
    metrics: Metrics
    compare: Compare
    bounds: dict[str, list[float]]
