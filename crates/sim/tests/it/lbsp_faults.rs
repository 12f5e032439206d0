//! LBSP when links die and come back during a run: who avoids them, how soon, and that everything is as before
//! afterwards.

use crate::common::{events, merged, of_link, resolved, run_both};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::{Value, json};
use spinewise_policy::schemes::lbsp::table::Row;
use spinewise_sim::bank::Seating;
use spinewise_sim::engine::Sim;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::{Setup, Tuning};

/// A 4-ary tree, 10 Gbps and 1 us everywhere: groups of one link. Carrier is believed after 20 us.
fn spec(faults: Value, traffic: Value) -> Value {
    json!({
        "topology": {"kind": "fat_tree", "k": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10, "core_rate_gbps": 10,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000, "core_delay_ns": 1000},
        "scheme": {"name": "lbsp"}, "fault": faults, "detection": {"carrier_us": 20}, "traffic": traffic,
    })
}

/// 20 packets from host 0 to host 15, from this instant on: by default over aggregation 1.
fn burst(at_us: f64) -> Value {
    json!([{"kind": "udp", "src": 0, "dst": 15, "size_bytes": 30_000, "schedule": [{"at_us": at_us, "rate_gbps": 10}]}])
}

/// Returns how many of those came through, and over which aggregation switches they left.
fn fate(outcome: &Outcome) -> (u64, Vec<u32>) {
    let by = |column: u32| of_link(outcome, &format!("leaf0->aggregation{column}"), "bytes") >= 10 * 1500;
    (of_link(outcome, "leaf7->host15", "packets"), (0..2).filter(|&column| by(column)).collect())
}

// The link between leaf 7 and aggregation 7 is down from 100 to 1000 us. Aggregation 7 finds it at 120 us; its message is
// at leaf 0 after three links, 1 us + 51.2 ns each.
#[test]
fn leaves_hear_of_a_link_that_dies_and_of_its_return() {
    let faults = json!([{"kind": "down", "ends": ["leaf7", "aggregation7"], "at_us": 100, "until_us": 1000}]);
    let by = |at_us: f64| fate(&run_both(&spec(faults.clone(), burst(at_us))));
    assert_eq!(by(10.0), (20, vec![1]), "before");
    // Packet n is at leaf 0 at 112.2 us + n * 1.2 us, so ten are before the message.
    assert_eq!(by(110.0), (10, vec![0, 1]), "leaf 0 hears at 123.154 us");
    assert_eq!(by(121.0), (20, vec![0]), "the first is at leaf 0 at 123.2 us");
    assert_eq!(by(995.0), (20, vec![0]), "it works again, and nobody knows");
    assert_eq!(by(1030.0), (20, vec![1]), "as before");
    let never = merged(&spec(faults.clone(), burst(500.0)), &json!({"detection": {"mode": "never"}}));
    assert_eq!(fate(&run_both(&never)), (0, vec![1]));
}

// LBSP §3.4: a degraded link is dealt with as one that is down.
#[test]
fn a_link_that_becomes_slow_is_avoided_until_it_is_fast_again() {
    let faults = json!([{"kind": "rate", "ends": ["leaf7", "aggregation7"], "at_us": 100, "until_us": 1000,
                         "rate_gbps": 1}]);
    let by = |at_us: f64, params: Value| {
        let spec = merged(&spec(faults.clone(), burst(at_us)), &json!({"scheme": {"params": params}}));
        fate(&run_both(&spec))
    };
    assert_eq!(by(50.0, json!({})), (20, vec![1]));
    assert_eq!(by(130.0, json!({})), (20, vec![0]));
    assert_eq!(by(130.0, json!({"avoid_degraded": false})), (20, vec![1]));
    assert_eq!(by(1030.0, json!({})), (20, vec![1]));
}

/// The switches whose tables differ from those at the start.
fn changed_tables(spec: &Value, tuning: Tuning) -> Vec<u32> {
    let spec = resolved(spec);
    let setup = Setup::new(&spec, tuning).expect("a spec that fits");
    let mut sim = Sim::new(&setup.net, setup.start);
    sim.run(&spec, tuning, &mut |_| true).expect("a run to its end");
    let Seating::Lbsp(seats) = &sim.world.fabric.seating else { panic!("another scheme") };
    let changed = |switch: &u32| seats.peer_rows(*switch).iter().any(|row| *row != Row::default());
    (0..sim.net.topology.switches()).filter(changed).collect()
}

