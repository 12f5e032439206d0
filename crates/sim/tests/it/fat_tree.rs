//! Fat-trees: the numbering that papers use, how many paths there are, that every scheme runs in three tiers, and what is
//! refused.

use crate::common::{all_finished, flow, flow_column, merged, of_link, resolved, run_both, wired};
use serde_json::{Value, json};
use spinewise_policy::Tier;
use spinewise_sim::bank::REGISTRY;
use spinewise_sim::ids::{HostId, NodeId, SwitchId};
use spinewise_sim::spec::resolve;
use spinewise_sim::topology::Topology;

fn tree(k: u32) -> Value {
    json!({"kind": "fat_tree", "k": k})
}

/// The names of the nodes behind ports of a node.
fn behind(topology: &Topology, node: NodeId, ports: impl Iterator<Item = u16>) -> Vec<String> {
    ports.map(|port| topology.node_name(topology.out(node, port).to.0)).collect()
}

// LBSP, figures of the 8-ary tree: T0-T31, A0-A31, C0-C15; host h under T(h/4); T's uplink j to A(4p+j), A(4p+j)'s uplink
// l to C(4j+l), core port p to pod p.
#[test]
fn an_eight_ary_tree_is_numbered_as_in_lbsp() {
    let topology = wired(&tree(8));
    assert_eq!((topology.hosts, topology.leaves, topology.switches()), (128, 32, 80));
    let node = |switch: u32| topology.switch_node(SwitchId::new(switch));
    let (leaf, aggregation, core) = (node, |n: u32| node(32 + n), |n: u32| node(64 + n));
    assert_eq!(behind(&topology, leaf(11), 0..8)[..4], ["host44", "host45", "host46", "host47"]);
    assert_eq!(behind(&topology, leaf(11), 4..8), ["aggregation8", "aggregation9", "aggregation10", "aggregation11"]);
    assert_eq!(behind(&topology, aggregation(8), 0..4), ["leaf8", "leaf9", "leaf10", "leaf11"]);
    assert_eq!(behind(&topology, aggregation(8), 4..8), ["core0", "core1", "core2", "core3"]);
    assert_eq!(behind(&topology, aggregation(10), 4..8), ["core8", "core9", "core10", "core11"]);
    assert_eq!(
        behind(&topology, core(0), 0..8),
        (0..8).map(|pod| format!("aggregation{}", 4 * pod)).collect::<Vec<_>>()
    );
    // "A31-C15 is port 3 of A31."
    assert_eq!(behind(&topology, aggregation(31), 7..8), ["core15"]);
    for switch in 0..80 {
        let tier = [Tier::Leaf, Tier::Aggregation, Tier::Spine][if switch < 32 {
            0
        } else if switch < 64 {
            1
        } else {
            2
        }];
        assert_eq!(topology.tier(SwitchId::new(switch)), tier, "{switch}");
    }
}

#[test]
fn paths_between_pods_are_as_many_as_cores_and_down_there_is_no_choice() {
    for k in [4u32, 8] {
        let (half, topology) = (k / 2, wired(&tree(k)));
        let leaves = topology.leaves;
        for (from, to) in (0..leaves).flat_map(|from| (0..leaves).map(move |to| (from, to))) {
            let expected = match () {
                () if from == to => 0,
                () if from / half == to / half => half,
                () => half * half,
            };
            assert_eq!(u32::from(topology.ways[(from * leaves + to) as usize]), expected, "{k}: {from} to {to}");
        }
        for core in topology.switch_ids().skip(leaves as usize * 2) {
            assert!(topology.leaf_ids().all(|leaf| topology.uplinks(core, leaf).len() == 1));
        }
        // A tag names a core: the paths of all tags are different, and each leads there.
        let last = HostId::new(topology.hosts - 1);
        let mut seen = std::collections::BTreeSet::new();
        for way in 0..(half * half) as u16 {
            let path = topology.path(HostId::new(0), last, way);
            assert_eq!((path.len(), path[5].to.0), (6, topology.host_node(last)));
            seen.insert(topology.node_name(path[2].to.0));
        }
        assert_eq!(seen.len() as u32, half * half);
    }
}

