//! The outcome of operations that wait for each other: how many have ended, when, and what the others wait for.

use crate::engine::Sim;
use crate::ids::FlowId;
use crate::operations::{Part, State};
use crate::spec::Warning;
use crate::workload::dag::{Action, Does, Milestone, Operation};
use serde_json::{Value, json};
use spinewise_policy::Time;

/// How many operations under way are reported, and names of those that wait for each.
const TOLD: usize = 5;
const NAMED: usize = 3;

/// An operation that keeps others waiting, and itself waits for no operation.
struct Blocking<'a> {
    name: &'a str,
    operation: &'a Operation,
    /// Its current activity, in words.
    does: String,
    waiting: Vec<&'a str>,
    count: usize,
}

/// All entries with operations, for the report.
pub(super) fn told(sim: &Sim<'_>) -> Value {
    let operations = &sim.world.flows.operations;
    let part = |part: &Part| {
        let ended = all(part).filter(|&n| operations.times(n)[1] != Time::NEVER);
        let end = ended.clone().map(|n| operations.times(n)[1]).max();
        let open: Vec<Value> = blocking(sim, part).iter().map(Blocking::json).collect();
        json!({
            "entry": part.entry,
            "operations": part.table.operations().len(),
            "ended": ended.count(),
            "end_ps": end.unwrap_or(Time::ZERO).0,
            "waited_for": open,
        })
    };
    operations.parts.iter().map(part).collect()
}

/// Entries whose operations have not all ended when the run does.
pub(super) fn warnings(sim: &Sim<'_>) -> Vec<Warning> {
    let operations = &sim.world.flows.operations;
    let mut found = Vec::new();
    for part in &operations.parts {
        let open = all(part).filter(|&n| operations.times(n)[1] == Time::NEVER).count();
        if open == 0 {
            continue;
        }
        let count = part.table.operations().len();
        let waited_for: Vec<String> = blocking(sim, part).iter().map(Blocking::text).collect();
        let text = format!("{open} of {count} operations had not ended when the run did. {}", waited_for.join(" "));
        found.push(Warning::of("operations_unfinished", format!("traffic[{}]", part.entry), text.trim_end()));
    }
    found
}

fn all(part: &Part) -> impl Iterator<Item = u32> + Clone + use<> {
    part.from..part.from + part.table.operations().len() as u32
}

/// The first operations that have not ended though they wait for none.
fn blocking<'a>(sim: &Sim<'_>, part: &'a Part) -> Vec<Blocking<'a>> {
    let operations = &sim.world.flows.operations;
    let own = |n: u32| &part.table.operations()[(n - part.from) as usize];
    // A receive that has started waits for its send.
    let blocks = |&n: &u32| {
        let waits = operations.state(n) == State::Waiting && operations.waits(n);
        operations.state(n) != State::Ended && !waits && !matches!(own(n).does, Does::Receive { .. })
    };
    let one = |n: u32| {
        let mut waiting = part.table.waiting(n - part.from, Milestone::Ended).to_vec();
        if operations.state(n) != State::Started {
            waiting.extend(part.table.waiting(n - part.from, Milestone::Started));
        }
        if let Does::Send { .. } = own(n).does {
            let receive = own(n).mate;
            let ended = operations.state(part.from + receive) == State::Ended;
            waiting.extend((!ended).then_some(receive));
        }
        waiting.retain(|&n| operations.state(part.from + n) != State::Ended);
        Blocking {
            name: part.table.name(n - part.from),
            operation: own(n),
            does: now(sim, n, own(n)),
            count: waiting.len(),
            waiting: waiting.into_iter().take(NAMED).map(|n| part.table.name(n)).collect(),
        }
    };
    all(part).filter(blocks).take(TOLD).map(one).collect()
}

/// Describes an operation's activity when the run ends.
fn now(sim: &Sim<'_>, n: u32, operation: &Operation) -> String {
    let operations = &sim.world.flows.operations;
    match (operations.state(n), operations.action(n)) {
        (State::Waiting, _) => format!("starts at {} ns", operation.start.0 as f64 / 1e3),
        (State::Queued, _) => "waits for its unit".into(),
        (_, Action::Send(flow)) => {
            let id = FlowId::new(flow);
            let (spec, record) = (&sim.world.flows.specs[id], &sim.world.flows.records[id]);
            format!("has delivered {} of {} bytes to its receiver (flow {flow})", record.received, spec.size)
        }
        _ => "is in progress".into(),
    }
}

impl Blocking<'_> {
    fn json(&self) -> Value {
        json!({
            "operation": self.name,
            "rank": self.operation.rank,
            "state": self.does,
            "waiting": self.waiting,
            "waiting_count": self.count,
        })
    }

    fn text(&self) -> String {
        let what = match self.operation.does {
            Does::Send { to, .. } => format!("Send {} of rank {} to rank {to}", self.name, self.operation.rank),
            Does::Receive { from } => format!("Receive {} of rank {} from rank {from}", self.name, self.operation.rank),
            Does::Compute { .. } => format!("Computation {} of rank {}", self.name, self.operation.rank),
        };
        let more = self.count.saturating_sub(self.waiting.len());
        let waiting = match (self.waiting.join(", "), more) {
            (names, _) if names.is_empty() => String::new(),
            (names, 0) => format!("; waiting for it: {names}"),
            (names, more) => format!("; waiting for it: {names} and {more} more"),
        };
        format!("{what} {}{waiting}.", self.does)
    }
}
