"""The spec for some wishes, as text that explains itself."""

from __future__ import annotations

from spinewise.starting import amounts
from spinewise.starting.lines import Value, comment, table
from spinewise.starting.wishes import COLLECTIVES, LEAF_SPINE, Wishes

BURST_BYTES = 20_000
BURST_PERIOD_US = 1_000
INCREASES_OF_GBPS = 100.0
INCREASES = {"dcqcn_additive_increase_gbps": 0.04, "dcqcn_hyper_increase_gbps": 0.1}
"""DCQCN's default rate increases on links of `INCREASES_OF_GBPS`, in Gbps."""

OF_FAT_TREE = {
    "k": "Ports of a switch, even: k pods of k / 2 leaves and k / 2 aggregation switches, k² / 4 cores; and k³ / 4"
    " hosts, where hosts_per_leaf is k / 2.",
    "hosts_per_leaf": "Hosts under each leaf: k / 2 of them have as many links as lead up from it, more of them make it"
    " oversubscribed.",
}
"""Comments on keys that depend on each other."""

OPENING = (
    "A spec of Spinewise: what is simulated. Change it to match your fabric; a key that is not here has its default."
    " `spinewise validate` checks the file, and says how long a run takes. The first line lets"
    " editors that know TOML schemas complete and explain keys."
)


def text(wishes: Wishes, schema: str) -> str:
    """The text of the file; `schema` is its reference to its schema."""
    parts = [
        "\n".join([f"#:schema {schema}", *comment(OPENING), *comment(f'The aim: "{wishes.aims}".')]),
        table("", ["top level"], {"name": wishes.name, "seed": 1}).lstrip("\n"),
        topology(wishes),
        *overrides(wishes),
        transport(wishes),
        workload(wishes),
        *bursts(wishes),
        compared(wishes),
    ]
    return "\n\n".join(parts) + "\n"


def topology(wishes: Wishes) -> str:
    """[topology]."""
    rates: dict[str, Value] = {"host_rate_gbps": wishes.host_gbps, "fabric_rate_gbps": wishes.between_gbps}
    if wishes.topology == LEAF_SPINE:
        keys: dict[str, Value] = {"kind": "leaf_spine", "leaves": wishes.leaves, "spines": wishes.spines}
        of, remarks = '[topology] kind = "leaf_spine"', {}
    else:
        keys, of, remarks = {"kind": "fat_tree", "k": wishes.k}, '[topology] kind = "fat_tree"', OF_FAT_TREE
    keys |= {"hosts_per_leaf": wishes.under_leaf, **rates, "host_delay_ns": amounts.DELAY_NS}
    keys["fabric_delay_ns"] = amounts.DELAY_NS
    return table("[topology]", [of], keys, remarks)


def overrides(wishes: Wishes) -> list[str]:
    """[[topology.override]]: the slow links."""
    of = "[[topology.override]]" if wishes.topology == LEAF_SPINE else "[[topology.override]] of a fat-tree"
    made = []
    for link in wishes.slow_links:
        keys: dict[str, Value] = {**dict(link.ends), "rate_gbps": link.rate_gbps}
        remark = f"Remaining rate of this link, both ways; the others have {wishes.between_gbps:g}."
        made.append(table("[[topology.override]]", [of], keys, {"rate_gbps": remark}))
    return made


KEPT = "Collective libraries keep their {} between two hosts: this many, which messages use in turn."


