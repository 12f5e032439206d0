//! The loop: process what has arrived, let every peer take its step, and carry out the scheme's wishes.

mod deeds;
mod lives;
mod paths;
mod tunnel;

use crate::Failure;
use crate::config::Config;
use crate::health::{Awake, Moment};
use crate::layout::{Event, Own};
use crate::peer::{News, Peer, Stage, Step};
use crate::plan::Plan;
use crate::plane::Plane;
use crate::probes::{Probe, Prober, Purpose};
use crate::record::{Happened, Record};
use crate::slow::Slow;
use crate::talk::{Line, Speaker, Talk};
use crate::view::View;
use rustix::time::{ClockId, clock_gettime};
use spinewise_policy::Span;
use std::collections::VecDeque;
use std::net::{SocketAddrV4, UdpSocket};

/// An agent that has not answered for this long is gone, unless its data path has answered.
const GONE: u64 = 1_600_000_000;
/// It is also gone if the agent itself has been silent for this long, even if its data path still answers.
const LONG_GONE: u64 = 10_000_000_000;
/// An answer to a probe of a path or of the tunnel is recognized for this long, ns.
const HEALTH_PATIENCE: u64 = 5_000_000_000;
/// The scheme's time begins this long before the agent does: packets sent just before it can still be reported.
const BEFORE: u64 = 10_000_000_000;
/// Interval at which the agent sees to it that the fast half is attached, ns.
const ATTACHED: u64 = 1_000_000_000;
/// A search probe counts as lost after this time.
const SEARCH_PATIENCE: u64 = 200_000_000;

/// The time of all stamps: nanoseconds since the machine started.
pub fn clock() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The number of an agent's life, by which peers distinguish it from the previous one. It is taken from the time of
/// day, because the machine may have run for as long as when the last life began. Never 0.
pub fn life() -> u16 {
    let now = clock_gettime(ClockId::Realtime);
    let ms = now.tv_sec as u64 * 1_000 + now.tv_nsec as u64 / 1_000_000;
    1 + (ms % 65_535) as u16
}

/// A running agent.
pub struct Agent<P: Plane> {
    /// Its configuration.
    pub config: Config,
    /// The scheme.
    pub slow: Slow,
    /// The fast half.
    pub plane: P,
    /// Peers in other racks.
    pub peers: Vec<Peer>,
    /// The record of what happened.
    pub record: Record,
    /// When it began, ns.
    pub began: u64,
    line: Line,
    prober: Prober,
    own: Own,
    tokens: f64,
    filled: u64,
    wanted: VecDeque<Probe>,
    awake: Awake,
    /// Time awake at this step.
    awake_for: u64,
    /// When to record the next sight.
    sight_at: u64,
    /// When to see to it next that the fast half is attached.
    attached_at: u64,
    /// The tunnel's port, kept from others.
    _held: UdpSocket,
}

/// The sockets an agent sends on.
pub struct Doors {
    /// The line to other agents.
    pub line: Line,
    /// Sends probes of paths.
    pub prober: Prober,
    /// The tunnel's port, which nobody else may use. Nothing for this host arrives there.
    pub held: UdpSocket,
    /// Length of the longest packet to each host, outer headers included.
    pub longest: Vec<u16>,
}

impl Doors {
    /// Opens all; `longest` is the length of the longest packet to each host, outer headers included.
    ///
    /// # Errors
    /// No privilege, or the port is in use.
    pub fn open(config: &Config, instance: u16, longest: Vec<u16>) -> Result<Doors, Failure> {
        let me = config.me().address;
        let speaker = Speaker { host: config.host as u16, instance };
        let taken = |port: u16, what: &'static str| {
            move |error: std::io::Error| Failure::Unable(format!("port {port} of {me} for {what}: {error}"))
        };
        let held = UdpSocket::bind(SocketAddrV4::new(me, config.port)).map_err(taken(config.port, "the tunnel"))?;
        // What others send there is not read, and need not be kept.
        let kept = socket2::SockRef::from(&held).set_recv_buffer_size(0);
        kept.map_err(taken(config.port, "the tunnel"))?;
        let line = Line::open(me, config.port + 1, speaker);
        let line = line.map_err(taken(config.port + 1, "messages between agents"))?;
        Ok(Doors { line, prober: Prober::open(me, config.port, instance)?, held, longest })
    }
}

