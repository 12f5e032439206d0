//! RACK-TLP by hand: round trips of 100 us, segments a microsecond apart.

use super::super::Expired;
use super::super::tests::{ack, again, config, send, sender};
use super::*;
use crate::transport::config::Recovery;
use crate::transport::congestion::Start;
use crate::transport::congestion::window::Kind;
use crate::transport::tcp::tests::{MSS, us};

/// Sends `n` segments, one each microsecond from `at` on.
fn spaced(s: &mut SackSender, config: &TcpConfig, at: u64, n: u64) {
    for k in 0..n {
        assert!(s.can_send());
        assert!(!s.next_segment(config, us(at + k)).retransmit);
    }
}

fn rack(s: &SackSender) -> &Rack {
    s.rack.as_deref().unwrap()
}

/// Segments 0 to `n`-1 left at 0 to n-1 us; 0 is overtaken by `by` of them.
fn overtaken(config: &TcpConfig, n: u64, by: u64) -> SackSender {
    let mut s = sender(config, 1000 * MSS);
    spaced(&mut s, config, 0, n);
    for to in 2..2 + by {
        ack(&mut s, config, us(99 + to), 0, &[(1, to)]);
    }
    s
}

#[test]
fn reordering_within_the_window_costs_nothing() {
    let config = config(Recovery::Rack);
    let mut s = overtaken(&config, 5, 2);
    // 2 left at 2 us, its answer took 100: 0, which left at 0, is lost at 100 + 25 us.
    assert_eq!((s.deadline(), s.tcp.in_recovery), (Some(us(125)), false));
    ack(&mut s, &config, us(124), 3, &[]);
    assert!(rack(&s).reordering_seen);
    assert_eq!(rack(&s).reorder_at, Time::NEVER);
    // Once reordering has been seen, any number may overtake.
    ack(&mut s, &config, us(124), 3, &[(4, 5)]);
    ack(&mut s, &config, us(127), 5, &[]);
    let sent = send(&mut s, &config, us(200)).len() as u64;
    for to in 7..5 + sent {
        ack(&mut s, &config, us(300), 5, &[(6, to)]);
    }
    assert!(s.board.sacked() > 3);
    ack(&mut s, &config, us(320), 5 + sent - 1, &[]);
    assert_eq!((s.tcp.retransmits, s.tcp.fast_retransmits, s.tcp.dupack3_events), (0, 0, 1));
}

#[test]
fn reordering_beyond_the_window_is_a_loss_when_the_timer_says_so() {
    let config = config(Recovery::Rack);
    let mut s = overtaken(&config, 5, 2);
    assert_eq!(s.on_timeout(&config, us(125)), Expired::Other);
    assert_eq!((s.tcp.fast_retransmits, s.tcp.timeouts), (1, 0));
    // The first goes at once; the pipe of 0, 3 and 4 leaves no more beside half of five.
    assert_eq!(send(&mut s, &config, us(125)), [again(0)]);
}

#[test]
fn three_overtaking_are_enough_before_reordering_is_seen() {
    let config = config(Recovery::Rack);
    let mut s = overtaken(&config, 6, 2);
    assert_eq!(s.tcp.fast_retransmits, 0);
    let out = ack(&mut s, &config, us(103), 0, &[(1, 4)]);
    assert!(out.entered_recovery);
    // 0 is resent. That answers its first transmission, so it was not lost: RFC 4015.
    assert_eq!(send(&mut s, &config, us(103))[0], again(0));
    let before = s.tcp.cwnd();
    ack(&mut s, &config, us(110), 4, &[]);
    assert!(!s.tcp.in_recovery && rack(&s).reordering_seen);
    assert!(s.tcp.cwnd() >= 10 * MSS && before < 10 * MSS, "{before}, {}", s.tcp.cwnd());
}

