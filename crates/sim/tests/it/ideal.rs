//! The ideal completion time is one that no scheme can beat, and is reached where only one path exists.
//! `conservation.rs` and `fault_properties.rs` assert that it holds in thousands of random networks.

use crate::common::{flow, flow_column, graph, merged, run};
use serde_json::{Value, json};

/// Two racks, everything at 10 Gbps and 1 µs except for `change`; no loss recovery by duplicates.
fn spec(spines: u32, size: u64, change: &Value) -> Value {
    let base = json!({
        "topology": {"leaves": 2, "spines": spines, "hosts_per_leaf": 1, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000},
        "transport": {"kind": "dctcp", "mss_bytes": 1460, "header_bytes": 40, "dupack_threshold": 0,
                      "initial_window_segments": 4000, "min_rto_us": 100_000, "initial_rto_us": 100_000},
        "switch": {"buffer_bytes": 100_000_000, "ecn_threshold_bytes": 90_000_000},
        "scheme": {"name": "packet_scatter"},
        "traffic": [{"kind": "flows", "list": [flow(0, 1, size, 0)]}],
    });
    merged(&base, change)
}

/// Completion time of the only flow, and its ideal.
fn times(spec: &Value) -> (u64, u64) {
    let outcome = run(spec);
    (flow_column(&outcome, "fct_ps")[0], flow_column(&outcome, "ideal_fct_ps")[0])
}

fn by_best_path() -> Value {
    json!({"metrics": {"ideal": "best_path"}})
}

#[test]
fn eight_slow_paths_together_are_faster_than_one() {
    let fast_hosts = json!({"topology": {"host_rate_gbps": 100}});
    let (fct, ideal) = times(&spec(8, 3_000_000, &fast_hosts));
    // 2054 full packets of 1.2 µs and a short one over eight uplinks: 257 on most of them. Before that one crosses the
    // host's link, behind it the spine's and the other host's.
    assert_eq!(ideal, 120_000 + 1_000_000 + 257 * 1_200_000 + 1_000_000 + 2_200_000 + 120_000 + 1_000_000);
    assert!(fct >= ideal && fct < ideal * 102 / 100, "{fct} {ideal}");
    let (same, one_path) = times(&spec(8, 3_000_000, &merged(&fast_hosts, &by_best_path())));
    // All of them one behind another over one uplink, the short one of 960 ns on its two slow links.
    assert_eq!(one_path, 4_000_000 + 120_000 + 2_055 * 1_200_000 + 2 * 960_000 - 960_000 + 96_000);
    assert_eq!(same, fct, "what is measured does not hang on what it is measured against");
    assert!(fct < one_path, "with several paths a flow beats the best one");
}

#[test]
fn a_short_last_packet_may_overtake_a_full_one() {
    // 1500 and 41 bytes, each on a separate spine: the short one arrives first, and the full one decides.
    let (fct, ideal) = times(&spec(2, 1461, &json!({})));
    assert_eq!((fct, ideal), (8_800_000, 8_800_000));
    let (fct, behind) = times(&spec(2, 1461, &by_best_path()));
    assert_eq!((fct, behind), (8_800_000, 8_800_000 + 32_800));
    // A longer one does not arrive in time: 1400 bytes wait at the last link behind the full packet.
    let (fct, ideal) = times(&spec(2, 1460 + 1360, &json!({})));
    assert_eq!((fct, ideal), (8_800_000 + 1_120_000, 8_800_000 + 1_120_000));
}

#[test]
fn on_one_path_the_ideal_is_reached() {
    for (host, fabric) in [(10.0, 10.0), (10.0, 2.5), (2.5, 10.0), (40.0, 5.0)] {
        for size in [1, 1460, 1461, 29_200, 100_000, 777_777] {
            let change = json!({"topology": {"host_rate_gbps": host, "fabric_rate_gbps": fabric}});
            let (fct, ideal) = times(&spec(1, size, &change));
            assert_eq!(fct, ideal, "{size} bytes, hosts at {host}, fabric at {fabric} Gbps");
            assert_eq!(ideal, times(&spec(1, size, &merged(&change, &by_best_path()))).1);
        }
    }
}

