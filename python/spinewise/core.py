"""The only access to the compiled engine: JSON in, columns out, errors as `spinewise.SpecError`."""

from __future__ import annotations

import json
import re
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, cast

from spinewise.errors import SchemeError, SpecError
from spinewise.machine import free_addresses, free_memory
from spinewise.magnitudes import PS_PER_US
from spinewise.plain import plain
from spinewise.replies import Checked, Column, Fabric, Kind, Param, Registry, Scheme, Thing, Timed, WorkedOut
from spinewise.shapes import Spec

if TYPE_CHECKING:
    from spinewise._core import OwnScheme, RawOutcome
    from spinewise._core import SchemeError as CoreSchemeError
    from spinewise._core import SpecError as CoreSpecError


INPUTS = ("file", "cdf_file")
"""The keys of a traffic entry that name a file."""
# How long `validate` runs a spec to measure its speed.
MEASURED_SECONDS = 0.3


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Attributes:
        simulated_ps: simulated time, in picoseconds.
        horizon_ps: the simulated time at which the run ends at the latest.
        packet_hops: packets times links crossed so far.
        flows_open: flows not done yet, those that have not started included.
        flows_total: all flows of the run but those without end; 0 while it is set up.
    """

    simulated_ps: int
    horizon_ps: int
    packet_hops: int
    flows_open: int
    flows_total: int

    @property
    def fraction(self) -> float:
        """The share of the run that is done, from 0 to 1: by flows or by simulated time, whichever is greater."""
        flows = 1.0 - self.flows_open / self.flows_total if self.flows_total else 0.0
        time = self.simulated_ps / self.horizon_ps if self.horizon_ps else 0.0
        return min(max(flows, time), 1.0)


ProgressHook = Callable[[Progress], object]
ThreadsWhen = Literal["worth", "always"]
"""Whether a run uses one thread if more do not help, or always all, as in tests."""


@cache
def engine() -> ModuleType:
    """The extension module, imported on first use so that `--help` does not need the engine."""
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


def engine_digest() -> str:
    """SHA-256 (hex) over the sources of the engine: identical for identical engines on all machines, else different."""
    try:
        return cast(str, engine().ENGINE_DIGEST)
    except AttributeError:
        raise ImportError("the engine was built before it had a digest: run `make quick` or `make install`") from None


def encode(spec: Mapping[str, object]) -> str:
    """`spec` as JSON; refuse what JSON cannot represent (dates, NaN, infinities), naming the key."""
    return json.dumps(plain(spec), allow_nan=False)


# Schemes written in Python, by the name and digest of their code in a spec. A spec without both gets none.
OWN_SCHEMES: dict[tuple[str, str], OwnScheme] = {}


def own_schemes(spec: Mapping[str, object]) -> list[OwnScheme]:
    """The schemes written in Python that a spec names by their code, if this process was given them.

    A scheme of the same name with other code is also passed to the engine, which then refuses it.
    """
    table = spec.get("scheme")
    source = table.get("source") if isinstance(table, Mapping) else None
    if not isinstance(table, Mapping) or not isinstance(source, Mapping):
        return []
    name = str(table.get("name"))
    others = [made for (given, _), made in OWN_SCHEMES.items() if given == name]
    found = OWN_SCHEMES.get((name, str(source.get("sha256"))), others[-1] if others else None)
    return [found] if found is not None else []


def resolve(spec: Mapping[str, object]) -> Spec:
    """The full spec with every default filled in and every value checked."""
    core = engine()
    try:
        return cast(Spec, json.loads(core.resolve(encode(spec), own_schemes(spec))))
    except core.SpecError as error:
        raise with_input(translated(error), spec) from None
    except core.SchemeError as error:
        raise failed(error) from error.__cause__


def worked_out(spec: Mapping[str, object]) -> list[WorkedOut]:
    """The values that follow from the fabric, where the spec or its preset says "auto".

    Raises:
        SpecError: the spec is invalid.
    """
    core = engine()
    try:
        return cast("list[WorkedOut]", json.loads(core.worked_out(encode(spec), own_schemes(spec))))
    except core.SpecError as error:
        raise translated(error) from None
    except core.SchemeError as error:
        raise failed(error) from error.__cause__


def toml_lines(text: str) -> list[tuple[str, int]]:
    """The line of every key of a TOML text, counted from 1, by its path; an empty list if it is not TOML."""
    return cast("list[tuple[str, int]] | None", engine().toml_lines(text)) or []


def topology(spec: Mapping[str, object]) -> Fabric:
    """The fabric of a spec as it is built, overrides and faults included; the spec may lack traffic.

    Raises:
        SpecError: the spec is invalid, or a fault or an override names something that does not exist.
    """
    core = engine()
    try:
        # The scheme does not matter here, and one written in Python may be unavailable; nor do the files of traffic.
        return cast(Fabric, json.loads(core.topology(encode({**without_inputs(spec), "scheme": {}}))))
    except core.SpecError as error:
        raise translated(error) from None


def without_inputs(spec: Mapping[str, object]) -> Mapping[str, object]:
    """The spec with a flow in place of each traffic entry whose file was read before, and of traffic that it lacks."""
    one = {"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 1, "start_ns": 0}]}
    entries = spec.get("traffic", [one])
    if not isinstance(entries, list):
        return spec
    return {
        **spec,
        "traffic": [{**one, "name": entry.get("name")} if input_digest(entry) else entry for entry in entries],
    }


def input_digest(entry: object, key: str = "") -> str | None:
    """The digest of the file of a traffic entry, or of that under `key`; None without one, or if it was never read."""
    if not isinstance(entry, Mapping):
        return None
    digests = (entry.get(f"{name}_digest") for name in ([key] if key else INPUTS))
    return next((str(one) for one in digests if one is not None), None)


def run(
    resolved: Spec,
    progress: ProgressHook | None = None,
    trace: Sequence[int] | None = None,
    threads: int = 1,
    *,
    when: ThreadsWhen = "worth",
) -> RawOutcome:
    """Simulate a resolved spec with the interpreter detached; with `trace`, choices of these flows are traced.

    It uses this many threads, if there are processors and they help, or if `when` is "always"; a run that is
    traced, or cannot be split, uses one thread.

    Under a scheme written in Python the interpreter is not released: such runs take turns, whatever the threads.

    `progress` is called about ten times a second; an exception it raises ends the run and is raised here.
    """
    core = engine()
    try:
        watch = watcher(resolved, progress)
        return cast("RawOutcome", core.run(encode(resolved), watch, means(threads, when), trace, own_schemes(resolved)))
    except core.SpecError as error:
        raise with_input(translated(error), resolved) from None
    except core.SchemeError as error:
        raise failed(error) from error.__cause__


def validate(resolved: Spec, progress: ProgressHook | None = None, seconds: float = MEASURED_SECONDS) -> Checked:
    """Set a resolved spec up, and run it for some seconds: `spec`, `warnings`, `estimate` and `measured`.

    Measurements are in seconds of this thread's processor time, which do not depend on other load of the machine.
    """
    core = engine()
    try:
        watch = watcher(resolved, progress)
        given = encode(resolved)
        wall, processor = time.perf_counter(), time.thread_time()
        told = core.validate(given, watch, means(), seconds, own_schemes(resolved))
        wall, processor = time.perf_counter() - wall, time.thread_time() - processor
    except core.SpecError as error:
        raise translated(error) from None
    except core.SchemeError as error:
        raise failed(error) from error.__cause__
    found = cast(Checked, json.loads(told))
    share = min(processor / wall, 1.0) if wall > 0.0 else 1.0
    found["measured"]["setup_s"] *= share
    found["measured"]["run_s"] *= share
    return found


def means(threads: int = 1, when: ThreadsWhen = "worth") -> str:
    """The share of this machine that a run may use, in the form the engine expects."""
    told: dict[str, object] = {"threads": threads, "threads_if_worth": when == "worth"}
    limits = {"memory": free_memory(), "address_space": free_addresses()}
    return encode(told | {name: left for name, left in limits.items() if left is not None})


def watcher(resolved: Spec, progress: ProgressHook | None) -> Callable[[int, int, int, int], object] | None:
    """The engine's progress call as a `Progress`, with the facts that the engine need not repeat.

    The engine reports zeros before the run, and again while it closes the account: then the last progress stands.
    """
    if progress is None:
        return None
    horizon = int(float(resolved["run"]["until_us"]) * PS_PER_US)
    latest = Progress(0, horizon, 0, 0, 0)

    def watch(simulated_ps: int, packet_hops: int, flows_open: int, flows_total: int) -> object:
        nonlocal latest
        if simulated_ps >= latest.simulated_ps:
            latest = Progress(simulated_ps, horizon, packet_hops, flows_open, flows_total)
        return progress(latest)

    return watch


@cache
def registry() -> Registry:
    """Schemes, topologies, workloads, transports and presets, with parameters and sources."""
    return cast(Registry, json.loads(engine().registry()))


def listed(kind: Kind) -> Sequence[Thing]:
    """What there is to choose from: the entries of a kind but schemes that only test the engine.

    Specs and `spinewise schemes NAME` take those by their names.
    """
    return [entry for entry in registry()[kind] if not is_test(str(entry["name"]))]


def schemes() -> Sequence[Scheme]:
    """The schemes of `listed`."""
    return [entry for entry in registry()["schemes"] if not is_test(entry["name"])]


def is_test(scheme: str) -> bool:
    """Whether a scheme balances no load, but tests the engine."""
    return scheme.startswith("loopback_")


def params_of(entry: Thing) -> list[Param]:
    """The parameters of a thing of the registry; a preset has none."""
    found: Mapping[str, object] = {**entry}
    return cast("list[Param]", found.get("params", []))


def named(entries: Sequence[Thing], name: str) -> str | None:
    """The name of the entry that has this name or alias; aliases in any case, as in specs."""
    for entry in entries:
        found: Mapping[str, object] = {**entry}
        more = found.get("aliases")
        words = [str(one).lower() for one in more] if isinstance(more, list) else []
        if name == entry["name"] or name.lower() in (str(entry["name"]).lower(), *words):
            return str(entry["name"])
    return None


@cache
def columns() -> dict[str, list[Column]]:
    """The columns of `flows`, `series` and traces (name, dtype, unit, meaning), and the engine's series."""
    return cast("dict[str, list[Column]]", json.loads(engine().columns()))


