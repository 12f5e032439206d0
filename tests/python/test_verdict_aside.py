"""A mean is over flows that ended: who deadlocked, or left more flows behind than others, is not held against them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import samples
import spinewise as sw
from ring import ring
from spinewise.comparison import answers, files, report, tables, verdict
from spinewise.comparison.cells import Cell, Comparison
from spinewise.comparison.verdict import verdicts
from spinewise.measures.collectives import Job
from spinewise.measures.summary import Summary
from spinewise.page import of_comparison
from spinewise.specs.variants import parse_list
from test_verdict import words


def cell(label: str, seed: int, fct_us: float, done: int = 100) -> Cell:
    """A run with a hundred flows of one time, of which so many finish."""
    made = samples.result(
        entry=[0] * 100, size_bytes=[10] * 100, fct_ps=[int(fct_us * 1e6)] * 100, slowdown=[1.0] * 100,
        finished=[True] * done + [False] * (100 - done),
    )  # fmt: skip
    made.spec["traffic"] = [{"kind": "poisson", "name": "web"}]
    return Cell(label, None, seed, made.summary(), "00", f"t{seed}", 1.0, 100)


def comparison(*cells: Cell) -> Comparison:
    """Of some runs."""
    labels, seeds = list(dict.fromkeys(one.label for one in cells)), sorted({one.seed for one in cells})
    return Comparison({"name": "x"}, parse_list(labels), [None], seeds, list(cells))


@pytest.fixture(scope="module")
def locked() -> Comparison:
    """HULA stops the ring after a millisecond: the one flow in 80 that ended by then was a tenth as long under way."""
    return sw.compare(ring(), "drill,hula", seeds=2, jobs=1)


def test_a_scheme_that_deadlocked_is_not_the_best(locked: Comparison) -> None:
    """It was, by -89 % against DRILL, under which every flow ends."""
    (found,) = verdicts(locked)
    assert (
        locked.interval("hula", None, "all", "fct_s.p99").mean < locked.interval("drill", None, "all", "fct_s.p99").mean
    )
    assert (found.best, found.judged, found.ties, found.alike) == ("drill", ["drill"], [], False)
    assert found.aside == {"hula": "DEADLOCK on 2 of 2 seeds"}
    said = words(report.comparison_report(locked))
    assert "p99 FCT: drill, " in said
    assert "not judged: hula (DEADLOCK on 2 of 2 seeds)" in said
    (grid,) = tables.scope_tables(locked, None)
    assert [line.cells[1] for line in grid.lines] == ["drill", "hula (DEADLOCK)"]
    assert "under hula at load as given, on 2 of 2 seeds: it is not judged." in said
    assert of_comparison.card(locked, found).answer == "drill"
    assert files.verdict_record(found)["not_judged"] == found.aside


def test_where_every_scheme_deadlocks_none_is_the_best() -> None:
    found = sw.compare(ring(), "hula,ecmp", seeds=1, jobs=1)
    (one,) = verdicts(found)
    assert one.best is None
    assert list(one.aside) == ["hula", "ecmp"]
    assert answers.lines(found, one)[0] == "p99 FCT: no scheme is judged"
    assert of_comparison.card(found, one).answer == "none judged"


def test_the_first_of_the_lucky_is_not_the_best() -> None:
    """Under b a flow in twenty never ends; under c one in a hundred, which a 99th percentile can do without."""
    pace = [1.0, 2.0, 3.0]
    runs = [cell(*of) for seed, p in enumerate(pace) for of in (
        ("a", seed, 100 * p), ("b", seed, 10 * p, 95), ("c", seed, 50 * p, 99))]  # fmt: skip
    (found,) = verdicts(comparison(*runs))
    assert found.best == "c"
    assert found.judged == ["c", "a"]
    assert found.aside == {"b": "15 of 300 flows left unfinished"}
    said = words(answers.answers(comparison(*runs)))
    assert "c left 3 flows unfinished: in no mean here; a none" in said
    assert "against a; last" not in said
    assert "not judged: b (15 of 300 flows left unfinished)" in said


def test_a_difference_to_the_next_is_not_called_one_to_the_baseline() -> None:
    """The baseline is not judged: the number was that of the next scheme, and told as against the baseline."""
    runs = [cell(*of) for seed, p in enumerate([1.0, 1.1, 1.2]) for of in (
        ("a", seed, 100 * p, 50), ("b", seed, 10 * p), ("c", seed, 20 * p))]  # fmt: skip
    said = words(answers.answers(comparison(*runs)))
    assert "p99 FCT: b, 11.00 ±2.48 µs; next c, +100.0%" in said
    assert "against a" not in said


def test_what_rests_on_fewer_seeds_says_so() -> None:
    """Nothing of b finished on two of five seeds: its row read as if it were of all five."""
    runs = [cell("a", seed, 100.0 + seed) for seed in range(5)]
    runs += [cell("b", seed, 50.0 + seed, 100 if seed < 3 else 0) for seed in range(5)]
    runs += [cell("c", seed, 60.0 - 2 * seed) for seed in range(5)]
    found = comparison(*runs)
    (grid,) = tables.scope_tables(found, None)
    rows = {line.cells[1]: line.cells for line in grid.lines}
    assert rows["b"][2].endswith(", 3 of 5 seeds")
    assert ", " not in rows["c"][2]
    own = found.interval("b", None, "all", "fct_s.mean")
    assert (tables.of_seeds(found, own), own.n) == (", 3 of 5 seeds", 3)


def test_first_on_counts_seeds_on_which_all_have_a_value() -> None:
    """A seed on which the rival has no value was one on which it had lost."""
    nothing = math.nan
    values = {"a": [10.0, 20.0, 30.0, 40.0], "b": [9.0, 21.0, nothing, nothing]}
    runs = [cell(label, seed, 1.0) for label in values for seed in range(4)]
    found = comparison(*runs)
    (asked,) = [one.question for one in verdicts(found)]
    told = verdict.first_of(
        found, verdict.Question(None, asked.words, lambda one: values[one.label][one.seed]), None, ["b", "a"]
    )
    assert told == (1, 2)


def test_an_interval_that_reaches_below_zero_is_explained() -> None:
    """556 ± 649 of a time: the seeds differ by factors."""
    wide = comparison(*(cell(label, seed, 10.0**seed) for label in "ab" for seed in range(3)))
    assert "seeds differ by factors: no time is below zero" in " ".join(tables.reading(wide))
    narrow = comparison(*(cell(label, seed, 10.0 + seed) for label in "ab" for seed in range(3)))
    assert "differ by factors" not in " ".join(tables.reading(narrow))


def of_values(values: dict[str, list[float]]) -> Comparison:
    """A comparison of schemes with these times, seed by seed."""
    return comparison(*(cell(label, seed, us) for label, row in values.items() for seed, us in enumerate(row)))


def test_ties_behind_what_is_told_apart_are_no_headline() -> None:
    """It said "lbsp, conweave or clove" of two that were 5 and 7 % behind ECMP, which it left out."""
    ecmp, lbsp = [278.0, 279.0, 277.0, 278.0], [233.0, 233.5, 233.2, 233.1]
    made = of_values({"ecmp": ecmp, "lbsp": lbsp, "clove": [230.0, 360.0, 330.0, 250.0]})
    (found,) = verdicts(made)
    assert (found.best, found.ties, found.near, found.far) == ("lbsp", ["clove"], [], ["clove"])
    card = of_comparison.card(made, found)
    assert card.answer == "lbsp"
    assert "first on 3 of 4 seeds; not told apart, but its mean is worse than that of ecmp: clove" in card.more
    assert files.verdict_record(found)["behind_told_apart"] == ["clove"]
    both = of_values(
        {"ecmp": ecmp, "lbsp": lbsp, "clove": [230.0, 260.0, 250.0, 225.0], "drb": [200.0, 900.0, 9.0, 1e3]}
    )
    (found,) = verdicts(both)
    assert (found.near, found.far) == (["clove"], ["drb"])
    assert of_comparison.card(both, found).answer == "lbsp or clove"
    said = words(answers.answers(both))
    assert "not told apart from clove; first on 1 of 4 seeds" in said
    assert "not told apart, but its mean is worse than that of ecmp: drb" in said


def test_two_seeds_name_no_best_alone() -> None:
    """Two pairs that lie beside each other are luck, and the test took them for no spread."""
    two = of_values({"a": [100.0, 200.0], "b": [80.0, 160.1]})
    (found,) = verdicts(two)
    assert (found.best, found.ties, found.beats, found.why) == ("b", ["a"], [], [])
    assert of_comparison.card(two, found).answer == "none told apart"
    said = words(answers.answers(two))
    assert "(-20.0%) against a not told apart from any other: 2 seeds are too few; first on 2 of 2 seeds" in said
    three = of_values({"a": [100.0, 200.0, 300.0], "b": [80.0, 160.1, 240.0]})
    assert verdicts(three)[0].beats == ["a"]
    one = of_values({"a": [100.0], "b": [80.0]})
    assert "-20.0% against a one seed cannot tell schemes apart" in words(answers.answers(one))


def test_the_answer_says_which_of_two_tests_speaks() -> None:
    """A difference in brackets was that of the best without "not told apart", and one without that of a tie."""
    pace = [1.0, 3.0, 10.0, 30.0]
    (found,) = verdicts(made := of_values({"a": [100 * p for p in pace], "b": [50.0, 155.0, 490.0, 1500.0]}))
    assert (found.beats, found.ties, found.against.excludes_zero) == (["a"], [], False)
    assert (
        words(answers.answers(made))
        .partition("against a ")[2]
        .startswith("surely less than a by the paired test over seeds, although the interval of the difference, ")
    )
    assert "-50.1% against a" in words(answers.answers(made))
    near = {f"s{k}": [101.0 + k, 103.0 - k, 99.0, 100.0] for k in range(8)}
    (found,) = verdicts(made := of_values({"a": [100.0, 101.0, 102.0, 103.0], **near, "b": [96.0, 95.0, 98.0, 93.0]}))
    assert (found.best, found.other, found.against.excludes_zero, found.beats) == ("b", "a", True, [])
    said = words(answers.answers(made))
    assert "against a" in said
    assert "%) against a" in said, "in brackets, for it may be chance"
    assert "not surely less than a by the paired test over seeds, among 10 schemes, although the" in said
    assert "why: not seen" not in said, "of a difference that may be chance no reason is told"


def shown(found: Comparison) -> dict[str, str]:
    """The difference from the first scheme in the table of 99th percentiles, by scheme."""
    (grid,) = tables.scope_tables(found, None)
    return {line.cells[1]: line.cells[5] for line in grid.lines}


def test_tables_are_as_certain_as_answers() -> None:
    """A headline told no scheme apart, and the table below it called the same difference certain, by another test."""
    near = {f"s{k}": [101.0 + k, 103.0 - k, 99.0, 100.0] for k in range(8)}
    made = of_values({"a": [100.0, 101.0, 102.0, 103.0], **near, "b": [96.0, 95.0, 98.0, 93.0]})
    (found,) = verdicts(made)
    assert (found.best, found.other, found.beats, found.against.excludes_zero) == ("b", "a", [], True)
    assert shown(made)["b"] == answers.as_sure(made, found, "a", found.against) == "(-5.9%)"
    # And the other way round: seeds that differ by factors, whose ratios are alike.
    pace = [1.0, 3.0, 10.0, 30.0]
    made = of_values({"a": [100 * p for p in pace], "b": [50.0, 155.0, 490.0, 1500.0]})
    (found,) = verdicts(made)
    assert (found.beats, found.against.excludes_zero) == (["a"], False)
    assert shown(made)["b"] == answers.as_sure(made, found, "a", found.against) == "-50.1%"
    assert verdict.apart_from_first(made, found.question, None) == ["b"]
    said = words(report.comparison_report(made))
    assert said.count("in (brackets)") == 1, "one rule for both"
    assert "in (brackets), in tables and in answers, unless one of the two schemes is surely less, by the test" in said


def test_a_difference_is_certain_in_the_direction_of_its_means_alone() -> None:
    """Ratios may say that one scheme is less whose mean is more: then neither sign is sure."""
    made = of_values({"a": [10.0, 10.0, 10.0, 1000.0], "b": [5.0, 5.1, 5.0, 1100.0]})
    assert shown(made)["b"].startswith("(+")
    assert verdicts(made)[0].beats == []


def test_two_seeds_and_schemes_that_are_not_judged_have_brackets() -> None:
    two = of_values({"a": [100.0, 200.0], "b": [80.0, 160.1]})
    assert shown(two) == {"a": "", "b": "(-20.0%)"}
    assert shown(of_values({"a": [100.0], "b": [80.0]}))["b"] == "-20.0%", "one seed has no interval"
    behind = comparison(*(cell(label, seed, time, done) for seed in range(4)
                          for label, time, done in (("a", 100.0 + seed, 100), ("b", 50.0 + seed, 90))))  # fmt: skip
    assert verdicts(behind)[0].aside.keys() == {"b"}
    assert shown(behind)["b"].startswith("(-")


def of_rounds(kind: str, done: dict[str, list[int]], rounds: int = 1) -> Comparison:
    """A comparison of schemes under which so many rounds ended, seed by seed; all but `a` are ten times as fast."""
    runs = []
    for label, row in done.items():
        for seed, ended in enumerate(row):
            time = (1.0 if label == "a" else 0.1) * (1.0 + 0.01 * seed)
            whole, mean = time if ended == rounds else math.nan, time if ended else math.nan
            job = Job("job", kind, 1, 3, 0, rounds, rounds - ended, mean, mean, mean, mean, whole, 0.0, 0.0, None)
            one = cell(label, seed, 1.0)
            runs.append(replace(one, jobs={"job": job}, summary=named(one.summary)))
    return comparison(*runs)


def named(summary: Summary) -> Summary:
    """With its only entry called after its rounds."""
    return replace(summary, entries=[replace(summary.entries[0], name="job")])


def test_a_scheme_whose_rounds_never_ended_is_not_the_best() -> None:
    """One flow in 120 is less than a hundredth, and the round that it is of never ends: its seeds were left out."""
    spec = {
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 120},
        "traffic": [{"kind": "incast", "receiver": 0, "senders": [*range(120, 240)], "size_bytes": 20_000}],
        "fault": [{"kind": "black_hole", "switch": "spine0", "at_us": 0, "pairs": [[120, 0]]}],
        "run": {"until_us": 300_000},
    }
    found = sw.compare(spec, "rps,ecmp", seeds=6, jobs=1)
    lost = sum(one.jobs["incast"].unfinished for one in found.at("ecmp", None))
    assert 0 < lost == found.unfinished("ecmp", None) < 6
    assert found.job("ecmp", None, "incast", "mean_s").mean < found.job("rps", None, "incast", "mean_s").mean
    (one,) = verdicts(found)
    assert (one.best, one.judged, one.ties) == ("rps", ["rps"], [])
    assert one.aside == {"ecmp": f"{lost} of 6 rounds left unfinished"}
    assert f"not judged: ecmp ({lost} of 6 rounds left unfinished)" in words(answers.answers(found))


def test_what_has_no_value_on_a_seed_on_which_others_have_one_is_not_judged() -> None:
    """One round in 300 is less than a hundredth; the job is not done all the same, and its seed was left out."""
    found = of_rounds("all_reduce", {"a": [100, 100, 100], "b": [100, 99, 100], "c": [100, 100, 100]}, 100)
    (one,) = verdicts(found)
    assert one.question.words == "time until the job is done"
    assert (one.best, one.judged, one.seeds) == ("c", ["c", "a"], 3)
    assert one.aside == {"b": "no value on 1 of 3 seeds"}
    some = of_rounds("incast", {"a": [100, 100, 100], "b": [100, 99, 100]}, 100)
    (one,) = verdicts(some)
    assert (one.best, one.aside) == ("b", {}), "a mean of 99 rounds is one of nearly all"
    assert "but b left 1 round unfinished: in no mean here; a none" in words(answers.answers(some))


def test_of_one_seed_too_nobody_goes_without_a_word() -> None:
    """Its only round never ended, and the answer was of the others as if it had not been there."""
    (one,) = verdicts(found := of_rounds("all_reduce", {"a": [200], "b": [199], "c": [200]}, 200))
    assert (one.best, one.judged, one.aside) == ("c", ["c", "a"], {"b": "no value on 1 of 1 seed"})
    assert "not judged: b (no value on 1 of 1 seed)" in words(answers.answers(found))
    (one,) = verdicts(found := of_rounds("all_reduce", {"a": [1], "b": [1]}, 2))
    assert (one.best, one.aside) == (None, {})
    assert answers.lines(found, one)[0] == "time until the job is done: every scheme left rounds unfinished"


def test_a_seed_on_which_nobody_has_a_value_is_held_against_nobody() -> None:
    (one,) = verdicts(of_rounds("incast", {"a": [1, 1, 0], "b": [1, 1, 0]}))
    assert (one.best, one.judged, one.seeds, one.aside) == ("b", ["b", "a"], 2, {})
