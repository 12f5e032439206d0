"""The [[fault]] tables of a spec."""

from __future__ import annotations

from spinewise.shapes import Fault, Spec


def fault_times_us(spec: Spec) -> list[tuple[float, float | None]]:
    """The begin and end of each fault of a spec, in µs; the end is None if there is none."""
    return [(float(fault.get("at_us") or 0.0), end_us(fault)) for fault in spec.get("fault") or []]


def end_us(fault: Fault) -> float | None:
    """The end of a fault, in µs."""
    until = fault.get("until_us")
    return None if until is None else float(until)


def without_faults(spec: Spec) -> Spec:
    """The same spec without faults."""
    whole = spec.copy()
    whole.pop("fault", None)
    whole.pop("detection", None)
    return whole
