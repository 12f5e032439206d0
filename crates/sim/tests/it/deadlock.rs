//! Flow control can lock a circle of buffers forever. Where it does, the links are named and the run ends; where routes
//! go up and then down, it never does.

use crate::common::{flow, merged, run, run_with};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;

/// Four switches in a ring, a host each; every host sends to the host `hops` switches on.
fn ring(clockwise: bool, hops: u32, change: &Value) -> Value {
    let hosts = (0..4).map(|n| json!([n, 4 + n, 100, 1000]));
    let links: Vec<Value> = hosts.chain((0..4).map(|n| json!([4 + n, 4 + (n + 1) % 4, 100, 1000]))).collect();
    let away = (0..4u32).flat_map(|at| (0..4u32).filter(move |&dst| dst != at).map(move |dst| (at, dst)));
    let routes: Vec<Value> = away.map(|(at, dst)| json!([4 + at, dst, 4 + (at + 1) % 4])).collect();
    let list: Vec<Value> = (0..4).map(|n| flow(n, (n + hops) % 4, 2_000_000, u64::from(n) * 100)).collect();
    let base = json!({
        "preset": "selb",
        "topology": {"kind": "links", "hosts": 4, "switches": 4, "links": links,
                     "routes": if clockwise { json!(routes) } else { json!([]) }},
        "switch": {"buffer_bytes": 200_000, "ecn_min_bytes": 50_000, "ecn_max_bytes": 100_000},
        "traffic": [{"kind": "flows", "list": list}],
        "run": {"until_us": 1_000_000},
    });
    merged(&base, change)
}

fn deadlock(outcome: &Outcome) -> &Value {
    &outcome.report["deadlock"]
}

fn whole_ring() -> Value {
    json!(["switch4->switch5", "switch5->switch6", "switch6->switch7", "switch7->switch4"])
}

#[test]
fn a_clockwise_ring_of_small_buffers_locks_and_the_circle_is_named() {
    for (hops, change) in [
        (3, json!({})),
        (2, json!({})),
        (3, json!({"switch": {"pause_us": 5}})),
        (3, json!({"transport": {"kind": "dctcp", "initial_window_segments": 1000}})),
        (3, json!({"switch": {"priorities": 3, "buffer_bytes": 400_000}})),
    ] {
        let spec = ring(true, hops, &change);
        let outcome = run(&spec);
        assert_eq!(deadlock(&outcome), &whole_ring(), "{hops} hops, {change}");
        assert_eq!(outcome.report["counters"]["lossless_drops"], 0, "locked, but nothing lost: {change}");
        assert!(outcome.report["finished"].as_u64() < Some(4));
        // The run does not continue when nothing moves any more.
        let stop = outcome.report["stop_ps"].as_u64().expect("a time");
        assert!(stop < 10_000_000_000 && stop.is_multiple_of(10_000_000), "stopped at {stop} ps");
        let parted = (2..=4).map(|threads| Tuning { threads, ..Tuning::default() });
        let others = [crate::common::events(), Tuning { window_divisor: 13, all_hooks: true, ..Tuning::default() }];
        for tuning in others.into_iter().chain(parted) {
            let again = run_with(&spec, tuning);
            assert_eq!((again.hash, &again.report["stop_ps"]), (outcome.hash, &outcome.report["stop_ps"]));
            assert_eq!(deadlock(&again), deadlock(&outcome));
        }
        // Cut short before that, it is still a deadlock.
        let cut = merged(&spec, &json!({"run": {"stop": "time", "until_us": 900}}));
        assert_eq!(deadlock(&run(&cut)), &whole_ring());
    }
}

#[test]
fn the_same_ring_does_not_lock_with_short_ways_or_room_or_pauses_that_run_out() {
    for (clockwise, hops, change) in [
        (false, 3, json!({})),
        (false, 2, json!({})),
        (true, 1, json!({})),
        (true, 3, json!({"switch": {"buffer_bytes": 64 << 20, "ingress_alpha": 8}})),
    ] {
        let outcome = run(&ring(clockwise, hops, &change));
        assert_eq!(deadlock(&outcome), &Value::Null, "{clockwise} {hops} {change}");
        assert_eq!(outcome.report["finished"], 4, "{clockwise} {hops} {change}");
        assert_eq!(outcome.report["counters"]["lossless_drops"], 0);
    }
    let running_out = run(&ring(true, 3, &json!({"switch": {"pause_us": 5, "pause_renewal": "packets"}})));
    assert_eq!((deadlock(&running_out), &running_out.report["finished"]), (&Value::Null, &json!(4)));
}

