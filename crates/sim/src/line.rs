//! A line: it carries one packet after another, at a rate, to an end some time away.
//!
//! Ports of switches and NICs send on one. It knows when it is free, what it has sent, and how its rate and delay
//! change where faults change them. The packets that wait for it, and their order, are up to its owner.

use crate::faults::Outlet;
use crate::ids::LinkId;
use crate::link::Wires;
use crate::packet::{Clock, Packet, ns3_nanoseconds};
use spinewise_policy::time::{BYTE_PS, Span, Time};

/// The sending end of a link: one line of the cache.
#[derive(Debug)]
pub struct Line {
    /// End of everything committed.
    busy_until: Time,
    delay: Span,
    pace: Pace,
    /// Bits per second when nothing is wrong.
    rate: u64,
    packets: u64,
    bytes: u64,
    /// The link it feeds.
    pub link: LinkId,
}

const _: () = assert!(size_of::<Line>() == 64);

/// The time a packet takes.
#[derive(Debug)]
enum Pace {
    /// Picoseconds a byte, always.
    Even(u64),
    /// The time of a packet is computed.
    Uneven(Box<Uneven>),
}

/// A line whose rate does not divide or changes, or whose clock is coarse.
#[derive(Debug)]
struct Uneven {
    serializer: Serializer,
    /// Time spent sending.
    busy: Span,
    /// The outlet, if the link changes.
    outlet: Option<Box<Outlet>>,
}

impl Line {
    /// The line of a link of `rate` bits per second, which must not be zero. One with an `outlet` changes.
    pub fn new(clock: Clock, (rate, delay): (u64, Span), link: LinkId, outlet: Option<Box<Outlet>>) -> Line {
        let pace = match ps_per_byte(rate) {
            Some(ps) if clock == Clock::Exact && outlet.is_none() => Pace::Even(ps),
            // Nothing is known in advance of a rate that changes.
            ps => {
                let serializer = Serializer::new(clock, rate, ps.filter(|_| outlet.is_none()));
                Pace::Uneven(Box::new(Uneven { serializer, busy: Span::ZERO, outlet }))
            }
        };
        Line { busy_until: Time::ZERO, delay, pace, rate, packets: 0, bytes: 0, link }
    }

    /// Sends `bytes` from `start` on, which must not be before the line is free. Returns when the last bit arrives.
    #[inline(always)]
    pub fn send(&mut self, start: Time, bytes: u32, wires: &mut Wires) -> Time {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        if let Pace::Even(ps_per_byte) = self.pace {
            self.busy_until = start + Span(ps_per_byte * u64::from(bytes));
            return self.busy_until + self.delay;
        }
        self.send_uneven(start, bytes, wires)
    }

    #[inline(never)]
    fn send_uneven(&mut self, start: Time, bytes: u32, wires: &mut Wires) -> Time {
        let fresh = start > self.busy_until;
        if let Pace::Uneven(uneven) = &mut self.pace {
            if let Some(outlet) = &mut uneven.outlet {
                uneven.serializer.set_rate(outlet.rate(start));
            }
            let took = uneven.serializer.send(bytes, fresh);
            uneven.busy += took;
            self.busy_until = start + took;
            if let Some(outlet) = &mut uneven.outlet {
                return outlet.arrival(start, self.busy_until, wires);
            }
        }
        self.busy_until + self.delay
    }

    /// Takes back the packet that was sent last and has not started, of a line that is [even](Self::is_even).
    pub fn take_back(&mut self, bytes: u16) {
        let took = self.alone(bytes);
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
        self.busy_until = self.busy_until - took;
        if let Pace::Uneven(uneven) = &mut self.pace {
            uneven.busy = uneven.busy - took;
        }
    }

    /// Returns when it is free.
    #[inline(always)]
    pub fn free_at(&self) -> Time {
        self.busy_until
    }

    /// Delay from its end to the other.
    #[inline]
    pub fn delay(&self) -> Span {
        self.delay
    }

    /// Bits per second at `now`.
    pub fn rate(&self, now: Time) -> u64 {
        match &self.pace {
            Pace::Uneven(uneven) => uneven.outlet.as_ref().map_or(self.rate, |outlet| outlet.at(now).0),
            Pace::Even(_) => self.rate,
        }
    }

