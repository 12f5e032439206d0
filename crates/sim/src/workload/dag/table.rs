//! The table of operations: comma-separated values, one operation per line.

use spinewise_policy::time::{Span, Time};

use super::super::MOST_FLOWS;
use super::super::list::{ListError, error, line_of, reader_of, unreadable};
use super::names::{Index, Names};
use super::row::Column::{
    Batch, Duration, Id, Irequires, Needs, Op, Peer, Rank, Requires, Size, Start, Step, Tag, Unit,
};
use super::row::{Header, Row};
use super::{Does, Milestone, Operation};

const OPS: &str = "send, recv or calc";
/// Ranks have numbers below this.
const MOST_RANKS: u32 = 1 << 20;
const MOST_OPERATIONS: usize = MOST_FLOWS as usize;
const LARGEST_EXACT: u64 = 1 << 53;

/// Operations, their dependencies, and their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    operations: Vec<Operation>,
    names: Names,
    /// The operations that wait for `operation` to reach a milestone begin at `first[2 * operation + milestone]` and
    /// end at the next of these.
    first: Vec<u32>,
    waiting: Vec<u32>,
    ranks: u32,
    sends: u64,
    pub(super) batches: u32,
    pub(super) steps: u32,
}

/// A dependency: the operation awaited, the milestone, and the operation that waits.
type Edge = (u32, Milestone, u32);

impl Table {
    /// Reads a table whose header names `id`, `rank` and `op`, and any of the other columns, in any order. An empty
    /// field counts as absent; lines that begin with `#` are comments.
    ///
    /// # Errors
    /// With the line: a column missing, unknown or duplicate, a row of another length, a field of the wrong kind or
    /// that such an operation does not have, an id that is duplicate or unknown, one of another rank, a send without
    /// its receive or the other way round, sizes of the two that differ.
    pub fn from_csv(text: &str) -> Result<Table, ListError> {
        let (text, mut reader) = reader_of(text);
        let header = reader.headers().map_err(|problem| unreadable(&problem))?.clone();
        let header = Header::of(&header).map_err(|error| error.at(line_of(text, &header)))?;
        let mut rows = Rows::default();
        let mut row = csv::StringRecord::new();
        while reader.read_record(&mut row).map_err(|problem| unreadable(&problem))? {
            rows.add(&row, &header, || line_of(text, &row))
                .map_err(|error| if error.line == 0 { error.at(line_of(text, &row)) } else { error })?;
        }
        rows.close()
    }

    /// The operations, in the order of the file.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Number of ranks: one more than the highest.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Number of sends.
    pub fn sends(&self) -> u64 {
        self.sends
    }

    /// The name of an operation.
    pub fn name(&self, operation: u32) -> &str {
        self.names.get(operation)
    }

