//! Traffic that is given: lists of flows, permutations, incast, UDP sources.

use serde_json::Value;
use spinewise_policy::{Span, Time};

use super::{HOST, Traffic, UdpFlow, check_host, read_file};
use crate::keys::{Default, Kind, LARGEST_EXACT, Reader, SpecError, Unit, Zero, keys};
use crate::topology::TopologySpec;
use crate::transport::{MOST_PACKET_BYTES, UdpConfig};
use crate::workload::{FlowList, Incast, ListedFlow, MOST_FLOWS, Permutation, Senders, Workload};

const MICROSECONDS: Kind = Kind::Time(Unit::Microseconds, Zero::Allowed);
const SIZE: Kind = Kind::Integer { min: 1, max: LARGEST_EXACT };
const PACKET: Kind = Kind::Integer { min: 1, max: MOST_PACKET_BYTES as u64 };
const REPEAT: Kind = Kind::Integer { min: 1, max: MOST_FLOWS };
const SENDERS: &str = "a number of hosts, or a list of hosts without the receiver";

keys! {
    /// `[[traffic]]` of kind `flows`.
    ListKeys {
        /// A CSV file with the columns src, dst, size_bytes and start_ns, and also batch if there are batches.
        file: Option<String>, Kind::Text("the path of a file"), Default::Nothing("list is used");
        /// Digest of the file: written to the resolved spec, and checked if given.
        file_digest: Option<String>, Kind::Text("16 hexadecimal digits"), Default::Nothing("not checked");
        /// The flows themselves, as tables.
        list: Option<Vec<Value>>, Kind::List("a list of tables with src, dst, size_bytes, start_ns and batch"),
            Default::Nothing("file is used");
        /// How often each flow is sent: again once the previous one has been acknowledged in full.
        rounds: u32, REPEAT, Default::Number(1.0);
        /// From that acknowledgement to the next start.
        gap_us: Span, MICROSECONDS, Default::Number(0.0);
    }
}

keys! {
    /// An entry of `list` in traffic of kind `flows`.
    FlowKeys {
        /// Sending host.
        src: u32, HOST, Default::Required;
        /// Receiving host.
        dst: u32, HOST, Default::Required;
        /// Payload.
        size_bytes: u64, SIZE, Default::Required;
        /// When it starts.
        start_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Number(0.0);
        /// Flows of one batch share a completion time, like those of a collective operation; 0: a flow on its own.
        batch: u32, Kind::Integer { min: 0, max: MOST_FLOWS }, Default::Number(0.0);
    }
}

keys! {
    /// `[[traffic]]` of kind `permutation`.
    PermutationKeys {
        /// Size of each flow.
        size_bytes: u64, SIZE, Default::Required;
        /// When the first round starts.
        start_us: Span, MICROSECONDS, Default::Number(0.0);
        /// Must every receiver be in another rack than its sender?
        inter_rack: bool, Kind::Bool, Default::Bool(true);
        /// Rounds.
        repeat: u32, REPEAT, Default::Number(1.0);
        /// From the start of one round to the start of the next; needs repeat.
        period_us: Span, MICROSECONDS, Default::Number(0.0);
    }
}

keys! {
    /// `[[traffic]]` of kind `incast`.
    IncastKeys {
        /// The host they send to.
        receiver: u32, HOST, Default::Required;
        /// How many hosts send (drawn at random once), or which.
        senders: Value, Kind::Either(SENDERS), Default::Required;
        /// Size of each flow.
        size_bytes: u64, SIZE, Default::Required;
        /// When the first round starts.
        start_us: Span, MICROSECONDS, Default::Number(0.0);
        /// Rounds.
        repeat: u32, REPEAT, Default::Number(1.0);
        /// From the start of one round to the start of the next; needs repeat.
        period_us: Span, MICROSECONDS, Default::Number(0.0);
    }
}

keys! {
    /// `[[traffic]]` of kind `udp`.
    UdpKeys {
        /// Sending host.
        src: u32, HOST, Default::Required;
        /// Receiving host.
        dst: u32, HOST, Default::Required;
        /// Size of a packet on the wire, headers included.
        packet_bytes: u32, PACKET, Default::Number(1500.0);
        /// Rates and when they take effect, as tables with at_us and rate_gbps.
        schedule: Vec<Value>, Kind::List("a list of tables with at_us and rate_gbps"), Default::Required;
        /// Total bytes on the wire; the last packet is short if they do not divide evenly.
        size_bytes: Option<u64>, SIZE, Default::Nothing("no limit");
        /// No packets are generated from this time on; those waiting at the NIC still leave.
        end_us: Option<Span>, Kind::Time(Unit::Microseconds, Zero::Refused), Default::Nothing("no end");
    }
}

