//! The shim as bytes: what `bpf/shim.h` writes and reads, in Rust. A test compares the two.

use crate::layout::WAYS;
use bytemuck::{Pod, Zeroable};

/// "SW".
const MAGIC: u16 = 0x5357;
/// Version of the format.
pub const VERSION: u8 = 1;
/// Outer IPv4 header.
const IP: usize = 20;
/// Outer IPv4 and UDP headers, and the shim.
pub const ROOM: usize = IP + 8 + 48;

/// The purpose of one of our packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// It carries a packet.
    Data = 0,
    /// A probe.
    Probe = 1,
    /// The answer to one.
    Reply = 2,
}

/// The meaning of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// One of ours.
    Ours(Kind),
    /// Not ours: it passes.
    NotOurs,
    /// One that claims to be ours and is dropped.
    Refused(Refused),
}

/// Why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Fewer bytes than the headers have.
    Short,
    /// Another protocol on our port.
    Foreign,
    /// Another version of ours.
    OtherVersion,
    /// Fields that contradict each other, or the inner packet is not for this pair of hosts.
    Malformed,
}

/// `struct edge_shim`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Shim {
    /// Constant.
    pub magic: u16,
    /// Version of the format.
    pub version: u8,
    /// A [`Kind`].
    pub kind: u8,
    /// 1: the receiver hides the mark of this packet.
    pub flags: u8,
    /// Unused.
    pub spare: u8,
    /// Path, as the sender numbers it.
    pub way: u16,
    /// The life of the sending agent.
    pub instance: u16,
    /// A path of the receiver, [`WAYS`] if none.
    pub echo_way: u16,
    /// Number of the scheme's header, 0 if there is none.
    pub header_seq: u16,
    /// Unused.
    pub pad: u16,
    /// When this packet was sent, by the sender's clock.
    pub stamp: u32,
    /// Packets that have come by that path.
    pub echo_packets: u32,
    /// When the newest was sent.
    pub echo_stamp: u32,
    /// When it came.
    pub echo_arrived: u32,
    /// Packets with one number measure a path together; 0: none.
    pub burst: u16,
    /// Nothing.
    pub spare2: u16,
    /// The scheme's own.
    pub header: [u8; 16],
}

/// Addresses, ports and the rest of the outer headers.
#[derive(Clone, Copy, Debug)]
pub struct Outer {
    /// Source address.
    pub src: [u8; 4],
    /// Destination address.
    pub dst: [u8; 4],
    /// Source port: the path.
    pub from: u16,
    /// Destination port: the tunnel.
    pub to: u16,
    /// Bytes in all.
    pub length: u16,
    /// DSCP and ECN.
    pub tos: u8,
    /// Hops it may go.
    pub ttl: u8,
    /// Identification of IPv4.
    pub id: u16,
}

impl Shim {
    /// Writes both outer headers and the shim.
    pub fn write(&self, outer: &Outer) -> [u8; ROOM] {
        let mut bytes = [0; ROOM];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &[0x45, outer.tos]);
        put(2, &outer.length.to_be_bytes());
        put(4, &outer.id.to_be_bytes());
        put(6, &[0x40, 0, outer.ttl, 17]);
        put(12, &outer.src);
        put(16, &outer.dst);
        put(20, &outer.from.to_be_bytes());
        put(22, &outer.to.to_be_bytes());
        put(24, &outer.length.wrapping_sub(IP as u16).to_be_bytes());
        put(28, &MAGIC.to_be_bytes());
        put(30, &[VERSION, self.flags << 4 | self.kind & 15]);
        put(32, &self.way.to_be_bytes());
        put(34, &self.instance.to_be_bytes());
        put(36, &self.stamp.to_be_bytes());
        put(40, &self.echo_way.to_be_bytes());
        put(42, &self.header_seq.to_be_bytes());
        put(44, &self.echo_packets.to_be_bytes());
        put(48, &self.echo_stamp.to_be_bytes());
        put(52, &self.echo_arrived.to_be_bytes());
        put(56, &self.burst.to_be_bytes());
        put(60, &self.header);
        let sum: u32 = bytes[..IP].chunks_exact(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        bytes[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        bytes
    }

    /// Reads a packet of `length` bytes from its outer IPv4 header on, of which `bytes` are there. `port` is that of the
    /// tunnel.
    pub fn read(bytes: &[u8], length: usize, port: u16) -> (Read, Shim) {
        let blank = Shim::default();
        let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        // Only the first fragment has ports.
        if bytes.len() < IP + 8 || bytes[0] != 0x45 || bytes[9] != 17 || word(6) & 0x1fff != 0 || word(22) != port {
            return (Read::NotOurs, blank);
        }
        if word(6) & 0x2000 != 0 {
            return (Read::Refused(Refused::Malformed), blank);
        }
        let total = usize::from(word(2));
        match () {
            () if bytes.len() < ROOM || length < ROOM || total < ROOM => return (Read::Refused(Refused::Short), blank),
            () if word(28) != MAGIC => return (Read::Refused(Refused::Foreign), blank),
            () if bytes[30] != VERSION => return (Read::Refused(Refused::OtherVersion), blank),
            () if total > length || usize::from(word(24)) + IP != total => {
                return (Read::Refused(Refused::Malformed), blank);
            }
            () => {}
        }
        let mut header = [0; 16];
        header.copy_from_slice(&bytes[60..76]);
        let shim = Shim {
            magic: MAGIC,
            version: VERSION,
            kind: bytes[31] & 15,
            flags: bytes[31] >> 4,
            way: word(32),
            instance: word(34),
            stamp: long(36),
            echo_way: word(40),
            header_seq: word(42),
            echo_packets: long(44),
            echo_stamp: long(48),
            echo_arrived: long(52),
            burst: word(56),
            header,
            ..blank
        };
        (shim.sense(bytes, total), shim)
    }

    /// Checks whether the values read make sense.
    fn sense(&self, bytes: &[u8], total: usize) -> Read {
        let malformed = Read::Refused(Refused::Malformed);
        if usize::from(self.way) >= WAYS || usize::from(self.echo_way) > WAYS || self.flags > 1 {
            return malformed;
        }
        match self.kind {
            0 => {}
            1 => return Read::Ours(Kind::Probe),
            2 => return Read::Ours(Kind::Reply),
            3.. => return malformed,
        }
        // Inside is a packet between the same two hosts, whole, and nothing else.
        let Some(inner) = bytes.get(ROOM..ROOM + IP) else { return malformed };
        let length = usize::from(u16::from_be_bytes([inner[2], inner[3]]));
        let header = usize::from(inner[0] & 15) * 4;
        let whole = inner[0] >> 4 == 4 && header >= IP && length >= header && length + ROOM == total;
        if whole && inner[12..20] == bytes[12..20] { Read::Ours(Kind::Data) } else { malformed }
    }
}
