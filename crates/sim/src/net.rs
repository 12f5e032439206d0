//! The fixed facts of a run that every node reads.

use crate::capture::Taps;
use crate::faults::{Faults, Frail};
use crate::ids::{HostId, LinkId, NodeId, SwitchId};
use crate::line::Line;
use crate::packet::{Clock, Fields, Hashing, Tags};
use crate::port::AllRules;
use crate::rider::Options;
use crate::series::Recorded;
use crate::spec::{
    AckPaths, Habits, HeaderBytes, Nics, PathTag, PortKind, SharedBufferSpec, Spec, SwitchSpec, TrimmingSpec, sizing,
};
use crate::timers::Class;
use crate::topology::{Components, Topology};
use crate::transport::Frame;
use crate::trimming::TrimRules;
use spinewise_policy::{FlowKey, Span, Time, hash};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Fixed facts.
#[derive(Debug)]
pub struct Net {
    /// The wiring.
    pub topology: Topology,
    /// What breaks.
    pub faults: Faults,
    /// How many switches a packet may pass; 0: any number.
    pub hop_limit: u8,
    /// Where packets are captured.
    pub taps: Taps,
    /// Which paths are alike, if the switches' scheme asks to be told.
    pub components: Components,
    /// The queueing rules of switches.
    pub rules: AllRules,
    /// The sizes of the transport's packets.
    pub frame: Frame,
    /// How exactly time is kept on links.
    pub clock: Clock,
    /// What nodes do otherwise where a program is followed event by event.
    pub habits: Habits,
    arrivals_first: bool,
    /// Of flows that share the row of a flowlet, all but the first, and the first; by the keys of their data.
    pub shared_rows: BTreeMap<u32, FlowKey>,
    /// What switches hash.
    pub hashing: Hashing,
    /// Acknowledgements are hashed at switches, and schemes do not see them.
    pub acks_by_ecmp: bool,
    /// The buffer that ports of a switch share, if they do.
    pub shared: Option<SharedBufferSpec>,
    /// How ports trim packets, if they do.
    pub trimming: Option<TrimmingSpec>,
    /// By what rules ports trim, each once.
    trim_rules: Vec<Arc<TrimRules>>,
    /// Bytes of the largest packet on the wire.
    pub largest_packet: u64,
    /// Do schemes' headers take bytes on the wire?
    pub charge_headers: bool,
    /// Where options of transports lie.
    pub options: Options,
    /// Seed of the run.
    pub seed: u64,
    /// NICs of hosts queue what they are given, by the same rules.
    pub nics_queue: bool,
    /// Ports keep their packets until transmission starts.
    pub commit_at_start: bool,
    /// Control packets likewise, although their start is known as they are queued.
    pub keeps_control: bool,
    /// Ports write into packets of data what they find: see [`crate::telemetry`].
    pub collects_telemetry: bool,
    /// Period of the series.
    pub series_interval: Option<Span>,
    /// The links they are kept of.
    pub series_links: Recorded,
    /// Is it counted how often a flow leaves its rack by another uplink?
    pub counts_reroutes: bool,
    /// Nominal rate of host links, bits per second.
    pub host_rate: u64,
    /// Nominal rate of an unloaded path, bits per second.
    pub path_rate: u64,
    /// Rates of all ways from each leaf ([`Topology::path_rates`]), if a host scheme asks to be told.
    pub path_rates: Vec<Box<[u64]>>,
    /// Round-trip time of a full packet and its ACK on an empty nominal path between racks
    /// ([`Topology::nominal_path`]).
    pub base_rtt: Span,
    /// The part of it that the full packet takes.
    pub base_one_way: Span,
    salt: u64,
    hash_salt: u64,
}

impl Net {
    /// What the links into a node lose, and what captures their packets; nothing if nothing does.
    pub fn frail(&self, node: NodeId) -> Option<Box<Frail>> {
        Frail::new((&self.topology, &self.faults, &self.taps), node, self.clock, self.seed)
    }

