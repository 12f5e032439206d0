//! Egress ports of switches: a drop-tail queue and a line.
//!
//! A *FIFO* port commits a packet at once: the departure of a packet is known when it is queued, so it goes into the
//! link's ring there and then, and one event per hop is all there is. What the queue holds at any instant follows from
//! the starts of transmission that lie ahead. A *commit-at-start* port keeps its packets until their transmission
//! starts, which costs a transmit-done event whenever something waits; it is what held queues need. Both give the same
//! results where both can serve.

use crate::link::Wires;
use crate::packet::{CE, ECT, InHand, Packet, Serializer};
use crate::ring::Ring;
use crate::spec::{EcnAt, Limit, QueueCounts, SwitchSpec};
use spinewise_policy::{FlowKey, Queue, Span, Time};
use std::collections::VecDeque;

/// The queueing rules of a switch, as the hot path wants them.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    max_packets: u32,
    max_bytes: u64,
    mark_packets: u32,
    mark_bytes: u64,
    mark_at_dequeue: bool,
    counts_in_service: bool,
    /// Below both of these, as far as is known without looking, a packet is taken unmarked.
    lazy_packets: u32,
    lazy_bytes: u64,
}

/// A FIFO port looks which of its packets have started when this many may be waiting.
const LOOK_AT: u32 = 16;

impl Rules {
    /// From the spec.
    pub fn new(spec: &SwitchSpec) -> Self {
        let (max_packets, max_bytes) = split(spec.buffer);
        let (mark_packets, mark_bytes) = spec.ecn_threshold.map_or((u32::MAX, u64::MAX), split);
        let at_enqueue = spec.ecn_at != EcnAt::Dequeue;
        Rules {
            // One less, for the packet in service may count. Marks at dequeue need every packet looked at in time.
            lazy_packets: if at_enqueue { LOOK_AT.min(mark_packets.min(max_packets).saturating_sub(1)) } else { 0 },
            lazy_bytes: max_bytes.min(mark_bytes.saturating_sub(1)),
            max_packets,
            max_bytes,
            mark_packets,
            mark_bytes,
            mark_at_dequeue: spec.ecn_at == EcnAt::Dequeue,
            counts_in_service: spec.queue_counts == QueueCounts::InService,
        }
    }

    /// Are marks decided as a packet leaves the queue?
    #[inline]
    pub fn marks_at_dequeue(&self) -> bool {
        self.mark_at_dequeue
    }

    #[inline]
    fn marks(&self, bytes: u64, packets: u32) -> bool {
        packets >= self.mark_packets || bytes >= self.mark_bytes
    }
}

fn split(limit: Limit) -> (u32, u64) {
    match limit {
        Limit::Packets(n) => (n, u64::MAX),
        Limit::Bytes(n) => (u32::MAX, n),
    }
}

/// What a port has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent or committed to be sent.
    pub packets: u64,
    /// Bytes likewise.
    pub bytes: u64,
    /// Packets dropped at admission.
    pub drops: u64,
    /// Bytes likewise.
    pub dropped_bytes: u64,
    /// Packets marked CE here.
    pub marks: u64,
    /// Time spent sending, committed.
    pub busy: Span,
    /// Longest queue found at an arrival, in bytes, by the spec's convention.
    pub longest_queue: u64,
}

/// What an admitted packet found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    mark: bool,
}

/// An egress port: two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port {
    busy_until: Time,
    delay: Span,
    line: Serializer,
    lanes: Option<Box<Lanes>>,
    /// The queue of a FIFO port as last looked at and what has joined since: the last so many packets of the link's
    /// ring, and the start of the first of them. Some may have started in the meantime, or even arrived.
    waiting: Waiting,
    /// The link it feeds.
    pub link: u32,
    packets: u64,
    bytes: u64,
    longest_queue: u64,
    rare: Box<Rare>,
}

const _: () = assert!(size_of::<Port>() == 128);

/// What waits at a port.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    bytes: u64,
    /// When the first of them starts.
    next_start: Time,
    packets: u32,
    /// Bytes of the packet that started last.
    serving: u32,
}

impl Waiting {
    /// Forgets packets that have left the link too: of those still there, the first has started.
    #[inline]
    fn forget_arrived(&mut self, flying: &Ring<Packet>) {
        if self.packets as usize > flying.len() {
            self.packets = flying.len() as u32;
            self.bytes = flying.iter().map(|packet| u64::from(packet.wire)).sum();
            self.next_start = Time::ZERO;
        }
    }

