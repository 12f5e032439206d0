//! Requirements on every scheme of the registry, and on the shell towards them: the loopback schemes check.

use crate::common::{counter, events, merged, run, run_with, schemes_for_any_fabric, series, total, without_trimming};
use serde_json::{Value, json};
use spinewise_policy::schemes::loopback::{Count, Rule};
use spinewise_policy::site::Ports;
use spinewise_policy::{Change, Hashes, Layout, Port, Queue, Shape, SwitchView, Tier, Time};
use spinewise_sim::bank::{Call, Called, Chosen, NO_PEER, Places, REGISTRY, Room, Tags};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;
use std::collections::BTreeMap;

/// Small fabrics of every shape: name, `[topology]`.
fn fabrics() -> Vec<(&'static str, Value)> {
    let base = json!({"leaves": 3, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                      "host_delay_ns": 1000, "fabric_delay_ns": 2000});
    let with = |change: Value| merged(&base, &change);
    vec![
        ("symmetric", base.clone()),
        ("one spine", with(json!({"spines": 1}))),
        ("one host a leaf", with(json!({"hosts_per_leaf": 1, "spines": 4}))),
        ("one leaf", with(json!({"leaves": 1, "hosts_per_leaf": 4}))),
        ("parallel links", with(json!({"parallel_links": 3, "switch_latency_ns": 250}))),
        (
            "asymmetric",
            with(json!({"spines": 4, "override": [
                {"spine": 0, "rate_gbps": 3}, {"leaf": 1, "spine": 1, "delay_ns": 60000}, {"leaf": 2, "spine": 2, "up": false},
                {"leaf": 0, "spine": 3, "direction": "down", "up": false}]})),
        ),
        (
            "asymmetric, parallel",
            with(json!({"parallel_links": 2, "override": [
                {"link": 1, "spine": 0, "rate_gbps": 1}, {"leaf": 0, "spine": 1, "link": 0, "up": false},
                {"leaf": 2, "spine": 0, "direction": "up", "up": false}]})),
        ),
        (
            "one way between two leaves, two ways back",
            with(json!({"leaves": 2, "override": [{"leaf": 0, "spine": 0, "direction": "up", "up": false}]})),
        ),
    ]
}

/// All to all, sizes from one packet to hundreds; buffers that drop, marks that matter.
fn spec(topology: &Value, scheme: Value) -> Value {
    without_trimming(&json!({
        "seed": 5, "topology": topology, "scheme": scheme,
        "switch": {"buffer_packets": 30, "ecn_threshold_packets": 8},
        // Acknowledgements that wait: a receiver then hears of a sender long before it answers.
        "transport": {"min_rto_us": 1000, "initial_rto_us": 1000, "delayed_ack_segments": 3, "delayed_ack_timeout_us": 150},
        "traffic": [
            {"kind": "poisson", "cdf": "ali_storage", "load": 0.6, "duration_us": 1500, "pairs": "any"},
            {"kind": "incast", "receiver": 0, "senders": 2, "size_bytes": 60000, "start_us": 300},
        ],
        "run": {"until_us": 200_000}, "metrics": {"series_interval_us": 100},
    }))
}

fn names(site: &str) -> Vec<&'static str> {
    schemes_for_any_fabric().filter(|entry| entry.site == site).map(|entry| entry.name()).collect()
}

/// Requires one outcome with any of these tunings, in which all flows finish.
fn the_same(spec: &Value, tunings: &[(&str, Tuning)], what: &str) -> Outcome {
    let reference = run(spec);
    for &(how, tuning) in tunings {
        let again = run_with(spec, tuning);
        assert_eq!(reference.records, again.records, "{what}: {how}");
        assert_eq!(reference.hash, again.hash, "{what}: {how}");
    }
    assert_eq!(reference.report["finished"], reference.report["flows"], "{what}: all flows finish");
    reference
}

#[test]
fn every_scheme_runs_on_every_fabric_to_one_result() {
    let all_hooks = Tuning { all_hooks: true, window_divisor: 3, ..Tuning::default() };
    let tunings = [("all hooks", all_hooks), ("events", events())];
    for (fabric, topology) in fabrics() {
        let mut traffic = None;
        for entry in schemes_for_any_fabric() {
            let name = entry.name();
            let outcome = the_same(&spec(&topology, json!({"name": name})), &tunings, &format!("{name} on {fabric}"));
            let hash = outcome.report["traffic_hash"].clone();
            assert_eq!(*traffic.get_or_insert(hash.clone()), hash, "{name} on {fabric}: traffic is the same for all");
        }
    }
}

