"""Traffic processes in the namespaces of a lab: started, instructed and watched, and their results."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

from spinewise.lab import traffic
from spinewise.lab.drawn import Flow
from spinewise.lab.machine import LabError
from spinewise.lab.plan import Plan

AHEAD_NS = 400_000_000
"""How long before its start a flow's connection is opened, if the spec has no handshake."""
LEAD_NS = 600_000_000
"""The time from the start command until time zero."""
PATIENCE_S = 10.0

Act = tuple[int, Callable[[], object]]
"""An action at a time of the run, in nanoseconds."""


@dataclass(frozen=True)
class Sent:
    """The sender's record of a flow, on the clock of the run: 0 means never."""

    began_ns: int
    done_ns: int
    late: bool
    info: dict[str, int]


@dataclass(frozen=True)
class Received:
    """The receiver's record of a flow: when the last byte came, bytes missing, arrivals out of order."""

    done_ns: int
    missing: int
    out_of_order: int


@dataclass(frozen=True)
class Carried:
    """The results of all flows, and the CPU time of the processes, by host; time 0 is `epoch_ns` of the machine."""

    sent: dict[int, Sent]
    received: dict[int, Received]
    cpu_s: dict[str, float]
    ended_ns: int
    epoch_ns: int = 0


def carried(plan: Plan, flows: Sequence[Flow], end_ns: int, control: str, acts: Sequence[Act]) -> Carried:
    """Carry the flows, and perform `acts` at their times meanwhile.

    Raises:
        LabError: a traffic process ended early.
    """
    hosts = [number for number in range(len(plan.hosts)) if any(number in (f.source, f.target) for f in flows)]
    with processes(plan, hosts) as running:
        ports: dict[str, int] = {}
        for number in hosts:
            tell(running[number], orders(plan, flows, number, control))
        for number in hosts:
            answer = hear(running[number], plan.hosts[number], time.monotonic() + PATIENCE_S)
            ports[plan.address(number)] = int(str(answer["port"]))
        epoch = time.monotonic_ns() + LEAD_NS
        for number in hosts:
            tell(running[number], {"ports": ports, "epoch_ns": epoch, "end_ns": epoch + end_ns})
        pending = sorted(acts, key=lambda act: act[0])
        answers = {}
        for number in hosts:
            act_until(pending, running[number], epoch)
            limit = (epoch + end_ns) / 1e9 + PATIENCE_S
            answers[number] = hear(running[number], plan.hosts[number], limit)
        return collected(plan, answers, epoch)


def act_until(pending: list[Act], process: subprocess.Popen[str], epoch: int) -> None:
    """Perform actions that are due, until this process prints something."""
    assert process.stdout is not None
    while pending:
        at, act = pending[0]
        wait = (epoch + at - time.monotonic_ns()) / 1e9
        if select.select([process.stdout], [], [], max(0.0, wait))[0]:
            return
        pending.pop(0)
        act()


def orders(plan: Plan, flows: Sequence[Flow], number: int, control: str) -> dict[str, object]:
    """The instructions for a host."""
    return {
        "address": plan.address(number),
        "congestion": control,
        "ahead_ns": 0 if plan.spec["transport"].get("handshake") else AHEAD_NS,
        "sends": [
            [flow.number, plan.address(flow.target), flow.port, flow.size, flow.start_ns]
            for flow in flows
            if flow.source == number
        ],
        "receives": [
            [flow.number, plan.address(flow.source), flow.port, flow.size] for flow in flows if flow.target == number
        ],
    }


@contextmanager
def processes(plan: Plan, hosts: Sequence[int]) -> Iterator[dict[int, subprocess.Popen[str]]]:
    """A traffic process in each host's namespace; all end with the block."""
    script = str(Path(traffic.__file__))
    made: dict[int, subprocess.Popen[str]] = {}
    try:
        for number in hosts:
            inside = ["ip", "netns", "exec", plan.namespace(plan.hosts[number])]
            made[number] = subprocess.Popen(
                [*inside, sys.executable, "-I", "-S", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        yield made
    finally:
        for process in made.values():
            with suppress(OSError):
                cast(TextIO, process.stdin).close()
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            cast(TextIO, process.stdout).close()


def tell(process: subprocess.Popen[str], what: dict[str, object]) -> None:
    """Send a line of JSON."""
    stream = cast(TextIO, process.stdin)
    with suppress(BrokenPipeError):
        stream.write(json.dumps(what) + "\n")
        stream.flush()


def hear(process: subprocess.Popen[str], host: str, until: float) -> dict[str, object]:
    """A line of JSON.

    Raises:
        LabError: none came.
    """
    stream = cast(TextIO, process.stdout)
    ready = select.select([stream], [], [], max(0.0, until - time.monotonic()))[0]
    line = stream.readline() if ready else ""
    if not line:
        how = f"exit {process.poll()}" if process.poll() is not None else "nothing came"
        raise LabError(f"the traffic process of {host} sent no answer: {how}")
    return cast("dict[str, object]", json.loads(line))


def collected(plan: Plan, answers: dict[int, dict[str, object]], epoch: int) -> Carried:
    """The answers of all hosts as one."""
    sent: dict[int, Sent] = {}
    received: dict[int, Received] = {}
    for answer in answers.values():
        for flow, began, done, late, info in cast("list[list[object]]", answer["sent"]):
            counts = cast("dict[str, int]", info)
            sent[as_int(flow)] = Sent(as_int(began) - epoch, since(done, epoch), bool(late), counts)
        for flow, done, missing, ooo in cast("list[list[object]]", answer["received"]):
            received[as_int(flow)] = Received(since(done, epoch), as_int(missing), as_int(ooo))
    cpu = {plan.hosts[number]: float(str(answer["cpu_s"])) for number, answer in answers.items()}
    return Carried(sent, received, cpu, time.monotonic_ns() - epoch, epoch)


def as_int(value: object) -> int:
    """A whole number of JSON."""
    assert isinstance(value, int)
    return value


def since(value: object, epoch: int) -> int:
    """A time on the clock of the run; 0 remains 0, which means never."""
    return as_int(value) - epoch if value else 0
