//! The shell around a scheme: the services of both hosts and switches to the schemes that sit at them. It calls hooks
//! and carries out their actions.

use crate::address::Address;
use crate::bank::{Asked, Bank, Call, Fired, NO_PEER};
use crate::control::{answer_of, message_of, message_to, reply_to};
use crate::ids::SwitchId;
use crate::packet::{CE, ECT, InHand, MASKED, Packet};
use crate::timers::{Timers, What};
use crate::world::World;
use spinewise_policy::out::{Action, To};
use spinewise_policy::{Event, Feedback, FlowKey, Hooks, Key, Kind, Port, Queue, Span, Time, Way};
use std::collections::BTreeMap;

/// A probe that has not been answered: its target, and the way it took.
#[derive(Clone, Copy, Debug)]
struct Probing {
    peer: Address,
    way: Way,
}

/// The probes of a device that are under way.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    sent: BTreeMap<u32, Probing>,
    next: u32,
}

impl Probes {
    fn begin(&mut self, peer: Address, way: Way) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.sent.insert(number, Probing { peer, way });
        number
    }
}

/// A device that a scheme may sit at: the differences between hosts and switches. The common part is built on these.
pub(crate) trait Shell: Sized {
    /// The address by which packets name it.
    fn address(&self) -> Address;

    /// The scheme here.
    fn bank<'a>(w: &'a mut World<'_>) -> Option<&'a mut Bank>;

    /// Its plan.
    fn timers(&mut self) -> &mut Timers;

    /// Its probes.
    fn probes(&mut self) -> &mut Probes;

