//! The controller's half of Hedera: the table of large flows, their demands, and their paths.

use super::Slot;
use crate::{FlowKey, Port, SwitchView};

/// No port.
pub(crate) const NOWHERE: u16 = u16::MAX;
/// The rate of a host's link, in millionths of it.
pub(crate) const WHOLE: u64 = 1_000_000;
/// Maximum number of rounds of the estimate; each fixes the demands of at least one receiver, and few are needed.
const MOST_ROUNDS: u32 = 1000;

/// A large flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elephant {
    /// The flow.
    pub key: FlowKey,
    /// Source host.
    pub src: u32,
    /// Destination host.
    pub dst: u32,
    /// The poll whose answer last named it; 0: the slot is free.
    pub round: u32,
    /// Demand, in millionths of a host's link.
    pub demand: u64,
    /// The uplink port of its leaf that it was assigned, [`NOWHERE`] if none had room.
    pub port: u16,
    /// Its leaf has not been notified yet.
    pub moved: bool,
    /// A receiver limits it: its demand is final.
    converged: bool,
    /// Whether its receiver can still limit it.
    limited: bool,
}

impl Default for Elephant {
    fn default() -> Self {
        Elephant {
            key: FlowKey::default(),
            src: 0,
            dst: 0,
            round: 0,
            demand: 0,
            port: NOWHERE,
            moved: false,
            converged: false,
            limited: false,
        }
    }
}

impl Elephant {
    /// Creates an entry for a flow named in the answer to poll `round`.
    pub fn heard(key: FlowKey, src: u32, dst: u32, round: u32) -> Elephant {
        Elephant { key, src, dst, round, ..Elephant::default() }
    }

    /// Whether the slot is in use.
    pub const fn lives(&self) -> bool {
        self.round > 0
    }
}

/// Takes a reported flow into the slots of its source host; a known flow keeps its path. There is always room: half the
/// slots suffice for the flows of one interval.
pub fn note(slots: &mut [Slot], heard: Elephant) {
    let known = slots.iter().position(|slot| slot.plan.lives() && slot.plan.key == heard.key);
    if let Some(known) = known {
        slots[known].plan.round = heard.round;
    } else if let Some(free) = slots.iter_mut().find(|slot| !slot.plan.lives()) {
        free.plan = heard;
    }
}

/// Forgets flows that no answer to the last poll has named.
pub fn forget(slots: &mut [Slot], round: u32) {
    slots.iter_mut().filter(|slot| slot.plan.round != round).for_each(|slot| slot.plan = Elephant::default());
}

/// Estimates all demands ("natural demand"): senders and receivers in turn share their links among their flows until
/// nothing changes. `slots` has `stride` slots per host, by number of the source host.
pub fn estimate(slots: &mut [Slot], stride: usize) {
    for slot in &mut *slots {
        (slot.plan.demand, slot.plan.converged) = (0, false);
    }
    for _ in 0..MOST_ROUNDS {
        let mut changed = false;
        for host in slots.chunks_exact_mut(stride.max(1)) {
            changed |= share_of_sender(host);
        }
        for host in 0..slots.len() / stride.max(1) {
            changed |= share_of_receiver(slots, host as u32);
        }
        if !changed {
            return;
        }
    }
}

/// A sender's flows that no receiver limits share what the others leave, equally.
fn share_of_sender(host: &mut [Slot]) -> bool {
    let flows = || host.iter().filter(|slot| slot.plan.lives());
    let fixed: u64 = flows().filter(|slot| slot.plan.converged).map(|slot| slot.plan.demand).sum();
    let free = flows().filter(|slot| !slot.plan.converged).count() as u64;
    let share = WHOLE.saturating_sub(fixed).checked_div(free).unwrap_or(0);
    let mut changed = false;
    for slot in host.iter_mut().filter(|slot| slot.plan.lives() && !slot.plan.converged) {
        changed |= slot.plan.demand != share;
        slot.plan.demand = share;
    }
    changed
}

