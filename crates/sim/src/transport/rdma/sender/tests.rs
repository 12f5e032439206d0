//! The sender's reaction to each answer, case by case.

use super::*;
use crate::transport::contract::Sender;

const MSS: u64 = 1000;
const LINE: u64 = 100_000_000_000;

fn us(us: u64) -> Time {
    Time(us * 1_000_000)
}

fn new(recovery: Recovery, packets: u64) -> (RdmaConfig, RdmaSender) {
    let config = RdmaConfig::rnic(recovery);
    let sender = RdmaSender::new(&config, &Start { rate: LINE, ..Start::sized(packets * MSS) });
    (config, sender)
}

/// Sends `n` packets as soon as pacing lets them; returns their numbers, and whether each is a retransmission.
fn send(s: &mut RdmaSender, config: &RdmaConfig, n: usize) -> Vec<(u64, bool)> {
    let one = |_| {
        let segment = s.next_packet(config, s.next_at());
        (segment.seq / MSS, segment.retransmit)
    };
    (0..n).map(one).collect()
}

fn ack(packet: u64) -> RdmaAck {
    RdmaAck { cumulative: packet * MSS, ..RdmaAck::default() }
}

fn nack(expected: u64, came: Option<u64>) -> RdmaAck {
    RdmaAck { nack: true, sack: came.map(|n| (n * MSS, MSS as u32)), ..ack(expected) }
}

#[test]
fn packets_leave_at_the_rate_of_the_line() {
    let (config, mut s) = new(Recovery::GoBackN, 3);
    assert_eq!(s.next_at(), Time::ZERO);
    send(&mut s, &config, 2);
    assert_eq!(s.next_at(), Time(2 * 83_840));
    send(&mut s, &config, 1);
    assert!(!s.may_send(&config) && !s.is_done());
    let out = s.on_ack(&config, us(9), &ack(3));
    assert!(out.done && out.newly_acked == 3 * MSS && s.is_done() && s.deadline().is_none());
}

#[test]
fn go_back_n_goes_back_to_the_oldest() {
    let (config, mut s) = new(Recovery::GoBackN, 9);
    send(&mut s, &config, 5);
    assert!(!s.on_ack(&config, us(1), &ack(1)).went_back);
    assert!(s.on_ack(&config, us(2), &nack(2, None)).went_back);
    assert_eq!(send(&mut s, &config, 4), [(2, true), (3, true), (4, true), (5, false)]);
    // Any NACK does, even one that was overtaken.
    assert!(s.on_ack(&config, us(3), &nack(1, None)).went_back);
    assert_eq!(send(&mut s, &config, 1), [(2, true)]);
    // Data that arrived nevertheless is not sent again.
    s.on_ack(&config, us(4), &ack(6));
    assert_eq!(send(&mut s, &config, 1), [(6, false)]);
    assert_eq!((s.packets(), s.retransmits(), s.nacks()), (11, 4, 2));
}

#[test]
fn the_timer_runs_from_the_last_packet_or_answer() {
    let (config, mut s) = new(Recovery::GoBackN, 9);
    assert_eq!(s.deadline(), None);
    send(&mut s, &config, 3);
    assert_eq!(s.deadline(), Some(Time(2 * 83_840) + config.rto));
    s.on_ack(&config, us(7), &ack(1));
    assert_eq!(s.deadline(), Some(us(7) + config.rto));
    s.on_timeout(&config, us(7) + config.rto);
    assert_eq!((s.timeouts(), s.deadline()), (1, None));
    assert_eq!(s.next_packet(&config, us(5000)).seq, MSS);
    assert_eq!(s.deadline(), Some(us(5000) + config.rto));
    s.on_ack(&config, us(5001), &ack(3));
    assert_eq!(s.deadline(), None, "nothing is outstanding");
}

#[test]
fn irn_keeps_within_its_window() {
    let (config, mut s) = new(Recovery::Irn, 300);
    send(&mut s, &config, 104);
    assert!(!s.may_send(&config));
    assert_eq!(s.flight(), 104_000);
    s.on_ack(&config, us(9), &ack(1));
    assert_eq!(send(&mut s, &config, 1), [(104, false)]);
    assert!(!s.may_send(&config));
}

#[test]
fn irn_sends_again_what_it_was_not_told_of() {
    let (config, mut s) = new(Recovery::Irn, 20);
    send(&mut s, &config, 10);
    assert!(s.on_ack(&config, us(1), &nack(2, Some(4))).went_back);
    assert!(s.in_recovery());
    // Others that arrive meanwhile do not send it back again.
    assert!(!s.on_ack(&config, us(1), &nack(2, Some(5))).went_back);
    assert!(!s.on_ack(&config, us(1), &nack(2, Some(8))).went_back);
    assert_eq!(send(&mut s, &config, 6), [(2, true), (3, true), (6, true), (7, true), (9, true), (10, false)]);
    // 2 and 3 fill the first hole; another remains.
    assert!(!s.on_ack(&config, us(2), &nack(6, Some(3))).went_back);
    assert_eq!(s.acked(), 6 * MSS);
    assert_eq!(send(&mut s, &config, 2), [(11, false), (12, false)]);
    // Everything sent before the recovery is there: a NACK begins another.
    assert!(s.on_ack(&config, us(3), &nack(10, Some(11))).went_back);
    // A plain ACK ends it.
    s.on_ack(&config, us(4), &ack(12));
    assert!(!s.in_recovery());
    assert_eq!(send(&mut s, &config, 1), [(12, true)]);
}

