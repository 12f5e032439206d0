//! Every transport of the registry, both ends together, driven only through its contract, over wires that lose, reorder
//! and duplicate.

use super::*;
use crate::ids::{FlowId, SubflowId};
use crate::packet::{RETRANSMIT, URGENT};
use crate::transport::RdmaConfig;
use crate::transport::UetConfig;
use crate::transport::config::Recovery;
use crate::transport::congestion::{delivery, rate, window};
use crate::transport::contract::{After, Answer, Arrival, Asks, Counts, Data, Outgoing, Start, Told, TrimmedAt};
use crate::transport::ends::{Expired, Heard};
use crate::transport::rdma;
use spinewise_policy::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The impairments of a wire: percent lost and duplicated, and the microseconds that a packet may be late.
#[derive(Clone, Copy, Debug)]
struct Wire {
    lost: u64,
    doubled: u64,
    late: u64,
}

enum Event {
    Data(SubflowId, Arrival, Box<[u8]>),
    Answer(SubflowId, Answer, Box<[u8]>),
    Retransmit(SubflowId),
    Delayed(SubflowId),
    Grant(Asks),
    Pull,
}

/// The one flow.
const FLOW: FlowId = FlowId::new(0);

/// One flow: a host's work for it, without hosts.
struct Flow {
    ends: Ends,
    /// Its subflows, 0 if it has one path.
    paths: u32,
    size: u64,
    wire: Wire,
    now: Time,
    plan: BTreeMap<(Time, u64), Event>,
    planned: u64,
    pull_at: Time,
    state: u64,
    new_bytes: u64,
    is_through: bool,
}

impl Flow {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }

    fn plan(&mut self, at: Time, event: Event) {
        if at != Time::NEVER {
            self.planned += 1;
            self.plan.insert((at, self.planned), event);
        }
    }

    /// Returns when a packet that leaves now arrives, once for each copy.
    fn arrivals(&mut self) -> Vec<Time> {
        let fate = self.draw(100);
        let copies = if fate < self.wire.lost { 0 } else { 1 + u64::from(fate < self.wire.lost + self.wire.doubled) };
        (0..copies).map(|_| self.now + Span::from_us(20 + self.draw(self.wire.late + 1))).collect()
    }

    fn subflow(&self, path: usize) -> SubflowId {
        SubflowId::new(if self.paths == 0 { 0 } else { 1 + path as u32 })
    }

    fn send(&mut self, subflow: SubflowId, mut data: Arrival, option: &[u8]) {
        for at in self.arrivals() {
            data.ce = self.draw(20) == 0;
            let trims = self.ends.facts().returns_tags && self.wire.lost > 0 && self.draw(20) == 0;
            data.trimmed = trims.then_some(if data.ce { TrimmedAt::LastHop } else { TrimmedAt::Inside });
            self.plan(at, Event::Data(subflow, data, option.into()));
        }
    }

    fn answer(&mut self, subflow: SubflowId, answer: Answer, told: Option<&Told>) {
        let option = told.map_or(&[][..], |told| &told.option);
        for at in self.arrivals() {
            self.plan(at, Event::Answer(subflow, answer, option.into()));
        }
    }

    /// Sends all that may be sent now.
    fn pull(&mut self) {
        while let Some(at) = self.ends.may_send_from(FLOW).filter(|&at| at != Time::NEVER) {
            if at > self.now {
                if at < self.pull_at || self.pull_at <= self.now {
                    self.pull_at = at;
                    self.plan(at, Event::Pull);
                }
                return;
            }
            let mut timer = Time::NEVER;
            let next = self.ends.next(self.now, FLOW, &mut timer).expect("it may send");
            let stamp = self.now;
            let subflow = match next {
                Outgoing::Data(data) => {
                    self.send(FLOW.whole(), arrival(&data, stamp), &[]);
                    FLOW.whole()
                }
                Outgoing::OnPath(path, data, option) => {
                    self.send(self.subflow(path), arrival(&data, stamp), &option);
                    self.subflow(path)
                }
                Outgoing::Question { seq, option, .. } => {
                    self.send(FLOW.whole(), Arrival { seq, stamp, urgent: true, ..Arrival::default() }, &option);
                    FLOW.whole()
                }
                Outgoing::Greeting { path, flags, .. } => {
                    let syn = flags & crate::packet::SYN != 0;
                    self.send(self.subflow(path), Arrival { syn, stamp, ..Arrival::default() }, &[]);
                    self.subflow(path)
                }
            };
            self.plan(timer, Event::Retransmit(subflow));
        }
    }

    fn arrive(&mut self, subflow: SubflowId, data: &Arrival, option: &[u8]) {
        if data.len == 0 && !data.urgent {
            if data.syn || subflow.number() > 1 {
                assert!(self.ends.welcome(subflow, data) > 0);
                let answer = Answer { echo: data.stamp, nack_or_syn: data.syn, ..Answer::default() };
                self.answer(subflow, answer, None);
            }
            return;
        }
        let mut timer = Time::NEVER;
        let got = match self.is_through {
            true => self.ends.late((FlowId::new(0), self.size), data, || option),
            false => self.ends.on_data(self.now, (subflow, self.size), data, || option, &mut timer),
        };
        if got.asks {
            self.plan(self.now, Event::Grant(Asks::Yes));
        }
        self.new_bytes += got.new_bytes;
        assert!(!(self.is_through && got.completed), "completed twice");
        self.is_through |= got.completed;
        got.answers.iter().flatten().for_each(|&answer| self.answer(subflow, answer, got.told.as_ref()));
        self.plan(timer, Event::Delayed(subflow));
    }

    /// Lets an event happen. Returns whether everything is acknowledged.
    fn happen(&mut self, event: Event) -> bool {
        match event {
            Event::Data(subflow, data, option) => self.arrive(subflow, &data, &option),
            Event::Answer(subflow, answer, option) => match self.ends.on_answer(self.now, subflow, &answer, || &option)
            {
                Heard::Nothing | Heard::Opened => {}
                Heard::Trimmed(_, timer) => self.plan(timer, Event::Retransmit(subflow)),
                Heard::Acked { acked, .. } if acked.done => return true,
                Heard::Acked { timer, .. } => self.plan(timer, Event::Retransmit(subflow)),
            },
            Event::Retransmit(subflow) => match self.ends.expire(self.now, subflow) {
                Expired::Stale => {}
                Expired::Early(at) | Expired::Sends(_, at) => self.plan(at, Event::Retransmit(subflow)),
            },
            Event::Delayed(subflow) => {
                let (answer, timer) = self.ends.delayed(self.now, subflow);
                if let Some((answer, told)) = answer {
                    self.answer(subflow, answer, told.as_ref());
                }
                self.plan(timer, Event::Delayed(subflow));
            }
            Event::Grant(asks) => {
                if let Some(grant) = self.ends.grant(FLOW, asks) {
                    self.answer(FLOW.whole(), grant.answer, Some(&grant.told));
                    let again = self.now + Span::from_us(1 + grant.quanta / 64);
                    match grant.after {
                        After::Asks => self.plan(again, Event::Grant(Asks::Yes)),
                        After::Idles => self.plan(again, Event::Grant(Asks::No)),
                        After::Leaves => {}
                    }
                }
            }
            Event::Pull => {}
        }
        self.pull();
        false
    }
}