    /// From the spec, its wiring, and what tells its flows apart.
    pub fn new(spec: &Spec, topology: Topology, fields: Fields) -> Net {
        let sheet = spec.transport.sheet();
        let frame = sheet.frame;
        let pulls = spec.transports().any(|transport| transport.sheet().pulls);
        let collects_telemetry = spec.transports().any(|transport| transport.sheet().collects_telemetry);
        let clock = spec.rules.clock(spec.topology.clock());
        let path = &topology.nominal_path;
        let there = |bytes: u32| -> u64 {
            path.iter().map(|&(rate, delay)| delay.0 + clock.tx_time(u64::from(bytes), rate)).sum()
        };
        let rates = topology.links.iter().map(|link| link.rate);
        let rules = AllRules::new(&spec.switch, rates);
        let trimming = match &spec.switch {
            SwitchSpec::Trimming(trimming) => Some(trimming.clone()),
            SwitchSpec::OutputQueued(_) | SwitchSpec::SharedBuffer(_) => None,
        };
        let mut trim_rules: Vec<TrimRules> = Vec::new();
        for link in topology.links.numbered().map(|(link, _)| link) {
            let rules = trimming.as_ref().map(|trimming| rules_of(trimming, &topology, link));
            trim_rules.extend(rules.filter(|rules| !trim_rules.contains(rules)));
        }
        Net {
            host_rate: topology.host_rate(),
            path_rate: path.iter().map(|&(rate, _)| rate).min().unwrap_or(topology.host_rate()),
            path_rates: Vec::new(),
            base_rtt: Span(there(frame.mtu()) + there(frame.ack_bytes)),
            base_one_way: Span(there(frame.mtu())),
            topology,
            faults: Faults::default(),
            hop_limit: 0,
            taps: Taps::default(),
            components: Components::default(),
            rules,
            frame,
            clock,
            habits: spec.rules.habits,
            arrivals_first: clock != Clock::Exact || spec.rules.habits.arrivals_first,
            shared_rows: BTreeMap::new(),
            hashing: Hashing {
                tags: match spec.scheme.path_tag {
                    // No scheme writes paths into packets: what has a tag is to be hashed.
                    _ if spec.scheme.edge.is_none() && sheet.grants_by_value => Tags::Inner,
                    PathTag::Explicit => Tags::Explicit,
                    PathTag::Outer => Tags::Outer,
                    PathTag::Inner => Tags::Inner,
                },
                fields,
                ends: Vec::new(),
            },
            acks_by_ecmp: spec.scheme.acks == AckPaths::Ecmp,
            shared: match &spec.switch {
                SwitchSpec::SharedBuffer(shared) => Some(shared.clone()),
                SwitchSpec::OutputQueued(_) | SwitchSpec::Trimming(_) => None,
            },
            trimming,
            trim_rules: trim_rules.into_iter().map(Arc::new).collect(),
            largest_packet: sizing::largest_packet(spec),
            options: if spec.scheme.has_header() { Options::Beside } else { Options::Inside },
            charge_headers: spec.scheme.header_bytes == HeaderBytes::Charged,
            seed: spec.seed,
            nics_queue: matches!(&spec.switch, SwitchSpec::OutputQueued(queues) if queues.nics == Nics::Queue)
                && !pulls,
            collects_telemetry,
            keeps_control: spec.rules.habits.keeps_control,
            // A FIFO port takes a packet for gone that starts at this very instant; where arrivals go first it is not.
            commit_at_start: clock != Clock::Exact
                // Telemetry is written as a packet starts.
                || collects_telemetry
                || matches!(&spec.switch, SwitchSpec::OutputQueued(queues) if queues.ports == PortKind::CommitAtStart),
            series_interval: spec.metrics.series_interval,
            series_links: Recorded::default(),
            counts_reroutes: spec.metrics.facts,
            salt: hash::mix2(spec.seed, hash::name("ties")),
            hash_salt: spec.scheme.hash_salt,
        }
    }

