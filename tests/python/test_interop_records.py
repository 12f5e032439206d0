"""Flow records in CSV and Parquet with named columns."""

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import spinewise as sw
from spinewise.cli import main
from spinewise.interop import flows, named, placing, records
from spinewise.interop.records import Columns
from spinewise.specs import hints


def write(folder: Path, text: str, name: str = "flows.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    found = records.read(write(tmp_path, "start_us,dst,note,size_bytes,src\n# x\n2.5,1,a,10,0\n0,3,b,0,2\n"), Columns())
    assert [tuple(flow) for flow in found.flows] == [(0, 1, 0, None, 10, 2_500_000), (2, 3, 0, None, 1, 0)]
    file = tmp_path / "flows.csv"
    assert found.notes == [f"{file}: line 4: size 0 taken as 1", f"{file}: columns that are not read: note"]


def test_empty_rows_are_told_and_rows_without_a_host_refused(tmp_path: Path) -> None:
    found = records.read(write(tmp_path, "src,dst,size_bytes,start_us\n0,5,10,7\n,,,\n\n1,2,3,4\n"), Columns())
    assert len(found.flows) == 2
    # A host of none but flows to itself has no number.
    named = records.read(write(tmp_path, "src,dst,size_bytes,start_us\na,a,10,7\nb,c,2,3\n"), Columns())
    assert named.hosts == {"b": 0, "c": 1}
    found = records.read(write(tmp_path, "src,dst,size_bytes,start_us\n0,5,10,7\n,,,\n\n1,2,3,4\n"), Columns())
    assert found.notes == [f"{tmp_path / 'flows.csv'}: line 3: an empty row"]
    for row, key in ((",,500,2", "line 3, src"), ("1,,500,2", "line 3, dst")):
        with pytest.raises(sw.SpecError, match="a host") as caught:
            records.read(write(tmp_path, f"src,dst,size_bytes,start_us\n0,5,10,7\n{row}\n"), Columns())
        assert caught.value.key == key


def test_files_for_another_reader_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = write(tmp_path, "a,b,rate_gbps,delay_ns\nh0,t0,25,500\nh1,t0,25,500\n", "links.csv")
    flows = write(tmp_path, "src,dst,size_bytes,start_ns\nh0,h1,9,0\n")
    for word, file, look in (
        ("flows", links, "a list of links: `spinewise import topology`"),
        ("topology", flows, "a list of flows: `spinewise import flows`"),
        ("cdf", flows, "a list of flows: `spinewise import flows`"),
    ):
        assert main(["import", word, str(file)]) == 2
        assert f"it looks like {look}" in capsys.readouterr().err
    with pytest.raises(sw.SpecError) as caught:
        sw.resolve({"topology": {"file": str(links)}, "traffic": []})
    assert "`spinewise import topology`" in (caught.value.hint or "")
    with pytest.raises(sw.SpecError) as caught:
        sw.resolve({"traffic": [{"kind": "flows", "file": str(flows)}]})
    assert "--topology FILE --out FILE` gives names of hosts their numbers" in (caught.value.hint or "")


def test_starts_have_one_column_and_one_unit(tmp_path: Path) -> None:
    row = "src,dst,size_bytes,start_us\n0,5,10,7\n"
    assert records.read(write(tmp_path, row), Columns(start_unit="us")).flows[0].start_ps == 7_000_000
    with pytest.raises(sw.SpecError, match="us, as the column start_us says"):
        records.read(write(tmp_path, row), Columns(start_unit="s"))
    two = "src,dst,size_bytes,start_us,start_ns\n0,5,10,1,77\n"
    with pytest.raises(sw.SpecError, match="one column of starts, or --columns start=NAME") as caught:
        records.read(write(tmp_path, two), Columns())
    assert caught.value.value == "start_us, start_ns"
    assert records.read(write(tmp_path, two), Columns({"start": "start_ns"})).flows[0].start_ps == 77_000
    with pytest.raises(sw.SpecError, match="one column of this name"):
        records.read(write(tmp_path, "src,dst,size_bytes,size_bytes,start_us\n0,5,10,9,7\n"), Columns())


def test_other_names_and_units_are_told(tmp_path: Path) -> None:
    text = "ts;x,from,to,packets\n1.5,10.0.0.10,10.0.0.9,3\n1.75,10.0.0.2,10.0.0.10,2\n"
    told = Columns({"src": "from", "dst": "to", "size": "packets", "start": "ts;x"}, "ms", 1500)
    found = records.read(write(tmp_path, text), told)
    assert [tuple(flow) for flow in found.flows] == [
        (2, 1, 0, None, 4500, 1_500_000_000),
        (0, 2, 0, None, 3000, 1_750_000_000),
    ]
    assert (
        "hosts are numbered in the order of their names: 10.0.0.2 is 0, 10.0.0.9 is 1, 10.0.0.10 is 2" in found.notes[0]
    )


def test_parquet_and_csv_give_one_list_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {
        "a": [0, 1, 5],
        "b": [4, 5, 2],
        "bytes": [1000, 20_000, 300],
        "t_s": [1700000000.5, 1700000000.25, 1700000001.0],
    }
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    rows = ["a,b,bytes,t_s", *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    write(tmp_path, "\n".join(rows) + "\n")
    made = []
    for name in ("x.parquet", "flows.csv"):
        out = tmp_path / f"{name}.out.csv"
        words = ["--columns", "src=a,dst=b,size=bytes,start=t_s", "--from-first", "--out", str(out), "--json"]
        assert main(["import", "flows", str(tmp_path / name), *words]) == 0
        record = json.loads(capsys.readouterr().out)
        assert (record["flows"], record["bytes"], record["first_start_ps"]) == (3, 21_300, 0)
        assert record["last_start_ps"] == 750_000_000_000
        made.append(out.read_bytes())
    assert made[0] == made[1]
    fabric = {"leaves": 2, "spines": 1, "hosts_per_leaf": 3}
    entry = {"kind": "flows", "file": str(out)}
    result = sw.run({"topology": fabric, "traffic": [entry], "run": {"until_us": 1_000_000}})
    assert result.report["finished"] == 3


def test_our_own_results_are_records(tmp_path: Path) -> None:
    """Flows exported by `import` are read again to the same flows."""
    text = "src,dst,size_bytes,start_ns,pg\n0,1,10,0.5,0\n1,2,20,3,0\n"
    assert records.read(write(tmp_path, text), Columns()).csv() == text


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("src,dst,bytes,start_ns\n", Columns(), "column of size = size_bytes: allowed is a column of this file"),
        ("src,dst,size_bytes,when\n0,1,5,17\n", Columns({"start": "when"}), "--start-unit = (nothing): allowed is s,"),
        ("src,dst,size_bytes,start_ns\n", Columns(), "(whole file) = only a header"),
        ("src,dst,size_bytes,start_ns\n0,1,5\n", Columns(), "line 2, all = 3 fields: allowed is 4, as the header has"),
        ("src,dst,size_bytes,start_ns\n0,0,5,1\n", Columns(), "(whole file) = only flows from a host to itself"),
        ("src,dst,size_bytes,start_ns\n0,1,5.5,1\n", Columns(), "line 2, size = 5.5: allowed is a whole number"),
        ("src,dst,size_bytes,start_ns\n0,1,5,-1\n", Columns(), "line 2, start = -1: allowed is a number, 0 or more"),
        ("Nodes 4\nConnections 1\n", Columns(), "it looks like an htsim connection matrix"),
    ],
)  # fmt: skip
def test_bad_records_are_refused_with_their_line(tmp_path: Path, text: str, columns: Columns, message: str) -> None:
    with pytest.raises(sw.SpecError) as caught:
        records.read(write(tmp_path, text), columns)
    assert message in str(caught.value)


