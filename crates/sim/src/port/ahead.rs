//! Control packets of a commit-at-start port, put on the link before they start.
//!
//! Control goes before all data, first in, first out, and is never paused. So when a control packet starts is known as
//! soon as it is queued, and it goes into the link's ring there and then, as all packets of a FIFO port do: no event is
//! needed. Waiting data sees a line that is busy for longer. Only a pause frame overtakes control, which is rare:
//! control packets that have not started then move back by the time the frame takes.

use super::{Freed, Kept};
use crate::link::Wires;
use crate::packet::{InHand, Packet};
use spinewise_policy::{Kind, Span, Time};

impl Kept {
    /// Makes a port with a control queue commit packets that join that queue, if possible: its rate must not change,
    /// the time of a packet must not depend on others, and a packet must not arrive as it is sent.
    pub fn with_control_ahead(mut self) -> Self {
        self.commits_control = self.line.is_even() && self.line.delay() > Span::ZERO;
        self
    }

    /// Whether control goes on the link as it is queued. Then its queue in the lanes is always empty.
    #[inline]
    pub fn commits_control(&self) -> bool {
        self.commits_control
    }

    /// Puts a control packet on the link, behind packets that have started and other control.
    #[inline]
    pub fn commit_control(&mut self, now: Time, hand: &mut InHand, wires: &mut Wires) {
        self.transmit(self.line.free_at().max(now), hand, wires);
    }

    /// Puts a pause frame on the link, behind packets that have started and other pause frames, ahead of other control.
    /// It replaces a frame for the same priority that has not started, which is now obsolete. Returns whether it is an
    /// additional frame. If the line is `freed` already, the packet that starts `now` has started.
    #[cold]
    pub fn commit_pause(&mut self, now: Time, freed: Freed, frame: &Packet, wires: &mut Wires) -> bool {
        let (mut behind, _) = self.ahead(now, freed, wires);
        let ring = wires.ring_mut(self.line.link);
        while behind > 0 && ring.nth_back_mut(behind - 1).kind == Kind::Pause {
            behind -= 1;
            let waiting = ring.nth_back_mut(behind);
            if waiting.echo == frame.echo {
                *waiting = Packet { at: waiting.at, ..*frame };
                return false;
            }
        }
        let arrives = self.line.send(self.line.free_at().max(now), u32::from(frame.wire), wires);
        let took = self.line.alone(frame.wire);
        *wires.slot(self.line.link, arrives) = Packet { at: arrives, ..*frame };
        let ring = wires.ring_mut(self.line.link);
        for i in 0..behind {
            let other = *ring.nth_back_mut(i + 1);
            *ring.nth_back_mut(i) = Packet { at: other.at + took, ..other };
            *ring.nth_back_mut(i + 1) = Packet { at: other.at - self.line.alone(other.wire) + took, ..*frame };
        }
        true
    }