    /// Lets the first packet start if it does by `now`. The one behind it starts as it ends: it waited for that.
    #[inline]
    fn start(&mut self, now: Time, flying: &Ring<Packet>, delay: Span) -> bool {
        if self.packets == 0 || self.next_start > now {
            return false;
        }
        let first = flying.get(flying.len() - self.packets as usize);
        self.serving = u32::from(first.wire);
        self.bytes -= u64::from(first.wire);
        self.packets -= 1;
        self.next_start = first.at - delay;
        true
    }
}

/// What a port seldom counts.
#[derive(Clone, Copy, Debug, Default)]
struct Rare {
    drops: u64,
    dropped_bytes: u64,
    marks: u64,
    /// Time spent sending, committed, where the rate does not divide.
    busy: Span,
}

/// The packets of a commit-at-start port.
#[derive(Debug, Default)]
struct Lanes {
    queue: VecDeque<Item>,
    held: Vec<Lane>,
    /// A transmit-done event is on its way.
    armed: bool,
}

#[derive(Debug)]
enum Item {
    Packet(InHand),
    /// Here a released queue goes.
    Lane(u16),
}

#[derive(Debug, Default)]
struct Lane {
    packets: VecDeque<InHand>,
    /// Taken, from the first verdict that named it until it has drained, and the flow it is pinned for.
    taken: bool,
    owner: Option<FlowKey>,
    released: bool,
}

impl Lane {
    /// It has drained: free again.
    fn free(&mut self) -> Option<FlowKey> {
        self.released = false;
        self.taken = false;
        self.owner.take()
    }
}

/// What a transmit-done event led to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Started {
    /// A held queue has emptied: it and the flow it was pinned for.
    pub drained: Option<(Queue, Option<FlowKey>)>,
    /// Something still waits: transmit-done comes again at this instant.
    pub again: Option<Time>,
}

impl Port {
    /// A port onto `link`; `queues` held queues, or `commit_at_start` without any, make it keep its packets.
    pub fn new(rate: u64, delay: Span, link: u32, commit_at_start: bool, queues: u16) -> Self {
        let lanes = (commit_at_start || queues > 0)
            .then(|| Box::new(Lanes { held: (0..queues).map(|_| Lane::default()).collect(), ..Lanes::default() }));
        Port {
            line: Serializer::new(rate),
            busy_until: Time::ZERO,
            delay,
            link,
            waiting: Waiting::default(),
            lanes,
            packets: 0,
            bytes: 0,
            longest_queue: 0,
            rare: Box::default(),
        }
    }

    /// Bits per second.
    pub fn rate(&self) -> u64 {
        self.line.rate()
    }

    /// Bytes and packets queued at `now`, by the convention of `rules`; every transmission that starts at or before
    /// `now` has left the queue.
    pub fn queue(&self, now: Time, rules: &Rules, wires: &Wires) -> (u64, u32) {
        let mut waiting = self.waiting;
        if self.lanes.is_none() && waiting.packets > 0 {
            let flying = wires.ring(self.link);
            waiting.forget_arrived(flying);
            while waiting.start(now, flying, self.delay) {}
        }
        if rules.counts_in_service && now < self.busy_until {
            waiting.bytes += u64::from(waiting.serving);
            waiting.packets += 1;
        }
        (waiting.bytes, waiting.packets)
    }

    /// Takes what has started by `now` off the queue of a FIFO port, marking at dequeue where the rules say so.
    #[inline(always)]
    pub fn settle(&mut self, now: Time, rules: &Rules, wires: &mut Wires) {
        if self.waiting.packets > 0 && self.lanes.is_none() {
            self.settle_waiting(now, rules, wires);
        }
    }

    fn settle_waiting(&mut self, now: Time, rules: &Rules, wires: &mut Wires) {
        self.waiting.forget_arrived(wires.ring(self.link));
        while self.waiting.start(now, wires.ring(self.link), self.delay) {
            if rules.mark_at_dequeue && self.left_behind(rules) {
                let packet = wires.ring_mut(self.link).from_back(self.waiting.packets as usize);
                self.rare.marks += mark(packet);
            }
        }
    }

    /// Reads what the next packet will need, to have it in the cache.
    #[inline]
    pub fn touch(&self, wires: &Wires) -> u64 {
        let ring = wires.ring(self.link);
        let room = (0..4).fold(0, |touched, i| touched ^ ring.room(i).map_or(0, |slot| slot.seq));
        self.busy_until.0 ^ room
    }

    /// When the first waiting packet of a FIFO port starts.
    pub fn next_start(&self) -> Time {
        if self.waiting.packets > 0 && self.lanes.is_none() { self.waiting.next_start } else { Time::NEVER }
    }

