"""Chakra execution traces: a file a rank, as protocol buffers, each message behind its length.

A file holds a ``GlobalMetadata`` and then ``Node`` after ``Node`` (Sridharan et al., "Chakra: Advancing Performance
Benchmarking and Co-design using Standardized Execution Traces", arXiv 2305.14516; schema 0.0.4). These fields are read:

| message | fields |
|---|---|
| GlobalMetadata | 1 version, 2 attributes; converters leave out the version and name it in the attribute ``schema`` |
| Node | 1 id, 2 name, 3 type, 4 control and 5 data dependencies, 6 start, 7 duration (us), 8 inputs, 10 attributes |
| AttributeProto | 1 name, and one of 3 double, 5 float, 7, 9, 11, 13 whole numbers, 27 bool, 28 bools, 29 string |
| IOInfo | 1 values, as text |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from spinewise.errors import SpecError
from spinewise.interop.looks import looks_like
from spinewise.reading import TABLE_BYTES, printable, read_bytes

METADATA, MEMORY_LOAD, MEMORY_STORE, COMPUTATION, SEND, RECEIVE, COLLECTIVE = range(1, 8)
VERSIONS = ("0.0.4", "0.0.3", "0.0.2", "0.0.1", "1.0.0", "1.1.1")
# A length of ten bytes has 64 bits and more.
_MOST_LENGTH_BYTES = 10

Value = int | float | bool | str | list[bool]

# Field numbers by name, with the types of protocol buffers' descriptors.
_OPTIONAL, _REPEATED = 1, 3
_FIELDS: dict[str, dict[str, tuple[int, int, str | int]]] = {
    "GlobalMetadata": {"version": (1, _OPTIONAL, "STRING"), "attributes": (2, _REPEATED, ".Attribute")},
    "BoolList": {"values": (1, _REPEATED, "BOOL")},
    "IOInfo": {"values": (1, _OPTIONAL, "STRING")},
    "Attribute": {
        "name": (1, _OPTIONAL, "STRING"),
        "double": (3, _OPTIONAL, "DOUBLE"),
        "float": (5, _OPTIONAL, "FLOAT"),
        "int32": (7, _OPTIONAL, "INT32"),
        "int64": (9, _OPTIONAL, "INT64"),
        "uint32": (11, _OPTIONAL, "UINT32"),
        "uint64": (13, _OPTIONAL, "UINT64"),
        "bool": (27, _OPTIONAL, "BOOL"),
        "bools": (28, _OPTIONAL, ".BoolList"),
        "string": (29, _OPTIONAL, "STRING"),
    },
    "Node": {
        "id": (1, _OPTIONAL, "UINT64"),
        "name": (2, _OPTIONAL, "STRING"),
        "type": (3, _OPTIONAL, "INT32"),
        "ctrl_deps": (4, _REPEATED, "UINT64"),
        "data_deps": (5, _REPEATED, "UINT64"),
        "start_us": (6, _OPTIONAL, "UINT64"),
        "duration_us": (7, _OPTIONAL, "UINT64"),
        "inputs": (8, _OPTIONAL, ".IOInfo"),
        "attributes": (10, _REPEATED, ".Attribute"),
    },
}


@dataclass(frozen=True)
class Node:
    """A node of a trace.

    Attributes:
        id: its number, unique in the file.
        name: its name.
        type: its type, by the constants of this file.
        after: nodes that must have ended.
        duration_us: how long it takes.
        inputs: their values, as text.
        attributes: everything else, by name.
    """

    id: int
    name: str
    type: int
    after: list[int]
    duration_us: int
    inputs: str = ""
    attributes: dict[str, Value] = field(default_factory=dict)


Message: TypeAlias = Any
"""A message: its class is created when it is first read, and so are its fields."""


@cache
def messages() -> dict[str, type[Message]]:
    """The classes of the messages, by name.

    Raises:
        SpecError: the package of protocol buffers is not installed.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: PLC0415 - optional
    except ImportError:
        hint = "pip install 'spinewise[chakra]'"
        raise SpecError("protobuf", "not installed", "the package that reads Chakra traces", hint) from None
    described = descriptor_pb2.FileDescriptorProto(name="spinewise/chakra.proto", syntax="proto2")
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in _FIELDS.items():
        message = described.message_type.add(name=name)
        for key, (number, label, kind) in fields.items():
            if str(kind).startswith("."):
                message.field.add(name=key, number=number, label=label, type=kinds.TYPE_MESSAGE, type_name=kind)
            else:
                message.field.add(name=key, number=number, label=label, type=getattr(kinds, f"TYPE_{kind}"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in _FIELDS}


def read(path: str | Path) -> list[Node]:
    """The nodes of a file.

    Raises:
        SpecError: with the byte: a message that is shorter than its length, or is invalid; another version; a file of
            another tool; the package of protocol buffers is missing.
    """
    messages()
    file = printable(path)
    content = read_bytes(path, "FILE", most=TABLE_BYTES)
    parts = split(file, content)
    check_version(path, file, parts)
    return [parsed(file, at, part) for at, part in parts]


def check_version(path: str | Path, file: str, parts: Iterator[tuple[int, bytes]]) -> None:
    """Take the metadata off the messages, and refuse a file that does not begin with them."""
    hint = looks_like(path, "chakra")
    given = "no metadata at its beginning"
    try:
        _, head = next(parts, (0, b""))
        given = version_of(parse("GlobalMetadata", head)) or given
    except SpecError:
        if hint is None:
            raise
    except ValueError:
        pass
    if given not in VERSIONS:
        allowed = f"a Chakra trace of version {VERSIONS[0]}, or another of {', '.join(VERSIONS[1:])}"
        raise SpecError("(whole file)", given, allowed, hint, file=file)


def version_of(metadata: Message) -> str:
    """The version in metadata, directly or as ``schema``, such as ``1.0.2-chakra.0.0.4``; or empty."""
    schema = next((str(one.string) for one in metadata.attributes if one.name == "schema"), "")
    return str(metadata.version) or schema.rpartition("-chakra.")[2]


def parse(name: str, content: bytes) -> Message:
    """Parse a message of a kind.

    Raises:
        ValueError: it is not such a message.
    """
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - optional

    message = messages()[name]()
    try:
        message.ParseFromString(content)
    except DecodeError as error:
        raise ValueError(str(error)) from None
    return message


def split(file: str, content: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of a file, with the place of each."""
    at = 0
    while at < len(content):
        start, length, shift = at, 0, 0
        while True:
            if at == len(content) or at - start == _MOST_LENGTH_BYTES:
                raise SpecError(
                    f"byte {start}", "a length without an end", "a whole message", "is the file whole?", file=file
                )
            byte = content[at]
            length |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                break
        if at + length > len(content):
            given = f"a message of {length} bytes, {len(content) - at} of which are there"
            raise SpecError(f"byte {start}", given, "a whole message", "is the file whole?", file=file)
        yield start, content[at : at + length]
        at += length


def parsed(file: str, at: int, part: bytes) -> Node:
    """One node."""
    try:
        message = parse("Node", part)
    except ValueError as error:
        raise SpecError(f"byte {at}", str(error) or "unreadable", "a node of a Chakra trace", file=file) from None
    return Node(
        id=message.id,
        name=message.name,
        type=message.type,
        after=list(dict.fromkeys([*message.ctrl_deps, *message.data_deps])),
        duration_us=message.duration_us,
        inputs=message.inputs.values,
        attributes={x.name: value for x in message.attributes if (value := value_of(x)) is not None},
    )


def value_of(attribute: Message) -> Value | None:
    """The value of an attribute, None if it is of a type that is not read."""
    for name in _FIELDS["Attribute"]:
        if name != "name" and attribute.HasField(name):
            value: Value = getattr(attribute, name)
            return list(attribute.bools.values) if name == "bools" else value
    return None
