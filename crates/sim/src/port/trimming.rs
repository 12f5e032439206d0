//! Trimming: data that finds its queue full loses its payload, and its header goes on before all data.
//!
//! The discipline is that of uet-htsim's composite queue (`compositequeue.cpp`), as a description of it has it. A port has a
//! data queue, whose room counts the packet in transmission, and a control queue with room of its own, which is served first.
//! Which of two is trimmed, the packet that arrives or the last that waits, a fair coin says. A packet is marked when it has
//! been sent, by the data that waits then.

use super::{Kept, Lane};
use crate::link::Wires;
use crate::packet::{BARE, ECT, InHand, LAST_HOP};
use crate::trimming::{Cut, TrimRules};
use spinewise_policy::{Kind, Time};

/// A port that trims.
#[derive(Debug)]
pub(super) struct Trimming {
    rules: TrimRules,
    /// What is on the line, or was last: bytes of data and of control, one of them 0.
    data: u32,
    control: u32,
    /// A mark of the packet that was sent last is still to be decided.
    unsettled: bool,
    /// Packets trimmed here, and headers that found no room.
    pub trimmed: u64,
    /// See above.
    pub headers_lost: u64,
}

/// Where a packet that arrives belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// There is room for it.
    Fits,
    /// There is none.
    Full,
}

/// A packet that has lost its payload, or all of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trimmed {
    /// Its header waits; it has lost these bytes.
    By(u16),
    /// It is dropped.
    Dropped,
}

impl Trimming {
    /// By these rules.
    pub(super) fn new(rules: TrimRules) -> Trimming {
        Trimming { rules, data: 0, control: 0, unsettled: false, trimmed: 0, headers_lost: 0 }
    }

    /// A packet of `wire` bytes starts.
    #[inline]
    pub(super) fn starts(&mut self, lane: Lane, wire: u32) {
        let is_data = matches!(lane, Lane::Data(_));
        (self.data, self.control) = if is_data { (wire, 0) } else { (0, wire) };
        self.unsettled = is_data && self.rules.ramp.is_some();
    }
}

impl Kept {
    /// Makes the port trim.
    pub fn with_trimming(mut self, rules: TrimRules) -> Kept {
        self.lanes.trimming = Some(Trimming::new(rules));
        self
    }

    /// Does it trim?
    #[inline]
    pub fn trims(&self) -> bool {
        self.lanes.trimming.is_some()
    }

    /// Is there room for a packet of `wire` bytes in this lane?
    pub fn room(&self, now: Time, lane: Lane, wire: u32) -> Room {
        let Some(trimming) = &self.lanes.trimming else { return Room::Fits };
        let sending = now < self.line.free_at();
        let on_line = |bytes: u32| if sending { u64::from(bytes) } else { 0 };
        let (held, room) = match lane {
            Lane::Data(_) => {
                let held = self.lanes.bytes(lane) + self.lanes.held_in_all().0 + on_line(trimming.data);
                (held, trimming.rules.room)
            }
            Lane::Pause | Lane::Control => {
                (self.lanes.bytes(lane) + on_line(trimming.control), trimming.rules.control_room)
            }
        };
        // A free line takes any packet.
        let free = !sending && self.waiting.packets == 0 && held == 0;
        if !free && held + u64::from(wire) > room { Room::Full } else { Room::Fits }
    }

    /// Bytes of data and of control, what is on the line included, and the room for data, where it trims.
    pub fn occupancy(&self, now: Time) -> Option<(u64, u64)> {
        let trimming = self.lanes.trimming.as_ref()?;
        let sending = if now < self.line.free_at() { trimming.data + trimming.control } else { 0 };
        Some((self.waiting.bytes + self.lanes.held_in_all().0 + u64::from(sending), trimming.rules.room))
    }

    /// Trims the packet in hand, which then waits as control if there is room.
    pub fn trim(&mut self, now: Time, hand: &mut InHand) -> Trimmed {
        let Some(Trimming { rules, .. }) = &self.lanes.trimming else { return Trimmed::Dropped };
        let (Cut::To(bytes), last_hop) = (rules.cut, rules.last_hop) else { return Trimmed::Dropped };
        let packet = &mut hand.packet;
        // UDP flows beside a transport do not say that they may be trimmed.
        if packet.kind != Kind::Data || !packet.is(ECT) {
            return Trimmed::Dropped;
        }
        // A scheme's header goes with the payload.
        let whole = packet.wire - u16::from(packet.fabric_header);
        let bytes = whole.min(bytes);
        let lost = self.room(now, Lane::Control, u32::from(bytes)) == Room::Full;
        let Some(trimming) = &mut self.lanes.trimming else { return Trimmed::Dropped };
        trimming.trimmed += 1;
        if lost {
            trimming.headers_lost += 1;
            return Trimmed::Dropped;
        }
        let cut = whole - bytes;
        packet.wire = bytes;
        packet.fabric_header = 0;
        packet.flags |= if last_hop { BARE | LAST_HOP } else { BARE };
        Trimmed::By(cut)
    }

    /// Takes the data packet that was queued last, if one waits.
    pub fn take_last(&mut self) -> Option<(InHand, u16)> {
        let (hand, in_port) = self.lanes.take_last()?;
        self.waiting.leave(u64::from(hand.packet.wire));
        Some((hand, in_port))
    }

    /// Decides whether the packet that has been sent is marked, by the data that waits.
    #[inline]
    pub fn settle(&mut self, wires: &mut Wires, roll: impl FnOnce() -> f64) {
        let Some(trimming) = &mut self.lanes.trimming else { return };
        if !std::mem::take(&mut trimming.unsettled) {
            return;
        }
        let ramp = trimming.rules.ramp;
        let ring = wires.ring_mut(self.line.link);
        // On a link without delay it has arrived already.
        if !ring.is_empty() && ramp.is_some_and(|ramp| ramp.marks(self.lanes.bytes(Lane::Data(0)), roll)) {
            self.counts.mark(ring.nth_back_mut(0));
        }
    }

    /// Notes what starts, of a port that trims.
    #[inline]
    pub fn note_start(&mut self, lane: Lane, wire: u32) {
        if let Some(trimming) = &mut self.lanes.trimming {
            trimming.starts(lane, wire);
        }
    }

    /// Packets trimmed here, and headers that found no room.
    pub fn trimmed(&self) -> (u64, u64) {
        self.lanes.trimming.as_ref().map_or((0, 0), |trimming| (trimming.trimmed, trimming.headers_lost))
    }
}
