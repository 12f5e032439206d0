"""The links that packets took in a run, to the port."""

from __future__ import annotations

import re
from collections.abc import Mapping

from spinewise.papers.lbsp.measure.flows import UPLINK, tree_of
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

# A stream is a thousand packets or so; a message of a failure is one packet a link.
LEAST = 50
# The bytes of a message (LBSP's message_bytes). Packets of the pairs all have the bytes of an acknowledgement.
MESSAGE_BYTES = 64
UP = ("leaf->aggregation", "aggregation->core")
DOWN = ("core->aggregation", "aggregation->leaf")
LINK_NAME = re.compile(r"([a-z]+)(\d+)->([a-z]+)(\d+)")


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure the switches that a stream passes, as bits of a number per step; or packets by leaf and link group."""
    return by_group(result) if result.spec["traffic"][0]["kind"] == "all_to_all" else passed(result)


def passed(result: Result) -> dict[str, float]:
    """For each step of the path, the far ends of the links that the stream took, one bit each; and its losses."""
    found = dict.fromkeys((*UP, *DOWN), 0)
    ports, half = {"leaf": 0, "aggregation": 0}, tree_of(result).half
    for link in result.report["links"]:
        match = LINK_NAME.fullmatch(link["name"])
        if match and link["packets"] >= LEAST:
            step = f"{match[1]}->{match[3]}"
            if step in found:
                found[step] |= 1 << int(match[4])
            if step in UP:
                ports[match[1]] |= 1 << (int(match[4]) % half)
    return {
        **{step: float(switches) for step, switches in found.items()},
        **{f"{tier}_ports": float(used) for tier, used in ports.items()},
        "lost": float(sum(link["drops"] for link in result.report["links"])),
    }


def by_group(result: Result) -> dict[str, float]:
    """The share of pairs with an end under the leaf of the failure, in percent; packets up by leaf and group."""
    tree = tree_of(result)
    own_bytes = result.spec["transport"]["ack_bytes"]
    hosts, own = tree.k**3 // 4, tree.half
    found = {f"{leaf}, {group}": 0.0 for leaf in range(hosts // own) for group in (0, 1)}
    for link in result.report["links"]:
        match = UPLINK.fullmatch(link["name"])
        if match and match[1] == "leaf":
            messages = (link["bytes"] - own_bytes * link["packets"]) / (MESSAGE_BYTES - own_bytes)
            found[f"{match[2]}, {int(match[4]) % 2}"] += link["packets"] - messages
    touched = sum((a // own == tree.leaf) != (b // own == tree.leaf) for a in range(hosts) for b in range(hosts))
    lost = float(sum(link["drops"] for link in result.report["links"]))
    return {**found, "touched": 100.0 * touched / (hosts * (hosts - 1)), "lost": lost}
