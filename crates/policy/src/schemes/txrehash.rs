//! Linux without PLB: each end of a connection has a flow label and reconsiders it at each timeout.
//!
//! The kernel's default (`net.core.txrehash = 1`), described as Protective ReRoute: Wetherall et al., "Improving network
//! availability with protective reroute", SIGCOMM 2023 (title only; the rules are those of the kernel's sources, see
//! [`crate::edge::label`]).
//!
//! | rule | function |
//! |---|---|
//! | a label for all packets of an end; another one at each timeout | `feedback` |
//! | a receiver whose acknowledgements seem lost takes another one too | `ingress` |
//!
//! | our word | Linux's |
//! |---|---|
//! | label, a path tag that switches hash with the addresses (`path_tag = "outer"`) or with all ("inner") | txhash, IPv6 flow label |
//!
//! Departures: those of [`crate::edge::label`].

use crate::edge::label::{Heard, Label, Receiver};
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, FlowKey, Hooks, Kind, Layout, Listed, Needs, Packet, Policy, Rule,
    Sees, Series, Shape, Sheet, Sight, Verdict, Way, sees::series,
};

crate::params! {
    /// Its parameters.
    Config {
        /// What makes a receiver change the label of its acknowledgements (Linux from 6.7: new_label).
        receiver: Receiver = Receiver::NewLabel, Allowed::Words(Receiver::WORDS);
    }
}

/// Row per connection at each end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    label: Label,
    heard: Heard,
    /// Whether the label has been reconsidered since the last packet.
    rethought: bool,
}

/// A label, and another one after each timeout.
#[derive(Clone, Copy, Debug)]
pub struct Txrehash {
    receiver: Receiver,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Stays = Rule::Keeps("the current label"),
        First = Rule::Chooses("the first packet: a label drawn at random"),
        Timeout = Rule::Chooses("a timeout: another label"),
    }

    /// Its series.
    enum Points: Series {
        Timeout = series("timeout_rehash", "a flow's new label, after a timeout"),
        Duplicate = series("duplicate_rehash", "new label of a flow's acknowledgements, after a duplicate"),
    }
}

impl Policy for Txrehash {
    const SHEET: Sheet = Sheet {
        name: "txrehash",
        summary: "each flow keeps a hashed flow label and switches to another at each timeout, as Linux does by \
                  default",
        source: "Linux net.core.txrehash; Wetherall et al., SIGCOMM 2023",
        unit: "flow",
        series: Points::ALL,
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["timeouts", "duplicates at the receiver"],
            state: "per flow, at both hosts",
            needs: Needs::Nothing,
            order: "a flow moves only at a timeout",
            pick: "O(1)",
            update: "O(1) per timeout",
        }),
        sees: Sees { rules: Why::ALL, ..Sees::NOTHING },
        three_tiers: "switches at every tier hash the label",
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS).and(Hooks::INGRESS);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: End }

    fn new(config: &Config) -> Self {
        Txrehash { receiver: config.receiver }
    }

    fn row_of(key: FlowKey) -> FlowKey {
        FlowKey(key.0 & !1)
    }

    fn layout(&self, _: &Shape) -> Layout {
        // Labels are numbers to be hashed, and those of acknowledgements belong to the receiver's end.
        Layout { draws_tags: true, picks_acks: true, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, end: &End, _: &Packet, sight: &mut Sight<'_>) {
        end.label.tell(sight, *cx.rng);
        sight.rule(match () {
            () if !end.label.is_drawn() => Why::First,
            () if end.rethought => Why::Timeout,
            () => Why::Stays,
        });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, end: &mut End, packet: &Packet, _: &mut ()) -> Way {
        if packet.kind == Kind::Ack {
            end.heard.acknowledges(packet.seq);
        }
        end.rethought = false;
        end.label.way(cx.rng)
    }

    fn ingress(&self, cx: &mut Cx<'_, Self>, end: &mut End, packet: &Packet, _: &mut ()) -> Verdict {
        if packet.kind == Kind::Data && end.heard.calls(packet, self.receiver) && end.label.is_drawn() {
            end.label.rethink(cx.rng);
            cx.out.record(Points::Duplicate, f64::from(end.label.number()));
        }
        Verdict::Forward
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, end: Option<&mut End>, feedback: &Feedback) {
        let Some(end) = end.filter(|end| feedback.event == Event::Timeout && end.label.is_drawn()) else { return };
        end.label.rethink(cx.rng);
        end.rethought = true;
        cx.out.record(Points::Timeout, f64::from(end.label.number()));
    }
}
