"""Parts shared by the experiments on MEET: the two fabrics, the schemes, the forms of a run, and the assumptions.

Set-up of §4: 8 leaves, 8 spines, 16 hosts under each leaf (2:1), every link 10 Gbps; "asymmetric" has 20 to 30 % of
the links between leaves and spines at 1 Gbps. DCTCP on NewReno, as in the public ns-3 code of Hermes.
"""

from __future__ import annotations

import random
from copy import deepcopy

from spinewise.reproduction.experiment import Assumption
from spinewise.shapes import Spec

LEAVES = SPINES = 8
HOSTS_PER_LEAF = 16
RATE_GBPS, SLOW_GBPS = 10, 1
# The devices that probe, and which of the probes' values choose a path; the first heads the verdicts.
EVERY_HOST, PROXY = "every host probes", "the proxy probes"
MEET = {EVERY_HOST: "meet:probe=host:route=best_probe@MEET", PROXY: "meet@MEET"}

# Four links there and four back; §4's basic RTT of 40 µs is one way.
LINK_DELAY_NS = 10_000
# 20 to 30 % of 64 links.
SLOW_LINKS = (13, 19)

SYMMETRIC, ASYMMETRIC = "symmetric", "asymmetric"

# The forms of a run: arrivals in µs, latest end in µs (None: until every flow is done), keys of the spec.
TO_COMPLETION, RACK, HERMES_CODE = "run to completion", "RACK-TLP", "hermes-code"
# The last one to the end of every flow.
UNSTOPPED = "hermes-code without its stop"
LATEST_US = 100_000_000
# 16 ms of the enterprise workload at 40 % are 1.5 million flows.
MOST_FLOWS = 20_000_000
# The preset's hosts are those of the Hermes code: data waits in the NIC behind that of other flows, two segments leave
# per acknowledgement, and connections close by packets. Only the form hermes-code keeps that.
HOSTS: Spec = {
    "switch": {"nics": "pull", "device_queue_packets": 0},
    "transport": {"max_burst_segments": 0, "fin": False},
}
HERMES_ARRIVALS_US, HERMES_STOP_US = 100_000.0, 250_000

# "The parameters of these schemes are set as suggested in corresponding papers", and flowlets of 500 µs. The preset
# has Hermes as in its public code; here it is the paper's except in the form hermes-code, and so is CLOVE, which that
# code runs as random flowlets by default.
OTHERS = ("Hermes", "CLOVE", "LetFlow", "DRILL", "CONGA")
SWITCHES = "letflow:flowlet_gap_us=500@LetFlow,drill:d=2:m=1@DRILL,conga:flowlet_gap_us=500@CONGA,ecmp@ECMP"
CLOVE = "clove:mode=ecn:choice=weighted_round_robin:redistribute=uncongested:cut_interval_us=0:hide_ecn=true@CLOVE"
PUBLISHED = f"hermes:compat=paper@Hermes,{CLOVE},{SWITCHES}"
RELEASED = f"hermes:compat=ns3@Hermes,clove:mode=edge_flowlet@CLOVE,{SWITCHES}"


def slow_links(seed: int) -> list[tuple[int, int]]:
    """The (leaf, spine) pairs that this seed slows down."""
    drawn = random.Random(f"MEET, slow links, {seed}")
    links = [(leaf, spine) for leaf in range(LEAVES) for spine in range(SPINES)]
    return sorted(drawn.sample(links, drawn.randint(*SLOW_LINKS)))


def schemes(form: str, probing: str) -> str:
    """The schemes in this form, with MEET probing as given."""
    return f"{MEET[probing]},{RELEASED if form in {HERMES_CODE, UNSTOPPED} else PUBLISHED}"


def variant(form: str, probing: str) -> str:
    """The name of a form with this probing of MEET: runs to completion with probing hosts are the default."""
    if form == TO_COMPLETION:
        return probing
    return form if probing == EVERY_HOST else f"{form}, {probing}"


