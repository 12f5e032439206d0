//! Flows given one by one, as a table or in the specification itself, each sent once or several times in a row.

use core::fmt;

use spinewise_policy::time::{Span, Time};

use super::{FlowSpec, GATED_FLOW_BYTES, Gate, Jobs, MOST_FLOWS, Places, Plan, Upon, WorkloadError};

/// The columns of the table.
const COLUMNS: [&str; 4] = ["src", "dst", "size_bytes", "start_ns"];
/// An optional column.
const BATCH: &str = "batch";
/// Additional columns in tables of stores and files of other simulators, which are not expected to be read.
const BESIDE: [&str; 6] = ["key", "pg", "sport", "dport", "fct_ns", "ideal_fct_ns"];
const PS_PER_NS: u64 = 1_000;
/// Digits a fraction of a nanosecond may have: picoseconds are the unit of simulated time.
const FRACTION_DIGITS: usize = 3;

/// One flow of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// The sending host.
    pub src: u32,
    /// The receiving host.
    pub dst: u32,
    /// Payload in bytes.
    pub size: u64,
    /// When it starts.
    pub start: Time,
    /// The batch it belongs to, from 1 to [`MOST_FLOWS`]; 0: none.
    pub batch: u32,
}

/// A list of flows that fits a number of hosts; in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowList {
    flows: Vec<ListedFlow>,
    /// How many times each is sent, at least once.
    rounds: u32,
    /// Time from the acknowledgement of a flow's last byte to its next start.
    gap: Span,
    /// Columns of its table that are not read, other than those of tables of results.
    unread: Vec<String>,
}

/// An error in a list of flows, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListError {
    /// The line of the text from 1, the header included; for a list without text the position in it from 1; 0 for the
    /// whole.
    pub line: usize,
    /// The column.
    pub column: String,
    /// The value there.
    pub value: String,
    /// The accepted values.
    pub allowed: String,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, ", self.line)?;
        }
        write!(f, "column {}: `{}`; allowed is {}", self.column, self.value, self.allowed)
    }
}

impl std::error::Error for ListError {}

impl FlowList {
    /// Flows as given, each checked against the number of hosts.
    ///
    /// # Errors
    /// An unknown host, a flow to its own sender, a size of zero; the line is the position in the list, from 1.
    pub fn new(flows: Vec<ListedFlow>, hosts: u32) -> Result<FlowList, ListError> {
        if flows.len() as u64 > MOST_FLOWS {
            return Err(error("src", flows.len(), format!("at most {MOST_FLOWS} flows")));
        }
        for (index, flow) in flows.iter().enumerate() {
            check(flow, hosts).map_err(|error| error.at(index + 1))?;
        }
        Ok(FlowList { flows, rounds: 1, gap: Span::ZERO, unread: Vec::new() })
    }

    /// The same flows, each sent `rounds` times: again a gap after its last byte was acknowledged.
    ///
    /// # Errors
    /// No round, or more than [`MOST_FLOWS`] flows in all.
    pub fn repeated(self, rounds: u32, gap: Span) -> Result<FlowList, WorkloadError> {
        let most = MOST_FLOWS / (self.flows.len() as u64).max(1);
        if rounds == 0 || u64::from(rounds) > most {
            return Err(WorkloadError::new("rounds", rounds, format!("from 1 to {most}, for this number of flows")));
        }
        // A part has 32 bits.
        let most = u32::MAX / self.batches().max(1);
        if rounds > most {
            let allowed = format!("from 1 to {most}, for {} batches", self.batches());
            return Err(WorkloadError::new("rounds", rounds, allowed));
        }
        Ok(FlowList { rounds, gap, ..self })
    }

    /// Columns of its table that are not read and that stores and other simulators do not have, in order; and whether
    /// one of them may be meant for `batch`.
    pub(crate) fn unread(&self) -> (&[String], bool) {
        let is_near = |field: &String| strsim::jaro_winkler(&field.to_lowercase(), BATCH) > 0.75;
        (&self.unread, self.batches() == 0 && self.unread.iter().any(is_near))
    }

