//! Bounds of a run from outside: its end, the memory, and its caller.
#![allow(clippy::disallowed_methods)] // how long a caller waits is wall time; it decides no result

use crate::common::{flow, merged, resolved, run};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::{Failure, Setup, Tuning, simulate};
use spinewise_sim::spec::resolve;
use std::time::{Duration, Instant};

/// A small fabric with this traffic until this instant.
fn until(traffic: Value, until_us: f64) -> Value {
    json!({
        "topology": {"leaves": 4, "spines": 4, "hosts_per_leaf": 4},
        "traffic": traffic,
        "run": {"until_us": until_us},
    })
}

/// The refused key and the allowed value when a run may take this many bytes.
fn refused(spec: &Value, memory: u64) -> (String, String) {
    let tuning = Tuning { memory: Some(memory), ..Tuning::default() };
    match simulate(&resolved(spec), tuning, &mut |_| true) {
        Err(Failure::Spec(error)) => (error.key, error.allowed),
        other => panic!("{:?}", other.map(|outcome| outcome.report["flows"].clone())),
    }
}

/// The entries whose flows were left out, according to the warnings.
fn cut(outcome: &Outcome) -> Vec<Value> {
    let warnings = outcome.report["warnings"].as_array().cloned().unwrap_or_default();
    let ours = warnings.into_iter().filter(|warning| warning["code"] == "flows_after_end");
    ours.map(|warning| warning["key"].clone()).collect()
}

