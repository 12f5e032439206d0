//! The answer to each arrival, case by case.

use super::*;
use crate::transport::rdma::RdmaAck;

const MSS: u64 = 1000;

fn go_back_n() -> RdmaConfig {
    RdmaConfig::in_whole_ns(Recovery::GoBackN)
}

fn irn() -> RdmaConfig {
    RdmaConfig::in_whole_ns(Recovery::Irn)
}

/// Bytes `seq..seq + len` arrive.
fn packet(seq: u64, len: u64, ce: bool) -> Arrival {
    Arrival { seq, len: len as u32, ce, ..Arrival::default() }
}

/// The answer that a sender would read.
fn read(got: &Received) -> Option<RdmaAck> {
    let option = got.told.as_ref().map_or(&[][..], |told| &told.option);
    got.answers[0].map(|answer| RdmaAck::read(&answer, option))
}

/// Packet number `n` arrives unmarked at `us`: the answer as (cumulative packet, NACK, packet reported, CNP).
fn arrives(r: &mut RdmaReceiver, config: &RdmaConfig, us: u64, n: u64) -> Option<(u64, bool, Option<u64>, bool)> {
    let answer = read(&r.on_data(config, Time(us * 1_000_000), &packet(n * MSS, MSS, false)))?;
    assert!(answer.sack.is_none_or(|sack| u64::from(sack.1) == MSS));
    Some((answer.cumulative / MSS, answer.nack, answer.sack.map(|sack| sack.0 / MSS), answer.cnp))
}

#[test]
fn go_back_n_drops_and_says_so_once_in_a_while() {
    let (config, mut r) = (go_back_n(), RdmaReceiver::new(8 * MSS));
    assert_eq!(arrives(&mut r, &config, 0, 0), Some((1, false, None, false)));
    assert_eq!(arrives(&mut r, &config, 1, 2), Some((1, true, None, true)), "a NACK, and a CNP with it");
    assert_eq!(arrives(&mut r, &config, 2, 3), None, "within 4 us for the same byte");
    assert_eq!(arrives(&mut r, &config, 5, 4), Some((1, true, None, true)), "4 us later");
    assert_eq!(arrives(&mut r, &config, 6, 1), Some((2, false, None, false)), "what came early was not kept");
    assert_eq!(arrives(&mut r, &config, 7, 3), Some((2, true, None, true)), "another byte is expected");
    assert_eq!(arrives(&mut r, &config, 8, 0), Some((2, false, None, false)), "a duplicate is acknowledged");
    assert_eq!(r.expected(), 2 * MSS);
}

#[test]
fn irn_keeps_and_tells_which() {
    let (config, mut r) = (irn(), RdmaReceiver::new(8 * MSS));
    assert_eq!(arrives(&mut r, &config, 0, 0), Some((1, false, None, false)));
    assert_eq!(arrives(&mut r, &config, 1, 2), Some((1, true, Some(2), true)));
    assert_eq!(arrives(&mut r, &config, 2, 4), Some((1, true, Some(4), true)), "each new packet is told of");
    assert_eq!(arrives(&mut r, &config, 3, 2), None, "told of within 4 us");
    assert_eq!(arrives(&mut r, &config, 6, 2), Some((1, true, Some(2), true)));
    assert_eq!(arrives(&mut r, &config, 7, 1), Some((3, true, Some(1), false)), "one hole is filled, one is left");
    assert_eq!(arrives(&mut r, &config, 8, 0), Some((3, true, Some(0), false)), "a duplicate while a hole is left");
    assert_eq!(arrives(&mut r, &config, 9, 3), Some((5, false, None, false)), "no hole is left");
    assert_eq!(arrives(&mut r, &config, 10, 4), Some((5, false, None, false)));
}

#[test]
fn bytes_are_new_once_and_the_last_one_completes() {
    for config in [go_back_n(), irn()] {
        let mut r = RdmaReceiver::new(2500);
        let mut take = |seq, len| {
            let got = r.on_data(&config, Time::ZERO, &packet(seq, len, false));
            (got.new_bytes, got.out_of_order, got.completed)
        };
        let keeps = config.recovery == Recovery::Irn;
        assert_eq!(take(1000, 1000), (if keeps { 1000 } else { 0 }, false, false));
        assert_eq!(take(0, 1000), (1000, true, false));
        assert_eq!(take(1000, 1000), (if keeps { 0 } else { 1000 }, false, false));
        assert_eq!(take(2000, 500), (500, false, true));
        assert_eq!(take(2000, 500), (0, false, false));
        assert!(r.is_complete());
    }
}

#[test]
fn marks_become_cnps_at_most_once_in_the_interval() {
    let cnp = |config: &RdmaConfig, r: &mut RdmaReceiver, us: u64, n: u64, ce: bool| {
        read(&r.on_data(config, Time(us * 1_000_000), &packet(n * MSS, MSS, ce))).unwrap().cnp
    };
    let (config, mut r) = (go_back_n(), RdmaReceiver::new(8 * MSS));
    assert_eq!([true, true, false].map(|ce| cnp(&config, &mut r, 0, 0, ce)), [true, true, false]);
    for recovery in [Recovery::GoBackN, Recovery::Irn] {
        let (config, mut r) = (RdmaConfig::spacing_cnps(recovery), RdmaReceiver::new(8 * MSS));
        assert!(!cnp(&config, &mut r, 0, 0, false), "no mark, no CNP");
        assert!(cnp(&config, &mut r, 1, 1, true));
        assert!(!cnp(&config, &mut r, 50, 2, true));
        assert!(cnp(&config, &mut r, 51, 3, true));
        assert!(!cnp(&config, &mut r, 102, 5, false), "out of order is no congestion here");
    }
}
