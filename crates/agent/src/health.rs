//! Dead paths: probes on one get no answer while probes on its neighbours, sent no earlier, do.
//!
//! Silence alone proves nothing. An agent without CPU time has not listened, a peer without CPU time has not spoken,
//! and a queue may be longer than expected. So a path is given up only if all of the following hold:
//!
//! - [`LOST`] consecutive probes that were handed to the kernel are unanswered, and no packet of the path was confirmed
//!   since;
//! - the first of them has been out for longer than `silent_ms` plus the slowest recent answer, counting only time
//!   during which this agent was awake ([`Awake`]);
//! - another path to the same peer has answered a probe that was sent no earlier than the last of the [`LOST`]. A peer
//!   that is silent on all paths is not running or has no link: no path is to blame, and giving up all of them would
//!   not help.
//!
//! Answers are given by the peer's data path in the kernel, so they do not wait for its daemon. A late answer still
//! proves the path alive. A path is *suspect* when packets have been sent on it for half that time and none was
//! confirmed, or when a probe has been out for as long: all paths to the peer are then probed every quarter of
//! `silent_ms`, otherwise every `probe_ms`. Three answers in a row bring a dead path back.

use crate::config;
use std::collections::VecDeque;

/// Consecutive unanswered probes that make a path dead.
pub const LOST: usize = 3;
/// Consecutive answers that bring it back.
const BACK: u8 = 3;
/// The most unanswered probes of a path that are remembered.
const REMEMBERED: usize = 16;
/// The slowest answer is that of the current stretch of this length and of the previous one, ns.
const STRETCH: u64 = 5_000_000_000;
/// The most it counts for, in multiples of `silent_ms`: otherwise a path that was once very slow could never be given
/// up.
const MOST: u64 = 10;

/// The time during which an agent was awake: a late step counts as one that was [`Awake::LATE`] steps long.
#[derive(Clone, Copy, Debug)]
pub struct Awake {
    time: u64,
    last: u64,
    most: u64,
}

impl Awake {
    /// Upper limit of a wakeful step, in steps.
    pub const LATE: u64 = 10;

    /// Starts at `now`, with steps of this length, ns.
    pub fn since(now: u64, step: u64) -> Awake {
        Awake { time: 0, last: now, most: step.saturating_mul(Awake::LATE) }
    }

    /// A step begins. Returns the time so far, ns.
    pub fn step(&mut self, now: u64) -> u64 {
        self.time += now.saturating_sub(self.last).min(self.most);
        self.last = now;
        self.time
    }
}

/// A moment: by the clock, and in time awake, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Time by the clock.
    pub clock: u64,
    /// Time awake.
    pub awake: u64,
}

/// One path.
#[derive(Clone, Debug, Default)]
struct Pulse {
    /// Packets sent, and confirmed, as last seen.
    sent: u64,
    confirmed: u32,
    /// The value of `sent` when the last one was confirmed.
    sent_then: u64,
    /// First packet since then that is not confirmed, in time awake.
    waiting_since: Option<u64>,
    /// When a probe was last sent, in time awake.
    probed: Option<u64>,
    /// Unanswered probes since the last sign of life, oldest first.
    asked: VecDeque<Moment>,
    /// When the newest answered probe had been sent, by the clock.
    proven: u64,
    answered: u8,
    dead: bool,
}

/// A change in the state of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It has died.
    Died(Why),
    /// It is back.
    Back,
}

/// Why a path was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// Number of unanswered probes.
    pub unanswered: u32,
    /// How long the first of them was outstanding, in time awake, ns.
    pub silent: u64,
    /// How long an answer was awaited, ns.
    pub patience: u64,
}

impl Pulse {
    /// Takes the current counts of packets sent on it and confirmed.
    fn look(&mut self, awake: u64, sent: u64, confirmed: u32) {
        if confirmed != self.confirmed || sent < self.sent {
            (self.confirmed, self.sent_then, self.waiting_since) = (confirmed, self.sent, None);
            self.asked.clear();
        }
        if sent > self.sent && self.waiting_since.is_none() {
            self.waiting_since = Some(awake);
        }
        self.sent = sent;
    }

    /// Whether packets or a probe have waited for longer than this.
    fn is_suspect(&self, awake: u64, patience: u64, packets: u32) -> bool {
        let long = |since: u64| awake.saturating_sub(since) >= patience;
        let many = self.sent.saturating_sub(self.sent_then) >= u64::from(packets);
        many && self.waiting_since.is_some_and(long) || self.asked.front().is_some_and(|asked| long(asked.awake))
    }

    /// A probe that was sent then has come back.
    fn answered(&mut self, sent: u64) -> Option<Turn> {
        let skipped = self.asked.front().is_some_and(|asked| asked.clock < sent);
        self.proven = self.proven.max(sent);
        self.asked.retain(|asked| asked.clock > sent);
        self.answered = if skipped { 1 } else { self.answered.saturating_add(1) };
        if self.dead && self.answered >= BACK {
            self.dead = false;
            (self.sent_then, self.waiting_since) = (self.sent, None);
            return Some(Turn::Back);
        }
        None
    }
}

