//! Congestion controls against their theory: two flows into one link.

use crate::common::{CONTROLS, all_finished, flow, graph, merged, run, series};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;

/// Two hosts send to a third over one link between two switches, all links of the same rate; that link is `us`
/// microseconds long, every other takes 1 µs.
fn two_into_one(gbps: u64, us: u64, transport: &Value) -> Value {
    let cable = |a: u32, b: u32| json!([a, b, gbps, 1000]);
    json!({
        "topology": graph(3, 2, vec![cable(0, 3), cable(1, 3), cable(2, 4), cable(3, 4)]),
        "transport": transport,
        "traffic": [{"kind": "flows", "list": [flow(0, 2, 10_000_000_000, 0), flow(1, 2, 10_000_000_000, 0)]}],
        "run": {"stop": "time", "until_us": us},
        "metrics": {"series_interval_us": 10},
    })
}

/// Measures, over the second half of a run: the wait in the queue of the link, mean and 95th percentile in µs, and its
/// utilisation.
fn held(spec: &Value, gbps: u64) -> (f64, f64, f64) {
    held_by(&run(spec), "switch3->switch4", gbps)
}

/// The same of another link.
fn held_by(outcome: &Outcome, link: &str, gbps: u64) -> (f64, f64, f64) {
    let of = |what: &str| -> Vec<f64> {
        let points = series(outcome, what);
        let values: Vec<f64> = points.iter().filter(|point| point.1 == link).map(|p| p.2).collect();
        values[values.len() / 2..].to_vec()
    };
    let (mut waits, used) = (of("link_queue_bytes"), of("link_utilisation"));
    waits.iter_mut().for_each(|bytes| *bytes *= 8.0 / (gbps as f64 * 1000.0));
    waits.sort_by(f64::total_cmp);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (mean(&waits), waits[waits.len() * 95 / 100], mean(&used))
}

/// TIMELY, SIGCOMM 2015: rates rise while round trips are below T_low, whatever the gradient, and gradients turn them
/// there. So the longest round trips are about T_low, and the mean is no longer.
#[test]
fn timely_turns_at_the_round_trip_that_it_is_told() {
    const BASE_US: f64 = 6.6;
    for t_low in [20.0, 40.0] {
        let transport = json!({
            "kind": "rdma", "congestion_control": "timely",
            "timely_t_low_us": t_low, "timely_t_high_us": 5.0 * t_low,
        });
        let spec = merged(&two_into_one(40, 30_000, &transport), &json!({"preset": "selb"}));
        let (mean, most, used) = held(&spec, 40);
        assert!(BASE_US + mean < 1.1 * t_low, "T_low {t_low}: a wait of {mean} us");
        let turns = BASE_US + most;
        assert!(turns > 0.8 * t_low && turns < 1.3 * t_low, "T_low {t_low}: waits of {most} us");
        assert!(used > 0.95, "T_low {t_low}: {used} of the link");
    }
}

/// HPCC, SIGCOMM 2019: the link is used to eta, and only an occasional packet waits. DCQCN, by comparison, fills the
/// link and lets a queue grow.
#[test]
fn hpcc_uses_the_link_as_it_is_told_and_leaves_the_queue_empty() {
    for gbps in [10, 40, 100] {
        let of = |transport: Value| {
            held(&merged(&two_into_one(gbps, 10_000, &transport), &json!({"preset": "dcqcn-paper"})), gbps)
        };
        let packet_us = 1090.0 * 8.0 / (gbps as f64 * 1000.0);
        let (dcqcn, _, full) = of(json!({"kind": "rdma"}));
        for (eta, recovery) in [(0.95, "go_back_n"), (0.95, "irn"), (0.8, "go_back_n")] {
            let hpcc = json!({"kind": "rdma", "congestion_control": "hpcc", "hpcc_eta": eta, "recovery": recovery});
            let (mean, most, used) = of(hpcc);
            assert!((used - eta).abs() < 0.02, "{gbps} Gbps, {recovery}: {used} of the link, eta {eta}");
            assert!(mean < 0.5 * packet_us, "{gbps} Gbps, {recovery}: a wait of {mean} us");
            assert!(most < 1.5 * packet_us, "{gbps} Gbps, {recovery}: waits of {most} us");
            assert!(dcqcn > 10.0 * mean && full > 0.96, "{gbps} Gbps: DCQCN has a wait of {dcqcn} us, uses {full}");
        }
    }
}

/// Ports report their rate, so HPCC follows a link that becomes slower.
#[test]
fn hpcc_follows_a_link_that_becomes_slower() {
    let transport = json!({"kind": "rdma", "congestion_control": "hpcc"});
    let slower = json!({"kind": "rate", "ends": ["switch3", "switch4"], "at_us": 2_000, "rate_gbps": 10});
    let fault = json!({"preset": "dcqcn-paper", "switch": {"pause_us": 100}, "fault": [slower]});
    let (mean, _, used) = held(&merged(&two_into_one(40, 10_000, &transport), &fault), 10);
    assert!(mean < 0.5 && (used - 0.95).abs() < 0.02, "a wait of {mean} us, {used} of the link");
}

