//! The pacer of a host whose receivers grant credit: it sends one granting packet after another, at the rate at which
//! the data they grant arrives (UecPullPacer and OversubscribedCC of uet-htsim, `uec.cpp` and `oversubscribed_cc.cpp`).

use super::Host;
use super::ends::answer_packet;
use crate::ids::{FlowId, HostId};
use crate::net::Net;
use crate::packet::InHand;
use crate::timers::{Timers, What};
use crate::transport::contract::{After, Arrival, Asks, CreditPacing, Grant, TrimmedAt};
use crate::world::World;
use spinewise_policy::{Rng, Span, Time, Way};
use std::collections::VecDeque;

/// Bits in a quantum of credit.
const QUANTUM_BITS: f64 = 2_048.0;
/// A packet that grants nothing takes the time of this many quanta.
const EMPTY: u64 = 4;
/// A share of marked packets above this slows the pacer down.
const TOLERATED: f64 = 0.3;

/// Which flows a host grants credit to, and when.
#[derive(Debug)]
pub(super) struct Pacer {
    /// Flows whose senders ask for credit, and flows whose senders do not.
    asking: VecDeque<FlowId>,
    idle: VecDeque<FlowId>,
    /// Its next grant is planned.
    runs: bool,
    /// Time of a quantum at full rate, ps.
    quantum: u64,
    /// How it adapts to the fabric, if it does.
    adapts: Option<Adapts>,
}

/// The fraction of its rate that a pacer grants, by what arrives.
#[derive(Debug)]
struct Adapts {
    rng: Rng,
    /// The mean time between two looks.
    interval: Span,
    least: f64,
    part: f64,
    /// Smoothed share of marked packets.
    marked: f64,
    /// Consecutive looks without a reason to slow down.
    calm: i32,
    /// Since the last look: all packets, the marked ones, those trimmed at this host's port and those trimmed elsewhere.
    seen: [u32; 4],
}

impl Pacer {
    /// The pacer of host `id`, if its receivers pace.
    pub(super) fn new(
        id: HostId,
        net: &Net,
        credit: Option<CreditPacing>,
        rate: u64,
        timers: &mut Timers,
    ) -> Option<Pacer> {
        let CreditPacing { share, least } = credit?;
        let mut adapts = (least < 1.0).then(|| Adapts {
            rng: Rng::stream(net.seed, "pacer", u64::from(id.number())),
            interval: Span((net.base_rtt.0 as f64 * 1.5) as u64),
            least,
            part: 1.0,
            marked: 0.0,
            calm: 0,
            seen: [0; 4],
        });
        if let Some(adapts) = &mut adapts {
            timers.plan(Time::ZERO + adapts.next(), What::Adapt);
        }
        let quantum = (QUANTUM_BITS * 1e12 / rate as f64 / share) as u64;
        Some(Pacer { asking: VecDeque::new(), idle: VecDeque::new(), runs: false, quantum, adapts })
    }

    /// Data arrived, whole or trimmed.
    pub(super) fn note(&mut self, data: &Arrival) {
        let Some(adapts) = &mut self.adapts else { return };
        adapts.seen[0] += 1;
        match data.trimmed {
            None => adapts.seen[1] += u32::from(data.ce),
            Some(TrimmedAt::LastHop) => adapts.seen[2] += 1,
            Some(TrimmedAt::Inside) => adapts.seen[3] += 1,
        }
    }

    /// The flow whose turn it is.
    fn next(&mut self) -> Option<(FlowId, Asks)> {
        let asking = self.asking.pop_front().map(|flow| (flow, Asks::Yes));
        asking.or_else(|| self.idle.pop_front().map(|flow| (flow, Asks::No)))
    }

    /// How long the granted credit takes to be used.
    fn gap(&self, quanta: u64) -> Span {
        let part = self.adapts.as_ref().map_or(1.0, |adapts| adapts.part);
        let quantum = (self.quantum as f64 / part) as u64;
        Span(quantum * if quanta == 0 { EMPTY } else { quanta })
    }
}

impl Adapts {
    /// The time to its next look.
    fn next(&mut self) -> Span {
        Span((self.interval.0 as f64 * (0.75 + 0.5 * self.rng.unit())) as u64)
    }

    /// Looks at what has arrived since the last look.
    fn look(&mut self) {
        let [all, marked, last_hop, inside] = std::mem::take(&mut self.seen).map(f64::from);
        let whole = all - last_hop - inside;
        let share = if whole > 0.0 { marked / whole } else { 0.0 };
        self.marked = 0.5 * (self.marked + share);
        let slows = inside > 0.0 || self.marked > TOLERATED;
        if inside > 0.0 {
            self.part -= inside / all;
        }
        if self.marked > TOLERATED {
            self.part *= 1.0 - 0.5 * (self.marked - TOLERATED);
        }
        if slows {
            self.calm = 0;
        } else {
            self.part += 0.01 * if marked == 0.0 { 2_f64.powi(self.calm) } else { 1.0 };
            self.calm += 1;
        }
        self.part = self.part.clamp(self.least, 1.0);
    }
}

impl Host {
    /// The sender of this flow is to be granted credit.
    pub(super) fn ask_for_credit(&mut self, w: &World<'_>, flow: FlowId) {
        let Some(pacer) = &mut self.pacer else { return };
        pacer.asking.push_back(flow);
        if !pacer.runs {
            pacer.runs = true;
            self.timers.plan(w.now, What::Credit);
        }
    }

    /// The pacer grants the next credit.
    pub(super) fn grant(&mut self, w: &mut World<'_>) {
        let Some(pacer) = &mut self.pacer else { return };
        let mut next = || {
            while let Some((flow, asks)) = pacer.next() {
                if let Some(grant) = w.flows.ends.grant(flow, asks) {
                    return Some((flow, grant));
                }
            }
            None
        };
        let Some((flow, Grant { answer, told, value, quanta, after })) = next() else {
            pacer.runs = false;
            return;
        };
        match after {
            After::Asks => pacer.asking.push_back(flow),
            After::Idles => pacer.idle.push_back(flow),
            After::Leaves => {}
        }
        self.timers.plan(w.now + pacer.gap(quanta), What::Credit);
        let dst = w.flows.specs[flow].sender();
        let mut packet =
            answer_packet((self.id, dst), flow.whole(), w.flows.carried(flow).frame.ack_bytes as u16, &answer);
        packet.way = value.map_or(Way::ANY, Way);
        let mut hand = InHand::with_option(packet, told.option, w.net.options);
        match value {
            // The value is the transport's own: it cycles, so that a grant lost on a dead path is not lost for good.
            Some(_) => self.send_as_it_is(w, &mut hand),
            None => self.send_tagged(w, &mut hand),
        }
    }

    /// The pacer checks how its senders fare.
    pub(super) fn adapt(&mut self, w: &World<'_>) {
        if let Some(adapts) = self.pacer.as_mut().and_then(|pacer| pacer.adapts.as_mut()) {
            adapts.look();
            let at = w.now + adapts.next();
            self.timers.plan(at, What::Adapt);
        }
    }
}
