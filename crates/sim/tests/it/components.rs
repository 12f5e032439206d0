//! DRILL's symmetric components: how paths fall into them, by hand; a flow stays in its own; flows share them by
//! capacity; and a symmetric fabric has only one, which changes nothing.

use crate::common::{all_finished, flow, of_link, run, run_both, wired};
use serde_json::{Value, json};
use spinewise_sim::ids::SwitchId;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::topology::{Components, Topology};
use std::collections::BTreeSet;

const G: u64 = 1_000_000_000;

/// Four leaves of two hosts under three spines.
fn three_spines(change: &Value) -> Value {
    json!({"leaves": 4, "spines": 3, "hosts_per_leaf": 2, "override": change})
}

fn tree(change: &Value) -> Value {
    json!({"kind": "fat_tree", "k": 4, "override": change})
}

/// Components of a pair: Gbps, and the next nodes of `switch` on each.
fn components(topology: &Topology, down: &[&str], (from, to): (u32, u32), switch: u32) -> Vec<(f64, Vec<String>)> {
    let number = |name: &str| topology.links.ids().find(|&link| topology.link_name(link) == name);
    let down = down.iter().map(|name| number(name).expect("a link")).collect();
    let all = Components::new(vec![BTreeSet::new(), down]);
    let [switch, from, to] = [switch, from, to].map(SwitchId::new);
    let node = topology.switch_node(switch);
    let next = |&port: &u16| topology.node_name(topology.out(node, port).to.0);
    let one = |component: &spinewise_sim::topology::Component| {
        let ports = component.ports.get(&switch).map_or(&[][..], Vec::as_slice);
        (component.capacity as f64 / G as f64, ports.iter().map(next).collect())
    };
    all.between(topology, 1, from, to).iter().map(one).collect()
}

/// Equal up to truncation to whole bits per second.
fn close(found: &[(f64, Vec<String>)], expected: &[(f64, Vec<String>)]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found.0 - expected.0).abs() < 1e-8 && found.1 == expected.1, "{found:?}, not {expected:?}");
    }
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_string()).collect()
}

/// Spine 0 has lost leaf 3. Between leaves 0 and 1 it carries no traffic that shares its links with that for leaf 3.
#[test]
fn a_lost_link_sets_its_spine_apart_for_all_other_pairs() {
    let apart = vec![(10.0, names(&["spine0"])), (20.0, names(&["spine1", "spine2"]))];
    let lost = wired(&three_spines(&json!([{"leaf": 3, "spine": 0, "up": false}])));
    let whole = wired(&three_spines(&json!([])));
    for (topology, down) in [(&lost, &[][..]), (&whole, &["leaf3->spine0", "spine0->leaf3"][..])] {
        for (from, to) in [(0, 1), (1, 0), (2, 1), (0, 2)] {
            assert_eq!(components(topology, down, (from, to), from), apart, "{from} to {to}");
        }
        for (from, to) in [(0, 3), (3, 0), (1, 3)] {
            assert_eq!(components(topology, down, (from, to), from), [], "two spines, alike: {from} to {to}");
        }
    }
}

#[test]
fn a_slow_link_sets_its_path_apart_for_its_leaf_alone() {
    let topology = wired(&three_spines(&json!([{"leaf": 3, "spine": 0, "rate_gbps": 2.5}])));
    let apart = vec![(2.5, names(&["spine0"])), (20.0, names(&["spine1", "spine2"]))];
    assert_eq!(components(&topology, &[], (0, 3), 0), apart);
    assert_eq!(components(&topology, &[], (3, 1), 3), apart);
    assert_eq!(components(&topology, &[], (0, 1), 0), []);
}

/// An uplink of a leaf carries, of the traffic of each pair of leaves, 6 halves and half of the one to its pod: 3.5.
/// Links at cores have 2 × 6 quarters: 3. So each path carries 10 / 3.5 Gbps.
const EACH: f64 = 10.0 / 3.5;

