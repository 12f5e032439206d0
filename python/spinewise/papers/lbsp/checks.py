"""Measurements behind the verdicts that the experiments do not show: `python -m spinewise.papers.lbsp.checks`.

How many packets ever wait on the way to T5; how much longer S2's flow takes over a slow link, by assumptions the paper
leaves open; which flows are slow at 8:1 and where their packets wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import spinewise as sw
from spinewise.measures.tables import numbers
from spinewise.papers.lbsp import fabric, fig06b, fig07a, fig07c
from spinewise.papers.lbsp.fabric import RENO
from spinewise.papers.lbsp.measure import flows
from spinewise.papers.lbsp.tree import DEGRADED, LINK, SWITCH, WHOLE
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.specs.spec import set_path

PACKET = fabric.SEGMENT_BYTES + fabric.HEADER_BYTES
OPEN: Mapping[str, Mapping[str, object]] = {
    "as in the figures": {},
    "segments of 500 bytes": {"transport.mss_bytes": 500},
    "segments of 1460 bytes": {"transport.mss_bytes": 1460},
    "window of 20 packets at most": {"transport.max_window_segments": 20},
    "window of 64 packets at most": {"transport.max_window_segments": 64},
    "a host's queue of 250 packets": {"switch.nics": "queue"},
    "acknowledged every other packet": {"transport.delayed_ack_segments": 2},
    "reordering ignored": {"transport.dupack_threshold": 0},
}


def once(spec: Spec, changes: Mapping[str, object], schemes: Iterable[str]) -> dict[str, Result]:
    """One run of each scheme."""
    found = {}
    for scheme in fabric.schemes(*schemes):
        made = scheme.apply(spec)
        for key, value in changes.items():
            set_path(made, key, value)
        found[scheme.label] = sw.run(made, seed=1)
    return found


def longest(result: Result, head: str, tail: str) -> int:
    """The most packets that waited at any link with such a name."""
    links = (link for link in result.report["links"] if link["name"].startswith(head) and link["name"].endswith(tail))
    longest_bytes: int = max(int(link["longest_queue_bytes"]) for link in links)
    return longest_bytes // int(PACKET)


def waiting() -> None:
    """Print for Fig. 6b: a third duplicate needs a packet that waits for three others."""
    for what in ("as in the figures", "a host's queue of 250 packets", "window of 20 packets at most"):
        for condition, word in ((WHOLE, "whole"), (LINK, "link down"), (SWITCH, "switch down")):
            spec = fig06b.spec(condition, RENO, 1, 1)
            for label, result in once(spec, OPEN[what], ("LBSP", *fabric.BASELINES)).items():
                slowest, queue = flows.completion(result)["p999_s"], longest(result, "aggregation", "->leaf5")
                print(
                    f"Fig. 6b, {what}, {word}, {label}: slowest {slowest:.3f} s, most packets waiting before T5 {queue}"
                )


def slow_link() -> None:
    """Print for Fig. 7c: S2's flow over a slow link against a whole tree."""
    for what, changes in OPEN.items():
        for size in fig07c.TREES:
            texts = []
            for label in fabric.BASELINES:
                seconds = []
                for condition in (WHOLE, DEGRADED):
                    (result,) = once(fig07c.spec(size, condition, RENO, 1, 1), changes, (label,)).values()
                    inside = flows.flows_of(result)["S2"]
                    seconds.append(flows.completion(result, inside)["mean_s"])
                texts.append(f"{label} {seconds[0]:.2f} to {seconds[1]:.2f} s, {seconds[1] / seconds[0]:.1f} times")
            print(f"Fig. 7c, {size}, {what}: {'; '.join(texts)}")


def oversubscribed() -> None:
    """Print for Fig. 7a: each flow's time at 4:1 and 8:1, and where packets wait."""
    for ratio in (4.0, 8.0):
        for condition in ("whole", "link down"):
            found = once(fig07a.spec(ratio, condition, RENO, 1, 1), {}, ("LBSP", *fabric.BASELINES))
            for label, result in found.items():
                seconds = [round(float(fct) / 1e12, 2) for fct in numbers(result.flows, "fct_ps")]
                up, down = longest(result, "aggregation", ""), longest(result, "core", "")
                print(f"Fig. 7a, {ratio:g}:1, {condition}, {label}: {seconds} s; most waiting up {up}, down {down}")


if __name__ == "__main__":
    waiting()
    slow_link()
    oversubscribed()
