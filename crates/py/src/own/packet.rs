//! What a hook is about, as Python objects: a packet and its header, feedback, a message. They hold nothing.

use super::extent::whole;
use super::lent::{Lease, Place, lent};
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use spinewise_policy::{Device, Event, Feedback, Kind, Message, Packet};
use spinewise_sim::bank::{HEADER_ROOM, Hook};
use std::sync::Arc;

fn packet<R>(lease: &Lease, look: impl FnOnce(&Packet) -> R) -> PyResult<R> {
    lent(lease, |place| match place.hook().packet() {
        Some(packet) => Ok(look(packet)),
        None => Err(PyAttributeError::new_err("this hook has no packet in hand")),
    })
}

/// The packet in hand.
#[pyclass(frozen, name = "Packet", module = "spinewise._core")]
pub struct InHand(pub Arc<Lease>);

#[pymethods]
impl InHand {
    /// "data", "ack", "probe", "probe_reply" or "message".
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyString>> {
        packet(&self.0, |packet| packet.kind).map(|kind| match kind {
            Kind::Data => intern!(py, "data"),
            Kind::Ack => intern!(py, "ack"),
            Kind::Probe => intern!(py, "probe"),
            Kind::ProbeReply => intern!(py, "probe_reply"),
            Kind::Message | Kind::Pause => intern!(py, "message"),
        })
    }
    /// The flow and direction, as rows are keyed.
    #[getter]
    fn flow(&self) -> PyResult<u32> {
        packet(&self.0, |packet| packet.flow.0)
    }
    /// Source host.
    #[getter]
    fn src(&self) -> PyResult<u32> {
        packet(&self.0, |packet| packet.src)
    }
    /// Destination host.
    #[getter]
    fn dst(&self) -> PyResult<u32> {
        packet(&self.0, |packet| packet.dst)
    }
    /// First payload byte of data, next byte expected of an acknowledgement.
    #[getter]
    fn seq(&self) -> PyResult<u64> {
        packet(&self.0, |packet| packet.seq)
    }
    /// Bytes on the wire.
    #[getter]
    fn wire(&self) -> PyResult<u32> {
        packet(&self.0, |packet| packet.wire)
    }
    /// Payload bytes.
    #[getter]
    fn payload(&self) -> PyResult<u32> {
        packet(&self.0, |packet| packet.payload)
    }
    /// Congestion experienced (ECN).
    #[getter]
    fn ce(&self) -> PyResult<bool> {
        packet(&self.0, |packet| packet.ce)
    }
    /// These bytes were sent before.
    #[getter]
    fn retransmit(&self) -> PyResult<bool> {
        packet(&self.0, |packet| packet.retransmit)
    }
    /// The path tag a host wrote; `ANY` if none.
    #[getter]
    fn way(&self) -> PyResult<u16> {
        packet(&self.0, |packet| packet.way.0)
    }
    /// At a switch: the port it arrived at.
    #[getter]
    fn in_port(&self) -> PyResult<u16> {
        packet(&self.0, |packet| packet.in_port.0)
    }
    /// At `ingress`: the port it will leave by.
    #[getter]
    fn out_port(&self) -> PyResult<u16> {
        packet(&self.0, |packet| packet.out_port.0)
    }
    /// A number below `n` by a hash of what switches look at: one flow, one result.
    fn spread(&self, #[pyo3(from_py_with = whole)] salt: u64, #[pyo3(from_py_with = whole)] n: u32) -> PyResult<u32> {
        if n == 0 {
            return Err(PyValueError::new_err("spread(salt, 0): allowed is 1 or more"));
        }
        packet(&self.0, |packet| packet.spread(salt, n))
    }
}

/// The in-band header of the packet in hand.
#[pyclass(frozen, name = "Header", module = "spinewise._core")]
pub struct InBand {
    /// The lease of the access.
    pub lease: Arc<Lease>,
    /// The scheme says that it writes one, so its bytes are charged.
    pub told: bool,
}

#[pymethods]
impl InBand {
    /// Its bytes, at most 15; empty if there is none.
    #[getter]
    fn get_data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        lent(&self.lease, |place| match place.header() {
            Some(header) => Ok(PyBytes::new(py, header.bytes())),
            None => Err(PyAttributeError::new_err("this hook has no packet in hand")),
        })
    }
    #[setter]
    fn set_data(&self, data: Vec<u8>) -> PyResult<()> {
        if !self.told {
            return Err(PyAttributeError::new_err(format!(
                "header.data = {} bytes, but the class declares no header, so it would cost nothing on the wire: give \
                 the class the attribute header = True",
                data.len()
            )));
        }
        lent(&self.lease, |place| match place.header() {
            Some(header) => match header.set(&data) {
                true => Ok(()),
                false => Err(PyValueError::new_err(format!("a header of {} bytes: at most {HEADER_ROOM}", data.len()))),
            },
            None => Err(PyAttributeError::new_err("this hook has no packet in hand")),
        })
    }
}

fn feedback<R>(lease: &Lease, look: impl FnOnce(&Feedback) -> PyResult<R>) -> PyResult<R> {
    lent(lease, |place| match place.hook() {
        Hook::Feedback(feedback) => look(feedback),
        _ => Err(PyAttributeError::new_err("this hook has no feedback")),
    })
}

/// What became of a flow, a path or a probe.
#[pyclass(frozen, name = "Feedback", module = "spinewise._core")]
pub struct Learnt(pub Arc<Lease>);

