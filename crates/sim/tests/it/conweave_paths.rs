//! ConWeave in a 4-ary fat-tree, packet by packet: a rerouted flow follows the ports of the new path at every hop, and
//! avoids what breaks.

use crate::common::{
    Point, fat_tree, flow, graph, merged, of_link, run, run_both, series, trace_column, traced, wired,
};
use serde_json::{Value, json};
use spinewise_sim::ids::HostId;
use spinewise_sim::setup::Tuning;
use spinewise_sim::topology::Topology;
use std::collections::BTreeMap;

/// A flow of 2 MB from host 0 to host 15 in another pod, whose answers are always late: a round trip takes more than 12
/// µs. So it is rerouted each time its TAIL arrives. Buffers never drop.
fn spec(change: Value) -> Value {
    let base = json!({
        "topology": fat_tree(), "seed": 3,
        "scheme": {"name": "conweave", "params": {"theta_reply_us": 3, "reorder_queues": 0}},
        "switch": {"buffer_packets": 100_000, "ecn_threshold_packets": 1000},
        "traffic": [{"kind": "flows", "list": [flow(0, 15, 2_000_000, 0)]}],
        "metrics": {"series_interval_us": 1000},
    });
    merged(&base, &change)
}

fn reroutes(outcome: &spinewise_sim::outcome::Outcome) -> Vec<Point> {
    series(outcome, "conweave.reroutes")
}

/// The links of each data packet of flow 0 from switches with a choice, by first byte: when it left the first, and both.
fn hops(topology: &Topology, spec: &Value) -> BTreeMap<u64, (u64, Vec<String>)> {
    let (_, trace) = traced(spec, &[0], Tuning::default());
    let columns = ["time_ps", "device", "kind", "seq", "way", "chosen"].map(|name| trace_column(&trace, name));
    let [times, devices, kinds, seqs, ways, chosen] = columns;
    let names = &trace.words["device"];
    let mut hops: BTreeMap<u64, (u64, Vec<String>)> = BTreeMap::new();
    for row in (0..times.len()).filter(|&row| chosen[row] == 1 && kinds[row] == 0) {
        let name = names[devices[row] as usize].as_str().expect("a name");
        let node = topology.node_ids().find(|&node| topology.node_name(node) == name).expect("a switch");
        let link = topology.link_name(topology.out_number(node, ways[row] as u16));
        hops.entry(seqs[row]).or_insert((times[row], vec![])).1.push(link);
    }
    hops
}

#[test]
fn rerouted_packets_take_the_ports_of_their_path_at_every_hop() {
    let (topology, spec) = (wired(&fat_tree()), spec(json!({})));
    let outcome = run_both(&spec);
    assert_eq!(outcome.report["finished"], 1);
    let reroutes = reroutes(&outcome);
    assert!(reroutes.len() > 20, "{} reroutes", reroutes.len());
    let hops = hops(&topology, &spec);
    assert_eq!(hops.len(), 2_000_000usize.div_ceil(1460));
    let path = |way: f64| -> Vec<String> {
        let links = topology.path(HostId::new(0), HostId::new(15), way as u16);
        let number = |link: &spinewise_sim::topology::LinkSpec| topology.out_number(link.from.0, link.from.1);
        links[1..3].iter().map(|link| topology.link_name(number(link))).collect()
    };
    let (mut checked, mut used) = (0, std::collections::BTreeSet::new());
    for (left, links) in hops.values() {
        // A reroute applies to packets after its TAIL.
        if let Some(last) = reroutes.iter().rfind(|reroute| reroute.0 < *left) {
            assert_eq!(*links, path(last.2), "left at {left} ps, behind a reroute to path {}", last.2);
            checked += 1;
        }
        used.insert(links.clone());
    }
    assert!(checked > hops.len() / 2 && used.len() == 4, "{checked} packets, {} paths", used.len());
    for core in 0..4 {
        assert!(of_link(&outcome, &format!("core{core}->aggregation{}", 6 + core / 2), "packets") > 100, "core{core}");
    }
}

#[test]
fn with_uplinks_for_paths_the_rest_is_hashed() {
    let spec = spec(json!({"scheme": {"params": {"path": "uplink"}}}));
    let outcome = run_both(&spec);
    assert!(reroutes(&outcome).iter().all(|reroute| reroute.2 < 2.0));
    let hops = hops(&wired(&fat_tree()), &spec);
    let used: std::collections::BTreeSet<_> = hops.values().map(|(_, links)| links.clone()).collect();
    assert_eq!(used.len(), 2, "one core for each uplink: {used:?}");
}

#[test]
fn within_a_pod_and_over_two_tiers_a_path_is_an_uplink() {
    let leaf_spine = json!({"leaves": 4, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 10});
    let hosts = (0..8).map(|host| json!([host, 8 + host / 2, 10, 1000]));
    let inner = (8..12).flat_map(|leaf| [12, 13].map(|spine| json!([leaf, spine, 10, 1000])));
    let clos = graph(8, 6, hosts.chain(inner).collect());
    for (topology, dst) in [(fat_tree(), 2), (leaf_spine, 15), (clos, 7)] {
        let list = json!([{"kind": "flows", "list": [flow(0, dst, 500_000, 0)]}]);
        let one = |path: &str| {
            let mut spec = spec(json!({"scheme": {"params": {"path": path}}}));
            (spec["topology"], spec["traffic"]) = (topology.clone(), list.clone());
            run(&spec).hash
        };
        assert_eq!(one("whole"), one("uplink"), "{topology}");
    }
}

/// Starts at 300 µs. An uplink that dies takes its paths out of the set; a link that dies beyond it is avoided there.
#[test]
fn paths_with_a_dead_link_are_left_or_gone_round() {
    let after = |outcome: &spinewise_sim::outcome::Outcome| -> Vec<f64> {
        reroutes(outcome).into_iter().filter(|reroute| reroute.0 > 320_000_000).map(|reroute| reroute.2).collect()
    };
    let cut = |ends: [&str; 2]| {
        let fault = json!({"fault": [{"kind": "down", "ends": ends, "at_us": 300}], "detection": {"mode": "oracle"}});
        let outcome = run_both(&spec(fault));
        assert_eq!(outcome.report["finished"], 1, "{ends:?}");
        let lost = of_link(&outcome, &format!("{}->{}", ends[0], ends[1]), "lost");
        assert!(lost < 5, "{ends:?}: what was on the line, {lost} packets");
        outcome
    };
    let first = after(&cut(["leaf0", "aggregation0"]));
    assert!(first.len() > 5 && first.iter().all(|&path| path >= 2.0), "only those by aggregation 1: {first:?}");
    let second = after(&cut(["aggregation0", "core0"]));
    for path in 0..4 {
        assert!(second.contains(&f64::from(path)), "leaf 0 goes on drawing path {path}: {second:?}");
    }
}
