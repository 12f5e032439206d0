//! Incast: many hosts send to one at the same instant.

use spinewise_policy::rng::Rng;
use spinewise_policy::time::{Span, Time};

use super::{FLOW_BYTES, FlowSpec, Jobs, Places, WorkloadError, draw, entity};

/// The hosts that send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Senders {
    /// This many hosts other than the receiver, drawn at random once for all rounds.
    Count(u32),
    /// These hosts.
    List(Vec<u32>),
}

/// Rounds of simultaneous flows to one receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Incast {
    /// The host all send to.
    pub receiver: u32,
    /// The hosts that send.
    pub senders: Senders,
    /// Size of each flow in bytes, at least 1.
    pub size: u64,
    /// Start of the first round.
    pub start: Time,
    /// Time from the start of one round to the next; zero starts all at once.
    pub period: Span,
    /// Number of rounds.
    pub repeat: u32,
}

impl Incast {
    /// One round at time zero.
    pub fn new(receiver: u32, senders: Senders, size: u64) -> Incast {
        Incast { receiver, senders, size, start: Time::ZERO, period: Span::ZERO, repeat: 1 }
    }

    /// Number of hosts that send.
    fn count(&self) -> u32 {
        match &self.senders {
            Senders::Count(count) => *count,
            Senders::List(list) => list.len() as u32,
        }
    }

    /// Returns the jobs that its flows are parts of: each round is a gather, in the terms of NCCL's tests.
    pub(super) fn jobs(&self) -> Jobs {
        let ranks = self.count() + 1;
        Jobs::of_one(1, ranks, self.size.saturating_mul(ranks.into()))
    }

    pub(super) fn generate(&self, seed: u64, entry: u8, places: &Places) -> Result<Vec<FlowSpec>, WorkloadError> {
        if self.receiver >= places.hosts {
            let allowed = format!("a host, from 0 to {}", places.hosts.saturating_sub(1));
            return Err(WorkloadError::new("receiver", self.receiver, allowed));
        }
        if self.size == 0 {
            return Err(WorkloadError::new("size_bytes", self.size, "1 or more"));
        }
        let senders = self.resolve(seed, entry, places.hosts)?;
        let rounds = places.bounds.rounds(self.start, self.period, self.repeat);
        places.bounds.refuse_too_many("repeat", self.repeat, u64::from(rounds) * senders.len() as u64, FLOW_BYTES)?;
        let mut flows = Vec::with_capacity(rounds as usize * senders.len());
        for round in (0..rounds).take_while(|_| (places.bounds.go_on)()) {
            let start = self.start + self.period * u64::from(round);
            let like =
                FlowSpec { dst: self.receiver, size: self.size, start, entry, part: round + 1, ..FlowSpec::default() };
            flows.extend(senders.iter().map(|&src| FlowSpec { src, ..like }));
        }
        Ok(flows)
    }

    /// The senders as a list of hosts.
    fn resolve(&self, seed: u64, entry: u8, hosts: u32) -> Result<Vec<u32>, WorkloadError> {
        match &self.senders {
            Senders::Count(count) => {
                let others: Vec<u32> = (0..hosts).filter(|&host| host != self.receiver).collect();
                if *count == 0 || *count as usize > others.len() {
                    let allowed = format!("from 1 to {}, the hosts other than the receiver", others.len());
                    return Err(WorkloadError::new("senders", count, allowed));
                }
                let mut rng = Rng::stream(seed, "incast senders", entity(entry, self.receiver));
                Ok(draw(others, *count, &mut rng))
            }
            Senders::List(list) => {
                if list.is_empty() {
                    return Err(WorkloadError::new("senders", "[]", "a list of hosts, or their number"));
                }
                for (place, &host) in list.iter().enumerate() {
                    if host >= hosts || host == self.receiver {
                        let allowed = format!("hosts from 0 to {} other than the receiver", hosts - 1);
                        return Err(WorkloadError::new("senders", host, allowed));
                    }
                    if list[..place].contains(&host) {
                        return Err(WorkloadError::new("senders", host, "each host once"));
                    }
                }
                Ok(list.clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fabric;
    use super::*;

    #[test]
    fn drawn_senders_are_distinct_uniform_and_constant_over_rounds() {
        let fabric = Fabric::new(2, 8, 1);
        let mut counts = [0u32; 16];
        for seed in 0..6_000 {
            let incast = Incast { repeat: 2, period: Span(5), ..Incast::new(2, Senders::Count(5), 100) };
            let flows = incast.generate(seed, 0, &fabric.places()).unwrap();
            let rounds: Vec<Vec<u32>> =
                flows.chunks(5).map(|round| round.iter().map(|flow| flow.src).collect()).collect();
            assert_eq!(rounds[0], rounds[1]);
            assert!(rounds[0].is_sorted_by(|a, b| a < b));
            assert!(flows.iter().all(|flow| flow.dst == 2 && flow.size == 100));
            assert_eq!((flows[4].start, flows[5].start), (Time(0), Time(5)));
            rounds[0].iter().for_each(|&src| counts[src as usize] += 1);
        }
        let sigma = (6_000f64 / 3.0 * 2.0 / 3.0).sqrt();
        assert_eq!(counts[2], 0);
        let others = counts.iter().enumerate().filter(|&(host, _)| host != 2);
        assert!(others.into_iter().all(|(_, &count)| (count as f64 - 2000.0).abs() < 4.0 * sigma), "{counts:?}");
    }

    #[test]
    fn listed_senders_are_taken_as_they_are() {
        let fabric = Fabric::new(2, 2, 1);
        let flows = Incast::new(0, Senders::List(vec![3, 1]), 9).generate(1, 4, &fabric.places()).unwrap();
        assert_eq!(flows.iter().map(|flow| flow.src).collect::<Vec<_>>(), [3, 1]);
    }

    #[test]
    fn bad_values_are_refused() {
        let fabric = Fabric::new(2, 2, 1);
        let fails = |incast: Incast| {
            let error = incast.generate(1, 0, &fabric.places()).unwrap_err();
            (error.key, error.value)
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(fails(Incast::new(4, Senders::Count(1), 1)), pair("receiver", "4"));
        assert_eq!(fails(Incast::new(0, Senders::Count(4), 1)), pair("senders", "4"));
        assert_eq!(fails(Incast::new(0, Senders::Count(0), 1)), pair("senders", "0"));
        assert_eq!(fails(Incast::new(0, Senders::Count(1), 0)), pair("size_bytes", "0"));
        assert_eq!(fails(Incast::new(0, Senders::List(vec![]), 1)), pair("senders", "[]"));
        assert_eq!(fails(Incast::new(0, Senders::List(vec![1, 0]), 1)), pair("senders", "0"));
        assert_eq!(fails(Incast::new(0, Senders::List(vec![1, 2, 1]), 1)), pair("senders", "1"));
        assert_eq!(fails(Incast::new(0, Senders::List(vec![7]), 1)), pair("senders", "7"));
    }
}
