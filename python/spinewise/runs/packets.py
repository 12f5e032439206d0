"""Captured packets as an Arrow table: a row for each packet at each port, in order of time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spinewise.replies import Column
from spinewise.runs.trace import decoded, field

if TYPE_CHECKING:
    import pyarrow as pa

    from spinewise._core import RawPackets

# Columns that a reader of the folder of a run relies on.
COLUMNS = (
    "time_ps", "interface", "outbound", "lost", "kind", "protocol", "flow", "subflow", "size_bytes", "src",
    "dst", "seq", "ack", "payload_bytes", "wire_bytes", "syn", "retransmit", "ect", "ce", "ece", "cwr", "nack",
    "cnp", "priority", "tag", "stamp_ps", "under_way_ps", "pause_ps", "data_seq",
)  # fmt: skip


def table(raw: RawPackets, described: Mapping[str, Sequence[Column]]) -> pa.Table:
    """A `pyarrow.Table` of the captured packets that the engine returned.

    First come the columns with one value a row, then those with a list for each row, one value per block of selective
    acknowledgement.
    """
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and most runs capture nothing

    words: dict[str, list[str]] = json.loads(raw["words"])
    arrays, fields = [], []
    for about in described["packets"]:
        values = decoded(raw["rows"][about["name"]], words.get(about["name"], ()))
        arrays.append(values)
        fields.append(field(about, values.type))
    offsets = pa.array(np.frombuffer(raw["offsets"], dtype="<u4").astype(np.int32))
    for about in described["blocks"]:
        arrays.append(pa.ListArray.from_arrays(offsets, decoded(raw["blocks"][about["name"]], ())))
        fields.append(field(about, arrays[-1].type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))
