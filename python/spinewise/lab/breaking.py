"""Faults of a spec as commands at their times."""

from __future__ import annotations

from dataclasses import dataclass

from spinewise.errors import SpecError
from spinewise.lab.commands import Batch, bucket, routes
from spinewise.lab.plan import Cable, Plan, Port
from spinewise.magnitudes import PS_PER_NS
from spinewise.replies import FabricFault


@dataclass(frozen=True)
class Deed:
    """A change to the fabric at a time, and its description."""

    at_ns: int
    what: str
    batches: tuple[Batch, ...]


def deeds(plan: Plan) -> list[Deed]:
    """All changes by a spec's faults, in order.

    Raises:
        SpecError: the lab cannot do one of them.
    """
    found: list[Deed] = []
    for number, fault in enumerate(plan.fabric["faults"]):
        begin, end = both(plan, fault, f"fault[{number}]")
        name = fault["switch"] or ", ".join(fault["links"])
        for since, until in fault["intervals"]:
            if since is not None:
                found.append(Deed(since // PS_PER_NS, f"{fault['kind']} of {name} begins", begin))
            if until is not None:
                found.append(Deed(until // PS_PER_NS, f"{fault['kind']} of {name} ends", end))
    return sorted(found, key=lambda deed: deed.at_ns)


def both(plan: Plan, fault: FabricFault, key: str) -> tuple[tuple[Batch, ...], tuple[Batch, ...]]:
    """The changes that begin and end a fault."""
    if fault["kind"] == "rate":
        return rates(plan, fault)
    if fault["kind"] == "black_hole":
        return black_hole(plan, fault, key)
    return down(plan, fault, key)


def rates(plan: Plan, fault: FabricFault) -> tuple[tuple[Batch, ...], tuple[Batch, ...]]:
    """Token buckets at a lower rate, one for each direction that it hits."""
    ports = [port for port in plan.ports if port.link in fault["links"]]
    return (
        tuple(Batch("tc", port.node, (bucket(plan, port, "change", fault["rate_bps"]),)) for port in ports),
        tuple(Batch("tc", port.node, (bucket(plan, port, "change", port.rate_bps),)) for port in ports),
    )


def black_hole(plan: Plan, fault: FabricFault, key: str) -> tuple[tuple[Batch, ...], tuple[Batch, ...]]:
    """Routes that drop packets silently: carrier stays, and nothing answers."""
    spine = fault["switch"]
    if spine not in plan.spines:
        raise SpecError(f"{key}.switch", spine or "(a link)", f"one of {', '.join(plan.spines)} in a lab")
    swallow = tuple(f"route replace blackhole {plan.subnet(leaf)}" for leaf in plan.leaves)
    return (Batch("ip", spine, swallow),), (Batch("ip", spine, tuple(routes(plan, spine))),)


def down(plan: Plan, fault: FabricFault, key: str) -> tuple[tuple[Batch, ...], tuple[Batch, ...]]:
    """Interfaces down at both ends, and up again with their routes."""
    hit = [cable for cable in (*plan.edge, *plan.core) if cable.lower.link in fault["links"]]
    if {port.link for cable in hit for port in cable.ports} != set(fault["links"]):
        raise SpecError(f"{key}.direction", "one direction", '"both" in a lab', "a cable of Linux fails both ways")
    return (
        tuple(set_links(cable, "down") for cable in hit),
        (*(set_links(cable, "up") for cable in hit), *repaired(plan, hit)),
    )


def set_links(cable: Cable, state: str) -> Batch:
    """Set the interface at the lower end; the other end loses its carrier with it."""
    port: Port = cable.lower
    return Batch("ip", port.node, (f"link set dev {port.device} {state}",))


def repaired(plan: Plan, hit: list[Cable]) -> list[Batch]:
    """The routes of all nodes next to these cables: the kernel forgets those over an interface that was down."""
    nodes = [node for node in plan.nodes if any(port.node == node for cable in hit for port in cable.ports)]
    return [Batch("ip", node, tuple(routes(plan, node))) for node in nodes]
