//! Swift: a window that holds the round trip at a target, down to a thousandth of a packet.
//!
//! Kumar et al., "Swift: Delay is simple and effective for congestion control in the datacenter", SIGCOMM 2020. The
//! paper's own text was not available beyond its abstract. Algorithm 1 and the equation of the target are second-hand:
//! as in the public htsim (`swift.cpp`), in a public model for INET and quoted in a summary, which agree in all but
//! constants. The minimum window of 0.001 packets is quoted from the paper. The other constants are those of htsim,
//! whose authors call several of them guesses: fit the targets to the fabric.
//!
//! | the paper | here |
//! |---|---|
//! | algorithm 1, on an ACK below the target: additive increase | [`Swift::grow`] |
//! | algorithm 1, on an ACK above it: multiplicative decrease, once per round trip | [`Swift::on_ack`], [`Swift::decrease`] |
//! | algorithm 1, on a retransmission timeout, and in fast recovery | [`Swift::on_timeout`], [`Swift::on_loss`] |
//! | algorithm 1, `pacing_delay`: below one packet | [`Swift::gap`] |
//! | §3.5: the target, scaled by hops and by flows, as indicated by 1 / √`cwnd` | [`Swift::target`] |
//!
//! Departures:
//! * There is one window, that of the fabric. Hosts here take no time that grows with load, so the second window, for
//!   the delay at end hosts, would never be the smaller one. The time they do take is part of the round trip, and of
//!   the target. So would be the delay of a held acknowledgement; delayed acknowledgements are therefore refused with
//!   Swift.
//! * Hops are the switches of a shortest path, known from the start; the paper reads them off each packet's TTL.
//! * The window grows only while it is used, and not in loss recovery, as with every control here. So it needs no bound.
//! * It begins with `initial_window_segments`, without slow start.
//! * A packet that waits for its pacing moves with the window; a NIC that paces in hardware would keep to the instant
//!   it was given.
//! * Delays of single packets are used unsmoothed. (The paper smooths those of end hosts.)
//!
//! Only `+ - * /` and the square root of `f64` are used, which round the same on every machine.

use super::{About, Acked, Controller, Start, Window};
use crate::keys::{Default, Kind, Unit, Zero, keys};
use spinewise_policy::time::{Span, Time};

/// Its user documentation.
pub(super) const ABOUT: About = About {
    about: "Swift: a window, down to 0.001 packets, that keeps the round trip at a target",
    source: "Swift (SIGCOMM 2020) by way of htsim, RFC 6298",
};

keys! {
    /// The parameters of Swift.
    #[derive(PartialEq)]
    Config {
        /// Base target: the target round-trip time without hops and with large windows. It must be longer than the
        /// round trip of an empty fabric.
        base as "swift_base_target_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(20.0);
        /// h: what each switch on the way adds to the target.
        per_hop as "swift_per_hop_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(3.0);
        /// fs_range: the most that small windows, as with many flows, add to the target.
        fs_range as "swift_fs_range_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(100.0);
        /// fs_min_cwnd: at this window, in packets, the whole of fs_range is added.
        fs_min as "swift_fs_min_window": f64, Kind::Number { min: 1e-6, max: 1e6 }, Default::Number(0.1);
        /// fs_max_cwnd: from this window on, in packets, nothing is added.
        fs_max as "swift_fs_max_window": f64, Kind::Number { min: 1e-6, max: 1e6 }, Default::Number(100.0);
        /// ai: additive increase, packets per round trip.
        ai as "swift_ai": f64, Kind::Positive { max: 1e6 }, Default::Number(1.0);
        /// beta: what share of the excess over the target is taken off the window.
        beta as "swift_beta": f64, Kind::Positive { max: 1.0 }, Default::Number(0.8);
        /// max_mdf: the most that one decrease, or a loss, takes off the window.
        max_mdf as "swift_max_mdf": f64, Kind::Number { min: 0.01, max: 0.99 }, Default::Number(0.5);
        /// min_cwnd: the least window, packets.
        min as "swift_min_window": f64, Kind::Number { min: 1e-6, max: 1.0 }, Default::Number(0.001);
        /// RETX_RESET_THRESHOLD: after this many consecutive retransmission timeouts the window falls to its minimum.
        reset_after as "swift_retx_reset": u32, Kind::Integer { min: 1, max: 1000 }, Default::Number(5.0);
    }
}

/// The window of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Swift {
    /// Packets; 0 before the first answer.
    cwnd: f64,
    /// `t_last_decrease`.
    decreased: Time,
    /// The last round trip.
    rtt: Span,
    hops: u32,
    /// Whether it was below the target.
    below: bool,
}

