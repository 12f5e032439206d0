//! REPS: recycled entropy packet spraying. A value whose packet came through unmarked is reused.
//!
//! Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure Mitigation", EuroSys
//! 2026 (arXiv 2407.21625); only the paper's abstract was available; the rules are those of public code, from
//! descriptions of it: uet-htsim (`uec_mp.cpp`, `buffer_reps.h`) and the REPS artifact (`uec.cpp`). Site: the sending
//! host.
//!
//! | rule | function |
//! |---|---|
//! | a ring of eight values, each fresh until it is used | [`Ring`] |
//! | good news: the value goes into the ring | [`Ring::add`] |
//! | the next packet has the oldest fresh value, or any | [`Ring::next`] |
//! | a timeout freezes: values are used in turn, fresh or not | [`Ring::freeze`] |
//! | 10 ms later it thaws with the first news: the ring is empty, and 16 packets explore | [`Ring::thaw`] |
//!
//! `freezing = "idle_timeout"` is the artifact's rule without trimming: a timeout freezes only if no round trip since
//! the last one was longer than 1.65 times that of an empty path, because a loss without a queue means a failure, not
//! congestion.

use crate::edge::entropy::{self, Verdict};
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, Hooks, Layout, Listed, Needs, Packet, Policy, Quantity, Rng, Rule,
    Sees, Shape, Sheet, Sight, Span, Time, Way, config::Allowed, sees::quantity,
};

/// Values that a flow remembers.
const SLOTS: u8 = 8;

crate::choice! {
    /// The event that freezes values.
    Freezing {
        /// A timeout.
        Timeout = "timeout",
        /// A timeout when no round trip since the last one was long.
        IdleTimeout = "idle_timeout",
        /// Nothing.
        Off = "off",
    }
}

crate::params! {
    /// The parameters of REPS.
    Config {
        /// Entropy values (uet-htsim: 64, its recorded runs 128; the paper's: 65,535).
        values: u32 = 128, Allowed::Integer { min: 1.0, max: 65_535.0 };
        /// What freezes the values: a timeout, which implies a failure only where packets that do not fit are trimmed;
        /// a timeout without queues (the REPS artifact), the only rule where such packets are dropped; or nothing.
        freezing: Freezing = Freezing::Timeout, Allowed::Words(Freezing::WORDS);
        /// Least time that a flow stays frozen (uet-htsim: 10 ms).
        frozen_us: f64 = 10_000.0, Allowed::Number { min: 0.0, max: 1e9 };
        /// Packets with drawn values after it thaws (uet-htsim: 16; the artifact: a bandwidth-delay product of
        /// packets).
        explore: u32 = 16, Allowed::Integer { min: 0.0, max: 65_535.0 };
        /// How often a value may be used for each time that it came through (uet-htsim: 1).
        uses: u32 = 1, Allowed::Integer { min: 1.0, max: 255.0 };
    }
}

/// Row per flow: the values that came through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    values: [u16; SLOTS as usize],
    /// How many more times each may be used.
    left: [u8; SLOTS as usize],
    /// The slot that is written next.
    head: u8,
    /// Number of slots ever written.
    count: u8,
    /// Slots with a use left.
    fresh: u8,
    /// While frozen: the slot that is used next.
    cursor: u8,
    /// Packets that still have to explore.
    explore: u16,
    /// Since when it has been frozen, if it is.
    frozen: Option<Time>,
    /// The longest round trip since the last timeout.
    longest: Span,
}

impl Ring {
    /// Adds a value that came through.
    fn add(&mut self, value: u16, uses: u8) {
        let slot = usize::from(self.head);
        self.fresh += u8::from(self.left[slot] == 0);
        (self.values[slot], self.left[slot]) = (value, uses);
        self.head = (self.head + 1) % SLOTS;
        self.count = (self.count + 1).min(SLOTS);
    }

    /// Takes one use of a slot.
    fn take(&mut self, slot: u8) -> u16 {
        let left = &mut self.left[usize::from(slot)];
        if *left > 0 {
            *left -= 1;
            self.fresh -= u8::from(*left == 0);
        }
        self.values[usize::from(slot)]
    }

    /// The value of the next packet.
    fn next(&mut self, values: u32, rng: &mut Rng) -> u16 {
        if self.explore > 0 {
            self.explore -= 1;
            return rng.below(values) as u16;
        }
        match self.frozen {
            Some(_) if self.count == 0 => rng.below(values) as u16,
            Some(_) => {
                let slot = self.cursor;
                self.cursor = (slot + 1) % self.count;
                self.take(slot)
            }
            None if self.fresh == 0 => rng.below(values) as u16,
            None => self.take((self.head + SLOTS - self.fresh) % SLOTS),
        }
    }

    /// Freezes after a failure: values that came through before are reused repeatedly.
    fn freeze(&mut self, now: Time) {
        if self.frozen.is_none() && self.explore == 0 {
            (self.frozen, self.cursor) = (Some(now), 0);
        }
    }

    /// Ends the freeze at the first news after `least`.
    fn thaw(&mut self, now: Time, least: Span, explore: u16) {
        if self.frozen.is_some_and(|since| now.since(since) > least) {
            *self = Ring { explore, longest: self.longest, ..Ring::default() };
        }
    }
}

