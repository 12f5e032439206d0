//! LBSP in whole runs: the ports that packets take in the paper's worked examples, equal queues within a group, even
//! loads, the cost of failure messages and how long the tree is inconsistent, and the effect on TCP of spraying over an
//! uneven tree. All on the paper's links: 1 Gbps, 50 us, 250 packets.

use crate::common::{all_finished, counter, flow, flow_column, graph, merged, of_link, run, run_both, series, total};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::spec::resolve;

/// LBSP §4: all links 1 Gbps, 50 us, 250 packets; Reno with a timer of 20 ms.
fn tree(k: u32, change: Value) -> Value {
    let base = json!({
        "topology": {"kind": "fat_tree", "k": k, "host_rate_gbps": 1, "fabric_rate_gbps": 1, "core_rate_gbps": 1,
                     "host_delay_ns": 50_000, "fabric_delay_ns": 50_000, "core_delay_ns": 50_000},
        "scheme": {"name": "lbsp"},
        "switch": {"buffer_packets": 250},
        "transport": {"kind": "newreno", "min_rto_us": 20_000, "initial_rto_us": 20_000},
    });
    merged(&base, &change)
}

/// The scheme that sends each message once, so that packets can be counted.
fn once() -> Value {
    json!({"params": {"repeat_us": 0}})
}

/// The traffic of listed flows.
fn flows(list: Vec<Value>) -> Value {
    json!([{"kind": "flows", "list": list}])
}

/// Names of uplinks of `switch` that carried more than messages do, and data packets over each.
fn used(outcome: &Outcome, least: u64) -> Vec<(String, u64)> {
    let links = outcome.report["links"].as_array().expect("links");
    let rank = |name: &str| ["host", "leaf", "aggregation", "core"].iter().position(|tier| name.starts_with(tier));
    links
        .iter()
        .filter_map(|link| {
            let (name, packets) = (link["name"].as_str()?, link["packets"].as_u64()?);
            let (from, to) = name.split_once("->")?;
            (rank(from) < rank(to) && !from.starts_with("host") && packets >= least)
                .then(|| (name.to_string(), packets))
        })
        .collect()
}

/// Returns only the names, for this switch.
fn ports(used: &[(String, u64)], switch: &str) -> Vec<String> {
    let head = format!("{switch}->");
    used.iter().filter_map(|(name, _)| Some(name.strip_prefix(&head)?.to_string())).collect()
}

/// A data stream one way at 100 Mbps.
fn stream(src: u32, dst: u32, start_us: u64) -> Value {
    json!({"kind": "udp", "src": src, "dst": dst, "size_bytes": 1_000_000,
           "schedule": [{"at_us": start_us, "rate_gbps": 0.1}]})
}

// LBSP §3.1: S2 -> T11 -> {A8, A10} -> {C0, C2, C8, C10} -> {A4, A6} -> T5.
#[test]
fn s2_goes_round_a11_to_the_port() {
    let change = json!({
        "topology": {"override": [{"leaf": 11, "aggregation": 11, "up": false}]},
        "scheme": once(), "traffic": [stream(44, 21, 10_000)],
    });
    let outcome = run_both(&tree(8, change));
    let used = used(&outcome, 50);
    assert_eq!(ports(&used, "leaf11"), ["aggregation8", "aggregation10"]);
    assert_eq!(ports(&used, "aggregation8"), ["core0", "core2"]);
    assert_eq!(ports(&used, "aggregation10"), ["core8", "core10"]);
    assert_eq!(used.len(), 6, "{used:?}");
    for (core, aggregation) in [(0, 4), (2, 4), (8, 6), (10, 6)] {
        assert!(of_link(&outcome, &format!("core{core}->aggregation{aggregation}"), "packets") > 100);
    }
    assert_eq!((counter(&outcome, "dropped", "packets"), counter(&outcome, "delivered", "packets") > 600), (0, true));
}

