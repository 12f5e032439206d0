"""What is said of a recorded case besides its flows: parameters, labels, the file beside it, a file with the fabric."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import recorded_cases
from samples import listed
from spinewise.agreement import comparison, given, recorded, replay, setting
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.shapes import Scheme, Spec

TCP = "src,dst,size_bytes,start_ns,fct_ns\n0,9,1400,0,300000\n31,2,20000,5,400000\n"
# Three tiers: two ToRs of two hosts, an aggregation switch above each, a core.
THREE_TIERS = """9 5 8
4 5 6 7 8
0 4 100Gbps 1us 0
1 4 100Gbps 1us 0
2 5 100Gbps 1us 0
3 5 100Gbps 1us 0
4 6 100Gbps 1us 0
5 7 100Gbps 1us 0
6 8 100Gbps 1us 0
7 8 100Gbps 1us 0
"""


def tcp(folder: Path, name: str, beside: str | None = None) -> Path:
    """A case of TCP with the file beside it."""
    (folder / f"{name}.csv.gz").write_bytes(gzip.compress(TCP.encode()))
    if beside is not None:
        (folder / f"{name}.toml").write_text(beside)
    return folder


def rdma(folder: Path, name: str) -> Path:
    """A case of RDMA on four hosts."""
    flows = recorded_cases.flows([(0, 3, 5000, 0), (2, 1, 9000, 100), (1, 0, 700, 200)])
    recorded_cases.write(folder / f"{name}.csv.gz", flows)
    return folder


def spec(folder: Path, name: str, **more: str) -> Spec:
    """The spec that a case runs with, at salt 1."""
    planned = comparison.plan(folder, 2, [name], **more)
    return planned.spec(planned.cases[0], Path("flows.csv"), 1)


def test_parameters_stand_in_the_name(tmp_path: Path) -> None:
    name = "dctcp-letflow:flowlet_gap_us=50:transport.min_rto_us=7000:switch.nics=pull-asym"
    found = spec(tcp(tmp_path, name), name)
    assert found["scheme"] == {"name": "letflow", "params": {"flowlet_gap_us": 50}, "hash_salt": 1}
    assert (found["transport"], found["switch"]) == ({"min_rto_us": 7000}, {"nics": "pull"})
    assert found["topology"]["override"] == [{"leaf": 0, "spine": 3, "rate_gbps": 2}]
    (case,), _, _ = recorded.find(tmp_path)
    assert (case.scheme, case.load, case.label, case.usual) == ("letflow", "asym", "", False)


def test_rdma_takes_parameters_and_labels_too(tmp_path: Path) -> None:
    name = "ali50-irn-letflow:flowlet_gap_us=50:scheme.acks=scheme-second"
    (rdma(tmp_path, name) / f"{name}.toml").write_text("version = 1\n")
    found = spec(tmp_path, name)
    assert found["scheme"]["params"] == {"flowlet_gap_us": 50}
    assert (found["scheme"]["acks"], found["scheme"]["hash"]) == ("scheme", "murmur3")


def test_a_known_label_needs_no_file_and_another_does(tmp_path: Path) -> None:
    tcp(tmp_path, "dctcp-presto-rb-sym")
    tcp(tmp_path, "dctcp-presto-longer-sym")
    cases, _, skipped = recorded.find(tmp_path)
    assert [case.name for case in cases] == ["dctcp-presto-rb-sym"]
    assert skipped == [
        'dctcp-presto-longer-sym.csv.gz: skipped, what "longer" means would stand in dctcp-presto-longer-sym.toml'
    ]
    assert spec(tmp_path, "*-rb-*")["transport"] == {"resequencing": "periodic", "resequencing_in_order_us": 5}
    assert set(given.LABELS) == set(recorded.KNOWN_LABELS)


def test_the_file_beside_a_case_has_the_last_word(tmp_path: Path) -> None:
    beside = """version = 1
