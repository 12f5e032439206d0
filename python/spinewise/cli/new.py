"""``spinewise new``: a spec to start from."""

from __future__ import annotations

import argparse
import shlex
import sys
import tomllib
from dataclasses import asdict, replace
from typing import cast

from spinewise.advice import BUDGET_S, aims
from spinewise.advice.candidates import sheets
from spinewise.advice.planned import ESTIMATED_ROOM, pilot_s, rounded_up
from spinewise.cli.arguments import SIZES
from spinewise.cli.output import print_json
from spinewise.errors import SpecError, nearest
from spinewise.measures import units
from spinewise.measures.notices import Notice
from spinewise.runs.jobs import default_jobs
from spinewise.runs.validation import Validation, validate
from spinewise.show.progress import say
from spinewise.specs.spec import as_spec, resolve
from spinewise.specs.variants import parse_list
from spinewise.starting import amounts, asking, compose, place
from spinewise.starting.wishes import (
    COLLECTIVES,
    FAT_TREE,
    LEAF_SPINE,
    Given,
    SlowLink,
    Wishes,
    distributions,
    workload_named,
    workloads,
)

OPTIONS = {
    "topology.leaves": "--leaves", "topology.spines": "--spines", "topology.k": "--k",
    "topology.hosts_per_leaf": "--hosts-per-leaf", "topology.host_rate_gbps": "--host-gbps",
    "topology.fabric_rate_gbps": "--link-gbps", "topology.override": "--slow-link", "traffic[0].load": "--load",
    "traffic[0].size_bytes": "--size", "traffic[1].senders": "--incast", "name": "PATH",
}  # fmt: skip
"""The option that sets a key of the spec."""
ONLY = {"leaves": LEAF_SPINE, "spines": LEAF_SPINE, "k": FAT_TREE}


def command(args: argparse.Namespace) -> int:
    """Write a spec from options, or from answers if there is a terminal and no option."""
    where = place.Place.of(args.path)
    place.check(where, force=args.force)
    start = Wishes(name=where.name)
    given = options(args)
    asked = not given and not args.json and sys.stdin.isatty() and sys.stdout.isatty()
    wishes = by_answers(start) if asked else replace(start, **given)
    text = compose.text(wishes, f"./{where.schema.name}")
    fit_each_other(wishes)
    found = validate(as_spec(tomllib.loads(text)))
    place.write(where, text, force=args.force)
    warnings = [*found.warnings, *amounts.notes(wishes)]
    if args.json:
        record: dict[str, object] = {"spec": str(where.spec), "schema": str(where.schema), "aim": wishes.aims}
        print_json(record | {"fabric": asdict(found.fabric), "warnings": [asdict(one) for one in warnings]})
        return 0
    for line in told(wishes, where, found, warnings):
        print(line)
    return 0


def options(args: argparse.Namespace) -> Given:
    """The wishes given by options.

    Raises:
        SpecError: an option does not fit the topology, or names something that does not exist.
    """
    said: dict[str, object] = {name: value for name, value in vars(args).items() if value is not None}
    topology: str = args.topology or Wishes.topology
    for field, needed in ONLY.items():
        if field in said and topology != needed:
            raise SpecError(f"--{field}", said[field], f"only with --topology {needed}")
    workload = workload_named(args.workload or Wishes.workload)
    if workload is None:
        raise SpecError("--workload", args.workload, ", ".join(workloads()), nearest(args.workload, workloads()))
    if args.workload:
        said["workload"] = workload
    if workload not in distributions() and args.load:
        raise SpecError("--load", args.load, f"no load: {workload} sends as fast as it can")
    if workload in distributions() and args.size:
        raise SpecError("--size", args.size, f"only with --workload {' or '.join(COLLECTIVES)}")
    if args.slow_links:
        said["slow_links"] = tuple(SlowLink.of(text, topology) for text in args.slow_links)
    if args.schemes:
        said["schemes"] = tuple(one.strip() for one in args.schemes.split(",") if one.strip())
    return cast(Given, {name: value for name, value in said.items() if name in Given.__annotations__})