/// CUBIC fills the buffer and is cut by drops; with ECN it keeps the queue near the marking threshold, as DCTCP does.
#[test]
fn cubic_is_held_by_marks_if_it_hears_them_and_by_the_buffer_if_not() {
    let of = |transport: Value| held(&merged(&two_into_one(10, 20_000, &transport), &json!({"preset": "linux"})), 10);
    let (dctcp, _, _) = of(json!({"kind": "dctcp"}));
    let (marked, _, used) = of(json!({"kind": "cubic", "cubic_ecn": true}));
    let (dropped, _, _) = of(json!({"kind": "cubic"}));
    assert!(marked > 0.7 * dctcp && marked < 1.2 * dctcp, "{marked} us, DCTCP has {dctcp}");
    assert!(dropped > 3.0 * dctcp, "{dropped} us, DCTCP has {dctcp}");
    assert!(used > 0.99, "{used}");
}

/// Returns where `flows` windows of Swift and its target meet, SIGCOMM 2020 §3.5, over two switches: the data in flight
/// is the bandwidth times the round trip, and that is the target of such a window. In packets of 1500 bytes, and µs.
fn meeting_point(flows: f64, gbps: f64) -> (f64, f64) {
    let alpha = 100.0 / (10f64.sqrt() - 0.1);
    let (mut low, mut high) = (1e-3_f64, 1e3_f64);
    for _ in 0..100 {
        let window = (low * high).sqrt();
        let target = 20.0 + 2.0 * 3.0 + (alpha * (1.0 / window.sqrt() - 0.1)).clamp(0.0, 100.0);
        if flows * window * 12.0 / gbps < target { low = window } else { high = window }
    }
    (low, flows * low * 12.0 / gbps)
}

/// Swift, SIGCOMM 2020: two flows hold the round trip at the target that their windows meet.
#[test]
fn swift_holds_its_target() {
    for (gbps, empty) in [(10, 9.7), (40, 6.9)] {
        for recovery in ["rack", "newreno"] {
            let transport = json!({"kind": "swift", "recovery": recovery});
            let (mean, most, used) =
                held(&merged(&two_into_one(gbps, 20_000, &transport), &json!({"preset": "linux"})), gbps);
            let (_, target) = meeting_point(2.0, gbps as f64);
            assert!((empty + mean - target).abs() < 0.05 * target, "{gbps} Gbps: a wait of {mean} us, target {target}");
            assert!(empty + most < 1.1 * target && used > 0.99, "{gbps} Gbps: waits of {most} us, {used} of the link");
        }
    }
}

/// The same with windows about one packet and below, which TCP's cannot be: a queue that DCTCP cannot have.
#[test]
fn swift_takes_a_hundred_flows_with_less_than_a_packet_each() {
    let of = |flows: u32, kind: &str| {
        let cables = (0..flows).map(|host| json!([host, flows + 1, 10, 1000]));
        let rest = [json!([flows, flows + 2, 10, 1000]), json!([flows + 1, flows + 2, 10, 1000])];
        let list: Vec<Value> = (0..flows).map(|host| flow(host, flows, 10_000_000_000, 0)).collect();
        let spec = json!({
            "preset": "linux",
            "topology": graph(flows + 1, 2, cables.chain(rest).collect()),
            "transport": {"kind": kind, "initial_window_segments": 1},
            "traffic": [{"kind": "flows", "list": list}],
            "run": {"stop": "time", "until_us": 10_000},
            "metrics": {"series_interval_us": 10},
        });
        held_by(&run(&spec), &format!("switch{}->switch{}", flows + 1, flows + 2), 10)
    };
    let empty = 9.7;
    for (flows, most_windows, off) in [(50, 1.0, 0.1), (100, 0.6, 0.25)] {
        let (window, target) = meeting_point(f64::from(flows), 10.0);
        let (mean, _, used) = of(flows, "swift");
        assert!(window < most_windows, "{flows} flows: windows of {window}");
        assert!((empty + mean - target).abs() < off * target, "{flows} flows: a wait of {mean} us, target {target}");
        assert!(used > 0.99, "{flows} flows: {used} of the link");
    }
    let (dctcp, _, _) = of(100, "dctcp");
    assert!(dctcp > 2.0 * of(100, "swift").0, "{dctcp} us with DCTCP");
}

/// Every congestion control with every loss recovery that it combines with, through losses: all flows end.
#[test]
fn every_congestion_control_of_tcp_carries_flows_through_losses() {
    for kind in &CONTROLS[0] {
        for recovery in ["newreno", "reno", "sack", "rack"] {
            let transport = json!({"kind": kind, "recovery": recovery, "min_rto_us": 1000, "initial_rto_us": 1000});
            let spec = json!({
                "preset": "datacenter", "transport": transport,
                "topology": {"kind": "leaf_spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4},
                "switch": {"buffer_packets": 20},
                "traffic": [{"kind": "incast", "receiver": 0, "senders": 7, "size_bytes": 300_000}],
            });
            if spinewise_sim::spec::resolve(&spec).is_ok() {
                all_finished(&run(&spec));
            }
        }
    }
}

/// CONTRIBUTING.md quotes CUBIC and its line exactly.
#[test]
fn the_worked_example_is_quoted_as_it_stands() {
    let page = include_str!("../../../../CONTRIBUTING.md");
    let (_, section) = page.split_once("## A congestion control costs one file and one line").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("a section behind it");
    let quoted = |fence: &str| section.split(fence).nth(1).and_then(|text| text.split("```").next()).expect("a block");
    let file = include_str!("../../src/transport/congestion/cubic.rs");
    assert!(file.contains(quoted("```rust\n").trim()), "the file differs");
    let registry = include_str!("../../src/transport/congestion.rs");
    let added: Vec<&str> = quoted("```diff\n").lines().filter_map(|line| line.strip_prefix('+')).collect();
    assert_eq!(added.len(), 2);
    for line in added {
        assert!(registry.lines().any(|own| own == line), "{line}");
    }
}
