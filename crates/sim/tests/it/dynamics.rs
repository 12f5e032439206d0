//! Interactions of flows over time: DCTCP shares fairly and its sawtooth follows theory, and ties favour no flow.

use crate::common::{counter, events, link, merged, run, run_with, series, total};
use serde_json::{Value, json};
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::Tuning;

/// Picoseconds in a millisecond.
const MS: u64 = 1_000_000_000;

/// Bytes of a full packet on the wire.
const PACKET: f64 = 1500.0;

/// The one link between the leaves.
const BOTTLENECK: &str = "leaf0->spine0";

/// Jain's index of fairness: 1 for equal shares, 1/n if one has all.
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (shares.len() as f64 * squares)
}

/// As many pairs of hosts as flows, one link between their two leaves, each flow `apart_ms` after the previous one.
fn one_bottleneck(flows: u32, apart_ms: u64, gbps: u32, rtt_us: u32, mark_at: u32) -> Value {
    let start_ns = |n: u32| u64::from(n) * apart_ms * 1_000_000;
    let list: Vec<Value> = (0..flows).map(|n| crate::common::flow(n, flows + n, 2_000_000_000, start_ns(n))).collect();
    // Eight links there and back.
    let delay_ns = rtt_us * 125;
    json!({
        "topology": {"leaves": 2, "spines": 1, "hosts_per_leaf": flows, "host_rate_gbps": 10, "fabric_rate_gbps": gbps,
                     "host_delay_ns": delay_ns, "fabric_delay_ns": delay_ns},
        "switch": {"buffer_packets": 1000, "ecn_threshold_packets": mark_at},
        "traffic": [{"kind": "flows", "list": list}],
        "run": {"stop": "time", "until_us": 1_000_000},
        "metrics": {"series_interval_us": 1000},
    })
}

/// Payload bytes that each of `hosts` received in the last 100 ms of a second.
fn received_at_the_end(outcome: &Outcome, hosts: std::ops::Range<u32>) -> Vec<f64> {
    let points = series(outcome, "received_bytes");
    let late = |name: String| points.iter().filter(move |(at, who, _)| *who == name && *at > 900 * MS);
    hosts.map(|host| late(format!("host{host}")).map(|point| point.2).sum()).collect()
}

// The round trip at 1 Gbps is long enough for windows of more than 20 packets: below that, packets that all come at
// their own beat can lock two windows of different size permanently (Floyd, Jacobson, "On traffic phase effects in
// packet-switched gateways", 1992), as long as no other traffic comes between.
#[test]
fn dctcp_flows_that_start_apart_come_to_equal_shares() {
    for (flows, gbps, rtt_us, mark_at) in
        [(2, 10, 40, 65), (8, 10, 40, 65), (2, 10, 100, 65), (8, 10, 100, 65), (2, 1, 400, 20), (8, 1, 200, 20)]
    {
        let outcome = run(&one_bottleneck(flows, 20, gbps, rtt_us, mark_at));
        let shares = received_at_the_end(&outcome, flows..2 * flows);
        let about = format!("{flows} flows at {gbps} Gbps, {rtt_us} us: {shares:?}");
        assert!(jain(&shares) >= 0.98, "{}: {about}", jain(&shares));
        let filled = shares.iter().sum::<f64>() * 8.0 / (0.1e9 * f64::from(gbps)) * PACKET / 1460.0;
        assert!((0.99..=1.0001).contains(&filled), "{filled}: {about}");
        assert_eq!(counter(&outcome, "dropped", "packets"), 0, "{about}");
    }
}

/// The behaviour of the bottleneck of synchronized flows once slow start is over.
struct Saw {
    /// Mean of queue from peak to trough, packets.
    amplitude: f64,
    /// The number of swings averaged.
    swings: usize,
    /// Longest queue, packets.
    peak: f64,
    utilisation: f64,
}

/// Each swing from peak to trough: a peak counts when the queue has fallen from it by half the span of all samples, so
/// that single packets coming and going are not swings.
fn swings(queue: &[f64]) -> Vec<f64> {
    let span = queue.iter().copied().fold(f64::MIN, f64::max) - queue.iter().copied().fold(f64::MAX, f64::min);
    let (mut peak, mut trough, mut falling, mut swings) = (queue[0], queue[0], false, Vec::new());
    for &now in queue {
        if falling {
            trough = trough.min(now);
            if now > trough + span / 2.0 {
                swings.push(peak - trough);
                (falling, peak) = (false, now);
            }
        } else {
            peak = peak.max(now);
            if now < peak - span / 2.0 {
                (falling, trough) = (true, now);
            }
        }
    }
    swings
}

fn saw(flows: u32, rtt_us: u32, mark_at: u32) -> Saw {
    let change = json!({
        "topology": {"host_rate_gbps": 40}, "run": {"until_us": 300_000}, "metrics": {"series_interval_us": 5},
    });
    let outcome = run(&merged(&one_bottleneck(flows, 0, 10, rtt_us, mark_at), &change));
    let late = |name: &str| -> Vec<f64> {
        let points = series(&outcome, name).into_iter();
        points.filter(|(at, who, _)| who == BOTTLENECK && *at > 100 * MS).map(|point| point.2).collect()
    };
    let queue: Vec<f64> = late("link_queue_bytes").into_iter().map(|bytes| bytes / PACKET).collect();
    let busy = late("link_utilisation");
    let swings = swings(&queue);
    Saw {
        amplitude: swings.iter().sum::<f64>() / swings.len() as f64,
        swings: swings.len(),
        peak: queue.iter().copied().fold(0.0, f64::max),
        utilisation: busy.iter().sum::<f64>() / busy.len() as f64,
    }
}

