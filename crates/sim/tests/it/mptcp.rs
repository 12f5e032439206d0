//! MPTCP over fabrics: what RFC 6356 §2 demands of the coupling, what RFC 8684 demands of the data, and that a
//! connection of one subflow is NewReno.

use crate::common::{all_finished, counter, flow, merged, of_link, run_both};
use serde_json::{Value, json};
use spinewise_policy::Rng;
use spinewise_sim::outcome::Outcome;

/// NewReno, and MPTCP with one subflow whose options are free.
fn single(change: &Value, transport: &Value) -> [Outcome; 2] {
    [json!({"kind": "newreno"}), json!({"kind": "mptcp", "subflows": 1, "mptcp_options": "free"})].map(|kind| {
        let spec = json!({
            "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 4}, "transport": merged(&kind, transport),
            "run": {"until_us": 400_000},
        });
        let outcome = run_both(&merged(&spec, change));
        all_finished(&outcome);
        outcome
    })
}

/// Checks that every flow's events, to the picosecond, and every link's traffic are the same.
fn assert_same(change: &Value, transport: &Value) -> Outcome {
    let [tcp, mptcp] = single(change, transport);
    assert_eq!(tcp.records, mptcp.records, "{change} {transport}");
    assert_eq!(tcp.report["links"], mptcp.report["links"], "{change} {transport}");
    assert_eq!(tcp.report["stop_ps"], mptcp.report["stop_ps"]);
    mptcp
}

#[test]
fn one_subflow_is_new_reno_to_the_picosecond() {
    let lone = json!({"traffic": [{"kind": "flows", "list": [flow(0, 5, 3_000_001, 100)]}]});
    let list: Vec<Value> = (0..12).map(|n| flow(n % 4, 4 + n % 3, 123_457 * (1 + n as u64), 777 * n as u64)).collect();
    let crowd = json!({"traffic": [{"kind": "flows", "list": list}], "switch": {"buffer_packets": 20}});
    let many = json!({"traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.7, "max_flows": 60}],
                      "switch": {"buffer_packets": 30, "nics": "queue"}});
    let mut lost = 0;
    for recovery in ["newreno", "sack", "rack"] {
        for transport in [
            json!({}),
            json!({"handshake": true, "fin": true}),
            json!({"delayed_ack_segments": 2, "max_burst_segments": 2, "initial_ssthresh_segments": 12}),
            json!({"max_window_segments": 15, "handshake": true, "delayed_ack_segments": 3}),
        ] {
            let transport = merged(&transport, &json!({"recovery": recovery, "min_rto_us": 2000}));
            for change in [&lone, &crowd, &many] {
                let outcome = assert_same(change, &transport);
                lost += counter(&outcome, "dropped", "packets");
            }
        }
    }
    assert!(lost > 1000, "little was lost: {lost}");
}

/// Each byte once and in order: the record of the receiver counts new bytes of the data, and a flow ends with the last.
#[test]
fn every_byte_arrives_once_over_unlike_paths() {
    let slow =
        json!([{"spine": 0, "direction": "up", "rate_gbps": 1}, {"spine": 1, "direction": "up", "delay_ns": 90_000}]);
    for recovery in ["newreno", "sack", "rack"] {
        for (scheme, buffer) in [("ecmp", 8), ("rps", 12), ("letflow", 200)] {
            let outcome = run_both(&json!({
                "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 3, "override": slow},
                "switch": {"buffer_packets": buffer}, "scheme": {"name": scheme},
                "transport": {"kind": "mptcp", "recovery": recovery, "min_rto_us": 1000, "handshake": true},
                "traffic": [{"kind": "flows", "list": (0..6).map(|n| flow(n % 3, 3 + n / 2, 700_001, 0)).collect::<Vec<_>>()}],
                "run": {"until_us": 2_000_000},
            }));
            all_finished(&outcome);
            assert!(outcome.records.iter().all(|record| record.received == 700_001));
            assert!(counter(&outcome, "dropped", "packets") > 0 || scheme == "letflow");
        }
    }
}

/// Bytes of data that each flow has delivered when a run is cut short.
fn received(spec: &Value) -> Vec<f64> {
    crate::common::run(spec).records.iter().map(|record| record.received as f64).collect()
}

