//! TIMELY: a rate that follows the gradient of the round-trip time.
//!
//! Mittal et al., "TIMELY: RTT-based congestion control for the datacenter", SIGCOMM 2015. The rules were checked line
//! by line against the code that its authors published with algorithm 1 (`timely-code-snippet.cc`). The paper's text
//! was not available. The defaults of alpha, beta, T_low, T_high and D_minRTT are those of the public ns-3 code of HPCC
//! (rdma-hw.cc), from a summary of it.
//!
//! | the authors' code | here |
//! |---|---|
//! | the gradient, smoothed and in units of the least round trip | [`Timely::gradient`] |
//! | T_low, T_high, the sign of the gradient | [`Timely::decide`] |
//! | hyperactive increase (HAI) once the round trip has fallen five times in a row | [`Timely::decide`] |
//! | a decrease takes half at most | [`Timely::fall`] |
//!
//! Departures:
//! * A decision is made once per round trip of data, as in the code of HPCC, on the last round trip in it. The authors'
//!   code decides on every completion, of a packet or of 16 to 64 kB, and takes a step in proportion to the time since
//!   the last one, up to a whole step after D_minRTT. So alpha is 0.875, while they recommend 0.02 for each completion.
//! * A flow starts at the rate of its link, as queue pairs do here.
//! * Marks are ignored: packets are not ECN-capable. Losses leave the rate unchanged.

use super::{About, Acked, Controller, Start, Window};
use crate::keys::{Default, Kind, Unit, Zero, keys};
use spinewise_policy::time::{Span, Time};

/// Its user documentation.
pub(super) const ABOUT: About = About {
    about: "rates that follow the gradient of the round-trip time",
    source: "TIMELY (SIGCOMM 2015), its authors' code; defaults of the public ns-3 code of HPCC (SIGCOMM 2019)",
};

keys! {
    /// The parameters of TIMELY.
    #[derive(PartialEq)]
    Config {
        /// T_low: below this round trip the rate rises, whatever the gradient.
        t_low as "timely_t_low_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(50.0);
        /// T_high: above this round trip the rate falls, whatever the gradient.
        t_high as "timely_t_high_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(500.0);
        /// D_minRTT: the unit that the gradient is measured in.
        min_rtt as "timely_min_rtt_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(20.0);
        /// alpha: weight of a new difference between round trips.
        alpha as "timely_alpha": f64, Kind::Positive { max: 1.0 }, Default::Number(0.875);
        /// beta: how far the rate falls.
        beta as "timely_beta": f64, Kind::Positive { max: 1.0 }, Default::Number(0.8);
        /// delta: additive increase of the rate.
        increase as "timely_increase_gbps": u64, Kind::Rate(Zero::Refused), Default::Number(0.05);
        /// N: once the round trip has fallen this many times in a row, an increase by the gradient is this many times
        /// as large (HAI).
        hai as "timely_hai": u32, Kind::Integer { min: 1, max: 1000 }, Default::Number(5.0);
        /// Least rate.
        min_rate as "timely_min_rate_gbps": u64, Kind::Rate(Zero::Refused), Default::Number(0.1);
    }
}

/// The rate of one queue pair.
#[derive(Clone, Copy, Debug)]
pub struct Timely {
    /// The rate of the queue pair and of the link, bits per second.
    rate: u64,
    line: u64,
    /// An acknowledgement beyond this byte makes the next decision.
    until: u64,
    /// The last round trip; zero before the first.
    last: Span,
    /// The smoothed difference of round trips, picoseconds.
    diff: f64,
    /// How many times in a row the round trip has fallen.
    falls: u32,
}

impl Controller for Timely {
    type Config = Config;

    fn new(_: &Config, start: &Start) -> Self {
        Timely { rate: start.rate, line: start.rate, until: 0, last: Span::ZERO, diff: 0.0, falls: 0 }
    }

    fn conflict(config: &Config) -> Option<(&'static str, &'static str)> {
        (config.t_low > config.t_high).then_some(("timely_t_low_us", "timely_t_high_us or less"))
    }

    fn on_ack(&mut self, config: &Config, _: &mut Window, ack: &Acked) {
        if ack.cumulative <= self.until {
            return;
        }
        self.until = ack.next;
        if self.last != Span::ZERO {
            let gradient = self.gradient(config, ack.rtt);
            self.decide(config, ack.rtt, gradient);
        }
        self.last = ack.rtt;
    }

    #[inline(always)]
    fn on_send(&mut self, _: &Config, _: Time, _: u32) -> u64 {
        self.rate
    }
}

