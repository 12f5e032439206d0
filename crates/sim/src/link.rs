//! Links: a FIFO of packets in flight each. They are the only doors between nodes.

use crate::ids::{LinkId, NodeId, Table};
use crate::packet::{BODY, Body, InHand, Packet};
use crate::prefetch;
use crate::ring::Ring;
use spinewise_policy::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Places for the next packets of a link. They lie in a row, and processors fetch the rest of a row by themselves.
const ROOM: usize = 2;

/// Places of the first bodies of a link, two lines of the cache or so.
const BODIES_OF_LINES: usize = 6;

/// A packet in flight, with when it left if its sender has noted that.
pub(crate) type Flying = (InHand, Option<Time>);

/// A packet on its way from one part of a run to another: on which link, itself, and when it left if that is noted.
#[derive(Debug)]
pub struct Carried {
    link: LinkId,
    hand: InHand,
    started: Option<Time>,
}

/// What is in flight on one link: where it lies fits into one line of the cache.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Flight {
    packets: Ring<Packet>,
    /// Bodies of those flagged to have one.
    bodies: VecDeque<Body>,
}

const _: () = assert!(size_of::<Flight>() == 64);

/// All links. A link's number is its receiver's: the in-links of a node are contiguous, in the order of its ports.
#[derive(Debug, Default)]
pub struct Wires {
    flights: Vec<Flight>,
    /// Arrival of the first packet of each link, [`Time::NEVER`] when empty: one scan tells a node what is due.
    pub heads: Vec<Time>,
    /// Receiving node of each link.
    pub to: Table<LinkId, NodeId>,
    /// Earliest thing each node has to do.
    pub due: Table<NodeId, Time>,
    /// When packets in flight left, of links whose receivers ask.
    starts: BTreeMap<LinkId, VecDeque<Time>>,
    /// Links that were empty and are not any more; the event-queue engine reads it.
    pub fresh: Option<Vec<LinkId>>,
    /// Transmissions so far.
    pub hops: u64,
}

impl Wires {
    /// For links with these receivers, among `nodes` nodes.
    pub fn new(to: Table<LinkId, NodeId>, nodes: usize) -> Self {
        let links = to.len();
        Wires {
            flights: (0..links).map(|_| Flight::default()).collect(),
            heads: vec![Time::NEVER; links],
            to,
            due: Table::filled(Time::NEVER, nodes),
            starts: BTreeMap::new(),
            fresh: None,
            hops: 0,
        }
    }

    /// The ring of a link.
    #[inline]
    pub fn ring(&self, link: LinkId) -> &Ring<Packet> {
        &self.flights[link.index()].packets
    }

    /// The ring of a link, to mark a packet that is still the sender's.
    #[inline]
    pub fn ring_mut(&mut self, link: LinkId) -> &mut Ring<Packet> {
        &mut self.flights[link.index()].packets
    }

    /// Asks memory for where the packets of a link lie.
    #[inline]
    pub fn fetch(&self, link: LinkId) {
        prefetch::one(&self.flights[link.index()]);
    }

    /// The same of several.
    #[inline]
    pub fn fetch_all(&self, links: std::ops::Range<LinkId>) {
        prefetch::all(&self.flights[links.start.index()..links.end.index()]);
    }

    /// Asks memory for the packets that arrive first on a link, at most so many, and the places of their bodies.
    #[inline]
    pub fn fetch_first(&self, link: LinkId, most: usize) {
        let Flight { packets, bodies } = &self.flights[link.index()];
        packets.fetch_first(most);
        if !bodies.is_empty() {
            let (first, _) = bodies.as_slices();
            prefetch::all(&first[..first.len().min(BODIES_OF_LINES)]);
        }
    }

    /// Asks memory for the bodies of packets that arrive first on a link, at most so many.
    #[inline]
    pub fn fetch_bodies(&self, link: LinkId, most: usize) {
        self.flights[link.index()].bodies.iter().take(most).for_each(|body| prefetch::all(body));
    }

    /// Asks memory for where the next packets on a link go.
    #[inline]
    pub fn fetch_room(&self, link: LinkId) {
        let Flight { packets, bodies } = &self.flights[link.index()];
        packets.fetch_room(ROOM);
        bodies.back().into_iter().for_each(prefetch::one);
    }

    /// Puts the packet in hand on a link, to arrive at `at`.
    #[inline(always)]
    pub fn push(&mut self, link: LinkId, hand: &mut InHand, at: Time) {
        let slot = self.slot(link, at);
        // The instant goes into the slot, not into the packet in hand: a vector load behind a narrow store stalls.
        *slot = hand.packet;
        slot.at = at;
        if hand.packet.is(BODY) {
            self.push_body(link, hand.body.take());
        }
    }

    /// Room on a link for one more packet that arrives at `at`, which must be written into it whole, with that instant.
    /// A body goes [beside it](Self::push_body).
    #[inline(always)]
    pub fn slot(&mut self, link: LinkId, at: Time) -> &mut Packet {
        self.hops += 1;
        let ring = &mut self.flights[link.index()].packets;
        debug_assert!(ring.is_empty() || ring.nth_back_mut(0).at <= at, "no overtaking on a link");
        if ring.is_empty() {
            self.heads[link.index()] = at;
            let due = &mut self.due[self.to[link]];
            *due = (*due).min(at);
            if let Some(fresh) = &mut self.fresh {
                fresh.push(link);
            }
        }
        ring.push()
    }

