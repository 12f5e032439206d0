//! `cx` and what a place can see, as Python objects. They hold nothing and are made once a run: see `lent.rs`.

use super::extent::{Extent, whole, within};
use super::lent::{Lease, Place, Which, lent};
use super::rows::{self, Makers};
use super::wishes::{Stream, Wishes};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use spinewise_policy::{HostView, Port, SwitchView, Tier, Way};
use spinewise_sim::bank::{Hook, Room};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The key of the flow that a hook is about.
pub(super) fn flow_of(place: &dyn Place) -> Option<u32> {
    use spinewise_policy::{Key, Kind};
    match place.hook() {
        Hook::Pick(packet) | Hook::Egress(_, packet) | Hook::Ingress(packet) => {
            matches!(packet.kind, Kind::Data | Kind::Ack).then_some(packet.flow.0)
        }
        Hook::Feedback(feedback) => feedback.flow.map(|flow| flow.0),
        Hook::Message(message) => message.flow.map(|flow| flow.0),
        Hook::Timer(Key::Flow(flow, _)) => Some(flow.0),
        _ => None,
    }
}

/// What every hook is lent.
#[pyclass(frozen, module = "spinewise._core")]
pub struct Cx {
    pub lease: Arc<Lease>,
    pub view: Py<PyAny>,
    pub rng: Py<Stream>,
    pub out: Py<Wishes>,
    pub peers: Py<Peers>,
    pub makers: Arc<Makers>,
}

#[pymethods]
impl Cx {
    /// The present, in picoseconds.
    #[getter]
    fn now(&self) -> PyResult<u64> {
        lent(&self.lease, |place| Ok(place.now().0))
    }
    /// What this place can know.
    #[getter]
    fn view(&self, py: Python<'_>) -> Py<PyAny> {
        self.view.clone_ref(py)
    }
    /// This seat's random stream.
    #[getter]
    fn rng(&self, py: Python<'_>) -> Py<Stream> {
        self.rng.clone_ref(py)
    }
    /// What is to be done.
    #[getter]
    fn out(&self, py: Python<'_>) -> Py<Wishes> {
        self.out.clone_ref(py)
    }
    /// The peers met.
    #[getter]
    fn peers(&self, py: Python<'_>) -> Py<Peers> {
        self.peers.clone_ref(py)
    }
    /// This device's row.
    #[getter]
    fn node(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        rows::of(py, &self.lease, Which::Node, self.makers.node.as_ref())
    }
    /// The row of the peer this call is about.
    #[getter]
    fn peer(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let current = lent(&self.lease, |place| Ok(place.peers().1))?;
        rows::of(py, &self.lease, Which::Peer(current), self.makers.peer.as_ref())
    }
    /// The row of a way to the peer this call is about.
    fn route(&self, py: Python<'_>, #[pyo3(from_py_with = whole)] way: usize) -> PyResult<Py<PyAny>> {
        let current = lent(&self.lease, |place| Ok(place.peers().1))?;
        rows::of(py, &self.lease, Which::Route(current, way), self.makers.route.as_ref())
    }
    /// The row of a port.
    fn port(&self, py: Python<'_>, #[pyo3(from_py_with = whole)] port: usize) -> PyResult<Py<PyAny>> {
        rows::of(py, &self.lease, Which::Port(port), self.makers.port.as_ref())
    }
}

/// The peers this seat has met, in the order of meeting.
#[pyclass(frozen, module = "spinewise._core")]
pub struct Peers {
    pub lease: Arc<Lease>,
    pub makers: Arc<Makers>,
}

#[pymethods]
impl Peers {
    fn __len__(&self) -> PyResult<usize> {
        lent(&self.lease, |place| Ok(place.peers().0.len()))
    }
    /// Their ids: hosts or leaves.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        lent(&self.lease, |place| PyTuple::new(py, place.peers().0))
    }
    /// The place of peer `id` among them, or None.
    fn position(&self, #[pyo3(from_py_with = whole)] id: u32) -> PyResult<Option<usize>> {
        lent(&self.lease, |place| Ok(place.peers().0.iter().position(|&met| met == id)))
    }
    /// The row of the n-th.
    fn at(&self, py: Python<'_>, #[pyo3(from_py_with = whole)] n: usize) -> PyResult<Py<PyAny>> {
        rows::of(py, &self.lease, Which::Peer(n), self.makers.peer.as_ref())
    }
    /// The row of a way to the n-th.
    fn route(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] n: usize,
        #[pyo3(from_py_with = whole)] way: usize,
    ) -> PyResult<Py<PyAny>> {
        rows::of(py, &self.lease, Which::Route(n, way), self.makers.route.as_ref())
    }
}

