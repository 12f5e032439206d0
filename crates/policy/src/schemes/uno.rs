//! UnoLB: a flow sends on ten subflows in turn, each with its own entropy value. After a loss, subflows that have been
//! silent draw another value.
//!
//! "Uno", SC 2025 (arXiv 2510.15802); the paper was not available. The rules are those of its public simulator
//! (spcl/Uno_SC25, `sim/lcp.cpp` at 42a2175), whose choice of values and whose handlers of acknowledgements and NACKs
//! were read. Site: the sending host.
//!
//! | rule | function |
//! |---|---|
//! | ten subflows, each with any of 250 values; packets in turn | `pick` |
//! | an acknowledgement stamps the subflow of the packet it answers | [`Subflows::hears`] |
//! | after a loss: each subflow that was silent for more than half a base round trip and has not moved for one draws another value | [`Subflows::moves`] |
//!
//! | our word | Uno's |
//! |---|---|
//! | value | entropy |
//! | loss: a trimmed packet or a timeout | NACK for a block of its erasure code |
//!
//! Departures:
//! - Uno's erasure code is not built: no parity packets, no blocks. At that commit subflows move when a block cannot be
//!   restored; here, when a packet is known to be lost. `losses = "trims"` leaves timeouts out. Trimmed packets move no
//!   subflow at that commit, but that is what there is without the code.
//! - Code there that is switched off, in which a silent subflow copies the value of the one last heard from, is left
//!   out.
//! - A value names its subflow, so two subflows with the same value need not share a path.
//! - Silence and moves count from the first packet of the flow.

use crate::edge::entropy;
use crate::sees::{quantity, series, us};
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, Hooks, Layout, Listed, Needs, Packet, Policy, Quantity, Rng, Rule,
    Sees, Series, Shape, Sheet, Sight, Span, Time, Way,
};

/// The most subflows, and the most values of one: all tags below 2^15.
const MOST: usize = 32;
const MOST_VALUES: f64 = 1_024.0;

crate::choice! {
    /// The losses after which subflows move.
    Losses {
        /// Trimmed packets and timeouts.
        All = "all",
        /// Trimmed packets.
        Trims = "trims",
    }
}

crate::params! {
    /// The parameters of UnoLB.
    Config {
        /// Subflows of a flow (Uno: 10).
        subflows: u32 = 10, Allowed::Integer { min: 1.0, max: 32.0 };
        /// Entropy values that each subflow draws from (Uno: 250).
        values: u32 = 250, Allowed::Integer { min: 1.0, max: MOST_VALUES };
        /// A subflow is silent if nothing of it has been acknowledged for longer than this, in base round trips (Uno:
        /// 0.5).
        silent_rtts: f64 = 0.5, Allowed::Number { min: 0.0, max: 1000.0 };
        /// It does not move again within this time, in base round trips (Uno: 1).
        hold_rtts: f64 = 1.0, Allowed::Number { min: 0.0, max: 1000.0 };
        /// Which losses make subflows move (own choice: in Uno, those of its erasure code).
        losses: Losses = Losses::All, Allowed::Words(Losses::WORDS);
    }
}

/// A subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Subflow {
    value: u16,
    heard: Time,
    moved: Time,
}

/// Row per flow.
#[derive(Clone, Copy, Debug)]
pub struct Subflows {
    all: [Subflow; MOST],
    next: u8,
    begun: bool,
}

impl Default for Subflows {
    fn default() -> Self {
        Subflows { all: [Subflow::default(); MOST], next: 0, begun: false }
    }
}

impl Subflows {
    /// Draws a value for each. Once per flow.
    fn begin(&mut self, uno: &Uno, now: Time, rng: &mut Rng) {
        if !self.begun {
            let drawn = |_| Subflow { value: entropy::draw(uno.values, rng), heard: now, moved: now };
            let mut drawn = (0..uno.subflows).map(drawn);
            self.all.iter_mut().zip(&mut drawn).for_each(|(subflow, drawn)| *subflow = drawn);
            self.begun = true;
        }
    }

    /// The tag of a subflow: its value and its number.
    fn tag(&self, which: u8, values: u16) -> Way {
        Way(u16::from(which) * values + self.all[usize::from(which)].value)
    }

    /// A packet with this tag was acknowledged.
    fn hears(&mut self, uno: &Uno, tag: Way, now: Time) {
        let which = tag.index() / usize::from(uno.values);
        if let Some(subflow) = self.all[..usize::from(uno.subflows)].get_mut(which) {
            subflow.heard = now;
        }
    }

    /// Whether this one moves after a loss: only if it has been silent for long enough, and has had its value for long
    /// enough.
    fn moves(&self, uno: &Uno, which: u8, now: Time, base_rtt: Span) -> bool {
        let Subflow { heard, moved, .. } = self.all[usize::from(which)];
        now.since(heard) > part(base_rtt, uno.silent) && now.since(moved) > part(base_rtt, uno.hold)
    }
}

/// This many thousandths.
fn part(span: Span, of_1000: u64) -> Span {
    Span((u128::from(span.0) * u128::from(of_1000) / 1000) as u64)
}

