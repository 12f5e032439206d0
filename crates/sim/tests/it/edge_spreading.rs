//! Schemes that spread packets from the hosts, in whole runs: the effects, and how far receivers that hold data back
//! repair them.

use crate::common::{all_finished, flow, link, merged, of_link, resolved, run, run_both, total};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::spec::resolve;
use spinewise_sim::topology::Topology;

/// Two leaves of four hosts, four spines, 10 Gbps everywhere.
fn spec(scheme: Value, traffic: Value) -> Value {
    json!({
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                     "host_delay_ns": 1000, "fabric_delay_ns": 2000},
        "scheme": scheme, "traffic": traffic, "run": {"until_us": 400_000},
    })
}

fn with(spec: &Value, change: Value) -> Value {
    merged(spec, &change)
}

fn resequencing(timeout_us: f64) -> Value {
    json!({"transport": {"resequencing": "on", "resequencing_timeout_us": timeout_us}})
}

fn held(outcome: &Outcome, what: &str) -> u64 {
    let counters = &outcome.report["counters"]["resequencing"];
    counters[what].as_u64().unwrap_or_else(|| panic!("no {what} in {counters}"))
}

/// Mean and half width of the 95 % interval of five values (Student's t, 4 degrees of freedom).
fn interval(values: [f64; 5]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / 5.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 4.0;
    (mean, 2.776 * (variance / 5.0).sqrt())
}

fn mean_fct(outcome: &Outcome) -> f64 {
    all_finished(outcome);
    outcome.records.iter().map(|record| record.fct as f64).sum::<f64>() / outcome.records.len() as f64
}

#[test]
fn presto_is_in_order_where_receivers_wait_longer_than_paths_differ() {
    let traffic = json!([{"kind": "permutation", "size_bytes": 2_000_000, "inter_rack": true}]);
    let base = spec(json!({"name": "presto"}), traffic);
    let (mut dupacks, mut gained) = (0, [0.0; 5]);
    for seed in 0..5 {
        let off = run(&with(&base, json!({"seed": seed})));
        // 250 KB of buffer at two hops of 10 Gbps are 400 us.
        let on = run_both(&with(&with(&base, json!({"seed": seed})), resequencing(500.0)));
        assert_eq!(off.report["traffic_hash"], on.report["traffic_hash"]);
        assert_eq!([&off, &on].map(|outcome| outcome.report["counters"]["dropped"]["packets"].as_u64()), [Some(0); 2]);
        assert!(off.report["counters"]["resequencing"].is_null(), "no account where nothing is held");
        assert_eq!(
            [total(&on, |r| r.out_of_order), total(&on, |r| r.dupack3_events), total(&on, |r| r.retransmits)],
            [0; 3]
        );
        assert_eq!([held(&on, "timeouts"), held(&on, "overflows")], [0; 2]);
        assert!(held(&on, "held_packets") > 0);
        dupacks += total(&off, |r| r.dupack3_events);
        gained[seed as usize] = mean_fct(&off) / mean_fct(&on) - 1.0;
    }
    assert!(dupacks > 0, "without it there are dupACKs to be had");
    let (mean, half) = interval(gained);
    assert!(mean - half > 0.0, "flows end sooner, by {mean} +- {half}");
}

/// Six packets at once over two paths, one of which is 50 us longer.
fn two_paths() -> Value {
    let topology = json!({"topology": {"spines": 2, "override": [{"spine": 1, "delay_ns": 27_000}]}});
    with(&spec(json!({"name": "drb"}), json!([{"kind": "flows", "list": [flow(0, 4, 6 * 1460, 0)]}])), topology)
}

#[test]
fn three_packets_wait_for_three_that_come_50_us_later() {
    let off = run_both(&two_paths());
    let on = run_both(&with(&two_paths(), resequencing(60.0)));
    assert_eq!(off.records[0].fct, on.records[0].fct, "the last missing byte waits for nothing");
    // One of three on the short path may be the first of all.
    let early = held(&on, "held_packets");
    assert!(early == 2 || early == 3, "{early} packets waited");
    assert_eq!((off.records[0].out_of_order > 0, on.records[0].out_of_order), (true, 0));
    assert_eq!([held(&on, "timeouts"), held(&on, "overflows")], [0; 2]);
    let short = run_both(&with(&two_paths(), resequencing(30.0)));
    assert_eq!(short.records[0].fct, off.records[0].fct);
    assert!(held(&short, "timeouts") > 0 && short.records[0].out_of_order > 0, "30 us are not enough");
    let one = json!({"transport": {"resequencing_limit_bytes": 1460}});
    let tight = run_both(&with(&with(&two_paths(), resequencing(60.0)), one));
    assert!(held(&tight, "overflows") > 0 && held(&tight, "timeouts") == 0);
}

