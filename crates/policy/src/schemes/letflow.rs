//! LetFlow: every flowlet on a path drawn at random; the flowlets' sizes do the balancing.
//!
//! Vanini, Pan, Alizadeh, Taheri, Edsall, "Let it flow: resilient asymmetric load balancing with flowlet switching",
//! NSDI 2017. Gap as in the comparisons of PDLB and MEET, 500 µs (100 µs in ConWeave's, 10 µs in SELB's).
//!
//! | rule | function |
//! |---|---|
//! | LetFlow §3, a packet after an idle time longer than the timeout opens a flowlet | [`opens_flowlet`] |
//! | LetFlow §3, uniformly among all uplinks; the old one may come again | `pick` |
//!
//! | our word | the paper's |
//! |---|---|
//! | flowlet gap | flowlet timeout Δ |
//!
//! Departures:
//! - Rows are exact per flow and direction; the paper's table is hashed and may merge two flows.
//! - The idle time is measured exactly; the paper's age bit, read once a timeout, opens a flowlet after 1–2 timeouts.
//! - Every switch with a choice decides by itself, as the paper says (ConWeave's code fixes the whole path at the source).
//! - Acknowledgements are flows of their own. What belongs to no flow (probes, messages) is a flowlet of one packet.

use crate::{
    About, AtSwitch, Aware, Compared, Cx, InPreset, Kind, Layout, Needs, Packet, Policy, Shape, Span, Time, Value, Way,
};

crate::params! {
    /// LetFlow's parameters.
    Config {
        /// Flowlet gap, microseconds: a longer idle time opens a new flowlet (PDLB and MEET: 500 µs).
        flowlet_gap_us: f64 = 500.0, Allowed::Number { min: 0.0, max: 1e9 };
    }
}

/// Row per flow and direction: its last flowlet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flowlet {
    /// When its last packet passed.
    pub last: Time,
    /// Where to: a port of this switch.
    pub port: u16,
    /// Has there been a packet at all?
    pub seen: bool,
}

/// Random choice per flowlet at every switch.
#[derive(Clone, Copy, Debug)]
pub struct LetFlow {
    gap: Span,
}

impl Policy for LetFlow {
    const ABOUT: About = About {
        name: "letflow",
        summary: "each flowlet on an uplink drawn uniformly, at every switch by itself",
        source: "Vanini et al., NSDI 2017",
        unit: "flowlet",
        tiers: &["leaf", "aggregation", "spine"],
        told: &[],
        series: &[],
    };
    const COMPARED: Option<Compared> = Some(Compared {
        aware: Aware::No,
        senses: &["gaps between packets"],
        state: "per flow, at every switch",
        needs: Needs::Switches,
        order: "gaps longer than paths differ",
        pick: "O(n), to find its port in the group",
        update: "–",
    });
    const PRESETS: &'static [InPreset] = &[
        InPreset { preset: "selb", params: &[("flowlet_gap_us", Value::Number(10.0))] },
        InPreset { preset: "conweave-ns3", params: &[("flowlet_gap_us", Value::Number(100.0))] },
    ];
    type Site = AtSwitch;
    type Config = Config;
    type Flow = Flowlet;
    type Peer = ();
    type Route = ();
    type Port = ();
    type Node = ();
    type Header = ();

    fn new(config: &Config) -> Self {
        LetFlow { gap: Span::from_us_f64(config.flowlet_gap_us) }
    }

    fn layout(&self, _: &Shape) -> Layout {
        // A row older than the gap says no more than no row.
        Layout { flow_idle: self.gap, ..Layout::default() }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flowlet: &mut Flowlet, packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates;
        if !matches!(packet.kind, Kind::Data | Kind::Ack) {
            return Way(cx.rng.below(candidates.len() as u32) as u16);
        }
        let kept = if flowlet.seen && !opens_flowlet(flowlet.last, cx.now, self.gap) {
            // The port may have left the group since.
            candidates.iter().position(|&port| port == flowlet.port)
        } else {
            None
        };
        // LetFlow §3: uniformly at random.
        let way = kept.unwrap_or_else(|| cx.rng.below(candidates.len() as u32) as usize);
        *flowlet = Flowlet { last: cx.now, port: candidates[way], seen: true };
        Way(way as u16)
    }
}

/// Does a packet at `now` open a flowlet, when the last one passed at `last`?
// LetFlow §3: iff the gap is longer than the timeout.
#[inline]
pub const fn opens_flowlet(last: Time, now: Time, gap: Span) -> bool {
    now.since(last).0 > gap.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_itself_does_not_open_a_flowlet() {
        let gap = Span::from_us(500);
        let last = Time(7);
        assert!(!opens_flowlet(last, last + gap, gap));
        assert!(opens_flowlet(last, last + gap + Span(1), gap));
    }

    #[test]
    fn without_a_gap_packets_of_one_instant_stay_together() {
        assert!(!opens_flowlet(Time(5), Time(5), Span::ZERO));
        assert!(opens_flowlet(Time(5), Time(6), Span::ZERO));
    }
}
