"""``spinewise lab``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from spinewise.cli import streams
from spinewise.cli.output import print_json
from spinewise.comparison.files import write_files
from spinewise.comparison.plan import RUNS, seed_list
from spinewise.errors import SpecError
from spinewise.lab import build, machine, measure, seen, show, state
from spinewise.lab import cost as costs
from spinewise.lab import sight as sights
from spinewise.lab import study as studies
from spinewise.lab.checked import checked_plan
from spinewise.lab.plan import Plan, Steering, checked_name, name_of, plan_of
from spinewise.measures.plain import without_nan
from spinewise.runs import formats
from spinewise.runs.folder import new_results
from spinewise.runs.result import Result
from spinewise.shapes import Spec
from spinewise.show import run_tables, terminal
from spinewise.specs.spec import load, resolve
from spinewise.specs.variants import parse_list
from spinewise.writing import write_json


def planned(args: argparse.Namespace) -> tuple[Spec, Plan]:
    """The resolved spec, and its lab."""
    given = resolve(load(args.spec, args.set), seed=getattr(args, "seed", None))
    return given, checked_plan(given, args.name, args.factor, steering_of(args))


@contextmanager
def in_words() -> Iterator[None]:
    """Report a failure on the machine in a line, and exit with code 1."""
    try:
        yield
    except machine.LabError as error:
        streams.complain(f"spinewise: the lab failed: {error}")
        raise SystemExit(1) from None


def steering_of(args: argparse.Namespace) -> Steering:
    """The component that chooses paths."""
    if args.health:
        return "watched"
    return "always" if args.agents else "needed"


def plan(args: argparse.Namespace) -> int:
    """Show what would be built."""
    _, made = planned(args)
    if args.json:
        print_json(show.record(made))
        return 0
    terminal.console().print(show.plan(made))
    return 0


def up(args: argparse.Namespace) -> int:
    """Build a lab."""
    given, made = planned(args)
    machine.looked_at()
    with in_words(), state.held(made.name):
        lacking = build.up(given, made)
    if args.json:
        print_json({"name": made.name, "lacking": lacking, **show.record(made)})
        return 0
    out = terminal.console()
    out.print(show.plan(made))
    for name in lacking:
        out.print(f"this kernel has no net.{name.replace('/', '.')}: the lab does without", markup=False)
    out.print(f'the lab "{made.name}" is up', markup=False)
    return 0


def down(args: argparse.Namespace) -> int:
    """Take a lab down."""
    if args.name is None and args.spec is None:
        raise SpecError("--name", "(nothing)", f"a lab: {', '.join(state.names()) or 'there is none'}")
    name = checked_name(args.name) if args.name else name_of(resolve(load(args.spec)))
    machine.looked_at()
    with in_words(), state.held(name):
        gone = build.down(name)
    if args.json:
        print_json({"name": name, "namespaces": gone})
    else:
        terminal.console().print(f'the lab "{name}" is down: {gone} namespaces removed', markup=False)
    return 0


def status(args: argparse.Namespace) -> int:
    """List all labs."""
    machine.looked_at()
    found = build.status()
    if args.json:
        print_json([asdict(one) for one in found])
    else:
        terminal.console().print(show.labs(found))
    return 0


def run(args: argparse.Namespace) -> int:
    """Carry the flows of a spec."""
    given, made = planned(args)
    machine.looked_at()
    with in_words(), ExitStack() as stack:
        simulated = measure.predicted(made)
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        stack.enter_context(standing(given, made))
        result = measure.run(made, simulated, lambda text: streams.complain(f"lab: {text}")).linux
        if folder is not None:
            result.write_files(folder)
    if args.json:
        print_json(result.run_record())
        return 0
    out = terminal.console()
    out.print(run_tables.run_report(result, "auto"))
    out.print(show.beside(result, simulated))
    out.print(f"results in {args.out}" if args.out else "results not kept (--out DIR keeps them)", markup=False)
    return 0


def study(args: argparse.Namespace) -> int:
    """Compare schemes."""
    given = load(args.spec, args.set)
    table = given.pop("compare", {})
    variants = parse_list(args.schemes or table.get("schemes") or "", [])
    seeds = seed_list(args.seeds or LEAST_SEEDS, given)
    runs = studies.planned(given, variants, seeds, studies.Labs(args.name, args.factor, steering_of(args)))
    machine.looked_at()
    with in_words(), ExitStack() as stack:
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        found = studies.conducted(runs, standing, folder, lambda text: streams.complain(f"lab: {text}"))
        if folder is not None:
            write_files(found.both, folder)
            write_json(folder / "lab.json", show.study_record(found))
            terminal.write(folder / "order.txt", show.orders(found))
            write_goodput(found, folder)
    if args.json:
        print_json(show.study_record(found))
        return 0
    out = terminal.console()
    out.print(show.orders(found))
    if args.out:
        out.print(f"in {args.out}: order.txt, lab.json, table.txt, fct.png, …; every run in {RUNS}/", markup=False)
    return 0


LEAST_SEEDS = 5


def write_goodput(found: studies.Study, folder: Path) -> None:
    """Write goodput over time through a black hole, as numbers and as a figure, if there is one."""
    from spinewise.lab import figures  # noqa: PLC0415 - slow to import
    from spinewise.show import style  # noqa: PLC0415 - slow to import

    made = figures.goodput(found)
    if made is not None:
        write_json(folder / "goodput.json", show.goodput_record(found))
        style.save(made, folder, "goodput", ("png",))


def sight(args: argparse.Namespace) -> int:
    """Compare the schemes' views of their paths with the truth."""
    given = load(args.spec, args.set)
    table = given.pop("compare", {})
    variants = parse_list(args.schemes or table.get("schemes") or "", [])
    if not args.schemes:
        variants = [variant for variant in variants if variant.name in sights.QUANTITIES]
    given.setdefault("metrics", {}).update(sights.METRICS)
    plans = {}
    for variant in variants:
        resolved = resolve(variant.apply(given), seed=args.seed)
        made = replace(checked_plan(resolved, args.name, args.factor, "always"), sight_ms=sights.STEP_MS)
        sights.quantity_of(made)
        plans[variant.label] = (resolved, made)
    machine.looked_at()
    with in_words(), ExitStack() as stack:
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        agreed = {}
        for label, (resolved, made) in plans.items():
            with standing(resolved, made):
                streams.complain(f"lab: {label}")
                sides = sights.both_sides(made, lambda text: streams.complain(f"lab: {text}"))
            agreed[label] = {side: sights.agreement(made, found) for side, found in sides.items()}
            if folder is not None:
                write_sight(label, made, sides, folder)
        by_scheme = {label: {side: asdict(one) for side, one in found.items()} for label, found in agreed.items()}
        record = without_nan(by_scheme)
        if folder is not None:
            write_json(folder / formats.SIGHT.record, without_nan({"format": formats.SIGHT.name} | by_scheme))
            terminal.write(folder / "agreement.txt", show.agreement(agreed))
    if args.json:
        print_json(record)
    else:
        terminal.console().print(show.agreement(agreed))
    return 0