#[test]
fn a_block_behind_hides_those_beyond() {
    let (config, mut s) = new(Recovery::Irn, 20);
    send(&mut s, &config, 10);
    s.on_ack(&config, us(1), &nack(2, Some(4)));
    assert_eq!(send(&mut s, &config, 2), [(2, true), (3, true)]);
    // 4 was skipped and forgotten; 5 is reported only after it has been sent again.
    assert_eq!(send(&mut s, &config, 1), [(5, true)]);
    s.on_ack(&config, us(1), &nack(2, Some(5)));
    s.on_ack(&config, us(1), &nack(2, Some(7)));
    assert_eq!(send(&mut s, &config, 2), [(6, true), (7, true)]);
}

#[test]
fn irn_has_a_short_timeout_for_few_packets() {
    let (config, mut s) = new(Recovery::Irn, 9);
    send(&mut s, &config, 4);
    assert_eq!(s.deadline(), Some(Time(3 * 83_840) + config.rto_low), "three beside the newest");
    send(&mut s, &config, 1);
    assert_eq!(s.deadline(), Some(Time(4 * 83_840) + config.rto_high));
    s.on_ack(&config, us(5), &nack(0, Some(2)));
    s.on_timeout(&config, us(400));
    assert!(s.in_recovery());
    let again: Vec<u64> = (0..3).map(|n| s.next_packet(&config, us(400 + n)).seq / MSS).collect();
    assert_eq!(again, [0, 1, 3]);
    // NACKs of the old packets do not send it back.
    assert!(!s.on_ack(&config, us(405), &nack(1, Some(3))).went_back);
}

#[test]
fn where_a_timeout_keeps_the_recovery_the_next_nack_sends_back_once_more() {
    for (kept, goes_back) in [(false, false), (true, true)] {
        let (mut config, mut s) = new(Recovery::Irn, 9);
        send(&mut s, &config, 5);
        config.recover_kept_on_timeout = kept;
        s.on_timeout(&config, us(400));
        s.next_packet(&config, us(400));
        assert_eq!(s.on_ack(&config, us(405), &nack(1, Some(3))).went_back, goes_back);
    }
}

#[test]
fn where_looks_step_a_nack_in_between_sends_a_packet_again_in_vain() {
    for (steps_at_looks, looks, next) in [(false, 0, 3), (true, 1, 3), (true, 0, 2)] {
        let (mut config, mut s) = new(Recovery::Irn, 9);
        config.steps_at_looks = steps_at_looks;
        send(&mut s, &config, 5);
        assert!(s.on_ack(&config, us(1), &nack(0, Some(2))).went_back);
        assert_eq!(send(&mut s, &config, 2), [(0, true), (1, true)]);
        (0..looks).for_each(|_| assert!(s.looked_at(&config)));
        // The block begins before the packet that comes next, so nothing is stepped over.
        s.on_ack(&config, us(2), &nack(0, Some(1)));
        assert!(s.looked_at(&config));
        assert_eq!(send(&mut s, &config, 1), [(next, true)], "{steps_at_looks} {looks}");
    }
}

#[test]
fn where_looks_step_a_packet_may_go_beyond_the_window() {
    let (mut config, mut s) = new(Recovery::Irn, 300);
    config.steps_at_looks = true;
    send(&mut s, &config, 104);
    assert!(!s.may_send(&config));
    for came in 2..104 {
        s.on_ack(&config, us(20), &nack(0, Some(came)));
    }
    send(&mut s, &config, 2);
    assert!(s.may_send(&config), "packet 2 is in the window");
    assert!(s.looked_at(&config) && !s.may_send(&config));
    assert_eq!(send(&mut s, &config, 1), [(104, false)]);
}

#[test]
fn cnps_cut_the_rate_that_paces() {
    let (config, mut s) = new(Recovery::GoBackN, 1000);
    send(&mut s, &config, 1);
    let cnp = RdmaAck { cnp: true, ..ack(1) };
    s.on_ack(&config, us(1), &cnp);
    // The check at 5.001 us cuts to about one half; a packet sent then is followed a gap of its own rate later.
    s.next_packet(&config, us(5));
    assert_eq!(s.next_at(), us(5) + Span(83_840));
    s.next_packet(&config, us(6));
    let gap = s.next_at().since(us(6)).0;
    let Control::Dcqcn(dcqcn) = &s.control else { panic!("DCQCN") };
    assert_eq!(gap, Span::sending(1048, dcqcn.rate()).0);
    assert!((165_000..168_000).contains(&gap), "{gap}");
    assert_eq!(s.cnps(), 1);
}
