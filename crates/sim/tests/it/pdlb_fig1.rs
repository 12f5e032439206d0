//! PDLB's Fig. 1, "Topology Asymmetry": a burst or a failed link makes the two paths between two leaves differ, and
//! PDLB's sender sees that. Three leaves, two spines, links of 10 Gbps; the event lasts from 1 to 2 ms.
//!
//! The figure has no numbers. Its text on (b) contradicts itself: the link that fails cannot be on the path that
//! remains, and a leaf that has lost a path does not have two of them. Interpreted here: a link of L0 fails, so all
//! traffic from L0 to L2 takes the other spine, and the two paths from L1 to L2 differ.

use crate::common::{merged, run_both, series};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;

const SEEDS: std::ops::Range<u64> = 1..4;

/// Hosts 0 and 1 are L0's, 2 and 3 L1's, 4 and 5 L2's. Cells go in turn, so steady traffic does not queue; a gap of
/// eight packets' time between the paths is an asymmetry.
fn fabric(seed: u64, change: &Value) -> Outcome {
    let base = json!({
        "seed": seed,
        "topology": {"leaves": 3, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 20, "fabric_rate_gbps": 10,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000},
        "scheme": {"name": "pdlb", "params": {"dispatch": "round_robin", "gate_packets": 8}},
        "switch": {"buffer_bytes": 10_000_000},
        "metrics": {"series_interval_us": 20, "series_links": "all"},
        "run": {"until_us": 4_000, "stop": "time"},
    });
    run_both(&merged(&base, change))
}

fn udp(src: u32, dst: u32, schedule: Value) -> Value {
    json!({"kind": "udp", "src": src, "dst": dst, "packet_bytes": 1500, "schedule": schedule})
}

/// The longest queue at a link, KB, between two instants in µs.
fn longest(outcome: &Outcome, link: &str, from: u64, until: u64) -> f64 {
    let points = series(outcome, "link_queue_bytes");
    let within = |at: u64| (from * 1_000_000..until * 1_000_000).contains(&at);
    let all = points.iter().filter(|(at, who, _)| who == link && within(*at)).map(|(_, _, bytes)| *bytes);
    all.fold(0.0, f64::max) / 1e3
}

/// The last value of a host's series at this instant, in µs.
fn last(outcome: &Outcome, name: &str, host: &str, at: u64) -> f64 {
    let points = series(outcome, name);
    let mut before = points.iter().filter(|(when, who, _)| who == host && *when <= at * 1_000_000);
    before.next_back().map_or(0.0, |(_, _, value)| *value)
}

#[test]
fn a_a_burst_from_l1_blocks_s0_and_the_paths_from_l0_become_asymmetric() {
    for seed in SEEDS {
        // The burst's hash names S0: L1 has no other uplink here. 12 Gbps come to the link from S0 to L2.
        let burst = json!([{"rate_gbps": 0.01}, {"at_us": 1000, "rate_gbps": 12}, {"at_us": 2000, "rate_gbps": 0.01}]);
        let outcome = fabric(
            seed,
            &json!({
                "topology": {"override": [{"leaf": 1, "spine": 0, "rate_gbps": 20}, {"leaf": 1, "spine": 1, "up": false}]},
                "traffic": [udp(0, 4, json!([{"rate_gbps": 2}])), udp(2, 5, burst)],
            }),
        );
        let queues = |from, until| ["spine0->leaf2", "spine1->leaf2"].map(|link| longest(&outcome, link, from, until));
        let (before, during) = (queues(500, 1000), queues(1000, 2000));
        assert!(before.iter().all(|kb| *kb < 5.0), "seed {seed}: {before:?} KB");
        assert!(during[0] > 200.0 && during[1] < 5.0, "seed {seed}: {during:?} KB");
        // One of L0's two paths to L2 is congested for that long, and cells are coarse.
        let bad = |at| last(&outcome, "pdlb.bad_paths", "host0", at);
        assert_eq!([900, 1400, 2000, 3000].map(bad), [0.0, 1.0, 1.0, 0.0], "seed {seed}");
        let granularity = |at| last(&outcome, "pdlb.granularity", "host0", at);
        assert_eq!([900, 1400, 2000, 3000].map(granularity), [1.0, 44.0, 44.0, 1.0], "seed {seed}");
    }
}

#[test]
fn b_a_failed_link_of_l0_makes_the_paths_from_l1_asymmetric() {
    for seed in SEEDS {
        let outcome = fabric(
            seed,
            &json!({
                "traffic": [udp(0, 4, json!([{"rate_gbps": 8.5}])), udp(2, 5, json!([{"rate_gbps": 4}]))],
                "fault": [{"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 1000, "until_us": 2000}],
                "detection": {"mode": "oracle"},
            }),
        );
        // 6.25 Gbps by each spine; then 10.5 by S0 and 2 by S1.
        let queues = |from, until| ["spine0->leaf2", "spine1->leaf2"].map(|link| longest(&outcome, link, from, until));
        let (before, during) = (queues(500, 1000), queues(1100, 2000));
        assert!(before.iter().all(|kb| *kb < 10.0), "seed {seed}: {before:?} KB");
        assert!(during[0] > 30.0 && during[1] < 5.0, "seed {seed}: {during:?} KB");
        let bad = |at| last(&outcome, "pdlb.bad_paths", "host2", at);
        assert_eq!([900, 1400, 2000, 3000].map(bad), [0.0, 1.0, 1.0, 0.0], "seed {seed}: of L1's paths to L2");
    }
}
