//! Impossible faults: a clear message for each.

use crate::common::{line, merged, stream};
use serde_json::{Value, json};
use spinewise_sim::setup::{Failure, Tuning, simulate};
use spinewise_sim::spec::resolve;

fn refused(spec: &Value) -> String {
    match resolve(spec) {
        Err(error) => error.to_string(),
        Ok(spec) => match simulate(&spec, Tuning::default(), &mut |_| true) {
            Err(Failure::Spec(error)) => error.to_string(),
            other => panic!("{:?} was taken", other.map(|outcome| outcome.report)),
        },
    }
}

#[test]
fn what_cannot_break_like_that_is_refused() {
    let down = json!({"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 10});
    let with = |change: Value| json!([merged(&down, &change)]);
    let slow = |rate: f64, at: f64| merged(&down, &json!({"kind": "rate", "rate_gbps": rate, "at_us": at}));
    let cases = [
        (json!({"fault": with(json!({"ends": ["leaf0", "spine7"]}))}), "fault[0].ends = \"spine7\""),
        (json!({"fault": with(json!({"ends": ["leaf0", "leaf1"]}))}), "leaf0 is linked to host0, spine0, spine1"),
        (json!({"fault": with(json!({"ends": ["leaf0"]}))}), "the names of two nodes that are linked"),
        (json!({"fault": with(json!({"link": 1}))}), "fault[0].link = 1: expected a link from 0 to 0"),
        (
            json!({"fault": with(json!({"at_us": -1}))}),
            "fault[0].at_us = -1: expected a number of microseconds from 0 to 9000000000",
        ),
        (json!({"fault": with(json!({"at_us": null}))}), "fault[0].at_us is missing"),
        (json!({"fault": with(json!({"until_us": 10}))}), "fault[0].until_us = 10: expected later than at_us"),
        (json!({"fault": with(json!({"kind": "up"}))}), "what goes down comes up at its until_us"),
        (json!({"fault": with(json!({"link": "leaf0:spine1"}))}), "ends = [\"leaf0\", \"spine1\"] names a link"),
        (json!({"fault": with(json!({"switch": "spine0"}))}), "either ends or switch"),
        (json!({"fault": with(json!({"ends": null}))}), "fault[0].ends is missing"),
        (json!({"fault": with(json!({"ends": null, "switch": "host1"}))}), "expected a switch"),
        (json!({"fault": with(json!({"ends": null, "switch": "spin0"}))}), "did you mean \"spine0\"?"),
        (
            json!({"fault": with(json!({"period_us": 3}))}),
            "fault[0].period_us = 3: expected nothing with kind \"down\"",
        ),
        (json!({"fault": with(json!({"kind": "flap", "period_us": 3}))}), "fault[0].down_us is missing"),
        (json!({"fault": with(json!({"kind": "flap", "period_us": 3, "down_us": 3}))}), "less than period_us"),
        (json!({"fault": with(json!({"kind": "flap", "period_us": 1, "down_us": 0.5}))}), "at most 10000 outages"),
        (json!({"fault": with(json!({"kind": "loss"}))}), "fault[0].probability is missing"),
        (json!({"fault": with(json!({"kind": "loss", "probability": 1.5}))}), "fault[0].probability = 1.5"),
        (json!({"fault": with(json!({"kind": "loss", "probability": 0}))}), "expected a number above 0, at most 1"),
        (json!({"fault": with(json!({"kind": "rate"}))}), "fault[0].rate_gbps is missing"),
        (json!({"fault": with(json!({"kind": "rate", "rate_gbps": 0}))}), "fault[0].rate_gbps = 0: expected a rate"),
        (
            json!({"fault": with(json!({"kind": "rate", "rate_gbps": 10}))}),
            "fault[0].rate_gbps = 10.0: expected less than the 10 Gbps of leaf0->spine0",
        ),
        (json!({"fault": with(json!({"kind": "delay"}))}), "fault[0].added_us is missing"),
        (json!({"fault": with(json!({"kind": "delay", "added_us": -3}))}), "fault[0].added_us = -3"),
        (json!({"fault": with(json!({"kind": "delay", "added_us": 0}))}), "fault[0].added_us = 0"),
        (json!({"fault": with(json!({"added_us": 3}))}), "nothing with kind \"down\"; it is for \"delay\""),
        (json!({"fault": with(json!({"kind": "black_hole"}))}), "fault[0].fraction is missing"),
        (json!({"fault": with(json!({"kind": "black_hole", "fraction": 1.1}))}), "fault[0].fraction = 1.1"),
        (json!({"fault": with(json!({"kind": "black_hole", "pairs": [[0, 9]]}))}), "numbers of hosts, from 0 to 1"),
        (
            json!({"fault": with(json!({"kind": "black_hole", "pairs": [[0]]}))}),
            "fault[0].pairs = [[0]]: expected a list",
        ),
        (json!({"fault": with(json!({"kind": "black_hole", "pairs": []}))}), "fault[0].pairs = []: expected a list"),
        (
            json!({"fault": with(json!({"kind": "black_hole", "pairs": [[0, 1]], "fraction": 0.5}))}),
            "either fraction or pairs",
        ),
        (
            json!({"fault": with(json!({"ends": null, "switch": "leaf1", "at_us": 7}))}),
            "fault[0] = \"down for good\": expected faults that end or leave a path; host 0 can no longer reach host 1",
        ),
        (
            json!({"fault": [down, merged(&down, &json!({"ends": ["leaf1", "spine1"]}))]}),
            "host 0 can no longer reach host 1, or the reverse; give until_us, or may_cut_off = true",
        ),
        (
            json!({"fault": with(json!({"ends": ["host1", "leaf1"], "direction": "forward"}))}),
            "host 0 can no longer reach host 1, or the reverse",
        ),
        (
            json!({"fault": [merged(&down, &json!({"direction": "forward"})),
                             merged(&down, &json!({"ends": ["leaf1", "spine1"], "direction": "forward"}))]}),
            "host 0 can no longer reach host 1, or the reverse",
        ),
        (
            json!({"fault": [slow(5.0, 20.0), slow(2.0, 10.0)]}),
            "fault[1].at_us = 10.0: expected a time at which fault[0], also on spine0->leaf0, does not apply",
        ),
        (
            json!({"fault": with(json!({"kind": "delay", "added_us": 1, "ends": ["host0", "leaf0"]})),
                   "switch": {"nics": "queue"}}),
            "switch.nics = \"queue\": expected \"pull\" with a fault of kind \"delay\" at host0->leaf0",
        ),
        (
            json!({"fault": with(json!({"kind": "loss", "probability": 0.5})), "run": {"until_us": 9_000_000},
                   "detection": {"mode": "hello", "hello_interval_us": 1}}),
            "detection.hello_interval_us = 1.0: expected at most 1000000 hellos on a link that loses packets",
        ),
        (json!({"detection": {"mode": "hello", "hello_interval_us": 0}}), "detection.hello_interval_us = 0"),
        (json!({"detection": {"mode": "hello", "hello_dead_count": 0}}), "detection.hello_dead_count = 0"),
        (
            json!({"fault": [down, merged(&down, &json!({"at_us": 20, "direction": "forward"}))]}),
            "fault[1].at_us = 20.0: expected a time at which fault[0], also on leaf0->spine0, does not apply",
        ),
        (
            json!({"fault": [down], "topology": {"override": [{"leaf": 0, "spine": 0, "up": false}]}}),
            "topology.override has taken this one down",
        ),
        (
            json!({"fault": [down], "preset": "conweave-ns3", "switch": {"pause_us": 0}}),
            "switch.pause_us = 0: expected above 0 with faults and switch.pfc = true",
        ),
        (
            json!({"fault": [down], "preset": "conweave-ns3", "switch": {"pause_us": 0}}),
            "set switch.pause_us = 5, as in the preset conweave-ns3",
        ),
        (
            json!({"fault": [down, merged(&down, &json!({"ends": ["leaf0", "spine77"]}))], "preset": "conweave-ns3",
                   "switch": {"pause_us": 0}}),
            "fault[1].ends = \"spine77\": expected the name of a node",
        ),
        (json!({"detection": {"mode": "bfd"}}), "detection.mode = \"bfd\""),
    ];
    for (change, message) in cases {
        let spec = json!({"topology": line(2), "traffic": [stream(0, 1, 1, 0.0)]});
        let kind = &change["topology"]["kind"];
        let base = if change["preset"].is_null() && kind.is_null() {
            spec
        } else {
            json!({"traffic": [stream(0, 7, 1, 0.0)]})
        };
        let error = refused(&merged(&base, &change));
        assert!(error.contains(message), "{error}\n  instead of: {message}");
    }
}

#[test]
fn a_nic_that_asks_its_flows_may_have_a_link_that_takes_longer() {
    for transport in [json!({"pacing": true}), json!({"kind": "uet"})] {
        let spec = resolve(&json!({
            "topology": line(2),
            "switch": {"model": "output_queued", "nics": "queue"},
            "transport": transport.clone(),
            "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 9_000}]}],
            "fault": [{"kind": "delay", "ends": ["host0", "leaf0"], "added_us": 50, "at_us": 0}],
        }));
        let outcome = simulate(&spec.expect("it fits"), Tuning::default(), &mut |_| true).expect("it runs");
        let record = outcome.records.first().expect("a flow");
        assert!(record.fct > 50_000_000, "{transport}: {} ps", record.fct);
    }
}
