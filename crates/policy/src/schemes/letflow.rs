//! LetFlow: every flowlet on a path drawn at random; the sizes of flowlets balance the load.
//!
//! Vanini, Pan, Alizadeh, Taheri, Edsall, "Let it flow: resilient asymmetric load balancing with flowlet switching",
//! NSDI 2017. Gap as in the comparisons of PDLB and MEET, 500 µs (100 µs in ConWeave's, 10 µs in SELB's).
//!
//! | rule | function |
//! |---|---|
//! | LetFlow §3, a packet after an idle time longer than the timeout opens a flowlet | [`crate::flowlet::opens_flowlet`] |
//! | LetFlow §3, uniformly among all uplinks; the old one may come again | `pick` |
//!
//! | our word | the paper's |
//! |---|---|
//! | flowlet gap | flowlet timeout Δ |
//!
//! Departures:
//! - Rows are exact per flow and direction; the paper's table is hashed and may merge two flows.
//! - The idle time is measured exactly; the paper's age bit, read once a timeout, opens a flowlet after 1–2 timeouts.
//! - Every switch with a choice decides independently, as in the paper (ConWeave's code fixes the whole path at the
//!   source).
//! - Acknowledgements are separate flows. Each packet that belongs to no flow (probes, messages) is a flowlet of its
//!   own.

use crate::config::FLOWLET_GAP;
use crate::flowlet::{self, Flowlet};
use crate::{
    AtSwitch, Aware, Compared, Cx, Kind, Layout, Listed, Needs, Packet, Policy, Rule, Sees, Shape, Sheet, Sight, Span,
    Way,
};

crate::params! {
    /// LetFlow's parameters.
    Config {
        /// Flowlet gap, microseconds: a longer idle time opens a new flowlet (PDLB and MEET: 500 µs).
        flowlet_gap_us: f64 = 500.0, Allowed::Number { min: 0.0, max: 1e9 },
            FLOWLET_GAP;
    }
}

/// Random choice per flowlet at every switch.
#[derive(Clone, Copy, Debug)]
pub struct LetFlow {
    gap: Span,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        GoesOn = Rule::Keeps("a packet of the flow passed within the flowlet gap: the flowlet continues"),
        Drawn = Rule::Chooses(
            "no packet of the flow passed within the flowlet gap: a new flowlet, its uplink drawn at random",
        ),
        Gone = Rule::Chooses(
            "its flowlet continues, but its uplink no longer leads to this leaf: another one is drawn",
        ),
    }
}

impl Policy for LetFlow {
    const SHEET: Sheet = Sheet {
        name: "letflow",
        summary: "each flowlet on an uplink drawn uniformly, independently at every switch",
        source: "Vanini et al., NSDI 2017",
        unit: "flowlet",
        compared: Some(Compared {
            aware: Aware::No,
            senses: &["gaps between packets"],
            state: "per flow, at every switch",
            needs: Needs::Switches,
            order: "gaps longer than the difference between paths",
            pick: "O(n), to find its port in the group",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, flow: flowlet::Told::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Flowlet }

    fn new(config: &Config) -> Self {
        LetFlow { gap: Span::from_us_f64(config.flowlet_gap_us) }
    }

    fn layout(&self, _: &Shape) -> Layout {
        // A row older than the gap carries no more information than no row.
        Layout { flow_idle: self.gap, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flowlet: &Flowlet, _: &Packet, sight: &mut Sight<'_>) {
        flowlet.tell(sight, cx.now, self.gap);
        sight.rule(match () {
            () if !flowlet.goes_on(cx.now, self.gap) => Why::Drawn,
            () if cx.view.candidates.contains(&flowlet.to) => Why::GoesOn,
            () => Why::Gone,
        });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flowlet: &mut Flowlet, packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates;
        if !matches!(packet.kind, Kind::Data | Kind::Ack) {
            return Way(cx.rng.below(candidates.len() as u32) as u16);
        }
        let kept = if flowlet.goes_on(cx.now, self.gap) {
            // The port may have left the group since.
            cx.view.way_of(flowlet.to)
        } else {
            None
        };
        // LetFlow §3: uniformly at random.
        let way = kept.unwrap_or_else(|| cx.rng.below(candidates.len() as u32) as usize);
        *flowlet = Flowlet::now(cx.now, candidates[way]);
        Way(way as u16)
    }
}
