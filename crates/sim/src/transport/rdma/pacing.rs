//! The pacing of a queue pair: the next packet may leave a packet's time at the current rate after the previous one.

use crate::packet::ns3_nanoseconds;
use spinewise_policy::time::{BYTE_PS, Span, Time};

/// The pacing of one queue pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacing {
    /// The floor of the exact instant.
    next: Time,
    /// The remainder of the floor, in units of 1 / `rate` picoseconds.
    fraction: u64,
    rate: u64,
}

impl Pacing {
    /// The first packet may leave at `now`.
    pub(super) fn new(now: Time) -> Self {
        Self { next: now, fraction: 0, rate: 1 }
    }

    /// Returns the earliest instant of the next packet.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// A packet of `bytes` on the wire leaves at `now`, at `rate` bits per second. The fraction is carried if it leaves
    /// on time; a late packet starts afresh.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, bytes: u32, rate: u64) {
        let carried = match now == self.next {
            true if rate == self.rate => self.fraction,
            true => (u128::from(self.fraction) * u128::from(rate) / u128::from(self.rate)) as u64,
            false => 0,
        };
        let work = u64::from(bytes) * BYTE_PS + carried;
        self.next = now + Span(work / rate);
        self.fraction = work % rate;
        self.rate = rate;
    }

    /// The same on a clock of whole nanoseconds that cuts off and carries nothing.
    #[inline]
    pub(super) fn sent_floor_1ns(&mut self, now: Time, bytes: u32, rate: u64) {
        let ns = u64::from(bytes) * (BYTE_PS / 1_000) / rate;
        self.next = now + Span::from_ns(ns);
    }

    /// The same, with nanoseconds as ns-3 computes them.
    pub(super) fn sent_ns3(&mut self, now: Time, bytes: u32, rate: u64) {
        self.next = now + Span::from_ns(ns3_nanoseconds(u64::from(bytes), rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_packets_at_rates_that_do_not_divide() {
        for rate in [3_000_000_000, 99_999_999_977, 700_000_001, 40_009] {
            let mut pacing = Pacing::new(Time(17));
            for k in 1..=10_000_u64 {
                pacing.sent(pacing.next(), 1048, rate);
                let exact = 17 + u128::from(k) * 1048 * u128::from(BYTE_PS) / u128::from(rate);
                assert_eq!(u128::from(pacing.next().0), exact, "packet {k} at {rate}");
            }
        }
    }

    #[test]
    fn changes_of_rate_lose_less_than_a_picosecond() {
        let rates = [3_000_000_000_u64, 7_000_000_000, 99_999_999_977];
        let (mut pacing, mut exact) = (Pacing::new(Time::ZERO), 0.0_f64);
        for k in 0..3_000_usize {
            let rate = rates[k / 7 % 3];
            pacing.sent(pacing.next(), 1048, rate);
            exact += 1048.0 * BYTE_PS as f64 / rate as f64;
        }
        let changes = 3_000 / 7;
        let behind = exact - pacing.next().0 as f64;
        // Each conversion rounds down by less than one unit of the new rate, 1/3e9 ps; the sum of doubles is off by more.
        assert!((-0.1..1.1).contains(&behind), "{behind} ps after {changes} changes");
    }

    #[test]
    fn a_late_packet_starts_anew() {
        let mut pacing = Pacing::new(Time::ZERO);
        pacing.sent(Time::ZERO, 1, 3_000_000_000_000);
        assert_eq!(pacing.next(), Time(2)); // 2 2/3
        pacing.sent(Time(2), 1, 3_000_000_000_000);
        assert_eq!(pacing.next(), Time(5)); // 5 1/3
        pacing.sent(Time(7), 1, 3_000_000_000_000);
        assert_eq!(pacing.next(), Time(9)); // 9 2/3, not 10
    }

    #[test]
    fn whole_nanoseconds_are_cut_off_each_time() {
        let mut pacing = Pacing::new(Time(500));
        for k in 1..=1000_u64 {
            pacing.sent_floor_1ns(pacing.next(), 1048, 100_000_000_000);
            assert_eq!(pacing.next(), Time(500 + k * 83_000)); // 83.84 ns
        }
        pacing.sent_floor_1ns(Time(1_000_000_000), 60, 100_000_000_000);
        assert_eq!(pacing.next(), Time(1_000_004_000)); // 4.8 ns
    }
}
