"""One process that tries specs: numbers come in, a line of JSON for each goes out.

What may come of a spec: `refused` in words, `ran`, `cut` off as longer runs tell nothing more. All else is a finding:
`traceback` (an error that is none of bad input), `panic`, `mute` (a refusal that says too little), `broken` (valid, but
does not run), `astray` (packets or bytes that are not accounted for), `differs` (it is another run by another tuning),
and what the pool sees from outside: `hang`, `died`.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import time
import traceback
import warnings
from contextlib import redirect_stdout
from typing import TypedDict

import spinewise
from fuzz import crossed, mutate
from spinewise import SpecError, core
from spinewise.errors import Cancelled
from spinewise.runs.result import Result
from spinewise.show import run_tables, terminal

RUN_SECONDS = 0.25


class Outcome(TypedDict):
    """What came of a spec."""

    number: int
    outcome: str
    detail: str
    seconds: float


class Deadline:
    """A progress hook that ends a run after a while."""

    def __init__(self) -> None:
        self.end = time.monotonic() + RUN_SECONDS

    def __call__(self, _: core.Progress) -> None:
        """End the run when it is time."""
        if time.monotonic() > self.end:
            raise Cancelled


def tried(spec: mutate.Spec) -> tuple[str, str]:
    """What comes of a spec, and what there is to say of it."""
    try:
        validate(spec)
    except SpecError as error:
        return told(error)
    try:
        result = spinewise.run(spec, progress=Deadline())
        summed(result)
    except Cancelled:
        return "cut", ""
    except SpecError as error:
        return "broken", str(error)
    if lost := crossed.astray(result):
        return "astray", lost
    return ("differs", other) if (other := crossed.differs(result)) else ("ran", "")


def validate(spec: mutate.Spec) -> None:
    """Check a spec as the command does."""
    check = getattr(spinewise, "validate", spinewise.resolve)
    check(spec)


def told(error: SpecError) -> tuple[str, str]:
    """A refusal, which must say where, what and what else."""
    says = all(isinstance(part, str) and part for part in (error.key, error.allowed)) and isinstance(error.value, str)
    return ("refused" if says and len(str(error)) < 2500 else "mute"), str(error)


def summed(result: Result) -> None:
    """Everything that is made of a result must be possible: record and tables."""
    json.dumps(result.run_record(), allow_nan=False)
    with redirect_stdout(io.StringIO()):
        terminal.console().print(run_tables.run_report(result))


def outcome(spec: mutate.Spec) -> tuple[str, str]:
    """What comes of a spec; whatever else is raised is a finding."""
    try:
        return tried(spec)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        kind = "panic" if "InternalError" in type(error).__name__ or "Panic" in type(error).__name__ else "traceback"
        return kind, "".join(traceback.format_exception(error)[-3:])


def main() -> None:
    """Try numbers from standard input until it ends."""
    seed, megabytes = int(sys.argv[1]), int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    warnings.simplefilter("ignore")
    core.MEASURED_SECONDS = 0.02  # type: ignore[attr-defined,unused-ignore]
    for line in sys.stdin:
        start = time.monotonic()
        kind, detail = outcome(mutate.spec(seed, int(line)))
        done = Outcome(number=int(line), outcome=kind, detail=detail, seconds=time.monotonic() - start)
        sys.__stdout__.write(json.dumps(done) + "\n")  # type: ignore[union-attr]
        sys.__stdout__.flush()  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
