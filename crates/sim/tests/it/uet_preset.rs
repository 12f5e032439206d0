//! Presets uet and uet-htsim: their differences, and that each rule alone makes a difference.

use crate::common::{counter, flow, flow_column, merged, run};
use serde_json::{Map, Value, json};
use spinewise_sim::spec::resolve;

/// Four racks of eight hosts under eight spines, 100 Gbps and 1 us per link; every host sends to the rack after next.
fn spec(preset: &str, scheme: &str, more: Value) -> Value {
    let list: Vec<Value> = (0..32).map(|src| flow(src, (src + 16 + src % 3) % 32, 1_000_000, 0)).collect();
    let base = json!({
        "preset": preset, "scheme": {"name": scheme}, "traffic": [{"kind": "flows", "list": list}],
        "topology": {"leaves": 4, "spines": 8, "hosts_per_leaf": 8, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000},
        "run": {"until_us": 50_000},
    });
    merged(&base, &more)
}

/// Keys with different values in the two tables, with their values.
fn differences(
    one: &Map<String, Value>,
    other: &Map<String, Value>,
    path: &str,
    found: &mut Vec<(String, Value, Value)>,
) {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>(), "{path}");
    for (key, value) in one {
        match (value, &other[key]) {
            (Value::Object(a), Value::Object(b)) => differences(a, b, &format!("{path}{key}."), found),
            (a, b) if a != b => found.push((format!("{path}{key}"), a.clone(), b.clone())),
            _ => {}
        }
    }
}

fn told(preset: &str, scheme: &str, more: &Value) -> Map<String, Value> {
    let spec = resolve(&spec(preset, scheme, more.clone())).unwrap_or_else(|error| panic!("{error}"));
    spec.resolved.as_object().expect("a table").clone()
}

#[test]
fn the_two_differ_in_seven_rules_and_in_nothing_else() {
    let blames = ("scheme.params.timeout_blames", json!("first"), json!("value"));
    let trims = ("transport.nscc_base_rtt_from_trims", json!(true), json!(false));
    let wraps = ("transport.nscc_flight_wraps", json!(true), json!(false));
    let after_end = ("transport.pull_after_end", json!(true), json!(false));
    let again = ("transport.ask_again", json!(false), json!(true));
    let heeds = ("transport.pull_heeds", json!("oversubscription"), json!("congestion"));
    let lists = ("scheme.params.lists", json!("destination"), json!("switch"));
    let alone = json!({"transport": {"congestion_control": "none", "receiver_credit": true}});
    let cases = [
        ("round_robin", json!({}), vec![&lists, &again, &trims, &wraps, &after_end, &heeds]),
        ("bitmap", json!({}), vec![&blames, &again, &trims, &wraps, &after_end, &heeds]),
        ("uet_mixed", json!({}), vec![&blames, &again, &trims, &wraps, &after_end, &heeds]),
        ("reps", json!({}), vec![&again, &trims, &wraps, &after_end, &heeds]),
        ("oblivious", json!({"transport": {"congestion_control": "constant"}}), vec![&again, &after_end, &heeds]),
    ];
    for (scheme, more, expected) in cases {
        let mut found = vec![];
        differences(&told("uet-htsim", scheme, &more), &told("uet", scheme, &more), "", &mut found);
        found.retain(|(key, ..)| key != "preset");
        let expected: Vec<_> =
            expected.into_iter().map(|(key, a, b)| (key.to_string(), a.clone(), b.clone())).collect();
        assert_eq!(found, expected, "{scheme}");
    }
    let least = |preset| told(preset, "oblivious", &alone)["transport"]["pull_least"].as_f64();
    assert_eq!((least("uet-htsim"), least("uet")), (Some(1.0), Some(0.1)));
}

/// The fabric is as fast as its hosts, but hashed flows share links in it: receivers that consider only their own links
/// have them trimmed to the end.
#[test]
fn receivers_that_heed_the_fabric_slow_down() {
    let trimmed = |heeds: &str| {
        let alone = json!({"congestion_control": "none", "receiver_credit": true, "pull_heeds": heeds});
        let outcome = run(&spec("uet", "ecmp", json!({"transport": alone})));
        assert_eq!(outcome.report["finished"], 32, "{heeds}");
        counter(&outcome, "trimmed", "packets")
    };
    let (deaf, heeding) = (trimmed("oversubscription"), trimmed("congestion"));
    assert!(deaf > 2 * heeding && heeding > 0, "{deaf} {heeding}");
}

/// One spine is dead, unseen: a scheme that blames the lost value leaves it.
#[test]
fn who_blames_the_lost_value_leaves_a_dead_path() {
    let timeouts = |blames: &str| {
        let dead = json!({
            "scheme": {"params": {"values": 64, "timeout_blames": blames}}, "detection": {"mode": "never"},
            "fault": [{"kind": "down", "switch": "spine0", "at_us": 5, "may_cut_off": true}],
        });
        flow_column(&run(&spec("uet", "bitmap", dead)), "timeouts").iter().sum::<u64>()
    };
    let (first, value) = (timeouts("first"), timeouts("value"));
    assert!(first > value && value > 0, "{first} {value}");
}

