//! The table published for one peer: the answers of a rehearsal as the table of `bpf/choose.h`.

use crate::layout::{BURST, SLOTS, Table, Then, Unit, WAYS};
use crate::plan::Plan;
use crate::slow::Rehearsed;
use bytemuck::Zeroable;
use spinewise_policy::Way;

/// The paths to a peer, as the data path numbers them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Source port of each.
    pub ports: Vec<u16>,
    /// The ways that are alive, one bit each.
    pub alive: u64,
}

impl Paths {
    /// These ports, all alive.
    pub fn of(ports: Vec<u16>) -> Paths {
        let alive = all(ports.len());
        Paths { ports, alive }
    }

    /// The number of a way that a scheme names.
    pub fn number(&self, plan: &Plan, way: Way) -> Option<usize> {
        if plan.by_port {
            self.ports.iter().position(|&port| port == way.0)
        } else {
            Some(way.index()).filter(|&way| way < self.ports.len())
        }
    }

    /// A scheme that finds its ports itself now uses these: they keep their numbers, and new ones take those of others.
    pub fn follow(&mut self, offered: &[Way]) {
        for way in offered.iter().filter(|way| **way != Way::ANY) {
            if self.ports.contains(&way.0) {
                continue;
            }
            let unused = self.ports.iter().position(|port| !offered.contains(&Way(*port)));
            match unused {
                Some(at) if self.ports.len() >= WAYS / 2 => self.ports[at] = way.0,
                _ if self.ports.len() < WAYS => self.ports.push(way.0),
                _ => {}
            }
        }
        self.alive = all(self.ports.len());
    }
}

/// This many bits.
fn all(ways: usize) -> u64 {
    if ways >= WAYS { u64::MAX } else { (1 << ways) - 1 }
}

/// The bits that are set.
fn set(bits: u64) -> Vec<u16> {
    (0..WAYS as u16).filter(|way| bits >> way & 1 == 1).collect()
}

/// How marks and acknowledgements are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manners {
    /// The scheme chooses the ways of acknowledgements.
    pub picks_acks: bool,
    /// The peer hides marks of this traffic from its transport.
    pub hide: bool,
    /// Marks of the peer's traffic are hidden from the transport here.
    pub hide_here: bool,
}

/// The table of a peer. `base` is the cursor of the data path, `mss` the largest payload.
pub fn table(plan: &Plan, said: &Rehearsed, paths: &Paths, manners: Manners, (base, mss): (u32, u32)) -> Table {
    let ways = paths.ports.len().min(WAYS);
    let mut table = Table::zeroed();
    if ways == 0 {
        return table;
    }
    let places = |bits: u64| {
        let named = said.offered.iter().enumerate().filter(|(place, _)| bits >> place & 1 == 1);
        named.filter_map(|(_, way)| paths.number(plan, *way)).fold(0u64, |set, way| set | 1 << way)
    };
    let (alive, dead) = (paths.alive & all(ways), places(said.dead));
    let open = [alive & !dead, alive].into_iter().find(|open| *open != 0).unwrap_or(all(ways));
    let usable = set(open);
    let best = places(said.best);
    table.open = open;
    table.keep = if best == 0 { all(ways) } else { best };
    table.unit = plan.unit as u8;
    table.then = plan.then as u8;
    table.base = base;
    table.ways = ways as u16;
    table.tunnel = 1;
    table.picks_acks = u8::from(manners.picks_acks);
    table.hide = u8::from(manners.hide);
    table.hide_here = u8::from(manners.hide_here);
    match plan.unit {
        Unit::Cell if plan.in_bytes => table.cell_packets = (said.size / f64::from(mss.max(1))).ceil().max(1.0) as u32,
        Unit::Cell => table.cell_packets = said.size.max(1.0) as u32,
        Unit::Flowlet => table.gap_ns = (said.size.max(0.0) * 1e3) as u64,
        Unit::Packet => {}
    }
    for (place, slot) in table.slots.iter_mut().enumerate() {
        let (way, burst) = said.slots.get(place).copied().unwrap_or((Way::ANY, 0));
        let way = paths.number(plan, way).filter(|way| open >> way & 1 == 1);
        *slot = way.map_or(usable[place % usable.len()], |way| way as u16);
        // One burst is in progress at a time, and the newest is the one that counts.
        if burst > 0 && (table.burst == 0 || table.burst == burst) {
            table.burst = burst;
            *slot |= BURST;
        }
    }
    for (way, after) in table.after.iter_mut().enumerate() {
        let next = usable.iter().find(|&&other| usize::from(other) > way).or(usable.first());
        *after = next.copied().unwrap_or(0);
    }
    for (place, way) in table.fabric.iter_mut().enumerate() {
        *way = usable[place % usable.len()];
    }
    table.ports[..ways].copy_from_slice(&paths.ports[..ways]);
    debug_assert!(said.slots.len() <= SLOTS && plan.then as u8 <= Then::Keep as u8);
    table
}
