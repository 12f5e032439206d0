//! Schemes in runs that follow the public ns-3 code of ConWeave.

use crate::common::{counter, flow, merged, of_link, run, series, traced};
use serde_json::{Value, json};
use spinewise_sim::setup::{Failure, Tuning, simulate};
use spinewise_sim::spec::resolve;

/// `rand() % 8` of glibc, seed 1.
const DRAWN: [usize; 10] = [7, 6, 1, 3, 1, 7, 2, 4, 1, 5];

/// Four leaves, eight spines.
fn followed(flows: &[Value]) -> Value {
    json!({
        "preset": "conweave-ns3",
        "topology": {"leaves": 4, "spines": 8, "hosts_per_leaf": 4, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000, "tx_time_rounding": "floor_1ns"},
        "transport": {"kind": "rdma", "recovery": "irn"},
        "switch": {"model": "shared_buffer", "pfc": false},
        "scheme": {"name": "letflow", "acks": "ecmp", "hash": "murmur3"},
        "traffic": [{"kind": "flows", "list": flows}],
        "run": {"follow": "conweave-ns3"},
    })
}

/// The uplinks of a leaf that carry at least this many bytes.
fn taken(spec: &Value, leaf: usize, bytes: u64) -> Vec<usize> {
    let outcome = run(spec);
    (0..8).filter(|spine| of_link(&outcome, &format!("leaf{leaf}->spine{spine}"), "bytes") >= bytes).collect()
}

#[test]
fn paths_are_drawn_from_one_stream_by_all_switches() {
    let drawn: Vec<usize> = (0..10).collect();
    // The sources take turns; a packet within a rack draws nothing.
    let flows: Vec<Value> =
        drawn.iter().map(|&n| flow(n as u32 % 4 * 4, (n as u32 % 4 * 4 + 4) % 16, 900, n as u64 * 5000)).collect();
    let within = [flow(1, 2, 900, 7000)];
    let spec = followed(&[&flows[..], &within].concat());
    for leaf in 0..4 {
        let mut expected: Vec<usize> = drawn.iter().filter(|&n| n % 4 == leaf).map(|&n| DRAWN[n]).collect();
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(taken(&spec, leaf, 900), expected, "leaf {leaf}");
    }
}

#[test]
fn a_trace_draws_nothing() {
    let flows: Vec<Value> = (0..6).map(|n| flow(n % 4 * 4, (n % 4 * 4 + 4) % 16, 30_000, u64::from(n) * 700)).collect();
    let spec = followed(&flows);
    let (outcome, _) = traced(&spec, &[0, 3], Tuning::default());
    assert_eq!(outcome.hash, run(&spec).hash);
}

/// Source ports count up from 10,000 for each source, destination ports from 100 for each destination. The keys in that
/// code lay 3 over the destination port, and leave out the source.
#[test]
fn flows_with_one_key_are_one_flowlet() {
    let first = flow(0, 4, 900, 0);
    // Flows from another source with the same port, to ports 101 and 102: the same flowlet.
    let alike = [first.clone(), flow(1, 4, 900, 9_000), flow(2, 4, 900, 18_000)];
    assert_eq!(taken(&followed(&alike), 0, 900), [7]);
    // After a gap the second draws for both.
    let late = [first.clone(), flow(1, 4, 900, 101_000), flow(2, 4, 900, 110_000)];
    assert_eq!(taken(&followed(&late), 0, 900), [6, 7]);
    // Another source port, or another destination.
    let other = [first.clone(), flow(0, 4, 900, 9_000)];
    assert_eq!(taken(&followed(&other), 0, 900), [6, 7]);
    let other = [first.clone(), flow(1, 5, 900, 9_000)];
    assert_eq!(taken(&followed(&other), 0, 900), [6, 7]);
    // Otherwise none of this happens.
    let free = merged(&followed(&alike), &json!({"run": {"follow": "nothing"}}));
    assert_eq!(taken(&free, 0, 900).len(), 3, "drawn for each, on this seed");
}

