//! Groups of hosts that take part in collective operations.

use serde_json::Value;

use super::HOST;
use crate::keys::{Field, Reader, SpecError, words};
use crate::topology::{Topology, TopologySpec};
use crate::workload::collective::check_group;
use crate::workload::{Members, WorkloadError};

/// The values allowed as hosts.
pub(super) const HOSTS: &str = "\"all\", a list of hosts, or a list of such lists (groups)";

words! {
    /// The hosts that form a group.
    Grouping {
        /// Consecutive hosts.
        Blocks = "blocks",
        /// Every n-th host, for n groups.
        Strided = "strided",
        /// The hosts of every n-th leaf, for n groups.
        Rails = "rails",
    }
}

/// Reads the hosts that take part. Anything not checked here is checked by
/// [`Collective::check`](crate::workload::Collective::check).
pub(super) fn read(
    reader: &mut Reader<'_>,
    hosts: &Value,
    (groups, grouping): (Option<u32>, Option<Grouping>),
    fabric: &TopologySpec,
) -> Result<Members, SpecError> {
    let Some(groups) = groups else {
        return match grouping {
            Some(_) => Err(reader.refuse("grouping", "nothing, unless groups says how many")),
            None => as_listed(reader, hosts),
        };
    };
    let chosen = match as_listed(reader, hosts)? {
        Members::All => (0..fabric.hosts()).collect(),
        Members::Groups(mut lists) if lists.len() == 1 => lists.remove(0),
        Members::Groups(lists) if lists.is_empty() => return Err(reader.refuse("hosts", HOSTS)),
        Members::Groups(_) => return Err(reader.refuse("groups", "nothing, because hosts lists the groups")),
    };
    check_group(&chosen, fabric.hosts()).map_err(|error| at_fault(reader, error))?;
    let most = chosen.len() / 2;
    if groups as usize > most {
        return Err(reader.refuse("groups", format!("at most {most}: each has two hosts or more")));
    }
    let parted = match grouping.unwrap_or(Grouping::Blocks) {
        Grouping::Blocks => blocks(&chosen, groups as usize),
        Grouping::Strided => by(&chosen, groups, |place, _| place as u32),
        Grouping::Rails => {
            let leaves = leaves(fabric)?;
            by(&chosen, groups, |_, host| leaves[host as usize])
        }
    };
    if parted.iter().any(|group| group.len() < 2) {
        let allowed = "so few that each has two hosts or more; rails are as many as leaves with hosts, at most";
        return Err(reader.refuse("groups", allowed));
    }
    Ok(Members::Groups(parted))
}

/// Consecutive hosts, in groups of which none is larger than another by more than one.
fn blocks(hosts: &[u32], groups: usize) -> Vec<Vec<u32>> {
    let first = |group: usize| group * hosts.len() / groups;
    (0..groups).map(|group| hosts[first(group)..first(group + 1)].to_vec()).collect()
}

/// Hosts by a number of each: its remainder is the group.
fn by(hosts: &[u32], groups: u32, number: impl Fn(usize, u32) -> u32) -> Vec<Vec<u32>> {
    let mut found = vec![Vec::new(); groups as usize];
    for (place, &host) in hosts.iter().enumerate() {
        found[(number(place, host) % groups) as usize].push(host);
    }
    found
}

/// Returns, for each host, the number of its leaf, counted among leaves.
fn leaves(fabric: &TopologySpec) -> Result<Vec<u32>, SpecError> {
    let topology = Topology::new(fabric)?;
    let mut known: Vec<_> = topology.host_ids().map(|host| topology.leaf(host)).collect();
    let of_hosts = known.clone();
    known.sort_unstable();
    known.dedup();
    Ok(of_hosts.iter().map(|leaf| known.partition_point(|other| other < leaf) as u32).collect())
}

/// Hosts as they are given.
fn as_listed(reader: &mut Reader<'_>, given: &Value) -> Result<Members, SpecError> {
    if given.as_str() == Some("all") {
        return Ok(Members::All);
    }
    let list = given.as_array().ok_or_else(|| reader.refuse("hosts", HOSTS))?;
    let path = reader.path_of("hosts");
    let is_flat = !list.iter().any(Value::is_array);
    let members = if is_flat && !list.is_empty() {
        let group = read_group(list, &path)?;
        reader.set_resolved("hosts", group.clone().into());
        Members::Groups(vec![group])
    } else {
        let mut groups = Vec::with_capacity(list.len());
        for (index, group) in list.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let group = group.as_array().ok_or_else(|| SpecError::new(&path, group, "a list of hosts"))?;
            groups.push(read_group(group, &path)?);
        }
        reader.set_resolved("hosts", groups.clone().into_iter().map(Value::from).collect());
        Members::Groups(groups)
    };
    Ok(members)
}

/// The error with the part of a value that is at fault, such as one host of a list.
pub(super) fn at_fault(reader: &Reader<'_>, error: WorkloadError) -> SpecError {
    SpecError::said(reader.path_of(&error.key), error.value, error.allowed)
}

/// A list of hosts.
pub(super) fn read_group(list: &[Value], path: &str) -> Result<Vec<u32>, SpecError> {
    let host = |(index, value): (usize, &Value)| {
        let plain = HOST.check(value);
        let refuse = || SpecError::new(format!("{path}[{index}]"), value, "a host, a whole number from 0");
        plain.and_then(|plain| u32::from_plain(Some(plain))).ok_or_else(refuse)
    };
    list.iter().enumerate().map(host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_parted_into_groups() {
        let hosts: Vec<u32> = (10..18).collect();
        assert_eq!(blocks(&hosts, 3), [vec![10, 11], vec![12, 13, 14], vec![15, 16, 17]]);
        assert_eq!(by(&hosts, 3, |place, _| place as u32), [vec![10, 13, 16], vec![11, 14, 17], vec![12, 15]]);
        assert_eq!(by(&hosts, 2, |_, host| host / 2), [vec![12, 13, 16, 17], vec![10, 11, 14, 15]]);
    }
}
