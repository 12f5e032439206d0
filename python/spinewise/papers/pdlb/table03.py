"""PDLB Table 3: the time of decisions and updates against the number of paths n, measured.

The published text has the caption of the table and one entry, in prose: PDLB's update is O(gran), gran at most 44
[C0-01]. Here each scheme's own claim stands beside nanoseconds of this implementation, from `spinewise bench --only
decisions`, and beside the power of n by which they grow from 16 paths on.

    python -m spinewise.papers.pdlb.table03 [--rounds N] [--share X] [--json FILE]

With `--json FILE` the table is made of what `spinewise bench --only decisions --json` printed before. Times are of this
machine; their growth is not.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

from spinewise import core
from spinewise.docs import compared
from spinewise.measures import units
from spinewise.replies import Timed
from spinewise.show.markdown import line

# From here, terms without n are small against those with n.
GROWTH_FROM = 16
PARTS = (
    ("one decision", "pick_ns", "pick"),
    ("one packet queued", "egress_ns", "update"),
    ("one ACK", "feedback_ns", "update"),
    ("one tick", "tick_ns", "update"),
)


def growth(times: dict[int, float]) -> float:
    """The power of n that fits the times best (least squares of logarithms); NaN with fewer than two."""
    points = [(math.log(n), math.log(time)) for n, time in times.items() if n >= GROWTH_FROM]
    if len(points) < 2:
        return math.nan
    mean_x, mean_y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    over: float = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return over / float(sum((x - mean_x) ** 2 for x, _ in points))


def table(records: Sequence[Timed]) -> str:
    """The measured table, in Markdown."""
    claims = {str(entry["name"]): entry for entry in compared.schemes()}
    paths = sorted({int(record["paths"]) for record in records})
    heads = ["scheme", "what", "its claim", *(f"n = {n}" for n in paths), "grows as"]
    lines = [line(heads), line(["---"] * len(heads))]
    for scheme in dict.fromkeys(str(record["scheme"]) for record in records):
        mine = {int(record["paths"]): dict[str, object](record) for record in records if record["scheme"] == scheme}
        for what, key, claim in PARTS:
            times = {n: time for n, record in mine.items() if isinstance(time := record[key], float)}
            if times:
                cells = [units.digits(times[n], 3) if n in times else units.NOTHING for n in paths]
                said = compared.fact(claim)(claims[scheme])
                lines.append(line([f"`{scheme}`", what, said, *cells, f"n^{growth(times):.2f}"]))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, or read what was measured, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="best of N rounds [5]")
    parser.add_argument("--share", type=float, default=1.0, help="turns as a share of the full number [1]")
    parser.add_argument("--json", type=Path, help="what `spinewise bench --only decisions --json` printed")
    args = parser.parse_args(arguments)
    records = json.loads(args.json.read_text()) if args.json else core.bench("decisions", args.rounds, args.share)
    peers = records[0]["peers"]
    print(f"Nanoseconds of this implementation; a tick is over {peers} destinations or their 4 racks.\n")
    print(table([record for record in records if "pick_ns" in record]))


if __name__ == "__main__":
    main()
