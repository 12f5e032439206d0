"""``spinewise advise``."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from spinewise.advice.api import advise
from spinewise.advice.files import JSON, MARKDOWN, encoded, write_files
from spinewise.advice.show import screen
from spinewise.cli import exits
from spinewise.cli.engines import chosen
from spinewise.errors import SpecError
from spinewise.own.load import load_schemes
from spinewise.runs.folder import new_results
from spinewise.shapes import Spec
from spinewise.show import terminal
from spinewise.show.progress import BatchProgress, bars, say
from spinewise.specs.spec import load

OTHER_TOOLS = "files of other tools are read by `spinewise import`: docs/interop.md"


def read(path: str, overrides: list[str]) -> Spec:
    """Read the spec; a file that is not TOML may be the fabric of another tool.

    Raises:
        SpecError: it cannot be read.
    """
    try:
        return load(path, overrides)
    except SpecError as error:
        if error.key != "(whole file)" or error.hint:
            raise
        raise SpecError(error.key, error.value, error.allowed, OTHER_TOOLS, file=error.file, line=error.line) from None


def command(args: argparse.Namespace) -> int:
    """Make the runs, print the answer, and write it if requested."""
    own = load_schemes(args.scheme_file)
    spec = read(args.spec, args.set)
    with ExitStack() as stack:
        engine = stack.enter_context(chosen(args))
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        with bars() as bar:
            found = advise(
                spec, aims=args.aim, may=args.may, schemes=args.schemes, own=own, budget_s=args.budget, band=args.band,
                seed=args.seed, jobs=args.jobs, store=args.store, engine=engine,
                monitor=BatchProgress(bar, 0, "advise", args.budget), say=say, on_interrupt="answer",
            )  # fmt: skip
        if folder is not None:
            write_files(found, folder)
    code = exits.INTERRUPTED if found.interrupted else 0
    if args.json:
        sys.stdout.write(encoded(found).decode())
        return code
    out = terminal.console()
    out.print(screen(found))
    if args.out:
        out.print(f"the whole advice in {args.out}: {JSON}, {MARKDOWN}", markup=False)
    return code
