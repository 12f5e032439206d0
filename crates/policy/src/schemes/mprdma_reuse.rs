//! MP-RDMA's spraying, as recent studies compare with it: a packet released by an acknowledgement takes the entropy
//! value of that acknowledgement.
//!
//! Follows the baseline in the public artifact of REPS (`uec.cpp` of its htsim; Bonato et al., EuroSys 2026), whose
//! choice of values and whose handling of acknowledgements were read. Lu et al., "Multi-path transport for RDMA in
//! datacenters", NSDI 2018, is the origin of the idea; that paper was not available, and its per-path windows and
//! out-of-order bound are not included. Site: the sending host.
//!
//! | rule | function |
//! |---|---|
//! | before the first acknowledgement: any value | [`Flow::value`] |
//! | an acknowledgement, marked or not, that makes room in the window: its value for the packets until the next one | [`Flow::value`] |
//! | without room: any value | [`Flow::value`] |
//!
//! Adaptation: the artifact inspects the window as an acknowledgement comes: it must have grown by about a packet, or
//! exceed what is in flight by one. A scheme here sees no window. It infers room from sending: a packet that follows an
//! acknowledgement, with no other event between, was released by it. From the report of a trim or a timeout to the next
//! acknowledgement, packets take any value. In the artifact they take that of the trimmed packet, if the
//! acknowledgement before it had made room (`after_trim = "its_value"` here, room or not).

use crate::edge::entropy;
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, Hooks, Layout, Listed, Needs, Packet, Policy, Rng, Rule, Sees, Shape,
    Sheet, Sight, Way,
};

crate::choice! {
    /// The value that a trimmed packet leaves for those after it.
    AfterTrim {
        /// Any value.
        Drawn = "drawn",
        /// The value of the trimmed packet.
        ItsValue = "its_value",
    }
}

crate::params! {
    /// The parameters of reuse by acknowledgements.
    Config {
        /// Entropy values (the artifact's runs: 65,535).
        values: u32 = 65_535, Allowed::Integer { min: 1.0, max: 65_535.0 };
        /// Values of packets that a trimmed packet releases (own choice; the artifact's: about its_value).
        after_trim: AfterTrim = AfterTrim::Drawn, Allowed::Words(AfterTrim::WORDS);
    }
}

/// Row per flow: the value that came back last, if its news was good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    came_back: Option<u16>,
}

impl Flow {
    /// The value of the next packet.
    #[inline]
    fn value(self, values: u32, rng: &mut Rng) -> Way {
        Way(self.came_back.unwrap_or_else(|| rng.below(values) as u16))
    }
}

/// Values of acknowledgements are used again.
#[derive(Clone, Copy, Debug)]
pub struct MpRdmaReuse {
    values: u32,
    after_trim: AfterTrim,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Reused = Rule::Chooses("an acknowledgement releases it: the entropy value of the packet acknowledged"),
        Drawn = Rule::Chooses("no acknowledgement releases it: a drawn entropy value"),
    }
}

impl Policy for MpRdmaReuse {
    const SHEET: Sheet = Sheet {
        name: "mprdma_reuse",
        summary: "every packet takes the entropy value of the acknowledgement that releases it, or any",
        source: "REPS's artifact (its MP-RDMA baseline); Lu et al., NSDI 2018",
        unit: "packet",
        three_tiers: "switches at every tier hash the value",
        acks_of_all: true,
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["arrivals of ACKs"],
            state: "a value per flow, at the host",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(1)",
            update: "O(1) per ACK",
        }),
        sees: Sees { rules: Why::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Flow }

    fn new(config: &Config) -> Self {
        MpRdmaReuse { values: config.values, after_trim: config.after_trim }
    }

    fn layout(&self, _: &Shape) -> Layout {
        entropy::layout()
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Flow, _: &Packet, sight: &mut Sight<'_>) {
        let mut rng = *cx.rng;
        sight.rule(if flow.came_back.is_some() { Why::Reused } else { Why::Drawn });
        sight.offer(flow.value(self.values, &mut rng));
        sight.offer(Flow::default().value(self.values, &mut rng));
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, _: &mut ()) -> Way {
        if entropy::chooses(packet) { flow.value(self.values, cx.rng) } else { Way::ANY }
    }

    fn feedback(&self, _: &mut Cx<'_, Self>, flow: Option<&mut Flow>, feedback: &Feedback) {
        let Some(flow) = flow else { return };
        let its = (feedback.way != Way::ANY).then_some(feedback.way.0);
        match (feedback.event, self.after_trim) {
            (Event::Ack { .. }, _) | (Event::Trimmed { .. }, AfterTrim::ItsValue) => flow.came_back = its,
            (Event::Trimmed { .. }, AfterTrim::Drawn) | (Event::Timeout, _) => flow.came_back = None,
            (Event::FlowStart { .. } | Event::FlowEnd | Event::Retransmit, _) => {}
            (Event::ProbeReply { .. } | Event::ProbeLost, _) => {}
        }
    }
}
