//! Probes: UDP packets that look to switches like those of the tunnel, with a chosen source port and TTL.
//!
//! A probe with enough TTL is answered by the peer's data path; the kernel reports the answer as an event, with
//! timestamps taken in the data path. A probe with less is answered by the switch at which it expired (ICMP time
//! exceeded), as in traceroute.

use crate::Failure;
use crate::layout::{Event, TICK_NS};
use crate::shim::{Kind, Outer, ROOM, Shim};
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

/// The purpose of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The scheme requested it.
    Scheme,
    /// A search for paths.
    Search,
    /// Checks whether a path is alive.
    Health,
    /// Checks whether the peer answers by the tunnel at all.
    Reach,
}

/// An outstanding probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its purpose.
    pub purpose: Purpose,
    /// The host probed.
    pub to: u32,
    /// Its address.
    pub address: Ipv4Addr,
    /// The source port used.
    pub port: u16,
    /// Its path, as the requester names it.
    pub way: u16,
    /// Its TTL.
    pub ttl: u8,
    /// Its length in bytes from the IPv4 header on; 0: as short as can be.
    pub length: u16,
    /// When it was sent, ns.
    pub sent: u64,
    /// When it counts as lost, ns.
    pub give_up: u64,
}

/// The device that answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The host itself.
    Host {
        /// Round trip, ns.
        rtt: u64,
        /// Arrival there less departure here, in ticks of two clocks.
        apart: u32,
        /// Whether it was marked on its way there.
        marked: bool,
    },
    /// A switch on the way.
    Switch(Ipv4Addr),
    /// None, in time.
    Nobody,
}

/// Sends probes, and keeps track of outstanding ones.
pub struct Prober {
    raw: UdpSocket,
    icmp: UdpSocket,
    me: Ipv4Addr,
    port: u16,
    instance: u16,
    next: u32,
    under_way: BTreeMap<u32, Probe>,
}

/// A probe that switches answer may go at most this far.
const FAR: u8 = 64;

