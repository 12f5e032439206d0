//! Values that follow from the fabric's own rates and delays.

use spinewise_policy::{Facts, Span};

use super::Topology;
use super::spec::{TopologySpec, Wiring};
use crate::keys::SpecError;
use crate::packet::Clock;
use crate::transport::Frame;

/// Rates and delays of the nominal path between two racks ([`Topology::nominal_path`]).
#[derive(Clone, Debug)]
pub(crate) struct Fabric {
    path: Vec<(u64, Span)>,
    /// Maximum addition of an override to the round trip over its links.
    pub(crate) detour: Span,
    clock: Clock,
}

impl Fabric {
    /// Returns the fabric of a topology.
    ///
    /// # Errors
    /// The graph cannot be built.
    pub(crate) fn of(spec: &TopologySpec) -> Result<Fabric, SpecError> {
        let path = match &spec.wiring {
            Wiring::LeafSpine(fabric) => fabric.nominal_path(),
            Wiring::FatTree(fabric) => fabric.nominal_path(),
            Wiring::Links(_) => Topology::new(spec)?.nominal_path,
        };
        Ok(Fabric { detour: spec.detour(&path), path, clock: spec.clock() })
    }

    /// Bits per second of the hosts' links.
    pub(crate) fn host_rate(&self) -> u64 {
        self.path[0].0
    }

    /// Bits per second of the slowest link between the host links.
    pub(crate) fn fabric_rate(&self) -> u64 {
        let inner = self.path.get(1..self.path.len() - 1).unwrap_or_default();
        inner.iter().map(|&(rate, _)| rate).min().unwrap_or(self.host_rate())
    }

    /// Switches on the nominal path.
    pub(crate) fn switches(&self) -> u32 {
        self.path.len().saturating_sub(1) as u32
    }

    fn one_way(&self, bytes: u32) -> u64 {
        self.path.iter().map(|&(rate, delay)| delay.0 + self.clock.tx_time(u64::from(bytes), rate)).sum()
    }

    /// Round-trip time of a full packet and its acknowledgement when nothing waits.
    pub(crate) fn base_rtt(&self, frame: Frame) -> Span {
        Span(self.one_way(frame.mtu()) + self.one_way(frame.ack_bytes))
    }

    /// The same over the links of the override that makes it longest.
    pub(crate) fn longest_rtt(&self, frame: Frame) -> Span {
        Span(self.base_rtt(frame).0.saturating_add(self.detour.0))
    }

    /// Bandwidth-delay product for IRN as computed in the followed program: twice the propagation and once the payload
    /// of a packet on each link, at the rate of the slowest.
    pub(crate) fn irn_window(&self, mss: u32) -> u64 {
        let delays: u64 = self.path.iter().map(|&(_, delay)| delay.0).sum();
        let sending: u64 = self.path.iter().map(|&(rate, _)| self.clock.tx_time(u64::from(mss), rate)).sum();
        let slowest = self.path.iter().map(|&(rate, _)| rate).min().unwrap_or(0);
        let bits = u128::from(2 * delays + sending) * u128::from(slowest) / 1_000_000_000_000;
        ((bits / 8) as u64).max(u64::from(mss))
    }

    /// Returns the facts from which schemes may derive their parameters; a queue of `marked` bytes is marked.
    pub(crate) fn facts(&self, frame: Frame, marked: u64) -> Facts {
        Facts {
            base_rtt_us: self.base_rtt(frame).as_us_f64(),
            marked_us: marked as f64 * 8e6 / self.fabric_rate() as f64,
        }
    }
}
