"""Measurements of a run of Fig. 6 of PDLB, and the models' values."""

from __future__ import annotations

from collections.abc import Mapping

from spinewise.papers.pdlb import model
from spinewise.papers.pdlb.transports import PACKET_BYTES
from spinewise.reproduction import readings
from spinewise.reproduction.experiment import Run, Timeline
from spinewise.runs.result import Result

PACKET_BITS = 12_000
# MaxW has no published value: 44 packets in the authors' code; 9 are one bandwidth-delay
# product, 258 are that and a buffer.
MAX_WINDOW = 44.0
OTHER_WINDOWS = (9.0, 258.0)
MODELS: dict[str, tuple[model.Equation, float]] = {
    "Eq. 9": (model.printed, MAX_WINDOW),
    "Eq. 9, second line": (model.second_line, MAX_WINDOW),
    "Eq. 9 repaired": (model.repaired, MAX_WINDOW),
    **{f"Eq. 9, MaxW {window:g}": (model.printed, window) for window in OTHER_WINDOWS},
}


def measure(_run: Run, result: Result) -> Mapping[str, float | Timeline]:
    """Measure the mean completion time, and each model's value for this size."""
    gran = int(result.spec["scheme"]["params"]["packets"])
    flow = result.spec["traffic"][0]["list"][0]["size_bytes"] / PACKET_BYTES
    paths = paths_of(result)
    models = {
        name: equation(gran, paths, model.Constants(flow=flow, max_window=window))
        for name, (equation, window) in MODELS.items()
    }
    return {**readings.completion(result), **models}


def paths_of(result: Result) -> model.Paths:
    """The paths in terms of the model: a round trip crosses four links of hosts and four of the fabric."""
    topology = result.spec["topology"]
    hosts_ns, slow = 4 * topology["host_delay_ns"], topology["override"]
    good_ns, bad_ns = (hosts_ns + 4 * delay for delay in (topology["fabric_delay_ns"], slow[0]["delay_ns"]))
    rate = 1e9 * topology["fabric_rate_gbps"] / PACKET_BITS
    # In whole microseconds, as the paper gives them.
    return model.Paths(topology["spines"], len(slow), good_ns * 1e-9, bad_ns // 1000 * 1e-6, rate)
