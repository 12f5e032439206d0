//! Spraying over entropy values that skips those with a penalty.
//!
//! Source: the description of UecMpBitmap in uet-htsim (`uec_mp.cpp`); the text of the Ultra Ethernet specification was not at
//! hand. STrack's balancing by marks (arXiv 2407.15266) is said to be its ancestor. Site: the sending host.
//!
//! | rule | function |
//! |---|---|
//! | penalties: a mark 1, a trim 4, a timeout 15, at most 15; good news adds nothing | [`Penalties::blame`] |
//! | the first value passed over for a packet loses one penalty, it alone | [`Penalties::choose`] |
//! | after one more than all values, whatever is next | [`Penalties::choose`] |
//!
//! The penalty of a timeout falls on the value of the packet that was waited for; `timeout_blames = "first"` is
//! uet-htsim's: value 0, whichever it was, for its senders do not keep the values of packets.

use crate::edge::entropy::{self, Verdict, Walk};
use crate::{
    AtHost, Aware, Compared, Cx, Decides, Feedback, Hooks, Layout, Listed, Needs, Packet, Policy, Rng, Rule, Sees,
    Shape, Sheet, Sight, Way,
};

/// Most values: each has four bits in the row of a flow.
const MOST: usize = 1_024;
/// Highest penalty.
const WORST: u8 = 15;

crate::choice! {
    /// Whom a timeout blames.
    Blames {
        /// The value of the packet that was waited for.
        Value = "value",
        /// The first value.
        First = "first",
    }
}

crate::params! {
    /// The parameters of the bitmap.
    Config {
        /// Entropy values, a power of two (uet-htsim: 64; its recorded runs: 128).
        values: u32 = 128, Allowed::PowerOfTwo { max: 1_024.0 };
        /// Whom a timeout blames: the value of the packet that was waited for, or the first one, as in uet-htsim.
        timeout_blames: Blames = Blames::Value, Allowed::Words(Blames::WORDS);
    }
}

/// Row per flow: penalties of its values, four bits each, and the walk over them.
#[derive(Clone, Copy, Debug)]
pub struct Penalties {
    walk: Walk,
    bits: [u8; MOST / 2],
}

impl Default for Penalties {
    fn default() -> Self {
        Penalties { walk: Walk::default(), bits: [0; MOST / 2] }
    }
}

impl Penalties {
    fn of(&self, value: u16) -> u8 {
        let byte = self.bits[usize::from(value) / 2];
        if value.is_multiple_of(2) { byte & WORST } else { byte >> 4 }
    }

    fn set(&mut self, value: u16, penalty: u8) {
        let byte = &mut self.bits[usize::from(value) / 2];
        *byte = if value.is_multiple_of(2) { *byte & 0xf0 | penalty } else { *byte & WORST | penalty << 4 };
    }

    /// What became of a packet with this value.
    pub fn blame(&mut self, values: u16, value: u16, verdict: Verdict) {
        let more = match verdict {
            Verdict::Good => return,
            Verdict::Marked => 1,
            Verdict::Trimmed => 4,
            Verdict::Lost => WORST,
        };
        let value = value & (values - 1);
        self.set(value, (self.of(value) + more).min(WORST));
    }

    /// The value of the next packet.
    pub fn choose(&mut self, values: u16, rng: &mut Rng) -> u16 {
        self.walk.begin(values, rng);
        for passed in 0..=values {
            let value = self.walk.next(values);
            let penalty = self.of(value);
            if penalty == 0 {
                break;
            }
            if passed == 0 {
                self.set(value, penalty - 1);
            }
            self.walk.go_on(values, rng);
        }
        let value = self.walk.whole(values);
        self.walk.go_on(values, rng);
        value
    }
}

/// Values without a penalty, in turn.
#[derive(Clone, Copy, Debug)]
pub struct Bitmap {
    values: u16,
    timeout_blames: Blames,
}

crate::listed! {
    /// Why a packet gets its way.
    enum Why: Rule {
        Next = Rule::Chooses("every packet: the next entropy value without a penalty"),
    }
}

impl Policy for Bitmap {
    const SHEET: Sheet = Sheet {
        name: "bitmap",
        summary: "every packet has another entropy value; values that met marks, trims or losses are skipped for a while",
        source: "uet-htsim (uec_mp.cpp), second-hand",
        unit: "packet",
        three_tiers: "switches hash the value at every tier",
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["ECN marks", "trimmed packets", "timeouts"],
            state: "per (flow, value), at the host",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(n)",
            update: "O(1) per ACK",
        }),
        sees: Sees { rules: Why::ALL, decides: Decides::Hashes, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    const HOOKS: Hooks = Hooks::FEEDBACK.and(Hooks::LOSS);
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Penalties }

    fn new(config: &Config) -> Self {
        Bitmap { values: config.values as u16, timeout_blames: config.timeout_blames }
    }

    fn layout(&self, _: &Shape) -> Layout {
        entropy::layout()
    }

    fn sees(&self, _: &Cx<'_, Self>, _: &Penalties, _: &Packet, sight: &mut Sight<'_>) {
        sight.rule(Why::Next);
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, flow: &mut Penalties, packet: &Packet, _: &mut ()) -> Way {
        if entropy::chooses(packet) { Way(flow.choose(self.values, cx.rng)) } else { Way::ANY }
    }

    fn feedback(&self, _: &mut Cx<'_, Self>, flow: Option<&mut Penalties>, feedback: &Feedback) {
        if let (Some(flow), Some(verdict)) = (flow, Verdict::of(&feedback.event)) {
            flow.blame(self.values, self.timeout_blames.blamed(feedback.way.0, verdict), verdict);
        }
    }
}

impl Blames {
    /// The value that a verdict falls on.
    pub const fn blamed(self, value: u16, verdict: Verdict) -> u16 {
        match (self, verdict) {
            (Blames::First, Verdict::Lost) => 0,
            (Blames::First | Blames::Value, _) => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blamed_value_is_passed_over_as_often_as_its_penalty_says() {
        let (mut rng, mut flow) = (Rng::stream(1, "test", 0), Penalties::default());
        flow.blame(4, 2, Verdict::Trimmed);
        let chosen: [u16; 40] = core::array::from_fn(|_| flow.choose(4, &mut rng) & 3);
        // Four rounds pass it over, once each; then it is like the others.
        assert!(chosen[..12].iter().all(|&value| value != 2), "{chosen:?}");
        assert_eq!(chosen[12..].iter().filter(|&&value| value == 2).count(), 7, "{chosen:?}");
    }

    #[test]
    fn penalties_add_up_to_fifteen() {
        let mut flow = Penalties::default();
        for (verdict, penalty) in [(Verdict::Good, 0), (Verdict::Marked, 1), (Verdict::Trimmed, 5), (Verdict::Lost, 15)]
        {
            flow.blame(8, 13, verdict);
            assert_eq!((flow.of(5), flow.of(4)), (penalty, 0), "value 13 of 8 is value 5");
        }
    }

    #[test]
    fn where_all_are_blamed_one_is_taken_all_the_same() {
        let (mut rng, mut flow) = (Rng::stream(1, "test", 0), Penalties::default());
        (0..4).for_each(|value| flow.blame(4, value, Verdict::Lost));
        flow.choose(4, &mut rng);
        let left: u32 = (0..4).map(|value| u32::from(flow.of(value))).sum();
        assert_eq!(left, 59, "one of them has lost one");
    }
}
