//! The wiring of leaf-spine fabrics: what overrides change, which ways there are, and how links are named.

use crate::common::{flow, flow_column, link, of_link, resolved, run, udp};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use spinewise_policy::{Span, Tier};
use spinewise_sim::ids::{HostId, NodeId, SwitchId};
use spinewise_sim::setup::{Failure, Tuning, simulate};
use spinewise_sim::spec::resolve;
use spinewise_sim::topology::{LinkSpec, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The wiring of a `[topology]`.
fn wired(topology: &Value) -> Topology {
    let traffic = json!([{"kind": "flows", "list": [flow(0, 1, 1, 0)]}]);
    let spec = resolved(&json!({"topology": topology, "traffic": traffic}));
    Topology::new(&spec.topology).unwrap_or_else(|error| panic!("{error}"))
}

/// Links by name.
fn by_name(topology: &Topology) -> BTreeMap<String, LinkSpec> {
    topology.links.numbered().map(|(number, &link)| (topology.link_name(number), link)).collect()
}

/// 3 leaves, 2 spines, 2 hosts a leaf, twice the links.
fn double(overrides: Value) -> Value {
    json!({"leaves": 3, "spines": 2, "hosts_per_leaf": 2, "parallel_links": 2, "host_rate_gbps": 10,
           "fabric_rate_gbps": 40, "host_delay_ns": 100, "fabric_delay_ns": 300, "switch_latency_ns": 50,
           "override": overrides})
}

#[test]
fn every_cable_is_two_links_with_names_of_their_own() {
    let topology = wired(&double(json!([])));
    let links = by_name(&topology);
    // 6 hosts and 3 x 2 x 2 leaf-spine cables, both ways.
    assert_eq!((links.len(), topology.links.len()), (36, 36));
    for (number, link) in topology.links.numbered() {
        assert_eq!(topology.out_number(link.from.0, link.from.1), number, "{link:?}");
        let back = topology.out(link.to.0, link.to.1);
        assert_eq!((back.from, back.to), (link.to, link.from), "a cable runs both ways by the same ports");
        assert_eq!(topology.in_link(link.to.0, link.to.1), number);
    }
    for name in
        ["host0->leaf0", "host5->leaf2", "leaf1->host3", "leaf2->spine1#0", "leaf2->spine1#1", "spine0->leaf1#1"]
    {
        assert!(links.contains_key(name), "{name} of {:?}", links.keys());
    }
    // The latency of a switch belongs to the links that end at it.
    let delays = |name: &str| links[name].delay;
    assert_eq!((delays("host0->leaf0"), delays("leaf0->host0")), (Span(150_000), Span(100_000)));
    assert_eq!((delays("leaf0->spine0#0"), delays("spine0->leaf0#0")), (Span(350_000), Span(350_000)));
    assert_eq!([0, 2, 3].map(|switch| topology.tier(SwitchId::new(switch))), [Tier::Leaf, Tier::Leaf, Tier::Spine]);
    let names: Vec<_> = [0, 5, 6, 8, 9, 10].map(|node| topology.node_name(NodeId::new(node))).into();
    assert_eq!(names, ["host0", "host5", "leaf0", "leaf2", "spine0", "spine1"]);
    assert!(by_name(&wired(&json!({"leaves": 2}))).contains_key("leaf0->spine1"), "single links have no number");
}

/// Names of the links that differ from those without overrides.
fn changed(overrides: Value) -> Vec<String> {
    let (before, after) = (by_name(&wired(&double(json!([])))), by_name(&wired(&double(overrides))));
    after.into_iter().filter(|(name, link)| before[name] != *link).map(|(name, _)| name).collect()
}

#[test]
fn overrides_change_all_links_that_every_selector_fits_and_no_other() {
    assert_eq!(
        changed(json!([{"leaf": 1, "spine": 0, "link": 1, "rate_gbps": 3}])),
        ["leaf1->spine0#1", "spine0->leaf1#1"]
    );
    assert_eq!(
        changed(json!([{"leaf": 1, "spine": 0, "link": 1, "rate_gbps": 3, "direction": "up"}])),
        ["leaf1->spine0#1"]
    );
    assert_eq!(
        changed(json!([{"leaf": 2, "spine": 1, "delay_ns": 7, "direction": "down"}])),
        ["spine1->leaf2#0", "spine1->leaf2#1"]
    );
    assert_eq!(changed(json!([{"spine": 1, "rate_gbps": 1}])).len(), 12);
    assert_eq!(changed(json!([{"leaf": 0, "rate_gbps": 1}])).len(), 8);
    assert_eq!(changed(json!([{"link": 0, "rate_gbps": 1}])).len(), 12);
    assert_eq!(changed(json!([{"host": 4, "rate_gbps": 1}])), ["host4->leaf2", "leaf2->host4"]);
    assert_eq!(changed(json!([{"host": 4, "delay_ns": 1, "direction": "down"}])), ["leaf2->host4"]);
    // The last override counts, key by key.
    let twice =
        json!([{"spine": 0, "rate_gbps": 3, "delay_ns": 9}, {"leaf": 0, "rate_gbps": 6}, {"leaf": 1, "rate_gbps": 40}]);
    let links = by_name(&wired(&double(twice)));
    let of = |name: &str| (links[name].rate, links[name].delay);
    assert_eq!(of("leaf0->spine0#0"), (6_000_000_000, Span(59_000)));
    assert_eq!(of("leaf0->spine1#0"), (6_000_000_000, Span(350_000)));
    assert_eq!(of("spine0->leaf1#1"), (40_000_000_000, Span(59_000)));
    assert_eq!(of("spine0->leaf2#1"), (3_000_000_000, Span(59_000)));
}

#[test]
fn ways_are_pairs_of_working_links() {
    let at = SwitchId::new;
    let all = wired(&double(json!([])));
    assert_eq!((all.ways.clone(), all.most_ways), (vec![0, 8, 8, 8, 0, 8, 8, 8, 0], 8));
    assert_eq!(all.uplinks(at(0), at(1)), [2, 3, 4, 5], "behind the two host ports");
    assert_eq!(all.uplinks(at(3), at(1)), [2, 3], "of a spine: two ports a leaf");
    assert!(all.uplinks(at(1), at(1)).is_empty());
    // Leaf 0 has lost an uplink to spine 0; spine 1 has lost both links down to leaf 2.
    let down = wired(&double(json!([
        {"leaf": 0, "spine": 0, "link": 1, "direction": "up", "up": false},
        {"leaf": 2, "spine": 1, "direction": "down", "up": false},
    ])));
    assert_eq!(down.uplinks(at(0), at(1)), [2, 4, 5]);
    assert_eq!(down.uplinks(at(0), at(2)), [2], "no way leads through a spine that cannot go on");
    assert_eq!(down.uplinks(at(2), at(0)), [2, 3, 4, 5], "the way back is as it was");
    assert_eq!(down.ways, [0, 6, 2, 8, 0, 4, 8, 8, 0]);
    let (up, nominal) = (down.leaf_rates().1, down.leaf_rates().0);
    assert_eq!((up[0], nominal[0]), (120_000_000_000, 160_000_000_000));
    assert_eq!(down.leaf_rates().2[2], 80_000_000_000);
}

fn size() -> impl Strategy<Value = (u32, u32, u32, u32)> {
    (2u32..=4, 1u32..=4, 1u32..=3, 1u32..=3)
}

/// The links of a random part of the fabric, down in one direction or both.
fn outages() -> impl Strategy<Value = Vec<(u32, u32, u32, &'static str)>> {
    prop::collection::vec((0u32..4, 0u32..4, 0u32..3, prop::sample::select(&["both", "up", "down"][..])), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Each way is a separate path over links that work; together they are all paths.
    #[test]
    fn ways_number_all_paths_once((leaves, spines, hosts, parallel) in size(), outages in outages()) {
        let overrides: Vec<Value> = outages.iter().map(|&(leaf, spine, link, direction)| json!({
            "leaf": leaf % leaves, "spine": spine % spines, "link": link % parallel, "direction": direction, "up": false,
        })).collect();
        let table = json!({"leaves": leaves, "spines": spines, "hosts_per_leaf": hosts, "parallel_links": parallel, "override": overrides});
        let spec = json!({"topology": table, "traffic": [{"kind": "udp", "src": 0, "dst": hosts, "schedule": [{"rate_gbps": 1}]}],
                          "run": {"stop": "time", "until_us": 1}});
        let Ok(resolved) = resolve(&spec) else { return Ok(()) };
        let topology = Topology::new(&resolved.topology).expect("overrides select what is there");
        let is_up = |leaf: u32, spine: u32, link: u32, way: &str| !outages.iter().any(|&(l, s, p, direction)| {
            (l % leaves, s % spines, p % parallel) == (leaf, spine, link) && (direction == way || direction == "both")
        });
        for from in 0..leaves {
            for to in (0..leaves).filter(|&to| to != from) {
                let mut expected = BTreeSet::new();
                for spine in 0..spines {
                    for (up, down) in (0..parallel).flat_map(|up| (0..parallel).map(move |down| (up, down))) {
                        if is_up(from, spine, up, "up") && is_up(to, spine, down, "down") {
                            let number = |n: u32| if parallel > 1 { format!("#{n}") } else { String::new() };
                            expected.insert([
                                format!("leaf{from}->spine{spine}{}", number(up)), format!("spine{spine}->leaf{to}{}", number(down)),
                            ]);
                        }
                    }
                }
                let ways = topology.ways[(from * leaves + to) as usize];
                let paths: BTreeSet<_> = (0..ways).map(|way| {
                    let path = topology.path(HostId::new(from * hosts), HostId::new(to * hosts), way);
                    assert_eq!(path.len(), 4);
                    [path[1], path[2]].map(|link| topology.link_name(topology.out_number(link.from.0, link.from.1)))
                }).collect();
                prop_assert_eq!(paths.len(), usize::from(ways), "two ways are one path");
                prop_assert_eq!(&paths, &expected);
                if (from, to) == (0, 1) || (from, to) == (1, 0) {
                    let run = simulate(&resolved, Tuning::default(), &mut |_| true);
                    let cut = expected.is_empty();
                    prop_assert!(run.is_ok() || topology.ways[1] == 0 || topology.ways[leaves as usize] == 0, "refused for nothing");
                    prop_assert!(!cut || matches!(run, Err(Failure::Spec(_))), "ran without a path");
                }
            }
        }
    }
}

/// Returns the message of a refused topology that a flow from host 0 to host 2 has to cross.
fn refusal(overrides: Value) -> String {
    let spec = json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "override": overrides},
        "traffic": [{"kind": "flows", "list": [flow(0, 2, 1000, 0)]}],
    });
    match resolve(&spec).map(|spec| simulate(&spec, Tuning::default(), &mut |_| true)) {
        Err(error) | Ok(Err(Failure::Spec(error))) => error.to_string(),
        Ok(other) => panic!("it ran: {:?}", other.map(|outcome| outcome.report)),
    }
}

