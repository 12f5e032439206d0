//! `[topology]` of kind `fat_tree`: pods of leaves and aggregation switches under cores.

use serde_json::{Map, Value};
use spinewise_policy::{Span, Tree};

use super::overrides::{Change, Direction, one_by_one};
use super::{DEFAULT_ROUNDING, KINDS, MOST_HOSTS, TxTimeRounding};
use crate::keys::{Default, Kind, Reader, SpecError, Unit, Zero, keys, tidy};
use crate::topology::Topology;

/// Maximum number of leaves, as for every kind.
const MOST_LEAVES: u64 = 4096;
/// Maximum number of pairs of a switch and a leaf: each has a route of 8 bytes.
const MOST_ROUTES: u64 = 1 << 24;
/// Maximum number of links between switches, as in a leaf-spine.
const MOST_CABLES: u64 = 1 << 17;
/// Whether leaves still reach each other is checked on reading only up to this many.
const MOST_LEAVES_AT_ONCE: u32 = 512;
const HALF: Default = Default::Nothing("k / 2");

keys! {
    /// `[topology]` of kind `fat_tree`.
    FatTreeKeys {
        /// A fat-tree of three tiers (Al-Fares et al., SIGCOMM 2008), or another Clos fabric of pods under cores.
        _kind as "kind": String, Kind::Words(KINDS), Default::Required;
        /// Ports of a switch, even: k pods of k / 2 leaves and k / 2 aggregation switches, k² / 4 cores, k³ / 4 hosts.
        /// Leaf l is in pod l / (k / 2) and has the hosts from l * hosts_per_leaf on. Uplink j of a leaf leads to
        /// aggregation switch j of its pod, uplink i of that switch to core j * (k / 2) + i, and port p of a core to
        /// pod p.
        k: u32, Kind::Integer { min: 2, max: 64 }, Default::Number(4.0);
        /// Pods.
        pods: Option<u32>, Kind::Integer { min: 1, max: 128 }, Default::Nothing("k");
        /// Leaf switches (racks) in each pod.
        leaves_per_pod: Option<u32>, Kind::Integer { min: 1, max: 128 }, HALF;
        /// Aggregation switches in each pod, and so uplinks of each leaf.
        aggregations_per_pod: Option<u32>, Kind::Integer { min: 1, max: 128 }, HALF;
        /// Uplinks of an aggregation switch: there are aggregations_per_pod times this many cores.
        cores_per_aggregation: Option<u32>, Kind::Integer { min: 1, max: 128 }, HALF;
        /// Hosts under each leaf. With more than there are aggregation switches in a pod, leaves are oversubscribed.
        hosts_per_leaf: Option<u32>, Kind::Integer { min: 1, max: 4096 }, HALF;
        /// Rate of the links between hosts and leaves.
        host_rate_gbps: u64, Kind::Rate(Zero::Refused), Default::Number(10.0);
        /// Rate of each link between a leaf and an aggregation switch.
        fabric_rate_gbps: u64, Kind::Rate(Zero::Refused), Default::Number(10.0);
        /// Rate of each link between an aggregation switch and a core.
        core_rate_gbps: Option<u64>, Kind::Rate(Zero::Refused), Default::Nothing("fabric_rate_gbps");
        /// Propagation delay of the links between hosts and leaves, one way.
        host_delay_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Number(1000.0);
        /// Propagation delay of each link between a leaf and an aggregation switch, one way.
        fabric_delay_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Number(1000.0);
        /// Propagation delay of each link between an aggregation switch and a core, one way.
        core_delay_ns: Option<Span>, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Nothing("fabric_delay_ns");
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
    /// `[[topology.override]]` of a fat-tree: changes all links that every given selector fits.
    FatTreeOverrideKeys {
        /// Selects the links of this leaf (or a list of them) to aggregation switches.
        leaf: Option<u32>, Kind::Integer { min: 0, max: MOST_LEAVES - 1 }, Default::Nothing("any leaf");
        /// Selects the links of this aggregation switch (or a list of them), to leaves and to cores.
        aggregation: Option<u32>, Kind::Integer { min: 0, max: 16_383 }, Default::Nothing("any aggregation switch");
        /// Selects the links of this core (or a list of them).
        core: Option<u32>, Kind::Integer { min: 0, max: 16_383 }, Default::Nothing("any core");
        /// Selects the link of this host (or a list of them); not with leaf, aggregation or core.
        host: Option<u32>, Kind::Integer { min: 0, max: MOST_HOSTS - 1 }, Default::Nothing("no host link");
        /// Which direction is changed; up is from host to leaf to aggregation to core.
        direction: Direction, Kind::Words(Direction::WORDS), Default::Word("both");
        /// Rate.
        rate_gbps: Option<u64>, Kind::Rate(Zero::Refused), Default::Nothing("unchanged");
        /// Propagation delay, one way.
        delay_ns: Option<Span>, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Nothing("unchanged");
        /// Is the link up? Packets are never sent to a link that is down.
        up: Option<bool>, Kind::Bool, Default::Nothing("unchanged");
    }
}

/// A Clos fabric of three tiers.
#[derive(Clone, Debug, PartialEq)]
pub struct FatTree {
    /// Pods.
    pub pods: u32,
    /// Leaf switches of a pod.
    pub leaves_per_pod: u32,
    /// Aggregation switches of a pod.
    pub aggregations_per_pod: u32,
    /// Uplinks of an aggregation switch.
    pub cores_per_aggregation: u32,
    /// Hosts under each leaf.
    pub hosts_per_leaf: u32,
    /// Rates of links at hosts, between leaves and aggregation switches, and at cores, bits per second.
    pub rates: [u64; 3],
    /// One-way delays of the same.
    pub delays: [Span; 3],
    /// Time from arrival at a switch to its output queue.
    pub switch_latency: Span,
    /// Changes, in order.
    pub overrides: Vec<FatTreeOverride>,
}

/// A change to the links it selects.
#[derive(Clone, Debug, PartialEq)]
pub struct FatTreeOverride {
    /// Links between this leaf and aggregation switches.
    pub leaf: Option<u32>,
    /// Links of this aggregation switch.
    pub aggregation: Option<u32>,
    /// Links of this core.
    pub core: Option<u32>,
    /// The link of this host.
    pub host: Option<u32>,
    /// The change to them.
    pub change: Change,
}

impl FatTree {
    /// Returns its numbering.
    pub fn numbering(&self) -> Tree {
        Tree {
            pods: self.pods,
            leaves_per_pod: self.leaves_per_pod,
            columns: self.aggregations_per_pod,
            cores_per_column: self.cores_per_aggregation,
            hosts_per_leaf: self.hosts_per_leaf,
        }
    }

    /// Rate and delay of each link between hosts of two pods, or of two racks if there is one pod, as if there were no
    /// overrides.
    pub fn nominal_path(&self) -> Vec<(u64, Span)> {
        let tier = |n: usize| (self.rates[n], self.delays[n]);
        let at_switch = |(rate, delay): (u64, Span)| (rate, delay + self.switch_latency);
        let (host, pod, core) = (tier(0), at_switch(tier(1)), at_switch(tier(2)));
        match self.pods {
            1 => vec![at_switch(host), pod, pod, host],
            _ => vec![at_switch(host), pod, core, core, pod, host],
        }
    }

    /// Number of leaves.
    pub fn leaves(&self) -> u32 {
        self.pods * self.leaves_per_pod
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.leaves() * self.hosts_per_leaf
    }

    /// Number of aggregation switches.
    pub fn aggregations(&self) -> u32 {
        self.pods * self.aggregations_per_pod
    }

    /// Number of cores.
    pub fn cores(&self) -> u32 {
        self.aggregations_per_pod * self.cores_per_aggregation
    }

    /// Most ways from leaf to leaf: one through each core; and at least the number of pods, among which a core chooses.
    pub fn most_ways(&self) -> u16 {
        let inside = if self.leaves_per_pod > 1 { self.aggregations_per_pod } else { 0 };
        let across = if self.pods > 1 { self.cores() } else { 0 };
        inside.max(across).max(self.aggregations_per_pod) as u16
    }

    /// The shortest delay that any link can have.
    pub fn shortest_delay(&self) -> Span {
        let overridden = self.overrides.iter().filter_map(|change| change.change.delay);
        overridden.chain(self.delays).min().unwrap_or(Span::ZERO)
    }
}

/// Reads `[topology]` of this kind; `defaults` are the preset's.
pub(super) fn read(
    given: &Map<String, Value>,
    defaults: Map<String, Value>,
) -> Result<(FatTree, TxTimeRounding, Value), SpecError> {
    let mut reader = Reader::new("topology", FatTreeKeys::KEYS, given)?.with_defaults(defaults);
    let keys = FatTreeKeys::read(&mut reader)?;
    if keys.k % 2 == 1 {
        return Err(reader.refuse("k", "an even number: half of the ports lead up"));
    }
    let half = keys.k / 2;
    let mut fabric = FatTree {
        pods: keys.pods.unwrap_or(keys.k),
        leaves_per_pod: keys.leaves_per_pod.unwrap_or(half),
        aggregations_per_pod: keys.aggregations_per_pod.unwrap_or(half),
        cores_per_aggregation: keys.cores_per_aggregation.unwrap_or(half),
        hosts_per_leaf: keys.hosts_per_leaf.unwrap_or(half),
        rates: [keys.host_rate_gbps, keys.fabric_rate_gbps, keys.core_rate_gbps.unwrap_or(keys.fabric_rate_gbps)],
        delays: [keys.host_delay_ns, keys.fabric_delay_ns, keys.core_delay_ns.unwrap_or(keys.fabric_delay_ns)],
        switch_latency: keys.switch_latency_ns,
        overrides: Vec::with_capacity(keys.overrides.len()),
    };
    check_size(&fabric, &reader)?;
    let counts = [
        ("pods", fabric.pods),
        ("leaves_per_pod", fabric.leaves_per_pod),
        ("aggregations_per_pod", fabric.aggregations_per_pod),
        ("cores_per_aggregation", fabric.cores_per_aggregation),
        ("hosts_per_leaf", fabric.hosts_per_leaf),
    ];
    counts.into_iter().for_each(|(name, count)| reader.set_resolved(name, count.into()));
    reader.set_resolved("core_rate_gbps", tidy(fabric.rates[2] as f64 / 1e9));
    reader.set_resolved("core_delay_ns", tidy(fabric.delays[2].0 as f64 / 1e3));
    let mut resolved = Vec::with_capacity(keys.overrides.len());
    for (index, value) in keys.overrides.iter().enumerate() {
        let path = format!("topology.override[{index}]");
        for value in one_by_one(&path, value, &["leaf", "aggregation", "core", "host"])? {
            let (change, told) = read_override(index, &value, &fabric)?;
            fabric.overrides.push(change);
            resolved.push(told);
        }
    }
    reader.set_resolved("override", Value::Array(resolved));
    if !fabric.overrides.is_empty() {
        // Whether they select anything, and whether all leaves still reach each other, shows only in the wiring. For a
        // huge fabric the latter is checked in the final build, which may be stopped.
        Topology::fat_tree(&fabric, &|| fabric.leaves() <= MOST_LEAVES_AT_ONCE)?;
    }
    Ok((fabric, keys.tx_time_rounding, reader.finish()))
}

fn check_size(fabric: &FatTree, reader: &Reader<'_>) -> Result<(), SpecError> {
    let [pods, leaves, aggregations, uplinks, hosts] = [
        fabric.pods,
        fabric.leaves_per_pod,
        fabric.aggregations_per_pod,
        fabric.cores_per_aggregation,
        fabric.hosts_per_leaf,
    ]
    .map(u64::from);
    if pods * leaves > MOST_LEAVES {
        return Err(
            reader.refuse("leaves_per_pod", format!("at most {MOST_LEAVES} leaves in the {pods} pods together"))
        );
    }
    if pods * leaves * hosts > MOST_HOSTS {
        let all = pods * leaves;
        return Err(reader.refuse("hosts_per_leaf", format!("at most {MOST_HOSTS} hosts on the {all} leaves together")));
    }
    let cables = pods * aggregations * (leaves + uplinks);
    if cables > MOST_CABLES {
        let allowed = format!("at most {MOST_CABLES} links between switches; this makes {cables}");
        return Err(reader.refuse("aggregations_per_pod", allowed));
    }
    let routes = (pods * (leaves + aggregations) + aggregations * uplinks) * pods * leaves;
    if routes > MOST_ROUTES {
        let allowed = format!("at most {MOST_ROUTES} pairs of a switch and a leaf; this makes {routes}");
        return Err(reader.refuse("pods", allowed));
    }
    Ok(())
}

fn read_override(entry: usize, value: &Value, fabric: &FatTree) -> Result<(FatTreeOverride, Value), SpecError> {
    let path = format!("topology.override[{entry}]");
    let table = value.as_object().ok_or_else(|| SpecError::new(&*path, value, "a table of selectors and changes"))?;
    let mut reader = Reader::new(&path, FatTreeOverrideKeys::KEYS, table)?;
    let keys = FatTreeOverrideKeys::read(&mut reader)?;
    let change = Change { direction: keys.direction, rate: keys.rate_gbps, delay: keys.delay_ns, up: keys.up, entry };
    let selectors = [
        ("leaf", keys.leaf, fabric.leaves()),
        ("aggregation", keys.aggregation, fabric.aggregations()),
        ("core", keys.core, fabric.cores()),
        ("host", keys.host, fabric.hosts()),
    ];
    change.check(&reader, value, selectors, |_| "number")?;
    let selected =
        FatTreeOverride { leaf: keys.leaf, aggregation: keys.aggregation, core: keys.core, host: keys.host, change };
    Ok((selected, reader.finish()))
}
