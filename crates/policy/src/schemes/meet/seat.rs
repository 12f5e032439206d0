//! The periodic work of a host: report, or as the proxy gather, probe and broadcast; and the choice of the proxy.

use super::congestion::{Score, Tally};
use super::perception::{Probed, settle};
use super::{Cx, Meet, Node, PROBE_TIMER, Points, Probe, class};
use crate::edge::pieces::{HEAD, Parcel, Piece, paths};
use crate::edge::rack::{self, counterpart, hosts_of};
use crate::edge::rounds::Picks;
use crate::{Span, Time, To, Way};

/// Probes to a rack in one round: "three paths for every destination rack", section 3.3.
pub(super) const PROBES: usize = 3;

impl Meet {
    /// Whether this host is its rack's proxy, and in service.
    pub(super) fn is_proxy(&self, cx: &Cx<'_, Self>) -> bool {
        cx.node.proxy == cx.view.host && self.serves(cx)
    }

    /// Whether this host can be a proxy. The first host of one rack fails, if a run asks for it.
    fn serves(&self, cx: &Cx<'_, Self>) -> bool {
        let fails = |(leaf, at)| cx.view.leaf == leaf && cx.node.place == Some(0) && cx.now >= at;
        !self.fails.is_some_and(fails)
    }

    /// Finds the hosts of this rack, the first time.
    pub(super) fn look_around(&self, cx: &mut Cx<'_, Self>) {
        if cx.node.place.is_some() {
            return;
        }
        let view = &cx.view;
        let hosts = || hosts_of(view, view.leaf);
        let first = hosts().next().unwrap_or(view.host);
        let size = hosts().count() as u32;
        *cx.node = Node { place: Some(rack::place(view)), rack: size, proxy: first, heard: cx.now, ..Node::default() };
        if self.t_probe != self.t_update && self.config.probe != Probe::Off {
            cx.out.arm(PROBE_TIMER, cx.now + self.t_probe);
        }
    }

    /// After this silence a host steps up, and a view is forgotten.
    fn silence(&self) -> Span {
        self.t_update * u64::from(self.config.takeover_periods)
    }

    /// A silent proxy is followed by the next host of the rack, and that by the next.
    // MEET §5 leaves to "consensus protocols" what happens then.
    pub(super) fn take_over(&self, cx: &mut Cx<'_, Self>) {
        let silent = cx.now.since(cx.node.heard);
        if self.is_proxy(cx) || silent <= self.silence() {
            return;
        }
        for index in 0..cx.peers.len() {
            let ways = usize::from(cx.view.ways[index]);
            let (peer, routes) = cx.peers.at(index);
            for route in &mut routes[..ways] {
                route.heard = Score::UNKNOWN;
                if self.config.probe == Probe::Proxy {
                    (route.probed, route.result) = (Probed::Not, None);
                }
            }
            settle(self.config.route, peer, &mut routes[..ways]);
        }
        let (place, rack) = (cx.node.place.unwrap_or(0), cx.node.rack.max(1));
        let of_proxy = hosts_of(&cx.view, cx.view.leaf).position(|host| host == cx.node.proxy).unwrap_or(0) as u32;
        let behind = (place + rack - of_proxy) % rack;
        if behind > 0 && self.serves(cx) && silent > self.silence() * u64::from(behind) {
            (cx.node.proxy, cx.node.term) = (cx.view.host, cx.node.term + 1);
            self.record(cx, Points::Takeover, silent);
        }
    }

    fn record(&self, cx: &mut Cx<'_, Self>, series: Points, span: Span) {
        if self.config.record {
            cx.out.record(series, span.as_us_f64());
        }
    }

