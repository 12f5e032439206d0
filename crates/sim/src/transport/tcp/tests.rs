//! Traces worked out by hand, in segments of 1000 bytes and round trips of 100 us.

use super::*;
use crate::transport::config::Recovery;
use crate::transport::congestion::window::Kind;
use crate::transport::congestion::window::Settings;
use crate::transport::receiver::TcpReceiver;

pub(super) const MSS: u64 = 1000;

pub(super) fn new_reno() -> TcpConfig {
    TcpConfig { kind: Kind::NewReno, mss: MSS as u32, initial_window: 2, ..TcpConfig::datacenter() }
}

/// DCTCP with this weight and this estimate before the first window ends.
fn estimating(g: f64, initial_alpha: f64) -> Settings {
    Settings { dctcp: crate::transport::congestion::dctcp::Config { g, initial_alpha }, ..Settings::default() }
}

fn alpha(s: &TcpSender) -> f64 {
    let Control::Dctcp(dctcp) = &s.control else { panic!("DCTCP") };
    dctcp.alpha()
}

pub(super) fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Sends everything that may be sent. Returns the segments' numbers; retransmissions are negative, less one.
fn send(s: &mut TcpSender, config: &TcpConfig, now: Time) -> Vec<i64> {
    let mut sent = Vec::new();
    while s.can_send(config) {
        let segment = s.next_segment(config, now);
        let number = (segment.seq / MSS) as i64;
        assert_eq!(segment.seq % MSS, 0);
        sent.push(if segment.retransmit { -1 - number } else { number });
    }
    sent
}

/// The value of [`send`] for segment `number` sent again.
fn again(number: i64) -> i64 {
    -1 - number
}

/// An ACK of everything below segment `next`, 100 us after its packet left.
fn ack(s: &mut TcpSender, config: &TcpConfig, now: Time, next: u64, ece: bool) -> AckOutcome {
    let ack = Answer { cumulative: next * MSS, echo: now - Span::from_us(100), ece, ..Answer::default() };
    s.on_ack(config, now, &ack)
}

#[test]
fn rows_are_small() {
    assert!(size_of::<TcpSender>() <= 192, "{}", size_of::<TcpSender>());
    assert!(size_of::<TcpReceiver>() <= 96, "{}", size_of::<TcpReceiver>());
}

#[test]
fn a_timeout_that_ticks_is_up_to_a_tick_late_and_each_by_its_own() {
    let config = TcpConfig { rto_tick: Span::from_ms(1), dice: 7, ..new_reno() };
    let timeouts = |salt: u32| -> Vec<u64> {
        let mut s = TcpSender::new(&config, &Start { salt, ..Start::sized(MSS) });
        s.next_segment(&config, us(0));
        let mut at = us(0);
        (0..4)
            .map(|_| {
                let due = s.deadline().expect("it waits");
                let waited = due.since(at);
                s.on_timeout(&config, due);
                at = due;
                s.next_segment(&config, due);
                waited.0
            })
            .collect()
    };
    let (one, other) = (timeouts(1), timeouts(2));
    for (n, waited) in one.iter().chain(&other).enumerate() {
        let exact = Span::from_ms(10).0 << (n % 4);
        assert!((exact..exact + Span::from_ms(1).0).contains(waited), "timeout {n}: {waited} ps");
    }
    assert!(one.iter().zip(&other).all(|(a, b)| a != b), "{one:?} {other:?}");
    assert_eq!(one, timeouts(1));
}

