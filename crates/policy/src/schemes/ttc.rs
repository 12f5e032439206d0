//! TTC, thresholded two-choice: each packet to its destination's port, unless a random other port is much less loaded.
//!
//! Wang, Luo, Wong, "Improved power of two choices for fat-tree routing", IEEE TNSM 15(4), 2018, from its abstract and
//! LBSP's description of related work. D-mod-k: Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
//! permutations on real life fat trees", 2010.
//!
//! | rule | function |
//! |---|---|
//! | the default port is D-mod-k's | [`d_mod_k`] |
//! | the other choice is drawn at random | `pick` |
//! | it is taken only if the load of the default exceeds its own by a threshold | [`leaves_default`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | load | queue length, as in DRILL, which TTC starts from |
//! | way | up port |
//!
//! **D-mod-k.** At its leaf a packet to host d takes the way d mod k; a tier above, (d / k) mod k: the digits of d to
//! the base of the choices k, lowest first. In a fat-tree whose hosts are numbered rack by rack each link down then
//! carries the packets of one host, if all take their default. Upwards, destinations with equal digits meet: the second
//! choice is for this case.
//!
//! Departures:
//! - The threshold is not in our sources. Ten full packets are our own choice: enough to keep most of the traffic on
//!   its default path, as the abstract intends, and far below the marking threshold.
//! - The random port is drawn among all others, for each packet anew. The sources do not say whether the default may be
//!   drawn, which would make no choice of it.
//! - TTC does not address failures, as LBSP notes. k is the number of ports that currently lead to the destination, so
//!   losing one port changes the defaults of all destinations.

use crate::{
    AtSwitch, Aware, Compared, Cx, Listed, Needs, Packet, Policy, Port, Quantity, Rng, Rule, Sees, Sheet, Sight,
    SwitchView, Tier, Way, sees::quantity,
};

crate::params! {
    /// TTC's parameters.
    Config {
        /// How much longer the default port's queue must be than the random port's, bytes (own choice: ten full
        /// packets; no source gives it).
        threshold_bytes: f64 = 15_000.0, Allowed::Number { min: 0.0, max: 1e15 };
    }
}

/// Default paths by destination, left only for much shorter queues.
#[derive(Clone, Copy, Debug)]
pub struct Ttc {
    threshold: u64,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Default = Rule::Chooses(
            "the queue of the destination's default port is not longer than the drawn port's by the threshold",
        ),
        Other = Rule::Chooses(
            "the queue of the destination's default port is longer than the drawn port's by the threshold",
        ),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Queue = quantity("queue", "bytes", "own queue at that uplink, if it was examined"),
    }
}

impl Policy for Ttc {
    const SHEET: Sheet = Sheet {
        name: "ttc",
        summary: "each packet on its destination's default path, or on a random port whose queue is shorter by a \
                  threshold",
        source: "Wang et al., IEEE TNSM 2018",
        unit: "packet",
        told: &["hosts are numbered rack by rack"],
        compared: Some(Compared {
            aware: Aware::Local,
            senses: &["own queues"],
            state: "none",
            needs: Needs::Switches,
            order: "a default path for each destination",
            pick: "O(1)",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! {}

    fn new(config: &Config) -> Self {
        Ttc { threshold: config.threshold_bytes as u64 }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let [default, other] = self.two(&cx.view, packet, cx.rng);
        let queue = |way| queue(&cx.view, way);
        Way(if leaves_default(queue(default), queue(other), self.threshold) { other } else { default })
    }

    fn sees(&self, cx: &Cx<'_, Self>, _: &(), packet: &Packet, sight: &mut Sight<'_>) {
        let ways = self.two(&cx.view, packet, &mut cx.rng.clone());
        let [default, other] = ways.map(|way| queue(&cx.view, way));
        for way in ways {
            sight.way(usize::from(way), OfWay::Queue, queue(&cx.view, way) as f64);
        }
        sight.rule(if leaves_default(default, other, self.threshold) { Why::Other } else { Why::Default });
    }
}

impl Ttc {
    /// The two ways that a packet has: its default, and another drawn at random; the same way twice if there is only
    /// one.
    #[inline]
    fn two(&self, view: &SwitchView<'_>, packet: &Packet, rng: &mut Rng) -> [u16; 2] {
        let choices = view.candidates.len() as u32;
        let default = d_mod_k(packet.dst, view.tier, choices);
        let further = if choices > 1 { 1 + rng.below(choices - 1) } else { 0 };
        [default, (default + further) % choices].map(|way| way as u16)
    }
}

/// Bytes queued at a candidate.
#[inline]
fn queue(view: &SwitchView<'_>, way: u16) -> u64 {
    view.queue_bytes(Port(view.candidates[usize::from(way)]))
}

/// The default way of a packet to host `dst`, of `choices` at a switch of this tier.
// LBSP, related work: the deterministic D-mod-k scheme
#[inline]
pub(crate) const fn d_mod_k(dst: u32, tier: Tier, choices: u32) -> u32 {
    match tier {
        Tier::Host | Tier::Leaf => dst % choices,
        Tier::Aggregation => dst / choices % choices,
        Tier::Spine => dst / choices / choices % choices,
    }
}

/// Whether the default port is left, given what is queued there and at the other.
// LBSP, related work: only when the load of the default path exceeds that of the random choice by a threshold
#[inline]
pub(crate) const fn leaves_default(default: u64, other: u64, threshold: u64) -> bool {
    default > other.saturating_add(threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_itself_is_no_reason_to_leave() {
        for (default, other, threshold, leaves) in [
            (0, 0, 0, false),
            (1, 0, 0, true),
            (0, 1, 0, false),
            (15_000, 0, 15_000, false),
            (15_001, 0, 15_000, true),
            (20_000, 5_000, 15_000, false),
            (20_001, 5_000, 15_000, true),
            (u64::MAX, u64::MAX, u64::MAX, false),
        ] {
            assert_eq!(leaves_default(default, other, threshold), leaves, "{default} {other} {threshold}");
        }
    }

    #[test]
    fn the_digits_of_a_destination_choose_its_path() {
        // 27 = 1·16 + 2·4 + 3 to the base 4.
        assert_eq!([Tier::Leaf, Tier::Aggregation, Tier::Spine].map(|tier| d_mod_k(27, tier, 4)), [3, 2, 1]);
        // The 16 hosts of a pod of a fat-tree of k = 8 have 16 cores, one each.
        for pod in 0..8 {
            let core = |host| (d_mod_k(host, Tier::Leaf, 4), d_mod_k(host, Tier::Aggregation, 4));
            let mut cores = [[0; 4]; 4];
            (16 * pod..16 * pod + 16).map(core).for_each(|(column, row)| cores[column as usize][row as usize] += 1);
            assert_eq!(cores, [[1; 4]; 4], "pod {pod}");
        }
    }
}
