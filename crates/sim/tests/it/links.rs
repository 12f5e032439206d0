//! Observations of links: samples of queues and use, how evenly equal paths are used, reroutes, series of any link.

use super::common::{
    self, fat_tree, flow, flow_column, line, merged, of_link, resolved, run, run_both, series, stream,
};
use serde_json::{Value, json};
use spinewise_sim::drawing::drawing;
use spinewise_sim::ids::SwitchId;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::{Failure, Tuning, simulate};

/// Two hosts of one rack each send 100 packets at the full rate to a host of another: one link receives twice what it
/// can send.
fn two_into_one() -> Value {
    json!({
        "topology": merged(&line(1), &json!({"hosts_per_leaf": 2})),
        "traffic": [stream(0, 2, 100, 0.0), stream(1, 2, 100, 0.0)],
        "run": {"stop": "time", "until_us": 300},
        "metrics": {"facts": true, "sample_interval_us": 60},
    })
}

fn queue(outcome: &Outcome, name: &str) -> Value {
    common::link(outcome, name)["queue_bytes"].clone()
}

#[test]
fn queues_and_use_are_those_of_a_hand_calculation() {
    let outcome = run_both(&two_into_one());
    // Pair i of packets is at the leaf at 1.2 i + 1 us, packet n starts at 2.2 + 1.2 (n - 1): the queue at 60, 120,
    // 180, 240 and 300 us is 98 - 49, 198 - 99, 200 - 149, 200 - 199 and no packets.
    let mean = 1500.0 * (49 + 99 + 51 + 1) as f64 / 5.0;
    // The second of the last pair, at 121 us, finds 199 - 100 waiting.
    let found = json!({"mean": mean, "p50": 49 * 1500, "p95": 99 * 1500, "p99": 99 * 1500, "max": 99 * 1500});
    assert_eq!(queue(&outcome, "leaf0->spine0"), found);
    assert_eq!(common::link(&outcome, "leaf0->spine0")["use_max"], 1.0);
    assert_eq!(common::link(&outcome, "leaf0->spine0")["rate_bps"], 10_000_000_000u64);
    let nothing = json!({"mean": 0.0, "p50": 0, "p95": 0, "p99": 0, "max": 0});
    assert_eq!(queue(&outcome, "spine0->leaf1"), nothing);
    assert_eq!(queue(&outcome, "host0->leaf0"), Value::Null, "a NIC has no queue");
    assert_eq!(common::link(&outcome, "host0->leaf0")["use_max"], 1.0);
    assert_eq!(common::link(&outcome, "leaf1->host3")["use_max"], 0.0);
    assert_eq!(outcome.report["samples"], json!({"interval_ps": 60_000_000u64, "taken": 5}));
    assert_eq!(outcome.report["balance"], Value::Null, "no link has an equal");
}

#[test]
fn a_nic_that_queues_is_sampled_too() {
    let nics = json!({"switch": {"nics": "queue"}, "transport": {"initial_window_segments": 20},
                      "traffic": [{"kind": "flows", "list": [flow(0, 2, 29_200, 0)]}],
                      "metrics": {"sample_interval_us": 2}});
    let outcome = run_both(&merged(&two_into_one(), &nics));
    assert!(queue(&outcome, "host0->leaf0")["max"].as_u64() > Some(10_000), "{}", queue(&outcome, "host0->leaf0"));
}

