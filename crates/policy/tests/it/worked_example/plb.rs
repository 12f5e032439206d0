//! PLB: a flow that sees marks round after round takes another flow label, and so perhaps another path.
//!
//! Qureshi et al., "PLB: congestion signals are simple and effective for network load balancing", SIGCOMM 2022, as
//! Linux has it (`net/ipv4/tcp_plb.c`). Site: the sending host.
//!
//! | rule | function |
//! |---|---|
//! | share of bytes marked in a round; congested if it reaches the threshold | [`Round::acknowledged`], [`Plb::is_congested`] |
//! | congested rounds in a row, counted up to N | [`Plb::count`] |
//! | N of them, or M with nothing in flight: another label | [`Plb::moves`] |
//! | a timeout: another label, and none for marks in the next time | `feedback` |
//!
//! | our word | the paper's |
//! |---|---|
//! | label, a path tag that switches hash with the flow (`path_tag = "inner"`) | IPv6 flow label |
//! | bent | repathed |
//!
//! Departures: labels have 16 bits for 20. A round ends with the acknowledgement of what had been sent when it began.

use crate::{
    AtHost, Cx, Event, Feedback, Hooks, Kind, Layout, Listed, Packet, Policy, Rng, Series, Shape, Sheet, Span, Time,
    Way, sees::series,
};

crate::params! {
    /// PLB's parameters.
    Config {
        /// N: this many congested rounds in a row change the path (Linux: tcp_plb_rehash_rounds, 12).
        rehash_rounds: u32 = 12, Allowed::Integer { min: 1.0, max: 31.0 };
        /// M: this many do where nothing is in flight, and so nothing can be reordered; 0: never (Linux:
        /// tcp_plb_idle_rehash_rounds, 3).
        idle_rehash_rounds: u32 = 3, Allowed::Integer { min: 0.0, max: 31.0 };
        /// A round is congested if at least this share of its bytes was marked (Linux: tcp_plb_cong_thresh, 128 of 256).
        congested_share: f64 = 0.5, Allowed::Number { min: 0.0, max: 1.0 };
        /// After a timeout marks change no path for a random time from this to twice this, microseconds (Linux:
        /// tcp_plb_suspend_rto_sec, 60).
        suspend_us: f64 = 60_000_000.0, Allowed::Number { min: 0.0, max: 255_000_000.0 };
    }
}

/// Row per flow: its label, and the round under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// None before its first packet.
    label: Option<u16>,
    /// First byte never sent.
    sent: u64,
    /// Bytes acknowledged.
    acked: u64,
    /// The round ends when this much is acknowledged; 0: none has begun.
    ends_at: u64,
    /// Bytes acknowledged in the round.
    delivered: u64,
    /// Those whose acknowledgements were marked.
    marked: u64,
    /// Congested rounds in a row.
    congested: u32,
    /// Until then marks change no path.
    paused_until: Time,
}

impl Round {
    /// Counts an acknowledgement. Says the marked and all bytes of a round that ends with it.
    pub fn acknowledged(&mut self, bytes: u64, marked: bool) -> Option<(u64, u64)> {
        if self.ends_at == 0 {
            self.ends_at = self.sent;
        }
        self.acked += bytes;
        self.delivered += bytes;
        self.marked += if marked { bytes } else { 0 };
        if self.acked < self.ends_at {
            return None;
        }
        let counts = (self.marked, self.delivered);
        self.ends_at = if self.sent > self.acked { self.sent } else { 0 };
        (self.marked, self.delivered) = (0, 0);
        Some(counts)
    }
}

crate::listed! {
    /// Its series.
    enum Points: Series {
        Bent = series("bent", "label: that of a flow from now on"),
    }
}

/// Another flow label for flows that see marks.
#[derive(Clone, Copy, Debug)]
pub struct Plb {
    rehash_rounds: u32,
    idle_rehash_rounds: u32,
    /// In billionths.
    congested_share: u64,
    suspend: Span,
}

impl Policy for Plb {
    const SHEET: Sheet = Sheet {
        name: "plb_example",
        summary: "flows marked for several rounds take another flow label, and so perhaps another path",
        source: "Qureshi et al., SIGCOMM 2022",
        unit: "flow",
        series: Points::ALL,
        ..Sheet::AT_HOST
    };
    // Acknowledgements come to `feedback` with FEEDBACK, retransmissions and timeouts with LOSS.
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Round }

    fn new(config: &Config) -> Self {
        Plb {
            rehash_rounds: config.rehash_rounds,
            idle_rehash_rounds: config.idle_rehash_rounds,
            congested_share: (config.congested_share * 1e9 + 0.5) as u64,
            suspend: Span::from_us_f64(config.suspend_us),
        }
    }

    fn layout(&self, _: &Shape) -> Layout {
        // A label is a number to be hashed, not the number of a path.
        Layout { draws_tags: true, ..Layout::default() }
    }

    fn pick(&self, cx: &mut Cx<'_, Self>, round: &mut Round, packet: &Packet, _: &mut ()) -> Way {
        if packet.kind != Kind::Data {
            return Way::ANY;
        }
        round.sent = round.sent.max(packet.seq + u64::from(packet.payload));
        Way(*round.label.get_or_insert_with(|| label(cx.rng)))
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Round>, feedback: &Feedback) {
        let Some(round) = flow else { return };
        match feedback.event {
            Event::Ack { bytes, marked, .. } => {
                let Some((marked, delivered)) = round.acknowledged(bytes, marked) else { return };
                self.count(round, marked, delivered);
                if self.moves(round) && cx.now >= round.paused_until {
                    bend(cx, round);
                }
            }
            Event::Timeout => {
                let part = u64::from(cx.rng.below(1 << 16));
                round.paused_until = cx.now + self.suspend + Span((self.suspend.0 * part) >> 16);
                bend(cx, round);
            }
            _ => {}
        }
    }
}

impl Plb {
    /// Was this share of a round marked?
    pub fn is_congested(&self, marked: u64, delivered: u64) -> bool {
        marked * 1_000_000_000 >= self.congested_share * delivered
    }

    /// A round has ended. One without data says nothing.
    pub fn count(&self, round: &mut Round, marked: u64, delivered: u64) {
        if delivered > 0 {
            let congested = self.is_congested(marked, delivered);
            round.congested = if congested { (round.congested + 1).min(self.rehash_rounds) } else { 0 };
        }
    }

    /// Have there been enough congested rounds?
    pub fn moves(&self, round: &Round) -> bool {
        let idle = self.idle_rehash_rounds > 0 && round.acked >= round.sent;
        round.congested >= self.rehash_rounds || (idle && round.congested >= self.idle_rehash_rounds)
    }
}

/// Any label; all ones mean none.
fn label(rng: &mut Rng) -> u16 {
    rng.below(65_535) as u16
}

/// Another label, the old one perhaps.
fn bend(cx: &mut Cx<'_, Plb>, round: &mut Round) {
    let drawn = label(cx.rng);
    (round.label, round.congested) = (Some(drawn), 0);
    cx.out.record(Points::Bent, f64::from(drawn));
}
