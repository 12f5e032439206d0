"""The facts about one flow in the table of flows."""

from __future__ import annotations

from typing import Required, TypedDict, cast

import numpy as np

from spinewise import core
from spinewise.magnitudes import PS_PER_US
from spinewise.measures.entries import names
from spinewise.measures.nodes import Nodes
from spinewise.measures.tables import numbers
from spinewise.measures.units import duration
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.specs.carriers import transport_of, transports

FACTS = ("size_bytes", "src", "dst", "finished", "packets", "retransmits", "timeouts", "fast_retransmits",
         "dupack3_events", "out_of_order", "spurious_retransmits", "marks")  # fmt: skip


class FlowFacts(TypedDict, total=False):
    """The facts about a flow in flows.parquet: `FACTS`, and times in µs. Only its number if a run kept no flows.

    Names of its hosts are there if the spec names nodes.
    """

    flow: Required[int]
    traffic: str
    transport: str
    size_bytes: int
    src: int
    dst: int
    src_name: str
    dst_name: str
    finished: bool
    start_us: float
    fct_us: float
    ideal_fct_us: float
    packets: int
    retransmits: int
    timeouts: int
    fast_retransmits: int
    dupack3_events: int
    out_of_order: int
    spurious_retransmits: int
    marks: int


def flow_facts(result: Result, flow: int) -> FlowFacts:
    """Read the facts about a flow from flows.parquet; only its number if a run kept no flows."""
    facts: FlowFacts = {"flow": flow}
    if flow < result.flows.num_rows:
        row = result.flows.slice(flow, 1).to_pylist()[0]
        times = {f"{name}_us": row[f"{name}_ps"] / PS_PER_US for name in ("start", "fct", "ideal_fct")}
        facts |= cast(FlowFacts, {name: row[name] for name in FACTS if name in row} | times)
        facts["traffic"] = names(result.spec["traffic"])[row["entry"]]
        if (nodes := Nodes.of(result.spec)).given:
            facts |= {"src_name": nodes.host(facts["src"]), "dst_name": nodes.host(facts["dst"])}
        facts["transport"] = transport_of(result.spec, row["entry"])["kind"] if row["tcp"] else "udp"
    return facts


def has_subflows(result: Result, flow: int) -> bool:
    """Whether the packets of a flow belong to subflows of MPTCP, or to queue pairs of a split message."""
    kept = flow < result.flows.num_rows
    found = [transport_of(result.spec, int(numbers(result.flows, "entry")[flow]))] if kept else transports(result.spec)
    return any(one.get("kind") == "mptcp" or one.get("queue_pair_use") == "split" for one in found)


def between(facts: FlowFacts) -> str:
    """From where to where: "host 6 to host 33", or by the names of the spec."""
    src, dst = facts.get("src_name") or f"host {facts['src']}", facts.get("dst_name") or f"host {facts['dst']}"
    return f"{src} to {dst}"


def in_short(facts: FlowFacts) -> str:
    """The outcome of a flow, in a line; empty if a run kept no flows."""
    if "fct_us" not in facts:
        return ""
    took = f"arrived after {duration(facts['fct_us'] / 1e6)}" if facts["finished"] else "had not arrived"
    times = f", {facts['fct_us'] / facts['ideal_fct_us']:.1f} times its ideal" if facts["ideal_fct_us"] else ""
    many = (
        f"{count:,} {one}{'s' * (count != 1)}{rest}"
        for count, one, rest in ((facts["timeouts"], "timeout", ""), (facts["retransmits"], "packet", " sent again"))
    )
    return f"flow {facts['flow']} {took}{times if facts['finished'] else ''}, with {' and '.join(many)}"


def leaves_of(spec: Spec) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The leaf of each host, by number."""
    nodes = [node for node in core.topology(spec)["nodes"] if node["tier"] == "host"]
    number = {leaf: place for place, leaf in enumerate(dict.fromkeys(node["leaf"] for node in nodes))}
    return np.array([number[node["leaf"]] for node in sorted(nodes, key=lambda node: node["position"])], dtype=np.int64)
