//! Egress ports of switches: a drop-tail queue and a line.
//!
//! A *FIFO* port commits a packet at once: the departure of a packet is known when it is queued, so it goes into the
//! link's ring there and then, and one event per hop is all there is. What the queue holds at any instant follows from
//! the starts of transmission that lie ahead. A *commit-at-start* port keeps its packets until their transmission
//! starts, which costs a transmit-done event whenever something waits; it is what held queues need. Both give the same
//! results where both can serve.

mod ahead;
mod lanes;
mod pausing;
mod rules;

use crate::line::Line;
use crate::link::Wires;
use crate::packet::{CE, ECT, InHand, Packet};
use crate::ring::Ring;
use crate::series::Counted;
pub use lanes::{Drained, Lane, Lanes, Lost, Next, Released};
pub use pausing::Pausing;
pub use rules::{AllRules, Rules};
use spinewise_policy::{Queue, Span, Time};

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
    /// For how long, in ps, and how often its data queues were paused by priority flow control.
    pub paused: (u64, u64),
}

/// What an admitted packet found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    mark: bool,
}

/// An egress port: two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port {
    line: Line,
    lanes: Option<Box<Lanes>>,
    /// The queue of a FIFO port as last looked at and what has joined since: the last packets of the link's
    /// ring, and the start of the first of them. Some may have started in the meantime, or even arrived.
    waiting: Waiting,
    /// A commit-at-start port serves any packet at once from then on, if nothing waits: its one data queue is not paused.
    open_from: Time,
    /// Control goes on the link as it is queued: see [`ahead`].
    commits_control: bool,
    /// Which of [`AllRules`] are its own.
    class: u16,
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
#[derive(Debug, Default)]
struct Rare {
    drops: u64,
    dropped_bytes: u64,
    marks: u64,
}

impl Port {
    /// A FIFO port on a line, or with `lanes` one that commits at the start of transmission, as a line that changes its
    /// delay must have.
    pub fn new(line: Line, lanes: Option<Lanes>) -> Self {
        let one_queue = lanes.as_ref().is_some_and(Lanes::has_one_data_queue);
        Port {
            line,
            open_from: if one_queue { Time::ZERO } else { Time::NEVER },
            commits_control: false,
            class: 0,
            waiting: Waiting::default(),
            lanes: lanes.map(Box::new),
            longest_queue: 0,
            rare: Box::default(),
        }
    }

    /// With rules of this class.
    pub fn in_class(self, class: u16) -> Self {
        Self { class, ..self }
    }

    /// What it sends on.
    #[inline(always)]
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Bytes and packets queued at `now`, by the convention of `rules`; every transmission that starts at or before
    /// `now` has left the queue; of control, one that starts `now` only if its line has been `freed`.
    pub fn queue(&self, now: Time, freed: bool, rules: &Rules, wires: &Wires) -> (u64, u32) {
        let mut waiting = self.waiting;
        if self.lanes.is_none() && waiting.packets > 0 {
            let flying = wires.ring(self.line.link);
            waiting.forget_arrived(flying);
            while waiting.start(now, flying, self.line.delay()) {}
        }
        if rules.counts_in_service && now < self.line.free_at() {
            waiting.bytes += u64::from(waiting.serving);
            waiting.packets += 1;
        }
        let (packets, bytes) = self.ahead(now, freed, wires);
        (waiting.bytes + bytes, waiting.packets + packets as u32)
    }

    /// How long a packet that joins the queue at `now` waits for its transmission, if nothing pauses the port.
    pub fn queueing_delay(&self, now: Time) -> Span {
        let rest = self.line.free_at().since(now);
        if self.lanes.is_none() || self.waiting.packets == 0 {
            return rest;
        }
        // As one packet, which ends when the last of them would: what a division leaves is carried within a busy period.
        rest + self.line.would_take(now, self.waiting.bytes)
    }

    /// Takes what has started by `now` off the queue of a FIFO port, marking at dequeue where the rules say so.
    #[inline(always)]
    pub fn settle(&mut self, now: Time, rules: &Rules, wires: &mut Wires) {
        if self.waiting.packets > 0 && self.lanes.is_none() {
            self.settle_waiting(now, rules, wires);
        }
    }

    fn settle_waiting(&mut self, now: Time, rules: &Rules, wires: &mut Wires) {
        self.waiting.forget_arrived(wires.ring(self.line.link));
        while self.waiting.start(now, wires.ring(self.line.link), self.line.delay()) {
            if rules.mark_at_dequeue && self.left_behind(rules) {
                let packet = wires.ring_mut(self.line.link).nth_back_mut(self.waiting.packets as usize);
                self.rare.marks += mark(packet);
            }
        }
    }

