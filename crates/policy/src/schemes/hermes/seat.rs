//! A host's use of its knowledge: limits, picks, feedback, and its part in the probing.

use super::path::{Class, Crossing, Limits, Senses, nanoseconds};
use super::probing::{News, put};
use super::released::{self, ATTEMPTS, BETWEEN_ATTEMPTS, Record};
use super::rerouting::{Margins, better, place};
use super::{BELOW, Compat, Delay, Flow, Hermes, Points, Scale, Signals};
use crate::edge::pieces::{HEAD, Parcel};
use crate::edge::rounds::Picks;
use crate::{Cx, HostView, Span, Time, To, Way};

/// Picoseconds in a second, times the millionths of R.
const PER_SECOND: u128 = 1_000_000_000_000 * 1_000_000;

impl Hermes {
    /// Computes the limits, the first time.
    #[inline]
    pub(super) fn prepare(&self, cx: &mut Cx<'_, Self>) {
        if cx.node.limits.low == 0 {
            cx.node.limits = self.limits(&cx.view);
        }
    }

    /// The inputs of classes: the thresholds on the paths of the host of this view, and the sensing rules.
    pub fn sensing(&self, view: &HostView<'_>) -> (Limits, Senses) {
        (self.limits(view), self.senses)
    }

    /// The thresholds on this host's paths.
    pub(super) fn limits(&self, view: &HostView<'_>) -> Limits {
        let scaled = |at_10_gbps: Span| match self.config.scale {
            Scale::Fixed => at_10_gbps.0,
            Scale::PathRate => (u128::from(at_10_gbps.0) * 10_000_000_000 / u128::from(view.path_rate.max(1))) as u64,
        };
        let [low, high, margin] = self.thresholds.map(scaled);
        let base = self.base.unwrap_or(self.delay().base(view));
        // Bits of the window at R; a meter at a constant rate reads from 7 to 8 eighths of its bytes.
        let bits =
            u128::from(view.link_rate) * u128::from(self.r_millionths) * u128::from(self.step.0) * 8 / PER_SECOND;
        Limits {
            low: nanoseconds(base + Span(low)),
            high: nanoseconds(base + Span(high)),
            margin: (margin / 1_000).min(u64::from(u32::MAX)) as u32,
            rate: (bits / 8 * 15 / 16).min(u128::from(u32::MAX)) as u32,
        }
    }

    /// The delay that serves as t_RTT: the released rules know one-way delays only.
    pub(super) fn delay(&self) -> Delay {
        if self.config.compat == Compat::Ns3 { Delay::OneWay } else { self.config.delay }
    }

    /// The time step used by meters of rates.
    #[inline]
    pub(super) fn step_at(&self, now: Time) -> u32 {
        (now.0 / self.step.0.max(1)) as u32
    }

    fn margins(&self, limits: &Limits) -> Margins {
        let ecn = (self.config.signals == Signals::RttEcn).then_some(self.senses.ecn_margin);
        Margins { delay: limits.margin, ecn }
    }

    /// Whether a flow on a congested path may move: only if it has sent much, so that much may remain, and is slow.
    // Hermes Algorithm 2, line 15: s_sent > S and r_f < R.
    #[inline]
    pub(super) fn may_move(&self, flow: &Flow, step: u32, limits: &Limits) -> bool {
        flow.sent > u64::from(self.config.s_bytes) && flow.rate.read(step) < limits.rate
    }

    /// Chooses the way of the flow's next packet.
    // Hermes Algorithm 2.
    #[inline]
    pub(super) fn route(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, ways: u16, step: u32) {
        let (now, limits, senses) = (cx.now, cx.node.limits, &self.senses);
        let routes = &*cx.peers.current().1;
        let see = |way: Way| routes[way.index()].seen(now, step, &limits, senses);
        let placed = flow.placed && flow.way.0 < ways;
        let class = if placed { routes[flow.way.index()].class(now, &limits, senses) } else { Class::Gray };
        if !placed || flow.timeout || class == Class::Failed {
            let found = place(ways, see, cx.rng);
            flow.way = match found {
                Some(way) => way,
                None if placed => flow.way,
                None => Way(cx.rng.below(u32::from(ways)) as u16),
            };
            (flow.placed, flow.timeout) = (true, false);
        } else if class == Class::Congested && self.may_move(flow, step, &limits) {
            let own = see(flow.way);
            if let Some(way) = better(ways, &own, self.margins(&limits), see, cx.rng) {
                flow.way = way;
                cx.out.record(Points::Rerouted, f64::from(way.0));
            }
        }
    }

