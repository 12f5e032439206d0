//! Traffic of distributed programs: remote procedure calls, and collective operations whose steps wait for each other.

use serde_json::Value;
use spinewise_policy::{Span, Time};

use super::given::check_period;
use super::groups::{self, Grouping, HOSTS, at_fault};
use super::{HOST, Traffic};
use crate::keys::{Default, Kind, LARGEST_EXACT, Reader, SpecError, Unit, Zero, keys, words};
use crate::topology::TopologySpec;
use crate::workload::{Arrivals, Collective, MOST_FLOWS, Order, Pattern, Rpc, Share, Workload};

const MICROSECONDS: Kind = Kind::Time(Unit::Microseconds, Zero::Allowed);
const SIZE: Kind = Kind::Integer { min: 1, max: LARGEST_EXACT };
const COUNT: Kind = Kind::Integer { min: 1, max: MOST_FLOWS };

keys! {
    /// `[[traffic]]` of kind `rpc`.
    RpcKeys {
        /// The host that asks.
        receiver: Option<u32>, HOST, Default::Nothing("drawn at random for each request");
        /// How many hosts answer a request.
        fan_in: u32, COUNT, Default::Required;
        /// Size of each answer.
        size_bytes: u64, SIZE, Default::Required;
        /// Size of each request, sent as a flow to every host queried, whose answer starts when the request arrives; 0
        /// = requests take no time.
        request_bytes: u64, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Number(0.0);
        /// Number of requests.
        requests: u32, COUNT, Default::Number(1.0);
        /// From one request to the next (on average, if arrivals are Poisson).
        period_us: Span, MICROSECONDS, Default::Number(0.0);
        /// How requests arrive: one per period from start_us on, or as a Poisson process.
        arrivals: ArrivalWord, Kind::Words(ArrivalWord::WORDS), Default::Word("periodic");
        /// When requests begin.
        start_us: Span, MICROSECONDS, Default::Number(0.0);
    }
}

keys! {
    /// `[[traffic]]` of kind `all_reduce`.
    AllReduceKeys {
        /// Who takes part: all hosts, some, or groups of hosts, each with its own ring.
        hosts: Value, Kind::Either(HOSTS), Default::Word("all");
        /// The number of groups into which those hosts are split, unless hosts lists the groups.
        groups: Option<u32>, COUNT, Default::Nothing("one, or those that hosts lists");
        /// Which hosts form each of n groups: consecutive hosts, like jobs that run side by side; every n-th host, so
        /// that each group spreads over the racks; or the hosts of every n-th leaf, such as the GPUs of one rail.
        grouping: Option<Grouping>, Kind::Words(Grouping::WORDS), Default::Nothing("\"blocks\"");
        /// The ring of a group: as listed (all: by number), or in a random order.
        order: OrderWord, Kind::Words(OrderWord::WORDS), Default::Word("given");
        /// Data of each host, cut into as many chunks as there are hosts; if it does not divide evenly, the first ones
        /// are a byte longer.
        size_bytes: u64, SIZE, Default::Required;
        /// Number of all-reduces, one after the other.
        rounds: u32, COUNT, Default::Number(1.0);
        /// From the end of a round at a host (all received, all sent acknowledged) to its start of the next.
        gap_us: Span, MICROSECONDS, Default::Number(0.0);
        /// When the first round starts.
        start_us: Span, MICROSECONDS, Default::Number(0.0);
    }
}

