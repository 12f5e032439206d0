//! The parts of a run that a device's events touch besides the device itself.

use crate::bank::Bank;
use crate::choices::{Fate, Loss};
use crate::flows::Flows;
use crate::ids::{LinkId, NodeId};
use crate::link::Wires;
use crate::log::Log;
use crate::net::Net;
use crate::packet::Packet;
use spinewise_policy::{Kind, Time};

/// The place of a packet's event: a node, and perhaps a link at it.
pub(crate) type Place = (NodeId, Option<LinkId>);

/// All of a run but its hosts and switches, of which one at a time is at work.
///
/// The borrow lets the device at work touch everything; what it *may* touch is its own. Runs by several threads, and
/// windows in any order of devices, are right because of that:
///
/// | field | a device reads | and writes |
/// |---|---|---|
/// | `now`, `net` | all | nothing |
/// | `wires` | links from and to it | what it sends, and what it takes off |
/// | `edge`, `fabric` | its own seat | its own seat |
/// | `flows` | specs of its flows; its own end, and its own fields of their records | the same; gates and operations of its host |
/// | `log` | nothing | sums, and points of its own series |
/// | `free_queues` | all | nothing: the engine fills it on the grid |
///
/// One exception, in runs of one thread: where uet-htsim is followed, a receiver asks whether the sender is done
/// (`Habits::receivers_anew`).
pub struct World<'n> {
    /// The current instant.
    pub now: Time,
    /// Fixed facts.
    pub net: &'n Net,
    /// The links.
    pub wires: Wires,
    /// The scheme at the hosts, if any.
    pub edge: Option<Bank>,
    /// The scheme at the switches.
    pub fabric: Bank,
    /// The flows.
    pub flows: Flows,
    /// The account.
    pub log: Log,
    /// For schemes that ask an oracle: free held queues at the port of every host, by the last instant of the grid;
    /// empty if none asks. See [`spinewise_policy::SwitchView::free_queues`].
    pub free_queues: Vec<u16>,
}

/// The ends that a packet comes to. Each counts it without the fabric's header, and its flow has one less under way.
impl World<'_> {
    /// It is where it was sent.
    #[inline(always)]
    pub fn delivered(&mut self, packet: &Packet) {
        self.log.delivered.add(packet.wire - u16::from(packet.fabric_header));
        self.left(packet);
    }

    /// A scheme takes it.
    pub fn consumed(&mut self, packet: &Packet) {
        self.log.consumed.add(packet.wire - u16::from(packet.fabric_header));
        self.left(packet);
    }

    /// Records that it finds no room or no route at a node, or that the port does not release it.
    #[cold]
    pub fn dropped(&mut self, packet: &Packet, place: Place, fate: Fate) {
        self.log.dropped.add(packet.wire - u16::from(packet.fabric_header));
        let protected = self.net.shared.as_ref().is_some_and(|shared| shared.protects(packet.priority()));
        self.log.lossy_drops += u64::from(packet.kind == Kind::Data && fate == Fate::NoRoom && !protected);
        self.left(packet);
        self.note_loss(place, packet, fate);
    }

    /// It is lost on a link, or with a switch.
    #[cold]
    pub fn lost(&mut self, packet: &Packet, place: Place, fate: Fate) {
        self.log.lost.add(packet.wire - u16::from(packet.fabric_header));
        self.left(packet);
        self.note_loss(place, packet, fate);
    }

    #[inline(always)]
    fn left(&mut self, packet: &Packet) {
        if packet.of_flow() {
            self.flows.left(packet.subflow());
        }
    }

    /// Notes for the choice trace, if there is one, that a packet is lost at a node, or trimmed.
    #[cold]
    #[inline(never)]
    pub fn note_loss(&mut self, (node, link): Place, packet: &Packet, fate: Fate) {
        if let Some(recorder) = &mut self.log.recorder {
            recorder.note_loss(Loss { at: self.now, node, link, packet: *packet, fate });
        }
    }
}
