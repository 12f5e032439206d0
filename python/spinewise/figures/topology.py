"""The fabric as it was built: its tiers, how busy each link was, which were slow, down or hit by a fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from spinewise.measures import units
from spinewise.replies import Fabric, FabricLink, FabricNode
from spinewise.show.style import STYLE, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_HOSTS = 96
"""The number of hosts above which one mark represents all hosts of a leaf."""
MOST_NAMES = 24
"""A tier with more switches has names only at its ends."""
MOST_LINKS = 30_000
TIERS = ("host", "leaf", "aggregation", "spine", "core")
COLOURS = LinearSegmentedColormap.from_list("use", ["#C9D7E4", "#4A90C2", "#08264A"])
"""Pale where nothing happens, dark where a link is full."""
DEAD, FAULTY = "#B00020", "#D55E00"
MARK_SHARES = (1 / 3, 0.42, 0.25, 0.5, 0.58, 0.67, 0.18)
"""Possible places of a mark on a link, as a share of the way up, the preferred one first."""
APART = 0.06
"""The distance between marks if there is room, as a share of the width of the fabric."""
SIDE_BY_SIDE, BUNDLE = 0.06, 0.3
"""Inches between cables with the same ends, and the most between the outer ones."""
TALL = 3.0
"""Approximate inches from the lowest tier to the highest."""
MOST_TOLD = 4
"""The number of links of a kind that are named below."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Cable:
    """Both directions between two nodes.

    Attributes:
        ends: names of the nodes.
        use: the greater mean utilisation of its directions; 0 if unknown.
        slow: the lower rate of its directions in bit/s if it is below that of its tier, else None.
        dead: down from the start, in one direction at least.
        faulty: hit by a fault of the schedule.
        number: its number among the cables between its ends, as in names of links; empty for a single one.
    """

    ends: tuple[str, str]
    use: float
    slow: float | None
    dead: bool
    faulty: bool
    number: str = ""

    @property
    def name(self) -> str:
        """Both ends, and the number among the cables between them."""
        return "–".join(self.ends) + (f"#{self.number}" if self.number else "")


def cables(fabric: Fabric, use: Mapping[str, float]) -> list[Cable]:
    """The cables of a fabric from `spinewise.core`; `use` is utilisation by the name of a link."""
    hit = {name for fault in fabric["faults"] for name in fault["links"]}
    made: dict[tuple[str, str], list[FabricLink]] = {}
    for link in fabric["links"]:
        number = str(link["name"]).partition("#")[2]
        first, second = sorted((str(link["from"]), str(link["to"])))
        made.setdefault((first, f"{second}#{number}"), []).append(link)
    return [
        Cable(
            ends=(first, second.partition("#")[0]),
            use=max(use.get(str(link["name"]), 0.0) for link in both),
            slow=min((float(link["rate_bps"]) for link in both if link["slow"]), default=None),
            dead=not all(link["up"] for link in both),
            faulty=any(link["name"] in hit for link in both),
            number=second.partition("#")[2],
        )
        for (first, second), both in made.items()
    ]


def positions(nodes: Sequence[FabricNode]) -> dict[str, Point]:
    """The position of each node: tiers above each other, each spread over the whole width, hosts below their leaves."""
    present = [tier for tier in TIERS if any(node["tier"] == tier for node in nodes)]
    of_tier = {tier: [node for node in nodes if node["tier"] == tier] for tier in present}
    placed: dict[str, Point] = {}
    for height, tier in enumerate(present):
        if tier == "host":
            continue
        row = of_tier[tier]
        for n, node in enumerate(row):
            placed[str(node["name"])] = ((n + 0.5) / len(row), float(height))
    below: dict[str, list[str]] = {}
    for node in of_tier.get("host", []):
        below.setdefault(str(node["leaf"]), []).append(str(node["name"]))
    width = 0.86 / max(len(below), 1)
    for leaf, hosts in below.items():
        centre = placed[leaf][0]
        for n, host in enumerate(hosts):
            placed[host] = (centre + width * ((n + 0.5) / len(hosts) - 0.5), 0.0)
    return placed


