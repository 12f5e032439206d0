//! Workloads: which host sends how much to which other host, and when.
//!
//! The traffic is a function of the specification and the seed alone: it does not see the scheme, the transport or the
//! engine, so two schemes are compared on the same flows. Every random choice draws from a stream for its own purpose
//! and, where hosts act independently, for its own host: what one host does never shifts what another does.

use core::fmt;

use crate::ids::HostId;
use crate::warden::{ALWAYS, GoOn};
use spinewise_policy::rng::Rng;
use spinewise_policy::time::{Span, Time};
use std::ops::Range;

pub mod builtin;
pub mod cdf;
pub mod collective;
pub mod dag;
pub mod incast;
pub mod jobs;
pub mod list;
pub mod load;
pub mod math;
pub mod on_off;
pub mod pairs;
pub mod permutation;
pub mod plan;
pub mod poisson;
pub mod rpc;

pub use builtin::{BuiltinCdf, builtins};
pub use cdf::{Cdf, CdfError};
pub use collective::{Collective, Members, Order, Pattern, Share};
pub use dag::{Dag, Programme};
pub use incast::{Incast, Senders};
pub use jobs::{Job, Jobs, Place};
pub use list::{FlowList, ListError, ListedFlow};
pub use load::{Loads, Offered};
pub use on_off::OnOff;
pub use pairs::Pairs;
pub use permutation::Permutation;
pub use plan::{Gate, Plan, Upon};
pub use poisson::{LoadOf, Poisson};
pub use rpc::{Arrivals, Rpc};

/// More flows than this from one entry are taken for a mistake in the load or the duration (they would take 3 GB).
pub const MOST_FLOWS: u64 = 100_000_000;

/// Memory per flow while a run is set up, bytes: measured at a million flows.
pub const FLOW_BYTES: u64 = 200;
/// The same for a flow that waits for others.
pub const GATED_FLOW_BYTES: u64 = 350;

/// One flow to offer to the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowSpec {
    /// The sending host.
    pub src: u32,
    /// The receiving host, never `src`.
    pub dst: u32,
    /// Payload in bytes, at least 1.
    pub size: u64,
    /// When the sender has all of it to send. For a flow behind a [`Gate`]: the earliest start, until it has started.
    pub start: Time,
    /// The `[[traffic]]` entry it belongs to, from 0.
    pub entry: u8,
    /// Priority of its data packets in switches with several data queues, 0 to 6.
    pub priority: u8,
    /// Subflows of its connection, if fewer than `transport.subflows`; 0: that many.
    pub subflows: u8,
    /// The part of its entry's [`Jobs`] it belongs to: a round and a step of it. 0 for flows that belong to none.
    pub part: u32,
}

impl FlowSpec {
    /// Returns its place in the jobs of its entry (`jobs` has one item per entry), and that job; `None` if it belongs
    /// to none.
    pub(crate) fn place(&self, jobs: &[Option<Jobs>]) -> Option<(Place, Job)> {
        let jobs = jobs[usize::from(self.entry)].as_ref()?;
        let place = jobs.place(self.part)?;
        Some((place, jobs.job(place.group)))
    }

    /// The sending host.
    #[inline(always)]
    pub fn sender(&self) -> HostId {
        HostId::new(self.src)
    }

    /// The receiving host.
    #[inline(always)]
    pub fn receiver(&self) -> HostId {
        HostId::new(self.dst)
    }
}

/// Limits on the flows drawn.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// Flows that would start at this time or later are omitted: the run has ended.
    pub until: Time,
    /// Memory that the flows may take, bytes.
    pub memory: u64,
    /// Whether drawing may continue. If not, the result is incomplete.
    pub go_on: GoOn<'a>,
}

impl Default for Bounds<'_> {
    fn default() -> Self {
        Bounds { until: Time::NEVER, memory: u64::MAX, go_on: ALWAYS }
    }
}

impl fmt::Debug for Bounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounds").field("until", &self.until).field("memory", &self.memory).finish()
    }
}

