"""Topologies of htsim (``.topo``): ``Nodes``, ``Tiers``, ``Podsize``, then the keys of each tier of switches.

    Nodes 1024
    Tiers 3
    Podsize 64
    Tier 0
    Downlink_speed_Gbps 100
    Radix_Down 8
    Radix_Up 8
    Downlink_Latency_ns 1000
    Switch_Latency_ns 0

Tier 0 has the switches of hosts. ``Bundle b`` of a tier joins each of its switches to each one below by b links. Keys
may be in any case; ``#`` begins a comment.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from spinewise import core
from spinewise.errors import SpecError, nearest
from spinewise.interop.clos import Clos, Kind
from spinewise.interop.looks import looks_like
from spinewise.interop.text import Line, exact, read_lines
from spinewise.magnitudes import BITS_PER_GIGABIT, PS_PER_NS

HEAD = ("nodes", "tiers", "podsize")
KEYS = (
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "oversubscribed",
    "downlink_latency_ns",
    "switch_latency_ns",
    "bundle",
    "queue_up",
    "queue_down",
)

MadeBy = Mapping[str, tuple[int | None, tuple[str, ...]]]
MADE_BY: dict[Kind, MadeBy] = {
    "leaf_spine": {
        "leaves": (None, ("nodes",)),
        "spines": (0, ("radix_up", "oversubscribed")),
        "hosts_per_leaf": (0, ("radix_down",)),
        "parallel_links": (1, ("bundle",)),
    },
    "fat_tree": {
        "pods": (None, ("nodes",)),
        "leaves_per_pod": (None, ("podsize",)),
        "aggregations_per_pod": (0, ("radix_up", "oversubscribed")),
        "cores_per_aggregation": (1, ("radix_up", "oversubscribed")),
        "hosts_per_leaf": (0, ("radix_down",)),
    },
}
"""The tier, or the head, and the keys in it that make a count of ``[topology]``, by its kind."""
SPEEDS_AND_TIMES: MadeBy = {
    f"{name}_{key}": (tier, (made_by,))
    for tier, name in enumerate(("host", "fabric", "core"))
    for key, made_by in (("rate_gbps", "downlink_speed_gbps"), ("delay_ns", "downlink_latency_ns"))
} | {"switch_latency_ns": (0, ("switch_latency_ns",))}
"""The same of the other keys of ``[topology]``."""
FAR_TOO_MANY = 2**63
"""More than any key allows; the engine says what a key allows of whole numbers up to this."""


@dataclass
class Tier:
    """The keys of a tier, with their lines."""

    line: Line
    values: dict[str, tuple[Line, Fraction]] = field(default_factory=dict)

    def get(self, key: str, default: int | None = None) -> Fraction:
        """The value of a key.

        Raises:
            SpecError: it is missing and has no default.
        """
        if key in self.values:
            return self.values[key][1]
        if default is None:
            raise self.line.error(" ".join(self.line.tokens), "(nothing)", f'a line "{key.title()} …" in this tier')
        return Fraction(default)

    def whole(self, key: str, default: int | None = None) -> int:
        """The value of a key that must be a whole number, 1 or more."""
        value = self.get(key, default)
        if value.denominator != 1 or value < 1:
            raise refused(self.values[key][0], "a whole number, 1 or more")
        return int(value)

    def rate_bps(self) -> int:
        """The rate of its links down."""
        rate = int(self.get("downlink_speed_gbps") * BITS_PER_GIGABIT)
        if rate < 1:
            raise refused(self.values["downlink_speed_gbps"][0], "a rate above 0")
        return rate


def refused(line: Line, allowed: str, hint: str | None = None) -> SpecError:
    """An error about the value of a line's key, both as the file has them."""
    return line.error(line.tokens[0], " ".join(line.tokens[1:]), allowed, hint)


@dataclass(frozen=True)
class Found:
    """A fabric, and notes about changes made while reading the file."""

    fabric: Clos
    notes: list[str]


