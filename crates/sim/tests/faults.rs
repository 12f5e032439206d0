//! What breaks during a run: which packets are lost, to the picosecond; when switches learn of it and what they do
//! then; and that nothing else is lost, whatever breaks.

mod common;

use common::{counter, merged, of_link, run, run_both, run_with};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use serde_json::{Value, json};
use spinewise_policy::Time;
use spinewise_sim::bank::REGISTRY;
use spinewise_sim::faults::{Faults, Step};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::{Failure, Tuning, simulate};
use spinewise_sim::spec::{EngineKind, resolve};
use spinewise_sim::topology::Topology;

/// Two hosts, each at a leaf of its own; 10 Gbps and 1 µs everywhere.
fn line(spines: u32) -> Value {
    json!({"leaves": 2, "spines": spines, "hosts_per_leaf": 1, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
           "host_delay_ns": 1000, "fabric_delay_ns": 1000})
}

/// Packets of 1,500 bytes, 1.2 µs each, back to back from `from_us` on.
fn stream(src: u32, dst: u32, packets: u32, from_us: f64) -> Value {
    json!({"kind": "udp", "src": src, "dst": dst, "size_bytes": packets * 1500,
           "schedule": [{"at_us": from_us, "rate_gbps": 10}]})
}

fn lost_on(outcome: &Outcome, link: &str) -> u64 {
    of_link(outcome, link, "lost")
}

/// One packet leaves host 0 at 0, arrives at leaf 0 at 2.2 µs, and is on the line to the spine from then until 4.4 µs.
#[test]
fn a_packet_is_lost_if_the_link_is_down_while_any_of_it_is_on_the_line() {
    let times = [
        (4.4, None, 0),
        (4.399999, None, 1),
        (3.0, Some(3.1), 1),
        (0.0, Some(2.2), 0),
        (0.0, Some(2.200001), 1),
        (2.2, Some(2.200001), 1),
        (4.4, Some(5.0), 0),
    ];
    for (from, until, lost) in times {
        let spec = json!({
            "topology": line(1), "detection": {"mode": "never"}, "traffic": [stream(0, 1, 1, 0.0)],
            "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "direction": "forward", "at_us": from,
                       "until_us": until}],
        });
        let outcome = run_both(&spec);
        assert_eq!(lost_on(&outcome, "leaf0->spine0"), lost, "{spec}");
        assert_eq!(counter(&outcome, "lost", "packets"), lost);
        assert_eq!(counter(&outcome, "delivered", "packets"), 1 - lost);
        let back = merged(
            &spec,
            &json!({"fault": [{"kind": "down", "ends": ["spine0", "leaf0"], "direction": "backward",
                                                     "at_us": from, "until_us": until}]}),
        );
        assert_eq!(run(&back).hash, outcome.hash, "the same link, said the other way round");
    }
}

/// Packets back to back: those of which something is on the line during one of the outages are lost, and no others.
#[test]
fn a_flapping_link_loses_what_meets_its_outages() {
    let packets = 1000u64;
    let outcome = run_both(&json!({
        "topology": line(1), "detection": {"mode": "never"}, "traffic": [stream(0, 1, packets as u32, 0.0)],
        "fault": [{"kind": "flap", "ends": ["leaf0", "spine0"], "at_us": 100, "until_us": 905, "period_us": 50,
                   "down_us": 10}],
    }));
    let lost = (0..packets).filter(|n| {
        let (left, arrived) = (2_200 + n * 1_200, 4_400 + n * 1_200);
        (0..17).any(|outage| {
            let from = 100_000 + outage * 50_000;
            left < (from + 10_000).min(905_000) && arrived > from
        })
    });
    let lost = lost.count() as u64;
    assert!(lost > 100, "{lost}");
    assert_eq!(lost_on(&outcome, "leaf0->spine0"), lost);
    assert_eq!(counter(&outcome, "delivered", "packets"), packets - lost);
}

#[test]
fn random_loss_has_its_probability_and_its_time() {
    let spec = |seed: u64| {
        json!({
            "seed": seed, "topology": line(1), "traffic": [stream(0, 1, 20_000, 0.0)],
            "fault": [{"kind": "loss", "ends": ["spine0", "leaf1"], "direction": "forward", "at_us": 0,
                       "until_us": 12_000, "probability": 0.1}],
        })
    };
    let outcome = run_both(&spec(1));
    // 10,000 packets, give or take what is on its way: the deviation of their losses is 30.
    let lost = lost_on(&outcome, "spine0->leaf1");
    assert!(lost.abs_diff(1000) < 130, "{lost}");
    assert_eq!(counter(&outcome, "lost", "packets"), lost);
    assert_ne!(run(&spec(2)).hash, outcome.hash, "other dice");
}