#[test]
fn slow_start_doubles_and_the_last_segment_is_short() {
    let (config, size) = (new_reno(), 13 * MSS + 1);
    let mut s = TcpSender::new(&config, &Start::sized(size));
    assert_eq!(send(&mut s, &config, us(0)), [0, 1]);
    assert_eq!(s.deadline(), Some(us(10_000)));
    // Each ACK of a segment releases two.
    assert_eq!(ack(&mut s, &config, us(100), 1, false).newly_acked, MSS);
    assert_eq!(send(&mut s, &config, us(100)), [2, 3]);
    ack(&mut s, &config, us(110), 2, false);
    assert_eq!(send(&mut s, &config, us(110)), [4, 5]);
    assert_eq!((s.cwnd(), s.flight()), (4 * MSS, 4 * MSS));
    for k in 3..=6 {
        ack(&mut s, &config, us(200), k, false);
        send(&mut s, &config, us(200));
    }
    assert_eq!((s.cwnd(), s.packets()), (8 * MSS, 14));
    assert_eq!(s.flight(), 7 * MSS + 1);
    assert!(!s.can_send(&config));
    // One ACK of many segments counts as one (L = min(N, SMSS)).
    let last = Answer { cumulative: size, echo: us(200), ..Answer::default() };
    let out = s.on_ack(&config, us(300), &last);
    assert!(out.done && s.is_done());
    assert_eq!((out.rtt, s.cwnd(), s.deadline()), (Span::from_us(100), 9 * MSS, None));
    // The same again changes nothing.
    let out = s.on_ack(&config, us(301), &last);
    assert_eq!((out.done, out.newly_acked, s.dupacks), (false, 0, 0));
}

#[test]
fn a_segment_goes_only_if_it_fits_whole() {
    let config = new_reno();
    let mut s = TcpSender::new(&config, &Start::sized(10 * MSS));
    s.window.cwnd = 2 * MSS + 999;
    assert_eq!(send(&mut s, &config, us(0)), [0, 1]);
    let mut s = TcpSender::new(&config, &Start::sized(2 * MSS + 999));
    s.window.cwnd = 2 * MSS + 999;
    assert_eq!(send(&mut s, &config, us(0)), [0, 1, 2]);
    // The receiver's bound also holds for a larger window.
    let config = TcpConfig { max_window: 3, initial_window: 10, ..config };
    let mut s = TcpSender::new(&config, &Start::sized(10 * MSS));
    assert_eq!(send(&mut s, &config, us(0)), [0, 1, 2]);
    ack(&mut s, &config, us(100), 1, false);
    assert_eq!(s.cwnd(), 3 * MSS);
}

#[test]
fn congestion_avoidance_adds_a_segment_per_window() {
    let config = TcpConfig { initial_window: 4, initial_ssthresh: 4, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(1000 * MSS));
    let mut windows = Vec::new();
    for k in 1..=15 {
        send(&mut s, &config, us(k));
        ack(&mut s, &config, us(100 + k), k, false);
        windows.push(s.cwnd() / MSS);
    }
    // 4 ACKs to 5, 5 more to 6, 6 more to 7.
    assert_eq!(windows, [4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7]);
    // Bytes count, not ACKs: seven segments in two ACKs.
    send(&mut s, &config, us(200));
    ack(&mut s, &config, us(300), 18, false);
    assert_eq!(s.cwnd(), 7 * MSS);
    ack(&mut s, &config, us(300), 22, false);
    assert_eq!(s.cwnd(), 8 * MSS);
    // Bytes beyond a full window count towards the next: 4 + 6 are 8 and 2 over, 7 more are 9.
    send(&mut s, &config, us(300));
    ack(&mut s, &config, us(400), 26, false);
    send(&mut s, &config, us(400));
    ack(&mut s, &config, us(500), 32, false);
    assert_eq!(s.cwnd(), 9 * MSS);
    send(&mut s, &config, us(500));
    ack(&mut s, &config, us(600), 38, false);
    assert_eq!(s.cwnd(), 9 * MSS);
    ack(&mut s, &config, us(600), 39, false);
    assert_eq!(s.cwnd(), 10 * MSS);
}

