//! Hopper: a flow whose round trips are long probes two other source ports and moves if one of them is much faster.
//!
//! "Hopper", arXiv 2506.08132, host-based load balancing for RDMA. Only the paper's abstract and a third-party summary
//! were read; nothing here is faithful beyond these rules, and what they leave open is a parameter marked as own
//! choice.
//!
//! | rule | function |
//! |---|---|
//! | a moving average of the round trips on the present path | [`Flow::hears`] |
//! | once an epoch: above 1.5 base round trips, two random other ports are probed | [`Hopper::epoch`] |
//! | it moves if the best answer takes less than 80 % of the present path | [`Hopper::decides`] |
//! | it moves later, by as much as the round trips differ | [`Flow::moves_at`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | label, a path tag that switches hash | UDP source port |
//!
//! Departures, and what is open:
//! - The averaging weight, the length of an epoch, the probes' size and how long they are waited for are own choices.
//! - A probe is smaller than a data packet: the extra time of a full packet on the slowest link is added once.
//! - Until it moves, a flow continues to send on the old path, as nothing here can hold its packets. So the delay lets
//!   what was in flight arrive first, but not what is sent meanwhile, and a move still costs order.
//! - A host has room for eight probes in flight to each other host. A flow that finds no room waits for its next epoch.
//! - A timeout moves no flow. Acknowledgements are left to the switches.

use crate::edge::asked::Asked;
use crate::edge::label::Label;
use crate::sees::{quantity, us};
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, FlowKey, Hooks, Kind, Layout, Listed, Needs, Packet, Peers, Policy,
    Quantity, Rng, Rule, Sees, Series, Shape, Sheet, Sight, Span, Time, To, Way, sees::series,
};

crate::params! {
    /// Hopper's parameters.
    Config {
        /// Weight of a new round trip in the average (own choice).
        rtt_weight: f64 = 0.125, Allowed::Number { min: 0.001, max: 1.0 };
        /// Other paths are probed when the average exceeds this many base round trips (Hopper: 1.5).
        congested_rtts: f64 = 1.5, Allowed::Number { min: 1.0, max: 1000.0 };
        /// Other ports probed (Hopper: 2).
        probes: u32 = 2, Allowed::Integer { min: 1.0, max: 4.0 };
        /// A path is taken if its probe takes less than this fraction of the current average (Hopper: 0.8).
        gain: f64 = 0.8, Allowed::Number { min: 0.0, max: 1.0 };
        /// Length of an epoch, in average round trips (Hopper: an RTT).
        epoch_rtts: f64 = 1.0, Allowed::Number { min: 0.001, max: 1000.0 };
        /// How much later a flow moves, in multiples of the difference between the round trips (Hopper: about 1).
        delay_differences: f64 = 1.0, Allowed::Number { min: 0.0, max: 100.0 };
        /// Bytes of a probe (own choice).
        probe_bytes: u32 = 64, Allowed::Integer { min: 40.0, max: 9000.0 };
        /// A probe without an answer for this long counts as lost, microseconds (own choice).
        probe_give_up_us: f64 = 1_000.0, Allowed::Number { min: 1.0, max: 1e6 },
            crate::give_up!(1000.0);
    }
}

/// Outstanding probes to one host.
const ROOM: usize = 8;

/// Row per other host: the probes to it, and their round trips; none means lost.
type Probes = Asked<Option<Span>, ROOM>;

/// Row per flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    label: Label,
    /// Average round trip on the current path; zero: none yet.
    average: Span,
    /// When the epoch ends.
    epoch_end: Time,
    /// The label it will move to, if it will; 0: none.
    next: u16,
    moves_at: Time,
    /// Whether its probes are outstanding.
    asks: bool,
}

/// Probes when round trips are long.
#[derive(Clone, Copy, Debug)]
pub struct Hopper {
    /// Unit: 1/1024.
    weight: u64,
    congested: u64,
    gain: u64,
    epoch: u64,
    delay: u64,
    probes: u32,
    probe_bytes: u32,
    give_up: Span,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Stays = Rule::Keeps("the current label"),
        First = Rule::Chooses("the first packet: a label drawn at random"),
        Moves = Rule::Chooses("a probed path was much faster, and the difference of their round trips has passed: the new label"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Average = quantity("average", "µs", "average round trip on the current path"),
    }

    /// Its series.
    enum Points: Series {
        Hopped = series("hopped", "a flow's new label"),
    }
}

