"""A fixed grid of short specs: all schemes, on fabrics, transports, switches, traffic and faults of every kind.

Each spec names its preset and the kind of its transport, so that defaults of specs that name none may change. Nothing
is drawn at random here and nothing is read from the engine: the same name stands for the same spec for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Json = str | int | float | bool | list["Json"] | dict[str, "Json"]
Table = dict[str, Json]

SWITCH_SCHEMES = [
    "ecmp",
    "packet_scatter",
    "rps",
    "sred",
    "letflow",
    "conga",
    "hula",
    "luopan",
    "conweave",
    "hedera",
    "wcmp",
    "qdaps",
    "drill",
    "ttc",
    "selb",
    "adaptive",
    "round_robin",
    "host_ar",
    "ars",
    "resilient",
    "loopback_switch",
]
HOST_SCHEMES = [
    "presto",
    "drb",
    "meet",
    "clove",
    "pdlb",
    "ag",
    "flowcell",
    "proportional",
    "elab",
    "hermes",
    "flowbender",
    "plb",
    "txrehash",
    "host_flowlet",
    "hopper",
    "loopback_host",
]
SCHEMES = [*SWITCH_SCHEMES, *HOST_SCHEMES]
FEW = ["ecmp", "drill", "conga", "elab"]


def merged(base: Mapping[str, Json], *changes: Mapping[str, Json]) -> Table:
    """`base` with `changes` laid over it, table by table."""
    result: Table = dict(base)
    for change in changes:
        for key, value in change.items():
            old = result.get(key)
            result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


# ---- fabrics ------------------------------------------------------------------------------------------------------

EVEN: Table = {
    "kind": "leaf_spine",
    "leaves": 3,
    "spines": 3,
    "hosts_per_leaf": 3,
    "host_rate_gbps": 10,
    "fabric_rate_gbps": 10,
    "host_delay_ns": 1000,
    "fabric_delay_ns": 2000,
}
TREE: Table = {"kind": "fat_tree", "k": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10, "core_rate_gbps": 10}


def _graph(switches: int, cables: list[tuple[int, int, float, int]]) -> Table:
    """A graph of two hosts a switch, and these cables between switches: ends, Gbps, ns."""
    hosts = 2 * switches
    links: list[Json] = [[host, hosts + host // 2, 10, 1000] for host in range(hosts)]
    links += [[hosts + a, hosts + b, rate, delay] for a, b, rate, delay in cables]
    return {"kind": "links", "hosts": hosts, "switches": switches, "links": links}


TREES: dict[str, Table] = {
    "tree": TREE,
    "broken-tree": merged(
        TREE,
        {
            "switch_latency_ns": 300,
            "override": [
                {"leaf": 7, "aggregation": 7, "up": False},
                {"core": 1, "rate_gbps": 4},
                {"leaf": 0, "aggregation": 1, "delay_ns": 20_000},
            ],
        },
    ),
    "pods": {
        "kind": "fat_tree",
        "pods": 2,
        "leaves_per_pod": 3,
        "aggregations_per_pod": 2,
        "cores_per_aggregation": 3,
        "hosts_per_leaf": 2,
        "host_rate_gbps": 10,
        "fabric_rate_gbps": 25,
        "core_rate_gbps": 6,
        "core_delay_ns": 3000,
    },
}
FABRICS: dict[str, Table] = {
    "even": EVEN,
    "uneven": merged(
        EVEN,
        {
            "spines": 4,
            "override": [
                {"spine": 0, "rate_gbps": 3},
                {"leaf": 1, "spine": 1, "delay_ns": 30_000},
                {"leaf": 2, "spine": 2, "up": False},
                {"host": 4, "rate_gbps": 2.5, "direction": "up"},
            ],
        },
    ),
    "parallel": merged(
        EVEN, {"spines": 2, "parallel_links": 2, "override": [{"link": 1, "spine": 0, "rate_gbps": 1}]}
    ),
    "fast-hosts": merged(EVEN, {"host_rate_gbps": 40, "switch_latency_ns": 400}),
    "one-way": merged(
        EVEN, {"leaves": 2, "spines": 2, "override": [{"leaf": 0, "spine": 0, "direction": "up", "up": False}]}
    ),
    "ring": _graph(4, [(0, 1, 10, 500), (1, 2, 10, 1500), (2, 3, 10, 500), (3, 0, 10, 1500)]),
    "mesh": _graph(
        6, [(0, 4, 10, 700), (0, 5, 5, 900), (1, 4, 10, 700), (1, 5, 5, 900), (2, 4, 25, 700), (2, 5, 10, 900),
            (3, 4, 10, 700), (3, 5, 10, 1300)],
    ),
    **TREES,
}  # fmt: skip

GRAPHS = ("ring", "mesh")

# ---- presets and transports ---------------------------------------------------------------------------------------

SMALL_QUEUES: Table = {"buffer_bytes": 60_000, "ecn_threshold_bytes": 20_000}


def _tcp(kind: str, recovery: str, preset: str = "datacenter", **more: Json) -> Table:
    transport: Table = {"kind": kind, "recovery": recovery, "min_rto_us": 1000, "initial_rto_us": 1000, **more}
    return {"preset": preset, "transport": transport, "switch": SMALL_QUEUES}


def _rdma(preset: str, recovery: str, **more: Json) -> Table:
    return {"preset": preset, "transport": {"kind": "rdma", "recovery": recovery, **more}}


WORLDS: dict[str, Table] = {
    "dctcp": _tcp("dctcp", "newreno"),
    "rack": _tcp("dctcp", "rack"),
    "tolerant": _tcp("dctcp", "newreno", dupack_threshold=0),
    "newreno": _tcp("newreno", "sack", delayed_ack_segments=2, delayed_ack_timeout_us=200),
    "reno": _tcp("reno", "reno", fin=True, handshake=True, syn_timeout_us=1000),
    "ecn": _tcp("ecn", "newreno", resequencing="on", resequencing_in_order_us=5),
    "mptcp": _tcp("mptcp", "rack", subflows=3, mptcp_options="charged", handshake=True, syn_timeout_us=1000),
    "ns2-pdlb": _tcp("dctcp", "newreno", preset="ns2-pdlb"),
    "ns3-hermes": _tcp("dctcp", "newreno", preset="ns3-hermes"),
    "selb": _rdma("selb", "go_back_n"),
    "irn": _rdma("selb", "irn", window_bytes=40_000),
    "conweave-ns3": _rdma("conweave-ns3", "go_back_n"),
    "conweave-irn": _rdma("conweave-ns3", "irn", window_bytes=104_000),
    "dcqcn-paper": _rdma("dcqcn-paper", "go_back_n"),
}

# Congestion controls that came after the first table of outcomes.
CONTROLS: dict[str, Table] = {
    "cubic": _tcp("cubic", "rack"),
    "timely": _rdma("selb", "go_back_n", congestion_control="timely", timely_t_low_us=20, timely_t_high_us=100),
    "timely-irn": _rdma("selb", "irn", window_bytes=40_000, congestion_control="timely"),
    "hpcc": _rdma("selb", "go_back_n", congestion_control="hpcc"),
    "hpcc-irn": _rdma("selb", "irn", window_bytes=40_000, congestion_control="hpcc", hpcc_base_rtt_us=12),
    "paced": _tcp("dctcp", "newreno", pacing=True),
    "paced-rack": _tcp("dctcp", "rack", pacing=True, handshake=True, fin=True, syn_timeout_us=1000),
    "swift": _tcp("swift", "rack"),
    "swift-newreno": _tcp("swift", "newreno", initial_window_segments=1, swift_base_target_us=15, pacing=True),
    "cubic-ecn": _tcp("cubic", "newreno", cubic_ecn=True, cubic_c=1e9),
}

# Ultra Ethernet, and the schemes whose ground it is.
UET: dict[str, Table] = {
    "uet": {"preset": "uet-htsim", "transport": {"kind": "uet", "recovery": "timeout"}},
    "uet-credit": {
        "preset": "uet-htsim",
        "transport": {"kind": "uet", "recovery": "timeout", "receiver_credit": True},
    },
    "uet-sleek": {
        "preset": "uet-htsim",
        "transport": {"kind": "uet", "recovery": "sleek"},
        "switch": {"trim": False},
    },
}
ENTROPY_SCHEMES = ["oblivious", "bitmap", "reps", "reps_fifo", "uet_mixed", "mrc", "uno", "mprdma_reuse"]

# ---- traffic ------------------------------------------------------------------------------------------------------

POISSON: Table = {
    "kind": "poisson",
    "cdf": "ali_storage",
    "load": 0.5,
    "load_of": "host_links",
    "pairs": "any",
    "duration_us": 600,
}
INCAST: Table = {"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 50_000, "start_us": 200}
TRAFFIC: dict[str, list[Table]] = {
    "permutation": [{"kind": "permutation", "size_bytes": 200_000, "inter_rack": True}],
    "on-off": [
        {
            "kind": "on_off",
            "flows": 30,
            "min_bytes": 3_000,
            "max_bytes": 400_000,
            "tail_index": 1.2,
            "arrivals_per_second": 100_000,
            "on_us": 100,
            "off_mean_us": 100,
        }
    ],
    "flows": [
        {
            "kind": "flows",
            "rounds": 2,
            "gap_us": 7,
            "list": [
                {"src": 0, "dst": 5, "size_bytes": 1, "start_ns": 0},
                {"src": 1, "dst": 5, "size_bytes": 14_600, "start_ns": 500},
                {"src": 2, "dst": 6, "size_bytes": 333_333, "start_ns": 999},
            ],
        }
    ],
    "incast": [merged(INCAST, {"senders": 7, "size_bytes": 80_000, "repeat": 2, "period_us": 400})],
    "rpc": [
        {"kind": "rpc", "fan_in": 4, "size_bytes": 15_000, "request_bytes": 200, "requests": 12, "period_us": 80,
         "arrivals": "poisson"}
    ],
    "all-reduce": [{"kind": "all_reduce", "size_bytes": 90_000, "order": "random", "rounds": 2}],
    "all-to-all": [{"kind": "all_to_all", "pair_bytes": 12_000, "gap_us": 3, "rounds": 2}],
    "all-at-once": [{"kind": "all_to_all", "size_bytes": 70_000, "concurrent": True}],
    "udp": [
        {"kind": "udp", "src": 0, "dst": 4, "packet_bytes": 1000, "size_bytes": 300_000,
         "schedule": [{"at_us": 0, "rate_gbps": 4}, {"at_us": 100, "rate_gbps": 9}]},
        POISSON,
    ],
}  # fmt: skip

# ---- faults -------------------------------------------------------------------------------------------------------

_LINK: Table = {"ends": ["leaf0", "spine1"], "at_us": 150}
FAULTS: dict[str, list[Table]] = {
    "down": [merged(_LINK, {"kind": "down", "until_us": 500})],
    "for-good": [merged(_LINK, {"kind": "down"})],
    "flap": [merged(_LINK, {"kind": "flap", "until_us": 700, "period_us": 90, "down_us": 40})],
    "loss": [merged(_LINK, {"kind": "loss", "probability": 0.02, "direction": "forward"})],
    "black-hole": [merged(_LINK, {"kind": "black_hole", "fraction": 0.3, "until_us": 600})],
    "rate": [merged(_LINK, {"kind": "rate", "rate_gbps": 1, "until_us": 600})],
    "delay": [merged(_LINK, {"kind": "delay", "added_us": 25})],
    "switch": [{"kind": "down", "switch": "spine2", "at_us": 120, "until_us": 450}],
    "two": [
        merged(_LINK, {"kind": "rate", "rate_gbps": 3}),
        {"kind": "down", "ends": ["leaf2", "spine0"], "link": 0, "at_us": 220, "until_us": 640},
    ],
}
TREE_FAULTS: dict[str, list[Table]] = {
    "down": [{"kind": "down", "ends": ["leaf0", "aggregation1"], "at_us": 100, "until_us": 500}],
    "core": [{"kind": "down", "switch": "core2", "at_us": 100, "until_us": 700}],
    "rate": [{"kind": "rate", "ends": ["aggregation2", "core0"], "at_us": 50, "rate_gbps": 2}],
}
DETECTION: dict[str, Table] = {
    "carrier": {"mode": "carrier", "carrier_us": 30, "flood_hop_us": 5, "control_plane_us": 60},
    "hello": {"mode": "hello", "hello_interval_us": 20, "hello_dead_count": 3, "control_plane_us": 50},
    "oracle": {"mode": "oracle", "reconverge": True},
    "never": {"mode": "never"},
}

SWITCHES: dict[str, Table] = {
    "packets": {"buffer_packets": 25, "ecn_threshold_packets": 6},
    "dequeue": {"buffer_bytes": 60_000, "ecn_threshold_bytes": 9_000, "ecn_at": "dequeue"},
    "in-service": {"buffer_packets": 12, "ecn_threshold_packets": 3, "queue_counts": "in_service"},
    "commit": {"buffer_bytes": 40_000, "ecn_threshold_bytes": 9_000, "ports": "commit_at_start"},
    "device": {"buffer_bytes": 30_000, "ecn_threshold_bytes": 9_000, "device_queue_packets": 4, "nics": "queue"},
    "shared": {
        "model": "shared_buffer",
        "buffer_bytes": 500_000,
        "ecn_min_bytes": 20_000,
        "ecn_max_bytes": 90_000,
        "pfc": True,
        "priorities": 2,
    },
    "shared-drops": {
        "model": "shared_buffer",
        "buffer_bytes": 120_000,
        "ecn_min_bytes": 20_000,
        "ecn_max_bytes": 90_000,
        "pfc": False,
        "priorities": 1,
    },
}


# Host schemes whose tags are numbers for switches to hash.
DRAWN = ("elab", "plb", "txrehash", "host_flowlet", "hopper")

# Which host schemes take which tag.
TAGS: dict[str, list[str]] = {
    "explicit": [scheme for scheme in HOST_SCHEMES if scheme not in DRAWN],
    "outer": [scheme for scheme in HOST_SCHEMES if scheme not in ("meet", "proportional", "hermes")],
    "inner": ["presto", "drb", "flowcell", "flowbender", "plb"],
}

# Readings of a paper's text that are not the default.
READINGS: dict[str, Table] = {
    "packet_scatter/destination": {"pointer": "destination"},
    "selb/measured": {"monitor": "measured", "theta": 0.05},
    "selb/packet": {"monitor": "packet", "theta": 0.05},
    "selb/short": {"monitor": "interval", "tau_us": 0.5, "theta": 0.05},
    "meet/best-probe": {"probe": "host", "route": "best_probe", "t_update_us": 50, "t_probe_us": 50},
    "meet/proxy-probe": {"probe": "proxy", "route": "best_probe", "t_update_us": 50, "t_probe_us": 50},
    "adaptive/flowlets": {"unit": "flowlet", "flowlet_gap_us": 5},
    "adaptive/pqb": {"compare": "pqb"},
    "round_robin/leaf": {"tiers": "leaf", "reshuffle_rounds": 5},
    "ars/packets": {"mode": "per_packet_quality", "sampling_us": 2},
    "ars/random": {"mode": "flowlet_random", "idle_time_us": 5, "max_flows": 4},
    "ars/fixed": {"mode": "fixed", "sampling_us": 5, "current": True},
    "resilient/few": {"buckets": 5},
    "host_flowlet/short": {"gap_rtts": 0.1, "hold_us": 20},
    "hopper/eager": {"congested_rtts": 1, "gain": 1, "probes": 4, "rtt_weight": 1, "delay_differences": 0},
    "bitmap/first": {"values": 8, "timeout_blames": "first"},
    "mrc/planes": {"values": 8, "planes": 4, "backups": 1, "denied_planes": 1, "probe_period_us": 20, "probes": 1},
    "mrc/few": {"values": 4, "backups": 0, "denied_values": 1, "probes_to_return": 2},
    "oblivious/drawn": {"values": 4, "order": "drawn"},
    "oblivious/ascending": {"values": 2, "order": "ascending"},
    "uno/few": {"subflows": 3, "values": 8, "silent_rtts": 0.2, "hold_rtts": 0.5, "losses": "trims"},
    "mprdma_reuse/trims": {"values": 16, "after_trim": "its_value"},
    "reps/eager": {"values": 16, "freezing": "idle_timeout", "frozen_us": 50, "explore": 3, "uses": 2},
    "plb/soon": {"rehash_rounds": 2, "idle_rehash_rounds": 1, "cong_thresh": 20, "suspend_rto_us": 50},
    "txrehash/same-segment": {"receiver": "same_segment"},
    "qdaps/released": {"rules": "released", "reroute_above_packets": 9},
}

# ---- the grid -----------------------------------------------------------------------------------------------------


def _spec(world: str, fabric: Table, scheme: Table, traffic: list[Table], *changes: Table) -> Table:
    base: Table = {
        "seed": 7,
        "topology": fabric,
        "scheme": scheme,
        "traffic": list(traffic),
        "run": {"stop": "flows_done", "until_us": 20_000, "grid_ns": 10_000, "engine": "windows"},
        "metrics": {"series_interval_us": 0},
    }
    return merged(base, {**WORLDS, **CONTROLS, **UET}[world], *changes)


def grid() -> Iterator[tuple[str, Table]]:
    """All cases: a name, and the spec that it stands for. Some pairs do not fit each other, and a run refuses them."""
    mix = [POISSON, INCAST]
    for scheme in SCHEMES:
        for fabric, topology in FABRICS.items():
            told = _in_fabric(scheme, fabric)
            if told:
                yield f"fabric/{fabric}/{scheme}", _spec("dctcp", topology, told, mix)
        for world in WORLDS:
            told = _in_world(scheme, world)
            yield f"transport/{world}/{scheme}", _spec(world, FABRICS["uneven"], told, mix)
        longer = _spec("rack", FABRICS["uneven"], {"name": scheme}, [merged(POISSON, {"duration_us": 4000})])
        yield f"longer/{scheme}", longer
        for fault, how in (("down", "carrier"), ("rate", "oracle"), ("loss", "never")):
            change: Table = {"fault": list(FAULTS[fault]), "detection": DETECTION[how]}
            yield f"fault/{fault}/{how}/{scheme}", _spec("dctcp", EVEN, {"name": scheme}, mix, change)
    for fabric in ("tree", "broken-tree"):
        for world in WORLDS:
            yield f"lbsp/{fabric}/{world}", _spec(world, FABRICS[fabric], {"name": "lbsp"}, mix)
    for fault, faults in TREE_FAULTS.items():
        for scheme in ("ecmp", "lbsp", "conga", "elab"):
            change = {"fault": list(faults), "detection": DETECTION["carrier"]}
            yield f"tree-fault/{fault}/{scheme}", _spec("rack", TREE, {"name": scheme}, mix, change)
    yield from _options(mix)
    yield from _readings(mix)
    for world in CONTROLS:
        for scheme in FEW:
            yield f"control/{world}/{scheme}", _spec(world, FABRICS["uneven"], _in_world(scheme, world), mix)
    yield from _beside(mix)
    yield from _entropy(mix)
    yield from _trimming()


def _in_fabric(scheme: str, fabric: str) -> Table:
    """The `[scheme]` of a scheme in a fabric: in a graph tags of hosts are hashed. Empty if it does not run there."""
    if fabric not in GRAPHS or scheme not in HOST_SCHEMES:
        return {"name": scheme}
    return {} if scheme in ("meet", "hermes", "proportional") else {"name": scheme, "path_tag": "outer"}


def _in_world(scheme: str, world: str) -> Table:
    """The `[scheme]` of a scheme over a transport: Hermes does without marks where nobody echoes them."""
    if scheme == "hermes" and world in ("newreno", "reno", "mptcp"):
        return {"name": scheme, "params": {"signals": "rtt"}}
    return {"name": scheme}


def _beside(mix: list[Table]) -> Iterator[tuple[str, Table]]:
    """Traffic of two transports, in one data priority or in two of which one may drop."""
    worlds = WORLDS | CONTROLS
    for world, other in (("selb", "rack"), ("selb", "hpcc"), ("irn", "cubic"), ("rack", "newreno"), ("dctcp", "reno")):
        own = worlds[other]["transport"]
        for scheme in (*FEW, "conweave", "letflow"):
            for lossy in (False, True) if world == "selb" else (False,):
                place: Table = {"priority": 1} if lossy else {}
                traffic = [
                    *mix,
                    *(merged(entry, place, {"name": f"own-{n}", "transport": own}) for n, entry in enumerate(mix)),
                ]
                change: Table = {"switch": {"priorities": 2, "lossy_priorities": [1]}} if lossy else {}
                name = f"beside/{world}/{other}/{scheme}" + ("/lossy" if lossy else "")
                yield name, _spec(world, FABRICS["uneven"], _in_world(scheme, world), traffic, change)


def _options(mix: list[Table]) -> Iterator[tuple[str, Table]]:
    for fault, faults in FAULTS.items():
        for how, detection in DETECTION.items():
            for scheme in ("ecmp", "letflow"):
                change: Table = {"fault": list(faults), "detection": detection}
                yield f"faults/{fault}/{how}/{scheme}", _spec("rack", EVEN, {"name": scheme}, mix, change)
    for scheme in FEW:
        for kind, traffic in TRAFFIC.items():
            for world in ("dctcp", "selb"):
                yield f"traffic/{kind}/{world}/{scheme}", _spec(world, EVEN, {"name": scheme}, traffic)
        for name, switch in SWITCHES.items():
            spec = _spec("dctcp", EVEN, {"name": scheme}, mix)
            yield f"switch/{name}/{scheme}", {**spec, "switch": switch}
        for engine in ("windows", "events"):
            change = {"run": {"engine": engine}, "metrics": {"series_interval_us": 50}}
            yield f"series/{engine}/{scheme}", _spec("dctcp", EVEN, {"name": scheme}, mix, change)
        cut: Table = {"run": {"stop": "time", "until_us": 400}}
        yield f"stop/time/{scheme}", _spec("dctcp", EVEN, {"name": scheme}, mix, cut)
    yield from _engines(mix)


def _entropy(mix: list[Table]) -> Iterator[tuple[str, Table]]:
    for scheme in (*ENTROPY_SCHEMES, "ecmp", "rps", "plb", "hopper", "host_flowlet"):
        for world in (*UET, "rack"):
            # Where switches do not trim, REPS has one rule, which is not its default.
            idle = scheme == "reps" and world in ("uet-sleek", "rack")
            told: Table = {"name": scheme, "params": {"freezing": "idle_timeout"}} if idle else {"name": scheme}
            name = f"entropy/{world}/{scheme}" + ("/idle" if idle else "")
            yield name, _spec(world, FABRICS["uneven"], told, mix)
        yield f"entropy/tree/{scheme}", _spec("uet", FABRICS["broken-tree"], {"name": scheme}, mix)
        for fault in ("for-good", "loss"):
            change: Table = {"fault": list(FAULTS[fault]), "detection": DETECTION["never"]}
            yield f"entropy/{fault}/{scheme}", _spec("uet", EVEN, {"name": scheme}, mix, change)


def _trimming() -> Iterator[tuple[str, Table]]:
    """Ports that trim and have so little room for control that headers and answers are lost."""
    crowd: Table = {"kind": "incast", "receiver": 0, "senders": 6, "size_bytes": 100_000}
    for clock in ("exact", "floor_1ns"):
        for room, left in ((100, 64), (2000, 1500)):
            for scheme in ("ecmp", "reps", "ars", "uet_mixed"):
                for engine in ("windows", "events"):
                    change: Table = {
                        "topology": {"tx_time_rounding": clock},
                        "switch": {
                            "model": "trimming",
                            "buffer_bytes": 12_000,
                            "control_bytes": room,
                            "trimmed_bytes": left,
                        },
                        "run": {"engine": engine},
                    }
                    spec = _spec("uet", EVEN, {"name": scheme}, [crowd, *TRAFFIC["permutation"]], change)
                    yield f"trimming/{clock}/{room}/{scheme}/{engine}", spec


def _readings(mix: list[Table]) -> Iterator[tuple[str, Table]]:
    for reading, params in READINGS.items():
        told: Table = {"name": reading.split("/")[0], "params": params}
        worlds = ("uet", "uet-sleek") if reading.split("/")[0] in ENTROPY_SCHEMES else ("rack", "selb", "irn")
        for world in worlds:
            yield f"reading/{reading}/{world}", _spec(world, FABRICS["uneven"], told, mix)


def _engines(mix: list[Table]) -> Iterator[tuple[str, Table]]:
    for tag, schemes in TAGS.items():
        for scheme in schemes:
            # Drawn numbers are refused under switches that do not hash them.
            name, fabric = (f"hashed/{tag}", "resilient") if scheme in DRAWN else (tag, "drill")
            told: Table = {"name": scheme, "path_tag": tag, "fabric": fabric}
            yield f"tag/{name}/{scheme}", _spec("dctcp", EVEN, told, mix)
    short = [merged(POISSON, {"duration_us": 150})]
    for scheme in ("ecmp", "letflow", "conga", "drill", "conweave"):
        for recovery in ("conweave-ns3", "conweave-irn"):
            change: Table = {
                "run": {"follow": "conweave-ns3", "engine": "auto"},
                "topology": {"host_rate_gbps": 100, "fabric_rate_gbps": 100},
            }
            yield f"follow/{recovery}/{scheme}", _spec(recovery, EVEN, {"name": scheme}, short, change)
    for delay in (0, 1):
        for scheme in FEW:
            change = {"run": {"engine": "auto"}, "topology": {"host_delay_ns": delay, "fabric_delay_ns": delay}}
            yield f"delay/{delay}/{scheme}", _spec("dctcp", EVEN, {"name": scheme}, mix, change)
