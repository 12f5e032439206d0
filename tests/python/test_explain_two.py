"""Why a percentile differs between two runs of the same traffic: `explain A B`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import spinewise
from spinewise.cli import main
from spinewise.errors import SpecError
from spinewise.explanation import again, chain, pairs, parts, told_apart
from spinewise.explanation.differ import Difference, Part, differ
from spinewise.explanation.pairs import Asked
from spinewise.measures.nodes import Nodes
from spinewise.measures.report import Report
from spinewise.measures.tables import numbers
from spinewise.runs.result import Result

MSS, HEADERS = 1460, 40
SEGMENTS = 10

# One flow of ten segments, the first window of its sender, from leaf 0 to leaf 1.
FABRIC = {
    "leaves": 2,
    "spines": 2,
    "hosts_per_leaf": 2,
    "host_rate_gbps": 10,
    "fabric_rate_gbps": 10,
    "host_delay_ns": 1000,
    "fabric_delay_ns": 1000,
}
BURST = {
    "preset": "datacenter",
    "topology": FABRIC,
    "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": SEGMENTS * MSS, "start_ns": 0}]}],
}
SENDERS = {"kind": "incast", "receiver": 0, "senders": 31, "size_bytes": 100_000}
INCAST = {
    "preset": "datacenter",
    "topology": FABRIC | {"leaves": 4, "hosts_per_leaf": 8},
    "traffic": [SENDERS],
}
WIDE = FABRIC | {"leaves": 4, "spines": 4, "hosts_per_leaf": 8}
WEB_SEARCH = {"kind": "poisson", "cdf": "web_search", "load": 0.6, "pairs": "inter_rack", "duration_us": 5000}
WEB = {
    "preset": "linux",
    "topology": WIDE,
    "traffic": [WEB_SEARCH],
}


def slow(**changed: float) -> Mapping[str, object]:
    """`BURST` with other links between switches."""
    overrides = [{"spine": spine, **changed} for spine in (0, 1)]
    return BURST | {"topology": FABRIC | {"override": overrides}}


def part(found: Difference, name: str) -> Part:
    """A part by name; it must be there."""
    return next(one for one in found.parts if one.name == name)


@pytest.fixture(scope="module")
def web() -> tuple[Result, Result]:
    """The same flows under two schemes."""
    one, two = (spinewise.run(WEB | {"scheme": {"name": name}}) for name in ("ecmp", "letflow"))
    assert one.report["outcome_hash"] != two.report["outcome_hash"]
    return one, two


def test_a_slow_link_is_named_with_the_wait_that_it_costs() -> None:
    """Ten packets arrive 1.2 µs apart and leave 4.8 µs apart: the last one waits nine times the difference."""
    a, b = spinewise.run(BURST), spinewise.run(slow(rate_gbps=2.5))
    found = differ(a, b, Asked())
    queues = part(found, parts.QUEUES)
    assert queues.a == 0.0
    assert queues.b == pytest.approx((SEGMENTS - 1) * (4.8 - 1.2))
    (place,) = (one for one in queues.places if one.b)
    assert place.name in {"leaf0->spine0", "leaf0->spine1"}
    assert place.b == pytest.approx(queues.b)
    # Twice 3.6 µs of transmission more, at the two slow links on its way.
    assert part(found, parts.TRAVEL).more == pytest.approx(2 * (4.8 - 1.2))
    assert found.mean_examined == pytest.approx(queues.more + 2 * (4.8 - 1.2))
    text = told_apart.tell(found)
    assert (
        f"data waited longer in queues (+32.40 µs of +39.60 µs a flow), mostly at {place.name}" in text.splitlines()[0]
    )


def test_a_longer_path_is_told_from_more_round_trips() -> None:
    a, b = spinewise.run(BURST), spinewise.run(slow(delay_ns=5000))
    found = differ(a, b, Asked())
    assert found.crossings.a == found.crossings.b == 1.0
    assert [one.name for one in found.parts if one.more] == [parts.TRAVEL]
    assert part(found, parts.TRAVEL).more == pytest.approx(2 * (5.0 - 1.0))
    assert (
        "mostly because crossing the network took longer even without waiting (+8.000 µs of +8.000 µs a flow)"
        in told_apart.tell(found)
    )
    small, large = (
        spinewise.run(one | {"transport": {"initial_window_segments": n}}) for one, n in ((BURST, 2), (BURST, 10))
    )
    found = differ(small, large, Asked())
    # Two, four and four segments go one after the other: five crossings, and one.
    assert (found.crossings.a, found.crossings.b) == (5.0, 1.0)
    assert "mostly because flows needed fewer round trips" in told_apart.tell(found)


def test_a_timeout_is_named_with_the_place_of_the_loss() -> None:
    deep, shallow = (spinewise.run(INCAST | {"switch": {"buffer_packets": n}}) for n in (2000, 60))
    least_us = float(str(shallow.spec["transport"]["min_rto_us"]))
    assert not numbers(deep.flows, "timeouts").any()
    found = differ(deep, shallow, Asked(percentile=90))
    timers = part(found, parts.TIMERS)
    assert timers.a == 0.0
    assert timers.b >= 0.9 * least_us
    assert timers.b < sum(one.b for one in found.parts)
    assert timers.places[0].name == "found no room at leaf0->host0"
    assert sum(one.b for one in timers.places) == pytest.approx(timers.b)
    first = told_apart.tell(found).splitlines()[0]
    assert "flows waited longer for retransmission timers (" in first
    assert "), mostly of packets that found no room at leaf0->host0" in first
    counted = {one.name: one for one in found.counts}
    rows = [one.flow for one in found.pairs]
    assert counted["timeouts"].b == pytest.approx(numbers(shallow.flows, "timeouts")[rows].mean())


def test_the_parts_add_up_to_the_completion_times(web: tuple[Result, Result]) -> None:
    found = differ(*web, Asked(percentile=90))
    assert found.examined >= 5
    flows = [one.flow for one in found.pairs if one.most is not None]
    assert len(flows) == found.examined
    for side, run in zip("ab", web, strict=True):
        whole = sum(getattr(one, side) for one in found.parts)
        assert whole == pytest.approx(numbers(run.flows, "fct_ps")[flows].mean() / 1e6)
    assert sum(one.share for one in found.parts) == pytest.approx(1.0)
    assert all(one.a >= 0.0 and one.b >= 0.0 for one in found.parts)


def test_each_way_round_the_difference_is_the_same(web: tuple[Result, Result]) -> None:
    one, two = differ(*web, Asked()), differ(*web[::-1], Asked())
    assert one.mean == pytest.approx(-two.mean)
    assert one.mean != 0.0
    assert {(p.name, round(p.more, 6)) for p in one.parts} == {(p.name, round(-p.more, 6)) for p in two.parts}
    assert [p.flow for p in one.pairs] == [p.flow for p in two.pairs]
    assert (one.longer, one.shorter) == (two.shorter, two.longer)


def test_tails_are_those_of_the_tables(web: tuple[Result, Result]) -> None:
    """By another way: sort the times, and count."""
    found = differ(*web, Asked(percentile=95))
    tails = []
    for side, run in zip(found.sides, web, strict=True):
        times = np.sort(numbers(run.flows, "fct_ps"))
        at = times[int(0.95 * len(times))]
        assert side.value == pytest.approx(at / 1e6)
        tails.append({int(flow) for flow in np.flatnonzero(numbers(run.flows, "fct_ps") >= at)})
        assert side.tail == len(tails[-1])
    assert {one.flow for one in found.pairs} == tails[0] | tails[1]
    assert found.shared == len(tails[0] & tails[1])


def test_waits_are_those_of_the_packets(web: tuple[Result, Result]) -> None:
    """The waits at a port, against the instants at which all ports on the path sent the packets of the chain."""
    run = web[0]
    small = numbers(run.flows, "packets") < 200
    flow = int(np.argmax(np.where(small, numbers(run.flows, "slowdown"), 0.0)))
    made = again.repeated(run, [flow], [flow], "A")
    spent = parts.Accounts(made).spent(flow)
    assert spent is not None
    assert spent.us[parts.QUEUES] > 10.0
    placed = sum(us for link, us in spent.queues.items() if link != parts.ELSEWHERE)
    assert placed == pytest.approx(spent.us[parts.QUEUES], abs=0.01)
    every = {"at": [f"leaf{n}" for n in range(4)] + [f"spine{n}" for n in range(4)]}
    full = spinewise.run({**run.spec, "metrics": {**run.spec["metrics"], "capture": every}})
    row = run.flows.slice(flow, 1).to_pylist()[0]
    host = Nodes.of(run.spec).host
    accounts = parts.Accounts(made)
    links = accounts.chain(flow, accounts.nic[host(row["src"])], accounts.nic[host(row["dst"])])
    assert full.packets is not None
    sent = [
        one for one in full.packets.to_pylist() if one["flow"] == flow and one["outbound"] and one["kind"] == "data"
    ]
    waits: dict[str, float] = {}
    for step in links.steps(row["start_ps"], row["start_ps"] + row["fct_ps"]):
        if step.part != "data":
            continue
        came = step.begin + step.wire_bytes * 800 + 1_000_000
        for one in sorted((one for one in sent if one["seq"] == step.number and step.begin < one["time_ps"] < step.end),
                          key=lambda one: one["time_ps"]):  # fmt: skip
            waits[one["interface"]] = waits.get(one["interface"], 0.0) + (one["time_ps"] - came) / 1e6
            came = one["time_ps"] + one["wire_bytes"] * 800 + 1_000_000
    assert {link: us for link, us in spent.queues.items() if us > 1e-3 and link != parts.ELSEWHERE} == pytest.approx(
        {link: us for link, us in waits.items() if us > 1e-3}
    )


def test_a_sender_by_rate_is_not_let_go_by_answers() -> None:
    rdma = INCAST | {"preset": "selb", "traffic": [SENDERS | {"size_bytes": 500_000}]}
    a, b = (spinewise.run(rdma | {"transport": {"dcqcn_increase_timer_us": timer}}) for timer in (300, 30))
    found = differ(a, b, Asked(percentile=50))
    assert found.crossings.a == found.crossings.b == 1.0
    held = part(found, parts.HELD)
    assert held.share > 0.5
    words = "longer" if held.more > 0.0 else "less time"
    assert told_apart.reason(found, held) == f"their rates or pauses held senders back for {words}"
    assert parts.answers_of({"kind": "rdma", "recovery": "irn"}) == "at once"
    assert parts.answers_of({"kind": "rdma", "recovery": "go_back_n", "window_bytes": 9}) == "at once"


def test_trimmed_packets_are_told_with_their_link() -> None:
    fabric = FABRIC | {
        "leaves": 4,
        "spines": 8,
        "hosts_per_leaf": 8,
        "override": [{"spine": 3, "leaf": 0, "rate_gbps": 2.5}],
    }
    uet = {"preset": "uet", "topology": fabric, "traffic": [{"kind": "permutation", "size_bytes": 400_000}]}
    one, two = (spinewise.run(uet | {"scheme": {"name": name}}) for name in ("oblivious", "reps"))
    found = differ(one, two, Asked(percentile=75))
    places = {place.name for place in part(found, parts.RESENT).places}
    assert places & {"were trimmed at spine3->leaf0", "were trimmed at leaf0->spine3"}
    assert all("spine" in place or "host" in place or place in {parts.LATE, parts.LOST_ACKS} for place in places)


def test_nothing_differs() -> None:
    run = spinewise.run(BURST)
    found = differ(run, run, Asked(), ("one", "two"))
    assert found.same
    assert not found.parts
    text = told_apart.tell(differ(run, run, Asked(flow=0), ("one", "two")))
    assert text.startswith("Nothing differs: one and two have the same outcome, bit for bit.\n\nThe flows are the same")
    assert "What it waited for, one thing after the other, µs:\n" in text
    assert told_apart.tell(found).splitlines()[0] == "Nothing differs: one and two have the same outcome, bit for bit."
    short = spinewise.run(BURST | {"run": {"until_us": 5}})
    assert told_apart.tell(differ(short, short, Asked(flow=0), ("one", "one"))) == "Flow 0 had not finished."
    same_time = spinewise.run(BURST | {"scheme": {"name": "rps"}})
    text = told_apart.tell(differ(run, same_time, Asked()))
    assert " in both runs." in text.splitlines()[0]


def test_a_part_is_never_told_as_more_than_the_whole() -> None:
    """It said "+203.8 µs of +107.8 µs a flow"."""
    found = differ(spinewise.run(BURST), spinewise.run(slow(rate_gbps=2.5)), Asked())
    first = found.parts[0]
    for share, flow, said in (
        (2.5, None, "+25.00 µs a flow, partly offset elsewhere; in all +10.00 µs"),
        (2.5, 7, "+25.00 µs, partly offset elsewhere; in all +10.00 µs"),
        (0.5, None, "+5.000 µs of +10.00 µs a flow"),
        (1.0, 7, "+10.00 µs of +10.00 µs"),
    ):
        one = replace(first, a=0.0, b=10.0 * share, share=share)
        assert told_apart.out_of(replace(found, asked=Asked(flow=flow), mean_examined=10.0), one) == said


def test_percentiles_of_several_entries_are_told_to_be_of_all() -> None:
    small = WEB_SEARCH | {"load": 0.2, "duration_us": 1000}
    both = WEB | {"traffic": [small | {"name": "a"}, small | {"name": "b"}]}
    one, two = (spinewise.run(both | {"scheme": {"name": name}}) for name in ("ecmp", "letflow"))
    found = differ(one, two, Asked())
    assert found.entries == ["a", "b"]
    text = told_apart.tell(found)
    assert text.startswith("The p99 of completion time of all entries together is ")
    assert "\n--entry NAME tells one entry alone: a or b.\n" in text
    text = told_apart.tell(differ(one, two, Asked(entry="b")))
    assert text.startswith("The p99 of completion time of flows of b is ")
    assert "--entry NAME" not in text


def test_flows_that_did_not_finish_come_first(web: tuple[Result, Result]) -> None:
    cut = spinewise.run(WEB | {"scheme": {"name": "letflow"}, "run": {"stop": "time", "until_us": 5100}})
    found = differ(web[0], cut, Asked())
    left = found.sides[1].unfinished
    assert left == int((~numbers(cut.flows, "finished").astype(bool)).sum()) > 3
    assert len(found.sides[0].only) == left
    text = told_apart.tell(found)
    assert f"The two do not compare: {left} flows finished in ecmp alone" in text.splitlines()[0]
    flow = found.sides[0].only[0]
    text = told_apart.tell(differ(web[0], cut, Asked(flow=flow)))
    assert text.startswith(f"Flow {flow} had not finished in letflow, so there is nothing to compare.")


def test_one_flow_in_both(web: tuple[Result, Result]) -> None:
    flow = differ(*web, Asked()).pairs[0].flow
    found = differ(*web, Asked(flow=flow))
    assert [one.flow for one in found.pairs] == [flow]
    one, two = (numbers(run.flows, "fct_ps")[flow] / 1e6 for run in web)
    assert found.sides[0].value == pytest.approx(one)
    assert found.sides[1].value == pytest.approx(two)
    assert told_apart.tell(found).startswith(f"Flow {flow} took ")


def test_slowdowns_are_in_multiples_of_the_ideal(web: tuple[Result, Result]) -> None:
    found = differ(*web, Asked(measure="slowdown", percentile=90))
    flows = [one.flow for one in found.pairs]
    one, two = (numbers(run.flows, "slowdown")[flows] for run in web)
    assert found.mean == pytest.approx((two - one).mean())
    assert told_apart.tell(found).startswith("The p90 of slowdown is ")


def test_what_cannot_be_paired_is_refused(web: tuple[Result, Result]) -> None:
    def refused(b: Result, asked: Asked | None = None) -> SpecError:
        with pytest.raises(SpecError) as caught:
            differ(web[0], b, asked or Asked())
        return caught.value

    error = refused(spinewise.run(WEB | {"scheme": {"name": "ecmp"}}, seed=2))
    assert error.key in {"flows", "traffic_hash"}
    assert "--seed 1" in str(error.hint)
    other = WEB | {"traffic": [WEB_SEARCH | {"load": 0.3}]}
    error = refused(spinewise.run(other))
    assert (error.key, error.value) != ("", "")
    assert "traffic[0].load" in str(error.hint)
    error = refused(spinewise.run(WEB | {"metrics": {"keep_flows_up_to": 1}}))
    assert error.key == "flows"
    assert "keep_flows_up_to" in str(error.hint)
    faster = WEB | {"topology": WIDE | {"host_delay_ns": 500}}
    run = spinewise.run(faster)
    error = refused(run, Asked(measure="slowdown"))
    assert error.key == "ideal_fct_ps"
    assert "without --slowdown" in str(error.hint)
    found = differ(web[0], run, Asked())
    assert found.other_ideals == web[0].flows.num_rows
    assert "The ideals of" in told_apart.tell(found)
    for asked in (Asked(entry="x"), Asked(size_class="x"), Asked(flow=10**6)):
        assert refused(web[1], asked).allowed


def test_a_run_that_cannot_be_repeated_is_compared_by_its_table(web: tuple[Result, Result]) -> None:
    one, two = web
    changed = replace(two, report={**two.report, "outcome_hash": "0000000000000000"})
    found = differ(one, changed, Asked())
    assert found.unexamined is not None
    assert not found.parts
    assert found.mean == pytest.approx(differ(one, two, Asked()).mean)
    text = told_apart.tell(found)
    assert "What the time was spent on is not known: letflow does not come out as it did" in text
    linux = replace(two, report=cast(Report, {**two.report, "linux": {}}))
    assert "was measured on Linux" in str(differ(one, linux, Asked()).unexamined)


def test_entries_and_classes_choose_flows(web: tuple[Result, Result]) -> None:
    found = differ(*web, Asked(size_class="short"))
    assert found.sides[0].finished == int((numbers(web[0].flows, "size_bytes") < 100_000).sum())
    assert all(one.size_bytes < 100_000 for one in found.pairs)
    assert told_apart.tell(found).startswith("The p99 of completion time of short flows is ")
    chosen = pairs.Pairs(*web, ("a", "b"), Asked(entry="poisson"))
    assert chosen.counts.all()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    spinewise.run(BURST).write(a)
    spinewise.run(slow(rate_gbps=2.5)).write(b)
    assert main(["explain", a, b]) == 0
    text = capsys.readouterr().out
    assert text.startswith("The p99 of completion time is ")
    assert "topology.override" in text
    assert f"spinewise explain {a} {b} --flow 0" in text
    assert main(["explain", a, b, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["parts"][0]["name"] == parts.QUEUES
    assert told["pairs"][0]["most"][0] == parts.QUEUES
    assert main(["explain", a, b, "--flow", "0"]) == 0
    assert f"spinewise explain {b} --flow 0" in capsys.readouterr().out
    for args in (
        [a, b, "--hurt"],
        [a, b, "--all"],
        [a, b, "--from", "0"],
        [a, b, "--flow", "0", "--slowdown"],
        [a, "--percentile", "90"],
        [a, "--class", "none"],
        [a, b, "--percentile", "100"],
        [a, str(tmp_path / "none")],
    ):
        assert main(["explain", *args]) == 2, args
        assert "allowed" in capsys.readouterr().err


def test_a_stream_finds_the_last_packet_and_its_earlier_sending() -> None:
    run = spinewise.run(INCAST | {"switch": {"buffer_packets": 60}})
    flow = int(np.argmax(numbers(run.flows, "retransmits")))
    made = again.repeated(run, [flow], [], "A")
    accounts = parts.Accounts(made)
    row = run.flows.slice(flow, 1).to_pylist()[0]
    found: chain.Chain = accounts.chain(flow, f"host{row['src']}->leaf{row['src'] // 8}", "host0->leaf0")
    out = found.data.out
    # Ports captured packets until the flow had arrived; its sender may send some again after that.
    assert 0 < sum(out.again) <= row["retransmits"]
    sent_again = out.again.index(True)
    before = out.earlier(sent_again)
    assert before is not None
    assert out.keys[before] == out.keys[sent_again]
    assert before < sent_again
    steps = list(found.steps(row["start_ps"], row["start_ps"] + row["fct_ps"]))
    assert steps[0].end == row["start_ps"] + row["fct_ps"]
    assert steps[-1].begin == row["start_ps"]
    assert all(later.begin == earlier.end for later, earlier in pairwise(steps))


def test_a_small_part_is_not_called_most_of_it() -> None:
    """The same bytes go out in both runs, so the sender's own packets are named only if nothing else is."""
    found = differ(spinewise.run(BURST), spinewise.run(slow(rate_gbps=2.5)), Asked())
    own, queues = part(found, parts.OWN), part(found, parts.QUEUES)
    shares = [replace(own, b=own.a + 30.0, share=0.75), replace(queues, b=8.0, share=0.2)]
    first = told_apart.answer(replace(found, parts=shares))
    assert "in part because data waited longer in queues" in first
    assert "earlier packets" not in first
    assert "mostly because the senders' ports were busier" in told_apart.answer(replace(found, parts=shares[:1]))
