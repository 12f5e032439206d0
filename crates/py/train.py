"""What the engine of a wheel is profiled with, before it is compiled again for what runs often (`maturin build --pgo`).

The cases of `spinewise bench`, and every scheme over every transport that it serves, in a leaf-spine and a fat-tree, each
for about as many packets. What never runs here is compiled for size, so a new scheme or transport needs no line here,
and a new kind of switch or fabric does.
"""

from __future__ import annotations

import spinewise as sw
from spinewise import core
from spinewise.errors import SpecError
from spinewise.shapes import Spec

SHARE = 0.1
"""How much of each case of the bench runs."""
LEAF_SPINE = {"kind": "leaf_spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 8}
FAT_TREE = {"kind": "fat_tree", "k": 4}
TRANSPORTS: list[Spec] = [
    {"transport": {"kind": "dctcp"}},
    {"transport": {"kind": "cubic", "recovery": "sack"}},
    {"transport": {"kind": "swift"}},
    {"transport": {"kind": "mptcp"}},
    {"transport": {"kind": "newreno", "recovery": "newreno"}, "preset": "datacenter"},
    {"transport": {"kind": "rdma"}},
    {"transport": {"kind": "rdma", "recovery": "irn"}},
    {"transport": {"kind": "rdma", "congestion_control": "hpcc"}},
    {"transport": {"kind": "uet"}},
]


def spec(topology: Spec, transport: Spec, scheme: str) -> Spec:
    """A web search with an incast beside it."""
    web = {"kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 1500}
    incast = {"kind": "incast", "receiver": 0, "senders": 8, "size_bytes": 64_000, "repeat": 3, "period_us": 400}
    return {
        "preset": "linux", **transport, "topology": topology, "scheme": {"name": scheme}, "traffic": [web, incast],
        "run": {"until_us": 20_000},
    }  # fmt: skip


def main() -> None:
    """Run everything once."""
    core.bench(rounds=1, share=SHARE)
    schemes = [entry["name"] for entry in core.registry()["schemes"]]
    ran = 0
    for topology in (LEAF_SPINE, FAT_TREE):
        for transport in TRANSPORTS:
            for scheme in schemes:
                try:
                    sw.run(spec(topology, transport, scheme))
                except SpecError:
                    # The scheme does not serve this fabric or this transport.
                    continue
                ran += 1
    print(f"{ran} runs beside those of the bench")


if __name__ == "__main__":
    main()
