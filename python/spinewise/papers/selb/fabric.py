"""Parts shared by the experiments on SELB: the two fabrics, the schemes, and the assumptions.

Set-ups T3-A (§II-B) and T3-B (§IV): 8 leaves, 8 spines, every link 100 Gbps and 1 µs; 16 hosts under each leaf (2:1) or
32 (4:1); DCQCN, over priority flow control with go-back-N ("lossless") or IRN with one BDP in flight.
"""

from __future__ import annotations

from spinewise.papers.selb.measure.figures import SHORT_BELOW
from spinewise.reproduction.experiment import Assumption
from spinewise.shapes import Spec

MODES = {"lossless": "go_back_n", "IRN": "irn"}
SPINES = LEAVES = 8
# The buffer of a switch under the preset: 9 MiB, as in the code of ConWeave. And a reading that two experiments share.
BUFFER_BYTES = 9 << 20
TEN_TIMES = "ten times the buffer"
MOTIVATION_HOSTS, EVALUATION_HOSTS = 16, 32

# §IV-A: θ_reply, θ_path_busy and θ_inactive are 8, 8 and 300 µs. §II-B: 8 reorder queues per port.
CONWEAVE = "conweave:theta_reply_us=8:theta_path_busy_us=8:theta_inactive_us=300"
SELB = "selb:theta=0.2:k=3:tau_us=10"
BASELINES = "ecmp@ECMP,letflow:flowlet_gap_us=10@LetFlow,conga:flowlet_gap_us=10@CONGA,drill:d=2:m=1@DRILL"
SCHEMES = f"{BASELINES},{CONWEAVE}:reorder_queues=8@ConWeave,{SELB}:reorder_queues=8@SELB"


def spec(hosts_per_leaf: int, mode: str, cdf: str, load: float, duration_us: float, *, name: str = "SELB") -> Spec:
    """The spec, without a scheme: Poisson arrivals for a time, then until every flow is done."""
    return {
        "name": f"{name}, {cdf} at {load:g}, {mode}",
        "preset": "selb",
        "topology": {
            "leaves": LEAVES,
            "spines": SPINES,
            "hosts_per_leaf": hosts_per_leaf,
            "host_rate_gbps": 100,
            "fabric_rate_gbps": 100,
            "host_delay_ns": 1000,
            "fabric_delay_ns": 1000,
        },
        "switch": {"pfc": mode == "lossless"},
        "transport": {"recovery": MODES[mode]},
        "traffic": [{"kind": "poisson", "cdf": cdf, "load": load, "duration_us": duration_us}],
        "metrics": {
            "ideal": "best_path",
            "size_classes": [
                {"name": "short", "below_bytes": SHORT_BELOW},
                {"name": "long", "from_bytes": SHORT_BELOW},
            ],
        },
        "run": {"until_us": 1_000_000},
    }


ASSUMPTIONS = (
    Assumption("load", "payload offered to other racks over the leaves' uplinks", "the paper does not define it"),
    Assumption("pairs", "sender and receiver in different racks", "random host pairs; others do not meet the schemes"),
    Assumption(
        "run",
        "arrivals for the time in the set-up, then until every flow is done; flows that start in its first third do not"
        " count",
        "not given, and without losses it decides who is ahead of ECMP (selb-variations, selb-buffer); the code of"
        " ConWeave drops a beginning, too",
    ),
    Assumption("completion", "from the start to the last acknowledgement at the sender", "as the ConWeave code"),
    Assumption("99th percentile", "of all flows, and of short flows (below 104 kB, one BDP)", "the text says both"),
    Assumption("reorder queues", "8 per port for ConWeave and SELB", "given for Fig. 2 only; selb-queues has others"),
    Assumption(
        "monitoring",
        "each data packet has its path judged as it comes, by the queue's growth since the packet before it there",
        "§III: SELB continuously monitors the change in queue length; selb-monitoring has the other readings",
    ),
    Assumption("θ, k, τ", "0.2 of the link's rate, 3, 10 µs", "none is given; selb-sensitivity varies each"),
    Assumption(
        "transport and switches",
        "DCQCN, buffers and marking of the public ConWeave code, but with flow control no queue drops by its length;"
        " a packet out of order cuts the rate",
        "the paper names DCQCN, PFC, IRN; its parameters of ConWeave are those of that code",
    ),
    Assumption(
        "no queue left",
        "the source learns it by a control packet, and the flow keeps its path until it falls silent",
        "§II: such flows have no chance to be rerouted; packets that are under way arrive out of order",
    ),
)
