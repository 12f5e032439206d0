"""The story of a flow, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable

from spinewise.explanation.choices import NO_WAY_ON, Candidate
from spinewise.explanation.explain import Move, Share, Story
from spinewise.explanation.facts import between
from spinewise.explanation.resent import Again
from spinewise.measures import units

# At most this many moves are shown one by one: if there are more, those that gained and lost most.
MOST_TOLD = 12
KILO = 1000
# Why packets go where a hash puts them.
HASHED = (
    "a hash of the header picks the same candidate for all packets of the flow as long as the candidates stay the same"
)
HASHED_ANEW = "the candidates have changed, and the hash of its header picks another one"
EXTREMES = 3
# At most this many packets sent again are shown one by one.
MOST_AGAIN = 5
# At most this many places of losses.
MOST_LOST = 8

# If the estimates of waiting cover less than this share of a flow's time, that is said.
COVERED = 0.75

# Unit and meaning, by name.
Quantities = dict[str, tuple[str, str]]


def tell(story: Story, *, everything: bool = False) -> str:
    """The whole story, as paragraphs of plain text."""
    parts = [heading(story), *delays(story), *losses(story), beginning(story), moves(story, everything=everything)]
    parts += [ways(story.shares), *uncovered(story), closing(story), legend(story)]
    return "\n\n".join(parts)


def heading(story: Story) -> str:
    """The description of the flow."""
    flow = story.flow
    lines = [f"Flow {flow['flow']} under {story.scheme}{': ' if story.about else ''}{story.about}"]
    if "size_bytes" in flow:
        whole = units.size(flow["size_bytes"]) if flow["size_bytes"] else "no given size"
        of = f" (traffic {flow['traffic']})" if flow.get("traffic") else ""
        lines.append(f"  {whole} from {between(flow)}, by {flow['transport']}{of}")
        ended = (
            f"arrived in full after {us(flow['fct_us'])}"
            if flow["finished"]
            else "had not arrived in full when the run ended"
        )
        at_best = f"; at best it would have taken {us(flow['ideal_fct_us'])}" if flow["ideal_fct_us"] else ""
        slowdown = (
            f" ({flow['fct_us'] / flow['ideal_fct_us']:.2f} times as long)"
            if flow["finished"] and flow["ideal_fct_us"]
            else ""
        )
        lines.append(f"  started at {us(flow['start_us'])}, {ended}{at_best}{slowdown}")
    return "\n".join(lines)


def delays(story: Story) -> list[str]:
    """The losses and waits, as far as the trace has them; empty if nothing was sent again."""
    end = arrived_us(story)
    before = [one for one in story.again if one.time_us <= end]
    after = [one for one in story.again if one.time_us > end]
    return [*held_up(story, before), *sent_too_late(story, after)]


def arrived_us(story: Story) -> float:
    """The time at which the flow had arrived in full; infinity if the run ended before."""
    flow = story.flow
    return float(flow["start_us"]) + float(flow["fct_us"]) if flow.get("finished") else math.inf


def held_up(story: Story, again: list[Again]) -> list[str]:
    """The waits before the flow had arrived."""
    if not again:
        return []
    flow, waits = story.flow, [one for one in again if one.timeout]
    lines = ["What held it up:"]
    silent = [one for one in waits if not one.others_went_on]
    if waits and not silent:
        lines.append(
            f"  it waited {times(len(waits))} for as long as a retransmission timeout for a packet, while others"
            " went on, and sent that packet again"
        )
    elif waits:
        whole = sum(one.silent_us for one in silent)
        of = f" of its {us(flow['fct_us'])}" if flow.get("finished") else ""
        lines.append(
            f"  for {us(whole)}{of} it was silent: {times(len(silent))} for as long as a retransmission timeout, after"
            " which it sent again what it had sent before"
        )
    else:
        lines.append(f"  it sent {packets(len(again))} again, without waiting for a timeout before one")
    return ["\n".join([*lines, *one_by_one(story, waits or again)])]


def sent_too_late(story: Story, again: list[Again]) -> list[str]:
    """The packets sent again although everything had arrived, which the sender did not know."""
    if not again:
        return []
    waits = [one for one in again if one.timeout]
    timeout = ", after a retransmission timeout" if waits else ""
    lines = [
        "What did not hold it up:",
        f"  its sender did not know that everything had arrived, and sent {packets(len(again))} again{timeout}",
    ]
    return ["\n".join([*lines, *one_by_one(story, waits or again)])]


def one_by_one(story: Story, again: list[Again]) -> list[str]:
    """A line for each of the first packets, and the number of the others."""
    start = float(story.flow.get("start_us", 0.0))
    part = "queue pair" if story.flow.get("transport") == "rdma" else "subflow"
    lines = [f"  - {one_again(one, start, part)}" for one in again[:MOST_AGAIN]]
    return [*lines, *([f"  … and {packets(len(again) - MOST_AGAIN)} more"] if len(again) > MOST_AGAIN else [])]


def one_again(one: Again, start_us: float, part: str = "subflow") -> str:
    """A packet sent again, and where the original may have been lost; `part`: what a flow may consist of."""
    of = f" of {part} {one.subflow}" if one.subflow else ""
    said = (
        f"byte {one.seq:,}{of}, sent {us(one.before_us - start_us)} after the start, went again"
        f" {us(one.time_us - one.before_us)} later"
    )
    if one.lost is not None:
        return f"{said}; it {one.lost.did()}{one.lost.cause()}{meanwhile(one, one.lost.faults)}"
    if one.acks:
        told = "; ".join(str(lost) for lost in one.acks)
        named = tuple(fault for lost in one.acks for fault in lost.faults)
        return f"{said}; it was not lost, but {told}{meanwhile(one, named)}"
    return f"{said}; neither it nor an acknowledgement was lost, so one was late{meanwhile(one, ())}"


def meanwhile(one: Again, named: Iterable[str]) -> str:
    """The faults active meanwhile, except those named."""
    others = [fault for fault in one.faults if fault not in named]
    return f"; meanwhile {', '.join(others)}" if others else ""


def losses(story: Story) -> list[str]:
    """The packets lost, and the faults active while the flow was in progress."""
    parts = []
    if story.faults:
        parts.append(f"While it was in progress: {'; '.join(story.faults)}.")
    if story.lost:
        many = len(story.lost) - MOST_LOST
        more = [f"  … and {units.counted(many, 'more place')}"] if many > 0 else []
        parts.append("\n".join(["What it lost:", *(f"  {lost}" for lost in story.lost[:MOST_LOST]), *more]))
    return parts


def beginning(story: Story) -> str:
    """The path of the first packet."""
    first = story.first
    return "\n".join(
        [
            f"At {us(first.time_us)} {first.device} put its first packet on the path {first.new.name}.",
            *reasons(first, story.quantities, hashed=story.hashed),
        ]
    )


def moves(story: Story, *, everything: bool) -> str:
    """The moves, one by one, or those that mattered most."""
    told, all_told = story.moves, len(story.moves)
    if not told:
        return "It never moved." if not story.moves_in_all else "None of its moves falls within the requested time."
    lines = []
    if not everything and all_told > MOST_TOLD:
        by_gain = sorted((move for move in told if move.gain_us is not None), key=lambda move: move.gain_us or 0.0)
        faulty = [move for move in told if move.gain_us is None and move.old][:EXTREMES]
        extremes = {id(move): move for move in [*by_gain[-EXTREMES:], *by_gain[:EXTREMES], *faulty]}
        told = sorted(extremes.values(), key=lambda move: move.time_us)
        lines.append(
            f"It moved {story.moves_in_all:,} times. Of {all_told:,} these {len(told)} gained and lost most"
            " (--all shows every move, --from and --to those within a time):"
        )
    elif all_told < story.moves_in_all:
        lines.append(f"Of its {story.moves_in_all:,} moves, these {all_told} fall within the requested time:")
    else:
        lines.append(f"It moved {times(all_told)}:")
    for move in told:
        lines += ["", *one_move(move, story.quantities, hashed=story.hashed)]
    return "\n".join(lines)


def one_move(move: Move, told: Quantities, *, hashed: bool) -> list[str]:
    """One move."""
    old = move.old.name if move.old else "nowhere"
    when = f"- {us(move.since_start_us)} after the start (at {us(move.time_us)}), with byte {move.seq:,}"
    if move.by_routes:
        return [
            f"{when}: {move.device} chose as before, but the switches moved it from the path {old} to the one"
            f" {move.new.name}",
            *by_faults(move),
            "  true: " + truth(move.new, is_best=move.new is move.best or move.new.worse_us == 0.0),
        ]
    lines = [f"{when}: {move.device} moved it from the path {old} to the one {move.new.name}"]
    lines += reasons(move, told, hashed=hashed)
    said = verdict(move)
    return [*lines, *([f"  so:   {said}"] if said else [])]


def by_faults(move: Move) -> list[str]:
    """The role of faults in a move: what failed, and which uplinks were candidates."""
    told = [*move.faults]
    if move.gone:
        told.append(
            f"{', '.join(move.gone)} {'is' if len(move.gone) == 1 else 'are'} no longer"
            f" {'a candidate' if len(move.gone) == 1 else 'candidates'}"
        )
    if move.come:
        told.append(
            f"{', '.join(move.come)} {'is' if len(move.come) == 1 else 'are'} now"
            f" {'a candidate' if len(move.come) == 1 else 'candidates'}"
        )
    return [f"  then: {'; '.join(told)}"] if told else []


def reasons(move: Move, told: Quantities, *, hashed: bool) -> list[str]:
    """The reason, what the scheme saw, and what was true."""
    lines = []
    if move.rule:
        when = f" (decided at {us(move.decided_us)})" if move.decided_us is not None else ""
        lines.append(f"  why:  {move.rule}{when}")
    elif hashed:
        lines.append(f"  why:  {HASHED if move.old is None else HASHED_ANEW}")
    lines += by_faults(move)
    if move.silent_us is not None:
        lines.append(f"        the previous packet had passed {us(move.silent_us)} earlier")
    seen = [quantities(move.saw, told)] if move.saw else []
    seen += [f"{one.name}: {quantities(one.saw, told)}" for one in different(move) if one.saw]
    lines += ["  saw:  " + seen[0], *("        " + line for line in seen[1:])] if seen else []
    # The state of the old path is unknown if switches now lead it elsewhere.
    unknown = move.old if move.gain_us is None and move.old and move.old.open and move.new.open else None
    ways = [one for one in different(move) if one is not unknown]
    shown = [truth(one, is_best=one is move.best or one.worse_us == 0.0) for one in ways]
    lines += ["  true: " + shown[0], *("        " + line for line in shown[1:])]
    return lines


def different(move: Move) -> list[Candidate]:
    """The paths that a move concerns, each once: the old, the new, the best."""
    found: list[Candidate] = []
    for one in (move.old, move.new, move.best):
        if one is not None and all(one.name != other.name for other in found):
            found.append(one)
    return found


def truth(way: Candidate, *, is_best: bool) -> str:
    """The true state of a path."""
    found = [
        f"{units.size(queued)} at {link}" + (f" ({state})" if state != "up" else "")
        for link, queued, state in zip(way.links, way.queue_bytes, way.state, strict=True)
        if queued or state != "up"
    ]
    if not way.open:
        down = [link for link, state in zip(way.links, way.state, strict=True) if state == "down"]
        why = (
            f", because {', '.join(down)} {'was' if len(down) == 1 else 'were'} down"
            if down
            else ", because a switch had no onward route"
            if NO_WAY_ON in way.name
            else ""
        )
        return f"{way.name}: nothing got through{why}"
    where = f" ({', '.join(found)} queued)" if found else " (nothing queued)"
    rank = "the best" if is_best and way.offered else f"{us(way.worse_us)} behind the best"
    if not way.offered:
        rank = f"not among the candidates{f', {us(way.worse_us)} behind the best' if way.worse_us else ''}"
    wait = f"{us(way.queueing_us)} of waiting" if way.queueing_us else "no wait"
    return f"{way.name}: {wait}{where}, {us(way.queueing_us + way.travel_us)} in all, {rank}"


def verdict(move: Move) -> str:
    """Whether a move paid off; empty for a first packet."""
    if move.old is None:
        return ""
    again = f"; {packets(move.sent_again)} sent again before the next move" if move.sent_again else ""
    if move.gain_us is None:
        if move.escaped:
            said = "it paid: nothing got through on the old path any longer"
        elif move.old.open and move.new.open:
            # Switches now lead the old choice over another path: its cost is unknown.
            return again.removeprefix("; ")
        elif move.old.open:
            said = "it cost: nothing got through on the new path"
        else:
            said = "it made no difference: nothing got through on either path"
    else:
        said = (
            f"it paid: {us(move.gain_us)} sooner than on the old path"
            if move.gain_us > 0.0
            else f"it cost {us(-move.gain_us)} compared with the old path"
            if move.gain_us < 0.0
            else "it made no difference"
        )
    if move.new.open and move.new.worse_us == 0.0:
        said += ", and no candidate was better" if (move.gain_us or 0.0) < 0.0 else ", and no path was better"
    elif move.new.open and (move.escaped or (move.gain_us or 0.0) > 0.0):
        said += f"; the best, {move.best.name}, would have been {us(move.new.worse_us)} better still"
    return said + again


def ways(shares: Iterable[Share]) -> str:
    """The share of each path, as a table."""
    lines = ["Where its packets went, and what they met there:"]
    for device in sorted({share.device for share in shares}):
        mine = [share for share in shares if share.device == device]
        whole = sum(share.packets for share in mine) or 1
        width = max(len(share.name) for share in mine)
        lines.append(f"  at {device}")
        for share in mine:
            met = f"mean wait {us(share.queueing_us)}" if share.packets else ""
            lines.append(
                f"    {share.name:<{width}}  {share.packets:>8,} packets {units.percent(share.packets / whole):>7}"
                f"  {met:<22} best for {units.percent(share.best / whole)}".rstrip()
            )
    return "\n".join(lines)


def uncovered(story: Story) -> list[str]:
    """How far the estimates of waiting fall short of what the flow took; empty if they do not."""
    flow, estimated = story.flow, story.estimated_us
    if not flow.get("finished") or estimated is None or estimated >= COVERED * flow["fct_us"]:
        return []
    return [
        f"The estimates of waiting cover {us(estimated)} of its {us(flow['fct_us'])}: they count what was queued when a"
        " packet chose, and not what was added later, such as by pauses or by packets of other priorities.\n"
        f"Where it waited: spinewise explain RUN RUN --flow {flow['flow']} (the same folder twice)"
    ]


def closing(story: Story) -> str:
    """Sums over the whole flow."""
    sums, flow = story.summary, story.flow
    decisions, moved = sums["decisions"], sums["moves"]
    lines = ["In all:"]
    where = "a hash decides where they go" if story.hashed else f"a decision was made at {decisions:,} of them"
    by_routes = f", and {sums['moves_by_routes']:,} more by switches" if sums["moves_by_routes"] else ""
    lines.append(f"  {packets(sums['packets'] or 0)}; {where}; {moved:,} move{'s' * (moved != 1)}{by_routes}")
    # If nothing got through on any path taken, there is none to compare.
    if (behind := sums["mean_regret_us"]) is not None:
        lines.append(
            f"  {units.percent(sums['decisions_that_were_best'] or 0.0)} of the decisions chose a best path;"
            f" on average the chosen path was {us(behind)} behind the best"
        )
    if sums["packets_on_dead_paths"]:
        lines.append(f"  {packets(sums['packets_on_dead_paths'])} left on a path on which nothing got through")
    if (behind := sums["mean_regret_of_packets_us"]) is not None:
        lines.append(
            f"  {units.percent(sums['packets_on_the_best'] or 0.0)} of the packets left on a path that was best at that"
            f" moment; on average {us(behind)} behind it"
        )
    if moved:
        gain = sums["mean_gain_us"]
        off = f", {sums['moves_off_dead_paths']:,} off a dead path" if sums["moves_off_dead_paths"] else ""
        mean = "" if gain is None else f"; on average one {'gained' if gain >= 0 else 'cost'} {us(abs(gain))}"
        others = " of the others" if off and mean else ""
        lines.append(
            f"  {sums['moves_that_paid']:,} of {moved:,} moves paid{off}{mean.replace(' one ', f' one{others} ')}"
        )
    if "out_of_order" in flow and flow["transport"] != "udp":
        lines.append(
            f"  {packets(flow['out_of_order'])} arrived out of order, {flow['dupack3_events']:,} times a third"
            f" duplicate acknowledgement came back, {flow['retransmits']:,} sent again"
            + (f" ({flow['spurious_retransmits']:,} for nothing)" if flow["spurious_retransmits"] else "")
            + f", {flow['timeouts']:,} timeout{'s' * (flow['timeouts'] != 1)}"
        )
    if sums["acks_that_chose"]:
        lines.append(
            f"  a path was also chosen for its acknowledgements, {times(sums['acks_that_chose'])}; these choices are"
            f" in the trace"
        )
    return "\n".join(lines)


def legend(story: Story) -> str:
    """The meanings of the terms."""
    lines = ["Terms:"]
    lines += [
        f"  {name.partition('.')[2]}: {meaning}" + (f" ({unit})" if unit else "")
        for name, (unit, meaning) in story.quantities.items()
    ]
    lines += [
        "  true: the state of the fabric when the packet chose, which the scheme could not know: the wait if the"
        " packet",
        "        had left then and nothing else had arrived, and the total with transmission and propagation; a pause",
        "        does not count",
        "  best: the candidate with the least total; mean wait: the mean of such waits, none of which is measured",
    ]
    return "\n".join(lines)


def quantities(saw: dict[str, float], told: Quantities) -> str:
    """The quantities seen, by name, with units."""

    def one(name: str, value: float) -> str:
        unit, _ = told.get(name, ("", ""))
        number = f"{value:,.0f}" if abs(value) >= KILO else f"{value:.4g}"
        shown = us(value) if unit == "µs" and value >= 0 else f"{number} {unit}".strip()
        return f"{name.partition('.')[2]} {shown}"

    return ", ".join(one(name, value) for name, value in saw.items())


def us(value: float) -> str:
    """A time given in microseconds."""
    return "0" if value == 0 else units.duration(value / 1e6)


def packets(count: float) -> str:
    """A number of packets."""
    return f"{count:,.0f} packet{'' if count == 1 else 's'}"


def times(count: float) -> str:
    """The number of times, in words."""
    return "once" if count == 1 else f"{count:,.0f} times"
