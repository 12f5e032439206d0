"""The one door to the compiled engine: JSON in, columns out, errors as `spinewise.SpecError`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from spinewise.errors import SpecError

if TYPE_CHECKING:
    from spinewise._core import Progress, RawOutcome

Spec = dict[str, Any]
ProgressHook = Callable[["Progress"], object]


@cache
def engine() -> ModuleType:
    """The extension module, imported on first use so that `--help` needs no engine."""
    try:
        from spinewise import _core  # noqa: PLC0415
    except ImportError as missing:
        raise ImportError(
            f"the compiled engine spinewise._core cannot be imported ({missing}); "
            "run `make install` in the checkout, or `pip install .`"
        ) from missing
    return _core


def version() -> str:
    """The version of the engine, which is that of the package."""
    return cast(str, engine().__version__)


def encode(spec: Mapping[str, Any]) -> str:
    """`spec` as JSON; refuses what JSON cannot say (dates, NaN, infinities), naming the key."""
    refuse_unspeakable(spec, "")
    return json.dumps(spec, allow_nan=False)


def refuse_unspeakable(node: object, path: str) -> None:
    """Raise `SpecError` at the first value below `node` that is not JSON."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if not isinstance(key, str):
                raise SpecError(path or "spec", key, "keys that are strings")
            refuse_unspeakable(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list | tuple):
        for index, value in enumerate(node):
            refuse_unspeakable(value, f"{path}[{index}]")
    elif isinstance(node, float):
        if not math.isfinite(node):
            raise SpecError(path, node, "a finite number")
    elif node is not None and not isinstance(node, bool | int | str):
        raise SpecError(path, f"{node} ({type(node).__name__})", "a string, number, boolean, list")


def resolve(spec: Mapping[str, Any]) -> Spec:
    """The full spec with every default filled in and every value checked."""
    core = engine()
    try:
        return cast(Spec, json.loads(core.resolve(encode(spec))))
    except core.SpecError as error:
        raise translated(error) from None


def run(spec: Mapping[str, Any], progress: ProgressHook | None = None) -> RawOutcome:
    """Simulate `spec` with the interpreter detached.

    `progress` is called a few times a second; an exception it raises ends the run and comes out here.
    """
    core = engine()
    try:
        return cast("RawOutcome", core.run(encode(spec), progress))
    except core.SpecError as error:
        raise translated(error) from None


@cache
def registry() -> dict[str, Any]:
    """Schemes, topologies, workloads, transports and presets, with parameters and sources."""
    return cast(dict[str, Any], json.loads(engine().registry()))


@cache
def columns() -> dict[str, list[dict[str, str]]]:
    """The columns of `flows` and `series`: name, dtype, unit and meaning of each."""
    return cast(dict[str, list[dict[str, str]]], json.loads(engine().columns()))


def bench(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Time the engine against its reference loop; one record per case."""
    core = engine()
    try:
        answer = json.loads(core.bench(encode(options)))
    except core.SpecError as error:
        raise translated(error) from None
    return cast(list[dict[str, Any]], answer)


def translated(error: Any) -> SpecError:
    """The engine's error as the package's own class, which can also name a file."""
    return SpecError(error.key, error.value, error.allowed, error.hint)
