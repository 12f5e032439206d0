//! For any faults: everything is accounted for, nothing loops or overtakes (debug assertions watch the links), every
//! flow is finished or has a reason why not, and after repair everything is as before.

use crate::common::{counter, fat_tree, flow_column, merged, run, run_with, steps};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::{Value, json};
use spinewise_sim::bank::REGISTRY;
use spinewise_sim::faults::{Faults, Step};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;
use spinewise_sim::spec::{EngineKind, resolve};
use spinewise_sim::topology::Topology;

/// A fault somewhere in a fabric of these switches.
fn fault(names: Vec<(String, String)>) -> impl Strategy<Value = Value> {
    const KINDS: &[&str] = &["down", "down", "flap", "loss", "black_hole", "rate", "delay", "switch", "switch"];
    let what = (prop::sample::select(names), prop::sample::select(KINDS));
    let when = (0u32..1500, prop::option::weighted(0.8, 1u32..1500));
    let how = (prop::sample::select(&["both", "both", "forward", "backward"][..]), 2u32..200, 0.0f64..1.0);
    (what, when, how).prop_map(|(((a, b), kind), (at, length), (direction, period, share))| {
        let mut fault = json!({"kind": kind, "at_us": at, "until_us": length.map(|length| at + length)});
        if kind == "switch" && !b.starts_with("host") {
            return merged(&fault, &json!({"kind": "down", "switch": b, "may_cut_off": true}));
        }
        let kind = if kind == "switch" { "down" } else { kind };
        fault["kind"] = json!(kind);
        match kind {
            "flap" => {
                fault =
                    merged(&fault, &json!({"period_us": period, "down_us": f64::from(period) * (0.1 + 0.8 * share)}))
            }
            "loss" => fault["probability"] = json!(0.001 + share * share * 0.3),
            "black_hole" if period % 2 == 0 => fault["fraction"] = json!(0.1 + 0.9 * share),
            "black_hole" => fault["pairs"] = json!([[0, 3], [3, 0], [1, 4], [5, 2]]),
            "rate" => fault["rate_gbps"] = json!([0.7, 1.0, 3.0, 9.0][period as usize % 4]),
            "delay" => fault["added_us"] = json!(0.1 + share * f64::from(period)),
            _ => fault["may_cut_off"] = json!(true),
        }
        merged(&fault, &json!({"ends": [a, b], "direction": direction}))
    })
}

/// The names of both ends of each link of a fabric.
fn links(topology: &Value) -> Vec<(String, String)> {
    let wired = crate::common::wired(topology);
    let name = |node| wired.node_name(node);
    wired.links.iter().map(|link| (name(link.from.0), name(link.to.0))).collect()
}

/// Five switches, four of which have hosts, in a ring with a chord and a doubled link.
fn mesh() -> Value {
    let hosts = [(0, 8), (1, 8), (2, 9), (3, 9), (4, 10), (5, 10), (6, 11), (7, 11)];
    let inner = [(8, 9), (9, 10), (10, 11), (11, 12), (12, 8), (8, 10), (10, 9)];
    crate::common::graph(8, 5, hosts.iter().chain(&inner).map(|&(a, b)| json!([a, b, 10, 1000 + 100 * b])).collect())
}

