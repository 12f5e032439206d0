//! CUBIC (RFC 9438): the window grows with the time since it was cut, first towards its former size and then beyond.
//!
//! | RFC 9438 | here |
//! |---|---|
//! | figs. 1 and 2: W_cubic(t) and K | [`Cubic::curve`], [`Cubic::begin`] |
//! | §4.2: the target, no more than 1.5 windows away | [`Cubic::grow`] |
//! | §4.3, fig. 4: W_est, the window of a Reno that is as fair | [`Cubic::estimate`] |
//! | §4.6: the cut, for losses and for marks | [`Cubic::on_loss`], [`Cubic::on_mark`] |
//! | §4.7: fast convergence | [`Cubic::remember`] |
//! | §4.8: the stage after a timeout | [`Cubic::on_timeout`] |
//! | §4.9: the loss was not one | [`Cubic::undo`] |
//! | §5.8: time in which the window is not used | [`Cubic::elapsed`] |
//!
//! Checked line by line against sections 4 and 5 of the text from which the RFC was made, the editors' draft of
//! draft-ietf-tcpm-rfc8312bis; a test compares mean windows with the RFC's tables 1 and 2.
//!
//! Departures:
//! * §4.6 cuts the bytes in flight, or the window if that grows only while it is used: here a loss cuts the smaller of
//!   the two.
//! * A mark cuts the window, as it does with `kind = "ecn"`, and leaves two segments; §4.6 lets marks go down to one.
//! * A pause counts as unused if for more than a smoothed round trip nothing lets the window grow.
//! * Slow start is that of RFC 5681, which §4.10 allows; it recommends HyStart++.
//!
//! Only `+ - * /` on `f64` are used, the cube root included, which round the same on every machine.

use super::{About, Acked, Controller, Marks, Start, Window};
use crate::keys::{Default, Kind, keys};
use spinewise_policy::time::{Span, Time};

/// What people read of it.
pub(super) const ABOUT: About = About {
    about: "CUBIC: a window that grows with the cube of the time since its last cut",
    source: "RFC 9438, RFC 6298",
};

keys! {
    /// The parameters of CUBIC.
    #[derive(PartialEq)]
    Config {
        /// C: how steeply the window grows, segments per cubed second (RFC 9438 section 5.1). Where round trips take
        /// less than a few milliseconds, the window that Reno would have is above the cubic one, and CUBIC grows as
        /// Reno does.
        c as "cubic_c": f64, Kind::Positive { max: 1e18 }, Default::Number(0.4);
        /// beta_cubic: what a cut leaves of the window (RFC 9438 section 4.6).
        beta as "cubic_beta": f64, Kind::Number { min: 0.1, max: 0.99 }, Default::Number(0.7);
        /// Does a flow that is cut before its window has regained its former size make room for others (RFC 9438 section
        /// 4.7)?
        fast_convergence as "cubic_fast_convergence": bool, Kind::Bool, Default::Bool(true);
        /// Are packets ECN-capable, so that marks cut the window as losses do (RFC 3168)? Linux negotiates ECN only
        /// with net.ipv4.tcp_ecn = 1.
        ecn as "cubic_ecn": bool, Kind::Bool, Default::Bool(false);
    }
}

/// The growth since the last cut. Windows count in bytes, times in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    /// When this stage of congestion avoidance began; [`Time::NEVER`] before it has.
    epoch: Time,
    /// W_max; 0 before the first cut.
    w_max: f64,
    /// W_est.
    w_est: f64,
    /// `cwnd_prior`: the window before the last cut.
    prior: f32,
    /// K.
    k: f32,
    /// t as the window grew last.
    grown: f32,
    /// What the window has grown beyond whole bytes.
    part: f32,
}

impl Controller for Cubic {
    type Config = Config;

    fn new(_: &Config, _: &Start) -> Self {
        Cubic { epoch: Time::NEVER, w_max: 0.0, w_est: 0.0, prior: 0.0, k: 0.0, grown: 0.0, part: 0.0 }
    }

