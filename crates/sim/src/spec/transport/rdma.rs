//! `[transport] kind = "rdma"`: the parameters of queue pairs.

use serde_json::{Map, Value};
use spinewise_policy::Span;

use super::{KINDS, TransportPreset, Window};
use crate::keys::{AUTO, Auto, Autos, Default, Kind, LARGEST_EXACT, Reader, SpecError, Unit, Zero, keys, tidy, words};
use crate::packet::Clock;
use crate::telemetry::WIRE_BYTES;
use crate::topology::Fabric;
use crate::topology::TopologySpec;
use crate::transport::congestion::rate::Kind as Control;
use crate::transport::rdma::{RdmaConfig, Recovery};

const MOST: u64 = u32::MAX as u64;

keys! {
    /// `[transport] kind = "rdma"`.
    RdmaKeys {
        /// The transport: the queue pairs of an RNIC.
        _kind as "kind": String, Kind::Words(KINDS), Default::Preset;
        /// The congestion control: DCQCN (SIGCOMM 2015), or another one that the reference lists.
        congestion_control: Control, Kind::Words(Control::NAMES), Default::Preset;
        /// Payload of a full packet.
        mss_bytes: u32, Kind::Integer { min: 1, max: 64_000 }, Default::Preset;
        /// Bytes of a data packet on the wire besides its payload.
        header_bytes: u32, Kind::Integer { min: 0, max: 512 }, Default::Preset;
        /// Bytes of an ACK or a NACK on the wire.
        ack_bytes: u32, Kind::Integer { min: 1, max: 65_000 }, Default::Preset;
        /// Loss recovery: go back to the oldest unacknowledged packet, or IRN's selective repeat (SIGCOMM 2018).
        recovery: RecoveryWord, Kind::Words(RecoveryWord::WORDS), Default::Preset;
        /// Least time between two NACKs that say the same.
        nack_interval_us: Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Preset;
        /// Retransmission timeout of go-back-N, since the last packet sent or answer received.
        rto_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// Retransmission timeout of IRN while few packets are in flight.
        rto_low_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// Retransmission timeout of IRN otherwise.
        rto_high_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Preset;
        /// How many packets are few, beside the newest.
        rto_low_packets: u32, Kind::Integer { min: 0, max: MOST }, Default::Preset;
        /// Most payload bytes in flight, as IRN's BDP flow control has it; 0 = no bound. With recovery = "irn" it is "auto" in
        /// the presets linux and conweave-ns3, and 104000 in the others, the bandwidth-delay product of their leaf-spine.
        window_bytes: u64, Kind::Auto(&Kind::Integer { min: 0, max: LARGEST_EXACT }), Default::Preset;
        /// Is a NACK made by a packet out of order a CNP too?
        ooo_cnp: bool, Kind::Bool, Default::Preset;
        /// Least time between two CNPs for marks of one queue pair; 0 makes the answer to each marked packet one.
        cnp_interval_us: Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Preset;
        /// Gaps between paced packets: exact, with remainders carried, or cut to whole nanoseconds as ns-3.19 has them.
        pacing_rounding: PacingRounding, Kind::Words(PacingRounding::WORDS), Default::Preset;
    }
}

words! {
    /// Loss recovery, by its word.
    RecoveryWord {
        /// Go-back-N.
        GoBackN = "go_back_n",
        /// Selective repeat.
        Irn = "irn",
    }
}

words! {
    /// Rounding of the gaps between paced packets.
    PacingRounding {
        /// Remainders are carried.
        Exact = "exact",
        /// Whole nanoseconds.
        Floor1Ns = "floor_1ns",
    }
}

impl From<RecoveryWord> for Recovery {
    fn from(word: RecoveryWord) -> Recovery {
        match word {
            RecoveryWord::GoBackN => Recovery::GoBackN,
            RecoveryWord::Irn => Recovery::Irn,
        }
    }
}