#[test]
fn what_is_kept_beside_changes_no_outcome() {
    let base = json!({"topology": {"leaves": 3, "spines": 3, "hosts_per_leaf": 4}, "scheme": {"name": "letflow"},
                      "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 1000}]});
    let plain = run_both(&base);
    for interval in [json!(null), json!(1), json!(37.7), json!(1e6)] {
        let facts = json!({"metrics": {"facts": true, "sample_interval_us": interval}});
        let outcome = run_both(&merged(&base, &facts));
        assert_eq!(outcome.hash, plain.hash, "{interval}");
        assert_eq!(outcome.report["events"], plain.report["events"], "{interval}");
        let sampled = interval != json!(1e6);
        assert_eq!(outcome.report["samples"].is_object(), sampled, "{interval}");
        assert_eq!(queue(&outcome, "leaf0->spine0").is_object(), sampled, "{interval}");
    }
    for key in ["samples", "balance"] {
        assert_eq!(plain.report[key], Value::Null);
    }
    assert_eq!(queue(&plain, "leaf0->spine0"), Value::Null);
    assert_eq!(plain.report["totals"]["reroutes"], Value::Null);
}

#[test]
fn a_long_rest_is_sampled_as_nothing_and_costs_nothing() {
    // A second of nothing between two flows: a million empty samples, if each were taken.
    let spec = json!({"topology": line(2), "metrics": {"facts": true, "sample_interval_us": 1},
                      "traffic": [{"kind": "flows", "list": [flow(0, 1, 150_000, 0), flow(0, 1, 150_000, 1_000_000_000)]}]});
    let outcome = run_both(&spec);
    let taken = outcome.report["samples"]["taken"].as_u64();
    assert_eq!(taken, outcome.report["stop_ps"].as_u64().map(|stop| stop / 1_000_000));
    let link = common::link(&outcome, "host0->leaf0");
    assert_eq!((link["use_max"].as_f64(), link["queue_bytes"].is_null()), (Some(1.0), true));
}

#[test]
fn the_interval_follows_from_the_fabric_and_lies_on_the_grid() {
    // 4 links of 1 us and 1.2 us a packet there, back with an ACK: 2 round trips are less than 64 packets, 76.8 us.
    let spec = merged(&two_into_one(), &json!({"metrics": {"sample_interval_us": null}}));
    assert_eq!(run(&spec).report["samples"]["interval_ps"], 80_000_000u64);
    let far = json!({"topology": {"fabric_delay_ns": 20_000}, "run": {"until_us": 1000}});
    let interval = run(&merged(&spec, &far)).report["samples"]["interval_ps"].as_u64().unwrap_or(0);
    assert!((170_000_000..=200_000_000).contains(&interval) && interval.is_multiple_of(10_000_000), "{interval}");
}

#[test]
fn one_flow_is_as_uneven_as_can_be_and_spraying_is_even() {
    let flows = json!([{"kind": "flows", "list": [flow(0, 1, 3_000_000, 0)]}]);
    let with = |scheme: &str| {
        json!({"topology": line(4), "traffic": flows, "scheme": {"name": scheme}, "transport": {"dupack_threshold": 0},
               "metrics": {"facts": true, "sample_interval_us": 100}})
    };
    let alone = run_both(&with("ecmp")).report["balance"].clone();
    assert_eq!(alone, json!({"imbalance_mean": 4.0, "imbalance_max": 4.0, "most_uneven": "leaf0"}), "(1 - 0) / 0.25");
    let even = run_both(&with("drb")).report["balance"]["imbalance_mean"].as_f64();
    assert!(even < Some(0.1), "{even:?}");
    let tree = merged(&with("ecmp"), &json!({"topology": null}));
    let tree =
        merged(&tree, &json!({"topology": fat_tree(), "traffic": [{"kind": "permutation", "size_bytes": 300_000}]}));
    assert!(run_both(&tree).report["balance"]["imbalance_max"].as_f64() > Some(0.5));
}

#[test]
fn equal_links_are_found_in_every_fabric() {
    let of = |topology: &Value, switch: u32| common::wired(topology).choosable(SwitchId::new(switch));
    let leaf_spine = json!({"leaves": 3, "spines": 3, "hosts_per_leaf": 2});
    assert_eq!(of(&leaf_spine, 0), [vec![2, 3, 4]]);
    assert_eq!(of(&leaf_spine, 3), Vec::<Vec<u16>>::new(), "a spine has one way to each leaf");
    let twins = merged(&leaf_spine, &json!({"parallel_links": 2}));
    assert_eq!(of(&twins, 3), [vec![0, 1], vec![2, 3], vec![4, 5]]);
    // There is one spine less to leaf 1; the others are still its equals, towards leaf 2.
    let lame = merged(&leaf_spine, &json!({"override": [{"leaf": 1, "spine": 2, "up": false}]}));
    assert_eq!(of(&lame, 0), [vec![2, 3, 4]]);
    assert_eq!(of(&lame, 1), [vec![2, 3]]);
    // Leaves of a 4-ary tree choose between two aggregation switches, and those between two cores.
    assert_eq!(of(&fat_tree(), 0), [vec![2, 3]]);
    assert_eq!(of(&fat_tree(), 8), [vec![2, 3]]);
    assert_eq!(of(&fat_tree(), 16), Vec::<Vec<u16>>::new());
}

#[test]
fn reroutes_are_counted_whoever_chooses() {
    let with = |change: &Value| {
        let base = json!({"topology": line(3), "traffic": [{"kind": "flows", "list": [flow(0, 1, 300_000, 0)]}],
                          "transport": {"dupack_threshold": 0}, "metrics": {"facts": true}});
        run_both(&merged(&base, change))
    };
    let reroutes = |outcome: &Outcome| outcome.report["totals"]["reroutes"].as_u64();
    assert_eq!(reroutes(&with(&json!({}))), Some(0), "ECMP keeps a flow where it is");
    // If a host's tags name paths, reroutes are changes of the tag.
    let tagged = with(&json!({"scheme": {"name": "presto"}}));
    assert!(reroutes(&tagged) > Some(2));
    assert_eq!(reroutes(&tagged), Some(flow_column(&tagged, "path_changes")[0]));
    // A switch that draws one of three for each packet changes two times out of three.
    let sprayed = with(&json!({"scheme": {"name": "rps"}}));
    let share = reroutes(&sprayed).unwrap_or(0) as f64 / common::total(&sprayed, |record| record.packets) as f64;
    assert!((0.55..0.78).contains(&share), "{share}");
    // There is nothing to choose within a rack.
    let rack = json!({"topology": {"hosts_per_leaf": 2}, "scheme": {"name": "rps"}});
    assert_eq!(reroutes(&with(&rack)), Some(0));
    // ECMP moves a flow off a link that has failed, once.
    let first = ["leaf0->spine0", "leaf0->spine1", "leaf0->spine2"];
    let plain = with(&json!({}));
    let spine = first.iter().position(|name| of_link(&plain, name, "packets") > 1).expect("one has carried it");
    let fault = json!({"fault": [{"kind": "down", "ends": ["leaf0", format!("spine{spine}")], "at_us": 50}],
                       "detection": {"mode": "oracle"}});
    assert_eq!(reroutes(&with(&fault)), Some(1));
}

#[test]
fn subflows_that_stay_where_they_are_reroute_nothing() {
    let spec = json!({"topology": line(4), "transport": {"kind": "mptcp", "subflows": 4}, "metrics": {"facts": true},
                      "traffic": [{"kind": "flows", "list": [flow(0, 1, 600_000, 0)]}]});
    let outcome = run_both(&spec);
    assert_eq!(outcome.report["totals"]["reroutes"], 0);
    let sprayed = run_both(&merged(&spec, &json!({"scheme": {"name": "rps"}})));
    assert!(sprayed.report["totals"]["reroutes"].as_u64() > Some(100));
}

/// The names of the links that a series has points of.
fn recorded(outcome: &Outcome, name: &str) -> Vec<String> {
    let mut names: Vec<String> = series(outcome, name).into_iter().map(|(_, entity, _)| entity).collect();
    names.sort();
    names.dedup();
    names
}

fn with_series(links: &Value) -> Value {
    merged(&two_into_one(), &json!({"metrics": {"series_interval_us": 20, "series_links": links}}))
}

#[test]
fn series_are_of_the_links_asked_for() {
    let of = |links: Value| run_both(&with_series(&links));
    let fabric = ["leaf0->spine0", "leaf1->spine0", "spine0->leaf0", "spine0->leaf1"];
    assert_eq!(recorded(&of(json!("fabric")), "link_utilisation"), fabric);
    assert_eq!(recorded(&of(Value::Null), "link_utilisation"), fabric, "unless told otherwise");
    assert_eq!(recorded(&of(json!("all")), "link_utilisation").len(), 12);
    // NICs have no queue.
    assert_eq!(recorded(&of(json!("all")), "link_queue_bytes").len(), 8);
    let named = of(json!(["leaf1->host2", "host1->leaf0"]));
    assert_eq!(recorded(&named, "link_utilisation"), ["host1->leaf0", "leaf1->host2"]);
    assert_eq!(recorded(&named, "link_queue_bytes"), ["leaf1->host2"]);
}

#[test]
fn the_hot_spot_of_an_incast_is_on_record_with_its_marks_and_drops() {
    let spec = json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
        "switch": {"buffer_bytes": 60_000, "ecn_threshold_bytes": 20_000},
        "traffic": [{"kind": "incast", "receiver": 0, "senders": 7, "size_bytes": 60_000}],
        "metrics": {"series_interval_us": 50, "series_links": ["leaf0->host0"]},
        "run": {"stop": "time", "until_us": 30_000},
    });
    let outcome = run_both(&spec);
    let sum = |name: &str| series(&outcome, name).into_iter().map(|(_, _, value)| value).sum::<f64>();
    for (name, counter) in [("link_marks", "marks"), ("link_drops", "drops")] {
        let counted = of_link(&outcome, "leaf0->host0", counter);
        assert!(counted > 0, "{name}");
        assert_eq!(sum(name), counted as f64, "{name}");
    }
    let longest = series(&outcome, "link_queue_bytes").into_iter().map(|(_, _, value)| value).fold(0.0, f64::max);
    assert!(longest > 30_000.0, "{longest}");
}

