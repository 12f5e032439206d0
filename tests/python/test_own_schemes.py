"""Schemes written in Python: the worked examples against the Rust ones, the contract, and what goes wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

import spinewise as sw
from spinewise import core
from spinewise.cli import main
from spinewise.own.contract import contract, give, source_of
from spinewise.own.load import load_scheme

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
# Specs, and what the Rust schemes of the same names come to: crates/sim/tests/it/guests.rs checks them too.
RECORDED: list[dict[str, Any]] = json.loads((ROOT / "tests" / "data" / "own_schemes.json").read_text())

POWER_OF_TWO = load_scheme(f"{EXAMPLES / 'power_of_two.py'}:PowerOfTwo")
PLB = load_scheme(str(EXAMPLES / "plb.py") + ":Plb")
CLASSES: dict[str, Any] = {"power_of_two": POWER_OF_TWO, "plb_example": PLB}

SMALL: dict[str, Any] = {
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2},
    "traffic": [{"kind": "permutation", "size_bytes": 100_000}],
    "run": {"until_us": 100_000},
}


def tuned(spec: Mapping[str, object], tuning: dict[str, Any]) -> str:
    """The outcome hash under a choice that must not change it."""
    resolved = sw.resolve(spec)
    raw = core.engine().run(json.dumps(resolved), None, json.dumps(tuning), None, core.own_schemes(resolved))
    return str(json.loads(raw["report"])["outcome_hash"])


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["spec"]["scheme"]["name"])
def test_the_examples_come_to_what_their_rust_twins_come_to(case: dict[str, Any]) -> None:
    spec = give(case["spec"], CLASSES[case["spec"]["scheme"]["name"]])
    for tuning in ({}, {"engine": "events"}, {"window_divisor": 3, "all_hooks": True}):
        assert tuned(spec, tuning) == case["outcome_hash"], tuning


def test_the_page_quotes_the_example_as_it_stands() -> None:
    example = (EXAMPLES / "power_of_two.py").read_text()
    assert f"```python\n{example}```\n" in (ROOT / "CONTRIBUTING.md").read_text()


def test_decisions_are_quick_enough() -> None:
    """Each takes as long as 90 calls of a Python function at most, the engine's own work taken off; the best of five.

    On a machine that makes 27 million calls a second these are 300,000 choices.
    """
    spec = {
        "topology": {"leaves": 3, "spines": 4, "hosts_per_leaf": 4},
        "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.6, "duration_us": 5000}],
    }

    def seconds(scheme: Any, table: dict[str, Any]) -> tuple[float, sw.Result]:
        began = time.process_time()
        result = sw.run(spec | {"scheme": table}, scheme=scheme)
        return time.process_time() - began, result

    def calls(many: int) -> float:
        """Seconds for this many calls of a function."""
        began = time.process_time()
        for _ in range(many):
            nothing()
        return time.process_time() - began

    def nothing() -> None:
        pass

    for scheme, table in ((POWER_OF_TWO, {}), (PLB, {"name": "plb_example", "path_tag": "inner"})):
        _, result = seconds(scheme, table)
        leaving = int(result.report["totals"]["sent"])  # one choice at least for each data packet, PLB's at its host
        # Side by side, as machines change their speed.
        rounds = ((seconds(scheme, table)[0] - seconds("ecmp", {})[0], calls(10 * leaving) / 10) for _ in range(5))
        cost = min(spent / of_calls for spent, of_calls in rounds)
        assert cost < 90, f"{scheme.__name__}: a choice takes as long as {cost:.0f} calls"


# ---- views --------------------------------------------------------------------------------------------------------


class Watcher(sw.SwitchScheme):
    """Looks at everything a switch can see."""

    seen: ClassVar[dict[str, Any]] = {}
    kept: ClassVar[list[Any]] = []

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        view = cx.view
        port = view.candidates[0]
        self.seen.update(
            {
                "tier": view.tier,
                "ports": (port, view.host_ports),
                "rate": view.rate(port),
                "leaf": view.leaf_of(packet.dst),
                "kind": packet.kind,
                "flow": flow,
            }
        )
        self.kept[:] = [cx, view, packet]
        return int(packet.spread(view.salt, len(view.candidates)))


def test_a_switch_sees_itself_and_nothing_is_lent_for_longer() -> None:
    sw.run(SMALL, scheme=Watcher)
    assert Watcher.seen["tier"] == "leaf"
    assert Watcher.seen["rate"] == 10_000_000_000
    assert Watcher.seen["flow"] is None
    cx, view, packet = Watcher.kept
    for lent, name in ((cx, "now"), (view, "candidates"), (packet, "dst")):
        with pytest.raises(RuntimeError, match="gone once the hook returns"):
            getattr(lent, name)
    with pytest.raises(RuntimeError, match="gone once the hook returns"):
        cx.rng.below(3)


@pytest.mark.parametrize("name", ["queue_bytes", "candidates", "salt"])
def test_a_host_cannot_see_a_switch(name: str) -> None:
    class Peeper(sw.HostScheme):
        def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int | None:
            getattr(cx.view, name)
            return None

    with pytest.raises(sw.SchemeError) as failed:
        sw.run(SMALL, scheme=Peeper)
    assert isinstance(failed.value.__cause__, AttributeError)
    assert f"{name} is visible to a switch, and this scheme sits at the host" in str(failed.value.__cause__)


# ---- rows, messages, timers, ticks --------------------------------------------------------------------------------


class Busy(sw.HostScheme):
    """Uses every hook of a host and every kind of row."""

    class Node:
        def __init__(self) -> None:
            self.ticks = self.timers = self.letters = self.arrived = 0

    class Peer:
        acks = 0

    class Route:
        sent = 0

    class Flow:
        packets = 0

    series = (("letters", "messages that have come"),)
    losses = True
    heard: ClassVar[set[str]] = set()
    rows: ClassVar[dict[str, int]] = {}

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(peers="hosts", tick=sw.us(20), bytes=16)

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        way = cx.rng.below(cx.view.ways_to_host(packet.dst))
        flow.packets += 1
        cx.route(way).sent += 1
        if flow.packets == 1:
            cx.out.arm(sw.Key.flow(packet.flow), cx.now + sw.us(5))
            cx.out.send(sw.To.host(packet.dst), 3, b"hello", wire=100, flow=packet.flow)
        return int(way)

    def ingress(self, cx: Any, flow: Any, packet: Any, header: Any) -> None:
        cx.node.arrived += packet.payload

    def feedback(self, cx: Any, flow: Any, feedback: Any) -> None:
        self.heard.add(feedback.event)
        if feedback.event == "ack":
            cx.peer.acks += 1
            self.rows["acks"] = self.rows.get("acks", 0) + 1

    def message(self, cx: Any, flow: Any, message: Any) -> None:
        assert (message.kind, message.body, message.sender[0]) == (3, b"hello", "host")
        cx.node.letters += 1
        cx.out.record(0, cx.node.letters)

    def timer(self, cx: Any, flow: Any, key: Any) -> None:
        assert key[0] == "flow"
        assert flow.packets >= 1
        cx.node.timers += 1
        self.rows["timers"] = self.rows.get("timers", 0) + 1

    def tick(self, cx: Any) -> None:
        cx.node.ticks += 1
        assert len(cx.peers) == len(cx.peers.ids)
        self.rows["ticks"] = self.rows.get("ticks", 0) + 1


def test_every_hook_of_a_host_is_called_and_every_engine_agrees() -> None:
    spec = give(SMALL, Busy)
    result = sw.run(SMALL, scheme=Busy)
    flows = int(result.report["flows"])
    assert {"flow_start", "ack", "flow_end"} <= Busy.heard
    assert Busy.rows["timers"] == flows
    assert Busy.rows["ticks"] > 0
    assert max(result.series_of("Busy.letters")[1]) >= 1
    hashes = {tuned(spec, tuning) for tuning in ({}, {"engine": "events"}, {"window_divisor": 5}, {"all_hooks": True})}
    assert hashes == {result.report["outcome_hash"]}


class Stamped(sw.SwitchScheme):
    """Writes a header at the first leaf, reads it at the last, and holds nothing."""

    header = True
    read: ClassVar[list[bytes]] = []

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        header.data = bytes([cx.view.switch, 7])
        return 0

    def ingress(self, cx: Any, flow: Any, packet: Any, header: Any) -> None:
        self.read.append(header.data)

    def egress(self, cx: Any, port: int, packet: Any, header: Any) -> None:
        assert cx.view.queue_bytes(port) >= 0


def test_headers_travel_and_are_charged() -> None:
    Stamped.read.clear()
    charged = sw.run(SMALL, scheme=Stamped)
    assert set(Stamped.read) == {bytes([0, 7]), bytes([1, 7])}
    free = sw.run(SMALL | {"scheme": {"name": "Stamped", "header_bytes": "free"}}, scheme=Stamped)
    assert charged.summary().of("all").fct_s.mean > free.summary().of("all").fct_s.mean


# ---- parameters, rows ---------------------------------------------------------------------------------------------


def test_parameters_are_checked_as_all_parameters_are() -> None:
    for params, says in (
        ({"flowlet_gap_us": -1}, "a number from 0 to 1000000000"),
        ({"flowlet_gap": 1}, 'did you mean "flowlet_gap_us"'),
        ({"flowlet_gap_us": "x"}, "a number from 0 to 1000000000"),
    ):
        with pytest.raises(sw.SpecError) as refused:
            sw.run(SMALL | {"scheme": {"name": "power_of_two", "params": params}}, scheme=POWER_OF_TWO)
        assert says in str(refused.value)


def test_what_a_class_says_of_itself_follows_its_site() -> None:
    assert contract(PLB) is contract(PLB)
    from spinewise.own.contract import facts_of

    host, switch = facts_of(PLB), facts_of(POWER_OF_TWO)
    assert (host["site"], host["tiers"], host["hooks"]) == ("host", ("host",), ["feedback", "losses"])
    assert (switch["site"], switch["tiers"]) == ("switch", ("leaf", "aggregation", "spine"))


class Counted:
    """A row that is counted as long as it is there."""

    alive: ClassVar[int] = 0
    most: ClassVar[int] = 0

    def __init__(self) -> None:
        Counted.alive += 1
        Counted.most = max(Counted.most, Counted.alive)

    def __del__(self) -> None:
        Counted.alive -= 1


class Forgetful(sw.SwitchScheme):
    Flow = Counted
    idle: ClassVar[int | None] = None

    def layout(self, shape: Any) -> sw.Layout:
        return sw.Layout(flow_idle=self.idle)

    def pick(self, cx: Any, flow: Any, packet: Any, header: Any) -> int:
        assert isinstance(flow, Counted)
        return 0


def test_rows_go_when_the_engine_forgets_them() -> None:
    traffic = [{"kind": "permutation", "size_bytes": 100, "repeat": 2000, "period_us": 40}]
    spec = SMALL | {"traffic": traffic, "run": {"until_us": 200_000}}
    most = []
    for idle in (sw.us(10), None):
        Forgetful.idle, Counted.most = idle, 0
        sw.run(spec, scheme=Forgetful)
        most.append(Counted.most)
        assert Counted.alive == 0, "none outlives its run"
    assert most[0] * 2 < most[1], f"with and without ageing: {most}"


def test_schemes_of_the_registry_are_typed() -> None:
    found = {scheme.name: scheme for scheme in sw.schemes()}
    assert found["conga"].site == "switch"
    assert found["letflow"].defaults == {"flowlet_gap_us": 500}
    assert len(repr(found["conga"])) < 200
    assert sw.run(SMALL | {"scheme": {"name": "letflow", "params": found["letflow"].defaults}}).report["finished"] > 0
    assert sw.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="has no attribute"):
        sw.nothing  # noqa: B018


# ---- results, comparisons, the command line -----------------------------------------------------------------------


def test_a_result_names_the_code_and_wants_it_again(tmp_path: Path) -> None:
    result = sw.run(SMALL, scheme=POWER_OF_TWO)
    source = result.spec["scheme"]["source"]
    assert (source["class"], source["file"], len(source["sha256"])) == ("PowerOfTwo", "power_of_two.py", 64)
    again = sw.run(result.spec)
    assert again.report["outcome_hash"] == result.report["outcome_hash"]
    (tmp_path / "spec.json").write_text(json.dumps(result.spec))
    # Another process was not given the class.
    code = f"import json, spinewise as sw; sw.run(json.load(open({str(tmp_path / 'spec.json')!r})))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert other.returncode != 0
    for part in (
        "the class PowerOfTwo of power_of_two.py",
        "--scheme-file power_of_two.py:PowerOfTwo",
        source["sha256"],
    ):
        assert part in other.stderr
    changed = result.spec | {"scheme": result.spec["scheme"] | {"source": source | {"sha256": "0" * 64}}}
    with pytest.raises(sw.SpecError):
        sw.run(changed)


def test_compare_takes_classes_and_variants_of_them() -> None:
    schemes: list[Any] = ["ecmp", POWER_OF_TWO, "power_of_two:flowlet_gap_us=5@gap 5"]
    comparison = sw.compare(SMALL, schemes, seeds=1, jobs=2)
    assert comparison.labels == ["ecmp", "power_of_two", "gap 5"]
    other = type("PowerOfTwo", (POWER_OF_TWO,), {})
    with pytest.raises(sw.SpecError, match="classes with names that differ"):
        sw.compare(SMALL, ["ecmp", POWER_OF_TWO, other], seeds=1)


def test_a_scheme_that_leaves_with_words_is_no_success(
    tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("import sys\n\nsys.exit('no licence')\n")
    assert main(["run", str(tiny), "--scheme-file", f"{mine}:Mine", "--out", str(tmp_path / "run")]) == 2
    assert "no licence" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_the_command_line_runs_a_file(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = f"{EXAMPLES / 'power_of_two.py'}:PowerOfTwo"
    assert main(["run", str(tiny), "--scheme-file", mine, "--out", str(tmp_path / "run")]) == 0
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["spec"]["scheme"]["source"]["file"] == "power_of_two.py"
    assert main(["validate", str(tiny), "--scheme-file", mine]) == 0
    assert main(["compare", str(tiny), "--schemes", "ecmp", "--scheme-file", mine, "--seeds", "1", "--json"]) == 0
    assert "power_of_two" in capsys.readouterr().out
    for wrong, says in (("nothing.py:X", "the file must be there"), (mine + "s", 'did you mean "PowerOfTwo"')):
        assert main(["run", str(tiny), "--scheme-file", wrong]) == 2
        assert says in capsys.readouterr().err


HELPED = """import {name}
import spinewise as sw

