//! SRED in whole runs: early drops affect the flows of affected racks, and only those, and shorten the queues they
//! make.

use crate::common::{all_finished, counter, flow, merged, run_both, wired};
use serde_json::{Value, json};
use spinewise_sim::ids::SwitchId;
use spinewise_sim::outcome::Outcome;

/// Four leaves of four hosts, four spines; leaf 0 has lost spine 2.
fn topology() -> Value {
    json!({"leaves": 4, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
           "host_delay_ns": 1000, "fabric_delay_ns": 1000, "override": [{"leaf": 0, "spine": 2, "up": false}]})
}

/// All hosts of leaf 0 send to leaf 1, all of leaf 2 to leaf 3. Only losses trigger retransmissions: reordering costs
/// nothing.
fn spec(scheme: Value) -> Value {
    let list: Vec<Value> =
        (0..4).flat_map(|n| [flow(n, 4 + n, 4_000_000, 0), flow(8 + n, 12 + n, 4_000_000, 0)]).collect();
    json!({
        "topology": topology(), "scheme": scheme, "traffic": [{"kind": "flows", "list": list}],
        "transport": {"kind": "newreno", "dupack_threshold": 0, "min_rto_us": 1000, "initial_rto_us": 1000},
        "switch": {"buffer_bytes": 100_000_000}, "run": {"until_us": 1_000_000},
    })
}

fn sred(params: Value) -> Value {
    json!({"name": "sred", "params": params})
}

/// Packets sent again, of flows from leaf 0 and from leaf 2.
fn again(outcome: &Outcome) -> (u64, u64) {
    let of = |sources: std::ops::Range<u32>| {
        let both = outcome.specs.iter().zip(&outcome.records);
        both.filter(|(spec, _)| sources.contains(&spec.src)).map(|(_, record)| u64::from(record.retransmits)).sum()
    };
    (of(0..4), of(8..12))
}

#[test]
fn only_flows_between_affected_racks_are_dropped_early() {
    let outcome = run_both(&spec(sred(json!({"weight": 0.2}))));
    all_finished(&outcome);
    let (affected, others) = again(&outcome);
    let drops = counter(&outcome, "dropped", "packets");
    println!("{drops} early drops; sent again: {affected} packets of affected flows, {others} of others");
    assert!(drops > 20 && affected >= drops / 2, "{affected} of {drops}");
    assert_eq!(others, 0);
}

#[test]
fn without_a_failure_sred_is_spraying_and_drops_nothing_early() {
    let whole = json!({"topology": {"override": []}});
    for scheme in [sred(json!({"weight": 1.0, "min_packets": 0.0, "max_packets": 0.1})), json!({"name": "rps"})] {
        let outcome = run_both(&merged(&spec(scheme), &whole));
        all_finished(&outcome);
        assert_eq!(counter(&outcome, "dropped", "packets"), 0);
        assert_eq!(again(&outcome), (0, 0));
    }
}

#[test]
fn early_drops_shorten_the_queues_that_affected_flows_make() {
    let longest = |scheme: Value| {
        let outcome = run_both(&spec(scheme));
        let links = outcome.report["links"].as_array().expect("links").clone();
        let from_leaf_0 =
            links.iter().filter(|link| link["name"].as_str().is_some_and(|name| name.starts_with("leaf0->spine")));
        from_leaf_0.map(|link| link["longest_queue_bytes"].as_u64().expect("a number")).max()
    };
    let (sred, rps) = (longest(sred(json!({"weight": 0.2}))), longest(json!({"name": "rps"})));
    println!("longest queue of leaf 0's uplinks: {sred:?} bytes under SRED, {rps:?} under RPS");
    assert!(sred < rps);
}

#[test]
fn a_shared_buffer_gets_back_what_a_drop_took() {
    // Every marked packet that finds anything queued is dropped: an account that leaked would soon be full.
    let lossless = json!({
        "preset": "conweave-ns3", "topology": topology(), "transport": {"recovery": "irn"}, "switch": {"pfc": false},
        "scheme": sred(json!({"weight": 1.0, "min_packets": 0.0, "max_packets": 4.0})),
        "traffic": [{"kind": "poisson", "cdf": "ali_storage", "load": 0.5, "duration_us": 2000}],
    });
    let outcome = run_both(&lossless);
    all_finished(&outcome);
    assert!(counter(&outcome, "dropped", "packets") > 20, "{}", outcome.report["counters"]);
}

#[test]
fn pairs_lose_paths_by_links_on_their_shortest_paths_only() {
    let at = SwitchId::new;
    let fabric = wired(&topology());
    for from in 0..4 {
        for to in 0..4 {
            assert_eq!(fabric.loses_paths(at(from), at(to)), from != to && (from == 0 || to == 0), "{from} to {to}");
        }
    }
    let whole = wired(&merged(&topology(), &json!({"override": []})));
    assert!((0..4).all(|to| !whole.loses_paths(at(0), at(to))));
    // A fat-tree of 8 leaves, two in each pod. An uplink of leaf 0 concerns all its pairs; one of an aggregation switch
    // of pod 0 concerns the pairs with other pods.
    let pairs = |down: Value, expected: &dyn Fn(u32, u32) -> bool| {
        let tree = wired(&json!({"kind": "fat_tree", "k": 4, "override": [down]}));
        for (from, to) in (0..8).flat_map(|from| (0..8).map(move |to| (from, to))).filter(|(from, to)| from != to) {
            assert_eq!(tree.loses_paths(at(from), at(to)), expected(from, to), "{from} to {to}");
        }
    };
    pairs(json!({"leaf": 0, "aggregation": 1, "up": false}), &|from, to| from == 0 || to == 0);
    pairs(json!({"aggregation": 0, "core": 0, "up": false}), &|from, to| (from < 2) != (to < 2));
}