    /// What switch `id` mixes into its hashes. Where the public ns-3 code of ConWeave is followed: its node number.
    pub fn switch_salt(&self, id: SwitchId) -> u64 {
        match self.hashing.fields {
            Fields::Ports(_) => u64::from(self.topology.label(self.topology.switch_node(id))) ^ self.hash_salt,
            // Mixed by itself, or seeds and salts that count up together would cancel out.
            Fields::Header | Fields::Connections(_) => {
                let run = self.seed ^ hash::name("switch salt") ^ hash::mix(self.hash_salt);
                hash::mix2(run, u64::from(id.number()))
            }
        }
    }

    /// What all switches mix into hashes on which they must agree.
    pub fn fabric_salt(&self) -> u64 {
        hash::mix(self.seed ^ hash::name("fabric salt") ^ hash::mix(self.hash_salt))
    }

    /// Are there ports that commit packets as they are queued, and decide marks later?
    #[inline]
    pub fn marks_later(&self) -> bool {
        self.trimming.is_some() || self.rules.marks_at_dequeue()
    }

    /// By what rules the port of a link trims, if it does. Ports with the same rules share them.
    pub fn trim_rules(&self, link: LinkId) -> Option<Arc<TrimRules>> {
        let rules = rules_of(self.trimming.as_ref()?, &self.topology, link);
        self.trim_rules.iter().find(|shared| ***shared == rules).cloned()
    }

    /// The line of a link, on which nothing has been sent.
    pub fn line(&self, link: LinkId) -> Line {
        let spec = &self.topology.links[link];
        Line::new(self.clock, (spec.rate, spec.delay), link, self.faults.outlet(link, spec))
    }

    /// Are held queues outside the buffer?
    #[inline]
    pub fn holds_outside(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.holds_outside)
    }

    /// Do switches pause their neighbours?
    pub fn is_lossless(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.pfc)
    }

    /// At one instant, do arrivals go before ends of transmissions? They do in ns-3, on whose coarse clock that matters:
    /// it takes events of one instant in the order of planning, and arrivals are planned a propagation delay ahead. In the
    /// order of htsim they may.
    #[inline]
    pub fn arrivals_first(&self) -> bool {
        self.arrivals_first
    }

    /// With ports that keep their packets until transmission starts, control too.
    pub fn keeping(self) -> Net {
        Net { commit_at_start: true, keeps_control: true, ..self }
    }

    /// The class of the end of a host's transmission.
    #[inline]
    pub fn wake_class(&self) -> Class {
        if self.arrivals_first() { Class::LateTransmitDone } else { Class::TransmitDone }
    }

    /// Are series kept?
    #[inline]
    pub fn has_series(&self) -> bool {
        self.series_interval.is_some()
    }

    /// Are these two hosts in one rack?
    #[inline]
    pub fn same_rack(&self, a: HostId, b: HostId) -> bool {
        b.number() < self.topology.hosts && self.topology.leaf(a) == self.topology.leaf(b)
    }

    /// The order of arrivals at one instant.
    #[inline]
    pub fn ties(&self, now: Time) -> Ties {
        Ties(hash::mix(now.0 ^ self.salt))
    }
}

/// The order of arrivals at one instant: mixed afresh, so that no link always wins.
#[derive(Clone, Copy, Debug)]
pub struct Ties(u64);

impl Ties {
    /// The place of what arrives by a link among all that does. Of two alike, the lower number goes first.
    #[inline]
    pub fn place(self, link: LinkId) -> u64 {
        hash::mix(self.0 ^ u64::from(link.number()))
    }
}

/// By what rules the port of a link trims.
fn rules_of(trimming: &TrimmingSpec, topology: &Topology, link: LinkId) -> TrimRules {
    let spec = &topology.links[link];
    trimming.rules_of(spec, topology.as_host(spec.to.0).is_some())
}