def write_sight(label: str, made: Plan, sides: dict[str, list[sights.Seen]], folder: Path) -> None:
    """Write a scheme's view of the paths of the busiest pair of hosts, as a figure and as numbers."""
    from spinewise.lab import figures  # noqa: PLC0415 - slow to import
    from spinewise.show import style  # noqa: PLC0415 - slow to import

    note = f"{label}, seed {made.spec['seed']}. What this host believes of its paths, and the links between switches."
    style.save(figures.sight(sights.quantity_of(made), sides, note), folder, label, ("png",))
    write_json(folder / f"{label}.json", without_nan(sights.record(sides)))


def cost(args: argparse.Namespace) -> int:
    """Measure the cost of an agent."""
    machine.looked_at()
    with in_words(), ExitStack() as stack:
        folder = stack.enter_context(new_results(args.out, force=args.force)) if args.out else None
        found = costs.measured(args.rounds, args.seconds, lambda text: streams.complain(f"lab: {text}"))
        if folder is not None:
            write_json(folder / formats.COST.record, {"format": formats.COST.name} | asdict(found))
            terminal.write(folder / "cost.txt", show.cost(found))
    if args.json:
        print_json(asdict(found))
    else:
        terminal.console().print(show.cost(found))
    return 0


def sensed(args: argparse.Namespace) -> int:
    """Show what the scheme of a run saw."""
    result = Result.read(args.run)
    found, ways = seen.seen(result), seen.paths(plan_of(result.spec, "run"))
    if args.json:
        print_json({"seen": [asdict(one) for one in found], "paths": [asdict(one) for one in ways]})
    elif not found:
        raise SpecError("RUN", args.run, "a run whose scheme records what it sees, with metrics.series_interval_us")
    else:
        terminal.console().print(show.sensed(found, ways))
    return 0


@contextmanager
def standing(given: Spec, made: Plan) -> Iterator[None]:
    """A lab that is up and held: the existing one, if it was built by this plan, or a temporary one."""
    with state.held(made.name):
        kept = state.read(made.name)
        if kept is None or kept.temporary:
            build.up(given, made, temporary=True)
            try:
                yield
            finally:
                build.remove(made.name)
            return
        if not build.same_fabric(kept.plan(), made):
            hint = f"`spinewise lab down --name {made.name}` takes it down"
            raise SpecError("--name", made.name, "a lab of the same fabric and transport", hint)
        if kept.broken:
            build.remove(made.name)
            build.up(given, made)
        yield
