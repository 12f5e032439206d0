"""What holds of every run: nothing is lost from the account, and no tuning changes anything."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from random import Random
from typing import Any, cast

from spinewise import core
from spinewise.errors import Cancelled
from spinewise.runs.result import Result

Report = dict[str, Any]

TUNINGS: list[dict[str, object]] = [
    {"engine": "events"},
    {"window_divisor": 3},
    {"commit_at_start": True, "all_hooks": True},
    {"threads": 2, "threads_if_worth": False},
    {"threads": 3, "threads_if_worth": False, "window_divisor": 2},
]
OWN = ("wall_seconds", "events", "warnings")
"""What a report may have of its own: how long it took, in how many steps, and that threads were of no use."""
SECONDS = 2.0


def astray(result: Result) -> str:
    """Packets or bytes that were made, and of which nobody knows what became; empty if there are none."""
    counters = cast(Report, result.report)["counters"]
    for unit in ("packets", "bytes"):
        count = {name: found.get(unit, 0) for name, found in counters.items() if isinstance(found, dict)}
        ends = ("delivered", "dropped", "consumed", "lost", "in_network_at_stop", *(["trimmed"] * (unit == "bytes")))
        if count["created"] != sum(count.get(end, 0) for end in ends):
            return f"{unit}: {count}"
    return ""


def differs(result: Result) -> str:
    """What is otherwise when the same run is made by another tuning; empty if nothing is, or it takes too long."""
    report = cast(Report, result.report)
    tuning = Random(report["outcome_hash"]).choice(TUNINGS)
    end = time.monotonic() + SECONDS

    def watch(*_: int) -> None:
        if time.monotonic() > end:
            raise Cancelled

    with suppress(Cancelled):
        spec = result.spec
        told = core.engine().run(core.encode(spec), watch, json.dumps(tuning), None, core.own_schemes(spec))
        again = json.loads(told["report"])
        found = [key for key in {*report, *again} - {*OWN} if report.get(key) != again.get(key)]
        return f"{sorted(found)} by {tuning}" if found else ""
    return ""
