"""Users' own studies: their file, their grid, seeds until a mean is known, what fails and what is left."""

from __future__ import annotations

import math
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

import samples
import spinewise as sw
from spinewise.comparison.measured import measure
from spinewise.errors import SpecError
from spinewise.measures import stats
from spinewise.own.load import load_scheme
from spinewise.runs.validation import unlike_each_other
from spinewise.specs.spec import load
from spinewise.studies import conduct, file
from spinewise.studies.conduct import Conducted, Conductor
from spinewise.studies.metrics import Metric, metric
from spinewise.studies.study import Cell, Study
from spinewise.sweeps import store
from spinewise.sweeps.local import Local
from spinewise.sweeps.sequential import Stop

STUDY = """
[study]
name = "mine"
spec = "tiny.toml"
seeds = 2
metrics = ["fct_s.mean", "drops", "unfinished"]
[grid]
schemes = ["ecmp", "letflow:flowlet_gap_us=200@gap 200"]
loads = [0.2, 0.4]
"""


def place(folder: Path, text: str = STUDY) -> Path:
    (folder / "tiny.toml").write_text(samples.TINY_TOML)
    path = folder / "study.toml"
    path.write_text(text)
    return path


def study(folder: Path, text: str = STUDY, **options: Any) -> Study:
    return Study.of(file.read(place(folder, text), **options))


def conducted(wanted: Study, folder: Path, **options: Any) -> Conducted:
    with store.opened(folder / "store") as ledger:
        return Conductor(wanted, ledger, Local(2), **options).conduct()


# ---- the file ----


def test_a_grid_without_an_axis_is_refused(tmp_path: Path) -> None:
    """Left out, the spec is one point; an empty table looks like one that was forgotten."""
    (tmp_path / "tiny.toml").write_text(samples.TINY_TOML)
    (tmp_path / "study.toml").write_text('[study]\nspec = "tiny.toml"\n[grid]\n')
    with pytest.raises(sw.SpecError, match=r"grid = \(empty\): allowed is one axis or more") as refused:
        file.read(tmp_path / "study.toml")
    assert refused.value.file == str(tmp_path / "study.toml")
    (tmp_path / "study.toml").write_text('[study]\nspec = "tiny.toml"\n')
    assert file.read(tmp_path / "study.toml").axes == []


@pytest.mark.parametrize(
    ("change", "key", "allowed"),
    [
        (("[grid]", "[gird]"), "gird", "[study], [first], [stop], [keep], [grid]"),
        (("seeds = 2", "sedes = 2"), "study.sedes", "name, spec, seeds, metrics"),
        (("seeds = 2", "seeds = 0"), "study.seeds", "a number from 1 to 10000"),
        (("seeds = 2", "seeds = [1, 1]"), "study.seeds", "different seeds"),
        (('spec = "tiny.toml"', ""), "study.spec", "the name of a spec file"),
        (('spec = "tiny.toml"', 'spec = "tinny.toml"'), "study.spec", "there is no such file"),
        (('"drops"', '"dorps"'), "study.metrics", "a metric such as"),
        (('"drops"', '"fct_s.p99 of web"'), "study.metrics", "of one of all, "),
        (("[0.2, 0.4]", "[0.2, -1]"), "grid.loads", "numbers above 0"),
        (("[0.2, 0.4]", "[]"), "grid.loads", "a list with one value or more"),
        (("loads", "load"), "grid.load", '"loads"'),
        (("loads = [0.2, 0.4]", "seeds = 30"), "grid.seeds", "seeds under [study], not under [grid]"),
        (("loads = [0.2, 0.4]", "seed = [1, 2]"), "grid.seed", "seeds under [study], not under [grid]"),
        (('"ecmp", ', '"ecmq", '), "scheme.name", "ecmp"),
        (('"ecmp", ', '"ecmp", "ecmp", '), "grid.schemes", "labels that differ"),
        (("loads = [0.2, 0.4]", '"scheme.params.k" = [1]'), 'grid."scheme.params.k"', "without grid.schemes"),
        (("loads = [0.2, 0.4]", '"transport.minrto" = [1]'), "transport.minrto", "min_rto_us"),
        (("loads = [0.2, 0.4]", "faults = [{ fault = [] }]"), "grid.faults[0].name", "a name"),
        (("loads = [0.2, 0.4]", 'faults = [{ name = "a", when = 1 }]'), "grid.faults[0].when", "name, fault"),
        (("[grid]", "[first]\nloads = [0.3]\n[grid]"), "first.loads", "0.2, 0.4"),
        (("[grid]", "[first]\nfaults = ['a']\n[grid]"), "first.faults", "schemes, loads"),
        (("[grid]", "[stop]\nuntil_ci = '2 apples'\n[grid]"), "stop.until_ci", '"2%" or 0.02'),
        (("[grid]", "[stop]\nmax_seeds = 5\n[grid]"), "stop.until_ci", '"2%" or 0.02'),
        (("[grid]", "[stop]\nuntil_ci = '2%'\nmin_seeds = 2\n[grid]"), "stop.min_seeds", "a whole number, 5 to"),
        (("[grid]", "[keep]\nflows = 1\n[grid]"), "keep.flows", "true or false"),
    ],
)
def test_what_is_wrong_is_named_with_its_file_and_what_is_allowed(
    tmp_path: Path, change: tuple[str, str], key: str, allowed: str
) -> None:
    with pytest.raises(SpecError) as found:
        study(tmp_path, STUDY.replace(*change))
    assert found.value.key == key
    assert allowed in f"{found.value.allowed} {found.value.hint}"
    assert found.value.file == str(tmp_path / "study.toml")


