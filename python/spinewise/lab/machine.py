"""Check which of a lab's needs this machine meets."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.lab.commands import OPTIONAL, Batch

SYS = Path("/proc/sys/net")
NAMESPACES = Path("/run/netns")
CONFIG = Path("/proc/config.gz")
PROGRAMS = {"ip": "iproute2", "tc": "iproute2"}
SETTER = 'while read -r name value; do echo "$value" > "/proc/sys/net/$name" || exit 1; done'
TRIAL = "spinewise.trial."
"""The prefix of a namespace that is no lab's."""
BUCKET = ("qdisc", "add", "dev", "t0", "root", "tbf", "rate", "1mbit", "burst", "4000", "limit", "9000")


class LabError(Exception):
    """A command failed unexpectedly: the machine is not as found before."""


@dataclass(frozen=True)
class Machine:
    """The capabilities found.

    Attributes:
        settings: those of `commands.OPTIONAL` that the kernel has.
        congestion: the congestion controls it has.
    """

    settings: frozenset[str]
    congestion: frozenset[str]


@cache
def looked_at() -> Machine:
    """Check this machine's capabilities; the check leaves nothing behind.

    Raises:
        SpecError: something is missing, in words.
    """
    allowed = "a Linux machine on which this process may create network namespaces"
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            raise SpecError("lab", f"no program {program}", allowed, f"apt-get install {package}")
    if os.geteuid() != 0:
        raise SpecError("lab", "no privilege", allowed, "run it as root; planning (`lab plan`) needs none")
    sweep()
    trial = f"{TRIAL}{os.getpid()}"
    try:
        tried(allowed, trial)
    finally:
        subprocess.run(["ip", "netns", "del", trial], capture_output=True, check=False)
    found = (SYS / "ipv4/tcp_available_congestion_control").read_text().split()
    return Machine(frozenset(name for name in OPTIONAL if (SYS / name).exists()), frozenset(found))


def sweep() -> None:
    """Remove the namespaces in which commands that were killed had checked the machine."""
    for left in left_over(os.listdir(NAMESPACES) if NAMESPACES.is_dir() else []):
        subprocess.run(["ip", "netns", "del", left], capture_output=True, check=False)


def left_over(namespaces: Iterable[str]) -> list[str]:
    """Those that belong to no lab, and whose process is gone; other processes may be checking at this moment."""
    numbers = {name: name.removeprefix(TRIAL) for name in namespaces if name.startswith(TRIAL)}
    return [name for name, pid in numbers.items() if pid.isdecimal() and not Path("/proc", pid).exists()]


def check_congestion(control: str) -> None:
    """Refuse a congestion control that the kernel lacks, and report whether it could have it.

    Raises:
        SpecError: it has none of this name.
    """
    has = looked_at().congestion
    if control in has:
        return
    option = f"CONFIG_TCP_CONG_{control.upper()}"
    built = configured(option)
    release = os.uname().release
    why = {
        "m": f"this kernel ({release}) has it as a module: `modprobe tcp_{control}` loads it",
        "n": f"this kernel ({release}) was built without it ({option} is not set), not even as a module",
    }.get(built, f"this kernel ({release}) does not offer it; `modprobe tcp_{control}` loads it where it is a module")
    more = '; "ecn" reacts to the same marks as to losses' if control == "dctcp" else ""
    raise SpecError("transport.kind", control, f"{', '.join(sorted(has))} on this kernel", why + more)


def configured(option: str) -> str:
    """How the kernel was built: "y", "m", "n", or "" if unknown."""
    try:
        with gzip.open(CONFIG, "rt") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return ""
    found = [line.partition("=")[2] for line in lines if line.startswith(f"{option}=")]
    return found[0] if found else "n"


def tried(allowed: str, trial: str) -> None:
    """Create a namespace with a cable and a token bucket, as in a lab."""
    steps = (
        (["ip", "netns", "add", trial], "this process may not create network namespaces (CAP_SYS_ADMIN)"),
        (["ip", "-n", trial, "link", "add", "t0", "type", "veth", "peer", "name", "t1"], "no veth (CONFIG_VETH)"),
        (
            ["tc", "-n", trial, *BUCKET],
            "no token buckets (CONFIG_NET_SCH_TBF)",
        ),
        (
            ["ip", "netns", "exec", trial, "test", "-e", "/proc/sys/net/ipv4/fib_multipath_hash_policy"],
            "no multipath routes (CONFIG_IP_ROUTE_MULTIPATH)",
        ),
    )  # fmt: skip
    for words, missing in steps:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SpecError("lab", missing, allowed, done.stderr.strip() or None)


def applied(batch: Batch, namespace: str | None) -> None:
    """Run a batch.

    Raises:
        LabError: a command failed.
    """
    if not batch.lines:
        return
    if batch.program == "set":
        words = ["ip", "netns", "exec", str(namespace), "sh", "-c", SETTER]
    else:
        words = [batch.program, *([] if namespace is None else ["-n", namespace]), "-b", "-"]
    said(words, "\n".join(batch.lines) + "\n")


def said(words: list[str], given: str = "") -> str:
    """The output of a command.

    Raises:
        LabError: it failed.
    """
    done = subprocess.run(words, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{' '.join(words[:8])}: {done.stderr.strip() or f'exit {done.returncode}'}")
    return done.stdout
