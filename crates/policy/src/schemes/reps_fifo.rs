//! The original REPS: a queue of the entropy values that came through, without freezing; and its mix with the
//! [bitmap](super::bitmap), which uet-htsim runs by default.
//!
//! Source: descriptions of UecMpRepsLegacy and UecMpMixed in uet-htsim (`uec_mp.cpp`). Site: the sending host.
//!
//! | rule | function |
//! |---|---|
//! | good news: the value joins the queue | [`Queue::add`] |
//! | packets sent before a first window, or all values, have been sent count 1, 2, 3, … | [`Row::counts_up`] |
//! | then the head of the queue, or any value | [`Queue::take`] |
//! | mixed: the head of the queue, or the bitmap's choice | [`Mixed`] |
//!
//! That window is the initial one of a connection. In uet-htsim it is the current one, which a scheme does not see:
//! after early trims fewer packets count up. Retransmissions count up as well, and a connection that is kept has one
//! first window.
//!
//! The queue has no bound in uet-htsim. Here it keeps the last 512 values, more than a window has packets at 400 Gbps.

use crate::edge::entropy::{self, Verdict};
use crate::edge::penalties::{Blames, Penalties};
use crate::{
    AtHost, Aware, Compared, Cx, Feedback, Hooks, HostView, Layout, Listed, Needs, Packet, Policy, Rng, Rule, Sees,
    Shape, Sheet, Sight, Way,
};

/// Values that a queue keeps.
const ROOM: usize = 512;

/// The values that came through, first in, first out.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    values: [u16; ROOM],
    head: u16,
    len: u16,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { values: [0; ROOM], head: 0, len: 0 }
    }
}

impl Queue {
    /// Adds a value that came through.
    fn add(&mut self, value: u16) {
        if usize::from(self.len) == ROOM {
            self.take();
        }
        self.values[(usize::from(self.head) + usize::from(self.len)) % ROOM] = value;
        self.len += 1;
    }

    /// Takes the value that has waited longest.
    fn take(&mut self) -> Option<u16> {
        self.len = self.len.checked_sub(1)?;
        let value = self.values[usize::from(self.head)];
        self.head = (self.head + 1) % ROOM as u16;
        Some(value)
    }
}

crate::params! {
    /// The parameters of the first REPS.
    Config {
        /// Entropy values (uet-htsim: 64; its recorded runs: 128).
        values: u32 = 128, Allowed::Integer { min: 1.0, max: 65_535.0 };
        /// The first window, in bandwidth-delay products: its packets take values in ascending order (uet-htsim: 1.5).
        first_window_bdp: f64 = 1.5, Allowed::Number { min: 0.0, max: 1000.0 };
    }
}

/// A queue of values.
#[derive(Clone, Copy, Debug)]
pub struct Fifo {
    values: u32,
    /// Unit: thousandths.
    first_window: u64,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        First = Rule::Chooses("in the first window: the next entropy value by number"),
        Recycled = Rule::Chooses("the longest-waiting entropy value of those that came through"),
        Other = Rule::Chooses("no value that came through is waiting: another one"),
    }
}

/// Row per flow of [`Fifo`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    queue: Queue,
    /// New packets that have been sent.
    sent: u32,
    /// The value of the last packet.
    last: u16,
}

impl Row {
    /// Whether the next packet belongs to the first window of a connection.
    fn counts_up(&self, fifo: &Fifo, view: &HostView<'_>) -> bool {
        let bdp = view.base_rtt.carries(view.link_rate);
        let window = bdp * fifo.first_window / 1000 / u64::from(view.mss.max(1));
        u64::from(self.sent) < window.min(u64::from(fifo.values))
    }

    /// The value of the next packet.
    #[inline]
    fn next(&mut self, fifo: &Fifo, view: &HostView<'_>, rng: &mut Rng) -> u16 {
        self.last = if self.counts_up(fifo, view) {
            ((u32::from(self.last) + 1) % fifo.values) as u16
        } else {
            self.queue.take().unwrap_or_else(|| rng.below(fifo.values) as u16)
        };
        self.last
    }
}