// LBSP §3.3.2: host 15 to host 115 with A31-C15 down: T3 by ports 1 and 3, A1 and A3 by ports 0 and 2.
#[test]
fn host_15_to_115_with_a31_c15_down_to_the_port() {
    let change = json!({
        "topology": {"override": [{"aggregation": 31, "core": 15, "up": false}]},
        "scheme": once(), "traffic": [stream(15, 115, 10_000)],
    });
    let used = used(&run_both(&tree(8, change)), 50);
    assert_eq!(ports(&used, "leaf3"), ["aggregation1", "aggregation3"]);
    assert_eq!(ports(&used, "aggregation1"), ["core4", "core6"]);
    assert_eq!(ports(&used, "aggregation3"), ["core12", "core14"]);
    assert_eq!(used.len(), 6, "{used:?}");
}

#[test]
fn packets_are_lost_until_the_message_has_come_and_none_after() {
    // A31-T31 is down. A31's message is at T3 three links later: 3 · (50 us + 64 B), beside nothing else.
    let arrives: u64 = 3 * (50_000 + 512);
    let change = json!({
        "topology": {"override": [{"leaf": 31, "aggregation": 31, "up": false}]},
        "traffic": [{"kind": "udp", "src": 12, "dst": 125, "size_bytes": 1_000_000, "packet_bytes": 1000,
                     "schedule": [{"rate_gbps": 0.8}]}],
        "transport": {"header_bytes": 40},
    });
    let outcome = run_both(&tree(8, change));
    // One packet per 10 us from the start, at T3 58 us later; half of them by A3.
    let lost = counter(&outcome, "dropped", "packets");
    let before = (arrives - 58_000) / 10_000 + 1;
    assert!(lost.abs_diff(before.div_ceil(2)) <= 1, "{lost} lost, {before} sent before the message");
    let early = json!({"traffic": [stream(12, 125, 1_000)]});
    let early =
        tree(8, merged(&json!({"topology": {"override": [{"leaf": 31, "aggregation": 31, "up": false}]}}), &early));
    assert_eq!(counter(&run_both(&early), "dropped", "packets"), 0);
}

// LBSP §3.1: "flows selecting the same path group observe almost the same queue occupancies".
#[test]
fn two_flows_in_one_group_see_equal_queues() {
    // Two hosts of T11 send at 1 Gbps each to hosts of T5 and T9 whose lowest bits agree: two links up carry both.
    let sources = [(44, 21, 0), (45, 37, 3_700), (46, 53, 5_100)];
    let list = sources.map(|(src, dst, start)| {
        json!({"kind": "udp", "src": src, "dst": dst, "size_bytes": 3_000_000,
               "schedule": [{"at_us": start, "rate_gbps": 0.8}]})
    });
    let change = json!({"traffic": list, "metrics": {"series_interval_us": 100}});
    let outcome = run_both(&tree(8, change));
    let queue = |link: &str| -> Vec<(u64, f64)> {
        let points = series(&outcome, "link_queue_bytes").into_iter().filter(|(_, entity, _)| entity == link);
        points.map(|(at, _, bytes)| (at, bytes)).collect()
    };
    let (one, other) = (queue("leaf11->aggregation9"), queue("leaf11->aggregation11"));
    assert!(one.len() > 200 && one.len() == other.len());
    let most = one.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    let gap = one.iter().zip(&other).map(|(a, b)| (a.1 - b.1).abs()).fold(0.0, f64::max);
    println!("queues of up to {most} bytes, never more than {gap} apart");
    assert!(most > 100_000.0, "a queue that matters: {most}");
    // One packet in turn, and one that is being sent.
    assert!(gap <= 2.0 * 1500.0, "{gap} bytes apart");
}

