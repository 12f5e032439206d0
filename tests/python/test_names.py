"""No scheme, paper or preset is named in the engine, outside the rooms that list them.

Identifiers and literals of one word are read. Comments, prose (such as the source of a number) and what is for tests
are not. A room that must name one is in `MAY_NAME`, with the reason.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from floors import CRATES, Name, modules
from spinewise.core import registry

PAPERS = Path(__file__).parents[2] / "python/spinewise/papers"

# Words of names that mean something else, too.
COMMON = {"packet", "scatter", "host", "switch", "linux", "datacenter", "paper", "meet", "dcqcn", "proportional"}
COMMON |= {"ns2", "ns3", "round", "robin", "fifo", "mixed", "adaptive"}
# The transport of that name.
COMMON |= {"uet"}

# Rooms that list them: each file in `presets` is a preset.
HOMES = [("spec", "presets")]

MAY_NAME: dict[Name, set[str]] = {
    # The specs that are timed.
    ("bench",): {"rps", "selb", "ecmp", "reps", "htsim"},
    # ECMP as the fabric's hash: acks = "ecmp".
    ("net",): {"ecmp"},
    ("switch",): {"ecmp"},
    ("spec", "scheme"): {"ecmp"},
    # The program that a run can follow, follow = "conweave-ns3", and the rules of the schemes it has.
    ("follow",): {"conweave"},
    ("spec", "follow"): {"conga", "conweave", "drill", "htsim"},
    ("spec", "run"): {"conweave", "htsim"},
    # The engine that takes events of one instant in the order of that program, engine = "htsim".
    ("engine",): {"htsim"},
    ("setup",): {"htsim"},
    # Queue pairs and connections as the programs have them that the presets start from.
    ("spec", "transport"): {"htsim"},
    ("transport", "uet", "config"): {"htsim"},
    # A window of that name, which senders of Ultra Ethernet may have.
    ("transport", "congestion"): {"mprdma"},
    # A distribution of flow sizes.
    ("workload", "builtin"): {"conweave"},
}

_TOKEN = re.compile(r"""'(?:\\.|[^'\\])'|"(?P<literal>(?:[^"\\]|\\.)*)"|(?P<name>\b[A-Za-z_]\w*)""", re.DOTALL)
_PART = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*")


def words(text: str) -> set[str]:
    """The words of a text: of its identifiers, and of its literals that are one word."""
    found = set()
    for token in _TOKEN.finditer(text):
        said = token["name"] or token["literal"] or ""
        if re.fullmatch(r"[\w-]+", said):
            parts = [part.lower() for part in _PART.findall(said)]
            found |= {*parts, *map("".join, pairwise(parts))}
    return found


def test_words_are_those_of_code() -> None:
    code = """let a = Conga::new(b'"', "drill", "as CLOVE has it"); struct LetFlowRow; fn ns3_hermes() {}"""
    assert {"conga", "drill", "letflow", "ns3", "hermes"} <= words(code)
    assert "clove" not in words(code)


def test_the_engine_names_no_scheme_paper_or_preset() -> None:
    listed = registry()
    names = {str(entry["name"]) for kind in ("schemes", "presets") for entry in listed[kind]}
    names |= {folder.name for folder in PAPERS.iterdir() if folder.is_dir()}
    named = {word for name in names for word in re.split(r"[-_]", name)} - COMMON
    assert {"conga", "hermes", "elab", "pdlb"} <= named
    wrong = {}
    for module, text in modules(CRATES["sim"]).items():
        if any(module[: len(home)] == home for home in HOMES):
            continue
        if found := (words(text) & named) - MAY_NAME.get(module, set()):
            wrong["::".join(module)] = found
    assert wrong == {}, "named in crates/sim; a word that means something else there belongs in COMMON of this file"


def test_the_schemes_name_no_preset() -> None:
    listed = registry()
    schemes = {str(entry["name"]) for entry in listed["schemes"]}
    presets = {str(entry["name"]) for entry in listed["presets"]} - schemes
    assert "ns3-hermes" in presets
    literals = {
        token["literal"]: "::".join(module)
        for module, text in modules(CRATES["policy"]).items()
        for token in _TOKEN.finditer(text)
    }
    assert {preset: literals[preset] for preset in presets if preset in literals} == {}
