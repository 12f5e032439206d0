//! Connections of Ultra Ethernet that messages share: one path under ECMP, and the knowledge of the previous message.

use crate::common::{all_finished, flow, merged, of_link, run, run_both, series};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::spec::resolve;

/// Two racks of two hosts at 100 Gbps, with eight links of 100 Gbps between them of which one has a tenth.
fn spec(scheme: &str, traffic: Value, connections: Value) -> Value {
    json!({
        "preset": "uet", "scheme": {"name": scheme}, "traffic": [traffic],
        "topology": {"leaves": 2, "spines": 8, "hosts_per_leaf": 2, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000,
                     "override": [{"leaf": 0, "spine": 3, "rate_gbps": 10}]},
        "transport": {"connections": connections, "ack_every_bytes": 1},
    })
}

/// This many messages of 80 packets from host 0 to host 2, one after another, unless `apart` is short.
fn messages(many: u64, apart_ns: u64) -> Value {
    let list: Vec<Value> = (0..many).map(|n| flow(0, 2, 80 * 4086, apart_ns * n)).collect();
    json!({"kind": "flows", "list": list})
}

fn uplinks(outcome: &Outcome) -> Vec<u64> {
    (0..8).map(|spine| of_link(outcome, &format!("leaf0->spine{spine}"), "packets")).collect()
}

#[test]
fn messages_of_a_connection_are_one_to_switches() {
    let used = |connections: Value| {
        let outcome = run_both(&spec("ecmp", messages(24, 500_000), connections));
        all_finished(&outcome);
        uplinks(&outcome).iter().filter(|&&packets| packets > 0).count()
    };
    assert_eq!(used(json!(1)), 1);
    let several = used(json!(4));
    assert!((2..=4).contains(&several), "{several}");
    assert!(used(Value::Null) > 4, "each message hashed by itself");
}

/// A message of 80 packets learns late which values meet the slow link, unless earlier ones have.
#[test]
fn messages_go_on_with_the_values_of_the_one_before() {
    for scheme in ["mrc", "uno", "uet_mixed"] {
        let slow = |connections: Value| {
            let outcome = run_both(&spec(scheme, messages(40, 500_000), connections));
            all_finished(&outcome);
            uplinks(&outcome)[3]
        };
        let (afresh, kept) = (slow(Value::Null), slow(json!(1)));
        assert!(kept * 3 < afresh * 2, "{scheme}: {kept} packets on the slow link against {afresh}");
        // Each of four connections learns separately.
        let four = slow(json!(4));
        assert!(kept < four && four < afresh, "{scheme}: {kept} {four} {afresh}");
    }
}

/// Messages between the same two hosts in the same direction share their knowledge.
#[test]
fn other_hosts_learn_for_themselves() {
    let list = |other: (u32, u32)| {
        let before = (0..20).map(|n| flow(0, 2, 80 * 4086, 500_000 * n));
        let last = flow(other.0, other.1, 80 * 4086, 20_000_000);
        json!({"kind": "flows", "list": before.chain([last]).collect::<Vec<Value>>()})
    };
    let last = |other: (u32, u32), connections: Value| {
        let outcome = run_both(&spec("reps", list(other), connections));
        outcome.records.iter().last().expect("the last").fct
    };
    assert_ne!(last((0, 2), json!(1)), last((0, 2), Value::Null), "it goes on");
    for other in [(0, 3), (1, 2), (2, 0)] {
        assert_eq!(last(other, json!(1)), last(other, Value::Null), "{other:?} has nothing to go on with");
    }
}

#[test]
fn messages_under_way_at_once_and_those_that_wait_for_others() {
    for scheme in crate::uet::ENTROPY {
        for traffic in [
            messages(40, 2_000),
            json!({"kind": "all_to_all", "size_bytes": 300_000, "rounds": 3}),
            json!({"kind": "all_reduce", "size_bytes": 900_000, "rounds": 2}),
        ] {
            for more in [json!({}), json!({"transport": {"receiver_credit": true}})] {
                let outcome = run_both(&merged(&spec(scheme, traffic.clone(), json!(2)), &more));
                all_finished(&outcome);
            }
        }
    }
}

#[test]
fn without_others_of_its_connection_a_message_is_what_it_was() {
    for scheme in crate::uet::ENTROPY {
        let alone = |connections: Value| run(&spec(scheme, messages(1, 0), connections)).hash;
        assert_eq!(alone(json!(1)), alone(Value::Null), "{scheme}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |spec: Value| resolve(&spec).expect_err("refused").to_string();
    let said = refused(spec("reps", messages(1, 0), json!(0)));
    assert_eq!(said, "transport.connections = 0: expected a whole number from 1 to 64");
    let tcp = json!({"preset": "linux", "transport": {"connections": 2}, "traffic": [messages(1, 0)]});
    assert!(refused(tcp).ends_with("connections is a key of kind = \"uet\""));
}

/// A scheme's byte counts begin afresh with each message: from the second one on, every acknowledgement ended a round,
/// because the bytes of the one before were taken for acknowledged.
#[test]
fn bytes_of_a_message_are_not_those_of_the_one_before() {
    let pairs = |start_ns: u64| (0..4).map(move |n| flow(n, 4 + n, 4_000_000, start_ns));
    let list: Vec<Value> = pairs(0).chain(pairs(3_000_000)).collect();
    for (scheme, name) in [("plb", "plb.plb_rehash"), ("flowbender", "flowbender.bent")] {
        let moved = |connections: Value| {
            let outcome = run_both(&json!({
                "preset": "uet", "scheme": {"name": scheme}, "traffic": [{"kind": "flows", "list": list.clone()}],
                "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_rate_gbps": 100,
                             "fabric_rate_gbps": 100},
                "transport": {"connections": connections},
            }));
            all_finished(&outcome);
            series(&outcome, name).len()
        };
        let (own, kept) = (moved(Value::Null), moved(json!(1)));
        assert!(own > 0 && kept < 2 * own, "{scheme}: {kept} changes of path on kept connections, {own} on new ones");
    }
}

/// MRC continues to probe values that failed a message before: the answers to that message's probes never came.
#[test]
fn values_that_failed_a_message_before_are_probed() {
    let list = [flow(0, 2, 2_000_000, 0), flow(0, 2, 40_000_000, 1_000_000)];
    let back = |connections: Value| {
        let outcome = run_both(&json!({
            "preset": "uet", "scheme": {"name": "mrc"}, "traffic": [{"kind": "flows", "list": list.clone()}],
            "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 2, "host_rate_gbps": 100,
                         "fabric_rate_gbps": 100},
            "transport": {"connections": connections},
            "detection": {"mode": "never"},
            "fault": [{"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 30, "until_us": 1500}],
        }));
        all_finished(&outcome);
        series(&outcome, "mrc.back").len()
    };
    assert!(back(Value::Null) > 0);
    assert!(back(json!(1)) > 0);
}
