"""Traffic of kind dag: runs against an independent executor, and what people are told."""

import heapq
import random
from collections import defaultdict
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.interop.dag import Dag, Operation
from spinewise.show import run_tables

FABRIC = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}
RANKS = 8
PS_PER_BYTE = 80
DELAY_PS = 70_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "`spinewise import goal`, `chakra`, `htsim-cm` and `simai-workload` write such files from traces"),
        ("id,rank\n", "column op: `missing`; allowed is a header with id, rank and op; `spinewise import goal`"),
        ("num_ranks 2\nrank 0 {\n}\n", "it looks like a GOAL schedule: `spinewise import goal`"),
        ("src,dst,size_bytes,start_ns\n0,1,9,0\n", "column src: `unknown`; allowed is the columns id, rank, op"),
    ],
)
def test_a_file_without_the_header_is_told_what_writes_one(tmp_path: Path, text: str, said: str) -> None:
    """It was told of `import flows`, which writes no file of operations."""
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(sw.SpecError) as refused:
        sw.resolve({"traffic": [{"kind": "dag", "file": str(tmp_path / "t.csv"), "hosts": [0, 4]}]})
    assert said in (refused.value.hint or "")
    assert "import flows" not in (refused.value.hint or "")


def test_a_late_start_of_an_operation_is_told_of_no_list_of_flows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,rank,op,duration_ns,start_ns\na,0,calc,5,99999999999999999999\n")
    with pytest.raises(sw.SpecError) as refused:
        sw.resolve({"traffic": [{"kind": "dag", "file": str(tmp_path / "t.csv"), "hosts": [0, 4]}]})
    assert "column start_ns" in (refused.value.hint or "")
    assert "import flows" not in (refused.value.hint or "")


def drawn(seed: int) -> list[Operation]:
    """Random operations: each waits for some before it at its rank; messages go from earlier to later ones."""
    dice = random.Random(seed)
    made: list[Operation] = []
    of_rank: defaultdict[int, list[Operation]] = defaultdict(list)

    def add(operation: Operation) -> None:
        before = of_rank[operation.rank]
        for other in dice.sample(before, min(len(before), dice.choice([0, 1, 1, 2, 3]))):
            dice.choice([operation.requires, operation.requires, operation.irequires]).append(other.id)
        waits = len(operation.requires) + len(operation.irequires)
        if waits > 1 and dice.random() < 0.3:
            operation.needs = dice.randint(1, waits)
        if dice.random() < 0.2:
            operation.start_ps = dice.randrange(200_000) * 1000
        before.append(operation)
        made.append(operation)

    for n in range(60):
        rank = dice.randrange(RANKS)
        if dice.random() < 0.4:
            add(Operation(f"c{n}", rank, "calc", duration_ps=dice.randrange(100_000) * 1000, unit=dice.randrange(2)))
        else:
            peer = dice.choice([other for other in range(RANKS) if other != rank])
            add(Operation(f"s{n}", rank, "send", peer, dice.randint(1, 60_000), tag=n))
            add(Operation(f"r{n}", peer, "recv", rank, tag=n))
    return made


class Executor:
    """Carries operations out, with the times that flows took: in the order of (instant, place in the table)."""

    def __init__(self, operations: list[Operation], took: dict[int, tuple[int, int]], servers: int) -> None:
        self.operations = operations
        self.number = {operation.id: n for n, operation in enumerate(operations)}
        self.took = took
        self.servers = servers
        self.left = [len(x.requires) + len(x.irequires) if x.needs is None else x.needs for x in operations]
        self.start: dict[int, int] = {}
        self.end: dict[int, int] = {}
        self.landed: dict[int, int] = {}
        self.free: defaultdict[tuple[int, object], int] = defaultdict(int)
        self.events: list[tuple[int, int, int, str]] = []

    def plan(self, at: int, n: int, what: str) -> None:
        heapq.heappush(self.events, (at, {"arrived": 0, "acknowledged": 0}.get(what, 1), n, what))

    def run(self) -> None:
        for n, operation in enumerate(self.operations):
            if self.left[n] == 0:
                self.plan(operation.start_ps, n, "due")
        while self.events:
            at, _, n, what = heapq.heappop(self.events)
            getattr(self, what)(n, at)

    def due(self, n: int, at: int) -> None:
        operation = self.operations[n]
        if operation.op == "recv":
            self.begin(n, at)
            if n in self.landed:
                self.finish(n, at)
            return
        local = operation.op == "send" and operation.rank // self.servers == (operation.peer or 0) // self.servers
        if operation.op == "send" and not local:
            self.begin(n, at)
            received, acknowledged = self.took[n]
            self.plan(at + received, self.number[f"r{operation.id[1:]}"], "arrived")
            self.plan(at + acknowledged, n, "acknowledged")
            return
        unit = (operation.rank, "copy" if local else operation.unit)
        begin = max(self.free[unit], at)
        takes = (operation.size_bytes or 0) * PS_PER_BYTE if local else operation.duration_ps or 0
        self.free[unit] = begin + takes
        self.plan(begin, n, "begin")
        self.plan(begin + takes, n, "finish")
        if local:
            self.plan(begin + takes + DELAY_PS, self.number[f"r{operation.id[1:]}"], "arrived")

    def arrived(self, n: int, at: int) -> None:
        self.landed[n] = at
        if n in self.start:
            self.finish(n, at)

    def acknowledged(self, n: int, at: int) -> None:
        self.finish(n, at)

    def begin(self, n: int, at: int) -> None:
        self.start[n] = at
        self.tell(n, at, "irequires")

    def finish(self, n: int, at: int) -> None:
        self.end[n] = at
        self.tell(n, at, "requires")

    def tell(self, n: int, at: int, how: str) -> None:
        for other, operation in enumerate(self.operations):
            if self.operations[n].id in getattr(operation, how) and self.left[other] > 0:
                self.left[other] -= 1
                if self.left[other] == 0:
                    self.plan(max(at, operation.start_ps), other, "due")


