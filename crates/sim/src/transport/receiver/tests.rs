//! Traces worked out by hand, and reassembly against a bitmap.

use super::*;
use crate::transport::config::Recovery;
use crate::transport::congestion::window::Kind;
use spinewise_policy::time::Span;

const MSS: u64 = 1000;

fn config(delayed_ack: u32) -> TcpConfig {
    TcpConfig { mss: MSS as u32, delayed_ack, delayed_ack_timeout: Span::from_us(40), ..TcpConfig::datacenter() }
}

/// Segment `k` arrives at `k` microseconds, was sent at `100 + k` picoseconds and has tag `k`.
fn arrive(r: &mut TcpReceiver, config: &TcpConfig, k: u64, ce: bool) -> Received {
    let (stamp, tag) = (Time(100 + k), k as u32);
    let packet =
        Arrival { seq: k * MSS, len: MSS as u32, ce, stamp, retransmit: k % 2 == 1, tag, ..Arrival::default() };
    r.on_data(config, Time(k * 1_000_000), &packet)
}

/// An ACK up to segment `next` that answers segment `echo`.
fn ack(next: u64, ece: bool, echo: u64) -> Option<Answer> {
    Some(Answer {
        cumulative: next * MSS,
        ece,
        echo: Time(100 + echo),
        echo_retransmit: echo % 2 == 1,
        echo_tag: echo as u32,
        ..Answer::default()
    })
}

#[test]
fn every_packet_is_acknowledged_without_delay() {
    let (config, mut r) = (config(1), TcpReceiver::new(3 * MSS));
    for k in 0..3 {
        let out = arrive(&mut r, &config, k, k == 1);
        assert_eq!(out.answers, [ack(k + 1, k == 1, k), None]);
        assert_eq!((out.new_bytes, out.out_of_order), (MSS, false));
        assert_eq!(out.completed, k == 2);
        assert_eq!(r.deadline(), None);
    }
    assert!(r.is_complete());
    assert_eq!(r.expected(), 3 * MSS);
}

#[test]
fn delayed_acks_come_by_count_by_timer_and_at_the_end() {
    let (config, mut r) = (config(2), TcpReceiver::new(4 * MSS));
    assert_eq!(arrive(&mut r, &config, 0, false).answers, [None, None]);
    assert_eq!(r.deadline(), Some(Time(40_000_000)));
    assert_eq!(arrive(&mut r, &config, 1, false).answers, [ack(2, false, 1), None]);
    assert_eq!(r.deadline(), None);
    assert_eq!(arrive(&mut r, &config, 2, false).answers, [None, None]);
    assert_eq!(r.deadline(), Some(Time(42_000_000)));
    assert_eq!(r.on_timeout(&config, Time(41_999_999)), None);
    assert_eq!(r.on_timeout(&config, Time(42_000_000)), ack(3, false, 2));
    assert_eq!((r.deadline(), r.on_timeout(&config, Time(43_000_000))), (None, None));
    // An odd last segment does not wait: it carries the FIN.
    assert_eq!(arrive(&mut r, &config, 3, false).answers, [ack(4, false, 3), None]);
}

/// The machine of RFC 8257 §3.2 with an ACK for every third packet.
#[test]
fn ce_state_machine_table() {
    let (config, mut r) = (config(3), TcpReceiver::new(100 * MSS));
    let table: [(bool, [Option<Answer>; 2]); 12] = [
        (false, [None, None]),
        (false, [None, None]),
        // 0 -> 1 with two packets pending: they are acknowledged as unmarked, then the mark.
        (true, [ack(2, false, 1), ack(3, true, 2)]),
        (true, [None, None]),
        (true, [None, None]),
        (true, [ack(6, true, 5), None]),
        // 1 -> 0 with nothing pending: one ACK.
        (false, [ack(7, false, 6), None]),
        (true, [ack(8, true, 7), None]),
        (true, [None, None]),
        // 1 -> 0 with one pending.
        (false, [ack(9, true, 8), ack(10, false, 9)]),
        (false, [None, None]),
        (true, [ack(11, false, 10), ack(12, true, 11)]),
    ];
    for (k, (ce, acks)) in table.into_iter().enumerate() {
        assert_eq!(arrive(&mut r, &config, k as u64, ce).answers, acks, "segment {k}");
    }
}