    fn marks(config: &Config) -> Marks {
        if config.ecn { Marks::Repeated } else { Marks::Unheard }
    }

    fn grow(&mut self, config: &Config, window: &mut Window, ack: &Acked) {
        let (c, cwnd, acked) = (config.c * ack.mss as f64, window.cwnd as f64, ack.bytes as f64);
        if self.epoch == Time::NEVER {
            self.begin(c, ack.now, cwnd);
        }
        let t = self.elapsed(ack.now, ack.srtt);
        self.estimate(config, ack.mss as f64 * acked / cwnd);
        if self.curve(c, t) < self.w_est {
            // RFC 9438 §4.3
            window.cwnd = window.cwnd.max(self.w_est as u64);
            return;
        }
        // RFC 9438 §4.2, §4.4 and §4.5
        let target = self.curve(c, t + seconds(ack.srtt)).clamp(cwnd, 1.5 * cwnd);
        let more = f64::from(self.part) + (target - cwnd) / cwnd * acked;
        window.cwnd += more as u64;
        self.part = (more - (more as u64) as f64) as f32;
    }

    fn on_mark(&mut self, config: &Config, window: &mut Window, _: Time) {
        self.remember(config, window);
        window.cwnd = (window.cwnd as f64 * config.beta) as u64;
    }

    fn on_loss(&mut self, config: &Config, window: &Window, flight: u64, _: Time) -> u64 {
        self.remember(config, window);
        // RFC 9438 §4.6
        (flight.min(window.cwnd) as f64 * config.beta) as u64
    }

    fn on_timeout(&mut self, _: &Config, _: u32, _: Time) {
        // RFC 9438 §4.8: the next stage begins with K = 0, from where it begins
        self.w_max = 0.0;
    }

    fn restart(&mut self) {
        self.epoch = Time::NEVER;
    }

    fn undo(&mut self, before: &Self) {
        *self = *before;
    }
}

impl Cubic {
    /// W_cubic(t), RFC 9438 fig. 1, with C in bytes.
    fn curve(&self, c: f64, t: f64) -> f64 {
        let from_k = t - f64::from(self.k);
        c * from_k * from_k * from_k + self.w_max
    }

    /// A stage of congestion avoidance begins with this window.
    fn begin(&mut self, c: f64, now: Time, cwnd: f64) {
        self.epoch = now;
        self.w_est = cwnd;
        (self.grown, self.part) = (0.0, 0.0);
        // RFC 9438 fig. 2; §4.8 and §4.10: a window that is beyond already starts from itself
        self.w_max = self.w_max.max(cwnd);
        self.k = cube_root((self.w_max - cwnd) / c) as f32;
    }

    /// t: the time since this stage began, without pauses.
    fn elapsed(&mut self, now: Time, srtt: Span) -> f64 {
        let t = seconds(now.since(self.epoch));
        let pause = t - f64::from(self.grown);
        if pause > seconds(srtt) {
            // RFC 9438 §4.2 and §5.8
            self.epoch += Span((pause * 1e12) as u64);
            return f64::from(self.grown);
        }
        self.grown = t as f32;
        t
    }

    /// W_est after this share of a segment, RFC 9438 fig. 4.
    fn estimate(&mut self, config: &Config, share: f64) {
        let below = self.w_est < f64::from(self.prior);
        let alpha = if below { 3.0 * (1.0 - config.beta) / (1.0 + config.beta) } else { 1.0 };
        self.w_est += alpha * share;
    }

    /// The window is about to be cut.
    fn remember(&mut self, config: &Config, window: &Window) {
        let cwnd = window.cwnd as f64;
        self.prior = cwnd as f32;
        // RFC 9438 §4.7
        let less = config.fast_convergence && cwnd < self.w_max;
        self.w_max = if less { cwnd * (1.0 + config.beta) / 2.0 } else { cwnd };
    }
}

fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1e12
}

