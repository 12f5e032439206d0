//! A TCP sender's reaction to marks and losses: fast retransmit and fast recovery of RFC 5681, with the changes of RFC
//! 6582.

use super::{AckOutcome, Cut, TcpSender};
use crate::transport::config::{Recovery, TcpConfig};
use crate::transport::congestion::window::Control;
use crate::transport::congestion::{Marks, Window};
use spinewise_policy::time::Time;

/// What a cut of the window changes, as it was before the cut.
#[derive(Clone, Debug)]
pub(super) struct BeforeCut {
    window: Window,
    control: Control,
    cut: Cut,
    reduced_until: u64,
    cwr_due: bool,
}

impl TcpSender {
    /// The state to return to if the cut that follows turns out to be wrong.
    pub(super) fn before_cut(&self) -> BeforeCut {
        let (window, control) = (self.window, self.control.clone());
        BeforeCut { window, control, cut: self.cut, reduced_until: self.reduced_until, cwr_due: self.cwr_due }
    }

    /// The cut was wrong (RFC 4015 §3.2): nothing was lost but time. The next mark counts again, and a CWR that has not
    /// been sent is withdrawn.
    pub(super) fn take_back(&mut self, before: &BeforeCut) {
        if self.window.cwnd < before.window.cwnd {
            self.control.undo(&before.control); // RFC 9438 §4.9.2; else it has grown beyond
        }
        self.window.cwnd = self.window.cwnd.max(before.window.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(before.window.ssthresh);
        (self.cut, self.reduced_until) = (before.cut, before.reduced_until);
        self.cwr_due &= before.cwr_due;
    }

    /// Whether what was sent before a mark cut the window is still on its way: Linux's state CWR.
    pub(super) fn is_cut_by_mark(&self) -> bool {
        self.cut == Cut::ByMark && self.snd_una < self.reduced_until
    }

    /// A marked ACK outside recovery. It does not let the window grow (RFC 3168 §6.1.2).
    pub(super) fn on_mark(&mut self, config: &TcpConfig, now: Time) {
        if !self.may_reduce() {
            return;
        }
        // No lower than two segments, as in RFC 5681 eq. (4) for losses.
        let floor = 2 * u64::from(config.mss);
        let before = self.window.cwnd;
        self.control.on_mark(&config.control, &mut self.window, now);
        self.cwr_due |= config.marks() == Marks::Repeated;
        self.window.cwnd = self.window.cwnd.max(floor).min(before);
        self.window.ssthresh = self.window.cwnd.max(floor);
        self.cut = Cut::ByMark;
        self.reduced_until = self.snd_max;
        self.control.restart();
    }

    /// A duplicate ACK.
    pub(super) fn on_duplicate(&mut self, config: &TcpConfig, now: Time, ece: bool, out: &mut AckOutcome) {
        out.dupack3 = self.count_duplicate();
        if self.in_recovery {
            self.window.cwnd += u64::from(config.mss); // RFC 5681 §3.2 step 4
            return;
        }
        if ece {
            self.on_mark(config, now);
        }
        // RFC 6582 §3.2 step 2: not for duplicates that our own going back may have caused. Before
        // the first loss there can be none, so a lost first segment is repaired too. Reno has no such rule.
        let fresh = self.recover == 0 || self.snd_una > self.recover || config.recovery == Recovery::Reno;
        if self.dupacks == config.dupack_threshold && fresh {
            self.enter_recovery(config, now);
            out.entered_recovery = true;
        }
    }

    /// Counts a duplicate ACK. Returns whether it is the third in a row.
    #[inline]
    pub(super) fn count_duplicate(&mut self) -> bool {
        self.dupacks = self.dupacks.saturating_add(1);
        let third = self.dupacks == 3;
        self.dupack3_events += u32::from(third);
        third
    }

    /// RFC 5681 §3.2 steps 2 and 3, RFC 6582 §3.2 step 2.
    pub(super) fn enter_recovery(&mut self, config: &TcpConfig, now: Time) {
        self.window.ssthresh = self.threshold(config, now);
        self.window.cwnd = self.window.ssthresh + u64::from(config.dupack_threshold) * u64::from(config.mss);
        self.mark_loss();
        self.in_recovery = true;
        self.retransmit_due = true;
        self.fast_retransmits += 1;
    }

    /// An ACK of `acked` new bytes during recovery (RFC 6582 §3.2 step 3). Returns whether it restarts the timer.
    pub(super) fn on_ack_in_recovery(&mut self, config: &TcpConfig, acked: u64) -> bool {
        let mss = u64::from(config.mss);
        if config.recovery == Recovery::Reno {
            // RFC 5681 §3.2 step 6: any new data ends it, whatever else is missing
            self.window.cwnd = self.window.ssthresh;
            self.leave_recovery();
            return true;
        }
        if self.snd_una >= self.recover {
            // A full acknowledgement, option (1).
            self.window.cwnd = self.window.ssthresh.min(self.flight().max(mss) + mss);
            self.leave_recovery();
            return true;
        }
        // A partial one: the next hole is lost as well. Deflate by the bytes acknowledged, and add back one segment.
        self.retransmit_due = true;
        let back = if acked >= mss { mss } else { 0 };
        self.window.cwnd = (self.window.cwnd.saturating_sub(acked) + back).max(mss);
        std::mem::replace(&mut self.cut, Cut::PartlyRepaired) != Cut::PartlyRepaired
    }

    pub(super) fn leave_recovery(&mut self) {
        self.in_recovery = false;
        self.retransmit_due = false;
    }

    /// Records a loss: `recover` of RFC 6582, and that this window of data has had its reaction.
    pub(super) fn mark_loss(&mut self) {
        self.recover = self.snd_max;
        self.cut = Cut::ByLoss;
        self.reduced_until = self.snd_max;
        self.control.restart();
        self.cwr_due = true; // RFC 3168 §6.1.2: for whatever reason
    }

    /// The slow-start threshold after a loss, at least 2 SMSS. For Reno max(FlightSize / 2, 2 SMSS), RFC 5681 eq. (4),
    /// without what limited transmit has added (step 2 of §3.2).
    ///
    /// With selective acknowledgements all that is sent for what has arrived out of order is limited transmit (RFC 6675
    /// §5 step 4.2): without it no more than a window is in flight, which is what Linux halves.
    pub(super) fn threshold(&mut self, config: &TcpConfig, now: Time) -> u64 {
        let mss = u64::from(config.mss);
        let flight = if config.recovery.has_sack() {
            self.flight().min(self.window.cwnd)
        } else {
            self.flight().saturating_sub(u64::from(self.limited) * mss)
        };
        self.control.on_loss(&config.control, &self.window, flight, now).max(2 * mss)
    }
}
