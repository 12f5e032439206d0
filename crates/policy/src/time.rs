//! Simulated time: whole picoseconds in 64 bits (213 days), with separate types for an instant and a length of time.

use core::ops::{Add, AddAssign, Mul, Sub};

/// The time of a byte at one bit per second, in picoseconds. Divided by a rate, it gives the time of a byte; a time
/// multiplied by a rate and divided by this gives bytes.
pub const BYTE_PS: u64 = 8_000_000_000_000;

/// An instant, in picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// Later than every event: "never".
    pub const NEVER: Time = Time(u64::MAX);

    /// The time since `earlier`, zero if `earlier` is in the future.
    #[inline]
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Zero time.
    pub const ZERO: Span = Span(0);
    /// Longer than every run.
    pub const FOREVER: Span = Span(u64::MAX);

    /// Whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns * 1_000)
    }

    /// Whole microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us * 1_000_000)
    }

    /// Whole milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * 1_000_000_000)
    }

    /// Microseconds with a fraction, as parameters give them, rounded to the nearest picosecond.
    pub fn from_us_f64(us: f64) -> Span {
        Span((us * 1e6 + 0.5) as u64)
    }

    /// The time that `bytes` take at `rate` bits per second, rounded down; forever if the rate is zero or 64 bits
    /// cannot hold it.
    #[inline]
    pub const fn sending(bytes: u64, rate: u64) -> Span {
        if rate == 0 {
            return Span::FOREVER;
        }
        if let Some(work) = bytes.checked_mul(BYTE_PS) {
            return Span(work / rate);
        }
        let took = bytes as u128 * BYTE_PS as u128 / rate as u128;
        if took > u64::MAX as u128 { Span::FOREVER } else { Span(took as u64) }
    }

    /// The bytes that `rate` bits per second carry in this time, rounded down; at most what 64 bits can hold.
    #[inline]
    pub const fn carries(self, rate: u64) -> u64 {
        let bytes = self.0 as u128 * rate as u128 / BYTE_PS as u128;
        if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 }
    }

    /// Returns it in microseconds, for display and for floating-point models in `tick`.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    #[inline]
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compared with exact numbers of 128 bits; a value beyond 64 bits is the maximum.
    #[test]
    fn bytes_take_time_and_time_carries_bytes() {
        for bytes in [0, 1, 64, 1_500, 2_305_843, 2_305_844, 1 << 40, u64::MAX] {
            for rate in [1, 7, 3_000_000_000, 400_000_000_000, u64::MAX] {
                let exact = u128::from(bytes) * 8_000_000_000_000 / u128::from(rate);
                let took = Span::sending(bytes, rate);
                assert_eq!(took.0, u64::try_from(exact).unwrap_or(u64::MAX), "{bytes} bytes at {rate} bit/s");
                let carried = u128::from(took.0) * u128::from(rate) / 8_000_000_000_000;
                assert_eq!(u128::from(took.carries(rate)), carried.min(u64::MAX.into()), "{took:?} at {rate} bit/s");
            }
        }
        assert_eq!(Span::sending(1, 0), Span::FOREVER);
        assert_eq!(Span::from_us(1).carries(0), 0);
    }
}
