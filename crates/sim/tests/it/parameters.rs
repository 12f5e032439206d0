//! Bad input to schemes: every parameter of the registry at its ends, one beyond, and of the wrong kind.

use crate::common::{run, without_trimming};
use serde_json::{Value, json};
use spinewise_policy::config::{Allowed, Param};
use spinewise_sim::bank::REGISTRY;
use spinewise_sim::spec::resolve;

/// Racks of one host and of two, two paths; flows that take some microseconds and some hundred.
fn spec(scheme: &str, param: &str, value: Value) -> Value {
    let flow = |src: u32, dst: u32, size: u32| json!({"src": src, "dst": dst, "size_bytes": size, "start_ns": 1000});
    let in_trees = REGISTRY.iter().any(|entry| entry.name() == scheme && entry.in_trees);
    let topology = match in_trees {
        true => json!({"kind": "fat_tree", "k": 4, "host_delay_ns": 1000, "fabric_delay_ns": 1000}),
        false => json!({"leaves": 3, "spines": 2, "hosts_per_leaf": 2, "host_delay_ns": 1000, "fabric_delay_ns": 1000}),
    };
    without_trimming(&json!({
        "topology": topology,
        "scheme": {"name": scheme, "params": {param: value}},
        "traffic": [{"kind": "flows", "list": [flow(0, 2, 1), flow(1, 4, 100_000), flow(3, 0, 40_000)]}],
        "run": {"until_us": 1_000_000},
    }))
}

/// All numeric parameters: scheme, parameter, minimum, maximum, and whether it is whole. Excludes the test schemes,
/// which hold packets for as long as they are told.
fn numbers() -> impl Iterator<Item = (&'static str, &'static Param, f64, f64, bool)> {
    REGISTRY.iter().filter(|entry| !entry.name().starts_with("loopback")).flat_map(|entry| {
        entry.params.iter().filter_map(|param| match param.allowed {
            Allowed::Number { min, max } => Some((entry.name(), param, min, max, false)),
            Allowed::Integer { min, max } => Some((entry.name(), param, min, max, true)),
            Allowed::PowerOfTwo { .. } | Allowed::Bool | Allowed::Words(_) => None,
        })
    })
}

fn number(value: f64, whole: bool) -> Value {
    if whole { json!(value as i64) } else { json!(value) }
}

/// An interval of zero, a fraction above one, a count below its minimum: each is refused by name, with what is allowed.
#[test]
fn what_lies_beyond_is_refused_by_name() {
    let mut zeros = 0;
    for (scheme, param, min, max, whole) in numbers() {
        let beyond = [min - 1.0, max * 2.0 + 1.0, 0.0];
        for value in beyond.into_iter().filter(|value| !(min..=max).contains(value)) {
            zeros += u32::from(value == 0.0);
            let error = resolve(&spec(scheme, param.name, number(value, whole))).expect_err("it is refused");
            assert_eq!(error.key, format!("scheme.params.{}", param.name), "{scheme}");
            assert!(error.to_string().contains("number from"), "{error}");
        }
        let word = resolve(&spec(scheme, param.name, json!("much"))).expect_err("it is refused");
        assert_eq!(word.key, format!("scheme.params.{}", param.name), "{scheme}");
    }
    assert!(zeros > 20, "{zeros} parameters may not be zero");
}

/// A parameter at the ends of its range is refused because of other parameters, or the run comes to its end.
#[test]
fn at_the_ends_of_its_range_every_parameter_works_or_is_refused() {
    let mut works = 0;
    for (scheme, param, min, max, whole) in numbers() {
        for value in [min, max] {
            let spec = spec(scheme, param.name, number(value, whole));
            match resolve(&spec) {
                Ok(_) => {
                    let outcome = run(&spec);
                    assert_eq!(outcome.report["finished"], 3, "{scheme}, {} = {value}", param.name);
                    works += 1;
                }
                Err(error) => assert!(error.key.starts_with("scheme."), "{scheme}, {} = {value}: {error}", param.name),
            }
        }
    }
    assert!(works > 200, "{works} ends of ranges work");
}
