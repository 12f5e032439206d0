//! A sender and a receiver together, over a wire that loses, reorders and duplicates.

use super::sack::SackSender;
use super::tests::{MSS, new_reno, us};
use super::*;
use crate::transport::config::Recovery;
use crate::transport::congestion::window::Kind;
use crate::transport::contract::Arrival;
use crate::transport::receiver::TcpReceiver;
use crate::transport::sack::Sack;

/// Either kind of sender.
enum Sender {
    Plain(TcpSender),
    Sack(Box<SackSender>),
}

impl Sender {
    fn new(config: &TcpConfig, size: u64) -> Self {
        let tcp = TcpSender::new(config, &Start::sized(size));
        if config.recovery.has_sack() {
            Sender::Sack(Box::new(SackSender::new(config, tcp)))
        } else {
            Sender::Plain(tcp)
        }
    }

    fn tcp(&self) -> &TcpSender {
        match self {
            Sender::Plain(tcp) => tcp,
            Sender::Sack(sack) => sack.tcp(),
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self {
            Sender::Plain(tcp) => tcp.deadline(),
            Sender::Sack(sack) => sack.deadline(),
        }
    }

    fn on_timeout(&mut self, config: &TcpConfig, now: Time) {
        match self {
            Sender::Plain(tcp) => tcp.on_timeout(config, now),
            Sender::Sack(sack) => _ = sack.on_timeout(config, now),
        }
        assert!(self.deadline().is_none_or(|at| at > now), "a timer that stays expired");
    }

    fn next(&mut self, config: &TcpConfig, now: Time) -> Option<Segment> {
        match self {
            Sender::Plain(tcp) => tcp.can_send(config).then(|| tcp.next_segment(config, now)),
            Sender::Sack(sack) => sack.can_send().then(|| sack.next_segment(config, now)),
        }
    }

    fn on_ack(&mut self, config: &TcpConfig, now: Time, ack: &Answer, told: &Sack) -> AckOutcome {
        match self {
            Sender::Plain(tcp) => tcp.on_ack(config, now, ack),
            Sender::Sack(sack) => sack.on_ack(config, now, ack, told),
        }
    }
}

/// The impairments of a wire: percent lost and duplicated in the forward direction, percent lost in the reverse
/// direction, and the steps of 10 us that a packet may be late.
#[derive(Clone, Copy)]
struct Wire {
    lost: u64,
    doubled: u64,
    acks_lost: u64,
    late: u64,
}

const RECOVERIES: [Recovery; 4] = [Recovery::NewReno, Recovery::Reno, Recovery::Sack, Recovery::Rack];
const KINDS: [Kind; 3] = [Kind::NewReno, Kind::Dctcp, Kind::Ecn];

/// Both ends over wires that lose, delay and duplicate at random: the flow always completes, each byte is new once, and
/// a timer runs exactly while data is outstanding.
#[test]
fn both_ends_finish_over_a_bad_wire() {
    let wires = [
        Wire { lost: 4, doubled: 3, acks_lost: 0, late: 10 },
        Wire { lost: 0, doubled: 0, acks_lost: 0, late: 40 },
        Wire { lost: 15, doubled: 10, acks_lost: 15, late: 1 },
        Wire { lost: 1, doubled: 0, acks_lost: 30, late: 25 },
        Wire { lost: 40, doubled: 0, acks_lost: 10, late: 3 },
    ];
    for round in 0..240 {
        let config = TcpConfig {
            kind: KINDS[round % 3],
            recovery: RECOVERIES[round / 3 % 4],
            delayed_ack: 1 + round as u32 % 2,
            dupack_threshold: [3, 0, 1, 5][round / 12 % 4],
            delayed_ack_timeout: Span::from_us(300),
            max_window: [0, 12][round / 7 % 2],
            max_burst: [0, 2][round / 5 % 2],
            limited_transmit: round % 2 == 0,
            ack_duplicates: round % 5 > 1,
            hold_after_mark: round % 7 > 3,
            initial_window: 10,
            ..new_reno()
        };
        let size = 100 * MSS + 17 * round as u64;
        let new_bytes = bad_wire(&config, size, 1 + round as u64, wires[round / 12 % wires.len()]);
        assert_eq!(new_bytes, size, "round {round}: {config:?}");
    }
}

/// Runs one flow in steps of 10 us; returns the new bytes the receiver reported.
fn bad_wire(config: &TcpConfig, size: u64, seed: u64, wire: Wire) -> u64 {
    let (mut s, mut r) = (Sender::new(config, size), TcpReceiver::new(size));
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut data, mut acks) = (Vec::new(), Vec::new());
    let (mut new_bytes, mut completions) = (0, 0);
    // 200 s: a timeout after ten others takes ten of them.
    for step in 0..20_000_000_u64 {
        let now = us(10 * step);
        if s.deadline().is_some_and(|at| at <= now) {
            s.on_timeout(config, now);
        }
        while let Some(segment) = s.next(config, now) {
            assert!(segment.seq + u64::from(segment.len) <= size && segment.len > 0);
            let fate = draw(100);
            let copies = if fate < wire.lost { 0 } else { 1 + u64::from(fate < wire.lost + wire.doubled) };
            for _ in 0..copies {
                data.push((step + 5 + draw(wire.late), segment, draw(4) == 0, now));
            }
        }
        let due: Vec<_> = data.extract_if(.., |packet| packet.0 <= step).collect();
        for (_, segment, ce, stamp) in due {
            let Segment { seq, len, retransmit, cwr } = segment;
            let out = r.on_data(config, now, &Arrival { seq, len, ce, cwr, stamp, retransmit, ..Arrival::default() });
            let told = r.sack();
            new_bytes += out.new_bytes;
            completions += u32::from(out.completed);
            for ack in out.answers.into_iter().flatten().filter(|_| draw(100) >= wire.acks_lost) {
                acks.push((step + 5, ack, told));
            }
        }
        if r.deadline().is_some_and(|at| at <= now) {
            acks.extend(r.on_timeout(config, now).map(|ack| (step + 5, ack, Sack::NONE)));
        }
        let late: Vec<u64> = acks.iter().map(|_| draw(3)).collect();
        let mut n = 0;
        let due: Vec<_> = acks
            .extract_if(.., |ack| {
                n += 1;
                ack.0 + late[n - 1] <= step
            })
            .collect();
        for (_, a, told) in due {
            if s.on_ack(config, now, &a, &told).done {
                assert_eq!(completions, 1);
                assert!(r.is_complete());
                return new_bytes;
            }
        }
        // A sender that has sent nothing yet needs no timer; one that waits for answers does.
        assert_eq!(s.deadline().is_some(), s.tcp().snd_una < s.tcp().snd_max);
    }
    panic!("the flow did not finish: {config:?}");
}
