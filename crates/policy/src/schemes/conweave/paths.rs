//! The paths that a source leaf draws from, and their interpretation by the switches behind it.
//!
//! A whole path is numbered as a host's path tag is: along the leaf's uplinks, and for each along the links beyond. The
//! operator gives every switch the ports that a path means ([`Ports::told_hop`](crate::site::Ports::told_hop));
//! conweave-ns3 writes these ports into the header instead, four bytes. Its set of paths has the order of these ids,
//! which is ours over two tiers.
//!
//! **Failures.** A path whose uplink is no longer a route leaves the set, and its flows start anew on another. The
//! leaf's routes do not show failures farther on: there the packet is hashed among the ports that are left. Answers are
//! late on such a path, as on any that is slower.
//!
//! Over two tiers, and with `path = "uplink"`, a path is the uplink of that number, counted from the leaf's first one,
//! whatever happens to the others.

use super::source::Draw;
use super::{ConWeave, Path};
use crate::fabric::reorder::header::Header;
use crate::{Cx, Kind, Packet, Rng, SwitchView, Time, Way};

crate::choice! {
    /// The definition of a path.
    PathIs {
        /// The whole way to the destination leaf.
        Whole = "whole",
        /// An uplink of the source leaf; switches behind it hash.
        Uplink = "uplink",
    }
}

/// The paths from this leaf to where a packet goes.
#[derive(Clone, Copy)]
pub struct Paths<'a> {
    view: SwitchView<'a>,
    to: u32,
    is_whole: bool,
    /// Their number; among whole paths, including those whose uplink is dead.
    pub number: u32,
}

impl<'a> Paths<'a> {
    /// The paths of a packet in hand; whole paths where these outnumber the uplinks.
    #[inline]
    pub fn of(view: SwitchView<'a>, packet: &Packet, path: PathIs) -> Self {
        let (to, whole) = match path {
            PathIs::Whole => {
                let to = view.leaf_of(packet.dst);
                (to, view.told_paths(to))
            }
            PathIs::Uplink => (0, 0),
        };
        match whole {
            0 => Paths { view, to, is_whole: false, number: view.candidates.len() as u32 },
            paths => Paths { view, to, is_whole: true, number: u32::from(paths) },
        }
    }

    /// The candidate that a path begins with; none if there is no such path, or that link is no longer a route.
    #[inline]
    pub fn candidate(&self, path: Way) -> Option<usize> {
        let port = if self.is_whole {
            self.view.told_hop(self.view.switch, self.to, path)?.0
        } else {
            self.view.host_ports.checked_add(path.0)?
        };
        self.view.way_of(port)
    }

    /// One of those that begin with a candidate, all equally likely.
    #[inline]
    fn one(&self, rng: &mut Rng) -> Way {
        let drawn = rng.below(self.number) as u16;
        match self.view.candidates.get(usize::from(drawn)) {
            Some(&port) if !self.is_whole => Way(port.saturating_sub(self.view.host_ports)),
            _ if self.candidate(Way(drawn)).is_some() => Way(drawn),
            _ => self.one_left(rng),
        }
    }

    #[cold]
    fn one_left(&self, rng: &mut Rng) -> Way {
        let left = || (0..self.number as u16).map(Way).filter(|&path| self.candidate(path).is_some());
        let nth = rng.below(left().count().max(1) as u32);
        left().nth(nth as usize).unwrap_or_default()
    }

    /// Draws up to `most` paths, with replacement, until one is not busy.
    // conweave-ns3: two draws, the first not invalid
    pub fn draw(&self, cx: &mut Cx<'_, ConWeave>, most: u32) -> Draw {
        let now = cx.now;
        let (_, rows) = cx.peers.current();
        let mut first = None;
        for _ in 0..most {
            let path = self.one(cx.rng);
            let first = *first.get_or_insert(path);
            if is_good(rows, path, now) {
                return Draw { first, good: Some(path) };
            }
        }
        Draw { first: first.unwrap_or_default(), good: None }
    }
}

fn is_good(rows: &[Path], path: Way, now: Time) -> bool {
    rows.get(path.index()).is_none_or(|row| row.busy_until <= now)
}

/// The way of a packet that is not data at its source leaf: by its path if that is a whole one with a live port here,
/// else by a hash.
#[inline]
pub fn beyond(view: SwitchView<'_>, packet: &Packet, header: &Header, path: PathIs) -> Way {
    if path == PathIs::Whole && packet.kind == Kind::Data && header.stamped {
        let hop = view.told_hop(view.leaf_of(packet.src), view.leaf_of(packet.dst), header.way);
        let candidate = hop.and_then(|port| view.way_of(port.0));
        if let Some(candidate) = candidate {
            return Way(candidate as u16);
        }
    }
    hashed(view, packet)
}

/// Chooses by a hash of the header.
#[inline]
pub fn hashed(view: SwitchView<'_>, packet: &Packet) -> Way {
    Way(packet.spread(view.salt, view.candidates.len() as u32) as u16)
}
