//! Which packets a receiver never gets. Whatever is on a link while it is down is lost, from the first bit that leaves
//! to the last that arrives; the receiver, who knows the schedule too, finds that when the packet is due.

use super::Interval;
use super::schedule::LinkFaults;
use crate::link::Wires;
use crate::net::Net;
use crate::packet::{Clock, Packet};
use spinewise_policy::{Rng, Time};
use std::sync::Arc;

/// A link into a node, as its schedule has it.
#[derive(Debug)]
struct Inlet {
    link: u32,
    rate: u64,
    delay: u64,
    faults: Arc<LinkFaults>,
    dice: Rng,
    lost: u64,
}

/// The links into a node of which some break.
#[derive(Debug)]
pub struct Frail {
    /// By port.
    inlets: Vec<Option<Inlet>>,
    clock: Clock,
}

impl Frail {
    /// Of a node; nothing if none of its links breaks.
    pub fn new(net: &Net, node: u32) -> Option<Box<Frail>> {
        let first = net.topology.first_link[node as usize];
        let inlet = |link: u32| {
            let spec = &net.topology.links[link as usize];
            net.faults.schedule.links.get(&link).filter(|faults| faults.loses()).map(|faults| Inlet {
                link,
                rate: spec.rate,
                delay: spec.delay.0,
                faults: faults.clone(),
                dice: Rng::stream(net.seed, "loss", u64::from(link)),
                lost: 0,
            })
        };
        let inlets: Vec<_> = (first..first + u32::from(net.topology.ports(node))).map(inlet).collect();
        inlets.iter().any(Option::is_some).then(|| Box::new(Frail { inlets, clock: net.clock }))
    }

    /// Is a packet lost that would arrive now by this port? One that has arrived when the link goes down is not, nor
    /// one that leaves when it comes up.
    pub fn loses(&mut self, port: u16, now: Time, packet: &Packet, wires: &mut Wires) -> bool {
        let Some(inlet) = &mut self.inlets[usize::from(port)] else { return false };
        let left = if inlet.faults.asks_when() {
            // Where rate and delay have changed meanwhile, only the sender knows.
            wires.started(inlet.link)
        } else {
            let sending = self.clock.tx_time(u64::from(packet.wire), inlet.rate);
            Time(now.0.saturating_sub(inlet.delay + sending))
        };
        let lost = meets(&inlet.faults.outages, left, now) || inlet.swallows(now, packet) || inlet.is_unlucky(now);
        inlet.lost += u64::from(lost);
        lost
    }

    /// Packets lost on the link into a port.
    pub fn lost(&self, port: u16) -> u64 {
        self.inlets[usize::from(port)].as_ref().map_or(0, |inlet| inlet.lost)
    }
}

impl Inlet {
    fn swallows(&self, now: Time, packet: &Packet) -> bool {
        let mut holes = self.faults.holes.iter().filter(|&&((from, until), _)| from <= now && now < until);
        holes.any(|(_, hole)| hole.swallows(packet.src, packet.dst))
    }

    fn is_unlucky(&mut self, now: Time) -> bool {
        let holds = self.faults.losses.iter().find(|&&((from, until), _)| from <= now && now < until);
        holds.is_some_and(|&(_, probability)| self.dice.unit() < probability)
    }
}

/// Does what is on the line from `left` until `arrived` meet any of these intervals?
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