impl Bounds<'_> {
    /// Rounds started by the clock that begin before the end.
    fn rounds(&self, start: Time, period: Span, repeat: u32) -> u32 {
        match self.until.0.checked_sub(start.0) {
            None | Some(0) => 0,
            Some(_) if period == Span::ZERO => repeat,
            Some(left) => u32::try_from(left.div_ceil(period.0)).unwrap_or(u32::MAX).min(repeat),
        }
    }

    /// Refuses more flows than fit into memory, before any is drawn; each takes `bytes`.
    fn refuse_too_many(
        &self,
        key: &str,
        value: impl fmt::Display,
        flows: u64,
        bytes: u64,
    ) -> Result<(), WorkloadError> {
        let room = self.memory / bytes;
        if flows <= room.min(MOST_FLOWS) {
            return Ok(());
        }
        let allowed = match room < MOST_FLOWS {
            true => format!("at most {room} flows in total, which memory has room for; there would be about {flows}"),
            false => format!("at most {MOST_FLOWS} flows in total; there would be about {flows}"),
        };
        Err(WorkloadError::new(key, value, allowed))
    }
}

/// The workloads' knowledge of the topology.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Number of hosts.
    pub hosts: u32,
    /// The leaf of each host; one per host, each below `leaves`.
    pub leaf_of: &'a [u32],
    /// Number of leaves.
    pub leaves: u32,
    /// Nominal rate of each host's link, in bits per second, before any override; one per host.
    pub host_rates: &'a [u64],
    /// Nominal rate of all uplinks of each leaf together, in bits per second, before any override.
    pub uplink_rate_of_leaf: &'a [u64],
    /// Limits on the flows drawn.
    pub bounds: Bounds<'a>,
}

/// A value that does not fit the topology or the other values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadError {
    /// The key within the entry, such as `load`.
    pub key: String,
    /// The value given.
    pub value: String,
    /// The accepted values.
    pub allowed: String,
}

impl WorkloadError {
    /// An error about `key`.
    pub fn new(key: &str, value: impl fmt::Display, allowed: impl Into<String>) -> WorkloadError {
        WorkloadError { key: key.into(), value: value.to_string(), allowed: allowed.into() }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: allowed is {}", self.key, self.value, self.allowed)
    }
}

impl std::error::Error for WorkloadError {}

/// One source of flows: one `[[traffic]]` entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Poisson arrivals at a load, sizes from a distribution.
    Poisson(Poisson),
    /// A number of flows in bursts, with heavy-tailed sizes (source: PDLB, "Basic performance").
    OnOff(OnOff),
    /// Flows given one by one.
    List(FlowList),
    /// Every host sends to one other and receives from one other.
    Permutation(Permutation),
    /// Many hosts send to one at once.
    Incast(Incast),
    /// One host asks many, again and again.
    Rpc(Rpc),
    /// All-reduce or all-to-all, step after step.
    Collective(Collective),
    /// Operations that wait for each other.
    Dag(Dag),
}

impl Workload {
    /// The flows of this entry, sorted by start, then source, then destination, and the gates before them. In a list,
    /// flows that start at once keep their order, which determines the ports and turns of queue pairs.
    ///
    /// # Errors
    /// A value that does not fit this topology: a leaf or host that does not exist, no host to send to, a load that is
    /// not a number.
    pub fn plan(&self, seed: u64, entry: u8, places: &Places) -> Result<Plan, WorkloadError> {
        let plan = match self {
            Workload::Poisson(poisson) => Plan::free(poisson.generate(seed, entry, places)?),
            Workload::OnOff(on_off) => Plan::free(on_off.generate(seed, entry, places)?),
            Workload::List(list) => return Ok(list.generate(entry, places)?.by_start()),
            Workload::Permutation(permutation) => Plan::free(permutation.generate(seed, entry, places)?),
            Workload::Incast(incast) => Plan::free(incast.generate(seed, entry, places)?),
            Workload::Rpc(rpc) => rpc.generate(seed, entry, places)?,
            Workload::Collective(collective) => collective.generate(seed, entry, places)?,
            Workload::Dag(dag) => dag.generate(entry, places)?,
        };
        Ok(plan.sorted())
    }