    /// Returns how long it would send `bytes` at a stretch if it began at `now`.
    pub fn would_take(&self, now: Time, bytes: u64) -> Span {
        match &self.pace {
            Pace::Even(ps_per_byte) => Span(ps_per_byte.saturating_mul(bytes)),
            Pace::Uneven(uneven) => {
                let mut serializer = uneven.serializer;
                serializer.set_rate(self.rate(now));
                serializer.stretch(bytes, now > self.busy_until)
            }
        }
    }

    /// A lower bound on the time it takes to send `bytes`, however they are split into packets.
    #[inline]
    pub fn takes_at_least(&self, bytes: u64) -> Span {
        match &self.pace {
            Pace::Even(ps_per_byte) => Span(ps_per_byte.saturating_mul(bytes)),
            Pace::Uneven(_) => Span::ZERO,
        }
    }

    /// Whether a packet always takes the same time and arrives after the same delay, whatever was sent before.
    pub fn is_even(&self) -> bool {
        match &self.pace {
            Pace::Even(_) => true,
            Pace::Uneven(uneven) => matches!(uneven.serializer, Serializer::Floored { ps_per_byte: Some(_), .. }),
        }
    }

    /// Returns how long a packet of `bytes` takes that is sent alone.
    pub fn alone(&self, bytes: u16) -> Span {
        match &self.pace {
            Pace::Even(ps_per_byte) => Span(ps_per_byte * u64::from(bytes)),
            Pace::Uneven(uneven) => {
                let mut serializer = uneven.serializer;
                serializer.send(u32::from(bytes), true)
            }
        }
    }

    /// Returns when a packet left that is on its way and took the time it takes [alone](Self::alone).
    #[inline]
    pub fn left_at(&self, packet: &Packet) -> Time {
        packet.at - self.delay - self.alone(packet.wire)
    }

    /// Packets and bytes committed to it.
    pub fn sent(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    /// Time spent sending up to `now`, exactly.
    pub fn busy_by(&self, now: Time) -> Span {
        let committed = match &self.pace {
            Pace::Even(ps_per_byte) => Span(ps_per_byte.saturating_mul(self.bytes)),
            Pace::Uneven(uneven) => uneven.busy,
        };
        committed - self.busy_until.since(now)
    }
}

/// Picoseconds in a byte at this rate, if that is a whole number.
fn ps_per_byte(rate: u64) -> Option<u64> {
    BYTE_PS.is_multiple_of(rate).then(|| BYTE_PS / rate)
}

/// Transmission times that are computed one by one.
#[derive(Clone, Copy, Debug)]
enum Serializer {
    /// Exact: the remainder of each division is carried to the next packet of the same busy period, so that a packet
    /// ends at the floor of the exact rational instant.
    Carried { rate: u64, remainder: u64 },
    /// [`Clock::Floor1Ns`]; with the picoseconds of a byte if that is a whole number.
    Floored { rate: u64, ps_per_byte: Option<u64> },
    /// [`Clock::Ns3`].
    Ns3 { rate: u64 },
}

impl Serializer {
    fn new(clock: Clock, rate: u64, ps_per_byte: Option<u64>) -> Serializer {
        match clock {
            Clock::Exact => Serializer::Carried { rate, remainder: 0 },
            Clock::Floor1Ns => Serializer::Floored { rate, ps_per_byte },
            Clock::Ns3 => Serializer::Ns3 { rate },
        }
    }

    /// Sends at another rate from now on. The remainder of a division at the old rate is forgotten.
    fn set_rate(&mut self, new: u64) {
        match self {
            Serializer::Carried { rate, .. } if *rate == new => {}
            Serializer::Carried { .. } => *self = Serializer::Carried { rate: new, remainder: 0 },
            Serializer::Floored { rate, .. } | Serializer::Ns3 { rate } => *rate = new,
        }
    }

    /// Time to send `bytes`; `fresh` starts a busy period: nothing is carried over.
    #[inline]
    fn send(&mut self, bytes: u32, fresh: bool) -> Span {
        match self {
            Serializer::Carried { rate, remainder } => {
                let work = u64::from(bytes) * BYTE_PS + if fresh { 0 } else { *remainder };
                *remainder = work % *rate;
                Span(work / *rate)
            }
            Serializer::Floored { rate, ps_per_byte } => {
                let bytes = u64::from(bytes);
                let time = ps_per_byte.map_or_else(|| bytes * BYTE_PS / *rate, |ps| bytes * ps);
                Span(time - time % 1000)
            }
            Serializer::Ns3 { rate } => Span::from_ns(ns3_nanoseconds(u64::from(bytes), *rate)),
        }
    }

