"""Two flows by hand: when SELB and ConWeave move them, and the effect on reordering.

`python -m spinewise.papers.selb.one_flow`: two flows of 1 MB from leaf 0 to leaf 1 of T3-B, lossless, on the same
uplink; nothing else. SELB starts flows on hashed paths here, so that they meet; ConWeave draws, and the first seed
where they meet is taken.
"""

from __future__ import annotations

import spinewise as sw
from spinewise.papers.selb import fabric
from spinewise.runs.result import Result
from spinewise.shapes import ListedFlow, Spec
from spinewise.specs.variants import parse

SIZE = 1_000_000
# Bytes in a queue from which it is shown; a header added at the leaf alone makes some of a full link.
SHOWN = 20_000


def spec(scheme: str, mode: str) -> Spec:
    """The two flows under this scheme."""
    made = fabric.spec(32, mode, "ali_storage", 0.8, 100.0, name="SELB, two flows")
    flows: list[ListedFlow] = [{"src": i, "dst": 32 + i, "size_bytes": SIZE, "start_ns": 100 * i} for i in (0, 1)]
    made["traffic"] = [{"kind": "flows", "list": flows}]
    made["metrics"]["series_interval_us"] = 10
    return parse(scheme).apply(made)


def events(result: Result, scheme: str) -> list[tuple[float, str]]:
    """(µs, what) of everything the scheme recorded, and of queues at leaf 0's uplinks."""
    found = []
    for name in result.report["series_names"]:
        if name.startswith(f"{scheme}.") and not name.endswith("early_mean_us"):
            times, values = result.series_of(name)
            what = name.partition(".")[2]
            found += [(1e6 * time, f"{what} {value:g}") for time, value in zip(times, values, strict=True)]
    for spine in range(8):
        times, queues = result.series_of("link_queue_bytes", f"leaf0->spine{spine}")
        found += [
            (1e6 * time, f"queue of uplink {spine}: {queue:.0f} bytes")
            for time, queue in zip(times, queues, strict=True)
            if queue >= SHOWN
        ]
    return sorted(found)


def meet(scheme: str, mode: str) -> Result:
    """The first seed whose flows meet, seen from a queue at an uplink."""
    for seed in range(1, 100):
        result = sw.run(spec(scheme, mode), seed=seed)
        _, queues = result.series_of("link_queue_bytes")
        if queues.max() >= SHOWN:
            return result
    raise SystemExit("no seed below 100 makes them meet")


def show(scheme: str, mode: str) -> None:
    """Run it and print what happened."""
    result = meet(scheme, mode)
    print(f"{scheme}, {mode}, seed {result.report['seed']}:")
    for flow in result.flows.to_pylist():
        print(
            f"  flow {flow['flow']}: {flow['sender_fct_ps'] / 1e6:.1f} µs, alone {flow['ideal_fct_ps'] / 1e6:.1f};"
            f" {flow['cnps']} CNPs, {flow['nacks']} NACKs, {flow['out_of_order']} arrivals out of order"
        )
    for time, what in events(result, scheme.partition(":")[0]):
        print(f"  {time:7.2f} µs  {what}")


if __name__ == "__main__":
    for mode in fabric.MODES:
        show(f"{fabric.SELB}:first_path=ecmp", mode)
        show(fabric.CONWEAVE, mode)