/// The scheme's view of the fabric, from the configuration.
pub fn view(config: &Config) -> View {
    let racks: Vec<u32> = config.hosts.iter().map(|host| host.rack).collect();
    let count = racks.iter().max().map_or(0, |rack| *rack as usize + 1);
    let bits = |mbps: f64| (mbps * 1e6) as u64;
    View {
        host: config.host,
        racks,
        ways: vec![0; count],
        link_rate: bits(config.told.link_mbps),
        path_rate: bits(config.told.path_mbps),
        base_rtt: Span::from_us_f64(config.told.base_rtt_us),
        base_one_way: Span::from_us_f64(config.told.base_one_way_us),
        mss: config.told.mss,
        mtu: config.told.mtu,
    }
}

impl<P: Plane> Agent<P> {
    /// Sets everything up; traffic is plain until a peer has answered.
    ///
    /// # Errors
    /// The fast half refuses.
    pub fn new(config: Config, plan: Plan, mut plane: P, doors: Doors, own: Own) -> Result<Agent<P>, Failure> {
        let mut slow = Slow::new(plan, view(&config), config.seed, config.discovery.most_paths);
        slow.epoch = clock().saturating_sub(BEFORE);
        let my_rack = config.me().rack;
        let Doors { line, prober, held, longest } = doors;
        let mut peers = Vec::new();
        plane.own(&own)?;
        for (number, host) in (0..).zip(&config.hosts) {
            if host.rack != my_rack {
                plane.meet(host.address.octets(), number)?;
                let mut peer = Peer::new(number, host.address);
                peer.longest = longest.get(number as usize).copied().unwrap_or(0);
                peers.push(peer);
            }
        }
        let mut record = Record::open(config.record.as_deref())?;
        let now = clock();
        record.happened(now, Happened::Began);
        let wanted = VecDeque::new();
        let awake = Awake::since(now, config.step_us * 1_000);
        Ok(Agent {
            config,
            slow,
            plane,
            peers,
            record,
            began: now,
            line,
            prober,
            own,
            tokens: 0.0,
            filled: now,
            wanted,
            awake,
            awake_for: 0,
            sight_at: 0,
            attached_at: now + ATTACHED,
            _held: held,
        })
    }

    /// Datagrams of other agents that were refused.
    pub fn refused(&self) -> u64 {
        self.line.refused
    }

    /// One step of everything.
    ///
    /// # Errors
    /// The fast half is gone.
    pub fn step(&mut self) -> Result<(), Failure> {
        let now = clock();
        self.awake_for = self.awake.step(now);
        if self.slow.is_outlived(now) {
            self.live_again(now);
        }
        self.own.beat = now;
        self.plane.own(&self.own)?;
        if now >= self.attached_at {
            self.attached_at = now + ATTACHED;
            if self.plane.keep_attached()? {
                self.record.happened(now, Happened::Reattached);
            }
        }
        let events = self.plane.events()?;
        for peer in self.peers.iter_mut().filter(|peer| peer.stage == Stage::Tunnelled) {
            let (slow, config, plane, awake) = (&mut self.slow, &self.config, &mut self.plane, self.awake_for);
            peer.account(&mut Step { now, awake, slow, config, plane })?;
        }
        self.hear_events(now, &events);
        self.hear_talk(now)?;
        for (probe, by) in self.prober.collect(now) {
            self.probe_ended(now, probe, by);
        }
        self.slow.catch_up(self.slow.time(now));
        for at in 0..self.peers.len() {
            self.greet(now, at)?;
            self.search(now, at)?;
            self.reach(now, at)?;
            if self.peers[at].stage == Stage::Tunnelled {
                self.step_peer(now, at)?;
            }
        }
        self.grant(now);
        self.send_wanted(now);
        self.record_sight(now);
        self.record.keep_up(now);
        Ok(())
    }

    fn at(&self, host: u32) -> Option<usize> {
        self.peers.iter().position(|peer| peer.host == host)
    }

