"""Scheme variants, as written in ``--schemes``: ``name[:key=value]...[@label]``, separated by commas.

A plain key is a parameter of the scheme (``letflow:flowlet_gap_us=100``), except for the keys that
belong to the [scheme] table itself (``pdlb:path_tag=outer``). A key with a dot is a key path of the
spec (``rps:transport.dupack_threshold=0``), so that a scheme can be compared under its own transport;
``scheme.params.KEY`` reaches a parameter with the same name as a key of the [scheme] table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import cast

from spinewise import core
from spinewise.errors import SpecError
from spinewise.own.contract import contract, name_of, refuse_object, source_of
from spinewise.own.scheme import Scheme
from spinewise.plain import shown, unlike
from spinewise.shapes import Scheme as SchemeTable
from spinewise.shapes import Spec
from spinewise.specs.kinds import strangers
from spinewise.specs.spec import parse_value, resolve, set_path

SCHEME_KEYS = ("path_tag", "fabric", "header_bytes", "source")
LABEL_CHARS = 60
FORM = 'NAME, NAME:key=value or NAME:key=value@label, such as "letflow:flowlet_gap_us=100@LetFlow 100"'

# Text in brackets or quotes belongs to a value: rps:fault=[{kind="down", ends=["leaf0", "spine0"]}].
_OPENING, _CLOSING, _QUOTES = "[{", "]}", "\"'"


@dataclass(frozen=True)
class Variant:
    """One scheme in a comparison.

    Attributes:
        label: its name in tables and figures.
        name: the scheme's registered name.
        settings: (key, value) pairs, applied in order.
    """

    label: str
    name: str
    settings: tuple[tuple[str, object], ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it sets nothing but the code of a scheme written in Python."""
        return all(key == "source" for key, _ in self.settings)

    def running(self, source: dict[str, str]) -> Variant:
        """The same variant with the code of a scheme written in Python."""
        return replace(self, settings=(("source", source), *self.settings))

    def apply(self, spec: Spec, kept: Sequence[str] = ()) -> Spec:
        """A copy of `spec` that runs this variant.

        The [scheme] table of `spec` is kept when it names the same scheme, and left out otherwise
        (except header_bytes): parameters never leak from one scheme to another. Nor do they from one
        transport to another: see `left_out`. The keys of `kept` are for every variant, and stay.
        """
        changed = self._over(spec)
        for path in strangers(spec, changed, [*self._paths(), *kept]):
            table, _, key = path.partition(".")
            del cast("dict[str, dict[str, object]]", changed)[table][key]
        return changed

    def left_out(self, spec: Spec) -> list[str]:
        """Key paths of `spec` that do not apply to this variant, as it has another transport or other switches."""
        return strangers(spec, self._over(spec), self._paths())

    def _paths(self) -> list[str]:
        """The key paths that it sets."""
        return [path_of(key) for key, _ in self.settings]

    def _over(self, spec: Spec) -> Spec:
        """A copy of `spec` with what this variant sets."""
        changed = deepcopy(spec)
        own = changed.get("scheme")
        scheme = own if isinstance(own, dict) else SchemeTable()
        if scheme.get("name") != self.name:
            # How bytes on the wire are counted is a choice of the experiment, not of one scheme.
            shared = scheme
            scheme = {"name": self.name}
            if "header_bytes" in shared:
                scheme["header_bytes"] = shared["header_bytes"]
        changed["scheme"] = scheme
        for key, value in self.settings:
            set_path(changed, path_of(key), value)
        return changed

    def setting_of(self, key: str) -> str | None:
        """The setting behind a key path, as written; "" if it is the scheme's name, None if nothing sets the key."""
        for written, _ in self.settings:
            path = path_of(written)
            if key == path or key.startswith((f"{path}.", f"{path}[")):
                return written
        return "" if key == "scheme.name" else None


def left_out(variants: Iterable[Variant], spec: Spec) -> list[str]:
    """The parts of a spec that do not apply to variants: a sentence for all that share them."""
    shared: dict[str, list[str]] = {}
    for variant in variants:
        shared.setdefault(", ".join(variant.left_out(spec)), []).append(variant.label)
    return [
        f"{', '.join(labels)}: without {keys} of the spec, which belong to another transport or its switches."
        for keys, labels in shared.items()
        if keys
    ]


def frames(variants: Iterable[Variant], spec: Spec) -> dict[tuple[int, int], list[str]]:
    """Labels of variants by their full packets, (payload, header) in bytes; empty if none sets a transport."""
    listed = list(variants)
    if not any(path_of(key).startswith("transport.") for one in listed for key, _ in one.settings):
        return {}
    found: dict[tuple[int, int], list[str]] = {}
    for variant in listed:
        changed = variant.apply(spec)
        # Nothing else decides it, and large specs take long to resolve.
        small: Spec = {"topology": {"kind": "leaf_spine"}, "traffic": [{"kind": "permutation", "size_bytes": 1}]}
        for table in ("preset", "transport"):
            if table in changed:
                small[table] = changed[table]
        try:
            transport = resolve(small)["transport"]
        except SpecError:
            continue
        found.setdefault((transport["mss_bytes"], transport["header_bytes"]), []).append(variant.label)
    return found