#[test]
fn new_reno_does_not_echo_marks() {
    let config = TcpConfig { kind: Kind::NewReno, ..config(2) };
    let mut r = TcpReceiver::new(10 * MSS);
    assert_eq!(arrive(&mut r, &config, 0, true).answers, [None, None]);
    assert_eq!(arrive(&mut r, &config, 1, false).answers, [ack(2, false, 1), None]);
}

#[test]
fn gaps_are_acknowledged_at_once() {
    let (config, mut r) = (config(2), TcpReceiver::new(100 * MSS));
    assert_eq!(arrive(&mut r, &config, 0, false).answers, [None, None]);
    // Out of order: also acknowledges the pending segment 0, so it is no duplicate ACK yet.
    let out = arrive(&mut r, &config, 2, false);
    assert_eq!((out.answers, out.out_of_order, out.new_bytes == 0), ([ack(1, false, 2), None], false, false));
    assert_eq!(r.deadline(), None);
    // With a mark the duplicate ACK carries the new state, and there is only one.
    assert_eq!(arrive(&mut r, &config, 4, true).answers, [ack(1, true, 4), None]);
    // Fills part of the gap.
    let out = arrive(&mut r, &config, 1, true);
    assert_eq!((out.answers, out.out_of_order, out.new_bytes), ([ack(3, true, 1), None], true, MSS));
    // An old packet brings nothing and is answered.
    let out = arrive(&mut r, &config, 2, true);
    assert_eq!((out.answers, out.new_bytes == 0, out.out_of_order), ([ack(3, true, 2), None], true, true));
    // Fills the rest.
    let out = arrive(&mut r, &config, 3, true);
    assert_eq!((out.answers, out.out_of_order), ([ack(5, true, 3), None], true));
    // In order again: delayed again.
    assert_eq!(arrive(&mut r, &config, 5, true).answers, [None, None]);
}

/// A small generator for the tests' orders (splitmix64).
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) % below
}

/// Feeds `pieces` (start, end) and compares every report with a bitmap of the bytes.
fn against_bitmap(size: usize, pieces: &[(u64, u64)]) {
    let (config, mut r) = (config(1), TcpReceiver::new(size as u64));
    let mut here = vec![false; size];
    let mut complete = false;
    for &(start, end) in pieces {
        let range = start as usize..end as usize;
        let new = here[range.clone()].iter().filter(|byte| !**byte).count() as u64;
        let later = here[range.end..].contains(&true);
        here[range].fill(true);
        let expected = here.iter().position(|byte| !byte).unwrap_or(size) as u64;
        let out =
            r.on_data(&config, Time::ZERO, &Arrival { seq: start, len: (end - start) as u32, ..Arrival::default() });
        assert_eq!(out.new_bytes, new);
        assert_eq!((out.new_bytes == 0, out.out_of_order), (new == 0, later));
        assert_eq!(out.answers[0].map(|ack| ack.cumulative), Some(expected));
        assert_eq!(out.completed, !complete && expected == size as u64);
        complete |= out.completed;
        let mut edge = r.expected();
        for &(from, to) in r.here.beyond() {
            assert!(edge < from && from < to, "intervals are disjoint and do not touch");
            assert!(here[from as usize..to as usize].iter().all(|byte| *byte));
            edge = to;
        }
        let held: u64 = r.here.beyond().iter().map(|i| i.1 - i.0).sum();
        assert_eq!(r.expected() + held, here.iter().filter(|byte| **byte).count() as u64);
    }
    assert_eq!(r.is_complete(), complete);
}

#[test]
fn reassembly_equals_a_bitmap() {
    let mut state = 1;
    for round in 0..200 {
        // Segments in a random order, some of them twice, and each within `reach` of its place.
        let reach = [3, 10, 60][round % 3];
        let mut keyed: Vec<(u64, u64)> = (0..60).map(|k| (k + draw(&mut state, reach), k)).collect();
        keyed.extend((0..10).map(|_| (draw(&mut state, 60), draw(&mut state, 60))));
        keyed.sort_unstable();
        let pieces: Vec<(u64, u64)> = keyed.iter().map(|&(_, k)| (k * 7, k * 7 + 7)).collect();
        against_bitmap(420, &pieces);
        // Pieces that overlap in any way, not along segment boundaries.
        let mut pieces: Vec<(u64, u64)> = (0..120)
            .map(|_| {
                let start = draw(&mut state, 299);
                (start, (start + 1 + draw(&mut state, 12)).min(300))
            })
            .collect();
        pieces.push((0, 300));
        pieces.push((5, 9));
        against_bitmap(300, &pieces);
    }
}

