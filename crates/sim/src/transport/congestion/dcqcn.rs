//! DCQCN's reaction point: the rate of a queue pair, cut by CNPs and rising with time and bytes.
//!
//! Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, §3.1. Two dialects:
//!
//! | | the paper | ConWeave's public code (`decrease_interval` above zero) |
//! |---|---|---|
//! | cut | on each CNP | at a check each `decrease_interval`, if a CNP came since the last |
//! | alpha up | on each CNP, eq. (1) | at the end of a slot in which a CNP came |
//! | alpha down | after each `alpha_timer` without CNP, eq. (2) | at the end of any other slot |
//!
//! No events: the machine knows the instants of its own timers and catches up when it is used, with the same result as
//! timers. At one instant alpha comes first, then a rise, then a check, then a CNP. Checks come 1 ns after the slots of
//! alpha, as in the public code. Slots and checks that change nothing are skipped, so a long silence is cheap: alpha is
//! computed only when needed, and is zero once it is negligible.

use super::{About, Controller, Marks, Start, Window};
use crate::keys::{Default, Kind, LARGEST_EXACT, Unit, Zero, keys};
use spinewise_policy::time::{Span, Time};

/// Its user documentation.
pub(super) const ABOUT: About = About {
    about: "rates that congestion notifications cut and that rise with time and bytes",
    source: "DCQCN (SIGCOMM 2015), the public ns-3 code of ConWeave (SIGCOMM 2023)",
};

keys! {
    /// The parameters of DCQCN's reaction point (§3.1 and §5 of its paper). The defaults are those of ConWeave's public
    /// code at 100 Gbps. It derives the increases from the rate of the link (10 and 25 times a 25th of the Gbps, in Mbps),
    /// and calls them 40 and 100 Mbps.
    #[derive(PartialEq)]
    DcqcnConfig {
        /// Weight g of one slot in DCQCN's alpha (DCQCN, SIGCOMM 2015, section 3.1).
        g as "dcqcn_g": f64, Kind::Positive { max: 1.0 }, Default::Number(1.0 / 256.0);
        /// Alpha when the first CNP arrives.
        initial_alpha as "dcqcn_initial_alpha": f64, Kind::Number { min: 0.0, max: 1.0 }, Default::Number(1.0);
        /// Length of a slot of alpha.
        alpha_timer as "dcqcn_alpha_timer_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(1.0);
        /// The rate is cut at most this often, at instants counted from the first CNP; 0 cuts it on every CNP.
        decrease_interval as "dcqcn_decrease_interval_us": Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(4.0);
        /// The rate rises each time this time has passed.
        increase_timer as "dcqcn_increase_timer_us": Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(300.0);
        /// The rate rises each time this many bytes have been sent; 0 = no byte counter.
        byte_counter as "dcqcn_byte_counter_bytes": u64, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Number(0.0);
        /// The number of rises after a cut that only halve the distance to the target.
        fast_recovery_steps as "dcqcn_fast_recovery_steps": u32, Kind::Integer { min: 0, max: 1_000_000 }, Default::Number(1.0);
        /// Additive increase of the target rate.
        additive_increase as "dcqcn_additive_increase_gbps": u64, Kind::Rate(Zero::Allowed), Default::Number(0.04);
        /// Hyper increase of the target rate.
        hyper_increase as "dcqcn_hyper_increase_gbps": u64, Kind::Rate(Zero::Allowed), Default::Number(0.1);
        /// Least rate.
        min_rate as "dcqcn_min_rate_gbps": u64, Kind::Rate(Zero::Refused), Default::Number(0.1);
        /// Does every cut set the target to the rate before the cut? If not, only a cut after a rise does.
        clamp_target as "dcqcn_clamp_target": bool, Kind::Bool, Default::Bool(false);
        also {
            /// A CNP that arrives as a slot of alpha ends belongs to that slot: ns-3 plans an arrival a link's delay ahead,
            /// the end of a slot 1 µs ahead, and does first what was planned first.
            cnp_before_slot: bool = false;
            /// A rise halves rate and target each by itself and cuts half a bit per second off, as `operator/` of ns-3's
            /// `DataRate` does; otherwise the sum is halved, and rounded up.
            halves_cut: bool = false;
        }
    }
}

impl DcqcnConfig {
    /// The link rate that the default increases are made for, bits per second.
    pub const MADE_FOR: u64 = 100_000_000_000;

