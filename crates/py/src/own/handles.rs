//! The Python objects that hooks are lent, made once and lent again, for as long as no hook keeps one.

use super::extent::Extent;
use super::lent::Lease;
use super::packet::{InBand, InHand, Learnt, Letter};
use super::rows::Makers;
use super::views::{Cx, OfHost, OfSwitch, Peers};
use super::wishes::{Stream, Wishes};
use pyo3::prelude::*;
use spinewise_policy::Hooks;
use spinewise_sim::bank::Tags;
use std::sync::Arc;

/// Facts about a scheme that its handles need.
pub(super) struct Origin {
    /// Whether it is at the hosts.
    pub at_hosts: bool,
    /// Whether its class declares that it writes a header.
    pub header: bool,
    /// Its series.
    pub series: usize,
    /// Held queues of a port.
    pub queues: u16,
    /// The hooks it has.
    pub hooks: Hooks,
    /// The meaning of path tags that its hosts write.
    pub tags: Tags,
    /// The network.
    pub extent: Extent,
    /// Makers of its rows.
    pub makers: Arc<Makers>,
}

/// One set of handles, with one lease.
pub(super) struct Handles {
    lease: Arc<Lease>,
    pub cx: Py<Cx>,
    pub packet: Py<InHand>,
    pub header: Py<InBand>,
    pub feedback: Py<Learnt>,
    pub message: Py<Letter>,
}

impl Handles {
    /// A new set.
    pub(super) fn new(py: Python<'_>, of: &Origin) -> PyResult<Handles> {
        let lease = Arc::new(Lease::default());
        let view = if of.at_hosts {
            Py::new(py, OfHost { lease: lease.clone(), extent: of.extent })?.into_any()
        } else {
            Py::new(py, OfSwitch::new(lease.clone(), of.extent))?.into_any()
        };
        let wishes = Wishes {
            lease: lease.clone(),
            series: of.series,
            queues: of.queues,
            extent: of.extent,
            hooks: of.hooks,
            tags: of.tags,
        };
        let cx = Cx {
            lease: lease.clone(),
            view,
            rng: Py::new(py, Stream(lease.clone()))?,
            out: Py::new(py, wishes)?,
            peers: Py::new(py, Peers { lease: lease.clone(), makers: of.makers.clone() })?,
            makers: of.makers.clone(),
        };
        Ok(Handles {
            cx: Py::new(py, cx)?,
            packet: Py::new(py, InHand(lease.clone()))?,
            header: Py::new(py, InBand { lease: lease.clone(), told: of.header })?,
            feedback: Py::new(py, Learnt(lease.clone()))?,
            message: Py::new(py, Letter(lease.clone()))?,
            lease,
        })
    }

    /// A hook has returned: anything it has kept is unusable from now on, and the next one is lent a new set.
    #[inline]
    pub(super) fn take_back(&mut self, py: Python<'_>, of: &Origin) -> PyResult<()> {
        if self.is_kept(py) {
            self.lease.end();
            *self = Handles::new(py, of)?;
        }
        Ok(())
    }

    /// Whether anything but this set holds one of them.
    fn is_kept(&self, py: Python<'_>) -> bool {
        let Cx { view, rng, out, peers, .. } = self.cx.get();
        let counts = [
            self.cx.get_refcnt(py),
            view.get_refcnt(py),
            rng.get_refcnt(py),
            out.get_refcnt(py),
            peers.get_refcnt(py),
            self.packet.get_refcnt(py),
            self.header.get_refcnt(py),
            self.feedback.get_refcnt(py),
            self.message.get_refcnt(py),
        ];
        counts.iter().any(|&count| count != 1)
    }
}
