//! Agents that come and go: those of peers, and restarts of this one.

use super::{Agent, BEFORE};
use crate::Failure;
use crate::peer::{Peer, Stage, Step};
use crate::plane::Plane;
use crate::record::Happened;

impl<P: Plane> Agent<P> {
    /// The scheme's time ends, so the scheme starts over, and for peers so does the agent.
    pub(super) fn live_again(&mut self, now: u64) {
        self.slow.epoch = now.saturating_sub(BEFORE);
        self.slow.begin_anew(self.slow.time(now));
        self.peers.iter_mut().for_each(Peer::forgotten);
        self.own.instance = self.own.instance.checked_add(1).unwrap_or(1);
        self.line.renew(self.own.instance);
        self.prober.renew(self.own.instance);
    }

    /// An agent has appeared.
    pub(super) fn meet(&mut self, now: u64, at: usize, instance: u16) -> Result<(), Failure> {
        let (slow, config, plane, awake) = (&mut self.slow, &self.config, &mut self.plane, self.awake_for);
        let peer = &mut self.peers[at];
        peer.heard = now;
        let is_another = peer.instance != instance;
        if peer.stage == Stage::Plain || is_another {
            peer.leave_plain(plane)?;
            if is_another {
                peer.renew(&mut Step { now, awake, slow, config, plane }, instance)?;
            }
            peer.stage = Stage::Searching;
            peer.search_at = now;
            let host = peer.host;
            self.record.happened(now, Happened::PeerUp { host });
        }
        Ok(())
    }

    /// An agent is gone: traffic to it is plain before it stops reading the tunnel.
    pub(super) fn lose(&mut self, now: u64, at: usize) -> Result<(), Failure> {
        let peer = &mut self.peers[at];
        if peer.stage != Stage::Plain {
            peer.leave_plain(&mut self.plane)?;
            peer.search = None;
            let host = peer.host;
            self.record.happened(now, Happened::PeerGone { host });
        }
        Ok(())
    }
}
