//! RDMA in whole runs: lone flows against a recursion, pacing among flows, congestion, losses, and both engines.

use crate::common::{counter, events, flow, merged, run, run_with};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;

const HEADER: u64 = 48;
const ACK: u64 = 60;
const MSS: u64 = 1000;

/// 2 leaves of 2 hosts; 100 Gbps and 1 us everywhere.
fn spec(transport: Value, flows: Value) -> Value {
    json!({
        "preset": "selb",
        "topology": {
            "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
        },
        "switch": {"model": "output_queued", "buffer_bytes": 9_000_000, "ecn_threshold_bytes": 100_000},
        "transport": transport,
        "traffic": [{"kind": "flows", "list": flows}],
    })
}

/// Returns when each packet of a lone flow, and the answer to it, arrives: over `links` of (bits per second, ps), every
/// packet leaves when the previous one has left and it has itself arrived. Answers go back the same way and never meet.
fn by_recursion(size: u64, links: &[(u64, u64)], window: u64) -> (u64, u64) {
    on_a_clock(1, size, links, window)
}

/// The same where a transmission takes a whole number of `tick` ps, floored.
fn on_a_clock(tick: u64, size: u64, links: &[(u64, u64)], window: u64) -> (u64, u64) {
    // Rates here divide: a byte is a whole number of picoseconds.
    let time = |bytes: u64, rate: u64| bytes * 8_000_000_000_000 / rate / tick * tick;
    let mut free = vec![0_u64; links.len()];
    let mut answers_free = vec![0_u64; links.len()];
    let mut answered: Vec<(u64, u64)> = Vec::new(); // (acknowledged bytes, instant)
    let (mut sent, mut last) = (0_u64, 0_u64);
    while sent < size {
        let payload = MSS.min(size - sent);
        // The window lets a packet go once everything up to `window` bytes before its end is acknowledged.
        let needed = (sent + payload).saturating_sub(window);
        let opened = answered.iter().find(|answer| answer.0 >= needed).map_or(0, |answer| answer.1);
        let mut at = if needed == 0 { 0 } else { opened };
        for (&(rate, delay), free) in links.iter().zip(&mut free) {
            *free = at.max(*free) + time(payload + HEADER, rate);
            at = *free + delay;
        }
        last = at;
        for (&(rate, delay), free) in links.iter().zip(&mut answers_free).rev() {
            *free = at.max(*free) + time(ACK, rate);
            at = *free + delay;
        }
        sent += payload;
        answered.push((sent, at));
    }
    (last, answered.last().expect("a flow has a packet").1)
}

#[test]
fn a_lone_flow_takes_what_the_recursion_says() {
    let fast = (100_000_000_000, 1_000_000);
    for recovery in ["go_back_n", "irn"] {
        for size in [1, 999, 1000, 1001, 104_000, 105_000, 1_234_567] {
            for (dst, links) in [(1, vec![fast; 2]), (2, vec![fast; 4])] {
                let outcome = run(&spec(json!({"recovery": recovery}), json!([flow(0, dst, size, 0)])));
                let window = if recovery == "irn" { 104_000 } else { u64::MAX };
                let record = outcome.records[0];
                let times = by_recursion(size, &links, window);
                assert_eq!((record.fct, record.sender_fct), times, "{recovery}, {size} bytes, {} links", links.len());
                assert_eq!((u64::from(record.packets), record.retransmits), (size.div_ceil(MSS), 0));
            }
        }
    }
}

/// The same on the clock of the public ns-3 code, with its switches.
#[test]
fn whole_nanoseconds_are_met_too() {
    let fast = (100_000_000_000, 1_000_000);
    for (recovery, window) in [("go_back_n", u64::MAX), ("irn", 104_000)] {
        for size in [1, 1000, 2_500, 104_001, 500_000] {
            for (dst, links) in [(1, vec![fast; 2]), (2, vec![fast; 4])] {
                let mut spec = spec(json!({"recovery": recovery}), json!([flow(0, dst, size, 123)]));
                spec["preset"] = "conweave-ns3".into();
                spec.as_object_mut().expect("a table").remove("switch");
                let record = run(&spec).records[0];
                let times = on_a_clock(1000, size, &links, window);
                assert_eq!((record.fct, record.sender_fct), times, "{recovery}, {size} bytes, {} links", links.len());
            }
        }
    }
}

