//! Searches for the paths to a peer, and what follows from what they find.

use super::Agent;
use super::deeds::search_probe;
use crate::Failure;
use crate::peer::{Peer, Stage};
use crate::plane::Plane;
use crate::record::Happened;
use crate::search::{Path, Search};

impl<P: Plane> Agent<P> {
    /// Looks for the paths to a peer, if it is time.
    pub(super) fn search(&mut self, now: u64, at: usize) -> Result<(), Failure> {
        let (config, by_port) = (&self.config, self.slow.plan().by_port);
        let peer = &mut self.peers[at];
        // A scheme of ports searches on its own, from its first packet on, once something has come back.
        if peer.stage == Stage::Plain || by_port {
            return Ok(());
        }
        if peer.search.is_none() && now >= peer.search_at {
            let known: Vec<u16> = peer.found.iter().map(|path| path.port).collect();
            // Each search draws other ports, or what the first has missed would never be found.
            let seed = config.seed ^ u64::from(config.host) << 32 ^ u64::from(peer.host) ^ peer.searches << 44;
            peer.searches += 1;
            peer.search = Some(Search::new(&known, config.discovery.ports, config.discovery.most_hops, seed));
        }
        let Some(search) = &mut peer.search else { return Ok(()) };
        for wanted in search.begin() {
            self.wanted.push_back(search_probe((peer.host, peer.address, peer.longest), wanted));
        }
        if search.is_over() {
            let narrow = search.narrow();
            let mut paths = search.paths_beside(&peer.found);
            // A dead path is still probed, and comes back in its former role.
            let lost =
                peer.dead_paths().filter(|dead| !paths.iter().any(|path| path.hops == dead.hops)).collect::<Vec<_>>();
            if !paths.is_empty() {
                paths.extend(lost);
                paths.sort();
            }
            self.narrowed(now, at, narrow, paths.len())?;
            self.end_search(now, at, paths);
        }
        Ok(())
    }

    fn end_search(&mut self, now: u64, at: usize, paths: Vec<Path>) {
        /// A search that has found nothing is repeated soon.
        const SOON: u64 = 500_000_000;
        let peer = &mut self.peers[at];
        peer.search = None;
        let wait = if paths.is_empty() { SOON } else { self.config.discovery.rediscover_ms * 1_000_000 };
        peer.search_at = now + wait;
        if paths.is_empty() {
            return;
        }
        let known = !peer.found.is_empty();
        let changed = peer.settle(paths, self.config.discovery.most_paths);
        peer.stage = Stage::Tunnelled;
        let (host, count) = (peer.host, peer.found.len());
        let rack = self.config.hosts[host as usize].rack as usize;
        if changed {
            self.record.happened(now, Happened::Paths { host, count });
        }
        // A rack has as many ways as lead to any of its hosts.
        let of_rack = self.peers.iter().filter(|peer| self.config.hosts[peer.host as usize].rack as usize == rack);
        self.slow.view.ways[rack] = of_rack.map(|peer| peer.found.len() as u16).max().unwrap_or(0);
        if changed && known {
            self.slow.begin_anew(self.slow.time(now));
            self.peers.iter_mut().for_each(Peer::forgotten);
        }
    }

    /// A search has found this many paths on which only short packets arrive, beside others.
    fn narrowed(&mut self, now: u64, at: usize, count: usize, others: usize) -> Result<(), Failure> {
        let peer = &mut self.peers[at];
        if count > 0 && count != peer.narrow {
            let (host, bytes) = (peer.host, peer.longest);
            self.record.happened(now, Happened::MtuTooSmall { host, count, bytes });
        }
        peer.narrow = count;
        if count > 0 && others == 0 && peer.stage == Stage::Tunnelled {
            self.lose(now, at)?;
        }
        Ok(())
    }
}
