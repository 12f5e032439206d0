"""The variant of a run in words: its scheme with its settings, as in ``--schemes``; and its transport.

A resolved spec has every parameter. The words name only the differences from the same spec with just the name of the
scheme, so that they omit whatever follows from its preset or its topology.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from spinewise import core
from spinewise.errors import SchemeError, SpecError
from spinewise.shapes import Spec
from spinewise.specs.carriers import transports
from spinewise.specs.spec import canonical_json
from spinewise.specs.variants import SCHEME_KEYS

TABLES = ("params", "fabric_params")
"""Tables below [scheme]."""
BESIDES = ("name", "seed", "traffic", "fault", "detection", "scheme")
"""Keys on which no default of a scheme depends."""
FABRIC = "fabric"
OF_TRANSPORT = ("kind", "recovery", "congestion_control")
"""The keys that distinguish transports."""


def variant_of(spec: Spec) -> str:
    """The variant that a resolved spec runs, such as ``letflow:flowlet_gap_us=50``.

    Every parameter is given for a scheme written in Python, and for one whose spec this version refuses.
    """
    scheme = spec.get("scheme", {})
    name, fabric, given = scheme.get("name", ""), scheme.get("fabric", ""), flat(scheme)
    rest = canonical_json({key: value for key, value in spec.items() if key not in BESIDES})
    told = [path for path in given if "." in path]
    if "source" not in scheme and (usual := usual_of(name, "", rest)) is not None:
        # Parameters of another switch scheme below have defaults of their own.
        below = usual_of(name, fabric, rest) or usual
        told = [path for path in given if given[path] != (usual if path == FABRIC else below).get(path)]
    return ":".join([name, *(f"{written(path)}={shown(given[path])}" for path in told)])


def transport_of(spec: Spec) -> str:
    """The transport of a resolved spec, such as ``rdma, irn, dcqcn``: its values of `OF_TRANSPORT`.

    Several are joined by a plus, in the order of traffic entries.
    """
    every: Sequence[Mapping[str, object]] = transports(spec)
    return " + ".join(", ".join(str(own[key]) for key in OF_TRANSPORT if key in own) for own in every)


@cache
def usual_of(name: str, fabric: str, rest: str) -> Mapping[str, object] | None:
    """The defaults of a scheme, and of the switch scheme below it; None if that is refused."""
    scheme = {"name": name, **({FABRIC: fabric} if fabric else {})}
    spec = {**json.loads(rest), "scheme": scheme, "traffic": [{"kind": "permutation", "size_bytes": 1}]}
    try:
        return flat(core.resolve(spec).get("scheme", {}))
    except (SpecError, SchemeError):
        return None


def flat(scheme: Mapping[str, object]) -> dict[str, object]:
    """The [scheme] table by path, in order, without name and source."""
    return dict(sorted(pairs(scheme)))


def pairs(scheme: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Paths and values."""
    for key, value in scheme.items():
        if key in TABLES and isinstance(value, Mapping):
            yield from ((f"{key}.{below}", one) for below, one in value.items())
        elif key not in ("name", "source"):
            yield key, value


def written(path: str) -> str:
    """A path below [scheme] as the key of a variant."""
    own = path.removeprefix("params.")
    plain = path in SCHEME_KEYS or (own != path and own not in SCHEME_KEYS)
    return own if plain else f"scheme.{path}"


def shown(value: object) -> str:
    """A value in the form for a variant."""
    return value if isinstance(value, str) else canonical_json(value)
