"""Verdicts on statements: from all their checks, in one vocabulary, and how many would come out by luck."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from spinewise.errors import SpecError
from spinewise.papers.pdlb import fig10
from spinewise.reproduction import claims, reproduce, verdicts
from spinewise.reproduction.catalogue import Catalogue, Statement
from spinewise.reproduction.experiment import (
    Claim,
    Effort,
    Experiment,
    Measured,
    Measurement,
    Run,
    Status,
    Timeline,
    Verdict,
)
from spinewise.reproduction.reproduce import Reproduction
from spinewise.reproduction.rows import Check, row
from spinewise.reproduction.verdicts import Direction, Judged

PLAIN = Statement("X-1", "p", ("1",), "it flies")
WORDS = {"reproduced", "in part", "not reproduced", "not distinguishable", "not testable"}


def check(
    status: Status, reading: str = "", *, claim: str = "X-1", headline: bool = True, experiment: str = "e"
) -> Judged:
    return Judged(claim, experiment, "1", reading, headline, Verdict(status, (), 1))


def test_the_words_are_those_of_the_one_vocabulary() -> None:
    assert {status.value for status in Status} == WORDS


def test_the_headline_decides_and_other_readings_are_named() -> None:
    found = verdicts.ruling(
        PLAIN, [check(Status.FAILS, "Reno"), check(Status.HOLDS, "RACK", headline=False)], Effort.FULL
    )
    assert found.word == "not reproduced"
    assert found.text == "**not reproduced**; e, Reno: not reproduced; also e, RACK: reproduced"


def test_a_statement_that_nobody_judges_is_not_testable() -> None:
    assert verdicts.ruling(PLAIN, [], Effort.FULL).text == "**not testable**"
    only_beside = verdicts.ruling(PLAIN, [check(Status.HOLDS, headline=False)], Effort.FULL)
    assert only_beside.word == "not testable"


def test_several_headlines_must_agree_but_one_cell_is_enough_for_an_up_to() -> None:
    both = [check(Status.HOLDS, "lossless"), check(Status.FAILS, "IRN")]
    assert verdicts.ruling(PLAIN, both, Effort.FULL).word == "in part"
    assert verdicts.ruling(replace(PLAIN, up_to=True), both, Effort.FULL).word == "reproduced"


def test_what_depends_on_a_model_of_ours_says_so_beside_the_bare_result() -> None:
    found = verdicts.ruling(replace(PLAIN, depends_on="our QDAPS"), [check(Status.FAILS)], Effort.FULL)
    assert found.text == "**depends on our QDAPS**; with it not reproduced"


def test_parts_make_a_verdict_without_the_one_that_depends() -> None:
    parts = (replace(PLAIN, id="X-1a"), replace(PLAIN, id="X-1b", depends_on="our QDAPS"))
    found = verdicts.ruling(
        replace(PLAIN, parts=parts),
        [check(Status.HOLDS, claim="X-1a"), check(Status.FAILS, claim="X-1b")],
        Effort.FULL,
    )
    assert found.text == "**reproduced**; a: reproduced; b: depends on our QDAPS (with it not reproduced)"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (Status.HOLDS, Direction.FOR),
        (Status.PARTLY, Direction.FOR),
        (Status.FAILS, Direction.AGAINST),
        (Status.OPEN, Direction.UNCLEAR),
        (Status.UNTESTED, Direction.UNCLEAR),
    ],
)
def test_a_quick_effort_has_a_direction(status: Status, expected: Direction) -> None:
    assert verdicts.ruling(PLAIN, [check(status)], Effort.QUICK).word == expected.value
    slow = replace(PLAIN, needs_length="queues fill slowly")
    found = verdicts.ruling(slow, [check(status)], Effort.QUICK)
    assert found.word == Direction.UNCLEAR.value
    assert "a quick run says nothing: queues fill slowly" in found.text
    assert verdicts.ruling(slow, [check(status)], Effort.FULL).word == status.value


# ---- checks of one experiment ----


def measured(values: dict[str, list[float]], x: float = 1.0) -> Measured:
    return Measured(
        [
            Measurement(Run(curve, x, seed, {}, "v"), {"y": value}, "", 0, False)
            for curve, of in values.items()
            for seed, value in enumerate(of)
        ]
    )


THREE = {"a": [1.0, 1.1, 1.2], "b": [2.0, 2.2, 2.3], "c": [1.1, 1.2, 1.31]}


def experiment() -> Experiment:
    statements = (
        Claim("X-1", "1", "a below b", lambda part: claims.lower(part, "a", ["b"], "y")),
        claims.beside("X-1", "1", "a below c", lambda part: claims.lower(part, "a", ["c"], "y"), "c"),
    )
    made = claims.in_each(["v", "w"], statements, headline=["v"])
    return Experiment("e", (), "t", "s", lambda _: [], lambda _run, _result: {}, (), made)


def test_claims_are_judged_in_each_reading() -> None:
    found = experiment().claims
    assert [(one.key, one.headline) for one in found] == [
        ("X-1, v", True),
        ("X-1, c, v", False),
        ("X-1, w", False),
        ("X-1, c, w", False),
    ]
    done = Reproduction.of(experiment(), Effort.FULL, measured(THREE))
    assert [verdicts.word(done, one) for one in found] == ["reproduced", "reproduced", "not testable", "not testable"]


def test_a_list_decides_what_is_said_of_a_check() -> None:
    known = Catalogue({"X-1": replace(PLAIN, depends_on="our b")}, Path("claims.toml"))
    full, quick = (
        Reproduction.of(experiment(), effort, measured(THREE), known) for effort in (Effort.FULL, Effort.QUICK)
    )
    first = full.experiment.claims[0]
    assert verdicts.word(full, first) == "depends on our b (with it reproduced)"
    assert verdicts.word(quick, first) == "direction: for"


def certain_by(share: float, count: int) -> Measured:
    """One curve below "a" for sure by itself (p = 0.02), others that nobody tells from it."""
    values = {"a": [10.0, 10.1, 9.9, 10.0, 10.0]}
    wobbles = (0.0, 0.7, -0.7, 0.5, -0.5)
    values["b"] = [one - share * (1.0 + wobble) for one, wobble in zip(values["a"], wobbles, strict=True)]
    for number in range(count):
        values[f"c{number}"] = [10.0 + wobble for wobble in (0.5, -0.5, 0.4, -0.6, 0.2)]
    return measured(values)


def test_one_of_many_must_fail_by_more_than_one_alone() -> None:
    """One of four failed at p = 0.018, and so PDLB "did not beat Presto"."""
    alone = claims.lower(certain_by(0.2, 0), "a", ["b"], "y")
    (cell,) = alone.cells
    assert cell.p is not None
    assert 0.0125 < cell.p < 0.05
    assert alone.status is Status.FAILS
    many = certain_by(0.2, 3)
    among = claims.lower(many, "a", many.others("a"), "y")
    assert among.status is Status.OPEN
    assert among.evidence[0].startswith("open: ")
    assert among.evidence[0].endswith("; NO by itself, not as one of 4")
    # Of statements within a statement all count, and what is certain enough stays so.
    again = claims.combined([alone, *(claims.lower(many, "a", [one], "y") for one in ("c0", "c1", "c2"))])
    assert again.status is Status.OPEN
    assert claims.combined([claims.line(Status.FAILS, "counted"), among]).status is Status.FAILS
    assert claims.combined([claims.line(Status.HOLDS, "counted"), alone]).status is Status.FAILS


def test_the_best_of_many_must_be_certain_as_the_best_of_many() -> None:
    one, many = (claims.up_to(certain_by(0.2, count), "b", "y", claimed=0.02) for count in (0, 3))
    assert (one.status, many.status) == (Status.HOLDS, Status.OPEN)
    assert many.evidence[0].endswith("; yes by itself, not as the best of 4")
    assert many.comparisons == 4
    # One that is certain as one of four decides, though another lies further below by luck.
    table = measured({"b": [9.0, 9.1, 8.9, 9.0], "a": [10.0, 10.1, 9.9, 10.01], "c": [30.0, 9.0, 9.1, 9.2]})
    found = claims.up_to(table, "b", "y", claimed=0.1)
    assert found.status is Status.HOLDS
    assert "against a" in found.evidence[0]


def test_the_best_of_several_experiments_is_the_best_of_all_their_cells() -> None:
    statement = replace(PLAIN, up_to=True)
    best = claims.up_to(certain_by(0.2, 0), "b", "y", claimed=0.02)
    other = Verdict(Status.FAILS, ("NO: nothing",), 9)

    def judged(name: str, verdict: Verdict) -> Check:
        return Check("X-1", name, "1", "", True, "", verdict)

    alone = row(statement, [judged("e", best)], Effort.FULL)
    assert alone.verdict == "reproduced"
    both = row(statement, [judged("e", best), judged("f", other)], Effort.FULL)
    assert both.word == "not distinguishable"
    assert both.verdict == (
        "not distinguishable; reproduced in one experiment, not as the best of the 10 cells of all"
    )  # fmt: skip


def test_how_comparisons_came_out_stands_beside_the_verdict() -> None:
    made = claims.graded(
        [claims.line(Status.HOLDS, "x"), claims.line(Status.FAILS, "y"), claims.line(Status.OPEN, "z")]
    )
    found = row(PLAIN, [Check("X-1", "e", "1", "", True, "", claims.noted(made, ["5 seeds"]))], Effort.FULL)
    assert found.verdict == "in part; 1 yes, 1 NO, 1 open"


def test_luck_is_counted_from_the_comparisons_made() -> None:
    done = Reproduction.of(experiment(), Effort.FULL, measured(THREE))
    found = verdicts.chance(done.verdicts.values())
    # One difference in each of the two checks of "v"; those of "w" compare nothing.
    assert found.comparisons == 2
    assert found.expected == pytest.approx(0.1)
    assert found.text.startswith("2 differences are tested against zero, each by an interval of 95 %.")
    assert "about 0.1 of them" in found.text
    assert "about 320 of them" in verdicts.Chance(6400).text
    assert verdicts.Chance(1).text.startswith("1 difference is tested")
    nothing = verdicts.chance([claims.zero(measured({"a": [0.0, 0.0]}), "a", "y")])
    assert nothing.comparisons == 0
    assert "so none can come out significant by chance" in nothing.text


def test_what_is_held_against_a_bound_is_not_certain_by_chance() -> None:
    """Where nothing differs, two schemes that must be alike are alike, in more than one run in twenty."""
    table = measured(THREE)
    found = [
        claims.alike(table, "a", "c", "y", 1.0, within=0.5),
        claims.no_worse(table, "a", "c", "y", 1.0, within=0.5),
        claims.exceeds(table, "b", "a", "y", 1.0, by=0.1),
        claims.below_limit(table, "a", "y", 3.0, 1.0),
        claims.above_limit(table, "a", "y", 0.1, 1.0),
        claims.near(table, "a", "y", 1.0, 1.1, within=1.0),
    ]
    assert [one.status for one in found] == [Status.HOLDS] * 6
    assert verdicts.chance(found).comparisons == 0
    differences = [claims.lower(table, "a", ["b"], "y"), claims.reduction(table, "a", "b", "y", 1.0, claimed=0.5)]
    assert verdicts.chance(differences).comparisons == 2


def test_up_to_counts_all_cells_it_chose_from_and_names_the_median() -> None:
    table = measured(THREE)
    found = claims.up_to(table, "a", "y", claimed=0.5)
    assert (found.status, found.comparisons) == (Status.HOLDS, 2)
    # Against b 49 % lower, against c 9 %.
    assert found.evidence[1] == "chosen as the best of 2 cells; their median is -28.9 %"
    assert claims.up_to(table, "a", "y", claimed=0.5, others=[]).comparisons == 2
    assert claims.up_to(measured({"a": [1.0, 2.0]}), "a", "y", claimed=0.5).status is Status.UNTESTED


def test_more_than_asks_for_the_whole_interval() -> None:
    def status(values: list[float], by: float) -> Status:
        return claims.exceeds(
            measured({"own": values, "its": [10.0, 11.0, 12.0]}), "own", "its", "y", 1.0, by=by
        ).status

    assert status([12.0, 13.1, 14.1], 0.10) is Status.HOLDS
    assert status([12.0, 13.1, 14.1], 0.19) is Status.OPEN
    assert status([10.5, 11.5, 12.5], 0.10) is Status.FAILS
    single = measured({"own": [12.0], "its": [10.0]})
    assert claims.exceeds(single, "own", "its", "y", 1.0, by=0.10).status is Status.UNTESTED


def test_a_check_that_cannot_fail_is_not_testable() -> None:
    names = [f"{name} {part}" for name in ("tcp_share", "active") for part in ("inside", "active")]
    table = Measured(
        [
            Measurement(Run(curve, 0.0, seed, {}), dict.fromkeys(names, 0.2) | {"last end ms": 300.0}, "", 0, False)
            for curve in (*fig10.FIXED, "PDLB")
            for seed in (1, 2)
        ]
    )
    found = fig10.cannot_fail(table)
    assert (found.status, found.comparisons) == (Status.UNTESTED, 0)
    assert "cannot fail by construction: 2 senders" in found.evidence[0]
    assert "50 % of 4 paths; measured at most 20 %" in found.evidence[0]


def of_fig10(**values: float) -> Measured:
    """Two seeds of every scheme of PDLB's Fig. 10, whose flows last: `values` of PDLB, half of them of the others."""
    names = {key.replace("_inside", " inside"): value for key, value in values.items()}
    lasts = {"active inside": 1.0, "last end ms": 300.0}
    return Measured(
        [
            Measurement(
                Run(curve, 0.0, seed, {}, fig10.REPAIRED),
                {key: value * (1.0 if curve == "PDLB" else 0.5) + 1e-3 * seed for key, value in names.items()} | lasts,
                "", 0, False,
            )
            for curve in (*fig10.FIXED, "PDLB")
            for seed in (1, 2)
        ]
    )  # fmt: skip


