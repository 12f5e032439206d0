//! Hermes and FlowBender in whole runs: better than ECMP where paths differ, away from paths that swallow packets, and
//! clear messages about impossible settings.

use crate::common::{counter, flow, flow_column, merged, run, series, total};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;

/// Web search at load 0.6 between four racks of eight hosts; of two racks one of four uplinks has a tenth of its rate.
fn asymmetric(scheme: Value, seed: u32) -> Value {
    json!({
        "seed": seed,
        "topology": {"leaves": 4, "spines": 4, "hosts_per_leaf": 8, "host_rate_gbps": 10, "fabric_rate_gbps": 20,
                     "host_delay_ns": 10_000, "fabric_delay_ns": 10_000,
                     "override": [{"leaf": 0, "spine": 0, "rate_gbps": 2}, {"leaf": 2, "spine": 1, "rate_gbps": 2}]},
        "scheme": scheme,
        "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.6, "duration_us": 10_000}],
    })
}

/// The 99th percentile of completion times, in the form of reports.
fn p99(outcome: &Outcome) -> f64 {
    assert_eq!(outcome.report["finished"], outcome.report["flows"]);
    let mut times = flow_column(outcome, "fct_ps");
    times.sort_unstable();
    times[times.len() * 99 / 100] as f64
}

/// Student's t at 97.5 % for five degrees of freedom: six seeds.
const T: f64 = 2.571;

#[test]
fn both_beat_the_tail_of_ecmp_where_paths_differ() {
    let seeds = 1..=6;
    let ecmp: Vec<f64> = seeds.clone().map(|seed| p99(&run(&asymmetric(json!({"name": "ecmp"}), seed)))).collect();
    for scheme in [
        json!({"name": "hermes"}),
        json!({"name": "hermes", "params": {"compat": "ns3"}}),
        json!({"name": "flowbender"}),
        json!({"name": "flowbender", "path_tag": "inner"}),
    ] {
        let mut moved = 0;
        let ratios: Vec<f64> = seeds
            .clone()
            .zip(&ecmp)
            .map(|(seed, ecmp)| {
                let outcome = run(&asymmetric(scheme.clone(), seed));
                moved += total(&outcome, |record| record.path_changes);
                (p99(&outcome) / ecmp).ln()
            })
            .collect();
        let n = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / n;
        let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let reach = T * (variance / n).sqrt();
        println!(
            "{scheme}: {:.2} ({:.2} to {:.2}), {moved} moves",
            mean.exp(),
            (mean - reach).exp(),
            (mean + reach).exp()
        );
        assert!(mean + reach < 0.0, "{scheme}: {mean} +- {reach} in logarithms");
        assert!(moved > 0, "{scheme}");
    }
}

/// Forty flows from rack 0 to rack 1, one after another, over four spines, of which spine 0 takes 120 ms to let a
/// packet through: to a host, a path that swallows its packets.
fn blackhole(scheme: Value) -> Value {
    let flows: Vec<Value> = (0..40).map(|i| flow(i % 8, 8 + i % 8, 300_000, 800_000 * u64::from(i))).collect();
    json!({
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 8, "host_delay_ns": 10_000, "fabric_delay_ns": 10_000,
                     "override": [{"leaf": 0, "spine": 0, "direction": "up", "rate_gbps": 0.0001}]},
        "scheme": scheme,
        "traffic": [{"kind": "flows", "list": flows}],
        "run": {"until_us": 2_000_000},
        "metrics": {"series_interval_us": 1000},
    })
}

#[test]
fn a_path_that_swallows_packets_is_left_and_avoided() {
    let ecmp = run(&blackhole(json!({"name": "ecmp"})));
    assert!(ecmp.report["finished"].as_u64() < Some(40), "ECMP's flows are stuck: {}", ecmp.report["finished"]);
    let mut met = 0;
    // The agent with probes knows before most flows ask; without, each host learns separately; FlowBender never learns,
    // but a timeout moves a flow.
    for (scheme, most) in [
        (json!({"name": "hermes"}), 1),
        (json!({"name": "hermes", "params": {"probing": false}}), 8),
        (json!({"name": "flowbender"}), 16),
        (json!({"name": "flowbender", "path_tag": "inner"}), 16),
    ] {
        let outcome = run(&blackhole(scheme.clone()));
        assert_eq!(outcome.report["finished"], 40, "{scheme}");
        let timeouts = total(&outcome, |record| u32::from(record.timeouts > 0));
        println!("{scheme}: {timeouts} of 40 flows met a timeout");
        assert!(timeouts <= most, "{scheme}: {timeouts} of 40 flows met a timeout");
        met += timeouts;
    }
    assert!(met > 4, "some had to try");
    // All hosts of the rack learn of it from the agent's lost probes, 10 ms each, three in a row.
    let outcome = run(&blackhole(json!({"name": "hermes"})));
    let mut failed = series(&outcome, "hermes.failed");
    // Answers to the other rack's probes are swallowed there too.
    failed.retain(|point| (0..8).any(|host| point.1 == format!("host{host}")));
    assert!(failed.len() == 8 && failed.iter().all(|point| point.2 == 0.0), "{failed:?}");
    let agent = failed[0].0;
    assert!(failed[0].1 == "host0" && (10_000_000_000..15_000_000_000).contains(&agent), "{failed:?}");
    assert!(failed[1..].iter().all(|point| point.0 > agent + 20_000_000), "news takes its time: {failed:?}");
}

