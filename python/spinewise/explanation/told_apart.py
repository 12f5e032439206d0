"""The difference between two runs, in words: the answer in a sentence, then what it rests on."""

from __future__ import annotations

import math
import shlex

from spinewise.comparison.side_by_side import short
from spinewise.explanation import parts
from spinewise.explanation.differ import Both, Difference, Pair, Part
from spinewise.explanation.parts import ELSEWHERE, UNKNOWN
from spinewise.explanation.story import us
from spinewise.measures import units

HARDLY = 0.05
"""The relative difference of a percentile below which chance may well be all there is."""
UNFINISHED = 0.01
"""The share of flows that finished in one run alone from which percentiles of the two do not compare."""
COUNTS_FOR = 0.15
"""The share of a difference from which a part of it is named in the answer."""
MOSTLY = 0.5
"""The share of a difference from which parts are most of it."""
MOST_NAMED = 2
"""The number of parts named in the answer."""
MOST_FLOWS = 8
"""The number of flows listed."""
MOST_PLACES = 3
"""The number of links or fates told of a part."""
MOST_COUNTS = 4
"""The number of counts told of a flow."""
FIRST = ("scheme.name", "transport.kind")
"""The keys that are told first if they differ."""
MOST_KEYS = 5
"""The number of differing keys told."""
FEW = 5
"""The number of flows in a tail below which a percentile rests on little."""
LESS_OF = 0.01
"""The share of the longer mean time below which a part is not listed."""
BECAUSE = {
    parts.TIMERS: ("flows waited longer for retransmission timers", "flows waited less for retransmission timers"),
    parts.RESENT: (
        "it took longer until lost or late packets were sent again",
        "it took less time until lost or late packets were sent again",
    ),
    parts.QUEUES: ("data waited longer in queues", "data waited less in queues"),
    parts.ACKS: ("acknowledgements waited longer in queues", "acknowledgements waited less in queues"),
    parts.OWN: (
        "the senders' ports were busier with earlier packets of the same flows",
        "the senders' ports were less busy with earlier packets of the same flows",
    ),
    parts.OTHERS: (
        "the senders' ports were busier with their other flows",
        "the senders' ports were less busy with their other flows",
    ),
    parts.HELD: (
        "senders held packets back for longer",
        "senders held packets back for less time",
    ),
    parts.RECEIVER: ("receivers answered later", "receivers answered sooner"),
}
"""Why times are longer, and why they are shorter."""
TRIPS = ("flows needed more round trips, one after the other", "flows needed fewer round trips, one after the other")
PATHS = (
    "crossing the network took longer even without waiting",
    "crossing the network took less time even without waiting",
)
UNDER_WAY = (
    "packets and acknowledgements were under way for longer, without waiting",
    "packets and acknowledgements were under way for less time, without waiting",
)
RATES = (
    "their rates or pauses held senders back for longer",
    "their rates or pauses held senders back for less time",
)
BRIEF = {
    parts.TIMERS: "retransmission timers",
    parts.RESENT: "until sent again",
    parts.QUEUES: "data in queues",
    parts.ACKS: "acknowledgements in queues",
    parts.TRAVEL: "under way",
    parts.OWN: "own packets first",
    parts.OTHERS: "other flows of its host",
    parts.HELD: "held back by the sender",
    parts.RECEIVER: "receiver",
}
"""The parts in a list of flows."""
COUNTED = {
    "timeouts": "timeouts",
    "retransmits": "packets sent again",
    "spurious_retransmits": "of them for nothing",
    "out_of_order": "out of order",
    "marks": "marks",
    "path_changes": "path changes by the host",
    "nacks": "NACKs",
    "cnps": "CNPs",
    "packets": "packets",
}


def tell(found: Difference) -> str:
    """The difference, as paragraphs of plain text."""
    told = [answer(found), setting(found), *table(found)]
    if not found.same:
        told += [*met(found), *listed(found), notes(found)]
    return "\n\n".join(one for one in told if one)


def shown(found: Difference, value: float) -> str:
    """A time, or a slowdown."""
    return us(value) if found.asked.measure == "fct" else f"{units.digits(value, 3)}"


def change(found: Difference, value: float) -> str:
    """A difference, with its sign."""
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{shown(found, abs(value))}"


def of_what(found: Difference) -> str:
    """What the percentile is of."""
    asked = found.asked
    what = "completion time" if asked.measure == "fct" else "slowdown"
    flows = [asked.size_class] if asked.size_class else []
    whose = f" of {' '.join([*flows, 'flows'])}" if flows or asked.entry else ""
    entry = f" of {asked.entry}" if asked.entry else " of all entries together" if len(found.entries) > 1 else ""
    return f"The {asked.name} of {what}{whose}{entry}"


