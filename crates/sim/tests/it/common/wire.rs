//! One flow as its sender's NIC saw it: a capture and a trace of one run together, in order of time.

use super::{merged, trace_column as column, traced};
use serde_json::{Value, json};
use spinewise_sim::outcome::{Outcome, PACKET_COLUMNS, Values};
use spinewise_sim::setup::Tuning;
use spinewise_sim::trace::Trace;
use std::collections::BTreeMap;

/// Something that passed the NIC.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pass {
    /// Picoseconds: when a packet chose its way, or had arrived.
    pub at: u64,
    pub what: What,
}

/// The same, without its instant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// Data chose this value, by this rule, for this uplink, and was on the line at `sent`; also the row of the trace.
    Data { seq: u64, bytes: u64, value: u16, sent: u64, rule: String, uplink: String, row: usize },
    /// An answer came to a packet sent with this value at that instant.
    Ack { next: u64, value: u16, marked: bool, sent: u64 },
    /// A packet with this value was not answered in time.
    TimedOut { value: u16 },
    /// A packet with this value has been trimmed.
    Trim { value: u16, last_hop: bool, sent: u64 },
    /// A probe left.
    Probe { value: u16, number: u64 },
    /// The probe was answered.
    Reply { number: u64, marked: bool },
}

impl What {
    /// Order at one instant: a host receives before it sends; its scheme learns of a trim when data has left.
    fn rank(&self) -> u8 {
        match self {
            What::Ack { .. } | What::Reply { .. } => 0,
            What::TimedOut { .. } => 1,
            What::Data { .. } | What::Probe { .. } => 2,
            What::Trim { .. } => 3,
        }
    }
}

/// A computation about a flow from the packets that pass its NIC.
pub(crate) trait Follows: Clone {
    /// Advances by one step.
    ///
    /// # Errors
    /// The packet in hand is not the one that should leave.
    fn follow(&mut self, at: u64, what: &What) -> Result<(), String>;

    /// Follows a whole flow. A NIC whose line is free at the very instant at which it receives something may have taken
    /// the next packet just before: the value of that packet decides.
    fn follow_all(mut self, passes: &[Pass]) -> Self {
        for at_once in passes.chunk_by(|one, other| one.at == other.at) {
            let at = at_once[0].at;
            let (sent, heard): (Vec<&Pass>, Vec<&Pass>) = at_once.iter().partition(|pass| pass.what.rank() == 2);
            let in_order = |order: Vec<&Pass>| {
                let mut next = self.clone();
                order.iter().try_for_each(|pass| next.follow(at, &pass.what)).map(|()| next)
            };
            let [after, before] = [at_once.iter().collect(), [sent, heard].concat()].map(in_order);
            self = after
                .or_else(|one| before.map_err(|other| format!("{one}; or {other}")))
                .unwrap_or_else(|why| panic!("at {at} ps: {why}"));
        }
        self
    }
}

/// Runs a spec and extracts what passed the NIC of the sender of its only flow, host 0.
pub(crate) fn wire(spec: &Value) -> (Outcome, Trace, Vec<Pass>) {
    let capture = json!({"metrics": {"capture": {"at": ["host0"], "max_packets": 1_000_000}}});
    let (outcome, trace) = traced(&merged(spec, &capture), &[0], Tuning::default());
    let mut passes = packets(&outcome);
    let mut chosen = choices(&trace).into_iter();
    for pass in &mut passes {
        if let What::Data { seq, bytes, value, .. } = pass.what {
            let sent = std::mem::replace(pass, chosen.next().expect("a choice for each packet of data")).at;
            let What::Data { seq: also, value: its, bytes: its_bytes, sent: its_start, .. } = &mut pass.what else {
                panic!("choices are of data")
            };
            assert_eq!((seq, value), (*also, *its), "packets leave in the order of their choices");
            (*its_bytes, *its_start) = (bytes, sent);
        }
    }
    passes.sort_by_key(|pass| (pass.at, pass.what.rank()));
    (outcome, trace, passes)
}

