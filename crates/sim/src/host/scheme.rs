//! The host's scheme: when its hooks are called, and how what they ask for is done.

use super::{Host, Probing, World};
use crate::bank::{Bank, Call, Fired, NO_PEER, Room};
use crate::control::{address, answer_of, message_of, message_to, peer_of, reply_to};
use crate::log::EDGE_SERIES;
use crate::net::Net;
use crate::packet::{CE, ECT, InHand, MASKED, Packet, SWITCH};
use crate::timers::What;
use spinewise_policy::out::{Action, To};
use spinewise_policy::{Event, Feedback, FlowKey, Hooks, HostView, Key, Kind, Span, Time, Way};

impl Host {
    /// Tells the scheme what became of a flow, a way or a probe.
    pub(super) fn tell(
        &mut self,
        w: &mut World<'_>,
        now: Time,
        peer: u32,
        way: Way,
        flow: Option<FlowKey>,
        event: Event,
    ) {
        let Some(edge) = w.edge.as_mut() else { return };
        let wanted = if event.is_loss() { Hooks::LOSS } else { Hooks::FEEDBACK };
        if !edge.hooks().has(wanted) || (peer & SWITCH == 0 && w.net.same_rack(self.id, peer)) {
            return;
        }
        let call = call(w.net, self.id, now, peer, edge);
        edge.feedback(call, &Feedback { way, flow, event });
        self.perform(w, now, None);
    }

    pub(super) fn answer(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let reply = Packet { src: self.id, ..reply_to(packet, now, 0) };
        self.commit(w, now, reply.into());
    }

    pub(super) fn probe_reply(&mut self, w: &mut World<'_>, now: Time, packet: &Packet) {
        let Some(probing) = self.probes.remove(&packet.flow) else { return };
        self.tell(w, now, probing.peer, probing.way, None, answer_of(packet, now));
    }

    pub(super) fn probe_lost(&mut self, w: &mut World<'_>, now: Time, probe: u32) {
        if let Some(probing) = self.probes.remove(&probe) {
            self.tell(w, now, probing.peer, probing.way, None, Event::ProbeLost);
        }
    }

    pub(super) fn receive_message(&mut self, w: &mut World<'_>, now: Time, packet: &Packet, body: &[u8]) {
        let Some(edge) = w.edge.as_mut() else { return };
        if !edge.hooks().has(Hooks::MESSAGE) {
            return;
        }
        let call = call(w.net, self.id, now, packet.src, edge);
        edge.message(call, &message_of(packet, 0, body));
        self.perform(w, now, None);
    }

    pub(super) fn scheme_timer(&mut self, w: &mut World<'_>, now: Time, key: Key) {
        let Some(edge) = w.edge.as_mut() else { return };
        let peer = if let Key::Route(peer, _, _) = key { peer } else { NO_PEER };
        let call = Call { peer, ..call(w.net, self.id, now, NO_PEER, edge) };
        match edge.timer(call, key) {
            Fired::Done => self.perform(w, now, None),
            Fired::Early(at) => self.timers.plan(at, What::Scheme(key)),
            Fired::Stale => {}
        }
    }

    pub(super) fn tick(&mut self, w: &mut World<'_>, now: Time) {
        let Some(edge) = w.edge.as_mut() else { return };
        let call = call(w.net, self.id, now, NO_PEER, edge);
        edge.tick(call);
        let period = edge.layout(self.id).tick;
        self.perform(w, now, None);
        self.timers.plan(now + period, What::Tick);
    }

    /// Carries out what the last hook call asked for; `packet` is the one in hand, if any.
    #[inline(always)]
    pub(super) fn perform(&mut self, w: &mut World<'_>, now: Time, packet: Option<&mut Packet>) {
        if w.edge.as_ref().is_some_and(Bank::has_asked) {
            self.carry_out(w, now, packet);
        }
    }