#[test]
fn whole_packets_on_alike_paths_reach_it_too() {
    for size in [1460, 14_600, 1_460_000] {
        let (fct, ideal) = times(&spec(4, size, &json!({"scheme": {"name": "ecmp"}})));
        assert_eq!(fct, ideal, "{size} bytes");
    }
}

#[test]
fn it_is_the_least_over_the_packets_that_are_named() {
    // A packet of 2,000 bytes and 40 crosses four links in full; two of 1,460 and 540 overlap.
    let with = |ideal: &str, frames: Value| {
        times(&spec(1, 2_000, &json!({"metrics": {"ideal": ideal, "ideal_frames": frames}}))).1
    };
    let (own, whole) = (4_000_000 + 4 * 1_200_000 + 464_000, 4_000_000 + 4 * 1_632_000);
    for ideal in ["bound", "best_path"] {
        assert_eq!(with(ideal, json!([])), own);
        assert_eq!(with(ideal, json!([[2_000, 40]])), own, "its own packets are sooner there");
        assert_eq!(with(ideal, json!([[2_000, 40], [500, 0]])), 4_000_000 + 7 * 400_000);
    }
    let large = json!({"transport": {"mss_bytes": 2_000}});
    assert_eq!(times(&spec(1, 2_000, &large)).1, whole);
    assert_eq!(times(&spec(1, 2_000, &merged(&large, &json!({"metrics": {"ideal_frames": [[1_460, 40]]}})))).1, own);
}

/// Hosts 0 and 1 at leaves of their own, and between them two paths of three links; Gbps of the middle ones.
fn two_paths(middle: [f64; 2]) -> Value {
    let links = [(0, 2, 100.0), (1, 3, 100.0), (2, 4, 100.0), (2, 5, 100.0), (6, 3, 100.0), (7, 3, 100.0)];
    let inner = [(4, 6, middle[0]), (5, 7, middle[1])];
    let cables = links.into_iter().chain(inner).map(|(a, b, rate)| json!([a, b, rate, 1000]));
    json!({"topology": graph(2, 6, cables.collect())})
}

#[test]
fn the_narrowest_cut_is_found_wherever_it_is() {
    // 30 packets, 10 over 10 Gbps and 20 over 20 Gbps, in 12 µs; two links before, two behind, 120 ns and 1 µs each.
    let mut spec = spec(1, 30 * 1460, &json!({}));
    spec["topology"] = two_paths([10.0, 20.0])["topology"].clone();
    let (fct, ideal) = times(&spec);
    assert_eq!(ideal, 2 * 1_120_000 + 12_000_000 + 1_000_000 + 2 * 1_120_000);
    assert!(fct > ideal, "in turn is not in proportion");
    // Everything is equally fast: only the ends count.
    spec["topology"] = two_paths([100.0, 100.0])["topology"].clone();
    assert_eq!(times(&spec).1, 30 * 120_000 + 4 * 120_000 + 5 * 1_000_000);
}

#[test]
fn a_sender_without_patience_may_reorder_on_one_path() {
    // It may resend before it can have heard: then nothing keeps the short packet last. Fast, medium and slow links.
    let rates = json!({"topology": {"host_rate_gbps": 100, "fabric_rate_gbps": 10,
                       "override": [{"host": 1, "rate_gbps": 1}]}});
    let patient = times(&spec(1, 2_000, &rates)).1;
    let hasty = merged(&rates, &json!({"transport": {"min_rto_us": 1, "initial_rto_us": 1}}));
    let (fct, ideal) = times(&spec(1, 2_000, &hasty));
    assert!(ideal <= patient && fct >= ideal, "{fct} {ideal} {patient}");
}

#[test]
fn rates_that_fall_and_rise_again_are_taken_at_their_best() {
    let fault =
        json!({"fault": [{"kind": "rate", "ends": ["leaf0", "spine0"], "rate_gbps": 1, "at_us": 0, "until_us": 50}]});
    let (slowed, ideal) = times(&spec(1, 1_000_000, &fault));
    assert_eq!(ideal, times(&spec(1, 1_000_000, &json!({}))).0);
    assert!(slowed > ideal);
}
