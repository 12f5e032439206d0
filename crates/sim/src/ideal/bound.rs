//! A time that no flow can beat, whatever paths its packets take. docs/model.md explains why.

use super::crossing::{Crossings, fastest};
use super::cuts::{Cut, Gate, cuts};
use crate::ids::{HostId, SwitchId};
use crate::packet::Clock;
use crate::topology::{LinkSpec, Topology};
use std::collections::BTreeMap;

/// The packets of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    /// Number of full packets.
    full: u64,
    /// Bytes of a full one on the wire.
    wire: u64,
    /// Bytes of the short last one on the wire; 0 if there is none.
    rest: u64,
    size: u64,
    payload: u64,
}

impl Data {
    /// Describes a flow of `size` bytes, in packets of `payload` with a `header` each.
    pub(super) fn new(size: u64, payload: u64, header: u64) -> Data {
        let (full, rest) = (size / payload, size % payload);
        Data { full, wire: payload + header, rest: if rest > 0 { rest + header } else { 0 }, size, payload }
    }
}

/// Known facts about a pair of leaves.
#[derive(Debug)]
struct Pair {
    /// The links between them if there is only one path.
    only: Option<Vec<LinkSpec>>,
    /// For the fastest path of a full packet: the rate of its slowest link.
    rate: u64,
    /// Present if the paths together may carry more than that.
    cuts: Option<Vec<Cut>>,
}

/// Bounds of flows, and known facts about pairs of leaves.
#[derive(Debug)]
pub(super) struct Bounds<'a> {
    topology: &'a Topology,
    clock: Clock,
    crossings: Crossings,
    /// Indexed by the leaves and the bytes of a full packet.
    pairs: BTreeMap<(SwitchId, SwitchId, u64), Pair>,
    /// Where repaired routes may have more links than those of the whole graph, and yet be faster: the least time over
    /// any way, by leaves and bytes.
    detours: Option<BTreeMap<(SwitchId, SwitchId, u64), u64>>,
}

/// The links of the hosts, and the minimum times of a full packet and of the short one between their leaves.
struct Ends {
    first: LinkSpec,
    last: LinkSpec,
    full: u64,
    rest: u64,
}

impl<'a> Bounds<'a> {
    /// Creates the bounds of this fabric.
    pub(super) fn new(topology: &'a Topology, clock: Clock) -> Bounds<'a> {
        Bounds { topology, clock, crossings: Crossings::default(), pairs: BTreeMap::new(), detours: None }
    }

    /// The same, where packets may take any way.
    pub(super) fn with_detours(self) -> Bounds<'a> {
        Bounds { detours: Some(BTreeMap::new()), ..self }
    }

    /// Returns the minimum time from the start of a flow to the arrival of its last byte. A sender waits at least
    /// `patience` before it resends data of which it has heard nothing.
    pub(super) fn of(&mut self, src: HostId, dst: HostId, data: &Data, patience: u64) -> u64 {
        let (topology, clock) = (self.topology, self.clock);
        let leaves = (topology.leaf(src), topology.leaf(dst));
        let mut crossing = |bytes| match &mut self.detours {
            None => self.crossings.time(topology, leaves, bytes, clock),
            Some(known) => *known
                .entry((leaves.0, leaves.1, bytes))
                .or_insert_with(|| fastest(topology, leaves, |rate| clock.tx_time(bytes, rate))),
        };
        let (first, last) = (topology.links[topology.host_link(src)], *topology.last_link(dst));
        let ends = Ends { first, last, full: crossing(data.wire), rest: crossing(data.rest) };
        if self.detours.is_some() {
            return u64::try_from(self.by_ends(data, &ends)).unwrap_or(u64::MAX);
        }
        self.learn(leaves, data.wire);
        let pair = &self.pairs[&(leaves.0, leaves.1, data.wire)];
        if let Some(only) = &pair.only
            && u128::from(patience) >= self.one(data.rest, &ends, ends.rest)
        {
            let path: Vec<LinkSpec> = [first].into_iter().chain(only.iter().copied()).chain([last]).collect();
            return super::ideal_fct(data.size, data.payload, data.wire - data.payload, &path, clock);
        }
        if pair.rate < first.rate.min(last.rate) {
            self.learn_cuts(leaves, data.wire);
        }
        let cuts = self.pairs[&(leaves.0, leaves.1, data.wire)].cuts.as_deref().unwrap_or_default();
        let least = cuts.iter().fold(self.by_ends(data, &ends), |least, cut| self.by_cut(data, &ends, cut, least));
        u64::try_from(least).unwrap_or(u64::MAX)
    }

    fn learn(&mut self, (from, to): (SwitchId, SwitchId), wire: u64) {
        let (topology, clock) = (self.topology, self.clock);
        let crossings = &mut self.crossings;
        self.pairs.entry((from, to, wire)).or_insert_with(|| {
            let paths = crossings.between(topology, from, to);
            let fastest = paths.iter().min_by_key(|path| path.time(wire, clock));
            Pair {
                only: only_path(topology, from, to),
                rate: fastest.map_or(u64::MAX, |path| path.slowest()),
                cuts: None,
            }
        });
    }

    fn learn_cuts(&mut self, (from, to): (SwitchId, SwitchId), wire: u64) {
        let (topology, clock, crossings) = (self.topology, self.clock, &mut self.crossings);
        if let Some(pair) = self.pairs.get_mut(&(from, to, wire)) {
            pair.cuts.get_or_insert_with(|| cuts(topology, crossings, (from, to), wire, clock));
        }
    }