keys! {
    /// `[[traffic]]` of kind `all_to_all`.
    AllToAllKeys {
        /// Who takes part: all hosts, some, or groups of hosts, each separately.
        hosts: Value, Kind::Either(HOSTS), Default::Word("all");
        /// The number of groups into which those hosts are split, unless hosts lists the groups.
        groups: Option<u32>, COUNT, Default::Nothing("one, or those that hosts lists");
        /// Which hosts form each of n groups: consecutive hosts, like jobs that run side by side; every n-th host, so
        /// that each group spreads over the racks; or the hosts of every n-th leaf, such as the GPUs of one rail.
        grouping: Option<Grouping>, Kind::Words(Grouping::WORDS), Default::Nothing("\"blocks\"");
        /// The numbering of a group: as listed (all: by number), or in a random order.
        order: OrderWord, Kind::Words(OrderWord::WORDS), Default::Word("given");
        /// Data of each host, cut into a block for each of the others; if it does not divide evenly, the first ones are
        /// a byte longer.
        size_bytes: Option<u64>, SIZE, Default::Nothing("pair_bytes is used");
        /// Data of each host for each of the others.
        pair_bytes: Option<u64>, SIZE, Default::Nothing("size_bytes is used");
        /// Do all steps start at once?
        concurrent: bool, Kind::Bool, Default::Bool(false);
        /// Number of all-to-alls, one after the other.
        rounds: u32, COUNT, Default::Number(1.0);
        /// From the end of a round at a host (all received, all sent acknowledged) to its start of the next.
        gap_us: Span, MICROSECONDS, Default::Number(0.0);
        /// When the first round starts.
        start_us: Span, MICROSECONDS, Default::Number(0.0);
    }
}

words! {
    /// The arrival process of requests.
    ArrivalWord {
        /// One each period.
        Periodic = "periodic",
        /// A Poisson process.
        Poisson = "poisson",
    }
}

words! {
    /// The order in which hosts take part.
    OrderWord {
        /// As they are listed.
        Given = "given",
        /// A random order.
        Random = "random",
    }
}

impl OrderWord {
    fn order(self) -> Order {
        match self {
            OrderWord::Given => Order::Given,
            OrderWord::Random => Order::Random,
        }
    }
}

pub(super) fn read_rpc(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = RpcKeys::read(reader)?;
    let rpc = Rpc {
        receiver: keys.receiver,
        fan_in: keys.fan_in,
        size: keys.size_bytes,
        request_size: keys.request_bytes,
        requests: keys.requests,
        start: Time(keys.start_us.0),
        period: keys.period_us,
        arrivals: match keys.arrivals {
            ArrivalWord::Periodic => Arrivals::Periodic,
            ArrivalWord::Poisson => Arrivals::Poisson,
        },
    };
    check_period(reader, ("requests", "requests"), rpc.period)?;
    rpc.check(fabric.hosts()).map_err(|error| at_fault(reader, error))?;
    Ok(Traffic::Transported(Workload::Rpc(rpc)))
}

pub(super) fn read_all_reduce(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = AllReduceKeys::read(reader)?;
    let collective = Collective {
        pattern: Pattern::AllReduce { size: keys.size_bytes },
        members: groups::read(reader, &keys.hosts, (keys.groups, keys.grouping), fabric)?,
        order: keys.order.order(),
        start: Time(keys.start_us.0),
        rounds: keys.rounds,
        gap: keys.gap_us,
    };
    checked(reader, collective, fabric)
}

pub(super) fn read_all_to_all(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = AllToAllKeys::read(reader)?;
    let share = match (keys.size_bytes, keys.pair_bytes) {
        (Some(size), None) => Share::OfHost(size),
        (None, Some(size)) => Share::OfPair(size),
        (Some(_), Some(_)) => return Err(reader.refuse("pair_bytes", "either size_bytes or pair_bytes, not both")),
        (None, None) => return Err(reader.refuse("size_bytes", "a number of bytes, or pair_bytes")),
    };
    let collective = Collective {
        pattern: Pattern::AllToAll { share, concurrent: keys.concurrent },
        members: groups::read(reader, &keys.hosts, (keys.groups, keys.grouping), fabric)?,
        order: keys.order.order(),
        start: Time(keys.start_us.0),
        rounds: keys.rounds,
        gap: keys.gap_us,
    };
    checked(reader, collective, fabric)
}

fn checked(reader: &Reader<'_>, collective: Collective, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    collective.check(fabric.hosts()).map_err(|error| at_fault(reader, error))?;
    Ok(Traffic::Transported(Workload::Collective(collective)))
}
