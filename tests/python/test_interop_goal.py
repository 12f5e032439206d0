"""GOAL schedules: what is read, what a run of it is, what is refused."""

import json
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.interop import goal
from spinewise.interop.dag import Operation

CHAIN = """num_ranks 3
/* Three ranks:
   a chain. */
rank 0 {
l1: calc 1000 cpu 2 // work
l2: send 3000b to 1 tag 7 cpu 0 nic 0
l2 requires l1
}
rank 1 {
  l3 irequires got
  got: recv 3000b from 0 tag 7
  l3: send 8b to 2
  calc 5
}
rank 2 {
recv 8b from 1
}
"""


def dissemination(ranks: int) -> str:
    """A barrier by dissemination, as Schedgen writes it: in round k rank r sends to r + 2^k when it has received."""
    blocks = [f"num_ranks {ranks}"]
    for rank in range(ranks):
        rows = []
        step = 1
        label = 1
        while step < ranks:
            rows.append(f"l{label}: send 1b to {(rank + step) % ranks} tag 0")
            if label > 1:
                rows.append(f"l{label} requires l{label - 1}")
            rows.append(f"l{label + 1}: recv 1b from {(rank - step) % ranks} tag 0")
            step, label = 2 * step, label + 2
        blocks += [f"\nrank {rank} {{", *rows, "}"]
    return "\n".join(blocks) + "\n"


def write(folder: Path, text: str, name: str = "x.goal") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_operations_are_those_of_the_file(tmp_path: Path) -> None:
    dag = goal.read(write(tmp_path, CHAIN))
    assert dag.ranks == 3
    assert dag.operations == [
        Operation("r0.l1", 0, "calc", duration_ps=1_000_000, unit=2),
        Operation("r0.l2", 0, "send", peer=1, size_bytes=3000, tag=7, requires=["r0.l1"]),
        Operation("r1.got", 1, "recv", peer=0, size_bytes=3000, tag=7),
        Operation("r1.l3", 1, "send", peer=2, size_bytes=8, irequires=["r1.got"]),
        Operation("r1.line13", 1, "calc", duration_ps=5_000),
        Operation("r2.line16", 2, "recv", peer=1, size_bytes=8),
    ]
    assert dag.notes == []


