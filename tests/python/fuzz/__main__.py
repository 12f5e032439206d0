"""``python -m fuzz``: try specs at random; exit code 1 when one is neither refused in words nor runs."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from fuzz import mutate
from fuzz.pool import GOOD, MEGABYTES, fuzz
from fuzz.worker import Outcome, outcome


def main() -> int:
    """Try, count, and keep what was found."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=main.__doc__)
    parser.add_argument("--specs", type=int, default=20_000, metavar="N", help="how many [20000]")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="from which on [0]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which specs [1]")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="processes")
    parser.add_argument("--memory", type=int, default=MEGABYTES, metavar="MB", help=f"of each process [{MEGABYTES}]")
    parser.add_argument("--only", type=int, metavar="N", help="show and try this one, here")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the specs that were found into this folder")
    args = parser.parse_args()
    if args.only is not None:
        spec = mutate.spec(args.seed, args.only)
        print(json.dumps(spec, indent=1))
        print(*outcome(spec))
        return 0
    start = time.monotonic()

    tried = 0

    def watch(done: Outcome) -> None:
        nonlocal tried
        tried += 1
        if tried % 1000 == 0:
            print(f"{tried:,} specs in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        if done["outcome"] not in GOOD:
            print(f"{done['number']}: {done['outcome']}: {done['detail']}", flush=True)
            if args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                text = json.dumps(mutate.spec(args.seed, done["number"]), indent=1)
                (args.keep / f"{done['outcome']}_{args.seed}_{done['number']}.json").write_text(text)

    found = fuzz(args.seed, range(args.first, args.first + args.specs), args.jobs, watch, args.memory)
    counts = ", ".join(f"{count:,} {kind}" for kind, count in found.counts.most_common())
    print(f"{args.specs:,} specs in {time.monotonic() - start:.0f} s: {counts}; slowest {found.slowest:.1f} s")
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
