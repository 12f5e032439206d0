//! What Hermes tells of its choices.

use super::path::{Class, Limits};
use super::{Compat, Flow, Hermes, released};
use crate::sees::{quantity, us_since};
use crate::{Cx, Packet, Rule, Sees, Sight, Time, Way};

pub(super) const SEES: Sees = Sees {
    rules: &[
        Rule::Keeps("its path is not held to be congested: it stays"),
        Rule::Chooses("a new flow: placed on a path of the best class with the least sending rate"),
        Rule::Chooses("its timer ran out: placed anew"),
        Rule::Chooses("its path is held to have failed: placed anew"),
        Rule::Keeps("its path is congested, but it has sent no more than S, or is no slower than R: it stays"),
        Rule::Chooses(
            "its path is congested, it has sent more than S and is slower than R: to a notably better path, if any",
        ),
        Rule::Chooses("nothing of it was acknowledged for 1 ms, its record was dropped: placed anew"),
        Rule::Keeps(
            "its path is congested or it was idle, but it has too little acknowledged or was tried just now: it stays",
        ),
        Rule::Chooses("its path is congested or it was idle: in one attempt of two to a better path, if any"),
    ],
    flow: &[
        quantity("sent", "bytes", "sent by the flow (released rules: acknowledged on its path)"),
        quantity("own_rate", "of R", "the flow's sending rate"),
        quantity("margin", "µs", "Δ_RTT: another path must be faster by more"),
    ],
    way: &[
        quantity("class", "", "0 good, 1 gray, 2 congested, 3 failed"),
        quantity("delay", "µs", "t_RTT as measured; T_RTT_low where nothing is known"),
        quantity("marked", "share", "f_ECN as measured"),
        quantity("sent_there", "bytes", "of late, by this host's flows (r_p)"),
        quantity("age", "µs", "since it was last measured; none if never"),
    ],
    ..Sees::NOTHING
};

impl Hermes {
    pub(super) fn tell(&self, cx: &Cx<'_, Self>, flow: &Flow, packet: &Packet, sight: &mut Sight<'_>) {
        let ways = cx.view.ways_to_host(packet.dst);
        let limits = if cx.node.limits.low == 0 { self.limits(&cx.view) } else { cx.node.limits };
        let (step, (_, routes)) = (self.step_at(cx.now), cx.peers.here());
        for (way, route) in routes[..usize::from(ways)].iter().enumerate() {
            let seen = route.seen(cx.now, step, &limits, &self.senses);
            let (class, delay) = match self.config.compat {
                Compat::Paper => (seen.class, seen.delay),
                Compat::Ns3 => {
                    let mut aged = *route;
                    released::age(&mut aged, cx.now, &limits, self.t1);
                    let delay = if aged.delay == 0 { limits.low } else { aged.delay };
                    (released::judge(&aged, cx.now, &limits), delay)
                }
            };
            sight.way(way, 0, f64::from(class as u8));
            sight.way(way, 1, f64::from(delay) / 1e3);
            sight.way(way, 2, f64::from(seen.ecn) / 65_536.0);
            sight.way(way, 3, f64::from(seen.rate));
            sight.way(way, 4, us_since((route.sampled > Time::ZERO).then_some(route.sampled), cx.now));
        }
        let sent = if self.config.compat == Compat::Paper { flow.sent } else { flow.record.acked };
        sight.flow(0, sent as f64);
        sight.flow(1, f64::from(flow.rate.read(step)) / f64::from(limits.rate.max(1)));
        sight.flow(2, f64::from(limits.margin) / 1e3);
        let placed = (flow.placed && flow.way.0 < ways).then_some(flow.way);
        sight.rule(match self.config.compat {
            Compat::Paper => self.rule(cx, flow, placed, &limits),
            Compat::Ns3 => self.rule_as_released(cx, flow, placed, &limits),
        });
    }

    /// The rule that [`Hermes::route`] is going to act by.
    fn rule(&self, cx: &Cx<'_, Self>, flow: &Flow, placed: Option<Way>, limits: &Limits) -> usize {
        let Some(way) = placed else { return 1 };
        match cx.peers.here().1[way.index()].class(cx.now, limits, &self.senses) {
            _ if flow.timeout => 2,
            Class::Failed => 3,
            Class::Congested if self.may_move(flow, self.step_at(cx.now), limits) => 5,
            Class::Congested => 4,
            Class::Good | Class::Gray => 0,
        }
    }

    /// The rule that [`Hermes::route_as_released`] is going to act by.
    fn rule_as_released(&self, cx: &Cx<'_, Self>, flow: &Flow, placed: Option<Way>, limits: &Limits) -> usize {
        let Some(way) = placed else { return 1 };
        if !flow.record.is_kept(cx.now) {
            return 6;
        }
        let mut own = cx.peers.here().1[way.index()];
        released::age(&mut own, cx.now, limits, self.t1);
        let bad = released::judge(&own, cx.now, limits) == Class::Congested;
        match () {
            () if !(bad || self.was_idle(flow, cx.now)) => 0,
            () if self.may_try(flow, cx.now) => 8,
            () => 7,
        }
    }
}
