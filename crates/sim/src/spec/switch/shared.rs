//! `[switch] model = "shared_buffer"`: one buffer for all ports, with or without priority flow control.

use serde_json::{Map, Value};
use spinewise_policy::Span;

use super::Place;
use crate::keys::{Auto, Autos, Default, Kind, LARGEST_EXACT, Reader, SpecError, Unit, Zero, keys, words};
use crate::ramp::Ramp;
use crate::spec::sizing::{cables, needed_headroom};
use crate::topology::Topology;

/// Most data priorities: eight classes of IEEE 802.1Q, one of them for control.
pub(crate) const MOST_PRIORITIES: u64 = 7;

keys! {
    /// `[switch]` with a shared buffer.
    SharedKeys {
        /// What a switch does with packets that must wait: one shared buffer, or output queues (which have their own
        /// keys).
        model: String, Kind::Words(super::Model::WORDS), Default::Preset;
        /// The buffer of a whole switch.
        buffer_bytes: u64, Kind::Auto(&Kind::Integer { min: 1, max: LARGEST_EXACT }), Default::Preset;
        /// Priority flow control (IEEE 802.1Qbb): upstream ports are paused before anything has to be dropped. The RDMA
        /// presets set it to false with transport.recovery = "irn".
        pfc: bool, Kind::Bool, Default::Preset;
        /// Data priorities, paused separately and served in turn; acknowledgements, flow control and scheme messages go
        /// ahead of all of them.
        priorities: u32, Kind::Integer { min: 1, max: MOST_PRIORITIES }, Default::Preset;
        /// Data priorities that flow control does not protect: they are never paused, have no headroom, and are dropped
        /// where their queue exceeds its dynamic threshold. For TCP beside lossless RDMA.
        lossy_priorities: Option<Vec<Value>>, Kind::List("a list of data priorities"),
            Default::Nothing("none with pfc, all without");
        /// Buffer set aside at each port and priority for what still arrives after a pause is triggered; only with pfc.
        headroom_bytes: Option<u64>, Kind::Integer { min: 0, max: LARGEST_EXACT },
            Default::Nothing("what each link needs: 2 x rate x delay + 3 packets + one pause frame per priority");
        /// What goes to the headroom: whatever exceeds the ingress's own threshold, or whatever finds the shared part
        /// full.
        headroom_use: HeadroomUse, Kind::Words(HeadroomUse::WORDS), Default::Preset;
        /// Bytes of each queue, and of each ingress, that never need the shared part.
        guaranteed_bytes: u64, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Preset;
        /// Packets per port that are set aside from the shared part.
        reserved_packets: u64, Kind::Integer { min: 0, max: 1_000 }, Default::Preset;
        /// A queue may hold at most this multiple of the free shared part (dynamic threshold).
        egress_alpha: f64, Kind::Positive { max: 1024.0 }, Default::Preset;
        /// When that bound applies: always, as in the ns-3 code of ConWeave, where it then drops what flow control was
        /// meant to save, or only without flow control.
        egress_threshold: EgressThreshold, Kind::Words(EgressThreshold::WORDS), Default::Preset;
        /// Data that arrived at one port and priority may hold at most this multiple of the free shared part before the
        /// sender must pause.
        ingress_alpha: f64, Kind::Positive { max: 1024.0 }, Default::Preset;
        /// Bytes of an ingress that do not count against its threshold.
        pause_offset_bytes: u64, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Preset;
        /// The sender may resume when the ingress falls below the threshold it would have with this many bytes less
        /// free.
        resume_offset_bytes: u64, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Preset;
        /// Length of a pause; 0 = until the sender is told to resume.
        pause_us: Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Preset;
        /// What renews a pause of finite length while it is needed: a timer as well, or only packets above the
        /// threshold, as in the ns-3 code of ConWeave. In that code a pause can run out while nothing leaves, and the
        /// headroom can then overflow.
        pause_renewal: PauseRenewal, Kind::Words(PauseRenewal::WORDS), Default::Preset;
        /// Bytes of a pause frame on the wire.
        pause_frame_bytes: u32, Kind::Integer { min: 1, max: 9_000 }, Default::Preset;
        /// ECN, as a packet leaves its queue: it is not marked if at most this many bytes, beyond guaranteed_bytes, are
        /// behind it.
        ecn_min_bytes: u64, Kind::Auto(&Kind::Integer { min: 0, max: LARGEST_EXACT }), Default::Preset;
        /// Above this many bytes every packet is marked.
        ecn_max_bytes: u64, Kind::Auto(&Kind::Integer { min: 0, max: LARGEST_EXACT }), Default::Preset;
        /// Probability of a mark at ecn_max_bytes; between the two thresholds it grows linearly.
        ecn_max_probability: f64, Kind::Number { min: 0.0, max: 1.0 }, Default::Preset;
        /// Priorities that are marked otherwise: by a step for DCTCP, say, beside the ramp of DCQCN.
        ecn: Option<Vec<Value>>, Kind::List("a list of tables with priority, min_bytes, max_bytes and max_probability"),
            Default::Nothing("all priorities alike");
    }
}

