"""The views of a store: their columns, each with its type, unit and meaning. docs/store.md is made from this.

Names end in the unit of their values if they have one: ``fct_p99_s``, ``longest_queue_bytes``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from spinewise import core
from spinewise.measures import tables
from spinewise.measures.collectives import Job
from spinewise.measures.facts import HEADERS, LINK_NUMBERS, OVERHEAD, Facts

if TYPE_CHECKING:
    import pyarrow as pa

Type = Literal["string", "int64", "uint64", "float64", "bool", "timestamp", "list of int64", "list of float64"]
LISTED = "list of "

KEY = "key"


@dataclass(frozen=True)
class Column:
    """A column of a view.

    Attributes:
        name: the name in a query.
        type: the type of its values; any may be null.
        unit: the unit of its values; empty if they have none.
        meaning: its meaning.
    """

    name: str
    type: Type
    unit: str
    meaning: str


@dataclass(frozen=True)
class View:
    """A table that a query can name.

    Attributes:
        name: the name in a query.
        rows: the things that have a row.
        columns: in their order.
        note: further notes.
    """

    name: str
    rows: str
    columns: tuple[Column, ...]
    note: str = ""

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column.name for column in self.columns]


def schema(columns: Iterable[Column]) -> pa.Schema:
    """The Arrow schema of some columns, with unit and meaning of each."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    types = {"bool": pa.bool_(), "timestamp": pa.timestamp("us", tz="UTC")}

    def arrow(name: str) -> pa.DataType:
        if name.startswith(LISTED):
            return pa.list_(arrow(name.removeprefix(LISTED)))
        return types[name] if name in types else getattr(pa, name)()

    return pa.schema(
        [pa.field(one.name, arrow(one.type), metadata={"unit": one.unit, "meaning": one.meaning}) for one in columns]
    )


def unit_of(name: str) -> str:
    """The unit at the end of a name."""
    for ending, unit in (("_gbyte_per_s", "10⁹ bytes/s"), ("_s", "s"), ("_bytes", "bytes"), ("_bps", "bits/s")):
        if name.endswith(ending):
            return unit
    return ""


def text(name: str, meaning: str) -> Column:
    """A column of words."""
    return Column(name, "string", "", meaning)


def whole(name: str, meaning: str, unit: str = "") -> Column:
    """A column of whole numbers."""
    return Column(name, "int64", unit or unit_of(name), meaning)


def real(name: str, meaning: str, unit: str = "") -> Column:
    """A column of numbers."""
    return Column(name, "float64", unit or unit_of(name), meaning)


RUN = text(KEY, "the run: SHA-256 of its resolved spec and its engine")
NAME = text("name", "name of its spec")
OF_RUN = (
    RUN,
    NAME,
    text("scheme", "name of its scheme"),
    text(
        "variant",
        "its scheme with its non-default parameters (all of a scheme written in Python), in the syntax of `--schemes`",
    ),
    text("transport", "its transport, with its loss recovery and congestion control: `rdma, irn, dcqcn`"),
    real("load", "the load of the first traffic entry that has one; null if none has"),
    Column("seed", "uint64", "", "its seed"),
    text("cell", "equal for runs whose specs differ in nothing but name and seed"),
    text("engine", "SHA-256 over the sources of the engine that made it"),
)
"""The first columns of every view whose rows belong to a run that was measured."""
OF_LINK = tuple(one for one in OF_RUN if one is not NAME)
"""The same columns if names are those of links."""

HEADLINE = (
    text("status", "done or failed"),
    text("error", "why it failed; null if it did not"),
    text("unmeasured", "measurements that failed, each with its error; null if none did"),
    text("version", "version of Spinewise that made it"),
    text("spec_hash", "SHA-256 of its resolved spec"),
    text("outcome_hash", "equal hashes mean identical outcomes"),
    text("traffic_hash", "hash of the offered traffic: equal for all schemes on the same spec and seed"),
    real("wall_s", "how long it took, without measuring"),
    whole("packet_hops", "packets times links crossed"),
    Column("flows_kept", "bool", "", "whether its flows are in the view flows"),
    Column("finished_at", "timestamp", "UTC", "when it was stored"),
)

