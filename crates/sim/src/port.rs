//! Egress ports of switches: which packets wait for a line, are dropped, or are marked.
//!
//! A [`Fifo`] port commits a packet at once: the departure of a packet is known when it is queued, so it goes into the
//! link's ring there and then, and each hop costs only one event. A [`Kept`] port commits at the start of transmission:
//! it keeps its packets in [`Lanes`] until then, which costs a transmit-done event whenever something waits. Shared
//! buffers, priorities, pauses and held queues need it. A [`Trimmer`] commits at once where control goes before data
//! and what finds no room is trimmed. All give the same results wherever more than one applies.

mod ahead;
mod fifo;
mod held;
mod kept;
mod lanes;
mod pausing;
mod rules;
mod store;
mod trimmer;
mod trimming;

use crate::line::Line;
use crate::link::Wires;
use crate::packet::{CE, ECT, Packet};
use crate::prefetch;
use crate::series::Counted;
pub(crate) use fifo::Fifo;
pub(crate) use held::{Drained, Released};
pub(crate) use kept::{Kept, Mark};
pub(crate) use lanes::{Control, Lane, Lanes, Lost, Next};
pub(crate) use pausing::Pausing;
pub(crate) use rules::{AllRules, Found, Rules};
use spinewise_policy::{Span, Time};
pub(crate) use trimmer::Trimmer;
pub(crate) use trimming::{Instant, Room, Trimmed, Trims};

/// For a line that becomes free at this very instant: whether that has happened yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// It has, and what waited for it has started.
    Already,
    /// It has not.
    NotYet,
}

impl Freed {
    /// The value for a port when exactly the ports below `first` have been freed.
    #[inline(always)]
    pub fn up_to(first: u16, port: u16) -> Freed {
        if port < first { Freed::Already } else { Freed::NotYet }
    }
}

/// The counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent or committed to be sent.
    pub packets: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Packets dropped at admission.
    pub drops: u64,
    /// Bytes of those.
    pub dropped_bytes: u64,
    /// Packets marked CE here.
    pub marks: u64,
    /// Time spent sending, including committed packets.
    pub busy: Span,
    /// Longest queue found at an arrival, in bytes, by the spec's convention.
    pub longest_queue: u64,
    /// How long, in ps, and how often its data queues were paused by priority flow control.
    pub paused: (u64, u64),
    /// Packets that were trimmed here, and trimmed headers that found no room.
    pub trimmed: (u64, u64),
}

impl Counters {
    /// Returns the counters that series report of the port.
    pub fn counted(&self) -> Counted {
        Counted { busy: self.busy, marks: self.marks, drops: self.drops, paused: self.paused.0 }
    }
}

/// An egress port: two cache lines.
#[derive(Debug)]
#[repr(align(64))]
pub enum Port {
    /// Commits a packet as it is queued.
    Fifo(Fifo),
    /// Commits a packet as its transmission starts.
    Kept(Kept),
    /// Trims, and commits a packet as it is queued.
    Trims(Trimmer),
}

const _: () = assert!(size_of::<Port>() == 128);

impl Port {
    /// The line it sends on.
    #[inline(always)]
    pub fn line(&self) -> &Line {
        match self {
            Port::Fifo(port) => port.line(),
            Port::Kept(port) => port.line(),
            Port::Trims(port) => port.line(),
        }
    }

    /// Index of the [`AllRules`] that apply to it; where switches trim, all ports have the first, which are then not
    /// used.
    #[inline(always)]
    pub fn class(&self) -> u16 {
        match self {
            Port::Fifo(port) => port.class(),
            Port::Kept(port) => port.class(),
            Port::Trims(_) => 0,
        }
    }

    /// The port as one that keeps its packets, if it does.
    #[inline(always)]
    pub fn kept(&self) -> Option<&Kept> {
        match self {
            Port::Fifo(_) | Port::Trims(_) => None,
            Port::Kept(port) => Some(port),
        }
    }