#[test]
fn data_in_order_waits_exactly_as_long_as_it_is_told() {
    let lone = spec(json!({"name": "ecmp"}), json!([{"kind": "flows", "list": [flow(0, 4, 1000, 0)]}]));
    let waits = json!({"transport": {"resequencing": "on", "resequencing_in_order_us": 5}});
    let (off, on) = (run_both(&lone), run_both(&with(&lone, waits)));
    assert_eq!(on.records[0].fct, off.records[0].fct + 5_000_000);
    assert_eq!(held(&on, "held_packets"), 0, "it overtook nothing");
}

#[test]
fn losses_are_repaired_behind_receivers_that_wait() {
    let traffic = json!([{"kind": "incast", "receiver": 0, "senders": [4, 5, 6, 7], "size_bytes": 300_000}]);
    let base = with(&spec(json!({"name": "presto"}), traffic), json!({"switch": {"buffer_bytes": 30_000}}));
    for in_order in [0, 3] {
        let waits = json!({"transport": {"resequencing_in_order_us": in_order}});
        let outcome = run_both(&with(&with(&base, resequencing(50.0)), waits));
        all_finished(&outcome);
        assert!(total(&outcome, |r| r.retransmits) > 0 && held(&outcome, "timeouts") > 0);
        let sent: u64 = total(&outcome, |r| r.packets);
        let lost = outcome.report["counters"]["dropped"]["packets"].as_u64().unwrap_or_default();
        assert_eq!(sent, total(&outcome, |r| r.arrived) + lost, "acknowledgements go the empty way");
    }
}

#[test]
fn drb_loads_all_uplinks_alike_to_the_packet() {
    let traffic = json!([{"kind": "flows", "list": [flow(0, 4, 400 * 1460, 0)]}]);
    let sure = json!({"transport": {"dupack_threshold": 0}});
    let outcome = run_both(&with(&spec(json!({"name": "drb"}), traffic), sure));
    let packets = [0, 1, 2, 3].map(|spine| of_link(&outcome, &format!("leaf0->spine{spine}"), "packets"));
    assert_eq!(packets, [100; 4]);
}

#[test]
fn weighted_presto_loads_uplinks_as_their_rates_say() {
    let slow = json!({"topology": {"override": [{"spine": 3, "rate_gbps": 2}]},
                      "transport": {"dupack_threshold": 0}, "switch": {"buffer_bytes": 4_000_000}});
    let traffic: Vec<Value> = (0..4).map(|host| flow(host, host + 4, 6_000_000, 0)).collect();
    let traffic = json!([{"kind": "flows", "list": traffic}]);
    for (weights, share) in [("equal", 1.0), ("cells", 0.2), ("cell_sizes", 0.2)] {
        let scheme = json!({"name": "presto", "params": {"weights": weights, "flowcell_packets": 10}});
        let outcome = run_both(&with(&spec(scheme, traffic.clone()), slow.clone()));
        all_finished(&outcome);
        let bytes = |spine| of_link(&outcome, &format!("leaf0->spine{spine}"), "bytes") as f64;
        let ratio = bytes(3) / ((bytes(0) + bytes(1) + bytes(2)) / 3.0);
        assert!((ratio - share).abs() < 0.02, "{weights}: {ratio}");
    }
}

#[test]
fn rates_of_paths_are_told_as_the_wiring_has_them() {
    let base = spec(json!({"name": "ecmp"}), json!([{"kind": "flows", "list": [flow(0, 4, 1, 0)]}]));
    let wiring = with(
        &base,
        json!({"topology": {"override": [
        {"leaf": 1, "spine": 2, "direction": "down", "rate_gbps": 3}, {"leaf": 0, "spine": 1, "up": false}]}}),
    );
    let topology = Topology::new(&resolved(&wiring).topology).expect("a fabric");
    let gbps = |from: usize| topology.path_rates()[from].iter().map(|rate| rate / 1_000_000_000).collect::<Vec<_>>();
    // By leaf, four ways each: three remain between the two, and a slow one is slow in one direction.
    assert_eq!(gbps(0), [0, 0, 0, 0, 10, 3, 10, 0]);
    assert_eq!(gbps(1), [10, 10, 10, 0, 0, 0, 0, 0]);
}

/// Flows without gaps each stay on one path, so all paths to a host are never marked: hidden from DCTCP, marks leave
/// the cut to drops. Every retransmission is of a dropped packet.
#[test]
fn clove_that_hides_marks_fills_queues_until_they_drop() {
    let flows: Vec<Value> = (0..3).map(|host| flow(host, 4, 6_000_000, u64::from(host) * 1000)).collect();
    let base = spec(json!({"name": "clove"}), json!([{"kind": "flows", "list": flows}]));
    let transport = json!({"transport": {"kind": "dctcp", "recovery": "sack"}});
    let dropped_and_resent = |hide: bool| {
        let outcome =
            run_both(&with(&with(&base, transport.clone()), json!({"scheme": {"params": {"hide_ecn": hide}}})));
        all_finished(&outcome);
        assert!(total(&outcome, |r| r.marks) > 100, "queues are marked");
        let needless = total(&outcome, |r| r.spurious_retransmits);
        (crate::common::counter(&outcome, "dropped", "packets"), total(&outcome, |r| r.retransmits) - needless)
    };
    assert_eq!(dropped_and_resent(false), (0, 0));
    let (dropped, resent) = dropped_and_resent(true);
    assert!(dropped > 100 && resent <= dropped, "{resent} sent again for cause, {dropped} dropped");
}

