//! A general graph as topology: shortest paths, static routes, racks of any size, both engines.

use crate::common::{
    all_finished, flow, flow_column, graph, merged, of_link, run, run_both, schemes_for_any_fabric, switch_schemes,
    wired,
};
use serde_json::{Value, json};
use spinewise_policy::{Span, Tier};
use spinewise_sim::engine::Sim;
use spinewise_sim::ids::{HostId, NodeId, SwitchId};
use spinewise_sim::setup::{Setup, Tuning};
use spinewise_sim::topology::Home;
use std::collections::BTreeMap;

/// 10 Gbps, 1 us between these nodes.
fn cable(a: u32, b: u32) -> Value {
    json!([a, b, 10, 1000])
}

// ---- a leaf-spine, link by link -----------------------------------------------------------------------------------

/// 3 leaves of 4 hosts, 2 spines: as a leaf-spine, and as its links in reverse order.
fn leaf_spine_twice() -> (Value, Value) {
    let fabric = json!({"leaves": 3, "spines": 2, "hosts_per_leaf": 4, "fabric_rate_gbps": 20, "host_delay_ns": 700,
                        "fabric_delay_ns": 1300, "switch_latency_ns": 50});
    let hosts = (0..12).map(|host| json!([host, 12 + host / 4, 10, 700]));
    let inner = (0..6).map(|n| json!([15 + n % 2, 12 + n / 2, 20, 1300]));
    let mut links: Vec<Value> = hosts.chain(inner).collect();
    links.reverse();
    (fabric, merged(&graph(12, 5, links), &json!({"switch_latency_ns": 50})))
}

#[test]
fn a_leaf_spine_link_by_link_is_that_leaf_spine() {
    let (fabric, links) = leaf_spine_twice();
    for scheme in ["ecmp", "rps", "letflow", "conga", "presto", "pdlb", "flowcell", "drill"] {
        let spec = |topology: &Value| {
            json!({
                "topology": topology, "scheme": {"name": scheme}, "metrics": {"series_interval_us": 50},
                "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 1500},
                            {"kind": "permutation", "size_bytes": 100_000, "start_us": 200}],
            })
        };
        let (one, other) = (run(&spec(&fabric)), run_both(&spec(&links)));
        assert_eq!(one.hash, other.hash, "{scheme}");
        assert_eq!(flow_column(&one, "ideal_fct_ps"), flow_column(&other, "ideal_fct_ps"), "{scheme}");
        let mut loads = [one.report["loads"].clone(), other.report["loads"].clone()];
        // Switches of a graph have no tiers in their names.
        let worst = loads.each_mut().map(|loads| loads["worst"]["at"].take());
        assert_eq!(worst, [json!("leaf1"), json!("switch13")], "{scheme}");
        assert_eq!(loads[0], loads[1], "{scheme}");
        all_finished(&other);
    }
    let (fabric, links) = (wired(&fabric), wired(&links));
    assert_eq!((fabric.links.clone(), fabric.ways.clone()), (links.links.clone(), links.ways.clone()));
    assert_eq!(fabric.nominal_path, links.nominal_path);
    assert!(links.tags_name_paths);
    let names: Vec<String> = [0, 12, 16].map(|node| links.node_name(NodeId::new(node))).into();
    assert_eq!(names, ["host0", "switch12", "switch16"]);
}

/// Two leaves of one host each, and between them two layers of `n` switches, all linked to all.
fn all_to_all_between(n: u32) -> Value {
    let (first, second) = (4, 4 + n);
    let mut links = vec![cable(0, 2), cable(1, 3)];
    for a in 0..n {
        links.extend([cable(2, first + a), cable(3, second + a)]);
        links.extend((0..n).map(|b| cable(first + a, second + b)));
    }
    graph(2, 2 + 2 * n, links)
}

#[test]
fn more_ways_than_can_be_numbered_are_refused() {
    let most = wired(&all_to_all_between(255));
    assert_eq!((most.ways_between(HostId::new(0), HostId::new(1)), most.most_ways), (255 * 255, 255 * 255));
    // 256 left no way of 65,536; 257 leave 513 ways of two uplinks.
    for n in [256, 257] {
        let spec = json!({"topology": all_to_all_between(n), "preset": "datacenter",
                          "traffic": [{"kind": "flows", "list": [flow(0, 1, 1, 0)]}]});
        let error = spinewise_sim::spec::resolve(&spec).expect_err("too many ways").to_string();
        let told = format!(
            "topology.links = {} paths from switch2 to switch3: expected at most 65534 paths between two leaves",
            n * n
        );
        assert_eq!(error, told);
    }
}

// ---- a fat-tree ---------------------------------------------------------------------------------------------------

const EDGES: u32 = 16;
const AGGREGATIONS: u32 = 24;
const CORES: u32 = 32;

