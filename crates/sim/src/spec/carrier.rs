//! Transports of traffic entries, where those are not the run's: a table of `[[traffic]]` with the keys of `[transport]`.
//!
//! The flows of a host share its NIC, which gives them turns. What must be the same for all flows of a run is refused here.

use serde_json::{Map, Value};

use super::run::Follow;
use super::transport::{self, TransportPreset};
use crate::keys::{Auto, SpecError};
use crate::topology::TopologySpec;
use crate::transport::TransportSpec;

/// The transports of a run, as they are read.
pub(super) struct Carriers<'a> {
    main: &'a TransportSpec,
    preset: TransportPreset,
    fabric: &'a TopologySpec,
    follow: Follow,
    /// The others, each with the key that gave it first.
    others: Vec<(TransportSpec, String)>,
    autos: Vec<Auto>,
}

impl<'a> Carriers<'a> {
    /// The run's alone, with the preset that gives defaults to the others.
    pub(super) fn new(
        (main, preset): (&'a TransportSpec, TransportPreset),
        fabric: &'a TopologySpec,
        follow: Follow,
    ) -> Carriers<'a> {
        Carriers { main, preset, fabric, follow, others: Vec::new(), autos: Vec::new() }
    }

    /// The transport at a place.
    pub(super) fn get(&self, place: u8) -> &TransportSpec {
        usize::from(place).checked_sub(1).map_or(self.main, |place| &self.others[place].0)
    }

    /// Reads the transport of an entry, given at `path`. Returns its place, and what it was resolved to.
    ///
    /// # Errors
    /// Those of `[transport]`; a transport that goes with no other.
    pub(super) fn read(&mut self, given: &Map<String, Value>, path: &str) -> Result<(u8, Value), SpecError> {
        let mut autos = Vec::new();
        let read = transport::read(given, self.preset, self.fabric, &mut autos);
        let (found, told) = read.map_err(|error| error.moved("transport", path))?;
        let known = self.others.iter().position(|(other, _)| *other == found);
        let place = if found == *self.main { 0 } else { 1 + known.unwrap_or(self.others.len()) };
        if place > self.others.len() {
            self.others.push((found, path.into()));
        }
        self.autos.extend(autos.into_iter().map(|auto| auto.moved("transport", path)));
        Ok((place as u8, told))
    }

    /// The transports beside the main one, and the values that the engine chose for their `auto` keys.
    ///
    /// # Errors
    /// A transport that goes with no other.
    pub(super) fn finish(self) -> Result<(Vec<TransportSpec>, Vec<Auto>), SpecError> {
        let Some((_, path)) = self.others.first() else { return Ok((Vec::new(), self.autos)) };
        if self.follow != Follow::Nothing {
            let allowed = "no transport of its own with run.follow: the followed program has only one transport";
            return Err(SpecError::said(path, "a transport of its own", allowed));
        }
        check(self.main, "transport")?;
        for (transport, path) in &self.others {
            check(transport, path)?;
        }
        Ok((self.others.into_iter().map(|(other, _)| other).collect(), self.autos))
    }
}

/// Refuses a transport that cannot be beside another.
fn check(transport: &TransportSpec, path: &str) -> Result<(), SpecError> {
    let sheet = transport.sheet();
    let (key, value, allowed) = if matches!(transport, TransportSpec::Uet(_)) {
        let allowed =
            "TCP or RDMA where traffic entries have transports of their own: Ultra Ethernet has NICs of its own kind";
        ("kind", format!("{:?}", sheet.kind), allowed)
    } else if let (key, paths @ 1..) = sheet.paths {
        (key, paths.to_string(), "1 path for each flow where traffic entries have transports of their own")
    } else if let Some(pairs) = sheet.connections {
        let allowed = "a queue pair for each flow where traffic entries have transports of their own";
        ("queue_pairs", pairs.to_string(), allowed)
    } else {
        return Ok(());
    };
    Err(SpecError::said(format!("{path}.{key}"), value, allowed))
}
