//! Nodes by name, as in reports and specs.

use super::Topology;
use super::spec::some_of;
use crate::ids::NodeId;
use crate::keys::SpecError;
use serde_json::json;
use std::collections::BTreeMap;

/// The names of the nodes of a fabric.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    topology: &'a Topology,
    by_name: BTreeMap<String, NodeId>,
}

impl Names<'_> {
    /// Creates the names of this fabric.
    pub(crate) fn of(topology: &Topology) -> Names<'_> {
        Names { topology, by_name: topology.node_ids().map(|node| (topology.node_name(node), node)).collect() }
    }

    /// The node of this name.
    pub(crate) fn get(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// Returns the node that the value `name` of a key refers to.
    ///
    /// # Errors
    /// There is none; the message lists the existing ones, and likely intentions.
    pub(crate) fn find(&self, key: impl Fn() -> String, name: &str) -> Result<NodeId, SpecError> {
        self.get(name).ok_or_else(|| {
            if self.topology.has_given_names() {
                return self.none_of_given(key(), name);
            }
            let tiers = self.tiers();
            let ranges = tiers.iter().map(|(tier, first, last)| match first == last {
                true => format!("{tier}{first}"),
                false => format!("{tier}{first} to {tier}{last}"),
            });
            let allowed = format!("the name of a node: {}", ranges.collect::<Vec<_>>().join(", "));
            let error = SpecError::new(key(), &json!(name), allowed);
            match meant(name, &tiers).filter(|meant| self.by_name.contains_key(meant)) {
                Some(meant) => error.hint(format!("did you mean \"{meant}\"?")),
                None => error.did_you_mean(name, self.by_name.keys().map(String::as_str)),
            }
        })
    }

    /// The error that no node was given this name.
    fn none_of_given(&self, key: String, name: &str) -> SpecError {
        let names: Vec<String> = self.topology.node_ids().map(|node| self.topology.node_name(node)).collect();
        let each = || names.iter().map(String::as_str);
        SpecError::new(key, &json!(name), format!("the name of a node: {}", some_of(each()))).did_you_mean(name, each())
    }

    /// The name of each tier's nodes, and their first and last numbers.
    fn tiers(&self) -> Vec<(String, u32, u32)> {
        let mut tiers: Vec<(String, u32, u32)> = Vec::new();
        for node in self.topology.node_ids() {
            let name = self.topology.node_name(node);
            let (word, number) = split(&name);
            let number = number.unwrap_or(0);
            match tiers.last_mut().filter(|(tier, ..)| tier == word) {
                Some((_, first, last)) => (*first, *last) = ((*first).min(number), (*last).max(number)),
                None => tiers.push((word.into(), number, number)),
            }
        }
        tiers
    }
}

/// A name as a word and a number.
fn split(name: &str) -> (&str, Option<u32>) {
    let (word, digits) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    (word, digits.parse().ok())
}

/// The name probably meant by a part of it, by another word for its tier, or with a number beyond the last.
fn meant(name: &str, tiers: &[(String, u32, u32)]) -> Option<String> {
    const OTHER_WORDS: [(&str, &str); 8] = [
        ("tor", "leaf"),
        ("edge", "leaf"),
        ("rack", "leaf"),
        ("server", "host"),
        ("node", "host"),
        ("middle", "aggregation"),
        ("top", "core"),
        ("super_spine", "core"),
    ];
    let plain = name.to_ascii_lowercase();
    let (word, number) = split(&plain);
    let word = word.trim_end_matches(['-', '_', ' ']);
    let word = OTHER_WORDS.iter().find(|(other, _)| *other == word).map_or(word, |(_, own)| own);
    let mut fits = tiers.iter().filter(|(tier, ..)| !word.is_empty() && tier.starts_with(word));
    let ((tier, first, last), None) = (fits.next()?, fits.next()) else { return None };
    Some(format!("{tier}{}", number?.clamp(*first, *last)))
}
