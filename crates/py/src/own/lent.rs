//! Values that the contract lends to a hook, accessible from Python for as long as the hook runs and no longer.
//!
//! Views in Python hold nothing: each looks here, and finds nothing once the hook has returned. A view that was kept
//! finds nothing in later hooks either: its lease has ended (`handles.rs`). So a view always shows the place that it
//! was lent for.

use pyo3::PyResult;
use pyo3::exceptions::PyRuntimeError;
use scoped_tls_hkt::scoped_thread_local;
use spinewise_policy::{Out, Rng, Time};
use spinewise_sim::bank::{Header, Hook, Lent, Room, Row};
use std::sync::atomic::{AtomicBool, Ordering};

/// A row of this seat.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    /// The device's row.
    Node,
    /// A port's row.
    Port(usize),
    /// The row of the n-th peer met.
    Peer(usize),
    /// The row of a way to it.
    Route(usize, usize),
}

/// A [`Lent`], whatever its lifetimes.
pub(crate) trait Place {
    /// The current time.
    fn now(&self) -> Time;
    /// The hook that is called, and its subject.
    fn hook(&self) -> Hook<'_>;
    /// The information available at this place.
    fn room(&self) -> &Room<'_>;
    /// The seat's random stream.
    fn rng(&mut self) -> &mut Rng;
    /// The header of the packet in hand.
    fn header(&mut self) -> Option<&mut Header>;
    /// A row.
    fn row(&mut self, which: Which) -> Option<&mut Row>;
    /// Ids of the peers met, and the index among them of the one this call is about.
    fn peers(&self) -> (&[u32], usize);
    /// Number of ways of each peer that have rows.
    fn routes(&self) -> usize;
    /// Number of ports.
    fn ports(&self) -> usize;
    /// Requests an action.
    fn ask(&mut self, wish: &mut dyn FnMut(&mut Out<'_>));
}

impl Place for Lent<'_, '_> {
    fn now(&self) -> Time {
        self.cx.now
    }
    fn hook(&self) -> Hook<'_> {
        self.hook
    }
    fn room(&self) -> &Room<'_> {
        &self.cx.view
    }
    fn rng(&mut self) -> &mut Rng {
        self.cx.rng
    }
    fn header(&mut self) -> Option<&mut Header> {
        self.header.as_deref_mut()
    }
    fn row(&mut self, which: Which) -> Option<&mut Row> {
        let met = self.cx.peers.len();
        match which {
            Which::Node => Some(self.cx.node),
            Which::Port(port) => self.cx.ports.get_mut(port),
            Which::Peer(peer) if peer < met => Some(self.cx.peers.at(peer).0),
            Which::Route(peer, way) if peer < met => self.cx.peers.at(peer).1.get_mut(way),
            Which::Peer(_) | Which::Route(..) => None,
        }
    }
    fn peers(&self) -> (&[u32], usize) {
        (self.cx.peers.ids, self.cx.peers.current)
    }
    fn routes(&self) -> usize {
        self.cx.peers.stride
    }
    fn ports(&self) -> usize {
        self.cx.ports.len()
    }
    fn ask(&mut self, wish: &mut dyn FnMut(&mut Out<'_>)) {
        wish(&mut self.cx.out);
    }
}

scoped_thread_local!(static mut LENT: for<'a> &'a mut (dyn Place + 'a));

/// Runs `hook` with `place` within reach.
pub(super) fn lend<R>(place: &mut dyn Place, hook: impl FnOnce() -> R) -> R {
    LENT.set(place, hook)
}

/// How long a handle in Python may access what is lent: until a hook is found to have kept it.
#[derive(Debug, Default)]
pub struct Lease(AtomicBool);

impl Lease {
    /// Makes its handles find nothing from now on.
    pub(super) fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn has_ended(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Accesses what is lent.
///
/// # Errors
/// Nothing is lent: no hook is running, or the lease has ended.
#[inline]
pub(super) fn lent<R>(lease: &Lease, look: impl FnOnce(&mut dyn Place) -> PyResult<R>) -> PyResult<R> {
    if LENT.is_set() && !lease.has_ended() {
        LENT.with(look)
    } else {
        Err(PyRuntimeError::new_err(
            "what a hook is lent (cx, packet, header, feedback, message and their parts) is gone once the hook \
             returns: copy the numbers you need, and keep state in rows",
        ))
    }
}