/// The cube root of a number that is not negative, by Newton's method from above.
fn cube_root(of: f64) -> f64 {
    let mut root = of.max(1.0);
    for _ in 0..200 {
        let next = (2.0 * root + of / (root * root)) / 3.0;
        if next >= root {
            break;
        }
        root = next;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// A window that is always full, and acknowledged segment by segment, evenly over each round trip.
    struct Flow {
        config: Config,
        cubic: Cubic,
        window: Window,
        rtt: Span,
        now: Time,
    }

    impl Flow {
        /// The state with so many segments, when a loss has just been found.
        fn cut(config: Config, segments: u64, rtt: Span) -> Self {
            let mut cubic = Cubic::new(&config, &Start::default());
            let mut window = Window { cwnd: segments * MSS, ssthresh: 0 };
            window.ssthresh = cubic.on_loss(&config, &window, window.cwnd, Time::ZERO);
            window.cwnd = window.ssthresh;
            cubic.restart();
            Flow { config, cubic, window, rtt, now: Time::ZERO }
        }

        /// The window in segments at `until`, in seconds.
        fn at(&mut self, until: f64) -> f64 {
            while seconds(self.now.since(Time::ZERO)) < until {
                self.acked();
            }
            self.window.cwnd as f64 / MSS as f64
        }

        /// One segment is acknowledged.
        fn acked(&mut self) {
            let ack = Acked {
                now: self.now,
                bytes: MSS,
                cumulative: 0,
                next: 0,
                marked: false,
                recovering: false,
                mss: MSS,
                rtt: self.rtt,
                srtt: self.rtt,
            };
            self.cubic.grow(&self.config, &mut self.window, &ack);
            self.now += Span(self.rtt.0 * MSS / self.window.cwnd);
        }
    }

    #[test]
    fn cube_roots_are_exact_enough() {
        for (of, root) in [(0.0, 0.0), (1e-3, 0.1), (1.0, 1.0), (75.0, 4.217_163_326_508_746), (1e18, 1e6)] {
            assert!((cube_root(of) - root).abs() <= 1e-9 * root.max(1e-3), "{of}: {}", cube_root(of));
        }
    }

    #[test]
    fn after_a_loss_the_window_follows_the_cubic_equation() {
        let mut flow = Flow::cut(Config::defaults(), 100, Span::from_ms(100));
        assert_eq!(flow.window.cwnd, 70 * MSS);
        // RFC 9438 fig. 2: K = (100 * 0.3 / 0.4)^(1/3) s.
        let k = 4.217;
        for t in [0.5, 1.0, 2.0, 3.0, 4.0, k, 5.0, 5.5] {
            let (window, curve) = (flow.at(t), 0.4 * (t - k) * (t - k) * (t - k) + 100.0);
            assert!((window - curve).abs() < 0.02 * curve, "{t} s: {window} instead of {curve}");
        }
    }

    #[test]
    fn with_short_round_trips_it_is_a_reno_that_is_as_fair() {
        // RFC 9438 §4.3: 3 * 0.3 / 1.7 segments a round trip until the window has its former size, then one.
        let mut flow = Flow::cut(Config::defaults(), 100, Span::from_us(100));
        let (slow, back) = (0.9 / 1.7, 30.0 * 1.7 / 0.9);
        for trips in [20.0, 40.0, 66.0] {
            let is = flow.at(trips * 1e-4);
            let expected = if trips < back { 70.0 + trips * slow } else { 100.0 + trips - back };
            assert!((is - expected).abs() < 1.0, "{trips} round trips: {is} instead of {expected}");
        }
    }

    #[test]
    fn a_flow_that_has_less_than_before_makes_room() {
        // RFC 9438 §4.7: W_max = 80 * (1 + 0.7) / 2.
        let config = Config::defaults();
        let mut flow = Flow::cut(config.clone(), 100, Span::from_ms(1));
        let smaller = Window { cwnd: 80 * MSS, ssthresh: 0 };
        assert_eq!(flow.cubic.on_loss(&config, &smaller, 60 * MSS, Time::ZERO), 42 * MSS);
        assert!((flow.cubic.w_max - 68_000.0).abs() < 1e-6 && flow.cubic.prior == 80_000.0);
        // Data that has arrived beyond a hole counts as under way, and the window is still cut.
        assert_eq!(flow.cubic.on_loss(&config, &smaller, 160 * MSS, Time::ZERO), 56 * MSS);
        let apart = Config { fast_convergence: false, ..config };
        flow.cubic.on_loss(&apart, &smaller, 60 * MSS, Time::ZERO);
        assert_eq!(flow.cubic.w_max, 80_000.0);
    }

    #[test]
    fn after_a_timeout_the_curve_begins_where_slow_start_ends() {
        let mut flow = Flow::cut(Config::defaults(), 100, Span::from_ms(100));
        flow.cubic.on_timeout(&flow.config, 1, Time::ZERO);
        for t in [1.0_f64, 2.0, 4.0] {
            // RFC 9438 §4.8: W_max = 70 and K = 0; until the curve is steeper W_est counts, 0.53 segments each 0.1 s.
            let expected = (70.0 + 0.4 * t * t * t).max(70.0 + t * 10.0 * 0.9 / 1.7);
            let is = flow.at(t);
            assert!((is - expected).abs() < 0.02 * expected, "{t} s: {is} instead of {expected}");
        }
    }

    #[test]
    fn time_in_which_the_window_is_not_used_does_not_count() {
        let (mut through, mut paused) = (
            Flow::cut(Config::defaults(), 100, Span::from_ms(100)),
            Flow::cut(Config::defaults(), 100, Span::from_ms(100)),
        );
        paused.at(2.0);
        paused.now += Span::from_ms(30_000);
        let (there, here) = (through.at(6.0), paused.at(36.0));
        assert!((there - here).abs() < 0.01 * there, "{here} segments, {there} without the pause");
    }

    /// The mean window of the 30th stage where a loss ends each after `each` segments, from a window of `first` on.
    fn mean_window(rtt: Span, each: u64, first: u64) -> f64 {
        let config = Config { fast_convergence: false, ..Config::defaults() };
        let mut flow = Flow::cut(config, first, rtt);
        let mut mean = 0.0;
        for _ in 0..30 {
            let begun = flow.now;
            for _ in 0..each {
                flow.acked();
            }
            mean = each as f64 * seconds(rtt) / seconds(flow.now.since(begun));
            flow.window.cwnd = flow.cubic.on_loss(&flow.config, &flow.window, flow.window.cwnd, flow.now);
            flow.cubic.restart();
        }
        mean
    }

    #[test]
    fn mean_windows_are_those_of_the_tables() {
        // RFC 9438 tables 1 and 2, C = 0.4. A stage ends at its greatest window: W_max, of which the mean is 0.925 by the
        // integral of fig. 1, or that of Reno, of which it is 0.85. There it stays.
        let (long, short) = (Span::from_ms(100), Span::from_ms(10));
        for (rtt, each, printed, of_greatest) in [
            (long, 1_000, 38.0, 0.85),
            (long, 10_000, 187.0, 0.925),
            (long, 100_000, 1054.0, 0.925),
            (short, 1_000, 38.0, 0.85),
            (short, 10_000, 120.0, 0.85),
            (short, 100_000, 379.0, 0.85),
        ] {
            let mean = mean_window(rtt, each, (printed / of_greatest) as u64);
            assert!((mean / printed - 1.0).abs() < 0.06, "p = 1 / {each}: {mean} instead of {printed}");
        }
    }

    #[test]
    fn a_cut_for_nothing_is_taken_back() {
        let config = Config::defaults();
        let mut flow = Flow::cut(config.clone(), 100, Span::from_ms(100));
        flow.at(2.0);
        let (before, window) = (flow.cubic, flow.window);
        flow.cubic.on_loss(&config, &window, window.cwnd, flow.now);
        flow.cubic.restart();
        flow.cubic.undo(&before);
        assert_eq!((flow.cubic.epoch, flow.cubic.w_max, flow.cubic.k), (before.epoch, before.w_max, before.k));
    }
}