OFFERED = (
    real("payload_of_nominal", "offered payload over the capacity of the fabric with all links working"),
    real("wire_of_nominal", "offered bytes on the wire over the capacity of the fabric with all links working"),
    real("wire_of_available", "offered bytes on the wire over what the worst cut can carry"),
    Column("overloaded", "bool", "", "whether the worst cut was offered more than it can carry for long"),
)

MEANINGS_OF_FACTS = {
    "drops": "packets dropped at full queues, without a route or at the hop limit, control and UDP included",
    "trims": "packets trimmed at full queues; no value if switches do not trim",
    "marks": "data packets that arrived marked CE",
    "timeouts": "retransmission timeouts",
    "retransmits": "data packets retransmitted",
    "spurious": "retransmissions of data that had arrived, as far as DSACK reports them",
    "out_of_order_share": "arrivals behind a later byte of their flow, over packets sent",
    "reroutes": "packets that left their first leaf by another uplink than the flow's previous packet",
    "overhead_share": "bytes that carry no data, over all bytes that hosts and switches created",
    "paused_s": "total time for which flow control paused queues",
    "dropped_there": "packets dropped at the link `dropped_at`",
    "imbalance": "(most - least) / mean use of the equal-cost links of a switch, both summed over samples and switches",
    "run_s": "simulated time",
    "host_port_drops": "packets dropped at the port `host_port`",
}
MEANINGS_OF_LINKS = {
    "mean_use": "share of the whole run for which it was sending",
    "max_use": "its highest utilisation in any interval between two samples",
    "queue_p50": "median over the samples of the bytes that waited for it",
    "queue_p99": "99th percentile over the samples of the bytes that waited for it",
}
HOTTEST = {
    "hottest": "the busiest link between switches",
    "hottest_edge": "the busiest link to or from a host",
}

FACTS = (
    *(real(one.name, MEANINGS_OF_FACTS[one.name]) for one in fields(Facts) if one.type == "float"),
    *(real(f"overhead_{kind.replace(' ', '_')}_bytes", f"bytes on the wire: {kind}") for kind in (*OVERHEAD, HEADERS)),
    *(
        column
        for which, meaning in HOTTEST.items()
        for column in (
            text(f"{which}_name", f"{meaning}: its name"),
            *(real(f"{which}_{one}{'_bytes' * ('queue' in one)}", f"{meaning}: {MEANINGS_OF_LINKS[one]}")
              for one in LINK_NUMBERS),
        )
    ),
    text("dropped_at", "the link with the most drops; null if there were none"),
    text("host_port", "the port to a host with the most drops; null if there were none"),
)  # fmt: skip

PERCENTILES = {"mean": "mean", "p50": "median", "p95": "95th percentile", "p99": "99th percentile",
               "p999": "99.9th percentile"}  # fmt: skip

TIMES = (
    text("entry", "traffic entry by name; `all`: all traffic"),
    text("size_class", "size class of its flows; `all`: flows of any size"),
    whole("flows", "flows of the class; UDP sources do not count"),
    whole("unfinished", "those that had not finished when the run stopped; they are in no mean or percentile"),
    *(real(f"fct_{name}_s", f"{what} of the completion times") for name, what in PERCENTILES.items()),
    *(real(f"slowdown_{name}", f"{what} of the slowdowns: completion time over its ideal")
      for name, what in PERCENTILES.items()),
)  # fmt: skip

LINKS = (
    text("name", "name of the link, such as leaf0->spine1"),
    real("use", "share of the whole run for which it was sending"),
    real("use_max", "its highest utilisation in any interval between two samples; null without `metrics.facts`"),
    whole("bytes", "bytes sent", "bytes"),
    whole("drops", "packets dropped at its port"),
    whole("marks", "packets marked CE at its port"),
    whole("lost", "packets lost on it: down, by chance, or in a black hole"),
    whole("longest_queue_bytes", "the longest queue that a packet found at its port, or that a sample met if longer"),
    whole("queue_p99_bytes", "99th percentile over the samples of the bytes that waited; null without `metrics.facts`"),
    real("paused_s", "total time for which flow control paused its data queues"),
)

