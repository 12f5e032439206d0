//! A host's knowledge of one path to another rack, and the class that follows from it (Algorithm 1).

use super::Signals;
use crate::{Span, Time};

/// A packet that got through, as its answer reports it.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// When it was sent.
    pub sent: Time,
    /// The measured delay: one way, or the round trip.
    pub delay: Span,
    /// It was marked.
    pub marked: bool,
}

/// The class of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Little delay, few marks: underused.
    Good,
    /// In between, or too little is known.
    Gray,
    /// Much delay and many marks.
    Congested,
    /// It loses packets that no congestion explains.
    Failed,
}

/// Thresholds in the units of a host's rows, computed once from the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// T_RTT_low, ns; 0: not computed yet.
    pub low: u32,
    /// T_RTT_high, ns.
    pub high: u32,
    /// Δ_RTT, ns.
    pub margin: u32,
    /// R, as a [`Meter`] reads.
    pub rate: u32,
}

/// The parameters that the rules of sensing need.
#[derive(Clone, Copy, Debug)]
pub struct Senses {
    /// The signals of congestion.
    pub signals: Signals,
    /// Weight of a new delay, in 256ths.
    pub gain: i64,
    /// Marks count half after this time.
    pub half_life: Span,
    /// Anything older says nothing.
    pub stale: Span,
    /// T_ECN, in billionths.
    pub ecn: u64,
    /// Δ_ECN, in 65536ths.
    pub ecn_margin: u32,
    /// Retransmissions are counted over this time.
    pub tau: Span,
    /// Share of retransmissions that no congestion explains, in billionths.
    pub retransmitted: u64,
    /// This number of timeouts without an acknowledgement is a blackhole.
    pub timeouts: u8,
    /// A failed path is tried again after this time.
    pub failed_for: Span,
}

/// Fewer packets than this in [`Senses::tau`] say nothing about a share of one in a hundred.
pub(crate) const FEWEST_SENT: u32 = 100;

/// Recent bytes, fading by an eighth in each step of time: eight steps' worth at a constant rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    bytes: u32,
    step: u32,
}

impl Meter {
    /// Steps after which nothing remains.
    const EMPTY_AFTER: u32 = 200;

    /// Its reading in this step.
    #[inline]
    pub fn read(&self, step: u32) -> u32 {
        let steps = step.wrapping_sub(self.step);
        if steps >= Self::EMPTY_AFTER {
            return 0;
        }
        let mut bytes = self.bytes;
        for _ in 0..steps {
            if bytes == 0 {
                break;
            }
            bytes -= bytes.div_ceil(8);
        }
        bytes
    }

    /// Adds bytes sent in this step.
    #[inline]
    pub fn add(&mut self, step: u32, bytes: u32) {
        if step != self.step {
            *self = Meter { bytes: self.read(step), step };
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Known facts about one path; made from a [`Route`] for the rerouting rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its class.
    pub class: Class,
    /// t_RTT, ns.
    pub delay: u32,
    /// f_ECN, in 65536ths.
    pub ecn: u32,
    /// r_p, as a [`Meter`] reads.
    pub rate: u32,
}

/// Row per (destination rack, path).
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    /// t_RTT, ns; 0: never measured.
    pub delay: u32,
    /// Recently answered packets, in 256ths.
    answered: u32,
    /// The marked ones among them.
    marked: u32,
    /// A probe's result not yet shared; see [`super::probing::News`].
    pub news: u32,
    /// When it was last measured.
    pub sampled: Time,
    /// When the counts of marks are halved.
    halves_at: Time,
    /// When its failure ends, or the count of retransmissions.
    pub until: Time,
    /// r_p: the rate of this host's flows on it.
    pub rate: Meter,
    /// Data packets sent on it since the count began.
    sent: u32,
    /// When the last of those that got through was sent; see [`ticks`].
    proven: u32,
    /// Data packets lost on it since the count began.
    lost: u16,
    /// Flows on it (released rules only).
    pub flows: u16,
    /// Timeouts since the last acknowledgement.
    timeouts: u8,
    /// Probes lost since the last answer.
    silent: u8,
    /// Considered failed, until `until`.
    failed: bool,
}

impl Route {
    /// A packet on it was answered.
    #[inline]
    pub fn sample(&mut self, now: Time, crossing: &Crossing, senses: &Senses) {
        let new = nanoseconds(crossing.delay);
        self.delay = if self.is_stale(now, senses) {
            new
        } else {
            (i64::from(self.delay) + (((i64::from(new) - i64::from(self.delay)) * senses.gain) >> 8)) as u32
        };
        if now >= self.halves_at {
            let halvings = 1 + now.since(self.halves_at).0 / senses.half_life.0.max(1);
            let shift = halvings.min(31) as u32;
            (self.answered, self.marked) = (self.answered >> shift, self.marked >> shift);
            self.halves_at = now + senses.half_life;
        }
        self.answered = self.answered.saturating_add(256);
        self.marked = self.marked.saturating_add(if crossing.marked { 256 } else { 0 });
        self.sampled = now;
        self.proven = self.proven.max(ticks(crossing.sent));
    }

    /// Whether nothing is known of it, or no longer anything.
    #[inline]
    fn is_stale(&self, now: Time, senses: &Senses) -> bool {
        self.delay == 0 || now.since(self.sampled) > senses.stale
    }

