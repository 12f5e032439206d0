//! Flows that wait for other flows: every step starts exactly when its dependencies have finished, and no sooner.

use crate::common::{events, flow_column, merged, run, run_with};
use serde_json::{Value, json};
use spinewise_sim::outcome::{COLLECTIVE_COLUMNS, Outcome, Values};
use spinewise_sim::setup::Tuning;

/// A row of the table of flows; times in ps.
#[derive(Clone, Copy, Debug)]
struct Row {
    src: u64,
    dst: u64,
    size: u64,
    start: u64,
    received: u64,
    acknowledged: u64,
}

/// The flows, those of one pair in the order they were made in.
fn rows(outcome: &Outcome) -> Vec<Row> {
    let column = |name: &str| flow_column(outcome, name);
    let (src, dst, size, start) = (column("src"), column("dst"), column("size_bytes"), column("start_ps"));
    let (fct, sender_fct) = (column("fct_ps"), column("sender_fct_ps"));
    (0..src.len())
        .map(|n| Row {
            src: src[n],
            dst: dst[n],
            size: size[n],
            start: start[n],
            received: start[n] + fct[n],
            acknowledged: start[n] + sender_fct[n],
        })
        .collect()
}

/// The `k`-th flow from a host to another.
fn of_pair(rows: &[Row], src: u64, dst: u64) -> Vec<Row> {
    rows.iter().copied().filter(|row| (row.src, row.dst) == (src, dst)).collect()
}

/// One rack: packets of 1000 bytes, 1050 on the wire, acknowledged by 50; 1 us per link.
fn rack(hosts: u32, gbps: u32, traffic: Value) -> Value {
    json!({
        "topology": {"leaves": 1, "spines": 1, "hosts_per_leaf": hosts, "host_rate_gbps": gbps, "host_delay_ns": 1000},
        "transport": {"mss_bytes": 1000, "header_bytes": 50, "ack_bytes": 50, "delayed_ack_segments": 1},
        "traffic": [traffic],
    })
}

const DELAY: u64 = 1_000_000;

/// Time on the line, ps.
fn on_line(bytes: u64, gbps: u32) -> u64 {
    bytes * 8_000 / u64::from(gbps)
}

#[test]
fn a_flow_of_a_list_goes_again_when_it_is_acknowledged_and_its_gap_is_over() {
    let list =
        json!([{"src": 0, "dst": 1, "size_bytes": 5000, "start_ns": 700}, {"src": 2, "dst": 3, "size_bytes": 90}]);
    let entry = json!({"kind": "flows", "list": list, "rounds": 3, "gap_us": 2});
    let outcome = run(&rack(4, 10, entry));
    for (src, first) in [(0, 700_000), (2, 0)] {
        let rounds = of_pair(&rows(&outcome), src, src + 1);
        assert_eq!((rounds.len(), rounds[0].start), (3, first));
        for pair in rounds.windows(2) {
            assert_eq!(pair[1].start, pair[0].acknowledged + 2_000_000);
            assert_eq!(pair[1].acknowledged - pair[1].start, pair[0].acknowledged - pair[0].start, "nobody else there");
        }
    }
}