/// The values of `[transport]` that make this configuration: what a preset says.
pub(crate) fn values(config: &RdmaConfig) -> Map<String, Value> {
    let us = |span: Span| tidy(span.as_us_f64());
    let recovery = match config.recovery {
        Recovery::GoBackN => RecoveryWord::GoBackN,
        Recovery::Irn => RecoveryWord::Irn,
    };
    let rounding = match config.clock {
        Clock::Exact => PacingRounding::Exact,
        Clock::Floor1Ns | Clock::Ns3 => PacingRounding::Floor1Ns,
    };
    [
        ("kind", super::RDMA.into()),
        ("congestion_control", config.kind.name().into()),
        ("mss_bytes", config.mss.into()),
        ("header_bytes", config.header.into()),
        ("ack_bytes", config.ack_bytes.into()),
        ("recovery", recovery.word().into()),
        ("nack_interval_us", us(config.nack_interval)),
        ("rto_us", us(config.rto)),
        ("rto_low_us", us(config.rto_low)),
        ("rto_high_us", us(config.rto_high)),
        ("rto_low_packets", config.rto_low_packets.into()),
        ("window_bytes", config.window_bytes.into()),
        ("ooo_cnp", config.ooo_cnp.into()),
        ("cnp_interval_us", us(config.cnp_interval)),
        ("pacing_rounding", rounding.word().into()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_string(), value))
    .chain(config.control.values(config.kind))
    .collect()
}

/// Reads `[transport]` with `kind = "rdma"`. The preset depends on the recovery that is given.
pub(super) fn read(
    given: &Map<String, Value>,
    preset: TransportPreset,
    topology: &TopologySpec,
    autos: &mut Vec<Auto>,
) -> Result<(RdmaConfig, Value), SpecError> {
    let irn = given.get("recovery").is_some_and(|recovery| recovery == RecoveryWord::Irn.word());
    let (preset, window) = preset.queue_pairs(if irn { Recovery::Irn } else { Recovery::GoBackN });
    let mut defaults = values(&preset);
    if irn && window == Window::Fits {
        defaults.insert("window_bytes".into(), AUTO.into());
    }
    let named = given.get("congestion_control").and_then(Value::as_str);
    let kind = Control::ALL.iter().copied().find(|kind| Some(kind.name()) == named).unwrap_or(preset.kind);
    let all = Control::ALL.iter().map(|kind| (kind.name(), kind.keys()));
    super::check_own(given, ("congestion_control", kind.name()), all)?;
    let [reader, own] = Reader::split("transport", [RdmaKeys::KEYS, kind.keys()], given)?;
    let (reader, mut own) = (reader.with_defaults(defaults.clone()), own.with_defaults(defaults));
    let mut worked_out = Autos::new();
    if reader.wants_auto() {
        let mss = reader.wanted("mss_bytes").and_then(Value::as_u64).unwrap_or_default();
        let how =
            "twice the propagation and the payload of a packet on each link, at the rate of the slowest (conweave-ns3)";
        worked_out.push(("window_bytes", Fabric::of(topology)?.irn_window(mss as u32).into(), how.into()));
    }
    let mut reader = reader.with_autos(worked_out);
    let keys = RdmaKeys::read(&mut reader)?;
    autos.extend(reader.worked_out());
    if keys.window_bytes != 0 && keys.window_bytes < u64::from(keys.mss_bytes) {
        return Err(reader.refuse("window_bytes", "mss_bytes or more, or 0 for no bound"));
    }
    if keys.rto_high_us < keys.rto_low_us {
        return Err(reader.refuse("rto_high_us", "rto_low_us or more"));
    }
    let mut control = preset.control;
    control.read(kind, &mut own)?;
    let telemetry = if kind.collects_telemetry() { WIRE_BYTES } else { 0 };
    let config = RdmaConfig {
        mss: keys.mss_bytes,
        header: keys.header_bytes + telemetry,
        ack_bytes: keys.ack_bytes + telemetry,
        recovery: keys.recovery.into(),
        nack_interval: keys.nack_interval_us,
        rto: keys.rto_us,
        rto_low: keys.rto_low_us,
        rto_high: keys.rto_high_us,
        rto_low_packets: keys.rto_low_packets,
        window_bytes: keys.window_bytes,
        ooo_cnp: keys.ooo_cnp,
        cnp_interval: keys.cnp_interval_us,
        clock: match keys.pacing_rounding {
            PacingRounding::Exact => Clock::Exact,
            PacingRounding::Floor1Ns => Clock::Floor1Ns,
        },
        window_from_newest: false,
        recover_kept_on_timeout: false,
        kind,
        control,
    };
    let mut told = reader.told();
    told.extend(own.told());
    Ok((config, told.into()))
}
