"""Arguments are refused as specs are: option, value, what is allowed, the nearest word; and as JSON with --json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spinewise.cli import main
from spinewise.cli.parser import build_parser
from spinewise.errors import SpecError
from spinewise.specs.spec import load

WRONG = {
    "below": (["run", "x.toml", "--seed", "-1"], "--seed", "-1", "0 to 18446744073709551615"),
    "above": (["run", "x.toml", "--seed", str(2**64)], "--seed", str(2**64), "0 to 18446744073709551615"),
    "endless": (["run", "x.toml", "--seed", "9" * 5000], "--seed", "999", "0 to 18446744073709551615"),
    "other digits": (["run", "x.toml", "--seed", "²"], "--seed", "²", "a whole number"),
    "a list": (["compare", "x.toml", "--loads", "0.3,x"], "--loads", "x", "above 0, at most 2"),
    "negative": (["compare", "x.toml", "--loads", "-1"], "--loads", "-1", "above 0, at most 2"),
    "not finite": (["compare", "x.toml", "--loads", "nan"], "--loads", "nan", "above 0, at most 2"),
    "no seeds": (["compare", "x.toml", "--seeds", "0"], "--seeds", "0", "1 to 10000"),
    "no jobs": (["compare", "x.toml", "--jobs", "0"], "--jobs", "0", "1 to 1024"),
    "no share": (["bench", "--share", "0"], "--share", "0", "above 0, at most 100"),
    "a moment": (["explain", "x", "--flow", "1", "--from", "-1"], "--from", "-1", "0 to 1e+12"),
    "a negative time": (["advise", "x.toml", "--budget", "-5s"], "--budget", "-5s", "a time with its unit"),
    "no name": (["run", "x.toml", "--out", ""], "--out", '""', "1 to 255 characters"),
    "a blank name": (["export", "x", "--fct", " "], "--fct", "", "1 to 255 characters"),
    "no value": (["run", "x.toml", "--seed"], "--seed", "(nothing)", "seed to use instead of the spec's"),
    "a value too many": (["run", "x.toml", "--force=yes"], "--force", "yes", "takes none"),
    "a word too many": (["run", "x.toml", "y.toml"], "(arguments)", "y.toml", "SPEC.toml"),
    "a word too few": (["run"], "SPEC.toml", "(nothing)", "what to simulate"),
    "an option too few": (["report", "x"], "--out", "(nothing)", "write the page into this file"),
    "none of several": (["export", "x"], "--fct, --pcapng, --perfetto, --graphml", "(nothing)", "each with a FILE"),
    "two that exclude": (["reproduce", "x", "--quick", "--whole"], "--whole", "--quick", "one of the two"),
    "an option twice": (["run", "x.toml", "--seed", "1", "--seed=2"], "--seed", "1 and then 2", "give this once"),
    "schemes twice": (
        ["compare", "x.toml", "--schemes", "ecmp,letflow", "--schemes", "conga"],
        "--schemes",
        "ecmp,letflow and then conga",
        "give this once",
    ),
    "a list twice": (["compare", "x.toml", "--loads", "0.3,0.5", "--loads", "0.6"], "--loads", "0.3,0.5 and", "once"),
    "an option of lab twice": (
        ["lab", "plan", "x.toml", "--name", "a", "--name", "b"],
        "--name",
        "a and then b",
        "once",
    ),
    "a key twice": (
        ["run", "x.toml", "--set", "traffic[0].load=0.3", "--set", "traffic.0.load = 0.5"],
        "--set traffic.0.load",
        "0.3 and then 0.5",
        "give this once",
    ),
    "no command": ([], "COMMAND", "(nothing)", "validate"),
    "no kind": (["import"], "WHAT", "(nothing)", "topology"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("as_json", [False, True])
def test_arguments_are_refused_in_one_style(case: str, as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """They filled the screen with lines of usage, and were no JSON."""
    words, key, value, allowed = WRONG[case]
    assert main([*words, *(["--json"] if as_json else [])]) == 2
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert lines[0] == "spinewise: bad input"
    assert lines[1] == f"  key      {key}"
    assert lines[2].startswith("  value    ")
    assert value in lines[2]
    assert lines[3].startswith("  allowed  ")
    assert allowed in lines[3]
    assert len(lines) <= 5
    if as_json:
        error = json.loads(captured.out)["error"]
        assert error["key"] == key
        assert value in error["value"]
        assert allowed in error["allowed"]
    else:
        assert captured.out == ""


@pytest.mark.parametrize(
    ("words", "key", "nearest"),
    [
        (["rnu"], "COMMAND", "run"),
        (["import", "cfd"], "WHAT", "cdf"),
        (["run", "x.toml", "--sede", "4"], "--sede", "--seed"),
        (["compare", "x.toml", "--scheme=ecmp"], "--scheme", "--schemes"),
        (["validate-against", "--salt", "4"], "--salt", "--salts"),
        (["new", "x", "--hosts", "32"], "--hosts", "--hosts-per-leaf"),
    ],
)
def test_the_nearest_word_is_told(words: list[str], key: str, nearest: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert f"  key      {key}\n" in err
    assert f'did you mean "{nearest}"?' in err


def test_options_that_other_commands_have_are_keys_of_the_spec(capsys: pytest.CaptureFixture[str]) -> None:
    """The hint was an option that takes a file of Python."""
    assert main(["run", "x.toml", "--scheme", "reps"]) == 2
    assert "hint     --set scheme.name=NAME sets that key of the spec" in capsys.readouterr().err


def test_options_that_add_up_are_given_as_often_as_needed() -> None:
    words = ["advise", "x.toml", "--aim", "p99 slowdown", "--aim", "p50 slowdown", "--json", "--json"]
    args = build_parser().parse([*words, "--set", "seed=1", "--set", "name=a"])
    assert (args.aim, args.set) == (["p99 slowdown", "p50 slowdown"], ["seed=1", "name=a"])


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"]])
def test_what_was_asked_for_is_no_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    captured = capsys.readouterr()
    assert "spinewise" in captured.out
    assert captured.err == ""


@pytest.mark.parametrize("text", ["ecmp@", "ecmp,rps@ ", "ecmp@a\tb", f"ecmp@{'x' * 61}"])
def test_labels_are_words(tiny: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty one was taken for none."""
    assert main(["compare", str(tiny), "--schemes", text]) == 2
    assert "1 to 60 printable characters" in capsys.readouterr().err


