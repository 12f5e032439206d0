"""The engine's raw columns as Arrow tables, with unit and meaning of each column in the schema.

Arrow is imported when a table is made: it is slow to load and takes 30 MB, and most commands make none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

# The engine's names of element types, and Arrow's. A bool is one byte a value.
ARROW_TYPES = {
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "i64": "int64",
    "f64": "float64",
    "bool": "bool_",
}
BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i64": 8, "f64": 8, "bool": 1}


def table(columns: Mapping[str, tuple[str, bytes]], described: list[dict[str, str]]) -> Any:  # pyarrow ships no types
    """A `pyarrow.Table` over the engine's buffers, without copying them (booleans aside).

    `described` is the engine's own description of these columns; its unit and meaning go into the
    metadata of each field. No columns at all (a run too large to keep rows) make a table of no rows.
    """
    import pyarrow as pa  # noqa: PLC0415

    about = {column["name"]: column for column in described}
    columns = columns or {column["name"]: (column["dtype"], b"") for column in described}
    fields, arrays = [], []
    for name, (dtype, data) in columns.items():
        fields.append(field(name, dtype, about.get(name, {})))
        arrays.append(array(dtype, data))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def field(name: str, dtype: str, about: Mapping[str, str]) -> Any:
    """The Arrow field of a column."""
    import pyarrow as pa  # noqa: PLC0415

    metadata = {"unit": about.get("unit", ""), "meaning": about.get("meaning", "")}
    return pa.field(name, arrow_type(dtype), nullable=False, metadata=metadata)


def arrow_type(dtype: str) -> Any:
    """Arrow's type for one of the engine's."""
    import pyarrow as pa  # noqa: PLC0415

    return getattr(pa, ARROW_TYPES[dtype])()


def array(dtype: str, data: bytes) -> Any:
    """One column over `data`."""
    import pyarrow as pa  # noqa: PLC0415

    if dtype == "bool":
        return pa.array(np.frombuffer(data, dtype=np.bool_))
    length = len(data) // BYTES[dtype]
    return pa.Array.from_buffers(arrow_type(dtype), length, [None, pa.py_buffer(data)])


def numbers(source: Any, name: str) -> np.ndarray[Any, np.dtype[Any]]:
    """Column `name` of an Arrow table as a numpy array."""
    values: np.ndarray[Any, np.dtype[Any]] = source.column(name).combine_chunks().to_numpy(zero_copy_only=False)
    return values
