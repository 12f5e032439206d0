//! Checks whether all operations can start, and computes how long the longest chain of them takes.

use spinewise_policy::time::Span;

use super::{Does, Milestone, Operation, Table};

/// Number of names of a chain that are shown.
const TOLD: usize = 8;

/// An operation that can never start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Its number.
    pub operation: u32,
    /// The operation it waits for, the one that waits for, and so on, up to one already in the list.
    pub waits_for: Vec<u32>,
}

impl Stuck {
    /// The chain in words.
    pub fn chain(&self, table: &Table) -> String {
        let mut names: Vec<&str> = self.waits_for.iter().map(|&n| table.name(n)).collect();
        if names.len() > TOLD {
            let last = names.len() - 1;
            names[TOLD - 2] = "…";
            names.drain(TOLD - 1..last);
        }
        format!("{} waits for {}", table.name(self.operation), names.join(", which waits for "))
    }
}

/// Lets everything happen as soon as it can, assuming that each send arrives.
struct Flood<'a> {
    table: &'a Table,
    left: Vec<u32>,
    /// For a receive: how many of the two things it takes to end are missing, its start and the start of its send.
    halves: Vec<u8>,
    /// Longest chain up to the start, and up to the end.
    at: Vec<[Span; 2]>,
    todo: Vec<(u32, Milestone)>,
    rtt: Span,
}

impl<'a> Flood<'a> {
    fn new(table: &'a Table, rtt: Span) -> Flood<'a> {
        let operations = table.operations();
        let left: Vec<u32> = operations.iter().map(|operation| operation.needs).collect();
        let free = (0u32..).zip(&left).filter(|&(_, &left)| left == 0).map(|(n, _)| (n, Milestone::Started));
        let todo = free.collect();
        let at = operations.iter().map(|operation| [Span(operation.start.0); 2]).collect();
        Flood { table, left, halves: vec![2; operations.len()], at, todo, rtt }
    }

    fn run(&mut self) {
        while let Some((n, milestone)) = self.todo.pop() {
            let Operation { does, mate, .. } = self.table.operations()[n as usize];
            if milestone == Milestone::Started {
                match does {
                    Does::Send { .. } => {
                        self.reach(n, Milestone::Ended, self.at[n as usize][0] + self.rtt);
                        self.half(mate, self.at[n as usize][0] + self.rtt);
                    }
                    Does::Compute { takes, .. } => self.reach(n, Milestone::Ended, self.at[n as usize][0] + takes),
                    Does::Receive { .. } => self.half(n, self.at[n as usize][0]),
                }
            }
            let at = self.at[n as usize][milestone as usize];
            for &waits in self.table.waiting(n, milestone) {
                let (slot, left) = (&mut self.at[waits as usize][0], &mut self.left[waits as usize]);
                if *left > 0 {
                    *slot = (*slot).max(at);
                    *left -= 1;
                    if *left == 0 {
                        self.todo.push((waits, Milestone::Started));
                    }
                }
            }
        }
    }

    fn reach(&mut self, n: u32, milestone: Milestone, at: Span) {
        let slot = &mut self.at[n as usize][milestone as usize];
        *slot = (*slot).max(at);
        self.todo.push((n, milestone));
    }

    /// One of the two things that a receive takes to end.
    fn half(&mut self, receive: u32, at: Span) {
        let slot = &mut self.at[receive as usize][1];
        *slot = (*slot).max(at);
        self.halves[receive as usize] -= 1;
        if self.halves[receive as usize] == 0 {
            self.todo.push((receive, Milestone::Ended));
        }
    }
}

/// Checks that all operations can start, assuming that each send arrives.
///
/// # Errors
/// The first that cannot, with the chain that it waits for: a cycle at the end.
pub fn check(table: &Table) -> Result<(), Stuck> {
    let mut flood = Flood::new(table, Span::ZERO);
    flood.run();
    let starts = |n: u32| flood.left[n as usize] == 0;
    let ends = |n: u32| match table.operations()[n as usize].does {
        Does::Receive { .. } => flood.halves[n as usize] == 0,
        _ => starts(n),
    };
    let count = table.operations().len() as u32;
    let Some(operation) = (0..count).find(|&n| !starts(n)) else { return Ok(()) };
    // Something that each still waits for: one is enough.
    let mut waits_for = vec![None; count as usize];
    for n in 0..count {
        for (milestone, happens) in [(Milestone::Started, starts(n)), (Milestone::Ended, ends(n))] {
            let waiting = table.waiting(n, milestone).iter().filter(|_| !happens);
            waiting.for_each(|&waits| waits_for[waits as usize] = Some(n));
        }
    }
    let (mut chain, mut seen) = (vec![operation], vec![false; count as usize]);
    while let Some(next) = chain.last().and_then(|&last| next(table, &waits_for, &starts, last)) {
        chain.push(next);
        if std::mem::replace(&mut seen[next as usize], true) {
            break;
        }
    }
    Err(Stuck { operation, waits_for: chain.split_off(1) })
}

/// Returns the operation that `n` waits for: for a receive that has started, its send.
fn next(table: &Table, waits_for: &[Option<u32>], starts: &impl Fn(u32) -> bool, n: u32) -> Option<u32> {
    if starts(n) { Some(table.operations()[n as usize].mate).filter(|&mate| mate != n) } else { waits_for[n as usize] }
}

/// Returns how long the longest chain takes, with `rtt` for each send.
pub(super) fn longest_chain(table: &Table, rtt: Span) -> Span {
    let mut flood = Flood::new(table, rtt);
    flood.run();
    flood.at.iter().map(|at| at[0].max(at[1])).max().unwrap_or(Span::ZERO)
}
