//! The loop's actions: probes, paths that die or come back, and the scheme's wishes.

use super::{Agent, SEARCH_PATIENCE};
use crate::clocks::Clocks;
use crate::health::Turn;
use crate::peer::Stage;
use crate::plane::Plane;
use crate::probes::{By, Probe, Purpose};
use crate::record::Happened;
use crate::search::{FULL, Wanted};
use crate::slow::Wish;
use crate::talk::Talk;
use spinewise_policy::{Device, Event, Port, Span, Way};
use std::net::Ipv4Addr;

impl<P: Plane> Agent<P> {
    pub(super) fn path_turned(&mut self, now: u64, at: usize, way: usize, turn: Turn) {
        /// Paths that die together need one search.
        const SOON: u64 = 500_000_000;
        let host = self.peers[at].host;
        let happened = match turn {
            Turn::Died(why) => Happened::PathDead { host, way, why },
            Turn::Back => Happened::PathBack { host, way },
        };
        self.record.happened(now, happened);
        self.peers[at].mark_dead();
        // Routes may have changed: ports are traced again.
        self.peers[at].search_at = self.peers[at].search_at.min(now + SOON);
    }

    /// A probe was answered, or not.
    pub(super) fn probe_ended(&mut self, now: u64, probe: Probe, by: By) {
        let Some(at) = self.at(probe.to) else { return };
        if let By::Host { .. } = by {
            self.peers[at].reached = now;
            self.peers[at].reach.answered();
        }
        match probe.purpose {
            Purpose::Scheme => {
                if let (By::Switch(address), 2) = (by, probe.ttl) {
                    self.peers[at].via.insert(probe.port, address);
                }
                let event = event_of(probe, by, now, &mut self.peers[at].clocks);
                self.slow.learnt(self.slow.time(now), probe.to, Way(probe.way), event);
            }
            Purpose::Search => {
                let peer = &mut self.peers[at];
                let Some(search) = &mut peer.search else { return };
                let next = match by {
                    By::Host { .. } => search.through(probe.port),
                    By::Switch(address) => search.hop(probe.port, address),
                    By::Nobody => search.silent(probe.port),
                };
                let next = next.map(|wanted| search_probe((peer.host, peer.address, peer.longest), wanted));
                self.wanted.extend(next);
            }
            Purpose::Health => {
                let way = usize::from(probe.way);
                let By::Host { rtt, .. } = by else { return };
                let turn = self.peers[at].watch.answered(way, probe.sent, rtt);
                if let Some(turn) = turn {
                    self.path_turned(now, at, way, turn);
                }
            }
            Purpose::Reach => self.reach_ended(now, at, probe, by),
        }
    }

    /// Records the scheme's view of every path, if requested and due.
    pub(super) fn record_sight(&mut self, now: u64) {
        let period = self.config.record_sight_ms * 1_000_000;
        if period == 0 || now < self.sight_at {
            return;
        }
        self.sight_at = now + period;
        let names: Vec<&str> = self.slow.quantities().1.iter().map(|quantity| quantity.name).collect();
        for peer in self.peers.iter().filter(|peer| peer.stage == Stage::Tunnelled) {
            self.record.sight(now, peer.host, &names, &peer.sight(&self.slow));
        }
    }

    /// Carries out the scheme's wishes.
    pub(super) fn grant(&mut self, now: u64) {
        for wish in self.slow.wishes() {
            match wish {
                Wish::Send { to, class, body } => {
                    for host in to {
                        self.say(host, &Talk::Message { class, body: body.clone() });
                    }
                }
                Wish::Probe { to, way, ttl, give_up } => {
                    let Some(at) = self.at(to) else { continue };
                    let peer = &self.peers[at];
                    let port = if self.slow.plan().by_port {
                        way.0
                    } else {
                        let Some(&port) = peer.paths.ports.get(way.index()) else { continue };
                        port
                    };
                    let (address, give_up) = (peer.address, (give_up.0 / 1000).max(self.config.step_us * 2_000));
                    let (purpose, way) = (Purpose::Scheme, way.0);
                    let probe = Probe { purpose, to, address, port, way, ttl, length: 0, sent: now, give_up };
                    // Probes that switches answer are paced as those of a search are.
                    if ttl > 0 {
                        self.wanted.push_back(probe);
                    } else {
                        self.prober.send(probe);
                    }
                }
                Wish::Record { series, value } => self.record.point(now, series, value),
            }
        }
    }

    /// Probes that switches answer go no faster than switches may answer (net.ipv4.icmp_msgs_per_sec). The hosts of a
    /// rack share what its leaf may.
    pub(super) fn send_wanted(&mut self, now: u64) {
        /// The most sent at once.
        const BURST: f64 = 16.0;
        let mine = self.config.hosts.iter().filter(|host| host.rack == self.config.me().rack).count();
        let rate = f64::from(self.config.discovery.probes_per_s) / mine as f64;
        self.tokens = (self.tokens + (now - self.filled) as f64 * 1e-9 * rate).min(BURST);
        self.filled = now;
        while self.tokens >= 1.0 {
            let Some(probe) = self.wanted.pop_front() else { break };
            self.tokens -= 1.0;
            self.prober.send(Probe { sent: now, ..probe });
        }
    }
}

/// A probe that a search wants, to a peer with this number, address and length of the longest packet.
pub(super) fn search_probe((to, address, longest): (u32, Ipv4Addr, u16), (port, ttl): Wanted) -> Probe {
    let (ttl, length) = if ttl == FULL { (0, longest) } else { (ttl, 0) };
    Probe { purpose: Purpose::Search, to, address, port, way: 0, ttl, length, sent: 0, give_up: SEARCH_PATIENCE }
}

/// The event that ends a scheme's probe.
fn event_of(probe: Probe, by: By, now: u64, clocks: &mut Clocks) -> Event {
    let since = now.saturating_sub(probe.sent);
    match by {
        By::Host { rtt, apart, marked } => Event::ProbeReply {
            rtt: Span::from_ns(rtt),
            one_way: Span::from_ns(clocks.one_way(now, apart, rtt)),
            marked,
            by: Device::Host(probe.to),
            port: Port(0),
        },
        // As in traceroute, a switch is known by the address of its interface.
        By::Switch(address) => Event::ProbeReply {
            rtt: Span::from_ns(since),
            one_way: Span::from_ns(since / 2),
            marked: false,
            by: Device::Switch(u32::from(address)),
            port: Port(0),
        },
        By::Nobody => Event::ProbeLost,
    }
}
