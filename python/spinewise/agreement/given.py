"""What is given for a case besides its flows: parameters in its name, a label, a sidecar, a file with a fabric.

A case that ran with unusual settings of its scheme gives them in one of these ways; later ones win:

| way | example |
|---|---|
| parameters in the name, as ``--schemes`` takes them | ``dctcp-clove:mode=ecn-sym.csv.gz`` |
| a label that is known | ``dctcp-presto-rb-sym.csv.gz``: with that code's receive buffer |
| a file of the same name beside it, which may also name the scheme and the fabric | ``dctcp-presto-rb-sym.toml`` |

```toml
version = 1
[scheme]
name = "presto"
params = { flowcell_packets = 10 }
[transport]
resequencing = "periodic"
[topology]
file = "fat_k8_100G_OS2.txt"
```
"""

from __future__ import annotations

import tomllib
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from spinewise.agreement.recorded import KNOWN_LABELS, TCP, Recorded
from spinewise.errors import SpecError, nearest
from spinewise.reading import MB, printable, read_text
from spinewise.shapes import ListedFlow, Scheme, Spec, Topology
from spinewise.specs import variants
from spinewise.specs.lines import located, not_toml
from spinewise.specs.spec import Tables, anchor_files, as_tables, parse_toml, resolve, set_path

VERSION = 1
TABLES = ("scheme", "transport", "switch", "topology", "run")
KEYS = ("version", "preset", *TABLES)
# Keys that the comparison itself sets, salt by salt.
OURS = {"scheme": ("hash_salt",)}
SIDECAR = f"a file with version = {VERSION}, preset and the tables {', '.join(TABLES)}"
# Labels of TCP cases that need no further word, and their meanings.
LABELS: dict[str, Spec] = {
    label: {"transport": {"resequencing": "periodic", "resequencing_in_order_us": 5}} for label in KNOWN_LABELS
}


@dataclass(frozen=True)
class Given:
    """What is given for a case.

    Attributes:
        scheme: ``[scheme]`` of its spec: the name, and parameters.
        tables: other keys of the spec, laid over those of such cases.
        file: the file that gives most of it, for errors.
    """

    scheme: Scheme
    tables: Spec
    file: str

    @property
    def fabric(self) -> bool:
        """Whether a whole fabric is given, in place of the usual one."""
        table = self.tables.get("topology", {})
        return "kind" in table or "file" in table

    def laid_over(self, spec: Spec) -> Spec:
        """A spec with these keys in place of its own."""
        changed = deepcopy(spec)
        if self.fabric:
            rounding = changed["topology"].get("tx_time_rounding")
            changed["topology"] = {} if rounding is None else {"tx_time_rounding": rounding}
        for name, value in self.tables.items():
            own: object = changed.get(name)
            set_path(changed, name, {**own, **value} if isinstance(own, dict) and isinstance(value, dict) else value)
        return changed


def of(case: Recorded, topology: str | None = None) -> Given:
    """Read what is given for a case, by its name, its label, the file beside it, and a file with all cases' fabric.

    Raises:
        SpecError: a parameter without a value, a file that cannot be read, one of another version, or with other keys.
    """
    tables: Spec = deepcopy(LABELS[case.label]) if case.mode == TCP and case.label in LABELS else {}
    lay(tables, {"scheme": {"name": case.scheme}})
    if case.parameters:
        lay(tables, named(case))
    if case.sidecar is not None:
        lay(tables, sidecar(case.sidecar))
    if topology is not None and "topology" not in tables:
        tables["topology"] = fabric(topology)
    return Given(tables.pop("scheme"), tables, str(case.path if case.sidecar is None else case.sidecar))


def named(case: Recorded) -> Spec:
    """The parameters in the name of a case, as tables of a spec."""
    try:
        found = variants.parse(f"{case.scheme}:{case.parameters}").apply({})
    except SpecError as error:
        raise SpecError("the file's name", case.name, error.allowed, error.hint, file=str(case.path)) from None
    return found


def lay(tables: Spec, more: Spec) -> None:
    """Lay more keys over those of `tables`, in place; parameters of the scheme one by one."""
    for name, value in more.items():
        own: object = tables.get(name)
        if isinstance(value, dict) and isinstance(own, dict):
            params = {**own.get("params", {}), **value.get("params", {})}
            set_path(tables, name, {**own, **value, **({"params": params} if params else {})})
        else:
            set_path(tables, name, value)


def sidecar(path: Path) -> Spec:
    """The tables in the file beside a case.

    Raises:
        SpecError: it cannot be read, is not TOML, has another version, or has keys that a case does not have.
    """
    file = printable(path)
    found = read_toml(path, SIDECAR)
    version = found.pop("version", None)
    if version != VERSION or isinstance(version, bool):
        value = "nothing" if version is None else version
        raise SpecError("version", value, f"{VERSION}, the version of such files that this Spinewise reads", file=file)
    for name, value in found.items():
        if name not in KEYS:
            raise SpecError(name, value, ", ".join(KEYS), nearest(name, KEYS), file=file)
        if name in TABLES and not isinstance(value, dict):
            raise SpecError(name, value, f"a table [{name}]", file=file)
        for key in OURS.get(name, ()):
            if isinstance(value, dict) and key in value:
                raise SpecError(f"{name}.{key}", value[key], "no such key here: every salt is a run", file=file)
    scheme = found.get("scheme", {})
    assert isinstance(scheme, dict)
    if not isinstance(scheme.get("name", ""), str):
        raise SpecError("scheme.name", scheme["name"], "the name of a scheme", file=file)
    if not isinstance(scheme.get("params", {}), dict):
        raise SpecError("scheme.params", scheme["params"], "a table of parameters", file=file)
    return cast(Spec, found)


def fabric(file: str) -> Topology:
    """The keys of [topology] in a file: a spec or part of one in TOML, else a topology of the HPCC simulator.

    Raises:
        SpecError: it cannot be read, or is TOML without a fabric.
    """
    if Path(file).suffix != ".toml":
        return {"file": str(Path(file).resolve())}
    table = read_toml(Path(file), "a file with a table [topology]").get("topology")
    if not isinstance(table, dict) or not ("kind" in table or "file" in table):
        raise SpecError("--topology", file, "a topology file, or TOML with a table [topology] that has kind or file")
    return cast(Topology, table)


def read_toml(path: Path, allowed: str) -> Tables:
    """The tables of a TOML file, with file names relative to it made absolute."""
    file = printable(path)
    try:
        found = as_tables(parse_toml(read_text(path, file, most=MB, allowed=allowed)))
        anchor_files(found, path.parent)
    except tomllib.TOMLDecodeError as error:
        raise not_toml(error, file) from None
    except SpecError as error:
        raise located(error, path) from None
    return found


def check(given: Given, spec: Spec, largest_host: int) -> None:
    """Check with the engine what was given, before anything runs; `spec` is the case's, without its flows.

    Raises:
        SpecError: naming the file that gave it.
    """
    flow: ListedFlow = {"src": largest_host, "dst": 0 if largest_host else 1, "size_bytes": 1}
    tried: Spec = {**spec, "traffic": [{"kind": "flows", "list": [flow]}]}
    try:
        resolve(tried)
    except SpecError as error:
        if error.key.startswith("traffic"):
            hosts = f"a fabric with the hosts of the flows, the largest of which is {largest_host}"
            raise SpecError("topology", spec["topology"], hosts, error.one_line(), file=given.file) from None
        raise error.with_file(given.file) from None