/// C · RTT at 10 Gbps, in packets.
fn pipe(rtt_us: u32) -> f64 {
    10e3 * f64::from(rtt_us) / (8.0 * PACKET)
}

// DCTCP (SIGCOMM 2010), section 3.3: synchronized flows make the queue swing by sqrt(2N(C·RTT + K)) / 2, up to K + N.
#[test]
fn the_sawtooth_is_as_high_as_theory_has_it() {
    for (flows, rtt_us, mark_at) in [
        (2, 100, 20),
        (2, 100, 40),
        (2, 200, 40),
        (2, 200, 65),
        (2, 400, 60),
        (2, 400, 100),
        (1, 200, 40),
        (4, 200, 65),
    ] {
        let k = f64::from(mark_at);
        assert!(k > pipe(rtt_us) / 7.0, "where the theory holds");
        let saw = saw(flows, rtt_us, mark_at);
        let theory = 0.5 * (2.0 * f64::from(flows) * (pipe(rtt_us) + k)).sqrt();
        let about = format!("N = {flows}, RTT {rtt_us} us, K = {mark_at}: {} swings", saw.swings);
        println!("{about}: {:.2} of {theory:.2}, peak {}, {:.4}", saw.amplitude, saw.peak, saw.utilisation);
        // Within 25 %; and below, since the theory's windows shrink and grow by fractions of packets.
        assert!((0.75..=1.0).contains(&(saw.amplitude / theory)), "{} for {theory}; {about}", saw.amplitude);
        assert!((saw.peak - k - f64::from(flows)).abs() <= 3.0, "peak {}; {about}", saw.peak);
        assert!(saw.swings >= 20, "{about}");
        assert!(saw.utilisation > 0.9995, "{}; {about}", saw.utilisation);
    }
}

// DCTCP, section 3.3, Eq. 13: the queue runs empty if K < C·RTT / 7.
#[test]
fn marking_too_early_costs_throughput() {
    let used = |mark_at| saw(2, 400, mark_at).utilisation;
    let (full, low, lower) = (used(50), used(5), used(2));
    println!("{full} {low} {lower}");
    assert!(50.0 > pipe(400) / 7.0 && 5.0 < pipe(400) / 7.0);
    assert!(full > 0.9995, "{full}");
    assert!(low < 0.992 && lower < low, "{low} {lower}");
}

/// Two synchronized sources into one port of their own speed, whose queue has room for one more: the first to arrive
/// gets it.
fn in_step(seed: u64, across_spines: bool) -> Value {
    let (spines, from) = if across_spines { (2, [2, 3]) } else { (1, [0, 1]) };
    let sources: Vec<Value> =
        from.iter().map(|&src| crate::common::udp(src, if across_spines { 0 } else { 2 }, 10.0)).collect();
    let scheme = if across_spines { "packet_scatter" } else { "ecmp" };
    json!({
        "seed": seed, "topology": {"leaves": 2, "spines": spines, "hosts_per_leaf": if across_spines { 2 } else { 4 }},
        "scheme": {"name": scheme}, "switch": {"buffer_packets": 4, "ecn_threshold_packets": 0},
        "traffic": sources, "run": {"stop": "time", "until_us": 24_000},
    })
}

#[test]
fn each_port_wins_half_of_the_ties() {
    for seed in 1..=5 {
        for across_spines in [false, true] {
            let spec = in_step(seed, across_spines);
            let outcome = run(&spec);
            let shares: Vec<f64> = outcome.records.iter().map(|record| f64::from(record.arrived)).collect();
            let won = shares[0] / (shares[0] + shares[1]);
            assert!(shares[0] + shares[1] > 19_000.0, "the port never rests: {shares:?}");
            assert!((0.45..=0.55).contains(&won), "seed {seed}, {across_spines}: {won}");
            assert_eq!(run_with(&spec, events()).hash, outcome.hash, "the other engine sees the same winners");
            let commit = run_with(&spec, Tuning { commit_at_start: true, ..Tuning::default() });
            assert_eq!(commit.hash, outcome.hash, "and so do ports that decide as a transmission starts");
        }
    }
}

/// A queue that is full whenever two come drops one of them, never both and never none.
#[test]
fn a_full_port_is_never_idle() {
    let outcome = run(&in_step(1, false));
    let port = link(&outcome, "leaf0->host2");
    let (sent, drops) = (port["packets"].as_u64().unwrap_or(0), port["drops"].as_u64().unwrap_or(0));
    // 24 ms of packets of 1.2 us, less the first way there; each source sends as many as the port does.
    let share = port["utilisation"].as_f64().unwrap_or(0.0);
    assert!(share > 0.9998, "{share}");
    assert!(sent.abs_diff(drops) <= 8, "{sent} sent, {drops} dropped");
    assert_eq!(total(&outcome, |record| record.retransmits), 0);
}