    /// Reads what the next packet will need, to have it in the cache.
    #[inline]
    pub fn touch(&self, wires: &Wires) -> u64 {
        let ring = wires.ring(self.line.link);
        let room = (0..4).fold(0, |touched, i| touched ^ ring.room(i).map_or(0, |slot| slot.seq));
        self.line.free_at().0 ^ room
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
        if quiet {
            return Some(Found { mark: false });
        }
        self.admit_exactly(now, bytes, false, rules, wires)
    }

    /// [`Port::admit`] for any port, with what is known. What held queues keep fills the buffer too, though it is no part
    /// of the queue found; a packet `to_hold` does not leave by a free line, so only a port that holds nothing must take it.
    pub fn admit_exactly(
        &mut self,
        now: Time,
        bytes: u32,
        to_hold: bool,
        rules: &Rules,
        wires: &mut Wires,
    ) -> Option<Found> {
        self.settle(now, rules, wires);
        let (mut queued, mut packets) = (self.waiting.bytes, self.waiting.packets);
        let (held_bytes, held_packets) = self.lanes.as_ref().map_or((0, 0), |lanes| lanes.held_in_all());
        let stays = now < self.line.free_at() || packets > 0 || (to_hold && held_packets > 0);
        if rules.counts_in_service && now < self.line.free_at() {
            queued += u64::from(self.waiting.serving);
            packets += 1;
        }
        self.longest_queue = self.longest_queue.max(queued);
        let full = |queued: u64, packets: u32| {
            packets.saturating_add(held_packets) >= rules.max_packets
                || queued + held_bytes + u64::from(bytes) > rules.max_bytes
        };
        if rules.device_packets > 0 && (full(queued, packets) || rules.marks(queued, packets)) {
            (queued, packets) = self.above_device(rules.device_packets, wires);
        }
        if stays && full(queued, packets) {
            self.refuse(bytes);
            return None;
        }
        Some(Found { mark: !rules.mark_at_dequeue && rules.marks(queued, packets) })
    }

    /// Bytes and packets that wait behind the first `device` of those that wait.
    #[cold]
    fn above_device(&self, device: u32, wires: &Wires) -> (u64, u32) {
        let Waiting { bytes, packets, .. } = self.waiting;
        let below = packets.min(device);
        let in_device: u64 = match &self.lanes {
            Some(lanes) => lanes.bytes_of_first(below as usize),
            None => {
                let flying = wires.ring(self.line.link);
                let first = flying.len() - packets as usize;
                (first..first + below as usize).map(|n| u64::from(flying.get(n).wire)).sum()
            }
        };
        (bytes - in_device, packets - below)
    }

