from pathlib import Path
from typing import BinaryIO

from pyarrow import Table

def read_csv(input_file: str | Path | BinaryIO) -> Table: ...
def write_csv(data: Table, output_file: str | Path | BinaryIO) -> None: ...