    /// Returns the jobs that its flows are parts of among `hosts` hosts, if there are any.
    pub fn jobs(&self, hosts: u32) -> Option<Jobs> {
        match self {
            Workload::Poisson(_) | Workload::OnOff(_) => None,
            Workload::List(list) => list.jobs(),
            Workload::Permutation(permutation) => Some(Jobs::of_one(1, hosts, permutation.size)),
            Workload::Incast(incast) => Some(incast.jobs()),
            Workload::Rpc(rpc) => Some(rpc.jobs()),
            Workload::Collective(collective) => Some(collective.jobs(hosts)),
            Workload::Dag(dag) => dag.jobs(),
        }
    }

    /// Whether flows were omitted from the `drawn` ones because they would have started after the run has ended.
    pub fn is_cut(&self, drawn: usize, places: &Places) -> bool {
        let (drawn, until) = (drawn as u64, places.bounds.until);
        let hosts = u64::from(places.hosts);
        match self {
            Workload::Poisson(poisson) => {
                poisson.load > 0.0 && !poisson.is_limited(drawn) && until < poisson.start + poisson.duration
            }
            Workload::OnOff(on_off) => drawn < on_off.flows,
            Workload::List(list) => list.flows().iter().any(|flow| flow.start >= until),
            Workload::Permutation(permutation) => drawn < u64::from(permutation.repeat) * hosts,
            Workload::Incast(incast) => {
                places.bounds.rounds(incast.start, incast.period, incast.repeat) < incast.repeat
            }
            Workload::Rpc(rpc) => drawn < u64::from(rpc.requests) * rpc.flows_of_request(),
            Workload::Collective(collective) => collective.start >= until,
            Workload::Dag(_) => false,
        }
    }

    /// The time range in which its `planned` flows start; none if so few come at once that they have no rate.
    pub fn during(&self, planned: &[FlowSpec], places: &Places) -> Option<Range<Time>> {
        let rounds = |start: Time, period: Span, repeat: u32| {
            let rounds = places.bounds.rounds(start, period, repeat);
            load::lasts(start..start + period * u64::from(rounds), planned, places)
        };
        match self {
            Workload::Poisson(poisson) if !poisson.is_limited(planned.len() as u64) => {
                Some(poisson.start..poisson.end(&places.bounds))
            }
            Workload::Permutation(one) if one.period > Span::ZERO => rounds(one.start, one.period, one.repeat),
            Workload::Incast(one) if one.period > Span::ZERO => rounds(one.start, one.period, one.repeat),
            Workload::Rpc(one) if one.period > Span::ZERO => rounds(one.start, one.period, one.requests),
            Workload::Poisson(_)
            | Workload::Permutation(_)
            | Workload::Incast(_)
            | Workload::Rpc(_)
            | Workload::OnOff(_)
            | Workload::List(_)
            | Workload::Collective(_)
            | Workload::Dag(_) => load::starts(planned, places),
        }
    }

    /// Whether events in the network decide when its flows start. Such traffic offers no load, because a load is a
    /// rate.
    pub fn is_closed_loop(&self) -> bool {
        match self {
            Workload::Collective(_) | Workload::Dag(_) => true,
            Workload::List(list) => list.is_closed_loop(),
            Workload::Poisson(_)
            | Workload::OnOff(_)
            | Workload::Permutation(_)
            | Workload::Incast(_)
            | Workload::Rpc(_) => false,
        }
    }
}

/// The entity of a random stream: `index` (a host, a round) within this entry.
fn entity(entry: u8, index: u32) -> u64 {
    (entry as u64) << 32 | index as u64
}

/// All orders equally likely.
fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for place in (1..items.len()).rev() {
        items.swap(place, rng.below(place as u32 + 1) as usize);
    }
}

/// `count` of `items`, all choices equally likely, in the order of `items` if that is sorted.
fn draw(mut items: Vec<u32>, count: u32, rng: &mut Rng) -> Vec<u32> {
    for place in 0..count {
        let other = place + rng.below(items.len() as u32 - place);
        items.swap(place as usize, other as usize);
    }
    items.truncate(count as usize);
    items.sort_unstable();
    items
}

