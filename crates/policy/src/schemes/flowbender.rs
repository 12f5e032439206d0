//! FlowBender: a flow whose packets are marked requests another path and takes whichever one the switches' hash gives
//! it.
//!
//! Kabbani, Vamanan, Hasan, Duchene, "FlowBender: flow-level adaptive routing for improved latency and throughput in
//! datacenter networks", CoNEXT 2014. Site: the sending host. The paper was not available: the rules, T and N are those
//! restated by later papers and the public ns-3 code (`tcp-flow-bender.cc`).
//!
//! | equation or rule | function |
//! |---|---|
//! | F = marked / all acknowledgements of one round trip | [`Bend::acknowledged`] |
//! | F > T in N consecutive round trips: another V | [`Bend::judge`] |
//! | a timeout: another V at once | `feedback` |
//! | N drawn again each time, so that flows do not move in lockstep | [`FlowBender::patience`] |
//! | what V may become | [`other`] |
//!
//! | our word | the paper's |
//! |---|---|
//! | tag, `v` | V, a header field that switches hash with the flow |
//! | epoch | RTT |
//!
//! Departures, and what the sources leave open:
//! - V works as in the paper only with `scheme.path_tag = "inner"`: switches hash it with the flow, and another V is a
//!   blindly drawn path, possibly the old one. With `"explicit"`, V is the path itself, and another V is another path.
//! - A round trip ends with the acknowledgement of what had been sent when it began, as DCTCP counts windows. The ns-3
//!   code uses a clock of 100 µs instead, and N = 5, not the N = 1 that other sources give.
//! - What is in flight when a flow bends belongs to the next epoch: its marks, from the old path, are attributed to the
//!   new one. With N = 1 a flow thus mostly bends twice in an episode of congestion.
//! - V starts at random and changes at random (`change`): with explicit tags a V that is counted up would send all
//!   flows of one bad path to the same next one. `"next"` is the V + 1 of the ns-3 code.
//! - How N is drawn is not known; here it is uniform from N to N + `n_jitter`. Off by default.
//! - No pause before the first packet on a new path (optional in the ns-3 code): reordering is not hidden.

use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, Hooks, Kind, Listed, Needs, Packet, Policy, Quantity, Rng, Rule,
    Sees, Series, Shape, Sheet, Sight, Way,
    sees::{quantity, series},
};

crate::choice! {
    /// The change of V.
    Change {
        /// Any other value, all equally likely.
        Random = "random",
        /// The next value, round and round.
        Next = "next",
    }
}

crate::params! {
    /// FlowBender's parameters.
    Config {
        /// T: a round trip with a larger share of marked acknowledgements is congested (FlowBender: 5 %).
        t: f64 = 0.05, Allowed::Number { min: 0.0, max: 1.0 };
        /// N: this many consecutive congested round trips change the path (FlowBender: 1).
        n: u32 = 1, Allowed::Integer { min: 1.0, max: 1000.0 };
        /// Each time, N is drawn from n to n plus this, so that flows do not move in lockstep; 0: always n.
        n_jitter: u32 = 0, Allowed::Integer { min: 0.0, max: 1000.0 };
        /// Values that V can take; 0: as many as there are paths. Paths may be hashed together.
        values: u32 = 0, Allowed::Integer { min: 0.0, max: 65_535.0 };
        /// How V changes (ns-3 code: next).
        change: Change = Change::Random, Allowed::Words(Change::WORDS);
        /// A timeout changes the path too.
        on_timeout: bool = true, Allowed::Bool;
    }
}

/// Row per flow: its V, and the current round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bend {
    /// First byte never sent.
    sent: u64,
    /// Bytes acknowledged.
    acked: u64,
    /// The round trip ends when this much is acknowledged; 0: none has begun.
    ends_at: u64,
    /// Acknowledgements of the round trip.
    total: u32,
    /// The marked ones among them.
    marked: u32,
    /// Consecutive congested round trips.
    congested: u16,
    /// This number of them changes V; 0: the flow has sent nothing yet.
    patience: u16,
    v: u16,
    /// Values that V can take towards its destination.
    values: u16,
    /// Why V changed since the last packet.
    bent: Bent,
}

/// Why V changed, if it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Bent {
    #[default]
    Not,
    Marks,
    Timeout,
}

impl Bend {
    /// Counts an acknowledgement of `bytes` new bytes. Returns the marked and all acknowledgements of a round trip that
    /// ends with it.
    // F is computed once per round trip.
    #[inline]
    fn acknowledged(&mut self, bytes: u64, marked: bool) -> Option<(u32, u32)> {
        if self.ends_at == 0 {
            self.ends_at = self.sent;
        }
        self.acked += bytes;
        self.total += 1;
        self.marked += u32::from(marked);
        if self.acked < self.ends_at {
            return None;
        }
        let counts = (self.marked, self.total);
        // If nothing is outstanding, the next one begins with its first acknowledgement.
        self.ends_at = if self.sent > self.acked { self.sent } else { 0 };
        (self.marked, self.total) = (0, 0);
        Some(counts)
    }