/// While a circle is locked, other flows continue to their end, and only then does the run stop.
#[test]
fn a_run_goes_on_while_anything_moves() {
    let mut spec = ring(true, 3, &json!({}));
    let topology = &mut spec["topology"];
    topology["hosts"] = json!(6);
    let number = |node: &Value| node.as_u64().map_or(Value::Null, |n| json!(if n < 4 { n } else { n + 2 }));
    for (list, nodes) in [("links", 2), ("routes", 3)] {
        for entry in topology[list].as_array_mut().expect("a list") {
            (0..nodes).for_each(|at| entry[at] = number(&entry[at]));
        }
    }
    let more = [json!([4, 6, 100, 1000]), json!([5, 6, 1, 1000])];
    topology["links"].as_array_mut().expect("a list").extend(more);
    let routes = (7..10).flat_map(|at| [4, 5].map(|dst| json!([at, dst, if at == 9 { 6 } else { at + 1 }])));
    topology["routes"].as_array_mut().expect("a list").extend(routes);
    // 5 ms at 1 Gbps, beside the ring.
    spec["traffic"][0]["list"].as_array_mut().expect("a list").push(flow(4, 5, 600_000, 0));
    let outcome = run(&spec);
    assert_eq!(deadlock(&outcome).as_array().map(Vec::len), Some(4));
    assert_eq!(outcome.report["finished"], 1, "the flow beside the ring");
    let stop = outcome.report["stop_ps"].as_u64().expect("a time");
    assert!((6_000_000_000..8_000_000_000).contains(&stop), "stopped at {stop} ps");
}

/// Heavy random traffic up and down, with buffers as small as they may be.
fn up_down() -> impl Strategy<Value = Value> {
    let fabric = (2u32..5, 1u32..4, 2u32..5, select(&[10, 100][..]), select(&[10, 40, 100][..]), 0u64..1000);
    let rest =
        (1.0f64..1.5, select(&[0u32, 50][..]), select(&["ecmp", "rps", "drill", "selb"][..]), 20_000u64..300_000);
    (fabric, rest).prop_map(|((leaves, spines, per_leaf, host, between, seed), (room, pause_us, scheme, size))| {
        let mut spec = json!({
            "preset": "selb", "seed": seed, "scheme": {"name": scheme},
            "topology": {"leaves": leaves, "spines": spines, "hosts_per_leaf": per_leaf, "host_rate_gbps": host,
                         "fabric_rate_gbps": between, "host_delay_ns": 1000, "fabric_delay_ns": 1000},
            "switch": {"buffer_bytes": 1u64 << 40, "pause_us": pause_us, "guaranteed_bytes": 0, "reserved_packets": 0,
                       "ecn_min_bytes": 1_000, "ecn_max_bytes": 4_000},
            "traffic": [{"kind": "permutation", "size_bytes": size},
                        {"kind": "all_to_all", "pair_bytes": size / 4, "concurrent": true}],
            "run": {"until_us": 5_000_000},
        });
        let least = spinewise_sim::spec::sizing::least_buffer(&crate::common::resolved(&spec));
        spec["switch"]["buffer_bytes"] = json!((least as f64 * room) as u64);
        spec
    })
}

#[test]
fn up_and_down_never_locks() {
    let config = ProptestConfig { rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let mut paused = 0;
    for _ in 0..150 {
        let spec = up_down().new_tree(&mut runner).expect("a spec").current();
        let outcome = run(&spec);
        assert_eq!(deadlock(&outcome), &Value::Null, "{spec}");
        assert_eq!(outcome.report["finished"], outcome.report["flows"], "{spec}");
        assert_eq!(outcome.report["counters"]["lossless_drops"], 0, "{spec}");
        // Halfway through, queues are paused, but the packets they wait for move on.
        let halfway = outcome.report["stop_ps"].as_u64().unwrap_or(0) as f64 / 2e6;
        let cut = run(&merged(&spec, &json!({"run": {"stop": "time", "until_us": halfway}})));
        assert_eq!(deadlock(&cut), &Value::Null, "{spec}");
        paused += u32::from(crate::common::counter(&cut, "pause_frames", "packets") > 10);
    }
    assert!(paused > 100, "pauses in {paused} of 150 runs");
}