def test_a_file_that_is_no_toml_and_one_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="valid TOML"):
        study(tmp_path, "[study")
    with pytest.raises(SpecError, match="No such file"):
        file.read(tmp_path / "none.toml")


def test_the_spec_may_stand_in_the_study(tmp_path: Path) -> None:
    inside = STUDY.replace('spec = "tiny.toml"', "") + "[study.spec]\n" + samples.TINY_TOML.replace(
        "[topology]", "[study.spec.topology]").replace("[[traffic]]", "[[study.spec.traffic]]")  # fmt: skip
    one, other = study(tmp_path, inside), study(tmp_path)
    assert [cell.spec for cell in one.cells] == [cell.spec for cell in other.cells]


def test_a_study_is_no_spec() -> None:
    with pytest.raises(SpecError, match=r"this is a study: `spinewise sweep .*study.toml` runs it"):
        load(Path(__file__).parents[2] / "examples" / "study.toml")


def test_the_example_can_be_run() -> None:
    found = Study.of(file.read(Path(__file__).parents[2] / "examples" / "study.toml"))
    assert (len(found.cells), len(found.seeds), found.skipped) == (18, 5, [])
    assert sum(cell.first for cell in found.cells) == 6


# ---- the grid ----

GRID = """
[study]
spec = "tiny.toml"
seeds = [7, 9]
[grid]
"transport.min_rto_us" = [200, 1000]
schemes = ["ecmp", "lbsp", "rps:transport.min_rto_us=500@own timeout"]
faults = [{ name = "none" }, { name = "down", fault = [{ kind = "down", ends = ["leaf0", "spine1"], at_us = 100 }] }]
[first]
faults = ["down"]
[keep]
flows = true
"""


@pytest.mark.parametrize(
    ("axes", "refused", "other"),
    [
        ('loads = [0.1, 0.5]\n"traffic[0].load" = [0.1, 0.2]', 'grid."traffic[0].load"', "grid.loads sets them"),
        ('"traffic[0].load" = [0.1, 0.2]\nloads = [0.1, 0.5]', "grid.loads", 'grid."traffic[0].load" sets them'),
        ('"traffic[0].load" = [0.1]\n"traffic.00.load" = [0.2]', 'grid."traffic.00.load"', 'grid."traffic[0].load"'),
        ('"transport.min_rto_us" = [1, 2]\ntransport = [{ kind = "dctcp" }]', "grid.transport", "transport.min_rto_us"),
        ('loads = [0.1]\n"traffic[0]" = [{ kind = "poisson", load = 0.3 }]', 'grid."traffic[0]"', "grid.loads"),
        ('faults = [{ name = "none" }]\n"fault[0].at_us" = [1, 2]', 'grid."fault[0].at_us"', "grid.faults"),
    ],
)
def test_two_axes_that_set_one_key_are_refused(tmp_path: Path, axes: str, refused: str, other: str) -> None:
    """The later undid the earlier, whose labels stood beside runs that were never made."""
    text = STUDY.partition("[grid]")[0] + f"[grid]\n{axes}\n"
    with pytest.raises(SpecError, match="keys that no other axis sets") as found:
        file.read(place(tmp_path, text))
    assert found.value.key == refused
    assert other in str(found.value.hint)