/// Runs a flow to its end; returns what its sender has counted.
fn finishes(transport: &TransportSpec, size: u64, seed: u64, wire: Wire) -> Counts {
    let paths = match transport {
        TransportSpec::Tcp(config) if config.mptcp() => config.subflows,
        TransportSpec::Rdma(config) => config.split_over(),
        TransportSpec::Tcp(_) | TransportSpec::Uet(_) => 0,
    };
    let mut flow = Flow {
        ends: Ends::new(transport, seed, 1, paths as usize),
        paths,
        size,
        wire,
        now: Time::ZERO,
        plan: BTreeMap::new(),
        planned: 0,
        pull_at: Time::ZERO,
        state: seed,
        new_bytes: 0,
        is_through: false,
    };
    let (frame, base_rtt) = (transport.frame(), Span::from_us(40));
    let start = Start { paths: paths.max(1) as usize, rate: 10_000_000_000, frame, base_rtt, ..Start::sized(size) };
    flow.ends.start(&start);
    flow.pull();
    for _ in 0..2_000_000 {
        let Some(((now, _), event)) = flow.plan.pop_first() else { panic!("nobody waits for anything: {transport:?}") };
        flow.now = now;
        if flow.happen(event) {
            assert!(flow.is_through && flow.new_bytes == size, "{} of {size} bytes: {transport:?}", flow.new_bytes);
            assert!(!flow.ends.receives(FLOW), "the receiving end goes with its last byte");
            let counts = flow.ends.account(FLOW).expect("it has a sender");
            flow.ends.finish(FLOW);
            assert!(!flow.ends.sends(FLOW));
            return counts;
        }
    }
    panic!("it does not end: {transport:?}");
}