#[test]
fn every_host_scheme_runs_over_every_fabric_scheme_with_every_tag_it_takes() {
    let (_, topology) = fabrics().swap_remove(5);
    let writes = |name: &str| REGISTRY.iter().any(|entry| entry.name() == name && entry.header);
    let hashes = |name: &str| REGISTRY.iter().any(|entry| entry.name() == name && entry.hashes != Hashes::Nothing);
    let place = Shape { tier: Tier::Host, hosts: 6, leaves: 3, ports: 1, ways: 4 };
    // Each pair runs twice and no more: there are thousands.
    let tunings = [("all hooks, events", Tuning { all_hooks: true, ..events() })];
    let runs_over_all = |host: &str| {
        let draws = Chosen::by_name(host).is_some_and(|chosen| chosen.layout(&place).draws_tags);
        // One header per packet, one scheme that writes it; and values of a host need switches that hash them.
        let clash = |fabric: &str| writes(host) && writes(fabric) || draws && !hashes(fabric);
        let mut taken = 0;
        for tag in ["explicit", "outer", "inner"] {
            for fabric in names("switch") {
                let spec = spec(&topology, json!({"name": host, "fabric": fabric, "path_tag": tag}));
                match spinewise_sim::spec::resolve(&spec) {
                    Ok(_) => drop(the_same(&spec, &tunings, &format!("{host} by {tag} over {fabric}"))),
                    Err(error) if error.key == "scheme.fabric" => assert!(clash(fabric), "{error}"),
                    Err(error) => assert_eq!(error.key, "scheme.path_tag", "{host} by {tag} over {fabric}: {error}"),
                }
                taken += u32::from(spinewise_sim::spec::resolve(&spec).is_ok());
            }
        }
        let fit = names("switch").into_iter().filter(|fabric| !clash(fabric)).count();
        assert!(taken >= fit as u32, "{host}: one kind of tags fits every scheme");
    };
    // The longest of all tests: it takes two processors.
    let hosts = names("host");
    let (some, others) = hosts.split_at(hosts.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| others.iter().for_each(|host| runs_over_all(host)));
        some.iter().for_each(|host| runs_over_all(host));
    });
}

/// There is nothing to balance with one way from rack to rack: every scheme that sends no packets of its own is the
/// same, apart from header bytes. CLOVE must then hide no mark once the only path has been marked and counts as
/// congested.
#[test]
fn with_one_path_all_schemes_without_packets_of_their_own_are_equal() {
    let (_, topology) = fabrics().swap_remove(1);
    let mut seen = BTreeMap::<String, Vec<&str>>::new();
    for entry in schemes_for_any_fabric().filter(|entry| !entry.name().contains("loopback")) {
        let mut scheme = json!({"name": entry.name(), "header_bytes": "free"});
        if entry.name() == "clove" {
            // Acknowledgements that wait bring marks later than a round-trip time.
            scheme["params"] = json!({"congested_us": 1e6});
        }
        let outcome = run(&spec(&topology, scheme));
        let own = counter(&outcome, "probes", "packets") + counter(&outcome, "messages", "packets");
        if own == 0 {
            let flows: Vec<_> = outcome.records.iter().map(|r| (r.fct, r.packets, r.out_of_order)).collect();
            seen.entry(format!("{flows:?}")).or_default().push(entry.name());
        }
    }
    let groups: Vec<_> = seen.into_values().collect();
    assert!(groups.len() == 1 && groups[0].len() >= 6, "{groups:?}");
}

// ---- loopback -----------------------------------------------------------------------------------------------------

/// The last value of each count, the highest of all devices, and the broken promises.
fn witnessed(outcome: &Outcome, scheme: &str, counts: &mut BTreeMap<&'static str, f64>) -> Vec<String> {
    for (count, _) in Count::TABLE {
        let most = series(outcome, &format!("{scheme}.{count}")).iter().map(|point| point.2).fold(0.0, f64::max);
        let entry = counts.entry(count).or_default();
        *entry = entry.max(most);
    }
    series(outcome, &format!("{scheme}.violation"))
        .into_iter()
        .map(|(at, who, rule)| format!("{at} ps {who}: {}", Rule::TABLE[rule as usize].0))
        .collect()
}

