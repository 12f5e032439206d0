//! A host's work at each hook: it takes the table of the pair, lets both halves work, and handles the results.

use super::discovery::{Found, Prober, draw_port};
use super::header::{Header, Info, LONG_BYTES, NO_PATH, UDP_BYTES};
use super::receiver::Arrivals;
use super::sender::{Heard, Paths};
use super::{Discovery, Ecn, Elab, FEEDBACK, InitialRate, MOST_TOLD, Peer, Points, Route};
use super::{RATES, Refused};
use crate::edge::weighted;
use crate::sees::quantity;
use crate::{
    Cx, Event, Feedback, HostView, Key, Kind, Listed, Packet, Quantity, Rule, Sees, Sight, Span, Time, To, Way,
};

/// Bytes below the body of a message: Ethernet, IP, UDP.
const BELOW: u32 = 14 + 20 + UDP_BYTES as u32;
/// Minimum Ethernet frame.
const LEAST_FRAME: u32 = 64;

crate::listed! {
    /// The rule that gave a packet its way.
    enum Why: Rule {
        InTurn = Rule::Chooses("every packet: the virtual path whose turn it is by share"),
        Burst = Rule::Chooses("a burst measures what a virtual path can carry: all of its packets go there"),
    }

    /// Quantities of a candidate that it considers.
    enum OfWay: Quantity {
        Ceiling = quantity("ceiling", "Mbit/s", "B_i: estimated capacity of the path"),
        Rate = quantity("rate", "Mbit/s", "R_i: what it carries for this pair, as last reported"),
        Share = quantity("share", "of the packets", "w_i"),
        Dead = quantity("dead", "", "1: abandoned for now"),
    }
}

/// The reported quantities of choices.
pub(super) const SEES: Sees = Sees { rules: Why::ALL, way: OfWay::ALL, ..Sees::NOTHING };

impl Elab {
    /// Computes the configured values once for each pair.
    // ELAB §4.4.3 (1): B_i is the operator's value for the physical link.
    pub(crate) fn introduce(&self, view: &HostView<'_>, peer: &mut Peer) {
        let kbps = |bits: u64| u32::try_from(bits / 1000).unwrap_or(u32::MAX).max(1);
        let times = |thousandths: u64| Span(view.base_rtt.0.saturating_mul(thousandths) / 1000);
        let told = match self.config.initial_rate {
            InitialRate::Link => kbps(view.link_rate),
            InitialRate::Path => kbps(view.path_rate),
        };
        peer.link_rate = kbps(view.link_rate);
        peer.told_rate = if self.initial > 0 { self.initial } else { told };
        peer.floor = ((u64::from(peer.told_rate) * u64::from(self.floor)) >> 16) as u32;
        peer.rtt = view.base_rtt;
        peer.t_explore = times(self.t_explore);
        // Bits per kbit/s are milliseconds.
        let full = (u64::from(view.mtu) * 8 * 1_000_000_000).checked_div(u64::from(peer.floor));
        peer.second = peer.rtt.max(full.map_or(peer.t_explore, Span));
        peer.interval = times(self.interval);
        peer.patience = times(self.patience);
        peer.explore = Time::NEVER;
    }

    /// The most virtual paths of a pair with this number of rows.
    pub(super) fn most_vps(&self, rows: usize) -> usize {
        match self.config.most_paths {
            0 => rows,
            most => rows.min(most as usize),
        }
    }

    /// The first packet of a pair: one path to begin with, and a search for more.
    #[cold]
    fn meet(&self, cx: &mut Cx<'_, Self>, to: u32) {
        let ways = cx.view.ways_to_host(to);
        let (peer, routes) = cx.peers.current();
        if peer.link_rate == 0 {
            self.introduce(&cx.view, peer);
        }
        let (now, ceiling) = (cx.now, peer.told_rate);
        let mut paths = Paths { peer, routes };
        if self.config.discovery == Discovery::Blind {
            let most = self.most_vps(paths.routes.len()).min(usize::from(ways));
            for tag in 0..most as u16 {
                paths.add(tag, 0, ceiling, now);
            }
            paths.peer.search.next = Time::NEVER;
        } else {
            paths.add(draw_port(cx.rng), 0, ceiling, now);
            // The search that is due begins with the packet in hand.
            paths.peer.search.next = now;
        }
        paths.weigh(self, now);
    }

