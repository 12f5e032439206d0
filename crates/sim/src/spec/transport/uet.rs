//! `[transport] kind = "uet"`: the parameters of connections of Ultra Ethernet.

use serde_json::{Map, Value};

use super::TransportPreset;
use crate::keys::{AUTO, Auto, Autos, Reader, SpecError};
use crate::topology::{Fabric, Topology, TopologySpec};
use crate::transport::congestion::delivery::Kind as Control;
use crate::transport::congestion::nscc::{bdp, window_of};
use crate::transport::uet::config::{PullHeeds, Recovery};
use crate::transport::{Frame, UetConfig};

/// The values of `[transport]` that make this configuration: those of a preset, including values left to the fabric and
/// to other keys.
pub(crate) fn values(config: &UetConfig) -> Map<String, Value> {
    let mut values = config.values();
    values.insert("rto_us".into(), AUTO.into());
    values.insert("pull_least".into(), AUTO.into());
    values.insert("sleek_target_rtts".into(), AUTO.into());
    values.into_iter().chain(config.control.values(config.kind)).collect()
}

/// The factor by which the hosts of a leaf can send more than its uplinks carry when nothing is wrong: receivers know
/// the fabric as it was built, not its faults.
fn oversubscription(topology: &TopologySpec) -> Result<f64, SpecError> {
    let built = Topology::new(topology)?;
    let (up, _, _) = built.leaf_rates();
    let hosts: f64 = f64::from(built.hosts) * built.host_rate() as f64;
    let core: f64 = up.iter().map(|&rate| rate as f64).sum();
    Ok(if core > 0.0 { hosts / core } else { 1.0 })
}

/// Least part of a host's rate that its receivers grant where they heed congestion in any fabric: own choice, for ten flows
/// that are hashed to one link.
const LEAST_PULL: f64 = 0.1;

/// The queueing delay that SLEEK takes for none where no key of the window says, in round trips of the empty network.
const UNTRIMMED_TARGET: f64 = 1.0;

/// Resolves `auto`.
fn uet_autos(reader: &Reader<'_>, topology: &TopologySpec) -> Result<Autos, SpecError> {
    if !reader.wants_auto() {
        return Ok(Autos::new());
    }
    let bytes = |name| reader.wanted(name).and_then(Value::as_u64).unwrap_or(0) as u32;
    let frame = Frame { mss: bytes("mss_bytes"), header: bytes("header_bytes"), ack_bytes: bytes("ack_bytes") };
    let fabric = Fabric::of(topology)?;
    let (rate, mtu) = (fabric.fabric_rate(), u64::from(frame.mtu()));
    let packets = (bdp(fabric.base_rtt(frame), rate) as u64).div_ceil(mtu).max(1);
    // Whole nanoseconds, so that it is printed exactly.
    let ns = 15_000 + 6 * packets * mtu * 8_000_000_000 / rate;
    let mut how = format!("15 us plus six times what a queue of {packets} packets takes (uet-htsim)");
    // That program knows no links of other delays. An answer over one must come in time.
    let longer = fabric.detour.0.div_ceil(1000);
    if longer > 0 {
        how += ", plus what the delays of overrides add to a round trip";
    }
    let ns = ns + longer;
    // Cores that are slower than all hosts together: receivers must not grant as if they were not.
    let ratio = oversubscription(topology)?;
    let control = reader.wanted("congestion_control");
    let window = control != Some(&Value::from(Control::None.name()));
    let always = reader.wanted("pull_heeds") == Some(&Value::from(PullHeeds::Congestion.word()));
    let (least, why) = match (window, always) {
        (true, _) => (1.0, "no reaction: senders have windows".into()),
        (false, true) => {
            let least = LEAST_PULL.min(0.9 / ratio);
            (
                least,
                "for many flows on one link inside the fabric: a tenth, or 0.9 of what the core leaves each host"
                    .into(),
            )
        }
        (false, false) if ratio > 1.0 => {
            (0.9 / ratio, format!("0.9 of what a core oversubscribed {ratio:.2} times leaves each host (uet-htsim)"))
        }
        (false, false) => (1.0, "no reaction: the core is as fast as the hosts".into()),
    };
    let (target, whose) =
        match reader.wanted("nscc_target_rtts").filter(|_| control == Some(&Control::Nscc.name().into())) {
            Some(target) => (target.clone(), "nscc_target_rtts"),
            None => (UNTRIMMED_TARGET.into(), "as in uet-htsim where nothing is trimmed"),
        };
    Ok(vec![
        ("rto_us", (ns as f64 / 1e3).into(), how),
        ("pull_least", least.into(), why),
        ("sleek_target_rtts", target, whose.into()),
    ])
}

/// Reads `[transport]` with `kind = "uet"`.
pub(super) fn read(
    given: &Map<String, Value>,
    preset: TransportPreset,
    topology: &TopologySpec,
    autos: &mut Vec<Auto>,
) -> Result<(UetConfig, Value), SpecError> {
    let defaults = preset.uet();
    let named = given.get("congestion_control").or_else(|| defaults.get("congestion_control")).and_then(Value::as_str);
    let kind = Control::ALL.iter().copied().find(|kind| Some(kind.name()) == named).unwrap_or(Control::Nscc);
    let all = Control::ALL.iter().map(|kind| (kind.name(), kind.keys()));
    super::check_own(given, ("congestion_control", kind.name()), all)?;
    let [reader, own] = Reader::split("transport", [UetConfig::KEYS, kind.keys()], given)?;
    let (reader, mut own) = (reader.with_defaults(defaults.clone()), own.with_defaults(defaults));
    let worked_out = uet_autos(&reader, topology)?;
    let mut reader = reader.with_autos(worked_out);
    let mut config = UetConfig::read(&mut reader)?;
    autos.extend(reader.worked_out());
    // The preset's values of a control that is not chosen hold for its senders, too: which ones report round trips.
    config.control = preset.uet_config().control;
    config.control.read(kind, &mut own)?;
    if kind == Control::None && !config.receiver_credit {
        return Err(reader.refuse(
            "receiver_credit",
            "true with transport.congestion_control = \"none\": something must pace senders",
        ));
    }
    if kind == Control::None && config.recovery == Recovery::Sleek {
        return Err(
            reader.refuse("recovery", "timeout with transport.congestion_control = \"none\": SLEEK needs a window")
        );
    }
    let fabric = Fabric::of(topology)?;
    let frame = Frame { mss: config.mss, header: config.header, ack_bytes: config.ack_bytes };
    config.most_window = window_of(bdp(fabric.base_rtt(frame), fabric.host_rate()));
    let mut told = reader.told();
    told.extend(own.told());
    Ok((config, told.into()))
}
