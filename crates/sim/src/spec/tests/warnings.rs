//! Settings that are allowed but cause warnings.

use serde_json::{Value, json};

use super::super::resolve;

/// Codes and keys of the warnings of a spec.
fn warned(spec: Value) -> Vec<(&'static str, String)> {
    let spec = resolve(&spec).unwrap_or_else(|error| panic!("{error}"));
    spec.warnings.into_iter().map(|warning| (warning.code, warning.key.unwrap_or_default())).collect()
}

/// The review's own case: a flap without an end, every timeout a multiple of its period.
fn flap(change: Value) -> Value {
    let mut fault = json!({"kind": "flap", "switch": "spine0", "at_us": 50, "period_us": 2_000, "down_us": 500, "may_cut_off": true});
    for (key, value) in change.as_object().into_iter().flatten() {
        fault[key] = value.clone();
    }
    json!({"preset": "datacenter", "traffic": [{"kind": "permutation", "size_bytes": 1_000}], "fault": [fault]})
}

#[test]
fn timeouts_that_tick_are_never_in_step() {
    let mut spec = flap(json!({"until_us": 20_000}));
    spec["preset"] = "linux".into();
    assert_eq!(warned(spec), []);
}

#[test]
fn go_back_n_over_queues_that_drop_is_told() {
    let of = |preset: &str, transport: Value, switch: Value| {
        let traffic = json!([{"kind": "permutation", "size_bytes": 1_000}]);
        warned(json!({"preset": preset, "transport": transport, "switch": switch, "traffic": traffic}))
    };
    let rdma = || json!({"kind": "rdma"});
    let said = |key: &str| vec![("rdma_drops", key.to_owned())];
    assert_eq!(of("datacenter", rdma(), json!({})), said("switch.model"));
    assert_eq!(of("datacenter", json!({"kind": "rdma", "recovery": "irn"}), json!({})), []);
    assert_eq!(of("linux", rdma(), json!({})), [], "there RDMA is lossless");
    assert_eq!(of("linux", rdma(), json!({"pfc": false})), said("switch.pfc"));
    assert_eq!(of("linux", rdma(), json!({"model": "output_queued"})), said("switch.model"));
    assert_eq!(of("selb", json!({}), json!({})), []);
}

#[test]
fn a_priority_without_queues_is_told() {
    let spec = |transport: Value| json!({"transport": transport, "traffic": [{"kind": "permutation", "size_bytes": 9, "priority": 1}]});
    let told = [("one_data_queue", "traffic[0].priority".to_string())];
    assert_eq!(warned(spec(json!({"kind": "uet"}))), told);
    assert_eq!(warned(spec(json!({"kind": "dctcp"}))), told);
    let mut several = spec(json!({"kind": "rdma"}));
    several["switch"] = json!({"priorities": 2});
    assert_eq!(warned(several), []);
}

#[test]
fn a_target_of_switches_that_trim_is_told_where_they_do_not() {
    let of = |transport: Value, switch: Value| {
        let traffic = json!([{"kind": "permutation", "size_bytes": 1_000}]);
        warned(json!({"preset": "uet", "transport": transport, "switch": switch, "traffic": traffic}))
    };
    let said = vec![("target_of_trimming_switches", "transport.nscc_target_rtts".to_owned())];
    assert_eq!(of(json!({}), json!({"trim": false})), said);
    assert_eq!(of(json!({"nscc_target_rtts": 1}), json!({"trim": false})), []);
    assert_eq!(of(json!({"congestion_control": "constant"}), json!({"trim": false})), []);
    assert_eq!(of(json!({}), json!({})), []);
}

/// Three leaves (4, 5, 6) under two spines (7, 8); the spines that each leaf is linked to.
fn racks(up: [&[u32]; 3]) -> Value {
    let hosts = [[0, 4], [1, 5], [2, 6], [3, 4]].map(|[host, leaf]| json!([host, leaf, 10, 100]));
    let ups = up.iter().zip(4..).flat_map(|(ends, leaf)| ends.iter().map(move |&end| json!([leaf, end, 10, 100])));
    let links: Vec<Value> = hosts.into_iter().chain(ups).collect();
    json!({
        "topology": {"kind": "links", "hosts": 4, "switches": 5, "links": links},
        "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 9}]}]
    })
}

#[test]
fn leaves_that_only_leaves_join_are_told() {
    let said = vec![("leaves_forward", "topology.links".to_owned())];
    assert_eq!(warned(racks([&[7, 8], &[7], &[8]])), said, "5 and 6 share no spine");
    assert_eq!(warned(racks([&[7, 8], &[7, 8], &[8]])), []);
    assert_eq!(warned(racks([&[7, 8], &[7, 6], &[8]])), [], "5 and 6 are next to each other");
    let mut joined = racks([&[7, 8], &[7], &[8]]);
    joined["topology"]["links"].as_array_mut().unwrap().push(json!([7, 8, 10, 100]));
    assert_eq!(warned(joined), [], "the spines are");
    let text = |spec: &Value| resolve(spec).unwrap().warnings[0].text.clone();
    assert!(text(&racks([&[7, 8], &[7], &[8]])).starts_with("Packets between switch5 and switch6 have to"));
}

