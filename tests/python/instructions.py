"""Instructions per packet-hop of the bench cases, counted by valgrind: the same however busy the machine is.

    python tests/python/instructions.py                        # the engine that is installed
    python tests/python/instructions.py OLD.abi3.so NEW.abi3.so  # two engines, and the change in percent

The cases are those of `spinewise bench` and one of TCP flows of a web search. Each runs at two lengths, and the
difference of the two counts is divided by that of their packet-hops, so that setting up and Python count for nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

Spec = dict[str, object]

LENGTHS = (0.01, 0.04)
DCTCP = {"kind": "dctcp", "mss_bytes": 4056, "header_bytes": 40, "ack_bytes": 64, "dupack_threshold": 0,
         "min_rto_us": 10000.0}  # fmt: skip


def fabric(leaves: int, spines: int, hosts_per_leaf: int) -> Spec:
    """A leaf-spine with links of 100 Gbps and 1 us."""
    rates, delays = ("host_rate_gbps", "fabric_rate_gbps"), ("host_delay_ns", "fabric_delay_ns")
    sizes = {"leaves": leaves, "spines": spines, "hosts_per_leaf": hosts_per_leaf}
    return {**sizes, **dict.fromkeys(rates, 100.0), **dict.fromkeys(delays, 1000)}


def fat_tree(k: int) -> Spec:
    """The fat-tree of switches with this many ports, with links of 100 Gbps and 1 us."""
    tiers = ("host", "fabric", "core")
    return {"kind": "fat_tree", "k": k} | {f"{tier}_rate_gbps": 100.0 for tier in tiers} | {
        f"{tier}_delay_ns": 1000 for tier in tiers
    }  # fmt: skip


def spray(topology: Spec, size: float) -> Spec:
    """A permutation of DCTCP flows, sprayed."""
    return {
        "topology": topology,
        "preset": "datacenter",
        "switch": {"buffer_bytes": 1_000_000, "ecn_threshold_bytes": 65_536},
        "transport": DCTCP,
        "scheme": {"name": "rps"},
        "traffic": [{"kind": "permutation", "size_bytes": int(size), "inter_rack": True}],
    }


def spec(case: str, length: float) -> Spec:
    """A case at a share of its full length."""
    if case == "dctcp_spray_128":
        return spray(fabric(8, 16, 16), 260e6 * length)
    if case == "dctcp_spray_1024":
        return spray(fabric(32, 32, 32), 26e6 * length)
    arrivals = {"kind": "poisson", "duration_us": 10_000 * length}
    if case == "rdma_lossless_128":
        storage = {"cdf": "ali_storage", "load": 0.25, "load_of": "host_links", "pairs": "any"}
        return {
            "topology": fabric(8, 8, 16),
            "preset": "selb",
            "scheme": {"name": "ecmp"},
            "traffic": [arrivals | storage],
        }
    if case == "uet_reps_1024":
        return {
            "topology": fat_tree(16),
            "preset": "uet-htsim",
            "transport": {"ack_every_bytes": 4000},
            "scheme": {"name": "reps"},
            "traffic": [{"kind": "permutation", "size_bytes": int(16e6 * length)}],
        }
    return {
        "topology": {"leaves": 12, "spines": 6, "hosts_per_leaf": 48},
        "scheme": {"name": "ecmp"},
        "traffic": [arrivals | {"cdf": "web_search", "load": 0.6}],
    }


CASES = ("dctcp_spray_128", "dctcp_spray_1024", "rdma_lossless_128", "uet_reps_1024", "tcp_web_search_576")


def loaded(file: str) -> ModuleType:
    """An engine by its file."""
    found = importlib.util.spec_from_file_location("spinewise._core", file)
    if found is None or found.loader is None:
        raise SystemExit(f"{file} is no engine: expected a file such as python/spinewise/_core.abi3.so")
    core = importlib.util.module_from_spec(found)
    found.loader.exec_module(core)
    return core


def hops(file: str, case: str, length: float) -> None:
    """Run a case and print its packet-hops: what valgrind is given."""
    report = loaded(file).run(json.dumps(spec(case, length)), None, None, None)["report"]
    print(json.loads(report)["packet_hops"])


def counted(file: str, case: str, length: float) -> tuple[int, int]:
    """Packet-hops and instructions of a run, those of Python with it."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, __file__]
    done = subprocess.run(
        [*command, "--one", case, str(length), file],
        capture_output=True, text=True, check=True, env=os.environ | {"PYTHONHASHSEED": "0"},
    )  # fmt: skip
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        raise SystemExit(f"valgrind counted nothing:\n{done.stderr}")
    return int(done.stdout), int(found[1])


def per_hop(file: str, case: str) -> float:
    """Instructions per packet-hop of a case."""
    (few, short), (many, long) = (counted(file, case, length) for length in LENGTHS)
    return (long - short) / (many - few)


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "engines", nargs="*", default=[str(Path(__file__).parents[2] / "python/spinewise/_core.abi3.so")]
    )
    parser.add_argument("--one", nargs=2, metavar=("CASE", "LENGTH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        hops(args.engines[0], args.one[0], float(args.one[1]))
        return
    for case in CASES:
        found = [per_hop(engine, case) for engine in args.engines]
        change = f"  {100 * (found[-1] / found[0] - 1):+.1f} %" if len(found) > 1 else ""
        print(f"{case:20}", *(f"{one:8.1f}" for one in found), change, flush=True)


if __name__ == "__main__":
    main()