/// Ten segments in flight; 0, 4 and 7 are lost (RFC 6582 §3.2).
#[test]
fn new_reno_repairs_one_hole_for_each_partial_ack() {
    let config = TcpConfig { initial_window: 10, initial_ssthresh: 10, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(1000 * MSS));
    assert_eq!(send(&mut s, &config, us(0)), (0..10).collect::<Vec<_>>());
    // 1, 2 and 3 arrive: three duplicates of 0.
    for n in 1..=3 {
        let out = ack(&mut s, &config, us(100), 0, false);
        assert_eq!((out.entered_recovery, out.dupack3), (n == 3, n == 3));
        assert_eq!(out.newly_acked, 0);
    }
    // ssthresh 5, cwnd 5 + 3 = 8 < flight 10: only the retransmission goes.
    assert_eq!((s.ssthresh(), s.cwnd(), s.fast_retransmits()), (5 * MSS, 8 * MSS, 1));
    assert_eq!(send(&mut s, &config, us(100)), [again(0)]);
    assert_eq!(s.deadline(), Some(us(10_000)), "fast retransmit leaves the timer alone");
    // 5, 6, 8 and 9 arrive: cwnd 12, two new segments.
    let sent: Vec<i64> = (0..4)
        .flat_map(|_| {
            ack(&mut s, &config, us(101), 0, false);
            send(&mut s, &config, us(101))
        })
        .collect();
    assert_eq!((sent, s.cwnd()), (vec![10, 11], 12 * MSS));
    // The retransmission arrives: all below 4. Deflate 12 - 4 + 1 = 9, flight 8: 4 again, and 12.
    let out = ack(&mut s, &config, us(200), 4, false);
    assert_eq!((out.newly_acked, out.entered_recovery), (4 * MSS, false));
    assert_eq!(s.cwnd(), 9 * MSS);
    assert_eq!(s.deadline(), Some(us(10_200)), "the first partial ACK restarts the timer");
    assert_eq!(send(&mut s, &config, us(200)), [again(4), 12]);
    // 10 and 11 arrive, two duplicates of 4: cwnd 11, and 13 and 14 go.
    ack(&mut s, &config, us(201), 4, false);
    ack(&mut s, &config, us(201), 4, false);
    assert_eq!(send(&mut s, &config, us(201)), [13, 14]);
    // 4 arrives: all below 7. Deflate 11 - 3 + 1 = 9, flight 8: 7 again, and 15.
    ack(&mut s, &config, us(300), 7, false);
    assert_eq!(s.deadline(), Some(us(10_200)), "later partial ACKs do not");
    assert_eq!(send(&mut s, &config, us(300)), [again(7), 15]);
    // 7 arrives: everything below 12, which covers recover = 10. Flight 4: cwnd min(5, 4 + 1).
    assert!(s.in_recovery());
    ack(&mut s, &config, us(400), 12, false);
    assert!(!s.in_recovery());
    assert_eq!((s.cwnd(), s.ssthresh(), s.flight()), (5 * MSS, 5 * MSS, 4 * MSS));
    assert_eq!(s.deadline(), Some(us(10_400)));
    assert_eq!(send(&mut s, &config, us(400)), [16]);
    assert_eq!((s.retransmits(), s.fast_retransmits(), s.timeouts(), s.dupack3_events()), (3, 1, 0, 1));
    // Avoidance from here: five segments to 6.
    ack(&mut s, &config, us(500), 16, false);
    assert_eq!(s.cwnd(), 5 * MSS);
    ack(&mut s, &config, us(500), 17, false);
    assert_eq!(s.cwnd(), 6 * MSS);
}

#[test]
fn recovery_ends_low_when_little_is_in_flight() {
    let config = TcpConfig { initial_window: 10, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(10 * MSS));
    send(&mut s, &config, us(0));
    for _ in 0..9 {
        ack(&mut s, &config, us(100), 0, false);
        send(&mut s, &config, us(100));
    }
    let out = ack(&mut s, &config, us(200), 10, false);
    assert!(out.done);
    // FlightSize 0: min(5, max(0, 1) + 1).
    assert_eq!(s.cwnd(), 2 * MSS);
}

#[test]
fn reorder_tolerance_counts_and_does_nothing() {
    let config = TcpConfig { dupack_threshold: 0, initial_window: 10, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(100 * MSS));
    send(&mut s, &config, us(0));
    let events = (0..9).filter(|_| ack(&mut s, &config, us(100), 0, false).dupack3).count();
    assert_eq!((events, s.dupack3_events(), s.retransmits()), (1, 1, 0));
    assert!(!s.can_send(&config) && !s.in_recovery());
    ack(&mut s, &config, us(101), 10, false);
    assert_eq!(s.cwnd(), 11 * MSS);
    // An ACK that was overtaken is not a duplicate.
    send(&mut s, &config, us(101));
    ack(&mut s, &config, us(102), 9, false);
    assert_eq!(s.dupacks, 0);
}

