//! The positions of the keys of a TOML text: Python's own reader gives values, but no positions.

use pyo3::prelude::*;
use toml::de::{DeTable, DeValue};

/// The line of every key and of every item of a list, counted from 1, by its path as errors write it
/// (`topology.override[1].leaf`). Nothing if the text is not TOML.
///
/// A table has the line where it is first named, an item of an array of tables that of its header.
#[pyfunction]
pub(crate) fn toml_lines(text: &str) -> Option<Vec<(String, usize)>> {
    let table = DeTable::parse(text).ok()?;
    let breaks: Vec<usize> = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect();
    let mut places = Places { breaks, found: Vec::new() };
    places.table("", table.get_ref());
    Some(places.found)
}

struct Places {
    /// Ends of the lines, in bytes from the start of the text.
    breaks: Vec<usize>,
    found: Vec<(String, usize)>,
}

impl Places {
    fn table(&mut self, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = key.get_ref();
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            self.add(&path, key.span().start);
            self.within(&path, value.get_ref());
        }
    }

    fn within(&mut self, path: &str, value: &DeValue<'_>) {
        match value {
            DeValue::Table(table) => self.table(path, table),
            DeValue::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    let path = format!("{path}[{number}]");
                    self.add(&path, item.span().start);
                    self.within(&path, item.get_ref());
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, path: &str, at: usize) {
        self.found.push((path.to_owned(), self.breaks.partition_point(|&end| end < at) + 1));
    }
}
