"""Workloads and topologies of SimAI, and the collectives within them."""

import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.interop import simai_topology, simai_workload
from spinewise.interop.collectives import WAYS, Algorithm, Collective, Program, messages
from spinewise.interop.dag import Dag

HEAD = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: {tp} ep: {ep} pp: {pp} vpp: 8 ga: 1 all_gpus: {gpus} "
    "checkpoints: {checkpoints} checkpoint_initiates: {initiates}"
)


def workload(*layers: str, **head: object) -> str:
    keys = {"tp": 4, "ep": 1, "pp": 1, "gpus": 8, "checkpoints": 0, "initiates": 0} | head
    return "\n".join([HEAD.format(**keys), str(len(layers)), *layers]) + "\n"


def write(folder: Path, text: str, name: str = "w.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def lowered(folder: Path, text: str, algorithm: Algorithm = "ring", passes: int = 1) -> Dag:
    return simai_workload.program(simai_workload.read(write(folder, text)), algorithm, passes)


def run(folder: Path, dag: Dag, **more: object) -> sw.Result:
    out = folder / "ops.csv"
    out.write_text(dag.csv())
    fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}
    result = sw.run({"topology": fabric, "traffic": [{"kind": "dag", "file": str(out)} | more]})
    told = result.report["operations"][0]
    assert told["ended"] == told["operations"] == len(dag.operations)
    return result


def end_ps(result: sw.Result) -> int:
    return result.report["operations"][0]["end_ps"]


def holds(kind: Collective, dag: Program, ranks: Sequence[int]) -> bool:
    """Whether data can have come from every rank to every other one (broadcast: from the first)."""
    by_id = {operation.id: operation for operation in dag.operations}
    sends = {op.id: op for op in dag.operations if op.op == "send"}
    know: defaultdict[int, set[int]] = defaultdict(set, {rank: {rank} for rank in ranks})
    state: dict[str, set[int]] = {}

    def of(id_: str) -> set[int]:
        if id_ not in state:
            op = by_id[id_]
            before = set().union(*(of(x) for x in op.requires), {op.rank})
            state[id_] = of(id_.removesuffix(".got")) | {op.rank} if op.op == "recv" else before
        return state[id_]

    for id_ in sends:
        got = f"{id_}.got"
        know[by_id[got].rank] |= of(got)
    return all(know[rank] == set(ranks) for rank in ranks) if kind != "broadcast" else all(
        ranks[0] in know[rank] for rank in ranks
    )  # fmt: skip


@pytest.mark.parametrize(("kind", "algorithm"), sorted(WAYS))
@pytest.mark.parametrize("n", [2, 3, 5])
def test_collectives_move_the_bytes_that_nccl_counts(kind: Collective, algorithm: Algorithm, n: int) -> None:
    program, size = Program(), 1000
    ranks = [7, 3, 5, 0, 9][:n]
    ends = program.collective(kind, "x", ranks, size, after={rank: [] for rank in ranks}, algorithm=algorithm)
    assert sorted(ends) == sorted(ranks)
    sent = Counter[int]()
    for operation in program.operations:
        if operation.op == "send":
            sent[operation.rank] += operation.size_bytes or 0
    assert sum(op.op == "send" for op in program.operations) == messages(kind, n, algorithm)
    per_rank = {"all_reduce": 2 * size * (n - 1) / n, "barrier": (2 if algorithm == "ring" else 1) * (n - 1)}
    if kind == "broadcast":
        assert sum(sent.values()) == size * (n - 1)
    else:
        want = per_rank.get(kind, size * (n - 1) / n)
        assert all(abs(sent[rank] - want) <= 2 * (n - 1) for rank in ranks)
        assert sum(sent.values()) == pytest.approx(want * n, abs=n)
    assert holds(kind, program, ranks)