def test_a_check_that_cannot_hold_is_not_testable() -> None:
    table = of_fig10(utilisation_inside=1.2)
    found = fig10.fixed_below_half(1.0, table)
    assert (found.status, found.comparisons) == (Status.UNTESTED, 0)
    assert "UDP alone is (3 x 0.5 + 0.8) / 4 = 57.5 % of paths of 1 Gbps in the window" in found.evidence[0]
    assert fig10.fixed_below_half(10.0, table).status is Status.FAILS
    assert fig10.fixed_below_half(10.0, of_fig10(utilisation_inside=0.8)).status is Status.HOLDS


def test_pdlb_is_judged_by_the_use_that_is_drawn_and_by_payload_beside_it() -> None:
    of = {claim.reading: claim for claim in fig10.EXPERIMENT.claims if claim.id == "C0-20"}
    table = of_fig10(utilisation_inside=0.8, tcp_share_inside=-0.2)
    drawn, payload = of["1 Gbps paths"], of["payload, 1 Gbps paths"]
    assert (drawn.headline, payload.headline) == (True, False)
    assert [one.check(table).status for one in (drawn, payload)] == [Status.HOLDS, Status.FAILS]
    assert "utilisation inside" in drawn.check(table).evidence[0]


def test_an_unknown_metric_is_named_with_the_nearest() -> None:
    with pytest.raises(SpecError, match=r'metric = yy.*did you mean "y"'):
        claims.lower(measured(THREE), "a", ["b"], "yy")


