"""Build labs, take them down, and report on them."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from spinewise.errors import SpecError
from spinewise.lab import machine, state, steer
from spinewise.lab.commands import HASH_SEED, OPTIONAL, building, routes, values
from spinewise.lab.fit import CONGESTION
from spinewise.lab.plan import Plan
from spinewise.shapes import Spec

PATIENCE_S = 2.0


@dataclass(frozen=True)
class Status:
    """A lab as found.

    Attributes:
        name: the name of the lab.
        state: "up", "in use", or "left over" by a command that was killed.
        hosts, leaves, spines: the numbers of nodes, if the lab is complete.
        factor: rates of its spec over its own.
        namespaces: how many there are.
        processes: how many run in them.
    """

    name: str
    state: str
    hosts: int
    leaves: int
    spines: int
    factor: int
    namespaces: int
    processes: int


def up(given: Spec, plan: Plan, *, temporary: bool = False) -> list[str]:
    """Build a lab, which must be held; `given` is the resolved spec, not at scale.

    What a killed command has left of a lab of its name is removed, and a `temporary` lab counts as left once nobody
    holds it. Returns the optional features that the kernel lacks.

    Raises:
        SpecError: it cannot be built here, or exists already.
    """
    found = machine.looked_at()
    machine.check_congestion(CONGESTION[str(plan.spec["transport"]["kind"])])
    if steer.marked_ports(plan):
        steer.program()
    if plan.agents:
        steer.checked(plan)
    if (kept := state.read(plan.name)) is not None and not kept.temporary:
        hint = f"`spinewise lab down --name {plan.name}` takes it down, or give this one another --name"
        raise SpecError("--name", plan.name, "a name that no lab has yet", hint)
    remove(plan.name)
    try:
        for batch in building(plan, found.settings):
            machine.applied(batch, None if batch.node is None else plan.namespace(batch.node))
        steer.attach_marks(plan)
        state.write(state.Kept(plan.name, plan.factor, given, broken=False, temporary=temporary))
    except BaseException:
        remove(plan.name)
        raise
    return [name for name in OPTIONAL if name not in found.settings]


def down(name: str) -> int:
    """Take a lab down, whole or left over; return how many namespaces it had.

    Raises:
        SpecError: no lab has this name.
    """
    found = state.namespaces(name)
    if not found and state.read(name) is None:
        there = ", ".join(state.names()) or "none"
        raise SpecError("--name", name, f"a lab that is there; there are: {there}")
    machine.looked_at()
    remove(name)
    return len(found)


def remove(name: str) -> None:
    """Remove everything of a lab, its record first, so that remnants are recognised as such."""
    state.forget(name)
    found = state.namespaces(name)
    running = [pid for namespace in found for pid in state.processes(namespace)]
    for pid in running:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + PATIENCE_S
    while running and time.monotonic() < end and any(state.processes(namespace) for namespace in found):
        time.sleep(0.02)
    if found:
        machine.said(["ip", "-b", "-"], "".join(f"netns del {namespace}\n" for namespace in found))


def same_fabric(one: Plan, other: Plan) -> bool:
    """Whether two plans build the same: nodes, cables, queues, marks, routes, settings. The hash seed may differ."""
    if (one.edge, one.core, one.mtu, one.marks) != (other.edge, other.core, other.mtu, other.marks):
        return False
    if steer.marked_ports(one) != steer.marked_ports(other):
        return False
    settings = frozenset(OPTIONAL) - {HASH_SEED}
    return all(
        list(routes(one, node)) == list(routes(other, node))
        and list(values(one, node, settings)) == list(values(other, node, settings))
        for node in one.nodes
    )


def status() -> list[Status]:
    """All existing labs."""
    return [one(name) for name in state.names()]


def one(name: str) -> Status:
    """A lab as it is found."""
    kept = state.read(name)
    found = state.namespaces(name)
    running = sum(len(state.processes(namespace)) for namespace in found)
    try:
        with state.held(name):
            busy = False
    except SpecError:
        busy = True
    plan = None if kept is None else kept.plan()
    whole = kept is not None and plan is not None and not kept.temporary and len(found) == len(plan.nodes)
    return Status(
        name=name,
        state="in use" if busy else "up" if whole else "left over",
        hosts=len(plan.hosts) if plan else 0,
        leaves=len(plan.leaves) if plan else 0,
        spines=len(plan.spines) if plan else 0,
        factor=plan.factor if plan else 0,
        namespaces=len(found),
        processes=running,
    )