#[test]
fn every_path_group_carries_the_same() {
    // Each host to the one half the tree away: each rack's hosts are of all groups. Where all packets of a switch take
    // turns together, two synchronized hosts always meet the same links, so the links of a group need not be even;
    // groups are.
    let (k, hosts) = (8u32, 128u32);
    for round_robin in ["switch", "destination"] {
        let list: Vec<Value> = (0..hosts)
            .map(|src| {
                json!({"kind": "udp", "src": src, "dst": (src + hosts / 2) % hosts, "size_bytes": 20_000,
                       "schedule": [{"rate_gbps": 0.5}]})
            })
            .collect();
        let params = json!({"round_robin": round_robin});
        let outcome = run(&tree(k, json!({"traffic": list, "scheme": {"params": params}})));
        assert_eq!(counter(&outcome, "dropped", "packets"), 0);
        // Each link of a leaf carries as many packets as a host sends.
        let carried = used(&outcome, 1);
        assert_eq!(carried.len() as u32, k * k * k / 2);
        let total: u64 = carried.iter().filter(|(name, _)| name.starts_with("leaf")).map(|(_, packets)| packets).sum();
        let each = total / u64::from(hosts);
        let even = |packets: u64| packets == each || round_robin == "destination";
        assert!(carried.iter().all(|(name, packets)| !name.starts_with("leaf") || even(*packets)), "{round_robin}");
        let mut of_group = [[0; 2]; 2];
        for (name, packets) in carried.iter().filter(|(name, _)| name.starts_with("aggregation")) {
            let core: u32 = name.split_once("->core").and_then(|(_, core)| core.parse().ok()).expect("a core");
            of_group[(core / (k / 2) % 2) as usize][(core % 2) as usize] += packets;
        }
        assert_eq!(of_group, [[u64::from(hosts) * each / 4; 2]; 2], "{round_robin}: columns and rows by parity");
        let (least, most) = carried.iter().fold((u64::MAX, 0), |(least, most), (_, n)| (least.min(*n), most.max(*n)));
        println!("in turn by {round_robin}: {least} to {most} packets on each link up, {each} on average");
        assert!(round_robin == "switch" || 5 * (most - least) <= 2 * each, "{least} to {most}");
    }
}

/// Long flows of three pairs as in Fig. 3: S1 and S2 into pod 1 from T11's pod, S3 from another. With A11-T11 avoided S1
/// and S2 are of one path group.
fn figure_3(scheme: &str, topology: Value) -> Outcome {
    let list = vec![flow(40, 20, 3_000_000, 0), flow(44, 21, 3_000_000, 0), flow(64, 23, 3_000_000, 0)];
    let change = json!({"scheme": {"name": scheme}, "topology": topology, "traffic": flows(list),
                        "run": {"until_us": 10_000_000}});
    let outcome = run_both(&tree(8, change));
    all_finished(&outcome);
    outcome
}

#[test]
fn in_a_degraded_tree_lbsp_keeps_order_and_scatter_does_not() {
    // LBSP Fig. 7c in small: A11-T11 at a tenth, flows from T11.
    let slow = || json!({"override": [{"leaf": 11, "aggregation": 11, "rate_gbps": 0.1}]});
    let slowest = |outcome: &Outcome| flow_column(outcome, "fct_ps").into_iter().max().expect("flows");
    let late = |outcome: &Outcome| total(outcome, |record| record.out_of_order);
    let (whole, lbsp) = (figure_3("lbsp", json!({})), figure_3("lbsp", slow()));
    println!("lbsp: {} ps whole, {} degraded, {} out of order", slowest(&whole), slowest(&lbsp), late(&lbsp));
    assert_eq!(late(&lbsp), 0);
    assert!(slowest(&lbsp) < slowest(&whole) * 11 / 10, "{} against {}", slowest(&lbsp), slowest(&whole));
    for scheme in ["packet_scatter", "rps"] {
        let (even, uneven) = (figure_3(scheme, json!({})), figure_3(scheme, slow()));
        println!(
            "{scheme}: {} ps whole, {} degraded, {} out of order",
            slowest(&even),
            slowest(&uneven),
            late(&uneven)
        );
        assert!(late(&uneven) > 300, "{scheme}: {}", late(&uneven));
        assert!(slowest(&uneven) > 2 * slowest(&lbsp), "{scheme}: {}", slowest(&uneven));
    }
    let ignored = json!({"scheme": {"params": {"avoid_degraded": false}}, "topology": slow(),
                         "traffic": flows(vec![flow(44, 21, 3_000_000, 0)]), "run": {"until_us": 10_000_000}});
    assert!(late(&run_both(&tree(8, ignored))) > 100, "what it does with the link otherwise");
}

