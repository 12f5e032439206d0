//! Summaries by size class: exact counts, and a logarithmic histogram that stands in for rows when there are too many;
//! and of collective operations, round by round.

use crate::flows::Flows;
use crate::gates::Batch;
use crate::spec::{MetricsSpec, Spec, Traffic};
use crate::workload::Workload;
use serde_json::{Value, json};

/// Bins per octave of the histograms, of equal width: each is at most 1/32 of its least value wide.
const BINS_PER_OCTAVE: u32 = 32;

/// Bin of a positive value: position within its octave by the bits behind the leading one, no logarithm needed.
pub fn bin(value: u64) -> u32 {
    let octave = 63 - value.max(1).leading_zeros();
    let within = if octave >= 5 { (value >> (octave - 5)) & 31 } else { (value << (5 - octave)) & 31 };
    octave * BINS_PER_OCTAVE + within as u32
}

/// The least value of a bin.
pub fn bin_floor(bin: u32) -> u64 {
    let (octave, within) = (bin / BINS_PER_OCTAVE, u64::from(bin % BINS_PER_OCTAVE));
    if octave >= 5 { (32 + within) << (octave - 5) } else { (32 + within) >> (5 - octave) }
}

/// Per size class: how many flows, how many unfinished, sum of completion times, and histograms of completion time (ps)
/// and slowdown (thousandths).
pub fn classes(metrics: &MetricsSpec, flows: &Flows, ideal: &[u64]) -> Value {
    let all = std::iter::once(("all", 0, u64::MAX));
    let named = metrics.size_classes.iter().map(|class| (class.name.as_str(), class.from, class.below));
    let classes: Vec<Value> = named
        .chain(all)
        .map(|(name, from, below)| {
            let (mut count, mut finished, mut sum, mut slowdowns) = (0u64, 0u64, 0u128, 0.0);
            let mut fct = std::collections::BTreeMap::<u32, u64>::new();
            let mut slowdown = std::collections::BTreeMap::<u32, u64>::new();
            for (n, spec) in flows.specs.iter().enumerate() {
                if !flows.is_tcp(n as u32) || spec.size < from || spec.size >= below {
                    continue;
                }
                count += 1;
                let record = &flows.records[n];
                if record.fct == 0 {
                    continue;
                }
                finished += 1;
                sum += u128::from(record.fct);
                let ratio = record.fct as f64 / ideal[n].max(1) as f64;
                slowdowns += ratio;
                *fct.entry(bin(record.fct)).or_default() += 1;
                *slowdown.entry(bin((ratio * 1000.0) as u64)).or_default() += 1;
            }
            let pairs = |bins: std::collections::BTreeMap<u32, u64>| -> Vec<(u64, u64)> {
                bins.into_iter().map(|(bin, n)| (bin_floor(bin), n)).collect()
            };
            json!({
                "name": name,
                "from_bytes": from,
                "below_bytes": if below == u64::MAX { Value::Null } else { json!(below) },
                "flows": count,
                "finished": finished,
                "mean_fct_ps": if finished == 0 { Value::Null } else { json!(sum as f64 / finished as f64) },
                "mean_slowdown": if finished == 0 { Value::Null } else { json!(slowdowns / finished as f64) },
                "fct_ps_histogram": pairs(fct),
                "slowdown_thousandths_histogram": pairs(slowdown),
            })
        })
        .collect();
    Value::Array(classes)
}

/// Rounds of collective operations, and requests with their answers; left out, like rows, if there are too many.
pub fn collectives(spec: &Spec, flows: &Flows) -> Value {
    let batches = flows.batches();
    if batches.len() as u64 > spec.metrics.keep_flows_up_to {
        return Value::Null;
    }
    let groups = |entry: u8| match &spec.traffic[usize::from(entry)].source {
        Traffic::Tcp(Workload::Collective(collective)) => collective.groups(),
        _ => 1,
    };
    let one = |batch: Batch| {
        let (number, groups) = (batch.batch - 1, groups(batch.entry));
        json!({
            "entry": batch.entry,
            "group": number % groups,
            "round": number / groups,
            "flows": batch.flows,
            "bytes": batch.bytes,
            "start_ps": batch.start.0,
            "end_ps": batch.end.map(|end| end.0),
        })
    };
    Value::Array(batches.into_iter().map(one).collect())
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
}
