"""The size of a run, before it is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from spinewise import core
from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.machine import resident_memory
from spinewise.magnitudes import PS_PER_SECOND, PS_PER_US
from spinewise.measures.afterwards import other_load
from spinewise.measures.fabric import FabricSize, size_of
from spinewise.measures.notices import Notice, notices
from spinewise.measures.units import digits
from spinewise.own.contract import with_scheme
from spinewise.own.scheme import Scheme
from spinewise.replies import Counted, Loads, Measured
from spinewise.shapes import Spec
from spinewise.specs.lines import located
from spinewise.specs.spec import as_spec, canonical_json, file_of, resolve, spec_hash

# Fewer packet-hops do not show how long one takes.
FEW_HOPS = 1000
# Memory of a flow and of a row of series when the account is closed, measured.
SECONDS_PER_FLOW = 3e-6
SECONDS_PER_ROW = 4e-7
LATE = 4.0
"""The factor on a run's expected duration from which a fault's begin is reported: the run may take twice as long."""
SAMPLES = 4
"""The number of runs that are tried to see how long many take."""
CANDIDATES = 16
"""The number of runs among which these are chosen."""


@dataclass(frozen=True)
class Estimate:
    """The size of a run, within a factor of about two.

    Attributes:
        flows: the number of flows drawn; exact.
        flow_bytes: payload of all flows; exact, except for UDP without a size.
        packets: data packets, each once.
        packet_hops: packets times links crossed, acknowledgements too; no retransmissions, probes or messages.
        simulated_s: simulated time at the end.
        seconds: processor time on this machine; it takes longer while others want the processor too.
        memory_bytes: memory of this process.
        series_rows: rows of the series of the engine; those of schemes are not known before.
        flow_rows: rows of flows that are kept.
    """

    flows: int
    flow_bytes: int
    packets: int
    packet_hops: int
    simulated_s: float
    seconds: float
    memory_bytes: int
    series_rows: int
    flow_rows: int


@dataclass(frozen=True)
class Validation:
    """A spec that will run.

    Attributes:
        spec: the spec with every default.
        spec_hash: its hash.
        fabric: its size and oversubscription.
        estimate: the estimated size of the run.
        loads: the offered load; None for traffic without a load.
        warnings: settings that are allowed but may be unintended.
    """

    spec: Spec
    spec_hash: str
    fabric: FabricSize
    estimate: Estimate
    loads: Loads | None
    warnings: list[Notice]


def validate(
    spec: Mapping[str, object] | str | Path,
    *,
    seed: int | None = None,
    progress: ProgressHook | None = None,
    scheme: str | type[Scheme] | None = None,
) -> Validation:
    """Check a spec by setting up its run: its fabric, faults, routes, flows and schemes; and estimate the run.

    A spec that passes will run. The check takes as long as the set-up, and 0.3 s to measure the speed of the run.

    Args:
        spec: a dict with the structure of the TOML file, or the path of a TOML file.
        seed: in place of the spec's own seed.
        progress: called about ten times a second with a `spinewise.core.Progress`; an exception stops the work.
        scheme: in place of the spec's own, as in `spinewise.run`.

    Raises:
        SpecError: naming the key, the value given and what is allowed; a run that does not fit into the memory of this
            machine is refused too.
    """
    resolved = resolve(spec if scheme is None else with_scheme(as_spec(spec), scheme), seed=seed)
    before = resident_memory()
    try:
        told = core.validate(resolved, progress)
    except SpecError as error:
        raise located(error, file_of(spec)) from None
    counted = told["estimate"]
    late = late_faults(told["spec"], counted["end_ps"] / PS_PER_US)
    return Validation(
        spec=told["spec"],
        spec_hash=spec_hash(told["spec"]),
        fabric=size_of(core.topology(told["spec"])),
        estimate=Estimate(
            flows=counted["flows"],
            flow_bytes=counted["bytes"],
            packets=counted["packets"],
            packet_hops=counted["packet_hops"],
            simulated_s=counted["end_ps"] / PS_PER_SECOND,
            seconds=seconds_of(counted, told["measured"]),
            memory_bytes=before + counted["memory_bytes"],
            series_rows=counted["series_rows"],
            flow_rows=counted["flow_rows"],
        ),
        loads=told["loads"],
        warnings=[*notices(told["warnings"]), *late, *other_load(counted["flows"], told["loads"], told["spec"])],
    )


def late_faults(spec: Spec, end_us: float) -> list[Notice]:
    """Warnings about faults that begin long after the expected end of the run: perhaps a wrong unit."""
    found = []
    for number, fault in enumerate(spec.get("fault") or []):
        begin = float(fault["at_us"])
        # The engine reports faults after the latest end of a run, and runs in which nothing is sent.
        if 0.0 < LATE * end_us < begin < float(spec["run"]["until_us"]):
            over = f"the run is expected to be over after about {digits(end_us, 2)} us"
            text = f"This fault begins after {begin:.12g} us, and {over}."
            found.append(Notice("fault_after_traffic", f"fault[{number}].at_us", text))
    return found


def sampled_seconds(specs: Sequence[Spec]) -> float:
    """The average duration of a run of these, from the first moments of a few; 0 if there are none.

    Raises:
        SpecError: one of the few is refused.
    """
    few = unlike_each_other(specs)
    return sum(validate(spec).estimate.seconds for spec in few) / len(few) if few else 0.0


def unlike_each_other(specs: Sequence[Spec]) -> list[Spec]:
    """A few of many resolved specs, always the same ones, with each value of what varies equally often.

    Taking every n-th of a grid would give a single value of an axis whose number of values divides n.
    """
    # The choice of specs tried for their speed does not affect any result.
    drawn = Random(0).sample(range(len(specs)), min(CANDIDATES, len(specs)))
    settings = {place: settings_of(specs[place]) for place in drawn}
    met: Counter[tuple[str, ...]] = Counter()
    chosen: list[int] = []
    for _ in range(min(SAMPLES, len(drawn))):
        left = (place for place in drawn if place not in chosen)
        chosen.append(min(left, key=lambda place: sum(met[one] for one in settings[place])))
        met.update(settings[chosen[-1]])
    return [specs[place] for place in sorted(chosen)]


def settings_of(spec: Spec) -> list[tuple[str, ...]]:
    """The keys of a spec with their values, as texts: those of its tables, and of tables in lists."""
    found: list[tuple[str, ...]] = []
    for name, value in spec.items():
        for number, table in enumerate(value if isinstance(value, list) else [value]):
            inside = table.items() if isinstance(table, dict) else [("", table)]
            found += [(name, str(number), key, canonical_json(one)) for key, one in inside]
    return found


def seconds_of(counted: Counted, measured: Measured) -> float:
    """Processor time of the whole run, from that of its first moments."""
    closing = counted["flows"] * SECONDS_PER_FLOW + counted["series_rows"] * SECONDS_PER_ROW
    if measured["ended"]:
        return measured["setup_s"] + measured["run_s"] + closing
    if measured["packet_hops"] >= FEW_HOPS:
        times = counted["packet_hops"] / measured["packet_hops"]
    else:
        times = counted["end_ps"] / max(measured["simulated_ps"], 1)
    return measured["setup_s"] + measured["run_s"] * max(times, 1.0) + closing