def spec(topology: str, cdf: str, load: float, duration_us: float, seed: int, *, form: str, name: str) -> Spec:
    """The spec without a scheme; the seed draws the slow links."""
    slow = slow_links(seed) if topology == ASYMMETRIC else []
    made: Spec = {
        "name": f"{name}, {cdf} at {load:g}, {topology}, {form}",
        "preset": "ns3-hermes",
        "topology": {
            "leaves": LEAVES,
            "spines": SPINES,
            "hosts_per_leaf": HOSTS_PER_LEAF,
            "host_rate_gbps": RATE_GBPS,
            "fabric_rate_gbps": RATE_GBPS,
            "host_delay_ns": LINK_DELAY_NS,
            "fabric_delay_ns": LINK_DELAY_NS,
            "override": [{"leaf": leaf, "spine": spine, "rate_gbps": SLOW_GBPS} for leaf, spine in slow],
        },
        "traffic": [{"kind": "poisson", "cdf": cdf, "load": load, "duration_us": duration_us}],
        # Slowdowns as in papers, against the best path.
        "metrics": {"ideal": "best_path", "keep_flows_up_to": MOST_FLOWS},
        "run": {"until_us": LATEST_US},
    }
    if form in {HERMES_CODE, UNSTOPPED}:
        made["traffic"][0]["duration_us"] = min(duration_us, HERMES_ARRIVALS_US)
    else:
        made |= deepcopy(HOSTS)
    if form == HERMES_CODE:
        made["run"]["until_us"] = HERMES_STOP_US
    if form == RACK:
        made["transport"]["recovery"] = "rack"
    return made


ASSUMPTIONS = (
    Assumption(
        "who probes",
        "every host, three paths to each rack of its flows, and a new flowlet takes the best of them; beside it the"
        " proxy for its rack, the less congested of its data's and its probes' best path",
        "§3.3, which tells how probing works, has 'each host selects three paths' and 'then selects the path with the"
        " best probing result'; the introduction has 'the central host actively probes'",
    ),
    Assumption(
        "link delay",
        "10 µs on every link: 40 µs there, 80 µs there and back",
        "the paper's basic RTT of 40 µs and K = 60 µs are the one-way delay and the threshold of the Hermes code, which"
        " measures one way",
    ),
    Assumption("load", "payload offered to other racks over the nominal rate of the leaves' uplinks", "as that code"),
    Assumption(
        "slow links",
        "13 to 19 of 64, number and places drawn by the seed, 1 Gbps in both directions",
        "the paper gives 20 to 30 %, randomly chosen, and no direction",
    ),
    Assumption(
        "transport and switches",
        "those of the Hermes code: segments of 1400 bytes, initial window 10, least timeout 5 ms, marking from 91 kB,"
        " queues of 840 kB",
        "the paper says DCTCP on NewReno, parameters as in DCTCP's paper",
    ),
    Assumption(
        "schemes",
        "as their papers have them; in the form hermes-code Hermes with the faults of its public code, and CLOVE"
        " as random flowlets, that code's default; flowlets of 500 µs",
        "§4: open-source code, parameters as suggested in the papers",
    ),
    Assumption(
        "CONGA knows rates", "utilisation is of a link's own rate, slow or not", "the default of the Hermes code"
    ),
    Assumption(
        "hosts",
        "send when the line is free; a flow does not wait behind the window of another. In the form hermes-code they"
        " queue in the NIC, as in that code",
        "what a scheme does to small flows would drown in their own host's queue; the form has it all",
    ),
    Assumption(
        "end of a run",
        "every flow is done; beside it arrivals for 0.1 s and a stop at 0.25 s (hermes-code)",
        "the paper gives none; the second is the Hermes code's, and leaves out flows that are slow",
    ),
    Assumption("enterprise", "FB_CDF.txt of that code, mean 342 bytes", "it has the percentiles that §4 quotes"),
    Assumption("data mining", "VL2_CDF.txt of that code, mean 12.7 MB", "the paper used that code"),
    Assumption("99th percentile", "of all flows", "the paper does not say of which"),
)