#[test]
fn a_window_below_the_product_limits_the_flow() {
    // One packet per round trip.
    let transport = json!({"recovery": "irn", "window_bytes": 1000});
    let record = run(&spec(transport, json!([flow(0, 2, 10_000, 0)]))).records[0];
    let links = [(100_000_000_000, 1_000_000); 4];
    assert_eq!((record.fct, record.sender_fct), by_recursion(10_000, &links, 1000));
    let trip = 4 * (83_840 + 4_800) + 8_000_000;
    assert_eq!(record.sender_fct, 10 * trip);
}

#[test]
fn a_slow_link_in_the_path_is_met_at_full_rate_without_marks() {
    // Without marks a queue pair stays at the rate of its host's link.
    let base = spec(json!({}), json!([flow(0, 2, 200_000, 0)]));
    let slow = json!({"topology": {"fabric_rate_gbps": 40}, "switch": {"ecn_threshold_bytes": 0}});
    let record = run(&merged(&base, &slow)).records[0];
    let links = [(100, 1_000_000), (40, 1_000_000), (40, 1_000_000), (100, 1_000_000)];
    let links = links.map(|(gbps, delay)| (gbps * 1_000_000_000, delay));
    assert_eq!((record.fct, record.sender_fct), by_recursion(200_000, &links, u64::MAX));
}

#[test]
fn two_flows_of_a_host_take_turns() {
    let list = json!([flow(0, 2, 500_000, 0), flow(0, 3, 500_000, 0)]);
    let outcome = run(&spec(json!({}), list));
    let line = 500 * 1048 * 80; // ps that one flow has the line
    let travel = 3 * 83_840 + 4_000_000;
    // The second came while the first was sending its first packet, and was next.
    assert_eq!(outcome.records[0].fct, 2 * line - 83_840 + travel);
    assert_eq!(outcome.records[1].fct, 2 * line + travel);
}

/// Two senders at one receiver, long enough to be marked.
fn congested(transport: Value) -> Value {
    let list = json!([flow(0, 3, 4_000_000, 0), flow(1, 3, 4_000_000, 0), flow(3, 0, 300_000, 5_000)]);
    spec(transport, list)
}

fn goodput_gbps(outcome: &Outcome, flow: usize) -> f64 {
    outcome.specs[flow].size as f64 * 8e3 / outcome.records[flow].fct as f64
}

#[test]
fn marks_cut_rates_and_paced_flows_finish() {
    for preset in [json!({}), json!({"recovery": "irn"})] {
        let outcome = run(&congested(preset));
        for (flow, record) in outcome.records.iter().enumerate() {
            assert!(record.fct > 0 && record.retransmits == 0 && record.timeouts == 0, "flow {flow}: {record:?}");
            assert!(record.cnps <= record.marks && record.nacks == 0, "every CNP answers a mark");
            assert_eq!(record.received, outcome.specs[flow].size);
        }
        let sum = goodput_gbps(&outcome, 0) + goodput_gbps(&outcome, 1);
        assert!(outcome.records[0].cnps > 0 && sum < 98.0, "{sum} Gbps");
        assert_eq!(counter(&outcome, "dropped", "packets"), 0);
    }
}

