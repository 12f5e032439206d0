//! DCTCP at the sender (RFC 8257 §3.3): an estimate of the marked fraction, and a cut of the window by half of it.
//!
//! Only `+ - * /` on `f64` are used, which round the same on every machine.

use super::reno::Reno;
use super::{About, Acked, Controller, Marks, Start, Window};
use crate::keys::{Default, Kind, keys};
use spinewise_policy::time::Time;

/// Its user documentation.
pub(super) const ABOUT: About =
    About { about: "NewReno for losses; ECN marks cut the window by the marked fraction", source: "RFC 8257" };

keys! {
    /// The parameters of DCTCP.
    #[derive(PartialEq)]
    Config {
        /// Weight g of a new window in DCTCP's estimate of the marked fraction (RFC 8257 section 4.2).
        g as "dctcp_g": f64, Kind::Positive { max: 1.0 }, Default::Number(1.0 / 16.0);
        /// DCTCP's estimate before the first window ends (RFC 8257 section 4.2).
        initial_alpha as "dctcp_initial_alpha": f64, Kind::Number { min: 0.0, max: 1.0 }, Default::Number(1.0);
    }
}

/// DCTCP.Alpha with its observation window.
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    alpha: f64,
    /// DCTCP.WindowEnd: the first ACK beyond it renews the estimate.
    window_end: u64,
    acked: u64,
    marked: u64,
    reno: Reno,
}

impl Controller for Dctcp {
    type Config = Config;

    fn new(config: &Config, _: &Start) -> Self {
        Self { alpha: config.initial_alpha, window_end: 0, acked: 0, marked: 0, reno: Reno::default() }
    }

    fn marks(_: &Config) -> Marks {
        Marks::Counted
    }

    #[inline(always)]
    fn on_ack(&mut self, config: &Config, _: &mut Window, ack: &Acked) {
        // RFC 8257 §3.3 steps 1 to 3
        self.acked += ack.bytes;
        if ack.marked {
            self.marked += ack.bytes;
        }
        // step 4
        if ack.cumulative <= self.window_end {
            return;
        }
        // steps 5 and 6
        let m = self.marked as f64 / self.acked as f64;
        self.alpha = self.alpha * (1.0 - config.g) + config.g * m;
        // steps 7 and 8
        self.window_end = ack.next;
        self.acked = 0;
        self.marked = 0;
    }

    #[inline(always)]
    fn grow(&mut self, _: &Config, window: &mut Window, ack: &Acked) {
        self.reno.count(window, window.cwnd, ack);
    }

    fn on_mark(&mut self, _: &Config, window: &mut Window, _: Time) {
        window.cwnd = self.cut(window.cwnd); // RFC 8257 §3.3 step 9
    }

    fn restart(&mut self) {
        self.reno.restart();
    }
}

impl Dctcp {
    /// `cwnd * (1 - DCTCP.Alpha / 2)` in whole bytes (RFC 8257 §3.3 step 9).
    fn cut(&self, cwnd: u64) -> u64 {
        (cwnd as f64 * (1.0 - self.alpha / 2.0)) as u64
    }

    /// The estimate.
    #[cfg(test)]
    pub(crate) fn alpha(&self) -> f64 {
        self.alpha
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spinewise_policy::time::Span;

    /// A sender that estimates with g = 1/4 from `alpha` on, and receives acknowledgements.
    struct Told(Config, Dctcp);

    impl Told {
        fn new(initial_alpha: f64) -> Self {
            let config = Config { g: 0.25, initial_alpha };
            let dctcp = Dctcp::new(&config, &Start::default());
            Told(config, dctcp)
        }

        fn count(&mut self, bytes: u64, marked: bool, cumulative: u64, next: u64) {
            let (now, rtt, mut window) = (Time::ZERO, Span::ZERO, Window { cwnd: 0, ssthresh: 0 });
            let recovering = false;
            let ack = Acked { now, bytes, cumulative, next, marked, recovering, mss: 1000, rtt, srtt: rtt };
            self.1.on_ack(&self.0, &mut window, &ack);
        }
    }

    #[test]
    fn alpha_follows_the_marked_fraction_of_each_window() {
        let mut d = Told::new(0.0);
        // The first ACK lies beyond the empty first window and closes it: M = 0.
        d.count(1000, false, 1000, 4000);
        assert_eq!((d.1.alpha, d.1.window_end), (0.0, 4000));
        // Four segments up to 5000: 4000 still belongs to the window, 5000 closes it. M = 2/4.
        for (cumulative, ece) in [(2000, true), (3000, false), (4000, true)] {
            d.count(1000, ece, cumulative, 8000);
            assert_eq!(d.1.alpha, 0.0);
        }
        d.count(1000, false, 5000, 9000);
        assert_eq!((d.1.alpha, d.1.window_end), (0.125, 9000));
        // Everything marked: 3/4 * 1/8 + 1/4 = 11/32. One ACK of many bytes counts by bytes.
        d.count(5000, true, 10_000, 12_000);
        assert_eq!(d.1.alpha, 0.343_75);
        // 1 of 3 kB marked: 3/4 * 11/32 + 1/4 * 1/3.
        d.count(1000, true, 11_000, 14_000);
        d.count(2000, false, 13_000, 15_000);
        assert_eq!(d.1.alpha, 0.343_75 * 0.75 + 0.25 * (1.0 / 3.0));
    }

    #[test]
    fn the_cut_is_by_half_of_alpha() {
        let mut d = Told::new(1.0).1;
        assert_eq!(d.cut(10_001), 5000);
        d.alpha = 0.25;
        assert_eq!(d.cut(16_000), 14_000);
        d.alpha = 0.0;
        assert_eq!(d.cut(16_000), 16_000);
    }
}