/// A fat-tree of k = 4: 4 pods of 2 edge and 2 aggregation switches, 4 cores, 16 hosts.
fn fat_tree() -> Value {
    let mut links: Vec<Value> = (0..16).map(|host| cable(host, EDGES + host / 2)).collect();
    for pod in 0..4 {
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            links.push(cable(EDGES + 2 * pod + a, AGGREGATIONS + 2 * pod + b));
            links.push(cable(AGGREGATIONS + 2 * pod + a, CORES + 2 * a + b));
        }
    }
    graph(16, 20, links)
}

#[test]
fn a_fat_tree_has_two_choices_at_each_hop_up_and_one_down() {
    let tree = wired(&fat_tree());
    assert_eq!((tree.leaves, tree.switches(), tree.tags_name_paths), (8, 20, true));
    let behind = |switch: u32, leaf: u32| -> Vec<u32> {
        let [switch, leaf] = [switch, leaf].map(SwitchId::new);
        let ports = tree.uplinks(switch, leaf);
        ports.iter().map(|&port| tree.label(tree.out(tree.switch_node(switch), port).to.0)).collect()
    };
    for leaf in 0..8 {
        let pod = leaf / 2;
        for edge in (0..8).filter(|&edge| edge != leaf) {
            let up = AGGREGATIONS + edge / 2 * 2;
            assert_eq!(behind(edge, leaf), [up, up + 1], "edge {edge} to leaf {leaf}");
            assert_eq!(tree.ways[(edge * 8 + leaf) as usize], if edge / 2 == pod { 2 } else { 4 }, "whole paths");
        }
        for aggregation in 0..8 {
            let cores = CORES + aggregation % 2 * 2;
            let expected = if aggregation / 2 == pod { vec![EDGES + leaf] } else { vec![cores, cores + 1] };
            assert_eq!(behind(8 + aggregation, leaf), expected, "aggregation {aggregation} to leaf {leaf}");
        }
        for core in 0..4 {
            assert_eq!(behind(16 + core, leaf), [AGGREGATIONS + 2 * pod + core / 2], "core {core} to leaf {leaf}");
        }
        assert!(behind(leaf, leaf).is_empty());
    }
    let tiers = |range: std::ops::Range<u32>| range.map(|switch| tree.tier(SwitchId::new(switch))).collect::<Vec<_>>();
    assert_eq!(tiers(0..8), [Tier::Leaf; 8]);
    assert_eq!(tiers(8..16), [Tier::Aggregation; 8]);
    assert_eq!(tiers(16..20), [Tier::Spine; 4]);
    assert_eq!(tree.nominal_path, [(10_000_000_000, Span(1_000_000)); 6]);
}

#[test]
fn a_fat_tree_delivers_with_every_switch_scheme() {
    for scheme in switch_schemes() {
        let outcome = run_both(&json!({
            "topology": fat_tree(), "scheme": {"name": scheme},
            "traffic": [{"kind": "permutation", "size_bytes": 200_000, "repeat": 4, "period_us": 100},
                        {"kind": "poisson", "cdf": "web_search", "load": 0.3, "duration_us": 1000}],
        }));
        all_finished(&outcome);
        assert_eq!(outcome.report["counters"]["unroutable"], 0, "{scheme}");
        let (fct, ideal) = (flow_column(&outcome, "fct_ps"), flow_column(&outcome, "ideal_fct_ps"));
        assert!(fct.iter().zip(&ideal).all(|(fct, ideal)| fct >= ideal), "{scheme}: faster than light");
    }
}

/// Six links at 10 Gbps, 1 us each: ten packets of 1500 bytes, 1.2 us each.
#[test]
fn a_lone_flow_across_the_pods_takes_its_ideal_time() {
    let udp = json!([{"kind": "udp", "src": 0, "dst": 15, "size_bytes": 15_000, "schedule": [{"rate_gbps": 10}]}]);
    let outcome = run_both(&json!({"topology": fat_tree(), "traffic": udp}));
    let expected = 6 * (1_200_000 + 1_000_000) + 9 * 1_200_000;
    assert_eq!((outcome.records[0].fct, flow_column(&outcome, "ideal_fct_ps")), (expected, vec![expected]));
}

// ---- racks of any size, numbers in any order ----------------------------------------------------------------------

/// Hosts 0, 2 and 4 under switch 8, 1 under 9, 3, 5 and 6 under 6's rack 10; switch 7 in the middle, and 11 beside.
fn odd_racks() -> Value {
    let hosts = [(0, 8), (1, 9), (2, 8), (3, 10), (4, 8), (5, 10), (6, 10)];
    let inner = [(7, 8), (7, 9), (7, 10), (11, 8), (11, 10)];
    graph(7, 5, hosts.iter().chain(&inner).map(|&(a, b)| cable(a, b)).collect())
}

