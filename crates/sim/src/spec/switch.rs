//! `[switch]`: the handling of packets that must wait: drop-tail output queues, one shared buffer, or queues that trim.

mod shared;
mod trimming;

use serde_json::{Map, Value};

use spinewise_policy::Span;

use super::presets::Preset;
use crate::keys::{Auto, Autos, Default, Kind, LARGEST_EXACT, Reader, SpecError, Unit, Zero, keys, tenths, words};
use crate::topology::Fabric;
use crate::topology::TopologySpec;
use crate::transport::{Frame, TransportSpec};
use crate::trimming::Cut;
pub(crate) use shared::{EcnKeys, SharedKeys};
pub use shared::{EgressThreshold, HeadroomUse, PauseRenewal, SharedBufferSpec};
pub(crate) use trimming::TrimmingKeys;
pub use trimming::TrimmingSpec;

const MOST_PACKETS: u64 = u32::MAX as u64;

keys! {
    /// `[switch]` with output queues.
    SwitchKeys {
        /// What a switch does with packets that must wait: a drop-tail queue at each output; one shared buffer with
        /// dynamic thresholds and optional priority flow control; or two queues at each output, of data and of control,
        /// where data without room is trimmed to its header. Each of the latter two has its own keys.
        model: String, Kind::Words(Model::WORDS), Default::Preset;
        /// Capacity of each output queue of a switch, in packets; a packet that does not fit is dropped.
        buffer_packets: Option<u64>, Kind::Integer { min: 1, max: MOST_PACKETS }, Default::Preset;
        /// The same in bytes; give only one of the two.
        buffer_bytes: Option<u64>, Kind::Integer { min: 1, max: LARGEST_EXACT }, Default::Preset;
        /// Additional room: what the port sends in this time at its rate, so a faster port has more. Not with
        /// buffer_packets.
        buffer_us: Span, Kind::Auto(&Kind::Time(Unit::Microseconds, Zero::Allowed)), Default::Preset;
        /// ECN step marking: a packet that finds this many packets queued is marked; 0 marks nothing.
        ecn_threshold_packets: Option<u64>, Kind::Integer { min: 0, max: MOST_PACKETS }, Default::Preset;
        /// The same in bytes; give only one of the two.
        ecn_threshold_bytes: Option<u64>, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Preset;
        /// Added to the threshold: what the port sends in this time at its rate. Not with ecn_threshold_packets.
        ecn_threshold_us: Span, Kind::Auto(&Kind::Time(Unit::Microseconds, Zero::Allowed)), Default::Preset;
        /// When the queue is compared with the threshold: as a packet is queued, or as its transmission starts.
        ecn_at: EcnAt, Kind::Words(EcnAt::WORDS), Default::Preset;
        /// A device queue below each queue (a driver's ring below a queue discipline): this many of the waiting packets
        /// count towards neither the marking threshold nor the capacity.
        device_queue_packets: u32, Kind::Integer { min: 0, max: MOST_PACKETS }, Default::Preset;
        /// What a host's NIC does: pull segments from its flows, one at a time, whenever its line is free, or queue
        /// what transports hand it as soon as their windows allow, marking and dropping as switch ports do. RNICs
        /// always pull from their queue pairs, and so does a NIC whose flows are paced.
        nics: Nics, Kind::Words(Nics::WORDS), Default::Preset;
        /// Does the packet in transmission count as queued?
        queue_counts: QueueCounts, Kind::Words(QueueCounts::WORDS), Default::Preset;
        /// How the engine serves a port; the results are the same.
        ports: PortKind, Kind::Words(PortKind::WORDS), Default::Word("fifo");
    }
}

words! {
    /// When a packet is compared with the marking threshold.
    EcnAt {
        /// As it is queued.
        Enqueue = "enqueue",
        /// As its transmission starts.
        Dequeue = "dequeue",
    }
}

words! {
    /// The packets that the length of a queue counts.
    QueueCounts {
        /// Packets waiting only.
        Waiting = "waiting",
        /// The packet in transmission too.
        InService = "in_service",
    }
}

words! {
    /// The model of a host's NIC.
    Nics {
        /// Takes a segment when its line is free: nothing queues in a host.
        Pull = "pull",
        /// Queues as ports of switches do.
        Queue = "queue",
    }
}

words! {
    /// The engine's service of a port.
    PortKind {
        /// The departure is known as a packet is queued: one event per packet and hop.
        Fifo = "fifo",
        /// A transmission is decided as it starts.
        CommitAtStart = "commit_at_start",
    }
}

/// A bound on a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Unit: packets.
    Packets(u32),
    /// Unit: bytes on the wire.
    Bytes(u64),
    /// This many bytes, plus what the port sends in this time at its rate.
    Line {
        /// Bytes on the wire, whatever the rate.
        bytes: u64,
        /// Time at the rate of the port.
        time: Span,
    },
}