/// Flows from two racks to one, many enough that paths are left: what overtook a TAIL is held outside the buffer, and
/// released.
#[test]
fn what_conweave_holds_comes_back() {
    let flows: Vec<Value> = (0..24).map(|n| flow(n % 8, 12 + n % 4, 300_000, u64::from(n) * 997)).collect();
    let change = json!({"scheme": {"name": "conweave"}, "metrics": {"series_interval_us": 100}});
    let spec = merged(&followed(&flows), &change);
    let outcome = run(&spec);
    assert_eq!(outcome.report["finished"], outcome.report["flows"]);
    assert_eq!(counter(&outcome, "in_network_at_stop", "packets"), 0);
    let points = |name: &str| series(&outcome, &format!("conweave.{name}")).len();
    assert!(points("held_us") > 5, "{} were held", points("held_us"));
    assert_eq!(points("reorder_queues"), points("held_us"));
    assert_eq!(points("drained_queues"), points("held_us"));
    let (traced, _) = traced(&spec, &[0, 3], Tuning::default());
    assert_eq!(traced.hash, outcome.hash);
}

/// All flows still end and every packet is accounted for with any single rule left out.
#[test]
fn each_rule_can_be_left_out() {
    let flows: Vec<Value> = (0..12).map(|n| flow(n % 8, 12 + n % 4, 60_000, u64::from(n) * 97)).collect();
    for (scheme, recovery, pfc) in [("conweave", "irn", false), ("conga", "go_back_n", true), ("drill", "irn", false)] {
        let change = json!({
            "scheme": {"name": scheme}, "transport": {"recovery": recovery}, "switch": {"pfc": pfc},
        });
        let spec = merged(&followed(&flows), &change);
        let rules = resolve(&spec).unwrap().resolved["follow"].as_object().unwrap().clone();
        assert!(rules.len() > 20 && rules.values().all(|on| on == true));
        for rule in rules.keys() {
            let outcome = run(&merged(&spec, &json!({"follow": {rule: false}})));
            assert_eq!(outcome.report["finished"], 12, "{scheme} without {rule}");
            assert_eq!(counter(&outcome, "in_network_at_stop", "packets"), 0, "{scheme} without {rule}");
        }
    }
}

/// The rules of a scheme are parameters of it, which a spec can set too.
#[test]
fn rules_of_a_scheme_are_its_parameters() {
    let params = |spec: &Value| resolve(spec).unwrap().resolved["scheme"]["params"].clone();
    let spec = merged(&followed(&[flow(0, 4, 900, 0)]), &json!({"scheme": {"name": "conga"}}));
    let here = params(&spec);
    assert_eq!([&here["feedback"], &here["tie"]], ["drawn_first", "drawn"]);
    assert_eq!([&here["beats"], &here["register"]], ["first_packet", "double"]);
    let without = params(&merged(&spec, &json!({"follow": {"conga_beats_begin": false}})));
    assert_eq!([&without["beats"], &without["register"]], ["clock", "double"]);
    let given = params(&merged(&spec, &json!({"scheme": {"params": {"register": "fixed"}}})));
    assert_eq!([&given["beats"], &given["register"]], ["first_packet", "fixed"]);
    let free = params(&merged(&spec, &json!({"run": {"follow": "nothing"}})));
    assert_eq!([&free["beats"], &free["feedback"]], ["clock", "random"]);
}

#[test]
fn flows_that_wait_for_others_are_refused() {
    let spec = merged(
        &followed(&[flow(0, 4, 900, 0)]),
        &json!({"traffic": [{"kind": "all_reduce", "size_bytes": 8000, "hosts": [0, 4]}]}),
    );
    let refused = simulate(&resolve(&spec).unwrap(), Tuning::default(), &mut |_| true);
    let Err(Failure::Spec(error)) = refused else { panic!("it was taken") };
    assert_eq!(
        error.to_string(),
        "run.follow = \"conweave-ns3\": expected \"nothing\" with flows that wait for others: that code has none"
    );
    run(&merged(&spec, &json!({"run": {"follow": "nothing"}})));
}

#[test]
fn a_scheme_that_the_program_has_not_is_refused() {
    let spec = merged(&followed(&[flow(0, 4, 900, 0)]), &json!({"scheme": {"name": "selb"}}));
    let said = resolve(&spec).unwrap_err().to_string();
    assert!(said.starts_with("scheme.name = \"selb\": expected \"ecmp\", \"letflow\", \"conga\", \"drill\""), "{said}");
}
