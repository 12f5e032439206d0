"""Every scenario runs and keeps to the bounds it carries: `"what" = [least, most]` in its [bounds] table.

What can be bounded: `CLASS.fct_s.STAT`, `CLASS.slowdown.STAT` and `CLASS.unfinished` of a size class, STAT the mean or
any percentile; the same of a traffic entry, and its packets, behind `traffic NAME.` (`traffic web.packets.timeouts`);
`packets.NAME` of the TCP flows, `counters.FATE.UNIT` of the report, `TIER.NAME` of a tier of links
(`leaf->spine.jain`), `link NAME.WHAT` of one link, and `flowN.COLUMN` of one flow.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import spinewise as sw
from samples import TWO_ENTRIES
from spinewise.comparison.cells import attribute
from spinewise.measures.summary import ClassSummary
from spinewise.runs.result import Result
from spinewise.specs.spec import load

SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))


def values(result: Result) -> dict[str, Any]:
    """All that a bound can name, nested."""
    summary = result.summary()
    tree: dict[str, Any] = {found.name: found for found in summary.classes}
    for entry in summary.entries:
        of = {"packets": asdict(entry.packets)} | {found.name: found for found in entry.classes}
        tree[f"traffic {entry.name}"] = of
    tree |= {"packets": asdict(summary.packets), "counters": result.report["counters"]}
    tree |= {tier["tier"]: tier for tier in summary.links}
    tree |= {f"link {link['name']}": link for link in result.report["links"]}
    if result.flows.num_rows <= 10:
        tree |= {f"flow{row['flow']}": row for row in result.flows.to_pylist()}
    return tree


def value(tree: dict[str, Any], path: str) -> float:
    """The number that `path` names."""
    found: Any = tree
    steps = path.split(".")
    for place, step in enumerate(steps):
        if isinstance(found, ClassSummary):
            return attribute(found, ".".join(steps[place:]))
        found = found[step]
    return float(found)


def outside(bounds: dict[str, list[float]], tree: dict[str, Any]) -> list[str]:
    """The bounds that are not kept, in words."""
    broken = []
    for path, (least, most) in bounds.items():
        found = value(tree, path)
        if math.isnan(found) or not least <= found <= most:
            broken.append(f"{path} = {found:g}, not from {least:g} to {most:g}")
    return broken


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_is_a_spec(path: Path) -> None:
    assert sw.resolve(path)["traffic"]


@pytest.mark.parametrize("path", [path for path in SCENARIOS if "bounds" in load(path)], ids=lambda path: path.stem)
def test_a_scenario_keeps_to_its_bounds(path: Path) -> None:
    bounds = load(path)["bounds"]
    assert bounds
    assert outside(bounds, values(sw.run(path))) == []


def test_most_scenarios_carry_bounds() -> None:
    without = [path.stem for path in SCENARIOS if "bounds" not in load(path)]
    assert all(name.startswith("demo") for name in without), "only demos may go without"


def test_a_bound_that_is_not_kept_is_told() -> None:
    tree = {"all": {"unfinished": 3, "slowdown": {"p99": math.nan}}}
    assert outside({"all.unfinished": [0, 0]}, tree) == ["all.unfinished = 3, not from 0 to 0"]
    assert outside({"all.slowdown.p99": [1, 2]}, tree) == ["all.slowdown.p99 = nan, not from 1 to 2"]
    assert outside({"all.unfinished": [3, 4]}, tree) == []
    with pytest.raises(KeyError):
        outside({"all.no_such": [0, 0]}, tree)


def test_bounds_know_traffic_entries_and_any_percentile() -> None:
    tree = values(sw.run(TWO_ENTRIES))
    assert value(tree, "traffic incast.all.flows") == 8
    assert value(tree, "traffic incast.packets.timeouts") <= value(tree, "packets.timeouts")
    assert value(tree, "traffic incast.all.fct_s.p98") >= value(tree, "traffic incast.all.fct_s.p12")
    with pytest.raises(KeyError):
        value(tree, "traffic web.all.flows")
