"""`python -m outcomes check [PART] [--threads N]` or `record`, with `tests/python` in PYTHONPATH."""

from __future__ import annotations

import argparse
import sys

from outcomes.table import changed, record, recorded


def main() -> int:
    """Check or record; exit code 1 if something has changed."""
    parser = argparse.ArgumentParser(prog="outcomes", description=sys.modules["outcomes"].__doc__)
    parser.add_argument("what", choices=("check", "record"))
    parser.add_argument("part", nargs="?", default="", help="only cases whose names begin so (check)")
    parser.add_argument("--threads", type=int, default=1, help="how many work at each run (check)")
    given = parser.parse_args()
    if given.what == "record":
        print(f"recorded {record()} outcomes")
        return 0
    lines = changed(given.part, given.threads)
    print("\n".join([*lines, f"{len(lines)} changed, {len(recorded(given.part))} recorded"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
