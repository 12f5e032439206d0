//! One peer: reports the data path's counts since the last step to the scheme, and publishes the scheme's next
//! decisions.

mod greetings;
mod headers;
mod tell;

use crate::Failure;
use crate::clocks::Clocks;
use crate::config;
use crate::health::{Same, Turn, Watch};
use crate::layout::{EVENTS_LOST, Headers, State, Table, WAYS};
use crate::plane::Plane;
use crate::reach::Reach;
use crate::search::{Path, Search};
use crate::slow::Slow;
use crate::table::{Manners, Paths, table};
use bytemuck::Zeroable;
use greetings::Greetings;
use spinewise_policy::{Event, Time, Way};
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

/// The stage reached with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No agent has answered there: traffic is plain.
    Plain,
    /// An agent has answered: its paths are being searched for, and traffic is plain.
    Searching,
    /// Traffic uses the tunnel.
    Tunnelled,
}

impl Stage {
    /// The name for output.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Plain => "plain",
            Stage::Searching => "searching",
            Stage::Tunnelled => "tunnelled",
        }
    }
}

/// A peer in another rack.
pub struct Peer {
    /// Its number.
    pub host: u32,
    /// Its address.
    pub address: Ipv4Addr,
    /// The stage reached.
    pub stage: Stage,
    /// The current life of its agent.
    pub instance: u16,
    /// When its agent was last heard, ns.
    pub heard: u64,
    /// When its data path last answered a probe, ns.
    pub reached: u64,
    /// The greetings sent to it.
    pub(crate) greetings: Greetings,
    /// The current search for its paths.
    pub search: Option<Search>,
    /// How many have begun.
    pub searches: u64,
    /// When the next one is due.
    pub search_at: u64,
    /// Its paths, as found.
    pub found: Vec<Path>,
    /// Its paths, as the data path numbers them.
    pub paths: Paths,
    /// The last counts.
    pub state: State,
    /// The counts of a step earlier.
    before: State,
    /// The table last published.
    pub table: Table,
    /// Which of them are alive.
    pub watch: Watch,
    /// Mean delays of the last samples by path, ns: round trip, and one way.
    pub delays: Vec<(u64, u64)>,
    /// Whether its data path answers.
    pub reach: Reach,
    /// Paths on which only short packets arrive, as last found.
    pub narrow: usize,
    /// Length of the longest packet that goes to it by the tunnel, outer headers included.
    pub longest: u16,
    /// How its clock differs from the one here.
    pub clocks: Clocks,
    /// When traffic to it last left.
    active_at: u64,
    active: bool,
    manners: Manners,
    published: u64,
    waiting: VecDeque<[u8; 16]>,
    headers: Headers,
    /// The ring of headers has not moved since then.
    stuck_since: u64,
    last_tail: u32,
    recent: VecDeque<u16>,
    /// The last burst that was reported: the life of the agent, and its number.
    burst_told: (u16, u16),
    /// The number of the burst that was published last, and that of the last one before the scheme restarted its count.
    burst_sent: u16,
    bursts_before: u16,
    /// Per way: packets that came with a header, and have been reported with it.
    carried: Vec<u64>,
    /// Events that the kernel could not report, as last counted.
    events_lost: u64,
    /// Where the scheme traced a port: the second switch on its path.
    pub via: BTreeMap<u16, Ipv4Addr>,
    /// The scheme's last view: the ways that it offered, and its quantities.
    saw: (Vec<Way>, Vec<f64>),
}

/// The inputs of a peer's step.
pub struct Step<'a> {
    /// Now, ns.
    pub now: u64,
    /// The same in time awake.
    pub awake: u64,
    /// The scheme.
    pub slow: &'a mut Slow,
    /// The fast half.
    pub plane: &'a mut dyn Plane,
    /// The configuration.
    pub config: &'a config::Config,
}

impl Step<'_> {
    /// The current time, in the form of schemes.
    pub fn time(&self) -> Time {
        self.slow.time(self.now)
    }
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A path has died or is back.
    Path(usize, Turn),
    /// Headers that found no packet to carry them.
    Stranded(Vec<[u8; 16]>),
}