def test_axes_beside_each_other_are_none_that_set_one_key(tmp_path: Path) -> None:
    """Loads leave a traffic entry alone that has none."""
    burst = '{ kind = "incast", receiver = 0, senders = 2, size_bytes = SIZE, start_us = 5 }'
    both = ", ".join(burst.replace("SIZE", size) for size in ("1000", "2000"))
    text = STUDY.partition("[grid]")[0] + (
        f'[grid]\nloads = [0.1, 0.5]\n"traffic[1]" = [{both}]\n"switch.buffer_packets" = [50]\n'
    )
    found = study(tmp_path, text).cells
    given = [(cell.spec["traffic"][0]["load"], cell.spec["traffic"][1]["size_bytes"]) for cell in found]
    assert given == [(0.1, 1000), (0.1, 2000), (0.5, 1000), (0.5, 2000)]


def test_the_grid_is_every_combination_and_variants_win(tmp_path: Path) -> None:
    found = study(tmp_path, GRID)
    assert (found.name, found.axes) == ("study", ["transport.min_rto_us", "scheme", "fault"])
    labels = [tuple(cell.label.values()) for cell in found.cells]
    assert labels == [(rto, scheme, fault) for rto in (200, 1000) for scheme in ("ecmp", "own timeout")
                      for fault in ("none", "down")]  # fmt: skip
    assert [cell.spec["transport"]["min_rto_us"] for cell in found.cells] == [200, 200, 500, 500, 1000, 1000, 500, 500]
    assert [bool(cell.spec.get("fault")) for cell in found.cells] == [False, True] * 4
    assert found.skipped[0].label == "transport.min_rto_us 200, scheme lbsp, fault none"
    task = found.task(found.cells[1], 1)
    assert (task.spec["seed"], task.flows) == (9, True)
    assert task.label == {"transport.min_rto_us": 200, "scheme": "ecmp", "fault": "down", "seed": 9}
    order = sorted((found.task(cell, n) for cell in found.cells for n in (0, 1)), key=lambda one: -one.priority)
    assert [(one.label["fault"], one.label["seed"]) for one in order[::4]] == [
        ("down", 7), ("down", 9), ("none", 7), ("none", 9),
    ]  # fmt: skip


AXES = """
[study]
spec = "tiny.toml"
[grid]
schemes = ["ecmp", "ecmp:transport.kind=uet@UET"]
"""


def test_an_axis_holds_for_variants_with_another_transport(tmp_path: Path) -> None:
    """Points were labelled with values of an axis that had not been run."""
    found = study(tmp_path, f'{AXES}"transport.mss_bytes" = [1000, 4096]')
    assert [cell.spec["transport"]["mss_bytes"] for cell in found.cells] == [1000, 4096] * 2
    with pytest.raises(SpecError) as caught:
        study(tmp_path, f'{AXES}"transport.dctcp_g" = [0.1, 0.2]')
    assert caught.value.key == "transport.dctcp_g"
    assert 'no such key with transport.kind = "uet"' in caught.value.allowed


