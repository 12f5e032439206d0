//! Facts that must hold by theory, packet by packet where visible: queues, lines, tags, and the units schemes move.

use crate::common::{counter, flow, merged, of_link, run, run_both, total};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use spinewise_policy::Kind;
use spinewise_sim::engine::Sim;
use spinewise_sim::ids::HostId;
use spinewise_sim::outcome::Outcome;
use spinewise_sim::setup::{Setup, Tuning};

// ---- one port, packet by packet -----------------------------------------------------------------------------------

/// A line of this many bits per second, exact: within a busy period a packet ends at the floor of the rational instant.
#[derive(Clone, Copy)]
struct Line {
    rate: u128,
    /// Start of the busy period, ps, and the bytes sent since.
    since: u64,
    sent: u128,
    free_at: u64,
}

impl Line {
    fn new(gbps: f64) -> Self {
        Line { rate: (gbps * 1e9) as u128, since: 0, sent: 0, free_at: 0 }
    }

    /// Start and end of a packet that comes at `now`.
    fn send(&mut self, now: u64, bytes: u64) -> (u64, u64) {
        if now > self.free_at {
            (self.since, self.sent) = (now, 0);
        }
        let start = now.max(self.free_at);
        self.sent += u128::from(bytes);
        self.free_at = self.since + (self.sent * 8_000_000_000_000 / self.rate) as u64;
        (start, self.free_at)
    }
}

/// A drop-tail queue before a line, by the book.
#[derive(Clone, Debug)]
struct Rule {
    gbps: f64,
    /// Room and threshold, in packets or bytes.
    room: (u64, bool),
    threshold: (u64, bool),
    at_dequeue: bool,
    in_service: bool,
    /// This many of those that wait are in the device, and neither room nor threshold counts them.
    device: usize,
}

#[derive(Clone, Copy)]
struct Sent {
    came: u64,
    bytes: u64,
    start: u64,
    end: u64,
}

impl Rule {
    /// Returns the part of `sent` that is queued at `now`, without and with the packet in transmission: (bytes,
    /// packets).
    fn queue(&self, sent: &[Sent], now: u64) -> (u64, u64) {
        let there = |s: &&Sent| s.start > now || self.in_service && now < s.end;
        sent.iter().filter(there).skip(self.device).fold((0, 0), |(bytes, packets), s| (bytes + s.bytes, packets + 1))
    }

    fn reaches((limit, in_packets): (u64, bool), (bytes, packets): (u64, u64)) -> bool {
        if in_packets { packets >= limit } else { bytes >= limit }
    }

    /// Returns, for each arrival (ps, bytes), in order: when its last bit has left and whether it was marked, or `None`
    /// if it was dropped.
    fn serve(&self, arrivals: &[(u64, u64)]) -> Vec<Option<(u64, bool)>> {
        let (mut line, mut sent, mut fates) = (Line::new(self.gbps), Vec::<Sent>::new(), Vec::new());
        for &(now, bytes) in arrivals {
            let (queued, packets) = self.queue(&sent, now);
            let full = if self.room.1 { packets >= self.room.0 } else { queued + bytes > self.room.0 };
            if now < line.free_at && full {
                fates.push(None);
                continue;
            }
            let marked = self.threshold.0 > 0 && Self::reaches(self.threshold, (queued, packets));
            let (start, end) = line.send(now, bytes);
            sent.push(Sent { came: now, bytes, start, end });
            fates.push(Some((end, marked)));
        }
        if self.at_dequeue {
            for (n, fate) in fates.iter_mut().flatten().enumerate() {
                fate.1 = self.threshold.0 > 0 && Self::reaches(self.threshold, self.left_behind(&sent, n));
            }
        }
        fates
    }

    /// Returns the queue that the `n`-th packet leaves behind as it starts.
    fn left_behind(&self, sent: &[Sent], n: usize) -> (u64, u64) {
        let start = sent[n].start;
        let behind = sent[n + 1..].iter().filter(|s| s.came < start);
        let own = if self.in_service { (sent[n].bytes, 1) } else { (0, 0) };
        behind.fold(own, |(bytes, packets), s| (bytes + s.bytes, packets + 1))
    }
}