/// Every way to set up the loopback schemes.
fn loopbacks() -> Vec<Value> {
    vec![
        json!({"name": "loopback_host"}),
        json!({"name": "loopback_host", "params": {"mask_ecn": false, "reroute_packets": 1, "tick_us": 7}}),
        json!({"name": "loopback_host", "params": {"give_up_us": 9, "alarm_us": 3}}),
        json!({"name": "loopback_host", "fabric": "rps", "header_bytes": "free"}),
        json!({"name": "loopback_host", "fabric": "letflow", "params": {"alarm_us": 0.5}}),
        json!({"name": "loopback_host", "path_tag": "outer"}),
        json!({"name": "loopback_switch"}),
        json!({"name": "loopback_switch", "params": {"release": "timer", "hold_us": 3, "queues": 2}}),
        json!({"name": "loopback_switch", "params": {"release": "packet", "hold_every": 2, "hold_packets": 1}}),
        json!({"name": "loopback_switch", "params": {"give_up_us": 6, "hold_every": 3, "hold_us": 200, "queues": 1}}),
        json!({"name": "loopback_switch", "params": {"flow_idle_us": 1, "alarm_us": 40, "consume": false, "tick_us": 9}}),
        // The tags are hashed: an explicit one asks nothing of the first switch, which then writes no header.
        json!({"name": "presto", "path_tag": "outer", "fabric": "loopback_switch"}),
        json!({"name": "pdlb", "path_tag": "outer", "fabric": "loopback_switch", 
               "fabric_params": {"flow_idle_us": 5, "hold_us": 60}}),
    ]
}

#[test]
fn the_shell_keeps_its_promises() {
    let mut counts = BTreeMap::new();
    for (fabric, topology) in fabrics() {
        for scheme in loopbacks() {
            for (ports, ecn_at) in [("fifo", "dequeue"), ("commit_at_start", "enqueue")] {
                let change = json!({"switch": {"ports": ports, "ecn_at": ecn_at}});
                let outcome = run(&merged(&spec(&topology, scheme.clone()), &change));
                let mut broken = Vec::new();
                for name in ["name", "fabric"].iter().filter_map(|key| scheme[key].as_str()) {
                    if name.starts_with("loopback") {
                        broken.extend(witnessed(&outcome, name, &mut counts));
                    }
                }
                broken.truncate(5);
                assert!(broken.is_empty(), "{scheme} on {fabric}, {ports}, {ecn_at}: {broken:#?}");
                assert_eq!(outcome.report["finished"], outcome.report["flows"], "{scheme} on {fabric}");
            }
        }
    }
    println!("{counts:?}");
    assert_eq!(counts.remove("violations"), Some(0.0));
    for (count, most) in counts {
        assert!(most > 0.0, "{count} was never used");
    }
}

/// Packets that open and close connections are packets of their flow: none leaves before its start is reported or after
/// its end.
#[test]
fn handshakes_and_closings_are_within_the_life_of_a_flow() {
    let mut counts = BTreeMap::new();
    for (fabric, topology) in fabrics() {
        let scheme = json!({"name": "loopback_host", "params": {"mask_ecn": false}});
        let change = json!({"preset": "ns3-hermes", "transport": {"syn_timeout_us": 1000}});
        let outcome = run(&merged(&spec(&topology, scheme), &change));
        let broken = witnessed(&outcome, "loopback_host", &mut counts);
        assert!(broken.is_empty(), "{fabric}: {:#?}", &broken[..broken.len().min(5)]);
        assert_eq!(outcome.report["finished"], outcome.report["flows"], "{fabric}");
        assert!(counter(&outcome, "handshakes", "packets") >= 3 * outcome.records.len() as u64, "SYN, ACK, ACK of FIN");
    }
    assert!(counts["flow_ends"] > 0.0 && counts["timeouts"] > 0.0, "{counts:?}");
}