    fn tx(&self, bytes: u64, link: &LinkSpec) -> u128 {
        u128::from(self.clock.tx_time(bytes, link.rate))
    }

    /// The time of one packet that takes `crossing` between the leaves.
    fn one(&self, bytes: u64, ends: &Ends, crossing: u64) -> u128 {
        let delays = u128::from(ends.first.delay.0) + u128::from(ends.last.delay.0);
        self.tx(bytes, &ends.first) + delays + u128::from(crossing) + self.tx(bytes, &ends.last)
    }

    /// The bound from the first and the last link, by which all packets leave and arrive, one behind another. The n-th
    /// full packet is at the last link no sooner than n have been sent and one has crossed; the short one, which is
    /// sent behind all others, no sooner than all have been sent and it has crossed. The last link finishes soonest if
    /// it takes them in order of arrival.
    fn by_ends(&self, data: &Data, ends: &Ends) -> u128 {
        let delay = u128::from(ends.first.delay.0);
        let (sent, taken) = (self.tx(data.wire, &ends.first), self.tx(data.wire, &ends.last));
        let full = u128::from(data.full);
        let here = |n: u128| n * sent + delay + u128::from(ends.full);
        let short = full * sent + self.tx(data.rest, &ends.first) + delay + u128::from(ends.rest);
        let short_taken = if data.rest > 0 { self.tx(data.rest, &ends.last) } else { 0 };
        // Number of full packets that arrive there no later than the short one.
        let before = match (data.rest, short.checked_sub(delay + u128::from(ends.full))) {
            (0, _) => full,
            (_, Some(left)) => left.checked_div(sent).unwrap_or(full).min(full),
            (_, None) => 0,
        };
        // The last link is busy without a break from the arrival of one of them on.
        let mut done = 0;
        for n in [1, before] {
            if (1..=before).contains(&n) {
                done = done.max(here(n) + (full - n + 1) * taken + short_taken);
            }
        }
        if data.rest > 0 {
            done = done.max(short + short_taken + (full - before) * taken);
        }
        for n in [before + 1, full] {
            if (before + 1..=full).contains(&n) {
                done = done.max(here(n) + (full - n + 1) * taken);
            }
        }
        done + u128::from(ends.last.delay.0)
    }

    /// The minimum time, at least `least`, in which the links of a cut can carry all packets.
    fn by_cut(&self, data: &Data, ends: &Ends, cut: &Cut, least: u128) -> u128 {
        if self.carries(data, ends, cut, least) {
            return least;
        }
        let (mut low, mut step) = (least, 1);
        while !self.carries(data, ends, cut, low + step) {
            low += step;
            step *= 2;
        }
        let mut high = low + step;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.carries(data, ends, cut, middle) { high = middle } else { low = middle }
        }
        high
    }

    /// Whether the links of a cut can carry all packets by `time`. Each has from the first arrival there until the last
    /// packet must leave it to be at the host in time.
    fn carries(&self, data: &Data, ends: &Ends, cut: &Cut, time: u128) -> bool {
        let gates = cut.iter().map(|(gate, links)| (self.gate(data, ends, gate, time), u128::from(*links)));
        let (mut all, mut most_with) = (0, None);
        for ((full, with_short), links) in gates {
            all += full * links;
            // One full packet fewer where the short one goes, or several.
            most_with = most_with.max(with_short.map(|with| with as i128 - full as i128));
        }
        let whole = u128::from(data.full);
        all >= whole && (data.rest == 0 || most_with.is_some_and(|less| all as i128 + less >= whole as i128))
    }

    /// Returns how many full packets a link of a cut can carry by `time`, and how many in addition to the short one, if
    /// it can carry that.
    fn gate(&self, data: &Data, ends: &Ends, gate: &Gate, time: u128) -> (u128, Option<u128>) {
        let (clock, whole) = (self.clock, u128::from(data.full));
        let tail = |bytes| {
            let behind = gate.behind.iter().map(|path| path.time(bytes, clock)).min().unwrap_or(0);
            u128::from(gate.delay) + u128::from(behind) + self.tx(bytes, &ends.last) + u128::from(ends.last.delay.0)
        };
        let (sent, delay) = (self.tx(data.wire, &ends.first), u128::from(ends.first.delay.0));
        let each = u128::from(clock.tx_time(data.wire, gate.rate));
        let count = |left: u128| left.checked_div(each).unwrap_or(whole).min(whole);
        let there = sent + delay + u128::from(gate.before.0);
        let full = time.checked_sub(there + tail(data.wire)).map_or(0, count);
        if data.rest == 0 {
            return (full, None);
        }
        let short_there = whole * sent + self.tx(data.rest, &ends.first) + delay + u128::from(gate.before.1);
        let short = u128::from(clock.tx_time(data.rest, gate.rate));
        (full, time.checked_sub(there.min(short_there) + short + tail(data.rest)).map(|left| count(left).min(full)))
    }
}

/// The links from one leaf to another if no switch on the way has a choice.
fn only_path(topology: &Topology, from: SwitchId, to: SwitchId) -> Option<Vec<LinkSpec>> {
    let (mut switch, mut path) = (from, Vec::new());
    while switch != to {
        let &[port] = topology.uplinks(switch, to) else { return None };
        let link = topology.out(topology.switch_node(switch), port);
        path.push(*link);
        switch = topology.switch_number(link.to.0);
    }
    Some(path)
}
