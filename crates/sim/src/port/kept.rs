//! A port that commits at the start of transmission: its packets wait in [`Lanes`] until then.

use super::{Counters, Counts, Drained, Found, Freed, Lane, Lanes, Lost, Next, Released, Rules, Waiting};
use crate::line::Line;
use crate::link::Wires;
use crate::packet::{BODY, Body, InHand, Packet};
use crate::series::Counted;
use crate::telemetry::{self, Hop};
use spinewise_policy::{FlowKey, Kind, Queue, Span, Time};

/// Whether a packet that starts is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Yes, whatever the port's own rules say.
    CalledFor,
    /// According to the port's rules.
    AsRulesSay,
}

/// A port that keeps its packets until their transmission starts.
#[derive(Debug)]
#[repr(C)] // The line occupies one cache line, at the same place in all kinds of ports.
pub struct Kept {
    pub(super) line: Line,
    pub(super) lanes: Box<Lanes>,
    pub(super) waiting: Waiting,
    /// The instant from which on it serves any packet at once if nothing waits: its one data queue is not paused.
    open_from: Time,
    pub(super) counts: Counts,
    class: u16,
    /// Control goes on the link as it is queued: see [`ahead`](super::ahead).
    pub(super) commits_control: bool,
    /// Data without room is trimmed: see [`trimming`](super::trimming). The rules are in the lanes; most packets only
    /// need to know whether there are any, and need not load them.
    pub(super) trims: bool,
    /// It writes telemetry into data that leaves.
    stamps: bool,
}

impl Kept {
    /// A port on a line, with these queues and rules of this class.
    pub fn new(line: Line, lanes: Lanes, class: u16) -> Kept {
        Kept {
            line,
            open_from: if lanes.has_one_data_queue() { Time::ZERO } else { Time::NEVER },
            lanes: Box::new(lanes),
            waiting: Waiting::default(),
            counts: Counts::default(),
            class,
            commits_control: false,
            trims: false,
            stamps: false,
        }
    }

    /// Makes the port write [telemetry] into the headers of data that leaves.
    pub fn with_stamps(self) -> Kept {
        Kept { stamps: true, ..self }
    }

    /// The line it sends on.
    #[inline(always)]
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Index of the [`AllRules`](super::AllRules) that apply to it.
    #[inline(always)]
    pub fn class(&self) -> u16 {
        self.class
    }

    /// Its queues.
    #[inline(always)]
    pub fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// Drop-tail: may a packet of `bytes` join the queue as found at `now`? Held packets also fill the buffer, though
    /// they are no part of the queue found. A packet for held queue `into` does not leave by a free line, so only a
    /// port that holds nothing must take it.
    pub fn admit(&mut self, now: Time, bytes: u32, into: Option<Queue>, rules: &Rules) -> Option<Found> {
        let busy = now < self.line.free_at();
        let waiting = self.waiting;
        let queue = waiting.queue(busy, rules);
        self.counts.found(queue.0);
        let held = self.lanes.held_in_all();
        let above = |device: u32| {
            let below = waiting.packets.min(device);
            (waiting.bytes - self.lanes.bytes_of_first(below as usize), waiting.packets - below)
        };
        let stays = busy || waiting.packets > 0 || (into.is_some() && held.1 > 0);
        let found = rules.judge(queue, held, stays, bytes, above);
        if found.is_none() {
            self.counts.refuse(bytes);
        }
        found
    }

    /// Notes that an arrival found `bytes` queued.
    #[inline]
    pub fn note_queue(&mut self, bytes: u64) {
        self.counts.found(bytes);
    }

    /// Counts a packet of `bytes` that found no room.
    pub fn refuse(&mut self, bytes: u32) {
        self.counts.refuse(bytes);
    }

    /// Whether anything waits, apart from held packets.
    #[inline]
    pub fn waits(&self) -> bool {
        self.waiting.packets > 0
    }