/// Two spines. One of two links of leaf 0 dies at 1 ms. Leaf 0 finds it 100 µs later. The other leaf hears of it from
/// the spine that lost the link, 1 + 10 µs later, and computes for 1 ms.
#[test]
fn ends_find_what_is_down_and_the_others_hear_of_it() {
    let at = |from_us: f64, mode: Value| {
        let spec = json!({
            "topology": line(2), "scheme": {"name": "rps"},
            "traffic": [stream(0, 1, 60, from_us), stream(1, 0, 60, from_us)],
            "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 1000, "until_us": 4000}],
            "detection": mode,
        });
        let outcome = run_both(&spec);
        let unroutable = outcome.report["counters"]["unroutable"].as_u64().unwrap_or_default();
        (lost_on(&outcome, "leaf0->spine0") > 0, lost_on(&outcome, "spine0->leaf0") > 0, unroutable > 0)
    };
    let carrier = || json!({});
    assert_eq!(at(900.0, carrier()), (false, false, false), "not yet down");
    assert_eq!(at(1_010.0, carrier()), (true, true, false), "not yet found");
    assert_eq!(at(1_110.0, carrier()), (false, false, true), "the spine has no way left, and leaf 1 does not know");
    assert_eq!(at(2_020.0, carrier()), (false, false, true));
    assert_eq!(at(2_115.0, carrier()), (false, false, false), "all know");
    assert_eq!(at(4_050.0, carrier()), (false, false, false), "works, but nobody knows");
    assert_eq!(at(1_010.0, json!({"mode": "oracle"})), (false, false, false));
    assert_eq!(at(3_000.0, json!({"mode": "never"})), (true, true, false));
    assert_eq!(at(3_000.0, json!({"reconverge": false})), (false, false, true));
    assert_eq!(at(1_070.0, json!({"carrier_us": 20, "control_plane_us": 10})), (false, false, false));
    let used = |from_us: f64| {
        let outcome = run(&json!({
            "topology": line(2), "scheme": {"name": "rps"}, "traffic": [stream(0, 1, 60, from_us)],
            "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 1000, "until_us": 4000}],
        }));
        of_link(&outcome, "leaf0->spine0", "packets") > 0
    };
    assert_eq!([4_050.0, 4_900.0, 5_115.0].map(used), [false, false, true], "repaired by the same steps");
}

/// What is found only after it is over is not found.
#[test]
fn a_short_outage_changes_no_routes() {
    let spec = json!({
        "topology": line(2), "traffic": [stream(0, 1, 5, 0.0)], "detection": {"carrier_us": 100},
        "fault": [{"kind": "down", "switch": "spine0", "at_us": 10, "until_us": 109}],
    });
    assert_eq!(steps(&spec), Vec::<(u32, Time, Step)>::new());
    let longer = merged(&spec, &json!({"fault": [{"kind": "down", "switch": "spine0", "at_us": 10, "until_us": 111}]}));
    let found: Vec<_> = steps(&longer).into_iter().filter(|&(switch, ..)| switch == 0).map(|(_, at, _)| at.0).collect();
    assert_eq!(found[..2], [110_000_000; 2], "other routes, and the scheme is told");
}

/// What changes at every switch.
fn steps(spec: &Value) -> Vec<(u32, Time, Step)> {
    let spec = common::resolved(spec);
    let mut topology = Topology::new(&spec.topology).expect("a topology");
    let faults = Faults::new(&spec, &mut topology).expect("faults that fit");
    let of = |switch| faults.steps(switch).iter().map(move |&(at, step)| (switch, at, step));
    (0..topology.switches()).flat_map(of).collect()
}

fn fat_tree() -> Value {
    json!({"kind": "fat_tree", "k": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10})
}

