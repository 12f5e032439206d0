"""Who is asked about: flows by traffic entry, in summaries, tables and files."""

from __future__ import annotations

import json
import math
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import samples
import spinewise as sw
from samples import TINY_SPEC, TWO_ENTRIES
from spinewise.cli import main
from spinewise.comparison import report
from spinewise.measures import entries
from spinewise.measures.entries import By
from spinewise.measures.plain import plain
from spinewise.runs.result import Result
from spinewise.shapes import SizeClass, Traffic
from spinewise.show import run_tables


def two(**columns: Any) -> Result:
    """Two entries: 0.1 ms flows of the first, 10 ms flows of the second, and a constant-rate source."""
    made = samples.result(
        entry=[0, 0, 1, 1, 2], tcp=[True] * 4 + [False], size_bytes=[10, 10**6, 20, 20, 0],
        fct_ps=[10**8, 10**8, 10**10, 10**10, 0], slowdown=[1.0, 2.0, 900.0, 900.0, 0.0],
        packets=[1, 700, 1, 1, 5], timeouts=[0, 0, 1, 1, 0], **columns,
    )  # fmt: skip
    classes: list[SizeClass] = [{"name": "tiny", "below_bytes": 15}, {"name": "small", "from_bytes": 15}]
    made.spec["traffic"] = [
        {"kind": "poisson", "name": "web"},
        {"kind": "incast", "size_classes": classes},
        {"kind": "udp"},
    ]
    return made


def test_each_entry_has_classes_and_packets_of_its_own() -> None:
    found = two().summary()
    assert [(one.name, one.kind, one.udp) for one in found.entries] == [
        ("web", "poisson", False), ("incast", "incast", False), ("udp", "udp", True),
    ]  # fmt: skip
    assert found.of("all").fct_s.p99 == pytest.approx(10e-3), "of all together it is that of the incast"
    assert found.of("all", "web").fct_s.p99 == pytest.approx(0.1e-3)
    assert [one.name for one in found.entry("incast").classes] == ["tiny", "small", "all"]
    assert (found.of("small", "incast").flows, found.of("tiny", "incast").flows) == (2, 0)
    assert (found.entry("web").packets.timeouts, found.entry("incast").packets.timeouts) == (0, 2)
    assert [one.name for one in found.asked] == ["web", "incast"]
    assert found.mixed
    told = plain(found.entries[0].classes[2].fct_s)
    assert told.keys() == {"mean", "p50", "p95", "p99", "p999"}


def test_what_is_not_there_is_told_with_what_is() -> None:
    found = two().summary()
    with pytest.raises(KeyError, match="no traffic entry 'wbe'; there are web, incast, udp"):
        found.of("all", "wbe")
    with pytest.raises(KeyError, match="no size class of traffic 'incast' 'short'; there are tiny, small, all"):
        found.of("short", "incast")
    with pytest.raises(KeyError, match="no size class 'tiny'; there are short, long, all"):
        found.of("tiny")


@pytest.mark.parametrize(
    ("traffic", "names"),
    [
        ([("poisson", None)], ["poisson"]),
        ([("poisson", None), ("incast", None), ("poisson", None)], ["poisson-0", "incast", "poisson-2"]),
        ([("poisson", "incast"), ("incast", None)], ["incast", "incast-1"]),
        ([("udp", "a"), ("udp", None)], ["a", "udp-1"]),
    ],
)
def test_an_entry_is_called_by_its_kind_and_place(traffic: list[tuple[str, str | None]], names: list[str]) -> None:
    given: list[Traffic] = [{"kind": kind, "name": name} if name else {"kind": kind} for kind, name in traffic]
    assert entries.names(given) == names


def test_what_the_engine_counted_stands_in_for_rows() -> None:
    of = {
        "name": "all", "flows": 3, "finished": 2, "mean_fct_ps": 4e6, "mean_slowdown": 2.0,
        "fct_ps_histogram": [[10**6, 2]], "slowdown_thousandths_histogram": [[1500, 2]],
    }  # fmt: skip
    totals = {"sent": 30, "retransmits": 3, "timeouts": 1, "out_of_order": 6, "dupack3_events": 3, "marks": 9}
    one = {"name": "web", "kind": "poisson", "udp": False, "classes": [of], "totals": totals}
    made = Result(
        spec={"traffic": [{"kind": "poisson", "name": "web"}]}, flows=samples.flows(fct_ps=[]),
        series=samples.series([]), report=samples.report(flows=3, classes=[of], totals=totals, entries=[one]),
    )  # fmt: skip
    assert made.summary().of("all", "web").unfinished == 1
    assert made.summary().entry("web").packets.timeouts == 1
    del made.report["entries"]
    assert made.summary().of("all", "web").unfinished == 1, "an only entry has all there is"
    made.spec["traffic"] *= 2
    assert made.summary().entries == [], "of several nothing is known"
    assert "traffic" not in plain_text(run_tables.run_report(made))


