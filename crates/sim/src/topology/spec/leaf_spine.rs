//! `[topology]` of kind `leaf_spine`: two tiers, every leaf linked to every spine.

use serde_json::{Map, Value};
use spinewise_policy::Span;

use super::overrides::{Change, Direction, one_by_one};
use super::{DEFAULT_ROUNDING, KINDS, MOST_HOSTS, MOST_WAYS, TxTimeRounding};
use crate::keys::{Default, Kind, Reader, SpecError, Unit, Zero, keys};

/// Ports of a switch are numbered in 16 bits.
const MOST_PORTS: u64 = 65_535;
/// Maximum number of links between leaves and spines: 256 leaves and 256 spines take half a gigabyte, and seconds to
/// wire.
const MOST_CABLES: u64 = 1 << 17;

keys! {
    /// `[topology]` of kind `leaf_spine`.
    LeafSpineKeys {
        /// The kind of fabric: two tiers, every leaf linked to every spine.
        _kind as "kind": String, Kind::Words(KINDS), Default::Word(KINDS[0]);
        /// Leaf switches (racks); leaf l has the hosts from l * hosts_per_leaf on.
        leaves: u32, Kind::Integer { min: 1, max: 4096 }, Default::Number(2.0);
        /// Spine switches.
        spines: u32, Kind::Integer { min: 1, max: 4096 }, Default::Number(2.0);
        /// Hosts under each leaf.
        hosts_per_leaf: u32, Kind::Integer { min: 1, max: 4096 }, Default::Number(4.0);
        /// Rate of the links between hosts and leaves.
        host_rate_gbps: u64, Kind::Rate(Zero::Refused), Default::Number(10.0);
        /// Rate of each link between a leaf and a spine.
        fabric_rate_gbps: u64, Kind::Rate(Zero::Refused), Default::Number(10.0);
        /// Propagation delay of the links between hosts and leaves, one way.
        host_delay_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Number(1000.0);
        /// Propagation delay of each link between a leaf and a spine, one way.
        fabric_delay_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Number(1000.0);
        /// Parallel links between each leaf and each spine.
        parallel_links: u32, Kind::Integer { min: 1, max: 1024 }, Default::Number(1.0);
        /// Time from the arrival of a packet's last bit at a switch until the packet is queued at its output.
        switch_latency_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Number(0.0);
        /// Is each transmission time exact, or floored to a whole nanosecond as in ns-3.19? If floored, ns-3.19's event
        /// order also applies: arrivals at an instant go before transmissions that end at it.
        tx_time_rounding: TxTimeRounding, Kind::Words(TxTimeRounding::WORDS), DEFAULT_ROUNDING;
        /// Changes to single links, `[[topology.override]]`, applied in order: a later one wins.
        overrides as "override": Vec<Value>, Kind::List("a list of overrides"), Default::Empty;
    }
}

keys! {
    /// `[[topology.override]]`: changes all links that every given selector fits. A selector is a number or a list of them.
    OverrideKeys {
        /// Selects the fabric links of this leaf (or a list of them).
        leaf: Option<u32>, Kind::Integer { min: 0, max: 4095 }, Default::Nothing("any leaf");
        /// Selects the fabric links of this spine (or a list of them).
        spine: Option<u32>, Kind::Integer { min: 0, max: 4095 }, Default::Nothing("any spine");
        /// Selects one of the parallel links of each leaf and spine, by number from 0.
        link: Option<u32>, Kind::Integer { min: 0, max: 1023 }, Default::Nothing("all parallel links");
        /// Selects the link of this host (or a list of them); not with leaf, spine or link.
        host: Option<u32>, Kind::Integer { min: 0, max: MOST_HOSTS - 1 }, Default::Nothing("no host link");
        /// Which direction is changed; up is from host to leaf and from leaf to spine.
        direction: Direction, Kind::Words(Direction::WORDS), Default::Word("both");
        /// Rate.
        rate_gbps: Option<u64>, Kind::Rate(Zero::Refused), Default::Nothing("unchanged");
        /// Propagation delay, one way.
        delay_ns: Option<Span>, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Nothing("unchanged");
        /// Is the link up? Packets are never sent to a link that is down.
        up: Option<bool>, Kind::Bool, Default::Nothing("unchanged");
    }
}