#[test]
fn oversubscription_and_rates_at_any_tier() {
    let topology =
        wired(&json!({"kind": "fat_tree", "k": 4, "pods": 3, "leaves_per_pod": 4, "aggregations_per_pod": 2,
        "cores_per_aggregation": 1, "hosts_per_leaf": 8, "core_rate_gbps": 40, "core_delay_ns": 5000}));
    assert_eq!((topology.hosts, topology.leaves, topology.switches()), (96, 12, 12 + 6 + 2));
    let up = topology.out(topology.switch_node(SwitchId::new(12)), 4);
    assert_eq!((up.rate, up.delay.0, topology.node_name(up.to.0)), (40_000_000_000, 5_000_000, "core0".into()));
    assert_eq!(topology.ways[11], 2, "from the first leaf to the last: two cores");
}

#[test]
fn a_lone_packet_takes_the_time_of_six_links() {
    let delays = [700u64, 900, 1300];
    let spec = json!({
        "topology": {"kind": "fat_tree", "k": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 20, "core_rate_gbps": 40,
                     "host_delay_ns": delays[0], "fabric_delay_ns": delays[1], "core_delay_ns": delays[2]},
        "transport": {"header_bytes": 40},
        "traffic": [{"kind": "flows", "list": [flow(0, 15, 1000, 0)]}],
    });
    let outcome = run_both(&spec);
    // 1040 bytes: 832 ns at 10 Gbps, 416 at 20, 208 at 40; each link twice.
    let expected = 2 * (832 + 416 + 208 + delays.iter().sum::<u64>());
    assert_eq!(flow_column(&outcome, "fct_ps"), [expected * 1000]);
}

/// A third of the hosts send to hosts of other pods.
fn crossing() -> Value {
    let list: Vec<Value> =
        (0..16).map(|host| flow(host, (host + 5 + 2 * (host % 3)) % 16, 150_000, 100 * u64::from(host))).collect();
    json!([{"kind": "flows", "list": list}])
}

#[test]
fn every_scheme_runs_in_three_tiers() {
    for scheme in REGISTRY {
        let name = scheme.name();
        let mut spec = json!({"topology": tree(4), "scheme": {"name": name}, "traffic": crossing()});
        if name == "sred" {
            // The override is for RPS.
            spec["topology"]["override"] = json!([{"aggregation": 0, "core": 0, "up": false}]);
        }
        let outcome = run_both(&spec);
        all_finished(&outcome);
        let crossed: u64 = (0..4)
            .flat_map(|core| (0..4).map(move |pod| format!("aggregation{}->core{core}", 2 * pod + core / 2)))
            .filter(|name| !(spec["topology"]["override"].is_array() && name == "aggregation0->core0"))
            .map(|name| of_link(&outcome, &name, "packets"))
            .sum();
        assert!(crossed > 400, "{name}: {crossed} packets over cores");
    }
}

#[test]
fn explicit_tags_spread_evenly_over_cores() {
    let spec = json!({"topology": tree(4), "scheme": {"name": "drb"},
                      "traffic": [{"kind": "flows", "list": [flow(0, 15, 1_460_000, 0)]}]});
    let outcome = run_both(&spec);
    for core in 0..4 {
        let packets = of_link(&outcome, &format!("aggregation{}->core{core}", core / 2), "packets");
        assert!((250..=252).contains(&packets), "core{core}: {packets}");
    }
}

#[test]
fn overrides_change_what_they_select() {
    let change = json!({"override": [
        {"aggregation": 1, "rate_gbps": 1}, {"leaf": 3, "aggregation": 3, "delay_ns": 7000, "direction": "down"},
        {"core": 2, "up": false}, {"host": 5, "rate_gbps": 2},
    ]});
    let topology = wired(&merged(&tree(4), &change));
    let links = |what: &dyn Fn(&spinewise_sim::topology::LinkSpec) -> bool| -> Vec<String> {
        let all = topology.links.numbered();
        all.filter(|(_, link)| what(link)).map(|(number, _)| topology.link_name(number)).collect()
    };
    assert_eq!(links(&|link| link.rate == 1_000_000_000).len(), 8, "two leaves, two cores, both ways");
    assert_eq!(links(&|link| link.delay.0 == 7_000_000), ["aggregation3->leaf3"]);
    assert_eq!(links(&|link| !link.up).len(), 8);
    assert_eq!(links(&|link| link.rate == 2_000_000_000), ["leaf2->host5", "host5->leaf2"]);
}

