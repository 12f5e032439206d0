"""Spec files: TOML plus overrides become a plain dict; defaults and checks live in the engine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TypeAlias, cast

from spinewise import core
from spinewise.errors import SpecError
from spinewise.interop import embed
from spinewise.plain import NUMBERS, plain, too_deep, unlike
from spinewise.reading import SPEC_BYTES, STANDARD_INPUT, printable, read_standard_input, read_text, reason
from spinewise.replies import WorkedOut
from spinewise.scenarios import spec_path, way_out
from spinewise.shapes import Spec, Value
from spinewise.specs.beside import check_beside
from spinewise.specs.hints import of_results, with_way_out
from spinewise.specs.lines import located, not_toml

Tables: TypeAlias = dict[str, Value]
"""A spec as written: tables of arbitrary values. The engine checks whether it is valid."""

# Keys of [topology] or a [[traffic]] entry that name a file, relative to the spec file that names it.
FILE_KEYS = ("file", "cdf_file")

# Tables of a spec file that do not concern the run itself: what `compare` does with it, which bounds must hold, and
# the origin of an imported topology.
BESIDE_THE_RUN = ("compare", "bounds", "import")

_INDEX = re.compile(r"\[(\d+)\]")
_BARE_WORD = re.compile(r"[A-Za-z0-9_./@+-]+")


def load(path: str | Path, overrides: Iterable[str] = ()) -> Spec:
    """Read a TOML spec file or a scenario, resolve its relative file names, and apply `key=value` overrides.

    "-" is standard input, whose file names are relative to the current folder.

    Raises:
        SpecError: the file cannot be read or parsed, or an override is malformed.
    """
    path = spec_path(path)
    file = printable(path)
    try:
        if hint := way_out(path) or of_results(path):
            raise SpecError("SPEC.toml", file, "a spec file, or the name of a scenario", hint)
        if path == STANDARD_INPUT:
            text = read_standard_input("SPEC.toml", most=SPEC_BYTES, allowed="a spec")
        else:
            text = read_text(path, "SPEC.toml", most=SPEC_BYTES, allowed="a spec file")
        spec = as_tables(parse_toml(text))
        if isinstance(spec.get("study"), dict):
            study = "STUDY.toml" if path == STANDARD_INPUT else file
            raise SpecError("SPEC.toml", file, "a spec file", f"this is a study: `spinewise sweep {study}` runs it")
        anchor_files(spec, Path(path).parent)
    except tomllib.TOMLDecodeError as error:
        raise not_toml(error, file) from None
    except SpecError as error:
        raise located(error, path) from None
    for override in overrides:
        apply_override(spec, override)
    return cast(Spec, spec)


def parse_toml(text: str) -> Tables:
    """The tables of a TOML text.

    Raises:
        tomllib.TOMLDecodeError: it is not TOML.
        SpecError: it is nested too deeply, or has a number that is too long.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise too_deep("(whole file)") from None
    except ValueError as error:
        raise SpecError("(whole file)", str(error), NUMBERS) from None


def anchor_files(spec: Tables, folder: Path) -> None:
    """Make relative file names in the topology and in traffic entries relative to `folder`, the folder of the spec."""
    entries = spec.get("traffic")
    for entry in [spec.get("topology"), *(entries if isinstance(entries, list) else [])]:
        for key in FILE_KEYS:
            name = entry.get(key) if isinstance(entry, dict) else None
            if isinstance(entry, dict) and isinstance(name, str) and name and not Path(name).is_absolute():
                entry[key] = anchored(folder, name, key)


def anchored(folder: Path, name: str, key: str) -> str:
    """The absolute name of a file given relative to `folder`."""
    try:
        return str((folder / name).resolve())
    except (OSError, RuntimeError, ValueError) as error:
        raise SpecError(key, printable(name), "the name of a file", reason(error)) from None


def as_tables(spec: Mapping[str, object]) -> Tables:
    """A private copy of a dict as plain values, whatever its keys."""
    return cast(Tables, plain(spec))


def unrun(path: str | Path) -> str | None:
    """The first step for a spec that was given in place of results; None for any other file."""
    try:
        found = load(path)
    except SpecError:
        return None
    if "topology" not in found and "traffic" not in found:
        return None
    return f"this is a spec: `spinewise run {printable(path)} --out DIR` writes results"


def as_spec(spec: Mapping[str, object] | str | Path) -> Spec:
    """A private copy of a dict, or the content of a file.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(spec, Mapping):
        return cast(Spec, as_tables(spec))
    if isinstance(spec, str | os.PathLike):
        return load(spec)
    raise unlike("spec", "a dict or the path of a TOML file", spec)


def apply_override(spec: Tables | Spec, text: str) -> None:
    """Apply one ``key.path[0].name=value``; the value is read as TOML, a bare word as a string."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise SpecError("--set", text, 'KEY=VALUE, such as "topology.leaves=4"')
    set_path(spec, path.strip(), parse_value(path.strip(), value.strip()))


def parse_value(path: str, text: str) -> Value:
    """A TOML value, or a bare word as a string."""
    try:
        found = parse_toml(f"value = {text}")
        if len(found) == 1:
            return found["value"]
    except SpecError as error:
        raise SpecError(f"--set {path}", text, error.allowed, error.hint) from None
    except tomllib.TOMLDecodeError:
        if _BARE_WORD.fullmatch(text):
            return text
    raise SpecError(f"--set {path}", text, 'a TOML value (12, 0.5, true, [1, 2], "text")')