impl Peer {
    /// A peer of which nothing is known.
    pub fn new(host: u32, address: Ipv4Addr) -> Peer {
        Peer {
            host,
            address,
            stage: Stage::Plain,
            instance: 0,
            heard: 0,
            reached: 0,
            greetings: Greetings::default(),
            search: None,
            searches: 0,
            search_at: 0,
            found: Vec::new(),
            paths: Paths::default(),
            state: State::zeroed(),
            before: State::zeroed(),
            table: Table::zeroed(),
            watch: Watch::default(),
            events_lost: 0,
            via: BTreeMap::new(),
            saw: (Vec::new(), Vec::new()),
            delays: vec![(0, 0); WAYS],
            reach: Reach::default(),
            narrow: 0,
            longest: 0,
            clocks: Clocks::default(),
            active_at: 0,
            active: false,
            manners: Manners::default(),
            published: 0,
            waiting: VecDeque::new(),
            headers: Headers::zeroed(),
            stuck_since: 0,
            last_tail: 0,
            recent: VecDeque::new(),
            burst_told: (0, 0),
            burst_sent: 0,
            bursts_before: 0,
            carried: vec![0; WAYS],
        }
    }

    /// Paths that are considered dead.
    pub fn dead_paths(&self) -> impl Iterator<Item = Path> {
        let dead = self.found.iter().enumerate().filter(|(way, _)| self.watch.is_dead(*way));
        dead.map(|(_, path)| path.clone())
    }

    /// The scheme has forgotten it.
    pub fn forgotten(&mut self) {
        self.active = false;
        self.waiting.clear();
        self.bursts_before = self.burst_sent;
    }

    /// Handles another life of its agent. Knowledge of the previous one says nothing about this one, whose headers and
    /// bursts are numbered from the beginning; headers for the previous one are useless to this one.
    ///
    /// # Errors
    /// The fast half is gone.
    pub fn renew(&mut self, step: &mut Step<'_>, instance: u16) -> Result<(), Failure> {
        self.instance = instance;
        // Its machine may have started anew, and its clock with it.
        self.clocks = Clocks::default();
        if self.active {
            step.slow.learnt(step.time(), self.host, Way::ANY, Event::FlowEnd);
        }
        step.slow.forget(self.host);
        self.forgotten();
        self.recent.clear();
        self.carried.fill(0);
        self.headers.head = self.state.tail;
        step.plane.offer(self.host, &self.headers)
    }

    /// The number by which the peer knows a burst of the scheme's. It continues when the scheme has started over,
    /// because the peer takes lower ones for old.
    fn numbered(&mut self, burst: u16) -> u16 {
        if burst == 0 {
            return 0;
        }
        self.burst_sent = ((u32::from(self.bursts_before) + u32::from(burst) - 1) % 65_535 + 1) as u16;
        self.burst_sent
    }

    /// Sets its paths. Returns whether they have changed.
    pub fn settle(&mut self, found: Vec<Path>, most: u16) -> bool {
        let found: Vec<Path> = found.into_iter().take(usize::from(most)).collect();
        let changed = found != self.found;
        if changed {
            self.paths = Paths::of(found.iter().map(|path| path.port).collect());
            let before = found.iter().map(|path| {
                let same = |what: Same| move |(way, _): (usize, &Path)| (way, what);
                let at = |fits: &dyn Fn(&Path) -> bool| self.found.iter().enumerate().find(|(_, old)| fits(old));
                at(&|old| old == path)
                    .map(same(Same::All))
                    .or_else(|| at(&|old| old.hops == path.hops).map(same(Same::Path)))
            });
            self.watch = self.watch.moved(&before.collect::<Vec<_>>());
            self.found = found;
            self.mark_dead();
        }
        changed
    }

    /// The name by which the scheme knows a way of this host's.
    pub fn name(&self, slow: &Slow, number: usize) -> Way {
        if slow.plan().by_port { Way(self.paths.ports[number]) } else { Way(number as u16) }
    }

    /// The first half of a step: reports what has been sent. This comes before anything that has come back is handled;
    /// otherwise the scheme would hear of packets that it has not sent.
    ///
    /// # Errors
    /// The fast half is gone.
    pub fn account(&mut self, step: &mut Step<'_>) -> Result<(), Failure> {
        self.before = std::mem::replace(&mut self.state, step.plane.state(self.host)?);
        let mut echoes = self.before.echo.iter().zip(&self.state.echo);
        if echoes.any(|(before, now)| before.samples != now.samples) {
            self.reach.answered();
        }
        let (old, new) = (&self.before, &self.state);
        let (units, packets) = (new.cursor.wrapping_sub(old.cursor), new.packets.wrapping_sub(old.packets));
        if packets > 0 {
            let sum =
                |state: &State| state.sent.iter().fold((0, 0), |sum, one| (sum.0 + one.packets, sum.1 + one.bytes));
            let (old, new) = (sum(old), sum(new));
            let wire = (new.1 - old.1).checked_div(new.0 - old.0).unwrap_or(0) as u32;
            let headers = step.slow.sent(step.time(), self.host, (units, packets), wire);
            self.wait(headers);
        }
        Ok(())
    }

