//! Adaptive routing at every switch: each packet to the best port by coarse queue levels, ties broken at random.
//!
//! The kind of routing found in Spectrum-X and other Ethernet for AI, by the rules of htsim's `ecmp_ar` (uet-htsim,
//! `fat_tree_switch.cpp` and `queue.cpp`; with `unit = "flowlet"` its `-ar_granularity flow`). The details of
//! commercial switches, and what they learn from their neighbours, are not published.
//!
//! | rule | function |
//! |---|---|
//! | each packet to the best port of its group; among equals one at random | [`Adaptive::best`] |
//! | levels of queues, use and pauses | [`crate::fabric::bands`] |
//! | packets below 100 bytes are hashed | `pick` |
//! | a flow moves after a gap of 10 µs, by a coin, to a strictly better port | [`Adaptive::moves`] |
//!
//! | our word | htsim's |
//! |---|---|
//! | level, rank | quantized queue size, utilisation; comparator |
//! | `compare` | `-ar_method` |
//! | `unit`, `flowlet_gap_us` | `-ar_granularity`, `-ar_sticky_delta` |
//!
//! Departures:
//! - Utilisation levels are measured (see [`crate::fabric::bands`]); in htsim they always tie, so `compare = "qb"`
//!   there equals `"queue"`.
//! - A flow whose port has left the group goes to the best port at once.

use crate::fabric::bands::{Bands, Compare, Group, Levels};
use crate::flowlet::Flowlet;
use crate::{
    AtSwitch, Aware, Compared, Cx, Kind, Listed, Needs, Packet, Policy, Port, Quantity, Rule, Sees, Sheet, Sight, Span,
    Way, sees::quantity,
};

crate::choice! {
    /// The unit that is routed as one.
    Unit {
        /// Each packet.
        Packet = "packet",
        /// The packets that a flow sends without a longer gap.
        Flowlet = "flowlet",
    }
}

crate::params! {
    /// The parameters of adaptive routing.
    Config {
        /// The unit that is routed separately (htsim: -ar_granularity packet or flow).
        unit: Unit = Unit::Packet, Allowed::Words(Unit::WORDS);
        /// What ports are compared by, most important first: p is pauses, q queues, b bandwidth in use (htsim: queue).
        compare: Compare = Compare::Queue, Allowed::Words(Compare::WORDS);
        /// A queue that fills this share of its capacity has level 1, percent (htsim: 5).
        level_1_percent: f64 = 5.0, Allowed::Number { min: 0.0, max: 100.0 };
        /// The same for level 2, percent (htsim: 10).
        level_2_percent: f64 = 10.0, Allowed::Number { min: 0.0, max: 100.0 };
        /// The same for level 3, percent (htsim: 20).
        level_3_percent: f64 = 20.0, Allowed::Number { min: 0.0, max: 100.0 };
        /// The capacity that levels are shares of, bytes; 0: each port's own.
        room_bytes: u32 = 0, Allowed::Integer { min: 0.0, max: 4e9 };
        /// A level is refreshed when it is older than this, microseconds (htsim: 0.1).
        refresh_us: f64 = 0.1, Allowed::Number { min: 0.0, max: 1e6 };
        /// Packets of fewer bytes are hashed (htsim: 100).
        small_bytes: u32 = 100, Allowed::Integer { min: 0.0, max: 65_535.0 };
        /// With flowlets: a flow may move only after a gap longer than this, microseconds (htsim: 10).
        flowlet_gap_us: f64 = 10.0, Allowed::Number { min: 0.0, max: 1e9 },
            crate::config::FLOWLET_GAP;
        /// With flowlets: the probability that it then looks for a better port (htsim: 0.5).
        move_probability: f64 = 0.5, Allowed::Number { min: 0.0, max: 1.0 };
    }
}

/// The best port for each packet.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive {
    unit: Unit,
    bands: Bands,
    small: u32,
    gap: Span,
    /// Unit: 2⁻³².
    move_part: u64,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Best = Rule::Chooses("the port with the best level, ties broken at random"),
        Small = Rule::Chooses("a small packet: by a hash of the header"),
        GoesOn = Rule::Keeps("a packet of the flow passed within the flowlet gap: the same port"),
        Looks = Rule::Chooses("a new flowlet: by a coin toss another port, if one is strictly better"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Rank = quantity("rank", "", "pause (16), level of the queue (4) and of utilisation (1), as far as compared: \
                                     lower is better"),
    }
}

