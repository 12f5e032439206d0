//! Both passes together: one row for each candidate of each choice.

use super::paths::{Candidate, Path, seen};
use super::{Saw, Trace};
use crate::bank::Bank;
use crate::choices::{Choice, Choices, Fate, Loss};
use crate::columns::{Word8, Word32, columns};
use crate::engine::Sim;
use crate::faults::Step;
use crate::ids::{FlowId, LinkId, NodeId};
use crate::outcome::Values;
use crate::packet::{Packet, RETRANSMIT};
use crate::switch::{Seen, State};
use serde_json::{Value, json};
use spinewise_policy::{Decides, Kind, Rule, Sees, Sheet, Way};
use std::collections::BTreeMap;

/// Kinds of packets, by number.
const KINDS: [&str; 2] = ["data", "ack"];

/// A candidate of a choice.
struct Row<'a> {
    number: u32,
    choice: &'a Choice,
    /// The flow of its packet.
    flow: FlowId,
    subflow: u16,
    /// The scheme that chose, by its place among all.
    scheme: u8,
    /// The first of its rules among those of all.
    first_rule: u8,
    acts: Word8,
    way: Way,
    chosen: bool,
    offered: bool,
    path: &'a Path,
    /// The time on the best candidate.
    least: u64,
}

columns! {
    /// Columns of the trace that have one value a row; [`Trace::words`] has the words.
    CHOICE_COLUMNS: ChoiceTable, |row: &Row<'_>| {
        choice: u32, "", "number of the choice, in order of time: all of its candidates share it" => row.number;
        time_ps: u64, "ps", "when the packet's path was chosen" => row.choice.at.0;
        flow: u32, "", "number of the flow" => row.flow.number();
        subflow: u16, "", "MPTCP subflow, or queue pair of a split message, from 1; 0: none" => row.subflow;
        device: Word32, "", "where: the sending host, or the switch" => Word32(row.choice.node.number());
        scheme: Word8, "", "the scheme that chose" => Word8(row.scheme);
        kind: Word8, "", "data or ack" => Word8(u8::from(row.choice.packet.kind == Kind::Ack));
        seq: u64, "bytes", "first payload byte of data; next byte expected of an acknowledgement"
            => row.choice.packet.seq;
        retransmit: bool, "", "data: these bytes had been sent before; ack: those it acknowledges had"
            => row.choice.packet.is(RETRANSMIT);
        wire_bytes: u32, "bytes", "size of the packet on the wire" => u32::from(row.choice.packet.wire);
        rule: Word8, "", "the rule that the scheme applied; null if it does not say"
            => row.choice.rule.map_or(Word8::NONE, |rule| Word8(row.first_rule + rule));
        acts: Word8, "",
            "under that rule: keeps (nothing is chosen), chooses, or follows (the choice made when the previous packet \
             passed); without a rule, hashes, if a hash of the header decides"
            => row.acts;
        way: u16, "", "candidate: a path tag at a host, an uplink by its port at a switch" => row.way.0;
        offered: bool, "", "it was a candidate; false for the one that the previous packet took if that is no longer a \
                            candidate"
            => row.offered;
        chosen: bool, "", "it was chosen" => row.chosen;
        previous: bool, "", "the previous packet of this flow and kind at this device took it"
            => row.choice.previous == Some(row.way);
        paths: u32, "",
            "paths it stands for; if several, the following columns describe the best one at that instant; 0: a switch \
             on the way had no route onwards"
            => row.path.paths;
        queueing_ps: u64, "ps",
            "true: how long the packet would wait on that path if it set out and nothing else arrived: at each port, \
             up to the one to the host, what was queued and would not have left by then"
            => row.path.queueing.0;
        travel_ps: u64, "ps", "true: transmission and propagation of this packet on that path, starting at device"
            => row.path.travel.0;
        worse_ps: u64, "ps", "true: how much longer than on the best candidate whose links worked, waiting and travel \
                              included"
            => row.path.time().saturating_sub(row.least);
        open: bool, "", "true: all links of that path worked" => row.path.is_open();
        slowest_bps: u64, "bit/s", "rate of the slowest link between switches on that path" => row.path.slowest;
    }
}

columns! {
    /// Columns of the trace that have a list a row: one value for each link of the path, from the device to the
    /// destination, or to where none is known further.
    HOP_COLUMNS: HopTable, |hop: &(LinkId, Seen)| {
        links: Word32, "", "the links" => Word32(hop.0.number());
        queue_bytes: u64, "bytes", "true: queued at the port that feeds the link, counted as in switch.queue_counts" => hop.1.queue;
        state: Word8, "", "true: up, paused (by flow control) or down" => Word8(hop.1.state as u8);
    }
}

/// A packet that never arrived, or not whole.
struct Lost<'a> {
    loss: &'a Loss,
    flow: FlowId,
    subflow: u16,
    rerouted: u64,
}

