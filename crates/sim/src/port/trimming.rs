//! Trimming: data that finds its queue full loses its payload, and its header goes ahead of all data. This module has
//! the trimming of ports that commit at start, and what they share with a [`Trimmer`](super::Trimmer).
//!
//! The discipline is that of uet-htsim's composite queue (`compositequeue.cpp`), taken from a description of it. A port
//! has a data queue, whose capacity includes the packet in transmission, and a control queue with its own capacity,
//! which is served first. A fair coin decides whether the arriving packet or the last waiting one is trimmed. A packet
//! is marked once it has been sent, according to the data that waits then.

use super::{Found, Freed, Kept, Lane, Rare};
use crate::ids::LinkId;
use crate::link::Wires;
use crate::packet::{BARE, ECT, InHand, LAST_HOP, Packet};
use crate::trimming::{Cut, TrimRules};
use spinewise_policy::{Kind, Span, Time};

/// A port that trims.
#[derive(Debug)]
pub(super) struct Trimming {
    rules: TrimRules,
    /// Bytes of the data packet that started last, and when it has been sent.
    data: u32,
    data_until: Time,
    /// Bytes of the control packet that started last, of those that wait in the lanes.
    control: u32,
    /// The mark of that data packet is still undecided.
    unsettled: bool,
}

/// An instant at a port, and whether its line, if it becomes free then, has done so.
pub(crate) type Instant = (Time, Freed);

/// The place of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// There is room for it.
    Fits,
    /// No room.
    Full,
}

/// A packet that has lost its payload, or all of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trimmed {
    /// Its header waits; it has lost these bytes.
    By(u16),
    /// Its header finds no room either.
    HeaderLost,
    /// It cannot be trimmed.
    Never,
}

/// The operations of a port where a coin decides which packet is trimmed.
pub(crate) trait Trims {
    /// The link that it feeds.
    fn link(&self) -> LinkId;

    /// Its trimming rules, if it trims.
    fn rules(&self) -> Option<&TrimRules>;

    /// Bytes that a packet for this lane finds, including those on the line.
    fn held(&self, at: Instant, lane: Lane, wires: &Wires) -> u64;

    /// Whether the line is free, with nothing waiting for it.
    fn is_idle(&self, now: Time) -> bool;

    /// The counters of packets without room.
    fn rare(&mut self) -> &mut Rare;

    /// Takes the last queued data packet, if one waits, and the port it came by.
    fn take_last(&mut self, wires: &mut Wires) -> Option<(InHand, u16)>;

    /// Queues control for which there is room; it came by this port.
    fn queue_control(&mut self, now: Time, hand: &mut InHand, came_by: u16, wires: &mut Wires);

    /// Whether there is room for a packet of `wire` bytes in this lane.
    fn room(&self, at: Instant, lane: Lane, wire: u32, wires: &Wires) -> Room {
        let Some(rules) = self.rules() else { return Room::Fits };
        let room = match lane {
            Lane::Data(_) => rules.room,
            Lane::Pause | Lane::Control => rules.control_room,
        };
        let held = self.held(at, lane, wires);
        // A free line takes any packet.
        let fits = held + u64::from(wire) <= room || (held == 0 && self.is_idle(at.0));
        if fits { Room::Fits } else { Room::Full }
    }

    /// Trims the packet in hand, which thereby becomes control and is still to be queued.
    fn trim(&mut self, at: Instant, hand: &mut InHand, wires: &Wires) -> Trimmed {
        let room = |wire| self.room(at, Lane::Control, wire, wires);
        let trimmed = self.rules().map_or(Trimmed::Never, |rules| rules.trim(&mut hand.packet, room));
        self.rare().note_trimmed(trimmed);
        trimmed
    }

    /// Counts a packet of `bytes` that found no room.
    fn refuse(&mut self, bytes: u32) {
        self.rare().refuse(bytes);
    }
}

