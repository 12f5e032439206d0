"""``spinewise validate``."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from spinewise.cli.output import print_json
from spinewise.measures import units
from spinewise.own.contract import instead
from spinewise.own.load import load_scheme
from spinewise.runs.validation import Estimate, validate
from spinewise.show import offered
from spinewise.show import worked_out as shown
from spinewise.specs.spec import load, worked_out


def command(args: argparse.Namespace) -> int:
    """Check a spec, and report what it would run and the cost."""
    plain = load(args.spec, args.set)
    if args.scheme_file:
        plain = instead(plain, load_scheme(args.scheme_file), args.set)
    found, derived = validate(plain), worked_out(plain)
    spec = found.spec
    if args.json:
        notices = [{"code": one.code, "key": one.key, "text": one.text} for one in found.warnings]
        estimate = asdict(found.estimate)
        told: dict[str, object] = {"valid": True, "spec_hash": found.spec_hash, "fabric": asdict(found.fabric)}
        told |= {"estimate": estimate, "loads": found.loads, "warnings": notices, "spec": spec, "worked_out": derived}
        print_json(told)
        return 0
    scheme = spec.get("scheme", {}).get("name", "?")
    kinds = ", ".join(str(entry.get("kind")) for entry in spec.get("traffic") or []) or "none"
    print(f"{args.spec}: valid; scheme {scheme}, traffic {kinds}, seed {spec.get('seed')}")
    print(f"fabric: {found.fabric}")
    for line in (*estimate_lines(found.estimate), *offered.lines(spec, found.loads), *shown.block(derived)):
        print(line)
    for notice in found.warnings:
        print(notice.line())
    print(f"spec hash {found.spec_hash}; --json prints the spec with every default")
    return 0


def estimate_lines(estimate: Estimate) -> list[str]:
    """The estimate for people."""
    hops, rows = (units.count(value) for value in (estimate.packet_hops, estimate.series_rows))
    return [
        f"{units.counted(estimate.flows, 'flow')} of {units.size(estimate.flow_bytes)} in all"
        f" · about {hops} packet-hops in {units.duration(estimate.simulated_s, 3)} simulated",
        f"about {units.duration(estimate.seconds, 2)} of processor time on this machine,"
        f" {units.size(estimate.memory_bytes)} of memory"
        f" · rows: {estimate.flow_rows:,} of flows, {rows} of series",
    ]