#[test]
fn clove_moves_off_a_slow_path_and_random_flowlets_do_not() {
    let traffic =
        json!([{"kind": "permutation", "size_bytes": 100_000, "inter_rack": true, "repeat": 40, "period_us": 200}]);
    let slow = json!({"topology": {"override": [{"spine": 3, "rate_gbps": 1}]}});
    let (mut gained, mut shares) = ([0.0; 5], [0.0; 5]);
    for seed in 0..5 {
        let [random, clove] = ["edge_flowlet", "ecn"].map(|mode| {
            let scheme = json!({"name": "clove", "params": {"mode": mode}});
            run_both(&with(&with(&spec(scheme, traffic.clone()), slow.clone()), json!({"seed": seed})))
        });
        assert_eq!(random.report["traffic_hash"], clove.report["traffic_hash"]);
        let share = |outcome: &Outcome| {
            let bytes = |spine| of_link(outcome, &format!("leaf0->spine{spine}"), "bytes") as f64;
            bytes(3) / (bytes(0) + bytes(1) + bytes(2) + bytes(3))
        };
        shares[seed as usize] = share(&random) / share(&clove) - 1.0;
        assert!(link(&clove, "leaf0->spine3")["marks"].as_u64() > Some(0), "marks are what it goes by");
        gained[seed as usize] = mean_fct(&random) / mean_fct(&clove) - 1.0;
    }
    let (mean, half) = interval(gained);
    assert!(mean - half > 0.0, "flows end sooner, by {mean} +- {half}");
    let (mean, half) = interval(shares);
    assert!(mean - half > 0.0, "the slow path carries less: random flowlets put more there by {mean} +- {half}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let base = spec(json!({"name": "presto"}), json!([{"kind": "flows", "list": [flow(0, 4, 1, 0)]}]));
    let refused = |change: Value| {
        let error = resolve(&with(&base, change)).expect_err("refused");
        (error.key.clone(), error.to_string())
    };
    for tag in ["outer", "inner"] {
        let (key, text) = refused(json!({"scheme": {"params": {"weights": "cells"}, "path_tag": tag}}));
        assert_eq!(key, "scheme.path_tag");
        assert!(text.contains("given the rates of paths"), "{text}");
    }
    let on = |change: Value| merged(&resequencing(50.0), &json!({"transport": change}));
    let (key, text) = refused(on(json!({"resequencing_in_order_us": 60})));
    assert!(key == "transport.resequencing_in_order_us" && text.contains("resequencing_timeout_us or less"), "{text}");
    assert_eq!(refused(on(json!({"resequencing_timeout_us": 0}))).0, "transport.resequencing_timeout_us");
    assert_eq!(refused(on(json!({"resequencing": "yes"}))).0, "transport.resequencing");
    let rdma = json!({"transport": {"kind": "rdma", "resequencing": "on"}, "switch": {"model": "shared_buffer"}});
    assert_eq!(refused(rdma).0, "transport.resequencing");
}

/// ELAB Fig. 2: paths of 3 and 6 Gbps, and one flow that is split by their rates.
#[test]
fn the_oracle_of_rates_fills_unequal_paths_together() {
    let topology = json!({
        "leaves": 2, "spines": 2, "hosts_per_leaf": 1, "host_delay_ns": 20_000, "fabric_delay_ns": 20_000,
        "override": [{"spine": 0, "rate_gbps": 3}, {"spine": 1, "rate_gbps": 6}],
    });
    let bytes = 100_000_000;
    let spec = json!({
        "topology": topology, "scheme": {"name": "proportional"},
        "switch": {"buffer_bytes": 1_800_000, "ecn_threshold_bytes": 600_000},
        "transport": {"kind": "ecn"},
        "traffic": [{"kind": "flows", "list": [flow(0, 1, bytes, 0)]}],
    });
    let outcome = run_both(&spec);
    all_finished(&outcome);
    let packets = |spine| of_link(&outcome, &format!("leaf0->spine{spine}"), "packets");
    assert!(packets(1).abs_diff(2 * packets(0)) <= 2, "{} and {}", packets(0), packets(1));
    assert_eq!(total(&outcome, |record| record.retransmits), 0, "never a third duplicate acknowledgement");
    // 9 Gbps of packets that are 1460 of 1500 bytes payload, after a slow start of a few round trips.
    let least = bytes as f64 * 8.0 * 1500.0 / 1460.0 / 9e9;
    let took = outcome.records[0].fct as f64 / 1e12;
    assert!(took > least && took < 1.02 * least, "{took} s, {least} s at 9 Gbps");
}