columns! {
    /// Columns of what became of packets of traced flows that never arrived, or not whole; [`Trace::loss_words`] has the
    /// words.
    LOSS_COLUMNS: LossTable, |row: &Lost<'_>| {
        time_ps: u64, "ps", "when the loss was found: for a packet lost on a link, when it would have arrived" => row.loss.at.0;
        flow: u32, "", "number of the flow" => row.flow.number();
        subflow: u16, "", "MPTCP subflow, or queue pair of a split message, from 1; 0: none" => row.subflow;
        kind: Word8, "", "data or ack" => Word8(u8::from(row.loss.packet.kind == Kind::Ack));
        seq: u64, "bytes", "first payload byte of data; next byte expected of an acknowledgement" => row.loss.packet.seq;
        retransmit: bool, "", "data: these bytes had been sent before; ack: those it acknowledges had"
            => row.loss.packet.is(RETRANSMIT);
        wire_bytes: u32, "bytes", "size of the packet on the wire" => u32::from(row.loss.packet.wire);
        fate: Word8, "",
            "no room (at a port), trimmed (its header went on), discarded (by the scheme), lost on the link, no way on \
             (the switch had no route), died (with the switch), or hop limit reached (routes formed a loop)"
            => Word8(row.loss.fate as u8);
        device: Word32, "", "where" => Word32(row.loss.node.number());
        link: Word32, "", "the link it should have left by; if lost on the link, without a way on or at its hop limit, \
                           the link it arrived by"
            => row.loss.link.map_or(Word32::NONE, |link| Word32(link.number()));
        rerouted_ps: u64, "ps",
            "if lost on the link, without a way on or at its hop limit: when the switch that had sent it there next \
             changed its routes; 0: never, or not known"
            => row.rerouted;
    }
}

/// Builds the trace of a run from its choices and the observations of its second pass.
pub(super) fn table(sim: &Sim<'_>, choices: &Choices) -> Trace {
    let mut rows = Rows::new(sim, choices);
    for (number, choice) in choices.all.iter().enumerate() {
        rows.add(sim, choices, number as u32, choice);
    }
    rows.close(sim, losses(sim, choices))
}

/// Returns the losses, and the words for them.
fn losses(sim: &Sim<'_>, choices: &Choices) -> (Vec<Values>, Value) {
    let topology = &sim.net.topology;
    let mut table = LossTable::with_capacity(choices.losses.len());
    for loss in &choices.losses {
        let (flow, subflow) = numbers(sim, &loss.packet);
        table.push(&Lost { loss, flow, subflow, rerouted: rerouted(sim, loss) });
    }
    let devices = worded(&mut table.device, |node| topology.node_name(NodeId::new(node)));
    let links = worded(&mut table.link, |link| topology.link_name(LinkId::new(link)));
    let words = json!({"kind": KINDS, "fate": Fate::NAMES, "device": devices, "link": links});
    (table.close(), words)
}

/// The flow of a packet, and its subflow, from 1; 0 if the flow has none.
fn numbers(sim: &Sim<'_>, packet: &Packet) -> (FlowId, u16) {
    let flows = &sim.world.flows;
    (flows.flow_of(packet.subflow()), flows.path_of(packet.subflow()).map_or(0, |path| path as u16 + 1))
}

/// Returns when the switch that had sent a packet towards the place of its loss next used other routes; 0 for never.
fn rerouted(sim: &Sim<'_>, loss: &Loss) -> u64 {
    let topology = &sim.net.topology;
    let (Fate::OnLink | Fate::NoWay | Fate::Circled, Some(number)) = (loss.fate, loss.link) else { return 0 };
    let link = &topology.links[number];
    let sender = link.from.0;
    if topology.is_host(sender) {
        return 0;
    }
    let steps = sim.net.faults.steps(topology.switch_number(sender));
    let (rate, delay) = sim.net.faults.line(number, link, loss.at);
    let left = loss.at.0.saturating_sub(sim.net.clock.tx_time(u64::from(loss.packet.wire), rate) + delay.0);
    let next = steps.iter().find(|&&(at, step)| at.0 > left && matches!(step, Step::Routes(_)));
    next.map_or(0, |&(at, _)| at.0)
}

/// A scheme that chooses: its name, its quantities, and where its rules begin among all.
struct Chooser {
    name: &'static str,
    sees: &'static Sees,
    first_rule: u8,
    /// Columns of its quantities, of flow and way.
    columns: std::ops::Range<usize>,
}

/// Columns as they grow.
struct Rows {
    table: ChoiceTable,
    hops: HopTable,
    offsets: Vec<u32>,
    saw: Vec<Saw>,
    choosers: Vec<Chooser>,
}

