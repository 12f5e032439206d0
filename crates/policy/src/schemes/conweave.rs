//! ConWeave.

pub mod header;
pub mod reorder;
