//! Packets as they pass chosen ports: what `[metrics.capture]` asks for.
//!
//! A port sends on one link and receives from the link back. Both are captured where a packet comes off its link: the
//! receiver already asks there whether the link has lost the packet ([`crate::faults::Frail`]), so a run without a
//! capture executes no extra code, nor do the other nodes of a run with one. The time when the packet left follows from
//! its arrival and the line, or is noted by the sender where the line changes.
//!
//! | file | contents |
//! |---|---|
//! | `taps.rs` | the selection of links, by the names in the spec |
//! | `tap.rs` | the packets kept of one link |
//! | `outcome/packets.rs` | all of it as columns |

mod tap;
mod taps;

pub(crate) use tap::{Taken, Tap};
pub(crate) use taps::{Point, Taps};

/// Bytes that a packet takes while it is kept and as a row, with its body: measured on data and acknowledgements.
pub(crate) const PACKET_BYTES: u64 = 320;
