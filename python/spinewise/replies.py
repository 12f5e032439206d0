"""The engine's replies as typed tables. A test compares their keys with the actual replies."""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict

from spinewise.shapes import Spec, Value

# ---- a fabric ----


class FabricNode(TypedDict):
    """A node: `tier` is host, leaf, aggregation, spine or core; `position` its place within the tier."""

    name: str
    tier: str
    position: int
    leaf: str | None  # of a host: where it is attached


FabricLink = TypedDict(
    "FabricLink",
    {
        "name": str,
        "from": str,
        "to": str,
        "rate_bps": int,
        "nominal_rate_bps": int,
        "delay_ps": int,
        "up": bool,
        "slow": bool,
    },
)
"""One direction of a cable; `slow`: below the rate it has without overrides; not `up`: down for the whole run."""


class FabricFault(TypedDict):
    """A fault: the links it hits, the switch if one fails, and its periods, [from, until] in ps (None: permanent)."""

    kind: str
    links: list[str]
    switch: str | None
    intervals: list[list[int | None]]
    probability: NotRequired[float]
    fraction: NotRequired[float]
    pairs: NotRequired[list[list[int]]]
    rate_bps: NotRequired[int]
    added_ps: NotRequired[int]


class Fabric(TypedDict):
    """A fabric as built: `kind` is that of [topology]; links come by number, as in reports."""

    kind: str
    nodes: list[FabricNode]
    links: list[FabricLink]
    faults: list[FabricFault]


# ---- a spec ----


class WorkedOut(TypedDict):
    """A value that was "auto": the key with its table, the result, and its derivation."""

    key: str
    value: float
    how: str


class Warned(TypedDict):
    """A setting or an outcome that is allowed, but may be unintended."""

    code: str
    key: str | None
    text: str


class Counted(TypedDict):
    """The engine's counts before a run."""

    flows: int
    bytes: int
    packets: int
    packet_hops: int
    end_ps: int
    series_rows: int
    flow_rows: int
    memory_bytes: int


class Measured(TypedDict):
    """Measurements of the first moments of a run; in Python in seconds of processor time."""

    setup_s: float
    run_s: float
    packet_hops: int
    simulated_ps: int
    ended: bool


class Worst(TypedDict):
    """The place whose links are in greatest demand, and the direction.

    Up and down are the links of a leaf or a pod to other switches; the others those of a leaf's hosts together.
    """

    at: str
    direction: Literal["up", "down", "from hosts", "to hosts"]


class Loads(TypedDict):
    """Offered load by definition, as fractions of capacity, when most is offered.

    `worst` is the place of `wire_of_available`; reports of older engines have none. `without` are the traffic
    entries without a rate: their bytes come all at once, or when the network permits.
    """

    payload_of_nominal: float
    wire_of_nominal: float
    wire_of_available: float | None
    worst: NotRequired[Worst | None]
    overloaded: bool
    without: list[int]


class Checked(TypedDict):
    """A spec that was set up and run for a moment."""

    spec: Spec
    warnings: list[Warned]
    estimate: Counted
    loads: Loads | None
    measured: Measured


# ---- the registry ----

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"


class Param(TypedDict):
    """A key or a parameter: its default, its allowed values, its meaning, and its JSON Schema."""

    name: str
    type: str
    unit: str | None
    default: Value
    allowed: str
    doc: str
    schema: dict[str, Json]


class Listed(TypedDict):
    """A thing of the registry with parameters: a table of a spec, or anything that can be named."""

    name: str
    about: str
    params: list[Param]


class Topology(Listed):
    """A kind of fabric."""

    source: str


class Workload(Listed):
    """A kind of traffic, or a distribution of flow sizes."""

    source: str
    use: str
    aliases: NotRequired[list[str]]
    mean_bytes: NotRequired[float]
    deviation_bytes: NotRequired[float]
    points: NotRequired[int]


class Compared(TypedDict):
    """The criteria by which papers compare schemes."""

    aware: str
    needs: str
    order: str
    pick: str
    senses: list[str]
    state: str
    update: str


class Transport(Listed):
    """A transport; one that balances load itself has a scheme's facts."""

    source: str
    use: str
    family: NotRequired[str]
    controls: NotRequired[str]
    compared: NotRequired[Compared]
    tiers: NotRequired[list[str]]
    told: NotRequired[list[str]]
    unit: NotRequired[str]


class Scheme(Listed):
    """A scheme: its fact sheet."""

    source: str
    site: str
    tiers: list[str]
    three_tiers: str
    unit: str
    fabrics: str
    told: list[str]
    series: list[str]
    rules: list[str]
    sees: list[str]
    compared: Compared | None


class Preset(TypedDict):
    """A preset: its settings in each table."""

    name: str
    about: str
    source: str
    is_default: bool
    topology: dict[str, Value]
    switch: dict[str, Value]
    transport: dict[str, Value]
    scheme: dict[str, Value]


Thing: TypeAlias = Scheme | Topology | Workload | Transport | Preset
Kind = Literal["schemes", "topologies", "workloads", "transports", "presets"]


class Registry(TypedDict):
    """All registered things."""

    schemes: list[Scheme]
    topologies: list[Topology]
    workloads: list[Workload]
    transports: list[Transport]
    presets: list[Preset]
    spec: list[Listed]


class Column(TypedDict):
    """A column of a table, or a series, which has no type of its own."""

    name: str
    dtype: str
    unit: str
    meaning: str


# ---- speed ----


class Timed(TypedDict):
    """A case of the bench. The reference loop alone has its name and time; a decision has times by scheme and paths."""

    name: str
    reference_ns: float
    hosts: NotRequired[int]
    threads: NotRequired[int]
    packet_hops: NotRequired[int]
    seconds: NotRequired[float]
    packet_hops_per_s: NotRequired[float]
    events_per_packet_hop: NotRequired[float]
    ns_per_packet_hop: NotRequired[float]
    ratio_to_reference: NotRequired[float]
    idle_host_bytes: NotRequired[int]
    peak_rss_mb: NotRequired[float]
    scheme: NotRequired[str]
    paths: NotRequired[int]
    peers: NotRequired[int]
    pick_ns: NotRequired[float]
    egress_ns: NotRequired[float | None]
    feedback_ns: NotRequired[float | None]
    tick_ns: NotRequired[float | None]