@pytest.mark.parametrize(("kind", "algorithm"), sorted(WAYS))
def test_collectives_run(tmp_path: Path, kind: Collective, algorithm: Algorithm) -> None:
    program = Program()
    after = {rank: [program.compute(f"c{rank}", rank, 1_000_000 * rank, [])] for rank in range(5)}
    program.collective(kind, "x", range(5), 50_000, after=after, algorithm=algorithm)
    result = run(tmp_path, Dag("-", 5, program.operations))
    assert result.report["finished"] == messages(kind, 5, algorithm)
    assert set(result.flows["batch"].to_pylist()) == {1}
    # No rank sends before it has computed.
    rows = result.flows.to_pylist()
    assert all(row["start_ps"] >= 1_000_000 * row["src"] for row in rows)


def test_a_ring_all_reduce_is_the_one_of_the_engine(tmp_path: Path) -> None:
    """Traffic of kind all_reduce is another implementation of the same steps."""
    program = Program()
    program.collective("all_reduce", "x", range(8), 800_000, after={r: [] for r in range(8)}, algorithm="ring")
    mine = run(tmp_path, Dag("-", 8, program.operations))
    fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}
    other = sw.run({"topology": fabric, "traffic": [{"kind": "all_reduce", "size_bytes": 800_000}]})
    columns = ["src", "dst", "size_bytes", "start_ps", "fct_ps", "step"]
    order = [("step", "ascending"), ("src", "ascending")]
    assert mine.flows.select(columns).sort_by(order).equals(other.flows.select(columns).sort_by(order))


def test_passes_compute_and_wait_as_simai_does(tmp_path: Path) -> None:
    text = workload(
        "first -1 5000 NONE 0 700 NONE 0 900 NONE 0 1",
        "last\t-1\t3000\tALLREDUCE\t4000\t2000\tALLGATHER\t8000\t11000\tALLREDUCE\t16000\t100",
    )
    dag = lowered(tmp_path, text)
    # 2 TP groups of 4: 24 + 12 messages each; 4 DP groups of 2: 4 messages each.
    assert (dag.count("send"), dag.batches) == (2 * (24 + 12) + 4 * 4, 8)
    result = run(tmp_path, dag)
    rows = result.flows.to_pylist()
    batches = defaultdict(list)
    for row in rows:
        batches[row["batch"]].append(row)
    forward, inputs, weights = ([batches[n] for n in range(*ends)] for ends in ((1, 3), (3, 5), (5, 9)))
    assert {row["start_ps"] for of in forward for row in of if row["step"] == 1} == {8_000_000}
    done = max(row["start_ps"] + row["sender_fct_ps"] for row in forward[0])
    assert min(row["start_ps"] for row in inputs[0]) <= done + 2_000_000 <= max(
        row["start_ps"] for row in inputs[0] if row["step"] == 1
    )  # fmt: skip
    # Nothing waits for the collective of the weights: the first layer's gradients follow at once.
    waited = max(row["start_ps"] for of in weights for row in of if row["step"] == 1)
    assert end_ps(result) >= waited + 100_000
    assert {row["size_bytes"] for of in weights for row in of} == {8000}
    assert {frozenset((row["src"], row["dst"])) for of in weights for row in of} == {
        frozenset((rank, rank + 4)) for rank in range(4)
    }


def test_groups_are_those_of_simai(tmp_path: Path) -> None:
    found = simai_workload.read(
        write(tmp_path, workload("a -1 1 ALLTOALL_EP 8 1 NONE 0 1 NONE 0 1", tp=2, ep=2, gpus=16))
    )
    assert found.dp == 8
    assert found.groups("TP") == [[n, n + 1] for n in range(0, 16, 2)]
    assert found.groups("DP") == [list(range(first, 16, 2)) for first in (0, 1)]
    assert found.groups("EP") == [[n, n + 2] for block in range(0, 16, 4) for n in (block, block + 1)]
    assert found.groups("DP_EP") == [[first + 4 * n for n in range(4)] for first in range(4)]
    for which in ("TP", "DP", "EP", "DP_EP"):
        assert sorted(itertools.chain(*found.groups(which))) == list(range(16))


