//! Links: the packets in flight on each, first in, first out, with a second track for control that goes ahead of data that
//! waits. They are the only doors between nodes.

use crate::ids::{LinkId, NodeId, Table};
use crate::packet::{BODY, Body, InHand, Packet};
use crate::prefetch;
use crate::ring::Ring;
use spinewise_policy::Time;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Places for the next packets of a link. They are contiguous, and processors fetch the rest of the run by themselves.
const ROOM: usize = 2;

/// A packet in flight, with when it left if its sender has noted that.
pub(crate) type Flying = (InHand, Option<Time>);

/// A packet on its way from one part of a run to another: on which link, itself, and when it left if that is noted.
#[derive(Debug)]
pub struct Carried {
    link: LinkId,
    hand: InHand,
    started: Option<Time>,
}

/// The packets in flight on one link: their bookkeeping fits into one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Flight {
    /// Packets that leave in the order in which they were queued.
    main: Ring<Packet>,
    /// Control that was queued behind data and leaves before it.
    ahead: Ring<Packet>,
}

const _: () = assert!(size_of::<Flight>() == 64);

/// One of the two queues on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// A packet that leaves in the order in which it was queued.
    Main,
    /// Control that goes ahead of data that waits.
    Ahead,
}

impl Flight {
    #[inline(always)]
    fn on(&mut self, track: Track) -> &mut Ring<Packet> {
        match track {
            Track::Main => &mut self.main,
            Track::Ahead => &mut self.ahead,
        }
    }

    /// The track on which something arrives first, and when; [`Time::NEVER`] if nothing does yet.
    #[inline(always)]
    fn first(&self) -> (Track, Time) {
        let main = first_arrival(&self.main);
        if self.ahead.is_empty() {
            return (Track::Main, main);
        }
        let ahead = first_arrival(&self.ahead);
        if ahead < main { (Track::Ahead, ahead) } else { (Track::Main, main) }
    }
}

/// When the first packet arrives, if that is known.
#[inline(always)]
fn first_arrival(flying: &Ring<Packet>) -> Time {
    flying.front().map_or(Time::NEVER, |packet| packet.at)
}

/// Bodies of the packets of a link that are flagged to have one, of both tracks.
#[derive(Debug, Default)]
struct Bodies {
    main: VecDeque<Body>,
    ahead: VecDeque<Body>,
}

impl Bodies {
    fn on(&mut self, track: Track) -> &mut VecDeque<Body> {
        match track {
            Track::Main => &mut self.main,
            Track::Ahead => &mut self.ahead,
        }
    }
}

/// When something is due.
#[derive(Debug, Default)]
pub struct Agenda {
    /// Arrival of the first packet of each link, [`Time::NEVER`] when empty: one scan shows a node what is due.
    pub heads: Vec<Time>,
    /// Receiving node of each link.
    pub to: Table<LinkId, NodeId>,
    /// Earliest thing each node has to do.
    pub due: Table<NodeId, Time>,
    /// Links that were empty and are not any more; the event-queue engine reads it.
    pub fresh: Option<Vec<LinkId>>,
}

impl Agenda {
    /// The first packet of a track of a link arrives at `at`.
    #[inline]
    fn announce(&mut self, link: LinkId, at: Time) {
        let head = &mut self.heads[link.index()];
        if at < *head {
            if let (Time::NEVER, Some(fresh)) = (*head, &mut self.fresh) {
                fresh.push(link);
            }
            *head = at;
            let due = &mut self.due[self.to[link]];
            *due = (*due).min(at);
        }
    }
}

/// Puts the packet in hand into its slot on a link, to arrive at `at`. Returns whether it has a body to be put beside.
#[inline(always)]
fn join(slot: &mut Packet, hand: &InHand, at: Time) -> bool {
    // The instant goes into the slot, not into the packet in hand: a vector load behind a narrow store stalls.
    *slot = hand.packet;
    slot.at = at;
    hand.packet.is(BODY)
}

/// All links. A link's number is its receiver's: the in-links of a node are contiguous, in the order of its ports.
#[derive(Debug, Default)]
pub struct Wires {
    flights: Vec<Flight>,
    /// Bodies, by link; empty before the first one.
    bodies: Vec<Bodies>,
    /// The events due, by link and by node.
    pub agenda: Agenda,
    /// When packets in flight left, of links whose receivers ask.
    starts: BTreeMap<LinkId, VecDeque<Time>>,
    /// Transmissions so far.
    pub hops: u64,
}

impl Wires {
    /// Creates links with these receivers, among `nodes` nodes.
    pub fn new(to: Table<LinkId, NodeId>, nodes: usize) -> Self {
        let links = to.len();
        Wires {
            flights: (0..links).map(|_| Flight::default()).collect(),
            bodies: Vec::new(),
            agenda: Agenda { heads: vec![Time::NEVER; links], to, due: Table::filled(Time::NEVER, nodes), fresh: None },
            starts: BTreeMap::new(),
            hops: 0,
        }
    }