/// A run may end as an interval does. That interval is complete, so all points together equal the reports.
#[test]
fn series_add_up_to_what_the_report_tells() {
    for (preset, switch) in [
        ("linux", json!({"buffer_bytes": 60_000, "ecn_threshold_bytes": 20_000, "ecn_at": "dequeue"})),
        ("ns3-hermes", json!({"buffer_bytes": 60_000, "ecn_threshold_bytes": 20_000})),
        ("selb", json!({})),
        ("uet", json!({})),
    ] {
        let outcome = run_both(&json!({
            "preset": preset, "switch": switch, "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
            "traffic": [{"kind": "incast", "receiver": 0, "senders": 7, "size_bytes": 300_000}],
            "metrics": {"series_interval_us": 50, "series_links": "all"}, "run": {"stop": "time", "until_us": 250},
        }));
        let points = |name: &str, link: &str| -> Vec<f64> {
            series(&outcome, name)
                .into_iter()
                .filter(|(_, entity, _)| entity == link)
                .map(|(.., value)| value)
                .collect()
        };
        for link in outcome.report["links"].as_array().expect("links") {
            let name = link["name"].as_str().expect("a name");
            let used = points("link_utilisation", name);
            assert_eq!(used.len(), 5, "{preset}: {name}");
            let whole = link["utilisation"].as_f64().expect("a share");
            assert!((used.iter().sum::<f64>() / 5.0 - whole).abs() < 1e-12, "{preset}: {name}");
            for (series, counter) in [("link_marks", "marks"), ("link_drops", "drops")] {
                assert_eq!(points(series, name).iter().sum::<f64>(), of_link(&outcome, name, counter) as f64, "{name}");
            }
        }
        let received: u64 = outcome.records.iter().map(|record| record.received).sum();
        assert!(received > 0);
        assert_eq!(points("received_bytes", "host0").iter().sum::<f64>(), received as f64, "{preset}");
    }
}

