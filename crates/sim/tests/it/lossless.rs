//! A lossless fabric loses nothing, and its headroom is as small as it can be: incast, congestion that spreads over two
//! hops, several priorities, and the worst case of one cable, found by search.

use crate::common::{counter, flow, merged, of_link, run, run_with};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use spinewise_policy::Span;
use spinewise_sim::engine::Sim;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::{Setup, Tuning};
use spinewise_sim::spec::sizing::{Cable, needed_headroom};
use spinewise_sim::warden::ALWAYS;

/// A source of `packets` packets at the rate of its line.
fn burst(src: u32, dst: u32, gbps: f64, packet_bytes: u64, packets: u64, at_ps: u64) -> Value {
    json!({"kind": "udp", "src": src, "dst": dst, "packet_bytes": packet_bytes, "size_bytes": packets * packet_bytes,
           "schedule": [{"at_us": at_ps as f64 / 1e6, "rate_gbps": gbps}]})
}

fn drops(outcome: &Outcome) -> u64 {
    counter(outcome, "dropped", "packets")
}

fn pauses(outcome: &Outcome) -> u64 {
    counter(outcome, "pause_frames", "packets")
}

/// Everything sent has arrived, nothing was dropped, and the buffers are as they were.
fn check_lossless(spec: &Value) -> Outcome {
    let resolved = crate::common::resolved(spec);
    let setup = Setup::new(&resolved, Tuning::default()).expect("a spec that fits itself");
    let mut sim = Sim::new(&setup.net, setup.start);
    let stop = sim.run(&resolved, Tuning::default(), &mut |_| true).expect("nobody interrupts");
    // Probes may still be on their way when the last flow is done.
    let empty = spec["scheme"]["name"] != "pdlb";
    for switch in &sim.switches {
        let buffer = switch.buffer.as_deref().expect("shared buffers");
        assert!(!empty || buffer.bytes() == 0, "left in a buffer at {stop:?}: {spec}");
        let size = resolved.resolved["switch"]["buffer_bytes"].as_u64();
        assert!(Some(buffer.most().0) <= size, "more in a buffer than there is room: {spec}");
    }
    let outcome = Outcome::close(&resolved, sim, stop, None, ALWAYS);
    assert_eq!(drops(&outcome), 0, "{spec}");
    assert_eq!(outcome.report["counters"]["lossless_drops"], 0);
    assert_eq!(outcome.report["finished"], outcome.report["flows"], "{spec}");
    assert_eq!(outcome.report["deadlock"], Value::Null);
    assert!(!empty || counter(&outcome, "in_network_at_stop", "packets") == 0, "{spec}");
    outcome
}

/// Many senders around one switch: each to host 0, from hosts 1 on.
fn star(senders: u32, transport: &Value) -> Value {
    let hosts = senders + 1;
    let links: Vec<Value> = (0..hosts).map(|host| json!([host, hosts, 100, 1000])).collect();
    let list: Vec<Value> = (1..hosts).map(|host| flow(host, 0, 300_000, 0)).collect();
    json!({
        "preset": "selb", "topology": {"kind": "links", "hosts": hosts, "switches": 1, "links": links},
        "transport": transport, "traffic": [{"kind": "flows", "list": list}],
        "run": {"until_us": 50_000},
    })
}

fn transports() -> [Value; 3] {
    [
        json!({"kind": "rdma"}),
        json!({"kind": "dctcp", "initial_window_segments": 400}),
        json!({"kind": "newreno", "initial_window_segments": 400, "initial_ssthresh_segments": 0}),
    ]
}

#[test]
fn incast_loses_nothing() {
    for transport in transports() {
        for senders in [2, 7, 31] {
            let outcome =
                check_lossless(&merged(&star(senders, &transport), &json!({"switch": {"buffer_bytes": 2_000_000}})));
            // Packets in flight hold back TCP until 400 are on their way: 31 senders overwhelm any share of the buffer.
            assert!(pauses(&outcome) > 0 || senders == 2, "{senders} senders, {transport}");
            assert_eq!(crate::common::total(&outcome, |record| record.retransmits), 0, "{transport}");
        }
    }
}

/// Two racks of 8 hosts over two spines; the hosts of rack 0 send to one host of rack 1, which is slow, and one more
/// flow passes the same spines to a fast one.
fn two_hops(switch: &Value, transport: &Value) -> Value {
    let list: Vec<Value> = (0..7).map(|host| flow(host, 8, 400_000, 0)).chain([flow(7, 9, 400_000, 20_000)]).collect();
    json!({
        "preset": "selb",
        "topology": {"leaves": 2, "spines": 2, "hosts_per_leaf": 8, "host_rate_gbps": 100, "fabric_rate_gbps": 100,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000, "override": [{"host": 8, "rate_gbps": 10}]},
        "switch": switch, "transport": transport, "scheme": {"name": "rps"},
        "traffic": [{"kind": "flows", "list": list}], "run": {"until_us": 100_000},
    })
}

