"""``validate-against`` with cases of uet-htsim: what is read, what is refused, and one flow to the picosecond."""

import csv
import gzip
import json
import math
from pathlib import Path

import pytest

from spinewise.agreement.uet import comparison, pinned, recorded
from spinewise.agreement.uet.comparison import Compared, problems
from spinewise.agreement.uet.setting import spec_of
from spinewise.cli import main as spinewise
from spinewise.errors import SpecError
from spinewise.runs.jobs import Silent
from spinewise.shapes import Spec
from spinewise.specs.spec import resolve

TOPO = """Nodes 8
Tiers 2
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 4
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
"""
SIZE = 200_000
DET = "-topo a.topo -tm a.cm -paths 1 -sender_cc_only -q 5000 -ecn 24 24 -end 20000 -seed 1"
OPTIONS = "-topo a.topo -tm a.cm -load_balancing_algo oblivious -paths 16 -sender_cc_only -end 20000 -seed 1"


def alone_ps(size: int) -> int:
    """The closed form of an idle path with four links at 100 Gbps and 1 us each."""
    wire = size + 64 * -(-size // 4086)
    return wire * 80 + 8 * 1_000_000 + 3 * 4150 * 80 + 4 * 64 * 80


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one case of one flow, recorded at two seeds."""
    (tmp_path / "inputs").mkdir()
    (tmp_path / "flows").mkdir()
    (tmp_path / "inputs" / "a.topo").write_text(TOPO)
    (tmp_path / "inputs" / "a.cm").write_text(f"Nodes 8\nConnections 1\n1->6 id 1 start 0 size {SIZE}\n")
    lines = []
    for seed in (1, 2):
        told = {"case": "small.one.obl.nscc", "topo": "a.topo", "cm": "a.cm", "options": OPTIONS, "seed": seed}
        lines.append(json.dumps(told))
        with gzip.open(tmp_path / "flows" / f"small.one.obl.nscc.s{seed}.csv.gz", "wt", newline="") as text:
            writer = csv.writer(text)
            writer.writerow(recorded.COLUMNS)
            writer.writerow([1, 1, 6, SIZE, 0, alone_ps(SIZE), 49, 0, 14, 0, 0, 0])
    (tmp_path / recorded.CASES).write_text("\n".join(lines) + "\n")
    return tmp_path


def test_one_flow_takes_the_closed_form(folder: Path) -> None:
    cases, _ = recorded.find(folder)
    assert cases[0].seeds == [1, 2]
    (found,), refused = comparison.compare(cases, 2, 1, Silent())
    assert refused == []
    assert (found.problems, found.finished) == ([], 1)
    # Microseconds, exact to the picosecond.
    assert round(found.statistics["mean"].ours * 1e6) == alone_ps(SIZE)


def test_the_command_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert spinewise(["validate-against", str(folder), "--salts", "2", "--jobs", "1"]) == 0
    assert "1 of 1 cases agree" in capsys.readouterr().out


def with_options(folder: Path, options: str, name: str = "small.one.obl.nscc") -> Path:
    told = {"case": name, "topo": "a.topo", "cm": "a.cm", "options": options, "seed": 1}
    (folder / recorded.CASES).write_text(json.dumps(told) + "\n")
    return folder


def test_options_become_keys(folder: Path) -> None:
    options = "-load_balancing_algo reps -paths 64 -sack_threshold 4000 -receiver_cc_only -q 50 -ecn 5 9"
    more = "-failed 1 -disable_trim -end 40000 -seed 1"
    (case,), _ = recorded.find(with_options(folder, f"-topo a.topo -tm a.cm {options} {more}"))
    spec = spec_of(case, 3, folder / "flows.csv")
    assert spec["transport"]["ack_every_bytes"] == 4000
    assert (spec["transport"]["congestion_control"], spec["transport"]["receiver_credit"]) == ("none", True)
    # 15 us, and six times what 50 packets of 4,150 bytes take.
    assert spec["transport"]["rto_us"] == pytest.approx(15 + 6 * 50 * 4150 * 8e-5)
    assert spec["switch"]["buffer_bytes"] == 50 * 4150
    assert (spec["switch"]["ecn_min_bytes"], spec["switch"]["ecn_max_bytes"]) == (5 * 4150, 9 * 4150)
    assert (spec["switch"]["trim"], spec["switch"]["mark_last_hop"]) == (False, False)
    assert spec["topology"]["override"] == [{"spine": 0, "rate_gbps": 25.0}]
    # Without trimming REPS has one rule: the program's own would abort it at a timeout, so a recorded run met none.
    assert spec["scheme"] == {"name": "reps", "params": {"values": 64, "freezing": "idle_timeout"}}
    assert spec["run"]["until_us"] == 40_000


@pytest.mark.parametrize(
    ("line", "key", "said"),
    [
        ("{}", "line 1", 'a JSON object with "case"'),
        ("no json", "line 1", 'a JSON object with "case"'),
        (
            json.dumps({"case": "x", "options": "-paths 4 -pfc", "seed": 1, "cm": "a.cm"}),
            "line 1, options",
            "load_balancing_algo",
        ),
    ],
)
def test_another_version_is_refused_before_anything_runs(folder: Path, line: str, key: str, said: str) -> None:
    (folder / recorded.CASES).write_text(line + "\n")
    with pytest.raises(SpecError) as caught:
        recorded.find(folder)
    assert caught.value.key == key
    assert said in caught.value.allowed


def with_paths(folder: Path, size: int, fct_ps: int) -> Path:
    """The folder with one recorded run more: a flow over spine 1, and back over spine 0."""
    told = {"case": "det.b", "topo": "a.topo", "cm": "a.cm", "options": DET, "seed": 1}
    (folder / recorded.CASES).write_text(json.dumps(told) + "\n")
    with gzip.open(folder / "flows" / "det.b.s1.csv.gz", "wt", newline="") as text:
        csv.writer(text).writerows([recorded.COLUMNS, [1, 1, 6, size, 0, fct_ps, 49, 0, 14, 0, 0, 0]])
    with gzip.open(folder / "flows" / "det.b.s1.paths.csv.gz", "wt", newline="") as text:
        csv.writer(text).writerows([pinned.COLUMNS, [1, "data", 0, 1], [1, "ctrl", 1, 0]])
    return folder


def test_a_run_on_recorded_paths_is_compared_flow_by_flow(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_paths(folder, SIZE, alone_ps(SIZE))
    assert spinewise(["validate-against", str(folder), "--json", "-"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["seed"], told["flows"], told["equal"], told["largest_ps"]) == (1, 1, 1, 0)
    with_paths(folder, SIZE, alone_ps(SIZE) + 1)
    assert spinewise(["validate-against", str(folder)]) == 1
    assert "1 of 1 flows are not equal to the picosecond" in capsys.readouterr().out.replace("\n", " ")


def test_flows_that_wait_for_others_are_matched_by_their_hosts(folder: Path) -> None:
    """They are numbered by their hosts, not as they are listed: the second here is our first."""
    sizes = {1: (5, 2, SIZE), 2: (5, 1, 3 * SIZE)}
    first, then = (f"5->{dst} id {flow} {{}} size {size}" for flow, (_, dst, size) in sizes.items())
    chain = [first.format("start 0") + " send_done_trigger 1", then.format("trigger 1"), "trigger id 1 oneshot"]
    (folder / "inputs" / "a.cm").write_text("\n".join(["Nodes 8", "Connections 2", "Triggers 1", *chain, ""]))
    with_paths(folder, SIZE, 0)
    rows = [
        [flow, src, dst, size, 0 if flow == 1 else alone_ps(SIZE), alone_ps(size), 0, 0, 0, 0, 0, 0]
        for flow, (src, dst, size) in sizes.items()
    ]
    with gzip.open(folder / "flows" / "det.b.s1.csv.gz", "wt", newline="") as text:
        csv.writer(text).writerows([recorded.COLUMNS, *rows])
    (found,), _ = pinned.replays(recorded.find(folder)[0])
    assert (found.flows, found.equal, found.problems) == (2, 2, [])


def test_of_an_option_given_twice_the_last_counts(folder: Path) -> None:
    options = OPTIONS.replace("-tm a.cm", "-tm matrices/a.cm")
    told = {"case": "small.one.obl.nscc", "options": f"{options} -paths 32", "seed": 1}
    (folder / recorded.CASES).write_text(json.dumps(told) + "\n")
    (case,), _ = recorded.find(folder)
    assert case.matrix == "a.cm"
    assert resolve(spec_of(case, 1, folder / "flows.csv"))["scheme"]["params"]["values"] == 32


def test_a_single_recorded_seed_is_assumed_to_spread_as_ours() -> None:
    """Of 628 packets sent again, ours spread from 575 to 1,072: the 15 % that steady seeds must keep say nothing."""
    one = Compared(628.0, math.nan, 774.0, 190.0, (1, 24))
    assert not comparison.is_steady(one, 0.15)
    assert comparison.miscounted("packets sent again", one, 0.15) == []


def test_paths_that_cannot_be_read_are_refused(folder: Path) -> None:
    with_paths(folder, SIZE, alone_ps(SIZE))
    path = folder / "flows" / "det.b.s1.paths.csv.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(SpecError) as caught:
        pinned.replays(recorded.find(folder)[0])
    assert (caught.value.key, caught.value.file) == ("(whole file)", str(path))


def test_options_become_keys_of_the_spec(folder: Path) -> None:
    line = json.loads((folder / recorded.CASES).read_text().splitlines()[0])
    (folder / recorded.CASES).write_text(json.dumps(line | {"options": f"{OPTIONS} -disable_trim -sleek"}) + "\n")
    (case,), _ = recorded.find(folder)
    spec = spec_of(case, 1, folder / "flows.csv")
    assert (spec["transport"]["recovery"], spec["switch"]["trim"]) == ("sleek", False)


def spec_with(folder: Path, options: str) -> Spec:
    (case,), _ = recorded.find(with_options(folder, f"-topo a.topo -tm a.cm {options} -seed 1"))
    return spec_of(case, 1, folder / "flows.csv")


@pytest.mark.parametrize(
    ("options", "key", "allowed"),
    [
        ("-q abc", "-q", "a whole number"),
        ("-failed 2.5", "-failed", "a whole number"),
        ("-end soon", "-end", "a whole number"),
        ("-paths 16 32", "-paths", "a whole number"),
        ("-linkspeed 100G", "-linkspeed", "a whole number"),
        ("-ecn 5", "-ecn", "2 whole numbers"),
        ("-q -paths 16", "-q", "a whole number"),
    ],
)
def test_an_option_that_is_no_number_is_refused_by_its_name(folder: Path, options: str, key: str, allowed: str) -> None:
    with pytest.raises(SpecError) as caught:
        spec_with(folder, options)
    assert (caught.value.key, caught.value.allowed) == (key, allowed)


@pytest.mark.parametrize(("method", "compare"), [("queue", "queue"), ("qb", "queue"), ("bandwidth", "pause")])
def test_what_adaptive_switches_compare_is_what_differs_there(folder: Path, method: str, compare: str) -> None:
    spec = spec_with(folder, f"-strat ecmp_ar -ar_method {method} -ar_granularity flow")
    assert spec["scheme"] == {"name": "adaptive", "params": {"compare": compare, "unit": "flowlet"}}


def test_leaves_that_take_turns_under_hashed_values_mark_above_half_of_their_room(folder: Path) -> None:
    spec = spec_with(folder, "-strat rr_ecmp -load_balancing_algo oblivious -paths 16 -sender_cc_only")
    turns = {"tiers": "leaf", "reshuffle_rounds": 5, "least_bytes": 0}
    assert spec["scheme"] == {
        "name": "oblivious", "params": {"values": 16}, "fabric": "round_robin", "fabric_params": turns,
    }  # fmt: skip
    switch = resolve(spec)["switch"]
    assert (switch["buffer_bytes"], switch["ecn_min_bytes"], switch["ecn_max_bytes"]) == (120_350, 60_175, 60_175)


@pytest.mark.parametrize(("strategy", "scheme"), [("ecmp_host_ar", "host_ar"), ("rr_ecmp", "round_robin")])
def test_hosts_with_one_value_leave_the_choice_to_switches(folder: Path, strategy: str, scheme: str) -> None:
    assert spec_with(folder, f"-strat {strategy} -paths 1 -sender_cc_only")["scheme"]["name"] == scheme


@pytest.mark.parametrize(
    ("options", "key", "allowed"),
    [
        ("-strat ecmp_ar -ar_method width", "-ar_method", "queue, pqb"),
        ("-strat ecmp_ar -ar_granularity byte", "-ar_granularity", "packet, flow"),
        ("-linkspeed 400000", "-linkspeed", "100 Gbps, in Mbps"),
        ("-nodes 1024", "-nodes", "8, as the fabric has"),
        ("-tiers 3", "-tiers", "2, as the fabric has"),
    ],
)
def test_an_option_without_a_meaning_is_refused(folder: Path, options: str, key: str, allowed: str) -> None:
    with pytest.raises(SpecError, match=f"{key} = .*{allowed}"):
        spec_with(folder, options)


@pytest.mark.parametrize(
    ("options", "control", "credit"),
    [
        ("", "nscc", False),
        ("-receiver_cc_only", "none", True),
        ("-receiver_cc_only -sender_cc_algo dctcp", "dctcp_per_mark", True),
        ("-sender_cc_algo dctcp -receiver_cc_only", "none", True),
        ("-receiver_cc -sender_cc_only", "nscc", False),
        ("-sender_cc_only -receiver_cc", "nscc", True),
        ("-receiver_cc_only -paths 4 -receiver_cc_only", "none", True),
    ],
)
def test_the_last_option_says_who_paces(folder: Path, options: str, control: str, credit: bool) -> None:
    spec = spec_with(folder, f"-load_balancing_algo oblivious -paths 16 {options}")
    found = spec["transport"]
    assert (found["congestion_control"], found.get("receiver_credit", False)) == (control, credit)
    assert spec["switch"]["mark_last_hop"] is not credit


def test_hosts_over_adaptive_switches_compare_ports_as_told(folder: Path) -> None:
    spec = spec_with(folder, "-load_balancing_algo oblivious -paths 16 -strat ecmp_host_ar -ar_method pause")
    assert (spec["scheme"]["fabric"], spec["scheme"]["fabric_params"]) == ("host_ar", {"compare": "pause"})
    spec = spec_with(folder, "-load_balancing_algo oblivious -paths 1 -strat ecmp_host_ar -ar_method pqb")
    assert spec["scheme"] == {"name": "host_ar", "params": {"compare": "queue"}}


@pytest.mark.parametrize(
    ("hosts", "options", "shape"),
    [
        (1024, "", ("fat_tree", 16)),
        (128, "", ("fat_tree", 8)),
        (128, "-nodes 128 -tiers 2", ("leaf_spine", 16)),
        (16, "", ("fat_tree", 4)),
    ],
)
def test_without_a_topology_the_matrix_says_how_large_the_fabric_is(
    folder: Path, hosts: int, options: str, shape: tuple[str, int]
) -> None:
    (folder / "inputs" / "a.cm").write_text(f"Nodes {hosts}\nConnections 1\n0->5 id 1 start 0 size 100000\n")
    told = {"case": "own", "topo": None, "cm": "a.cm", "options": f"-tm a.cm -paths 4 {options}", "seed": 1}
    (folder / recorded.CASES).write_text(json.dumps(told) + "\n")
    (case,), _ = recorded.find(folder)
    topology = spec_of(case, 1, folder / "flows.csv")["topology"]
    assert (topology["kind"], topology.get("pods", topology.get("leaves"))) == shape
    (folder / "inputs" / "a.cm").write_text("Nodes 100\nConnections 1\n0->5 id 1 start 0 size 100000\n")
    with pytest.raises(SpecError, match="k³ / 4 hosts in three tiers"):
        spec_of(case, 1, folder / "flows.csv")


def test_receivers_are_not_told_of_slow_links(folder: Path) -> None:
    spec = spec_with(folder, "-load_balancing_algo oblivious -paths 16 -receiver_cc_only -failed 1")
    assert spec["topology"]["override"] == [{"spine": 0, "rate_gbps": 25.0}]
    assert resolve(spec)["transport"]["pull_least"] == 1.0


def test_more_failures_than_spines_slow_them_all(folder: Path) -> None:
    spec = spec_with(folder, "-load_balancing_algo oblivious -paths 16 -sender_cc_only -failed 9")
    assert [one["spine"] for one in spec["topology"]["override"]] == [0, 1, 2, 3]


def test_grants_have_values_of_their_own_where_flows_have_one(folder: Path) -> None:
    spec = spec_with(folder, "-load_balancing_algo oblivious -paths 1 -receiver_cc_only")
    assert spec["scheme"] == {"name": "oblivious", "params": {"values": 1}}


def test_a_line_that_is_not_asked_for_may_have_options_that_are_not_known(folder: Path) -> None:
    lines = (folder / recorded.CASES).read_text()
    other = json.dumps({"case": "other", "topo": None, "cm": "a.cm", "options": "-tm a.cm -pfc", "seed": 1})
    (folder / recorded.CASES).write_text(f"{lines}{other}\n")
    assert [case.name for case in recorded.find(folder, ["small.*"])[0]] == ["small.one.obl.nscc"]
    _, (refused,) = recorded.find(folder)
    assert refused.case == "other"
    assert "-pfc" in refused.problems[0]


def test_a_case_that_cannot_be_run_fails_and_the_others_are_compared(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (folder / recorded.CASES).read_text()
    told = json.loads(lines.splitlines()[0])
    unknown = told | {"case": "unknown", "options": told["options"] + " -pfc"}
    unbuilt = told | {"case": "unbuilt", "options": told["options"] + " -strat spray"}
    unread = told | {"case": "unread"}
    flows = folder / "flows"
    (flows / "unbuilt.s1.csv.gz").write_bytes((flows / "small.one.obl.nscc.s1.csv.gz").read_bytes())
    (folder / recorded.CASES).write_text("".join(json.dumps(one) + "\n" for one in (unknown, unbuilt, unread)) + lines)
    assert spinewise(["validate-against", str(folder), "--json", "-", "--salts", "2"]) == 1
    found = {one["case"]: one for one in json.loads(capsys.readouterr().out)}
    assert found.pop("small.one.obl.nscc")["verdict"] == "pass"
    assert {name: one["verdict"] for name, one in found.items()} == dict.fromkeys(
        ("unknown", "unbuilt", "unread"), "fail"
    )
    for name, said in (("unknown", "-pfc"), ("unbuilt", "-strat"), ("unread", "unread.s1.csv.gz")):
        assert said in found[name]["problems"][0]


def test_pinned_cases_without_paths_are_compared_over_seeds(folder: Path) -> None:
    with_paths(folder, SIZE, alone_ps(SIZE))
    (case,), _ = recorded.find(folder)
    assert case.pins
    (folder / "flows" / "det.b.s1.paths.csv.gz").unlink()
    assert not case.pins


def test_the_fabric_of_the_program_has_the_speed_of_its_nics(folder: Path) -> None:
    (folder / "inputs" / "b.cm").write_text("Nodes 1024\nConnections 1\n1->1000 id 1 start 0 size 4096\n")
    told = {"case": "own.one", "topo": None, "cm": "b.cm", "options": "-tm b.cm -linkspeed 400000 -seed 1", "seed": 1}
    (folder / recorded.CASES).write_text(json.dumps(told) + "\n")
    (case,), _ = recorded.find(folder)
    topology = spec_of(case, 1, folder / "flows.csv")["topology"]
    assert (topology["host_rate_gbps"], topology["fabric_rate_gbps"], topology["core_rate_gbps"]) == (400, 400, 400)


def test_each_bound_can_fail() -> None:
    near = Compared(100.0, 0.2, 100.1, 0.2, (5, 8))
    table = {"mean": near, "p50": near, "p99": near, "max": near}
    none = Compared(0.0, 0.0, 0.0, 0.0, (5, 8))
    assert problems(3, 3, table, Compared(100.0, 1.0, 110.0, 1.0, (5, 8)), none) == []
    assert problems(3, 2, table, none, none) == ["1 of 3 flows did not finish"]
    far = Compared(100.0, 0.2, 102.0, 9.0, (5, 8))
    assert problems(3, 3, table | {"mean": far}, none, none) == ["mean +2.0 % off (at most 1 %)"]
    # Where their own seeds spread as much, only z counts.
    wide = Compared(100.0, 5.0, 102.0, 5.0, (5, 8))
    assert problems(3, 3, table | {"mean": wide}, none, none) == []
    assert problems(3, 3, table | {"p50": Compared(100.0, 0.1, 101.0, 0.1, (5, 8))}, none, none) != []
    again = Compared(100.0, 1.0, 130.0, 1.0, (5, 8))
    assert problems(3, 3, table, again, none) == ["130 packets sent again, theirs 100 (within 15 %)"]
    # Where their own seeds spread by a third, it takes more.
    assert problems(3, 3, table, Compared(100.0, 33.0, 130.0, 33.0, (5, 8)), none) == []
    assert problems(3, 3, table, Compared(100.0, 10.0, 130.0, 10.0, (5, 8)), none) != []
    # Answers that completion times do not show.
    few = Compared(1000.0, 1.0, 950.0, 1.0, (5, 8))
    assert problems(3, 3, table, none, few) == ["950 answers, theirs 1000 (within 2 %)"]
    assert problems(3, 3, table, none, Compared(1000.0, 1.0, 985.0, 1.0, (5, 8))) == []


VALIDATION = Path(__file__).parents[3] / "shared" / "validation" / "uet"


def test_recorded_single_flows_are_equal_to_the_picosecond() -> None:
    """The closed forms as uet-htsim ran them, where the recorded cases are at hand."""
    if not (VALIDATION / recorded.CASES).is_file():
        return
    cases, _ = recorded.find(VALIDATION, ["*.one128.*", "*.one256.*"])
    assert len(cases) >= 4
    for found in comparison.compare(cases, 2, 1, Silent())[0]:
        assert found.problems == [], found.case
        assert abs(found.statistics["max"].ours - found.statistics["max"].theirs) < 1e-6, found.case


def test_recorded_paths_make_flows_equal_to_the_picosecond() -> None:
    """Runs of uet-htsim whose paths were recorded, where they are at hand."""
    if not (VALIDATION / recorded.CASES).is_file():
        return
    cases, _ = recorded.find(VALIDATION, ["det.*incast16*.nscc.*", "det.*ws128*.nscc.*"])
    assert len(cases) == 2
    for found in pinned.replays(cases)[0]:
        assert (found.problems, found.equal, found.largest_ps) == ([], found.flows, 0), found.case