/// A leaf-spine fabric.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSpine {
    /// Leaf switches.
    pub leaves: u32,
    /// Spine switches.
    pub spines: u32,
    /// Hosts under each leaf.
    pub hosts_per_leaf: u32,
    /// Rate of host links, bits per second.
    pub host_rate: u64,
    /// Rate of each leaf-spine link, bits per second.
    pub fabric_rate: u64,
    /// One-way delay of host links.
    pub host_delay: Span,
    /// One-way delay of leaf-spine links.
    pub fabric_delay: Span,
    /// Links per leaf and spine.
    pub parallel_links: u32,
    /// Time from arrival at a switch to its output queue.
    pub switch_latency: Span,
    /// Changes, in order.
    pub overrides: Vec<LinkOverride>,
}

impl LeafSpine {
    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.leaves * self.hosts_per_leaf
    }

    /// Most ways from leaf to leaf: a link up and a link down through each spine.
    pub fn most_ways(&self) -> u16 {
        (self.spines * self.parallel_links * self.parallel_links) as u16
    }

    /// Rate and delay of each link between hosts of two racks, as if there were no overrides.
    pub fn nominal_path(&self) -> Vec<(u64, Span)> {
        let (host, fabric) = ((self.host_rate, self.host_delay), (self.fabric_rate, self.fabric_delay));
        let at_switch = |(rate, delay): (u64, Span)| (rate, delay + self.switch_latency);
        vec![at_switch(host), at_switch(fabric), at_switch(fabric), host]
    }

    /// The shortest delay that any link can have.
    pub fn shortest_delay(&self) -> Span {
        let overridden = self.overrides.iter().filter_map(|change| change.change.delay);
        overridden.fold(self.host_delay.min(self.fabric_delay), Span::min)
    }
}

/// A change to the links it selects.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOverride {
    /// Fabric links of this leaf.
    pub leaf: Option<u32>,
    /// Fabric links of this spine.
    pub spine: Option<u32>,
    /// Parallel link of this number.
    pub link: Option<u32>,
    /// The link of this host.
    pub host: Option<u32>,
    /// The change to them.
    pub change: Change,
}

/// Reads `[topology]` of this kind; `defaults` are the preset's.
pub(super) fn read(
    given: &Map<String, Value>,
    defaults: Map<String, Value>,
) -> Result<(LeafSpine, TxTimeRounding, Value), SpecError> {
    let mut reader = Reader::new("topology", LeafSpineKeys::KEYS, given)?.with_defaults(defaults);
    let keys = LeafSpineKeys::read(&mut reader)?;
    check_size(&keys, &reader)?;
    let mut fabric = LeafSpine {
        leaves: keys.leaves,
        spines: keys.spines,
        hosts_per_leaf: keys.hosts_per_leaf,
        host_rate: keys.host_rate_gbps,
        fabric_rate: keys.fabric_rate_gbps,
        host_delay: keys.host_delay_ns,
        fabric_delay: keys.fabric_delay_ns,
        parallel_links: keys.parallel_links,
        switch_latency: keys.switch_latency_ns,
        overrides: Vec::with_capacity(keys.overrides.len()),
    };
    let mut resolved = Vec::with_capacity(keys.overrides.len());
    for (index, value) in keys.overrides.iter().enumerate() {
        let path = format!("topology.override[{index}]");
        for value in one_by_one(&path, value, &["leaf", "spine", "link", "host"])? {
            let (change, told) = read_override(index, &value, &fabric)?;
            fabric.overrides.push(change);
            resolved.push(told);
        }
    }
    reader.set_resolved("override", Value::Array(resolved));
    check_isolated(&fabric)?;
    Ok((fabric, keys.tx_time_rounding, reader.finish()))
}