#[test]
fn hosts_that_cannot_reach_each_other_are_told_by_name() {
    let no_common_spine = json!([{"leaf": 0, "spine": 0, "up": false}, {"leaf": 1, "spine": 1, "up": false}]);
    assert_eq!(
        refusal(no_common_spine),
        "traffic[0] = a flow from host 0 (leaf 0) to host 2 (leaf 1): expected hosts that can reach each other in both \
         directions; the links that are down leave no path"
    );
    let no_way_back = json!([{"leaf": 1, "spine": 0, "up": false, "direction": "up"}, {"leaf": 0, "spine": 1, "up": false, "direction": "down"}]);
    assert!(refusal(no_way_back).contains("both directions"), "acknowledgements need a path too");
    assert!(
        refusal(json!([{"leaf": 1, "up": false}]))
            .starts_with("topology.override[0].up = false: expected every host and leaf")
    );
    assert!(refusal(json!([{"host": 0, "up": false}])).contains("this cuts off host 0"));
}

/// Parallel links between the same switches share the load and fail one by one.
#[test]
fn parallel_links_are_used_and_failed_one_by_one() {
    let spec = |overrides: Value| {
        json!({
            "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 4, "parallel_links": 4, "fabric_rate_gbps": 2.5, "override": overrides},
            "scheme": {"name": "rps"}, "transport": {"dupack_threshold": 0},
            "traffic": [{"kind": "permutation", "size_bytes": 1_000_000}],
        })
    };
    let sent = |overrides: Value| -> Vec<u64> {
        let outcome = run(&spec(overrides));
        assert_eq!(outcome.report["finished"], 8);
        (0..4).map(|n| of_link(&outcome, &format!("leaf0->spine0#{n}"), "packets")).collect()
    };
    let all = sent(json!([]));
    assert!(all.iter().all(|&n| n > 1000), "{all:?}");
    let three = sent(json!([{"link": 2, "up": false}]));
    assert!(three[2] == 0 && [three[0], three[1], three[3]].iter().all(|&n| n > 1500), "{three:?}");
}