def answer(found: Difference) -> str:
    """One sentence: how much it differs, and mostly why."""
    (a, b), flow = found.sides, found.asked.flow
    if found.same and (flow is None or a.folder != b.folder):
        return f"Nothing differs: {a.label} and {b.label} have the same outcome, bit for bit."
    if found.same:
        return f"Flow {flow} {f'took {shown(found, a.value)}' if a.finished else 'had not finished'}."
    missing = [side for side in found.sides if not side.finished]
    if missing:
        whose = f"Flow {flow} had not finished" if flow is not None else "No such flow had finished"
        return f"{whose} in {' and in '.join(side.label for side in missing)}, so there is nothing to compare."
    one, two = shown(found, a.value), shown(found, b.value)
    subject, verb = (of_what(found), "is") if flow is None else (f"Flow {flow}", "took")
    if a.value == b.value:
        return f"{subject} {verb} {one} in both runs."
    more = "more" if b.value > a.value else "less"
    ratio = abs(b.value / a.value - 1.0)
    many = f"{b.value / a.value:.2g} times as much" if ratio >= 1.0 else f"{units.percent(ratio)} {more}"
    begun = f"{subject} {verb} {one} in {a.label} and {two} in {b.label}, {many}"
    return begun + because(found, b.value - a.value, ratio)


def because(found: Difference, difference: float, ratio: float) -> str:
    """The main parts of the difference; or why none can be named."""
    flow, mean = found.asked.flow, found.mean_examined
    left = [side for side in found.sides if len(side.only) > UNFINISHED * side.finished]
    if left:
        alone = " and ".join(f"{units.counted(len(side.only), 'flow')} finished in {side.label} alone" for side in left)
        return f". The two do not compare: {alone}, and a percentile leaves out what had not finished."
    if not found.examined or not math.isfinite(mean):
        return "."
    if flow is None and ratio < HARDLY:
        return ". A difference of this size may be chance."
    if mean * difference <= 0.0:
        took = f"{shown(found, abs(mean))} {'more' if mean > 0 else 'less'} on average" if mean else "as long in both"
        whose = "those in either tail" if found.examined >= found.flows else "those examined of either tail"
        return f". The same flows do not show why: {whose} took {took}."
    main = [part for part in found.parts if part.share >= COUNTS_FOR]
    # A flow sends the same bytes in both runs: how many of them back to back follows from the other parts.
    named = ([part for part in main if part.name != parts.OWN] or main)[:MOST_NAMED]
    if not named:
        return "."
    told = [f"{reason(found, part)} ({out_of(found, part)}){mostly(found, part)}" for part in named]
    much = "mostly" if sum(part.share for part in named) >= MOSTLY else "in part"
    return f", {much} because {', and '.join(told)}."


def out_of(found: Difference, part: Part) -> str:
    """How much of the whole difference a part makes."""
    more, whole = change(found, part.more), change(found, found.mean_examined)
    each = "" if found.asked.flow is not None else " a flow"
    # Other parts may differ in the other direction: then one alone is more than the whole difference.
    if part.share > 1.0 and more != whole:
        return f"{more}{each}, partly offset elsewhere; in all {whole}"
    return f"{more} of {whole}{each}"


def reason(found: Difference, part: Part) -> str:
    """Why times are longer or shorter."""
    less = part.more < 0.0
    if part.name == parts.TRAVEL:
        if not by_paths(found):
            return TRIPS[less]
        return (PATHS if found.exact == found.examined else UNDER_WAY)[less]
    if part.name == parts.HELD and all(side.transport == "rdma" for side in found.sides):
        return RATES[less]
    return BECAUSE[part.name][less]


def mostly(found: Difference, part: Part) -> str:
    """The place where most of a part of the difference arises; empty if there is none."""
    place = part.places[0] if part.places else None
    if place is None or place.name in {ELSEWHERE, UNKNOWN} or place.more * part.more < MOSTLY * part.more**2:
        return ""
    if part.name == parts.TRAVEL or reason(found, part) in RATES:
        return ""
    if part.name in {parts.QUEUES, parts.ACKS}:
        where = f"{'' if place.name.startswith('behind') else 'at '}{place.name}"
    else:
        where = f"{'those' if part.name == parts.RESENT else 'of packets'} that {place.name}"
    return f", mostly {where}"


def by_paths(found: Difference) -> bool:
    """Whether times under way differ by the paths of packets more than by their number."""
    trips, paths = (abs(math.log(one.b / one.a)) for one in (found.crossings, found.crossing_us))
    return paths > trips


