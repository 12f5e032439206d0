//! The preset of the public ns-3 code of Hermes: the time of a lone connection there, packet by packet.

use crate::common::{flow, flow_column, merged, of_link, run, total};
use serde_json::{Value, json};

const MSS: u64 = 1400;
const DELAY: u64 = 10_000_000;

/// 2 x 2 leaf-spine at 10 Gbps and 10 us a link.
fn spec(flows: &[Value], change: Value) -> Value {
    let base = json!({
        "preset": "ns3-hermes",
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4, "host_delay_ns": 10_000, "fabric_delay_ns": 10_000},
        "traffic": [{"kind": "flows", "list": flows}],
    });
    merged(&base, &change)
}

/// Returns when packets of these sizes that leave back to back at `start` have crossed `hops` links, in ps.
fn cross(start: u64, packets: &[u64], hops: u64) -> Vec<u64> {
    let mut at = vec![start; packets.len()];
    for _ in 0..hops {
        let mut free = 0;
        for (at, bytes) in at.iter_mut().zip(packets) {
            free = free.max(*at) + bytes * 800;
            *at = free;
        }
        at.iter_mut().for_each(|at| *at += DELAY);
    }
    at
}

/// The time of `size` bytes between racks from the SYN to the last packet: two segments upon the SYN-ACK and upon every
/// acknowledgement.
fn lone(size: u64) -> u64 {
    let one = |start: u64, bytes: u64| cross(start, &[bytes], 4)[0];
    let opened = one(one(0, 58), 58);
    let mut left = size;
    let mut next = || {
        let payload = left.min(MSS);
        left -= payload;
        (payload > 0).then_some(payload + 54)
    };
    // The third packet of the handshake goes before the data throughout.
    let mut free = opened + 54 * 800;
    let (mut acks, mut last) = (std::collections::VecDeque::from([opened]), 0);
    while let Some(at) = acks.pop_front() {
        for bytes in [next(), next()].into_iter().flatten() {
            let start = at.max(free);
            free = start + bytes * 800;
            let arrived = (free + DELAY + 3 * (bytes * 800 + DELAY)).max(last);
            last = arrived;
            acks.push_back(one(arrived, 54));
        }
        if acks.is_empty() {
            // This one answered the last byte.
            return one(at, 54);
        }
    }
    unreachable!("the last acknowledgement ends it")
}

#[test]
fn a_lone_connection_takes_what_its_packets_take() {
    // Whole segments: after a shorter last one nothing could be that simple.
    for segments in [1, 2, 3, 6, 7, 14, 15, 40] {
        let outcome = run(&spec(&[flow(0, 4, segments * MSS, 1000)], json!({})));
        assert_eq!(flow_column(&outcome, "close_fct_ps")[0], lone(segments * MSS), "{segments} segments");
    }
}

#[test]
fn two_segments_an_acknowledgement_make_rounds_of_2_4_8() {
    let rounds = |segments: u64| lone(segments * MSS) / 80_000_000;
    // Handshake and closing take one round each.
    assert_eq!([1, 2, 3, 6, 7, 14, 15].map(rounds), [2, 2, 3, 3, 4, 4, 5]);
    let unbounded = run(&spec(&[flow(0, 4, 10 * MSS, 1000)], json!({"transport": {"max_burst_segments": 0}})));
    assert_eq!(flow_column(&unbounded, "close_fct_ps")[0] / 80_000_000, 2);
}

#[test]
fn without_closing_nothing_is_sent_after_the_last_acknowledgement() {
    let outcome = run(&spec(&[flow(0, 4, MSS, 1000)], json!({"transport": {"fin": false}})));
    assert_eq!(flow_column(&outcome, "close_fct_ps")[0], 0);
    let closed = run(&spec(&[flow(0, 4, MSS, 1000)], json!({})));
    assert_eq!(flow_column(&closed, "sender_fct_ps"), flow_column(&outcome, "sender_fct_ps"));
    assert_eq!(of_link(&closed, "host0->leaf0", "packets"), of_link(&outcome, "host0->leaf0", "packets") + 1);
}

#[test]
fn a_host_that_sends_alone_marks_itself() {
    // Nothing is slower than its own link, so its window queues there, beyond 91,000 bytes above ten packets.
    let outcome = run(&spec(&[flow(0, 4, 3000 * MSS, 0)], json!({})));
    let longest = of_link(&outcome, "host0->leaf0", "longest_queue_bytes");
    assert!(longest >= 91_000 + 10 * 1454, "{longest}");
    assert_eq!(u64::from(total(&outcome, |record| record.marks) as u32), of_link(&outcome, "host0->leaf0", "marks"));
    assert!(of_link(&outcome, "host0->leaf0", "marks") > 0);
    let pulled = run(&spec(&[flow(0, 4, 3000 * MSS, 0)], json!({"switch": {"nics": "pull"}})));
    assert_eq!(total(&pulled, |record| record.marks), 0);
}

#[test]
fn salts_and_seeds_that_count_up_together_place_flows_anew() {
    let flows: Vec<Value> = (0..40).map(|n| flow(n % 4, 4 + n % 4, 5000, u64::from(n) * 100_000)).collect();
    let of = |seed: u64| {
        let outcome = run(&spec(&flows, json!({"seed": seed, "scheme": {"name": "ecmp", "hash_salt": seed - 1}})));
        of_link(&outcome, "leaf0->spine0", "bytes")
    };
    let placements: std::collections::BTreeSet<u64> = (1..=12).map(of).collect();
    assert!(placements.len() > 4, "{placements:?}");
}
