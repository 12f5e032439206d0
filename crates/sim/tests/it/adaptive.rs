//! Present-day switches in whole runs: what adaptive routing and round robin put on which uplink.

use crate::common::{all_finished, events, merged, of_link, run, run_both, run_with};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;

/// Two leaves, four spines; four hosts of leaf 0 send at 6 Gbps each. Nothing reacts.
fn fabric(scheme: Value, slow_gbps: f64) -> Value {
    let udp = |host: u32| {
        json!({"kind": "udp", "src": host, "dst": host + 4, "packet_bytes": 1000,
               "schedule": [{"at_us": 0.13 * f64::from(host), "rate_gbps": 6}]})
    };
    json!({
        "seed": 4, "scheme": scheme,
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                     "override": [{"leaf": 0, "spine": 2, "rate_gbps": slow_gbps}]},
        "switch": {"buffer_bytes": 200_000},
        "traffic": (0..4).map(udp).collect::<Vec<_>>(), "run": {"stop": "time", "until_us": 1500},
    })
}

/// Packets that leaf 0 has put on the link to each spine, and those that found no room.
fn uplinks(outcome: &Outcome) -> ([u64; 4], u64) {
    let of = |what: &'static str| [0, 1, 2, 3].map(|spine| of_link(outcome, &format!("leaf0->spine{spine}"), what));
    (of("packets"), of("drops").iter().sum())
}

#[test]
fn turns_are_even_to_the_packet() {
    let (packets, drops) = uplinks(&run(&fabric(json!({"name": "round_robin"}), 10.0)));
    assert!(packets[0] > 1000 && packets.iter().all(|n| n.abs_diff(packets[0]) <= 1), "{packets:?}");
    assert_eq!(drops, 0);
}

#[test]
fn a_slow_uplink_gets_what_it_can_carry_by_levels_and_a_quarter_by_turns() {
    let by = |scheme: Value| uplinks(&run(&fabric(scheme, 2.0)));
    let (packets, drops) = by(json!({"name": "adaptive"}));
    let all: u64 = packets.iter().sum();
    // 2 of 24 Gbps, and what its queue holds at level 0 or 1 while other queues are empty.
    assert!(packets[2] * 24 < all * 3 && packets[2] > 0, "{packets:?}");
    assert_eq!(drops, 0);
    let (_, by_turns) = by(json!({"name": "round_robin"}));
    let (_, by_hash) = by(json!({"name": "host_ar"}));
    assert!(by_turns > 500, "6 Gbps do not go into 2: {by_turns} dropped");
    assert!(by_hash < by_turns / 2, "half of what is hashed there goes elsewhere: {by_hash} dropped");
}

#[test]
fn the_use_of_links_is_seen_where_no_queue_grows() {
    // All ties are broken at random by queues, 6 Gbps each; by use the 2 Gbps link is as good until half of it is used.
    let params = json!({"compare": "bandwidth", "small_bytes": 0});
    let (packets, _) = uplinks(&run(&fabric(json!({"name": "adaptive", "params": params}), 40.0)));
    let (fast, others) = (packets[2], packets[0] + packets[1] + packets[3]);
    assert!(fast * 10 > others * 4, "a link of 40 Gbps is used less by each packet: {packets:?}");
}

/// Queues, their room, busy times and pauses are reported alike by all kinds of ports and engines.
#[test]
fn what_is_compared_does_not_depend_on_the_kind_of_port_or_engine() {
    let mut hashes = std::collections::BTreeSet::new();
    for compare in ["queue", "bandwidth", "pause", "pqb", "pq", "pb", "qb"] {
        let scheme = json!({"name": "adaptive", "params": {"compare": compare, "refresh_us": 0.7}});
        let spec = json!({
            "preset": "selb", "seed": 3, "scheme": merged(&scheme, &json!({"acks": "scheme"})),
            "topology": {"leaves": 3, "spines": 3, "hosts_per_leaf": 4, "host_rate_gbps": 100, "fabric_rate_gbps": 100},
            "switch": {"buffer_bytes": 600_000},
            "traffic": [{"kind": "incast", "receiver": 0, "senders": 7, "size_bytes": 300_000},
                        {"kind": "permutation", "size_bytes": 200_000, "inter_rack": true}],
        });
        let outcome = run_both(&spec);
        all_finished(&outcome);
        hashes.insert(outcome.hash);
        let tcp = merged(&fabric(scheme, 3.0), &json!({"switch": {"queue_counts": "in_service"}}));
        let hash = run(&tcp).hash;
        for tuning in [Tuning { commit_at_start: true, ..Tuning::default() }, events()] {
            assert_eq!(run_with(&tcp, tuning).hash, hash, "{compare}, {tuning:?}");
        }
    }
    assert!(hashes.len() >= 5, "what is compared matters: {} outcomes", hashes.len());
}
