//! The fixed facts of a run that every node reads.

use crate::packet::Tags;
use crate::port::Rules;
use crate::topology::Topology;
use crate::transport::TcpConfig;
use spinewise_policy::{Span, hash};

/// Fixed facts.
#[derive(Debug)]
pub struct Net {
    /// The wiring.
    pub topology: Topology,
    /// The queueing rules of switches.
    pub rules: Rules,
    /// TCP.
    pub tcp: TcpConfig,
    /// What host tags are to switches.
    pub tags: Tags,
    /// Do schemes' headers take bytes on the wire?
    pub charge_headers: bool,
    /// Seed of the run.
    pub seed: u64,
    /// Ports keep their packets until transmission starts.
    pub commit_at_start: bool,
    /// Period of the series.
    pub series_interval: Option<Span>,
    /// Nominal rate of host links, bits per second.
    pub host_rate: u64,
    /// Nominal rate of an unloaded path, bits per second.
    pub path_rate: u64,
    /// Round-trip time of a full packet and its ACK on an empty nominal path between racks.
    pub base_rtt: Span,
    salt: u64,
}

impl Net {
    /// From the parts; `nominal` is (host rate, fabric rate, host delay, fabric delay with the switch's latency).
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        topology: Topology,
        rules: Rules,
        tcp: TcpConfig,
        tags: Tags,
        charge_headers: bool,
        seed: u64,
        commit_at_start: bool,
        series_interval: Option<Span>,
        nominal: &crate::spec::LeafSpine,
    ) -> Net {
        let (host, fabric) = (nominal.host_rate, nominal.fabric_rate);
        let there = |bytes: u32| {
            let bits = u64::from(bytes) * 8_000;
            2 * (bits * 1_000_000_000 / host + bits * 1_000_000_000 / fabric)
        };
        let propagation = 4 * (nominal.host_delay.0 + nominal.fabric_delay.0) + 6 * nominal.switch_latency.0;
        let base_rtt = Span(propagation + there(tcp.mss + tcp.header) + there(tcp.ack_bytes));
        Net {
            topology,
            rules,
            tcp,
            tags,
            charge_headers,
            seed,
            commit_at_start,
            series_interval,
            host_rate: host,
            path_rate: host.min(fabric),
            base_rtt,
            salt: hash::mix2(seed, hash::name("ties")),
        }
    }

    /// Are series kept?
    #[inline]
    pub fn has_series(&self) -> bool {
        self.series_interval.is_some()
    }

    /// Are these two hosts in one rack?
    #[inline]
    pub fn same_rack(&self, a: u32, b: u32) -> bool {
        b < self.topology.hosts && self.topology.leaf_of[a as usize] == self.topology.leaf_of[b as usize]
    }

    /// The order of arrivals at one instant: mixed afresh, so that no link always wins.
    #[inline]
    pub fn tie(&self, now: spinewise_policy::Time, link: u32) -> u64 {
        hash::mix(hash::mix(now.0 ^ self.salt) ^ u64::from(link))
    }
}
