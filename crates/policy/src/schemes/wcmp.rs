//! WCMP: ECMP whose hash gives each next hop a share by its capacity, with entries repeated in a table of bounded size.
//!
//! Zhou, Tewari, Zhu, Kabbani, Poutievski, Singh, Vahdat, "WCMP: weighted cost multipathing for improved fairness in
//! data centers", EuroSys 2014. Site: every switch; the weights come from a controller. The paper was not available;
//! the rules are those given by papers that cite it.
//!
//! | rule | function |
//! |---|---|
//! | a next hop's weight is the capacity of the paths through it | [`exact`] |
//! | it has that many entries in the hash table; a packet's hash picks an entry | `pick` |
//! | weights are reduced until no next hop gets more than a multiple of its share, or the table is full | [`reduce`] |
//! | the entry to add is the one that leaves its next hop the least over its share | [`next_up`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | way | next hop, group member |
//! | entries | size of the WCMP group |
//! | oversubscription | maximum oversubscription of a member, θ |
//!
//! **What the controller provides.** On its own, a switch sees only the rates of its own links. A controller that knows
//! the topology gives each switch, for each of its ports and each leaf, the lesser of the link's rate and the combined
//! capacity of the next switch's links to that leaf ([`Ports::told_capacity`](crate::site::Ports::told_capacity)). This
//! is set at the start and never changes; it ignores other flows on those links.
//!
//! Departures:
//! - A group is made when the first packet for a leaf comes, which costs that packet no time here.
//! - One table per switch and leaf; the paper fits all groups of a switch into one table.
//! - Of the reduced groups that fit, the one of least oversubscription is taken, and among equals the smallest; if even
//!   that one is above the limit, it is used anyway.

use crate::config::Allowed;
use crate::{
    AtSwitch, Aware, Compared, Cx, Decides, Hashes, Layout, Needs, Packet, Peers, Policy, Port, Sees, Shape, Sheet,
    SwitchView, Way,
};

/// The most entries a group may have.
const MOST_ENTRIES: u32 = 4096;

crate::params! {
    /// WCMP's parameters.
    Config {
        /// Most entries in the hash table for one leaf (own choice). At least as many as there are next hops.
        table_entries: u32 = 64, Allowed::Integer { min: 1.0, max: MOST_ENTRIES as f64 };
        /// Entries are added until no next hop has more than this multiple of its share; at 1, until shares are exact
        /// or the table is full (own choice).
        max_oversubscription: f64 = 1.0, Allowed::Number { min: 1.0, max: 1000.0 };
    }
}

/// Row per leaf: its group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Entries in all; 0 before there is a group.
    pub entries: u32,
    /// Next hops it was made for.
    pub ways: u16,
}

/// Row per leaf and way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Its ideal weight: its capacity in the greatest common unit.
    pub exact: u64,
    /// Entries it has.
    pub weight: u32,
    /// Entries of this way and of all before it.
    pub upto: u32,
    /// The port that leads to this next hop.
    pub port: u16,
}

/// Hashing by capacity.
#[derive(Clone, Copy, Debug)]
pub struct Wcmp {
    entries: u32,
    /// Oversubscription allowed, in millionths.
    allowed: u64,
}