impl Timely {
    /// The normalized gradient after this round trip.
    fn gradient(&mut self, config: &Config, rtt: Span) -> f64 {
        // TIMELY alg. 1
        let new = rtt.0 as f64 - self.last.0 as f64;
        self.falls = if new < 0.0 { self.falls.saturating_add(1) } else { 0 };
        self.diff = (1.0 - config.alpha) * self.diff + config.alpha * new;
        self.diff / config.min_rtt.0 as f64
    }

    fn decide(&mut self, config: &Config, rtt: Span, gradient: f64) {
        if rtt < config.t_low {
            self.rise(config, 1);
        } else if rtt > config.t_high {
            self.fall(config, 1.0 - config.t_high.0 as f64 / rtt.0 as f64);
        } else if gradient <= 0.0 {
            self.rise(config, if self.falls >= config.hai { config.hai } else { 1 });
        } else {
            self.fall(config, gradient);
        }
    }

    /// Raises the rate by this many steps.
    fn rise(&mut self, config: &Config, times: u32) {
        self.rate = (self.rate + config.increase * u64::from(times)).min(self.line);
    }

    /// Cuts the rate by beta times `by`, but no more than half.
    fn fall(&mut self, config: &Config, by: f64) {
        let left = (1.0 - config.beta * by).max(0.5);
        self.rate = ((self.rate as f64 * left) as u64).max(config.min_rate).min(self.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 10_000_000_000;

    /// A queue pair that sees one round trip of data after another, in microseconds: its rates in Mbps.
    fn rates(rtts: &[u64]) -> Vec<u64> {
        let config = Config::defaults();
        let mut timely = Timely::new(&config, &Start { rate: LINE, ..Start::default() });
        timely.rate = 5_000_000_000;
        let mut window = Window { cwnd: u64::MAX, ssthresh: 0 };
        let told = |(n, &us): (usize, &u64)| {
            let rtt = Span::from_us(us);
            let (cumulative, next) = (1 + n as u64 * 1000, 1000 + n as u64 * 1000);
            let now = Time::ZERO;
            let (marked, recovering, mss) = (false, false, 1000);
            let ack = Acked { now, bytes: 1000, cumulative, next, marked, recovering, mss, rtt, srtt: rtt };
            timely.on_ack(&config, &mut window, &ack);
            timely.rate / 1_000_000
        };
        rtts.iter().enumerate().map(told).collect()
    }

    #[test]
    fn below_t_low_it_rises_whatever_the_gradient() {
        assert_eq!(rates(&[20, 30, 20, 40, 49]), [5000, 5050, 5100, 5150, 5200]);
        assert_eq!(rates(&[49, 45, 40, 35, 30, 25, 20])[5..], [5250, 5300]);
    }

    #[test]
    fn between_the_bounds_it_rises_faster_once_round_trips_have_fallen_five_times() {
        let rates = rates(&[200, 190, 180, 170, 160, 150, 140, 140, 130]);
        // 140 again is no fall, and the gradient is still below 0.
        assert_eq!(rates, [5000, 5050, 5100, 5150, 5200, 5450, 5700, 5750, 5800]);
    }

    #[test]
    fn above_t_high_it_falls_to_where_the_queue_would_be_t_high() {
        // 1 - 0.8 * (1 - 500 / 1000)
        assert_eq!(rates(&[1000, 1000, 1000]), [5000, 3000, 1800]);
        // 1 - 0.8 * (1 - 500 / 5000) would leave less than half.
        assert_eq!(rates(&[5000, 5000]), [5000, 2500]);
    }

    #[test]
    fn between_them_the_gradient_decides() {
        // diff = 0.875 * 10 us, in units of 20 us; then 0.125 * 8.75 - 0.875 * 40 < 0.
        let fallen = (5000.0 * (1.0 - 0.8 * 0.4375)) as u64;
        assert_eq!(rates(&[100, 110, 70]), [5000, fallen, fallen + 50]);
    }

    #[test]
    fn it_decides_once_per_round_trip_of_data_and_stays_within_its_bounds() {
        let config = Config::defaults();
        let mut timely = Timely::new(&config, &Start { rate: LINE, ..Start::default() });
        let mut window = Window { cwnd: u64::MAX, ssthresh: 0 };
        for n in 1..200_u64 {
            let rtt = Span::from_us(100 * n);
            let ack = Acked {
                now: Time::ZERO,
                bytes: 10,
                cumulative: n * 10,
                next: n * 10 + 1000,
                marked: false,
                recovering: false,
                mss: 10,
                rtt,
                srtt: rtt,
            };
            timely.on_ack(&config, &mut window, &ack);
        }
        // 199 acknowledgements of 10 bytes, 1,000 in flight: the 1st stores, the 102nd decides.
        assert_eq!(timely.until, 1020 + 1000);
        assert!(timely.rate >= config.min_rate && timely.rate < LINE);
    }
}
