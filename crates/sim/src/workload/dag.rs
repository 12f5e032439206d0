//! Operations that wait for operations: sends, receives and computations of ranks, as traces of programs have them.
//!
//! The terms are those of GOAL (Hoefler, Siebert and Lumsdaine, "Group Operation Assembly Language", ICPP 2009): a
//! *rank* sends, receives and computes; an operation *requires* others, which must have ended before it starts, or
//! *irequires* them, which must have started. A send ends when all of it is acknowledged, a receive when it has started
//! and all of its data has arrived, a computation when its time is over.
//!
//! Everything that an operation waits for happens at its own rank; a rank learns what others do only by receiving from
//! them. So no news travels faster than packets do. Only ranks that share a host, or a server with its own
//! interconnect, send outside the network: at a given rate and with a given delay.

mod check;
mod names;
mod row;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use spinewise_policy::time::{Span, Time};

use super::{FLOW_BYTES, FlowSpec, Job, Jobs, Place, Places, Plan, WorkloadError};
pub use check::{Stuck, check};
pub use table::Table;

/// Memory per operation in addition to its flow, bytes: measured at a million operations.
pub const OPERATION_BYTES: u64 = 250;

/// The action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Sends bytes to a rank.
    Send {
        /// The rank that receives.
        to: u32,
        /// Payload.
        bytes: u64,
    },
    /// Receives data that a rank sends.
    Receive {
        /// The rank that sends.
        from: u32,
    },
    /// Computes, on one of the units of its rank; a unit does one thing at a time.
    Compute {
        /// Its duration.
        takes: Span,
        /// Number of the unit.
        unit: u32,
    },
}

/// An event of an operation that others wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Milestone {
    /// It has started.
    Started = 0,
    /// It has ended.
    Ended = 1,
}

/// An operation of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its rank.
    pub rank: u32,
    /// Its action.
    pub does: Does,
    /// How many of the operations that it waits for must have finished.
    pub needs: u32,
    /// Its earliest start.
    pub start: Time,
    /// The batch, from 1; 0: its flow is in none.
    pub batch: u32,
    /// Step of the batch, from 1; 0: the batch has no steps.
    pub step: u32,
    /// For a send its receive, for a receive its send; for a computation itself.
    pub mate: u32,
}

/// The way ranks of one server send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// Ranks per server: the first server has this many from rank 0 on, the next server the following ones.
    pub ranks: u32,
    /// Bits per second that each rank can send to others of its server.
    pub rate: u64,
    /// Time from the last byte sent to its arrival.
    pub delay: Span,
}

/// Operations that fit a number of hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Dag {
    table: Arc<Table>,
    /// The host of each rank.
    hosts: Vec<u32>,
    local: Option<Local>,
}

/// An operation's action at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Starts a flow.
    Send(u32),
    /// Waits for the data of its mate.
    Receive,
    /// Keeps a unit busy.
    Compute {
        /// Its duration.
        takes: Span,
        /// Number of the unit, among all units of the entry.
        unit: u32,
    },
    /// Sends to a rank of the same server, which keeps a unit busy.
    Copy {
        /// Its duration.
        takes: Span,
        /// Number of the unit, among all units of the entry.
        unit: u32,
        /// Time from its end to the arrival.
        delay: Span,
    },
}

/// The operations of an entry, as a run carries them out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programme {
    /// The dependencies.
    pub table: Arc<Table>,
    /// The number of its `[[traffic]]` entry.
    pub entry: u8,
    /// Host and action of each operation.
    pub actions: Vec<(u32, Action)>,
    /// Number of units.
    pub units: u32,
}

impl Programme {
    /// Renumbers flows: flow `number` has become `to(number)`.
    pub fn renumber(&mut self, to: impl Fn(u32) -> u32) {
        for (_, action) in &mut self.actions {
            if let Action::Send(flow) = action {
                *flow = to(*flow);
            }
        }
    }
}

impl Dag {
    /// Operations of ranks at these hosts.
    ///
    /// # Errors
    /// A rank without a host, an unknown host, or ranks that would have to send to their own host or server outside the
    /// network though no rate is given.
    pub fn new(table: Table, hosts: Vec<u32>, local: Option<Local>, of: u32) -> Result<Dag, WorkloadError> {
        let ranks = table.ranks();
        if (hosts.len() as u64) < u64::from(ranks) {
            let last = ranks - 1;
            let allowed = format!("a host for each of {ranks} ranks; the last is rank {last}");
            return Err(WorkloadError::new("hosts", format!("{} hosts", hosts.len()), allowed));
        }
        if let Some(&host) = hosts.iter().find(|&&host| host >= of) {
            return Err(WorkloadError::new("hosts", host, format!("hosts from 0 to {}", of.saturating_sub(1))));
        }
        let dag = Dag { table: Arc::new(table), hosts, local };
        dag.check_local()?;
        Ok(dag)
    }

