//! ELAB in whole runs: discovery over hashing switches, shares by bandwidth, bursts, headers that take bytes; and its
//! codec against arbitrary bytes.

use crate::common::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use spinewise_policy::Wire;
use spinewise_policy::schemes::elab::header::{ELAB_PORT, Header, Info, NotAHeader, Shim, UDP_BYTES};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::spec::resolve;

/// The paper's simple case (§3.1): one flow of 10 Gbps, over paths of 3 and 6 Gbps, 160 µs there and back.
fn simple(params: Value, change: &Value) -> Value {
    let base = json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1, "host_rate_gbps": 10, "fabric_rate_gbps": 6,
            "host_delay_ns": 20_000, "fabric_delay_ns": 20_000, "override": [{"leaf": 0, "spine": 0, "rate_gbps": 3}]},
        "switch": {"buffer_bytes": 1_800_000, "ecn_threshold_bytes": 600_000},
        "transport": {"kind": "dctcp", "dupack_threshold": 0},
        "scheme": {"name": "elab", "params": params},
        "traffic": [{"kind": "flows", "list": [flow(0, 1, 1_000_000_000, 0)]}],
        "metrics": {"series_interval_us": 1000},
        "run": {"stop": "time", "until_us": 200_000},
    });
    merged(&base, change)
}

fn gbps(outcome: &Outcome, spine: u32, seconds: f64) -> f64 {
    of_link(outcome, &format!("leaf0->spine{spine}"), "bytes") as f64 * 8e-9 / seconds
}

#[test]
fn shares_go_by_bandwidth() {
    let outcome = run_both(&simple(json!({}), &json!({})));
    let (slow, fast) = (gbps(&outcome, 0, 0.2), gbps(&outcome, 1, 0.2));
    assert!((slow / fast - 0.5).abs() < 0.05, "{slow} and {fast} Gbps: B_1 / B_2 is 1/2");
    assert!(slow + fast > 0.9 * 9.0, "{slow} and {fast} Gbps of 9");
    assert!(series(&outcome, "elab.refused").is_empty(), "nothing here is a lie");
}

#[test]
fn a_burst_measures_the_bottleneck() {
    for rate in [1.0, 3.0, 6.0, 9.0] {
        let change = json!({"topology": {"spines": 1, "fabric_rate_gbps": rate, "override": []}});
        let outcome = run_both(&simple(json!({"t_explore_rtts": 10}), &change));
        let probed = series(&outcome, "elab.probed");
        assert!(!probed.is_empty(), "{rate} Gbps: no burst was answered");
        for (at, _, kbps) in probed {
            let error = kbps / (rate * 1e6) - 1.0;
            // Ten packets are nine gaps: one packet more or less is a ninth.
            assert!(error.abs() <= 1.0 / 9.0, "{kbps} kbit/s of {rate} Gbps at {at} ps");
        }
    }
}

#[test]
fn every_path_is_found_and_looked_for_again() {
    for spines in [4u32, 8, 16] {
        let flows: Vec<Value> = (0..4).map(|host| flow(host, host + 4, 30_000_000, 0)).collect();
        let spec = json!({
            "topology": {"leaves": 2, "spines": spines, "hosts_per_leaf": 4},
            "scheme": {"name": "elab", "params": {"rediscover_ms": 3}},
            "traffic": [{"kind": "flows", "list": flows}],
            "metrics": {"series_interval_us": 1000},
        });
        let outcome = run_both(&spec);
        all_finished(&outcome);
        let found = series(&outcome, "elab.paths");
        for host in 0..8 {
            let name = format!("host{host}");
            let of_host: Vec<f64> = found.iter().filter(|(_, who, _)| *who == name).map(|point| point.2).collect();
            assert!(of_host.len() > 1, "{name}, {spines} spines: {of_host:?}");
            assert!(of_host.iter().all(|&paths| paths == f64::from(spines)), "{name}, {spines} spines: {of_host:?}");
        }
        let carried = |spine| of_link(&outcome, &format!("leaf0->spine{spine}"), "bytes");
        let all: u64 = (0..spines).map(carried).sum();
        for spine in 0..spines {
            let share = carried(spine) as f64 * f64::from(spines) / all as f64;
            assert!((share - 1.0).abs() < 0.25, "spine {spine} of {spines} has {share} of an equal share");
        }
    }
}

