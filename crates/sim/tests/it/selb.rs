//! SELB in whole runs: flows leave growing queues, their last leaf keeps them in order, and every queue is returned.

use crate::common::{counter, flow, run, run_with, series, total};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;

/// Twelve long flows from leaf 0 to leaf 1 over four spines, the last with a link of a fifth of the rate, whose queue
/// grows under any flow. Buffers that never drop, so that only the fabric can disturb an order.
fn spec(seed: u64, params: &Value) -> Value {
    let flows: Vec<Value> = (0..12).map(|i| flow(i, 12 + i, 2_000_000, u64::from(i) * 3_000)).collect();
    json!({
        "seed": seed,
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 12, "host_rate_gbps": 10, "fabric_rate_gbps": 25,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000, "override": [{"spine": 3, "rate_gbps": 5}]},
        "scheme": {"name": "selb", "params": params},
        "switch": {"buffer_packets": 100_000, "ecn_threshold_packets": 40},
        "traffic": [{"kind": "flows", "list": flows}],
    })
}

fn points(outcome: &Outcome, name: &str) -> Vec<f64> {
    series(outcome, &format!("selb.{name}")).into_iter().map(|point| point.2).collect()
}

fn mean_fct(outcome: &Outcome) -> f64 {
    let times = crate::common::flow_column(outcome, "fct_ps");
    times.iter().sum::<u64>() as f64 / times.len() as f64
}

#[test]
fn flows_leave_growing_queues_and_stay_in_order() {
    let (mut reroutes, mut held, mut shares) = (0, 0, vec![]);
    for seed in 0..12 {
        // Nothing is given up early. A window's pause on the slow path can last longer than its packets' 300 µs there,
        // and a silence normally counts as proof that they have arrived: not here, where it would cost order.
        let patient = json!({"reorder_queues": 0, "extra_flush_us": 20_000, "default_wait_us": 20_000, "theta_inactive_us": 20_000});
        let outcome = run(&spec(seed, &patient));
        assert_eq!(outcome.report["finished"], outcome.report["flows"]);
        assert_eq!(counter(&outcome, "dropped", "packets"), 0);
        assert_eq!(total(&outcome, |record| record.out_of_order), 0, "seed {seed}");
        assert_eq!(points(&outcome, "reroutes").len(), points(&outcome, "clears").len(), "every TAIL is answered");
        assert_eq!((points(&outcome, "timeouts").len(), points(&outcome, "no_queue").len()), (0, 0));
        // Every queue that was taken has drained.
        let queues = ["reorder_queues", "drained_queues"].map(|name| points(&outcome, name).len());
        assert_eq!(queues, [points(&outcome, "held_us").len(); 2]);
        reroutes += points(&outcome, "reroutes").len();
        held += points(&outcome, "held_us").len();
        // Per packet two arrivals of one instant exceed every θ.
        let fixed = run(&spec(seed, &json!({"theta": 1e3, "monitor": "interval"})));
        assert_eq!((points(&fixed, "reroutes").len(), points(&fixed, "congested_paths").len()), (0, 0));
        shares.push(mean_fct(&outcome) / mean_fct(&fixed));
    }
    assert!(reroutes > 1_000 && held > 1_000, "{reroutes} reroutes, {held} queues held");
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(mean < 0.9, "flow completion times against those without rerouting: {shares:.3?}");
}

#[test]
fn every_setting_gives_one_result_whatever_the_engine() {
    for params in [
        json!({}),
        json!({"reorder_queues": 1}),
        json!({"start": "random", "k": 4, "first_path": "ecmp"}),
        json!({"theta": 0.0, "tau_us": 3, "also_len_bytes": 30_000, "keep_path_us": 50}),
        json!({"theta": 0.02, "tau_us": 0.5}),
        json!({"theta": 0.1, "monitor": "measured"}),
        json!({"theta": 0.1, "monitor": "packet"}),
    ] {
        let spec = spec(1, &params);
        let outcome = run(&spec);
        assert_eq!(outcome.report["finished"], outcome.report["flows"]);
        assert!(!points(&outcome, "reroutes").is_empty(), "{params}");
        assert!(!points(&outcome, "cluster_changes").is_empty(), "{params}");
        for tuning in [crate::common::events(), Tuning { all_hooks: true, window_divisor: 3, ..Tuning::default() }] {
            assert_eq!(run_with(&spec, tuning).hash, outcome.hash, "{params}");
        }
    }
}