/// The model between the ports of a switch.
#[derive(Clone, Debug, PartialEq)]
pub enum SwitchSpec {
    /// A drop-tail queue at each output.
    OutputQueued(OutputQueued),
    /// One buffer for all ports, with or without priority flow control.
    SharedBuffer(SharedBufferSpec),
    /// Queues at each output that trim.
    Trimming(TrimmingSpec),
}

/// The output queues.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputQueued {
    /// Drop-tail bound.
    pub buffer: Limit,
    /// Marking threshold; `None` marks nothing.
    pub ecn_threshold: Option<Limit>,
    /// When a packet is compared with it.
    pub ecn_at: EcnAt,
    /// Waiting packets that the marking and the bound do not see.
    pub device_queue: u32,
    /// The model of hosts' NICs.
    pub nics: Nics,
    /// The packets that count.
    pub queue_counts: QueueCounts,
    /// The engine's model of ports.
    pub ports: PortKind,
}

/// The model of a switch: the word of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    OutputQueued,
    SharedBuffer,
    Trimming,
}

impl Model {
    const WORDS: &'static [&'static str] = &["output_queued", "shared_buffer", "trimming"];
}

/// Output queues, by their word.
pub(crate) const OUTPUT_QUEUED: &str = Model::WORDS[Model::OutputQueued as usize];
/// A shared buffer, by its word.
pub(crate) const SHARED_BUFFER: &str = Model::WORDS[Model::SharedBuffer as usize];

/// Queues that trim, by their word.
pub(crate) const TRIMMING: &str = Model::WORDS[Model::Trimming as usize];

/// The surroundings of switches.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// The fabric.
    pub topology: &'a TopologySpec,
    /// The transport over it.
    pub transport: &'a TransportSpec,
}

/// Returns the values of a model under a preset. A preset covers one model; other models get stand-ins.
pub(crate) fn of_model(model: &str, preset: &Preset, switch: Map<String, Value>) -> Map<String, Value> {
    if switch.get("model").and_then(Value::as_str) == Some(model) {
        switch
    } else if model == SHARED_BUFFER {
        preset.shared()
    } else if model == TRIMMING {
        preset.trimming()
    } else {
        preset.queues()
    }
}

/// Reads `[switch]`.
pub(crate) fn read(
    given: &Map<String, Value>,
    preset: &Preset,
    place: Place<'_>,
    autos: &mut Vec<Auto>,
) -> Result<(SwitchSpec, Value), SpecError> {
    let switch = preset.switch_under(place.transport);
    let word = given.get("model").filter(|value| !value.is_null()).or_else(|| switch.get("model"));
    let model = match word.and_then(Value::as_str) {
        Some("shared_buffer") => Model::SharedBuffer,
        Some("trimming") => Model::Trimming,
        _ => Model::OutputQueued,
    };
    let switch = of_model(Model::WORDS[model as usize], preset, switch);
    match model {
        Model::OutputQueued => read_output_queued(given, switch, place, autos),
        Model::SharedBuffer => {
            shared::read(given, switch, place, autos).map(|(spec, told)| (SwitchSpec::SharedBuffer(spec), told))
        }
        Model::Trimming => {
            trimming::read(given, switch, place, autos).map(|(spec, told)| (SwitchSpec::Trimming(spec), told))
        }
    }
}

/// Minimum length of a buffer, in microseconds at the rate of its port. Switch chips have 3 to 5 KB per Gbps of all
/// their ports, some 40 us; dynamic thresholds lend a busy port several times its share. 150 us and a burst are 253 KB
/// at 10 Gbps, as in papers.
const LEAST_BUFFER_US: f64 = 150.0;

/// Resolves `auto` with output queues.
fn queue_autos(reader: &Reader<'_>, place: Place<'_>) -> Result<Autos, SpecError> {
    if !reader.wants_auto() {
        return Ok(Autos::new());
    }
    let rtt = Fabric::of(place.topology)?.base_rtt(place.transport.frame()).as_us_f64();
    Ok(vec![
        (
            "buffer_us",
            tenths(LEAST_BUFFER_US.max(rtt)),
            format!(
                "150 us at the rate of each port, or a base round trip of {rtt:.1} us if that is longer; plus \
                 buffer_bytes"
            ),
        ),
        (
            "ecn_threshold_us",
            tenths(rtt / 7.0),
            format!(
                "a seventh of the base round trip of {rtt:.1} us at the rate of each port (DCTCP, section 3.4); plus \
                 ecn_threshold_bytes for bursts"
            ),
        ),
    ])
}

impl SwitchSpec {
    /// Whether data without room loses only its payload, and continues as a header.
    pub(crate) fn trims(&self) -> bool {
        matches!(self, SwitchSpec::Trimming(TrimmingSpec { cut: Cut::To(_), .. }))
    }

