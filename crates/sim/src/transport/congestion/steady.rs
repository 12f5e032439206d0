//! Constant windows: one and a half bandwidth-delay products, or none at all where receivers pace.

use super::{About, Controller, NoKeys, Start, Window, nscc};

/// User documentation of the constant window.
pub(super) const CONSTANT: About =
    About { about: "a constant window of one and a half bandwidth-delay products", source: "uet-htsim (uec.cpp)" };

/// User documentation of no window.
pub(super) const NONE: About =
    About { about: "no window: only the receiver's credit limits what may be sent", source: "uet-htsim (uec.cpp)" };

/// A window that does not change.
#[derive(Clone, Copy, Debug)]
pub struct Constant(u64);

impl Controller for Constant {
    type Config = NoKeys;

    fn new(_: &NoKeys, start: &Start) -> Self {
        Constant(nscc::window_of(nscc::bdp(start.base_rtt, start.rate)) as u64)
    }

    fn open(&mut self, _: &NoKeys, window: &mut Window, _: u64) {
        window.cwnd = self.0;
    }

    fn marks(_: &NoKeys) -> super::Marks {
        super::Marks::Counted
    }
}

/// No bound.
#[derive(Clone, Copy, Debug)]
pub struct Unbounded;

impl Controller for Unbounded {
    type Config = NoKeys;

    fn new(_: &NoKeys, _: &Start) -> Self {
        Unbounded
    }

    fn open(&mut self, _: &NoKeys, window: &mut Window, _: u64) {
        window.cwnd = u64::MAX / 4;
    }

    fn marks(_: &NoKeys) -> super::Marks {
        super::Marks::Counted
    }
}
