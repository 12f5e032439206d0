//! Each kind of fault in whole runs, against separate arithmetic: lower rates, longer delays, black holes, switches
//! that die with their packets, one direction at a time, and hellos that do not arrive.

use crate::common::{counter, events, flow_column, line, merged, of_link, run, run_both, run_with, steps, stream};
use serde_json::{Value, json};
use spinewise_policy::Time;
use spinewise_sim::faults::Step;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;

/// A wire of 10 Gbps, in ps: what is in force from when to when, and when it is down.
struct Wire {
    /// From, until, rate in Gbps.
    rates: &'static [(u64, u64, u64)],
    /// From, until, added delay.
    delays: &'static [(u64, u64, u64)],
    outages: &'static [(u64, u64)],
}

impl Wire {
    /// Arrivals and losses of packets of 1,500 bytes that reach its sender at these instants.
    fn carry(&self, at_sender: &[u64]) -> (Vec<u64>, u64) {
        let held = |list: &[(u64, u64, u64)], at: u64| list.iter().find(|h| h.0 <= at && at < h.1).map(|h| h.2);
        let (mut free, mut last, mut lost, mut arrivals) = (0, 0, 0, Vec::new());
        for &at in at_sender {
            let start = free.max(at);
            let took = 1500 * 8_000 / held(self.rates, start).unwrap_or(10);
            free = start + took;
            last = (free + 1_000_000 + held(self.delays, start).unwrap_or(0)).max(last + took);
            if self.outages.iter().any(|&(from, until)| start < until && last > from) {
                lost += 1;
            } else {
                arrivals.push(last);
            }
        }
        (arrivals, lost)
    }
}

const US: u64 = 1_000_000;
const PACKETS: u32 = 200;

/// A stream over leaf0 -> spine0 with this wire. Returns the outcome and the expected one: when the last packet
/// arrives, if it does, and how many are lost.
fn over(wire: &Wire, change: &Value) -> (Outcome, (u64, u64)) {
    let us = |ps: u64| ps as f64 / 1e6;
    let ends = json!({"ends": ["leaf0", "spine0"], "direction": "forward"});
    let fault = |from: u64, until: u64, kind: Value| {
        merged(&merged(&ends, &json!({"at_us": us(from), "until_us": us(until)})), &kind)
    };
    let rates = wire.rates.iter().map(|&(a, b, rate)| fault(a, b, json!({"kind": "rate", "rate_gbps": rate})));
    let delays = wire.delays.iter().map(|&(a, b, added)| fault(a, b, json!({"kind": "delay", "added_us": us(added)})));
    let outages = wire.outages.iter().map(|&(a, b)| fault(a, b, json!({"kind": "down"})));
    let spec = json!({
        "topology": line(1), "detection": {"mode": "never"}, "traffic": [stream(0, 1, PACKETS, 0.0)],
        "switch": {"buffer_packets": 1000}, "fault": rates.chain(delays).chain(outages).collect::<Vec<_>>(),
    });
    let outcome = run_both(&merged(&spec, change));
    let at_leaf: Vec<u64> = (0..u64::from(PACKETS)).map(|n| 2_200_000 + n * 1_200_000).collect();
    let (at_spine, lost) = wire.carry(&at_leaf);
    let fine = Wire { rates: &[], delays: &[], outages: &[] };
    let at_host = fine.carry(&fine.carry(&at_spine).0).0;
    (outcome, (at_host.last().copied().unwrap_or(0), lost))
}

/// When the whole stream has arrived.
fn there(outcome: &Outcome) -> u64 {
    flow_column(outcome, "fct_ps")[0]
}

