//! Packets that a receiver never gets. Anything that is on a link while it is down is lost, from the first bit that
//! leaves to the last that arrives; the receiver, which also knows the schedule, detects this when the packet is due.

use super::Faults;
use super::Interval;
use super::schedule::LinkFaults;
use crate::capture::{Tap, Taps};
use crate::ids::{LinkId, NodeId};
use crate::link::{Flying, Wires};
use crate::packet::{Clock, InHand, Packet};
use crate::topology::Topology;
use spinewise_policy::{Rng, Time};
use std::sync::Arc;

/// A link into a node, as in its schedule.
#[derive(Debug)]
struct Inlet {
    link: LinkId,
    rate: u64,
    delay: u64,
    faults: Arc<LinkFaults>,
    dice: Rng,
    lost: u64,
    /// Captures its packets.
    tap: Option<Box<Tap>>,
}

/// The links into a node some of which break or are captured.
#[derive(Debug)]
pub struct Frail {
    /// Indexed by port.
    inlets: Vec<Option<Inlet>>,
    clock: Clock,
}

impl Frail {
    /// Creates the inlets of a node; `None` if none of its links breaks or is captured.
    pub fn new(
        (topology, faults, taps): (&Topology, &Faults, &Taps),
        node: NodeId,
        clock: Clock,
        seed: u64,
    ) -> Option<Box<Frail>> {
        let inlet = |link: LinkId| {
            let spec = &topology.links[link];
            let (faults, tap) = (faults.schedule.links.get(&link), taps.tap(link));
            (tap.is_some() || faults.is_some_and(|faults| faults.loses())).then(|| Inlet {
                link,
                rate: spec.rate,
                delay: spec.delay.0,
                faults: faults.cloned().unwrap_or_default(),
                dice: Rng::stream(seed, "loss", u64::from(link.number())),
                lost: 0,
                tap,
            })
        };
        let inlets: Vec<_> = LinkId::each(topology.in_links(node)).map(inlet).collect();
        inlets.iter().any(Option::is_some).then(|| Box::new(Frail { inlets, clock }))
    }

    /// Whether a packet is lost that would arrive now by this port. A packet that has arrived when the link goes down
    /// is not lost, nor is one that leaves when the link comes up.
    pub fn loses(&mut self, port: u16, now: Time, hand: &InHand, wires: &mut Wires) -> bool {
        let Some(inlet) = &mut self.inlets[usize::from(port)] else { return false };
        let packet = &hand.packet;
        let left = if inlet.faults.asks_when() {
            // If rate and delay have changed meanwhile, only the sender knows.
            wires.started(inlet.link)
        } else {
            inlet.left(self.clock, packet, now)
        };
        let lost = meets(&inlet.faults.outages, left, now) || inlet.swallows(now, packet) || inlet.is_unlucky(now);
        inlet.lost += u64::from(lost);
        if let Some(tap) = &mut inlet.tap {
            tap.take(hand, left, Some(lost));
        }
        lost
    }

    /// The capture of the link into a port.
    pub fn tap(&self, port: u16) -> Option<&Tap> {
        self.inlets[usize::from(port)].as_ref()?.tap.as_deref()
    }

    /// Captures the packets on a link that had left when the run stopped.
    pub fn note_flying(&mut self, link: LinkId, flying: Vec<Flying>, stop: Time) {
        let clock = self.clock;
        let Some(inlet) = self.inlets.iter_mut().flatten().find(|inlet| inlet.link == link) else { return };
        for (hand, started) in flying {
            let left = started.unwrap_or_else(|| inlet.left(clock, &hand.packet, hand.packet.at));
            if let Some(tap) = inlet.tap.as_mut().filter(|_| left < stop) {
                tap.take(&hand, left, None);
            }
        }
    }

    /// Packets lost on the link into a port.
    pub fn lost(&self, port: u16) -> u64 {
        self.inlets[usize::from(port)].as_ref().map_or(0, |inlet| inlet.lost)
    }
}

impl Inlet {
    /// When a packet left that arrives at `at`, if the line has not changed meanwhile.
    fn left(&self, clock: Clock, packet: &Packet, at: Time) -> Time {
        Time(at.0.saturating_sub(self.delay + clock.tx_time(u64::from(packet.wire), self.rate)))
    }

    /// Whether a black hole takes it. What switches send, or are sent, passes.
    fn swallows(&self, now: Time, packet: &Packet) -> bool {
        let (Some(src), Some(dst)) = (packet.src.as_host(), packet.dst.as_host()) else { return false };
        let mut holes = self.faults.holes.iter().filter(|&&((from, until), _)| from <= now && now < until);
        holes.any(|(_, hole)| hole.swallows(src, dst))
    }

    fn is_unlucky(&mut self, now: Time) -> bool {
        let holds = self.faults.losses.iter().find(|&&((from, until), _)| from <= now && now < until);
        holds.is_some_and(|&(_, probability)| self.dice.unit() < probability)
    }
}

/// Whether a packet on the line from `left` until `arrived` meets any of these intervals.
fn meets(outages: &[Interval], left: Time, arrived: Time) -> bool {
    // The first that is not over when the first bit leaves.
    let next = outages.partition_point(|&(_, until)| until <= left);
    outages.get(next).is_some_and(|&(from, _)| from < arrived)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_arrived_or_leaves_later_is_not_lost() {
        let outages = [(Time(10), Time(20)), (Time(30), Time::NEVER)];
        for (left, arrived, lost) in [
            (0, 10, false),
            (0, 11, true),
            (12, 15, true),
            (19, 25, true),
            (20, 30, false),
            (20, 31, true),
            (99, 100, true),
        ] {
            assert_eq!(meets(&outages, Time(left), Time(arrived)), lost, "{left}..{arrived}");
        }
        assert!(meets(&outages[..1], Time(5), Time(40)), "longer than the outage");
        assert!(!meets(&[], Time(0), Time(40)));
    }
}