#[test]
fn a_ring_of_single_packets_keeps_the_time_of_its_recursion() {
    for (n, gbps) in [(2u64, 10), (3, 10), (5, 25), (8, 40)] {
        let outcome = run(&rack(n as u32, gbps, json!({"kind": "all_reduce", "size_bytes": 1000 * n, "rounds": 1})));
        let rows = rows(&outcome);
        assert_eq!(rows.len() as u64, 2 * (n - 1) * n);
        // Two links are crossed, and a host acknowledges everything it has received before it continues.
        let flight = 2 * (on_line(1050, gbps) + DELAY);
        for host in 0..n {
            let steps = of_pair(&rows, host, (host + 1) % n);
            let (mut start, mut waits) = (0, 0);
            for row in &steps {
                assert_eq!((row.size, row.start, row.received), (1000, start, start + waits + flight), "{row:?}");
                start += waits + flight;
                waits = on_line(50, gbps);
            }
            assert_eq!(steps.len() as u64, 2 * (n - 1));
        }
        let (whole, table) = (&wholes(&outcome)[0], collectives(&outcome));
        let end = flight + (2 * (n - 1) - 1) * (on_line(50, gbps) + flight);
        assert_eq!(
            *whole,
            json!({"entry": 0, "group": 0, "round": 1, "step": 0, "flows": 2 * (n - 1) * n, "ranks": n,
            "bytes": 2 * (n - 1) * n * 1000, "message_bytes": 1000 * n, "start_ps": 0, "end_ps": end, "finished": 1,
            "last_flow": whole["last_flow"]})
        );
        // All flows of the last step arrive at once: the first of them is reported.
        let number = flow_column(&outcome, "flow");
        let last = rows.iter().zip(&number).filter(|(row, _)| row.received == end).map(|(_, &number)| number);
        assert_eq!(last.min(), whole["last_flow"].as_u64());
        for (step, row) in (1u64..).zip(&table[1..]) {
            let start = (step - 1) * (on_line(50, gbps) + flight) - if step > 1 { on_line(50, gbps) } else { 0 };
            assert_eq!((row["step"].as_u64(), row["flows"].as_u64()), (Some(step), Some(n)), "{row}");
            assert_eq!((row["start_ps"].as_u64(), row["bytes"].as_u64()), (Some(start), Some(1000 * n)), "{row}");
        }
        assert_eq!(table.len() as u64, 1 + 2 * (n - 1));
        let steps: Vec<u64> = (0..2 * (n - 1)).flat_map(|step| (0..n).map(move |_| step + 1)).collect();
        let mut of_flows = flow_column(&outcome, "step");
        of_flows.sort_unstable();
        assert_eq!(of_flows, steps);
        assert!(flow_column(&outcome, "batch").iter().all(|&batch| batch == 1));
    }
}

#[test]
fn all_to_all_of_single_packets_goes_by_round_trips() {
    for (n, gbps) in [(2u64, 10), (4, 10), (7, 25)] {
        let traffic = json!({"kind": "all_to_all", "pair_bytes": 1000, "rounds": 3, "gap_us": 5});
        let outcome = run(&rack(n as u32, gbps, traffic));
        let rows = rows(&outcome);
        assert_eq!(rows.len() as u64, 3 * n * (n - 1));
        let (flight, back) = (2 * (on_line(1050, gbps) + DELAY), 2 * (on_line(50, gbps) + DELAY));
        let round = (n - 1) * (flight + back) + 5_000_000;
        for (host, step) in (0..n).flat_map(|host| (1..n).map(move |step| (host, step))) {
            for (number, row) in (0u64..).zip(of_pair(&rows, host, (host + step) % n)) {
                let start = number * round + (step - 1) * (flight + back);
                assert_eq!((row.start, row.received, row.acknowledged), (start, start + flight, start + flight + back));
            }
        }
        let wholes = wholes(&outcome);
        let ends: Vec<u64> = wholes.iter().map(|round| round["end_ps"].as_u64().unwrap()).collect();
        let expected: Vec<u64> = (1..=3).map(|number| number * round - 5_000_000 - back).collect();
        assert_eq!(ends, expected);
        // The block that each host has for itself counts.
        assert!(wholes.iter().all(|round| round["message_bytes"] == 1000 * n && round["bytes"] == 1000 * n * (n - 1)));
    }
}

/// The table of collectives, one object per row.
fn collectives(outcome: &Outcome) -> Vec<Value> {
    let column = |values: &Values| -> Vec<u64> {
        match values {
            Values::U8(v) => v.iter().map(|&x| x.into()).collect(),
            Values::U32(v) => v.iter().map(|&x| x.into()).collect(),
            Values::U64(v) => v.clone(),
            other => panic!("{other:?}"),
        }
    };
    let columns: Vec<Vec<u64>> = outcome.collectives.iter().map(column).collect();
    let names = || COLLECTIVE_COLUMNS.iter().map(|column| column.name.to_owned());
    let row = |at: usize| names().zip(columns.iter().map(|column| json!(column[at]))).collect();
    (0..columns[0].len()).map(row).map(Value::Object).collect()
}

