"""`spinewise advise` on small fabrics: its answer, its claims, its files, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spinewise as sw
from spinewise import cli, core
from spinewise.advice import candidates, files, show, stress, why
from spinewise.advice.aims import Aim
from spinewise.advice.answer import Advice
from spinewise.advice.candidates import LEVELS, NEEDS, find, level, may_list, oracle, sheets
from spinewise.advice.effects import effects
from spinewise.advice.forecast import PILOT
from spinewise.advice.gear import gear, steps
from spinewise.advice.observed import Flows, Observed, Spread
from spinewise.advice.tune import KNOBS, variants
from spinewise.cli import advise as cli_advise
from spinewise.comparison.reasons import facts
from spinewise.runs.jobs import Silent
from spinewise.shapes import Spec
from spinewise.show import terminal
from spinewise.specs.spec import as_spec
from spinewise.specs.variants import parse
from spinewise.sweeps.store import reading

WEB = {"name": "web", "kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 4000, "pairs": "inter_rack"}
SMALL: dict[str, Any] = {"name": "small", "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2}, "traffic": [WEB]}


def small(**tables: object) -> Spec:
    """A fabric of four hosts, with other tables."""
    return as_spec({**SMALL, **tables})


DEAD = small(
    topology={"leaves": 2, "spines": 4, "hosts_per_leaf": 4},
    transport={"min_rto_us": 1000, "initial_rto_us": 1000},
    fault=[{"kind": "loss", "switch": "spine1", "at_us": 0, "probability": 1.0}],
    detection={"mode": "never"},
    traffic=[{"name": "swap", "kind": "permutation", "size_bytes": 100_000}],
    run={"until_us": 40_000},
)
"""One of four paths swallows all that it is given, and no switch finds out: who stays on it never ends."""


FABRIC = """
name = "small"
[topology]
leaves = 2
spines = 2
hosts_per_leaf = 2
[[traffic]]
name = "web"
kind = "poisson"
cdf = "web_search"
load = 0.5
duration_us = 1000
"""


def spec_file(folder: Path, text: str) -> str:
    """A spec file."""
    file = folder / "fabric.toml"
    file.write_text(text)
    return str(file)


SCHEMES = "ecmp,letflow,ecmp@twin"


@pytest.fixture(scope="module")
def dead(tmp_path_factory: pytest.TempPathFactory) -> tuple[Advice, Path]:
    """The advice on that fabric, and its store."""
    store = tmp_path_factory.mktemp("dead") / "store"
    return sw.advise(DEAD, schemes=SCHEMES, budget_s=30, store=store, band=0.1), store


def test_a_dead_path_is_left_by_those_that_learn_of_it(dead: tuple[Advice, Path]) -> None:
    """By construction: a hash stays on the dead path for ever, and the pause after a timeout opens a new flowlet."""
    found, _ = dead
    assert found.entrant(found.advised).scheme == "letflow"
    assert found.level == "configuration"
    assert found.ended == "settled"
    assert {one.level: one.advised for one in found.levels}["as it is"] == "ecmp"
    assert {one for one in found.tied if one.startswith(("ecmp", "twin"))} == set()
    high = found.levels[-1].than_today[0].high
    assert high is not None
    assert high < 0.0
    assert found.levels[-1].than_today[0].mean < -0.5
    assert any("unfinished, each counted" in note for note in found.notes)
    assert all(sum(one.unfinished) > 0 for one in found.entrant("ecmp").samples)


def test_one_scheme_under_two_names_is_run_once(dead: tuple[Advice, Path]) -> None:
    """Nothing tells ECMP from ECMP: the second name leaves after the pilot, and one look at the worst seed."""
    found, _ = dead
    ecmp, twin = found.entrant("ecmp"), found.entrant("twin")
    theirs = {one.seed: one.values for one in ecmp.samples}
    assert all(theirs[one.seed] == one.values for one in twin.samples)
    assert PILOT <= len(twin.samples) <= PILOT + 2 < len(ecmp.samples)
    assert ecmp.dropped_by is twin.dropped_by is None
    assert (twin.status, twin.like) == ("same", "ecmp")
    assert {one.level: set(one.tied) for one in found.levels}["as it is"] == {"ecmp"}
    told = f"twin: same outcome as ecmp here, to the last packet ({len(twin.samples)} seeds), so not run on"
    assert told in show.surely(found)


def test_every_claim_holds_against_the_runs(dead: tuple[Advice, Path]) -> None:
    """Each sentence is worked out anew from the store; a false number, word, relation or run fails."""
    found, store = dead
    assert found.why
    assert found.why_than == "ecmp"
    with reading(store) as ledger:
        for claim in (*found.why, *found.price):
            assert why.check(claim, ledger) is None
            assert "of ecmp" in str(why.check(replace(claim, theirs=claim.theirs * 1.01), ledger))
            assert f"of {found.advised}" in str(why.check(replace(claim, mine=claim.mine + 0.5), ledger))
            other: why.Relation = "less" if claim.relation == "more" else "more"
            assert f"has not {other}" in str(why.check(replace(claim, relation=other), ledger))
            assert "the numbers say" in str(
                why.check(replace(claim, text=claim.text.replace("under", "below")), ledger)
            )
            swapped = replace(claim, runs=claim.other_runs, other_runs=claim.runs)
            assert why.check(swapped, ledger) is not None
            assert "not there" in str(why.check(replace(claim, runs=("0" * 64,)), ledger))
            assert "no fact" in str(why.check(replace(claim, fact="luck"), ledger))


def test_a_file_gives_back_the_advice(dead: tuple[Advice, Path], tmp_path: Path) -> None:
    """advice.json is the advice, number by number; advice.md reads like the screen."""
    found, _ = dead
    files.write_files(found, tmp_path)
    again = files.read(tmp_path)
    assert again.why == found.why
    assert again.entrants == found.entrants
    assert again.levels == found.levels
    assert repr(again) == repr(found)
    text = (tmp_path / "advice.md").read_text()
    assert files.row(["a|b", "c"]) == "| a\\|b | c |"
    assert f"**Run.** {found.advised}:" in text
    assert all(claim.text in text for claim in found.why[:3])
    (tmp_path / "advice.json").write_text('{"format": "spinewise-advise-9"}')
    with pytest.raises(sw.SpecError, match="a newer Spinewise"):
        files.read(tmp_path)
    (tmp_path / "advice.json").write_text('{"format": "spinewise-advise-1", "name": 3}')
    with pytest.raises(sw.SpecError, match="an advice that was not changed"):
        files.read(tmp_path)


def test_the_screen_fits(dead: tuple[Advice, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """About one terminal, with the parts a reader looks for."""
    found, _ = dead
    assert show.guessed(found) == []
    terminal.console().print(show.screen(found))
    text = capsys.readouterr().out
    heads = (
        "Run",
        "By how much",
        "How sure",
        "Why",
        "Wrong if",
        "It needs",
        "Turn it on",
        "Effort",
        "The best if you",
    )
    assert all(f"\n{head}" in text for head in heads)
    assert len(text.splitlines()) <= 55


def test_an_advice_goes_on_where_it_stopped(dead: tuple[Advice, Path]) -> None:
    """What the store has is not run again."""
    found, store = dead
    again = sw.advise(DEAD, schemes=SCHEMES, budget_s=30, store=store, band=0.1)
    assert again.effort.runs == 0
    assert again.effort.stored == found.effort.runs + found.effort.stored
    assert replace(again, effort=found.effort, aims=found.aims) == found


class Impatient(Silent):
    """Somebody who presses Ctrl-C when so many runs have ended."""

    def __init__(self, runs: int) -> None:
        self.runs = runs

    def finished(self, number: int, packet_hops: int) -> None:
        """One more."""
        del number, packet_hops
        self.runs -= 1
        if self.runs == 0:
            raise KeyboardInterrupt


def test_what_an_interrupted_advice_has_run_is_kept(tmp_path: Path) -> None:
    """The next one takes it from the store."""
    with pytest.raises(KeyboardInterrupt):
        sw.advise(DEAD, schemes=SCHEMES, budget_s=30, store=tmp_path / "store", jobs=1, monitor=Impatient(7))
    again = sw.advise(DEAD, schemes=SCHEMES, budget_s=30, store=tmp_path / "store", jobs=1, band=0.3)
    # ECMP and its twin are one run, and the one under way when the key was pressed is lost.
    assert again.effort.stored >= 6
    assert again.effort.runs > 0


def test_an_advice_that_is_interrupted_answers_by_what_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C after the pilot: everything was lost, in silence; the pilot itself has no answer yet."""
    monkeypatch.setattr(cli_advise, "BatchProgress", lambda *_: Impatient(13))
    words = ["advise", spec_file(tmp_path, FABRIC), "--schemes", "ecmp,rps,drill", "--budget", "60s", "--jobs", "1",
             "--set", "traffic[0].duration_us=4000"]  # fmt: skip
    assert cli.main([*words, "--out", str(tmp_path / "advice")]) == 130
    said = " ".join(capsys.readouterr().out.split())
    assert "INTERRUPTED after " in said
    assert "with --store DIR the same command continues from there" in said
    found = files.read(tmp_path / "advice")
    assert (found.ended, found.interrupted) == ("interrupted", True)
    assert found.effort.seeds == 4
    assert {one.because for one in found.cases if not one.tried} >= {"it was interrupted"}
    monkeypatch.setattr(cli_advise, "BatchProgress", lambda *_: Impatient(2))
    assert cli.main(words) == 130
    assert capsys.readouterr().err.startswith("spinewise: interrupted")


