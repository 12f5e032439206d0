//! Flow labels in whole runs: PLB separates flows that share a link, and timeouts lead round links that fail silently,
//! in the forward and the reverse direction.

use crate::common::{all_finished, merged, of_link, run, run_both, series};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;

/// Two leaves of four hosts, under spines whose links are no faster than a host's.
fn fabric(scheme: Value, spines: u32, list: &[Value]) -> Value {
    json!({
        "seed": 2, "scheme": scheme,
        "topology": {"leaves": 2, "spines": spines, "hosts_per_leaf": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000},
        "switch": {"buffer_packets": 200, "ecn_threshold_packets": 20},
        "transport": {"kind": "dctcp", "recovery": "rack", "min_rto_us": 1000, "initial_rto_us": 1000},
        "traffic": [{"kind": "flows", "list": list}],
        "metrics": {"series_interval_us": 100}, "run": {"until_us": 400_000},
    })
}

fn flow(src: u32, dst: u32, size: u64) -> Value {
    crate::common::flow(src, dst, size, 0)
}

fn points(outcome: &Outcome, scheme: &str, what: &str) -> usize {
    series(outcome, &format!("{scheme}.{what}")).len()
}

#[test]
fn plb_parts_two_flows_that_share_a_link() {
    let pair = [flow(0, 4, 40_000_000), flow(1, 5, 40_000_000)];
    let shared = |outcome: &Outcome| {
        let [a, b] = [0, 1].map(|spine| of_link(outcome, &format!("leaf0->spine{spine}"), "packets"));
        a.min(b) < (a + b) / 50
    };
    let with = |params: Value, seed: u64| {
        // A low threshold has most packets of two flows of some packets each marked, but not those of one flow alone.
        let low = json!({"seed": seed, "switch": {"ecn_threshold_packets": 3}});
        merged(&fabric(json!({"name": "plb", "params": params}), 2, &pair), &low)
    };
    let fixed = |seed: u64| run(&with(json!({"txrehash": false}), seed));
    // If both labels lead to one link, and nothing ever moves, each flow has half of it.
    let seed = (1..40).find(|&seed| shared(&fixed(seed))).expect("one of them");
    let stays = fixed(seed);
    assert_eq!(points(&stays, "plb", "plb_rehash"), 0);
    let moves = run_both(&with(json!({"rehash_rounds": 3, "cong_thresh": 96}), seed));
    all_finished(&moves);
    let fct = |outcome: &Outcome| outcome.records.iter().map(|record| record.fct).max();
    assert!(points(&moves, "plb", "plb_rehash") > 0);
    assert!(fct(&moves).unwrap_or(0) * 4 < fct(&stays).unwrap_or(0) * 3, "{:?} {:?}", fct(&moves), fct(&stays));
    // Unmarked packets change no label.
    let unmarked = merged(&with(json!({}), seed), &json!({"switch": {"ecn_threshold_packets": 0}}));
    assert_eq!(points(&run(&unmarked), "plb", "plb_rehash"), 0);
}

#[test]
fn hopper_leaves_a_slow_path_for_one_that_probes_found() {
    let flows: Vec<Value> = (0..4).map(|host| flow(host, 4 + host, 8_000_000)).collect();
    let slow = json!({"topology": {"override": [{"spine": 1, "rate_gbps": 1}]}});
    let spec = |gain: f64| merged(&fabric(json!({"name": "hopper", "params": {"gain": gain}}), 4, &flows), &slow);
    // A gain that no probe reaches leaves each flow where its first label led.
    let seed = (1..40).find(|&seed| {
        let stays = run(&merged(&spec(0.0), &json!({"seed": seed})));
        of_link(&stays, "leaf0->spine1", "packets") > 5_000
    });
    let with = |gain: f64| merged(&spec(gain), &json!({"seed": seed.expect("one of them")}));
    let (stays, hops) = (run(&with(0.0)), run_both(&with(0.8)));
    all_finished(&hops);
    assert_eq!(points(&stays, "hopper", "hopped"), 0);
    assert!(points(&hops, "hopper", "hopped") > 0);
    let fct = |outcome: &Outcome| outcome.records.iter().map(|record| record.fct).max().unwrap_or(0);
    assert!(fct(&hops) * 2 < fct(&stays), "{} against {}", fct(&hops), fct(&stays));
}

/// A link that loses everything without any notification.
fn dead(ends: [&str; 2], direction: &str, at_us: u32) -> Value {
    json!({"fault": [{"kind": "down", "ends": ends, "at_us": at_us, "direction": direction}],
           "detection": {"mode": "never"}})
}

#[test]
fn timeouts_lead_round_a_dead_link_there_and_back() {
    let flows: Vec<Value> = (0..4).map(|host| flow(host, 4 + host, 3_000_000)).collect();
    for ends in [["leaf0", "spine1"], ["leaf1", "spine1"]] {
        let spec = |name: &str| merged(&fabric(json!({"name": name}), 2, &flows), &dead(ends, "forward", 300));
        let stays = run(&spec("ecmp"));
        let lost = stays.records.iter().filter(|record| record.fct == 0).count();
        assert!(lost > 0 || ends[0] == "leaf1", "some flow was hashed to the link");
        for (scheme, heard) in [("txrehash", "timeout_rehash"), ("plb", "timeout_rehash")] {
            let outcome = run_both(&spec(scheme));
            all_finished(&outcome);
            assert!(points(&outcome, scheme, heard) > 0, "{scheme}, {ends:?}");
            // The reverse direction is dead: senders that time out make receivers move.
            let back = points(&outcome, scheme, "duplicate_rehash");
            assert_eq!(back > 0, ends[0] == "leaf1", "{scheme}, {ends:?}: {back}");
        }
    }
}

#[test]
fn a_syn_that_nobody_answers_takes_another_label() {
    let flows: Vec<Value> = (0..4).map(|host| flow(host, 4 + host, 20_000)).collect();
    let open = json!({"transport": {"handshake": true, "syn_timeout_us": 1000}});
    let spec = |name: &str| {
        merged(&merged(&fabric(json!({"name": name}), 2, &flows), &open), &dead(["leaf0", "spine1"], "forward", 0))
    };
    let unanswered = |outcome: &Outcome| outcome.report["finished"] != outcome.report["flows"];
    let stuck = merged(&spec("ecmp"), &json!({"run": {"until_us": 50_000}}));
    assert!(unanswered(&run(&stuck)), "some SYN was hashed to the link");
    let outcome = run_both(&spec("txrehash"));
    all_finished(&outcome);
    assert!(points(&outcome, "txrehash", "timeout_rehash") > 0);
}
