"""The cost of an agent: throughput of one TCP connection between two hosts, and CPU per gigabit, with and without.

Two namespaces with one cable between them and no token bucket, so that only the CPU is the limit; Reno, because pacing
gets no faster with more CPU. Each round has all cases in turn: segmentation offload on and off (`gso_max_segs 1`: TCP
hands over one segment at a time), paths by the kernel or by agents. The count is the work of all processors of the
machine (/proc/stat), less that of the idle machine just before the round: softirqs, in which most of the
work is done, are not charged to any process.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from spinewise.lab import machine, sampler, steer
from spinewise.lab.machine import LabError
from spinewise.runs.hidden import scratch

ADDRESSES = ("10.10.0.2", "10.11.0.2")
MTU, FABRIC_MTU = 1500, 1600
PORT = 7_001
IDLE_S = 1.5
SETTLE_S = 0.3
CHUNK, WAKE_BYTES = 1 << 20, 1 << 17
STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
PROGRAMS = ("egress", "ingress")
"""The programs of the data path, in the order in which they are loaded."""
KERNEL, AGENTS = "the kernel", "agents"


@dataclass
class Case:
    """One case, a value a round.

    Attributes:
        offload: whether TCP hands over super-packets.
        paths_by: "the kernel", or "agents".
        gbps: payload that arrived.
        cpu_s_per_gbit: the CPU time of all processors for it.
        agents_cpu_share: of one core, the mean of both daemons; empty without agents.
        program_ns: mean time of a run of each program at the sender, nanoseconds, from a round of its own; empty
            without agents.
    """

    offload: bool
    paths_by: str
    gbps: list[float] = field(default_factory=list)
    cpu_s_per_gbit: list[float] = field(default_factory=list)
    agents_cpu_share: list[float] = field(default_factory=list)
    program_ns: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Costs:
    """All cases, and how they were measured."""

    cases: list[Case]
    rounds: int
    seconds: int
    idle_share: float
    """The share of all processors that is used when idle: the mean of the rounds."""
    processors: int


def measured(rounds: int, seconds: int, tell: Callable[[str], object]) -> Costs:
    """Measure all cases.

    Raises:
        LabError: a namespace or an agent did not come up.
        SpecError: there is no agent.
    """
    steer.program()
    cases = [Case(offload, by) for offload in (True, False) for by in (KERNEL, AGENTS)]
    idle = []
    for number in range(rounds):
        idle.append(idle_share())
        # Each round begins with another case.
        turn = number % len(cases)
        for case in (*cases[turn:], *cases[:turn]):
            one(case, seconds, idle[-1])
        tell(f"round {number + 1} of {rounds}")
    for case in cases:
        if case.paths_by == AGENTS:
            case.program_ns = program_times(case)
    return Costs(cases, rounds, seconds, sum(idle) / len(idle), os.cpu_count() or 1)


def one(case: Case, seconds: int, idle: float) -> None:
    """One measurement of a case."""
    with pair(offload=case.offload) as names, agents(names, case) as running:
        time.sleep(SETTLE_S)
        before, began = [cpu_s(process.pid) for process in running], ticks()
        moved = transfer(names, seconds)
        busy, whole = ticks()[0] - began[0], ticks()[1] - began[1]
        after = [cpu_s(process.pid) for process in running]
    gbit = 8e-9 * moved
    hertz = os.sysconf("SC_CLK_TCK")
    case.gbps.append(gbit / seconds)
    case.cpu_s_per_gbit.append(max(0.0, busy - idle * whole) / hertz / gbit)
    if running:
        spent = sum(there - here for here, there in zip(before, after, strict=True))
        case.agents_cpu_share.append(spent / len(running) / seconds)


def program_times(case: Case) -> dict[str, float]:
    """Mean time of a run of each program of the sender's agent, in nanoseconds, as the kernel counts it if asked to."""
    old = STATS.read_text()
    STATS.write_text("1")
    try:
        with pair(offload=case.offload) as names, agents(names, case) as running:
            before = program_counts(running[0].pid)
            transfer(names, 2)
            after = program_counts(running[0].pid)
    finally:
        STATS.write_text(old)
    spent = [(there[0] - here[0]) / max(1, there[1] - here[1]) for here, there in zip(before, after, strict=True)]
    return dict(zip(PROGRAMS, spent, strict=True))


def program_counts(pid: int) -> list[tuple[int, int]]:
    """Nanoseconds and runs of each program that a process holds, in the order of loading."""
    found: dict[int, tuple[int, int]] = {}
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        told = dict(re.findall(r"^(\w+):\s*(\d+)", path.read_text(), re.MULTILINE))
        if "run_time_ns" in told:
            found[int(told["prog_id"])] = (int(told["run_time_ns"]), int(told["run_cnt"]))
    return [found[number] for number in sorted(found)]