/// A link that dies takes its path along: routes leave it, the next searches do not find it, and nothing goes there.
/// When it works again, a later search finds the path, and it gets its share.
#[test]
fn a_path_is_found_again_when_its_link_comes_back() {
    let spec = json!({
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 1, "host_rate_gbps": 10, "fabric_rate_gbps": 10},
        "scheme": {"name": "elab", "params": {"rediscover_ms": 2}},
        "transport": {"kind": "dctcp", "dupack_threshold": 0},
        "traffic": [{"kind": "flows", "list": [flow(0, 1, 50_000_000, 0)]}],
        "metrics": {"series_interval_us": 500},
        "fault": [{"kind": "down", "ends": ["leaf0", "spine3"], "at_us": 7_000, "until_us": 20_000}],
    });
    let outcome = run_both(&spec);
    all_finished(&outcome);
    let ms = |at: &u64| *at as f64 / 1e9;
    let found = series(&outcome, "elab.paths");
    let of_sender: Vec<(f64, f64)> =
        found.iter().filter(|(_, who, _)| who == "host0").map(|(at, _, paths)| (ms(at), *paths)).collect();
    let within = |from: f64, until: f64| of_sender.iter().filter(move |(at, _)| (from..until).contains(at));
    for (from, until, paths) in [(0.0, 7.0, 4.0), (11.0, 20.0, 3.0), (24.0, 40.0, 4.0)] {
        assert!(within(from, until).count() > 1, "{of_sender:?}");
        assert!(within(from, until).all(|(_, found)| *found == paths), "{from} to {until} ms: {of_sender:?}");
    }
    let used = series(&outcome, "link_utilisation");
    let share = |from: f64, until: f64| {
        let of_link = used.iter().filter(|(at, which, _)| which == "leaf0->spine3" && (from..until).contains(&ms(at)));
        let shares: Vec<f64> = of_link.map(|(.., share)| *share).collect();
        shares.iter().sum::<f64>() / shares.len() as f64
    };
    assert!(share(2.0, 6.0) > 0.15, "{}", share(2.0, 6.0));
    assert_eq!(share(10.0, 19.5), 0.0, "nothing goes there");
    assert!(share(28.0, 38.0) > 0.15, "{}", share(28.0, 38.0));
}

#[test]
fn graphs_of_any_depth_are_traced() {
    // Two leaves, with two switches in a row between them, on each of three ways.
    let cable = |a: u32, b: u32| json!([a, b, 10, 1000]);
    let (first, last) = (4, 5);
    let mut links = vec![cable(0, first), cable(1, first), cable(2, last), cable(3, last)];
    for way in 0..3 {
        let (near, far) = (6 + 2 * way, 7 + 2 * way);
        links.extend([cable(first, near), cable(near, far), cable(far, last)]);
    }
    let spec = |hops: u32| {
        json!({
            "topology": graph(4, 8, links.clone()),
            "scheme": {"name": "elab", "params": {"max_hops": hops}},
            "traffic": [{"kind": "flows", "list": [flow(0, 2, 20_000_000, 0)]}],
            "metrics": {"series_interval_us": 1000},
        })
    };
    let outcome = run_both(&spec(16));
    assert!(series(&outcome, "elab.paths").iter().all(|point| point.2 == 3.0));
    assert!(series(&outcome, "elab.paths").len() >= 2, "both hosts look for paths");
    let short = run_both(&spec(3));
    all_finished(&short);
    assert!(series(&short, "elab.paths").iter().all(|point| point.2 == 1.0), "four switches are more than three hops");
}

#[test]
fn headers_take_their_bytes_and_feedback_finds_its_way() {
    let base = |params: Value| simple(params, &json!({"run": {"until_us": 20_000}}));
    let per_packet = |params: Value| {
        let outcome = run_both(&base(params));
        let acks = counter(&outcome, "acks", "packets");
        assert_eq!(counter(&outcome, "acks", "bytes"), 40 * acks, "headers are counted apart, and once");
        let packets = acks + u64::from(outcome.records[0].packets);
        outcome.report["counters"]["scheme_header_bytes"].as_u64().expect("a number") as f64 / packets as f64
    };
    let (udp, vxlan) = (per_packet(json!({})), per_packet(json!({"tunnel": "vxlan"})));
    assert!((16.0..16.1).contains(&udp), "{udp} B: 8 of UDP, 8 of ELAB, 4 more with a rate now and then");
    assert!((58.0..58.1).contains(&vxlan), "{vxlan} B: VXLAN has 50");
    // UDP has no packets in return: feedback goes as messages.
    let one_way = json!({"traffic": [udp_flow(4.0)], "run": {"until_us": 20_000}});
    let outcome = run_both(&simple(json!({"record_rates": true}), &one_way));
    assert!(counter(&outcome, "messages", "packets") > 50);
    let last = |name: &str| series(&outcome, name).last().map(|point| point.2).unwrap_or_default();
    let (r0, r1) = (last("elab.r0"), last("elab.r1"));
    assert!(((r0 + r1) / 4e6 - 1.0).abs() < 0.05, "{r0} and {r1} kbit/s are what is sent");
    // 16 bytes of headers on 1500, and B is alike: half each.
    assert!((r0 / r1 - 1.0).abs() < 0.1, "{r0} and {r1} kbit/s");
}

