//! A port that trims and commits: a packet goes on the link as it is queued, control before data that waits.
//!
//! It does what a [`Kept`](super::Kept) port that trims does, without an event of its own. Data that waits is the tail
//! of the link's ring, as in a [`Fifo`](super::Fifo) port. Control gets a track of its own, ahead of data, so when data
//! arrives is known only once it starts. Starts of data and marks are determined on demand: when a packet arrives, and
//! at the end of a window, before a receiver may read them.

use super::trimming::{Instant, Trims};
use super::{Counters, Lane, Rare};
use crate::ids::LinkId;
use crate::line::Line;
use crate::link::Wires;
use crate::packet::InHand;
use crate::series::Counted;
use crate::trimming::TrimRules;
use spinewise_policy::{Span, Time};
use std::sync::Arc;

/// This many packets are prefetched.
const MOST_FETCHED: usize = 2;

/// A port that trims and commits a packet as it is queued.
#[derive(Debug)]
#[repr(C)] // The line occupies one cache line, at the same place in all kinds of ports.
pub struct Trimmer {
    line: Line,
    data: Data,
    rare: Box<Rare>,
    rules: Arc<TrimRules>,
}

/// Data as of the last look, and the packets that have joined since. The waiting packets are the last ones of the
/// link's ring, back to back.
#[derive(Clone, Copy, Debug)]
struct Data {
    /// When the first waiting packet starts, [`Time::NEVER`] if nothing waits.
    next_start: Time,
    /// When the packet that started last has been sent, [`Time::NEVER`] once that has been seen.
    sent_at: Time,
    /// Bytes and packets that wait.
    bytes: u32,
    packets: u32,
    /// Bytes of the packet that started last.
    serving: u32,
    /// Longest queue found at an arrival, of data or control, in bytes.
    longest: u32,
}

/// An event of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The first waiting packet has started, and leaves at this time.
    Started(Time),
    /// A packet has been sent; the waiting packets decide its mark.
    Sent,
}

impl Data {
    const NONE: Data =
        Data { next_start: Time::NEVER, sent_at: Time::NEVER, bytes: 0, packets: 0, serving: 0, longest: 0 };

    /// Whether anything happens by `now`.
    #[inline(always)]
    fn is_due(&self, now: Time) -> bool {
        self.next_start.min(self.sent_at) <= now
    }

    /// The next thing that happens by `now`. A packet has been sent before another starts.
    #[inline]
    fn step(&mut self, now: Time, line: &Line, wires: &Wires) -> Option<Step> {
        if self.sent_at <= now {
            self.sent_at = Time::NEVER;
            return Some(Step::Sent);
        }
        if self.next_start > now {
            return None;
        }
        let flying = wires.ring(line.link);
        let wire = flying.get(flying.len() - self.packets as usize).wire;
        self.leave(u32::from(wire));
        self.serving = u32::from(wire);
        self.sent_at = self.next_start + line.alone(wire);
        // The next packet in the ring starts as this one has been sent.
        self.next_start = if self.packets > 0 { self.sent_at } else { Time::NEVER };
        Some(Step::Started(self.sent_at))
    }

    /// The same as of `now`.
    #[inline]
    fn as_of(mut self, now: Time, line: &Line, wires: &Wires) -> Data {
        while self.step(now, line, wires).is_some() {}
        self
    }

    /// A packet of `bytes` no longer waits.
    #[inline]
    fn leave(&mut self, bytes: u32) {
        self.bytes -= bytes;
        self.packets -= 1;
    }

    /// Bytes that wait or are on the line.
    #[inline]
    fn bytes_with_sending(&self) -> u64 {
        let sending = if self.sent_at == Time::NEVER { 0 } else { self.serving };
        u64::from(self.bytes) + u64::from(sending)
    }

    /// An arrival found `bytes` queued.
    #[inline]
    fn found(&mut self, bytes: u32) {
        self.longest = self.longest.max(bytes);
    }

    /// When a line, which is free of everything from `free` on, is free of all but waiting data.
    #[inline]
    fn free_before(&self, free: Time) -> Time {
        if self.packets > 0 { self.next_start } else { free }
    }
}

/// Control as found at some instant.
#[derive(Clone, Copy, Debug, Default)]
struct Control {
    /// Packets and bytes that wait.
    packets: u32,
    bytes: u32,
    /// Bytes on the line.
    sending: u32,
}