/// A receiver with more demand than its link carries limits the flows that demand more than an equal share of what the
/// others leave.
fn share_of_receiver(slots: &mut [Slot], host: u32) -> bool {
    let comes = |slot: &&mut Slot| slot.plan.lives() && slot.plan.dst == host;
    let (mut asked, mut flows) = (0, 0);
    for slot in slots.iter_mut().filter(comes) {
        slot.plan.limited = true;
        asked += slot.plan.demand;
        flows += 1;
    }
    if asked <= WHOLE || flows == 0 {
        return false;
    }
    let mut share = WHOLE / flows;
    loop {
        let (mut left, mut limited, mut fewer) = (WHOLE, 0, false);
        for slot in slots.iter_mut().filter(comes) {
            if slot.plan.limited && slot.plan.demand < share {
                slot.plan.limited = false;
                fewer = true;
            }
            if slot.plan.limited { limited += 1 } else { left = left.saturating_sub(slot.plan.demand) }
        }
        if !fewer || limited == 0 {
            break;
        }
        share = left / limited;
    }
    let mut changed = false;
    for slot in slots.iter_mut().filter(comes).filter(|slot| slot.plan.limited) {
        changed |= slot.plan.demand != share || !slot.plan.converged;
        (slot.plan.demand, slot.plan.converged) = (share, true);
    }
    changed
}

/// The controller's knowledge of the fabric.
pub struct Told<'a> {
    /// The view of the leaf it is at.
    pub view: &'a SwitchView<'a>,
    /// Bits per second of a host's link.
    pub host_rate: u64,
}

/// Global first fit: gives each flow without a path the first path that has room for its demand. Returns how many flows
/// there are, and how many have a path.
pub(crate) fn first_fit(slots: &mut [Slot], told: &Told<'_>) -> (u32, u32) {
    let (mut flows, mut placed) = (0, 0);
    for at in 0..slots.len() {
        let plan = slots[at].plan;
        if !plan.lives() {
            continue;
        }
        flows += 1;
        if plan.port == NOWHERE
            && let Some(port) = fitting(slots, &plan, told)
        {
            (slots[at].plan.port, slots[at].plan.moved) = (port, true);
        }
        placed += u32::from(slots[at].plan.port != NOWHERE);
    }
    (flows, placed)
}