    /// DCQCN, §5.2: g = 1/256, timers of 55 us, a byte counter of 10 MB, F = 5, 40 Mbps. The analysis there omits hyper
    /// increase and no value is printed; here it equals the additive one.
    pub fn paper() -> Self {
        Self {
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Span::from_us(55),
            decrease_interval: Span::ZERO,
            increase_timer: Span::from_us(55),
            byte_counter: 10_000_000,
            fast_recovery_steps: 5,
            additive_increase: 40_000_000,
            hyper_increase: 40_000_000,
            min_rate: 40_000_000,
            clamp_target: true,
            cnp_before_slot: false,
            halves_cut: false,
        }
    }
}

/// Alpha below this counts as zero: the cut it makes is less than a bit per second at any link rate.
pub(super) const LEAST_ALPHA: f64 = 1.0 / (1_u64 << 48) as f64;

/// Checks come this long after the slots of alpha that end with them.
pub(super) const CHECK_LAG: Span = Span::from_ns(1);

/// The rate of one queue pair.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    /// Rate R_C, target R_T and the rate of the link, bits per second.
    rate: u64,
    target: u64,
    line: u64,
    alpha: f64,
    /// Next instant at which anything but alpha changes.
    next: Time,
    /// End of the first slot not yet in `alpha`; [`Time::NEVER`] before the first CNP.
    alpha_at: Time,
    /// Next check; kept up to date only while `cut_due`.
    check_at: Time,
    /// Next rise by time.
    increase_at: Time,
    /// Bytes since the last rise by bytes.
    bytes: u64,
    /// Rises since the last cut, by time and by bytes, counted only as far as they are distinguished.
    time_stage: u32,
    byte_stage: u32,
    /// A CNP came in the slot that ends at `alpha_at`.
    slot_cnp: bool,
    /// A CNP came since the last check.
    cut_due: bool,
}

impl Controller for Dcqcn {
    type Config = DcqcnConfig;

    fn new(config: &DcqcnConfig, start: &Start) -> Self {
        Dcqcn::at(config, start.rate)
    }

    fn marks(_: &DcqcnConfig) -> Marks {
        Marks::Counted
    }

    fn on_mark(&mut self, config: &DcqcnConfig, _: &mut Window, now: Time) {
        self.on_cnp(config, now);
    }

    #[inline(always)]
    fn on_send(&mut self, config: &DcqcnConfig, now: Time, wire: u32) -> u64 {
        self.advance(config, now);
        let rate = self.rate;
        self.count(config, wire);
        rate
    }
}

impl Dcqcn {
    /// Starts at the full rate of the link, bits per second.
    pub fn at(config: &DcqcnConfig, line: u64) -> Self {
        Self {
            rate: line,
            target: line,
            line,
            alpha: config.initial_alpha,
            next: Time::NEVER,
            alpha_at: Time::NEVER,
            check_at: Time::NEVER,
            increase_at: Time::NEVER,
            bytes: 0,
            time_stage: 0,
            byte_stage: 0,
            slot_cnp: false,
            cut_due: false,
        }
    }

    /// The rate at the last instant it was advanced to, bits per second.
    #[inline]
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// The target of increases, bits per second.
    pub fn target(&self) -> u64 {
        self.target
    }

    /// Alpha at `now`, which must not be before the last instant advanced to.
    pub fn alpha(&self, config: &DcqcnConfig, now: Time) -> f64 {
        let mut then = self.clone();
        then.settle_alpha(config, now);
        then.alpha
    }

    /// Brings the rate up to `now`.
    #[inline]
    pub fn advance(&mut self, config: &DcqcnConfig, now: Time) {
        if self.next <= now {
            self.catch_up(config, now);
        }
    }

    /// `bytes` on the wire leave at `now`, for which the rate has been advanced.
    #[inline]
    fn count(&mut self, config: &DcqcnConfig, bytes: u32) {
        if config.byte_counter == 0 || self.alpha_at == Time::NEVER {
            return;
        }
        self.bytes += u64::from(bytes);
        while self.bytes >= config.byte_counter {
            self.bytes -= config.byte_counter;
            self.increase(config);
            self.byte_stage = self.counted(config, self.byte_stage);
        }
    }