fn rule() -> impl Strategy<Value = Rule> {
    let room = prop_oneof![(1u64..12).prop_map(|n| (n, true)), (1500u64..12_000).prop_map(|n| (n, false))];
    let threshold = prop_oneof![(0u64..8).prop_map(|n| (n, true)), (1u64..8000).prop_map(|n| (n, false))];
    let words = prop_oneof![
        2 => (any::<bool>(), any::<bool>(), Just(0usize)), 1 => (Just(false), Just(false), 1usize..12)
    ];
    (select(&[0.3, 1.0, 2.5, 3.0, 6.0, 10.0][..]), room, threshold, words).prop_map(
        |(gbps, room, threshold, (at_dequeue, in_service, device))| Rule {
            gbps,
            room,
            threshold,
            at_dequeue,
            in_service,
            device,
        },
    )
}

const SENDERS: u32 = 5;
const DELAY_NS: u64 = 700;

/// One packet a flow from five hosts to a sixth of their rack: (sender, payload, start in ns).
type Shots = Vec<(u32, u64, u64)>;

fn shots() -> impl Strategy<Value = Shots> {
    prop::collection::vec((0..SENDERS, 1u64..=1460, 0u64..25_000), 2..90).prop_map(|mut shots| {
        shots.sort_by_key(|&(src, _, at)| (at, src));
        shots.dedup_by_key(|&mut (src, _, at)| (at, src));
        shots
    })
}

fn through_one_port(rule: &Rule, host_gbps: f64, ports: &str, shots: &Shots) -> Value {
    let list: Vec<Value> = shots.iter().map(|&(src, bytes, at)| flow(src, SENDERS, bytes, at)).collect();
    let unit = |(n, in_packets): (u64, bool), name: &str| -> (String, u64) {
        (format!("{name}_{}", if in_packets { "packets" } else { "bytes" }), n)
    };
    let mut switch = json!({
        "ecn_at": if rule.at_dequeue { "dequeue" } else { "enqueue" },
        "queue_counts": if rule.in_service { "in_service" } else { "waiting" }, "ports": ports,
        "device_queue_packets": rule.device,
    });
    for (key, n) in [unit(rule.room, "buffer"), unit(rule.threshold, "ecn_threshold")] {
        switch[key] = json!(n);
    }
    json!({
        "topology": {"leaves": 1, "spines": 1, "hosts_per_leaf": SENDERS + 1, "host_rate_gbps": host_gbps,
                     "host_delay_ns": DELAY_NS,
                     "override": [{"host": SENDERS, "direction": "down", "rate_gbps": rule.gbps}]},
        "switch": switch, "traffic": [{"kind": "flows", "list": list}],
        // Dropped packets are gone: nothing is resent before the end.
        "transport": {"min_rto_us": 5000, "initial_rto_us": 5000},
        "run": {"stop": "time", "until_us": 4500},
    })
}

/// Arrivals at the port, in order: (ps, bytes on the wire, flow).
fn arrivals(outcome: &Outcome, host_gbps: f64) -> Vec<(u64, u64, usize)> {
    let mut nics = vec![Line::new(host_gbps); SENDERS as usize];
    let flows = outcome.specs.iter().enumerate();
    let mut arrivals: Vec<_> = flows
        .map(|(n, flow)| {
            let bytes = flow.size + 40;
            let (_, end) = nics[flow.src as usize].send(flow.start.0, bytes);
            (end + DELAY_NS * 1000, bytes, n)
        })
        .collect();
    arrivals.sort_unstable();
    arrivals
}

fn seeded(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(11),
        given => given,
    };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(seeded(500))]

    /// First come, first served; the line never rests while something waits; room and marks follow the rule, each
    /// packet to the picosecond.
    #[test]
    fn a_port_does_as_its_rule_says(
        rule in rule(), shots in shots(), host_gbps in select(&[1.0, 3.0, 10.0, 25.0][..]),
        ports in select(&["fifo", "commit_at_start"][..]),
    ) {
        let outcome = run(&through_one_port(&rule, host_gbps, ports, &shots));
        let arrivals = arrivals(&outcome, host_gbps);
        prop_assume!(arrivals.windows(2).all(|two| two[0].0 < two[1].0));
        let plain: Vec<(u64, u64)> = arrivals.iter().map(|&(at, bytes, _)| (at, bytes)).collect();
        for (fate, (came, _, n)) in rule.serve(&plain).into_iter().zip(arrivals) {
            let record = &outcome.records[n];
            let got = (record.fct > 0).then(|| (record.fct + outcome.specs[n].start.0, record.marks == 1));
            let expected = fate.map(|(end, marked)| (end + DELAY_NS * 1000, marked));
            prop_assert_eq!(got, expected, "flow {} came at {} ps", n, came);
        }
    }
}