# ---- rows of a table ----


def checks(experiment: str, statuses: list[Status], *, heads: int) -> list[Check]:
    return [
        Check("X-1", experiment, "1", f"form {n}", n < heads, "x", Verdict(status, ()))
        for n, status in enumerate(statuses)
    ]


def test_every_reading_of_a_judging_experiment_is_named_and_variations_are_counted() -> None:
    many = [Status.HOLDS, *[Status.FAILS] * 6, Status.OPEN]
    found = row(PLAIN, [*checks("e", many, heads=1), *checks("varied", many, heads=0)], Effort.FULL)
    assert found.word == "reproduced"
    failed = "; ".join(f"e, form {n}" for n in range(1, 7))
    assert found.readings == [
        "e, form 0: reproduced",
        f"also not reproduced: {failed}",
        "also not distinguishable: e, form 7",
        "variations, varied: 6 not reproduced, 1 not distinguishable, 1 reproduced",
    ]
    few = row(PLAIN, checks("e", many[:2], heads=1), Effort.FULL)
    assert few.readings == ["e, form 0: reproduced", "also e, form 1: not reproduced"]


def test_runs_are_paired_by_seed_and_what_failed_is_left_out() -> None:
    table = measured({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.5, 2.6, 3.4, 4.7]})
    lost = Measured([m for m in table.measurements if (m.run.curve, m.run.seed) not in {("a", 0), ("b", 3)}])
    assert lost.pairs(("a", 1.0, "y"), ("b", 1.0, "y")) == ([2.0, 3.0], [2.6, 3.4])
    assert lost.difference("b", "a", 1.0, "y").mean == pytest.approx(0.5)
    assert lost.ratio("b", "a", 1.0, "y").mean == pytest.approx(1.2)


