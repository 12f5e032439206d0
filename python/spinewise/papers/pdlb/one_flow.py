"""One flow by hand: its paths, and when third duplicate ACKs arrive. `python -m spinewise.papers.pdlb.one_flow`.

A flow of 137 packets (200 KB) alone on the fabric of Fig. 7 with two hot paths, spines 0 and 1. An interval is 100 µs.
"""

from __future__ import annotations

import spinewise as sw
from spinewise.papers.pdlb import fig07
from spinewise.shapes import Spec
from spinewise.specs.variants import parse

INTERVAL_US = 100
PACKET_US = 1.2  # 1500 bytes at 10 Gbps
PROBES = 2.0  # packets' worth of bytes that probes alone stay below in an interval


def spec(scheme: str) -> Spec:
    """The flow under this scheme."""
    base = fig07.base(2)
    base["topology"]["hosts_per_leaf"] = 1
    base["traffic"] = [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 200_000, "start_ns": 0}]}]
    base["metrics"] = {"series_interval_us": INTERVAL_US}
    return parse(scheme).apply(base)


def show(scheme: str, seed: int) -> None:
    """Run it and print what happened."""
    result = sw.run(spec(scheme), seed=seed)
    flow = result.flows.to_pylist()[0]
    print(
        f"{scheme}, seed {seed}: done after {flow['fct_ps'] / 1e6:.0f} µs; {flow['packets']} packets sent,"
        f" {flow['retransmits']} again; {flow['path_changes']} changes of path;"
        f" {flow['out_of_order']} arrivals out of order; {flow['dupack3_events']} times 3 duplicate ACKs"
    )
    for spine in range(8):
        times, busy = result.series_of("link_utilisation", f"leaf0->spine{spine}")
        sent = [
            f"{1e6 * time:.0f}: {share * INTERVAL_US / PACKET_US:.0f}"
            for time, share in zip(times, busy, strict=True)
            if share * INTERVAL_US / PACKET_US > PROBES
        ]
        if sent:
            print(f"  spine {spine}{' (hot)' if spine < 2 else ''}, packets by the end of interval: {', '.join(sent)}")
    times, events = result.series_of("dupack3_events", "host0")
    late = [f"{1e6 * time:.0f}" for time, count in zip(times, events, strict=True) if count]
    if late:
        print(f"  third duplicate ACKs by: {', '.join(late)}")


if __name__ == "__main__":
    for number in (1, 2, 3, 4):
        show("pdlb", number)
    show("presto", 1)
    show("flowcell:packets=4", 1)
