"""The engines that can make the runs of a command: this machine, or a Ray cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from spinewise.errors import SpecError
from spinewise.sweeps.engine import Engine
from spinewise.sweeps.local import Local


@contextmanager
def chosen(args: argparse.Namespace) -> Iterator[Engine]:
    """The engine that `--engine`, `--address` and `--jobs` name; connected with its cluster during the block.

    Raises:
        SpecError: the options do not fit, or there is no such cluster.
    """
    refuse_unfit(args)
    if args.engine == "local":
        yield Local(args.jobs)
        return
    from spinewise.sweeps import ray  # noqa: PLC0415 - Ray is an extra

    with ray.connected(ray.imported(), args.address, args.jobs):
        yield ray.Ray(args.address)


def refuse_unfit(args: argparse.Namespace) -> None:
    """Refuse `--address` where it names no engine, or contradicts `--jobs`.

    Raises:
        SpecError: naming the option.
    """
    if args.address is not None and args.engine == "local":
        raise SpecError("--address", args.address, "together with --engine ray", "a local run needs none")
    if args.address is not None and args.jobs is not None:
        hint = "a running cluster already has its processors"
        raise SpecError("--jobs", args.jobs, "nothing together with --address", hint)
