//! The small congestion controls used in studies of packet spraying: one packet more per round trip without marks, a
//! fraction of each marked packet less.
//!
//! Source: a summary of uet-htsim's "dctcp" and of the REPS artifact's "mprdma" (`uec.cpp`); neither is DCTCP or
//! MP-RDMA as in their papers.

use super::{About, Acked, Controller, NoKeys, Start, Trimmed, Window, nscc};

/// User documentation of the one that takes a third of a marked packet.
pub(super) const THIRD: About = About {
    about: "the window grows by a packet per round trip and shrinks by a third of each marked packet",
    source: "uet-htsim (uec.cpp, its dctcp), second-hand",
};

/// User documentation of the one that takes a quarter.
pub(super) const QUARTER: About = About {
    about: "the window grows by a packet per round trip and shrinks by a quarter of each marked packet",
    source: "the REPS artifact (uec.cpp, its mprdma), second-hand",
};

/// A window that falls by one `PART`th of the marked bytes.
#[derive(Clone, Copy, Debug)]
pub struct PerMark<const PART: u64> {
    mtu: u64,
    most: u64,
}

impl<const PART: u64> Controller for PerMark<PART> {
    type Config = NoKeys;

    fn new(_: &NoKeys, start: &Start) -> Self {
        let most = nscc::window_of(nscc::bdp(start.base_rtt, start.rate)) as u64;
        PerMark { mtu: u64::from(start.frame.mtu()), most }
    }

    fn open(&mut self, _: &NoKeys, window: &mut Window, _: u64) {
        window.cwnd = self.most;
    }

    fn marks(_: &NoKeys) -> super::Marks {
        super::Marks::Counted
    }

    fn on_ack(&mut self, _: &NoKeys, window: &mut Window, ack: &Acked) {
        window.cwnd = match ack.marked {
            // uet-htsim has no bound here; the artifact has that of the first window.
            false if PART == 3 => window.cwnd + ack.bytes * self.mtu / window.cwnd,
            false => (window.cwnd + ack.bytes * self.mtu / window.cwnd).min(self.most),
            true => window.cwnd.saturating_sub(ack.bytes / PART).max(self.mtu),
        };
    }

    fn on_trim(&mut self, _: &NoKeys, window: &mut Window, trim: &Trimmed) {
        window.cwnd = window.cwnd.saturating_sub(trim.bytes).max(self.mtu);
    }
}