#[test]
fn pauses_are_on_record_at_switches_and_at_nics() {
    let spec = json!({
        "preset": "selb", "scheme": {"name": "drill"},
        "topology": {"leaves": 3, "spines": 3, "hosts_per_leaf": 4, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000},
        "traffic": [{"kind": "poisson", "cdf": "ali_storage", "load": 0.8, "load_of": "host_links", "pairs": "any",
                     "duration_us": 400},
                    {"kind": "incast", "receiver": 0, "senders": 9, "size_bytes": 1_000_000}],
        "metrics": {"series_interval_us": 10, "series_links": "all"},
    });
    // Nine hosts of one rack to a tenth: their leaf pauses them.
    let rack = json!({
        "topology": {"leaves": 2, "hosts_per_leaf": 10}, "switch": {"buffer_bytes": 2_000_000},
        "traffic": [{"kind": "incast", "receiver": 0, "senders": [1, 2, 3, 4, 5, 6, 7, 8, 9], "size_bytes": 3_000_000}],
    });
    assert!(paused_links(&run_both(&spec)).iter().any(|name| !name.starts_with("host")));
    assert_eq!(
        paused_links(&run_both(&merged(&spec, &rack))).iter().filter(|name| name.starts_with("host")).count(),
        9
    );
}

/// Returns the links that were paused for more than an interval, each as long as its series says.
fn paused_links(outcome: &Outcome) -> Vec<String> {
    let points = series(outcome, "link_paused");
    let mut names = Vec::new();
    for link in outcome.report["links"].as_array().expect("links") {
        let name = link["name"].as_str().unwrap_or_default();
        let shares: f64 = points.iter().filter(|(_, entity, _)| entity == name).map(|(_, _, share)| share).sum();
        // Unit: intervals; a pause after the last sample is not recorded.
        let paused = link["paused_ps"].as_f64().unwrap_or(0.0) / 10e6;
        assert!(shares <= paused + 1e-9 && shares >= paused - 1.0, "{name}: {shares} {paused}");
        if paused > 1.0 {
            names.push(name.to_string());
        }
    }
    names
}

