//! Schemes under hard use: whatever arrives, in whatever order, however late, no agent may crash.
//!
//! Four agents of two racks exchange what they wish to send, some of it corrupted; probes are answered by any host or
//! none; clocks jump, and events are reported late, as by an agent that got no CPU. `cargo test` has overflow checks.

use crate::oracle::{RACKS, view};
use spinewise_agent::plan::Plan;
use spinewise_agent::slow::{Slow, Wish};
use spinewise_agent::table::{Manners, Paths, table};
use spinewise_policy::{Device, Event, Port, Rng, Span, Time, Way};

const HOSTS: u32 = RACKS.len() as u32;
/// Names of a few ways, some of which do not exist.
const STRANGE: [u16; 5] = [15, 16, 63, 50_003, u16::MAX];

/// Four agents, and the numbers that drive them.
struct Case {
    plan: Plan,
    agents: Vec<Slow>,
    rng: Rng,
    now: Time,
    ways: u16,
    /// Messages in transit: sender, recipient, class and body.
    post: Vec<(u32, u32, u8, Vec<u8>)>,
    /// Outstanding probes: sender, target, and way.
    probes: Vec<(u32, u32, Way, u8)>,
}

impl Case {
    fn new(plan: &Plan, seed: u64) -> Case {
        let agent = |host| {
            let mut view = view(4);
            view.host = host;
            view.ways = (0..2).map(|rack| if rack == RACKS[host as usize] { 0 } else { 4 }).collect();
            Slow::new(plan.clone(), view, seed, 16)
        };
        Case {
            plan: plan.clone(),
            agents: (0..HOSTS).map(agent).collect(),
            rng: Rng::stream(seed, "hard", 0),
            now: Time(1_000_000_000_000),
            ways: 4,
            post: Vec::new(),
            probes: Vec::new(),
        }
    }

    fn way(&mut self) -> Way {
        match self.rng.below(20) {
            0 => Way(STRANGE[self.rng.below(STRANGE.len() as u32) as usize]),
            _ => Way(self.rng.below(u32::from(self.ways)) as u16),
        }
    }

    fn span(&mut self) -> Span {
        match self.rng.below(30) {
            0 => Span::ZERO,
            // The possible values of stamps of 32 bits, in 256 ns.
            1 => Span::from_ns(u64::from(self.rng.bits() as u32) * 256),
            2 => Span::from_ns(u64::from(u32::MAX) * 256),
            _ => Span::from_us(u64::from(self.rng.below(100_000))),
        }
    }

