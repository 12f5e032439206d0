//! `names` of a graph: the names of its nodes.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::keys::{Reader, SpecError, is_printable};

/// Maximum length of a name.
const LONGEST_NAME: usize = 60;
/// Maximum number of names that an error about a name lists.
const TOLD: usize = 6;
pub(super) const NAMES: &str = "a list of names, one for each node, hosts first";
const NAME: &str = "a name of 1 to 60 printable characters, with no blank at either end, no # and no ->";

/// The names of the nodes of a graph, and the node of each name.
pub(super) struct NodeNames<'a> {
    list: &'a [String],
    numbers: BTreeMap<&'a str, u32>,
}

/// Reads the names of hosts and switches; if none are given, the list is empty, and nodes are named after their numbers.
///
/// # Errors
/// There are too few or too many names, reports could not print one, or two are the same.
pub(super) fn read(given: Option<&[Value]>, hosts: u32, switches: u32) -> Result<Vec<String>, SpecError> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let nodes = hosts as usize + switches as usize;
    if given.len() != nodes {
        let allowed = format!("{nodes} names, one for each of {hosts} hosts and then {switches} switches");
        return Err(SpecError::said("topology.names", format!("{} names", given.len()), allowed));
    }
    let mut seen = BTreeMap::new();
    for (node, value) in given.iter().enumerate() {
        let path = || format!("topology.names[{node}]");
        let name = value.as_str().filter(|name| is_fine(name)).ok_or_else(|| SpecError::new(path(), value, NAME))?;
        if let Some(other) = seen.insert(name, node) {
            let allowed = format!("a name that no other node has; names[{other}] is the same");
            return Err(SpecError::new(path(), value, allowed));
        }
    }
    Ok(given.iter().filter_map(Value::as_str).map(String::from).collect())
}

/// Whether reports can print a name, and distinguish it from the name of a link.
fn is_fine(name: &str) -> bool {
    let length = name.chars().count();
    let plain = name.chars().all(|c| is_printable(c) && c != '#') && !name.contains("->");
    (1..=LONGEST_NAME).contains(&length) && name.trim() == name && plain
}

/// The first of some names, and the number of the others.
pub(in crate::topology) fn some_of<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let all = names.len();
    let first: Vec<&str> = names.take(if all > TOLD + 1 { TOLD } else { all }).collect();
    match all - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

impl<'a> NodeNames<'a> {
    /// Takes the names in the order of the nodes' numbers.
    pub(super) fn new(list: &'a [String]) -> NodeNames<'a> {
        NodeNames { list, numbers: (0..).zip(list).map(|(number, name)| (name.as_str(), number)).collect() }
    }

    /// The same table of a spec, with the numbers of nodes where `keys` have names.
    ///
    /// # Errors
    /// No node has such a name.
    pub(super) fn numbered(
        &self,
        path: &str,
        mut table: Map<String, Value>,
        keys: &[&str],
    ) -> Result<Map<String, Value>, SpecError> {
        for &key in keys {
            if let Some(value) = table.get_mut(key)
                && let Some(name) = value.as_str()
            {
                *value = self.find(&format!("{path}.{key}"), name)?.into();
            }
        }
        Ok(table)
    }

    fn find(&self, path: &str, name: &str) -> Result<u32, SpecError> {
        if self.list.is_empty() {
            let hint = "nodes have names where topology.names gives them";
            return Err(SpecError::new(path, &name.into(), "the number of a node").hint(hint));
        }
        self.numbers.get(name).copied().ok_or_else(|| {
            let names = || self.list.iter().map(String::as_str);
            let allowed = format!("the number or the name of a node: {}", some_of(names()));
            SpecError::new(path, &name.into(), allowed).did_you_mean(name, names())
        })
    }

    /// A node as errors name it: by its name, or else by its number.
    pub(super) fn of(&self, node: u32) -> String {
        self.list.get(node as usize).map_or_else(|| node.to_string(), |name| format!("\"{name}\""))
    }

    /// Several nodes as errors name them.
    pub(super) fn list(&self, nodes: &[u32]) -> String {
        format!("[{}]", nodes.iter().map(|&node| self.of(node)).collect::<Vec<_>>().join(", "))
    }

    /// The error that `key` of a table names this node.
    pub(super) fn refuse(&self, reader: &Reader<'_>, key: &str, node: u32, allowed: impl Into<String>) -> SpecError {
        match self.list.get(node as usize) {
            Some(name) => SpecError::new(reader.path_of(key), &name.as_str().into(), allowed),
            None => reader.refuse(key, allowed),
        }
    }
}
