"""Why claims may not come out, and where that is tested: the list, its checks, its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from spinewise.errors import SpecError
from spinewise.reproduction import catalogue, reasons, reproduce, rows
from spinewise.reproduction.experiment import Claim, Effort, Experiment, Measured, Status, Verdict
from spinewise.reproduction.reasons import Reason, Tried

OWN = reasons.load(reproduce.OWN_PAPERS)
EXPERIMENTS = [reproduce.load_experiment(entry) for entry in reproduce.listed(reproduce.OWN_PAPERS)]

# What the documentation calls not reproduced under its headline reading, in whole or in a part.
NOT_REPRODUCED = (
    "C0-10a", "C0-10b", "C0-11b", "C0-12", "C0-16a", "C0-20", "C0-22", "C0-25b", "C0-27a", "C0-27c", "C0-28",
    "C0-32b", "C1-08a", "C1-09", "C2-02", "C2-04", "C2-06", "C2-15", "C2-16", "C2-17", "C2-19", "C2-21", "C2-22",
    "C2-25a", "C2-26", "C2-27", "C2-29", "C2-30", "C2-32", "C2-44", "C3-03", "C3-05", "C3-09a", "C3-09b", "C3-10a",
    "C3-10b", "C4-09a", "C4-09b", "C4-10a", "C4-10b", "C4-11a", "C4-12", "C4-17",
)  # fmt: skip


def test_every_entry_names_a_check_that_is_made() -> None:
    reasons.refuse_wrong(reproduce.OWN_PAPERS, EXPERIMENTS, [one.id for one in EXPERIMENTS])
    known = catalogue.load(reproduce.OWN_PAPERS)
    assert known is not None
    for one in OWN:
        assert one.claim in known.whole(one.claim).ids


def test_every_variation_that_is_named_is_run() -> None:
    variations = {one.id: one for one in EXPERIMENTS if one.id.endswith("-variations")}
    named = {(one.experiment, one.reading) for one in OWN if one.experiment in variations}
    runs = {name: {run.variant for run in one.runs(Effort.FULL)} for name, one in variations.items()}
    assert {name for name, _ in named} == set(variations)
    for name, reading in named:
        plain = reading.removeprefix("against ConWeave, ").removeprefix("against ECMP, ")
        assert any(variant == plain or variant.startswith((f"{plain}; ", f"{plain}, ")) for variant in runs[name])


@pytest.mark.parametrize("claim", NOT_REPRODUCED)
def test_what_is_not_reproduced_has_a_reason_that_is_tested(claim: str) -> None:
    assert [one for one in OWN if one.claim == claim]


def checks(**found: Status) -> rows.Row:
    """A row of C2-04 with one headline reading, and these beside it."""
    known = catalogue.load(reproduce.OWN_PAPERS)
    assert known is not None
    made = [
        rows.Check("C2-04", "meet-6", "6a", reading.replace("_", " "), reading == "head", "", Verdict(status, ()))
        for reading, status in found.items()
    ]
    return rows.row(known.whole("C2-04"), made, Effort.FULL)


def test_lines_say_what_was_tested_and_what_came_of_it() -> None:
    row = checks(
        head=Status.FAILS, the_proxy_probes=Status.PARTLY, late=Status.FAILS, later=Status.FAILS, short=Status.HOLDS
    )
    tested = [
        Tried("C2-04", Reason.PARAMETER, "meet-6", "the proxy probes"),
        Tried("C2-04", Reason.LENGTH, "meet-6", "late"),
        Tried("C2-04", Reason.LENGTH, "meet-6", "short"),
        Tried("C2-04", Reason.LENGTH, "meet-6", "later"),
        Tried("C2-04", Reason.LENGTH, "meet-7", "short"),
        Tried("C2-06", Reason.LENGTH, "meet-6", "short"),
    ]
    assert reasons.lines(tested, row) == [
        'open parameter (meet-6): in part: "the proxy probes"',
        'run length (meet-6): not reproduced: "late", "later"; reproduced: "short"',
    ]
    assert reasons.lines([], row) == []


GOOD = '[[tested]]\nclaims = ["C0-12"]\nreason = "transport"\nexperiment = "e"\nreadings = ["r"]\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD.replace('"transport"', '"transports"'), 'tested[0].reason = \'transports\''),
        (GOOD.replace('["r"]', "[]"), "tested[0].readings = []: allowed is a list of texts, at least one"),
        (GOOD.replace('["C0-12"]', '"C0-12"'), "tested[0].claims = 'C0-12': allowed is a list of texts"),
        (GOOD.replace('"e"', "3"), "tested[0].experiment = 3: allowed is a text that is not empty"),
        (GOOD + "why = 1\n", "tested[0].why = 1: allowed is no such key"),
        (GOOD + GOOD, "tested = C0-12, e, r: allowed is each reading of a claim once"),
        ("tested = 3\n", "tested = 3: allowed is a list of tables"),
        ("tested = [\n", "allowed is valid TOML"),
    ],
)  # fmt: skip
def test_a_list_that_is_not_as_it_should_be_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / reasons.REASONS_FILE).write_text(content, encoding="utf-8")
    with pytest.raises(SpecError) as error:
        reasons.load(tmp_path)
    assert message in str(error.value)
    assert reasons.REASONS_FILE in str(error.value)


def test_a_folder_without_the_list_tests_nothing(tmp_path: Path) -> None:
    assert reasons.load(tmp_path) == ()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / reasons.REASONS_FILE).write_text(GOOD, encoding="utf-8")
    assert reasons.load(tmp_path / "other") == (Tried("C0-12", Reason.TRANSPORT, "e", "r"),)


def experiment() -> Experiment:
    """One with a claim in two readings."""

    def check(_: Measured) -> Verdict:
        raise AssertionError("never asked")

    claims = (Claim("C0-12", "1", "", check, "main"), Claim("C0-12", "1", "", check, "beside", False))
    return Experiment("e", (), "", "", lambda _: [], lambda _run, _result: {}, (), claims)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Tried("C0-12", Reason.LOAD, "f", "beside"), "experiment = f: allowed is an experiment"),
        (Tried("C0-13", Reason.LOAD, "e", "beside"), "claims = C0-13: allowed is a claim that e checks"),
        (Tried("C0-12", Reason.LOAD, "e", "besides"), "readings = besides: allowed is a reading of C0-12 in e"),
        (Tried("C0-12", Reason.LOAD, "e", "main"), "that heads no verdict"),
    ],
)
def test_an_entry_that_names_no_check_is_refused(entry: Tried, message: str) -> None:
    good, elsewhere = (Tried("C0-12", Reason.LOAD, name, "beside") for name in ("e", "g"))
    # Nothing is known of the checks of "g", which is not among the experiments.
    reasons.refuse_unknown([good, elsewhere], [experiment()], ["e", "g"])
    with pytest.raises(SpecError, match=r".") as error:
        reasons.refuse_unknown([entry], [experiment()], ["e", "g"])
    assert message in str(error.value)