def by_answers(start: Wishes) -> Wishes:
    """Ask the user at the terminal for the wishes."""
    say("Press Enter to take the value in brackets. Ctrl-C leaves nothing behind.")
    known = asking.ask(start, asking.questions(SIZES), input, say, fit_each_other)
    last = [asking.slow_link_question(known), *asking.last_questions()]
    return asking.ask(known, last, input, say, fit_each_other)


def fit_each_other(wishes: Wishes) -> None:
    """Refuse wishes that do not fit each other, naming the wrong option.

    Raises:
        SpecError: they do not.
    """
    for link in wishes.slow_links:
        if link.rate_gbps >= wishes.between_gbps:
            allowed = f"less than the {wishes.between_gbps:g} Gbps of the links between switches"
            raise SpecError("--slow-link", f"{link.rate_gbps:g}", allowed)
    if wishes.hosts < 2:
        raise SpecError("--hosts-per-leaf", wishes.under_leaf, "two hosts or more in the fabric, so that one can send")
    spec = as_spec(tomllib.loads(compose.text(wishes, "")))
    try:
        resolved = resolve(spec)
    except SpecError as error:
        for key, option in OPTIONS.items():
            if error.key == key or error.key.startswith((f"{key}[", f"{key}.")):
                raise SpecError(option, error.value, error.allowed, error.hint) from None
        if "auto" in (error.hint or ""):
            raise too_slow(wishes, error) from None
        raise
    for variant in parse_list(wishes.compared):
        try:
            resolve(variant.apply(spec))
        except SpecError as error:
            raise SpecError("--schemes", variant.label, error.allowed, error.hint) from None
    aims.parse(wishes.aims, resolved)


def too_slow(wishes: Wishes, error: SpecError) -> SpecError:
    """The error of a value that follows from the rates of the fabric, which no option gives, by the lowest rate."""
    rates = {"--host-gbps": wishes.host_gbps, "--link-gbps": wishes.between_gbps}
    if wishes.slow_links:
        rates["--slow-link"] = min(link.rate_gbps for link in wishes.slow_links)
    option = min(rates, key=lambda name: rates[name])
    allowed = error.allowed.removesuffix(', or "auto"')
    hint = f"{error.key} follows from the rates, and would be {error.value}; allowed is {allowed}"
    return SpecError(option, f"{rates[option]:g}", "a higher rate", hint)


def told(wishes: Wishes, where: place.Place, found: Validation, warnings: list[Notice]) -> list[str]:
    """The files written, and the next steps."""
    estimate, spec = found.estimate, where.spec
    run = units.duration(estimate.seconds, 2)
    return [
        f"{spec}: {found.fabric}; {estimate.flows:,} flows, about {run} a run on this machine",
        f"{where.schema}: the schema, for editors",
        *(notice.line() for notice in warnings),
        "next:",
        f"  spinewise validate {spec}",
        f'  spinewise advise {spec} --aim "{wishes.aims}"{race(wishes, estimate.seconds)} --out results/{where.name}',
        f"  spinewise report results/{where.name} --out {where.name}.html",
    ]


def race(wishes: Wishes, run_s: float) -> str:
    """Options of `advise`: the schemes asked for, or those that fit its budget if a run takes too long to try all."""
    jobs, schemes = default_jobs(), f" --schemes {shlex.quote(','.join(wishes.compared))}"
    if pilot_s(run_s, len(sheets()), jobs) <= BUDGET_S:
        return schemes if wishes.schemes else ""
    needed = rounded_up(ESTIMATED_ROOM * pilot_s(run_s, len(wishes.compared), jobs))
    budget = f" --budget {units.clock(needed)}" if needed > BUDGET_S else ""
    return f"{schemes}{budget}"