#[test]
fn congestion_spreads_from_leaf_to_spine_to_leaf_and_loses_nothing() {
    for transport in transports() {
        for pause_us in [0, 5] {
            for headroom_use in ["above_threshold", "pool_full"] {
                let switch = json!({"buffer_bytes": 700_000, "pause_us": pause_us, "headroom_use": headroom_use});
                let outcome = check_lossless(&two_hops(&switch, &transport));
                for link in ["spine0->leaf1", "leaf0->spine0", "host0->leaf0"] {
                    assert!(of_link(&outcome, link, "pauses") > 0, "{link}: {switch} {transport}");
                    assert!(of_link(&outcome, link, "paused_ps") > 100_000, "{link}: {switch} {transport}");
                }
            }
        }
    }
}

/// Pauses that only packets renew expire: that is the behaviour of the ns-3 code of ConWeave, and it loses packets
/// where a receiver takes nothing for long.
#[test]
fn pauses_that_run_out_lose_packets() {
    let switch = |renewal: &str| json!({"buffer_bytes": 700_000, "pause_us": 5, "pause_renewal": renewal});
    let slow = json!({"topology": {"override": [{"host": 8, "rate_gbps": 2}]}, "run": {"until_us": 5_000}});
    let [rdma, ..] = transports();
    assert!(drops(&run(&merged(&two_hops(&switch("packets"), &rdma), &slow))) > 0);
    assert_eq!(drops(&run(&merged(&two_hops(&switch("timer"), &rdma), &slow))), 0);
    let bounded = json!({"switch": {"pause_renewal": "timer", "egress_threshold": "always", "ingress_alpha": 8}});
    assert!(drops(&run(&merged(&merged(&two_hops(&switch("timer"), &rdma), &slow), &bounded))) > 0, "queues too long");
}

/// The worst case of one cable, host 1 to the switch. What is beyond a guarantee of four packets goes to the headroom:
/// there is no share of the free part, and no pause is requested before. Nothing leaves meanwhile: a packet of host 2
/// is on the slow line to host 0. Host 1 has just started. Host 3 keeps the line to host 1 busy, so that the pause
/// frame must wait; when its packets start is shifted by `phase`.
#[derive(Clone, Copy, Debug)]
struct Worst {
    /// Rates of host 1's link towards the switch and back, Gbps; delays, ns.
    rates: (f64, f64),
    delays: (u32, u32),
    packet: u64,
    priorities: u32,
}

impl Worst {
    fn spec(&self, headroom: Option<u64>, phase_ps: u64) -> Value {
        let slow = 0.05;
        json!({
            "preset": "selb",
            "topology": {"leaves": 1, "spines": 1, "hosts_per_leaf": 4, "host_rate_gbps": 400, "fabric_rate_gbps": 100,
                "host_delay_ns": 500, "fabric_delay_ns": 1000, "override": [
                    {"host": 0, "rate_gbps": slow},
                    {"host": 1, "direction": "up", "rate_gbps": self.rates.0, "delay_ns": self.delays.0},
                    {"host": 1, "direction": "down", "rate_gbps": self.rates.1, "delay_ns": self.delays.1}]},
            "transport": {"mss_bytes": 100},
            "switch": {"headroom_bytes": headroom, "ingress_alpha": 1e-9,
                       "guaranteed_bytes": 4 * self.packet, "pause_offset_bytes": 4 * self.packet,
                       "priorities": self.priorities, "buffer_bytes": 64 << 20},
            "traffic": [
                burst(2, 0, 400.0, self.packet, 1, 0),
                burst(1, 0, self.rates.0, self.packet, 600, 20_000_000),
                burst(3, 1, self.rates.1, self.packet, 800, 10_000_000 + phase_ps),
            ],
            "run": {"stop": "time", "until_us": 60},
        })
    }

    fn needed(&self) -> u64 {
        let rate = |gbps: f64| (gbps * 1e9) as u64;
        let delay = Span::from_ns(u64::from(self.delays.0 + self.delays.1));
        let cable = Cable { inward: rate(self.rates.0), outward: rate(self.rates.1), delay };
        needed_headroom(&cable, self.packet, 43 * self.priorities)
    }

    /// Phases over one packet of host 3 on the way back; its packets follow one another without a gap.
    fn phases(&self) -> impl Iterator<Item = u64> {
        let time = (self.packet as f64 * 8e3 / self.rates.1) as u64;
        (0..40).map(move |n| n * time / 40)
    }

    fn loses(&self, headroom: u64) -> bool {
        self.phases().any(|phase| drops(&run(&self.spec(Some(headroom), phase))) > 0)
    }

    /// Returns the minimum headroom that loses nothing, whatever the phase.
    fn least(&self) -> u64 {
        let (mut loses, mut enough) = (self.packet, 2 * self.needed());
        assert!(self.loses(loses) && !self.loses(enough));
        while enough - loses > 1 {
            let between = (loses + enough) / 2;
            *(if self.loses(between) { &mut loses } else { &mut enough }) = between;
        }
        enough
    }
}