impl Policy for Hopper {
    const SHEET: Sheet = Sheet {
        name: "hopper",
        summary: "flows with long round trips probe two other source ports and switch to one that is much faster",
        source: "Hopper, arXiv 2506.08132 (in outline)",
        unit: "flow",
        told: &["base round-trip time"],
        series: Points::ALL,
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["round-trip times of ACKs and probes"],
            state: "per flow and per host, at the host",
            needs: Needs::Hosts,
            order: "a flow moves only if it gains much time, so rarely",
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
    crate::rows! { flow: Flow, peer: Probes }

    fn new(config: &Config) -> Self {
        let parts = |value: f64| (value * 1024.0 + 0.5) as u64;
        Hopper {
            weight: parts(config.rtt_weight).max(1),
            congested: parts(config.congested_rtts),
            gain: parts(config.gain),
            epoch: parts(config.epoch_rtts),
            delay: parts(config.delay_differences),
            probes: config.probes,
            probe_bytes: config.probe_bytes,
            give_up: Span::from_us_f64(config.probe_give_up_us),
        }
    }

    fn layout(&self, _: &Shape) -> Layout {
        // Labels are numbers to be hashed.
        Layout { draws_tags: true, peers: Peers::Hosts, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Flow, _: &Packet, sight: &mut Sight<'_>) {
        let (mut label, moves) = (flow.label, flow.next > 0 && cx.now >= flow.moves_at);
        if moves {
            label.become_number(flow.next);
        }
        label.tell(sight, *cx.rng);
        sight.rule(match () {
            () if !flow.label.is_drawn() => Why::First,
            () if moves => Why::Moves,
            () => Why::Stays,
        });
        sight.flow(OfFlow::Average, us(flow.average));
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, _: &mut ()) -> Way {
        if packet.kind != Kind::Data {
            return Way::ANY;
        }
        if flow.next > 0 && cx.now >= flow.moves_at {
            flow.label.become_number(flow.next);
            // Measurements of the old path say nothing about this one.
            (flow.next, flow.average) = (0, Span::ZERO);
            cx.out.record(Points::Hopped, f64::from(flow.label.number()));
        }
        flow.label.way(cx.rng)
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, feedback: &Feedback) {
        match (feedback.event, flow, feedback.flow) {
            (Event::ProbeReply { rtt, .. }, _, _) => {
                let more = u64::from(cx.view.mtu.saturating_sub(self.probe_bytes)) * 8;
                let more = Span((u128::from(more) * 1_000_000_000_000 / u128::from(cx.view.path_rate.max(1))) as u64);
                cx.peers.current().0.answered(feedback.way.0, Some(rtt + more));
            }
            (Event::ProbeLost, _, _) => cx.peers.current().0.answered(feedback.way.0, None),
            (Event::Ack { rtt, .. }, Some(flow), Some(key)) if feedback.way.0 == flow.label.number() => {
                flow.hears(rtt, self.weight);
                self.decides(cx, flow, key);
                self.epoch(cx, flow, key);
            }
            (Event::FlowEnd, Some(flow), Some(key)) if flow.asks => {
                cx.peers.current().0.forget(key);
                flow.asks = false;
            }
            (
                Event::FlowStart { .. }
                | Event::Trimmed { .. }
                | Event::Retransmit
                | Event::Timeout
                | Event::Ack { .. }
                | Event::FlowEnd,
                _,
                _,
            ) => {}
        }
    }
}

impl Flow {
    /// A round trip on the current path.
    fn hears(&mut self, rtt: Span, weight: u64) {
        let (old, new) = (u128::from(self.average.0), u128::from(rtt.0));
        let weight = u128::from(weight);
        let average = if old == 0 { new } else { (old * (1024 - weight.min(1024)) + new * weight) / 1024 };
        self.average = Span(average as u64);
    }
}

fn part(span: Span, of_1024: u64) -> Span {
    Span((u128::from(span.0) * u128::from(of_1024) / 1024) as u64)
}

impl Hopper {
    /// Checks whether an epoch ends. If so, other paths may be probed.
    fn epoch(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, key: FlowKey) {
        if cx.now < flow.epoch_end {
            return;
        }
        flow.epoch_end = cx.now + part(flow.average, self.epoch);
        let congested = flow.average > part(cx.view.base_rtt, self.congested);
        let asked = cx.peers.current().0;
        if !congested || flow.asks || flow.next > 0 || asked.room() < self.probes as usize {
            return;
        }
        flow.asks = true;
        let dst = cx.peers.ids[cx.peers.current];
        for _ in 0..self.probes {
            let label = another(flow.label, cx.peers.current().0, cx.rng);
            cx.peers.current().0.add(key, label);
            cx.out.probe(To::Host(dst), Way(label), self.probe_bytes, 0, self.give_up);
        }
    }

    /// Have all probes been answered? If so, the flow may move.
    fn decides(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, key: FlowKey) {
        let asked = cx.peers.current().0;
        if !flow.asks || asked.awaits(key) {
            return;
        }
        flow.asks = false;
        let best = best(asked, key);
        if let Some((label, rtt)) = best
            && rtt < part(flow.average, self.gain)
        {
            flow.next = label;
            flow.moves_at = cx.now + part(Span(flow.average.0 - rtt.0), self.delay);
        }
    }
}

/// Takes the probes of a flow, all of which have been answered. Returns the best answer, if any; among equals the
/// first.
fn best(asked: &mut Probes, flow: FlowKey) -> Option<(u16, Span)> {
    let mut best = None;
    while let Some((label, answer)) = asked.take(flow) {
        best = match (best, answer) {
            (None, Some(rtt)) => Some((label, rtt)),
            (Some((_, least)), Some(rtt)) if rtt < least => Some((label, rtt)),
            (best, _) => best,
        };
    }
    best
}

/// Any label that is neither the flow's nor being probed.
fn another(own: Label, asked: &Probes, rng: &mut Rng) -> u16 {
    let mut drawn = Label::default();
    loop {
        drawn.rethink(rng);
        if drawn.number() != own.number() && !asked.has(drawn.number()) {
            return drawn.number();
        }
    }
}