    /// Returns the operations that wait for an operation to reach a milestone.
    pub fn waiting(&self, operation: u32, milestone: Milestone) -> &[u32] {
        let at = 2 * operation as usize + milestone as usize;
        &self.waiting[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Folds the dependencies into a hash.
    pub fn fold(&self, start: u64, mix: impl Fn(u64, u64) -> u64) -> u64 {
        let all = self.operations.iter().fold(start, |h, operation| {
            let does = match operation.does {
                Does::Send { to, bytes } => [1, u64::from(to), bytes],
                Does::Receive { from } => [2, u64::from(from), u64::from(operation.mate)],
                Does::Compute { takes, unit } => [3, u64::from(unit), takes.0],
            };
            let own = [u64::from(operation.rank), u64::from(operation.needs), operation.start.0];
            does.into_iter().chain(own).fold(h, &mix)
        });
        self.waiting.iter().chain(&self.first).fold(all, |h, &x| mix(h, x.into()))
    }
}

/// One end of a message: its tag, and the size if it is given.
#[derive(Clone, Copy)]
struct End {
    from: u32,
    to: u32,
    tag: u64,
    operation: u32,
}

/// The rows read.
#[derive(Default)]
struct Rows {
    operations: Vec<Operation>,
    names: Names,
    lines: Vec<u32>,
    /// Names of the operations awaited, as written.
    awaited: Names,
    /// Indexed by [`Rows::awaited`]: the waiting operation, and its milestone.
    edges: Vec<(u32, Milestone)>,
    sends: Vec<End>,
    receives: Vec<End>,
    /// Sizes given by receives.
    sizes: Vec<(u32, u64)>,
    batches: u32,
    steps: u32,
}

impl Rows {
    fn add(&mut self, record: &csv::StringRecord, header: &Header, line: impl Fn() -> usize) -> Result<(), ListError> {
        if record.len() != header.width {
            let allowed = format!("{} fields, as in the header", header.width);
            return Err(error("all", format!("{} fields", record.len()), allowed));
        }
        if self.operations.len() >= MOST_OPERATIONS {
            return Err(error("id", self.operations.len(), format!("at most {MOST_OPERATIONS} operations")));
        }
        let row = Row { record, header };
        let id = row.get(Id).filter(|id| !id.contains(char::is_whitespace));
        let id =
            id.ok_or_else(|| error("id", &record[header.places[Id as usize].unwrap_or(0)], "a name without blanks"))?;
        let ranks = format!("the number of a rank, from 0 to {}", MOST_RANKS - 1);
        let rank = row.number(Rank, u64::from(MOST_RANKS - 1), &ranks)?;
        let rank = rank.ok_or_else(|| error("rank", "nothing", &*ranks))? as u32;
        let number = self.operations.len() as u32;
        let does = self.read_op(&row, number, rank, &ranks)?;
        let mut waits = 0;
        for (column, milestone) in [(Requires, Milestone::Ended), (Irequires, Milestone::Started)] {
            for name in row.get(column).unwrap_or_default().split_ascii_whitespace() {
                self.awaited.push(name);
                self.edges.push((number, milestone));
                waits += 1;
            }
        }
        let needs = row.number(Needs, waits, &format!("at most {waits}, the number it waits for"))?;
        if needs == Some(0) && waits > 0 {
            return Err(error("needs", 0, format!("from 1 to {waits}, the number it waits for")));
        }
        let [batch, step] = self.read_batch(&row)?;
        self.names.push(id);
        self.lines.push(u32::try_from(line()).unwrap_or(u32::MAX));
        let start = Time(row.time(Start)?.unwrap_or(0));
        let needs = needs.unwrap_or(waits) as u32;
        self.operations.push(Operation { rank, does, needs, start, batch, step, mate: number });
        Ok(())
    }

    /// Reads the action of an operation.
    fn read_op(&mut self, row: &Row<'_>, operation: u32, rank: u32, ranks: &str) -> Result<Does, ListError> {
        let op = row.get(Op).unwrap_or_default();
        let peer = row.number(Peer, u64::from(MOST_RANKS - 1), ranks)?.map(|peer| peer as u32);
        let size = row.number(Size, LARGEST_EXACT, "a whole number of bytes, 1 or more")?;
        let tag = row.number(Tag, u64::MAX, "a whole number, 0 or more")?.unwrap_or(0);
        if size == Some(0) {
            return Err(error("size_bytes", 0, "a whole number of bytes, 1 or more"));
        }
        match op {
            "calc" => {
                row.refuse(&[Peer, Size, Tag], op)?;
                let takes = Span(row.need(Duration, row.time(Duration)?, op)?);
                let unit = row.number(Unit, u64::from(u32::MAX), "the number of a unit, 0 or more")?;
                Ok(Does::Compute { takes, unit: unit.unwrap_or(0) as u32 })
            }
            "send" | "recv" => {
                row.refuse(&[Duration, Unit], op)?;
                let peer = row.need(Peer, peer, op)?;
                if peer == rank {
                    return Err(error("peer", peer, "another rank"));
                }
                if op == "send" {
                    self.sends.push(End { from: rank, to: peer, tag, operation });
                    return Ok(Does::Send { to: peer, bytes: row.need(Size, size, op)? });
                }
                self.receives.push(End { from: peer, to: rank, tag, operation });
                self.sizes.extend(size.map(|size| (operation, size)));
                Ok(Does::Receive { from: peer })
            }
            _ => Err(error("op", op, OPS)),
        }
    }

    fn read_batch(&mut self, row: &Row<'_>) -> Result<[u32; 2], ListError> {
        let most = format!("a whole number from 1 to {MOST_FLOWS}; 0 or nothing for none");
        let batch = row.number(Batch, MOST_FLOWS, &most)?.unwrap_or(0);
        let step = row.number(Step, MOST_FLOWS, &most)?.unwrap_or(0);
        if step > 0 && batch == 0 {
            return Err(error("step", step, "nothing, since there is no batch"));
        }
        (self.batches, self.steps) = (self.batches.max(batch as u32), self.steps.max(step as u32));
        // A part has 32 bits.
        if u64::from(self.batches) * u64::from(self.steps.max(1)) >= u64::from(u32::MAX) {
            return Err(error("step", step, "fewer than 2^32 batches times steps"));
        }
        Ok([batch as u32, step as u32])
    }

    fn close(mut self) -> Result<Table, ListError> {
        if self.operations.is_empty() {
            return Err(error("all", "only a header", "at least one operation"));
        }
        let index = Index::of(&self.names)
            .map_err(|twice| error("id", self.names.get(twice), "each id once").at(self.line(twice)))?;
        let edges = self.resolve(&index)?;
        self.match_messages()?;
        let mut first = vec![0u32; 2 * self.operations.len() + 1];
        let at = |(awaited, milestone, _): &Edge| 2 * *awaited as usize + *milestone as usize;
        edges.iter().for_each(|edge| first[at(edge) + 1] += 1);
        (1..first.len()).for_each(|n| first[n] += first[n - 1]);
        let (mut next, mut waiting) = (first.clone(), vec![0; edges.len()]);
        for edge in &edges {
            let slot = &mut next[at(edge)];
            waiting[*slot as usize] = edge.2;
            *slot += 1;
        }
        let ranks = self.operations.iter().map(|operation| operation.rank).max().unwrap_or(0) + 1;
        let Rows { operations, names, batches, steps, sends, lines, .. } = self;
        let table = Table { operations, names, first, waiting, ranks, sends: sends.len() as u64, batches, steps };
        super::check(&table).map_err(|stuck| {
            let line = lines[stuck.operation as usize] as usize;
            error("requires", stuck.chain(&table), "operations that can start one after another").at(line)
        })?;
        Ok(table)
    }

    fn line(&self, operation: u32) -> usize {
        self.lines[operation as usize] as usize
    }

    /// Dependencies by number.
    fn resolve(&self, index: &Index) -> Result<Vec<Edge>, ListError> {
        let mut edges = Vec::with_capacity(self.edges.len());
        for (n, &(waits, milestone)) in (0u32..).zip(&self.edges) {
            let name = self.awaited.get(n);
            let column = (if milestone == Milestone::Ended { Requires } else { Irequires }).word();
            let fail = |allowed: String| error(column, name, allowed).at(self.line(waits));
            let awaited = index.get(&self.names, name).ok_or_else(|| fail("the id of an operation".into()))?;
            let [own, other] = [waits, awaited].map(|n| self.operations[n as usize].rank);
            if own != other {
                return Err(fail(format!(
                    "an operation of rank {own}; this is one of rank {other}: use recv to learn what other ranks do"
                )));
            }
            edges.push((awaited, milestone, waits));
        }
        Ok(edges)
    }

    /// Pairs the k-th send between two ranks with a tag with the k-th receive between them with that tag, in file
    /// order.
    fn match_messages(&mut self) -> Result<(), ListError> {
        let key = |end: &End| (end.from, end.to, end.tag, end.operation);
        self.sends.sort_unstable_by_key(key);
        self.receives.sort_unstable_by_key(key);
        let (mut sends, mut receives) = (self.sends.iter().peekable(), self.receives.iter().peekable());
        loop {
            let message = |end: &&End| (end.from, end.to, end.tag);
            let alone = match (sends.peek(), receives.peek()) {
                (None, None) => break,
                (Some(send), Some(receive)) if message(send) == message(receive) => {
                    self.operations[send.operation as usize].mate = receive.operation;
                    self.operations[receive.operation as usize].mate = send.operation;
                    sends.next();
                    receives.next();
                    continue;
                }
                (Some(send), Some(receive)) if message(send) > message(receive) => *receive,
                (Some(send), _) => *send,
                (None, Some(receive)) => *receive,
            };
            return Err(self.alone(alone));
        }
        for &(receive, size) in &self.sizes {
            let send = self.operations[receive as usize].mate;
            let Does::Send { bytes, .. } = self.operations[send as usize].does else { continue };
            if bytes != size {
                let allowed = format!("{bytes}, as in its send {} (line {})", self.names.get(send), self.line(send));
                return Err(error("size_bytes", size, allowed).at(self.line(receive)));
            }
        }
        Ok(())
    }

    fn alone(&self, end: &End) -> ListError {
        let End { from, to, tag, operation } = *end;
        let (this, other) = match self.operations[operation as usize].does {
            Does::Send { .. } => ("send", "recv"),
            _ => ("recv", "send"),
        };
        let value = format!("{this} {}", self.names.get(operation));
        let allowed = format!("a {other} for each {this} from rank {from} to rank {to} with tag {tag}");
        error("op", value, allowed).at(self.line(operation))
    }
}
