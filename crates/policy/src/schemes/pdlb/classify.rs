//! The classification of paths as congested.
//!
//! The printed rule, "a latency larger than 2x the average RTT of all paths", counts the slow paths into the average:
//! with a fraction f of them at X times the delay it holds only if X > 2 (1 - f) / (1 - 2 f), that is above 2.33 with
//! 1 of 8, 3 with 2, 5 with 3, and never with 4. It is offered as `gt_2x_mean`. The default is the rule of the authors'
//! code, above the mean, behind a gate: paths whose delays all lie within a few packet times of each other are equal.

use super::model::Paths;

crate::choice! {
    /// A rule for "congested".
    Classifier {
        /// Above the mean, if slowest and fastest differ by more than the gate.
        GtMeanWithGate = "gt_mean_with_gate",
        /// Above twice the mean, as printed.
        Gt2xMean = "gt_2x_mean",
        /// Above twice the least.
        Gt2xMin = "gt_2x_min",
    }
}

/// The spread of a set of delays, µs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    /// Number of delays.
    pub count: u32,
    /// Their mean.
    pub mean: f64,
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Computes the spread of these delays.
    pub(crate) fn of(delays: impl Iterator<Item = f64>) -> Spread {
        let (mut count, mut sum, mut min, mut max) = (0, 0.0, f64::INFINITY, 0.0);
        for delay in delays {
            count += 1;
            sum += delay;
            if delay < min {
                min = delay;
            }
            if delay > max {
                max = delay;
            }
        }
        if count == 0 { Spread::default() } else { Spread { count, mean: sum / f64::from(count), min, max } }
    }

    /// The delay above which a path is congested; `None` if none is.
    pub(crate) fn threshold(&self, rule: Classifier, gate: f64) -> Option<f64> {
        match rule {
            Classifier::GtMeanWithGate => (self.max - self.min > gate).then_some(self.mean),
            // PDLB §"Flowcell size adjustment", and Algorithm 1
            Classifier::Gt2xMean => Some(2.0 * self.mean),
            Classifier::Gt2xMin => Some(2.0 * self.min),
        }
    }
}

/// Splits `delays` (µs) into congested and not, with the mean of each class; `None` without a delay.
pub(crate) fn classify(rule: Classifier, gate: f64, delays: impl Iterator<Item = f64> + Clone) -> Option<Paths> {
    let spread = Spread::of(delays.clone());
    if spread.count == 0 {
        return None;
    }
    let m = f64::from(spread.count);
    let uniform = Paths { m, bad: 0.0, d_good: spread.mean, d_bad: spread.mean };
    let Some(threshold) = spread.threshold(rule, gate) else { return Some(uniform) };
    let bad = Spread::of(delays.clone().filter(|&delay| delay > threshold));
    let good = Spread::of(delays.filter(|&delay| delay <= threshold));
    if bad.count == 0 || good.count == 0 {
        return Some(uniform);
    }
    Some(Paths { m, bad: f64::from(bad.count), d_good: good.mean, d_bad: bad.mean })
}

/// Eq. 1's N_b from a share of acknowledgements: round(P_b · m).
pub(crate) fn bad_paths(p_bad: f64, m: f64) -> f64 {
    (p_bad * m + 0.5) as u32 as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use Classifier::{Gt2xMean, Gt2xMin, GtMeanWithGate};

    /// `bad` of `m` paths at `x` times 100 µs.
    fn mix(m: usize, bad: usize, x: f64) -> impl Iterator<Item = f64> + Clone {
        (0..m).map(move |path| if path < bad { 100.0 * x } else { 100.0 })
    }

    fn found(rule: Classifier, m: usize, bad: usize, x: f64) -> f64 {
        classify(rule, 36.0, mix(m, bad, x)).unwrap().bad
    }

    #[test]
    fn twice_the_mean_fires_where_the_closed_form_says() {
        // X > 2 (1 - f) / (1 - 2 f).
        for (bad, threshold) in [(1, 7.0 / 3.0), (2, 3.0), (3, 5.0)] {
            assert_eq!(found(Gt2xMean, 8, bad, threshold * 0.999), 0.0, "{bad} of 8 just below");
            assert_eq!(found(Gt2xMean, 8, bad, threshold * 1.001), bad as f64, "{bad} of 8 just above");
        }
        assert_eq!(found(Gt2xMean, 8, 2, 3.0), 0.0, "the paper's own 2 of 8 at 300 over 100 us, strictly");
        for bad in 4..8 {
            assert_eq!(found(Gt2xMean, 8, bad, 1e6), 0.0, "{bad} of 8 never");
        }
    }

    #[test]
    fn above_the_mean_finds_every_slow_path_behind_its_gate() {
        for bad in 1..8 {
            assert_eq!(found(GtMeanWithGate, 8, bad, 1.5), bad as f64);
            assert_eq!(found(GtMeanWithGate, 8, bad, 1.35), 0.0, "35 us is within three packets at 1 Gbps");
        }
        assert_eq!(found(GtMeanWithGate, 8, 3, 1.36), 0.0, "the gate is strict");
        let paths = classify(GtMeanWithGate, 36.0, [100.0, 110.0, 300.0, 500.0].into_iter()).unwrap();
        assert_eq!(paths, Paths { m: 4.0, bad: 2.0, d_good: 105.0, d_bad: 400.0 });
    }

    #[test]
    fn above_twice_the_least() {
        for bad in 1..8 {
            assert_eq!(found(Gt2xMin, 8, bad, 2.0), 0.0);
            assert_eq!(found(Gt2xMin, 8, bad, 2.01), bad as f64);
        }
    }

    #[test]
    fn nothing_known_nothing_said() {
        assert_eq!(classify(GtMeanWithGate, 0.0, [].into_iter()), None);
        let one = classify(GtMeanWithGate, 0.0, [70.0].into_iter()).unwrap();
        assert_eq!(one, Paths { m: 1.0, bad: 0.0, d_good: 70.0, d_bad: 70.0 });
    }

    #[test]
    fn a_share_of_acknowledgements_becomes_a_number_of_paths() {
        assert_eq!(bad_paths(0.2, 10.0), 2.0);
        assert_eq!(bad_paths(0.2, 8.0), 2.0);
        assert_eq!(bad_paths(0.06, 8.0), 0.0);
        assert_eq!(bad_paths(1.0, 8.0), 8.0);
    }
}