def read(path: str | Path) -> Found:
    """Read a topology.

    Raises:
        SpecError: with file and line: an unknown key, one that is missing, counts that do not fit each other, or a
            value that no spec allows.
    """
    head, tiers = read_tiers(path)
    nodes, pod = head["nodes"].hosts(1, head["nodes"].tokens[0]), int(head["podsize"].tokens[1])
    if nodes % pod:
        raise SpecError("Podsize", pod, f"a divisor of Nodes, {nodes}", file=str(path))
    down = [tier.whole("radix_down") for tier in tiers]
    rates = tuple(tier.rate_bps() for tier in tiers)
    up = [radix_up(tier, above) for tier, above in pairwise(tiers)]
    latencies = {tier.get("switch_latency_ns", 0) for tier in tiers}
    if len(latencies) > 1:
        told = ", ".join(f"{float(ns):g}" for ns in sorted(latencies))
        raise SpecError("Switch_Latency_ns", told, "one latency for the switches of all tiers", file=str(path))
    make = two_tiers if len(tiers) == 2 else three_tiers
    counts, notes = make(path, nodes, pod, (down, up, [tier.whole("bundle", 1) for tier in tiers]))
    delays = tuple(int(tier.get("downlink_latency_ns") * PS_PER_NS) for tier in tiers)
    if any("queue_up" in tier.values or "queue_down" in tier.values for tier in tiers):
        notes.append(f"{path}: queue sizes are left out: they belong in [switch]")
    kind: Kind = "leaf_spine" if len(tiers) == 2 else "fat_tree"
    fabric = Clos(kind, counts, rates, delays, list(range(nodes)), int(latencies.pop() * PS_PER_NS))
    check(fabric, head, tiers)
    return Found(fabric, notes)


def check(fabric: Clos, head: Mapping[str, Line], tiers: Sequence[Tier]) -> None:
    """Refuse a fabric that no spec may have.

    Raises:
        SpecError: with the line that makes it one, and what is allowed.
    """
    made = tomllib.loads(fabric.toml())["topology"]
    asked = {key: min(value, FAR_TOO_MANY) if isinstance(value, int) else value for key, value in made.items()}
    try:
        core.resolve({"topology": asked, "traffic": [{"kind": "permutation", "size_bytes": 1}]})
    except SpecError as error:
        table, _, key = error.key.partition(".")
        # Whatever else is refused is about the traffic and the transport, which are others in the end.
        if table != "topology":
            return
        tier, keys = {**MADE_BY[fabric.kind], **SPEEDS_AND_TIMES}.get(key, (None, ("nodes",)))
        lines = head if tier is None else {name: line for name, (line, _) in tiers[tier].values.items()}
        line = next((lines[name] for name in keys if name in lines), None)
        if line is None:
            line = head["nodes"] if tier is None else tiers[tier].line
        hint = f"it makes {key} = {made[key]:.12g}" if key in fabric.counts else None
        raise refused(line, error.allowed, hint) from None


def read_tiers(path: str | Path) -> tuple[dict[str, Line], list[Tier]]:
    """The lines of the head by their keys, and the tiers in order."""
    head: dict[str, Line] = {}
    tiers: list[Tier] = []
    for line in read_lines(path):
        if line.tokens[0].startswith("#"):
            continue
        line.expect([2], 'a key and its value, such as "Radix_Down 8"')
        key = line.tokens[0].lower()
        if key == "tier":
            if line.whole(1, "tier") != len(tiers):
                raise line.error("tier", line.tokens[1], f"tier {len(tiers)} next")
            tiers.append(Tier(line))
        elif key in HEAD and not tiers:
            line.whole(1, line.tokens[0], least=1)
            head[key] = line
        elif key in KEYS and tiers:
            value = exact(line.tokens[1])
            if value is None or value < 0:
                raise line.error(line.tokens[0], line.tokens[1], "a number, 0 or more")
            tiers[-1].values[key] = (line, value)
        else:
            words = KEYS if tiers else HEAD
            hint = looks_like(path, "htsim-topo") or nearest(key, words)
            raise line.error("all", line.tokens[0], ", ".join([*words, "tier"]), hint)
    for key in HEAD:
        if key not in head:
            raise SpecError(key.capitalize(), "(nothing)", "Nodes, Tiers and Podsize before the first tier",
                            looks_like(path, "htsim-topo"), file=str(path))  # fmt: skip
    told = int(head["tiers"].tokens[1])
    if told not in (2, 3) or len(tiers) != told:
        raise SpecError("Tiers", told, f"2 or 3, as many as there are: {len(tiers)}", file=str(path))
    return head, tiers