/// RFC 3168 §6.1.3: from the first mark until CWR.
#[test]
fn a_mark_is_echoed_until_the_window_is_reduced() {
    let config = TcpConfig { kind: Kind::Ecn, ..config(1) };
    let mut r = TcpReceiver::new(20 * MSS);
    let marks =
        [(false, false), (true, false), (false, false), (false, true), (false, false), (true, true), (false, false)];
    let echoes: Vec<bool> = (0..)
        .zip(marks)
        .map(|(k, (ce, cwr))| {
            let packet = Arrival { seq: k * MSS, len: MSS as u32, ce, cwr, ..Arrival::default() };
            r.on_data(&config, Time::ZERO, &packet).answers[0].is_some_and(|ack| ack.ece)
        })
        .collect();
    assert_eq!(echoes, [false, true, true, false, false, true, true]);
}

/// Blocks after each of these segments, in segments.
fn told(segments: &[u64]) -> Vec<Vec<(u64, u64)>> {
    let config = TcpConfig { recovery: Recovery::Sack, ..config(1) };
    let mut r = TcpReceiver::new(100 * MSS);
    let take = |&k: &u64| {
        r.on_data(&config, Time::ZERO, &Arrival { seq: k * MSS, len: MSS as u32, ..Arrival::default() });
        r.sack().blocks().iter().map(|&(start, end)| (start / MSS, end / MSS)).collect()
    };
    segments.iter().map(take).collect()
}

#[test]
fn the_newest_block_comes_first() {
    // RFC 2018 §4, case 2: the first of eight is lost.
    assert_eq!(told(&[1, 2, 3])[..], [vec![(1, 2)], vec![(1, 3)], vec![(1, 4)]]);
    // Case 3: the second, fourth, sixth and eighth; then the fourth comes, then the second.
    let blocks = told(&[0, 2, 4, 6, 3, 1]);
    assert_eq!(blocks[..4], [vec![], vec![(2, 3)], vec![(4, 5), (2, 3)], vec![(6, 7), (4, 5), (2, 3)]]);
    assert_eq!(blocks[4..], [vec![(2, 5), (6, 7)], vec![(6, 7)]]);
    // No more than three, and the oldest goes first.
    assert_eq!(told(&[1, 3, 5, 7, 9])[4], [(9, 10), (7, 8), (5, 6)]);
}

#[test]
fn a_duplicate_is_told_once() {
    // RFC 2883 §4.1: below the acknowledgement; with another block; within one.
    assert_eq!(told(&[0, 1, 1, 2])[2..], [vec![(1, 2)], vec![]]);
    assert_eq!(told(&[0, 2, 0])[2], [(0, 1), (2, 3)]);
    assert_eq!(told(&[0, 2, 3, 4, 3, 5])[4..], [vec![(3, 4), (2, 5)], vec![(2, 6)]]);
}

#[test]
fn nothing_is_told_without_selective_acknowledgements() {
    let config = config(1);
    let mut r = TcpReceiver::new(100 * MSS);
    for k in [1, 3, 3] {
        arrive(&mut r, &config, k, false);
        assert_eq!(r.sack(), Sack::NONE);
    }
}

#[test]
fn what_is_here_already_can_be_passed_over_in_silence() {
    let config = TcpConfig { ack_duplicates: false, ..config(1) };
    let mut r = TcpReceiver::new(9 * MSS);
    for k in 0..3 {
        arrive(&mut r, &config, k, false);
    }
    let out = arrive(&mut r, &config, 0, true);
    assert_eq!((out.answers, out.new_bytes == 0, out.new_bytes), ([None, None], true, 0));
    // Its CE mark changes no state: the next acknowledgement has none.
    assert_eq!(
        arrive(&mut r, &config, 2, false).answers,
        [ack(3, false, 2), None],
        "it ends where the next byte is due"
    );
    assert_eq!(arrive(&mut r, &config, 4, false).answers, [ack(3, false, 4), None], "beyond a gap");
    // Sent a timeout later than the last arrival: its sender does not know, and must be notified.
    let packet = |stamp| Arrival { seq: 0, len: MSS as u32, stamp, ..Arrival::default() };
    let due = Time(104) + config.min_rto;
    assert_eq!(r.on_data(&config, due, &packet(Time(due.0 - 1))).answers, [None, None]);
    assert!(r.on_data(&config, due, &packet(due)).answers[0].is_some_and(|ack| ack.cumulative == 3 * MSS));
}