#[test]
fn rates_that_rise_as_on_a_slower_link_are_told() {
    let of = |gbps: u32, transport: Value| {
        let topology = json!({"host_rate_gbps": gbps, "fabric_rate_gbps": gbps});
        let traffic = json!([{"kind": "permutation", "size_bytes": 1_000}]);
        resolve(&json!({"topology": topology, "transport": transport, "traffic": traffic})).unwrap().warnings
    };
    let [told] = &of(400, json!({"kind": "rdma"}))[..] else { panic!("one warning") };
    assert_eq!(
        (told.code, told.key.as_deref()),
        ("increases_of_slower_links", Some("transport.dcqcn_hyper_increase_gbps"))
    );
    // 200 Gbps in steps of 0.1, every 300 us.
    assert!(
        told.text.contains("at most 0.1 Gbps every 300 us, so a rate takes 600 ms to grow from half of 400 Gbps"),
        "{}",
        told.text
    );
    assert!(
        told.text.ends_with("dcqcn_additive_increase_gbps would be 0.16 and dcqcn_hyper_increase_gbps 0.4."),
        "{}",
        told.text
    );
    assert_eq!(of(100, json!({"kind": "rdma"})), []);
    assert_eq!(of(400, json!({"kind": "rdma", "dcqcn_hyper_increase_gbps": 0.4})), []);
    assert_eq!(of(400, json!({"kind": "rdma", "congestion_control": "hpcc"})), []);
    assert_eq!(of(400, json!({})), []);
}

#[test]
fn rates_in_mbps_are_told() {
    let of = |topology: Value, fault: Value| {
        let traffic = json!([{"kind": "permutation", "size_bytes": 1_000, "inter_rack": false}]);
        warned(json!({"topology": topology, "traffic": traffic, "fault": fault}))
    };
    let told = |keys: &[&str]| keys.iter().map(|&key| ("rate_in_mbps", key.to_owned())).collect::<Vec<_>>();
    let plain = |gbps: f64| of(json!({"host_rate_gbps": gbps, "fabric_rate_gbps": 100}), json!([]));
    assert_eq!(plain(3_200.0), []);
    assert_eq!(plain(3_200.1), told(&["topology.host_rate_gbps"]));
    let slow = json!([{"leaf": 0, "spine": 0, "up": false}, {"leaf": 0, "spine": 1, "rate_gbps": 10_000}]);
    assert_eq!(of(json!({"override": slow}), json!([])), told(&["topology.override[1].rate_gbps"]));
    let listed = json!([{"leaf": [0, 1], "rate_gbps": 8_000}, {"leaf": 0, "spine": 1, "rate_gbps": 10_000}]);
    let keys = ["topology.override[0].rate_gbps", "topology.override[1].rate_gbps"];
    assert_eq!(of(json!({"override": listed}), json!([])), told(&keys));
    let slower = json!([{"kind": "rate", "ends": ["leaf0", "spine0"], "at_us": 1, "rate_gbps": 5_000}]);
    assert_eq!(of(json!({}), slower), told(&["fault[0].rate_gbps"]));
    let tree = |core: u32| json!({"kind": "fat_tree", "k": 4, "fabric_rate_gbps": 25_000, "core_rate_gbps": core});
    assert_eq!(of(tree(25_000), json!([])), told(&["topology.fabric_rate_gbps"]));
    assert_eq!(of(tree(50_000), json!([])), told(&["topology.fabric_rate_gbps", "topology.core_rate_gbps"]));
    let links = json!([[0, 2, 10, 500], [1, 2, 4_000, 500]]);
    assert_eq!(
        of(json!({"kind": "links", "hosts": 2, "switches": 1, "links": links}), json!([])),
        told(&["topology.links"])
    );
}

#[test]
fn values_that_switches_do_not_hash_are_told() {
    let of = |scheme: Value| {
        warned(
            json!({"preset": "conweave-ns3", "scheme": scheme, "traffic": [{"kind": "permutation", "size_bytes": 1_000}]}),
        )
    };
    let said = vec![("values_not_hashed", "scheme.hash".to_owned())];
    assert_eq!(of(json!({"name": "plb"})), said);
    assert_eq!(of(json!({"name": "plb", "hash": "mix"})), []);
    assert_eq!(of(json!({"name": "presto"})), [], "its tags are paths by name");
}

