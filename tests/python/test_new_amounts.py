"""How much traffic `spinewise new` asks for: enough to tell schemes apart, in runs of a minute or so."""

from __future__ import annotations

import json
import statistics
import tomllib
from pathlib import Path
from typing import Any

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.starting import amounts, compose
from spinewise.starting.wishes import COLLECTIVES, FAT_TREE, TRANSPORTS, Wishes, distributions, workloads

GPUS = Wishes(topology=FAT_TREE, k=16, host_gbps=400)
PODS = Wishes(leaves=16, spines=4)


def spec_of(wishes: Wishes) -> dict[str, Any]:
    return tomllib.loads(compose.text(wishes, ""))


def loads(wishes: Wishes, seed: int) -> Any:
    """The loads that a run is offered; its packets are large, so that there are few of them."""
    spec = spec_of(wishes)
    spec["transport"]["mss_bytes"] = 60_000
    return sw.run(spec, seed=seed).report["loads"]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("topology", ["leaf-spine", "fat-tree"])
@pytest.mark.parametrize("workload", ["solar2022", "web_search", *COLLECTIVES])
def test_hops_are_about_those_of_the_engine(transport: str, topology: str, workload: str) -> None:
    wishes = Wishes(transport=transport, topology=topology, workload=workload)
    counted = sw.validate(spec_of(wishes)).estimate
    expected = counted.flows * amounts.hops(wishes, counted.flow_bytes / counted.flows)
    assert 0.7 < expected / counted.packet_hops < 1.4


@pytest.mark.parametrize("workload", workloads())
@pytest.mark.parametrize(
    "fabric", [Wishes(), GPUS, Wishes(leaves=1024, host_gbps=400)], ids=["64 hosts", "1024 hosts", "16384 hosts"]
)
def test_no_workload_is_more_than_a_run_of_a_minute_or_so(fabric: Wishes, workload: str) -> None:
    wishes = Wishes(**{**vars(fabric), "workload": workload})
    if workload in COLLECTIVES:
        found = amounts.exchange(wishes)
        flows: float = wishes.hosts * (found.ranks - 1) * found.rounds * (2 if workload == "all_reduce" else 1)
        each = found.peer_bytes
    else:
        made = amounts.arrivals(wishes)
        flows, each = made.flows, distributions()[workload].mean
    assert flows * amounts.hops(wishes, each) <= 1.1 * amounts.MOST_HOPS
    assert 200 < flows < 4e6


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("workload", COLLECTIVES)
@pytest.mark.parametrize("fabric", [Wishes(), PODS, GPUS], ids=["64 hosts", "256 hosts", "1024 hosts"])
def test_messages_of_collectives_take_longer_to_send_than_to_travel(
    fabric: Wishes, workload: str, transport: str
) -> None:
    """8 MB of each of 1,024 hosts were messages of 7.8 kB, which kept links busy for 2 % of the time."""
    wishes = Wishes(**{**vars(fabric), "workload": workload, "transport": transport})
    found = amounts.exchange(wishes)
    assert found.sending_s >= found.travel_s
    entry: dict[str, Any] = spec_of(wishes)["traffic"][0]
    assert entry["size_bytes"] == pytest.approx(found.peer_bytes * (found.ranks - (workload == "all_to_all")))
    groups = entry.get("groups", 1)
    assert entry.get("grouping", "strided") == "strided"
    for group in (range(first, wishes.hosts, groups) for first in range(groups)):
        assert len({host // wishes.under_leaf for host in group}) >= 4, "it is in several racks"
    assert amounts.notes(wishes) == []


def test_groups_make_a_spec_that_says_why() -> None:
    wishes = Wishes(**{**vars(GPUS), "workload": "all_reduce", "transport": "rdma"})
    entry: Any = sw.resolve(spec_of(wishes))["traffic"][0]
    assert (entry["hosts"], entry["groups"], entry["grouping"]) == ("all", 32, "strided")
    text = " ".join(line.removeprefix("# ") for line in compose.text(wishes, "").splitlines())
    assert "Independent groups of 32 hosts, each spread over the racks" in text
    assert "520 kB of it goes to another host at once, taking 10 µs to send and 6.0 µs to travel. size_bytes" in text


def test_a_size_that_is_given_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sized.toml"
    command = ["new", str(path), "--workload", "all_to_all", "--size", "630000", "--json"]
    assert main(command) == 0
    assert tomllib.loads(path.read_text())["traffic"][0]["size_bytes"] == 630_000
    [warned] = json.loads(capsys.readouterr().out)["warnings"]
    assert (warned["code"], warned["key"]) == ("small_messages", "traffic[0].size_bytes")
    assert warned["text"].startswith("Messages of 256 kB would tell schemes apart better, in runs 26 times as long;")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--size", "5"], "only with --workload all_reduce or all_to_all"),
        (["--workload", "all_reduce", "--size", "0"], "a whole number, 1 to 9007199254740991"),
    ],
)
def test_sizes_that_cannot_be_are_refused(
    tmp_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", str(tmp_path / "lab"), *options]) == 2
    err = capsys.readouterr().err
    assert "key      --size\n" in err
    assert said in err


def test_the_load_that_is_drawn_is_near_the_one_asked_for() -> None:
    """Of 256 hosts, 474 flows of a heavy tail offered 1.13 to 1.51 times what the busiest leaf could carry, at 0.5."""
    found = [loads(PODS, seed) for seed in range(1, 6)]
    assert all(one["wire_of_available"] * amounts.WIRE < amounts.OVERLOAD for one in found)
    assert statistics.mean(one["payload_of_nominal"] for one in found) == pytest.approx(0.5, rel=0.05)


def test_the_load_strays_as_far_as_is_said() -> None:
    """One leaf sends to the other, so that all that is sent is what one leaf sends, twice over."""
    wishes = Wishes(leaves=2, spines=1, hosts_per_leaf=4)
    drawn = [loads(wishes, seed)["payload_of_nominal"] for seed in range(1, 41)]
    expected = amounts.arrivals(wishes).spread / 2**0.5
    assert amounts.arrivals(wishes).spread <= amounts.SPREAD
    assert 0.7 < statistics.stdev(drawn) / statistics.mean(drawn) / expected < 1.3


def test_a_high_load_may_stray_less() -> None:
    wanted = [amounts.arrivals(Wishes(**{**vars(PODS), "load": load})).wanted for load in (0.5, 0.78, 0.9)]
    assert wanted == [0.1, pytest.approx((0.95 / 1.08 / 0.78 - 1.0) / 2), 0.05]


def test_a_load_that_overloads_and_a_time_that_is_too_short_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def warned(*options: str) -> list[str]:
        assert main(["new", str(tmp_path / "lab.toml"), "--force", "--json", *options]) == 0
        return [one["code"] for one in json.loads(capsys.readouterr().out)["warnings"]]

    assert warned("--load", "0.96") == ["overload_asked"]
    assert warned("--load", "0.8") == []
    assert warned("--workload", "data_mining") == ["few_flows"]
    assert "by about 20%; a longer time would reduce that, but runs take minutes." in " ".join(
        (tmp_path / "lab.toml").read_text().replace("\n# ", " ").splitlines()
    )