fn broken() -> impl Strategy<Value = Value> {
    let small = json!({"leaves": 3, "spines": 3, "hosts_per_leaf": 2, "host_rate_gbps": 10, "fabric_rate_gbps": 10});
    let doubled = merged(&small, &json!({"parallel_links": 2, "spines": 2, "fabric_delay_ns": 3000}));
    let fabric = prop::sample::select(vec![small, doubled, fat_tree(), mesh()]);
    let scheme = |fabric: &Value| {
        let all = REGISTRY.iter().map(|entry| entry.name());
        let in_trees = if fabric["kind"] == "fat_tree" { "lbsp" } else { "ecmp" };
        // More runs of these than of others.
        let often = ["ecmp", "drill", "letflow", "conga", "packet_scatter", in_trees, in_trees, in_trees];
        prop_oneof![prop::sample::select(all.collect::<Vec<_>>()), prop::sample::select(often.to_vec())]
    };
    let detection = (
        prop::sample::select(&["carrier", "carrier", "hello", "hello", "oracle", "never"][..]),
        (0u32..200, 0u32..50, 0u32..400),
        prop::bool::weighted(0.8),
    );
    let detection = detection.prop_map(|(mode, (carrier, hop, control), reconverge)| {
        json!({"mode": mode, "carrier_us": carrier, "hello_interval_us": 1 + carrier, "flood_hop_us": hop,
               "hello_dead_count": 1 + hop % 4, "control_plane_us": control, "reconverge": reconverge})
    });
    let faults = fabric.prop_flat_map(move |fabric| {
        let (names, scheme) = (links(&fabric), scheme(&fabric));
        (Just(fabric), prop::collection::vec(fault(names), 1..7), scheme)
    });
    let ports = prop::sample::select(vec![
        json!({"ports": "fifo"}),
        json!({"ports": "commit_at_start"}),
        json!({"ecn_at": "dequeue"}),
        json!({"model": "shared_buffer", "pfc": false}),
        json!({"model": "shared_buffer", "pfc": true, "pause_us": 50}),
    ]);
    let transport = prop::sample::select(vec![
        json!({"min_rto_us": 300}),
        json!({"min_rto_us": 300, "handshake": true, "recovery": "sack"}),
        json!({"min_rto_us": 300, "recovery": "rack", "fin": true}),
        json!({"kind": "rdma"}),
    ]);
    (faults, detection, ports, transport, 0u64..1000).prop_map(
        |((topology, faults, scheme), detection, switch, transport, seed)| {
            crate::common::without_trimming(&json!({
                "seed": seed, "topology": topology, "scheme": {"name": scheme}, "fault": faults, "detection": detection,
                "switch": switch, "transport": transport, "run": {"until_us": 60_000},
                "traffic": [{"kind": "permutation", "size_bytes": 300_000},
                            {"kind": "poisson", "cdf": "vl2", "load": 0.3, "max_flows": 10, "duration_us": 1000}],
            }))
        },
    )
}

/// Removes, one by one, faults that contradict others, and a scheme or transport that does not fit; none if no fault is
/// left.
fn made_to_fit(mut spec: Value) -> Option<Value> {
    for _ in 0..12 {
        let error = match resolve(&spec) {
            Err(error) => error,
            Ok(read) => {
                match Topology::new(&read.topology).and_then(|mut topology| Faults::new(&read, &mut topology)) {
                    Err(error) => error,
                    Ok(faults) => return (!faults.is_empty()).then_some(spec),
                }
            }
        };
        if let Some(n) = error.key.strip_prefix("fault[").and_then(|rest| rest.split(']').next()?.parse::<usize>().ok())
        {
            spec["fault"].as_array_mut()?.remove(n);
        } else if error.key.starts_with("scheme.path_tag") {
            spec["scheme"]["path_tag"] = json!("explicit");
        } else if error.key.starts_with("scheme") {
            spec["scheme"] = json!({"name": "letflow"});
        } else if error.key.starts_with("switch") && spec["switch"]["pfc"] == true {
            spec["switch"] = json!({});
        } else {
            spec["transport"] = json!({});
            spec["switch"] = json!({});
        }
    }
    None
}

fn check(spec: &Value, tuning: Tuning) -> Outcome {
    let outcome = run_with(spec, Tuning { engine: Some(EngineKind::Windows), ..Tuning::default() });
    for other in [crate::common::events(), tuning] {
        let again = run_with(spec, other);
        assert_eq!(outcome.report["links"], again.report["links"], "{other:?}\n{spec}");
        assert_eq!(outcome.report["counters"], again.report["counters"], "{other:?}\n{spec}");
        assert_eq!(outcome.hash, again.hash, "{other:?}\n{spec}");
    }
    for unit in ["packets", "bytes"] {
        let fates = ["delivered", "dropped", "lost", "consumed", "in_network_at_stop"];
        let gone: u64 = fates.iter().map(|fate| counter(&outcome, fate, unit)).sum();
        assert_eq!(counter(&outcome, "created", unit), gone, "{unit}: {}\n{spec}", outcome.report["counters"]);
    }
    let of_links = |what: &str| -> u64 {
        outcome.report["links"].as_array().expect("links").iter().filter_map(|link| link[what].as_u64()).sum()
    };
    let in_switches = outcome.report["counters"]["lost_in_switches"].as_u64().unwrap_or_default();
    let lost = counter(&outcome, "lost", "packets");
    assert_eq!(of_links("lost") + in_switches, lost, "every loss has its place\n{spec}");
    let unroutable = outcome.report["counters"]["unroutable"].as_u64().unwrap_or_default();
    assert_eq!(of_links("drops") + unroutable, counter(&outcome, "dropped", "packets"), "{spec}");
    // No way is longer than this, so nothing loops; in a graph no longer than its hop limit.
    let longest = match spec["topology"]["kind"].as_str() {
        Some("fat_tree") => 6,
        Some("links") => 65,
        _ => 4,
    };
    let hops = outcome.report["packet_hops"].as_u64().unwrap_or_default();
    assert!(hops <= longest * counter(&outcome, "created", "packets"), "{hops} hops\n{spec}");
    let report = &outcome.report;
    let unfinished = &report["unfinished"];
    let [flows, finished, cut_off, out_of_time] =
        [&report["flows"], &report["finished"], &unfinished["cut_off"], &unfinished["out_of_time"]].map(|n| n.as_u64());
    assert_eq!(flows, finished.and_then(|n| Some(n + cut_off? + out_of_time?)), "{spec}");
    // Rates fall and rise again, routes change: no flow is faster than its ideal.
    let (fct, ideal) = (flow_column(&outcome, "fct_ps"), flow_column(&outcome, "ideal_fct_ps"));
    assert!(fct.iter().zip(&ideal).all(|(&fct, &ideal)| fct == 0 || fct >= ideal), "{spec}");
    outcome
}