JOB_MEANINGS = {
    "groups": "groups of hosts, each with its own rounds",
    "ranks": "hosts of a group; of the largest if they differ",
    "fewest_ranks": "hosts of the smallest group",
    "message_bytes": "message of a host; of the largest group if they differ",
    "rounds": "rounds of all groups",
    "unfinished": "rounds that had not finished when the run stopped; they are in no time and no bandwidth",
    "mean_s": "mean time of a round",
    "p50_s": "median time of a round",
    "p99_s": "99th percentile of the times of rounds",
    "max_s": "the longest round",
    "total_s": "from the start of the first round to the end of the last; null if one is unfinished",
    "algbw_gbyte_per_s": "algorithm bandwidth as in nccl-tests; mean over groups",
    "busbw_gbyte_per_s": "bus bandwidth as in nccl-tests; mean over groups",
    "ideal_s": "a time that no scheme can beat for the slowest round; null if no close bound is known",
}

JOBS = (
    text("entry", "traffic entry by name"),
    *(
        (whole if one.type == "int" else real)(one.name, JOB_MEANINGS[one.name])
        for one in fields(Job)
        if one.type in ("int", "float")
    ),
)

PLACES = (
    text("study", "what requested the run, such as `compare demo` or an experiment and its effort"),
    RUN,
    text("scheme", "label of its scheme or variant there; null if it has none"),
    real("load", "its load there"),
    Column("seed", "uint64", "", "its seed there"),
    text("curve", "the curve of a figure that it belongs to"),
    real("x", "its position on that curve"),
    text("variant", "the version of the experiment"),
    text("label", "its whole place there, as JSON"),
    Column("outdated", "bool", "", "whether the study, as `sweep` last ran it, no longer has this place: see above"),
)

VERDICTS = (
    text("experiment", "what was reproduced, such as pdlb-7"),
    text("effort", "how much was run"),
    text("claim", "the paper's statement by its id, such as C3-01"),
    text("reading", "the form, transport or variant that was judged; empty if there is only one"),
    text("figure", "the figure or section that it is about"),
    text("statement", "what the paper states"),
    text("verdict", "the outcome"),
    text("evidence", "the numbers behind the verdict, one per line"),
    text("version", "version of Spinewise that judged it"),
    Column("judged_at", "timestamp", "UTC", "when it was judged"),
)

FLOW_TYPES: dict[str, Type] = {"f64": "float64", "bool": "bool", "u64": "uint64"}


def flow_columns() -> tuple[Column, ...]:
    """The columns of flows, as the engine describes them."""
    return (
        RUN,
        *(
            Column(one["name"], FLOW_TYPES.get(one["dtype"], "int64"), one["unit"], one["meaning"])
            for one in core.columns()["flows"]
        ),
    )


def empty_flows() -> pa.Table:
    """The view `flows` of a store that keeps none."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    table = tables.table({}, core.columns()["flows"])
    return table.add_column(0, schema([RUN]).field(0), pa.array([], pa.string()))


def views() -> dict[str, View]:
    """Every view, by its name."""
    found = (
        View("runs", "each run", (*OF_RUN, *HEADLINE, *OFFERED, *FACTS),
             "Measurements are null if the run failed; those that need `metrics.facts` are null without it. A run"
             " counts as done even if a measurement of a study failed: `unmeasured` names it, and the others exist."),
        View("cells", "each traffic entry and size class of each run", (*OF_RUN, *TIMES),
             "To average over seeds, group by `cell`, `engine`, `entry` and `size_class`."),
        View("links", "each link between switches of each run", (*OF_LINK, *LINKS)),
        View("collectives", "each traffic entry with rounds (collective operations, requests, incasts) of each run",
             (*OF_RUN, *JOBS)),
        View("flows", "each flow of the runs that keep their flows", flow_columns(),
             "`runs.flows_kept` says which runs do. The columns are those of flows.parquet in results.md."),
        View("studies", "each place of a run in a study: a run that two studies share has two", PLACES,
             "A study is identified by its name: a later one with the same name and place replaces the row. Places that"
             " a study no longer has, because its spec, its grid or the engine has changed, stay: `where not outdated`"
             " leaves them out. Only `sweep` sets `outdated`; places of other commands always count as current."),
        View("specs", "each run", (RUN, text("spec", "its resolved spec as JSON: `spec->>'$.transport.kind'`"))),
        View("claims", "each claim judged by a reproduction with this store", VERDICTS),
    )  # fmt: skip
    return {view.name: view for view in found}
