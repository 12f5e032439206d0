//! Links: a FIFO of packets in flight each. They are the only doors between nodes.

use crate::packet::{BODY, Body, InHand, Packet};
use spinewise_policy::Time;
use std::collections::VecDeque;

/// Packets in flight on a link, in order of arrival; starts empty and grows by doubling.
#[derive(Debug, Default)]
pub struct Ring {
    slots: Vec<Packet>,
    head: usize,
    len: usize,
    /// Longest since the head last came round: a ring much longer than that wastes the cache.
    peak: usize,
}

impl Ring {
    const FIRST: usize = 8;

    /// How many packets it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is there nothing in flight?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn slot(&self, i: usize) -> usize {
        (self.head + i) & (self.slots.len() - 1)
    }

    /// The `i`-th packet from the front.
    #[inline]
    pub fn get(&self, i: usize) -> &Packet {
        &self.slots[self.slot(i)]
    }

    /// The `i`-th packet from the back, 0 the last.
    #[inline]
    pub fn from_back(&mut self, i: usize) -> &mut Packet {
        let at = self.slot(self.len - 1 - i);
        &mut self.slots[at]
    }

    /// Appends.
    #[inline]
    pub fn push(&mut self, packet: &Packet) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let at = self.slot(self.len);
        self.slots[at] = *packet;
        self.len += 1;
        self.peak = self.peak.max(self.len);
    }

    /// Takes the first.
    #[inline]
    pub fn pop(&mut self, into: &mut Packet) {
        debug_assert!(self.len > 0);
        *into = self.slots[self.head];
        self.head = self.slot(1);
        self.len -= 1;
        if self.head == 0 {
            if self.peak * 4 <= self.slots.len() && self.slots.len() > Self::FIRST {
                self.resize(self.slots.len() / 2);
            }
            self.peak = self.len;
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.resize((self.slots.len() * 2).max(Self::FIRST));
    }

    #[cold]
    fn resize(&mut self, capacity: usize) {
        let mut slots = Vec::with_capacity(capacity);
        slots.extend((0..self.len).map(|i| *self.get(i)));
        slots.resize(capacity, Packet::default());
        self.slots = slots;
        self.head = 0;
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Packet>()
    }
}

/// All links. A link's number is its receiver's: the in-links of a node are contiguous, in the order of its ports.
#[derive(Debug, Default)]
pub struct Wires {
    rings: Vec<Ring>,
    /// Arrival of the first packet of each link, [`Time::NEVER`] when empty: one scan tells a node what is due.
    pub heads: Vec<Time>,
    /// Receiving node of each link.
    pub to: Vec<u32>,
    /// Earliest thing each node has to do.
    pub due: Vec<Time>,
    bodies: Vec<VecDeque<Body>>,
    /// Links that were empty and are not any more; the event-queue engine reads it.
    pub fresh: Option<Vec<u32>>,
    /// Transmissions so far.
    pub hops: u64,
}

impl Wires {
    /// For links with these receivers, among `nodes` nodes.
    pub fn new(to: Vec<u32>, nodes: usize) -> Self {
        let links = to.len();
        Wires {
            rings: (0..links).map(|_| Ring::default()).collect(),
            heads: vec![Time::NEVER; links],
            to,
            due: vec![Time::NEVER; nodes],
            bodies: Vec::new(),
            fresh: None,
            hops: 0,
        }
    }

    /// The ring of a link.
    #[inline]
    pub fn ring(&self, link: u32) -> &Ring {
        &self.rings[link as usize]
    }

    /// The ring of a link, to mark a packet that is still the sender's.
    #[inline]
    pub fn ring_mut(&mut self, link: u32) -> &mut Ring {
        &mut self.rings[link as usize]
    }

    /// Puts the packet in hand on a link; it arrives at `packet.at`.
    #[inline]
    pub fn push(&mut self, link: u32, hand: &mut InHand) {
        self.hops += 1;
        let packet = &hand.packet;
        let ring = &mut self.rings[link as usize];
        if ring.is_empty() {
            self.heads[link as usize] = packet.at;
            let due = &mut self.due[self.to[link as usize] as usize];
            *due = (*due).min(packet.at);
            if let Some(fresh) = &mut self.fresh {
                fresh.push(link);
            }
        }
        ring.push(packet);
        if packet.is(BODY) {
            self.push_body(link, hand.body.take());
        }
    }

    #[cold]
    fn push_body(&mut self, link: u32, body: Option<Body>) {
        if self.bodies.is_empty() {
            self.bodies.resize_with(self.rings.len(), VecDeque::new);
        }
        self.bodies[link as usize].push_back(body.unwrap_or_default());
    }

    /// Takes the first packet off a link.
    #[inline]
    pub fn pop(&mut self, link: u32, hand: &mut InHand) {
        let ring = &mut self.rings[link as usize];
        ring.pop(&mut hand.packet);
        self.heads[link as usize] = if ring.is_empty() { Time::NEVER } else { ring.get(0).at };
        hand.body = None;
        if hand.packet.is(BODY) {
            hand.body = self.bodies[link as usize].pop_front();
        }
    }

    /// Everything still in flight.
    pub fn in_flight(&self) -> impl Iterator<Item = &Packet> {
        self.rings.iter().flat_map(|ring| (0..ring.len()).map(move |i| ring.get(i)))
    }
}