impl Trimmer {
    /// A port on a line that it [can serve](Self::can_serve).
    pub fn new(line: Line, rules: Arc<TrimRules>) -> Trimmer {
        debug_assert!(Trimmer::can_serve(&line, &rules));
        Trimmer { line, data: Data::NONE, rare: Box::default(), rules }
    }

    /// Whether such a port can send on this line. A packet must always take the same time and must not arrive as it is
    /// sent. Bytes are counted up to 4 GB.
    pub fn can_serve(line: &Line, rules: &TrimRules) -> bool {
        let most = rules.room.max(rules.control_room).saturating_add(u64::from(u16::MAX));
        line.is_even() && line.delay() > Span::ZERO && most <= u64::from(u32::MAX)
    }

    /// The line it sends on.
    #[inline(always)]
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Prefetches data that waits, or only the first of it if there is much.
    #[inline]
    pub fn fetch_waiting(&self, wires: &Wires) {
        wires.ring(self.line.link).fetch_last(self.data.packets as usize, MOST_FETCHED);
    }

    /// Processes the packets that have started and those that have been sent by `now`, and sets the marks due.
    #[inline(always)]
    pub fn settle(&mut self, now: Time, wires: &mut Wires, roll: impl FnMut() -> f64) {
        if self.data.is_due(now) {
            self.settle_due(now, wires, roll);
        }
    }

    #[inline(always)]
    fn settle_due(&mut self, now: Time, wires: &mut Wires, mut roll: impl FnMut() -> f64) {
        while let Some(step) = self.data.step(now, &self.line, wires) {
            match step {
                Step::Started(leaves) => {
                    wires.start(self.line.link, self.data.packets as usize, leaves + self.line.delay());
                }
                Step::Sent if self.rules.ramp.is_some_and(|ramp| ramp.marks(u64::from(self.data.bytes), &mut roll)) => {
                    self.mark_last_data(wires);
                }
                Step::Sent => {}
            }
        }
    }

    /// Marks the data packet that was sent last, if it has not arrived.
    #[cold]
    fn mark_last_data(&mut self, wires: &mut Wires) {
        let ring = wires.ring_mut(self.line.link);
        let behind = self.data.packets as usize;
        if behind < ring.len() {
            self.rare.mark(ring.nth_back_mut(behind));
        }
    }

    /// Returns when the port must be checked if nothing else happens: when data starts, and when some has been sent if
    /// enough waits to mark it.
    #[inline]
    pub fn due(&self) -> Time {
        match &self.rules.ramp {
            Some(ramp) if u64::from(self.data.bytes) > ramp.min => self.data.sent_at.min(self.data.next_start),
            Some(_) | None => self.data.next_start,
        }
    }

    /// Queues a packet that certainly has room, where no packet has more than `largest` bytes. Returns whether it has
    /// been queued. The port must be [settled](Self::settle) up to `now`.
    #[inline(always)]
    pub fn takes(&mut self, now: Time, hand: &mut InHand, largest: u64, wires: &mut Wires) -> bool {
        if hand.packet.is_control() {
            let ample = self.has_ample_room(now, largest);
            if ample {
                self.commit_control(now, hand, wires);
            }
            return ample;
        }
        if self.line.free_at() > now {
            if self.data.bytes_with_sending() + u64::from(hand.packet.wire) > self.rules.room {
                return false;
            }
            self.data.found(self.data.bytes);
        }
        self.commit_data(now, hand, wires);
        true
    }

    /// Whether there is room for control, and the waiting queue is no longer than one found before. Both hold if the
    /// line is free of all but data soon enough.
    #[inline]
    fn has_ample_room(&self, now: Time, largest: u64) -> bool {
        let ahead = self.data.free_before(self.line.free_at()).since(now);
        // The packet on the line and the one that arrives.
        let room = self.rules.control_room.saturating_sub(2 * largest);
        ahead == Span::ZERO || ahead <= self.line.takes_at_least(room.min(u64::from(self.data.longest)))
    }

    /// Queues an admitted packet.
    #[inline(never)]
    pub fn commit(&mut self, now: Time, hand: &mut InHand, wires: &mut Wires) {
        if hand.packet.is_control() {
            self.commit_control(now, hand, wires)
        } else {
            self.commit_data(now, hand, wires)
        }
    }

