//! What host schemes share that measure as a rack: which paths to probe, and tables cut into packets.

pub mod pieces;
pub mod rounds;