/// One packet a flow from one host, whose NIC queues, over links that never do.
fn out_of_a_nic(rule: &Rule, shots: &Shots) -> Value {
    let mut spec =
        through_one_port(rule, 8000.0, "fifo", &shots.iter().map(|&(_, bytes, at)| (0, bytes, at)).collect());
    spec["topology"]["override"] = json!([{"host": 0, "direction": "up", "rate_gbps": rule.gbps}]);
    spec["switch"]["nics"] = json!("queue");
    spec
}

proptest! {
    #![proptest_config(seeded(300))]

    /// A NIC that queues is a port: in the order of the packets' making, with its room and its marks.
    #[test]
    fn a_nic_that_queues_does_as_its_rule_says(rule in rule(), shots in shots()) {
        let rule = Rule { at_dequeue: false, ..rule };
        let shots: Shots = shots.windows(2).filter(|two| two[0].2 < two[1].2).map(|two| two[0]).collect();
        prop_assume!(!shots.is_empty());
        let outcome = run(&out_of_a_nic(&rule, &shots));
        let made: Vec<(u64, u64)> = outcome.specs.iter().map(|flow| (flow.start.0, flow.size + 40)).collect();
        for (n, fate) in rule.serve(&made).into_iter().enumerate() {
            let record = &outcome.records[n];
            let got = (record.fct > 0).then(|| (record.fct + outcome.specs[n].start.0, record.marks == 1));
            // A byte takes 1 ps at 8 Tbps.
            let last_hop = made[n].1 + 2 * DELAY_NS * 1000;
            prop_assert_eq!(got, fate.map(|(end, marked)| (end + last_hop, marked)), "flow {}", n);
        }
        let drops = rule.serve(&made).iter().filter(|fate| fate.is_none()).count() as u64;
        prop_assert_eq!(counter(&outcome, "dropped", "packets"), drops);
    }
}

// ---- what moves as one --------------------------------------------------------------------------------------------

/// Two racks and `spines` ways between them, buffers that never fill, no fast retransmits.
fn two_racks(spines: u32, change: Value) -> Value {
    merged(
        &json!({
            "topology": {"leaves": 2, "spines": spines, "hosts_per_leaf": 4},
            "switch": {"buffer_packets": 100_000, "ecn_threshold_packets": 65},
            "transport": {"dupack_threshold": 0},
        }),
        &change,
    )
}

/// Returns the traffic of each uplink of leaf 0.
fn uplinks(outcome: &Outcome, spines: u32, what: &str) -> Vec<u64> {
    (0..spines).map(|spine| of_link(outcome, &format!("leaf0->spine{spine}"), what)).collect()
}

/// Bursts between all hosts, with pauses between packets of every length.
fn busy(scheme: Value) -> Value {
    two_racks(
        4,
        json!({
            "topology": {"override": [{"spine": 1, "delay_ns": 30000}, {"spine": 2, "rate_gbps": 4}]},
            "scheme": scheme,
            "traffic": [{"kind": "poisson", "cdf": "web_search", "load": 0.5, "duration_us": 20000, "pairs": "any"}],
        }),
    )
}

#[test]
fn what_never_moves_a_flow_never_reorders() {
    for scheme in [
        json!({"name": "ecmp"}),
        json!({"name": "conga", "params": {"flowlet_gap_us": 1e9}}),
        json!({"name": "letflow", "params": {"flowlet_gap_us": 1e9}}),
        json!({"name": "presto", "path_tag": "outer", "params": {"flowcell_packets": 1_000_000_000}}),
        json!({"name": "flowcell", "params": {"packets": 1_000_000_000}}),
    ] {
        let outcome = run(&busy(scheme.clone()));
        assert_eq!(counter(&outcome, "dropped", "packets"), 0);
        assert!(total(&outcome, |record| record.arrived) > 20_000, "{}", total(&outcome, |record| record.arrived));
        assert_eq!(total(&outcome, |record| record.out_of_order), 0, "{scheme}");
        assert_eq!(total(&outcome, |record| record.retransmits), 0, "{scheme}");
    }
    let sprayed = run(&busy(json!({"name": "rps"})));
    assert!(total(&sprayed, |record| record.out_of_order) > 1000, "there was something to reorder");
}