/// Its rounds, without their steps.
fn wholes(outcome: &Outcome) -> Vec<Value> {
    collectives(outcome).into_iter().filter(|row| row["step"] == 0).collect()
}

/// A lossy fabric with hot spots, where the steps of different hosts drift far apart.
fn rough(traffic: Value, scheme: &str) -> Value {
    json!({
        "topology": {"leaves": 3, "spines": 2, "hosts_per_leaf": 4, "host_delay_ns": 1000, "fabric_delay_ns": 2000,
                     "override": [{"spine": 1, "rate_gbps": 2.5}]},
        "switch": {"buffer_packets": 12, "ecn_threshold_packets": 0},
        "transport": {"min_rto_us": 500, "initial_rto_us": 500},
        "scheme": {"name": scheme},
        "traffic": [{"kind": "poisson", "cdf": "ali_storage", "load": 0.3, "duration_us": 1000}, traffic],
    })
}

fn finished(outcome: &Outcome) {
    assert_eq!(outcome.report["finished"], outcome.report["flows"]);
}

/// Only the flows of the second entry.
fn of_second_entry(outcome: &Outcome) -> Vec<Row> {
    let entry = flow_column(outcome, "entry");
    rows(outcome).into_iter().zip(entry).filter(|&(_, entry)| entry == 1).map(|(row, _)| row).collect()
}

#[test]
fn steps_of_a_ring_start_at_the_last_byte_of_the_step_before() {
    let traffic = json!({"kind": "all_reduce", "size_bytes": 600_005, "order": "random", "rounds": 2, "gap_us": 7.5,
                         "start_us": 3});
    for scheme in ["ecmp", "rps"] {
        let outcome = run(&rough(traffic.clone(), scheme));
        finished(&outcome);
        assert!(crate::common::total(&outcome, |record| record.retransmits) > 0, "{scheme}: it shall be rough");
        let rows = of_second_entry(&outcome);
        let next: Vec<u64> =
            (0..12).map(|host| rows.iter().find(|row| row.src == host).expect("all take part").dst).collect();
        let sent = |host: u64| of_pair(&rows, host, next[host as usize]);
        for before in 0..12u64 {
            let host = next[before as usize];
            let (theirs, ours) = (sent(before), sent(host));
            assert_eq!((theirs.len(), ours.len()), (44, 44));
            assert_eq!((ours[0].start, theirs[0].start), (3_000_000, 3_000_000));
            for step in (1..44).filter(|&step| step != 22) {
                assert_eq!(ours[step].start, theirs[step - 1].received, "{scheme}: host {host}, step {step}");
            }
            let own_end = ours[..22].iter().map(|row| row.acknowledged).max();
            let through = theirs[..22].iter().map(|row| row.received).max().max(own_end).unwrap();
            assert_eq!(ours[22].start, through + 7_500_000, "{scheme}: host {host}, the second round");
        }
        let rounds = wholes(&outcome);
        assert_eq!(rounds.len(), 2);
        assert_eq!(rounds[1]["end_ps"], rows.iter().map(|row| row.received).max().unwrap());
        assert!(rounds[0]["end_ps"].as_u64() < rounds[1]["end_ps"].as_u64());
    }
}

#[test]
fn steps_of_all_to_all_start_when_both_directions_are_through() {
    let outcome = run(&rough(json!({"kind": "all_to_all", "size_bytes": 220_000}), "ecmp"));
    finished(&outcome);
    let rows = of_second_entry(&outcome);
    assert_eq!(rows.len(), 12 * 11);
    let sent = |host: u64, step: u64| of_pair(&rows, host % 12, (host + step) % 12)[0];
    for (host, step) in (0..12).flat_map(|host| (2..12).map(move |step| (host, step))) {
        let own = sent(host, step - 1).acknowledged;
        let other = sent(host + 12 - (step - 1), step - 1).received;
        assert_eq!(sent(host, step).start, own.max(other), "host {host}, step {step}");
    }
    let at_once = run(&rough(json!({"kind": "all_to_all", "size_bytes": 220_000, "concurrent": true}), "ecmp"));
    finished(&at_once);
    assert!(of_second_entry(&at_once).iter().all(|row| row.start == 0));
}

