"""The variations of a study: each axis has points, and each point changes a spec in one way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from spinewise.comparison.plan import check_load, with_load
from spinewise.errors import SpecError, nearest
from spinewise.own.scheme import Scheme
from spinewise.plain import shown
from spinewise.shapes import Spec
from spinewise.specs.faults import without_faults
from spinewise.specs.spec import Tables, anchor_files, canonical_json, set_path, split_path
from spinewise.specs.variants import parse_list
from spinewise.sweeps.task import Plain

SCHEMES, LOADS, FAULTS = "schemes", "loads", "faults"
NAMES = {SCHEMES: "scheme", LOADS: "load", FAULTS: "fault"}
"""The name of an axis in labels and tables, if that is not its key."""
ELSEWHERE = {"seeds": "seeds", "seed": "seeds", "metrics": "metrics", "spec": "spec"}
"""Keys that are not an axis, and the key of [study] to use."""
ANY = "*"
"""A step of a path that matches every item of a list."""
WITH_FILES = ("topology", "traffic")
"""Tables of the spec that may name files."""
LOAD = ("traffic", ANY, "load")
"""The path that an axis of loads sets."""


@dataclass(frozen=True)
class Point:
    """A value of an axis.

    Attributes:
        label: its name in tables.
        change: a function that applies it to a spec.
    """

    label: Plain
    change: Callable[[Spec], Spec]


@dataclass(frozen=True)
class Axis:
    """A dimension of a study.

    Attributes:
        name: such as "scheme" or "transport.min_rto_us".
        points: in order; their labels differ.
    """

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Place:
    """A point of the whole grid: one of each axis.

    Attributes:
        label: the labels by name of the axis.
        spec: the spec as written, with all changes.
    """

    label: dict[str, Plain]
    spec: Spec


def axes_of(grid: Mapping[str, object], own: Sequence[type[Scheme]] = (), folder: Path = Path()) -> list[Axis]:
    """The axes of a [grid] table.

    Args:
        grid: the table.
        own: schemes written in Python that its schemes may name.
        folder: the folder that its file names are relative to.

    Raises:
        SpecError: naming the key below [grid].
    """
    # An axis sets its key for every variant, whatever its transport.
    kept = [key for key in grid if key not in NAMES]
    made = [axis(key, values, own, kept, folder) for key, values in grid.items()]
    for (key, values), (earlier, others) in itertools.combinations(reversed(list(grid.items())), 2):
        if meet(key, values, earlier, others):
            raise SpecError(quoted(key), shown(values), "keys that no other axis sets", f"{quoted(earlier)} sets them")
    below = [one.name for one in made if one.name.split(".")[0] == "scheme" and one.name != "scheme"]
    if below and SCHEMES in grid:
        hint = f'write variants in grid.schemes: "SCHEME:{below[0].rpartition(".")[2]}=…"'
        raise SpecError(f'grid."{below[0]}"', "(given)", "an axis below [scheme] only without grid.schemes", hint)
    return made


def quoted(key: str) -> str:
    """A key of [grid], in the form for errors."""
    return f"grid.{key}" if key.isidentifier() else f'grid."{key}"'


def meet(key: str, values: object, other: str, others: object) -> bool:
    """Whether two axes set the same key of the spec, so that one would contradict the labels of the other.

    A variant may do so: that is intended.
    """
    return any(
        all(a == b or ANY in (a, b) for a, b in zip(one, two, strict=False)) and mean_it(one, values, two, others)
        for one in reached(key, values)
        for two in reached(other, others)
    )


def reached(key: str, values: object) -> list[tuple[str, ...]]:
    """The paths that an axis sets, step by step; empty for schemes, which override other axes."""
    if key == LOADS:
        return [LOAD]
    if key == FAULTS:
        own_detection = any("detection" in value for value in cast(list[dict[str, object]], values))
        return [("fault",), *([("detection",)] if own_detection else [])]
    return [] if key == SCHEMES else [tuple(plain_index(step) for step in split_path(key))]


def plain_index(step: str) -> str:
    """A step of a path, with an index without brackets and leading zeros."""
    number = step.removeprefix("[")
    return str(int(number)) if number.isdecimal() else step


def mean_it(one: tuple[str, ...], values: object, two: tuple[str, ...], others: object) -> bool:
    """Whether paths that overlap are both set: loads do not change a traffic entry that has none."""
    if LOAD not in (one, two):
        return True
    path, tables = (two, others) if one == LOAD else (one, values)
    return len(path) == len(LOAD) or '"load":' in canonical_json(tables)


def axis(key: str, values: object, own: Sequence[type[Scheme]], kept: Sequence[str], folder: Path) -> Axis:
    """One axis; `kept` are the keys that other axes set, `folder` is where its files are."""
    where = quoted(key)
    if key in ELSEWHERE:
        allowed = f"{ELSEWHERE[key]} under [study], not under [grid]"
        raise SpecError(where, shown(values), allowed, "it is the same for every point")
    if not isinstance(values, list) or not values:
        raise SpecError(where, shown(values), "a list with one value or more")
    makers: dict[str, Callable[[str, Sequence[object]], list[Point]]] = {
        SCHEMES: partial(schemes, own, kept), LOADS: loads, FAULTS: faults,
    }  # fmt: skip
    if key not in makers and key in NAMES.values():
        raise SpecError(where, shown(values), f'"{next(many for many, one in NAMES.items() if one == key)}"')
    if key not in makers and split_path(key)[0] not in Spec.__annotations__:
        allowed = f'{", ".join(makers)}, or a key of the spec such as "transport.min_rto_us"'
        raise SpecError(where, shown(values), allowed, nearest(key, makers))
    points = makers[key](where, values) if key in makers else settings(key, values, folder)
    labels = [point.label for point in points]
    for label in labels:
        if labels.count(label) > 1:
            raise SpecError(where, shown(label), "values that differ")
    return Axis(NAMES.get(key, key), tuple(points))


def schemes(own: Sequence[type[Scheme]], kept: Sequence[str], where: str, values: Sequence[object]) -> list[Point]:
    """Schemes and variants, as in ``--schemes``."""
    texts = [text(where, value, "a scheme or a variant of one") for value in values]
    try:
        return [Point(variant.label, partial(variant.apply, kept=kept)) for variant in parse_list(texts, own)]
    except SpecError as error:
        raise SpecError(where, error.value, error.allowed, error.hint) from None


def loads(where: str, values: Sequence[object]) -> list[Point]:
    """Loads of all traffic entries that have one."""
    try:
        found = [check_load(value) for value in values]
    except SpecError as error:
        raise SpecError(where, error.value, error.allowed) from None
    return [Point(load, lambda spec, load=load: with_load(spec, load)) for load in found]  # type: ignore[misc]


def faults(where: str, values: Sequence[object]) -> list[Point]:
    """The points of an axis of faults: tables with a name and a list of [[fault]] tables, or without any fault."""
    made = []
    for number, value in enumerate(values):
        at = f"{where}[{number}]"
        if not isinstance(value, dict):
            raise SpecError(at, shown(value), "a table with a name, and a list of [[fault]] tables as fault")
        for key in value:
            if key not in ("name", "fault", "detection"):
                raise SpecError(f"{at}.{key}", shown(value[key]), "name, fault or detection")
        name = text(f"{at}.name", value.get("name"), "a name")
        made.append(Point(name, lambda spec, value=value: broken(spec, value)))  # type: ignore[misc]
    return made


def broken(spec: Spec, value: Mapping[str, object]) -> Spec:
    """`spec` with these faults in place of its own; its own [detection] is kept unless another is given."""
    found = value.get("fault", [])
    if not found:
        return without_faults(spec)
    given = {"fault": deepcopy(found)} | ({"detection": value["detection"]} if "detection" in value else {})
    return cast(Spec, {**deepcopy(spec), **given})


def settings(path: str, values: Sequence[object], folder: Path) -> list[Point]:
    """Values of one key of the spec, as in ``--set``; their file names are relative to `folder`."""

    def change(spec: Spec, value: object) -> Spec:
        made = deepcopy(spec)
        set_path(made, path, deepcopy(value))
        return made

    return [Point(label_of(value), partial(change, value=from_folder(path, value, folder))) for value in values]


def from_folder(path: str, value: object, folder: Path) -> object:
    """A value of a key of the spec; relative file names in it become relative to `folder`, as in a spec file."""
    steps = split_path(path)
    if steps[0] not in WITH_FILES:
        return value
    given = deepcopy(value)
    # Whatever part of the table it is: the table itself, a list of such tables, or one of its keys.
    entry = given if isinstance(given, dict) else {steps[-1]: given}
    anchor_files(cast(Tables, {"traffic": given if isinstance(given, list) else [entry]}), folder)
    return given if isinstance(given, dict | list) else entry[steps[-1]]


def label_of(value: object) -> Plain:
    """A value in a label: unchanged, if it is one number or word."""
    return value if isinstance(value, str | int | float) else canonical_json(value)


def text(where: str, value: object, what: str) -> str:
    """A text."""
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value
    raise SpecError(where, shown(value), f"{what}, as a text")


def places(spec: Spec, axes: Sequence[Axis]) -> Iterator[Place]:
    """Every point of the grid, the last axis changing first."""
    for points in itertools.product(*(axis.points for axis in axes)):
        changed, named = deepcopy(spec), list(zip(axes, points, strict=True))
        # Schemes come last: a variant may override what an axis sets for all.
        for _, point in sorted(named, key=lambda one: one[0].name == NAMES[SCHEMES]):
            changed = point.change(changed)
        yield Place({axis.name: point.label for axis, point in named}, changed)
