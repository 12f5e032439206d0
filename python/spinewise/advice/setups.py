"""The differences between variants besides their scheme: transports and switches, from the resolved specs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spinewise.measures import units
from spinewise.shapes import Spec
from spinewise.specs.carriers import transports
from spinewise.specs.kinds import table

COLUMNS: Final = {
    "transport": "transport",
    "recovery": "loss recovery",
    "flow_control": "flow control",
    "buffer": "buffer",
    "marking": "marking",
    "payload": "payload",
}
"""The possible differences, by the fields of `Setup`."""
OF_SWITCHES: Final = ("flow_control", "buffer", "marking")
"""The fields that are configured at switches."""
PFC, NO_PFC = "PFC", "no PFC"


@dataclass(frozen=True)
class Setup:
    """The settings that some schemes ran over, in words.

    Attributes:
        schemes: their labels.
        transport: kind and congestion control.
        recovery: the loss recovery.
        flow_control: whether switches pause (PFC).
        buffer: the buffer of a switch or a port.
        marking: the queue length from which ECN marks.
        payload: the payload of a full packet.
    """

    schemes: tuple[str, ...]
    transport: str
    recovery: str
    flow_control: str
    buffer: str
    marking: str
    payload: str

    def words(self) -> dict[str, str]:
        """The text of each column."""
        return {name: str(getattr(self, name)) for name in COLUMNS}


def setup(label: str, resolved: Spec) -> Setup:
    """The settings that a scheme runs over."""
    switch, every = table(resolved, "switch"), transports(resolved)
    return Setup(
        schemes=(label,),
        transport=" + ".join(named(one) for one in every),
        recovery=" + ".join(dict.fromkeys(str(one.get("recovery", "none")) for one in every)),
        flow_control=PFC if pauses(resolved) else NO_PFC,
        buffer=buffer(switch),
        marking=marking(switch),
        payload=" + ".join(dict.fromkeys(f"{number(one, 'mss_bytes'):,.0f} B" for one in every)),
    )


def named(transport: Mapping[str, object]) -> str:
    """The kind of a transport, and its congestion control where it has a key for that."""
    control = transport.get("congestion_control")
    return str(transport.get("kind")) + (f", {control}" if control else "")


def pauses(resolved: Spec) -> bool:
    """Whether switches pause their neighbours (PFC)."""
    return table(resolved, "switch").get("pfc") is True


def number(of: Mapping[str, object], key: str) -> float:
    """A number of a table; 0 if it has none."""
    found = of.get(key)
    return float(found) if isinstance(found, int | float) else 0.0


def buffer(switch: Mapping[str, object]) -> str:
    """The buffer in words: of a whole switch, or of a port, where it may grow with the rate."""
    if packets := number(switch, "buffer_packets"):
        return f"{packets:,.0f} packets a port"
    more = f" and {units.plain(time)} µs" if (time := number(switch, "buffer_us")) else ""
    where = "shared by a switch" if switch.get("model") == "shared_buffer" else f"{more} a port".lstrip()
    return f"{units.size(number(switch, 'buffer_bytes'))} {where}"


def marking(switch: Mapping[str, object]) -> str:
    """The queue length from which all packets are marked, or the two lengths between which ever more are."""
    if packets := number(switch, "ecn_threshold_packets"):
        return f"from {packets:,.0f} packets"
    if "ecn_min_bytes" in switch:
        low, high = (units.size(number(switch, f"ecn_{end}_bytes")) for end in ("min", "max"))
        return f"{low} to {high}, up to {units.percent(number(switch, 'ecn_max_probability'))}"
    more = f" and {units.plain(time)} µs" if (time := number(switch, "ecn_threshold_us")) else ""
    size = number(switch, "ecn_threshold_bytes")
    return f"from {units.size(size)}{more}" if size or more else "none"


def grouped(setups: Sequence[Setup]) -> tuple[Setup, ...]:
    """The distinct setups, each with all of its schemes; empty if there is only one."""
    found: dict[tuple[str, ...], list[str]] = {}
    for one in setups:
        found.setdefault(tuple(one.words().values()), []).extend(one.schemes)
    return tuple(Setup(tuple(labels), *words) for words, labels in found.items()) if len(found) > 1 else ()


def differing(setups: Sequence[Setup]) -> list[str]:
    """The columns in which they differ."""
    return [name for name in COLUMNS if len({one.words()[name] for one in setups}) > 1]


def told(setups: Sequence[Setup]) -> list[str]:
    """A line for each setup, with its differences."""
    names = differing(setups)
    return [
        f"{', '.join(one.schemes)}: " + "; ".join(f"{COLUMNS[name]} {one.words()[name]}" for name in names)
        for one in setups
    ]


def changed_at_switches(setups: Sequence[Setup], label: str, today: str) -> list[str]:
    """The configuration of switches that a scheme needs, if its setup is not that of what runs today."""
    of = {scheme: one.words() for one in setups for scheme in one.schemes}
    if label not in of or today not in of:
        return []
    now, then = of[today], of[label]
    return [say_changed(name, then[name]) for name in OF_SWITCHES if now[name] != then[name]]


def say_changed(name: str, then: str) -> str:
    """The new configuration of a field, in words."""
    return then if name == "flow_control" else f"{COLUMNS[name]} {then}"