#[test]
fn probes_and_their_news_take_bandwidth_and_time() {
    let spec = asymmetric(json!({"name": "hermes"}), 1);
    let outcome = run(&spec);
    let (probes, messages) = (counter(&outcome, "probes", "packets"), counter(&outcome, "messages", "packets"));
    let rounds = outcome.report["stop_ps"].as_u64().expect("an instant") as f64 / 500e6;
    // Four agents; three racks; three probes and their answers. Seven other hosts in each rack.
    let per_round = probes as f64 / rounds / 4.0;
    assert!((17.0..=18.01).contains(&per_round), "{per_round} probes and answers of an agent in a round");
    let told = messages as f64 / rounds / 4.0;
    assert!((6.5..=15.0).contains(&told), "{told} messages of an agent in a round");
    assert_eq!(counter(&outcome, "probes", "bytes"), 64 * probes);
    let silent = run(&merged(&spec, &json!({"scheme": {"params": {"probing": false}}})));
    assert_eq!(counter(&silent, "probes", "packets") + counter(&silent, "messages", "packets"), 0);
}

#[test]
fn odd_fabrics_are_served() {
    let flows = |to: u32| json!([{"kind": "flows", "list": [flow(0, to, 200_000, 0), flow(to, 0, 200_000, 0)]}]);
    for (leaves, spines, hosts) in [(2, 4, 1), (3, 1, 2), (2, 1, 1)] {
        for name in ["hermes", "flowbender"] {
            for compat in ["paper", "ns3"].iter().take(if name == "hermes" { 2 } else { 1 }) {
                let params = if name == "hermes" { json!({"compat": compat}) } else { json!({}) };
                let outcome = run(&json!({
                    "topology": {"leaves": leaves, "spines": spines, "hosts_per_leaf": hosts},
                    "scheme": {"name": name, "params": params}, "traffic": flows(leaves * hosts - 1),
                }));
                assert_eq!(outcome.report["finished"], 2, "{name} {compat}, {leaves} x {spines} x {hosts}");
                if hosts == 1 {
                    assert_eq!(counter(&outcome, "messages", "packets"), 0, "nobody to tell");
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    for (scheme, key, expected) in [
        (json!({"name": "hermes", "params": {"probe_interval_us": 0}}), "scheme.params.probe_interval_us", "from 1"),
        (json!({"name": "hermes", "params": {"probe_random": 4}}), "scheme.params.probe_random", "from 1 to 3"),
        (json!({"name": "hermes", "params": {"t_ecn": 1.5}}), "scheme.params.t_ecn", "from 0 to 1"),
        (json!({"name": "hermes", "params": {"compat": "ns2"}}), "scheme.params.compat", "\"ns3\""),
        (json!({"name": "hermes", "path_tag": "outer"}), "scheme.path_tag", "\"explicit\""),
        (json!({"name": "flowbender", "params": {"values": 5}}), "scheme.params.values", "from 0 to 4"),
        (json!({"name": "flowbender", "params": {"n": 0}}), "scheme.params.n", "from 1"),
    ] {
        let error = spinewise_sim::spec::resolve(&asymmetric(scheme.clone(), 1)).expect_err("it cannot be");
        assert_eq!(error.key, key, "{scheme}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let preset = json!({"preset": "ns3-hermes", "scheme": {"name": "hermes"}});
    let spec = crate::common::resolved(&merged(&asymmetric(json!({}), 1), &preset));
    let params = spec.scheme.chosen().params();
    let value = |key: &str| params.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    assert_eq!(value("compat"), Some(spinewise_policy::Value::Word("ns3")), "that preset is the public code");
    // Its README: T_RTT_low 60 = 20 + 40 µs, T_RTT_high 180.
    let us = ["base_us", "t_rtt_low_us", "t_rtt_high_us"].map(value);
    assert_eq!(us, [40.0, 20.0, 140.0].map(|us| Some(spinewise_policy::Value::Number(us))));
}