    /// Whether a packet that joins any queue would start at once if the line is free at `now`.
    #[inline]
    pub fn passes(&self, now: Time) -> bool {
        self.waiting.packets == 0 && self.open_from <= now
    }

    /// Puts a packet on the line of a port that it [passes](Self::passes), as if it had been [kept](Self::keep) first.
    #[inline]
    pub fn pass(&mut self, now: Time, hand: &mut InHand, rules: &Rules, wires: &mut Wires) {
        self.waiting.serving = u32::from(hand.packet.wire);
        if self.waiting.marks_at_dequeue(rules) {
            self.counts.mark(&mut hand.packet);
        }
        self.transmit(now.max(self.line.free_at()), hand, wires);
    }

    /// Puts a packet on the line at `start`, which must not be before the line is free.
    #[inline(always)]
    pub(super) fn transmit(&mut self, start: Time, hand: &mut InHand, wires: &mut Wires) {
        let arrives = self.line.send(start, u32::from(hand.packet.wire), wires);
        let slot = wires.slot(self.line.link, arrives);
        *slot = hand.packet;
        slot.at = arrives;
        if hand.packet.is(BODY) {
            if let (true, Some(body)) = (self.stamps, &mut hand.body) {
                self.stamp(start, &hand.packet, body);
            }
            wires.push_body(self.line.link, hand.body.take());
        }
    }

    /// Writes the port's telemetry into the body of data that starts.
    #[cold]
    fn stamp(&self, start: Time, packet: &Packet, body: &mut Body) {
        if packet.kind == Kind::Data {
            let hop = Hop {
                link: self.line.link,
                at: start,
                sent: self.line.sent().1 - u64::from(packet.wire),
                queue: self.waiting.bytes as u32,
                rate: self.line.rate(start),
            };
            telemetry::stamp(body, &hop);
        }
    }

    /// Queues an admitted packet, which came by `in_port`.
    #[inline]
    pub fn keep(&mut self, lane: Lane, hand: &mut InHand, in_port: u16, found: Found) {
        if found.mark {
            self.counts.mark(&mut hand.packet);
        }
        self.waiting.join(u64::from(hand.packet.wire), 1);
        self.lanes.push(lane, hand, in_port);
    }

    /// Queues a pause frame ahead of everything else. Returns whether it is an additional frame, not a replacement.
    pub fn keep_pause(&mut self, frame: &Packet) -> bool {
        let more = self.lanes.push_pause(frame);
        if more {
            self.waiting.join(u64::from(frame.wire), 1);
        }
        more
    }

    /// Pauses a data queue until `until`, or resumes it if that is not in the future.
    pub fn pause(&mut self, priority: u8, now: Time, until: Time) {
        self.lanes.pause(priority, now, until);
        if self.lanes.has_one_data_queue() && priority == 0 {
            self.open_from = until;
        }
    }

    /// Returns the packet that starts next at `now`: see [`Lanes::next`].
    #[inline(always)]
    pub fn next(&self, now: Time) -> Option<Next> {
        self.lanes.next(now)
    }

    /// Puts the packet that starts [next](Self::next) on the line, which is free at `now`, marking it according to
    /// `mark` or the rules.
    #[inline]
    pub fn send_next(&mut self, now: Time, next: Next, mark: Mark, rules: &Rules, wires: &mut Wires) {
        let Next { lane, wire, .. } = next;
        self.waiting.start(wire);
        let marks = mark == Mark::CalledFor || self.waiting.marks_at_dequeue(rules);
        let start = now.max(self.line.free_at());
        let arrives = self.line.send(start, wire, wires);
        let slot = wires.slot(self.line.link, arrives);
        let body = self.lanes.pop_into(lane, slot);
        slot.at = arrives;
        if marks {
            self.counts.mark(slot);
        }
        if let Some(mut body) = body {
            if self.stamps {
                self.stamp(start, slot, &mut body);
            }
            wires.push_body(self.line.link, Some(body));
        }
    }

