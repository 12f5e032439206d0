//! Discovery, per pair of hosts: which source ports of the tunnel lead over which physical paths.
//!
//! A *search* traces ports, up to [`GROUP`] at a time, each by a probe with TTL 1, then 2, and so on until the peer
//! itself answers (Paris traceroute: the fields that switches hash stay the same). Every answer names the device and the
//! port by which it got the probe; all of them together are the path. Ports in use are traced first, then random ones,
//! until enough of them have shown no further path.

use super::sender::Paths;
use super::{Elab, Route};
use crate::{Device, Out, Port, Rng, Time, To, Way, hash};

/// The most ports traced at a time.
pub(crate) const GROUP: usize = 16;

/// Ports are drawn from here up (RFC 6335: the dynamic range), except the last, which the simulator does not treat as a
/// port.
const FIRST_PORT: u16 = 0xc000;

/// A probe without an answer is sent once more.
const TRIES: u8 = 2;

/// A search that has found nothing is repeated after this multiple of a probe's patience.
const RETRY: u64 = 10;

/// One port being traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tracer {
    /// Devices and ports so far, mixed.
    path: u64,
    port: u16,
    /// TTL of the current probe; 0: tracing has finished.
    ttl: u8,
    tries: u8,
}

/// A search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// When the next one begins.
    pub next: Time,
    /// Ports being traced; none: no search is running.
    pub under_way: u16,
    /// Ports in use that are still to be traced.
    known_left: u16,
    /// Random ports traced so far.
    tried: u32,
    tracers: [Tracer; GROUP],
}

/// The result of an answer, or of its absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// There is nothing yet.
    Nothing,
    /// Paths have been added or dropped.
    Paths,
    /// The search is over.
    End,
}

/// Inputs of tracing in addition to the table.
pub struct Prober<'a, 'b> {
    /// Parameters.
    pub elab: &'a Elab,
    /// The current time.
    pub now: Time,
    /// The peer.
    pub to: u32,
    /// B_i of a new path, kbit/s.
    pub ceiling: u32,
    /// Draws ports.
    pub rng: &'a mut Rng,
    /// Sends probes.
    pub out: &'a mut Out<'b>,
}

impl Prober<'_, '_> {
    fn send(&mut self, port: u16, ttl: u8) {
        self.out.probe(To::Host(self.to), Way(port), self.elab.config.probe_bytes, ttl, self.elab.give_up);
    }
}

/// Returns how many random ports must have been traced, so that if there were one path more than the `paths` found, one
/// would be missed with at most this probability (in 2⁻³²): the least n with (k + 1) (k / (k + 1))ⁿ below it.
// Augustin, Friedman, Teixeira, "Multipath tracing with Paris traceroute", E2EMON 2007.
pub fn ports_needed(paths: usize, missed: u64) -> u32 {
    let k = paths.clamp(1, 1 << 12) as u64;
    let (mut left, mut n) = ((k + 1) << 32, 0);
    while left > missed.max(k) {
        left = left * k / (k + 1);
        n += 1;
    }
    n
}

/// A random port of the dynamic range.
pub(crate) fn draw_port(rng: &mut Rng) -> u16 {
    FIRST_PORT + rng.below(u32::from(u16::MAX - FIRST_PORT)) as u16
}

