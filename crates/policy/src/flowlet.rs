//! Flowlets: packets of a flow without a longer idle gap between them, all on one way.

use crate::sees::{quantity, us, us_since};
use crate::{Quantity, Sight, Span, Time};

crate::listed! {
    /// Quantities that schemes with flowlets report about one, before anything else about a flow.
    pub enum Told: Quantity {
        /// Its idle time.
        Gap = quantity("gap", "µs", "time since the flow's last packet, while the scheme remembers it"),
        /// The limit.
        FlowletGap = quantity("flowlet_gap", "µs", "a gap longer than this opens a flowlet"),
    }
}

/// Row per flow and direction: its last flowlet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flowlet {
    /// When its last packet passed.
    pub last: Time,
    /// Its way: a port of this switch, or a way of this host.
    pub to: u16,
    /// Whether there has been any packet.
    pub seen: bool,
}

impl Flowlet {
    /// Creates it for a flow whose packet goes there now.
    #[inline]
    pub const fn now(now: Time, to: u16) -> Flowlet {
        Flowlet { last: now, to, seen: true }
    }

    /// Whether a packet at `now` belongs to it.
    #[inline]
    pub const fn goes_on(&self, now: Time, gap: Span) -> bool {
        self.seen && !opens_flowlet(self.last, now, gap)
    }

    /// Fills in [`Told`].
    pub fn tell(&self, sight: &mut Sight<'_>, now: Time, gap: Span) {
        sight.flow(Told::Gap, us_since(self.seen.then_some(self.last), now));
        sight.flow(Told::FlowletGap, us(gap));
    }
}

/// Whether a packet at `now` opens a flowlet, when the last one passed at `last`.
// LetFlow §3: iff the gap is longer than the timeout.
// CONGA §3.4: iff the gap is longer than T_fl.
#[inline]
pub const fn opens_flowlet(last: Time, now: Time, gap: Span) -> bool {
    now.since(last).0 > gap.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_itself_does_not_open_a_flowlet() {
        let gap = Span::from_us(500);
        let flowlet = Flowlet::now(Time(7), 3);
        assert!(flowlet.goes_on(Time(7) + gap, gap));
        assert!(!flowlet.goes_on(Time(7) + gap + Span(1), gap));
    }

    #[test]
    fn without_a_gap_packets_of_one_instant_stay_together() {
        assert!(!opens_flowlet(Time(5), Time(5), Span::ZERO));
        assert!(opens_flowlet(Time(5), Time(6), Span::ZERO));
    }

    #[test]
    fn a_flow_never_seen_has_none() {
        assert!(!Flowlet::default().goes_on(Time::ZERO, Span::FOREVER));
    }
}
