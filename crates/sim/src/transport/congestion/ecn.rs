//! TCP with ECN (RFC 3168): a mark halves the window as a loss does.
//!
//! Departure: without selective acknowledgements a loss in a window that a mark has cut cuts it again, where §6.1.2 asks
//! for one cut of the two.

use super::reno::Reno;
use super::{About, Acked, Controller, Marks, NoKeys, Start, Window};
use spinewise_policy::time::Time;

/// Its user documentation.
pub(super) const ABOUT: About =
    About { about: "TCP that halves its window on an ECN mark as on a loss", source: "RFC 3168, RFC 5681, RFC 6298" };

/// Reno that reacts to marks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ecn(Reno);

impl Controller for Ecn {
    type Config = NoKeys;

    fn new(_: &NoKeys, _: &Start) -> Self {
        Self::default()
    }

    fn marks(_: &NoKeys) -> Marks {
        Marks::Repeated
    }

    #[inline(always)]
    fn grow(&mut self, config: &NoKeys, window: &mut Window, ack: &Acked) {
        self.0.grow(config, window, ack);
    }

    fn on_mark(&mut self, _: &NoKeys, window: &mut Window, _: Time) {
        window.cwnd /= 2; // RFC 3168 §6.1.2
    }

    fn restart(&mut self) {
        self.0.restart();
    }
}
