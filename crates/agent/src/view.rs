//! The view of the fabric that a scheme at a host gets.

use spinewise_policy::{HostView, Span, To};

/// The operator's description of the fabric, as a scheme reads it.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// This host.
    pub host: u32,
    /// Rack of every host.
    pub racks: Vec<u32>,
    /// Paths to every rack.
    pub ways: Vec<u16>,
    /// Bits per second.
    pub link_rate: u64,
    /// Bits per second.
    pub path_rate: u64,
    /// Round trip on an empty path.
    pub base_rtt: Span,
    /// Way there.
    pub base_one_way: Span,
    /// Largest payload.
    pub mss: u32,
    /// Largest inner packet.
    pub mtu: u32,
}

impl View {
    /// The view as lent to a hook.
    pub(crate) fn lent(&self) -> HostView<'_> {
        HostView {
            host: self.host,
            leaf: self.racks[self.host as usize],
            leaf_of: &self.racks,
            ways: &self.ways,
            link_rate: self.link_rate,
            path_rate: self.path_rate,
            path_rates: &[],
            base_rtt: self.base_rtt,
            base_one_way: self.base_one_way,
            mss: self.mss,
            mtu: self.mtu,
        }
    }

    /// Returns the hosts that a destination denotes.
    pub(crate) fn hosts_of(&self, to: To) -> Vec<u32> {
        let rack = |rack: u32| {
            let hosts = self.racks.iter().enumerate().filter(move |&(_, &of)| of == rack);
            hosts.map(|(host, _)| host as u32).filter(|&host| host != self.host).collect()
        };
        match to {
            To::Host(host) => vec![host],
            To::Rack => rack(self.racks[self.host as usize]),
            // Leaves are switches, and this fabric has no information.
            To::Leaf(_) | To::Neighbours { .. } | To::Port(_) => Vec::new(),
        }
    }
}
