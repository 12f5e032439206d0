"""Captured packets of a run as a pcapng file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from spinewise import core
from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.exports import pcapng
from spinewise.exports.frames import Link, address, frame
from spinewise.exports.settings import FrameSettings, Packet
from spinewise.measures.report import Captured
from spinewise.measures.tables import numbers
from spinewise.replies import Fabric
from spinewise.runs import api, formats
from spinewise.runs.otherwise import why_otherwise
from spinewise.runs.result import Result, refuse_linux
from spinewise.specs.carriers import of_entry

if TYPE_CHECKING:
    import pyarrow as pa

# Bytes of each frame that are kept by default: all headers.
SNAP_BYTES = 128
# Rows that are turned into Python's numbers at a time.
_ROWS = 20_000


def captured(result: Result, at: Sequence[str] | None, folder: str, progress: ProgressHook | None = None) -> Result:
    """Return `result` with packets captured at the places `at`: its own, or those of the same run repeated.

    Raises:
        SpecError: it captured none and no place is named, a place is not in the fabric, or the run does not come out
            as it did.
    """
    if at is None:
        if result.packets is None:
            hint = 'name the places with --capture host0,leaf0-spine1, and the run is made once more; or give its spec \
[metrics.capture] at = ["host0", "leaf0->spine1"]'
            raise SpecError("RUN", folder, "a run that captured packets", hint)
        return result
    own = matching(at, result)
    if own is not None:
        return only(result, own)
    refuse_linux(result, "RUN", folder)
    given = result.spec["metrics"].get("capture") or {}
    metrics = {**result.spec["metrics"], "capture": {**given, "at": list(at)}}
    try:
        again = api.run({**result.spec, "metrics": metrics}, progress=progress)
    except SpecError as error:
        if error.key.startswith("metrics.capture.at"):
            raise SpecError("--capture", error.value, error.allowed, error.hint) from None
        raise error.with_file(f"{folder}/{formats.RUN.record}") from None
    old, new = (each.report["outcome_hash"] for each in (result, again))
    if old != new:
        why = f"it comes to another outcome: {why_otherwise(result)}"
        raise SpecError("RUN", folder, "a run that this version makes once more as it was", why)
    return again


def matching(at: Sequence[str], result: Result) -> list[str] | None:
    """The captured ports of a run that the places `at` mean; None if it has not captured all of them."""
    there = {port["name"] for port in result.report.get("captured", ())}
    if not there:
        return None
    links = core.topology(result.spec)["links"]
    found: list[str] = []
    for place in at:
        ports = [
            link["name"] for link in links if place in (link["from"], link["name"], link["name"].replace("->", "-", 1))
        ]
        if not ports or not there.issuperset(ports):
            return None
        found += ports
    return found


def only(result: Result, places: Sequence[str]) -> Result:
    """`result` with the packets of these ports alone."""
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import, and only captures need it

    table = result.packets
    if table is None:
        return result
    wanted = pc.is_in(table.column("interface").cast("string"), value_set=_strings(places))
    report = result.report.copy()
    report["captured"] = [port for port in result.report["captured"] if port["name"] in places]
    return replace(result, packets=table.filter(wanted), report=report)


def _strings(words: Sequence[str]) -> pa.Array:
    import pyarrow as pa  # noqa: PLC0415

    return pa.array(list(words), pa.string())


def blocks(result: Result, snap_bytes: int = SNAP_BYTES) -> Iterator[bytes]:
    """The file, in pieces; `snap_bytes` is the most kept of each frame, 0 for all."""
    if result.packets is None:
        raise SpecError("RUN", result.title(), "a run that captured packets")
    fabric = core.topology(result.spec)
    ports: list[Captured] = result.report["captured"]
    name = f"Spinewise {result.report.get('version', '')}".strip()
    yield pcapng.section(name, f"Simulated: {result.title()}. docs/interop.md says what stands for what.")
    for port in ports:
        text = f"simulated port of {port['name'].partition('->')[0]}"
        yield pcapng.interface(port["name"], text, port["rate_bps"], snap_bytes)
    hosts = sum(node["tier"] == "host" for node in fabric["nodes"])
    yield pcapng.names((address(n, hosts), node["name"]) for n, node in enumerate(fabric["nodes"]))
    yield from packet_blocks(result.packets, settings_of(result, hosts), links_of(fabric, ports), snap_bytes)
    for number, port in enumerate(ports):
        yield pcapng.statistics(number, result.report["stop_ps"], port["packets"], port["packets"] - port["kept"])


def links_of(fabric: Fabric, ports: Sequence[Captured]) -> dict[str, tuple[int, Link]]:
    """The number in the file of each port, and the link it sends on."""
    numbers = {node["name"]: n for n, node in enumerate(fabric["nodes"])}
    links = {link["name"]: link for link in fabric["links"]}
    found = {}
    for number, port in enumerate(ports):
        link = links[port["name"]]
        found[port["name"]] = number, Link(numbers[link["from"]], numbers[link["to"]], port["rate_bps"])
    return found


def settings_of(result: Result, hosts: int) -> Callable[[Packet], FrameSettings]:
    """A function that returns the settings of a packet's transport.

    Raises:
        SpecError: there are several transports, and no rows of flows that tell which of them a flow has.
    """
    every = [FrameSettings.of(of_entry(result.spec, entry), hosts) for entry in result.spec["traffic"]]
    if all(one == every[0] for one in every):
        return lambda _: every[0]
    if not result.flows.num_rows:
        allowed = "a run that kept rows of its flows (metrics.keep_flows_up_to): they tell the transport of each"
        raise SpecError("RUN", result.title(), allowed)
    entries = numbers(result.flows, "entry")
    # Packets that are no flow's are not written with the settings of a transport.
    return lambda packet: every[int(entries[packet.flow])] if packet.protocol else every[0]


def packet_blocks(
    table: pa.Table, settings: Callable[[Packet], FrameSettings], ports: dict[str, tuple[int, Link]], snap_bytes: int
) -> Iterator[bytes]:
    """A block for each packet."""
    seen: dict[int, set[tuple[int, int, bool]]] = {number: set() for number, _ in ports.values()}
    for packet in packets(table):
        number, link = ports[packet.interface]
        if not packet.outbound:
            link = Link(link.receiver, link.sender, link.rate_bps)
        whole = frame(packet, settings(packet), link, seen[number])
        flags = pcapng.OUTBOUND if packet.outbound else pcapng.INBOUND
        comment = "lost on the link" if packet.lost else ""
        kept = whole.kept(snap_bytes)
        yield pcapng.packet(number, packet.time_ps, kept, length=whole.length, flags=flags, comment=comment)


def packets(table: pa.Table) -> Iterator[Packet]:
    """The rows of packets.parquet, in their order."""
    for batch in table.select(list(Packet._fields)).to_batches(max_chunksize=_ROWS):
        yield from map(Packet._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))
