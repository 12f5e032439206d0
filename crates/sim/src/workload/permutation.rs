//! Permutation traffic: every host sends one flow and receives one.

use spinewise_policy::rng::Rng;
use spinewise_policy::time::{Span, Time};

use super::{FLOW_BYTES, FlowSpec, Places, WorkloadError, entity, shuffle};

/// Whole shuffles tried before the constructed start; ample where a shuffle can succeed at all (1 in e without racks).
const SHUFFLES: u32 = 100;

/// Rounds of a random permutation without fixed points; every round draws another.
///
/// Without `inter_rack` each derangement is equally likely: shuffles are rejected until one has no fixed point. With
/// `inter_rack` the same is tried first, which suffices in small networks. Where racks are so large that a shuffle
/// never fits, the permutation starts from one built to fit (the hosts of a random order of racks, each shuffled, moved
/// on by the largest rack) and is mixed by random swaps of two receivers and rotations of three, refused if they would
/// leave a receiver in its sender's rack. Those moves are symmetric, so they converge to the uniform distribution;
/// rotations are needed because with three racks no swap changes how many flows go from one rack to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Permutation {
    /// Size of every flow in bytes, at least 1.
    pub size: u64,
    /// Start of the first round, for all hosts at once.
    pub start: Time,
    /// Whether every receiver must be under another leaf than its sender.
    pub inter_rack: bool,
    /// Number of rounds.
    pub repeat: u32,
    /// Time from the start of one round to the next; zero starts all at once.
    pub period: Span,
}

impl Permutation {
    /// One round at time zero, between racks.
    pub fn new(size: u64) -> Permutation {
        Permutation { size, start: Time::ZERO, inter_rack: true, repeat: 1, period: Span::ZERO }
    }

    pub(super) fn generate(&self, seed: u64, entry: u8, places: &Places) -> Result<Vec<FlowSpec>, WorkloadError> {
        if self.size == 0 {
            return Err(WorkloadError::new("size_bytes", self.size, "1 or more"));
        }
        let rounds = places.bounds.rounds(self.start, self.period, self.repeat);
        places.bounds.refuse_too_many(
            "repeat",
            self.repeat,
            u64::from(rounds) * u64::from(places.hosts),
            FLOW_BYTES,
        )?;
        // Receivers must differ from their sender in this: the leaf, or else the host itself.
        let own: Vec<u32>;
        let group: &[u32] = if self.inter_rack {
            places.leaf_of
        } else {
            own = (0..places.hosts).collect();
            &own
        };
        let mut flows = Vec::with_capacity(rounds as usize * places.hosts as usize);
        for round in (0..rounds).take_while(|_| (places.bounds.go_on)()) {
            let mut rng = Rng::stream(seed, "permutation", entity(entry, round));
            let receivers = shuffle_apart(group, &mut rng).ok_or_else(|| self.impossible())?;
            let start = self.start + self.period * u64::from(round);
            flows.extend((0u32..).zip(receivers).map(|(src, dst)| FlowSpec {
                src,
                dst,
                size: self.size,
                start,
                entry,
                part: round + 1,
                ..FlowSpec::default()
            }));
        }
        Ok(flows)
    }

    fn impossible(&self) -> WorkloadError {
        let allowed = if self.inter_rack {
            "false, or a topology with at most half of the hosts under one leaf"
        } else {
            "a topology with at least two hosts"
        };
        WorkloadError::new("inter_rack", self.inter_rack, allowed)
    }
}

/// Returns a random permutation that takes no place to one of its own group; `None` if a group exceeds half of the
/// places.
fn shuffle_apart(group: &[u32], rng: &mut Rng) -> Option<Vec<u32>> {
    let mut blocks = Blocks::new(group);
    if blocks.largest * 2 > group.len() || group.is_empty() {
        return None;
    }
    let mut to: Vec<u32> = (0..group.len() as u32).collect();
    for _ in 0..SHUFFLES {
        if try_shuffle(&mut to, group, rng) {
            return Some(to);
        }
    }
    blocks.shift(&mut to, rng);
    mix(&mut to, group, rng);
    Some(to)
}

/// Shuffles, giving up at the first place that would keep its group: with rejection, all valid permutations are equally
/// likely.
fn try_shuffle(to: &mut [u32], group: &[u32], rng: &mut Rng) -> bool {
    for place in 0..to.len() {
        let other = place + rng.below((to.len() - place) as u32) as usize;
        to.swap(place, other);
        if group[to[place] as usize] == group[place] {
            return false;
        }
    }
    true
}

/// The places by group.
struct Blocks {
    members: Vec<Vec<u32>>,
    largest: usize,
}

impl Blocks {
    fn new(group: &[u32]) -> Blocks {
        let count = group.iter().max().map_or(0, |&last| last as usize + 1);
        let mut members = vec![Vec::new(); count];
        for (place, &of) in (0u32..).zip(group) {
            members[of as usize].push(place);
        }
        let largest = members.iter().map(Vec::len).max().unwrap_or(0);
        Blocks { members, largest }
    }

    /// Lines the places up block after block, all shuffled, and sends each to the one `largest` further round: that
    /// leaves its own block, and a block of half the places or fewer is not met again.
    fn shift(&mut self, to: &mut [u32], rng: &mut Rng) {
        shuffle(&mut self.members, rng);
        let mut from = Vec::with_capacity(to.len());
        for block in &mut self.members {
            shuffle(block, rng);
            from.extend_from_slice(block);
        }
        let ahead = from.iter().cycle().skip(self.largest);
        for (&place, &target) in from.iter().zip(ahead) {
            to[place as usize] = target;
        }
    }
}