def radix_up(tier: Tier, above: Tier) -> int:
    """Links of a switch to the tier above, given or from the oversubscription."""
    down = tier.whole("radix_down")
    ratio = tier.get("downlink_speed_gbps") / above.get("downlink_speed_gbps")
    over = tier.get("oversubscribed", 1)
    if over < 1:
        raise refused(tier.values["oversubscribed"][0], "1 or more")
    from_ratio = down * ratio / over
    if "radix_up" not in tier.values:
        if from_ratio.denominator != 1:
            allowed = f'a line "Radix_Up …": {down} links down and oversubscription {float(over):g} make none'
            raise tier.line.error("Radix_Up", "(nothing)", allowed)
        return int(from_ratio)
    up = tier.whole("radix_up")
    if "oversubscribed" in tier.values and from_ratio != up:
        allowed = f"{float(down * ratio / up):g}, with Radix_Down {down} and Radix_Up {up}"
        raise refused(tier.values["oversubscribed"][0], allowed)
    return up


Radices = tuple[list[int], list[int], list[int]]


def two_tiers(path: str | Path, nodes: int, pod: int, radices: Radices) -> tuple[dict[str, int], list[str]]:
    """Counts of a leaf-spine."""
    down, up, bundle = radices
    if pod != nodes:
        raise SpecError("Podsize", pod, f"Nodes, {nodes}, with two tiers", file=str(path))
    leaves = divided(path, "Radix_Down of tier 0", nodes, down[0])
    spines = divided(path, "Radix_Down of tier 1", leaves * up[0], down[1])
    if spines * bundle[1] != up[0] or leaves * bundle[1] != down[1]:
        allowed = f"links from each of {leaves} leaves to each of {spines} spines"
        raise SpecError("Bundle of tier 1", bundle[1], allowed, file=str(path))
    counts = {"leaves": leaves, "spines": spines, "hosts_per_leaf": down[0], "parallel_links": bundle[1]}
    return counts, []


def three_tiers(path: str | Path, nodes: int, pod: int, radices: Radices) -> tuple[dict[str, int], list[str]]:
    """Counts of a fat-tree."""
    down, up, bundle = radices
    leaves = divided(path, "Radix_Down of tier 0", pod, down[0])
    aggregations = divided(path, "Radix_Down of tier 1", leaves * up[0], down[1])
    pods = nodes // pod
    if aggregations * bundle[1] != up[0] or leaves * bundle[1] != down[1]:
        allowed = f"links from each of {leaves} leaves of a pod to each of its {aggregations} aggregation switches"
        raise SpecError("Bundle of tier 1", bundle[1], allowed, file=str(path))
    if bundle[1] > 1:
        raise SpecError("Bundle of tier 1", bundle[1], "1 in a fabric of three tiers", file=str(path))
    cores = divided(path, "Radix_Down of tier 2", pods * aggregations * up[1], down[2])
    if up[1] % bundle[2] or cores * bundle[2] != aggregations * up[1]:
        allowed = f"links from each of {pods} pods to each of {cores} cores"
        raise SpecError("Bundle of tier 2", bundle[2], allowed, file=str(path))
    notes = []
    if bundle[2] > 1:
        notes.append(
            f"{path}: each core with bundles of {bundle[2]} links becomes {bundle[2]} cores with single links: as many "
            "paths and the same rates, but the links of a bundle no longer share a switch"
        )
    counts = {
        "pods": pods,
        "leaves_per_pod": leaves,
        "aggregations_per_pod": aggregations,
        "cores_per_aggregation": up[1],
        "hosts_per_leaf": down[0],
    }
    return counts, notes


def divided(path: str | Path, key: str, total: int, by: int) -> int:
    """`total` in equal parts."""
    if total % by:
        raise SpecError(key, by, f"a divisor of {total}", file=str(path))
    return total // by