    /// Returns the last batch of a round, 0 if there are none.
    fn batches(&self) -> u32 {
        self.flows.iter().map(|flow| flow.batch).max().unwrap_or(0)
    }

    /// Returns the jobs that its flows are parts of: batches as given, those of each round numbered after those of the
    /// previous one; or rounds.
    pub(super) fn jobs(&self) -> Option<Jobs> {
        (self.batches() > 0 || self.rounds > 1).then(|| Jobs::of_one(1, 0, 0))
    }

    /// Whether a flow waits for the one before it.
    pub(crate) fn is_closed_loop(&self) -> bool {
        self.rounds > 1
    }

    /// Reads a table of comma-separated values whose header names `src`, `dst`, `size_bytes` and `start_ns` in any
    /// order, and `batch` if there are batches. Other columns are ignored, so that a table of results serves as a list
    /// of flows, and reported by [`FlowList::unread`]; lines that begin with `#` are comments. Starts may have up to
    /// three decimals (picoseconds).
    ///
    /// # Errors
    /// A column missing or duplicate; a row of another length than the header; a field that is not a number of its
    /// kind; and the errors of [`FlowList::new`], with the line of the text.
    pub fn from_csv(text: &str, hosts: u32) -> Result<FlowList, ListError> {
        let (text, mut reader) = reader_of(text);
        let header = reader.headers().map_err(|problem| unreadable(&problem))?.clone();
        let columns = locate(&header).map_err(|error| error.at(line_of(text, &header)))?;
        let mut flows = Vec::new();
        for row in reader.records() {
            let row = row.map_err(|problem| unreadable(&problem))?;
            let flow = read_row(&row, columns, hosts).map_err(|error| error.at(line_of(text, &row)))?;
            flows.push(flow);
        }
        let known = |field: &str| COLUMNS.contains(&field) || field == BATCH || BESIDE.contains(&field);
        let unread = header.iter().filter(|field| !known(field)).map(String::from).collect();
        Ok(FlowList { unread, ..FlowList::new(flows, hosts)? })
    }

    /// Returns the waiting time of rounds in addition to the sending: an answer and the gap, each time.
    pub fn waits(&self, rtt: Span) -> Span {
        (rtt + self.gap) * u64::from(self.rounds - 1)
    }

    /// The flows, in the order given.
    pub fn flows(&self) -> &[ListedFlow] {
        &self.flows
    }

    pub(super) fn generate(&self, entry: u8, places: &Places) -> Result<Plan, WorkloadError> {
        let known = |host: &u32| *host < places.hosts;
        if let Some(flow) = self.flows.iter().find(|flow| !known(&flow.src) || !known(&flow.dst)) {
            let allowed = format!("hosts from 0 to {}", places.hosts.saturating_sub(1));
            return Err(WorkloadError::new("list", format!("{} -> {}", flow.src, flow.dst), allowed));
        }
        let batches = self.batches();
        let of = |flow: &ListedFlow| FlowSpec {
            src: flow.src,
            dst: flow.dst,
            size: flow.size,
            start: flow.start,
            entry,
            part: if batches == 0 && self.rounds > 1 { 1 } else { flow.batch },
            ..FlowSpec::default()
        };
        let there = self.flows.iter().filter(|flow| flow.start < places.bounds.until);
        let mut plan = Plan::free(there.map(of).collect());
        let each = plan.flows.len() as u32;
        places.bounds.refuse_too_many(
            "rounds",
            self.rounds,
            u64::from(each) * u64::from(self.rounds),
            GATED_FLOW_BYTES,
        )?;
        for again in (each..each * self.rounds).take_while(|_| (places.bounds.go_on)()) {
            let flow = plan.flows[(again % each) as usize];
            let part = if flow.part > 0 { flow.part + again / each * batches.max(1) } else { 0 };
            plan.gates.push(Gate {
                host: flow.src,
                after: vec![(again - each, Upon::Acknowledged)],
                gap: self.gap,
                flows: vec![again],
            });
            plan.flows.push(FlowSpec { part, ..flow });
        }
        Ok(plan)
    }
}

