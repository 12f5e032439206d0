//! PLB as in Linux: a connection that sees marks round after round switches to another flow label, preferably while
//! idle.
//!
//! Qureshi et al., "PLB: congestion signals are simple and effective for network load balancing", SIGCOMM 2022, by the
//! kernel's code, which was read as the patch that brought it (`net/ipv4/tcp_plb.c`, October 2022), with the one that has
//! DCTCP use it (`tcp_dctcp.c`) and the sysctls' documentation. Site: the sending host.
//!
//! | rule | function |
//! |---|---|
//! | `dctcp_update_alpha`: once a round trip, marked / delivered of it, in 256ths | [`Round::acknowledged`], [`Round::ratio`] |
//! | `tcp_plb_update_state`: consecutive congested rounds, at most N; one below the threshold resets the count | [`Plb::update`] |
//! | `tcp_plb_check_rehash`: N of them, or M with nothing in flight, and no pause: another label | [`Plb::check`] |
//! | the same is checked as an idle connection sends (`CA_EVENT_TX_START`) | `pick` |
//! | `tcp_plb_update_state_upon_rto`: a pause of a random time from one to two times the parameter, no congested rounds | [`Plb::suspend`] |
//! | `tcp_write_timeout`: each timeout takes another label, pause or not | `feedback`, [`crate::edge::label`] |
//! | without `net.core.txrehash` no label is ever changed | [`Plb::rethink`] |
//!
//! | our word | Linux's |
//! |---|---|
//! | label, a path tag that switches hash with the addresses (`path_tag = "outer"`) or with all ("inner") | txhash, IPv6 flow label |
//! | `rehash_rounds`, `idle_rehash_rounds`, `cong_thresh`, `suspend_rto_us` | the `tcp_plb_` sysctls; N, M and K of the paper, seconds |
//!
//! Departures:
//! - Linux counts packets delivered, those of selective acknowledgements at once; here it is bytes, as they are acknowledged in
//!   order.
//! - PLB of Linux is fed by DCTCP and BBR. Here any transport that echoes marks feeds it; one that does not has no congested
//!   round, and its timeouts alone move flows.
//! - A round ends with the acknowledgement of what had been sent when it began, under any congestion control.
//! - A timeout that follows another before anything is acknowledged does not extend the pause (`tcp_enter_loss`; from
//!   memory).
//! - A timeout begins a pause also if a mark or a loss has already cut this window of data; in Linux it does not.
//! - Those of [`crate::edge::label`].

use crate::edge::label::{Heard, Label, Receiver};
use crate::{
    AtHost, Aware, Compared, Cx, Event, Feedback, FlowKey, Hooks, Kind, Layout, Listed, Needs, Packet, Policy,
    Quantity, Rng, Rule, Sees, Series, Shape, Sheet, Sight, Span, Time, Verdict, Way,
    sees::{quantity, series},
};

crate::params! {
    /// PLB's parameters.
    Config {
        /// N: this many consecutive congested rounds change the label (Linux: tcp_plb_rehash_rounds, 12).
        rehash_rounds: u32 = 12, Allowed::Integer { min: 0.0, max: 31.0 };
        /// M: this many suffice when nothing is in flight; 0: never (Linux: tcp_plb_idle_rehash_rounds, 3).
        idle_rehash_rounds: u32 = 3, Allowed::Integer { min: 0.0, max: 31.0 };
        /// K: a round is congested if at least this many 256ths of it were marked (Linux: tcp_plb_cong_thresh, 128).
        cong_thresh: u32 = 128, Allowed::Integer { min: 0.0, max: 256.0 };
        /// After a timeout, marks change no label for a random time from this to twice this, microseconds (Linux:
        /// tcp_plb_suspend_rto_sec, 60 s).
        suspend_rto_us: f64 = 60_000_000.0, Allowed::Number { min: 0.0, max: 255_000_000.0 };
        /// May labels change at all (Linux: net.core.txrehash, 1)?
        txrehash: bool = true, Allowed::Bool;
        /// What makes a receiver change the label of its acknowledgements (Linux from 6.7: new_label).
        receiver: Receiver = Receiver::NewLabel, Allowed::Words(Receiver::WORDS);
    }
}

/// A round trip, and how much of it was marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// First byte never sent.
    sent: u64,
    /// Bytes acknowledged.
    acked: u64,
    /// The round ends when this much is acknowledged; 0: none has begun.
    ends_at: u64,
    /// Bytes acknowledged in the round.
    delivered: u32,
    /// Bytes whose acknowledgements were marked.
    marked: u32,
}

impl Round {
    /// Whether nothing is in flight.
    const fn is_idle(&self) -> bool {
        self.acked >= self.sent
    }