    #[inline(always)]
    fn commit_data(&mut self, now: Time, hand: &mut InHand, wires: &mut Wires) {
        let (free, wire) = (self.line.free_at(), u32::from(hand.packet.wire));
        let arrives = self.line.send(free.max(now), wire, wires);
        if free > now {
            if self.data.packets == 0 {
                self.data.next_start = free;
            }
            self.data.bytes += wire;
            self.data.packets += 1;
            wires.push_waiting(self.line.link, hand);
        } else {
            self.data.serving = wire;
            self.data.sent_at = self.line.free_at();
            wires.push(self.line.link, hand, arrives);
        }
    }

    /// Puts control on the link, ahead of data that waits.
    #[inline(always)]
    fn commit_control(&mut self, now: Time, hand: &mut InHand, wires: &mut Wires) {
        let (free, wire) = (self.line.free_at(), u32::from(hand.packet.wire));
        let mut arrives = self.line.send(free.max(now), wire, wires);
        if self.data.packets > 0 {
            self.data.next_start += self.line.free_at().since(free);
            arrives = self.data.next_start + self.line.delay();
        }
        wires.push_ahead(self.line.link, hand, arrives);
    }

    /// Control as found at `now`, when data is `data`.
    fn control(&self, now: Time, data: &Data, wires: &Wires) -> Control {
        let mut found = Control::default();
        if data.free_before(self.line.free_at()) <= now {
            return found;
        }
        let ring = wires.ring_ahead(self.line.link);
        for packet in (0..ring.len()).rev().map(|n| ring.get(n)) {
            if self.line.left_at(packet) <= now {
                let sends = packet.at - self.line.delay() > now;
                found.sending = if sends { u32::from(packet.wire) } else { 0 };
                break;
            }
            found.packets += 1;
            found.bytes += u32::from(packet.wire);
        }
        found
    }

    /// Data as of `now`.
    fn data(&self, now: Time, wires: &Wires) -> Data {
        self.data.as_of(now, &self.line, wires)
    }

    /// Notes the queue that a packet for this lane finds.
    pub fn note_found(&mut self, now: Time, lane: Lane, wires: &Wires) {
        let data = self.data(now, wires);
        self.data.found(match lane {
            Lane::Data(_) => data.bytes,
            Lane::Pause | Lane::Control => self.control(now, &data, wires).bytes,
        });
    }

    /// Bytes of data and of control, including those on the line.
    pub fn occupancy(&self, now: Time, wires: &Wires) -> u64 {
        let data = self.data(now, wires);
        let control = self.control(now, &data, wires);
        data.bytes_with_sending() + u64::from(control.bytes + control.sending)
    }

    /// The room for data.
    pub fn room_for_data(&self) -> u64 {
        self.rules.room
    }

    /// See [`Port::queue`](super::Port::queue).
    pub fn queue(&self, now: Time, wires: &Wires) -> (u64, u32) {
        let data = self.data(now, wires);
        let control = self.control(now, &data, wires);
        (u64::from(data.bytes + control.bytes), data.packets + control.packets)
    }

    /// See [`Port::queueing_delay`](super::Port::queueing_delay).
    pub fn queueing_delay(&self, now: Time, wires: &Wires) -> Span {
        let data = self.data(now, wires);
        let rest = data.free_before(self.line.free_at()).since(now);
        // Treated as one packet, as ports that keep their packets do.
        rest + if data.packets == 0 { Span::ZERO } else { self.line.would_take(now, data.bytes.into()) }
    }

    /// See [`Port::rests_from`](super::Port::rests_from).
    #[inline]
    pub fn rests_from(&self, from: Time) -> bool {
        self.line.free_at() <= from
    }

    /// See [`Port::finish`](super::Port::finish). The port must be [settled](Self::settle) up to `stop`, exclusive.
    pub fn finish(&self, stop: Time, wires: &Wires) -> Counters {
        let (bytes, packets) = self.queue(stop - Span(1), wires);
        let sent = self.line.sent();
        let account = self.rare.close(&self.line, stop, (sent.0 - u64::from(packets), sent.1 - bytes));
        Counters { longest_queue: self.data.longest.into(), ..account }
    }

    /// See [`Port::counted`](super::Port::counted). The port must be [settled](Self::settle) up to `now`.
    pub fn counted(&self, now: Time) -> Counted {
        self.rare.counted(&self.line, now)
    }
}

impl Trims for Trimmer {
    fn link(&self) -> LinkId {
        self.line().link
    }

    fn rules(&self) -> Option<&TrimRules> {
        Some(&self.rules)
    }