    /// f_ECN, in 65536ths.
    fn ecn(&self) -> u32 {
        if self.answered == 0 { 0 } else { ((u64::from(self.marked) << 16) / u64::from(self.answered)) as u32 }
    }

    /// Its class.
    // Hermes Algorithm 1.
    #[inline]
    pub fn class(&self, now: Time, limits: &Limits, senses: &Senses) -> Class {
        if self.failed && now < self.until {
            return Class::Failed;
        }
        if self.is_stale(now, senses) {
            return Class::Gray;
        }
        if self.silent > 0 {
            return Class::Congested;
        }
        let (marked, share) = (u64::from(self.marked) * 1_000_000_000, senses.ecn * u64::from(self.answered));
        let (low, high) = (self.delay < limits.low, self.delay > limits.high);
        match senses.signals {
            Signals::RttEcn => corner(marked.cmp(&share), low, high),
            Signals::Rtt if low => Class::Good,
            Signals::Rtt if high => Class::Congested,
            Signals::Rtt => Class::Gray,
        }
    }

    /// Everything that the rerouting rules need; an unknown path is gray, at T_RTT_low.
    pub fn seen(&self, now: Time, step: u32, limits: &Limits, senses: &Senses) -> Seen {
        let rate = self.rate.read(step);
        let class = self.class(now, limits, senses);
        if self.is_stale(now, senses) {
            return Seen { class, delay: limits.low, ecn: 0, rate };
        }
        Seen { class, delay: self.delay, ecn: self.ecn(), rate }
    }

    /// A data packet of `wire` bytes leaves on it.
    #[inline]
    pub fn send(&mut self, step: u32, wire: u32) {
        self.rate.add(step, wire);
        self.sent = self.sent.saturating_add(1);
    }

    /// A data packet on it was acknowledged: it is not a blackhole.
    #[inline]
    pub fn acknowledged(&mut self) {
        (self.timeouts, self.silent) = (0, 0);
    }

    /// A probe on it came back.
    pub fn answered(&mut self) {
        self.silent = 0;
    }

    /// A data packet sent on it is sent again.
    pub fn retransmitted(&mut self) {
        if self.lost == u16::MAX {
            // Only the share counts.
            (self.sent, self.lost) = (self.sent / 2, self.lost / 2);
        }
        self.lost += 1;
    }

    /// Ends the count of retransmissions if its time is over. Returns whether the path has just failed.
    // Hermes Algorithm 1: f_retransmission > 1 % and type ≠ congested; §3.1: counted over τ.
    #[inline]
    pub(crate) fn judge_losses(&mut self, now: Time, limits: &Limits, senses: &Senses) -> bool {
        if now < self.until {
            return false;
        }
        if self.failed {
            self.recover();
        }
        let many = u64::from(self.lost) * 1_000_000_000 > senses.retransmitted * u64::from(self.sent);
        let fails = self.sent >= FEWEST_SENT && many && self.class(now, limits, senses) != Class::Congested;
        (self.sent, self.lost, self.until) = (0, 0, now + senses.tau);
        fails && self.fail(now, senses)
    }

    /// The timer of a packet on it ran out. Returns whether the path has just failed.
    // Hermes Algorithm 1: enough timeouts, and no packet acknowledged.
    pub fn timed_out(&mut self, now: Time, senses: &Senses) -> bool {
        self.timeouts = self.timeouts.saturating_add(1);
        self.timeouts >= senses.timeouts && self.fail(now, senses)
    }

    /// Whether a packet sent later than this got through.
    pub(crate) fn has_outdone(&self, sent: Time) -> bool {
        self.proven > ticks(sent)
    }

    /// A probe on it was lost, and nothing sent later is known to have got through: it is congested until something
    /// does. Returns whether the path has just failed.
    pub fn probe_lost(&mut self, now: Time, limits: &Limits, senses: &Senses) -> bool {
        if self.is_stale(now, senses) {
            self.delay = limits.high.saturating_add(1);
        }
        self.sampled = now;
        self.silent = self.silent.saturating_add(1);
        self.silent >= senses.timeouts && self.fail(now, senses)
    }

    fn fail(&mut self, now: Time, senses: &Senses) -> bool {
        let news = !(self.failed && now < self.until);
        (self.failed, self.until) = (true, now + senses.failed_for);
        (self.timeouts, self.silent, self.sent, self.lost) = (0, 0, 0, 0);
        news
    }

    /// The time of its failure is over: nothing is known of it.
    fn recover(&mut self) {
        let Route { rate, flows, news, .. } = *self;
        *self = Route { rate, flows, news, ..Route::default() };
    }
}

/// The cell in the sensing table: how the share of marks compares with T_ECN, and the delay with its thresholds.
// Hermes Algorithm 1: a value equal to a threshold is in between.
#[inline]
fn corner(marks: core::cmp::Ordering, low: bool, high: bool) -> Class {
    use core::cmp::Ordering::{Greater, Less};
    match marks {
        Less if low => Class::Good,
        Greater if high => Class::Congested,
        _ => Class::Gray,
    }
}

/// An instant in steps of 2²⁰ ps, about a microsecond, for 75 minutes.
fn ticks(at: Time) -> u32 {
    (at.0 >> 20).min(u64::from(u32::MAX)) as u32
}

/// A time in nanoseconds, at least one and at most the maximum of a row.
pub fn nanoseconds(span: Span) -> u32 {
    (span.0 / 1_000).clamp(1, u64::from(u32::MAX)) as u32
}
