"""The stress tests of an advice: what they break, and what a run that fails there leaves alone."""

from __future__ import annotations

import pytest

import spinewise as sw
from spinewise.advice import stress
from spinewise.shapes import Spec
from spinewise.specs.spec import as_spec
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