class Noise(dict[str, "float | Timeline"]):
    """Any metric, drawn anew for each run."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = (run.curve, run.x, run.seed, run.variant)

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str) -> float:
        return Random(f"{self.run} {name}").uniform(1.0, 2.0)


@pytest.mark.parametrize("effort", [Effort.QUICK, Effort.FULL])
@pytest.mark.parametrize("entry", reproduce.listed(reproduce.OWN_PAPERS), ids=lambda entry: str(entry.id))
def test_every_check_of_every_experiment_judges_whatever_its_runs_give(entry: reproduce.Listed, effort: Effort) -> None:
    one = reproduce.load_experiment(entry)
    table = Measured([Measurement(run, Noise(run), "", 0, False, 1) for run in one.runs(effort)])
    for claim in one.claims:
        found = claim.check(table)
        assert found.evidence
        assert found.comparisons >= 0


@pytest.mark.parametrize("entry", reproduce.listed(reproduce.OWN_PAPERS), ids=lambda entry: str(entry.id))
def test_a_check_without_any_run_is_not_testable(entry: reproduce.Listed) -> None:
    one = reproduce.load_experiment(entry)
    found = {claim.check(Measured([])).status for claim in one.claims}
    assert found == {Status.UNTESTED} or one.runs(Effort.WHOLE) == []