/// Headers of trimmed packets overtake what waits: they show a shorter round trip, and the window shrinks with it.
#[test]
fn round_trips_of_trimmed_packets_shrink_windows() {
    let list: Vec<Value> = (0..16).map(|n| flow(8 + n, 0, 1_000_000, 0)).collect();
    let traffic = json!([{"kind": "flows", "list": list}]);
    let times = |told: bool| {
        let rule = json!({"transport": {"nscc_base_rtt_from_trims": told}, "traffic": traffic});
        let outcome = run(&spec("uet", "oblivious", rule));
        assert!(counter(&outcome, "trimmed", "packets") > 0);
        flow_column(&outcome, "sender_fct_ps")
    };
    assert_ne!(times(true), times(false));
}

/// A flow alone is satisfied some thirty times while its first window goes out, and is queued that many times among
/// those that are granted credit unasked. With 2,000,000 bytes across a leaf-spine of links of 100 Gbps and 1 us,
/// senders of uet-htsim get 179 grants, 126 answers, and finish after 172.619 us (its case `ls128.one128.obl.rccc`).
#[test]
fn receivers_that_grant_to_the_end_grant_as_often_as_the_reference() {
    let told = |after_end: bool| {
        let outcome = run(&spec(
            "uet-htsim",
            "oblivious",
            json!({
                "transport": {"congestion_control": "none", "receiver_credit": true, "pull_after_end": after_end},
                "traffic": [{"kind": "flows", "list": [flow(0, 16, 2_000_000, 0)]}],
                "run": {"until_us": 1_000, "stop": "time"},
            }),
        ));
        (flow_column(&outcome, "sender_fct_ps")[0], counter(&outcome, "acks", "packets"))
    };
    let (goes_on, ends) = (told(true), told(false));
    assert_eq!((goes_on.0 / 1_000_000, goes_on.1), (172, 126 + 179));
    assert_eq!(ends.0, goes_on.0, "what comes after the last byte is too late");
    assert!(ends.1 < goes_on.1, "{ends:?}");
}

/// The receiver's link is down for longer than the retransmission timeout: each packet is given up once, the request
/// that reports it is lost, and nothing is in flight any more.
#[test]
fn who_asks_again_survives_a_lost_request() {
    for kind in ["none", "nscc"] {
        for until in [80, 320, 2_000] {
            let finished = |preset: &str| {
                let outage = json!({
                    "transport": {"congestion_control": kind, "receiver_credit": true},
                    "traffic": [{"kind": "flows", "list": [flow(0, 16, 1_000_000, 0), flow(8, 16, 1_000_000, 0)]}],
                    "fault": [{"kind": "down", "ends": ["host16", "leaf2"], "at_us": 20, "until_us": until}],
                });
                run(&spec(preset, "oblivious", outage)).report["finished"].as_u64()
            };
            assert_eq!(finished("uet"), Some(2), "{kind}, until {until} us");
            assert!(until == 80 || finished("uet-htsim") < Some(2), "{kind}: there, a request is sent once");
        }
    }
}

/// The answer to an earlier copy of a packet may come right after it is sent again: a round trip of zero. Presets that
/// do not take round trips from trimmed packets take none under any congestion control, and probes go no faster than
/// the line.
#[test]
fn no_round_trip_of_nothing_floods_a_link_with_probes() {
    let spec = json!({
        "seed": 426_011_777_080_u64, "run": {"until_us": 50_542},
        "switch": {"model": "trimming", "buffer_bytes": 88_027, "ecn_min_bytes": 14_284, "ecn_max_bytes": 82_568,
                   "ecn_max_probability": 0.03245612856435718, "mark_last_hop": true, "trimmed_bytes": 265},
        "scheme": {"name": "conga", "header_bytes": "free"},
        "topology": {"kind": "fat_tree", "pods": 1, "leaves_per_pod": 3, "aggregations_per_pod": 4, "cores_per_aggregation": 2,
                     "hosts_per_leaf": 2, "host_rate_gbps": 40, "fabric_rate_gbps": 100, "core_rate_gbps": 40,
                     "host_delay_ns": 3685, "fabric_delay_ns": 2837, "core_delay_ns": 3591.475, "switch_latency_ns": 2240,
                     "override": [{"aggregation": 0, "delay_ns": 0, "rate_gbps": 10}, {"aggregation": 3, "leaf": 1, "up": false}]},
        "traffic": [
            {"kind": "poisson", "cdf": "ali_storage", "load": 0.9078444769920372, "load_of": "leaf_uplinks", "max_flows": 6,
             "pairs": "inter_rack"},
            {"kind": "all_reduce", "hosts": [0, 1], "size_bytes": 32_525, "order": "random", "gap_us": 115},
            {"kind": "incast", "receiver": 1, "senders": 2, "size_bytes": 51_929, "period_us": 206, "repeat": 2},
        ],
        "transport": {"kind": "uet", "congestion_control": "constant", "mss_bytes": 400, "header_bytes": 25, "ack_bytes": 17,
                      "ack_every_bytes": 16_384, "rto_us": 549, "receiver_credit": true, "pull_least": 0.2, "recovery": "sleek"},
    });
    for preset in ["datacenter", "uet", "uet-htsim"] {
        let outcome = run(&merged(&spec, &json!({"preset": preset})));
        let hops = outcome.report["packet_hops"].as_u64().expect("a number");
        assert!(hops < 2_000_000, "{preset}: {hops}");
    }
}