impl TrimRules {
    /// Trims a packet, whose header is lost if it finds no `room`.
    pub(super) fn trim(&self, packet: &mut Packet, room: impl FnOnce(u32) -> Room) -> Trimmed {
        let Cut::To(bytes) = self.cut else { return Trimmed::Never };
        // UDP flows beside a transport do not declare that they may be trimmed, and a probe has nothing to lose.
        if packet.kind != Kind::Data || !packet.is(ECT) || packet.is_question() {
            return Trimmed::Never;
        }
        // A scheme's header is cut with the payload.
        let whole = packet.wire - u16::from(packet.fabric_header);
        let bytes = whole.min(bytes);
        if room(u32::from(bytes)) == Room::Full {
            return Trimmed::HeaderLost;
        }
        packet.wire = bytes;
        packet.fabric_header = 0;
        packet.flags |= if self.last_hop { BARE | LAST_HOP } else { BARE };
        Trimmed::By(whole - bytes)
    }
}

impl Trimming {
    /// Trimming by these rules.
    pub(super) fn new(rules: TrimRules) -> Trimming {
        Trimming { rules, data: 0, data_until: Time::ZERO, control: 0, unsettled: false }
    }

    /// A packet of `wire` bytes starts; it will have been sent at `until`.
    #[inline]
    fn starts(&mut self, lane: Lane, wire: u32, until: Time) {
        if let Lane::Data(_) = lane {
            (self.data, self.data_until) = (wire, until);
            self.unsettled = self.rules.ramp.is_some();
        } else {
            self.control = wire;
        }
    }
}

impl Kept {
    /// Makes the port trim.
    pub fn with_trimming(mut self, rules: TrimRules) -> Kept {
        self.lanes.trimming = Some(Trimming::new(rules));
        self.trims = true;
        self
    }

    /// Whether it trims.
    #[inline]
    pub fn trims(&self) -> bool {
        self.trims
    }

    /// Bytes of data, including held ones and those on the line.
    fn data(&self, trimming: &Trimming, now: Time) -> u64 {
        let sending = if now < trimming.data_until { trimming.data } else { 0 };
        self.lanes.bytes(Lane::Data(0)) + self.lanes.held_in_all().0 + u64::from(sending)
    }

    /// Bytes of control that waits, and of control on the line.
    fn control(&self, trimming: &Trimming, (now, freed): Instant, wires: &Wires) -> (u64, u64) {
        let free = self.line.free_at();
        if free <= now {
            return (self.lanes.bytes(Lane::Control), 0);
        }
        if !self.commits_control {
            let sends = now >= trimming.data_until;
            return (self.lanes.bytes(Lane::Control), if sends { u64::from(trimming.control) } else { 0 });
        }
        let (ahead, bytes) = self.ahead(now, freed, wires);
        let ring = wires.ring(self.line.link);
        let started = (ring.len() - ahead).checked_sub(1).map(|n| ring.get(n));
        let sending = started.filter(|packet| packet.is_control() && packet.at - self.line.delay() > now);
        (bytes, sending.map_or(0, |packet| u64::from(packet.wire)))
    }

    /// Bytes of waiting control, which an arrival of control finds.
    pub fn control_waiting(&self, at: Instant, wires: &Wires) -> u64 {
        self.lanes.trimming.as_ref().map_or(0, |trimming| self.control(trimming, at, wires).0)
    }

    /// Whether there is certainly room for control, where no packet has more than `largest` bytes, and the waiting
    /// queue is no longer than one found before. Both hold if the line is free soon enough.
    #[inline]
    pub fn has_ample_room(&self, now: Time, largest: u64) -> bool {
        let ahead = self.line.free_at().since(now);
        if ahead == Span::ZERO || !self.trims {
            return true;
        }
        let Some(trimming) = &self.lanes.trimming else { return true };
        // The packet on the line and the one that arrives.
        let room = trimming.rules.control_room.saturating_sub(2 * largest);
        ahead <= self.line.takes_at_least(room.min(self.counts.longest_queue))
    }

    /// Bytes of data and of control, including those on the line, if the port trims.
    pub fn occupancy(&self, at: Instant, wires: &Wires) -> Option<u64> {
        let trimming = self.lanes.trimming.as_ref()?;
        let (waiting, sending) = self.control(trimming, at, wires);
        Some(self.data(trimming, at.0) + waiting + sending)
    }

    /// The room for data, if the port trims.
    pub fn room_for_data(&self) -> Option<u64> {
        self.lanes.trimming.as_ref().map(|trimming| trimming.rules.room)
    }

    /// Returns when the waiting packets need attention, if nothing else happens: when the line is free, or when a mark
    /// must be decided, if that is earlier. No mark need be decided while too little waits to set one.
    #[inline]
    pub fn due(&self, at: Instant) -> Time {
        match &self.lanes.trimming {
            Some(trimming) if self.trims => self.due_with(trimming, at, self.lanes.bytes(Lane::Data(0))),
            _ => self.line.free_at(),
        }
    }

