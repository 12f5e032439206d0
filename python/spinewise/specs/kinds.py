"""Which keys of a spec belong to its kind of transport, and to the switches that come with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spinewise import core
from spinewise.replies import Transport
from spinewise.shapes import Spec


def strangers(spec: Spec, changed: Spec, paths: Iterable[str]) -> list[str]:
    """Key paths of `spec` that are still in `changed`, but describe another transport or other switches.

    A transport of another family (TCP, RDMA, Ultra Ethernet) shares no keys with the one that the spec describes, even
    where they have the same name, and runs over other switches unless the spec names their model. A kind of the same
    family shares those that it has.

    Args:
        spec: as it was.
        changed: the same after something has been set.
        paths: the key paths that were set; what they set belongs to what `changed` is.
    """
    given = set(paths)
    kinds = transports()
    before, after = (kinds.get(kind_of(one) or "") for one in (spec, changed))
    if before is None or after is None:
        # The engine refuses that kind, and says what is allowed.
        return []
    family = before["family"] == after["family"]
    has = {param["name"] for param in after["params"]} if family else {"kind"}
    found = []
    if before["name"] != after["name"]:
        found += [f"transport.{key}" for key in table(changed, "transport") if key not in has]
    switch, now = table(spec, "switch"), table(changed, "switch")
    if now.get("model") != switch.get("model") or not (family or "model" in switch):
        found += [f"switch.{key}" for key in now]
    return [path for path in found if path not in given]


def transports() -> dict[str, Transport]:
    """The kinds of transport that a spec may name."""
    return {entry["name"]: entry for entry in core.registry()["transports"] if "family" in entry}


def kind_of(spec: Spec) -> str | None:
    """The kind of transport of a spec: its own, or that of its preset. None where the engine refuses what it says."""
    kind: object = table(spec, "transport").get("kind")
    if kind is None:
        named, presets = spec.get("preset"), core.registry()["presets"]
        chosen = [one for one in presets if (one["is_default"] if named is None else one["name"] == named)]
        kind = chosen[0]["transport"].get("kind") if chosen else None
    return kind if isinstance(kind, str) else None


def table(spec: Spec, name: str) -> Mapping[str, object]:
    """A table of a spec, as far as it is one."""
    found = spec.get(name)
    return found if isinstance(found, dict) else {}