impl Policy for Adaptive {
    const SHEET: Sheet = Sheet {
        name: "adaptive",
        summary: "each packet to the port with the lowest queue level, ties broken at random, at every switch",
        source: "htsim (ecmp_ar); NVIDIA Spectrum-X in kind",
        unit: "packet",
        compared: Some(Compared {
            aware: Aware::Local,
            senses: &["levels of own queues or of utilisation, and pauses"],
            state: "per port, at every switch; per flow with flowlets",
            needs: Needs::Switches,
            order: "nothing, or with flowlets, gaps longer than the difference between paths",
            pick: "O(n)",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Flowlet, port: Levels }

    fn new(config: &Config) -> Self {
        let percent = [config.level_1_percent, config.level_2_percent, config.level_3_percent];
        let refresh = Span::from_us_f64(config.refresh_us);
        Adaptive {
            unit: config.unit,
            bands: Bands::new(config.compare, percent, u64::from(config.room_bytes), refresh),
            small: config.small_bytes,
            gap: Span::from_us_f64(config.flowlet_gap_us),
            move_part: (config.move_probability * 4_294_967_296.0) as u64,
        }
    }

    fn clash(&self) -> Option<(&'static str, crate::config::Allowed, &'static str)> {
        self.bands.clash()
    }

    fn sees(&self, cx: &Cx<'_, Self>, flowlet: &Flowlet, packet: &Packet, sight: &mut Sight<'_>) {
        for (way, &port) in cx.view.candidates.iter().enumerate() {
            let mut row = cx.ports[usize::from(port)];
            sight.way(way, OfWay::Rank, f64::from(self.bands.rank(&mut row, cx.now, &cx.view, Port(port))));
        }
        let known = flowlet.seen && cx.view.candidates.contains(&flowlet.to);
        sight.rule(match self.unit {
            _ if packet.wire < self.small => Why::Small,
            Unit::Flowlet if known && flowlet.goes_on(cx.now, self.gap) => Why::GoesOn,
            Unit::Flowlet if known => Why::Looks,
            Unit::Flowlet | Unit::Packet => Why::Best,
        });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flowlet: &mut Flowlet, packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates;
        if packet.wire < self.small {
            return Way(packet.spread(cx.view.salt, candidates.len() as u32) as u16);
        }
        if self.unit == Unit::Packet || !matches!(packet.kind, Kind::Data | Kind::Ack) {
            return Way(self.best(cx) as u16);
        }
        let kept = if flowlet.seen { cx.view.way_of(flowlet.to) } else { None };
        let way = match kept {
            Some(way) if flowlet.goes_on(cx.now, self.gap) => way,
            Some(way) => self.moves(cx, way),
            None => self.best(cx),
        };
        *flowlet = Flowlet::now(cx.now, candidates[way]);
        Way(way as u16)
    }
}

impl Adaptive {
    /// One of the best ways, drawn at random.
    #[inline]
    fn best(&self, cx: &mut Cx<'_, Self>) -> usize {
        let mut group = Group { bands: &self.bands, rows: cx.ports, now: cx.now, view: &cx.view };
        let ranks = group.ranks();
        group.one_of_best(&ranks, cx.rng)
    }

    /// The way of a new flowlet of a flow that took this one.
    // htsim: a flow moves only after the gap, only if the coin says so, and only to a strictly better port.
    fn moves(&self, cx: &mut Cx<'_, Self>, kept: usize) -> usize {
        if (cx.rng.bits() >> 32) >= self.move_part {
            return kept;
        }
        let mut group = Group { bands: &self.bands, rows: cx.ports, now: cx.now, view: &cx.view };
        let ranks = group.ranks();
        if ranks.best < group.rank(kept) { group.one_of_best(&ranks, cx.rng) } else { kept }
    }
}
