//! ConWeave: reroutes a flow whose path answers late, at any moment, and puts its packets back in order at the last
//! leaf.
//!
//! Song, Khooi, Joshi, Choi, Li, Chan, "Network load balancing with in-network reordering support for RDMA", SIGCOMM
//! 2023; constants and details as in the authors' programs, conweave-ns3 (simulation) and conweave-p4 (Tofino 2).
//!
//! | our word | the paper's |
//! |---|---|
//! | leaf | ToR |
//! | `Mark::Init`, [`REPLY`] | RTT_REQUEST, RTT_REPLY |
//! | `rerouted` | phase 1 |
//! | `Route` row | path table entry: NOTIFY makes a path busy |
//! | held queue | reorder queue, paused and resumed |
//!
//! The source leaf's state machine is [`source`], the destination leaf's is [`reorder`], both with their rules and
//! where they stand. Here the two are joined: paths are drawn, RTT_REPLY and NOTIFY are sent, control packets are read.
//!
//! **No good path.** In both programs, a flow whose deadline has passed sends its TAIL and changes phase even if every
//! path drawn is busy, and so stays on its path. This is the default. CLEAR then opens an epoch, and so a new
//! measurement; with `no_good_path = "wait"` each of its packets draws again until one finds a path.
//!
//! **No reorder queue.** conweave-p4 sends the epoch's early packets to the default queue; SELB §II-A says that
//! ConWeave then "applies ECMP to the remaining connections": such a flow has no chance to be rerouted. A control
//! packet notifies the source leaf, which keeps the flow on its path for `keep_path_us`, by default until the flow has
//! been idle for θ_inactive: a connection on ECMP keeps its path for its lifetime, and after an idle period a change of
//! path needs no queue.
//!
//! **Bytes.** conweave-p4 adds two 16-bit times to a data packet and puts everything else in reserved bits of the
//! InfiniBand base transport header: `header_bytes = 4`. conweave-ns3 charges nothing (`[scheme] header_bytes =
//! "free"`).
//!
//! **Paths.** conweave-ns3 draws from all whole paths to the destination leaf, and the id of a path lists the port of
//! every hop; control packets go by ECMP, by flow. The same is done here ([`paths`]): if a switch behind the source
//! leaf also has a choice, as in a fat-tree, a path is the whole route, and that switch follows the header. Elsewhere a
//! path is an uplink of the source leaf, which determines the rest. `path = "uplink"`: everywhere, and further switches
//! hash, by flow.
//!
//! Departures:
//! - One deadline for all destinations; conweave-ns3 has a base RTT for each leaf, which is shorter within a pod.
//! - A drawn path may be the current one, as in the programs; only a change counts as a reroute.
//! - If only one path leads to a leaf, packets carry no header and request nothing.
//! - NOTIFY and RTT_REPLY also answer packets of an older epoch; conweave-ns3 passes those on unread
//!   (`old_epochs = "unread"`).
//! - Paths are drawn where they are needed; conweave-ns3 takes three numbers for every packet.

use crate::fabric::reorder::header::{Body, CLEAR, Header, Mark, NO_QUEUE, OWN_CLASSES};
use crate::fabric::reorder::{self, InUse, NewEpoch, Place, Release};
use crate::{
    AtSwitch, Aware, Compared, Cx, Hooks, Key, Kind, Layout, Listed, Message, Needs, Packet, Peers, Policy, Port,
    Quantity, Queue, Sees, Series, Shape, Sheet, Sight, Span, Tier, Time, Verdict, Way,
    sees::{quantity, series, us},
};
use paths::{PathIs, Paths};
use source::{NoGoodPath, Source};

pub mod paths;
pub mod source;

/// Message class: RTT_REPLY.
pub const REPLY: u8 = OWN_CLASSES;
/// Message class: a packet that took the path of the body was marked.
pub const NOTIFY: u8 = OWN_CLASSES + 1;

crate::choice! {
    /// The last leaf's treatment of a packet of an older epoch.
    OldEpochs {
        /// It is answered, and reported if it is marked.
        Answered = "answered",
        /// It passes unread.
        Unread = "unread",
    }
}