    fn held(&self, (now, _): Instant, lane: Lane, wires: &Wires) -> u64 {
        let data = self.data(now, wires);
        match lane {
            Lane::Data(_) => data.bytes_with_sending(),
            Lane::Pause | Lane::Control => {
                let control = self.control(now, &data, wires);
                u64::from(control.bytes + control.sending)
            }
        }
    }

    fn is_idle(&self, now: Time) -> bool {
        self.line.free_at() <= now
    }

    fn rare(&mut self) -> &mut Rare {
        &mut self.rare
    }

    fn take_last(&mut self, wires: &mut Wires) -> Option<(InHand, u16)> {
        if self.data.packets == 0 {
            return None;
        }
        let last = wires.take_back(self.line.link)?;
        self.line.take_back(last.packet.wire);
        self.data.leave(last.packet.wire.into());
        if self.data.packets == 0 {
            self.data.next_start = Time::NEVER;
        }
        Some((last, 0))
    }

    fn queue_control(&mut self, now: Time, hand: &mut InHand, _: u16, wires: &mut Wires) {
        self.commit_control(now, hand, wires);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{LinkId, NodeId, Table};
    use crate::packet::{CE, Clock, ECT, Packet};
    use crate::port::{Freed, Room, Trimmed};
    use crate::ramp::Ramp;
    use crate::trimming::Cut;
    use spinewise_policy::Kind;

    const DATA: u16 = 4000;

    /// A port of one byte per nanosecond, with room for five packets of data, whose marks begin above 3,000 bytes or
    /// never.
    fn port(marks: bool) -> (Trimmer, Wires) {
        let line = Line::new(Clock::Exact, (8_000_000_000, Span::from_ns(100_000)), LinkId::new(0), None);
        let ramp = marks.then_some(Ramp { min: 3000, max: 3000, probability: 1.0 });
        let rules = TrimRules { room: 20_000, control_room: 200, ramp, cut: Cut::To(64), last_hop: false };
        (Trimmer::new(line, Arc::new(rules)), Wires::new(Table::filled(NodeId::new(0), 1), 1))
    }

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    /// A packet arrives. Returns whether it certainly finds room.
    fn comes(port: &mut Trimmer, ns: u64, (kind, wire): (Kind, u16), wires: &mut Wires) -> bool {
        let mut hand = InHand::from(Packet { kind, wire, flags: ECT, ..Packet::default() });
        port.settle(at(ns), wires, || 0.5);
        port.takes(at(ns), &mut hand, u64::from(DATA), wires)
    }

    /// Returns the packets on the link: bytes, when the last of them leaves in ns if it has started, and whether it is
    /// marked.
    fn on_link(wires: &Wires) -> Vec<(u16, Option<u64>, bool)> {
        let mut packets: Vec<_> = wires.first(LinkId::new(0), usize::MAX).collect();
        packets.sort_by_key(|packet| packet.at);
        let leaves = |at: Time| (at != Time::NEVER).then(|| at.0 / 1000 - 100_000);
        packets.into_iter().map(|packet| (packet.wire, leaves(packet.at), packet.is(CE))).collect()
    }

    #[test]
    fn control_goes_before_data_that_waits_and_what_was_sent_is_marked_by_what_waits_then() {
        let (mut port, mut wires) = port(true);
        let (data, answer) = ((Kind::Data, DATA), (Kind::Ack, 64));
        for (ns, packet) in [(0, data), (10, data), (20, data)] {
            assert!(comes(&mut port, ns, packet, &mut wires));
        }
        assert_eq!(port.due(), at(4000), "the next starts, and a mark is to be decided");
        let mut hand = InHand::from(Packet { kind: Kind::Ack, wire: 64, ..Packet::default() });
        port.commit(at(30), &mut hand, &mut wires);
        assert_eq!(
            on_link(&wires),
            [(4000, Some(4000), false), (64, Some(4064), false), (4000, None, false), (4000, None, false)]
        );
        assert_eq!(port.queue(at(4000), &wires), (8000, 2), "the answer has started");
        assert_eq!(port.occupancy(at(4000), &wires), 8064);
        // The second continues while the third waits; when the third continues, nothing waits.
        port.settle(at(20_000), &mut wires, || 0.5);
        let last = [(4000, Some(8064), true), (4000, Some(12_064), false)];
        assert_eq!(on_link(&wires), [[(4000, Some(4000), true), (64, Some(4064), false)], last].concat());
        assert_eq!((port.due(), port.queue(at(20_000), &wires)), (Time::NEVER, (0, 0)));
        assert!(comes(&mut port, 20_000, answer, &mut wires), "the line is free");
        let counters = port.finish(at(20_064), &wires);
        assert_eq!((counters.packets, counters.bytes, counters.marks, counters.longest_queue), (5, 12_128, 2, 4000));
    }

    #[test]
    fn what_waits_longest_stays_and_the_last_may_give_its_place() {
        let (mut port, mut wires) = port(false);
        for ns in 0..5 {
            assert!(comes(&mut port, ns, (Kind::Data, DATA), &mut wires));
        }
        assert!(!comes(&mut port, 5, (Kind::Data, DATA), &mut wires), "room for five, the one on the line included");
        let now = (at(5), Freed::Already);
        assert_eq!(port.room(now, Lane::Data(0), DATA.into(), &wires), Room::Full);
        let (mut last, _) = port.take_last(&mut wires).expect("four wait");
        assert_eq!(port.room(now, Lane::Data(0), DATA.into(), &wires), Room::Fits);
        assert_eq!(port.trim(now, &mut last, &wires), Trimmed::By(DATA - 64));
        port.queue_control(at(5), &mut last, 0, &mut wires);
        let sizes: Vec<_> = on_link(&wires).iter().map(|packet| (packet.0, packet.1)).collect();
        assert_eq!(sizes, [(4000, Some(4000)), (64, Some(4064)), (4000, None), (4000, None), (4000, None)]);
        assert_eq!(port.queueing_delay(at(5), &wires), Span::from_ns(16_059));
        // Room for three headers of 64 bytes.
        let mut others: Vec<Trimmed> = Vec::new();
        for _ in 0..3 {
            let (mut last, _) = port.take_last(&mut wires).expect("three wait");
            others.push(port.trim(now, &mut last, &wires));
            if others.last() != Some(&Trimmed::HeaderLost) {
                port.queue_control(at(5), &mut last, 0, &mut wires);
            }
        }
        assert_eq!(others, [Trimmed::By(3936), Trimmed::By(3936), Trimmed::HeaderLost]);
        assert!(port.take_last(&mut wires).is_none(), "the one on the line is not taken");
        assert_eq!(port.finish(at(100_000), &wires).trimmed, (4, 1));
    }

    #[test]
    fn data_that_waits_arrives_once_it_has_started() {
        let (mut port, mut wires) = port(false);
        let link = LinkId::new(0);
        for ns in 0..3 {
            comes(&mut port, ns, (Kind::Data, DATA), &mut wires);
        }
        assert_eq!(
            (wires.agenda.heads[0], port.due()),
            (at(104_000), at(4000)),
            "somebody must look as the second starts"
        );
        let mut hand = InHand::default();
        wires.pop(link, &mut hand);
        assert_eq!(
            (hand.packet.at, wires.agenda.heads[0]),
            (at(104_000), Time::NEVER),
            "when the others arrive nobody knows"
        );
        port.commit(at(3), &mut Packet { kind: Kind::Ack, wire: 64, ..Packet::default() }.into(), &mut wires);
        assert_eq!((wires.agenda.heads[0], port.due()), (at(104_064), at(4064)));
        port.settle(at(4064), &mut wires, || 0.5);
        assert_eq!((wires.agenda.heads[0], port.due()), (at(104_064), at(8064)), "control arrives before it");
        wires.pop(link, &mut hand);
        assert_eq!((hand.packet.kind, wires.agenda.heads[0]), (Kind::Ack, at(108_064)));
        port.settle(at(8064), &mut wires, || 0.5);
        assert_eq!(port.due(), Time::NEVER, "nothing waits");
        wires.pop(link, &mut hand);
        assert_eq!((hand.packet.at, wires.agenda.heads[0]), (at(108_064), at(112_064)));
    }

    #[test]
    fn it_serves_lines_on_which_a_packet_takes_its_own_time() {
        let rules = *port(true).0.rules;
        let on = |rate, delay| Line::new(Clock::Exact, (rate, delay), LinkId::new(0), None);
        assert!(Trimmer::can_serve(&on(8_000_000_000, Span::from_ns(1)), &rules));
        assert!(!Trimmer::can_serve(&on(3_000_000_000, Span::from_ns(1)), &rules), "a division leaves a remainder");
        assert!(!Trimmer::can_serve(&on(8_000_000_000, Span::ZERO), &rules), "it arrives as it is sent");
        let vast = TrimRules { control_room: 1 << 32, ..rules };
        assert!(!Trimmer::can_serve(&on(8_000_000_000, Span::from_ns(1)), &vast));
    }
}
