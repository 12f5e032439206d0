"""STUDY.toml: its tables and keys, and their allowed values.

```toml
[study]
name = "timeouts"
spec = "fabric.toml"            # or the spec itself, as a table [study.spec]
seeds = 5                       # a number, counted up from the spec's seed, or a list
metrics = ["fct_s.p99 of web", "drops"]

[grid]                          # all combinations
schemes = ["ecmp", "letflow:flowlet_gap_us=200@gap 200"]
loads = [0.3, 0.6]
"transport.min_rto_us" = [200, 1000]
faults = [{ name = "none" }, { name = "slow", fault = [{ kind = "rate", … }] }]

[first]                         # the points that come first
schemes = ["ecmp"]

[stop]                          # add seeds until the first metric is precise enough
until_ci = "2%"
max_seeds = 50

[keep]
flows = true
```
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from spinewise.errors import SpecError, nearest
from spinewise.own.contract import given_among
from spinewise.own.scheme import Scheme
from spinewise.plain import SHARE, as_whole, share, shown, unlike
from spinewise.reading import SPEC_BYTES, printable, read_text
from spinewise.shapes import Spec
from spinewise.specs.lines import located, not_toml
from spinewise.specs.spec import Tables, anchor_files, apply_override, as_spec, as_tables, load, parse_toml
from spinewise.studies.axes import NAMES, Axis, axes_of, text
from spinewise.studies.metrics import DEFAULT
from spinewise.sweeps.sequential import FEWEST, Stop

KEYS = {
    "study": ("name", "spec", "seeds", "metrics"),
    "first": (),
    "stop": ("until_ci", "min_seeds", "max_seeds"),
    "keep": ("flows",),
    "grid": (),
}
HOLD_SPEC = ("study.spec", "grid")
"""Tables that hold keys of the simulated spec."""

MOST_SEEDS = 10_000
DEFAULT_SEEDS = 3


@dataclass(frozen=True)
class Written:
    """The contents of a study file.

    Attributes:
        name: the name of the study.
        spec: as written, without what the grid changes.
        axes: the axes.
        seeds: the number of seeds, or a list; None if it has neither.
        metrics: the metrics, as written.
        first: labels of points whose runs come first, by name of the axis.
        stop: the rule for adding seeds; None for as many as in `seeds`.
        flows: whether tables of flows are kept.
        file: the file it was read from.
        spec_file: the file of its spec; None if the study holds it.
    """

    name: str
    spec: Spec
    axes: list[Axis]
    seeds: int | list[int] | None = None
    metrics: list[object] = field(default_factory=lambda: [DEFAULT])
    first: dict[str, list[object]] = field(default_factory=dict)
    stop: Stop | None = None
    flows: bool = False
    file: str = "(a table)"
    spec_file: Path | None = None


def read(
    path: str | Path,
    overrides: Iterable[str] = (),
    until_ci: float | str | None = None,
    own: Sequence[type[Scheme]] = (),
) -> Written:
    """Read a study from its file.

    Args:
        path: the path of the file.
        overrides: overrides of its spec, as in ``--set``.
        until_ci: overrides that of [stop].
        own: schemes written in Python that its spec and its grid may name; those the grid does not name come last.

    Raises:
        SpecError: naming file, key, value and what is allowed.
        TypeError: an argument is of another kind.
    """
    if not isinstance(path, str | os.PathLike):
        raise unlike("study", "the path of a study file", path)
    if isinstance(overrides, str) or not isinstance(overrides, Iterable):
        raise unlike("overrides", 'a list of texts such as "topology.leaves=4"', overrides)
    if not isinstance(own, list | tuple):
        raise unlike("schemes", "a list of classes", own)
    try:
        content = as_tables(parse_toml(read_text(path, "STUDY.toml", most=SPEC_BYTES, allowed="a study file")))
        return written(content, Path(path), list(overrides), until_ci, own)
    except tomllib.TOMLDecodeError as error:
        raise not_toml(error, printable(path)) from None
    except SpecError as error:
        raise located(error, path, *HOLD_SPEC) from None


def written(
    content: Mapping[str, object],
    path: Path,
    overrides: Sequence[str],
    until_ci: float | str | None,
    own: Sequence[type[Scheme]],
) -> Written:
    """Read the tables of a study."""
    for name in content:
        if name not in KEYS:
            hint = nearest(name, KEYS) or "keys of the simulated spec belong in its own file, or in [study.spec]"
            raise SpecError(name, shown(content[name]), ", ".join(f"[{one}]" for one in KEYS), hint)
    tables = {name: table(content, name) for name in KEYS}
    study = tables["study"]
    if "grid" in content and not tables["grid"]:
        hint = "without a [grid] the spec is one point, repeated over seeds"
        raise SpecError("grid", "(empty)", "one axis or more: schemes, loads, faults, or a key of the spec", hint)
    axes = axes_of(tables["grid"], own, path.parent)
    return Written(
        name=text("study.name", study.get("name", path.stem), "a name"),
        spec=given_among(spec_of(study.get("spec"), path.parent, overrides), own),
        axes=axes,
        seeds=seeds_of(study.get("seeds")),
        metrics=metrics_of(study.get("metrics", [DEFAULT])),
        first=first_of(tables["first"], axes),
        stop=stop_of(tables["stop"], study.get("seeds"), until_ci),
        flows=flag("keep.flows", tables["keep"].get("flows", False)),
        file=printable(path),
        spec_file=path.parent / given if isinstance(given := study.get("spec"), str) else None,
    )


def table(content: Mapping[str, object], name: str) -> dict[str, object]:
    """One table of a study, with only known keys, except for tables that name axes."""
    found = content.get(name, {})
    if not isinstance(found, dict):
        raise SpecError(name, shown(found), f"a table [{name}]")
    for key, value in found.items():
        if KEYS[name] and key not in KEYS[name]:
            raise SpecError(f"{name}.{key}", shown(value), ", ".join(KEYS[name]), nearest(key, KEYS[name]))
    return found


def spec_of(given: object, folder: Path, overrides: Sequence[str]) -> Spec:
    """The spec that is varied: a file beside the study, or a table."""
    if isinstance(given, dict):
        made = as_spec(given)
        anchor_files(cast(Tables, made), folder)
        for override in overrides:
            apply_override(made, override)
    elif isinstance(given, str):
        if not os.path.lexists(folder / given):
            raise SpecError(
                "study.spec", printable(given), "the name of a spec file beside this one", "there is no such file"
            )
        made = load(folder / given, overrides)
    else:
        raise SpecError("study.spec", shown(given or "(nothing)"), "the name of a spec file, or a table [study.spec]")
    # The study defines what `compare` does with it.
    made.pop("compare", None)
    return made


def seeds_of(given: object) -> int | list[int] | None:
    """The number of seeds, or a list of them."""
    many = as_whole(given)
    if given is None or (many is not None and 1 <= many <= MOST_SEEDS):
        return many
    if isinstance(given, list) and given:
        found = [number for number in map(as_whole, given) if number is not None and number >= 0]
        if len(set(found)) == len(given):
            return found
    raise SpecError("study.seeds", shown(given), f"a number from 1 to {MOST_SEEDS}, or a list of different seeds")


def metrics_of(given: object) -> list[object]:
    """The metrics; the spec is checked for them later."""
    if isinstance(given, list) and given:
        return given
    raise SpecError("study.metrics", shown(given), 'a list of metrics, such as ["fct_s.mean", "drops"]')


def first_of(given: Mapping[str, object], axes: Sequence[Axis]) -> dict[str, list[object]]:
    """The points that come first, by name of the axis."""
    known = {axis.name: [point.label for point in axis.points] for axis in axes}
    keys = {next((many for many, one in NAMES.items() if one == name), name): name for name in known}
    found: dict[str, list[object]] = {}
    for key, values in given.items():
        if key not in keys:
            raise SpecError(f"first.{key}", shown(values), f"a key of [grid]: {', '.join(keys)}", nearest(key, keys))
        labels = known[keys[key]]
        if not isinstance(values, list) or not values or any(value not in labels for value in values):
            raise SpecError(f"first.{key}", shown(values), f"a list of labels among {', '.join(map(str, labels))}")
        found[keys[key]] = values
    return found


def stop_of(given: Mapping[str, object], seeds: object, until_ci: float | str | None) -> Stop | None:
    """The rule that ends the adding of seeds."""
    if until_ci is None and "until_ci" not in given:
        if given:
            raise SpecError("stop.until_ci", "(nothing)", SHARE, "the other keys of [stop] do nothing without it")
        return None
    bound = share("stop.until_ci", given["until_ci"]) if until_ci is None else share("--until-ci", until_ci)
    if isinstance(seeds, list):
        raise SpecError("study.seeds", shown(seeds), "a number where seeds are added until a mean is known")
    fewest = between("stop.min_seeds", given.get("min_seeds", max(FEWEST, as_whole(seeds) or 0)), FEWEST, MOST_SEEDS)
    return Stop(bound, fewest, between("stop.max_seeds", given.get("max_seeds", max(100, fewest)), fewest, MOST_SEEDS))


def between(where: str, given: object, least: int, most: int) -> int:
    """A whole number in a range."""
    number = as_whole(given)
    if number is not None and least <= number <= most:
        return number
    raise SpecError(where, shown(given), f"a whole number, {least} to {most}")


def flag(where: str, given: object) -> bool:
    """True or false."""
    if isinstance(given, bool):
        return given
    raise SpecError(where, shown(given), "true or false")
