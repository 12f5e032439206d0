//! What host schemes share: turns by weight; and of those that measure as a rack, which paths to probe, and tables cut
//! into packets.

pub mod acks;
pub mod delay;
pub mod pieces;
pub mod rack;
pub mod rounds;
pub mod weighted;