/// A held queue is released behind earlier packets and ahead of later ones, so on one path nothing overtakes.
#[test]
fn a_released_queue_keeps_the_order_of_its_flow() {
    for ports in ["fifo", "commit_at_start"] {
        for (release, inverted) in [("timer", false), ("packet", true)] {
            let spec = json!({
                "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 2},
                "scheme": {"name": "loopback_switch", "params": {"release": release, "hold_us": 15}},
                "switch": {"buffer_packets": 10000, "ports": ports},
                "traffic": [{"kind": "flows", "list": [crate::common::flow(0, 2, 3_000_000, 0), crate::common::flow(1, 3, 3_000_000, 0)]}],
                "metrics": {"series_interval_us": 100},
            });
            let outcome = run(&spec);
            let mut counts = BTreeMap::new();
            assert_eq!(witnessed(&outcome, "loopback_switch", &mut counts), Vec::<String>::new());
            assert!(counts["held"] > 50.0, "{counts:?}");
            assert_eq!(counter(&outcome, "dropped", "packets"), 0);
            assert_eq!(total(&outcome, |record| record.out_of_order) > 0, inverted, "{release}, {ports}");
        }
    }
}

/// Held packets fill the buffer of their port, in packets as in bytes and even if the line is free, but are not in the
/// queue: others pass as long as the line takes them at once.
#[test]
fn held_packets_fill_the_buffer_of_their_port() {
    let udp = |src: u32, at_us: u32| {
        json!({"kind": "udp", "src": src, "dst": 2, "packet_bytes": 1000, "size_bytes": 40_000,
               "schedule": [{"at_us": at_us, "rate_gbps": 5}]})
    };
    let params = json!({"hold_every": 1, "queues": 1, "release": "timer", "hold_us": 10_000, "tick_us": 50_000});
    for buffer in [json!({"buffer_packets": 5}), json!({"buffer_bytes": 5000})] {
        for slow in [false, true] {
            let spec = json!({
                "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                             "override": [{"host": 2, "rate_gbps": if slow { 1 } else { 10 }}]},
                "scheme": {"name": "loopback_switch", "params": params}, "switch": buffer,
                "traffic": [udp(0, 0), udp(1, 1000)], "run": {"stop": "time", "until_us": 5000},
            });
            let outcome = run(&spec);
            let last = |what| crate::common::of_link(&outcome, "leaf1->host2", what);
            let passed = outcome.records.iter().map(|record| record.arrived).collect::<Vec<_>>();
            assert_eq!(counter(&outcome, "in_network_at_stop", "packets"), 5, "as many as there is room for: {spec}");
            // 40 packets in slightly more than 64 us, of 8 us each: after that only those that find the line free.
            assert_eq!(passed, if slow { [0, 8] } else { [0, 40] }, "{spec}");
            assert_eq!(last("drops"), 80 - 5 - u64::from(passed[1]), "{spec}");
            assert_eq!(last("longest_queue_bytes"), 0, "{spec}");
        }
    }
}

/// Ports of a switch of which nothing is known.
struct NoPorts;

impl Ports for NoPorts {
    fn leaf_of(&self, _: u32) -> u32 {
        0
    }
    fn queue_bytes(&self, _: Port) -> u64 {
        0
    }
    fn queue_packets(&self, _: Port) -> u32 {
        0
    }
    fn rate(&self, _: Port) -> u64 {
        1
    }
    fn free_queue(&self, _: Port) -> Option<Queue> {
        None
    }
}

#[test]
fn a_link_that_changes_is_told() {
    let shape = Shape { tier: Tier::Leaf, hosts: 4, leaves: 2, ports: 4, ways: 2 };
    let places = Places { shapes: vec![shape], kinds: vec![0, 0], tags: Tags::Explicit };
    let mut bank = Chosen::by_name("loopback_switch").expect("it is there").seat(&places, 1, Called::AsItSays);
    assert!(matches!(bank.layout(0), Layout { queues: 4, .. }));
    let view = SwitchView {
        switch: 0,
        tier: Tier::Leaf,
        candidates: &[],
        host_ports: 2,
        salt: 0,
        ports: &NoPorts,
        free_queues: &[],
    };
    for (port, change, kept) in [
        (Port(2), Change::Down, true),
        (Port(3), Change::Down, true),
        (Port(2), Change::Up, true),
        (Port(2), Change::Up, false),
        (Port(3), Change::Down, false),
    ] {
        bank.link(Call { seat: 0, now: Time(5), room: Room::Switch(view), peer: NO_PEER }, port, change);
        assert_eq!(bank.has_asked(), !kept, "{port:?} {change:?}: rows are per port, and a point says what was broken");
        if bank.has_asked() {
            let asked = bank.asked();
            bank.give_back(asked);
        }
    }
}