def test_flows_from_a_host_to_itself_are_left_out(tmp_path: Path) -> None:
    """One such row stopped a whole trace."""
    text = "src,dst,size_bytes,start_ns\n0,0,5,1\n0,1,5,2\n1,1,5,3\n"
    found = records.read(write(tmp_path, text), Columns())
    assert found.csv() == "src,dst,size_bytes,start_ns,pg\n0,1,5,2,0\n"
    (note,) = found.notes
    assert note.endswith(": line 2 and 1 more: left out, a flow from a host to itself")


@pytest.mark.parametrize("by", [",", ";", "\t"])
def test_columns_may_be_parted_by_semicolons_or_tabs(by: str, tmp_path: Path) -> None:
    given = write(tmp_path, "src,dst,size_bytes,start_ns\n0,1,5,2\n".replace(",", by))
    assert named.looks_named(str(given))
    assert records.read(given, Columns()).csv() == "src,dst,size_bytes,start_ns,pg\n0,1,5,2,0\n"


def test_starts_may_be_dates(tmp_path: Path) -> None:
    rows = ["0,1,5,2024-05-01T00:00:00.123Z", "1,0,5,2024-05-01T02:00:01+02:00", "1,0,5,2024-05-01 00:00:00.5"]
    given = write(tmp_path, "\n".join(["src,dst,size_bytes,when", *rows]) + "\n")
    found = records.read(given, Columns({"start": "when"}, start_unit="s")).flows
    starts = [flow.start_ps for flow in found]
    assert [start - starts[0] for start in starts] == [0, 877 * 10**9, 377 * 10**9]


