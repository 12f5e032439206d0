"""The traffic's demand on the fabric of a run, in words."""

from __future__ import annotations

from collections.abc import Sequence

from spinewise.measures import units
from spinewise.measures.entries import names
from spinewise.measures.summary import known_loads
from spinewise.replies import Loads
from spinewise.shapes import Spec, Traffic

# The readings of offered load.
READINGS = {
    "payload_of_nominal": "payload over the nominal rate of uplinks",
    "wire_of_nominal": "with headers and ACKs",
    "wire_of_available": "at the busiest {}, over what failed and slow links leave",
}


def lines(spec: Spec, loads: Loads | None) -> list[str]:
    """Offered load, and whether it exceeds the capacity of the fabric; empty for traffic without a load."""
    if not loads:
        return []
    where = worst(loads)
    words = [f"{READINGS[name].format(where)} {units.digits(load, 3)}" for name, load in known_loads(loads).items()]
    found = ["offered load: " + " · ".join([*asked(spec), *words, *left_out(spec, loads)])]
    return [*found, *(["OVERLOADED: the results depend on how long the run lasts"] if loads["overloaded"] else [])]


def worst(loads: Loads) -> str:
    """The busiest leaf, pod or hosts of a leaf, and the direction; "leaf" if unknown."""
    found = loads.get("worst")
    if not found:
        return "leaf"
    if found["direction"] in ("from hosts", "to hosts"):
        return f"rack's host links ({found['at']} {found['direction']})"
    return f"{'pod' if found['at'].startswith('pod') else 'leaf'} ({found['at']} {found['direction']})"


def asked(spec: Spec) -> list[str]:
    """The requested load of each traffic entry, in words; the drawn load may differ."""
    traffic = spec.get("traffic", [])
    found = [(name, one) for name, one in zip(names(traffic), traffic, strict=True) if one.get("load")]
    return [
        f"requested {one['load']:g}{of_what([one])}" + (f" by {name}" if len(traffic) > 1 else "")
        for name, one in found
    ]


def of_what(traffic: Sequence[Traffic]) -> str:
    """What a load is a share of, if not the default of reports: the leaves' uplinks."""
    return " of hosts' links" if any(one.get("load_of") == "host_links" for one in traffic) else ""


def left_out(spec: Spec, loads: Loads) -> list[str]:
    """The traffic that is not part of any load."""
    known = names(spec.get("traffic", []))
    without = [known[entry] for entry in loads.get("without", [])]
    if not without:
        return []
    return [f"without {', '.join(without)}, which {'has' if len(without) == 1 else 'have'} no rate of arrivals"]
