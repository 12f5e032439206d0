//! `[metrics.capture]`: the packets that are written down.

use serde_json::{Map, Value};
use spinewise_policy::{Span, Time};

use crate::keys::{Default, Kind, Reader, SpecError, Unit, Zero, keys};

const PLACES: &str = "a list of names of nodes or links, such as [\"host3\", \"leaf0->spine1\"]";

keys! {
    /// `[metrics.capture]`.
    CaptureKeys {
        /// Where packets are captured: at ports, each named by the link it sends on ("leaf0->spine1", as reports print
        /// it), or by the name of a node ("host3", "leaf0") for all its ports. Like tcpdump, a port sees a packet that
        /// leaves by its link as its transmission starts, and one that comes the other way once it has arrived in full.
        at: Vec<Value>, Kind::List(PLACES), Default::Required;
        /// Packets from this simulated time on.
        from_us: Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(0.0);
        /// Packets before this simulated time.
        to_us: Option<Span>, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Nothing("to the end of the run");
        /// Each port keeps this many packets at most, the first ones. A warning says when there were more.
        max_packets: u64, Kind::Integer { min: 1, max: 100_000_000 }, Default::Number(250_000.0);
    }
}

/// The packets to capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSpec {
    /// Names of nodes and links.
    pub at: Vec<String>,
    /// Start of the capture.
    pub from: Time,
    /// End of the capture, excluded.
    pub to: Time,
    /// Maximum number of packets at each port.
    pub most: u64,
}

/// Reads `[metrics.capture]`.
pub(crate) fn read(given: &Map<String, Value>) -> Result<(CaptureSpec, Value), SpecError> {
    let mut reader = Reader::new("metrics.capture", CaptureKeys::KEYS, given)?;
    let keys = CaptureKeys::read(&mut reader)?;
    let names: Option<Vec<String>> = keys.at.iter().map(|name| name.as_str().map(String::from)).collect();
    let at = names.filter(|names| !names.is_empty()).ok_or_else(|| reader.refuse("at", PLACES))?;
    let (from, to) = (Time(keys.from_us.0), keys.to_us.map_or(Time::NEVER, |to| Time(to.0)));
    if to <= from {
        return Err(reader.refuse("to_us", format!("more than from_us, {}", keys.from_us.as_us_f64())));
    }
    Ok((CaptureSpec { at, from, to, most: keys.max_packets }, reader.finish()))
}