@contextmanager
def pair(*, offload: bool) -> Iterator[tuple[str, str]]:
    """Two namespaces with a cable between them; both are removed after the block."""
    names = (f"spinewise-cost-{os.getpid()}.0", f"spinewise-cost-{os.getpid()}.1")
    try:
        machine.said(["ip", "-b", "-"], "".join(f"netns add {name}\n" for name in names))
        machine.said(
            ["ip", "-n", names[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", names[1]]
        )
        for name, address in zip(names, ADDRESSES, strict=True):
            segments = "" if offload else " gso_max_segs 1"
            machine.said(
                ["ip", "-n", name, "-b", "-"],
                f"addr add {address}/32 dev eth0\nlink set dev eth0 mtu {FABRIC_MTU}{segments} up\n"
                f"route add 10.0.0.0/8 dev eth0 mtu {MTU} advmss {MTU - 40}\n",
            )
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


@contextmanager
def agents(names: Sequence[str], case: Case) -> Iterator[list[subprocess.Popen[str]]]:
    """An agent in each namespace that has found the other, if the case has agents."""
    if case.paths_by != AGENTS:
        yield []
        return
    running: list[subprocess.Popen[str]] = []
    with scratch() as folder:
        made = steer.Steering(steer.program(), folder, {})
        try:
            for number, name in enumerate(names):
                path = folder / f"host{number}.json"
                path.write_text(json.dumps(config(number, folder)))
                with (folder / f"host{number}.log").open("w") as log:
                    running.append(
                        subprocess.Popen(
                            ["ip", "netns", "exec", name, made.program, "run", "--config", str(path)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                        )
                    )  # fmt: skip
                made.running[f"host{number}"] = running[-1]
            for number in range(len(names)):
                steer.wait_ready(made, f"host{number}")
            end = time.monotonic() + steer.PATIENCE_S
            while not all(steer.tunnelled(made.status(f"host{number}")) for number in range(len(names))):
                if time.monotonic() > end:
                    raise LabError("the agents did not meet")
                time.sleep(0.05)
            yield running
        finally:
            steer.stop(running)


def config(number: int, folder: Path) -> dict[str, object]:
    """The configuration of the agent of a host."""
    return {
        "host": number,
        "device": "eth0",
        "hosts": [{"address": address, "rack": rack} for rack, address in enumerate(ADDRESSES)],
        "scheme": {"name": "ecmp"},
        "told": {
            "link_mbps": 10_000, "path_mbps": 10_000, "base_rtt_us": 100, "base_one_way_us": 50,
            "mss": MTU - 40, "mtu": MTU,
        },
        "socket": str(folder / f"host{number}.sock"),
    }  # fmt: skip


SENDER = """
import socket, sys, time
made = socket.socket()
made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
made.connect((sys.argv[1], int(sys.argv[2])))
zeros, end = memoryview(bytes(1 << 20)), time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    made.sendall(zeros)
"""


def transfer(names: Sequence[str], seconds: float) -> int:
    """Bytes that arrive over one connection in this time."""
    listener = sampler.inside(names[1], lambda: socket.create_server((ADDRESSES[1], PORT)))
    words = [
        "ip",
        "netns",
        "exec",
        names[0],
        sys.executable,
        "-I",
        "-S",
        "-c",
        SENDER,
        ADDRESSES[1],
        str(PORT),
        str(seconds),
    ]
    got = [0]

    def take() -> None:
        connection, _ = listener.accept()
        # It is woken for this much data, or the cost of waking would count as that of the path.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, WAKE_BYTES)
        sink = bytearray(CHUNK)
        with suppress(OSError):
            while count := connection.recv_into(sink, CHUNK, socket.MSG_TRUNC):
                got[0] += count
        connection.close()

    listener.settimeout(steer.PATIENCE_S)
    thread = threading.Thread(target=take)
    thread.start()
    try:
        subprocess.run(words, check=True, capture_output=True)
    except subprocess.CalledProcessError as error:
        raise LabError(f"the sender failed: {error.stderr.decode()[-300:]}") from None
    finally:
        thread.join(steer.PATIENCE_S)
        listener.close()
    return got[0]


def idle_share() -> float:
    """The share of all processors that other processes use."""
    before = ticks()
    time.sleep(IDLE_S)
    after = ticks()
    return (after[0] - before[0]) / max(1, after[1] - before[1])


def ticks() -> tuple[int, int]:
    """Ticks of all processors: busy (user, nice, system, irq, softirq) and all."""
    words = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = words[3] + words[4]
    return sum(words) - idle, sum(words)


def cpu_s(pid: int) -> float:
    """Seconds of CPU of a process so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
