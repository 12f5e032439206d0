"""How long packets are under way without waiting, if their paths were not traced: what the topology says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import spinewise
from spinewise.cli import main
from spinewise.explanation import again, parts, told_apart
from spinewise.explanation.differ import Difference, Part, differ
from spinewise.explanation.pairs import Asked
from spinewise.explanation.shortest import Shortest
from spinewise.runs.result import Result

# Eight hosts at each of two leaves, and one path between them.
ONE_PATH = {
    "leaves": 2,
    "spines": 1,
    "hosts_per_leaf": 8,
    "host_rate_gbps": 10,
    "fabric_rate_gbps": 80,
    "host_delay_ns": 1000,
    "fabric_delay_ns": 1000,
}
TWO_PATHS = ONE_PATH | {"spines": 2, "hosts_per_leaf": 2, "fabric_rate_gbps": 10}
BURST = {
    "preset": "datacenter",
    "topology": TWO_PATHS,
    "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 14_600, "start_ns": 0}]}],
}
INCAST = {"kind": "incast", "name": "burst", "receiver": 0, "senders": 7}


def part(found: Difference, name: str) -> Part:
    """A part by name; it must be there."""
    return next(one for one in found.parts if one.name == name)


def delayed(spines: tuple[int, ...]) -> Result:
    """`BURST` with 20 µs to some spines."""
    override = [{"spine": spine, "delay_ns": 20_000} for spine in spines]
    return spinewise.run(BURST | {"topology": TWO_PATHS | {"override": override}})


def test_the_only_packet_of_a_flow_waited_for_what_is_beyond_its_travel() -> None:
    """Of a flow of one packet, no quicker crossing is known: 1,040 bytes take 832 ns at 10 Gbit/s, and 104 at 80."""
    run = spinewise.run({"preset": "datacenter", "topology": ONE_PATH, "traffic": [INCAST | {"size_bytes": 1000}]})
    rows = run.flows.to_pylist()
    assert {row["src"] // 8 for row in rows} == {0, 1}
    waited = 0
    for row in rows:
        near = row["src"] < 8
        found = differ(run, run, Asked(flow=row["flow"]), ("A", "A"))
        travel = 2 * 0.832 + 2.0 if near else 2 * 0.832 + 2 * 0.104 + 4.0
        assert part(found, parts.TRAVEL).b == pytest.approx(travel)
        assert travel == pytest.approx(row["ideal_fct_ps"] / 1e6)
        wait = row["fct_ps"] / 1e6 - travel
        if wait > 1e-6:
            queues = part(found, parts.QUEUES)
            assert queues.b == pytest.approx(wait)
            assert queues.places[0].name == ("leaf0->host0" if near else parts.ELSEWHERE)
            waited += 1
    assert waited == len(rows) - 2


def test_the_queue_of_a_sender_by_rate_is_not_called_a_longer_path() -> None:
    """Its chain has one crossing, of the last packet."""
    spec = {"preset": "dcqcn-paper", "topology": ONE_PATH, "traffic": [INCAST | {"size_bytes": 60_000}]}
    early, late = spinewise.run(spec | {"switch": {"ecn_min_bytes": 2000, "ecn_max_bytes": 4000}}), spinewise.run(spec)
    found = differ(early, late, Asked(flow=3), ("early", "late"))
    assert found.crossings.a == found.crossings.b == 1.0
    assert found.crossing_us.a == found.crossing_us.b < early.flows.to_pylist()[3]["ideal_fct_ps"] / 1e6
    assert part(found, parts.TRAVEL).more == 0.0
    assert part(found, parts.QUEUES).more > 40.0
    first = told_apart.tell(found).splitlines()[0]
    assert "because data waited longer in queues (" in first
    assert not any(words in first for words in (*told_apart.PATHS, *told_apart.UNDER_WAY))


def test_longer_paths_are_told_only_where_all_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no flow traced, it is known how long packets take only if all paths are equally fast."""
    monkeypatch.setattr(again, "between_racks", lambda *_: [])
    plain = spinewise.run(BURST)
    found = differ(plain, delayed((0, 1)), Asked())
    assert (found.exact, found.examined) == (1, 1)
    assert part(found, parts.TRAVEL).more == pytest.approx(2 * (20.0 - 1.0))
    assert told_apart.PATHS[0] in told_apart.tell(found)
    assert told_apart.PATHS[0] not in told_apart.tell(replace(found, exact=0))
    assert told_apart.UNDER_WAY[0] in told_apart.tell(replace(found, exact=0))
    slow = next(run for run in (delayed((0,)), delayed((1,))) if run.flows.to_pylist()[0]["fct_ps"] > 40e6)
    found = differ(plain, slow, Asked())
    assert (found.exact, found.examined) == (0, 1)
    assert part(found, parts.TRAVEL).more == 0.0
    assert part(found, parts.QUEUES).more == pytest.approx(2 * (20.0 - 1.0))
    text = told_apart.tell(found)
    assert "Not all paths of this flow are known: packets are taken" in text
    assert not any(words in text for words in told_apart.PATHS)


def test_travel_is_known_if_all_shortest_paths_are_equally_fast() -> None:
    """The other path is slower, a fault may make it so, and within a rack packets wait for one link."""
    plain = Shortest(spinewise.run(BURST))
    whole = 4 * (1.2 + 1.0) * 1e6
    assert plain.travel("host0", "host2", 1500) == (whole, True, None)
    assert plain.travel("host0", "host1", 1500) == (whole / 2, True, "leaf0->host1")
    assert Shortest(delayed((1,))).travel("host0", "host2", 1500) == (whole, False, None)
    assert Shortest(delayed((0, 1))).travel("host0", "host2", 1500) == (whole + 2 * 19e6, True, None)
    fault = [{"kind": "rate", "ends": ["leaf0", "spine0"], "at_us": 1, "until_us": 9, "rate_gbps": 5}]
    broken = Shortest(spinewise.run(BURST | {"fault": fault}))
    assert broken.travel("host0", "host2", 1500) == (whole, False, None)
    assert broken.travel("host0", "host1", 1500) == (whole / 2, False, None)
    traffic = [{"kind": "permutation", "size_bytes": 1000}]
    run = spinewise.run({"preset": "datacenter", "topology": {"kind": "fat_tree", "k": 4}, "traffic": traffic})
    for row in run.flows.to_pylist():
        travel = Shortest(run).travel(f"host{row['src']}", f"host{row['dst']}", 1040)
        assert travel.exact
        assert travel.least == row["ideal_fct_ps"]


def test_the_list_of_flows_says_most_only_of_half() -> None:
    found = differ(spinewise.run(BURST), delayed((0, 1)), Asked())
    (pair,) = found.pairs
    assert pair.most is not None
    assert pair.most[0] == parts.TRAVEL
    assert "; mostly under way, +38.00 µs; " in told_apart.line(pair)
    few = told_apart.line(replace(pair, most=(parts.QUEUES, 0.4 * (pair.b_us - pair.a_us))))
    assert "; most: data in queues, +15.20 µs; " in few
    assert "mostly" not in few


def test_without_a_flow_moves_cannot_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "run")
    spinewise.run(BURST).write(folder)
    for option, *value in (["--all"], ["--from", "5"], ["--to", "6"]):
        for hurt in ([], ["--hurt"]):
            assert main(["explain", folder, *hurt, option, *value]) == 2
            told = capsys.readouterr().err
            assert option in told
            assert "--flow N" in told
        assert main(["explain", folder, "--flow", "0", option, *value]) == 0
        capsys.readouterr()