def with_one_ideal(spec: Spec, variants: Iterable[Variant]) -> Spec:
    """The spec with which slowdowns of variants compare: where packets differ, a flow has one ideal under all variants.

    The spec's own `metrics.ideal_frames` is kept.
    """
    metrics = spec.get("metrics", {})
    if not isinstance(metrics, dict) or "ideal_frames" in metrics:
        return spec
    found = frames(variants, spec)
    if len(found) < 2:
        return spec
    return spec | {"metrics": metrics | {"ideal_frames": [[*one] for one in sorted(found)]}}


def unlike_payloads(variants: Iterable[Variant], spec: Spec) -> list[str]:
    """A sentence, if full packets of variants carry different payloads."""
    found: dict[int, list[str]] = {}
    for (payload, _), labels in frames(variants, spec).items():
        found.setdefault(payload, []).extend(labels)
    if len(found) < 2:
        return []
    told = ", ".join(f"{size:,} bytes under {', '.join(labels)}" for size, labels in sorted(found.items()))
    if spec.get("metrics", {}).get("ideal_frames"):
        ideals = "Slowdowns are relative to the same times, the least with any of these packets (metrics.ideal_frames)."
    else:
        ideals = "The ideals that slowdowns are relative to differ, too. Completion times can be compared."
    return [
        f"Full packets carry {told}: headers, and losses per packet, differ by that (transport.mss_bytes). {ideals}"
    ]


def differing(variants: Iterable[Variant], spec: Spec) -> list[str]:
    """The differences between variants besides their settings: see `left_out` and `unlike_payloads`."""
    listed = list(variants)
    return [*left_out(listed, spec), *unlike_payloads(listed, spec)]


def path_of(key: str) -> str:
    """The path of a setting's key in a spec."""
    if "." in key:
        return key
    return f"scheme.{key}" if key in SCHEME_KEYS else f"scheme.params.{key}"


def own_sources(classes: Iterable[type[Scheme]]) -> dict[str, dict[str, str]]:
    """The location of the code of each class, by the name of its scheme."""
    found: dict[str, type[Scheme]] = {}
    for scheme in classes:
        name = contract(scheme).name
        if found.setdefault(name, scheme) is not scheme:
            raise SpecError("--schemes", name, "classes with names that differ", 'set the class attribute "name"')
    return {name: source_of(scheme) for name, scheme in found.items()}


def split(text: str, at: str) -> list[str]:
    """Split a text at each `at` that is not in brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES and (depth or parts[-1].endswith("=")):
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth = max(depth - 1, 0)
        elif char == at and not depth:
            parts.append("")
            continue
        parts[-1] += char
    return parts


def parse(text: str) -> Variant:
    """One variant from its text."""
    body, *rest = split(text, "@")
    at, label = bool(rest), "@".join(rest)
    name, *pairs = (part.strip() for part in split(body, ":"))
    if not name or ";" in name:
        raise SpecError("--schemes", text, FORM, "schemes are separated by commas" if name else None)
    label = label.strip()
    if at and not (1 <= len(label) <= LABEL_CHARS and label.isprintable()):
        raise SpecError("--schemes", text, f"a label of 1 to {LABEL_CHARS} printable characters after the @", FORM)
    settings = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise SpecError("--schemes", text, FORM, f'"{pair}" has no "="')
        try:
            settings.append((key.strip(), parse_value(key.strip(), value.strip())))
        except SpecError as error:
            raise SpecError("--schemes", text, f"{error.allowed} for {key.strip()}", error.hint) from None
    return Variant(label or " ".join([name, *pairs]), name, tuple(settings))


def parse_list(schemes: str | Iterable[str | type[Scheme]], own: Iterable[type[Scheme]] = ()) -> list[Variant]:
    """Several variants from one comma-separated text or from a list; labels must differ.

    A class written in Python is a variant of its own, and texts may name it, with parameters. Those of `own` that
    are not named come last.
    """
    if not isinstance(schemes, Iterable):
        raise unlike("schemes", "a text or a list of texts and classes", schemes)
    items: Sequence[str | type[Scheme]] = split(schemes, ",") if isinstance(schemes, str) else list(schemes)
    for item in items:
        refuse_object(item)
        if not isinstance(item, str | type):
            raise SpecError("--schemes", shown(item), FORM)
    classes = [item for item in items if not isinstance(item, str)] + list(own)
    sources = own_sources(classes)
    texts = [item.strip() if isinstance(item, str) else name_of(item) for item in items]
    found = [parse(text) for text in texts if text]
    found += [parse(name) for name in sources if name not in {variant.name for variant in found}]
    found = [variant.running(sources[variant.name]) if variant.name in sources else variant for variant in found]
    if not found:
        raise SpecError("--schemes", schemes, FORM)
    labels = [variant.label for variant in found]
    for label in labels:
        if labels.count(label) > 1:
            raise SpecError("--schemes", label, "labels that differ", 'give one with "@label"')
    for variant in found:
        refuse_another(variant, sources)
    return found


def refuse_another(variant: Variant, own: Iterable[str]) -> None:
    """Refuse a label that is the name of another scheme, of `own` or of the registry: tables would be misleading."""
    schemes = core.registry()["schemes"]
    meant = variant.label if variant.label in own else core.named(schemes, variant.label)
    if meant not in (None, variant.name, core.named(schemes, variant.name)):
        allowed = f'a label for {variant.name} that is not the name of another scheme, such as "{variant.name} 2"'
        raise SpecError("--schemes", variant.label, allowed)