    fn parcel(&self, cx: &Cx<'_, Self>, to: To, class: u8, at: Time) -> Parcel {
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&at.0.to_le_bytes());
        head[8..].copy_from_slice(&cx.node.term.to_le_bytes());
        Parcel { to, class, mtu: cx.view.mtu, below: self.config.message_header_bytes, head }
    }

    /// Reports the delays that this host's packets measured since the last time to the proxy.
    // MEET §3.2: "let each host accumulate first, and then transmit the cumulative value to the proxy".
    pub(super) fn report(&self, cx: &mut Cx<'_, Self>) {
        if cx.node.proxy != cx.view.host {
            let parcel = self.parcel(cx, To::Host(cx.node.proxy), class::REPORT, cx.now);
            let (stride, peers, routes) = (cx.peers.stride, &*cx.peers.peers, &*cx.peers.routes);
            let entries = paths(&cx.view).map(|(leaf, way)| {
                let leaf = leaf as usize;
                let first = (peers[leaf].active > 0).then_some(way);
                routes[leaf * stride + way.index()].own.put(first)
            });
            parcel.send(&mut cx.out, entries);
        }
        let own_probes = self.config.probe == Probe::Host;
        for index in 0..cx.peers.len() {
            let ways = usize::from(cx.view.ways[index]);
            let (peer, routes) = cx.peers.at(index);
            for route in &mut routes[..ways] {
                route.own = Tally::default();
                route.age();
            }
            if own_probes {
                settle(self.config.route, peer, &mut routes[..ways]);
            }
        }
    }

    /// A report has come to the proxy.
    pub(super) fn take_report(&self, cx: &mut Cx<'_, Self>, piece: &Piece<'_, 8>) {
        if !self.is_proxy(cx) {
            return;
        }
        cx.node.reports += 1;
        cx.node.sent += u128::from(instant(&piece.head).0);
        let stride = cx.peers.stride;
        for ((leaf, way), bytes) in piece.entries(&cx.view) {
            let (tally, has_flows) = Tally::get(bytes);
            cx.peers.routes[leaf as usize * stride + way.index()].rack.merge(tally);
            cx.peers.peers[leaf as usize].wanting |= has_flows;
        }
    }

    /// Closes the proxy's window: collects the reports of the rack's packets on each path.
    pub(super) fn close_window(&self, cx: &mut Cx<'_, Self>) {
        for index in 0..cx.peers.len() {
            let ways = usize::from(cx.view.ways[index]);
            let (peer, routes) = cx.peers.at(index);
            for route in &mut routes[..ways] {
                route.rack.merge(route.own);
                route.heard = route.rack.score();
                (route.rack, route.own) = (Tally::default(), Tally::default());
                route.age();
            }
            peer.wanted = core::mem::take(&mut peer.wanting);
            settle(self.config.route, peer, &mut routes[..ways]);
        }
    }

    /// Broadcasts the proxy's values to its rack.
    pub(super) fn broadcast(&self, cx: &mut Cx<'_, Self>) {
        let node = &mut *cx.node;
        let mean = if node.reports == 0 { cx.now } else { Time((node.sent / u128::from(node.reports)) as u64) };
        (node.heard, node.reports, node.sent) = (cx.now, 0, 0);
        if node.rack < 2 {
            return;
        }
        let parcel = self.parcel(cx, To::Rack, class::BROADCAST, mean);
        let (stride, routes) = (cx.peers.stride, &*cx.peers.routes);
        // If every host probes, each combines its own probes with what it hears.
        let pooled = self.config.probe == Probe::Proxy;
        let entries = paths(&cx.view).map(|(leaf, way)| {
            let route = &routes[leaf as usize * stride + way.index()];
            if pooled { route.score } else { route.heard }.put()
        });
        parcel.send(&mut cx.out, entries);
    }

    /// A broadcast has come.
    pub(super) fn take_broadcast(&self, cx: &mut Cx<'_, Self>, from: u32, piece: &Piece<'_, { Score::BYTES }>) {
        let term = u32::from_le_bytes([piece.head[8], piece.head[9], piece.head[10], piece.head[11]]);
        let newer = term > cx.node.term || term == cx.node.term && from <= cx.node.proxy;
        if !newer {
            return;
        }
        if cx.node.proxy == cx.view.host {
            // It steps down: everything it gathered as the proxy is now dropped, except its own probes' results.
            for route in &mut *cx.peers.routes {
                route.rack = Tally::default();
                if self.config.probe == Probe::Proxy {
                    (route.probed, route.result) = (Probed::Not, None);
                }
            }
        }
        (cx.node.proxy, cx.node.term, cx.node.heard) = (from, term, cx.now);
        let mut last = None;
        for ((leaf, way), bytes) in piece.entries(&cx.view) {
            if last.is_some_and(|last| last != leaf) {
                self.settle_leaf(cx, last);
            }
            last = Some(leaf);
            cx.peers.routes[leaf as usize * cx.peers.stride + way.index()].heard = Score::get(bytes);
        }
        self.settle_leaf(cx, last);
        if cx.node.place == Some(cx.node.rack - 1) && piece.first == 0 {
            let latency = cx.now.since(instant(&piece.head));
            self.record(cx, Points::TLatency, latency);
            // MEET §3.2: T_delay = T_update + T_latency.
            self.record(cx, Points::TDelay, self.t_update + latency);
        }
    }

    fn settle_leaf(&self, cx: &mut Cx<'_, Self>, leaf: Option<u32>) {
        let Some(leaf) = leaf else { return };
        let ways = usize::from(cx.view.ways[leaf as usize]);
        let (peer, routes) = cx.peers.at(leaf as usize);
        settle(self.config.route, peer, &mut routes[..ways]);
    }

    /// Puts the result of a probe into the row of its path; a host that probes for itself acts on it at once.
    pub(super) fn learn(&self, cx: &mut Cx<'_, Self>, way: Way, probed: Probed) {
        let own = self.config.probe == Probe::Host;
        if !own && !self.is_proxy(cx) {
            return;
        }
        let leaf = cx.peers.ids[cx.peers.current];
        let (peer, routes) = cx.peers.current();
        let route = &mut routes[way.index()];
        route.probed(probed);
        route.result = match probed {
            Probed::Answered(score) => Some((peer.round, score)),
            Probed::Lost(_) | Probed::Not => None,
        };
        if own {
            self.settle_leaf(cx, Some(leaf));
        }
    }

    /// Sends a round of probes to every rack that there are flows to.
    pub(super) fn probe(&self, cx: &mut Cx<'_, Self>) {
        let probes = match self.config.probe {
            Probe::Proxy => self.is_proxy(cx),
            Probe::Host => true,
            Probe::Off => false,
        };
        if probes {
            for leaf in 0..cx.peers.len() {
                self.probe_rack(cx, leaf);
            }
        }
    }

    fn probe_rack(&self, cx: &mut Cx<'_, Self>, leaf: usize) {
        let ways = cx.view.ways[leaf];
        let place = cx.node.place.unwrap_or(0);
        let (peer, routes) = cx.peers.at(leaf);
        let wanted = peer.active > 0 || self.config.probe == Probe::Proxy && peer.wanted;
        if ways < 2 || leaf as u32 == cx.view.leaf || !wanted {
            return;
        }
        let Some(target) = peer.target.or_else(|| counterpart(&cx.view, leaf as u32, place)) else { return };
        peer.target = Some(target);
        peer.rounds.begin();
        peer.round += 1;
        let mut picks = Picks::default();
        // MEET §3.3: the path of "the smallest aggregated congestion value", …
        let least = routes[..usize::from(ways)].iter().map(|route| route.pooled()).min();
        picks.draw(ways, cx.rng, |way| Some(routes[way.index()].pooled()) == least);
        // … "the best path detected last time", …
        if let Some((way, _)) = peer.rounds.remembered() {
            picks.add(way);
        }
        // … and a random one, "uncovered links with higher priority".
        while picks.ways().len() < PROBES.min(usize::from(ways)) {
            if !picks.draw(ways, cx.rng, |way| !routes[way.index()].heard.is_known()) {
                picks.draw(ways, cx.rng, |_| true);
            }
        }
        for &way in picks.ways() {
            cx.out.probe(To::Host(target), way, self.config.probe_bytes, 0, self.patience(&cx.view));
        }
    }
}

/// The instant in the head of a piece.
fn instant(head: &[u8; HEAD]) -> Time {
    let [a, b, c, d, e, f, g, h, ..] = *head;
    Time(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
}
