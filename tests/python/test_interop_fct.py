"""Completion times out and in, in the format of ConWeave's scripts."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import spinewise
from spinewise import core
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.interop import fct
from spinewise.interop.graph import Graph
from spinewise.measures.tables import numbers

# The fabric of ConWeave's evaluation, small: 1 µs links of 100 Gbps, 1000 B payload, 48 B besides.
FABRIC = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 100, "fabric_rate_gbps": 100}
SPEC: dict[str, Any] = {
    "topology": FABRIC,
    "transport": {"mss_bytes": 1000, "header_bytes": 48},
    "traffic": [
        {
            "kind": "flows",
            "list": [
                {"src": 0, "dst": 2, "size_bytes": 400_000, "start_ns": 0.5},
                {"src": 0, "dst": 2, "size_bytes": 1, "start_ns": 10},
                {"src": 1, "dst": 2, "size_bytes": 1001, "start_ns": 20},
                {"src": 2, "dst": 3, "size_bytes": 1000, "start_ns": 30},
            ],
        }
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    spinewise.run(SPEC).write(tmp_path / "run")
    return tmp_path


def exported(folder: Path, *options: str) -> list[list[str]]:
    path = folder / "out_fct.txt"
    assert main(["export", str(folder / "run"), "--fct", str(path), "--force", *options]) == 0
    return [line.split(" ") for line in path.read_text().splitlines()]


def test_export_writes_ports_and_times_as_conweave_does(folder: Path) -> None:
    rows = {(row[0], row[1], row[2]): row for row in exported(folder)}
    flows = spinewise.Result.read(folder / "run").flows.to_pylist()
    assert len(rows) == 4
    # Ports count up per sender and per receiver in the order of starting.
    assert rows["0", "2", "10000"][3] == "100"
    assert rows["0", "2", "10001"][3] == "101"
    assert rows["1", "2", "10000"][3] == "102"
    assert rows["2", "3", "10000"][3] == "100"
    for flow, key in zip(flows, [("0", "2", "10000"), ("0", "2", "10001"), ("1", "2", "10000")], strict=False):
        assert rows[key][4:7] == [
            str(flow["size_bytes"]), str(flow["start_ps"] // 1000), str(flow["sender_fct_ps"] // 1000),
        ]  # fmt: skip
    # 8320 ns across (four links of 1 µs twice, 80 ns each for 1000 B), 4160 in a rack, then the frames at 100 Gbps.
    assert rows["0", "2", "10000"][7] == str(8_320 + (400_000 + 48 * 400) * 8 // 100)
    assert rows["0", "2", "10001"][7] == str(8_320 + 49 * 8 // 100)
    assert rows["1", "2", "10000"][7] == str(8_320 + (1001 + 96) * 8 // 100)
    assert rows["2", "3", "10000"][7] == str(4_160 + 1048 * 8 // 100)


def test_starts_can_be_written_later(folder: Path) -> None:
    """ConWeave's script looks at flows that start after 2.005 s."""
    rows, later = exported(folder), exported(folder, "--later-ns", "2005000001")
    assert [int(row[5]) for row in later] == [int(row[5]) + 2_005_000_001 for row in rows]
    assert [row[:5] + row[6:] for row in later] == [row[:5] + row[6:] for row in rows]


def test_lines_come_in_the_order_of_finishing(folder: Path) -> None:
    ends = [int(row[5]) + int(row[6]) for row in exported(folder)]
    assert ends == sorted(ends)
    assert exported(folder)[-1][4] == "400000"


def test_what_was_exported_is_imported_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = exported(folder)
    source = str(folder / "out_fct.txt")
    capsys.readouterr()
    assert main(["import", "fct", source]) == 0
    read = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert read[0] == [
        "src", "dst", "sport", "dport", "size_bytes", "start_ns", "fct_ns", "ideal_fct_ns", "slowdown",
    ]  # fmt: skip
    assert sorted(row[:8] for row in read[1:]) == sorted(rows)
    assert [int(row[5]) for row in read[1:]] == [0, 10, 20, 30]
    for row in read[1:]:
        assert float(row[8]) == pytest.approx(max(1.0, int(row[6]) / int(row[7])))
    for name in ("x.parquet", "x.csv.gz", "x.csv"):
        assert main(["import", "fct", source, "--out", str(folder / name)]) == 0
    table = parquet.read_table(folder / "x.parquet")
    assert table.column("fct_ns").to_pylist() == [int(row[6]) for row in read[1:]]
    assert gzip.decompress((folder / "x.csv.gz").read_bytes()) == (folder / "x.csv").read_bytes()
    assert main(["import", "fct", source, "--out", str(folder / "x.json")]) == 2


