//! Operations that wait for operations: which have started and ended, and what that starts.
//!
//! Everything that an operation waits for happens at its own host, and only that host writes its state. So the order in
//! which hosts are processed does not matter. Data that ranks of a server send to each other without the network goes
//! as [`News`] from host to host: its delay bounds the windows of the engine, as the delay of a link does.

use crate::ids::{FlowId, HostId, Table};
use crate::workload::FlowSpec;
use crate::workload::dag::{self, Action, Milestone, Programme};
use spinewise_policy::{Span, Time};
use std::sync::Arc;

/// The progress of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It waits for others, or for its time.
    #[default]
    Waiting,
    /// Its unit is busy.
    Queued,
    /// It is under way.
    Started,
    /// It has ended.
    Ended,
}

/// A host's action for an operation that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing.
    Nothing,
    /// It starts this flow.
    Flow(FlowId),
    /// It looks again then.
    Again(Time),
}

/// Data that has come without the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// The host it comes to.
    pub host: HostId,
    /// Time of arrival.
    pub at: Time,
    /// The operation that receives it.
    pub operation: u32,
}

/// One entry's operations, by their numbers in a run.
#[derive(Debug)]
pub struct Part {
    /// The number of the entry.
    pub entry: u8,
    /// The number of the first operation.
    pub from: u32,
    /// The dependencies.
    pub table: Arc<dag::Table>,
}

/// The operations of a run.
#[derive(Debug, Default)]
pub struct Operations {
    /// Indexed by entry.
    pub parts: Vec<Part>,
    /// Host and action of each.
    list: Vec<(u32, Action)>,
    states: Vec<State>,
    /// When each started and ended, [`Time::NEVER`] before.
    times: Vec<[Time; 2]>,
    /// Number of operations it waits for that must still finish.
    left: Vec<u32>,
    /// For receives: whether the data is there.
    landed: Vec<bool>,
    /// When units are free.
    free_at: Vec<Time>,
    /// The send of each flow, [`NONE`] of others.
    of_flow: Table<FlowId, u32>,
    /// Operations that wait for none, by host: `first[h]..first[h + 1]`.
    begin: Vec<u32>,
    first: Vec<u32>,
    /// Operations that may start, and when.
    ready: Vec<(u32, Time)>,
    /// News to hosts, outside the network.
    pub news: Vec<News>,
    /// Number of operations that have not ended.
    pub open: u64,
}

/// No operation.
const NONE: u32 = u32::MAX;

impl Operations {
    /// Creates operations from programmes whose flows are numbered as in `specs`.
    pub fn new(programmes: Vec<Programme>, specs: &Table<FlowId, FlowSpec>, hosts: u32) -> Operations {
        if programmes.is_empty() {
            return Operations::default();
        }
        let mut this = Operations { of_flow: Table::filled(NONE, specs.len()), ..Operations::default() };
        for programme in programmes {
            this.add(programme);
        }
        let count = this.list.len();
        this.states = vec![State::Waiting; count];
        this.times = vec![[Time::NEVER; 2]; count];
        this.landed = vec![false; count];
        this.open = count as u64;
        this.first = vec![0; hosts as usize + 1];
        let free = (0..count as u32).filter(|&n| this.left[n as usize] == 0);
        let mut begin: Vec<u32> = free.collect();
        begin.sort_by_key(|&n| this.list[n as usize].0);
        begin.iter().for_each(|&n| this.first[this.list[n as usize].0 as usize + 1] += 1);
        (0..hosts as usize).for_each(|host| this.first[host + 1] += this.first[host]);
        this.begin = begin;
        this
    }

