"""The grammar of aims, and what they are worth in a run."""

from __future__ import annotations

import math
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import samples
import spinewise as sw
from spinewise.advice.aims import Aim, default, parse
from spinewise.advice.api import prepared
from spinewise.advice.observed import OBSERVED, Observed, Spread, observe
from spinewise.comparison import report
from spinewise.comparison.kept import read_comparison
from spinewise.comparison.verdict import verdicts
from spinewise.errors import SpecError
from spinewise.measures.entries import begun
from spinewise.shapes import Spec, Topology
from spinewise.specs.spec import as_spec
from spinewise.sweeps.packed import pack

TOPOLOGY: Topology = {"leaves": 2, "spines": 2, "hosts_per_leaf": 3}
MIXED: Spec = {
    "topology": TOPOLOGY,
    "traffic": [
        {"name": "web search", "kind": "poisson", "cdf": "web_search", "load": 0.4, "duration_us": 2000},
        {"name": "reduce", "kind": "all_reduce", "size_bytes": 60_000, "rounds": 3},
        {"name": "noise", "kind": "udp", "src": 0, "dst": 3, "size_bytes": 15_000,
         "schedule": [{"at_us": 0, "rate_gbps": 1}]},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def mixed() -> Spec:
    """A resolved spec of three entries."""
    return sw.resolve(MIXED)


@pytest.fixture(scope="module")
def seen(mixed: Spec) -> Observed:
    """What is read off a run of it."""
    return observe(mixed, sw.run(MIXED))


@pytest.mark.parametrize(
    ("text", "aim"),
    [
        ("p99 slowdown of web search", Aim("p99", "slowdown", "web search")),
        ("P99 Slowdown of web search", Aim("p99", "slowdown", "web search")),
        ("mean FCT of short flows of web search", Aim("mean", "FCT", "web search", "short")),
        ("median FCT of long web search", Aim("p50", "FCT", "web search", "long")),
        ("p99.9 completion time of all", Aim("p999", "FCT", "all")),
        ("p999 fct of short flows of all", Aim("p999", "FCT", "all", "short")),
        ("slowdown of all", Aim("mean", "slowdown", "all")),
        ("worst round time of reduce", Aim("worst", "round time", "reduce")),
        ("round time", Aim("mean", "round time", "reduce")),
        ("job time of reduce", Aim("", "job time", "reduce")),
        ("busbw of the reduce", Aim("", "bus bandwidth", "reduce")),
    ],
)
def test_aims_are_read_as_people_write_them(text: str, aim: Aim, mixed: Spec) -> None:
    """Words in any case, noise words left out, names with blanks; and what is said back means the same."""
    found = parse(text, mixed)
    assert found == aim
    assert parse(found.text.replace("all traffic", "all"), mixed) == aim


@pytest.mark.parametrize(
    ("text", "allowed", "hint"),
    [
        ("p99 slowdown of web serch", "one of: web search, reduce; or of all", 'did you mean "web search"?'),
        ("p99 slowdown of noise", "web search, reduce; or of all", "there is no entry"),
        ("p99 slowdown", "web search, reduce", "there is no entry"),
        ("mean bus bandwidth of reduce", "without a statistic", "a single value"),
        ("bus bandwidth of web search", "bus bandwidth of one of: reduce", ""),
        ("p99 round time of short flows of reduce", "no size classes", ""),
        ("p99 slowdown of shrot flows of web search", "short, long, all", 'did you mean "short"?'),
        ("goodput of web search", "STATISTIC QUANTITY of ENTRY", "not a quantity"),
        ("", "STATISTIC QUANTITY of ENTRY", "not a quantity"),
    ],
)
def test_aims_that_nobody_can_measure(text: str, allowed: str, hint: str, mixed: Spec) -> None:
    """Each says what is allowed here, by the names of the entries."""
    with pytest.raises(SpecError) as refused:
        parse(text, mixed)
    assert refused.value.key == "--aim"
    assert allowed in refused.value.allowed
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"kind": "poisson", "cdf": "web_search", "load": 0.3, "duration_us": 100}, "p99 slowdown of poisson"),
        ({"kind": "all_reduce", "size_bytes": 6000}, "mean round time of all_reduce"),
        ({"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 6000}, "mean round time of incast"),
        ({"kind": "rpc", "fan_in": 2, "size_bytes": 6000}, "p99 round time of rpc"),
    ],
)
def test_the_default_goes_by_the_workload(entry: dict[str, Any], text: str) -> None:
    """Collectives by their rounds, requests by their tail, flows by their p99 slowdown."""
    assert default(sw.resolve({"topology": TOPOLOGY, "traffic": [entry]})).text == text


