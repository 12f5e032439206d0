//! `[transport] kind = "rdma"`: the parameters of queue pairs.

use serde_json::{Map, Value};

use super::{TransportPreset, Window};
use crate::keys::{AUTO, Auto, Autos, Reader, SpecError};
use crate::telemetry::WIRE_BYTES;
use crate::topology::Fabric;
use crate::topology::TopologySpec;
use crate::transport::congestion::rate::Kind as Control;
use crate::transport::rdma::{RdmaConfig, Recovery};

/// The values of `[transport]` that make this configuration: those of a preset.
pub(crate) fn values(config: &RdmaConfig) -> Map<String, Value> {
    config.values().into_iter().chain(config.control.values(config.kind)).collect()
}

/// Reads `[transport]` with `kind = "rdma"`. The preset depends on the recovery that is given.
pub(super) fn read(
    given: &Map<String, Value>,
    preset: TransportPreset,
    topology: &TopologySpec,
    autos: &mut Vec<Auto>,
) -> Result<(RdmaConfig, Value), SpecError> {
    let irn = given.get("recovery").is_some_and(|recovery| recovery == Recovery::Irn.word());
    let (preset, window) = preset.queue_pairs(if irn { Recovery::Irn } else { Recovery::GoBackN });
    let mut defaults = values(&preset);
    if irn && window == Window::Fits {
        defaults.insert("window_bytes".into(), AUTO.into());
    }
    let named = given.get("congestion_control").and_then(Value::as_str);
    let kind = Control::ALL.iter().copied().find(|kind| Some(kind.name()) == named).unwrap_or(preset.kind);
    let all = Control::ALL.iter().map(|kind| (kind.name(), kind.keys()));
    super::check_own(given, ("congestion_control", kind.name()), all)?;
    let [reader, own] = Reader::split("transport", [RdmaConfig::KEYS, kind.keys()], given)?;
    let (reader, mut own) = (reader.with_defaults(defaults.clone()), own.with_defaults(defaults));
    let mut worked_out = Autos::new();
    if reader.wants_auto() {
        let mss = reader.wanted("mss_bytes").and_then(Value::as_u64).unwrap_or_default();
        let how = "twice the propagation delay plus one packet's payload per link, at the rate of the slowest link \
                   (conweave-ns3)";
        worked_out.push(("window_bytes", Fabric::of(topology)?.irn_window(mss as u32).into(), how.into()));
    }
    let mut reader = reader.with_autos(worked_out);
    let mut config = RdmaConfig::read(&mut reader)?;
    autos.extend(reader.worked_out());
    if config.window_bytes != 0 && config.window_bytes < u64::from(config.mss) {
        return Err(reader.refuse("window_bytes", "mss_bytes or more, or 0 for no bound"));
    }
    if config.rto_high < config.rto_low {
        return Err(reader.refuse("rto_high_us", "rto_low_us or more"));
    }
    if config.queue_pairs.is_none() && reader.given("queue_pair_use").is_some() {
        return Err(
            reader.refuse("queue_pair_use", "no queue_pair_use without queue_pairs: without it, messages share none")
        );
    }
    config.control = preset.control;
    config.control.read(kind, &mut own)?;
    if kind.collects_telemetry() {
        config.header += WIRE_BYTES;
        config.ack_bytes += WIRE_BYTES;
    }
    let mut told = reader.told();
    told.extend(own.told());
    Ok((config, told.into()))
}
