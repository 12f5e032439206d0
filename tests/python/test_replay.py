"""ECMP as ConWeave's code hashes: vectors, the bytes on every uplink, and our run against both, path for path."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recorded_cases
import replay
import spinewise
from spinewise.agreement import comparison, recorded, setting, ties, worth
from spinewise.agreement import replay as follow
from spinewise.agreement.recorded import Flows, Recorded
from spinewise.cli import main
from spinewise.measures.tables import numbers

PAUSE_FRAME = 43
# From an independent implementation of MurmurHash3_x86_32, compared with ConWeave's function compiled alone.
VECTORS = [
    (0, 16, 10000, 100, 128, 0x0C453FC9, 1),
    (0, 16, 10001, 100, 128, 0xF98385CB, 3),
    (1, 127, 10000, 100, 128, 0x08B142B5, 5),
    (16, 0, 100, 10000, 129, 0xB0F6CCDA, 2),
    (127, 0, 10000, 101, 135, 0x13C925B8, 0),
]


@pytest.mark.parametrize("vector", VECTORS)
def test_the_hash_has_these_values(vector: tuple[int, ...]) -> None:
    *packet, switch, expected, uplink = vector
    src, dst, sport, dport = packet
    assert replay.ecmp_hash(src, dst, sport, dport, switch) == expected
    assert expected % 8 == uplink


def test_the_prediction_follows_the_vectors() -> None:
    """One flow of three packets, uplink 1 forth and 2 back; a flow inside a rack takes none."""
    found = replay.uplink_load(recorded_cases.flows([(0, 16, 2500, 0), (20, 21, 9000, 1)]))
    assert len(found) == 64
    assert {name: load for name, load in found.items() if load != (0, 0)} == {
        "leaf0->spine1": (3, 2500 + 3 * 48),
        "leaf1->spine2": (3, 3 * 60),
    }


def test_the_lone_flow_is_a_sum_of_cut_times() -> None:
    # 1048 B take 83.84 ns, cut to 83; 5 + 48 B 4.24, cut to 4; the acknowledgement 4.8, cut to 4.
    assert replay.lone_fct_ns(1000, 2) == 2 * 83 + 4_000 + 2 * 4
    assert replay.lone_fct_ns(1005, 4) == 4 * 83 + 4 + 8_000 + 4 * 4


def flows_to_replay() -> list[tuple[Flows, Recorded | None]]:
    """A random list, and the recorded ECMP cases where they are there."""
    found: list[tuple[Flows, Recorded | None]] = [(recorded_cases.flows(recorded_cases.random_rows(2_000)), None)]
    for path in recorded_cases.present("*-ecmp.csv.gz"):
        if not path.name.startswith("dctcp"):
            (case, *_), _, _ = recorded.find(path.parent, [path.name.removesuffix(".csv.gz")])
            found.append((recorded.read(case), case))
    return found


def test_the_prediction_loses_no_byte() -> None:
    """What the uplinks of a rack carry is what its hosts send elsewhere, whichever uplinks are taken."""
    for flows, _ in flows_to_replay():
        expected: Counter[int] = Counter()
        for src, dst, size in zip(flows.src // 16, flows.dst // 16, flows.size_bytes, strict=True):
            if src != dst:
                packets = -(-int(size) // 1000)
                expected[int(src)] += int(size) + 48 * packets
                expected[int(dst)] += 60 * packets
        found: Counter[int] = Counter()
        for name, (_, size) in replay.uplink_load(flows).items():
            assert size > 0
            found[int(name.partition("->")[0].removeprefix("leaf"))] += size
        assert found == expected


# Frames, acknowledgements and paths as recorded, under a transport that loses and repeats nothing in a large buffer.
TCP_ON_THESE_PATHS: dict[str, Any] = {
    "preset": "datacenter",
    "topology": {"leaves": 8, "spines": 8, "hosts_per_leaf": 16, "host_rate_gbps": 100, "fabric_rate_gbps": 100},
    "transport": {"kind": "dctcp", "mss_bytes": 1000, "header_bytes": 48, "ack_bytes": 60},
    "switch": {"buffer_bytes": 10**9, "ecn_threshold_bytes": 100_000},
    "scheme": {"name": "ecmp", "hash": "murmur3", "acks": "ecmp"},
}


def test_the_engines_hash_takes_the_predicted_paths_under_any_transport(tmp_path: Path) -> None:
    """All 64 uplinks byte for byte; another salt places flows otherwise."""
    for flows, _ in flows_to_replay():
        path = tmp_path / "flows.csv"
        path.write_text(setting.flow_csv(flows))
        spec = {**TCP_ON_THESE_PATHS, "traffic": [{"kind": "flows", "file": str(path)}]}
        result = spinewise.run(spec)
        assert numbers(result.flows, "retransmits").sum() == 0
        predicted = replay.uplink_load(flows)
        assert uplinks(result, predicted) == predicted
    salted = spinewise.run({**spec, "scheme": {**spec["scheme"], "hash_salt": 8}})
    assert {link["name"]: link["bytes"] for link in salted.report["links"]} != {
        link["name"]: link["bytes"] for link in result.report["links"]
    }


def replayed(flows: Flows, mode: str, folder: Path, seed: int = 0) -> spinewise.Result:
    """Our run with the hash of the recorded one; the seed sets which packets of a queue that marks some are marked."""
    case = Recorded(f"x1-{mode}-ecmp", folder, "x", "1", mode, "ecmp")
    path = folder / f"{mode}.csv"
    path.write_text(setting.flow_csv(flows))
    spec = setting.spec_of(case, setting.fabric_of(flows), path, 0, {"name": "ecmp"})
    return spinewise.run({**spec, "seed": seed})


def uplinks(result: spinewise.Result, predicted: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """What our uplinks carried, pauses apart: packets beyond the predicted ones are frames of 43 B or a mistake."""
    found = {link["name"]: (link["packets"], link["bytes"]) for link in result.report["links"]}
    extra = {name: found[name][0] - packets for name, (packets, _) in predicted.items()}
    assert sum(extra.values()) <= result.report["counters"]["pause_frames"]["packets"]
    return {name: (found[name][0] - more, found[name][1] - PAUSE_FRAME * more) for name, more in extra.items()}


def test_our_runs_take_the_predicted_paths(tmp_path: Path) -> None:
    """All 64 uplinks byte for byte."""
    for flows, case in flows_to_replay() if recorded_cases.engine_has_the_preset() else []:
        lossless = case is None or case.mode == "lossless"
        result = replayed(flows, "lossless" if lossless else "irn", tmp_path)
        sent_again = int(numbers(result.flows, "retransmits").sum())
        assert not (lossless and sent_again)
        if not sent_again:
            predicted = replay.uplink_load(flows)
            assert uplinks(result, predicted) == predicted


SEEDS = 6


def test_our_runs_agree_with_theirs_flow_by_flow(tmp_path: Path) -> None:
    """Where no packet has been marked by chance, to 10 ns; later, as one run of ours agrees with another.

    Which packets of a half-full queue are marked is drawn at random, in theirs as in ours: from the first mark on, two
    runs drift apart, and two of our own seeds differ by as much as ours and theirs.
    """
    for flows, case in flows_to_replay():
        if case is None:
            continue
        seeds = [replayed(flows, case.mode, tmp_path, seed) for seed in range(1, SEEDS + 1)]
        ours = np.array([comparison.sender_fct_ns(flows, result.flows) for result in seeds])
        before_any_mark_matters(flows, ours)
        typical = np.median(ours, axis=0)
        assert np.median(np.abs(typical - flows.fct_ns) / flows.fct_ns) < 0.02
        mine, given = (np.maximum(1.0, fct / flows.ideal_fct_ns) for fct in (ours, flows.fct_ns))
        assert mine.mean() == pytest.approx(given.mean(), rel=0.02)
        for statistic in (np.mean, lambda x: at_rank(x, 0.95), lambda x: at_rank(x, 0.99)):
            each = np.array([statistic(one) for one in mine])
            z = (statistic(given) - each.mean()) / (each.std(ddof=1) * np.sqrt(1 + 1 / SEEDS))
            assert abs(z) < 3


# Of the pairs of flows that start in one nanosecond, those started the other way round than the files have them.
SWAPPED = [4727, 7406, 8849, 9448, 14199, 17361, 18617, 18775]


def test_their_runs_come_out_again_to_the_nanosecond() -> None:
    """Followed event by event, every flow of the recorded cases takes the time it took there."""
    for path in [*recorded_cases.present("ali50-*.csv.gz"), *recorded_cases.present("more/ali50-*.csv.gz")]:
        name = path.name.removesuffix(".csv.gz")
        if name.endswith(follow.FOLLOWED):
            (case,) = follow.plan(path.parent, [name])
            found = follow.replay(case, recorded.read(case), SWAPPED)
            assert (found.equal, found.first) == (1.0, None), name
            assert set(found.swapped) <= set(SWAPPED)
            assert not found.problems


def test_a_run_at_high_load_comes_out_again_too() -> None:
    """A switch draws more numbers there than any does in the other cases."""
    for path in recorded_cases.present("more/ali80-irn-ecmp.csv.gz"):
        (case,) = follow.plan(path.parent, [path.name.removesuffix(".csv.gz")])
        found = follow.replay(case, recorded.read(case), [10128, 17383])
        assert (found.equal, found.first) == (1.0, None)


def test_drill_is_not_followed_without_what_it_brings_out() -> None:
    """What ends in the first 150 us is equal, but not if receivers outlive their senders, or IRN steps as it sends."""
    until = 150_000
    for path in recorded_cases.present("more/ali50-*-drill.csv.gz"):
        (case,) = follow.plan(path.parent, [path.name.removesuffix(".csv.gz")])
        every = recorded.read(case)
        flows = ties.first_of(every, int((every.start_ns < until).sum()))
        assert (worth.runner(case, until, None)(flows, []) == flows.fct_ns).all(), case.name
        for rule in ("receivers_anew", *(["steps_at_looks"] if case.mode == "irn" else [])):
            assert (worth.runner(case, until, rule)(flows, []) != flows.fct_ns).any(), (case.name, rule)


def test_the_order_found_for_one_case_serves_the_next(tmp_path: Path) -> None:
    rows = recorded_cases.random_rows(200)
    at = rows[100][3] - 1
    rows[100:100] = [(7, 90, 3_000, at), (40, 20, 400_000, at)]
    given = recorded_cases.flows(rows)
    for scheme in ("conweave", "letflow"):
        path = recorded_cases.write(tmp_path / f"x1-irn-{scheme}.csv.gz", given)
        (case,) = follow.plan(tmp_path, [path.name.removesuffix(".csv.gz")])
        theirs = follow.run_once(case, given, [100], follow.followed, setting.fabric_of(given))
        recorded_cases.write(path, replace(given, fct_ns=theirs))
    runs = []

    def counted(spec: Any) -> Any:
        runs.append(spec["scheme"]["name"])
        return follow.followed(spec)

    found = list(follow.replays(follow.plan(tmp_path, []), counted))
    assert [(one.equal, one.swapped) for one in found] == [(1.0, [100])] * 2
    assert runs.count("letflow") == 1
    assert runs.count("conweave") > 1


@pytest.mark.parametrize("scheme", ["ecmp", "letflow", "drill", "conweave"])
def test_following_takes_flows_that_start_at_once_in_the_order_that_fits(scheme: str, tmp_path: Path) -> None:
    """A run of our own, recorded with two flows the other way round than the file has them, is found again."""
    rows = recorded_cases.random_rows(300)
    rows[100:100] = [(7, 90, 3_000, rows[100][3]), (7, 20, 400_000, rows[100][3])]
    if scheme != "ecmp":
        # These share no host, but they draw from one stream.
        rows[101] = (40, 20, 400_000, rows[101][3])
    given = recorded_cases.flows(rows)
    name = recorded_cases.write(tmp_path / f"x1-irn-{scheme}.csv.gz", given).name.removesuffix(".csv.gz")
    (case,) = follow.plan(tmp_path, [name])
    fabric = setting.fabric_of(given)
    assert follow.ambiguous(given, case)[:1] == [100]
    theirs = follow.run_once(case, given, [100], follow.followed, fabric)
    assert (theirs != follow.run_once(case, given, [], follow.followed, fabric)).any()
    recorded_cases.write(case.path, replace(given, fct_ns=theirs))
    found = follow.replay(case, recorded.read(case))
    assert (found.swapped, found.equal, found.problems) == ([100], 1.0, [])
    # One flow that took twice as long is told.
    other = theirs.copy()
    other[5] *= 2
    recorded_cases.write(case.path, replace(given, fct_ns=other))
    found = follow.replay(case, recorded.read(case))
    assert found.first == {"flow": 5, "ours_ns": theirs[5], "theirs_ns": other[5]}
    assert found.equal < 1.0


def test_following_is_for_schemes_whose_draws_are_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded_cases.write(tmp_path / "x1-irn-presto.csv.gz", recorded_cases.flows([(0, 16, 2500, 0)]))
    assert main(["validate-against", str(tmp_path), "--follow"]) == 2
    assert "cases of ecmp, letflow, conga, drill, conweave over RDMA" in " ".join(capsys.readouterr().err.split())
    recorded_cases.write(tmp_path / "x1-irn-ecmp.csv.gz", recorded_cases.flows([(0, 16, 2500, 0)]))
    assert main(["validate-against", str(tmp_path), "--follow", "--without-rerouting"]) == 2
    assert main(["validate-against", str(tmp_path), "--follow", "--json", "-"]) == 1


def before_any_mark_matters(flows: Flows, ours: Any) -> None:
    """Of the first thousand flows those that meet no queue in theirs meet none in ours, but for one or the other."""
    first = slice(0, 1000)
    links = np.where(flows.src // 16 == flows.dst // 16, 2, 4)
    lone = [replay.lone_fct_ns(int(size), int(hops)) for size, hops in zip(flows.size_bytes, links, strict=True)]
    alone = flows.fct_ns[first] <= np.array(lone)[first]
    assert alone.sum() > 50
    assert (np.abs(ours[:, first] - flows.fct_ns[first])[:, alone] <= 10).mean() > 0.99


def at_rank(values: Any, p: float) -> float:
    """The value that a share ``p`` of all is below."""
    return float(np.sort(values)[int(p * len(values))])