/// Rounds of failure and repair of links and of whole switches end where they began.
#[test]
fn after_repair_all_tables_are_as_before() {
    let faults = json!([
        {"kind": "down", "switch": "aggregation1", "at_us": 100, "until_us": 300},
        {"kind": "down", "switch": "core2", "at_us": 200, "until_us": 500},
        {"kind": "flap", "ends": ["leaf6", "aggregation6"], "at_us": 150, "until_us": 700, "period_us": 100,
         "down_us": 40},
    ]);
    for tuning in [Tuning::default(), events()] {
        let until = |us: u32| {
            let spec = merged(&spec(faults.clone(), burst(1.0)), &json!({"run": {"until_us": us, "stop": "time"}}));
            changed_tables(&spec, tuning)
        };
        assert_eq!(until(110), Vec::<u32>::new(), "nobody knows");
        assert!(until(150).len() > 8, "{:?}", until(150));
        assert!(!until(400).is_empty());
        assert_eq!(until(800), Vec::<u32>::new(), "as before");
    }
}

/// Faults of a 4-ary tree that all end, and last long enough to be detected.
fn passing() -> impl Strategy<Value = Value> {
    let links = crate::common::wired(&spec(json!([]), burst(1.0))["topology"]);
    let inner = links.links.numbered().filter(|&(number, _)| links.joins_switches(number));
    let names: Vec<(String, String)> =
        inner.map(|(_, link)| (links.node_name(link.from.0), links.node_name(link.to.0))).collect();
    let kind = prop::sample::select(&["down", "flap", "switch", "rate", "rate"][..]);
    let way = prop::sample::select(&["both", "both", "forward", "backward"][..]);
    (prop::sample::select(names), kind, way, 0u32..1500, 41u32..600).prop_map(|((a, b), kind, way, at, length)| {
        let fault = json!({"at_us": at, "until_us": at + length});
        let link = merged(&fault, &json!({"ends": [a, b], "direction": way}));
        match kind {
            "switch" => merged(&fault, &json!({"kind": "down", "switch": b})),
            "flap" => merged(&link, &json!({"kind": "flap", "period_us": 100, "down_us": 45})),
            "rate" => merged(&link, &json!({"kind": "rate", "rate_gbps": 2})),
            _ => merged(&link, &json!({"kind": "down"})),
        }
    })
}

/// Without faults that contradict others.
fn without_contradictions(mut spec: Value) -> Value {
    loop {
        let read = resolved(&spec);
        let Err(error) = Setup::new(&read, Tuning::default()).map(|_| ()) else { return spec };
        let n = error.key.strip_prefix("fault[").and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
        spec["fault"].as_array_mut().expect("faults").remove(n.unwrap_or_else(|| panic!("{error}")));
    }
}

fn passing_spec() -> impl Strategy<Value = Value> {
    let detection = prop::sample::select(vec![
        json!({"mode": "carrier", "carrier_us": 20}),
        json!({"mode": "carrier", "carrier_us": 0}),
        json!({"mode": "oracle"}),
        json!({"mode": "hello", "hello_interval_us": 10, "carrier_us": 20}),
    ]);
    (prop::collection::vec(passing(), 1..12), detection, 0u64..1000).prop_map(|(faults, detection, seed)| {
        let traffic = json!([{"kind": "poisson", "cdf": "vl2", "load": 0.1, "max_flows": 20, "duration_us": 2000}]);
        let change = json!({"detection": detection, "seed": seed, "run": {"until_us": 2500, "stop": "time"},
                            "transport": {"min_rto_us": 300}, "switch": {"buffer_packets": 10_000}});
        without_contradictions(merged(&spec(json!(faults), traffic), &change))
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default()
    })]

    /// The faults end by 2,100 us; some 50 us later all switches know.
    #[test]
    fn after_random_faults_all_tables_are_as_before(spec in passing_spec(), divisor in 1u64..9) {
        let tuning = Tuning { window_divisor: divisor, ..Tuning::default() };
        for tuning in [tuning, events()] {
            prop_assert_eq!(changed_tables(&spec, tuning), Vec::<u32>::new(), "{}", spec);
        }
    }
}

/// A property of tables that never change would be empty.
#[test]
fn random_faults_change_tables() {
    let mut runner = TestRunner::new(ProptestConfig { rng_seed: RngSeed::Fixed(4), ..ProptestConfig::default() });
    let mut changed = 0;
    for _ in 0..40 {
        let spec = passing_spec().new_tree(&mut runner).expect("a spec").current();
        let early = merged(&spec, &json!({"run": {"until_us": 900}}));
        changed += u32::from(!changed_tables(&early, Tuning::default()).is_empty());
    }
    assert!(changed > 20, "in {changed} of 40 runs");
}