preset = "datacenter"
[scheme]
name = "presto"
params = { flowcell_packets = 7 }
[transport]
min_rto_us = 3000
[switch]
buffer_bytes = 500000
[topology]
fabric_delay_ns = 20000
[run]
until_us = 1000
"""
    tcp(tmp_path, "dctcp-other:flowcell_packets=9:weights=cells-rb-sym", beside)
    found = spec(tmp_path, "*")
    assert found["scheme"] == {
        "name": "presto", "params": {"flowcell_packets": 7, "weights": "cells"}, "hash_salt": 1,
    }  # fmt: skip
    assert found["preset"] == "datacenter"
    assert found["transport"] == {
        "resequencing": "periodic", "resequencing_in_order_us": 5, "min_rto_us": 3000,
    }  # fmt: skip
    assert found["switch"] == {"buffer_bytes": 500000}
    assert (found["topology"]["fabric_delay_ns"], found["topology"]["leaves"]) == (20000, 4)
    assert found["run"] == {"until_us": 1000}


def test_files_beside_cases_may_lie_elsewhere(tmp_path: Path) -> None:
    tcp(tmp_path, "dctcp-presto-x-sym")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "dctcp-presto-x-sym.toml").write_text("version = 1\n[transport]\ndupack_threshold = 9\n")
    assert spec(tmp_path, "*", sidecars=str(tmp_path / "more"))["transport"] == {"dupack_threshold": 9}
    with pytest.raises(SpecError, match="--sidecars"):
        comparison.plan(tmp_path, 2, sidecars=str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ("", "version = nothing"),
        ("version = 2", "version = 2: allowed is 1"),
        ('version = "1"', "version = 1: allowed is 1, the version"),
        ("version = 1\n[topolgy]", 'did you mean "topology"'),
        ("version = 1\ntransport = 3", "a table [transport]"),
        ("version = 1\nseed = 3", "seed = 3: allowed is version, preset, scheme"),
        ("version = 1\n[scheme]\nhash_salt = 3", "every salt is a run"),
        ('version = 1\n[scheme]\nname = "presot"', 'did you mean "presto"'),
        ("version = 1\n[scheme]\nname = 3", "scheme.name = 3"),
        ("version = 1\n[scheme]\nparams = 3", "scheme.params = 3"),
        ("version = 1\n[scheme]\nparams = { flowcel_packets = 7 }", 'did you mean "flowcell_packets"'),
        ("version = 1\n[transport]\nresequencing = 7", "transport.resequencing"),
        ("version = 1\n[topology]\nleaves = 2", "the largest of which is 31"),
        ('version = 1\n[topology]\nfile = "none.txt"', "topology.file"),
        ("version = ", "valid TOML"),
    ],
)
def test_what_is_wrong_beside_a_case_names_the_file(
    beside: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tcp(tmp_path, "dctcp-presto-rb-sym", beside)
    with pytest.raises(SpecError) as refused:
        comparison.plan(tmp_path, 2)
    assert said in str(refused.value)
    assert refused.value.file is not None
    assert refused.value.file.endswith("dctcp-presto-rb-sym.toml")
    assert main(["validate-against", str(tmp_path), "--salts", "2"]) == 2
    assert "dctcp-presto-rb-sym.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dctcp-presto:flowcel_packets=9-sym", 'did you mean "flowcell_packets"'),
        ("dctcp-presto:flowcell_packets-sym", 'has no "="'),
        ("dctcp-presto:flowcell_packets=many-sym", "flowcell_packets"),
    ],
)
def test_what_is_wrong_in_a_name_names_the_case(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        comparison.plan(tcp(tmp_path, name), 2)
    assert said in str(refused.value)
    assert str(refused.value.file).endswith(f"{name}.csv.gz")


def test_three_tiers_run_on_a_topology_file(tmp_path: Path) -> None:
    """The file in place of the leaf-spine, beside the case or for all cases; that code's clock stays."""
    (tmp_path / "three.txt").write_text(THREE_TIERS)
    (tmp_path / "three.toml").write_text('[topology]\nfile = "three.txt"\n')
    rdma(tmp_path, "ali50-lossless-ecmp")
    for file in ("three.txt", "three.toml"):
        found = spec(tmp_path, "*", topology=str(tmp_path / file))
        assert found["topology"] == {"tx_time_rounding": "floor_1ns", "file": str(tmp_path / "three.txt")}
    beside = 'version = 1\n[topology]\nkind = "fat_tree"\nk = 4\n'
    (tmp_path / "ali50-lossless-ecmp.toml").write_text(beside)
    found = spec(tmp_path, "*", topology=str(tmp_path / "three.txt"))
    assert found["topology"] == {"tx_time_rounding": "floor_1ns", "kind": "fat_tree", "k": 4}
    (tmp_path / "ali50-lossless-ecmp.toml").unlink()
    planned = comparison.plan(tmp_path, 2, topology=str(tmp_path / "three.txt"))
    assert not any("assumed" in note for note in planned.notes), "the fabric is given"
    (agreement,) = comparison.compare(planned, comparison.engine_runner(jobs=1))
    assert agreement.finished == agreement.flows == 3
    # Six links of 1 us each way: more than the round trip of a leaf-spine, by which the made-up ideal goes.
    assert agreement.scores["all"]["mean"].ours > 1.2


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("none.txt", None, "topology.file"),
        ("empty.toml", "", "has kind or file"),
        ("broken.toml", "[topology", "valid TOML"),
        ("small.txt", "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n", "the largest of which is 3"),
    ],
)
def test_a_topology_that_cannot_be_is_refused(file: str, content: str | None, said: str, tmp_path: Path) -> None:
    rdma(tmp_path, "ali50-lossless-ecmp")
    if content is not None:
        (tmp_path / file).write_text(content)
    with pytest.raises(SpecError) as refused:
        comparison.plan(tmp_path, 2, topology=str(tmp_path / file))
    assert said in str(refused.value)


def test_a_case_on_another_fabric_has_no_effect_against_ecmp(tmp_path: Path) -> None:
    for name in ("ali50-lossless-ecmp", "ali50-lossless-letflow"):
        rdma(tmp_path, name)
    planned = comparison.plan(tmp_path, 2)
    assert planned.baseline(planned.cases[1]) == planned.cases[0]
    (tmp_path / "ali50-lossless-letflow.toml").write_text("version = 1\n[topology]\nspines = 4\n")
    planned = comparison.plan(tmp_path, 2)
    assert planned.baseline(planned.cases[1]) is None


def test_without_rerouting_keeps_the_other_parameters() -> None:
    registry = [listed("x", "flowlet_gap_us", "other")]
    scheme: Scheme = {"name": "x", "params": {"other": 3, "flowlet_gap_us": 5}}
    assert setting.without_rerouting(scheme, registry)["params"] == {"other": 3, "flowlet_gap_us": 1e9}


def test_only_usual_cases_are_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rdma(tmp_path, "ali50-irn-letflow:flowlet_gap_us=50")
    with pytest.raises(SpecError, match="as such cases usually run"):
        replay.plan(tmp_path, [])
    rdma(tmp_path, "ali50-irn-ecmp")
    assert [case.name for case in replay.plan(tmp_path, [])] == ["ali50-irn-ecmp"]
    assert main(["validate-against", str(tmp_path), "--follow", "--topology", "x.txt"]) == 2
    assert "--topology" in capsys.readouterr().err