def bench(only: str = "", rounds: int = 5, share: float = 1.0) -> list[Timed]:
    """Time the engine against its reference loop; one record per case.

    Args:
        only: part of the names of the cases to run; empty for all. `decisions` measures the schemes alone,
            `reference` the reference loop.
        rounds: the number of rounds; the best counts.
        share: length of a round as a share of the full one, which takes 3 s or more.
    """
    options = {"only": only, "rounds": rounds, "share": share}
    return cast("list[Timed]", json.loads(engine().bench(encode(options))))


def translated(error: CoreSpecError) -> SpecError:
    """The engine's error as the package's own class, which can also name a file."""
    return SpecError(error.key, error.value, without_tests(error.allowed), error.hint, unserved=error.unserved)


def without_tests(allowed: str) -> str:
    """What is allowed, without schemes that only test the engine if it is a list of names."""
    names = re.findall(r'"(\w+)"', allowed)
    if not any(map(is_test, names)) or re.sub(r'"\w+"|, | or ', "", allowed):
        return allowed
    *first, last = (f'"{name}"' for name in names if not is_test(name))
    return f"{', '.join(first)} or {last}" if first else last


def with_input(error: SpecError, spec: Mapping[str, object]) -> SpecError:
    """The error with what to do if it is about a file of traffic that was read before, and is no longer there."""
    match = re.fullmatch(r"traffic\[(\d+)\]\.(file|cdf_file)", error.key)
    entries = spec.get("traffic")
    if match is None or not isinstance(entries, list) or int(match[1]) >= len(entries):
        return error
    digest = input_digest(entries[int(match[1])], match[2])
    if digest is None:
        return error
    again = f"the same file (digest {digest}) is needed to run this again: put it back there"
    hint = f"{error.hint}; {again}; tables and pages of what results keep do without it"
    return SpecError(error.key, error.value, error.allowed, hint, unserved=error.unserved)


def of_package(frame: traceback.FrameSummary) -> bool:
    """Whether a line is of this package, or of a constructor generated for one of its dataclasses."""
    generated = frame.filename == "<string>" and frame.name == "__init__"
    return generated or Path(__file__).parent in Path(frame.filename).parents


def failed(error: CoreSchemeError) -> SchemeError:
    """The engine's report of an exception in a scheme as the package's own class, with the line that raised it."""
    frames = traceback.extract_tb(error.__cause__.__traceback__) if error.__cause__ is not None else []
    theirs = [one for one in frames if not of_package(one)] or frames
    at = f" ({Path(theirs[-1].filename).name}:{theirs[-1].lineno})" if theirs else ""
    return SchemeError(f"{error}{at}", error.hook, error.now_ps, error.flow)
