"""The schemes of the registry, typed: `spinewise.schemes()`."""

from __future__ import annotations

from dataclasses import dataclass, field

from spinewise import core, replies
from spinewise.shapes import Value


@dataclass(frozen=True)
class ParamInfo:
    """A parameter of a scheme, under ``[scheme.params]``.

    Attributes:
        name: its key, unit included.
        type: "number", "integer", "boolean" or "string".
        unit: the unit in its name, or None.
        default: its value unless the spec sets it.
        allowed: the allowed values, as a phrase.
        doc: its meaning, and the origin of its default.
    """

    name: str
    type: str
    unit: str | None
    default: Value
    allowed: str
    doc: str = field(repr=False)


@dataclass(frozen=True)
class SchemeInfo:
    """A scheme of the registry.

    Attributes:
        name: its name in specs.
        about: what it does, in a line.
        source: its publication.
        site: "host" or "switch".
        tiers: the tiers where it decides.
        three_tiers: its behaviour in fabrics of three tiers.
        unit: the unit that moves as one.
        fabrics: the fabrics it serves.
        told: what must be configured for it to work as published.
        series: its own time series, as ``name: meaning``.
        params: its parameters.
    """

    name: str
    about: str
    source: str = field(repr=False)
    site: str
    tiers: tuple[str, ...] = field(repr=False)
    three_tiers: str = field(repr=False)
    unit: str
    fabrics: str = field(repr=False)
    told: tuple[str, ...] = field(repr=False)
    series: tuple[str, ...] = field(repr=False)
    params: tuple[ParamInfo, ...] = field(repr=False)

    @property
    def defaults(self) -> dict[str, Value]:
        """The default of each parameter, as in ``[scheme.params]``."""
        return {param.name: param.default for param in self.params}


def schemes() -> list[SchemeInfo]:
    """All schemes of the registry, as ``spinewise schemes`` lists them.

    >>> {scheme.name: scheme.site for scheme in schemes()}["conga"]
    'switch'
    """
    return [info(entry) for entry in core.schemes()]


def info(entry: replies.Scheme) -> SchemeInfo:
    """One entry of the engine's list."""
    return SchemeInfo(
        name=entry["name"],
        about=entry["about"],
        source=entry["source"],
        site=entry["site"],
        tiers=tuple(entry["tiers"]),
        three_tiers=entry["three_tiers"],
        unit=entry["unit"],
        fabrics=entry["fabrics"],
        told=tuple(entry["told"]),
        series=tuple(entry["series"]),
        params=tuple(param(found) for found in entry["params"]),
    )


def param(entry: replies.Param) -> ParamInfo:
    """One parameter of it."""
    return ParamInfo(
        name=entry["name"],
        type=entry["type"],
        unit=entry["unit"],
        default=entry["default"],
        allowed=entry["allowed"],
        doc=entry["doc"],
    )
