//! Collective operations of training jobs: ring all-reduce and all-to-all, step after step, round after round.
//!
//! Ring all-reduce (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009): the data of n hosts is cut into n
//! chunks. In step s = 0 … 2(n − 1) − 1 host i sends chunk (i − s) mod n to host i + 1: n − 1 steps in which chunks are
//! summed on their way round, and n − 1 in which the sums go round. Host i sends in step s the chunk that it has
//! received in step s − 1, so that step starts when the last byte of the previous one has arrived.
//!
//! All-to-all: in step s = 1 … n − 1 host i sends to host i + s (the linear shift), and continues when that is
//! acknowledged and the data from host i − s has arrived; or all steps start at once.

use crate::warden::GoOn;
use spinewise_policy::rng::Rng;
use spinewise_policy::time::{Span, Time};

use super::{
    FlowSpec, GATED_FLOW_BYTES, Gate, Job, Jobs, MOST_FLOWS, Place, Places, Plan, Upon, WorkloadError, entity, shuffle,
};

/// The hosts that take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// All of them, in one group.
    All,
    /// These groups, independently and all at the same time.
    Groups(Vec<Vec<u32>>),
}

/// The order in which the hosts of a group are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As listed; for all hosts, by number, so that most neighbours share a rack.
    #[default]
    Given,
    /// Random, the same for all rounds.
    Random,
}

/// The amount exchanged in an all-to-all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Bytes of each host, cut into one block for each of the others.
    OfHost(u64),
    /// Bytes that each host sends to each other host.
    OfPair(u64),
}

/// The operation of the hosts of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Ring all-reduce.
    AllReduce {
        /// Bytes of the data that each host has, and that is summed.
        size: u64,
    },
    /// Every host sends to every other one.
    AllToAll {
        /// The amount.
        share: Share,
        /// All steps start at once.
        concurrent: bool,
    },
}

/// A collective operation, repeated.
///
/// Only the first round starts by the clock: a host starts its part of the next one a `gap` after it has received
/// everything the round has for it and everything it has sent is acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The operation.
    pub pattern: Pattern,
    /// The hosts that take part.
    pub members: Members,
    /// Their order.
    pub order: Order,
    /// Start of the first round.
    pub start: Time,
    /// Number of rounds.
    pub rounds: u32,
    /// The time from a host's end of a round to its start of the next, in which it computes.
    pub gap: Span,
}

/// One of `pieces` of `size` bytes, as even as whole bytes allow: the first pieces have one byte more.
fn piece(size: u64, pieces: u32, which: u32) -> u64 {
    size / u64::from(pieces) + u64::from(u64::from(which) < size % u64::from(pieces))
}

impl Pattern {
    /// Number of steps for `n` hosts.
    pub fn steps(self, n: u32) -> u32 {
        match self {
            Pattern::AllReduce { .. } => 2 * (n - 1),
            Pattern::AllToAll { .. } => n - 1,
        }
    }

    /// The receiver of host `i` of `n` in a step, counted from 0.
    fn receiver(self, i: u32, step: u32, n: u32) -> u32 {
        match self {
            Pattern::AllReduce { .. } => (i + 1) % n,
            Pattern::AllToAll { .. } => (i + step + 1) % n,
        }
    }

    /// The sender that host `i` of `n` receives from in that step.
    fn sender(self, i: u32, step: u32, n: u32) -> u32 {
        match self {
            Pattern::AllReduce { .. } => (i + n - 1) % n,
            Pattern::AllToAll { .. } => (i + n - step - 1) % n,
        }
    }

    /// Returns how much host `i` of `n` sends in that step.
    fn size(self, i: u32, step: u32, n: u32) -> u64 {
        match self {
            Pattern::AllReduce { size } => piece(size, n, (i + 2 * n - step) % n),
            Pattern::AllToAll { share: Share::OfHost(size), .. } => piece(size, n - 1, step),
            Pattern::AllToAll { share: Share::OfPair(size), .. } => size,
        }
    }

