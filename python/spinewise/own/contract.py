"""The description of a Python scheme for the engine, and the Python schemes that a spec names."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, cast

from spinewise import core
from spinewise.errors import SpecError
from spinewise.own.digest import bound, digest
from spinewise.own.params import Misfit, Param
from spinewise.own.scheme import HostScheme, Scheme, SwitchScheme
from spinewise.shapes import Spec

if TYPE_CHECKING:
    from spinewise._core import OwnScheme

OwnClass = type[Scheme]

HOOKS = {
    "host": ("ingress", "feedback", "message", "timer", "tick"),
    "switch": ("ingress", "egress", "feedback", "message", "timer", "tick", "link", "drained"),
}
ARGUMENTS = {
    "pick": ("cx", "flow", "packet", "header"),
    "ingress": ("cx", "flow", "packet", "header"),
    "egress": ("cx", "port", "packet", "header"),
    "feedback": ("cx", "flow", "feedback"),
    "message": ("cx", "flow", "message"),
    "timer": ("cx", "flow", "key"),
    "tick": ("cx",),
    "link": ("cx", "port", "change"),
    "drained": ("cx", "flow", "port", "queue"),
    "layout": ("shape",),
}
"""The arguments of each method, besides the object."""
ALL_HOOKS = sorted({hook for hooks in HOOKS.values() for hook in hooks})
SWITCH_TIERS = ("leaf", "aggregation", "spine")
ROWS = ("Flow", "Peer", "Route", "Port", "Node")
UNITS = ("flow", "flowlet", "flowcell", "packet")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

# What was made of a class, by the class itself and its state at that time.
_MADE: dict[tuple[OwnClass, str], OwnScheme] = {}
# By class: the schemes that specs may ask for, each with the digest of the class at that time (`digest.bound`).
_GIVEN: dict[OwnClass, dict[tuple[str, str], str]] = {}


def give(spec: Mapping[str, object], scheme: OwnClass) -> Spec:
    """A copy of `spec` that runs this class. Its [scheme] table is kept if it names the same scheme."""
    made = contract(scheme)
    table = spec.get("scheme")
    kept = dict(table) if isinstance(table, Mapping) and name_in(spec) in (None, made.name) else {}
    return cast(Spec, {**spec, "scheme": {**kept, "name": made.name, "source": source_of(scheme)}})


def name_in(spec: Mapping[str, object]) -> object:
    """The name of the scheme in a spec as written; None if it has none."""
    table = spec.get("scheme")
    return table.get("name") if isinstance(table, Mapping) else None


def instead(spec: Mapping[str, object], scheme: OwnClass, overrides: Sequence[str]) -> Spec:
    """`give` for a command that also has overrides of the spec, which may not be about another scheme.

    Raises:
        SpecError: an override sets the name of another scheme, or something of one.
    """
    name, other = name_of(scheme), name_in(spec)
    about = next((override for override in overrides if override.startswith("scheme.")), None)
    if about is not None and other not in (None, name):
        allowed = f"a key of {name}, which --scheme-file runs in place of {other}"
        raise SpecError("--set", about, allowed, f"--set scheme.name={name} comes first where there are others")
    return give(spec, scheme)


def given_among(spec: Mapping[str, object], schemes: Sequence[OwnClass]) -> Spec:
    """A copy of `spec` with the code of the scheme that it names, if that is one of these."""
    meant = next((scheme for scheme in schemes if name_of(scheme) == name_in(spec)), None)
    return cast(Spec, dict(spec)) if meant is None else give(spec, meant)


def with_scheme(spec: Mapping[str, object], scheme: str | OwnClass) -> Spec:
    """A copy of `spec` that runs this scheme, by name or by class."""
    if not isinstance(scheme, str):
        return give(spec, scheme)
    return cast(Spec, {**spec, "scheme": spec["scheme"] if name_in(spec) == scheme else {"name": scheme}})


def contract(scheme: OwnClass) -> OwnScheme:
    """The description of a class for the engine.

    Raises:
        SpecError: it is not a scheme, or describes itself wrongly.
    """
    site_of(scheme)
    source = source_of(scheme)
    key = (scheme, source["sha256"])
    if key not in _MADE:
        _MADE[key] = core.engine().OwnScheme(scheme, json.dumps({**facts_of(scheme), **source}))
    made = _MADE[key]
    remember(scheme, made, (made.name, source["sha256"]))
    return made


def remember(scheme: OwnClass, made: OwnScheme, wanted: tuple[str, str]) -> None:
    """Let specs request this class; requests for earlier attribute values no longer succeed."""
    now = bound(scheme)
    given = _GIVEN.setdefault(scheme, {})
    for earlier in [one for one, was in given.items() if was != now]:
        del given[earlier]
        if core.OWN_SCHEMES.get(earlier) is _MADE.get((scheme, earlier[1])):
            core.OWN_SCHEMES.pop(earlier, None)
    given[wanted] = now
    core.OWN_SCHEMES[wanted] = made


def class_of(spec: Spec) -> OwnClass | None:
    """The class that a spec names by its code, if this process was given it."""
    wanted = (str(spec.get("scheme", {}).get("name")), sha256_of(spec))
    return next((scheme for scheme, given in _GIVEN.items() if wanted in given), None)


def sha256_of(spec: Spec) -> str:
    """The digest of the code that a spec names; empty if it names none."""
    return str((spec.get("scheme", {}).get("source") or {}).get("sha256", ""))


def name_of(scheme: OwnClass) -> str:
    """The name of the scheme in specs."""
    return scheme.name or scheme.__name__


def source_of(scheme: OwnClass) -> dict[str, str]:
    """The location of a scheme's code: class, file without folders, and the digest of all that decides what it does."""
    try:
        file = Path(inspect.getsourcefile(scheme) or "")
    except (OSError, TypeError):
        file = Path("(no file)")
    if file.name.startswith(("<", "ipykernel")) or not file.is_file():
        file = Path("(notebook)")
    return {"class": scheme.__qualname__, "file": file.name, "sha256": digest(scheme)}


