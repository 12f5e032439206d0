"""Makes the runs of the study and writes its evidence: ``python -m spinewise.edge --store results/edge-2026``.

Runs that the store has are not made again. What is named by ``--only``, ``--schemes`` or ``--hosts`` replaces the same
part of the evidence, and the rest of it stays. `python -m spinewise.docs` then makes the page of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from spinewise.cli.arguments import whole
from spinewise.edge import evidence
from spinewise.edge.setting import FABRICS, SCHEMES, WORKLOADS
from spinewise.edge.study import conducted, planned
from spinewise.runs.jobs import MOST_JOBS
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars


def main() -> None:
    """Make the runs and write the evidence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, default=Path("results/edge-2026"), help="where runs are kept")
    parser.add_argument("--jobs", type=whole(1, MOST_JOBS), help="runs at once [one per core]")
    parser.add_argument("--only", action="append", choices=tuple(WORKLOADS), help="this workload; may be repeated")
    parser.add_argument("--schemes", action="append", choices=tuple(SCHEMES), help="this scheme; may be repeated")
    parser.add_argument("--hosts", action="append", type=int, choices=tuple(FABRICS), help="fabrics of this size")
    parser.add_argument("--root", type=Path, default=Path(), help="the checkout whose evidence is written")
    args = parser.parse_args()
    wanted, refused = planned(args.only or WORKLOADS, args.schemes or SCHEMES, args.hosts or FABRICS)
    with bars() as bar:
        found = conducted(wanted, refused, args.store, args.jobs, BatchProgress(bar, len(wanted), "edge 2026"))
    folder = args.root / evidence.FOLDER
    done = evidence.read(folder).with_found(found)
    evidence.write(done, folder)
    out = terminal.console()
    out.print(f"{len(found.rows):,} runs, {len(refused)} kinds refused; {len(done.rows):,} rows in {folder}")


if __name__ == "__main__":
    main()