def set_path(spec: Tables | Spec, path: str, value: object) -> None:
    """Set the value at a dotted path; missing tables on the way are created, and so is the next item of a list.

    ``traffic[0].load`` and ``traffic.0.load`` mean the same if there is a list.
    """
    steps = split_path(path)
    node: object = spec
    for depth, step in enumerate(steps[:-1]):
        node = descend(node, step, steps[depth + 1], (path, value))
    last = steps[-1]
    if isinstance(node, list):
        index = list_index(node, last, (path, value))
        if index == len(node):
            node.append(value)
        else:
            node[index] = value
    elif isinstance(node, dict) and not last.startswith("["):
        node[last] = value
    else:
        raise SpecError(f"--set {path}", value, f"a key below a table; {node!r} is not a {kind_of(last)}")


def split_path(path: str) -> list[str]:
    """The names and indices of a dotted path; an index in brackets keeps the first of them."""
    steps = _INDEX.sub(r".[\1", path).split(".")
    if not all(steps) or any("[" in step[1:] or "]" in step or step == "[" for step in steps):
        raise SpecError("--set", path, 'a key path such as "traffic[0].load"')
    return steps


def descend(node: object, step: str, then: str, given: tuple[str, object]) -> object:
    """The child `step` of `node`, created if it is a missing table, or a list whose first item is set by `then`.

    `given` is the whole path and the value for it, for messages.
    """
    missing: object = [] if then.startswith("[") else {}
    if isinstance(node, list):
        index = list_index(node, step, given)
        if index == len(node):
            node.append(missing)
        return node[index]
    if isinstance(node, dict) and not step.startswith("["):
        return node.setdefault(step, missing)
    path, value = given
    raise SpecError(f"--set {path}", value, f"a table or a list on the way; {node!r} is not a {kind_of(step)}")


def kind_of(step: str) -> str:
    """The kind of value that a step of a path leads into."""
    return "list" if step.startswith("[") else "table"


def list_index(node: Sequence[object], step: str, given: tuple[str, object]) -> int:
    """`step` as an index into `node`, or that of a next item; `given` is the whole path and the value for it."""
    number = step.lstrip("[")
    if not number.isdecimal() or int(number) > len(node):
        path, value = given
        allowed = f"an index from 0 to {len(node)} ({len(node)} adds an item), not {number}"
        raise SpecError(f"--set {path}", value, allowed)
    return int(number)


def resolve(spec: Mapping[str, object] | str | Path, *, seed: int | None = None) -> Spec:
    """The spec with every default filled in, as the engine will run it.

    Files of other simulators that it names are read here; see `spinewise.interop.embed`.

    Raises:
        SpecError: naming the key, the value given and what is allowed.
    """
    try:
        return core.resolve(of_the_run(spec, seed))
    except SpecError as error:
        raise located(with_way_out(error), file_of(spec)) from None


def worked_out(spec: Mapping[str, object] | str | Path) -> list[WorkedOut]:
    """The values that follow from the fabric where the spec or its preset says "auto", and how.

    Raises:
        SpecError: naming the key, the value given and what is allowed.
    """
    try:
        return core.worked_out(of_the_run(spec, None))
    except SpecError as error:
        raise located(with_way_out(error), file_of(spec)) from None


def file_of(spec: Mapping[str, object] | str | Path) -> str | Path | None:
    """The file that a spec is read from; None for a dict."""
    return None if isinstance(spec, Mapping) else spec


def of_the_run(spec: Mapping[str, object] | str | Path, seed: int | None) -> Tables:
    """A private copy of the engine's part of a spec, with files of other simulators read in."""
    try:
        given = as_tables(as_spec(spec))
    except SpecError as error:
        raise with_own_range(error, spec) from None
    if seed is not None:
        given["seed"] = seed
    try:
        check_beside(given)
        origin = given.get("import")
        for table in BESIDE_THE_RUN:
            given.pop(table, None)
        embed.expand(given, origin if isinstance(origin, dict) else None)
    except SpecError as error:
        raise located(error, file_of(spec)) from None
    return given


def with_own_range(error: SpecError, spec: Mapping[str, object] | str | Path) -> SpecError:
    """The same error with what its key allows, if it is about a number that no key allows."""
    if error.allowed != NUMBERS or not isinstance(spec, Mapping):
        return error
    # The engine cannot be asked about such a number, and no key allows this one either.
    asked = cast(Spec, deepcopy(dict(spec)))
    try:
        set_path(asked, error.key, -1)
        core.resolve(of_the_run(asked, None))
    except SpecError as found:
        if found.key == error.key and found.allowed != NUMBERS:
            return SpecError(error.key, error.value, found.allowed, found.hint)
    return error


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def spec_hash(resolved: Spec) -> str:
    """SHA-256 (hex) of the canonical JSON of a resolved spec.

    A file named in it counts by its digest, which the engine adds to the name, and not by its
    place: the hash is the same on every machine.
    """
    portable: dict[str, object] = {**resolved}
    if resolved.get("traffic"):
        portable["traffic"] = [
            {key: value for key, value in entry.items() if not (key in FILE_KEYS and entry.get(f"{key}_digest"))}
            for entry in resolved["traffic"]
        ]
    return hashlib.sha256(canonical_json(portable).encode()).hexdigest()
