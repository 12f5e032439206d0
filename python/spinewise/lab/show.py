"""Labs and their runs as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from spinewise.lab.build import Status
from spinewise.lab.plan import Plan
from spinewise.measures import units
from spinewise.runs.result import Result


def record(plan: Plan) -> dict[str, object]:
    """A plan, as JSON has it."""
    return {
        "name": plan.name,
        "factor": plan.factor,
        "namespaces": [plan.namespace(node) for node in plan.nodes],
        "mtu": plan.fabric_mtu,
        "route_mtu": plan.mtu,
        "hosts": {host: plan.address(number) for number, host in enumerate(plan.hosts)},
        "ports": [
            {
                "link": port.link,
                "namespace": plan.namespace(port.node),
                "device": port.device,
                "address": port.address,
                "rate_bps": port.rate_bps,
                "queue_bytes": port.queue_bytes,
            }
            for port in plan.ports
        ],
    }


def plan(made: Plan) -> RenderableType:
    """What a lab is."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("link", "namespace", "device", "address"):
        table.add_column(head)
    for head in ("rate", "queue"):
        table.add_column(head, justify="right")
    for port in made.ports:
        rate, queue = f"{units.count(port.rate_bps)}bps", f"{units.count(port.queue_bytes)}B"
        table.add_row(port.link, made.namespace(port.node), port.device, port.address, rate, queue)
    scale = (
        "rates and times are the spec's own"
        if made.factor == 1
        else f"rates are the spec's divided by {made.factor}, times are multiplied by it; bytes stay"
    )
    seconds = float(made.spec["run"]["until_us"]) / 1e6
    line = (
        f'lab "{made.name}": {len(made.hosts)} hosts, {len(made.leaves)} leaves, {len(made.spines)} spines; '
        f"{scale}; a run takes {seconds:g} s at most; MTU {made.fabric_mtu}, of routes {made.mtu}"
    )
    return Group(table, Text(line))


def labs(found: Sequence[Status]) -> RenderableType:
    """All labs."""
    if not found:
        return Text("there is no lab")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("lab")
    table.add_column("state")
    for head in ("hosts", "leaves", "spines", "factor", "namespaces", "processes"):
        table.add_column(head, justify="right")
    for one in found:
        numbers = (one.hosts, one.leaves, one.spines, one.factor, one.namespaces, one.processes)
        table.add_row(one.name, one.state, *(str(number) for number in numbers))
    return table


def beside(linux: Result, simulated: Result) -> RenderableType:
    """Completion times on Linux beside the simulator's."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="Linux beside the simulator", title_justify="left")
    table.add_column("class")
    for head in ("flows", "mean, Linux", "simulated", "p99, Linux", "simulated", "unfinished, Linux", "simulated"):
        table.add_column(head, justify="right")
    for here, there in zip(linux.summary().classes, simulated.summary().classes, strict=True):
        times = [units.duration(one.fct_s.get(what)) for what in ("mean", "p99") for one in (here, there)]
        table.add_row(here.name, f"{here.flows:,}", *times, f"{here.unfinished:,}", f"{there.unfinished:,}")
    return table