    /// The same if this much data waits.
    #[inline]
    fn due_with(&self, trimming: &Trimming, (now, freed): Instant, waiting: u64) -> Time {
        let ends = trimming.data_until;
        let ahead = ends > now || (ends == now && freed == Freed::NotYet);
        let marks = trimming.unsettled && trimming.rules.ramp.is_some_and(|ramp| waiting > ramp.min);
        if ahead && marks { ends } else { self.line.free_at() }
    }

    /// Queues a data packet, which came by `in_port`, if nothing more need be done: the line is busy, there is room,
    /// and the next event is planned. Returns whether it has joined the queue.
    #[inline(never)]
    pub fn joins(&mut self, at: Instant, hand: &mut InHand, in_port: u16) -> bool {
        let Some(trimming) = &self.lanes.trimming else { return false };
        let (found, wire) = (self.lanes.bytes(Lane::Data(0)), u64::from(hand.packet.wire));
        let joins = self.line.free_at() > at.0
            && !hand.packet.is_control()
            && self.data(trimming, at.0) + wire <= trimming.rules.room
            && self.lanes.armed <= self.due_with(trimming, at, found + wire);
        if joins {
            self.note_queue(found);
            self.keep(Lane::Data(0), hand, in_port, Found::default());
        }
        joins
    }

    /// Decides whether the data packet that has just been sent is marked, according to the data that waits.
    #[inline]
    pub fn settle(&mut self, now: Time, wires: &mut Wires, roll: impl FnOnce() -> f64) {
        let Some(trimming) = &mut self.lanes.trimming else { return };
        if !trimming.unsettled || trimming.data_until != now {
            return;
        }
        trimming.unsettled = false;
        if trimming.rules.ramp.is_some_and(|ramp| ramp.marks(self.lanes.bytes(Lane::Data(0)), roll)) {
            self.mark_last_data(wires);
        }
    }

    /// Marks the data packet that was sent last: control may be behind it. On a link without delay it has already
    /// arrived.
    #[cold]
    fn mark_last_data(&mut self, wires: &mut Wires) {
        let ring = wires.ring_mut(self.line.link);
        let behind = (0..ring.len()).find(|&n| !ring.nth_back_mut(n).is_control());
        if let Some(behind) = behind {
            self.counts.mark(ring.nth_back_mut(behind));
        }
    }

    /// Notes the packet that starts at a port that trims.
    #[inline]
    pub fn note_start(&mut self, lane: Lane, wire: u32) {
        if let Some(trimming) = &mut self.lanes.trimming {
            trimming.starts(lane, wire, self.line.free_at());
        }
    }
}

impl Trims for Kept {
    fn link(&self) -> LinkId {
        self.line().link
    }

    fn rules(&self) -> Option<&TrimRules> {
        self.lanes.trimming.as_ref().map(|trimming| &trimming.rules)
    }

    fn held(&self, at: Instant, lane: Lane, wires: &Wires) -> u64 {
        let Some(trimming) = &self.lanes.trimming else { return 0 };
        match lane {
            Lane::Data(_) => self.data(trimming, at.0),
            Lane::Pause | Lane::Control => {
                let (waiting, sending) = self.control(trimming, at, wires);
                waiting + sending
            }
        }
    }

    fn is_idle(&self, now: Time) -> bool {
        self.line.free_at() <= now && self.waiting.packets == 0
    }

    fn rare(&mut self) -> &mut Rare {
        &mut self.counts.rare
    }

    fn take_last(&mut self, _: &mut Wires) -> Option<(InHand, u16)> {
        let (hand, in_port) = self.lanes.take_last()?;
        self.waiting.leave(u64::from(hand.packet.wire));
        Some((hand, in_port))
    }

