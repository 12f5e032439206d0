"""Pages of what came of the papers' claims: nothing in them but what the kept evidence says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import spinewise as sw
from spinewise.docs import prose, reproduced
from spinewise.errors import SpecError
from spinewise.reproduction import evidence
from spinewise.reproduction.evidence import HASH_BYTES, Kept, KeptRun
from spinewise.reproduction.experiment import Effort, Experiment
from spinewise.reproduction.forms import of_reading
from spinewise.reproduction.reproduce import OWN_PAPERS
from spinewise.specs.spec import resolve, spec_hash

ROOT = Path(__file__).resolve().parents[2]


def unchecked(book: reproduced.Book) -> list[str]:
    """Ids of the statements that nothing checks."""
    checked = {row.statement.id for row in book.rows}
    return [one.id for one in book.catalogue if one.id not in checked]


def awaiting(book: reproduced.Book) -> list[str]:
    """Ids of the statements without a verdict."""
    return [row.statement.id for row in book.rows if row.ruling is None] + unchecked(book)


COMPLETE = True
"""Whether every experiment has its evidence: then a claim without a verdict is an error, whatever it waits for."""


@pytest.fixture(scope="module")
def book() -> reproduced.Book:
    return reproduced.book(ROOT)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the pages are made in and from."""
    for name in ("docs", "python/spinewise/papers", "crates/policy/src"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "README.md", tmp_path)
    return tmp_path


def made(root: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spinewise.docs", "--root", str(root), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": str(Path(sw.__file__).parents[1])})  # fmt: skip


# ---- every claim ----


def test_every_statement_of_the_catalogue_is_checked(book: reproduced.Book) -> None:
    assert unchecked(book) == []


def test_every_statement_has_a_verdict_or_awaits_runs(book: reproduced.Book) -> None:
    waiting = awaiting(book)
    if COMPLETE:
        assert waiting == []
    without = {one.entry.id for one in book.experiments if one.kept is None}
    for row in book.rows:
        if row.statement.id in waiting:
            assert without & {check.experiment for check in row.checks if check.headline}, row.statement.id


def test_what_depends_on_our_qdaps_comes_out_otherwise_without_it(book: reproduced.Book) -> None:
    """C0-21 was called so and comes out the same; all that was against C0-22 is ECMP against QDAPS, and it was not."""
    found = {
        (check.claim, check.experiment, check.reading): check.verdict.status
        for row in book.rows
        for check in row.checks
        if check.verdict
    }
    turns: dict[str, bool] = {}
    for (claim, experiment, reading), status in found.items():
        alone, _, form = reading.partition(", ")
        if alone == "without QDAPS" and (claim, experiment, form) in found and form == "three duplicate ACKs":
            turns[claim] = turns.get(claim, False) or found[claim, experiment, form] is not status
    assert {"C0-21", "C0-22", "C0-24b", "C0-27a"} <= set(turns)
    assert {claim: bool(book.catalogue.part(claim).depends_on) for claim in turns} == turns


# Figures that compare several schemes by means and 99th percentiles of flows, on five seeds or more.
COMPARING = ("pdlb-7", "pdlb-11", "pdlb-12", "elab-12", "elab-13", "selb-5", "selb-6", "meet-6", "meet-7", "meet-9",
             "meet-10")  # fmt: skip


def narrower(kept: Kept, metric: str) -> list[float]:
    """By what factor pairing narrows the interval of the difference of each two schemes, wherever both were run."""
    found = []
    for variant in dict.fromkeys(one.run.variant for one in kept.measured.measurements):
        part = kept.measured.within(variant)
        for x, (a, b) in product(part.xs, combinations(part.curves, 2)):
            pairs = [np.array(values) for values in part.pairs((a, x, metric), (b, x, metric))]
            spread = (pairs[0] - pairs[1]).std(ddof=1) if len(pairs[0]) >= 5 else 0.0
            if spread > 0.0 and len(part.at(a, x)) == len(part.at(b, x)):
                found.append(float(np.sqrt(sum(values.var(ddof=1) for values in pairs)) / spread))
    return found


