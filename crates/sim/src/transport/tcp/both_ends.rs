//! A sender and a receiver together, over a wire that loses, reorders and doubles.

use super::tests::{MSS, new_reno, us};
use super::*;
use crate::transport::config::Kind;
use crate::transport::receiver::TcpReceiver;

/// Both ends over a wire that loses, delays and doubles at random: the flow always completes, each
/// byte is new once, and the timer runs exactly while data is outstanding.
#[test]
fn both_ends_finish_over_a_bad_wire() {
    for (round, kind) in [Kind::NewReno, Kind::Dctcp].into_iter().cycle().take(60).enumerate() {
        let config = TcpConfig {
            kind,
            delayed_ack: 1 + round as u32 % 3,
            dupack_threshold: [3, 0, 1][round / 2 % 3],
            delayed_ack_timeout: Span::from_us(300),
            ..new_reno()
        };
        let size = 100 * MSS + 17 * round as u64;
        let new_bytes = bad_wire(&config, size, 1 + round as u64);
        assert_eq!(new_bytes, size, "round {round}");
    }
}

/// Runs one flow in steps of 10 us; returns the new bytes the receiver reported.
fn bad_wire(config: &TcpConfig, size: u64, seed: u64) -> u64 {
    let (mut s, mut r) = (TcpSender::new(config, size), TcpReceiver::new(size));
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut data, mut acks) = (Vec::new(), Vec::new());
    let (mut new_bytes, mut completions) = (0, 0);
    for step in 0..2_000_000_u64 {
        let now = us(10 * step);
        if s.deadline().is_some_and(|at| at <= now) {
            s.on_timeout(config, now);
        }
        while s.can_send(config) {
            let segment = s.next_segment(config, now);
            // 4 % are lost and 3 % doubled; the delay varies from 50 to 140 us.
            let copies = match draw(100) {
                0..4 => 0,
                4..7 => 2,
                _ => 1,
            };
            for _ in 0..copies {
                data.push((step + 5 + draw(10), segment, draw(4) == 0, now));
            }
        }
        let due: Vec<_> = data.extract_if(.., |packet| packet.0 <= step).collect();
        for (_, segment, ce, stamp) in due {
            let out = r.on_data(config, now, segment.seq, segment.len, ce, stamp, segment.retransmit, 0);
            new_bytes += out.new_bytes;
            completions += u32::from(out.completed);
            acks.extend(out.acks.into_iter().flatten().map(|ack| (step + 5 + draw(3), ack)));
        }
        if r.deadline().is_some_and(|at| at <= now) {
            acks.extend(r.on_timeout(config, now).map(|ack| (step + 5, ack)));
        }
        let due: Vec<_> = acks.extract_if(.., |ack| ack.0 <= step).collect();
        for (_, a) in due {
            let ack = Ack { cumulative: a.cumulative, echo: a.echo, ece: a.ece, echo_retransmit: a.echo_retransmit };
            if s.on_ack(config, now, &ack).done {
                assert_eq!(completions, 1);
                assert!(r.is_complete() && s.deadline().is_none() && !s.can_send(config));
                return new_bytes;
            }
        }
        assert_eq!(s.deadline().is_some(), s.snd_una < s.snd_max);
    }
    panic!("the flow did not finish");
}