    /// The second half: reports what has arrived, and publishes the next decisions.
    ///
    /// # Errors
    /// The fast half is gone.
    pub fn step(&mut self, step: &mut Step<'_>) -> Result<Vec<News>, Failure> {
        let mut news = Vec::new();
        let before = self.before;
        let busy = self.state.packets != before.packets;
        self.tell_arrivals(step, &before);
        self.tell_delays(step, &before);
        self.tell_activity(step, &before);
        news.extend(self.offer(step)?);
        if step.config.health.enabled && !step.slow.plan().by_port {
            self.feel(step, &mut news)?;
        }
        self.publish(step, busy)?;
        Ok(news)
    }

    /// Finds out which paths are alive.
    fn feel(&mut self, step: &Step<'_>, news: &mut Vec<News>) -> Result<(), Failure> {
        let counts = self.state.sent.iter().zip(&self.state.echo).map(|(sent, echo)| (sent.packets, echo.packets));
        self.watch.look(step.awake, counts);
        if self.watch.condemned(step.awake, &step.config.health).is_none() {
            return Ok(());
        }
        // An answer may be among the events that the kernel could not report.
        let lost = step.plane.counters()?[EVENTS_LOST];
        if lost != self.events_lost {
            self.events_lost = lost;
            self.watch.excuse();
        }
        while let Some((way, why)) = self.watch.judge(step.awake, &step.config.health) {
            news.push(News::Path(way, Turn::Died(why)));
        }
        self.mark_dead();
        Ok(())
    }

    /// Updates the table with the findings of the watch.
    pub fn mark_dead(&mut self) {
        let dead = (0..self.found.len()).filter(|way| self.watch.is_dead(*way));
        let dead = dead.fold(0u64, |bits, number| bits | 1 << (number & 63));
        self.paths.alive = Paths::of(self.paths.ports.clone()).alive & !dead;
    }

    /// The next decisions, if something may have changed.
    fn publish(&mut self, step: &mut Step<'_>, busy: bool) -> Result<(), Failure> {
        /// An idle table is published again at this interval.
        const IDLE_NS: u64 = 20_000_000;
        let stale = step.now - self.published > IDLE_NS;
        let alive = self.table.open & !self.paths.alive != 0;
        if self.stage != Stage::Tunnelled || !(busy || stale || alive) {
            return Ok(());
        }
        let now = step.time();
        let said = step.slow.rehearse(now, self.host);
        if step.slow.plan().by_port {
            let ways: Vec<Way> = said.offered.iter().copied().chain(said.slots.iter().map(|slot| slot.0)).collect();
            self.paths.follow(&ways);
        }
        if busy || stale {
            self.manners.hide = step.slow.hides(now, self.host);
        }
        self.manners.picks_acks = step.slow.picks_acks();
        let base = self.state.cursor;
        let mut next = table(step.slow.plan(), &said, &self.paths, self.manners, (base, step.slow.view.mss));
        next.burst = self.numbered(next.burst);
        self.published = step.now;
        self.saw = (said.offered, said.sight);
        if next != self.table {
            self.table = next;
            step.plane.publish(self.host, &next)?;
        }
        Ok(())
    }

    /// The scheme's last view of each way to it: the second-tier switch it leads through, if known, and the scheme's
    /// quantities.
    pub fn sight(&self, slow: &Slow) -> Vec<(Option<Ipv4Addr>, Vec<f64>)> {
        let (first, quantities) = slow.quantities();
        let (ways, values) = &self.saw;
        let of = |(place, way): (usize, &Way)| {
            let via = if slow.plan().by_port {
                self.via.get(&way.0).copied()
            } else {
                self.found.get(way.index()).and_then(|path| path.hops.first().copied())
            };
            let from = first + place * quantities.len();
            (via, values.get(from..from + quantities.len()).unwrap_or_default().to_vec())
        };
        ways.iter().enumerate().map(of).collect()
    }

    /// Leaves traffic to it plain from now on.
    ///
    /// # Errors
    /// The fast half is gone.
    pub fn leave_plain(&mut self, plane: &mut dyn Plane) -> Result<(), Failure> {
        self.stage = Stage::Plain;
        self.reach = Reach::default();
        self.table = Table::zeroed();
        plane.publish(self.host, &self.table)
    }

    /// Shares of the next units that go by each path.
    pub fn weights(&self) -> Vec<f64> {
        let mut counts = vec![0u32; self.paths.ports.len()];
        for slot in self.table.slots.iter().filter(|_| self.table.tunnel > 0) {
            if let Some(count) = counts.get_mut(usize::from(slot & 63)) {
                *count += 1;
            }
        }
        counts.into_iter().map(|count| f64::from(count) / self.table.slots.len() as f64).collect()
    }
}
