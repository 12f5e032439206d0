//! CUBIC (RFC 9438): the window grows by the time since it was cut, first towards what it was and then beyond.
//!
//! | RFC 9438 | here |
//! |---|---|
//! | figs. 1 and 2: W_cubic(t) and K | [`Cubic::curve`], [`Cubic::begin`] |
//! | §4.2: the target, no more than 1.5 windows away | [`Cubic::grow`] |
//! | §4.3, fig. 4: W_est, the window of a Reno that is as fair | [`Cubic::estimate`] |
//! | §4.6: the cut, for losses and for marks | [`Cubic::on_loss`], [`Cubic::on_mark`] |
//! | §4.7: fast convergence | [`Cubic::remember`] |
//! | §4.9: the loss was none | [`Cubic::undo`] |
//!
//! Written from the RFC's equations as the field quotes them, not line by line from its text.
//!
//! Departures:
//! * §4.6 cuts the bytes in flight. With selective acknowledgements these are those up to the last one sent, whether
//!   they have arrived or not, and 0.7 of them can be more than the window: here a loss cuts the smaller of the two.
//! * A mark cuts the window, as it does with `kind = "ecn"`.
//! * A window that is not used does not grow (§5.8), and the time goes on: the target is bounded by 1.5 windows in any case.
//! * Slow start is that of RFC 5681 (§4.10 lets it be any); HyStart++ is not in it.
//!
//! Only `+ - * /` on `f64` are used, the cube root included, which round the same on every machine.

use super::{About, Acked, Controller, Marks, Start, Window};
use crate::keys::{Default, Kind, keys};
use spinewise_policy::time::{Span, Time};

/// What people read of it.
pub(super) const ABOUT: About = About {
    about: "CUBIC: a window that grows by the cube of the time since its last cut",
    source: "RFC 9438, RFC 6298",
};

keys! {
    /// The parameters of CUBIC.
    #[derive(PartialEq)]
    Config {
        /// C: how steeply the window grows, segments per cubed second (RFC 9438 section 5.1). Where round trips take less than
        /// some milliseconds the window of a fair Reno is above the cubic one, and CUBIC grows as that does.
        c as "cubic_c": f64, Kind::Positive { max: 1e18 }, Default::Number(0.4);
        /// beta_cubic: what a cut leaves of the window (RFC 9438 section 4.6).
        beta as "cubic_beta": f64, Kind::Number { min: 0.1, max: 0.99 }, Default::Number(0.7);
        /// Does a flow that has less than before its last cut make room for others (RFC 9438 section 4.7)?
        fast_convergence as "cubic_fast_convergence": bool, Kind::Bool, Default::Bool(true);
        /// Are packets ECN-capable, so that marks cut the window as losses do (RFC 3168)? Linux asks for it only with
        /// net.ipv4.tcp_ecn = 1.
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
    /// The window before the last cut.
    prior: f64,
    /// K.
    k: f32,
    /// What the window has grown beyond whole bytes.
    part: f32,
}

impl Controller for Cubic {
    type Config = Config;

    fn new(_: &Config, _: &Start) -> Self {
        Cubic { epoch: Time::NEVER, w_max: 0.0, w_est: 0.0, prior: 0.0, k: 0.0, part: 0.0 }
    }

    fn marks(config: &Config) -> Marks {
        if config.ecn { Marks::Repeated } else { Marks::Unheard }
    }

    fn grow(&mut self, config: &Config, window: &mut Window, ack: &Acked) {
        let (c, cwnd, acked) = (config.c * ack.mss as f64, window.cwnd as f64, ack.bytes as f64);
        if self.epoch == Time::NEVER {
            self.begin(c, ack.now, cwnd);
        }
        let t = seconds(ack.now.since(self.epoch));
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
        self.part = 0.0;
        // RFC 9438 fig. 2; §4.8: a window that is beyond already starts from itself
        self.w_max = self.w_max.max(cwnd);
        self.k = cube_root((self.w_max - cwnd) / c) as f32;
    }

    /// W_est after this share of a segment, RFC 9438 fig. 4.
    fn estimate(&mut self, config: &Config, share: f64) {
        let below = self.w_est < self.prior;
        let alpha = if below { 3.0 * (1.0 - config.beta) / (1.0 + config.beta) } else { 1.0 };
        self.w_est += alpha * share;
    }

    /// The window is about to be cut.
    fn remember(&mut self, config: &Config, window: &Window) {
        self.prior = window.cwnd as f64;
        let less = config.fast_convergence && self.prior < self.w_max;
        // RFC 9438 §4.7
        self.w_max = if less { self.prior * (1.0 + config.beta) / 2.0 } else { self.prior };
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
        /// Of so many segments, when a loss has just been found.
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
            self.window.cwnd as f64 / MSS as f64
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
        // RFC 9438 §4.3: 3 * 0.3 / 1.7 segments a round trip until the window is what it was, then one.
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
        // What has arrived beyond a hole counts as under way, and the window is cut all the same.
        assert_eq!(flow.cubic.on_loss(&config, &smaller, 160 * MSS, Time::ZERO), 56 * MSS);
        let apart = Config { fast_convergence: false, ..config };
        flow.cubic.on_loss(&apart, &smaller, 60 * MSS, Time::ZERO);
        assert_eq!(flow.cubic.w_max, 80_000.0);
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
