"""The schemes that may be advised here, what each must change, and why others are not tried."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spinewise import core
from spinewise.advice.gear import steps
from spinewise.advice.setups import pauses
from spinewise.errors import SpecError, nearest
from spinewise.own.contract import OwnClass, facts_of, name_of
from spinewise.plain import shown
from spinewise.runs.jobs import resolved_case
from spinewise.shapes import Spec
from spinewise.specs.hints import OWN
from spinewise.specs.kinds import family_of, trims
from spinewise.specs.spec import resolve
from spinewise.specs.variants import Variant, parse_list, path_of

LEVELS: Final = ("as it is", "configuration", "hosts", "leaves", "switches")
"""What a scheme changes, the cheapest first: nothing, settings of what is there, software of hosts, leaf switches,
every switch."""
MAY: Final = LEVELS[1:]
"""The levels of change that may be allowed."""
NEEDS: Final = {
    "nothing new": "configuration",
    "new software at hosts": "hosts",
    "new leaves": "leaves",
    "new switches": "switches",
}
"""The level for a scheme's declared needs (`compared.needs` of its fact sheet)."""
AT: Final = {"host": "hosts", "switch": "switches"}
"""The level of a scheme that does not declare its needs, by where it runs: the most expensive there."""
UNSAID: Final = "its fact sheet does not say what it needs (`compared`): name it with --schemes to try it"
"""The reason why such a scheme does not take part unless it is named."""
TRANSPORT: Final = ("kind", "congestion_control", "recovery")
"""Keys of [transport] that mean other software on hosts; the others are settings of existing software."""
TCP: Final = "tcp"
"""The family of transports that hosts already have."""
ORACLE: Final = "an oracle"
"""The beginning of what the registry says of a scheme that knows what no real scheme can know."""
TODAY: Final = "ecmp"
"""The scheme of a fabric whose spec names none: it costs nothing to keep."""


@dataclass(frozen=True)
class Candidate:
    """A scheme that fits, with its parameters.

    Attributes:
        variant: as a comparison runs it.
        level: what it changes, one of `LEVELS`.
        oracle: whether it uses knowledge that no real scheme can have: a bound, and never advised.
        told: what must be configured for it.
        about: what it does, in a line.
        tuned: the label of the candidate it differs from by a parameter; None with defaults.
    """

    variant: Variant
    level: str
    oracle: bool
    told: tuple[str, ...]
    about: str
    tuned: str | None = None

    @property
    def label(self) -> str:
        """The name of the scheme in tables."""
        return self.variant.label

    @property
    def tier(self) -> int:
        """Its level as a number, cheaper ones below."""
        return LEVELS.index(self.level)


@dataclass(frozen=True)
class NotTried:
    """A scheme that does not take part.

    Attributes:
        scheme: its label.
        because: the reason.
    """

    scheme: str
    because: str


@dataclass(frozen=True)
class Field:
    """The schemes that take part, and those that do not.

    Attributes:
        candidates: schemes that fit, oracles included; the one that runs today first.
        not_tried: the others, with the reason.
        today: the label of the scheme that runs today.
        named: schemes that somebody has named to choose from; 0 where nobody has.
        unnamed: schemes that Spinewise has and that nobody has named, where somebody has named any.
    """

    candidates: tuple[Candidate, ...]
    not_tried: tuple[NotTried, ...]
    today: str
    named: int = 0
    unnamed: int = 0


Sheet = Mapping[str, object]


def sheets() -> dict[str, Sheet]:
    """The fact sheets of all schemes but tests, by name."""
    return {str(one["name"]): one for one in core.schemes()}


def own_sheets(schemes: str | Iterable[str | OwnClass] | None) -> dict[str, Sheet]:
    """The fact sheets of the classes among `schemes`, by name; they do not declare their needs.

    Raises:
        SpecError: one is not a scheme.
    """
    classes = [one for one in schemes or () if isinstance(one, type)]
    facts = {name_of(one): facts_of(one) for one in classes}
    return {name: {**said, "about": said["summary"], "own": True} for name, said in facts.items()}


def needs(sheet: Sheet) -> str | None:
    """The needs that a scheme declares, in the words of `NEEDS`; None if its sheet has no `compared`."""
    compared = sheet.get("compared")
    return str(compared["needs"]) if isinstance(compared, Mapping) else None