#[test]
fn timeouts_back_off_go_back_and_keep_ssthresh() {
    let config = TcpConfig { initial_window: 8, max_rto: Span::from_ms(35), ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(100 * MSS));
    send(&mut s, &config, us(0));
    s.on_timeout(&config, us(10_000));
    assert_eq!((s.cwnd(), s.ssthresh(), s.flight()), (MSS, 4 * MSS, 0));
    assert_eq!(s.deadline(), Some(us(30_000)), "5.5: 20 ms from the expiry");
    assert_eq!(send(&mut s, &config, us(10_000)), [again(0)]);
    s.on_timeout(&config, us(30_000));
    assert_eq!((s.cwnd(), s.ssthresh()), (MSS, 4 * MSS), "ssthresh is held");
    assert_eq!(s.deadline(), Some(us(65_000)), "40 ms, bounded by 35");
    assert_eq!(send(&mut s, &config, us(30_000)), [again(0)]);
    // The retransmission is acknowledged; its timestamp makes a sample (RTO max(0.3, 10) ms).
    ack(&mut s, &config, us(30_100), 1, false);
    assert_eq!(s.srtt(), Some(Span::from_us(100)));
    assert_eq!((s.cwnd(), s.deadline()), (2 * MSS, Some(us(40_100))));
    assert_eq!(send(&mut s, &config, us(30_100)), [again(1), again(2)]);
    // The receiver had 3..8 already: an ACK beyond snd_nxt skips them.
    ack(&mut s, &config, us(30_200), 8, false);
    assert_eq!((s.cwnd(), s.flight()), (3 * MSS, 0));
    assert_eq!(s.deadline(), None, "5.2: nothing is outstanding");
    assert_eq!(send(&mut s, &config, us(30_200)), [8, 9, 10]);
    assert_eq!((s.timeouts(), s.retransmits(), s.packets()), (2, 4, 15));
}

#[test]
fn duplicates_after_a_timeout_do_not_start_a_recovery() {
    let config = TcpConfig { initial_window: 8, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(100 * MSS));
    send(&mut s, &config, us(0));
    s.on_timeout(&config, us(10_000));
    send(&mut s, &config, us(10_000));
    for _ in 0..5 {
        let out = ack(&mut s, &config, us(10_100), 0, false);
        assert!(!out.entered_recovery);
    }
    assert_eq!((s.dupack3_events(), s.cwnd()), (1, MSS));
    // recover is 8: an ACK of 8 does not "cover more than recover", one of 9 does.
    ack(&mut s, &config, us(10_200), 8, false);
    send(&mut s, &config, us(10_200));
    let entered: Vec<bool> = (0..3).map(|_| ack(&mut s, &config, us(10_300), 8, false).entered_recovery).collect();
    assert_eq!(entered, [false; 3]);
    ack(&mut s, &config, us(10_300), 9, false);
    send(&mut s, &config, us(10_300));
    let entered: Vec<bool> = (0..3).map(|_| ack(&mut s, &config, us(10_400), 9, false).entered_recovery).collect();
    assert_eq!(entered, [false, false, true]);
}

#[test]
fn a_timeout_ends_a_recovery() {
    let config = TcpConfig { initial_window: 10, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(100 * MSS));
    send(&mut s, &config, us(0));
    for _ in 0..3 {
        ack(&mut s, &config, us(100), 0, false);
    }
    assert!(s.in_recovery() && s.can_send(&config));
    s.on_timeout(&config, us(10_000));
    assert!(!s.in_recovery());
    assert_eq!(send(&mut s, &config, us(10_000)), [again(0)]);
    // Slow start, not recovery, from here on.
    ack(&mut s, &config, us(10_100), 1, false);
    assert_eq!(s.cwnd(), 2 * MSS);
}