impl Prober {
    /// Sends from this address to the tunnel's port.
    ///
    /// # Errors
    /// No privilege (CAP_NET_RAW).
    pub fn open(me: Ipv4Addr, port: u16, instance: u16) -> Result<Prober, Failure> {
        let refused =
            |error: std::io::Error| Failure::Unable(format!("raw sockets for probes: {error} (needs CAP_NET_RAW)"));
        let raw = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))).map_err(refused)?;
        raw.set_header_included_v4(true).map_err(refused)?;
        // Routes leave room for the tunnel's headers, which these packets have already: what counts is the device.
        set_ip_mtu_discover(&raw, Ipv4PathMtuDiscovery::PROBE).map_err(|error| refused(error.into()))?;
        let icmp = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).map_err(refused)?;
        let here = SocketAddrV4::new(me, 0);
        icmp.bind(&here.into()).map_err(refused)?;
        for socket in [&raw, &icmp] {
            socket.set_nonblocking(true).map_err(refused)?;
        }
        let (raw, icmp) = (raw.into(), icmp.into());
        Ok(Prober { raw, icmp, me, port, instance, next: 0, under_way: BTreeMap::new() })
    }

    /// Makes later probes belong to this life of the agent.
    pub fn renew(&mut self, instance: u16) {
        self.instance = instance;
    }

    /// Sends a probe; `ttl` 0 is as far as it takes. Returns whether the kernel has taken it.
    pub fn send(&mut self, probe: Probe) -> bool {
        // The number is in the packet, and its low half in the field that switches quote; neither is ever 0.
        self.next = self.next.wrapping_add(1);
        if self.next & 0xffff == 0 {
            self.next = self.next.wrapping_add(1);
        }
        let mut header = [0; 16];
        header[..4].copy_from_slice(&self.next.to_be_bytes());
        let shim = Shim {
            kind: Kind::Probe as u8,
            way: probe.way & 63,
            instance: self.instance,
            echo_way: crate::layout::WAYS as u16,
            header,
            ..Shim::default()
        };
        let ttl = if probe.ttl == 0 { FAR } else { probe.ttl };
        let outer = Outer {
            src: self.me.octets(),
            dst: probe.address.octets(),
            from: probe.port,
            to: self.port,
            length: probe.length.max(ROOM as u16),
            tos: 2,
            ttl,
            id: self.next as u16,
        };
        // A probe that cannot be sent now is lost, as on any network, and given up in time.
        let mut packet = shim.write(&outer).to_vec();
        packet.resize(usize::from(outer.length), 0);
        let taken = self.raw.send_to(&packet, SocketAddrV4::new(probe.address, 0)).is_ok();
        self.under_way.insert(self.next, probe);
        taken
    }

    /// Whether any probe of this purpose to this host is outstanding.
    pub fn under_way(&self, purpose: Purpose, to: u32) -> bool {
        self.under_way.values().any(|probe| probe.purpose == purpose && probe.to == to)
    }

    /// The answer of a host, as the data path reports it.
    pub fn answered(&mut self, event: &Event) -> Option<(Probe, By)> {
        let probe =
            self.under_way.get(&event.probe).filter(|probe| probe.to == event.peer && probe.port == event.port)?;
        let probe = *probe;
        self.under_way.remove(&event.probe);
        let ns = |ticks: u32| u64::from(ticks) * TICK_NS;
        // The host that answers says when the probe was sent; that cannot be earlier than its actual time.
        let rtt = ns(event.rtt).min(event.at.saturating_sub(probe.sent));
        Some((probe, By::Host { rtt, apart: event.apart, marked: event.marked > 0 }))
    }

    /// Returns answers of switches that have come, and probes that are given up.
    pub fn collect(&mut self, now: u64) -> Vec<(Probe, By)> {
        /// Maximum per call.
        const MOST: usize = 512;
        let mut collected = Vec::new();
        let mut room = [0; 576];
        for _ in 0..MOST {
            let Ok((length, _)) = self.icmp.recv_from(&mut room) else { break };
            let Some((by, id, to, ports)) = exceeded(&room[..length]) else { continue };
            let same = |probe: &Probe| probe.address == to && probe.port == ports.0 && ports.1 == self.port;
            let found = self.under_way.iter().find(|&(&number, probe)| number as u16 == id && same(probe));
            if let Some((&number, &probe)) = found {
                self.under_way.remove(&number);
                collected.push((probe, By::Switch(by)));
            }
        }
        let lost: Vec<u32> = self
            .under_way
            .iter()
            .filter(|(_, probe)| now.saturating_sub(probe.sent) > probe.give_up)
            .map(|(&number, _)| number)
            .collect();
        for number in lost {
            collected.extend(self.under_way.remove(&number).map(|probe| (probe, By::Nobody)));
        }
        collected
    }
}

/// Parses an ICMP time-exceeded message: its sender, and the quoted identification, destination and UDP ports.
pub fn exceeded(packet: &[u8]) -> Option<(Ipv4Addr, u16, Ipv4Addr, (u16, u16))> {
    let header = |bytes: &[u8]| Some(usize::from(bytes.first()? & 15) * 4).filter(|length| *length >= 20);
    let address = |bytes: &[u8], at: usize| {
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(Ipv4Addr::from(four))
    };
    let word = |bytes: &[u8], at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let icmp = packet.get(header(packet)?..)?;
    // Type 11, code 0: time exceeded in transit (RFC 792).
    if icmp.get(..2)? != [11, 0] {
        return None;
    }
    let quoted = icmp.get(8..)?;
    if *quoted.get(9)? != 17 {
        return None;
    }
    let udp = quoted.get(header(quoted)?..)?;
    let ports = (word(udp, 0)?, word(udp, 2)?);
    Some((address(packet, 12)?, word(quoted, 4)?, address(quoted, 16)?, ports))
}