crate::params! {
    /// ConWeave's parameters; times as in conweave-ns3's two-tier runs.
    Config {
        /// Deadline θ_reply of an answer, microseconds: base RTT and a margin (conweave-ns3: 4 + 4; SELB §IV: 8).
        theta_reply_us: f64 = 8.0, Allowed::Number { min: 0.0, max: 1e5 },
            crate::in_proportion!(8.0);
        /// A path that NOTIFY names is not drawn for this long, θ_path_busy, microseconds (conweave-ns3: 16; SELB §IV:
        /// 8).
        theta_path_busy_us: f64 = 16.0, Allowed::Number { min: 0.0, max: 1e6 },
            crate::in_proportion!(16.0);
        /// A flow silent for longer opens an epoch on a new path, θ_inactive, microseconds (conweave-ns3, SELB §IV:
        /// 300).
        theta_inactive_us: f64 = 300.0, Allowed::Number { min: 0.0, max: 1e5 },
            crate::in_proportion!(300.0);
        /// What a path is: "whole", the port of every hop (conweave-ns3), or "uplink", that of the source leaf, the rest
        /// by a hash. The same where only the leaf has a choice.
        path: PathIs = PathIs::Whole, Allowed::Words(PathIs::WORDS);
        /// Paths drawn, with replacement, to find one that is not busy (conweave-ns3: 2).
        sampled_paths: u32 = 2, Allowed::Integer { min: 1.0, max: 64.0 };
        /// When none of them is good: "tail" changes phase on the old path (both programs), "wait" lets the next packet
        /// draw.
        no_good_path: NoGoodPath = NoGoodPath::Tail, Allowed::Words(NoGoodPath::WORDS);
        /// Reorder queues per port (SELB §II-B: 8); 0: no limit (conweave-ns3), which is 1024.
        reorder_queues: u32 = 8, Allowed::Integer { min: 0.0, max: 1024.0 };
        /// A held queue is released this long after its TAIL was expected, microseconds (conweave-ns3: 16).
        extra_flush_us: f64 = 16.0, Allowed::Number { min: 0.0, max: 1e5 },
            crate::in_proportion!(16.0);
        /// Expected wait for a TAIL of whose path nothing came yet, microseconds (conweave-ns3: 200).
        default_wait_us: f64 = 200.0, Allowed::Number { min: 0.0, max: 1e5 },
            crate::in_proportion!(200.0);
        /// A flow that found no free reorder queue keeps its path this long, or until idle, microseconds (SELB §II: for
        /// its lifetime); 0: it is not notified.
        keep_path_us: f64 = 1e9, Allowed::Number { min: 0.0, max: 1e9 };
        /// An oracle instead of that message: a flow stays on its path while no reorder queue of its destination's port was
        /// free at the last instant of the run's grid (`run.grid_ns`). It reserves nothing, so two flows may
        /// count on the same queue.
        oracle_fallback: bool = false, Allowed::Bool;
        /// Least time between two NOTIFY about one path to one leaf, microseconds (conweave-ns3: 0, one per marked
        /// packet).
        notify_gap_us: f64 = 0.0, Allowed::Number { min: 0.0, max: 1e6 };
        /// Packets of an older epoch are answered and reported if marked, or pass unread (conweave-ns3).
        old_epochs: OldEpochs = OldEpochs::Answered, Allowed::Words(OldEpochs::WORDS);
        /// A newer epoch that finds packets of the last one held joins them and releases them, or overtakes them
        /// (conweave-ns3).
        new_epoch: NewEpoch = NewEpoch::Joins, Allowed::Words(NewEpoch::WORDS);
        /// When a TAIL releases the packets that overtook it: at once, or by a timer 1 ns later (conweave-ns3).
        release: Release = Release::AtTail, Allowed::Words(Release::WORDS);
        /// Bytes of a control packet (conweave-ns3: 64).
        control_bytes: u32 = 64, Allowed::Integer { min: 60.0, max: 1500.0 };
        /// Bytes charged to every data packet that crosses the fabric (conweave-p4: 4).
        header_bytes: u32 = 4, Allowed::Integer { min: 0.0, max: 64.0 };
    }
}

/// A flow's row: at its source leaf or at its destination leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// Never seen.
    #[default]
    New,
    /// The row of a source leaf.
    Source(Source),
    /// The row of a destination leaf.
    Destination(reorder::Row),
}

/// Row per (leaf, path).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// At the source: not to be drawn before this time.
    pub busy_until: Time,
    /// At the destination: the earliest time of the next NOTIFY about it.
    pub notify_from: Time,
}

/// Timely rerouting with reordering in the network.
#[derive(Clone, Copy, Debug)]
pub struct ConWeave {
    source: source::Rules,
    reorder: reorder::Rules,
    path: PathIs,
    path_busy: Span,
    notify_gap: Span,
    oracle: bool,
    sampled_paths: u32,
    queues: u16,
    header_bytes: u8,
    old_epochs: OldEpochs,
}

crate::listed! {
    /// Its series.
    enum Points: Series after reorder::Points {
        Tails = series("tails", "1 for every TAIL sent"),
        Reroutes = series("reroutes", "path that a flow moved to behind its TAIL"),
        IdleMoves = series("idle_moves", "path that a flow moved to after being idle"),
        Kept = series("kept", "path that a flow must keep because it found no free reorder queue"),
        Notified = series("notified", "path that a NOTIFY marked as busy"),
    }
}

