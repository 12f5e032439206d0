"""Makes some forms of kept experiments again: ``python -m spinewise.reproduction RACK-TLP --store results/store``.

After a change of the engine that only some forms notice, their runs replace those in the evidence, and the rest of it
stays. `python -m spinewise.docs` then makes the pages of it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from spinewise.cli.arguments import whole
from spinewise.reproduction import choice, evidence, keeping, suite
from spinewise.reproduction.experiment import Effort
from spinewise.reproduction.reproduce import OWN_PAPERS
from spinewise.runs.jobs import MOST_JOBS
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars
from spinewise.sweeps import store
from spinewise.sweeps.local import Local
from spinewise.sweeps.sweep import sweep


def main() -> None:
    """Make the runs and replace the evidence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", nargs="+", help="words of which the name of the variant or of the curve contains one")
    parser.add_argument("--only", default="all", help="a paper or a figure, as in `spinewise reproduce` [all]")
    parser.add_argument("--store", type=Path, default=Path("results/store"), help="where runs are kept")
    parser.add_argument("--jobs", type=whole(1, MOST_JOBS), help="runs at once [one per core]")
    parser.add_argument("--keep", type=Path, default=Path("docs/evidence"), help="the evidence")
    args = parser.parse_args()
    out = terminal.console()
    parts = [
        part
        for part in suite.planned(choice.choose(OWN_PAPERS, args.only), Effort.FULL)
        if evidence.read(args.keep, part.experiment.id) is not None
    ]
    forms = [
        {keeping.form(run) for run in part.runs if any(word in one for word in args.form for one in keeping.form(run))}
        for part in parts
    ]
    tasks = [
        task
        for part, mine in zip(parts, forms, strict=True)
        for run, task in zip(part.runs, part.tasks, strict=True)
        if keeping.form(run) in mine
    ]
    with store.opened(args.store) as ledger, bars() as bar:
        monitor = BatchProgress(bar, len(tasks), ", ".join(args.form))
        swept = sweep(tasks, ledger, engine=Local(args.jobs), monitor=monitor)
        for part, mine in zip(parts, forms, strict=True):
            if mine:
                keeping.keep_forms(part, swept, args.keep, mine)
                out.print(f"{part.experiment.id}: {'; '.join(sorted(' · '.join(filter(None, one)) for one in mine))}")


if __name__ == "__main__":
    main()
