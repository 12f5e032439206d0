//! Pacing of TCP: a layer around a sender that spaces packets which the window would release at once.
//!
//! A packet leaves no earlier than a gap after the packet before it. The gap is the longer of two:
//! * The packet's share of a round trip, with `transport.pacing`: its bytes at the rate `cwnd` / SRTT, or at that of
//!   what is in flight if it is more, as in a recovery. The rate is doubled while the window is far below `ssthresh`
//!   and times 1.2 otherwise. So it is in Linux (`tcp_update_pacing_rate`, net.ipv4.tcp_pacing_ss_ratio and
//!   tcp_pacing_ca_ratio; from memory). There is no share before the first sample.
//! * What the congestion control requires ([`Controller::gap`](super::congestion::Controller::gap)).
//!
//! The gap follows the current window, so an acknowledgement moves a packet that already waits. Retransmissions and
//! probes are paced as new data is. Paced flows take turns at the NIC, which skips one that must wait.

use super::config::TcpConfig;
use super::contract::Answer;
use super::sack::Sack;
use super::stream::Stream;
use super::tcp::{AckOutcome, Segment, TcpSender};
use spinewise_policy::time::{Span, Time};

/// A sender whose packets are spaced.
#[derive(Clone, Debug)]
pub struct PacedStream<S> {
    stream: S,
    /// When the last packet left, and its bytes; 0 before the first.
    left: Time,
    bytes: u32,
}

impl<S: Stream> PacedStream<S> {
    /// The time from the last packet to the next.
    fn gap(&self, config: &TcpConfig) -> Span {
        let tcp = self.stream.tcp();
        let asked = tcp.gap(config);
        if config.pacing { asked.max(share(tcp, self.bytes)) } else { asked }
    }
}

/// The share of a round trip that `bytes` take of the window.
fn share(tcp: &TcpSender, bytes: u32) -> Span {
    let percent = if tcp.cwnd() < tcp.ssthresh() / 2 { 200 } else { 120 };
    let srtt = u128::from(tcp.srtt().unwrap_or_default().0);
    let gap = srtt * u128::from(bytes) * 100 / (u128::from(tcp.cwnd().max(tcp.flight()).max(1)) * percent);
    Span(u64::try_from(gap).unwrap_or(u64::MAX))
}

impl<S: Stream> Stream for PacedStream<S> {
    fn over(config: &TcpConfig, tcp: TcpSender) -> Self {
        PacedStream { stream: S::over(config, tcp), left: Time::ZERO, bytes: 0 }
    }

    fn tcp(&self) -> &TcpSender {
        self.stream.tcp()
    }

    fn can_send(&self, config: &TcpConfig) -> bool {
        self.stream.can_send(config)
    }

    fn may_send_from(&self, config: &TcpConfig) -> Time {
        match self.bytes {
            _ if !self.can_send(config) => Time::NEVER,
            0 => Time::ZERO,
            _ => Time(self.left.0.saturating_add(self.gap(config).0).min(LATEST)),
        }
    }

    fn repeats(&self) -> bool {
        self.stream.repeats()
    }

    fn next_segment(&mut self, config: &TcpConfig, now: Time) -> Segment {
        let segment = self.stream.next_segment(config, now);
        (self.left, self.bytes) = (now, segment.len);
        segment
    }

    fn on_ack(&mut self, config: &TcpConfig, now: Time, ack: &Answer, sack: impl FnOnce() -> Sack) -> AckOutcome {
        self.stream.on_ack(config, now, ack, sack)
    }

    fn deadline(&self) -> Option<Time> {
        self.stream.deadline()
    }

    fn on_timeout(&mut self, config: &TcpConfig, now: Time) -> Option<u64> {
        self.stream.on_timeout(config, now)
    }

    fn resize(&mut self, config: &TcpConfig, size: u64) {
        self.stream.resize(config, size);
    }

    fn couple(&mut self, window: u64) {
        self.stream.couple(window);
    }

    fn spurious_retransmits(&self) -> u32 {
        self.stream.spurious_retransmits()
    }
}

/// Just before [`Time::NEVER`].
const LATEST: u64 = Time::NEVER.0 - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::congestion::Start;

    const MSS: u64 = 1000;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// Ten segments of window on a connection whose handshake took 100 us.
    fn ten(initial_ssthresh: u32) -> (TcpConfig, PacedStream<TcpSender>) {
        let config = TcpConfig { mss: MSS as u32, pacing: true, initial_ssthresh, ..TcpConfig::datacenter() };
        let tcp = TcpSender::opened(&config, &Start::sized(1000 * MSS), Span::from_us(100), 0);
        let paced = PacedStream::over(&config, tcp);
        (config, paced)
    }

    /// Returns when packets leave if each goes as soon as it may.
    fn leave(config: &TcpConfig, paced: &mut PacedStream<TcpSender>, mut now: Time) -> Vec<Time> {
        let mut all = Vec::new();
        loop {
            match paced.may_send_from(config) {
                Time::NEVER => return all,
                at => now = now.max(at),
            }
            paced.next_segment(config, now);
            all.push(now);
        }
    }

    #[test]
    fn slow_start_takes_half_a_round_trip_and_then_five_sixths() {
        // 100 us * 1000 / (10,000 * 2), and / (10,000 * 1.2)
        for (ssthresh, gap) in [(0, 5_000_000), (10, 8_333_333)] {
            let (config, mut paced) = ten(ssthresh);
            let expected: Vec<Time> = (0..10).map(|n| us(7) + Span(n * gap)).collect();
            assert_eq!(leave(&config, &mut paced, us(7)), expected);
        }
    }

    #[test]
    fn an_acknowledgement_moves_what_waits() {
        let (config, mut paced) = ten(10);
        paced.next_segment(&config, us(0));
        paced.next_segment(&config, us(10));
        assert_eq!(paced.may_send_from(&config), Time(18_333_333));
        // SRTT = 7/8 * 100 + 20/8 = 90 us.
        let ack = Answer { cumulative: MSS, echo: us(0), ..Answer::default() };
        paced.on_ack(&config, us(20), &ack, Sack::default);
        assert_eq!((paced.tcp().srtt(), paced.tcp().cwnd()), (Some(Span::from_us(90)), 10 * MSS));
        assert_eq!(paced.may_send_from(&config), Time(17_500_000));
    }

    #[test]
    fn without_a_sample_or_without_pacing_packets_go_at_once() {
        let (config, mut paced) = ten(0);
        let off = TcpConfig { pacing: false, ..config.clone() };
        assert_eq!(leave(&off, &mut paced, us(3)), [us(3); 10]);
        let mut fresh = PacedStream::<TcpSender>::over(&config, TcpSender::new(&config, &Start::sized(1000 * MSS)));
        assert_eq!(leave(&config, &mut fresh, us(3)), [us(3); 10]);
    }
}
