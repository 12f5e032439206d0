//! Limits of the hosts, leaves and ports that a scheme in Python may name, and of the numbers that it gives.

use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;

/// A whole number that a scheme gives: one that is out of range is an error that says the range. It is a `TypeError`,
/// because PyO3 adds the name of the argument to those alone.
pub(super) fn whole<T>(given: &Bound<'_, PyAny>) -> PyResult<T>
where
    T: Bounds + for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
{
    given.extract().map_err(|error: PyErr| {
        if error.is_instance_of::<PyOverflowError>(given.py()) {
            PyTypeError::new_err(format!("{given}: allowed is a whole number from 0 to {}", T::LARGEST))
        } else {
            error
        }
    })
}

/// The same, but None may be given in place of a number.
pub(super) fn perhaps<T>(given: &Bound<'_, PyAny>) -> PyResult<Option<T>>
where
    T: Bounds + for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
{
    if given.is_none() { Ok(None) } else { whole(given).map(Some) }
}

/// The largest number of a type.
pub(super) trait Bounds: std::fmt::Display {
    const LARGEST: Self;
}

macro_rules! bounds {
    ($($of:ty)*) => { $(impl Bounds for $of { const LARGEST: Self = Self::MAX; })* };
}

bounds!(u8 u16 u32 u64 usize);

/// Bounds of the numbers that may be named.
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