/// One of each congestion control and recovery, with a handshake and without.
fn transports() -> Vec<TransportSpec> {
    let mut all = Vec::new();
    for handshake in [false, true] {
        for recovery in [Recovery::NewReno, Recovery::Reno, Recovery::Sack, Recovery::Rack] {
            for &kind in window::Kind::ALL {
                let subflows = if kind == window::Kind::Mptcp { 3 } else { 1 };
                let syn_timeout = Span::from_ms(3);
                let tcp = TcpConfig { kind, recovery, handshake, subflows, syn_timeout, ..TcpConfig::datacenter() };
                all.push(TransportSpec::Tcp(TcpConfig { pacing: true, ..tcp.clone() }));
                all.push(TransportSpec::Tcp(TcpConfig { delayed_ack: 1 + u32::from(handshake), ..tcp }));
            }
        }
    }
    for recovery in [rdma::Recovery::GoBackN, rdma::Recovery::Irn] {
        for &kind in rate::Kind::ALL {
            let presets = [RdmaConfig::in_whole_ns(recovery), RdmaConfig::spacing_cnps(recovery)];
            let splits = |preset: &RdmaConfig| RdmaConfig {
                queue_pairs: Some(3),
                queue_pair_use: Some(rdma::config::QueuePairUse::Split),
                ..preset.clone()
            };
            let all_presets = presets.iter().map(splits).chain(presets.clone());
            all.extend(all_presets.map(|preset| TransportSpec::Rdma(RdmaConfig { kind, ..preset })));
        }
    }
    for &kind in delivery::Kind::ALL {
        for receiver_credit in [false, true] {
            if receiver_credit || kind != delivery::Kind::None {
                all.push(TransportSpec::Uet(UetConfig { kind, receiver_credit, ..UetConfig::uet_htsim() }));
            }
        }
    }
    all
}

/// A packet of data as it arrives.
fn arrival(data: &Data, stamp: Time) -> Arrival {
    let is = |flag: u8| data.flags & flag != 0;
    Arrival {
        seq: data.seq,
        len: data.len.into(),
        stamp,
        // The values of queue pairs and TCP at these places are not read on arrival here.
        urgent: is(URGENT),
        retransmit: is(RETRANSMIT),
        ..Arrival::default()
    }
}

#[test]
fn every_transport_is_among_those_tested() {
    let name = |ends: &Ends| format!("{ends:?}").split('(').next().map(str::to_string);
    let tested: BTreeSet<_> = transports().iter().map(|transport| name(&Ends::new(transport, 1, 1, 3))).collect();
    macro_rules! names {
        ($($variant:ident: $transport:ty,)*) => { [$(stringify!($variant)),*] };
    }
    let all: BTreeSet<_> = each_transport!(names).iter().map(|&name| Some(name.to_string())).collect();
    assert_eq!(tested, all);
}

#[test]
fn every_flow_ends_over_a_bad_wire() {
    let wires = [
        Wire { lost: 0, doubled: 0, late: 30 },
        Wire { lost: 3, doubled: 3, late: 5 },
        Wire { lost: 12, doubled: 0, late: 0 },
    ];
    for (n, transport) in transports().iter().enumerate() {
        for (m, &wire) in wires.iter().enumerate() {
            finishes(transport, 150_000 + 17 * n as u64, 1 + (3 * n + m) as u64, wire);
        }
    }
}

#[test]
fn nothing_is_sent_twice_over_a_good_wire() {
    for transport in transports() {
        for size in [1, 1_000_003] {
            let counts = finishes(&transport, size, 7, Wire { lost: 0, doubled: 0, late: 0 });
            let mss = u64::from(transport.frame().mss);
            let packets = match &transport {
                // A one-byte header counts the packets of all parts.
                TransportSpec::Rdma(config) if config.split_over() > 0 => {
                    (rdma::split::wire_bytes(size, config.split_over(), (mss, 1)) - size) as u32
                }
                TransportSpec::Tcp(_) | TransportSpec::Rdma(_) | TransportSpec::Uet(_) => size.div_ceil(mss) as u32,
            };
            assert_eq!((counts.packets, counts.retransmits, counts.timeouts), (packets, 0, 0), "{transport:?}");
        }
    }
}

#[test]
fn data_that_comes_when_all_is_over_meets_a_receiver_that_begins_anew_and_stays() {
    let mut ends = Ends::new(&TransportSpec::Rdma(RdmaConfig::rnic(rdma::Recovery::GoBackN)), 1, 1, 0);
    let mut expected = |packet: u64| {
        let data = Arrival { seq: packet * 1_000, len: 1_000, ..Arrival::default() };
        let got = ends.on_data_anew(Time::ZERO, (FLOW.whole(), 2_000), &data, || &[]);
        got.answers[0].map(|answer| (answer.cumulative, answer.nack_or_syn))
    };
    // One NACK, because the first byte is missing; after that none for 4 us.
    assert_eq!([expected(1), expected(1)], [Some((0, true)), None]);
    assert_eq!([expected(0), expected(1)], [Some((1_000, false)), Some((2_000, false))]);
    assert_eq!(expected(1), Some((2_000, false)), "it stays with its last byte");
}
