"""Pages of `report` as files: what they hold without a browser."""

from __future__ import annotations

import base64
import errno
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spinewise as sw
from samples import TINY_TOML
from spinewise.cli import main
from spinewise.explanation.choices import Choices
from spinewise.measures import units
from spinewise.page import again, html, source
from spinewise.page.grids import value_of
from spinewise.page.moving import Making
from spinewise.page.of_comparison import either
from spinewise.page.packed import DTYPES, Block


class Reader(HTMLParser):
    """The text of a page as a browser without JavaScript shows it, its tables, and what it would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.rows: list[list[str]] = []
        self.fetched: list[str] = []
        self.data = ""
        self.inside: list[str] = []
        self.id: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.id = found.get("id")
        for key in ("src", "href"):
            if not (found.get(key) or "#").startswith(("#", "data:")):
                self.fetched.append(str(found[key]))
        if tag in ("script", "style"):
            self.inside.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if self.inside and self.inside[-1] == tag:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.data += data if self.id == "data" else ""
            return
        self.words.append(data)
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    @classmethod
    def of(cls, place: Path) -> Reader:
        reader = cls()
        reader.feed(place.read_text(encoding="utf-8"))
        return reader

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def array(self, ref: dict[str, Any]) -> Any:
        """The array that a reference stands for."""
        whole = gzip.decompress(base64.b64decode(self.data))
        at = 4 + int.from_bytes(whole[:4], "little") + ref["at"]
        return np.frombuffer(whole, DTYPES[ref["kind"]], ref["count"], at)

    def models(self) -> list[dict[str, Any]]:
        """What the scripts draw."""
        whole = gzip.decompress(base64.b64decode(self.data))
        length = int.from_bytes(whole[:4], "little")
        found: list[dict[str, Any]] = json.loads(whole[4 : 4 + length])
        return found


BURST = {
    "name": "burst",
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 8},
    "traffic": [{"kind": "incast", "receiver": 0, "senders": 12, "size_bytes": 100_000}],
}


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("spec") / "tiny.toml"
    place.write_text(TINY_TOML)
    return place


@pytest.fixture(scope="module")
def compared(spec: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sw.write(sw.compare(spec, "ecmp,rps,conga", seeds=3, jobs=1), tmp_path_factory.mktemp("cmp") / "found")


@pytest.fixture(scope="module")
def ran(spec: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sw.run(spec, scheme="letflow").write(tmp_path_factory.mktemp("run") / "found")


def page(*results: Path, out: Path) -> Reader:
    assert main(["report", *map(str, results), "--out", str(out)]) == 0
    return Reader.of(out)


def test_the_library_is_the_one_that_its_readme_names() -> None:
    vendor = files("spinewise.page") / "vendor"
    row = re.search(r"\| (\d+) \| ([0-9a-f]{64}) \|", (vendor / "README.md").read_text())
    content = (vendor / "echarts.min.js").read_bytes()
    assert row is not None
    assert (len(content), hashlib.sha256(content).hexdigest()) == (int(row[1]), row[2])


def test_a_comparison_is_read_without_javascript_and_fetches_nothing(compared: Path, tmp_path: Path) -> None:
    found = page(compared, out=tmp_path / "page.html")
    comparison = sw.read(compared)
    assert isinstance(comparison, sw.Comparison)
    assert found.fetched == []
    for verdict in sw.verdicts(comparison):
        assert verdict.question.words in found.text
    # The answer comes before the first table.
    assert found.text.index("Which is best") < found.text.index("vs ecmp")
    # The numbers behind a chart are those of the comparison.
    mean = comparison.interval("rps", None, "all", "fct_s.mean").mean
    shown = [float(row[1].split()[0]) for row in found.rows if row and row[0] == "rps" and len(row) == 2]
    assert any(abs(value * unit / mean - 1) < 1e-3 for value in shown for unit in (1e-6, 1e-3, 1.0))


def test_the_curves_of_a_page_are_those_of_the_comparison(compared: Path, tmp_path: Path) -> None:
    models = page(compared, out=tmp_path / "page.html").models()
    comparison = sw.read(compared)
    assert isinstance(comparison, sw.Comparison)
    bars = next(one for one in models if one.get("bars"))
    assert [curve["label"] for curve in bars["curves"]] == comparison.labels
    spread = next(
        one
        for one in models
        if one["kind"] == "chart" and one["y"]["scale"] == "nines" and one["title"].endswith("slowdown")
    )
    for curve in spread["curves"]:
        known = dict(zip(curve["y"], curve["x"], strict=True))
        kept = [cell.curves["all" if "all" in cell.curves else comparison.entries[0]]
                for cell in comparison.at(curve["label"], None)]  # fmt: skip
        assert known[0.5] == pytest.approx(np.mean([one.slowdown[49] for one in kept]), rel=1e-4)


def test_a_run_and_a_comparison_share_a_page(ran: Path, compared: Path, tmp_path: Path) -> None:
    found = page(ran, compared, out=tmp_path / "page.html")
    result = sw.read(ran)
    assert isinstance(result, sw.Result)
    assert result.report["outcome_hash"] in found.text
    assert "Outcome" in found.text
    assert "Which is best" in found.text
    assert (tmp_path / "page.html").stat().st_size < 2_000_000


def test_parts_that_share_a_name_are_told_apart(spec: Path, tmp_path: Path) -> None:
    """Two runs of one spec had one title, and one entry in the navigation was like the other."""
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder, scheme in zip(folders, ("ecmp", "letflow", "letflow"), strict=True):
        assert main(["run", str(spec), "--set", f"scheme.name={scheme}", "--out", str(folder)]) == 0
    found = [source.read(str(folder), source.OfStudy("")) for folder in folders]
    made = source.page(found, source.side_by_side(found), Making(Block(), False, lambda _: lambda _: None))
    name = found[0].found.spec["name"]  # type: ignore[union-attr, index]
    wanted = [f"{name} (ecmp)", f"{name} (letflow, b)", f"{name} (letflow, c)"]
    assert [one.title for one in made.parts] == ["a beside b beside c", *wanted]
    alone = source.page(found[:1], None, Making(Block(), False, lambda _: lambda _: None))
    assert alone.title == name


def test_what_is_no_result_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.tex").write_text("x")
    for place, hint in (
        ("nowhere", "it does not exist"),
        ("notes", "it holds thesis.tex"),
        ("notes/thesis.tex", "this is a file"),
    ):
        assert main(["report", str(tmp_path / place), "--out", str(tmp_path / "page.html")]) == 2
        assert hint in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("command", [["report"], ["plot"]])
def test_a_spec_is_no_result_and_must_be_run_first(
    command: list[str], spec: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`report` wanted the keys of a study, and `plot` sent the reader to `report`."""
    out = ["--out", str(tmp_path / "page.html")]
    assert main([*command, str(spec), *(out if command == ["report"] else [])]) == 2
    assert f"this is a spec: `spinewise run {spec} --out DIR` writes results" in capsys.readouterr().err


