//! The data path's counts since the last step, translated to calls of a scheme's hooks.

use super::{Peer, Step};
use crate::layout::{State, TICK_NS, WAYS};
use bytemuck::Zeroable;
use spinewise_policy::{Event, Span, Way};

/// Packets after which a burst need not be awaited any longer.
const FULL_BURST: u16 = 10;
/// Fewer reveal no rate: an idle token bucket, or a NIC that gathers packets, passes two as one.
const LEAST_BURST: u16 = 3;

impl Peer {
    /// Reports packets that have arrived.
    pub(super) fn tell_arrivals(&mut self, step: &mut Step<'_>, before: &State) {
        /// Maximum reported per way at a time.
        const MOST: u64 = 4096;
        let (now, by_port) = (step.time(), step.slow.plan().by_port);
        let mut hides = None;
        for (number, came) in self.state.received.iter().enumerate() {
            let old = before.received[number];
            // If a port came and went, everything may have been counted from zero twice.
            let grown = old.packets <= came.packets && old.bytes <= came.bytes && old.marked <= came.marked;
            let same = grown && (old.port, old.instance) == (came.port, came.instance);
            let old = if same { old } else { Zeroable::zeroed() };
            let packets = (came.packets - old.packets).min(MOST);
            if packets == 0 {
                continue;
            }
            let wire = ((came.bytes - old.bytes) / (came.packets - old.packets)) as u32;
            let marked = (came.marked - old.marked).min(packets);
            let way = if by_port { Way(came.port) } else { Way(number as u16) };
            // ELAB counts a packet when it reads its header.
            let told = std::mem::take(&mut self.carried[number]).min(packets);
            let untold = if by_port { packets - told } else { packets };
            for place in 0..untold {
                let ce = place + marked >= untold;
                let masked = step.slow.arrived(now, self.host, way, (wire, ce), 0);
                hides = if ce { Some(masked) } else { hides };
            }
        }
        self.tell_burst(step, before);
        if let Some(hides) = hides {
            self.manners.hide_here = hides;
        }
    }

    /// Reports a burst that has arrived whole, or to which nothing was added for a while: its first packet, and all
    /// others as one.
    fn tell_burst(&mut self, step: &mut Step<'_>, before: &State) {
        let burst = self.state.burst;
        let rtt = step.slow.view.base_rtt.0 / 1000;
        let over = |at: u64| at.saturating_sub(burst.last) > rtt;
        let was_over = self.burst_told == (burst.instance, burst.id);
        let of_now = burst.instance == self.instance && burst.id > 0;
        if !of_now || was_over || burst.packets < LEAST_BURST || (before.burst == burst && !over(step.now)) {
            return;
        }
        if !over(step.now) && burst.packets < FULL_BURST {
            return;
        }
        self.burst_told = (burst.instance, burst.id);
        let way = Way(burst.port);
        for (at, bytes) in [(burst.first, 0), (burst.last, burst.bytes)] {
            let at = step.slow.time(at);
            step.slow.arrived(at, self.host, way, (bytes, false), burst.id);
        }
    }

    /// Reports delays of own packets, as the peer has echoed them.
    pub(super) fn tell_delays(&mut self, step: &mut Step<'_>, before: &State) {
        /// Maximum reported per way at a time.
        const MOST: u32 = 64;
        for number in 0..self.paths.ports.len().min(WAYS) {
            let (old, new) = (before.echo[number], self.state.echo[number]);
            let samples = new.samples.wrapping_sub(old.samples);
            if samples == 0 {
                continue;
            }
            if old.samples > 0 && old.origin != new.origin {
                // The clock was set, and the sum is of both.
                continue;
            }
            let rtt = new.rtt.wrapping_sub(old.rtt) / u64::from(samples) * TICK_NS;
            let apart = new.apart.wrapping_sub(old.apart) / i64::from(samples);
            let one_way = self.clocks.one_way(step.now, new.origin.wrapping_add(apart as u32), rtt);
            self.delays[number] = (rtt, one_way);
            let bytes = u64::from(step.slow.view.mss);
            let event = Event::Ack { bytes, rtt: Span::from_ns(rtt), one_way: Span::from_ns(one_way), marked: false };
            let name = self.name(step.slow, number);
            for _ in 0..samples.min(MOST) {
                step.slow.learnt(step.time(), self.host, name, event);
            }
        }
    }

    /// Schemes ask whether flows are active: traffic is one flow, which ends when nothing has left for a while.
    pub(super) fn tell_activity(&mut self, step: &mut Step<'_>, before: &State) {
        /// The minimum idle time.
        const IDLE_NS: u64 = 20_000_000;
        /// The nominal size of a flow whose size is unknown.
        const SIZE: u64 = 1 << 20;
        let now = step.time();
        if self.state.packets != before.packets {
            self.active_at = step.now;
            if !self.active {
                self.active = true;
                step.slow.learnt(now, self.host, Way::ANY, Event::FlowStart { size: SIZE });
            }
        } else if self.active && step.now - self.active_at > IDLE_NS.max(step.slow.view.base_rtt.0 / 100) {
            self.active = false;
            step.slow.learnt(now, self.host, Way::ANY, Event::FlowEnd);
        }
    }
}