const WORST: [Worst; 6] = [
    Worst { rates: (100.0, 100.0), delays: (1000, 1000), packet: 1048, priorities: 1 },
    Worst { rates: (100.0, 100.0), delays: (600, 600), packet: 1500, priorities: 1 },
    Worst { rates: (25.0, 25.0), delays: (333, 333), packet: 4000, priorities: 1 },
    Worst { rates: (40.0, 40.0), delays: (2000, 500), packet: 1500, priorities: 1 },
    Worst { rates: (100.0, 25.0), delays: (990, 990), packet: 1048, priorities: 1 },
    Worst { rates: (10.0, 100.0), delays: (700, 700), packet: 1500, priorities: 1 },
];

#[test]
fn the_headroom_needed_is_enough_and_one_packet_less_is_not() {
    for worst in WORST {
        let (least, needed) = (worst.least(), worst.needed());
        println!("{worst:?}: {least} of {needed}");
        assert!(least <= needed, "{worst:?}: {least} are needed, the formula says {needed}");
        assert!(least > needed - worst.packet, "{worst:?}: {least} are enough, the formula says {needed}");
        // The value that applies if the spec has no headroom_bytes.
        let outcomes: Vec<Outcome> = worst.phases().map(|phase| run(&worst.spec(None, phase))).collect();
        assert!(outcomes.iter().all(|outcome| drops(outcome) == 0));
        let most = outcomes.iter().filter_map(|o| o.report["counters"]["most_headroom_bytes"].as_u64()).max();
        assert_eq!(most, Some(least), "what was used is what is needed");
    }
}

/// The formula in words: two packets, a third that the frame waits for, the frame, and the cable's
/// contents both ways.
#[test]
fn the_formula_in_words() {
    let cable = Cable { inward: 100_000_000_000, outward: 100_000_000_000, delay: Span::from_us(2) };
    assert_eq!(needed_headroom(&cable, 1048, 43), 3 * 1048 + 43 + 25_000 + 1, "1 for the wait rounded up");
}

fn random_spec() -> impl Strategy<Value = Value> {
    let fabric = (2u32..4, 1u32..4, 2u32..5, select(&[10.0, 25.0, 40.0, 100.0][..]), select(&[3.0, 10.0, 100.0][..]));
    let delays = (1u32..3000, 1u32..3000);
    let switch = (
        1u32..=7,
        select(&["above_threshold", "pool_full"][..]),
        prop_oneof![Just(0u32), 130u32..300],
        select(&[0.01, 0.0625, 1.0, 16.0][..]),
        select(&[0u64, 1_500, 20_000][..]),
        1.0f64..3.0,
    );
    let rest =
        (0usize..3, select(&["ecmp", "rps", "letflow", "conweave", "selb", "pdlb"][..]), 0u64..1000, 1u32..500_000);
    (fabric, delays, switch, rest).prop_map(|(fabric, delays, switch, rest)| {
        let (leaves, spines, per_leaf, host_rate, fabric_rate) = fabric;
        let (priorities, headroom_use, pause_us, alpha, offset, room) = switch;
        let (transport, scheme, seed, size) = rest;
        let hosts = leaves * per_leaf;
        let mut spec = json!({
            "preset": "selb", "seed": seed,
            "topology": {"leaves": leaves, "spines": spines, "hosts_per_leaf": per_leaf, "host_rate_gbps": host_rate,
                         "fabric_rate_gbps": fabric_rate, "host_delay_ns": delays.0, "fabric_delay_ns": delays.1},
            "transport": transports()[transport], "scheme": {"name": scheme},
            "switch": {"priorities": priorities, "headroom_use": headroom_use, "pause_us": pause_us,
                       "buffer_bytes": 1u64 << 40,
                       "ingress_alpha": alpha, "pause_offset_bytes": offset, "guaranteed_bytes": offset / 2,
                       "ecn_min_bytes": 3_000, "ecn_max_bytes": 12_000},
            "traffic": [
                {"kind": "incast", "receiver": 0, "senders": hosts - 1, "size_bytes": size, "priority": 0},
                {"kind": "permutation", "size_bytes": size / 2 + 1, "priority": priorities - 1},
                {"kind": "incast", "receiver": hosts - 1, "senders": hosts - 1, "size_bytes": size / 3 + 1,
                 "start_us": 5, "priority": priorities / 2},
            ],
            "run": {"until_us": 2_000_000},
        });
        let parts = spinewise_sim::spec::sizing::least_buffer(&crate::common::resolved(&spec));
        spec["switch"]["buffer_bytes"] = json!((parts as f64 * room) as u64);
        spec
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn no_lossless_fabric_loses_anything(spec in random_spec()) {
        let outcome = check_lossless(&spec);
        let other = Tuning { window_divisor: 7, all_hooks: true, ..crate::common::events() };
        let again = run_with(&spec, other);
        prop_assert_eq!(&outcome.report["links"], &again.report["links"]);
        prop_assert_eq!(outcome.hash, again.hash);
    }
}
