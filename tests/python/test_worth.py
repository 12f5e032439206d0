"""What each rule of a followed program is worth, and the order of flows that start at once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import recorded_cases
from spinewise.agreement import replay, setting, ties, worth
from spinewise.agreement.recorded import Flows, Recorded

RECORD = Path(__file__).parents[2] / "docs" / "agreement.json"


def test_a_rule_left_out_is_measured_and_kept_beside_other_cases(tmp_path: Path) -> None:
    given = recorded_cases.flows(recorded_cases.random_rows(120))
    path = recorded_cases.write(tmp_path / "x1-irn-ecmp.csv.gz", given)
    (case,) = replay.plan(tmp_path, [])
    theirs = replay.run_once(case, given, [], replay.followed, setting.fabric_of(given))
    recorded_cases.write(path, replace(given, fct_ns=theirs))
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"other": {"all": {"flows": 3, "swapped": [1]}, "without": {}}}))
    assert worth.main([str(tmp_path), str(record)]) == 0
    found = json.loads(record.read_text())
    assert set(found) == {"other", "x1-irn-ecmp"}
    kept = found["x1-irn-ecmp"]
    assert kept["all"] == {"flows": 120, "equal": 1.0, "first_ns": None, "swapped": []}
    assert kept["without"]["double_clock"]["equal"] < 1.0
    assert kept["without"]["double_clock"]["first_ns"] > 0
    # Rules of schemes and of the other recovery are not tried.
    assert {"window_from_newest", "one_stream_for_marks"} <= set(kept["without"])
    assert not {"conga_by_doubles", "resume_on_arrival", "one_stream_for_paths"} & set(kept["without"])
    del found["other"]
    (head, _, every, *rows) = worth.table(found)
    assert head == "| rule | what that code does | x1-irn-ecmp |"
    assert every == "| all of them | | 100 % |"
    assert any(row.startswith("| `double_clock` | Time is a double") for row in rows)


def test_every_rule_can_matter_to_some_case() -> None:
    names = [f"x1-{mode}-{scheme}" for mode in ("lossless", "irn") for scheme in replay.FOLLOWED]
    cases = [Recorded(name, Path(name), "x", "1", name.split("-")[1], name.split("-")[2]) for name in names]
    idle = [rule for rule in worth.rules() if not any(worth.may_matter(rule, case) for case in cases)]
    assert idle == []
    for names_of in (*worth.OF_SCHEMES.values(), *worth.OF_RECOVERY.values()):
        assert all(any(rule.startswith(name) for rule in worth.rules()) for name in names_of)


def test_the_rules_of_the_table_are_those_of_the_engine() -> None:
    for name, case in json.loads(RECORD.read_text()).items():
        assert set(case["without"]) <= set(worth.rules()), name


def pairs_that_matter(count: int) -> Flows:
    """Flows two of which start at once, again and again."""
    rows = [(n % 8, 16 + n % 40, 2_000, 100_000 * (n // 2)) for n in range(count)]
    return recorded_cases.flows(rows)


def test_the_search_for_an_order_finds_each_pair_on_the_flows_near_it() -> None:
    flows = pairs_that_matter(400)
    wrong = [100, 250, 380]
    ran: list[int] = []

    def run(some: Flows, swapped: list[int]) -> Any:
        ran.append(len(some))
        fct = some.fct_ns.copy()
        for tie in set(wrong) ^ set(swapped):
            # From that pair on everything is otherwise.
            fct[tie:] += 7
        return fct

    found = ties.settle(flows, list(range(0, 400, 2)), run, [])
    assert (found.swapped, found.ended) == (wrong, ties.SETTLED)
    assert np.array_equal(found.ours, flows.fct_ns)
    assert sum(ran) <= (ties.BUDGET + 2) * len(flows)


def test_the_search_ends_where_no_pair_helps_or_the_budget_is_spent() -> None:
    flows = pairs_that_matter(400)
    ran: list[int] = []

    def late(some: Flows, _: list[int]) -> Any:
        ran.append(len(some))
        fct = some.fct_ns.copy()
        fct[300:] += 7
        return fct

    found = ties.settle(flows, list(range(0, 400, 2)), late, [])
    assert (found.swapped, found.ended, found.ours[299]) == ([], ties.NO_PAIR, flows.fct_ns[299])
    assert 1 < found.orders <= ties.MOST + 1

    def each_helps_a_little(some: Flows, swapped: list[int]) -> Any:
        ran.append(len(some))
        fct = some.fct_ns.copy()
        fct[min(2 * len(swapped), len(fct)) :] += 7
        return fct

    ran.clear()
    found = ties.settle(flows, list(range(0, 400, 2)), each_helps_a_little, [])
    assert found.ended in (ties.SPENT, ties.NO_PAIR)
    assert sum(ran) <= (ties.BUDGET + 2) * len(flows)