def plain_text(what: Any, width: int = 118) -> str:
    out = Console(width=width, file=StringIO())
    out.print(what)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


@pytest.mark.parametrize(
    ("by", "there", "absent"),
    [
        ("auto", ["web", "incast", "Flows by traffic entry"], ["together"]),
        ("entry", ["web", "incast"], ["together"]),
        ("both", ["web", "incast", "all of them"], []),
        ("class", ["web, incast together"], ["Flows by traffic entry"]),
    ],
)
def test_run_tells_of_each_entry(by: By, there: list[str], absent: list[str]) -> None:
    text = plain_text(run_tables.fct_table(two().summary(), by))
    for part in there:
        assert part in text
    for part in absent:
        assert part not in text


def test_classes_without_flows_are_no_rows() -> None:
    text = plain_text(run_tables.fct_table(two().summary()))
    assert "tiny" not in text
    assert "small" not in text, "it would say the same as all"
    assert "short" in text


@pytest.fixture(scope="module")
def comparison() -> sw.Comparison:
    return sw.compare(TWO_ENTRIES, "ecmp,rps", seeds=2)


def test_a_comparison_goes_by_entry(comparison: sw.Comparison) -> None:
    assert comparison.entries == ["poisson", "incast"]
    assert comparison.scopes() == ["poisson", "incast"]
    assert comparison.scopes("both") == ["poisson", "incast", None]
    assert comparison.scopes("class") == [None]
    means = [comparison.interval("rps", None, "all", "fct_s.mean", of).mean for of in (None, *comparison.entries)]
    assert len(set(means)) == 3
    web = comparison.interval("rps", None, "all", "fct_s.p98", "poisson")
    by_hand = [cell.summary.of("all", "poisson").fct_s.percentile(0.98) for cell in comparison.at("rps", None)]
    assert web.mean == pytest.approx(sum(by_hand) / 2)
    assert comparison.flows(None, "all", "incast") == 16
    assert sum(comparison.flows(None, "all", of) for of in comparison.entries) == comparison.flows(None)
    assert comparison.difference("ecmp", None, "all", "fct_s.mean", "incast").mean == 0.0
    assert comparison.unfinished("rps", None, "all", "incast") == 0


def test_summaries_by_entry_are_those_of_its_flows(comparison: sw.Comparison) -> None:
    result = sw.run(TWO_ENTRIES, seed=comparison.seeds[0])
    flows = result.flows.to_pylist()
    for place, name in enumerate(comparison.entries):
        mine = [row["fct_ps"] / 1e12 for row in flows if row["entry"] == place]
        assert result.summary().of("all", name).fct_s.mean == pytest.approx(sum(mine) / len(mine))


def test_tables_of_a_comparison_by_entry(comparison: sw.Comparison) -> None:
    text = plain_text(report.comparison_report(comparison))
    for part in (
        "poisson: mean FCT",
        "poisson: 99th",
        "incast: FCT",
        "p99 [µs]",
        "incast 16",
        "reported separately; --by class",
    ):
        assert part in text, text
    assert "together" not in text.replace("throws them together", "")
    mixed = plain_text(report.comparison_report(comparison, "both"))
    assert "All traffic together (poisson, incast): 99th" in mixed
    assert "'all traffic' pools poisson, incast" in mixed
    assert "incast: FCT" not in plain_text(report.comparison_report(comparison, "class"))


def test_one_entry_is_told_as_before() -> None:
    found = sw.compare(TINY_SPEC, "ecmp,rps", seeds=1)
    assert (found.entries, found.scopes(), found.mixed) == (["poisson"], [None], False)
    assert {row["entry"] for row in found.rows()} == {"poisson"}
    text = plain_text(report.comparison_report(found))
    assert "Mean FCT" in text
    assert "one seed, the same traffic for every scheme: no interval" in text
    assert "(" not in next(line for line in text.splitlines() if " rps " in line), "nothing is in brackets"


