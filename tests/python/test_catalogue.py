"""The list of what papers state: every statement is judged, every check names one, bad lists are refused."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from spinewise.errors import SpecError
from spinewise.papers.pdlb import facts
from spinewise.reproduction import catalogue, reproduce
from spinewise.reproduction.catalogue import Catalogue, Origin
from spinewise.reproduction.experiment import Effort, Experiment, Measured, Status

COUNTS = {"C0": 30, "C1": 17, "C2": 34, "C3": 13, "C4": 14}
BUILTIN = Path(__file__).parents[2] / "crates" / "sim" / "src" / "workload" / "builtin"


@pytest.fixture(scope="module")
def known() -> Catalogue:
    found = catalogue.load(reproduce.OWN_PAPERS)
    assert found
    return found


@pytest.fixture(scope="module")
def experiments() -> list[Experiment]:
    return [reproduce.load_experiment(entry) for entry in reproduce.listed(reproduce.OWN_PAPERS)]


def test_the_list_has_every_claim_of_the_catalogue(known: Catalogue) -> None:
    first = [one.id for one in known if one.origin is Origin.CATALOGUE]
    assert first == [f"{key}-{number:02}" for key, count in COUNTS.items() for number in range(1, count + 1)]
    assert all(one.number or not one.up_to for one in known)
    text = [one.id for one in known if one.origin is Origin.TEXT]
    assert {"C2-35", "C2-36", "C2-37", "C2-38", "C3-14", "C4-15"} <= set(text)
    assert all(one.startswith("own-") for one in (s.id for s in known if s.origin is Origin.OWN))


def test_every_statement_is_judged_and_every_check_names_one(known: Catalogue, experiments: list[Experiment]) -> None:
    named = Counter(claim.id for one in experiments for claim in one.claims)
    heads = Counter(claim.id for one in experiments for claim in one.claims if claim.headline)
    wanted = [name for statement in known for name in statement.ids]
    assert not set(named) - set(wanted)
    assert not [name for name in wanted if not heads[name]]


def test_papers_own_their_claims(known: Catalogue) -> None:
    paper = {entry.id: entry.paper for entry in reproduce.listed(reproduce.OWN_PAPERS)}
    for entry in reproduce.listed(reproduce.OWN_PAPERS):
        for claim in reproduce.load_experiment(entry).claims:
            assert known.whole(claim.id).paper == paper[entry.id]


def test_an_experiment_says_why_a_reading_heads(experiments: list[Experiment]) -> None:
    for one in experiments:
        keys = [claim.key for claim in one.claims]
        assert len(keys) == len(set(keys))
        if not all(claim.headline for claim in one.claims):
            assert one.headline, one.id


def test_what_depends_on_our_models_and_on_length_says_so(known: Catalogue) -> None:
    depends = {name for one in known for name in one.ids if known.part(name).depends_on}
    assert depends == {"C0-22", "C0-24b", "C0-27c", "C0-28"}
    for name in ("C2-20", "C2-21", "C3-01", "C3-02", "C3-03", "C3-04"):
        assert known.part(name).needs_length


def listing(folder: Path, text: str) -> Catalogue:
    folder.mkdir(exist_ok=True)
    (folder / catalogue.CLAIMS_FILE).write_text(text)
    found = catalogue.load(folder)
    assert found
    return found


GOOD = '[p.X-1]\nfigures = ["1"]\nstatement = "it flies"\n'


def test_parts_take_over_what_they_do_not_say(tmp_path: Path) -> None:
    text = (
        GOOD + 'needs_length = "slow"\nparts.a = { statement = "up" }\nparts.b = { statement = "far", up_to = true }\n'
    )
    found = listing(tmp_path, text)
    assert found.part("X-1a").needs_length == "slow"
    assert (found.part("X-1a").up_to, found.part("X-1b").up_to) == (False, True)
    assert found.whole("X-1b").id == "X-1"
    assert next(iter(found)).ids == ("X-1a", "X-1b")
    with pytest.raises(SpecError, match=r'X-1c.*did you mean "X-1[ab]"'):
        found.part("X-1c")


@pytest.mark.parametrize(
    ("text", "key", "allowed"),
    [
        ("[p.X-1]\nfigures = []\n", "p.X-1.statement", "a text that is not empty"),
        (GOOD + "up_to = 1\n", "p.X-1.up_to", "true or false"),
        (GOOD + 'depend_on = "us"\n', "p.X-1.depend_on", "no such key"),
        (GOOD + 'origin = "hearsay"\n', "p.X-1.origin", '"catalogue" or "text" or "own"'),
        (GOOD + 'parts.ab = { statement = "x" }\n', "p.X-1.parts.ab", "one letter"),
        (GOOD + "[q.X-1]\nfigures = []\nstatement = 'y'\n", "q.X-1", "an id of its own"),
        ('[p.X-1]\nfigures = "1"\nstatement = "x"\n', "p.X-1.figures", "a list of texts"),
        ("p = 3\n", "p", "a table"),
        ("p = [\n", "(whole file)", "valid TOML"),
    ],
)
def test_a_bad_list_is_refused_by_key(tmp_path: Path, text: str, key: str, allowed: str) -> None:
    with pytest.raises(SpecError) as caught:
        listing(tmp_path, text)
    assert caught.value.key == key
    assert allowed in caught.value.allowed
    assert str(caught.value.file).endswith(catalogue.CLAIMS_FILE)


def test_a_folder_without_a_list_has_none(tmp_path: Path) -> None:
    assert catalogue.load(tmp_path) is None


OWN = """
from spinewise.reproduction import claims
from spinewise.reproduction.experiment import Claim, Experiment
EXPERIMENT = Experiment("p-1", (), "t", "s", lambda effort: [], lambda run, result: {}, (),
                        (Claim("X-2", "1", "x", lambda measured: claims.combined([])),))