def level(sheet: Sheet, today: str, family: str) -> str:
    """The level of what a scheme changes: one of `LEVELS`, derived from its fact sheet.

    A scheme that does not declare its needs changes all places of its kind. What hosts already have is part of
    their TCP: over a transport of another `family` it is new software. What products of today have is configuration,
    whatever it needed when it was published.
    """
    if sheet["name"] == today:
        return LEVELS[0]
    said, dearest = needs(sheet), AT[str(sheet["site"])]
    if said is not None and any(step.match == "same" for step in steps(str(sheet["name"]), family)):
        return NEEDS["nothing new"]
    if said is None or (dearest == "hosts" and NEEDS[said] == "configuration" and family != TCP):
        return dearest
    return NEEDS[said]


def oracle(sheet: Sheet) -> bool:
    """Whether a scheme knows what no real scheme can know, by what the registry says of it."""
    return "own" not in sheet and str(sheet["about"]).startswith(ORACLE)


def may_list(text: str | Iterable[str] | None) -> tuple[str, ...]:
    """The levels that may be changed, in order of `MAY`; all of them when none is given.

    Raises:
        SpecError: a word is not one of them.
    """
    texts = [] if text is None else [text] if isinstance(text, str) else list(text)
    words = [word.strip() for one in texts for word in one.split(",") if word.strip()]
    for word in words:
        if word not in MAY:
            raise SpecError("--may", word, ", ".join(MAY), nearest(word, MAY))
    return tuple(one for one in MAY if not words or one in words)


def find(
    spec: Spec,
    may: Sequence[str],
    schemes: str | Sequence[str | OwnClass] | None = None,
    own: Sequence[OwnClass] = (),
) -> Field:
    """Find the schemes that fit a fabric and its transport, and are allowed.

    Args:
        spec: as it was read; the scheme in it, if any, is the one that runs today.
        may: what may be changed, of `MAY`.
        schemes: variants to choose from, as `spinewise.compare` takes them; all schemes that say what they need when
            None.
        own: classes that `schemes` may name; those that it does not name take part too.

    Raises:
        SpecError: the spec is invalid, a variant in `schemes` is wrong in itself, or nothing is left to choose from.
    """
    brought = own_sheets(schemes) | own_sheets(own)
    known = sheets() | brought
    name = runs_today(spec, known)
    listed = parse_list(list(known) if schemes is None else schemes, own)
    # Whatever its label is.
    today = next((one for one in listed if one.name == name and one.is_plain), Variant(name, name))
    wanted = [one for one in listed if one != today]
    # Errors in the spec are reported for what runs today, before any scheme is called unfit.
    resolved_case("", today.apply(spec), spec.get("seed", 1), named(today))
    found, others = [made(spec, today, today, known[today.name])], []
    for variant in wanted:
        if variant.name not in known:
            raise SpecError("--schemes", variant.name, ", ".join(known), nearest(variant.name, known))
        candidate = made(spec, variant, today, known[variant.name])
        unsaid = schemes is None and variant.name not in brought and needs(known[variant.name]) is None
        because = UNSAID if unsaid else unfit(spec, variant) if schemes is None else unserved(spec, variant)
        if because is None and not candidate.oracle and candidate.level not in (LEVELS[0], *may):
            because = f"it changes {candidate.level}, and --may allows {', '.join(may)}"
        if because is None and "configuration" not in may and changes_pfc(spec, variant, today):
            because = f"it changes PFC, which switches are configured with, and --may allows {', '.join(may)}"
        if because is None:
            found.append(candidate)
        else:
            others.append(NotTried(variant.label, because))
    if sum(not one.oracle for one in found) < 2:
        oracles = [f"{one.label}: an oracle to compare with, which no fabric can run" for one in found if one.oracle]
        reasons = "; ".join([*(f"{one.scheme}: {one.because}" for one in others), *oracles][:3])
        asked = "those that fit" if schemes is None else as_text(schemes)
        key, value = ("--may", ",".join(may)) if len(may) < len(MAY) else ("--schemes", asked)
        raise SpecError(key, value, f"at least one scheme to choose besides {today.label}, which runs today", reasons)
    if schemes is None:
        return Field(tuple(found), tuple(others), today.label)
    names = {one.name for one in listed}
    unnamed = len(sheets().keys() - names - {today.name})
    return Field(tuple(found), tuple(others), today.label, len(names), unnamed)


