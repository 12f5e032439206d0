//! The pairs of hosts that may exchange flows, and the uniform choice among the receivers.

use spinewise_policy::rng::Rng;

use super::{Places, WorkloadError};

/// The pairs of hosts that exchange flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairs {
    /// Every host sends to the hosts under other leaves (source: ns3-load-balance).
    #[default]
    InterRack,
    /// Every host sends to every other host, the same rack included (source: conweave-ns3).
    Any,
    /// The hosts under leaf `from` send to those under leaf `to`, each receiver equally likely.
    LeafPair {
        /// The leaf of the senders.
        from: u32,
        /// The leaf of the receivers, another one.
        to: u32,
    },
    /// The k-th host under leaf `from` sends to the k-th under leaf `to` (wrapping round if that leaf has fewer).
    OneToOne {
        /// The leaf of the senders.
        from: u32,
        /// The leaf of the receivers, another one.
        to: u32,
    },
}

impl Pairs {
    /// Its word in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Pairs::InterRack => "inter_rack",
            Pairs::Any => "any",
            Pairs::LeafPair { .. } => "leaf_pair",
            Pairs::OneToOne { .. } => "one_to_one",
        }
    }
}

/// The pairs over one topology, ready to draw from.
pub(super) struct Matching<'a> {
    pairs: Pairs,
    leaf_of: &'a [u32],
    /// The hosts that take part, by number, if not all do.
    among: Option<&'a [u32]>,
    /// All of these, by leaf, then by number.
    order: Vec<u32>,
    /// Index of each leaf's first host in `order`, with the end after the last.
    first: Vec<u32>,
}

