"""`spinewise new`: what it writes is valid, explains itself, and is there whole or not at all."""

from __future__ import annotations

import builtins
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

import spinewise as sw
from spinewise import schemas
from spinewise.cli import main, new
from spinewise.runs import file as output
from spinewise.schemas.spec import entries
from spinewise.starting import amounts, compose, place
from spinewise.starting.wishes import TRANSPORTS, Wishes, workloads

SMALL = ("--leaves", "2", "--spines", "2", "--hosts-per-leaf", "2", "--workload", "enterprise_meet")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("topology", ["leaf-spine", "fat-tree"])
@pytest.mark.parametrize("more", [[], ["--incast", "5", "--slow-link", "leaf0:{upper}1:10"]], ids=["plain", "uneven"])
def test_it_is_valid_and_fits_its_schema(tmp_path: Path, transport: str, topology: str, more: list[str]) -> None:
    upper = "spine" if topology == "leaf-spine" else "aggregation"
    options = [word.format(upper=upper) for word in more]
    command = ["new", str(tmp_path / "lab"), "--transport", transport, "--topology", topology, *options]
    assert main([*command, "--hosts-per-leaf", "4"]) == 0
    path = tmp_path / "lab" / "fabric.toml"
    spec = tomllib.loads(path.read_text())
    first = path.read_text().splitlines()[0]
    assert first == "#:schema ./spinewise.schema.json"
    schema = json.loads((path.parent / first.removeprefix("#:schema ./")).read_text())
    assert schema == json.loads(schemas.path("spec").read_text())
    jsonschema.Draft7Validator(schema).validate(spec)
    resolved = sw.resolve(path)
    assert resolved["name"] == "lab"
    assert resolved["transport"]["kind"] == {"tcp": "dctcp"}.get(transport, transport)
    assert len(resolved["topology"]["override"]) == (1 if more else 0)
    assert [entry["name"] for entry in resolved["traffic"]] == ["web", *(["burst"] if more else [])]


@pytest.mark.parametrize("workload", workloads())
def test_every_workload_makes_runs_of_a_sensible_length(tmp_path: Path, workload: str) -> None:
    path = tmp_path / "fabric.toml"
    assert main(["new", str(path), "--workload", workload]) == 0
    found = sw.validate(path)
    assert 200 < found.estimate.flows < 500_000
    assert found.estimate.packet_hops < 1.1 * amounts.MOST_HOPS


def test_it_can_be_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tiny.toml"
    assert main(["new", str(path), *SMALL, "--schemes", "ecmp,letflow", "--load", "0.2"]) == 0
    assert f"spinewise advise {path}" in capsys.readouterr().out
    found = sw.compare(path, seeds=1)
    assert found.labels == ["ecmp", "letflow"]


