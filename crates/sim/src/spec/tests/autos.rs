//! Values that follow from the fabric.

use serde_json::{Value, json};

use super::super::{resolve, worked_out};

/// A leaf-spine of the followed program's evaluation: links of 1 us at 100 Gbps.
fn leaf_spine() -> Value {
    json!({"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
        "host_delay_ns": 1000, "fabric_delay_ns": 1000})
}

fn fat_tree() -> Value {
    json!({"kind": "fat_tree", "k": 4, "host_rate_gbps": 100, "fabric_rate_gbps": 100, "host_delay_ns": 1000,
        "fabric_delay_ns": 1000})
}

fn spec(preset: &str, topology: Value, rest: Value) -> Value {
    let mut spec =
        json!({"preset": preset, "topology": topology, "traffic": [{"kind": "permutation", "size_bytes": 1}]});
    for (key, value) in rest.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    spec
}

fn resolved(spec: &Value) -> Value {
    resolve(spec).unwrap_or_else(|error| panic!("{error}")).resolved
}

/// Keys that were worked out.
fn keys(spec: &Value) -> Vec<String> {
    worked_out(spec, &[]).unwrap_or_else(|error| panic!("{error}")).into_iter().map(|auto| auto.key).collect()
}

#[test]
fn the_window_of_irn_is_that_of_conweaves_code_on_two_tiers_and_on_three() {
    let irn = || json!({"transport": {"kind": "rdma", "recovery": "irn"}});
    let window =
        |preset: &str, topology: Value| resolved(&spec(preset, topology, irn()))["transport"]["window_bytes"].clone();
    for preset in ["conweave-ns3", "linux"] {
        assert_eq!(window(preset, leaf_spine()), 104_000, "{preset}: 8 us and 4 * 80 ns at 100 Gbps");
        assert_eq!(window(preset, fat_tree()), 156_000, "{preset}: 12 us and 6 * 80 ns at 100 Gbps");
    }
    assert_eq!(window("selb", fat_tree()), 104_000, "as its evaluation had it");
    let asked = json!({"transport": {"recovery": "irn", "window_bytes": "auto"}});
    assert_eq!(resolved(&spec("selb", fat_tree(), asked))["transport"]["window_bytes"], 156_000);
}

#[test]
fn buffers_and_thresholds_go_by_the_rate_of_each_port() {
    let at = |gbps: u32, delay_ns: u32| {
        let topology = json!({"host_rate_gbps": gbps, "fabric_rate_gbps": 4 * gbps, "host_delay_ns": delay_ns,
            "fabric_delay_ns": delay_ns});
        resolved(&spec("linux", topology, json!({})))["switch"].clone()
    };
    // Base round trip: 8 us of delays; 1500 and 40 bytes twice at 10 Gbps and twice at 40: 3.08 us.
    let slow = at(10, 1000);
    assert_eq!((&slow["buffer_bytes"], &slow["buffer_us"]), (&json!(65_536), &json!(150)));
    assert_eq!((&slow["ecn_threshold_bytes"], &slow["ecn_threshold_us"]), (&json!(65_536), &json!(1.6)));
    let long = at(10, 50_000);
    assert_eq!((&long["buffer_us"], &long["ecn_threshold_us"]), (&json!(403.1), &json!(57.6)));
}

#[test]
fn a_limit_in_bytes_or_packets_stands_alone() {
    let of = |switch: Value| resolved(&spec("linux", json!({}), json!({"switch": switch})))["switch"].clone();
    let bytes = of(json!({"buffer_bytes": 100_000, "ecn_threshold_bytes": 30_000}));
    assert_eq!((&bytes["buffer_us"], &bytes["ecn_threshold_us"]), (&json!(0), &json!(0)));
    assert_eq!(of(json!({"buffer_packets": 10}))["buffer_us"], 0);
    assert_eq!(of(json!({"buffer_bytes": 100_000, "buffer_us": "auto"}))["buffer_us"], 150);
    let both = spec("linux", json!({}), json!({"switch": {"buffer_packets": 10, "buffer_us": 5}}));
    let error = resolve(&both).expect_err("they do not add up").to_string();
    assert_eq!(error, "switch.buffer_us = 5: expected 0 with buffer_packets: it is added to buffer_bytes");
}