def test_every_scheme_has_a_level() -> None:
    """What each changes is read off its own fact sheet; only what names itself an oracle is one."""
    levels = {name: level(sheet, "ecmp", "tcp") for name, sheet in sheets().items()}
    assert set(levels.values()) == set(LEVELS)
    assert levels["ecmp"] == "as it is"
    assert levels["wcmp"] == "configuration"
    assert levels["flowbender"] == "hosts"
    assert levels["plb"] == "configuration"
    assert level(sheets()["plb"], "ecmp", "rdma") == "hosts", "Linux has it in its TCP alone"
    assert level(sheets()["wcmp"], "ecmp", "rdma") == "configuration"
    assert levels["conweave"] == "leaves"
    assert levels["drill"] == "switches"
    assert [name for name, sheet in sheets().items() if oracle(sheet)] == ["proportional"]
    assert set(NEEDS.values()) == set(LEVELS[1:])


@pytest.fixture
def unsaid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry in which `drill` and `plb` say nothing of what they need, as the schemes of CONTRIBUTING.md."""
    known = {name: {**sheet, "compared": None if name in ("drill", "plb") else sheet["compared"]}
             for name, sheet in sheets().items()}  # fmt: skip
    monkeypatch.setattr(candidates, "sheets", lambda: known)


@pytest.mark.usefixtures("unsaid")
def test_a_scheme_that_does_not_say_what_it_needs_is_not_tried_unless_named() -> None:
    """It is listed with the reason; by name it takes part, as one that changes all places of its kind."""
    who = find(small(), may_list(None))
    assert {one.scheme for one in who.not_tried if "name it with --schemes" in one.because} >= {"drill", "plb"}
    named = find(small(), may_list(None), "ecmp,drill,plb")
    assert named.not_tried == ()
    assert {one.label: one.level for one in named.candidates} == {
        "ecmp": "as it is",
        "drill": "switches",
        "plb": "hosts",
    }
    not_allowed = find(small(), may_list("hosts"), "ecmp,drill,plb").not_tried
    assert [one.because for one in not_allowed] == ["it changes switches, and --may allows hosts"]


def test_what_a_variant_sets_outside_its_scheme_is_a_change_too() -> None:
    """ECMP over Ultra Ethernet counted as what runs today, for which "nothing is changed"."""
    spec = small(transport={"kind": "rdma"})
    asked = "ecmp@now,ecmp:transport.kind=uet@UET,ecmp:transport.recovery=irn@IRN,ecmp:transport.queue_pairs=4@QPs"
    who = find(
        spec,
        may_list(None),
        f"{asked},drill:transport.recovery=irn@drill IRN,ecmp:transport.kind=dctcp@TCP"
        ",oblivious:transport.kind=uet:switch.trim=false@untrimmed",
    )
    assert who.today == "now"
    assert {one.label: one.level for one in who.candidates} == {
        "now": "as it is", "UET": "switches", "IRN": "hosts", "QPs": "configuration", "drill IRN": "switches",
        "TCP": "hosts", "untrimmed": "hosts",
    }  # fmt: skip
    about = {one.label: one.about for one in who.candidates}
    assert about["UET"] == f"{about['now']}; with transport.kind = uet"
    untried = find(spec, may_list("hosts"), f"{asked},plb").not_tried
    assert {one.scheme: one.because for one in untried} == {
        "UET": "it changes switches, and --may allows hosts",
        "QPs": "it changes configuration, and --may allows hosts",
        "IRN": "it changes PFC, which switches are configured with, and --may allows hosts",
    }


@pytest.mark.usefixtures("unsaid")
def test_a_scheme_that_does_not_say_what_it_needs_may_run_today() -> None:
    """It costs nothing to keep."""
    who = find(small(scheme={"name": "drill"}), may_list(None))
    assert who.candidates[0].label == "drill"
    assert who.candidates[0].level == "as it is"


def test_another_parameter_of_what_runs_today_is_configuration() -> None:
    """It counted as what runs today."""
    who = find(small(scheme={"name": "letflow"}), may_list(None), "letflow:flowlet_gap_us=70@short,letflow@now")
    assert {one.label: one.level for one in who.candidates} == {"now": "as it is", "short": "configuration"}


class Rotor(sw.SwitchScheme):
    """Each packet on the next uplink."""

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        return int(cx.now // 1000) % len(cx.view.candidates)


def test_a_class_takes_part_as_in_compare() -> None:
    """It was refused, although the documentation said that it is taken."""
    spec = small(traffic=[{"name": "swap", "kind": "permutation", "size_bytes": 20_000}])
    found = sw.advise(spec, schemes=["ecmp", Rotor, "Rotor@twin"], budget_s=20, band="20%")
    assert {(one.scheme, one.level) for one in found.entrants} == {("ecmp", "as it is"), ("Rotor", "switches")}
    assert [one.label for one in found.entrants if one.scheme == "Rotor"] == ["Rotor", "twin"]


def test_a_class_takes_part_whether_it_is_named_or_not() -> None:
    """At the command line the classes are those of --scheme-file."""
    labels = [one.label for one in find(small(), may_list(None), "ecmp,drill", [Rotor]).candidates]
    assert labels == ["ecmp", "drill", "Rotor"]
    labels = [one.label for one in find(small(), may_list(None), "ecmp,Rotor@mine,drill", [Rotor]).candidates]
    assert labels == ["ecmp", "mine", "drill"]
    all_of_them = [one.label for one in find(small(), may_list(None)).candidates]
    assert [one.label for one in find(small(), may_list(None), None, [Rotor]).candidates] == [*all_of_them, "Rotor"]
    with pytest.raises(sw.SpecError, match="it changes switches, and --may allows hosts"):
        find(small(), may_list("hosts"), "ecmp", [Rotor])


def test_the_command_takes_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, spec = tmp_path / "mine.py", tmp_path / "small.toml"
    mine.write_text(
        "import spinewise as sw\n\nclass Mine(sw.SwitchScheme):\n    def pick(self, *_):\n        return 0\n"
    )
    spec.write_text(
        "[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n"
        '[[traffic]]\nkind = "permutation"\nsize_bytes = 20_000\n'
    )
    words = ["advise", str(spec), "--schemes", "ecmp", "--scheme-file", str(mine), "--budget", "20s", "--band", "20%"]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["scheme"] for one in found["entrants"]} == {"ecmp", "Mine"}


def test_a_file_that_stands_for_several_entries_is_no_other_entry(tmp_path: Path) -> None:
    """Loads were looked up by the places of the entries that are run: an IndexError, after the pilot."""
    file = tmp_path / "flow.txt"
    file.write_text("2\n0 2 2 100 1000 0.000001\n1 3 3 100 1000 0.000002\n")
    listed = {"kind": "flows", "file": str(file), "format": "hpcc"}
    spec = small(traffic=[listed, {"kind": "poisson", "cdf": "web_search", "load": 0.4, "max_flows": 9}])
    resolved = sw.resolve(spec)
    assert len(resolved["traffic"]) == 3
    found = {case.name: case for case in stress.cases(spec, resolved)}
    more = found["load +25 %"].spec
    assert more is not None, found["load +25 %"].because
    assert more["traffic"][0] == listed
    assert more["traffic"][1]["load"] == pytest.approx(0.5)


def test_one_of_parallel_links_of_a_graph_breaks() -> None:
    """Both did, where one was said."""
    twins = [[leaf, spine, 10, 1000] for leaf in (4, 5) for spine in (6, 7)] * 2
    links = [[0, 4, 10, 1000], [1, 4, 10, 1000], [2, 5, 10, 1000], [3, 5, 10, 1000], *twins]
    spec = small(topology={"kind": "links", "hosts": 4, "switches": 4, "links": links})
    found = {case.name: case.spec for case in stress.cases(spec, sw.resolve(spec))}
    for name in ("link down", "slow link"):
        made = found[name]
        assert made is not None
        assert made["fault"][0]["link"] in (0, 1)
        assert len(core.topology(sw.resolve(made))["faults"][0]["links"]) == 2, "both directions of one cable"


def test_gear_has_its_sources() -> None:
    """Every step has a source, every scheme in gear.toml is one; a scheme without a product has no step."""
    assert set(gear().scheme) <= set(sheets())
    assert all(step.source and step.do for step in gear().step.values())
    used = {name for names in (*gear().scheme.values(), *gear().transport.values()) for name in names}
    assert used == set(gear().step)
    assert steps("selb", "tcp") == ()
    assert {step.over for step in steps("plb", "tcp")} == {"tcp"}
    assert steps("plb", "rdma") == (), "Linux has it in its TCP alone"
    assert [step.gear for step in steps("ecmp", "rdma")][-1] == "NCCL over RoCE"


def test_what_is_tuned_is_there() -> None:
    """Every knob is a parameter of its scheme, and every value one that it takes and no default."""
    known = {info.name: info for info in sw.schemes()}
    who = find(small(), may_list(None))
    made = [one for candidate in who.candidates for one in variants(candidate)]
    assert {one.variant.name for one in made} == set(KNOBS) & {one.variant.name for one in who.candidates}
    for one in made:
        key, value = one.variant.settings[-1]
        assert known[one.variant.name].defaults[key] != value
        sw.resolve(one.variant.apply(small()))
        assert variants(one) == []


def test_what_does_not_fit_is_named() -> None:
    """The engine's own reason stands beside each scheme that is not tried."""
    who = find(small(), may_list("hosts"))
    reasons = {one.scheme: one.because for one in who.not_tried}
    assert "fat_tree" in reasons["lbsp"]
    assert reasons["wcmp"] == "it changes configuration, and --may allows hosts"
    assert {one.level for one in who.candidates if not one.oracle} == {"as it is", "hosts"}