/// Mean, and half of a 95 % interval, of ten values.
fn mean_of_ten(values: [f64; 10]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / 10.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 9.0;
    // Student's t for 9 degrees of freedom.
    (mean, 2.262 * (variance / 10.0).sqrt())
}

/// Without an end.
const LONG: u64 = 1 << 40;

/// Short flows over one pair of hosts, a tenth of 100 Mbps on average: without them drop-tail queues synchronize with
/// the windows, and the same flow always loses.
fn noise(seed: u64, src: u32, dst: u32, until_ms: u64) -> Vec<Value> {
    let mut rng = Rng::stream(seed, "noise", u64::from(src));
    let mut at = 0;
    let mut flows = Vec::new();
    while at < until_ms * 1_000_000 {
        // Gaps of 3.6 ms, sizes of 4.5 kB on average.
        at += u64::from(rng.below(7_200_000));
        flows.push(flow(src, dst, 1000 + u64::from(rng.below(7000)), at));
    }
    flows
}

/// Timers for round trips of 10 ms and more.
fn slow_clock() -> Value {
    json!({"kind": "mptcp", "recovery": "sack", "min_rto_us": 10_000, "initial_rto_us": 100_000})
}

/// Returns how many times the rate of one TCP beside it a connection of `subflows` gets, over one line of 100 Mbps.
fn share_beside_tcp(seed: u64, subflows: u32) -> f64 {
    let slow = json!([{"spine": 0, "direction": "up", "rate_gbps": 0.1}]);
    let mut singles = vec![flow(1, 4, LONG, 104_729 * seed)];
    singles.extend(noise(seed, 2, 5, 12_000));
    let spec = json!({
        "seed": seed,
        "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 3, "fabric_delay_ns": 2_500_000, "override": slow},
        "switch": {"buffer_packets": 100}, "transport": slow_clock(),
        "traffic": [{"kind": "flows", "subflows": subflows, "list": [flow(0, 3, LONG, 0)]},
                    {"kind": "flows", "subflows": 1, "list": singles}],
        "run": {"stop": "time", "until_us": 12_000_000},
    });
    let (bytes, specs) = (received(&spec), crate::common::run(&spec).specs);
    let of = |src: u32| bytes[specs.iter().position(|flow| flow.src == src).expect("a flow of its own")];
    of(0) / of(1)
}

/// RFC 6356 §2, goal 2: no more than a single-path TCP would take on a path shared by all subflows. It takes about as
/// much because the increase balances halving at random losses.
#[test]
fn subflows_that_share_a_bottleneck_take_the_share_of_one_tcp() {
    let shares = |subflows: u32| mean_of_ten(std::array::from_fn(|seed| share_beside_tcp(seed as u64, subflows)));
    for (subflows, least, most) in [(1, 0.8, 1.25), (2, 0.7, 1.3)] {
        let (mean, half) = shares(subflows);
        println!("{subflows} subflows: {mean:.3} ± {half:.3} of one TCP");
        assert!(half < 0.25 && mean + half > least && mean - half < most, "{subflows} subflows: {mean} ± {half}");
        assert!(mean > least && mean < most, "{subflows} subflows: {mean} ± {half}");
    }
}

