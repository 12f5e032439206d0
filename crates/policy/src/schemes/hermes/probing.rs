//! Probing for the rack: which host probes which rack, which paths, and how results reach the other hosts of the rack.

use super::Compat;
use super::path::nanoseconds;
use crate::edge::pieces::LEAD;
use crate::edge::rack;
use crate::edge::rounds::{Picks, Rounds};
use crate::{HostView, Rng, Span, Way};

/// The result of a probe, as rows keep it until it is shared and packets carry it: 30 bits of nanoseconds, and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// Delay of the probe; for a lost one, how long it was awaited.
    pub delay: Span,
    /// It was marked.
    pub marked: bool,
    /// There was no answer.
    pub lost: bool,
}

const MARKED: u32 = 1 << 30;
const LOST: u32 = 1 << 31;

impl News {
    /// Encodes it in the form kept in rows; never 0, which means no news.
    pub fn put(&self) -> u32 {
        let delay = nanoseconds(self.delay).min(MARKED - 1);
        delay | if self.marked { MARKED } else { 0 } | if self.lost { LOST } else { 0 }
    }

    /// Decodes it from a row or a packet.
    pub fn get(word: u32) -> Option<News> {
        let delay = Span::from_ns(u64::from(word & (MARKED - 1)));
        (word != 0).then_some(News { delay, marked: word & MARKED != 0, lost: word & LOST != 0 })
    }
}

/// Bytes of an entry of a message.
pub(crate) const ENTRY: usize = 8;

/// An entry: destination rack, way, and result.
pub fn put(leaf: u32, way: Way, news: u32) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    entry[..2].copy_from_slice(&(leaf as u16).to_le_bytes());
    entry[2..4].copy_from_slice(&way.0.to_le_bytes());
    entry[4..].copy_from_slice(&news.to_le_bytes());
    entry
}

/// The entries of a message.
pub fn entries(body: &[u8]) -> impl Iterator<Item = (u32, Way, News)> {
    body.get(LEAD..).unwrap_or_default().chunks_exact(ENTRY).filter_map(|entry| {
        let &[l0, l1, w0, w1, n0, n1, n2, n3] = <&[u8; ENTRY]>::try_from(entry).ok()?;
        let news = News::get(u32::from_le_bytes([n0, n1, n2, n3]))?;
        Some((u32::from(u16::from_le_bytes([l0, l1])), Way(u16::from_le_bytes([w0, w1])), news))
    })
}

/// A host's role in probing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Not determined yet.
    #[default]
    Unknown,
    /// None.
    None,
    /// It probes all other racks.
    Agent,
    /// It probes this rack (released rules).
    AgentFor(u32),
}

impl Role {
    /// The role of the host of this view: the first of a rack probes for it. By the released rules, the i-th probes
    /// rack i.
    pub fn of(view: &HostView<'_>, rules: Compat) -> Role {
        match (rules, rack::place(view)) {
            (Compat::Paper, 0) => Role::Agent,
            (Compat::Ns3, rack) if rack != view.leaf && (rack as usize) < view.ways.len() => Role::AgentFor(rack),
            _ => Role::None,
        }
    }

    /// Whether it probes this rack.
    pub fn probes(self, leaf: u32) -> bool {
        self == Role::Agent || self == Role::AgentFor(leaf)
    }
}

/// Row per destination rack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peer {
    /// Answers of this round of probes and of the last one.
    pub rounds: Rounds,
    /// The host there that answers, plus one; 0: not looked up yet.
    agent: u32,
}

impl Peer {
    /// The host of rack `leaf` that answers probes: its first. None if the rack has no host.
    pub fn agent(&mut self, leaf: u32, view: &HostView<'_>) -> Option<u32> {
        if self.agent == 0 {
            self.agent = rack::hosts_of(view, leaf).next()? + 1;
        }
        Some(self.agent - 1)
    }

    /// Begins a round: the path that was best in the previous one, and `random` others.
    // Hermes §3.1: the power of two choices, and the best path of the previous round.
    pub fn round(&mut self, ways: u16, random: u32, rng: &mut Rng) -> Picks {
        self.rounds.begin();
        let mut picks = Picks::default();
        if let Some((best, _)) = self.rounds.remembered().filter(|(way, _)| way.0 < ways) {
            picks.add(best);
        }
        for _ in 0..random {
            picks.draw(ways, rng, |_| true);
        }
        picks
    }
}