impl<'a> Matching<'a> {
    /// Checks that every sender has a receiver. `among`: the hosts that take part, in order of their numbers; none for
    /// all.
    pub(super) fn new(
        pairs: Pairs,
        among: Option<&'a [u32]>,
        places: &Places<'a>,
    ) -> Result<Matching<'a>, WorkloadError> {
        let mut order: Vec<u32> = among.map_or_else(|| (0..places.hosts).collect(), <[u32]>::to_vec);
        let mut first = vec![0u32; places.leaves as usize + 1];
        for &host in &order {
            first[places.leaf_of[host as usize] as usize + 1] += 1;
        }
        for leaf in 0..places.leaves as usize {
            first[leaf + 1] += first[leaf];
        }
        order.sort_by_key(|&host| places.leaf_of[host as usize]);
        let matching = Matching { pairs, leaf_of: places.leaf_of, among, order, first };
        matching.check(places.leaves)?;
        Ok(matching)
    }

    fn check(&self, leaves: u32) -> Result<(), WorkloadError> {
        let refuse = |allowed: &str| match self.among {
            None => Err(WorkloadError::new("pairs", self.pairs.name(), allowed)),
            Some(among) => Err(WorkloadError::new(
                "hosts",
                format!("{among:?}"),
                format!("hosts of two leaves or more with pairs = \"{}\"", self.pairs.name()),
            )),
        };
        match self.pairs {
            Pairs::Any if self.order.len() < 2 => refuse("a topology with at least two hosts"),
            Pairs::InterRack if (0..leaves).filter(|&leaf| self.hosts_under(leaf) > 0).count() < 2 => {
                refuse("\"any\", or a topology with hosts under at least two leaves")
            }
            Pairs::LeafPair { from, to } | Pairs::OneToOne { from, to } => {
                for (key, leaf) in [("from_leaf", from), ("to_leaf", to)] {
                    if leaf >= leaves || self.hosts_under(leaf) == 0 {
                        return Err(WorkloadError::new(
                            key,
                            leaf,
                            format!("a leaf with hosts, from 0 to {}", leaves - 1),
                        ));
                    }
                }
                if from == to {
                    return Err(WorkloadError::new("to_leaf", to, "a leaf other than from_leaf"));
                }
                Ok(())
            }
            Pairs::Any | Pairs::InterRack => Ok(()),
        }
    }

    /// Number of hosts under a leaf.
    pub(super) fn hosts_under(&self, leaf: u32) -> u32 {
        self.first[leaf as usize + 1] - self.first[leaf as usize]
    }

    /// The hosts that send, in order of their leaves.
    pub(super) fn sources(&self) -> &[u32] {
        match self.pairs {
            Pairs::InterRack | Pairs::Any => &self.order,
            Pairs::LeafPair { from, .. } | Pairs::OneToOne { from, .. } => self.under(from),
        }
    }

    /// Draws a receiver for `src`; one draw, whatever the pairs.
    pub(super) fn receiver(&self, src: u32, rng: &mut Rng) -> u32 {
        let hosts = self.order.len() as u32;
        let leaf = self.leaf_of[src as usize];
        match self.pairs {
            Pairs::Any => {
                let k = rng.below(hosts - 1);
                match self.among {
                    None => k + u32::from(k >= src),
                    Some(among) => {
                        let own = among.partition_point(|&host| host < src) as u32;
                        among[(k + u32::from(k >= own)) as usize]
                    }
                }
            }
            Pairs::InterRack => {
                let own = self.hosts_under(leaf);
                let k = rng.below(hosts - own);
                // Skip the sender's own rack, which is one block in `order`.
                let skip = if k >= self.first[leaf as usize] { own } else { 0 };
                self.order[(k + skip) as usize]
            }
            Pairs::LeafPair { to, .. } => self.under(to)[rng.below(self.hosts_under(to)) as usize],
            Pairs::OneToOne { from, to } => {
                let rank = self.under(from).partition_point(|&host| host < src);
                self.under(to)[rank % self.hosts_under(to) as usize]
            }
        }
    }

    fn under(&self, leaf: u32) -> &[u32] {
        &self.order[self.first[leaf as usize] as usize..self.first[leaf as usize + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fabric;
    use super::*;

    /// Counts how many times each host is drawn for `src`.
    fn counts(pairs: Pairs, places: &Places, src: u32, draws: u32) -> Vec<u32> {
        let matching = Matching::new(pairs, None, places).unwrap();
        let mut rng = Rng::stream(1, "test", 0);
        let mut counts = vec![0; places.hosts as usize];
        for _ in 0..draws {
            counts[matching.receiver(src, &mut rng) as usize] += 1;
        }
        counts
    }

    #[test]
    fn receivers_are_uniform_over_those_allowed() {
        // Hosts strewn over the leaves, of unequal numbers: 0 and 3 under leaf 1, 1 under leaf 0, the rest under leaf 2.
        let fabric = Fabric { leaf_of: vec![1, 0, 2, 1, 2, 2], host_rates: vec![1; 6], uplinks: vec![1; 3] };
        let places = fabric.places();
        let cases: [(Pairs, u32, &[u32]); 5] = [
            (Pairs::Any, 3, &[0, 1, 2, 4, 5]),
            (Pairs::InterRack, 3, &[1, 2, 4, 5]),
            (Pairs::InterRack, 1, &[0, 2, 3, 4, 5]),
            (Pairs::LeafPair { from: 1, to: 2 }, 0, &[2, 4, 5]),
            (Pairs::OneToOne { from: 1, to: 2 }, 3, &[4]),
        ];
        for (pairs, src, allowed) in cases {
            let draws = 60_000;
            let p = 1.0 / allowed.len() as f64;
            let sigma = (draws as f64 * p * (1.0 - p)).sqrt();
            for (host, &count) in counts(pairs, &places, src, draws).iter().enumerate() {
                let expected = if allowed.contains(&(host as u32)) { p * draws as f64 } else { 0.0 };
                let slack = if expected > 0.0 { 4.0 * sigma } else { 0.0 };
                assert!((count as f64 - expected).abs() <= slack, "{pairs:?} {src} -> {host}: {count}");
            }
        }
    }

    #[test]
    fn hosts_that_take_no_part_neither_send_nor_receive() {
        let fabric = Fabric { leaf_of: vec![1, 0, 2, 1, 2, 2], host_rates: vec![1; 6], uplinks: vec![1; 3] };
        let among = [0, 2, 3, 5];
        let mut rng = Rng::stream(1, "test", 0);
        for (pairs, src, allowed) in
            [(Pairs::Any, 3, vec![0, 2, 5]), (Pairs::InterRack, 3, vec![2, 5]), (Pairs::InterRack, 5, vec![0, 3])]
        {
            let matching = Matching::new(pairs, Some(&among), &fabric.places()).unwrap();
            assert_eq!(matching.sources(), [0, 3, 2, 5]);
            let drawn: std::collections::BTreeSet<u32> = (0..200).map(|_| matching.receiver(src, &mut rng)).collect();
            assert_eq!(drawn.into_iter().collect::<Vec<_>>(), allowed);
        }
        let refused = Matching::new(Pairs::InterRack, Some(&[2, 5]), &fabric.places()).err().map(|error| error.key);
        assert_eq!(refused, Some("hosts".into()));
    }

    #[test]
    fn pairs_without_receivers_are_refused() {
        let key = |pairs, fabric: &Fabric| Matching::new(pairs, None, &fabric.places()).err().map(|error| error.key);
        let (one, two) = (Fabric::new(1, 4, 1), Fabric::new(2, 4, 1));
        assert_eq!(key(Pairs::InterRack, &one), Some("pairs".into()));
        assert_eq!(key(Pairs::Any, &Fabric::new(1, 1, 1)), Some("pairs".into()));
        assert_eq!(key(Pairs::Any, &one), None);
        assert_eq!(key(Pairs::LeafPair { from: 2, to: 0 }, &two), Some("from_leaf".into()));
        assert_eq!(key(Pairs::LeafPair { from: 0, to: 9 }, &two), Some("to_leaf".into()));
        assert_eq!(key(Pairs::OneToOne { from: 1, to: 1 }, &two), Some("to_leaf".into()));
        assert_eq!(key(Pairs::OneToOne { from: 1, to: 0 }, &two), None);
    }
}