/// Random swaps and rotations that keep every place apart from its group; about n log n of each.
fn mix(to: &mut [u32], group: &[u32], rng: &mut Rng) {
    let n = to.len() as u32;
    let apart = |place: usize, target: u32| group[place] != group[target as usize];
    let moves = u64::from(n) * u64::from(4 + 2 * (32 - n.leading_zeros()));
    for _ in 0..moves {
        let (a, b, c) = (rng.below(n) as usize, rng.below(n) as usize, rng.below(n) as usize);
        if apart(a, to[b]) && apart(b, to[a]) {
            to.swap(a, b);
        }
        if a != b && b != c && c != a && apart(a, to[b]) && apart(b, to[c]) && apart(c, to[a]) {
            to.swap(a, b);
            to.swap(b, c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fabric;
    use super::*;
    use std::collections::BTreeMap;

    fn is_permutation(flows: &[FlowSpec], hosts: u32) -> bool {
        let mut seen = vec![0u32; hosts as usize];
        flows.iter().for_each(|flow| seen[flow.dst as usize] += 1);
        flows.iter().map(|flow| flow.src).eq(0..hosts) && seen.iter().all(|&times| times == 1)
    }

    #[test]
    fn every_round_is_a_permutation_that_leaves_the_rack() {
        // Two racks of half the hosts each is the tightest case; three racks is the one swaps cannot mix.
        for (leaves, hosts_per_leaf) in [(2, 64), (3, 32), (8, 16), (16, 1), (2, 1)] {
            let fabric = Fabric::new(leaves, hosts_per_leaf, 1);
            let places = fabric.places();
            let permutation = Permutation { repeat: 5, period: Span::from_us(10), ..Permutation::new(1000) };
            let flows = permutation.generate(1, 0, &places).unwrap();
            for (round, flows) in flows.chunks(places.hosts as usize).enumerate() {
                assert!(is_permutation(flows, places.hosts));
                assert!(flows.iter().all(|flow| flow.start == Time(round as u64 * 10_000_000)));
                assert!(
                    flows.iter().all(|flow| fabric.leaf_of[flow.src as usize] != fabric.leaf_of[flow.dst as usize])
                );
            }
        }
    }

    #[test]
    fn without_racks_it_is_a_derangement() {
        let fabric = Fabric::new(1, 50, 1);
        let permutation = Permutation { inter_rack: false, repeat: 200, ..Permutation::new(1) };
        let flows = permutation.generate(1, 0, &fabric.places()).unwrap();
        for flows in flows.chunks(50) {
            assert!(is_permutation(flows, 50));
            assert!(flows.iter().all(|flow| flow.src != flow.dst));
        }
    }

    #[test]
    fn uneven_racks_fit_up_to_one_half() {
        let mut fabric = Fabric { leaf_of: vec![0, 1, 0, 2, 0, 1, 0, 2], host_rates: vec![1; 8], uplinks: vec![1; 3] };
        let flows = Permutation::new(1).generate(1, 0, &fabric.places()).unwrap();
        assert!(flows.iter().all(|flow| fabric.leaf_of[flow.src as usize] != fabric.leaf_of[flow.dst as usize]));
        fabric.leaf_of[1] = 0;
        let error = Permutation::new(1).generate(1, 0, &fabric.places()).unwrap_err();
        assert_eq!((error.key.as_str(), error.value.as_str()), ("inter_rack", "true"));
        let alone = Permutation { inter_rack: false, ..Permutation::new(1) };
        assert_eq!(alone.generate(1, 0, &Fabric::new(1, 1, 1).places()).unwrap_err().key, "inter_rack");
        assert_eq!(Permutation::new(0).generate(1, 0, &fabric.places()).unwrap_err().key, "size_bytes");
    }

    /// All nine derangements of four come up equally often.
    #[test]
    fn small_ones_are_uniform() {
        let group = [0, 1, 2, 3];
        let mut counts = BTreeMap::new();
        let draws = 45_000;
        for draw in 0..draws {
            let to = shuffle_apart(&group, &mut Rng::stream(1, "test", draw)).unwrap();
            *counts.entry(to).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 9);
        let sigma = (draws as f64 / 9.0 * 8.0 / 9.0).sqrt();
        assert!(counts.values().all(|&count| (count as f64 - 5000.0).abs() < 4.5 * sigma), "{counts:?}");
    }

    /// The constructed and mixed ones spread as rejection would: three racks of four, where both ways are possible.
    #[test]
    fn mixed_ones_match_rejection() {
        let group: Vec<u32> = (0..12).map(|place| place / 4).collect();
        let draws = 20_000u64;
        let mut tally = [[0u32; 5]; 2];
        let mut pairs = [[0u32; 12]; 2];
        for draw in 0..draws {
            let mut rng = Rng::stream(2, "test", draw);
            let mut rejected: Vec<u32> = (0..12).collect();
            while !try_shuffle(&mut rejected, &group, &mut rng) {}
            let mut mixed: Vec<u32> = (0..12).collect();
            Blocks::new(&group).shift(&mut mixed, &mut rng);
            mix(&mut mixed, &group, &mut rng);
            for (way, to) in [rejected, mixed].iter().enumerate() {
                // How many of rack 0 go to rack 1, and where place 0 goes.
                tally[way][to[..4].iter().filter(|&&target| group[target as usize] == 1).count()] += 1;
                pairs[way][to[0] as usize] += 1;
            }
        }
        let alike = |a: u32, b: u32| (a as f64 - b as f64).abs() <= 4.5 * (a as f64 + b as f64).sqrt();
        assert!(tally[0].iter().zip(&tally[1]).all(|(&a, &b)| alike(a, b)), "{tally:?}");
        assert!(pairs[0].iter().zip(&pairs[1]).all(|(&a, &b)| alike(a, b)), "{pairs:?}");
    }
}