def topology(fabric: Fabric, use: Mapping[str, float], caption: str) -> Figure:
    """Draw the fabric, with links coloured by use."""
    nodes = fabric["nodes"]
    placed = positions(nodes)
    hosts = [str(node["name"]) for node in nodes if node["tier"] == "host"]
    bundled = len(hosts) > MOST_HOSTS
    found = cables(fabric, use)
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        made = Figure(figsize=(min(max(6.0, width(nodes) + 1.2), 16.0), 4.6), layout="constrained")
        axes = made.subplots()
        axes.set_axis_off()
        drawn = [cable for cable in found if not (bundled and is_host_cable(cable, placed))]
        draw_cables(axes, drawn, lines_of(drawn, placed, made.get_figwidth()))
        draw_nodes(axes, nodes, placed, bundled=bundled)
        axes.margins(0.03, 0.14)
        bar = made.colorbar(
            ScalarMappable(Normalize(0.0, 1.0), COLOURS), ax=axes, shrink=0.6, aspect=25, pad=0.01,
            label="share of the run in use, the busier direction",
        )  # fmt: skip
        bar.outline.set_visible(False)
        kinds = line_kinds(drawn)
        if kinds:
            axes.legend(handles=kinds, loc="upper center", bbox_to_anchor=(0.5, 1.08), ncols=3, fontsize=8)
        made.supxlabel(wrapped(f"{caption} {told(fabric, found, use)}", 2), fontsize=7, color="#444444")
    return made


def width(nodes: Sequence[FabricNode]) -> float:
    """The width in inches at which the names of every tier fit side by side."""
    rows = [[len(node["name"]) for node in nodes if node["tier"] == tier] for tier in TIERS[1:]]
    return max((len(row) * (0.07 * max(row) + 0.14) for row in rows if 0 < len(row) <= MOST_NAMES), default=12.0)


def is_host_cable(cable: Cable, placed: Mapping[str, Point]) -> bool:
    """Whether a cable ends at a host."""
    return any(placed[end][1] == 0.0 for end in cable.ends)


def lines_of(found: Sequence[Cable], placed: Mapping[str, Point], wide: float) -> dict[str, list[Point]]:
    """The line of each cable, by its name; those with the same ends are side by side, in a figure of this width."""
    of_ends: dict[tuple[str, str], list[Cable]] = {}
    for cable in found:
        of_ends.setdefault(cable.ends, []).append(cable)
    inches = np.array([wide, TALL / max((y for _, y in placed.values()), default=1.0)])
    lines = {}
    for ends, row in of_ends.items():
        low, high = (np.array(placed[end]) for end in ends)
        along = (high - low) * inches
        across = np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-9) / inches
        apart = min(SIDE_BY_SIDE, BUNDLE / max(len(row) - 1, 1))
        for n, cable in enumerate(row):
            shift = across * apart * (n - (len(row) - 1) / 2)
            lines[cable.name] = [(float(x), float(y)) for x, y in (low + shift, high + shift)]
    return lines


def draw_cables(axes: Axes, found: Sequence[Cable], lines: Mapping[str, list[Point]]) -> None:
    """Draw cables, the busiest on top, then those that are slow, faulty or dead."""
    ordered = sorted(found, key=lambda cable: (cable.dead, cable.faulty, cable.slow is not None, cable.use))
    crowd = 1.0 if len(found) < 400 else 0.5
    axes.add_collection(
        LineCollection(
            [lines[cable.name] for cable in ordered],
            colors=[DEAD if cable.dead else COLOURS(min(cable.use, 1.0)) for cable in ordered],
            linestyles=[style_of(cable) for cable in ordered],
            linewidths=[2.4 * crowd if cable.slow or cable.dead else 1.4 * crowd for cable in ordered],
            zorder=1,
        )
    )
    faulty = [lines[cable.name] for cable in ordered if cable.faulty]
    axes.add_collection(
        LineCollection(faulty, colors=FAULTY, linewidths=6.0 * crowd, alpha=0.35, capstyle="butt", zorder=0.9)
    )
    for x, y in marks(faulty):
        axes.plot(x, y, marker="X", color=FAULTY, markersize=6, zorder=3)


