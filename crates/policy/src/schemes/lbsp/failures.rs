//! LBSP's failure messages, and a switch's memory of them.

use crate::tree::{Spot, Tree};

/// Message class of a failure or a repair: flooded.
pub(crate) const FAILURE: u8 = 0;
/// Message class of an escalation: from an aggregation switch to the leaves of its pod.
pub(crate) const ESCALATION: u8 = 1;
/// The most links that a switch remembers news of.
pub const MOST_KNOWN: usize = 128;
/// Bytes of the body of a failure message.
pub(crate) const FAILURE_BYTES: usize = 20;
/// Bytes of the body of an escalation.
pub(crate) const ESCALATION_BYTES: usize = 9;

/// A failure message (LBSP §3.3.1): a failure type and the addresses affected. The originating switch, its port and the
/// number of its news let a flood end and old news lose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The switch that detected it.
    pub origin: u32,
    /// Its port.
    pub port: u16,
    /// Numbers the news of that port.
    pub number: u32,
    /// Failure type (Table 2).
    pub kind: u8,
    /// Whether it failed, or was repaired.
    pub gone: bool,
    /// Links this copy has travelled.
    pub hops: u8,
    /// First address affected.
    pub first: u32,
    /// Last address affected.
    pub last: u32,
}

impl Failure {
    /// Encodes.
    pub fn put(&self) -> [u8; FAILURE_BYTES] {
        let mut bytes = [0; FAILURE_BYTES];
        // 24 bits of switch.
        bytes[..4].copy_from_slice(&self.origin.to_be_bytes());
        bytes[0] = self.kind << 1 | u8::from(self.gone);
        bytes[4..6].copy_from_slice(&self.port.to_be_bytes());
        bytes[6] = self.hops;
        bytes[8..12].copy_from_slice(&self.number.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.first.to_be_bytes());
        bytes[16..].copy_from_slice(&self.last.to_be_bytes());
        bytes
    }

    /// Decodes; none if it is not a failure message, or not one that a switch of this tree sends.
    pub fn get(body: &[u8], tree: &Tree) -> Option<Failure> {
        let bytes: &[u8; FAILURE_BYTES] = body.try_into().ok()?;
        let [head, o1, o2, o3, p0, p1, hops, _, n0, n1, n2, n3, f0, f1, f2, f3, l0, l1, l2, l3] = *bytes;
        let failure = Failure {
            origin: u32::from_be_bytes([0, o1, o2, o3]),
            port: u16::from_be_bytes([p0, p1]),
            number: u32::from_be_bytes([n0, n1, n2, n3]),
            kind: head >> 1,
            gone: head & 1 == 1,
            hops,
            first: u32::from_be_bytes([f0, f1, f2, f3]),
            last: u32::from_be_bytes([l0, l1, l2, l3]),
        };
        let known = tree.range(failure.origin, failure.port) == Some((failure.first, failure.last));
        known.then_some(failure)
    }

    /// The uplink that leads to the detecting switch, and its column, if a downlink failed: switches that use that
    /// uplink act on it. Only the detecting switch acts on the failure of an uplink.
    pub(crate) fn lost_by(&self, tree: &Tree) -> Option<Lost> {
        match tree.spot(self.origin) {
            _ if tree.uplink(self.origin, self.port).is_some() => None,
            Spot::Leaf { .. } => None,
            Spot::Aggregation { column, .. } => Some(Lost::Aggregation { column }),
            Spot::Core { column, row } => Some(Lost::Core { column, row }),
        }
    }
}

/// A switch that no longer leads to the addresses of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The aggregation switch above them, reached by uplink `column` of a leaf.
    Aggregation {
        /// Its column.
        column: u32,
    },
    /// A core, reached by uplink `row` of the aggregation switches of a column.
    Core {
        /// Its column.
        column: u32,
        /// Its position there.
        row: u32,
    },
}

/// An aggregation switch's state towards other pods, as reported to the leaves of its pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It has a whole link group.
    #[default]
    Whole,
    /// No link group is whole.
    Uneven,
    /// No link leads there.
    Lost,
}

/// An escalation: an aggregation switch's new state towards these addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escalation {
    /// The state.
    pub state: State,
    /// First address.
    pub first: u32,
    /// Last address.
    pub last: u32,
}

impl Escalation {
    /// Encodes.
    pub fn put(&self) -> [u8; ESCALATION_BYTES] {
        let mut bytes = [0; ESCALATION_BYTES];
        bytes[0] = self.state as u8;
        bytes[1..5].copy_from_slice(&self.first.to_be_bytes());
        bytes[5..].copy_from_slice(&self.last.to_be_bytes());
        bytes
    }

    /// Decodes; none if it is not one about hosts of this tree.
    pub fn get(body: &[u8], tree: &Tree) -> Option<Escalation> {
        let &[state, f0, f1, f2, f3, l0, l1, l2, l3] = body else { return None };
        let state = match state {
            0 => State::Whole,
            1 => State::Uneven,
            2 => State::Lost,
            _ => return None,
        };
        let (first, last) = (u32::from_be_bytes([f0, f1, f2, f3]), u32::from_be_bytes([l0, l1, l2, l3]));
        (first <= last && last < tree.hosts()).then_some(Escalation { state, first, last })
    }
}

/// The newest news of each port that a switch has heard of, including repairs: a late copy must be recognized as old.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    list: [Failure; MOST_KNOWN],
    len: u16,
}

impl Default for Known {
    fn default() -> Self {
        Known { list: [Failure::default(); MOST_KNOWN], len: 0 }
    }
}

impl Known {
    /// All of them.
    pub fn all(&self) -> &[Failure] {
        &self.list[..usize::from(self.len)]
    }

    /// Records a message; returns whether it is new. If no room is left, it replaces an entry that is repaired; without
    /// one, it is not remembered.
    pub fn learn(&mut self, heard: Failure) -> bool {
        let list = &mut self.list[..usize::from(self.len)];
        if let Some(known) = list.iter_mut().find(|known| (known.origin, known.port) == (heard.origin, heard.port)) {
            let newer = heard.number > known.number;
            if newer {
                *known = heard;
            }
            return newer;
        }
        if list.len() < MOST_KNOWN {
            self.list[usize::from(self.len)] = heard;
            self.len += 1;
            return true;
        }
        let room = list.iter_mut().find(|known| !known.gone);
        room.is_some_and(|room| {
            *room = heard;
            true
        })
    }
}
