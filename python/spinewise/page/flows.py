"""The paths of traced flows over time, their waits, and the reasons for delays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spinewise.explanation import explain, story
from spinewise.explanation.choices import Choices
from spinewise.explanation.explain import Story
from spinewise.explanation.facts import FlowFacts, between, flow_facts
from spinewise.measures import units
from spinewise.measures.nodes import Nodes
from spinewise.page.charts import rounded
from spinewise.page.model import Axis, Chart, Curve, Path
from spinewise.page.packed import Block
from spinewise.runs.result import Result
from spinewise.show.style import COLOURS

MOST_PACKETS = 2_000
"""The most packets shown of a flow: all that moved or were sent again, and as many others as fit."""
MOST_LINES = 6
"""The number of links whose queues are drawn."""
MOST_POINTS = 400
"""The number of points of such a line."""
MOST_LOST = 4
"""The number of places with lost packets that are listed."""
NOTABLE = 0.02
"""The share of packets that is worth mentioning."""


def path(result: Result, flow: int, track: int, places: dict[str, int], block: Block, *, run: str = "") -> Path:
    """A flow of a run: its facts and reasons, and, if traced, its packets; `run` if no other run has it."""
    facts = flow_facts(result, flow)
    title = titled(flow, facts)
    if flow not in result.report.get("traced_flows", ()) or result.trace is None:
        return Path(flow, track, title, told(facts), tuple(reasons(facts)), run)
    choices = Choices(result.trace, flow, nodes=Nodes.of(result.spec))
    if not len(choices):
        return Path(flow, track, title, told(facts), tuple(reasons(facts)), run)
    said = explain.story(result, flow)
    shown = thinned(choices)
    ways = list(dict.fromkeys(way(choices, at) for at in range(len(choices))))
    links = [tuple(one) for one in choices.rows.column("links").take(choices.chosen[shown]).to_pylist()]
    routes = list(dict.fromkeys(links))
    return Path(
        flow=flow,
        track=track,
        title=title,
        facts=told(facts),
        why=(*reasons(facts), *seen(said, choices)),
        run=run,
        story=story.tell(said),
        ways=tuple(ways),
        times_us=block.add(choices.time[shown], "f32"),
        way=block.add([ways.index(way(choices, at)) for at in shown], "u16"),
        wait_us=block.add(choices.queueing[choices.chosen[shown]], "f32"),
        again=block.add(np.asarray(choices.again, dtype=bool)[shown], "u8"),
        route=block.add([routes.index(one) for one in links], "u16"),
        routes=tuple(tuple(places[name] for name in one if name in places) for one in routes),
        met=met(choices, shown),
        packets=len(choices),
    )


def titled(flow: int, facts: FlowFacts) -> str:
    """A flow in a line."""
    if "fct_us" not in facts:
        return f"flow {flow}"
    size = units.size(facts["size_bytes"])
    return f"flow {flow}: {facts['traffic']}, {size}, {between(facts)}"


def way(choices: Choices, at: int) -> str:
    """The path of a packet, and the device that chose it."""
    return f"{choices.device[at]}: {choices.names[int(choices.chosen[at])]}"


def thinned(choices: Choices) -> npt.NDArray[np.int64]:
    """The choices that are shown."""
    count = len(choices)
    if count <= MOST_PACKETS:
        return np.arange(count)
    moved = choices.moves()
    kept = np.concatenate([moved, moved - 1, np.flatnonzero(choices.again)]).clip(0)[: MOST_PACKETS // 2]
    return np.unique(np.concatenate([kept, np.linspace(0, count - 1, MOST_PACKETS // 2).astype(int)]))


def met(choices: Choices, shown: npt.NDArray[np.int64]) -> Chart:
    """The queues that its packets found on the links of their paths, those that were longest."""
    rows = choices.rows.take(choices.chosen[shown])
    links, queues = rows.column("links").to_pylist(), rows.column("queue_bytes").to_pylist()
    of_link: dict[str, list[tuple[float, float]]] = {}
    for time, names, sizes in zip(choices.time[shown], links, queues, strict=True):
        for name, size in zip(names, sizes, strict=True):
            of_link.setdefault(name, []).append((float(time), size / 1e3))
    worst = sorted(of_link, key=lambda name: -max(size for _, size in of_link[name]))[:MOST_LINES]
    curves = tuple(
        Curve(
            label=name,
            colour=COLOURS[place % len(COLOURS)],
            dash="solid",
            symbol="none",
            x=rounded([time for time, _ in extremes(of_link[name])]),
            y=rounded([size for _, size in extremes(of_link[name])]),
        )
        for place, name in enumerate(worst)
    )
    left = len(of_link) - len(worst)
    title = "Queues that its packets found on their paths" + (f", the longest {MOST_LINES}" if left > 0 else "")
    return Chart(title, Axis("time [µs]", "near"), Axis("queued [kB]"), curves)


def extremes(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """A line of at most `MOST_POINTS` points: the minimum and maximum of each stretch are kept, in order."""
    if len(points) <= MOST_POINTS:
        return points
    made = []
    for stretch in np.array_split(np.arange(len(points)), MOST_POINTS // 2):
        own = [points[at] for at in stretch]
        made += sorted({min(own, key=lambda point: point[1]), max(own, key=lambda point: point[1])})
    return made


def told(facts: FlowFacts) -> tuple[tuple[str, str], ...]:
    """Facts of a flow, name and value."""
    if "fct_us" not in facts:
        return ()
    found = [
        ("completion time", units.duration(facts["fct_us"] / 1e6) if facts["finished"] else "not finished"),
        ("ideal", units.duration(facts["ideal_fct_us"] / 1e6) if facts["ideal_fct_us"] else units.NOTHING),
        ("started at", units.duration(facts["start_us"] / 1e6)),
        ("packets", f"{facts['packets']:,}"),
        ("sent again", f"{facts['retransmits']:,}"),
        ("timeouts", f"{facts['timeouts']:,}"),
        ("out of order", f"{facts['out_of_order']:,}"),
        ("marked", f"{facts['marks']:,}"),
    ]
    return tuple(found)


def reasons(facts: FlowFacts) -> list[str]:
    """The reasons in the table of flows why a flow took so long."""
    if "fct_us" not in facts:
        return ["The run keeps no table of flows."]
    took, ideal, packets = facts["fct_us"], facts["ideal_fct_us"], max(facts["packets"], 1)
    lines = []
    if not facts["finished"]:
        lines.append("It had not finished when the run ended.")
    elif ideal:
        best = units.duration(ideal / 1e6)
        lines.append(f"It took {units.duration(took / 1e6)}, {took / ideal:.2f} times its ideal of {best}.")
    if facts["timeouts"]:
        lines.append(f"It waited for {units.counted(facts['timeouts'], 'retransmission timeout')}.")
    if facts["retransmits"]:
        spare = facts["spurious_retransmits"]
        for_nothing = f", {spare:,} of them for nothing" if spare else ""
        lines.append(f"It sent {units.counted(facts['retransmits'], 'packet')} again{for_nothing}.")
    if facts["marks"] > NOTABLE * packets:
        lines.append(f"{units.percent(facts['marks'] / packets)} of its packets were marked, which slows the sender.")
    if facts["out_of_order"] > NOTABLE * packets:
        lines.append(f"{units.percent(facts['out_of_order'] / packets)} of its packets arrived out of order.")
    return lines


def seen(said: Story, choices: Choices) -> list[str]:
    """The reasons in a flow's trace why it took so long."""
    lines = []
    silent = [one for one in said.again if one.timeout]
    if silent:
        whole = sum(one.silent_us for one in silent)
        lines.append(f"It was silent for {units.duration(whole / 1e6)} before its retransmissions.")
    lines += [f"{lost}." for lost in (said.lost or ())[:MOST_LOST]]
    if said.faults:
        lines.append(f"While it was in progress: {'; '.join(said.faults)}.")
    if said.summary["packets_on_dead_paths"]:
        dead = units.counted(int(said.summary["packets_on_dead_paths"]), "packet")
        lines.append(f"{dead} left on a path on which nothing got through.")
    waits = choices.queueing[choices.chosen]
    lines.append(
        f"When its packets chose, {units.duration(float(waits.mean()) / 1e6)} of waiting lay ahead of them on average,"
        f" {units.duration(float(waits.max()) / 1e6)} at most."
    )
    sums = said.summary
    best = sums["packets_on_the_best"]
    if best is not None and best < 1.0:
        lines.append(
            f"{units.percent(best)} of its packets left on a path that was best at that moment; on average"
            f" {units.duration((sums['mean_regret_of_packets_us'] or 0.0) / 1e6)} was lost against the best."
        )
    if sums["moves"]:
        off = f", {sums['moves_off_dead_paths']:,} of them off a dead path" if sums["moves_off_dead_paths"] else ""
        paid = f"{sums['moves_that_paid']:,} of these changes paid{off}"
        lines.append(f"It changed its path {units.counted(int(sums['moves']), 'time')}; {paid}.")
    if sums["moves_by_routes"]:
        many = units.counted(int(sums["moves_by_routes"]), "time")
        lines.append(f"Switches moved it to another path {many}, as their routes had changed.")
    if not said.moves_in_all:
        lines.append("It never changed its path.")
    return lines