    /// A message begins, of a connection that may have carried others: bytes count from 0 again.
    fn begin(&mut self) {
        (self.sent, self.acked, self.ends_at) = (0, 0, 0);
        (self.marked, self.total) = (0, 0);
    }

    /// A round trip ended, congested or not. Returns whether V should change.
    // F > T in N round trips in a row.
    #[inline]
    fn judge(&mut self, congested: bool) -> bool {
        self.congested = if congested { self.congested + 1 } else { 0 };
        self.congested >= self.patience
    }
}

/// Another path for flows that see marks.
#[derive(Clone, Copy, Debug)]
pub struct FlowBender {
    /// T in billionths.
    t: u64,
    n: u16,
    n_jitter: u32,
    values: u16,
    change: Change,
    on_timeout: bool,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Stays = Rule::Keeps("no reason to change V"),
        First = Rule::Chooses("the flow's first packet: V drawn at random"),
        Marked = Rule::Chooses("too many packets in a round trip were marked: another V"),
        Timeout = Rule::Chooses("a timeout: another V"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Acked = quantity("acked", "packets", "acknowledgements in the current round trip"),
        Marked = quantity("marked", "packets", "marked ones among them"),
        Congested = quantity("congested", "round trips", "consecutive congested ones"),
    }

    /// Its series.
    enum Points: Series {
        Bent = series("bent", "a flow's new tag V"),
    }
}

impl Policy for FlowBender {
    const SHEET: Sheet = Sheet {
        name: "flowbender",
        summary: "flows whose packets are marked for a round trip change a hashed tag, and so possibly their path",
        source: "Kabbani et al., CoNEXT 2014",
        unit: "flow",
        told: &["the number of paths (unless set by values)"],
        series: Points::ALL,
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["ECN marks", "timeouts"],
            state: "per flow, at the host",
            needs: Needs::Hosts,
            order: "a flow moves only after a marked round trip",
            pick: "O(1)",
            update: "O(1) per ACK",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Bend }

    fn new(config: &Config) -> Self {
        FlowBender {
            t: (config.t * 1e9 + 0.5) as u64,
            n: config.n as u16,
            n_jitter: config.n_jitter,
            values: config.values as u16,
            change: config.change,
            on_timeout: config.on_timeout,
        }
    }

    fn misfit(&self, shape: &Shape) -> Option<(&'static str, crate::config::Allowed)> {
        let most = f64::from(shape.ways);
        let allowed = crate::config::Allowed::Integer { min: 0.0, max: most };
        (self.values > shape.ways).then_some(("values", allowed))
    }

    fn sees(&self, _: &Cx<'_, Self>, flow: &Bend, _: &Packet, sight: &mut Sight<'_>) {
        sight.rule(match flow.bent {
            _ if flow.patience == 0 => Why::First,
            Bent::Not => Why::Stays,
            Bent::Marks => Why::Marked,
            Bent::Timeout => Why::Timeout,
        });
        sight.flow(OfFlow::Acked, f64::from(flow.total));
        sight.flow(OfFlow::Marked, f64::from(flow.marked));
        sight.flow(OfFlow::Congested, f64::from(flow.congested));
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Bend, packet: &Packet, _: &mut ()) -> Way {
        let values = self.values(cx.view.ways_to_host(packet.dst));
        if packet.kind != Kind::Data || values == 0 {
            return Way::ANY;
        }
        if flow.patience == 0 {
            flow.v = cx.rng.below(u32::from(values)) as u16;
            flow.patience = self.patience(cx.rng);
        }
        (flow.values, flow.bent) = (values, Bent::Not);
        flow.sent = flow.sent.max(packet.seq + u64::from(packet.payload));
        // The number of paths may differ from when V was drawn.
        Way(if flow.v < values { flow.v } else { flow.v % values })
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Bend>, feedback: &Feedback) {
        let Some(flow) = flow else { return };
        let bends = match feedback.event {
            Event::FlowStart { .. } => {
                flow.begin();
                Bent::Not
            }
            Event::Ack { bytes, marked, .. } => match flow.acknowledged(bytes, marked) {
                Some((marked, total)) if flow.judge(self.is_congested(marked, total)) => Bent::Marks,
                _ => Bent::Not,
            },
            Event::Timeout if self.on_timeout => Bent::Timeout,
            _ => Bent::Not,
        };
        if bends != Bent::Not && flow.patience > 0 {
            self.bend(cx, flow, bends);
        }
    }
}