/// A slow link is as slow as specified: 1 MB over one path of 3 Gbps.
#[test]
fn an_override_of_rate_and_delay_is_felt_to_the_picosecond() {
    let spec = json!({
        "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 1, "override": [
            {"spine": 0, "leaf": 1, "direction": "down", "rate_gbps": 3, "delay_ns": 12345.678}]},
        "switch": {"buffer_packets": 10000},
        "traffic": [{"kind": "udp", "src": 0, "dst": 1, "packet_bytes": 1500, "size_bytes": 1_500_000, "schedule": [{"rate_gbps": 10}]}],
    });
    let outcome = run(&spec);
    // The first packet takes 1.2 us and 1 us on each of two links; then a thousand at 4 us each, back to back; the last
    // link takes 1.2 us and 1 us again.
    assert_eq!(outcome.records[0].fct, 2 * 2_200_000 + 4_000_000_000 + 12_345_678 + 2_200_000);
}

/// Rows are numbered by the uplinks a leaf has, not by those that work: CONGA must learn of the slow path though the
/// first half of its uplinks leads nowhere.
#[test]
fn rows_reach_the_last_uplink_behind_dead_ones() {
    let topology = json!({"leaves": 2, "spines": 4, "hosts_per_leaf": 8, "override": [
        {"spine": 0, "up": false}, {"spine": 1, "up": false},
        {"leaf": 1, "spine": 3, "direction": "down", "rate_gbps": 1}]});
    assert_eq!(wired(&topology).most_ways, 4);
    let outcome = run(&json!({
        "topology": topology, "scheme": {"name": "conga"},
        "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.1, "pairs": "leaf_pair", "duration_us": 40_000}],
    }));
    let [fast, slow] = ["leaf0->spine2", "leaf0->spine3"].map(|name| of_link(&outcome, name, "packets"));
    assert!(fast > 3 * slow, "{fast} packets by the fast spine, {slow} by the slow one");
}