    fn queue_control(&mut self, now: Time, hand: &mut InHand, came_by: u16, wires: &mut Wires) {
        if self.commits_control {
            self.commit_control(now, hand, wires);
        } else {
            self.keep(Lane::Control, hand, came_by, Found::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{LinkId, NodeId, Table};
    use crate::line::Line;
    use crate::packet::{CE, Clock, Packet};
    use crate::port::{Control, Lanes, Mark, Rules};
    use crate::ramp::Ramp;
    use spinewise_policy::Queue;

    const DATA: u16 = 4000;

    /// A port of one byte per nanosecond, whose control goes ahead or waits in its lane.
    fn port(ahead: bool) -> (Kept, Wires) {
        port_with(ahead, 0)
    }

    /// The same with this many queues for held packets.
    fn port_with(ahead: bool, held: u16) -> (Kept, Wires) {
        let line = Line::new(Clock::Exact, (8_000_000_000, Span::from_ns(100_000)), LinkId::new(0), None);
        let ramp = Ramp { min: 3000, max: 3000, probability: 1.0 };
        let rules = TrimRules { room: 20_000, control_room: 200, ramp: Some(ramp), cut: Cut::To(64), last_hop: false };
        let port = Kept::new(line, Lanes::new(1, Control::Apart, held), 0).with_trimming(rules);
        let port = if ahead { port.with_control_ahead() } else { port };
        (port, Wires::new(Table::filled(NodeId::new(0), 1), 1))
    }

    fn at(ns: u64) -> Instant {
        (Time::ZERO + Span::from_ns(ns), Freed::Already)
    }

    fn packet(kind: Kind, wire: u16) -> InHand {
        InHand::from(Packet { kind, wire, flags: ECT, ..Packet::default() })
    }

    /// Queues an answer as a switch does.
    fn answer(port: &mut Kept, ns: u64, wires: &mut Wires) {
        let (mut hand, now) = (packet(Kind::Ack, 64), at(ns).0);
        if port.commits_control() {
            port.commit_control(now, &mut hand, wires);
        } else {
            port.keep(Lane::Control, &mut hand, 0, Found::default());
        }
    }

    /// Starts the next packet.
    fn start(port: &mut Kept, ns: u64, wires: &mut Wires) {
        let next = port.next(at(ns).0).expect("something waits");
        port.send_next(at(ns).0, next, Mark::AsRulesSay, &Rules::boundless(), wires);
        port.note_start(next.lane, next.wire);
    }

    fn queue_data(port: &mut Kept) {
        port.keep(Lane::Data(0), &mut packet(Kind::Data, DATA), 0, Found::default());
    }

    #[test]
    fn a_mark_is_decided_as_the_packet_has_been_sent_with_control_behind_it() {
        for marked in [true, false] {
            let (mut port, mut wires) = port(true);
            queue_data(&mut port);
            start(&mut port, 0, &mut wires);
            answer(&mut port, 10, &mut wires);
            if marked {
                queue_data(&mut port);
            }
            let decides = if marked { at(4000) } else { at(4064) };
            assert_eq!((port.due(at(20)), port.line.free_at()), (decides.0, at(4064).0), "where enough waits to mark");
            port.settle(at(4000).0, &mut wires, || 0.5);
            assert_eq!(port.due(at(4000)), at(4064).0, "decided, or too late");
            // Later packets mark nothing more.
            queue_data(&mut port);
            port.settle(at(4064).0, &mut wires, || 0.5);
            let ring = wires.ring(LinkId::new(0));
            assert_eq!([0, 1].map(|n| ring.get(n).is(CE)), [marked, false]);
        }
    }

    #[test]
    fn room_is_the_same_whether_control_is_ahead_or_waits() {
        let found = [true, false].map(|ahead| {
            let (mut port, mut wires) = port(ahead);
            queue_data(&mut port);
            start(&mut port, 0, &mut wires);
            let mut found = Vec::new();
            let mut look = |port: &Kept, ns, wires: &Wires| {
                let rooms = [Lane::Control, Lane::Data(0)].map(|lane| port.room(at(ns), lane, 64, wires));
                found.push((rooms, port.occupancy(at(ns), wires), port.control_waiting(at(ns), wires)));
            };
            for ns in [10, 20, 30] {
                answer(&mut port, ns, &mut wires);
                look(&port, ns, &wires);
            }
            for ns in [4000, 4064, 4128] {
                if !ahead {
                    start(&mut port, ns, &mut wires);
                }
                look(&port, ns, &wires);
            }
            look(&port, 4192, &wires);
            found
        });
        assert_eq!(found[0], found[1]);
        let rooms: Vec<Room> = found[0].iter().map(|looked| looked.0[0]).collect();
        assert_eq!(rooms[..3], [Room::Fits, Room::Fits, Room::Full], "three of 64 bytes in 200");
    }

    #[test]
    fn data_joins_where_nothing_else_is_to_be_done() {
        let (mut port, mut wires) = port(true);
        let data = || packet(Kind::Data, DATA);
        assert!(!port.joins(at(0), &mut data(), 0), "the line is free");
        queue_data(&mut port);
        start(&mut port, 0, &mut wires);
        assert!(!port.joins(at(10), &mut data(), 0), "nothing is planned");
        port.arm(at(4000).0);
        assert!(!port.joins(at(10), &mut packet(Kind::Ack, 64), 0), "control goes ahead");
        for _ in 0..4 {
            assert!(port.joins(at(10), &mut data(), 0));
        }
        assert!(!port.joins(at(10), &mut data(), 0), "room for five, the one on the line included");
        assert_eq!((port.waiting.packets, port.counts.longest_queue), (4, 12_000));
        answer(&mut port, 10, &mut wires);
        port.arm(at(4064).0);
        port.take_last(&mut wires);
        assert!(!port.joins(at(20), &mut data(), 0), "a mark is decided before what is planned");
    }

    #[test]
    fn what_has_just_been_sent_takes_no_room() {
        let (mut port, mut wires) = port(true);
        queue_data(&mut port);
        start(&mut port, 0, &mut wires);
        answer(&mut port, 10, &mut wires);
        answer(&mut port, 10, &mut wires);
        let control = |port: &Kept, ns, freed, wires: &Wires| {
            let trimming = port.lanes.trimming.as_ref().expect("it trims");
            port.control(trimming, (at(ns).0, freed), wires)
        };
        // As the data ends, and as the first answer does: before that has happened and after.
        for (ns, freed, found) in [
            (3999, Freed::Already, (128, 0)),
            (4000, Freed::NotYet, (128, 0)),
            (4000, Freed::Already, (64, 64)),
            (4064, Freed::NotYet, (64, 0)),
            (4064, Freed::Already, (0, 64)),
            (4128, Freed::Already, (0, 0)),
        ] {
            assert_eq!(control(&port, ns, freed, &wires), found, "{ns} ns, {freed:?}");
        }
    }

    #[test]
    fn room_beyond_doubt_is_room() {
        let (mut port, mut wires) = port(true);
        assert!(port.has_ample_room(at(0).0, 64), "the line is free");
        answer(&mut port, 0, &mut wires);
        assert!(!port.has_ample_room(at(0).0, 64), "a longer queue than any found before, perhaps");
        port.note_queue(64);
        assert!(port.has_ample_room(at(0).0, 64));
        answer(&mut port, 0, &mut wires);
        assert!(!port.has_ample_room(at(0).0, 64), "room for 200 bytes, two packets aside");
    }

    /// A released queue has joined the data queue, and a coin takes its last packet out again: it then ends with the
    /// packet before.
    #[test]
    fn a_released_queue_drains_though_its_last_packet_is_trimmed() {
        let (mut port, mut wires) = port_with(false, 1);
        queue_data(&mut port);
        start(&mut port, 0, &mut wires);
        assert!(port.take(Queue(0), None));
        for _ in 0..2 {
            port.hold(Queue(0), &mut packet(Kind::Data, DATA), 0, Found::default());
        }
        port.release(Queue(0));
        assert!(port.take_last(&mut wires).is_some());
        queue_data(&mut port);
        assert_eq!(port.lanes.free_queues(), 0);
        start(&mut port, 4000, &mut wires);
        assert!(port.drained(Lane::Data(0)).is_some(), "what waits now came later");
        assert_eq!(port.lanes.free_queues(), 1);
    }

    /// It has no payload that could be cut off, so it is dropped where data would lose its payload.
    #[test]
    fn a_probe_is_not_trimmed() {
        let rules = TrimRules { room: 0, control_room: 1000, ramp: None, cut: Cut::To(64), last_hop: false };
        let trimmed = |flags: u8, payload: u16| {
            let mut packet = Packet { kind: Kind::Data, wire: 64, payload, flags, ..Packet::default() };
            (rules.trim(&mut packet, |_| Room::Fits), packet.is_control())
        };
        assert_eq!(trimmed(ECT | BARE, 0), (Trimmed::Never, false));
        assert_eq!(trimmed(ECT, 1), (Trimmed::By(0), true));
    }
}
