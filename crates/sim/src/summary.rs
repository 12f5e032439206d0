//! Sums over flows, by entry of the traffic and by size class: exact counts, and logarithmic histograms that replace
//! rows when there are too many.

use crate::flows::{Flows, Record};
use crate::spec::{MetricsSpec, SizeClass, Spec, TrafficEntry};
use serde_json::{Value, json};

/// Bins per octave of the histograms, of equal width: each is at most 1/32 of its least value wide.
const BINS_PER_OCTAVE: u32 = 32;

/// Bin of a positive value: position within its octave by the bits behind the leading one, no logarithm needed.
pub(crate) fn bin(value: u64) -> u32 {
    let octave = 63 - value.max(1).leading_zeros();
    let within = if octave >= 5 { (value >> (octave - 5)) & 31 } else { (value << (5 - octave)) & 31 };
    octave * BINS_PER_OCTAVE + within as u32
}

/// The least value of a bin.
pub(crate) fn bin_floor(bin: u32) -> u64 {
    let (octave, within) = (bin / BINS_PER_OCTAVE, u64::from(bin % BINS_PER_OCTAVE));
    if octave >= 5 { (32 + within) << (octave - 5) } else { (32 + within) >> (5 - octave) }
}

/// Number of values in each bin.
#[derive(Debug, Default)]
struct Histogram(Vec<u64>);

impl Histogram {
    fn add(&mut self, value: u64) {
        let bin = bin(value) as usize;
        if self.0.len() <= bin {
            self.0.resize(bin + 1, 0);
        }
        self.0[bin] += 1;
    }

    /// The least value of each bin that has any, and how many.
    fn json(&self) -> Value {
        let bins = (0u32..).zip(&self.0).filter(|&(_, &count)| count > 0);
        bins.map(|(bin, count)| json!([bin_floor(bin), count])).collect()
    }
}

/// The account of a size class.
#[derive(Debug)]
struct Class<'a> {
    name: &'a str,
    /// Smallest size.
    from: u64,
    /// First size beyond it.
    below: u64,
    flows: u64,
    finished: u64,
    /// Sum of completion times, ps.
    sum: u128,
    slowdowns: f64,
    fct: Histogram,
    /// Unit: thousandths.
    slowdown: Histogram,
}

impl<'a> Class<'a> {
    /// The classes given, and one of all flows.
    fn all(given: &'a [SizeClass]) -> Vec<Class<'a>> {
        let named = given.iter().map(|class| (class.name.as_str(), class.from, class.below));
        let account = |(name, from, below)| Class {
            name,
            from,
            below,
            flows: 0,
            finished: 0,
            sum: 0,
            slowdowns: 0.0,
            fct: Histogram::default(),
            slowdown: Histogram::default(),
        };
        named.chain([("all", 0, u64::MAX)]).map(account).collect()
    }

    /// One flow of this size more, if that is in the class.
    fn add(&mut self, size: u64, fct: u64, ideal: u64) {
        if size < self.from || size >= self.below {
            return;
        }
        self.flows += 1;
        if fct == 0 {
            return;
        }
        self.finished += 1;
        self.sum += u128::from(fct);
        let ratio = fct as f64 / ideal.max(1) as f64;
        self.slowdowns += ratio;
        self.fct.add(fct);
        self.slowdown.add((ratio * 1000.0) as u64);
    }

    fn json(&self) -> Value {
        let mean = |sum: f64| if self.finished == 0 { Value::Null } else { json!(sum / self.finished as f64) };
        json!({
            "name": self.name,
            "from_bytes": self.from,
            "below_bytes": if self.below == u64::MAX { Value::Null } else { json!(self.below) },
            "flows": self.flows,
            "finished": self.finished,
            "mean_fct_ps": mean(self.sum as f64),
            "mean_slowdown": mean(self.slowdowns),
            "fct_ps_histogram": self.fct.json(),
            "slowdown_thousandths_histogram": self.slowdown.json(),
        })
    }
}

/// A number of a flow's record, by name.
type Named = (&'static str, fn(&Record) -> u32);

/// The quantities that are summed up over flows.
const TOTALS: [Named; 11] = [
    ("sent", |record| record.packets),
    ("retransmits", |record| record.retransmits),
    ("spurious_retransmits", |record| record.spurious_retransmits),
    ("timeouts", |record| record.timeouts),
    ("fast_retransmits", |record| record.fast_retransmits),
    ("out_of_order", |record| record.out_of_order),
    ("dupack3_events", |record| record.dupack3_events),
    ("marks", |record| record.marks),
    ("path_changes", |record| record.path_changes),
    ("nacks", |record| record.nacks),
    ("cnps", |record| record.cnps),
];

/// Sums of [`TOTALS`], and of reroutes where they are counted.
#[derive(Debug)]
struct Totals {
    sums: [u64; TOTALS.len()],
    reroutes: Option<u64>,
}

impl Totals {
    fn new(flows: &Flows) -> Totals {
        Totals { sums: [0; TOTALS.len()], reroutes: flows.counts_reroutes().then_some(0) }
    }

    fn add(&mut self, record: &Record) {
        self.sums.iter_mut().zip(TOTALS).for_each(|(sum, (_, of))| *sum += u64::from(of(record)));
        self.reroutes.iter_mut().for_each(|sum| *sum += u64::from(record.reroutes));
    }

    fn json(&self) -> Value {
        let named = TOTALS.iter().zip(self.sums).map(|((name, _), sum)| ((*name).to_owned(), json!(sum)));
        Value::Object(named.chain([("reroutes".to_owned(), json!(self.reroutes))]).collect())
    }
}

/// The account of an entry of the traffic.
#[derive(Debug)]
struct Entry<'a> {
    of: &'a TrafficEntry,
    flows: u64,
    finished: u64,
    totals: Totals,
    classes: Vec<Class<'a>>,
}

impl<'a> Entry<'a> {
    fn new(of: &'a TrafficEntry, metrics: &'a MetricsSpec, flows: &Flows) -> Entry<'a> {
        let classes = Class::all(of.size_classes.as_deref().unwrap_or(&metrics.size_classes));
        Entry { of, flows: 0, finished: 0, totals: Totals::new(flows), classes }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.of.name,
            "kind": self.of.kind,
            "udp": self.of.is_udp(),
            "flows": self.flows,
            "finished": self.finished,
            "totals": self.totals.json(),
            "classes": self.classes.iter().map(Class::json).collect::<Vec<_>>(),
        })
    }
}

