"""Load a user-defined scheme from a file: ``mine.py:MyScheme``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb

from spinewise.errors import SpecError, nearest
from spinewise.own.contract import OwnClass, contract
from spinewise.own.scheme import HostScheme, Scheme, SwitchScheme

FORM = "FILE.py:CLASS, such as mine.py:MyScheme"
BASES = (Scheme, HostScheme, SwitchScheme)

# Folders of the files that were loaded.
_FOLDERS: set[Path] = set()


def load_schemes(texts: Iterable[str]) -> list[OwnClass]:
    """Load several schemes, as ``--scheme-file`` may be repeated; see `load_scheme`."""
    return [load_scheme(text) for text in texts]


def load_scheme(text: str) -> OwnClass:
    """Load the class that ``FILE.py:CLASS`` names; with one scheme in the file, ``FILE.py`` suffices.

    The file is run as with `python FILE.py`: modules and packages beside it can be imported.

    Raises:
        SpecError: there is no such file or class, it does not run, or it is not a scheme.
    """
    name, _, wanted = text.rpartition(":") if ".py:" in text else (text, "", "")
    path = Path(name)
    if path.suffix != ".py" or not path.is_file():
        raise SpecError("--scheme-file", text, f"{FORM}; the file must be there")
    module_name = f"spinewise_own_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path.resolve())
    if spec is None or spec.loader is None:
        raise SpecError("--scheme-file", text, FORM)
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up there.
    sys.modules[module_name] = module
    try:
        with importable(path.resolve().parent):
            spec.loader.exec_module(module)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        file, line = place_of(error, path)
        raise SpecError("--scheme-file", text, "a file that runs", why, file=file, line=line) from error
    schemes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Scheme) and value not in BASES
    }
    own = [scheme for scheme in schemes.values() if scheme.__module__ == module_name]
    if not wanted and len(own) == 1:
        wanted = own[0].__name__
    if wanted not in schemes:
        listed = ", ".join(schemes) or "no class derived from HostScheme or SwitchScheme"
        raise SpecError("--scheme-file", text, f"{FORM}; {path.name} has {listed}", nearest(wanted, schemes))
    contract(schemes[wanted])
    return schemes[wanted]


def place_of(error: Exception, path: Path) -> tuple[str, int | None]:
    """The origin of an exception: the file, and the line if there is one."""
    lines = [one.lineno for one in extract_tb(error.__traceback__) if one.filename == str(path.resolve())]
    return str(path), lines[-1] if lines else None


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let imports search a folder: first during the block, and last after it, for imports by hooks."""
    place = str(folder)
    forget_namesakes(folder)
    _FOLDERS.add(folder)
    sys.path.insert(0, place)
    try:
        yield
    finally:
        sys.path.remove(place)
        if place not in sys.path:
            sys.path.append(place)


def forget_namesakes(folder: Path) -> None:
    """Forget modules from another scheme's folder, if this folder has one of the same name: they are not meant."""
    names = {file.stem for file in folder.glob("*.py")} | {file.parent.name for file in folder.glob("*/__init__.py")}
    for name in names & sys.modules.keys():
        file = getattr(sys.modules[name], "__file__", None)
        around = set(Path(file).resolve().parents[:2]) if file else set()
        if around & (_FOLDERS - {folder}) and folder not in around:
            for known in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
                del sys.modules[known]
