"""Pieces of a JSON Schema (draft 7, the one that TOML editors know).

A table whose keys depend on its kind lists the keys of all kinds as `properties`, so that editors complete and explain
them, and lists in `allOf` which of them each kind accepts, so that an editor marks exactly the wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from spinewise.replies import Json

Schema: TypeAlias = "dict[str, Json]"

ABOUT = ("description", "default", "x-taplo")
"""Keywords that describe a key for people and decide nothing."""


@dataclass(frozen=True)
class Kind:
    """The keys of a table of one kind.

    Attributes:
        words: values of the selecting key that mean it.
        keys: schema of each key, the selecting one included.
        required: keys that must be given.
        assumed: whether a table without the selecting key is of this kind.
    """

    words: tuple[str, ...]
    keys: dict[str, Schema]
    required: tuple[str, ...] = ()
    assumed: bool = field(default=False, kw_only=True)


def table(keys: Mapping[str, Schema], required: Iterable[str] = (), about: str = "") -> Schema:
    """A table with these keys and no others."""
    made: Schema = {"type": "object", "properties": dict(keys), "additionalProperties": False}
    if found := list(required):
        made["required"] = [*found]
    return made | ({"description": about} if about else {})


def listed(item: Schema, least: int = 0, most: int | None = None) -> Schema:
    """A list of such items."""
    made: Schema = {"type": "array", "items": item}
    return made | ({"minItems": least} if least else {}) | ({} if most is None else {"maxItems": most})


def one_of(*schemas: Schema) -> Schema:
    """One of these, or several."""
    return {"anyOf": [*schemas]}


def words(values: Iterable[str], about: Mapping[str, str] | None = None) -> Schema:
    """One of these words; `about` explains each, for editors that show it."""
    found = list(values)
    if about is None:
        return {"enum": [*found]}
    return {"enum": [*found], "x-taplo": {"docs": {"enumValues": [about.get(word, "") for word in found]}}}


def by_kind(selector: str, kinds: Iterable[Kind], about: str = "", undecided: Iterable[Kind] = ()) -> Schema:
    """A table whose keys depend on its key `selector`.

    Args:
        selector: the key that selects the kind.
        kinds: the kinds.
        about: the description of the table.
        undecided: kinds that a table without `selector` may be; empty if `assumed` decides, or the key is required.
    """
    kinds = list(kinds)
    merged: dict[str, Schema] = {}
    for kind in kinds:
        for key, schema in kind.keys.items():
            merged[key] = both(merged[key], schema) if key in merged else schema
    shared = {key for key, schema in merged.items() if all(same(kind.keys.get(key, {}), schema) for kind in kinds)}
    own = merged.keys() - shared
    rules: list[Json] = [{"if": is_kind(selector, kind), "then": only(kind, own)} for kind in kinds]
    if open_kinds := [only(kind, own) for kind in undecided]:
        rules.append({"if": {"not": {"required": [selector]}}, "then": one_of(*open_kinds)})
    return table(merged, about=about) | {"allOf": rules}


def is_kind(selector: str, kind: Kind) -> Schema:
    """The condition that a table is of this kind."""
    said: Schema = {"properties": {selector: words(kind.words)}}
    return said if kind.assumed else said | {"required": [selector]}


def only(kind: Kind, keys: Iterable[str]) -> Schema:
    """The allowed values of these keys in a table of this kind: none, if it does not have them."""
    own: dict[str, Json] = {key: bare(kind.keys[key]) if key in kind.keys else False for key in sorted(keys)}
    return {"properties": own} | ({"required": [*kind.required]} if kind.required else {})


def bare(schema: Schema) -> Schema:
    """A schema without its descriptions for people."""
    return {key: value for key, value in schema.items() if key not in ABOUT}


def same(one: Schema, other: Schema) -> bool:
    """Whether two schemas accept the same values, as written."""
    return bare(one) == bare(other)


def both(one: Schema, other: Schema) -> Schema:
    """A key of two kinds: the values that either accepts, with both descriptions."""
    made = bare(one) if same(one, other) else one_of(*alternatives(one), *new(other, one))
    said, more = (str(schema.get("description", "")) for schema in (one, other))
    if text := said if more in said else more if said in more else f"{said}\n\n{more}":
        made["description"] = text
    told = {key: one[key] for key in ("default", "x-taplo") if key in one and one[key] == other.get(key)}
    return made | told


def alternatives(schema: Schema) -> list[Schema]:
    """The alternatives that a schema accepts."""
    found = schema.get("anyOf")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else [bare(schema)]


def new(schema: Schema, known: Schema) -> list[Schema]:
    """The alternatives of `schema` that `known` lacks."""
    return [one for one in alternatives(schema) if one not in alternatives(known)]
