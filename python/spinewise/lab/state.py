"""The labs that exist: their names, their locks and their records below /run/spinewise.

A lab is whole once its record is there, which is written last. Namespaces of its name without a record were left
by a command that was killed, and are removed by the next one. So is a lab that was built for one command, if nobody
holds it any more.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from spinewise.errors import SpecError
from spinewise.lab.machine import NAMESPACES
from spinewise.lab.plan import PREFIX, Plan, plan_of, prefix
from spinewise.shapes import Spec

ROOT = Path("/run/spinewise/labs")


@dataclass(frozen=True)
class Kept:
    """The record of a lab.

    Attributes:
        name: the name of the lab.
        factor: rates of the spec over rates in the lab.
        spec: the resolved spec as it was given, not at the scale of the lab.
        broken: a run that breaks links did not put them back.
        temporary: it was built for one command. If nobody holds it, that command was killed.
    """

    name: str
    factor: int
    spec: Spec
    broken: bool
    temporary: bool = False

    def plan(self) -> Plan:
        """The plan from which it was built."""
        return plan_of(self.spec, self.name, self.factor)


def record(name: str) -> Path:
    """The path of a lab's record."""
    return ROOT / f"{name}.json"


def read(name: str) -> Kept | None:
    """Read the record of a lab; None if the lab is not complete."""
    try:
        found = json.loads(record(name).read_text())
        flags = bool(found["broken"]), bool(found.get("temporary"))
        return Kept(name, int(found["factor"]), cast(Spec, found["spec"]), *flags)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(kept: Kept) -> None:
    """Write the record of a lab, in one step."""
    partial = record(kept.name).with_suffix(".partial")
    flags = {"broken": kept.broken, "temporary": kept.temporary}
    partial.write_text(json.dumps({"factor": kept.factor, "spec": kept.spec, **flags}) + "\n")
    os.replace(partial, record(kept.name))


def forget(name: str) -> None:
    """Remove a lab's record: from now on the lab is incomplete."""
    with suppress(FileNotFoundError):
        record(name).unlink()


def namespaces(name: str) -> list[str]:
    """The existing namespaces of a lab."""
    with suppress(OSError):
        return sorted(found for found in os.listdir(NAMESPACES) if found.startswith(prefix(name)))
    return []


def processes(namespace: str) -> list[int]:
    """The processes in a namespace."""
    done = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True, check=False)
    return [int(word) for word in done.stdout.split()]


def names() -> list[str]:
    """All labs that have left a trace."""
    found: set[str] = set()
    with suppress(OSError):
        found |= {file.stem for file in ROOT.glob("*.json")}
    with suppress(OSError):
        mine = [entry for entry in os.listdir(NAMESPACES) if entry.startswith(PREFIX)]
        found |= {entry[len(PREFIX) :].partition(".")[0] for entry in mine if "." in entry[len(PREFIX) :]}
    return sorted(found)


@contextmanager
def held(name: str) -> Iterator[None]:
    """Hold a lab exclusively; the lock ends with the process, however it ends.

    Raises:
        SpecError: another command holds it.
    """
    ROOT.mkdir(parents=True, exist_ok=True)
    handle = os.open(ROOT / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        hint = "another command builds, uses or takes down this lab: wait for it, or give --name"
        raise SpecError("--name", name, "a lab that no other command uses", hint) from None
    finally:
        os.close(handle)
