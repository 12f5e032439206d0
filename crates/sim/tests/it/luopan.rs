//! Luopan in whole runs: how many samples there are, which paths they avoid, and that cells go where samples went.

use crate::common::{all_finished, counter, flow, flow_column, of_link, run_both, total, udp};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;

fn leaf_spine(leaves: u32, scheme: Value, traffic: Value) -> Value {
    json!({
        "topology": {"leaves": leaves, "spines": 4, "hosts_per_leaf": 8, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                     "host_delay_ns": 500, "fabric_delay_ns": 500},
        "scheme": scheme, "traffic": traffic, "run": {"stop": "time", "until_us": 10_000},
    })
}

fn luopan(params: Value) -> Value {
    json!({"name": "luopan", "params": params})
}

fn uplinks(outcome: &Outcome, leaf: u32) -> Vec<u64> {
    (0..4).map(|spine| of_link(outcome, &format!("leaf{leaf}->spine{spine}"), "packets")).collect()
}

#[test]
fn samples_go_to_leaves_that_were_sent_to_two_a_period_and_are_answered() {
    let once = json!([{"kind": "udp", "src": 0, "dst": 8, "size_bytes": 100, "schedule": [{"rate_gbps": 1}]},
                      {"kind": "udp", "src": 0, "dst": 16, "size_bytes": 100, "schedule": [{"rate_gbps": 1}]}]);
    for samples in [1u64, 2, 3] {
        let outcome = run_both(&leaf_spine(4, luopan(json!({"samples": samples})), once.clone()));
        // 100 periods, two leaves; two hops there, and one packet back.
        let (sent, expected) = (counter(&outcome, "messages", "packets"), 100 * 2 * samples * 3);
        assert!(sent.abs_diff(expected) <= 2 * samples * 3, "{sent}, not {expected}");
        let ups: u64 = uplinks(&outcome, 0).iter().sum();
        assert!(ups.abs_diff(100 * 2 * samples + 2) <= 2 * samples, "{ups}");
        assert_eq!(uplinks(&outcome, 3), [0; 4], "nothing was sent from or to leaf 3");
    }
}

#[test]
fn cells_avoid_a_path_that_is_full_beyond_its_first_link() {
    // Leaf 2 has one uplink, to spine 1, which brings 20 Gbps for a link of 10 on to leaf 1: packets that leaf 0 sends
    // there through spine 1 wait or are lost, though no uplink of leaf 0 has a queue.
    let late = |params: Value| {
        let list = (0..120).map(|n| flow(n % 8, 8 + n % 7, 10_000, 1_000_000 + 60_000 * u64::from(n)));
        let traffic =
            json!([udp(16, 15, 10.0), udp(17, 15, 10.0), {"kind": "flows", "list": list.collect::<Vec<_>>()}]);
        let mut spec = leaf_spine(3, luopan(params), traffic);
        let down = |spine: u32| json!({"leaf": 2, "spine": spine, "up": false});
        spec["topology"]["override"] = json!([down(0), down(2), down(3), {"leaf": 2, "spine": 1, "rate_gbps": 40}]);
        spec["switch"] = json!({"buffer_bytes": 300_000});
        let outcome = run_both(&spec);
        // A flow that never ended has no time.
        let fct = flow_column(&outcome, "fct_ps");
        fct[2..].iter().filter(|&&fct| fct == 0 || fct > 150_000_000).count()
    };
    // Two of four uplinks a period: some answer does not come by spine 1. In the other run no period ever ends.
    let (sampled, random) = (late(json!({"period_us": 20})), late(json!({"period_us": 1e6})));
    println!("{sampled} of 120 flows are late with samples, {random} without");
    assert!(sampled <= 1 && random >= 20, "{sampled} and {random}");
}

#[test]
fn in_a_fat_tree_cells_take_the_whole_path_that_was_sampled() {
    // A flow that is one cell crosses one core, and its packets stay in order; one of 46 cells crosses more.
    let spec = |cell_bytes: f64, period_us: f64| {
        json!({
            "topology": {"kind": "fat_tree", "k": 4},
            "scheme": luopan(json!({"cell_bytes": cell_bytes, "period_us": period_us})),
            "traffic": [{"kind": "flows", "list": [flow(0, 15, 3_000_000, 0)]}],
        })
    };
    // Links from pod 0 up to cores that carry data; acknowledgements come down.
    let cores = |outcome: &Outcome| {
        let up = |aggregation: u32| (0..2).map(move |n| (aggregation, 2 * aggregation + n));
        let name = |(aggregation, core)| format!("aggregation{aggregation}->core{core}");
        (0..2).flat_map(up).filter(|&link| of_link(outcome, &name(link), "bytes") > 30_000).count()
    };
    let lone = run_both(&spec(1e12, 100.0));
    all_finished(&lone);
    assert_eq!((cores(&lone), total(&lone, |record| record.out_of_order)), (1, 0));
    let cells = run_both(&spec(65_536.0, 100.0));
    all_finished(&cells);
    assert!(cores(&cells) > 1);
}