def test_a_point_is_the_run_that_compare_makes(tmp_path: Path) -> None:
    found = conducted(study(tmp_path), tmp_path)
    same = sw.compare(
        load(tmp_path / "tiny.toml"), "ecmp,letflow:flowlet_gap_us=200@gap 200", loads=[0.2, 0.4], seeds=2
    )
    for number, cell in enumerate(found.study.cells):
        load_ = cell.label["load"]
        assert isinstance(load_, float)
        expected = same.interval(str(cell.label["scheme"]), load_, "all", "fct_s.mean")
        assert found.interval(number, 0) == expected
    # And what compare makes is in the store then, for both keep the same of a run.
    schemes = "ecmp,letflow:flowlet_gap_us=200@gap 200"
    again = sw.compare(load(tmp_path / "tiny.toml"), schemes, loads=[0.2, 0.4], seeds=2, store=tmp_path / "store")
    assert [cell.outcome_hash for cell in again.cells] == [cell.outcome_hash for cell in same.cells]
    assert count(tmp_path) == 8


def count(folder: Path) -> int:
    try:
        with store.reading(folder / "store") as ledger:
            return int(ledger.connection.execute("SELECT count(*) FROM runs").fetchone()[0])
    except SpecError:
        # It is not there yet.
        return 0


def test_metrics_say_of_what() -> None:
    spec = sw.resolve(samples.TWO_ENTRIES)
    names = [str(entry["name"]) for entry in spec["traffic"] if "name" in entry]
    assert metric("m", "fct_s.p98", spec) == Metric("fct_s.p98")
    assert metric("m", "slowdown.mean of all", spec).text == "slowdown.mean"
    assert metric("m", "hottest.max_use", spec) == Metric("hottest.max_use")
    for name in names:
        assert metric("m", f"unfinished of {name}", spec) == Metric("unfinished", name)
    for between in ("fct_s.p99.95", "slowdown.p50.05 of all", "fct_s.p99.999"):
        # A study with one ended in a KeyError once all its runs were made.
        with pytest.raises(SpecError, match=r"allowed is a percentile in steps of a tenth, or p99\.99 "):
            metric("m", between, spec)
    for right in ("fct_s.p99.9", "fct_s.p99.99", "fct_s.p999", "slowdown.p5", "fct_s.p0.1"):
        assert metric("m", right, spec).path == right
    for wrong in ("fct_s.p100", "fct_s", "drops of all", "fct_s.mean of", "", 7):
        with pytest.raises(SpecError):
            metric("m", wrong, spec)


@pytest.mark.parametrize(
    "axes",
    [
        ['schemes = ["ecmp", "rps", "letflow", "drill"]', "loads = [0.2, 0.4]"],
        ["loads = [0.2, 0.4]", 'schemes = ["ecmp", "rps", "letflow", "drill"]'],
        ['"transport.min_rto_us" = [200, 1000]', 'schemes = ["ecmp", "rps"]', "loads = [0.1, 0.2, 0.3, 0.4]"],
    ],
)
def test_what_is_tried_for_its_speed_has_each_value_of_an_axis_as_often(tmp_path: Path, axes: list[str]) -> None:
    """Every second point of a grid had one load alone, and the forecast was of that one."""
    text = STUDY.partition("[grid]")[0] + "\n".join(["[grid]", *axes])
    cells = study(tmp_path, text).cells
    few = unlike_each_other([cell.spec for cell in cells])
    chosen = [cell.label for cell in cells if cell.spec in few]
    assert len(chosen) == 4
    for name in chosen[0]:
        every = {label.label[name] for label in cells}
        counts = [[label[name] for label in chosen].count(value) for value in every]
        assert max(counts) - min(counts) <= (1 if len(every) > 2 else 0)
    assert unlike_each_other([cell.spec for cell in cells]) == few


OWN = """
import spinewise as sw
class First(sw.SwitchScheme):
    name = "first"
    source = "none"
    unit = "packet"
    def pick(self, cx, flow, packet, header):
        return {}
"""


def test_a_scheme_that_fails_at_once_does_not_keep_a_study_from_beginning(tmp_path: Path) -> None:
    """The estimate of its time ended the command, and nothing was made."""
    text = STUDY.replace("loads = [0.2, 0.4]", "").replace("letflow:flowlet_gap_us=200@gap 200", "first")
    (tmp_path / "mine.py").write_text(OWN.format("[]"))
    own = [load_scheme(f"{tmp_path / 'mine.py'}:First")]
    found = Study.of(file.read(place(tmp_path, text), own=own))
    with store.opened(tmp_path / "store") as ledger:
        assert conduct.estimate(found, ledger).seconds is None
    done = conducted(found, tmp_path)
    assert [sum(one.values is not None for one in runs) for runs in done.repeats] == [2, 0]


