//! The interface that the layers around a TCP sender need, with or without selective acknowledgements: the handshake
//! (`opening.rs`) and the subflows of MPTCP (`mptcp/`).

use super::config::TcpConfig;
use super::contract::{Answer, Counts};
use super::sack::Sack;
use super::tcp::sack::{Expired, SackSender};
use super::tcp::{AckOutcome, Segment, TcpSender};
use spinewise_policy::time::Time;

/// A sender on a connection that is open.
pub trait Stream: Sized {
    /// A sender on a connection on which `tcp` has sent nothing yet.
    fn over(config: &TcpConfig, tcp: TcpSender) -> Self;

    /// Window, estimate and counters.
    fn tcp(&self) -> &TcpSender;

    /// Whether [`Self::next_segment`] may be called.
    fn can_send(&self, config: &TcpConfig) -> bool;

    /// The time from which it may; [`Time::NEVER`] if it has nothing that may go.
    #[inline(always)]
    fn may_send_from(&self, config: &TcpConfig) -> Time {
        if self.can_send(config) { Time::ZERO } else { Time::NEVER }
    }

    /// Whether the data it would return has been sent before.
    fn repeats(&self) -> bool;

    /// Takes the next segment.
    fn next_segment(&mut self, config: &TcpConfig, now: Time) -> Segment;

    /// Takes an acknowledgement and its SACK option.
    fn on_ack(&mut self, config: &TcpConfig, now: Time, ack: &Answer, sack: impl FnOnce() -> Sack) -> AckOutcome;

    /// When the next timer expires, if one runs.
    fn deadline(&self) -> Option<Time>;

    /// A timer has expired. See [`super::contract::Sender::on_timeout`].
    fn on_timeout(&mut self, config: &TcpConfig, now: Time) -> Option<u64>;

    /// See [`TcpSender::resize`].
    fn resize(&mut self, config: &TcpConfig, size: u64);

    /// See [`TcpSender::couple`].
    fn couple(&mut self, window: u64);

    /// Segments retransmitted although they had arrived, as far as the sender knows.
    fn spurious_retransmits(&self) -> u32 {
        0
    }

    /// Adds its counts.
    fn add_counts(&self, counts: &mut Counts) {
        let tcp = self.tcp();
        counts.packets += tcp.packets();
        counts.retransmits += tcp.retransmits();
        counts.timeouts += tcp.timeouts();
        counts.fast_retransmits += tcp.fast_retransmits();
        counts.dupack3_events += tcp.dupack3_events();
        counts.spurious_retransmits += self.spurious_retransmits();
    }
}

impl Stream for TcpSender {
    fn over(_: &TcpConfig, tcp: TcpSender) -> Self {
        tcp
    }

    fn tcp(&self) -> &TcpSender {
        self
    }

    #[inline(always)]
    fn can_send(&self, config: &TcpConfig) -> bool {
        self.can_send(config)
    }

    fn repeats(&self) -> bool {
        self.repeats()
    }

    #[inline(always)]
    fn next_segment(&mut self, config: &TcpConfig, now: Time) -> Segment {
        self.next_segment(config, now)
    }

    #[inline(always)]
    fn on_ack(&mut self, config: &TcpConfig, now: Time, ack: &Answer, _: impl FnOnce() -> Sack) -> AckOutcome {
        self.on_ack(config, now, ack)
    }

    #[inline(always)]
    fn deadline(&self) -> Option<Time> {
        self.deadline()
    }

    fn on_timeout(&mut self, config: &TcpConfig, now: Time) -> Option<u64> {
        self.on_timeout(config, now);
        Some(self.acked())
    }

    fn resize(&mut self, _: &TcpConfig, size: u64) {
        self.resize(size);
    }

    fn couple(&mut self, window: u64) {
        self.couple(window);
    }
}

impl Stream for SackSender {
    fn over(config: &TcpConfig, tcp: TcpSender) -> Self {
        SackSender::new(config, tcp)
    }

    fn tcp(&self) -> &TcpSender {
        self.tcp()
    }

    #[inline(always)]
    fn can_send(&self, _: &TcpConfig) -> bool {
        self.can_send()
    }

    fn repeats(&self) -> bool {
        self.repeats()
    }

    #[inline(always)]
    fn next_segment(&mut self, config: &TcpConfig, now: Time) -> Segment {
        self.next_segment(config, now)
    }

    #[inline(always)]
    fn on_ack(&mut self, config: &TcpConfig, now: Time, ack: &Answer, sack: impl FnOnce() -> Sack) -> AckOutcome {
        self.on_ack(config, now, ack, &sack())
    }

    #[inline(always)]
    fn deadline(&self) -> Option<Time> {
        self.deadline()
    }

    fn on_timeout(&mut self, config: &TcpConfig, now: Time) -> Option<u64> {
        match self.on_timeout(config, now) {
            Expired::Timeout => Some(self.tcp().acked()),
            Expired::Other => None,
        }
    }

    fn resize(&mut self, config: &TcpConfig, size: u64) {
        self.resize(config, size);
    }

    fn couple(&mut self, window: u64) {
        self.couple(window);
    }

    fn spurious_retransmits(&self) -> u32 {
        self.spurious_retransmits()
    }
}
