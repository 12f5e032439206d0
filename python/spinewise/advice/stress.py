"""Try to break an answer: what changes in each case, and the regret of each scheme in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Final, cast

import numpy as np

from spinewise import core
from spinewise.errors import SpecError
from spinewise.measures import stats
from spinewise.replies import Fabric, FabricLink
from spinewise.shapes import Fault, Override, Spec
from spinewise.specs.kinds import trims
from spinewise.specs.spec import resolve, set_path
from spinewise.specs.variants import Variant

MORE_LOAD, LESS_LOAD = 1.25, 0.75
SLOW_SHARE = 0.25
SALT = 20_011
INCAST_SENDERS, INCAST_BYTES = 32, 30_000
OTHER_RECOVERY: Final = {"rack": "newreno", "sack": "newreno", "newreno": "rack", "reno": "rack",
                         "go_back_n": "irn", "irn": "go_back_n", "timeout": "sleek", "sleek": "timeout"}  # fmt: skip


@dataclass(frozen=True)
class Own:
    """A change of the settings below a variant.

    Attributes:
        settings: given the variant's spec with every default, the settings to change, by key path.
    """

    settings: Callable[[Spec], Mapping[str, object]]


@dataclass(frozen=True)
class Case:
    """A way in which conditions may differ from the spec.

    Attributes:
        name: a short name.
        words: the difference in words.
        spec: the changed spec; None if the case does not apply.
        own: the change for each variant instead, as variants may differ in switches and transports.
        because: why it does not apply.
    """

    name: str
    words: str
    spec: Spec | None
    own: Own | None = None
    because: str | None = None

    def variant(self, variant: Variant) -> Variant:
        """A scheme as it runs in this case."""
        if self.spec is None or self.own is None:
            return variant
        try:
            settings = self.own.settings(resolve(variant.apply(self.spec)))
        except (Inapplicable, SpecError):
            # Its transport has no such setting, or it cannot run here at all, which is reported elsewhere.
            return variant
        return replace(variant, settings=(*variant.settings, *settings.items()))


@dataclass(frozen=True)
class Regret:
    """How much worse a scheme is in a case than the best of those tried there.

    Attributes:
        scheme: its label.
        mean: by the mean of log ratios, as a share of the best's value; zero for the best.
        low, high: 95 % Student-t interval over the seeds, for this number alone; NaN with one seed.
        seeds: the number of seeds.
        sure: whether it is worse than the best by more than chance, with the error shared among the comparisons of a
            scheme with its rivals in all cases; None in files that predate this field.
    """

    scheme: str
    mean: float
    low: float
    high: float
    seeds: int
    sure: bool | None = None

    @property
    def is_sure(self) -> bool:
        """Whether it is surely worse than the best."""
        return self.low > 0.0 if self.sure is None else self.sure


class Inapplicable(Exception):  # noqa: N818 - a case that does not apply is no error
    """A case does not apply to this fabric; the text says why."""


def cases(spec: Spec, resolved: Spec) -> list[Case]:
    """All cases, in the order in which they are tried.

    Args:
        spec: as it was given.
        resolved: the same with every default.
    """
    senders = incast_senders(hosts_of(resolved))
    one = "another" if is_broken(resolved) else "a"
    told = [(name, words.format(senders=senders, one=one), change) for name, words, change in CHANGES]
    return [case(name, words, change, spec, resolved) for name, words, change in told]


Change = Callable[[Spec, Spec], Spec]


def case(name: str, words: str, change: Change | Own, spec: Spec, resolved: Spec) -> Case:
    """One case, or the reason why it does not apply."""
    changed = deepcopy(spec)
    try:
        if isinstance(change, Own):
            for path, value in change.settings(resolved).items():
                set_path(changed, path, value)
        else:
            changed = change(changed, resolved)
        core.topology(resolve(said(changed)))
        return Case(name, words, deepcopy(spec), change) if isinstance(change, Own) else Case(name, words, changed)
    except Inapplicable as reason:
        return Case(name, words, None, because=str(reason))
    except SpecError as error:
        return Case(name, words, None, because=refused(error))


def refused(error: SpecError) -> str:
    """The reason why a case does not apply whose spec the engine refuses."""
    return f"the engine then refuses {error.key} = {error.value} and allows {error.allowed}"


KEYS = ("name", "seed", "preset", "topology", "switch", "transport", "traffic", "fault", "detection", "run", "metrics")
"""Tables of a spec that define the run."""
MOST_LINKS = 16
"""The most links tried to find one whose failure cuts off no traffic."""


def said(spec: Spec) -> Spec:
    """The part of a spec that does not concern schemes."""
    kept = {key: value for key, value in spec.items() if key in KEYS}
    return cast(Spec, kept | {"scheme": {}})


def loaded(spec: Spec, _resolved: Spec, factor: float) -> Spec:
    """Multiply the load of every traffic entry that has one by a factor."""
    # The entries as given: a file of flows may represent several of those that are run.
    entries = [one for one in spec["traffic"] if isinstance(one.get("load"), int | float)]
    if not entries:
        raise Inapplicable("no traffic entry has a load")
    for entry in entries:
        entry["load"] = entry["load"] * factor
    return spec


def link_down(spec: Spec, resolved: Spec) -> Spec:
    """Take another link between switches down, which all routes know and which cuts off no traffic."""
    for link in whole_links(resolved):
        changed = with_link(deepcopy(spec), resolved, link, ({"up": False}, {"kind": "down"}))
        whole = resolved["topology"]["kind"] in WITH_OVERRIDES and not is_broken(resolved)
        if whole or can_run(changed):
            return changed
    raise Inapplicable("no link was found that can go down without cutting hosts off from each other")


def can_run(spec: Spec) -> bool:
    """Whether a spec can be set up, which it cannot if its faults cut off traffic."""
    try:
        core.validate(resolve(said(spec)), seconds=0.0)
    except SpecError:
        return False
    return True


def link_slow(spec: Spec, resolved: Spec) -> Spec:
    """Set another link between switches to a quarter of its rate."""
    link = whole_links(resolved)[0]
    rate = link["rate_bps"] * SLOW_SHARE / 1e9
    return with_link(spec, resolved, link, ({"rate_gbps": rate}, {"kind": "rate", "rate_gbps": rate}))


def with_link(spec: Spec, resolved: Spec, link: FabricLink, change: tuple[Override, Fault]) -> Spec:
    """Change one link for the whole run: by an override if the fabric has tiers, else by a fault at its start."""
    override, fault = change
    # One of several parallel links.
    twin = link["name"].partition("#")[2]
    one = {"link": int(twin)} if twin else {}
    tiers = {node["name"]: (node["tier"], node["position"]) for node in core.topology(resolved)["nodes"]}
    if resolved["topology"]["kind"] in WITH_OVERRIDES:
        ends = dict(tiers[name] for name in (link["from"], link["to"]))
        topology = spec.setdefault("topology", {})
        topology["override"] = [*topology.get("override", []), cast(Override, ends | one | override)]
    else:
        place = {"ends": [link["from"], link["to"]], **one, "at_us": 0}
        spec["fault"] = [*spec.get("fault", []), cast(Fault, {**fault, **place})]
    return spec


WITH_OVERRIDES: Final = ("leaf_spine", "fat_tree")
"""Kinds of topology whose links can be changed for a whole run."""


def whole_links(resolved: Spec) -> list[FabricLink]:
    """Healthy links from leaves to other switches, where the leaf has another one; at least one link.

    Those of the last leaf and its last such neighbours come first: specs mostly break the first ones.

    Raises:
        Inapplicable: there is none.
    """
    fabric = core.topology(resolved)
    tiers = {node["name"]: node["tier"] for node in fabric["nodes"]}
    hit = {name for fault in fabric["faults"] for name in fault["links"]}
    ups: dict[str, list[FabricLink]] = {}
    for link in fabric["links"]:
        if tiers[link["from"]] == "leaf" and tiers[link["to"]] != "host":
            ups.setdefault(link["from"], []).append(link)
    whole: list[FabricLink] = []
    for found in reversed(ups.values()):
        good = [one for one in found if one["up"] and not one["slow"] and one["name"] not in hit]
        if len(good) > 1 and len({one["to"] for one in good}) > 1:
            whole += reversed(good)
    if not whole:
        raise Inapplicable(f"no leaf has two whole links up{unknown(fabric)}")
    return whole[:MOST_LINKS]


def unknown(fabric: Fabric) -> str:
    """A note that no tiers are known, if that is so."""
    return "" if any(node["tier"] == "leaf" for node in fabric["nodes"]) else ": this fabric has no leaves"


def small_buffers(resolved: Spec) -> dict[str, object]:
    """Halve the buffers, with unchanged marking thresholds."""
    now = resolved["switch"]
    found: dict[str, object] = {}
    if (packets := now.get("buffer_packets", 0)) > 0:
        found["switch.buffer_packets"] = max(packets // 2, 1)
    if (size := int(now.get("buffer_bytes", 0))) > 0:
        found["switch.buffer_bytes"] = max(size // 2, 1)
    if (time := float(now.get("buffer_us", 0))) > 0:
        found["switch.buffer_us"] = time / 2
    return found


def other_recovery(resolved: Spec) -> dict[str, object]:
    """Switch to the other loss recovery."""
    now = str(resolved["transport"].get("recovery"))
    if now not in OTHER_RECOVERY:
        raise Inapplicable(f"transport {resolved['transport'].get('kind')} has no other loss recovery")
    if now == "timeout" and trims(resolved):
        raise Inapplicable("trimmed packets report losses; sleek is for switches that do not trim")
    return {"transport.recovery": OTHER_RECOVERY[now]}


def with_incast(spec: Spec, resolved: Spec) -> Spec:
    """Add an incast at the last host."""
    if any(one["kind"] == "incast" for one in resolved["traffic"]):
        raise Inapplicable("the traffic already has an incast")
    hosts = hosts_of(resolved)
    senders = incast_senders(hosts)
    if senders < 2:
        raise Inapplicable("an incast needs three hosts")
    spec["traffic"].append(
        {"kind": "incast", "name": "added incast", "receiver": hosts - 1, "senders": senders,
         "size_bytes": INCAST_BYTES, "repeat": 4, "period_us": 500}
    )  # fmt: skip
    return spec


def incast_senders(hosts: int) -> int:
    """The number of senders in the added incast: all hosts but its receiver, if there are few."""
    return min(INCAST_SENDERS, hosts - 1)


def hosts_of(resolved: Spec) -> int:
    """The number of hosts in a fabric."""
    return sum(node["tier"] == "host" for node in core.topology(resolved)["nodes"])


def repaired(spec: Spec, resolved: Spec) -> Spec:
    """The spec with nothing broken and no link slow."""
    if not is_broken(resolved):
        raise Inapplicable("nothing is broken or slow in the spec")
    spec.pop("fault", None)
    spec.get("topology", {}).pop("override", None)
    return spec


def is_broken(resolved: Spec) -> bool:
    """Whether a spec has faults, or links that differ from the rest."""
    return bool(resolved.get("fault") or resolved["topology"].get("override"))


CHANGES: Final[tuple[tuple[str, str, Change | Own], ...]] = (
    ("link down", "{one} link of a leaf down", link_down),
    ("slow link", "{one} link of a leaf at a quarter of its rate", link_slow),
    ("repaired", "all links up and at full rate", repaired),
    ("load +25 %", "a quarter more load", lambda spec, resolved: loaded(spec, resolved, MORE_LOAD)),
    ("load -25 %", "a quarter less load", lambda spec, resolved: loaded(spec, resolved, LESS_LOAD)),
    ("incast", "an added incast of {senders} hosts", with_incast),
    ("half buffers", "half the buffers", Own(small_buffers)),
    ("other recovery", "the other loss recovery at hosts", Own(other_recovery)),
    ("another hash", "flows placed by another hash", Own(lambda _: {"scheme.hash_salt": SALT})),
)
"""What is tried, faults first: where time is short, the rest is tried less."""


def regrets(
    costs: Mapping[str, Sequence[float]], *, more_is_better: bool = False, comparisons: int = 1
) -> list[Regret]:
    """The regret of each scheme, the best first.

    The best is the lowest mean of several, so a scheme counts as surely worse only if it would be so against each of
    them, in each case: the error of 5 % is divided by the number of these comparisons (Bonferroni).

    Args:
        costs: the costs of each scheme, on the same seeds in the same order; lower is better.
        more_is_better: costs are the inverse of values of which more is better, and regrets are shares of values.
        comparisons: of one scheme with others, in all cases together.
    """
    sign = -1.0 if more_is_better else 1.0
    alone = stats.CONFIDENCE
    together = 1.0 - stats.error_each(comparisons)
    logs = {scheme: np.log(np.asarray(found, dtype=np.float64)) for scheme, found in costs.items()}
    best = min(logs, key=lambda scheme: float(logs[scheme].mean()))
    made = []
    for scheme, column in logs.items():
        apart = column - logs[best]
        found, wider = (stats.t_interval(apart, confidence) for confidence in (alone, together))
        mean, low, high = (sign * float(np.expm1(sign * end)) for end in (found.mean, found.low, found.high))
        # Two seeds may be close by luck, which an interval would mistake for no spread.
        sure = found.n >= stats.FEWEST_PAIRS and wider.low > 0.0
        made.append(Regret(scheme, mean, low, high, found.n, sure))
    return sorted(made, key=lambda one: one.mean)