    /// Commits an admitted packet on a FIFO port.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, hand: &mut InHand, found: Found, rules: &Rules, wires: &mut Wires) {
        if found.mark {
            self.rare.marks += mark(&mut hand.packet);
        }
        let bytes = u32::from(hand.packet.wire);
        let start = self.line.free_at().max(now);
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
    }

    /// Puts a packet on the line at `start`, which must not be before the line is free.
    #[inline(always)]
    fn transmit(&mut self, start: Time, hand: &mut InHand, wires: &mut Wires) {
        let arrives = self.line.send(start, u32::from(hand.packet.wire), wires);
        wires.push(self.line.link, hand, arrives);
    }

    /// The queues of a commit-at-start port.
    #[inline]
    pub fn lanes(&self) -> Option<&Lanes> {
        self.lanes.as_deref()
    }

    /// The queues of a commit-at-start port, which this must be.
    #[inline]
    pub fn kept(&mut self) -> &mut Lanes {
        self.lanes.as_deref_mut().expect("a port of a switch that keeps its packets")
    }

    /// Does the port send nothing from `from` on, and does nothing wait there?
    #[inline]
    pub fn rests_from(&self, from: Time) -> bool {
        // What waits at a FIFO port starts before the line is free; it may not have been looked at since.
        self.line.free_at() <= from && (self.lanes.is_none() || self.waiting.packets == 0)
    }

    /// Does anything wait at a commit-at-start port that is not held?
    #[inline]
    pub fn waits(&self) -> bool {
        self.waiting.packets > 0
    }

    /// Queues an admitted packet, which came by `in_port`, on a commit-at-start port.
    #[inline]
    pub fn keep(&mut self, lane: Lane, hand: &mut InHand, in_port: u16, found: Found) {
        if found.mark {
            self.rare.marks += mark(&mut hand.packet);
        }
        self.waiting.bytes += u64::from(hand.packet.wire);
        self.waiting.packets += 1;
        self.kept().push(lane, hand, in_port);
    }

    /// Queues a pause frame on a commit-at-start port, before everything else. Is it one more, or does it take the place
    /// of one?
    pub fn keep_pause(&mut self, frame: &Packet) -> bool {
        let more = self.kept().push_pause(frame);
        if more {
            self.waiting.bytes += u64::from(frame.wire);
            self.waiting.packets += 1;
        }
        more
    }

    /// Would a packet that joins any queue of a commit-at-start port start at once if its line is free at `now`?
    #[inline]
    pub fn passes(&self, now: Time) -> bool {
        self.waiting.packets == 0 && self.open_from <= now
    }

    /// Pauses a data queue of a commit-at-start port until `until`, or lets it go if that is not in the future.
    pub fn pause(&mut self, priority: u8, now: Time, until: Time) {
        let lanes = self.kept();
        lanes.pause(priority, now, until);
        if lanes.has_one_data_queue() && priority == 0 {
            self.open_from = until;
        }
    }

    /// Puts a packet on the line of a port that [`Port::passes`] it, as if [kept](Port::keep) before.
    #[inline]
    pub fn pass(&mut self, now: Time, hand: &mut InHand, rules: &Rules, wires: &mut Wires) {
        self.waiting.serving = u32::from(hand.packet.wire);
        if rules.mark_at_dequeue && self.left_behind(rules) {
            self.rare.marks += mark(&mut hand.packet);
        }
        self.transmit(now.max(self.line.free_at()), hand, wires);
    }

    /// Puts what starts [next](Lanes::next) on a commit-at-start port, whose line is free at `now`, on the line, marking it
    /// as told or as the rules say.
    #[inline]
    pub fn send_next(&mut self, now: Time, next: Next, called_for: bool, rules: &Rules, wires: &mut Wires) {
        let Next { lane, wire, .. } = next;
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(wire);
        self.waiting.serving = wire;
        let marks = called_for || (rules.mark_at_dequeue && self.left_behind(rules));
        let start = now.max(self.line.free_at());
        let arrives = self.line.send(start, wire, wires);
        let slot = wires.slot(self.line.link, arrives);
        let body = self.kept().pop_into(lane, slot);
        slot.at = arrives;
        if marks {
            self.rare.marks += mark(slot);
        }
        if body.is_some() {
            wires.push_body(self.line.link, body);
        }
    }

    /// Takes a packet that waits at a commit-at-start port, whether held or paused, as it is lost: see [`Lanes::lose`].
    pub fn lose(&mut self) -> Option<Lost> {
        let lost = self.kept().lose()?;
        if !lost.was_held {
            self.waiting.packets -= 1;
            self.waiting.bytes -= u64::from(lost.packet.wire);
        }
        Some(lost)
    }

    /// Parks an admitted packet, which came by `in_port`, in held queue `q`, which is taken.
    pub fn hold(&mut self, q: Queue, hand: &mut InHand, in_port: u16, found: Found) {
        if found.mark {
            self.rare.marks += mark(&mut hand.packet);
        }
        self.kept().hold(q, hand, in_port);
    }

    /// Lets a held queue go.
    pub fn release(&mut self, q: Queue) -> Released {
        let released = self.lanes.as_deref_mut().map_or(Released::Nothing, |lanes| lanes.release(q));
        if let Released::Joined { joined, packets, .. } = released {
            self.waiting.bytes += joined;
            self.waiting.packets += packets;
        }
        released
    }

    /// Notes that an arrival found `bytes` queued.
    #[inline]
    pub fn note_queue(&mut self, bytes: u64) {
        self.longest_queue = self.longest_queue.max(bytes);
    }

    /// Counts a packet of `bytes` that found no room.
    pub fn refuse(&mut self, bytes: u32) {
        self.rare.drops += 1;
        self.rare.dropped_bytes += u64::from(bytes);
    }

    /// Ends the account at `stop`: what would have started then or later was never sent.
    pub fn finish(&mut self, stop: Time, rules: &Rules, wires: &mut Wires) -> Counters {
        self.settle(stop - Span(1), rules, wires);
        // On a commit-at-start port only control was committed of what waits.
        let unsent = if self.lanes.is_none() { self.waiting } else { Waiting::default() };
        let (ahead, ahead_bytes) = self.ahead(stop - Span(1), true, wires);
        let (packets, bytes) = self.line.sent();
        Counters {
            packets: packets - u64::from(unsent.packets) - ahead as u64,
            bytes: bytes - unsent.bytes - ahead_bytes,
            drops: self.rare.drops,
            dropped_bytes: self.rare.dropped_bytes,
            marks: self.rare.marks,
            busy: self.line.busy_by(stop),
            longest_queue: self.longest_queue,
            paused: self.lanes.as_ref().map_or((0, 0), |lanes| lanes.paused_by(stop)),
        }
    }

    /// What has been counted by `now`, behind all else of that instant.
    pub fn counted(&mut self, now: Time, rules: &Rules, wires: &mut Wires) -> Counted {
        if rules.mark_at_dequeue {
            self.settle(now, rules, wires);
        }
        Counted {
            busy: self.line.busy_by(now),
            marks: self.rare.marks,
            drops: self.rare.drops,
            paused: self.lanes.as_ref().map_or(0, |lanes| lanes.paused_by(now).0),
        }
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