    /// A CNP arrives.
    pub fn on_cnp(&mut self, config: &DcqcnConfig, now: Time) {
        self.advance(config, now);
        let first = self.alpha_at == Time::NEVER;
        if config.decrease_interval == Span::ZERO {
            self.settle_alpha(config, now);
            self.cut(config, now);
            self.alpha = (1.0 - config.g) * self.alpha + config.g; // DCQCN eq. (1)
            self.alpha_at = now + config.alpha_timer;
        } else if first {
            // The slot of the first CNP starts with it and counts as empty.
            self.alpha_at = now + config.alpha_timer;
            self.check_at = now + config.decrease_interval + CHECK_LAG;
            self.cut_due = true;
        } else {
            self.settle_alpha(config, if config.cnp_before_slot { Time(now.0 - 1) } else { now });
            self.slot_cnp = true;
            if !self.cut_due {
                self.check_at = first_after(self.check_at, config.decrease_interval, now);
                self.cut_due = true;
            }
        }
        self.plan();
    }

    /// Goes through the instants up to `now` in order.
    fn catch_up(&mut self, config: &DcqcnConfig, now: Time) {
        while self.next <= now {
            let check = self.pending_check();
            if self.increase_at <= check {
                self.increase_by_time(config, now.min(check));
            } else {
                self.settle_alpha(config, check);
                self.cut(config, check);
                self.cut_due = false;
                self.check_at = check + config.decrease_interval;
            }
            self.plan();
        }
    }

    fn plan(&mut self) {
        self.next = self.increase_at.min(self.pending_check());
    }

    fn pending_check(&self) -> Time {
        if self.cut_due { self.check_at } else { Time::NEVER }
    }

    /// Ends all slots of alpha up to `now`, which is included.
    fn settle_alpha(&mut self, config: &DcqcnConfig, now: Time) {
        if self.alpha_at > now || self.alpha_at == Time::NEVER {
            return;
        }
        let mut empty = now.since(self.alpha_at).0 / config.alpha_timer.0 + 1;
        self.alpha_at += config.alpha_timer * empty;
        if self.slot_cnp {
            self.alpha = (1.0 - config.g) * self.alpha + config.g;
            self.slot_cnp = false;
            empty -= 1;
        }
        // Alpha is gone after 8,600 slots with g = 1/256. No power is taken, because slot by slot must give the same.
        while empty > 0 && self.alpha > 0.0 {
            self.alpha *= 1.0 - config.g; // DCQCN eq. (2)
            if self.alpha < LEAST_ALPHA {
                self.alpha = 0.0;
            }
            empty -= 1;
        }
    }

    fn cut(&mut self, config: &DcqcnConfig, now: Time) {
        let risen = self.time_stage > 0 || self.byte_stage > 0;
        if config.clamp_target || risen {
            self.target = self.rate;
        }
        let cut = self.rate as f64 * (1.0 - self.alpha / 2.0); // DCQCN eq. (1)
        self.rate = (cut as u64).max(config.min_rate).min(self.line);
        self.time_stage = 0;
        self.byte_stage = 0;
        self.bytes = 0;
        self.increase_at = now + config.increase_timer;
    }

    /// A rise by time; rises that change nothing may be skipped up to `until`.
    fn increase_by_time(&mut self, config: &DcqcnConfig, until: Time) {
        let before = (self.rate, self.target, self.time_stage);
        self.increase(config);
        self.time_stage = self.counted(config, self.time_stage);
        self.increase_at += config.increase_timer;
        if (self.rate, self.target, self.time_stage) == before {
            self.increase_at = first_after(self.increase_at, config.increase_timer, until);
        }
    }

    /// One rise: fast recovery, additive or hyper increase (§3.1; §5.1 has the counters).
    fn increase(&mut self, config: &DcqcnConfig) {
        let (time, bytes) = (self.time_stage, self.byte_stage);
        let (most, least) = if config.byte_counter == 0 { (time, time) } else { (time.max(bytes), time.min(bytes)) };
        if most >= config.fast_recovery_steps {
            let hyper = least > config.fast_recovery_steps;
            self.target += if hyper { config.hyper_increase } else { config.additive_increase };
            self.target = self.target.min(self.line);
        }
        self.rate = if config.halves_cut {
            self.rate / 2 + self.target / 2
        } else {
            // Rounded up, so that the target is reached.
            (self.rate + self.target).div_ceil(2)
        };
    }

    fn counted(&self, config: &DcqcnConfig, stage: u32) -> u32 {
        stage.min(config.fast_recovery_steps) + 1
    }
}

/// The first of the instants `at`, `at + every`, … after `now`.
fn first_after(at: Time, every: Span, now: Time) -> Time {
    if at > now { at } else { at + every * (now.since(at).0 / every.0 + 1) }
}

#[cfg(test)]
mod tests;
