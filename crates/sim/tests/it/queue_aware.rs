//! Schemes that read their own queues, and WCMP, in whole runs: QDAPS keeps order where queueing at its own switch is
//! the only difference, DRILL queues no more than random spraying, WCMP loads links by the capacity behind them.

use crate::common::{counter, events, merged, of_link, run, run_with, series, total};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;

/// Poisson arrivals between racks of a leaf-spine whose links all have `gbps`, and a buffer that drops nothing.
fn fabric(leaves: u32, gbps: f64, seed: u64, scheme: Value) -> Value {
    json!({
        "seed": seed, "scheme": scheme,
        "topology": {"leaves": leaves, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": gbps,
                     "fabric_rate_gbps": gbps, "host_delay_ns": 1000, "fabric_delay_ns": 2000},
        "switch": {"buffer_bytes": 100_000_000, "ecn_threshold_packets": 65},
        "transport": {"kind": "dctcp", "min_rto_us": 50_000, "initial_rto_us": 50_000, "dupack_threshold": 0},
        "traffic": [{"kind": "poisson", "cdf": "ali_storage", "load": 0.7, "duration_us": 3000 },
                    {"kind": "flows", "list": [crate::common::flow(0, 4, 1_000_000, 0), crate::common::flow(1, 5, 999_999, 0),
                        crate::common::flow(2, 6, 400_001, 5000), crate::common::flow(4, 0, 700_000, 9000), crate::common::flow(3, 6, 1_461, 0)]}],
        "run": {"until_us": 500_000},
    })
}

fn qdaps() -> Value {
    json!({"name": "qdaps", "params": {"reroute_delay_us": 1e9}})
}

fn out_of_order(outcome: &Outcome) -> u64 {
    assert_eq!(outcome.report["finished"], outcome.report["flows"]);
    assert_eq!(counter(outcome, "dropped", "packets"), 0, "losses would be out of order too");
    assert_eq!(total(outcome, |record| record.retransmits), 0);
    total(outcome, |record| record.out_of_order)
}

#[test]
fn qdaps_keeps_order_where_queueing_at_its_switch_is_the_only_difference() {
    for gbps in [10.0, 3.0] {
        for seed in 1..=3 {
            let spec = fabric(2, gbps, seed, qdaps());
            let outcome = run(&spec);
            let sprayed = out_of_order(&run(&fabric(2, gbps, seed, json!({"name": "rps"}))));
            assert_eq!(out_of_order(&outcome), 0, "{gbps} Gbps, seed {seed}; by chance {sprayed} are");
            assert!(sprayed > 200, "{gbps} Gbps, seed {seed}: {sprayed} packets out of order are no contrast");
            // It does spray: no spine is idle, none has half of everything.
            let packets: Vec<u64> =
                (0..4).map(|spine| of_link(&outcome, &format!("leaf0->spine{spine}"), "packets")).collect();
            let all: u64 = packets.iter().sum();
            assert!(packets.iter().all(|n| n * 10 > all && n * 2 < all), "{packets:?}");
        }
    }
}

#[test]
fn the_parts_of_its_order_are_all_needed() {
    // A packet shorter than the previous one passes it where the paths meet again, if only this switch is considered.
    let spec = |merge_hops: u32, seed: u64| {
        let params = json!({"reroute_delay_us": 1e9, "merge_hops": merge_hops});
        fabric(2, 10.0, seed, json!({"name": "qdaps", "params": params}))
    };
    let by_hops = |hops: u32| -> u64 { (1..=4).map(|seed| out_of_order(&run(&spec(hops, seed)))).sum() };
    assert!(by_hops(1) > 0, "short last packets stay behind by themselves: the second place is not tested");
    assert_eq!((by_hops(2), by_hops(4)), (0, 0), "more hops than there are is safe");
}

#[test]
fn with_more_leaves_or_unequal_delays_qdaps_reorders_but_less_than_chance() {
    let unequal = json!({"topology": {"override": [{"spine": 0, "delay_ns": 40_000}]}});
    for (what, leaves, change) in [("four leaves", 4, json!({})), ("unequal delays", 2, unequal)] {
        let of = |scheme: Value| -> u64 {
            (1..=3).map(|seed| out_of_order(&run(&merged(&fabric(leaves, 10.0, seed, scheme.clone()), &change)))).sum()
        };
        let (kept, sprayed) = (of(qdaps()), of(json!({"name": "rps"})));
        println!("{what}: {kept} out of order under QDAPS, {sprayed} under random spraying");
        assert!(kept > 0 && kept < sprayed, "{what}: {kept} against {sprayed}");
    }
}

