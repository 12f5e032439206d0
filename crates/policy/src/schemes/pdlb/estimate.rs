//! Knowledge of the paths: samples gathered in `feedback`, in integers, and settled once a period.
//!
//! A path none of whose probes has come back yet counts as being as slow as it has been silent: the slow paths of a new
//! pair are known as such before their first answers are in. A path that has answered counts with its last delay until
//! its next answer, or until it is so long overdue that it is dead.

use super::classify::{Classifier, Spread, bad_paths};
use super::model::Paths;
use crate::{Span, Time};

/// Row per (peer, way).
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    /// Sum of this period's samples, ps.
    sum: u64,
    /// Number of samples.
    samples: u32,
    /// Mean of the last period that had any; zero: never.
    delay: Span,
    /// Recent maximum round-trip time, fading by an eighth per answer: answers come back over any path, some slow.
    rtt: Span,
    /// The earliest time at which the oldest unanswered probe was sent; meaningful if `asked`.
    since: Time,
    /// Whether a probe is outstanding.
    asked: bool,
    /// Taken out of m.
    pub dead: bool,
}

impl Route {
    /// Adds a delay.
    #[inline]
    pub fn sample(&mut self, delay: Span) {
        self.sum += delay.0;
        self.samples += 1;
    }

    /// A probe, one of a train with this `period`, has come back after `rtt`. The path works, so earlier ones are no
    /// longer awaited, and the oldest missing probe is the next one.
    #[inline]
    pub fn answered(&mut self, now: Time, rtt: Span, period: Span) {
        let next = now - rtt + period;
        if next > self.since {
            self.since = next;
        }
        let faded = self.rtt - Span(self.rtt.0 / 8);
        self.rtt = if rtt > faded { rtt } else { faded };
    }

    /// A probe is being sent.
    pub fn ask(&mut self, now: Time) {
        if !self.asked {
            (self.asked, self.since) = (true, now);
        }
    }

    /// Probing begins anew: outstanding probes are no longer awaited.
    pub fn rest(&mut self) {
        self.asked = false;
    }

    /// Closes a period. True if there was a sample.
    pub fn settle(&mut self) -> bool {
        if self.samples == 0 {
            return false;
        }
        self.delay = Span(self.sum / u64::from(self.samples));
        (self.sum, self.samples) = (0, 0);
        true
    }

    /// Whether it has been silent for `limit` beyond its round trip, or, if it never answered, for `patience`.
    pub fn silent(&self, now: Time, limit: Span, patience: Span) -> bool {
        let age = now.since(self.since);
        self.asked && if self.rtt > Span::ZERO { age > self.rtt + limit } else { age > patience }
    }

    /// Whether it has ever been measured.
    pub fn known(&self) -> bool {
        self.delay > Span::ZERO
    }

    /// The delay it counts with, µs, if there is any information.
    pub fn believed(&self, now: Time) -> Option<f64> {
        let silence = if self.asked { now.since(self.since) } else { Span::ZERO };
        let delay = if self.known() { self.delay } else { silence };
        (delay > Span::ZERO).then(|| delay.as_us_f64())
    }
}

/// Acknowledgements with a large round-trip time as a share of all: the paper's passive estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Acknowledgements.
    pub total: u32,
    /// Round trips above the threshold.
    pub large: u32,
    /// Sum of the round-trip times above it, ps.
    sum_large: u64,
    /// Sum of the others, ps.
    sum_small: u64,
    /// The minimum.
    min: u64,
    /// The maximum.
    max: u64,
    /// Above this a round-trip time is large, ps; zero: no round trip is.
    threshold: u64,
}

impl Share {
    /// Counts one.
    #[inline]
    pub fn count(&mut self, rtt: Span) {
        let rtt = rtt.0;
        if self.threshold > 0 && rtt > self.threshold {
            self.large += 1;
            self.sum_large += rtt;
        } else {
            self.sum_small += rtt;
        }
        if self.total == 0 || rtt < self.min {
            self.min = rtt;
        }
        if rtt > self.max {
            self.max = rtt;
        }
        self.total += 1;
    }

    /// Another peer's counts, for a verdict about the sender.
    pub fn merge(&mut self, other: &Share) {
        if self.total == 0 || (other.total > 0 && other.min < self.min) {
            self.min = other.min;
        }
        self.max = self.max.max(other.max);
        self.total += other.total;
        self.large += other.large;
        self.sum_large += other.sum_large;
        self.sum_small += other.sum_small;
    }

