//! Algorithms 1 and 2: the value of a delay, and the verdict of a rack's packets on a path.

use crate::{Span, Way};

/// Resolution of a delay: that of the one-way delays which acknowledgements echo.
pub(crate) const STEP: Span = Span::from_ns(256);

/// The congestion value of one packet or probe that took `t`, in cubes of [`STEP`].
// MEET Algorithm 1: nothing below K, because the bare cube of Eq. 1 would let fast packets subtract.
#[inline]
pub fn congestion(t: Span, k: Span) -> u64 {
    let steps = (t.0.saturating_sub(k.0) / STEP.0).min(u64::from(u16::MAX));
    steps * steps * steps
}

/// Reports of packets on one path: lines 3 and 4 of Algorithm 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// C_total, in cubes of [`STEP`].
    pub total: u64,
    /// P_total.
    pub packets: u32,
}

/// The bit of a report's packet count that says that the sender has flows to that rack. It is set with the first path.
const HAS_FLOWS: u32 = 1 << 31;

impl Tally {
    /// One packet more.
    // MEET Algorithm 2, lines 3 and 4.
    #[inline]
    pub fn add(&mut self, congestion: u64) {
        self.merge(Tally { total: congestion, packets: 1 });
    }

    /// Adds those of another host.
    #[inline]
    pub fn merge(&mut self, other: Tally) {
        self.total = self.total.saturating_add(other.total);
        self.packets = self.packets.saturating_add(other.packets).min(HAS_FLOWS - 1);
    }

    /// The mean; without packets the path is unknown.
    // MEET Algorithm 2, line 7.
    pub(crate) fn score(&self) -> Score {
        if self.packets == 0 {
            return Score::UNKNOWN;
        }
        let mean = (u128::from(self.total) << FRACTION) / u128::from(self.packets);
        Score::known(mean.min(u128::from(u64::MAX)) as u64)
    }

    /// Encodes it for reports: "a float number and an integer", 8 bytes (MEET §3.5).
    pub fn put(&self, has_flows: Option<Way>) -> [u8; 8] {
        let mark = if has_flows == Some(Way(0)) { HAS_FLOWS } else { 0 };
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&float(self.total).to_le_bytes());
        bytes[4..].copy_from_slice(&(self.packets | mark).to_le_bytes());
        bytes
    }

    /// Reads that form, and whether the sender has flows there.
    pub fn get(bytes: [u8; 8]) -> (Tally, bool) {
        let [a, b, c, d, e, f, g, h] = bytes;
        let packets = u32::from_le_bytes([e, f, g, h]);
        let total = unfloat(u32::from_le_bytes([a, b, c, d]));
        (Tally { total, packets: packets & !HAS_FLOWS }, packets & HAS_FLOWS != 0)
    }
}

/// Fractional bits of a score: means of few cubes differ.
const FRACTION: u32 = 8;

/// Assumed congestion of a path: less is better, and among equals the one that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(u32);

impl Score {
    /// Neither data nor probes have reported anything: counts as uncongested, but after paths known to be so.
    pub const UNKNOWN: Score = Score(1);

    /// Skipped: another path is chosen, whatever is known of this one. Worse than any measurement.
    pub(crate) const PASSED_OVER: Score = Score(u32::MAX - 1);

    /// Bytes of a broadcast per path.
    pub const BYTES: usize = 4;

    /// A mean, in cubes of [`STEP`] with [`FRACTION`] fractional bits.
    fn known(mean: u64) -> Score {
        Score(float(mean) << 1)
    }

    /// The score of a single congestion value.
    pub fn of(congestion: u64) -> Score {
        Score::known(congestion << FRACTION)
    }

    /// Whether anything has been measured.
    pub(crate) const fn is_known(self) -> bool {
        self.0 & 1 == 0
    }

    /// The delay above K, µs, of which it is the cube, for output; NaN if nothing was measured or it counts for
    /// nothing.
    pub(crate) fn excess_us(self) -> f64 {
        if !self.is_known() || self == Score::PASSED_OVER {
            return f64::NAN;
        }
        let cube = unfloat(self.0 >> 1) as f64 / f64::from(1u32 << FRACTION);
        // Without a mathematical library: bisection, to a millionth of a step.
        let (mut low, mut high) = (0.0, f64::from(1u32 << 19));
        while high - low > 1e-6 {
            let middle = (low + high) / 2.0;
            if middle * middle * middle > cube {
                high = middle;
            } else {
                low = middle;
            }
        }
        low * STEP.0 as f64 / 1e6
    }