def test_a_scheme_in_python_takes_part_and_its_source_counts(tmp_path: Path) -> None:
    path = place(tmp_path, STUDY.replace("loads = [0.2, 0.4]", "").replace("seeds = 2", "seeds = 1"))
    keys = []
    for pick in ("0", "len(cx.view.candidates) - 1"):
        (tmp_path / "mine.py").write_text(OWN.format(pick))
        wanted = Study.of(file.read(path, own=[load_scheme(f"{tmp_path / 'mine.py'}:First")]))
        assert [cell.label["scheme"] for cell in wanted.cells] == ["ecmp", "gap 200", "first"]
        assert all(one[0].values is not None for one in conducted(wanted, tmp_path).repeats)
        keys.append([wanted.task(cell, 0).key for cell in wanted.cells])
    assert keys[0][:2] == keys[1][:2]
    assert keys[0][2] != keys[1][2]


# ---- seeds until a mean is known ----


def test_the_rule_looks_seldom_and_not_before_it_may() -> None:
    stop = Stop(0.1, fewest=5, most=40)
    assert stop.wanted([]) == 5
    assert stop.wanted([1.0] * 5) == 5
    wide = [1.0, 3.0, 2.0, 0.5, 3.5]
    assert stop.wanted(wide) == 10
    nearly = [1.0, 1.2, 1.1, 0.95, 1.15]
    half = stats.t_interval(nearly).half / (0.1 * stats.t_interval(nearly).mean)
    assert stop.wanted(nearly) == math.ceil(5 * half**2) == 8
    assert stop.wanted(wide * 8) == 40
    assert stop.wanted([math.nan] * 8) == 16
    assert stop.wanted([-1.0, 1.0] * 4) == 16


def test_intervals_of_a_sequential_mean_hold_about_as_often_as_they_say() -> None:
    """Of 95 % intervals some are lost to looking again and again; docs/sweeps.md says how many."""
    random, hits, tries = Random(7), 0, 600
    for _ in range(tries):
        stop, found = Stop(0.1, most=1000), list[float]()
        while len(found) < (more := stop.wanted(found)):
            found += [random.gauss(1.0, 0.3) for _ in range(more - len(found))]
        interval = stats.t_interval(found)
        hits += abs(interval.mean - 1.0) <= interval.half
    assert 0.88 <= hits / tries <= 0.96


def test_a_bound_on_the_interval_may_be_a_share_in_percent(tmp_path: Path) -> None:
    """From Python it was taken as it came: any number, and texts ended in a TypeError."""
    assert study(tmp_path, until_ci="20%").stop == Stop(0.2, 5, 100)
    for until_ci in ("x", 5.0, 0):
        with pytest.raises(sw.SpecError, match=r"--until-ci = .*: allowed is a share above 0 and at most 1"):
            study(tmp_path, until_ci=until_ci)


GREATEST = 2**64 - 1


@pytest.mark.parametrize(
    ("seeds", "spec", "key"),
    [
        ("seeds = 2", f"seed = {GREATEST}", "study.seeds"),
        ("[stop]\nuntil_ci = '2%'\nmax_seeds = 9", f"seed = {GREATEST - 7}", "stop.max_seeds"),
    ],
)
def test_seeds_that_no_run_has_are_refused(tmp_path: Path, seeds: str, spec: str, key: str) -> None:
    """They overflowed when the runs were stored."""
    (tmp_path / "tiny.toml").write_text(f"{spec}\n{samples.TINY_TOML}")
    (tmp_path / "study.toml").write_text(f'[study]\nspec = "tiny.toml"\n{seeds}\n')
    with pytest.raises(SpecError, match=str(GREATEST)) as refused:
        Study.of(file.read(tmp_path / "study.toml"))
    assert refused.value.key == key