/// The summary of all flows.
#[derive(Debug)]
pub(crate) struct Summary {
    /// By size class: how many flows, how many finished, sums and histograms of completion time (ps) and slowdown
    /// (thousandths). UDP is not counted.
    pub classes: Value,
    /// The same and sums of packets by entry of the traffic; UDP without end is in no class.
    pub entries: Value,
    /// Sums over all flows but UDP, for runs too large to keep a row of each.
    pub totals: Value,
}

impl Summary {
    /// Sums up these flows, whose ideal completion times are `ideal`.
    pub(crate) fn of(spec: &Spec, flows: &Flows, ideal: &[u64]) -> Summary {
        let mut classes = Class::all(&spec.metrics.size_classes);
        let mut totals = Totals::new(flows);
        let mut entries: Vec<Entry<'_>> = spec.traffic.iter().map(|of| Entry::new(of, &spec.metrics, flows)).collect();
        for (((id, flow), record), &ideal) in flows.specs.numbered().zip(&flows.records).zip(ideal) {
            let entry = &mut entries[usize::from(flow.entry)];
            entry.flows += 1;
            entry.finished += u64::from(record.fct != 0);
            entry.totals.add(record);
            if flow.size > 0 {
                entry.classes.iter_mut().for_each(|class| class.add(flow.size, record.fct, ideal));
            }
            if flows.has_transport(id) {
                totals.add(record);
                classes.iter_mut().for_each(|class| class.add(flow.size, record.fct, ideal));
            }
        }
        Summary {
            classes: classes.iter().map(Class::json).collect(),
            entries: entries.iter().map(Entry::json).collect(),
            totals: totals.json(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_ordered_and_narrow() {
        let mut value = 1u64;
        while value < 1 << 60 {
            let floor = bin_floor(bin(value));
            assert!(floor <= value, "{floor} {value}");
            if value > 64 {
                assert!((value - floor) as f64 <= value as f64 / 32.0, "{floor} {value}");
            }
            assert!(bin(value + 1 + value / 16) > bin(value));
            value += 1 + value / 7;
        }
    }

    #[test]
    fn classes_count_what_fits_and_average_what_finished() {
        let short = SizeClass { name: "short".into(), from: 0, below: 100 };
        let given = [short];
        let mut classes = Class::all(&given);
        for (size, fct) in [(99, 20), (99, 0), (100, 30)] {
            classes.iter_mut().for_each(|class| class.add(size, fct, 10));
        }
        let [short, all] = &classes[..] else { panic!("{classes:?}") };
        let (short, all) = (short.json(), all.json());
        assert_eq!((&short["flows"], &short["finished"], &short["mean_fct_ps"]), (&json!(2), &json!(1), &json!(20.0)));
        assert_eq!((&all["flows"], &all["finished"], &all["mean_slowdown"]), (&json!(3), &json!(2), &json!(2.5)));
        assert_eq!(all["fct_ps_histogram"], json!([[20, 1], [30, 1]]));
        assert_eq!(all["below_bytes"], Value::Null);
    }
}