#[test]
fn a_name_that_is_no_links_is_refused_with_the_nearest() {
    let refused = |links: Value| match simulate(&resolved(&with_series(&links)), Tuning::default(), &mut |_| true) {
        Err(Failure::Spec(error)) => error.to_string(),
        other => panic!("{:?}", other.map(|_| ())),
    };
    assert_eq!(
        refused(json!(["leaf1->host2", "leaf0->hots1"])),
        "metrics.series_links[1] = \"leaf0->hots1\": expected names of links as reports print them: leaf0->host0, … \
         leaf1->spine0; did you mean \"leaf0->host1\"?"
    );
    let allowed = "expected \"fabric\", \"all\", or a list of names of links, such as [\"leaf0->host0\"]";
    for (links, value) in [(json!("al"), "\"al\""), (json!(3), "3"), (json!([1]), "[1]")] {
        let error = spinewise_sim::spec::resolve(&with_series(&links)).expect_err("refused").to_string();
        assert!(error.starts_with(&format!("metrics.series_links = {value}: {allowed}")), "{error}");
    }
    let often = merged(&two_into_one(), &json!({"metrics": {"sample_interval_us": 0.5}}));
    let error = spinewise_sim::spec::resolve(&often).expect_err("refused").to_string();
    assert_eq!(error, "metrics.sample_interval_us = 0.5: expected a number of microseconds from 1 to 9000000000");
}