def test_a_damaged_folder_leaves_no_page(compared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "compare.json").write_text((compared / "compare.json").read_text()[:2000])
    assert main(["report", str(broken), "--out", str(tmp_path / "page.html")]) == 2
    assert "compare.json" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [broken]


def test_only_a_page_is_replaced_and_only_by_force(
    ran: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    page(ran, out=out)
    before = out.read_bytes()
    assert main(["report", str(ran), "--out", str(out)]) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert main(["report", str(ran), "--out", str(out), "--force"]) == 0
    assert out.read_bytes() == before, "the same results give the same bytes"
    out.write_text("<html>my own</html>")
    assert main(["report", str(ran), "--out", str(out), "--force"]) == 2
    assert out.read_text() == "<html>my own</html>"
    assert main(["report", str(ran), "--out", str(tmp_path)]) == 2


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(source, "read", lambda *_: pytest.fail("results were read"))
    assert main(["report", "results", "--out", str(tmp_path / "file" / "more" / "page.html")]) == 2
    assert f"{tmp_path / 'file'} is a file, not a folder" in capsys.readouterr().err

    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    assert main(["report", "results", "--out", str(tmp_path / "new" / "page.html")]) == 2
    assert "no permission to write there" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_words_of_users_are_no_markup(tmp_path: Path) -> None:
    text = TINY_TOML.replace('name = "', 'name = "<b onclick=x>&amp; it', 1)
    assert "<b onclick" in text
    (tmp_path / "odd.toml").write_text(text)
    place = sw.run(tmp_path / "odd.toml").write(tmp_path / "run")
    out = tmp_path / "page.html"
    assert "<b onclick=x>&amp; it" in page(place, out=out).text
    assert "<b onclick" not in out.read_text()


def test_a_replay_has_the_series_of_the_run(tmp_path: Path) -> None:
    place = sw.run(BURST).write(tmp_path / "run")
    found = page(place, out=tmp_path / "page.html")
    replay = next(one for one in found.models() if one["kind"] == "replay")
    (track,) = replay["tracks"]
    again = sw.run({**BURST, "metrics": {"series_interval_us": replay["frame_us"], "series_links": "all"}})
    links = [one["name"] for one in replay["fabric"]["links"]]
    assert links == [link["name"] for link in again.report["links"]]
    for name, series in (("use", "link_utilisation"), ("queue", "link_queue_bytes"), ("marks", "link_marks")):
        quantity = next(one for one in track["quantities"] if one["name"] == name)
        levels = found.array(quantity["values"]).reshape(len(links), track["frames"])
        values = quantity["most"] * (levels / 255) ** quantity["power"]
        link = "leaf0->host0"
        time_s, value = again.series_of(series, link)
        frame = np.rint(time_s * 1e6 / replay["frame_us"]).astype(int) - 1
        inside = frame < track["frames"]
        shown = values[links.index(link), frame[inside]]
        assert value[inside].max() > 0.0
        # Eight bits keep a value to half a percent of the square root of the greatest.
        assert np.allclose(np.sqrt(shown), np.sqrt(value[inside]), atol=np.sqrt(quantity["most"]) / 250)


def test_a_replay_says_what_its_lines_and_colours_mean(tmp_path: Path) -> None:
    """Dashes beside links and orange in the heat map stood there without a word."""
    plain = page(sw.run(BURST).write(tmp_path / "plain"), out=tmp_path / "plain.html").text
    assert "Dashed:" not in plain
    assert "Orange:" not in plain
    fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": 8, "override": [{"leaf": 0, "spine": 0, "rate_gbps": 1}]}
    fault = {"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 10, "until_us": 20}
    spec = {**BURST, "topology": fabric, "fault": [fault]}
    broken = page(sw.run(spec).write(tmp_path / "broken"), out=tmp_path / "broken.html").text
    assert "Dashed: a link that is slower than its tier, or down, for the whole run." in broken
    assert "Orange: links under a fault; in the heat map, when a fault is active." in broken


def test_facts_below_each_other_do_not_run_together(ran: Path, tmp_path: Path) -> None:
    """It said "marked 0 out of order 4 %", and a name broke within its arrow."""
    found = page(ran, out=tmp_path / "page.html")
    assert re.search(r"<li>out of order [0-9.]+ %", (tmp_path / "page.html").read_text())
    assert "->" in found.text
    assert html.unbroken("leaf0-&gt;spine1") == 'leaf0<wbr><span class="whole">-&gt;</span>spine1'
    assert html.whole("at leaf0-&gt;spine1#2; 5") == 'at <span class="whole">leaf0-&gt;spine1#2</span>; 5'


def test_paths_of_picked_flows_are_those_of_explain(ran: Path, tmp_path: Path) -> None:
    result = sw.read(ran)
    assert isinstance(result, sw.Result)
    found = page(ran, out=tmp_path / "page.html")
    replay = next(one for one in found.models() if one["kind"] == "replay")
    traced = [one for one in replay["paths"] if one["times_us"]]
    assert traced
    flow = traced[0]["flow"]
    slowdown = result.flows.column("slowdown")[flow].as_py()
    assert f"{slowdown:.2f} times its ideal" in traced[0]["why"][0]
    trace = sw.run(result.spec, trace=[flow]).trace
    assert trace is not None
    choices = Choices(trace, flow)
    assert np.allclose(found.array(traced[0]["times_us"]), choices.time, rtol=1e-6)
    ways = [traced[0]["ways"][place] for place in found.array(traced[0]["way"])]
    assert ways == [f"{choices.device[at]}: {choices.names[int(row)]}" for at, row in enumerate(choices.chosen)]


@pytest.mark.parametrize("seed", [1, 2])
def test_flows_are_set_beside_each_other_where_runs_carry_the_same(ran: Path, tmp_path: Path, seed: int) -> None:
    """ "Flow 208" of another seed is another flow, and stood beside it as the same one."""
    result = sw.read(ran)
    assert isinstance(result, sw.Result)
    other = sw.run(result.spec, scheme="ecmp", seed=result.spec["seed"] + seed - 1).write(tmp_path / "other")
    found = page(ran, other, out=tmp_path / "page.html")
    replays = [one for one in found.models() if one["kind"] == "replay"]
    (both,) = [one for one in replays if len(one["tracks"]) == 2]
    of_flow: dict[tuple[int, str], list[int]] = {}
    for one in both["paths"]:
        of_flow.setdefault((one["flow"], one.get("run") or ""), []).append(one["track"])
    if seed == 1:
        assert all(tracks == [0, 1] for tracks in of_flow.values())
    else:
        assert {run for _, run in of_flow} == {track["label"] for track in both["tracks"]}
        assert all(len(tracks) == 1 for tracks in of_flow.values())


def test_the_slowest_flows_are_traced(ran: Path) -> None:
    result = sw.read(ran)
    assert isinstance(result, sw.Result)
    slowdown = result.flows.column("slowdown").to_numpy()
    assert int(np.argmax(slowdown)) in again.slowest(result)


def test_where_curves_end_the_last_flow_is_named(ran: Path, tmp_path: Path) -> None:
    """The slowest flow was 465 times above its ideal, and the axis of slowdowns ended at 50."""
    result = sw.read(ran)
    assert isinstance(result, sw.Result)
    slowdown = result.flows.column("slowdown").to_numpy()
    found = page(ran, out=tmp_path / "page.html")
    place = int(np.argmax(slowdown))
    assert f"the greatest slowdown is {units.digits(slowdown[place], 3)} (flow {place})." in found.text


def test_without_reruns_the_page_says_what_is_missing(ran: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert main(["report", str(ran), "--out", str(out), "--no-rerun"]) == 0
    found = Reader.of(out)
    assert "--no-rerun forbids" in found.text
    assert [one["kind"] for one in found.models() if one["kind"] == "replay"] == []


def test_a_file_of_the_spec_that_has_gone_is_named_on_the_page(tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.txt"
    sizes.write_text("1000 0\n20000 1\n")
    traffic = {"kind": "poisson", "cdf_file": str(sizes), "load": 0.3, "duration_us": 200}
    spec = {"topology": {"hosts_per_leaf": 2}, "traffic": [traffic]}
    sw.run(spec).write(tmp_path / "ran")
    sw.write(sw.compare(spec, "ecmp,rps", seeds=1), tmp_path / "compared")
    sizes.unlink()
    for results in ("ran", "compared"):
        text = page(tmp_path / results, out=tmp_path / f"{results}.html").text
        assert "it cannot be repeated: traffic[0].cdf_file" in text
        assert str(sizes) in text


def test_variants_over_different_transports_are_both_shown_over_time(tmp_path: Path) -> None:
    """The second was made from the first one's resolved spec, whose keys of RDMA Ultra Ethernet does not have."""
    spec = BURST | {"transport": {"kind": "rdma"}}
    found = sw.compare(spec, "ecmp,ecmp:transport.kind=uet@UET", seeds=1, jobs=1)
    text = page(sw.write(found, tmp_path / "compared"), out=tmp_path / "page.html").text
    assert "ecmp: repeated with every link sampled" in text
    assert "UET: repeated with every link sampled" in text


def test_a_run_that_comes_out_otherwise_is_not_shown_as_the_same(ran: Path) -> None:
    result = sw.read(ran)
    assert isinstance(result, sw.Result)
    assert again.alike(result, sw.run(result.spec))
    assert not again.alike(result, sw.run(result.spec, seed=99))
    assert not again.alike(result, sw.run(result.spec, scheme="ecmp"))


@pytest.mark.parametrize(("value", "shown"), [(0.0123, 0.015), (1.0, 1.0), (101.0, 150.0), (80_001.0, 100_000.0)])
def test_intervals_are_round(value: float, shown: float) -> None:
    assert again.rounded(value) == shown


@pytest.mark.parametrize(
    ("text", "value"),
    [("4.63 ms", 4.63e-3), ("711.5 ±12.3", 711.5), ("(+3.2%)", 3.2), ("-48.0%", -48.0), ("10,170", 10170.0),
     ("24.0 k", 24e3), ("75.1 %", 75.1), ("–", None), ("leaf0", None), ("≥ 2.500 ±0.000", 2.5)],
)  # fmt: skip
def test_cells_are_sorted_by_what_they_say(text: str, value: float | None) -> None:
    assert value_of(text) == pytest.approx(value)


def test_arrays_come_back_as_they_were() -> None:
    block = Block()
    refs = [block.add([1, 2, 3], "u8"), block.add([0.5, -7.25], "f32"), block.add([65535], "u16")]
    whole = gzip.decompress(base64.b64decode(block.text(b'{"a":1}')))
    length = int.from_bytes(whole[:4], "little")
    assert json.loads(whole[4 : 4 + length]) == {"a": 1}
    arrays = whole[4 + length :]
    for ref, kind, values in zip(refs, ("<u1", "<f4", "<u2"), ([1, 2, 3], [0.5, -7.25], [65535]), strict=True):
        assert (4 + length + ref.at) % 4 == 0
        assert np.frombuffer(arrays, kind, ref.count, ref.at).tolist() == values


@pytest.mark.parametrize(("names", "words"), [(["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
def test_ties_are_named_in_words(names: list[str], words: str) -> None:
    assert either(names) == words


def test_what_a_section_says_is_not_said_again(ran: Path, tmp_path: Path) -> None:
    found = page(ran, out=tmp_path / "page.html")
    assert found.text.count("the outcome was the same") == 1
