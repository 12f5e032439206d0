"""Topologies, flow lists and distributions of HPCC and ConWeave, and what is wrong with bad ones."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from spinewise import core
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.interop import cdf, flows, ids, topology
from spinewise.specs import spec

# Two switches, 0 and 3, between hosts 1, 2 and 4, 5.
TOPOLOGY = """6 2 5

0 3
1 0 10Gbps 1000ns 0
2 0 10000Mbps 0.001ms 0.000000
4 3 25Gbps 1us 0
5 3 2.5Gbps 1.5us 0
0 3 100Gbps 1000.5ns 0

First line: total node #, switch node #, link #
"""
FLOWS = "3 \n1 4 3 1000 2.000000027\n2 5 3 0 2.0\n4 1 3 2000 2\n"


def file(folder: Path, text: str, name: str = "x.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_topology_is_renumbered_with_hosts_first_and_keeps_the_order_of_links(tmp_path: Path) -> None:
    found = topology.read(file(tmp_path, TOPOLOGY))
    assert (found.hosts, found.switches) == (4, 2)
    assert found.nodes == [1, 2, 4, 5, 0, 3]
    assert found.renumbered
    assert found.table()["links"] == [
        [0, 4, 10, 1000],
        [1, 4, 10, 1000],
        [2, 5, 25, 1000],
        [3, 5, 2.5, 1500],
        [4, 5, 100, 1000.5],
    ]
    written = tomllib.loads(found.toml())
    assert written["topology"] == found.table()
    assert written["import"]["nodes"] == found.nodes


def test_switches_behind_hosts_keep_their_numbers_and_may_fill_several_lines(tmp_path: Path) -> None:
    links = "0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1GB/s 1us 0"
    found = topology.read(file(tmp_path, f"4 2 3\n2\n3\n{links}"))
    assert not found.renumbered
    assert found.links[2].rate_bps == 8 * 10**9


LINE4 = "1 0 10Gbps 1000ns 0"
BAD_TOPOLOGIES = {
    "surplus link": (("6 2 5", "6 2 4"), "line 8", "promises 4"),
    "missing link": (("6 2 5", "6 2 7"), "line 1", "the last is line 8"),
    "unknown node": (("0 3 100Gbps", "0 6 100Gbps"), "line 8, node", "0 to 5"),
    "unknown switch": (("\n0 3\n", "\n0 9\n"), "line 3, switch", "0 to 5"),
    "switch twice": (("\n0 3\n", "\n3 3\n"), "line 3, switch", "once"),
    "too many switches": (("\n0 3\n", "\n0 3 4\n"), "line 3, switches", "2 ids"),
    "no unit": ((LINE4, "1 0 10 1000ns 0"), "line 4, unit of the rate", "Gbps"),
    "unknown rate unit": ((LINE4, "1 0 10Gbsp 1000ns 0"), "line 4, unit of the rate", 'mean "Gbps"'),
    "unknown delay unit": ((LINE4, "1 0 10Gbps 1000nanos 0"), "line 4, unit of the delay", "ns"),
    "finer than a picosecond": ((LINE4, "1 0 10Gbps 0.0001ns 0"), "line 4, delay", "picoseconds"),
    "negative delay": ((LINE4, "1 0 10Gbps -1ns 0"), "line 4, delay", "0 or more"),
    "no rate": ((LINE4, "1 0 0Gbps 1ns 0"), "line 4, rate", "above 0"),
    "packet errors": ((LINE4, "1 0 10Gbps 1ns 0.01"), "line 4, error rate", "[[fault]]"),
    "word missing": ((LINE4, "1 0 10Gbps 1000ns"), "line 4, all", "error_rate"),
    "to itself": ((LINE4, "1 1 10Gbps 1000ns 0"), "line 4, node", "another node"),
    "two links of a host": (("2 0 10000Mbps", "1 3 10000Mbps"), "line 5, node", "line 4"),
    "host to host": (("2 0 10000Mbps", "2 1 10000Mbps"), "line 5, all", "a switch"),
    "host without link": (("6 2 5", "7 2 5"), "line 1, links", "one link of every host"),
    "more switches than nodes": (("6 2 5", "6 7 5"), "line 1, number of switches", "6"),
    "more nodes than links": (("6 2 5", "1000000000 2 5"), "line 1, number of nodes", "at most 7"),
    "not a number": (("6 2 5", "6 two 5"), "line 1, number of switches", "whole number"),
}


@pytest.mark.parametrize("case", BAD_TOPOLOGIES)
def test_bad_topologies_name_file_and_line(case: str, tmp_path: Path) -> None:
    (old, new), key, said = BAD_TOPOLOGIES[case]
    assert old in TOPOLOGY
    path = file(tmp_path, TOPOLOGY.replace(old, new))
    with pytest.raises(SpecError) as caught:
        topology.read(path)
    assert caught.value.file == str(path)
    assert caught.value.key.startswith(key)
    assert said in caught.value.one_line()


def test_starts_are_read_to_the_last_digit(tmp_path: Path) -> None:
    lines = [
        "5",
        "0 1 3 1 2.000000027",
        "0 1 3 1 9007199.254740993",
        "0 1 3 1 2",
        "0 1 3 1 0.000000000001",
        "0 1 3 1 2.5e-9",
    ]
    found = flows.read(file(tmp_path, "\n".join(lines)))
    assert [flow.start_ps for flow in found.flows] == [
        2_000_000_027_000,
        9_007_199_254_740_993_000,
        2 * 10**12,
        1,
        2500,
    ]
    assert found.csv().splitlines()[1:] == [
        "0,1,1,2000000027,3", "0,1,1,9007199254740993,3", "0,1,1,2000000000,3", "0,1,1,0.001,3",
        "0,1,1,2.5,3",
    ]  # fmt: skip


def test_six_words_have_a_destination_port(tmp_path: Path) -> None:
    text = "1\n2 1 3 100 200000000 2\n\nFirst line: # of flows\nsrc0 dst0 3 dst_port0 size0 start_time0\n...\n"
    found = flows.read(file(tmp_path, text))
    assert found.flows == [flows.Flow(2, 1, 3, 100, 200_000_000, 2 * 10**12)]
    assert found.csv() == "src,dst,size_bytes,start_ns,pg,dport\n2,1,200000000,2000000000,3,100\n"


def test_a_size_of_zero_becomes_one_and_is_noted(tmp_path: Path) -> None:
    found = flows.read(file(tmp_path, FLOWS))
    assert [flow.size_bytes for flow in found.flows] == [1000, 1, 2000]
    assert found.notes == [f"{tmp_path / 'x.txt'}: line 3: size 0 taken as 1"]


def test_node_ids_become_our_hosts(tmp_path: Path) -> None:
    nodes = ids.read(file(tmp_path, TOPOLOGY, "topology.txt"))
    found = flows.read(file(tmp_path, FLOWS), nodes)
    assert [(flow.src, flow.dst) for flow in found.flows] == [(0, 2), (1, 3), (2, 0)]


def test_a_spec_with_the_ids_of_an_imported_topology_stands_for_it(tmp_path: Path) -> None:
    source, made = file(tmp_path, TOPOLOGY, "topology.txt"), tmp_path / "fabric.toml"
    assert main(["import", "topology", str(source), "--out", str(made)]) == 0
    known = ids.read(made)
    assert (known.hosts, known.switches) == (ids.read(source).hosts, frozenset({0, 3}))
    listed, out = file(tmp_path, FLOWS, "flows.txt"), tmp_path / "flows.csv"
    assert main(["import", "flows", str(listed), "--topology", str(made), "--out", str(out)]) == 0
    rows = out.read_text().splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [["0", "2"], ["1", "3"], ["2", "0"]]
    made.write_text(made.read_text().replace("nodes = [1, ", "nodes = ["))
    with pytest.raises(SpecError, match="as many as"):
        ids.read(made)


BAD_FLOWS = {
    "header too large": (("3 \n", "5\n"), "line 1, number of flows", "3, as many flows as there are"),
    "header too large, the end": (("3 \n", "5\n"), "line 1, number of flows", "the last is line 4"),
    "header too small": (("3 \n", "2\n"), "line 4, all", "promises 2"),
    "header of two words": (("3 \n", "3 4\n"), "line 1, all", "alone"),
    "header of no flow": (("3 \n", "0\n"), "line 1, number of flows", "1 or more"),
    "start before 0": (("2.0\n", "-2.0\n"), "line 3, start", "0 or more"),
    "start no number": (("2.0\n", "2.0s\n"), "line 3, start", "seconds"),
    "start too fine": (("2.0\n", "2.0000000000001\n"), "line 3, start", "12 decimals"),
    "start not finite": (("2.0\n", "inf\n"), "line 3, start", "seconds"),
    "size negative": (("3 0 2.0", "3 -1 2.0"), "line 3, size", "0 or more"),
    "src negative": (("2 5 3 0 2.0", "-2 5 3 0 2.0"), "line 3, src", "0 or more"),
    "to itself": (("2 5 3 0 2.0", "5 5 3 0 2.0"), "line 3, dst", "another host"),
    "words missing": (("2 5 3 0 2.0", "2 5 3 0"), "line 3, all", "src dst pg size start"),
    "mixed widths": (("2 5 3 0 2.0", "2 5 3 100 0 2.0"), "line 3, all", "line 2"),
    "a switch": (("2 5 3 0 2.0", "2 3 3 0 2.0"), "line 3, dst", "it is a switch"),
    "unknown node": (("2 5 3 0 2.0", "2 6 3 0 2.0"), "line 3, dst", "the id of a host of"),
}


@pytest.mark.parametrize("case", BAD_FLOWS)
def test_bad_flow_lists_name_file_and_line(case: str, tmp_path: Path) -> None:
    (old, new), key, said = BAD_FLOWS[case]
    assert old in FLOWS
    nodes = ids.read(file(tmp_path, TOPOLOGY, "topology.txt"))
    path = file(tmp_path, FLOWS.replace(old, new))
    with pytest.raises(SpecError) as caught:
        flows.read(path, nodes)
    assert caught.value.file == str(path)
    assert caught.value.key == key
    assert said in caught.value.one_line()


@pytest.mark.parametrize(
    "text",
    [
        "# sizes\n0 0\n100 0.5\n300 1\n",
        "0 0\n100, 50 # half\r\n300\t100",
        "0 1 0\n100 1 0.5\n300 1 1.0",
        "# of a day\nsize_bytes,cdf\n0,0\n100,0.5\n300,1",
    ],
)
def test_distributions_in_percent_or_not_in_two_columns_or_three(text: str, tmp_path: Path) -> None:
    found = cdf.read(file(tmp_path, text))
    assert [(float(size), float(p)) for size, p in found.points] == [(0, 0), (100, 0.5), (300, 1)]
    assert found.mean_bytes == 0.5 * 50 + 0.5 * 200
    assert found.text().splitlines()[1:] == ["0 0", "100 0.5", "300 1"]


def test_distributions_are_exact_and_sizes_may_be_in_packets(tmp_path: Path) -> None:
    found = cdf.read(file(tmp_path, "6 1 0\n6 1 .15\n13.5 1 1\n"), unit_bytes=1460)
    assert found.text().splitlines()[1:] == ["8760 0", "8760 0.15", "19710 1"]
    assert cdf.read(file(tmp_path, "0 0\n1 22.93\n2 100\n")).text().splitlines()[2] == "1 0.2293"


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("0 0\n10 0.7\n20 0.6\n30 1\n", "line 3, value", "at least 0.7"),
        ("0 0 0\n10 0.5 0.5\n20 0.5 1\n", "line 2, second column", "0, as line 1 has"),
        ("0 0\n\n10 0.5\n5 1\n", "line 4, size", "at least 10"),
        ("0 0\n10 x\n", "line 2, value", "a number"),
        ("0 0\n-1 1\n", "line 2, size", "0 or more"),
        ("0 0\n10 1 1\n", "line 2, all", "2 numbers"),
        ("size cdf\n0 1 0\n10 1 1\n", "line 2, all", "2 numbers"),
        ("size cdf\nbytes share\n0 0\n1 1\n", "line 2, all", "a point"),
        ("Connections 3\n0->1 size 5 start 0\n", "line 1, all", "spinewise import htsim-cm"),
        ("0\n10\n", "line 1, all", "a point"),
        ("1 0.5\n10 1\n", "line 1, value", "0 at the first"),
        ("0 0\n10 0.9\n", "line 2, value", "1 at the last"),
        ("0 0\n10 99\n", "line 2, value", "100 for percent"),
        ("0 0\n0 1\n", "line 2, size", "above 0"),
        ("0 0\n", "line 1, all", "two points"),
        ("# none\n", "line 1, all", "two points"),
        ("\n\n", "(whole file)", "content"),
    ],
)
def test_bad_distributions_name_file_and_line(text: str, key: str, said: str, tmp_path: Path) -> None:
    path = file(tmp_path, text)
    with pytest.raises(SpecError) as caught:
        cdf.read(path)
    assert caught.value.file == str(path)
    assert caught.value.key == key
    assert said in caught.value.one_line()


def test_import_writes_what_a_spec_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "\n".join(f"{host} {8 + host // 4} 10Gbps 1us 0" for host in range(8))
    nodes = file(tmp_path, f"10 2 9\n8 9\n{lines}\n8 9 10Gbps 1us 0\n", "t.txt")
    source = file(tmp_path, FLOWS.replace("\n1 4 3", "\n1 6 3"))
    sizes = file(tmp_path, "0 0\n100 50\n300 100\n", "c.txt")
    assert main(["import", "flows", str(source), "--topology", str(nodes), "--out", str(tmp_path / "f.csv")]) == 0
    assert "3 flows" in capsys.readouterr().out
    assert main(["import", "cdf", str(sizes), "--out", str(tmp_path / "c.cdf")]) == 0
    resolved = spec.resolve(
        {
            "topology": {"hosts_per_leaf": 4},
            "traffic": [
                {"kind": "flows", "file": str(tmp_path / "f.csv")},
                {"kind": "poisson", "cdf_file": str(tmp_path / "c.cdf"), "load": 0.1, "duration_us": 1},
            ],
        }
    )
    assert resolved["traffic"][0]["file_digest"]
    assert core.run(resolved)["flows"]["src"][1]
    capsys.readouterr()
    assert main(["import", "topology", str(nodes)]) == 0
    assert tomllib.loads(capsys.readouterr().out)["topology"]["hosts"] == 8


def test_import_tells_programs_and_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(tmp_path, FLOWS)
    assert main(["import", "flows", str(path), "--json", "--earlier-ns", "2000000000"]) == 0
    captured = capsys.readouterr()
    record = json.loads(captured.out)
    assert record["flows"] == 3
    assert record["first_start_ps"] == 0
    assert record["last_start_ps"] == 27_000
    assert "line 3: size 0 taken as 1" in captured.err
    assert main(["import", "flows", str(path), "--earlier-ns", "2000000001"]) == 2
    assert "at most the first start, 2000000000 ns" in capsys.readouterr().err
    out = file(tmp_path, "mine", "kept.csv")
    assert main(["import", "flows", str(path), "--out", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main(["import", "flows", str(path), "--out", str(out), "--force"]) == 0
    assert out.read_text().startswith("src,dst")
    assert main(["import", "flows", str(path), "--out", str(tmp_path / "no" / "x.csv")]) == 2
    assert main(["import", "topology", str(tmp_path / "none.txt")]) == 2
    assert "none.txt" in capsys.readouterr().err
