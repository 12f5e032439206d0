//! Oblivious spraying: every packet takes the next entropy value, whatever happened to others.
//!
//! The baseline of Ultra Ethernet and of the REPS study. Site: the sending host. Two kinds are from public code, known
//! here by descriptions of it: the walk of uet-htsim (`uec_mp.cpp`, UecMpOblivious), in which each value comes once a
//! round, and the plain draw of the REPS artifact. Many fixed values in turn, without another order in each round ("MP"
//! there), are the third, and values that count up ("incremental") the fourth.
//!
//! | rule | function |
//! |---|---|
//! | counter and mask, drawn anew each round | [`entropy::Walk`] |
//! | order = "drawn": any value | [`entropy::draw`] |

use crate::edge::entropy::{self, Walk};
use crate::{
    AtHost, Aware, Compared, Cx, Layout, Listed, Needs, Packet, Policy, Rng, Rule, Sees, Shape, Sheet, Sight, Way,
};

crate::choice! {
    /// The order of the values.
    Order {
        /// Each once a round, in an order that is drawn anew for each round.
        Rounds = "rounds",
        /// Any value, all equally likely.
        Drawn = "drawn",
        /// Ascending numbers, from one that is drawn for each flow.
        Ascending = "ascending",
    }
}

crate::params! {
    /// The parameters of oblivious spraying.
    Config {
        /// Entropy values, a power of two (uet-htsim: 64; its recorded runs: 128).
        values: u32 = 128, Allowed::PowerOfTwo { max: crate::edge::entropy::MOST };
        /// Order of the values: in rounds (uet-htsim), drawn (the REPS artifact's "oblivious"), or ascending (its "MP",
        /// with few values, and its "incremental").
        order: Order = Order::Rounds, Allowed::Words(Order::WORDS);
    }
}

/// A separate value for every packet.
#[derive(Clone, Copy, Debug)]
pub struct Oblivious {
    values: u16,
    order: Order,
}

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Next = Rule::Chooses("every packet: the next entropy value"),
    }
}

impl Policy for Oblivious {
    const SHEET: Sheet = Sheet {
        name: "oblivious",
        summary: "every packet takes the next entropy value, regardless of what happened to earlier ones",
        source: "uet-htsim (uec_mp.cpp), second-hand",
        unit: "packet",
        three_tiers: "switches at every tier hash the value",
        compared: Some(Compared {
            aware: Aware::No,
            senses: &[],
            state: "a counter per flow, at the host",
            needs: Needs::Hosts,
            order: "nothing",
            pick: "O(1)",
            update: "–",
        }),
        sees: Sees { rules: Why::ALL, ..Sees::NOTHING },
        ..Sheet::AT_HOST
    };
    type Site = AtHost;
    type Config = Config;
    crate::rows! { flow: Walk }

    fn new(config: &Config) -> Self {
        Oblivious { values: config.values as u16, order: config.order }
    }

    fn layout(&self, _: &Shape) -> Layout {
        entropy::layout()
    }

    fn sees(&self, cx: &Cx<'_, Self>, walk: &Walk, _: &Packet, sight: &mut Sight<'_>) {
        let (mut walk, mut rng) = (*walk, *cx.rng);
        sight.rule(Why::Next);
        entropy::tell(sight, || self.next(&mut walk, &mut rng));
    }

    #[inline]
    fn pick(&self, cx: &mut Cx<'_, Self>, walk: &mut Walk, packet: &Packet, _: &mut ()) -> Way {
        if entropy::chooses(packet) { Way(self.next(walk, cx.rng)) } else { Way::ANY }
    }
}

impl Oblivious {
    /// The value of the next packet.
    #[inline]
    fn next(&self, walk: &mut Walk, rng: &mut Rng) -> u16 {
        walk.begin(self.values, rng);
        match self.order {
            Order::Rounds => {
                let value = walk.whole(self.values);
                walk.go_on(self.values, rng);
                value
            }
            Order::Drawn => entropy::draw(self.values, rng),
            Order::Ascending => walk.count_up(self.values),
        }
    }
}
