//! `auto`: derived values, where the spec or a preset asks for them.

use super::error::moved;
use serde_json::{Value, json};

/// The word of a spec.
pub(crate) const AUTO: &str = "auto";

/// A derived value.
#[derive(Clone, Debug, PartialEq)]
pub struct Auto {
    /// The key, with its table.
    pub key: String,
    /// The value it resolved to.
    pub value: Value,
    /// How it was derived.
    pub how: String,
}

impl Auto {
    /// The same of a table that stands in place of another: keys of `table` are those of `path`.
    pub(crate) fn moved(self, table: &str, path: &str) -> Auto {
        Auto { key: moved(&self.key, table, path), ..self }
    }

    /// Returns it in the form of reports.
    pub fn json(&self) -> Value {
        json!({"key": self.key, "value": self.value, "how": self.how})
    }
}

/// Values derived for keys of a table: name, value and how.
pub(crate) type Autos = Vec<(&'static str, Value, String)>;
