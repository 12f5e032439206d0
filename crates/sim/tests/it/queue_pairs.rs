//! Queue pairs of a connection: which messages share a path under ECMP, and messages split over several.

use crate::common::{all_finished, counter, flow, flow_column, merged, of_link, run, run_both};
use serde_json::{Value, json};
use spinewise_policy::hash;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::spec::resolve;

/// Two racks of two hosts at 100 Gbps, with eight links of 25 Gbps between them; messages over RoCE, hashed.
fn spec(traffic: Value, transport: Value) -> Value {
    let base = json!({
        "preset": "selb", "scheme": {"name": "ecmp"}, "traffic": [traffic], "transport": {"kind": "rdma"},
        "topology": {"leaves": 2, "spines": 8, "hosts_per_leaf": 2, "host_rate_gbps": 100, "fabric_rate_gbps": 25,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000},
    });
    merged(&base, &json!({"transport": transport}))
}

/// Messages from host 0 to host 2, one after another.
fn messages(sizes: &[u64]) -> Value {
    let list: Vec<Value> = (0u64..).zip(sizes).map(|(n, &size)| flow(0, 2, size, 500_000 * n)).collect();
    json!({"kind": "flows", "list": list})
}

/// Packets on each uplink of the first rack, and on each of the second, whose packets answer.
fn uplinks(outcome: &Outcome, leaf: u32) -> Vec<u64> {
    (0..8).map(|spine| of_link(outcome, &format!("leaf{leaf}->spine{spine}"), "packets")).collect()
}

fn used(packets: &[u64]) -> usize {
    packets.iter().filter(|&&packets| packets > 0).count()
}

#[test]
fn messages_of_a_queue_pair_take_one_path() {
    let paths = |pairs: Value| {
        let outcome = run_both(&spec(messages(&[20_000; 24]), json!({"queue_pairs": pairs})));
        all_finished(&outcome);
        (used(&uplinks(&outcome, 0)), used(&uplinks(&outcome, 1)))
    };
    // Acknowledgements of a queue pair share one path, too.
    assert_eq!(paths(json!(1)), (1, 1));
    let (there, back) = paths(json!(4));
    assert!((2..=4).contains(&there) && (2..=4).contains(&back), "{there} {back}");
    assert!(paths(Value::Null).0 > 4, "each message hashed by itself");
}

#[test]
fn messages_take_the_queue_pairs_of_their_connection_in_turn() {
    // The sizes of every third message are alike, so the uplinks of three queue pairs carry their packets in
    // proportion.
    let sizes: Vec<u64> = (0..12).map(|n| [10_000, 200_000, 3_000_000][n % 3]).collect();
    let outcome = run(&spec(messages(&sizes), json!({"queue_pairs": 3})));
    let mut packets = uplinks(&outcome, 0);
    packets.retain(|&packets| packets > 0);
    packets.sort_unstable();
    let (small, middle, large) = (4 * 10, 4 * 200, 4 * 3_000);
    let sums: Vec<Vec<u64>> = vec![
        vec![small, middle, large],
        vec![small + middle, large],
        vec![middle, small + large],
        vec![small, middle + large],
        vec![small + middle + large],
    ];
    assert!(sums.contains(&packets), "{packets:?}");
    assert!(packets.len() > 1, "another salt, or the test sees nothing");
    // Another pair of hosts begins with the first queue pair of its own connection.
    let list = json!([flow(0, 2, 10_000, 0), flow(1, 3, 10_000, 0)]);
    let two = run(&spec(json!({"kind": "flows", "list": list}), json!({"queue_pairs": 1})));
    assert_eq!(used(&uplinks(&two, 0)), 2, "hosts are hashed beside queue pairs");
}

#[test]
fn a_split_message_is_there_when_all_of_its_parts_are() {
    let size = 4_000_001;
    let run = |transport: Value| run_both(&spec(messages(&[size]), transport));
    let (whole, split) = (run(json!({"queue_pairs": 8})), run(json!({"queue_pairs": 8, "queue_pair_use": "split"})));
    for outcome in [&whole, &split] {
        all_finished(outcome);
        assert_eq!(outcome.records.len(), 1, "a message is one flow");
        assert_eq!(outcome.records[0].received, size);
    }
    let packets = uplinks(&split, 0);
    assert!(used(&packets) >= 3, "{packets:?}");
    // Eight parts of 500,000 bytes and a byte; the first has the byte, and so a packet more.
    assert_eq!(packets.iter().sum::<u64>(), 8 * 500 + 1);
    let fct = |outcome: &Outcome| flow_column(outcome, "fct_ps")[0];
    // 25 Gbps send a packet of 1,048 bytes in 335.36 ns.
    let busiest = packets.iter().max().expect("uplinks") * 335_360;
    assert!(fct(&split) >= busiest && fct(&split) < fct(&whole) * 3 / 4, "{} {}", fct(&split), fct(&whole));
    // One queue pair alone is the connection.
    let alone = run(json!({"queue_pairs": 1, "queue_pair_use": "split"}));
    assert_eq!(alone.hash, run(json!({"queue_pairs": 1})).hash);
}