#[cfg(test)]
pub(crate) mod testing {
    //! A leaf-spine fabric of equal leaves for the tests of this module.

    use super::{Bounds, Places};

    /// Owns the data that [`Places`] borrows.
    pub(crate) struct Fabric {
        pub leaf_of: Vec<u32>,
        pub host_rates: Vec<u64>,
        pub uplinks: Vec<u64>,
    }

    impl Fabric {
        /// Hosts 0.. under leaf 0, the next ones under leaf 1 and so on; 10 Gbps everywhere.
        pub(crate) fn new(leaves: u32, hosts_per_leaf: u32, spines: u64) -> Fabric {
            let leaf_of: Vec<u32> = (0..leaves * hosts_per_leaf).map(|host| host / hosts_per_leaf).collect();
            let host_rates = vec![10_000_000_000; leaf_of.len()];
            Fabric { leaf_of, host_rates, uplinks: vec![spines * 10_000_000_000; leaves as usize] }
        }

        pub(crate) fn places(&self) -> Places<'_> {
            Places {
                hosts: self.leaf_of.len() as u32,
                leaf_of: &self.leaf_of,
                leaves: self.uplinks.len() as u32,
                host_rates: &self.host_rates,
                uplink_rate_of_leaf: &self.uplinks,
                bounds: Bounds::default(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Fabric;
    use super::*;
    use spinewise_policy::hash;
    use spinewise_policy::time::Span;

    fn entries() -> [Workload; 6] {
        [
            Workload::Poisson(Poisson {
                duration: Span::from_ms(5),
                ..Poisson::new(builtin::find("ali_storage").unwrap().cdf(), 0.5)
            }),
            Workload::OnOff(OnOff::default()),
            Workload::Permutation(Permutation { repeat: 3, ..Permutation::new(1_000_000) }),
            Workload::Incast(Incast { repeat: 4, ..Incast::new(3, Senders::Count(10), 20_000) }),
            Workload::Rpc(Rpc { requests: 5, request_size: 100, ..Rpc::new(7, 20_000, Span::from_us(50)) }),
            Workload::Collective(Collective {
                order: Order::Random,
                ..Collective::new(Pattern::AllReduce { size: 320_000 })
            }),
        ]
    }

    #[test]
    fn every_workload_is_sorted_valid_and_repeatable() {
        let fabric = Fabric::new(4, 8, 4);
        for (index, workload) in entries().iter().enumerate() {
            let entry = index as u8;
            let flows = workload.plan(5, entry, &fabric.places()).unwrap().flows;
            assert!(!flows.is_empty());
            assert!(flows.is_sorted_by_key(|flow| (flow.start, flow.src, flow.dst)));
            assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.src < 32 && flow.dst < 32 && flow.size > 0));
            assert!(flows.iter().all(|flow| flow.entry == entry));
            let of = |seed: u64| workload.plan(seed, entry, &fabric.places()).unwrap().flows;
            assert_eq!(flows, of(5));
            assert_ne!(flows, of(6), "the seed does nothing");
        }
    }

    /// The traffic of a specification must never change unnoticed: published results depend on it.
    #[test]
    fn traffic_is_pinned() {
        let fabric = Fabric::new(4, 8, 4);
        let digest = |workload: &Workload| {
            let flows = workload.plan(1, 0, &fabric.places()).unwrap().flows;
            flows.iter().fold(flows.len() as u64, |seen, flow| {
                [flow.src as u64, flow.dst as u64, flow.size, flow.start.0].into_iter().fold(seen, hash::mix2)
            })
        };
        let pinned = [
            15745376987578349483,
            8511131098136831202,
            3292218607712347443,
            17709876954101171442,
            8509871500111036668,
            2763860408433320763,
        ];
        assert_eq!(entries().each_ref().map(digest), pinned);
    }

    #[test]
    fn errors_read_well() {
        let error = WorkloadError::new("load", -0.5, "a finite number, 0 or more");
        assert_eq!(error.to_string(), "load = -0.5: allowed is a finite number, 0 or more");
    }
}
