//! The quantities that Hermes reports of its choices.

use super::path::{Class, Limits};
use super::{Compat, Flow, Hermes, released};
use crate::sees::{quantity, us_since};
use crate::{Cx, Listed, Packet, Quantity, Rule, Sees, Sight, Time, Way};

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        Stays = Rule::Keeps("its path is not considered congested: it stays"),
        New = Rule::Chooses("a new flow: placed on the path with the lowest sending rate in the best class"),
        TimedOut = Rule::Chooses("its timer expired: placed again"),
        Failed = Rule::Chooses("its path is considered failed: placed again"),
        TooSmall = Rule::Keeps(
            "its path is congested, but it has sent at most S or is no slower than R: it stays",
        ),
        Moves = Rule::Chooses(
            "its path is congested, it has sent more than S and is slower than R: to a notably better path, if any",
        ),
        Dropped = Rule::Chooses("nothing of it was acknowledged for 1 ms and its record was dropped: placed again"),
        Waits = Rule::Keeps(
            "its path is congested or it was idle, but too little is acknowledged or it was just tried: it stays",
        ),
        Tries = Rule::Chooses("its path is congested or it was idle: with probability 1/2 to a better path, if any"),
    }

    /// Quantities of a flow that it considers.
    enum OfFlow: Quantity {
        Sent = quantity("sent", "bytes", "sent by the flow (released rules: acknowledged on its path)"),
        OwnRate = quantity("own_rate", "of R", "the flow's sending rate"),
        Margin = quantity("margin", "µs", "Δ_RTT: another path must be faster by more than this"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Class = quantity("class", "", "0 good, 1 gray, 2 congested, 3 failed"),
        Delay = quantity("delay", "µs", "t_RTT as measured; T_RTT_low if nothing is known"),
        Marked = quantity("marked", "share", "f_ECN as measured"),
        SentThere = quantity("sent_there", "bytes", "recently sent by this host's flows (r_p)"),
        Age = quantity("age", "µs", "time since it was last measured; none if never"),
    }
}

pub(super) const SEES: Sees = Sees { rules: Why::ALL, flow: OfFlow::ALL, way: OfWay::ALL, ..Sees::NOTHING };

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
            sight.way(way, OfWay::Class, f64::from(class as u8));
            sight.way(way, OfWay::Delay, f64::from(delay) / 1e3);
            sight.way(way, OfWay::Marked, f64::from(seen.ecn) / 65_536.0);
            sight.way(way, OfWay::SentThere, f64::from(seen.rate));
            sight.way(way, OfWay::Age, us_since((route.sampled > Time::ZERO).then_some(route.sampled), cx.now));
        }
        let sent = if self.config.compat == Compat::Paper { flow.sent } else { flow.record.acked };
        sight.flow(OfFlow::Sent, sent as f64);
        sight.flow(OfFlow::OwnRate, f64::from(flow.rate.read(step)) / f64::from(limits.rate.max(1)));
        sight.flow(OfFlow::Margin, f64::from(limits.margin) / 1e3);
        let placed = (flow.placed && flow.way.0 < ways).then_some(flow.way);
        sight.rule(match self.config.compat {
            Compat::Paper => self.rule(cx, flow, placed, &limits),
            Compat::Ns3 => self.rule_as_released(cx, flow, placed, &limits),
        });
    }

    /// The rule that [`Hermes::route`] is going to apply.
    fn rule(&self, cx: &Cx<'_, Self>, flow: &Flow, placed: Option<Way>, limits: &Limits) -> Why {
        let Some(way) = placed else { return Why::New };
        match cx.peers.here().1[way.index()].class(cx.now, limits, &self.senses) {
            _ if flow.timeout => Why::TimedOut,
            Class::Failed => Why::Failed,
            Class::Congested if self.may_move(flow, self.step_at(cx.now), limits) => Why::Moves,
            Class::Congested => Why::TooSmall,
            Class::Good | Class::Gray => Why::Stays,
        }
    }

    /// The rule that [`Hermes::route_as_released`] is going to apply.
    fn rule_as_released(&self, cx: &Cx<'_, Self>, flow: &Flow, placed: Option<Way>, limits: &Limits) -> Why {
        let Some(way) = placed else { return Why::New };
        if !flow.record.is_kept(cx.now) {
            return Why::Dropped;
        }
        let mut own = cx.peers.here().1[way.index()];
        released::age(&mut own, cx.now, limits, self.t1);
        let bad = released::judge(&own, cx.now, limits) == Class::Congested;
        match () {
            () if !(bad || self.was_idle(flow, cx.now)) => Why::Stays,
            () if self.may_try(flow, cx.now) => Why::Tries,
            () => Why::Waits,
        }
    }
}