fn event_name<'py>(py: Python<'py>, event: &Event) -> &'py Bound<'py, PyString> {
    match event {
        Event::FlowStart { .. } => intern!(py, "flow_start"),
        Event::FlowEnd => intern!(py, "flow_end"),
        Event::Ack { .. } => intern!(py, "ack"),
        Event::Trimmed { .. } => intern!(py, "trimmed"),
        Event::Retransmit => intern!(py, "retransmit"),
        Event::Timeout => intern!(py, "timeout"),
        Event::ProbeReply { .. } => intern!(py, "probe_reply"),
        Event::ProbeLost => intern!(py, "probe_lost"),
    }
}

/// Feedback of another kind has that.
fn only<R>(what: &str, of: &str) -> PyResult<R> {
    Err(PyAttributeError::new_err(format!("{what} comes only with the event {of}")))
}

#[pymethods]
impl Learnt {
    /// "flow_start", "flow_end", "ack", "trimmed", "retransmit", "timeout", "probe_reply" or "probe_lost".
    #[getter]
    fn event<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        feedback(&self.0, |feedback| Ok(event_name(py, &feedback.event).clone()))
    }
    /// The way it concerns; `ANY` when none or unknown.
    #[getter]
    fn way(&self) -> PyResult<u16> {
        feedback(&self.0, |feedback| Ok(feedback.way.0))
    }
    /// The flow it concerns, as rows are keyed, or None.
    #[getter]
    fn flow(&self) -> PyResult<Option<u32>> {
        feedback(&self.0, |feedback| Ok(feedback.flow.map(|flow| flow.0)))
    }
    /// Of a flow that starts: bytes to send.
    #[getter]
    fn size(&self) -> PyResult<u64> {
        feedback(&self.0, |feedback| match feedback.event {
            Event::FlowStart { size } => Ok(size),
            _ => only("size", "flow_start"),
        })
    }
    /// Of an acknowledgement: bytes newly acknowledged.
    #[getter]
    fn bytes(&self) -> PyResult<u64> {
        feedback(&self.0, |feedback| match feedback.event {
            Event::Ack { bytes, .. } => Ok(bytes),
            _ => only("bytes", "ack"),
        })
    }
    /// Picoseconds there and back.
    #[getter]
    fn rtt(&self) -> PyResult<u64> {
        feedback(&self.0, |feedback| match feedback.event {
            Event::Ack { rtt, .. } | Event::ProbeReply { rtt, .. } => Ok(rtt.0),
            _ => only("rtt", "ack or probe_reply"),
        })
    }
    /// Picoseconds there.
    #[getter]
    fn one_way(&self) -> PyResult<u64> {
        feedback(&self.0, |feedback| match feedback.event {
            Event::Ack { one_way, .. } | Event::ProbeReply { one_way, .. } => Ok(one_way.0),
            _ => only("one_way", "ack or probe_reply"),
        })
    }
    /// What it answers was marked on its way.
    #[getter]
    fn marked(&self) -> PyResult<bool> {
        feedback(&self.0, |feedback| match feedback.event {
            Event::Ack { marked, .. } | Event::ProbeReply { marked, .. } | Event::Trimmed { marked, .. } => Ok(marked),
            _ => only("marked", "ack, trimmed or probe_reply"),
        })
    }
    /// Of a trimmed packet: it lost its payload at the port of its destination.
    #[getter]
    fn last_hop(&self) -> PyResult<bool> {
        feedback(&self.0, |feedback| match feedback.event {
            Event::Trimmed { last_hop, .. } => Ok(last_hop),
            _ => only("last_hop", "trimmed"),
        })
    }
    /// Who answered a probe: ("host", n) or ("switch", n).
    #[getter]
    fn by(&self) -> PyResult<(&'static str, u32)> {
        feedback(&self.0, |feedback| match feedback.event {
            Event::ProbeReply { by, .. } => Ok(device(by)),
            _ => only("by", "probe_reply"),
        })
    }
    /// The port by which a switch got the probe.
    #[getter]
    fn port(&self) -> PyResult<u16> {
        feedback(&self.0, |feedback| match feedback.event {
            Event::ProbeReply { port, .. } => Ok(port.0),
            _ => only("port", "probe_reply"),
        })
    }
}

fn device(device: Device) -> (&'static str, u32) {
    match device {
        Device::Host(host) => ("host", host),
        Device::Switch(switch) => ("switch", switch),
    }
}

fn message<R>(lease: &Lease, look: impl FnOnce(&Message<'_>) -> R) -> PyResult<R> {
    lent(lease, |place: &mut dyn Place| match place.hook() {
        Hook::Message(message) => Ok(look(message)),
        _ => Err(PyAttributeError::new_err("this hook has no message")),
    })
}

/// A message between schemes.
#[pyclass(frozen, name = "Message", module = "spinewise._core")]
pub struct Letter(pub Arc<Lease>);

#[pymethods]
impl Letter {
    /// Who sent it: ("host", n) or ("switch", n).
    #[getter]
    fn sender(&self) -> PyResult<(&'static str, u32)> {
        message(&self.0, |message| device(message.from))
    }
    /// The scheme's own class of message.
    #[getter]
    fn kind(&self) -> PyResult<u8> {
        message(&self.0, |message| message.class)
    }
    /// The flow it names, as rows are keyed, or None.
    #[getter]
    fn flow(&self) -> PyResult<Option<u32>> {
        message(&self.0, |message| message.flow.map(|flow| flow.0))
    }
    /// The port it arrived at (switches).
    #[getter]
    fn in_port(&self) -> PyResult<u16> {
        message(&self.0, |message| message.in_port.0)
    }
    /// Its bytes.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        message(&self.0, |message| PyBytes::new(py, message.body))
    }
}