def test_dates_are_read_to_the_last_digit_and_need_no_unit(tmp_path: Path) -> None:
    stamps = ("2026-11-24T12:00:00.123456001Z", "2026-11-24T12:00:00.123456789Z", "20261124T120000.5Z")
    rows = "".join(f"0,1,5,{stamp}\n" for stamp in stamps)
    path = write(tmp_path, "src,dst,size_bytes,when\n" + rows)
    first, second, third = (flow.start_ps for flow in records.read(path, Columns({"start": "when"})).flows)
    assert (second - first, third - first) == (788_000, 376_543_999_000)
    number = write(tmp_path, "src,dst,size_bytes,when\n0,1,5,17\n")
    with pytest.raises(sw.SpecError, match="the column of starts does not say") as caught:
        records.read(number, Columns({"start": "when"}))
    assert caught.value.key == "--start-unit"


def test_a_size_whose_column_says_its_unit_needs_that_unit(tmp_path: Path) -> None:
    path = write(tmp_path, "src,dst,size_kb,start_ns\n0,1,5,7\n")
    with pytest.raises(sw.SpecError, match="1000, as the column size_kb says") as caught:
        records.read(path, Columns({"size": "size_kb"}))
    assert caught.value.key == "--unit-bytes"
    assert records.read(path, Columns({"size": "size_kb"}, unit_bytes=1000)).flows[0].size_bytes == 5000


def test_a_size_that_no_run_takes_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(sw.SpecError, match="at most 9007199254740991 bytes") as caught:
        records.read(write(tmp_path, "src,dst,size_bytes,start_ns\n0,1,1e30,7\n"), Columns())
    assert caught.value.key == "line 2, size"


def test_a_word_without_end_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, f"1\n1 4 3 {'9' * 5000} 0\n", "flow.txt")
    with pytest.raises(sw.SpecError, match="words of at most 1,000 characters"):
        flows.read(path)
    path = write(tmp_path, f"src,dst,size_bytes,start_ns\n{'9' * 5000},1,5,0\n")
    assert len(records.read(path, Columns()).hosts) == 2, "a name like any other"


def test_values_of_parquet_are_read_as_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "flows.parquet"
    table = {"src": [0.0, 3.0], "dst": [1.0, 2.0], "size_bytes": [Decimal(1500), Decimal(7)], "start_ns": [0, 1]}
    parquet.write_table(pa.table(table), path)
    found = records.read(path, Columns()).flows
    assert [(flow.src, flow.dst, flow.size_bytes) for flow in found] == [(0, 1, 1500), (3, 2, 7)]
    parquet.write_table(pa.table(table | {"src": [b"10.0.0.1", b"10.0.0.2"]}), path)
    assert "10.0.0.1" in records.read(path, Columns()).hosts


