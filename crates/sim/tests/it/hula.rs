//! HULA in whole runs: how many probes there are, which uplinks it avoids and how soon, and that it herds.

use crate::common::{all_finished, counter, flow, flow_column, graph, merged, of_link, run_both, udp};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;

/// Probe intervals in a run.
const INTERVALS: u64 = 50;

/// A leaf-spine under HULA, or another scheme, for 50 probe intervals of 200 us.
fn leaf_spine(leaves: u32, spines: u32, scheme: &str, traffic: Value) -> Value {
    json!({
        "topology": {"leaves": leaves, "spines": spines, "hosts_per_leaf": 16, "host_rate_gbps": 10,
                     "fabric_rate_gbps": 10, "host_delay_ns": 500, "fabric_delay_ns": 500},
        "scheme": {"name": scheme}, "traffic": traffic, "run": {"stop": "time", "until_us": INTERVALS * 200},
    })
}

/// Packets on leaf 0's uplinks.
fn uplinks(outcome: &Outcome, spines: u32) -> Vec<u64> {
    (0..spines).map(|spine| of_link(outcome, &format!("leaf0->spine{spine}"), "packets")).collect()
}

/// One packet, so that there is some traffic.
fn nothing() -> Value {
    json!([{"kind": "udp", "src": 0, "dst": 1, "size_bytes": 100, "schedule": [{"rate_gbps": 1}]}])
}

// HULA's overhead: probe_bytes · leaves / probe_interval on each link.
#[test]
fn in_a_leaf_spine_each_link_carries_one_probe_of_each_leaf_an_interval() {
    for (leaves, spines) in [(2, 3), (4, 4), (5, 2)] {
        let outcome = run_both(&leaf_spine(leaves, spines, "hula", nothing()));
        let (n, m) = (u64::from(leaves), u64::from(spines));
        // Probes go up each uplink, and down to all leaves but their own.
        assert_eq!(counter(&outcome, "messages", "packets"), INTERVALS * n * (m + m * (n - 1)));
        for leaf in 0..leaves {
            for spine in 0..spines {
                let (up, down) = (format!("leaf{leaf}->spine{spine}"), format!("spine{spine}->leaf{leaf}"));
                assert_eq!(of_link(&outcome, &up, "packets"), INTERVALS, "{up}");
                assert_eq!(of_link(&outcome, &down, "bytes"), INTERVALS * 64 * (n - 1), "{down}");
            }
        }
        assert_eq!(counter(&outcome, "dropped", "packets"), 0);
    }
}

/// A fat-tree of k = 4: 16 hosts, edge switches 16 to 23, aggregation 24 to 31, cores 32 to 35.
fn fat_tree() -> Value {
    let cable = |a: u32, b: u32| json!([a, b, 10, 1000]);
    let mut links: Vec<Value> = (0..16).map(|host| cable(host, 16 + host / 2)).collect();
    for pod in 0..4 {
        for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            links.push(cable(16 + 2 * pod + a, 24 + 2 * pod + b));
            links.push(cable(24 + 2 * pod + a, 32 + 2 * a + b));
        }
    }
    graph(16, 20, links)
}

#[test]
fn in_a_fat_tree_probes_go_up_and_then_down() {
    let change = json!({"topology": fat_tree(), "traffic": nothing()});
    let mut spec = merged(&json!({"scheme": {"name": "hula"}}), &change);
    spec["run"] = json!({"stop": "time", "until_us": INTERVALS * 200});
    let outcome = run_both(&spec);
    // For one leaf: 2 up to its aggregation switches, which send 1 down and 2 up each; a core sends 3 down; those 12 go
    // down twice each.
    assert_eq!(counter(&outcome, "messages", "packets"), INTERVALS * 8 * (2 + 2 * 3 + 4 * 3 + 12 * 2));
    // Up: for the two leaves of the pod. Down from a core: for the six leaves of other pods; to an edge: for each of
    // those by both cores, and for the pod's other leaf.
    for (name, probes) in [
        ("switch16->switch24", 1),
        ("switch24->switch32", 2),
        ("switch32->switch24", 6),
        ("switch24->switch16", 6 * 2 + 1),
    ] {
        assert_eq!(of_link(&outcome, name, "packets"), INTERVALS * probes, "{name}");
    }
}

