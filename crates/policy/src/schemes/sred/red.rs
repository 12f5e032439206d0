//! RED of one port, in whole numbers.
//!
//! Floyd, Jacobson, "Random early detection gateways for congestion avoidance", 1993, Fig. 2, in packets; above the
//! greater threshold the gentle variant of ns-2.
//!
//! Averages are kept in 2⁻²⁴ packets, chances in 2⁻³². The weight is a multiple of 2⁻²⁴, so an average is wrong by less
//! than 1 / (weight · 2²⁴) packets: 0.00003 with 0.002.

use super::Config;
use crate::{Rng, Span, Time};

/// One packet, in the unit of averages.
const PACKET: u32 = 24;
/// Certainty, in the unit of chances.
const CERTAIN: u64 = 1 << 32;

/// The parameters, as numbers to compute with.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    weight: i64,
    min: u64,
    max: u64,
    most: u64,
    gentle: bool,
    mean_packet: u32,
}

impl Law {
    /// Creates it from these parameters.
    pub fn new(config: &Config) -> Self {
        let packets = |count: f64| (count * (1u64 << PACKET) as f64 + 0.5) as u64;
        Law {
            weight: (packets(config.weight) as i64).max(1),
            min: packets(config.min_packets),
            max: packets(config.max_packets),
            most: (config.max_probability * CERTAIN as f64 + 0.5) as u64,
            gentle: config.gentle,
            mean_packet: config.mean_packet_bytes,
        }
    }

    /// Returns how long a packet of mean size takes at `rate` bits per second.
    #[inline]
    pub(crate) const fn mean_packet(&self, rate: u64) -> Span {
        Span::sending(self.mean_packet as u64, rate)
    }

    /// The chance of a drop at this average queue, before spacing.
    // RED: p_b ← max_p · (avg − min_th) / (max_th − min_th)
    pub const fn chance(&self, average: u64) -> u64 {
        let (least, most) = (self.min, self.max);
        if average < least {
            0
        } else if average < most {
            part(average - least, most - least, self.most)
        } else if self.gentle && average < 2 * most {
            self.most + part(average - most, most, CERTAIN - self.most)
        } else {
            CERTAIN
        }
    }
}

/// `part` / `whole`, scaled to `of`.
const fn part(part: u64, whole: u64, of: u64) -> u64 {
    (part as u128 * of as u128 / whole as u128) as u64
}

/// The chance after `since` consecutive packets that were not dropped: drops are spaced evenly, each gap equally
/// likely.
// RED: p_a ← p_b / (1 − count · p_b)
pub(crate) const fn spaced(chance: u64, since: u32) -> u64 {
    let taken = chance.saturating_mul(since as u64);
    if taken >= CERTAIN {
        return CERTAIN;
    }
    let spaced = part(chance, CERTAIN - taken, CERTAIN);
    if spaced < CERTAIN { spaced } else { CERTAIN }
}

/// Row per port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Red {
    /// Average queue, 2⁻²⁴ packets.
    pub average: u64,
    /// Consecutive packets that RED could have dropped and did not.
    pub since: u32,
    /// When the line has sent all that was queued so far.
    pub idle_from: Time,
}

impl Red {
    /// A packet found this many queued.
    pub fn found(&mut self, queued: u32, now: Time, mean_packet: Span, law: &Law) {
        if queued == 0 && now >= self.idle_from {
            // RED: avg ← (1 − w_q)^m · avg, as if m small packets had found an empty queue meanwhile
            let packets = now.since(self.idle_from).0 / mean_packet.0.max(1);
            self.average = decayed(self.average, packets, law.weight as u64);
        } else {
            // RED: avg ← (1 − w_q) · avg + w_q · q
            let apart = (i64::from(queued) << PACKET) - self.average as i64;
            self.average = self.average.saturating_add_signed((apart * law.weight) >> PACKET);
        }
    }

    /// Whether a packet that RED watches is dropped.
    pub fn drops(&mut self, law: &Law, rng: &mut Rng) -> bool {
        let chance = law.chance(self.average);
        if chance == 0 {
            self.since = 0;
            return false;
        }
        let dropped = rng.bits() >> 32 < spaced(chance, self.since);
        self.since = if dropped { 0 } else { self.since.saturating_add(1) };
        dropped
    }