def test_a_cut_parquet_file_and_odd_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet.write_table(pa.table({"src": [1], "dst": [2], "size_bytes": [3], "start_ns": [4]}), tmp_path / "x.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "x.parquet").read_bytes()[:-20])
    assert main(["import", "flows", str(tmp_path / "cut.parquet")]) == 2
    assert "a whole Parquet file" in capsys.readouterr().err
    assert main(["import", "flows", str(tmp_path / "x.parquet"), "--columns", "source=src"]) == 2
    assert "WHAT being src, dst, size, start" in " ".join(capsys.readouterr().err.split())
    assert main(["import", "flows", str(tmp_path / "x.parquet")]) == 0
    assert capsys.readouterr().out == "src,dst,size_bytes,start_ns,pg\n1,2,3,4,0\n"


NAMED = "src,dst,size_bytes,start_s\n10.0.0.1,10.0.1.2,9,1700000000\n10.0.0.2,10.0.1.10,9,1700000001\n"


def test_hosts_of_one_prefix_share_a_rack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They were numbered in a row, so that one rack had them all and nothing crossed the fabric."""
    given, out = write(tmp_path, NAMED), tmp_path / "placed.csv"
    racks = ["--rack-of", "/24", "--hosts-per-leaf", "4"]
    assert main(["import", "flows", str(given), *racks, "--from-first", "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["hosts"] == {"10.0.0.1": 0, "10.0.0.2": 1, "10.0.1.2": 4, "10.0.1.10": 5}
    assert "10.0.0.0/24 is 0, 10.0.1.0/24 is 1" in record["notes"][0]
    assert out.read_text().splitlines()[1:] == ["0,4,9,0,0", "1,5,9,1000000000,0"]
    beside = tmp_path / "placed.hosts.csv"
    assert record["hosts_file"] == str(beside)
    assert beside.read_text() == "name,host\n10.0.0.1,0\n10.0.0.2,1\n10.0.1.2,4\n10.0.1.10,5\n"
    found = records.read(given, Columns(), placing.read_hosts(beside))
    assert [flow[:2] for flow in found.flows] == [(0, 4), (1, 5)]
    # What is there is kept, and nothing is half done.
    out.unlink()
    assert main(["import", "flows", str(given), *racks, "--out", str(out)]) == 2
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rack-of", "24"], "together with --hosts-per-leaf"),
        (["--hosts-per-leaf", "4"], "together with --rack-of"),
        (["--rack-of", "/200", "--hosts-per-leaf", "4"], "such as /24, at most /128"),
        (["--rack-of", "/33", "--hosts-per-leaf", "4"], "an IPv4 or IPv6 address of at least that many bits"),
        (["--rack-of", "/16", "--hosts-per-leaf", "3"], "4 or more: 10.0.0.0/16 has 4 hosts"),
        (["--hosts", "map.csv"], "a name that has a row in map.csv (--hosts)"),
        (["--hosts", "map.csv", "--rack-of", "/24"], "one of the two"),
        (["--hosts", "header.csv"], "the header name,host"),
        (["--hosts", "again.csv"], "each name and each host once"),
        (["--hosts", "word.csv"], "the number of its host from 0 on"),
    ],
)
def test_hosts_that_cannot_be_placed_are_refused(
    tmp_path: Path, options: list[str], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "map": "name,host\n10.0.0.1,0\n",
        "header": "a,b\n",
        "again": "name,host\na,1\nb,1\n",
        "word": "name,host\na,b\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    assert main(["import", "flows", str(write(tmp_path, NAMED)), *options]) == 2
    assert told in capsys.readouterr().err


def test_starts_that_no_run_reaches_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["import", "flows", str(write(tmp_path, NAMED)), "--json"]
    for options, told in (([], True), (["--from-first"], False), (["--earlier-ns", str(17 * 10**17)], False)):
        assert main([*words, *options]) == 0
        notes = json.loads(capsys.readouterr().out)["notes"]
        assert any("--from-first shifts it to 0" in note for note in notes) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("start,src,dst,bytes\n0.5,0,1,9\n", "flows.csv --out FILE` reads columns of other names"),
        ("src,dst,size_bytes,start_ns\n0,1,9,1700000000000000000\n", "18446744073709551 ns: `spinewise import flows"),
    ],
)
def test_a_list_that_import_could_mend_points_to_it(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(sw.SpecError) as caught:
        sw.resolve({"traffic": [{"kind": "flows", "file": str(write(tmp_path, text))}]})
    assert told in (caught.value.hint or "")


def test_starts_in_another_unit_are_told_where_they_fall_together(tmp_path: Path) -> None:
    """Seconds that were read as nanoseconds became a list of flows that all start at once, without a word."""
    text = "src,dst,size_bytes,start\n0,1,10,17.25\n1,0,10,17.5\n"
    told = "all 2 flows start within a nanosecond: is the unit of starts right?"
    wrong = records.read(write(tmp_path, text), Columns({"start": "start"}, "ns"))
    assert any(told in note for note in wrong.notes)
    right = records.read(write(tmp_path, text), Columns({"start": "start"}, "s"))
    assert not any(told in note for note in right.notes)
    for same in ("17.25", "17.250"):
        burst = records.read(write(tmp_path, text.replace("17.5", same)), Columns({"start": "start"}, "ns"))
        assert not any(told in note for note in burst.notes)


def test_a_start_that_is_no_number_is_refused_as_such(tmp_path: Path) -> None:
    text = "src,dst,size_bytes,start_ns\n0,1,9,1.2.3\n"
    with pytest.raises(sw.SpecError) as caught:
        sw.resolve({"traffic": [{"kind": "flows", "file": str(write(tmp_path, text))}]})
    assert "1.2.3" in (caught.value.hint or "")


def test_the_latest_start_is_what_is_told(tmp_path: Path) -> None:
    for start, fits in ((hints.LATEST_START_NS, True), (hints.LATEST_START_NS + 1, False)):
        entry = {"kind": "flows", "file": str(write(tmp_path, f"src,dst,size_bytes,start_ns\n0,1,9,{start}\n"))}
        try:
            sw.resolve({"traffic": [entry]})
        except sw.SpecError:
            assert not fits
        else:
            assert fits


def test_flows_that_stay_in_their_racks_are_told_of() -> None:
    """Links of spines stood at 0 %, without a word."""
    for dst, told in ((1, True), (5, False)):
        flows = [{"src": 0, "dst": dst, "size_bytes": 9}]
        spec = {
            "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
            "traffic": [{"kind": "flows", "list": flows}],
        }
        codes = {notice.code for notice in sw.run(spec).summary().warnings}
        assert ("no_packet_in_fabric" in codes) == told