fn at_host<R>(lease: &Lease, look: impl FnOnce(&HostView<'_>) -> PyResult<R>) -> PyResult<R> {
    lent(lease, |place| match place.room() {
        Room::Host(view) => look(view),
        Room::Switch(_) => Err(PyAttributeError::new_err("this is the view of a host, and a switch is asked")),
    })
}

#[inline]
fn at_switch<R>(lease: &Lease, look: impl FnOnce(&SwitchView<'_>) -> PyResult<R>) -> PyResult<R> {
    lent(lease, |place| match place.room() {
        Room::Switch(view) => look(view),
        Room::Host(_) => Err(PyAttributeError::new_err("this is the view of a switch, and a host is asked")),
    })
}

fn at_port<R>(lease: &Lease, port: u16, look: impl FnOnce(&SwitchView<'_>, Port) -> R) -> PyResult<R> {
    lent(lease, |place| {
        let port = Port(within("port", u32::from(port), place.ports() as u32)? as u16);
        match place.room() {
            Room::Switch(view) => Ok(look(view, port)),
            Room::Host(_) => Err(PyAttributeError::new_err("this is the view of a switch, and a host is asked")),
        }
    })
}

const HOST_HAS: &str = "host, leaf, link_rate, path_rate, base_rtt, base_one_way, mss, mtu, leaf_of(host), \
                        ways_to_host(host), ways_to_leaf(leaf), rate_to_host(host, way)";
const SWITCH_HAS: &str = "switch, tier, candidates, host_ports, salt, fabric_salt, queue_bytes(port), \
                          queue_packets(port), data_bytes(port), queue_room(port), queueing_delay(port), busy_time(port), \
                          is_paused(port), rate(port), free_queue(port), free_queues(host), leaf_of(host), towards(leaf), told_capacity(port, leaf), told_path(leaf, leaf, n), \
                          told_loss(leaf), told_component(leaf, leaf, n), told_paths(leaf), told_hop(leaf, leaf, way)";

/// Returns the reason why a view has no such attribute.
fn no_such(name: &str, own: (&str, &str), other: (&str, &str)) -> PyErr {
    let known = |list: &str| list.split(", ").any(|known| known.split('(').next() == Some(name));
    let why = if known(other.1) {
        format!("{name} is visible to a {}, and this scheme sits at the {}: it cannot know that", other.0, own.0)
    } else {
        format!("the view of a {} has no {name}", own.0)
    };
    PyAttributeError::new_err(format!("{why}; it has {}", own.1))
}

/// What a host can know, and what its operator has told it.
#[pyclass(frozen, name = "HostView", module = "spinewise._core")]
pub struct OfHost {
    pub lease: Arc<Lease>,
    pub extent: Extent,
}

#[pymethods]
impl OfHost {
    /// This host.
    #[getter]
    fn host(&self) -> PyResult<u32> {
        at_host(&self.lease, |view| Ok(view.host))
    }
    /// Its leaf.
    #[getter]
    fn leaf(&self) -> PyResult<u32> {
        at_host(&self.lease, |view| Ok(view.leaf))
    }
    /// Told: bits per second of its link.
    #[getter]
    fn link_rate(&self) -> PyResult<u64> {
        at_host(&self.lease, |view| Ok(view.link_rate))
    }
    /// Told: bits per second of an unloaded path.
    #[getter]
    fn path_rate(&self) -> PyResult<u64> {
        at_host(&self.lease, |view| Ok(view.path_rate))
    }
    /// Told: picoseconds of a round trip on an empty path between racks.
    #[getter]
    fn base_rtt(&self) -> PyResult<u64> {
        at_host(&self.lease, |view| Ok(view.base_rtt.0))
    }
    /// Told: picoseconds of its way there.
    #[getter]
    fn base_one_way(&self) -> PyResult<u64> {
        at_host(&self.lease, |view| Ok(view.base_one_way.0))
    }
    /// Largest payload of a packet, bytes.
    #[getter]
    fn mss(&self) -> PyResult<u32> {
        at_host(&self.lease, |view| Ok(view.mss))
    }
    /// Largest packet, bytes on the wire.
    #[getter]
    fn mtu(&self) -> PyResult<u32> {
        at_host(&self.lease, |view| Ok(view.mtu))
    }
    /// The leaf of a host: addresses are assigned by rack.
    fn leaf_of(&self, #[pyo3(from_py_with = whole)] host: u32) -> PyResult<u32> {
        let host = self.extent.host(host)?;
        at_host(&self.lease, |view| Ok(view.leaf_of[host as usize]))
    }
    /// How many paths lead to a host.
    fn ways_to_host(&self, #[pyo3(from_py_with = whole)] host: u32) -> PyResult<u16> {
        let host = self.extent.host(host)?;
        at_host(&self.lease, |view| Ok(view.ways_to_host(host)))
    }
    /// How many paths lead to a leaf.
    fn ways_to_leaf(&self, #[pyo3(from_py_with = whole)] leaf: u32) -> PyResult<u16> {
        let leaf = self.extent.leaf(leaf)?;
        at_host(&self.lease, |view| Ok(view.ways[leaf as usize]))
    }
    /// Told: bits per second of one path to a host, between the leaves.
    fn rate_to_host(
        &self,
        #[pyo3(from_py_with = whole)] host: u32,
        #[pyo3(from_py_with = whole)] way: u16,
    ) -> PyResult<u64> {
        let host = self.extent.host(host)?;
        at_host(&self.lease, |view| Ok(view.rate_to_host(host, way)))
    }
    fn __getattr__(&self, name: &str) -> PyResult<Py<PyAny>> {
        Err(no_such(name, ("host", HOST_HAS), ("switch", SWITCH_HAS)))
    }
}

/// What a switch can know of itself.
#[pyclass(frozen, name = "SwitchView", module = "spinewise._core")]
pub struct OfSwitch {
    lease: Arc<Lease>,
    extent: Extent,
    /// Lists of ports seen, as Python has them: there are few.
    lists: Mutex<BTreeMap<Vec<u16>, Py<PyTuple>>>,
}

impl OfSwitch {
    pub fn new(lease: Arc<Lease>, extent: Extent) -> OfSwitch {
        OfSwitch { lease, extent, lists: Mutex::new(BTreeMap::new()) }
    }

    fn list(&self, py: Python<'_>, ports: &[u16]) -> PyResult<Py<PyTuple>> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = lists.get(ports) {
            return Ok(list.clone_ref(py));
        }
        let list = PyTuple::new(py, ports)?.unbind();
        lists.insert(ports.to_vec(), list.clone_ref(py));
        Ok(list)
    }
}

#[pymethods]
impl OfSwitch {
    /// This switch: leaves first, then spines.
    #[getter]
    fn switch(&self) -> PyResult<u32> {
        at_switch(&self.lease, |view| Ok(view.switch))
    }
    /// "leaf", "aggregation" or "spine".
    #[getter]
    fn tier(&self) -> PyResult<&'static str> {
        at_switch(&self.lease, |view| Ok(tier_name(view.tier)))
    }
    /// Equal-cost output ports for the packet in hand; none outside `pick`.
    #[getter]
    fn candidates(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        at_switch(&self.lease, |view| self.list(py, view.candidates))
    }
    /// Ports below this lead to hosts, the others to switches.
    #[getter]
    fn host_ports(&self) -> PyResult<u16> {
        at_switch(&self.lease, |view| Ok(view.host_ports))
    }
    /// A salt of its own, for hashing.
    #[getter]
    fn salt(&self) -> PyResult<u64> {
        at_switch(&self.lease, |view| Ok(view.salt))
    }
    /// A salt that all switches share.
    #[getter]
    fn fabric_salt(&self) -> PyResult<u64> {
        at_switch(&self.lease, |view| Ok(view.fabric_salt()))
    }
    /// Bytes queued at a port now.
    fn queue_bytes(&self, #[pyo3(from_py_with = whole)] port: u16) -> PyResult<u64> {
        at_port(&self.lease, port, |view, port| view.queue_bytes(port))
    }
    /// Packets queued at a port now.
    fn queue_packets(&self, #[pyo3(from_py_with = whole)] port: u16) -> PyResult<u32> {
        at_port(&self.lease, port, |view, port| view.queue_packets(port))
    }
    /// Bytes of data queued at a port now, without control that has a queue of its own.
    fn data_bytes(&self, #[pyo3(from_py_with = whole)] port: u16) -> PyResult<u64> {
        at_port(&self.lease, port, |view, port| view.data_bytes(port))
    }
    /// Bytes of data that a port has room for; None where nothing bounds it.
    fn queue_room(&self, #[pyo3(from_py_with = whole)] port: u16) -> PyResult<Option<u64>> {
        at_port(&self.lease, port, |view, port| Some(view.queue_room(port)).filter(|&room| room != u64::MAX))
    }
    /// Picoseconds that the link at a port has been sending by now.
    fn busy_time(&self, #[pyo3(from_py_with = whole)] port: u16) -> PyResult<u64> {
        at_port(&self.lease, port, |view, port| view.busy_time(port).0)
    }
    /// Has the neighbour behind a port paused data there?
    fn is_paused(&self, #[pyo3(from_py_with = whole)] port: u16) -> PyResult<bool> {
        at_port(&self.lease, port, |view, port| view.is_paused(port))
    }
    /// Picoseconds that a packet which joins the queue of a port now waits.
    fn queueing_delay(&self, #[pyo3(from_py_with = whole)] port: u16) -> PyResult<u64> {
        at_port(&self.lease, port, |view, port| view.queueing_delay(port).0)
    }
    /// Bits per second of the link at a port.
    fn rate(&self, #[pyo3(from_py_with = whole)] port: u16) -> PyResult<u64> {
        at_port(&self.lease, port, |view, port| view.rate(port))
    }
    /// A held queue of a port that is free, or None.
    fn free_queue(&self, #[pyo3(from_py_with = whole)] port: u16) -> PyResult<Option<u16>> {
        at_port(&self.lease, port, |view, port| view.free_queue(port).map(|queue| queue.0))
    }
    /// An oracle: free held queues at the port of a host. Needs `Layout(free_queues=True)`.
    fn free_queues(&self, #[pyo3(from_py_with = whole)] host: u32) -> PyResult<u16> {
        let host = self.extent.host(host)?;
        let missing = || PyAttributeError::new_err("free_queues: the layout does not ask for that oracle");
        at_switch(&self.lease, |view| view.free_queues.get(host as usize).copied().ok_or_else(missing))
    }
    /// The leaf of a host.
    fn leaf_of(&self, #[pyo3(from_py_with = whole)] host: u32) -> PyResult<u32> {
        let host = self.extent.host(host)?;
        at_switch(&self.lease, |view| Ok(view.leaf_of(host)))
    }
    /// The equal-cost ports towards a leaf; none for its own.
    fn towards(&self, py: Python<'_>, #[pyo3(from_py_with = whole)] leaf: u32) -> PyResult<Py<PyTuple>> {
        let leaf = self.extent.leaf(leaf)?;
        at_switch(&self.lease, |view| self.list(py, view.towards(leaf)))
    }
    /// Told: bits per second that the paths by way of a port can carry to a leaf.
    fn told_capacity(
        &self,
        #[pyo3(from_py_with = whole)] port: u16,
        #[pyo3(from_py_with = whole)] leaf: u32,
    ) -> PyResult<u64> {
        let leaf = self.extent.leaf(leaf)?;
        at_port(&self.lease, port, |view, port| view.told_capacity(port, leaf))
    }
    /// Told: the n-th port of one leaf towards another, and the bits per second of its paths; or None.
    fn told_path(
        &self,
        #[pyo3(from_py_with = whole)] from: u32,
        #[pyo3(from_py_with = whole)] to: u32,
        #[pyo3(from_py_with = whole)] n: usize,
    ) -> PyResult<Option<(u16, u64)>> {
        let (from, to) = (self.extent.leaf(from)?, self.extent.leaf(to)?);
        at_switch(&self.lease, |view| Ok(view.told_path(from, to, n).map(|(port, rate)| (port.0, rate))))
    }
    /// Told: does a link that is down take paths to a leaf away?
    fn told_loss(&self, #[pyo3(from_py_with = whole)] leaf: u32) -> PyResult<bool> {
        let leaf = self.extent.leaf(leaf)?;
        at_switch(&self.lease, |view| Ok(view.told_loss(leaf)))
    }
    /// Told: the n-th symmetric component of the paths between two leaves: bits per second and ports; or None.
    fn told_component(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = whole)] from: u32,
        #[pyo3(from_py_with = whole)] to: u32,
        #[pyo3(from_py_with = whole)] n: usize,
    ) -> PyResult<Option<(u64, Py<PyTuple>)>> {
        let (from, to) = (self.extent.leaf(from)?, self.extent.leaf(to)?);
        at_switch(&self.lease, |view| match view.told_component(from, to, n) {
            Some((rate, ports)) => Ok(Some((rate, self.list(py, ports)?))),
            None => Ok(None),
        })
    }
    /// Told: how many whole paths lead to a leaf; 0 where an uplink says all about a path.
    fn told_paths(&self, #[pyo3(from_py_with = whole)] leaf: u32) -> PyResult<u16> {
        let leaf = self.extent.leaf(leaf)?;
        at_switch(&self.lease, |view| Ok(view.told_paths(leaf)))
    }
    /// Told: this switch's port on a whole path between two leaves; or None.
    fn told_hop(
        &self,
        #[pyo3(from_py_with = whole)] from: u32,
        #[pyo3(from_py_with = whole)] to: u32,
        #[pyo3(from_py_with = whole)] way: u16,
    ) -> PyResult<Option<u16>> {
        let (from, to) = (self.extent.leaf(from)?, self.extent.leaf(to)?);
        at_switch(&self.lease, |view| Ok(view.told_hop(from, to, Way(way)).map(|port| port.0)))
    }
    fn __getattr__(&self, name: &str) -> PyResult<Py<PyAny>> {
        Err(no_such(name, ("switch", SWITCH_HAS), ("host", HOST_HAS)))
    }
}

/// Returns the word of `About::tiers`.
pub(super) const fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Host => "host",
        Tier::Leaf => "leaf",
        Tier::Aggregation => "aggregation",
        Tier::Spine => "spine",
    }
}
