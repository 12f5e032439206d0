"""The data that exports of single flows need from a run."""

from __future__ import annotations

from spinewise.errors import SpecError
from spinewise.runs.result import Result


def refuse_without(result: Result) -> None:
    """Refuse a run that kept no row per flow.

    Raises:
        SpecError: it had more flows than metrics.keep_flows_up_to.
    """
    if result.flows.num_rows == 0 and result.report.get("flows"):
        raise SpecError("RUN", "a run without a row per flow", "one that kept them", "raise metrics.keep_flows_up_to")
