//! Both passes together: a row for each candidate of each choice.

use super::looks::{State, seen};
use super::paths::{Candidate, Path};
use super::record::{Choice, Choices};
use super::{Saw, Trace};
use crate::bank::Bank;
use crate::engine::Sim;
use crate::outcome::{Column, Values, column};
use serde_json::{Value, json};
use spinewise_policy::{Kind, Rule, Sees};
use std::collections::BTreeMap;

/// Columns of the trace that have one value a row. A `word8` or `word32` is a number of that many bits that stands for
/// a word of [`Trace::words`]; the largest one for none.
pub const CHOICE_COLUMNS: &[Column] = &[
    column("choice", "u32", "", "number of the choice, in the order of time: its candidates share it"),
    column("time_ps", "u64", "ps", "when the packet chose its way"),
    column("flow", "u32", "", "number of the flow"),
    column("device", "word32", "", "where: the sending host, or the switch"),
    column("scheme", "word8", "", "the scheme that chose"),
    column("kind", "word8", "", "data or ack"),
    column("seq", "u64", "bytes", "first payload byte of data; next byte expected of an acknowledgement"),
    column("retransmit", "bool", "", "data: these bytes had been sent before; ack: those it answers had"),
    column("wire_bytes", "u32", "bytes", "the packet on the wire"),
    column("rule", "word8", "", "the rule that the scheme acted by; null if it does not tell"),
    column(
        "acts",
        "word8",
        "",
        "by that rule: keeps (nothing is chosen), chooses, or follows (what was chosen as the packet before passed)",
    ),
    column("way", "u16", "", "candidate: a path tag at a host, an uplink by its place at a switch"),
    column("chosen", "bool", "", "it was chosen"),
    column("previous", "bool", "", "the packet before, of this flow and kind at this device, took it"),
    column("paths", "u32", "", "paths it stands for; of several, what follows is of the one best at that instant"),
    column(
        "queueing_ps",
        "u64",
        "ps",
        "true: how long the packet would wait on that path if it set out and nothing else came: at each port, up to that to the host, what was queued and not gone by then",
    ),
    column("travel_ps", "u64", "ps", "true: transmission and propagation of this packet on that path, from device on"),
    column("worse_ps", "u64", "ps", "true: so much longer than on the best candidate, both counted"),
    column("open", "bool", "", "true: all links of that path worked"),
    column("slowest_bps", "u64", "bit/s", "rate of its slowest link between switches"),
];

/// Columns of the trace that have a list a row: one value for each link of the path, from the device to the
/// destination.
pub const HOP_COLUMNS: &[Column] = &[
    column("links", "word32", "", "the links"),
    column("queue_bytes", "u64", "bytes", "true: queued at the port that feeds the link, by switch.queue_counts"),
    column("state", "word8", "", "true: up, paused (by flow control) or down"),
];

/// "No word".
const NOTHING: u8 = u8::MAX;

/// The trace of a run by its choices and what its second pass has seen.
pub fn table(sim: &Sim, choices: &Choices) -> Trace {
    let mut rows = Rows::new(sim, choices);
    for (number, choice) in choices.all.iter().enumerate() {
        rows.add(sim, choices, number as u32, choice);
    }
    rows.close(sim)
}

/// A scheme that chooses: its name, what it tells, and where its rules begin among all.
struct Chooser {
    name: &'static str,
    sees: &'static Sees,
    first_rule: u8,
    /// Columns of what it sees, of flow and way.
    columns: std::ops::Range<usize>,
}

/// Columns as they grow.
#[derive(Default)]
struct Rows {
    choice: Vec<u32>,
    time: Vec<u64>,
    flow: Vec<u32>,
    device: Vec<u32>,
    scheme: Vec<u8>,
    ack: Vec<u8>,
    seq: Vec<u64>,
    retransmit: Vec<u8>,
    wire: Vec<u32>,
    rule: Vec<u8>,
    acts: Vec<u8>,
    way: Vec<u16>,
    chosen: Vec<u8>,
    previous: Vec<u8>,
    paths: Vec<u32>,
    queueing: Vec<u64>,
    travel: Vec<u64>,
    worse: Vec<u64>,
    open: Vec<u8>,
    slowest: Vec<u64>,
    offsets: Vec<u32>,
    links: Vec<u32>,
    queues: Vec<u64>,
    states: Vec<u8>,
    saw: Vec<Saw>,
    choosers: Vec<Chooser>,
}

impl Rows {
    fn new(sim: &Sim, choices: &Choices) -> Rows {
        let mut rows = Rows { offsets: vec![0], ..Rows::default() };
        let mut first_rule = 0;
        for bank in sim.edge.iter().chain([&sim.fabric]) {
            let (name, sees) = (bank.about().name, bank.sees());
            if choices.all.iter().any(|choice| chose(bank, sim, choice)) {
                let first = rows.saw.len();
                for (of, quantities) in [("flow", sees.flow), ("way", sees.way)] {
                    rows.saw.extend(quantities.iter().map(|q| Saw {
                        name: format!("{name}.{}", q.name),
                        unit: q.unit,
                        meaning: q.meaning,
                        of,
                        values: Vec::new(),
                    }));
                }
                rows.choosers.push(Chooser { name, sees, first_rule, columns: first..rows.saw.len() });
                first_rule += sees.rules.len() as u8;
            }
        }
        rows
    }

