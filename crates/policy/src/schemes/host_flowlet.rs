//! Flowlets at the host: a flow with nothing acknowledged for half a round trip switches to another flow label.
//!
//! Follows the baseline in the public artifact of REPS (`uec.cpp` of its htsim; Bonato et al., EuroSys 2026), read
//! second-hand.
//!
//! | rule | function |
//! |---|---|
//! | nothing acknowledged for 0.5 base round trips before a packet: another label at random | `pick` |
//! | then no other for a retransmission timeout | `pick` |
//!
//! | our word | the artifact's |
//! |---|---|
//! | label, a path tag that switches hash | entropy value |
//! | `hold_us` | RTO |
//!
//! Departures: the time without another label is a parameter, not the transport's own timeout. It counts from the first packet
//! too. Acknowledgements are left to the switches.

use crate::edge::label::Label;
use crate::sees::{quantity, us, us_since};
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, Hooks, Kind, Layout, Listed, Needs, Packet, Policy, Quantity, Rule,
    Sees, Shape, Sheet, Sight, Span, Time, Way,
};

crate::params! {
    /// Its parameters.
    Config {
        /// A time without acknowledgements longer than this opens a flowlet, in base round trips (REPS's artifact:
        /// 0.5).
        gap_rtts: f64 = 0.5, Allowed::Number { min: 0.0, max: 1000.0 };
        /// A label is kept for at least this long, microseconds (REPS's artifact: its retransmission timeout; own choice for a
        /// datacenter's TCP).
        hold_us: f64 = 1_000.0, Allowed::Number { min: 0.0, max: 1e9 };
    }
}

/// Row per flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    label: Label,
    /// When something was last acknowledged, or the first packet sent.
    heard: Time,
    /// When the label was drawn.
    drawn: Time,
}

/// Another label after silence.
#[derive(Clone, Copy, Debug)]
pub struct HostFlowlet {
    /// Base round trips, in thousandths.
    gap: u64,
    hold: Span,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        GoesOn = Rule::Keeps("something has been acknowledged within the gap"),
        Held = Rule::Keeps("nothing has been acknowledged within the gap, but the label is too young to change"),
        First = Rule::Chooses("the first packet: a label drawn at random"),
        Opens = Rule::Chooses("nothing has been acknowledged within the gap: another label"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Silence = quantity("silence", "µs", "time since something was last acknowledged"),
        Gap = quantity("gap", "µs", "a silence longer than this opens a flowlet"),
    }
}

impl Policy for HostFlowlet {
    const SHEET: Sheet = Sheet {
        name: "host_flowlet",
        summary: "flows with nothing acknowledged for half a round trip switch to another hashed flow label",
        source: "REPS's artifact (baseline)",
        unit: "flowlet",
        told: &["base round-trip time"],
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["gaps between ACKs"],
            state: "per flow, at the host",
            needs: Needs::Hosts,
            order: "gaps longer than the difference between paths",
            pick: "O(1)",
            update: "O(1) per ACK",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, ..Sees::NOTHING },
        three_tiers: "switches at every tier hash the label",
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK;
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Flow }

    fn new(config: &Config) -> Self {
        HostFlowlet { gap: (config.gap_rtts * 1e3 + 0.5) as u64, hold: Span::from_us_f64(config.hold_us) }
    }

    fn layout(&self, _: &Shape) -> Layout {
        // Labels are numbers to be hashed.
        Layout { draws_tags: true, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Flow, _: &Packet, sight: &mut Sight<'_>) {
        let (silent, free) = self.looks(flow, cx.now, cx.view.base_rtt);
        let (mut label, mut rng) = (flow.label, *cx.rng);
        if label.is_drawn() && silent && free {
            label.rethink(&mut rng);
        }
        label.tell(sight, rng);
        sight.rule(match (silent, free) {
            _ if !flow.label.is_drawn() => Why::First,
            (false, _) => Why::GoesOn,
            (true, false) => Why::Held,
            (true, true) => Why::Opens,
        });
        sight.flow(OfFlow::Silence, us_since(flow.label.is_drawn().then_some(flow.heard), cx.now));
        sight.flow(OfFlow::Gap, us(self.gap(cx.view.base_rtt)));
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, _: &mut ()) -> Way {
        if packet.kind != Kind::Data {
            return Way::ANY;
        }
        let (silent, free) = self.looks(flow, cx.now, cx.view.base_rtt);
        if !flow.label.is_drawn() {
            (flow.heard, flow.drawn) = (cx.now, cx.now);
        } else if silent && free {
            flow.label.rethink(cx.rng);
            flow.drawn = cx.now;
        }
        flow.label.way(cx.rng)
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, feedback: &Feedback) {
        if let (Some(flow), Event::Ack { .. }) = (flow, feedback.event) {
            flow.heard = cx.now;
        }
    }
}

impl HostFlowlet {
    fn gap(&self, base_rtt: Span) -> Span {
        Span((u128::from(base_rtt.0) * u128::from(self.gap) / 1000) as u64)
    }

    /// Whether the flow has been silent for longer than the gap, and whether its label may change.
    #[inline]
    fn looks(&self, flow: &Flow, now: Time, base_rtt: Span) -> (bool, bool) {
        (now.since(flow.heard) > self.gap(base_rtt), now.since(flow.drawn) >= self.hold)
    }
}
