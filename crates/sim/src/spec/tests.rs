//! The reader as a whole: everything declared is read, documented, and the same when read again.

mod autos;
mod entries;
mod follow;
mod links;
mod messages;
mod rdma;
mod reference;
mod warnings;

use crate::packet::Clock;
use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::{Value, json};
use spinewise_policy::{Span, Time};

use super::*;
use crate::bank::REGISTRY;
use crate::transport::TcpConfig;
use crate::transport::congestion::{delivery, rate, window};
use crate::workload::{OnOff, Pairs, Workload};

/// The path of a table of a send and its receive, written once.
fn two_operations() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("spinewise-two-operations-{}.csv", std::process::id()));
        std::fs::write(&path, "id,rank,op,peer,size_bytes\ns,0,send,1,5\nr,1,recv,0,\n").expect("a temporary file");
        path.to_string_lossy().into_owned()
    })
}

/// Specs that together give every key.
fn everything() -> Vec<Value> {
    vec![
        json!({
            "name": "all of it", "seed": 7, "preset": "ns2-pdlb",
            "topology": {
                "kind": "leaf_spine", "leaves": 3, "spines": 2.0, "hosts_per_leaf": 4, "host_rate_gbps": 3,
                "fabric_rate_gbps": 0.1, "host_delay_ns": 0.5, "fabric_delay_ns": 12500, "parallel_links": 2,
                "switch_latency_ns": 300, "tx_time_rounding": "exact",
                "override": [
                    {"leaf": 1, "spine": 0, "link": 1, "direction": "up", "rate_gbps": 6, "delay_ns": 50, "up": true},
                    {"host": 3, "up": true, "direction": "down"},
                    {"leaf": 0, "spine": 0, "up": false},
                ],
            },
            "switch": {
                "model": "output_queued",
                "buffer_packets": 100, "ecn_threshold_packets": 0, "ecn_at": "dequeue", "queue_counts": "in_service",
                "device_queue_packets": 0, "nics": "queue",
                "ports": "commit_at_start",
            },
            "transport": {
                "kind": "newreno", "pacing": true, "mss_bytes": 1000, "header_bytes": 48, "ack_bytes": 64, "initial_window_segments": 1,
                "max_window_segments": 64, "initial_ssthresh_segments": 10, "min_rto_us": 200, "initial_rto_us": 1000,
                "max_rto_us": 1e6, "rto_granularity_us": 1.5, "rto_tick_us": 2.5, "delayed_ack_segments": 2,
                "delayed_ack_timeout_us": 500, "dupack_threshold": 0, "rack_least_rtt_us": 9,
                "limited_transmit": true, "ack_duplicates": false, "hold_after_mark": true,
                "recovery": "rack",
                "handshake": true, "syn_bytes": 58, "syn_timeout_us": 5000, "fin": true,
                "max_burst_segments": 2, "subflows": 1, "mptcp_options": "free",
                "resequencing": "on", "resequencing_in_order_us": 5, "resequencing_timeout_us": 100,
                "resequencing_limit_bytes": 1000, "resequencing_period_us": 3, "resequencing_at_once_bytes": 7,
            },
            "scheme": {"name": "letflow", "params": {}, "header_bytes": "free", "acks": "ecmp", "hash": "murmur3",
                "hash_salt": 7},
            "traffic": [
                {"kind": "poisson", "cdf": "vl2", "load": 0.5, "load_of": "host_links", "pairs": "leaf_pair",
                 "from_leaf": 2, "to_leaf": 1, "start_us": 5, "duration_us": 1000, "max_flows": 10, "priority": 6, "subflows": 1},
                {"kind": "on_off", "flows": 5, "min_bytes": 10, "max_bytes": 20, "tail_index": 1, "on_us": 3,
                 "arrivals_per_second": 1e6, "off_mean_us": 4, "off_sd_us": 1, "pairs": "one_to_one", "from_leaf": 1,
                 "to_leaf": 0, "start_us": 1, "priority": 1, "subflows": 1},
                {"kind": "flows", "list": [{"src": 0, "dst": 11, "size_bytes": 1, "start_ns": 0.001, "batch": 2}],
                 "priority": 0, "subflows": 1},
                {"kind": "permutation", "size_bytes": 1000, "start_us": 1, "inter_rack": false, "repeat": 2,
                 "period_us": 10, "priority": 2, "subflows": 1, "transport": {"kind": "cubic"}},
                {"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 10, "start_us": 0, "repeat": 1,
                 "period_us": 0, "priority": 3, "subflows": 1},
                {"kind": "incast", "receiver": 0, "senders": [1, 5], "size_bytes": 10},
                {"kind": "udp", "src": 0, "dst": 5, "packet_bytes": 64, "size_bytes": 100, "end_us": 9, "priority": 4,
                 "schedule": [{"at_us": 1, "rate_gbps": 0.5}, {"at_us": 2.5, "rate_gbps": 0}]},
                {"kind": "rpc", "receiver": 3, "fan_in": 4, "size_bytes": 10, "request_bytes": 5, "requests": 6,
                 "period_us": 7, "arrivals": "poisson", "start_us": 8, "priority": 5, "subflows": 1},
                {"kind": "rpc", "fan_in": 4, "size_bytes": 10},
                {"kind": "all_reduce", "hosts": [[0, 5, 2], [1.0, 11]], "order": "random", "size_bytes": 100,
                 "rounds": 2, "gap_us": 3, "start_us": 4, "priority": 5, "subflows": 1},
                {"kind": "all_reduce", "groups": 2, "grouping": "strided", "size_bytes": 100},
                {"kind": "all_to_all", "hosts": [1, 2, 3], "order": "given", "size_bytes": 100, "concurrent": true,
                 "rounds": 2, "gap_us": 3, "start_us": 4, "priority": 5, "subflows": 1},
                {"kind": "all_to_all", "hosts": "all", "groups": 2, "grouping": "blocks", "pair_bytes": 100},
                {"kind": "dag", "file": two_operations(), "file_digest": "bc1ce4f273ba6980", "hosts": [4, 2],
                 "local_ranks": 1, "local_rate_gbps": 900, "local_delay_ns": 25, "priority": 5, "subflows": 1},
                {"kind": "dag", "file": two_operations(), "hosts": "all"},
            ],
            "run": {"stop": "time", "until_us": 100, "grid_ns": 1000, "engine": "windows", "window_ns": 0.25,
                "follow": "nothing"},
            "metrics": {
                "size_classes": [{"name": "mice", "from_bytes": 1, "below_bytes": 10}], "series_interval_us": 100,
                "series_links": ["leaf0->host0"], "facts": true, "sample_interval_us": 20, "keep_flows_up_to": 5,
                "ideal": "best_path", "ideal_frames": [[1460, 40]],
                "capture": {"at": ["host0"], "from_us": 1, "to_us": 50, "max_packets": 1000},
            },
        }),
        json!({
            "switch": {"buffer_bytes": 9000, "buffer_us": 1, "ecn_threshold_bytes": 1000, "ecn_threshold_us": "auto"},
            "scheme": {"name": "presto", "source": null, "path_tag": "explicit", "fabric": "rps", "fabric_params": {}},
            "traffic": udp(),
        }),
        json!({
            "topology": {
                "kind": "links", "hosts": 6, "switches": 3, "names": ["a", "b", "c", "d", "e", "f", "g", "h", "i"],
                "links": [[0, 6, 10, 1000], [1, 6, 10, 1000], [2, 7, 2.5, 0.001], [3, 7, 1, 1], [4, 8, 1, 1], [8, 5, 1, 1],
                          {"a": 6, "b": 7, "rate_gbps": 40, "delay_ns": 500}, [8, 7, 40, 500.5]],
                "routes": [["g", 2, 7], {"switch": 6, "dst": 3, "next": "h"}, [7, 2, 2]],
                "switch_latency_ns": 300, "tx_time_rounding": "floor_1ns",
            },
            "traffic": udp(),
        }),
        rdma::everything(),
        json!({
            "topology": {
                "kind": "fat_tree", "k": 8, "pods": 3, "leaves_per_pod": 2, "aggregations_per_pod": 2,
                "cores_per_aggregation": 3, "hosts_per_leaf": 5, "host_rate_gbps": 1, "fabric_rate_gbps": 2,
                "core_rate_gbps": 4, "host_delay_ns": 100, "fabric_delay_ns": 200, "core_delay_ns": 300,
                "switch_latency_ns": 50, "tx_time_rounding": "exact",
                "override": [
                    {"leaf": 1, "aggregation": 1, "direction": "up", "rate_gbps": 6, "delay_ns": 50, "up": true},
                    {"core": 2, "up": false},
                    {"host": 3, "delay_ns": 7},
                ],
            },
            "traffic": [{"kind": "permutation", "size_bytes": 1000}],
        }),
        follow::everything(),
        json!({
            "fault": [
                {"kind": "down", "ends": ["leaf0", "spine3"], "link": 0, "direction": "backward", "at_us": 5,
                 "until_us": 50.5},
                {"kind": "flap", "switch": "spine1", "at_us": 0, "period_us": 20, "down_us": 5},
                {"kind": "loss", "ends": ["host1", "leaf0"], "at_us": 0, "probability": 0.001},
                {"kind": "black_hole", "switch": "spine2", "at_us": 1, "fraction": 0.25, "may_cut_off": true},
                {"kind": "black_hole", "switch": "spine2", "at_us": 1, "pairs": [[0, 9], [9, 0]]},
                {"kind": "rate", "ends": ["leaf1", "spine2"], "at_us": 2, "rate_gbps": 1},
                {"kind": "delay", "ends": ["leaf1", "spine2"], "at_us": 3, "added_us": 2.5},
            ],
            "detection": {"mode": "hello", "carrier_us": 50, "hello_interval_us": 100, "hello_dead_count": 4,
                          "reconverge": true, "flood_hop_us": 1, "control_plane_us": 500},
            "traffic": udp(),
        }),
    ]
}

