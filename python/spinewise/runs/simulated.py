"""One run and its result, with changes in the state of a scheme written in Python."""

from __future__ import annotations

from collections.abc import Sequence

from spinewise import core
from spinewise.core import ProgressHook
from spinewise.own import held
from spinewise.runs.result import Result
from spinewise.shapes import Spec

KEEPS_STATE = "scheme_keeps_state"
"""The code of the warning that a scheme's class or module changed during a run."""


def simulated(
    resolved: Spec, progress: ProgressHook | None = None, trace: Sequence[int] | None = None, threads: int = 1
) -> Result:
    """Simulate a resolved spec; see `spinewise.core.run` for the arguments, and for what it raises."""
    before = held.before(resolved)
    result = Result.from_outcome(resolved, core.run(resolved, progress, trace, threads))
    if before is not None and (changed := before.changed()):
        text = (
            f"{changed} after the run from what it was before: other runs in this process begin with it, so results"
            " may depend on what ran before. Keep state in rows (Flow, Peer, Route, Port, Node)."
        )
        result.report["warnings"] = [
            *(result.report.get("warnings") or []), {"code": KEEPS_STATE, "key": "scheme.source", "text": text},
        ]  # fmt: skip
    return result
