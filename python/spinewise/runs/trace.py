"""The choice trace as Arrow tables: a row for each candidate of each choice of the traced flows, and for each loss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spinewise.measures import tables
from spinewise.replies import Column

if TYPE_CHECKING:
    import pyarrow as pa

    from spinewise._core import RawTrace

# A number of this many bits encodes a word; the largest one means none.
WORDS = {"word8": np.uint8, "word32": np.uint32}


def table(raw: RawTrace, described: Mapping[str, Sequence[Column]]) -> pa.Table:
    """A `pyarrow.Table` of the trace that the engine returned.

    First the columns of a choice, then those with a list for each row, one value per link of the path, then what the
    schemes saw, one column per quantity, called `<scheme>.<quantity>`; null where it was not seen.
    """
    import pyarrow as pa  # noqa: PLC0415

    words = json.loads(raw["words"])
    arrays, fields = [], []
    for about in described["choices"]:
        values = decoded(raw["rows"][about["name"]], words.get(about["name"], ()))
        arrays.append(values)
        fields.append(field(about, values.type))
    offsets = pa.array(np.frombuffer(raw["offsets"], dtype="<u4").astype(np.int32))
    for about in described["hops"]:
        values = decoded(raw["hops"][about["name"]], words.get(about["name"], ()))
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        arrays.append(pa.ListArray.from_arrays(offsets, values))
        fields.append(field(about, arrays[-1].type))
    for about in json.loads(raw["quantities"]):
        seen = np.frombuffer(raw["saw"][about["name"]], dtype="<f8")
        arrays.append(pa.array(seen, mask=np.isnan(seen)))
        fields.append(field(about, pa.float64()))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def losses(raw: RawTrace, described: Mapping[str, Sequence[Column]]) -> pa.Table:
    """A `pyarrow.Table` of packets of the traced flows that never arrived, or not whole, and their fates."""
    import pyarrow as pa  # noqa: PLC0415

    words = json.loads(raw["loss_words"])
    arrays = [decoded(raw["losses"][about["name"]], words.get(about["name"], ())) for about in described["losses"]]
    fields = [field(about, values.type) for about, values in zip(described["losses"], arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def decoded(column: tuple[str, bytes], words: Sequence[str]) -> pa.Array:
    """One column of the engine: numbers, or the words that they encode."""
    import pyarrow as pa  # noqa: PLC0415

    dtype, data = column
    if dtype not in WORDS:
        return tables.array(dtype, data)
    codes = np.frombuffer(data, dtype=WORDS[dtype])
    missing = codes == np.iinfo(codes.dtype).max
    indices = pa.array(codes.astype(np.int32), mask=missing)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))


def field(about: Mapping[str, object], kind: pa.DataType) -> pa.Field:
    """The Arrow field of a column, with unit and meaning; for what a scheme saw, whether of the flow or a way."""
    import pyarrow as pa  # noqa: PLC0415

    metadata = {key: str(about[key]) for key in ("unit", "meaning", "of") if key in about}
    return pa.field(str(about["name"]), kind, metadata=metadata)


def flows_of(trace: pa.Table) -> list[int]:
    """The flows with choices in a trace."""
    return [int(flow) for flow in np.unique(tables.numbers(trace, "flow"))]