#[test]
fn an_answer_starts_at_the_last_byte_of_its_request() {
    let traffic = json!({"kind": "rpc", "receiver": 5, "fan_in": 6, "size_bytes": 20_000, "request_bytes": 4_000,
                         "requests": 10, "period_us": 40});
    let outcome = run(&rough(traffic, "letflow"));
    finished(&outcome);
    let rows = of_second_entry(&outcome);
    let mut answers = 0;
    for host in (0..12).filter(|&host| host != 5) {
        let (asked, answered) = (of_pair(&rows, 5, host), of_pair(&rows, host, 5));
        assert_eq!(asked.len(), answered.len());
        for (request, answer) in asked.iter().zip(&answered) {
            assert_eq!((request.size, answer.size), (4_000, 20_000));
            assert_eq!(request.start % 40_000_000, 0);
            assert_eq!(answer.start, request.received);
        }
        answers += answered.len();
    }
    assert_eq!(answers, 60);
    let requests = wholes(&outcome);
    assert_eq!(requests.len(), 10);
    assert_eq!(collectives(&outcome).len(), 30, "each has two steps");
    assert!(requests.iter().all(|request| request["ranks"] == 7 && request["message_bytes"] == 140_000));
    assert!(requests.iter().enumerate().all(|(n, request)| request["start_ps"] == 40_000_000 * n as u64));
}

/// Each host has to send 2(n − 1)/n of the data, with headers, and to acknowledge as much; every step takes the time of
/// a flight.
#[test]
fn a_large_all_reduce_takes_what_theory_says() {
    let (n, bytes) = (4u64, 40_000_000u64);
    let outcome = run(&rack(n as u32, 10, json!({"kind": "all_reduce", "size_bytes": bytes})));
    let end = wholes(&outcome)[0]["end_ps"].as_u64().unwrap();
    let steps = 2 * (n - 1);
    let wire = steps * (bytes / n) * 1050 / 1000;
    let least = on_line(wire, 10) + steps * (on_line(1050, 10) + 2 * DELAY);
    assert!(end >= least, "{end} against {least}");
    // Acknowledgements take 50 bytes for every 1000 on the same line; a slow start takes some round trips per step.
    let most = on_line(wire + steps * (bytes / n) * 50 / 1000, 10) + steps * 20 * 4 * DELAY;
    assert!(end <= most, "{end} against {most}");
}

#[test]
fn groups_by_number_are_those_that_a_list_names() {
    let outcome = |members: Value| {
        let mut entry = json!({"kind": "all_to_all", "pair_bytes": 9_000, "order": "random"});
        entry.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        run(&rough(entry, "ecmp")).hash
    };
    for (by_number, listed) in [
        (json!({"groups": 2}), json!([[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]])),
        (json!({"groups": 5}), json!([[0, 1], [2, 3], [4, 5, 6], [7, 8], [9, 10, 11]])),
        (json!({"groups": 3, "grouping": "strided"}), json!([[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]])),
        // Leaves have four hosts each.
        (json!({"groups": 2, "grouping": "rails"}), json!([[0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7]])),
        (json!({"groups": 2, "hosts": [9, 7, 5, 3]}), json!([[9, 7], [5, 3]])),
    ] {
        assert_eq!(outcome(by_number.clone()), outcome(json!({"hosts": listed})), "{by_number}");
    }
}

