"""Links over time, to be played: the fabric as drawn, and quantities of every link frame by frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from spinewise import core
from spinewise.figures.topology import TIERS, positions
from spinewise.measures.nodes import HOST, Nodes
from spinewise.measures.tables import numbers
from spinewise.page import flows
from spinewise.page.again import FRAMES, Sampled, slowest
from spinewise.page.model import Fabric, Fault, Link, Node, Path, Quantity, Replay, Track
from spinewise.page.packed import Block, Ref
from spinewise.replies import FabricFault
from spinewise.runs.result import Result

MOST_VALUES = 1_600_000
"""Links times frames times runs of a quantity; with more of them, there are fewer frames."""
FEWEST_FRAMES = 60
MOST_LINKS = 24_000
"""The number of links above which those to and from hosts are left out."""
MOST_LINES = 600
"""Links between switches that are drawn as lines."""
LEVELS = 255
Drawn = Literal["lines", "cells"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """A series of links in a replay.

    Attributes:
        series: its name in a run.
        name, title, unit: as in `Quantity`.
        joined: how intervals become a frame.
        power: see `Quantity`.
        most: the value of a full link; None: the greatest value found.
    """

    series: str
    name: str
    title: str
    unit: Literal["share", "bytes", "packets"]
    joined: Literal["mean", "max", "sum"]
    power: float = 1.0
    most: float | None = None


SERIES = (
    Series("link_utilisation", "use", "share of the time in use", "share", "mean", most=1.0),
    Series("link_queue_bytes", "queue", "bytes queued at the end of an interval", "bytes", "max", power=2.0),
    Series("link_marks", "marks", "packets marked", "packets", "sum", power=2.0),
    Series("link_drops", "drops", "packets dropped", "packets", "sum", power=2.0),
    Series("link_paused", "paused", "share of the time paused", "share", "mean", most=1.0),
)


@dataclass(frozen=True)
class Clock:
    """The frames of a replay: the number of samples in one, and the number of frames."""

    interval_us: float
    step: int
    frames: int

    @property
    def frame_us(self) -> float:
        """The duration of a frame."""
        return self.interval_us * self.step

    @classmethod
    def of(cls, runs: Sequence[Sampled], links: int) -> Clock:
        """One clock for all these runs, which have the same sampling."""
        interval = runs[0].interval_us
        samples = max(math.ceil(one.until_us / interval) for one in runs)
        most = max(FEWEST_FRAMES, min(2 * FRAMES, MOST_VALUES // max(links * len(runs), 1)))
        step = math.ceil(samples / most)
        return cls(interval, step, math.ceil(samples / step))


def replay(runs: Sequence[Sampled], colours: Sequence[str], block: Block) -> Replay:
    """The runs on one clock; they have one fabric."""
    fabric = fabric_of(runs[0].result)
    clock = Clock.of(runs, len(fabric.links))
    places = {link.name: place for place, link in enumerate(fabric.links)}
    shown = [replace(one, most=one.most or greatest(runs, one, clock)) for one in SERIES if greatest(runs, one, clock)]
    tracks = tuple(
        Track(
            label=run.label,
            colour=colour,
            frames=clock.frames,
            quantities=tuple(quantity(run.result, one, places, clock, block) for one in shown),
            goodput=goodput(run.result, clock, block),
            faults=tuple(fault(one, places, clock) for one in core.topology(run.result.spec)["faults"]),
        )
        for run, colour in zip(runs, colours, strict=True)
    )
    paths = picked(runs, places, block)
    title = " beside ".join(run.label for run in runs)
    drawn = how_drawn(fabric)
    return Replay(title, fabric, clock.frame_us, tracks, paths, drawn, note(runs, fabric, clock, drawn))


def how_drawn(fabric: Fabric) -> Drawn:
    """Draw as lines, if there are few enough to distinguish, and to draw sixty times a second."""
    between = len(between_switches(fabric))
    return "lines" if between <= MOST_LINES else "cells"


def between_switches(fabric: Fabric) -> list[Link]:
    """The links of a drawn fabric that join two switches."""
    return [link for link in fabric.links if not touches_host(fabric, link)]


def touches_host(fabric: Fabric, link: Link) -> bool:
    """Whether a link of a drawn fabric leads to a host or from one."""
    return HOST in (fabric.nodes[link.begin].tier, fabric.nodes[link.end].tier)


def picked(runs: Sequence[Sampled], places: dict[str, int], block: Block) -> tuple[Path, ...]:
    """The slowest flows of every run, each in all of them, or, if they carry different traffic, only in its own run."""
    if len({run.result.report["traffic_hash"] for run in runs}) > 1:
        return tuple(
            flows.path(run.result, flow, track, places, block, run=run.label)
            for track, run in enumerate(runs)
            for flow in slowest(run.result)
        )
    wanted = list(dict.fromkeys(flow for run in runs for flow in slowest(run.result)))
    return tuple(
        flows.path(run.result, flow, track, places, block) for flow in wanted for track, run in enumerate(runs)
    )


SHOWN_AS: dict[Drawn, str] = {
    "lines": "Each cable has two lines, one per direction.",
    "cells": "Each column is a switch, each cell a link of it; tiers stand above each other, with hosts at the bottom.",
}


def note(runs: Sequence[Sampled], fabric: Fabric, clock: Clock, drawn: Drawn) -> str:
    """A note with what a reader must know."""
    text = f"A frame lasts {clock.frame_us:g} µs. {SHOWN_AS[drawn]}"
    between = between_switches(fabric)
    if drawn == "lines" and any(link.slow or not link.up for link in between):
        text += " Dashed: a link that is slower than its tier, or down, for the whole run."
    if any(run.result.spec.get("fault") for run in runs):
        text += " Orange: links under a fault; in the heat map, when a fault is active."
    beyond = [run for run in runs if run.result.report["stop_ps"] / 1e6 > clock.frames * clock.frame_us]
    if beyond:
        end = clock.frames * clock.frame_us
        text += f" The replay ends at {end:,.0f} µs, when 99 in 100 flows have arrived; the runs continue."
    if not any(touches_host(fabric, link) for link in fabric.links):
        text += " Links to hosts are left out."
    return text


def fabric_of(result: Result) -> Fabric:
    """The fabric of a run, with places."""
    told = core.topology(result.spec)
    placed = positions(told["nodes"])
    present = [name for name in TIERS if any(node["tier"] == name for node in told["nodes"])]
    nodes = tuple(
        Node(str(node["name"]), node["tier"], round(placed[str(node["name"])][0], 5), present.index(node["tier"]))
        for node in told["nodes"]
    )
    number = {node.name: place for place, node in enumerate(nodes)}
    many = len(told["links"]) > MOST_LINKS
    kinds, called = {node.name: node.tier for node in nodes}, Nodes.of(result.spec)
    wanted = [link for link in told["links"] if not (many and HOST in (kinds[link["from"]], kinds[link["to"]]))]
    tiers = list(dict.fromkeys(called.tier(link["name"]) for link in wanted))
    return Fabric(
        nodes,
        tuple(
            Link(
                name=str(link["name"]),
                begin=number[link["from"]],
                end=number[link["to"]],
                rate_bps=float(link["rate_bps"]),
                tier=tiers.index(called.tier(link["name"])),
                slow=bool(link["slow"]),
                up=bool(link["up"]),
            )
            for link in wanted
        ),
        tuple(tiers),
    )


def rows(result: Result, series: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
    """Times (ps), entities and values of a series; empty if the run has none."""
    known = result.report["series_names"]
    if series not in known:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0)
    mine = numbers(result.series, "series") == known.index(series)
    return (
        numbers(result.series, "time_ps")[mine].astype(np.int64),
        numbers(result.series, "entity")[mine].astype(np.int64),
        numbers(result.series, "value")[mine].astype(np.float64),
    )


def greatest(runs: Sequence[Sampled], one: Series, clock: Clock) -> float:
    """The greatest value of a series in any run, in one sample or, for sums, the approximate one in a frame."""
    most = max(float(rows(run.result, one.series)[2].max(initial=0.0)) for run in runs)
    return most * (clock.step if one.joined == "sum" else 1)


def quantity(result: Result, one: Series, places: dict[str, int], clock: Clock, block: Block) -> Quantity:
    """A series of a run as bytes, link by link."""
    time, entity, value = rows(result, one.series)
    link = np.array([places.get(name, -1) for name in result.report["entity_names"]], dtype=np.int64)[entity]
    frame = frames(time, clock)
    inside = (link >= 0) & (frame < clock.frames)
    link, frame, value = link[inside], frame[inside], value[inside]
    grid = np.zeros((len(places), clock.frames))
    if one.joined == "max":
        np.maximum.at(grid, (link, frame), value)
    else:
        np.add.at(grid, (link, frame), value)
        grid /= clock.step if one.joined == "mean" else 1
    most = one.most or 1.0
    levels = np.clip(np.ceil(LEVELS * (np.clip(grid, 0.0, most) / most) ** (1.0 / one.power) - 1e-9), 0, LEVELS)
    return Quantity(one.name, one.title, one.unit, most, one.power, block.add(levels.ravel(), "u8"))


def frames(time_ps: npt.NDArray[np.int64], clock: Clock) -> npt.NDArray[np.int64]:
    """The frame of each sample; times are ends of intervals."""
    interval = max(round(clock.interval_us * 1e6), 1)
    found: npt.NDArray[np.int64] = (-(-time_ps // interval) - 1).clip(0) // clock.step
    return found


def goodput(result: Result, clock: Clock, block: Block) -> Ref | None:
    """Payload received by all hosts, bit/s by frame."""
    time, _, value = rows(result, "received_bytes")
    if not len(time):
        return None
    frame = frames(time, clock)
    inside = frame < clock.frames
    received = np.bincount(frame[inside], value[inside], minlength=clock.frames)
    return block.add(8e6 * received / clock.frame_us, "f32")


def fault(found: FabricFault, places: dict[str, int], clock: Clock) -> Fault:
    """A fault with its words, links and times."""
    end = clock.frames * clock.frame_us
    where = found["switch"] or ", ".join(found["links"][:1])
    spans = tuple(
        (round((begin or 0) / 1e6, 3), round(end if until is None else min(until / 1e6, end), 3))
        for begin, until in found["intervals"]
        if (begin or 0) / 1e6 < end
    )
    kind = str(found["kind"]).replace("_", " ")
    return Fault(f"{kind}: {where}", tuple(places[name] for name in found["links"] if name in places), spans)
