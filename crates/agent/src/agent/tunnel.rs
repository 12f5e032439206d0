//! The tunnel to a peer: whether anything comes back from it, and whether long packets pass.

use super::{Agent, HEALTH_PATIENCE};
use crate::Failure;
use crate::peer::Stage;
use crate::plane::Plane;
use crate::probes::{By, Probe, Purpose};
use crate::record::Happened;

/// Where ports of probes begin that go before any path is known.
const FIRST_PORT: u16 = 0xc000;
/// One in this many of those probes is short.
const SHORT: usize = 4;

impl<P: Plane> Agent<P> {
    /// Probes a peer whose traffic goes by the tunnel, or is to go there once something has come back.
    pub(super) fn reach(&mut self, now: u64, at: usize) -> Result<(), Failure> {
        let (awake, by_port) = (self.awake_for, self.slow.plan().by_port);
        let peer = &mut self.peers[at];
        let waits = by_port && peer.stage == Stage::Searching;
        if !waits && peer.stage != Stage::Tunnelled {
            return Ok(());
        }
        if !waits && peer.reach.is_lost(awake) {
            let host = peer.host;
            self.record.happened(now, Happened::TunnelSilent { host });
            return self.lose(now, at);
        }
        let Some(turn) = peer.reach.wants(awake) else { return Ok(()) };
        let ports = &peer.paths.ports;
        let port = match turn.checked_rem(ports.len()) {
            Some(way) => ports[way],
            None => FIRST_PORT + turn as u16 % 0x3fff,
        };
        let length = if waits && turn.is_multiple_of(SHORT) { 0 } else { peer.longest };
        let (to, address, purpose, give_up) = (peer.host, peer.address, Purpose::Reach, HEALTH_PATIENCE);
        peer.reach.asked(awake);
        self.prober.send(Probe { purpose, to, address, port, way: 0, ttl: 0, length, sent: now, give_up });
        Ok(())
    }

    /// Such a probe was answered, or not.
    pub(super) fn reach_ended(&mut self, now: u64, at: usize, probe: Probe, by: By) {
        /// The path is too narrow if this many short probes arrive and no long one.
        const ENOUGH: usize = 3;
        let peer = &mut self.peers[at];
        let waits = self.slow.plan().by_port && peer.stage == Stage::Searching;
        match by {
            By::Host { .. } if waits && probe.length > 0 => {
                peer.stage = Stage::Tunnelled;
                peer.narrow = 0;
            }
            By::Host { .. } if waits => {
                peer.narrow += 1;
                if peer.narrow == ENOUGH {
                    let (host, bytes) = (peer.host, peer.longest);
                    self.record.happened(now, Happened::MtuTooSmall { host, count: 1, bytes });
                }
            }
            By::Host { .. } | By::Switch(_) | By::Nobody => {}
        }
    }
}