    /// Sends that stay on a host or in a server need a rate, and a delay where their hosts differ.
    fn check_local(&self) -> Result<(), WorkloadError> {
        for (number, operation) in (0u32..).zip(self.table.operations()) {
            let Does::Send { to, .. } = operation.does else { continue };
            let shared = self.host(operation.rank) == self.host(to);
            if shared && self.local.is_none() {
                let what = format!("{}: rank {} to rank {to}", self.table.name(number), operation.rank);
                let allowed = "a rate, since both ranks are on one host";
                return Err(WorkloadError::new("local_rate_gbps", what, allowed));
            }
            if !shared && self.is_local(operation.rank, to) && self.local.is_some_and(|l| l.delay == Span::ZERO) {
                let allowed = "more than 0, since ranks of one server are on several hosts";
                return Err(WorkloadError::new("local_delay_ns", 0, allowed));
            }
        }
        Ok(())
    }

    fn host(&self, rank: u32) -> u32 {
        self.hosts[rank as usize]
    }

    /// Whether these ranks send to each other outside the network.
    fn is_local(&self, a: u32, b: u32) -> bool {
        let same_server = self.local.is_some_and(|local| local.ranks > 0 && a / local.ranks == b / local.ranks);
        same_server || self.host(a) == self.host(b)
    }

    /// The operations.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns how long the longest chain of computations and round trips takes.
    pub fn longest_chain(&self, rtt: Span) -> Span {
        check::longest_chain(&self.table, rtt)
    }

    /// Returns the jobs that its flows are parts of: batches and their steps.
    pub(super) fn jobs(&self) -> Option<Jobs> {
        (self.table.batches > 0).then(|| Jobs::of_one(self.table.steps.max(1), 0, 0))
    }

    fn part(&self, operation: &Operation) -> u32 {
        let jobs = Jobs::new(vec![Job { steps: self.table.steps.max(1), ranks: 0, message: 0 }]);
        match operation.batch {
            0 => 0,
            batch => jobs.part(Place { round: batch - 1, group: 0, step: operation.step.max(1) - 1 }),
        }
    }

    pub(super) fn generate(&self, entry: u8, places: &Places) -> Result<Plan, WorkloadError> {
        let operations = self.table.operations();
        let takes = operations.len() as u64 * OPERATION_BYTES;
        let flows = self.table.sends().max(1);
        let each = FLOW_BYTES + takes.div_ceil(flows);
        places.bounds.refuse_too_many("file", format!("{} operations", operations.len()), flows, each)?;
        let mut plan = Plan::default();
        let mut units = Units::default();
        let mut actions = Vec::with_capacity(operations.len());
        for operation in operations {
            let action = self.action(operation, &mut plan, &mut units, entry);
            actions.push((self.host(operation.rank), action));
        }
        let units = units.0.len() as u32;
        plan.programmes.push(Programme { table: Arc::clone(&self.table), entry, actions, units });
        Ok(plan)
    }

    /// The action of an operation; a send over the network adds its flow to `plan`.
    fn action(&self, operation: &Operation, plan: &mut Plan, units: &mut Units, entry: u8) -> Action {
        let rank = operation.rank;
        match operation.does {
            Does::Receive { .. } => Action::Receive,
            Does::Compute { takes, unit } => Action::Compute { takes, unit: units.of(rank, Some(unit)) },
            Does::Send { to, bytes } => match self.local.filter(|_| self.is_local(rank, to)) {
                Some(local) => Action::Copy {
                    takes: Span::sending(bytes, local.rate),
                    unit: units.of(rank, None),
                    delay: local.delay,
                },
                None => {
                    let flow = FlowSpec {
                        src: self.host(rank),
                        dst: self.host(to),
                        size: bytes,
                        start: operation.start,
                        entry,
                        part: self.part(operation),
                        ..FlowSpec::default()
                    };
                    plan.flows.push(flow);
                    Action::Send(plan.flows.len() as u32 - 1)
                }
            },
        }
    }
}

/// Units of ranks, numbered as they first occur; `None` is the unit that copies to other ranks of the server.
#[derive(Default)]
struct Units(BTreeMap<(u32, Option<u32>), u32>);

impl Units {
    fn of(&mut self, rank: u32, unit: Option<u32>) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((rank, unit)).or_insert(next)
    }
}

#[cfg(test)]
mod tests;