impl Controller for Swift {
    type Config = Config;
    const PACES: bool = true;

    fn new(_: &Config, start: &Start) -> Self {
        Swift { cwnd: 0.0, decreased: start.now, rtt: Span::ZERO, hops: start.hops, below: false }
    }

    fn conflict(config: &Config) -> Option<(&'static str, &'static str)> {
        (config.fs_min >= config.fs_max).then_some(("swift_fs_min_window", "less than swift_fs_max_window"))
    }

    fn on_ack(&mut self, config: &Config, window: &mut Window, ack: &Acked) {
        if self.cwnd == 0.0 {
            self.cwnd = window.cwnd as f64 / ack.mss as f64;
        }
        self.rtt = ack.rtt;
        let (delay, target) = (ack.rtt.0 as f64, self.target(config));
        self.below = delay < target;
        if !self.below {
            // Swift alg. 1, multiplicative decrease
            let left = 1.0 - config.beta * (delay - target) / delay;
            self.decrease(config, ack.now, left.max(1.0 - config.max_mdf));
        }
        if !ack.recovering {
            self.set(window, ack.mss);
        }
    }

    fn grow(&mut self, config: &Config, window: &mut Window, ack: &Acked) {
        if self.below {
            // Swift alg. 1, additive increase
            self.cwnd += config.ai * (ack.bytes as f64 / ack.mss as f64) / self.cwnd.max(1.0);
            self.set(window, ack.mss);
        }
    }

    fn on_loss(&mut self, config: &Config, window: &Window, _: u64, now: Time) -> u64 {
        // Swift alg. 1, on fast recovery and on a timeout
        let left = self.decrease(config, now, 1.0 - config.max_mdf);
        (window.cwnd as f64 * left) as u64
    }

    fn on_timeout(&mut self, config: &Config, in_a_row: u32, now: Time) {
        if in_a_row >= config.reset_after {
            self.cwnd = config.min;
            self.decreased = now;
        } else {
            // The first in a row has been a loss at this very instant, and cuts no further.
            self.decrease(config, now, 1.0 - config.max_mdf);
        }
    }

    fn undo(&mut self, before: &Self) {
        *self = *before;
    }

    fn gap(&self, _: &Config) -> Span {
        // Swift alg. 1, pacing_delay
        if self.cwnd > 0.0 && self.cwnd < 1.0 { Span((self.rtt.0 as f64 / self.cwnd) as u64) } else { Span::ZERO }
    }
}

impl Swift {
    /// The target delay at this window, picoseconds.
    fn target(&self, config: &Config) -> f64 {
        // Swift §3.5
        let (range, least) = (config.fs_range.0 as f64, 1.0 / config.fs_max.sqrt());
        let alpha = range / (1.0 / config.fs_min.sqrt() - least);
        let of_flows = alpha * (1.0 / self.cwnd.sqrt() - least);
        config.base.0 as f64 + f64::from(self.hops) * config.per_hop.0 as f64 + of_flows.clamp(0.0, range)
    }

    /// Reduces the window to this share, if the last decrease was a round trip ago. Returns the share that remains.
    fn decrease(&mut self, config: &Config, now: Time, left: f64) -> f64 {
        if now.since(self.decreased) < self.rtt {
            return 1.0;
        }
        self.cwnd = if self.cwnd == 0.0 { 0.0 } else { (self.cwnd * left).max(config.min) };
        self.decreased = now;
        left
    }