#[test]
fn any_engine_and_any_scheme_see_the_same_traffic() {
    for traffic in [
        json!({"kind": "all_reduce", "size_bytes": 200_000, "hosts": [[0, 4, 8, 1], [2, 9], [4, 5, 6, 7, 8]],
               "rounds": 3, "gap_us": 1}),
        json!({"kind": "all_to_all", "pair_bytes": 9_000, "order": "random", "rounds": 2}),
        json!({"kind": "rpc", "fan_in": 11, "size_bytes": 9_000, "request_bytes": 1, "requests": 5, "period_us": 90,
               "arrivals": "poisson"}),
    ] {
        let mut hashes = Vec::new();
        for scheme in ["ecmp", "conga", "pdlb", "rps"] {
            let spec = rough(traffic.clone(), scheme);
            let reference = run(&spec);
            finished(&reference);
            for tuning in [events(), Tuning { window_divisor: 7, commit_at_start: true, ..Tuning::default() }] {
                let again = run_with(&spec, tuning);
                assert_eq!(reference.records, again.records, "{scheme} {traffic}");
                assert_eq!(reference.flows, again.flows, "{scheme} {traffic}");
                assert_eq!(reference.hash, again.hash, "{scheme} {traffic}");
            }
            hashes.push(reference.report["traffic_hash"].clone());
        }
        assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{hashes:?}");
        // The dependencies are part of the traffic.
        let others =
            [json!({"rounds": 9, "requests": 9}), json!({"gap_us": 2, "request_bytes": 2}), json!({"priority": 1})];
        for change in others {
            let mut changed = traffic.clone();
            for (key, value) in change.as_object().unwrap() {
                if key == "priority" || key.starts_with("request") == (traffic["kind"] == "rpc") {
                    changed[key] = value.clone();
                }
            }
            assert_ne!(run(&rough(changed, "ecmp")).report["traffic_hash"], hashes[0], "{change}");
        }
    }
}

#[test]
fn what_never_starts_is_unfinished() {
    let traffic = json!({"kind": "all_reduce", "size_bytes": 1_000_000, "start_us": 4, "rounds": 2});
    let spec = merged(&rack(4, 10, traffic), &json!({"run": {"until_us": 900}}));
    let outcome = run(&spec);
    assert_eq!(outcome.report["stop_ps"], 900_000_000u64);
    let rows = rows(&outcome);
    let begun = outcome.records.iter().filter(|record| record.packets > 0).count();
    let done = rows.iter().filter(|row| row.received > row.start).count();
    assert!(done > 0 && done <= begun && begun < rows.len(), "{done} of {begun} of {}", rows.len());
    assert_eq!(outcome.report["finished"], done);
    for (row, record) in rows.iter().zip(&outcome.records) {
        assert!(record.packets > 0 || row.start == 4_000_000, "{row:?}");
    }
    let rounds = wholes(&outcome);
    assert!(rounds.iter().all(|round| round["end_ps"] == 0 && round["finished"] == 0), "{rounds:?}");
    // The straggler has begun, and flows that have not begun are reported with the start of their entry.
    let straggler = rounds[0]["last_flow"].as_u64().unwrap() as usize;
    assert!(outcome.records[straggler].packets > 0 && outcome.records[straggler].fct == 0);
    assert_eq!(rounds[1]["start_ps"], 4_000_000);
    // Both rounds end if there is time enough.
    let whole = run(&merged(&spec, &json!({"run": {"until_us": 90_000}})));
    finished(&whole);
    assert_eq!(wholes(&whole)[1]["finished"], 1);
}

#[test]
fn flows_that_wait_offer_no_load() {
    let poisson = json!({"kind": "poisson", "cdf": "ali_storage", "load": 0.5, "duration_us": 1000});
    let with =
        |traffic: Value| run(&merged(&rough(json!({}), "ecmp"), &json!({"traffic": traffic}))).report["loads"].clone();
    let ring = json!({"kind": "all_reduce", "size_bytes": 100_000});
    let (alone, mut beside) = (with(json!([poisson])), with(json!([poisson, ring])));
    assert_eq!((&alone["without"], &beside["without"]), (&json!([]), &json!([1])));
    beside["without"] = json!([]);
    assert_eq!(beside, alone);
    assert_eq!(with(json!([ring])), Value::Null);
}