    fn add(&mut self, programme: Programme) {
        let Programme { table, entry, actions, units } = programme;
        let (from, first_unit) = (self.list.len() as u32, self.free_at.len() as u32);
        self.free_at.resize(self.free_at.len() + units as usize, Time::ZERO);
        self.left.extend(table.operations().iter().map(|operation| operation.needs));
        for (host, mut action) in actions {
            match &mut action {
                Action::Send(flow) => self.of_flow[FlowId::new(*flow)] = self.list.len() as u32,
                Action::Compute { unit, .. } | Action::Copy { unit, .. } => *unit += first_unit,
                Action::Receive => {}
            }
            self.list.push((host, action));
        }
        self.parts.push(Part { entry, from, table });
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The flows that operations start.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> {
        self.of_flow.numbered().filter(|&(_, &operation)| operation != NONE).map(|(flow, _)| flow)
    }

    /// The operations of a host that wait for none, and when they may start.
    pub fn begin(&self, host: HostId) -> impl Iterator<Item = (u32, Time)> {
        let range =
            self.first.get(host.index()).map_or(0..0, |&from| from as usize..self.first[host.index() + 1] as usize);
        self.begin[range].iter().map(|&n| (n, self.may_start(n)))
    }

    /// The shortest time in which anything gets from one host to another without the network.
    pub fn least_delay(&self) -> Option<Span> {
        let crosses = |n: u32, host: u32| self.list[self.mate(n) as usize].0 != host;
        let all = (0u32..).zip(&self.list).filter_map(|(n, &(host, action))| match action {
            Action::Copy { delay, takes, .. } if crosses(n, host) => Some(delay + takes),
            _ => None,
        });
        all.min()
    }

    fn part(&self, n: u32) -> &Part {
        &self.parts[self.parts.partition_point(|part| part.from <= n) - 1]
    }

    fn mate(&self, n: u32) -> u32 {
        let part = self.part(n);
        part.from + part.table.operations()[(n - part.from) as usize].mate
    }

    fn may_start(&self, n: u32) -> Time {
        let part = self.part(n);
        part.table.operations()[(n - part.from) as usize].start
    }

    /// Operation `n` is due at `now`: it may start, its unit may be free, or its time is over.
    pub fn due(&mut self, n: u32, now: Time) -> Due {
        let (host, action) = self.list[n as usize];
        match (self.states[n as usize], action) {
            (State::Waiting, Action::Send(flow)) => {
                self.start(n, now);
                Due::Flow(FlowId::new(flow))
            }
            (State::Waiting, Action::Receive) => {
                self.start(n, now);
                if self.landed[n as usize] {
                    self.end(n, now);
                }
                Due::Nothing
            }
            (State::Waiting, Action::Compute { takes, unit } | Action::Copy { takes, unit, .. }) => {
                let free_at = self.free_at[unit as usize].max(now);
                self.free_at[unit as usize] = free_at + takes;
                if free_at > now {
                    self.states[n as usize] = State::Queued;
                    return Due::Again(free_at);
                }
                self.work(n, now, host, action)
            }
            (State::Queued, _) => self.work(n, now, host, action),
            (State::Started, Action::Compute { .. } | Action::Copy { .. }) => {
                self.end(n, now);
                Due::Nothing
            }
            (State::Started, _) | (State::Ended, _) => Due::Nothing,
        }
    }

    /// A computation, or a copy within a server, starts.
    fn work(&mut self, n: u32, now: Time, host: u32, action: Action) -> Due {
        self.start(n, now);
        match action {
            Action::Copy { takes, delay, .. } => {
                let operation = self.mate(n);
                let to = self.list[operation as usize].0;
                debug_assert!(to == host || delay > Span::ZERO, "news in no time");
                self.news.push(News { host: HostId::new(to), at: now + takes + delay, operation });
                Due::Again(now + takes)
            }
            Action::Compute { takes, .. } => Due::Again(now + takes),
            Action::Send(_) | Action::Receive => Due::Nothing,
        }
    }

    /// The data of a receive is there.
    pub fn land(&mut self, n: u32, now: Time) {
        self.landed[n as usize] = true;
        if self.states[n as usize] == State::Started {
            self.end(n, now);
        }
    }

    /// All of a flow has been received.
    pub fn received(&mut self, flow: FlowId, now: Time) {
        if let Some(&send) = self.of_flow.get(flow)
            && send != NONE
        {
            self.land(self.mate(send), now);
        }
    }

    /// All of a flow is acknowledged.
    pub fn acknowledged(&mut self, flow: FlowId, now: Time) {
        if let Some(&send) = self.of_flow.get(flow)
            && send != NONE
        {
            self.end(send, now);
        }
    }

    fn start(&mut self, n: u32, now: Time) {
        self.states[n as usize] = State::Started;
        self.reach(n, Milestone::Started, now);
    }

    fn end(&mut self, n: u32, now: Time) {
        self.states[n as usize] = State::Ended;
        self.open -= 1;
        self.reach(n, Milestone::Ended, now);
    }

    fn reach(&mut self, n: u32, milestone: Milestone, now: Time) {
        self.times[n as usize][milestone as usize] = now;
        let part = &self.parts[self.parts.partition_point(|part| part.from <= n) - 1];
        for &waits in part.table.waiting(n - part.from, milestone) {
            let left = &mut self.left[(part.from + waits) as usize];
            if *left > 0 {
                *left -= 1;
                if *left == 0 {
                    let start = part.table.operations()[waits as usize].start;
                    self.ready.push((part.from + waits, start.max(now)));
                }
            }
        }
    }

    /// The next operation of this host that may start, and when.
    pub fn next_ready(&mut self) -> Option<(u32, Time)> {
        self.ready.pop()
    }

    /// Returns when an operation started and ended, [`Time::NEVER`] if it has not.
    pub fn times(&self, n: u32) -> [Time; 2] {
        self.times[n as usize]
    }

    /// Returns the progress of an operation.
    pub fn state(&self, n: u32) -> State {
        self.states[n as usize]
    }

    /// Whether it waits for other operations.
    pub fn waits(&self, n: u32) -> bool {
        self.left[n as usize] > 0
    }

    /// Replaces the operations of some hosts by those in `other`.
    pub fn take_up(&mut self, other: &Operations, of: impl Fn(HostId) -> bool) {
        for (n, &(host, _)) in self.list.iter().enumerate() {
            if of(HostId::new(host)) {
                self.states[n] = other.states[n];
                self.times[n] = other.times[n];
                self.left[n] = other.left[n];
                self.landed[n] = other.landed[n];
            }
        }
        self.open = self.states.iter().filter(|&&state| state != State::Ended).count() as u64;
    }

    /// Returns an operation's action at its host.
    pub fn action(&self, n: u32) -> Action {
        self.list[n as usize].1
    }

    /// Number of all operations.
    pub fn count(&self) -> u32 {
        self.list.len() as u32
    }

    /// Hashes the dependency graph.
    pub fn fold(&self, start: u64, mix: impl Fn(u64, u64) -> u64 + Copy) -> u64 {
        let waits = self.parts.iter().fold(start, |h, part| part.table.fold(h, mix));
        self.list.iter().fold(waits, |h, &(host, action)| {
            let [a, b, c] = match action {
                Action::Send(flow) => [1, u64::from(flow), 0],
                Action::Receive => [2, 0, 0],
                Action::Compute { takes, unit } => [3, takes.0, u64::from(unit)],
                Action::Copy { takes, unit, delay } => [4 + takes.0, u64::from(unit), delay.0],
            };
            [u64::from(host), a, b, c].into_iter().fold(h, mix)
        })
    }
}
