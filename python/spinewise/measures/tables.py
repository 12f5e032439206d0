"""The engine's raw columns as Arrow tables, with unit and meaning of each column in the schema.

Arrow is imported when a table is made: it is slow to load and takes 30 MB, and most commands make none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from spinewise.replies import Column

if TYPE_CHECKING:
    import pyarrow as pa

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
Values = npt.NDArray[Any]
"""A column as a numpy array. The type of its values depends on its name, which types cannot express."""

BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i64": 8, "f64": 8, "bool": 1}


def table(columns: Mapping[str, tuple[str, bytes]], described: Sequence[Column]) -> pa.Table:
    """A `pyarrow.Table` over the engine's buffers, without copying them (booleans aside).

    `described` is the engine's own description of these columns; its unit and meaning go into the
    metadata of each field. No columns at all (a run too large to keep rows) make a table of no rows.
    """
    import pyarrow as pa  # noqa: PLC0415

    about = {column["name"]: column for column in described}
    columns = columns or {column["name"]: (column["dtype"], b"") for column in described}
    fields, arrays = [], []
    for name, (dtype, data) in columns.items():
        fields.append(field(name, dtype, about.get(name)))
        arrays.append(array(dtype, data))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def field(name: str, dtype: str, about: Column | None) -> pa.Field:
    """The Arrow field of a column."""
    import pyarrow as pa  # noqa: PLC0415

    metadata = {"unit": about["unit"], "meaning": about["meaning"]} if about else {"unit": "", "meaning": ""}
    return pa.field(name, arrow_type(dtype), nullable=False, metadata=metadata)


def arrow_type(dtype: str) -> pa.DataType:
    """Arrow's type for one of the engine's."""
    import pyarrow as pa  # noqa: PLC0415

    made: pa.DataType = getattr(pa, ARROW_TYPES[dtype])()
    return made


def array(dtype: str, data: bytes) -> pa.Array:
    """One column over `data`."""
    import pyarrow as pa  # noqa: PLC0415

    if dtype == "bool":
        return pa.array(np.frombuffer(data, dtype=np.bool_))
    length = len(data) // BYTES[dtype]
    return pa.Array.from_buffers(arrow_type(dtype), length, [None, pa.py_buffer(data)])


def numbers(source: pa.Table, name: str) -> Values:
    """Column `name` of an Arrow table as a numpy array."""
    return source.column(name).combine_chunks().to_numpy(zero_copy_only=False)


def write(source: pa.Table, path: Path | BinaryIO) -> None:
    """Write a table as Parquet, with numbers not in a dictionary, which would take memory and enlarge their files."""
    import pyarrow as pa  # noqa: PLC0415
    from pyarrow import parquet  # noqa: PLC0415

    if isinstance(path, Path):
        # Arrow opens no file whose name is not UTF-8.
        with path.open("wb") as stream:
            write(source, stream)
        return
    words = [column.name for column in source.schema if not pa.types.is_primitive(column.type)]
    parquet.write_table(source, path, compression="zstd", use_dictionary=words)