impl Paths<'_> {
    /// Begins a search.
    // ELAB §4.3: groups of random source ports, until the parallel paths are found as far as may be.
    pub fn search(&mut self, prober: &mut Prober<'_, '_>) {
        self.peer.search = Search { next: Time::NEVER, known_left: self.peer.vps, ..Search::default() };
        for route in self.in_use_mut() {
            route.vp.state.confirmed = false;
        }
        self.send_group(prober);
    }

    /// Starts tracing the next ports: those in use first, and in every search but the very first on their own.
    fn send_group(&mut self, prober: &mut Prober<'_, '_>) {
        let search = &mut self.peer.search;
        let group = prober.elab.config.probe_group as usize;
        let alone = search.known_left > 0 && self.peer.vps > 1;
        let size = if alone { group.min(usize::from(search.known_left)) } else { group };
        search.tracers = [Tracer::default(); GROUP];
        for at in 0..size {
            let port = self.next_port(at, prober.rng);
            self.peer.search.tracers[at] = Tracer { path: 0, port, ttl: 1, tries: 1 };
            prober.send(port, 1);
        }
        self.peer.search.under_way = size as u16;
    }

    /// The port of tracer `at`.
    fn next_port(&mut self, at: usize, rng: &mut Rng) -> u16 {
        let search = &mut self.peer.search;
        if search.known_left > 0 {
            search.known_left -= 1;
            return self.routes[usize::from(search.known_left)].vp.port;
        }
        search.tried += 1;
        loop {
            let port = draw_port(rng);
            let drawn = self.peer.search.tracers[..at].iter().any(|tracer| tracer.port == port);
            if !drawn && self.find(port).is_none() {
                return port;
            }
        }
    }

    fn tracer(&mut self, port: u16) -> Option<&mut Tracer> {
        self.peer.search.tracers.iter_mut().find(|tracer| tracer.port == port && tracer.ttl > 0)
    }

    /// A device has answered a probe on source port `port`, which it received on its own port `by.1`.
    pub fn answered(&mut self, prober: &mut Prober<'_, '_>, port: u16, by: (Device, Port)) -> Found {
        let Some(tracer) = self.tracer(port) else { return Found::Nothing };
        let switch = match by.0 {
            Device::Switch(switch) => switch,
            Device::Host(_) => {
                let path = tracer.path;
                tracer.ttl = 0;
                let changed = self.settle(prober, port, path);
                return self.next_step(prober, changed);
            }
        };
        // A path of no devices marks one that was not traced.
        tracer.path = hash::mix2(tracer.path, u64::from(switch) << 16 | u64::from(by.1.0)) | 1;
        if u32::from(tracer.ttl) >= prober.elab.config.max_hops {
            tracer.ttl = 0;
            return self.next_step(prober, false);
        }
        tracer.ttl += 1;
        tracer.tries = 1;
        let ttl = tracer.ttl;
        prober.send(port, ttl);
        Found::Nothing
    }

    /// A probe on source port `port` was not answered.
    pub(crate) fn unanswered(&mut self, prober: &mut Prober<'_, '_>, port: u16) -> Found {
        let Some(tracer) = self.tracer(port) else { return Found::Nothing };
        if tracer.tries < TRIES {
            tracer.tries += 1;
            let ttl = tracer.ttl;
            prober.send(port, ttl);
            return Found::Nothing;
        }
        tracer.ttl = 0;
        self.next_step(prober, false)
    }

    /// Source port `port` leads over `path`. Returns whether that changes the table.
    // ELAB §4.3: what differs from all paths found so far is a new one.
    fn settle(&mut self, prober: &Prober<'_, '_>, port: u16, path: u64) -> bool {
        let confirmed = |route: &Route| route.vp.state.confirmed && route.vp.path == path;
        let same = self.in_use().iter().position(confirmed);
        let Some(at) = self.find(port) else {
            let room = usize::from(self.peer.vps) < prober.elab.most_vps(self.routes.len());
            return same.is_none() && room && self.add(port, path, prober.ceiling, prober.now);
        };
        let vp = &mut self.routes[at].vp;
        let moved = vp.path != path && vp.path != 0;
        vp.path = path;
        vp.state.confirmed = true;
        if moved {
            // The measurements belong to another path.
            vp.renew(prober.ceiling, prober.now);
        }
        if let Some(other) = same {
            self.remove(if moved { at } else { other });
        }
        moved || same.is_some()
    }

    /// Continues once the whole group is done.
    fn next_step(&mut self, prober: &mut Prober<'_, '_>, changed: bool) -> Found {
        let search = &mut self.peer.search;
        search.under_way -= 1;
        let so_far = if changed { Found::Paths } else { Found::Nothing };
        if search.under_way > 0 {
            return so_far;
        }
        if search.known_left > 0 {
            self.send_group(prober);
            return so_far;
        }
        let dropped = self.drop_vanished();
        let paths = self.in_use().iter().filter(|route| route.vp.state.confirmed).count();
        let full = paths >= prober.elab.most_vps(self.routes.len());
        if !full && self.peer.search.tried < ports_needed(paths, prober.elab.missed) {
            self.send_group(prober);
            return if dropped { Found::Paths } else { so_far };
        }
        let wait = if paths == 0 { prober.elab.give_up * RETRY } else { prober.elab.rediscover };
        self.peer.search.next = prober.now + wait;
        Found::End
    }

    /// Drops the ports in use whose traces all failed, unless every trace failed.
    fn drop_vanished(&mut self) -> bool {
        if !self.in_use().iter().any(|route| route.vp.state.confirmed) {
            return false;
        }
        let before = self.peer.vps;
        while let Some(at) = self.in_use().iter().position(|route| !route.vp.state.confirmed) {
            self.remove(at);
        }
        self.peer.vps != before
    }

    /// A path has been given up: all paths are traced again soon, unless that is under way.
    pub(crate) fn search_soon(&mut self, now: Time) {
        let search = &mut self.peer.search;
        if search.under_way == 0 && search.next > now {
            search.next = now;
        }
    }
}