keys! {
    /// An entry of `schedule` in traffic of kind `udp`.
    StepKeys {
        /// When this rate takes effect.
        at_us: Span, MICROSECONDS, Default::Number(0.0);
        /// Bytes on the wire per time; 0 stops.
        rate_gbps: u64, Kind::Rate(Zero::Allowed), Default::Required;
    }
}

pub(super) fn read_list(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = ListKeys::read(reader)?;
    if keys.file.is_none() && keys.file_digest.is_some() {
        return Err(reader.refuse("file_digest", "no digest without file"));
    }
    let list = match (keys.file, keys.list) {
        (Some(path), None) => {
            let text = read_file(reader, "file", &path, "file_digest")?;
            let allowed = "a CSV file of at least one flow between the hosts of this topology";
            let read = FlowList::from_csv(&text, fabric.hosts());
            let found = read.map_err(|error| reader.refuse("file", allowed).hint(error.to_string()))?;
            if found.flows().is_empty() {
                return Err(reader.refuse("file", allowed).hint("it has only a header"));
            }
            found
        }
        (None, Some(list)) if list.is_empty() => return Err(reader.refuse("list", "a list of at least one flow")),
        (None, Some(list)) => read_flows(reader, &list, fabric)?,
        (Some(_), Some(_)) => return Err(reader.refuse("list", "either file or list, not both")),
        (None, None) => return Err(reader.refuse("file", "the path of a CSV file, or list")),
    };
    let list = list.repeated(keys.rounds, keys.gap_us).map_err(|error| reader.refuse(&error.key, error.allowed))?;
    Ok(Traffic::Transported(Workload::List(list)))
}

fn read_flows(reader: &mut Reader<'_>, list: &[Value], fabric: &TopologySpec) -> Result<FlowList, SpecError> {
    let mut flows = Vec::with_capacity(list.len());
    let mut resolved = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let path = format!("{}[{index}]", reader.path_of("list"));
        let table = value.as_object().ok_or_else(|| SpecError::new(&path, value, "a table"))?;
        let mut entry = Reader::new(&path, FlowKeys::KEYS, table)?;
        let keys = FlowKeys::read(&mut entry)?;
        check_ends(&entry, keys.src, keys.dst, fabric)?;
        let start = Time(keys.start_ns.0);
        flows.push(ListedFlow { src: keys.src, dst: keys.dst, size: keys.size_bytes, start, batch: keys.batch });
        resolved.push(entry.finish());
    }
    reader.set_resolved("list", Value::Array(resolved));
    FlowList::new(flows, fabric.hosts())
        .map_err(|error| reader.refuse("list", error.allowed.clone()).hint(error.to_string()))
}

fn check_ends(reader: &Reader<'_>, src: u32, dst: u32, fabric: &TopologySpec) -> Result<(), SpecError> {
    check_host(reader, "src", src, fabric)?;
    check_host(reader, "dst", dst, fabric)?;
    if src == dst {
        return Err(reader.refuse("dst", "a host other than src"));
    }
    Ok(())
}

pub(super) fn read_permutation(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = PermutationKeys::read(reader)?;
    if keys.inter_rack && fabric.leaves() < 2 {
        return Err(reader.refuse("inter_rack", "false, since there is only one leaf"));
    }
    if fabric.hosts() < 2 {
        return Err(reader.refuse("kind", "a topology with at least two hosts"));
    }
    check_period(reader, ("repeat", "rounds"), keys.period_us)?;
    check_repeat(reader, keys.repeat, fabric.hosts())?;
    Ok(Traffic::Transported(Workload::Permutation(Permutation {
        size: keys.size_bytes,
        start: Time(keys.start_us.0),
        inter_rack: keys.inter_rack,
        repeat: keys.repeat,
        period: keys.period_us,
    })))
}

/// A period of one round would mean nothing, and giving one suggests another intention.
/// A period needs the number of rounds, or of whatever follows each other, under this key.
pub(super) fn check_period(reader: &Reader<'_>, (key, rounds): (&str, &str), period: Span) -> Result<(), SpecError> {
    if period == Span::ZERO || reader.given(key).is_some() {
        return Ok(());
    }
    let allowed = format!("a number of {rounds} from 1 to {MOST_FLOWS}, since period_us is given");
    let hint = format!("{rounds} after the end of the run are omitted");
    Err(SpecError::missing(reader.path_of(key), allowed).hint(hint))
}