/// The parts of a path that are unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    /// Path and port.
    All,
    /// Only the path.
    Path,
}

/// All paths to one peer.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    pulses: Vec<Pulse>,
    /// The slowest answers: of the current stretch and of the previous one, ns.
    slowest: [u64; 2],
    stretch: u64,
}

impl Watch {
    /// This many paths, all alive.
    pub fn of(paths: usize) -> Watch {
        Watch { pulses: vec![Pulse::default(); paths], ..Watch::default() }
    }

    /// Remaps paths. For each new index: its old index, and which state carries over.
    pub fn moved(&self, before: &[Option<(usize, Same)>]) -> Watch {
        let pulse = |before: &Option<(usize, Same)>| match *before {
            Some((way, Same::All)) => self.pulses.get(way).cloned().unwrap_or_default(),
            // With another port it may be alive on a path that was dead, which its probes must show.
            Some((way, Same::Path)) => Pulse { dead: self.is_dead(way), ..Pulse::default() },
            None => Pulse::default(),
        };
        Watch { pulses: before.iter().map(pulse).collect(), ..*self }
    }

    /// Whether it is considered dead.
    pub fn is_dead(&self, way: usize) -> bool {
        self.pulses.get(way).is_some_and(|pulse| pulse.dead)
    }

    /// Counts of packets sent and confirmed, by path.
    pub fn look(&mut self, awake: u64, counts: impl Iterator<Item = (u64, u32)>) {
        for (pulse, (sent, confirmed)) in self.pulses.iter_mut().zip(counts) {
            pulse.look(awake, sent, confirmed);
        }
    }

    /// The slowest recent answer, ns.
    pub fn slowest(&self) -> u64 {
        self.slowest[0].max(self.slowest[1])
    }

    /// How long an answer is awaited, ns.
    fn patience(&self, rules: &config::Health) -> u64 {
        let silent = rules.silent_ms * 1_000_000;
        silent + self.slowest().min(MOST * silent)
    }

    /// The paths that must be probed now; the caller that sends the probes reports it with [`Watch::asked`].
    pub fn wants(&mut self, awake: u64, rules: &config::Health) -> Vec<usize> {
        let patience = self.patience(rules) / 2;
        let suspect = |pulse: &Pulse| !pulse.dead && pulse.is_suspect(awake, patience, rules.packets);
        let rarely = rules.probe_ms * 1_000_000;
        let often = if self.pulses.iter().any(suspect) { rarely.min(rules.silent_ms * 250_000) } else { rarely };
        let mut wanted = Vec::new();
        for (way, pulse) in self.pulses.iter_mut().enumerate() {
            let period = if pulse.dead { rarely } else { often };
            if pulse.probed.is_none_or(|probed| awake.saturating_sub(probed) >= period) {
                pulse.probed = Some(awake);
                wanted.push(way);
            }
        }
        wanted
    }

    /// A probe was handed to the kernel.
    pub fn asked(&mut self, way: usize, at: Moment) {
        let Some(pulse) = self.pulses.get_mut(way) else { return };
        if pulse.asked.len() == REMEMBERED {
            // Silence is counted from the first.
            pulse.asked.remove(1);
        }
        pulse.asked.push_back(at);
    }

    /// A probe that was sent then has come back, after this time.
    pub fn answered(&mut self, way: usize, sent: u64, rtt: u64) -> Option<Turn> {
        let now = sent + rtt;
        if now.saturating_sub(self.stretch) >= STRETCH {
            self.slowest = [0, self.slowest[0]];
            self.stretch = now;
        }
        self.slowest[0] = self.slowest[0].max(rtt);
        self.pulses.get_mut(way)?.answered(sent)
    }

    /// Answers may have been missed: nothing outstanding now proves anything.
    pub fn excuse(&mut self) {
        for pulse in &mut self.pulses {
            pulse.asked.clear();
        }
    }

    /// The first path that must be given up, and why. It is considered dead from then on.
    pub fn judge(&mut self, awake: u64, rules: &config::Health) -> Option<(usize, Why)> {
        let (way, why) = self.condemned(awake, rules)?;
        (self.pulses[way].dead, self.pulses[way].answered) = (true, 0);
        Some((way, why))
    }

    /// Returns the first path that would be given up.
    pub fn condemned(&self, awake: u64, rules: &config::Health) -> Option<(usize, Why)> {
        let (patience, slowest) = (self.patience(rules), self.slowest());
        self.pulses.iter().enumerate().find_map(|(way, pulse)| {
            let (first, last) = (pulse.asked.front()?, pulse.asked.get(LOST - 1)?);
            let silent = awake.saturating_sub(first.awake);
            let late = awake.saturating_sub(last.awake) >= slowest.min(patience);
            let mut others = self.pulses.iter().enumerate().filter(|(other, _)| *other != way);
            let overtaken = others.any(|(_, other)| other.proven >= last.clock);
            let why = Why { unanswered: pulse.asked.len() as u32, silent, patience };
            (!pulse.dead && silent >= patience && late && overtaken).then_some((way, why))
        })
    }
}

#[cfg(test)]
mod tests;