#[test]
fn a_lower_rate_holds_for_what_starts_meanwhile() {
    let wire = Wire { rates: &[(50 * US, 100 * US, 1), (150 * US, 160 * US, 3)], delays: &[], outages: &[] };
    let (outcome, (last, _)) = over(&wire, &json!({}));
    assert_eq!((there(&outcome), counter(&outcome, "lost", "packets")), (last, 0));
    let whole = Wire { rates: &[], delays: &[], outages: &[] };
    assert!(last > there(&over(&whole, &json!({})).0) + 40 * US, "it cost time");
    // The buffer also counts: more waits than fits.
    let small = over(&wire, &json!({"switch": {"buffer_packets": 10}})).0;
    assert!(of_link(&small, "leaf0->spine0", "drops") > 20);
}

#[test]
fn a_longer_delay_comes_and_goes_and_nobody_overtakes() {
    let wire = Wire { rates: &[], delays: &[(50 * US, 100 * US, 30 * US), (130 * US, 131 * US, 7)], outages: &[] };
    let (outcome, (last, _)) = over(&wire, &json!({}));
    assert_eq!((there(&outcome), counter(&outcome, "lost", "packets")), (last, 0));
    assert_eq!(flow_column(&outcome, "out_of_order"), [0]);
    let to_the_end = Wire { rates: &[], delays: &[(50 * US, 900 * US, 30 * US)], outages: &[] };
    let (outcome, (last, _)) = over(&to_the_end, &json!({}));
    assert_eq!(there(&outcome), last);
    assert_eq!(last, there(&over(&Wire { delays: &[], ..to_the_end }, &json!({})).0) + 30 * US);
}

#[test]
fn what_a_slow_and_long_link_loses_is_what_is_on_it() {
    let wire = Wire {
        rates: &[(40 * US, 120 * US, 2)],
        delays: &[(60 * US, 100 * US, 20 * US), (150 * US, 200 * US, 3 * US)],
        outages: &[(30 * US, 41 * US), (95 * US, 96 * US), (110 * US, 112 * US), (180 * US, 181 * US)],
    };
    let (outcome, (_, lost)) = over(&wire, &json!({}));
    assert!(lost > 15, "{lost}");
    assert_eq!(of_link(&outcome, "leaf0->spine0", "lost"), lost);
    assert_eq!(counter(&outcome, "delivered", "packets"), u64::from(PACKETS) - lost);
    for divisor in [3, 7] {
        let tuning = Tuning { window_divisor: divisor, ..Tuning::default() };
        assert_eq!(run_with(&slow_host(json!({})), tuning).hash, run(&slow_host(json!({}))).hash);
    }
}

/// TCP through a host's own link that is slow and long for a while.
fn slow_host(change: Value) -> Value {
    let base = json!({
        "topology": line(2), "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 400_000}]}],
        "fault": [
            {"kind": "rate", "ends": ["host0", "leaf0"], "direction": "forward", "at_us": 20, "until_us": 220,
             "rate_gbps": 1},
            {"kind": "delay", "ends": ["host1", "leaf1"], "at_us": 50, "until_us": 100, "added_us": 10},
        ],
    });
    merged(&base, &change)
}

#[test]
fn links_of_hosts_become_slow_and_long_too() {
    let fct = |change: Value| there(&run_both(&slow_host(change)));
    let (broken, whole) = (fct(json!({})), fct(json!({"fault": []})));
    // 180 us at a tenth of the rate, at least while the window is open.
    assert!(broken > whole + 120 * US && broken < whole + 250 * US, "{broken} {whole}");
    let queued = |faults: usize| {
        let all = slow_host(json!({}))["fault"].as_array().expect("faults")[..faults].to_vec();
        fct(json!({"switch": {"nics": "queue"}, "fault": all}))
    };
    assert!(queued(1) > queued(0) + 120 * US);
    let rdma = json!({"transport": {"kind": "rdma"}});
    assert!(fct(rdma.clone()) > fct(merged(&rdma, &json!({"fault": []}))) + 50 * US);
}

