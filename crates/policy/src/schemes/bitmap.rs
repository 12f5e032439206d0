//! Spraying over entropy values, skipping those with a penalty.
//!
//! Source: the description of UecMpBitmap in uet-htsim (`uec_mp.cpp`); the text of the Ultra Ethernet specification was
//! not available. STrack's balancing by marks (arXiv 2407.15266) is said to be its ancestor. Site: the sending host.
//!
//! | rule | function |
//! |---|---|
//! | penalties: a mark 1, a trim 4, a timeout 15, at most 15; good news adds nothing | [`Penalties::blame`] |
//! | only the first value passed over for a packet loses one penalty | [`Penalties::choose`] |
//! | after one more than all values, whatever is next | [`Penalties::choose`] |
//!
//! The penalty of a timeout falls on the value of the packet that was waited for; `timeout_blames = "first"` is
//! uet-htsim's rule: always value 0, because its senders do not keep the values of packets.

use crate::edge::entropy::{self, Verdict};
use crate::edge::penalties::{Blames, Penalties};
use crate::{
    AtHost, Aware, Compared, Cx, Feedback, Hooks, Layout, Listed, Needs, Packet, Policy, Rule, Sees, Shape, Sheet,
    Sight, Way,
};

crate::params! {
    /// The parameters of the bitmap.
    Config {
        /// Entropy values, a power of two (uet-htsim: 64; its recorded runs: 128).
        values: u32 = 128, Allowed::PowerOfTwo { max: 1_024.0 };
        /// Which value a timeout blames: that of the packet waited for, or the first one, as in uet-htsim.
        timeout_blames: Blames = Blames::Value, Allowed::Words(Blames::WORDS);
    }
}

/// Values without a penalty, in turn.
#[derive(Clone, Copy, Debug)]
pub struct Bitmap {
    values: u16,
    timeout_blames: Blames,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Next = Rule::Chooses("every packet: the next entropy value without a penalty"),
    }
}

impl Policy for Bitmap {
    const SHEET: Sheet = Sheet {
        name: "bitmap",
        summary: "every packet takes the next entropy value; values that met marks, trims or losses are skipped for a \
                  while",
        source: "uet-htsim (uec_mp.cpp), second-hand",
        unit: "packet",
        three_tiers: "switches at every tier hash the value",
        compared: Some(Compared {
            aware: Aware::Paths,
            senses: &["ECN marks", "trimmed packets", "timeouts"],
            state: "per (flow, value), at the host",
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
    type Config = Config;
    crate::rows! { flow: Penalties }

    fn new(config: &Config) -> Self {
        Bitmap { values: config.values as u16, timeout_blames: config.timeout_blames }
    }

    fn layout(&self, _: &Shape) -> Layout {
        entropy::layout()
    }

    fn sees(&self, cx: &Cx<'_, Self>, flow: &Penalties, _: &Packet, sight: &mut Sight<'_>) {
        let (mut flow, mut rng) = (*flow, *cx.rng);
        sight.rule(Why::Next);
        entropy::tell(sight, || flow.choose(self.values, &mut rng));
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