/// Ten segments over two paths, one of them half a round trip longer: RFC 8985's first window is a quarter, and a flow
/// that ends with its first window has no round to learn in.
#[test]
fn a_first_window_sprayed_over_unequal_paths_is_sent_again_in_part() {
    // The third one reported, 5, comes at 105; the timer is that of the last in doubt, 8: 8 + 100 + 25.
    for (threshold, from) in [(3, 105), (0, 133)] {
        let config = TcpConfig { dupack_threshold: threshold, ..config(Recovery::Rack) };
        let mut s = sender(&config, 10 * MSS);
        spaced(&mut s, &config, 0, 10);
        let (mut told, mut again) = (Vec::new(), Vec::new());
        // The odd ones take 100 us, the even ones 150: the receiver's reports of those that have come.
        let mut arrivals: Vec<(u64, u64)> = (0..10).map(|k| (k + if k % 2 == 1 { 100 } else { 150 }, k)).collect();
        arrivals.sort_unstable();
        for (at, number) in arrivals {
            while let Some(timer) = s.deadline().filter(|&timer| timer < us(at)) {
                s.on_timeout(&config, timer);
                again.extend(send(&mut s, &config, timer).into_iter().map(|n| (timer, n)));
            }
            told.push(number);
            let next = (0..10).find(|k| !told.contains(k)).unwrap_or(10);
            let blocks: Vec<_> = told.iter().filter(|&&k| k > next).map(|&k| (k, k + 1)).rev().take(3).collect();
            let echo = us(number);
            let bytes: Vec<_> = blocks.iter().map(|&(from, to)| (from * MSS, to * MSS)).collect();
            let ack = Answer { cumulative: next * MSS, echo, ..Answer::default() };
            if s.on_ack(&config, us(at), &ack, &Sack::of(&bytes)).done {
                break;
            }
            again.extend(send(&mut s, &config, us(at)).into_iter().map(|n| (us(at), n)));
        }
        assert_eq!(again[0].0, us(from), "threshold {threshold}: {again:?}");
        assert!(again.len() >= 2 && again.iter().all(|&(_, n)| n < 0 && (-1 - n) % 2 == 0), "{again:?}");
        assert_eq!((s.spurious, s.tcp.timeouts), (0, 0), "no DSACK comes before the end");
    }
}

#[test]
fn dsack_widens_the_window_once_a_round_and_sixteen_recoveries_narrow_it() {
    let mut r = Rack::new(Some(Span::from_us(100)), Span::ZERO);
    let config = config(Recovery::Rack);
    let mut tcp = TcpSender::opened(&config, &Start::sized(1000 * MSS), Span::from_us(100), 0);
    r.reordering_seen = true;
    let window = |r: &Rack| r.window(false, 5, 3, Span::from_us(100));
    assert_eq!(window(&r), Span::from_us(25));
    (tcp.snd_una, tcp.snd_nxt) = (0, 10 * MSS);
    r.adapt(&tcp, Some((0, MSS)));
    assert_eq!(window(&r), Span::from_us(50));
    // The same round: no more.
    r.adapt(&tcp, Some((0, MSS)));
    assert_eq!(window(&r), Span::from_us(50));
    for (una, expected) in [(10, 75), (20, 100), (30, 100)] {
        (tcp.snd_una, tcp.snd_nxt) = (una * MSS, (una + 10) * MSS);
        r.adapt(&tcp, Some((0, MSS)));
        assert_eq!(window(&r), Span::from_us(expected), "no more than the smoothed round trip");
    }
    tcp.snd_una = 40 * MSS;
    for n in 1..=16 {
        r.left_recovery();
        r.adapt(&tcp, None);
        assert_eq!(window(&r), Span::from_us(if n < 16 { 100 } else { 25 }));
    }
    // A probe's duplicate says nothing of the window, nor does any as long as nothing has come out of order.
    (r.probe_end, r.probe_again) = (Some(60 * MSS), true);
    r.adapt(&tcp, Some((59 * MSS, 60 * MSS)));
    r.reordering_seen = false;
    r.adapt(&tcp, Some((0, MSS)));
    r.reordering_seen = true;
    assert_eq!(window(&r), Span::from_us(25));
    // Without reordering: none in a recovery, none once three are reported.
    r.reordering_seen = false;
    assert_eq!(r.window(true, 0, 3, Span::from_us(100)), Span::ZERO);
    assert_eq!(r.window(false, 3, 3, Span::from_us(100)), Span::ZERO);
    assert_eq!(r.window(false, 2, 3, Span::from_us(100)), Span::from_us(25));
    assert_eq!(r.window(false, 9, 0, Span::from_us(100)), Span::from_us(25));
}