    /// Does the queue that the packet leaves behind which has just started call for a mark?
    #[inline]
    fn left_behind(&self, rules: &Rules) -> bool {
        let own = u32::from(rules.counts_in_service);
        rules.marks(self.waiting.bytes + u64::from(own * self.waiting.serving), self.waiting.packets + own)
    }

    /// Drop-tail: may a packet of `bytes` join the queue as found at `now`? A port whose line is free always takes one.
    ///
    /// What is known of the queue without looking is an upper bound: packets that have started in the meantime still
    /// count. If even that calls for nothing, nothing need be looked at.
    #[inline(always)]
    pub fn admit(&mut self, now: Time, bytes: u32, rules: &Rules, wires: &mut Wires) -> Option<Found> {
        let most = self.waiting.bytes + if rules.counts_in_service { u64::from(self.waiting.serving) } else { 0 };
        let quiet = self.waiting.packets < rules.lazy_packets
            && most + u64::from(bytes) <= rules.lazy_bytes
            && most <= self.longest_queue;
        if quiet && self.lanes.is_none() {
            return Some(Found { mark: false });
        }
        self.admit_exactly(now, bytes, rules, wires)
    }

    fn admit_exactly(&mut self, now: Time, bytes: u32, rules: &Rules, wires: &mut Wires) -> Option<Found> {
        self.settle(now, rules, wires);
        let (mut queued, mut packets) = (self.waiting.bytes, self.waiting.packets);
        let busy = now < self.busy_until || packets > 0;
        if rules.counts_in_service && now < self.busy_until {
            queued += u64::from(self.waiting.serving);
            packets += 1;
        }
        self.longest_queue = self.longest_queue.max(queued);
        let full = packets >= rules.max_packets || queued + u64::from(bytes) > rules.max_bytes;
        if busy && full {
            self.rare.drops += 1;
            self.rare.dropped_bytes += u64::from(bytes);
            return None;
        }
        Some(Found { mark: !rules.mark_at_dequeue && rules.marks(queued, packets) })
    }

    /// Queues an admitted packet. On a commit-at-start port returns when a transmit-done event is first needed.
    #[inline(always)]
    pub fn enqueue(
        &mut self,
        now: Time,
        hand: &mut InHand,
        found: Found,
        rules: &Rules,
        wires: &mut Wires,
    ) -> Option<Time> {
        if found.mark {
            self.rare.marks += mark(&mut hand.packet);
        }
        if self.lanes.is_some() {
            return self.enqueue_lane(now, hand, rules, wires);
        }
        let bytes = u32::from(hand.packet.wire);
        let start = self.busy_until.max(now);
        if start > now {
            if self.waiting.packets == 0 {
                self.waiting.next_start = start;
            }
            self.waiting.packets += 1;
            self.waiting.bytes += u64::from(bytes);
        } else {
            // The line was free, so all that waited has started.
            self.waiting = Waiting { serving: bytes, ..Waiting::default() };
            if rules.mark_at_dequeue && self.left_behind(rules) {
                self.rare.marks += mark(&mut hand.packet);
            }
        }
        self.transmit(start, hand, wires);
        None
    }

    /// Puts a packet on the line at `start`, which must not be before the line is free.
    #[inline(always)]
    fn transmit(&mut self, start: Time, hand: &mut InHand, wires: &mut Wires) {
        let bytes = u32::from(hand.packet.wire);
        let took = self.line.send(bytes, start > self.busy_until);
        self.busy_until = start + took;
        self.packets += 1;
        self.bytes += u64::from(bytes);
        if !self.line.is_whole() {
            self.rare.busy += took;
        }
        wires.push(self.link, hand, self.busy_until + self.delay);
    }

    fn enqueue_lane(&mut self, now: Time, hand: &mut InHand, rules: &Rules, wires: &mut Wires) -> Option<Time> {
        let lanes = self.lanes.as_mut()?;
        self.waiting.bytes += u64::from(hand.packet.wire);
        self.waiting.packets += 1;
        lanes.queue.push_back(Item::Packet(std::mem::take(hand)));
        if now >= self.busy_until && !lanes.armed {
            return self.start(now, rules, wires).again;
        }
        self.arm(now)
    }

    /// Asks for a transmit-done event if something can go and none is on its way.
    fn arm(&mut self, now: Time) -> Option<Time> {
        let lanes = self.lanes.as_mut()?;
        if lanes.armed || lanes.queue.is_empty() {
            return None;
        }
        lanes.armed = true;
        Some(self.busy_until.max(now))
    }

