//! Code shared by switch schemes: reordering at the last leaf, estimates of link rates, levels of ports, and draws
//! among ports.

pub mod bands;
pub mod draw;
pub mod dre;
pub mod reorder;