@pytest.mark.parametrize(
    ("asked", "key", "hint"),
    [
        ("rps,elab:foo=3", "scheme.params.foo", 'did you mean "floor"? (in scheme elab foo=3)'),
        ("rps,elab:alpha=x", "scheme.params.alpha", "in scheme elab alpha=x"),
        ("rps,elabb", "--schemes", 'did you mean "elab"?'),
        ("rps,rps:transport.nope=3@b", "transport.nope", "in scheme b"),
    ],
)
def test_what_is_named_and_wrong_is_refused(asked: str, key: str, hint: str) -> None:
    """A misspelt parameter left its scheme out, and the exit code was 0; `compare` refuses it."""
    with pytest.raises(sw.SpecError) as error:
        sw.advise(small(), schemes=asked, budget_s=2)
    assert (error.value.key, error.value.hint) == (key, hint)


def test_what_is_named_and_does_not_fit_is_not_tried() -> None:
    who = find(small(), may_list(None), "rps,lbsp")
    assert [one.scheme for one in who.not_tried] == ["lbsp"]
    assert "fat_tree" in who.not_tried[0].because


def test_the_scheme_of_the_spec_runs_today() -> None:
    """It costs nothing to keep, whatever it is."""
    who = find(small(scheme={"name": "conga", "params": {"flowlet_gap_us": 50}}), may_list("hosts"))
    assert who.today == "conga"
    assert who.candidates[0].level == "as it is"
    assert "ecmp" not in [one.label for one in who.candidates]


