"""The tables of a spec as typed dictionaries of Python, made from the JSON Schema: `spinewise/shapes.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from keyword import iskeyword
from typing import cast

from spinewise.replies import Json
from spinewise.schemas.parts import Schema

HEAD = '''"""The tables of a spec, key by key. Written by `make docs` from the engine's registry; do not edit.

A key of several kinds of a table has the types of all of them. Which keys and values go together, the engine knows.
"""

from __future__ import annotations

from typing import TypeAlias, TypedDict

Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value]"
"""What a key of TOML can hold, dates aside."""
'''

NAMES = {
    "override": "Override",
    "links": "Cable",
    "routes": "Route",
    "list": "ListedFlow",
    "schedule": "Step",
    "size_classes": "SizeClass",
}
"""The name of an entry of a list, by the key of the list; any other table has the name of its key."""

ABOUT = {
    "Override": "Changes to the links that all given selectors fit.",
    "Source": "Where the code of a scheme written in Python lies.",
}
"""The description of a table whose key has a longer one."""

PLAIN = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}


def shapes(schema: Schema) -> str:
    """The module."""
    made: dict[str, Shape] = {}
    for key, one in tables(schema["definitions"]).items():
        Shape.collect(named(key), one, made)
    Shape.collect("Spec", schema, made)
    return HEAD + "".join(f"\n\n{shape.text()}\n" for shape in made.values())


class Shape:
    """A table: its name, its description, and the types of its keys. Tables with the same name are merged."""

    def __init__(self, name: str, about: str) -> None:
        self.name = name
        self.about = about
        self.keys: dict[str, list[str]] = {}

    @classmethod
    def collect(cls, name: str, schema: Schema, made: dict[str, Shape]) -> str:
        """Add the table and those within it to `made`, inner ones first; return its name."""
        about = ABOUT.get(name) or str(schema["description"])
        found = [(key, list(types(key, one, made))) for key, one in tables(schema["properties"]).items()]
        shape = made.setdefault(name, cls(name, about))
        for key, new in found:
            known = shape.keys.setdefault(key, [])
            known.extend(one for one in new if one not in known)
        return name

    def text(self) -> str:
        """The class; keys that Python reserves come from a base without a body."""
        reserved = {key: one for key, one in self.keys.items() if iskeyword(key)}
        lines, base = [], "TypedDict"
        if reserved:
            base = f"_{self.name}"
            given = ", ".join(f'"{key}": {joined(one)}' for key, one in reserved.items())
            lines = [f'{base} = TypedDict("{base}", {{{given}}}, total=False)', "", ""]
        lines += [f"class {self.name}({base}, total=False):", f'    """{self.about}"""', ""]
        lines += [f"    {key}: {joined(one)}" for key, one in self.keys.items() if key not in reserved]
        return "\n".join(lines)


def types(key: str, schema: Schema, made: dict[str, Shape]) -> Iterator[str]:
    """The types that a key may have; tables among them go to `made`."""
    if "$ref" in schema:
        yield named(str(schema["$ref"]).rpartition("/")[2])
    elif "anyOf" in schema:
        for one in cast("list[Schema]", schema["anyOf"]):
            yield from types(key, {"description": schema.get("description")} | one, made)
    elif "enum" in schema:
        yield from dict.fromkeys(type(word).__name__ for word in cast("list[Json]", schema["enum"]))
    elif "const" in schema:
        yield type(schema["const"]).__name__
    elif schema["type"] == "array":
        item: Schema = {"description": schema.get("description")} | cast("Schema", schema["items"])
        yield f"list[{joined(types(key, item, made))}]"
    elif schema["type"] == "object":
        is_open = schema.get("additionalProperties", True) is not False
        if is_open and "properties" in schema:
            of = joined(one for each in tables(schema["properties"]).values() for one in types(key, each, made))
            yield f"dict[str, {of}]"
        else:
            yield f"dict[str, {open_to(key, schema, made)}]" if is_open else Shape.collect(named(key), schema, made)
    else:
        yield PLAIN[str(schema["type"])]


def open_to(key: str, schema: Schema, made: dict[str, Shape]) -> str:
    """The type of the values of a table with arbitrary keys."""
    of = schema.get("additionalProperties")
    return joined(types(key, of, made)) if isinstance(of, dict) else "Value"


def named(key: str) -> str:
    """The name of a table's type."""
    return NAMES.get(key, key.capitalize())


def joined(found: Iterable[str]) -> str:
    """Several types as one; a whole number is a number."""
    one_each = list(dict.fromkeys(found))
    return " | ".join(one for one in one_each if one != "int" or "float" not in one_each)


def tables(value: Json) -> dict[str, Schema]:
    """The properties of a table."""
    return cast("dict[str, Schema]", value)
