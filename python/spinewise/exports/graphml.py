"""The fabric of a run as GraphML (graphml.graphdrawing.org), with the traffic on its links: for networkx, Gephi, yEd.

A directed graph: a cable is two edges, and parallel cables are parallel edges, each with the name of its link as id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.etree import ElementTree as Xml

from spinewise import core
from spinewise.replies import FabricFault, FabricLink, FabricNode
from spinewise.runs.result import Result

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
SCHEMA = "http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
Value = str | int | float | bool
Row = dict[str, Value]
# GraphML's names of types (section 2.4.4 of its primer).
TYPES: Mapping[type, str] = {str: "string", bool: "boolean", int: "long", float: "double"}
# A link's values in reports; null if not measured.
CARRIED = ("packets", "bytes", "utilisation", "drops", "marks", "lost", "longest_queue_bytes", "paused_ps", "pauses",
           "use_max")  # fmt: skip


def text(result: Result) -> tuple[bytes, int, int]:
    """The document, and its numbers of nodes and edges."""
    fabric = core.topology(result.spec)
    nodes = {node["name"]: of_node(node) for node in fabric["nodes"]}
    carried = {link["name"]: dict(link) for link in result.report["links"]}
    edges = {link["name"]: of_link(link, fabric["faults"], carried.get(link["name"], {})) for link in fabric["links"]}
    graph: Row = {
        "title": result.title(), "scheme": str(result.spec["scheme"]["name"]), "fabric": fabric["kind"],
        "seed": str(result.report["seed"]), "simulated_ps": result.report["stop_ps"],
    }  # fmt: skip
    schema = f"{NAMESPACE} {SCHEMA}"
    root = Xml.Element("graphml", {"xmlns": NAMESPACE, "xmlns:xsi": INSTANCE, "xsi:schemaLocation": schema})
    keys = declared(root, {"graph": [graph], "node": nodes.values(), "edge": edges.values()})
    drawn = Xml.SubElement(root, "graph", {"id": "fabric", "edgedefault": "directed"})
    add_data(drawn, "graph", graph, keys)
    for name, row in nodes.items():
        add_data(Xml.SubElement(drawn, "node", {"id": name}), "node", row, keys)
    for link in fabric["links"]:
        ends = {"id": link["name"], "source": link["from"], "target": link["to"]}
        add_data(Xml.SubElement(drawn, "edge", ends), "edge", edges[link["name"]], keys)
    Xml.indent(root)
    document = Xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
    return document, len(nodes), len(edges)


def of_node(node: FabricNode) -> Row:
    """The attributes of a node; for a host, also its leaf."""
    row: Row = {"label": node["name"], "tier": node["tier"], "position": node["position"]}
    return row | ({"leaf": node["leaf"]} if node["leaf"] else {})


def of_link(link: FabricLink, faults: Iterable[FabricFault], carried: Mapping[str, object]) -> Row:
    """The attributes of a link: its properties, its faults, and its traffic as far as measured."""
    row: Row = {
        "label": link["name"], "rate_bps": link["rate_bps"], "nominal_rate_bps": link["nominal_rate_bps"],
        "delay_ps": link["delay_ps"], "up": link["up"], "slow": link["slow"],
        "faults": "; ".join(told(faults, link["name"])),
    }  # fmt: skip
    for name in CARRIED:
        value = carried.get(name)
        if isinstance(value, (int, float)):
            row[name] = value
    return row


def told(faults: Iterable[FabricFault], link: str) -> list[str]:
    """Faults of a link: what, and when, in microseconds."""
    found = []
    for fault in faults:
        if link in fault["links"]:
            times = (f"{(begin or 0) / 1e6:g} to {'the end' if end is None else f'{end / 1e6:g}'} us"
                     for begin, end in fault["intervals"][:3])  # fmt: skip
            more = ", …" if len(fault["intervals"]) > 3 else ""
            found.append(f"{fault['kind']} {', '.join(times)}{more}")
    return found


def declared(root: Xml.Element, tables: Mapping[str, Iterable[Row]]) -> dict[tuple[str, str], str]:
    """Declare each attribute of graph, nodes and edges once, and return the ids of their keys."""
    keys: dict[tuple[str, str], str] = {}
    for domain, rows in tables.items():
        kinds = {name: TYPES[type(value)] for row in rows for name, value in row.items()}
        for name, kind in kinds.items():
            keys[domain, name] = f"{domain}_{name}"
            about = {"id": f"{domain}_{name}", "for": domain, "attr.name": name, "attr.type": kind}
            Xml.SubElement(root, "key", about)
    return keys


def add_data(element: Xml.Element, domain: str, row: Row, keys: Mapping[tuple[str, str], str]) -> None:
    """Write the attributes of one thing."""
    for name, value in row.items():
        written = str(value).lower() if isinstance(value, bool) else str(value)
        Xml.SubElement(element, "data", {"key": keys[domain, name]}).text = written
