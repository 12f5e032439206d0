"""A run made again to look at some of its flows: packets captured at hosts and on paths, and choices traced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spinewise import core
from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.explanation.explain import traced_again
from spinewise.explanation.facts import leaves_of
from spinewise.explanation.waits import Passed, links_on, passed_by_flow
from spinewise.magnitudes import PS_PER_US
from spinewise.measures.nodes import Nodes, ends
from spinewise.measures.tables import numbers
from spinewise.runs import api
from spinewise.runs.result import Result

MOST_PACKETS, FEWEST = 6_000_000, 10_000
"""The number of packets that all captured ports keep at most, and the least for each of them."""


@dataclass(frozen=True)
class Again:
    """A run made again, to look at some of its flows.

    Attributes:
        result: the run, with packets captured at the hosts of these flows, and some of the flows traced.
        passed: when packets of some of the traced flows passed the ports on their paths, by flow.
    """

    result: Result
    passed: dict[int, Passed]


@dataclass(frozen=True)
class Repeater:
    """Makes a run again.

    Attributes:
        result: the run.
        folder: where it is kept, for messages.
        from_us, to_us: the period in which packets are captured.
        progress: called while the run is made.
    """

    result: Result
    folder: str
    from_us: int
    to_us: int
    progress: ProgressHook | None

    def captured(self, at: list[str], traced: Sequence[int]) -> Result:
        """The run with packets captured at some ports, and flows traced if they can be.

        Raises:
            SpecError: it does not come out as it did.
        """
        spec, most, flows = self.result.spec, MOST_PACKETS // len(at), list(traced)
        while True:
            capture = {"at": at, "from_us": self.from_us, "to_us": self.to_us, "max_packets": max(most, FEWEST)}
            metrics = {**spec["metrics"], "capture": capture}
            try:
                again = api.run({**spec, "metrics": metrics}, trace=flows or None, progress=self.progress)
            except SpecError as error:
                if error.key == "metrics.capture.max_packets" and most > FEWEST:
                    most //= 4
                elif error.key == "trace" and flows:
                    # Nobody chose a path for these flows, or the trace would be too long: links are then not known.
                    flows = []
                else:
                    raise error.with_file(self.folder) from None
                continue
            return traced_again(self.result, again, self.folder)


def repeated(
    result: Result, flows: Sequence[int], traced: Sequence[int], folder: str, progress: ProgressHook | None = None
) -> Again:
    """The same run again: with packets captured at the hosts of some flows, then at the ports on their paths.

    Args:
        result: the run.
        flows: whose hosts capture packets.
        traced: those of them whose choices are traced.
        folder: where the run is kept, for messages.
        progress: called while the runs are made.

    Raises:
        SpecError: the run does not come out as it did.
    """
    places = np.array(flows)
    host, columns = Nodes.of(result.spec).host, (numbers(result.flows, name)[places] for name in ("src", "dst"))
    hosts = {host(int(number)) for column in columns for number in column}
    at = [link["name"] for link in core.topology(result.spec)["links"] if link["from"] in hosts]
    start = numbers(result.flows, "start_ps")[places].astype(np.int64)
    until = start + numbers(result.flows, "fct_ps")[places].astype(np.int64)
    period = int(start.min()) // PS_PER_US, int(until.max()) // PS_PER_US + 1
    repeater = Repeater(result, folder, *period, progress)
    again = repeater.captured(at, between_racks(result, traced))
    ports, known = ports_on(again, again.report.get("traced_flows", ()))
    if not ports:
        return Again(again, {})
    close = repeater.captured(ports, [])
    full = [port["full_ps"] for port in close.report["captured"] if port["full_ps"]]
    known = [flow for flow in known if until[flows.index(flow)] < min(full, default=np.inf)]
    return Again(again, {} if close.packets is None else passed_by_flow(close.packets, known))


def ports_on(again: Result, flows: Sequence[int]) -> tuple[list[str], list[int]]:
    """The ports on the paths of traced flows, except hosts', and these flows: as many as may be captured."""
    host = Nodes.of(again.spec).is_host
    # A port captures what it sends, and what comes the other way.
    sent = {link["name"]: link["packets"] for link in again.report["links"]}
    ports: set[str] = set()
    known, packets = [], 0
    for flow in flows:
        more = {link for link in links_on(again, flow) if not host(ends(link).begin)} - ports
        cost = sum(2 * sent.get(link, 0) for link in more)
        if packets + cost <= MOST_PACKETS:
            ports, packets = ports | more, packets + cost
            known.append(flow)
    return sorted(ports), known


def between_racks(result: Result, flows: Iterable[int]) -> list[int]:
    """Those of some flows that leave their rack: others have no paths."""
    leaves = leaves_of(result.spec)
    src, dst = (leaves[numbers(result.flows, name)] for name in ("src", "dst"))
    return [flow for flow in flows if src[flow] != dst[flow]]