#[test]
fn dctcp_cuts_by_alpha_once_per_window() {
    let config = TcpConfig { kind: Kind::Dctcp, initial_window: 8, control: estimating(0.5, 1.0), ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(1000 * MSS));
    assert_eq!(send(&mut s, &config, us(0)), (0..8).collect::<Vec<_>>());
    // First ACK, unmarked: ends the empty window with M = 0, alpha 1 -> 1/2. Slow start: cwnd 9.
    ack(&mut s, &config, us(100), 1, false);
    assert_eq!((alpha(&s), s.cwnd()), (0.5, 9 * MSS));
    assert_eq!(send(&mut s, &config, us(100)), [8, 9]);
    // Marked: 9000 * (1 - 1/4) = 6750, once for what is in flight (up to 10).
    for k in 2..=5 {
        ack(&mut s, &config, us(101), k, true);
        assert_eq!((s.cwnd(), s.ssthresh()), (6750, 6750), "ACK of {k}");
    }
    // Unmarked ACKs grow by avoidance meanwhile: 5000 of 6750 bytes counted.
    for k in 6..=10 {
        ack(&mut s, &config, us(102), k, false);
    }
    // Window 1 ended when 9 > 8 was acknowledged: of 8 segments (2 to 9) 4 were marked, alpha stays 1/2.
    assert_eq!((alpha(&s), s.cwnd()), (0.5, 6750));
    assert_eq!(send(&mut s, &config, us(103)), (10..16).collect::<Vec<_>>());
    // The next mark counts beyond 10: 6750 * 3/4 = 5062.5, whole bytes.
    ack(&mut s, &config, us(200), 11, true);
    assert_eq!(s.cwnd(), 5062);
    // A duplicate with a mark falls into the same window.
    ack(&mut s, &config, us(200), 11, true);
    assert_eq!(s.cwnd(), 5062);
}

#[test]
fn dctcp_does_not_cut_below_two_segments_nor_raise_by_cutting() {
    let config = TcpConfig { kind: Kind::Dctcp, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(1000 * MSS));
    for k in 1..=40 {
        send(&mut s, &config, us(k));
        ack(&mut s, &config, us(100 + k), k, true);
    }
    assert_eq!((s.cwnd(), s.ssthresh(), alpha(&s)), (2 * MSS, 2 * MSS, 1.0));
    s.window.cwnd = MSS;
    s.reduced_until = 0;
    s.on_mark(&config, us(0));
    assert_eq!((s.cwnd(), s.ssthresh()), (MSS, 2 * MSS));
}

#[test]
fn dctcp_halves_for_a_loss_and_does_not_cut_in_recovery() {
    let config = TcpConfig { kind: Kind::Dctcp, initial_window: 10, control: estimating(0.0625, 0.0), ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(1000 * MSS));
    send(&mut s, &config, us(0));
    for _ in 0..3 {
        ack(&mut s, &config, us(100), 0, true);
    }
    assert_eq!((s.ssthresh(), s.cwnd()), (5 * MSS, 8 * MSS));
    send(&mut s, &config, us(100));
    ack(&mut s, &config, us(200), 10, true);
    assert_eq!((s.ssthresh(), s.cwnd(), s.in_recovery()), (5 * MSS, 2 * MSS, false));
    // alpha was renewed by that ACK: all 10 segments marked, 15/16 * 0 + 1/16.
    assert_eq!(alpha(&s), 0.0625);
}

#[test]
fn dctcp_does_not_cut_for_marks_on_what_a_timeout_sends_again() {
    let config = TcpConfig { kind: Kind::Dctcp, initial_window: 10, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(1000 * MSS));
    send(&mut s, &config, us(0));
    s.on_timeout(&config, us(10_000));
    for (next, ece, cwnd) in [(1, false, 2), (2, false, 3), (3, false, 4), (4, true, 4), (10, true, 4)] {
        send(&mut s, &config, us(10_000));
        ack(&mut s, &config, us(10_100), next, ece);
        assert_eq!(s.cwnd(), cwnd * MSS, "ACK of {next}");
    }
    // Data that is new since then counts again: half of 4, nearly, for an alpha just below 1.
    send(&mut s, &config, us(10_200));
    ack(&mut s, &config, us(10_300), 11, true);
    assert!((2 * MSS..3 * MSS).contains(&s.cwnd()), "{}", s.cwnd());
}

#[test]
fn new_reno_ignores_marks() {
    let config = new_reno();
    let mut s = TcpSender::new(&config, &Start::sized(100 * MSS));
    send(&mut s, &config, us(0));
    ack(&mut s, &config, us(100), 1, true);
    assert_eq!(s.cwnd(), 3 * MSS);
}

