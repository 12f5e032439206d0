//! `[metrics]`: the records that are kept, and the way they are summed up.

use serde_json::{Map, Value, json};
use spinewise_policy::Span;

use super::capture::{self, CaptureSpec};
use crate::keys::{Default, Kind, LARGEST_EXACT, Reader, SpecError, Unit, Zero, keys, words};

/// Short flows are below 100 KB (source: PDLB's split).
const SHORT_BELOW: u64 = 100_000;
/// More samples would cost more time than they are worth.
const SHORTEST_SAMPLE: Span = Span::from_us(1);
const IDEAL_FRAMES: &str = "a list of pairs [payload bytes, header bytes], such as [[1460, 40], [4086, 64]]";
/// No packet is longer.
const LONGEST_FRAME: u64 = 1 << 20;
const SERIES_LINKS: &str = "\"fabric\", \"all\", or a list of names of links, such as [\"leaf0->host0\"]";

keys! {
    /// `[metrics]`.
    MetricsKeys {
        /// Classes of flow size that are summarized, in addition to all flows together. They may overlap: a flow counts
        /// in each class that it belongs to. Default: "short" below 100 000 bytes and "long" from there (PDLB).
        size_classes: Option<Vec<Value>>, Kind::List("a list of tables with name, from_bytes and below_bytes"),
            Default::Nothing("short and long, split at 100000 bytes");
        /// Interval of the time series of links and queues; 0 = none.
        series_interval_us: Span, Kind::Time(Unit::Microseconds, Zero::Allowed), Default::Number(0.0);
        /// The links whose time series are recorded: "fabric" (utilisation and queue of links between switches), "all"
        /// (all links, with marks, drops and pauses), or the names of some, such as ["leaf0->host0"], with marks, drops
        /// and pauses too.
        series_links: Value, Kind::Either(SERIES_LINKS), Default::Word("fabric");
        /// Are facts recorded that cost a little run time: how long the queue of each link is over time, its peak
        /// utilisation in an interval, how evenly equal paths are used, and how often flows are rerouted? They change
        /// no result.
        facts: bool, Kind::Bool, Default::Bool(false);
        /// With facts: the time between two samples of each link, at least 1.
        sample_interval_us: Option<Span>, Kind::Time(Unit::Microseconds, Zero::Refused),
            Default::Nothing("2 round trips on an empty path or 64 full packets of the fastest link, whichever is longer");
        /// What slowdowns are measured against: a bound that no scheme can beat, whatever paths its packets take, or
        /// the time on the best path alone, as in papers and other simulators, which several paths together can beat.
        ideal: Ideal, Kind::Words(Ideal::WORDS), Default::Word("bound");
        /// Further packets, each as [payload bytes, header bytes]: the ideal of a flow is the least of those with its own
        /// transport's packets and with each of these. Comparisons of transports set this, so that all slowdowns are
        /// relative to the same times.
        ideal_frames: Option<Vec<Value>>, Kind::List(IDEAL_FRAMES), Default::Nothing("its own packets alone");
        /// With more flows than this, a run keeps exact counts and a histogram instead of one row per flow.
        keep_flows_up_to: u64, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Number(1_000_000.0);
        /// Which packets to capture as they pass chosen ports: see `[metrics.capture]`. It changes no result.
        capture: Option<Map<String, Value>>, Kind::Table("a table with at"), Default::Nothing("none");
    }
}

keys! {
    /// An entry of `metrics.size_classes`.
    ClassKeys {
        /// Name of the class in tables; not "all".
        name: String, Kind::Text("a name"), Default::Required;
        /// Smallest flow of the class.
        from_bytes: u64, Kind::Integer { min: 0, max: LARGEST_EXACT }, Default::Number(0.0);
        /// Flows of this size and larger are not in the class.
        below_bytes: Option<u64>, Kind::Integer { min: 1, max: LARGEST_EXACT }, Default::Nothing("no bound");
    }
}

/// The links of which time series are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeriesLinks {
    /// Links between switches: use and queue.
    Fabric,
    /// All links: with marks, drops and pauses.
    All,
    /// Links with these names, likewise.
    Named(Vec<String>),
}

words! {
    /// The reference of slowdowns.
    Ideal {
        /// A time that no scheme can beat.
        Bound = "bound",
        /// The time on the best path.
        BestPath = "best_path",
    }
}

/// The size of a packet, for ideal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdealFrame {
    /// Bytes of data in a full one.
    pub payload: u64,
    /// Bytes on the wire besides the data.
    pub header: u64,
}

/// A class of flow sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeClass {
    /// Its name.
    pub name: String,
    /// Smallest size, bytes.
    pub from: u64,
    /// First size beyond it, bytes; [`u64::MAX`] if there is none.
    pub below: u64,
}

