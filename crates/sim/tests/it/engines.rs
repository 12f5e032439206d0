//! Both engines, any window, both kinds of port and the ignored hook mask give the same outcome, bit for bit.

use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::{Tuning, simulate};
use spinewise_sim::spec::{EngineKind, resolve};

fn run(spec: &Value, tuning: Tuning) -> Outcome {
    let spec = resolve(spec).unwrap_or_else(|error| panic!("{error}"));
    simulate(&spec, tuning, &mut |_| true).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn tunings() -> Vec<(&'static str, Tuning)> {
    let base = Tuning { window_divisor: 1, ..Tuning::default() };
    vec![
        ("windows a seventeenth as long", Tuning { window_divisor: 17, ..base }),
        ("event queue", Tuning { engine: Some(EngineKind::Events), ..base }),
        ("commit at start", Tuning { commit_at_start: true, ..base }),
        ("commit at start, event queue", Tuning { commit_at_start: true, engine: Some(EngineKind::Events), ..base }),
        ("hook mask ignored", Tuning { all_hooks: true, ..base }),
        ("three threads", Tuning { threads: 3, ..base }),
    ]
}

fn merge(base: &mut Value, change: &Value) {
    match (base, change) {
        (Value::Object(base), Value::Object(change)) => {
            for (key, value) in change {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, change) => *base = change.clone(),
    }
}

fn small(change: Value) -> Value {
    let mut spec = json!({
        "preset": "datacenter",
        "topology": {
            "leaves": 3, "spines": 3, "hosts_per_leaf": 4, "host_rate_gbps": 10.0, "fabric_rate_gbps": 10.0,
            "host_delay_ns": 1000, "fabric_delay_ns": 2000,
        },
        "traffic": [{"kind": "poisson", "cdf": "ali_storage", "load": 0.8, "duration_us": 3000}],
        "metrics": {"series_interval_us": 100, "series_links": "all", "facts": true, "sample_interval_us": 13},
    });
    merge(&mut spec, &change);
    crate::common::without_trimming(&spec)
}

fn specs() -> Vec<(String, Value)> {
    let mut specs = Vec::new();
    for scheme in spinewise_sim::bank::REGISTRY {
        let mut spec = small(json!({"scheme": {"name": scheme.name()}}));
        if scheme.in_trees {
            let down = json!([{"leaf": 7, "aggregation": 7, "up": false}]);
            spec["topology"] = json!({"kind": "fat_tree", "k": 4, "override": down});
        }
        specs.push((format!("scheme {}", scheme.name()), spec));
    }
    let mut add = |name: &str, change: Value| specs.push((name.into(), small(change)));
    add("newreno", json!({"transport": {"kind": "newreno"}, "switch": {"buffer_packets": 20}}));
    add("dequeue marks", json!({"switch": {"ecn_at": "dequeue", "ecn_threshold_bytes": 30000}}));
    add(
        "in service counts",
        json!({"switch": {"queue_counts": "in_service", "ecn_threshold_packets": 10, "buffer_packets": 30}}),
    );
    add(
        "dequeue, in service",
        json!({"switch": {"queue_counts": "in_service", "ecn_at": "dequeue", "ecn_threshold_packets": 5}}),
    );
    add(
        "NICs that queue above a device",
        json!({"switch": {"nics": "queue", "device_queue_packets": 4, "ecn_threshold_bytes": 9000, "buffer_bytes": 30000},
               "transport": {"handshake": true, "fin": true, "max_burst_segments": 3}}),
    );
    add(
        "NICs that queue under a host scheme, on the clock of ns-3",
        json!({"switch": {"nics": "queue", "device_queue_packets": 10, "buffer_packets": 12}, "scheme": {"name": "presto"},
               "topology": {"tx_time_rounding": "floor_1ns"}}),
    );
    for recovery in ["newreno", "sack", "rack"] {
        let transport = json!({"kind": "mptcp", "recovery": recovery, "handshake": recovery != "sack", "fin": true});
        add(&format!("mptcp, {recovery}"), json!({"transport": transport, "switch": {"buffer_packets": 20}}));
    }
    add(
        "mptcp, NICs that queue, under a host scheme",
        json!({"transport": {"kind": "mptcp", "delayed_ack_segments": 2, "max_window_segments": 20}, 
               "switch": {"nics": "queue", "buffer_packets": 15}, "scheme": {"name": "clove"}}),
    );
    add("delayed acks", json!({"transport": {"delayed_ack_segments": 2}}));
    add("odd rates", json!({"topology": {"host_rate_gbps": 3.0, "fabric_rate_gbps": 6.0, "host_delay_ns": 777}}));
    add(
        "tiny buffers",
        json!({"switch": {"buffer_packets": 3, "ecn_threshold_packets": 0}, "scheme": {"name": "rps"}}),
    );
    add(
        "asymmetric",
        json!({"topology": {"override": [
        {"spine": 1, "rate_gbps": 2.0}, {"leaf": 0, "spine": 0, "delay_ns": 50000}, {"leaf": 2, "spine": 2, "up": false}]}}),
    );
    add(
        "parallel links",
        json!({"topology": {"parallel_links": 2, "switch_latency_ns": 400}, "scheme": {"name": "rps"}}),
    );
    add(
        "the clock of ns-3",
        json!({"topology": {"tx_time_rounding": "floor_1ns", "host_rate_gbps": 100.0, "fabric_rate_gbps": 100.0}}),
    );
    add("incast", json!({"traffic": [{"kind": "incast", "receiver": 0, "senders": 9, "size_bytes": 50000}]}));
    add("permutation", json!({"traffic": [{"kind": "permutation", "size_bytes": 300000}]}));
    add(
        "all-reduce",
        json!({"traffic": [{"kind": "all_reduce", "size_bytes": 300_000, "order": "random", "rounds": 2}]}),
    );
    add(
        "all-to-all among losses",
        json!({"switch": {"buffer_packets": 8}, "scheme": {"name": "rps"},
               "traffic": [{"kind": "all_to_all", "pair_bytes": 30_000, "gap_us": 3, "rounds": 2}]}),
    );
    add(
        "rpc under a host scheme",
        json!({"scheme": {"name": "pdlb"}, "traffic": [{"kind": "rpc", "fan_in": 9, "size_bytes": 20_000,
               "request_bytes": 300, "requests": 20, "period_us": 100, "arrivals": "poisson"}]}),
    );
    for (preset, scheme) in
        [("selb", "drill"), ("selb", "selb"), ("conweave-ns3", "drill"), ("conweave-ns3", "conweave")]
    {
        let rates = json!({"host_rate_gbps": 100.0, "fabric_rate_gbps": 100.0, "fabric_delay_ns": 1000});
        let mut spec = small(json!({"preset": preset, "scheme": {"name": scheme}, "topology": rates}));
        spec["metrics"] =
            json!({"series_interval_us": 10, "series_links": "all", "facts": true, "sample_interval_us": 7});
        spec["traffic"] = json!([
            {"kind": "poisson", "cdf": "ali_storage", "load": 0.8, "load_of": "host_links", "pairs": "any",
             "duration_us": 400},
            {"kind": "incast", "receiver": 0, "senders": 9, "size_bytes": 1_000_000}]);
        specs.push((format!("pauses, {preset}, {scheme}"), spec));
    }
    let mut add = |name: &str, change: Value| specs.push((name.into(), small(change)));
    let poisson = |name: &str, priority: u8, transport: Value| {
        json!({"kind": "poisson", "name": name, "cdf": "ali_storage", "load": 0.4, "duration_us": 3000,
               "priority": priority, "transport": transport})
    };
    add(
        "DCTCP beside CUBIC with a handshake",
        json!({"switch": {"buffer_packets": 30}, "traffic": [poisson("new", 0, json!({"kind": "dctcp"})),
               poisson("old", 0, json!({"kind": "cubic", "recovery": "rack", "handshake": true, "fin": true}))]}),
    );
    add(
        "pauses for RDMA, drops for TCP, under ConWeave",
        json!({"preset": "selb", "scheme": {"name": "conweave"},
               "topology": {"host_rate_gbps": 100.0, "fabric_rate_gbps": 100.0, "fabric_delay_ns": 1000},
               "switch": {"priorities": 2, "lossy_priorities": [1], "buffer_bytes": 1_000_000},
               "traffic": [poisson("storage", 0, json!({})), poisson("web", 1, json!({"kind": "cubic"})),
                           {"kind": "incast", "receiver": 0, "senders": 9, "size_bytes": 1_000_000},
                           {"kind": "incast", "receiver": 3, "senders": 8, "size_bytes": 1_000_000, "priority": 1,
                            "transport": {"kind": "newreno", "recovery": "newreno"}}]}),
    );
    add("stop by time", json!({"run": {"stop": "time", "until_us": 1500.0}}));
    specs
}

#[test]
fn every_spec_gives_one_outcome_whatever_the_engine() {
    for (name, spec) in specs() {
        let reference = run(&spec, Tuning { window_divisor: 1, ..Tuning::default() });
        assert!(reference.report["packet_hops"].as_u64() > Some(1000), "{name}: {}", reference.report["packet_hops"]);
        let paused = reference.report["counters"]["pause_frames"]["packets"].as_u64();
        assert!(!name.starts_with("pauses") || paused > Some(100), "{name}: {paused:?} pause frames");
        for (what, tuning) in tunings() {
            let other = run(&spec, tuning);
            assert_eq!(reference.records, other.records, "{name}: {what}: flows");
            assert_eq!(reference.series, other.series, "{name}: {what}: series");
            for part in ["links", "samples", "balance", "totals", "counters"] {
                assert_eq!(reference.report[part], other.report[part], "{name}: {what}: {part}");
            }
            assert_eq!(reference.hash, other.hash, "{name}: {what}: hash");
        }
    }
}

#[test]
fn every_packet_is_accounted_for() {
    for (name, spec) in specs() {
        let outcome = run(&spec, Tuning::default());
        let counters = &outcome.report["counters"];
        for unit in ["packets", "bytes"] {
            let count = |fate: &str| counters[fate][unit].as_u64().unwrap_or(0);
            let gone = count("delivered") + count("dropped") + count("consumed") + count("in_network_at_stop");
            assert_eq!(count("created"), gone, "{name}: {unit}: {counters}");
        }
        if !name.contains("stop by time") {
            assert_eq!(outcome.report["finished"], outcome.report["flows"], "{name}: all flows finish");
        }
    }
}

#[test]
fn traffic_without_an_end_runs_to_the_limit_and_a_last_rate_of_zero_is_an_end() {
    let udp = |last: f64| {
        small(json!({
            "traffic": [{"kind": "udp", "src": 0, "dst": 4, "packet_bytes": 1500,
                "schedule": [{"at_us": 0.0, "rate_gbps": 1.0}, {"at_us": 60.0, "rate_gbps": last}]}],
            "run": {"until_us": 500.0},
        }))
    };
    let endless = run(&udp(2.0), Tuning::default());
    assert_eq!(endless.report["stop_ps"], 500_000_000u64);
    let ends = run(&udp(0.0), Tuning::default());
    assert!(ends.report["stop_ps"].as_u64() < Some(100_000_000), "{}", ends.report["stop_ps"]);
    assert_eq!(ends.report["counters"]["in_network_at_stop"]["packets"], 0);
}

#[test]
fn a_host_scheme_hears_the_end_of_a_udp_flow() {
    // Probing stops with the flow: PDLB probes 3 ways every 100 us while a flow is active, and no longer.
    let probes = |until: f64| {
        let spec = small(json!({
            "scheme": {"name": "pdlb"},
            "traffic": [{"kind": "udp", "src": 0, "dst": 4, "packet_bytes": 1500, "size_bytes": 3000,
                "schedule": [{"at_us": 0.0, "rate_gbps": 1.0}]}],
            "run": {"stop": "time", "until_us": until},
        }));
        run(&spec, Tuning::default()).report["counters"]["probes"]["packets"].as_u64()
    };
    assert_eq!(probes(1_000.0), probes(10_000.0));
}