/// Once all is repaired every switch uses the routes it began with.
fn check_repaired(spec: &Value) {
    let faults = spec["fault"].as_array().expect("faults");
    let by_hellos = spec["detection"]["mode"] == "hello";
    let unnoticed = |fault: &Value| match fault["kind"].as_str() {
        Some("black_hole") => true,
        Some("loss" | "delay") => !by_hellos,
        _ => false,
    };
    let repaired = faults.iter().all(|fault| unnoticed(fault) || fault["until_us"].is_number());
    let leaves = crate::common::wired(&spec["topology"]).leaves;
    let mut last = std::collections::BTreeMap::new();
    let mut told = std::collections::BTreeMap::new();
    let mut maps = std::collections::BTreeMap::new();
    for (switch, _, step) in steps(spec) {
        match step {
            Step::Dies => {}
            Step::Routes(row) => _ = last.insert(switch, row),
            Step::Map(map) => _ = maps.insert(switch, map),
            Step::Down(port) | Step::Degraded(port) | Step::Up(port) => {
                assert_ne!(told.insert((switch, port), Some(step)), Some(Some(step)), "{spec}");
            }
        }
    }
    if repaired {
        assert!(last.iter().all(|(switch, &row)| row == switch * leaves), "{last:?}\n{spec}");
        assert!(maps.values().all(|&map| map == 0), "{spec}");
        assert!(told.values().all(|&last| matches!(last, Some(Step::Up(_)))), "{spec}");
    }
}

/// A property of specs in which nothing happens would be empty.
#[test]
fn much_happens_in_these_specs() {
    let runs = 120;
    let mut runner = TestRunner::new(ProptestConfig { rng_seed: RngSeed::Fixed(9), ..ProptestConfig::default() });
    let mut seen = std::collections::BTreeMap::<&str, u32>::new();
    for _ in 0..runs {
        let drawn = broken().new_tree(&mut runner).expect("a spec").current();
        let Some(spec) = made_to_fit(drawn.clone()) else { continue };
        let outcome = run(&spec);
        let mut note = |what, happened: bool| *seen.entry(what).or_default() += u32::from(happened);
        note("the scheme as drawn", drawn["scheme"]["name"] == spec["scheme"]["name"]);
        note("losses", counter(&outcome, "lost", "packets") > 10);
        note("holes", outcome.report["counters"]["unroutable"].as_u64() > Some(0));
        note("cut off", outcome.report["unfinished"]["cut_off"].as_u64() > Some(0));
        note("all finished", outcome.report["finished"] == outcome.report["flows"]);
        let steps = steps(&spec);
        note("other routes", steps.iter().filter(|(.., step)| matches!(step, Step::Routes(_))).count() > 3);
        note("repairs", steps.iter().any(|(.., step)| matches!(step, Step::Up(_))));
    }
    println!("{seen:?}");
    assert_eq!(seen.len(), 7);
    for (what, times) in seen {
        assert!(times * 40 > runs, "{what}: in {times} of {runs} runs");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500, rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_breaks_all_is_accounted_for(spec in broken(), by_events in any::<bool>(), window_divisor in 1u64..40,
                                            commit_at_start in any::<bool>(), all_hooks in any::<bool>(), threads in prop_oneof![9 => Just(1usize), 1 => 2usize..5]) {
        let engine = Some(if by_events { EngineKind::Events } else { EngineKind::Windows });
        let tuning = Tuning { engine, window_divisor, commit_at_start, all_hooks, memory: None, threads, threads_if_worth: false };
        if let Some(spec) = made_to_fit(spec) {
            check(&spec, tuning);
            check_repaired(&spec);
        }
    }
}