def test_checkpoints_are_computed_anew(tmp_path: Path) -> None:
    layers = [f"l{n} -1 {10**n} NONE 0 1 NONE 0 1 ALLREDUCE 800 1" for n in range(3)]
    dag = lowered(tmp_path, workload(*layers, checkpoints="1 0", initiates="1 2"))
    again = [op.id for op in dag.operations if ".again" in op.id and op.rank == 0]
    assert again == ["p0.l2.again0.c0", "p0.l2.again1.c0"]


def test_the_next_pass_waits_for_the_weights(tmp_path: Path) -> None:
    text = workload("only -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 800000 5000", tp=1, gpus=8)
    rows = run(tmp_path, lowered(tmp_path, text, passes=2)).flows.to_pylist()
    first = [row for row in rows if row["batch"] == 1]
    for rank in range(8):
        sent = [row["start_ps"] + row["sender_fct_ps"] for row in first if row["src"] == rank]
        got = [row["start_ps"] + row["fct_ps"] for row in first if row["dst"] == rank]
        [again] = [row["start_ps"] for row in rows if (row["batch"], row["step"], row["src"]) == (2, 1, rank)]
        # The update, then three computations.
        assert again == max(sent + got) + 5_000_000 + 3_000_000


def test_micro_all_reduce_of_simai(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # example/microAllReduce.txt of aliyun/SimAI: one layer, 8 GPUs in a TP group, 536,870,912 bytes, blanks between
    # fields and at the end of lines.
    text = HEAD.format(tp=8, ep=1, pp=1, gpus=8, checkpoints=0, initiates=0).replace("vpp: 8 ", "") + (
        "\n1\nembedding_layer     -1 556000  ALLREDUCE   536870912      1       NONE 0        1      NONE   0      1 "
    )
    out = tmp_path / "ops.csv"
    assert main(["import", "simai-workload", str(write(tmp_path, text)), "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["ranks"], record["send"], record["calc"], record["bytes"]) == (8, 112, 32, 2 * 7 * 536_870_912)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (workload("a -1 1 NONE 0 1 NONE 0 1 NONE 0"), "line 3, all = a -1 1 NONE 0 1 NONE 0 1 NONE 0: allowed"),
        (workload("a -1 1 NONE 0 1 NONE 0 1 ALREDUCE 8 1"), "line 3, collective = ALREDUCE: allowed is NONE, ALL"),
        (workload("a -1 x NONE 0 1 NONE 0 1 NONE 0 1"), "line 3, compute time = x: allowed is a whole number"),
        (workload("a -1 1 NONE 0 1 NONE 0 1 NONE 0 1"), "allowed is a file in which some rank sends to another"),
        (workload("a -1 1 NONE 0 1 NONE 0 1 NONE 0 1").replace("\n1\n", "\n3\n"), "number of layers = 3: allowed is 1"),
        (workload("a -1 1 NONE 0 1 NONE 0 1 NONE 0 1", gpus=6), "line 1, all_gpus = 6: allowed is a multiple of"),
        (workload("a -1 1 NONE 0 1 NONE 0 1 NONE 0 1", gpus=2**64), "allowed is at most 1,048,576"),
        (workload("a -1 1 NONE 0 1 NONE 0 1 NONE 0 1", ep=3), "line 1, ep = 3: allowed is a divisor of"),
        (workload("a -1 1 NONE 0 1 NONE 0 1 NONE 0 1", initiates="1 0"), "a layer with a checkpoint at or before it"),
        ("MICRO\n1\n", "line 1, all = MICRO: allowed is a first line that begins with"),
        ("num_ranks 2\nrank 0 {\n", "it looks like a GOAL schedule"),
    ],
)  # fmt: skip
def test_bad_workloads_are_refused_with_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(sw.SpecError) as caught:
        lowered(tmp_path, text)
    assert message in str(caught.value)


def test_too_many_operations_are_refused_before_they_are_made(tmp_path: Path) -> None:
    layer = "a -1 1 ALLREDUCE 99999999 1 NONE 0 1 NONE 0 1"
    with pytest.raises(sw.SpecError, match="number of layers = 1: allowed is at most 20,000,000 operations"):
        lowered(tmp_path, workload(layer, tp=4096, gpus=4096))


def rail(gpus: int = 16, per_server: int = 8) -> str:
    """As Rail_Opti_SingleToR_16g_8gps_200Gbps_H20 of SimAI: GPU i of each server is on leaf i."""
    servers = gpus // per_server
    leaf, spine = gpus + servers, gpus + servers + per_server
    lines = []
    for gpu in range(gpus):
        lines += [
            f"{gpu} {gpus + gpu // per_server} 900Gbps 0.000025ms 0",
            f"{gpu} {leaf + gpu % per_server} 200Gbps 0.001ms 0",
        ]
    lines += [f"{leaf + a} {spine + b} 400Gbps 0.001ms 0" for a in range(per_server) for b in range(per_server)]
    ids = range(gpus, spine + per_server)
    head = f"{spine + per_server} {per_server} {servers} {2 * per_server} {len(lines)} H20"
    return "\n".join([head, " ".join(map(str, ids)) + " ", *lines]) + "\n"


def test_a_rail_optimised_topology_is_a_leaf_spine_with_servers(tmp_path: Path) -> None:
    found = simai_topology.read(write(tmp_path, rail()))
    assert (found.network.hosts, found.network.switches, len(found.network.links)) == (16, 16, 80)
    assert found.servers == simai_topology.Servers(8, 900 * 10**9, 50_000)
    assert (found.gpu, found.left_out) == ("H20", 2)


def test_a_workload_runs_on_an_imported_topology(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, ops = tmp_path / "spec.toml", tmp_path / "ops.csv"
    assert main(["import", "simai-topology", str(write(tmp_path, rail(), "t")), "--out", str(spec)]) == 0
    lines = capsys.readouterr().out.partition("\n\n")[2]
    text = workload("a -1 1000 ALLREDUCE 80000 1 NONE 0 1 ALLREDUCE 160000 1", tp=8, gpus=16)
    assert main(["import", "simai-workload", str(write(tmp_path, text)), "--out", str(ops)]) == 0
    entry = capsys.readouterr().out.partition("\n\n")[2]
    spec.write_text(spec.read_text() + "\n" + entry + lines)
    result = sw.run(spec)
    # TP stays in a server; DP joins the GPUs of one place, which a rail gives one leaf.
    assert (result.report["flows"], result.report["finished"]) == (8 * 4, 8 * 4)
    assert all(row["src"] // 2 == row["dst"] // 2 for row in result.flows.to_pylist())
    told = result.report["operations"][0]
    assert told["ended"] == told["operations"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("34 8 2 16 96 H20", "34 8 2 16 96"), 'allowed is the header "nodes gpus_per_server'),
        (
            ("34 8 2 16 96 H20", "34 5 2 16 96 H20"),
            "gpus_per_server = 5: allowed is a divisor of the number of GPUs, 16",
        ),
        (("34 8 2 16 96 H20", "34 8 2 16 97 H20"), "number of links = 97: allowed is 96"),
        (
            ("34 8 2 16 96 H20", f"{10**15 + 18} 8 2 16 96 H20"),
            "line 1, nodes = 1000000000000018: allowed is at most 114",
        ),
        (("1 19 200Gbps", "1 18 200Gbps 0.001ms 0\n1 19 200Gbps"), "no further link"),
        (
            ("1 16 900Gbps 0.000025ms 0", "0 19 200Gbps 0.001ms 0"),
            "GPU = 0: allowed is one link from a GPU to the network",
        ),
        (("1 16 900Gbps", "1 16 800Gbps"), "as the others: 900 Gbps and 25 ns"),
        (("9 17 900Gbps", "9 16 900Gbps"), "a switch for each 8 GPUs, in the order of their ids"),
    ],
)
def test_bad_topologies_are_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    text = rail()
    assert change[0] in text
    with pytest.raises(sw.SpecError) as caught:
        simai_topology.read(write(tmp_path, text.replace(*change, 1)))
    assert message in str(caught.value)
