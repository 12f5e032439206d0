//! The output of a scheme: its wishes, and its choices.

use spinewise_policy::{Span, Way};

/// An action that a hook requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    /// A message to these hosts.
    Send {
        /// The recipients.
        to: Vec<u32>,
        /// The scheme's class.
        class: u8,
        /// Its body.
        body: Vec<u8>,
    },
    /// A probe.
    Probe {
        /// The recipient.
        to: u32,
        /// The way to send it on.
        way: Way,
        /// The n-th switch answers; 0: the host.
        ttl: u8,
        /// When it counts as lost.
        give_up: Span,
    },
    /// A point of a series.
    Record {
        /// Its name.
        series: &'static str,
        /// Value.
        value: f64,
    },
}

/// The answers of `pick` at this moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsed {
    /// Ways of the next units, and the number of the burst that each belongs to, or 0.
    pub slots: Vec<(Way, u16)>,
    /// Size of a unit: packets of a flowcell, or the gap of flowlets in µs; NaN if it has none.
    pub size: f64,
    /// Ways that the scheme offers.
    pub offered: Vec<Way>,
    /// The ways it considers dead, by their index there.
    pub dead: u64,
    /// The ways it calls best, by their index there.
    pub best: u64,
    /// Its quantities, in the order of its sheet: those of the flow first, then those of each way that it offers.
    pub sight: Vec<f64>,
}
