//! The report of each entry of the traffic.

use crate::common::{run, run_both};
use serde_json::{Value, json};

/// Long flows all the time, an incast that loses packets at its receiver, and UDP beside them.
fn mixed(metrics: Value) -> Value {
    json!({
        "topology": {"leaves": 3, "spines": 2, "hosts_per_leaf": 8},
        "traffic": [
            {"kind": "poisson", "name": "web", "cdf": "web_search", "load": 0.4, "duration_us": 2_000},
            {"kind": "incast", "receiver": 0, "senders": 15, "size_bytes": 30_000, "start_us": 100,
             "size_classes": [{"name": "answers", "from_bytes": 30_000, "below_bytes": 30_001}]},
            {"kind": "udp", "src": 9, "dst": 20, "schedule": [{"rate_gbps": 0.5}], "size_bytes": 150_000},
            {"kind": "udp", "src": 10, "dst": 21, "schedule": [{"rate_gbps": 0.1}]},
        ],
        "switch": {"buffer_packets": 40},
        "transport": {"initial_window_segments": 30},
        "metrics": metrics,
    })
}

#[test]
fn every_entry_has_its_own_classes_and_sums() {
    let outcome = run_both(&mixed(json!({})));
    let entries = outcome.report["entries"].as_array().unwrap();
    let of = |key: &str| entries.iter().map(|entry| entry[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("name"), ["web", "incast", "udp-2", "udp-3"]);
    assert_eq!(of("kind"), ["poisson", "incast", "udp", "udp"]);
    assert_eq!(of("udp"), [false, false, true, true]);
    let names = |entry: usize| -> Vec<&str> {
        entries[entry]["classes"].as_array().unwrap().iter().map(|class| class["name"].as_str().unwrap()).collect()
    };
    assert_eq!((names(0), names(1)), (vec!["short", "long", "all"], vec!["answers", "all"]));
    for (number, entry) in entries.iter().enumerate() {
        let own = || outcome.specs.iter().zip(&outcome.records).filter(|(flow, _)| usize::from(flow.entry) == number);
        assert_eq!(entry["flows"], own().count());
        assert_eq!(entry["finished"], own().filter(|(_, record)| record.fct > 0).count());
        assert_eq!(entry["totals"]["sent"], own().map(|(_, record)| u64::from(record.packets)).sum::<u64>());
        assert_eq!(entry["totals"]["timeouts"], own().map(|(_, record)| u64::from(record.timeouts)).sum::<u64>());
        let all = entry["classes"].as_array().unwrap().last().unwrap();
        let counted = own().filter(|(flow, _)| flow.size > 0);
        assert_eq!(all["flows"], counted.clone().count());
        let fcts: Vec<f64> = counted.filter(|(_, record)| record.fct > 0).map(|(_, r)| r.fct as f64).collect();
        let mean = fcts.iter().sum::<f64>() / fcts.len() as f64;
        match all["mean_fct_ps"].as_f64() {
            Some(told) => assert!((told / mean - 1.0).abs() < 1e-12, "{told} {mean}"),
            None => assert!(fcts.is_empty()),
        }
    }
    // UDP without an end is in no class; of the others the entries make up the whole.
    assert_eq!(entries[3]["classes"].as_array().unwrap().last().unwrap()["flows"], 0);
    for total in
        ["sent", "retransmits", "spurious_retransmits", "timeouts", "fast_retransmits", "marks", "path_changes"]
    {
        let tcp: u64 = (0..2).map(|entry| entries[entry]["totals"][total].as_u64().unwrap()).sum();
        assert_eq!(outcome.report["totals"][total], tcp, "{total}");
    }
    assert!(entries[1]["totals"]["retransmits"].as_u64() > Some(0), "the incast shall lose packets");
}

#[test]
fn entries_have_histograms_where_rows_are_too_many() {
    let kept = run(&mixed(json!({})));
    let few = run(&mixed(json!({"keep_flows_up_to": 3})));
    assert!(few.flows.is_empty());
    assert_eq!(few.report["entries"], kept.report["entries"]);
    let all = &few.report["entries"][1]["classes"][1];
    let counted: u64 = all["fct_ps_histogram"].as_array().unwrap().iter().map(|bin| bin[1].as_u64().unwrap()).sum();
    assert_eq!(all["finished"], counted);
    assert_eq!(counted, 15);
}

/// The key and the text of the error about one entry on a fabric.
fn refused(topology: Value, entry: Value) -> String {
    let spec = json!({"topology": topology, "traffic": [entry]});
    let error = match spinewise_sim::spec::resolve(&spec) {
        Ok(spec) => spinewise_sim::setup::Setup::new(&spec, spinewise_sim::setup::Tuning::default()).err(),
        Err(error) => Some(error),
    };
    error.unwrap_or_else(|| panic!("{spec} is accepted")).to_string()
}

#[test]
fn requests_with_a_period_say_how_many() {
    let entry = json!({"kind": "rpc", "fan_in": 3, "size_bytes": 20_000, "period_us": 10, "arrivals": "poisson"});
    let told = refused(json!({"leaves": 2, "spines": 2, "hosts_per_leaf": 4}), entry);
    assert!(told.contains("traffic[0].requests") && told.contains("since period_us is given"), "{told}");
}

#[test]
fn a_load_of_uplinks_needs_uplinks() {
    let one = json!({"kind": "links", "hosts": 4, "switches": 1, "links": (0..4).map(|n| json!([n, 4, 10, 1000])).collect::<Vec<_>>()});
    let entry = |of: &str| json!({"kind": "poisson", "cdf": "web_search", "load": 0.5, "pairs": "any", "duration_us": 1000, "load_of": of});
    let told = refused(one.clone(), entry("leaf_uplinks"));
    assert!(told.contains("traffic[0].load_of") && told.contains("host_links"), "{told}");
    let outcome = run(&json!({"topology": one, "traffic": [entry("host_links")]}));
    assert!(!outcome.specs.is_empty());
}

#[test]
fn an_entry_that_sends_nothing_is_told_of() {
    let entry = |load: f64| json!({"kind": "poisson", "cdf": "web_search", "load": load, "duration_us": 500});
    let outcome = run(&json!({"topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 4},
                              "traffic": [entry(0.8), entry(1e-9)]}));
    let warnings = outcome.report["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|one| one["code"] == "no_flows" && one["key"] == "traffic[1].load"), "{warnings:?}");
}
