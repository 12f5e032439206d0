//! Hedera: a controller asks the leaves for their large flows, estimates what each would send if only its hosts limited
//! it, and assigns each a path with enough spare capacity.
//!
//! Al-Fares, Radhakrishnan, Raghavan, Huang, Vahdat, "Hedera: dynamic flow scheduling for data center networks", NSDI
//! 2010. The paper was not available; the rules are those given by papers that cite it and by surveys of this field.
//!
//! | rule | function |
//! |---|---|
//! | flows are hashed (ECMP) until they grow large | `pick` |
//! | periodically the controller asks all leaves for their flows of at least a tenth of the host's link | `tick`, [`Seen`] |
//! | the demand of each: its max-min fair share with hosts as the only bottlenecks | [`controller::estimate`] |
//! | global first fit: the first path with room on each link; a flow that has a path keeps it | [`controller::first_fit`] |
//! | a flow that has ended or shrunk releases its reservation and is hashed again | [`controller::forget`], `answer` |
//!
//! | our word | the paper's |
//! |---|---|
//! | leaf | edge switch |
//! | elephant | large flow |
//! | slot | an entry of the switch's table of flows |
//!
//! **Where state is kept, and how it travels.** Each leaf counts the bytes of the flows its hosts send, and has a table
//! of elephants; at most ⌈1 / elephant_share⌉ per host can be large in one interval, so twice as many slots suffice.
//! The controller is located at leaf `controller` and has the table of all flows. Its queries, the leaves' reports and
//! the placements are packets in the fabric, split at 60 entries. The controller proceeds without a report that has not
//! arrived within `report_timeout_us`: that leaf's flows count as ended until this or the next report arrives. Only one
//! query is open at a time: if reports take longer than `interval_ms`, the loop is as slow as they are.
//!
//! **What the controller knows.** For every two leaves, the paths between them and their capacity: a controller knows
//! the topology. This is set at the start and never changes.
//!
//! Departures:
//! - The control network of the paper's testbed is a part of the fabric here, so reports compete with data.
//! - A path is an uplink of the source leaf, and the port of the same place at the destination leaf is its way down:
//!   correct in two tiers with uniform wiring. In other fabrics, switches beyond the uplink hash, and reservations
//!   ignore that.
//! - "Enough left" includes "exactly enough": a flow of the whole rate of a path fits an empty one.
//! - Shares are integer, in millionths.
//! - Simulated annealing, the paper's other placement, is not built: MEET's and PDLB's readers mean first fit.

pub mod controller;

use crate::config::Allowed;
use crate::{
    AtSwitch, Aware, Compared, Cx, FlowKey, Hashes, Hooks, Key, Kind, Layout, Listed, Message, Needs, Out, Packet,
    Peers, Policy, Port, Quantity, Rule, Sees, Series, Shape, Sheet, Sight, Span, SwitchView, Tier, Time, To, Way,
    sees::{quantity, series},
};
use controller::{Elephant, NOWHERE, Told, estimate, first_fit, forget, note};

crate::params! {
    /// Hedera's parameters.
    Config {
        /// Period of the control loop, milliseconds (the paper: 5 s; traffic that lasts milliseconds needs less).
        interval_ms: f64 = 5000.0, Allowed::Number { min: 0.01, max: 1e6 };
        /// A flow is large from this share of its host's link rate (the paper: 10 %).
        elephant_share: f64 = 0.1, Allowed::Number { min: 0.01, max: 1.0 };
        /// The leaf that the controller is located at (own choice).
        controller: u32 = 0, Allowed::Integer { min: 0.0, max: 65535.0 };
        /// Longest wait for reports, microseconds (own choice).
        report_timeout_us: f64 = 1000.0, Allowed::Number { min: 1.0, max: 1e6 };
        /// Bytes below the body of a control packet: Ethernet, IP, TCP (own choice).
        message_header_bytes: u32 = 58, Allowed::Integer { min: 0.0, max: 512.0 };
    }
}