class {name}_scheme(sw.SwitchScheme):
    def pick(self, cx, flow, packet, header):
        import {name}_later
        return {name}.WAY + {name}_later.WAY
"""


def test_a_file_imports_what_lies_beside_it(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("beside", "WAY = 0"), ("beside_later", "WAY = 0"), ("mine", HELPED.format(name="beside"))):
        (tmp_path / f"{name}.py").write_text(text)
    path = list(sys.path)
    try:
        assert main(["run", str(tiny), "--scheme-file", str(tmp_path / "mine.py")]) == 0, capsys.readouterr().err
        assert sys.path[: len(path)] == path
    finally:
        sys.path[:] = path


def test_two_files_have_each_its_own_modules(tmp_path: Path) -> None:
    path = list(sys.path)
    text = "from common_own import WAY\nimport spinewise as sw\n\nclass S(sw.SwitchScheme):\n    way = WAY\n"
    text += "    def pick(self, *_):\n        return self.way\n"
    found = []
    for way in (0, 1):
        folder = tmp_path / str(way)
        folder.mkdir()
        (folder / "common_own.py").write_text(f"WAY = {way}\n")
        (folder / "mine.py").write_text(text)
        found.append(load_scheme(str(folder / "mine.py")))
    sys.path[:] = path
    assert [vars(scheme)["way"] for scheme in found] == [0, 1]
    digests = [source_of(scheme)["sha256"] for scheme in found]
    assert digests[0] != digests[1]
    assert digests[0] == source_of(load_scheme(str(tmp_path / "0" / "mine.py")))["sha256"]
    sys.path[:] = path


def test_results_are_looked_at_with_the_code_that_made_them(
    tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "OWN_SCHEMES", {})
    mine, run, kept = tmp_path / "mine.py", str(tmp_path / "run"), str(tmp_path / "compared")
    text = "import spinewise as sw\n\nclass Looked(sw.SwitchScheme):\n    def pick(self, *_):\n        return 0\n"
    mine.write_text(text)
    code = ["--scheme-file", f"{mine}:Looked"]
    assert main(["run", str(tiny), *code, "--out", run]) == 0
    assert main(["compare", str(tiny), "--schemes", "ecmp", *code, "--seeds", "1", "--out", kept]) == 0
    looks = [
        ["explain", run, "--flow", "0"],
        ["export", run, "--capture", "leaf0", "--pcapng", str(tmp_path / "x.pcapng")],
        ["report", run, kept, "--out", str(tmp_path / "x.html")],
    ]
    for look in looks:
        core.OWN_SCHEMES.clear()
        capsys.readouterr()
        main(look)
        assert "--scheme-file mine.py:Looked" in " ".join("".join(capsys.readouterr()).split())
        (tmp_path / "x.html").unlink(missing_ok=True)
        assert main([*look, *code]) == 0, capsys.readouterr().err
        assert "--scheme-file" not in "".join(capsys.readouterr())
    # The same code in a file of another name is the same code.
    other = tmp_path / "other.py"
    other.write_text(mine.read_text())
    core.OWN_SCHEMES.clear()
    assert main([*looks[0], "--scheme-file", f"{other}:Looked"]) == 0, capsys.readouterr().err
    mine.write_text(text.replace("return 0", "return 1"))
    core.OWN_SCHEMES.clear()
    assert main([*looks[0], *code]) == 2
    assert "the code has changed" in capsys.readouterr().err


def test_results_keep_the_code_of_a_scheme(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They had its digest alone: who had changed the file since could not have the results again."""
    here = tmp_path / "here"
    here.mkdir()
    mine = here / "mine.py"
    mine.write_text(
        "import spinewise as sw\nimport mine_helper\n\nclass Mine(sw.SwitchScheme):\n"
        "    def pick(self, cx, flow, packet, header):\n        return mine_helper.way()\n"
    )
    (here / "mine_helper.py").write_text("def way():\n    return 0\n")
    run, both = tmp_path / "run", tmp_path / "both"
    code = ["--scheme-file", str(mine)]
    assert main(["run", str(tiny), *code, "--trace", "0", "--out", str(run)]) == 0, capsys.readouterr().err
    assert main(["compare", str(tiny), "--schemes", "ecmp,Mine", "--seeds", "1", *code, "--out", str(both)]) == 0
    for folder in (run, both):
        assert sorted(one.name for one in (folder / "code" / "Mine").iterdir()) == ["mine.py", "mine_helper.py"]
        assert (folder / "code" / "Mine" / "mine.py").read_bytes() == mine.read_bytes()
    assert main(["run", str(tiny), *code, "--trace", "0", "--out", str(run), "--force"]) == 0
    shutil.rmtree(here)
    there = [sys.executable, "-m", "spinewise", "explain", str(run), "--flow", "0"]
    found = subprocess.run(
        [*there, "--scheme-file", f"{run}/code/Mine/mine.py:Mine"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr


def test_the_command_line_shows_the_traceback(tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import spinewise as sw\n\nclass Mine(sw.SwitchScheme):\n"
        "    def pick(self, cx, flow, packet, header):\n        return 1 // 0\n"
    )
    assert main(["run", str(tiny), "--scheme-file", str(mine), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said
    assert "return 1 // 0" in said
    assert "Mine.pick failed at" in said
    assert not (tmp_path / "out").exists()
