"""The results of Linux, in the tables and words of the simulator's results."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from spinewise import core
from spinewise.lab.carry import Carried, Received, Sent
from spinewise.lab.plan import ETHERNET, Plan
from spinewise.lab.sampler import Count
from spinewise.lab.sensed import Sensed, with_points
from spinewise.magnitudes import PS_PER_NS
from spinewise.measures.report import Account, Counters, Link, OnLinux, Report, Totals
from spinewise.measures.tables import Values, numbers
from spinewise.runs.result import Result

if TYPE_CHECKING:
    import pyarrow as pa

NOT_TOLD = ("fast_retransmits", "path_changes", "close_fct_ps")
"""Columns that the kernel does not report; they are left out."""
ZERO = ("dupack3_events", "nacks", "cnps")
"""Columns that every table has, and that the kernel does not report either."""
NOTHING: Account = {"packets": 0, "bytes": 0}
MTU_HEADERS = 40


@dataclass(frozen=True)
class Measured:
    """The measurements of a run in a lab.

    Attributes:
        carried: the records of senders and receivers.
        counts: the counts of each port, by the name of its link.
        longest: the longest queue seen at each, in bytes; empty if only begin and end were sampled.
        series: links over time, as the simulator's table has them.
        seconds: its duration.
        busy_share: how busy the machine was meanwhile.
        congestion: the kernel's congestion control.
        steered_by: the component that chose the paths.
        notes: further notes.
        marks: packets that each port marked, by link.
        sensed: the reports of agents.
    """

    carried: Carried
    counts: Mapping[str, Count]
    longest: Mapping[str, int]
    series: pa.Table
    seconds: float
    busy_share: float
    congestion: str
    steered_by: str
    notes: Sequence[str]
    marks: Mapping[str, int] = field(default_factory=dict)
    sensed: Sensed = field(default_factory=lambda: Sensed({}, []))


def result_of(plan: Plan, simulated: Result, measured: Measured) -> Result:
    """The result of a run on Linux; `simulated` is the simulator's of the same spec, whose flows it carried."""
    flows = flow_table(simulated.flows, measured.carried)
    report = report_of(plan, simulated, flows, measured)
    series, report["series_names"] = with_points(measured.series, report, measured.sensed, plan)
    return Result(spec=simulated.spec, flows=flows, series=series, report=report)


def flow_table(drawn: pa.Table, carried: Carried) -> pa.Table:
    """The flow table: drawn values unchanged, measured ones from Linux."""
    numbers_ = numbers(drawn, "flow").tolist()
    none_sent = Sent(0, 0, late=False, info={})
    sent = [carried.sent.get(flow, none_sent) for flow in numbers_]
    came = [carried.received.get(flow, Received(0, 1, 0)) for flow in numbers_]
    planned = numbers(drawn, "start_ps").tolist()
    begun = [one.began_ns * PS_PER_NS if one.info else at for one, at in zip(sent, planned, strict=True)]
    finished = [other.missing == 0 and bool(one.info) for one, other in zip(sent, came, strict=True)]
    fct = [
        (other.done_ns - one.began_ns) * PS_PER_NS if done else 0
        for one, other, done in zip(sent, came, finished, strict=True)
    ]
    ideal = numbers(drawn, "ideal_fct_ps").tolist()
    columns: dict[str, Sequence[float]] = {
        "start_ps": begun,
        "finished": finished,
        "fct_ps": fct,
        "sender_fct_ps": [(one.done_ns - one.began_ns) * PS_PER_NS if one.done_ns else 0 for one in sent],
        "slowdown": [time / least if least else 0.0 for time, least in zip(fct, ideal, strict=True)],
        "packets": [one.info.get("packets", 0) for one in sent],
        "retransmits": [one.info.get("retransmits", 0) for one in sent],
        "timeouts": [one.info.get("timeouts", 0) for one in sent],
        "spurious_retransmits": [one.info.get("dsack_dups", 0) for one in sent],
        "out_of_order": [one.out_of_order for one in came],
        "marks": [one.info.get("delivered_ce", 0) for one in sent],
        **{name: [0] * len(sent) for name in ZERO},
    }
    return replaced(drawn, columns).drop_columns([name for name in NOT_TOLD if name in drawn.column_names])


def replaced(table: pa.Table, columns: Mapping[str, Sequence[float]]) -> pa.Table:
    """A table with other values in some columns, whose types and meanings are kept."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        field = table.schema.field(place)
        table = table.set_column(place, field, pa.array(values, field.type))
    return table


def report_of(plan: Plan, simulated: Result, flows: pa.Table, measured: Measured) -> Report:
    """The report; only names, rates and the offered load are the simulator's."""
    drawn = simulated.report
    stop_ps = round(measured.seconds * 1e12)
    digest = outcome_hash(flows)
    links = [link_of(link, measured) for link in drawn["links"]]
    done = numbers(flows, "finished").astype(bool)
    report: Report = {
        "seed": drawn["seed"],
        "version": core.version(),
        "wall_seconds": measured.seconds,
        "stop_ps": stop_ps,
        "events": 0,
        "packet_hops": sum(count.packets for count in measured.counts.values()),
        "outcome_hash": digest,
        "traffic_hash": drawn["traffic_hash"],
        "flows": drawn["flows"],
        "finished": int(done.sum()),
        "totals": totals(flows),
        "counters": counters(plan, flows, measured.counts),
        "loads": drawn["loads"],
        "deadlock": None,
        "series_names": drawn["series_names"],
        "entity_names": drawn["entity_names"],
        "samples": None,
        "balance": None,
        "links": links,
        "classes": [],
        "worked_out": drawn.get("worked_out", []),
        "linux": told(plan, simulated.flows, measured),
    }
    if "unfinished" in drawn:
        report["unfinished"] = {"cut_off": 0, "out_of_time": int((~done).sum())}
    return report


