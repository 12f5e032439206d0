"""``spinewise import``: files of other simulators into our own formats."""

from __future__ import annotations

import argparse
import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path

from spinewise.cli import import_dags, import_fabrics
from spinewise.cli.imported import Imported, of_flows
from spinewise.cli.output import print_json
from spinewise.errors import SpecError
from spinewise.interop import cdf, fct, flows, ids, named, placing, records
from spinewise.magnitudes import PS_PER_SECOND
from spinewise.measures import units
from spinewise.runs.file import checked_place, write_file
from spinewise.show import progress

LONGEST_RUN_S = 9_000
"""The longest run that a spec may ask for (run.until_us): a flow that starts later never starts."""


def command(args: argparse.Namespace) -> int:
    """Read one file and write it in our format, to a file or to standard output."""
    made = READERS[args.what](args)
    content = made.content(args.out or "") if args.out or not args.json else b""
    for note in made.notes:
        progress.say(f"note: {note}")
    hosts = hosts_file(args.out) if args.out and made.hosts else None
    if args.out:
        if hosts is not None:
            checked_place(args.out, force=args.force)
            write_file(hosts, placing.text(made.hosts).encode(), force=args.force)
        write_file(args.out, content, force=args.force)
    if args.json:
        lines = {"toml": made.toml(args.out)} if made.toml and args.out else {}
        beside = {"hosts_file": hosts} if hosts else {}
        record = {"file": args.file, "out": args.out} | dict(made.record) | beside | lines
        print_json(record | {"notes": made.notes})
    elif args.out:
        print(f"{args.out}: {made.about}")
        if hosts is not None:
            print(f"{hosts}: the host of each name, for --hosts")
        if made.toml:
            print(f"\n{made.toml(args.out)}", end="")
    else:
        sys.stdout.write(content.decode())
        progress.say(made.about)
    return 0


def hosts_file(out: str) -> str:
    """The path of the file with host names, beside the flows."""
    return str(Path(out).with_suffix("." + placing.SUFFIX))


def import_flows(args: argparse.Namespace) -> Imported:
    """``import flows``: a flow list of HPCC, or records with named columns."""
    where = placing_of(args)
    is_named = args.topology and named.looks_named(args.topology) and not ids.has_ids(args.topology)
    named_by = args.topology if is_named else None
    if named_by and where:
        raise SpecError("--topology", named_by, "alone, without --hosts and --rack-of: it names the hosts")
    where = named.placing(named_by) if named_by else where
    told = args.columns or args.start_unit or args.unit_bytes != 1 or where
    if told or records.is_parquet(args.file) or named.looks_named(args.file):
        if args.topology and not named_by:
            hint = "--hosts FILE says which host each name is, as does a topology that names its nodes"
            raise SpecError("--topology", args.topology, "nothing for records with named columns", hint)
        found = records.read(args.file, records.Columns(args.columns or {}, args.start_unit, args.unit_bytes), where)
    else:
        found = flows.read(args.file, ids.read(args.topology) if args.topology else None)
    if args.from_first:
        found = found.from_first()
    made = of_flows(found.earlier(args.earlier_ns) if args.earlier_ns else found)
    seconds = min(flow.start_ps for flow in found.flows) / PS_PER_SECOND - args.earlier_ns / 1e9
    if seconds > LONGEST_RUN_S:
        starts, lasts = units.duration(seconds), units.duration(LONGEST_RUN_S)
        made.notes.append(
            f"the first flow starts at {starts}, and no run lasts longer than {lasts}: --from-first shifts it to 0"
        )
    return made


def placing_of(args: argparse.Namespace) -> placing.Placing | None:
    """The placement of named hosts, from the options; None if the options give none.

    Raises:
        SpecError: options conflict, or the file of --hosts is invalid.
    """
    if args.hosts and args.rack_of:
        raise SpecError("--hosts", "together with --rack-of", "one of the two: --hosts or --rack-of")
    if (args.rack_of is None) != (args.hosts_per_leaf is None):
        option, other = ("--rack-of", "--hosts-per-leaf") if args.rack_of else ("--hosts-per-leaf", "--rack-of")
        raise SpecError(option, "(alone)", f"together with {other}", "the number of hosts in a rack of the spec")
    if args.hosts:
        return placing.read_hosts(args.hosts)
    return placing.Placing(prefix=args.rack_of, hosts_per_leaf=args.hosts_per_leaf) if args.rack_of else None


def import_cdf(args: argparse.Namespace) -> Imported:
    """``import cdf``."""
    found = cdf.read(args.file, args.unit_bytes)
    about = f"{units.counted(len(found.points), 'point')}, mean {found.mean_bytes:,.1f} bytes"
    record = {"points": len(found.points), "mean_bytes": found.mean_bytes, "percent": found.percent}
    return Imported(about, record, lambda _: found.text().encode(), [])


def import_fct(args: argparse.Namespace) -> Imported:
    """``import fct``."""
    found = fct.read(args.file, ids.read(args.topology) if args.topology else None)
    slowdowns = [fct.slowdown(row) for row in found.rows]
    mean = sum(slowdowns) / len(slowdowns)
    about = f"{units.counted(len(found.rows), 'flow')}, mean slowdown {units.digits(mean)}"
    return Imported(about, {"flows": len(found.rows), "mean_slowdown": mean}, lambda out: fct_content(found, out), [])


def fct_content(found: fct.FctFile, out: str) -> bytes:
    """Completion times as Parquet, compressed CSV or CSV, by the suffix of the file's name."""
    if out.endswith(".parquet"):
        from pyarrow import parquet  # noqa: PLC0415 - slow to import, and only this format needs it

        stream = io.BytesIO()
        parquet.write_table(found.table(), stream, compression="zstd")
        return stream.getvalue()
    if out and not out.endswith((".csv", ".csv.gz")):
        raise SpecError("--out", out, "a name that ends in .csv, .csv.gz or .parquet")
    content = found.csv().encode()
    return gzip.compress(content, mtime=0) if out.endswith(".gz") else content


READERS: dict[str, Callable[[argparse.Namespace], Imported]] = {
    "topology": import_fabrics.import_topology,
    "flows": import_flows,
    "cdf": import_cdf,
    "fct": import_fct,
    "htsim-topo": import_fabrics.import_topo,
    "simai-topology": import_fabrics.import_simai,
    "htsim-cm": import_dags.import_matrix,
    "simai-workload": import_dags.import_workload,
    "chakra": import_dags.import_chakra,
    "goal": import_dags.import_goal,
}
