"""Figures and numbers for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

import spinewise
from spinewise import core
from spinewise.cli import main
from spinewise.cli.arguments import span
from spinewise.figures import bars, faults, heat, of_run, spread, steps, topology
from spinewise.figures.kinds import UnfitError
from spinewise.measures import units
from spinewise.measures.curves import LEVELS, Curves
from spinewise.measures.stats import Interval
from spinewise.page import charts
from spinewise.resilience.compared import Pair
from spinewise.show import plot, style


def curve(label: str, values: list[float], half: float = 0.0) -> plot.Curve:
    return plot.Curve(label, list(range(len(values))), [Interval(v, half, 3) for v in values])


def axes_of(panel: plot.Panel) -> Axes:
    return plot.figure([panel], columns=1, caption="").axes[0]


def test_every_curve_looks_different() -> None:
    labels = [*style.KNOWN, "other", "pdlb outer", "a", "b", "c", "d", "e"]
    looks = [(one["color"], one["marker"]) for one in style.look(labels).values()]
    assert len(set(looks)) == len(labels)


def test_a_known_scheme_looks_the_same_in_every_figure() -> None:
    alone = style.look(["pdlb"])["pdlb"]
    assert style.look(["rps", "ecmp", "pdlb"])["pdlb"] == alone
    assert style.look(["PDLB"])["PDLB"] == alone


def test_colours_can_be_told_apart_by_lightness_or_hue() -> None:
    def distance(a: str, b: str) -> float:
        return math.dist(to_rgb(a), to_rgb(b))

    assert min(distance(a, b) for a, b in combinations(style.COLOURS, 2)) > 0.2


def test_the_axis_is_logarithmic_only_where_the_range_demands_it() -> None:
    near = plot.Panel("", "x", "y", [curve("a", [1.0, 2.0])])
    wide = plot.Panel("", "x", "y", [curve("a", [1.0, 1000.0])])
    with_zero = plot.Panel("", "x", "y", [curve("a", [0.0, 1000.0])])
    assert axes_of(near).get_yscale() == "linear"
    assert axes_of(wide).get_yscale() == "log"
    assert axes_of(with_zero).get_yscale() == "linear"


def test_labels_of_an_axis_do_not_run_into_each_other() -> None:
    def ticks(count: int) -> list[float]:
        return [float(x) for x in axes_of(plot.Panel("", "x", "y", [curve("a", [1.0] * count)])).get_xticks()]

    assert ticks(plot.MOST_TICKS) == list(range(plot.MOST_TICKS))
    assert ticks(20) == list(range(0, 20, 2))


def test_an_error_bar_below_zero_does_not_stretch_a_logarithmic_axis() -> None:
    panel = plot.Panel("", "x", "y", [curve("a", [1.0, 1000.0], half=5.0)])
    assert axes_of(panel).get_ylim()[0] >= 0.3


def test_points_that_are_not_known_are_left_out(tmp_path: Path) -> None:
    panel = plot.Panel("t", "x", "y [s]", [curve("a", [math.nan, math.nan]), curve("b", [1.0, math.nan])])
    made = plot.figure([panel], columns=1, caption="nothing to see")
    assert {path.suffix for path in style.save(made, tmp_path, "f")} == {".png", ".svg"}


def test_labels_units_caption_and_title_are_in_the_figure(tmp_path: Path) -> None:
    panel = plot.Panel("panel", "load", "FCT [ms]", [curve("ecmp", [1.0]), curve("rps", [2.0])])
    made = plot.figure([panel], columns=1, caption="three seeds", title="the title")
    style.save(made, tmp_path, "f")
    svg = (tmp_path / "f.svg").read_text()
    for text in ("panel", "load", "FCT [ms]", "ecmp", "rps", "three seeds", "the title"):
        assert f">{text}<" in svg


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234.5, "1,234"), (12.345, "12.35"), (0.0123456, "0.01235"), (math.nan, "–")],
)
def test_digits(value: float, text: str) -> None:
    assert units.digits(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.5e-9, "1.500 ns"), (2.5e-4, "250.0 µs"), (0.012, "12.00 ms"), (3.0, "3.000 s"), (math.nan, "–")],
)
def test_durations(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (999, "999"), (12_345, "12.3 k"), (2.5e6, "2.50 M"), (math.inf, "–")]
)
def test_counts(value: float, text: str) -> None:
    assert units.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (999, "999 B"), (12_345, "12.3 kB"), (2.5e6, "2.50 MB"), (math.nan, "–")]
)
def test_sizes(value: float, text: str) -> None:
    assert units.size(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "0.25s"), (8.2, "8s"), (60, "60s"), (125, "2min5s"), (300, "5min"), (3723, "1h2min3s"), (90_000, "1d1h")],
)
def test_clock(seconds: float, text: str) -> None:
    assert units.clock(seconds) == text
    assert span(units.clock(seconds)) == round(seconds, 0 if seconds >= 1.0 else 9), "what is shown can be typed"


def test_the_unit_fits_the_median() -> None:
    assert units.time_unit([1e-6, 2e-3, 5e-3])[0] == "ms"
    assert units.time_unit([])[0] == "s"
    assert units.time_unit([math.nan, 0.0])[0] == "s"


def test_a_logarithmic_x_axis_keeps_neighbours_apart() -> None:
    panel = plot.Panel(
        "",
        "size",
        "y",
        [plot.Curve(name, [1.0, 2.0, 44.0], [Interval(1.0, 0.1, 5)] * 3) for name in "ab"],
        shaded=[2.0],
        log_x=True,
    )
    axes = axes_of(panel)
    assert axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "44"]
    apart = [b / a for a, b in zip(*(line.get_xdata() for line in axes.get_lines()[::3][:2]), strict=True)]
    assert apart == pytest.approx([apart[0]] * 3)
    assert 1.0 < apart[0] < 1.1


def test_no_bar_of_a_time_reaches_below_zero() -> None:
    """The text said that no time is below zero, under bars that went there."""
    wide = [plot.Curve("a", [1.0, 2.0], [Interval(1.0, 3.0, 5), Interval(2.0, 0.5, 5)])]

    def lowest(panel: plot.Panel) -> float:
        (bars,) = axes_of(panel).collections
        assert isinstance(bars, LineCollection)
        return min(float(np.asarray(path.vertices)[:, 1].min()) for path in bars.get_paths())

    assert lowest(plot.Panel("", "x", "y", wide)) == -2.0
    assert lowest(plot.Panel("", "x", "y", wide, above_zero=True)) == 0.0


def test_the_shade_of_an_overload_is_wider_than_the_points_on_it() -> None:
    """On a page it was a hundredth of the axis to either side, behind markers and bars."""
    panel = plot.Panel("", "load", "y", [curve("a", [1.0, 2.0])], shaded=[1.0])
    ((low, high, name),) = charts.of_panel(panel, charts.looked(["a"])).shaded
    assert name == "overloaded"
    assert high - low > 0.08, "as in figures"
    in_figure = axes_of(panel).patches[0].get_extents().transformed(axes_of(panel).transData.inverted())
    assert high - low == pytest.approx(in_figure.width, rel=1e-3)


# ---- colours ----


def test_eight_schemes_have_eight_colours() -> None:
    for labels in (list(style.KNOWN[:8]), list(style.KNOWN[8:16]), ["hermes", "presto", "rps", "conweave", "a", "b"]):
        assert len({one["color"] for one in style.look(labels).values()}) == len(labels)


def test_nothing_is_cut_at_the_edge_of_a_panel() -> None:
    axes = axes_of(plot.Panel("", "x", "y", [curve("a", [1.0, 10.2]), curve("b", [2.0, 10.2], half=0.3)]))
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    size = 5.0 / 72.0 / 2.0  # half a marker, in inches
    figure = axes.get_figure()
    assert figure is not None
    width, height = figure.get_size_inches() * axes.get_position().size  # type: ignore[union-attr]
    assert (top - 10.5) / (top - bottom) * height > size
    assert bottom < 1.0
    assert min(0.0 - left, right - 1.0) / (right - left) * width > size


# ---- spreads ----


def flow_table(entries: Sequence[int], sizes: Sequence[int], fct_us: Sequence[float]) -> pa.Table:
    n = len(entries)
    return pa.table(
        {
            "entry": pa.array(entries, pa.uint8()),
            "tcp": [True] * n,
            "finished": [t > 0 for t in fct_us],
            "size_bytes": pa.array(sizes, pa.uint64()),
            "fct_ps": pa.array([int(t * 1e6) for t in fct_us], pa.uint64()),
            "slowdown": [t / 10 for t in fct_us],
        }
    )


def test_levels_are_percentiles_and_unknown_beyond_the_last_flow() -> None:
    found = Curves.of(flow_table([0] * 100 + [1], [10] * 101, [float(n) for n in range(1, 101)] + [7.0]), 0)
    at = dict(zip(LEVELS, found.fct_s, strict=True))
    assert found.flows == 100
    assert 50e-6 <= at[0.5] <= 51e-6
    assert 99e-6 <= at[0.99] <= 100e-6
    assert math.isnan(at[0.9999])


def test_percentiles_by_size_need_flows() -> None:
    table = flow_table([0] * 111, [1000] * 101 + [10**6] * 10, [20.0] * 111)
    small, large = Curves.of(table).sizes
    assert (small.flows, large.flows) == (101, 10)
    assert (small.p50, small.p99, large.p50) == (2.0, 2.0, 2.0)
    assert math.isnan(large.p99)
    assert 1000 / 10**0.25 < small.size_bytes < 1000 * 10**0.25


def test_unfinished_flows_are_in_no_spread() -> None:
    assert Curves.of(flow_table([0, 0], [10, 10], [5.0, 0.0])).flows == 1


def test_rows_of_one_size_are_left_out_of_the_figure_by_size() -> None:
    one_size = Curves.of(flow_table([0] * 20, [1000] * 20, [20.0] * 20))
    sizes = [10**k for k in (3, 4, 5) for _ in range(20)]
    many = Curves.of(flow_table([0] * 60, sizes, [20.0] * 60))
    assert spread.by_size({"incast": {"ecmp": [one_size]}}, "") is None
    made = spread.by_size({"incast": {"ecmp": [one_size]}, "web": {"ecmp": [many]}}, "")
    assert made is not None
    assert [axes.get_title(loc="left") for axes in made.axes] == ["web: median", "web: 99th percentile"]


def test_bars_stand_in_the_order_given_and_leave_no_panel_empty() -> None:
    known = {"ecmp": Interval(1.0, 0.1, 3), "rps": Interval(3.0, 0.1, 3)}
    unknown = dict.fromkeys(known, Interval(math.nan, math.nan, 0))
    made = bars.bars([bars.Panel("a", "x", known), bars.Panel("b", "x", unknown)], columns=2, caption="")
    (axes,) = made.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["ecmp", "rps"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


# ---- spinewise plot ----

FAULTY = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"kind": "permutation", "size_bytes": 300_000}],
    "fault": [{"kind": "down", "switch": "spine0", "at_us": 100, "until_us": 200}],
    "metrics": {"series_interval_us": 20},
}


def test_plot_draws_what_fits_and_says_what_does_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spinewise.run(FAULTY).write(tmp_path / "run")
    assert main(["plot", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out
    assert "left out size: needs flows of three sizes" in told
    drawn = {path.name for path in (tmp_path / "run" / "figures").iterdir()}
    assert {"cdf.png", "links.svg", "faults.png", "plot.json"} <= drawn


@pytest.mark.parametrize(
    ("file", "says"), [("advice.json", "`spinewise advise`"), ("notes.txt", "it holds no run.json")]
)
def test_plot_says_what_it_takes(tmp_path: Path, file: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / file).write_text("{}")
    assert main(["plot", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert "allowed  the folder of a run or of a comparison\n" in told
    assert says in told
    assert main(["plot", str(tmp_path / "none")]) == 2
    assert "allowed  the folder of a run or of a comparison\n" in capsys.readouterr().err


def test_plot_refuses_a_figure_that_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spinewise.run({key: FAULTY[key] for key in ("topology", "traffic")}).write(tmp_path / "run")
    for kind, says in (("links", "series_interval_us"), ("faults", "[[fault]]"), ("cfd", 'did you mean "cdf"?')):
        assert main(["plot", str(tmp_path / "run"), kind]) == 2
        assert says in capsys.readouterr().err
    assert main(["plot", str(tmp_path / "run"), "cdf", "--format", "gif"]) == 2
    assert "png, svg, pdf" in capsys.readouterr().err
    assert not (tmp_path / "run" / "figures").exists()


def told_of(broken: np.ndarray, whole: np.ndarray, times: faults.Times) -> str:
    """The caption of two runs in intervals of 10 µs."""
    return faults.caption(faults.cost_of(Pair.of(10.0, broken, whole), times), times)


def test_a_fault_that_costs_nothing_is_back_at_once() -> None:
    same = np.full(100, 1000.0)
    told = told_of(same, same, [(1e-4, 2e-4)])
    assert "From 100 µs (first fault) to 200 µs (last repair) the hosts received 0 % fewer bytes" in told
    assert "at once after the first fault; at once after the last repair" in told
    cut = same.copy()
    cut[10:40] = 0.0
    late = told_of(cut, same, [(1e-4, 2e-4)])
    assert "100 % fewer bytes" in late
    # As sharp as the window over which goodput must be back: a twentieth of 50 µs.
    assert "300 µs after the first fault" in late
    more = told_of(1.01 * same, same, [(1e-4, 2e-4)])
    assert "received 1.00 % more bytes" in more


def test_a_fault_that_stays_is_compared_until_the_run_without_it_tails_off() -> None:
    whole = np.full(100, 1000.0)
    broken = np.concatenate([np.full(10, 1000.0), np.full(180, 500.0)])
    told = told_of(broken, whole, [(1e-4, None)])
    assert "From 100 µs (first fault) to 1.00 ms (the run without faults ends or tails off)" in told
    assert "received 50.0 % fewer bytes" in told
    assert "Back at 95 % of that goodput: not seen after the first fault." in told
    assert "From 1.00 ms on the run without faults is over, or runs out of flows." in told
    assert "repair" not in told


def test_there_is_no_last_repair_where_a_fault_is_never_repaired() -> None:
    same = np.full(100, 1000.0)
    told = told_of(same, same, [(1e-4, 2e-4), (3e-4, None)])
    assert "last repair" not in told
    assert "1 of 2 faults is never repaired." in told
    late = told_of(same, same, [(1e-4, 2.0)])
    assert "at once after the first fault; not seen after the last repair. From 1.00 ms on" in late


def test_a_fault_after_the_traffic_is_no_comparison() -> None:
    same = np.full(100, 1000.0)
    assert "there is nothing to compare" in told_of(same, same, [(5e-3, None)])


# ---- links over time ----


def grid(values: dict[str, list[float]]) -> heat.Grid:
    columns = len(next(iter(values.values())))
    return heat.Grid(list(values), np.arange(columns + 1.0), np.array(list(values.values())))


def test_every_tier_has_its_busiest_link_and_its_longest_queue_in_the_heat_map() -> None:
    hosts = {f"leaf0->host{n}": [0.5, 0.5] for n in range(100)}
    use = grid({**hosts, "leaf0->spine0": [0.1, 0.0], "leaf0->spine1": [0.0, 0.0]})
    queue = grid({"leaf0->host99": [9.0, 0.0], "leaf0->spine1": [0.0, 1.0]})
    drawn = [use.links[row] for row in heat.rows_of(use, queue)]
    assert len(drawn) == heat.MOST_LINKS
    assert "leaf0->host99" in drawn
    assert drawn[-2:] == ["leaf0->spine0", "leaf0->spine1"]


def test_links_that_a_fault_hit_are_in_the_heat_map() -> None:
    """They carry less than others, and were left out where there are many links."""
    use = grid({f"leaf0->host{n}": [0.5 - n / 1000, 0.5] for n in range(100)})
    queue = grid({"leaf0->host98": [9.0, 0.0]})
    assert 99 not in heat.rows_of(use, queue)
    assert heat.rows_of(use, queue, {"leaf0->host99"})[-1] == 99
    every = heat.rows_of(use, queue, set(use.links))
    assert len(every) == heat.MOST_LINKS


def test_cables_with_the_same_ends_are_drawn_side_by_side() -> None:
    """Two parallel links were one line, and the fault of one was on both."""
    placed = {"switch0": (0.2, 1.0), "switch1": (0.8, 2.0)}
    cable = topology.Cable(("switch0", "switch1"), 0.5, None, dead=False, faulty=False)
    alone = topology.lines_of([cable], placed, 8.0)
    assert alone == {"switch0–switch1": [placed["switch0"], placed["switch1"]]}
    pair = topology.lines_of([cable, replace(cable, faulty=True, number="1")], placed, 8.0)
    (first, _), (second, _) = pair["switch0–switch1"], pair["switch0–switch1#1"]
    apart = math.hypot(8.0 * (first[0] - second[0]), topology.TALL / 2.0 * (first[1] - second[1]))
    assert apart == pytest.approx(topology.SIDE_BY_SIDE)


def test_many_intervals_are_joined_into_means() -> None:
    many = heat.joined(grid({"a": [1.0, 3.0] * heat.MOST_COLUMNS}))
    assert many.values.tolist() == [[2.0] * heat.MOST_COLUMNS]
    assert many.edges_s[-1] == 2.0 * heat.MOST_COLUMNS


# ---- the topology ----


def test_slow_dead_and_faulty_links_are_told_apart() -> None:
    fabric = core.topology(
        {
            "topology": {
                "leaves": 2, "spines": 3, "hosts_per_leaf": 2,
                "override": [{"leaf": 0, "spine": 0, "rate_gbps": 4}, {"leaf": 1, "spine": 1, "up": False}],
            },
            "traffic": [{"kind": "permutation", "size_bytes": 1000}],
            "fault": [{"kind": "down", "ends": ["leaf0", "spine2"], "at_us": 10}],
        }
    )  # fmt: skip
    use = {"leaf0->spine0": 0.2, "spine0->leaf0": 0.7}
    found = {cable.ends: cable for cable in topology.cables(fabric, use)}
    assert found["leaf0", "spine0"] == topology.Cable(("leaf0", "spine0"), 0.7, 4e9, dead=False, faulty=False)
    assert found["leaf1", "spine1"].dead
    assert found["leaf0", "spine2"].faulty
    assert not found["leaf1", "spine2"].faulty
    made = topology.topology(fabric, use, "two leaves")
    texts = [text.get_text() for text in made.axes[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert texts == ["slower than its tier", "down from the start", "hit by a fault during the run"]


def test_faulty_links_that_cross_are_told_apart() -> None:
    """Their midpoints are one spot, and so may be a third of the way up: each has a mark of its own, and a halo."""
    ends = [["leaf0", "spine1"], ["leaf2", "spine0"], ["leaf1", "spine0"], ["leaf3", "spine0"]]
    fabric = core.topology(
        {
            "topology": {"leaves": 4, "spines": 2, "hosts_per_leaf": 1},
            "traffic": [{"kind": "permutation", "size_bytes": 1000}],
            "fault": [{"kind": "loss", "ends": pair, "probability": 0.1, "at_us": 10} for pair in ends],
        }
    )
    made = topology.topology(fabric, {}, "four leaves.")
    placed = topology.positions(fabric["nodes"])
    lines = [[placed[name] for name in pair] for pair in ends]
    halos = [one for one in made.axes[0].collections if isinstance(one, LineCollection) and one.get_alpha()]
    assert sorted(sorted(map(tuple, line)) for line in halos[0].get_segments()) == sorted(map(sorted, lines))
    found = topology.marks(lines)
    assert min(math.dist(one, other) for one, other in combinations(found, 2)) >= topology.APART
    for (x, y), ((x0, y0), (x1, y1)) in zip(found, lines, strict=True):
        assert (x - x0) * (y1 - y0) == pytest.approx((y - y0) * (x1 - x0))
    told = " ".join(made.get_supxlabel().split())
    assert "hit by a fault: leaf0–spine1, leaf1–spine0, leaf2–spine0, leaf3–spine0" in told


def test_parallel_cables_stay_apart() -> None:
    fabric = core.topology(
        {
            "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 1, "parallel_links": 2},
            "traffic": [{"kind": "permutation", "size_bytes": 1000}],
        }
    )
    between = [cable for cable in topology.cables(fabric, {}) if "spine0" in cable.ends]
    assert len(between) == 4
    assert {cable.name for cable in between} == {f"leaf{leaf}–spine0#{n}" for leaf in (0, 1) for n in (0, 1)}
    same = [(0.0, 1.0), (1.0, 2.0)]
    assert math.dist(*topology.marks([same, same])) >= topology.APART


# ---- steps of collectives ----


def test_steps_are_drawn_in_order_and_the_longest_of_a_round_is_marked() -> None:
    result = spinewise.run(
        {
            "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
            "traffic": [{"kind": "all_reduce", "size_bytes": 400_000, "rounds": 2}],
        }
    )
    found = steps.bars_of(result.rounds.rounds)
    assert [(one.round, step.step) for one, step in found] == [(r, s) for r in (1, 2) for s in range(1, 7)]
    marked = steps.longest(found)
    assert len(marked) == 2
    for place in marked:
        same = [step.time_s for one, step in found if one.round == found[place][0].round]
        assert found[place][1].time_s == max(same)
    (axes,) = of_run.KINDS["steps"].draw(result).axes
    assert len(axes.patches) == 12
    assert axes.get_title(loc="left") == "all_reduce"
    assert len(axes.texts) == 2


def test_labels_of_many_rounds_cover_nothing_and_the_caption_promises_no_more() -> None:
    result = spinewise.run(
        {
            "topology": {"leaves": 4, "spines": 2, "hosts_per_leaf": 8},
            "traffic": [
                {
                    "kind": "rpc",
                    "fan_in": 12,
                    "size_bytes": 40_000,
                    "requests": 40,
                    "period_us": 20,
                    "request_bytes": 100,
                }
            ],
        }
    )
    made = of_run.KINDS["steps"].draw(result)
    (axes,) = made.axes
    made.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert 8 < len(boxes) < 40
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    bars_ = [bar.get_window_extent() for bar in axes.patches]
    assert not any(box.padded(-1.0).overlaps(bar) for box in boxes for bar in bars_)
    assert "with the flow that arrived last where there is room for its number." in " ".join(
        made.get_supxlabel().split()
    )
    unended = {**FAULTY, "run": {"until_us": 1}}
    of_run.KINDS["steps"].draw(spinewise.run(unended))
    few = of_run.KINDS["steps"].draw(spinewise.run(FAULTY))
    assert "orange: the longest of the rounds of one step, with the flow that arrived last." in " ".join(
        few.get_supxlabel().split()
    )


def test_words_stand_on_an_axis_of_categories() -> None:
    curves = [plot.Curve(name, [0.0, 1.0], [Interval(v, 0.1, 3) for v in (1.0, 2.0)]) for name in "ab"]
    axes = axes_of(plot.Panel("", "", "s", curves, shaded=[1.0], words={0.0: "whole", 1.0: "link down"}))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["whole", "link down"]
    assert list(axes.get_xticks()) == [0.0, 1.0]
    first, second = (line for line in axes.get_lines() if line.get_marker() not in ("_", "None"))
    # Nothing joins the points of different words, and two curves stand on either side of one word.
    assert first.get_linestyle() == "None"
    assert float(np.asarray(first.get_xdata())[0]) == -float(np.asarray(second.get_xdata())[0]) < 0.0


def test_curves_that_share_no_word_stand_above_their_own() -> None:
    curves = [plot.Curve(name, [float(place)], [Interval(1.0, 0.1, 3)]) for place, name in enumerate("abc")]
    axes = axes_of(plot.Panel("", "", "s", curves, words=dict(enumerate("abc"))))
    assert sorted({float(np.asarray(line.get_xdata())[0]) for line in axes.get_lines()}) == [0.0, 1.0, 2.0]


def test_the_legend_shows_markers_where_any_panel_has_them() -> None:
    points = plot.Panel("", "x", "y", [curve("a", [1.0, 2.0])])
    lines = plot.Panel("", "t", "y", [curve("a", [1.0, 2.0])], lines=True)
    for panels in ([points, lines], [lines, points]):
        made = plot.figure(panels, columns=2, caption="")
        (handle,) = made.legends[0].legend_handles
        assert isinstance(handle, LineCollection), "an error bar with its marker, not a line alone"


def test_flows_that_were_not_kept_are_no_missing_flows() -> None:
    """It said that a run of 2,443 finished flows had none: no row of them was kept."""
    fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2}
    ring = {"name": "ring", "kind": "all_reduce", "size_bytes": 6000}
    result = spinewise.run({"topology": fabric, "traffic": [ring], "metrics": {"keep_flows_up_to": 1}})
    for name in ("cdf", "size", "steps"):
        with pytest.raises(UnfitError, match=r"of \d+ flows none was kept: raise metrics.keep_flows_up_to"):
            of_run.KINDS[name].draw(result)
