//! Warnings about transports, those of single traffic entries included.

use crate::common::merged;
use serde_json::{Value, json};
use spinewise_sim::spec::resolve;

/// The code and the key of each warning of a spec over this on a small leaf-spine.
fn warned(more: Value) -> Vec<(String, String)> {
    let base = json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
        "traffic": [{"kind": "permutation", "size_bytes": 100_000}],
    });
    let found = resolve(&merged(&base, &more)).unwrap_or_else(|error| panic!("{error}"));
    let key = |key: &Option<String>| key.clone().unwrap_or_default();
    found.warnings.iter().map(|one| (one.code.to_owned(), key(&one.key))).collect()
}

fn has(found: &[(String, String)], code: &str, key: &str) -> bool {
    found.contains(&(code.to_owned(), key.to_owned()))
}

#[test]
fn transports_of_entries_are_looked_at_like_the_run_s() {
    let entry = json!({"kind": "permutation", "size_bytes": 100_000, "transport": {"kind": "rdma", "rto_us": 5}});
    let found = warned(json!({"traffic": [{"kind": "permutation", "size_bytes": 100_000}, entry]}));
    assert!(has(&found, "rdma_drops", "switch.model"), "{found:?}");
    assert!(has(&found, "timeout_below_round_trip", "traffic[1].transport.rto_us"), "{found:?}");
}

#[test]
fn the_shorter_timeout_of_irn_is_looked_at() {
    let irn = |low: f64| json!({"transport": {"kind": "rdma", "recovery": "irn", "rto_low_us": low}});
    let told = |low: f64| has(&warned(irn(low)), "timeout_below_round_trip", "transport.rto_low_us");
    assert!(told(1.0) && !told(300.0));
}

#[test]
fn hpcc_over_paths_that_change_with_each_packet() {
    let of = |scheme: &str| {
        let transport = json!({"kind": "rdma", "congestion_control": "hpcc"});
        let found = warned(json!({"transport": transport, "scheme": {"name": scheme}}));
        has(&found, "telemetry_of_many_paths", "transport.congestion_control")
    };
    assert!(of("rps") && !of("ecmp"));
}

#[test]
fn schemes_that_learn_from_each_acknowledgement() {
    let of = |scheme: &str, bytes: u32| {
        let found = warned(json!({
            "preset": "uet", "scheme": {"name": scheme}, "transport": {"ack_every_bytes": bytes},
        }));
        has(&found, "few_acknowledgements", "transport.ack_every_bytes")
    };
    assert!(of("uno", 16_384) && of("mprdma_reuse", 16_384));
    assert!(!of("uno", 1) && !of("reps", 16_384));
}

#[test]
fn swift_s_target_counts_the_switches_on_the_path() {
    let of = |per_hop: f64| {
        let swift = json!({"kind": "swift", "swift_base_target_us": 0.5, "swift_per_hop_us": per_hop});
        has(&warned(json!({"transport": swift})), "target_below_round_trip", "transport.swift_base_target_us")
    };
    assert!(of(0.0) && !of(100.0));
}
