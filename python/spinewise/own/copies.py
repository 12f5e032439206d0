"""The text of schemes written in Python, kept with their results."""

from __future__ import annotations

import os
from pathlib import Path

from spinewise.own import texts
from spinewise.own.contract import OwnClass, class_of, sha256_of
from spinewise.own.digest import Walk
from spinewise.shapes import Spec

FOLDER = "code"
"""The folder of the copies, below a folder of results: a folder for each scheme, by its name."""


def write_of(spec: Spec, folder: Path) -> None:
    """Copy the files of the scheme of a spec, if it was written in Python and this process has its code."""
    scheme = class_of(spec)
    if scheme is None:
        return
    for name, text in files(scheme, sha256_of(spec)).items():
        place = folder / FOLDER / str(spec["scheme"]["name"]) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text)


def files(scheme: OwnClass, sha256: str) -> dict[str, bytes]:
    """The texts that decide what a class does, by their names from its folder; empty if its digest has changed.

    Code typed interactively has none.
    """
    try:
        walk = Walk(scheme)
    except RecursionError:
        return {}
    if walk.whole.hexdigest() != sha256:
        return {}
    return {place_of(place, walk.folder): texts.read(Path(place)) for place in walk.files}


def place_of(file: str, folder: str) -> str:
    """The place of a file's copy: as below the folder of the class, else with the packages that it is in."""
    near = os.path.relpath(file, folder)
    if not near.startswith(os.pardir):
        return near
    above, name = os.path.split(file)
    while os.path.isfile(os.path.join(above, "__init__.py")):
        above, last = os.path.split(above)
        name = os.path.join(last, name)
    return name