impl Rows {
    fn new(sim: &Sim<'_>, choices: &Choices) -> Rows {
        let mut rows = Rows {
            table: ChoiceTable::with_capacity(choices.all.len()),
            hops: HopTable::with_capacity(choices.all.len()),
            offsets: vec![0],
            saw: Vec::new(),
            choosers: Vec::new(),
        };
        let mut first_rule = 0;
        for bank in sim.world.edge.iter().chain([&sim.world.fabric]) {
            let Sheet { name, sees, .. } = bank.sheet();
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

    /// Adds the rows of one choice.
    fn add(&mut self, sim: &Sim<'_>, choices: &Choices, number: u32, choice: &Choice) {
        let look = |switch, port| seen(sim, choice.at, (switch, port));
        let ways = choices.ways(choice);
        let best = |&way| Candidate::new(sim, choice.at, choice.node, &choice.packet, way).best(&look);
        let found: Vec<Path> = ways.iter().map(best).collect();
        let offered = usize::from(choice.offered);
        let least = found[..offered].iter().filter(|path| path.is_open()).map(Path::time).min().unwrap_or(0);
        let at_host = sim.net.topology.is_host(choice.node);
        // The scheme at the hosts comes first.
        let chooser = if at_host || sim.world.edge.is_none() { 0 } else { self.choosers.len() - 1 };
        let (first_rule, rules) = (self.choosers[chooser].first_rule, self.choosers[chooser].sees.rules);
        let acts = match choice.rule.and_then(|rule| rules.get(usize::from(rule))) {
            Some(Rule::Keeps(_)) => Word8(0),
            Some(Rule::Chooses(_)) => Word8(1),
            Some(Rule::Follows(_)) => Word8(2),
            None if self.choosers[chooser].sees.decides != Decides::Chooses => Word8(3),
            None => Word8::NONE,
        };
        let ((flow, subflow), scheme) = (numbers(sim, &choice.packet), chooser as u8);
        for (candidate, (path, &way)) in found.iter().zip(ways).enumerate() {
            let chosen = candidate == usize::from(choice.chosen);
            let offered = candidate < offered;
            let row =
                Row { number, choice, flow, subflow, scheme, first_rule, acts, way, chosen, offered, path, least };
            self.table.push(&row);
            path.hops.iter().for_each(|hop| self.hops.push(hop));
            self.offsets.push(self.hops.links.len() as u32);
            self.see(chooser, choices.of_flow(choice), choices.of_way(choice, candidate));
        }
    }

    /// Records the chooser's observations; others saw nothing.
    fn see(&mut self, chooser: usize, of_flow: &[f64], of_way: &[f64]) {
        let own = self.choosers[chooser].columns.clone();
        let mut values = of_flow.iter().chain(of_way);
        for (at, saw) in self.saw.iter_mut().enumerate() {
            let value = if own.contains(&at) { values.next() } else { None };
            saw.values.push(value.copied().unwrap_or(f64::NAN));
        }
    }

    fn close(mut self, sim: &Sim<'_>, (losses, loss_words): (Vec<Values>, Value)) -> Trace {
        let topology = &sim.net.topology;
        let devices = worded(&mut self.table.device, |node| topology.node_name(NodeId::new(node)));
        let link_names = worded(&mut self.hops.links, |link| topology.link_name(LinkId::new(link)));
        let rules: Vec<&str> = self.choosers.iter().flat_map(|chooser| chooser.sees.rules).map(Rule::says).collect();
        let words: Value = json!({
            "device": devices,
            "scheme": self.choosers.iter().map(|chooser| chooser.name).collect::<Vec<_>>(),
            "kind": KINDS,
            "acts": ["keeps", "chooses", "follows", "hashes"],
            "rule": rules,
            "links": link_names,
            "state": State::NAMES,
        });
        Trace {
            rows: self.table.close(),
            offsets: self.offsets,
            hops: self.hops.close(),
            saw: self.saw,
            words,
            losses,
            loss_words,
        }
    }
}

/// Replaces these numbers with indices of words; returns the words, in the order of the numbers.
fn worded(numbers: &mut [Word32], word: impl Fn(u32) -> String) -> Vec<String> {
    let some = |number: &&mut Word32| number.0 != Word32::NONE.0;
    let mut known: BTreeMap<u32, u32> = numbers.iter().map(|number| (number.0, 0)).collect();
    known.remove(&Word32::NONE.0);
    (0u32..).zip(known.values_mut()).for_each(|(at, place)| *place = at);
    numbers.iter_mut().filter(some).for_each(|number| number.0 = known[&number.0]);
    known.into_keys().map(word).collect()
}

/// Whether it was this scheme that chose.
fn chose(bank: &Bank, sim: &Sim<'_>, choice: &Choice) -> bool {
    let at_host = sim.net.topology.is_host(choice.node);
    let of_edge = sim.world.edge.as_ref().is_some_and(|edge| std::ptr::eq(edge, bank));
    at_host == of_edge
}
