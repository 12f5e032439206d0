//! The cost of one decision and one update of each scheme, against the number of paths: PDLB's Table 3 in nanoseconds.
//!
//! One seat of each scheme, through the bank, as in a run: a leaf with some uplinks, or a host with some paths to
//! each of four racks. Queues and delays are random and change all the time; everything is in the cache.

use crate::address::Address;
use crate::bank::{Bank, Call, Called, Chosen, NO_PEER, Places, Room};
use crate::ids::HostId;
use crate::packet::{Fields, Hashing, Packet, Tags};
use crate::spec::comparable_schemes;
use serde_json::{Value, json};
use spinewise_policy::site::Ports;
use spinewise_policy::{
    Device, Event, Feedback, Hooks, HostView, Peers, Port, Queue, Rng, Shape, Span, SwitchView, Tier, Time, Way,
};
use std::time::{Duration, Instant};

/// Numbers of paths.
pub(super) const PATHS: &[u16] = &[4, 8, 16, 32, 64, 128, 256];

const RACKS: u32 = 5;
const HOSTS: u32 = 4;
const FLOWS: u32 = 64;
const HASHING: Hashing = Hashing { tags: Tags::Explicit, fields: Fields::Header, ends: Vec::new() };

/// Uplinks with queues that a random stream fills; the same port has another queue at each instant.
struct Uplinks {
    turn: u64,
}

impl Ports for Uplinks {
    fn leaf_of(&self, _: u32) -> u32 {
        0
    }
    fn queue_bytes(&self, port: Port) -> u64 {
        // No more work than to read a counter, and no memory.
        (self.turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (port.0 % 32)) & 0xffff
    }
    fn queue_packets(&self, port: Port) -> u32 {
        (self.queue_bytes(port) >> 10) as u32
    }
    fn rate(&self, _: Port) -> u64 {
        10_000_000_000
    }
    fn free_queue(&self, _: Port) -> Option<Queue> {
        Some(Queue(0))
    }
    fn queueing_delay(&self, port: Port) -> Span {
        Span(self.queue_bytes(port) * 800)
    }
}

/// One seat under test.
struct Bench {
    bank: Bank,
    at_host: bool,
    peers: Peers,
    candidates: Vec<u16>,
    leaf_of: Vec<u32>,
    ways: Vec<u16>,
    ports: Uplinks,
    now: Time,
    rng: Rng,
}

/// Nanoseconds per call; nothing where the scheme lists no such hook.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    pick: f64,
    egress: Option<f64>,
    feedback: Option<f64>,
    tick: Option<f64>,
}

impl Bench {
    fn new(name: &str, at_host: bool, paths: u16) -> Option<Bench> {
        let tier = if at_host { Tier::Host } else { Tier::Leaf };
        let ports = if at_host { 1 } else { HOSTS as u16 + paths };
        let shape = Shape { tier, hosts: RACKS * HOSTS, leaves: RACKS, ports, ways: paths };
        let places = Places { shapes: vec![shape], kinds: vec![0], tags: Tags::Explicit };
        let bank = Chosen::by_name(name)?.seat(&places, 1, Called::AsItSays);
        let mut bench = Bench {
            peers: bank.peers(0),
            bank,
            at_host,
            candidates: (HOSTS as u16..HOSTS as u16 + paths).collect(),
            leaf_of: (0..RACKS * HOSTS).map(|host| host / HOSTS).collect(),
            ways: vec![paths; RACKS as usize],
            ports: Uplinks { turn: 1 },
            now: Time::ZERO + Span::from_us(1),
            rng: Rng::stream(1, "decisions", u64::from(paths)),
        };
        for flow in 0..FLOWS {
            bench.feedback(flow, Way::ANY, Event::FlowStart { size: 10_000_000 });
        }
        Some(bench)
    }

    /// The destination host of a flow, in another rack.
    fn dst(flow: u32) -> u32 {
        HOSTS + flow % (HOSTS * (RACKS - 1))
    }

