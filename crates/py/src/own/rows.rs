//! Rows of a scheme in Python: one object each, made on first access, dropped with the row.

use super::extent::beyond;
use super::lent::{Lease, Place, Which, lent};
use pyo3::exceptions::{PyAttributeError, PyIndexError};
use pyo3::prelude::*;
use spinewise_policy::rows::NOBODY;
use spinewise_sim::bank::Row;
use std::sync::Arc;

/// Makers of the rows: the classes `Flow`, `Peer`, `Route`, `Port` and `Node` of the scheme, where it has them.
#[derive(Default)]
pub struct Makers {
    pub flow: Option<Py<PyAny>>,
    pub peer: Option<Py<PyAny>>,
    pub route: Option<Py<PyAny>>,
    pub port: Option<Py<PyAny>>,
    pub node: Option<Py<PyAny>>,
}

impl Makers {
    /// Finds the makers of this class.
    pub fn of(class: &Bound<'_, PyAny>) -> PyResult<Makers> {
        let maker = |name: &str| -> PyResult<Option<Py<PyAny>>> {
            let found = class.getattr(name)?;
            Ok((!found.is_none()).then(|| found.unbind()))
        };
        Ok(Makers {
            flow: maker("Flow")?,
            peer: maker("Peer")?,
            route: maker("Route")?,
            port: maker("Port")?,
            node: maker("Node")?,
        })
    }
}

/// The object in a row.
#[inline]
fn held(py: Python<'_>, row: &Row) -> Option<Py<PyAny>> {
    row.0.as_ref().and_then(|held| held.downcast_ref::<Py<PyAny>>()).map(|object| object.clone_ref(py))
}

fn hold(py: Python<'_>, row: &mut Row, object: &Py<PyAny>) {
    row.0 = Some(Arc::new(object.clone_ref(py)));
}

/// The object of a flow's row; None if the scheme has no rows for flows, or the call is about none.
pub(super) fn of_flow(py: Python<'_>, row: Option<&mut Row>, maker: Option<&Py<PyAny>>) -> PyResult<Py<PyAny>> {
    let (Some(row), Some(maker)) = (row, maker) else { return Ok(py.None()) };
    if let Some(object) = held(py, row) {
        return Ok(object);
    }
    let object = maker.call0(py)?;
    hold(py, row, &object);
    Ok(object)
}

/// The object of another row.
pub(super) fn of(py: Python<'_>, lease: &Lease, which: Which, maker: Option<&Py<PyAny>>) -> PyResult<Py<PyAny>> {
    let Some(maker) = maker else {
        let class = match which {
            Which::Node => "Node",
            Which::Port(_) => "Port",
            Which::Peer(_) => "Peer",
            Which::Route(..) => "Route",
        };
        return Err(PyAttributeError::new_err(format!("the scheme keeps no such rows: give it a class {class}")));
    };
    let kept = lent(lease, |place| match place.row(which) {
        Some(row) => Ok(held(py, row)),
        None => Err(none(which, place)),
    })?;
    if let Some(object) = kept {
        return Ok(object);
    }
    // Made while nothing is borrowed: making it may also access what is lent.
    let object = maker.call0(py)?;
    lent(lease, |place| match place.row(which) {
        Some(row) => {
            hold(py, row, &object);
            Ok(())
        }
        None => Err(none(which, place)),
    })?;
    Ok(object)
}

/// Returns the reason why there is no such row.
fn none(which: Which, place: &dyn Place) -> PyErr {
    let met = place.peers().0.len();
    PyIndexError::new_err(match which {
        Which::Peer(NOBODY) | Which::Route(NOBODY, _) => "this call is about no peer: cx.peer and cx.route need \
             Layout(peers=\"hosts\") or Layout(peers=\"leaves\"), and a call about a peer, unlike tick, link and timers \
             of the device; cx.peers has the rows of all peers met"
            .to_owned(),
        Which::Peer(peer) | Which::Route(peer, _) if peer >= met => beyond("peer", peer, met),
        Which::Route(_, way) => beyond("route", way, place.routes()),
        Which::Port(port) => beyond("port", port, place.ports()),
        Which::Peer(_) | Which::Node => format!("there is no {which:?} here"),
    })
}
