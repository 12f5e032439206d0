//! The measure of a packet's path delay.

use crate::{HostView, Span};

crate::choice! {
    /// The part of a packet's or probe's time that is the delay of its path.
    Delay {
        /// The time there, by synchronized clocks: of its own path and no other.
        OneWay = "one_way",
        /// There and back: the answer comes over any path.
        Rtt = "rtt",
    }
}

impl Delay {
    /// The delay of a packet that took `one_way` there, and `rtt` with its answer.
    #[inline]
    pub fn of(self, one_way: Span, rtt: Span) -> Span {
        match self {
            Delay::OneWay => one_way,
            Delay::Rtt => rtt,
        }
    }

    /// The delay of a full packet on an empty path, as configured. The way there is more than half of the round trip,
    /// because acknowledgements are short.
    #[inline]
    pub fn base(self, view: &HostView<'_>) -> Span {
        self.of(view.base_one_way, view.base_rtt)
    }
}
