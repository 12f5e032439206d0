//! The random stream of a seat, and a hook's requests.

use super::extent::{Extent, perhaps, whole, within};
use super::lent::{Lease, lent};
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use spinewise_policy::{FlowKey, Hooks, Key, Out, Port, Queue, Span, Time, To, Way};
use spinewise_sim::bank::{Hook, Room, Tags};
use std::sync::Arc;

/// This seat's random stream: what it draws shifts nobody else's.
#[pyclass(frozen, name = "Rng", module = "spinewise._core")]
pub struct Stream(pub Arc<Lease>);

#[pymethods]
impl Stream {
    /// Uniform in 0..n.
    fn below(&self, #[pyo3(from_py_with = whole)] n: u32) -> PyResult<u32> {
        if n == 0 {
            return Err(PyValueError::new_err("below(0): allowed is 1 or more"));
        }
        lent(&self.0, |place| Ok(place.rng().below(n)))
    }
    /// 64 random bits.
    fn bits(&self) -> PyResult<u64> {
        lent(&self.0, |place| Ok(place.rng().bits()))
    }
    /// Uniform in [0, 1).
    fn unit(&self) -> PyResult<f64> {
        lent(&self.0, |place| Ok(place.rng().unit()))
    }
}

/// What is to be done: a list that the engine works through when the hook has returned.
#[pyclass(frozen, name = "Out", module = "spinewise._core")]
pub struct Wishes {
    /// The lease of the access.
    pub lease: Arc<Lease>,
    /// Series of the scheme.
    pub series: usize,
    /// Held queues of a port.
    pub queues: u16,
    /// The network.
    pub extent: Extent,
    /// The hooks that it has.
    pub hooks: Hooks,
    /// The meaning of the path tags that hosts write.
    pub tags: Tags,
}

/// Most bytes of a packet on the wire.
const MOST_WIRE: u32 = 65_535;

/// Fewest bytes of a message on the wire unless it says otherwise: the shortest frame of Ethernet.
const LEAST_FRAME: u32 = 64;

/// Bytes on the wire around a body: headers of Ethernet (14), IPv4 (20) and UDP (8).
const AROUND: usize = 42;

#[pymethods]
impl Wishes {
    /// Sends a message of class `kind`, `wire` bytes in all, as a packet.
    #[pyo3(signature = (to, kind, body = vec![], *, wire = None, flow = None, way = u16::MAX))]
    fn send(
        &self,
        to: &Bound<'_, PyTuple>,
        #[pyo3(from_py_with = whole)] kind: u8,
        body: Vec<u8>,
        #[pyo3(from_py_with = perhaps)] wire: Option<u32>,
        #[pyo3(from_py_with = perhaps)] flow: Option<u32>,
        #[pyo3(from_py_with = whole)] way: u16,
    ) -> PyResult<()> {
        self.check_hook(Hooks::MESSAGE, "send", "would be told of the message", "message(self, cx, flow, message)")?;
        let to = self.destination(to)?;
        self.check_reader(to)?;
        self.check_way("send", to, way)?;
        let wire = on_the_wire(wire, body.len())?;
        self.wish(body.len(), |out| out.send(to, kind, flow.map(FlowKey), Way(way), &body, wire))
    }
    /// Sends a probe to a host or a leaf on a way; the answer or its absence comes back as feedback.
    #[pyo3(signature = (to, way, *, wire = 64, ttl = 0, give_up))]
    fn probe(
        &self,
        to: &Bound<'_, PyTuple>,
        #[pyo3(from_py_with = whole)] way: u16,
        #[pyo3(from_py_with = whole)] wire: u32,
        #[pyo3(from_py_with = whole)] ttl: u8,
        #[pyo3(from_py_with = whole)] give_up: u64,
    ) -> PyResult<()> {
        self.check_hook(Hooks::FEEDBACK, "probe", "would be told of its answer", "feedback(self, cx, flow, feedback)")?;
        let to = self.destination(to)?;
        if !matches!(to, To::Host(_) | To::Leaf(_)) || wire > MOST_WIRE || wire == 0 {
            return Err(PyValueError::new_err("a probe goes to one host or leaf, with 1 to 65535 bytes on the wire"));
        }
        if give_up == 0 {
            return Err(PyValueError::new_err(
                "give_up = 0: allowed is a time in picoseconds, longer than the answer takes",
            ));
        }
        self.check_not_itself(to)?;
        self.check_way("probe", to, way)?;
        self.wish(0, |out| out.probe(to, Way(way), wire, ttl, Span(give_up)))
    }
    /// Arms a timer for an instant to come (ps), or moves it.
    fn arm(&self, key: &Bound<'_, PyTuple>, at: &Bound<'_, PyAny>) -> PyResult<()> {
        self.check_hook(Hooks::TIMER, "arm", "would be called when the timer runs out", "timer(self, cx, flow, key)")?;
        let which = timer(key)?;
        let at = self.to_come(key, at)?;
        self.wish(0, |out| out.arm(which, at))
    }
    /// Cancels a timer if it is armed.
    fn cancel(&self, key: &Bound<'_, PyTuple>) -> PyResult<()> {
        let key = timer(key)?;
        self.wish(0, |out| out.cancel(key))
    }
    /// Lets a held queue go.
    fn release(
        &self,
        #[pyo3(from_py_with = whole)] port: u16,
        #[pyo3(from_py_with = whole)] queue: u16,
    ) -> PyResult<()> {
        self.check_switch("release")?;
        let port = self.own_port(u32::from(port))?;
        if self.queues == 0 {
            return Err(PyAttributeError::new_err(
                "release: ports have no queues to hold; Layout(queues=N) asks for N",
            ));
        }
        within("queue", u32::from(queue), u32::from(self.queues))?;
        self.wish(0, |out| out.release(port, Queue(queue)))
    }
    /// Hides the mark of the packet in hand from the transport (at `ingress` of hosts only).
    fn mask_ecn(&self) -> PyResult<()> {
        lent(&self.lease, |place| match (place.hook(), place.room()) {
            (Hook::Ingress(_), Room::Host(_)) => Ok(()),
            _ => Err(PyAttributeError::new_err(
                "mask_ecn is for ingress at hosts: elsewhere no packet is about to reach the transport",
            )),
        })?;
        self.wish(0, |out| out.mask_ecn())
    }
    /// Drops the packet in hand (at `egress` only).
    fn discard(&self) -> PyResult<()> {
        self.check_switch("discard")?;
        lent(&self.lease, |place| match place.hook() {
            Hook::Egress(..) => Ok(()),
            _ => Err(PyAttributeError::new_err("discard is for egress: elsewhere no packet is about to join a queue")),
        })?;
        self.wish(0, |out| out.discard())
    }
    /// Adds a point to one of the scheme's own series, by its place in `series`.
    fn record(&self, #[pyo3(from_py_with = whole)] series: usize, value: f64) -> PyResult<()> {
        within("series", series as u32, self.series as u32)?;
        if !value.is_finite() {
            return Err(PyValueError::new_err(format!("record({series}, {value}): allowed is a finite number")));
        }
        self.wish(0, |out| out.record_at(series as u16, value))
    }
}

