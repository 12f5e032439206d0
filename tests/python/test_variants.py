from __future__ import annotations

from collections.abc import Mapping

import pytest

import spinewise as sw
from samples import TINY_SPEC
from spinewise.errors import SpecError
from spinewise.shapes import Spec
from spinewise.specs.spec import resolve
from spinewise.specs.variants import parse, parse_list, unlike_payloads, with_one_ideal


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


def test_a_label_is_not_the_name_of_another_scheme() -> None:
    """ECMP was shown as letflow."""
    for text in ("ecmp@letflow,rps", "ecmp@LetFlow", "ecmp:transport.kind=mptcp@rps"):
        with pytest.raises(SpecError, match="not the name of another scheme") as caught:
            parse_list(text)
        assert caught.value.key == "--schemes"
    labels = [variant.label for variant in parse_list("letflow:flowlet_gap_us=9@LetFlow,ecmp@ECMP,rps@rps 0")]
    assert labels == ["LetFlow", "ECMP", "rps 0"]


@pytest.mark.parametrize("text", ["", ",", ":a=1", "ecmp:a", "ecmp:=1", "ecmp,ecmp", "a@x,b@x"])
def test_malformed_lists_are_refused(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_list(text)
    assert caught.value.key == "--schemes"


RDMA: Spec = {
    "transport": {"kind": "rdma", "recovery": "go_back_n", "queue_pairs": 2},
    "switch": {"pause_us": 5, "buffer_bytes": 1_000_000},
}


@pytest.mark.parametrize(
    ("spec", "variant", "left_out", "transport", "switch"),
    [
        (RDMA, "conga", [], RDMA["transport"], RDMA["switch"]),
        (
            RDMA, "reps:transport.kind=uet",
            ["transport.recovery", "transport.queue_pairs", "switch.pause_us", "switch.buffer_bytes"],
            {"kind": "uet"}, {},
        ),
        (
            RDMA, "reps:transport.kind=uet:transport.recovery=sleek:switch.buffer_bytes=2000",
            ["transport.queue_pairs", "switch.pause_us"],
            {"kind": "uet", "recovery": "sleek"}, {"buffer_bytes": 2000},
        ),
        (
            {"transport": {"kind": "rdma"}, "switch": {"model": "shared_buffer", "pause_us": 5}},
            "ecmp:transport.kind=dctcp", [], {"kind": "dctcp"}, {"model": "shared_buffer", "pause_us": 5},
        ),
        (
            {"switch": {"model": "shared_buffer", "pause_us": 5}},
            "ecmp:switch.model=output_queued", ["switch.pause_us"], {}, {"model": "output_queued"},
        ),
        (
            {"transport": {"mss_bytes": 8960, "dctcp_g": 0.1}, "switch": {"buffer_us": 50}},
            "ecmp:transport.kind=cubic", ["transport.dctcp_g"],
            {"kind": "cubic", "mss_bytes": 8960}, {"buffer_us": 50},
        ),
        (
            {"preset": "uet", "transport": {"ack_every_bytes": 4000}}, "ecmp:transport.kind=rdma",
            ["transport.ack_every_bytes"], {"kind": "rdma"}, {},
        ),
        (
            {"transport": {"mss_bytes": 900}}, "ecmp:transport.kind=tcp", ["transport.mss_bytes"], {"kind": "tcp"}, {},
        ),
        (
            {"transport": {"kind": "rdma", "mss_bytes": 900, "dcqcn_g": 0.1}},
            "ecmp:transport.congestion_control=hpcc", ["transport.dcqcn_g"],
            {"kind": "rdma", "mss_bytes": 900, "congestion_control": "hpcc"}, {},
        ),
    ],
    ids=["same", "another", "its own", "named model", "another model", "a kind of TCP", "by preset",
         "no such kind", "another control"],
)  # fmt: skip
def test_keys_of_another_transport_are_left_out(
    spec: Spec, variant: str, left_out: list[str], transport: Mapping[str, object], switch: Mapping[str, object]
) -> None:
    """A spec with queues of RDMA could not be compared with Ultra Ethernet: the variant was refused for them."""
    found = parse(variant)
    assert found.left_out(spec) == left_out
    changed = found.apply(spec)
    assert (changed.get("transport", {}), changed.get("switch", {})) == (transport, switch)


def test_a_kind_that_there_is_not_is_refused_itself() -> None:
    """The error named a key of the spec, in a line that was right."""
    spec: Spec = {**RDMA, "traffic": [{"kind": "permutation", "size_bytes": 9}]}
    with pytest.raises(SpecError) as caught:
        resolve(parse("reps:transport.kind=uett").apply(spec))
    assert (caught.value.key, caught.value.hint) == ("transport.kind", 'did you mean "uet"?')


def test_unlike_payloads_of_packets_are_told() -> None:
    """RoCE and Ultra Ethernet were compared with packets of 1,000 and 4,086 bytes, without a word."""
    spec: Spec = {"transport": {"kind": "rdma"}}
    (told,) = unlike_payloads(parse_list("ecmp,letflow,reps:transport.kind=uet@UET"), spec)
    assert told.startswith("Full packets carry 1,000 bytes under ecmp, letflow, 4,086 bytes under UET: ")
    assert told.endswith("differ, too. Completion times can be compared.")
    assert unlike_payloads(parse_list("ecmp,letflow,ecmp:transport.recovery=irn@IRN"), spec) == []
    alike: Spec = {"transport": {"kind": "rdma", "mss_bytes": 4086}}
    assert unlike_payloads(parse_list("ecmp,reps:transport.kind=uet@UET"), alike) == []


def test_flows_have_one_ideal_where_packets_differ() -> None:
    """Slowdowns under packets of 4,086 bytes were set beside those under 1,000, each over an ideal of its own."""
    variants = parse_list("ecmp:transport.kind=dctcp@TCP,ecmp:transport.kind=rdma@RoCE,reps:transport.kind=uet@UET")
    spec: Spec = {**TINY_SPEC, "metrics": {"facts": True}}
    found = with_one_ideal(spec, variants)
    assert found["metrics"] == {"facts": True, "ideal_frames": [[1000, 48], [1460, 40], [4086, 64]]}
    assert "ideal_frames" not in spec["metrics"]
    (told,) = unlike_payloads(variants, found)
    assert told.endswith("the least with any of these packets (metrics.ideal_frames).")
    assert with_one_ideal(spec, variants[:1]) is spec
    assert with_one_ideal(spec, parse_list("ecmp,letflow")) is spec
    as_asked: Spec = {**spec, "metrics": {"ideal_frames": []}}
    assert with_one_ideal(as_asked, variants) is as_asked


def test_a_comparison_of_transports_has_one_ideal() -> None:
    variants = ["ecmp:transport.kind=dctcp", "ecmp:transport.kind=rdma", "reps:transport.kind=uet"]
    compared = sw.compare(TINY_SPEC, variants, seeds=1)
    ideals = [
        sw.run(parse(one).apply(compared.given or {}), seed=1).flows["ideal_fct_ps"].to_pylist() for one in variants
    ]
    apart = [sw.run(parse(one).apply(TINY_SPEC), seed=1).flows["ideal_fct_ps"].to_pylist() for one in variants]
    assert ideals[0] == ideals[1] == ideals[2] == [min(some) for some in zip(*apart, strict=True)]
    assert apart[0] != apart[1] != apart[2]


def test_brackets_and_quotes_keep_commas_colons_and_at_signs() -> None:
    """A list within a table was cut at its comma."""
    plain, broken, quoted = parse_list(
        'ecmp@it\'s,letflow:fault=[{kind="down",ends=["leaf0","spine0"],at_us=3}]@x:y,own:text="a:b,c@d"@z'
    )
    assert plain.label == "it's"
    assert broken.label == "x:y"
    ((_, faults),) = broken.settings
    assert faults == [{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 3}]
    assert quoted.settings == (("text", "a:b,c@d"),)
