//! RFC 6675 by hand, in segments of 1000 bytes and round trips of 100 us.

use super::*;
use crate::transport::congestion::Start;
use crate::transport::tcp::tests::{MSS, new_reno, us};
use spinewise_policy::time::Span;

pub(super) fn config(recovery: Recovery) -> TcpConfig {
    TcpConfig { recovery, initial_window: 10, initial_ssthresh: 10, ..new_reno() }
}

pub(super) fn sender(config: &TcpConfig, size: u64) -> SackSender {
    SackSender::new(config, TcpSender::opened(config, &Start::sized(size), Span::from_us(100), 0))
}

/// Sends everything that may be sent. Returns the segments' numbers, those sent again as in [`again`].
pub(super) fn send(s: &mut SackSender, config: &TcpConfig, now: Time) -> Vec<i64> {
    let mut sent = Vec::new();
    while s.can_send() {
        let segment = s.next_segment(config, now);
        let number = (segment.seq / MSS) as i64;
        sent.push(if segment.retransmit { again(number) } else { number });
    }
    sent
}

/// The value of [`send`] for segment `number` sent again.
pub(super) fn again(number: i64) -> i64 {
    -1 - number
}

/// An ACK of everything below segment `next`, with blocks in segments, for a packet that left 100 us ago.
pub(super) fn ack(s: &mut SackSender, config: &TcpConfig, now: Time, next: u64, blocks: &[(u64, u64)]) -> AckOutcome {
    let blocks: Vec<_> = blocks.iter().map(|&(from, to)| (from * MSS, to * MSS)).collect();
    let cumulative = (next * MSS).min(s.tcp.size);
    let ack = Answer { cumulative, echo: now - Span::from_us(100), ..Answer::default() };
    s.on_ack(config, now, &ack, &Sack::of(&blocks))
}

/// Twelve segments; 0 and 4 are lost.
#[test]
fn two_losses_are_repaired_in_one_recovery() {
    let config = config(Recovery::Sack);
    let mut s = sender(&config, 1000 * MSS);
    assert_eq!(send(&mut s, &config, us(0)), (0..10).collect::<Vec<_>>());
    // 1 and 2 arrive: each lets one new segment go (step 3).
    ack(&mut s, &config, us(100), 0, &[(1, 2)]);
    assert_eq!(send(&mut s, &config, us(100)), [10]);
    ack(&mut s, &config, us(100), 0, &[(1, 3)]);
    assert_eq!(send(&mut s, &config, us(100)), [11]);
    // 3 arrives: half of ten, for the other two were limited transmit, and the first again whatever the pipe (steps 4.2
    // and 4.3).
    let out = ack(&mut s, &config, us(100), 0, &[(1, 4)]);
    assert!(out.entered_recovery && out.dupack3);
    assert_eq!((s.tcp.cwnd(), s.tcp.ssthresh(), s.board.pipe()), (5 * MSS, 5 * MSS, 8 * MSS));
    assert_eq!(send(&mut s, &config, us(100)), [again(0)]);
    // 5 and 6 arrive: pipe 9, 8, 7. Nothing fits.
    for to in [6, 7] {
        ack(&mut s, &config, us(101), 0, &[(5, to), (1, 4)]);
        assert!(send(&mut s, &config, us(101)).is_empty());
    }
    // 7 arrives: 4 is lost as well, but does not fit. 8 makes room for it (rule 1).
    ack(&mut s, &config, us(101), 0, &[(5, 8), (1, 4)]);
    assert!(send(&mut s, &config, us(101)).is_empty());
    ack(&mut s, &config, us(101), 0, &[(5, 9), (1, 4)]);
    assert_eq!(send(&mut s, &config, us(101)), [again(4)]);
    // 9 arrives: new data (rule 2).
    ack(&mut s, &config, us(101), 0, &[(5, 10), (1, 4)]);
    assert_eq!(send(&mut s, &config, us(101)), [12]);
    // 0 arrives: all below 4; then 10 and 11; then 4, which ends it.
    ack(&mut s, &config, us(200), 4, &[(5, 10)]);
    assert_eq!(send(&mut s, &config, us(200)), [13]);
    ack(&mut s, &config, us(200), 4, &[(5, 11)]);
    ack(&mut s, &config, us(200), 4, &[(5, 12)]);
    assert_eq!(send(&mut s, &config, us(200)), [14, 15]);
    assert!(s.tcp.in_recovery);
    ack(&mut s, &config, us(201), 12, &[]);
    assert!(!s.tcp.in_recovery);
    assert_eq!(send(&mut s, &config, us(201)), [16]);
    assert_eq!((s.tcp.cwnd(), s.tcp.retransmits, s.tcp.fast_retransmits, s.tcp.timeouts), (5 * MSS, 2, 1, 0));
}

