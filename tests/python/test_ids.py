"""Numbers of links, nodes, switches, hosts and flows have types of their own wherever the engine takes or keeps one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from floors import CRATES

# `ids.rs` has the types.
SOURCE = CRATES["sim"]
NAMES = "link|node|switch|leaf|host|flow|subflow"
# One of them, or a list of them. How many there are is a number, and so is what a column of a table tells
# (`flow: u32, "unit"`).
BARE = re.compile(rf"\b({NAMES})(?:: &?(?:mut )?(?:Option<)?|(?:e?s): &?(?:mut )?(?:Vec<|\[))u32\b(?!, \")")
# A spec numbers hosts and leaves as people do, and so do the workloads that it names.
OF_A_SPEC = ("spec", "topology/spec", "workload", "keys")
# Others with a reason.
MAY = {
    # The contract of schemes has plain numbers.
    ("switch/own_ports.rs", "leaf"),
    ("switch/own_ports.rs", "host"),
    # A cable, as an override of a spec selects it.
    ("topology/wiring.rs", "leaf"),
    ("topology/wiring.rs", "host"),
    # Who sends to whom, as workloads list it.
    ("flows/connections.rs", "host"),
    ("operations.rs", "host"),
    ("outcome/collectives.rs", "host"),
    # The same field of a packet names a probe, or a key of a scheme; so do the rows of captured packets.
    ("packet.rs", "flow"),
    ("port/ahead.rs", "flow"),
    ("outcome/packets.rs", "flow"),
    # What a person asks to be traced, before it is known whether there is such a flow.
    ("trace.rs", "flow"),
    # Places in a plan of traffic, which become numbers of flows when the plans of all entries are one.
    ("gates.rs", "flow"),
    # Decisions by schemes alone, without an engine.
    ("bench/decisions.rs", "flow"),
}


def bare(text: str) -> Iterator[str]:
    """The names of parameters and fields of this text that are bare numbers though they have a type."""
    return (found[1] for found in BARE.finditer(text))


def test_what_has_a_type_is_nowhere_a_bare_number() -> None:
    found = set()
    for file in SOURCE.rglob("*.rs"):
        name = file.relative_to(SOURCE).as_posix()
        if not name.startswith(OF_A_SPEC):
            found |= {(name, what) for what in bare(file.read_text())}
    assert found == MAY


def test_parameters_fields_and_lists_are_seen() -> None:
    text = "fn out(&self, node: u32, links: &[u32]) { switches: Vec<u32>, link: Option<u32>, nodes: u32 }"
    assert list(bare(text)) == ["node", "link", "switch", "link"]
