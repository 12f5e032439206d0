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
    /// Is each transmission time floored to a whole nanosecond?
    pub floor_tx: bool,
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
    /// Round-trip time of a full packet and its ACK on an empty nominal path between racks
    /// ([`Topology::nominal_path`]).
    pub base_rtt: Span,
    salt: u64,
}

impl Net {
    /// From the parts.
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
        floor_tx: bool,
    ) -> Net {
        let path = &topology.nominal_path;
        let there = |bytes: u32| -> u64 {
            path.iter().map(|&(rate, delay)| delay.0 + tx_time(u64::from(bytes), rate, floor_tx)).sum()
        };
        Net {
            host_rate: topology.host_rate(),
            path_rate: path.iter().map(|&(rate, _)| rate).min().unwrap_or(topology.host_rate()),
            base_rtt: Span(there(tcp.mss + tcp.header) + there(tcp.ack_bytes)),
            topology,
            rules,
            tcp,
            floor_tx,
            tags,
            charge_headers,
            seed,
            commit_at_start,
            series_interval,
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

/// Time to send `bytes` at `rate` bits per second, in picoseconds: the floor of the exact time, or of the whole
/// nanoseconds in it if `floor_tx`.
pub fn tx_time(bytes: u64, rate: u64, floor_tx: bool) -> u64 {
    let ps = (u128::from(bytes) * 8_000_000_000_000 / u128::from(rate)) as u64;
    if floor_tx { ps - ps % 1000 } else { ps }
}