def test_what_is_asked_of_a_comparison_and_is_not_there(comparison: sw.Comparison) -> None:
    for asked, words in (
        (("foo", None, "all", "fct_s.mean"), "no scheme 'foo'; there are ecmp, rps"),
        (("ecmp", 0.3, "all", "fct_s.mean"), "no load 0.3; there are None"),
        (("ecmp", None, "huge", "fct_s.mean"), "no size class 'huge'; there are short, long, all"),
        (("ecmp", None, "all", "fct_s.max"), "no metric 'fct_s.max'"),
        (("ecmp", None, "all", "fct_s.p98765"), "no metric"),
        (("ecmp", None, "all", "fct"), "no metric 'fct'"),
    ):
        with pytest.raises(KeyError, match=words.replace("(", ".")):
            comparison.interval(*asked)


def test_a_percentile_that_a_folder_does_not_have_is_said_to_be_missing_there(
    comparison: sw.Comparison, tmp_path: Path
) -> None:
    """It said that there is no fct_s.p98, and that there are percentiles such as fct_s.p98."""
    sw.write(comparison, tmp_path / "out")
    again = sw.read(tmp_path / "out")
    assert isinstance(again, sw.Comparison)
    asked = ("rps", None, "all", "fct_s.p98")
    assert math.isfinite(comparison.interval(*asked).mean)
    why = "no 'fct_s.p98' here: of percentiles a file keeps p50, p95, p99, p999, and not the quantile 0.98"
    with pytest.raises(KeyError, match=why):
        again.interval(*asked)
    for kept in ("p50", "p99.9"):
        assert again.interval("rps", None, "all", f"fct_s.{kept}") == comparison.interval(
            "rps", None, "all", f"fct_s.{kept}"
        )


def test_files_have_every_entry_and_all_together(comparison: sw.Comparison, tmp_path: Path) -> None:
    from pyarrow import parquet

    sw.write(comparison, tmp_path / "out")
    record = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert record["entries"] == ["poisson", "incast"]
    assert {(row["entry"], row["mixes_entries"]) for row in record["rows"]} == {
        ("poisson", False), ("incast", False), ("all", True),
    }  # fmt: skip
    cells = parquet.read_table(tmp_path / "out" / "cells.parquet").to_pylist()
    keys = {(row["scheme"], row["seed"], row["entry"], row["size_class"]) for row in cells}
    assert len(keys) == len(cells) == 2 * 2 * 3 * 3
    assert {row["flows"] for row in cells if (row["entry"], row["size_class"]) == ("incast", "all")} == {8}


def test_files_have_all_together_where_there_is_one_entry(tmp_path: Path) -> None:
    """A filter by entry = 'all', as documented, found nothing."""
    from pyarrow import parquet

    sw.write(sw.compare(TINY_SPEC, "ecmp,rps", seeds=1), tmp_path / "out")
    cells = parquet.read_table(tmp_path / "out" / "cells.parquet").to_pylist()
    assert {row["entry"] for row in cells} == {"poisson", "all"}
    one, other = ([row | {"entry": ""} for row in cells if row["entry"] == name] for name in ("poisson", "all"))
    assert str(one) == str(other), "which has NaN"


def test_variants_must_have_the_same_entries() -> None:
    permutation = TINY_SPEC | {"traffic": [{"kind": "permutation", "size_bytes": 9}]}
    with pytest.raises(sw.SpecError, match="traffic entries and size classes are those of ecmp"):
        sw.compare(permutation, ["ecmp", "ecmp:traffic[0].kind=all_reduce@other"], seeds=1)


def test_a_narrow_terminal_cuts_no_number_off(comparison: sw.Comparison) -> None:
    text = plain_text(report.comparison_report(comparison), 40)
    assert "…" not in text
    wide = plain_text(report.comparison_report(comparison))
    interval = next(word for word in wide.split() if word.startswith("±"))
    assert interval in text


def test_wide_tables_are_told_in_parts(comparison: sw.Comparison) -> None:
    text = plain_text(report.comparison_report(comparison), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "poisson: mean FCT, continued" in text
    for heading in ("short [", "long [", "all [", "unfinished"):
        assert heading in text


def test_by_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.json.toml"
    file.write_text(
        "topology = {leaves = 2, spines = 2, hosts_per_leaf = 2}\ntraffic = [{kind = 'permutation', size_bytes = 9},"
        " {kind = 'incast', receiver = 0, senders = 2, size_bytes = 9}]\n"
    )
    assert main(["run", str(file)]) == 0
    assert "Flows by traffic entry" in capsys.readouterr().out
    assert main(["run", str(file), "--by", "class"]) == 0
    assert "permutation, incast together" in capsys.readouterr().out
    assert main(["compare", str(file), "--schemes", "ecmp,rps", "--seeds", "1", "--by", "both"]) == 0
    out = capsys.readouterr().out
    assert "permutation: FCT" in out
    assert "All traffic together (permutation, incast)" in out
