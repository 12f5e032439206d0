"""The names of measurements in sentences."""

from __future__ import annotations

import re

SHARES = {
    "mean": "mean",
    "p50": "median",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p999": "99.9th percentile",
}
TIME = re.compile(rf"(?:(.+)_)?({'|'.join(SHARES)})_(fct_s|slowdown)")
NAMED = {
    "cnps": "CNPs",
    "dupack3": "third duplicate ACKs",
    "early_mean_us": "mean time ahead of the TAIL, µs",
    "goodput_share": "goodput, as a share of the paths",
    "held_mean_us": "mean time that a queue is held, µs",
    "nacks": "NACKs",
    "out_of_order": "share out of order",
    "pause_s": "paused time",
    "resent": "share sent again",
}


def named(metric: str) -> str:
    """A measurement in words: "99th percentile of FCT, short flows" for ``short_p99_fct_s``."""
    if metric in NAMED:
        return NAMED[metric]
    found = TIME.fullmatch(metric)
    if found is None:
        return metric.removesuffix("_s").replace("_", " ")
    whose, share, what = found[1], SHARES[found[2]], "FCT" if found[3] == "fct_s" else "slowdown"
    text = f"{share} {what}" if share == "mean" else f"{share} of {what}"
    return text if not whose else f"{text}, {flows(whose)}"


def flows(name: str) -> str:
    """The flows of a measurement: "short flows", "flows below 200 B", "S2"."""
    bound = re.fullmatch(r"(below|from|above)_(\d+)", name)
    if bound:
        return f"flows {bound[1]} {bound[2]} B"
    return f"{name} flows" if name in ("short", "long", "small", "large", "medium") else name.replace("_", " ")
