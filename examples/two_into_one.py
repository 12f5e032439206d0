"""Two flows into one link: queue and use of the link under several congestion controls.

`python examples/two_into_one.py docs/two_into_one.png` draws the figure of docs/model.md.
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import spinewise as sw

GBPS = 40
UNTIL_US = 10_000
LINK = "switch3->switch4"
# The kind of switch decides who may pause whom: TCP has queues that drop, queue pairs a shared buffer that pauses.
CONTROLS = {
    "DCTCP": ("linux", {"kind": "dctcp"}),
    "CUBIC": ("linux", {"kind": "cubic"}),
    "CUBIC with ECN": ("linux", {"kind": "cubic", "cubic_ecn": True}),
    "Swift": ("linux", {"kind": "swift"}),
    "DCQCN": ("dcqcn-paper", {"kind": "rdma"}),
    "TIMELY, T_low = 20 µs": (
        "dcqcn-paper",
        {"kind": "rdma", "congestion_control": "timely", "timely_t_low_us": 20, "timely_t_high_us": 100},
    ),
    "HPCC": ("dcqcn-paper", {"kind": "rdma", "congestion_control": "hpcc"}),
}


def spec(preset, transport):
    """Hosts 0 and 1 send to host 2 over one link between two switches; all links have the same rate and take 1 µs."""
    links = [[a, b, GBPS, 1000] for a, b in ((0, 3), (1, 3), (2, 4), (3, 4))]
    flows = [{"src": host, "dst": 2, "size_bytes": 1_000_000_000, "start_ns": 0} for host in (0, 1)]
    return {
        "preset": preset,
        "topology": {"kind": "links", "hosts": 3, "switches": 2, "links": links},
        "transport": transport,
        "scheme": {"name": "ecmp"},
        "traffic": [{"kind": "flows", "list": flows}],
        "run": {"stop": "time", "until_us": UNTIL_US},
        "metrics": {"series_interval_us": 10},
    }


def main(file):
    """Runs all and draws."""
    figure, rows = plt.subplots(len(CONTROLS), 1, sharex=True, figsize=(8, 12), layout="constrained")
    for row, (name, (preset, transport)) in zip(rows, CONTROLS.items(), strict=True):
        result = sw.run(spec(preset, transport))
        time, queue = result.series_of("link_queue_bytes", LINK)
        used = result.series_of("link_utilisation", LINK)[1]
        late = len(queue) // 2
        wait_us = queue * 8 / GBPS / 1e3
        row.plot(time * 1e3, wait_us, linewidth=0.8)
        mean = f"second half: {wait_us[late:].mean():.1f} µs, {100 * used[late:].mean():.1f} % of the link"
        row.set_title(f"{name} ({mean})", loc="left", fontsize=9)
        row.set_ylim(bottom=0)
        row.grid(alpha=0.3)
        print(f"{name}: {mean}")
    rows[-1].set_xlabel("time [ms]")
    figure.supylabel("wait in the queue [µs]")
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