/// Two ways between hosts 0 and 1, over lines of these rates (Gbps) at 10 ms there and back, each with its own rivals,
/// single-path TCPs that meet no others, and with noise. Returns the rates, as shares of 100 Mbps: of the connection of
/// `subflows` on either way, and the mean of the rivals there.
fn two_ways(seed: u64, subflows: u32, rates: [f64; 2], rivals: [u32; 2]) -> [[f64; 2]; 2] {
    const MS: u64 = 10_000;
    let hosts = 6 + 2 * (rivals[0] + rivals[1]);
    let [from, to, a, a_end, b, b_end] = std::array::from_fn(|n| hosts + n as u32);
    let link = |a: u32, b: u32, rate: f64, delay: u64| json!({"a": a, "b": b, "rate_gbps": rate, "delay_ns": delay});
    let mut links = vec![link(from, a, 10.0, 1000), link(from, b, 10.0, 1000)];
    links.extend([link(to, a_end, 10.0, 1000), link(to, b_end, 10.0, 1000)]);
    links.extend([link(a, a_end, rates[0], 5_000_000), link(b, b_end, rates[1], 5_000_000)]);
    links.extend([link(0, from, 10.0, 1000), link(1, to, 10.0, 1000)]);
    let mut singles = Vec::new();
    let pairs = [(a, a_end, rivals[0] + 1), (b, b_end, rivals[1] + 1)];
    let mut next = 2;
    let mut first_rival = [0; 2];
    for (way, (near, far, n)) in pairs.into_iter().enumerate() {
        first_rival[way] = next + 2;
        for pair in 0..n {
            links.extend([link(next, near, 10.0, 1000), link(next + 1, far, 10.0, 1000)]);
            singles.extend(match pair {
                0 => noise(seed, next, next + 1, MS),
                _ => vec![flow(next, next + 1, LONG, 104_729 * u64::from(next))],
            });
            next += 2;
        }
    }
    let outcome = crate::common::run(&json!({
        "seed": seed, "topology": crate::common::graph(hosts, 6, links), "switch": {"buffer_packets": 100},
        "transport": merged(&slow_clock(), &json!({"subflows": 4})),
        "traffic": [{"kind": "flows", "subflows": subflows, "list": [flow(0, 1, LONG, 0)]},
                    {"kind": "flows", "subflows": 1, "list": singles}],
        "run": {"stop": "time", "until_us": 1000 * MS},
    }));
    let share = |bytes: f64| bytes * 8.0 / (MS as f64 * 1e-3) / 1e8;
    let mine = [a, b].map(|near| share(of_link(&outcome, &format!("switch{from}->switch{near}"), "bytes") as f64));
    let rival = |way: usize| {
        let hosts = (0..rivals[way]).map(|n| first_rival[way] + 2 * n);
        let of = |src: u32| outcome.specs.iter().position(|flow| flow.src == src).expect("a rival");
        let bytes: u64 = hosts.map(|src| outcome.records[of(src)].received).sum();
        share(bytes as f64 / f64::from(rivals[way].max(1)))
    };
    [mine, [rival(0), rival(1)]]
}

/// Both lines are full, less the noise of about 10 Mbps each: alone it takes everything.
#[test]
fn two_disjoint_paths_are_used_in_full() {
    let [[a, b], _] = two_ways(1, 4, [0.1, 0.05], [0, 0]);
    println!("alone: {a:.3} and {b:.3} of 100 Mbps");
    assert!(a > 0.8 && b > 0.35, "{a} {b}");
}

/// RFC 6356 §2, goals 1 and 3: with one rival on the first path and three on the other it gets about what a TCP gets on
/// the first, and takes little from those who have less. Runs whose subflows are all hashed to one path say nothing.
#[test]
fn traffic_moves_off_the_congested_path() {
    let runs: Vec<_> = (1..=12).map(|seed| two_ways(seed, 4, [0.1, 0.1], [1, 3])).collect();
    let mixed: Vec<_> = runs.iter().filter(|[mine, _]| mine[0] > 0.0 && mine[1] > 0.0).take(10).collect();
    let over = |of: fn(&[[f64; 2]; 2]) -> f64| mean_of_ten(std::array::from_fn(|run| of(mixed[run])));
    let (best, best_half) = over(|[mine, rivals]| (mine[0] + mine[1]) / rivals[0]);
    let (worst, worst_half) = over(|[mine, rivals]| mine[1] / rivals[1]);
    println!("all {best:.3} ± {best_half:.3} of a TCP there; {worst:.3} ± {worst_half:.3} of one on the worse path");
    assert!(best + best_half > 1.0 && best < 1.6, "goal 1: {best} ± {best_half}");
    assert!(worst + worst_half < 0.6, "goal 3: {worst} ± {worst_half}");
}