/// A packet each 12 us from host 0 to the other rack.
fn metronome(scheme: Value) -> Outcome {
    run(&two_racks(
        4,
        json!({
            "scheme": scheme, "traffic": [crate::common::udp(0, 4, 1.0)], "run": {"stop": "time", "until_us": 120_000},
        }),
    ))
}

#[test]
fn a_flowlet_ends_with_a_pause_longer_than_the_gap() {
    let gap = |us: f64| json!({"name": "letflow", "params": {"flowlet_gap_us": us}});
    for gap_us in [12.0, 500.0] {
        let packets = uplinks(&metronome(gap(gap_us)), 4, "packets");
        assert_eq!(packets.iter().filter(|&&n| n > 0).count(), 1, "{gap_us} us: one flowlet, one way: {packets:?}");
    }
    for (scheme, what) in [(gap(11.999_999), "flowlets"), (gap(0.0), "flowlets"), (json!({"name": "rps"}), "spraying")]
    {
        let packets = uplinks(&metronome(scheme), 4, "packets");
        let all: u64 = packets.iter().sum();
        assert!((9998..=10_000).contains(&all), "{packets:?}");
        // Each a binomial draw of 10000 at 1/4: within four standard deviations of 43.
        assert!(packets.iter().all(|&n| n.abs_diff(2500) < 174), "{what}: {packets:?}");
    }
}

/// Without a gap every packet opens a flowlet: LetFlow reorders as random packet spraying does.
#[test]
fn letflow_without_a_gap_is_packet_spraying() {
    let share = |scheme: Value| {
        let outcome = run(&busy(scheme));
        total(&outcome, |record| record.out_of_order) as f64 / total(&outcome, |record| record.arrived) as f64
    };
    let (flowlets, packets) =
        (share(json!({"name": "letflow", "params": {"flowlet_gap_us": 0}})), share(json!({"name": "rps"})));
    println!("{flowlets} {packets}");
    assert!(packets > 0.1 && (flowlets / packets - 1.0).abs() < 0.05, "{flowlets} {packets}");
}

#[test]
fn spraying_loads_all_uplinks_alike() {
    // Round robin counts packets; random draws favour none in bytes either. Each uplink gets 27,400 data packets and as
    // many acknowledgements over 8: four standard deviations are 7 %.
    let (random, in_turn) = (json!({"name": "rps"}), json!({"name": "packet_scatter"}));
    let as_ns2 = json!({"name": "packet_scatter", "params": {"pointer": "destination"}});
    for (scheme, what, most) in [
        (&random, "bytes", 0.07),
        (&random, "packets", 0.05),
        (&in_turn, "packets", 0.001),
        (&as_ns2, "packets", 0.001),
    ] {
        let spec =
            two_racks(8, json!({"scheme": scheme, "traffic": [{"kind": "permutation", "size_bytes": 10_000_000}]}));
        let loads = uplinks(&run_both(&spec), 8, what);
        let mean = loads.iter().sum::<u64>() as f64 / 8.0;
        assert!(loads.iter().all(|&load| (load as f64 / mean - 1.0).abs() < most), "{scheme}: {what} {loads:?}");
    }
}

/// One flow of 88 cells over eight ways in turn: each way carries eleven, whole.
#[test]
fn presto_sends_whole_cells_in_turn() {
    for params in [json!({}), json!({"order": "strided"}), json!({"count": "bytes"})] {
        let spec = two_racks(
            8,
            json!({
                "scheme": {"name": "presto", "params": params},
                "traffic": [{"kind": "flows", "list": [flow(0, 4, 88 * 44 * 1460, 0)]}],
            }),
        );
        let outcome = run(&spec);
        assert_eq!(uplinks(&outcome, 8, "packets"), [11 * 44; 8], "{params}");
        assert_eq!(outcome.records[0].path_changes, 87, "{params}");
        // Acknowledgements are left to ECMP, which keeps them together.
        let back: Vec<u64> = (0..8).map(|s| of_link(&outcome, &format!("leaf1->spine{s}"), "packets")).collect();
        assert_eq!(back.iter().filter(|&&n| n > 0).count(), 1, "{back:?}");
        assert_eq!(back.iter().sum::<u64>(), 88 * 44);
    }
}