    #[cold]
    fn carry_out(&mut self, w: &mut World<'_>, now: Time, mut packet: Option<&mut Packet>) {
        let Some(asked) = w.edge.as_mut().map(Bank::asked) else { return };
        for &action in &asked.actions[..asked.len] {
            match action {
                Action::Send { to, class, flow, way, at, len, wire } => {
                    let body = &asked.bytes[at as usize..(at + len) as usize];
                    let message = message_to(class, flow, way, wire);
                    self.send_message(w, now, to, message, body);
                }
                Action::Probe { to, way, wire, ttl, give_up } => {
                    self.probe(w, now, address(to), way, wire, ttl, give_up);
                }
                Action::Arm { key, at } => {
                    if let Some(at) = w.edge.as_mut().and_then(|edge| edge.arm(self.id, key, at.max(now))) {
                        self.timers.plan(at, What::Scheme(key));
                    }
                }
                Action::Cancel { key } => {
                    if let Some(edge) = w.edge.as_mut() {
                        edge.cancel(self.id, key);
                    }
                }
                Action::MaskEcn => {
                    if let Some(packet) = packet.as_deref_mut() {
                        match packet.kind {
                            // The scheme itself is told of the mark all the same.
                            Kind::Ack => packet.flags |= MASKED,
                            _ => packet.flags &= !CE,
                        }
                    }
                }
                Action::Record { series, value } => w.log.point(now, EDGE_SERIES + series, self.id, value),
                // A host has no held queues: its layout refuses them.
                Action::Release { .. } | Action::Discard => {}
            }
        }
        if let Some(edge) = w.edge.as_mut() {
            edge.give_back(asked);
        }
    }

    pub(super) fn send_message(&mut self, w: &mut World<'_>, now: Time, to: To, message: Packet, body: &[u8]) {
        let net = w.net;
        let leaf = net.topology.leaf_of[self.id as usize];
        match to {
            To::Host(host) => self.send_one(w, now, host, message, body),
            To::Leaf(to) => self.send_one(w, now, to | SWITCH, message, body),
            To::Rack => {
                let me = self.id;
                for &host in net.topology.hosts_of(leaf).iter().filter(|&&host| host != me) {
                    self.send_one(w, now, host, message, body);
                }
            }
            // A host's only neighbour is its leaf.
            To::Neighbours { except: None } => self.send_one(w, now, leaf | SWITCH, message, body),
            To::Neighbours { except: Some(_) } | To::Port(_) => {}
        }
    }

    pub(super) fn send_one(&mut self, w: &mut World<'_>, now: Time, dst: u32, message: Packet, body: &[u8]) {
        let packet = Packet { src: self.id, dst, ..message };
        self.commit(w, now, InHand::with_body(packet, body.into()));
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn probe(
        &mut self,
        w: &mut World<'_>,
        now: Time,
        dst: u32,
        way: Way,
        wire: u32,
        ttl: u8,
        give_up: Span,
    ) {
        let number = self.next_probe;
        self.next_probe = self.next_probe.wrapping_add(1);
        self.probes.insert(number, Probing { peer: dst, way });
        let packet = Packet {
            flow: number,
            src: self.id,
            dst,
            wire: wire as u16,
            way,
            kind: Kind::Probe,
            flags: ECT,
            ttl,
            ..Packet::default()
        };
        if w.net.is_lossless() {
            // It takes the queue of data, so it must stop where data does: at once, not behind what was promised before.
            self.parked.push_back(packet);
            self.set_going(w, now);
        } else {
            self.commit(w, now, packet.into());
        }
        self.timers.plan(now + give_up, What::ProbeLost(number));
    }
}

/// The call of a hook of host `id`'s scheme that concerns the device `about`.
#[inline]
pub(super) fn call<'a>(net: &'a Net, id: u32, now: Time, about: u32, edge: &Bank) -> Call<'a> {
    let topology = &net.topology;
    let leaf = topology.leaf_of[id as usize];
    let leaves = topology.leaves as usize;
    let ways = &topology.ways[leaf as usize * leaves..(leaf as usize + 1) * leaves];
    let peer = peer_of(about, edge.peers(id), topology);
    let view = HostView {
        host: id,
        leaf,
        leaf_of: &topology.leaf_of,
        ways,
        link_rate: net.host_rate,
        path_rate: net.path_rate,
        path_rates: net.path_rates.get(leaf as usize).map_or(&[], |rates| rates),
        base_rtt: net.base_rtt,
        base_one_way: net.base_one_way,
        mss: net.frame.mss,
        mtu: net.frame.mtu(),
    };
    Call { seat: id, now, room: Room::Host(view), peer }
}
