"""The plan of a lab that can also do what its runs need: refused before anything is built."""

from __future__ import annotations

from spinewise.lab import breaking, fit
from spinewise.lab.plan import Plan, Steering, plan_of
from spinewise.shapes import Spec


def checked_plan(
    resolved: Spec, name: str | None = None, factor: int | None = None, steering: Steering = "needed"
) -> Plan:
    """The lab of a resolved spec, whose faults and series it can do, too.

    Raises:
        SpecError: the lab cannot build it, or do what its runs need; the error says why.
    """
    made = plan_of(resolved, name, factor, steering)
    fit.check_series(made.spec)
    breaking.deeds(made)
    return made
