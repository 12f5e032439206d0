from __future__ import annotations

import pytest

from spinewise.errors import SpecError
from spinewise.shapes import Spec
from spinewise.specs.variants import parse, parse_list


def test_parameters_scheme_keys_and_spec_paths() -> None:
    variant = parse("pdlb:path_tag=outer:model=paper:transport.dupack_threshold=0@PDLB outer")
    assert variant.label == "PDLB outer"
    assert variant.apply({"transport": {"kind": "dctcp"}}) == {
        "transport": {"kind": "dctcp", "dupack_threshold": 0},
        "scheme": {"name": "pdlb", "path_tag": "outer", "params": {"model": "paper"}},
    }


def test_without_a_label_the_text_is_the_label() -> None:
    assert parse("letflow:flowlet_gap_us=100").label == "letflow flowlet_gap_us=100"


def test_the_specs_own_scheme_keeps_its_table_and_others_do_not_inherit_it() -> None:
    spec: Spec = {"scheme": {"name": "letflow", "header_bytes": "free", "params": {"flowlet_gap_us": 50.0}}}
    kept = parse("letflow").apply(spec)["scheme"]
    assert kept == spec["scheme"]
    assert parse("ecmp").apply(spec)["scheme"] == {"name": "ecmp", "header_bytes": "free"}
    parse("letflow:flowlet_gap_us=9").apply(spec)
    assert spec["scheme"]["params"] == {"flowlet_gap_us": 50.0}


def test_lists_split_at_commas_outside_brackets() -> None:
    labels = [variant.name for variant in parse_list("ecmp, rps:metrics.size_classes=[1, 2], pdlb")]
    assert labels == ["ecmp", "rps", "pdlb"]


@pytest.mark.parametrize("text", ["", ",", ":a=1", "ecmp:a", "ecmp:=1", "ecmp,ecmp", "a@x,b@x"])
def test_malformed_lists_are_refused(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_list(text)
    assert caught.value.key == "--schemes"
