"""Running a spec from Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spinewise import core
from spinewise.core import ProgressHook
from spinewise.errors import SpecError
from spinewise.result import Result
from spinewise.spec import resolve


def run(
    spec: Mapping[str, Any] | str | Path,
    *,
    seed: int | None = None,
    progress: ProgressHook | None = None,
) -> Result:
    """Simulate one spec and return its results.

    Args:
        spec: a dict shaped as the TOML file, or the path of a TOML file.
        seed: in place of the spec's own seed.
        progress: called about ten times a second with a `spinewise.core.Progress`; an exception it
            raises stops the run.

    Raises:
        SpecError: naming the key, the value given and what is allowed.
    """
    file = None if isinstance(spec, Mapping) else str(spec)
    resolved = resolve(spec, seed=seed)
    try:
        return Result.from_outcome(resolved, core.run(resolved, progress))
    except SpecError as error:
        raise error.with_file(file) from None
