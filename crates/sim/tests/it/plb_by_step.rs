//! PLB step by step: one TCP connection over four spines, one of which is fast, until that one dies silently. Rounds,
//! congested ones and labels are computed from what passed the sender's NIC, by rules written separately here.

use crate::common::wire::{Follows, What, wire};
use crate::common::{all_finished, flow};
use serde_json::json;
use spinewise_sim::trace::Trace;

const US: u64 = 1_000_000;
/// N, K in 256ths, and the minimum pause.
const ROUNDS: u64 = 2;
const THRESH: u64 = 64;
const SUSPEND: f64 = 2_000.0;

/// Round trips of data, as DCTCP counts them: one ends when everything sent by its start is acknowledged.
#[derive(Clone)]
struct Rounds<'a> {
    trace: &'a Trace,
    sent: u64,
    acked: u64,
    ends: Option<u64>,
    marked: u64,
    delivered: u64,
    congested: u64,
    paused_until: f64,
    in_loss: bool,
    /// Too many rounds have been congested since the last packet.
    moves: bool,
    label: Option<u16>,
    by_marks: u32,
    by_timeouts: u32,
    /// Rounds after which a pause kept the label.
    held_back: u32,
}

impl Rounds<'_> {
    /// `dctcp_update_alpha`, `tcp_plb_update_state` and `tcp_plb_check_rehash`.
    fn hears(&mut self, now: f64, bytes: u64, marked: bool) {
        let end = *self.ends.get_or_insert(self.sent);
        self.in_loss &= bytes == 0;
        self.acked += bytes;
        self.delivered += bytes;
        self.marked += if marked { bytes } else { 0 };
        if self.acked < end {
            return;
        }
        if let Some(ratio) = (self.marked * 256).checked_div(self.delivered) {
            self.congested = if ratio >= THRESH { (self.congested + 1).min(ROUNDS) } else { 0 };
            let (enough, paused) = (self.congested == ROUNDS, now < self.paused_until);
            self.held_back += u32::from(enough && paused);
            if enough && !paused {
                (self.moves, self.congested) = (true, 0);
            }
        }
        self.ends = (self.acked < self.sent).then_some(self.sent);
        (self.marked, self.delivered) = (0, 0);
    }

    /// `tcp_plb_update_state_upon_rto`: the length of the pause is random.
    fn times_out(&mut self, now: f64, pause: f64) -> Result<(), String> {
        self.by_timeouts += 1;
        if !self.in_loss {
            (self.congested, self.in_loss, self.paused_until) = (0, true, now + pause);
            if !(SUSPEND..=2.0 * SUSPEND).contains(&pause) {
                return Err(format!("a pause of {pause} us"));
            }
        }
        Ok(())
    }
}

impl Follows for Rounds<'_> {
    fn follow(&mut self, at: u64, what: &What) -> Result<(), String> {
        let now = at as f64 / 1e6;
        match what {
            What::Ack { next, marked, .. } => self.hears(now, next.saturating_sub(self.acked), *marked),
            What::Data { seq, bytes, value, rule, row, .. } => {
                let by_timeout = rule.contains("a timeout");
                if by_timeout {
                    self.times_out(now, saw(self.trace, "plb.pause", *row))?;
                }
                let says = match (self.label, self.moves) {
                    _ if by_timeout => "a timeout: another label",
                    (None, _) => "the first packet",
                    (_, true) => "too many consecutive rounds",
                    (_, false) => "no reason to change the label",
                };
                let other = self.label.is_some_and(|label| label != *value);
                if !rule.contains(says) || !by_timeout && other != self.moves {
                    return Err(format!("{value} after {:?} by \"{rule}\", not: {says}", self.label));
                }
                let names = ["plb.congested", "plb.marked", "plb.delivered"];
                let seen = names.map(|name| saw(self.trace, name, *row) as u64);
                if seen != [self.congested, self.marked, self.delivered] {
                    return Err(format!("{seen:?}, not {:?}", [self.congested, self.marked, self.delivered]));
                }
                self.by_marks += u32::from(self.moves);
                (self.moves, self.label) = (false, Some(*value));
                self.sent = self.sent.max(seq + bytes);
            }
            other => panic!("{other:?} of TCP"),
        }
        Ok(())
    }
}

fn saw(trace: &Trace, name: &str, row: usize) -> f64 {
    trace.saw.iter().find(|saw| saw.name == name).unwrap_or_else(|| panic!("nothing saw {name}")).values[row]
}

#[test]
fn plb_counts_rounds_and_pauses_packet_by_packet() {
    let slow: Vec<_> = [0, 1, 3].map(|spine| json!({"spine": spine, "rate_gbps": 4})).into();
    let spec = json!({
        "preset": "datacenter", "seed": 5,
        "scheme": {"name": "plb", "params": {"rehash_rounds": ROUNDS, "cong_thresh": THRESH, "suspend_rto_us": SUSPEND}},
        "topology": {"leaves": 2, "spines": 4, "hosts_per_leaf": 1, "host_rate_gbps": 10, "fabric_rate_gbps": 10,
                     "host_delay_ns": 1000, "fabric_delay_ns": 1000, "override": slow},
        "switch": {"buffer_packets": 200, "ecn_threshold_packets": 2},
        "transport": {"kind": "dctcp", "recovery": "newreno", "min_rto_us": 1000, "initial_rto_us": 1000},
        "traffic": [{"kind": "flows", "list": [flow(0, 1, 20_000_000, 0)]}],
        "fault": [{"kind": "down", "ends": ["leaf0", "spine2"], "direction": "forward", "at_us": 8_000}],
        "detection": {"mode": "never"}, "run": {"until_us": 100_000},
    });
    let (outcome, trace, passes) = wire(&spec);
    all_finished(&outcome);
    let rounds = Rounds {
        trace: &trace,
        sent: 0,
        acked: 0,
        ends: None,
        marked: 0,
        delivered: 0,
        congested: 0,
        paused_until: 0.0,
        in_loss: false,
        moves: false,
        label: None,
        by_marks: 0,
        by_timeouts: 0,
        held_back: 0,
    };
    let rounds = rounds.follow_all(&passes);
    // The first labels lead over slow spines, one over the fast one. That dies, and timeouts lead away; afterwards
    // marks would, if it were not for the pause.
    let counts = (rounds.by_marks, rounds.by_timeouts, rounds.held_back);
    assert!(counts.0 > 0 && counts.1 > 0 && counts.2 > 0, "{counts:?}");
    let uplink_at = |until: u64| {
        let before = passes.iter().filter(|pass| pass.at < until);
        before
            .rev()
            .find_map(|pass| if let What::Data { uplink, .. } = &pass.what { Some(uplink.as_str()) } else { None })
    };
    assert_eq!(uplink_at(8_000 * US), Some("leaf0->spine2"), "the fast one, before it dies");
    assert!(uplink_at(u64::MAX).is_some_and(|uplink| uplink != "leaf0->spine2"));
}
