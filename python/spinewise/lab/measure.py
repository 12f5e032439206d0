"""A run of a lab: the flows of a spec carried by Linux, and the simulator's run of the same flows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from spinewise.lab import breaking, carry, drawn, fit, machine, sensed, state, steer, watch
from spinewise.lab.outcome import Measured, result_of
from spinewise.lab.plan import Plan
from spinewise.runs.hidden import scratch
from spinewise.runs.result import Result
from spinewise.shapes import Spec

Tell = Callable[[str], object]
AGENTS = "agents at the hosts"
KERNEL = "the kernel's ECMP, by the hash that the sending socket drew"


@dataclass(frozen=True)
class Pair:
    """The same flows twice, and the reports of agents."""

    linux: Result
    simulated: Result
    sensed: sensed.Sensed = field(default_factory=lambda: sensed.Sensed({}, []))


def predicted(plan: Plan, spec: Spec | None = None, trace: Iterable[int] | None = None) -> Result:
    """The simulator's run, refused if a lab could not carry it; the choices of the flows in `trace` are traced."""
    return drawn.simulated(plan, plan.spec if spec is None else spec, trace)


def run(plan: Plan, simulated: Result, tell: Tell = lambda _: None) -> Pair:
    """Carry the flows of a simulated run over a lab that is up and held.

    Raises:
        LabError: the lab is not as it was built.
    """
    flows = drawn.flows_of(simulated)
    acts = [(deed.at_ns, act(plan, deed, tell)) for deed in breaking.deeds(plan)]
    control = fit.CONGESTION[str(plan.spec["transport"]["kind"])]
    if acts:
        mark(plan, broken=True)
    begun = time.monotonic()
    if left := steer.end_leftovers(plan):
        tell(f"ended {len(left)} agents of a command that was killed")
    end_ns = round(float(simulated.spec["run"]["until_us"]) * 1000)
    with ExitStack() as stack:
        agents = stack.enter_context(steer.steered(plan, stack.enter_context(scratch()))) if plan.agents else None
        marks, busy = steer.marks(plan), cpu_ticks()
        with watch.watching(plan) as watched:
            carried = carry.carried(plan, flows, end_ns, control, acts)
        seen = sensed.read(plan, agents, carried.epoch_ns) if agents else sensed.Sensed({}, [])
    seconds = carried.ended_ns / 1e9
    measured = Measured(
        carried=carried,
        counts=watched.counts,
        longest=watched.longest if watch.interval_us(plan) else {},
        series=watch.series(watched, simulated, carried.epoch_ns),
        seconds=seconds,
        busy_share=busy_since(busy),
        marks={link: count - marks[link] for link, count in steer.marks(plan).items()},
        sensed=seen,
        congestion=control,
        steered_by=AGENTS if plan.agents else KERNEL,
        notes=notes(plan),
    )
    tell(f"took {time.monotonic() - begun:.1f} s")
    for host, told in seen.agents.items():
        if "ended" in told:
            tell(f"the agent of {host} ended: {told['ended']}")
    return Pair(result_of(plan, simulated, measured), simulated, seen)


def act(plan: Plan, deed: breaking.Deed, tell: Tell) -> Callable[[], None]:
    """Return the action of a fault."""

    def done() -> None:
        for batch in deed.batches:
            machine.applied(batch, None if batch.node is None else plan.namespace(batch.node))
        tell(deed.what)

    return done


def mark(plan: Plan, *, broken: bool) -> None:
    """Record whether links of the lab may differ from the plan."""
    kept = state.read(plan.name)
    if kept is not None:
        state.write(replace(kept, broken=broken))


def notes(plan: Plan) -> list[str]:
    """Differences between the spec and Linux."""
    found = []
    recovery = plan.spec["transport"].get("recovery")
    if recovery != "rack":
        found.append(f"the spec's loss recovery is {recovery}; Linux has RACK-TLP with SACK")
    if plan.factor != 1:
        found.append(f"rates are the spec's divided by {plan.factor}, times multiplied; the lab cannot delay packets")
    if plan.spec.get("fault"):
        found.append("switches detect faults by loss of carrier only: no routing protocol runs")
    return found


def cpu_ticks() -> tuple[int, int]:
    """Ticks of the whole machine: busy and all."""
    words = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = words[3] + words[4]
    return sum(words) - idle, sum(words)


def busy_since(before: tuple[int, int]) -> float:
    """The share of the machine that was busy."""
    busy, every = cpu_ticks()
    return (busy - before[0]) / max(1, every - before[1])
