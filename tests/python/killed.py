"""Commands killed at random instants: nothing half-written under a final name, nothing foreign touched, no leftovers.

python tests/python/killed.py --times 20        # every command, 20 instants each, by SIGKILL
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import spinewise
from samples import TINY_TOML

HERE = Path(__file__).parent
PAPERS = """
[[paper]]
key = "tiny"
[[paper.experiment]]
id = "tiny-1"
figures = ["1"]
title = "A tiny experiment"
module = "tiny"
"""
EXPERIMENT = "from test_experiments import small_experiment\nEXPERIMENT = small_experiment()\n"
SHORT = ["--set", "traffic[0].duration_us=2000"]
COMMANDS = {
    "run": ["run", "SPEC", *SHORT, "--set", "metrics.series_interval_us=1"],
    "compare": ["compare", "SPEC", *SHORT, "--schemes", "ecmp,rps", "--seeds", "2", "--jobs", "2"],
    "reproduce": ["reproduce", "tiny-1", "--quick", "--papers", "PAPERS", "--jobs", "2"],
    "resilience": ["resilience", "--quick", "--schemes", "ecmp,rps", "--faults", "link", "--fabrics", "leaf-spine"],
}
FOREIGN = {"thesis.tex": "precious", ".out.partial-mine": "mine", "run.json": '{"format": "other"}'}


@dataclass(frozen=True)
class Place:
    """A folder with results to replace and with things of others beside them."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> Place:
        """A new one."""
        folder.mkdir(parents=True)
        (folder / "temporary").mkdir()
        for name, content in FOREIGN.items():
            (folder / name).write_text(content)
        (folder / "spec.toml").write_text(TINY_TOML)
        (folder / "papers").mkdir()
        (folder / "papers" / "papers.toml").write_text(PAPERS)
        (folder / "papers" / "tiny.py").write_text(EXPERIMENT)
        return cls(folder)

    @property
    def out(self) -> Path:
        """Where the results go."""
        return self.folder / "out"

    def start(self, words: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command that writes there."""
        places = {"SPEC": str(self.folder / "spec.toml"), "PAPERS": str(self.folder / "papers")}
        command = [sys.executable, "-m", "spinewise", *(places.get(word, word) for word in words)]
        environment = {
            **os.environ,
            "PYTHONPATH": f"{Path(spinewise.__file__).parents[1]}:{HERE}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.folder / "temporary"),
        }
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*command, "--out", str(self.out), "--force"], env=environment, cwd=self.folder,
            stdout=pipe, stderr=pipe, text=True,
        )  # fmt: skip

    def state(self) -> dict[str, str] | None:
        """The files of the results with what is in them, and which files they are; None when there are no results.

        Two runs can write the same bytes, but not into the same file.
        """
        if not self.out.exists():
            return None
        files = sorted(path for path in self.out.rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.out)): f"{hashlib.sha256(path.read_bytes()).hexdigest()} {path.stat().st_ino}"
            for path in files
        }

    def hidden(self) -> list[str]:
        """What writers have left that is no result."""
        # "results" has the store that `reproduce` keeps its runs in.
        known = {*FOREIGN, "spec.toml", "papers", "temporary", "out", "results"}
        beside = [path.name for path in self.folder.iterdir() if path.name not in known]
        return beside + [path.name for path in (self.folder / "temporary").iterdir()]

    def check(self, before: dict[str, str] | None) -> str:
        """What a killed command has left; fails when that is neither the old results nor whole new ones."""
        for name, content in FOREIGN.items():
            assert (self.folder / name).read_text() == content, f"{name} was touched"
        after = self.state()
        if after == before:
            return "old"
        assert after is not None, "results are gone"
        record = next(path for path in self.out.iterdir() if path.name in RECORDS)
        assert sorted(json.loads(record.read_text())["files"]) == sorted(after), "results are not whole"
        return "new"


RECORDS = {"run.json", "compare.json", "reproduce.json", "resilience.json"}


def finished(place: Place, words: Sequence[str]) -> float:
    """Let a command end; how long it took."""
    start = time.monotonic()
    process = place.start(words)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return time.monotonic() - start


def killed(place: Place, words: Sequence[str], after_s: float, number: signal.Signals) -> str:
    """Kill a command after a while; what it has left, of which only hidden things may be half."""
    before, hidden = place.state(), place.hidden()
    process = place.start(words)
    time.sleep(after_s)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    left = place.check(before)
    if number != signal.SIGKILL:
        assert process.returncode in (0, 128 + number, -number), err
        if process.returncode == 128 + number:
            assert ("nothing was written" in err) == (left == "old"), err
            # What one killed before it has left may still be there: it was stopped before it came to that.
            assert set(place.hidden()) <= set(hidden), (set(place.hidden()) - set(hidden), process.returncode, err)
    return left


def tried(command: str, times: int, folder: Path, numbers: Sequence[signal.Signals], seed: int = 1) -> Counter[str]:
    """Kill a command so many times at random instants, the last of them about its end; then let it work."""
    random, words = Random(f"{seed} {command}"), COMMANDS[command]
    place = Place.made(folder)
    long = finished(place, words)
    left: Counter[str] = Counter()
    for k in range(times):
        # Half of them while results are written, which is at the end.
        share = random.uniform(0.0, 1.0) if k % 2 else random.uniform(0.75, 1.05)
        left[killed(place, words, share * long, numbers[k % len(numbers)])] += 1
    finished(place, words)
    assert place.hidden() == [], "the next call has left what killed ones had begun"
    place.check(None)
    return left


def main() -> None:
    """Try every command and say what was left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--signals", default="SIGKILL", help="one or more, separated by commas")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    args = parser.parse_args()
    numbers = [signal.Signals[name] for name in args.signals.split(",")]
    for command in args.commands.split(","):
        with tempfile.TemporaryDirectory() as folder:
            left = tried(command, args.times, Path(folder) / command, numbers)
            print(f"{command}: {args.times} times {args.signals}: {dict(left)}", flush=True)


if __name__ == "__main__":
    main()