    /// When the planned transmit-done event is due, [`Time::NEVER`] if none is.
    #[inline(always)]
    pub fn armed(&self) -> Time {
        self.lanes.armed
    }

    /// Records when that event is due.
    #[inline(always)]
    pub fn arm(&mut self, at: Time) {
        self.lanes.armed = at;
    }

    /// Takes a waiting packet, which may be held or paused, because it is lost: see [`Lanes::lose`].
    pub fn lose(&mut self) -> Option<Lost> {
        let lost = self.lanes.lose()?;
        if !lost.was_held {
            self.waiting.leave(u64::from(lost.packet.wire));
        }
        Some(lost)
    }

    /// Takes held queue `q` for `owner`: it stays taken until it has been released and drained, even if the packet in
    /// hand is dropped. Returns whether it was free.
    pub fn take(&mut self, q: Queue, owner: Option<FlowKey>) -> bool {
        self.lanes.held.take(q, owner)
    }

    /// Parks an admitted packet, which came by `in_port`, in held queue `q`, which is taken.
    pub fn hold(&mut self, q: Queue, hand: &mut InHand, in_port: u16, found: Found) {
        if found.mark {
            self.counts.mark(&mut hand.packet);
        }
        self.lanes.held.hold(q, hand, in_port);
    }

    /// Releases a held queue.
    pub fn release(&mut self, q: Queue) -> Released {
        let released = self.lanes.release(q);
        if let Released::Joined { joined, packets, .. } = released {
            self.waiting.join(joined, packets);
        }
        released
    }

    /// Takes the first packet of held queue `q` out of the port; if there is none, frees the queue.
    ///
    /// # Errors
    /// The queue that is then free.
    pub fn unhold(&mut self, q: Queue) -> Result<InHand, Drained> {
        self.lanes.held.unhold(q)
    }

    /// A held queue that has drained from this data queue, if there is one left.
    #[inline]
    pub fn drained(&mut self, lane: Lane) -> Option<Drained> {
        self.lanes.drained(lane)
    }

    /// See [`Port::queue`](super::Port::queue).
    pub fn queue(&self, now: Time, freed: Freed, rules: &Rules, wires: &Wires) -> (u64, u32) {
        let (bytes, packets) = self.waiting.queue(now < self.line.free_at(), rules);
        let (ahead, ahead_bytes) = self.ahead(now, freed, wires);
        (bytes + ahead_bytes, packets + ahead as u32)
    }

    /// See [`Port::queueing_delay`](super::Port::queueing_delay).
    pub fn queueing_delay(&self, now: Time) -> Span {
        let rest = self.line.free_at().since(now);
        if self.waiting.packets == 0 {
            return rest;
        }
        // Treated as one packet, which ends when the last of them would: the remainder of a division carries over
        // within a busy period.
        rest + self.line.would_take(now, self.waiting.bytes)
    }

    /// See [`Port::rests_from`](super::Port::rests_from).
    #[inline]
    pub fn rests_from(&self, from: Time) -> bool {
        self.line.free_at() <= from && self.waiting.packets == 0
    }

    /// See [`Port::finish`](super::Port::finish).
    pub fn finish(&mut self, stop: Time, wires: &Wires) -> Counters {
        // Only control, of the waiting packets, was committed.
        let (ahead, ahead_bytes) = self.ahead(stop - Span(1), Freed::Already, wires);
        let (packets, bytes) = self.line.sent();
        let sent = (packets - ahead as u64, bytes - ahead_bytes);
        self.counts.close(&self.line, stop, sent, self.lanes.paused_by(stop))
    }

    /// See [`Port::counted`](super::Port::counted).
    pub fn counted(&self, now: Time) -> Counted {
        self.counts.counted(&self.line, now, self.lanes.paused_by(now).0)
    }
}
