"""The cost of running a recorded case, compared with the reference loop of ``spinewise bench``."""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path

from spinewise import core
from spinewise.agreement import comparison, recorded, setting
from spinewise.errors import SpecError
from spinewise.replies import Timed
from spinewise.runs.hidden import scratch
from spinewise.specs.spec import resolve


def measure(file: str | Path, rounds: int, share: float) -> Timed:
    """Run a recorded case, a turn of the reference loop before each run; the record is one of ``spinewise bench``.

    Args:
        file: the case; its name says what ran, as `recorded.find` reads it.
        rounds: how many; the best counts.
        share: length of the reference loop as a share of the full one. The case always runs whole.

    Raises:
        SpecError: no such file, a name that says no case, an unknown scheme or a malformed line.
    """
    path = Path(file)
    if not path.is_file():
        raise SpecError("--recorded", file, "a file with a recorded case", "there is no such file")
    name = path.name.removesuffix(recorded.ENDING)
    try:
        recorded.find(path.parent, [name])
    except SpecError:
        raise SpecError("--recorded", file, f"a file named {recorded.FORM}") from None
    planned = comparison.plan(path.parent, 1, [name])
    case = planned.cases[0]
    flows = planned.flows[case.name]
    with scratch() as folder:
        listed = folder / "flows.csv"
        listed.write_text(setting.flow_csv(flows))
        spec = planned.spec(case, listed, 1)
        resolved = resolve(spec)
        best, reference, report = float("inf"), float("inf"), {}
        for _ in range(rounds):
            reference = min(reference, float(core.bench("reference", 1, share)[0]["reference_ns"]))
            began = time.process_time()
            outcome = core.run(resolved)
            best = min(best, time.process_time() - began)
            report = json.loads(outcome["report"])
    hops = report["packet_hops"]
    return {
        "name": case.name,
        "hosts": int(max(flows.src.max(), flows.dst.max())) + 1,
        "packet_hops": hops,
        "seconds": best,
        "packet_hops_per_s": hops / best,
        "events_per_packet_hop": report["events"] / hops,
        "reference_ns": reference,
        "ns_per_packet_hop": best * 1e9 / hops,
        "ratio_to_reference": best * 1e9 / hops / reference,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