"""


def test_a_check_of_no_known_claim_is_refused(tmp_path: Path) -> None:
    (tmp_path / "papers.toml").write_text(
        '[[paper]]\nkey = "p"\n[[paper.experiment]]\nid = "p-1"\nfigures = []\ntitle = "t"\nmodule = "one"\n'
    )
    (tmp_path / "one.py").write_text(OWN)
    (entry,) = reproduce.listed(tmp_path)
    assert reproduce.load_experiment(entry).id == "p-1"
    catalogue.load.cache_clear()
    listing(tmp_path, GOOD)
    with pytest.raises(SpecError, match=r'X-2.*did you mean "X-1"'):
        reproduce.load_experiment(entry)


# ---- what is computed without a run ----


def test_the_distributions_are_those_of_the_engine() -> None:
    for name, points in (("web_search", facts.WEB_SEARCH), ("data_mining", facts.DATA_MINING)):
        lines = (BUILTIN / f"{name}.txt").read_text().splitlines()
        shipped = [tuple(map(float, line.split())) for line in lines if not line.startswith("#")]
        assert shipped == [tuple(map(float, point)) for point in points]


def test_shares_of_flows_and_bytes() -> None:
    even = ((0.0, 0.0), (100.0, 1.0))
    assert facts.share_below(even, 25.0) == 0.25
    assert facts.mean_bytes(even) == 50.0
    assert facts.share_of_bytes(even, 50.0) == 0.75
    assert facts.share_of_bytes(even, 100.0) == 0.0


def test_the_facts_of_pdlb_need_no_run() -> None:
    done = reproduce.reproduce(facts.EXPERIMENT)
    assert done.measured.measurements == []
    found = {key: verdict.status for key, verdict in done.verdicts.items()}
    assert found == {
        "C0-01, the search": Status.PARTLY,
        "C0-01, delays read too": Status.FAILS,
        "C0-29": Status.PARTLY,
        "C0-30": Status.PARTLY,
    }
    assert not any(verdict.comparisons for verdict in done.verdicts.values())
    first, second = done.verdicts["C0-29"].evidence[:2]
    assert re.match(r"NO: bytes in flows above 1 MB: 94\.96 %", first)
    assert second.startswith("yes: flows above 1 MB: 30.00 %")
    assert facts.EXPERIMENT.runs(Effort.WHOLE) == []


def test_terms_of_a_search_are_counted() -> None:
    # One path: one cell a granularity, two terms each. As many paths as packets: 44 / gran cells, rounded up.
    assert facts.terms(1) == 2 * 44
    assert facts.terms(44) == sum(-(-44 // gran) + 1 for gran in range(1, 45))
    assert facts.growth({2: 8.0, 8: 32.0}) == pytest.approx(1.0)
    assert facts.search_ignores_paths((2, 4), Measured([])).status is Status.FAILS