TRACE = "id,rank,op,peer,size_bytes,duration_ns,requires\na,0,send,3,60000,,\nb,3,recv,0,,,\nc,3,calc,,,20000,b\n"


@pytest.fixture
def trace(tmp_path: Path) -> dict[str, Any]:
    """A send to another rack, and 20 us of computation on what it brings."""
    (tmp_path / "ops.csv").write_text(TRACE)
    return {"topology": TOPOLOGY, "traffic": [{"kind": "dag", "file": str(tmp_path / "ops.csv")}]}


def test_the_job_of_a_trace_is_done_when_its_operations_are(trace: dict[str, Any]) -> None:
    """An imported program had the slowdown of its flows alone for an aim, and `run` knew when all of it had ended."""
    result = sw.run(trace)
    aim = default(result.spec)
    assert aim.text == "job time of dag"
    assert parse("job time", result.spec) == aim
    found = observe(result.spec, result)
    assert aim.value(found) == pytest.approx(result.flows.to_pylist()[0]["fct_ps"] / 1e12 + 20e-6)
    assert aim.behind(found) == (3, 0)
    late = sw.run(trace | {"run": {"until_us": 60}})
    cut_off = observe(late.spec, late)
    assert aim.value(cut_off) == pytest.approx(60e-6), "what has not ended has waited until the end"
    assert aim.behind(cut_off) == (3, 2)
    with pytest.raises(SpecError, match="no traffic entry here has it"):
        parse("round time of dag", result.spec)
    with pytest.raises(SpecError, match="job time of one of: reduce"):
        parse("job time of web search", sw.resolve(MIXED))


def test_schemes_are_compared_by_the_end_of_a_trace(trace: dict[str, Any], tmp_path: Path) -> None:
    """It asked for the flows, or for the batches among them."""
    found = sw.compare(trace, "ecmp,rps", seeds=2)
    (one,) = verdicts(found)
    ended = [run.ended_s["dag"] for run in found.at("ecmp", None)]
    assert one.question.words == "time until all operations have ended"
    assert one.value.mean == pytest.approx(sum(ended) / 2)
    out = Console(width=118, file=StringIO())
    out.print(report.comparison_report(found))
    assert isinstance(out.file, StringIO)
    assert "dag: time until all operations have ended" in out.file.getvalue()
    sw.write(found, tmp_path / "kept")
    assert read_comparison(tmp_path / "kept").cells[0].ended_s == found.cells[0].ended_s
    advice = sw.advise(trace, schemes="ecmp,rps", budget_s=3, jobs=1, band=0.3)
    assert advice.aims[0].text == "job time of dag"


def test_udp_alone_has_no_aim() -> None:
    """Nothing completes."""
    with pytest.raises(SpecError, match="an entry whose flows complete"):
        default(sw.resolve({"topology": TOPOLOGY, "traffic": [MIXED["traffic"][2]]}))


def test_values_are_those_of_the_summary(mixed: Spec, seen: Observed) -> None:
    """Where all flows have finished, the numbers are those that `run` prints."""
    summary = sw.run(MIXED).summary()
    web = summary.of("all", "web search")
    assert web.unfinished == 0
    for name in ("mean", "p50", "p95", "p99", "p999"):
        assert Aim(name, "slowdown", "web search").value(seen) == pytest.approx(web.slowdown.get(name))
        assert Aim(name, "FCT", "web search", "long").value(seen) == pytest.approx(
            summary.of("long", "web search").fct_s.get(name), nan_ok=True
        )
    job = sw.run(MIXED).rounds.jobs[0]
    assert Aim("mean", "round time", "reduce").value(seen) == pytest.approx(job.mean_s)
    assert Aim("worst", "round time", "reduce").value(seen) == pytest.approx(job.max_s)
    assert Aim("", "job time", "reduce").value(seen) == pytest.approx(job.total_s)
    bus = Aim("", "bus bandwidth", "reduce")
    assert bus.value(seen) == pytest.approx(job.busbw_gbyte_per_s)
    assert bus.cost(seen) == pytest.approx(1.0 / job.busbw_gbyte_per_s)
    assert bus.behind(seen) == (3, 0)
    assert OBSERVED.read(pack(seen)).rounds == seen.rounds


