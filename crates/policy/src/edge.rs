//! Code shared by host schemes: flow labels, entropy values, flowcells, turns by weight and sums over acknowledgements;
//! and, for those that measure as a rack, which paths to probe and tables cut into packets.

pub mod acks;
pub mod asked;
pub mod cells;
pub mod delay;
pub mod entropy;
pub mod label;
pub mod penalties;
pub mod pieces;
pub mod rack;
pub mod rounds;
pub mod weighted;
