//! Loss recovery over a fabric: the cost of spraying over unlike paths to each of them, and that of a lost tail.

use crate::common::{all_finished, flow, flow_column, merged, run, run_both, total};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;

/// Five megabytes between two racks, packets alternating over two spines, one of which is `late_us` farther.
fn sprayed(transport: Value, late_us: u32) -> Outcome {
    let far = json!({"spine": 1, "direction": "up", "delay_ns": 1000 * (1 + late_us)});
    let outcome = run_both(&json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1, "fabric_delay_ns": 1000, "override": [far]},
        "scheme": {"name": "rps"}, "switch": {"buffer_packets": 1000},
        "transport": merged(&json!({"kind": "newreno"}), &transport),
        "traffic": [{"kind": "flows", "list": [flow(0, 1, 5_000_000, 0)]}],
    }));
    all_finished(&outcome);
    outcome
}

/// Nothing is lost, so every retransmission is spurious.
#[test]
fn rack_learns_of_reordering_where_counting_does_not() {
    let resent = |recovery: &str| total(&sprayed(json!({"recovery": recovery}), 5), |r| r.retransmits);
    let (new_reno, sack, rack) = (resent("newreno"), resent("sack"), resent("rack"));
    println!("retransmitted: NewReno {new_reno}, SACK {sack}, RACK {rack}");
    assert!(new_reno > 20 && sack > 20, "NewReno {new_reno}, SACK {sack}");
    assert!(rack * 5 < new_reno.min(sack), "RACK {rack}, NewReno {new_reno}, SACK {sack}");
}

#[test]
fn duplicates_are_told_of() {
    let outcome = sprayed(json!({"recovery": "sack"}), 20);
    let (again, spurious) = (total(&outcome, |r| r.retransmits), total(&outcome, |r| r.spurious_retransmits));
    assert!(spurious > 0 && spurious <= again, "{spurious} of {again}");
    assert_eq!(flow_column(&outcome, "spurious_retransmits"), [spurious]);
    let plain = sprayed(json!({}), 20);
    assert_eq!(total(&plain, |r| r.spurious_retransmits), 0);
}

/// Ten segments at 10 Gbps meet a line of 1 Gbps with room for four: the last ones are lost.
#[test]
fn a_lost_tail_costs_rack_no_timeout() {
    let tail = |recovery: &str| {
        let slow = json!({"host": 1, "direction": "down", "rate_gbps": 1});
        let outcome = run_both(&json!({
            "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 1, "override": [slow]},
            "switch": {"buffer_packets": 4, "ecn_threshold_packets": 0},
            "transport": {"kind": "newreno", "recovery": recovery, "min_rto_us": 10_000, "handshake": true},
            "traffic": [{"kind": "flows", "list": [flow(0, 1, 14_600, 0)]}],
        }));
        all_finished(&outcome);
        assert!(crate::common::counter(&outcome, "dropped", "packets") > 0);
        (total(&outcome, |r| r.timeouts), flow_column(&outcome, "fct_ps")[0] / 1_000_000)
    };
    let ((waits, slow), (none, fast)) = (tail("newreno"), tail("rack"));
    assert!(waits > 0 && slow > 10_000, "{waits} timeouts, {slow} us");
    assert!(none == 0 && fast < 2_000, "{none} timeouts, {fast} us");
}

/// SACK blocks are bytes on the wire, and only where something is missing.
#[test]
fn blocks_have_bytes() {
    let acks = |recovery: &str, late_us: u32| {
        let outcome = sprayed(json!({"recovery": recovery, "dupack_threshold": 0}), late_us);
        let [packets, bytes] = ["packets", "bytes"].map(|unit| crate::common::counter(&outcome, "acks", unit));
        bytes - 40 * packets
    };
    assert_eq!(acks("newreno", 20), 0);
    let blocks = acks("sack", 20);
    assert!(blocks > 12 * 100 && blocks % 4 == 0, "{blocks}");
}

/// A mark halves; with the whole window marked DCTCP's first cut does the same, and its later ones are smaller.
#[test]
fn ecn_keeps_the_queue_without_loss() {
    let fan_in = |kind: &str| {
        let list: Vec<Value> = (0..4).map(|host| flow(host, 4, 3_000_000, u64::from(host) * 1000)).collect();
        let outcome = run_both(&json!({
            "topology": {"leaves": 1, "spines": 1, "hosts_per_leaf": 5},
            "switch": {"buffer_packets": 400, "ecn_threshold_packets": 30},
            "transport": {"kind": kind, "recovery": "sack"}, "traffic": [{"kind": "flows", "list": list}],
        }));
        all_finished(&outcome);
        (total(&outcome, |r| r.retransmits), total(&outcome, |r| r.marks))
    };
    let [(lost, unmarked), (kept, marked)] = ["newreno", "ecn"].map(fan_in);
    assert!(lost > 0 && unmarked == 0, "{lost}, {unmarked}");
    assert!(kept == 0 && marked > 10, "{kept}, {marked}");
}

/// Short flows without a handshake, sprayed: the first answer of many is about their second packet.
#[test]
fn short_flows_that_are_sprayed_send_nothing_again() {
    let spec = json!({
        "topology": {"leaves": 4, "spines": 4, "hosts_per_leaf": 8, "host_rate_gbps": 25, "fabric_rate_gbps": 100},
        "transport": {"kind": "dctcp", "recovery": "rack"}, "scheme": {"name": "rps"},
        "traffic": [{"kind": "poisson", "cdf": "fb_hadoop", "load": 0.1, "duration_us": 2000}],
    });
    let outcome = run(&spec);
    let (spurious, flows) = outcome
        .records
        .iter()
        .zip(&outcome.specs)
        .filter(|(_, flow)| flow.size < 14_000)
        .fold((0, 0), |(again, flows), (record, _)| (again + record.retransmits, flows + 1));
    assert!(flows > 100 && spurious == 0, "{spurious} of {flows} flows");
}
