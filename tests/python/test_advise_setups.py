"""What an advice says of variants that differ in more than their scheme."""

from __future__ import annotations

from dataclasses import replace

import pytest

import spinewise as sw
from spinewise.advice import files, setups, show
from spinewise.advice.answer import Advice
from spinewise.advice.candidates import LEVELS
from spinewise.advice.setups import Setup, buffer, changed_at_switches, differing, grouped, marking, setup
from spinewise.page import of_advice
from spinewise.shapes import Spec
from spinewise.specs.spec import as_spec
from spinewise.specs.variants import parse_list

SPEC: Spec = {
    "name": "setups",
    "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate_gbps": 100, "fabric_rate_gbps": 100},
    "transport": {"kind": "rdma"},
    "traffic": [{"name": "swap", "kind": "permutation", "size_bytes": 20_000}],
}
SCHEMES = "ecmp,rps,rps:transport.recovery=irn@IRN,ecmp:transport.kind=dctcp@TCP,reps:transport.kind=uet@UET"


def found() -> dict[str, Setup]:
    """What each of these runs over."""
    spec = as_spec(SPEC)
    return {one.label: setup(one.label, sw.resolve(one.apply(spec))) for one in parse_list(SCHEMES)}


def test_what_variants_run_over_is_read_off_their_specs() -> None:
    """IRN turns the pauses of switches off; TCP has buffers that drop; Ultra Ethernet has small ones that trim."""
    by = found()
    assert {label: one.transport for label, one in by.items()} == {
        "ecmp": "rdma, dcqcn", "rps": "rdma, dcqcn", "IRN": "rdma, dcqcn", "TCP": "dctcp", "UET": "uet, nscc"
    }  # fmt: skip
    assert [one.recovery for one in by.values()] == ["go_back_n", "go_back_n", "irn", "rack", "timeout"]
    assert [one.flow_control for one in by.values()] == ["PFC", "PFC", "no PFC", "no PFC", "no PFC"]
    assert by["ecmp"].buffer.endswith(" MB shared by a switch")
    assert by["TCP"].buffer == "65.5 kB and 150 µs a port"
    assert by["UET"].buffer.endswith(" kB a port")
    assert by["ecmp"].marking == "100 kB to 400 kB, up to 20.0 %"
    assert by["TCP"].marking.startswith("from 65.5 kB and ")
    assert [by[label].payload for label in ("ecmp", "TCP", "UET")] == ["1,000 B", "1,460 B", "4,086 B"]


@pytest.mark.parametrize(
    ("switch", "room", "marks"),
    [
        ({"buffer_packets": 1000, "ecn_threshold_packets": 65}, "1,000 packets a port", "from 65 packets"),
        ({"buffer_bytes": 250_000, "ecn_threshold_bytes": 0}, "250 kB a port", "none"),
    ],
)
def test_a_port_of_its_own(switch: dict[str, object], room: str, marks: str) -> None:
    """Queues in packets, and switches that do not mark."""
    assert (buffer(switch), marking(switch)) == (room, marks)


def test_those_that_are_alike_share_a_row() -> None:
    """Nothing is said where all variants differ in their scheme alone."""
    by = found()
    assert grouped([by["ecmp"], by["rps"]]) == ()
    both = grouped([by["ecmp"], by["rps"], by["IRN"]])
    assert [one.schemes for one in both] == [("ecmp", "rps"), ("IRN",)]
    assert differing(both) == ["recovery", "flow_control", "buffer"]
    first, second = setups.told(both)
    assert first.startswith("ecmp, rps: loss recovery go_back_n; flow control PFC; buffer ")
    assert second.startswith("IRN: loss recovery irn; flow control no PFC; buffer ")
    assert changed_at_switches(both, "rps", "ecmp") == []
    assert changed_at_switches(both, "other", "ecmp") == []
    assert changed_at_switches(both, "IRN", "ecmp") == ["no PFC", f"buffer {by['IRN'].buffer}"]


@pytest.fixture(scope="module")
def advice() -> Advice:
    """Of what is in the market."""
    return sw.advise(SPEC, schemes=SCHEMES, budget_s=3, jobs=1, band=0.3)


def test_what_differs_is_told_everywhere(advice: Advice) -> None:
    """IRN was "software of every host", and nobody saw that it turns PFC off in every switch."""
    told = dict(show.sections(advice))
    assert told["They differ"][0] == "variants differ in more than their scheme"
    assert told["They differ"][1].startswith("ecmp, rps: transport rdma, dcqcn; loss recovery go_back_n; ")
    assert "variants differ in more than their scheme" in files.markdown(advice)
    (table,) = of_advice.differ(advice)
    assert table.heads == ("scheme", "transport", "loss recovery", "flow control", "buffer", "marking", "payload")
    assert [row[0].text for row in table.rows] == ["ecmp, rps", "IRN", "TCP", "UET"]
    assert [row[3].text for row in table.rows] == ["PFC", "no PFC", "no PFC", "no PFC"]
    (needs,) = show.needs(advice, replace(advice.entrant("IRN")))
    assert needs.startswith("software of every host, and configuration of switches (no PFC, buffer ")
    (needs,) = show.needs(advice, advice.entrant("UET"))
    assert advice.entrant("UET").level == LEVELS[-1]
    assert needs.startswith("every switch, and the transport of every host; ")
    alike = replace(advice, setups=())
    assert "They differ" not in dict(show.sections(alike))
    assert of_advice.differ(alike) == []