#[test]
fn parts_that_are_lost_are_sent_again() {
    let traffic = json!({"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 300_000});
    for recovery in ["go_back_n", "irn"] {
        let more = json!({"recovery": recovery, "queue_pairs": 3, "queue_pair_use": "split"});
        let small = json!({"switch": {"model": "output_queued", "buffer_bytes": 20_000, "ecn_threshold_bytes": 8_000}});
        let outcome =
            run_both(&merged(&spec(traffic.clone(), more), &merged(&small, &json!({"preset": "datacenter"}))));
        all_finished(&outcome);
        assert!(counter(&outcome, "dropped", "packets") > 0, "{recovery}");
        assert!(outcome.records.iter().all(|record| record.received == 300_000), "{recovery}");
    }
}

#[test]
fn steps_wait_for_whole_messages() {
    let text = "id,rank,op,peer,size_bytes,duration_ns,requires,irequires,start_ns\n\
                go,0,send,2,90000,,,,\nheard,2,recv,0,,,,,\nback,2,send,0,70000,,heard,,\nend,0,recv,2,,,,,\n";
    let file = std::env::temp_dir().join(format!("spinewise-pairs-{:016x}.csv", hash::name(text)));
    std::fs::write(&file, text).expect("a place for temporary files");
    for used in ["round_robin", "split"] {
        let pairs = json!({"queue_pairs": 4, "queue_pair_use": used});
        let dag = run_both(&spec(json!({"kind": "dag", "file": file}), pairs.clone()));
        all_finished(&dag);
        let [start, fct] = ["start_ps", "fct_ps"].map(|name| flow_column(&dag, name));
        assert!(start[1] >= start[0] + fct[0], "the answer waits for all of the question: {start:?} {fct:?}");
        for kind in ["all_reduce", "all_to_all"] {
            let outcome = run_both(&spec(json!({"kind": kind, "size_bytes": 400_000, "rounds": 2}), pairs.clone()));
            all_finished(&outcome);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |traffic: Value, transport: Value| {
        let spec = spec(traffic, transport);
        let error = match resolve(&spec) {
            Err(error) => error,
            Ok(read) => match spinewise_sim::setup::simulate(&read, Default::default(), &mut |_| true) {
                Err(spinewise_sim::setup::Failure::Spec(error)) => error,
                other => panic!("{spec}: {:?}", other.map(|_| ())),
            },
        };
        error.to_string()
    };
    for (traffic, transport, said) in [
        (messages(&[9]), json!({"queue_pairs": 0}), "transport.queue_pairs = 0: expected a whole number from 1 to 64"),
        (
            messages(&[9, 7]),
            json!({"queue_pairs": 8, "queue_pair_use": "split"}),
            "transport.queue_pairs = 8: expected at most 7 with queue_pair_use = \"split\": flows has a message of 7 bytes",
        ),
        (
            messages(&[9]),
            json!({"queue_pair_use": "split"}),
            "transport.queue_pair_use = \"split\": expected no queue_pair_use without queue_pairs: without it, \
             messages share none",
        ),
    ] {
        assert_eq!(refused(traffic, transport), said);
    }
    let tcp = json!({"preset": "linux", "transport": {"queue_pairs": 2}, "traffic": [messages(&[9])]});
    assert!(
        resolve(&tcp).expect_err("no queue pairs").to_string().ends_with("queue_pairs is a key of kind = \"rdma\"")
    );
    let followed = merged(
        &spec(messages(&[9]), json!({"queue_pairs": 2})),
        &json!({"preset": "conweave-ns3", "run": {"follow": "conweave-ns3"}}),
    );
    assert_eq!(resolve(&followed).expect_err("not followed").key, "transport.queue_pairs");
}