impl ListError {
    pub(super) fn at(self, line: usize) -> ListError {
        ListError { line, ..self }
    }
}

/// The text without its byte-order mark, and a reader of comma-separated values with comments after `#`.
pub(super) fn reader_of(text: &str) -> (&str, csv::Reader<&[u8]>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut builder = csv::ReaderBuilder::new();
    builder.trim(csv::Trim::All).comment(Some(b'#')).flexible(true);
    (text, builder.from_reader(text.as_bytes()))
}

/// The line of a row. The reader knows only where it began to look for the row, before blank lines and comments.
pub(super) fn line_of(text: &str, row: &csv::StringRecord) -> usize {
    let Some(position) = row.position() else { return 1 };
    let ahead = text.get(position.byte() as usize..).unwrap_or_default();
    let skipped = ahead.lines().take_while(|line| line.is_empty() || line.starts_with('#')).count();
    position.line() as usize + skipped
}

/// The positions of columns in the header.
#[derive(Clone, Copy, Debug)]
struct Header {
    /// Each of [`COLUMNS`].
    places: [usize; 4],
    batch: Option<usize>,
    /// Number of columns.
    width: usize,
}

fn locate(header: &csv::StringRecord) -> Result<Header, ListError> {
    let place_of = |name: &str| {
        let mut found = header.iter().enumerate().filter(|(_, field)| *field == name).map(|(place, _)| place);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(error(name, "there twice", "each column once")),
            (place, None) => Ok(place),
        }
    };
    let mut places = [0; 4];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        *place = place_of(name)?.ok_or_else(|| error(name, "missing", missing(header, name)))?;
    }
    let batch = place_of(BATCH)?;
    if batch.is_none()
        && let Some(field) = header.iter().find(|field| field.trim().eq_ignore_ascii_case(BATCH))
    {
        return Err(error(BATCH, field, "that name, since other columns are ignored"));
    }
    Ok(Header { places, batch, width: header.len() })
}

fn missing(header: &csv::StringRecord, name: &str) -> String {
    let rule = format!("a header with {}", COLUMNS.join(", "));
    let closeness = |field: &str| strsim::jaro_winkler(field, name);
    let spare = header.iter().filter(|field| !COLUMNS.contains(field));
    match spare.max_by(|a, b| closeness(a).total_cmp(&closeness(b))) {
        Some(field) if closeness(field) > 0.75 => format!("{rule}; did you mean `{field}`?"),
        _ => rule,
    }
}

fn read_row(row: &csv::StringRecord, header: Header, hosts: u32) -> Result<ListedFlow, ListError> {
    if row.len() != header.width {
        let allowed = format!("{} fields, as in the header", header.width);
        return Err(error("all", format!("{} fields", row.len()), allowed));
    }
    let [src, dst, size, start] = header.places.map(|place| &row[place]);
    let batch = header.batch.map_or("", |place| &row[place]);
    let host = |column: &str, text: &str| text.parse().map_err(|_| error(column, text, "the number of a host"));
    let flow = ListedFlow {
        src: host("src", src)?,
        dst: host("dst", dst)?,
        size: size.parse().map_err(|_| error("size_bytes", size, "a whole number of bytes, 1 or more"))?,
        start: read_ns(start)
            .ok_or_else(|| error("start_ns", start, "nanoseconds, 0 or more, with up to three decimals"))?,
        batch: read_batch(batch)?,
    };
    check(&flow, hosts)?;
    Ok(flow)
}

/// The number of a batch; an empty field means none.
fn read_batch(text: &str) -> Result<u32, ListError> {
    let number = if text.is_empty() { Some(0) } else { text.parse::<u32>().ok() };
    let allowed = || format!("the number of a batch, 1 to {MOST_FLOWS}; 0 or nothing for none");
    number.filter(|&number| u64::from(number) <= MOST_FLOWS).ok_or_else(|| error(BATCH, text, allowed()))
}