/// The least traffic.
fn udp() -> Value {
    json!([{"kind": "udp", "src": 0, "dst": 5, "schedule": [{"rate_gbps": 1}]}])
}

/// TCP's parameters, which the spec must have.
fn tcp(spec: &Spec) -> &TcpConfig {
    match &spec.transport {
        TransportSpec::Tcp(tcp) => tcp,
        other => panic!("{other:?}"),
    }
}

fn resolved(spec: Value) -> Spec {
    resolve(&spec).unwrap_or_else(|error| panic!("{error}"))
}

/// A file of this text for one test, gone with it.
struct TempFile(std::path::PathBuf);

impl TempFile {
    fn new(name: &str, text: &str) -> TempFile {
        let path = std::env::temp_dir().join(format!("spinewise-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        TempFile(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // The folder is cleaned by others if this fails.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_resolved_spec_resolves_to_itself() {
    let defaults = json!({"traffic": udp()});
    let ns3 = json!({"preset": "ns3-hermes", "traffic": udp()});
    let irn = json!({"preset": "conweave-ns3", "transport": {"recovery": "irn"}, "traffic": udp()});
    for spec in everything().into_iter().chain([defaults, ns3, irn]) {
        let once = resolved(spec);
        // Compared as text too, since that is how it is kept.
        let text = once.resolved.to_string();
        let twice = resolved(serde_json::from_str(&text).unwrap());
        assert_eq!(twice, once);
        assert_eq!(twice.resolved.to_string(), text);
    }
}

#[test]
fn a_resolved_spec_does_not_depend_on_its_preset() {
    let once = resolved(json!({"preset": "ns2-pdlb", "traffic": udp()}));
    let mut spec = once.resolved.clone();
    spec["preset"] = "datacenter".into();
    let twice = resolved(spec);
    assert_eq!((twice.switch, twice.transport), (once.switch, once.transport));
}

/// The table of all kinds of TCP.
fn tcp_table() -> String {
    format!("[transport] kind = {}", crate::keys::one_of(window::Kind::NAMES.iter().copied()))
}

/// The tables of all congestion controls, with their keys and the transports that choose them.
fn controls() -> Vec<(String, &'static [crate::keys::Key], Value)> {
    let windows = window::Kind::ALL.iter().map(|kind| {
        let name = kind.name();
        (format!("[transport] kind = \"{name}\""), kind.keys(), json!({"kind": name}))
    });
    let rates = rate::Kind::ALL.iter().map(|kind| {
        let name = kind.name();
        let transport = json!({"kind": "rdma", "congestion_control": name});
        (format!("[transport] congestion_control = \"{name}\""), kind.keys(), transport)
    });
    let deliveries = delivery::Kind::ALL.iter().map(|kind| {
        let name = kind.name();
        let transport = json!({"kind": "uet", "congestion_control": name, "receiver_credit": true});
        (format!("[transport] congestion_control = \"{name}\""), kind.keys(), transport)
    });
    windows.chain(rates).chain(deliveries).collect()
}

/// The table that declares a key of `[transport]` that is a congestion control's.
fn control_with(table: &str, name: &str) -> Option<String> {
    let has = |keys: &[crate::keys::Key]| keys.iter().any(|key| key.name == name);
    controls()
        .into_iter()
        .filter(|_| table.starts_with("[transport]"))
        .find(|(_, keys, _)| has(keys))
        .map(|found| found.0)
}

/// (table, key) of everything a spec gives, tables named as `describe` names them.
fn given(spec: &Value, table: &str, found: &mut BTreeSet<(String, String)>) {
    for (name, value) in spec.as_object().unwrap() {
        let declared_in = match (table.starts_with("[[traffic]]"), name.as_str()) {
            (true, "kind" | "name" | "priority") => "[[traffic]]",
            (true, "subflows" | "size_classes" | "transport") => "[[traffic]] of any kind but \"udp\"",
            _ => table,
        };
        found.insert((control_with(table, name).unwrap_or_else(|| declared_in.into()), name.clone()));
        let inner = match (table, name.as_str()) {
            ("[topology] kind = \"leaf_spine\"", "override") => "[[topology.override]]".into(),
            ("[topology] kind = \"fat_tree\"", "override") => "[[topology.override]] of a fat-tree".into(),
            ("[topology] kind = \"links\"", "links" | "routes") => format!("entries of topology.{name}"),
            ("top level", "topology") => {
                format!("[topology] kind = {}", value.get("kind").unwrap_or(&json!("leaf_spine")))
            }
            ("top level", "transport") if value["kind"] == "rdma" => "[transport] kind = \"rdma\"".into(),
            ("top level", "transport") if value["kind"] == "uet" => "[transport] kind = \"uet\"".into(),
            ("top level", "transport") => tcp_table(),
            ("top level", "fault") => "[[fault]]".into(),
            (_, "list") => "entries of list, [[traffic]] kind = \"flows\"".into(),
            (_, "ecn") => "entries of switch.ecn".into(),
            (_, "schedule") => "entries of schedule, [[traffic]] kind = \"udp\"".into(),
            (_, "size_classes") => "entries of metrics.size_classes".into(),
            (_, "capture") => "[metrics.capture]".into(),
            ("top level", "switch") => {
                format!("[switch] model = {}", value.get("model").unwrap_or(&json!("output_queued")))
            }
            ("top level", name) => format!("[{name}]"),
            _ => continue,
        };
        match value {
            Value::Object(_) => given(value, &inner, found),
            Value::Array(entries) => {
                for entry in entries.iter().filter(|entry| entry.is_object()) {
                    let kind = format!("[[traffic]] kind = {}", entry["kind"]);
                    given(entry, if inner == "[traffic]" { &kind } else { &inner }, found);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn every_declared_key_is_accepted_and_documented() {
    let mut accepted = BTreeSet::new();
    for spec in everything() {
        given(&spec, "top level", &mut accepted);
        resolved(spec);
    }
    let cdf = TempFile::new("key.cdf", "0 0\n10 1\n");
    let csv = TempFile::new("key.csv", "src,dst,size_bytes,start_ns\n0,5,1,0\n");
    let mut spec = json!({"traffic": [
        {"kind": "poisson", "cdf_file": cdf.path(), "load": 1, "max_flows": 1, "hosts": [7, 0],
         "size_classes": [{"name": "tiny", "below_bytes": 5}]},
        {"kind": "flows", "file": csv.path()},
    ]});
    spec["switch"] = json!({
        "model": "shared_buffer", "buffer_bytes": 1_000_000, "pfc": true, "priorities": 3, "lossy_priorities": [2, 0], "headroom_bytes": 30_000,
        "headroom_use": "pool_full", "guaranteed_bytes": 1500, "reserved_packets": 1, "egress_alpha": 2,
        "ingress_alpha": 0.125, "egress_threshold": "always", "pause_renewal": "packets", "pause_offset_bytes": 3000, "resume_offset_bytes": 100, "pause_us": 5,
        "pause_frame_bytes": 64, "ecn_min_bytes": 1000, "ecn_max_bytes": 2000, "ecn_max_probability": 0.1,
        "ecn": [{"priority": 2, "min_bytes": 500, "max_bytes": 500, "max_probability": 0.5}],
    });
    for (_, keys, mut transport) in controls() {
        for key in keys {
            transport[key.name] = key.default.json(&key.kind).expect("a default of its own");
        }
        let spec = json!({"preset": "selb", "transport": transport, "traffic": udp()});
        given(&spec, "top level", &mut accepted);
        resolved(spec);
    }
    let uet = json!({
        "transport": {
            "kind": "uet", "congestion_control": "nscc", "mss_bytes": 4000, "header_bytes": 60, "ack_bytes": 60, "connections": 2,
            "ack_every_bytes": 1, "rto_us": 100, "receiver_credit": true, "pull_bytes": 8192, "pull_values": 2, "pull_share": 0.5,
            "pull_heeds": "congestion", "pull_least": 0.25, "pull_after_end": true, "ask_again": true, "recovery": "sleek",
            "sleek_target_rtts": 0.5, "requests": "as_data",
        },
        "switch": {
            "model": "trimming", "buffer_bytes": 100_000, "control_bytes": 9_000, "trim": true, "trimmed_bytes": 60,
            "ecn_min_bytes": 1000, "ecn_max_bytes": 2000, "ecn_max_probability": 0.1, "mark_last_hop": false,
        },
        "traffic": udp(),
    });
    given(&uet, "top level", &mut accepted);
    resolved(uet);
    // Takes the digests that the first reading finds.
    spec["traffic"] = resolved(spec.clone()).resolved["traffic"].clone();
    given(&spec, "top level", &mut accepted);
    resolved(spec);

    let described = describe();
    let mut declared = BTreeSet::new();
    for table in described["spec"].as_array().unwrap() {
        for key in table["params"].as_array().unwrap() {
            let text = |part: &str| key[part].as_str().unwrap_or_default().to_string();
            declared.insert((table["name"].as_str().unwrap().to_string(), text("name")));
            assert!(text("doc").len() > 3 && text("allowed").len() > 3, "{key}");
            assert!(!key["default"].is_null(), "{key}");
        }
    }
    let apart: Vec<_> = accepted.symmetric_difference(&declared).collect();
    assert!(apart.is_empty(), "accepted or declared alone: {apart:?}");
}

#[test]
fn units_are_exact() {
    let spec = &resolved(everything().remove(0));
    let Wiring::LeafSpine(topology) = &spec.topology.wiring else { panic!("{:?}", spec.topology) };
    assert_eq!((topology.host_rate, topology.fabric_rate), (3_000_000_000, 100_000_000));
    assert_eq!((topology.host_delay, topology.fabric_delay), (Span(500), Span(12_500_000)));
    assert_eq!(topology.overrides[0].change.rate, Some(6_000_000_000));
    assert_eq!(tcp(spec).rto_granularity, Span(1_500_000));
    assert_eq!(spec.run.until, Time(100_000_000));
    assert_eq!((spec.run.grid, spec.run.window), (Span(1_000_000), Some(Span(250))));
    let Traffic::Udp(udp) = &spec.traffic[6].source else { panic!("{:?}", spec.traffic[6]) };
    assert_eq!(udp.config.schedule, [(Time(1_000_000), 500_000_000), (Time(2_500_000), 0)]);
    assert_eq!((udp.config.size_bytes, udp.config.end), (Some(100), Time(9_000_000)));
    let odd = resolved(json!({"topology": {"host_rate_gbps": 1.000000001}, "traffic": udp_of(spec)}));
    let Wiring::LeafSpine(odd) = &odd.topology.wiring else { panic!("{:?}", odd.topology) };
    assert_eq!(odd.host_rate, 1_000_000_001);
    let graph = resolved(everything().remove(2));
    assert_eq!((graph.topology.hosts(), graph.topology.leaves(), graph.topology.clock()), (6, 3, Clock::Floor1Ns));
    let Wiring::Links(graph) = &graph.topology.wiring else { panic!("{:?}", graph.topology) };
    assert_eq!(graph.links[2], Cable { a: 2, b: 7, rate: 2_500_000_000, delay: Span(1) });
    assert_eq!(graph.links[6], Cable { a: 6, b: 7, rate: 40_000_000_000, delay: Span(500_000) });
    assert_eq!(graph.routes[1], StaticRoute { switch: 6, dst: 3, next: 7 });
    assert_eq!(graph.switch_latency, Span(300_000));
}

fn udp_of(spec: &Spec) -> Value {
    json!([spec.resolved["traffic"][6]])
}

#[test]
fn presets_are_those_of_their_sources() {
    let of = |preset: &str| resolved(json!({"preset": preset, "traffic": udp()}));
    let facts = |spec: &Spec| (queues(spec).buffer, queues(spec).ecn_threshold, tcp(spec).initial_window);
    assert_eq!(facts(&of("datacenter")), (Limit::Bytes(250_000), Some(Limit::Bytes(97_500)), 10));
    assert_eq!(facts(&of("ns2-pdlb")), (Limit::Bytes(250_000), Some(Limit::Bytes(94_900)), 2));
    assert_eq!(facts(&of("ns3-hermes")), (Limit::Bytes(840_000), Some(Limit::Bytes(91_000)), 10));
    let [ns2, ns3] = ["ns2-pdlb", "ns3-hermes"].map(|preset| tcp(&of(preset)).clone());
    assert_eq!((ns2.mss + ns2.header, ns2.max_window, ns2.delayed_ack), (1500, 1256, 1));
    assert_eq!((ns2.min_rto, ns2.rto_granularity), (Span(10_000_000_000), Span(10_000_000_000)));
    assert_eq!((ns3.mss, ns3.initial_window, ns3.dupack_threshold), (1400, 10, 3));
    assert_eq!((ns3.min_rto, ns3.rto_granularity), (Span(5_000_000_000), Span(100_000_000)));
    let dctcp = &ns3.control.dctcp;
    assert_eq!((dctcp.g, dctcp.initial_alpha), (0.0625, 1.0));
    assert_eq!((ns3.handshake, ns3.syn_bytes, ns3.syn_timeout), (true, 58, Span(5_000_000_000)));
    assert!(!ns2.handshake && !TcpConfig::datacenter().handshake);
    // A bound in the other unit replaces the preset's, and zero marks nothing.
    let spec = resolved(json!({"switch": {"buffer_packets": 9, "ecn_threshold_packets": 0}, "traffic": udp()}));
    assert_eq!((queues(&spec).buffer, queues(&spec).ecn_threshold), (Limit::Packets(9), None));
    assert_eq!(spec.resolved["switch"].get("buffer_bytes"), None);
}

#[test]
fn defaults_are_those_of_the_types() {
    let spec = resolved(json!({"traffic": [{"kind": "on_off"}]}));
    let source = Traffic::Transported(Workload::OnOff(OnOff::default()));
    let (name, kind) = ("on_off".into(), "on_off");
    assert_eq!(
        spec.traffic,
        [TrafficEntry { name, kind, source, priority: 0, subflows: None, size_classes: None, carrier: 0 }]
    );
    assert_eq!(OnOff::default().pairs, Pairs::OneToOne { from: 0, to: 1 });
    assert_eq!((spec.seed, spec.scheme.name(), spec.run.until), (1, "ecmp", Time(10_000_000_000_000)));
    let classes: Vec<(&str, u64, u64)> =
        spec.metrics.size_classes.iter().map(|class| (class.name.as_str(), class.from, class.below)).collect();
    assert_eq!(classes, [("short", 0, 100_000), ("long", 100_000, u64::MAX)]);
}

#[test]
fn every_scheme_resolves_with_all_its_parameters() {
    for entry in REGISTRY {
        let kind = if entry.in_trees { "fat_tree" } else { "leaf_spine" };
        // Entropy values are at home where switches trim.
        let preset = if entry.name() == "reps" { "uet-htsim" } else { "datacenter" };
        let resolved = |scheme| {
            resolved(json!({"preset": preset, "topology": {"kind": kind}, "scheme": scheme, "traffic": udp()}))
        };
        let spec = resolved(json!({"name": entry.name()}));
        let params = spec.scheme.chosen().params();
        let names: Vec<&str> = params.iter().map(|(name, _)| *name).collect();
        let declared: Vec<&str> = entry.params.iter().map(|param| param.name).collect();
        assert_eq!(names, declared, "{}", entry.name());
        assert!(entry.site == "host" || spec.resolved["scheme"].get("path_tag").is_none());
        // Every default is allowed if given one by one.
        for param in entry.params {
            let params = json!({param.name: scheme::json(param.default)});
            let one = resolved(json!({"name": entry.name(), "params": params}));
            assert_eq!(one.scheme, spec.scheme);
        }
    }
}

#[test]
fn null_is_not_given() {
    let spec = json!({"seed": null, "topology": {"leaves": null, "override": null}, "traffic": udp()});
    assert_eq!(resolved(spec), resolved(json!({"traffic": udp()})));
}

#[test]
fn a_changed_file_is_noticed() {
    let csv = TempFile::new("changed.csv", "src,dst,size_bytes,start_ns\n0,5,1,0\n");
    let spec = resolved(json!({"traffic": [{"kind": "flows", "file": csv.path()}]}));
    std::fs::write(csv.path(), "src,dst,size_bytes,start_ns\n0,5,2,0\n").unwrap();
    let error = resolve(&spec.resolved).unwrap_err();
    assert_eq!(error.key, "traffic[0].file_digest");
    assert!(error.hint.unwrap().starts_with("the file has changed"));
}

fn queues(spec: &Spec) -> &OutputQueued {
    match &spec.switch {
        SwitchSpec::OutputQueued(queues) => queues,
        other => panic!("output queues were asked for: {other:?}"),
    }
}
