"""The stress tests of an advice: what they break, and what a run that fails there leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

import spinewise as sw
from spinewise.advice import cases, show, stress
from spinewise.advice.conduct import FEWEST_TO_TEST, FIRST_STRESS_SEEDS, STRESS_SEEDS
from spinewise.advice.trials import PLAIN, Trials
from spinewise.shapes import Spec
from spinewise.specs.spec import as_spec
from spinewise.specs.variants import Variant
from test_advise import small, table


@pytest.mark.parametrize(("spines", "spine"), [(2, 0), (3, 2)])
def test_a_further_link_down_cuts_no_traffic_off(spines: int, spine: int) -> None:
    """leaf0 has lost spine0: with two spines the last leaf can lose its link to that one alone."""
    fabric = {"leaves": 3, "spines": spines, "hosts_per_leaf": 2}
    spec = small(topology=fabric, fault=[{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 100}])
    down = next(case for case in stress.cases(spec, sw.resolve(spec)) if case.name == "link down")
    assert table(down.spec, "topology")["override"] == [{"leaf": 2, "spine": spine, "up": False}]


def test_a_graph_can_be_cut_off_without_a_fault() -> None:
    """Switch 4 is joined to 7 alone, and 5 to both 6 and 7: only 5-6 can go down, though nothing is broken."""
    pairs = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 7), (5, 6), (5, 7)]
    spec: Spec = {
        "topology": {"kind": "links", "hosts": 4, "switches": 4, "links": [[a, b, 10, 500] for a, b in pairs]},
        "traffic": [{"kind": "permutation", "size_bytes": 30_000}],
    }
    down = next(case for case in stress.cases(spec, sw.resolve(spec)) if case.name == "link down")
    assert down.spec is not None
    assert down.spec["fault"] == [{"kind": "down", "ends": ["switch5", "switch6"], "at_us": 0}]


def test_a_run_that_fails_in_a_case_takes_no_scheme_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stress test that could not be set up took all schemes out of the race, and the advice ended in an error."""
    faults = [
        {"kind": "down", "ends": [f"leaf{leaf}", f"spine{spine}"], "at_us": 0} for leaf in (0, 1) for spine in (0, 1)
    ]

    def cut(spec: Spec, _: Spec) -> Spec:
        return as_spec({**spec, "fault": faults})

    buffers = next(one for one in stress.CHANGES if one[0] == "half buffers")
    monkeypatch.setattr(stress, "CHANGES", (("all down", "all links down", cut), buffers))
    advice = sw.advise(small(), schemes="ecmp,rps", budget_s=3.0, jobs=1)
    (down, other) = advice.cases
    assert not down.tried or not down.regrets
    assert "failed: SpecError: fault" in str(down.because)
    assert other.tried
    assert {one.label for one in advice.entrants} == {"ecmp", "rps"}


def test_every_case_is_tried_a_little_before_any_is_tried_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short budget went into a quarter more load, and no link was ever broken."""
    asked: list[tuple[str, int, int]] = []
    run = Trials.run

    def noted(self: Trials, case: str, variants: Sequence[Variant], seeds: Sequence[int], deadline: float) -> bool:
        if case != PLAIN:
            asked.append((case, len(variants), len(seeds)))
        return run(self, case, variants, seeds, deadline)

    monkeypatch.setattr(Trials, "run", noted)
    sw.advise(small(), schemes="ecmp,rps,drill,letflow", budget_s=3.0, jobs=1, band=0.5)
    names = list(dict.fromkeys(case for case, _, _ in asked))
    assert names[:2] == ["link down", "slow link"]
    first, more, last = (asked[place : place + len(names)] for place in range(0, 3 * len(names), len(names)))
    assert first == [(name, min(FEWEST_TO_TEST, first[0][1]), FIRST_STRESS_SEEDS) for name in names]
    assert more == [(name, more[0][1], FIRST_STRESS_SEEDS) for name in names]
    assert last == [(name, more[0][1], STRESS_SEEDS) for name in names]


def test_where_time_is_short_the_first_schemes_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case of which the fourth scheme had no time left told nothing of the other three."""
    run = Trials.run

    def cut(self: Trials, case: str, variants: Sequence[Variant], seeds: Sequence[int], deadline: float) -> bool:
        kept = variants if case == PLAIN else variants[:FEWEST_TO_TEST]
        return run(self, case, kept, seeds, deadline)

    monkeypatch.setattr(Trials, "run", cut)
    advice = sw.advise(small(), schemes="ecmp,rps,drill,letflow", budget_s=4.0, jobs=1, band=0.5)
    assert {len(case.regrets) for case in advice.cases if case.tried} <= {2, FEWEST_TO_TEST}
    assert [case for case in advice.cases if len(case.regrets) == FEWEST_TO_TEST]


def test_a_case_without_the_answer_is_told() -> None:
    """It did not fit there, and the case was neither under "still right" nor under "not tried"."""
    schemes = "ecmp,rps,rps:transport.kind=uet@UET RPS"
    spec = small(transport={"kind": "rdma"})
    advice = sw.advise(spec, schemes=schemes, budget_s=20.0, jobs=1, band=0.3)
    case = next(one for one in advice.cases if one.name == "other recovery")
    assert {one.scheme for one in case.regrets} == {"ecmp", "rps"}
    assert case.left == {"UET RPS": "the case leaves it as it is"}
    told = show.wrong(replace(advice, advised="UET RPS"))
    best = case.regrets[0].scheme
    line = f"UET RPS did not run there (the case leaves it as it is); of the others {best} is the best"
    assert f"unknown with other recovery: {line}" in told
    assert cases.regret_told(case, "UET RPS") == "did not run"


def test_a_case_that_the_engine_refuses_is_told_in_a_sentence() -> None:
    """It said "switch.lossy_priorities = [1]: allowed is no such list without pfc", which is none."""
    spec = small(transport={"kind": "rdma"}, switch={"priorities": 2, "lossy_priorities": [1]})
    (found,) = [one for one in stress.cases(spec, sw.resolve(spec)) if one.name == "other recovery"]
    assert (found.because or "").startswith("the engine then refuses switch.lossy_priorities = [1] and allows no such ")