def test_an_imported_table_is_a_flow_list(folder: Path) -> None:
    exported(folder)
    assert main(["import", "fct", str(folder / "out_fct.txt"), "--out", str(folder / "x.csv")]) == 0
    again = spinewise.run({**SPEC, "traffic": [{"kind": "flows", "file": str(folder / "x.csv")}]})
    assert numbers(again.flows, "size_bytes").tolist() == [400_000, 1, 1001, 1000]


def test_export_gives_hosts_the_ids_of_a_topology(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = folder / "t.txt"
    lines = ["5 1 4", "0", *(f"{host} 0 100Gbps 1us 0" for host in (1, 2, 3, 4))]
    nodes.write_text("\n".join(lines))
    rows = exported(folder, "--topology", str(nodes))
    assert {row[0] for row in rows} == {"1", "2", "3"}
    capsys.readouterr()
    assert main(["import", "fct", str(folder / "out_fct.txt"), "--topology", str(nodes)]) == 0
    assert {line.split(",")[0] for line in capsys.readouterr().out.splitlines()[1:]} == {"0", "1", "2"}
    nodes.write_text("3 1 2\n0\n1 0 1Gbps 1us 0\n2 0 1Gbps 1us 0\n")
    assert main(["export", str(folder / "run"), "--fct", str(folder / "y"), "--topology", str(nodes)]) == 2
    assert "too few hosts" in capsys.readouterr().err
    assert not (folder / "y").exists()


def test_ids_come_from_a_spec_with_an_imported_topology(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Completion times had ids of files of HPCC alone; a spec made from one, or from another format, keeps them too."""
    nodes, spec = folder / "t.txt", folder / "spec.toml"
    nodes.write_text("\n".join(["5 1 4", "0", *(f"{host} 0 100Gbps 1us 0" for host in (1, 2, 3, 4))]))
    assert main(["import", "topology", str(nodes), "--out", str(spec)]) == 0
    assert "[import]" in spec.read_text()
    rows = exported(folder, "--topology", str(spec))
    assert rows == exported(folder, "--topology", str(nodes))
    assert {row[0] for row in rows} == {"1", "2", "3"}
    capsys.readouterr()
    assert main(["import", "fct", str(folder / "out_fct.txt"), "--topology", str(spec)]) == 0
    assert {line.split(",")[0] for line in capsys.readouterr().out.splitlines()[1:]} == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("links.csv", "a,b,rate_gbps\ngpu0,leaf,100\n", "leave the option out"),
        ("spec.toml", '[topology]\nkind = "leaf_spine"\n', "leave the option out"),
        ("spec.toml", "[import]\nnodes = [1, 1]\n", "import.nodes[1]"),
        ("spec.toml", "[import\n", "a spec"),
        ("gpus.txt", "34 8 2 16 96 H20\n1 2\n", "give the spec with its [import]"),
    ],
)
def test_topologies_without_ids_are_refused_in_plain_words(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, told: str
) -> None:
    """The reader of HPCC's files complained of a header of three whole numbers."""
    (folder / name).write_text(text)
    for words in (["export", str(folder / "run"), "--fct", str(folder / "y")], ["import", "fct", str(folder / "x")]):
        assert main([*words, "--topology", str(folder / name)]) == 2
        error = capsys.readouterr().err
        assert told in " ".join(error.split())
        assert str(folder / name) in "".join(error.split())
    assert not (folder / "y").exists()


def test_flows_without_an_end_keep_their_ports_and_are_left_out(tmp_path: Path) -> None:
    spinewise.run({**SPEC, "run": {"stop": "time", "until_us": 20}}).write(tmp_path / "run")
    rows = exported(tmp_path)
    assert sorted(row[2] for row in rows if row[0] == "0") == ["10001"]


def test_export_refuses_what_is_no_run_or_would_overwrite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    taken = folder / "taken"
    taken.write_text("mine")
    assert main(["export", str(folder / "run"), "--fct", str(taken)]) == 2
    assert "--fct" in capsys.readouterr().err
    assert taken.read_text() == "mine"
    assert main(["export", str(folder / "none"), "--fct", str(folder / "x")]) == 2
    assert main(["export", str(folder / "run"), "--fct", str(taken), "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flows"] == 4


def test_addresses_in_hexadecimal_are_hosts(tmp_path: Path) -> None:
    path = tmp_path / "fct.txt"
    path.write_text("0b000101 0b010201 10000 100 1000 2000000000 5000 4000\n7 8 10000 100 1 1999999999 3000 4000\n")
    found = fct.read(path)
    assert [(row.src, row.dst) for row in found.rows] == [(7, 8), (1, 258)]
    assert [fct.slowdown(row) for row in found.rows] == [1.0, 1.25]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("0 1 10000 100 1000 5 5000", "line 1, all"),
        ("0 1 10000 100 1000 5 5000 x", "line 1, standalone fct"),
        ("0 1 10000 100 1000 5 5000 0", "line 1, standalone fct"),
        ("a 1 10000 100 1000 5 5000 1", "line 1, src"),
        ("0 1 10000 100 -1 5 5000 1", "line 1, size"),
        ("4294967296 1 10000 100 1000 5 5000 1", "line 1, src"),
        ("0 1 65536 100 1000 5 5000 1", "line 1, sport"),
        ("0 1 10000 4294967296 1000 5 5000 1", "line 1, dport"),
    ],
)
def test_bad_lines_are_named(line: str, key: str, tmp_path: Path) -> None:
    path = tmp_path / "fct.txt"
    path.write_text(line)
    with pytest.raises(SpecError) as caught:
        fct.read(path)
    assert caught.value.file == str(path)
    assert caught.value.key == key


def test_the_base_round_trip_follows_the_links_of_the_path() -> None:
    override = [
        {"leaf": 0, "spine": 0, "up": False},
        {"leaf": 0, "spine": 1, "rate_gbps": 50},
        {"host": 3, "delay_ns": 7},
    ]
    resolved = spinewise.resolve({**SPEC, "topology": {**FABRIC, "override": override}})
    graph = Graph.of(core.topology(resolved), resolved["transport"])
    across = graph.reach(0)[3]
    assert (across.hops, across.delay_ps, across.rate_bps) == (4, 3_007_000, 50 * 10**9)
    assert across.tx_ns == 80 + 160 + 80 + 80
    assert graph.standalone_ns(across, 2000) == 2 * 3_007 + 400 + 2 * 1048 * 8 // 50
    assert graph.reach(2)[3].hops == 2


def test_links_by_list_have_the_same_paths() -> None:
    links = [[0, 2, 100, 1000], [2, 1, 2.5, 1000.5]]
    topology = {"kind": "links", "hosts": 2, "switches": 1, "links": links}
    one_flow = {"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 1}]}
    fabric = core.topology({"topology": topology, "traffic": [one_flow]})
    path = Graph.of(fabric, {"mss_bytes": 1000, "header_bytes": 48}).reach(0)[1]
    assert (path.hops, path.delay_ps, path.tx_ns, path.rate_bps) == (2, 2_000_500, 80 + 3_200, 2_500_000_000)


def test_a_fat_tree_is_wired_as_the_engine_wires_it() -> None:
    """Within a pod and across, with what overrides change."""
    topology = {
        "kind": "fat_tree",
        "k": 4,
        "core_rate_gbps": 40,
        "core_delay_ns": 3000,
        "override": [{"leaf": 0, "aggregation": 1, "up": False}, {"aggregation": 0, "delay_ns": 2000}],
    }
    spec = spinewise.resolve({"topology": topology, "traffic": [{"kind": "permutation", "size_bytes": 1}]})
    graph = Graph.of(core.topology(spec), spec["transport"])
    reach = graph.reach(0)
    assert len(graph.edges) == 16 + 8 + 8 + 4
    assert (reach[2].hops, reach[2].delay_ps) == (4, 2 * 1_000_000 + 2 * 2_000_000)
    assert (reach[15].hops, reach[15].rate_bps) == (6, 10**10)
    # Up by aggregation switch 0, whose links were slowed, and down by one that has its own delays.
    assert reach[15].delay_ps == 1_000_000 + 2_000_000 + 2_000_000 + 3_000_000 + 1_000_000 + 1_000_000
