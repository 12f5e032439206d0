"""A scheme of one's own from a file: ``mine.py:MyScheme``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from spinewise.errors import SpecError, nearest
from spinewise.own.contract import OwnClass, contract
from spinewise.own.scheme import HostScheme, Scheme, SwitchScheme

FORM = "FILE.py:CLASS, such as mine.py:MyScheme"
BASES = (Scheme, HostScheme, SwitchScheme)


def load_scheme(text: str) -> OwnClass:
    """The class that ``FILE.py:CLASS`` names; with one scheme in the file, ``FILE.py`` will do.

    The file is run, as `import` would.

    Raises:
        SpecError: there is no such file or class, it does not run, or it is no scheme.
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
        spec.loader.exec_module(module)
    except Exception as error:
        raise SpecError("--scheme-file", text, "a file that runs", f"{type(error).__name__}: {error}") from error
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