fn udp_flow(rate: f64) -> Value {
    udp(0, 1, rate)
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |scheme: Value| {
        let error = resolve(&simple(json!({}), &json!({"scheme": scheme}))).expect_err("it is refused");
        (error.key.clone(), error.to_string())
    };
    let (key, text) = refused(json!({"path_tag": "explicit"}));
    assert_eq!(key, "scheme.path_tag");
    assert!(text.contains("\"outer\"") && text.contains("they do not number paths"), "{text}");
    assert_eq!(refused(json!({"path_tag": "inner"})).0, "scheme.path_tag");
    let (key, text) = refused(json!({"params": {"rate_interval_rtts": 300}}));
    assert_eq!(key, "scheme.params.rate_interval_rtts");
    assert!(text.contains("200") && text.contains("t_explore_rtts"), "{text}");
    let (key, text) = refused(json!({"params": {"most_paths": 3}}));
    assert_eq!(key, "scheme.params.most_paths");
    assert!(text.contains("2 paths"), "{text}");
    for (name, value) in
        [("alpha", json!(0)), ("c_burst", json!(1)), ("tunnel", json!("gre")), ("probe_group", json!(17))]
    {
        assert_eq!(refused(json!({"params": {name: value}})).0, format!("scheme.params.{name}"));
    }
    let blind = json!({"scheme": {"path_tag": "explicit", "params": {"discovery": "blind"}}});
    assert!(resolve(&simple(json!({}), &blind)).is_ok(), "told paths are tags by name");
}

fn info() -> impl Strategy<Value = Info> {
    (any::<u16>(), any::<u16>(), any::<bool>(), any::<u16>(), any::<Option<u32>>())
        .prop_map(|(vp_id, vp_rcnt, marked, burst_id, rate)| Info { vp_id, vp_rcnt, marked, burst_id, rate })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn headers_survive_the_wire(path: u16, info in info(), payload in 0usize..60_000, tunnel in 1u8..60) {
        let shim = Shim { path, info };
        let mut bytes = [0xaa; 32];
        let used = shim.encode(payload, &mut bytes).expect("there is room");
        prop_assert_eq!(used, if info.rate.is_some() { 20 } else { 16 });
        prop_assert_eq!(&bytes[used..], &[0xaa; 32][used..], "nothing behind it is touched");
        prop_assert_eq!(u16::from_be_bytes([bytes[2], bytes[3]]), ELAB_PORT);
        let mut datagram = bytes[..used].to_vec();
        datagram.resize(used + payload, 7);
        prop_assert_eq!(Shim::decode(&datagram), Ok((shim, used..used + payload)));
        for cut in 0..used {
            prop_assert_eq!(shim.encode(payload, &mut bytes[..cut]), Err(NotAHeader::Short { needed: used, got: cut }));
            let short = matches!(Shim::decode(&datagram[..cut]), Err(NotAHeader::Short { .. }));
            prop_assert!(short, "{} bytes of {}", cut, used);
        }
        let mut carried = [0; 16];
        let header = Header { tunnel, info };
        header.put(&mut carried);
        prop_assert_eq!(Header::get(&carried), header);
        prop_assert_eq!(header.wire(), u32::from(tunnel) + (used - UDP_BYTES) as u32);
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40), ours: bool) {
        let mut bytes = bytes;
        if ours && bytes.len() >= 8 {
            bytes[2..4].copy_from_slice(&ELAB_PORT.to_be_bytes());
            let length = bytes.len() as u16;
            bytes[4..6].copy_from_slice(&length.to_be_bytes());
        }
        if let Ok((info, used)) = Info::decode(&bytes) {
            let mut again = [0; 12];
            prop_assert_eq!(info.encode(&mut again), Ok(used));
            prop_assert_eq!(&again[..4], &bytes[..4]);
            prop_assert_eq!(again[5], bytes[5] & 3, "reserved bits are not kept");
            prop_assert_eq!(&again[6..used], &bytes[6..used]);
        } else {
            prop_assert!(bytes.len() < 12);
        }
        match Shim::decode(&bytes) {
            Ok((shim, inner)) => {
                prop_assert!(inner.start <= inner.end && inner.end <= bytes.len());
                let mut again = [0; 20];
                let used = shim.encode(inner.len(), &mut again).expect("there is room");
                prop_assert_eq!(used, inner.start);
                prop_assert_eq!(&again[..6], &bytes[..6]);
            }
            Err(NotAHeader::OtherPort(port)) => prop_assert_ne!(port, ELAB_PORT),
            Err(NotAHeader::Short { needed, got }) => prop_assert!(needed > got),
            Err(NotAHeader::Length(length)) => prop_assert!(usize::from(length) < 16),
        }
    }
}
