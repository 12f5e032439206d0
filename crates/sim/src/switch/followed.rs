//! Held queues outside the buffer, as in the followed program.
//!
//! Held packets are in no buffer. On release they are admitted one by one, as if they arrived at that time at their
//! original in-ports. A scheme's message to other switches goes before the packet that triggered it.

use super::Switch;
use crate::bank::Asked;
use crate::packet::InHand;
use crate::port::Found;
use crate::shell::Shell;
use crate::world::World;
use spinewise_policy::Queue;

impl Switch {
    /// Carries out the requests of a hook before the packet in hand continues. Nothing remains to be done afterwards.
    #[cold]
    pub(super) fn perform_first(&mut self, w: &mut World<'_>, asked: Option<Asked>) -> Option<Asked> {
        self.perform_later(w, asked);
        None
    }

    /// Parks a packet in a held queue of its output port, outside the buffer.
    #[cold]
    pub(super) fn hold_outside(
        &mut self,
        w: &mut World<'_>,
        (in_port, out): (u16, u16),
        queue: Queue,
        hand: &mut InHand,
    ) {
        let owner = hand.packet.of_flow().then(|| hand.packet.key());
        let Some(port) = self.ports[usize::from(out)].kept_mut() else { return };
        if port.take(queue, owner)
            && let Some(owner) = owner
        {
            w.fabric.pin(self.id.number(), owner);
        }
        port.hold(queue, hand, in_port, Found::default());
    }

    /// Releases a held queue: its packets are taken up one by one.
    #[cold]
    pub(super) fn take_up(&mut self, w: &mut World<'_>, out: u16, queue: Queue) {
        while let Some(port) = self.ports[usize::from(out)].kept_mut() {
            match port.unhold(queue) {
                Ok(mut hand) => {
                    self.queue(w, hand.packet.at.0 as u16, out, &mut hand);
                }
                Err(drained) => {
                    self.tell_drained(w, out, drained);
                    return;
                }
            }
        }
    }
}
