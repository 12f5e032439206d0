"""Flow records in CSV and Parquet with named columns."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import spinewise as sw
from spinewise.cli import main
from spinewise.interop import records
from spinewise.interop.records import Columns


def write(folder: Path, text: str) -> Path:
    path = folder / "flows.csv"
    path.write_text(text)
    return path


def test_columns_are_found_by_name_in_any_order(tmp_path: Path) -> None:
    found = records.read(write(tmp_path, "start_us,dst,note,size_bytes,src\n# x\n2.5,1,a,10,0\n0,3,b,0,2\n"), Columns())
    assert [tuple(flow) for flow in found.flows] == [(0, 1, 0, None, 10, 2_500_000), (2, 3, 0, None, 1, 0)]
    assert found.notes == [f"{tmp_path / 'flows.csv'}: line 4: size 0 taken as 1"]


def test_other_names_and_units_are_told(tmp_path: Path) -> None:
    text = "ts;x,from,to,packets\n1.5,10.0.0.10,10.0.0.9,3\n1.75,10.0.0.2,10.0.0.10,2\n"
    told = Columns({"src": "from", "dst": "to", "size": "packets", "start": "ts;x"}, "ms", 1500)
    found = records.read(write(tmp_path, text), told)
    assert [tuple(flow) for flow in found.flows] == [
        (2, 1, 0, None, 4500, 1_500_000_000),
        (0, 2, 0, None, 3000, 1_750_000_000),
    ]
    assert "hosts are numbered in their order: 10.0.0.2 is 0, 10.0.0.9 is 1, 10.0.0.10 is 2" in found.notes[0]


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
        ("src,dst,size_bytes,when\n", Columns({"start": "when"}), "--start-unit = (nothing): allowed is s, ms, us"),
        ("src,dst,size_bytes,start_ns\n", Columns(), "(whole file) = a header alone"),
        ("src,dst,size_bytes,start_ns\n0,1,5\n", Columns(), "line 2, all = 3 fields: allowed is 4, as the header has"),
        ("src,dst,size_bytes,start_ns\n0,0,5,1\n", Columns(), "line 2, dst = 0: allowed is another host than src"),
        ("src,dst,size_bytes,start_ns\n0,1,5.5,1\n", Columns(), "line 2, size = 5.5: allowed is a whole number"),
        ("src,dst,size_bytes,start_ns\n0,1,5,-1\n", Columns(), "line 2, start = -1: allowed is a number, 0 or more"),
        ("Nodes 4\nConnections 1\n", Columns(), "it looks like an htsim connection matrix"),
    ],
)  # fmt: skip
def test_bad_records_are_refused_with_their_line(tmp_path: Path, text: str, columns: Columns, message: str) -> None:
    with pytest.raises(sw.SpecError) as caught:
        records.read(write(tmp_path, text), columns)
    assert message in str(caught.value)


def test_a_cut_parquet_file_and_odd_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet.write_table(pa.table({"src": [1], "dst": [2], "size_bytes": [3], "start_ns": [4]}), tmp_path / "x.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "x.parquet").read_bytes()[:-20])
    assert main(["import", "flows", str(tmp_path / "cut.parquet")]) == 2
    assert "a whole Parquet file" in capsys.readouterr().err
    assert main(["import", "flows", str(tmp_path / "x.parquet"), "--columns", "source=src"]) == 2
    assert "WHAT being src, dst, size, start" in " ".join(capsys.readouterr().err.split())
    assert main(["import", "flows", str(tmp_path / "x.parquet")]) == 0
    assert capsys.readouterr().out == "src,dst,size_bytes,start_ns,pg\n1,2,3,4,0\n"