    fn hear_events(&mut self, now: u64, events: &[Event]) {
        for event in events {
            if event.kind == crate::shim::Kind::Reply as u8 {
                if let Some((probe, by)) = self.prober.answered(event) {
                    self.probe_ended(now, probe, by);
                }
            } else if let Some(at) = self.at(event.peer) {
                let (slow, config, plane, awake) = (&mut self.slow, &self.config, &mut self.plane, self.awake_for);
                let mut step = Step { now: event.at, awake, slow, config, plane };
                self.peers[at].hear(&mut step, (event.header_seq, event.way, event.port), event.header);
            }
        }
    }

    fn hear_talk(&mut self, now: u64) -> Result<(), Failure> {
        let hosts = self.config.hosts.clone();
        let address_of = |host: u16| hosts.get(usize::from(host)).map(|host| host.address);
        for (speaker, talk) in self.line.listen(address_of) {
            let host = u32::from(speaker.host);
            let at = self.at(host);
            let of_now = at.is_none_or(|at| self.peers[at].instance == speaker.instance);
            match talk {
                Talk::Hello | Talk::Welcome => {
                    if talk == Talk::Hello {
                        self.say(host, &Talk::Welcome);
                    }
                    if let Some(at) = at {
                        self.meet(now, at, speaker.instance)?;
                    }
                }
                // Messages of the previous agent come too late.
                Talk::Bye | Talk::Headers(_) if !of_now => {}
                Talk::Bye => {
                    if let Some(at) = at {
                        self.lose(now, at)?;
                    }
                }
                Talk::Message { class, body } => {
                    self.slow.message(self.slow.time(now), host, class, &body);
                }
                Talk::Headers(headers) => {
                    for header in headers.into_iter().filter(|_| at.is_some()) {
                        self.slow.heard_alone(self.slow.time(now), host, header);
                    }
                }
            }
        }
        Ok(())
    }

    fn say(&self, host: u32, talk: &Talk) {
        self.line.say(self.config.hosts[host as usize].address, self.config.port + 1, talk);
    }

    fn greet(&mut self, now: u64, at: usize) -> Result<(), Failure> {
        let peer = &mut self.peers[at];
        if peer.greetings.is_due(now, peer.stage) {
            let host = peer.host;
            self.say(host, &Talk::Hello);
        }
        let Peer { heard, reached, stage, .. } = self.peers[at];
        let gone = now.saturating_sub(heard.max(reached)) > GONE || now.saturating_sub(heard) > LONG_GONE;
        if stage != Stage::Plain && gone {
            self.lose(now, at)?;
        }
        Ok(())
    }

    fn step_peer(&mut self, now: u64, at: usize) -> Result<(), Failure> {
        let (slow, config, plane, awake) = (&mut self.slow, &self.config, &mut self.plane, self.awake_for);
        let news = self.peers[at].step(&mut Step { now, awake, slow, config, plane })?;
        let host = self.peers[at].host;
        for news in news {
            match news {
                News::Path(way, turn) => self.path_turned(now, at, way, turn),
                News::Stranded(headers) => self.say(host, &Talk::Headers(headers)),
            }
        }
        let peer = &mut self.peers[at];
        if !self.config.health.enabled {
            return Ok(());
        }
        for way in peer.watch.wants(awake, &self.config.health) {
            let port = peer.paths.ports[way];
            let (to, address, give_up) = (peer.host, peer.address, HEALTH_PATIENCE);
            let purpose = Purpose::Health;
            let way_of = way as u16;
            let probe = Probe { purpose, to, address, port, way: way_of, ttl: 0, length: 0, sent: now, give_up };
            // A probe that the kernel would not take proves nothing.
            if self.prober.send(probe) {
                peer.watch.asked(way, Moment { clock: now, awake });
            }
        }
        Ok(())
    }

    /// Tells all peers that this agent is leaving, and gives them time to hear it; then detaches the data path.
    ///
    /// # Errors
    /// The data path could not be detached.
    pub fn stop(&mut self) -> Result<(), Failure> {
        for peer in &mut self.peers {
            peer.leave_plain(&mut self.plane)?;
        }
        // Sent more than once, because it may be lost; a peer that hears it sends plain packets at once.
        for _ in 0..3 {
            for host in 0..self.config.hosts.len() as u32 {
                if host != self.config.host {
                    self.say(host, &Talk::Bye);
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        self.plane.detach()
    }
}