#[test]
fn a_fabric_is_told_as_it_is_built_with_its_faults() {
    let spec = json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1, "fabric_rate_gbps": 40,
                     "override": [{"leaf": 0, "spine": 0, "rate_gbps": 10}, {"leaf": 1, "spine": 1, "up": false}]},
        "traffic": [{"kind": "flows", "list": [flow(0, 1, 1000, 0)]}],
        "fault": [{"kind": "flap", "ends": ["leaf1", "spine0"], "at_us": 5, "until_us": 12, "period_us": 4, "down_us": 1},
                  {"kind": "rate", "ends": ["host0", "leaf0"], "direction": "forward", "at_us": 1, "rate_gbps": 1},
                  {"kind": "loss", "switch": "spine0", "at_us": 2, "until_us": 3, "probability": 0.5}],
    });
    let told = drawing(&resolved(&spec)).expect("told");
    assert_eq!(told["kind"], "leaf_spine");
    let names: Vec<&str> = told["nodes"].as_array().expect("nodes").iter().filter_map(|n| n["name"].as_str()).collect();
    assert_eq!(names, ["host0", "host1", "leaf0", "leaf1", "spine0", "spine1"]);
    assert_eq!(told["nodes"][1], json!({"name": "host1", "tier": "host", "position": 1, "leaf": "leaf1"}));
    assert_eq!(told["nodes"][5], json!({"name": "spine1", "tier": "spine", "position": 1, "leaf": null}));
    let link = |name: &str| told["links"].as_array().expect("links").iter().find(|link| link["name"] == name).cloned();
    assert_eq!(
        link("leaf0->spine0"),
        Some(json!({"name": "leaf0->spine0", "from": "leaf0", "to": "spine0", "rate_bps": 10_000_000_000u64,
                    "nominal_rate_bps": 40_000_000_000u64, "delay_ps": link("leaf0->spine1").expect("there")["delay_ps"],
                    "up": true, "slow": true}))
    );
    assert_eq!(link("spine1->leaf1").expect("there")["up"], false);
    assert_eq!(told["links"].as_array().map(Vec::len), Some(12));
    let us = |us: u64| us * 1_000_000;
    let faults = json!([
        {"kind": "flap", "links": ["leaf1->spine0", "spine0->leaf1"], "switch": null,
         "intervals": [[us(5), us(6)], [us(9), us(10)]]},
        {"kind": "rate", "links": ["host0->leaf0"], "switch": null, "intervals": [[us(1), null]], "rate_bps": 1_000_000_000},
        {"kind": "loss", "links": ["spine0->leaf0", "spine0->leaf1", "leaf0->spine0", "leaf1->spine0"], "switch": "spine0",
         "intervals": [[us(2), us(3)]], "probability": 0.5},
    ]);
    assert_eq!(told["faults"], faults);
}

#[test]
fn trees_and_graphs_are_told_with_their_tiers() {
    let traffic = json!([{"kind": "flows", "list": [flow(0, 1, 1000, 0)]}]);
    let tiers = |topology: Value| {
        let told = drawing(&resolved(&json!({"topology": topology, "traffic": traffic}))).expect("told");
        let mut counts = std::collections::BTreeMap::<String, u64>::new();
        for node in told["nodes"].as_array().expect("nodes") {
            let tier = node["tier"].as_str().expect("a tier").to_string();
            let count = counts.entry(tier).or_default();
            assert_eq!(node["position"], *count);
            *count += 1;
        }
        counts.into_iter().collect::<Vec<_>>()
    };
    let counted = |list: &[(&str, u64)]| list.iter().map(|&(tier, n)| (tier.to_string(), n)).collect::<Vec<_>>();
    assert_eq!(tiers(fat_tree()), counted(&[("aggregation", 8), ("core", 4), ("host", 16), ("leaf", 8)]));
    let cable = |a: u32, b: u32| json!({"a": a, "b": b, "rate_gbps": 10, "delay_ns": 1000});
    let links = vec![cable(0, 2), cable(1, 3), cable(2, 4), cable(3, 4)];
    assert_eq!(tiers(common::graph(2, 3, links)), counted(&[("host", 2), ("leaf", 2), ("spine", 1)]));
}

#[test]
fn a_fabric_that_cannot_be_built_is_refused_as_a_run_would_be() {
    let spec = json!({"topology": line(2), "traffic": [{"kind": "flows", "list": [flow(0, 1, 1000, 0)]}],
                      "fault": [{"kind": "down", "ends": ["leaf0", "spin1"], "at_us": 5, "until_us": 6}]});
    let error = drawing(&resolved(&spec)).expect_err("refused").to_string();
    assert!(error.contains("fault[0].ends") && error.contains("did you mean \"spine1\"?"), "{error}");
}
