"""Many small runs swept, killed at random moments and resumed: what a run costs beside itself, and how fast a store is.

python tests/python/many_runs.py --runs 10000 --kills 5
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import spinewise
from samples import TINY_TOML
from spinewise.sweeps.basics import NUMBERS
from spinewise.sweeps.store import LEDGER, reading

STUDY = """
[study]
spec = "tiny.toml"
seeds = {seeds}
metrics = ["fct_s.mean", "drops"]
[grid]
schemes = ["ecmp", "rps"]
loads = [0.1, 0.2, 0.3, 0.4, 0.5]
"""
POINTS = 10


@dataclass(frozen=True)
class Found:
    """What came out.

    Attributes:
        runs: stored in the end.
        elapsed_s: of all processes together.
        runs_s: of the runs themselves, by the clock.
        cpu_s: processor time of all processes together, runs included.
        query_s: to read every run's row and numbers.
        bytes: of the ledger.
    """

    runs: int
    elapsed_s: float
    runs_s: float
    cpu_s: float
    query_s: float
    bytes: int

    @property
    def overhead_ms(self) -> float:
        """Of a run, beside itself."""
        return 1e3 * (self.elapsed_s - self.runs_s) / self.runs


def tried(runs: int, kills: int, folder: Path) -> Found:
    """Sweep, kill and resume until all is there; one run at a time, so that times add up."""
    (folder / "tiny.toml").write_text(TINY_TOML)
    (folder / "study.toml").write_text(STUDY.format(seeds=runs // POINTS))
    place, random, elapsed, stored = folder / "store", Random("many"), 0.0, 0
    marks = sorted(random.randrange(runs // 20, runs) for _ in range(kills))
    for mark in [*marks, runs + 1]:
        start = time.monotonic()
        child = started(folder)
        while child.poll() is None and counted(place) < mark:
            time.sleep(0.02)
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
        said = child.communicate()[0]
        elapsed += time.monotonic() - start
        assert child.returncode in (0, -signal.SIGKILL), said
        assert counted(place) >= stored, "a stored run is gone"
        stored = counted(place)
    return asked(place, elapsed)


def started(folder: Path) -> subprocess.Popen[str]:
    """The command."""
    words = ["sweep", "study.toml", "--jobs", "1", "--store", "store"]
    environment = {**os.environ, "PYTHONPATH": str(Path(spinewise.__file__).parents[1])}
    return subprocess.Popen([sys.executable, "-m", "spinewise", *words], cwd=folder, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip


def counted(place: Path) -> int:
    """How many runs are stored."""
    if not (place / LEDGER).exists():
        return 0
    connection = sqlite3.connect(place / LEDGER, timeout=10)
    try:
        return int(connection.execute("SELECT count(*) FROM runs").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def asked(place: Path, elapsed: float) -> Found:
    """What the store says in the end."""
    start = time.monotonic()
    with reading(place) as ledger:
        rows = ledger.connection.execute(
            "SELECT scheme, avg(wall_seconds), count(*) FROM runs GROUP BY scheme"
        ).fetchall()
        numbers = sum(1 for _ in ledger.values(NUMBERS))
        query = time.monotonic() - start
        runs, spent = ledger.connection.execute("SELECT count(*), sum(wall_seconds) FROM runs").fetchone()
    assert sum(row[2] for row in rows) == numbers == runs
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Found(runs, elapsed, spent, used.ru_utime + used.ru_stime, query, (place / LEDGER).stat().st_size)


def main() -> None:
    """Try it and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = tried(args.runs, args.kills, Path(folder))
    print(
        f"{found.runs:,} runs in {found.elapsed_s:.1f} s, of which the runs {found.runs_s:.1f} s:"
        f" {found.overhead_ms:.2f} ms a run beside itself, {args.kills} kills and restarts included"
        f" ({1e3 * found.cpu_s / found.runs:.2f} ms of processor time a run in all);"
        f" all rows and numbers read in {found.query_s:.2f} s; {found.bytes / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