def test_an_unfinished_flow_counts_as_long_as_it_waited() -> None:
    """A run cut off in the middle: the mean lies above that of the finished flows, and below none of them."""
    spec = {
        "topology": TOPOLOGY,
        "run": {"until_us": 400},
        "traffic": [{"name": "x", "kind": "incast", "receiver": 0, "senders": 5, "size_bytes": 200_000}],
    }
    result = sw.run(spec)
    found = observe(result.spec, result)
    every = next(one for one in found.flows if (one.entry, one.size_class) == ("x", "all"))
    assert (every.flows, every.unfinished) == (5, 5)
    assert every.fct_s.mean == pytest.approx(400e-6)
    assert found.rounds[0].unfinished == 1
    assert found.rounds[0].time_s.mean == pytest.approx(400e-6)
    assert Aim("p99", "slowdown", "x").value(found) == pytest.approx(400e-6 / ideal_s(result))


def test_what_never_began_does_not_count_as_having_waited() -> None:
    """Rounds wait for rounds: a run with one more of them had the same later rounds waiting since the beginning."""
    spec: Spec = {
        "topology": TOPOLOGY,
        "traffic": [{"name": "reduce", "kind": "all_reduce", "size_bytes": 100_000, "rounds": 4}],
    }
    whole = sw.run(spec)
    ends = [one.end_s for one in whole.rounds.rounds]
    times = [one.time_s for one in whole.rounds.rounds]
    # Half way into the third round, and just after its beginning.
    for part in (0.5, 0.01):
        late = sw.run(spec | {"run": {"until_us": 1e6 * (ends[1] + part * times[2])}})
        assert [one.begun for one in late.rounds.rounds] == [True, True, True, False]
        assert late.rounds.jobs[0].slowest == late.rounds.rounds[2]
        found = observe(late.spec, late)
        (seen,) = found.rounds
        assert (seen.rounds, seen.unfinished) == (4, 2)
        done = (times[0] + times[1]) / 2
        waited = max(part * times[2], done)
        assert seen.time_s.mean == pytest.approx((2 * done + waited) / 3)
        every = next(one for one in found.flows if (one.entry, one.size_class) == ("reduce", "all"))
        assert every.unfinished > every.flows / 4
        assert every.fct_s.worst < ends[1]


def test_rounds_of_a_list_wait_for_others_too() -> None:
    quick = {"src": 0, "dst": 5, "size_bytes": 20_000, "start_ns": 0}
    slow = {"src": 1, "dst": 4, "size_bytes": 1_000_000, "start_ns": 9}
    entry = {"kind": "flows", "rounds": 2, "list": [quick, slow]}
    late = sw.run({"topology": TOPOLOGY, "traffic": [entry], "run": {"until_us": 300}})
    rows = late.flows.to_pylist()
    assert [(row["src"], row["batch"], row["packets"] > 0) for row in rows] == [
        (0, 1, True), (0, 2, True), (1, 1, True), (1, 2, False),
    ]  # fmt: skip
    assert begun(late.flows, late.spec).tolist() == [True, True, True, False]


def test_a_job_that_no_scheme_ends_is_no_aim() -> None:
    entry = {"name": "reduce", "kind": "all_reduce", "size_bytes": 400_000, "rounds": 30}
    spec = {"topology": TOPOLOGY, "traffic": [entry], "run": {"until_us": 1500}}
    with pytest.raises(SpecError, match="the whole job"):
        sw.advise(spec, aims="job time of reduce", schemes="ecmp,rps", budget_s=3, jobs=1)


def ideal_s(result: sw.Result) -> float:
    """The least time that any flow of a run could take, seconds."""
    return float(min(result.flows.column("ideal_fct_ps").to_pylist())) / 1e12


def test_thin_percentiles_are_known() -> None:
    """A p99 of 400 flows has four above it."""
    assert Aim("p99", "FCT", "x").thin(400)
    assert not Aim("p99", "FCT", "x").thin(501)
    assert not Aim("mean", "FCT", "x").thin(3)


def test_nothing_has_no_spread() -> None:
    """NaN of no flows."""
    import numpy as np

    assert all(math.isnan(value) for value in vars(Spread.of(np.array([]))).values())


def test_flows_over_unlike_packets_have_one_ideal() -> None:
    """Each flow took longer over Ultra Ethernet, and its p99 slowdown was less: its ideal was of larger packets."""
    spec = as_spec({**samples.TINY_SPEC, "transport": {"kind": "rdma"}, "preset": "linux"})
    _, alike, aims = prepared(spec, (), None, "ecmp,rps", None)
    _, unlike, same = prepared(spec, (), None, "ecmp,ecmp:transport.kind=uet@UET", None)
    assert [(aim.statistic, aim.quantity) for aim in (*aims, *same)] == [("p99", "slowdown")] * 2
    assert "ideal_frames" not in alike["metrics"]
    assert spec["metrics"]["ideal_frames"] == [[1000, 48], [4086, 64]]
    assert unlike["metrics"]["ideal_frames"] == [[1000, 48], [4086, 64]]