/// Adds the timeouts of a flow of Ultra Ethernet: each packet that is not answered in time has its own.
pub(crate) fn with_timeouts(mut passes: Vec<Pass>, rto: u64) -> Vec<Pass> {
    let answer = |pass: &Pass| match pass.what {
        What::Ack { sent, .. } | What::Trim { sent, .. } => Some((sent, pass.at)),
        What::Data { .. } | What::Probe { .. } | What::Reply { .. } | What::TimedOut { .. } => None,
    };
    // The first of several answers.
    let answered: BTreeMap<u64, u64> = passes.iter().rev().filter_map(answer).collect();
    let end = passes.last().map_or(0, |pass| pass.at);
    let late = |pass: &Pass| match pass.what {
        // A request for an answer has no bytes, and is not awaited.
        What::Data { value, sent, bytes: 1.., .. } if answered.get(&sent).is_none_or(|&at| at > pass.at + rto) => {
            Some(Pass { at: pass.at + rto, what: What::TimedOut { value } })
        }
        _ => None,
    };
    let timeouts: Vec<Pass> = passes.iter().filter_map(late).filter(|pass| pass.at < end).collect();
    passes.extend(timeouts);
    passes.sort_by_key(|pass| (pass.at, pass.what.rank()));
    passes
}

/// The choices of data, in order.
fn choices(trace: &Trace) -> Vec<Pass> {
    let names = ["time_ps", "kind", "seq", "wire_bytes", "way", "chosen", "rule", "links"];
    let [at, kind, seq, bytes, way, chosen, rule, links] = names.map(|name| column(trace, name));
    let word = |column: &str, n: u64| trace.words[column][n as usize].as_str().unwrap_or_default().to_string();
    let data = |row: usize| Pass {
        at: at[row],
        what: What::Data {
            seq: seq[row],
            bytes: bytes[row],
            value: way[row] as u16,
            sent: at[row],
            rule: word("rule", rule[row]),
            uplink: word("links", links[trace.offsets[row] as usize]),
            row,
        },
    };
    let of_data = |&row: &usize| chosen[row] == 1 && word("kind", kind[row]) == "data";
    (0..at.len()).filter(of_data).map(data).collect()
}

/// The captured packets; for data, the facts that the capture has.
fn packets(outcome: &Outcome) -> Vec<Pass> {
    let packets = outcome.packets.as_ref().expect("a capture");
    assert!(packets.full().is_empty(), "all were kept");
    let names = ["time_ps", "outbound", "kind", "seq", "ack", "payload_bytes", "tag", "ece", "nack", "cnp", "stamp_ps"];
    let [at, out, kind, seq, ack, bytes, tag, ece, nack, cnp, stamp] = names.map(|name| numbers(outcome, name));
    let read = |row: usize| {
        let value = tag[row] as u16;
        let what = match (packets.words["kind"][kind[row] as usize].as_str(), out[row]) {
            (Some("data"), 1) => {
                let (rule, uplink) = (String::new(), String::new());
                What::Data { seq: seq[row], bytes: bytes[row], value, sent: at[row], rule, uplink, row: 0 }
            }
            (Some("ack"), 0) if nack[row] == 1 => What::Trim { value, last_hop: cnp[row] == 1, sent: stamp[row] },
            (Some("ack"), 0) => What::Ack { next: ack[row], value, marked: ece[row] == 1, sent: stamp[row] },
            (Some("probe"), 1) => What::Probe { value, number: seq[row] },
            (Some("probe_reply"), 0) => What::Reply { number: seq[row], marked: ece[row] == 1 },
            (other, _) => panic!("{other:?} at the NIC of a sender"),
        };
        Pass { at: at[row], what }
    };
    (0..at.len()).map(read).collect()
}

/// A column of captured packets.
fn numbers(outcome: &Outcome, name: &str) -> Vec<u64> {
    let at = PACKET_COLUMNS.iter().position(|column| column.name == name);
    match &outcome.packets.as_ref().expect("a capture").rows[at.unwrap_or_else(|| panic!("no column {name}"))] {
        Values::U64(values) => values.clone(),
        Values::U32(values) => values.iter().map(|&value| value.into()).collect(),
        Values::U16(values) => values.iter().map(|&value| value.into()).collect(),
        Values::U8(values) => values.iter().map(|&value| value.into()).collect(),
        Values::F64(_) => panic!("{name} is no whole number"),
    }
}

/// Returns the packets that left by a captured port: when, and of which flow.
pub(crate) fn left(outcome: &Outcome) -> Vec<(u64, u64)> {
    let packets = outcome.packets.as_ref().expect("a capture");
    let [at, out, flow] = ["time_ps", "outbound", "flow"].map(|name| numbers(outcome, name));
    assert!(packets.full().is_empty(), "all were kept");
    (0..at.len()).filter(|&row| out[row] == 1).map(|row| (at[row], flow[row])).collect()
}