#[test]
fn the_window_is_a_quarter_of_the_least_round_trip_that_is_known_and_no_more_than_255_of_them() {
    let (us20, ms1) = (Span::from_us(20), Span::from_ms(1));
    let window = |r: &Rack| r.window(false, 0, 3, Span::from_ms(1_000));
    for (handshake, known, expected) in
        [(None, us20, 5), (Some(ms1), us20, 5), (Some(us20), ms1, 5), (Some(ms1), Span::ZERO, 250)]
    {
        assert_eq!(window(&Rack::new(handshake, known)), Span::from_us(expected));
    }
    let mut r = Rack::new(None, us20);
    r.reordering_seen = true;
    r.begin_ack(ms1);
    assert_eq!(window(&r), Span::from_us(5), "a slower round trip changes nothing");
    let config = config(Recovery::Rack);
    let mut tcp = TcpSender::opened(&config, &Start::sized(1000 * MSS), ms1, 0);
    for round in 1..=300 {
        (tcp.snd_una, tcp.snd_nxt) = (round * MSS, (round + 1) * MSS);
        r.adapt(&tcp, Some((0, MSS)));
    }
    assert_eq!(window(&r), Span::from_us(5 * 255), "as Linux bounds it");
}

#[test]
fn a_spurious_retransmission_is_undone_by_dsack() {
    let config = config(Recovery::Rack);
    let mut s = overtaken(&config, 6, 3);
    assert_eq!(send(&mut s, &config, us(103))[0], again(0));
    // The answer to the first transmission is lost; that to the second reports a duplicate.
    let echo = us(103);
    let told = Sack::of(&[(0, MSS)]);
    s.on_ack(
        &config,
        us(203),
        &Answer { cumulative: 6 * MSS, echo, echo_retransmit: true, ..Answer::default() },
        &told,
    );
    assert_eq!((s.spurious, rack(&s).reo_wnd_mult, rack(&s).reordering_seen), (1, 1, true));
    assert!(s.tcp.cwnd() >= 10 * MSS && !s.tcp.in_recovery);
}

#[test]
fn the_tail_is_probed() {
    let config = config(Recovery::Rack);
    let mut s = sender(&config, 5 * MSS);
    spaced(&mut s, &config, 0, 5);
    for k in 0..4 {
        ack(&mut s, &config, us(100 + k), k + 1, &[]);
    }
    // 4 is lost. Two round trips after the last ACK the highest segment goes again, and no window is cut.
    assert_eq!(s.deadline(), Some(us(303)));
    let cwnd = s.tcp.cwnd();
    assert_eq!(s.on_timeout(&config, us(303)), Expired::Other);
    assert_eq!(send(&mut s, &config, us(303)), [again(4)]);
    // No probe of a probe: the next timer is the retransmission timeout, from here.
    assert_eq!(s.deadline(), Some(us(10_303)));
    assert!(ack(&mut s, &config, us(403), 5, &[]).done);
    assert_eq!((s.tcp.timeouts, s.tcp.fast_retransmits, s.tcp.retransmits, s.tcp.cwnd()), (0, 0, 1, cwnd));
}

#[test]
fn a_probe_shows_what_else_of_the_tail_is_lost() {
    let config = config(Recovery::Rack);
    let mut s = sender(&config, 5 * MSS);
    spaced(&mut s, &config, 0, 5);
    for k in 0..3 {
        ack(&mut s, &config, us(100 + k), k + 1, &[]);
    }
    assert_eq!(s.on_timeout(&config, us(302)), Expired::Other);
    assert_eq!(send(&mut s, &config, us(302)), [again(4)]);
    let echo = us(302);
    let told = Sack::of(&[(4 * MSS, 5 * MSS)]);
    s.on_ack(
        &config,
        us(402),
        &Answer { cumulative: 3 * MSS, echo, echo_retransmit: true, ..Answer::default() },
        &told,
    );
    assert_eq!(send(&mut s, &config, us(402)), [again(3)]);
    assert_eq!((s.tcp.timeouts, s.tcp.fast_retransmits), (0, 1));
}

