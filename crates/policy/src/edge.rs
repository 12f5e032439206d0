//! What host schemes share: turns by weight; and of those that measure as a rack, which paths to probe, and tables cut
//! into packets.

/// What [`Policy::IN_THREE_TIERS`](crate::Policy::IN_THREE_TIERS) says of schemes whose path tags are all they need.
pub const WHOLE_PATHS: &str = "a tag names a whole path, and there is one through each core";

pub mod acks;
pub mod delay;
pub mod pieces;
pub mod rack;
pub mod rounds;
pub mod weighted;