keys! {
    /// An entry of `switch.ecn`.
    EcnKeys {
        /// The data priority, below switch.priorities.
        priority: u32, Kind::Integer { min: 0, max: MOST_PRIORITIES - 1 }, Default::Required;
        /// As switch.ecn_min_bytes.
        min_bytes: u64, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Required;
        /// As switch.ecn_max_bytes; as min_bytes, it makes a step.
        max_bytes: u64, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Required;
        /// As switch.ecn_max_probability.
        max_probability: f64, Kind::Number { min: 0.0, max: 1.0 }, Default::Number(1.0);
    }
}

words! {
    /// The data that goes to the headroom.
    HeadroomUse {
        /// Data above the threshold of its ingress.
        AboveThreshold = "above_threshold",
        /// Data that finds the shared part full.
        PoolFull = "pool_full",
    }
}

words! {
    /// The events that renew a pause.
    PauseRenewal {
        /// A timer, and packets.
        Timer = "timer",
        /// Packets above the threshold.
        Packets = "packets",
    }
}

words! {
    /// The condition for the bound on queues.
    EgressThreshold {
        /// If nothing pauses.
        WithoutPfc = "without_pfc",
        /// Always.
        Always = "always",
    }
}

/// One buffer for all ports.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedBufferSpec {
    /// Bytes of a whole switch.
    pub buffer: u64,
    /// Priority flow control.
    pub pfc: bool,
    /// Data priorities.
    pub priorities: u32,
    /// One bit for each that flow control does not protect.
    pub lossy: u8,
    /// Headroom of each port and priority, bytes; `None` = what its link needs.
    pub headroom: Option<u64>,
    /// The packets that use it.
    pub headroom_use: HeadroomUse,
    /// Guarantee of each queue and ingress, bytes.
    pub guaranteed: u64,
    /// Packets of each port set aside.
    pub reserved_packets: u64,
    /// Share of the free part that a queue may hold.
    pub egress_alpha: f64,
    /// The condition for that threshold.
    pub egress_threshold: EgressThreshold,
    /// Share of it that an ingress may hold.
    pub ingress_alpha: f64,
    /// Bytes of an ingress that do not count.
    pub pause_offset: u64,
    /// Bytes less for resuming.
    pub resume_less: u64,
    /// Length of a pause; zero: until a resume frame.
    pub pause: Span,
    /// The rule that renews it.
    pub pause_renewal: PauseRenewal,
    /// Bytes of a pause frame.
    pub pause_bytes: u32,
    /// ECN of each data priority.
    pub ramps: Vec<Ramp>,
    /// Pause frames queue with other control, each for itself; otherwise the newest replaces one that waits.
    pub pauses_queue: bool,
    /// An arrival may let the sender continue, not only a departure.
    pub resume_on_arrival: bool,
    /// An ingress is low again below its threshold with the fraction of a byte that this has.
    pub resume_below_fraction: bool,
    /// The sum of headrooms counts a port 0 that no switch has, and not the last port.
    pub headroom_of_port_0: bool,
    /// Held queues are outside the buffer, and enter it packet by packet when they are released.
    pub holds_outside: bool,
}

/// Bytes of buffer for each Gbps of a switch, headroom left out: 9 MiB for 24 ports of 100 Gbps (source: conweave-ns3),
/// and what chips have.
const BYTES_PER_GBPS: u64 = 4_000;
/// Start and end of the marking ramp, for each Gbps: 100 and 400 KB at 100 Gbps (source: conweave-ns3).
const RAMP_BYTES_PER_GBPS: [u64; 2] = [1_000, 4_000];
/// The most that a scheme adds to a packet.
const MOST_HEADER: u64 = 64;