#[test]
fn new_data_is_the_better_probe() {
    let config = TcpConfig { initial_window: 2, ..config(Recovery::Rack) };
    let mut s = sender(&config, 5 * MSS);
    assert_eq!(send(&mut s, &config, us(0)), [0, 1]);
    assert_eq!(s.deadline(), Some(us(200)));
    s.on_timeout(&config, us(200));
    assert_eq!(send(&mut s, &config, us(200)), [2]);
    assert_eq!((s.tcp.packets, s.tcp.retransmits), (3, 0));
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    let config = config(Recovery::Rack);
    let mut s = sender(&config, 1000 * MSS);
    spaced(&mut s, &config, 0, 10);
    for to in 2..=9 {
        ack(&mut s, &config, us(99 + to), 0, &[(1, to)]);
        if to == 4 {
            assert_eq!(send(&mut s, &config, us(103))[0], again(0));
        } else {
            send(&mut s, &config, us(99 + to));
        }
    }
    // Something sent after the retransmission arrives, and the retransmission does not.
    let (una, end) = (0, s.board.end());
    assert!(end > 10);
    let out = ack(&mut s, &config, us(240), una, &[(1, 9), (end - 1, end)]);
    assert_eq!((out.newly_acked, s.board.next_lost()), (0, Some(0)));
    assert!(send(&mut s, &config, us(240)).contains(&again(0)));
    assert_eq!((s.tcp.timeouts, s.tcp.fast_retransmits), (0, 1));
}

#[test]
fn what_is_lost_when_a_recovery_ends_is_recovered_next() {
    let config = config(Recovery::Rack);
    let mut s = sender(&config, 1000 * MSS);
    spaced(&mut s, &config, 0, 10);
    for to in 2..=4 {
        ack(&mut s, &config, us(99 + to), 0, &[(1, to)]);
    }
    let first = send(&mut s, &config, us(103));
    assert_eq!(first[0], again(0));
    for to in 5..=10 {
        ack(&mut s, &config, us(99 + to), 0, &[(1, to)]);
        send(&mut s, &config, us(99 + to));
    }
    // Later segments overtake the first one, which was lost again, and the first that was sent in the recovery. One of
    // the two goes; before the turn of the other comes at the NIC, everything sent before the recovery is acknowledged.
    let (end, recover) = (s.board.end(), s.board.number(s.tcp.recover));
    assert!(end > recover + 3);
    ack(&mut s, &config, us(215), 0, &[(1, recover), (recover + 1, end)]);
    assert_eq!(s.next_segment(&config, us(215)).seq, 0);
    assert_eq!(s.board.next_lost(), Some(recover));
    ack(&mut s, &config, us(315), recover, &[(recover + 1, end)]);
    assert_eq!((s.tcp.in_recovery, s.tcp.fast_retransmits), (true, 2));
    assert_eq!(s.next_segment(&config, us(315)).seq, recover * MSS);
}

#[test]
fn an_ack_that_covers_two_segments_shows_no_reordering() {
    // The answer to segment 0 is lost, and so is segment 1: the next answer acknowledges 0, and reports 2.
    let config = config(Recovery::Rack);
    let mut s = sender(&config, 1000 * MSS);
    spaced(&mut s, &config, 0, 8);
    ack(&mut s, &config, us(102), 1, &[(2, 3)]);
    assert!(!rack(&s).reordering_seen);
    // Nor do blocks that come newest first: 3 and 5 arrived in this order, and the answer to 3 is lost.
    ack(&mut s, &config, us(105), 1, &[(5, 6), (2, 4)]);
    assert!(!rack(&s).reordering_seen);
    // Segment 4 arrives after 5.
    ack(&mut s, &config, us(106), 1, &[(2, 6)]);
    assert!(rack(&s).reordering_seen);
}