/// Every option has its bytes: the difference to the same run without them, packet by packet.
#[test]
fn options_are_bytes_on_the_wire() {
    let run = |options: &str| {
        let outcome = run_both(&json!({
            "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 1, "host_delay_ns": 50_000},
            "transport": {"kind": "mptcp", "subflows": 3, "mptcp_options": options, "mss_bytes": 1000, "handshake": true},
            "traffic": [{"kind": "flows", "list": [flow(0, 1, 400_000, 0)]}],
        }));
        all_finished(&outcome);
        assert_eq!(counter(&outcome, "dropped", "packets"), 0);
        let [data, shaken, acks] = ["created", "handshakes", "acks"]
            .map(|fate| ["packets", "bytes"].map(|unit| counter(&outcome, fate, unit)));
        (data[1] - shaken[1] - acks[1], shaken, acks)
    };
    let ((data, shaken, acks), (free, bare, plain)) = (run("charged"), run("free"));
    // MP_CAPABLE 4 + 20, MP_JOIN twice 12 + 24.
    assert_eq!((shaken[0], bare[0]), (6, 6));
    assert_eq!(shaken[1] - bare[1], 24 + 2 * 36);
    assert_eq!(data - free, 400 * 20);
    // Three SYN-ACKs (12, 16, 16) and two acknowledgements of MP_JOIN without an option.
    assert_eq!((acks[0], plain[0]), (405, 405));
    assert_eq!(acks[1] - plain[1], 400 * 8 + 12 + 2 * 16);
}

/// RFC 8684 §3.1 and §3.2: a round trip for the first handshake, one for the first data, two for each join.
#[test]
fn subflows_join_after_the_first_data() {
    // The window of the first subflow is full after ten segments; the rest waits for the others or the second round
    // trip.
    let fct = |subflows: u32, handshake: bool| {
        let outcome = run_both(&json!({
            "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": 1, "host_delay_ns": 1_000_000},
            "transport": {"kind": "mptcp", "subflows": subflows, "handshake": handshake, "max_window_segments": 10},
            "traffic": [{"kind": "flows", "list": [flow(0, 1, 1440 * 100, 0)]}],
        }));
        all_finished(&outcome);
        outcome.records[0].fct / 1_000_000_000
    };
    // Round trips of 4 ms. One subflow: 10 windows of 10, the last one way. With a bound of 10 for all together, more
    // subflows change nothing.
    assert_eq!((fct(1, false), fct(1, true), fct(4, true)), (38, 42, 42));
}

/// A subflow whose path is a tenth as fast holds nothing up for long: data that it gives up as lost goes on another.
#[test]
fn what_a_dead_path_holds_goes_over_another() {
    // Way 0 loses nearly everything: it has room for one packet, and 20 Mbps.
    let bad = json!([{"spine": 0, "direction": "up", "rate_gbps": 0.02}]);
    let outcome = run_both(&json!({
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "override": bad}, "switch": {"buffer_packets": 3},
        "transport": {"kind": "mptcp", "min_rto_us": 1000, "initial_rto_us": 1000},
        "traffic": [{"kind": "flows", "list": [flow(0, 2, 5_000_000, 0), flow(1, 3, 5_000_000, 0)]}],
        "run": {"until_us": 3_000_000},
    }));
    all_finished(&outcome);
    let [data, acked]: [u64; 2] = [outcome.records[0].retransmits.into(), outcome.records[0].timeouts.into()];
    assert!(data > 0 && acked > 0, "{data} {acked}");
}

/// The last segment, which is short, goes over the healthy path before the timeout of the dead one: data that the dead
/// path holds still goes over the healthy one, behind the short segment.
#[test]
fn what_a_dead_path_holds_goes_behind_the_last_segment() {
    for recovery in ["newreno", "sack", "rack"] {
        for (seed, subflows) in [(2, 4), (3, 2), (4, 2), (5, 3)] {
            for size in [288_000, 288_001, 300_000, 1_000_000] {
                let outcome = run_both(&json!({
                    "preset": "datacenter", "seed": seed, "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1},
                    "transport": {"kind": "mptcp", "subflows": subflows, "recovery": recovery},
                    "detection": {"mode": "never"}, "run": {"until_us": 2_000_000},
                    "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": 50, "may_cut_off": true}],
                    "traffic": [{"kind": "flows", "list": [flow(0, 1, size, 0)]}],
                }));
                let is_whole = outcome.report["finished"] == 1;
                // If all subflows hash to the dead spine, nothing arrives after the fault.
                let cut_off = outcome.records[0].received < 100_000;
                assert!(is_whole || cut_off, "{recovery}, seed {seed}, {subflows} subflows, {size} bytes");
                assert!(is_whole || (seed, subflows) != (3, 2), "it has a path of each");
            }
        }
    }
}