    /// Calls a hook that concerns the device `about`; none if no scheme sits here.
    fn ask<R>(&self, w: &mut World<'_>, about: Address, hook: impl FnOnce(&mut Bank, Call<'_>) -> R) -> Option<R>;

    /// Whether the scheme is notified of this about `peer`.
    fn listens(&self, w: &World<'_>, peer: Address, event: Event) -> bool;

    /// Sends a packet made here.
    fn set_out(&mut self, w: &mut World<'_>, hand: InHand);

    /// Sends a probe made here.
    fn set_out_probing(&mut self, w: &mut World<'_>, probe: Packet);

    /// Sends a message for more than one device, or for whatever is behind a port.
    fn spread(&mut self, w: &mut World<'_>, to: To, message: Packet, body: &[u8]);

    /// Releases a held queue.
    fn release(&mut self, w: &mut World<'_>, port: Port, queue: Queue);

    /// Records a value of one of the scheme's series.
    fn record(&self, w: &mut World<'_>, series: u16, value: f64);

    /// Its number among the seats of the scheme.
    fn seat(&self) -> u32 {
        self.address().number()
    }

    /// Reports the fate of a flow, a way or a probe to the scheme.
    fn tell(&mut self, w: &mut World<'_>, peer: Address, (way, flow): (Way, Option<FlowKey>), event: Event) {
        if self.listens(w, peer, event) {
            self.ask(w, peer, |bank, call| bank.feedback(call, &Feedback { way, flow, event }));
            self.perform(w, None);
        }
    }

    /// A probe has reached its end by `in_port`: answers it.
    fn answer(&mut self, w: &mut World<'_>, in_port: u16, probe: &Packet) {
        let wire = probe.wire - u16::from(probe.fabric_header);
        let reply = Packet { src: self.address(), wire, ..reply_to(probe, w.now, in_port) };
        self.set_out(w, reply.into());
    }

    /// The answer to a probe has come.
    fn probe_reply(&mut self, w: &mut World<'_>, reply: &Packet) {
        if let Some(Probing { peer, way }) = self.probes().sent.remove(&reply.flow) {
            self.tell(w, peer, (way, None), answer_of(reply, w.now));
        }
    }

    /// Handles a probe that was not answered in time.
    fn probe_lost(&mut self, w: &mut World<'_>, probe: u32) {
        if let Some(Probing { peer, way }) = self.probes().sent.remove(&probe) {
            self.tell(w, peer, (way, None), Event::ProbeLost);
        }
    }

    /// A message for this device has come.
    fn receive_message(&mut self, w: &mut World<'_>, in_port: u16, message: &Packet, body: &[u8]) {
        if Self::bank(w).is_some_and(|bank| bank.hooks().has(Hooks::MESSAGE)) {
            self.ask(w, message.src, |bank, call| bank.message(call, &message_of(message, in_port, body)));
            self.perform(w, None);
        }
    }

    /// A timer of the scheme is due.
    fn scheme_timer(&mut self, w: &mut World<'_>, key: Key) {
        let peer = if let Key::Route(peer, _, _) = key { peer } else { NO_PEER };
        match self.ask(w, Address::NOBODY, |bank, call| bank.timer(Call { peer, ..call }, key)) {
            Some(Fired::Done) => self.perform(w, None),
            Some(Fired::Early(at)) => self.timers().plan(at, What::Scheme(key)),
            Some(Fired::Stale) | None => {}
        }
    }

    /// A period of the scheme has passed.
    fn tick(&mut self, w: &mut World<'_>) {
        let seat = self.seat();
        let period = self.ask(w, Address::NOBODY, |bank, call| {
            bank.tick(call);
            bank.layout(seat).tick
        });
        let Some(period) = period else { return };
        self.perform(w, None);
        self.timers().plan(w.now + period, What::Tick);
    }

    /// Carries out the requests of the last hook; `packet` is the one in hand, if any.
    #[inline(always)]
    fn perform(&mut self, w: &mut World<'_>, packet: Option<&mut Packet>) {
        if let Some(asked) = take_asked::<Self>(w) {
            self.carry_out(w, asked, packet);
        }
    }

    /// Carries out earlier requests of a hook, if any.
    #[inline]
    fn perform_later(&mut self, w: &mut World<'_>, asked: Option<Asked>) {
        if let Some(asked) = asked {
            self.carry_out(w, asked, None);
        }
    }

    /// Carries out the requests of a hook.
    #[cold]
    fn carry_out(&mut self, w: &mut World<'_>, asked: Asked, mut packet: Option<&mut Packet>) {
        for &action in &asked.actions[..asked.len] {
            match action {
                Action::Send { to, class, flow, way, at, len, wire } => {
                    let body = &asked.bytes[at as usize..(at + len) as usize];
                    let message = Packet { src: self.address(), ..message_to(class, flow, way, wire) };
                    self.send_message(w, to, message, body);
                }
                Action::Probe { to, way, wire, ttl, give_up } => {
                    self.probe(w, (Address::of(to), way), (wire, ttl), give_up);
                }
                Action::Arm { key, at } => self.arm(w, key, at),
                Action::Cancel { key } => {
                    if let Some(bank) = Self::bank(w) {
                        bank.cancel(self.seat(), key);
                    }
                }
                Action::Release { port, queue } => self.release(w, port, queue),
                Action::MaskEcn => {
                    if let Some(packet) = packet.as_deref_mut() {
                        mask_ecn(packet);
                    }
                }
                // Done at egress, before the packet was queued.
                Action::Discard => {}
                Action::Record { series, value } => self.record(w, series, value),
            }
        }
        if let Some(bank) = Self::bank(w) {
            bank.give_back(asked);
        }
    }

    /// Sets a timer of the scheme.
    fn arm(&mut self, w: &mut World<'_>, key: Key, at: Time) {
        let (seat, now, anew) = (self.seat(), w.now, w.net.habits.timers_set_anew);
        let Some(bank) = Self::bank(w) else { return };
        if anew {
            bank.cancel(seat, key);
        }
        if let Some(at) = bank.arm(seat, key, at.max(now)) {
            self.timers().plan(at, What::Scheme(key));
        }
    }

    /// Sends a message of the scheme.
    fn send_message(&mut self, w: &mut World<'_>, to: To, message: Packet, body: &[u8]) {
        match to {
            To::Host(_) | To::Leaf(_) => {
                self.set_out(w, InHand::with_body(Packet { dst: Address::of(to), ..message }, body.into()));
            }
            To::Rack | To::Neighbours { .. } | To::Port(_) => self.spread(w, to, message, body),
        }
    }

    /// Sends a message of the scheme to the hosts of a rack but this device.
    fn send_to_rack(&mut self, w: &mut World<'_>, leaf: SwitchId, message: Packet, body: &[u8]) {
        let (net, own) = (w.net, self.address());
        for dst in net.topology.hosts_of(leaf).iter().map(|&host| Address::host(host)).filter(|&host| host != own) {
            self.set_out(w, InHand::with_body(Packet { dst, ..message }, body.into()));
        }
    }

    /// Sends a probe of `wire` bytes that turns around after `ttl` switches, if that is not 0.
    fn probe(&mut self, w: &mut World<'_>, (dst, way): (Address, Way), (wire, ttl): (u32, u8), give_up: Span) {
        let number = self.probes().begin(dst, way);
        let probe = Packet {
            stamp: w.now,
            flow: number,
            src: self.address(),
            dst,
            wire: wire as u16,
            way,
            kind: Kind::Probe,
            flags: ECT,
            ttl,
            ..Packet::default()
        };
        self.set_out_probing(w, probe);
        self.timers().plan(w.now + give_up, What::ProbeLost(number));
    }
}

/// Takes the requests of the last hook, if any.
#[inline(always)]
pub(crate) fn take_asked<S: Shell>(w: &mut World<'_>) -> Option<Asked> {
    let bank = S::bank(w)?;
    bank.has_asked().then(|| bank.asked())
}

/// Hides a mark from the transport. The scheme itself still sees it.
fn mask_ecn(packet: &mut Packet) {
    match packet.kind {
        Kind::Ack => packet.flags |= MASKED,
        _ => packet.flags &= !CE,
    }
}
