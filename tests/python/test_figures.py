"""Figures and numbers for people."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from spinewise.measures import units
from spinewise.measures.stats import Interval
from spinewise.show import plot


def curve(label: str, values: list[float], half: float = 0.0) -> plot.Curve:
    return plot.Curve(label, list(range(len(values))), [Interval(v, half, 3) for v in values])


def axes_of(panel: plot.Panel) -> Axes:
    return plot.figure([panel], columns=1, caption="").axes[0]


def test_every_curve_looks_different() -> None:
    labels = [*plot.KNOWN, "other", "pdlb outer", "a", "b", "c", "d", "e"]
    looks = [(one["color"], one["marker"]) for one in plot.look(labels).values()]
    assert len(set(looks)) == len(labels)


def test_a_known_scheme_looks_the_same_in_every_figure() -> None:
    alone = plot.look(["pdlb"])["pdlb"]
    assert plot.look(["rps", "ecmp", "pdlb"])["pdlb"] == alone
    assert plot.look(["PDLB"])["PDLB"] == alone


def test_colours_can_be_told_apart_by_lightness_or_hue() -> None:
    def distance(a: str, b: str) -> float:
        return math.dist(to_rgb(a), to_rgb(b))

    assert min(distance(a, b) for a, b in combinations(plot.COLOURS, 2)) > 0.2


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
    assert {path.suffix for path in plot.save(made, tmp_path, "f")} == {".png", ".svg"}


def test_labels_units_caption_and_title_are_in_the_figure(tmp_path: Path) -> None:
    panel = plot.Panel("panel", "load", "FCT [ms]", [curve("ecmp", [1.0]), curve("rps", [2.0])])
    made = plot.figure([panel], columns=1, caption="three seeds", title="the title")
    plot.save(made, tmp_path, "f")
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


@pytest.mark.parametrize(("seconds", "text"), [(8.2, "8 s"), (125, "2:05"), (3723, "1:02:03")])
def test_clock(seconds: float, text: str) -> None:
    assert units.clock(seconds) == text


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
