"""The output and files of ``resilience SPEC.toml``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from spinewise import core
from spinewise.comparison.tables import plus_minus
from spinewise.measures import stats, units
from spinewise.measures.plain import plain
from spinewise.measures.summary import ALL
from spinewise.resilience.measures import SHARE
from spinewise.resilience.own import Outcome, Plan, Study
from spinewise.resilience.own_faults import Single, hurt, singles
from spinewise.resilience.show import at_least, fixed, slower
from spinewise.resilience.stored import Bars, Lost, Rows, Stored, shares, subtitle
from spinewise.runs import formats
from spinewise.show import terminal
from spinewise.show.terminal import Grid, new_table
from spinewise.specs.spec import spec_hash
from spinewise.specs.variants import differing
from spinewise.writing import write_json

NO_TRAFFIC = "no traffic"
UNSEEN = "not seen"
ALIKE = 0.8
"""The share of the longest period from which periods of comparison count as equal."""
BELOW_ZERO = -0.0005
"""The share of goodput lost from which it is shown as negative."""


def report(study: Study) -> RenderableType:
    """The output of ``spinewise resilience SPEC.toml``."""
    return Group(*tables(study), Text("\n".join(notes(study))))


def tables(study: Study) -> list[Grid]:
    """The tables, in order."""
    # Rounds are the purpose of their traffic: they come first.
    rounds = [round_table(study)] if study.round_entries else []
    faults = singles(study.plan)
    return [*rounds, goodput_table(study), *([fault_table(study, faults)] if faults else []), tail_table(study)]


def stored(study: Study) -> Stored:
    """The tables, kept for pages."""
    lost = Lost.means("all faults of the spec", {one: study.interval(one, "goodput_lost") for one in study.labels})
    return Stored(
        title=f"{study.plan.spec.get('name', 'a spec')}: what its faults cost",
        subtitle=subtitle(study.labels, len(study.plan.seeds)),
        lost=[] if study.round_entries and compares_poorly(with_traffic(study)) else [lost],
        tables=[Rows.of(one) for one in tables(study)],
        notes=notes(study),
        rounds=[one for entry in study.round_entries for one in round_bars(study, entry)],
    )


def fault_table(study: Study, faults: Sequence[Single]) -> Grid:
    """The table of each fault: what was lost in its time and on its links, and how its flows fared."""
    made = new_table(
        "Each fault: in its own time, on its own links",
        ["fault", "scheme"],
        ["goodput lost [%]", "gone", "p99 vs none", "twice as long [%]"],
    )
    for fault in faults:
        end = "the end" if math.isinf(fault.end_us) else instant(fault.end_us)
        title = f"{fault.what}, {instant(fault.begin_us)} to {end}{'' if fault.alone else ' *'}"
        for label in study.labels:
            found = hurt(study, label, fault)
            gone = stats.t_interval([one.gone for one in found]).mean
            made.line(
                title if label == study.labels[0] else "", label,
                fixed(stats.t_interval([one.goodput_lost for one in found]), 100.0),
                f"{gone:,.0f}" if math.isfinite(gone) else units.NOTHING,
                slower(
                    stats.relative_difference([one.p99_s for one in found], [one.p99_whole_s for one in found]),
                    len(study.plan.seeds),
                ),
                plus_minus(stats.t_interval([one.doubled for one in found]), 0.01),
                end_section=label == study.labels[-1],
            )  # fmt: skip
    return made


def fault_notes(faults: Sequence[Single]) -> list[str]:
    """Notes on how to read the table of each fault, if there is one."""
    if not faults:
        return []
    lines = [
        "each fault: goodput from its beginning to its repair, or until the run without faults tails off; packets gone"
        " on its links; and the flows that were under way in that time in the run without faults. What one fault leaves"
        " behind, such as a backlog, counts in the next one's time too."
    ]
    if not all(fault.alone for fault in faults):
        lines.append("*: another fault is active in that time: goodput and flows are of both.")
    if not all(fault.links for fault in faults):
        lines.append(f"gone is not told ({units.NOTHING}) where another fault hits the same link.")
    return lines


def round_bars(study: Study, entry: str) -> list[Bars]:
    """Bars of how long rounds took with the faults, and how much longer than without them."""
    times = {label: study.round(label, entry) for label in study.labels}
    unit, size = unit_of([one.mean for one in times.values()])
    slower = {label: study.rounds_slower(label, entry) for label in study.labels}
    return [
        Bars(entry, f"mean time with the faults [{unit}]", shares(times, 1.0 / size), signed=False),
        Bars(entry, "longer than without them [%]", shares(slower, 100.0), signed=True),
    ]


def goodput_table(study: Study) -> Grid:
    """The table of goodput and of packets."""
    unit, size = unit_of([study.interval(label, "recovery_ms").mean for label in study.labels])
    made = new_table(
        "What the faults cost, against the same runs without them",
        ["scheme"],
        ["goodput lost [%]", f"95 % after [{unit}]", "gone", "dropped", "no route", "timeouts"],
    )
    for label in study.labels:
        runs = study.broken(label)
        counts = [[one.lost for one in runs], [one.dropped for one in runs], [one.unroutable for one in runs]]
        counts.append([one.timeouts for one in runs])
        means = [f"{stats.t_interval(one).mean:,.0f}" for one in counts]
        made.line(label, lost(study, label), back(study, label, size), *means)
    return made


def lost(study: Study, label: str) -> str:
    """The share of goodput lost, in percent."""
    idle, seeds = study.idle(label), len(study.plan.seeds)
    if idle == seeds:
        return NO_TRAFFIC
    return fixed(study.interval(label, "goodput_lost"), 100.0) + (f", {idle}/{seeds} {NO_TRAFFIC}" if idle else "")


def unit_of(times_ms: Sequence[float]) -> tuple[str, float]:
    """The unit in which to print times given in ms: its name, and its size in ms."""
    known = [1e-3 * time for time in times_ms if math.isfinite(time) and time > 0.0]
    name, size = units.time_unit(known or [1e-3])
    return name, 1e3 * size


def back(study: Study, label: str, size_ms: float) -> str:
    """When goodput had recovered, in a unit of this size."""
    unseen, seeds = study.unseen(label), len(study.plan.seeds) - study.idle(label)
    if seeds == 0:
        return NO_TRAFFIC
    if unseen == seeds:
        return UNSEEN
    found = study.interval(label, "recovery_ms")
    if unseen:
        return f"{units.digits(found.mean / size_ms)}, {unseen}/{seeds} {UNSEEN}"
    return plus_minus(found, size_ms)


def tail_table(study: Study) -> Grid:
    """The tail of each traffic entry, with and without the faults."""
    means = [study.tail(label, entry).mean for label in study.labels for entry in study.entries]
    unit, size = unit_of(means)
    made = new_table(
        "Completion times, by traffic entry",
        ["traffic", "scheme"],
        [f"p99 FCT [{unit}]", "vs none", "twice as long [%]", "half [%]", "unfinished"],
    )
    for entry in study.entries:
        for label in study.labels:
            tail = at_least if study.bounded(label, entry) else str
            made.line(
                entry if label == study.labels[0] else "", label,
                tail(plus_minus(study.tail(label, entry), size)),
                tail(slower(study.slower(label, entry), len(study.plan.seeds))),
                plus_minus(study.doubled(label, entry), 0.01), plus_minus(study.halved(label, entry), 0.01),
                f"{study.unfinished(label, entry)[0]:,}",
                end_section=label == study.labels[-1],
            )  # fmt: skip
    return made


def round_table(study: Study) -> Grid:
    """The table of how long collective operations, requests and incasts took, with and without the faults."""
    rows = [(entry, label) for entry in study.round_entries for label in study.labels]
    unit, size = unit_of([study.round(label, entry).mean for entry, label in rows])
    made = new_table(
        "Rounds: collective operations, requests, incasts",
        ["traffic", "scheme"],
        [f"mean [{unit}]", "vs none", f"longest [{unit}]", "unfinished"],
    )
    for entry, label in rows:
        longest = study.longest_round_ms(label, entry)
        made.line(
            entry if label == study.labels[0] else "", label,
            plus_minus(study.round(label, entry), size),
            slower(study.rounds_slower(label, entry), len(study.plan.seeds)),
            units.NOTHING if math.isnan(longest) else units.digits(longest / size),
            f"{study.rounds_unfinished(label, entry)[0]:,}",
            end_section=label == study.labels[-1],
        )  # fmt: skip
    return made


def notes(study: Study) -> list[str]:
    """Notes on how to read the tables."""
    plan, seeds = study.plan, len(study.plan.seeds)
    found = with_traffic(study)
    lines = goodput_notes(plan, found) if found else []
    if any(study.interval(label, "goodput_lost").mean < BELOW_ZERO for label in study.labels):
        lines.append(
            "below zero: more bytes arrived with the faults than without; packets took other paths and met less"
            " traffic."
        )
    lines += [
        "gone: packets lost to the fault; dropped: at full queues or without a route; no route: these alone;"
        " means over seeds.",
        "vs none: paired difference to the runs without faults"
        + (", in (brackets) when its 95 % interval includes zero." if seeds > 1 else "; one seed: no interval."),
        "twice as long, half: share of flows that took more than twice as long with the faults as without, and less"
        " than half as long. Both are above zero where a fault only shuffles who waits for whom.",
        *fault_notes(singles(plan)),
        *waiting(study),
        f"{seeds} seed{'s' * (seeds != 1)}, the same traffic with and without the faults."
        + (" Where a ± exceeds its mean, seeds differ by factors: no time is below zero." if is_wide(study) else ""),
    ]
    if any(study.idle(label) for label in study.labels):
        last = "the end (no repair)" if math.isinf(plan.last_us) else instant(plan.last_us)
        lines.append(
            f"{NO_TRAFFIC}: without the faults no byte would arrive from {instant(plan.first_us)} to {last}. A fault"
            " must come while there is traffic: see at_us of [[fault]] and duration_us of [[traffic]]."
        )
    lines += [f"SKIPPED {one.label}, which cannot serve this fabric: {one.reason}." for one in plan.skipped]
    lines += differing(plan.variants, plan.spec)
    return lines + [one.line() for one in study.warnings]


def is_wide(study: Study) -> bool:
    """Whether some time has an interval that reaches below zero."""
    tails = [study.tail(label, entry) for label in study.labels for entry in study.entries]
    times = [*tails, *(study.interval(label, "recovery_ms") for label in study.labels)]
    return any(one.n > 1 and one.half > one.mean for one in times)


def waiting(study: Study) -> list[str]:
    """Notes on how flows that did not finish count, if there are any."""
    rows = [(label, entry) for label in study.labels for entry in study.entries]
    lines = []
    if any(any(study.rounds_unfinished(label, entry)) for label in study.labels for entry in study.round_entries):
        lines.append(
            "unfinished rounds are in no time; where there are some, with the faults or without, nothing is compared"
            f" ({units.NOTHING})."
        )
    if any(sum(study.unfinished(*row)) for row in rows):
        lines.append(
            "unfinished: flows that had not finished as the run ended; they count in the percentile with the time they"
            " had waited by then."
        )
    if any(study.bounded(*row) for row in rows):
        lines.append(
            "≥: at least, as on some seed such a flow had waited for less than that and may still exceed it: a"
            " longer run (run.until_us) would tell."
        )
    if without := sum(study.unfinished(label, ALL)[1] for label in study.labels):
        lines.append(
            f"without the faults {units.counted(without, 'flow')} did not finish either; where one of them sets the"
            f" percentile, nothing is compared ({units.NOTHING})."
        )
    if any(math.isnan(study.tail(*row).mean) and study.unfinished(*row)[0] for row in rows):
        lines.append(
            f"{units.NOTHING}: how long unfinished flows had waited is known only for runs that keep a row per flow"
            " (metrics.keep_flows_up_to)."
        )
    return lines


def with_traffic(study: Study) -> list[Outcome]:
    """The runs in which there was traffic for the faults to hit."""
    return [one for label in study.labels for one in study.outcomes(label) if not math.isnan(one.goodput_lost)]


def compares_poorly(found: Sequence[Outcome]) -> bool:
    """Whether goodput is compared over periods that differ from run to run."""
    untils = [one.until_ms for one in found]
    return bool(untils) and min(untils) < ALIKE * max(untils)


def goodput_notes(plan: Plan, found: Sequence[Outcome]) -> list[str]:
    """Notes on the period over which goodput is compared, in runs that have some."""
    first, tail = instant(plan.first_us), spread([one.tails_off_ms for one in found])
    cut = any(one.until_ms == one.tails_off_ms for one in found)
    repaired = any(one.until_ms < one.tails_off_ms for one in found)
    if not cut:
        end = f"{instant(plan.last_us)} (the last repair)"
    elif not repaired:
        end = f"{tail} (the run without faults ends or tails off)"
    else:
        repair = f"{instant(plan.last_us)} (the last repair)"
        end = f"{repair}, or to {tail} if the run without faults ends or tails off before"
    unseen = any(math.isinf(one.recovery_ms) for one in found)
    lines = [
        f"goodput lost: bytes not received from {first} (the first fault) to {end}, as a share of those received"
        " without the faults in that time.",
        f"95 % after: from the first fault until goodput stays at {100 * SHARE:g} % or more of that without faults, in"
        f" intervals of {instant(plan.interval_us)}"
        + (f"; {UNSEEN}: not before the run without faults ends or tails off ({tail})." if unseen else "."),
    ]
    if compares_poorly(found):
        lines.append(
            "goodput lost covers different times in different runs, so its shares compare poorly: rounds and completion"
            " times tell more."
        )
    if cut or unseen:
        lines.append(
            "tails off: it runs out of flows and its goodput falls. What follows that, or its end, says nothing"
            " about the faults: runs with them catch up."
        )
    return lines


def instant(time_us: float) -> str:
    """A time of a spec, with its unit."""
    name, size_ms = unit_of([1e-3 * time_us])
    return f"{1e-3 * time_us / size_ms:g} {name}"


def spread(times_ms: Sequence[float]) -> str:
    """The minimum and maximum of some times."""
    name, size_ms = unit_of(times_ms)
    least, most = (units.digits(end(times_ms) / size_ms, 3) for end in (min, max))
    return f"{least} {name}" if least == most else f"{least}–{most} {name}"


def write_files(study: Study, target: Path) -> None:
    """Write resilience.json and table.txt into an existing folder."""
    write_json(target / formats.RESILIENCE.record, record(study))
    terminal.write(target / "table.txt", report(study))


def record(study: Study) -> dict[str, object]:
    """The study as plain values for JSON; a time that never comes is null."""
    plan = study.plan
    found = plain(
        {
            "format": formats.RESILIENCE.name,
            "version": core.version(),
            "spec": plan.spec,
            "spec_hash": spec_hash(plan.spec),
            "seeds": plan.seeds,
            "first_fault_us": plan.first_us,
            "last_repair_us": plan.last_us,
            "skipped": plan.skipped,
            "warnings": study.warnings,
            "entries": study.entries,
            "told": stored(study),
            "runs": [
                {
                    "scheme": label,
                    "seed": seed,
                    **plain(one),
                    "outcome_hash": study.recordings[label, seed, True].outcome_hash,
                    "outcome_hash_without": study.recordings[label, seed, False].outcome_hash,
                }
                for label in study.labels
                for seed, one in zip(plan.seeds, study.outcomes(label), strict=True)
            ],
        }
    )
    assert isinstance(found, dict)
    return found