/// Row per flow, at its source leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Bytes since this poll.
    bytes: u64,
    round: u32,
    /// Its slot among its host's, plus one; 0: none.
    slot: u16,
}

/// A slot as the leaf of the flow's source sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    taken: bool,
    key: FlowKey,
    dst: u32,
    /// Bytes since the last poll.
    bytes: u64,
    /// The uplink port where it was placed, plus one; 0 if it was not placed.
    port: u16,
}

impl Seen {
    /// Whether it holds this flow.
    #[inline]
    fn is_of(&self, flow: FlowKey) -> bool {
        self.taken && self.key == flow
    }
}

/// Row per source host and slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slot {
    /// The leaf's entry, at the leaf of that host.
    pub seen: Seen,
    /// The controller's entry, at the controller.
    pub plan: Elephant,
}

/// Row per leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The last poll: sent, at the controller; received, elsewhere.
    round: u32,
    /// Leaves that have not answered it.
    awaited: u32,
    /// Nothing has been placed since the poll was sent.
    is_open: bool,
    /// Bytes of an interval that make a flow large; 0 until computed.
    least: u64,
    /// When the last poll came.
    asked_at: Time,
}

impl Node {
    /// Returns how many bytes since the last poll make a flow large by `now`. `least` is for one interval; it grows in
    /// proportion if no poll has come for an interval and a half, because the previous one took long to be answered.
    fn least_by(&self, least: u64, interval: Span, now: Time) -> u64 {
        let passed = now.since(self.asked_at).0;
        if passed / 3 <= interval.0 / 2 {
            least
        } else {
            (u128::from(least) * u128::from(passed) / u128::from(interval.0)) as u64
        }
    }
}

/// Elephants placed by a controller.
#[derive(Clone, Copy, Debug)]
pub struct Hedera {
    interval: Span,
    /// Unit: millionths.
    share: u64,
    controller: u32,
    timeout: Span,
    header: u32,
}

/// The controller's poll.
const POLL: u8 = 0;
/// A leaf's answer, or a part of it.
const REPORT: u8 = 1;
/// Kind of a message: where elephants must go.
const PLACE: u8 = 2;

/// Entries in a packet.
const ENTRIES: usize = 60;
/// Round (u32), is it the last of its leaf (u32).
const LEAD: usize = 8;
/// Flow, source, and destination or port.
const ENTRY: usize = 12;

/// Millionths.
const WHOLE: f64 = 1e6;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at * 4..at * 4 + 4)?.try_into().ok()?))
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Hashed = Rule::Keeps("not a placed large flow, or not at its first leaf: by a hash of the header"),
        Placed = Rule::Follows("a large flow: the port that the controller assigned"),
        NoLonger = Rule::Chooses("no longer a large flow: back to its hashed port"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Sent = quantity("sent", "bytes", "sent by the flow in this controller interval"),
        Large = quantity("large", "bytes", "sent in an interval that make a flow large"),
    }

    /// Its series.
    enum Points: Series {
        Elephants = series("elephants", "large flows known to the controller, at each placement"),
        Placed = series("placed", "large flows with an assigned path, at each placement"),
    }
}