    /// The port as one that keeps its packets, if it does.
    #[inline(always)]
    pub fn kept_mut(&mut self) -> Option<&mut Kept> {
        match self {
            Port::Fifo(_) | Port::Trims(_) => None,
            Port::Kept(port) => Some(port),
        }
    }

    /// The queues of a port that keeps its packets.
    pub fn lanes(&self) -> Option<&Lanes> {
        self.kept().map(Kept::lanes)
    }

    /// Bytes and packets queued at `now`, by the convention of `rules`. Every transmission that starts at or before
    /// `now` has left the queue, except that a control packet that starts `now` has left only if its line is `freed`
    /// already.
    pub fn queue(&self, now: Time, freed: Freed, rules: &Rules, wires: &Wires) -> (u64, u32) {
        match self {
            Port::Fifo(port) => port.queue(now, rules, wires),
            Port::Kept(port) => port.queue(now, freed, rules, wires),
            Port::Trims(port) => port.queue(now, wires),
        }
    }

    /// Returns how long a packet that joins the queue at `now` waits for its transmission, if nothing pauses the port.
    pub fn queueing_delay(&self, now: Time, wires: &Wires) -> Span {
        match self {
            Port::Fifo(port) => port.queueing_delay(now),
            Port::Kept(port) => port.queueing_delay(now),
            Port::Trims(port) => port.queueing_delay(now, wires),
        }
    }

    /// Whether the port sends nothing from `from` on, with nothing waiting there.
    #[inline]
    pub fn rests_from(&self, from: Time) -> bool {
        match self {
            Port::Fifo(port) => port.rests_from(from),
            Port::Kept(port) => port.rests_from(from),
            Port::Trims(port) => port.rests_from(from),
        }
    }

    /// Prefetches its queues, and the place on its link for the next packet.
    #[inline]
    pub fn fetch_queues(&self, wires: &Wires) {
        wires.fetch(self.line().link);
        if let Port::Kept(port) = self {
            prefetch::one(port.lanes());
        }
    }

    /// Prefetches room on its link, and its data queues.
    #[inline]
    pub fn fetch_room(&self, wires: &Wires) {
        wires.fetch_room(self.line().link);
        match self {
            Port::Fifo(_) => {}
            Port::Kept(port) => port.lanes().fetch_data(),
            Port::Trims(port) => port.fetch_waiting(wires),
        }
    }

    /// Prefetches the first waiting packet.
    #[inline]
    pub fn fetch_first(&self) {
        if let Port::Kept(port) = self {
            port.lanes().fetch_first();
        }
    }

    /// Counts a packet of `bytes` that found no room.
    pub fn refuse(&mut self, bytes: u32) {
        match self {
            Port::Fifo(port) => port.counts.refuse(bytes),
            Port::Kept(port) => port.counts.refuse(bytes),
            Port::Trims(port) => port.refuse(bytes),
        }
    }

    /// Closes the account at `stop`: packets that would have started then or later were never sent.
    pub fn finish(&mut self, stop: Time, rules: &Rules, wires: &mut Wires) -> Counters {
        match self {
            Port::Fifo(port) => port.finish(stop, rules, wires),
            Port::Kept(port) => port.finish(stop, wires),
            Port::Trims(port) => port.finish(stop, wires),
        }
    }

    /// Returns the counts by `now`, after everything else at that instant.
    pub fn counted(&mut self, now: Time, rules: &Rules, wires: &mut Wires) -> Counted {
        match self {
            Port::Fifo(port) => port.counted(now, rules, wires),
            Port::Kept(port) => port.counted(now),
            Port::Trims(port) => port.counted(now),
        }
    }
}

/// Packets that wait at a port, excluding held ones, and the packet it is sending.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    bytes: u64,
    packets: u32,
    /// Bytes of the packet that started last.
    serving: u32,
}

impl Waiting {
    #[inline(always)]
    fn join(&mut self, bytes: u64, packets: u32) {
        self.bytes += bytes;
        self.packets += packets;
    }