def test_a_dissemination_of_16_ranks_imports_and_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # dissemination_16.goal of spcl/LogGOPSim has these counts: 4 sends and receives a rank, each send but the first
    # after the receive of the round before.
    source = write(tmp_path, dissemination(16))
    out = tmp_path / "ops.csv"
    assert main(["import", "goal", str(source), "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["ranks"], record["send"], record["recv"], record["calc"], record["bytes"]) == (16, 64, 64, 0, 64)
    assert record["toml"] == f'[[traffic]]\nkind = "dag"\nfile = "{out}"\n'
    assert len(out.read_text().splitlines()) == 1 + 128
    spec = {
        "topology": {"leaves": 4, "spines": 2, "hosts_per_leaf": 4},
        "traffic": [{"kind": "dag", "file": str(out)}],
    }
    result = sw.run(spec)
    assert result.report["finished"] == 64
    told = result.report["operations"][0]
    assert (told["operations"], told["ended"]) == (128, 128)
    starts, fct = (result.flows[name].to_pylist() for name in ("start_ps", "fct_ps"))
    by_source = {src: sorted(s for s, x in zip(starts, result.flows["src"].to_pylist(), strict=True) if x == src)
                 for src in range(16)}  # fmt: skip
    # No host sends its second message before some first message can have arrived.
    assert all(times[0] == 0 and times[1] >= min(fct) for times in by_source.values())


def test_receives_from_any_source_take_what_is_left(tmp_path: Path) -> None:
    text = (
        "num_ranks 3\nrank 0 {\nsend 10b to 2 tag 1\n}\nrank 1 {\nsend 20b to 2 tag 1\n}\n"
        "rank 2 {\nrecv 0b from -1 tag -1\nrecv 10b from 0 tag 1\n}\n"
    )
    dag = goal.read(write(tmp_path, text))
    assert [(x.peer, x.size_bytes) for x in dag.operations if x.op == "recv"] == [(1, 20), (0, 10)]
    assert any("1 receives from any source" in note for note in dag.notes)


def test_messages_without_a_byte_get_one(tmp_path: Path) -> None:
    text = "num_ranks 3\nrank 0 {\nsend 0b to 1 nic 3\n}\nrank 1 {\nrecv 0b from 0\n}\n"
    dag = goal.read(write(tmp_path, text))
    assert [x.size_bytes for x in dag.operations] == [1, 1]
    assert [note.partition(": ")[2] for note in dag.notes] == [
        "line 3 and 1 more: size 0 taken as 1",
        "a host has one NIC here; the numbers after nic are ignored",
        "1 of 3 ranks have no operations",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "num_ranks 1000000000\n",
            "number of ranks = 1000000000: allowed is at most 1,048,576, as many hosts as a fabric",
        ),
        ("rank 0 {\n}\n", 'line 1, all = rank 0 {: allowed is the first line "num_ranks N"'),
        ("num_ranks 2\nsend 5b to 1\n", "since no rank is open"),
        ("num_ranks 2\nrank 2 {\n}\n", "line 2, rank = 2: allowed is a rank from 0 to 1"),
        ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "line 4, rank = 0: allowed is each rank once"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1\n", 'allowed is a "}" at the end of each rank'),
        ("num_ranks 2\nrank 0 {\nsend 5b to 0\n}\n", "line 3, peer = 0: allowed is another rank than its own"),
        ("num_ranks 2\nrank 0 {\nsend 5b to -1\n}\n", "line 3, peer = -1: allowed is a rank from 0 to 1"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1 cup 0\n}\n", 'line 3, all = cup 0: allowed is "tag N", "cpu N"'),
        ("num_ranks 2\nrank 0 {\nsnd 5b to 1\n}\n", "line 3, all = snd 5b to 1: allowed is"),
        ("num_ranks 2\nrank 0 {\na: calc 1\na: calc 2\n}\n", "line 4, label = a: allowed is each label once in rank 0"),
        ("num_ranks 2\nrank 0 {\na: calc 1\na requires b\n}\n", "line 4, label = b: allowed is the label of an"),
        ("num_ranks 2\nrank 0 {\ncalc 1\n}\n", "allowed is a file in which some rank sends to another"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1\n}\n", "line 3, r0.line3 = a send without its recv"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 5b from 0 tag 9\n}\n", "a send without its recv"),
        ("num_ranks 2\nrank 1 {\nrecv 5b from -1\n}\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\n}", "each rank once"),
        (
            "num_ranks 2\nrank 1 {\nrecv 5b from -1\nrecv 5b from -1\n}\nrank 0 {\nsend 5b to 1\n}\n",
            "a message is left",
        ),
        ("Nodes 4\nConnections 1\n0->1 start 0 size 5\n", "it looks like an htsim connection matrix"),
        ("4 1 3\n3\n", "it looks like a topology of HPCC or ConWeave: `spinewise import topology`"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(sw.SpecError) as caught:
        goal.read(write(tmp_path, text))
    assert message in str(caught.value)


def test_a_circle_is_refused_before_anything_runs(tmp_path: Path) -> None:
    text = (
        "num_ranks 2\nrank 0 {\na: send 5b to 1\nb: recv 5b from 1\na requires b\n}\n"
        "rank 1 {\nc: send 5b to 0\nd: recv 5b from 0\nc requires d\n}\n"
    )
    out = tmp_path / "x.csv"
    out.write_text(goal.read(write(tmp_path, text)).csv())
    spec = {"topology": {"leaves": 1, "spines": 1}, "traffic": [{"kind": "dag", "file": str(out)}]}
    with pytest.raises(sw.SpecError, match=r"r0\.a waits for r0\.b, which waits for r1\.c, which waits for r1\.d"):
        sw.resolve(spec)
