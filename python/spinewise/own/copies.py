"""The text of schemes written in Python, kept beside what they gave."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from spinewise.errors import SpecError
from spinewise.own import texts
from spinewise.own.contract import OwnClass, class_of, given
from spinewise.own.digest import Walk, digest
from spinewise.shapes import Spec

FOLDER = "code"
"""Where they are, below a folder of results."""


def write_of(spec: Spec, folder: Path) -> None:
    """Copy the files of the scheme that a resolved spec names, if it was written in Python and is what it was."""
    scheme = class_of(spec)
    if scheme is not None:
        write([(scheme, str((spec.get("scheme", {}).get("source") or {}).get("sha256")))], folder)


def write_named(names: Iterable[str], folder: Path) -> None:
    """Copy the files of schemes by their names, as far as they were written in Python and are what they were."""
    write([one for name in names for one in given(name)], folder)


def write(schemes: Iterable[tuple[OwnClass, str]], folder: Path) -> None:
    """Copy the files of classes that still have these digests; of what was typed there is none."""
    for scheme, was in schemes:
        try:
            same = digest(scheme) == was
        except SpecError:  # nested too deeply by now
            same = False
        for name, text in files(scheme).items() if same else ():
            place = folder / FOLDER / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text)


def files(scheme: OwnClass) -> dict[str, bytes]:
    """The texts that decide what a class does, by their names from the folder of the class; others by theirs alone."""
    walk = Walk(scheme)
    found = {}
    for place in walk.files:
        near = os.path.relpath(place, walk.folder)
        found[os.path.basename(place) if near.startswith(os.pardir) else near] = texts.read(Path(place))
    return found