#[test]
fn flows_that_would_start_after_the_end_are_not_drawn() {
    let poisson = |change: Value| {
        merged(&json!({"kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 1_000}), &change)
    };
    // The case of the review: 71 minutes of arrivals for 20 ms of run were drawn, and took 1.2 GB.
    let long = run(&until(json!([poisson(json!({"duration_us": 4_294_967_295u32}))]), 1_000.0));
    let short = run(&until(json!([poisson(json!({}))]), 1_000.0));
    assert_eq!(long.specs, short.specs);
    assert_eq!((long.hash, &long.report["loads"]), (short.hash, &short.report["loads"]));
    assert_eq!((cut(&long), cut(&short)), (vec![json!("traffic[0]")], vec![]));
    let kinds = [
        (json!({"kind": "permutation", "size_bytes": 1_000, "repeat": 1_000_000, "period_us": 100}), 16 * 2),
        (
            json!({"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 1_000, "repeat": 9, "period_us": 100}),
            3 * 2,
        ),
        (json!({"kind": "rpc", "fan_in": 3, "size_bytes": 1_000, "requests": 9, "period_us": 100}), 3 * 2),
        (json!({"kind": "flows", "list": [flow(0, 9, 1_000, 0), flow(0, 9, 1_000, 150_000)]}), 1),
        (json!({"kind": "all_reduce", "size_bytes": 16_000, "start_us": 150}), 0),
    ];
    for (entry, expected) in kinds {
        let outcome = run(&until(json!([entry]), 150.0));
        assert_eq!(outcome.specs.len(), expected, "{entry}");
        assert_eq!(cut(&outcome), [json!("traffic[0]")], "{entry}");
    }
    let bursts = run(&until(json!([{"kind": "on_off", "flows": 100_000_000, "arrivals_per_second": 1e5}]), 2_000.0));
    assert!((50..200).contains(&bursts.specs.len()), "{}", bursts.specs.len());
}

#[test]
fn what_starts_before_the_end_is_left_alone() {
    let entry = json!({"kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 400});
    let (short, long) = (run(&until(json!([entry]), 500.0)), run(&until(json!([entry]), 100_000.0)));
    assert_eq!(short.specs, long.specs);
    assert_eq!((cut(&short), &short.report["loads"]), (vec![], &long.report["loads"]));
}

#[test]
fn more_flows_than_fit_are_refused_before_they_are_drawn() {
    let poisson = json!({"kind": "poisson", "cdf": "web_search", "load": 1.0, "max_flows": 100_000_000});
    let kinds = [
        (poisson, "max_flows"),
        (json!({"kind": "poisson", "cdf": "web_search", "load": 1.0, "duration_us": 1e9}), "duration_us"),
        (json!({"kind": "permutation", "size_bytes": 1_000, "repeat": 1_000_000}), "repeat"),
        (json!({"kind": "incast", "receiver": 0, "senders": 9, "size_bytes": 1_000, "repeat": 1_000_000}), "repeat"),
        (json!({"kind": "rpc", "fan_in": 9, "size_bytes": 1_000, "requests": 1_000_000, "period_us": 1}), "requests"),
        (json!({"kind": "all_reduce", "size_bytes": 16_000, "rounds": 100_000}), "rounds"),
        (json!({"kind": "on_off", "flows": 10_000_000}), "flows"),
        (json!({"kind": "flows", "list": [flow(0, 9, 1_000, 0)], "rounds": 10_000_000}), "rounds"),
    ];
    for (entry, key) in kinds {
        let began = Instant::now();
        let (named, allowed) = refused(&until(json!([entry]), 1e9), 100_000_000);
        assert_eq!(named, format!("traffic[0].{key}"), "{entry}");
        assert!(allowed.contains("which memory has room for; there would be about "), "{allowed}");
        assert!(began.elapsed() < Duration::from_secs(5), "{entry}");
    }
}

#[test]
fn a_fabric_or_series_that_do_not_fit_are_refused_with_the_numbers() {
    let traffic = json!([{"kind": "permutation", "size_bytes": 200_000}]);
    let spec = merged(&until(traffic.clone(), 20_000.0), &json!({"metrics": {"series_interval_us": 1e-6}}));
    let (key, allowed) = refused(&spec, 6_000_000_000);
    assert_eq!(key, "metrics.series_interval_us");
    assert!(
        allowed.contains("64 rows per interval over ") && allowed.ends_with("and 6.0 GB is available"),
        "{allowed}"
    );
    let huge = json!({"topology": {"leaves": 2_048, "spines": 4, "hosts_per_leaf": 128}, "traffic": traffic});
    let (key, allowed) = refused(&huge, 100_000_000);
    assert_eq!(key, "topology");
    assert!(
        allowed.starts_with("a smaller fabric: this one needs about ") && allowed.ends_with("100 MB is available"),
        "{allowed}"
    );
    // It cannot be known in advance that the run lasts so long: it is cut short when its rows have grown too many.
    let late = merged(
        &until(
            json!([{"kind": "permutation", "size_bytes": 1_000}, {"kind": "udp", "src": 0, "dst": 9,
            "schedule": [{"rate_gbps": 1e-6}], "size_bytes": 100_000}]),
            1e9,
        ),
        &json!({"metrics": {"series_interval_us": 0.1}, "run": {"stop": "flows_done"}}),
    );
    let (key, allowed) = refused(&late, 20_000_000);
    assert_eq!(key, "metrics.series_interval_us");
    assert!(allowed.contains("rows of series and no memory for more"), "{allowed}");
}

/// Measures how long it takes to end a set-up that the caller stops at its first look.
fn stopped_after(spec: &Value) -> Duration {
    let spec = resolved(spec);
    let mut asked: Option<Instant> = None;
    let failure = simulate(&spec, Tuning::default(), &mut |_| {
        asked.get_or_insert_with(Instant::now);
        false
    });
    assert_eq!(failure.err(), Some(Failure::Interrupted));
    asked.map_or(Duration::MAX, |asked| asked.elapsed())
}

#[test]
fn set_up_ends_soon_after_it_is_told_to() {
    let traffic = json!([{"kind": "permutation", "size_bytes": 1_000}]);
    let huge = json!({"topology": {"leaves": 1_024, "spines": 4, "hosts_per_leaf": 64}, "traffic": traffic});
    let flows = until(json!([{"kind": "poisson", "cdf": "web_search", "load": 1.0, "duration_us": 3e6}]), 1e9);
    let flap =
        json!({"kind": "flap", "switch": "core0", "at_us": 0, "period_us": 10, "down_us": 5, "until_us": 90_000});
    let faults = json!({"topology": {"kind": "fat_tree", "k": 8}, "traffic": traffic, "fault": [flap],
        "detection": {"mode": "oracle"}, "run": {"until_us": 90_000}});
    for spec in [huge, flows, faults] {
        let took = stopped_after(&spec);
        assert!(took < Duration::from_secs(2), "{took:?}: {spec}");
    }
}

#[test]
fn ticks_and_samples_cannot_fill_a_window_for_ever() {
    // One second on every link: a window as long, and 10⁶ samples of every leaf in it.
    let slow = json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1, "host_delay_ns": 1e9, "fabric_delay_ns": 1e9},
        "scheme": {"name": "luopan", "params": {"period_us": 1}},
        "traffic": [{"kind": "permutation", "size_bytes": 1_000}],
    });
    let mut looks = 0;
    let failure = simulate(&resolved(&slow), Tuning::default(), &mut |at| {
        looks += u32::from(at.now.0 > 0);
        looks < 3
    });
    assert_eq!(failure.err(), Some(Failure::Interrupted));
}

#[test]
fn a_spec_that_fits_is_not_refused() {
    let spec = until(json!([{"kind": "permutation", "size_bytes": 1_000}]), 1e6);
    let tuning = Tuning { memory: Some(100_000_000), ..Tuning::default() };
    assert!(Setup::new(&resolved(&spec), tuning).is_ok());
    assert!(resolve(&spec).is_ok());
}
