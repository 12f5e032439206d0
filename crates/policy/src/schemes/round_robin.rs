//! Round robin at switches: each packet to the next uplink of a list that is shuffled anew from time to time.
//!
//! The rules of htsim's `ecmp_rr` and `rr_ecmp` (uet-htsim, `fat_tree_switch.cpp`). Their second form has leaves take turns
//! and all other switches hash: `tiers = "leaf"` with `reshuffle_rounds = 5` and `least_bytes = 0`.
//!
//! | rule | function |
//! |---|---|
//! | the next port of the list, whichever flow the packet is of | [`RoundRobin::next`] |
//! | the list is shuffled before the first packet, and after so many rounds | [`shuffle`] |
//! | with `tiers = "leaf"` other switches hash | `pick` |
//! | `ecmp_rr` hashes packets below 128 bytes, headers and answers (`_size < 128`) | `least_bytes` |
//!
//! | our word | htsim's |
//! |---|---|
//! | list | `_uproutes` as permuted |
//! | round | as many packets as there are uplinks |
//!
//! The list has a switch's ports towards other switches. A port that does not lead to a packet's destination is passed
//! over, and its turn is gone.
//!
//! Departures: none in fabrics where all uplinks lead to all destinations. In others htsim has a list for each set of
//! ports.

use crate::{
    AtSwitch, Aware, Compared, Cx, Listed, Needs, Packet, Policy, Rng, Rule, Sees, Sheet, Sight, SwitchView, Tier, Way,
};

crate::choice! {
    /// Which switches take turns.
    Tiers {
        /// All that have a choice.
        All = "all",
        /// Leaves; the others hash.
        Leaf = "leaf",
    }
}

crate::params! {
    /// Its parameters.
    Config {
        /// Which switches take turns; the others hash (htsim: all for ecmp_rr, leaf for rr_ecmp).
        tiers: Tiers = Tiers::All, Allowed::Words(Tiers::WORDS);
        /// The list is shuffled after this many rounds; 0: never (htsim: 1 for ecmp_rr, 5 for rr_ecmp).
        reshuffle_rounds: u32 = 1, Allowed::Integer { min: 0.0, max: 60_000.0 };
        /// Smaller packets are hashed and take no turn (htsim: 128 for ecmp_rr, 0 for rr_ecmp).
        least_bytes: u32 = 128, Allowed::Integer { min: 0.0, max: 65_535.0 };
    }
}

/// A place of the list, kept with the port of its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    port: u16,
}

/// Row per switch: where in the list it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Places in the list; 0: there is none yet.
    len: u16,
    /// The next place.
    at: u16,
    /// Rounds since it was shuffled.
    rounds: u16,
}

/// Turns at switches.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobin {
    tiers: Tiers,
    reshuffle: u16,
    least: u32,
}

crate::listed! {
    /// Why a packet gets its way.
    enum Why: Rule {
        Turn = Rule::Chooses("the next uplink in turn that leads there"),
        Small = Rule::Chooses("small packets take no turn: by a hash of the header"),
        Hashed = Rule::Keeps("this switch does not take turns: by a hash of the header"),
    }
}

impl Policy for RoundRobin {
    const SHEET: Sheet = Sheet {
        name: "round_robin",
        summary: "each packet to the next uplink of a list that is shuffled anew after each round, at every switch",
        source: "htsim (ecmp_rr, rr_ecmp)",
        unit: "packet",
        compared: Some(Compared {
            aware: Aware::No,
            senses: &[],
            state: "a list of ports at every switch",
            needs: Needs::Switches,
            order: "nothing",
            pick: "O(n), to find its port in the group",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { port: Place, node: Turn }

    fn new(config: &Config) -> Self {
        RoundRobin { tiers: config.tiers, reshuffle: config.reshuffle_rounds as u16, least: config.least_bytes }
    }

    fn sees(&self, cx: &Cx<'_, Self>, _: &(), packet: &Packet, sight: &mut Sight<'_>) {
        sight.rule(match (self.has_turns(&cx.view), packet.wire >= self.least) {
            (true, true) => Why::Turn,
            (true, false) => Why::Small,
            (false, _) => Why::Hashed,
        });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates;
        if candidates.len() == 1 {
            return Way(0);
        }
        if packet.wire < self.least || !self.has_turns(&cx.view) {
            return Way(packet.spread(cx.view.salt, candidates.len() as u32) as u16);
        }
        if cx.node.len == 0 {
            begin(cx.node, cx.ports, cx.view.host_ports, cx.rng);
        }
        // All ports are in the list, so that one turn of it finds a candidate; a list shuffled on the way takes another.
        for _ in 0..2 * cx.node.len {
            let port = self.next(cx.node, cx.ports, cx.rng);
            if let Some(way) = candidates.iter().position(|&candidate| candidate == port) {
                return Way(way as u16);
            }
        }
        Way(0)
    }
}

impl RoundRobin {
    #[inline]
    fn has_turns(&self, view: &SwitchView<'_>) -> bool {
        self.tiers == Tiers::All || view.tier == Tier::Leaf
    }

    /// The next port of the list.
    #[inline]
    fn next(&self, turn: &mut Turn, list: &mut [Place], rng: &mut Rng) -> u16 {
        let port = list[usize::from(turn.at)].port;
        turn.at += 1;
        if turn.at == turn.len {
            (turn.at, turn.rounds) = (0, turn.rounds.wrapping_add(1));
            if turn.rounds == self.reshuffle {
                turn.rounds = 0;
                shuffle(&mut list[..usize::from(turn.len)], rng);
            }
        }
        port
    }
}

/// A list of all ports that lead to switches.
#[cold]
fn begin(turn: &mut Turn, list: &mut [Place], host_ports: u16, rng: &mut Rng) {
    turn.len = list.len() as u16 - host_ports;
    let list = &mut list[..usize::from(turn.len)];
    (host_ports..).zip(&mut *list).for_each(|(port, place)| place.port = port);
    shuffle(list, rng);
}

/// Fisher and Yates: every order is as likely.
fn shuffle(list: &mut [Place], rng: &mut Rng) {
    for last in (1..list.len()).rev() {
        list.swap(last, rng.below(last as u32 + 1) as usize);
    }
}