#[test]
fn long_flows_leave_their_order_only_where_that_is_told_to_pay() {
    let spec = |after: f64, delay_us: f64| {
        let params = json!({"reroute_after_bytes": after, "reroute_delay_us": delay_us});
        fabric(2, 10.0, 1, json!({"name": "qdaps", "params": params}))
    };
    assert_eq!(out_of_order(&run(&spec(1e15, 0.0))), 0, "no flow is so long");
    assert!(out_of_order(&run(&spec(0.0, 0.0))) > 0);
    assert_eq!(out_of_order(&run(&spec(0.0, 1e6))), 0, "no queue is so long");
}

/// The delay of a queue is reported alike by ports that know it and by ports that count what waits.
#[test]
fn queueing_delays_do_not_depend_on_the_kind_of_port_or_engine() {
    for gbps in [10.0, 3.0] {
        for rules in ["departures", "released"] {
            let spec = fabric(3, gbps, 5, json!({"name": "qdaps", "params": {"rules": rules}}));
            let hash = run(&spec).hash;
            for tuning in [Tuning { commit_at_start: true, ..Tuning::default() }, events()] {
                assert_eq!(run_with(&spec, tuning).hash, hash, "{gbps} Gbps, {rules}, {tuning:?}");
            }
        }
    }
}

/// Order by packets waiting is weaker than by departure times, and lost where every queue is too long.
#[test]
fn by_the_released_rules_order_is_kept_less_than_by_ours_and_better_than_by_chance() {
    let released =
        |above: u32| json!({"name": "qdaps", "params": {"rules": "released", "reroute_above_packets": above}});
    let of =
        |scheme: Value| -> u64 { (1..=3).map(|seed| out_of_order(&run(&fabric(2, 10.0, seed, scheme.clone())))).sum() };
    let (never, always, chance) = (of(released(1_000_000)), of(released(0)), of(json!({"name": "rps"})));
    println!("{never} out of order under the released rules, {always} if every queue is too long, {chance} by chance");
    assert!(0 < never && never < always && always < chance, "{never} {always} {chance}");
}

/// Mean of the queues at all links from leaves to spines, in bytes, sampled while traffic lasts.
fn mean_uplink_queue(outcome: &Outcome) -> f64 {
    let points = series(outcome, "link_queue_bytes");
    let up: Vec<f64> =
        points.iter().filter(|(_, who, _)| who.starts_with("leaf")).map(|(_, _, bytes)| *bytes).collect();
    assert!(up.len() > 1000, "{}", up.len());
    up.iter().sum::<f64>() / up.len() as f64
}

#[test]
fn drill_queues_no_more_than_random_spraying_on_the_same_arrivals() {
    let spec = |seed: u64, scheme: &Value| {
        // Nothing reacts to anything, so the arrivals at a leaf are the same under every scheme.
        let udp = |host: u32| {
            json!({"kind": "udp", "src": host, "dst": (host + 4) % 16,
                   "packet_bytes": 1000 + 100 * ((host as u64 + seed) % 6),
                   "schedule": [{"at_us": host as f64 * 0.37 + seed as f64 * 0.11, "rate_gbps": 7.0 + (host % 4) as f64 * 0.7}]})
        };
        merged(
            &fabric(4, 10.0, seed, scheme.clone()),
            &json!({"traffic": (0..16).map(udp).collect::<Vec<_>>(), "run": {"stop": "time", "until_us": 1000},
                    "metrics": {"series_interval_us": 5}}),
        )
    };
    const SEEDS: u64 = 8;
    for scheme in [
        json!({"name": "drill"}),
        json!({"name": "drill", "params": {"memory": "engine"}}),
        json!({"name": "drill", "params": {"memory": "port"}}),
        json!({"name": "drill", "params": {"d": 1, "m": 1}}),
        qdaps(),
    ] {
        let less: Vec<f64> = (1..=SEEDS)
            .map(|seed| {
                let (ours, chance) = (run(&spec(seed, &scheme)), run(&spec(seed, &json!({"name": "rps"}))));
                assert_eq!(ours.report["traffic_hash"], chance.report["traffic_hash"]);
                mean_uplink_queue(&ours) - mean_uplink_queue(&chance)
            })
            .collect();
        let mean = less.iter().sum::<f64>() / SEEDS as f64;
        let variance = less.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (SEEDS - 1) as f64;
        // Student's t for 7 degrees of freedom, 99 %.
        let half = 3.499 * (variance / SEEDS as f64).sqrt();
        println!("{scheme}: {mean:.0} ± {half:.0} bytes against random spraying");
        assert!(mean + half < 0.0, "{scheme}: {mean} ± {half} bytes more than random spraying");
    }
}