#[test]
fn messages_are_packets_and_each_switch_passes_one_on_once() {
    let down = json!({"override": [{"leaf": 7, "aggregation": 7, "up": false}]});
    let traffic = flows(vec![flow(0, 15, 1_000, 0)]);
    let outcome = run_both(&tree(4, json!({"scheme": once(), "topology": down, "traffic": traffic})));
    // Two messages, one from each end. There are 32 cables; each switch sends on all its links except the one it heard
    // on.
    let ends = 2 * (32 - 1);
    let per_flood = ends - (20 - 1);
    assert_eq!(counter(&outcome, "messages", "packets"), 2 * per_flood);
    assert_eq!(counter(&outcome, "messages", "bytes"), 2 * per_flood * 64);
    let whole = run_both(&tree(4, json!({"traffic": flows(vec![flow(0, 15, 1_000, 0)])})));
    assert_eq!(counter(&whole, "messages", "packets"), 0, "nothing in a normal state");
}

#[test]
fn the_gap_between_groups_shrinks_with_the_input_port() {
    // Both hosts of interest are of one group: without input ports all share two of four uplinks of T0.
    let gap = |input_port: &str| {
        let list = [(0, 125), (1, 121), (2, 117)].map(|(src, dst)| {
            json!({"kind": "udp", "src": src, "dst": dst, "size_bytes": 4_000_000, "schedule": [{"rate_gbps": 0.9}]})
        });
        let params = json!({"input_port": input_port, "record_gap": true});
        let outcome = run_both(&tree(8, json!({"scheme": {"params": params}, "traffic": list})));
        let at = |entity: &str| entity == "leaf0";
        let points: Vec<f64> =
            series(&outcome, "lbsp.group_gap").into_iter().filter(|(_, e, _)| at(e)).map(|(_, _, v)| v).collect();
        points.iter().sum::<f64>() / points.len() as f64
    };
    let (ignored, xor, migrate) = (gap("ignored"), gap("xor"), gap("migrate"));
    println!("mean gap at T0: {ignored:.1} packets, {xor:.1} with XOR, {migrate:.1} with migration");
    assert!(ignored > 50.0 && xor < 0.2 * ignored && migrate < 0.5 * ignored, "{ignored} {xor} {migrate}");
}

#[test]
fn other_fabrics_and_uneven_trees_are_refused() {
    let one = || flows(vec![flow(0, 1, 1000, 0)]);
    let leaf_spine = json!({"leaves": 2, "spines": 2, "hosts_per_leaf": 2});
    let cables = vec![json!([0, 2, 1, 1000]), json!([1, 2, 1, 1000])];
    let tree = |change: Value| merged(&json!({"kind": "fat_tree"}), &change);
    for (topology, params, message) in [
        (
            leaf_spine,
            json!({}),
            "scheme.name = \"lbsp\": expected any scheme that `spinewise schemes` lists except lbsp",
        ),
        (graph(2, 1, cables), json!({}), "topology.kind = \"fat_tree\""),
        (
            tree(json!({"k": 2})),
            json!({}),
            "scheme.params.leaf_bits = 1: expected a fat-tree whose leaf has an even number",
        ),
        (tree(json!({"k": 6})), json!({}), "2 equal link groups would have to share the 3 uplinks of each leaf"),
        (tree(json!({"k": 8})), json!({"leaf_bits": 3}), "scheme.params.leaf_bits = 3: expected \"1\" or \"2\""),
        (
            tree(json!({"k": 8, "cores_per_aggregation": 3})),
            json!({}),
            "scheme.params.aggregation_bits = 1: expected a fat-tree whose aggregation switch has an even number",
        ),
        (
            tree(json!({"k": 8})),
            json!({"leaf_bits": 0}),
            "scheme.params.leaf_bits = 0: expected a whole number from 1 to 4",
        ),
    ] {
        let spec = json!({"topology": topology, "scheme": {"name": "lbsp", "params": params}, "traffic": one()});
        let error = resolve(&spec).expect_err("refused").to_string();
        assert!(error.contains(message), "{error}\n{message}");
    }
    let under = json!({"topology": {"kind": "fat_tree", "k": 4}, "scheme": {"name": "drb", "fabric": "lbsp"},
                       "traffic": one()});
    let error = resolve(&under).expect_err("refused").to_string();
    assert!(error.contains("scheme.fabric = \"lbsp\"") && error.contains("avoids dead links"), "{error}");
}
