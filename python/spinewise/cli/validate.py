"""``spinewise validate``."""

from __future__ import annotations

import argparse

from spinewise.cli.output import print_json
from spinewise.specs.spec import load, resolve, spec_hash


def command(args: argparse.Namespace) -> int:
    """Check a spec and say what it would run."""
    plain = load(args.spec, args.set)
    spec = resolve(plain)
    digest = spec_hash(spec)
    if args.json:
        print_json({"valid": True, "spec_hash": digest, "spec": spec})
        return 0
    scheme = spec.get("scheme", {}).get("name", "?")
    kinds = ", ".join(str(entry.get("kind")) for entry in spec.get("traffic") or []) or "none"
    print(f"{args.spec}: valid; scheme {scheme}, traffic {kinds}, seed {spec.get('seed')}")
    print(f"spec hash {digest}; --json prints the spec with every default")
    return 0
