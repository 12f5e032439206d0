//! The use of a link, estimated from the bytes sent over it: CONGA's discounting rate estimator (DRE).
//!
//! Alizadeh et al., "CONGA: distributed congestion-aware load balancing for datacenters", SIGCOMM 2014, section 3.2.
//!
//! | equation | function |
//! |---|---|
//! | X ← X + bytes; X ← X·(1 − α) every T_dre | [`Dre::sent`], [`decayed`] |
//! | τ = T_dre / α | [`time_constant`] |
//! | X ≈ R·τ | [`full_register`] |
//! | metric = X / (C·τ) in Q bits | [`quantised`] |
//!
//! **Rounding.** X is whole bytes; each decay multiplies by round((1 − α)·2¹⁶) / 2¹⁶ and drops the fraction, so X is
//! less than 1/α bytes too small (5 of 187,500 at 10 Gbps). Decays are made up for when X is next looked at, one by
//! one: exactly what a timer with beats at multiples of T_dre would leave. τ follows the rounded α. With
//! [`Register::Double`] the factor and τ are not rounded and the metric is not clamped, as in ConWeave's public code.

use crate::{Span, Time};

crate::choice! {
    /// The arithmetic of an estimator.
    Register {
        /// Fractions of 2¹⁶, as in a switch; the metric stays within its bits.
        Fixed = "fixed",
        /// Doubles; the metric may outgrow its bits (ConWeave's public code).
        Double = "double",
    }
}

/// The fraction kept by a decay.
#[derive(Clone, Copy, Debug)]
enum Keep {
    /// Parts of 65536.
    Fixed(u32),
    /// A fraction of 1.
    Double(f64),
}

/// The parameters of an estimator.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    period: Span,
    keep: Keep,
    tau: Span,
    /// Bits of the metric.
    bits: u32,
    /// The maximum metric.
    most: u8,
}

impl Rules {
    /// Each decay, one per `period`, removes the share `alpha`; the metric has `bits` bits.
    pub fn new(period: Span, alpha: f64, bits: u32, register: Register) -> Rules {
        match register {
            Register::Fixed => {
                let keep = ((1.0 - alpha) * 65_536.0 + 0.5) as u32;
                let most = ((1u32 << bits) - 1) as u8;
                Rules { period, keep: Keep::Fixed(keep), tau: time_constant(period, keep), bits, most }
            }
            Register::Double => {
                let tau = Span((period.0 as f64 / alpha + 0.5) as u64);
                Rules { period, keep: Keep::Double(1.0 - alpha), tau, bits, most: u8::MAX }
            }
        }
    }
}

/// The estimator of one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dre {
    /// X, bytes.
    pub bytes: u64,
    /// Decays applied so far, in periods of its clock.
    beats: u64,
    /// The rate that `full` was computed for, bits per second.
    rate: u64,
    /// X of a fully used link, bytes.
    pub full: u64,
}

impl Dre {
    /// Applies the decays since the last look, and a changed rate of the link.
    #[inline]
    pub fn catch_up(&mut self, now: Time, rate: u64, rules: &Rules) {
        let beats = now.0 / rules.period.0;
        if beats > self.beats {
            self.bytes = match rules.keep {
                Keep::Fixed(keep) => decayed(self.bytes, beats - self.beats, keep),
                Keep::Double(keep) => decayed_double(self.bytes, beats - self.beats, keep),
            };
            self.beats = beats;
        }
        if rate != self.rate {
            (self.rate, self.full) = (rate, full_register(rate, rules.tau));
        }
    }

    /// A packet is sent.
    #[inline]
    pub fn sent(&mut self, wire: u32, now: Time, rate: u64, rules: &Rules) {
        self.catch_up(now, rate, rules);
        self.bytes += u64::from(wire);
    }

    /// The use of the link in 2^Q steps.
    #[inline]
    pub const fn metric(&self, rules: &Rules) -> u8 {
        let steps = (self.bytes << rules.bits) / self.full;
        if steps > rules.most as u64 { rules.most } else { steps as u8 }
    }
}

/// [`decayed`], each decay keeping the share `keep`.
// conga-routing.cc, DreEvent
#[cold]
fn decayed_double(bytes: u64, beats: u64, keep: f64) -> u64 {
    let (mut x, mut left) = (bytes, beats);
    while left > 0 && x > 0 {
        x = (x as f64 * keep) as u64;
        left -= 1;
    }
    x
}

/// X after this many decays, each keeping `keep` / 65536 of it.
// CONGA §3.2: X ← X·(1 − α)
#[inline]
pub const fn decayed(bytes: u64, beats: u64, keep: u32) -> u64 {
    let (mut x, mut left) = (bytes, beats);
    // The value ends at zero, however many are left.
    while left > 0 && x > 0 {
        x = (x * keep as u64) >> 16;
        left -= 1;
    }
    x
}

/// Returns how long the estimator remembers, for a decay that keeps `keep` / 65536.
// CONGA §3.2: τ = T_dre / α
pub const fn time_constant(period: Span, keep: u32) -> Span {
    Span((period.0 as u128 * 65_536 / (65_536 - keep) as u128) as u64)
}

/// X of a link of `rate` bits per second in full use, bytes, at least one.
// CONGA §3.2: X ≈ R·τ
pub const fn full_register(rate: u64, tau: Span) -> u64 {
    let bytes = tau.carries(rate);
    if bytes == 0 { 1 } else { bytes }
}

/// The utilisation `bytes` / `full` in 2^`bits` steps, rounded down, clamped to the last.
// CONGA §3.2: X / (C·τ) quantised to Q bits
#[inline]
pub const fn quantised(bytes: u64, full: u64, bits: u32) -> u8 {
    let steps = (bytes << bits) / full;
    let last = (1 << bits) - 1;
    if steps > last { last as u8 } else { steps as u8 }
}