def runs_today(spec: Spec, known: Mapping[str, Sheet]) -> str:
    """The name of the scheme that runs today.

    Raises:
        SpecError: nobody knows it, or it is an oracle.
    """
    table = spec.get("scheme") if isinstance(spec.get("scheme"), dict) else None
    name = str(table["name"]) if table and "name" in table else TODAY
    if name not in known:
        raise SpecError("scheme.name", name, ", ".join(known), nearest(name, known) or OWN)
    if oracle(known[name]):
        real = ", ".join(one for one in known if not oracle(known[one]))
        hint = f"{name} is an oracle, which no fabric can run: --schemes may name it, to compare with"
        raise SpecError("scheme.name", name, f"what runs today: {real}", hint)
    return name


def as_text(schemes: str | Iterable[str | OwnClass]) -> str:
    """Schemes in the form of ``--schemes``."""
    listed = [schemes] if isinstance(schemes, str) else schemes
    return ",".join(one if isinstance(one, str) else name_of(one) for one in listed)


def made(spec: Spec, variant: Variant, today: Variant, sheet: Sheet) -> Candidate:
    """Make a candidate from a variant and the fact sheet of its scheme, given the variant that runs today."""
    told = sheet.get("told")
    besides = [f"{key} = {shown(value)}" for key, value in outside(variant)]
    return Candidate(
        variant=variant,
        level=max(
            level(sheet, today.name, family_of(variant.apply(spec))), set_level(spec, variant, today), key=LEVELS.index
        ),
        oracle=oracle(sheet),
        told=tuple(map(str, told)) if isinstance(told, list | tuple) else (),
        about="; with ".join([str(sheet["about"]), *([", ".join(besides)] if besides else [])]),
    )


def outside(variant: Variant) -> list[tuple[str, object]]:
    """The settings of a variant outside its [scheme] table."""
    return [(key, value) for key, value in variant.settings if is_outside(key)]


def is_outside(key: str) -> bool:
    """Whether a key is a setting outside the [scheme] table."""
    return not path_of(key).startswith("scheme.")


def set_level(spec: Spec, variant: Variant, today: Variant) -> str:
    """The level of what the settings of a variant change: one of `LEVELS`.

    Switches that trim are other switches, another transport is software of hosts, the rest configuration. A variant
    that the engine refuses changes nothing: `find` reports why it does not take part.
    """
    if not outside(variant):
        # The location of a scheme's code is not a setting.
        return "configuration" if any(key != "source" for key, _ in variant.settings) else LEVELS[0]
    try:
        now, then = resolve(today.apply(spec)), resolve(variant.apply(spec))
    except SpecError:
        return LEVELS[0]
    if trims(then) and not trims(now):
        return "switches"
    hosts = any(now["transport"].get(key) != then["transport"].get(key) for key in TRANSPORT)
    return "hosts" if hosts else "configuration"


def changes_pfc(spec: Spec, variant: Variant, today: Variant) -> bool:
    """Whether switches pause under a variant and not under what runs today, or the other way round.

    Switches that trim are other switches, whose settings are not those of today.
    """
    now, then = resolve(today.apply(spec)), resolve(variant.apply(spec))
    return not trims(then) and pauses(now) != pauses(then)


def unfit(spec: Spec, variant: Variant) -> str | None:
    """The engine's reason why a scheme cannot run here; None if it can."""
    error = refusal(spec, variant)
    return None if error is None else error.why_left_out(named(variant))


def unserved(spec: Spec, variant: Variant) -> str | None:
    """The reason why a scheme that the user named cannot serve this fabric or transport; None if it can.

    Raises:
        SpecError: the variant is wrong on any fabric.
    """
    error = refusal(spec, variant)
    if error is not None and not error.unserved:
        raise error
    return None if error is None else error.why_left_out(named(variant))


def refusal(spec: Spec, variant: Variant) -> SpecError | None:
    """The engine's error for a scheme here; None if it accepts the scheme."""
    try:
        resolved_case("", variant.apply(spec), spec.get("seed", 1), named(variant))
    except SpecError as error:
        return error
    return None


def named(variant: Variant) -> str:
    """The name of a scheme in errors."""
    return f"scheme {variant.label}"