    /// Makes this the window of the sender, at least one packet: pacing does anything less. Slow start ends.
    fn set(&self, window: &mut Window, mss: u64) {
        window.cwnd = (self.cwnd.max(1.0) * mss as f64) as u64;
        window.ssthresh = window.cwnd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// A flow over three switches, with a target of 29 us before what its window adds.
    struct Flow {
        config: Config,
        swift: Swift,
        window: Window,
    }

    impl Flow {
        /// A flow with a window of this many packets.
        fn of(packets: f64) -> Self {
            let config = Config::defaults();
            let swift = Swift { cwnd: packets, ..Swift::new(&config, &Start { hops: 3, ..Start::default() }) };
            Flow { config, swift, window: Window { cwnd: 10 * MSS, ssthresh: u64::MAX } }
        }

        /// This many packets are acknowledged at `now`, after this round trip.
        fn acked(&mut self, now: u64, packets: f64, rtt_us: u64) -> f64 {
            let rtt = Span::from_us(rtt_us);
            let (bytes, mss) = ((packets * MSS as f64) as u64, MSS);
            let (marked, recovering, cumulative, next) = (false, false, 0, 0);
            let ack = Acked { now: us(now), bytes, cumulative, next, marked, recovering, mss, rtt, srtt: rtt };
            self.swift.on_ack(&self.config, &mut self.window, &ack);
            self.swift.grow(&self.config, &mut self.window, &ack);
            self.swift.cwnd
        }
    }

    /// The target of a window, picoseconds.
    fn alone(window: f64) -> f64 {
        let flow = Flow::of(window);
        flow.swift.target(&flow.config)
    }

    fn close(is: f64, expected: f64) {
        assert!((is - expected).abs() < 1e-9 * expected, "{is} instead of {expected}");
    }

    #[test]
    fn the_target_grows_with_hops_and_as_windows_shrink() {
        // alpha = 100 / (1 / sqrt(0.1) - 1 / 10), beta = -alpha / 10; 20 us + 3 * 3 us.
        let alpha = 100.0 / (10f64.sqrt() - 0.1);
        for (window, more) in
            [(0.001, 100.0), (0.1, 100.0), (1.0, 0.9 * alpha), (25.0, 0.1 * alpha), (100.0, 0.0), (400.0, 0.0)]
        {
            let flow = Flow::of(window);
            let target = flow.swift.target(&flow.config) / 1e6;
            assert!((target - 29.0 - more).abs() < 1e-9, "{window} packets: {target} us");
        }
    }

    #[test]
    fn below_the_target_a_round_trip_adds_one_packet_and_above_it_the_excess_counts_once() {
        let mut flow = Flow::of(200.0);
        close(flow.acked(100, 20.0, 28), 200.1);
        close(flow.acked(101, 1.0, 28), 200.1 + 1.0 / 200.1);
        assert_eq!((flow.window.cwnd, flow.window.ssthresh), (200_104, 200_104));
        // 1 - 0.8 * (58 - 29) / 58; no more than half; and not again before a round trip is over.
        let mut expected = flow.swift.cwnd * 0.6;
        close(flow.acked(110, 1.0, 58), expected);
        close(flow.acked(160, 1.0, 60), expected);
        close(flow.acked(209, 1.0, 100), expected);
        // The target at 120 packets is still that of large windows.
        expected *= 1.0 - 0.8 * (70.0 - 29.0) / 70.0;
        close(flow.acked(210, 1.0, 70), expected);
        close(flow.acked(1300, 1.0, 1000), expected * 0.5);
    }

    #[test]
    fn below_one_packet_pacing_does_what_the_window_cannot() {
        let mut flow = Flow::of(0.25);
        // The target is 29 us + alpha * (2 - 0.1) = 91 us.
        assert_eq!(flow.acked(300, 1.0, 200), 0.25 * (1.0 - 0.8 * (200e6 - alone(0.25)) / 200e6));
        let gap = flow.swift.gap(&flow.config);
        assert_eq!((flow.window.cwnd, gap), (MSS, Span((200e6 / flow.swift.cwnd) as u64)));
        // Whole packets are added there.
        let before = flow.swift.cwnd;
        assert_eq!(flow.acked(600, 1.0, 20), before + 1.0);
        assert_eq!(flow.swift.gap(&flow.config), Span::ZERO);
    }

    #[test]
    fn losses_take_half_once_a_round_trip_and_the_fifth_timeout_all() {
        let mut flow = Flow::of(16.0);
        flow.acked(100, 0.0, 20);
        let now = us(200);
        assert_eq!(flow.swift.on_loss(&flow.config, &flow.window, 0, now), 8 * MSS);
        flow.swift.on_timeout(&flow.config, 1, now);
        assert_eq!(flow.swift.cwnd, 8.0);
        for (n, cwnd) in [(2, 4.0), (3, 2.0), (4, 1.0), (5, 0.001), (6, 0.001)] {
            flow.swift.on_timeout(&flow.config, n, us(200 + 1000 * u64::from(n)));
            assert_eq!(flow.swift.cwnd, cwnd, "timeout {n}");
        }
        // A flow that has had no answer yet has only the minimum window to reduce.
        let mut fresh = Flow::of(0.0);
        assert_eq!(fresh.swift.on_loss(&fresh.config, &fresh.window, 0, us(9)), 5 * MSS);
        fresh.swift.on_timeout(&fresh.config, 1, us(9));
        assert_eq!(fresh.acked(60, 1.0, 40), 10.0 * (1.0 - 0.8 * (40e6 - alone(10.0)) / 40e6));
    }
}
