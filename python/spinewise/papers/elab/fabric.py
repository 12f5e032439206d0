"""Parts shared by the experiments on ELAB: the set-ups T4-A to T4-D, the schemes, and the assumptions."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.papers.elab.labels import CLOVE, ELAB, FLOWLETS, HERMES, HIDDEN, MASKED, ORACLE, SLOW
from spinewise.reproduction.experiment import Assumption
from spinewise.shapes import Override, Spec, Topology, Transport
from spinewise.specs.variants import Variant, parse

# "20 µs per hop": four links there, four back, 160 µs.
HOP_NS = 20_000
BASE_RTT_US = 8 * HOP_NS / 1e3

# The paper names neither the flavour of TCP nor what it does about reordering.
TRANSPORTS: Mapping[str, Transport] = {
    "ECN-TCP": {"kind": "ecn"},
    "ECN-TCP, RACK-TLP": {"kind": "ecn", "recovery": "rack"},
    "ECN-TCP, reordering ignored": {"kind": "ecn", "dupack_threshold": 0},
    "DCTCP": {"kind": "dctcp"},
    "DCTCP, RACK-TLP": {"kind": "dctcp", "recovery": "rack"},
    "DCTCP, reordering ignored": {"kind": "dctcp", "dupack_threshold": 0},
}

# §3.1 and §5.1: two thirds of the weight are left, and the third is lost; packet by packet, or no single flow could
# be split in proportion.
_CLOVE = "clove:redistribute=off:flowlet_gap_us="
# §5.1: T_ECN 40 %, T_RTT_low 20 µs above the base RTT, T_RTT_high twice the base RTT.
HERMES_SPEC = f"hermes:t_ecn=0.4:delay=rtt:scale=fixed:t_rtt_low_us=20:t_rtt_high_us={BASE_RTT_US:g}"
_OF: Mapping[str, str] = {
    "ECMP": "ecmp",
    CLOVE: f"{_CLOVE}0",
    SLOW: f"{_CLOVE}0:cut_interval_us=4000",
    FLOWLETS: f"{_CLOVE}500",
    HERMES: HERMES_SPEC,
    ELAB: "elab",
    HIDDEN: "elab:ecn=hidden",
    MASKED: "elab:ecn=all_marked",
    ORACLE: "proportional",
}


def schemes(*labels: str) -> list[Variant]:
    """The schemes with these labels."""
    return [parse(f"{_OF[label]}@{label}") for label in labels]


def under(scheme: Variant, base: Spec) -> Spec:
    """The spec with the scheme. ELAB's paths are ports of a tunnel, which switches hash with the two hosts."""
    made = scheme.apply(base)
    if made["scheme"]["name"] == "elab":
        made["scheme"]["path_tag"] = "outer"
    return made


def spec(name: str, topology: Topology, buffer_bytes: int, ecn_bytes: int, transport: str) -> Spec:
    """A spec without scheme and traffic: every hop 20 µs."""
    return {
        "name": f"ELAB {name}, {transport}",
        "preset": "datacenter",
        "topology": {"host_delay_ns": HOP_NS, "fabric_delay_ns": HOP_NS, "host_rate_gbps": 10, **topology},
        "switch": {"buffer_bytes": buffer_bytes, "ecn_threshold_bytes": ecn_bytes},
        "transport": TRANSPORTS[transport].copy(),
        "metrics": {},
        "run": {},
    }


def slow_paths(rates_gbps: Mapping[int, float]) -> list[Override]:
    """Overrides: all links of these spines at these rates."""
    return [{"spine": spine, "rate_gbps": rate} for spine, rate in rates_gbps.items()]


HEADLINE = "ECN-TCP with three duplicate ACKs: the paper says TCP and ECN, and nothing of reordering"
ASSUMPTIONS = (
    Assumption(
        "ELAB",
        "marks pass through to TCP; hidden from it, and hidden unless all paths have them, beside it; what else is open"
        " by the defaults here",
        "§4.1: transparent to the transport; of CLOVE, not of ELAB, it is said that it hides marks",
    ),
    Assumption("TCP", "TCP with ECN, halving on a mark (RFC 3168); DCTCP beside it", "§3.1: slows and grows linearly"),
    Assumption(
        "reordering",
        "fast retransmit at three duplicates; RACK-TLP and a sender that ignores duplicates beside it",
        "nothing is said, though every scheme but ECMP and Hermes reorders",
    ),
    Assumption("window", "no limit but congestion; initial window 10, least timeout 10 ms", "not given"),
    Assumption("marks", "step marking of what finds more bytes queued than the threshold", "kind of marking not given"),
    Assumption("delay", "20 µs a link, four links each way: an RTT of 160 µs", "'end to end 160 µs' is read as RTT"),
    Assumption(
        "CLOVE",
        "packet by packet, two thirds of the weight left, the third lost; cut at most once per half base RTT, marks"
        " hidden unless all paths have them; with cuts 4 ms apart, and with flowlets of 500 µs, beside it",
        "§3.1's example: a single flow is split 1:1, 2:3, 4:9",
    ),
    Assumption(
        "Hermes",
        "as published, delay by RTT, thresholds as §5.1; S 600 kB, R 30 % of the host's link",
        "§5.1 gives T_ECN and both T_RTT, neither S nor R nor the margins",
    ),
)