def test_regret_by_hand() -> None:
    """The best has none; the other's is the ratio of geometric means."""
    best, other = stress.regrets({"a": [2.0, 8.0], "b": [1.0, 4.0]})
    assert (best.scheme, best.mean) == ("b", 0.0)
    assert (other.scheme, other.seeds) == ("a", 2)
    assert other.mean == pytest.approx(1.0)
    assert other.low == pytest.approx(1.0)


def test_cases_change_what_they_say() -> None:
    """Each case is the spec with one thing other; what does not apply says why."""
    spec = small(fault=[{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 100, "until_us": 200}])
    resolved = sw.resolve(spec)
    found = {case.name: case for case in stress.cases(spec, resolved)}
    changed = {name: case.spec for name, case in found.items()}
    assert_load(changed["load +25 %"], 0.625)
    assert_load(changed["load -25 %"], 0.375)
    assert table(changed["link down"], "topology")["override"] == [{"leaf": 1, "spine": 1, "up": False}]
    assert table(changed["slow link"], "topology")["override"] == [{"leaf": 1, "spine": 1, "rate_gbps": 2.5}]
    one = find(spec, may_list(None)).candidates[0].variant
    halved, recovering = (found[name].variant(one).apply(spec) for name in ("half buffers", "other recovery"))
    assert halved["switch"]["buffer_bytes"] == int(resolved["switch"]["buffer_bytes"]) // 2
    assert recovering["transport"]["recovery"] == "newreno"
    assert (changed["incast"] or {})["traffic"][1]["kind"] == "incast"
    assert "fault" not in (changed["repaired"] or {"fault": 0})
    assert spec["traffic"] == [WEB]
    assert "override" not in spec["topology"]
    assert found["another hash"].variant(one).apply(spec)["scheme"]["hash_salt"] == stress.SALT
    none = small(
        traffic=[{"kind": "permutation", "size_bytes": 1000}], topology={"leaves": 2, "spines": 1, "hosts_per_leaf": 1}
    )
    because = {case.name: case.because for case in stress.cases(none, sw.resolve(none))}
    assert because["load +25 %"] == "no traffic entry has a load"
    assert because["link down"] == "no leaf has two whole links up"
    assert because["incast"] == "an incast needs three hosts"
    assert found["incast"].words == "an added incast of 3 hosts"
    whole = {case.name: case.words for case in stress.cases(none, sw.resolve(none))}
    assert (found["link down"].words, whole["link down"]) == ("another link of a leaf down", "a link of a leaf down")
    assert whole["slow link"] == "a link of a leaf at a quarter of its rate"
    twins = small(topology={"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "parallel_links": 3})
    alone = next(case.spec for case in stress.cases(twins, sw.resolve(twins)) if case.name == "link down")
    assert table(alone, "topology")["override"] == [{"leaf": 1, "spine": 1, "link": 2, "up": False}]
    assert because["repaired"] == "nothing is broken or slow in the spec"


@pytest.mark.parametrize(
    ("switch", "own", "other", "because"),
    [
        ({"model": "output_queued"}, {}, "sleek", None),
        ({"model": "trimming"}, {"recovery": "sleek"}, "timeout", None),
        ({"model": "trimming"}, {}, None, "trimmed packets report losses; sleek is for switches that do not trim"),
        (
            {"model": "output_queued"},
            {"congestion_control": "none", "receiver_credit": True},
            None,
            "the engine then refuses transport.",
        ),
    ],
    ids=["without trimming", "sleek", "trimming", "no window"],
)
def test_ultra_ethernet_has_another_loss_recovery(
    switch: dict[str, Any], own: dict[str, Any], other: str | None, because: str | None
) -> None:
    """Every advice said that transport uet has no other."""
    spec = small(switch=switch, transport={"kind": "uet"} | own)
    (found,) = [case for case in stress.cases(spec, sw.resolve(spec)) if case.name == "other recovery"]
    assert (found.because or "").startswith(because or "")
    assert (found.spec is None) == (other is None)
    if found.spec is not None:
        changed = found.variant(parse("ecmp")).apply(found.spec)
        assert changed["transport"].get("recovery") == other
        sw.validate(changed)


def test_cases_change_what_a_variant_runs_over() -> None:
    """Half of RDMA's shared buffer was given to each port of Ultra Ethernet's switches."""
    spec = small(transport={"kind": "rdma"}, switch={"buffer_bytes": 4_000_000})
    found = {case.name: case for case in stress.cases(spec, sw.resolve(spec))}
    today, other = parse("ecmp"), parse("reps:transport.kind=uet")
    assert found["half buffers"].variant(today).settings == (("switch.buffer_bytes", 2_000_000),)
    own = int(sw.resolve(other.apply(spec))["switch"]["buffer_bytes"])
    assert own < 400_000
    assert sw.resolve(found["half buffers"].variant(other).apply(spec))["switch"]["buffer_bytes"] == own // 2
    assert found["other recovery"].variant(today).settings == (("transport.recovery", "irn"),)
    assert found["other recovery"].variant(other) == other


def assert_load(spec: Mapping[str, Any] | None, load: float) -> None:
    """The load of the first entry."""
    assert spec is not None
    assert spec["traffic"][0]["load"] == load


def table(spec: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    """A table of a spec."""
    assert spec is not None
    found: Mapping[str, Any] = spec[name]
    return found


def test_effects_by_hand() -> None:
    """On others than the aim's: ratio of geometric means, and an interval over seeds."""

    def seen(*p99: float) -> Observed:
        spreads = [Spread(p, p, p, p, p, p) for p in p99]
        sizes = zip(("all", "short", "long"), spreads, strict=False)
        return Observed([Flows("web", name, 10, 0, spread, spread) for name, spread in sizes], [])

    mine = [seen(3.0, 1.0, 2.0), seen(3.0, 1.0, 4.0), seen(3.0, 1.0, 8.0**0.5)]
    today = [seen(9.0, 2.0, 2.0)] * 3
    short, long = effects([Aim("p99", "slowdown", "web")], mine, today)
    assert short.text == "p99 slowdown of short flows of web"
    assert (short.mine, short.today, short.mean) == pytest.approx((1.0, 2.0, -0.5))
    assert (short.low, short.high, short.seeds) == pytest.approx((-0.5, -0.5, 3))
    assert long.mean == pytest.approx(2.0**0.5 - 1.0)
    assert long.low < 0.0 < long.high
    assert effects([], [], []) == []
    assert effects([Aim("p99", "slowdown", "web")], mine[:2], today[:2]) == [], "two may be alike by chance"


def test_facts_have_names_of_their_own() -> None:
    """A claim is found again by the name of its fact."""
    names = [fact.name for fact in facts("web")]
    assert len(names) == len(set(names))


def test_several_aims_give_a_front() -> None:
    """Both numbers of each scheme are there, and the front is among what was tried."""
    found = sw.advise(
        small(), aims=["mean slowdown of web", "p99 FCT of short flows of web"], schemes="ecmp,rps,drill", budget_s=4
    )
    assert [aim.text for aim in found.aims] == ["mean slowdown of web", "p99 FCT of short flows of web"]
    assert set(found.front) <= {one.label for one in found.entrants}
    assert found.front
    assert all(len(sample.values) == 2 for sample in found.entrant("rps").samples)
    assert "Trade-offs" in dict(show.sections(found))


def test_values_are_those_of_the_runs() -> None:
    """The numbers that a race is run on are those of `spinewise.run`."""
    found = sw.advise(small(), aims="mean slowdown of web", schemes="ecmp,rps", budget_s=3)
    sample = found.entrant("rps").samples[1]
    result = sw.run(small(scheme={"name": "rps"}, seed=sample.seed))
    assert sample.values[0] == pytest.approx(result.summary().of("all", "web").slowdown.mean)
    logs = [np.log([one.values[0] for one in found.entrant(label).samples]) for label in ("rps", "ecmp")]
    n = min(map(len, logs))
    share = next(one for one in found.levels if one.level == "configuration").than_today
    if share:
        assert share[0].mean == pytest.approx(float(np.expm1((logs[0][:n] - logs[1][:n]).mean())))