/// The records kept of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricsSpec {
    /// Classes for which summaries are made.
    pub size_classes: Vec<SizeClass>,
    /// Interval of link and queue series; `None` = none.
    pub series_interval: Option<Span>,
    /// The links.
    pub series_links: SeriesLinks,
    /// Whether links are sampled and reroutes counted.
    pub facts: bool,
    /// Interval of samples; `None`: the one that suits the fabric.
    pub sample_interval: Option<Span>,
    /// The reference of slowdowns.
    pub ideal: Ideal,
    /// Packets, besides those of the flow's own transport, with which the ideal may be reached.
    pub ideal_frames: Vec<IdealFrame>,
    /// Most flows for which rows are kept.
    pub keep_flows_up_to: u64,
    /// The packets captured.
    pub capture: Option<CaptureSpec>,
}

/// Reads `[metrics]`.
pub(crate) fn read(given: &Map<String, Value>) -> Result<(MetricsSpec, Value), SpecError> {
    let mut reader = Reader::new("metrics", MetricsKeys::KEYS, given)?;
    let keys = MetricsKeys::read(&mut reader)?;
    let list = keys.size_classes.unwrap_or_else(|| {
        vec![json!({"name": "short", "below_bytes": SHORT_BELOW}), json!({"name": "long", "from_bytes": SHORT_BELOW})]
    });
    let (size_classes, told) = read_classes("metrics.size_classes", &list)?;
    reader.set_resolved("size_classes", told);
    let asked = reader.given("series_interval_us").and_then(Value::as_f64).is_some_and(|us| us > 0.0);
    if asked && keys.series_interval_us == Span::ZERO {
        return Err(reader.refuse("series_interval_us", "0 for no series, or a number of microseconds from 0.000001"));
    }
    let series_interval = (keys.series_interval_us > Span::ZERO).then_some(keys.series_interval_us);
    let sample_interval = keys.sample_interval_us;
    if sample_interval.is_some_and(|interval| interval < SHORTEST_SAMPLE) {
        return Err(reader.refuse("sample_interval_us", "a number of microseconds from 1 to 9000000000"));
    }
    let series_links = read_series_links(&keys.series_links, &reader)?;
    let ideal_frames = read_ideal_frames(keys.ideal_frames.as_deref().unwrap_or_default(), &reader)?;
    let (facts, ideal, keep_flows_up_to) = (keys.facts, keys.ideal, keys.keep_flows_up_to);
    let capture = match keys.capture.as_ref().map(capture::read).transpose()? {
        Some((capture, told)) => {
            reader.set_resolved("capture", told);
            Some(capture)
        }
        None => None,
    };
    let metrics = MetricsSpec {
        size_classes,
        series_interval,
        series_links,
        facts,
        sample_interval,
        ideal,
        ideal_frames,
        keep_flows_up_to,
        capture,
    };
    Ok((metrics, reader.finish()))
}

fn read_series_links(given: &Value, reader: &Reader<'_>) -> Result<SeriesLinks, SpecError> {
    match given {
        Value::String(word) if word == "fabric" => Ok(SeriesLinks::Fabric),
        Value::String(word) if word == "all" => Ok(SeriesLinks::All),
        Value::String(word) => Err(reader.refuse("series_links", SERIES_LINKS).did_you_mean(word, ["fabric", "all"])),
        Value::Array(list) => {
            let names: Option<Vec<String>> = list.iter().map(|name| name.as_str().map(String::from)).collect();
            names.map(SeriesLinks::Named).ok_or_else(|| reader.refuse("series_links", SERIES_LINKS))
        }
        _ => Err(reader.refuse("series_links", SERIES_LINKS)),
    }
}

fn read_ideal_frames(given: &[Value], reader: &Reader<'_>) -> Result<Vec<IdealFrame>, SpecError> {
    let frame = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([payload, header]) => {
            let (payload, header) = (payload.as_u64()?, header.as_u64()?);
            ((1..=LONGEST_FRAME).contains(&payload) && header <= LONGEST_FRAME)
                .then_some(IdealFrame { payload, header })
        }
        _ => None,
    };
    given.iter().map(frame).collect::<Option<_>>().ok_or_else(|| reader.refuse("ideal_frames", IDEAL_FRAMES))
}

/// Size classes as a list at `path` gives them.
pub(crate) fn read_classes(path: &str, list: &[Value]) -> Result<(Vec<SizeClass>, Value), SpecError> {
    let mut classes: Vec<SizeClass> = Vec::with_capacity(list.len());
    let mut resolved = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let (class, told) = read_class(&format!("{path}[{index}]"), value, &classes)?;
        classes.push(class);
        resolved.push(told);
    }
    Ok((classes, Value::Array(resolved)))
}

fn read_class(path: &str, value: &Value, before: &[SizeClass]) -> Result<(SizeClass, Value), SpecError> {
    let table = value.as_object().ok_or_else(|| SpecError::new(path, value, "a table"))?;
    let mut reader = Reader::new(path, ClassKeys::KEYS, table)?;
    let keys = ClassKeys::read(&mut reader)?;
    if keys.name == "all" || before.iter().any(|class| class.name == keys.name) {
        return Err(reader.refuse("name", "a unique name other than \"all\""));
    }
    let below = keys.below_bytes.unwrap_or(u64::MAX);
    if below <= keys.from_bytes {
        return Err(reader.refuse("below_bytes", format!("more than from_bytes, {}", keys.from_bytes)));
    }
    Ok((SizeClass { name: keys.name, from: keys.from_bytes, below }, reader.finish()))
}