/// The first path with room for the demand of `plan`, both on its way up and on its way down.
fn fitting(slots: &[Slot], plan: &Elephant, told: &Told<'_>) -> Option<u16> {
    let leaf_of = |host| told.view.leaf_of(host);
    let (from, to) = (leaf_of(plan.src), leaf_of(plan.dst));
    let rate = |demand: u64| (u128::from(demand) * u128::from(told.host_rate) / u128::from(WHOLE)) as u64;
    let paths = (0..).map_while(|n| told.view.told_path(from, to, n));
    let fits = |&(Port(port), capacity): &(Port, u64)| {
        let held = |by: &dyn Fn(&Elephant) -> bool| {
            let there = slots.iter().map(|slot| &slot.plan).filter(|other| other.lives() && other.port == port);
            there.filter(|other| by(other)).map(|other| rate(other.demand)).sum::<u64>()
        };
        let up = held(&|other| leaf_of(other.src) == from);
        let down = held(&|other| leaf_of(other.dst) == to);
        up.max(down) + rate(plan.demand) <= capacity
    };
    paths.filter(|&(Port(port), _)| port != NOWHERE).find(fits).map(|(Port(port), _)| port)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    const SLOTS: usize = 10;

    fn table(hosts: usize, flows: &[(u32, u32)]) -> Vec<Slot> {
        let mut slots = vec![Slot::default(); hosts * SLOTS];
        for (n, &(src, dst)) in flows.iter().enumerate() {
            let own = &mut slots[src as usize * SLOTS..(src as usize + 1) * SLOTS];
            note(own, Elephant::heard(FlowKey(n as u32), src, dst, 1));
        }
        slots
    }

    fn demands(slots: &[Slot], flows: usize) -> Vec<u64> {
        let of = |key| slots.iter().find(|slot| slot.plan.lives() && slot.plan.key == FlowKey(key as u32));
        (0..flows).map(|key| of(key).map_or(0, |slot| slot.plan.demand)).collect()
    }

    /// Max-min fair rates by filling all flows equally until a link is full: the definition, in floating point.
    fn water_filling(hosts: usize, flows: &[(u32, u32)]) -> Vec<f64> {
        let (mut rates, mut fixed) = (vec![0.0; flows.len()], vec![false; flows.len()]);
        while fixed.iter().any(|&fixed| !fixed) {
            let mut step = f64::INFINITY;
            for host in 0..hosts as u32 {
                for side in [0, 1] {
                    let on = |&(src, dst): &(u32, u32)| [src, dst][side] == host;
                    let used: f64 = flows.iter().zip(&rates).filter(|(flow, _)| on(flow)).map(|(_, rate)| rate).sum();
                    let free = flows.iter().zip(&fixed).filter(|&(flow, &fixed)| on(flow) && !fixed).count();
                    if free > 0 {
                        step = step.min((1.0 - used).max(0.0) / free as f64);
                    }
                }
            }
            (0..flows.len()).filter(|&n| !fixed[n]).for_each(|n| rates[n] += step);
            for n in 0..flows.len() {
                let full = |side: usize| {
                    let host = [flows[n].0, flows[n].1][side];
                    let on = |&(src, dst): &(u32, u32)| [src, dst][side] == host;
                    let used: f64 = flows.iter().zip(&rates).filter(|(flow, _)| on(flow)).map(|(_, rate)| rate).sum();
                    used > 1.0 - 1e-9
                };
                fixed[n] |= full(0) || full(1);
            }
        }
        rates
    }

    #[test]
    fn the_example_of_the_paper() {
        // Figure 6: host 0 to 1, 2, 3; 1 to 0 twice and 2; 2 to 0 and 3; 3 to 1 twice: thirds, except from 2 to 3.
        let flows = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 0), (1, 2), (2, 0), (2, 3), (3, 1), (3, 1)];
        let mut slots = table(4, &flows);
        estimate(&mut slots, SLOTS);
        for (n, &demand) in demands(&slots, flows.len()).iter().enumerate() {
            let expected = if flows[n] == (2, 3) { 2.0 / 3.0 } else { 1.0 / 3.0 };
            assert!((demand as f64 / WHOLE as f64 - expected).abs() < 1e-5, "{:?}: {demand}", flows[n]);
        }
    }

    #[test]
    fn estimates_are_max_min_fair_where_the_two_agree_and_never_above_a_link() {
        let mut rng = crate::Rng::stream(7, "hedera demands", 0);
        let mut alike = 0;
        for _ in 0..300 {
            let hosts = 2 + rng.below(6) as usize;
            let count = 1 + rng.below(12) as usize;
            let flows: Vec<(u32, u32)> = (0..count)
                .map(|_| {
                    let src = rng.below(hosts as u32);
                    (src, (src + 1 + rng.below(hosts as u32 - 1)) % hosts as u32)
                })
                .collect();
            if (0..hosts as u32).any(|host| flows.iter().filter(|flow| flow.0 == host).count() > SLOTS) {
                continue;
            }
            let mut slots = table(hosts, &flows);
            estimate(&mut slots, SLOTS);
            let found = demands(&slots, count);
            for host in 0..hosts as u32 {
                for side in [0, 1] {
                    let on = flows.iter().zip(&found).filter(|(flow, _)| [flow.0, flow.1][side] == host);
                    let sum: u64 = on.map(|(_, demand)| demand).sum();
                    assert!(sum <= WHOLE, "{flows:?}: {found:?}");
                }
            }
            let fair = water_filling(hosts, &flows);
            let close = found.iter().zip(&fair).all(|(&found, fair)| (found as f64 / WHOLE as f64 - fair).abs() < 1e-3);
            alike += u32::from(close);
        }
        assert!(alike > 250, "{alike} of 300 as water filling has it");
    }

    #[test]
    fn flows_of_an_earlier_round_are_forgotten_and_known_ones_keep_their_path() {
        let mut slots = vec![Slot::default(); SLOTS];
        let heard = |key, round| Elephant::heard(FlowKey(key), 0, 1, round);
        note(&mut slots, heard(1, 1));
        note(&mut slots, heard(2, 1));
        slots[0].plan.port = 5;
        note(&mut slots, heard(1, 2));
        note(&mut slots, heard(3, 2));
        forget(&mut slots, 2);
        let left: Vec<_> =
            slots.iter().filter(|slot| slot.plan.lives()).map(|slot| (slot.plan.key.0, slot.plan.port)).collect();
        assert_eq!(left, [(1, 5), (3, NOWHERE)]);
    }
}
