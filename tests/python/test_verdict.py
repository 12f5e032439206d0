"""Which scheme is best, how surely, and what happened: verdicts, facts and the files that have them."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import samples
import spinewise as sw
from samples import TINY_TOML, TWO_ENTRIES
from spinewise.cli import main
from spinewise.comparison import answers, happened, measured, reasons, report, tables
from spinewise.comparison.cells import Cell, Comparison
from spinewise.comparison.plan import run_name
from spinewise.comparison.verdict import Verdict, verdicts
from spinewise.measures import facts, stats
from spinewise.measures.facts import Facts
from spinewise.measures.notices import Notice
from spinewise.measures.packets import Packets
from spinewise.specs.variants import parse_list

SEEDS = [1, 2, 3, 4]


def link(name: str, use: float, drops: int = 0, **more: Any) -> Any:
    """A link as a report has it."""
    counts = {"drops": drops, "marks": 0, "longest_queue_bytes": 0, "pauses": 0, "paused_ps": 0}
    return {"name": name, "fabric": "host" not in name, "utilisation": use, **counts, **more}


def cell(label: str, seed: int, fct_us: float, use: float, *, timeouts: int = 0, late: int = 0) -> Cell:
    """A run with two flows, one hot link between switches, and drops at a host."""
    made = samples.result(
        entry=[0, 0], size_bytes=[10, 10**6], fct_ps=[int(fct_us * 1e6), int(fct_us * 1e7)],
        slowdown=[1.0, 2.0], packets=[100, 100], out_of_order=[late, 0], timeouts=[timeouts, 0],
    )  # fmt: skip
    made.spec["traffic"] = [{"kind": "poisson", "name": "web"}]
    made.report["links"] = [link("leaf0->spine1", use), link("leaf0->host0", 0.1, 5 * timeouts)]
    made.report["counters"]["dropped"] = {"packets": 5 * timeouts, "bytes": 0}
    return Cell(label, None, seed, made.summary(), "00", f"t{seed}", 1.0, 100, min_rto_s=10e-3)


def comparison(schemes: dict[str, list[Cell]]) -> Comparison:
    found = [one for made in schemes.values() for one in made]
    seeds = sorted({one.seed for one in found})
    return Comparison({"name": "x"}, parse_list(list(schemes)), [None], seeds, found)


def three(**changes: Any) -> Comparison:
    """a: slow over a hot link; b: twice as fast, reorders; c: as b, give or take; every seed has its own pace."""
    pace = [1.0, 3.0, 10.0, 30.0]
    return comparison(
        {
            "a": [cell("a", s, 100 * p, 0.9 + 0.01 * s, **changes) for s, p in zip(SEEDS, pace, strict=True)],
            "b": [cell("b", s, 50 * p, 0.5 + 0.01 * s, late=4, **changes) for s, p in zip(SEEDS, pace, strict=True)],
            "c": [
                cell("c", s, 50 * p * (1.3 if s % 2 else 0.8), 0.5, **changes) for s, p in zip(SEEDS, pace, strict=True)
            ],
        }
    )


def text_of(what: Any, width: int = 118) -> str:
    out = Console(width=width, file=StringIO())
    out.print(what)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def words(what: Any) -> str:
    return " ".join(text_of(what).split())


def test_the_best_its_ties_and_what_differs() -> None:
    short, long = verdicts(three())
    assert (short.question.words, long.question.words) == ("p99 FCT of short flows", "mean FCT of long flows")
    assert short.best == "c"
    assert short.other == "a", "the baseline"
    assert short.ties[0] == "b", "it is told apart on no four seeds"
    assert short.first_on == 2, "c has 1.3 times b's on every other seed"
    # Relative to the mean of a, seed by seed: (0.65, 0.4, 0.65, 0.4) · pace against pace.
    pace, factor = [1.0, 3.0, 10.0, 30.0], [0.65, 0.4, 0.65, 0.4]
    mean = sum(f * p for f, p in zip(factor, pace, strict=True)) / sum(pace) - 1.0
    assert short.against.mean == pytest.approx(mean)
    assert [one.fact for one in short.why] == ["hottest.busy"]
    assert short.why[0].mine == pytest.approx(0.5e-3)
    assert short.why[0].other == pytest.approx(0.925e-3)
    said = words(answers.answers(three()))
    assert "p99 FCT of short flows: c," in said
    assert "hottest link busy for: 500 µs (leaf0->spine1), a 925 µs (leaf0->spine1)" in said
    assert "not told apart from b; first on 2 of 4 seeds" in said


def test_what_matters_to_nobody_is_no_price() -> None:
    """Twice as many arrivals out of order, on every seed, and still one in five thousand."""
    made: dict[str, list[Cell]] = {"a": [], "b": []}
    for label, fct, late in (("a", 1e8, 1), ("b", 0.8e8, 2)):
        for seed in SEEDS:
            one = samples.result(entry=[0], size_bytes=[10], fct_ps=[int(fct * seed)], slowdown=[1.0],
                                 packets=[10_000], out_of_order=[late], retransmits=[late])  # fmt: skip
            one.spec["traffic"] = [{"kind": "poisson"}]
            made[label].append(Cell(label, None, seed, one.summary(), "00", f"t{seed}", 1.0, 100))
    found = verdicts(comparison(made))[0]
    assert (found.best, found.ties, found.price) == ("b", [], [])


def test_an_incast_that_tells_nobody_apart_is_decided_at_its_receiver() -> None:
    found = sw.compare(
        TWO_ENTRIES | {"traffic": [TWO_ENTRIES["traffic"][1] | {"senders": 11, "size_bytes": 60_000}]},
        "ecmp,letflow",
        seeds=2,
    )
    (one,) = verdicts(found)
    drops = [cell.summary.facts.host_port_drops for cell in found.cells]
    assert min(drops) > 0
    assert {cell.summary.facts.host_port for cell in found.cells} == {"leaf0->host0"}
    assert one.alike or one.ties == [label for label in found.labels if label != one.best]
    assert one.why[0].fact in ("timeouts", "host_port_drops")
    assert "at leaf0->host0" in one.why[0].text


def test_an_idle_fabric_is_why_all_are_alike() -> None:
    """That links were used for 2 % of the time, and that so no scheme can matter, had to be seen in a table."""

    def why(use: float) -> list[str]:
        alike = {label: [cell(label, seed, 100.0 * seed, use) for seed in SEEDS] for label in "ab"}
        return [reason.text for one in verdicts(comparison(alike)) for reason in one.why]

    said = "in every run links between switches were hardly used, the busiest for 2.0 % of it at most: at this size"
    assert [text.startswith(said) for text in why(0.02)] == [True, True]
    assert why(0.2) == []


def test_ratios_decide_where_there_are_some() -> None:
    pace = [1.0, 30.0, 1000.0]
    assert stats.ratio_p(pace, [2.0 * p for p in pace]) == pytest.approx(0.0, abs=1e-9)
    assert stats.paired_p(pace, [2.0 * p for p in pace]) > 0.3
    assert stats.ratio_p([0.0, 1.0], [1.0, 2.0]) == stats.paired_p([0.0, 1.0], [1.0, 2.0])


def test_a_fact_whose_ratios_say_the_opposite_of_its_means_is_no_reason() -> None:
    """Twice as many on nineteen seeds, and a quarter on one that rules the mean: it was called surely fewer."""
    seeds = range(20)
    values = {"a": [2.0] * 19 + [100.0], "b": [1.0 + seed / 100 for seed in range(19)] + [400.0]}
    made = comparison({label: [cell(label, seed, 10.0, 0.5) for seed in seeds] for label in values})
    fact = reasons.Fact("drops", "drops per run", lambda one: values[one.label][one.seed], str)
    assert stats.ratio_p(values["a"], values["b"]) < 0.05
    assert reasons.differing(made, fact, None, "a", "b") is None
    values["a"], values["b"] = ([3.0 * value for value in values["b"]], values["b"])
    assert reasons.differing(made, fact, None, "b", "a") is not None


def test_a_longer_run_is_no_reason() -> None:
    """Twice as long a run: half the share of use for the same bytes, and queues empty for most samples."""
    pace = [1.0, 3.0, 10.0, 30.0]
    queue = {"mean": 1.0, "p50": 0, "p95": 0, "max": 9000}
    made: dict[str, list[Cell]] = {"a": [], "b": []}
    for label, factor, longer in (("a", 1.0, 1), ("b", 0.8, 2)):
        for seed, p in zip(SEEDS, pace, strict=True):
            one = samples.result(entry=[0], size_bytes=[10], fct_ps=[int(1e8 * p * factor)], slowdown=[1.0])
            one.spec["traffic"] = [{"kind": "poisson"}]
            one.report["stop_ps"] *= longer
            hot = link("leaf0->spine1", 0.8 / longer, queue_bytes=queue | {"p99": 9000 // longer}, use_max=1.0)
            one.report["links"] = [hot]
            made[label].append(Cell(label, None, seed, one.summary(), "00", f"t{seed}", 1.0, 100))
    found = verdicts(comparison(made))[0]
    assert (found.best, found.why, found.price) == ("b", [], [])


def test_what_is_worse_under_the_best_is_its_price_and_no_reason() -> None:
    found = three()
    only = replace(found, variants=parse_list(["a", "b"]))
    short = verdicts(only)[0]
    assert (short.best, [one.fact for one in short.price]) == ("b", ["out_of_order"])
    assert "out_of_order" not in [one.fact for one in short.why]
    assert "price: arrivals of web out of order" not in words(answers.answers(only)), "an only entry is not named"
    assert "price: arrivals out of order: 2.00 %, a 0 %" in words(answers.answers(only))


def over(transports: str, **waits: float | None) -> Verdict:
    """What is said of two variants: b is faster, meets ten timeouts for each of a, and has packets out of order."""
    made = {
        label: [
            replace(cell(label, s, fct, 0.5, timeouts=many * s, late=late), min_rto_s=waits[label], transport=transport)
            for s in SEEDS
        ]
        for (label, fct, many, late), transport in zip(
            (("a", 100, 1, 0), ("b", 50, 10, 4)), transports.split(), strict=True
        )
    }
    return verdicts(comparison(made))[0]


def test_timeouts_are_compared_by_their_length_where_transports_differ() -> None:
    """Ten timeouts of 0.1 ms were called the price of doing without one of 4 ms."""
    alike = over("rdma rdma", a=1e-3, b=1e-3)
    assert [one.text for one in alike.price if one.fact == "timeouts"] == ["timeouts a run: 25, a 2.50"]
    unlike = over("rdma uet", a=4e-3, b=1e-4)
    assert "timeouts" not in [one.fact for one in (*unlike.why, *unlike.price)]
    (waited,) = [one.text for one in unlike.why if one.fact == "waited"]
    assert waited == "summed wait for timeouts a run, at least: 2.50 ms, a 10.0 ms"
    unknown = over("rdma uet", a=None, b=1e-4)
    assert not {"timeouts", "waited"} & {one.fact for one in (*unknown.why, *unknown.price)}


def test_packets_out_of_order_are_no_price_over_another_transport() -> None:
    assert "out_of_order" in [one.fact for one in over("rdma rdma", a=1e-3, b=1e-3).price]
    assert "out_of_order" not in [one.fact for one in over("rdma uet", a=1e-3, b=1e-3).price]


@pytest.mark.parametrize(
    ("transport", "least"),
    [
        ({"kind": "rdma", "recovery": "go_back_n", "rto_us": 4000, "rto_low_us": 100}, 4e-3),
        ({"kind": "rdma", "recovery": "irn", "rto_low_us": 100, "rto_high_us": 320}, 100e-6),
        ({"kind": "uet", "rto_us": 150}, 150e-6),
        ({"kind": "dctcp", "min_rto_us": 5000}, 5e-3),
    ],
)
def test_every_transport_has_a_least_timeout(transport: Any, least: float) -> None:
    """RDMA and Ultra Ethernet had none, so that a tail that was a timeout was not told as one."""
    assert measured.min_rto_s({"transport": transport}) == pytest.approx(least)


def test_trimmed_packets_count_as_packets_without_room() -> None:
    """No drop at switches that trim was told as a reason, beside any number of packets that lost their payload."""
    made: dict[str, list[Cell]] = {"a": [], "b": []}
    for label, fct, trimmed, dropped in (("a", 1e8, None, 50), ("b", 0.8e8, 40, 0)):
        for seed in SEEDS:
            one = samples.result(entry=[0], size_bytes=[10], fct_ps=[int(fct * seed)], slowdown=[1.0], packets=[1000])
            one.spec["traffic"] = [{"kind": "poisson"}]
            one.report["counters"]["dropped"] = {"packets": dropped * seed, "bytes": 0}
            if trimmed is not None:
                one.report["counters"]["trimmed"] = {"packets": trimmed * seed, "bytes": 0}
            made[label].append(Cell(label, None, seed, one.summary(), "00", f"t{seed}", 1.0, 100))
    (reason,) = verdicts(comparison(made))[0].why
    assert (reason.fact, reason.text) == ("given_up", "packets dropped or trimmed a run: 100, a 125")


def test_nothing_is_claimed_that_does_not_differ() -> None:
    pace = [1.0, 3.0, 10.0, 30.0]
    same = {
        name: [cell(name, s, 100 * p * factor, 0.5) for s, p in zip(SEEDS, pace, strict=True)]
        for name, factor in (("a", 1.0), ("b", 0.8))
    }
    short = verdicts(comparison(same))[0]
    assert (short.best, short.why, short.price) == ("b", [], [])
    assert "why: not seen; no recorded fact differs from a by more than chance" in words(
        answers.answers(comparison(same))
    )


def test_a_tail_that_is_a_timeout_under_every_scheme_is_called_so() -> None:
    pace = [1.0, 1.001, 1.002, 1.003]
    late = {
        name: [cell(name, s, 11_000 * p, 0.5, timeouts=7 + s) for s, p in zip(SEEDS, pace, strict=True)]
        for name in ("a", "b")
    }
    short = verdicts(comparison(late))[0]
    assert short.alike
    assert [one.fact for one in short.why] == ["timeouts"]
    said = words(answers.answers(comparison(late)))
    assert "p99 FCT of short flows: all schemes alike, 11.02 ms" in said
    assert said.count("under every scheme") == 1, "a mean of long flows is no timeout"
    assert "under every scheme flows wait for a timeout of at least 10 ms: 8 to 11 timeouts a run" in said
    assert "most drops are at leaf0->host0, where no scheme has a choice" in said
    # Each run had its own port: the most frequent one is no place of most drops.
    first = late["b"][0].summary
    late["b"][0] = replace(late["b"][0], summary=replace(first, facts=replace(first.facts, dropped_at="leaf0->host1")))
    said = words(answers.answers(comparison(late)))
    assert "most drops of a run are at one port to a host, where no scheme has a choice" in said
    # With one run without a timeout it is not so under every scheme.
    late["b"][0] = cell("b", 1, 11_000, 0.5)
    assert "under every scheme" not in words(answers.answers(comparison(late)))


def test_timeouts_of_other_flows_do_not_make_a_tail_one() -> None:
    """A hundred timeouts of long flows were the reason of a tail of short ones, none of which had met any."""
    late = {name: [cell(name, s, 11_000 + s, 0.5, timeouts=7) for s in SEEDS] for name in ("a", "b")}
    assert [one.fact for one in verdicts(comparison(late))[0].why] == ["timeouts"]
    for cells in late.values():
        for place, one in enumerate(cells):
            classes = [replace(each, slowest_timed_out={"p99": 0.0}) for each in one.summary.classes]
            cells[place] = replace(one, summary=replace(one.summary, classes=classes))
    assert verdicts(comparison(late))[0].why == []


def test_traffic_that_is_the_same_on_every_seed_is_said() -> None:
    """Of a list of flows `±` is over hashes alone, and looked like that of drawn traffic."""
    told = "4 seeds, the same traffic for every scheme and on every seed, so that only hashes and chance differ; ± is"
    drawn = three()
    assert told not in words(report.comparison_report(drawn))
    given = replace(drawn, cells=[replace(one, traffic_hash="t") for one in drawn.cells])
    assert told in words(report.comparison_report(given))


def test_one_seed_says_that_there_is_no_interval() -> None:
    one = comparison({"a": [cell("a", 1, 100, 0.9)], "b": [cell("b", 1, 50, 0.5)]})
    found = verdicts(one)[0]
    assert (found.best, found.ties) == ("b", [])
    said = words(report.comparison_report(one))
    assert "short flows: b, 50.00 µs, -50.0% against a" in said
    assert "±" not in said
    assert "not told apart" not in said
    assert "one seed, the same traffic for every scheme: no interval" in said
    assert "facts that differ on this seed, perhaps by chance" in said
    assert "1 seeds" not in said


def test_the_same_traffic_is_said_only_where_it_is_so() -> None:
    found = three()
    assert "the same traffic for every scheme" in words(report.comparison_report(found))
    odd = replace(found, cells=[replace(one, traffic_hash=one.label) for one in found.cells])
    said = words(report.comparison_report(odd))
    assert "NOT PAIRED" in said
    assert "the same traffic" not in said
    assert "mean paired difference" not in said


def test_no_flow_finished_is_no_best() -> None:
    found = samples.result(entry=[0], size_bytes=[10], finished=[False])
    found.spec["traffic"] = [{"kind": "poisson"}]
    cells = [Cell(name, None, 1, found.summary(), "00", "t", 1.0, 100) for name in ("a", "b")]
    said = words(answers.answers(comparison({one.label: [one] for one in cells})))
    assert "no flow has finished" in said


def test_the_paired_p_is_students() -> None:
    # Differences 1, 2, 3: mean 2, s/√n = 0.57735, t = 3.4641, two degrees: p = 1 - t/√(2 + t²) = 0.0741799.
    assert stats.paired_p([1, 2, 3], [0, 0, 0]) == pytest.approx(0.0741799, abs=1e-6)
    assert stats.paired_p([1, 1], [0, 0]) == 0.0
    assert stats.paired_p([1, 1], [1, 1]) == 1.0
    assert math.isnan(stats.paired_p([1], [2]))


def report_of(**changes: Any) -> Any:
    links = [
        link("leaf0->spine0", 0.5, 3), link("leaf1->spine0", 0.25, use_max=1.0,
             queue_bytes={"mean": 1, "p50": 10, "p95": 20, "p99": 30, "max": 40}),
        link("leaf0->host0", 0.75, 9), link("host0->leaf0", 0.0),
    ]  # fmt: skip
    made = samples.report(links=links, **changes)
    made["counters"] |= {"dropped": {"packets": 12, "bytes": 0}, "created": {"packets": 0, "bytes": 1000}}
    made["counters"]["acks"] = {"packets": 1, "bytes": 40}
    return made


def packets(**changes: int) -> Packets:
    return Packets.of_sums({"sent": 100, "timeouts": 2, "out_of_order": 5} | changes)


def test_facts_of_a_run() -> None:
    found = facts.facts_of(report_of(totals={"reroutes": 7}, balance={"imbalance_mean": 0.5}), packets())
    assert (found.drops, found.timeouts, found.out_of_order_share, found.reroutes) == (12, 2, 0.05, 7)
    assert (found.dropped_at, found.dropped_there) == ("leaf0->host0", 9)
    assert (found.overhead_bytes["acks"], found.overhead_share) == (40, 0.04)
    assert found.hottest is not None
    assert (found.hottest.name, found.hottest.mean_use) == ("leaf0->spine0", 0.5)
    assert math.isnan(found.hottest.max_use), "it was not sampled"
    assert found.hottest_edge is not None
    assert found.hottest_edge.name == "leaf0->host0"
    assert found.imbalance == 0.5
    assert found.get("hottest.mean_use") == 0.5
    assert found.get("overhead_bytes.acks") == 40
    with pytest.raises(KeyError, match="no fact 'timeout'; there are drops, trims, marks, timeouts"):
        found.get("timeout")


def test_what_an_engine_does_not_tell_is_not_zero() -> None:
    old = report_of()
    del old["counters"]["dropped"]
    found = facts.facts_of(old, packets())
    assert all(math.isnan(value) for value in (found.drops, found.reroutes, found.imbalance))
    assert Facts.flat(found)["reroutes"] is not None


def test_means_of_facts_name_the_link_met_most_often() -> None:
    many = [facts.facts_of(report_of(balance=None if x is None else {"imbalance_mean": x}), packets(timeouts=t))
            for x, t in ((0.2, 1), (0.4, 2), (None, 6))]  # fmt: skip
    other = report_of()
    other["links"][0]["utilisation"] = 0.1
    found = facts.mean_facts([*many, facts.facts_of(other, packets(timeouts=3))])
    assert found.timeouts == 3.0
    assert found.imbalance == pytest.approx(0.3), "of the runs that know"
    assert found.hottest is not None
    assert found.hottest.name == "leaf0->spine0"
    assert found.hottest.mean_use == pytest.approx((0.5 * 3 + 0.25) / 4)
    assert found.hottest.queue_p99 == 30.0


@pytest.fixture(scope="module")
def two() -> Comparison:
    return sw.compare(TWO_ENTRIES, "ecmp,rps", seeds=2)


def test_the_facts_of_a_comparison_are_those_of_its_runs(two: Comparison) -> None:
    found = two.facts("rps", None)
    runs = [sw.run(TWO_ENTRIES | {"scheme": {"name": "rps"}}, seed=seed) for seed in two.seeds]
    dropped = [run.report["counters"]["dropped"]["packets"] for run in runs]
    assert found.drops == sum(dropped) / 2
    assert two.fact("rps", None, "drops").mean == found.drops
    assert found.timeouts == sum(sum(run.flows.column("timeouts").to_pylist()) for run in runs) / 2
    late = [sum(run.flows.column("out_of_order").to_pylist()) for run in runs]
    sent = [sum(run.flows.column("packets").to_pylist()) for run in runs]
    assert found.out_of_order_share == pytest.approx(sum(a / b for a, b in zip(late, sent, strict=True)) / 2)
    with pytest.raises(KeyError, match="no scheme 'foo'"):
        two.facts("foo", None)


def test_what_happened_is_a_table_for_any_width(two: Comparison) -> None:
    wide = text_of(happened.happened_table(two))
    for head in ("drops", "timeouts", "of poisson", "of incast", "out of order", "hottest link", "mean use"):
        assert head in wide
    narrow = text_of(report.comparison_report(two), 80)
    assert max(map(len, narrow.splitlines())) <= 80
    assert "What happened (means over seeds), continued" in narrow
    assert "…" not in narrow


def test_trims_are_told_where_switches_trim_and_nowhere_else(two: Comparison) -> None:
    fabric = {"kind": "leaf_spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate_gbps": 100}
    crowd = {"kind": "flows", "list": [{"src": n, "dst": 7, "size_bytes": 500_000} for n in range(6)]}
    spec = {"preset": "uet", "topology": fabric, "traffic": [crowd]}
    cut = sw.compare(spec, "ecmp,reps", seeds=2)
    runs = [sw.run(spec | {"scheme": {"name": "reps"}}, seed=seed) for seed in cut.seeds]
    trimmed = [run.report["counters"]["trimmed"]["packets"] for run in runs]
    assert cut.facts("reps", None).trims == sum(trimmed) / 2 > 0
    assert "trims" in happened.happened_table(cut).right
    assert "trims" not in happened.happened_table(two).right


def test_facts_and_verdicts_are_in_the_files(two: Comparison, tmp_path: Path) -> None:
    from pyarrow import parquet

    sw.write(two, tmp_path / "out")
    rows = parquet.read_table(tmp_path / "out" / "cells.parquet").to_pylist()
    page = (Path(__file__).parents[2] / "docs" / "comparisons.md").read_text()
    assert [name for name in rows[0] if f"`{name}`" not in page] == [], "docs/comparisons.md has every column"
    words = happened.LEGEND["imbalance"]
    assert words.endswith(", both summed over samples and switches"), "a ratio of sums, as docs/model.md has it"
    assert words in page
    by_run = {(row["scheme"], row["seed"]): row["drops"] for row in rows}
    assert by_run == {(one.label, one.seed): one.summary.facts.drops for one in two.cells}
    assert {"hottest_name", "hottest_queue_p99", "imbalance", "overhead_acks_bytes"} <= set(rows[0])
    record = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert [(one["entry"], one["best"]) for one in record["verdicts"]] == [
        (found.question.entry, found.best) for found in verdicts(two)
    ]


def test_runs_can_be_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, out = tmp_path / "tiny.toml", tmp_path / "out"
    spec.write_text(TINY_TOML)
    args = ["compare", str(spec), "--seeds", "1", "--schemes", "ecmp,rps@a/../b", "--keep-runs"]
    assert main(args) == 2
    assert "together with --out" in capsys.readouterr().err
    assert main([*args, "--out", str(out)]) == 0
    record = json.loads((out / "compare.json").read_text())
    for one in record["cells"]:
        kept = sw.Result.read(out / one["folder"])
        assert kept.report["outcome_hash"] == one["outcome_hash"]
    assert sorted(path.name for path in (out / "runs").iterdir()) == sorted(
        one["folder"].removeprefix("runs/") for one in record["cells"]
    )
    assert main([*args, "--out", str(out), "--force"]) == 0, "they are ours to replace"


def test_names_of_kept_runs_are_safe_and_differ() -> None:
    labels = ["ecmp", "a/b", "a\\b", "..", "", "x" * 300, "x" * 301, "[/b]", "ümlaut"]
    made = [run_name((label, load, 1)) for label in labels for load in (None, 0.1, 0.10000001)]
    assert len(set(made)) == len(made)
    assert all(name.isascii() and "/" not in name and not name.startswith(".") and len(name) < 100 for name in made)


def test_facts_are_asked_for_and_change_nothing(two: Comparison) -> None:
    run = sw.run(TWO_ENTRIES | {"scheme": {"name": "ecmp"}}, seed=1)
    assert two.at("ecmp", None)[0].outcome_hash == run.report["outcome_hash"]


def test_verdicts_are_for_reading_too(two: Comparison) -> None:
    assert all(isinstance(found, Verdict) for found in verdicts(two))
    assert [found.question.entry for found in verdicts(two)] == ["poisson", "poisson", "incast"]


def test_warnings_of_runs_are_told_once_with_how_many_met_them() -> None:
    found = three()
    everywhere, somewhere = Notice("a", "switch.model", "It drops."), Notice("b", None, "No mark was seen.")
    cells = [
        replace(one, summary=replace(one.summary, warnings=[everywhere, *([somewhere] if one.label == "b" else [])]))
        for one in found.cells
    ]
    lines = tables.warnings(replace(found, cells=cells))
    assert lines == [
        "warning: switch.model: It drops.", "warning: No mark was seen. (4 of 12 runs: b)",
    ]  # fmt: skip
    assert lines[0] in words(report.comparison_report(replace(found, cells=cells)))


def test_verdicts_can_be_pickled() -> None:
    """A question held functions of functions, which no other process can be sent."""
    found = sw.compare(TWO_ENTRIES, "ecmp,rps", seeds=2, jobs=1)
    told = verdicts(found)
    assert {one.question.rounds is None for one in told} == {False, True}
    for one, back in zip(told, pickle.loads(pickle.dumps(told)), strict=True):
        assert (back.question.words, back.best, back.beats) == (one.question.words, one.best, one.beats)
        for run in found.cells:
            assert back.question.value(run) == pytest.approx(one.question.value(run), nan_ok=True)
            if one.question.waits and back.question.waits:
                assert back.question.waits(run) == one.question.waits(run)
