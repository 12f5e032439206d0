//! Both ends over a wire that loses, reorders and duplicates, and the presets.

use super::*;
use crate::packet::Clock;
use crate::transport::contract::{Arrival, Start};
use proptest::prelude::*;
use spinewise_policy::time::{Span, Time};

#[test]
fn presets_hold_the_numbers_of_their_sources() {
    let public = RdmaConfig::in_whole_ns(Recovery::GoBackN);
    assert_eq!((public.mss, public.frame(1000), public.ack_bytes, public.window_bytes), (1000, 1048, 60, 0));
    assert_eq!((public.nack_interval, public.rto), (Span::from_us(4), Span::from_us(4000)));
    assert!(public.clock == Clock::Floor1Ns && public.ooo_cnp && public.cnp_interval == Span::ZERO);
    let irn = RdmaConfig::rnic(Recovery::Irn);
    assert_eq!((irn.window_bytes, irn.rto_low_packets), (104_000, 3));
    assert_eq!((irn.rto_low, irn.rto_high), (Span::from_us(100), Span::from_us(320)));
    assert!(irn.clock == Clock::Exact && irn.control == public.control);
    let paper = RdmaConfig::spacing_cnps(Recovery::GoBackN);
    assert!(!paper.ooo_cnp && paper.cnp_interval == Span::from_us(50));
    assert_eq!((paper.control.dcqcn.byte_counter, paper.control.dcqcn.increase_timer), (10_000_000, Span::from_us(55)));
}

#[test]
fn a_sack_travels_in_twelve_bytes() {
    for sack in [(0, 1), (u64::MAX - 7, u32::MAX), (0x0102_0304_0506_0708, 0x0a0b_0c0d)] {
        assert_eq!(get_sack(&put_sack(sack)), Some(sack));
    }
    assert_eq!(put_sack((0x0102_0304_0506_0708, 0x0a0b_0c0d)), [8, 7, 6, 5, 4, 3, 2, 1, 0xd, 0xc, 0xb, 0xa]);
    assert_eq!([0, 11, 13].map(|len| get_sack(&[1; 13][..len])), [None; 3]);
}

/// The impairments of the wire, in percent; delays in steps of the wire, of 100 ns.
#[derive(Clone, Copy, Debug)]
struct Wire {
    loss: u64,
    double: u64,
    marks: u64,
    jitter: u64,
}

/// Both ends of one flow, and what is on the wire between them.
struct Flow<'a> {
    config: &'a RdmaConfig,
    wire: Wire,
    sender: RdmaSender,
    receiver: RdmaReceiver,
    data: Vec<(u64, u64, u32, bool)>,
    answers: Vec<(u64, RdmaAck)>,
    /// How many times each packet's bytes were new.
    seen: Vec<u32>,
    delivered: u64,
    completions: u32,
    state: u64,
}

