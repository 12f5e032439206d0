//! Congestion controls against their theory: two flows into one link.

use crate::common::{CONTROLS, all_finished, flow, graph, merged, run, series};
use serde_json::{Value, json};

/// Two hosts send to a third over one link between two switches, of the rate of all, `us` microseconds long; every link
/// takes 1 µs.
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

/// Of the second half of a run: the wait in the queue of the link, mean and 95th percentile in µs, and its use.
fn held(spec: &Value, gbps: u64) -> (f64, f64, f64) {
    let outcome = run(spec);
    let of = |what: &str| -> Vec<f64> {
        let points = series(&outcome, what);
        let values: Vec<f64> = points.iter().filter(|point| point.1 == "switch3->switch4").map(|p| p.2).collect();
        values[values.len() / 2..].to_vec()
    };
    let (mut waits, used) = (of("link_queue_bytes"), of("link_utilisation"));
    waits.iter_mut().for_each(|bytes| *bytes *= 8.0 / (gbps as f64 * 1000.0));
    waits.sort_by(f64::total_cmp);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    (mean(&waits), waits[waits.len() * 95 / 100], mean(&used))
}

/// TIMELY, SIGCOMM 2015: round trips stay about T_low, where rises end and gradients begin, and far below T_high.
#[test]
fn timely_holds_the_round_trip_that_it_is_told() {
    const BASE_US: f64 = 6.6;
    for t_low in [20.0, 40.0] {
        let transport = json!({
            "kind": "rdma", "congestion_control": "timely",
            "timely_t_low_us": t_low, "timely_t_high_us": 5.0 * t_low,
        });
        let spec = merged(&two_into_one(40, 30_000, &transport), &json!({"preset": "selb"}));
        let (mean, most, used) = held(&spec, 40);
        assert!(BASE_US + mean > 0.5 * t_low && BASE_US + mean < 1.5 * t_low, "T_low {t_low}: a wait of {mean} us");
        assert!(BASE_US + most < 2.5 * t_low, "T_low {t_low}: waits of {most} us");
        assert!(used > 0.9, "T_low {t_low}: {used} of the link");
    }
}

/// CUBIC fills the buffer and is cut by drops; with ECN it keeps the queue about the threshold of marks, as DCTCP does.
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

/// Every congestion control over every loss recovery that it goes with, through losses: all flows end.
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

/// CONTRIBUTING.md quotes CUBIC and its line as they stand in the files.
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