@pytest.mark.parametrize(
    ("metric", "said"), [("mean_fct_s", (2.4, 1.3, 4.9, 1.1, 6.0)), ("p99_fct_s", (1.8, 1.2, 3.8, 1.0, 10.0))]
)
def test_what_pairing_cancels_is_what_the_page_on_statistics_says(
    book: reproduced.Book, metric: str, said: tuple[float, ...]
) -> None:
    ratios = {name: narrower(book.kept[name], metric) for name in COMPARING}
    every = [one for found in ratios.values() for one in found]
    medians = [float(np.median(found)) for found in ratios.values()]
    found = (*np.percentile(every, [50, 25, 75]), min(medians), max(medians))
    assert [round(float(one), 1) for one in found] == pytest.approx(said, abs=0.051)
    text = " ".join((ROOT / "docs" / "statistics.md").read_text().split())
    middle, low, high, least, most = (f"{one:.2g}" if one >= 10 else f"{one:.1f}" for one in said)
    assert f"{middle} times" in text
    assert f"{low} to {high}" in text
    assert f"between {least} and {most} times" in text


# ---- every number ----


def cells_of(text: str) -> list[str]:
    """The lines in the column "measured" of all tables of a page."""
    found: list[str] = []
    column = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            column = None
        elif "measured" in cells:
            column = cells.index("measured")
        elif column is not None and not line.startswith("|---"):
            found += [one.replace("\\|", "|") for one in cells[column].split("<br>")]
    return [one for one in found if one != "–" and not re.fullmatch(r"and \d+ more", one)]


def foreign(text: str, kept: dict[str, Kept]) -> list[str]:
    """The measured lines of a page that no evidence has."""
    known = {" ".join(line.split()) for one in kept.values() for check in one.checks if check.verdict
             for line in check.verdict.evidence}  # fmt: skip
    return [one for one in cells_of(text) if not any(one == line or one.endswith(f": {line}") for line in known)]


def pages() -> list[Path]:
    return [ROOT / reproduced.PAGE, *sorted((ROOT / reproduced.FOLDER).glob("*.md"))]


def test_every_measured_number_of_a_page_is_in_the_evidence(book: reproduced.Book) -> None:
    measured = 0
    for page in pages():
        text = page.read_text()
        assert foreign(text, book.kept) == [], page
        measured += len(cells_of(text))
    assert measured > 50
    assert len(pages()) == 6


def test_a_number_that_is_in_no_evidence_is_found(book: reproduced.Book) -> None:
    text = (ROOT / reproduced.PAGE).read_text()
    line = next(one for one in cells_of(text) if re.search(r"\d\.\d", one))
    wrong = re.sub(r"(\d\.)(\d)", lambda found: found[1] + str(9 - int(found[2])), line, count=1)
    assert wrong != line
    assert foreign(text.replace(line, wrong), book.kept) == [wrong]


# ---- what is stale ----


def test_pages_and_figures_are_current() -> None:
    assert made(ROOT, "--check").returncode == 0


def test_what_was_changed_by_hand_is_told_and_made_again(checkout: Path) -> None:
    """A number, a verdict of other checks than those of now, a missing figure, another's figure, one too many."""
    page = checkout / reproduced.FOLDER / "pdlb.md"
    usual = page.read_text()
    number = re.search(r"\d\.\d+ against", usual)
    assert number is not None
    page.write_text(usual.replace(number[0], "7.77 against", 1))
    missing = checkout / reproduced.PICTURES / "pdlb-7.png"
    missing.unlink()
    (checkout / reproduced.PICTURES / "mine.png").write_bytes(b"mine")
    other = next(path for path in sorted(missing.parent.glob("pdlb-10*.png")))
    shutil.copy(ROOT / "docs" / "demo.png", other)
    verdicts = checkout / reproduced.EVIDENCE / "pdlb-7" / "evidence.json"
    judged = verdicts.read_text()
    verdicts.write_text(judged.replace('"not reproduced"', '"reproduced"'))
    told = made(checkout, "--check")
    assert told.returncode == 1
    for path in (page, verdicts, missing, other, missing.parent / "mine.png"):
        assert str(path.relative_to(checkout)) in told.stderr
    assert made(checkout).returncode == 0
    assert (page.read_text(), verdicts.read_text()) == (usual, judged)
    assert made(checkout, "--check").returncode == 0
    assert not (missing.parent / "mine.png").exists()
    assert missing.stat().st_size < 60_000


def test_without_evidence_a_page_says_so_and_gives_no_number(checkout: Path) -> None:
    shutil.rmtree(checkout / reproduced.EVIDENCE)
    found = reproduced.book(checkout)
    text = reproduced.texts(found)
    assert reproduced.drawings(found) == {}
    for path, page in text.items():
        assert cells_of(page) == [], path
        assert reproduced.NOT_YET in page
    assert len(awaiting(found)) == len(found.rows)


