"""Every example of the documentation runs, every command in it is one, and no link is dead."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import spinewise
from pages import PAGES, ROOT, Block, anchors, blocks, links
from samples import TINY_TOML
from spinewise.cli import main
from spinewise.cli.parser import build_parser
from spinewise.errors import SpecError
from spinewise.scenarios import FOLDER as SCENARIOS
from spinewise.shapes import Spec
from spinewise.specs.spec import resolve, set_path

RUN = sorted([ROOT / "docs" / "tutorial.md", *(ROOT / "docs" / "how-to").glob("*.md")])
MARKED = [page for page in PAGES if page not in RUN and any(block.changed for block in blocks(page))]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
SHOWN = ("console", "text", "", "rust", "{toctree}", "{eval-rst}", "{grid}", "json", "sql", "make", "cpp")
"""Blocks that are shown and not run."""


def called(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where `spinewise` is that of this checkout."""
    folder = tmp_path_factory.mktemp("bin")
    package = Path(spinewise.__file__).parents[1]
    command = folder / "spinewise"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{package}" exec "{sys.executable}" -m spinewise "$@"\n')
    command.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "MPLBACKEND": "agg"}


def in_tests(block: Block) -> str:
    """The text of a block as tests run it."""
    text = block.text
    for change in filter(None, block.changed.split("; ")):
        old, _, new = change.partition(" => ")
        assert old in text, f"line {block.line}: {old!r} is to be replaced, and is not there"
        text = text.replace(old, new)
    return text


