//! Round robin at switches: each packet to the next uplink of a list that is reshuffled from time to time.
//!
//! The rules of htsim's `ecmp_rr` and `rr_ecmp` (uet-htsim, `fat_tree_switch.cpp`). Their second form has leaves take
//! turns and all other switches hash: `tiers = "leaf"` with `reshuffle_rounds = 5` and `least_bytes = 0`.
//!
//! | rule | function |
//! |---|---|
//! | the next port of the list, whichever flow the packet is of | [`RoundRobin::next`] |
//! | the list is shuffled before the first packet and after `reshuffle_rounds` rounds | [`shuffle`] |
//! | with `tiers = "leaf"` other switches hash | `pick` |
//! | `ecmp_rr` hashes packets below 128 bytes, headers and answers (`_size < 128`), to a place of the list: a flow's answers move as it is shuffled | `least_bytes` |
//! | above the leaves each destination has a list of its own, and all have their turns by one counter | `lists = "destination"`, [`Own`] |
//!
//! | our word | htsim's |
//! |---|---|
//! | list | `_uproutes` as permuted |
//! | round | as many packets as there are uplinks |
//!
//! The list has a switch's ports towards other switches. A port that does not lead to a packet's destination is passed
//! over, and its turn is gone.
//!
//! With one list a switch loads its uplinks evenly. In htsim leaves have one, and aggregation switches one for each destination,
//! with a counter for all of them: packets to different hosts then meet on an uplink by chance. So it is here with
//! `lists = "destination"`, which preset uet-htsim has, up to 16 uplinks.
//!
//! Departures: none in fabrics where all uplinks lead to all destinations. In others htsim has a list for each set of ports.

use crate::{
    AtSwitch, Aware, Compared, Cx, Hashes, Layout, Listed, Needs, Packet, Peers, Policy, Rng, Rule, Sees, Shape, Sheet,
    Sight, SwitchView, Tier, Way,
};

crate::choice! {
    /// The switches that take turns.
    Tiers {
        /// All that have a choice.
        All = "all",
        /// Leaves; the others hash.
        Leaf = "leaf",
    }
}

crate::choice! {
    /// The owners of lists of uplinks.
    Lists {
        /// Each switch has one.
        Switch = "switch",
        /// Each destination host has one above the leaves.
        Destination = "destination",
    }
}

crate::params! {
    /// Its parameters.
    Config {
        /// Which switches go round-robin; the others hash (htsim: all for ecmp_rr, leaf for rr_ecmp).
        tiers: Tiers = Tiers::All, Allowed::Words(Tiers::WORDS);
        /// The list is shuffled after this many rounds; 0: never (htsim: 1 for ecmp_rr, 5 for rr_ecmp).
        reshuffle_rounds: u32 = 1, Allowed::Integer { min: 0.0, max: 60_000.0 };
        /// Smaller packets are hashed to a position in the list and take no turn (htsim: 128 for ecmp_rr, 0 for
        /// rr_ecmp).
        least_bytes: u32 = 128, Allowed::Integer { min: 0.0, max: 65_535.0 };
        /// What has a list: each switch, one for all packets; or, above the leaves, each destination, one of up to 16
        /// uplinks, with one counter for all (as in htsim).
        lists: Lists = Lists::Switch, Allowed::Words(Lists::WORDS);
    }
}

/// Row per destination: its list, if each has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Four bits per place.
    order: u64,
    /// Places; 0: there is no list yet.
    len: u8,
}

/// The most uplinks in such a list.
const MOST: usize = 16;

impl Own {
    /// A list of `n` uplinks, in random order.
    fn shuffled(n: usize, rng: &mut Rng) -> Own {
        let mut order: [u8; MOST] = core::array::from_fn(|at| at as u8);
        shuffle(&mut order[..n], rng);
        Own { order: order[..n].iter().rev().fold(0, |packed, &way| packed << 4 | u64::from(way)), len: n as u8 }
    }

    /// The existing list of `n` uplinks. If routes have changed it was a list of other uplinks.
    fn of(&mut self, n: usize, rng: &mut Rng) -> &mut Own {
        if usize::from(self.len) != n {
            *self = Own::shuffled(n, rng);
        }
        self
    }

    /// The uplink at a place.
    const fn at(self, place: u16) -> u16 {
        (self.order >> (4 * place) & 15) as u16
    }
}

/// A place in the list, stored with the port of its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    port: u16,
}

/// Row per switch: its position in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// Number of places in the list; 0 if there is no list yet.
    len: u16,
    /// The next place; for lists of destinations, packets since the last round of all lists began.
    at: u32,
    /// Rounds since it was shuffled.
    rounds: u16,
}

/// Turns at switches.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobin {
    tiers: Tiers,
    reshuffle: u16,
    least: u32,
    lists: Lists,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Turn = Rule::Chooses("the next uplink in turn that leads there"),
        Small = Rule::Chooses("small packets take no turn: a hash of the header gives a position in the list"),
        Hashed = Rule::Keeps("this switch does not take turns: by a hash of the header"),
    }
}