#[test]
fn what_switches_send_passes_a_black_hole() {
    let spec = |hole: Value| {
        let fault = merged(&json!({"kind": "black_hole", "switch": "spine0", "at_us": 0}), &hole);
        let within = |src: u32, dst: u32| json!({"src": src, "dst": dst, "size_bytes": 400_000});
        json!({
            "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2}, "scheme": {"name": "hula"}, "fault": [fault],
            "detection": {"mode": "never"}, "traffic": [{"kind": "flows", "list": [within(0, 1), within(2, 3)]}],
        })
    };
    let pairs: Vec<[u32; 2]> = (0..4).flat_map(|a| (0..4).filter(move |&b| a != b).map(move |b| [a, b])).collect();
    for hole in [json!({"fraction": 1.0}), json!({"pairs": pairs})] {
        let outcome = run_both(&spec(hole.clone()));
        assert!(counter(&outcome, "messages", "packets") > 10, "HULA's probes cross the spine");
        assert_eq!(counter(&outcome, "lost", "packets"), 0, "{hole}");
    }
}

#[test]
fn a_black_hole_swallows_its_pairs_and_no_others() {
    let spec = |hole: Value| {
        let fault = merged(&json!({"kind": "black_hole", "switch": "spine0", "at_us": 100, "until_us": 300}), &hole);
        json!({
            "topology": merged(&line(1), &json!({"hosts_per_leaf": 16, "fabric_rate_gbps": 160})), "fault": [fault],
            "traffic": (0..16).map(|n| stream(n, n + 16, 400, 0.0)).collect::<Vec<_>>(),
        })
    };
    let swallowed = |outcome: &Outcome| -> Vec<u64> {
        (0..16).map(|n| 400 - of_link(outcome, &format!("leaf1->host{}", n + 16), "packets")).collect()
    };
    let outcome = run_both(&spec(json!({"pairs": [[2, 18], [18, 3], [4, 19]]})));
    let lost = swallowed(&outcome);
    // 200 us at one packet per 1.2 us: those whose last bit reaches or leaves the spine meanwhile.
    assert!(lost[2].abs_diff(167) <= 2, "{lost:?}");
    assert_eq!(lost.iter().sum::<u64>(), lost[2], "{lost:?}");
    assert!(of_link(&outcome, "leaf0->spine0", "lost") >= lost[2] - 1, "on the way in, but for one that was there");
    assert_eq!(counter(&outcome, "lost", "packets"), lost[2]);
    let shares: Vec<usize> = (0..20u64)
        .map(|seed| {
            let outcome = run(&merged(&spec(json!({"fraction": 0.25})), &json!({"seed": seed})));
            let hit = swallowed(&outcome).into_iter().filter(|&lost| lost > 0);
            hit.inspect(|lost| assert!(lost.abs_diff(167) <= 2, "all or nothing: {lost}")).count()
        })
        .collect();
    // 320 pairs: 80, give or take 8.
    assert!(shares.iter().sum::<usize>().abs_diff(80) < 25, "{shares:?}");
    assert!(swallowed(&run(&spec(json!({"fraction": 1})))).iter().all(|lost| lost.abs_diff(167) <= 2));
}

/// Two hosts send to one over a spine whose link down is half as fast: a queue grows there.
fn burst(faults: Value) -> Value {
    json!({
        "topology": {"leaves": 3, "spines": 1, "hosts_per_leaf": 1, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000},
        "switch": {"buffer_packets": 1000}, "detection": {"mode": "never"}, "fault": faults,
        "traffic": [stream(0, 2, 100, 0.0), stream(1, 2, 100, 0.0)],
    })
}

