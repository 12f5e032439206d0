"""The recorded cases of TCP: names, settings and terms; and our runs beside theirs where this machine has them."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

import recorded_cases
import spinewise
from spinewise.agreement import comparison, recorded, scores, setting, terms
from spinewise.errors import SpecError
from spinewise.measures.tables import numbers
from spinewise.shapes import Traffic, Transport

HEADER = "src,dst,size_bytes,start_ns,fct_ns\n"
ROWS = "0,9,1400,0,300000\n31,2,20000000,5,40000000\n8,17,99999,7,900000\n8,17,100000,7,1000000\n"
SALTS = 16


def write(path: Path, text: str = HEADER + ROWS) -> Path:
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("dctcp-ecmp-sym", "dctcp-letflow-asym"):
        write(tmp_path / f"{name}.csv.gz")
    return tmp_path


def test_names_say_scheme_and_fabric(folder: Path) -> None:
    write(folder / "dctcp-ecmp-odd.csv.gz")
    cases, _, skipped = recorded.find(folder)
    assert [(case.scheme, case.mode, case.load, case.baseline) for case in cases] == [
        ("ecmp", "tcp", "sym", "dctcp-ecmp-sym"), ("letflow", "tcp", "asym", "dctcp-ecmp-asym"),
    ]  # fmt: skip
    assert [line.split(":")[0] for line in skipped] == ["dctcp-ecmp-odd.csv.gz"]
    flows = recorded.read(cases[0])
    assert flows.fct_ns.tolist() == [300_000, 40_000_000, 900_000, 1_000_000]
    assert not flows.ideal_fct_ns.any()


def test_one_case_can_be_given_by_its_file(folder: Path) -> None:
    file = folder / "dctcp-letflow-asym.csv.gz"
    cases, there, _ = recorded.find(file)
    assert [case.name for case in cases] == ["dctcp-letflow-asym"]
    assert [case.name for case in there] == ["dctcp-ecmp-sym", "dctcp-letflow-asym"], "baselines may lie beside it"
    with pytest.raises(SpecError, match="no such option where DIR is the file of one case"):
        recorded.find(file, ["dctcp-*"])
    for name in ("flows.csv.gz", "dctcp-ecmp-sym.csv"):
        with pytest.raises(SpecError, match="this is a file of another name"):
            recorded.find(write(folder / name))


def test_a_file_without_completion_times_is_refused(folder: Path) -> None:
    write(folder / "dctcp-ecmp-sym.csv.gz", "src,dst,size_bytes,start_ns\n0,9,1,0\n")
    case = recorded.find(folder, ["dctcp-ecmp-sym"])[0][0]
    with pytest.raises(SpecError, match="the columns src, dst, size_bytes, start_ns, fct_ns"):
        recorded.read(case)


def test_the_specs_of_both(folder: Path) -> None:
    sym, asym = comparison.plan(folder, 2).tasks(folder)[:2]
    assert sym.spec == {
        "name": "dctcp-ecmp-sym",
        "seed": 2,
        "preset": "ns3-hermes",
        "topology": {
            "kind": "leaf_spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 8,
            "host_rate_gbps": 10, "fabric_rate_gbps": 10, "host_delay_ns": 10_000, "fabric_delay_ns": 10_000,
            "tx_time_rounding": "floor_1ns",
        },
        "scheme": {"name": "ecmp", "hash_salt": 1},
        "traffic": [{"kind": "flows", "file": str(folder / "dctcp-ecmp-sym.csv")}],
        "run": {"until_us": 300_000},
    }  # fmt: skip
    assert asym.spec["topology"]["override"] == [{"leaf": 0, "spine": 3, "rate_gbps": 2}]
    resolved = spinewise.core.resolve(asym.spec)
    assert resolved["scheme"]["params"]["flowlet_gap_us"] == 500
    switch, transport = resolved["switch"], resolved["transport"]
    assert (switch["ecn_threshold_bytes"], switch["buffer_bytes"]) == (91_000, 840_000)
    assert (switch["device_queue_packets"], switch["nics"]) == (10, "queue")
    assert (transport["max_burst_segments"], transport["handshake"], transport["fin"]) == (2, True, True)
    assert (transport["mss_bytes"], transport["header_bytes"], transport["ack_bytes"]) == (1400, 54, 54)


def test_times_by_classes_of_their_own() -> None:
    size = np.array([99_999, 100_000, 10_000_000, 10_000_001])
    times = terms.TIMES.values(np.array([1_000_000, 2_000_000, 0, 5_000_000]), size)
    assert times[[0, 1, 3]].tolist() == [1.0, 2.0, 5.0]
    assert math.isnan(times[2])
    table = terms.TIMES.statistics(size, times)
    assert (table[0, 0], table[1, 0], table[2, 0]) == (pytest.approx(8 / 3), 1.0, 5.0)
    found = scores.scores(table, np.stack([table, table]), terms.TIMES.shown)
    assert {name: tuple(row) for name, row in found.items()} == terms.TIMES.shown


def cases_here() -> list[recorded.Recorded]:
    paths = recorded_cases.present("dctcp-*.csv.gz")
    return recorded.find(paths[0].parent, ["dctcp-*"])[0] if paths else []


def test_no_flow_of_theirs_is_faster_than_two_segments_an_acknowledgement() -> None:
    """Handshake, rounds of 2, 4, 8 … segments, closing: 80 µs each, and the last data goes one way only."""
    for case in cases_here():
        flows = recorded.read(case)
        rounds = np.ceil(np.log2(-(-flows.size_bytes // 1400) / 2 + 1)) + 2
        rest = flows.fct_ns - (rounds - 0.5) * 80_000
        assert (rest > 0).all()
        # Some meet next to nothing: with ten segments at the start those of three rounds more would be 80 µs below.
        assert all(rest[rounds == n].min() < 15_000 for n in (3.0, 4.0, 5.0))


def test_our_runs_could_be_theirs() -> None:
    """Every statistic within 3 standard deviations, but for the mean of six long flows, which has a heavy tail."""
    cases = cases_here()
    if not cases:
        return
    planned = comparison.plan(cases[0].path.parent, SALTS, ["dctcp-*"])
    for agreement in comparison.compare(planned, comparison.engine_runner()):
        assert agreement.finished == agreement.flows == 310
        for name, row in agreement.scores.items():
            for stat, score in row.items():
                bound = 6.0 if name == "long" else 3.0
                assert abs(score.z) <= bound, (agreement.case, name, stat, score)
        short = agreement.scores["short"]["mean"]
        assert short.ours == pytest.approx(short.theirs, rel=0.15)


def test_the_mechanisms_of_that_code_are_what_makes_them_agree() -> None:
    """With ten segments at the start and NICs that pull, short flows are far too fast."""
    for case in cases_here():
        planned = comparison.plan(case.path.parent, 4, [case.name])
        flows = planned.flows[case.name]
        short = flows.size_bytes < 100_000
        theirs = flows.fct_ns[short].mean()
        found = []
        for salt in planned.salts:
            traffic: list[Traffic] = [
                {"kind": "flows", "list": [
                    {"src": int(a), "dst": int(b), "size_bytes": int(c), "start_ns": int(d)}
                    for a, b, c, d in zip(flows.src, flows.dst, flows.size_bytes, flows.start_ns, strict=True)
                ]}
            ]  # fmt: skip
            spec = setting.spec_of(case, planned.fabrics[case.name], Path("unused"), salt, {"name": case.scheme})
            plain: Transport = {"max_burst_segments": 0, "handshake": False}
            spec |= {"traffic": traffic, "transport": plain, "switch": {"nics": "pull", "device_queue_packets": 0}}
            fct = comparison.our_fct_ns(flows, spinewise.run(spec).flows, "fct_ps")
            found.append(fct[short].mean())
        assert np.mean(found) < 0.7 * theirs


def test_close_fct_is_a_column_of_time() -> None:
    spec = {"preset": "ns3-hermes", "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 5, "size_bytes": 1}]}]}
    table = spinewise.run(spec).flows
    fct, sender, close = (int(numbers(table, name)[0]) for name in ("fct_ps", "sender_fct_ps", "close_fct_ps"))
    assert fct < sender < close


def test_drill_is_theirs_by_what_that_code_makes_of_disorder() -> None:
    """Every statistic within 3 standard deviations; with duplicates acknowledged the mean is higher."""
    for path in recorded_cases.present("more/dctcp-drill-sym.csv.gz"):
        planned = comparison.plan(path.parent, SALTS, ["dctcp-drill-sym"])
        (agreement,) = comparison.compare(planned, comparison.engine_runner())
        assert agreement.finished == agreement.flows == 310
        for name, row in agreement.scores.items():
            for stat, score in row.items():
                assert abs(score.z) <= 3.0, (name, stat, score)
        assert abs(agreement.scores["all"]["mean"].relative) < 0.02
        planned.given["dctcp-drill-sym"].tables["transport"] = {"ack_duplicates": True}
        (without,) = comparison.compare(planned, comparison.engine_runner())
        assert without.scores["all"]["mean"].relative > agreement.scores["all"]["mean"].relative + 0.02


def test_what_arrives_first_moves_flows_on_under_drill() -> None:
    """With that code's buffer, on its clock, the mean is within an eighth of theirs; exact times take it off."""
    for path in recorded_cases.present("more/dctcp-drill-rb-sym.csv.gz"):
        planned = comparison.plan(path.parent, SALTS, ["dctcp-drill-rb-sym"])
        (clock,) = comparison.compare(planned, comparison.engine_runner())
        assert clock.finished == clock.flows == 310
        planned.given["dctcp-drill-rb-sym"].tables["topology"] = {"tx_time_rounding": "exact"}
        (exact,) = comparison.compare(planned, comparison.engine_runner())
        near, far = (found.scores["all"]["mean"].relative for found in (clock, exact))
        assert 0 < near < 0.125 < far


def test_a_connection_that_meets_nobody_takes_one_look_more_with_that_codes_buffer() -> None:
    """10 us, to the nanosecond: what two flows of the recorded cases take more, and what one of ours does."""
    times = {}
    for path in recorded_cases.present("more/dctcp-drill*.csv.gz"):
        (case,), _, _ = recorded.find(path.parent, [path.name.removesuffix(".csv.gz")])
        times[case.label] = recorded.read(case).fct_ns[:2]
    if times:
        assert (times["rb"] - times[""]).tolist() == [10_000, 10_000]
    found = {}
    for buffer in ("off", "periodic"):
        flow = {"src": 0, "dst": 5, "size_bytes": 24_414}
        spec = {
            "preset": "ns3-hermes",
            "transport": {"resequencing": buffer, "resequencing_in_order_us": 5},
            "traffic": [{"kind": "flows", "list": [flow]}],
        }
        found[buffer] = int(numbers(spinewise.run(spec).flows, "close_fct_ps")[0])
    assert found["periodic"] == found["off"] + 10_000_000
