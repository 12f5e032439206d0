//! A FIFO port: its queue is the tail of the link's ring.
//!
//! A packet goes on the link as it is queued. The contents of the queue at any instant follow from the starts of
//! transmission that lie ahead, and are computed only where an upper bound does not settle the question.

use super::{Counters, Counts, Found, Rules, Waiting};
use crate::line::Line;
use crate::link::Wires;
use crate::packet::{InHand, Packet};
use crate::ring::Ring;
use crate::series::Counted;
use spinewise_policy::{Span, Time};

/// A port that commits a packet as it is queued.
#[derive(Debug)]
#[repr(C)] // The line occupies one cache line, at the same place in all kinds of ports.
pub struct Fifo {
    line: Line,
    queue: Queue,
    pub(super) counts: Counts,
    class: u16,
}

/// The queue as of the last look and what has joined since: the last packets of the link's ring. Some may have started
/// in the meantime, or even arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    waiting: Waiting,
    /// When the first of them starts.
    next_start: Time,
}

impl Queue {
    /// Also forgets packets that have left the link: the first of those still there has started.
    #[inline]
    fn forget_arrived(&mut self, flying: &Ring<Packet>) {
        if self.waiting.packets as usize > flying.len() {
            self.waiting.packets = flying.len() as u32;
            self.waiting.bytes = flying.iter().map(|packet| u64::from(packet.wire)).sum();
            self.next_start = Time::ZERO;
        }
    }

    /// Lets the first packet start if it does so by `now`. The one behind it starts as the first ends, having waited
    /// for that.
    #[inline]
    fn start(&mut self, now: Time, flying: &Ring<Packet>, delay: Span) -> bool {
        if self.waiting.packets == 0 || self.next_start > now {
            return false;
        }
        let first = flying.get(flying.len() - self.waiting.packets as usize);
        self.waiting.start(u32::from(first.wire));
        self.next_start = first.at - delay;
        true
    }
}

impl Fifo {
    /// A port on a line that keeps its delay, with rules of this class.
    pub fn new(line: Line, class: u16) -> Fifo {
        Fifo { line, queue: Queue::default(), counts: Counts::default(), class }
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

    /// Drop-tail: whether a packet of `bytes` may join the queue as found at `now`. A port whose line is free always
    /// takes one.
    ///
    /// The state of the queue known without a look is an upper bound: packets that have started in the meantime still
    /// count. If even that calls for nothing, no look is needed.
    #[inline(always)]
    pub fn admit(&mut self, now: Time, bytes: u32, rules: &Rules, wires: &mut Wires) -> Option<Found> {
        let Waiting { bytes: queued, packets, serving } = self.queue.waiting;
        let most = queued + if rules.counts_in_service { u64::from(serving) } else { 0 };
        let quiet = packets < rules.lazy_packets
            && most + u64::from(bytes) <= rules.lazy_bytes
            && most <= self.counts.longest_queue;
        if quiet {
            return Some(Found::default());
        }
        self.admit_exactly(now, bytes, rules, wires)
    }

    /// [`Fifo::admit`] after a look, with exact values.
    fn admit_exactly(&mut self, now: Time, bytes: u32, rules: &Rules, wires: &mut Wires) -> Option<Found> {
        self.settle(now, rules, wires);
        let busy = now < self.line.free_at();
        let waiting = self.queue.waiting;
        let queue = waiting.queue(busy, rules);
        self.counts.found(queue.0);
        let above = |device: u32| {
            let below = waiting.packets.min(device);
            let flying = wires.ring(self.line.link);
            let first = flying.len() - waiting.packets as usize;
            let bytes: u64 = (first..first + below as usize).map(|n| u64::from(flying.get(n).wire)).sum();
            (waiting.bytes - bytes, waiting.packets - below)
        };
        let stays = busy || waiting.packets > 0;
        let found = rules.judge(queue, (0, 0), stays, bytes, above);
        if found.is_none() {
            self.counts.refuse(bytes);
        }
        found
    }

    /// Commits an admitted packet.
    #[inline(always)]
    pub fn enqueue(&mut self, now: Time, hand: &mut InHand, found: Found, rules: &Rules, wires: &mut Wires) {
        if found.mark {
            self.counts.mark(&mut hand.packet);
        }
        let bytes = u32::from(hand.packet.wire);
        let start = self.line.free_at().max(now);
        if start > now {
            if self.queue.waiting.packets == 0 {
                self.queue.next_start = start;
            }
            self.queue.waiting.join(u64::from(bytes), 1);
        } else {
            // The line was free, so everything that waited has started.
            self.queue.waiting = Waiting { serving: bytes, ..Waiting::default() };
            if self.queue.waiting.marks_at_dequeue(rules) {
                self.counts.mark(&mut hand.packet);
            }
        }
        let arrives = self.line.send(start, bytes, wires);
        wires.push(self.line.link, hand, arrives);
    }

    /// Takes the packets that have started by `now` off the queue, marking at dequeue where the rules require it.
    #[inline(always)]
    pub fn settle(&mut self, now: Time, rules: &Rules, wires: &mut Wires) {
        if self.queue.waiting.packets > 0 {
            self.settle_waiting(now, rules, wires);
        }
    }

    fn settle_waiting(&mut self, now: Time, rules: &Rules, wires: &mut Wires) {
        let link = self.line.link;
        self.queue.forget_arrived(wires.ring(link));
        while self.queue.start(now, wires.ring(link), self.line.delay()) {
            if self.queue.waiting.marks_at_dequeue(rules) {
                self.counts.mark(wires.ring_mut(link).nth_back_mut(self.queue.waiting.packets as usize));
            }
        }
    }

    /// When the first waiting packet starts.
    pub fn next_start(&self) -> Time {
        if self.queue.waiting.packets > 0 { self.queue.next_start } else { Time::NEVER }
    }

    /// See [`Port::queue`](super::Port::queue).
    pub fn queue(&self, now: Time, rules: &Rules, wires: &Wires) -> (u64, u32) {
        let mut queue = self.queue;
        if queue.waiting.packets > 0 {
            let flying = wires.ring(self.line.link);
            queue.forget_arrived(flying);
            while queue.start(now, flying, self.line.delay()) {}
        }
        queue.waiting.queue(now < self.line.free_at(), rules)
    }

    /// See [`Port::queueing_delay`](super::Port::queueing_delay).
    pub fn queueing_delay(&self, now: Time) -> Span {
        self.line.free_at().since(now)
    }

    /// See [`Port::rests_from`](super::Port::rests_from).
    #[inline]
    pub fn rests_from(&self, from: Time) -> bool {
        // A waiting packet starts before the line is free; it may not have been examined since.
        self.line.free_at() <= from
    }

    /// See [`Port::finish`](super::Port::finish).
    pub fn finish(&mut self, stop: Time, rules: &Rules, wires: &mut Wires) -> Counters {
        self.settle(stop - Span(1), rules, wires);
        let (unsent, (packets, bytes)) = (self.queue.waiting, self.line.sent());
        let sent = (packets - u64::from(unsent.packets), bytes - unsent.bytes);
        self.counts.close(&self.line, stop, sent, (0, 0))
    }

    /// See [`Port::counted`](super::Port::counted).
    pub fn counted(&mut self, now: Time, rules: &Rules, wires: &mut Wires) -> Counted {
        if rules.mark_at_dequeue {
            self.settle(now, rules, wires);
        }
        self.counts.counted(&self.line, now, 0)
    }
}
