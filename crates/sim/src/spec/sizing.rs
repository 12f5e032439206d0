//! The division of a shared buffer: the headroom that each cable needs, the guaranteed part, and the shared part.

use super::{HeaderBytes, PauseRenewal, SharedBufferSpec, Spec, SwitchSpec, Traffic};
use crate::ids::NodeId;
use crate::keys::SpecError;
use crate::packet::Clock;
use crate::topology::Topology;
use spinewise_policy::Span;
use spinewise_policy::time::BYTE_PS;

/// A cable at a port of a switch, as flow control sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Bits per second towards the switch: the traffic to be stopped.
    pub inward: u64,
    /// Bits per second away from it, for pause frames.
    pub outward: u64,
    /// Propagation there and back, with the latency of the switches.
    pub delay: Span,
}

/// The cables of a node, by port. Where `clock` cuts the time of each transmission, `packet` bytes come faster than the
/// nominal rate of the link.
pub fn cables(topology: &Topology, node: NodeId, packet: u64, clock: Clock) -> Vec<Cable> {
    let inward = |rate: u64| match Clock::Floor1Ns.tx_time(packet, rate) {
        floored if clock != Clock::Exact && floored > 0 => {
            (u128::from(packet) * u128::from(BYTE_PS)).div_ceil(floored.into()) as u64
        }
        _ => rate,
    };
    (0..topology.ports(node))
        .map(|port| {
            let out = topology.out(node, port);
            let back = &topology.links[topology.in_link(node, port)];
            Cable { inward: inward(back.rate), outward: out.rate, delay: out.delay + back.delay }
        })
        .collect()
}

/// Bytes of the largest packet on the wire, with the header of a scheme where that takes bytes.
pub fn largest_packet(spec: &Spec) -> u64 {
    let frames = spec.transports().map(|transport| transport.frame());
    let udp = spec.traffic.iter().map(|entry| match &entry.source {
        Traffic::Udp(udp) => udp.config.packet_bytes,
        Traffic::Transported(_) => 0,
    });
    let most = udp.chain(frames.flat_map(|frame| [frame.mtu(), frame.ack_bytes])).max().unwrap_or(0);
    let scheme = &spec.scheme;
    let header = match scheme.header_bytes {
        HeaderBytes::Free => 0,
        HeaderBytes::Charged => {
            scheme.edge.iter().chain([&scheme.fabric]).map(|chosen| chosen.header_bytes()).max().unwrap_or(0)
        }
    };
    u64::from(most) + u64::from(header)
}

/// The parts of a buffer, bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Headroom of each priority, by port.
    pub headrooms: Vec<u64>,
    /// Set aside for guarantees.
    pub reserved: u64,
    /// All headroom.
    pub all_headroom: u64,
}

impl Parts {
    /// Divides the buffer of a switch with these cables, where the largest packet has `packet` bytes.
    pub fn new(spec: &SharedBufferSpec, cables: &[Cable], packet: u64) -> Parts {
        let priorities = u64::from(spec.priorities);
        let headroom = |cable: &Cable| match spec.headroom {
            _ if !spec.pfc => 0,
            Some(bytes) => bytes,
            None => needed_headroom(cable, packet, spec.pause_bytes * spec.priorities),
        };
        let headrooms: Vec<u64> = cables.iter().map(headroom).collect();
        // As in the followed program, packets of each port; no less than what the guarantees promise.
        let reserved = (spec.reserved_packets * packet).max(priorities * spec.guaranteed) * cables.len() as u64;
        Parts {
            all_headroom: headrooms.iter().map(|&bytes| bytes.saturating_mul(spec.protected().into())).sum(),
            reserved,
            headrooms,
        }
    }

    /// Bytes that are not shared by all.
    pub fn set_aside(&self) -> u64 {
        self.all_headroom.saturating_add(self.reserved)
    }
}