def test_a_large_fabric_is_sent_to_an_advice_that_is_not_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All schemes would have taken hours, and the command that `new` printed was refused."""
    large = ["--leaves", "16", "--spines", "8", "--hosts-per-leaf", "32", "--workload", "all_reduce"]
    assert main(["new", str(tmp_path / "large.toml"), *large, "--schemes", "ecmp,letflow"]) == 0
    assert '" --schemes ecmp,letflow --' in capsys.readouterr().out
    monkeypatch.setattr(new, "default_jobs", lambda: 2)
    wishes = Wishes(schemes=("ecmp", "letflow"))
    assert new.race(wishes, 0.1) == " --schemes ecmp,letflow"
    assert new.race(Wishes(), 0.1) == ""
    assert new.race(wishes, 5.0) == " --schemes ecmp,letflow"
    assert new.race(wishes, 60.0) == " --schemes ecmp,letflow --budget 12min"


def test_aliases_that_specs_take_name_a_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", str(tmp_path / "a.toml"), "--leaves", "2", "--spines", "2", "--workload", "WebSearch"]) == 0
    assert 'cdf = "web_search"' in (tmp_path / "a.toml").read_text()
    capsys.readouterr()
    assert main(["workloads", "websearch"]) == 0
    assert capsys.readouterr().out.startswith("web_search: ")


def test_comments_are_those_of_the_registry(tmp_path: Path) -> None:
    path = tmp_path / "fabric.toml"
    main(["new", str(path)])
    text = " ".join(line.removeprefix("# ") for line in path.read_text().splitlines())
    for param in entries("spec")['[topology] kind = "leaf_spine"']["params"]:
        if param["name"] in ("spines", "hosts_per_leaf", "host_rate_gbps"):
            assert f"{param['doc'].rstrip('.')}. {param['name']} = " in text


def test_hosts_that_carry_less_than_the_uplinks_are_not_overloaded() -> None:
    assert Wishes(hosts_per_leaf=16).load_of == "leaf_uplinks"
    assert Wishes(hosts_per_leaf=15).load_of == "host_links"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--k", "16"], "1,024 hosts, 128 leaves, hosts to uplinks 1:1"),
        (["--host-gbps", "400"], "16 hosts, 8 leaves, hosts to uplinks 1:1"),
        (["--hosts-per-leaf", "5"], "40 hosts, 8 leaves, hosts to uplinks 2.5:1"),
        (["--link-gbps", "50"], "16 hosts, 8 leaves, hosts to uplinks 1:2"),
    ],
)
def test_a_fat_tree_is_not_oversubscribed_unless_it_is_asked_to_be(
    tmp_path: Path, options: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It had 16 hosts under each leaf, whatever k was, and said that it had k³ / 4."""
    path = tmp_path / "tree.toml"
    command = ["new", str(path), "--topology", "fat-tree", "--workload", "ali_storage", "--load", "0.1", *options]
    assert main(command) == 0
    assert f"{path}: {told}; " in capsys.readouterr().out
    assert "and k³ / 4 hosts, where hosts_per_leaf is k / 2" in path.read_text().replace("\n# ", " ")


@pytest.mark.parametrize(
    ("options", "key", "said"),
    [
        (["--leaves", "0"], "--leaves", "1 to 4096"),
        (["--k", "5", "--topology", "fat-tree"], "--k", "even"),
        (["--k", "4"], "--k", "only with --topology fat-tree"),
        (["--spines", "4", "--topology", "fat-tree"], "--spines", "only with --topology leaf-spine"),
        (["--workload", "websaerch"], "--workload", "web_search"),
        (["--slow-link", "leaf0:spine1:100"], "--slow-link", "less than the 100 Gbps of the links between switches"),
        (["--workload", "all_reduce", "--load", "0.5"], "--load", "as fast as it can"),
        (["--slow-link", "leaf0:spine9:10"], "--slow-link", "from 0 to 3"),
        (["--slow-link", "leaf0:core1:10"], "--slow-link", "leaf0:spine1:10"),
        (["--slow-link", "leaf0-spine1"], "--slow-link", "NODE:NODE:GBPS"),
        (["--slow-link", "leaf0:spine1:0"], "--slow-link", "for a link that is down, set up = false"),
        (["--slow-link", "leaf0:spine1:10G"], "--slow-link", "a number without a unit"),
        (["--incast", "4000"], "--incast", "63"),
        (["--schemes", "ecmp,letflwo"], "--schemes", "letflow"),
        (["--schemes", "ecmp;letflow"], "--schemes", "separated by commas"),
        (["--aim", "p99 slowness of web"], "--aim", 'did you mean "slowdown"?'),
        (["--aim", "bogus"], "--aim", '"bogus" is not a quantity'),
        (["--transport", "quic"], "--transport", "tcp, rdma, uet"),
        (["--toplogy", "fat-tree"], "--toplogy", "--topology"),
        (["--leaves", "1", "--hosts-per-leaf", "1"], "--hosts-per-leaf", "two hosts or more"),
        (
            ["--leaves", "1", "--hosts-per-leaf", "1", "--workload", "all_reduce"],
            "--hosts-per-leaf",
            "two hosts or more",
        ),
        (["--link-gbps", "1e-9"], "--link-gbps", "transport.min_rto_us follows from the rates"),
        (["--host-gbps", "1e-9", "--link-gbps", "1e-8"], "--host-gbps", "a higher rate"),
    ],
)
def test_wishes_that_cannot_be_are_refused_by_their_option(
    tmp_path: Path, options: list[str], key: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", str(tmp_path / "lab"), *options]) == 2
    err = capsys.readouterr().err
    assert f"key      {key}\n" in err
    assert said in err
    assert names(tmp_path) == []


def test_nothing_is_overwritten_without_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text("precious")
    assert main(["new", str(path)]) == 2
    assert "--force" in capsys.readouterr().err
    assert path.read_text() == "precious"
    assert names(tmp_path) == ["fabric.toml"]
    assert main(["new", str(path), "--force"]) == 0
    assert "[topology]" in path.read_text()


def test_a_schema_of_somebody_else_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / place.SCHEMA).write_text('{"title": "mine"}')
    assert main(["new", str(tmp_path / "fabric.toml")]) == 2
    assert place.SCHEMA in capsys.readouterr().err
    assert names(tmp_path) == [place.SCHEMA]


