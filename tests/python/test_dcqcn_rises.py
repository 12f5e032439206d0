"""How slowly DCQCN's rates come back: the table of docs/model.md, run again."""

from __future__ import annotations

import re

import pytest

import spinewise as sw
from pages import ROOT

ROW = re.compile(r"^  \| (\d+) Gbps \| ([\d.]+), ([\d.]+)(?: \(default\))? \| (.+) \|$", re.MULTILINE)
AT_MS = (4, 5, 10, 20, 40)
"""The table's instants: half a millisecond before each is looked at."""


def received_gbps(gbps: int, additive: float, hyper: float) -> tuple[list[float], list[float]]:
    """What the last of four flows into one host receives at `AT_MS`, and when the others were done, in ms."""
    share, long = gbps * 62_500, gbps * 125_000_000
    flows = [{"src": src, "dst": 5, "size_bytes": long if src == 0 else share, "start_ns": 0} for src in range(4)]
    result = sw.run(
        {
            "topology": {
                "leaves": 2, "spines": 4, "hosts_per_leaf": 5, "host_rate_gbps": gbps, "fabric_rate_gbps": gbps,
            },
            "transport": {
                "kind": "rdma", "dcqcn_additive_increase_gbps": additive, "dcqcn_hyper_increase_gbps": hyper,
            },
            "traffic": [{"kind": "flows", "list": flows}],
            "run": {"until_us": 40_500},
            "metrics": {"series_interval_us": 500},
        }
    )  # fmt: skip
    times, values = (one.tolist() for one in result.series_of("received_bytes"))
    found = {round(2e3 * time): 8e-9 * value / 500e-6 for time, value in zip(times, values, strict=True)}
    done = result.flows.filter(result.flows["finished"])
    return [found[2 * at] for at in AT_MS], [fct / 1e9 for fct in done["fct_ps"].to_pylist()]


def rows() -> list[tuple[str, str, str, str]]:
    """Link, additive and hyper increase, and what was received."""
    return ROW.findall((ROOT / "docs" / "model.md").read_text(encoding="utf-8"))


def test_the_table_has_five_rows() -> None:
    assert len(rows()) == 5


@pytest.mark.parametrize("row", rows(), ids=lambda row: " ".join(row[:3]))
def test_rates_come_back_as_the_model_says(row: tuple[str, str, str, str]) -> None:
    received, ends = received_gbps(int(row[0]), float(row[1]), float(row[2]))
    assert [f"{rate:.0f}" for rate in received] == row[3].split(" | ")
    assert len(ends) == 3
    assert all(2.5 < end < 2.95 for end in ends)
