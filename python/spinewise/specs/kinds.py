"""The keys of a spec that belong to its kind of transport, and to the switches that come with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spinewise import core
from spinewise.replies import Transport
from spinewise.shapes import Spec

CONTROL = "congestion_control"


def strangers(spec: Spec, changed: Spec, paths: Iterable[str]) -> list[str]:
    """Key paths of `spec` that are still in `changed`, but describe another transport or other switches.

    A transport of another family (TCP, RDMA, Ultra Ethernet) shares no keys with the one in the spec, even
    if they have the same name, and runs over other switches unless the spec names their model. A kind of the same
    family shares those that it has, and another congestion control has none of the keys of the one before.

    Args:
        spec: the original spec.
        changed: the same after something has been set.
        paths: the key paths that were set; their values belong to `changed`.
    """
    given = set(paths)
    kinds = transports()
    before, after = (kinds.get(kind_of(one) or "") for one in (spec, changed))
    if before is None:
        return []
    if after is None:
        # The engine refuses that kind, and lists what is allowed: other keys are not at fault.
        return [path for path in keys_of(changed, "transport") if path not in given]
    family = before["family"] == after["family"]
    found = []
    if before["name"] != after["name"]:
        has = {param["name"] for param in after["params"]} if family else {"kind"}
        found += [path for path in keys_of(changed, "transport") if path.partition(".")[2] not in has]
    elif table(spec, "transport").get(CONTROL) != (control := table(changed, "transport").get(CONTROL)):
        found += [f"transport.{key}" for key in table(changed, "transport") if key in of_others(after["name"], control)]
    switch, now = table(spec, "switch"), table(changed, "switch")
    if now.get("model") != switch.get("model") or not (family or "model" in switch):
        found += keys_of(changed, "switch")
    return [path for path in found if path not in given]


def keys_of(spec: Spec, name: str) -> list[str]:
    """The paths of the keys of a table."""
    return [f"{name}.{key}" for key in table(spec, name)]


def of_others(kind: str, control: object) -> set[str]:
    """The keys of a transport's congestion controls other than one."""
    entries = [entry for entry in core.registry()["transports"] if entry.get("controls") == kind]
    return {param["name"] for entry in entries if entry["name"] != control for param in entry["params"]}


def transports() -> dict[str, Transport]:
    """The kinds of transport that a spec may name."""
    return {entry["name"]: entry for entry in core.registry()["transports"] if "family" in entry}


def kind_of(spec: Spec) -> str | None:
    """The kind of transport of a spec: its own, or that of its preset. None if the engine refuses it."""
    kind: object = table(spec, "transport").get("kind")
    if kind is None:
        named, presets = spec.get("preset"), core.registry()["presets"]
        chosen = [one for one in presets if (one["is_default"] if named is None else one["name"] == named)]
        kind = chosen[0]["transport"].get("kind") if chosen else None
    return kind if isinstance(kind, str) else None


def family_of(spec: Spec) -> str:
    """The family of a spec's transport, such as tcp; empty if the engine refuses it."""
    found = transports().get(kind_of(spec) or "")
    return "" if found is None else found["family"]


def table(spec: Spec, name: str) -> Mapping[str, object]:
    """A table of a spec; empty if it is not one."""
    found = spec.get(name)
    return found if isinstance(found, dict) else {}


def trims(resolved: Spec) -> bool:
    """Whether the switches of a resolved spec trim."""
    switch = table(resolved, "switch")
    return switch.get("model") == "trimming" and switch.get("trim") is True