def test_an_older_schema_of_ours_is_renewed(tmp_path: Path) -> None:
    (tmp_path / place.SCHEMA).write_text('{"title": "Spinewise spec"}')
    assert main(["new", str(tmp_path / "fabric.toml")]) == 0
    assert (tmp_path / place.SCHEMA).read_bytes() == schemas.path("spec").read_bytes()


@pytest.mark.parametrize("stopped_at", ["spinewise.schema.json", "fabric.toml"])
def test_ctrl_c_while_writing_leaves_nothing(tmp_path: Path, stopped_at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write = output.write_file

    def interrupted(destination: Path, content: bytes, *, force: bool, option: str) -> None:
        if destination.name == stopped_at:
            raise KeyboardInterrupt
        write(destination, content, force=force, option=option)

    monkeypatch.setattr(place, "write_file", interrupted)
    assert main(["new", str(tmp_path / "a" / "lab")]) == 130
    assert names(tmp_path) == []


class AtTerminal:
    """Answers a person gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: str | type[BaseException]) -> None:
        self.answers: Iterator[str | type[BaseException]] = iter(answers)
        self.asked: list[str] = []
        monkeypatch.setattr(builtins, "input", self.answer)
        for stream in (sys.stdin, sys.stdout):
            monkeypatch.setattr(stream, "isatty", lambda: True)

    def answer(self, prompt: str) -> str:
        self.asked.append(prompt)
        found = next(self.answers)
        if isinstance(found, str):
            return found
        raise found


def test_answers_make_a_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "asked.toml"
    person = AtTerminal(
        monkeypatch, "fat", "fat-tree", "4", "2", "", "100", "rdma", "web_search", "0.3", "0", "leaf0:spine0:1",
        "leaf0:aggregation1:10 aggregation0:core1:20", "mean FCT of web", "",
    )  # fmt: skip
    assert main(["new", str(path)]) == 0
    assert "allowed is leaf-spine, fat-tree" in capsys.readouterr().err
    assert any("k of the fat-tree" in prompt for prompt in person.asked)
    assert not any("Spine switches" in prompt for prompt in person.asked)
    spec = sw.resolve(path)
    assert (spec["topology"]["k"], spec["transport"]["kind"], spec["traffic"][0]["load"]) == (4, "rdma", 0.3)
    assert [change["rate_gbps"] for change in spec["topology"]["override"]] == [10, 20]
    assert 'The aim: "mean FCT of web"' in path.read_text()


@pytest.mark.parametrize(("answer", "size"), [("", 8_000_000), ("123456", 123_456)])
def test_the_size_of_a_collective_is_asked_for(
    tmp_path: Path, answer: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = AtTerminal(monkeypatch, "", "2", "2", "4", "", "", "", "all_reduce", "0", answer, "", "", "", "")
    assert main(["new", str(tmp_path / "asked.toml")]) == 0
    assert tomllib.loads((tmp_path / "asked.toml").read_text())["traffic"][0]["size_bytes"] == size
    assert sum(prompt == "Data of each host, bytes, or auto [auto]: " for prompt in person.asked) == 2


def test_ultra_ethernet_trims_and_is_compared_by_schemes_over_values(tmp_path: Path) -> None:
    path = tmp_path / "fabric.toml"
    assert main(["new", str(path), "--transport", "uet", "--slow-link", "leaf0:spine1:10"]) == 0
    spec = sw.resolve(path)
    assert (spec["transport"]["kind"], spec["switch"]["model"]) == ("uet", "trimming")
    compared = tomllib.loads(path.read_text())["compare"]["schemes"]
    assert compared[:2] == ["ecmp", "wcmp"]
    assert "reps" in compared


def test_an_answer_that_does_not_fit_is_asked_for_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    person = AtTerminal(
        monkeypatch, "fat-tree", "7", "4", "4", "", "", "", "", "", "99", "8", "aggregation0:core9:10",
        "aggregation0:core1:10", "p99 slowness of web", "", "ecmp,letflwo", "ecmp",
    )  # fmt: skip
    assert main(["new", str(tmp_path / "asked.toml")]) == 0
    err = capsys.readouterr().err
    for said in ("an even number", "from 1 to 31", "a number from 0 to 3", "STATISTIC QUANTITY of ENTRY", '"letflow"'):
        assert said in " ".join(err.split())
    for question in ("Ports of a switch", "Incast", "Slow links", "Aim", "Schemes"):
        assert sum(prompt.startswith(question) for prompt in person.asked) == 2
    assert any("aggregation0:core1:10" in prompt for prompt in person.asked)
    assert not any("spine1" in prompt for prompt in person.asked)


@pytest.mark.parametrize(("end", "code"), [(KeyboardInterrupt, 130), (EOFError, 2)])
def test_leaving_the_questions_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: type[BaseException], code: int
) -> None:
    AtTerminal(monkeypatch, "leaf-spine", "4", end)
    assert main(["new", str(tmp_path / "lab")]) == code
    assert names(tmp_path) == []


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lab").write_text("")
    assert main(["new", str(tmp_path / "lab")]) == 2
    assert "a folder" in capsys.readouterr().err
    assert main(["new", str(tmp_path / "lab" / "fabric.toml")]) == 2


def test_json_says_what_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", str(tmp_path / "lab"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["spec"] == str(tmp_path / "lab" / "fabric.toml")
    assert told["aim"] == "p99 slowdown of web"
    assert told["fabric"]["hosts"] == 64


def test_one_leaf_has_traffic_within_it(tmp_path: Path) -> None:
    """Traffic between racks was written, and then refused by a key for which there is no option."""
    assert main(["new", str(tmp_path / "one.toml"), "--leaves", "1"]) == 0
    assert sw.validate(tmp_path / "one.toml").spec["traffic"][0]["pairs"] == "any"


@pytest.mark.parametrize(("gbps", "given"), [(100, None), (400, 0.16)])
def test_rates_of_dcqcn_rise_in_proportion_to_the_link(tmp_path: Path, gbps: int, given: float | None) -> None:
    place = tmp_path / "rdma.toml"
    assert main(["new", str(place), "--transport", "rdma", "--host-gbps", str(gbps), "--link-gbps", str(gbps)]) == 0
    assert tomllib.loads(place.read_text())["transport"].get("dcqcn_additive_increase_gbps") == given
    assert "increases_of_slower_links" not in {one.code for one in sw.validate(place).warnings}


def test_the_increases_of_dcqcn_are_those_of_the_engine() -> None:
    fabric = {"leaves": 2, "spines": 2, "hosts_per_leaf": 2}
    swap = {"kind": "permutation", "size_bytes": 9}
    found = sw.validate({"topology": fabric, "transport": {"kind": "rdma"}, "traffic": [swap]}).spec["transport"]
    assert {name: value for name, value in found.items() if name in compose.INCREASES} == compose.INCREASES