    /// The rows of one choice.
    fn add(&mut self, sim: &Sim, choices: &Choices, number: u32, choice: &Choice) {
        let look = |switch, port| seen(sim, choice.at, (switch, port));
        let ways = choices.ways(choice);
        let best = |&way| Candidate::new(sim, choice.at, choice.node, &choice.packet, way).best(&look);
        let found: Vec<Path> = ways.iter().map(best).collect();
        let least = found.iter().filter(|path| path.is_open()).map(Path::time).min().unwrap_or(0);
        let packet = &choice.packet;
        let at_host = choice.node < sim.net.topology.hosts;
        // The scheme at the hosts stands first.
        let chooser = if at_host || sim.edge.is_none() { 0 } else { self.choosers.len() - 1 };
        let (first_rule, rules) = (self.choosers[chooser].first_rule, self.choosers[chooser].sees.rules);
        let acts = match choice.rule.and_then(|rule| rules.get(usize::from(rule))) {
            Some(Rule::Keeps(_)) => 0,
            Some(Rule::Chooses(_)) => 1,
            Some(Rule::Follows(_)) => 2,
            None => NOTHING,
        };
        for (candidate, (path, way)) in found.iter().zip(ways).enumerate() {
            self.choice.push(number);
            self.time.push(choice.at.0);
            self.flow.push(sim.flows.flow_of(packet.flow).0);
            self.device.push(choice.node);
            self.scheme.push(chooser as u8);
            self.ack.push(u8::from(packet.kind == Kind::Ack));
            self.seq.push(packet.seq);
            self.retransmit.push(u8::from(packet.is(crate::packet::RETRANSMIT)));
            self.wire.push(u32::from(packet.wire));
            self.rule.push(choice.rule.map_or(NOTHING, |rule| first_rule + rule));
            self.acts.push(acts);
            self.way.push(way.0);
            self.chosen.push(u8::from(candidate == usize::from(choice.chosen)));
            self.previous.push(u8::from(choice.previous == Some(*way)));
            self.paths.push(path.paths);
            self.queueing.push(path.queueing.0);
            self.travel.push(path.travel.0);
            self.worse.push(path.time().saturating_sub(least));
            self.open.push(u8::from(path.is_open()));
            self.slowest.push(path.slowest);
            for &(link, at) in &path.hops {
                self.links.push(link);
                self.queues.push(at.queue);
                self.states.push(at.state as u8);
            }
            self.offsets.push(self.links.len() as u32);
            self.see(chooser, choices.of_flow(choice), choices.of_way(choice, candidate));
        }
    }

    /// What the chooser saw; others saw nothing.
    fn see(&mut self, chooser: usize, of_flow: &[f64], of_way: &[f64]) {
        let own = self.choosers[chooser].columns.clone();
        let mut values = of_flow.iter().chain(of_way);
        for (at, saw) in self.saw.iter_mut().enumerate() {
            let value = if own.contains(&at) { values.next() } else { None };
            saw.values.push(value.copied().unwrap_or(f64::NAN));
        }
    }

    fn close(self, sim: &Sim) -> Trace {
        let topology = &sim.net.topology;
        let names = |numbers: &[u32], name: &dyn Fn(u32) -> String| -> (Vec<u32>, Vec<String>) {
            let mut known = BTreeMap::new();
            numbers.iter().for_each(|&number| {
                known.entry(number).or_insert(0u32);
            });
            known.values_mut().enumerate().for_each(|(at, place)| *place = at as u32);
            (numbers.iter().map(|number| known[number]).collect(), known.keys().map(|&number| name(number)).collect())
        };
        let (device, devices) = names(&self.device, &|node| topology.node_name(node));
        let (links, link_names) = names(&self.links, &|link| topology.link_name(link));
        let rules: Vec<&str> = self.choosers.iter().flat_map(|chooser| chooser.sees.rules).map(Rule::says).collect();
        let words: Value = json!({
            "device": devices,
            "scheme": self.choosers.iter().map(|chooser| chooser.name).collect::<Vec<_>>(),
            "kind": ["data", "ack"],
            "acts": ["keeps", "chooses", "follows"],
            "rule": rules,
            "links": link_names,
            "state": State::NAMES,
        });
        let rows = vec![
            Values::U32(self.choice),
            Values::U64(self.time),
            Values::U32(self.flow),
            Values::U32(device),
            Values::U8(self.scheme),
            Values::U8(self.ack),
            Values::U64(self.seq),
            Values::U8(self.retransmit),
            Values::U32(self.wire),
            Values::U8(self.rule),
            Values::U8(self.acts),
            Values::U16(self.way),
            Values::U8(self.chosen),
            Values::U8(self.previous),
            Values::U32(self.paths),
            Values::U64(self.queueing),
            Values::U64(self.travel),
            Values::U64(self.worse),
            Values::U8(self.open),
            Values::U64(self.slowest),
        ];
        let hops = vec![Values::U32(links), Values::U64(self.queues), Values::U8(self.states)];
        Trace { rows, offsets: self.offsets, hops, saw: self.saw, words }
    }
}

/// Was it this scheme that chose?
fn chose(bank: &Bank, sim: &Sim, choice: &Choice) -> bool {
    let at_host = choice.node < sim.net.topology.hosts;
    let of_edge = sim.edge.as_ref().is_some_and(|edge| std::ptr::eq(edge, bank));
    at_host == of_edge
}
