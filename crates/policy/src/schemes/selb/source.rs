//! SELB's source half: where a flow starts, and when and where to it is rerouted.

use super::uplinks::{one_of, shortest};
use super::{BACKUP, FirstPath, Flow, Header, Mark, REROUTES, Selb, Stamp};
use crate::{Cx, Packet, Port, Time, Way};

/// How far the present epoch of a flow is, at its source leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// On its first path.
    #[default]
    Settled,
    /// TAIL has been sent, the flow has moved.
    Rerouted,
    /// TAIL is known to have arrived: the next packet opens an epoch.
    Cleared,
}

/// A flow's row at its source leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// When its last packet passed.
    pub last: Time,
    /// When its TAIL was sent.
    pub tail: Stamp,
    /// Before this it keeps its path, for a reroute of it found no reorder queue.
    pub kept_until: Time,
    /// Its path: a port of this leaf.
    pub port: u16,
    /// Its epoch.
    pub epoch: u8,
    /// How far that is.
    pub progress: Progress,
}

/// The way that the packet's hash names.
pub(super) fn hashed(cx: &Cx<'_, Selb>, packet: &Packet) -> usize {
    packet.spread(cx.view.salt, cx.view.candidates.len() as u32) as usize
}

impl Selb {
    /// A data packet at its source leaf: its way, and its header.
    pub(super) fn source(&self, cx: &mut Cx<'_, Self>, flow: &mut Flow, packet: &Packet, header: &mut Header) -> usize {
        let (now, candidates) = (cx.now, cx.view.candidates);
        let known = if let Flow::Source(source) = flow { Some(*source) } else { None };
        let mut source = known.unwrap_or_default();
        // The port may have left the group since.
        let active = known.is_some() && now.since(source.last) <= self.inactive;
        let kept = candidates.iter().position(|&port| active && port == source.port);
        *header = Header { stamped: true, charged: self.header_bytes, tx: Stamp::of(now), ..Header::default() };
        let way = match kept {
            None => {
                let way = self.first(cx, packet);
                source = Source { port: candidates[way], epoch: source.epoch.wrapping_add(1), ..Source::default() };
                header.mark = Mark::Init;
                way
            }
            Some(way) => {
                if source.progress == Progress::Cleared {
                    (source.progress, source.epoch) = (Progress::Settled, source.epoch.wrapping_add(1));
                    header.mark = Mark::Init;
                }
                // SELB §"Packet Reordering": a flow is rerouted "at most once at the same time".
                if source.progress == Progress::Settled
                    && now >= source.kept_until
                    && let Some(new) = self.reroute(cx, way)
                {
                    (header.mark, source.port) = (Mark::Tail, candidates[new]);
                }
                way
            }
        };
        header.rerouted = source.progress == Progress::Rerouted;
        if header.mark == Mark::Tail {
            (source.tail, source.progress) = (header.tx, Progress::Rerouted);
        }
        if source.progress == Progress::Rerouted {
            header.tail = source.tail;
        }
        (header.way, header.epoch, source.last) = (Way(way as u16), source.epoch, now);
        *flow = Flow::Source(source);
        way
    }

    /// The way of a flow that starts.
    fn first(&self, cx: &mut Cx<'_, Self>, packet: &Packet) -> usize {
        if self.first_path == FirstPath::Ecmp {
            return hashed(cx, packet);
        }
        let (view, ports, n) = (cx.view, &*cx.ports, cx.view.candidates.len());
        let port = |way: usize| view.candidates[way];
        one_of(n, cx.rng, |way| !ports[usize::from(port(way))].congested)
            .unwrap_or_else(|| shortest(n, cx.rng, |way| view.queue_bytes(Port(port(way))), None))
    }

    /// Where to a flow on `old` is rerouted, if it is.
    // SELB §"Rerouting Strategy"
    fn reroute(&self, cx: &mut Cx<'_, Self>, old: usize) -> Option<usize> {
        let (view, ports, n) = (cx.view, &*cx.ports, cx.view.candidates.len());
        let uplink = |way: usize| &ports[usize::from(view.candidates[way])];
        let here = *uplink(old);
        if !here.congested {
            return None;
        }
        // The present path is congested, hence none of these.
        let same = |way: usize| uplink(way).cluster == here.cluster && !uplink(way).congested;
        let new = one_of(n, cx.rng, same).or_else(|| {
            // SELB §"Rerouting Strategy": "directly rerouted to the path with the shortest queue length"
            let length = |way: usize| view.queue_bytes(Port(view.candidates[way]));
            let shortest = shortest(n, cx.rng, length, Some(old));
            (shortest != old).then(|| {
                cx.out.record(BACKUP, shortest as f64);
                shortest
            })
        });
        if let Some(new) = new {
            cx.out.record(REROUTES, new as f64);
        }
        new
    }
}
