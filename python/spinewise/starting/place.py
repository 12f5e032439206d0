"""A new spec on disk: the file and its schema beside it, both or neither."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from spinewise import schemas
from spinewise.errors import SpecError
from spinewise.reading import is_ordinary, printable
from spinewise.runs.file import write_file
from spinewise.runs.folder import as_spec_error

FILE = "fabric.toml"
SCHEMA = "spinewise.schema.json"


@dataclass(frozen=True)
class Place:
    """The place of a new spec.

    Attributes:
        spec: its file.
        schema: the file of its schema.
    """

    spec: Path
    schema: Path

    @classmethod
    def of(cls, given: str | Path) -> Place:
        """The place of a new spec: the file if the name ends in .toml, else `fabric.toml` in a folder of this name."""
        path = Path(given)
        spec = path if path.suffix == ".toml" else path / FILE
        return cls(spec, spec.with_name(SCHEMA))

    @property
    def name(self) -> str:
        """The name of the run: that of the file, or of its folder if only that was named."""
        parent = self.spec.resolve().parent.name
        usual = self.spec.name == FILE and self.spec.parent.name and parent.isprintable() and not parent.startswith(".")
        return parent if usual else self.spec.stem


def check(place: Place, *, force: bool) -> None:
    """Refuse a place that is taken, before anything is asked.

    Raises:
        SpecError: the file exists, or something else is in the place of the folder.
    """
    if os.path.lexists(place.spec) and not force:
        raise SpecError("PATH", printable(place.spec), "a file that does not exist yet", "--force replaces it")
    folder = place.spec.parent
    if os.path.lexists(folder) and not folder.is_dir():
        raise SpecError("PATH", printable(folder), "a folder, or a file in one")
    if os.path.lexists(place.schema) and not is_ours(place.schema) and not force:
        hint = "--force replaces it"
        raise SpecError("PATH", printable(place.schema), "the place for the schema, free or with an older one", hint)


def is_ours(path: Path) -> bool:
    """Whether a file is a schema that Spinewise wrote."""
    try:
        found = json.loads(path.read_text()) if is_ordinary(path) else None
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and str(found.get("title", "")).startswith("Spinewise")


def write(place: Place, text: str, *, force: bool) -> None:
    """Write the spec and its schema; if anything stops this, neither is left, and no new folder.

    Raises:
        SpecError: see `check`; or the place cannot be written.
    """
    check(place, force=force)
    with as_spec_error(place.spec, "PATH"), new_folders(place.spec.parent):
        had_schema = place.schema.exists()
        try:
            write_file(place.schema, schemas.path("spec").read_bytes(), force=True, option="PATH")
            write_file(place.spec, text.encode(), force=force, option="PATH")
        except BaseException:
            if not had_schema:
                place.schema.unlink(missing_ok=True)
            raise


@contextmanager
def new_folders(folder: Path) -> Iterator[None]:
    """Create the folder and those above it if needed, and remove new ones again if the block fails."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for one in missing:
            one.rmdir()
        raise