#[test]
fn the_reduction_is_proportional() {
    // RFC 6937: of twenty in flight half are released, one for each two that arrive.
    let config = TcpConfig { initial_window: 20, initial_ssthresh: 20, ..config(Recovery::Rack) };
    let mut s = sender(&config, 1000 * MSS);
    spaced(&mut s, &config, 0, 20);
    let mut sent = Vec::new();
    for to in 2..=20 {
        ack(&mut s, &config, us(99 + to), 0, &[(1, to)]);
        sent.extend(send(&mut s, &config, us(99 + to)));
    }
    // Two by limited transmit. Of the 20 in flight then, 17 arrive from the third on: the first 16 release 16 * 10 / 20.
    // The last leaves the pipe at half, because one was lost, and releases none.
    assert_eq!(sent[..3], [20, 21, again(0)]);
    assert_eq!((s.tcp.ssthresh(), s.board.pipe(), sent.len()), (10 * MSS, 10 * MSS, 2 + 8));
}

#[test]
fn a_timer_within_a_recovery_leaves_the_window() {
    let config = config(Recovery::Rack);
    let mut s = sender(&config, 1000 * MSS);
    spaced(&mut s, &config, 0, 10);
    ack(&mut s, &config, us(101), 0, &[(1, 2)]);
    ack(&mut s, &config, us(102), 2, &[]);
    assert!(rack(&s).reordering_seen);
    // 2 and 6 are late. What follows each has arrived, at 2 us and 6 us later: the timer goes off for one, then the
    // other.
    ack(&mut s, &config, us(105), 2, &[(3, 6)]);
    let at = s.deadline().unwrap();
    assert_eq!(s.on_timeout(&config, at), Expired::Other);
    assert!(s.tcp.in_recovery);
    ack(&mut s, &config, at + Span::from_us(1), 2, &[(7, 10), (3, 6)]);
    let at = s.deadline().unwrap();
    let (cwnd, pipe) = (s.tcp.cwnd(), s.board.pipe());
    assert_eq!(s.on_timeout(&config, at), Expired::Other);
    assert_eq!((s.tcp.cwnd(), s.board.pipe()), (cwnd, pipe - MSS));
}

#[test]
fn a_timeout_takes_back_only_what_is_late() {
    let config = config(Recovery::Rack);
    let mut s = sender(&config, 1000 * MSS);
    spaced(&mut s, &config, 0, 10);
    let at = s.deadline().unwrap();
    assert_eq!((at, s.on_timeout(&config, at)), (us(209), Expired::Other));
    // The probe waits; the window is full, but the probe goes anyway.
    assert_eq!(send(&mut s, &config, at), [10]);
    let at = s.deadline().unwrap();
    assert_eq!(s.on_timeout(&config, at), Expired::Timeout);
    assert_eq!((s.tcp.cwnd(), s.board.pipe()), (MSS, 0));
    assert_eq!(send(&mut s, &config, at), [again(0)]);
}

/// Ten segments of a connection without a handshake over two paths: the odd ones come first.
#[test]
fn the_first_answer_of_a_connection_may_be_about_its_second_segment() {
    let config = config(Recovery::Rack);
    let mut s = SackSender::new(&config, TcpSender::new(&config, &Start::sized(10 * MSS)));
    spaced(&mut s, &config, 0, 10);
    ack(&mut s, &config, us(101), 0, &[(1, 2)]);
    assert_eq!((s.tcp.srtt(), s.tcp.in_recovery), (Some(Span::from_us(100)), false));
    assert_eq!(s.deadline(), Some(us(125)), "segment 0 may come a quarter of a round trip later");
    ack(&mut s, &config, us(120), 2, &[]);
    assert_eq!((s.tcp.retransmits, s.tcp.fast_retransmits), (0, 0));
}

/// [`ack`], with ECN-Echo.
fn marked(s: &mut SackSender, config: &TcpConfig, now: Time, next: u64, blocks: &[(u64, u64)]) {
    let blocks: Vec<_> = blocks.iter().map(|&(from, to)| (from * MSS, to * MSS)).collect();
    let ack = Answer { cumulative: next * MSS, echo: now - Span::from_us(100), ece: true, ..Answer::default() };
    s.on_ack(config, now, &ack, &Sack::of(&blocks));
}

fn with_marks() -> TcpConfig {
    TcpConfig { kind: Kind::Ecn, ..config(Recovery::Rack) }
}

