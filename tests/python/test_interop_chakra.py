"""Chakra traces: files written message by message, and what they come to."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.interop import chakra
from spinewise.interop.chakra import Reading
from spinewise.interop.dag import Dag

COMP, SEND, RECV, COLL, META = 4, 5, 6, 7, 1


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: int | bytes) -> bytes:
    """A field of a message: a whole number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


# Field numbers of the values of attributes; those of lists are not read.
INT32, INT64, UINT64, BOOL, BOOLS, STRING = 7, 9, 13, 27, 28, 29
WHERE = {
    "is_cpu_op": BOOL,
    "comm_type": INT64,
    "comm_size": INT64,
    "comm_src": INT32,
    "comm_dst": INT32,
    "comm_tag": INT32,
    "pg_name": STRING,
    "num_ops": INT64,
    "tensor_size": UINT64,
    "involved_dim": BOOLS,
}


def node(
    id_: int, type_: int, *, deps: Sequence[int] = (), us: int = 0, inputs: str = "", **attributes: object
) -> bytes:
    body = field(1, id_) + field(2, f"N{id_}".encode()) + field(3, type_)
    body += b"".join(field(5, before) for before in deps)
    if us:
        body += field(7, us)
    if inputs:
        body += field(8, field(1, inputs.encode()))
    for name, value in attributes.items():
        where = WHERE[name]
        if isinstance(value, str):
            told: int | bytes = value.encode()
        elif isinstance(value, list):
            told = field(1, bytes(value))
        else:
            assert isinstance(value, int)
            told = int(value)
        body += field(10, field(1, name.encode()) + field(where, told))
    return body


def trace(*nodes: bytes, version: str = "0.0.4") -> bytes:
    return delimited(field(1, version.encode()), *nodes)


def delimited(*parts: bytes) -> bytes:
    return b"".join(varint(len(part)) + part for part in parts)


def attribute(name: str, value: str) -> bytes:
    return field(1, name.encode()) + field(STRING, value.encode())


def write(folder: Path, ranks: Mapping[int, bytes] | Sequence[bytes]) -> Path:
    every = ranks if isinstance(ranks, Mapping) else dict(enumerate(ranks))
    for rank, content in every.items():
        (folder / f"job.{rank}.et").write_bytes(content)
    return folder / "job"


def run(folder: Path, dag: Dag) -> sw.Result:
    out = folder / "ops.csv"
    out.write_text(dag.csv())
    fabric = {"leaves": 4, "spines": 2, "hosts_per_leaf": 4}
    result = sw.run({"topology": fabric, "traffic": [{"kind": "dag", "file": str(out)}]})
    told = result.report["operations"][0]
    assert told["ended"] == told["operations"] == len(dag.operations)
    return result


