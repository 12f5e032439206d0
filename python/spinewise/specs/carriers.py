"""The transports of a resolved spec: that of the run, and those that traffic entries have of their own."""

from __future__ import annotations

from spinewise.shapes import Spec, Traffic, Transport


def transport_of(spec: Spec, entry: int) -> Transport:
    """The transport of a traffic entry, by its place: its own, or that of the run."""
    return of_entry(spec, (spec.get("traffic") or [])[entry])


def of_entry(spec: Spec, entry: Traffic) -> Transport:
    """The same, for an entry of the spec."""
    return entry.get("transport") or spec.get("transport") or {}


def transports(spec: Spec) -> list[Transport]:
    """All transports of flows, each once, in the order of traffic entries; that of the run if none has flows."""
    found: list[Transport] = []
    for entry in spec.get("traffic") or []:
        if entry.get("kind") != "udp" and (own := of_entry(spec, entry)) not in found:
            found.append(own)
    return found or [spec.get("transport") or {}]


def key_of(spec: Spec, entry: int, key: str) -> str:
    """The path of a key of an entry's transport."""
    is_own = (spec.get("traffic") or [])[entry].get("transport")
    return f"traffic[{entry}].transport.{key}" if is_own else f"transport.{key}"


def kinds(spec: Spec) -> str:
    """The kinds of its transports, each once, joined by a plus."""
    return " + ".join(dict.fromkeys(str(one.get("kind", "")) for one in transports(spec)))