fn check_repeat(reader: &Reader<'_>, repeat: u32, flows: u32) -> Result<(), SpecError> {
    match u64::from(repeat) * u64::from(flows) > MOST_FLOWS {
        true => Err(reader.refuse("repeat", format!("at most {MOST_FLOWS} flows in total; a round makes {flows}"))),
        false => Ok(()),
    }
}

pub(super) fn read_incast(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = IncastKeys::read(reader)?;
    check_host(reader, "receiver", keys.receiver, fabric)?;
    let senders = read_senders(reader, &keys.senders, keys.receiver, fabric)?;
    let count = match &senders {
        Senders::Count(count) => *count,
        Senders::List(list) => list.len() as u32,
    };
    check_period(reader, ("repeat", "rounds"), keys.period_us)?;
    check_repeat(reader, keys.repeat, count)?;
    Ok(Traffic::Transported(Workload::Incast(Incast {
        receiver: keys.receiver,
        senders,
        size: keys.size_bytes,
        start: Time(keys.start_us.0),
        period: keys.period_us,
        repeat: keys.repeat,
    })))
}

fn read_senders(
    reader: &mut Reader<'_>,
    given: &Value,
    receiver: u32,
    fabric: &TopologySpec,
) -> Result<Senders, SpecError> {
    let hosts = u64::from(fabric.hosts());
    let whole = |value: &Value, min, max| match (Kind::Integer { min, max }).check(value) {
        Some(plain) => <u32 as crate::keys::Field>::from_plain(Some(plain)),
        None => None,
    };
    let Some(list) = given.as_array() else {
        let most = hosts - 1;
        let count = whole(given, 1, most).ok_or_else(|| {
            reader.refuse(
                "senders",
                format!("a number of hosts from 1 to {most}, or a list of hosts without the receiver"),
            )
        })?;
        reader.set_resolved("senders", count.into());
        return Ok(Senders::Count(count));
    };
    let mut senders = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let refuse =
            |allowed: String| SpecError::new(format!("{}[{index}]", reader.path_of("senders")), value, allowed);
        let host = whole(value, 0, hosts - 1).ok_or_else(|| refuse(format!("a host from 0 to {}", hosts - 1)))?;
        if host == receiver {
            return Err(refuse("a host other than the receiver".into()));
        }
        if senders.contains(&host) {
            return Err(refuse("each host once".into()));
        }
        senders.push(host);
    }
    if senders.is_empty() {
        return Err(reader.refuse("senders", SENDERS));
    }
    reader.set_resolved("senders", senders.clone().into());
    Ok(Senders::List(senders))
}

pub(super) fn read_udp(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = UdpKeys::read(reader)?;
    check_ends(reader, keys.src, keys.dst, fabric)?;
    let mut schedule: Vec<(Time, u64)> = Vec::with_capacity(keys.schedule.len());
    let mut resolved = Vec::with_capacity(keys.schedule.len());
    for (index, value) in keys.schedule.iter().enumerate() {
        let path = format!("{}[{index}]", reader.path_of("schedule"));
        let table =
            value.as_object().ok_or_else(|| SpecError::new(&path, value, "a table with at_us and rate_gbps"))?;
        let mut entry = Reader::new(&path, StepKeys::KEYS, table)?;
        let step = StepKeys::read(&mut entry)?;
        let at = Time(step.at_us.0);
        if let Some((before, _)) = schedule.last().filter(|(before, _)| *before >= at) {
            let allowed = format!("a time after that of the previous entry, {}", Span(before.0).as_us_f64());
            return Err(entry.refuse("at_us", allowed));
        }
        schedule.push((at, step.rate_gbps));
        resolved.push(entry.finish());
    }
    if schedule.iter().all(|&(_, rate)| rate == 0) {
        return Err(reader.refuse("schedule", "at least one entry with a rate above 0"));
    }
    reader.set_resolved("schedule", Value::Array(resolved));
    let config = UdpConfig {
        packet_bytes: keys.packet_bytes,
        schedule,
        size_bytes: keys.size_bytes,
        end: keys.end_us.map_or(Time::NEVER, |end| Time(end.0)),
    };
    Ok(Traffic::Udp(UdpFlow { src: keys.src, dst: keys.dst, config }))
}