def perform(block: Block, environment: dict[str, str], names: dict[str, Any], page: str) -> None:
    """Write or run one block in the folder that is the current one."""
    text = in_tests(block)
    first = text.partition("\n")[0]
    if first.startswith("# ") and first.endswith((".toml", ".py")):
        Path(first.removeprefix("# ")).write_text(text.partition("\n")[2])
    elif block.language == "bash":
        command = ["bash", "-euo", "pipefail", "-c", text]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{page}:{block.line}\n{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    else:
        assert block.language == "python", f"{page}:{block.line}: a block of TOML begins with the name of its file"
        exec(compile(text, f"{page}:{block.line}", "exec"), names)


@pytest.mark.parametrize("page", RUN, ids=called)
def test_every_example_of_a_page_runs(
    page: Path, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    found = [block for block in blocks(page) if block.language in ("bash", "toml", "python")]
    assert found, "a page without an example"
    for block in found:
        perform(block, environment, names, called(page))


STUDY = """
[study]
name = "timeouts"
spec = "small.toml"
metrics = ["fct_s.mean"]
[grid]
schemes = ["ecmp"]
[stop]
until_ci = "90%"
max_seeds = 5
"""


@pytest.mark.parametrize("page", MARKED, ids=called)
def test_marked_examples_of_other_pages_run(
    page: Path, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(TINY_TOML)
    Path("study.toml").write_text(STUDY)
    names: dict[str, Any] = {}
    for block in blocks(page):
        if block.changed:
            perform(block, environment, names, called(page))


@pytest.mark.parametrize("page", PAGES, ids=called)
def test_what_is_shown_can_be_read(page: Path) -> None:
    for block in blocks(page):
        if block.language == "python":
            compile(block.text, f"{called(page)}:{block.line}", "exec")
        elif block.language == "toml":
            assert tomllib.loads(block.text)


@pytest.mark.parametrize("page", RUN, ids=called)
def test_every_block_is_either_run_or_of_a_kind_that_is_shown(page: Path) -> None:
    kinds = {block.language for block in blocks(page)}
    assert kinds <= {"bash", "toml", "python", *SHOWN}


def commands(page: Path) -> list[tuple[int, str]]:
    """Commands that a page shows after a prompt, those that go over several lines put together, with their lines."""
    found = []
    for block in blocks(page):
        text = block.text.replace("\\\n", " ")
        if block.language == "console":
            found += [(block.line, line[2:]) for line in text.splitlines() if line.startswith("$ spinewise ")]
    return found


@pytest.mark.parametrize("page", PAGES, ids=called)
def test_every_command_that_is_shown_is_one(page: Path) -> None:
    for line, text in commands(page):
        words = shlex.split(text.replace("…", "").split(" | ")[0], comments=True)[1:]
        words = words[: next((place for place, word in enumerate(words) if word in (">", ">>")), len(words))]
        if words and "--version" not in words:
            args = build_parser().parse(words)
            spec = getattr(args, "spec", None)
            if spec and spec.startswith("scenarios/"):
                assert (SCENARIOS / Path(spec).name).is_file(), f"{called(page)}:{line}: {text}"


REFUSAL = re.compile(r"bad input.*\n  key +(.+)\n  value +(.+)\n  allowed +(.+)\n  hint +(.+)")


def refusals() -> list[tuple[Path, re.Match[str]]]:
    return [(page, found) for page in PAGES for block in blocks(page) for found in REFUSAL.finditer(block.text)]


def test_mistakes_are_shown_as_they_are_refused() -> None:
    shown = refusals()
    assert {page.name for page, _ in shown} >= {"README.md", "tutorial.md", "editor.md"}
    for page, refusal in shown:
        key, value, allowed, hint = refusal.groups()
        spec: Spec = {"traffic": [{"kind": "permutation", "size_bytes": 1000}]}
        set_path(spec, key.removeprefix("--set "), json.loads(value))
        with pytest.raises(SpecError) as caught:
            resolve(spec)
        assert caught.value.key == key.removeprefix("--set "), called(page)
        assert caught.value.allowed.startswith(allowed.removesuffix("…")), called(page)
        assert (allowed.endswith("…"), caught.value.hint) == (caught.value.allowed != allowed, hint), called(page)


@cache
def anchors_of(page: Path) -> set[str]:
    return anchors(page)


@pytest.mark.parametrize("page", PAGES, ids=called)
def test_no_link_is_dead(page: Path) -> None:
    for link in links(page):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{called(page)}: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), f"{called(page)}: {link}; there are {sorted(anchors_of(target))[:40]}"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(notebook.read_text())
    cells = ["".join(cell["source"]) for cell in found["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 3
    assert not any(cell.get("outputs") for cell in found["cells"]), "notebooks are kept without output"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, Any] = {}
    for number, text in enumerate(cells):
        exec(compile(text, f"{notebook.name}[{number}]", "exec"), names)


def test_blocks_links_and_anchors_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `word` & two\n\n## Twice\n\n## Twice\n\n[a](b.md#c) `[no](link)`\n\n"
        "<!-- in tests: 5 => 1 -->\n```bash\necho 5\n[no](link)\n```\n"
    )
    assert anchors(page) == {"one-word--two", "twice", "twice-1"}
    assert links(page) == ["b.md#c"]
    (block,) = blocks(page)
    assert (block.language, block.line, in_tests(block)) == ("bash", 10, "echo 1\n[no](link)\n")


def test_every_public_name_is_in_the_reference_of_python() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    told = {line.partition("spinewise.")[2].strip() for line in page.splitlines() if line.startswith(".. auto")}
    assert {name for name in told if "." not in name} == set(spinewise.__all__)
    # What public names give, which nobody makes by name.
    given = {"Conducted", "ClassSummary", "Distribution", "Collectives", "Job", "StoreWarning"}
    assert {name.rpartition(".")[2] for name in told if "." in name} >= given


def test_what_is_shown_of_a_fault_is_what_the_command_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page showed the flows of another spec."""
    page = ROOT / "docs" / "how-to" / "faults.md"
    texts = {kind: [block.text for block in blocks(page) if block.language == kind] for kind in ("toml", "console")}
    (spec,) = (text for text in texts["toml"] if "# broken.toml" in text)
    (shown,) = (text for text in texts["console"] if "explain broken --hurt" in text)
    monkeypatch.chdir(tmp_path)
    Path("broken.toml").write_text(spec)
    assert main(["run", "broken.toml", "--out", "broken"]) == 0
    capsys.readouterr()
    assert main(["explain", "broken", "--hurt"]) == 0
    assert " ".join(shown.partition("…")[2].split()) in " ".join(capsys.readouterr().out.split())


def test_placement_decides_on_the_rails_as_their_page_says() -> None:
    page = ROOT / "docs" / "how-to" / "training.md"
    (text,) = (block.text for block in blocks(page) if block.language == "toml")

    def seconds(scheme: str, order: str) -> float:
        spec = tomllib.loads(text)
        spec["traffic"][0]["order"] = order
        (gradients,) = (job for job in spinewise.run(spec, scheme=scheme).rounds.jobs if job.name == "gradients")
        return gradients.total_s

    in_order, anywhere = ({name: seconds(name, order) for name in ("ecmp", "reps")} for order in ("given", "random"))
    assert in_order["ecmp"] < 1.01 * in_order["reps"]
    assert anywhere["ecmp"] > 1.5 * anywhere["reps"]


def test_the_site_is_built_without_a_warning(tmp_path: Path, environment: dict[str, str]) -> None:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-c",
        "docs",
        ".",
        str(tmp_path),
    ]
    path = {"PYTHONPATH": str(Path(spinewise.__file__).parents[1])}
    done = subprocess.run(command, cwd=ROOT, env=environment | path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Tutorial" in (tmp_path / "docs" / "index.html").read_text()
    assert "spinewise.run" in (tmp_path / "docs" / "api.html").read_text()
    assert "docs/index.html" in (tmp_path / "index.html").read_text()


@pytest.mark.parametrize("script", ["examples/newcomer.sh", "tests/wheel.sh"])
def test_scripts_call_commands_that_there_are(script: str) -> None:
    text = (ROOT / script).read_text().replace("\\\n", " ")
    subprocess.run(["bash", "-n", str(ROOT / script)], check=True)
    calls = re.findall(r'^ *"?\$?spinewise"? +([a-z].*?)(?: [|>].*)?$', text, re.MULTILINE)
    assert len(calls) >= 5
    for call in calls:
        build_parser().parse(shlex.split(call))
