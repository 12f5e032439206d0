//! Faults during a run: which packets are lost, to the picosecond; when switches learn of it and how they react.

use crate::common::{counter, fat_tree, flow_column, line, merged, of_link, run, run_both, steps, stream};
use serde_json::{Value, json};
use spinewise_policy::Time;
use spinewise_sim::faults::Step;
use spinewise_sim::outcome::Outcome;

fn lost_on(outcome: &Outcome, link: &str) -> u64 {
    of_link(outcome, link, "lost")
}

/// One packet leaves host 0 at 0, arrives at leaf 0 at 2.2 µs, and is on the line to the spine from then until 4.4 µs.
#[test]
fn a_packet_is_lost_if_the_link_is_down_while_any_of_it_is_on_the_line() {
    let times = [
        (4.4, None, 0),
        (4.399999, None, 1),
        (3.0, Some(3.1), 1),
        (0.0, Some(2.2), 0),
        (0.0, Some(2.200001), 1),
        (2.2, Some(2.200001), 1),
        (4.4, Some(5.0), 0),
    ];
    for (from, until, lost) in times {
        let spec = json!({
            "topology": line(1), "detection": {"mode": "never"}, "traffic": [stream(0, 1, 1, 0.0)],
            "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "direction": "forward", "at_us": from,
                       "until_us": until, "may_cut_off": true}],
        });
        let outcome = run_both(&spec);
        assert_eq!(lost_on(&outcome, "leaf0->spine0"), lost, "{spec}");
        assert_eq!(counter(&outcome, "lost", "packets"), lost);
        assert_eq!(counter(&outcome, "delivered", "packets"), 1 - lost);
        let back = merged(
            &spec,
            &json!({"fault": [{"kind": "down", "ends": ["spine0", "leaf0"], "direction": "backward",
"at_us": from, "until_us": until, "may_cut_off": true}]}),
        );
        assert_eq!(run(&back).hash, outcome.hash, "the same link, said the other way round");
    }
}

/// Packets back to back: those of which something is on the line during one of the outages are lost, and no others.
#[test]
fn a_flapping_link_loses_what_meets_its_outages() {
    let packets = 1000u64;
    let outcome = run_both(&json!({
        "topology": line(1), "detection": {"mode": "never"}, "traffic": [stream(0, 1, packets as u32, 0.0)],
        "fault": [{"kind": "flap", "ends": ["leaf0", "spine0"], "at_us": 100, "until_us": 905, "period_us": 50,
                   "down_us": 10}],
    }));
    let lost = (0..packets).filter(|n| {
        let (left, arrived) = (2_200 + n * 1_200, 4_400 + n * 1_200);
        (0..17).any(|outage| {
            let from = 100_000 + outage * 50_000;
            left < (from + 10_000).min(905_000) && arrived > from
        })
    });
    let lost = lost.count() as u64;
    assert!(lost > 100, "{lost}");
    assert_eq!(lost_on(&outcome, "leaf0->spine0"), lost);
    assert_eq!(counter(&outcome, "delivered", "packets"), packets - lost);
}

#[test]
fn random_loss_has_its_probability_and_its_time() {
    let spec = |seed: u64| {
        json!({
            "seed": seed, "topology": line(1), "traffic": [stream(0, 1, 20_000, 0.0)],
            "fault": [{"kind": "loss", "ends": ["spine0", "leaf1"], "direction": "forward", "at_us": 0,
                       "until_us": 12_000, "probability": 0.1}],
        })
    };
    let outcome = run_both(&spec(1));
    // 10,000 packets, give or take what is on its way: the deviation of their losses is 30.
    let lost = lost_on(&outcome, "spine0->leaf1");
    assert!(lost.abs_diff(1000) < 130, "{lost}");
    assert_eq!(counter(&outcome, "lost", "packets"), lost);
    assert_ne!(run(&spec(2)).hash, outcome.hash, "other dice");
}

