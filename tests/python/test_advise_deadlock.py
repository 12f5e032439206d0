"""A scheme under which a fabric stands still for ever is never advised, however few of its flows had to wait."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import samples
import spinewise as sw
from ring import ring
from spinewise.advice import cases, files, show
from spinewise.advice.answer import Advice
from spinewise.advice.observed import observe
from spinewise.advice.race import Race
from spinewise.advice.stress import Regret
from spinewise.page import of_advice

AIM = "mean slowdown of load"


def test_flows_wait_until_time_is_up_and_not_until_the_deadlock() -> None:
    """Stopped after 1 ms of 100 ms: the flow that had not begun would count as one that took no longer than alone."""
    made = samples.result(
        entry=[0, 0], size_bytes=[1000, 1000], fct_ps=[10**8, 0], ideal_fct_ps=[10**8, 10**8], start_ps=[0, 2 * 10**9],
        finished=[True, False],
    )  # fmt: skip
    made.spec["traffic"] = [{"kind": "poisson", "name": "web"}]
    made.spec["run"] = {"until_us": 100_000}
    assert observe(made.spec, made).flows[0].slowdown.mean == 1.0
    made.report["deadlock"] = ["leaf0->spine0", "spine0->leaf0"]
    found = observe(made.spec, made)
    assert found.deadlock == ["leaf0->spine0", "spine0->leaf0"]
    # (1 + 98 ms / 0.1 ms) / 2
    assert found.flows[0].slowdown.mean == pytest.approx(490.5)
    assert found.flows[0].unfinished == 1


@pytest.fixture(scope="module")
def under_hula() -> Advice:
    """HULA runs today, and stops the ring after a millisecond, with one of 80 flows at its end."""
    return sw.advise(ring("hula"), aims=AIM, schemes="hula,drill,ecmp", budget_s=10, jobs=1)


def test_a_scheme_that_stops_the_fabric_is_not_advised(under_hula: Advice) -> None:
    """Flows that ended before the deadlock are the quickest of all: ECMP and HULA were told as better than DRILL."""
    assert under_hula.advised == "drill"
    # A quick machine has time to try other parameters of the best, too.
    statuses = [under_hula.entrant(label).status for label in ("drill", "hula", "ecmp")]
    assert statuses == ["advised", "deadlocked", "deadlocked"]
    assert all("hula" not in level.tied and level.advised == "drill" for level in under_hula.levels)
    (sample,) = under_hula.entrant("hula").samples
    assert len(sample.deadlock) == 4
    assert sample.values[0] > 1000.0, "79 of 80 flows wait until a second is over"


def test_a_deadlock_is_said_everywhere(under_hula: Advice) -> None:
    """On the screen, in advice.md and on the page: of what runs today too."""
    told = dict(show.sections(under_hula))
    assert under_hula.notes[0].startswith("DEADLOCK: pauses wait for each other for ever, so it is not advised: hula")
    assert "this fabric stands still: DEADLOCK on 1 of 1 seed" in told["By how much"][0]
    assert show.guessed(under_hula) == []
    assert show.level_rows(under_hula)[1] == ("as it is", "hula: DEADLOCK on 1 of 1 seed", "")
    assert "| as it is | hula: DEADLOCK on 1 of 1 seed |" in files.markdown(under_hula)
    card = next(one for one in of_advice.answers(under_hula, told) if one.question == "by how much")
    assert (card.answer, card.tone) == ("no deadlock", "head")
    rows = {row[0].text: row[1] for row in of_advice.entrants(under_hula).rows}
    assert (rows["hula"].text, rows["hula"].tone) == ("DEADLOCK", "bad")


def test_a_case_in_which_the_answer_deadlocks_comes_first(under_hula: Advice) -> None:
    """With half the buffers DRILL does not get through either."""
    case = next(one for one in under_hula.cases if one.name == "half buffers")
    assert case.tried
    assert case.deadlocks["drill"] > 0
    assert under_hula.wrong[0].startswith("with half the buffers: drill has a DEADLOCK on ")
    assert cases.regret_told(case, "drill").startswith("DEADLOCK on ")
    assert "half buffers" not in " ".join(one for one in show.wrong(under_hula) if "not tried" in one)


def test_where_every_scheme_deadlocks_nothing_is_advised() -> None:
    """The refusal says under which, and how often."""
    with pytest.raises(sw.SpecError) as refused:
        sw.advise(ring("hula"), aims=AIM, schemes="hula,ecmp", budget_s=10, jobs=1)
    assert refused.value.allowed == "one under which this fabric does not deadlock"
    assert "hula on 1 of 1, ecmp on 1 of 1 seed" in str(refused.value.hint)


def test_what_a_scheme_had_driven_out_is_back_when_that_one_goes() -> None:
    """a seemed twice as good as b until it stopped the fabric."""
    race = Race({"a": 0, "b": 0, "c": 0}, 1, (0.01,), 3)
    for seed in range(20):
        for label, cost in (("a", 1.0), ("b", 2.0), ("c", 1.1)):
            race.tell(label, seed, (cost * (1.0 + 0.001 * (seed % 3)),))
    race.look()
    assert race.alive == ["a"]
    race.take_out("a")
    assert race.alive == ["b", "c"]
    race.look()
    assert [(one.arm, one.by) for one in race.drops] == [("b", "c")]


def test_what_stands_is_said_as_such(under_hula: Advice) -> None:
    """That the answer holds with more load is no way in which it would be wrong: each line is true by itself."""
    whole = [replace(one, tried=True, because=None, deadlocks={}, regrets=()) for one in under_hula.cases[:1]]
    best = Regret("drill", 0.0, 0.0, 0.0, 4)
    alone = replace(under_hula, wrong=(), cases=tuple(replace(one, regrets=(best,)) for one in whole))
    stands = f"still right with link down: drill is within {100 * alone.aims[0].band:.2f} % of the best there"
    assert show.wrong(alone) == ["no condition that was tried has shown it to be wrong", stands]
    both = replace(alone, wrong=("with an incast: drill is 30.0 % worse than rps",))
    assert show.wrong(both) == [*both.wrong, stands]


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (Regret("drill", 0.0, 0.0, 0.0, 1), Regret("rps", 0.1, math.nan, math.nan, 1)),
        (Regret("drill", 0.0, 0.0, 0.0, 4), Regret("rps", 0.1, -0.9, 3.0, 4)),
        (Regret("drill", 0.01, -0.2, 0.3, 4), Regret("rps", 0.0, 0.0, 0.0, 4)),
    ],
    ids=["one seed", "the best by chance", "may be far behind"],
)
def test_what_may_be_chance_is_said_as_such(under_hula: Advice, mine: Regret, other: Regret) -> None:
    """On one seed the scheme that was the best there was told to be within 5 % of the best."""
    case = replace(under_hula.cases[0], tried=True, because=None, deadlocks={}, regrets=(mine, other))
    _, said = show.wrong(replace(under_hula, wrong=(), cases=(case,)))
    band = f"{100 * under_hula.aims[0].band:.2f} %"
    assert said == (
        f"probably still right with link down: drill is within {band} of the best there by its mean, on too few seeds"
        " to be sure"
    )