    /// Reports what [`Elab::send`] is going to examine: the virtual paths are the candidates.
    pub(super) fn tell(&self, cx: &Cx<'_, Self>, packet: &Packet, sight: &mut Sight<'_>) {
        let (peer, routes) = cx.peers.here();
        let in_use = &routes[..usize::from(peer.vps)];
        for (at, Route { vp, .. }) in in_use.iter().enumerate() {
            sight.offer(Way(vp.port));
            sight.way(at, OfWay::Ceiling, f64::from(vp.ceiling) / 1e3);
            sight.way(at, OfWay::Rate, f64::from(vp.rate) / 1e3);
            sight.way(at, OfWay::Share, f64::from(vp.weight) / f64::from(weighted::WHOLE));
            sight.way(at, OfWay::Dead, f64::from(vp.state.dead));
        }
        let due = cx.now >= peer.explore && in_use.iter().any(|route| route.vp.explore <= cx.now);
        let begins = due && peer.may_begin_burst(cx.now);
        let goes_on = peer.burst_goes_on(cx.now);
        let data = packet.kind == Kind::Data && packet.payload > 0;
        sight.rule(if data && (begins || goes_on) { Why::Burst } else { Why::InTurn });
    }

    /// A packet is about to leave: sets its path and its header.
    #[inline]
    pub(super) fn send(&self, cx: &mut Cx<'_, Self>, packet: &Packet, header: &mut Header) -> Way {
        let now = cx.now;
        if cx.peers.current().0.vps == 0 {
            self.meet(cx, packet.dst);
        }
        let (peer, routes) = cx.peers.current();
        if now >= peer.search.next {
            let prober =
                &mut Prober { elab: self, now, to: packet.dst, ceiling: peer.told_rate, rng: cx.rng, out: &mut cx.out };
            Paths { peer, routes }.search(prober);
        }
        if peer.vps == 0 {
            return Way::ANY;
        }
        let info = Arrivals { peer, routes }.report(self, now);
        let mut paths = Paths { peer, routes };
        // Packets sent before a pause may have been lost, and show nothing.
        if now.since(paths.peer.told) > self.dead_after {
            paths.forget_silence();
        }
        paths.peer.told = now;
        let (at, burst_id) = paths.choose(self, now, packet.kind == Kind::Data && packet.payload > 0);
        *header = Header { tunnel: self.tunnel, info: Info { burst_id, ..info } };
        paths.sent(at, packet.wire + crate::Wire::wire(header), now);
        Way(paths.routes[at].vp.port)
    }

    /// A packet has arrived: counts it, and reads its feedback.
    #[inline]
    pub(super) fn receive(&self, cx: &mut Cx<'_, Self>, packet: &Packet, header: &Header) {
        let now = cx.now;
        let (peer, routes) = cx.peers.current();
        if peer.link_rate == 0 {
            self.introduce(&cx.view, peer);
        }
        if !peer.timer {
            peer.timer = true;
            cx.out.arm(Key::Route(packet.src, Way(0), FEEDBACK), now + peer.patience);
        }
        let size = (packet.wire, packet.ce);
        let counted = Arrivals { peer, routes }.arrived(self, now, packet.way.0, size, header.info.burst_id);
        if let Err(refused) = counted {
            Self::refuse(cx, refused);
        }
        if header.info.vp_id != NO_PATH {
            self.hear(cx, &header.info);
        }
        let masks = match self.config.ecn {
            Ecn::Passed => false,
            Ecn::Hidden => packet.ce,
            Ecn::AllMarked => packet.kind == Kind::Ack && now >= cx.peers.current().0.all_marked_until,
        };
        if masks {
            cx.out.mask_ecn();
        }
    }

    /// Feedback about one of this host's paths.
    #[inline]
    fn hear(&self, cx: &mut Cx<'_, Self>, info: &Info) {
        let (now, first) = (cx.now, cx.peers.current == 0);
        let (peer, routes) = cx.peers.current();
        let mut paths = Paths { peer, routes };
        let heard = match paths.hear(self, now, info) {
            Ok(heard) => heard,
            Err(refused) => return Self::refuse(cx, refused),
        };
        if heard.measured || info.marked || heard.probed {
            if let Some(died) = paths.weigh(self, now) {
                self.mourn(&mut paths, died, now, &mut cx.out);
            }
            self.note(&paths, heard, info, first && self.config.record_rates, &mut cx.out);
        }
    }