    #[inline(always)]
    fn leave(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.packets -= 1;
    }

    /// The first waiting packet starts.
    #[inline(always)]
    fn start(&mut self, bytes: u32) {
        self.leave(u64::from(bytes));
        self.serving = bytes;
    }

    /// Bytes and packets by the convention of `rules`, for a port that is `busy` sending or not.
    #[inline(always)]
    fn queue(&self, busy: bool, rules: &Rules) -> (u64, u32) {
        let own = u32::from(rules.counts_in_service && busy);
        (self.bytes + u64::from(own * self.serving), self.packets + own)
    }

    /// Whether the queue left behind by the packet that has just started calls for a mark.
    #[inline]
    fn marks_at_dequeue(&self, rules: &Rules) -> bool {
        rules.mark_at_dequeue && {
            let (bytes, packets) = self.queue(true, rules);
            rules.marks(bytes, packets)
        }
    }
}

/// A port's counts in addition to those of its line.
#[derive(Debug, Default)]
struct Counts {
    /// Longest queue found at an arrival, in bytes.
    longest_queue: u64,
    rare: Box<Rare>,
}

/// A port's rarely changing counts.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    drops: u64,
    dropped_bytes: u64,
    marks: u64,
    /// Packets trimmed here, and trimmed headers that found no room.
    trimmed: (u64, u64),
}

impl Counts {
    /// An arrival found `bytes` queued.
    #[inline]
    fn found(&mut self, bytes: u64) {
        self.longest_queue = self.longest_queue.max(bytes);
    }

    /// A packet of `bytes` found no room.
    fn refuse(&mut self, bytes: u32) {
        self.rare.refuse(bytes);
    }

    /// Sets CE on an ECN-capable packet.
    #[inline]
    fn mark(&mut self, packet: &mut Packet) {
        self.rare.mark(packet);
    }

    /// The account at `stop`, for a port that has sent these packets and bytes by then.
    fn close(&self, line: &Line, stop: Time, sent: (u64, u64), paused: (u64, u64)) -> Counters {
        Counters { longest_queue: self.longest_queue, paused, ..self.rare.close(line, stop, sent) }
    }

    /// The same so far, for series.
    fn counted(&self, line: &Line, now: Time, paused: u64) -> Counted {
        Counted { paused, ..self.rare.counted(line, now) }
    }
}

impl Rare {
    /// A packet of `bytes` found no room.
    fn refuse(&mut self, bytes: u32) {
        self.drops += 1;
        self.dropped_bytes += u64::from(bytes);
    }

    /// Sets CE on an ECN-capable packet.
    #[inline]
    fn mark(&mut self, packet: &mut Packet) {
        if packet.is(ECT) && !packet.is(CE) {
            packet.flags |= CE;
            self.marks += 1;
        }
    }

    /// A packet was to be trimmed.
    fn note_trimmed(&mut self, trimmed: Trimmed) {
        let (trims, lost) = match trimmed {
            Trimmed::By(_) => (1, 0),
            Trimmed::HeaderLost => (1, 1),
            Trimmed::Never => (0, 0),
        };
        self.trimmed = (self.trimmed.0 + trims, self.trimmed.1 + lost);
    }

    /// The account at `stop`, for a port that has sent these packets and bytes by then, without its longest queue and
    /// its pauses.
    fn close(&self, line: &Line, stop: Time, (packets, bytes): (u64, u64)) -> Counters {
        Counters {
            packets,
            bytes,
            drops: self.drops,
            dropped_bytes: self.dropped_bytes,
            marks: self.marks,
            busy: line.busy_by(stop),
            trimmed: self.trimmed,
            ..Counters::default()
        }
    }

    /// The same so far, for series.
    fn counted(&self, line: &Line, now: Time) -> Counted {
        Counted { busy: line.busy_by(now), marks: self.marks, drops: self.drops, paused: 0 }
    }
}
