//! The packets kept of one link.

use super::taps::Sides;
use crate::packet::{BODY, InHand};
use spinewise_policy::Time;

/// A packet that was on a link.
#[derive(Clone, Debug)]
pub struct Taken {
    /// The packet as it came off the link.
    pub hand: InHand,
    /// When its transmission started.
    pub left: Time,
    /// When its last bit arrived, if it did.
    pub arrived: Option<Time>,
    /// The link has lost it.
    pub lost: bool,
}

/// The packets of a link, up to a number for each side.
#[derive(Clone, Debug)]
pub struct Tap {
    sides: Sides,
    span: (Time, Time),
    most: u64,
    /// Packets in the order of leaving.
    pub taken: Vec<Taken>,
    /// Packets that left, and that arrived, in the time that is captured.
    pub seen: (u64, u64),
}

impl Tap {
    pub(super) fn new(sides: Sides, span: (Time, Time), most: u64) -> Tap {
        Tap { sides, span, most, taken: Vec::new(), seen: (0, 0) }
    }

    /// Takes a packet that left at `left` and is due. `lost`: whether it was lost, or `None` if it was still on its way
    /// when the run ended.
    pub fn take(&mut self, hand: &InHand, left: Time, lost: Option<bool>) {
        let (packet, arrived) = (&hand.packet, (lost == Some(false)).then_some(hand.packet.at));
        let sent = self.sends(left);
        let received = arrived.is_some_and(|at| self.receives(at));
        let before = self.seen;
        self.seen = (before.0 + u64::from(sent), before.1 + u64::from(received));
        if (sent && before.0 < self.most) || (received && before.1 < self.most) {
            // The body in hand may be that of a packet before.
            let body = hand.body.clone().filter(|_| packet.is(BODY));
            let hand = InHand { packet: *packet, body };
            self.taken.push(Taken { hand, left, arrived, lost: lost == Some(true) });
        }
    }

    /// Whether packets that leave then are captured.
    pub fn sends(&self, at: Time) -> bool {
        self.sides.sent && self.holds(at)
    }

    /// Whether packets that arrive then are captured.
    pub fn receives(&self, at: Time) -> bool {
        self.sides.received && self.holds(at)
    }

    fn holds(&self, at: Time) -> bool {
        self.span.0 <= at && at < self.span.1
    }
}
