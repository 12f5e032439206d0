//! `[transport] kind = "rdma"`: every key, its presets, and what is refused.

use crate::packet::Clock;
use serde_json::{Value, json};

use super::{resolved, udp};
use crate::spec::resolve;
use crate::transport::rdma::{RdmaConfig, Recovery};
use crate::transport::{TcpConfig, TransportSpec};

/// A spec that gives every key of RDMA.
pub(super) fn everything() -> Value {
    json!({
        "transport": {
            "kind": "rdma", "congestion_control": "dcqcn", "mss_bytes": 4096, "header_bytes": 64, "ack_bytes": 64, "recovery": "irn",
            "nack_interval_us": 0, "rto_us": 1000.5, "rto_low_us": 50, "rto_high_us": 50, "rto_low_packets": 0,
            "window_bytes": 4096, "queue_pairs": 2, "queue_pair_use": "split", "ooo_cnp": false, "cnp_interval_us": 50, "pacing_rounding": "floor_1ns",
            "dcqcn_g": 0.5, "dcqcn_initial_alpha": 0, "dcqcn_alpha_timer_us": 55, "dcqcn_decrease_interval_us": 0,
            "dcqcn_increase_timer_us": 0.25, "dcqcn_byte_counter_bytes": 1e7, "dcqcn_fast_recovery_steps": 0,
            "dcqcn_additive_increase_gbps": 0.04, "dcqcn_hyper_increase_gbps": 0, "dcqcn_min_rate_gbps": 0.1,
            "dcqcn_clamp_target": true,
        },
        "traffic": udp(),
    })
}

fn rdma(spec: &Value) -> RdmaConfig {
    match resolved(spec.clone()).transport {
        TransportSpec::Rdma(rdma) => rdma,
        other => panic!("{other:?}"),
    }
}

/// A spec with this preset and these keys of `[transport]`.
fn with(preset: &str, transport: Value) -> Value {
    json!({"preset": preset, "transport": transport, "traffic": udp()})
}

#[test]
fn presets_are_those_of_the_types() {
    use Recovery::{GoBackN, Irn};
    assert_eq!(rdma(&with("selb", json!({}))), RdmaConfig::rnic(GoBackN));
    assert_eq!(rdma(&with("conweave-ns3", json!({}))), RdmaConfig::in_whole_ns(GoBackN));
    assert_eq!(rdma(&with("dcqcn-paper", json!({}))), RdmaConfig::spacing_cnps(GoBackN));
    // The recovery brings its window, unless one is given.
    assert_eq!(rdma(&with("selb", json!({"recovery": "irn"}))), RdmaConfig::rnic(Irn));
    let printed = json!({"recovery": "irn", "window_bytes": 104_000});
    assert_eq!(rdma(&with("conweave-ns3", printed)), RdmaConfig::in_whole_ns(Irn));
    assert_eq!(rdma(&with("selb", json!({"recovery": "irn", "window_bytes": 0}))).window_bytes, 0);
    // The kind decides, with the stand-in of its family where the preset has the other.
    assert_eq!(rdma(&with("datacenter", json!({"kind": "rdma"}))), RdmaConfig::rnic(GoBackN));
    assert_eq!(rdma(&with("ns3-hermes", json!({"kind": "rdma", "recovery": "irn"}))), RdmaConfig::rnic(Irn));
    let tcp = resolved(with("selb", json!({"kind": "dctcp"}))).transport;
    assert_eq!(tcp, TransportSpec::Tcp(TcpConfig::datacenter()));
}

#[test]
fn a_preset_of_rdma_has_flow_control_or_irn() {
    for preset in ["selb", "conweave-ns3", "dcqcn-paper"] {
        for (recovery, pfc) in [("go_back_n", true), ("irn", false)] {
            let mut spec = with(preset, json!({"recovery": recovery}));
            let resolved = resolved(spec.clone());
            assert_eq!(resolved.resolved["switch"]["pfc"], pfc);
            assert_eq!(resolved.topology.clock() == Clock::Floor1Ns, preset == "conweave-ns3");
            spec["switch"] = json!({"pfc": !pfc});
            if !pfc {
                let said = resolve(&spec).unwrap_err().to_string();
                let expected =
                    "switch.pfc = true: expected true with transport.recovery = \"go_back_n\", or false with \"irn\"";
                assert!(said.starts_with(expected), "{said}");
            } else {
                assert!(resolve(&spec).is_err(), "{recovery} without flow control");
            }
            spec["switch"]["model"] = "output_queued".into();
            spec["switch"].as_object_mut().unwrap().remove("pfc");
            super::resolved(spec);
        }
    }
}

#[test]
fn every_key_reaches_its_field() {
    let config = rdma(&everything());
    let told = super::super::transport::rdma::values(&config);
    let given = everything();
    for (name, value) in given["transport"].as_object().unwrap() {
        let same = told[name] == *value || told[name].as_f64().is_some_and(|number| Some(number) == value.as_f64());
        assert!(same, "{name}: {} instead of {value}", told[name]);
    }
    assert_eq!(told.len(), given["transport"].as_object().unwrap().len());
}

#[test]
fn what_is_refused() {
    let message = |spec: Value| resolve(&spec).unwrap_err().to_string();
    for (preset, transport, expected) in [
        (
            "selb",
            json!({"min_rto_us": 5}),
            "transport.min_rto_us = 5: expected no such key with transport.kind = \"rdma\"; min_rto_us is a key of kind = TCP",
        ),
        (
            "datacenter",
            json!({"rto_us": 5}),
            "transport.rto_us = 5: expected no such key with transport.kind = TCP; rto_us is a key of kind = \"rdma\" or \"uet\"",
        ),
        (
            "selb",
            json!({"window_bytes": 999}),
            "transport.window_bytes = 999: expected mss_bytes or more, or 0 for no bound",
        ),
        ("selb", json!({"rto_high_us": 99}), "transport.rto_high_us = 99: expected rto_low_us or more"),
        ("selb", json!({"recovery": "sack"}), "transport.recovery = \"sack\": expected \"go_back_n\" or \"irn\""),
        ("selb", json!({"kind": "roce"}), "transport.kind = \"roce\": expected KINDS"),
        (
            "selb",
            json!({"dcqcn_min_rate_gbps": 0}),
            "transport.dcqcn_min_rate_gbps = 0: expected a rate in Gbps from 0.000000001 to 100000, a whole number of bits per second",
        ),
    ] {
        assert_eq!(super::messages::without_kinds(&message(with(preset, transport))), expected);
    }
    assert_eq!(rdma(&with("selb", json!({"kind": null, "rto_us": null}))), RdmaConfig::rnic(Recovery::GoBackN));
}
