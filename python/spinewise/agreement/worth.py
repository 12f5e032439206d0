"""What each rule of a followed program is worth: ``python -m spinewise.agreement.worth DIR RECORD``.

Every case of DIR is followed with all rules, and once without each rule that can matter to its scheme. What comes out
is kept in RECORD, a JSON file, beside what is there of other cases; `make docs` makes the tables of docs/agreement.md
of it. Flows that start at once are in the order that was found with all rules (`ties`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spinewise import core
from spinewise.agreement import recorded, replay, setting, ties
from spinewise.agreement.recorded import Flows, Recorded
from spinewise.agreement.setting import RECOVERY
from spinewise.shapes import Spec

Times = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Told(TypedDict):
    """The record of a run.

    Attributes:
        flows: how many were compared.
        equal: the share of them that end in the same nanosecond.
        first_ns: when the first flow ends at another time; None if none does.
        swapped: flows that start at the same time and were swapped; only for a run with all rules.
    """

    flows: int
    equal: float
    first_ns: int | None
    swapped: NotRequired[list[int]]


class Kept(TypedDict):
    """The records of a case.

    Attributes:
        all: the record of the run with all rules.
        without: the records of the runs without a rule, by its name.
    """

    all: Told
    without: dict[str, Told]


TABLE = "[follow]"
#: Rules of one scheme alone, by how their names begin.
OF_SCHEMES = {
    "conweave": ("conweave_", "old_epochs_", "new_epoch_", "late_release", "holds_", "messages_", "timers_"),
    "conga": ("conga_",),
    "drill": ("drill_",),
}
#: Rules of one kind of loss recovery alone.
OF_RECOVERY = {
    "irn": ("window_from_newest", "recover_kept_on_timeout", "steps_at_looks"),
    "go_back_n": ("pauses_queue", "resume_", "headroom_of_port_0"),
}


def rules() -> dict[str, str]:
    """The rules by name, with their meanings, as the engine declares them."""
    (table,) = (table for table in core.registry()["spec"] if table["name"] == TABLE)
    return {str(key["name"]): str(key["doc"]) for key in table["params"]}


def may_matter(rule: str, case: Recorded) -> bool:
    """Whether a rule can matter to a case: it belongs to its scheme and kind of loss recovery, or to all."""
    if rule == "one_stream_for_paths":
        return case.scheme != "ecmp"
    if rule == "shared_flowlets":
        return case.scheme in ("letflow", "conga")
    others = [names for scheme, names in OF_SCHEMES.items() if scheme != case.scheme]
    others += [names for recovery, names in OF_RECOVERY.items() if recovery != RECOVERY[case.mode]]
    return not any(rule.startswith(names) for names in others)


def measure(case: Recorded, flows: Flows, swapped: Sequence[int]) -> Iterator[tuple[str | None, Told]]:
    """Run a case with all rules (None), then without each that may matter."""
    every = recorded.read(case)
    until = every.start_ns[len(flows)] if len(flows) < len(every) else np.inf
    found = ties.settle(flows, replay.ambiguous(flows, case), runner(case, until, None), list(swapped))
    yield None, {**told(flows, found.ours, until), "swapped": found.swapped}
    for rule in rules():
        if may_matter(rule, case):
            yield rule, told(flows, runner(case, until, rule)(flows, found.swapped), until)


def runner(case: Recorded, until: float, without: str | None) -> ties.Run:
    """Run flows of a case in some order, without a rule if one is named.

    Flows still in progress at `until`, when the first omitted flow starts, count as in the recorded run.
    """
    fabric = setting.fabric_of(recorded.read(case), case)

    def followed(spec: Spec) -> pa.Table:
        return replay.followed(spec if without is None else {**spec, "follow": {without: False}})

    def run(flows: Flows, swapped: list[int]) -> Times:
        ours = replay.run_once(case, flows, swapped, followed, fabric)
        return np.where(ended(flows, until), ours, flows.fct_ns)

    return run


def ended(flows: Flows, until: float) -> Flags:
    """Flags of the flows that ended before an instant."""
    return flows.start_ns + flows.fct_ns < until


def told(flows: Flows, ours: Times, until: float) -> Told:
    """Record a run: the flows compared, the share of equal ones, and when the first ends at another time."""
    compared = ended(flows, until)
    equal = float((ours == flows.fct_ns)[compared].mean())
    return {"flows": int(compared.sum()), "equal": equal, "first_ns": ties.first_apart(flows, ours)}


def main(args: Sequence[str] | None = None) -> int:
    """Measure case by case, and keep the results after each."""
    parser = argparse.ArgumentParser(prog="python -m spinewise.agreement.worth", description=__doc__)
    parser.add_argument("folder", help="where the recorded cases lie")
    parser.add_argument("record", type=Path, help="the JSON file")
    parser.add_argument("--cases", default="", help="patterns of names, with commas")
    parser.add_argument("--flows", type=int, help="only the first N flows of each case")
    given = parser.parse_args(args)
    record: dict[str, Kept] = json.loads(given.record.read_text()) if given.record.exists() else {}
    for case in replay.plan(given.folder, [part for part in given.cases.split(",") if part]):
        flows = recorded.read(case)
        flows = ties.first_of(flows, min(given.flows or len(flows), len(flows)))
        same = [one["all"]["swapped"] for name, one in record.items() if name.split("-")[0] == case.name.split("-")[0]]
        known = [tie for tie in (same[0] if same else []) if tie + 1 < len(flows)]
        kept: dict[str | None, Told] = {}
        for rule, found in measure(case, flows, known):
            print(f"{case.name}: {'all rules' if rule is None else f'without {rule}'}: {found['equal']:.2%} equal")
            kept[rule] = found
        record[case.name] = {"all": kept.pop(None), "without": {str(rule): found for rule, found in kept.items()}}
        given.record.write_text(json.dumps(dict(sorted(record.items())), indent=1) + "\n")
    return 0


def table(record: Mapping[str, Kept]) -> list[str]:
    """The effect of each rule as a Markdown table, a column per case: flows equal without it, and until when."""
    cases = list(record)
    lines = [
        "| rule | what that code does | " + " | ".join(cases) + " |",
        "|---" * (len(cases) + 2) + "|",
        "| all of them | | " + " | ".join(worth(record[case]["all"]) for case in cases) + " |",
    ]
    for rule, says in rules().items():
        found = [record[case]["without"].get(rule) for case in cases]
        if any(one is not None for one in found):
            cells = ("" if one is None else worth(one) for one in found)
            lines.append(f"| `{rule}` | {says} | " + " | ".join(cells) + " |")
    return lines


def worth(found: Told) -> str:
    """The share of equal flows, and when the first ends at another time."""
    share = "100 %" if found["equal"] == 1.0 else f"{100 * found['equal']:.1f} %"
    return share if found["first_ns"] is None else f"{share}, {found['first_ns'] / 1e3:,.0f} µs"


if __name__ == "__main__":
    sys.exit(main())
