//! Held queues over flow control: what holds a packet back may itself be paused, and yet every queue is returned, every
//! flow ends, and where there was a queue the order was kept.

use crate::common::{counter, run, run_with, series, total};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::{Value, json};
use spinewise_sim::engine::Sim;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::{Setup, Tuning};
use spinewise_sim::warden::ALWAYS;

/// Two or three racks over uneven spines; all hosts send to a few hosts of other racks, and buffers are small.
fn spec() -> impl Strategy<Value = Value> {
    let fabric = (2u32..4, 2u32..5, 3u32..7, select(&[10.0, 40.0][..]), 0u64..10_000);
    let switch = (1.0f64..2.0, select(&[0u32, 20][..]), select(&["above_threshold", "pool_full"][..]), 1u32..4);
    let scheme = (select(&["conweave", "selb"][..]), select(&[0u32, 1, 3, 8][..]), any::<bool>(), any::<bool>());
    (fabric, switch, scheme, 30_000u64..400_000).prop_map(|(fabric, switch, scheme, size)| {
        let (leaves, spines, per_leaf, slow, seed) = fabric;
        let (name, queues, patient, rdma) = scheme;
        let hosts = leaves * per_leaf;
        let mut params = json!({"reorder_queues": queues});
        if patient {
            for key in ["extra_flush_us", "default_wait_us", "theta_inactive_us"] {
                params[key] = json!(50_000);
            }
        }
        let transport = if rdma { json!({}) } else { json!({"kind": "dctcp", "initial_window_segments": 200}) };
        let mut spec = json!({
            "preset": "selb", "seed": seed, "scheme": {"name": name, "params": params}, "transport": transport,
            "topology": {"leaves": leaves, "spines": spines, "hosts_per_leaf": per_leaf, "host_rate_gbps": 100,
                         "fabric_rate_gbps": 100, "host_delay_ns": 1000, "fabric_delay_ns": 1000,
                         "override": [{"spine": spines - 1, "rate_gbps": slow}, {"host": hosts - 1, "rate_gbps": 25}]},
            "switch": {"buffer_bytes": 1u64 << 40, "pause_us": switch.1, "headroom_use": switch.2, "priorities": switch.3,
                       "ecn_min_bytes": 5_000, "ecn_max_bytes": 20_000},
            "traffic": [
                {"kind": "permutation", "size_bytes": 4 * size, "inter_rack": true},
                {"kind": "incast", "receiver": hosts - 1, "senders": hosts - per_leaf, "size_bytes": size,
                 "priority": switch.3 - 1},
            ],
            "run": {"until_us": 3_000_000},
        });
        let least = spinewise_sim::spec::sizing::least_buffer(&crate::common::resolved(&spec));
        spec["switch"]["buffer_bytes"] = json!((least as f64 * switch.0) as u64);
        spec
    })
}

fn points(outcome: &Outcome, spec: &Value, name: &str) -> Vec<f64> {
    let scheme = spec["scheme"]["name"].as_str().unwrap_or_default();
    series(outcome, &format!("{scheme}.{name}")).into_iter().map(|point| point.2).collect()
}

/// Runs it, and also examines the ports: what is held, and whether any queue is still taken.
fn run_and_look(spec: &Value) -> Outcome {
    let resolved = crate::common::resolved(spec);
    let setup = Setup::new(&resolved, Tuning::default()).expect("a spec that fits itself");
    let mut sim = Sim::new(&setup.net, setup.start);
    let stop = sim.run(&resolved, Tuning::default(), &mut |_| true).expect("nobody interrupts");
    for lanes in sim.switches.iter().flat_map(|switch| &switch.ports).filter_map(|port| port.lanes()) {
        assert_eq!((lanes.held_in_all(), lanes.taken()), ((0, 0), 0), "held at the end: {spec}");
    }
    Outcome::close(&resolved, sim, stop, None, ALWAYS)
}

#[test]
fn every_held_queue_comes_back_and_order_is_kept_where_there_was_one() {
    let config =
        ProptestConfig { rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let (mut held, mut paused, mut in_order, mut excused) = (0, 0, 0, 0);
    for n in 0..120 {
        let spec = spec().new_tree(&mut runner).expect("a spec").current();
        let outcome = run_and_look(&spec);
        assert_eq!(outcome.report["finished"], outcome.report["flows"], "{spec}");
        assert_eq!((counter(&outcome, "dropped", "packets"), &outcome.report["deadlock"]), (0, &Value::Null), "{spec}");
        let times = |name| points(&outcome, &spec, name).len();
        let taken = [times("drained_queues"), times("held_us")];
        assert_eq!(taken, [times("reorder_queues"); 2], "{spec}");
        let out_of_order = total(&outcome, |record| record.out_of_order);
        if times("no_queue") + times("timeouts") == 0 && spec["scheme"]["params"]["theta_inactive_us"] == 50_000 {
            assert_eq!(out_of_order, 0, "{spec}");
            in_order += u32::from(times("held_us") > 0);
        } else {
            excused += u32::from(out_of_order > 0);
        }
        held += times("held_us");
        let pauses = crate::common::flow_column(&outcome, "flow").len() as u64;
        paused += u32::from(counter(&outcome, "pause_frames", "packets") > pauses);
        if n % 10 == 0 {
            let again = run_with(&spec, Tuning { window_divisor: 5, all_hooks: true, ..crate::common::events() });
            assert_eq!(again.hash, outcome.hash, "{spec}");
        }
    }
    println!("{held} queues held, {paused} runs with many pauses, {in_order} in order, {excused} excused");
    assert!(held > 1_000 && paused > 60 && in_order > 15 && excused > 5, "{held} {paused} {in_order} {excused}");
}

/// All paths but one are paused for a long time, and the packet that would end the wait is among the stuck ones.
#[test]
fn a_queue_that_waits_for_a_paused_path_is_let_go_in_the_end() {
    let spec = json!({
        "preset": "selb", "scheme": {"name": "conweave"},
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 8, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000, "override": [{"host": 15, "rate_gbps": 1}]},
        "switch": {"buffer_bytes": 700_000, "ecn_min_bytes": 5_000, "ecn_max_bytes": 20_000},
        "traffic": [{"kind": "incast", "receiver": 15, "senders": 8, "size_bytes": 300_000},
                    {"kind": "permutation", "size_bytes": 1_000_000, "inter_rack": true}],
        "run": {"until_us": 3_000_000},
    });
    let outcome = run(&spec);
    assert_eq!(outcome.report["finished"], outcome.report["flows"]);
    assert!(!points(&outcome, &spec, "timeouts").is_empty(), "some queues are let go by the clock");
    let taken = ["reorder_queues", "drained_queues", "held_us"].map(|name| points(&outcome, &spec, name).len());
    assert_eq!(taken, [taken[0]; 3]);
}
