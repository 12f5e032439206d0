//! Opening a connection, at the end that opens it: the three-way handshake of RFC 9293 §3.5.
//!
//! A SYN goes out at the start of the flow, again after each timeout; the SYN-ACK brings the first round-trip sample; its
//! acknowledgement leaves right before the first data. The other end keeps no state: each SYN is answered by a SYN-ACK,
//! and one that is lost is repaired by the next SYN. What is sent lives here until the first data may go; then
//! [`Opening::sender`] makes the sender, so that a sender knows nothing of handshakes.

use super::Greeting;
use super::config::TcpConfig;
use super::tcp::TcpSender;
use spinewise_policy::time::{Span, Time};

/// A connection that is not open yet.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// What is to be sent now.
    due: Option<Greeting>,
    /// When the next SYN is due, [`Time::NEVER`] if none is awaiting its answer.
    deadline: Time,
    /// Round-trip time of the SYN that was answered.
    rtt: Span,
    timeouts: u32,
    /// It joins a connection: its acknowledgement is to be acknowledged before it is open.
    joins: bool,
}

impl Default for Opening {
    fn default() -> Self {
        let due = Some(Greeting::Syn { again: false });
        Opening { due, deadline: Time::NEVER, rtt: Span::ZERO, timeouts: 0, joins: false }
    }
}

impl Opening {
    /// A further subflow of an MPTCP connection (RFC 8684 §3.2), which waits for [`Self::begin`].
    pub fn joining() -> Self {
        Opening { due: None, joins: true, ..Opening::default() }
    }

    /// One that waits may begin; any other has.
    pub fn begin(&mut self) {
        if self.due.is_none() && self.deadline == Time::NEVER && self.rtt == Span::ZERO {
            self.due = Some(Greeting::Syn { again: false });
        }
    }

    /// Whether [`Self::next`] has something to send.
    pub fn may_send(&self) -> bool {
        self.due.is_some()
    }

    /// Takes what is to be sent at `now`, if anything.
    pub fn next(&mut self, config: &TcpConfig, now: Time) -> Option<Greeting> {
        let due = self.due.take();
        // RFC 8684 §3.2: the third packet of MP_JOIN is sent again until it is acknowledged.
        if matches!(due, Some(Greeting::Syn { .. })) || due == Some(Greeting::Ack) && self.joins {
            // RFC 6298 (5.5): doubled for each expiry, and (2.5) bounded.
            let timeout = config.syn_timeout.0.saturating_mul(1 << self.timeouts.min(40));
            self.deadline = now + Span(timeout.min(config.max_rto.0.max(config.syn_timeout.0)));
        }
        due
    }

    /// A SYN-ACK arrived; its SYN was sent `rtt` ago. Only the first one counts.
    pub fn on_syn_ack(&mut self, rtt: Span) {
        if self.rtt == Span::ZERO {
            self.rtt = Span(rtt.0.max(1));
            self.deadline = Time::NEVER;
            self.due = Some(Greeting::Ack);
        }
    }

    /// When the next SYN is due, while one awaits its answer.
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// Nobody answered in time.
    pub fn on_timeout(&mut self) {
        self.deadline = Time::NEVER;
        self.timeouts += 1;
        let answered = self.rtt > Span::ZERO;
        self.due = Some(if answered { Greeting::Ack } else { Greeting::Syn { again: true } });
    }

    /// Is it open once [`Greeting::Ack`] has been sent?
    pub fn opens_at_once(&self) -> bool {
        !self.joins
    }

    /// An acknowledgement of [`Greeting::Ack`] arrived: is it open now?
    pub fn on_confirmed(&self) -> bool {
        self.joins && self.rtt > Span::ZERO
    }

    /// SYNs, and third packets of MP_JOIN, given up waiting for an answer of.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// The sender of a flow of `size` bytes over the connection, once [`Greeting::Ack`] has been sent.
    pub fn sender(&self, config: &TcpConfig, size: u64) -> TcpSender {
        TcpSender::opened(config, size, self.rtt, self.timeouts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn syn_timeouts_double_up_to_the_bound() {
        let config =
            TcpConfig { syn_timeout: Span::from_us(100), max_rto: Span::from_us(500), ..TcpConfig::datacenter() };
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
        // A second SYN-ACK says nothing.
        opening.on_syn_ack(Span::from_us(300));
        assert_eq!(opening.next(&config, us(80)), Some(Greeting::Ack));
        assert_eq!((opening.next(&config, us(80)), opening.deadline()), (None, None));
        let mut sender = opening.sender(&config, 100_000);
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
        let sender = opening.sender(&config, 100_000);
        assert_eq!((sender.cwnd(), sender.timeouts(), sender.packets()), (1460, 1, 0));
    }
}
