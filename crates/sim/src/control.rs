//! Probes, replies and messages: the packets that schemes send, as hosts and switches make and read them.

use crate::address::Address;
use crate::bank::{Bank, NO_PEER};
use crate::packet::{CE, ECE, NO_FLOW, Packet};
use crate::timers::{Timers, What};
use crate::topology::Topology;
use spinewise_policy::{Event, FlowKey, Hooks, Kind, Message, Peers, Phase, Port, Span, Time, Way};

/// The peer whose rows a hook receives: a host or a leaf, by the layout; none for a spine.
#[inline]
pub(crate) fn peer_of(about: Address, peers: Peers, topology: &Topology) -> u32 {
    match (about.as_host(), peers) {
        _ if about == Address::NOBODY => NO_PEER,
        (_, Peers::None) => NO_PEER,
        (Some(host), Peers::Hosts) => host.number(),
        (Some(host), Peers::Leaves) => topology.leaf(host).number(),
        (None, Peers::Leaves) if about.number() < topology.leaves => about.number(),
        (None, Peers::Leaves | Peers::Hosts) => NO_PEER,
    }
}

/// Plans the first tick of a seat.
pub(crate) fn plan_ticks(timers: &mut Timers, bank: &Bank, seat: u32) {
    let layout = bank.layout(seat);
    if !bank.hooks().has(Hooks::TICK) || layout.tick == Span::ZERO {
        return;
    }
    let first = match layout.phase {
        Phase::Zero => layout.tick,
        Phase::Random => bank.phase(seat, layout.tick) + Span(1),
    };
    timers.plan(Time::ZERO + first, What::Tick);
}

/// The answer to a probe that came by `in_port`, without its source.
pub(crate) fn reply_to(packet: &Packet, now: Time, in_port: u16) -> Packet {
    Packet {
        stamp: packet.stamp,
        seq: now.0,
        flow: packet.flow,
        dst: packet.src,
        wire: packet.wire,
        way: Way::ANY,
        payload: in_port,
        echo: packet.way.0,
        kind: Kind::ProbeReply,
        flags: if packet.is(CE) { ECE } else { 0 },
        ..Packet::default()
    }
}

/// Returns the answer that a probe gets.
pub(crate) fn answer_of(packet: &Packet, now: Time) -> Event {
    Event::ProbeReply {
        rtt: now.since(packet.stamp),
        one_way: Time(packet.seq).since(packet.stamp),
        marked: packet.is(ECE),
        by: packet.src.device(),
        port: Port(packet.payload),
    }
}

/// A message, without its ends.
pub(crate) fn message_to(class: u8, flow: Option<FlowKey>, way: Way, wire: u32) -> Packet {
    Packet {
        flow: flow.map_or(NO_FLOW, |key| key.0),
        wire: wire as u16,
        way,
        echo: u16::from(class),
        kind: Kind::Message,
        ..Packet::default()
    }
}

/// A message as its scheme sees it.
pub(crate) fn message_of<'a>(packet: &Packet, in_port: u16, body: &'a [u8]) -> Message<'a> {
    Message {
        from: packet.src.device(),
        class: packet.echo as u8,
        flow: (packet.flow != NO_FLOW).then_some(FlowKey(packet.flow)),
        in_port: Port(in_port),
        body,
    }
}