#[test]
fn losses_are_repaired() {
    // Room for a few packets only, and no marks.
    let small = json!({"switch": {"buffer_bytes": 20_000, "ecn_threshold_bytes": 0}, "transport": {"rto_us": 200}});
    for recovery in ["go_back_n", "irn"] {
        let base = congested(json!({"recovery": recovery}));
        let outcome = run(&merged(&base, &small));
        assert!(counter(&outcome, "dropped", "packets") > 0);
        let sum = |of: fn(&spinewise_sim::flows::Record) -> u32| outcome.records.iter().map(of).sum::<u32>();
        assert!(sum(|r| r.retransmits) > 0 && sum(|r| r.nacks) > 0 && sum(|r| r.cnps) > 0, "{recovery}");
        for (flow, record) in outcome.records.iter().enumerate() {
            assert!(record.fct > 0 && record.sender_fct >= record.fct);
            assert_eq!(record.received, outcome.specs[flow].size, "{recovery}: every byte once");
        }
    }
}

#[test]
fn spraying_makes_nacks_and_no_losses() {
    // A slower spine delays every second packet.
    let uneven = json!({"scheme": {"name": "rps"}, "topology": {"override": [{"spine": 1, "delay_ns": 3000}]}});
    for recovery in ["go_back_n", "irn"] {
        let base = spec(json!({"recovery": recovery}), json!([flow(0, 2, 100_000, 0), flow(3, 1, 50_000, 0)]));
        let outcome = run(&merged(&base, &uneven));
        for record in &outcome.records {
            assert!(record.fct > 0 && record.nacks > 0 && record.cnps > 0 && record.out_of_order > 0, "{record:?}");
        }
        let calm = run(&merged(&merged(&base, &uneven), &json!({"transport": {"ooo_cnp": false}})));
        assert!(calm.records.iter().all(|record| record.cnps == 0 && record.nacks > 0));
    }
}

#[test]
fn both_engines_and_any_window_agree() {
    for (recovery, scheme) in [("go_back_n", "ecmp"), ("irn", "rps"), ("go_back_n", "letflow"), ("irn", "presto")] {
        for rounding in ["exact", "floor_1ns"] {
            let transport = json!({"recovery": recovery, "pacing_rounding": rounding, "rto_us": 300});
            let change = json!({
                "scheme": {"name": scheme}, "switch": {"buffer_bytes": 60_000}, "metrics": {"series_interval_us": 10},
            });
            let spec = merged(&congested(transport), &change);
            let outcome = run(&spec);
            assert!(outcome.records.iter().all(|record| record.fct > 0));
            assert!(outcome.records.iter().any(|record| record.cnps > 0));
            let windows = Tuning { window_divisor: 7, ..Tuning::default() };
            let commit = Tuning { commit_at_start: true, ..Tuning::default() };
            for tuning in [events(), windows, commit] {
                assert_eq!(run_with(&spec, tuning).hash, outcome.hash, "{recovery} {scheme} {tuning:?}");
            }
        }
    }
}

#[test]
fn the_papers_preset_shares_fairly() {
    // DCQCN, SIGCOMM 2015, §5: a second flow that joins gets its half.
    let paper = json!({
        "ooo_cnp": false, "cnp_interval_us": 50, "dcqcn_alpha_timer_us": 55, "dcqcn_decrease_interval_us": 0,
        "dcqcn_increase_timer_us": 55, "dcqcn_byte_counter_bytes": 10_000_000, "dcqcn_fast_recovery_steps": 5,
        "dcqcn_additive_increase_gbps": 0.04, "dcqcn_hyper_increase_gbps": 0.04, "dcqcn_min_rate_gbps": 0.04,
        "dcqcn_clamp_target": true,
    });
    let fast = spec(paper, json!([flow(0, 3, 100_000_000, 0), flow(1, 3, 40_000_000, 2_000_000)]));
    let ten = json!({
        "topology": {"host_rate_gbps": 10, "fabric_rate_gbps": 10},
        "switch": {"buffer_bytes": 2_000_000, "ecn_threshold_bytes": 100_000},
    });
    let outcome = run(&merged(&fast, &ten));
    // While the second runs, the first has the rest of the line.
    let second = goodput_gbps(&outcome, 1);
    assert!((4.0..6.0).contains(&second), "{second} Gbps");
    assert_eq!(counter(&outcome, "dropped", "packets"), 0);
}
