//! Queries about a TCP sender.

use super::TcpSender;
use crate::transport::config::TcpConfig;
use spinewise_policy::time::{Span, Time};

impl TcpSender {
    /// When the retransmission timer expires, while data is outstanding.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::NEVER).then_some(self.deadline)
    }

    /// Whether everything is acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.snd_una == self.size
    }

    /// The congestion window, bytes; inflated during fast recovery.
    pub fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    /// The slow-start threshold, bytes ([`u64::MAX`] = unlimited).
    pub fn ssthresh(&self) -> u64 {
        self.window.ssthresh
    }

    /// The flow now has `size` bytes, no fewer than have been sent: a subflow of MPTCP learns its share as it goes.
    pub fn resize(&mut self, size: u64) {
        debug_assert!(size >= self.snd_max, "more has been sent");
        self.size = size;
    }

    /// Makes the window grow in congestion avoidance as one of `window` bytes would, if that is larger (RFC 6356).
    pub fn couple(&mut self, window: u64) {
        self.control.couple(window);
    }

    /// Whether an acknowledgement would let the window grow by congestion avoidance.
    pub fn avoids_congestion(&self) -> bool {
        !self.in_recovery && self.window.cwnd >= self.window.ssthresh
    }

    /// The least time between two packets that the congestion control requires.
    pub fn gap(&self, config: &TcpConfig) -> Span {
        self.control.gap(&config.control)
    }

    /// One past the last byte ever sent.
    pub fn sent(&self) -> u64 {
        self.snd_max
    }

    /// Whether the segment that [`Self::next_segment`] would return has been sent before.
    pub fn repeats(&self) -> bool {
        self.retransmit_due || self.snd_nxt < self.snd_max
    }

    /// FlightSize of RFC 5681: bytes sent and not acknowledged, since the last timeout.
    #[inline]
    pub fn flight(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }

    /// Bytes acknowledged.
    pub fn acked(&self) -> u64 {
        self.snd_una
    }

    /// Whether the sender is in fast recovery.
    pub fn in_recovery(&self) -> bool {
        self.in_recovery
    }

    /// The smoothed round-trip time, if there has been a sample.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.srtt()
    }

    /// Data packets sent, retransmissions included.
    pub fn packets(&self) -> u32 {
        self.packets
    }

    /// Segments sent again.
    pub fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// Expiries of the retransmission timer, that of the SYN included.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Fast recoveries entered.
    pub fn fast_retransmits(&self) -> u32 {
        self.fast_retransmits
    }

    /// Times the third duplicate ACK in a row arrived, whatever the reaction.
    pub fn dupack3_events(&self) -> u32 {
        self.dupack3_events
    }
}