    /// The main track of a link.
    #[inline]
    pub fn ring(&self, link: LinkId) -> &Ring<Packet> {
        &self.flights[link.index()].main
    }

    /// The main track of a link, to mark a packet that is still the sender's.
    #[inline]
    pub fn ring_mut(&mut self, link: LinkId) -> &mut Ring<Packet> {
        &mut self.flights[link.index()].main
    }

    /// Returns the ring of packets that go ahead on a link.
    #[inline]
    pub fn ring_ahead(&self, link: LinkId) -> &Ring<Packet> {
        &self.flights[link.index()].ahead
    }

    /// Prefetches the bookkeeping of a link.
    #[inline]
    pub fn fetch(&self, link: LinkId) {
        prefetch::one(&self.flights[link.index()]);
    }

    /// The same for several links.
    #[inline]
    pub fn fetch_all(&self, links: Range<LinkId>) {
        prefetch::all(&self.flights[links.start.index()..links.end.index()]);
    }

    /// Prefetches the first `most` packets on each track of a link.
    #[inline]
    pub fn fetch_first(&self, link: LinkId, most: usize) {
        let Flight { main, ahead } = &self.flights[link.index()];
        main.fetch_first(most);
        ahead.fetch_first(most);
    }

    /// Prefetches the places of the next packets on a link.
    #[inline]
    pub fn fetch_room(&self, link: LinkId) {
        let Flight { main, ahead } = &self.flights[link.index()];
        main.fetch_room(ROOM);
        ahead.fetch_room(ROOM);
    }

    /// Puts the packet in hand on a link, to arrive at `at`.
    #[inline(always)]
    pub fn push(&mut self, link: LinkId, hand: &mut InHand, at: Time) {
        let slot = self.room(link, Track::Main, at);
        if join(slot, hand, at) {
            self.add_body(link, Track::Main, hand.body.take());
        }
    }

    /// The same ahead of what [waits](Self::push_waiting).
    #[inline(always)]
    pub fn push_ahead(&mut self, link: LinkId, hand: &mut InHand, at: Time) {
        let slot = self.room(link, Track::Ahead, at);
        if join(slot, hand, at) {
            self.add_body(link, Track::Ahead, hand.body.take());
        }
    }

    /// Puts the packet in hand on a link, to [start](Self::start) later.
    #[inline(always)]
    pub fn push_waiting(&mut self, link: LinkId, hand: &mut InHand) {
        self.hops += 1;
        let slot = self.flights[link.index()].main.push();
        if join(slot, hand, Time::NEVER) {
            self.add_body(link, Track::Main, hand.body.take());
        }
    }

    /// Room on a link for one more packet that arrives at `at`, which must be written into it whole, with that instant.
    /// A body goes [beside it](Self::push_body).
    #[inline(always)]
    pub fn slot(&mut self, link: LinkId, at: Time) -> &mut Packet {
        self.room(link, Track::Main, at)
    }

    /// The same on either track.
    #[inline(always)]
    fn room(&mut self, link: LinkId, track: Track, at: Time) -> &mut Packet {
        self.hops += 1;
        let ring = self.flights[link.index()].on(track);
        debug_assert!(ring.is_empty() || ring.nth_back_mut(0).at <= at, "no overtaking on a link");
        if ring.is_empty() {
            self.agenda.announce(link, at);
        }
        ring.push()
    }

    /// The packet before the last `behind` starts, which waited, and arrives at `at`.
    #[inline(always)]
    pub fn start(&mut self, link: LinkId, behind: usize, at: Time) {
        let main = &mut self.flights[link.index()].main;
        main.nth_back_mut(behind).at = at;
        if main.len() == behind + 1 {
            self.agenda.announce(link, at);
        }
    }

    /// Takes back the packet that was put last on a link, which must wait.
    #[cold]
    pub fn take_back(&mut self, link: LinkId) -> Option<InHand> {
        let packet = self.flights[link.index()].main.pop_back()?;
        debug_assert_eq!(packet.at, Time::NEVER, "it waits");
        self.hops -= 1;
        let body = if packet.is(BODY) { self.bodies[link.index()].main.pop_back() } else { None };
        Some(InHand { packet, body })
    }

    /// Puts the body of the packet that was put last on a link beside it.
    pub fn push_body(&mut self, link: LinkId, body: Option<Body>) {
        self.add_body(link, Track::Main, body);
    }

    #[cold]
    fn add_body(&mut self, link: LinkId, track: Track, body: Option<Body>) {
        self.bodies(link).on(track).push_back(body.unwrap_or_default());
    }

    /// The bodies of a link. They have places from the first one on: most runs need none.
    fn bodies(&mut self, link: LinkId) -> &mut Bodies {
        if self.bodies.is_empty() {
            self.bodies.resize_with(self.flights.len(), Bodies::default);
        }
        &mut self.bodies[link.index()]
    }