    /// P_b = large / total.
    pub(crate) fn p_bad(&self) -> f64 {
        f64::from(self.large) / f64::from(self.total)
    }

    /// Returns its implication for `m` paths. When all are large the threshold is out of date and no path stands out.
    pub fn paths(&self, m: f64) -> Option<Paths> {
        if self.total == 0 {
            return None;
        }
        let mean = self.mean();
        let bad = bad_paths(self.p_bad(), m);
        if self.large == 0 || self.large == self.total || bad < 1.0 || bad >= m {
            return Some(Paths { m, bad: 0.0, d_good: mean, d_bad: mean });
        }
        let us = |sum: u64, count: u32| sum as f64 / f64::from(count) / 1e6;
        let (d_good, d_bad) = (us(self.sum_small, self.total - self.large), us(self.sum_large, self.large));
        Some(Paths { m, bad, d_good, d_bad })
    }

    fn mean(&self) -> f64 {
        (self.sum_large + self.sum_small) as f64 / f64::from(self.total) / 1e6
    }

    /// Starts the next count, with a threshold derived from this one.
    pub fn restart(&mut self, rule: Classifier, gate: f64) {
        let us = |ps: u64| ps as f64 / 1e6;
        let spread = Spread { count: self.total, mean: self.mean(), min: us(self.min), max: us(self.max) };
        let threshold = spread.threshold(rule, gate).map_or(0, |us| Span::from_us_f64(us).0);
        *self = Share { threshold, ..Share::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_large_of_ten_is_a_fifth() {
        let mut share = Share::default();
        let period = |share: &mut Share| {
            for ack in 0..10 {
                share.count(Span::from_us(if ack % 5 == 0 { 300 } else { 100 }));
            }
        };
        period(&mut share);
        assert_eq!(share.large, 0, "no threshold yet");
        share.restart(Classifier::GtMeanWithGate, 36.0);
        period(&mut share);
        // PDLB §"Path asymmetry estimation": 2 of 10 flowcells are late, P_b = 0.2.
        assert_eq!((share.large, share.total, share.p_bad()), (2, 10, 0.2));
        assert_eq!(share.paths(10.0), Some(Paths { m: 10.0, bad: 2.0, d_good: 100.0, d_bad: 300.0 }));
        let mut both = Share::default();
        both.merge(&share);
        both.merge(&share);
        assert_eq!((both.p_bad(), both.total), (0.2, 20));
        share.restart(Classifier::Gt2xMean, 0.0);
        period(&mut share);
        assert_eq!(share.large, 2, "300 > 2 · 140");
    }

    #[test]
    fn when_everything_is_large_nothing_stands_out() {
        let mut share = Share::default();
        share.count(Span::from_us(100));
        share.count(Span::from_us(200));
        share.restart(Classifier::GtMeanWithGate, 36.0);
        (0..8).for_each(|_| share.count(Span::from_us(500)));
        assert_eq!(share.large, 8);
        assert_eq!(share.paths(8.0).unwrap().bad, 0.0);
        assert_eq!(Share::default().paths(8.0), None);
    }

    #[test]
    fn silence_tells() {
        let at = |us: u64| Time(us * 1_000_000);
        let (period, limit, patience) = (Span::from_us(100), Span::from_us(300), Span::from_us(1_300));
        let mut route = Route::default();
        assert_eq!(route.believed(at(0)), None);
        route.ask(at(0));
        route.ask(at(100));
        assert_eq!(route.believed(at(200)), Some(200.0), "at least as slow as it has been silent");
        assert!(!route.silent(at(1_300), limit, patience) && route.silent(at(1_301), limit, patience));
        route.answered(at(250), Span::from_us(250), period);
        route.sample(Span::from_us(250));
        assert!(route.settle() && !route.settle());
        assert_eq!(route.believed(at(600)), Some(250.0));
        // The probe sent at 100 is due at 350.
        assert!(!route.silent(at(650), limit, patience) && route.silent(at(651), limit, patience));
        route.answered(at(660), Span::from_us(60), period);
        // The one sent at 700 is due at 700 + 250 · 7/8 at the latest.
        assert!(!route.silent(at(1_218), limit, patience) && route.silent(at(1_219), limit, patience));
        route.rest();
        assert!(!route.silent(at(90_000), limit, patience), "nobody is waited for");
    }

    #[test]
    fn a_period_is_its_mean() {
        let mut route = Route::default();
        route.sample(Span::from_us(100));
        route.sample(Span::from_us(300));
        assert!(route.settle());
        assert_eq!(route.believed(Time::ZERO), Some(200.0));
    }
}
