//! What numbers of hosts, leaves and ports a scheme in Python may name.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

/// Bounds of what may be named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// Hosts of the network.
    pub hosts: u32,
    /// Leaves of it.
    pub leaves: u32,
}

impl Extent {
    pub fn host(self, host: u32) -> PyResult<u32> {
        within("host", host, self.hosts)
    }
    pub fn leaf(self, leaf: u32) -> PyResult<u32> {
        within("leaf", leaf, self.leaves)
    }
}

/// A number below `end`.
pub(super) fn within(what: &str, number: u32, end: u32) -> PyResult<u32> {
    if number < end {
        return Ok(number);
    }
    Err(PyIndexError::new_err(beyond(what, number as usize, end as usize)))
}

/// The error that a number is not below `end`.
pub(super) fn beyond(what: &str, number: usize, end: usize) -> String {
    format!("{what} {number}: there {} {end}, counted from 0", if end == 1 { "is" } else { "are" })
}