/// Decimal nanoseconds to picoseconds, exactly.
pub(super) fn read_ns(text: &str) -> Option<Time> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > FRACTION_DIGITS {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<FRACTION_DIGITS$}").parse().ok()?;
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(PS_PER_NS)?.checked_add(fraction).map(Time)
}

fn check(flow: &ListedFlow, hosts: u32) -> Result<(), ListError> {
    for (column, host) in [("src", flow.src), ("dst", flow.dst)] {
        if host >= hosts {
            return Err(error(column, host, format!("a host, from 0 to {}", hosts.saturating_sub(1))));
        }
    }
    if flow.src == flow.dst {
        return Err(error("dst", flow.dst, "a host other than src"));
    }
    if flow.size == 0 {
        return Err(error("size_bytes", flow.size, "a whole number of bytes, 1 or more"));
    }
    Ok(())
}

pub(super) fn unreadable(problem: &csv::Error) -> ListError {
    let line = problem.position().map_or(0, |position| position.line() as usize);
    error("all", problem, "comma-separated values").at(line)
}

pub(super) fn error(column: &str, value: impl fmt::Display, allowed: impl Into<String>) -> ListError {
    ListError { line: 0, column: column.into(), value: value.to_string(), allowed: allowed.into() }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fabric;
    use super::*;

    fn fails(text: &str) -> (usize, String, String) {
        let error = FlowList::from_csv(text, 8).expect_err(text);
        (error.line, error.column, error.value)
    }

    fn at(line: usize, column: &str, value: &str) -> (usize, String, String) {
        (line, column.into(), value.into())
    }

    #[test]
    fn reads_columns_in_any_order_and_ignores_others() {
        let text = "\u{feff}# ours\n start_ns,dst , fct_ns,size_bytes,src\n1000.5,7,-,1500,0\n\n0,1,x,1,2\n";
        let list = FlowList::from_csv(text, 8).unwrap();
        let flow = |src, dst, size, ps| ListedFlow { src, dst, size, start: Time(ps), batch: 0 };
        assert_eq!(list.flows(), [flow(0, 7, 1500, 1_000_500), flow(2, 1, 1, 0)]);
        assert_eq!(FlowList::new(list.flows().to_vec(), 8).unwrap(), list);
        let flows = super::super::Workload::List(list).plan(1, 6, &Fabric::new(2, 4, 1).places()).unwrap().flows;
        assert_eq!(flows.iter().map(|flow| (flow.src, flow.entry)).collect::<Vec<_>>(), [(2, 6), (0, 6)]);
        let unread = |names: &str| {
            let list = FlowList::from_csv(&format!("src,dst,size_bytes,start_ns,{names}\n"), 8).unwrap();
            let (unread, is_batch_meant) = list.unread();
            (unread.join(" "), is_batch_meant)
        };
        assert_eq!(unread("bach,weight,pg"), ("bach weight".into(), true));
        assert_eq!(unread("batch,dport,weight"), ("weight".into(), false));
        assert_eq!(unread("fct_ns,key"), (String::new(), false));
        assert!(FlowList::from_csv("src,dst,size_bytes,start_ns\n", 8).unwrap().flows().is_empty());
    }

    #[test]
    fn errors_name_line_and_column() {
        let head = "src,dst,size_bytes,start_ns\n";
        let row = |text: &str| fails(&format!("{head}0,1,100,0\n{text}\n"));
        assert_eq!(row("9,1,100,0"), at(3, "src", "9"));
        assert_eq!(row("1,8,100,0"), at(3, "dst", "8"));
        assert_eq!(row("1,1,100,0"), at(3, "dst", "1"));
        assert_eq!(row("1,2,0,0"), at(3, "size_bytes", "0"));
        assert_eq!(row("1,2,-5,0"), at(3, "size_bytes", "-5"));
        assert_eq!(row("1,2,5.5,0"), at(3, "size_bytes", "5.5"));
        assert_eq!(row("1,2,5,-1"), at(3, "start_ns", "-1"));
        assert_eq!(row("1,2,5,1.2345"), at(3, "start_ns", "1.2345"));
        assert_eq!(row("1,2,5,99999999999999999999"), at(3, "start_ns", "99999999999999999999"));
        assert_eq!(row("1,2,5,"), at(3, "start_ns", ""));
        assert_eq!(row("x,2,5,0"), at(3, "src", "x"));
        assert_eq!(row("1,2,5"), at(3, "all", "3 fields"));
        assert_eq!(row("\n# note\n1,2,0,0"), at(5, "size_bytes", "0"));
        assert_eq!(row("1,2,5,0\r\n\r\n# note\r\n1,2,5,0\r\n1,2,0,0\r"), at(7, "size_bytes", "0"));
        assert_eq!(fails("# note\n\nsrc,dst\n"), at(3, "size_bytes", "missing"));
        assert_eq!(fails("src,dst,size_bytes,start_us\n"), at(1, "start_ns", "missing"));
        assert_eq!(fails("src,dst,src,size_bytes,start_ns\n"), at(1, "src", "there twice"));
        assert_eq!(fails("src,dst,size_bytes,start_ns,Batch\n"), at(1, "batch", "Batch"));
        assert_eq!(fails(""), at(1, "src", "missing"));
    }

    #[test]
    fn messages_say_what_to_do() {
        let error = FlowList::from_csv("src,dst,size_bytes,start_us\n", 8).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1, column start_ns: `missing`; allowed is a header with src, dst, size_bytes, start_ns; did you mean `start_us`?"
        );
        let error = FlowList::from_csv("src,dst,size_bytes,start_ns\n0,0,1,0", 8).unwrap_err();
        assert_eq!(error.to_string(), "line 2, column dst: `0`; allowed is a host other than src");
    }

    #[test]
    fn each_flow_is_sent_again_when_its_last_round_is_acknowledged() {
        let text = "src,dst,size_bytes,start_ns\n0,7,1000,5\n3,1,2000,0\n0,7,1000,5\n";
        let once = FlowList::from_csv(text, 8).unwrap();
        let plan =
            |list: FlowList| super::super::Workload::List(list).plan(1, 0, &Fabric::new(2, 4, 1).places()).unwrap();
        assert_eq!(plan(once.clone()), plan(once.clone().repeated(1, Span(9)).unwrap()));
        let made = plan(once.clone().repeated(4, Span(9)).unwrap());
        assert_eq!((made.flows.len(), made.gates.len()), (12, 9));
        let mut depths = super::super::plan::testing::depths(&made);
        depths.sort_unstable();
        assert_eq!(depths, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3].map(Some));
        for gate in &made.gates {
            let (before, upon) = gate.after[0];
            let (before, again) = (made.flows[before as usize], made.flows[gate.flows[0] as usize]);
            assert_eq!((FlowSpec { part: before.part + 1, ..before }, upon), (again, Upon::Acknowledged));
            assert_eq!((gate.gap, gate.after.len(), gate.flows.len()), (Span(9), 1, 1));
        }
        assert!(super::super::Workload::List(once.clone().repeated(2, Span::ZERO).unwrap()).is_closed_loop());
        let error = once.repeated(40_000_000, Span::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "rounds = 40000000: allowed is from 1 to 33333333, for this number of flows");
    }

    #[test]
    fn a_list_for_another_topology_is_refused() {
        let list = FlowList::from_csv("src,dst,size_bytes,start_ns\n0,7,1,0", 8).unwrap();
        let error = list.generate(0, &Fabric::new(2, 3, 1).places()).unwrap_err();
        assert_eq!((error.key.as_str(), error.value.as_str()), ("list", "0 -> 7"));
    }
}