    /// Control packets on the link that have not started by `now`, and their bytes. If the line is `freed` already, the
    /// packet that starts `now` has started.
    pub(super) fn ahead(&self, now: Time, freed: Freed, wires: &Wires) -> (usize, u64) {
        if !self.commits_control || self.line.free_at() <= now {
            return (0, 0);
        }
        let (ring, mut bytes) = (wires.ring(self.line.link), 0);
        for n in 0..ring.len() {
            let last = ring.len() - 1 - n;
            let packet = ring.get(last);
            let start = self.line.left_at(packet);
            // A packet that found its line free before this instant started at once; one that starts as another ends
            // waits for that.
            let waited = || last > 0 && ring.get(last - 1).at - self.line.delay() == start;
            if start < now || (start == now && (freed == Freed::Already || !waited())) {
                return (n, bytes);
            }
            bytes += u64::from(packet.wire);
        }
        (ring.len(), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{LinkId, NodeId, Table};
    use crate::line::Line;
    use crate::packet::Clock;
    use crate::port::{Control, Lanes, Rules};

    const RATE: u64 = 8_000_000_000; // one byte per nanosecond
    const DELAY: Span = Span::from_ns(1000);

    fn port(clock: Clock) -> (Kept, Wires) {
        let port =
            Kept::new(Line::new(clock, (RATE, DELAY), LinkId::new(0), None), Lanes::new(1, Control::Apart, 0), 0);
        (port.with_control_ahead(), Wires::new(Table::filled(NodeId::new(0), 1), 1))
    }

    fn ack(flow: u32, wire: u16) -> InHand {
        InHand::from(Packet { flow, wire, kind: Kind::Ack, ..Packet::default() })
    }

    fn frame(length: u64, priority: u16) -> Packet {
        Packet { seq: length, wire: 43, echo: priority, kind: Kind::Pause, ..Packet::default() }
    }

    /// Returns the packets on the link: kind, flow, length of a pause, and arrival in ns.
    fn on_link(wires: &Wires) -> Vec<(Kind, u32, u64, u64)> {
        wires
            .ring(LinkId::new(0))
            .iter()
            .map(|packet| (packet.kind, packet.flow, packet.seq, packet.at.0 / 1000))
            .collect()
    }

    #[test]
    fn control_goes_on_the_link_behind_control_and_a_pause_frame_before_it() {
        let (mut port, mut wires) = port(Clock::Exact);
        let now = Time::ZERO + Span::from_ns(10);
        for (flow, wire) in [(1, 1000), (2, 60), (3, 70)] {
            port.commit_control(now, &mut ack(flow, wire), &mut wires);
        }
        let told = [(Kind::Ack, 1, 0, 2010), (Kind::Ack, 2, 0, 2070), (Kind::Ack, 3, 0, 2140)];
        assert_eq!(on_link(&wires), told);
        assert!(port.commit_pause(now, Freed::Already, &frame(7, 0), &mut wires));
        assert!(port.commit_pause(now, Freed::Already, &frame(8, 1), &mut wires));
        let (one, two) = ((Kind::Pause, 0, 7, 2053), (Kind::Pause, 0, 8, 2096));
        assert_eq!(on_link(&wires), [told[0], one, two, (Kind::Ack, 2, 0, 2156), (Kind::Ack, 3, 0, 2226)]);
        // A newer frame for a priority replaces one that has not started.
        assert!(!port.commit_pause(now, Freed::Already, &frame(9, 0), &mut wires));
        let one = (Kind::Pause, 0, 9, 2053);
        assert_eq!(on_link(&wires), [told[0], one, two, (Kind::Ack, 2, 0, 2156), (Kind::Ack, 3, 0, 2226)]);
        assert_eq!(port.line.free_at(), Time::ZERO + Span::from_ns(1226));
    }

    #[test]
    fn what_has_not_started_is_in_the_queue_and_was_never_sent() {
        let (mut port, mut wires) = port(Clock::Exact);
        let rules = Rules::boundless();
        for (flow, wire) in [(1, 1000), (2, 60), (3, 70)] {
            port.commit_control(Time::ZERO, &mut ack(flow, wire), &mut wires);
        }
        let at = |ns| Time::ZERO + Span::from_ns(ns);
        for (ns, freed, queue) in [
            (0, Freed::Already, (130, 2)),
            (1000, Freed::NotYet, (130, 2)),
            (1000, Freed::Already, (70, 1)),
            (1060, Freed::Already, (0, 0)),
            (2000, Freed::Already, (0, 0)),
        ] {
            assert_eq!(port.queue(at(ns), freed, &rules, &wires), queue, "{ns} ns");
        }
        let counters = port.finish(at(1060), &wires);
        assert_eq!((counters.packets, counters.bytes, counters.busy), (2, 1060, Span::from_ns(1060)));
    }

    #[test]
    fn a_packet_that_starts_now_is_jumped_until_its_line_is_freed() {
        for freed in [Freed::NotYet, Freed::Already] {
            let (mut port, mut wires) = port(Clock::Floor1Ns);
            port.commit_control(Time::ZERO, &mut ack(1, 1000), &mut wires);
            port.commit_control(Time::ZERO, &mut ack(2, 60), &mut wires);
            let now = Time::ZERO + Span::from_ns(1000);
            assert!(port.commit_pause(now, freed, &frame(7, 0), &mut wires));
            let kinds = [Kind::Ack, if freed == Freed::Already { Kind::Ack } else { Kind::Pause }];
            assert_eq!(on_link(&wires).iter().map(|packet| packet.0).take(2).collect::<Vec<_>>(), kinds);
        }
    }

    #[test]
    fn a_line_whose_packets_carry_a_remainder_keeps_its_control() {
        let on = |rate, delay| {
            Kept::new(Line::new(Clock::Exact, (rate, delay), LinkId::new(0), None), Lanes::new(1, Control::Apart, 0), 0)
        };
        let uneven = on(3_000_000_000, DELAY).with_control_ahead();
        assert!(!uneven.commits_control() && !port(Clock::Ns3).0.commits_control());
        let at_once = on(RATE, Span::ZERO).with_control_ahead();
        assert!(!at_once.commits_control() && port(Clock::Floor1Ns).0.commits_control());
    }
}