impl Wishes {
    /// Adds a wish with a body.
    fn wish(&self, body: usize, mut add: impl FnMut(&mut Out<'_>)) -> PyResult<()> {
        lent(&self.lease, |place| {
            let mut fits = Ok(());
            place.ask(&mut |out| {
                let (actions, bytes) = out.room();
                if actions == 0 {
                    fits = Err(PyValueError::new_err(
                        "one hook asked for more actions than Layout(actions=…) has room for",
                    ));
                } else if bytes < body {
                    fits =
                        Err(PyValueError::new_err("one hook sent longer messages than Layout(bytes=…) has room for"));
                } else {
                    add(out);
                }
            });
            fits
        })
    }

    /// Refuses requests for which this scheme has no method.
    fn check_hook(&self, hook: Hooks, call: &str, would: &str, method: &str) -> PyResult<()> {
        if self.hooks.has(hook) {
            return Ok(());
        }
        Err(PyAttributeError::new_err(format!("{call}: nothing {would}: give the class a method {method}")))
    }

    /// Refuses a path that a host does not have, where its tags are numbers of paths.
    fn check_way(&self, call: &str, to: To, way: u16) -> PyResult<()> {
        if self.tags != Tags::Explicit || Way(way) == Way::ANY {
            return Ok(());
        }
        lent(&self.lease, |place| {
            let Room::Host(view) = place.room() else { return Ok(()) };
            let ways = match to {
                To::Host(host) => view.ways_to_host(host),
                To::Leaf(leaf) => view.ways[leaf as usize],
                _ => return Ok(()),
            };
            // Without a path, as in the own rack, any number is as good.
            if ways == 0 || way < ways {
                return Ok(());
            }
            let numbers = if ways == 1 { "0 alone".to_owned() } else { format!("from 0 to {}", ways - 1) };
            Err(PyValueError::new_err(format!(
                "{call}: way {way}: allowed is the number of a path, {numbers}, or sw.ANY to leave it to the fabric"
            )))
        })
    }

    fn check_switch(&self, what: &str) -> PyResult<()> {
        lent(&self.lease, |place| match place.room() {
            Room::Switch(_) => Ok(()),
            Room::Host(_) => Err(PyAttributeError::new_err(format!("{what} is for switches: a host has no queues"))),
        })
    }

    /// Refuses a message that nothing would read: a scheme sits at hosts or at switches.
    fn check_reader(&self, to: To) -> PyResult<()> {
        self.check_not_itself(to)?;
        lent(&self.lease, |place| {
            let why = match (place.room(), to) {
                (Room::Host(_), To::Leaf(_) | To::Port(_) | To::Neighbours { .. }) => {
                    "this scheme sits at the hosts, and no switch would read it: allowed is To.host(n) or To.rack"
                        .into()
                }
                (Room::Switch(_), To::Host(_) | To::Rack) => {
                    "this scheme sits at the switches, and no host would read it: allowed is To.leaf(n), To.port(n), \
                     To.neighbours or To.neighbours_but(n)"
                        .into()
                }
                (Room::Switch(view), To::Port(port)) if port.0 < view.host_ports => format!(
                    "behind port {} is a host, and no host would read it: allowed is a port from cx.view.host_ports, {}, on",
                    port.0, view.host_ports
                ),
                _ => return Ok(()),
            };
            Err(PyValueError::new_err(format!("send: {why}")))
        })
    }

    /// Refuses messages that a leaf sends to itself: they would find no route.
    fn check_not_itself(&self, to: To) -> PyResult<()> {
        lent(&self.lease, |place| match (place.room(), to) {
            (Room::Switch(view), To::Leaf(leaf)) if leaf == view.switch => Err(PyValueError::new_err(format!(
                "To.leaf({leaf}) is this switch itself, which has no path to itself: allowed is another leaf"
            ))),
            _ => Ok(()),
        })
    }

    /// The instant that a timer is armed for.
    fn to_come(&self, key: &Bound<'_, PyTuple>, at: &Bound<'_, PyAny>) -> PyResult<Time> {
        let now = lent(&self.lease, |place| Ok(place.now()))?;
        let refused = || {
            PyValueError::new_err(format!(
                "arm({key}, {at}): allowed is an instant after cx.now, which is {}: a whole number of picoseconds below 2^64",
                now.0
            ))
        };
        at.extract().ok().map(Time).filter(|at| *at > now).ok_or_else(refused)
    }

    /// Converts a `To` of Python: a tuple whose first item gives the meaning of the others.
    fn destination(&self, to: &Bound<'_, PyTuple>) -> PyResult<To> {
        let refused = || PyValueError::new_err(format!("{to}: allowed is what spinewise.To makes, such as To.host(3)"));
        let number = |at: usize| to.get_item(at).and_then(|item| item.extract::<u32>()).map_err(|_| refused());
        let kind: String = to.get_item(0).and_then(|item| item.extract()).map_err(|_| refused())?;
        Ok(match kind.as_str() {
            "host" => To::Host(self.extent.host(number(1)?)?),
            "leaf" => To::Leaf(self.extent.leaf(number(1)?)?),
            "rack" => To::Rack,
            "port" => To::Port(self.own_port(number(1)?)?),
            "neighbours" if to.len() == 1 => To::Neighbours { except: None },
            "neighbours" => To::Neighbours { except: Some(self.own_port(number(1)?)?) },
            _ => return Err(refused()),
        })
    }

    /// A port of this device.
    fn own_port(&self, port: u32) -> PyResult<Port> {
        let ports = lent(&self.lease, |place| Ok(place.ports() as u32))?;
        Ok(Port(within("port", port, ports)? as u16))
    }
}

/// Bytes of a message on the wire: as given, if that has room for its body, else the body and the headers around it.
fn on_the_wire(given: Option<u32>, body: usize) -> PyResult<u32> {
    let usual = || u32::try_from(body + AROUND).unwrap_or(u32::MAX).max(LEAST_FRAME);
    let wire = given.unwrap_or_else(usual);
    if body > MOST_WIRE as usize {
        return Err(PyValueError::new_err(format!("a body of {body} bytes: at most {MOST_WIRE} fit into a packet")));
    }
    if wire == 0 || wire > MOST_WIRE || (wire as usize) < body {
        return Err(PyValueError::new_err(format!(
            "wire = {wire}: allowed is {} to {MOST_WIRE} bytes, which must hold the body of {body} bytes",
            body.max(1)
        )));
    }
    Ok(wire)
}

/// `Key` of Python.
fn timer(key: &Bound<'_, PyTuple>) -> PyResult<Key> {
    let refused = || PyValueError::new_err(format!("{key}: allowed is what spinewise.Key makes, such as Key.node(0)"));
    let number = |at: usize| key.get_item(at).and_then(|item| item.extract::<u32>()).map_err(|_| refused());
    let small = |at: usize| number(at).and_then(|n| u8::try_from(n).map_err(|_| refused()));
    let kind: String = key.get_item(0).and_then(|item| item.extract()).map_err(|_| refused())?;
    Ok(match kind.as_str() {
        "flow" => Key::Flow(FlowKey(number(1)?), small(2)?),
        "route" => Key::Route(number(1)?, Way(u16::try_from(number(2)?).map_err(|_| refused())?), small(3)?),
        "node" => Key::Node(small(1)?),
        _ => return Err(refused()),
    })
}

/// Converts a key of the engine to its Python form.
pub(super) fn told_key(py: Python<'_>, key: Key) -> PyResult<Py<PyAny>> {
    let tuple = match key {
        Key::Flow(flow, n) => ("flow", flow.0, n).into_pyobject(py)?,
        Key::Route(peer, way, n) => return Ok(("route", peer, way.0, n).into_pyobject(py)?.into_any().unbind()),
        Key::Node(n) => return Ok(("node", n).into_pyobject(py)?.into_any().unbind()),
    };
    Ok(tuple.into_any().unbind())
}