def test_a_case_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """An empty table was printed."""
    assert main(["bench", "--only", "zzz", "--rounds", "1", "--share", "0.001"]) == 2
    assert "--only" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["run", "demo", "--set", "scheme.name=dlb"], "ars"),
        (["compare", "demo", "--schemes", "ecmp,DLB"], "ars"),
        (["schemes", "dlb"], "ars"),
        (["run", "demo", "--set", "transport.kind=RoCE"], "rdma"),
        (["transports", "rocev2"], "rdma"),
        (["new", "--transport", "roce"], "rdma"),
    ],
)
def test_names_that_things_have_elsewhere_are_known(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The nearest spelling of DLB is PDLB, which is something else."""
    assert main(words) == 2
    assert f'did you mean "{meant}"?' in capsys.readouterr().err


def test_results_given_for_a_spec_are_shown_by_report(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal said that a folder is a folder."""
    results, study = str(tmp_path / "results"), tmp_path / "study.toml"
    study.write_text("[study]\n")
    stored, compared = tmp_path / "store", str(tmp_path / "compared")
    assert main(["run", str(tiny), "--out", results]) == 0
    assert (
        main(["compare", str(tiny), "--schemes", "ecmp,rps", "--seeds", "1", "--store", str(stored), "--out", compared])
        == 0
    )
    capsys.readouterr()
    for words, told in (
        (["run", results], f"results of `spinewise run`: `spinewise report {results} --out"),
        (["compare", results, results], "`spinewise report FOLDER… --out FILE.html`"),
        (["plot", str(stored)], f"`spinewise report STUDY.toml --store {stored} --out FILE.html`"),
        (["explain", compared], "`spinewise compare --keep-runs` keeps the folders"),
        (["plot", str(study)], f"`spinewise report {study} --out FILE.html`"),
    ):
        assert main(words) == 2
        assert told in capsys.readouterr().err
    with pytest.raises(SpecError, match=r"`spinewise\.read` reads"):
        load(results)