/// Subflows with values.
#[derive(Clone, Copy, Debug)]
pub struct Uno {
    subflows: u8,
    values: u16,
    /// Base round trips, in thousandths.
    silent: u64,
    hold: u64,
    losses: Losses,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Turn = Rule::Chooses("every packet: the entropy value of the subflow whose turn it is"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Subflow = quantity("subflow", "", "the one whose turn it is"),
        Silence = quantity("silence", "µs", "time since something of it was last acknowledged"),
    }

    /// Its series.
    enum Points: Series {
        Moved = series("moved", "a subflow that has drawn another value"),
    }
}

impl Policy for Uno {
    const SHEET: Sheet = Sheet {
        name: "uno",
        summary: "packets take ten subflows in turn, each with a value; after a loss, silent subflows draw a new value",
        source: "Uno, SC 2025; its simulator (spcl/Uno_SC25), without erasure coding",
        unit: "packet",
        three_tiers: "switches at every tier hash the value",
        told: &["base round-trip time"],
        series: Points::ALL,
        acks_of_all: true,
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["trimmed packets", "timeouts", "gaps between ACKs"],
            state: "per (flow, subflow), at the host",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(1)",
            update: "O(1) per ACK; O(subflows) per loss",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Subflows }

    fn new(config: &Config) -> Self {
        Uno {
            subflows: config.subflows as u8,
            values: config.values as u16,
            silent: (config.silent_rtts * 1e3 + 0.5) as u64,
            hold: (config.hold_rtts * 1e3 + 0.5) as u64,
            losses: config.losses,
        }
    }

    fn layout(&self, _: &Shape) -> Layout {
        Layout { actions: MOST, ..entropy::layout() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Subflows, _: &Packet, sight: &mut Sight<'_>) {
        let (mut flow, mut rng) = (*flow, *cx.rng);
        flow.begin(self, cx.now, &mut rng);
        sight.rule(Why::Turn);
        sight.flow(OfFlow::Subflow, f64::from(flow.next));
        sight.flow(OfFlow::Silence, us(cx.now.since(flow.all[usize::from(flow.next)].heard)));
        for which in [flow.next, self.after(flow.next)] {
            sight.offer(flow.tag(which, self.values));
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Subflows, packet: &Packet, _: &mut ()) -> Way {
        if !entropy::chooses(packet) {
            return Way::ANY;
        }
        flow.begin(self, cx.now, cx.rng);
        let which = flow.next;
        flow.next = self.after(which);
        flow.tag(which, self.values)
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Subflows>, feedback: &Feedback) {
        let Some(flow) = flow.filter(|flow| flow.begun) else { return };
        match (feedback.event, self.losses) {
            (Event::Ack { .. }, _) => flow.hears(self, feedback.way, cx.now),
            (Event::Trimmed { .. }, _) | (Event::Timeout, Losses::All) => {
                for which in 0..self.subflows {
                    if flow.moves(self, which, cx.now, cx.view.base_rtt) {
                        let subflow = &mut flow.all[usize::from(which)];
                        (subflow.value, subflow.moved) = (entropy::draw(self.values, cx.rng), cx.now);
                        cx.out.record(Points::Moved, f64::from(which));
                    }
                }
            }
            (Event::Timeout, Losses::Trims) => {}
            (Event::FlowStart { .. } | Event::FlowEnd | Event::Retransmit, _) => {}
            (Event::ProbeReply { .. } | Event::ProbeLost, _) => {}
        }
    }
}

impl Uno {
    /// The subflow whose turn is next.
    const fn after(&self, which: u8) -> u8 {
        if which + 1 == self.subflows { 0 } else { which + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_silent_and_has_not_moved_of_late_moves() {
        let (uno, mut flow) = (Uno::new(&Config::default()), Subflows::default());
        let (rtt, at) = (Span::from_us(10), |us: u64| Time::ZERO + Span::from_us(us));
        flow.begin(&uno, at(0), &mut Rng::stream(1, "test", 0));
        let moves = |flow: &Subflows, us: u64| flow.moves(&uno, 3, at(us), rtt);
        assert_eq!(
            [5, 10, 11].map(|us| moves(&flow, us)),
            [false, false, true],
            "not within a round trip of the start"
        );
        flow.hears(&uno, flow.tag(3, 250), at(20));
        assert_eq!([25, 26].map(|us| moves(&flow, us)), [false, true], "more than half a round trip of silence");
        flow.hears(&uno, Way(4 * 250 + 7), at(26));
        assert!(moves(&flow, 26), "another one was heard of");
        flow.all[3].moved = at(26);
        assert_eq!([36, 37].map(|us| moves(&flow, us)), [false, true]);
        // An acknowledgement of an earlier value is still one of this subflow.
        flow.hears(&uno, Way(3 * 250 + 249), at(37));
        assert!(!moves(&flow, 38));
        flow.hears(&uno, Way(40 * 250), at(40));
        flow.hears(&uno, Way::ANY, at(40));
    }
}