    /// The queue of a port from which packets like `frame` are marked, bytes, on the fabric's links; 0: none are.
    ///
    /// # Errors
    /// The graph cannot be built.
    pub(crate) fn marked_from(&self, topology: &TopologySpec, frame: Frame) -> Result<u64, SpecError> {
        Ok(match self {
            SwitchSpec::SharedBuffer(shared) => shared.marked_from(),
            SwitchSpec::Trimming(trimming) => trimming.ramp.min,
            SwitchSpec::OutputQueued(queues) => match queues.ecn_threshold {
                None => 0,
                Some(Limit::Bytes(bytes)) => bytes,
                Some(Limit::Packets(packets)) => u64::from(packets) * u64::from(frame.mtu()),
                Some(Limit::Line { bytes, time }) => bytes + time.carries(Fabric::of(topology)?.fabric_rate()),
            },
        })
    }
}

/// A size is in packets or in bytes: the preset's value in the other unit does not apply, nor does its addition.
fn in_one_unit(reader: &Reader<'_>, preset: &mut Map<String, Value>) -> Result<(), SpecError> {
    for [packets, bytes, us] in [
        ["buffer_packets", "buffer_bytes", "buffer_us"],
        ["ecn_threshold_packets", "ecn_threshold_bytes", "ecn_threshold_us"],
    ] {
        match (reader.given(packets), reader.given(bytes)) {
            (Some(_), Some(_)) => return Err(reader.refuse(bytes, format!("either {packets} or {bytes}, not both"))),
            (None, None) => {}
            _ => {
                preset.retain(|name, _| name != packets && name != bytes);
                preset.insert(us.into(), 0.into());
            }
        }
        if reader.given(packets).is_some() && reader.given(us).is_some_and(|us| us.as_f64() != Some(0.0)) {
            return Err(reader.refuse(us, format!("0 with {packets}: it is added to {bytes}")));
        }
    }
    Ok(())
}

/// Checks that the queue of the device fits how packets are counted, and marked if they are.
fn check_device(reader: &Reader<'_>, keys: &SwitchKeys, marks: bool) -> Result<(), SpecError> {
    if keys.device_queue_packets > 0 && keys.queue_counts == QueueCounts::InService {
        return Err(reader.refuse("device_queue_packets", "0 where the packet in transmission counts as queued"));
    }
    if keys.ecn_at == EcnAt::Dequeue && marks {
        // A packet leaves the marked queue for the device's, or the host, before its transmission starts.
        if keys.device_queue_packets > 0 {
            return Err(reader.refuse("device_queue_packets", "0 where packets are marked as they start (ecn_at)"));
        }
        if keys.nics == Nics::Queue {
            return Err(reader.refuse("nics", "\"pull\" where packets are marked as they start (ecn_at)"));
        }
    }
    Ok(())
}

fn read_output_queued(
    given: &Map<String, Value>,
    mut preset: Map<String, Value>,
    place: Place<'_>,
    autos: &mut Vec<Auto>,
) -> Result<(SwitchSpec, Value), SpecError> {
    let reader = Reader::new("switch", SwitchKeys::KEYS, given)?;
    in_one_unit(&reader, &mut preset)?;
    let reader = reader.with_defaults(preset);
    let worked_out = queue_autos(&reader, place)?;
    let mut reader = reader.with_autos(worked_out);
    let keys = SwitchKeys::read(&mut reader)?;
    autos.extend(reader.worked_out());
    debug_assert_eq!(keys.model, Model::WORDS[0]);
    let limit = |packets: Option<u64>, bytes: Option<u64>, time: Span| match (packets, bytes) {
        (Some(packets), _) => Some(Limit::Packets(packets as u32)),
        (_, Some(bytes)) if time > Span::ZERO => Some(Limit::Line { bytes, time }),
        (_, bytes) => bytes.map(Limit::Bytes),
    };
    let Some(buffer) = limit(keys.buffer_packets, keys.buffer_bytes, keys.buffer_us) else {
        return Err(reader.refuse("buffer_bytes", "buffer_packets or buffer_bytes"));
    };
    let ecn_threshold = limit(keys.ecn_threshold_packets, keys.ecn_threshold_bytes, keys.ecn_threshold_us)
        .filter(|limit| !matches!(limit, Limit::Packets(0) | Limit::Bytes(0)));
    check_device(&reader, &keys, ecn_threshold.is_some())?;
    let switch = OutputQueued {
        buffer,
        ecn_threshold,
        ecn_at: keys.ecn_at,
        device_queue: keys.device_queue_packets,
        nics: keys.nics,
        queue_counts: keys.queue_counts,
        ports: keys.ports,
    };
    Ok((SwitchSpec::OutputQueued(switch), reader.finish()))
}
