"""What the checkout's generated texts say is so, and they are up to date."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from spinewise.docs import checkout

ROOT = Path(__file__).parents[2]

SOURCE = """\
//! | Eq. 7, the rule | [`act`] |

/// RFC 9 §2 step 3.
pub(super) const fn act(x: u32) -> u32 {
    // Example §3.2, and Algorithm 1: a reason
    // over two lines.
    let y = x + 1; // Example Eq. 7
    y // as the example has it in §4, and Example says elsewhere
}

// Example §"A title"
#[inline]
fn other() {}

#[cfg(test)]
mod tests {
    // Example §5
}
"""


def test_a_citation_is_about_the_line_that_acts(tmp_path: Path) -> None:
    file = tmp_path / "example.rs"
    file.write_text(SOURCE)
    found = [(one.work, one.place, one.line, one.function) for one in checkout.citations(tmp_path, file)]
    assert found == [
        ("RFC 9", "§2 step 3", 4, "act"),
        ("Example", "§3.2", 7, "act"),
        ("Example", "Algorithm 1", 7, "act"),
        ("Example", "Eq. 7", 7, "act"),
        ("Example", '§"A title"', 13, "other"),
    ]


def test_places_sort_by_number() -> None:
    assert sorted(["Eq. 10", "Eq. 9", "Eq. 1"], key=checkout.natural) == ["Eq. 1", "Eq. 9", "Eq. 10"]


def test_every_citation_is_of_a_known_work() -> None:
    assert [f"{one.file}:{one.line}: {one.work} {one.place}" for one in checkout.unresolved(ROOT)] == []


def test_what_the_head_of_a_scheme_promises_is_cited_where_it_is_done() -> None:
    cited = {(one.work.lower(), one.place) for one in checkout.all_citations(ROOT)}
    promised = checkout.promised(ROOT)
    assert len(promised) > 10
    missing = [
        f"{file}: {place}"
        for file, paper, place in promised
        if not any(work == paper and (done == place or done.startswith(place + " ")) for work, done in cited)
    ]
    assert missing == []


@pytest.mark.parametrize("path", [checkout.PAGE, checkout.README], ids=str)
def test_generated_texts_are_up_to_date(path: Path) -> None:
    assert (ROOT / path).read_text() == checkout.texts(ROOT)[path], "run `python -m spinewise.docs.checkout`"


def test_every_link_in_the_documentation_leads_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def linked(crate: str) -> set[str]:
    """The folders of our own crates that a crate is linked from, itself among them."""
    manifest = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())
    names = manifest.get("dependencies", {})
    ours = {name.removeprefix("spinewise-") for name in names if name.startswith("spinewise-")}
    return {crate}.union(*(linked(one) for one in ours))


def test_whatever_is_compiled_in_makes_the_engine_be_built_anew() -> None:
    """The Makefile's list has every source of the crates that the engine is linked from, and what they include."""
    crates = linked("py")
    assert {"py", "sim", "policy"} <= crates
    asked = ["make", "--no-print-directory", "--eval", "told: ; @echo $(RUST_SOURCES)", "told"]
    listed = set(subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())
    included = {
        str((path.parent / name).resolve().relative_to(ROOT))
        for crate in crates
        for path in (ROOT / "crates" / crate).glob("src/**/*.rs")
        for name in re.findall(r'include_(?:str|bytes)!\(\s*"([^"]+)"', path.read_text())
    }
    assert included
    assert included <= listed
    for crate in crates:
        assert {str(path.relative_to(ROOT)) for path in (ROOT / "crates" / crate).glob("src/**/*.rs")} <= listed