@pytest.mark.parametrize("servers", [1, 4])
@pytest.mark.parametrize("seed", range(12))
def test_runs_agree_with_an_independent_executor(tmp_path: Path, seed: int, servers: int) -> None:
    operations = drawn(seed)
    path = tmp_path / "ops.csv"
    path.write_text(Dag("-", RANKS, operations).csv())
    entry: dict[str, object] = {"kind": "dag", "file": str(path)}
    if servers > 1:
        entry |= {"local_ranks": servers, "local_rate_gbps": 8_000 / PS_PER_BYTE, "local_delay_ns": DELAY_PS / 1000}
    rows = (result := sw.run({"topology": FABRIC, "traffic": [entry]})).flows.to_pylist()
    sends = [
        n
        for n, x in enumerate(operations)
        if x.op == "send" and x.peer is not None and x.rank // servers != x.peer // servers
    ]
    # Flows of one pair and size are told apart by their place among these in the table.
    by_ends: defaultdict[tuple[int, int | None, int | None], list[int]] = defaultdict(list)
    for n in sends:
        by_ends[operations[n].rank, operations[n].peer, operations[n].size_bytes].append(n)
    took, starts = {}, {}
    for row in rows:
        n = by_ends[row["src"], row["dst"], row["size_bytes"]].pop(0)
        took[n] = (row["fct_ps"], row["sender_fct_ps"])
        starts[n] = row["start_ps"]
    executor = Executor(operations, took, servers)
    executor.run()
    assert len(executor.end) == len(operations)
    assert {n: executor.start[n] for n in sends} == starts
    told = result.report["operations"][0]
    assert (told["ended"], told["end_ps"]) == (len(operations), max(executor.end.values()))


def spec_file(folder: Path, rows: str, more: str = "") -> Path:
    (folder / "ops.csv").write_text("id,rank,op,peer,size_bytes,duration_ns,requires\n" + rows)
    path = folder / "spec.toml"
    path.write_text(
        f'[topology]\nleaves = 2\nspines = 1\nhosts_per_leaf = 2\n{more}\n[[traffic]]\nkind = "dag"\nfile = "ops.csv"\n'
    )
    return path


def test_a_run_tells_how_far_operations_came(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "a,0,send,3,40000000,,\nb,3,recv,0,,,\nc,3,calc,,,2000,b\n"
    assert main(["run", str(spec_file(tmp_path, rows, "[run]\nuntil_us = 1000"))]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "operations of traffic[0]: 0 of 3 have ended" in said
    assert "3 of 3 operations had not ended when the run did. Send a of rank 0 to rank 3 has delivered" in said
    assert "waiting for it: b." in said


def test_batches_keep_the_numbers_of_the_trace(tmp_path: Path) -> None:
    """Two of three batches stay within a server: "rounds 1" stood above "slowest round 3"."""
    rows = "".join(
        f"s{n},{src},send,{dst},60000,,,{n}\nr{n},{dst},recv,{src},,,,\n"
        for n, (src, dst) in enumerate([(0, 1), (1, 0), (0, 3), (3, 0)], 1)
    )
    head = "id,rank,op,peer,size_bytes,duration_ns,requires,batch\n"
    (tmp_path / "ops.csv").write_text(head + rows)
    local = {"local_ranks": 2, "local_rate_gbps": 100, "local_delay_ns": 50}
    result = sw.run({"topology": FABRIC, "traffic": [{"kind": "dag", "file": str(tmp_path / "ops.csv")} | local]})
    assert [one.round for one in result.rounds.rounds] == [3, 4]
    assert run_tables.straggler_lines(result)[0].startswith("dag: slowest batch ")
    assert " of the trace, " in run_tables.straggler_lines(result)[0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,0,send,9,10,,\nb,9,recv,0,,,\n", "traffic[0].hosts = 4 hosts: allowed is a host for each of 10 ranks"),
        ("a,0,send,3,10,,\n", "`send a`; allowed is a recv for each send from rank 0 to rank 3"),
        (
            "a,0,send,3,10,,b\nb,0,recv,3,,,\nc,3,send,0,5,,d\nd,3,recv,0,,,\n",
            "a waits for b, which waits for c, which",
        ),
        ("a,0,calc,,,5,\n", "it sends nothing"),
    ],
)
def test_what_cannot_run_is_refused(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(sw.SpecError) as caught:
        sw.resolve(spec_file(tmp_path, rows))
    assert message in str(caught.value)


def test_a_changed_table_is_another_spec(tmp_path: Path) -> None:
    path = spec_file(tmp_path, "a,0,send,3,10,,\nb,3,recv,0,,,\n")
    before = sw.run(path)
    (tmp_path / "ops.csv").write_text((tmp_path / "ops.csv").read_text() + "c,3,calc,,,5,b\n")
    after = sw.run(path)
    assert before.spec_hash != after.spec_hash
    assert before.report["traffic_hash"] != after.report["traffic_hash"]
