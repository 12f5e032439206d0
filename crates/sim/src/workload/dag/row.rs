//! A line of a table of operations, by the names of its columns.

use super::super::list::{ListError, error, read_ns};
use crate::keys::words;

words! {
    /// A column; the first three must be there.
    Column {
        /// Name of the operation.
        Id = "id",
        /// The rank that it belongs to.
        Rank = "rank",
        /// Its action.
        Op = "op",
        /// The rank at the other end.
        Peer = "peer",
        /// Payload.
        Size = "size_bytes",
        /// The tag by which messages pair.
        Tag = "tag",
        /// The duration of a computation.
        Duration = "duration_ns",
        /// The operations that must have ended.
        Requires = "requires",
        /// The operations that must have started.
        Irequires = "irequires",
        /// The number of these that are enough.
        Needs = "needs",
        /// The unit that computes.
        Unit = "unit",
        /// The earliest start.
        Start = "start_ns",
        /// Number of its batch.
        Batch = "batch",
        /// Step of the batch.
        Step = "step",
    }
}

const COLUMNS: &[&str] = Column::WORDS;
const REQUIRED: usize = 3;

/// The positions of columns.
pub(super) struct Header {
    pub(super) places: [Option<usize>; COLUMNS.len()],
    pub(super) width: usize,
}

impl Header {
    pub(super) fn of(header: &csv::StringRecord) -> Result<Header, ListError> {
        let mut found = Header { places: [None; COLUMNS.len()], width: header.len() };
        for (place, name) in header.iter().enumerate() {
            let slot = match COLUMNS.iter().position(|column| *column == name) {
                Some(at) => &mut found.places[at],
                None => return Err(error(name, "unknown", known(name))),
            };
            if slot.replace(place).is_some() {
                return Err(error(name, "there twice", "each column once"));
            }
        }
        match (0..REQUIRED).find(|&at| found.places[at].is_none()) {
            Some(at) => Err(error(COLUMNS[at], "missing", "a header with id, rank and op")),
            None => Ok(found),
        }
    }
}

fn known(name: &str) -> String {
    let rule = format!("the columns {}", COLUMNS.join(", "));
    let closeness = |known: &str| strsim::jaro_winkler(known, name);
    match COLUMNS.iter().max_by(|a, b| closeness(a).total_cmp(&closeness(b))) {
        Some(near) if closeness(near) > 0.75 => format!("{rule}; did you mean `{near}`?"),
        _ => rule,
    }
}

/// A row by the names of its columns.
pub(super) struct Row<'a> {
    pub(super) record: &'a csv::StringRecord,
    pub(super) header: &'a Header,
}

impl<'a> Row<'a> {
    /// The field of a column, by its position in [`COLUMNS`]; none if empty.
    pub(super) fn get(&self, column: Column) -> Option<&'a str> {
        let place = self.header.places[column as usize]?;
        Some(&self.record[place]).filter(|field| !field.is_empty())
    }

    pub(super) fn number(&self, column: Column, most: u64, allowed: &str) -> Result<Option<u64>, ListError> {
        let Some(text) = self.get(column) else { return Ok(None) };
        match text.parse().ok().filter(|&number| number <= most) {
            Some(number) => Ok(Some(number)),
            None => Err(error(column.word(), text, allowed)),
        }
    }

    pub(super) fn time(&self, column: Column) -> Result<Option<u64>, ListError> {
        let Some(text) = self.get(column) else { return Ok(None) };
        let allowed = "nanoseconds, 0 or more, with up to three decimals";
        read_ns(text).map(|time| Some(time.0)).ok_or_else(|| error(column.word(), text, allowed))
    }

    pub(super) fn need<T>(&self, column: Column, value: Option<T>, of: &str) -> Result<T, ListError> {
        value.ok_or_else(|| error(column.word(), "nothing", format!("a value, since op is {of}")))
    }

    /// Refuses fields that an operation of this kind does not have.
    pub(super) fn refuse(&self, columns: &[Column], of: &str) -> Result<(), ListError> {
        match columns.iter().find_map(|&column| self.get(column).map(|text| (column, text))) {
            Some((column, text)) => Err(error(column.word(), text, format!("nothing, since op is {of}"))),
            None => Ok(()),
        }
    }
}
