"""Several experiments as one sweep: what a name stands for, shared runs, what is missing, what a kill leaves."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import sample_papers
import spinewise
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.reproduction import ahead, choice, reasons, reproduce, suite
from spinewise.reproduction.experiment import Effort, Status
from spinewise.reproduction.files import lacking_briefly
from spinewise.reproduction.provenance import Provenance, spans
from spinewise.sweeps import store
from spinewise.sweeps.local import Local
from spinewise.sweeps.sweep import Swept, sweep

HERE = Path(__file__).parent


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return sample_papers.written(tmp_path / "papers")


# ---- what a name stands for ----


TESTED = '[[tested]]\nclaims = ["C9-01"]\nreason = "run length"\nexperiment = "tiny-1"\nreadings = ["longer"]\n'


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (TESTED.replace("longer", "long"), 'readings value long allowed a reading of C9-01 in tiny-1'),
        (TESTED.replace("tiny-1", "tiny-3"), "experiment value tiny-3 allowed an experiment"),
        (TESTED.replace("C9-01", "C9-04"), "claims value C9-04 allowed a claim that tiny-1 checks"),
    ],
)  # fmt: skip
def test_a_list_of_what_is_tested_that_names_no_check_is_refused_before_any_run(
    papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: str, said: str
) -> None:
    (papers / reasons.REASONS_FILE).write_text(wrong)
    words = ["--papers", str(papers), "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    assert main(["reproduce", "all", *words]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"key {said}" in told
    assert reasons.REASONS_FILE in told
    assert not (tmp_path / "out").exists()


def test_a_list_that_names_checks_is_taken(papers: Path) -> None:
    (papers / reasons.REASONS_FILE).write_text(TESTED)
    assert [one.id for one in choice.choose(papers, "all").experiments] == ["tiny-1", "tiny-2"]


def test_a_list_is_held_against_the_experiments_that_were_asked_for(papers: Path) -> None:
    (papers / reasons.REASONS_FILE).write_text(TESTED.replace("longer", "long"))
    assert choice.choose(papers, "tiny-2").alone
    with pytest.raises(SpecError, match="did you mean"):
        choice.choose(papers, "C9-01")


@pytest.mark.parametrize(
    ("name", "ids", "alone"),
    [
        ("all", ["tiny-1", "tiny-2"], False),
        ("tiny", ["tiny-1", "tiny-2"], False),
        ("tiny-2", ["tiny-2"], True),
        ("tiny-1b", ["tiny-1"], True),
        ("C9-01", ["tiny-1"], False),
        ("C9-03", ["tiny-1", "tiny-2"], False),
        ("C9-03b", ["tiny-1", "tiny-2"], False),
    ],
)
def test_a_name_stands_for_experiments(papers: Path, name: str, ids: list[str], alone: bool) -> None:
    found = choice.choose(papers, name)
    assert [entry.id for entry in found.listed] == [one.id for one in found.experiments] == ids
    assert found.alone is alone


@pytest.mark.parametrize(
    ("name", "hint"), [("C9-04", "C9-0"), ("tiny-3", "tiny-"), ("tny", "tiny"), ("read-only", None), ("", None)]
)
def test_a_name_that_stands_for_nothing_gets_the_nearest(papers: Path, name: str, hint: str | None) -> None:
    with pytest.raises(SpecError) as caught:
        choice.choose(papers, name)
    assert caught.value.value == name
    assert "a paper (tiny)" in caught.value.allowed
    assert (hint or "") in (caught.value.hint or "")


def test_a_claim_brings_itself_alone(papers: Path) -> None:
    found = choice.choose(papers, "C9-01")
    wanted = [claim.key for claim in found.experiments[0].claims if found.wants(claim)]
    assert wanted == ["C9-01, as printed", "C9-01, longer"]


# ---- one sweep ----


def test_runs_that_experiments_share_are_made_once(papers: Path) -> None:
    parts = suite.planned(choice.choose(papers, "all"), Effort.QUICK)
    tasks = [task for part in parts for task in part.tasks]
    assert (len(tasks), len({task.key for task in tasks})) == (48, 36)
    first, second = ({task.priority for task in part.tasks} for part in parts)
    assert max(first) < min(second), "the shorter experiment comes first"
    with store.opened(None) as ledger:
        swept = suite.run(parts, ledger, engine=Local(2))
        assert len(swept.made) == 36
        for done in suite.judged(parts, swept):
            assert {verdict.status for verdict in done.verdicts.values()} == {Status.HOLDS}
            assert len(done.verdicts) == 3
            assert done.provenance is not None
            assert (done.provenance.seeds, done.provenance.runs, done.provenance.lacking) == ((1, 2, 3), 24, 0)


def test_headline_forms_come_first_then_others_then_additions_and_short_before_long(papers: Path) -> None:
    short = replace(reproduce.listed(papers)[0], minutes=1.0)
    long, own = replace(short, minutes=90.0), replace(short, own=True)
    found = [
        suite.urgency(short, headline=True),
        suite.urgency(long, headline=True),
        suite.urgency(short, headline=False),
        suite.urgency(long, headline=False),
        suite.urgency(own, headline=True),
    ]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 5


def test_what_lacks_runs_is_judged_as_far_as_its_complete_forms_go(papers: Path) -> None:
    parts = suite.planned(choice.choose(papers, "tiny-1"), Effort.QUICK)
    (part,) = parts
    with store.opened(None) as ledger:
        some = [task for run, task in zip(part.runs, part.tasks, strict=True) if run.variant == "as printed"]
        sweep([*some, part.tasks[-1]], ledger, engine=Local(2))
        swept = Swept(ledger)
        done = suite.judged_part(part, swept)
    assert set(done.verdicts) == {"C9-01, as printed"}
    assert done.lacking == {"longer": 11}
    assert done.provenance is not None
    assert "13 runs of 24" in done.provenance.line


def test_a_failed_run_is_told_and_the_rest_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = sample_papers.written(tmp_path / "papers")
    text = (folder / "tiny" / "fig02.py").read_text()
    (folder / "tiny" / "fig02.py").write_text(text.replace("Run(name,", 'Run("broken" if long == 7000 else name,'))
    words = ["--papers", str(folder), "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"), "--quick"]
    assert main(["reproduce", "all", *words]) == 1
    said = capsys.readouterr().out
    assert "tiny-2 is not complete: 12 runs of longer" in said
    assert "failed: broken at x=0.3, seed 1, longer: ValueError: it is broken" in said
    report = (tmp_path / "out" / "report.md").read_text()
    assert "- tiny-2: 12 runs of longer" in report
    rows = {line.split(" | ")[0][2:]: line for line in report.splitlines() if line.startswith("| C9")}
    assert set(rows) == {"C9-01", "C9-02", "C9-03b"}
    assert "**direction: for; " in rows["C9-01"]
    # Its headline form is complete, and its other one is not.
    assert "**direction: for; " in rows["C9-02"]
    assert "also tiny-2, longer: awaiting runs" in rows["C9-02"]
    assert "**awaiting runs**" in rows["C9-03b"]
    assert "Failed: broken at x=0.3" in (tmp_path / "out" / "tiny-2" / "report.md").read_text()


# ---- before anything is run ----


def test_a_dry_run_says_what_would_be_run_and_makes_nothing(
    papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--papers", str(papers), "--quick", "--jobs", "2", "--store", "store"]
    assert main(["reproduce", "all", *words, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert [line.split() for line in said.splitlines() if line.startswith("  tiny")] == [
        ["tiny-1", "24", "0", "1.2"],  # 2 minutes for 40 runs at full effort
        ["tiny-2", "24", "0", "0.60"],
    ]
    assert "runs that several experiments share are made once" in said
    # Twelve runs are wanted by both.
    assert "all, effort quick: 36 runs, 0 of them stored; about 45s for 36, 2 at a time" in said
    assert [one.name for one in tmp_path.iterdir()] == ["papers"]
    assert main(["reproduce", "tiny-1", *words]) == 0
    capsys.readouterr()
    assert main(["reproduce", "all", *words, "--dry-run", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    # What tiny-2 reads off the runs that both want is not there yet.
    assert (record["name"], record["effort"], record["runs"], record["stored"]) == ("all", "quick", 36, 12)
    assert [(one["name"], one["stored"], one["seconds"] > 0.0) for one in record["experiments"]] == [
        ("tiny-1", 24, False), ("tiny-2", 0, True),
    ]  # fmt: skip
    assert main(["reproduce", "tiny-1", *words, "--dry-run"]) == 0
    assert "tiny-1, effort quick: 24 runs, 24 of them stored; nothing to run" in capsys.readouterr().out


def test_a_dry_run_without_minutes_tries_a_few(papers: Path) -> None:
    listed = papers / reproduce.PAPERS_FILE
    listed.write_text(listed.read_text().replace("minutes = 2\n", ""))
    parts = suite.planned(choice.choose(papers, "tiny-1"), Effort.QUICK)
    with store.opened(None) as ledger:
        _, together = ahead.ahead("tiny-1", parts, ledger)
    assert 0.0 < together.seconds < 24.0


def test_stored_without_runs_for_any_claim_is_brief_and_writes_nothing(
    papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["reproduce", "tiny", "--papers", str(papers), "--store", "store", "--quick"]
    assert main([*words, "--stored"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "tiny, effort quick: store has 0 of 36 runs, too few for any claim; nothing is written" in said
    assert "tiny-1: 12 runs of as printed; 12 runs of longer" in said
    assert main([*words, "--stored", "--json"]) == 3
    record = json.loads(capsys.readouterr().out)
    assert (record["provenance"]["lacking"], record["experiments"][0]["missing"][:7]) == (48, "12 runs")
    assert [one.name for one in tmp_path.iterdir()] == ["papers"]
    # A form that is complete can be judged, and has its report.
    (part,) = suite.planned(choice.choose(papers, "tiny-1"), Effort.QUICK)
    with store.opened(tmp_path / "store") as ledger:
        sweep([one for run, one in zip(part.runs, part.tasks, strict=True) if run.variant == "longer"], ledger)
    assert main([*words, "--stored", "--out", "out"]) == 3
    assert "tiny-1 is not complete: 12 runs of as printed" in capsys.readouterr().out
    assert (tmp_path / "out" / "tiny-1" / "report.md").is_file()


def test_what_is_stored_is_reported_beside_a_sweep_and_with_its_failures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The store had to be free, and failures of its runs were told as runs that nobody had made."""
    folder = sample_papers.written(tmp_path / "papers")
    text = (folder / "tiny" / "fig02.py").read_text()
    (folder / "tiny" / "fig02.py").write_text(text.replace("Run(name,", 'Run("broken" if long == 7000 else name,'))
    words = ["reproduce", "all", "--papers", str(folder), "--store", str(tmp_path / "store"), "--quick"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 1
    capsys.readouterr()
    with store.opened(tmp_path / "store"):
        assert main([*words, "--stored", "--out", str(tmp_path / "again")]) == 1
    assert "failed: broken at x=0.3, seed 1, longer: ValueError: it is broken" in capsys.readouterr().out
    report = (tmp_path / "again" / "report.md").read_text()
    assert "The same command with --force makes what is missing." in report
    assert report == (tmp_path / "out" / "report.md").read_text()


def test_of_many_forms_that_are_missing_a_few_are_named() -> None:
    counts = {f"form {n}": 5 for n in range(60)}
    assert lacking_briefly(counts) == "300 runs of 60 forms, such as 5 runs of form 0; 5 runs of form 1"


def test_the_list_has_claims_and_says_of_which_effort_its_minutes_are(
    papers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["reproduce", "list", "--papers", str(papers)]
    assert main([*words, "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["claims"], first["minutes"], first["effort"]) == (["C9-01", "C9-03"], 2.0, "full")
    for name in (*first["claims"], *second["claims"]):
        assert choice.choose(papers, name).listed
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "C9-01, C9-03" in said
    assert "core minutes are for full effort" in said


def test_an_experiment_that_cannot_be_loaded_is_listed(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (papers / "tiny" / "fig02.py").write_text("1 / 0")
    assert main(["reproduce", "list", "--papers", str(papers)]) == 0
    said = capsys.readouterr().out
    assert "C9-01, C9-03" in said
    assert "cannot be loaded" in said


def test_claims_that_are_counted_up_stand_as_a_range() -> None:
    names = ["C2-02", "C2-03", "C2-04", "C2-09", "C2-10", "own-cells"]
    assert choice.spans(names) == ["C2-02 to C2-04", "C2-09", "C2-10", "own-cells"]
    assert choice.spans([]) == []


# ---- what is written ----


def test_reports_say_effort_version_engine_seeds_and_day(
    papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["--papers", str(papers), "--store", str(tmp_path / "store"), "--out", str(out), "--quick"]
    assert main(["reproduce", "all", *words]) == 0
    day = time.strftime("%Y-%m-%d", time.gmtime())
    engine = spinewise.core.engine_digest()[:12]
    head = (
        f"quick: a direction, not for conclusions · version {spinewise.core.version()} · engine {engine} · seeds 1 to 3"
    )
    # Lines are broken where the terminal ends.
    assert head in " ".join(capsys.readouterr().out.split())
    for place, runs in ((out, 48), (out / "tiny-1", 24), (out / "tiny-2", 24)):
        assert f"effort: {head} · {runs} runs · run on {day}." in (place / "report.md").read_text()
    assert json.loads((out / "reproductions.json").read_text())["provenance"]["effort"] == "quick"
    assert (out / "tiny-2" / "tiny-2-as-printed.svg").is_file()
    assert main(["reproduce", "C9-02", *words]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["reproduce", "C9-02", *words, "--force"]) == 0
    report = (out / "report.md").read_text()
    assert report.count("| C9-02 | ") == 1
    assert "C9-01" not in report


def test_one_experiment_has_its_report_at_the_top(papers: Path, tmp_path: Path) -> None:
    words = ["--papers", str(papers), "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"), "--quick"]
    assert main(["reproduce", "tiny-1b", *words]) == 0
    assert {one.name for one in (tmp_path / "out").iterdir()} >= {"report.md", "reproduce.json", "tiny-1-longer.png"}


def test_seeds_are_told_as_ranges() -> None:
    assert spans([3, 1, 2, 7, 9, 10]) == "1 to 3, 7, 9 to 10"
    assert spans([]) == "none"


def test_provenance_of_several_is_that_of_all() -> None:
    parts = [
        Provenance(Effort.FULL, ("0.1.0",), "ab" * 32, (1, 2), ("2026-01-02",), 10),
        Provenance(Effort.FULL, ("0.1.0",), "ab" * 32, (2, 3), ("2026-01-01",), 5, 7),
    ]
    line = Provenance.together(parts).line
    assert line == "effort: full · version 0.1.0 · engine abababababab · seeds 1 to 3 · 15 runs of 22 · " + (
        "run on 2026-01-01 to 2026-01-02"
    )


def test_every_engine_of_several_is_named() -> None:
    """Only that of the first experiment was."""
    parts = [
        Provenance(Effort.FULL, (), "ab" * 32, (1,), (), 1, earlier=("ef" * 32,)),
        Provenance(Effort.FULL, (), "cd" * 32, (1,), (), 1, earlier=("ab" * 32,)),
    ]
    assert "engine abababababab, some forms efefefefefef, cdcdcdcdcdcd" in Provenance.together(parts).line


# ---- killed ----


def content(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def started(papers: Path, folder: Path) -> subprocess.Popen[str]:
    path = f"{Path(spinewise.__file__).parents[1]}:{HERE}"
    words = ["reproduce", "all", "--papers", str(papers), "--store", "store", "--out", "out", "--jobs", "1"]
    return subprocess.Popen(
        [sys.executable, "-m", "spinewise", *words], env={**os.environ, "PYTHONPATH": path}, cwd=folder,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def stored(place: Path) -> int:
    try:
        with store.reading(place) as ledger:
            return int(ledger.connection.execute("SELECT count(*) FROM runs").fetchone()[0])
    except SpecError:
        return 0


def test_killed_five_times_and_resumed_the_report_is_the_same_to_the_byte(papers: Path, tmp_path: Path) -> None:
    once, often = tmp_path / "once", tmp_path / "often"
    for place in (once, often):
        place.mkdir()
    process = started(papers, once)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    random, kills = Random("reproduce"), 0
    total = stored(once / "store")
    assert total == 60
    while kills < 5:
        before = stored(often / "store")
        process = started(papers, often)
        while process.poll() is None and stored(often / "store") < before + 1 + random.randint(0, 8):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += 1
    assert 0 < stored(often / "store") < total
    assert not (often / "out").exists()
    process = started(papers, often)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert content(often / "out") == content(once / "out")
    assert len(content(once / "out")) == 14


def test_one_that_is_interrupted_says_how_to_go_on(papers: Path, tmp_path: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = started(papers, tmp_path)
    while process.poll() is None and stored(tmp_path / "store") < 3:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "kept in store: the same command continues; --stored reports what is complete" in " ".join(err.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("PRAGMA user_version = 99", "written by a newer Spinewise"),
        ("PRAGMA application_id = 7", "another program"),
    ],
)
def test_a_store_of_others_is_refused_before_a_run(
    papers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str, said: str
) -> None:
    with store.opened(tmp_path / "store"):
        pass
    connection = sqlite3.connect(tmp_path / "store" / store.LEDGER)
    connection.execute(change)
    connection.commit()
    connection.close()
    words = ["--papers", str(papers), "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    assert main(["reproduce", "all", *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_own_papers_are_chosen_by_every_name_they_have() -> None:
    for entry in reproduce.listed(reproduce.OWN_PAPERS):
        for name in entry.names:
            assert entry in choice.choose(reproduce.OWN_PAPERS, name).listed
    assert len(choice.choose(reproduce.OWN_PAPERS, "C0-21").listed) == 2