#[test]
fn a_window_that_is_not_filled_does_not_grow_without_bound() {
    // RFC 7661 §4.3: the NIC lets four segments out per round trip; the window stops at twice that instead of growing
    // without bound.
    let config = TcpConfig { initial_window: 2, ..TcpConfig::datacenter() };
    let mut sender = TcpSender::new(&config, &Start::sized(10_000_000));
    let (mut now, mut acked) = (Time::ZERO, 0u64);
    for _ in 0..500 {
        let mut sent = 0;
        while sent < 4 && sender.can_send(&config) {
            sender.next_segment(&config, now);
            sent += 1;
        }
        now += Span::from_us(100);
        for _ in 0..sent {
            acked += u64::from(config.mss);
            let ack = Answer { cumulative: acked, echo: now, ..Answer::default() };
            sender.on_ack(&config, now, &ack);
        }
    }
    assert_eq!(sender.cwnd(), 8 * u64::from(config.mss));
}

/// Ten segments in flight; 0 and 4 are lost (RFC 5681 §3.2 against RFC 6582 §3.2).
#[test]
fn reno_halves_again_for_the_second_loss_of_a_window() {
    let new_reno = TcpConfig { initial_window: 10, initial_ssthresh: 10, ..new_reno() };
    let reno = TcpConfig { kind: Kind::Reno, recovery: Recovery::Reno, ..new_reno.clone() };
    for config in [&new_reno, &reno] {
        let mut s = TcpSender::new(config, &Start::sized(1000 * MSS));
        send(&mut s, config, us(0));
        // 1, 2, 3 and 5 to 9 arrive: 0 again, and three new ones as the window swells to 13.
        let sent: Vec<i64> = (0..8)
            .flat_map(|_| {
                ack(&mut s, config, us(100), 0, false);
                send(&mut s, config, us(100))
            })
            .collect();
        assert_eq!(sent, [again(0), 10, 11, 12]);
        ack(&mut s, config, us(200), 4, false);
        if config.recovery == Recovery::Reno {
            // All done: half of ten, with nine in flight.
            assert_eq!((s.in_recovery(), s.cwnd()), (false, 5 * MSS));
            assert!(send(&mut s, config, us(200)).is_empty());
            for _ in 0..3 {
                ack(&mut s, config, us(200), 4, false);
            }
            assert_eq!(send(&mut s, config, us(200)), [again(4)]);
            assert_eq!((s.fast_retransmits(), s.ssthresh()), (2, 9 * MSS / 2));
        } else {
            assert_eq!(send(&mut s, config, us(200)), [again(4), 13]);
            assert_eq!((s.fast_retransmits(), s.ssthresh(), s.in_recovery()), (1, 5 * MSS, true));
        }
    }
}

/// RFC 3168 §6.1.2: once per window of data, and the next new segment says so.
#[test]
fn a_mark_halves_the_window_once_a_round() {
    let config = TcpConfig { kind: Kind::Ecn, initial_window: 10, initial_ssthresh: 10, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(1000 * MSS));
    send(&mut s, &config, us(0));
    for k in 1..=5 {
        ack(&mut s, &config, us(100), k, true);
        assert_eq!((s.cwnd(), s.ssthresh()), (5 * MSS, 5 * MSS), "ACK {k}");
        assert!(!s.can_send(&config));
    }
    ack(&mut s, &config, us(100), 6, false);
    assert!(s.next_segment(&config, us(100)).cwr);
    for k in 7..=10 {
        ack(&mut s, &config, us(100), k, true);
        assert!(!s.next_segment(&config, us(100)).cwr);
    }
    // Still echoes of the first window; 11 belongs to the next.
    assert_eq!(s.cwnd(), 5 * MSS);
    ack(&mut s, &config, us(200), 11, true);
    assert_eq!(s.cwnd(), 5 * MSS / 2);
    // It does not fall below two segments.
    send(&mut s, &config, us(200));
    ack(&mut s, &config, us(300), 15, true);
    send(&mut s, &config, us(300));
    ack(&mut s, &config, us(400), 17, true);
    assert_eq!(s.cwnd(), 2 * MSS);
    // Without ECN an echo means nothing.
    let deaf = TcpConfig { kind: Kind::NewReno, ..config };
    let mut s = TcpSender::new(&deaf, &Start::sized(1000 * MSS));
    send(&mut s, &deaf, us(0));
    ack(&mut s, &deaf, us(100), 1, true);
    assert_eq!(s.cwnd(), 10 * MSS);
}