/// Leaf 0 has lost its first aggregation switch: the cores behind that carry nothing for it, and are separate for all
/// other leaves.
#[test]
fn a_leaf_that_has_lost_an_uplink_sets_half_of_the_cores_apart() {
    let topology = wired(&tree(&json!([{"leaf": 0, "aggregation": 0, "up": false}])));
    let by_columns = vec![(2.0 * EACH, names(&["aggregation4"])), (2.0 * EACH, names(&["aggregation5"]))];
    for to in [1, 2, 6] {
        close(&components(&topology, &[], (4, to), 4), &by_columns);
    }
    let at_aggregation = components(&topology, &[], (4, 1), 8 + 4);
    close(&at_aggregation, &[(2.0 * EACH, names(&["core0", "core1"])), (2.0 * EACH, vec![])]);
    assert_eq!(components(&topology, &[], (4, 0), 4), [], "cores 2 and 3, alike");
    // The same, as learnt during a run.
    let whole = wired(&tree(&json!([])));
    let down = ["leaf0->aggregation0", "aggregation0->leaf0"];
    close(&components(&whole, &down, (4, 6), 4), &by_columns);
}

/// Core 0 has lost pod 0. Between other pods it is separate.
#[test]
fn a_core_that_has_lost_a_pod_is_alone_between_the_others() {
    let topology = wired(&tree(&json!([{"aggregation": 0, "core": 0, "up": false}])));
    let at_leaf = components(&topology, &[], (2, 4), 2);
    close(&at_leaf, &[(EACH, names(&["aggregation2"])), (3.0 * EACH, names(&["aggregation2", "aggregation3"]))]);
    let at_aggregation = components(&topology, &[], (2, 4), 8 + 2);
    close(&at_aggregation, &[(EACH, names(&["core0"])), (3.0 * EACH, names(&["core1"]))]);
}

/// A core of a fifth of the others' rate: its links have 2 Gbps for 3, those of leaves 10 for 3.5.
#[test]
fn a_slow_core_gets_what_it_can_carry_for_all_leaves() {
    let topology = wired(&tree(&json!([{"core": 0, "rate_gbps": 2}])));
    let apart = [(2.0 / 3.0, names(&["aggregation2"])), (3.0 * EACH, names(&["aggregation2", "aggregation3"]))];
    close(&components(&topology, &[], (2, 4), 2), &apart);
    assert_eq!(components(&topology, &[], (2, 3), 2), [], "within a pod");
}

#[test]
fn in_a_symmetric_fabric_all_paths_are_alike() {
    let oversubscribed = json!({"kind": "fat_tree", "pods": 3, "leaves_per_pod": 2, "aggregations_per_pod": 3,
                                "cores_per_aggregation": 2, "hosts_per_leaf": 4, "core_rate_gbps": 5});
    let parallel = json!({"leaves": 3, "spines": 2, "parallel_links": 2, "hosts_per_leaf": 2});
    for fabric in
        [three_spines(&json!([])), tree(&json!([])), json!({"kind": "fat_tree", "k": 8}), oversubscribed, parallel]
    {
        let topology = wired(&fabric);
        let all = Components::new(vec![BTreeSet::new()]);
        for (from, to) in topology.leaf_ids().flat_map(|from| topology.leaf_ids().map(move |to| (from, to))) {
            assert_eq!(all.between(&topology, 0, from, to), [], "{fabric}: {from:?} to {to:?}");
        }
        let hosts = topology.hosts;
        let list: Vec<Value> = (0..40).map(|n| flow(n % hosts, (n * 7 + 3) % hosts, 60_000, 2_000)).collect();
        let hash = |components: &str| {
            let scheme = json!({"name": "drill", "params": {"components": components}});
            run(&json!({"topology": fabric, "scheme": scheme, "traffic": [{"kind": "flows", "list": list}]})).hash
        };
        assert_eq!(hash("symmetric"), hash("off"), "{fabric}");
    }
}