impl Policy for Fifo {
    const SHEET: Sheet = Sheet {
        name: "reps_fifo",
        summary: "every packet reuses the longest-waiting entropy value of those that came through unmarked",
        source: "uet-htsim (uec_mp.cpp, its legacy REPS), second-hand",
        unit: "packet",
        told: &["base round-trip time", "rate of its own link"],
        three_tiers: "switches at every tier hash the value",
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["ECN marks"],
            state: "a queue of values per flow, at the host",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(1)",
            update: "O(1) per ACK",
        }),
        sees: Sees { rules: Why::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK;
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Row }

    fn new(config: &Config) -> Self {
        Fifo { values: config.values, first_window: (config.first_window_bdp * 1000.0 + 0.5) as u64 }
    }

    fn layout(&self, _: &Shape) -> Layout {
        entropy::layout()
    }

    fn sees(&self, cx: &Cx<'_, Self>, row: &Row, _: &Packet, sight: &mut Sight<'_>) {
        sight.rule(match row.counts_up(self, &cx.view) {
            true => Why::First,
            false if row.queue.len > 0 => Why::Recycled,
            false => Why::Other,
        });
        let (mut row, mut rng) = (*row, *cx.rng);
        entropy::tell(sight, || {
            let value = row.next(self, &cx.view, &mut rng);
            row.sent += 1;
            value
        });
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, row: &mut Row, packet: &Packet, _: &mut ()) -> Way {
        if !entropy::chooses(packet) {
            return Way::ANY;
        }
        let value = row.next(self, &cx.view, cx.rng);
        row.sent = row.sent.saturating_add(u32::from(packet.payload > 0 && !packet.retransmit));
        Way(value)
    }

    fn feedback(&self, _: &mut Cx<'_, Self>, row: Option<&mut Row>, feedback: &Feedback) {
        if let (Some(row), Some(Verdict::Good)) = (row, Verdict::of(&feedback.event))
            && feedback.way != Way::ANY
        {
            row.queue.add(feedback.way.0);
        }
    }
}

crate::params! {
    /// The parameters of the mix.
    MixedConfig {
        /// Entropy values, a power of two (uet-htsim: 64; its recorded runs: 128).
        values: u32 = 128, Allowed::PowerOfTwo { max: 1_024.0 };
        /// Which value a timeout blames: that of the packet waited for, or the first one, as in uet-htsim.
        timeout_blames: Blames = Blames::Value, Allowed::Words(Blames::WORDS);
    }
}

/// The queue and the bitmap together.
#[derive(Clone, Copy, Debug)]
pub struct Mixed {
    values: u16,
    timeout_blames: Blames,
}

/// Row per flow of [`Mixed`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Both {
    queue: Queue,
    penalties: Penalties,
}

impl Policy for Mixed {
    const SHEET: Sheet = Sheet {
        name: "uet_mixed",
        summary: "every packet reuses an entropy value that came through, or takes the next one without a penalty",
        source: "uet-htsim (uec_mp.cpp, its default), second-hand",
        unit: "packet",
        three_tiers: "switches at every tier hash the value",
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["ECN marks", "trimmed packets", "timeouts"],
            state: "a queue of values and a penalty per value, for each flow, at the host",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(n)",
            update: "O(1) per ACK",
        }),
        sees: Sees { rules: Why::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS);
    type Site = AtHost;
    type Config = MixedConfig;
    crate::rows! { flow: Both }

    fn new(config: &MixedConfig) -> Self {
        Mixed { values: config.values as u16, timeout_blames: config.timeout_blames }
    }

    fn layout(&self, _: &Shape) -> Layout {
        entropy::layout()
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Both, _: &Packet, sight: &mut Sight<'_>) {
        let (mut flow, mut rng) = (*flow, *cx.rng);
        sight.rule(if flow.queue.len > 0 { Why::Recycled } else { Why::Other });
        entropy::tell(sight, || self.next(&mut flow, &mut rng));
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Both, packet: &Packet, _: &mut ()) -> Way {
        if entropy::chooses(packet) { Way(self.next(flow, cx.rng)) } else { Way::ANY }
    }

    fn feedback(&self, _: &mut Cx<'_, Self>, flow: Option<&mut Both>, feedback: &Feedback) {
        let (Some(flow), Some(verdict)) = (flow, Verdict::of(&feedback.event)) else { return };
        flow.penalties.blame(self.values, self.timeout_blames.blamed(feedback.way.0, verdict), verdict);
        if verdict == Verdict::Good && feedback.way != Way::ANY {
            flow.queue.add(feedback.way.0);
        }
    }
}

impl Mixed {
    /// The value of the next packet.
    #[inline]
    fn next(&self, flow: &mut Both, rng: &mut Rng) -> u16 {
        flow.queue.take().unwrap_or_else(|| flow.penalties.choose(self.values, rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_one_and_keeps_the_last_of_many() {
        let mut queue = Queue::default();
        (0..600).for_each(|value| queue.add(value));
        assert_eq!((queue.len, queue.take()), (512, Some(88)));
        assert!((89..600).all(|value| queue.take() == Some(value)) && queue.take().is_none());
    }
}
