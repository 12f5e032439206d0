//! ECMP that avoids the worst port: a hash chooses, and by a coin toss a packet bound for a worst port goes to a best
//! one.
//!
//! The rules of htsim's `ecmp_host_ar` (uet-htsim, `fat_tree_switch.cpp`): the hash takes the entropy value that the host
//! wrote, and the switch corrects it.
//!
//! | rule | function |
//! |---|---|
//! | a hash of the header, path tag included | [`crate::Packet::spread`] |
//! | for half of the packets: is the port hashed to as bad as the worst? Then one of the best | `pick` |
//! | levels of queues, use and pauses | [`crate::fabric::bands`] |
//!
//! | our word | htsim's |
//! |---|---|
//! | `replace_probability` | `random() % 100 < 50` |
//! | level, rank | quantized queue size, utilisation; comparator |
//!
//! If all ports have the same level, the best are also the worst: half of the packets are then sprayed, as in htsim.
//!
//! Departures: levels of use are measured (see [`crate::fabric::bands`]); in htsim they always tie.

use crate::fabric::bands::{Bands, Compare, Group, Levels};
use crate::{
    AtSwitch, Aware, Compared, Cx, Hashes, Listed, Needs, Packet, Policy, Port, Quantity, Rule, Sees, Sheet, Sight,
    Span, Way, sees::quantity,
};

crate::params! {
    /// Its parameters.
    Config {
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
        /// The probability that the switch examines a packet's port at all (htsim: 0.5).
        replace_probability: f64 = 0.5, Allowed::Number { min: 0.0, max: 1.0 };
    }
}

/// A hash, and another port in place of a worst one.
#[derive(Clone, Copy, Debug)]
pub struct HostAr {
    bands: Bands,
    /// Unit: 2⁻³².
    replace_part: u64,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Worst = Rule::Chooses("the hash gives a port as bad as the worst: by a coin toss one of the best, otherwise \
                               that port"),
        Hashed = Rule::Chooses("the hash gives a port that is better than the worst"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Rank = quantity("rank", "", "pause (16), level of the queue (4) and of utilisation (1), as far as compared: \
                                     lower is better"),
    }
}

impl Policy for HostAr {
    const SHEET: Sheet = Sheet {
        name: "host_ar",
        summary: "hashes each packet; a packet bound for a worst port goes to one of the best instead, by a coin toss",
        source: "htsim (ecmp_host_ar)",
        unit: "packet",
        compared: Some(Compared {
            aware: Aware::Local,
            senses: &["levels of own queues or of utilisation, and pauses"],
            state: "per port, at every switch",
            needs: Needs::Switches,
            order: "nothing",
            pick: "O(n)",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HASHES: Hashes = Hashes::OwnWay;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { port: Levels }

    fn new(config: &Config) -> Self {
        let percent = [config.level_1_percent, config.level_2_percent, config.level_3_percent];
        let refresh = Span::from_us_f64(config.refresh_us);
        HostAr {
            bands: Bands::new(config.compare, percent, u64::from(config.room_bytes), refresh),
            replace_part: (config.replace_probability * 4_294_967_296.0) as u64,
        }
    }

    fn clash(&self) -> Option<(&'static str, crate::config::Allowed, &'static str)> {
        self.bands.clash()
    }

    fn sees(&self, cx: &Cx<'_, Self>, _: &(), packet: &Packet, sight: &mut Sight<'_>) {
        let rank = |port: u16| {
            let mut row = cx.ports[usize::from(port)];
            self.bands.rank(&mut row, cx.now, &cx.view, Port(port))
        };
        for (way, &port) in cx.view.candidates.iter().enumerate() {
            sight.way(way, OfWay::Rank, f64::from(rank(port)));
        }
        let hashed = packet.spread(cx.view.salt, cx.view.candidates.len() as u32) as usize;
        let worst = cx.view.candidates.iter().map(|&port| rank(port)).max();
        sight.rule(if Some(rank(cx.view.candidates[hashed])) == worst { Why::Worst } else { Why::Hashed });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let hashed = packet.spread(cx.view.salt, cx.view.candidates.len() as u32) as usize;
        if (cx.rng.bits() >> 32) >= self.replace_part {
            return Way(hashed as u16);
        }
        let mut group = Group { bands: &self.bands, rows: cx.ports, now: cx.now, view: &cx.view };
        let ranks = group.ranks();
        let is_worst = group.rank(hashed) == ranks.worst;
        Way(if is_worst { group.one_of_best(&ranks, cx.rng) } else { hashed } as u16)
    }
}