fn check_size(keys: &LeafSpineKeys, reader: &Reader<'_>) -> Result<(), SpecError> {
    let [leaves, spines, hosts, parallel] =
        [keys.leaves, keys.spines, keys.hosts_per_leaf, keys.parallel_links].map(u64::from);
    if leaves * hosts > MOST_HOSTS {
        return Err(
            reader.refuse("hosts_per_leaf", format!("at most {MOST_HOSTS} hosts on the {leaves} leaves together"))
        );
    }
    let ports = (hosts + spines * parallel).max(leaves * parallel);
    if ports > MOST_PORTS {
        return Err(
            reader.refuse("parallel_links", format!("at most {MOST_PORTS} ports per switch; this makes {ports}"))
        );
    }
    let cables = leaves * spines * parallel;
    if cables > MOST_CABLES {
        let allowed = format!("at most {MOST_CABLES} links between leaves and spines; this makes {cables}");
        return Err(reader.refuse("spines", allowed));
    }
    let ways = spines * parallel * parallel;
    if ways > MOST_WAYS {
        let allowed = format!("at most {MOST_WAYS} paths between two leaves; this makes {ways}");
        return Err(reader.refuse("parallel_links", allowed));
    }
    Ok(())
}

fn read_override(entry: usize, value: &Value, fabric: &LeafSpine) -> Result<(LinkOverride, Value), SpecError> {
    let path = format!("topology.override[{entry}]");
    let table = value.as_object().ok_or_else(|| SpecError::new(&*path, value, "a table of selectors and changes"))?;
    let mut reader = Reader::new(&path, OverrideKeys::KEYS, table)?;
    let keys = OverrideKeys::read(&mut reader)?;
    let change = Change { direction: keys.direction, rate: keys.rate_gbps, delay: keys.delay_ns, up: keys.up, entry };
    let selectors = [
        ("leaf", keys.leaf, fabric.leaves),
        ("spine", keys.spine, fabric.spines),
        ("link", keys.link, fabric.parallel_links),
        ("host", keys.host, fabric.hosts()),
    ];
    change.check(&reader, value, selectors, |name| name)?;
    let selected = LinkOverride { leaf: keys.leaf, spine: keys.spine, link: keys.link, host: keys.host, change };
    Ok((selected, reader.finish()))
}

/// Refuses a host or a leaf (where there are others) that is cut off in one direction. Whether two leaves reach each
/// other through a common spine is checked where routes are made.
fn check_isolated(fabric: &LeafSpine) -> Result<(), SpecError> {
    for change in fabric.overrides.iter().filter(|change| change.change.up == Some(false)) {
        let cut = |what: String| {
            let key = format!("topology.override[{}].up", change.change.entry);
            Err(SpecError::new(key, &Value::Bool(false), format!("every host and leaf to remain reachable; {what}")))
        };
        for direction in [Direction::Up, Direction::Down] {
            if !direction_is_in(direction, change.change.direction) {
                continue;
            }
            if let Some(host) = change.host
                && !is_up(fabric, direction, |other| other.host == Some(host))
            {
                return cut(format!("this cuts off host {host} ({})", direction.word()));
            }
            let leaves = match change.leaf {
                Some(leaf) => leaf..leaf + 1,
                None => 0..fabric.leaves,
            };
            for leaf in leaves.filter(|_| change.host.is_none() && fabric.leaves > 1) {
                if !any_fabric_link_up(fabric, direction, leaf) {
                    return cut(format!("the overrides leave leaf {leaf} without a working link {}", direction.word()));
                }
            }
        }
    }
    Ok(())
}

fn any_fabric_link_up(fabric: &LeafSpine, direction: Direction, leaf: u32) -> bool {
    (0..fabric.spines).any(|spine| {
        (0..fabric.parallel_links).any(|link| {
            is_up(fabric, direction, |change| {
                change.host.is_none()
                    && change.leaf.is_none_or(|given| given == leaf)
                    && change.spine.is_none_or(|given| given == spine)
                    && change.link.is_none_or(|given| given == link)
            })
        })
    })
}

/// Whether a link is up by the last override that selects it.
fn is_up(fabric: &LeafSpine, direction: Direction, selects: impl Fn(&LinkOverride) -> bool) -> bool {
    let words = fabric.overrides.iter().rev().filter(|change| direction_is_in(direction, change.change.direction));
    words.filter(|change| selects(change)).find_map(|change| change.change.up).unwrap_or(true)
}

fn direction_is_in(direction: Direction, given: Direction) -> bool {
    given == Direction::Both || given == direction
}
