//! What a device touches besides itself when something happens to it.

use crate::bank::Bank;
use crate::choices::{Fate, Loss};
use crate::flows::Flows;
use crate::ids::{LinkId, NodeId};
use crate::link::Wires;
use crate::log::Log;
use crate::net::Net;
use crate::packet::Packet;
use spinewise_policy::Time;

/// All of a run but its hosts and switches, of which one at a time is at work.
pub struct World<'n> {
    /// The instant of what happens now.
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
    /// For schemes that ask an oracle: free held queues at the port of every host, by the last instant of the grid; empty
    /// if none asks. See [`spinewise_policy::SwitchView::free_queues`].
    pub free_queues: Vec<u16>,
}

impl World<'_> {
    /// Notes for the choice trace, if there is one, that a packet is lost at a node, or trimmed.
    #[cold]
    #[inline(never)]
    pub fn note_loss(&mut self, (node, link): (NodeId, Option<LinkId>), packet: &Packet, fate: Fate) {
        if let Some(recorder) = &mut self.log.recorder {
            recorder.note_loss(Loss { at: self.now, node, link, packet: *packet, fate });
        }
    }
}
