//! `[switch] model = "trimming"`: data that finds its queue full loses its payload.

use serde_json::{Map, Value};

use super::Place;
use crate::keys::{Auto, Autos, Default, Kind, LARGEST_EXACT, Reader, SpecError, keys};
use crate::ramp::Ramp;
use crate::topology::{Fabric, LinkSpec};
use crate::transport::congestion::nscc::bdp;
use crate::trimming::{Cut, TrimRules};

keys! {
    /// `[switch]` that trims.
    TrimmingKeys {
        /// What a switch does with packets that must wait: two queues at each output, where data that does not fit
        /// loses its payload and its header goes ahead of all data (other models have their own keys).
        model: String, Kind::Words(super::Model::WORDS), Default::Preset;
        /// Capacity of the data queue of each output, including the packet in transmission.
        buffer_bytes: u64, Kind::Auto(&Kind::Integer { min: 1, max: LARGEST_EXACT }), Default::Preset;
        /// Capacity of the control queue of each output: headers of trimmed packets, answers, and whatever else carries
        /// no data.
        control_bytes: Option<u64>, Kind::Integer { min: 1, max: LARGEST_EXACT },
            Default::Nothing("twice buffer_bytes");
        /// Is data that does not fit trimmed? Otherwise it is dropped, as is data of any transport that does not
        /// support trimming: all but Ultra Ethernet.
        trim: bool, Kind::Bool, Default::Preset;
        /// Size of a packet after trimming.
        trimmed_bytes: u32, Kind::Integer { min: 1, max: 1_500 }, Default::Preset;
        /// ECN, when a packet has been sent: it is not marked if at most this many bytes of data are behind it.
        ecn_min_bytes: u64, Kind::Auto(&Kind::Integer { min: 0, max: LARGEST_EXACT }), Default::Preset;
        /// Above this many bytes every packet is marked.
        ecn_max_bytes: u64, Kind::Auto(&Kind::Integer { min: 0, max: LARGEST_EXACT }), Default::Preset;
        /// Probability of a mark at ecn_max_bytes; between the two thresholds it grows linearly.
        ecn_max_probability: f64, Kind::Number { min: 0.0, max: 1.0 }, Default::Preset;
        /// Do ports towards hosts mark? Where receivers pace their senders, they control these queues themselves.
        mark_last_hop: bool, Kind::Bool, Default::Preset;
    }
}

/// Output queues that trim. Sizes are those of a link that works as it was built; one that is slower has less in proportion.
#[derive(Clone, Debug, PartialEq)]
pub struct TrimmingSpec {
    /// Room for data at each output, bytes.
    pub buffer: u64,
    /// Room for control.
    pub control: u64,
    /// The treatment of data without room.
    pub cut: Cut,
    /// Marks.
    pub ramp: Ramp,
    /// Whether ports of hosts mark.
    pub mark_last_hop: bool,
}

impl TrimmingSpec {
    /// The rules of the port of a link, which leads to a host or not.
    pub(crate) fn rules_of(&self, link: &LinkSpec, last_hop: bool) -> TrimRules {
        let share = |bytes: u64| (u128::from(bytes) * u128::from(link.rate) / u128::from(link.nominal_rate)) as u64;
        let ramp = Ramp { min: share(self.ramp.min), max: share(self.ramp.max), ..self.ramp };
        let marks = self.ramp.probability > 0.0 && (self.mark_last_hop || !last_hop);
        TrimRules {
            room: share(self.buffer),
            control_room: share(self.control),
            ramp: marks.then_some(ramp),
            cut: self.cut,
            last_hop,
        }
    }
}

/// Resolves `auto`: bandwidth-delay products in whole packets (source: uet-htsim, `main_uec.cpp`).
fn trimming_autos(reader: &Reader<'_>, place: Place<'_>) -> Result<Autos, SpecError> {
    if !reader.wants_auto() {
        return Ok(Autos::new());
    }
    let (fabric, frame) = (Fabric::of(place.topology)?, place.transport.frame());
    let mtu = u64::from(frame.mtu());
    let packets = (bdp(fabric.base_rtt(frame), fabric.fabric_rate()) as u64).div_ceil(mtu).max(1);
    let trims = reader.wanted("trim") != Some(&Value::Bool(false));
    let part = |tenths: u64| (packets * tenths).div_ceil(10) * mtu;
    let (times, why) = if trims { (1, "one bandwidth-delay product") } else { (5, "five bandwidth-delay products") };
    let how = |share: &str| format!("{share} of {packets} packets of {mtu} B (uet-htsim)");
    Ok(vec![
        ("buffer_bytes", (times * packets * mtu).into(), how(why)),
        ("ecn_min_bytes", part(2).into(), how("a fifth of a bandwidth-delay product")),
        ("ecn_max_bytes", part(8).into(), how("four fifths of a bandwidth-delay product")),
    ])
}

/// Reads `[switch]`.
pub(super) fn read(
    given: &Map<String, Value>,
    preset: Map<String, Value>,
    place: Place<'_>,
    autos: &mut Vec<Auto>,
) -> Result<(TrimmingSpec, Value), SpecError> {
    let reader = Reader::new("switch", TrimmingKeys::KEYS, given)?.with_defaults(preset);
    let worked_out = trimming_autos(&reader, place)?;
    let mut reader = reader.with_autos(worked_out);
    let keys = TrimmingKeys::read(&mut reader)?;
    autos.extend(reader.worked_out());
    debug_assert_eq!(keys.model, super::TRIMMING);
    if keys.ecn_max_bytes < keys.ecn_min_bytes {
        return Err(reader.refuse("ecn_max_bytes", "ecn_min_bytes or more"));
    }
    if u64::from(keys.trimmed_bytes) > u64::from(place.transport.frame().mtu()) {
        return Err(reader.refuse("trimmed_bytes", "no more than a full packet (transport.mss_bytes + header_bytes)"));
    }
    let spec = TrimmingSpec {
        buffer: keys.buffer_bytes,
        control: keys.control_bytes.unwrap_or(2 * keys.buffer_bytes),
        // Packets say whether they may be trimmed.
        cut: if keys.trim && place.transport.sheet().knows_trims {
            Cut::To(keys.trimmed_bytes as u16)
        } else {
            Cut::Off
        },
        ramp: Ramp { min: keys.ecn_min_bytes, max: keys.ecn_max_bytes, probability: keys.ecn_max_probability },
        mark_last_hop: keys.mark_last_hop,
    };
    Ok((spec, reader.finish()))
}