def outcome_hash(flows: pa.Table) -> str:
    """A hash of the flows' outcomes. No two runs of Linux are the same, so it distinguishes them."""
    made = hashlib.sha256()
    for name in ("flow", "start_ps", "fct_ps", "packets"):
        made.update(np.ascontiguousarray(numbers(flows, name)).tobytes())
    return made.hexdigest()[:16]


def link_of(drawn: Link, measured: Measured) -> Link:
    """A link as its token bucket counted; bytes are those of IP packets, as in the simulator."""
    count, seconds = measured.counts.get(drawn["name"]), measured.seconds
    packets = count.packets if count else 0
    carried = max(0, count.sent_bytes - ETHERNET * packets) if count else 0
    rate = drawn.get("rate_bps", 0)
    return {
        "name": drawn["name"],
        "fabric": drawn["fabric"],
        "rate_bps": rate,
        "packets": packets,
        "bytes": carried,
        "lost": 0,
        "drops": count.drops if count else 0,
        "dropped_bytes": 0,
        "marks": measured.marks.get(drawn["name"], 0),
        "longest_queue_bytes": measured.longest.get(drawn["name"], 0),
        "queue_bytes": None,
        "paused_ps": 0,
        "pauses": 0,
        "utilisation": min(1.0, carried * 8 / (rate * seconds)) if rate else 0.0,
        "use_max": None,
    }


def totals(flows: pa.Table) -> Totals:
    """Sums over the flows."""

    def sum_of(name: str) -> int:
        values: Values = numbers(flows, name)
        return int(values.sum(dtype=np.int64))

    return {
        "sent": sum_of("packets"),
        "retransmits": sum_of("retransmits"),
        "spurious_retransmits": sum_of("spurious_retransmits"),
        "timeouts": sum_of("timeouts"),
        "out_of_order": sum_of("out_of_order"),
        "dupack3_events": 0,
        "marks": sum_of("marks"),
        "reroutes": None,
        "nacks": 0,
        "cnps": 0,
    }


def counters(plan: Plan, flows: pa.Table, counts: Mapping[str, Count]) -> Counters:
    """Packets that hosts sent and received, by their ports; any that are not flows' data count as acknowledgements."""
    made = account(counts[cable.lower.link] for cable in plan.edge if cable.lower.link in counts)
    got = account(counts[cable.upper.link] for cable in plan.edge if cable.upper.link in counts)
    drops = sum(count.drops for count in counts.values())
    waiting = sum(count.waiting_bytes for count in counts.values())
    data = int(numbers(flows, "packets").sum(dtype=np.int64))
    acks = max(0, made["packets"] - data)
    return {
        "created": made,
        "delivered": got,
        "dropped": {"packets": drops, "bytes": 0},
        "lost": NOTHING,
        "lost_in_switches": 0,
        "consumed": NOTHING,
        "in_network_at_stop": {"packets": 0, "bytes": waiting},
        "acks": {"packets": acks, "bytes": acks * MTU_HEADERS},
        "lossless_drops": 0,
        "most_buffer_bytes": [],
        "most_headroom_bytes": 0,
        "scheme_header_bytes": 0,
        "unroutable": 0,
    }


def account(counts: object) -> Account:
    """Packets and bytes of several ports together."""
    found = list(cast("Sequence[Count]", counts))
    packets = sum(count.packets for count in found)
    return {"packets": packets, "bytes": sum(count.sent_bytes for count in found) - ETHERNET * packets}


def told(plan: Plan, drawn: pa.Table, measured: Measured) -> OnLinux:
    """The facts about a run on Linux."""
    sent = measured.carried.sent
    trips = [one.info["min_rtt_us"] for one in sent.values() if 0 < one.info.get("min_rtt_us", 0) < NO_RTT_US]
    planned = dict(zip(numbers(drawn, "flow").tolist(), numbers(drawn, "start_ps").tolist(), strict=True))
    lags = [one.began_ns / 1e3 - planned[flow] / 1e6 for flow, one in sent.items()]
    return {
        "factor": plan.factor,
        "kernel": os.uname().release,
        "congestion": measured.congestion,
        "steered_by": measured.steered_by,
        "base_rtt_us": float(np.median(trips)) if trips else None,
        "late_flows": sum(one.late for one in sent.values()),
        "start_lag_p99_us": float(np.quantile(lags, 0.99)) if lags else None,
        "busy_share": measured.busy_share,
        "traffic_cpu_s": sum(measured.carried.cpu_s.values()),
        "unmeasured": [*NOT_TOLD, *ZERO, *([] if measured.longest else ["longest_queue_bytes"])],
        "notes": list(measured.notes),
        "agents": dict(measured.sensed.agents),
    }


NO_RTT_US = 1 << 31
"""The kernel's value for a round trip that was never measured is all ones."""
