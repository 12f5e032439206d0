//! The table of collectives: rounds of collective operations, requests with their answers, rounds of other traffic, and
//! the steps of all these.

use super::Values;
use crate::columns::columns;
use crate::flows::{Flows, Record};
use crate::ids::FlowId;
use crate::spec::{Spec, Traffic};
use crate::workload::{FlowSpec, Job, Jobs, Place};
use spinewise_policy::{Span, Time};
use std::collections::BTreeMap;

/// A round, or a step of one.
struct Row<'a> {
    entry: u8,
    place: Place,
    /// Counted from 1; 0 is the whole round.
    step: u32,
    job: Job,
    account: &'a Account,
}

columns! {
    /// Columns of `collectives`: one row per round of each group, and one per step where a round has several.
    COLLECTIVE_COLUMNS: CollectiveTable, |row: &Row<'_>| {
        entry: u8, "", "the [[traffic]] entry, from 0" => row.entry;
        group: u32, "", "group of its hosts, from 0" => row.place.group;
        round: u32, "", "round or request, from 1: the batch of its flows" => row.place.round + 1;
        step: u32, "", "step of it, from 1; 0: the whole" => row.step;
        flows: u32, "", "flows" => row.account.flows;
        ranks: u32, "hosts", "hosts taking part in the round" => row.ranks();
        bytes: u64, "bytes", "payload of all its flows" => row.account.bytes;
        message_bytes: u64, "bytes",
            "message size of the round per host, as counted in NCCL's tests: for all_reduce the data, for all_to_all n \
             blocks for n hosts, for permutation a flow, for incast and rpc n answers (gather); 0 for kind flows"
            => row.job.message;
        start_ps: u64, "ps", "when its first flow started; if none did, the start of its entry"
            => row.account.started().0;
        end_ps: u64, "ps", "when the last missing byte of its flows arrived; 0 if unfinished" => row.account.end();
        finished: bool, "", "all of its flows arrived in full before the run ended" => row.account.open.is_none();
        last_flow: u32, "", "the straggler: the flow that arrived last; if some are unfinished, the first of \
                             these, by number, that has started"
            => row.account.last().number();
    }
}

impl Row<'_> {
    fn ranks(&self) -> u32 {
        if self.job.ranks > 0 { self.job.ranks } else { self.account.hosts() }
    }
}

/// The totals of the flows of a round or a step.
#[derive(Clone, Debug, Default)]
struct Account {
    flows: u32,
    bytes: u64,
    /// Start of the first flow that has started.
    start: Option<Time>,
    /// The earliest planned start.
    planned: Time,
    /// When the last flow arrived, and which it was.
    end: (Time, FlowId),
    /// One of the unfinished flows: whether it has yet to start, and which it is.
    open: Option<(bool, FlowId)>,
    /// Its hosts, if their number is not known otherwise.
    hosts: Vec<u32>,
}

impl Account {
    fn of((id, flow): (FlowId, &FlowSpec), record: &Record, has_started: bool) -> Account {
        let end = flow.start + Span(record.fct);
        Account {
            flows: 1,
            bytes: flow.size,
            start: has_started.then_some(flow.start),
            planned: flow.start,
            end: if record.fct > 0 { (end, id) } else { (Time::ZERO, FlowId::new(0)) },
            open: (record.fct == 0).then_some((!has_started, id)),
            hosts: Vec::new(),
        }
    }

    fn add(&mut self, other: &Account) {
        self.planned = if self.flows == 0 { other.planned } else { self.planned.min(other.planned) };
        self.flows += other.flows;
        self.bytes += other.bytes;
        self.start = [self.start, other.start].into_iter().flatten().min();
        // The first of those that arrived at once.
        if other.end.0 > self.end.0 {
            self.end = other.end;
        }
        self.open = [self.open, other.open].into_iter().flatten().min();
        self.hosts.extend(&other.hosts);
    }

    fn started(&self) -> Time {
        self.start.unwrap_or(self.planned)
    }

    fn end(&self) -> u64 {
        if self.open.is_none() { self.end.0.0 } else { 0 }
    }

    fn last(&self) -> FlowId {
        self.open.map_or(self.end.1, |(_, flow)| flow)
    }

    fn hosts(&self) -> u32 {
        let mut hosts = self.hosts.clone();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.len() as u32
    }
}

/// The jobs of each entry, if it has any.
pub(super) fn jobs(spec: &Spec, hosts: u32) -> Vec<Option<Jobs>> {
    let of = |source: &Traffic| match source {
        Traffic::Transported(workload) => workload.jobs(hosts),
        Traffic::Udp(_) => None,
    };
    spec.traffic.iter().map(|entry| of(&entry.source)).collect()
}

/// The columns of all rounds and steps; empty, as for flows, if there are more than `most`.
pub(super) fn columns_of(flows: &Flows, jobs: &[Option<Jobs>], most: u64) -> Vec<Values> {
    let mut parts: BTreeMap<(u8, Place), (Job, Account)> = BTreeMap::new();
    for ((id, flow), record) in flows.specs.numbered().zip(&flows.records) {
        let Some((place, job)) = flow.place(jobs) else { continue };
        let mut one = Account::of((id, flow), record, flows.has_started(id));
        if job.ranks == 0 {
            one.hosts = vec![flow.src, flow.dst];
        }
        parts.entry((flow.entry, place)).or_insert((job, Account::default())).1.add(&one);
        if parts.len() as u64 > most {
            return Vec::new();
        }
    }
    let mut table = CollectiveTable::with_capacity(parts.len());
    let parts: Vec<_> = parts.into_iter().collect();
    let of_one_round = |(a, _): &(_, _), (b, _): &(_, _)| round_of(a) == round_of(b);
    for round in parts.chunk_by(of_one_round) {
        let ((entry, place), (job, _)) = round[0];
        let mut whole = Account::default();
        round.iter().for_each(|(_, (_, account))| whole.add(account));
        table.push(&Row { entry, place, step: 0, job, account: &whole });
        for ((entry, place), (job, account)) in round.iter().filter(|_| job.steps > 1) {
            table.push(&Row { entry: *entry, place: *place, step: place.step + 1, job: *job, account });
        }
    }
    table.close()
}

fn round_of(&(entry, place): &(u8, Place)) -> (u8, u32, u32) {
    (entry, place.round, place.group)
}