/// Without memory, so that a lone flow uses all ports that it may take.
fn drill(components: &str, topology: &Value, list: &[Value]) -> Value {
    json!({"topology": topology, "scheme": {"name": "drill", "params": {"components": components, "m": 0}},
           "traffic": [{"kind": "flows", "list": list}]})
}

/// Returns those of these links that data of the run has crossed.
fn crossed<'a>(outcome: &Outcome, links: &[&'a str]) -> Vec<&'a str> {
    links.iter().copied().filter(|link| of_link(outcome, link, "packets") > 0).collect()
}

const UP: [&str; 3] = ["leaf0->spine0", "leaf0->spine1", "leaf0->spine2"];

#[test]
fn a_flow_stays_in_its_component() {
    let topology = three_spines(&json!([{"leaf": 3, "spine": 0, "up": false}]));
    let mut seen = BTreeSet::new();
    for n in 0..12 {
        let list = [flow(0, 2, 150_000, n)];
        // Another seed, another hash.
        let run = |components| {
            let mut spec = drill(components, &topology, &list);
            spec["seed"] = json!(n);
            let outcome = run_both(&spec);
            all_finished(&outcome);
            outcome
        };
        assert_eq!(crossed(&run("off"), &UP), UP, "without components it goes round all");
        let used = crossed(&run("symmetric"), &UP);
        assert!(used == [UP[0]] || used == [UP[1], UP[2]], "{used:?}");
        seen.insert(used);
    }
    assert_eq!(seen.len(), 2);
}

/// Leaf and aggregation switch agree: a flow of the lone core never takes the other one behind the same uplink.
#[test]
fn a_flow_stays_in_its_component_through_three_tiers() {
    let topology = tree(&json!([{"aggregation": 0, "core": 0, "up": false}]));
    let to_cores = ["aggregation2->core0", "aggregation2->core1", "aggregation3->core2", "aggregation3->core3"];
    let mut alone = 0;
    for n in 0..16 {
        let mut spec = drill("symmetric", &topology, &[flow(4, 8, 150_000, n)]);
        spec["seed"] = json!(n);
        let used = crossed(&run(&spec), &to_cores);
        assert!(used == to_cores[..1] || used == to_cores[1..], "{used:?}");
        alone += u32::from(used.len() == 1);
    }
    assert!((1..=9).contains(&alone), "a quarter of 16: {alone}");
}

#[test]
fn flows_share_components_by_what_they_carry() {
    let topology = three_spines(&json!([{"leaf": 3, "spine": 0, "rate_gbps": 2.5}]));
    // One packet each, far apart.
    let list: Vec<Value> = (0..900).map(|n| flow(n % 2, 6 + n % 2, 1000, 20_000 * u64::from(n))).collect();
    let share = |components| {
        let outcome = run(&drill(components, &topology, &list));
        all_finished(&outcome);
        UP.map(|link| of_link(&outcome, link, "packets") as f64 / 900.0)
    };
    let [slow, ..] = share("symmetric");
    // 2.5 of 22.5 Gbps; the deviation of 900 draws is 0.0105.
    assert!((slow - 2.5 / 22.5).abs() < 0.032, "{slow}");
    let [blind, ..] = share("off");
    assert!(blind > 0.2, "empty queues tell nothing: {blind}");
}

/// As links come and go, so do components: none before leaf 3 loses spine 0, two while it is gone, none after.
#[test]
fn a_change_of_a_link_changes_the_components() {
    let topology = three_spines(&json!([]));
    for (at_us, together) in [(0u64, true), (1_200, false), (5_500, true)] {
        for n in 0..6 {
            let mut spec = drill("symmetric", &topology, &[flow(0, 2, 150_000, at_us * 1000)]);
            spec["seed"] = json!(n);
            spec["fault"] = json!([{"kind": "down", "ends": ["leaf3", "spine0"], "at_us": 1000, "until_us": 5000}]);
            spec["detection"] = json!({"mode": "oracle"});
            let outcome = run_both(&spec);
            all_finished(&outcome);
            let used = crossed(&outcome, &UP);
            assert_eq!(used == UP, together, "{at_us}: {used:?}");
        }
    }
}