#[test]
fn flows_that_stand_alone_and_too_many_rounds_are_in_no_table() {
    let outcome = run(&rack(3, 10, json!({"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 100}]})));
    assert_eq!(collectives(&outcome), [] as [Value; 0]);
    let spec = rack(3, 10, json!({"kind": "all_reduce", "size_bytes": 100, "rounds": 3}));
    let few = run(&merged(&spec, &json!({"metrics": {"keep_flows_up_to": 2}})));
    assert!(few.collectives.is_empty());
}

#[test]
fn rounds_by_the_clock_and_batches_of_a_list_have_a_time_too() {
    let incast = json!({"kind": "incast", "receiver": 1, "senders": [0, 2, 3], "size_bytes": 5_000, "repeat": 2,
                        "period_us": 300});
    let permutation =
        json!({"kind": "permutation", "inter_rack": false, "size_bytes": 700, "repeat": 2, "period_us": 90});
    let list = json!({"kind": "flows", "list": [
        {"src": 0, "dst": 1, "size_bytes": 100, "batch": 2}, {"src": 1, "dst": 2, "size_bytes": 200, "batch": 2},
        {"src": 2, "dst": 1, "size_bytes": 400, "batch": 1}, {"src": 2, "dst": 3, "size_bytes": 800},
    ], "rounds": 2});
    let spec = merged(&rack(4, 10, incast.clone()), &json!({"traffic": [incast, permutation, list]}));
    let outcome = run(&spec);
    finished(&outcome);
    let rows = wholes(&outcome);
    assert_eq!(rows.len(), collectives(&outcome).len(), "none has steps");
    let told = |row: &Value| -> Vec<u64> {
        ["entry", "round", "flows", "ranks", "bytes", "message_bytes"].map(|key| row[key].as_u64().unwrap()).to_vec()
    };
    assert_eq!(
        rows.iter().map(told).collect::<Vec<_>>(),
        [
            [0, 1, 3, 4, 15_000, 20_000],
            [0, 2, 3, 4, 15_000, 20_000],
            [1, 1, 4, 4, 2_800, 700],
            [1, 2, 4, 4, 2_800, 700],
            // Batches of the second round are numbered after those of the first.
            [2, 1, 1, 2, 400, 0],
            [2, 2, 2, 3, 300, 0],
            [2, 3, 1, 2, 400, 0],
            [2, 4, 2, 3, 300, 0],
        ]
    );
    let batches = flow_column(&outcome, "batch");
    let alone = outcome.specs.iter().zip(&batches).filter(|(_, batch)| **batch == 0);
    assert!(alone.map(|(flow, _)| flow.size).eq([800, 800]));
    let plain =
        run(&rack(4, 10, json!({"kind": "flows", "rounds": 3, "list": [{"src": 0, "dst": 1, "size_bytes": 9}]})));
    assert_eq!(wholes(&plain).iter().map(|row| row["round"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn groups_have_rounds_of_their_own() {
    let traffic = json!({"kind": "all_to_all", "size_bytes": 6_000, "hosts": [[0, 1, 2], [3, 1]], "rounds": 2});
    let outcome = run(&rack(4, 10, traffic));
    let told = |row: &Value| ["round", "group", "step", "flows", "ranks"].map(|key| row[key].as_u64().unwrap());
    let of_round = |n: u64| [[n, 0, 0, 6, 3], [n, 0, 1, 3, 3], [n, 0, 2, 3, 3], [n, 1, 0, 2, 2]];
    let rows: Vec<[u64; 5]> = collectives(&outcome).iter().map(told).collect();
    assert_eq!(rows, [of_round(1), of_round(2)].concat());
    // 6,000 bytes for two others are 9,000 with the block for itself; for one other 12,000.
    let messages: Vec<u64> = wholes(&outcome).iter().map(|row| row["message_bytes"].as_u64().unwrap()).collect();
    assert_eq!(messages, [9_000, 12_000, 9_000, 12_000]);
}