    fn ask<R>(&mut self, dst: u32, hook: impl FnOnce(&mut Bank, Call<'_>) -> R) -> R {
        let room = if self.at_host {
            Room::Host(HostView {
                host: 0,
                leaf: 0,
                leaf_of: &self.leaf_of,
                ways: &self.ways,
                link_rate: 10_000_000_000,
                path_rate: 10_000_000_000,
                path_rates: &[],
                base_rtt: Span::from_us(20),
                base_one_way: Span::from_us(11),
                mss: 1460,
                mtu: 1500,
            })
        } else {
            Room::Switch(SwitchView {
                switch: 0,
                tier: Tier::Leaf,
                candidates: &self.candidates,
                host_ports: HOSTS as u16,
                salt: 99,
                ports: &self.ports,
                free_queues: &[],
            })
        };
        let peer = match self.peers {
            _ if dst == NO_PEER => NO_PEER,
            Peers::None => NO_PEER,
            Peers::Hosts => dst,
            Peers::Leaves => dst / HOSTS,
        };
        let answer = hook(&mut self.bank, Call { seat: 0, now: self.now, room, peer });
        if self.bank.has_asked() {
            let asked = self.bank.asked();
            self.bank.give_back(asked);
        }
        answer
    }

    fn packet(flow: u32) -> Packet {
        Packet {
            flow,
            dst: Address::host(HostId::new(Self::dst(flow))),
            wire: 1500,
            payload: 1460,
            way: Way::ANY,
            ..Packet::default()
        }
    }

    fn pick(&mut self, turn: u32) -> u16 {
        let mut packet = Self::packet(turn % FLOWS);
        self.now += Span::from_ns(100);
        self.ports.turn += 1;
        self.ask(packet.dst.number(), |bank, call| bank.pick(call, &mut packet, (&HASHING, 0)).0.0)
    }

    fn egress(&mut self, turn: u32) {
        let packet = Self::packet(turn % FLOWS);
        let port = self.candidates[turn as usize % self.candidates.len()];
        let view = packet.view(&HASHING, 0, port);
        self.now += Span::from_ns(100);
        self.ask(packet.dst.number(), |bank, call| bank.egress(call, Port(port), &view, &mut [0; 16]));
    }

    fn feedback(&mut self, flow: u32, way: Way, event: Event) {
        let feedback = Feedback { way, flow: Some(Self::packet(flow).key()), event };
        self.ask(Self::dst(flow), |bank, call| bank.feedback(call, &feedback));
    }

    /// A delay between 20 and 84 µs.
    fn delay(&mut self) -> Span {
        Span::from_us(20) + Span(self.rng.bits() >> 38)
    }

    fn acknowledge(&mut self, turn: u32) {
        self.now += Span::from_ns(100);
        let way = Way((turn % u32::from(self.ways[0])) as u16);
        let rtt = self.delay();
        self.feedback(turn % FLOWS, way, Event::Ack { bytes: 1460, rtt, one_way: rtt, marked: turn.is_multiple_of(8) });
    }

    /// All probes of one destination come back.
    fn answer_probes(&mut self, dst: u32) {
        for way in 0..self.ways[0] {
            let rtt = self.delay();
            let event = Event::ProbeReply { rtt, one_way: rtt, marked: false, by: Device::Host(dst), port: Port(0) };
            let feedback = Feedback { way: Way(way), flow: None, event };
            self.ask(dst, |bank, call| bank.feedback(call, &feedback));
        }
    }

    /// Measures the cost of this scheme, in `turns` calls each.
    fn cost(&mut self, turns: u32) -> Cost {
        let hooks = self.bank.hooks();
        let pick = per_call(turns, |turn| {
            std::hint::black_box(self.pick(turn));
        });
        let egress = hooks.has(Hooks::EGRESS).then(|| per_call(turns, |turn| self.egress(turn)));
        let feedback =
            (self.at_host && hooks.has(Hooks::FEEDBACK)).then(|| per_call(turns, |turn| self.acknowledge(turn)));
        let tick = hooks.has(Hooks::TICK).then(|| self.ticks((turns / 256).max(8)));
        Cost { pick, egress, feedback, tick }
    }

    /// Each tick after a period in which every path of every destination was measured.
    #[allow(clippy::disallowed_methods)] // this module measures wall time; it decides no result
    fn ticks(&mut self, times: u32) -> f64 {
        let period = self.bank.layout(0).tick;
        let mut spent = Duration::ZERO;
        for _ in 0..times {
            self.now += period;
            if self.at_host {
                (0..FLOWS).for_each(|flow| self.acknowledge(flow));
                (HOSTS..RACKS * HOSTS).for_each(|dst| self.answer_probes(dst));
            }
            self.ports.turn += 1;
            let began = Instant::now();
            self.ask(NO_PEER, |bank, call| bank.tick(call));
            spent += began.elapsed();
        }
        spent.as_secs_f64() * 1e9 / f64::from(times)
    }
}

/// Nanoseconds per call, after a quarter of the turns to warm up.
#[allow(clippy::disallowed_methods)]
fn per_call(turns: u32, mut call: impl FnMut(u32)) -> f64 {
    (0..turns / 4).for_each(&mut call);
    let began = Instant::now();
    (0..turns).for_each(&mut call);
    began.elapsed().as_secs_f64() * 1e9 / f64::from(turns)
}

/// One record per scheme that says how it compares and number of paths; the best of `rounds` counts.
pub(super) fn run(rounds: u32, share: f64, mut reference: impl FnMut() -> f64) -> Vec<Value> {
    let turns = ((200_000.0 * share) as u32).max(512);
    let mut list = Vec::new();
    for (name, site) in comparable_schemes() {
        let reference_ns = (0..rounds).map(|_| reference()).fold(f64::INFINITY, f64::min);
        for &paths in PATHS {
            let mut best: Option<Cost> = None;
            for _ in 0..rounds {
                let Some(mut bench) = Bench::new(name, site == "host", paths) else { continue };
                let cost = bench.cost(turns);
                best = Some(best.map_or(cost, |best| least(best, cost)));
            }
            let Some(cost) = best else { continue };
            list.push(json!({
                "name": format!("decisions_{name}_{paths}"),
                "scheme": name,
                "paths": paths,
                "pick_ns": cost.pick,
                "egress_ns": cost.egress,
                "feedback_ns": cost.feedback,
                "tick_ns": cost.tick,
                "peers": RACKS * HOSTS - HOSTS,
                "reference_ns": reference_ns,
            }));
        }
    }
    list
}

fn least(a: Cost, b: Cost) -> Cost {
    let both = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a.min(b));
    Cost {
        pick: a.pick.min(b.pick),
        egress: both(a.egress, b.egress),
        feedback: both(a.feedback, b.feedback),
        tick: both(a.tick, b.tick),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_is_measured_at_every_number_of_paths() {
        let list = run(1, 0.0, || 1.0);
        let schemes = comparable_schemes().count();
        assert!(schemes >= 12);
        assert_eq!(list.len(), schemes * PATHS.len());
        for record in &list {
            assert!(record["pick_ns"].as_f64().is_some_and(|ns| ns > 0.0), "{record}");
            for part in ["egress_ns", "feedback_ns", "tick_ns"] {
                assert!(record[part].is_null() || record[part].as_f64().is_some_and(|ns| ns > 0.0), "{record}");
            }
        }
        assert!(list.iter().any(|record| record["tick_ns"].is_f64()));
        assert!(list.iter().any(|record| record["egress_ns"].is_f64()));
    }
}