#[test]
fn racks_may_differ_and_numbers_keep_their_names() {
    let odd = wired(&odd_racks());
    assert_eq!((odd.leaves, odd.leaf_of.clone()), (3, vec![0, 1, 0, 2, 0, 2, 2]));
    let numbers = |hosts: &[HostId]| hosts.iter().map(|host| host.number()).collect();
    let racks: Vec<Vec<u32>> = odd.switch_ids().map(|switch| numbers(odd.hosts_of(switch))).collect();
    assert_eq!(racks, [&[0, 2, 4][..], &[1], &[3, 5, 6], &[], &[]]);
    assert_eq!(odd.home(HostId::new(5)), Home { leaf: SwitchId::new(2), port: 1 });
    assert_eq!([0, 1, 2, 3].map(|switch| odd.host_ports(SwitchId::new(switch))), [3, 1, 3, 0]);
    let names: Vec<String> = odd.switch_nodes().map(|node| odd.node_name(node)).collect();
    assert_eq!(names, ["switch8", "switch9", "switch10", "switch7", "switch11"], "racks come first");
    assert_eq!([7, 10, 11].map(|node| odd.label(NodeId::new(node))), [8, 7, 11]);
    let uplinks = |from, to| odd.uplinks(SwitchId::new(from), SwitchId::new(to));
    assert_eq!((uplinks(0, 1), uplinks(0, 2), uplinks(1, 0)), (&[3][..], &[3, 4][..], &[1][..]));
    assert_eq!(odd.leaf_rates().0, [20_000_000_000, 10_000_000_000, 20_000_000_000]);
    for host in odd.host_ids() {
        let last = odd.last_link(host);
        assert_eq!((last.to, last.from.0), ((odd.host_node(host), 0), odd.leaf_node(odd.leaf(host))));
    }
}

/// The hash of the ConWeave code is seeded with a switch's number in the file, which differs from ours where racks come
/// first.
#[test]
fn murmur3_is_seeded_with_the_number_in_the_spec() {
    let spec = crate::common::resolved(&json!({
        "topology": odd_racks(), "scheme": {"name": "ecmp", "hash": "murmur3"},
        "traffic": [{"kind": "permutation", "size_bytes": 1}],
    }));
    let setup = Setup::new(&spec, Tuning::default()).unwrap_or_else(|error| panic!("{error}"));
    let sim = Sim::new(&setup.net, setup.start);
    assert_eq!([0, 1, 2, 3, 4].map(|switch| sim.net.switch_salt(SwitchId::new(switch))), [8, 9, 10, 7, 11]);
}

#[test]
fn traffic_between_odd_racks_is_between_racks() {
    for scheme in schemes_for_any_fabric().map(|entry| entry.name()) {
        let outcome = run_both(&json!({
            "topology": odd_racks(), "scheme": {"name": scheme},
            "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.4, "duration_us": 3000},
                        {"kind": "permutation", "size_bytes": 50_000, "inter_rack": true, "repeat": 3}],
        }));
        all_finished(&outcome);
        let leaf_of = [0, 1, 0, 2, 0, 2, 2];
        assert!(outcome.specs.iter().all(|flow| leaf_of[flow.src as usize] != leaf_of[flow.dst as usize]), "{scheme}");
        assert!(of_link(&outcome, "switch8->switch11", "packets") > 0, "{scheme}");
    }
}

// ---- a ring with static routes ------------------------------------------------------------------------------------

/// Four switches 8 to 11 in a ring, two hosts each; everything goes clockwise, 8 -> 9 -> 10 -> 11 -> 8.
fn ring() -> Value {
    let mut links: Vec<Value> = (0..8).map(|host| cable(host, 8 + host / 2)).collect();
    links.extend((0..4).map(|n| cable(8 + n, 8 + (n + 1) % 4)));
    let routes: Vec<Value> = (0..4u32)
        .flat_map(|at| (0..8u32).map(move |host| (at, host)))
        .filter(|(at, host)| host / 2 != *at)
        .map(|(at, host)| json!([8 + at, host, 8 + (at + 1) % 4]))
        .collect();
    merged(&graph(8, 4, links), &json!({"routes": routes}))
}

