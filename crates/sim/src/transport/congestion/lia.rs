//! Linked Increases (RFC 6356): the windows of the subflows of one connection grow together.

use super::reno::Reno;
use super::{About, Acked, Controller, NoKeys, Start, Window};
use spinewise_policy::time::Span;

/// Its user documentation.
pub(super) const ABOUT: About = About {
    about: "MPTCP: TCP NewReno subflows with coupled increase (LIA), lowest round-trip time first",
    source: "RFC 8684, RFC 6356, Raiciu et al. (SIGCOMM 2011)",
};

/// Reno that grows no faster than the connection may.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lia {
    reno: Reno,
    /// The window grows as one of this size would, if that is larger.
    coupled: u64,
}

impl Controller for Lia {
    type Config = NoKeys;

    fn new(_: &NoKeys, _: &Start) -> Self {
        Self::default()
    }

    fn grow(&mut self, _: &NoKeys, window: &mut Window, ack: &Acked) {
        self.reno.count(window, window.cwnd.max(self.coupled), ack); // RFC 6356 eq. (1)
    }

    fn restart(&mut self) {
        self.reno.restart();
    }

    fn couple(&mut self, window: u64) {
        self.coupled = window;
    }
}

/// The window, in bytes, at whose pace each subflow's window grows in congestion avoidance, unless its own is larger:
/// `cwnd_total` / `alpha` of RFC 6356. `subflows` are windows in bytes with smoothed round-trip times; those without a
/// sample must be left out. 0 without any.
///
/// Eq. (1) gives a window `bytes_acked` times MSS times min(`alpha` / `cwnd_total`, 1 / `cwnd_i`); so it grows by one
/// MSS for each max(`cwnd_total` / `alpha`, `cwnd_i`) bytes. With eq. (2) for `alpha`, and m the subflow with the
/// greatest `cwnd_i` / `rtt_i`²,
///
/// ```text
/// cwnd_total / alpha = (Σ cwnd_i / rtt_i)² / (cwnd_m / rtt_m²) = (Σ cwnd_i · rtt_m / rtt_i)² / cwnd_m
/// ```
///
/// which is `cwnd_i` itself for a single subflow, exactly, and in which `cwnd_total` has cancelled out. Rounded down at
/// each division; round-trip times count in nanoseconds.
pub(crate) fn coupled_window(subflows: impl Iterator<Item = (u64, Span)> + Clone) -> u64 {
    let paths =
        subflows.map(|(cwnd, rtt)| (u128::from(cwnd.clamp(1, MOST)), u128::from((rtt.0 / 1000).clamp(1, MOST))));
    // Compares by cross-multiplication: cwnd / rtt² of one is greater than that of the other. If equal, the first.
    let greater = |(c, r): (u128, u128), (d, s): (u128, u128)| c * s * s > d * r * r;
    let best = paths.clone().reduce(|best, path| if greater(path, best) { path } else { best });
    let Some((cwnd, rtt)) = best else { return 0 };
    // RFC 6356 eq. (2)
    let sum: u128 = paths.map(|(c, r)| c * rtt / r).sum();
    u64::try_from(sum * sum / cwnd).unwrap_or(u64::MAX)
}

/// Bytes, and nanoseconds: a terabyte, and a quarter of an hour. Keeps the products within 128 bits.
const MOST: u64 = 1 << 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn window(subflows: &[(u64, u64)]) -> u64 {
        coupled_window(subflows.iter().map(|&(cwnd, us)| (cwnd, Span::from_us(us))))
    }

    /// `cwnd_total` / `alpha`, as RFC 6356 writes them.
    fn by_the_rfc(subflows: &[(u64, u64)]) -> f64 {
        let paths = || subflows.iter().map(|&(cwnd, us)| (cwnd as f64, us as f64));
        let total: f64 = paths().map(|(cwnd, _)| cwnd).sum();
        let max = paths().map(|(cwnd, rtt)| cwnd / (rtt * rtt)).fold(0.0, f64::max);
        let sum: f64 = paths().map(|(cwnd, rtt)| cwnd / rtt).sum();
        let alpha = total * max / (sum * sum);
        total / alpha
    }

    #[test]
    fn one_subflow_grows_as_its_own_window_does() {
        for cwnd in [1, 1460, 14_600, 123_457, MOST] {
            for us in [1, 7, 80, 1_000_000] {
                assert_eq!(window(&[(cwnd, us)]), cwnd);
            }
        }
        assert_eq!(window(&[]), 0);
    }

    #[test]
    fn it_is_the_formula_of_the_rfc() {
        let cases: [&[(u64, u64)]; 5] = [
            &[(14_600, 100), (14_600, 100)],
            &[(14_600, 100), (14_600, 200), (29_200, 400)],
            &[(1460, 10), (1_460_000, 1000)],
            &[(100_000, 37), (3_000, 911), (77_777, 53), (1460, 20)],
            &[(14_600, 100); 8],
        ];
        for case in cases {
            let (ours, theirs) = (window(case) as f64, by_the_rfc(case));
            assert!((ours - theirs).abs() <= 1e-3 * theirs, "{ours} {theirs} {case:?}");
        }
        // n alike: (n cwnd)² / cwnd. Together they gain an MSS for each n times their sum: as one TCP does, squared
        // away, since each of the n sees a share 1 / n of the acknowledgements.
        assert_eq!(window(&[(14_600, 100); 8]), 64 * 14_600);
        assert_eq!(window(&[(14_600, 100), (14_600, 100)]), 4 * 14_600);
    }

    /// The second aim of RFC 6356 §2: no more than one TCP takes on the best of the paths.
    #[test]
    fn no_subflow_grows_faster_than_alone() {
        for case in [[(5000, 10), (90_000, 300)], [(90_000, 10), (5000, 300)], [(8000, 50), (8000, 51)]] {
            let own = case.iter().map(|&(cwnd, _)| cwnd).min().expect("two");
            assert!(window(&case) >= own, "{case:?}");
        }
    }

    #[test]
    fn extremes_do_not_overflow() {
        // One byte at a nanosecond is the best of the two; the other adds 2⁴⁰ bytes by 2⁻⁴⁰.
        assert_eq!(coupled_window([(u64::MAX, Span(u64::MAX)), (0, Span(0))].into_iter()), 4);
        assert!(coupled_window([(MOST, Span(1)), (MOST, Span(u64::MAX))].into_iter()) >= MOST);
    }
}
