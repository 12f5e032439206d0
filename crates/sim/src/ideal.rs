//! The time of a flow alone, against which its slowdown is measured: a bound that no scheme can beat, or what papers
//! and other simulators call ideal.

mod bound;
mod crossing;
mod cuts;

use crate::engine::Sim;
use crate::ids::FlowId;
use crate::packet::Clock;
use crate::spec::{Ideal, IdealFrame, MetricsSpec};
use crate::topology::{BestPaths, LinkSpec};
use crate::transport::contract::Protocol;
use crate::transport::rdma::split::wire_bytes;
use crate::warden::GoOn;
use bound::{Bounds, Data};

/// That time for each flow: see the column `ideal_fct_ps`; 0 for flows that were skipped.
pub(crate) fn of_flows(sim: &Sim<'_>, metrics: &MetricsSpec, go_on: GoOn<'_>) -> Vec<u64> {
    let topology = &sim.net.topology;
    let mut best = BestPaths::default();
    let bounds = Bounds::new(topology, sim.net.clock);
    // Only where switches compute other routes in a graph is there a hop limit.
    let mut bounds = if sim.net.hop_limit > 0 { bounds.with_detours() } else { bounds };
    let flows = sim.world.flows.specs.numbered();
    flows
        .map(|(id, flow)| {
            if flow.size == 0 || !go_on() {
                return 0;
            }
            let udp = sim.world.flows.schedule(id);
            let own = match udp {
                None => {
                    let frame = sim.world.flows.carried(id).frame;
                    IdealFrame { payload: frame.mss.into(), header: frame.header.into() }
                }
                Some(udp) => IdealFrame { payload: udp.packet_bytes.into(), header: 0 },
            };
            let others = if udp.is_none() { &*metrics.ideal_frames } else { &[] };
            match metrics.ideal {
                Ideal::Bound => {
                    let patience = if udp.is_none() { sim.world.flows.carried(id).facts.patience.0 } else { u64::MAX };
                    let mut bound = |data| bounds.of(flow.sender(), flow.receiver(), &data, patience);
                    let by_others = others.iter().map(|frame| Data::new(flow.size, frame.payload, frame.header));
                    by_others.map(&mut bound).min().unwrap_or(u64::MAX).min(bound(data(sim, id, own)))
                }
                Ideal::BestPath => {
                    let paths = best.between(topology, flow.sender(), flow.receiver());
                    let time = |frame: &IdealFrame, path: &[LinkSpec]| {
                        ideal_fct(flow.size, frame.payload, frame.header, path, sim.net.clock)
                    };
                    let least = |path: Vec<LinkSpec>| {
                        others.iter().map(|frame| time(frame, &path)).fold(time(&own, &path), u64::min)
                    };
                    paths.map(least).min().unwrap_or(0)
                }
            }
        })
        .collect()
}

/// What a flow sends, in packets of its own transport. Packets of a message that is split over queue pairs
/// have other sizes, and leave in an order that pacing decides: each of their bytes counts separately, a bound that
/// none can beat.
fn data(sim: &Sim<'_>, id: FlowId, IdealFrame { payload, header }: IdealFrame) -> Data {
    let (flows, size) = (&sim.world.flows, sim.world.flows.specs[id].size);
    let is_split = flows.has_transport(id) && flows.carried(id).facts.protocol == Protocol::Roce && flows.subflows > 0;
    match is_split {
        true => Data::new(wire_bytes(size, flows.subflows, (payload, header)), 1, 0),
        false => Data::new(size, payload, header),
    }
}

/// Exact arrival of the last byte when `size` bytes leave in full packets, back to back, over `path`: the last full
/// packet leaves hop h after the first has crossed all hops before and the slowest of them has sent the rest; the
/// short last packet follows it. Links keep time on this `clock`.
pub(crate) fn ideal_fct(size: u64, payload: u64, header: u64, path: &[LinkSpec], clock: Clock) -> u64 {
    let full = size / payload;
    let rest = size % payload;
    let time = |bytes: u64, rate: u64| clock.tx_time(bytes, rate);
    let (mut first, mut slowest, mut delay, mut last) = (0u64, 0u64, 0u64, 0u64);
    for link in path {
        let tx = time(payload + header, link.rate);
        let full_gone = if full > 0 {
            first += tx;
            slowest = slowest.max(tx);
            first.saturating_add(slowest.saturating_mul(full - 1))
        } else {
            0
        };
        last = if rest > 0 { last.max(full_gone).saturating_add(time(rest + header, link.rate)) } else { full_gone };
        delay += link.delay.0;
    }
    last.saturating_add(delay)
}