def facts_of(scheme: OwnClass) -> dict[str, object]:
    """All facts of a class, checked."""
    site = site_of(scheme)
    if isinstance(scheme.params, Param) or isinstance(scheme.layout, Param):
        raise refused(scheme, "params", "a parameter", "another name than params and layout")
    check_params(scheme)
    check_words(scheme)
    tiers = tuple(scheme.tiers) or (("host",) if site == "host" else SWITCH_TIERS)
    allowed = ("host",) if site == "host" else SWITCH_TIERS
    if any(tier not in allowed for tier in tiers):
        raise refused(scheme, "tiers", tiers, f"some of {', '.join(allowed)}: it sits at the {site}")
    return {
        "name": name_of(scheme),
        "summary": (vars(scheme).get("__doc__") or "a scheme written in Python").strip().splitlines()[0],
        "source": scheme.source,
        "unit": scheme.unit,
        "site": site,
        "tiers": tiers,
        "told": scheme.told,
        "series": scheme.series,
        "params": [param.describe(name) for name, param in scheme.params().items()],
        "hooks": hooks_of(scheme, site),
        "header": scheme.header,
        "keeps_ways": scheme.Route is not None,
        "three_tiers": scheme.in_three_tiers,
    }


def check_params(scheme: OwnClass) -> None:
    """Check that parameters are valid, and do not hide names of the contract."""
    for name, wrong in inspect.getmembers_static(scheme, lambda value: isinstance(value, Misfit)):
        raise refused(scheme, name, wrong.default, wrong.allowed, line=wrong.line)
    for name in scheme.params():
        if hasattr(Scheme, name) or name in ALL_HOOKS:
            raise refused(scheme, name, "a parameter", "another name: the contract already uses this one")


def refuse_object(scheme: object) -> None:
    """Refuse an object of a scheme, given where its class belongs."""
    if isinstance(scheme, Scheme):
        name = type(scheme).__name__
        raise SpecError("scheme", f"an object of {name}", f"the class {name} itself: the engine makes its objects")


def site_of(scheme: object) -> str:
    """The site of a scheme, from its base class."""
    refuse_object(scheme)
    if not isinstance(scheme, type) or not issubclass(scheme, Scheme):
        what = getattr(scheme, "__name__", repr(scheme))
        raise SpecError("scheme", what, "a class derived from spinewise.HostScheme or spinewise.SwitchScheme")
    host, switch = issubclass(scheme, HostScheme), issubclass(scheme, SwitchScheme)
    if host == switch:
        raise SpecError("scheme", scheme.__name__, "a class derived from one of HostScheme and SwitchScheme")
    if scheme.pick is Scheme.pick:
        raise refused(scheme, "pick", "(nothing)", "a method pick(self, cx, flow, packet, header)")
    return "host" if host else "switch"


def hooks_of(scheme: OwnClass, site: str) -> list[str]:
    """The hooks it has beyond `pick`."""
    check_methods(scheme)
    found = [hook for hook in ALL_HOOKS if getattr(scheme, hook, None) is not None]
    for hook in found:
        if hook not in HOOKS[site]:
            raise refused(
                scheme, hook, "a method", f"no such hook: {hook} is for switches, and this scheme runs at the {site}"
            )
    if scheme.losses:
        if site != "host" or "feedback" not in found:
            raise refused(scheme, "losses", True, "false, or true of a host scheme with a method feedback")
        found.append("losses")
    if "tick" in found and scheme.layout is Scheme.layout:
        raise refused(scheme, "tick", "a method", "one with a period: a method layout that returns sw.Layout(tick=…)")
    return found