    /// The message of each of `n` hosts, as NCCL's tests count it: for an all-to-all, including the block that a host
    /// keeps for itself (nccl-tests, doc/PERFORMANCE.md and src/alltoall.cu).
    fn message(self, n: u32) -> u64 {
        let n = u128::from(n);
        let bytes = match self {
            Pattern::AllReduce { size } => size.into(),
            Pattern::AllToAll { share: Share::OfPair(size), .. } => n * u128::from(size),
            Pattern::AllToAll { share: Share::OfHost(size), .. } => (n * u128::from(size) + (n - 1) / 2) / (n - 1),
        };
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The steps that do not wait for others of the same round.
    fn first_steps(self, n: u32) -> u32 {
        match self {
            Pattern::AllToAll { concurrent: true, .. } => self.steps(n),
            _ => 1,
        }
    }

    /// The key and its minimum in bytes for `n` hosts: a flow is never empty.
    fn least(self, n: u32) -> (&'static str, u64, u64, String) {
        match self {
            Pattern::AllReduce { size } => {
                ("size_bytes", size, n.into(), format!("{n} or more, a byte for each of {n} chunks"))
            }
            Pattern::AllToAll { share: Share::OfHost(size), .. } => {
                ("size_bytes", size, (n - 1).into(), format!("{0} or more, a byte for each of {0} blocks", n - 1))
            }
            Pattern::AllToAll { share: Share::OfPair(size), .. } => ("pair_bytes", size, 1, "1 or more".into()),
        }
    }
}

impl Collective {
    /// One round of all hosts, by number, at time zero.
    pub fn new(pattern: Pattern) -> Collective {
        Collective {
            pattern,
            members: Members::All,
            order: Order::default(),
            start: Time::ZERO,
            rounds: 1,
            gap: Span::ZERO,
        }
    }

    /// Number of groups.
    pub fn groups(&self) -> u32 {
        match &self.members {
            Members::All => 1,
            Members::Groups(groups) => groups.len() as u32,
        }
    }

    /// Hosts of its largest group.
    pub fn largest_group(&self, hosts: u32) -> u32 {
        match &self.members {
            Members::All => hosts,
            Members::Groups(groups) => groups.iter().map(Vec::len).max().unwrap_or(0) as u32,
        }
    }

    /// Checks that it fits this many hosts.
    ///
    /// # Errors
    /// A group of fewer than two hosts, an unknown host or one twice in a group, too little data to cut up, no round or
    /// too many flows.
    pub fn check(&self, hosts: u32) -> Result<(), WorkloadError> {
        let groups = self.resolve(hosts);
        if groups.is_empty() {
            return Err(WorkloadError::new("hosts", "[]", "\"all\", a list of hosts, or a list of such lists"));
        }
        let mut flows = 0u64;
        for group in &groups {
            check_group(group, hosts)?;
            let n = group.len() as u32;
            let (key, size, least, allowed) = self.pattern.least(n);
            if size < least {
                return Err(WorkloadError::new(key, size, allowed));
            }
            flows += u64::from(self.pattern.steps(n)) * u64::from(n);
        }
        if self.rounds == 0 || u64::from(self.rounds).saturating_mul(flows) > MOST_FLOWS {
            let allowed = format!("1 or more, at most {MOST_FLOWS} flows in total; a round makes {flows}");
            return Err(WorkloadError::new("rounds", self.rounds, allowed));
        }
        Ok(())
    }

    fn resolve(&self, hosts: u32) -> Vec<Vec<u32>> {
        match &self.members {
            Members::All => vec![(0..hosts).collect()],
            Members::Groups(groups) => groups.clone(),
        }
    }

    /// Returns the jobs that its flows are parts of.
    pub(super) fn jobs(&self, hosts: u32) -> Jobs {
        let job = |group: Vec<u32>| {
            let n = group.len() as u32;
            Job { steps: self.pattern.steps(n), ranks: n, message: self.pattern.message(n) }
        };
        Jobs::new(self.resolve(hosts).into_iter().map(job).collect())
    }