    /// A packet is queued; the line is idle again at `idle_from` if no other arrives.
    #[inline]
    pub fn taken(&mut self, idle_from: Time) {
        self.idle_from = idle_from;
    }
}

/// `average` · (1 − weight)^packets, by squaring.
fn decayed(average: u64, packets: u64, weight: u64) -> u64 {
    let multiply = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 32) as u64;
    let (mut factor, mut power, mut left) = (CERTAIN, CERTAIN - (weight << (32 - PACKET)), packets);
    while left > 0 && factor > 0 {
        if left & 1 == 1 {
            factor = multiply(factor, power);
        }
        power = multiply(power, power);
        left >>= 1;
    }
    multiply(average, factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law() -> Law {
        Law::new(&Config::default())
    }

    fn packets(count: f64) -> u64 {
        (count * f64::from(1 << PACKET)) as u64
    }

    fn share(chance: u64) -> f64 {
        chance as f64 / CERTAIN as f64
    }

    #[test]
    fn the_chance_of_a_drop_is_nothing_then_a_ramp_then_a_steeper_one_to_certainty() {
        let hard = Law::new(&Config { gentle: false, ..Config::default() });
        for (average, gentle, not) in [
            (0.0, 0.0, 0.0),
            (4.999, 0.0, 0.0),
            (5.0, 0.0, 0.0),
            (10.0, 0.05, 0.05),
            (14.0, 0.09, 0.09),
            (15.0, 0.1, 1.0),
            (22.5, 0.55, 1.0),
            (30.0, 1.0, 1.0),
            (1e6, 1.0, 1.0),
        ] {
            assert!((share(law().chance(packets(average))) - gentle).abs() < 1e-6, "{average}");
            assert!((share(hard.chance(packets(average))) - not).abs() < 1e-6, "{average}");
        }
    }

    #[test]
    fn drops_are_evenly_spaced() {
        // Floyd and Jacobson: the gap is uniform on 1 to 1 / p_b.
        let fixed = packets(10.0);
        let (mut rng, mut gaps) = (Rng::stream(1, "red", 0), [0u32; 22]);
        let mut red = Red { average: fixed, ..Red::default() };
        let mut gap = 0;
        for _ in 0..210_000 {
            gap += 1;
            if red.drops(&law(), &mut rng) {
                gaps[gap] += 1;
                gap = 0;
            }
        }
        assert_eq!((gaps[0], gaps[21]), (0, 0));
        // Each of the gaps 1 to 20 has a twentieth of about 20,000 drops.
        assert!(gaps[1..21].iter().all(|&times| times.abs_diff(1_000) < 130), "{gaps:?}");
        assert_eq!([spaced(CERTAIN / 20, 0), spaced(CERTAIN / 20, 10)].map(|p| (share(p) * 1e3) as u32), [49, 99]);
        assert_eq!(spaced(CERTAIN / 4, 5), CERTAIN);
    }

    #[test]
    fn the_average_follows_the_queue_and_decays_while_the_line_is_idle() {
        let (mut red, mean) = (Red::default(), Span::from_ns(1_200));
        red.taken(Time(1_000_000_000));
        for n in 1..=500u32 {
            red.found(40, Time(u64::from(n)), mean, &law());
            let exact = 40.0 * (1.0 - 0.998f64.powi(n as i32));
            assert!((red.average as f64 / packets(1.0) as f64 - exact).abs() < 1e-3, "{n}");
        }
        // An empty queue behind a busy line counts as nothing queued.
        let before = red.average as f64;
        red.found(0, Time(999_999_999), mean, &law());
        assert!((red.average as f64 / before - 0.998).abs() < 1e-6);
        // Idle for as long as 700 packets take.
        let before = red.average as f64;
        red.found(0, Time(1_000_000_000 + 700 * mean.0), mean, &law());
        assert!((red.average as f64 / before - 0.998f64.powi(700)).abs() < 1e-5, "{}", red.average);
    }
}