@pytest.mark.parametrize(
    ("kind", "sends", "size"), [(0, 2 * 15, 65536), (2, 15, 2**20), (6, 15, 65536), (7, 15, 65536)]
)
def test_a_collective_of_16_ranks_imports_and_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: int, sends: int, size: int
) -> None:
    # As all_reduce/16npus_1MB of astra-sim: version 0.0.4 and one node a rank, a file of 82 bytes.
    one = node(1, COLL, is_cpu_op=False, comm_type=kind, comm_size=2**20)
    write(tmp_path, [trace(one)] * 16)
    out = tmp_path / "ops.csv"
    assert main(["import", "chakra", str(tmp_path / "job.3.et"), "--out", str(out), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["ranks"], record["send"], record["batches"]) == (16, 16 * sends, 1)
    result = run(tmp_path, chakra.read(tmp_path / "job", Reading()))
    assert result.report["finished"] == 16 * sends
    assert set(result.flows["size_bytes"].to_pylist()) == {size}


def test_a_ring_of_two_as_the_converter_of_collectives_writes_it(tmp_path: Path) -> None:
    """As allreduce_ring_8ranks of astra-sim: no version but a schema, node 0 without an id, a long attribute."""

    def rank(peer: int) -> bytes:
        sends = node(0, SEND, comm_type=5, comm_size=65536, comm_dst=peer, comm_tag=0).removeprefix(field(1, 0))
        receives = node(1, RECV, deps=[0], comm_type=6, comm_size=65536, comm_src=peer, comm_tag=0)
        adds = node(2, COMP, deps=[1], us=5)
        schema, source = attribute("schema", "1.0.2-chakra.0.0.4"), attribute("input_file", "<algo/>\n" * 3000)
        return delimited(field(2, schema) + field(2, source), sends, receives, adds)

    dag = chakra.read(write(tmp_path, [rank(1), rank(0)]), Reading())
    assert [(one.id, one.requires) for one in dag.operations[:3]] == [
        ("r0.n0", []), ("r0.n1", ["r0.n0"]), ("r0.n2", ["r0.n1"]),
    ]  # fmt: skip
    assert run(tmp_path, dag).report["finished"] == 2
    later = delimited(field(2, attribute("schema", "1.1.0-chakra.7")), node(1, COMP, us=1))
    with pytest.raises(sw.SpecError, match=r"= 7: allowed is a Chakra trace of version 0\.0\.4"):
        chakra.read(write(tmp_path, [later]), Reading())


def test_computations_messages_and_dependencies(tmp_path: Path) -> None:
    first = trace(
        node(0, META),
        node(7, COMP, us=5, is_cpu_op=False, num_ops=10),
        node(8, SEND, deps=[7], comm_dst=1, comm_size=9000, comm_tag=4),
        node(9, COMP, us=3, deps=[0]),
        node(11, COMP, us=2, is_cpu_op=True),
    )
    second = trace(node(1, RECV, comm_src=0, comm_size=9000, comm_tag=4), node(2, COMP, deps=[1], us=1))
    dag = chakra.read(write(tmp_path, [first, second]), Reading())
    by_id = {operation.id: operation for operation in dag.operations}
    assert by_id["r0.n8"].requires == ["r0.n7"]
    assert (by_id["r0.n7"].unit, by_id["r0.n11"].unit, by_id["r0.n7"].duration_ps) == (0, 1, 5_000_000)
    assert by_id["r0.n8"].tag == by_id["r1.n1"].tag
    result = run(tmp_path, dag)
    [flow] = result.flows.to_pylist()
    # The computation of node 9 begins first or second, by its number: one at a time.
    assert (flow["src"], flow["dst"], flow["size_bytes"], flow["start_ps"]) == (0, 1, 9000, 5_000_000)


def test_what_follows_a_collective_waits_for_it_at_its_own_rank(tmp_path: Path) -> None:
    ranks = [
        trace(
            node(1, COMP, us=10 * (rank + 1)),
            node(2, COLL, deps=[1], comm_type=0, comm_size=4000, involved_dim=[True, True]),
            node(3, COLL, deps=[2], comm_type=9),
        )
        for rank in range(4)
    ]
    dag = chakra.read(write(tmp_path, ranks), Reading("direct"))
    rows = run(tmp_path, dag).flows.to_pylist()
    first = [row for row in rows if row["batch"] == 1]
    barrier = [row for row in rows if row["batch"] == 2]
    assert {row["size_bytes"] for row in first} == {1000}
    assert {row["size_bytes"] for row in barrier} == {1}
    for row in first:
        if row["step"] == 1:
            assert row["start_ps"] == 10_000_000 * (row["src"] + 1)
    # A sum goes out when all parts are there, the last from the rank that computes longest.
    for rank in range(4):
        parts = [row["start_ps"] + row["fct_ps"] for row in first if row["step"] == 1 and row["dst"] == rank]
        sums = {row["start_ps"] for row in first if row["step"] == 2 and row["src"] == rank}
        assert sums == {max([*parts, 10_000_000 * (rank + 1)])}
    for rank in range(4):
        ends = [row["start_ps"] + row["fct_ps"] for row in first if row["dst"] == rank]
        ends += [row["start_ps"] + row["sender_fct_ps"] for row in first if row["src"] == rank]
        assert {row["start_ps"] for row in barrier if row["src"] == rank} == {max(ends)}


def test_groups_are_told_by_metadata_or_by_a_file(tmp_path: Path) -> None:
    told = json.dumps([{"pg_name": "a", "ranks": [0, 2]}, {"pg_name": "b", "ranks": [3, 1]}])
    for rank in range(4):
        of = node(5, COLL, comm_type=2, comm_size=100, pg_name="ab"[rank % 2])
        (tmp_path / f"with.{rank}.et").write_bytes(trace(node(0, META, inputs=told), of))
        (tmp_path / f"without.{rank}.et").write_bytes(trace(of))
    groups = tmp_path / "groups.json"
    groups.write_text('{"a": [0, 2], "b": [3, 1]}')
    for dag in (
        chakra.read(tmp_path / "with", Reading()),
        chakra.read(tmp_path / "without", Reading(groups=str(groups))),
    ):
        ends = {(x.rank, x.peer, x.size_bytes) for x in dag.operations if x.op == "send"}
        assert ends == {(0, 2, 100), (2, 0, 100), (1, 3, 100), (3, 1, 100)}
    with pytest.raises(
        sw.SpecError, match=r"node 5 .N5., pg_name = a: allowed is a group that is known: none .--groups"
    ):
        chakra.read(tmp_path / "without", Reading())


def test_computations_without_a_duration_take_their_operations(tmp_path: Path) -> None:
    send = node(2, SEND, deps=[1], comm_dst=1, comm_size=8)
    path = write(tmp_path, [trace(node(1, COMP, num_ops=6 * 10**9), send), trace(node(1, RECV, comm_src=0))])
    with pytest.raises(sw.SpecError, match=r"node 1 .N1., duration = none, with num_ops 6000000000: .*--tflops X"):
        chakra.read(path, Reading())
    dag = chakra.read(path, Reading(tflops=Fraction(300)))
    assert dag.operations[0].duration_ps == 20_000_000


GOOD = trace(node(1, COLL, comm_type=0, comm_size=80))


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ({0: GOOD, 1: GOOD[:-3]}, "job.1.et: byte 8 = a message of 38 bytes, 35 of which are there: allowed is a"),
        ({0: GOOD + b"\xff", 1: GOOD}, "a length without an end: allowed is a whole message (is the file whole?)"),
        ({0: GOOD, 2: GOOD}, "allowed is job.1.et beside the others"),
        ({0: b""}, "no metadata at its beginning: allowed is a Chakra trace of version 0.0.4"),
        ({0: trace(version="7")}, "(whole file) = 7: allowed is a Chakra trace of version 0.0.4"),
        ({0: b"Nodes 4\nConnections 1\n0->1 start 0 size 5\n"}, "it looks like an htsim connection matrix"),
        ({0: trace(b"\x0a\xff\xff"), 1: GOOD}, "job.0.et: byte 8 ="),
        ({0: trace(node(1, COMP, us=1), node(1, COMP, us=1))}, "node 1 (N1), id = 1: allowed is each node once"),
        ({0: trace(node(1, COMP, us=1, deps=[5]))}, "node 1 (N1), dependency = 5: allowed is a node of this file"),
        ({0: trace(node(1, COMP, us=1))}, "allowed is a file in which some rank sends to another"),
        ({0: GOOD, 1: trace(node(1, COMP, us=1))}, "collective = not in the file of rank 1: allowed is one in the"),
        ({0: trace(node(1, COMP, us=1)), 1: GOOD}, "collective = "),
        ({0: GOOD, 1: trace(node(4, COLL, comm_type=0, comm_size=81))}, "node 4 (N4), comm_size = 81: allowed is 80"),
        ({0: trace(node(1, COLL, comm_type=3, comm_size=8))} | {1: trace(node(1, COLL, comm_type=3, comm_size=8))},
         "comm_type = 3: allowed is 0 (all-reduce), 2 (all-gather)"),
        ({0: trace(node(1, COLL, comm_type=0))} | {1: trace(node(1, COLL, comm_type=0))}, "comm_size = (nothing)"),
        ({0: trace(node(1, SEND, comm_dst=1, comm_size=8)), 1: trace(node(1, COMP, us=1))}, "a send without its recv"),
        ({0: trace(node(1, SEND, comm_dst=0, comm_size=8))}, "node 1 (N1), peer = 0: allowed is another rank"),
        ({0: trace(node(1, COLL, comm_type=0, comm_size=8, involved_dim=[True, False])), 1: GOOD}, "involved_dim = ["),
    ],
)  # fmt: skip
def test_bad_traces_are_refused(tmp_path: Path, ranks: Mapping[int, bytes], message: str) -> None:
    path = write(tmp_path, ranks)
    with pytest.raises(sw.SpecError) as caught:
        chakra.read(path, Reading())
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(sw.SpecError, match=r"allowed is a Chakra trace: NAME, with files NAME\.0\.et"):
        chakra.read(tmp_path / "job", Reading())