/// Eight segments in all; 0, 6 and 7 are lost.
#[test]
fn the_end_of_a_flow_is_rescued() {
    let config = config(Recovery::Sack);
    let mut s = sender(&config, 8 * MSS);
    assert_eq!(send(&mut s, &config, us(0)), (0..8).collect::<Vec<_>>());
    for to in 2..=3 {
        ack(&mut s, &config, us(100), 0, &[(1, to)]);
        assert!(send(&mut s, &config, us(100)).is_empty());
    }
    ack(&mut s, &config, us(100), 0, &[(1, 4)]);
    assert_eq!((send(&mut s, &config, us(100)), s.tcp.cwnd()), (vec![again(0)], 4 * MSS));
    ack(&mut s, &config, us(101), 0, &[(1, 5)]);
    assert!(send(&mut s, &config, us(101)).is_empty());
    // Pipe 3: nothing is lost, nothing new, no hole below the highest reported. The rescue (rule 4) waits until 0 is
    // repaired (step 4.3).
    ack(&mut s, &config, us(101), 0, &[(1, 6)]);
    assert!(send(&mut s, &config, us(101)).is_empty());
    ack(&mut s, &config, us(200), 6, &[]);
    assert_eq!(send(&mut s, &config, us(200)), [again(7)]);
    // It arrives: 6 is such a hole now (rule 3). There is no second rescue.
    ack(&mut s, &config, us(300), 6, &[(7, 8)]);
    assert_eq!(send(&mut s, &config, us(300)), [again(6)]);
    ack(&mut s, &config, us(301), 6, &[(7, 8)]);
    assert!(send(&mut s, &config, us(301)).is_empty());
    assert!(ack(&mut s, &config, us(400), 8, &[]).done);
    assert_eq!((s.tcp.retransmits, s.tcp.timeouts), (3, 0));
}

/// Only 5 and 6 of ten segments arrive.
#[test]
fn after_a_timeout_what_has_arrived_is_left_out() {
    let config = TcpConfig { initial_ssthresh: 0, ..config(Recovery::Sack) };
    let mut s = sender(&config, 1000 * MSS);
    send(&mut s, &config, us(0));
    ack(&mut s, &config, us(100), 0, &[(5, 6)]);
    ack(&mut s, &config, us(100), 0, &[(5, 7)]);
    assert_eq!(send(&mut s, &config, us(100)), [10, 11]);
    let at = s.deadline().unwrap();
    assert_eq!(s.on_timeout(&config, at), Expired::Timeout);
    assert_eq!((s.tcp.cwnd(), s.tcp.ssthresh(), s.board.pipe()), (MSS, 5 * MSS, 0));
    let later = at + Span::from_us(100);
    let mut sent = vec![send(&mut s, &config, at)];
    for next in [1, 2, 3, 4, 7] {
        ack(&mut s, &config, later, next, if next < 5 { &[(5, 7)] } else { &[] });
        sent.push(send(&mut s, &config, later));
    }
    let lost = |numbers: &[i64]| numbers.iter().map(|&n| again(n)).collect::<Vec<_>>();
    let filled = [lost(&[0]), lost(&[1, 2]), lost(&[3, 4]), lost(&[7, 8]), lost(&[9, 10])];
    assert_eq!(sent[..5], filled);
    // After that the rest, and new data.
    assert_eq!(sent[5], [again(11)]);
    ack(&mut s, &config, later, 8, &[]);
    assert_eq!(send(&mut s, &config, later), [12]);
    assert_eq!((s.tcp.timeouts, s.tcp.fast_retransmits), (1, 0));
}

#[test]
fn no_threshold_means_that_only_timeouts_repair() {
    let config = TcpConfig { dupack_threshold: 0, ..config(Recovery::Sack) };
    let mut s = sender(&config, 1000 * MSS);
    send(&mut s, &config, us(0));
    for to in 2..=10 {
        ack(&mut s, &config, us(100), 0, &[(1, to)]);
        assert!(send(&mut s, &config, us(100)).iter().all(|&n| n >= 10));
    }
    assert_eq!((s.tcp.fast_retransmits, s.tcp.dupack3_events), (0, 1));
}

#[test]
fn the_bound_on_the_window_is_in_sequence_numbers() {
    let config = TcpConfig { max_window: 12, ..config(Recovery::Sack) };
    let mut s = sender(&config, 1000 * MSS);
    send(&mut s, &config, us(0));
    // 0 is missing: however much of the rest has arrived, nothing beyond segment 11 may go.
    ack(&mut s, &config, us(100), 0, &[(1, 10)]);
    assert_eq!(send(&mut s, &config, us(100)), [again(0), 10, 11]);
    ack(&mut s, &config, us(100), 0, &[(1, 12)]);
    assert!(send(&mut s, &config, us(100)).is_empty());
}

/// Two segments per event, and no saving up.
#[test]
fn bursts_are_bounded() {
    let config = TcpConfig { max_burst: 2, initial_ssthresh: 0, ..config(Recovery::Sack) };
    let mut s = sender(&config, 1000 * MSS);
    assert_eq!(send(&mut s, &config, us(0)), [0, 1]);
    ack(&mut s, &config, us(100), 1, &[]);
    assert_eq!(send(&mut s, &config, us(100)), [2, 3]);
    // The NIC was busy for two events: four may go.
    ack(&mut s, &config, us(101), 2, &[]);
    ack(&mut s, &config, us(200), 3, &[]);
    assert_eq!(send(&mut s, &config, us(200)), [4, 5, 6, 7]);
    // A full window forfeits what an event would have released.
    s.tcp.window.cwnd = 5 * MSS;
    ack(&mut s, &config, us(201), 3, &[]);
    ack(&mut s, &config, us(201), 3, &[]);
    s.tcp.window.cwnd = 50 * MSS;
    assert_eq!(send(&mut s, &config, us(201)).len(), 2);
}
