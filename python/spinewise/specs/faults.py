"""The [[fault]] tables of a spec."""

from __future__ import annotations

from spinewise.shapes import Fault, Spec


def fault_times_us(spec: Spec) -> list[tuple[float, float | None]]:
    """When each fault of a spec begins and ends, in µs; None where it has no end."""
    return [(float(fault.get("at_us") or 0.0), end_us(fault)) for fault in spec.get("fault") or []]


def end_us(fault: Fault) -> float | None:
    """When a fault ends, in µs."""
    until = fault.get("until_us")
    return None if until is None else float(until)


def without_faults(spec: Spec) -> Spec:
    """The same spec in which nothing breaks."""
    whole = spec.copy()
    whole.pop("fault", None)
    whole.pop("detection", None)
    return whole