#[test]
fn wcmp_is_ecmp_where_all_is_alike() {
    let of = |name: &str| {
        let outcome = run(&fabric(4, 10.0, 2, json!({"name": name})));
        outcome.records.iter().map(|record| (record.fct, record.packets)).collect::<Vec<_>>()
    };
    assert_eq!(of("wcmp"), of("ecmp"));
}

#[test]
fn wcmp_loads_links_by_what_is_behind_them() {
    // Towards leaf 1 spine 0 has a slow link, and so has leaf 0 itself to spine 1: shares 1 : 2 : 10 : 10.
    let slow = json!([{"leaf": 1, "spine": 0, "rate_gbps": 1}, {"leaf": 0, "spine": 1, "rate_gbps": 2}]);
    let flows: Vec<Value> =
        (0..2_300).map(|n: u32| crate::common::flow(n % 4, 4 + n / 4 % 4, 1_000, u64::from(n) * 2_000)).collect();
    let spec = |scheme: Value| {
        json!({"topology": {"leaves": 3, "spines": 4, "hosts_per_leaf": 4, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                            "override": slow},
               "scheme": scheme, "traffic": [{"kind": "flows", "list": flows}]})
    };
    let shares = |scheme: Value| -> Vec<u64> {
        let outcome = run(&spec(scheme));
        (0..4).map(|spine| of_link(&outcome, &format!("leaf0->spine{spine}"), "packets")).collect()
    };
    for (params, expected) in [
        (json!({}), [100.0, 200.0, 1000.0, 1000.0]),
        // The only one of all groups of at most 4 entries: one for each.
        (json!({"table_entries": 4}), [575.0; 4]),
        // 1 : 1 : 5 : 5, which gives the slowest twice 1/12 for 1/23.
        (
            json!({"max_oversubscription": 2.0}),
            [2300.0 / 12.0, 2300.0 / 12.0, 2300.0 * 5.0 / 12.0, 2300.0 * 5.0 / 12.0],
        ),
    ] {
        let found = shares(json!({"name": "wcmp", "params": params}));
        assert_eq!(found.iter().sum::<u64>(), 2_300);
        for (found, expected) in found.iter().zip(expected as [f64; 4]) {
            // Five standard deviations of a binomial.
            let spread = 5.0 * (expected * (1.0 - expected / 2300.0)).sqrt();
            assert!((*found as f64 - expected).abs() < spread, "{params}: {found}, not {expected:.0}");
        }
    }
}

#[test]
fn parameters_out_of_place_are_refused_by_name() {
    for (scheme, key) in [
        (json!({"name": "wcmp", "params": {"table_entries": 3}}), "table_entries"),
        (json!({"name": "wcmp", "params": {"table_entries": 0}}), "table_entries"),
        (json!({"name": "wcmp", "params": {"max_oversubscription": 0.5}}), "max_oversubscription"),
        (json!({"name": "qdaps", "params": {"merge_hops": 0}}), "merge_hops"),
        (json!({"name": "qdaps", "params": {"reroute_above_packets": -1}}), "reroute_above_packets"),
        (json!({"name": "qdaps", "params": {"rules": "printed"}}), "rules"),
        (json!({"name": "qdaps", "params": {"reroute_delay_us": -1}}), "reroute_delay_us"),
        (json!({"name": "qdaps", "params": {"flow_idle_us": 0}}), "flow_idle_us"),
        (json!({"name": "drill", "params": {"memory": "leaf"}}), "memory"),
    ] {
        let error = spinewise_sim::spec::resolve(&fabric(2, 10.0, 1, scheme)).expect_err(key);
        assert_eq!(error.key, format!("scheme.params.{key}"), "{error}");
        assert!(!error.allowed.is_empty() && !error.value.is_empty(), "{error}");
    }
}