#[test]
fn timeouts_follow_each_other_and_long_round_trips() {
    let of = |topology: Value, transport: Value| {
        let found = resolved(&spec("linux", topology, json!({"transport": transport})));
        ["min_rto_us", "initial_rto_us", "rto_granularity_us"].map(|key| found["transport"][key].as_f64().unwrap())
    };
    assert_eq!(of(leaf_spine(), json!({})), [5_000.0; 3]);
    assert_eq!(of(leaf_spine(), json!({"min_rto_us": 700})), [700.0; 3]);
    assert!(of(json!({"fabric_delay_ns": 1_000_000}), json!({}))[0] > 40_000.0, "ten round trips of 4 ms");
}

#[test]
fn a_shared_buffer_fits_its_largest_switch() {
    let rdma = || json!({"transport": {"kind": "rdma"}});
    let switch = resolved(&spec("linux", leaf_spine(), rdma()))["switch"].clone();
    assert_eq!((&switch["pfc"], &switch["model"]), (&json!(true), &json!("shared_buffer")));
    assert_eq!((&switch["ecn_min_bytes"], &switch["ecn_max_bytes"]), (&json!(100_000), &json!(400_000)));
    let wide = json!({"leaves": 4, "spines": 4, "hosts_per_leaf": 600, "host_rate_gbps": 100, "fabric_rate_gbps": 400});
    let fits = resolved(&spec("linux", wide, rdma()))["switch"]["buffer_bytes"].as_u64().unwrap();
    assert!(fits > 246_400_000, "4 KB a Gbps of 61,600 Gbps, and headroom: {fits}");
}

#[test]
fn schemes_fit_the_fabric_under_the_preset_of_today_and_where_asked() {
    let params = |preset: &str, scheme: Value| {
        resolved(&spec(preset, leaf_spine(), json!({"scheme": scheme})))["scheme"]["params"].clone()
    };
    assert_eq!(params("datacenter", json!({"name": "letflow"}))["flowlet_gap_us"], 500);
    // 8.49 us of base round trip, and twice 80,536 bytes at 100 Gbps.
    assert_eq!(params("linux", json!({"name": "letflow"}))["flowlet_gap_us"], 21.4);
    assert_eq!(params("linux", json!({"name": "letflow", "params": {"flowlet_gap_us": 7}}))["flowlet_gap_us"], 7);
    let asked = json!({"name": "conweave", "params": {"theta_reply_us": "auto"}});
    assert_eq!(params("conweave-ns3", asked)["theta_reply_us"], 8);
    let error = resolve(&spec("linux", leaf_spine(), json!({"scheme": {"name": "drill", "params": {"d": "auto"}}})));
    assert!(error.is_err(), "nothing says what that would be");
}

#[test]
fn sleek_has_the_target_of_nscc_and_a_round_trip_beside_other_windows() {
    let of = |transport: Value| {
        let found = resolved(&spec("uet-htsim", leaf_spine(), json!({"transport": transport})));
        found["transport"]["sleek_target_rtts"].as_f64().unwrap()
    };
    assert_eq!(of(json!({})), 0.75);
    assert_eq!(of(json!({"nscc_target_rtts": 0.5})), 0.5);
    assert_eq!(of(json!({"congestion_control": "constant", "recovery": "sleek"})), 1.0);
    assert_eq!(of(json!({"congestion_control": "constant", "sleek_target_rtts": 0.5})), 0.5);
}

#[test]
fn what_is_given_is_not_worked_out() {
    assert_eq!(keys(&spec("datacenter", leaf_spine(), json!({}))), Vec::<String>::new());
    let found = keys(&spec("linux", leaf_spine(), json!({"transport": {"min_rto_us": 700}})));
    let expected =
        ["transport.initial_rto_us", "transport.rto_granularity_us", "switch.buffer_us", "switch.ecn_threshold_us"];
    assert_eq!(found, expected);
    let whole = resolved(&spec("linux", leaf_spine(), json!({"scheme": {"name": "conga"}})));
    assert_eq!(keys(&whole), Vec::<String>::new(), "a resolved spec has the numbers");
    assert_eq!(resolved(&whole), whole);
}