    pub(super) fn generate(&self, seed: u64, entry: u8, places: &Places) -> Result<Plan, WorkloadError> {
        self.check(places.hosts)?;
        let mut plan = Plan::default();
        if self.start >= places.bounds.until {
            return Ok(plan);
        }
        let of_round = |group: &Vec<u32>| u64::from(self.pattern.steps(group.len() as u32)) * group.len() as u64;
        let flows = self.resolve(places.hosts).iter().map(of_round).sum::<u64>() * u64::from(self.rounds);
        places.bounds.refuse_too_many("rounds", self.rounds, flows, GATED_FLOW_BYTES)?;
        let jobs = self.jobs(places.hosts);
        for (number, mut group) in (0u32..).zip(self.resolve(places.hosts)) {
            if self.order == Order::Random {
                shuffle(&mut group, &mut Rng::stream(seed, "collective order", entity(entry, number)));
            }
            for round in 0..self.rounds {
                let part = jobs.part(Place { round, group: number, step: 0 });
                let like = FlowSpec { start: self.start, entry, part, ..FlowSpec::default() };
                self.add_round(&mut plan, &group, round, like, places.bounds.go_on);
            }
        }
        Ok(plan)
    }

    /// Adds a round of a group: flows step by step, host by host, then their gates. `like` is a flow of its first step.
    fn add_round(&self, plan: &mut Plan, group: &[u32], round: u32, like: FlowSpec, go_on: GoOn<'_>) {
        let (pattern, n) = (self.pattern, group.len() as u32);
        let steps = pattern.steps(n);
        let first = plan.flows.len() as u32;
        for (step, i) in pairs(0..steps, n) {
            let (src, dst) = (group[i as usize], group[pattern.receiver(i, step, n) as usize]);
            plan.flows.push(FlowSpec { src, dst, size: pattern.size(i, step, n), part: like.part + step, ..like });
        }
        let of = |first: u32, step: u32, i: u32| first + step * n + i;
        let free = pattern.first_steps(n);
        for i in (0..n).filter(|_| round > 0) {
            let before = first - steps * n;
            let after = (0..steps).flat_map(|step| {
                let from = pattern.sender(i, step, n);
                [(of(before, step, from), Upon::Received), (of(before, step, i), Upon::Acknowledged)]
            });
            let flows = (0..free).map(|step| of(first, step, i)).collect();
            plan.gates.push(Gate { host: group[i as usize], after: after.collect(), gap: self.gap, flows });
        }
        for (step, i) in pairs(free..steps, n).take_while(|_| go_on()) {
            let mut after = vec![(of(first, step - 1, pattern.sender(i, step - 1, n)), Upon::Received)];
            if matches!(pattern, Pattern::AllToAll { .. }) {
                after.push((of(first, step - 1, i), Upon::Acknowledged));
            }
            let flows = vec![of(first, step, i)];
            plan.gates.push(Gate { host: group[i as usize], after, gap: Span::ZERO, flows });
        }
    }
}

/// Every step with every host.
fn pairs(steps: core::ops::Range<u32>, n: u32) -> impl Iterator<Item = (u32, u32)> {
    steps.flat_map(move |step| (0..n).map(move |i| (step, i)))
}

/// Checks that these are two hosts or more, all of them there, and none twice.
///
/// # Errors
/// They are not.
pub(crate) fn check_group(group: &[u32], hosts: u32) -> Result<(), WorkloadError> {
    if group.len() < 2 {
        let allowed = "at least two hosts in each group";
        return Err(WorkloadError::new("hosts", format!("{group:?}"), allowed));
    }
    let mut sorted = group.to_vec();
    sorted.sort_unstable();
    if let Some(&host) = sorted.iter().find(|&&host| host >= hosts) {
        return Err(WorkloadError::new("hosts", host, format!("hosts from 0 to {}", hosts.saturating_sub(1))));
    }
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(WorkloadError::new("hosts", pair[0], "each host once in a group")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
