//! Congestion avoidance of RFC 5681: one segment for each window acknowledged.
//!
//! `newreno` and `reno` share it: they differ by their loss recovery ([`crate::transport::config::Recovery`]).

use super::{About, Acked, Controller, NoKeys, Start, Window};

/// `kind = "newreno"`.
pub(super) const NEWRENO: About = About { about: "TCP NewReno without ECN", source: "RFC 5681, RFC 6582, RFC 6298" };
/// `kind = "reno"`.
pub(super) const RENO: About =
    About { about: "TCP Reno without ECN: no partial acknowledgements", source: "RFC 5681, RFC 6298" };

/// Bytes acknowledged towards the next step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno {
    acked: u64,
}

impl Reno {
    /// RFC 5681 §3.1, the recommended way: count bytes, one segment for each `window` of them.
    #[inline(always)]
    pub(super) fn count(&mut self, window: &mut Window, each: u64, ack: &Acked) {
        self.acked += ack.bytes;
        if self.acked >= each {
            self.acked -= each;
            window.cwnd += ack.mss;
        }
    }
}

impl Controller for Reno {
    type Config = NoKeys;

    fn new(_: &NoKeys, _: &Start) -> Self {
        Self::default()
    }

    #[inline(always)]
    fn grow(&mut self, _: &NoKeys, window: &mut Window, ack: &Acked) {
        self.count(window, window.cwnd, ack);
    }

    fn restart(&mut self) {
        self.acked = 0;
    }
}