impl Policy for Hedera {
    const SHEET: Sheet = Sheet {
        name: "hedera",
        summary: "ECMP, plus a controller that assigns each large flow to the first path with enough spare capacity",
        source: "Al-Fares et al., NSDI 2010",
        unit: "flow",
        tiers: &["leaf"],
        told: &["leaf of every host", "paths between leaves and their capacity, from the controller"],
        series: Points::ALL,
        three_tiers: "leaves place flows on uplinks, and aggregation switches hash by flow: links at cores are never \
                      reserved, whereas the authors' controller chooses the core",
        compared: Some(Compared {
            aware: Aware::Shared,
            senses: &["bytes of flows at their leaf"],
            state: "per flow at its leaf; per large flow at the controller",
            needs: Needs::Nothing,
            order: "a flow moves once, when it is placed",
            pick: "O(n), to find its port in the group",
            update: "O(n · e²) for e large flows, per control loop",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks = Hooks::MESSAGE.and(Hooks::TIMER).and(Hooks::TICK);
    const HASHES: Hashes = Hashes::OwnWay;
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Flow, route: Slot, node: Node }

    fn new(config: &Config) -> Self {
        Hedera {
            interval: Span((config.interval_ms * 1e9 + 0.5) as u64),
            share: (config.elephant_share * WHOLE + 0.5) as u64,
            controller: config.controller,
            timeout: Span((config.report_timeout_us * 1e6 + 0.5) as u64),
            header: config.message_header_bytes,
        }
    }

    fn layout(&self, shape: &Shape) -> Layout {
        if shape.tier != Tier::Leaf {
            return Layout::default();
        }
        // The flows of this interval, and those of the last that are not known to have ended.
        let slots = 2 * (WHOLE as u64).div_ceil(self.share) as u16;
        let entries = shape.hosts as usize * usize::from(slots);
        // Each leaf may have a packet that is not full.
        let packets = entries / ENTRIES + shape.leaves as usize + 1;
        Layout {
            peers: Peers::Hosts,
            all_peers: true,
            slots,
            tick: self.interval,
            actions: packets + 4,
            bytes: entries * ENTRY + packets * LEAD,
            ..Layout::default()
        }
    }

    fn misfit(&self, shape: &Shape) -> Option<(&'static str, Allowed)> {
        let most = f64::from(shape.leaves) - 1.0;
        (self.controller >= shape.leaves).then_some(("controller", Allowed::Integer { min: 0.0, max: most }))
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Flow, packet: &Packet, sight: &mut Sight<'_>) {
        if !is_first(cx, packet) {
            sight.rule(Why::Hashed);
            return;
        }
        let own = cx.peers.stride * packet.src as usize;
        let slot = flow.slot.checked_sub(1).map(|slot| cx.peers.routes[own + usize::from(slot)].seen);
        sight.flow(
            OfFlow::Sent,
            slot.filter(|seen| seen.is_of(packet.flow)).map_or(flow.bytes, |seen| seen.bytes) as f64,
        );
        sight.flow(OfFlow::Large, self.least(&cx.view) as f64);
        sight.rule(match slot {
            Some(seen) if !seen.is_of(packet.flow) => Why::NoLonger,
            Some(seen) if seen.port > 0 => Why::Placed,
            Some(_) | None => Why::Hashed,
        });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, _: &mut ()) -> Way {
        let port = if is_first(cx, packet) { self.count(cx, flow, packet) } else { None };
        let way = port.and_then(|port| cx.view.way_of(port));
        Way(way.map_or_else(|| packet.spread(cx.view.salt, cx.view.candidates.len() as u32) as u16, |way| way as u16))
    }

    fn tick(&self, cx: &mut Cx<'_, Self>) {
        if cx.view.switch != self.controller || cx.node.is_open {
            return;
        }
        let leaves = leaves(&cx.view, cx.peers.len());
        cx.node.round += 1;
        (cx.node.awaited, cx.node.is_open) = (leaves - 1, true);
        let question = cx.node.round.to_le_bytes();
        for leaf in (0..leaves).filter(|&leaf| leaf != self.controller) {
            cx.out.send(To::Leaf(leaf), POLL, None, Way::ANY, &question, self.header + question.len() as u32);
        }
        let (round, least) = (cx.node.round, self.asked(cx));
        for host in 0..cx.peers.len() {
            let (_, slots) = cx.peers.at(host);
            for n in 0..slots.len() {
                if let Some((key, dst)) = Self::look(least, &mut slots[n].seen) {
                    note(slots, Elephant::heard(key, host as u32, dst, round));
                }
            }
        }
        if leaves == 1 { self.place(cx) } else { cx.out.arm(Key::Node(0), cx.now + self.timeout) }
    }

    fn message(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Flow>, message: &Message<'_>) {
        let Some(round) = word(message.body, 0) else { return };
        match message.class {
            POLL => self.answer(cx, round),
            REPORT if round == cx.node.round => self.hear(cx, message),
            PLACE => obey(cx, message.body),
            _ => {}
        }
    }

    fn timer(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Flow>, _: Key) {
        self.place(cx);
    }
}

/// Whether this is the first leaf of a data packet.
#[inline]
fn is_first(cx: &Cx<'_, Hedera>, packet: &Packet) -> bool {
    cx.view.is_first_leaf(packet) && packet.kind == Kind::Data
}

/// Number of leaves: the leaf of the last host is the last.
fn leaves(view: &SwitchView<'_>, hosts: usize) -> u32 {
    (0..hosts as u32).map(|host| view.leaf_of(host) + 1).max().unwrap_or(1)
}

impl Hedera {
    /// Bytes of an interval that make a flow large.
    fn least(&self, view: &SwitchView<'_>) -> u64 {
        let bits = u128::from(view.rate(Port(0))) * u128::from(self.interval.0) / 1_000_000_000_000;
        (bits / 8 * u128::from(self.share) / WHOLE as u128) as u64
    }

    /// Counts a packet of a flow of this rack. Returns the port that the flow was assigned, if any.
    #[inline]
    fn count(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet) -> Option<u16> {
        let wire = u64::from(packet.wire);
        let (_, slots) = cx.peers.at(packet.src as usize);
        if flow.slot > 0 {
            let seen = &mut slots[usize::from(flow.slot) - 1].seen;
            if seen.is_of(packet.flow) {
                seen.bytes += wire;
                return seen.port.checked_sub(1);
            }
            // It was no longer large.
            *flow = Flow::default();
        }
        if flow.round != cx.node.round {
            *flow = Flow { round: cx.node.round, ..Flow::default() };
        }
        flow.bytes += wire;
        if cx.node.least == 0 {
            cx.node.least = self.least(&cx.view);
        }
        if flow.bytes >= cx.node.least_by(cx.node.least, self.interval, cx.now)
            && let Some(free) = slots.iter().position(|slot| !slot.seen.taken)
        {
            slots[free].seen = Seen { taken: true, key: packet.flow, dst: packet.dst, bytes: flow.bytes, port: 0 };
            flow.slot = free as u16 + 1;
        }
        None
    }

    /// A poll has come. Returns the bytes since the previous one that make a flow large.
    fn asked(&self, cx: &mut Cx<'_, Self>) -> u64 {
        let least = cx.node.least_by(self.least(&cx.view), self.interval, cx.now);
        cx.node.asked_at = cx.now;
        least
    }

    /// The flow of a slot and its destination, if it was large in the interval that ends now; if not, frees the slot.
    fn look(least: u64, seen: &mut Seen) -> Option<(FlowKey, u32)> {
        if !seen.taken {
            return None;
        }
        if seen.bytes < least {
            *seen = Seen::default();
            return None;
        }
        seen.bytes = 0;
        Some((seen.key, seen.dst))
    }

    /// A leaf is polled.
    fn answer(&self, cx: &mut Cx<'_, Self>, round: u32) {
        cx.node.round = round;
        let least = self.asked(cx);
        let mut report = Cut::new(round);
        for host in 0..cx.peers.len() {
            let (_, slots) = cx.peers.at(host);
            for slot in slots {
                if let Some((key, dst)) = Self::look(least, &mut slot.seen) {
                    if report.is_full() {
                        self.send(&mut cx.out, self.controller, REPORT, &mut report);
                    }
                    report.put([key.0, host as u32, dst]);
                }
            }
        }
        report.body[4] = 1;
        self.send(&mut cx.out, self.controller, REPORT, &mut report);
    }

    /// Sends the rows gathered so far, and starts over.
    fn send(&self, out: &mut Out<'_>, leaf: u32, class: u8, cut: &mut Cut) {
        let body = &cut.body[..LEAD + core::mem::take(&mut cut.held) * ENTRY];
        out.send(To::Leaf(leaf), class, None, Way::ANY, body, self.header + body.len() as u32);
    }

    /// The controller receives a leaf's answer.
    fn hear(&self, cx: &mut Cx<'_, Self>, message: &Message<'_>) {
        let Some((lead, entries)) = message.body.split_at_checked(LEAD) else { return };
        for entry in entries.chunks_exact(ENTRY) {
            let [Some(key), Some(src), Some(dst)] = [0, 1, 2].map(|at| word(entry, at)) else { return };
            if src as usize >= cx.peers.len() || dst as usize >= cx.peers.len() {
                continue;
            }
            let round = cx.node.round;
            let (_, slots) = cx.peers.at(src as usize);
            note(slots, Elephant::heard(FlowKey(key), src, dst, round));
        }
        if lead[4] == 1 {
            cx.node.awaited = cx.node.awaited.saturating_sub(1);
            if cx.node.awaited == 0 {
                cx.out.cancel(Key::Node(0));
                self.place(cx);
            }
        }
    }

    /// Places the reported flows, and notifies the leaves.
    fn place(&self, cx: &mut Cx<'_, Self>) {
        cx.node.is_open = false;
        let stride = cx.peers.stride;
        let slots = &mut *cx.peers.routes;
        forget(slots, cx.node.round);
        estimate(slots, stride);
        let view = cx.view;
        let told = Told { view: &view, host_rate: view.rate(Port(0)) };
        let (elephants, placed) = first_fit(slots, &told);
        cx.out.record(Points::Elephants, f64::from(elephants));
        cx.out.record(Points::Placed, f64::from(placed));
        for leaf in 0..leaves(&cx.view, cx.peers.ids.len()) {
            self.tell(cx, leaf);
        }
    }

    /// Sends a leaf its changes; the controller's own leaf gets them without a packet.
    fn tell(&self, cx: &mut Cx<'_, Self>, leaf: u32) {
        let own = leaf == self.controller;
        let mut orders = Cut::new(cx.node.round);
        for at in 0..cx.peers.routes.len() {
            let plan = &mut cx.peers.routes[at].plan;
            if !plan.moved || cx.view.leaf_of(plan.src) != leaf {
                continue;
            }
            plan.moved = false;
            let (key, src, port) = (plan.key, plan.src, plan.port);
            if own {
                take(cx, key, src, port);
                continue;
            }
            if orders.is_full() {
                self.send(&mut cx.out, leaf, PLACE, &mut orders);
            }
            orders.put([key.0, src, u32::from(port)]);
        }
        if orders.held > 0 {
            self.send(&mut cx.out, leaf, PLACE, &mut orders);
        }
    }
}

/// The body of one packet of a table that may take several.
struct Cut {
    body: [u8; LEAD + ENTRIES * ENTRY],
    held: usize,
}

impl Cut {
    fn new(round: u32) -> Cut {
        let mut body = [0; LEAD + ENTRIES * ENTRY];
        body[..4].copy_from_slice(&round.to_le_bytes());
        Cut { body, held: 0 }
    }

    fn is_full(&self) -> bool {
        self.held == ENTRIES
    }

    fn put(&mut self, words: [u32; 3]) {
        let at = LEAD + self.held * ENTRY;
        for (place, word) in self.body[at..at + ENTRY].chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.held += 1;
    }
}

/// Applies the placements of elephants that a leaf has received.
fn obey(cx: &mut Cx<'_, Hedera>, body: &[u8]) {
    for entry in body.get(LEAD..).unwrap_or(&[]).chunks_exact(ENTRY) {
        let [Some(key), Some(src), Some(port)] = [0, 1, 2].map(|at| word(entry, at)) else { return };
        take(cx, FlowKey(key), src, port as u16);
    }
}

/// Makes a flow use this port from now on, if it is still large.
fn take(cx: &mut Cx<'_, Hedera>, key: FlowKey, src: u32, port: u16) {
    if (src as usize) < cx.peers.len() && port != NOWHERE {
        let (_, slots) = cx.peers.at(src as usize);
        if let Some(slot) = slots.iter_mut().find(|slot| slot.seen.taken && slot.seen.key == key) {
            slot.seen.port = port + 1;
        }
    }
}