impl Flow<'_> {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }

    fn copies(&mut self) -> usize {
        match self.draw(100) {
            n if n < self.wire.loss => 0,
            n if n < self.wire.loss + self.wire.double => 2,
            _ => 1,
        }
    }

    /// One step: timers, arrivals and what may be sent. True when all is acknowledged.
    fn step(&mut self, step: u64) -> bool {
        let now = Time(step * 100_000);
        if self.sender.deadline().is_some_and(|at| at <= now) {
            self.sender.on_timeout(self.config, now);
        }
        for (_, seq, len, ce) in self.data.extract_if(.., |packet| packet.0 <= step).collect::<Vec<_>>() {
            self.take(step, now, seq, len, ce);
        }
        for (_, answer) in self.answers.extract_if(.., |answer| answer.0 <= step).collect::<Vec<_>>() {
            if self.sender.on_ack(self.config, now, &answer).done {
                return true;
            }
        }
        while self.sender.may_send(self.config) && self.sender.next_at() <= now {
            let segment = self.sender.next_packet(self.config, now);
            let window = self.config.window_bytes;
            assert!(window == 0 || self.sender.flight() <= window, "{} in flight", self.sender.flight());
            for _ in 0..self.copies() {
                let at = step + 20 + self.draw(1 + self.wire.jitter);
                let ce = self.draw(100) < self.wire.marks;
                self.data.push((at, segment.seq, segment.len, ce));
            }
        }
        let (runs, out) = (self.sender.deadline().is_some(), self.sender.flight() > 0);
        assert!(!runs || out, "the timer runs for nothing");
        assert!(runs || !out || self.sender.may_send(self.config), "nobody waits for what is out");
        false
    }

    fn take(&mut self, step: u64, now: Time, seq: u64, len: u32, ce: bool) {
        let before = self.receiver.expected();
        let got = self.receiver.on_data(self.config, now, &Arrival { seq, len, ce, ..Arrival::default() });
        assert!(got.new_bytes == 0 || got.new_bytes == u64::from(len), "packets are kept whole");
        self.seen[(seq / u64::from(self.config.mss)) as usize] += u32::from(got.new_bytes > 0);
        let expected = self.receiver.expected();
        assert!(expected >= before, "what was given to the application stays");
        self.delivered += expected - before;
        self.completions += u32::from(got.completed);
        if let Some(answer) = got.answers[0] {
            let option = got.told.as_ref().map_or(&[][..], |told| &told.option);
            for _ in 0..self.copies() {
                let at = step + 20 + self.draw(1 + self.wire.jitter / 4);
                self.answers.push((at, RdmaAck::read(&answer, option)));
            }
        }
    }
}

fn finishes(config: &RdmaConfig, size: u64, wire: Wire, seed: u64) {
    let packets = size.div_ceil(u64::from(config.mss)) as usize;
    let mut flow = Flow {
        config,
        wire,
        sender: RdmaSender::new(config, &Start { rate: 100_000_000_000, ..Start::sized(size) }),
        receiver: RdmaReceiver::new(size),
        data: Vec::new(),
        answers: Vec::new(),
        seen: vec![0; packets],
        delivered: 0,
        completions: 0,
        state: seed,
    };
    let done = (0..20_000_000).find(|&step| flow.step(step));
    assert!(done.is_some(), "the flow did not finish");
    assert!(flow.receiver.is_complete() && flow.sender.is_done() && flow.sender.deadline().is_none());
    assert_eq!((flow.delivered, flow.completions), (size, 1));
    assert!(flow.seen.iter().all(|&times| times == 1), "each packet is new once");
    let lossless = wire.loss + wire.double + wire.jitter == 0;
    assert!(!lossless || flow.sender.retransmits() == 0 && flow.sender.packets() as usize == packets);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn every_byte_arrives_once_and_in_order(
        irn in any::<bool>(),
        paper in any::<bool>(),
        size in 1_u64..200_000,
        (loss, double, marks, jitter) in (0_u64..12, 0_u64..8, 0_u64..30, 0_u64..60),
        seed in any::<u64>(),
    ) {
        let recovery = if irn { Recovery::Irn } else { Recovery::GoBackN };
        let config = if paper { RdmaConfig::spacing_cnps(recovery) } else { RdmaConfig::in_whole_ns(recovery) };
        // With go-back-N a lossy wire often causes its long timeout.
        let config = RdmaConfig { rto: Span::from_us(60), ..config };
        finishes(&config, size, Wire { loss, double, marks, jitter }, seed);
    }
}

#[test]
fn a_clean_wire_needs_no_second_copy() {
    for recovery in [Recovery::GoBackN, Recovery::Irn] {
        let clean = Wire { loss: 0, double: 0, marks: 0, jitter: 0 };
        finishes(&RdmaConfig::rnic(recovery), 1_234_567, clean, 1);
        finishes(&RdmaConfig::rnic(recovery), 1, clean, 1);
    }
}
