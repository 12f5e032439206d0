//! Rules in which the public ns-3 code of Hermes (snowzjx/ns3-load-balance, `tcp-socket-base`, `tcp-dctcp`,
//! `tcp-congestion-ops`) differs from the RFCs. Each is a parameter of [`TcpConfig`].

use super::{Cut, TcpSender};
use crate::transport::config::TcpConfig;

/// A cut by marks that lasts until the segment that tells of it is acknowledged (`CA_CWR` of that code).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    /// The next new segment is to tell of a cut. Until then marks count for nothing.
    pub(super) queued: bool,
    /// A segment has told of a cut, and no cut has ended since.
    pub(super) told: bool,
}

impl Reduction {}

impl TcpSender {
    /// A new segment from byte `seq` on is sent. Does it tell of a cut?
    pub(super) fn announces_cut(&mut self, seq: u64) -> bool {
        let tells = std::mem::take(&mut self.reduction.queued);
        if tells {
            self.reduction.told = true;
            self.dctcp.reduced(seq);
        }
        tells
    }

    /// An acknowledgement of new data up to `cumulative` arrives during a cut. Does it end it?
    pub(super) fn ends_cut(&mut self, cumulative: u64) -> bool {
        let ends = self.reduction.told && self.dctcp.may_reduce(cumulative);
        self.reduction.told &= !ends;
        ends
    }

    /// A marked ACK, before anything else is done about it. It cuts the window by the estimate, but not during a recovery,
    /// before the answer to a timeout, or while an earlier cut lasts or has not been told of.
    pub(super) fn heed_mark(&mut self, config: &TcpConfig) {
        if self.in_recovery || self.backoff > 0 || self.cut == Cut::ByMark || self.reduction.queued {
            return;
        }
        let half_flight = self.flight_at_loss(config) / 2;
        self.cwnd = self.dctcp.cut(self.cwnd).max(config.mark_floor()).min(self.cwnd);
        self.ssthresh = self.cwnd.max(half_flight);
        self.avoidance_acked = 0;
        self.cut = Cut::ByMark;
        self.reduction.queued = true;
    }

    /// What a loss takes for in flight, bytes: RFC 5681 §3.2 step 2 leaves out what limited transmit has added, RFC 4898
    /// (PipeSize) all that duplicates have told of, and adds what was sent again.
    pub(super) fn flight_at_loss(&self, config: &TcpConfig) -> u64 {
        let mss = u64::from(config.mss);
        if !config.flight_less_duplicates || config.recovery.has_sack() {
            return self.flight().saturating_sub(u64::from(self.limited) * mss);
        }
        let sent = self.flight() + u64::from(self.repeated) * mss;
        sent.saturating_sub(u64::from(self.told) * mss)
    }

    /// An ACK of `acked` new bytes arrives, a partial one or not: its duplicates are over. Returns the segments it tells of
    /// that no duplicate has told of, at least one.
    pub(super) fn forget_duplicates(&mut self, config: &TcpConfig, acked: u64, partial: bool) -> u64 {
        let told = u64::from(self.told);
        let fresh = (acked / u64::from(config.mss)).saturating_sub(told).max(1);
        if partial && config.flight_less_duplicates {
            (self.told, self.repeated) = (told.saturating_sub(fresh) as u16, self.repeated.saturating_sub(1));
        } else {
            (self.told, self.repeated) = (0, 0);
        }
        if partial { 1 } else { fresh }
    }

    /// Lets the window grow by an ACK of `segments`: by one segment in slow start, and beyond it by `mss * mss / cwnd`
    /// bytes, at least one, however many are left.
    pub(super) fn grow_by_acks(&mut self, mss: u64, mut segments: u64) {
        if self.cwnd < self.ssthresh && segments > 0 {
            self.cwnd += mss;
            segments -= 1;
        }
        if self.cwnd >= self.ssthresh && segments > 0 {
            self.cwnd += (mss * mss / self.cwnd).max(1);
        }
    }
}