#[test]
fn in_a_ring_with_clockwise_routes_every_packet_goes_clockwise() {
    let pairs = (0..8).flat_map(|src| (0..8).map(move |dst| (src, dst)));
    let flows: Vec<(u32, u32)> = pairs.filter(|(src, dst)| src != dst).collect();
    let traffic: Vec<Value> = flows
        .iter()
        .map(|&(src, dst)| {
            json!({"kind": "udp", "src": src, "dst": dst, "size_bytes": 15_000, "schedule": [{"rate_gbps": 0.1}]})
        })
        .collect();
    let outcome = run_both(&json!({"topology": ring(), "traffic": traffic}));
    all_finished(&outcome);
    // Ten packets a flow, on each link from its switch clockwise to the receiver's.
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    for (src, dst) in flows {
        let mut at = src / 2;
        while at != dst / 2 {
            let next = (at + 1) % 4;
            *expected.entry(format!("switch{}->switch{}", 8 + at, 8 + next)).or_default() += 10;
            at = next;
        }
    }
    assert_eq!(expected.len(), 4);
    for at in 8..12 {
        let next = 8 + (at + 1 - 8) % 4;
        let name = format!("switch{at}->switch{next}");
        assert_eq!(of_link(&outcome, &name, "packets"), expected[&name], "{name}");
        assert_eq!(of_link(&outcome, &format!("switch{next}->switch{at}"), "packets"), 0);
    }
    // The ideal time follows the routes too: three hops where one would do.
    let ideal = flow_column(&outcome, "ideal_fct_ps");
    let of = |hops: u64| (hops + 2) * 2_200_000 + 9 * 1_200_000;
    assert_eq!((ideal[0], ideal[1], ideal[5]), (of(0), of(1), of(3)));
}

#[test]
fn in_a_ring_tcp_delivers_everything() {
    let outcome = run_both(&json!({
        "topology": ring(), "traffic": [{"kind": "permutation", "size_bytes": 500_000, "repeat": 3}],
    }));
    all_finished(&outcome);
    assert_eq!(of_link(&outcome, "switch9->switch8", "packets"), 0, "acknowledgements go clockwise too");
}

/// Several routes of one switch and host are equal choices, in the order of ports.
#[test]
fn several_static_routes_are_equal_choices() {
    let links = json!([cable(0, 2), cable(1, 3), cable(2, 3), cable(2, 4), cable(4, 3), cable(2, 5), cable(5, 3)]);
    let table =
        merged(&graph(2, 4, links.as_array().expect("a list").clone()), &json!({"routes": [[2, 1, 5], [2, 1, 4]]}));
    let topology = wired(&table);
    let uplinks = |from, to| topology.uplinks(SwitchId::new(from), SwitchId::new(to));
    assert_eq!((uplinks(0, 1), uplinks(1, 0)), (&[2, 3][..], &[1][..]));
    assert_eq!(topology.ways, [0, 2, 1, 0]);
}

// ---- ideal times --------------------------------------------------------------------------------------------------

/// Two paths, one of 100 Gbps and 50 us, one of 1 Gbps and 1 us per link: which is best depends on the size.
#[test]
fn the_ideal_path_depends_on_the_size_of_a_flow() {
    let links = json!([
        [0, 2, 100, 1000],
        [1, 3, 100, 1000],
        [2, 4, 100, 50_000],
        [4, 3, 100, 50_000],
        [2, 5, 1, 1000],
        [5, 3, 1, 1000]
    ]);
    let ideal = |ideal: &str| {
        let outcome = run(&json!({
            "topology": graph(2, 4, links.as_array().expect("a list").clone()),
            "transport": {"mss_bytes": 1000, "header_bytes": 0},
            "traffic": [{"kind": "flows", "list": [flow(0, 1, 1000, 0), flow(0, 1, 1_000_000, 0)]}],
            "metrics": {"ideal": ideal},
        }));
        flow_column(&outcome, "ideal_fct_ps")
    };
    // 1000 bytes take 80 ns at 100 Gbps, 8 us at 1 Gbps.
    let short = 2 * 80_000 + 2 * 8_000_000 + 4 * 1_000_000;
    let long = 4 * 80_000 + 999 * 80_000 + 102_000_000;
    assert_eq!(ideal("best_path"), [short, long]);
    // Both paths together: 979 packets on the fast one, and 21 in time on the slow one.
    assert_eq!(ideal("bound"), [short, 2 * 80_000 + 979 * 80_000 + 80_000 + 102_000_000]);
}

/// 1048 bytes take 83.84 ns at 100 Gbps, or 83 if floored; 4 links of 1 us.
#[test]
fn ideal_times_are_rounded_as_transmission_times() {
    let ideal = |rounding: &str| {
        let outcome = run(&json!({
            "topology": {"host_rate_gbps": 100, "fabric_rate_gbps": 100, "tx_time_rounding": rounding},
            "transport": {"mss_bytes": 1000, "header_bytes": 48},
            "traffic": [{"kind": "flows", "list": [flow(0, 1, 1, 0), flow(0, 4, 10_000, 0)]}],
        }));
        flow_column(&outcome, "ideal_fct_ps")
    };
    assert_eq!(ideal("exact"), [2_000_000 + 2 * 3_920, 4_000_000 + 13 * 83_840]);
    assert_eq!(ideal("floor_1ns"), [2_000_000 + 2 * 3_000, 4_000_000 + 13 * 83_000]);
}