def test_a_large_grid_is_reported_in_no_time() -> None:
    """Every cell was compared with every other, once for each metric."""
    cells = [Cell({"scheme": one, "k": k}, {}) for one in ("ecmp", "rps") for k in range(20_000)]
    found = Study("large", ["scheme", "k"], cells, [], [1], [])
    start = time.process_time()
    assert [found.baseline(cell) for cell in range(len(cells))] == [*range(20_000), *range(20_000)]
    assert time.process_time() - start < 5.0


def test_seeds_are_added_where_the_mean_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first point has the same value on all seeds, the second one that varies by a known amount."""

    def value(self: Metric, measured: Any) -> float:
        seed = measured.summary.of().flows
        return 1.0 if self.path == "flows" else float(seed)

    text = STUDY.replace('metrics = ["fct_s.mean", "drops", "unfinished"]', 'metrics = ["flows"]')
    wanted = study(tmp_path, text.replace("loads = [0.2, 0.4]", ""), until_ci=0.2)
    assert wanted.stop == Stop(0.2, 5, 100)
    assert wanted.seeds == [1, 2, 3, 4, 5]
    found = conducted(wanted, tmp_path)
    for number in range(len(wanted.cells)):
        values = conduct.values(found.repeats[number], 0)
        assert found.known(number)
        assert found.interval(number, 0).half <= 0.2 * found.interval(number, 0).mean
        # It would not have stopped before: at the looks that it took the mean was not known.
        looks, at = [5], 5
        while at < len(values):
            assert not wanted.stop.met(values[:at])
            at = wanted.stop.wanted(values[:at])
            looks.append(at)
        assert looks[-1] == len(values)
        assert len(values) > 5
    monkeypatch.setattr(Metric, "value", value)
    assert all(len(ones) == 5 for ones in conducted(wanted, tmp_path).repeats)


def test_times_of_rounds_are_metrics() -> None:
    """The hint for a round's mean time was the mean time of single flows."""
    ring = {"name": "ring", "kind": "all_reduce", "size_bytes": 10_000, "hosts": [0, 1, 4, 5], "rounds": 2}
    given = {"topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}, "traffic": [ring]}
    spec = sw.resolve(given)
    assert (
        metric("m", "round_s.mean", spec) == metric("m", "round_s.mean of ring", spec) == Metric("round_s.mean", "ring")
    )
    measured = measure(spec, sw.run(given, seed=1))
    job = measured.jobs["ring"]
    for path, value in (("round_s.mean", job.mean_s), ("round_s.max", job.max_s), ("job_s", job.total_s)):
        assert metric("m", path, spec).value(measured) == value > 0
    assert metric("m", "job_s", spec).shown(0.002) == "2.000 ms"
    with pytest.raises(SpecError, match=r"round_s\.mean of one of ring"):
        metric("m", "round_s.mean of rnig", spec)
    with pytest.raises(SpecError, match="no traffic entry has rounds"):
        metric("m", "job_s", sw.resolve(samples.TINY_SPEC))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Metric("fct_s.p99", "web", "short"), "p99 FCT of web/short"),
        (Metric("round_s.mean", "ring"), "mean round time of ring"),
        (Metric("job_s", "ring"), "job time of ring"),
        (Metric("hottest.max_use"), "hottest.max_use"),
        (Metric("unfinished", "web"), "unfinished of web"),
    ],
)
def test_charts_call_metrics_by_words(asked: Metric, words: str) -> None:
    """An axis said "fct_s.p99 [ms]", which is in seconds and not in ms."""
    assert asked.words == words


def test_a_load_of_the_grid_is_blamed_on_the_study(tmp_path: Path) -> None:
    """The line of the spec was named, in which the load was right."""
    with pytest.raises(SpecError) as caught:
        study(tmp_path, STUDY.replace("0.2, 0.4", "0.3, 30"))
    assert (caught.value.key, caught.value.value) == ("traffic[0].load", "30.0")
    assert str(caught.value.file).endswith("study.toml")
    assert str(caught.value.hint).startswith("a share: 30 % is 0.3")
    with pytest.raises(SpecError) as caught:
        study(tmp_path, STUDY.replace("schemes =", "scheems ="))
    assert (caught.value.key, caught.value.hint) == ("grid.scheems", 'did you mean "schemes"?')
