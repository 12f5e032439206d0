//! SELB's source half: where a flow starts, and when and where to it is rerouted.

use super::uplinks::{Moment, one_of, shortest};
use super::{FirstPath, Flow, Header, Mark, Monitor, Points, Selb, Stamp};
use crate::sees::{quantity, us_since};
use crate::{Cx, Kind, Listed, Packet, Port, Quantity, Rule, Sees, Sight, Time, Way};

/// The state of a flow's current epoch at its source leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// It is on its first path.
    #[default]
    Settled,
    /// TAIL has been sent, the flow has moved.
    Rerouted,
    /// TAIL is known to have arrived: the next packet opens an epoch.
    Cleared,
}

/// A flow's row at its source leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// When its last packet passed.
    pub last: Time,
    /// When its TAIL was sent.
    pub tail: Stamp,
    /// Until this time it keeps its path, because a reroute of it found no reorder queue.
    pub kept_until: Time,
    /// Its path: a port of this leaf.
    pub port: u16,
    /// Its epoch.
    pub epoch: u8,
    /// The state of that epoch.
    pub progress: Progress,
}

/// The way that the packet's hash names.
pub(super) fn hashed(cx: &Cx<'_, Selb>, packet: &Packet) -> usize {
    packet.spread(cx.view.salt, cx.view.candidates.len() as u32) as usize
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Stays = Rule::Keeps("its uplink's queue does not grow faster than θ: it stays"),
        Drawn = Rule::Chooses("a flow that starts or was idle: an uplink drawn among those not congested"),
        Hashed = Rule::Chooses("a flow that starts or was idle: by a hash of the header"),
        Leaves = Rule::Chooses(
            "its uplink's queue grows faster than θ: TAIL goes on it, later packets on one of its class, otherwise the \
             shortest",
        ),
        Behind = Rule::Follows("behind its TAIL: the uplink that it was rerouted to"),
        Rerouting = Rule::Keeps("it is already being rerouted: it stays until CLEAR arrives"),
        Kept = Rule::Keeps("an earlier reroute found no free reorder queue: it stays"),
        Elsewhere = Rule::Keeps("not a data packet at its source leaf: by a hash of the header"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Silence = quantity("silence", "µs", "time since the flow's last packet here; none if there was none"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Measured = quantity("measured", "bytes", "own queue at that uplink when it was last measured"),
        Now = quantity("now", "bytes", "the same queue now, as the backup reads it"),
        Class = quantity("class", "", "cluster of queue lengths, starting from the shortest"),
        Congested = quantity("congested", "", "1: it grew faster than θ"),
    }
}

/// The reported quantities of choices.
pub(super) const SEES: Sees = Sees { rules: Why::ALL, flow: OfFlow::ALL, way: OfWay::ALL, ..Sees::NOTHING };

impl Selb {
    /// Reports what [`Selb::source`] is going to examine.
    pub(super) fn tell(&self, cx: &Cx<'_, Self>, flow: &Flow, packet: &Packet, sight: &mut Sight<'_>) {
        if !cx.view.is_first_leaf(packet) || packet.kind != Kind::Data {
            sight.rule(Why::Elsewhere);
            return;
        }
        let known = if let Flow::Source(source) = flow { Some(*source) } else { None };
        for (way, &port) in cx.view.candidates.iter().enumerate() {
            let uplink = &cx.ports[usize::from(port)];
            sight.way(way, OfWay::Measured, uplink.length as f64);
            sight.way(way, OfWay::Now, cx.view.queue_bytes(Port(port)) as f64);
            sight.way(way, OfWay::Class, f64::from(uplink.cluster));
            sight.way(way, OfWay::Congested, f64::from(self.is_congested(cx, port)));
        }
        sight.flow(OfFlow::Silence, us_since(known.map(|source| source.last), cx.now));
        let Some((source, _)) = self.active(cx, known) else {
            sight.rule(if self.first_path == FirstPath::Ecmp { Why::Hashed } else { Why::Drawn });
            return;
        };
        // The last packet was its TAIL, by the clock of the header.
        let behind = source.progress != Progress::Settled && source.tail == Stamp::of(source.last);
        sight.rule(match () {
            () if source.progress == Progress::Rerouted && !behind => Why::Rerouting,
            () if source.progress != Progress::Rerouted
                && cx.now >= source.kept_until
                && self.is_congested(cx, source.port) =>
            {
                Why::Leaves
            }
            () if behind => Why::Behind,
            () if cx.now < source.kept_until => Why::Kept,
            () => Why::Stays,
        });
    }

    /// Whether this uplink is congested at this moment.
    fn is_congested(&self, cx: &Cx<'_, Self>, port: u16) -> bool {
        let uplink = &cx.ports[usize::from(port)];
        self.moment(cx).congested(self.monitor, &self.threshold, uplink, Port(port))
    }

    /// Returns the inputs by which uplinks are judged at this moment.
    pub(super) fn moment<'a>(&self, cx: &Cx<'a, Self>) -> Moment<'a> {
        Moment { now: cx.now, measured: cx.node.at, view: cx.view }
    }

    /// A packet is about to join the queue of the uplink `way`, as it finds it.
    #[inline]
    pub(super) fn joins(&self, cx: &mut Cx<'_, Self>, way: usize) {
        if self.monitor == Monitor::Packet {
            let port = cx.view.candidates[way];
            cx.ports[usize::from(port)].found = (cx.view.queue_bytes(Port(port)), Some(cx.now));
        }
    }

    /// The row of a flow that was not silent for long, and the way of its port, if the port is still a candidate.
    fn active(&self, cx: &Cx<'_, Self>, known: Option<Source>) -> Option<(Source, usize)> {
        let source = known.filter(|source| cx.now.since(source.last) <= self.inactive)?;
        let way = cx.view.way_of(source.port)?;
        Some((source, way))
    }

    /// A data packet at its source leaf: its way, and its header.
    pub(super) fn source(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Header) -> usize {
        let (now, candidates) = (cx.now, cx.view.candidates);
        let known = if let Flow::Source(source) = flow { Some(*source) } else { None };
        let mut source = known.unwrap_or_default();
        let kept = self.active(cx, known).map(|(_, way)| way);
        *header = Header { stamped: true, charged: self.header_bytes, tx: Stamp::of(now), ..Header::default() };
        let way = match kept {
            None => {
                let way = self.first(cx, packet);
                source = Source { port: candidates[way], epoch: source.epoch.wrapping_add(1), ..Source::default() };
                header.mark = Mark::Init;
                way
            }
            Some(way) => {
                if source.progress == Progress::Cleared {
                    (source.progress, source.epoch) = (Progress::Settled, source.epoch.wrapping_add(1));
                    header.mark = Mark::Init;
                }
                // SELB §"Packet Reordering": a flow is rerouted "at most once at the same time".
                if source.progress == Progress::Settled
                    && now >= source.kept_until
                    && let Some(new) = self.reroute(cx, way)
                {
                    (header.mark, source.port) = (Mark::Tail, candidates[new]);
                }
                way
            }
        };
        header.rerouted = source.progress == Progress::Rerouted;
        if header.mark == Mark::Tail {
            (source.tail, source.progress) = (header.tx, Progress::Rerouted);
        }
        if source.progress == Progress::Rerouted {
            header.tail = source.tail;
        }
        (header.way, header.epoch, source.last) = (Way(way as u16), source.epoch, now);
        *flow = Flow::Source(source);
        way
    }

    /// The way of a flow that starts.
    fn first(&self, cx: &mut Cx<'_, Self>, packet: &Packet) -> usize {
        if self.first_path == FirstPath::Ecmp {
            return hashed(cx, packet);
        }
        let (view, ports, n) = (cx.view, &*cx.ports, cx.view.candidates.len());
        let port = |way: usize| view.candidates[way];
        let moment = self.moment(cx);
        let congested = |port: u16| {
            let uplink = &ports[usize::from(port)];
            moment.congested(self.monitor, &self.threshold, uplink, Port(port))
        };
        one_of(n, cx.rng, |way| !congested(port(way)))
            .unwrap_or_else(|| shortest(n, cx.rng, |way| view.queue_bytes(Port(port(way))), None))
    }

    /// The way to which a flow on `old` is rerouted, if it is.
    // SELB §"Rerouting Strategy"
    fn reroute(&self, cx: &mut Cx<'_, Self>, old: usize) -> Option<usize> {
        let (view, ports, n) = (cx.view, &*cx.ports, cx.view.candidates.len());
        let uplink = |way: usize| &ports[usize::from(view.candidates[way])];
        let moment = self.moment(cx);
        let congested =
            |way: usize| moment.congested(self.monitor, &self.threshold, uplink(way), Port(view.candidates[way]));
        if !congested(old) {
            return None;
        }
        // The current path is congested, hence none of these.
        let class = uplink(old).cluster;
        let same = |way: usize| uplink(way).cluster == class && !congested(way);
        let new = one_of(n, cx.rng, same).or_else(|| {
            // SELB §"Rerouting Strategy": "directly rerouted to the path with the shortest queue length"
            let length = |way: usize| view.queue_bytes(Port(view.candidates[way]));
            let shortest = shortest(n, cx.rng, length, Some(old));
            (shortest != old).then(|| {
                cx.out.record(Points::Backup, shortest as f64);
                shortest
            })
        });
        if let Some(new) = new {
            cx.out.record(Points::Reroutes, new as f64);
        }
        new
    }
}