    /// Puts the packet in hand on a link before the last `behind`, which must be there, to arrive at `at`. Those arrive later
    /// by the time it `took`.
    pub fn push_before(&mut self, link: LinkId, behind: usize, hand: &mut InHand, (at, took): (Time, Span)) {
        self.hops += 1;
        let Flight { packets, bodies } = &mut self.flights[link.index()];
        let mut bodies_behind = 0;
        let slot = packets.push_before(behind, |later| {
            later.at += took;
            bodies_behind += usize::from(later.is(BODY));
        });
        *slot = hand.packet;
        slot.at = at;
        if hand.packet.is(BODY) {
            bodies.insert(bodies.len() - bodies_behind, hand.body.take().unwrap_or_default());
        }
    }

    /// Takes back the packet that was put last on a link; another must be before it.
    #[cold]
    pub fn take_back(&mut self, link: LinkId) -> Option<InHand> {
        let Flight { packets, bodies } = &mut self.flights[link.index()];
        let packet = packets.pop_back()?;
        debug_assert!(!packets.is_empty(), "the head of the link stays");
        self.hops -= 1;
        let body = if packet.is(BODY) { bodies.pop_back() } else { None };
        Some(InHand { packet, body })
    }

    /// Puts the body of the packet that was put last on a link beside it.
    #[cold]
    pub fn push_body(&mut self, link: LinkId, body: Option<Body>) {
        self.flights[link.index()].bodies.push_back(body.unwrap_or_default());
    }

    /// Notes when the packet leaves that is put on a link next.
    pub fn note_start(&mut self, link: LinkId, start: Time) {
        self.starts.entry(link).or_default().push_back(start);
    }

    /// When the packet left that has just been taken off a link of which all are [noted](Self::note_start).
    pub fn started(&mut self, link: LinkId) -> Time {
        self.starts.get_mut(&link).and_then(VecDeque::pop_front).expect("the start of each packet is noted")
    }

    /// The packets on a link, with when each left if that was noted.
    #[cold]
    pub fn flying(&self, link: LinkId) -> Vec<Flying> {
        let mut bodies = self.flights[link.index()].bodies.iter();
        let mut starts = self.starts.get(&link).into_iter().flatten();
        let hand = |packet: &Packet| {
            let body = if packet.is(BODY) { bodies.next().cloned() } else { None };
            (InHand { packet: *packet, body }, starts.next().copied())
        };
        self.ring(link).iter().map(hand).collect()
    }

    /// Takes the first packet off a link.
    #[inline(always)]
    pub fn pop(&mut self, link: LinkId, hand: &mut InHand) {
        self.take(link, hand);
        self.heads[link.index()] = first_arrival(&mut self.flights[link.index()].packets);
    }

    /// Takes the first packet off a link and leaves its head as it is: [`Wires::refresh_heads`] must follow.
    #[inline(always)]
    pub fn take(&mut self, link: LinkId, hand: &mut InHand) {
        let Flight { packets, bodies } = &mut self.flights[link.index()];
        hand.packet = *packets.get(0);
        packets.pop();
        if hand.packet.is(BODY) {
            hand.body = bodies.pop_front();
        }
    }

    /// Sets the heads right of links from which everything before `end` was taken. Returns the earliest.
    #[inline]
    pub fn refresh_heads(&mut self, links: std::ops::Range<LinkId>, end: Time) -> Time {
        let range = links.start.index()..links.end.index();
        let mut earliest = Time::NEVER;
        for (head, flight) in self.heads[range.clone()].iter_mut().zip(&mut self.flights[range]) {
            if *head < end {
                *head = first_arrival(&mut flight.packets);
            }
            earliest = earliest.min(*head);
        }
        earliest
    }

    /// Takes off a link what arrives before `end`, to be [brought](Self::bring) to where its receiver is worked at.
    pub fn carry_off(&mut self, link: LinkId, end: Time, into: &mut Vec<Carried>) {
        while self.heads[link.index()] < end {
            let mut hand = InHand::default();
            self.pop(link, &mut hand);
            let started = self.starts.get_mut(&link).and_then(VecDeque::pop_front);
            // It is counted again where it is brought to.
            self.hops -= 1;
            into.push(Carried { link, hand, started });
        }
    }

    /// Puts on a link what was [carried off](Self::carry_off) it elsewhere.
    pub fn bring(&mut self, Carried { link, mut hand, started }: Carried) {
        let at = hand.packet.at;
        self.push(link, &mut hand, at);
        if let Some(start) = started {
            self.note_start(link, start);
        }
    }

    /// Makes what is in flight on a link what it is in `other`.
    pub fn take_up(&mut self, link: LinkId, other: &mut Wires) {
        std::mem::swap(&mut self.flights[link.index()], &mut other.flights[link.index()]);
        self.heads[link.index()] = other.heads[link.index()];
        self.starts.remove(&link);
        self.starts.extend(other.starts.remove_entry(&link));
    }

    /// Everything still in flight.
    pub fn in_flight(&self) -> impl Iterator<Item = &Packet> {
        self.flights.iter().flat_map(|flight| flight.packets.iter())
    }
}

/// When the first packet of a link arrives. An empty ring begins anew: those slots are in the cache.
#[inline]
fn first_arrival(flying: &mut Ring<Packet>) -> Time {
    match flying.front() {
        Some(packet) => packet.at,
        None => {
            flying.clear();
            Time::NEVER
        }
    }
}
