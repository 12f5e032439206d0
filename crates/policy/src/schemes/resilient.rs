//! Resilient hashing: a hash gives a bucket, and buckets belong to members. If a member goes, only its buckets move.
//!
//! SONiC's fine-grained ECMP and the resilient hashing of switch vendors, from memory. Plain ECMP redistributes all
//! flows over the remaining members.
//!
//! | rule | function |
//! |---|---|
//! | a hash of the header gives one of B buckets; they are dealt to the members in turn | `pick` |
//! | buckets of a removed member are spread over the others, and no other bucket moves | [`Members::stand_in`] |
//! | a member that comes back has its buckets back | [`Members`] |
//!
//! | our word | SONiC's |
//! |---|---|
//! | `buckets` | bucket size of a fine-grained next hop group |
//! | member | next hop |
//!
//! Departures:
//! - A switch learns the members towards a leaf as its routes show them. One that is first seen later takes buckets of all
//!   others, as does every new member.
//! - The order in which the others stand in for a bucket's member is fixed, by a hash of the bucket. So a bucket moves
//!   only if its own link fails, or if one earlier in that order returns.
//! - Links to switches beyond the first 1024 of a switch are no members; they are used where no member is left.
//! - Buckets move at once. Linux (`ip nexthop ... type resilient`) waits until they have been idle.

use crate::{
    AtSwitch, Aware, Compared, Cx, Decides, Hashes, Layout, Needs, Packet, Peers, Policy, Sees, Shape, Sheet, Way, hash,
};

crate::params! {
    /// Its parameters.
    Config {
        /// Buckets B of each group (SONiC: a power of two from 64 to 4096).
        buckets: u32 = 512, Allowed::Integer { min: 2.0, max: 65_536.0 };
    }
}

/// The most links between switches that are distinguished.
const MOST: usize = 1024;

/// Row per leaf: the links to switches that have ever led there, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Members {
    links: [u64; MOST / 64],
}

impl Members {
    fn learn(&mut self, link: u16) {
        if let Some(word) = self.links.get_mut(usize::from(link) / 64) {
            *word |= 1 << (link % 64);
        }
    }

    fn forget(&mut self, link: u16) {
        if let Some(word) = self.links.get_mut(usize::from(link) / 64) {
            *word &= !(1 << (link % 64));
        }
    }

    fn len(&self) -> u32 {
        self.links.iter().map(|word| word.count_ones()).sum()
    }

    /// The `n`-th member, by number.
    fn nth(&self, n: u32) -> Option<u16> {
        let mut left = n;
        for (at, &word) in (0u16..).zip(&self.links) {
            let here = word.count_ones();
            if left < here {
                let word = (0..left).fold(word, |word, _| word & (word - 1));
                return Some(at * 64 + word.trailing_zeros() as u16);
            }
            left -= here;
        }
        None
    }

    /// The way of a bucket whose member is gone: the first of the others, in the order that a hash of the bucket gives
    /// them, that has one.
    #[cold]
    fn stand_in(mut self, gone: u16, bucket: u32, salt: u64, way: impl Fn(u16) -> Option<usize>) -> Option<usize> {
        let mut link = gone;
        for attempt in 0u64.. {
            self.forget(link);
            link =
                self.nth(hash::spread(hash::mix2(salt.wrapping_add(attempt), u64::from(bucket)), self.len().max(1)))?;
            if let Some(way) = way(link) {
                return Some(way);
            }
        }
        None
    }
}

/// Buckets that do not move.
#[derive(Clone, Copy, Debug)]
pub struct Resilient {
    buckets: u32,
}

impl Policy for Resilient {
    const SHEET: Sheet = Sheet {
        name: "resilient",
        summary: "hashes each packet to a bucket; when an uplink goes down, only the flows in its buckets move",
        source: "SONiC fine-grained ECMP; switch vendors",
        unit: "flow",
        compared: Some(Compared {
            aware: Aware::No,
            senses: &[],
            state: "a table of buckets per group, at every switch",
            needs: Needs::Nothing,
            order: "a flow stays on its path",
            pick: "O(n), to find its port in the group",
            update: "–",
        }),
        sees: Sees { decides: Decides::Hashes, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HASHES: Hashes = Hashes::OwnWay;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { peer: Members }

    fn new(config: &Config) -> Self {
        Resilient { buckets: config.buckets }
    }

    fn layout(&self, _: &Shape) -> Layout {
        Layout { peers: Peers::Leaves, ..Layout::default() }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, _: &mut (), packet: &Packet, _: &mut ()) -> Way {
        let (candidates, hosts) = (cx.view.candidates, cx.view.host_ports);
        let members = cx.peers.current().0;
        candidates.iter().for_each(|&port| members.learn(port - hosts));
        let bucket = packet.spread(cx.view.salt, self.buckets);
        let way_of = |link: u16| candidates.iter().position(|&port| port - hosts == link);
        let member = members.nth(bucket % members.len().max(1));
        let way = member
            .and_then(|member| way_of(member).or_else(|| members.stand_in(member, bucket, cx.view.salt, way_of)))
            .unwrap_or_else(|| {
                hash::spread(hash::mix2(cx.view.salt, u64::from(bucket)), candidates.len() as u32) as usize
            });
        Way(way as u16)
    }
}
