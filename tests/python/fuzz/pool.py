"""Many workers, each with a limit on its memory and a time after which it hangs."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from fuzz.worker import Outcome

HANG_SECONDS = 20.0
# By the clock, of a machine that does other things too.
PATIENCE = 6.0
MEGABYTES = 6000
GOOD = ("refused", "ran", "cut")


@dataclass
class Found:
    """What came of all specs.

    Attributes:
        counts: how many of each outcome.
        findings: those that should not be.
        slowest: the longest that a spec took, seconds.
    """

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Outcome] = field(default_factory=list)
    slowest: float = 0.0

    def add(self, done: Outcome) -> None:
        """Count one."""
        self.counts[done["outcome"]] += 1
        self.slowest = max(self.slowest, done["seconds"])
        if done["outcome"] not in GOOD:
            self.findings.append(done)


class Worker:
    """A process that tries specs, started again when it has died."""

    def __init__(self, seed: int, megabytes: int) -> None:
        self.command = [sys.executable, "-m", "fuzz.worker", str(seed), str(megabytes)]
        self.process: subprocess.Popen[str] | None = None
        self.errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - for as long as the worker lives

    def started(self) -> subprocess.Popen[str]:
        """The process, alive."""
        if self.process is None:
            self.errors.seek(0)
            self.errors.truncate()
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=self.errors, text=True)
        return self.process

    def tried(self, number: int) -> Outcome:
        """What came of the spec with this number."""
        process = self.started()
        assert process.stdin is not None
        assert process.stdout is not None
        done, late = threading.Event(), threading.Event()
        threading.Thread(target=watch_time, args=(process, done, late), daemon=True).start()
        try:
            process.stdin.write(f"{number}\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            done.set()
        if line:
            outcome: Outcome = json.loads(line)
            return outcome
        code = process.wait()
        self.end()
        self.errors.seek(0)
        said = self.errors.read()[-2000:]
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        kind, seconds = ("hang", HANG_SECONDS) if late.is_set() else ("died", 0.0)
        return Outcome(number=number, outcome=kind, detail=f"{how}\n{said}", seconds=seconds)

    def stop(self) -> None:
        """End the process."""
        self.end()
        self.errors.close()

    def end(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            with suppress(BrokenPipeError):
                self.process.communicate()
            self.process = None


def watch_time(process: subprocess.Popen[str], done: threading.Event, late: threading.Event) -> None:
    """Kill a process that takes too long over one spec; what a busy machine makes it wait does not count."""
    start, began = cpu_seconds(process.pid), time.monotonic()
    while not done.wait(0.5):
        if cpu_seconds(process.pid) - start > HANG_SECONDS or time.monotonic() - began > PATIENCE * HANG_SECONDS:
            late.set()
            process.kill()
            return


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has taken."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fuzz(
    seed: int, numbers: Iterable[int], jobs: int, watch: Callable[[Outcome], object], megabytes: int = MEGABYTES
) -> Found:
    """Try the specs with these numbers on so many processes; `watch` sees each outcome."""
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in numbers:
        todo.put(number)
    found, lock = Found(), threading.Lock()

    def work() -> None:
        worker = Worker(seed, megabytes)
        try:
            while True:
                done = worker.tried(todo.get_nowait())
                with lock:
                    found.add(done)
                    watch(done)
        except queue.Empty:
            pass
        finally:
            worker.stop()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found.findings.sort(key=lambda done: done["number"])
    return found