/// Resolves `auto` with a shared buffer.
fn shared_autos(reader: &Reader<'_>, place: Place<'_>) -> Result<Autos, SpecError> {
    if !reader.wants_auto() {
        return Ok(Autos::new());
    }
    let bytes = |name| reader.wanted(name).and_then(Value::as_u64);
    let topology = Topology::new(place.topology)?;
    let packet = u64::from(place.transport.frame().mtu()) + MOST_HEADER;
    let pauses = reader.wanted("pfc") == Some(&Value::Bool(true));
    let frames = (bytes("pause_frame_bytes").unwrap_or(0) * bytes("priorities").unwrap_or(1)) as u32;
    let gbps = |rate: u64| rate.div_ceil(1_000_000_000);
    let (mut most, mut how) = (0, String::new());
    for node in topology.switch_nodes() {
        let cables = cables(&topology, node, packet, place.topology.clock());
        let total = cables.iter().map(|cable| gbps(cable.outward)).sum::<u64>();
        let headroom = |cable| bytes("headroom_bytes").unwrap_or_else(|| needed_headroom(cable, packet, frames));
        let headrooms: u64 = if pauses { cables.iter().map(headroom).sum() } else { 0 };
        let lossy = reader.wanted("lossy_priorities").and_then(Value::as_array).map_or(0, |list| list.len() as u64);
        let headrooms = headrooms * bytes("priorities").unwrap_or(1).saturating_sub(lossy);
        let reserved = bytes("reserved_packets").unwrap_or(0) * packet * cables.len() as u64;
        let needed = BYTES_PER_GBPS * total + headrooms + reserved;
        if needed > most {
            let name = topology.node_name(node);
            let kb = |bytes: u64| format!("{} KB", bytes as f64 / 1000.0);
            how = format!("4 KB per Gbps of {name}'s {total} Gbps, plus headroom of {}", kb(headrooms));
            if reserved > 0 {
                how += &format!(" and {} set aside", kb(reserved));
            }
            most = needed;
        }
    }
    let fastest = gbps(topology.links.iter().map(|link| link.rate).max().unwrap_or(0));
    let ramp = RAMP_BYTES_PER_GBPS.map(|bytes| bytes * fastest);
    let of = |kb| format!("{kb} KB per Gbps of the fastest links' {fastest} Gbps (conweave-ns3: 100 Gbps)");
    Ok(vec![
        ("buffer_bytes", most.max(2 * ramp[1]).next_multiple_of(1024).into(), how),
        ("ecn_min_bytes", ramp[0].into(), of(1)),
        ("ecn_max_bytes", ramp[1].into(), of(4)),
    ])
}

/// Checks that the keys fit each other.
fn check(reader: &Reader<'_>, keys: &SharedKeys) -> Result<(), SpecError> {
    if !keys.pfc && keys.headroom_bytes.is_some() {
        let error = reader.refuse("headroom_bytes", "no headroom without pfc: nothing pauses");
        return Err(error.hint("switch.pfc = true pauses under any loss recovery; by default IRN does without"));
    }
    if keys.pfc && keys.headroom_bytes == Some(0) {
        return Err(reader.refuse("headroom_bytes", "some headroom with pfc, or leave it out for what each link needs"));
    }
    if keys.ecn_max_bytes < keys.ecn_min_bytes {
        let max_stands = reader.given("ecn_max_bytes").is_none();
        return Err(match reader.given("ecn_min_bytes") {
            Some(_) if max_stands => {
                reader.refuse("ecn_min_bytes", format!("at most ecn_max_bytes = {}", keys.ecn_max_bytes))
            }
            _ => reader.refuse("ecn_max_bytes", "ecn_min_bytes or more"),
        });
    }
    for (name, bytes) in [
        ("ecn_max_bytes", keys.ecn_max_bytes),
        ("guaranteed_bytes", keys.guaranteed_bytes),
        ("pause_offset_bytes", keys.pause_offset_bytes),
        ("headroom_bytes", keys.headroom_bytes.unwrap_or(0)),
    ] {
        // If two do not fit, the one to blame is the one that was given.
        if bytes >= keys.buffer_bytes && reader.given(name).is_none() && reader.given("buffer_bytes").is_some() {
            return Err(reader.refuse("buffer_bytes", format!("more than {name} = {bytes}")));
        }
        if bytes >= keys.buffer_bytes {
            return Err(reader.refuse(name, less_than_buffer(keys)));
        }
    }
    Ok(())
}

/// What is allowed for bytes that the buffer must exceed.
fn less_than_buffer(keys: &SharedKeys) -> String {
    format!("less than the buffer of the switch, buffer_bytes = {}", keys.buffer_bytes)
}

/// The same priorities, one bit each, and one more.
///
/// # Errors
/// What is allowed, if it is no data priority or is among them.
fn with_priority(bits: u8, priority: Option<u64>, priorities: u32) -> Result<u8, String> {
    match priority.filter(|&priority| priority < priorities.into()) {
        Some(priority) if bits >> priority & 1 == 0 => Ok(bits | 1 << priority),
        _ => Err(format!("a data priority from 0 to {} (switch.priorities), each once", priorities - 1)),
    }
}