def test_evidence_without_a_number_that_is_wanted_now_keeps_its_verdicts(checkout: Path) -> None:
    file = checkout / reproduced.EVIDENCE / "pdlb-7" / "runs.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["value.utilisation"]), file)
    told = (checkout / reproduced.EVIDENCE / "pdlb-7" / "evidence.json").read_text()
    found = reproduced.book(checkout)
    assert evidence.text_of(found.kept["pdlb-7"]) == told
    assert not [path for path in reproduced.drawings(found) if path.stem == "pdlb-7"]


# ---- texts beside the experiments ----


@pytest.mark.parametrize("file", sorted(OWN_PAPERS.glob("*/notes.md")), ids=lambda file: file.parent.name)
def test_notes_have_no_typed_numbers_and_their_places_are_run(file: Path, book: reproduced.Book) -> None:
    assert prose.typed_numbers(file.read_text()) == []
    known = {one.entry.id: one.experiment for one in book.experiments}
    for place in re.findall(r"\{\{([^{}]*)\}\}", file.read_text()):
        name, form, curve, x, *_ = (word.strip() for word in place.split("|"))
        runs = {(run.variant, run.curve, f"{run.x:g}") for run in known[name].runs(Effort.FULL)}
        for number, one in enumerate(curve.split("/")):
            assert (form, one.strip(), x.split("/")[number if "/" in x else 0].strip()) in runs, place


def test_every_paper_has_notes(book: reproduced.Book) -> None:
    assert [paper for paper in book.papers if not (OWN_PAPERS / paper / reproduced.NOTES).is_file()] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 596 µs.", ["596"]),
        ("RPS sends 7.5 % again.", ["7.5"]),
        ("Fig. 7b, Figs. 6a and 7b, §3.3, Eq. 9, C2-21, RFC 8985, ns-2, Algorithm 1, `K = 65`", []),
        ("See `pdlb-7`, elab-12 and [a page](x/123.md).", []),
        ("{{ pdlb-7 |  | PDLB | 4 | mean_fct_s | µs }} of 99th percentiles", []),
        ("Load 0.8 in Fig. 7 gives 12", ["0.8", "12"]),
    ],
)
def test_typed_numbers_are_told_from_names(text: str, found: list[str]) -> None:
    assert [re.sub(r"[.,]$", "", word) for word in prose.typed_numbers(text)] == found