impl FlowBender {
    /// Values of V towards a host with this number of paths.
    #[inline]
    fn values(&self, ways: u16) -> u16 {
        if self.values == 0 || self.values > ways { ways } else { self.values }
    }

    /// Whether F > T.
    #[inline]
    fn is_congested(&self, marked: u32, total: u32) -> bool {
        u64::from(marked) * 1_000_000_000 > self.t * u64::from(total)
    }

    /// N of the next wait.
    fn patience(&self, rng: &mut Rng) -> u16 {
        let more = if self.n_jitter > 0 { rng.below(self.n_jitter + 1) as u16 } else { 0 };
        self.n + more
    }

    fn bend(&self, cx: &mut Cx<'_, Self>, flow: &mut Bend, why: Bent) {
        flow.bent = why;
        flow.v = other(flow.v, flow.values, self.change, cx.rng);
        flow.congested = 0;
        flow.patience = self.patience(cx.rng);
        cx.out.record(Points::Bent, f64::from(flow.v));
    }
}

/// A value below `n` in place of `v`, another one if there is one.
pub fn other(v: u16, n: u16, change: Change, rng: &mut Rng) -> u16 {
    if n < 2 {
        return 0;
    }
    let step = match change {
        Change::Next => 1,
        Change::Random => 1 + rng.below(u32::from(n) - 1),
    };
    ((u32::from(v) + step) % u32::from(n)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow in progress: `sent` bytes outstanding, nothing acknowledged, and its first round trip ends with all of
    /// them.
    fn flow(sent: u64, patience: u16) -> Bend {
        Bend { sent, ends_at: sent, patience, ..Bend::default() }
    }

    #[test]
    fn a_round_trip_ends_with_what_was_out_when_it_began() {
        let mut flow = flow(10_000, 1);
        assert_eq!(flow.acknowledged(4_000, true), None);
        flow.sent = 25_000;
        assert_eq!(flow.acknowledged(0, false), None, "a duplicate counts, and ends nothing");
        assert_eq!(flow.acknowledged(6_000, false), Some((1, 3)));
        assert_eq!(flow.acknowledged(14_999, false), None);
        assert_eq!(flow.acknowledged(1, true), Some((1, 2)), "what was sent meanwhile is the next one");
        // Everything is acknowledged: the next acknowledgement is a round trip of its own.
        flow.sent = 26_000;
        assert_eq!(flow.acknowledged(1_000, true), Some((1, 1)));
    }

    #[test]
    fn five_percent_is_not_more_than_five_percent() {
        let bender = FlowBender::new(&Config::default());
        assert!(!bender.is_congested(1, 20) && bender.is_congested(1, 19) && bender.is_congested(2, 39));
        assert!(!bender.is_congested(2, 40) && !bender.is_congested(0, 1));
        let never = FlowBender::new(&Config { t: 1.0, ..Config::default() });
        assert!(!never.is_congested(7, 7), "no share is above 1");
    }

    #[test]
    fn n_congested_round_trips_in_a_row_bend_a_flow() {
        let mut flow = flow(1, 3);
        let said = [true, true, false, true, true, true].map(|congested| flow.judge(congested));
        assert_eq!(said, [false, false, false, false, false, true]);
    }

    #[test]
    fn another_value_is_another_and_all_alike() {
        let mut rng = Rng::stream(1, "test", 0);
        let mut seen = [0u32; 8];
        for _ in 0..7_000 {
            seen[usize::from(other(3, 8, Change::Random, &mut rng))] += 1;
        }
        assert_eq!(seen[3], 0);
        assert!(seen.iter().enumerate().all(|(v, &n)| v == 3 || n.abs_diff(1_000) < 120), "{seen:?}");
        assert_eq!([6, 7].map(|v| other(v, 8, Change::Next, &mut rng)), [7, 0]);
        assert_eq!([0, 5].map(|n| other(4, n.min(1), Change::Random, &mut rng)), [0, 0]);
    }

    #[test]
    fn jitter_draws_n_from_its_range() {
        let bender = FlowBender::new(&Config { n: 2, n_jitter: 2, ..Config::default() });
        let mut rng = Rng::stream(1, "test", 0);
        let mut seen = [0u32; 6];
        (0..900).for_each(|_| seen[usize::from(bender.patience(&mut rng))] += 1);
        assert!(seen[0] + seen[1] + seen[5] == 0 && seen[2..5].iter().all(|&n| n > 240), "{seen:?}");
        let fixed = FlowBender::new(&Config::default());
        let before = rng;
        assert_eq!((fixed.patience(&mut rng), rng), (1, before), "nothing is drawn without it");
    }
}
