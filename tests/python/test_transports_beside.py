"""Traffic entries with transports of their own: what users see of them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import spinewise as sw
from pages import ROOT, blocks
from spinewise.errors import SpecError
from spinewise.explanation.facts import flow_facts
from spinewise.exports.capture import packets, settings_of
from spinewise.interop.fct import rows_of
from spinewise.measures.least import Ways
from spinewise.shapes import Spec
from spinewise.show.run_tables import packet_lines
from spinewise.show.simulated import transport
from spinewise.specs.carriers import kinds, transports
from spinewise.specs.spec import resolve

FABRIC: Spec = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
    "switch": {"model": "shared_buffer", "priorities": 2, "lossy_priorities": [1]},
}
MIXED: Spec = {
    **FABRIC,
    "transport": {"kind": "rdma"},
    "traffic": [
        {"name": "storage", "kind": "permutation", "size_bytes": 300_000},
        {"name": "web", "kind": "incast", "receiver": 0, "senders": 4, "size_bytes": 300_000, "priority": 1,
         "transport": {"kind": "cubic", "mss_bytes": 1460}},
        {"name": "stream", "kind": "udp", "src": 5, "dst": 2, "size_bytes": 50_000,
         "schedule": [{"at_us": 0, "rate_gbps": 1}]},
    ],
}  # fmt: skip
"""RoCE on a lossless priority, CUBIC on a lossy one, and UDP."""


@pytest.fixture(scope="module")
def mixed() -> sw.Result:
    return sw.run(MIXED)


def test_each_entry_has_its_transport_in_what_a_run_shows(mixed: sw.Result) -> None:
    assert transport(mixed.spec) == (
        "storage: rdma, congestion control dcqcn, loss recovery go_back_n; web: cubic, loss recovery rack"
    )
    assert kinds(mixed.spec) == "rdma + cubic"
    (answers,) = (line for line in packet_lines(mixed.summary().packets, kinds(mixed.spec)) if "out of order" in line)
    assert "CNPs" in answers
    assert "3-dupACK" in answers


def test_a_flow_is_explained_by_its_own_transport(mixed: sw.Result) -> None:
    kinds: dict[int, set[str]] = {}
    for row in mixed.flows.to_pylist():
        kinds.setdefault(row["entry"], set()).add(flow_facts(mixed, row["flow"])["transport"])
    assert kinds == {0: {"rdma"}, 1: {"cubic"}, 2: {"udp"}}


def test_packets_have_the_sizes_of_their_own_transport(mixed: sw.Result, tmp_path: Path) -> None:
    ways = Ways.of(mixed.spec, mixed.report)
    assert ways is not None
    assert (ways.of_entry(0).frame.payload, ways.of_entry(1).frame.payload) == (1000, 1460)
    # Alone in the fabric, as ConWeave's code counts it: flows of one size, in packets of two sizes.
    alone = {row.size_bytes: set[int]() for row in rows_of(mixed)}
    for row in rows_of(mixed):
        alone[row.size_bytes].add(row.ideal_fct_ns)
    assert all(len(found) > 1 for found in alone.values())


def test_captured_packets_have_the_headers_of_their_own_transport() -> None:
    captured = sw.run({**MIXED, "metrics": {"capture": {"at": ["host0", "host4"]}}})
    assert captured.packets is not None
    told, by_flow = settings_of(captured, 8), dict(enumerate(captured.flows.column("entry").to_pylist()))
    seen = {(by_flow[packet.flow], told(packet).mss) for packet in packets(captured.packets) if packet.kind == "data"}
    assert {(0, 1000), (1, 1460)} <= seen


def test_transports_are_each_told_once() -> None:
    spec = resolve({**MIXED, "traffic": [*MIXED["traffic"], {**MIXED["traffic"][1], "name": "more"}]})
    assert [one["kind"] for one in transports(spec)] == ["rdma", "cubic"]
    assert [one["kind"] for one in transports(resolve({"traffic": MIXED["traffic"][2:]}))] == ["dctcp"]


@pytest.mark.parametrize(
    ("kind", "key"), [("uet", "kind"), ("mptcp", "subflows")], ids=["Ultra Ethernet", "several paths"]
)
def test_transports_that_go_with_no_other_are_refused_by_their_key(kind: str, key: str) -> None:
    entry = {**MIXED["traffic"][1], "transport": {"kind": kind}}
    with pytest.raises(SpecError) as caught:
        resolve({**FABRIC, "switch": {}, "traffic": [{**entry, "priority": 0}]})
    assert caught.value.key == f"traffic[0].transport.{key}"


def test_cubic_on_a_lossless_priority_has_ports_paused_for_longer_as_the_page_says() -> None:
    page = ROOT / "docs" / "how-to" / "transports.md"
    (text,) = (block.text for block in blocks(page) if "# storage_and_web.toml" in block.text)

    def paused_s(lossy: list[int]) -> tuple[float, int]:
        spec = tomllib.loads(text)
        spec["switch"]["lossy_priorities"] = lossy
        facts = sw.run(spec).summary().facts
        return facts.paused_s, int(facts.drops)

    (lossless, none), (lossy, some) = paused_s([]), paused_s([1])
    assert lossless > 1.5 * lossy
    assert (none, some > 0) == (0, True)
