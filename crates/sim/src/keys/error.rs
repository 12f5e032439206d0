//! The error when a spec is refused.

use core::fmt;

use serde_json::Value;

/// The value of a key that was not given.
const NOTHING: &str = "(nothing)";
/// Longer values are cut in messages, so that an error stays on one screen.
const LONGEST_VALUE: usize = 200;

/// Longest name of an entry that a hint shows whole.
const LONGEST_NAMED: usize = 40;

/// A spec was refused: the key, its value, and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Path of the key, such as `topology.override[1].leaf`.
    pub key: String,
    /// The value given, as JSON; `(nothing)` if the key is missing.
    pub value: String,
    /// The allowed values, worded to follow "expected".
    pub allowed: String,
    /// The probable intention, or the reason.
    pub hint: Option<String>,
    /// The scheme does not fit this fabric, and no explicit setting caused that. Then a comparison can continue without
    /// it.
    pub unserved: bool,
    /// Its table has no key of this name, nor of one like it.
    undeclared: bool,
}

impl SpecError {
    /// `key` was given `value`.
    pub(crate) fn new(key: impl Into<String>, value: &Value, allowed: impl Into<String>) -> SpecError {
        SpecError::said(key, shown(value), allowed)
    }

    /// `key` is needed and was not given.
    pub(crate) fn missing(key: impl Into<String>, allowed: impl Into<String>) -> SpecError {
        SpecError::said(key, NOTHING, allowed)
    }

    /// The `value` that `key` resolved to is given in words, not as JSON.
    pub fn said(key: impl Into<String>, value: impl Into<String>, allowed: impl Into<String>) -> SpecError {
        SpecError {
            key: key.into(),
            value: value.into(),
            allowed: allowed.into(),
            hint: None,
            unserved: false,
            undeclared: false,
        }
    }

    /// Adds a hint.
    pub fn hint(self, hint: impl Into<String>) -> SpecError {
        SpecError { hint: Some(hint.into()), ..self }
    }

    /// Names the entry of the traffic it is about, where there are `several`: its number means little to people.
    pub(crate) fn of_entry(self, number: usize, name: &str, several: usize) -> SpecError {
        if several < 2 {
            return self;
        }
        // A name that is refused may be anything.
        let which = format!("traffic[{number}] is {:?}", name.chars().take(LONGEST_NAMED).collect::<String>());
        match &self.hint {
            Some(hint) => SpecError { hint: Some(format!("{hint}; {which}")), ..self },
            None => self.hint(which),
        }
    }

    /// The same about a table that stands in place of another: keys of `table` are those of `path`.
    pub(crate) fn moved(self, table: &str, path: &str) -> SpecError {
        SpecError { key: moved(&self.key, table, path), ..self }
    }

    /// Marks it as a scheme that cannot serve this fabric, if that is the case.
    pub(crate) fn unserved_if(self, unserved: bool) -> SpecError {
        SpecError { unserved, ..self }
    }

    /// Marked as one about a key that its table does not have.
    pub(crate) fn undeclared(self) -> SpecError {
        SpecError { undeclared: true, ..self }
    }

    /// Adds the tables that have a key of this name, if its own table has not.
    pub(crate) fn with_tables(self, tables_with: impl Fn(&str) -> Vec<String>) -> SpecError {
        let name = self.key.rsplit('.').next().unwrap_or(&self.key);
        let tables = if self.undeclared { tables_with(name) } else { Vec::new() };
        if tables.is_empty() {
            return self;
        }
        let hint = format!("{name} is a key of {}", tables.join(", "));
        self.hint(hint)
    }

    /// Asks whether the nearest of `options` was meant, if one is near.
    pub(crate) fn did_you_mean<'a>(self, word: &str, options: impl IntoIterator<Item = &'a str>) -> SpecError {
        match nearest(word, options) {
            Some(option) => self.hint(format!("did you mean \"{option}\"?")),
            None => self,
        }
    }
}

/// The name of a key of `table`, where `path` stands in its place.
pub(super) fn moved(key: &str, table: &str, path: &str) -> String {
    match key.strip_prefix(table) {
        Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("{path}{rest}"),
        _ => key.into(),
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value == NOTHING {
            write!(f, "{} is missing: expected {}", self.key, self.allowed)?;
        } else {
            write!(f, "{} = {}: expected {}", self.key, self.value, self.allowed)?;
        }
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SpecError {}

/// A value as JSON on one line, cut if it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST_VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Words that people use, and the names here.
const CALLED: [(&str, &str); 8] = [
    ("workload", "cdf"),
    ("distribution", "cdf"),
    ("cc", "congestion_control"),
    ("bandwidth", "host_rate_gbps"),
    ("latency", "host_delay_ns"),
    ("size", "size_bytes"),
    ("parameters", "params"),
    ("duration", "duration_us"),
];

/// Returns the option that `word` means, or whose spelling comes nearest to it, if one comes near.
pub(crate) fn nearest<'a>(word: &str, options: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let called = |option: &str| CALLED.contains(&(word.as_str(), option));
    let closeness = |option: &str| {
        if called(option) {
            return 1.0;
        }
        let option = option.to_ascii_lowercase();
        // Half a name (`host_rate`, `at`) and a misspelling (`hostrate_gbps`) are both near.
        let rest = option.strip_prefix(&word);
        let begins = if rest.is_some_and(|rest| word.len() >= 3 || rest.starts_with('_')) { 0.9 } else { 0.0 };
        strsim::normalized_damerau_levenshtein(&word, &option).max(begins)
    };
    let mut best = (0.5, None);
    for option in options {
        let near = closeness(option);
        if near > best.0 {
            best = (near, Some(option));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_spellings() {
        let near = |word: &str, options: &[&'static str]| nearest(word, options.iter().copied());
        assert_eq!(near("leafs", &["leaves", "spines"]), Some("leaves"));
        assert_eq!(near("host_rate", &["host_rate_gbps", "host_delay_ns"]), Some("host_rate_gbps"));
        assert_eq!(near("ECMP", &["rps", "ecmp"]), Some("ecmp"));
        assert_eq!(near("at", &["rate_gbps", "at_us"]), Some("at_us"));
        assert_eq!(near("colour", &["leaves", "spines"]), None);
        assert_eq!(near("workload", &["load", "cdf"]), Some("cdf"), "what it is called elsewhere");
    }
}
