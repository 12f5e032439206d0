//! `[detection]`: how faults are found and repaired.

use serde_json::{Map, Value};
use spinewise_policy::Span;

use crate::keys::{Default, Kind, Reader, SpecError, Unit, Zero, keys, words};

const INSTANT: Kind = Kind::Time(Unit::Microseconds, Zero::Allowed);

keys! {
    /// `[detection]`.
    DetectionKeys {
        /// How the two ends of a link learn that it is down or up again: by loss of carrier, by missing hellos, at once
        /// and together with all other switches (oracle), or not at all.
        mode: Mode, Kind::Words(Mode::WORDS), Default::Word("carrier");
        /// The ends react to loss of carrier, its return, or a change of rate once it has lasted this long.
        carrier_us: Span, INSTANT, Default::Number(100.0);
        /// With hello: the interval at which each end of a link between switches sends a hello.
        hello_interval_us: Span, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Number(10_000.0);
        /// With hello: a link counts as down after this many intervals without a hello.
        hello_dead_count: u32, Kind::Integer { min: 1, max: 1000 }, Default::Number(3.0);
        /// Do all switches recompute routes? If not, switches only stop using their own ports that are down.
        reconverge: bool, Kind::Bool, Default::Bool(true);
        /// News is flooded: in addition to the delay of each link, it takes this long at each switch.
        flood_hop_us: Span, INSTANT, Default::Number(10.0);
        /// From hearing of a change to using recomputed routes.
        control_plane_us: Span, INSTANT, Default::Number(1000.0);
    }
}

words! {
    /// The detection of changes.
    Mode {
        /// Loss of carrier at both ends, news flooded.
        Carrier = "carrier",
        /// Missing hellos, news flooded.
        Hello = "hello",
        /// All switches know at once.
        Oracle = "oracle",
        /// No switch ever knows.
        Never = "never",
    }
}

/// The rules by which changes are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detection {
    /// How the ends detect a change.
    pub mode: Mode,
    /// A change is believed after lasting this long.
    pub carrier: Span,
    /// Time between two hellos of one end.
    pub hello: Span,
    /// Intervals without a hello after which a link is down.
    pub dead_count: u32,
    /// Whether routes are recomputed.
    pub reconverge: bool,
    /// Time that each switch takes to pass news on.
    pub flood_hop: Span,
    /// Time from hearing of a change to using new routes.
    pub control_plane: Span,
}

/// Reads `[detection]`.
pub(crate) fn read(given: &Map<String, Value>) -> Result<(Detection, Value), SpecError> {
    let mut reader = Reader::new("detection", DetectionKeys::KEYS, given)?;
    let keys = DetectionKeys::read(&mut reader)?;
    let detection = Detection {
        mode: keys.mode,
        carrier: keys.carrier_us,
        hello: keys.hello_interval_us,
        dead_count: keys.hello_dead_count,
        reconverge: keys.reconverge,
        flood_hop: keys.flood_hop_us,
        control_plane: keys.control_plane_us,
    };
    Ok((detection, reader.finish()))
}