#[test]
fn a_switch_that_dies_loses_what_it_holds() {
    let times = json!({"kind": "down", "at_us": 100, "until_us": 101});
    let down = |ends: Value| merged(&times, &json!({"ends": ends}));
    let cut: Vec<Value> = (0..3).map(|leaf| down(json!([format!("leaf{leaf}"), "spine0"]))).collect();
    let dead = merged(&times, &json!({"switch": "spine0"}));
    let held = |outcome: &Outcome| outcome.report["counters"]["lost_in_switches"].as_u64().unwrap_or_default();
    let (cut, dead) = (run_both(&burst(json!(cut))), run_both(&burst(json!([dead]))));
    assert_eq!(held(&cut), 0);
    // Each sender has sent some 80 packets here by 100 us, of which half are gone and one is on its way.
    assert!(held(&dead).abs_diff(80) < 4, "{}", held(&dead));
    let lost = |outcome: &Outcome| counter(outcome, "lost", "packets");
    // Packets on the links are lost in both cases; nothing starts from the dead switch's queue meanwhile.
    assert_eq!(lost(&dead) - held(&dead), lost(&cut) - 1);
    assert_eq!(counter(&dead, "delivered", "packets"), 200 - lost(&dead));
    let shared = json!({"switch": {"model": "shared_buffer", "pfc": true, "pause_us": 20, "buffer_bytes": 500_000},
                        "transport": {"kind": "rdma"}});
    let mut spec = burst(json!([merged(&times, &json!({"switch": "spine0"}))]));
    spec["switch"] = shared["switch"].clone();
    spec["transport"] = shared["transport"].clone();
    let outcome = run_both(&spec);
    assert!(held(&outcome) > 10, "{}", outcome.report["counters"]);
    assert_eq!(outcome.report["counters"]["lossless_drops"], 0);
}

/// One hello per 100 us, three of which may be missed: both ends of a link that fails in one direction detect it, and
/// flood it.
#[test]
fn hellos_find_what_carrier_does_not() {
    let spec = |direction: &str, until: Value| {
        json!({
            "topology": line(2), "traffic": [stream(0, 1, 5, 0.0)],
            "detection": {"mode": "hello", "hello_interval_us": 100, "hello_dead_count": 3},
            "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "direction": direction, "at_us": 1000,
                       "until_us": until}],
        })
    };
    let own = |spec: &Value| -> Vec<(u32, f64, Step)> {
        let own = |step: &Step| matches!(step, Step::Down(_) | Step::Up(_));
        let steps = steps(spec).into_iter().filter(|(.., step)| own(step));
        steps.map(|(switch, at, step)| (switch, at.0 as f64 / 1e6, step)).collect()
    };
    for direction in ["both", "forward", "backward"] {
        let found = own(&spec(direction, json!(5000)));
        let [(0, a, Step::Down(1)), (0, b, Step::Up(1)), (2, c, Step::Down(0)), (2, d, Step::Up(0))] = found[..] else {
            panic!("{found:?}")
        };
        for (down, up) in [(a, b), (c, d)] {
            // Two to three intervals after the failure, and up to one more until the other end reports it.
            assert!(down > 1200.0 && down < 1403.0, "{direction}: {down}");
            assert!(up > 5000.0 && up < 5203.0, "{direction}: {up}");
        }
    }
    assert_eq!(own(&spec("forward", json!(1150))), [], "too short to be missed");
    let routes =
        |spec: &Value| steps(spec).into_iter().any(|(switch, _, step)| switch == 1 && matches!(step, Step::Routes(_)));
    assert!(routes(&spec("forward", json!(5000))), "leaf 1 hears of it");
    let outcome = run_both(&merged(&spec("forward", json!(5000)), &json!({"traffic": [stream(0, 1, 60, 3500.0)]})));
    assert_eq!(counter(&outcome, "delivered", "packets"), 60);
}

/// Hellos detect random loss when enough of them are lost in a row; carrier never does.
#[test]
fn hellos_notice_heavy_loss() {
    let found = |mode: &str, probability: f64| {
        let steps = steps(&json!({
            "topology": line(2), "traffic": [stream(0, 1, 5, 0.0)], "run": {"until_us": 200_000},
            "detection": {"mode": mode, "hello_interval_us": 100},
            "fault": [{"kind": "loss", "ends": ["leaf0", "spine0"], "at_us": 0, "probability": probability}],
        }));
        steps.into_iter().filter(|(.., step)| matches!(step, Step::Down(1))).count()
    };
    assert_eq!((found("carrier", 0.5), found("hello", 0.001)), (0, 0));
    // Three in a row of 2,000 hellos are lost some 125 times, each way.
    assert!(found("hello", 0.5) > 60, "{}", found("hello", 0.5));
}

