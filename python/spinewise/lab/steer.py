"""Agents at the hosts of a lab: their configuration, and their start before the traffic and stop after it.

crates/agent describes the program's input and output.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO, cast

from spinewise.errors import SpecError
from spinewise.lab import machine, state
from spinewise.lab.machine import LabError
from spinewise.lab.plan import Plan, threshold_bytes
from spinewise.lab.traffic import PRIORITY

PROGRAM, VARIABLE = "spinewise-agent", "SPINEWISE_AGENT"
BUILT = tuple(Path("target") / profile / PROGRAM for profile in ("release", "quick", "debug"))
PATIENCE_S = 20.0
LEAVING_S = 5.0
"""The time that an agent has to leave."""
MOST_WORDS = 8_000
"""The length kept of the last output of an agent."""
ACK_BYTES = 64
PROBES_PER_S = 500
"""Probes a second with which a host looks for its paths."""
Json = dict[str, object]


@dataclass
class Steering:
    """The agents of a run, and their final status, by host."""

    program: str
    folder: Path
    running: dict[str, subprocess.Popen[str]]
    told: dict[str, Json] = field(default_factory=dict)

    def socket(self, host: str) -> Path:
        """The socket on which an agent answers."""
        return self.folder / f"{host}.sock"

    def record(self, host: str) -> Path:
        """The file in which an agent records what its scheme sees."""
        return self.folder / f"{host}.jsonl"

    def ended(self, host: str) -> Json | None:
        """The last words of an agent that exited unexpectedly; None if it is running."""
        process = self.running.get(host)
        code = None if process is None else process.poll()
        if code is None:
            return None
        with suppress(OSError):
            return {"exit": code, "said": (self.folder / f"{host}.log").read_text().strip()[-MOST_WORDS:]}
        return {"exit": code, "said": ""}

    def status(self, host: str) -> Json:
        """The status of an agent; empty if it does not answer."""
        words = [self.program, "status", "--socket", str(self.socket(host))]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        return cast(Json, json.loads(done.stdout)) if done.returncode == 0 else {}


def program() -> str:
    """The agent's program: named by the environment, on the path, or built in this checkout.

    Raises:
        SpecError: the program was not found.
    """
    named = os.environ.get(VARIABLE)
    checkout = Path(__file__).parents[3]
    found = [named] if named else [shutil.which(PROGRAM), *(str(checkout / place) for place in BUILT)]
    for one in found:
        if one is not None and os.access(one, os.X_OK):
            return one
    allowed = f"ecmp or wcmp, which need no agent; or a machine with {PROGRAM}"
    hint = f"`make agent` builds it in a checkout; {VARIABLE} names another place"
    raise SpecError("lab", named or f"no {PROGRAM}", allowed, hint)


def config(plan: Plan, host: str, folder: Path) -> Json:
    """The configuration of the agent of a host."""
    number = plan.hosts.index(host)
    scheme = plan.spec["scheme"]
    one_way, trip = base_us(plan, number)
    return {
        "host": number,
        "device": plan.edge[number].lower.device,
        "hosts": [
            {"address": plan.address(place), "rack": plan.leaves.index(plan.leaf_of[name])}
            for place, name in enumerate(plan.hosts)
        ],
        "scheme": {"name": scheme["name"], "params": scheme.get("params", {})},
        "seed": plan.spec["seed"],
        "told": {
            "link_mbps": plan.edge[number].lower.rate_bps / 1e6,
            "path_mbps": max(cable.lower.rate_bps for cable in plan.core) / 1e6,
            "base_rtt_us": trip,
            "base_one_way_us": one_way,
            "mss": int(plan.spec["transport"]["mss_bytes"]),
            "mtu": plan.mtu,
        },
        # The hosts of a rack share them, and a lab's switches answer them all.
        "discovery": {"probes_per_s": PROBES_PER_S * list(plan.leaf_of.values()).count(plan.leaf_of[host])},
        "health": {"enabled": True, "silent_ms": plan.silent_ms} if plan.silent_ms else {"enabled": False},
        "socket": str(folder / f"{host}.sock"),
        "record": str(folder / f"{host}.jsonl"),
        "record_sight_ms": plan.sight_ms,
    }


def base_us(plan: Plan, host: int) -> tuple[float, float]:
    """One-way and round-trip time of a full packet between racks without queueing, from the spec."""
    links = {link["name"]: link for link in plan.fabric["links"]}
    edge = plan.edge[host]
    trunk = max((cable for cable in plan.core if cable.up), key=lambda cable: cable.lower.rate_bps)
    forward = [edge.lower, trunk.lower, trunk.upper, edge.upper]
    delays = sum(links[port.link]["delay_ps"] for port in forward) / 1e6
    sizes = (plan.mtu, ACK_BYTES)
    there, back = (sum(8e6 * size / port.rate_bps for port in forward) + delays for size in sizes)
    return there, there + back


def checked(plan: Plan) -> None:
    """Refuse a scheme that agents cannot run, before anything is changed.

    Raises:
        SpecError: there is no agent, or it refuses.
    """
    found = program()
    with tempfile.TemporaryDirectory(prefix="spinewise-check-") as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(config(plan, plan.hosts[0], Path(folder))))
        done = subprocess.run([found, "check", "--config", str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip() or f"exit {done.returncode}"
        raise SpecError("scheme.name", plan.spec["scheme"]["name"], "a scheme that agents run", why)


@contextmanager
def steered(plan: Plan, folder: Path) -> Iterator[Steering]:
    """Run an agent in every host's namespace, each with all its paths found, and stop them after the block.

    Raises:
        LabError: one did not come up, or paths were not found.
    """
    made = Steering(program(), folder, {})
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for host in plan.hosts:
            path = folder / f"{host}.json"
            path.write_text(json.dumps(config(plan, host, folder)))
            inside = ["ip", "netns", "exec", plan.namespace(host)]
            with (folder / f"{host}.log").open("w") as log:
                made.running[host] = subprocess.Popen(
                    [*inside, "nice", "-n", str(PRIORITY), made.program, "run", "--config", str(path)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                    env={**os.environ, "RUST_BACKTRACE": "1"},
                )  # fmt: skip
        for host in plan.hosts:
            wait_ready(made, host)
        wait_tunnelled(plan, made)
        yield made
        made.told = {host: made.status(host) for host in plan.hosts}
    finally:
        stop(made.running.values())


def end_leftovers(plan: Plan) -> list[int]:
    """End agents that a command that was killed has left in a lab, which must be held. Return which."""
    found = {pid for host in plan.hosts for pid in state.processes(plan.namespace(host)) if is_agent(pid)}
    end = time.monotonic() + LEAVING_S
    left = found
    while left:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if time.monotonic() > end else signal.SIGTERM)
        time.sleep(0.05)
        left = {pid for pid in left if is_agent(pid)}
    return sorted(found)


def is_agent(pid: int) -> bool:
    """Whether a process is a running agent."""
    with suppress(OSError):
        words = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
        return words[1:3] == [b"run", b"--config"]
    return False


def wait_ready(made: Steering, host: str) -> None:
    """Wait until an agent reports that it is attached."""
    process = made.running[host]
    stream = cast(TextIO, process.stdout)
    ready = select.select([stream], [], [], PATIENCE_S)[0]
    if not ready or stream.readline().strip() != "ready":
        with suppress(OSError):
            why = (made.folder / f"{host}.log").read_text().strip()[-400:]
            raise LabError(f"the agent of {host} did not come up: {why or process.poll()}")


def wait_tunnelled(plan: Plan, made: Steering) -> None:
    """Wait until every agent has found its paths to every host of other racks."""
    end = time.monotonic() + PATIENCE_S
    for number, host in enumerate(plan.hosts):
        others = {n for n, name in enumerate(plan.hosts) if plan.leaf_of[name] != plan.leaf_of[host]}
        while missing := others - tunnelled(made.status(host)):
            if time.monotonic() > end:
                names = ", ".join(plan.hosts[n] for n in sorted(missing))
                raise LabError(f"the agent of host{number} found no paths to {names}")
            time.sleep(0.05)


def tunnelled(status: Json) -> set[int]:
    """The peers to which an agent has found paths."""
    peers = cast("list[Json]", status.get("peers", []))
    return {int(str(peer["host"])) for peer in peers if peer.get("state") == "tunnelled"}


def stop(processes: Iterable[subprocess.Popen[str]]) -> None:
    """Stop agents, by force if needed."""
    found = list(processes)
    for process in found:
        process.send_signal(signal.SIGTERM)
    for process in found:
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        cast(TextIO, process.stdout).close()


def marked_ports(plan: Plan) -> list[tuple[str, str, str, int]]:
    """Node, device, link and threshold in bytes of every port that marks, as in the simulator."""
    ports = [(port, threshold_bytes(plan.spec, port.rate_bps)) for port in plan.ports if port.node not in plan.hosts]
    return [(port.node, port.device, port.link, above) for port, above in ports if plan.marks and above]


def attach_marks(plan: Plan) -> None:
    """Make every port of a switch mark packets when its queue is too long, if the spec has a threshold."""
    ports = marked_ports(plan)
    found = program() if ports else ""
    for node, device, _, above in ports:
        inside = ["ip", "netns", "exec", plan.namespace(node)]
        machine.said([*inside, found, "mark", "--device", device, "--above", str(above)])


def marks(plan: Plan) -> dict[str, int]:
    """Packets that each port has marked, by link."""
    ports, told = marked_ports(plan), dict[str, int]()
    found = program() if ports else ""
    for node, device, link, _ in ports:
        inside = ["ip", "netns", "exec", plan.namespace(node)]
        read: Mapping[str, int] = json.loads(machine.said([*inside, found, "mark", "--device", device, "--read"]))
        told[link] = read["marked"]
    return told
