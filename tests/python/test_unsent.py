"""What a run leaves out, that it sends nothing, and that its load is not the one asked for: said, with numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import spinewise as sw
from spinewise.cli import main
from spinewise.measures.notices import Notice

FABRIC = {"leaves": 2, "spines": 2, "hosts_per_leaf": 4}
LISTED = [{"src": 0, "dst": 4, "size_bytes": 9, "start_ns": start} for start in (0, 2_000_000, 3_000_000)]


def warned(spec: dict[str, Any]) -> dict[str, Notice]:
    """Warnings of a run by their code; `validate` says the same of what is known before."""
    found = {notice.code: notice for notice in sw.run(spec).summary().warnings}
    before = {notice.code: notice for notice in sw.validate(spec).warnings}
    assert before == {code: notice for code, notice in found.items() if code in before}
    assert {"flows_after_end", "nothing_sent"} & set(found) == {"flows_after_end", "nothing_sent"} & set(before)
    return found


def listed(until_us: float, **entry: Any) -> dict[str, Any]:
    return {"topology": FABRIC, "traffic": [{"kind": "flows", **entry}], "run": {"until_us": until_us}}


def test_flows_after_the_end_are_counted(tmp_path: Path) -> None:
    """A run of dashes said that some flows are left out, and all were."""
    rows = ["# recorded", "src,dst,size_bytes,start_ns", *(f"0,4,9,{flow['start_ns']}" for flow in LISTED), ""]
    (tmp_path / "flows.csv").write_text("\n".join(rows))
    for entry in ({"list": LISTED}, {"file": str(tmp_path / "flows.csv")}):
        found = warned(listed(2_000, **entry))
        assert found["flows_after_end"].text.startswith("2 of 3 flows would start at the end of the run")
        assert "nothing_sent" not in found
    several = listed(2_000, list=LISTED)
    found = warned(several | {"traffic": [*several["traffic"], {"kind": "permutation", "size_bytes": 9}]})
    assert found["flows_after_end"].text.startswith("2 of 3 flows"), "beside another entry too"
    found = warned(listed(1_000, list=LISTED[1:]))
    assert found["flows_after_end"].text.startswith("2 of 2 flows would start")
    assert "NOTHING IS SENT" in found["nothing_sent"].text


def drawn(duration_us: float, **entry: Any) -> dict[str, Any]:
    poisson = {"kind": "poisson", "cdf": "web_search", "load": 0.4, "duration_us": duration_us, **entry}
    return {"topology": FABRIC, "traffic": [poisson]}


def test_nothing_drawn_is_nothing_sent() -> None:
    found = warned(drawn(1))
    assert set(found) == {"no_flows", "nothing_sent"}


@pytest.mark.parametrize(("duration_us", "told"), [(3_000, True), (300_000, False)])
def test_a_load_far_from_the_one_asked_for_is_told(duration_us: float, told: bool) -> None:
    found = warned(drawn(duration_us))
    assert ("other_load" in found) == told
    if told:
        assert found["other_load"].key == "traffic[0].load"
        assert found["other_load"].text.startswith("asked for load 0.4, and 0.025 was drawn: 2 flows are too few")
        assert found["other_load"] in sw.validate(drawn(duration_us)).warnings, "it is known before the run"


@pytest.mark.parametrize("entry", [{"load_of": "host_links"}, {"pairs": "any"}, {"max_flows": 9}])
def test_a_load_of_something_else_is_not_compared(entry: dict[str, Any]) -> None:
    assert "other_load" not in warned(drawn(3_000, **entry))


def test_a_comparison_without_results_ends_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its last line was a dot."""
    (tmp_path / "s.toml").write_text(
        '[topology]\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n[run]\nuntil_us = 1000\n[[traffic]]\nkind = "flows"\n'
        "list = [{src = 0, dst = 4, size_bytes = 9, start_ns = 2_000_000}]\n"
    )
    assert main(["compare", str(tmp_path / "s.toml"), "--schemes", "ecmp,letflow", "--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].strip() != "."
    assert any("NOTHING IS SENT" in line for line in lines)