#[test]
fn bad_fat_trees_are_refused() {
    for (change, message) in [
        (json!({"k": 5}), "topology.k = 5: expected an even number: half of the ports lead up"),
        (json!({"k": 0}), "topology.k = 0: expected a whole number from 2 to 64"),
        (
            json!({"k": 64, "hosts_per_leaf": 4096}),
            "topology.hosts_per_leaf = 4096: expected at most 1048576 hosts on the 2048 leaves together",
        ),
        (
            json!({"override": [{"leaf": 9, "up": false}]}),
            "topology.override[0].leaf = 9: expected a number from 0 to 7",
        ),
        (
            json!({"override": [{"leaf": 0, "aggregation": 2, "up": false}]}),
            "each of a list with each of the other: leaf 0 and aggregation switch 2 are not",
        ),
        (
            json!({"override": [{"aggregation": 0, "core": 3, "up": false}]}),
            "each of a list with each of the other: aggregation switch 0 and core 3 are not",
        ),
        (
            json!({"override": [{"leaf": 0, "core": 0, "up": false}]}),
            "topology.override[0] = selects no link: expected leaf or core, not both: no link leads from a leaf to a \
             core",
        ),
        (
            json!({"override": [{"leaf": 2, "up": false}]}),
            "topology.override[0].up = false: expected every host and leaf to remain reachable; the overrides leave no \
             up-then-down path from leaf 0 to leaf 2",
        ),
        (
            // There would be a path through another pod: up, down to a leaf, and up again.
            json!({"override": [{"leaf": 0, "aggregation": 0, "up": false},
                                {"leaf": 1, "aggregation": 1, "direction": "down", "up": false}]}),
            "topology.override[1].up = false: expected every host and leaf to remain reachable; the overrides leave no \
             up-then-down path from leaf 0 to leaf 1",
        ),
        (
            json!({"override": [{"core": 0, "up": false}, {"core": 1, "up": false}, {"aggregation": 3, "up": false}]}),
            "topology.override[2].up = false: expected every host and leaf to remain reachable; the overrides leave no \
             up-then-down path from leaf 0 to leaf 2",
        ),
        (json!({"k": -4}), "topology.k = -4: expected a whole number from 2 to 64"),
        (json!({"k": 66}), "topology.k = 66: expected a whole number from 2 to 64"),
        (
            json!({"k": "8"}),
            "topology.k = \"8\": expected a whole number from 2 to 64; a number has no quotes and no unit",
        ),
        (json!({"hosts_per_leaf": 0}), "topology.hosts_per_leaf = 0: expected a whole number from 1 to 4096"),
        (json!({"hosts_per_leaf": 2.5}), "topology.hosts_per_leaf = 2.5: expected a whole number from 1 to 4096"),
        (
            json!({"cores_per_aggregation": 0}),
            "topology.cores_per_aggregation = 0: expected a whole number from 1 to 128",
        ),
        (
            json!({"aggregations_per_pod": 129}),
            "topology.aggregations_per_pod = 129: expected a whole number from 1 to 128",
        ),
        (json!({"leaves_per_pod": 0}), "topology.leaves_per_pod = 0: expected a whole number from 1 to 128"),
        (json!({"pods": 0}), "topology.pods = 0: expected a whole number from 1 to 128"),
        (
            json!({"core_rate_gbps": 0}),
            "topology.core_rate_gbps = 0: expected a rate in Gbps from 0.000000001 to 100000, a whole number of bits per second",
        ),
        (
            json!({"fabric_rate_gbps": -1}),
            "topology.fabric_rate_gbps = -1: expected a rate in Gbps from 0.000000001 to 100000, a whole number of bits per second",
        ),
        (json!({"oversubscription": 8}), "topology.oversubscription = 8: expected one of the keys kind, k, pods"),
        (
            json!({"override": [{"host": 4, "up": false, "direction": "down"}]}),
            "topology.override[0].up = false: expected every host and leaf to remain reachable; the overrides cut off \
             host 4",
        ),
        (json!({"override": [{"up": false}]}), "at least one of leaf, aggregation, core or host"),
        (json!({"spines": 4}), "topology.spines"),
    ] {
        let spec = json!({"topology": merged(&tree(4), &change), "traffic": crossing()});
        let error = resolve(&spec).expect_err("refused").to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
}

#[test]
fn a_resolved_fat_tree_resolves_to_itself() {
    let spec = json!({"topology": merged(&tree(8), &json!({"override": [{"core": 1, "rate_gbps": 1}]})),
                      "traffic": crossing()});
    let once = resolved(&spec).resolved;
    assert_eq!(resolved(&once).resolved, once);
}
