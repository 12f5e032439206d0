//! A switch's plans: changes of its links, timers of the scheme, looks and samples.

use super::Switch;
use crate::address::Address;
use crate::bank::Bank;
use crate::faults::Step;
use crate::ids::SwitchId;
use crate::link::Wires;
use crate::log;
use crate::net::Net;
use crate::port::{Freed, Port, Rules};
use crate::series::Counted;
use crate::shell::{Shell, take_asked};
use crate::timers::What;
use crate::world::World;
use spinewise_policy::{Change, Hooks, Port as PortId, Span, Time};

/// Returns the changes at switch `id`, and when: a scheme that asks is notified of links that are down or slow from the
/// start.
pub(super) fn steps_of(id: SwitchId, net: &Net, fabric: &Bank) -> Vec<(Time, Step)> {
    let topology = &net.topology;
    let node = topology.switch_node(id);
    let told = if fabric.hooks().has(Hooks::LINK) { topology.ports(node) } else { 0 };
    let failing = (0..told).filter_map(|port| {
        let link = topology.out(node, port);
        let step = if link.up { Step::Degraded(port) } else { Step::Down(port) };
        (!link.up || link.rate < link.nominal_rate).then_some((Time::ZERO, step))
    });
    // Nothing else reads maps.
    let of_use = |step: Step| fabric.layout(id.number()).components || !matches!(step, Step::Map(_));
    failing.chain(net.faults.steps(id).iter().copied().filter(|&(_, step)| of_use(step))).collect()
}

impl Switch {
    /// Something planned is due, and no line becomes free by it.
    #[inline(never)]
    pub(super) fn fire_timer(&mut self, w: &mut World<'_>, what: What) {
        match what {
            What::LinkChange(number) => match self.changes[number as usize] {
                Step::Dies => self.lose_all(w),
                Step::Routes(row) => self.row = row,
                Step::Map(map) => self.map = map,
                Step::Down(port) => {
                    self.down.insert(port);
                    self.tell_link(w, port, Change::Down);
                }
                Step::Degraded(port) => self.tell_link(w, port, Change::Degraded),
                Step::Up(port) => {
                    self.down.remove(&port);
                    self.tell_link(w, port, Change::Up);
                }
            },
            What::RenewPause(port, priority) => self.renew_pause(w, (port, priority)),
            What::Scheme(key) => self.scheme_timer(w, key),
            What::ProbeLost(probe) => self.probe_lost(w, probe),
            What::Tick => self.tick(w),
            What::Sample => self.sample(w),
            What::Look => self.look(w),
            What::FlowStart | What::Gate(_) | What::Operation(_) | What::Landed(_) | What::Retransmit(_) => {}
            What::DelayedAck(_) | What::Resequence(_) | What::Pace(_) | What::Credit | What::Adapt => {}
            What::TransmitDone(_) | What::LateTransmitDone(_) => {}
        }
    }

    #[cold]
    fn look(&mut self, w: &mut World<'_>) {
        let freed = self.freed(0);
        if let Some(looks) = &mut self.looks {
            looks.look(w.now, &self.ports, freed, w.net, &w.wires, &mut self.timers);
        }
    }

    fn tell_link(&mut self, w: &mut World<'_>, port: u16, change: Change) {
        if !self.hooks.has(Hooks::LINK) {
            return;
        }
        self.consult(w, Address::NOBODY, |fabric, call| {
            fabric.link(call, PortId(port), change);
        });
        let asked = take_asked::<Switch>(w);
        self.perform_later(w, asked);
    }

    fn sample(&mut self, w: &mut World<'_>) {
        let Some(interval) = w.net.series_interval else { return };
        let now = w.now;
        self.write_points(w, (now, interval), now, |port, rules, wires| port.counted(now, rules, wires));
        self.timers.plan(now + interval, What::Sample);
    }

    /// Writes its points for an interval that ends with the run at `stop`, before anything else at that instant.
    pub(crate) fn end_series(&mut self, w: &mut World<'_>, (stop, interval): (Time, Span)) {
        let counted = |port: &mut Port, rules: &Rules, wires: &mut Wires| port.finish(stop, rules, wires).counted();
        self.write_points(w, (stop, interval), stop - Span(1), counted);
    }

    /// Writes the points for an interval that ends at `end`, with the queues as they are at `seen`.
    fn write_points(
        &mut self,
        w: &mut World<'_>,
        (end, interval): (Time, Span),
        seen: Time,
        counted: impl Fn(&mut Port, &Rules, &mut Wires) -> Counted,
    ) {
        self.settle(seen + Span(1), &w.net.rules, &mut w.wires);
        for (port, before) in self.ports.iter_mut().zip(&mut self.before) {
            let link = port.line().link;
            if w.net.series_links.has(&w.net.topology, link) {
                let rules = w.net.rules.of(port.class());
                let counted = counted(port, rules, &mut w.wires);
                let queue = port.queue(seen, Freed::Already, rules, &w.wires).0;
                log::write_link(&mut w.log, (w.net, end, interval), link, before, (counted, Some(queue)));
            }
        }
    }
}