/// A core, an aggregation switch and a link die; all that can be delivered is. A leaf that dies takes its hosts along.
#[test]
fn flows_finish_whatever_dies_that_is_not_their_own() {
    let spec = |faults: Value, detection: Value| {
        json!({
            "topology": fat_tree(), "traffic": [{"kind": "permutation", "size_bytes": 500_000}], "fault": faults,
            "detection": detection, "run": {"until_us": 500_000},
        })
    };
    let inner = json!([
        {"kind": "down", "switch": "core0", "at_us": 100}, {"kind": "down", "switch": "aggregation2", "at_us": 150},
        {"kind": "down", "ends": ["leaf6", "aggregation7"], "at_us": 120, "until_us": 3000},
    ]);
    let outcome = run_both(&spec(inner.clone(), json!({})));
    common::all_finished(&outcome);
    assert!(counter(&outcome, "lost", "packets") > 100);
    assert_eq!(outcome.report["unfinished"], json!({"cut_off": 0, "out_of_time": 0}));
    let blind = run_both(&spec(inner, json!({"mode": "never"})));
    assert!(blind.report["unfinished"]["out_of_time"].as_u64() > Some(2), "{}", blind.report["unfinished"]);
    assert_eq!(blind.report["unfinished"]["cut_off"], 0);
    let leaf = run_both(&spec(json!([{"kind": "down", "switch": "leaf0", "at_us": 100}]), json!({})));
    assert_eq!(leaf.report["unfinished"], json!({"cut_off": 4, "out_of_time": 0}), "two hosts, to and from");
    let back = run_both(&spec(json!([{"kind": "down", "switch": "leaf0", "at_us": 100, "until_us": 900}]), json!({})));
    common::all_finished(&back);
}