    /// Notes when the packet leaves that is put on a link next.
    pub fn note_start(&mut self, link: LinkId, start: Time) {
        self.starts.entry(link).or_default().push_back(start);
    }

    /// Returns when the packet left that has just been taken off a link of which all are [noted](Self::note_start).
    pub fn started(&mut self, link: LinkId) -> Time {
        self.starts.get_mut(&link).and_then(VecDeque::pop_front).expect("the start of each packet is noted")
    }

    /// The packets on a link, with when each left if that was noted.
    #[cold]
    pub fn flying(&self, link: LinkId) -> Vec<Flying> {
        let Flight { main, ahead } = &self.flights[link.index()];
        let bodies = self.bodies.get(link.index());
        let [main, ahead] = [(main, bodies.map(|bodies| &bodies.main)), (ahead, bodies.map(|bodies| &bodies.ahead))];
        let mut all: Vec<InHand> = hands(main).chain(hands(ahead)).collect();
        all.sort_by_key(|hand| hand.packet.at);
        let mut starts = self.starts.get(&link).into_iter().flatten();
        all.into_iter().map(|hand| (hand, starts.next().copied())).collect()
    }

    /// The first `most` packets on each track of a link.
    #[inline]
    pub fn first(&self, link: LinkId, most: usize) -> impl Iterator<Item = &Packet> {
        let Flight { main, ahead } = &self.flights[link.index()];
        main.iter().take(most).chain(ahead.iter().take(most))
    }

    /// Takes the first arrival off a link.
    #[inline(always)]
    pub fn pop(&mut self, link: LinkId, hand: &mut InHand) {
        let flight = &self.flights[link.index()];
        if flight.ahead.is_empty() {
            self.take(link, Track::Main, hand);
        } else {
            let (track, _) = flight.first();
            self.take(link, track, hand);
        }
        self.agenda.heads[link.index()] = self.flights[link.index()].first().1;
    }

    /// Takes the first packet off a track of a link and leaves the link's head as it is: see [`Wires::each`].
    #[inline(always)]
    pub fn take(&mut self, link: LinkId, track: Track, hand: &mut InHand) {
        let ring = self.flights[link.index()].on(track);
        ring.pop_into(&mut hand.packet);
        if hand.packet.is(BODY) {
            hand.body = self.bodies[link.index()].on(track).pop_front();
        }
    }

    /// The heads of links, and the main track and the track ahead of each.
    #[inline]
    pub fn each(&mut self, links: Range<LinkId>) -> impl Iterator<Item = (&mut Time, [&Ring<Packet>; 2])> {
        let range = links.start.index()..links.end.index();
        let flights = &self.flights[range.clone()];
        self.agenda.heads[range].iter_mut().zip(flights.iter().map(|flight| [&flight.main, &flight.ahead]))
    }

    /// Takes packets that arrive before `end` off a link, to be [brought](Self::bring) to where their receiver is
    /// worked at.
    pub fn carry_off(&mut self, link: LinkId, end: Time, into: &mut Vec<Carried>) {
        loop {
            let (track, at) = self.flights[link.index()].first();
            if at >= end {
                self.agenda.heads[link.index()] = at;
                return;
            }
            let mut hand = InHand::default();
            self.take(link, track, &mut hand);
            let started = self.starts.get_mut(&link).and_then(VecDeque::pop_front);
            // It is counted again where it is brought to.
            self.hops -= 1;
            into.push(Carried { link, hand, started });
        }
    }

    /// Puts a packet on a link that was [carried off](Self::carry_off) it elsewhere.
    pub fn bring(&mut self, Carried { link, mut hand, started }: Carried) {
        let at = hand.packet.at;
        self.push(link, &mut hand, at);
        if let Some(start) = started {
            self.note_start(link, start);
        }
    }

    /// Replaces the packets in flight on a link by those in `other`.
    pub fn take_up(&mut self, link: LinkId, other: &mut Wires) {
        std::mem::swap(&mut self.flights[link.index()], &mut other.flights[link.index()]);
        if !(self.bodies.is_empty() && other.bodies.is_empty()) {
            std::mem::swap(self.bodies(link), other.bodies(link));
        }
        self.agenda.heads[link.index()] = other.agenda.heads[link.index()];
        self.starts.remove(&link);
        self.starts.extend(other.starts.remove_entry(&link));
    }

    /// Everything still in flight.
    pub fn in_flight(&self) -> impl Iterator<Item = &Packet> {
        self.flights.iter().flat_map(|flight| flight.main.iter().chain(flight.ahead.iter()))
    }
}

/// Packets with their bodies.
fn hands<'a>(
    (flying, bodies): (&'a Ring<Packet>, Option<&'a VecDeque<Body>>),
) -> impl Iterator<Item = InHand> + use<'a> {
    let mut bodies = bodies.into_iter().flatten();
    flying.iter().map(move |packet| {
        let body = if packet.is(BODY) { bodies.next().cloned() } else { None };
        InHand { packet: *packet, body }
    })
}
