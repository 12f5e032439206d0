"""The resources that this machine can give to a run."""

from __future__ import annotations

import resource
from pathlib import Path

# Reserved for everything else.
SPARE_BYTES = 64 * 2**20
# Allocators take more than requested, and other processes need memory too.
SHARE = 0.9

PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """The bytes that a run may use: the least of what the machine, the container and the shell's limit leave.

    None if none of them can be read.
    """
    limits = [left for left in (machine_left(), container_left(), process_left()) if left is not None]
    return spared(min(limits)) if limits else None


def free_addresses() -> int | None:
    """Bytes of address space that a run may use; None if the shell sets no limit, as reserving costs nothing."""
    left = process_left()
    return None if left is None else spared(left)


def spared(left: int) -> int:
    """The part of the free memory that a run may use."""
    return max(int((left - SPARE_BYTES) * SHARE), 0)


def machine_left() -> int | None:
    """The memory that the kernel reports as available."""
    for line in read(PROC / "meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def container_left() -> int | None:
    """The memory left under the limit of the control group, of version 2 or 1."""
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        most, now = read(CGROUP / limit).strip(), read(CGROUP / used).strip()
        if most.isdecimal() and now.isdecimal():
            return max(int(most) - int(now), 0)
    return None


def process_left() -> int | None:
    """The address space left under its limit (`ulimit -v`)."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = read(PROC / "self/statm").split()
    if most == resource.RLIM_INFINITY or not pages:
        return None
    return max(most - int(pages[0]) * resource.getpagesize(), 0)


def resident_memory() -> int:
    """The memory that this process uses now, in bytes."""
    pages = read(PROC / "self/statm").split()
    if len(pages) > 1:
        return int(pages[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def read(path: Path) -> str:
    """The text of a kernel file; empty if it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
