//! Random connected graphs: only shortest paths, every packet delivered, by both engines.

use crate::common::{all_finished, counter, flow, flow_column, graph, merged, run_both, switch_schemes, wired};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use spinewise_sim::ids::NodeId;
use std::collections::BTreeMap;

/// A connected graph: a random tree of switches with more links added, and hosts anywhere.
fn random_graph() -> impl Strategy<Value = Value> {
    let link = || (prop::sample::select(&[1.0, 10.0, 40.0][..]), 1u32..3000);
    let tree = prop::collection::vec((0u32..1000, link()), 0..7);
    let more = prop::collection::vec((0u32..1000, 0u32..1000, link()), 0..8);
    let hosts = prop::collection::vec((0u32..1000, link()), 2..9);
    (tree, more, hosts, 0u32..500).prop_map(|(tree, more, hosts, latency)| {
        let (n, switches) = (hosts.len() as u32, tree.len() as u32 + 1);
        let mut links = BTreeMap::new();
        for (child, (parent, link)) in (1u32..).zip(tree) {
            links.insert((parent % child, child), link);
        }
        for (a, b, link) in more.into_iter().map(|(a, b, link)| (a % switches, b % switches, link)) {
            if a != b {
                links.entry((a.min(b), a.max(b))).or_insert(link);
            }
        }
        let inner = links.into_iter().map(|((a, b), (rate, delay))| json!([n + b, n + a, rate, delay]));
        let outer =
            (0u32..).zip(hosts).map(|(host, (at, (rate, delay)))| json!([host, n + at % switches, rate, delay]));
        merged(&graph(n, switches, inner.chain(outer).collect()), &json!({"switch_latency_ns": latency}))
    })
}

/// Hops between all nodes, by Floyd and Warshall; hosts have one link, so no shortest path passes one.
fn hops(topology: &Value) -> Vec<Vec<u64>> {
    let number = |value: &Value| value.as_u64().expect("a number") as usize;
    let nodes = number(&topology["hosts"]) + number(&topology["switches"]);
    let mut hops = vec![vec![1000; nodes]; nodes];
    for link in topology["links"].as_array().expect("a list") {
        let (a, b) = (number(&link[0]), number(&link[1]));
        (hops[a][b], hops[b][a]) = (1, 1);
    }
    for (node, from) in hops.iter_mut().enumerate() {
        from[node] = 0;
    }
    for middle in 0..nodes {
        for a in 0..nodes {
            for b in 0..nodes {
                hops[a][b] = hops[a][b].min(hops[a][middle] + hops[middle][b]);
            }
        }
    }
    hops
}

/// Every candidate leads one hop nearer, and every neighbour that is one hop nearer is a candidate.
fn check_candidates(table: &Value, hops: &[Vec<u64>]) {
    let topology = wired(table);
    for switch in topology.switch_ids() {
        for leaf in topology.leaf_ids() {
            let to = topology.label(topology.leaf_node(leaf)) as usize;
            let far = |node: NodeId| hops[topology.label(node) as usize][to];
            let node = topology.switch_node(switch);
            let nearer = (0..topology.ports(node)).filter(|&port| far(topology.out(node, port).to.0) + 1 == far(node));
            let nearer: Vec<u16> = if switch == leaf { Vec::new() } else { nearer.collect() };
            assert_eq!(topology.uplinks(switch, leaf), nearer, "{switch:?} to {leaf:?} of {table}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Every packet arrives, over as many links as its hosts are apart: so none loops.
    #[test]
    fn random_graphs_deliver_everything(table in random_graph(),
                                        ends in prop::collection::vec((0u32..100, 0u32..100), 1..12),
                                        scheme in prop::sample::select(switch_schemes())) {
        let hops = hops(&table);
        check_candidates(&table, &hops);
        let hosts = table["hosts"].as_u64().expect("a number") as u32;
        let ends = ends.into_iter().map(|(a, b)| (a % hosts, b % hosts)).filter(|(a, b)| a != b);
        let ends: Vec<(u32, u32)> = ends.chain([(0, hosts - 1)]).collect();
        let udp: Vec<Value> = ends.iter().map(|&(src, dst)| json!({
            "kind": "udp", "src": src, "dst": dst, "size_bytes": 6000, "schedule": [{"rate_gbps": 1}]
        })).collect();
        for scheme in ["ecmp", scheme] {
            let packets = run_both(&json!({
                "topology": table, "scheme": {"name": scheme}, "switch": {"buffer_packets": 1000}, "traffic": udp,
            }));
            all_finished(&packets);
            let expected: u64 = ends.iter().map(|&(src, dst)| 4 * hops[src as usize][dst as usize]).sum();
            let crossed = packets.report["packet_hops"].as_u64().expect("a number");
            // Some schemes send packets of their own.
            let own = counter(&packets, "messages", "packets") + counter(&packets, "probes", "packets");
            let as_far = if own == 0 { crossed == expected } else { crossed > expected };
            prop_assert!(as_far, "{} hops: {}", crossed, table);
            prop_assert!(own == 0 || scheme != "ecmp");
            let list: Vec<Value> = ends.iter().map(|&(src, dst)| flow(src, dst, 100_000, 0)).collect();
            let flows = run_both(&json!({
                "topology": table, "scheme": {"name": scheme}, "traffic": [{"kind": "flows", "list": list}],
            }));
            all_finished(&flows);
            prop_assert_eq!(&flows.report["counters"]["unroutable"], &json!(0));
            let (fct, ideal) = (flow_column(&flows, "fct_ps"), flow_column(&flows, "ideal_fct_ps"));
            prop_assert!(fct.iter().zip(&ideal).all(|(fct, ideal)| fct >= ideal), "faster than light: {}", table);
        }
    }
}
