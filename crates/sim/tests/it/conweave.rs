//! ConWeave in whole runs: flows leave slow paths, their last leaf keeps them in order, and every queue is returned.

use crate::common::{counter, flow, merged, run, run_with, series, total};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;

/// Eight long flows from leaf 0 to leaf 1 over four spines, the last with a link of a fifth of the rate: flows on it
/// are answered late. Buffers that never drop, so that only the fabric can disturb an order.
fn spec(params: Value) -> Value {
    let flows: Vec<Value> = (0..8).map(|i| flow(i, 8 + i, 2_000_000, u64::from(i) * 3_000)).collect();
    json!({
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 8, "host_rate_gbps": 10, "fabric_rate_gbps": 25,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000, "override": [{"spine": 3, "rate_gbps": 5}]},
        "scheme": {"name": "conweave", "params": params},
        "switch": {"buffer_packets": 100_000, "ecn_threshold_packets": 40},
        "traffic": [{"kind": "flows", "list": flows}],
        "metrics": {"series_interval_us": 100},
    })
}

fn points(outcome: &Outcome, name: &str) -> Vec<f64> {
    series(outcome, &format!("conweave.{name}")).into_iter().map(|point| point.2).collect()
}

fn mean_fct(outcome: &Outcome) -> f64 {
    let times = crate::common::flow_column(outcome, "fct_ps");
    times.iter().sum::<u64>() as f64 / times.len() as f64
}

#[test]
fn flows_leave_slow_paths_and_stay_in_order() {
    let (mut held, mut with, mut without) = (0, 0.0, 0.0);
    for seed in 0..6 {
        let change = json!({"seed": seed});
        let outcome =
            run(&merged(&spec(json!({"reorder_queues": 0, "extra_flush_us": 2000, "default_wait_us": 2000})), &change));
        assert_eq!(outcome.report["finished"], outcome.report["flows"]);
        assert_eq!(counter(&outcome, "dropped", "packets"), 0);
        let (tails, clears) = (points(&outcome, "tails").len(), points(&outcome, "clears").len());
        assert!(!points(&outcome, "reroutes").is_empty() && tails == clears, "{tails} TAILs, {clears} CLEARs");
        assert_eq!((points(&outcome, "timeouts").len(), points(&outcome, "no_queue").len()), (0, 0));
        assert_eq!(total(&outcome, |record| record.out_of_order), 0, "seed {seed}");
        // Every queue that was taken has drained.
        let queues = ["reorder_queues", "drained_queues"].map(|name| points(&outcome, name).len());
        assert_eq!(queues, [points(&outcome, "held_us").len(); 2]);
        held += points(&outcome, "held_us").len();
        let fixed = run(&merged(&spec(json!({"theta_reply_us": 1e5})), &change));
        assert_eq!((points(&fixed, "tails").len(), points(&fixed, "held_us").len()), (0, 0));
        with += mean_fct(&outcome);
        without += mean_fct(&fixed);
    }
    assert!(held > 20, "{held} queues were held");
    assert!(with < 0.9 * without, "rerouting changes the mean completion time by {}", with / without);
}

/// Queues that a TAIL ends a little later are not those of a TAIL that never came: each was reported as a timeout.
#[test]
fn a_late_release_is_no_timeout() {
    let params = |release: &str| json!({"reorder_queues": 0, "extra_flush_us": 2000, "default_wait_us": 2000, "release": release});
    let told = |release: &str| {
        let outcome = run(&spec(params(release)));
        ["timeouts", "out_of_order", "held_us"].map(|name| points(&outcome, name).len())
    };
    let (late, at_tail) = (told("late"), told("at_tail"));
    assert!(late[2] > 0 && at_tail[2] > 0);
    assert_eq!((&late[..2], &at_tail[..2]), (&[0, 0][..], &[0, 0][..]));
}

#[test]
fn one_queue_is_not_enough_and_says_so() {
    let (mut without, mut kept, mut inverted) = (0, 0, 0);
    for seed in 0..6 {
        // All flows to one host share its one queue.
        let flows: Vec<Value> = (0..8).map(|i| flow(i, 8, 500_000, u64::from(i) * 500)).collect();
        let change = json!({"seed": seed, "traffic": [{"kind": "flows", "list": flows}]});
        let spec = merged(&spec(json!({"reorder_queues": 1})), &change);
        let outcome = run(&spec);
        assert_eq!(outcome.report["finished"], outcome.report["flows"]);
        assert!(points(&outcome, "reorder_queues").iter().all(|&in_use| in_use <= 1.0));
        let no_queue = points(&outcome, "no_queue").len();
        assert!(points(&outcome, "kept").len() <= no_queue);
        without += no_queue;
        kept += points(&outcome, "kept").len();
        inverted += total(&outcome, |record| record.out_of_order);
        for tuning in [crate::common::events(), Tuning { all_hooks: true, window_divisor: 3, ..Tuning::default() }] {
            assert_eq!(run_with(&spec, tuning).hash, outcome.hash, "one result whatever the engine");
        }
    }
    assert!(without > 0 && kept > 0 && inverted > 0, "{without} without a queue, {kept} kept, {inverted} inverted");
}

/// An oracle that reports free queues needs no message. It reserves nothing: flows that leave their paths between two
/// instants of the grid still miss a queue.
#[test]
fn an_oracle_keeps_flows_on_their_paths_while_no_queue_is_free() {
    let (mut missed, mut missed_without) = (0, 0);
    for seed in 0..6 {
        // One flow after another, so that a queue is often taken when the next one would leave.
        let flows: Vec<Value> = (0..8).map(|i| flow(i, 8, 500_000, u64::from(i) * 40_000)).collect();
        let change = json!({"seed": seed, "traffic": [{"kind": "flows", "list": flows}], "run": {"grid_ns": 1000}});
        let params = |oracle: bool| json!({"reorder_queues": 1, "keep_path_us": 0, "oracle_fallback": oracle});
        let told = merged(&spec(params(true)), &change);
        let outcome = run(&told);
        assert_eq!(outcome.report["finished"], outcome.report["flows"]);
        assert!(points(&outcome, "kept").is_empty() && !points(&outcome, "tails").is_empty());
        missed += points(&outcome, "no_queue").len();
        missed_without += points(&run(&merged(&spec(params(false)), &change)), "no_queue").len();
        for tuning in [crate::common::events(), Tuning { all_hooks: true, window_divisor: 3, ..Tuning::default() }] {
            assert_eq!(run_with(&told, tuning).hash, outcome.hash, "one result whatever the engine");
        }
    }
    assert!(missed < missed_without, "queues missed: {missed} with the oracle, {missed_without} without");
}
