//! Held queues: they park packets and take no part in the port's sending until they are released.

use super::store::Store;
use crate::packet::{InHand, Packet};
use spinewise_policy::{FlowKey, Queue};

/// A held queue that is free again, and the flow it was pinned for.
pub(crate) type Drained = (Queue, Option<FlowKey>);

/// The effect of a release.
#[derive(Clone, Copy, Debug)]
pub enum Released {
    /// The queue is not taken, or was released before.
    Nothing,
    /// It was empty: it is free again.
    Drained(Drained),
    /// Its packets joined their data queue.
    Joined {
        /// Bytes already in the data queue.
        before: u64,
        /// Bytes that joined.
        joined: u64,
        /// Packets that joined.
        packets: u32,
    },
}

/// The state of a held queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    /// Taken since the first verdict that named it, with the flow it is pinned for.
    Taken(Option<FlowKey>),
    /// Its packets have joined a data queue, from which it has not drained.
    Released(Option<FlowKey>),
}

/// A held queue.
#[derive(Debug, Default)]
struct One {
    store: Store,
    state: State,
}

impl One {
    fn free(&mut self) -> Option<FlowKey> {
        match std::mem::take(&mut self.state) {
            State::Free => None,
            State::Taken(owner) | State::Released(owner) => owner,
        }
    }
}

/// The held queues of a port.
#[derive(Debug)]
pub(super) struct Held {
    queues: Vec<One>,
    /// Bytes and packets in all of them.
    in_all: (u64, u32),
}

impl Held {
    /// This many queues.
    pub(super) fn new(queues: u16) -> Held {
        Held { queues: (0..queues).map(|_| One::default()).collect(), in_all: (0, 0) }
    }

    /// Bytes and packets in all of them.
    pub(super) fn in_all(&self) -> (u64, u32) {
        self.in_all
    }

    /// Whether there are no held queues.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Bytes in queue `q`.
    pub(super) fn bytes(&self, q: Queue) -> u64 {
        self.queues[usize::from(q.0)].store.bytes
    }

    /// Bytes in each.
    pub(super) fn queues(&self) -> impl Iterator<Item = u64> {
        self.queues.iter().map(|one| one.store.bytes)
    }

    /// All packets in them.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.queues.iter().flat_map(|one| one.store.packets.iter())
    }

    /// A free queue.
    pub(super) fn free_queue(&self) -> Option<Queue> {
        self.queues.iter().position(|one| one.state == State::Free).map(|free| Queue(free as u16))
    }

    /// Number of free queues.
    pub(super) fn free_queues(&self) -> u16 {
        self.queues.iter().filter(|one| one.state == State::Free).count() as u16
    }

    /// Number of taken queues.
    pub(super) fn taken(&self) -> usize {
        self.queues.iter().filter(|one| one.state != State::Free).count()
    }

    /// Takes queue `q` for `owner` if it is free: it stays taken until it has been released and drained, even if the
    /// packet in hand is dropped. Returns whether it was free.
    pub(super) fn take(&mut self, q: Queue, owner: Option<FlowKey>) -> bool {
        let one = self.queues.get_mut(usize::from(q.0)).expect("held queues are declared in the layout");
        let free = one.state == State::Free;
        if free {
            one.state = State::Taken(owner);
        }
        free
    }

    /// Parks a packet that came by `in_port` in queue `q`, which is taken.
    pub(super) fn hold(&mut self, q: Queue, hand: &mut InHand, in_port: u16) {
        self.in_all.0 += u64::from(hand.packet.wire);
        self.in_all.1 += 1;
        self.queues[usize::from(q.0)].store.push(hand, in_port);
    }

    /// Returns the first packet of queue `q`, if the queue is taken, not released, and not empty; otherwise the effect
    /// of a release.
    pub(super) fn first(&mut self, q: Queue) -> Result<&Packet, Released> {
        let one = self.queues.get_mut(usize::from(q.0)).ok_or(Released::Nothing)?;
        match one.state {
            State::Taken(_) if one.store.packets.is_empty() => Err(Released::Drained((q, one.free()))),
            State::Taken(_) => one.store.packets.front().ok_or(Released::Nothing),
            State::Free | State::Released(_) => Err(Released::Nothing),
        }
    }

    /// Moves all packets of queue `q`, which is taken, to the end of a data queue. Returns their bytes and number.
    pub(super) fn join(&mut self, q: Queue, data: &mut Store) -> (u64, u32) {
        let one = &mut self.queues[usize::from(q.0)];
        let (bytes, packets) = (one.store.bytes, one.store.packets.len() as u32);
        one.store.move_to(data);
        if let State::Taken(owner) = one.state {
            one.state = State::Released(owner);
        }
        self.in_all.0 -= bytes;
        self.in_all.1 -= packets;
        (bytes, packets)
    }

    /// Queue `q` has drained from its data queue.
    pub(super) fn drained(&mut self, q: Queue) -> Drained {
        (q, self.queues[usize::from(q.0)].free())
    }

    /// Takes the first packet of queue `q` out of the port; if there is none, frees the queue.
    #[cold]
    pub(super) fn unhold(&mut self, q: Queue) -> Result<InHand, Drained> {
        let one = &mut self.queues[usize::from(q.0)];
        if one.store.packets.is_empty() {
            return Err((q, one.free()));
        }
        let mut hand = InHand::default();
        hand.body = one.store.pop_into(&mut hand.packet);
        self.in_all.0 -= u64::from(hand.packet.wire);
        self.in_all.1 -= 1;
        Ok(hand)
    }

    /// Takes a packet out of the first queue that has one; also returns the bytes left behind there. The queue stays
    /// taken.
    pub(super) fn lose(&mut self) -> Option<(Packet, u64)> {
        let one = self.queues.iter_mut().find(|one| !one.store.packets.is_empty())?;
        let mut packet = Packet::default();
        one.store.pop_into(&mut packet);
        self.in_all.0 -= u64::from(packet.wire);
        self.in_all.1 -= 1;
        Some((packet, one.store.bytes))
    }
}