/// A run whose other traffic has no end waits for a packet that is due and waits at the NIC behind it.
#[test]
fn a_packet_that_waits_for_the_nic_is_not_forgotten() {
    let outcome = run(&json!({
        "topology": {"leaves": 1, "spines": 1, "hosts_per_leaf": 4},
        "traffic": [
            {"kind": "udp", "src": 0, "dst": 1, "packet_bytes": 65_000, "schedule": [{"rate_gbps": 10}]},
            {"kind": "udp", "src": 0, "dst": 2, "packet_bytes": 1000, "size_bytes": 1000,
             "schedule": [{"at_us": 5, "rate_gbps": 10}]}],
    }));
    assert_eq!(outcome.report["finished"], 1, "stopped at {} ps", outcome.report["stop_ps"]);
}

/// Anything beyond the range of the clock saturates, and does not wrap round: flows "without end", and a link of 1
/// bit/s.
#[test]
fn what_outlasts_the_clock_saturates() {
    let outcome = run(&json!({
        "topology": {"host_rate_gbps": 0.1}, "run": {"until_us": 100},
        "traffic": [{"kind": "flows", "list": [flow(0, 4, 9_007_199_254_740_991, 0)]}],
    }));
    assert_eq!(flow_column(&outcome, "ideal_fct_ps"), [u64::MAX]);
    let outcome = run(&json!({
        "topology": {"spines": 1, "fabric_rate_gbps": 1e-9}, "switch": {"buffer_packets": 10_000},
        "run": {"until_us": 5000, "stop": "time", "grid_ns": 0.001, "engine": "events"},
        "traffic": [udp(0, 4, 10.0)],
    }));
    let busy = link(&outcome, "leaf0->spine0")["utilisation"].as_f64().unwrap_or(0.0);
    assert!((0.999..=1.0).contains(&busy), "{busy}");
}