/// A source of 9 Gbps from the start, and then 100 short flows, 80 us apart, between other hosts. The first comes when
/// the source has sent for a probe interval and a tenth.
fn beside_a_stream() -> Value {
    let list: Vec<Value> =
        (0..100).map(|n| flow(1 + n % 15, 17 + n % 15, 20_000, 220_000 + 80_000 * u64::from(n))).collect();
    json!([udp(0, 16, 9.0), {"kind": "flows", "list": list}])
}

#[test]
fn after_one_probe_flows_avoid_an_uplink_that_is_full() {
    let on_the_streams_uplink = |scheme: &str| {
        let outcome = run_both(&leaf_spine(2, 4, scheme, beside_a_stream()));
        assert_eq!(outcome.report["finished"], 100);
        let packets = uplinks(&outcome, 4);
        let most = *packets.iter().max().expect("uplinks");
        // The stream: 9 Gbps in packets of 1500 bytes, for 10 ms.
        most.abs_diff(7_500)
    };
    let probes = INTERVALS;
    let (hula, ecmp) = (on_the_streams_uplink("hula"), on_the_streams_uplink("ecmp"));
    println!("{hula} packets beside the stream under HULA, {ecmp} under ECMP");
    assert!(hula <= probes + 2, "{hula} packets besides {probes} probes");
    assert!(ecmp > 200, "{ecmp} packets are no contrast");
}

#[test]
fn flows_do_not_wait_for_a_degraded_link() {
    // Hashing puts a quarter of a leaf's traffic on a link that carries a thirty-first of it.
    let mean_fct = |scheme: &str, override_: Value| {
        let traffic = json!([{"kind": "poisson", "cdf": "web_search", "load": 0.4, "duration_us": 10_000}]);
        let mut spec = leaf_spine(2, 4, scheme, traffic);
        spec["topology"]["override"] = override_;
        spec["run"] = json!({"until_us": 1_000_000});
        let outcome = run_both(&spec);
        all_finished(&outcome);
        flow_column(&outcome, "fct_ps").iter().sum::<u64>() as f64 / outcome.records.len() as f64 / 1e6
    };
    let slow = || json!([{"leaf": 0, "spine": 2, "rate_gbps": 1}]);
    let (even, hula, ecmp) = (mean_fct("hula", json!([])), mean_fct("hula", slow()), mean_fct("ecmp", slow()));
    println!("mean FCT {even:.0} us with all links whole, {hula:.0} us with one at a tenth; ECMP {ecmp:.0} us");
    assert!(hula < 0.7 * ecmp, "{hula} against {ecmp}");
}

#[test]
fn between_two_probes_all_new_flows_herd_to_one_uplink() {
    // Twelve flows of one window each within 12 us: no probe can warn the later ones of the earlier.
    let burst = |scheme: &str| {
        let list: Vec<Value> = (0..12).map(|n| flow(n, 16 + n, 10_000, 5_000_000 + 1_000 * u64::from(n))).collect();
        let outcome = run_both(&leaf_spine(2, 4, scheme, json!([{"kind": "flows", "list": list}])));
        assert_eq!(outcome.report["finished"], 12);
        let own = if scheme == "hula" { INTERVALS } else { 0 };
        let packets: Vec<u64> = uplinks(&outcome, 4).iter().map(|packets| packets - own).collect();
        (packets.iter().filter(|&&packets| packets > 0).count(), *packets.iter().max().expect("uplinks"))
    };
    let ((used, most), (hashed, _)) = (burst("hula"), burst("ecmp"));
    assert_eq!((used, most), (1, 12 * 7), "all packets of all flows on one uplink");
    assert!(hashed >= 3, "{hashed} uplinks under ECMP");
}
