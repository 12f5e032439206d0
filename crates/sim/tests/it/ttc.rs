//! TTC in whole runs: default paths give each host its own downlinks, and are left only for much shorter queues.

use crate::common::{all_finished, flow, of_link, run_both, total, udp};
use serde_json::{Value, json};

/// A fat-tree of k = 4 under TTC with this threshold.
fn fat_tree(threshold_bytes: f64, traffic: Value) -> Value {
    json!({
        "topology": {"kind": "fat_tree", "k": 4},
        "scheme": {"name": "ttc", "params": {"threshold_bytes": threshold_bytes}}, "traffic": traffic,
    })
}

/// Host n sends this many packets to host 15 - n, at the other end of the tree; the number is different for each.
fn packets_to(host: u32) -> u64 {
    u64::from(host + 1) * 3
}

fn to_the_other_end() -> Value {
    (0..16u32)
        .map(|dst| {
            let schedule = json!([{"rate_gbps": 1}]);
            let size = packets_to(dst) * 1500;
            json!({"kind": "udp", "src": 15 - dst, "dst": dst, "packet_bytes": 1500, "size_bytes": size,
                   "schedule": schedule})
        })
        .collect()
}

#[test]
fn on_default_paths_each_link_down_carries_the_packets_of_one_host() {
    let outcome = run_both(&fat_tree(1e12, to_the_other_end()));
    all_finished(&outcome);
    let links = outcome.report["links"].as_array().expect("the report lists the links");
    let spec = crate::common::resolved(&fat_tree(1e12, to_the_other_end()));
    let tree = spinewise_sim::topology::Topology::new(&spec.topology).unwrap_or_else(|error| panic!("{error}"));
    // Hosts by downlink: of a core's link to a pod, the one whose digits name the core; of an aggregation switch's link
    // to an edge, the one whose lowest digit names the switch.
    let mut down = 0;
    for (number, link) in tree.links.numbered() {
        let (from, to) = (link.from.0, link.to.0);
        if !tree.joins_switches(number) {
            continue;
        }
        let name = tree.link_name(number);
        let packets = links
            .iter()
            .find(|link| link["name"] == name.as_str())
            .map_or(0, |link| link["packets"].as_u64().expect("a number"));
        let hosts: Vec<u32> = (0..16).filter(|&host| packets_to(host) == packets).collect();
        let rank = |node| match tree.tier(tree.switch_number(node)) {
            spinewise_policy::Tier::Leaf => 0,
            spinewise_policy::Tier::Aggregation => 1,
            _ => 2,
        };
        if rank(from) > rank(to) {
            assert_eq!(hosts.len(), 1, "{name} carries {packets} packets");
            down += 1;
        }
    }
    assert_eq!(down, 32, "links down");
}

#[test]
fn a_lone_flow_never_leaves_its_default_path_and_is_in_order() {
    for dst in 4..8 {
        let outcome = run_both(&json!({
            "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10},
            "scheme": {"name": "ttc"}, "traffic": [{"kind": "flows", "list": [flow(0, dst, 3_000_000, 0)]}],
        }));
        all_finished(&outcome);
        let packets: Vec<u64> =
            (0..4).map(|spine| of_link(&outcome, &format!("leaf0->spine{spine}"), "packets")).collect();
        assert_eq!(packets.iter().filter(|&&packets| packets > 0).count(), 1, "{packets:?}");
        assert!(packets[dst as usize % 4] > 2_000, "{packets:?}");
        assert_eq!(total(&outcome, |record| record.out_of_order), 0);
    }
}

#[test]
fn a_full_default_path_overflows_to_others_from_the_threshold_on() {
    // Two sources of 8 Gbps to hosts with equal digits: 16 Gbps for a default uplink of 10.
    let run = |threshold: f64| {
        run_both(&json!({
            "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 8, "host_rate_gbps": 10, "fabric_rate_gbps": 10},
            "scheme": {"name": "ttc", "params": {"threshold_bytes": threshold}},
            "switch": {"buffer_bytes": 10_000_000}, "traffic": [udp(0, 8, 8.0), udp(1, 12, 8.0)],
            "run": {"stop": "time", "until_us": 2000},
        }))
    };
    for threshold in [0u32, 15_000, 150_000] {
        let outcome = run(f64::from(threshold));
        let of = |spine: u32, what: &str| of_link(&outcome, &format!("leaf0->spine{spine}"), what);
        let others: Vec<u64> = (1..4).map(|spine| of(spine, "packets")).collect();
        assert!(others.iter().all(|&packets| packets > 100), "{others:?}");
        // The queue stays at the threshold: the excess leaves.
        let longest = of(0, "longest_queue_bytes");
        assert!((threshold.into()..=u64::from(threshold) + 6_000).contains(&longest), "{threshold}: {longest}");
    }
    let outcome = run(1e12);
    assert!((1..4).all(|spine| of_link(&outcome, &format!("leaf0->spine{spine}"), "packets") == 0));
}
