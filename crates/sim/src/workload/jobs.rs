//! The jobs that flows are parts of: rounds of collective operations, requests with their answers, and the steps of
//! these.
//!
//! The parts of an entry are numbered from 1, so a flow holds one number for all three: round by round, within a round
//! group by group, within a group step by step.

/// A group's job of each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Steps of a round, at least 1.
    pub steps: u32,
    /// Number of hosts that take part; 0: counted from its flows.
    pub ranks: u32,
    /// Bytes of the message of each host, as NCCL's tests count them; 0 where they have no such operation.
    pub message: u64,
}

/// A flow's place in its entry's jobs; all counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Round.
    pub round: u32,
    /// Group of hosts.
    pub group: u32,
    /// Step of the round.
    pub step: u32,
}

/// The jobs of an entry: those of each group, once per round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    groups: Vec<Job>,
    /// Parts of a round before each group's, and of all groups at the end.
    before: Vec<u32>,
}

impl Jobs {
    /// Creates the jobs of these groups.
    pub fn new(groups: Vec<Job>) -> Jobs {
        let mut before = vec![0];
        before.extend(groups.iter().scan(0, |sum, job| {
            *sum += job.steps;
            Some(*sum)
        }));
        Jobs { groups, before }
    }

    /// Creates the jobs of one group.
    pub fn of_one(steps: u32, ranks: u32, message: u64) -> Jobs {
        Jobs::new(vec![Job { steps, ranks, message }])
    }

    /// The job of a group.
    pub fn job(&self, group: u32) -> Job {
        self.groups[group as usize]
    }

    /// The number of a part, from 1.
    pub fn part(&self, Place { round, group, step }: Place) -> u32 {
        1 + round * self.before[self.groups.len()] + self.before[group as usize] + step
    }

    /// The part of this number; `None` for 0.
    pub fn place(&self, part: u32) -> Option<Place> {
        let in_all = self.before[self.groups.len()];
        let (round, rest) = (part.checked_sub(1)? / in_all, (part - 1) % in_all);
        let group = self.before.partition_point(|&before| before <= rest) - 1;
        Some(Place { round, group: group as u32, step: rest - self.before[group] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_one_number_for_its_round_group_and_step() {
        let jobs = Jobs::new([3, 1, 2].map(|steps| Job { steps, ranks: 2, message: 0 }).to_vec());
        let all = (0..4).flat_map(|round| [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (2, 1)].map(|at| (round, at)));
        for (number, (round, (group, step))) in (1u32..).zip(all) {
            let place = Place { round, group, step };
            assert_eq!((jobs.part(place), jobs.place(number)), (number, Some(place)));
        }
        assert_eq!(jobs.place(0), None);
        assert_eq!(jobs.job(2).steps, 2);
    }
}