    /// Counts an acknowledgement. Returns the marked and all bytes of a round that ends with it.
    // dctcp_update_alpha: a round is over when all that was sent as it began is acknowledged.
    #[inline]
    fn acknowledged(&mut self, bytes: u64, marked: bool) -> Option<(u32, u32)> {
        if self.ends_at == 0 {
            self.ends_at = self.sent;
        }
        self.acked += bytes;
        self.delivered = self.delivered.saturating_add(bytes as u32);
        self.marked = self.marked.saturating_add(if marked { bytes as u32 } else { 0 });
        if self.acked < self.ends_at {
            return None;
        }
        let counts = (self.marked, self.delivered);
        self.ends_at = if self.is_idle() { 0 } else { self.sent };
        (self.marked, self.delivered) = (0, 0);
        Some(counts)
    }

    /// The marked share, in 256ths; none for a round without data.
    // ce_ratio = (delivered_ce << TCP_PLB_SCALE) / delivered
    fn ratio((marked, delivered): (u32, u32)) -> Option<u32> {
        (delivered > 0).then(|| ((u64::from(marked) << 8) / u64::from(delivered)) as u32)
    }
}

/// Row per connection at each end: rounds at the sender, arrivals at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    round: Round,
    heard: Heard,
    /// Until this time marks change no label.
    paused_until: Time,
    label: Label,
    /// Consecutive congested rounds.
    congested: u8,
    /// Whether a timeout has come, and nothing has been acknowledged since.
    in_loss: bool,
    /// Why the label was reconsidered since the last packet.
    rethought: Rethought,
}

const _: () = assert!(size_of::<End>() <= 64);

/// Why a label was reconsidered, if it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Rethought {
    #[default]
    Not,
    Congested,
    Idle,
    Timeout,
}

/// Another flow label for connections that see marks.
#[derive(Clone, Copy, Debug)]
pub struct Plb {
    rehash_rounds: u8,
    idle_rehash_rounds: u8,
    cong_thresh: u32,
    suspend: Span,
    txrehash: bool,
    receiver: Receiver,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Stays = Rule::Keeps("no reason to change the label"),
        First = Rule::Chooses("the first packet: a label drawn at random"),
        Congested = Rule::Chooses("too many consecutive rounds were congested: another label"),
        Idle = Rule::Chooses("some consecutive rounds were congested, and nothing is in flight: another label"),
        Timeout = Rule::Chooses("a timeout: another label"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Congested = quantity("congested", "round trips", "consecutive congested ones"),
        Marked = quantity("marked", "bytes", "marked ones in the current round trip"),
        Delivered = quantity("delivered", "bytes", "acknowledged in the current round trip"),
        Pause = quantity("pause", "µs", "remaining pause after a timeout"),
    }

    /// Its series.
    enum Points: Series {
        Congested = series("plb_rehash", "a flow's new label, after congested rounds"),
        Timeout = series("timeout_rehash", "a flow's new label, after a timeout"),
        Duplicate = series("duplicate_rehash", "new label of a flow's acknowledgements, after a duplicate"),
    }
}

impl Policy for Plb {
    const SHEET: Sheet = Sheet {
        name: "plb",
        summary: "flows that see marks for several round trips, or a timeout, switch hashed flow labels, as in Linux",
        source: "Qureshi et al., SIGCOMM 2022; Linux tcp_plb.c",
        unit: "flow",
        series: Points::ALL,
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["ECN marks", "timeouts", "duplicates at the receiver"],
            state: "per flow, at both hosts",
            needs: Needs::Nothing,
            order: "a flow moves when idle or after many marked round trips",
            pick: "O(1)",
            update: "O(1) per ACK",
        }),
        sees: Sees { rules: Why::ALL, flow: OfFlow::ALL, ..Sees::NOTHING },
        three_tiers: "switches at every tier hash the label",
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS).and(Hooks::INGRESS);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: End }

    fn new(config: &Config) -> Self {
        Plb {
            rehash_rounds: config.rehash_rounds as u8,
            idle_rehash_rounds: config.idle_rehash_rounds as u8,
            cong_thresh: config.cong_thresh,
            suspend: Span::from_us_f64(config.suspend_rto_us),
            txrehash: config.txrehash,
            receiver: config.receiver,
        }
    }

    fn row_of(key: FlowKey) -> FlowKey {
        FlowKey(key.0 & !1)
    }

    fn layout(&self, _: &Shape) -> Layout {
        // Labels are numbers to be hashed, and those of acknowledgements belong to the receiver's end.
        Layout { draws_tags: true, picks_acks: true, ..Layout::default() }
    }

    fn sees(&self, cx: &Cx<'_, Self>, end: &End, packet: &Packet, sight: &mut Sight<'_>) {
        let starts =
            packet.kind == Kind::Data && end.round.is_idle() && self.would_rehash(end, cx.now) && self.txrehash;
        let (mut label, mut rng) = (end.label, *cx.rng);
        if starts && label.is_drawn() {
            label.rethink(&mut rng);
        }
        label.tell(sight, rng);
        sight.rule(match end.rethought {
            _ if !end.label.is_drawn() => Why::First,
            Rethought::Not if starts => Why::Idle,
            Rethought::Not => Why::Stays,
            Rethought::Congested => Why::Congested,
            Rethought::Idle => Why::Idle,
            Rethought::Timeout => Why::Timeout,
        });
        sight.flow(OfFlow::Congested, f64::from(end.congested));
        sight.flow(OfFlow::Marked, f64::from(end.round.marked));
        sight.flow(OfFlow::Delivered, f64::from(end.round.delivered));
        sight.flow(OfFlow::Pause, crate::sees::us(end.paused_until.since(cx.now)));
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, end: &mut End, packet: &Packet, _: &mut ()) -> Way {
        if packet.kind == Kind::Ack {
            end.heard.acknowledges(packet.seq);
        } else {
            // CA_EVENT_TX_START: the first packet after an idle time.
            if end.round.is_idle() && end.label.is_drawn() {
                self.check(cx, end);
            }
            end.round.sent = end.round.sent.max(packet.seq + u64::from(packet.payload));
        }
        end.rethought = Rethought::Not;
        end.label.way(cx.rng)
    }

    fn ingress(&self, cx: &mut Cx<'_, Self>, end: &mut End, packet: &Packet, _: &mut ()) -> Verdict {
        if packet.kind == Kind::Data
            && end.heard.calls(packet, self.receiver)
            && end.label.is_drawn()
            && self.rethink(end, cx.rng)
        {
            cx.out.record(Points::Duplicate, f64::from(end.label.number()));
        }
        Verdict::Forward
    }

    fn feedback(&self, cx: &mut Cx<'_, Self>, end: Option<&mut End>, feedback: &Feedback) {
        let Some(end) = end else { return };
        match feedback.event {
            Event::Ack { bytes, marked, .. } => {
                end.in_loss &= bytes == 0;
                if let Some(ratio) = end.round.acknowledged(bytes, marked).and_then(Round::ratio) {
                    self.update(end, ratio);
                    self.check(cx, end);
                }
            }
            Event::Timeout if end.label.is_drawn() => {
                self.suspend(end, cx.now, cx.rng);
                if self.rethink(end, cx.rng) {
                    end.rethought = Rethought::Timeout;
                    cx.out.record(Points::Timeout, f64::from(end.label.number()));
                }
            }
            // The connection has carried other messages: bytes count from 0 again.
            Event::FlowStart { .. } => end.round = Round::default(),
            Event::FlowEnd
            | Event::Trimmed { .. }
            | Event::Timeout
            | Event::Retransmit
            | Event::ProbeReply { .. }
            | Event::ProbeLost => {}
        }
    }
}