def setting(found: Difference) -> str:
    """What differs in the specs, and whose flows are compared."""
    a, b = found.sides
    lines = []
    if found.differing:
        order = sorted(found.differing, key=lambda key: key not in FIRST)
        keys = [f"{key} ({' and '.join(map(given, found.differing[key]))})" for key in order]
        more = f" and {units.counted(len(keys) - MOST_KEYS, 'more key')}" if len(keys) > MOST_KEYS else ""
        lines.append(f"The flows are the same; the specs differ in {', '.join(keys[:MOST_KEYS])}{more}.")
    else:
        lines.append("The flows are the same, and so are the specs.")
    if found.same and a.folder == b.folder:
        return ""
    if found.same or found.asked.flow is not None:
        return lines[0]
    if found.flows:
        more = f"{shown(found, abs(found.mean))} {'more' if found.mean > 0 else 'less'} in {b.label} on average"
        mean = f"took {more if found.mean else 'as long in both'}"
        tails = f"{a.tail}" if a.tail == b.tail else f"{a.tail} and {b.tail}"
        lines.append(
            f"Of {units.counted(a.finished, 'flow')}, {tails} in each run took as long as its {found.asked.name} or"
            f" longer; {found.shared or 'none'} of them in both. Those in either tail, {found.flows} together, {mean}:"
            f" {found.longer} took longer, {found.shorter} took less time."
        )
    left = [f"{units.counted(side.unfinished, 'flow')} in {side.label}" for side in found.sides if side.unfinished]
    if left:
        lines.append(f"No percentile has the flows that had not finished: {' and '.join(left)}.")
    lines += [f"{some(side.only)} finished in {side.label} alone." for side in found.sides if side.only]
    return "\n".join(lines)


def given(value: object) -> str:
    """A value of a key; a dash if a spec does not have the key."""
    return units.NOTHING if value is None else short(value)


def some(flows: list[int]) -> str:
    """Flows by number: the first ones, and how many more there are."""
    more = f" and {len(flows) - MOST_FLOWS} more" if len(flows) > MOST_FLOWS else ""
    return f"Flow{'s' * (len(flows) != 1)} {', '.join(map(str, flows[:MOST_FLOWS]))}{more}"


def table(found: Difference) -> list[str]:
    """What the time of the examined flows was spent on."""
    if found.unexamined:
        return [f"What the time was spent on is not known: {found.unexamined}."]
    if not found.examined:
        return []
    a, b = found.sides
    total = Part("", "in all", total_of(found, "a"), total_of(found, "b"), 1.0, [])
    most = max(total.a, total.b)
    unit, size = units.time_unit([most / 1e6]) if found.asked.measure == "fct" else ("multiples of their ideals", 1e-6)

    def cells(words: str, one: float, two: float) -> list[str]:
        numbers = [units.digits(value / 1e6 / size, 3) for value in (one, two, abs(two - one))]
        if found.same:
            return [words, numbers[0]]
        return [words, *numbers[:2], f"{'+' if two > one else '−' if two < one else ''}{numbers[2]}"]

    rows = [] if found.same else [["", a.label, b.label, "difference"]]
    for part in [*(one for one in found.parts if max(one.a, one.b) >= LESS_OF * most), total]:
        rows.append(cells(part.words, part.a, part.b))
        rows += [[travel(found)]] if part.name == parts.TRAVEL else []
        rows += [cells(f"  {one.name}", one.a, one.b) for one in places(found, part, LESS_OF * most)]
    widths = [max(len(row[at]) for row in rows if row[1:]) for at in range(1, len(rows[-1]))]
    room = max(len(row[0]) for row in rows if any(row[1:]))
    lines = [
        "  ".join(
            [f"  {row[0]:<{room}}", *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths, strict=bool(row[1:])))]
        )
        for row in rows
    ]
    return ["\n".join([f"{whose(found)}, {unit}:", *(line.rstrip() for line in lines)])]


def whose(found: Difference) -> str:
    """The heading of the table."""
    if found.asked.flow is not None:
        return "What it waited for, one thing after the other"
    if found.examined == found.flows:
        these = "this flow" if found.flows == 1 else f"these {found.flows} flows"
        return f"What {these} waited for, one thing after the other, on average"
    return (
        f"What {found.examined} of these flows waited for, one thing after the other, on average (the nearest to the"
        " percentiles, without the largest)"
    )


def places(found: Difference, part: Part, least: float) -> list[Both]:
    """The places of a part that are worth telling."""
    if part.name == parts.TRAVEL and (found.traced < found.examined or not by_paths(found)):
        return []
    known = [place for place in part.places if max(place.a, place.b) >= least / 2.0]
    return [] if [place.name for place in known] == [ELSEWHERE] else known[:MOST_PLACES]