/// Values that came through are used again.
#[derive(Clone, Copy, Debug)]
pub struct Reps {
    values: u32,
    freezing: Freezing,
    frozen: Span,
    explore: u16,
    uses: u8,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Recycled = Rule::Chooses("the oldest entropy value that came through and has not been used since"),
        Drawn = Rule::Chooses("no value that came through is left: a drawn one"),
        Explores = Rule::Chooses("the flow has just thawed: a drawn value"),
        Frozen = Rule::Chooses("frozen after a timeout: the values that came through before it, in turn"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Fresh = quantity("fresh", "values", "values that came through and have a use left"),
    }
}

impl Policy for Reps {
    const SHEET: Sheet = Sheet {
        name: "reps",
        summary: "every packet reuses an entropy value whose packet came through unmarked, or tries another",
        source: "Bonato et al., EuroSys 2026; rules of uet-htsim, second-hand",
        unit: "packet",
        told: &["base round-trip time (with freezing = \"idle_timeout\")"],
        three_tiers: "switches at every tier hash the value",
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["ECN marks", "trimmed packets", "timeouts"],
            state: "eight values per flow, at the host",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(1)",
            update: "O(1) per ACK",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Ring }

    fn new(config: &Config) -> Self {
        Reps {
            values: config.values,
            freezing: config.freezing,
            frozen: Span((config.frozen_us * 1e6) as u64),
            explore: config.explore as u16,
            uses: config.uses as u8,
        }
    }

    fn layout(&self, _: &Shape) -> Layout {
        entropy::layout()
    }

    fn wants_trimming(&self) -> Option<(&'static str, Allowed)> {
        let waits = self.freezing != Freezing::IdleTimeout;
        waits.then_some(("freezing", Allowed::Words(&["idle_timeout"])))
    }

    fn sees(&self, cx: &Cx<'_, Self>, ring: &Ring, _: &Packet, sight: &mut Sight<'_>) {
        sight.rule(match ring.frozen {
            _ if ring.explore > 0 => Why::Explores,
            Some(_) => Why::Frozen,
            None if ring.fresh == 0 => Why::Drawn,
            None => Why::Recycled,
        });
        sight.flow(OfFlow::Fresh, f64::from(ring.fresh));
        let (mut ring, mut rng) = (*ring, *cx.rng);
        entropy::tell(sight, || ring.next(self.values, &mut rng));
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, ring: &mut Ring, packet: &Packet, _: &mut ()) -> Way {
        if entropy::chooses(packet) { Way(ring.next(self.values, cx.rng)) } else { Way::ANY }
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, ring: Option<&mut Ring>, feedback: &Feedback) {
        let (Some(ring), Some(verdict)) = (ring, Verdict::of(&feedback.event)) else { return };
        if let Event::Ack { rtt, .. } = feedback.event {
            ring.longest = ring.longest.max(rtt);
        }
        ring.thaw(cx.now, self.frozen, self.explore);
        match verdict {
            Verdict::Good if feedback.way != Way::ANY => ring.add(feedback.way.0, self.uses),
            Verdict::Good | Verdict::Marked | Verdict::Trimmed => {}
            Verdict::Lost => {
                // 1.65 times the round trip of an empty path (REPS artifact).
                let idle = ring.longest.0 * 100 < cx.view.base_rtt.0 * 165;
                match self.freezing {
                    Freezing::Timeout => ring.freeze(cx.now),
                    Freezing::IdleTimeout if idle => ring.freeze(cx.now),
                    Freezing::IdleTimeout | Freezing::Off => {}
                }
                ring.longest = Span::ZERO;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_that_came_through_goes_first_and_once() {
        let (mut rng, mut ring) = (Rng::stream(1, "test", 0), Ring::default());
        (100..110).for_each(|value| ring.add(value, 1));
        assert_eq!((ring.count, ring.fresh), (8, 8), "the two oldest were overwritten");
        let used: [u16; 8] = core::array::from_fn(|_| ring.next(16, &mut rng));
        assert_eq!(used, [102, 103, 104, 105, 106, 107, 108, 109]);
        assert!(ring.next(16, &mut rng) < 16, "nothing is left: any value");
        ring.add(110, 2);
        assert_eq!([(); 3].map(|()| ring.next(16, &mut rng) >= 16), [true, true, false], "two uses");
    }

    #[test]
    fn frozen_values_come_again_and_thawing_explores() {
        let (mut rng, mut ring) = (Rng::stream(1, "test", 0), Ring::default());
        let at = |us: u64| Time::ZERO + Span::from_us(us);
        ring.add(40, 1);
        ring.add(41, 1);
        assert_eq!(ring.next(8, &mut rng), 40);
        ring.freeze(at(5));
        assert_eq!([(); 5].map(|()| ring.next(8, &mut rng)), [40, 41, 40, 41, 40], "used or not");
        assert_eq!(ring.fresh, 0);
        ring.thaw(at(15), Span::from_us(10), 3);
        assert!(ring.frozen.is_some(), "not before more than 10 us have passed");
        ring.thaw(at(16), Span::from_us(10), 3);
        assert_eq!((ring.frozen, ring.count, ring.explore), (None, 0, 3));
        ring.freeze(at(17));
        assert!(ring.frozen.is_none(), "while it explores, nothing freezes");
        assert!([(); 3].iter().all(|()| ring.next(8, &mut rng) < 8) && ring.explore == 0);
    }
}
