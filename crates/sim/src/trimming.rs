//! The rules by which a port trims packets.

use crate::ramp::Ramp;

/// The fate of packets without room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Their headers, of this many bytes, continue as control.
    To(u16),
    /// They are dropped.
    Off,
}

/// The rules of a port that trims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrimRules {
    /// Room for data, bytes, the packet in transmission included.
    pub room: u64,
    /// Room for control, likewise.
    pub control_room: u64,
    /// Marks by the data that is left behind; none marks nothing.
    pub ramp: Option<Ramp>,
    /// The fate of packets without room.
    pub cut: Cut,
    /// The port leads to a host.
    pub last_hop: bool,
}
