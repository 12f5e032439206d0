//! The periodic work of a sender: settle estimates, declare paths dead, classify, solve, publish.

use super::classify::{Spread, classify};
use super::model::best_granularity;
use super::*;

impl<V: Variant> Adaptive<V> {
    /// Counts a flow in; the first to a peer begins its estimate anew, or continues a fresh one.
    pub(super) fn flow_starts(&self, now: Time, node: &mut Node, peer: &mut Peer, routes: &mut [Route]) {
        if peer.active == 0 {
            if node.active == 0 && now.since(node.planned) > self.stale {
                node.gran = 0;
            }
            node.active += 1;
            if now.since(peer.planned) > self.stale {
                *peer = Peer::default();
                routes.fill(Route::default());
            }
            routes.iter_mut().for_each(Route::rest);
        }
        peer.active += 1;
    }

    /// How long a first answer is awaited; also when the shell gives up a probe.
    pub(super) fn patience(&self, view: &HostView<'_>) -> Span {
        self.dead_after() + view.base_rtt * u64::from(self.config.patience_rtts)
    }

    /// The plan in force towards a peer.
    #[inline]
    pub(super) fn plan(&self, peer: &Peer, node: &Node) -> u32 {
        match self.config.scope {
            Scope::Peer => peer.gran,
            Scope::Sender => node.gran,
        }
    }

    /// Packets per cell under this plan.
    pub(super) fn size(&self, plan: u32) -> u32 {
        if plan > 0 { plan } else { self.config.initial_packets }
    }

    fn dead_after(&self) -> Span {
        self.period * u64::from(self.config.dead_after_periods)
    }

    /// Closes the period of each path, and takes silent paths out.
    pub(super) fn settle(&self, now: Time, view: &HostView<'_>, peer: &mut Peer, routes: &mut [Route]) {
        for route in routes {
            route.settle();
            if !route.dead && route.silent(now, self.dead_after(), self.patience(view)) {
                route.dead = true;
                peer.dead += 1;
            }
        }
    }

    /// Publishes the granularity towards one peer.
    pub(super) fn plan_for_peer(&self, now: Time, view: &HostView<'_>, peer: &mut Peer, routes: &[Route]) {
        let paths = match self.config.estimate {
            Estimate::AckShare => {
                let m = routes.len() as f64;
                if f64::from(peer.share.total) < m * f64::from(self.size(peer.gran)) {
                    return;
                }
                let paths = peer.share.paths(m);
                peer.share.restart(self.config.classifier, self.gate(view));
                paths
            }
            Estimate::Probe | Estimate::AckTimestamps => self.classes(now, view, routes.iter()),
        };
        if let Some(paths) = paths {
            (peer.gran, peer.bad, peer.planned) = (self.solve(view, &paths), paths.bad, now);
        }
    }

    /// Publishes the sender's granularity: the paths of all active peers are classified together, and m and N_b divided
    /// by the number of peers. Returns granularity and N_b.
    pub(super) fn plan_for_sender(&self, cx: &mut Cx<'_, Self>) -> (f64, f64) {
        let (now, view, stride) = (cx.now, cx.view, cx.peers.stride);
        let count = f64::from(cx.node.active);
        let rows = &mut *cx.peers.peers;
        let paths = if self.config.estimate == Estimate::AckShare {
            let all = rows.iter().zip(cx.peers.ids).filter(|(peer, _)| peer.active > 0);
            let m = all.map(|(_, &id)| f64::from(view.ways_to_host(id))).sum::<f64>() / count;
            self.pooled_share(&view, rows, m, self.size(cx.node.gran))
        } else {
            let (rows, ids, routes) = (&*rows, cx.peers.ids, &*cx.peers.routes);
            let all = rows.iter().zip(ids).enumerate().filter(|(_, (peer, _))| peer.active > 0);
            let pooled = all
                .flat_map(|(index, (_, &id))| routes[index * stride..].iter().take(usize::from(view.ways_to_host(id))));
            self.classes(now, &view, pooled).map(|all| Paths { m: all.m / count, bad: all.bad / count, ..all })
        };
        let Some(paths) = paths else { return (f64::from(cx.node.gran), cx.node.recorded[1]) };
        (cx.node.gran, cx.node.planned) = (self.solve(&view, &paths), now);
        for peer in rows.iter_mut().filter(|peer| peer.active > 0) {
            peer.planned = now;
        }
        (f64::from(cx.node.gran), paths.bad)
    }

    /// All active peers' acknowledgements as one count, once there are as many as in a cell for each path of one peer.
    fn pooled_share(&self, view: &HostView<'_>, peers: &mut [Peer], m: f64, size: u32) -> Option<Paths> {
        let mut all = Share::default();
        for peer in peers.iter().filter(|peer| peer.active > 0) {
            all.merge(&peer.share);
        }
        if f64::from(all.total) < m * f64::from(size) {
            return None;
        }
        let paths = all.paths(m);
        all.restart(self.config.classifier, self.gate(view));
        for peer in peers.iter_mut().filter(|peer| peer.active > 0) {
            peer.share = all;
        }
        paths
    }

    /// Classifies the live paths once half of them have been measured.
    fn classes<'r>(
        &self,
        now: Time,
        view: &HostView<'_>,
        routes: impl Iterator<Item = &'r Route> + Clone,
    ) -> Option<Paths> {
        let live = routes.filter(|route| !route.dead);
        let known = live.clone().filter(|route| route.known()).count();
        if known == 0 || 2 * known < live.clone().count() {
            return None;
        }
        classify(self.config.classifier, self.gate(view), live.filter_map(|route| route.believed(now)))
    }

    /// The delay above which a live path is congested, µs; `None` if none is.
    pub(super) fn congested_above(&self, now: Time, view: &HostView<'_>, routes: &[Route]) -> Option<f64> {
        let live = routes.iter().filter(|route| !route.dead);
        let spread = Spread::of(live.filter_map(|route| route.believed(now)));
        spread.threshold(self.config.classifier, self.gate(view))
    }

    /// The gate, µs.
    fn gate(&self, view: &HostView<'_>) -> f64 {
        self.config.gate_packets / packets_per_us(view)
    }

    /// Eq. 10 with this host's constants.
    fn solve(&self, view: &HostView<'_>, paths: &Paths) -> u32 {
        let config = &self.config;
        let k = Constants {
            model: config.model,
            cells: config.cells,
            limit: config.cells_limit,
            w_ref: config.window_packets,
            max_w: config.max_window_packets,
            flow: config.flow_packets,
            rate: packets_per_us(view),
        };
        match config.search {
            Search::Packets => best_granularity(paths, &k, 1..=config.max_packets),
            Search::PowersOfTwoKb => {
                let sizes = (0..=6).map(|n| ((1024 << n) / view.mss.max(1)).clamp(1, config.max_packets));
                best_granularity(paths, &k, sizes)
            }
        }
    }

    /// Adds points to the series.
    pub(super) fn report(&self, cx: &mut Cx<'_, Self>, values: [f64; 3]) {
        if self.config.record == Record::Off {
            return;
        }
        for (series, (value, last)) in [Points::Granularity, Points::BadPaths, Points::Probes]
            .into_iter()
            .zip(values.into_iter().zip(cx.node.recorded))
        {
            if self.config.record == Record::Ticks || value != last {
                cx.out.record(series, value);
            }
        }
        cx.node.recorded = values;
    }
}

/// C: full packets per microsecond of an unloaded path.
fn packets_per_us(view: &HostView<'_>) -> f64 {
    view.path_rate as f64 / (f64::from(view.mtu) * 8e6)
}