    /// Time to send `bytes` as if they were one packet, however many.
    fn stretch(&self, bytes: u64, fresh: bool) -> Span {
        let work = u128::from(bytes) * u128::from(BYTE_PS);
        match self {
            Serializer::Carried { rate, remainder } => {
                let carried = if fresh { 0 } else { *remainder };
                Span(((work + u128::from(carried)) / u128::from(*rate)) as u64)
            }
            Serializer::Floored { rate, ps_per_byte } => {
                let time = ps_per_byte.map_or_else(|| (work / u128::from(*rate)) as u64, |ps| ps.saturating_mul(bytes));
                Span(time - time % 1000)
            }
            Serializer::Ns3 { rate } => Span::from_ns(ns3_nanoseconds(bytes, *rate)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{NodeId, Table};

    /// Picoseconds that packets of these bytes take, sent back to back.
    fn times(clock: Clock, rate: u64, packets: &[u32]) -> Vec<u64> {
        let mut line = Line::new(clock, (rate, Span::ZERO), LinkId::new(0), None);
        let mut wires = Wires::new(Table::filled(NodeId::new(0), 1), 1);
        let mut time = |&bytes: &u32| {
            let start = line.free_at();
            line.send(start, bytes, &mut wires).since(start).0
        };
        packets.iter().map(&mut time).collect()
    }

    #[test]
    fn a_long_queue_takes_as_long_as_its_bytes() {
        for (clock, takes) in [(Clock::Exact, 13_333_333_333_333), (Clock::Floor1Ns, 13_333_333_333_000)] {
            let line = Line::new(clock, (3_000_000_000, Span::ZERO), LinkId::new(0), None);
            assert_eq!(line.would_take(Time::ZERO, 5_000_000_000), Span(takes), "{clock:?}");
        }
    }

    #[test]
    fn a_floored_line_takes_whole_nanoseconds() {
        assert_eq!(times(Clock::Floor1Ns, 100_000_000_000, &[1048, 60, 43]), [83_000, 4_000, 3_000]);
        assert_eq!(times(Clock::Floor1Ns, 3_000_000_000, &[1501, 1501]), [4_002_000, 4_002_000]);
    }

    #[test]
    fn ns_3_falls_short_of_whole_nanoseconds() {
        let rate = 100_000_000_000;
        for (bytes, ns) in [(1048, 83), (60, 4), (43, 3), (25, 1), (50, 3), (500, 39), (1025, 81)] {
            assert_eq!(times(Clock::Ns3, rate, &[bytes]), [ns * 1000], "{bytes} bytes");
            assert_eq!(Clock::Ns3.tx_time(u64::from(bytes), rate), ns * 1000);
        }
        assert_eq!(Clock::Floor1Ns.tx_time(1025, rate), 82_000);
    }

    #[test]
    fn three_gigabit_per_second_is_exact_over_time() {
        let mut at = 0;
        for (n, time) in (1..).zip(times(Clock::Exact, 3_000_000_000, &[1501; 1000])) {
            at += time;
            assert_eq!(at, n * 1501 * 8_000 / 3, "packet {n}");
        }
    }

    #[test]
    fn a_busy_period_that_begins_carries_nothing() {
        let mut line = Line::new(Clock::Exact, (3_000_000_000_000, Span::ZERO), LinkId::new(0), None);
        let mut wires = Wires::new(Table::filled(NodeId::new(0), 1), 1);
        let ends = [0, 2, 10].map(|start| line.send(Time(start), 1, &mut wires).0);
        // 2 2/3 ps a byte: the second ends at 5 1/3, and the third is sent alone.
        assert_eq!(ends, [2, 5, 12]);
        assert_eq!((line.busy_by(Time(11)), line.sent()), (Span(6), (3, 3)));
    }

    #[test]
    fn an_even_line_knows_its_past_and_its_future() {
        let delay = Span::from_ns(1000);
        let mut line = Line::new(Clock::Exact, (8_000_000_000, delay), LinkId::new(0), None);
        let mut wires = Wires::new(Table::filled(NodeId::new(0), 1), 1);
        let arrives = line.send(Time::ZERO, 500, &mut wires);
        assert_eq!(arrives, Time::ZERO + Span::from_ns(1500));
        assert_eq!(line.left_at(&Packet { at: arrives, wire: 500, ..Packet::default() }), Time::ZERO);
        assert_eq!(line.busy_by(Time::ZERO + Span::from_ns(200)), Span::from_ns(200));
        assert_eq!(line.would_take(line.free_at(), 1000), Span::from_ns(1000));
    }
}
