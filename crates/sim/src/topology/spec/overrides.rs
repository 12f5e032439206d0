//! `[[topology.override]]`: the part common to all kinds of fabric.

use serde_json::Value;
use spinewise_policy::Span;

use crate::keys::{Reader, SpecError, words};

words! {
    /// Direction of a link that an override changes.
    Direction {
        /// Both.
        Both = "both",
        /// Host to leaf, leaf to spine.
        Up = "up",
        /// Spine to leaf, leaf to host.
        Down = "down",
    }
}

/// The change to the links that an override selects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The directions it affects.
    pub direction: Direction,
    /// New rate, bits per second.
    pub rate: Option<u64>,
    /// New one-way delay.
    pub delay: Option<Span>,
    /// Whether it works.
    pub up: Option<bool>,
    /// The `[[topology.override]]` it comes from, counted from 0. An entry with a list expands to several changes.
    pub entry: usize,
}

/// The selectors of an override: name, number given, and how many there are. The last is the host, whose link is
/// selected by nothing else.
type Selectors = [(&'static str, Option<u32>, u32); 4];

impl Change {
    /// Refuses selectors out of range, none, or those of no link; and a change of nothing. `noun` is the name of a
    /// selector's kind.
    pub(super) fn check(
        &self,
        reader: &Reader<'_>,
        value: &Value,
        selectors: Selectors,
        noun: fn(&'static str) -> &'static str,
    ) -> Result<(), SpecError> {
        for (name, index, count) in selectors {
            if index.is_some_and(|index| index >= count) {
                return Err(reader.refuse(name, format!("a {} from 0 to {}", noun(name), count - 1)));
            }
        }
        let [others @ .., (_, host, _)] = selectors;
        match (others.iter().find(|(_, index, _)| index.is_some()), host) {
            (None, None) => {
                let names = others.map(|(name, ..)| name).join(", ");
                return Err(SpecError::new(reader.path(), value, format!("at least one of {names} or host")));
            }
            (Some((name, ..)), Some(_)) => {
                return Err(reader.refuse("host", format!("either host or {name}, since no link matches both")));
            }
            _ => {}
        }
        if self.rate.is_none() && self.delay.is_none() && self.up.is_none() {
            return Err(SpecError::new(reader.path(), value, "at least one of rate_gbps, delay_ns or up"));
        }
        Ok(())
    }
}

/// Maximum number of links that the lists of one override may select individually.
const MOST_SELECTED: usize = 65_536;

/// Returns the overrides that one entry expands to: where a selector is a list, one for each of its numbers.
///
/// # Errors
/// A list is empty, or lists select too many.
pub(super) fn one_by_one(path: &str, value: &Value, selectors: &[&str]) -> Result<Vec<Value>, SpecError> {
    let mut all = vec![value.clone()];
    for &name in selectors {
        let Some(list) = value.get(name).and_then(Value::as_array) else { continue };
        if list.is_empty() || all.len() * list.len() > MOST_SELECTED {
            let allowed = format!("a number, or a list of them that selects from 1 to {MOST_SELECTED} links");
            return Err(SpecError::new(format!("{path}.{name}"), &value[name], allowed));
        }
        let with = |entry: &Value, number: &Value| {
            let mut entry = entry.clone();
            entry[name] = number.clone();
            entry
        };
        all = all.iter().flat_map(|entry| list.iter().map(|number| with(entry, number))).collect();
    }
    Ok(all)
}
