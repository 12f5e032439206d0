//! Traffic of programs: operations that wait for operations, read from a table.

use serde_json::Value;
use spinewise_policy::Span;

use super::groups::{at_fault, read_group};
use super::{Traffic, read_file};
use crate::keys::{Default, Kind, Reader, SpecError, Unit, Zero, keys};
use crate::topology::TopologySpec;
use crate::workload::dag::{Dag, Local, Table};
use crate::workload::{MOST_FLOWS, Workload};

const HOSTS: &str = "\"all\" (rank r is on host r), or a list with the host of each rank";
const FILE: &str = "a CSV file of operations, each of which may wait for others";

/// Digits of a digest.
const DIGITS: usize = 16;

keys! {
    /// `[[traffic]]` of kind `dag`.
    DagKeys {
        /// A CSV file with one operation per line; its columns are id, rank, op, peer, size_bytes, tag, duration_ns,
        /// requires, irequires, needs, unit, start_ns, batch and step.
        file: String, Kind::Text("the path of a file"), Default::Required;
        /// Digest of the file: written to the resolved spec, and checked if given.
        file_digest: Option<String>, Kind::Text("16 hexadecimal digits"), Default::Nothing("not checked");
        /// The host of each rank, in the order of ranks; several ranks may share one.
        hosts: Value, Kind::Either(HOSTS), Default::Word("all");
        /// Ranks of each server, counted from rank 0 on. Ranks of one server send to each other without the network.
        local_ranks: Option<u32>, Kind::Integer { min: 1, max: MOST_FLOWS }, Default::Nothing("only ranks on the same \
                                                                                               host");
        /// How fast each rank sends to others on its server or host, one message after another.
        local_rate_gbps: Option<u64>, Kind::Rate(Zero::Refused), Default::Nothing("needed if ranks share a host or server");
        /// From sending the last byte of such a message to its arrival; above 0 if a server has several hosts.
        local_delay_ns: Span, Kind::Time(Unit::Nanoseconds, Zero::Allowed), Default::Number(0.0);
    }
}

pub(super) fn read_dag(reader: &mut Reader<'_>, fabric: &TopologySpec) -> Result<Traffic, SpecError> {
    let keys = DagKeys::read(reader)?;
    if keys.file_digest.is_some_and(|digest| digest.len() != DIGITS) {
        return Err(reader.refuse("file_digest", "16 hexadecimal digits"));
    }
    let hosts = match keys.hosts.as_str() {
        Some("all") => (0..fabric.hosts()).collect(),
        _ => {
            let list = keys.hosts.as_array().ok_or_else(|| reader.refuse("hosts", HOSTS))?;
            let hosts = read_group(list, &reader.path_of("hosts"))?;
            reader.set_resolved("hosts", hosts.clone().into());
            hosts
        }
    };
    let local = match (keys.local_rate_gbps, keys.local_ranks) {
        (Some(rate), ranks) => Some(Local { ranks: ranks.unwrap_or(0), rate, delay: keys.local_delay_ns }),
        (None, Some(_)) => return Err(reader.refuse("local_rate_gbps", "a rate, since local_ranks is given")),
        (None, None) if keys.local_delay_ns > Span::ZERO => {
            return Err(reader.refuse("local_rate_gbps", "a rate, since local_delay_ns is given"));
        }
        (None, None) => None,
    };
    let text = read_file(reader, "file", &keys.file, "file_digest")?;
    let table = Table::from_csv(&text).map_err(|error| reader.refuse("file", FILE).hint(error.to_string()))?;
    if table.sends() == 0 {
        return Err(reader.refuse("file", FILE).hint("it sends nothing"));
    }
    let dag = Dag::new(table, hosts, local, fabric.hosts()).map_err(|error| at_fault(reader, error))?;
    Ok(Traffic::Transported(Workload::Dag(dag)))
}