    /// Whether the flow has been idle long enough for the released rules to look for a better path.
    pub(super) fn was_idle(&self, flow: &Flow, now: Time) -> bool {
        now.since(flow.record.active) > self.flowlet_timeout
    }

    /// Whether the released rules allow an attempt to move the flow.
    pub(super) fn may_try(&self, flow: &Flow, now: Time) -> bool {
        flow.record.acked >= u64::from(self.config.s_bytes) && now.since(flow.record.tried) > BETWEEN_ATTEMPTS
    }

    /// The same by the rules of the public code.
    pub(super) fn route_as_released(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, ways: u16) {
        let (now, limits) = (cx.now, cx.node.limits);
        let (_, routes) = cx.peers.at(cx.peers.current);
        let routes = &mut routes[..usize::from(ways)];
        let old = (flow.placed && flow.way.0 < ways).then_some(flow.way);
        let known = old.filter(|_| flow.record.is_kept(now));
        let idle = self.was_idle(flow, now);
        flow.record.active = now;
        let Some(own) = known else {
            routes.iter_mut().for_each(|route| released::age(route, now, &limits, self.t1));
            let drawn = cx.rng.below(u32::from(ways)) as u16;
            let way = released::choose(routes, None, now, &limits, cx.rng).unwrap_or(Way(drawn));
            released::reassign(routes, old, way);
            (flow.way, flow.placed, flow.record) = (way, true, Record::new(now));
            return;
        };
        released::age(&mut routes[own.index()], now, &limits, self.t1);
        let bad = released::judge(&routes[own.index()], now, &limits) == Class::Congested;
        if !(bad || idle) || !self.may_try(flow, now) {
            return;
        }
        if cx.rng.below(ATTEMPTS) != 0 {
            flow.record.tried = now;
            return;
        }
        routes.iter_mut().for_each(|route| released::age(route, now, &limits, self.t1));
        if let Some(way) = released::choose(routes, Some(own), now, &limits, cx.rng).filter(|&way| way != own) {
            released::reassign(routes, old, way);
            (flow.way, flow.record) = (way, Record::new(now));
            cx.out.record(Points::Rerouted, f64::from(way.0));
        }
    }

    /// An acknowledgement of a packet that took `way`.
    #[inline]
    pub(super) fn acknowledged(
        &self,
        cx: &mut Cx<'_, Self>,
        flow: Option<&mut Flow>,
        way: Way,
        bytes: u64,
        crossing: Crossing,
    ) {
        let (now, limits) = (cx.now, cx.node.limits);
        let route = &mut cx.peers.current().1[way.index()];
        match self.config.compat {
            Compat::Paper => {
                route.sample(now, &crossing, &self.senses);
                route.acknowledged();
                if route.judge_losses(now, &limits, &self.senses) {
                    cx.out.record(Points::Failed, f64::from(way.0));
                }
            }
            Compat::Ns3 => {
                released::sample(route, now, crossing.delay, &limits, self.t1);
                if let Some(flow) = flow.filter(|flow| flow.way == way) {
                    flow.record.acked += bytes;
                    flow.record.live = now;
                }
            }
        }
    }

    pub(super) fn timed_out(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>, way: Way, known: bool) {
        if let Some(flow) = flow {
            flow.timeout = true;
        }
        if !known {
            return;
        }
        let now = cx.now;
        let route = &mut cx.peers.current().1[way.index()];
        match self.config.compat {
            Compat::Paper => {
                if route.timed_out(now, &self.senses) {
                    cx.out.record(Points::Failed, f64::from(way.0));
                }
            }
            Compat::Ns3 => released::timed_out(route, now, self.t1),
        }
    }

    /// A flow has a path already as it starts if it is a message on a connection that has carried others.
    pub(super) fn started(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>) {
        let Some(flow) = flow.filter(|flow| flow.placed) else { return };
        if let Some(route) = cx.peers.current().1.get_mut(flow.way.index()) {
            route.flows = route.flows.saturating_add(1);
        }
    }