def transport(wishes: Wishes) -> str:
    """[transport]."""
    if wishes.transport == "rdma":
        remark = "RDMA over a lossless fabric: queue pairs paced by DCQCN, switches with a shared buffer that pause."
        recovery = 'What a receiver does with packets out of order: "go_back_n" (most RNICs) or "irn" (it keeps them).'
        keys: dict[str, Value] = {"kind": "rdma", "recovery": "go_back_n"}
        remarks = {"kind": remark, "recovery": recovery}
        if wishes.workload in COLLECTIVES:
            keys["queue_pairs"] = 1
            remarks["queue_pairs"] = KEPT.format("queue pairs")
        if wishes.host_gbps > INCREASES_OF_GBPS:
            # Otherwise a reduced rate takes most of a second to recover.
            times = wishes.host_gbps / INCREASES_OF_GBPS
            keys |= {name: float(f"{gbps * times:.3g}") for name, gbps in INCREASES.items()}
            remarks[next(iter(INCREASES))] = (
                f"Steps in which DCQCN raises a rate, in proportion to the link: the defaults are for"
                f" {INCREASES_OF_GBPS:g} Gbps. Larger steps regain a rate sooner, and fill queues sooner."
            )
        return table("[transport]", [], keys, remarks)
    if wishes.transport == "uet":
        remark = "Ultra Ethernet: packets in any order, NSCC at the senders, switches that trim what does not fit."
        if wishes.workload not in COLLECTIVES:
            return table("[transport]", [], {"kind": "uet"}, {"kind": remark})
        remarks = {"kind": remark, "connections": KEPT.format("connections, with their learnt state,")}
        return table("[transport]", [], {"kind": "uet", "connections": 1}, remarks)
    remark = "TCP as in Linux: DCTCP, with RACK-TLP and SACK to tell late packets from lost ones."
    return table("[transport]", [], {"kind": "dctcp"}, {"kind": remark})


def workload(wishes: Wishes) -> str:
    """[[traffic]]: the traffic of the workload."""
    kind = wishes.workload if wishes.workload in COLLECTIVES else "poisson"
    of = ["[[traffic]]", f'[[traffic]] kind = "{kind}"']
    name = {"name": "Its name in tables and in aims.", "kind": "The kind of traffic."}
    if kind != "poisson":
        found = amounts.exchange(wishes)
        keys: dict[str, Value] = {"name": wishes.entry, "kind": kind}
        if found.groups > 1:
            keys |= {"groups": found.groups, "grouping": "strided"}
        keys |= {"size_bytes": found.size_bytes, "rounds": found.rounds, "order": "random"}
        said = {"groups": amounts.why_groups(found, wishes.hosts), "size_bytes": amounts.why_so_large(found)}
        return table("[[traffic]]", of, keys, name | said)
    made = amounts.arrivals(wishes)
    remarks = name | {
        "cdf": "The distribution of flow sizes: `spinewise workloads` lists them; cdf_file names one of your own.",
        "duration_us": amounts.why_so_long(made),
    }
    keys = {"name": wishes.entry, "kind": "poisson", "cdf": wishes.workload, "load": wishes.load}
    keys["load_of"] = wishes.load_of
    pairs = "inter_rack" if wishes.leaves > 1 else "any"
    return table("[[traffic]]", of, keys | {"pairs": pairs, "duration_us": made.duration_us}, remarks)


def bursts(wishes: Wishes) -> list[str]:
    """[[traffic]]: the additional incast."""
    if not wishes.incast:
        return []
    collective = wishes.workload in COLLECTIVES
    lasts = BURST_PERIOD_US * amounts.ROUNDS if collective else amounts.arrivals(wishes).duration_us
    keys: dict[str, Value] = {
        "name": "burst", "kind": "incast", "receiver": 0, "senders": wishes.incast, "size_bytes": BURST_BYTES,
        "repeat": max(1, lasts // BURST_PERIOD_US), "period_us": BURST_PERIOD_US,
    }  # fmt: skip
    return [
        table(
            "[[traffic]]",
            ["[[traffic]]", '[[traffic]] kind = "incast"'],
            keys,
            {"kind": "Many hosts repeatedly send to one at once."},
        )
    ]


def compared(wishes: Wishes) -> str:
    """[compare]."""
    remarks = {
        "schemes": "What `spinewise compare` runs, the baseline first; `spinewise schemes` lists all of them.",
        "seeds": "Repeats of each, with traffic of their own; more repeats narrow the intervals.",
    }
    return table("[compare]", [], {"schemes": list(wishes.compared), "seeds": 3}, remarks)