#[test]
fn a_flap_without_an_end_and_one_in_step_with_timeouts_are_told() {
    let (no_end, in_step) = ("flap_without_end", "flap_in_step_with_timeout");
    let (until, period) = ("fault[0].until_us".to_owned(), "fault[0].period_us".to_owned());
    assert_eq!(warned(flap(json!({}))), [(no_end, until.clone()), (in_step, period.clone())]);
    assert_eq!(warned(flap(json!({"until_us": 20_000}))), [(in_step, period)]);
    assert_eq!(warned(flap(json!({"period_us": 2_100}))), [(no_end, until)]);
    assert_eq!(warned(flap(json!({"period_us": 2_100, "until_us": 20_000}))), []);
    let late = flap(json!({"at_us": 20_000_000}));
    assert_eq!(warned(late), [("fault_after_end", "fault[0].at_us".to_owned())]);
}

#[test]
fn traffic_that_may_not_be_meant_is_told() {
    let udp = |change: Value| {
        let mut entry = json!({"kind": "udp", "src": 0, "dst": 1, "schedule": [{"rate_gbps": 1}]});
        change.as_object().into_iter().flatten().for_each(|(key, value)| entry[key] = value.clone());
        warned(json!({"traffic": [entry]}))
    };
    assert_eq!(udp(json!({})), [("udp_without_end", "traffic[0].end_us".to_owned())]);
    assert_eq!(udp(json!({"end_us": 5})), []);
    assert_eq!(udp(json!({"size_bytes": 5})), []);
    let incast = |repeat: u32, period: f64| {
        let entry = json!({"kind": "incast", "receiver": 0, "senders": 3, "size_bytes": 1_000, "repeat": repeat,
            "period_us": period});
        warned(json!({"preset": "datacenter", "traffic": [entry]}))
    };
    assert_eq!(incast(1, 0.0), []);
    assert_eq!(incast(3, 0.0), [("rounds_at_once", "traffic[0].period_us".to_owned())]);
    assert_eq!(incast(3, 2_000.0), [("rounds_in_step_with_timeout", "traffic[0].period_us".to_owned())]);
    assert_eq!(incast(3, 2_300.0), []);
}

#[test]
fn a_threshold_above_the_buffer_is_told() {
    let of =
        |switch: Value| warned(json!({"traffic": [{"kind": "permutation", "size_bytes": 1_000}], "switch": switch}));
    assert_eq!(of(json!({"ecn_threshold_us": 1e9})), [("marks_never", "switch.ecn_threshold_us".to_owned())]);
    let bytes = |mark: u64| of(json!({"buffer_bytes": 90_000, "ecn_threshold_bytes": mark}));
    assert_eq!(bytes(90_001), [("marks_never", "switch.ecn_threshold_bytes".to_owned())]);
    assert_eq!(bytes(89_000), []);
    assert_eq!(bytes(0), [], "nothing is to be marked");
    let packets = |mark: u64| of(json!({"buffer_packets": 100, "ecn_threshold_packets": mark}));
    assert_eq!(packets(101), [("marks_never", "switch.ecn_threshold_packets".to_owned())]);
    assert_eq!(packets(99), []);
}

#[test]
fn a_series_interval_that_rounds_to_nothing_is_refused() {
    let of = |interval: Value| {
        let traffic = json!([{"kind": "permutation", "size_bytes": 1_000}]);
        resolve(&json!({"traffic": traffic, "metrics": {"series_interval_us": interval}})).map(|_| ())
    };
    let error = of(json!(1e-7)).expect_err("a tenth of a picosecond").to_string();
    assert!(error.contains("expected 0 for no series, or a number of microseconds from 0.000001"), "{error}");
    of(json!(0)).unwrap();
    of(json!(0.000_001)).unwrap();
}

#[test]
fn a_series_finer_than_packets_is_told() {
    let of = |interval: f64| {
        let traffic = json!([{"kind": "permutation", "size_bytes": 1_000}]);
        warned(json!({"traffic": traffic, "metrics": {"series_interval_us": interval}}))
    };
    assert_eq!(of(100.0), []);
    assert_eq!(of(0.01), [("series_finer_than_packets", "metrics.series_interval_us".to_owned())]);
}

#[test]
fn texts_say_what_to_look_at() {
    let spec = resolve(&flap(json!({}))).unwrap_or_else(|error| panic!("{error}"));
    let texts: Vec<&str> = spec.warnings.iter().map(|warning| warning.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "The flap has no end: it goes on until all flows are done or the run ends at run.until_us = 10000000.",
            "A retransmission timeout of 10 ms and its doubles are multiples of this period: a packet that meets an \
             outage may meet another each time it is retransmitted. Compare with a period that does not divide it.",
        ]
    );
    let again = resolve(&spec.resolved).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, spec);
}