def check_methods(scheme: OwnClass) -> None:
    """Check that hooks and makers of rows are callable, or None, which disables a base class's."""
    for name in (*ALL_HOOKS, "pick", "layout", *ROWS):
        value = getattr(scheme, name, None)
        needed = name in ("pick", "layout")
        if not callable(value) and (needed or value is not None):
            raise refused(scheme, name, value, "a class that makes a row, or None" if name in ROWS else "a method")
        if value is not None:
            check_arguments(scheme, name)
    missing = [hook for hook in (*ALL_HOOKS, "layout") if getattr(scheme, hook, None) is getattr(Scheme, hook, None)]
    bases = [base for base in reversed(scheme.__mro__) if base not in Scheme.__mro__]
    own = {name: value for base in bases for name, value in vars(base).items() if name not in ALL_HOOKS}
    for name, value in own.items():
        if name.startswith("_") or hasattr(Scheme, name) or isinstance(value, type) or not callable(value):
            continue
        if near := get_close_matches(name, missing, n=1, cutoff=0.8):
            allowed = f"the name of a hook, or one that cannot be mistaken for it, such as _{name}"
            raise refused(scheme, name, "a method", allowed, hint=f'did you mean "{near[0]}"?')


def check_arguments(scheme: OwnClass, name: str) -> None:
    """Check that a method accepts its arguments, and a maker of rows none."""
    method, stored = getattr(scheme, name), inspect.getattr_static(scheme, name)
    try:
        takes = inspect.signature(method, follow_wrapped=False)
    except (TypeError, ValueError):  # written in C, without one
        return
    # An attribute that is not a method in the class is called without the object.
    bound = isinstance(stored, staticmethod | classmethod) or not hasattr(type(stored), "__get__")
    given = ARGUMENTS.get(name, ()) if name in ROWS or bound else ("self", *ARGUMENTS[name])
    try:
        takes.bind(*given)
    except TypeError:
        plain = [one.replace(annotation=inspect.Parameter.empty) for one in takes.parameters.values()]
        written = f"{name}{inspect.Signature(plain)}"
        line = getattr(getattr(method, "__code__", None), "co_firstlineno", None)
        raise refused(scheme, name, written, f"{name}({', '.join(given)})", line=line) from None


def check_words(scheme: OwnClass) -> None:
    """Check names and words that tables print."""
    check_types(scheme)
    name = name_of(scheme)
    if not _NAME.fullmatch(name):
        raise refused(scheme, "name", name, "letters, digits and underscores, a letter first")
    if any(entry["name"] == name for entry in core.registry()["schemes"]):
        raise refused(scheme, "name", name, "a name of its own: the registry has a scheme of that name")
    if scheme.unit not in UNITS:
        raise refused(scheme, "unit", scheme.unit, ", ".join(UNITS))


def check_types(scheme: OwnClass) -> None:
    """Check attributes that must be texts, truth values and lists of texts."""
    for attribute in ("name", "source", "unit", "in_three_tiers"):
        if not isinstance(value := getattr(scheme, attribute), str):
            raise refused(scheme, attribute, value, "a text")
    for attribute in ("tiers", "told"):
        value = getattr(scheme, attribute)
        if not isinstance(value, tuple | list) or not all(isinstance(word, str) for word in value):
            raise refused(scheme, attribute, value, 'a tuple of texts, such as ("one",)')
    for attribute in ("header", "losses"):
        if not isinstance(value := getattr(scheme, attribute), bool):
            raise refused(scheme, attribute, value, "True or False")
    series = scheme.series
    if not isinstance(series, tuple | list) or len(series) > 100 or not all(map(is_series, series)):
        raise refused(scheme, "series", series, "at most 100 pairs of a name and its meaning, both texts")


def is_series(pair: object) -> bool:
    """Whether a pair can be a series."""
    return isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(word, str) for word in pair)


def refused(
    scheme: OwnClass, attribute: str, value: object, allowed: str, *, hint: str | None = None, line: int | None = None
) -> SpecError:
    """The error about an invalid attribute of a class, at its line or that of the class."""
    file = start = None
    with suppress(OSError, TypeError):  # it was typed, or made by hand
        file = inspect.getsourcefile(scheme)
        start = inspect.getsourcelines(scheme)[1]
    return SpecError(f"{scheme.__name__}.{attribute}", value, allowed, hint, file=file, line=line or start)
