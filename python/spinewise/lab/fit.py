"""Check what a lab can build and what it cannot, before anything is touched."""

from __future__ import annotations

from spinewise.errors import SpecError
from spinewise.lab.scale import FASTEST_BPS
from spinewise.replies import Fabric
from spinewise.shapes import Fault, Spec, Traffic

HEADERS = 40
"""IPv4 and TCP without options."""
LEAST_MSS, MOST_MSS = 536, 9_000
MOST_NODES, MOST_CABLES = 64, 256
LEAST_SERIES_US = 10_000.0
"""The shortest interval between readings of all ports."""

CONGESTION = {"cubic": "cubic", "newreno": "reno", "reno": "reno", "ecn": "reno", "dctcp": "dctcp"}
"""The kernel's name of each transport's congestion control. Its loss recovery is always RACK with SACK. Before a lab is
built, it is checked that the kernel has it."""
MARKED = ("ecn", "dctcp")
RDMA = ("rdma", "dcqcn", "timely", "hpcc")
BY_THE_CLOCK = ("poisson", "on_off", "permutation", "incast", "flows")
"""Traffic whose flows start at given times."""
FAULTS = ("down", "flap", "rate", "black_hole")
PLAIN = ("ecmp", "wcmp", "txrehash")
"""Schemes implemented by the kernel: multipath routes, with weights, and sockets that draw another hash at timeouts."""
STEERED = (
    "presto", "drb", "letflow", "rps", "packet_scatter", "meet", "clove", "pdlb", "ag", "flowcell", "proportional",
    "elab", "hermes", "flowbender",
)  # fmt: skip
"""Schemes that agents at the hosts may run; the agent reports which of them it supports."""
OWN_PORTS = ("elab",)
"""The schemes that find their paths themselves, and handle dead ones."""


def check_spec(resolved: Spec) -> None:
    """Refuse a spec that no lab can build.

    Raises:
        SpecError: naming the key and what a lab supports.
    """
    kind = str(resolved["topology"]["kind"])
    if kind != "leaf_spine":
        raise SpecError("topology.kind", kind, '"leaf_spine" in a lab', "it routes over two tiers of switches")
    check_transport(resolved)
    check_scheme(resolved)
    for number, entry in enumerate(resolved["traffic"]):
        check_traffic(f"traffic[{number}]", entry)
    if resolved["switch"].get("model") != "output_queued":
        allowed = '"output_queued" in a lab'
        raise SpecError("switch.model", resolved["switch"].get("model"), allowed, "each port has a queue of its own")
    for number, fault in enumerate(resolved.get("fault", [])):
        check_fault(f"fault[{number}]", fault)


def check_scheme(resolved: Spec) -> None:
    """Refuse schemes that need switches of their own.

    Raises:
        SpecError: naming those that the kernel or an agent can run.
    """
    name = str(resolved["scheme"]["name"])
    if name not in (*PLAIN, *STEERED):
        allowed = f"{', '.join((*PLAIN, *STEERED))} in a lab"
        raise SpecError(
            "scheme.name", name, allowed, "it decides at switches, but the switches of a lab are the kernel's"
        )


def needs_marks(resolved: Spec) -> bool:
    """Whether the ports of switches should mark packets."""
    transport = resolved["transport"]
    return transport["kind"] in MARKED or bool(transport.get("cubic_ecn"))


def check_transport(resolved: Spec) -> None:
    """Refuse transports other than the TCP of Linux."""
    transport = resolved["transport"]
    kind = str(transport["kind"])
    allowed = f"{', '.join(CONGESTION)} in a lab"
    if kind in RDMA:
        raise SpecError("transport.kind", kind, allowed, "RDMA needs NICs that support it; a lab has the kernel's TCP")
    if kind not in CONGESTION:
        raise SpecError("transport.kind", kind, allowed, "the kernel has no such congestion control here")
    mss = int(transport["mss_bytes"])
    if not LEAST_MSS <= mss <= MOST_MSS:
        raise SpecError("transport.mss_bytes", mss, f"{LEAST_MSS} to {MOST_MSS} in a lab")


def check_traffic(key: str, entry: Traffic) -> None:
    """Refuse flows that start when others end, and sources that are not TCP."""
    kind, allowed = str(entry["kind"]), f"{', '.join(BY_THE_CLOCK)} in a lab"
    if own := entry.get("transport"):
        raise SpecError(f"{key}.transport", own.get("kind"), "no transport of its own in a lab: its hosts have one")
    if kind == "udp":
        raise SpecError(f"{key}.kind", kind, allowed, "a lab carries only TCP")
    if kind not in BY_THE_CLOCK:
        raise SpecError(
            f"{key}.kind", kind, allowed, "its flows wait for each other, but those of a lab start by the clock"
        )
    rounds = entry.get("rounds", 1)
    if rounds != 1:
        raise SpecError(f"{key}.rounds", rounds, "1 in a lab", "its flows would wait for each other")


def check_fault(key: str, fault: Fault) -> None:
    """Refuse faults that cannot be reproduced on Linux here."""
    kind = str(fault["kind"])
    if kind not in FAULTS:
        raise SpecError(
            f"{key}.kind", kind, f"{', '.join(FAULTS)} in a lab", "it would need netem, which labs do without"
        )
    share = fault.get("fraction", 1.0)
    if kind == "black_hole" and (share != 1.0 or fault.get("pairs")):
        raise SpecError(
            f"{key}.fraction", share, "1 in a lab", "a black hole there swallows all that a switch forwards"
        )


def check_series(spec: Spec) -> None:
    """Refuse series of links, of a spec at the lab's scale, that are too dense for readings of its ports.

    Raises:
        SpecError: naming the shortest interval.
    """
    found = float(spec["metrics"].get("series_interval_us") or 0.0)
    if 0.0 < found < LEAST_SERIES_US:
        allowed = f"0, or {LEAST_SERIES_US:g} and more at the lab's scale"
        raise SpecError("metrics.series_interval_us", found, allowed)


def check_size(fabric: Fabric, factor: int) -> None:
    """Refuse a fabric that is too large for one machine, or too fast when slowed by `factor`."""
    nodes, cables = len(fabric["nodes"]), len(fabric["links"]) // 2
    if nodes > MOST_NODES:
        allowed = f"at most {MOST_NODES} hosts and switches in a lab"
        raise SpecError("topology", f"{nodes} hosts and switches", allowed, "each is a network namespace")
    if cables > MOST_CABLES:
        raise SpecError("topology", f"{cables} cables", f"at most {MOST_CABLES} in a lab")
    fastest = max(link["rate_bps"] for link in fabric["links"]) / factor
    if fastest > FASTEST_BPS:
        allowed = f"a factor that brings every link to {FASTEST_BPS / 1e6:.0f} Mbps or less"
        hint = f"the fastest would have {fastest / 1e6:g} Mbps: two cores could not fill it packet by packet"
        raise SpecError("--factor", factor, allowed, hint)
