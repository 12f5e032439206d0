//! Timeouts of SYNs, and what opens a connection.

use super::*;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn syn_timeouts_double_up_to_the_bound() {
    let config = TcpConfig { syn_timeout: Span::from_us(100), max_rto: Span::from_us(500), ..TcpConfig::datacenter() };
    let mut opening = Opening::default();
    let mut now = us(7);
    for (n, wait) in [100, 200, 400, 500, 500].into_iter().enumerate() {
        assert_eq!(opening.next(&config, now), Some(Greeting::Syn { again: n > 0 }));
        assert!(!opening.may_send());
        assert_eq!(opening.deadline(), Some(now + Span::from_us(wait)));
        now += Span::from_us(wait);
        opening.on_timeout();
        assert_eq!((opening.deadline(), opening.timeouts()), (None, n as u32 + 1));
    }
}

#[test]
fn the_answer_is_a_sample_and_opens() {
    let config = TcpConfig { min_rto: Span::ZERO, ..TcpConfig::datacenter() };
    let mut opening = Opening::default();
    opening.next(&config, us(0));
    opening.on_syn_ack(Span::from_us(80));
    // A second SYN-ACK changes nothing.
    opening.on_syn_ack(Span::from_us(300));
    assert_eq!(opening.next(&config, us(80)), Some(Greeting::Ack));
    assert_eq!((opening.next(&config, us(80)), opening.deadline()), (None, None));
    let mut sender = opening.sender(&config, &Start::sized(100_000));
    assert_eq!((sender.srtt(), sender.timeouts(), sender.cwnd()), (Some(Span::from_us(80)), 0, 14_600));
    // RFC 6298 (2.2): SRTT 80, RTTVAR 40: the first timeout after 240 us.
    sender.next_segment(&config, us(80));
    assert_eq!(sender.deadline(), Some(us(320)));
}

#[test]
fn a_lost_syn_costs_the_initial_window() {
    let config = TcpConfig::datacenter();
    let mut opening = Opening::default();
    opening.next(&config, us(0));
    opening.on_timeout();
    opening.next(&config, us(10_000));
    opening.on_syn_ack(Span::from_us(80));
    let sender = opening.sender(&config, &Start::sized(100_000));
    assert_eq!((sender.cwnd(), sender.timeouts(), sender.packets()), (1460, 1, 0));
}
