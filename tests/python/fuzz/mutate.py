"""A spec at random: a base of ours or of a user's, shrunk, and changed in a few places."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, cast

from fuzz.values import NAMES, WRONG, Param, Value, value
from spinewise import core
from spinewise.specs.spec import BESIDE_THE_RUN

Spec = dict[str, Any]

HERE = Path(__file__).parent
SCENARIOS = HERE.parents[2] / "scenarios"
TABLES = ("topology", "switch", "transport", "scheme", "run", "metrics", "detection")
LINKS = [["leaf0", "spine0"], ["leaf1", "spine1"], ["host0", "leaf0"], ["leaf0", "aggregation0"]]
# What each kind of fault must have.
NEEDS = {
    "flap": ["period_us", "down_us"],
    "loss": ["probability"],
    "black_hole": ["fraction"],
    "rate": ["rate_gbps"],
    "delay": ["added_us"],
}
# Longer runs tell nothing more.
SHORT_US = 3000
SIZE = 4


@cache
def bases() -> list[Spec]:
    """The specs that are changed."""
    specs: list[Spec] = []
    for path in sorted([*SCENARIOS.glob("*.toml"), *(HERE / "specs").glob("*")]):
        spec = tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())
        specs.append({key: table for key, table in spec.items() if key not in BESIDE_THE_RUN})
    return specs


@cache
def keys() -> dict[str, list[Param]]:
    """The keys of each table of a spec, by its name in the registry."""
    return {table["name"]: cast(list[Param], table["params"]) for table in core.registry()["spec"]}


def of(name: str) -> list[list[Param]]:
    """The keys of every kind of a table."""
    return [params for title, params in keys().items() if name in title]


def spec(seed: int, number: int) -> Spec:
    """The spec with this number."""
    random = Random(seed * 1_000_003 + number)
    made = deepcopy(random.choice(bases()))
    if random.random() < 0.95:
        shrink(random, made)
    for _ in range(random.choice([0, 1, 1, 2, 2, 3, 4, 6])):
        random.choice(CHANGES)(random, made)
    return made


def shrink(random: Random, made: Spec) -> None:
    """Make a base so small that it runs in no time."""
    topology = made.get("topology")
    if isinstance(topology, dict):
        for key in ("leaves", "spines", "hosts_per_leaf", "k", "pods"):
            if isinstance(topology.get(key), int):
                topology[key] = min(topology[key], random.choice([2, 3, SIZE]) if key != "k" else SIZE)
        for table in [*entries(topology, "override"), *entries(made)]:
            for key, of_all in (
                ("leaf", "leaves"),
                ("spine", "spines"),
                ("from_leaf", "leaves"),
                ("to_leaf", "leaves"),
            ):
                if isinstance(table.get(key), int) and isinstance(topology.get(of_all), int):
                    table[key] %= topology[of_all]
    for entry in entries(made):
        if random.random() < 0.9:
            fewer(random, entry)
        for key, most in (("duration_us", SHORT_US), ("repeat", 3), ("rounds", 2), ("requests", 20), ("flows", 50)):
            if isinstance(entry.get(key), int | float):
                entry[key] = min(entry[key], most)
        if isinstance(entry.get("size_bytes"), int):
            entry["size_bytes"] = min(entry["size_bytes"], 300_000)
    if random.random() < 0.8:
        made.setdefault("run", {}).setdefault("until_us", random.choice([1000, 20_000, 200_000]))


def fewer(random: Random, entry: Spec) -> None:
    """Fewer hosts in an entry of traffic."""
    if isinstance(entry.get("senders"), int):
        entry["senders"] = random.randrange(1, 4)
    if isinstance(entry.get("receiver"), int):
        entry["receiver"] %= 4


def entries(made: Spec, key: str = "traffic") -> list[Spec]:
    """The tables of a list of tables, if that is what it is."""
    found = made.get(key)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def pick_table(random: Random, made: Spec) -> tuple[Spec, list[Param]]:
    """A table of the spec, made if need be, and keys for it."""
    name = random.choice([*TABLES, "traffic", "traffic", "top level"])
    if name == "top level":
        return made, keys()["top level"]
    if name == "traffic" and entries(made):
        entry = random.choice(entries(made))
        fitting = [params for title, params in keys().items() if f'kind = "{entry.get("kind")}"' in title]
        return entry, random.choice(fitting or of("[[traffic]]"))
    table = made.setdefault(name, {})
    return (table if isinstance(table, dict) else {}), random.choice(of(f"[{name}]") or of("top level"))


def set_key(random: Random, made: Spec) -> None:
    """Give a key another value."""
    table, params = pick_table(random, made)
    param = random.choice(params)
    if table is made and param["name"] in (*TABLES, "traffic", "fault") and random.random() < 0.9:
        return
    table[param["name"]] = value(random, param, SIZE)


def drop_key(random: Random, made: Spec) -> None:
    """Leave a key out."""
    table, _ = pick_table(random, made)
    if table:
        del table[random.choice(list(table))]


def rename_key(random: Random, made: Spec) -> None:
    """Misspell a key."""
    table, _ = pick_table(random, made)
    if table:
        old = random.choice(list(table))
        table[random.choice([old[:-1], old + "s", old.upper(), "x", "", "a.b", "[0]"])] = table.pop(old)


def swap_tables(random: Random, made: Spec) -> None:
    """Put one table in the place of another."""
    one, other = random.sample([*TABLES, "traffic", "fault"], 2)
    made[one], made[other] = made.get(other, {}), made.get(one, {})


def spoil(random: Random, made: Spec) -> None:
    """Put something else in the place of a table or of a list."""
    name = random.choice([*TABLES, "traffic", "fault", "seed", "name"])
    deep: Value = 1
    for _ in range(random.choice([3, 40])):
        deep = random.choice([[deep], {"a": deep}])
    made[name] = random.choice([*WRONG, deep])


def scheme(random: Random, made: Spec) -> None:
    """Another scheme, with parameters of its own."""
    about = random.choice(core.registry()["schemes"])
    params = random.sample(about["params"], min(len(about["params"]), random.randrange(4)))
    table: Spec = {"name": about["name"]}
    if params:
        table["params"] = {param["name"]: value(random, param, 100) for param in params}
    for key in ("path_tag", "fabric", "hash", "acks", "header_bytes"):
        if random.random() < 0.1:
            table[key] = value(random, next(p for p in keys()["[scheme]"] if p["name"] == key), SIZE)
    made["scheme"] = table


def preset(random: Random, made: Spec) -> None:
    """The defaults of another world."""
    made["preset"] = random.choice([one["name"] for one in core.registry()["presets"]])


def transport(random: Random, made: Spec) -> None:
    """Another transport."""
    known = keys()
    kind, control = (words(known['[transport] kind = "rdma"'], name) for name in ("kind", "congestion_control"))
    chosen: Spec = {"kind": random.choice(kind)}
    if chosen["kind"] == "rdma":
        chosen["congestion_control"] = random.choice(control)
    made["transport"] = chosen
    if random.random() < 0.4:
        made["switch"] = {"model": random.choice(["output_queued", "shared_buffer"])}


def words(params: list[Param], name: str) -> list[str]:
    """The words that a key can be."""
    allowed = next(param["allowed"] for param in params if param["name"] == name)
    return re.findall(r'"([^"]*)"', allowed)


def traffic(random: Random, made: Spec) -> None:
    """One more entry of traffic, with what it needs and some more."""
    params = random.choice([params for title, params in keys().items() if title.startswith("[[traffic]] kind")])
    title = next(title for title, found in keys().items() if found is params)
    entry: Spec = {"kind": title.partition('"')[2].rstrip('"')}
    for param in params:
        if param["name"] != "kind" and (param["default"] == "(required)" or random.random() < 0.15):
            entry[param["name"]] = listed(random, param)
    if entry["kind"] == "poisson":
        entry |= {"cdf": random.choice(["web_search", "data_mining"]), "duration_us": random.randrange(1, SHORT_US)}
    if not isinstance(made.get("traffic"), list) or random.random() < 0.2:
        made["traffic"] = []
    made["traffic"].append(entry)


def listed(random: Random, param: Param) -> Value:
    """A value for a key of an entry, lists of hosts and tables included."""
    hosts = [random.randrange(9) for _ in range(random.randrange(5))]
    if param["name"] == "hosts":
        return random.choice(["all", hosts, [hosts, hosts[:1]], []])
    if param["name"] == "senders":
        return random.choice([random.randrange(8), hosts])
    if param["name"] == "schedule":
        return [{"at_us": random.randrange(100), "rate_gbps": random.choice([0, 1, 0.001])} for _ in hosts]
    if param["name"] == "list":
        return [{"src": a, "dst": random.randrange(9), "size_bytes": random.randrange(1, 99_999)} for a in hosts]
    if param["name"] == "size_bytes" and random.random() < 0.7:
        return random.randrange(1, 99_999)
    return value(random, param, 8)


def fault(random: Random, made: Spec) -> None:
    """One more fault."""
    table: Spec = {"kind": random.choice(["down", "flap", "loss", "black_hole", "rate", "delay", "x"])}
    if random.random() < 0.75:
        table["ends"] = random.choice(LINKS)
    if random.random() < 0.25:
        key = random.choice(["ends", "switch"])
        table[key] = random.choice([random.choice(NAMES), random.sample(NAMES, 2)])
    needs = NEEDS.get(table["kind"], [])
    table["at_us"] = random.choice([0, 10, 500])
    for param in keys()["[[fault]]"]:
        name = param["name"]
        if (name in needs and random.random() < 0.95) or (name not in table and random.random() < 0.08):
            table[name] = value(random, param, 200)
    if not isinstance(made.get("fault"), list):
        made["fault"] = []
    made["fault"].append(table)
    if random.random() < 0.5:
        made["detection"] = {"mode": random.choice(["carrier", "hello", "oracle", "never"])}


def metrics(random: Random, made: Spec) -> None:
    """All that can be looked at in a run, together with whatever else there is."""
    table: Spec = {"facts": random.random() < 0.5}
    if random.random() < 0.5:
        table |= {"series_interval_us": random.choice([7, 50, 100]), "series_links": random.choice(["all", "fabric"])}
    if random.random() < 0.5:
        at = random.sample(["host0", "host1", "leaf0"], random.randrange(1, 3))
        table["capture"] = {"at": at, "max_packets": random.choice([3, 100_000])}
    made["metrics"] = table


def topology(random: Random, made: Spec) -> None:
    """Another fabric: two tiers, three, or any graph."""
    draw = random.random()
    if draw < 0.4:
        made["topology"] = {key: random.randrange(1, 6) for key in ("leaves", "spines", "hosts_per_leaf")}
    elif draw < 0.65:
        made["topology"] = {"kind": "fat_tree", "k": random.choice([2, 4, 4, 6, 3])}
    else:
        made["topology"] = graph(random)
        return
    for key in ("host_rate_gbps", "fabric_rate_gbps", "host_delay_ns", "fabric_delay_ns", "parallel_links"):
        if random.random() < 0.25:
            made["topology"][key] = random.choice([0, 1, 2, 10, 40, 100, 0.001, 1000])
    if random.random() < 0.4:
        params = random.choice(of("[[topology.override]]"))
        chosen = random.sample(params, random.randrange(1, 4))
        made["topology"]["override"] = [{param["name"]: value(random, param, SIZE) for param in chosen}]


def graph(random: Random) -> Spec:
    """Hosts and switches with links at random, mostly connected."""
    hosts, switches = random.randrange(1, 9), random.randrange(1, 6)
    ends = [(host, hosts + random.randrange(switches)) for host in range(hosts)]
    ends += [(hosts + k, hosts + random.randrange(k)) for k in range(1, switches)]
    if random.random() < 0.3:
        ends.append((random.randrange(hosts + switches), random.randrange(hosts + switches)))
    elif switches > 1:
        ends += [(hosts + k, hosts + (k + 1) % switches) for k in range(random.randrange(switches))]
    if random.random() < 0.1:
        ends.pop(random.randrange(len(ends)))
    links = [
        {"a": a, "b": b, "rate_gbps": random.choice([1, 10, 100]), "delay_ns": random.choice([0, 1, 1000])}
        for a, b in ends
    ]
    return {"kind": "links", "hosts": hosts, "switches": switches, "links": links}


CHANGES: list[Callable[[Random, Spec], None]] = [
    *[set_key] * 9, drop_key, rename_key, swap_tables, spoil, *[scheme] * 4, preset, *[transport] * 2, *[traffic] * 3,
    *[fault] * 3, *[topology] * 3, *[metrics] * 2,
]  # fmt: skip