    pub(super) fn ended(&self, cx: &mut Cx<'_, Self>, flow: Option<&mut Flow>) {
        let Some(flow) = flow.filter(|flow| flow.placed) else { return };
        if let Some(route) = cx.peers.current().1.get_mut(flow.way.index()) {
            route.flows = route.flows.saturating_sub(1);
        }
    }

    /// Handles a probe of this host's, sent at `sent`, that came back or is given up.
    pub(super) fn probed(&self, cx: &mut Cx<'_, Self>, leaf: u32, way: Way, news: News, sent: Time) {
        cx.node.outstanding = cx.node.outstanding.saturating_sub(1);
        if self.config.compat == Compat::Ns3 {
            if news.lost || !core::mem::replace(&mut cx.node.heard, true) {
                return;
            }
            self.learn(cx, leaf, way, news, sent);
            self.parcel(cx.view.mtu).send(&mut cx.out, core::iter::once(put(leaf, way, news.put())));
            return;
        }
        if self.learn(cx, leaf, way, news, sent) {
            let (peer, routes) = cx.peers.current();
            match news.lost {
                true => peer.rounds.lost(way),
                false => peer.rounds.answered(way, news.delay.0),
            }
            routes[way.index()].news = news.put();
        }
        if cx.node.outstanding == 0 {
            self.share(cx);
        }
    }

    /// Takes the result of a probe that was sent at `sent` into the row of its path. Does it say anything? A loss does
    /// not if a packet that was sent later has got through.
    pub(super) fn learn(&self, cx: &mut Cx<'_, Self>, leaf: u32, way: Way, news: News, sent: Time) -> bool {
        let (now, limits) = (cx.now, cx.node.limits);
        let Some(index) = cx.peers.position(leaf) else { return false };
        let route = &mut cx.peers.at(index).1[way.index()];
        match self.config.compat {
            Compat::Ns3 => released::sample(route, now, news.delay, &limits, self.t1),
            Compat::Paper if news.lost && route.has_outdone(sent) => return false,
            Compat::Paper if news.lost => {
                if route.probe_lost(now, &limits, &self.senses) {
                    cx.out.record(Points::Failed, f64::from(way.0));
                }
            }
            Compat::Paper => {
                route.sample(now, &Crossing { sent, delay: news.delay, marked: news.marked }, &self.senses);
                route.answered();
            }
        }
        true
    }

    fn parcel(&self, mtu: u32) -> Parcel {
        Parcel { to: To::Rack, class: 0, mtu, below: BELOW, head: [0; HEAD] }
    }

    /// Shares the probes' findings since the last time with the rack.
    // Hermes §3.1: the agent shares what it has probed with all hypervisors under its rack.
    pub(super) fn share(&self, cx: &mut Cx<'_, Self>) {
        let stride = cx.peers.stride;
        let ids = cx.peers.ids;
        let news = cx.peers.routes.iter_mut().enumerate().filter(|(_, route)| route.news != 0);
        let entries = news.map(|(at, route)| {
            let found = core::mem::take(&mut route.news);
            put(ids[at / stride], Way((at % stride) as u16), found)
        });
        self.parcel(cx.view.mtu).send(&mut cx.out, entries);
    }

    /// Sends a round of probes to every rack this host probes.
    pub(super) fn probe(&self, cx: &mut Cx<'_, Self>) {
        for index in 0..cx.peers.len() {
            let leaf = cx.peers.ids[index];
            let ways = cx.view.ways[leaf as usize];
            if leaf == cx.view.leaf || ways == 0 || !cx.node.role.probes(leaf) {
                continue;
            }
            let peer = &mut cx.peers.peers[index];
            let Some(host) = peer.agent(leaf, &cx.view) else { continue };
            let picks = match self.config.compat {
                Compat::Paper => peer.round(ways, self.config.probe_random, cx.rng),
                Compat::Ns3 => {
                    let mut picks = Picks::default();
                    // Drawn one by one in the code, sometimes the same twice.
                    for _ in 0..2 {
                        picks.add(Way(cx.rng.below(u32::from(ways)) as u16));
                    }
                    picks
                }
            };
            for &way in picks.ways() {
                cx.out.probe(To::Host(host), way, self.config.probe_bytes, 0, self.give_up);
                cx.node.outstanding += 1;
            }
        }
    }
}