    /// The line is free at `now`: starts the next packet of a commit-at-start port.
    pub fn start(&mut self, now: Time, rules: &Rules, wires: &mut Wires) -> Started {
        let mut started = Started::default();
        let Some(lanes) = self.lanes.as_mut() else { return started };
        lanes.armed = false;
        let next = loop {
            match lanes.queue.pop_front() {
                None => return started,
                Some(Item::Packet(hand)) => break hand,
                Some(Item::Lane(q)) => {
                    let lane = &mut lanes.held[usize::from(q)];
                    let next = lane.packets.pop_front();
                    if lane.packets.is_empty() {
                        started.drained = Some((Queue(q), lane.free()));
                    } else {
                        lanes.queue.push_front(Item::Lane(q));
                    }
                    if let Some(next) = next {
                        break next;
                    }
                }
            }
        };
        let mut hand = next;
        let bytes = u32::from(hand.packet.wire);
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(bytes);
        self.waiting.serving = bytes;
        if rules.mark_at_dequeue && self.left_behind(rules) {
            self.rare.marks += mark(&mut hand.packet);
        }
        self.transmit(now.max(self.busy_until), &mut hand, wires);
        started.again = self.arm(now);
        started
    }

    /// Takes held queue `q` for `owner` if it is free: it stays taken, even if the packet in hand is then dropped, until
    /// it has been released and drained. Was it free?
    pub fn take(&mut self, q: Queue, owner: Option<FlowKey>) -> bool {
        let lane = self.lanes.as_mut().and_then(|lanes| lanes.held.get_mut(usize::from(q.0)));
        let lane = lane.expect("held queues are declared in the layout");
        if lane.taken {
            return false;
        }
        lane.taken = true;
        lane.owner = owner;
        true
    }

    /// Parks an admitted packet in held queue `q`, which is taken.
    pub fn hold(&mut self, q: Queue, hand: &mut InHand, found: Found) {
        if found.mark {
            self.rare.marks += mark(&mut hand.packet);
        }
        let Some(lanes) = self.lanes.as_mut() else { return };
        self.waiting.bytes += u64::from(hand.packet.wire);
        self.waiting.packets += 1;
        lanes.held[usize::from(q.0)].packets.push_back(std::mem::take(hand));
    }

    /// Lets held queue `q` go behind everything now in the default queue. Returns when a transmit-done event is first
    /// needed, and the drained queue at once if it was empty.
    pub fn release(&mut self, now: Time, q: Queue) -> Started {
        let Some(lanes) = self.lanes.as_mut() else { return Started::default() };
        let Some(lane) = lanes.held.get_mut(usize::from(q.0)) else { return Started::default() };
        if lane.released {
            return Started::default();
        }
        if lane.packets.is_empty() {
            return Started { drained: lane.taken.then(|| (q, lane.free())), again: None };
        }
        lane.released = true;
        lanes.queue.push_back(Item::Lane(q.0));
        Started { drained: None, again: self.arm(now) }
    }

    /// A held queue that nobody has taken.
    pub fn free_queue(&self) -> Option<Queue> {
        let lanes = self.lanes.as_ref()?;
        let free = lanes.held.iter().position(|lane| !lane.taken)?;
        Some(Queue(free as u16))
    }

    /// Packets the port itself still keeps (commit-at-start ports).
    pub fn kept(&self) -> impl Iterator<Item = &Packet> {
        self.lanes.iter().flat_map(|lanes| {
            let queued = lanes.queue.iter().filter_map(|item| match item {
                Item::Packet(hand) => Some(&hand.packet),
                Item::Lane(_) => None,
            });
            queued.chain(lanes.held.iter().flat_map(|lane| lane.packets.iter().map(|hand| &hand.packet)))
        })
    }

    /// Ends the account at `stop`: what would have started then or later was never sent.
    pub fn finish(&mut self, stop: Time, rules: &Rules, wires: &mut Wires) -> Counters {
        self.settle(stop - Span(1), rules, wires);
        // On a commit-at-start port what waits was never committed.
        let unsent = if self.lanes.is_none() { self.waiting } else { Waiting::default() };
        Counters {
            packets: self.packets - u64::from(unsent.packets),
            bytes: self.bytes - unsent.bytes,
            drops: self.rare.drops,
            dropped_bytes: self.rare.dropped_bytes,
            marks: self.rare.marks,
            busy: self.busy_by(stop),
            longest_queue: self.longest_queue,
        }
    }

    /// Time spent sending up to `now`, exactly.
    pub fn busy_by(&self, now: Time) -> Span {
        let committed = if self.line.is_whole() { self.line.whole(self.bytes) } else { self.rare.busy };
        committed - self.busy_until.since(now)
    }
}

/// Sets CE on an ECN-capable packet; 1 if it was not set before.
#[inline]
fn mark(packet: &mut Packet) -> u64 {
    if packet.is(ECT) && !packet.is(CE) {
        packet.flags |= CE;
        1
    } else {
        0
    }
}