/// A row serves only the next packet of its flow; conweave-ns3 forgets one after 2 ms.
const REMEMBER: Span = Span::from_ms(2);

crate::listed! {
    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Silence = quantity("silence", "µs", "time since the flow's last packet here; none if there was none"),
        Late = quantity(
            "late",
            "µs",
            "how long the answer to its epoch's first packet is overdue; below zero: not yet due",
        ),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Busy = quantity("busy", "µs", "how much longer it is not drawn, because a NOTIFY named it"),
    }
}

impl Policy for ConWeave {
    const SHEET: Sheet = Sheet {
        name: "conweave",
        summary: "a flow whose path answers late moves to another at once; its last leaf restores order",
        source: "Song et al., SIGCOMM 2023",
        unit: "packet",
        tiers: &["leaf"],
        told: &["leaf of every host", "base RTT (in theta_reply_us)", "paths to every leaf, hop by hop"],
        series: Points::ALL,
        three_tiers: "leaves choose whole paths, and aggregation switches follow them; with path = \"uplink\" they \
                      hash by flow",
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["answers of the last leaf in time", "ECN marks"],
            state: "per flow and per (leaf, path), at leaves",
            needs: Needs::Leaves,
            order: "reorder queues at the last leaf",
            pick: "O(n), to find its port in the group",
            update: "O(1) per answer",
        }),
        sees: Sees { rules: source::Why::ALL, flow: OfFlow::ALL, way: OfWay::ALL, ..Sees::NOTHING },
        ..Sheet::AT_SWITCH
    };
    const HOOKS: Hooks = Hooks::INGRESS.and(Hooks::MESSAGE).and(Hooks::TIMER).and(Hooks::DRAINED);
    type Site = AtSwitch;
    type Config = Config;
    crate::rows! { flow: Flow, route: Path, port: InUse, header: Header }

    fn new(config: &Config) -> Self {
        ConWeave {
            source: source::Rules {
                reply: Span::from_us_f64(config.theta_reply_us),
                inactive: Span::from_us_f64(config.theta_inactive_us),
                keep: Span::from_us_f64(config.keep_path_us),
                no_good_path: config.no_good_path,
            },
            reorder: reorder::Rules {
                extra_flush: Span::from_us_f64(config.extra_flush_us),
                default_wait: Span::from_us_f64(config.default_wait_us),
                control_bytes: config.control_bytes,
                tell_no_queue: config.keep_path_us > 0.0 && !config.oracle_fallback,
                new_epoch: config.new_epoch,
                release: config.release,
            },
            path: config.path,
            path_busy: Span::from_us_f64(config.theta_path_busy_us),
            notify_gap: Span::from_us_f64(config.notify_gap_us),
            oracle: config.oracle_fallback,
            sampled_paths: config.sampled_paths,
            queues: reorder::queues(config.reorder_queues),
            header_bytes: config.header_bytes as u8,
            old_epochs: config.old_epochs,
        }
    }

    fn header_bytes(&self) -> u32 {
        u32::from(self.header_bytes)
    }

    fn layout(&self, shape: &Shape) -> Layout {
        if shape.tier != Tier::Leaf {
            return Layout::default();
        }
        Layout {
            peers: Peers::Leaves,
            // A path may have the number of any uplink, even where few lead to one leaf.
            slots: shape.ways.max(shape.ports),
            // Longer than any silence that does not open an epoch.
            flow_idle: Span(REMEMBER.0.max(self.source.inactive.0 * 2)),
            actions: reorder::ACTIONS + 4,
            bytes: reorder::BYTES + 2 * reorder::header::BODY,
            queues: self.queues,
            free_queues: self.oracle,
            ..Layout::default()
        }
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Flow, packet: &Packet, sight: &mut Sight<'_>) {
        if !cx.view.is_first_leaf(packet) || packet.kind != Kind::Data {
            sight.rule(source::Why::Behind);
            return;
        }
        let paths = Paths::of(cx.view, packet, self.path);
        let rows = cx.peers.here().1;
        for way in 0..cx.view.candidates.len() {
            let of_way = (0..).zip(rows).filter(|&(path, _)| paths.candidate(Way(path)) == Some(way));
            // The whole paths behind an uplink: the one that is free first.
            if let Some(until) = of_way.map(|(_, path)| path.busy_until).min() {
                sight.way(way, OfWay::Busy, us(until.since(cx.now)));
            }
        }
        match flow {
            Flow::Source(source) if paths.candidate(source.way).is_some() => {
                sight.flow(OfFlow::Silence, us(cx.now.since(source.last)));
                if source.deadline != Time::NEVER {
                    sight.flow(OfFlow::Late, us(cx.now.since(source.deadline)) - us(source.deadline.since(cx.now)));
                }
                sight.rule(source.rule(&self.source, cx.now, self.may_leave(cx, packet)));
            }
            _ => sight.rule(source::Why::Starts),
        }
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Header) -> Way {
        // conweave-ns3: acknowledgements by ECMP.
        if !cx.view.is_first_leaf(packet) || packet.kind != Kind::Data {
            return paths::beyond(cx.view, packet, header, self.path);
        }
        let paths = Paths::of(cx.view, packet, self.path);
        if paths.number == 1 {
            return paths::hashed(cx.view, packet);
        }
        let mut source = match *flow {
            Flow::Source(source) if paths.candidate(source.way).is_some() => source,
            _ => Source { last: cx.now, ..Source::new(paths.draw(cx, self.sampled_paths)) },
        };
        let (old, now) = (source.rerouted, cx.now);
        let may_leave = self.may_leave(cx, packet);
        let sent = source.next(&self.source, now, may_leave, || paths.draw(cx, self.sampled_paths));
        if let Some(way) = sent.moved {
            let series = if sent.header.mark == Mark::Tail { Points::Reroutes } else { Points::IdleMoves };
            cx.out.record(series, f64::from(way.0));
        }
        if source.rerouted && !old {
            cx.out.record(Points::Tails, 1.0);
        }
        *flow = Flow::Source(source);
        *header = Header { charged: self.header_bytes, ..sent.header };
        paths.candidate(header.way).map_or_else(|| paths::hashed(cx.view, packet), |candidate| Way(candidate as u16))
    }

    fn ingress(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Header) -> Verdict {
        if packet.kind != Kind::Data || !header.stamped {
            return Verdict::Forward;
        }
        let leaf = cx.peers.ids[cx.peers.current];
        let mut row = if let Flow::Destination(row) = *flow { row } else { reorder::Row::default() };
        if self.old_epochs == OldEpochs::Unread && row.is_beyond(header) {
            return Verdict::Forward;
        }
        if packet.ce {
            self.notify(cx, leaf, packet, header);
        }
        if header.mark == Mark::Init {
            Body::about(header).send(&mut cx.out, leaf, REPLY, packet.flow, self.reorder.control_bytes);
        }
        let mut at = Place { now: cx.now, view: cx.view, out: &mut cx.out };
        let in_use = &mut cx.ports[packet.out_port.index()];
        let verdict = self.reorder.arrives(&mut at, in_use, &mut row, leaf, packet, header);
        *flow = Flow::Destination(row);
        verdict
    }

    fn message(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, message: &Message<'_>) {
        let Some(Body { epoch, way }) = Body::get(message.body) else { return };
        if message.class == NOTIFY {
            let (_, paths) = cx.peers.current();
            if let Some(path) = paths.get_mut(way.index()) {
                path.busy_until = cx.now + self.path_busy;
                cx.out.record(Points::Notified, f64::from(way.0));
            }
            return;
        }
        let Some(Flow::Source(source)) = flow else { return };
        match message.class {
            REPLY => source.replied(cx.now, epoch),
            CLEAR => source.cleared(epoch),
            NO_QUEUE if source.unqueued(&self.source, cx.now, epoch) => {
                cx.out.record(Points::Kept, f64::from(source.way.0));
            }
            _ => {}
        }
    }

    fn timer(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, key: Key) {
        if let (Some(Flow::Destination(row)), Key::Flow(_, reorder::TIMER)) = (flow, key) {
            self.reorder.expires(&mut Place { now: cx.now, view: cx.view, out: &mut cx.out }, row);
        }
    }

    fn drained(&self, cx: &mut Cx<'_, Self>, _: Option<&mut Flow>, port: Port, _: Queue) {
        let mut at = Place { now: cx.now, view: cx.view, out: &mut cx.out };
        self.reorder.drained(&mut at, &mut cx.ports[port.index()]);
    }
}

impl ConWeave {
    /// Whether a flow may leave its path, according to an oracle.
    fn may_leave(&self, cx: &Cx<'_, Self>, packet: &Packet) -> bool {
        !self.oracle || cx.view.free_queues.get(packet.dst as usize).is_some_and(|&free| free > 0)
    }

    /// The packet was marked on its way: its path should rest.
    fn notify(&self, cx: &mut Cx<'_, Self>, leaf: u32, packet: &Packet, header: &Header) {
        let now = cx.now;
        let (_, paths) = cx.peers.current();
        if let Some(path) = paths.get_mut(header.way.index()) {
            if now < path.notify_from {
                return;
            }
            path.notify_from = now + self.notify_gap;
        }
        Body::about(header).send(&mut cx.out, leaf, NOTIFY, packet.flow, self.reorder.control_bytes);
    }
}