/// A path tag names its path while that works; when its port is gone, another is taken until it is back.
#[test]
fn explicit_tags_avoid_what_is_down() {
    let outcome = run_both(&json!({
        "topology": merged(&line(4), &json!({"hosts_per_leaf": 4})), "scheme": {"name": "presto"},
        "traffic": [{"kind": "permutation", "size_bytes": 5_000_000}],
        "fault": [{"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 200, "until_us": 2000}],
        "detection": {"carrier_us": 10, "control_plane_us": 10},
    }));
    common::all_finished(&outcome);
    let sent = |spine: u32| of_link(&outcome, &format!("leaf0->spine{spine}"), "packets");
    assert!(sent(1) > 1000 && sent(1) < sent(0) && sent(1) < sent(2), "{:?}", [0, 1, 2, 3].map(sent));
}

fn refused(spec: &Value) -> String {
    match resolve(spec) {
        Err(error) => error.to_string(),
        Ok(spec) => match simulate(&spec, Tuning::default(), &mut |_| true) {
            Err(Failure::Spec(error)) => error.to_string(),
            other => panic!("{:?} was taken", other.map(|outcome| outcome.report)),
        },
    }
}

#[test]
fn what_cannot_break_like_that_is_refused() {
    let down = json!({"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 10});
    let with = |change: Value| json!([merged(&down, &change)]);
    let graph = common::graph(2, 2, vec![json!([0, 2, 1, 1]), json!([1, 3, 1, 1]), json!([2, 3, 1, 1])]);
    let cases = [
        (json!({"fault": with(json!({"ends": ["leaf0", "spine7"]}))}), "fault[0].ends = \"spine7\""),
        (json!({"fault": with(json!({"ends": ["leaf0", "leaf1"]}))}), "leaf0 is linked to host0, spine0, spine1"),
        (json!({"fault": with(json!({"ends": ["leaf0"]}))}), "the names of two nodes that are linked"),
        (json!({"fault": with(json!({"link": 1}))}), "fault[0].link = 1: expected a link from 0 to 0"),
        (
            json!({"fault": with(json!({"at_us": -1}))}),
            "fault[0].at_us = -1: expected a number of microseconds, 0 or more",
        ),
        (json!({"fault": with(json!({"at_us": null}))}), "fault[0].at_us is missing"),
        (json!({"fault": with(json!({"until_us": 10}))}), "fault[0].until_us = 10: expected later than at_us"),
        (json!({"fault": with(json!({"kind": "up"}))}), "fault[0].kind = \"up\""),
        (json!({"fault": with(json!({"switch": "spine0"}))}), "either ends or switch"),
        (json!({"fault": with(json!({"ends": null}))}), "fault[0].ends is missing"),
        (json!({"fault": with(json!({"ends": null, "switch": "host1"}))}), "expected a switch"),
        (json!({"fault": with(json!({"ends": null, "switch": "spin0"}))}), "did you mean \"spine0\"?"),
        (
            json!({"fault": with(json!({"period_us": 3}))}),
            "fault[0].period_us = 3: expected nothing with kind \"down\"",
        ),
        (json!({"fault": with(json!({"kind": "flap", "period_us": 3}))}), "fault[0].down_us is missing"),
        (json!({"fault": with(json!({"kind": "flap", "period_us": 3, "down_us": 3}))}), "less than period_us"),
        (json!({"fault": with(json!({"kind": "flap", "period_us": 1, "down_us": 0.5}))}), "at most 10000 outages"),
        (json!({"fault": with(json!({"kind": "loss"}))}), "fault[0].probability is missing"),
        (json!({"fault": with(json!({"kind": "loss", "probability": 1.5}))}), "fault[0].probability = 1.5"),
        (
            json!({"fault": [down, merged(&down, &json!({"at_us": 20, "direction": "forward"}))]}),
            "fault[1].at_us = 20.0: expected a time at which fault[0] does not hold, which is of leaf0->spine0 too",
        ),
        (
            json!({"fault": [down], "topology": {"override": [{"leaf": 0, "spine": 0, "up": false}]}}),
            "topology.override has taken this one down",
        ),
        (
            json!({"fault": [down], "preset": "conweave-ns3", "switch": {"pause_us": 0}}),
            "no faults with switch.pause_us = 0",
        ),
        (json!({"detection": {"mode": "bfd"}}), "detection.mode = \"bfd\""),
        (
            json!({"fault": [down], "topology": graph,
                "traffic": [stream(0, 1, 1, 0.0)]}),
            "\"loss\" with topology.kind = \"links\"",
        ),
    ];
    for (change, message) in cases {
        let spec = json!({"topology": line(2), "traffic": [stream(0, 1, 1, 0.0)]});
        let kind = &change["topology"]["kind"];
        let base = if change["preset"].is_null() && kind.is_null() {
            spec
        } else {
            json!({"traffic": [stream(0, 7, 1, 0.0)]})
        };
        let error = refused(&merged(&base, &change));
        assert!(error.contains(message), "{error}\n  instead of: {message}");
    }
}

#[test]
fn a_run_with_faults_is_not_traced() {
    let spec = common::resolved(&json!({
        "topology": line(2), "scheme": {"name": "rps"}, "traffic": [stream(0, 1, 1, 0.0)],
        "fault": [{"kind": "loss", "switch": "spine0", "at_us": 1, "probability": 1}],
    }));
    let refused = spinewise_sim::trace::simulate(&spec, Tuning::default(), &[0], &mut |_| true);
    assert!(matches!(refused, Err(Failure::Spec(error)) if error.allowed == "a run without [[fault]]"));
}

/// A fault somewhere in a fabric of these switches.
fn fault(names: Vec<(String, String)>) -> impl Strategy<Value = Value> {
    let what = (prop::sample::select(names), prop::sample::select(&["down", "down", "flap", "loss", "switch"][..]));
    let when = (0u32..1500, prop::option::weighted(0.8, 1u32..1500));
    let how = (prop::sample::select(&["both", "both", "forward", "backward"][..]), 2u32..200, 0.0f64..1.0);
    (what, when, how).prop_map(|(((a, b), kind), (at, length), (direction, period, share))| {
        let mut fault = json!({"kind": kind, "at_us": at, "until_us": length.map(|length| at + length)});
        if kind == "switch" && !b.starts_with("host") {
            return merged(&fault, &json!({"kind": "down", "switch": b}));
        }
        let kind = if kind == "switch" { "down" } else { kind };
        fault["kind"] = json!(kind);
        match kind {
            "flap" => {
                fault =
                    merged(&fault, &json!({"period_us": period, "down_us": f64::from(period) * (0.1 + 0.8 * share)}))
            }
            "loss" => fault["probability"] = json!(0.001 + share * share * 0.3),
            _ => {}
        }
        merged(&fault, &json!({"ends": [a, b], "direction": direction}))
    })
}

/// The names of both ends of each link of a fabric.
fn links(topology: &Value) -> Vec<(String, String)> {
    let wired = common::wired(topology);
    let name = |node| wired.node_name(node);
    wired.links.iter().map(|link| (name(link.from.0), name(link.to.0))).collect()
}

fn broken() -> impl Strategy<Value = Value> {
    let small = json!({"leaves": 3, "spines": 3, "hosts_per_leaf": 2, "host_rate_gbps": 10, "fabric_rate_gbps": 10});
    let doubled = merged(&small, &json!({"parallel_links": 2, "spines": 2, "fabric_delay_ns": 3000}));
    let fabric = prop::sample::select(vec![small, doubled, fat_tree()]);
    let scheme = prop::sample::select(REGISTRY.iter().map(|entry| entry.about.name).collect::<Vec<_>>());
    let detection = (
        prop::sample::select(&["carrier", "carrier", "carrier", "oracle", "never"][..]),
        (0u32..200, 0u32..50, 0u32..400),
        prop::bool::weighted(0.8),
    );
    let detection = detection.prop_map(|(mode, (carrier, hop, control), reconverge)| {
        json!({"mode": mode, "carrier_us": carrier, "flood_hop_us": hop, "control_plane_us": control,
               "reconverge": reconverge})
    });
    let faults = fabric.prop_flat_map(|fabric| {
        let names = links(&fabric);
        (Just(fabric), prop::collection::vec(fault(names), 1..7))
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
    (faults, scheme, detection, ports, transport, 0u64..1000).prop_map(
        |((topology, faults), scheme, detection, switch, transport, seed)| {
            json!({
                "seed": seed, "topology": topology, "scheme": {"name": scheme}, "fault": faults, "detection": detection,
                "switch": switch, "transport": transport, "run": {"until_us": 60_000},
                "traffic": [{"kind": "permutation", "size_bytes": 300_000},
                            {"kind": "poisson", "cdf": "vl2", "load": 0.3, "max_flows": 10, "duration_us": 1000}],
            })
        },
    )
}

/// Takes away, one by one, faults that contradict others, and a scheme or transport that does not fit; nothing if no
/// fault is left.
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
    for other in [common::events(), tuning] {
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
    assert_eq!(of_links("lost"), counter(&outcome, "lost", "packets"), "every loss has its link\n{spec}");
    let unroutable = outcome.report["counters"]["unroutable"].as_u64().unwrap_or_default();
    assert_eq!(of_links("drops") + unroutable, counter(&outcome, "dropped", "packets"), "{spec}");
    // No way is longer than this, so nothing goes round in a circle.
    let longest = if spec["topology"]["kind"] == "fat_tree" { 6 } else { 4 };
    let hops = outcome.report["packet_hops"].as_u64().unwrap_or_default();
    assert!(hops <= longest * counter(&outcome, "created", "packets"), "{hops} hops\n{spec}");
    let report = &outcome.report;
    let unfinished = &report["unfinished"];
    let [flows, finished, cut_off, out_of_time] =
        [&report["flows"], &report["finished"], &unfinished["cut_off"], &unfinished["out_of_time"]].map(|n| n.as_u64());
    assert_eq!(flows, finished.and_then(|n| Some(n + cut_off? + out_of_time?)), "{spec}");
    outcome
}

/// Once all is repaired every switch uses the routes it began with.
fn check_repaired(spec: &Value) {
    let faults = spec["fault"].as_array().expect("faults");
    let repaired = faults.iter().all(|fault| fault["kind"] == "loss" || fault["until_us"].is_number());
    let leaves = common::wired(&spec["topology"]).leaves;
    let mut last = std::collections::BTreeMap::new();
    let mut told = std::collections::BTreeMap::new();
    for (switch, _, step) in steps(spec) {
        match step {
            Step::Routes(row) => _ = last.insert(switch, row),
            Step::Down(port) => assert_ne!(told.insert((switch, port), true), Some(true), "{spec}"),
            Step::Up(port) | Step::Degraded(port) => {
                assert_eq!(told.insert((switch, port), false), Some(true), "{spec}");
            }
        }
    }
    if repaired {
        assert!(last.iter().all(|(switch, &row)| row == switch * leaves), "{last:?}\n{spec}");
        assert!(told.values().all(|down| !down), "{spec}");
    }
}

/// A property of specs in which nothing happens would be none.
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
                                            commit_at_start in any::<bool>(), all_hooks in any::<bool>()) {
        let engine = Some(if by_events { EngineKind::Events } else { EngineKind::Windows });
        let tuning = Tuning { engine, window_divisor, commit_at_start, all_hooks };
        if let Some(spec) = made_to_fit(spec) {
            check(&spec, tuning);
            check_repaired(&spec);
        }
    }
}
