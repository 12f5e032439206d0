"""docs/schemes-compared.md: the tables by which papers compare schemes, from each scheme's own fact sheet.

They have the form of MEET's Table 1 and PDLB's Tables 1 to 3, over the schemes built here: any other scheme
is in no table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from spinewise import core
from spinewise.show.markdown import cell, line

UNSAID = "not said"

# PDLB's Table 1 compares these six. Only the caption of the table is published.
PDLB_TABLE_1 = ("rps", "letflow", "ecmp", "presto", "qdaps", "pdlb")
# Parts of a flow between one packet and all of them: "flowlet-level" in PDLB's Table 2.
FLOWLET_LEVEL = ("flowlet", "flowcell")

# Schemes that papers compare with but that are missing here: the scheme, where the available texts describe it, and
# what an implementation would have to invent.
UNBUILT = (
    (
        "BurstBalancer",
        "PDLB, related work: a sketch (BalanceSketch) on each switch keeps the few critical flowlets (FlowBursts), and "
        "only those are steered",
        "how the sketch counts and evicts, what makes a flowlet critical, which path a FlowBurst is steered to, every "
        "constant",
    ),
    (
        "AAC",
        "PDLB, related work: a leaf measures the delays between leaves and sets the number of paths that a flow's "
        "packets use by how much the delays differ",
        "how delays are measured, the number of paths as a function of them, which paths those are, when they change, "
        "every constant",
    ),
    (
        "Expeditus",
        "MEET, list of references: the title only; by general knowledge a choice in two stages, for the first packets "
        "of a flow, from congestion that switches measure on their own links",
        "the measure of congestion, what the packets of the two stages carry and when, how stages are combined, "
        "every constant",
    ),
    (
        "STrack",
        "its abstract (Le et al., arXiv 2407.15266): hosts spray packets adaptively by ECN marks, and set windows by "
        "round-trip times; by general knowledge `bitmap` descends from it",
        "what a mark does to a path and for how long, how paths are numbered and ordered, the effect of losses and "
        "timeouts, every constant",
    ),
)

Entry = Mapping[str, object]
Column = tuple[str, Callable[[Entry], str]]


def words(value: object) -> list[str]:
    """A list of texts."""
    return [str(one) for one in value] if isinstance(value, list) else []


def fact(key: str) -> Callable[[Entry], str]:
    """A fact that a scheme gives for comparison; `UNSAID` if it gives none."""

    def read(entry: Entry) -> str:
        compared = entry.get("compared")
        if not isinstance(compared, Mapping):
            return UNSAID
        value = compared[key]
        return ("; ".join(value) or "nothing") if isinstance(value, list) else str(value)

    return read


def unit(entry: Entry) -> str:
    """The unit that moves as one."""
    return str(entry["unit"])


def location(entry: Entry) -> str:
    """The place where a scheme decides."""
    tiers = words(entry["tiers"])
    if tiers == ["host"]:
        return "host"
    return "leaf switches" if tiers == ["leaf"] else f"switches ({', '.join(tiers)})"


def told(entry: Entry) -> str:
    """The configuration that a scheme needs."""
    return "; ".join(words(entry["told"])) or "nothing"


def source(entry: Entry) -> str:
    """The publication of a scheme."""
    return str(entry["source"])


MEET_COLUMNS: tuple[Column, ...] = (
    ("minimum routing unit", unit),
    ("deployment location", location),
    ("congestion-aware", fact("aware")),
    ("advanced hardware", fact("needs")),
)
PDLB_COLUMNS: tuple[Column, ...] = (
    ("granularity", unit),
    ("decides at", location),
    ("senses", fact("senses")),
    ("keeps order by", fact("order")),
    ("state", fact("state")),
)
FLOWLET_COLUMNS: tuple[Column, ...] = (
    ("granularity", unit),
    ("decides at", location),
    ("senses", fact("senses")),
    ("must be told", told),
    ("needs", fact("needs")),
)
FABRIC_COLUMNS: tuple[Column, ...] = (
    ("fabrics", lambda entry: str(entry["fabrics"])),
    ("in three tiers", lambda entry: str(entry["three_tiers"])),
)
TIME_COLUMNS: tuple[Column, ...] = (
    ("one decision", fact("pick")),
    ("one update", fact("update")),
)


def schemes() -> list[Entry]:
    """The schemes of the registry, without those that only test the engine."""
    return [{**entry} for entry in core.schemes()]


def transports() -> list[Entry]:
    """The transports that balance load themselves, and so are compared with schemes in papers."""
    return [{**entry} for entry in core.registry()["transports"] if entry.get("compared") is not None]


def table(entries: Sequence[Entry], columns: Sequence[Column]) -> list[str]:
    """One row a scheme."""
    heads = ["scheme", *(head for head, _ in columns)]
    rows = [[f"`{entry['name']}`", *(cell(read(entry)) for _, read in columns)] for entry in entries]
    return [line(heads), line(["---"] * len(heads)), *map(line, rows)]


def page() -> str:
    """The page, without its head."""
    entries = schemes()
    named = {str(entry["name"]): entry for entry in entries}
    of_table_1 = [named[name] for name in PDLB_TABLE_1 if name in named]
    of_table_2 = [entry for entry in entries if entry["unit"] in FLOWLET_LEVEL]
    lines = [
        "# Schemes compared",
        "",
        "The properties that each scheme declares (`SHEET` in its file), in the form of the tables by which papers",
        "compare schemes. The tables contain only schemes that are implemented here.",
        "",
        "## All schemes (MEET, Table 1)",
        "",
        *table([*entries, *transports()], MEET_COLUMNS),
        "",
        "- *Congestion-aware*: `no`; of the queues and links of the device that decides; of the paths that one host",
        "  has measured itself; or of paths, gathered by a rack, a switch or a controller. MEET uses ticks, crosses",
        "  and tildes.",
        "- *Advanced hardware*: what must be replaced or reprogrammed.",
        "- MEET places Presto at the edge switch, meaning the virtual switch of the host, and gives the packet as the",
        "  unit of Hermes.",
        *(f"- `{entry['name']}` is a transport: `{entry['use']}`." for entry in transports()),
        "",
        "## Against PDLB (PDLB, Table 1)",
        "",
        "Only the caption of this table is published, not the table; the columns are our own.",
        "",
        *table(of_table_1, PDLB_COLUMNS),
        "",
        "## Flowlets and flowcells (PDLB, Table 2)",
        "",
        "Again only the caption is published. The table has all schemes here that move flowlets or flowcells.",
        "",
        *table(of_table_2, FLOWLET_COLUMNS),
        "",
        "## Time against the number of paths n (PDLB, Table 3)",
        "",
        "As implemented here; `spinewise bench --only decisions` measures them, in nanoseconds.",
        "",
        *table(entries, TIME_COLUMNS),
        "",
        "## Fabrics",
        "",
        "The fabrics that each scheme supports with its defaults; on others `spinewise compare` leaves it out and",
        "reports it. The last column is its behaviour in three tiers, which most of the papers do not describe.",
        "",
        *table(entries, FABRIC_COLUMNS),
        "",
        *not_here(),
    ]
    return "\n".join(lines)


def not_here() -> list[str]:
    """Schemes that papers name but whose published descriptions do not suffice to build them."""
    return [
        "## Not here, and why",
        "",
        "Papers also name these schemes, but the texts available do not describe them in enough detail: a",
        "scheme of that name here would be our own, and would say nothing about theirs.",
        "",
        line(("scheme", "what the available texts say", "what would have to be invented")),
        line(("---", "---", "---")),
        *map(line, UNBUILT),
        "",
        "`luopan`, `ttc` and `sred` are borderline: their rules are published, their constants and points of",
        "measurement are not. Their files list our own choices; their results are not those of their papers.",
        "",
    ]