impl Plb {
    /// A round has ended, of which this share was marked, in 256ths.
    // tcp_plb_update_state
    fn update(&self, end: &mut End, ratio: u32) {
        if ratio < self.cong_thresh {
            end.congested = 0;
        } else if end.congested < self.rehash_rounds {
            end.congested += 1;
        }
    }

    /// Whether there have been enough congested rounds, with no pause in force.
    fn would_rehash(&self, end: &End, now: Time) -> bool {
        let forced = end.congested >= self.rehash_rounds;
        let idle = self.idle_rehash_rounds > 0 && end.round.is_idle() && end.congested >= self.idle_rehash_rounds;
        (forced || idle) && now >= end.paused_until
    }

    /// Takes another label if it is time.
    // tcp_plb_check_rehash
    fn check(&self, cx: &mut Cx<'_, Self>, end: &mut End) {
        if !self.would_rehash(end, cx.now) {
            return;
        }
        let forced = end.congested >= self.rehash_rounds;
        if self.rethink(end, cx.rng) {
            end.rethought = if forced { Rethought::Congested } else { Rethought::Idle };
            cx.out.record(Points::Congested, f64::from(end.label.number()));
        }
        end.congested = 0;
    }

    /// A timeout: marks change no label for some time.
    // tcp_plb_update_state_upon_rto
    fn suspend(&self, end: &mut End, now: Time, rng: &mut Rng) {
        if !end.in_loss {
            let part = u64::from(rng.below(1 << 16));
            end.paused_until = now + self.suspend + Span((self.suspend.0 * part) >> 16);
            (end.congested, end.in_loss) = (0, true);
        }
    }

    /// Draws another label, if labels may change.
    // sk_rethink_txhash
    fn rethink(&self, end: &mut End, rng: &mut Rng) -> bool {
        if self.txrehash {
            end.label.rethink(rng);
        }
        self.txrehash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_round_are_in_256ths_rounded_down() {
        assert_eq!(Round::ratio((0, 0)), None);
        assert_eq!(Round::ratio((1, 3)), Some(85));
        assert_eq!([(0, 9), (9, 9), (4, 8), (u32::MAX, u32::MAX)].map(Round::ratio), [0, 256, 128, 256].map(Some));
    }

    #[test]
    fn half_of_a_round_is_congestion_and_less_is_none() {
        let (plb, mut end) = (Plb::new(&Config::default()), End::default());
        for (ratio, congested) in [(128, 1), (256, 2), (127, 0), (200, 1)] {
            plb.update(&mut end, ratio);
            assert_eq!(end.congested, congested);
        }
        (0..40).for_each(|_| plb.update(&mut end, 256));
        assert_eq!(end.congested, 12, "no more than N");
    }
}