impl Policy for RoundRobin {
    const SHEET: Sheet = Sheet {
        name: "round_robin",
        summary: "each packet to the next uplink of a list that is reshuffled after each round, at every switch",
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
    // Hashes if turns are taken at leaves only.
    const HASHES: Hashes = Hashes::OwnWay;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { peer: Own, port: Place, node: Turn }

    fn new(config: &Config) -> Self {
        RoundRobin {
            tiers: config.tiers,
            reshuffle: config.reshuffle_rounds as u16,
            least: config.least_bytes,
            lists: config.lists,
        }
    }

    fn layout(&self, _: &Shape) -> Layout {
        let peers = if self.lists == Lists::Destination { Peers::Hosts } else { Peers::None };
        Layout { peers, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, (): &(), packet: &Packet, sight: &mut Sight<'_>) {
        sight.rule(match (self.has_turns(&cx.view), packet.wire >= self.least) {
            (true, true) => Why::Turn,
            (true, false) => Why::Small,
            (false, _) => Why::Hashed,
        });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, (): &mut (), packet: &Packet, _: &mut ()) -> Way {
        let candidates = cx.view.candidates;
        if candidates.len() == 1 {
            return Way(0);
        }
        let hashed = || packet.spread(cx.view.salt, candidates.len() as u32) as u16;
        if !self.has_turns(&cx.view) {
            return Way(hashed());
        }
        let place = (packet.wire < self.least).then(hashed);
        if self.lists == Lists::Destination && cx.view.tier != Tier::Leaf && candidates.len() <= MOST {
            let own = cx.peers.current().0;
            return Way(match place {
                Some(place) => own.of(candidates.len(), cx.rng).at(place),
                None => self.next_of(own, cx.node, candidates.len(), cx.rng),
            });
        }
        if cx.node.len == 0 {
            begin(cx.node, cx.ports, cx.view.host_ports, cx.rng);
        }
        if let Some(place) = place {
            let list = &cx.ports[..usize::from(cx.node.len)];
            if list.len() == candidates.len() {
                return Way(cx.view.way_of(list[usize::from(place)].port).unwrap_or(0) as u16);
            }
            let mut ways = list.iter().filter_map(|place| cx.view.way_of(place.port));
            return Way(ways.nth(usize::from(place)).unwrap_or(0) as u16);
        }
        // All ports are in the list, so one turn of it finds a candidate; a list shuffled on the way takes another
        // turn.
        for _ in 0..2 * cx.node.len {
            let port = self.next(cx.node, cx.ports, cx.rng);
            if let Some(way) = cx.view.way_of(port) {
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

    /// The next of `n` uplinks of a destination's own list. The destination whose packet begins a round has its list
    /// shuffled.
    #[inline]
    fn next_of(&self, own: &mut Own, turn: &mut Turn, n: usize, rng: &mut Rng) -> u16 {
        let ends = turn.at >= n as u32 * u32::from(self.reshuffle.max(1));
        if ends {
            turn.at = 0;
        }
        if ends && self.reshuffle > 0 {
            *own = Own::shuffled(n, rng);
        }
        let way = own.of(n, rng).at((turn.at % n as u32) as u16);
        turn.at += 1;
        way
    }

    /// The next port of the list.
    #[inline]
    fn next(&self, turn: &mut Turn, list: &mut [Place], rng: &mut Rng) -> u16 {
        let port = list[turn.at as usize].port;
        turn.at += 1;
        if turn.at == u32::from(turn.len) {
            (turn.at, turn.rounds) = (0, turn.rounds.wrapping_add(1));
            if self.reshuffle > 0 && turn.rounds == self.reshuffle {
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

/// Fisher and Yates: every order is equally likely.
fn shuffle<T>(list: &mut [T], rng: &mut Rng) {
    for last in (1..list.len()).rev() {
        list.swap(last, rng.below(last as u32 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_a_destination_has_each_uplink_once() {
        let mut rng = Rng::stream(1, "test", 0);
        for n in [2, 3, 16] {
            let own = Own::shuffled(n, &mut rng);
            let seen = (0..n as u16).fold(0u32, |seen, place| seen | 1 << own.at(place));
            assert_eq!(seen, (1 << n) - 1, "{n} uplinks");
        }
    }

    #[test]
    fn destinations_have_turns_by_one_counter() {
        let (mut rng, mut turn) = (Rng::stream(1, "test", 0), Turn::default());
        let rule = RoundRobin { tiers: Tiers::All, reshuffle: 1, least: 128, lists: Lists::Destination };
        let mut lists = [Own::default(); 2];
        // Two in turn have every other place each, in the list that each has at the time.
        for packet in 0..40 {
            let list = &mut lists[packet % 2];
            let before = *list;
            let way = rule.next_of(list, &mut turn, 4, &mut rng);
            assert_eq!((turn.at, way), ((packet % 4 + 1) as u32, list.at((packet % 4) as u16)));
            assert!(packet % 4 == 0 || before.len == 0 || before == *list, "shuffled as a round begins");
        }
    }

    #[test]
    fn a_list_is_for_the_uplinks_there_are() {
        let (mut rng, mut turn, mut list) = (Rng::stream(1, "test", 0), Turn::default(), Own::default());
        let rule = RoundRobin { tiers: Tiers::All, reshuffle: 0, least: 128, lists: Lists::Destination };
        for n in [3, 4, 2] {
            let mut sent = [0; 4];
            (0..12).for_each(|_| sent[usize::from(rule.next_of(&mut list, &mut turn, n, &mut rng))] += 1);
            assert!(sent[..n].iter().all(|&packets| packets == 12 / n), "{n} uplinks: {sent:?}");
        }
    }
}