    /// The current time, or an earlier instant that is reported late.
    fn when(&mut self) -> Time {
        if self.rng.below(4) == 0 { self.now - Span::from_us(u64::from(self.rng.below(80_000))) } else { self.now }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.rng.below(256) as u8)
    }

    fn event(&mut self) -> Event {
        let (rtt, one_way, marked) = (self.span(), self.span(), self.rng.below(5) == 0);
        match self.rng.below(8) {
            0 => Event::FlowStart { size: self.rng.bits() },
            1 => Event::FlowEnd,
            2 => Event::ProbeLost,
            3 | 4 => {
                let by = if self.rng.below(2) == 0 { Device::Host(self.rng.below(6)) } else { Device::Switch(7) };
                Event::ProbeReply { rtt, one_way, marked, by, port: Port(0) }
            }
            _ => Event::Ack { bytes: 1448, rtt, one_way, marked },
        }
    }

    /// Something happens to one agent.
    fn step(&mut self) {
        self.now += match self.rng.below(200) {
            0 => Span::from_ms(u64::from(self.rng.below(20_000))),
            1..=20 => Span::from_ms(u64::from(self.rng.below(40))),
            _ => Span::from_us(u64::from(self.rng.below(1_500))),
        };
        let host = self.rng.below(HOSTS);
        let (at, to) = (self.when(), (1 - RACKS[host as usize]) * 2 + self.rng.below(2));
        let what = self.rng.below(100);
        let header = self.bytes::<16>();
        let (way, event) = (self.way(), self.event());
        let counts = (self.rng.below(40), self.rng.below(120), 64 + self.rng.below(65_000));
        let agent = &mut self.agents[host as usize];
        match what {
            0..=29 => agent.catch_up(self.now),
            30..=44 => drop(agent.sent(at, to, (counts.0, counts.0 + counts.1), counts.2)),
            45..=54 => agent.learnt(at, to, way, event),
            55..=64 => {
                agent.arrived(at, to, way, (counts.2, counts.0.is_multiple_of(2)), counts.1 as u16 % 3);
            }
            65..=71 => {
                agent.heard(at, to, way, header);
            }
            72..=75 => agent.heard_alone(at, to, header),
            76..=78 => agent.message(at, counts.0 % HOSTS, counts.1 as u8 % 4, &header[..counts.0 as usize % 17]),
            79..=88 => self.deliver(),
            89..=95 => self.answer(),
            96..=98 => self.publish(host, to),
            // Its agent has been replaced.
            99 if counts.0 < 4 => agent.forget(to),
            _ if self.rng.below(20) == 0 => self.reroute(),
            _ => {}
        }
        self.collect(host);
    }

    /// Messages arrive, a few of them corrupted.
    fn deliver(&mut self) {
        for (from, to, class, mut body) in std::mem::take(&mut self.post) {
            if !body.is_empty() && self.rng.below(10) == 0 {
                let at = self.rng.below(body.len() as u32) as usize;
                body[at] ^= 1 << self.rng.below(8);
                body.truncate(body.len() - self.rng.below(2) as usize);
            }
            let at = self.when();
            self.agents[to as usize].message(at, from, class, &body);
        }
    }

    /// Probes come back, from any host, or are lost; some are reported after the paths have changed.
    fn answer(&mut self) {
        for (host, to, way, ttl) in std::mem::take(&mut self.probes) {
            let event = match self.rng.below(4) {
                0 => Event::ProbeLost,
                _ => {
                    let by = if ttl == 0 {
                        Device::Host(to)
                    } else {
                        Device::Switch(u32::from(ttl) << 8 | u32::from(way.0 % 4))
                    };
                    let (rtt, one_way) = (self.span(), self.span());
                    Event::ProbeReply { rtt, one_way, marked: false, by, port: Port(0) }
                }
            };
            let at = self.when();
            self.agents[host as usize].learnt(at, to, way, event);
        }
    }

    /// Rehearses the next decisions and makes a table of them.
    fn publish(&mut self, host: u32, to: u32) {
        let (now, ways) = (self.now, self.ways);
        let agent = &mut self.agents[host as usize];
        let said = agent.rehearse(now, to);
        agent.hides(now, to);
        // A path to this host may be missing that exists to another one of its rack.
        let mut paths = Paths::of((0..ways.max(2) - 1).map(|way| 50_000 + way).collect());
        if self.plan.by_port {
            paths.follow(&said.offered);
        }
        table(&self.plan, &said, &paths, Manners::default(), (0, 1448));
    }

    /// The paths change.
    fn reroute(&mut self) {
        self.ways = 1 + self.rng.below(16) as u16;
        for agent in &mut self.agents {
            for ways in agent.view.ways.iter_mut().filter(|ways| **ways > 0) {
                *ways = self.ways;
            }
            agent.begin_anew(self.now);
        }
    }

    /// Collects what an agent wishes to send.
    fn collect(&mut self, host: u32) {
        for wish in self.agents[host as usize].wishes() {
            match wish {
                Wish::Send { to, class, body } => {
                    self.post.extend(to.into_iter().map(|to| (host, to, class, body.clone())));
                }
                Wish::Probe { to, way, ttl, .. } => self.probes.push((host, to, way, ttl)),
                Wish::Record { .. } => {}
            }
        }
    }
}

#[test]
fn no_scheme_ends_an_agent_whatever_comes() {
    let cases = [
        ("ecmp", "{}"),
        ("packet_scatter", "{}"),
        ("letflow", "{}"),
        ("presto", "{}"),
        ("clove", "{}"),
        ("pdlb", r#"{"period_us": 5000}"#),
        ("pdlb", r#"{"period_us": 5000, "scope": "sender", "estimate": "ack_share"}"#),
        ("meet", r#"{"flowlet_gap_us": 4000, "t_update_us": 5000, "t_probe_us": 5000}"#),
        ("meet", r#"{"probe": "host", "route": "best_probe", "t_probe_us": 700}"#),
        ("elab", "{}"),
        ("elab", r#"{"counting": "cumulative", "ecn": "all_marked", "record_rates": true}"#),
    ];
    for (name, params) in cases {
        let plan = crate::oracle::scheme(name, params);
        for seed in 0..4 {
            let mut case = Case::new(&plan, seed);
            (0..20_000).for_each(|_| case.step());
        }
    }
}