    /// A path has died: others may be found.
    #[cold]
    fn mourn(&self, paths: &mut Paths<'_>, died: usize, now: Time, out: &mut crate::Out<'_>) {
        out.record(Points::Died, died as f64);
        if self.config.discovery == Discovery::Traceroute {
            paths.search_soon(now);
        }
    }

    /// Records the changes made by feedback as series.
    #[inline]
    fn note(&self, paths: &Paths<'_>, heard: Heard, info: &Info, rates: bool, out: &mut crate::Out<'_>) {
        if heard.sensed {
            out.record(Points::Sensed, heard.vp as f64);
        }
        if let Some(rate) = info.rate.filter(|_| heard.probed) {
            out.record(Points::Probed, f64::from(self.config.rate_unit.kbps(rate)));
        }
        if let Some(&(ceiling, rate)) = RATES.get(heard.vp).filter(|_| rates) {
            let vp = &paths.routes[heard.vp].vp;
            out.record(ceiling, f64::from(vp.ceiling));
            out.record(rate, f64::from(vp.rate));
        }
    }

    #[cold]
    fn refuse(cx: &mut Cx<'_, Self>, refused: Refused) {
        let count = &mut cx.node.refused[refused as usize];
        *count = count.saturating_add(1);
        cx.out.record(Points::Refused, f64::from(refused as u8));
    }

    /// A probe of a search has come back, or is lost.
    pub(super) fn probe_came_back(&self, cx: &mut Cx<'_, Self>, feedback: &Feedback) {
        let (now, port) = (cx.now, feedback.way.0);
        let Some(&to) = cx.peers.ids.get(cx.peers.current) else { return };
        let (peer, routes) = cx.peers.current();
        let ceiling = peer.told_rate;
        let mut paths = Paths { peer, routes };
        let mut prober = Prober { elab: self, now, to, ceiling, rng: cx.rng, out: &mut cx.out };
        let found = match feedback.event {
            Event::ProbeReply { by, port: by_port, .. } => paths.answered(&mut prober, port, (by, by_port)),
            Event::ProbeLost => paths.unanswered(&mut prober, port),
            _ => return,
        };
        if found != Found::Nothing {
            paths.weigh(self, now);
        }
        if found == Found::End {
            cx.out.record(Points::Found, f64::from(paths.peer.vps));
        }
    }

    /// If nothing has gone back for long, sends a message with the pending feedback.
    pub(super) fn patience_is_over(&self, cx: &mut Cx<'_, Self>, host: u32) {
        let now = cx.now;
        let (peer, routes) = cx.peers.current();
        let mut arrivals = Arrivals { peer, routes };
        arrivals.peer.timer = false;
        if !arrivals.has_news() {
            return;
        }
        let patience = arrivals.peer.patience;
        let mut next = arrivals.peer.told + patience;
        if next <= now {
            let mut body = [0; MOST_TOLD * LONG_BYTES];
            let mut used = 0;
            for _ in 0..arrivals.told_of(now).min(MOST_TOLD) {
                used += arrivals.report(self, now).encode(&mut body[used..]).unwrap_or(0);
            }
            let wire = (BELOW + used as u32).max(LEAST_FRAME);
            cx.out.send(To::Host(host), FEEDBACK, None, Way::ANY, &body[..used], wire);
            arrivals.peer.told = now;
            next = now + patience;
        }
        if arrivals.has_news() {
            arrivals.peer.timer = true;
            cx.out.arm(Key::Route(host, Way(0), FEEDBACK), next);
        }
    }

    /// A message has the info headers of one path after another.
    pub(super) fn read_message(&self, cx: &mut Cx<'_, Self>, body: &[u8]) {
        let mut left = body;
        for _ in 0..MOST_TOLD {
            if left.is_empty() {
                return;
            }
            let Ok((info, used)) = Info::decode(left) else { return Self::refuse(cx, Refused::Short) };
            self.hear(cx, &info);
            left = &left[used..];
        }
    }
}