/// A lower rate is reported to the end that sends at it.
#[test]
fn a_port_finds_that_it_is_slow() {
    let spec = |mode: &str| {
        json!({
            "topology": line(2), "traffic": [stream(0, 1, 5, 0.0)], "detection": {"mode": mode, "carrier_us": 50},
            "fault": [{"kind": "rate", "ends": ["leaf0", "spine1"], "direction": "forward", "at_us": 100,
                       "until_us": 900, "rate_gbps": 1},
                      {"kind": "down", "ends": ["leaf0", "spine1"], "at_us": 300, "until_us": 500}],
        })
    };
    let at = |mode: &str, switch: u32| -> Vec<(u64, Step)> {
        let own = |step: &Step| !matches!(step, Step::Routes(_) | Step::Map(_));
        let steps = steps(&spec(mode)).into_iter().filter(|(at, _, step)| *at == switch && own(step));
        steps.map(|(_, at, step)| (at.0 / US, step)).collect()
    };
    let sender = [(150, Step::Degraded(2)), (350, Step::Down(2)), (550, Step::Degraded(2)), (950, Step::Up(2))];
    assert_eq!(at("carrier", 0), sender);
    assert_eq!(at("carrier", 3), [(350, Step::Down(0)), (550, Step::Up(0))]);
    assert_eq!(at("oracle", 0), sender.map(|(at, step)| (at - 50, step)));
    assert_eq!(at("never", 0), []);
    assert_eq!(run_with(&spec("carrier"), events()).hash, run(&spec("carrier")).hash);
    assert_eq!(steps(&spec("oracle"))[0].1, Time(100 * US));
}

/// Values that depend on the rate of a NIC use the rate of its link as built, not a fault's rate when a flow starts.
#[test]
fn a_lower_rate_at_the_start_of_a_flow_leaves_nothing_behind() {
    for transport in [json!({"kind": "rdma", "recovery": "irn"}), json!({"kind": "uet"})] {
        let fct = |fault: Value| {
            let outcome = run(&json!({
                "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 2, "host_rate_gbps": 100, "fabric_rate_gbps": 100},
                "transport": transport, "fault": [fault], "run": {"until_us": 200_000},
                "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 2, "size_bytes": 20_000_000, "start_ns": 2_000}]}],
            }));
            assert_eq!(outcome.report["finished"], 1);
            flow_column(&outcome, "sender_fct_ps")[0] as f64
        };
        let slowed = |from: u64| json!({"kind": "rate", "ends": ["host0", "leaf0"], "rate_gbps": 10, "at_us": from, "until_us": 50});
        let (before, after) = (fct(slowed(0)), fct(slowed(10)));
        assert!(before < 1.1 * after, "{transport}: {before} ps, {after} ps where the fault comes later");
    }
}

#[test]
fn a_fault_after_the_last_flow_is_told() {
    let warned = |at_us: u64| {
        let outcome = run(&json!({
            "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1},
            "fault": [{"kind": "down", "ends": ["leaf0", "spine0"], "at_us": at_us}],
            "traffic": [{"kind": "flows", "list": [{"src": 0, "dst": 1, "size_bytes": 100_000, "start_ns": 0}]}],
        }));
        let warnings = outcome.report["warnings"].as_array().expect("a list");
        warnings.iter().any(|one| one["code"] == "fault_after_traffic" && one["key"] == "fault[0].at_us")
    };
    assert_eq!([1, 900_000].map(warned), [false, true]);
}
