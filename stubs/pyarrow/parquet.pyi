from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from pyarrow import Schema, Table

class FileMetaData:
    num_rows: int
    metadata: dict[bytes, bytes] | None

def read_metadata(where: str | Path | BinaryIO) -> FileMetaData: ...
def read_schema(where: str | Path) -> Schema: ...
def read_table(
    source: str | Path | BinaryIO, columns: Sequence[str] | None = None, *, schema: Schema | None = None
) -> Table: ...
def write_table(
    table: Table,
    where: str | Path | BinaryIO,
    *,
    compression: str = "snappy",
    compression_level: int | None = None,
    use_dictionary: bool | Sequence[str] = True,
    write_statistics: bool = True,
) -> None: ...