#[test]
fn only_first_transmissions_are_ecn_capable() {
    let of = |kind: Kind| {
        let config = TcpConfig { kind, ..new_reno() };
        [config.new_data_is_ect(), config.retransmissions_are_ect()]
    };
    assert_eq!(of(Kind::Ecn), [true, false]);
    assert_eq!(of(Kind::Dctcp), [true, true]);
    assert_eq!([of(Kind::NewReno), of(Kind::Reno)], [[false; 2]; 2]);
}

#[test]
fn two_duplicates_let_new_segments_go_beyond_the_window() {
    let config = TcpConfig { limited_transmit: true, max_burst: 2, initial_window: 6, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(40 * MSS));
    assert_eq!(send(&mut s, &config, us(0)), [0, 1]);
    for next in 1..=4 {
        ack(&mut s, &config, us(100 + next), next, false);
        send(&mut s, &config, us(100 + next));
    }
    let (before, sent) = (s.flight(), (s.sent() / MSS) as i64);
    // The window has room for more, but a duplicate releases only one segment, and the third none (RFC 3042).
    assert_eq!((ack(&mut s, &config, us(200), 4, false).newly_acked, s.dupacks), (0, 1));
    assert_eq!(send(&mut s, &config, us(200)), [sent]);
    ack(&mut s, &config, us(201), 4, false);
    assert_eq!(send(&mut s, &config, us(201)), [sent + 1]);
    assert!(ack(&mut s, &config, us(202), 4, false).entered_recovery);
    // RFC 5681 §3.2 step 2: what went beyond the window does not count.
    assert_eq!((s.flight(), s.ssthresh()), (before + 2 * MSS, (before / 2).max(2 * MSS)));
    assert_eq!(send(&mut s, &config, us(202))[0], again(4));
    let off = TcpConfig { limited_transmit: false, max_burst: 0, ..config };
    let mut s = TcpSender::new(&off, &Start::sized(40 * MSS));
    assert_eq!(send(&mut s, &off, us(0)).len(), 6);
    ack(&mut s, &off, us(100), 1, false);
    send(&mut s, &off, us(100));
    ack(&mut s, &off, us(101), 1, false);
    assert!(!s.can_send(&off));
}

#[test]
fn limited_transmit_keeps_to_the_receivers_window_and_to_new_data() {
    let config = TcpConfig { limited_transmit: true, max_window: 4, initial_window: 4, ..new_reno() };
    let mut s = TcpSender::new(&config, &Start::sized(40 * MSS));
    assert_eq!(send(&mut s, &config, us(0)), [0, 1, 2, 3]);
    ack(&mut s, &config, us(100), 0, false);
    assert!(!s.can_send(&config), "the receiver has no room");
    s.on_timeout(&config, us(10_000));
    assert_eq!(send(&mut s, &config, us(10_000)), [again(0)]);
    ack(&mut s, &config, us(10_100), 0, false);
    assert!(!s.can_send(&config), "it is going back");
}

#[test]
fn a_window_cut_by_marks_is_held_until_the_next_new_segment_is_acknowledged() {
    for hold_after_mark in [false, true] {
        let config = TcpConfig { kind: Kind::Dctcp, initial_window: 8, hold_after_mark, ..new_reno() };
        let mut s = TcpSender::new(&config, &Start::sized(100 * MSS));
        assert_eq!(send(&mut s, &config, us(0)).len(), 8);
        ack(&mut s, &config, us(100), 1, true);
        assert_eq!(s.cwnd(), 4 * MSS, "alpha is 1 at first");
        for next in 2..=8 {
            ack(&mut s, &config, us(100 + next), next, false);
            send(&mut s, &config, us(100 + next));
        }
        let grown = s.cwnd() > 4 * MSS;
        assert_eq!(grown, !hold_after_mark);
        // Segment 8 was the next one when the window was cut.
        for next in 9..=14 {
            ack(&mut s, &config, us(200 + next), next, false);
            send(&mut s, &config, us(200 + next));
        }
        assert!(s.cwnd() > 4 * MSS);
    }
}
