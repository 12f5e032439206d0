"""Hand-made results and small specs for the tests of the Python layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from spinewise.measures import tables
from spinewise.replies import Column, Listed
from spinewise.reproduction.experiment import Timeline
from spinewise.runs.result import Result
from spinewise.shapes import SizeClass, Spec

DTYPES = {
    "flow": "u32",
    "src": "u32",
    "dst": "u32",
    "entry": "u8",
    "size_bytes": "u64",
    "start_ps": "u64",
    "fct_ps": "u64",
    "ideal_fct_ps": "u64",
    "sender_fct_ps": "u64",
    "finished": "bool",
    "tcp": "bool",
    "slowdown": "f64",
    "packets": "u32",
    "retransmits": "u32",
    "timeouts": "u32",
    "out_of_order": "u32",
    "dupack3_events": "u32",
    "marks": "u32",
    "nacks": "u32",
    "cnps": "u32",
}
NUMPY = {"u8": "u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "f64": "<f8", "bool": "?"}
CLASSES: list[SizeClass] = [{"name": "short", "below_bytes": 100_000}, {"name": "long", "from_bytes": 100_000}]


def described(dtypes: dict[str, str]) -> list[Column]:
    """Columns as the engine describes them."""
    return [
        {"name": name, "dtype": dtype, "unit": "ps" if name.endswith("_ps") else "", "meaning": f"its {name}"}
        for name, dtype in dtypes.items()
    ]


def raw(dtype: str, values: Any) -> tuple[str, bytes]:
    """A column as the engine hands it over."""
    return dtype, np.asarray(values).astype(NUMPY[dtype]).tobytes()


def flows(**columns: Any) -> pa.Table:
    """A flow table; columns not given are zero, `finished` and `tcp` are true."""
    rows = len(next(iter(columns.values())))
    values = {name: columns.get(name, np.full(rows, name in ("finished", "tcp"))) for name in DTYPES}
    return tables.table({name: raw(dtype, values[name]) for name, dtype in DTYPES.items()}, described(DTYPES))


def series(rows: list[tuple[int, int, int, float]]) -> pa.Table:
    """A series table from (time_ps, series, entity, value)."""
    dtypes = {"time_ps": "u64", "series": "u16", "entity": "u32", "value": "f64"}
    columns = [[row[k] for row in rows] for k in range(4)]
    return tables.table(
        {name: raw(dtype, column) for (name, dtype), column in zip(dtypes.items(), columns, strict=True)},
        described(dtypes),
    )


def report(**changes: Any) -> Any:
    """A report with what every run tells."""
    return {
        "outcome_hash": "00ff",
        "traffic_hash": "aa00",
        "seed": 1,
        "version": "0.1.0",
        "events": 10,
        "packet_hops": 20,
        "wall_seconds": 0.5,
        "stop_ps": 10**9,
        "flows": 0,
        "counters": {
            **{name: {"packets": 0, "bytes": 0} for name in ("created", "acks", "probes", "messages", "pause_frames")},
            "scheme_header_bytes": 0,
        },
        "loads": {},
        "links": [],
        "series_names": [],
        "entity_names": [],
    } | changes


def listed(name: str, *params: str) -> Listed:
    """A thing of the registry with these parameters."""
    return {
        "name": name,
        "about": "",
        "params": [
            {"name": one, "type": "number", "unit": None, "default": 0.0, "allowed": "", "doc": "", "schema": {}}
            for one in params
        ],
    }


def result(**columns: Any) -> Result:
    """A result with these flow columns."""
    spec: Spec = {
        "name": "sample", "seed": 1, "metrics": {"size_classes": CLASSES},
        "topology": {}, "scheme": {}, "run": {}, "traffic": [],
    }  # fmt: skip
    made = flows(**columns)
    return Result(spec=spec, flows=made, series=series([]), report=report(flows=made.num_rows))


TINY_SPEC: Spec = {
    "name": "tiny",
    "preset": "datacenter",
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [
        {
            "kind": "poisson",
            "cdf": "web_search",
            "load": 0.3,
            "load_of": "leaf_uplinks",
            "pairs": "inter_rack",
            "duration_us": 5000,
        }
    ],
}

# Two traffic entries: what a scheme can do for the first, and a burst at one port where none can help.
TWO_ENTRIES: dict[str, Any] = {
    "name": "two",
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 6},
    "switch": {"buffer_bytes": 30_000},
    "traffic": [
        TINY_SPEC["traffic"][0] | {"load": 0.6, "duration_us": 6000},
        {"kind": "incast", "receiver": 0, "senders": 8, "size_bytes": 20_000},
    ],
}

TINY_TOML = """
name = "tiny"
preset = "datacenter"

[topology]
leaves = 2
spines = 2
hosts_per_leaf = 2

[[traffic]]
kind = "poisson"
cdf = "web_search"
load = 0.3
load_of = "leaf_uplinks"
pairs = "inter_rack"
duration_us = 5000
"""


def single(values: Mapping[str, float | Timeline]) -> dict[str, float]:
    """The measurements of an experiment that are one number."""
    return {name: value for name, value in values.items() if not isinstance(value, Timeline)}


def lines(values: Mapping[str, float | Timeline]) -> dict[str, Timeline]:
    """The measurements of an experiment that are a line."""
    return {name: value for name, value in values.items() if isinstance(value, Timeline)}


# Of flows from leaf0 the data goes round a dead uplink, and acknowledgements go to the spine that has no way on.
LOST_ACKS: Spec = {
    "seed": 1,
    "topology": {"leaves": 3, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 25, "fabric_rate_gbps": 50},
    "transport": {"kind": "dctcp", "min_rto_us": 5000, "initial_rto_us": 5000},
    "scheme": {"name": "letflow"},
    "traffic": [{"kind": "flows", "list": [
        {"src": n % 2, "dst": 2 + n % 4, "size_bytes": 40_000, "start_ns": 300_000 + 20_000 * n} for n in range(12)
    ]}],
    "fault": [{"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 100}],
    "detection": {"carrier_us": 100, "control_plane_us": 1000},
}  # fmt: skip
