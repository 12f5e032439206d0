//! Hedera in whole runs: large flows leave each other's paths, the cost of polling for them, and flows it leaves alone.

use crate::common::{all_finished, counter, flow, flow_column, merged, of_link, run_both, series};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;

/// Period of the control loop.
const INTERVAL_US: u64 = 1_000;

/// A leaf-spine of `spines` paths, 4 hosts per leaf, under Hedera or another scheme.
fn leaf_spine(leaves: u32, spines: u32, scheme: &str, list: Vec<Value>) -> Value {
    let mut spec = json!({
        "topology": {"leaves": leaves, "spines": spines, "hosts_per_leaf": 4, "host_rate_gbps": 10,
                     "fabric_rate_gbps": 10, "host_delay_ns": 500, "fabric_delay_ns": 500},
        "scheme": {"name": scheme}, "traffic": [{"kind": "flows", "list": list}],
    });
    if scheme == "hedera" {
        spec["scheme"]["params"] = json!({"interval_ms": INTERVAL_US as f64 / 1e3});
    }
    spec
}

/// Flows from each host of the first rack to its counterpart in the second.
fn pairs(size: u64) -> Vec<Value> {
    (0..4).map(|host| flow(host, 4 + host, size, 1_000 * u64::from(host))).collect()
}

fn slowest_us(outcome: &Outcome) -> f64 {
    all_finished(outcome);
    flow_column(outcome, "fct_ps").into_iter().max().unwrap_or(0) as f64 / 1e6
}

#[test]
fn four_flows_get_four_paths() {
    let size = 20_000_000;
    let seeds = (1..=20).map(|seed| json!({"seed": seed}));
    let run = |scheme: &str, seed: &Value| run_both(&merged(&leaf_spine(2, 4, scheme, pairs(size)), seed));
    // Hashing gives each of them a path of its own once in 10.7 times.
    let mut collided = 0;
    for seed in seeds {
        let (ecmp, hedera) = (slowest_us(&run("ecmp", &seed)), run("hedera", &seed));
        let found = slowest_us(&hedera);
        if ecmp > 30_000.0 {
            collided += 1;
            // 16.5 ms at the full rate; two polls may pass before all have been large for an interval.
            assert!(found < 22_000.0 && found < 0.7 * ecmp, "{seed}: {found} us, ECMP {ecmp} us");
        }
        let placed: Vec<f64> = series(&hedera, "hedera.placed").iter().map(|point| point.2).collect();
        assert!(placed.contains(&4.0), "{seed}: {placed:?}");
    }
    assert!(collided >= 12, "{collided} of 20 are no contrast");
}

#[test]
fn a_flow_that_fits_nowhere_stays_with_its_hash() {
    // Three flows, two paths: the demand of each is a whole link.
    let mut list = pairs(20_000_000);
    list.truncate(3);
    let outcome = run_both(&leaf_spine(2, 2, "hedera", list));
    all_finished(&outcome);
    let most = |name: &str| series(&outcome, name).iter().map(|point| point.2).fold(0.0, f64::max);
    assert_eq!((most("hedera.elephants"), most("hedera.placed")), (3.0, 2.0));
}

#[test]
fn no_large_flow_is_given_a_path_that_is_too_slow_for_it() {
    let slow = json!({"topology": {"override": [{"leaf": 0, "spine": 1, "rate_gbps": 1}]}});
    let spec = merged(&leaf_spine(2, 4, "hedera", pairs(20_000_000)), &slow);
    let outcome = run_both(&spec);
    let most = |name: &str| series(&outcome, name).iter().map(|point| point.2).fold(0.0, f64::max);
    assert_eq!((most("hedera.elephants"), most("hedera.placed")), (4.0, 3.0));
    all_finished(&outcome);
}

#[test]
fn receivers_limit_what_is_reserved() {
    // Four senders of four racks to one host: a quarter of a link each, so that one path would do, and one is taken.
    let list: Vec<Value> = (0..4).map(|n| flow(4 * n, 16, 10_000_000, 1_000 * u64::from(n))).collect();
    let outcome = run_both(&leaf_spine(5, 4, "hedera", list));
    all_finished(&outcome);
    let down: Vec<u64> = (0..4).map(|spine| of_link(&outcome, &format!("spine{spine}->leaf4"), "bytes")).collect();
    assert!(down[0] as f64 > 0.9 * down.iter().sum::<u64>() as f64, "first fit fills the first path: {down:?}");
}

#[test]
fn small_flows_are_hashed_and_the_loop_costs_its_packets() {
    // 100 KB in an interval are 0.8 Gbps, below a tenth of 10.
    let list: Vec<Value> = (0..40u32).map(|n| flow(n % 4, 4 + n % 4, 20_000, 400_000 * u64::from(n))).collect();
    let [hedera, ecmp] = ["hedera", "ecmp"].map(|scheme| {
        let change = json!({"run": {"stop": "time", "until_us": 20 * INTERVAL_US + 500}});
        run_both(&merged(&leaf_spine(3, 4, scheme, list.clone()), &change))
    });
    assert!(series(&hedera, "hedera.elephants").iter().all(|point| point.2 == 0.0));
    // Every interval two leaves are polled and answer: 62 and 66 bytes.
    assert_eq!(counter(&hedera, "messages", "packets"), 20 * 2 * 2);
    assert_eq!(counter(&hedera, "messages", "bytes"), 20 * 2 * (62 + 66));
    for leaf in 0..3 {
        for spine in 0..4 {
            let name = format!("leaf{leaf}->spine{spine}");
            let more = of_link(&hedera, &name, "bytes") - of_link(&ecmp, &name, "bytes");
            assert!(more <= 20 * 2 * 66, "{name}: {more} bytes more");
        }
    }
}

#[test]
fn a_report_that_is_late_holds_up_nobody() {
    // Two flows of the controller's rack, two of another, whose report takes longer than the controller waits.
    let mut list = pairs(20_000_000);
    list.truncate(2);
    list.extend([flow(4, 8, 20_000_000, 0), flow(5, 9, 20_000_000, 0)]);
    let late = json!({"scheme": {"params": {"report_timeout_us": 1.0}}});
    let outcome = run_both(&merged(&leaf_spine(3, 4, "hedera", list), &late));
    all_finished(&outcome);
    let placed: Vec<f64> = series(&outcome, "hedera.placed").iter().map(|point| point.2).collect();
    assert!(placed.contains(&2.0) && placed.contains(&4.0), "those at hand first, then all: {placed:?}");
}