    /// Encodes it in wire format.
    pub const fn put(self) -> [u8; Self::BYTES] {
        self.0.to_le_bytes()
    }

    /// Decodes it from wire format.
    pub const fn get(bytes: [u8; Self::BYTES]) -> Score {
        Score(u32::from_le_bytes(bytes))
    }
}

impl Default for Score {
    fn default() -> Self {
        Score::UNKNOWN
    }
}

/// Bits of the significand of a [`float`].
const SIGNIFICAND: u32 = 24;

/// A number in 30 bits, 24 of them significant, rounded down; monotonic. Integer arithmetic, because a report is read
/// outside `tick`.
const fn float(number: u64) -> u32 {
    let exponent = (u64::BITS - number.leading_zeros()).saturating_sub(SIGNIFICAND);
    exponent << SIGNIFICAND | (number >> exponent) as u32
}

/// The number; for bytes of another origin, some number.
const fn unfloat(float: u32) -> u64 {
    let exponent = float >> SIGNIFICAND;
    let significand = (float & ((1 << SIGNIFICAND) - 1)) as u64;
    if exponent > u64::BITS - SIGNIFICAND { u64::MAX } else { significand << exponent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn algorithm_1_by_hand() {
        let k = Span::from_us(60);
        let steps = |n: u64| k + STEP * n;
        for (t, c) in [(Span::ZERO, 0), (Span::from_us(40), 0), (k, 0), (steps(1), 1), (steps(10), 1_000)] {
            assert_eq!(congestion(t, k), c, "{t:?}");
        }
        // 60 + 40.96 µs = 160 steps above K.
        assert_eq!(congestion(Span::from_ns(100_960), k), 160 * 160 * 160);
        assert_eq!(congestion(Span::FOREVER, k), 65_535u64.pow(3), "clamped above too");
    }

    #[test]
    fn algorithm_2_by_hand() {
        // Two hosts of a rack about one path: delays of 0, 2 and 4 steps above K, and of 6.
        let (mut one, mut two) = (Tally::default(), Tally::default());
        [0, 8, 64].into_iter().for_each(|c| one.add(c));
        two.add(216);
        assert_eq!((one, two), (Tally { total: 72, packets: 3 }, Tally { total: 216, packets: 1 }));
        let mut rack = Tally::default();
        rack.merge(one);
        rack.merge(two);
        assert_eq!(rack.score(), Score::of(72), "288 / 4");
        // A mean of means would be (24 + 216) / 2.
        assert_ne!(rack.score(), Score::of(120));
        assert_eq!(Tally::default().score(), Score::UNKNOWN, "no division by zero");
    }

    #[test]
    fn scores_rank_means_and_unknown_last_of_equals() {
        let of = |total, packets| Tally { total, packets }.score();
        let rising = [
            of(0, 7),
            Score::UNKNOWN,
            of(1, 200),
            of(1, 3),
            of(1, 1),
            of(9, 2),
            Score::of(u64::MAX),
            Score::PASSED_OVER,
        ];
        assert!(rising[6].excess_us() > 0.0 && Score::PASSED_OVER.excess_us().is_nan());
        for pair in rising.windows(2) {
            assert!(pair[0] < pair[1], "{pair:?}");
        }
        for score in rising {
            assert_eq!(Score::get(score.put()), score);
            assert_eq!(score.is_known(), score != Score::UNKNOWN);
        }
    }

    #[test]
    fn reports_survive_the_wire_to_24_bits() {
        for total in [0, 1, 0xff_ffff, 0x100_0000, 123_456_789_012, 1 << 62, u64::MAX] {
            let tally = Tally { total, packets: 12_345 };
            let (read, flows) = Tally::get(tally.put(Some(Way(0))));
            assert!(flows && read.packets == 12_345);
            assert!(read.total <= total && total - read.total <= total >> 23, "{total} became {}", read.total);
        }
        assert!(!Tally::get(Tally::default().put(Some(Way(1)))).1, "told once a rack, with its first path");
        assert_eq!(Tally::get([0xff; 8]).0.total, u64::MAX);
    }

    #[test]
    fn counts_and_totals_end_somewhere() {
        let mut tally = Tally { total: u64::MAX - 1, packets: HAS_FLOWS - 1 };
        tally.add(1_000);
        assert_eq!(tally, Tally { total: u64::MAX, packets: HAS_FLOWS - 1 });
    }
}
