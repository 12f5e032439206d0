//! The sender's side of DCTCP (RFC 8257 §3.3): the estimate of the marked fraction, and the cut.
//!
//! Only `+ - * /` on `f64` are used, which round the same on every machine.

use super::config::TcpConfig;

/// DCTCP.Alpha with its observation window, and the window in which a cut has been made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dctcp {
    alpha: f64,
    /// DCTCP.WindowEnd: the estimate is renewed by the first ACK beyond.
    window_end: u64,
    acked: u64,
    marked: u64,
    /// The next reaction to marks needs an ACK beyond this byte.
    reduced_until: u64,
}

impl Dctcp {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self { alpha: config.dctcp_initial_alpha, window_end: 0, acked: 0, marked: 0, reduced_until: 0 }
    }

    /// Counts `newly_acked` bytes that an ACK up to `cumulative` brought; `snd_nxt` is the next
    /// byte to be sent.
    #[inline]
    pub(super) fn count(&mut self, g: f64, newly_acked: u64, ece: bool, cumulative: u64, snd_nxt: u64) {
        // RFC 8257 §3.3 steps 1 to 3
        self.acked += newly_acked;
        if ece {
            self.marked += newly_acked;
        }
        // step 4
        if cumulative <= self.window_end {
            return;
        }
        // steps 5 and 6
        let m = self.marked as f64 / self.acked as f64;
        self.alpha = self.alpha * (1.0 - g) + g * m;
        // steps 7 and 8
        self.window_end = snd_nxt;
        self.acked = 0;
        self.marked = 0;
    }

    /// Whether an ACK up to `cumulative` may cut the window: one reaction for each window of data
    /// (RFC 8257 §3.3, as RFC 3168 §6.1.2).
    #[inline]
    pub(super) fn may_reduce(&self, cumulative: u64) -> bool {
        cumulative > self.reduced_until
    }

    /// Notes that the window has been cut, by marks or by a loss, while `snd_nxt` was next.
    #[inline]
    pub(super) fn reduced(&mut self, snd_nxt: u64) {
        self.reduced_until = snd_nxt;
    }

    /// `cwnd * (1 - DCTCP.Alpha / 2)` in whole bytes (RFC 8257 §3.3 step 9).
    pub(super) fn cut(&self, cwnd: u64) -> u64 {
        (cwnd as f64 * (1.0 - self.alpha / 2.0)) as u64
    }

    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_follows_the_marked_fraction_of_each_window() {
        let mut d = Dctcp::new(&TcpConfig { dctcp_initial_alpha: 0.0, ..TcpConfig::datacenter() });
        // The first ACK lies beyond the empty first window and closes it: M = 0.
        d.count(0.25, 1000, false, 1000, 4000);
        assert_eq!((d.alpha(), d.window_end), (0.0, 4000));
        // Four segments up to 5000: 4000 still belongs to the window, 5000 closes it. M = 2/4.
        for (cumulative, ece) in [(2000, true), (3000, false), (4000, true)] {
            d.count(0.25, 1000, ece, cumulative, 8000);
            assert_eq!(d.alpha(), 0.0);
        }
        d.count(0.25, 1000, false, 5000, 9000);
        assert_eq!((d.alpha(), d.window_end), (0.125, 9000));
        // Everything marked: 3/4 * 1/8 + 1/4 = 11/32. One ACK of many bytes counts by bytes.
        d.count(0.25, 5000, true, 10_000, 12_000);
        assert_eq!(d.alpha(), 0.343_75);
        // 1 of 3 kB marked: 3/4 * 11/32 + 1/4 * 1/3.
        d.count(0.25, 1000, true, 11_000, 14_000);
        d.count(0.25, 2000, false, 13_000, 15_000);
        assert_eq!(d.alpha(), 0.343_75 * 0.75 + 0.25 * (1.0 / 3.0));
    }

    #[test]
    fn the_cut_is_by_half_of_alpha() {
        let mut d = Dctcp::new(&TcpConfig::datacenter());
        assert_eq!(d.cut(10_001), 5000);
        d.alpha = 0.25;
        assert_eq!(d.cut(16_000), 14_000);
        d.alpha = 0.0;
        assert_eq!(d.cut(16_000), 16_000);
    }

    #[test]
    fn one_reaction_per_window() {
        let mut d = Dctcp::new(&TcpConfig::datacenter());
        assert!(d.may_reduce(1));
        d.reduced(5000);
        assert!(!d.may_reduce(5000));
        assert!(d.may_reduce(5001));
    }
}