/// Returns how many bytes can still come once an ingress has asked for a pause, including the packet that triggered it.
///
/// Let that packet have arrived at instant 0, and d and d' be the delays towards the switch and away from it. The
/// sender continued at -d. The frame waits for a packet that has just been started, p, and for frames of other
/// priorities (in `frames`, with itself: f), is sent and travels: the sender stops at p + f + d', but finishes what it
/// has just started then. In a time of d + p + f + d' it starts no more than that times the rate, and one packet; with
/// the first one that makes 2 packets + rate (p + f + d + d'). Nothing less will do, up to the part of a packet.
pub fn needed_headroom(cable: &Cable, packet: u64, frames: u32) -> u64 {
    let time = longest_wait(cable.outward, packet, frames) + cable.delay;
    let bits = u128::from(cable.inward) * u128::from(time.0);
    2 * packet + bits.div_ceil(BYTE_PS.into()) as u64
}

/// The longest that a pause frame may wait for the line, and be sent: rounded up to whole picoseconds.
pub fn longest_wait(outward: u64, packet: u64, frames: u32) -> Span {
    Span(Clock::Exact.tx_time(packet + u64::from(frames), outward) + 1)
}

/// Checks that a shared buffer has room for the parts set aside, that a pause outlasts the wait of its renewal, and
/// that data has an existing priority: a pause for another would not stop it.
///
/// # Errors
/// The error names the switch that has too little, or the traffic.
pub fn check(spec: &Spec) -> Result<(), SpecError> {
    let SwitchSpec::SharedBuffer(shared) = &spec.switch else { return Ok(()) };
    for (index, entry) in spec.traffic.iter().enumerate() {
        if u32::from(entry.priority) >= shared.priorities {
            let allowed = format!("a priority below switch.priorities = {}", shared.priorities);
            let error = SpecError::new(format!("traffic[{index}].priority"), &entry.priority.into(), allowed);
            return Err(error.of_entry(index, &entry.name, spec.traffic.len()));
        }
    }
    let topology = Topology::unrouted(&spec.topology)?;
    let packet = largest_packet(spec);
    for node in topology.switch_nodes() {
        let cables = cables(&topology, node, packet, spec.topology.clock());
        let parts = Parts::new(shared, &cables, packet);
        let name = topology.node_name(node);
        if parts.set_aside() + packet > shared.buffer {
            return Err(too_small(shared, &name, &parts, packet));
        }
        check_pause(shared, &name, &cables, packet)?;
    }
    Ok(())
}

/// The least `buffer_bytes` that [`check`] accepts.
pub fn least_buffer(spec: &Spec) -> u64 {
    let (SwitchSpec::SharedBuffer(shared), Ok(topology)) = (&spec.switch, Topology::unrouted(&spec.topology)) else {
        return 0;
    };
    let packet = largest_packet(spec);
    let parts = |node| Parts::new(shared, &cables(&topology, node, packet, spec.topology.clock()), packet);
    topology.switch_nodes().map(|node| parts(node).set_aside() + packet).max().unwrap_or(0)
}

fn too_small(shared: &SharedBufferSpec, name: &str, parts: &Parts, packet: u64) -> SpecError {
    let (headroom, reserved) = (parts.all_headroom, parts.reserved);
    let allowed = format!(
        "{} or more: the {} ports of {name} need {headroom} bytes of headroom (headroom_bytes, per port and priority) \
         and {reserved} of guarantees (reserved_packets, guaranteed_bytes), plus room for one packet of {packet}",
        headroom + reserved + packet,
        parts.headrooms.len()
    );
    SpecError::new("switch.buffer_bytes", &shared.buffer.into(), allowed)
}

fn check_pause(shared: &SharedBufferSpec, name: &str, cables: &[Cable], packet: u64) -> Result<(), SpecError> {
    if !shared.pfc || shared.pause == Span::ZERO || shared.pause_renewal != PauseRenewal::Timer {
        return Ok(());
    }
    let frames = shared.pause_bytes * shared.priorities;
    let longest = cables.iter().map(|cable| longest_wait(cable.outward, packet, frames)).max().unwrap_or(Span::ZERO);
    if shared.pause > longest {
        return Ok(());
    }
    let allowed = format!(
        "more than {} us, or 0 (until the sender is told to resume): the frame that renews a pause may wait that long \
         behind a packet of {packet} bytes at {name}",
        longest.as_us_f64()
    );
    Err(SpecError::new("switch.pause_us", &shared.pause.as_us_f64().into(), allowed))
}
