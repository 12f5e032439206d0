//! Entropy values: a number in the header that switches hash, so that the sender of a packet chooses its path without
//! knowing which. Each scheme chooses the value of the next packet, and learns the fate of values.
//!
//! The verdicts, and the walk over all values, are those of uet-htsim (`uec_mp.h`, `uec_mp.cpp` at 40ccb05), as a description
//! of that code has them. A value is the UDP source port of a packet, 16 bits.

use crate::{Event, Kind, Layout, Packet, Rng, Sight, Way};

/// The most values that a scheme spreads over.
pub const MOST: f64 = 32_768.0;

/// The verdict of an answer on the value of the packet it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet arrived unmarked.
    Good,
    /// It was marked.
    Marked,
    /// It was trimmed inside the fabric.
    Trimmed,
    /// It was not answered in time.
    Lost,
}

impl Verdict {
    /// Returns an event's verdict on a value, if any. A packet trimmed at the port of its destination has met nothing
    /// worse than its mark says: no other path would have helped.
    #[inline]
    pub const fn of(event: &Event) -> Option<Verdict> {
        match event {
            Event::Ack { marked: true, .. } | Event::Trimmed { last_hop: true, marked: true } => Some(Verdict::Marked),
            Event::Ack { marked: false, .. } | Event::Trimmed { last_hop: true, marked: false } => Some(Verdict::Good),
            Event::Trimmed { last_hop: false, .. } => Some(Verdict::Trimmed),
            Event::Timeout => Some(Verdict::Lost),
            Event::FlowStart { .. } | Event::FlowEnd | Event::Retransmit => None,
            Event::ProbeReply { .. } | Event::ProbeLost => None,
        }
    }
}

/// Whether the packet has a value of its own. Answers return with the value of the packet they answer.
#[inline]
pub const fn chooses(packet: &Packet) -> bool {
    matches!(packet.kind, Kind::Data)
}

/// The layout for a host that writes entropy values.
pub fn layout() -> Layout {
    Layout { draws_tags: true, ..Layout::default() }
}

/// Reports the choices: the value that is chosen now, and the one that would be if another packet were sent right
/// after.
pub fn tell(sight: &mut Sight<'_>, mut choose: impl FnMut() -> u16) {
    (0..2).for_each(|_| sight.offer(Way(choose())));
}

/// A walk over a power of two of values: each once per round, in an order drawn anew for each round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    step: u16,
    mask: u16,
    /// The higher bits, the same for all packets of a flow.
    above: u16,
    begun: bool,
}

impl Walk {
    /// Draws the starting point, once.
    #[inline]
    pub fn begin(&mut self, values: u16, rng: &mut Rng) {
        if !self.begun {
            // All bits set would mean no value.
            let blocks = u32::from(u16::MAX) / u32::from(values);
            *self =
                Walk { step: 0, mask: draw(values, rng), above: rng.below(blocks.max(1)) as u16 * values, begun: true };
        }
    }

    /// The next of `values` values, without the higher bits.
    #[inline]
    pub const fn next(&self, values: u16) -> u16 {
        (self.step ^ self.mask) & (values - 1)
    }

    /// The same with the higher bits.
    #[inline]
    pub const fn whole(&self, values: u16) -> u16 {
        self.above | self.next(values)
    }

    /// The next value in numerical order, starting from the one drawn first; advances.
    #[inline]
    pub fn count_up(&mut self, values: u16) -> u16 {
        let value = self.above | (self.mask.wrapping_add(self.step) & (values - 1));
        self.step = self.step.wrapping_add(1);
        value
    }

    /// Advances to the next value.
    #[inline]
    pub fn go_on(&mut self, values: u16, rng: &mut Rng) {
        self.step += 1;
        if self.step == values {
            (self.step, self.mask) = (0, draw(values, rng));
        }
    }
}

/// One of `values`, all equally likely.
#[inline]
pub fn draw(values: u16, rng: &mut Rng) -> u16 {
    rng.below(u32::from(values)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_each_value_once_and_the_next_another_order() {
        let (mut rng, mut walk) = (Rng::stream(1, "test", 0), Walk::default());
        walk.begin(16, &mut rng);
        let mut round = || {
            let mut seen = [0u8; 16];
            let mut order = [0u16; 16];
            for slot in &mut order {
                *slot = walk.next(16);
                seen[usize::from(*slot)] += 1;
                assert_eq!(walk.whole(16) & 15, *slot);
                walk.go_on(16, &mut rng);
            }
            assert_eq!(seen, [1; 16]);
            order
        };
        let orders = [round(), round(), round()];
        assert!(orders[0] != orders[1] || orders[1] != orders[2]);
    }

    #[test]
    fn no_value_is_that_of_no_choice() {
        let mut rng = Rng::stream(2, "test", 0);
        for values in [1, 2, 128, 32_768] {
            for _ in 0..200 {
                let mut walk = Walk::default();
                walk.begin(values, &mut rng);
                assert!(walk.above < u16::MAX - (values - 1) && walk.above % values == 0);
            }
        }
    }
}
