"""`validate` means that it will run, and says beforehand what that comes to."""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import spinewise as sw
from spinewise import core, machine
from spinewise.cli import main
from spinewise.runs.validation import seconds_of

SRC = str(Path(sw.__file__).parents[1])
FUZZED = Path(__file__).parent / "fuzz" / "specs"
SCENARIOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))

PERMUTATION = {"kind": "permutation", "size_bytes": 200_000}


def spec(**changes: Any) -> dict[str, Any]:
    """A small fabric of two tiers, and a permutation."""
    base: dict[str, Any] = {
        "topology": {"leaves": 4, "spines": 4, "hosts_per_leaf": 4},
        "traffic": [PERMUTATION],
        "run": {"until_us": 20_000},
    }
    return base | changes


def fault(**keys: Any) -> dict[str, Any]:
    """A fault of the link from leaf 0 to spine 1, but for what is given."""
    return {"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 50, "until_us": 90} | keys


FAT_TREE = {"kind": "fat_tree", "k": 8}


@pytest.mark.parametrize(
    ("changes", "key", "allowed", "hint"),
    [
        (
            {"topology": FAT_TREE, "fault": [fault(ends=["leaf0", "agg0"])]},
            "fault[0].ends",
            "the name of a node: host0 to host127, leaf0 to leaf31, aggregation0 to aggregation31, core0 to core15",
            'did you mean "aggregation0"?',
        ),
        ({"fault": [fault(ends=["tor2", "spine1"])]}, "fault[0].ends", "leaf0 to leaf3", 'did you mean "leaf2"?'),
        ({"fault": [fault(ends=["leaf0", "spine9"])]}, "fault[0].ends", "spine0 to spine3", 'did you mean "spine3"?'),
        ({"fault": [fault(ends=["leaf0", "leaf1"])]}, "fault[0].ends", "leaf0 is linked to host0", None),
        ({"fault": [fault(ends=None, switch="host3")]}, "fault[0].switch", "a switch; for a host", None),
        ({"fault": [fault(ends=None, switch="Spin3")]}, "fault[0].switch", "spine0", 'did you mean "spine3"?'),
        ({"fault": [fault(kind="rate", rate_gbps=10)]}, "fault[0].rate_gbps", "less than the 10 Gbps", None),
        ({"fault": [fault(link=1)]}, "fault[0].link", "a link from 0 to 0", None),
        ({"fault": [fault(kind="black_hole", pairs=[[0, 16]])]}, "fault[0].pairs", "from 0 to 15", None),
        ({"fault": [fault(), fault(at_us=60)]}, "fault[1].at_us", "fault[0], also on ", None),
        ({"fault": [fault(ends=["host0", "leaf0"], until_us=None)]}, "fault[0]", "host 0 can no longer reach", None),
        ({"fault": [fault(kind="flap", period_us=1, down_us=0.5, until_us=None)]}, "fault[0].period_us", "10000", None),
        ({"traffic": [{"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 9, "period_us": 2}]},
         "traffic[0].repeat", "since period_us is given", "are omitted"),
    ],
)  # fmt: skip
def test_what_run_refuses_validate_refuses_with_the_same_words(
    changes: dict[str, Any], key: str, allowed: str, hint: str | None, tmp_path: Path
) -> None:
    with pytest.raises(sw.SpecError) as told:
        sw.validate(spec(**changes))
    assert told.value.key == key
    assert allowed in told.value.allowed
    assert (hint or "") in (told.value.hint or "")
    with pytest.raises(sw.SpecError) as refused:
        sw.run(spec(**changes))
    assert str(refused.value) == str(told.value)
    path = tmp_path / "bad.toml"
    path.write_text(toml(spec(**changes)))
    assert main(["validate", str(path)]) == 2


def toml(plain: dict[str, Any]) -> str:
    """A spec as TOML of one line a table."""

    def said(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{k} = {said(v)}" for k, v in value.items() if v is not None) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(said, value)) + "]"
        return json.dumps(value)

    return "\n".join(f"{key} = {said(value)}" for key, value in plain.items())


# The fabrics of two who came from outside, for a shorter time.
STRANGERS = [
    ("fabric.toml", ["traffic[0].duration_us=1500", "traffic[1].repeat=1"]),
    ("ai.toml", ["traffic[0].size_bytes=1600000", "traffic[1].size_bytes=1600000"]),
]
MEASURED: list[tuple[Path, list[str]]] = [(path, []) for path in SCENARIOS] + [
    (FUZZED / name, overrides) for name, overrides in STRANGERS
]


@pytest.mark.parametrize(("path", "overrides"), MEASURED, ids=lambda part: getattr(part, "stem", ""))
def test_the_estimate_is_within_a_factor_of_two(path: Path, overrides: list[str]) -> None:
    plain = sw.load(path, overrides)
    estimate = sw.validate(plain).estimate
    result = sw.run(plain)
    assert estimate.flows == result.report["flows"]
    assert estimate.flow_rows == result.flows.num_rows
    # A fault that nothing routes around keeps flows from sending what the estimate has them send.
    most = 3.0 if plain.get("fault") else 2.0
    assert 0.5 <= estimate.packet_hops / result.report["packet_hops"] <= most
    # Losses that a timer repairs last as long as the timer, and nobody knows them before; nor which flows a slow link
    # gets.
    if not result.summary().packets.timeouts and "override" not in plain.get("topology", {}):
        assert 0.5 <= estimate.simulated_s / (result.report["stop_ps"] / 1e12) <= 2.0
    assert estimate.seconds > 0.0
    assert (estimate.series_rows > 0) == ("series_interval_us" in plain.get("metrics", {}))


@pytest.mark.parametrize("until_us", [100, 200, 250])
def test_rows_of_few_intervals_are_known_before(until_us: float) -> None:
    """None were told of a run that ends with its first interval."""
    metrics = {"series_interval_us": 100, "series_links": "fabric"}
    plain = spec(run={"until_us": until_us, "stop": "time"}, metrics=metrics, scheme={"name": "rps"})
    estimate, result = sw.validate(plain).estimate, sw.run(plain)
    assert estimate.series_rows == pytest.approx(result.series.num_rows, rel=0.2)
    assert estimate.series_rows >= until_us // 100 * 2 * 32


@pytest.mark.parametrize("stop", ["flows_done", "time"])
def test_rows_of_series_are_known_before(stop: str) -> None:
    # Sprayed, so that no two flows share a link by chance.
    plain = spec(run={"until_us": 1_000, "stop": stop}, metrics={"series_interval_us": 10}, scheme={"name": "rps"})
    estimate, result = sw.validate(plain).estimate, sw.run(plain)
    assert 0.5 <= estimate.series_rows / result.series.num_rows <= 2.0
    if stop == "time":
        links = result.series.column("series").to_pylist()
        # 100 samples of utilisation and of queue for 32 links.
        assert links.count(0) == links.count(1) == 100 * 32


def test_what_others_take_of_the_machine_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine one spec was to take 187 s, then 28, then 186."""
    resolved = sw.resolve(spec())
    free = core.validate(resolved)["measured"]
    engine = core.engine()

    class Busy:
        SpecError, SchemeError = engine.SpecError, engine.SchemeError

        @staticmethod
        def validate(*given: Any) -> str:
            """Nine tenths of the time are others'."""
            began = time.perf_counter()
            told = json.loads(engine.validate(*given))
            took = time.perf_counter() - began
            time.sleep(9 * took)
            told["measured"]["run_s"] *= (time.perf_counter() - began) / took
            return json.dumps(told)

    monkeypatch.setattr(core, "engine", lambda: Busy)
    busy = core.validate(resolved)["measured"]
    assert busy["run_s"] / busy["packet_hops"] < 4 * free["run_s"] / free["packet_hops"]


def test_a_fault_long_after_the_run_is_told_before_it_is_made() -> None:
    """The run told it when all was over: a fault at 5 ms that was meant at 5 us."""
    fabric = {"topology": {"leaves": 2, "spines": 2}, "traffic": [{"kind": "permutation", "size_bytes": 20_000}]}

    def told(at_us: float, **more: Any) -> list[tuple[str, str | None]]:
        fault = {"kind": "down", "ends": ["leaf0", "spine1"], "at_us": at_us, "until_us": 10 * at_us}
        return [(one.code, one.key) for one in sw.validate({**fabric, **more, "fault": [fault]}).warnings]

    assert told(5.0) == []
    assert told(5000.0) == [("fault_after_traffic", "fault[0].at_us")]
    nothing = {"kind": "poisson", "cdf": "web_search", "load": 0.1, "duration_us": 1}
    assert told(5000.0, traffic=[nothing]) == [("no_flows", "traffic[0].load"), ("nothing_sent", "traffic")]
    assert told(5000.0, run={"until_us": 4000}) == [("fault_after_end", "fault[0].at_us")]


@pytest.mark.parametrize(("unit_ns", "told"), [(1, True), (1_000_000, False)])
def test_start_times_in_another_unit_are_told(unit_ns: int, told: bool, tmp_path: Path) -> None:
    """A trace in seconds that was read as one in ms came as 1 GB within 5 us, and everything called it valid."""
    rows = [f"{n % 4},{4 + n % 4},1000000,{n * unit_ns}" for n in range(200)]
    (tmp_path / "flows.csv").write_text("\n".join(["src,dst,size_bytes,start_ns", *rows]) + "\n")
    found = sw.validate(
        {"topology": {"hosts_per_leaf": 4}, "traffic": [{"kind": "flows", "file": str(tmp_path / "flows.csv")}]}
    )
    texts = [one.text for one in found.warnings if one.code == "starts_in_haste"]
    assert bool(texts) == told
    assert all("200 flows with 200.000 MB in all start within 0.199 us" in text for text in texts)


def test_seconds_follow_from_the_first_moments() -> None:
    counted: Any = {"flows": 0, "series_rows": 0, "packet_hops": 1_000_000, "end_ps": 1_000}
    measured: Any = {"setup_s": 1.0, "run_s": 0.5, "packet_hops": 100_000, "simulated_ps": 500, "ended": False}
    assert seconds_of(counted, measured) == 6.0
    assert seconds_of(counted, measured | {"packet_hops": 10}) == 2.0
    assert seconds_of(counted, measured | {"ended": True}) == 1.5
    assert seconds_of(counted | {"flows": 1_000_000}, measured) == pytest.approx(9.0)


def test_validate_says_it_in_words_and_as_json(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tiny)]) == 0
    out = capsys.readouterr().out
    for word in ("valid", "flows of", "packet-hops", "on this machine", "of memory", "rows: ", "spec hash"):
        assert word in out
    assert main(["validate", str(tiny), "--json", "--set", "run.until_us=1000"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["estimate"]["flows"] == sw.validate(tiny).estimate.flows * 0 + told["estimate"]["flow_rows"]
    assert told["warnings"] == [
        {
            "code": "flows_after_end",
            "key": "traffic[0]",
            "text": "Flows that would start at the end of the run (run.until_us = 1000) or later are left out.",
        },
        {
            "code": "nothing_sent",
            "key": "traffic",
            "text": "NOTHING IS SENT: the run has no flows, and all of its numbers are empty.",
        },
    ]


def series(interval_us: float, **changes: Any) -> dict[str, Any]:
    """Series as fine as this."""
    return spec(metrics={"series_interval_us": interval_us}, **changes)


AG = {"name": "ag", "params": {"window_packets": 1_000_000.0, "gate_packets": 0.0}}
ARRIVALS = {"kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 2_000}

# What the review found to die or to hang in 6.5 GB of address space.
DEADLY: dict[str, tuple[dict[str, Any], str | None]] = {
    "a picosecond": (series(1e-06, scheme={"name": "rps"}, transport={"dupack_threshold": 0}), "series_interval_us"),
    "a nanosecond": (series(0.001, scheme={"name": "conga"}, traffic=[ARRIVALS]), "series_interval_us"),
    "a picosecond of arrivals": (series(1e-06, traffic=[ARRIVALS]), "series_interval_us"),
    "71 minutes of arrivals": (
        spec(
            traffic=[ARRIVALS | {"duration_us": 4_294_967_295}],
            run={"until_us": 2_000},
            fault=[
                fault(kind="flap", ends=None, switch="spine0", period_us=100, down_us=30, may_cut_off=True),
                fault(kind="loss", ends=["host0", "leaf0"], at_us=1e9, until_us=None, probability=0.1),
            ],
        ),
        None,
    ),
    "a hundred million flows": (
        spec(traffic=[ARRIVALS | {"load": 1.0, "duration_us": 9e9, "max_flows": 100_000_000}], run={"until_us": 9e9}),
        "traffic[0].max_flows",
    ),
    "a window of a million": (spec(scheme=AG, traffic=[ARRIVALS]), "scheme.params.window_packets"),
    "a million hosts": (
        spec(topology={"leaves": 4096, "spines": 4, "hosts_per_leaf": 256}, run={"until_us": 1}),
        None,
    ),
}

# Imports take a while on a busy machine, and what they do with a signal is not the question.
CALL_IT = """
import sys
import spinewise.runs.validation, spinewise.cli.run, spinewise.cli.validate
from spinewise.cli import main
print("ready", flush=True)
sys.exit(main(sys.argv[1:]))
"""

RUN_IT = """
import json, sys
import spinewise as sw
try:
    sw.run(json.loads(sys.stdin.read()))
except sw.SpecError as error:
    print(error.key)
"""


@pytest.mark.parametrize("name", [name for name in DEADLY if name != "a million hosts"])
def test_no_spec_aborts_the_interpreter_or_hangs(name: str) -> None:
    plain, key = DEADLY[name]

    def little_memory() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (6_500_000 * 1024, 6_500_000 * 1024))

    done = subprocess.run(
        [sys.executable, "-c", RUN_IT], input=json.dumps(plain), env={**os.environ, "PYTHONPATH": SRC},
        capture_output=True, text=True, timeout=120, preexec_fn=little_memory, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    assert (key or "") in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("command", "changes"),
    [
        ("run", {"topology": {"leaves": 2048, "spines": 4, "hosts_per_leaf": 128}}),
        ("validate", {"topology": {"kind": "fat_tree", "k": 64}}),
        ("run", {"traffic": [ARRIVALS | {"duration_us": 3e6}], "run": {"until_us": 1e9}}),
        ("run", {"scheme": {"name": "ag", "params": {"window_packets": 10_000, "max_packets": 4096}},
                 "traffic": [ARRIVALS | {"duration_us": 1_000_000}], "run": {"until_us": 1_000_000}}),
    ],
)  # fmt: skip
def test_whatever_takes_long_ends_when_it_is_told_to(
    number: signal.Signals, command: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "long.toml"
    path.write_text(toml(spec(**changes)))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-c", CALL_IT, command, str(path)], env={**os.environ, "PYTHONPATH": SRC},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.0)
    assert process.poll() is None, process.communicate()
    sent = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    assert "Traceback" not in err
    # 2 s are promised; a machine that does ten things at once gets some more.
    assert time.monotonic() - sent < 5.0


class EnoughError(Exception):
    """The run has been looked at often enough."""


@pytest.mark.parametrize(
    ("limit", "touched", "words"),
    [("memory", False, ""), ("memory", True, "free memory"), ("address_space", False, "ulimit -v")],
)
def test_what_is_reserved_and_not_used_is_no_memory(limit: str, touched: bool, words: str) -> None:
    """Allocators reserve 64 MB for each thread, so that many small runs at once were refused."""
    kept, looks = [], 0

    def look(*_: int) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            kept.append(mmap.mmap(-1, 600 << 20))
            if touched:
                kept[0].write(b"x" * (600 << 20))
        if looks == 4:
            raise EnoughError

    engine = core.engine()
    long = sw.resolve(spec(run={"until_us": 1e9}, traffic=[ARRIVALS | {"duration_us": 1_000_000}]))
    try:
        with pytest.raises(engine.SpecError if words else EnoughError, match=words or None):
            engine.run(json.dumps(long), look, json.dumps({limit: 300 << 20}))
    finally:
        for one in kept:
            one.close()


def test_free_memory_is_the_least_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "PROC", tmp_path)
    monkeypatch.setattr(machine, "CGROUP", tmp_path)
    assert machine.free_memory() is None
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 4000000 kB\n")
    assert machine.free_memory() == int((4_000_000 * 1024 - machine.SPARE_BYTES) * machine.SHARE)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000000000\n")
    assert machine.container_left() is None
    (tmp_path / "memory.max").write_text("3000000000\n")
    assert machine.container_left() == 2_000_000_000
    assert machine.free_memory() == int((2_000_000_000 - machine.SPARE_BYTES) * machine.SHARE)