// ---- path tags ----------------------------------------------------------------------------------------------------

/// Stops a run halfway and examines the data in flight between leaves and spines: (uplink taken, tag).
fn tags_under_way(spec: &Value) -> Vec<(bool, u16, u16)> {
    let spec = crate::common::resolved(spec);
    let setup = Setup::new(&spec, Tuning::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut sim = Sim::new(&setup.net, setup.start);
    sim.run(&spec, Tuning::default(), &mut |_| true).expect("nobody interrupts");
    let topology = &sim.net.topology;
    let mut seen = Vec::new();
    for (number, link) in topology.links.numbered() {
        for packet in sim.world.wires.ring(number).iter().filter(|packet| packet.kind == Kind::Data) {
            let (from, to) =
                (topology.leaf(HostId::new(packet.src.number())), topology.leaf(HostId::new(packet.dst.number())));
            if !topology.joins_switches(number) || from == to {
                continue;
            }
            let upwards = link.from.0 == topology.leaf_node(from);
            let switch = topology.switch_number(link.from.0);
            let taken = topology.uplinks(switch, to).iter().position(|&port| port == link.from.1).expect("a candidate");
            let (first, second) = topology.split(from, to, packet.way.0);
            assert_eq!(taken, usize::from(if upwards { first } else { second }), "{packet:?} on {link:?}");
            seen.push((upwards, taken as u16, packet.way.0));
        }
    }
    seen
}

#[test]
fn an_explicit_tag_is_the_path() {
    for overrides in [json!([]), json!([{"leaf": 1, "spine": 0, "link": 1, "up": false}, {"spine": 2, "rate_gbps": 3}])]
    {
        let spec = two_racks(
            3,
            json!({
                "topology": {"parallel_links": 2, "fabric_delay_ns": 40000, "override": overrides},
                "scheme": {"name": "flowcell", "params": {"packets": 1}},
                "traffic": [{"kind": "permutation", "size_bytes": 3_000_000}],
                "run": {"stop": "time", "until_us": 900},
            }),
        );
        let seen = tags_under_way(&spec);
        let mut ways: Vec<u16> = seen.iter().map(|&(.., way)| way).collect();
        ways.sort_unstable();
        ways.dedup();
        assert!(seen.iter().any(|seen| seen.0) && seen.iter().any(|seen| !seen.0), "on both hops");
        // Six uplinks, two links beyond each; without one leaf-spine link both ways, of rack 1's five uplinks each
        // still has two beyond, and of rack 0's six two have one.
        assert_eq!(ways.len(), if overrides == json!([]) { 12 } else { 10 }, "{ways:?}");
    }
}

/// A tunnel's port is hashed: the same tag and hosts always go one way, and tags do not name links.
#[test]
fn an_outer_tag_is_hashed() {
    let spec = |packets: u64, tag: &str| {
        two_racks(
            8,
            json!({
                "scheme": {"name": "presto", "path_tag": tag, "params": {"flowcell_packets": packets}},
                "traffic": [{"kind": "flows", "list": [flow(0, 4, 8 * 40 * 1460, 0)]}],
            }),
        )
    };
    for tag in ["outer", "inner"] {
        let one = uplinks(&run(&spec(1_000_000, tag)), 8, "packets");
        assert_eq!(one.iter().filter(|&&n| n > 0).count(), 1, "{tag}: {one:?}");
        // Eight tags in turn, each 40 packets: whichever ways they hash to carry whole multiples of 40.
        let all = uplinks(&run(&spec(1, tag)), 8, "packets");
        assert!(all.iter().all(|n| n % 40 == 0) && all.iter().sum::<u64>() == 320, "{tag}: {all:?}");
        assert!(all.iter().any(|&n| n != 40), "{tag}: eight hashes that all differ are a chance of 1 in 400: {all:?}");
    }
}
