"""A lossless ring of four switches: under some schemes pauses wait for each other in a circle, for ever."""

from __future__ import annotations

from spinewise.shapes import Spec
from spinewise.specs.spec import as_spec


def ring(scheme: str = "drill", buffer_bytes: int = 300_000) -> Spec:
    """Every host sends to the one across, by either side; under a hash these flows block each other."""
    flows = [
        {"src": src, "dst": (src + 2) % 4, "size_bytes": 2_000_000, "start_ns": 200_000 * burst + 100 * src}
        for burst in range(20)
        for src in range(4)
    ]
    hosts = [[host, 4 + host, 100, 1000] for host in range(4)]
    around = [[4 + switch, 4 + (switch + 1) % 4, 100, 1000] for switch in range(4)]
    return as_spec(
        {
            "name": "ring",
            "preset": "selb",
            "scheme": {"name": scheme},
            "topology": {"kind": "links", "hosts": 4, "switches": 4, "links": hosts + around},
            "switch": {"buffer_bytes": buffer_bytes, "ecn_min_bytes": 50_000, "ecn_max_bytes": 100_000},
            "traffic": [{"kind": "flows", "name": "load", "list": flows}],
            "run": {"until_us": 1_000_000},
        }
    )