def marks(lines: Sequence[Sequence[Point]]) -> list[Point]:
    """A point on each line: the first of `MARK_SHARES` that is clear of the marks before it, else the clearest."""
    found = np.full((len(lines), 2), np.inf)
    shares = np.array(MARK_SHARES)[:, np.newaxis]
    for n, line in enumerate(lines):
        low, high = np.array(sorted(line, key=lambda end: end[1]))
        points = low + shares * (high - low)
        clear = np.min(np.hypot(*(points[:, np.newaxis] - found[:n]).T), axis=0, initial=np.inf)
        found[n] = points[np.argmax(np.minimum(clear, APART))]
    return [(float(x), float(y)) for x, y in found]


def style_of(cable: Cable) -> str:
    """Dotted: dead; dashed: slow."""
    return ":" if cable.dead else "--" if cable.slow is not None else "-"


def line_kinds(found: Sequence[Cable]) -> list[Line2D]:
    """The legend of the lines that are present."""
    kinds = []
    if any(cable.slow is not None for cable in found):
        kinds.append(Line2D([], [], color="#444444", linestyle="--", linewidth=2, label="slower than its tier"))
    if any(cable.dead for cable in found):
        kinds.append(Line2D([], [], color=DEAD, linestyle=":", linewidth=2, label="down from the start"))
    if any(cable.faulty for cable in found):
        kinds.append(
            Line2D([], [], color=(FAULTY, 0.35), linewidth=6, marker="X", markerfacecolor=FAULTY,
                   markeredgecolor=FAULTY, label="hit by a fault during the run")
        )  # fmt: skip
    return kinds


def draw_nodes(axes: Axes, nodes: Sequence[FabricNode], placed: Mapping[str, Point], *, bundled: bool) -> None:
    """Switches as squares with names, hosts as dots, or as one mark a leaf."""
    for tier in TIERS[1:]:
        row = [str(node["name"]) for node in nodes if node["tier"] == tier]
        for n, name in enumerate(row):
            x, y = placed[name]
            axes.plot(x, y, marker="s", color="#333333", markersize=7 if len(row) <= 32 else 4, zorder=4)
            if len(row) <= MOST_NAMES or n in (0, len(row) - 1):
                axes.annotate(
                    name, (x, y), xytext=(0, 8), textcoords="offset points", fontsize=7, zorder=5, ha="center",
                    bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
                )  # fmt: skip
    of_leaf: dict[str, list[str]] = {}
    for node in nodes:
        if node["tier"] == "host":
            of_leaf.setdefault(str(node["leaf"]), []).append(str(node["name"]))
    for leaf, hosts in of_leaf.items():
        if bundled:
            x, y = placed[leaf][0], 0.55
            axes.plot([x, x], [y, placed[leaf][1]], color="#999999", linewidth=3, zorder=0)
            axes.annotate(
                f"{len(hosts)}", (x, y), xytext=(0, -3), textcoords="offset points", fontsize=7, ha="center", va="top"
            )
        else:
            axes.plot([placed[h][0] for h in hosts], [0.0] * len(hosts), "o", color="#333333", markersize=3, zorder=4)


def told(fabric: Fabric, found: Sequence[Cable], use: Mapping[str, float]) -> str:
    """The same in words."""
    hosts = sum(node["tier"] == "host" for node in fabric["nodes"])
    parts = [f"{hosts} hosts" + (", as many below each leaf as written" if hosts > MOST_HOSTS else "")]
    slow = [cable for cable in found if cable.slow is not None]
    if slow:
        names = ", ".join(
            f"{cable.name} {units.digits((cable.slow or 0.0) / 1e9, 3)} Gbps" for cable in slow[:MOST_TOLD]
        )
        parts.append(f"slow: {names}{' …' * (len(slow) > MOST_TOLD)}")
    for what, of_kind in (
        ("down", [cable for cable in found if cable.dead]),
        ("hit by a fault", [cable for cable in found if cable.faulty]),
    ):
        if of_kind:
            names = ", ".join(cable.name for cable in of_kind[:MOST_TOLD])
            parts.append(f"{what}: {names}{' …' * (len(of_kind) > MOST_TOLD)}")
    if use:
        busiest = max(use, key=lambda name: use[name])
        parts.append(f"busiest: {busiest}, {units.percent(use[busiest])}")
    return "; ".join(parts) + "."
