"""Lists of links between named nodes in CSV: what becomes of them, mistakes in them, and flows between the nodes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import cast

import pytest

import spinewise as sw
from spinewise import core
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.interop import named
from spinewise.interop.named import Columns
from spinewise.shapes import Spec

LINKS = """\
# racks
a,b,rate_gbps,delay_ns
tor1,spine-a,100,500
gpu07,tor1,25,1000
tor2,spine-a,100,500
"GPU 31, rack 2",tor2,25,1000
gpu 8,tor1,25,1000
tor1,spine-b,40,500
tor2,spine-b,40,500.5
"""
NAMES = ["gpu07", "GPU 31, rack 2", "gpu 8", "tor1", "spine-a", "tor2", "spine-b"]


def write(folder: Path, text: str, name: str = "links.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def imported(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[int, str, str]:
    code = main(["import", *map(str, args)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(folder: Path, text: str, columns: Columns | None = None) -> str:
    path = write(folder, text)
    with pytest.raises(SpecError) as error:
        named.read(path, columns)
    return str(error.value).removeprefix(f"{path}: ")


# ---- the list of links ----


def test_nodes_with_one_link_are_hosts_and_come_first_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = named.read(write(tmp_path, LINKS))
    assert found.names == NAMES
    assert (found.topology.hosts, found.topology.switches) == (3, 4)
    assert [(link.a, link.b) for link in found.topology.links[:3]] == [(3, 4), (0, 3), (5, 4)]
    assert found.notes == []


def test_links_listed_from_both_ends_and_columns_not_read_are_told(tmp_path: Path) -> None:
    text = "a,b,rate_gbps,delay_ns,count\nh1,t1,25,500,1\nt1,s1,40,1,2\ns1,t1,40,1,2\nt1,s1,40,1,2\ns1,t1,40,1,2\n"
    path = write(tmp_path, text)
    found = named.read(path)
    assert len(found.topology.links) == 5
    assert found.notes == [
        f"{path}: columns that are not read: count",
        f"{path}: line 4 has the ends of line 3 the other way round, and 1 more: each line is a link of its own, so a"
        " list of links from both ends has twice as many as the fabric",
    ]


def test_the_table_names_nodes_and_links_and_is_a_spec(tmp_path: Path) -> None:
    table = tomllib.loads(named.read(write(tmp_path, LINKS)).toml())["topology"]
    assert table["names"] == NAMES
    assert table["links"][3] == ["GPU 31, rack 2", "tor2", 25, 1000]
    assert table["links"][6] == ["tor2", "spine-b", 40, 500.5]
    spec = cast(
        Spec, {"topology": table, "traffic": [{"kind": "incast", "receiver": 0, "senders": 2, "size_bytes": 10_000}]}
    )
    resolved = core.resolve(spec)
    assert resolved["topology"]["links"][3] == [1, 5, 25, 1000]
    result = sw.run(spec)
    assert result.report["finished"] == result.report["flows"]
    assert "gpu07->tor1" in {link["name"] for link in result.report["links"]}


@pytest.mark.parametrize(
    ("header", "row", "rate_bps", "delay_ps"),
    [
        ("node_a,node_b,capacity_gbps,delay_us", "{},{},100,1.5", 100_000_000_000, 1_500_000),
        ("src,dst,rate_mbps,latency_ms", "{},{},2.5,0.001", 2_500_000, 1_000_000),
        ("from,to,rate,delay", "{},{},100Gbps,2us", 100_000_000_000, 2_000_000),
        ("x,from,to,Bandwidth_Gbps,Delay_ns", "9,{},{},0.5,0", 500_000_000, 0),
        ("a,b,rate_gbps", "{},{},100", 100_000_000_000, 1_000_000),
    ],
)
def test_columns_have_usual_names_with_their_units(
    tmp_path: Path, header: str, row: str, rate_bps: int, delay_ps: int
) -> None:
    rows = [row.format(a, b) for a, b in (("h1", "s"), ("h2", "s"))]
    found = named.read(write(tmp_path, "\n".join([header, *rows]) + "\n"))
    link = found.topology.links[1]
    assert (link.rate_bps, link.delay_ps, found.names[link.a]) == (rate_bps, delay_ps, "h2")


def test_a_file_without_delays_is_read_with_usual_ones_and_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, "a,b,rate_gbps\nh1,s,10\nh2,s,10\n")
    code, out, err = imported(capsys, "topology", file)
    assert code == 0
    assert '["h1", "s", 10, 1000],' in out
    assert f"{file}: no column of delays: every link takes 1000 ns" in " ".join(err.split())


def test_other_names_of_columns_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, "left,right,Speed,note\nh1,s,10,x\nh2,s,25,y\n")
    out = tmp_path / "fabric.toml"
    code, _, err = imported(
        capsys, "topology", file, "--columns", "a=left,b=right,rate_gbps=Speed", "--out", out, "--json"
    )
    assert code == 0, err
    assert tomllib.loads(out.read_text())["topology"]["links"] == [["h1", "s", 10, 1000], ["h2", "s", 25, 1000]]
    code, _, err = imported(capsys, "topology", file, "--columns", "left=a")
    assert code == 2
    assert "WHAT being a, b, rate_gbps, delay_ns" in " ".join(err.split())


def test_a_pattern_says_which_nodes_are_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "a,b,rate_gbps,delay_ns\ngpu1,tor,10,1\ngpu2,tor,10,1\ntor,border,10,1\n"
    assert named.read(write(tmp_path, text)).names == ["gpu1", "gpu2", "border", "tor"]
    assert named.read(write(tmp_path, text), Columns(hosts="gpu*")).names == ["gpu1", "gpu2", "tor", "border"]
    code, out, _ = imported(capsys, "topology", write(tmp_path, text), "--hosts", "gpu?", "--json")
    assert (code, json.loads(out)["hosts"]) == (0, 2)


def test_a_server_with_several_links_is_told_to_be_a_switch_here(tmp_path: Path) -> None:
    rows = ["server0,leaf0", "server1,leaf1", "server2,leaf0", "server2,leaf1", "leaf0,spine", "leaf1,spine"]
    text = "\n".join(["a,b,rate_gbps,delay_ns", *(f"{row},100,500" for row in rows)])
    found = named.read(write(tmp_path, text))
    assert found.topology.hosts == 2
    assert [note for note in found.notes if "called alike: server2;" in note] == found.notes
    # Where all nodes are called alike, names say nothing; nor do they where a pattern says which are hosts.
    assert named.read(write(tmp_path, text.replace("leaf", "server9").replace("spine", "server88"))).notes == []
    assert named.read(write(tmp_path, text), Columns(hosts="server[01]")).notes == []


@pytest.mark.parametrize(
    ("was", "becomes", "key"),
    [
        ("tor1,spine-a,100,", "tor1,spine-a,1e12,", "topology.links[0].rate_gbps"),
        ("tor2,spine-a,", "gpu 9,spine-c,1,1\ntor2,spine-c,", "topology.switches"),
    ],
)
def test_a_fabric_that_no_run_takes_is_not_written(
    was: str, becomes: str, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path, LINKS.replace("tor2,spine-b,40,500.5\n", "").replace(was, becomes))
    out = tmp_path / "out.toml"
    code, _, err = imported(capsys, "topology", source, "--out", out)
    assert code == 2
    assert key in err
    assert str(source) in err
    assert not out.exists()


def test_parallel_links_stay_parallel(tmp_path: Path) -> None:
    text = "a,b,rate_gbps,delay_ns\nh1,s,10,1\nh2,t,10,1\ns,t,10,1\nt,s,10,1\n"
    table = tomllib.loads(named.read(write(tmp_path, text)).toml())["topology"]
    told = core.topology(core.resolve(cast(Spec, {"topology": table, "traffic": [PERMUTATION]})))
    assert {"s->t#0", "s->t#1"} <= {link["name"] for link in told["links"]}


PERMUTATION = {"kind": "permutation", "size_bytes": 1000}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,delay_ns\nh,s,1\n", "line 1, column of rate_gbps = a, b, delay_ns: allowed is with rate_gbps"),
        ("p,q,rate_gbps\nh,s,1\n", "line 1, column of a = p, q, rate_gbps: allowed is with a and b or node_a"),
        ("a,b,rate_gbps\n", "(whole file) = only a header: allowed is at least one link"),
        ("a,b,rate_gbps\nh,s\n", "line 2, all = h,s: allowed is 3 fields, as the header has"),
        ("# x\na,b,rate_gbps\n\n,s,1\n", "line 4, a = (nothing): allowed is a name of 1 to 60 printable characters"),
        ("a,b,rate_gbps\nh,s->t,1\n", "line 2, b = s->t: allowed is a name of 1 to 60 printable characters"),
        ("a,b,rate_gbps\nh,h,1\n", "line 2, b = h: allowed is another node than in a"),
        ("a,b,rate_gbps\nh,s,fast\n", "line 2, rate_gbps = fast: allowed is a number"),
        ("a,b,rate_gbps\nh,s,0\n", "line 2, rate_gbps = 0: allowed is a whole number of bits/s, above 0"),
        ("a,b,rate\nh,s,100\n", "line 2, rate = 100: allowed is a number with one of the units bps"),
        ("a,b,rate_gbps,delay\nh,s,1,5\n", "line 2, delay = 5: allowed is a number with one of the units s, ms"),
        ("a,b,rate_gbps,delay_ns\nh,s,1,-1\n", "line 2, delay_ns = -1: allowed is a whole number of picoseconds"),
        ("a,b,rate_gbps\nh,g,1\n", "line 2, b = g: allowed is a switch: h is a host"),
        ("a,b,rate_gbps\nr,s,1\ns,t,1\nt,r,1\n", "(whole file) = 3 nodes with several links each: allowed is a node"),
    ],
)
def test_mistakes_are_named_with_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    assert refused(tmp_path, text).startswith(message)


def test_a_column_without_a_unit_can_be_given_one(tmp_path: Path) -> None:
    text = "a,b,rate\nh,s,100\ng,s,100\n"
    assert "(--columns rate_gbps=rate says that the whole column is in Gbps)" in refused(tmp_path, text)
    found = named.read(tmp_path / "links.csv", Columns({"rate_gbps": "rate"}))
    assert found.topology.links[0].rate_bps == 100_000_000_000


def test_hosts_of_a_pattern_have_one_link(tmp_path: Path) -> None:
    text = "a,b,rate_gbps\ngpu1,s,1\ngpu1,t,1\ns,t,1\n"
    said = refused(tmp_path, text, Columns(hosts="gpu*"))
    assert said.startswith("line 3, a = gpu1: allowed is a host with one link; line 2 already has its link")
    assert refused(tmp_path, text, Columns(hosts="cpu*")).startswith("--hosts = cpu*: allowed is a pattern")


# ---- flows between named hosts ----

FLOWS = 'src,dst,size_bytes,start_ns\ngpu 8,gpu07,1000,0\ngpu07,"GPU 31, rack 2",2000,5\n'


@pytest.mark.parametrize("by", ["links.csv", "fabric.toml"])
def test_flows_between_names_get_the_numbers_of_the_topology(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    links, flows = write(tmp_path, LINKS), write(tmp_path, FLOWS, "flows.csv")
    assert imported(capsys, "topology", links, "--out", tmp_path / "fabric.toml")[0] == 0
    out = tmp_path / "ours.csv"
    code, said, err = imported(capsys, "flows", flows, "--topology", tmp_path / by, "--out", out)
    assert code == 0, err
    assert out.read_text() == "src,dst,size_bytes,start_ns,pg\n2,0,1000,0,0\n0,1,2000,5,0\n"
    assert "numbered in the order of their names" not in said + err
    table = tomllib.loads((tmp_path / "fabric.toml").read_text())["topology"]
    result = sw.run(cast(Spec, {"topology": table, "traffic": [{"kind": "flows", "file": str(out)}]}))
    assert sorted(result.flows.column("src").to_pylist()) == [0, 2]


def test_names_that_are_no_hosts_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = write(tmp_path, LINKS)
    for name in ("tor1", "gpu08"):
        flows = write(tmp_path, FLOWS.replace("gpu 8", name), "flows.csv")
        code, _, err = imported(capsys, "flows", flows, "--topology", links)
        assert code == 2
        told = " ".join(err.split())
        assert name in told
        assert "links.csv" in told
        assert "--topology" in told


def test_a_topology_without_names_places_no_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flows = write(tmp_path, FLOWS, "flows.csv")
    spec = write(tmp_path, "[topology]\nleaves = 2\n", "spec.toml")
    code, _, err = imported(capsys, "flows", flows, "--topology", spec)
    assert code == 2
    assert "topology.names" in err
    links, hosts = write(tmp_path, LINKS), write(tmp_path, "name,host\ngpu07,0\n", "x.hosts.csv")
    code, _, err = imported(capsys, "flows", flows, "--topology", links, "--hosts", hosts)
    assert code == 2
    assert "--topology" in err
