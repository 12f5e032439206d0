"""The JSON Schema of spec files, made from the engine's registry of keys.

The engine is stricter: it also knows which values fit each other. Whatever the schema refuses, the engine refuses.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Literal, cast

from spinewise import core
from spinewise.replies import Json, Listed, Param
from spinewise.schemas.parts import Kind, Schema, by_kind, listed, one_of, table, words

DRAFT = "http://json-schema.org/draft-07/schema#"
REQUIRED = "(required)"
HOST: Schema = {"type": "integer", "minimum": 0}
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
TRANSPORT: Schema = {"$ref": "#/definitions/transport"}
"""The table of a transport, which the run and traffic entries may have."""

EITHER: dict[str, Schema] = {
    "hosts": one_of(words(["all"]), listed(HOST), listed(listed(HOST))),
    "senders": one_of({"type": "integer", "minimum": 1}, listed(HOST)),
    "series_links": one_of(words(["fabric", "all"]), listed(TEXT)),
}
"""Keys of several types, which the engine describes only in words."""

SELECTORS = ("leaf", "spine", "link", "aggregation", "core", "host")
"""Keys of an override that take a number or a list of them."""


@cache
def entries(of: Literal["schemes", "spec", "workloads"]) -> dict[str, Listed]:
    """The entries of one part of the registry, by name: `spec` has the tables of a spec."""
    return {entry["name"]: entry for entry in core.registry()[of]}


def spec_schema() -> Schema:
    """The schema of a spec file."""
    top = keys("top level")
    top |= {
        "topology": topology(),
        "switch": switch(),
        "transport": TRANSPORT,
        "scheme": scheme(),
        "traffic": listed(traffic(), least=1),
        "fault": listed(fault()),
        "detection": plain("[detection]"),
        "run": plain("[run]"),
        "metrics": metrics(),
    }
    made: Schema = {"$schema": DRAFT, "title": "Spinewise spec", "x-taplo-info": {"authors": ["Spinewise"]}}
    made["definitions"] = {"transport": transport()}
    return made | table(top | beside(), ["traffic"], "What is simulated: fabric, transport, scheme, traffic, faults.")


def keys(name: str, without: Iterable[str] = ()) -> dict[str, Schema]:
    """The keys of a table of the registry, each with its meaning."""
    return explained(entries("spec")[name]["params"], without)


def explained(params: Iterable[Param], without: Iterable[str] = ()) -> dict[str, Schema]:
    """Schemas of keys, with unit, default and meaning for people."""
    return {param["name"]: key(param) for param in params if param["name"] not in without}


def key(param: Param) -> Schema:
    """The schema of one key."""
    schema = param["schema"] or EITHER[param["name"]]
    unit = f" Unit: {param['unit']}." if param["unit"] else ""
    default = param["default"]
    fixed = not isinstance(default, str) or not default.startswith("(")
    said = f"Default: {str(default).lower() if isinstance(default, bool) else default or 'none'}."
    text = f"{param['doc']}\n\nAllowed: {param['allowed']}.{unit} {said}"
    return schema | {"description": text} | ({"default": cast("str", default)} if fixed else {})


def required(name: str) -> tuple[str, ...]:
    """The keys that a table must have."""
    return tuple(param["name"] for param in entries("spec")[name]["params"] if param["default"] == REQUIRED)


def about(name: str) -> str:
    """The description of a table."""
    return entries("spec")[name]["about"]


def plain(name: str) -> Schema:
    """A table whose keys are the same in every spec."""
    return table(keys(name), required(name), about(name))


# ---- tables of several kinds ----


def topology() -> Schema:
    """[topology]: by its kind, or a file of another simulator in place of links."""
    two, three, graph = (f'[topology] kind = "{kind}"' for kind in ("leaf_spine", "fat_tree", "links"))
    by_file = keys(graph, without=["hosts", "switches", "links"]) | {
        "file": TEXT | {"description": "A topology file of the HPCC or ConWeave simulator, in place of links."},
        "format": words(["hpcc"]) | {"description": "Format of the file."},
    }
    kinds = [
        Kind(
            ("leaf_spine",),
            keys(two) | {"override": overrides("[[topology.override]]")},
            assumed=True,
        ),
        Kind(
            ("fat_tree",),
            keys(three) | {"override": overrides("[[topology.override]] of a fat-tree")},
            required(three),
        ),
        Kind(("links",), keys(graph) | links()),
    ]
    described = by_kind("kind", kinds, "The fabric.")
    named_file: Schema = {"required": ["file"]}
    properties = cast("dict[str, Schema]", described["properties"]) | {
        name: schema for name, schema in by_file.items() if name in ("file", "format")
    }
    others: dict[str, Json] = {name: False for name in properties if name not in by_file}
    allowed: Schema = {"properties": others | {"kind": words(["links"])}}
    by_hand: Schema = {"allOf": described["allOf"]}
    graph_keys: Schema = {
        "if": {"properties": {"kind": words(["links"])}, "required": ["kind"]},
        "then": {"required": [*required(graph)]},
    }
    rules: Schema = {"if": named_file, "then": allowed, "else": {"allOf": [by_hand, graph_keys]}}
    return table(properties, about="The fabric.") | rules


def overrides(name: str) -> Schema:
    """[[topology.override]]: selectors take lists too."""
    given = keys(name)
    for selector in SELECTORS:
        if selector in given:
            number = {word: value for word, value in given[selector].items() if word != "description"}
            given[selector] = one_of(number, listed(number, least=1)) | {"description": given[selector]["description"]}
    return listed(table(given)) | {"description": about(name)}


def links() -> dict[str, Schema]:
    """The lists of a graph, each entry as a list or as a table."""
    cable, route = "entries of topology.links", "entries of topology.routes"
    said = keys('[topology] kind = "links"')
    node = one_of(HOST, TEXT)
    by_node = named(plain(cable), ("a", "b")), named(plain(route), ("switch", "dst", "next"))
    return {
        "names": filled(said["names"], TEXT),
        "links": filled(said["links"], one_of(listed(one_of(NUMBER, TEXT), 4, 4), by_node[0])) | {"minItems": 1},
        "routes": filled(said["routes"], one_of(listed(node, 3, 3), by_node[1])),
    }


def named(schema: Schema, ends: Iterable[str]) -> Schema:
    """A table in which these keys may also hold names of nodes."""
    properties = dict(cast("dict[str, Schema]", schema["properties"]))
    for end in ends:
        number = {word: value for word, value in properties[end].items() if word != "description"}
        properties[end] = one_of(number, TEXT) | {"description": properties[end]["description"]}
    return schema | {"properties": cast("Json", properties)}


def switch() -> Schema:
    """[switch]: the model without `model` depends on preset and transport."""
    models = ("output_queued", "shared_buffer", "trimming")
    kinds = [Kind((model,), keys(f'[switch] model = "{model}"')) for model in models]
    shared = next(kind for kind in kinds if "shared_buffer" in kind.words).keys
    shared["lossy_priorities"] = filled(shared["lossy_priorities"], {"type": "integer", "minimum": 0})
    shared["ecn"] = filled(shared["ecn"], plain("entries of switch.ecn"))
    return by_kind("model", kinds, "What a switch does with packets that must wait.", undecided=kinds)


def transport() -> Schema:
    """[transport]: TCP, RDMA or Ultra Ethernet; which of them without `kind` depends on the preset."""
    tables = [name for name in entries("spec") if name.startswith("[transport]")]
    of_tcp = next(name for name in tables if name.startswith('[transport] kind = "dctcp", '))
    of_others = {kind: f'[transport] kind = "{kind}"' for kind in ("rdma", "uet")}
    tcp, others = keys(of_tcp), {kind: keys(name) for kind, name in of_others.items()}
    kinds = tuple(cast("list[str]", tcp["kind"]["enum"]))
    for name in tables:  # the keys of congestion controls
        if name.startswith("[transport] congestion_control"):
            owner = next(own for own in others.values() if name.split('"')[1] in cast("list[str]", controls(own)))
            owner |= keys(name)
        elif name not in (of_tcp, *of_others.values()):
            tcp |= keys(name)
    made = [Kind(tuple(kind for kind in kinds if kind not in others), tcp)]
    made += [Kind((kind,), own) for kind, own in others.items()]
    return by_kind("kind", made, "The transport: TCP, RDMA or Ultra Ethernet.", undecided=made)


def controls(own: dict[str, Schema]) -> Json:
    """The names of the congestion controls of a transport."""
    return own["congestion_control"]["enum"]


def traffic() -> Schema:
    """An entry of [[traffic]]."""
    common = keys("[[traffic]]")
    carried = keys('[[traffic]] of any kind but "udp"') | {"size_classes": size_classes(), "transport": TRANSPORT}
    kinds = []
    for kind in cast("list[str]", common["kind"]["enum"]):
        name = f'[[traffic]] kind = "{kind}"'
        own = common | keys(name) | ({} if kind == "udp" else carried)
        if kind == "flows":
            flow = 'entries of list, [[traffic]] kind = "flows"'
            own |= {"list": filled(own["list"], plain(flow)), "format": words(["hpcc", "csv"]) | {
                "description": "Format of the file: a list of the HPCC simulator, or CSV. [told by its content]"
            }}  # fmt: skip
        if kind == "poisson":
            own["hosts"] = filled(own["hosts"], HOST)
        if kind == "udp":
            step = 'entries of schedule, [[traffic]] kind = "udp"'
            own["schedule"] = filled(own["schedule"], plain(step))
        if "cdf" in own:
            own["cdf"] = distributions() | {"description": own["cdf"]["description"]}
        kinds.append(Kind((kind,), own, required(name)))
    made = by_kind("kind", kinds, "What is sent.")
    known = {kind: str(entries("workloads")[kind]["about"]) for kind in cast("list[str]", common["kind"]["enum"])}
    described = cast("dict[str, Schema]", made["properties"])
    described["kind"] = words(known, known) | {"description": "What is sent."}
    return made | {"required": ["kind"]}


def filled(schema: Schema, item: Schema) -> Schema:
    """A list that the engine does not describe further, with its items."""
    return listed(item) | {"description": schema["description"]}


def distributions() -> Schema:
    """The distributions of flow sizes that are built in, aliases included."""
    found: dict[str, str] = {}
    for entry in core.registry()["workloads"]:
        for known in [entry["name"], *entry.get("aliases", [])]:
            if "mean_bytes" in entry:
                found[known] = entry["about"]
    return words(found, found)


def metrics() -> Schema:
    """[metrics], with the capture of packets in it."""
    name = "[metrics.capture]"
    places = keys(name)
    capture = table(places | {"at": filled(places["at"], TEXT)}, required(name), about(name))
    given = keys("[metrics]") | {"size_classes": size_classes(), "capture": capture}
    given["ideal_frames"] = filled(given["ideal_frames"], listed({"type": "integer", "minimum": 0}, 2, 2))
    return table(given, about=about("[metrics]"))


def size_classes() -> Schema:
    """Classes of flow sizes."""
    name = "entries of metrics.size_classes"
    return listed(plain(name)) | {"description": keys("[metrics]")["size_classes"]["description"]}


def fault() -> Schema:
    """An entry of [[fault]]."""
    given = keys("[[fault]]")
    given["ends"] = listed(TEXT, 2, 2) | {"description": given["ends"]["description"]}
    given["pairs"] = listed(listed(HOST, 2, 2), 1) | {"description": given["pairs"]["description"]}
    return table(given, required("[[fault]]"), about("[[fault]]"))


# ---- schemes ----


def scheme() -> Schema:
    """[scheme], with the parameters of each scheme."""
    known = entries("schemes")
    switches = [entry["name"] for entry in core.registry()["schemes"] if entry["site"] == "switch"]
    said = keys("[scheme]")
    told = {name: entry["about"] for name, entry in known.items()}
    described = {
        "name": one_of(words(known, told), TEXT) | {"description": said["name"]["description"]},
        "fabric": words(switches, told) | {"description": said["fabric"]["description"]},
        "params": parameters(known) | {"description": said["params"]["description"]},
        "fabric_params": parameters(switches) | {"description": said["fabric_params"]["description"]},
        "source": table({"class": TEXT, "file": TEXT, "sha256": TEXT}) | {
            "description": said["source"]["description"]
        },
    }  # fmt: skip
    own: Schema = {"if": {"not": {"required": ["source"]}}, "then": {"properties": {"name": words(known)}}}
    rules = [own, without_name(str(said["name"]["default"]))]
    rules += [takes("name", name, "params") for name in known]
    rules += [takes("fabric", name, "fabric_params") for name in switches]
    return table(said | described, about=about("[scheme]")) | {"allOf": [*rules]}


def parameters(names: Iterable[str]) -> Schema:
    """Parameters of several schemes together, each with the schemes it belongs to."""
    kinds = []
    for name in names:
        made = explained(entries("schemes")[name]["params"])
        of = {param: schema | {"description": f"{name}: {schema['description']}"} for param, schema in made.items()}
        kinds.append(Kind((name,), of))
    merged = by_kind("", kinds)
    return {"type": "object", "properties": merged["properties"], "additionalProperties": True}


def without_name(default: str) -> Schema:
    """A [scheme] that names none has the parameters of the default."""
    unnamed: Schema = {"not": {"required": ["name"]}}
    return {"if": unnamed, "then": {"properties": {"params": exactly(default)}}}


def takes(selector: str, name: str, params: str) -> Schema:
    """The condition that, if `selector` names this scheme, the parameters are those of this scheme."""
    named: Schema = {"properties": {selector: words([name])}, "required": [selector]}
    return {"if": named, "then": {"properties": {params: exactly(name)}}}


def exactly(name: str) -> Schema:
    """The parameters of one scheme, and no others."""
    params = entries("schemes")[name]["params"]
    return table({param["name"]: param["schema"] for param in params})


# ---- tables that do not concern the run itself ----


def beside() -> dict[str, Schema]:
    """[compare], [bounds], [import]: tables of a spec file for other commands."""
    seeds = one_of({"type": "integer", "minimum": 1}, listed({"type": "integer", "minimum": 0}, 1))
    bounds = listed(NUMBER, 2, 2)
    return {
        "compare": table(
            {
                "schemes": listed(TEXT, 1) | {
                    "description": 'Schemes or variants, first the baseline: "letflow:flowlet_gap_us=100@gap 100".'
                },
                "loads": listed({"type": "number", "exclusiveMinimum": 0}, 1) | {
                    "description": "Loads set on every traffic entry that has one."
                },
                "seeds": seeds | {"description": "How many repeats, each with its own traffic, or which seeds."},
            },
            about="What `spinewise compare` does with the spec.",
        ),
        "bounds": {"type": "object", "additionalProperties": bounds, "description": "What must come out: the least"
            " and the most of a quantity. The tests of scenarios read it."},
        "import": {"type": "object", "description": "Where an imported topology comes from."},
    }  # fmt: skip