impl Policy for Wcmp {
    const SHEET: Sheet = Sheet {
        name: "wcmp",
        summary: "ECMP weighted by the capacity of the paths behind each uplink, from a controller",
        source: "Zhou et al., EuroSys 2014",
        unit: "flow",
        told: &["leaf of every host", "capacity through each of its ports to each leaf, from a controller"],
        compared: Some(Compared {
            aware: Aware::No,
            senses: &["capacity of paths, from a controller"],
            state: "per leaf and port, at every switch",
            needs: Needs::Nothing,
            order: "a flow stays on its path",
            pick: "O(n), to check that its group matches these uplinks",
            update: "once per leaf and change of routes",
        }),
        sees: Sees { decides: Decides::Hashes, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HASHES: Hashes = Hashes::OwnWay;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { peer: Group, route: Share }

    fn new(config: &Config) -> Self {
        Wcmp { entries: config.table_entries, allowed: (config.max_oversubscription * 1e6 + 0.5) as u64 }
    }

    fn layout(&self, _: &Shape) -> Layout {
        Layout { peers: Peers::Leaves, ..Layout::default() }
    }

    fn misfit(&self, shape: &Shape) -> Option<(&'static str, Allowed)> {
        let least = f64::from(shape.ways);
        let fits = self.entries >= u32::from(shape.ways);
        (!fits).then_some(("table_entries", Allowed::Integer { min: least, max: f64::from(MOST_ENTRIES) }))
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let (leaf, ways) = (cx.peers.ids[cx.peers.current], cx.view.candidates.len());
        let (group, shares) = cx.peers.current();
        let shares = &mut shares[..ways];
        let is_for = |(share, &port): (&Share, &u16)| share.port == port;
        if usize::from(group.ways) != ways || !shares.iter().zip(cx.view.candidates).all(is_for) {
            exact(&cx.view, leaf, shares);
            *group = Group { entries: reduce(shares, self.entries.max(ways as u32), self.allowed), ways: ways as u16 };
        }
        let entry = packet.spread(cx.view.salt, group.entries);
        Way(shares.partition_point(|share| share.upto <= entry) as u16)
    }
}

/// The exact weights towards `leaf`: capacities over their greatest common divisor.
pub fn exact(view: &SwitchView<'_>, leaf: u32, shares: &mut [Share]) {
    let mut unit = 0;
    for (share, &port) in shares.iter_mut().zip(view.candidates) {
        (share.exact, share.port) = (view.told_capacity(Port(port), leaf), port);
        unit = divisor(share.exact, unit);
    }
    shares.iter_mut().for_each(|share| share.exact /= unit.max(1));
}

/// The greatest common divisor.
const fn divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Gives each share its entries, at most `most` in all and no more than exact weights have, and returns their number.
/// `allowed` is in millionths.
pub fn reduce(shares: &mut [Share], most: u32, allowed: u64) -> u32 {
    let whole: u64 = shares.iter().map(|share| share.exact).sum();
    let limit = u64::from(most).min(whole) as u32;
    shares.iter_mut().for_each(|share| share.weight = 1);
    let mut entries = shares.len() as u32;
    let mut best = (entries, oversubscription(shares, entries, whole));
    while best.1 > allowed && entries < limit {
        shares[next_up(shares)].weight += 1;
        entries += 1;
        let now = oversubscription(shares, entries, whole);
        if now < best.1 {
            best = (entries, now);
        }
    }
    // The same steps again, up to the best of them.
    shares.iter_mut().for_each(|share| share.weight = 1);
    for _ in shares.len() as u32..best.0 {
        shares[next_up(shares)].weight += 1;
    }
    let mut upto = 0;
    for share in shares {
        upto += share.weight;
        share.upto = upto;
    }
    best.0
}

/// The way that would have the least of its share with one more entry; among equals the first.
fn next_up(shares: &[Share]) -> usize {
    let mut least = 0;
    for (way, share) in shares.iter().enumerate() {
        // (w + 1) / exact, across: no division.
        let ours = u128::from(share.weight + 1) * u128::from(shares[least].exact);
        if ours < u128::from(shares[least].weight + 1) * u128::from(share.exact) {
            least = way;
        }
    }
    least
}

/// The ratio to its share of the way that exceeds its share most, in millionths, rounded down.
fn oversubscription(shares: &[Share], entries: u32, whole: u64) -> u64 {
    let times = |share: &Share| {
        let has = u128::from(share.weight) * u128::from(whole) * 1_000_000;
        (has / (u128::from(entries) * u128::from(share.exact.max(1)))) as u64
    };
    shares.iter().map(times).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    fn weights(exact: &[u64], most: u32, allowed: u64) -> (u32, Vec<u32>) {
        let mut shares: Vec<Share> = exact.iter().map(|&exact| Share { exact, ..Share::default() }).collect();
        let entries = reduce(&mut shares, most, allowed);
        assert_eq!(shares.last().map(|share| share.upto), Some(entries));
        (entries, shares.iter().map(|share| share.weight).collect())
    }

    #[test]
    fn exact_weights_are_taken_if_they_fit() {
        for exact in [[1, 1, 1, 1], [10, 10, 1, 10], [3, 5, 7, 2], [1, 2, 3, 58]] {
            let (entries, found) = weights(&exact, 64, 1_000_000);
            assert_eq!(u64::from(entries), exact.iter().sum::<u64>());
            assert!(found.iter().zip(exact).all(|(found, exact)| u64::from(*found) == exact), "{exact:?}: {found:?}");
        }
    }

    #[test]
    fn no_smaller_group_of_that_size_or_less_does_better() {
        // All groups of three next hops with at most 12 entries, by force.
        for exact in [[100, 33, 17], [999, 500, 1], [31, 30, 29]] {
            let whole: u64 = exact.iter().sum();
            let worst = |w: [u32; 3]| {
                let entries: u32 = w.iter().sum();
                let over = |(w, e): (u32, u64)| f64::from(w) * whole as f64 / (f64::from(entries) * e as f64);
                w.into_iter().zip(exact).map(over).fold(0.0, f64::max)
            };
            let mut least = f64::INFINITY;
            for a in 1..=10 {
                for b in 1..=10 {
                    for c in 1..=10 {
                        least = if a + b + c <= 12 { least.min(worst([a, b, c])) } else { least };
                    }
                }
            }
            let (entries, found) = weights(&exact, 12, 1_000_000);
            assert!(entries <= 12);
            let got = worst([found[0], found[1], found[2]]);
            assert!(got <= least * (1.0 + 1e-6), "{exact:?}: {found:?} has {got}, {least} is possible");
        }
    }

    #[test]
    fn a_limit_on_oversubscription_saves_entries() {
        let exact = [100, 99, 98, 10];
        let (all, _) = weights(&exact, 4096, 1_000_000);
        let (few, found) = weights(&exact, 4096, 1_100_000);
        assert_eq!(u64::from(all), exact.iter().sum::<u64>());
        assert!(few < 64, "{found:?}");
        let whole: u64 = exact.iter().sum();
        for (weight, exact) in found.iter().zip(exact) {
            assert!(f64::from(*weight) / f64::from(few) <= 1.1 * exact as f64 / whole as f64 + 1e-6, "{found:?}");
        }
    }
}