def test_a_place_is_filled_from_the_evidence(book: reproduced.Book, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("{{ pdlb-7 |  | PDLB | 4 | mean_fct_s | ms }}, {{ pdlb-7 | | PDLB / RPS | 4 | mean_fct_s | % }}")
    found = book.kept["pdlb-7"].measured.interval("PDLB", 4.0, "mean_fct_s")
    text = prose.filled(file, book.kept)
    assert text.startswith(f"{1e3 * found.mean:.3g}"[:4])
    assert re.fullmatch(r"[\d.]+ ±[\d.]+ ms, -[\d.]+ ±[\d.]+ %", text)
    assert prose.filled(file, {}) == "(not yet run), (not yet run)"


def test_a_place_may_hold_two_points_against_each_other(book: reproduced.Book, tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text(
        "{{ pdlb-7 | | PDLB / RPS | 1 / 4 | mean_fct_s | % }}, {{ pdlb-7 | | PDLB / RPS | 4 | mean_fct_s | % }}"
    )
    measured = book.kept["pdlb-7"].measured
    pairs = measured.pairs(("PDLB", 1.0, "mean_fct_s"), ("RPS", 4.0, "mean_fct_s"))
    base = sum(pairs[1]) / len(pairs[1])
    change = sum(a - b for a, b in zip(*pairs, strict=True)) / len(pairs[0])
    across, within = prose.filled(file, book.kept).split(", ")
    assert across.startswith(f"{100 * change / base:+.1f} ±")
    assert across != within
    file.write_text("{{ pdlb-7 | | PDLB / RPS | 1 / 9 | mean_fct_s | % }}")
    with pytest.raises(SpecError, match="9"):
        prose.filled(file, book.kept)


@pytest.mark.parametrize(
    ("place", "key", "hint"),
    [
        ("pdlb-7 | | PDLB | 4 | mean_fct | ms", "metric", "mean_fct_s"),
        ("pdlb-7 | | PDBL | 4 | mean_fct_s | ms", "curve", "PDLB"),
        ("pdlb-7 | | PDLB | 9 | mean_fct_s | ms", "x", ""),
        ("pdlb-7 | PDLB | 4 | mean_fct_s | ms", "place", ""),
        ("pdlb-7 | | PDLB | 4 | mean_fct_s | days", "place", ""),
    ],
)
def test_a_place_of_nothing_is_refused_with_the_nearest(
    book: reproduced.Book, tmp_path: Path, place: str, key: str, hint: str
) -> None:
    file = tmp_path / "notes.md"
    file.write_text("{{ " + place + " }}")
    with pytest.raises(SpecError) as caught:
        prose.filled(file, book.kept)
    assert caught.value.key.startswith(key)
    assert hint in (caught.value.hint or "")
    assert caught.value.file is not None


@pytest.mark.parametrize(
    ("reading", "forms", "found"),
    [
        ("CLOVE, ECN-TCP", ["ECN-TCP", "ECN-TCP, RACK-TLP", "DCTCP"], ["ECN-TCP"]),
        ("Eq. 9; 300 µs, RACK-TLP", ["300 µs, RACK-TLP", "RACK-TLP"], ["300 µs, RACK-TLP", "RACK-TLP"]),
        ("scatter, Reno", ["Reno, whole", "Reno, link down", "NewReno, whole", "Reno, big, whole"],
         ["Reno, whole", "Reno, link down"]),
        ("RACK-TLP", ["RACK-TLP", "web search, RACK-TLP"], ["RACK-TLP", "web search, RACK-TLP"]),
        ("", ["lossless", "IRN"], ["lossless", "IRN"]),
        ("scatter, Reno", ["NewReno"], []),
        ("anything", [""], [""]),
    ],
)  # fmt: skip
def test_a_reading_is_of_forms(reading: str, forms: list[str], found: list[str]) -> None:
    assert of_reading(reading, forms) == found


@pytest.mark.parametrize(
    ("claim", "pictures"),
    [
        ("C1-11", ["lbsp-7a-reno-link-down"]),
        ("C1-12", ["lbsp-7a-reno-link-down"]),
        ("C3-03", ["selb-5-lossless"]),
        ("C3-05", ["selb-5-irn"]),
        ("C3-10", ["selb-6-irn"]),
        ("C3-07", ["selb-5-lossless", "selb-5-irn"]),
        ("C0-22", ["pdlb-11-three-duplicate-acks", "pdlb-12-three-duplicate-acks"]),
    ],
)
def test_a_statement_links_to_the_figure_of_its_panel(book: reproduced.Book, claim: str, pictures: list[str]) -> None:
    """Claims on IRN led to the lossless panels, and those on a link down to the whole tree."""
    row = next(one for one in book.rows if one.statement.id == claim)
    assert [Path(link.partition("(")[2][:-1]).stem for link in reproduced.links(book, row, "")] == pictures


def test_the_shortest_arrivals_of_elab_13_length_are_those_of_elab_13(book: reproduced.Book) -> None:
    varied, base = (book.kept[name].measured.within("ECN-TCP") for name in ("elab-13-length", "elab-13"))
    for curve in varied.curves:
        assert varied.by_seed(curve, 50.0, "mean_fct_s") == base.by_seed(curve, 0.6, "mean_fct_s")


# ---- runs that were recorded ----


def shortest(kept: Kept) -> KeptRun:
    return min(kept.runs, key=lambda run: (run.packet_hops, run.outcome))


def again(experiment: Experiment, kept: Kept, run: KeptRun) -> tuple[str, str]:
    """Hashes of the spec and of the outcome of a run, made again."""
    told = run.measurement.run
    place = (told.variant, told.curve, told.x, told.seed)
    (found,) = [
        one for one in experiment.runs(kept.provenance.effort)
        if (one.variant, one.curve, one.x, one.seed) == place
    ]  # fmt: skip
    spec = resolve(found.spec, seed=found.seed)
    outcome = str(sw.run(spec).report["outcome_hash"])
    return spec_hash(spec)[: 2 * HASH_BYTES], outcome[: 2 * HASH_BYTES]


def test_a_recorded_run_of_each_paper_gives_its_outcome_again(book: reproduced.Book) -> None:
    tried = 0
    for paper in book.papers:
        with_runs = [one for one in book.of(paper) if one.kept and one.kept.runs]
        if not with_runs:
            continue
        one = min(with_runs, key=lambda one: shortest(one.kept).packet_hops if one.kept else 0)
        assert one.kept is not None
        run = shortest(one.kept)
        spec, outcome = again(one.experiment, one.kept, run)
        place = f"{one.entry.id}, {run.measurement.run.curve}, seed {run.measurement.run.seed}"
        # A key that is new has changed the spec, and nothing of what happens.
        why = "the engine gives another outcome" if spec == run.spec else "its spec is another one"
        assert outcome == run.outcome, f"{place}: {why} now: run `spinewise reproduce {one.entry.id}` again"
        tried += 1
    assert tried >= (len(book.papers) if COMPLETE else 1)