/// Two spines. One of two links of leaf 0 dies at 1 ms. Leaf 0 detects it 100 µs later. The other leaf hears of it from
/// the spine that lost the link, 1 + 10 µs later, and computes for 1 ms.
#[test]
fn ends_find_what_is_down_and_the_others_hear_of_it() {
    let at = |from_us: f64, mode: Value| {
        let spec = json!({
            "topology": line(2), "scheme": {"name": "rps"},
            "traffic": [stream(0, 1, 60, from_us), stream(1, 0, 60, from_us)],
            "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 1000, "until_us": 4000}],
            "detection": mode,
        });
        let outcome = run_both(&spec);
        let unroutable = outcome.report["counters"]["unroutable"].as_u64().unwrap_or_default();
        (lost_on(&outcome, "leaf0->spine0") > 0, lost_on(&outcome, "spine0->leaf0") > 0, unroutable > 0)
    };
    let carrier = || json!({});
    assert_eq!(at(900.0, carrier()), (false, false, false), "not yet down");
    assert_eq!(at(1_010.0, carrier()), (true, true, false), "not yet found");
    assert_eq!(at(1_110.0, carrier()), (false, false, true), "the spine has no way left, and leaf 1 does not know");
    assert_eq!(at(2_020.0, carrier()), (false, false, true));
    assert_eq!(at(2_115.0, carrier()), (false, false, false), "all know");
    assert_eq!(at(4_050.0, carrier()), (false, false, false), "works, but nobody knows");
    assert_eq!(at(1_010.0, json!({"mode": "oracle"})), (false, false, false));
    assert_eq!(at(3_000.0, json!({"mode": "never"})), (true, true, false));
    assert_eq!(at(3_000.0, json!({"reconverge": false})), (false, false, true));
    assert_eq!(at(1_070.0, json!({"carrier_us": 20, "control_plane_us": 10})), (false, false, false));
    let used = |from_us: f64| {
        let outcome = run(&json!({
            "topology": line(2), "scheme": {"name": "rps"}, "traffic": [stream(0, 1, 60, from_us)],
            "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 1000, "until_us": 4000}],
        }));
        of_link(&outcome, "leaf0->spine0", "packets") > 0
    };
    assert_eq!([4_050.0, 4_900.0, 5_115.0].map(used), [false, false, true], "repaired by the same steps");
}

/// A fault that is over before it would be detected is not detected.
#[test]
fn a_short_outage_changes_no_routes() {
    let spec = json!({
        "topology": line(2), "traffic": [stream(0, 1, 5, 0.0)], "detection": {"carrier_us": 100},
        "fault": [{"kind": "down", "switch": "spine0", "at_us": 10, "until_us": 109}],
    });
    assert_eq!(steps(&spec), [(2, Time(10_000_000), Step::Dies)], "and nobody sees");
    let longer = merged(&spec, &json!({"fault": [{"kind": "down", "switch": "spine0", "at_us": 10, "until_us": 111}]}));
    let found: Vec<_> = steps(&longer).into_iter().filter(|&(switch, ..)| switch == 0).map(|(_, at, _)| at.0).collect();
    assert_eq!(found[..2], [110_000_000; 2], "other routes, and the scheme is told");
}

/// A core, an aggregation switch and a link die; everything that can be delivered is. A leaf that dies takes its hosts
/// along.
#[test]
fn flows_finish_whatever_dies_that_is_not_their_own() {
    let spec = |faults: Value, detection: Value| {
        json!({
            "topology": fat_tree(), "traffic": [{"kind": "permutation", "size_bytes": 500_000}], "fault": faults,
            "detection": detection, "run": {"until_us": 500_000},
        })
    };
    let inner = json!([
        {"kind": "down", "switch": "core0", "at_us": 100}, {"kind": "down", "switch": "aggregation2", "at_us": 150},
        {"kind": "down", "ends": ["leaf6", "aggregation7"], "at_us": 120, "until_us": 3000},
    ]);
    let outcome = run_both(&spec(inner.clone(), json!({})));
    crate::common::all_finished(&outcome);
    assert!(counter(&outcome, "lost", "packets") > 100);
    assert_eq!(outcome.report["unfinished"], json!({"cut_off": 0, "out_of_time": 0}));
    let blind = run_both(&spec(inner, json!({"mode": "never"})));
    assert!(blind.report["unfinished"]["out_of_time"].as_u64() > Some(2), "{}", blind.report["unfinished"]);
    assert_eq!(blind.report["unfinished"]["cut_off"], 0);
    let leaf =
        run_both(&spec(json!([{"kind": "down", "switch": "leaf0", "at_us": 100, "may_cut_off": true}]), json!({})));
    assert_eq!(leaf.report["unfinished"], json!({"cut_off": 4, "out_of_time": 0}), "two hosts, to and from");
    for (flow, cut) in leaf.specs.iter().zip(flow_column(&leaf, "cut_off")) {
        assert_eq!(cut == 1, flow.src < 2 || flow.dst < 2, "{flow:?}");
    }
    let back = run_both(&spec(json!([{"kind": "down", "switch": "leaf0", "at_us": 100, "until_us": 900}]), json!({})));
    crate::common::all_finished(&back);
}

/// A path tag names its path while that works; when its port is gone, another is taken until it is back.
#[test]
fn explicit_tags_avoid_what_is_down() {
    let outcome = run_both(&json!({
        "topology": merged(&line(4), &json!({"hosts_per_leaf": 4})), "scheme": {"name": "presto"},
        "traffic": [{"kind": "permutation", "size_bytes": 5_000_000}],
        "fault": [{"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 200, "until_us": 2000}],
        "detection": {"carrier_us": 10, "control_plane_us": 10},
    }));
    crate::common::all_finished(&outcome);
    let sent = |spine: u32| of_link(&outcome, &format!("leaf0->spine{spine}"), "packets");
    assert!(sent(1) > 1000 && sent(1) < sent(0) && sent(1) < sent(2), "{:?}", [0, 1, 2, 3].map(sent));
}
