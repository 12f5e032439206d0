//! QDAPS as in its authors' programs: queues are counted in packets, and so is the remaining wait of the last packet.
//!
//! | rule | QDAPS-NS2, classifier/classifier-mpath.cc | here |
//! |---|---|---|
//! | a flow's first packet takes the shortest queue | `selectmin` | [`Qdaps::released`] |
//! | packets until the last one has left: those it found, and itself, less one per transmission time since | `nowlocate` | [`Sent::left`] |
//! | the shortest queue of no fewer; if none is shorter than its own, its own | `selectsuitable` | [`Qdaps::released`] |
//! | more than 41 packets there: the shortest queue of all, for any flow | `d[0] > 41` | [`Qdaps::released`] |
//! | what is no full data packet: in turn | `ns_` | [`Turn`], for acknowledgements |
//!
//! QDAPS-Mininet has delays for lengths, of 600 µs a packet, and looks at the 41 packets (24.6 ms) only where no queue is
//! long enough; as printed it then takes the shortest queue in either case.
//!
//! Departures:
//! - Both programs know the queues of one switch and share rows between flows or directions; here each switch with a choice
//!   has its own.
//! - A transmission takes 12 µs there, 1,500 bytes at 1 Gbps: here, the largest packet of the flow at the rate of the
//!   port that the last one took.
//! - Equal queues are drawn from. There it is the first of the shortest, and the last of those that keep order, so that
//!   all flows choose alike.
//! - A flow's last segment, if it is short, follows the rule of data; there it goes in turn.
//! - A flow whose port has left the group begins anew.

use super::{Choice, OfWay, Qdaps, Sent, Why};
use crate::sees::us;
use crate::{Cx, Kind, Packet, Port, Sight, Span, SwitchView, Time};

/// Row per switch: the way of the next acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn(u32);

impl Sent {
    /// Packets that leave the last one's queue until it has itself left, if each takes `once`.
    pub fn left(&self, now: Time, once: Span) -> u32 {
        let gone = now.since(self.at).0 / once.0.max(1);
        u64::from(self.found + 1).saturating_sub(gone) as u32
    }
}

/// The constraint on a data packet that is not its flow's first.
struct Order {
    /// The way of the previous packet.
    own: usize,
    /// Packets that must be waiting where this one goes.
    least: u32,
}

impl Order {
    /// The constraint of a flow; none if this is its first packet here, or its port is gone.
    fn of(view: &SwitchView<'_>, now: Time, last: &Sent) -> Option<Order> {
        let own = view.candidates.iter().position(|&port| last.seen && port == last.port)?;
        let once = Span::sending(u64::from(last.wire), view.rate(Port(last.port)));
        Some(Order { own, least: last.left(now, once) })
    }

    fn keeps(&self, way: usize, waiting: u32) -> bool {
        way == self.own || waiting >= self.least
    }
}

impl Qdaps {
    /// The way of a data packet or an acknowledgement.
    pub(super) fn released(&self, cx: &mut Cx<'_, Self>, last: &mut Sent, packet: &Packet) -> usize {
        let (view, candidates) = (cx.view, cx.view.candidates);
        if packet.kind == Kind::Ack {
            let ways = candidates.len() as u32;
            let turn = if cx.node.0 < ways { cx.node.0 } else { 0 };
            cx.node.0 = turn + 1;
            return turn as usize;
        }
        let order = Order::of(&view, cx.now, last);
        let (mut ordered, mut shortest) = (Choice::default(), Choice::default());
        for (way, &port) in candidates.iter().enumerate() {
            let waiting = view.queue_packets(Port(port));
            shortest.offer(way, waiting, waiting < shortest.key, |n| cx.rng.below(n));
            if order.as_ref().is_some_and(|order| order.keeps(way, waiting)) {
                ordered.offer(way, waiting, waiting < ordered.key, |n| cx.rng.below(n));
            }
        }
        let keeps = ordered.equal > 0 && ordered.key <= self.above;
        let Choice { way, key, .. } = if keeps { ordered } else { shortest };
        let (bytes, wire) = (last.bytes + u64::from(packet.payload), last.wire.max(packet.wire));
        *last = Sent { at: cx.now, found: key, wire, bytes, port: candidates[way], seen: true, ..Sent::default() };
        way
    }

    /// Reports what [`Qdaps::released`] is going to examine.
    pub(super) fn tell_released(&self, cx: &Cx<'_, Self>, last: &Sent, packet: &Packet, sight: &mut Sight<'_>) {
        let order = Order::of(&cx.view, cx.now, last);
        let mut ordered = None;
        for (way, &port) in cx.view.candidates.iter().enumerate() {
            let waiting = cx.view.queue_packets(Port(port));
            let keeps = order.as_ref().is_none_or(|order| order.keeps(way, waiting));
            if keeps && order.is_some() {
                ordered = Some(ordered.map_or(waiting, |least: u32| least.min(waiting)));
            }
            sight.way(way, OfWay::Leaves, us(cx.view.queueing_delay(Port(port))));
            sight.way(way, OfWay::KeepsOrder, f64::from(keeps));
            sight.way(way, OfWay::Waiting, f64::from(waiting));
        }
        sight.rule(match ordered {
            _ if packet.kind == Kind::Ack => Why::InTurn,
            None => Why::First,
            Some(waiting) if waiting > self.above => Why::Shortest,
            Some(_) => Why::Ordered,
        });
    }
}