#[test]
fn a_mark_counts_again_once_a_cut_is_taken_back() {
    let config = with_marks();
    let mut s = overtaken(&config, 10, 3);
    assert!(s.tcp.in_recovery && s.tcp.cwr_due);
    assert_eq!(send(&mut s, &config, us(103))[0], again(0));
    ack(&mut s, &config, us(110), 4, &[]);
    assert_eq!((s.tcp.in_recovery, s.tcp.cwr_due), (false, false));
    let before = s.tcp.cwnd();
    assert!(before >= 10 * MSS);
    marked(&mut s, &config, us(111), 5, &[]);
    assert_eq!(s.tcp.cwnd(), before / 2, "in the round trip in which the cut was taken back");
}

#[test]
fn a_cut_is_kept_if_a_mark_came_with_it() {
    let config = with_marks();
    let mut s = overtaken(&config, 10, 3);
    let ssthresh = s.tcp.ssthresh();
    assert_eq!(send(&mut s, &config, us(103))[0], again(0));
    marked(&mut s, &config, us(110), 4, &[]);
    assert_eq!((s.tcp.in_recovery, s.tcp.cwnd(), s.tcp.ssthresh()), (false, ssthresh, ssthresh));
    assert_eq!(s.board.next_lost(), None);
}

#[test]
fn marks_and_losses_of_one_window_of_data_cut_it_once() {
    let config = with_marks();
    let mut s = sender(&config, 1000 * MSS);
    spaced(&mut s, &config, 0, 10);
    marked(&mut s, &config, us(100), 1, &[]);
    assert_eq!(s.tcp.ssthresh(), 5 * MSS);
    // 1 is lost.
    for to in 3..=6 {
        ack(&mut s, &config, us(99 + to), 1, &[(2, to)]);
    }
    assert_eq!((s.tcp.in_recovery, s.tcp.ssthresh()), (true, 5 * MSS));
    send(&mut s, &config, us(105));
    // And the timeout of what was sent again.
    let at = s.tcp.deadline;
    while s.on_timeout(&config, s.deadline().unwrap()) != Expired::Timeout {
        send(&mut s, &config, us(300));
    }
    assert_eq!((s.tcp.timeouts, s.tcp.ssthresh(), s.tcp.cwnd()), (1, 5 * MSS, MSS));
    assert!(at >= us(10_000));
}

#[test]
fn a_recovery_that_has_sent_nothing_again_is_undone_by_new_data() {
    let config = config(Recovery::Rack);
    let mut s = overtaken(&config, 10, 3);
    assert!(s.tcp.in_recovery);
    // Its turn at the NIC has not come when 0 arrives.
    ack(&mut s, &config, us(104), 4, &[]);
    assert_eq!((s.tcp.in_recovery, s.tcp.cwnd() >= 10 * MSS, s.tcp.retransmits), (false, true, 0));
    assert_eq!(s.board.next_lost(), None);
}

#[test]
fn one_segment_more_goes_for_an_answer_that_reveals_no_loss() {
    let config = TcpConfig { initial_window: 20, initial_ssthresh: 20, ..config(Recovery::Rack) };
    let mut s = sender(&config, 1000 * MSS);
    spaced(&mut s, &config, 0, 20);
    // All but the last are lost: the pipe is empty, and one goes as the timer expires.
    ack(&mut s, &config, us(119), 0, &[(19, 20)]);
    let at = s.deadline().unwrap();
    assert_eq!((at, s.on_timeout(&config, at)), (us(143), Expired::Other));
    assert_eq!((s.tcp.in_recovery, s.board.pipe(), s.tcp.ssthresh()), (true, 0, 10 * MSS));
    assert_eq!(send(&mut s, &config, at), [again(0)]);
    // The answer is of new data, and shows no other loss: two for one.
    ack(&mut s, &config, us(243), 1, &[(19, 20)]);
    assert_eq!(send(&mut s, &config, us(243)), [again(1), again(2)]);
    // Without new data one goes, though the threshold leaves room for nine.
    ack(&mut s, &config, us(343), 1, &[(2, 3), (19, 20)]);
    assert_eq!(send(&mut s, &config, us(343)).len(), 1);
}