/// The priorities without flow control, one bit each.
fn lossy(reader: &Reader<'_>, keys: &SharedKeys) -> Result<u8, SpecError> {
    let Some(list) = &keys.lossy_priorities else { return Ok(0) };
    if !keys.pfc {
        return Err(reader.refuse("lossy_priorities", "no such list without pfc: no priority is lossless"));
    }
    let mut bits = 0;
    for (place, value) in list.iter().enumerate() {
        bits = with_priority(bits, value.as_u64(), keys.priorities).map_err(|allowed| {
            SpecError::new(format!("{}[{place}]", reader.path_of("lossy_priorities")), value, allowed)
        })?;
    }
    if list.len() as u64 == u64::from(keys.priorities) {
        let error = reader.refuse("lossy_priorities", "at least one priority less than there are");
        return Err(error.hint("switch.pfc = false makes all of them lossy"));
    }
    Ok(bits)
}

/// The marking of each data priority.
fn ramps(reader: &mut Reader<'_>, keys: &SharedKeys) -> Result<Vec<Ramp>, SpecError> {
    let all = Ramp { min: keys.ecn_min_bytes, max: keys.ecn_max_bytes, probability: keys.ecn_max_probability };
    let mut ramps = vec![all; keys.priorities as usize];
    let Some(list) = &keys.ecn else { return Ok(ramps) };
    let (mut known, mut resolved) = (0_u8, Vec::with_capacity(list.len()));
    for (place, value) in list.iter().enumerate() {
        let path = format!("{}[{place}]", reader.path_of("ecn"));
        let table = value
            .as_object()
            .ok_or_else(|| SpecError::new(&path, value, "a table with priority, min_bytes and max_bytes"))?;
        let mut entry = Reader::new(&path, EcnKeys::KEYS, table)?;
        let own = EcnKeys::read(&mut entry)?;
        known = with_priority(known, Some(own.priority.into()), keys.priorities)
            .map_err(|allowed| entry.refuse("priority", allowed))?;
        if own.max_bytes < own.min_bytes {
            return Err(entry.refuse("max_bytes", format!("min_bytes = {} or more", own.min_bytes)));
        }
        if own.max_bytes >= keys.buffer_bytes {
            return Err(entry.refuse("max_bytes", less_than_buffer(keys)));
        }
        ramps[own.priority as usize] =
            Ramp { min: own.min_bytes, max: own.max_bytes, probability: own.max_probability };
        resolved.push(entry.finish());
    }
    reader.set_resolved("ecn", Value::Array(resolved));
    Ok(ramps)
}

impl SharedBufferSpec {
    /// The least queue that is marked, bytes.
    pub fn marked_from(&self) -> u64 {
        self.ramps.iter().map(|ramp| ramp.min).min().unwrap_or(0)
    }

    /// Whether data of this priority is never to be dropped for want of room.
    #[inline]
    pub fn protects(&self, priority: u8) -> bool {
        self.pfc && self.lossy >> priority & 1 == 0
    }

    /// How many priorities flow control protects.
    pub fn protected(&self) -> u32 {
        if self.pfc { self.priorities - self.lossy.count_ones() } else { 0 }
    }
}

/// Reads `[switch]`.
pub(super) fn read(
    given: &Map<String, Value>,
    mut preset: Map<String, Value>,
    place: Place<'_>,
    autos: &mut Vec<Auto>,
) -> Result<(SharedBufferSpec, Value), SpecError> {
    if given.get("pfc") == Some(&Value::Bool(false)) {
        // The preset's value does not apply.
        preset.remove("headroom_bytes");
    }
    let reader = Reader::new("switch", SharedKeys::KEYS, given)?.with_defaults(preset);
    let worked_out = shared_autos(&reader, place)?;
    let mut reader = reader.with_autos(worked_out);
    let keys = SharedKeys::read(&mut reader)?;
    autos.extend(reader.worked_out());
    debug_assert_eq!(keys.model, super::Model::WORDS[1]);
    check(&reader, &keys)?;
    let lossy = lossy(&reader, &keys)?;
    let ramps = ramps(&mut reader, &keys)?;
    let spec = SharedBufferSpec {
        buffer: keys.buffer_bytes,
        pfc: keys.pfc,
        priorities: keys.priorities,
        lossy,
        headroom: keys.headroom_bytes,
        headroom_use: keys.headroom_use,
        guaranteed: keys.guaranteed_bytes,
        reserved_packets: keys.reserved_packets,
        egress_alpha: keys.egress_alpha,
        egress_threshold: keys.egress_threshold,
        ingress_alpha: keys.ingress_alpha,
        pause_offset: keys.pause_offset_bytes,
        resume_less: keys.resume_offset_bytes,
        pause: keys.pause_us,
        pause_renewal: keys.pause_renewal,
        pause_bytes: keys.pause_frame_bytes,
        ramps,
        pauses_queue: false,
        resume_on_arrival: false,
        resume_below_fraction: false,
        headroom_of_port_0: false,
        holds_outside: false,
    };
    Ok((spec, reader.finish()))
}