def travel(found: Difference) -> str:
    """Of how many crossings the time under way consists."""
    one, two = found.crossings, found.crossing_us
    if found.same:
        return f"    {units.digits(one.a, 3)} crossings of the network, of {us(two.a)} each"
    return (
        f"    {units.digits(one.a, 3)} and {units.digits(one.b, 3)} crossings of the network, of {us(two.a)} and"
        f" {us(two.b)} each"
    )


def total_of(found: Difference, side: str) -> float:
    """The sum of the parts."""
    return float(sum(getattr(part, side) for part in found.parts))


def met(found: Difference) -> list[str]:
    """What the flows met, from the tables of flows."""
    if not found.flows:
        return []
    told = [f"{COUNTED[one.name]} {number(one.a)} and {number(one.b)}" for one in found.counts if one.a != one.b]
    a, b = found.sides
    begun = f"What {'they' if found.asked.flow is None else 'it'} met in {a.label} and in {b.label}"
    mean = ", on average" if found.asked.flow is None else ""
    return [f"{begun}{mean}: {', '.join(told)}."] if told else []


def number(count: float) -> str:
    """A count, or a mean of counts."""
    return f"{count:,.0f}" if count == int(count) else units.digits(count, 3)


def listed(found: Difference) -> list[str]:
    """The flows that differ most."""
    if not found.pairs or found.asked.flow is not None:
        return []
    a, b = found.sides
    lines = [line(pair) for pair in found.pairs[:MOST_FLOWS]]
    more = len(found.pairs) - MOST_FLOWS
    lines += [f"  … and {more} more"] if more > 0 else []
    return ["\n".join([f"The flows that differ most, {a.label} → {b.label}:", *lines])]


def line(pair: Pair) -> str:
    """A flow in a line."""
    met = [
        f"{COUNTED[name]} {one:,} → {two:,}"
        for name, (one, two) in pair.counts.items()
        if one != two and name != "packets"
    ]
    most = ""
    if pair.most is not None:
        part, more = pair.most
        much = "mostly" if abs(more) >= MOSTLY * abs(pair.b_us - pair.a_us) else "most:"
        most = f"; {much} {BRIEF[part]}, {signed(more)}"
    tails = " and ".join(pair.in_tails)
    src, dst = pair.src_name or f"host {pair.src}", pair.dst_name or f"host {pair.dst}"
    return (
        f"  {pair.flow:>6}  {us(pair.a_us)} → {us(pair.b_us)}{most}; {units.size(pair.size_bytes)} from {src} to {dst};"
        f" in the tail of {tails}{''.join(f', {one}' for one in met[:MOST_COUNTS])}"
    )


def signed(value: float) -> str:
    """A difference in µs, with its sign."""
    return f"{'+' if value > 0 else '−'}{us(abs(value))}"


def notes(found: Difference) -> str:
    """How far the answer carries, and what to ask next."""
    a, b = found.sides
    told = []
    if found.asked.flow is None and found.asked.entry is None and len(found.entries) > 1:
        told.append(f"--entry NAME tells one entry alone: {' or '.join(found.entries)}.")
    if found.other_ideals:
        told.append(f"The ideals of {units.counted(found.other_ideals, 'flow')} are others in {b.label}.")
    if found.asked.flow is None and 0 < min(a.tail, b.tail) < FEW:
        told.append(f"The {found.asked.name} rests on few flows; a lower --percentile looks at more.")
    if found.examined and found.traced < found.examined:
        told.append(
            f"Links are known for {found.traced} of the {found.examined} flows: others sent too many packets, and"
            " --flow N follows one of them."
        )
    if found.exact < found.examined:
        these = "this flow" if found.examined == 1 else f"{found.examined - found.exact} of the {found.examined} flows"
        told.append(
            f"Not all paths of {these} are known: packets are taken to have been under way for as long as on the"
            " fastest path, and the rest is told as waiting."
        )
    if found.asked.flow is None:
        told.append("Each is one run: `spinewise compare` repeats over seeds and says how sure a difference is.")
    if found.pairs:
        flow = found.pairs[0].flow
        alone = f"One flow in both runs: spinewise explain {shlex.join([a.folder, b.folder])} --flow {flow}"
        paths = "\n".join(f"spinewise explain {shlex.quote(side.folder)} --flow {flow}" for side in found.sides)
        told.append(f"{alone}" if found.asked.flow is None else f"How its packets chose their paths:\n{paths}")
    return "\n".join(told)
