//! The packet: one cache line, carried by value from ring to ring.

use crate::address::Address;
use crate::ids::SubflowId;
use crate::rider::{Options, Rider, in_header};
use spinewise_policy::time::BYTE_PS;
use spinewise_policy::{FlowKey, Hashed, Kind, Port, Time, Way};

/// Congestion experienced (RFC 3168).
pub(crate) const CE: u8 = 1;
/// ECN-capable transport.
pub(crate) const ECT: u8 = 2;
/// ECN echo, on acknowledgements and probe replies.
pub(crate) const ECE: u8 = 4;
/// These bytes were sent before (on an acknowledgement: the packet that triggered it was).
pub(crate) const RETRANSMIT: u8 = 8;
/// A body travels beside this packet in the side queue of its link.
pub(crate) const BODY: u8 = 16;
/// On an acknowledgement: something is missing (RDMA).
pub(crate) const NACK: u8 = 32;
/// On an acknowledgement: a congestion notification packet rides on it (DCQCN).
pub(crate) const CNP: u8 = 64;
/// On data: its sender has reduced the window (RFC 3168). Queue pairs do not tell so.
pub(crate) const CWR: u8 = CNP;
/// TCP, on data without payload: it opens a connection; on an acknowledgement: it answers such a packet. Queue pairs are
/// not opened, so it is their bit for NACK.
pub(crate) const SYN: u8 = NACK;
/// On an acknowledgement in hand: the host's scheme hides the echo of marks from the transport.
pub(crate) const MASKED: u8 = 128;
/// On a probe: what it has in `ttl` is the hop limit of all packets.
const LIMITED: u8 = MASKED;

/// On data of Ultra Ethernet: its receiver is to answer at once. On a question: it is a request, and without this a
/// probe.
pub(crate) const URGENT: u8 = CNP;
/// On data: it has no payload, because a switch has trimmed it or because it is a question.
pub(crate) const BARE: u8 = ECE;
/// On data that was trimmed: at the port of its destination.
pub(crate) const LAST_HOP: u8 = MASKED;

/// "No flow" in [`Packet::flow`] of a message.
pub(crate) const NO_FLOW: u32 = u32::MAX;

/// What is on a link. Fields mean what they say for data; the comments tell what else uses them.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Packet {
    /// When its last bit arrives at the next node; while a port keeps it, the number of the port it came by.
    pub at: Time,
    /// When its transmission started at the sender; acknowledgements and replies echo it.
    pub stamp: Time,
    /// The scheme's in-band header. It lies where a copy of the packet reads it in one piece.
    pub header: [u8; 16],
    /// First payload byte; next byte expected on an ACK; the instant of turning round on a probe reply; the length of a
    /// pause.
    pub seq: u64,
    /// Number of the subflow; number of the probe; flow key a message names.
    pub flow: u32,
    /// Source device.
    pub src: Address,
    /// Destination device.
    pub dst: Address,
    /// Bytes on the wire.
    pub wire: u16,
    /// Payload bytes, 0 on what opens a connection; on an ACK, how long the packet it answers was under way, in steps of
    /// 256 ns; on a probe reply, the port by which the probe came.
    pub payload: u16,
    /// Path tag written by a host scheme.
    pub way: Way,
    /// On data, its priority; on an ACK or a reply, the tag of the packet it answers; on a message, its class; on a pause
    /// frame, the priority it is for.
    pub echo: u16,
    /// What it is for.
    pub kind: Kind,
    /// `CE`, `ECT`, …
    pub flags: u8,
    /// Switches yet to pass: on a probe before the one that answers, on others, and on a probe that is `LIMITED`, before it is
    /// lost; 0: end to end. Never 0 on a pause frame, which goes no further.
    pub ttl: u8,
    /// Bytes of `wire` that are the fabric scheme's header, added by the first switch.
    pub fabric_header: u8,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// This flag if so, or none.
#[inline(always)]
pub(crate) fn flag(flag: u8, if_so: bool) -> u8 {
    if if_so { flag } else { 0 }
}

impl Packet {
    /// Is this flag set?
    #[inline]
    pub fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Does it belong to a flow (and so to the flow's bookkeeping)?
    #[inline]
    pub fn of_flow(&self) -> bool {
        matches!(self.kind, Kind::Data | Kind::Ack)
    }

    /// Gives it the hop limit of its network (0: none), unless it counts switches already.
    #[inline(always)]
    pub fn limit_hops(&mut self, limit: u8) {
        if limit > 0 && self.ttl == 0 {
            self.ttl = limit;
            if self.kind == Kind::Probe {
                self.flags |= LIMITED;
            }
        }
    }

    /// Counts a switch. Returns whether its `ttl` ends there.
    pub fn count_hop(&mut self) -> bool {
        self.ttl -= 1;
        self.ttl == 0
    }

    /// Does a switch answer it at which its `ttl` ends?
    pub fn asks_for_answer(&self) -> bool {
        self.kind == Kind::Probe && !self.is(LIMITED)
    }

    /// Does it go before data where a fabric separates them?
    #[inline]
    pub fn is_control(&self) -> bool {
        match self.kind {
            Kind::Data => self.is(BARE) && (self.is(URGENT) || !self.is_question()),
            Kind::Ack | Kind::ProbeReply | Kind::Message | Kind::Pause => true,
            Kind::Probe => false,
        }
    }

    /// Is it one of Ultra Ethernet's that asks its receiver for an answer and has no payload? A request goes before data everywhere,
    /// a probe at its sender alone: it finds the queues that data finds.
    #[inline]
    pub fn is_question(&self) -> bool {
        self.kind == Kind::Data && self.payload == 0 && self.is(BARE)
    }

    /// What of a flow it carries or acknowledges, if it is of one.
    #[inline(always)]
    pub fn subflow(&self) -> SubflowId {
        SubflowId::new(self.flow)
    }

    /// Its data priority.
    #[inline]
    pub fn priority(&self) -> u8 {
        if self.kind == Kind::Data { self.echo as u8 } else { 0 }
    }

    /// While a port keeps it: the number of the port it came by.
    #[inline]
    pub fn came_by(&self) -> u16 {
        self.at.0 as u16
    }

    /// The key of its flow and direction.
    #[inline]
    pub fn key(&self) -> FlowKey {
        match self.kind {
            Kind::Data => FlowKey::data(self.flow),
            Kind::Ack => FlowKey::ack(self.flow),
            _ => FlowKey(self.flow),
        }
    }

    /// What a scheme may read of it.
    #[inline(always)]
    pub fn view(&self, hashing: &Hashing, in_port: u16, out_port: u16) -> spinewise_policy::Packet {
        spinewise_policy::Packet {
            kind: self.kind,
            flow: self.key(),
            src: self.src.bits(),
            dst: self.dst.bits(),
            seq: self.seq,
            wire: u32::from(self.wire),
            payload: if self.kind == Kind::Data { u32::from(self.payload) } else { 0 },
            ce: self.is(CE),
            retransmit: self.is(RETRANSMIT),
            hashed: self.hashed(hashing),
            way: self.way,
            in_port: Port(in_port),
            out_port: Port(out_port),
        }
    }

    /// The fields that switches hash.
    #[inline(always)]
    pub fn hashed(&self, hashing: &Hashing) -> Hashed {
        if !matches!(hashing.fields, Fields::Header) {
            return self.other_fields(hashing);
        }
        self.mixed(hashing, u64::from(self.key().0))
    }

    /// The two hosts, the tag, and what tells the flow and its direction.
    #[inline(always)]
    fn mixed(&self, hashing: &Hashing, key: u64) -> Hashed {
        let pair = u64::from(self.src.bits()) << 32 | u64::from(self.dst.bits());
        let inner = key << 8 | self.kind as u64;
        if self.way == Way::ANY {
            return Hashed::Mixed { pair, inner, tag: 0 };
        }
        let tag = u64::from(self.way.0) + 1;
        match hashing.tags {
            Tags::Outer => Hashed::Mixed { pair, inner: 0, tag },
            Tags::Inner | Tags::Explicit => Hashed::Mixed { pair, inner, tag },
        }
    }

    /// What is hashed where that is not the header.
    #[cold]
    fn other_fields(&self, hashing: &Hashing) -> Hashed {
        let key = u64::from(self.key().0);
        match &hashing.fields {
            Fields::Header => self.mixed(hashing, key),
            Fields::Ports(ports) => self.addresses(ports, &hashing.ends),
            Fields::Connections(pairs) => {
                let of_flow = matches!(self.kind, Kind::Data | Kind::Ack);
                let shared = || u64::from(pairs[self.flow as usize]) << 1 | key & 1;
                self.mixed(hashing, if of_flow { shared() } else { key })
            }
        }
    }

    /// Addresses and ports as the public ns-3 code of ConWeave gives them to hosts and flows.
    #[cold]
    fn addresses(&self, ports: &[u32], ends: &[(u32, u32)]) -> Hashed {
        let address = |number: u32| 0x0b00_0001 + ((number / 256) << 16) + ((number % 256) << 8);
        if let (Kind::Message, Some(&(src, dst))) = (self.kind, ends.get(self.flow as usize >> 1)) {
            return Hashed::Murmur([address(dst), address(src), ports[self.flow as usize >> 1].rotate_left(16)]);
        }
        let ports = match self.kind {
            Kind::Data => ports[self.flow as usize],
            Kind::Ack => ports[self.flow as usize].rotate_left(16),
            _ => 0,
        };
        Hashed::Murmur([address(self.src.number()), address(self.dst.number()), ports])
    }
}

/// What switches hash of a packet.
#[derive(Debug)]
pub struct Hashing {
    /// What a host's path tag is to them.
    pub tags: Tags,
    /// What tells flows apart.
    pub fields: Fields,
    /// Where the public ns-3 code of ConWeave is followed, source and destination of each flow: what switches say to each
    /// other about a flow goes as if the one end said it to the other.
    pub ends: Vec<(u32, u32)>,
}

/// What switches hash to tell flows apart.
#[derive(Debug)]
pub enum Fields {
    /// Each flow and path is one of its own.
    Header,
    /// Source and destination port (low and high half) of each flow, hashed with addresses.
    Ports(Vec<u32>),
    /// Which connection or queue pair between its hosts each flow goes by: those that share one are one to switches.
    Connections(Vec<u32>),
}

/// What a host's path tag is to the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// The path itself (XPath, segment routing).
    Explicit,
    /// The source port of a tunnel: hashed with the two hosts, the inner flow hidden.
    Outer,
    /// A field of the inner header: hashed with the flow.
    Inner,
}

/// A message body, beside its packet.
pub(crate) type Body = Box<[u8]>;

/// The packet in hand: off one link and not yet on the next.
#[derive(Clone, Debug, Default)]
pub struct InHand {
    /// The packet.
    pub packet: Packet,
    /// Its body, if it is flagged to have one.
    pub body: Option<Body>,
}

impl InHand {
    /// A packet with a body, flagged to have one.
    pub fn with_body(packet: Packet, body: Body) -> Self {
        InHand { packet: Packet { flags: packet.flags | BODY, ..packet }, body: Some(body) }
    }

    /// A packet with an option.
    #[inline]
    pub fn with_option(packet: Packet, option: Rider, lie: Options) -> Self {
        match (option, lie) {
            (Rider::Short(header), Options::Inside) => InHand::from(Packet { header, ..packet }),
            (option, _) if option.is_empty() => packet.into(),
            (Rider::Short(short), Options::Beside) => InHand::with_body(packet, in_header(&short).into()),
            (Rider::Long(body), _) => InHand::with_body(packet, body),
        }
    }

    /// The option it carries, empty if none.
    #[inline(always)]
    pub fn option(&self, lie: Options) -> &[u8] {
        match (&self.body, lie) {
            // The body in hand may be that of a packet before.
            (Some(body), _) if self.packet.is(BODY) => body,
            (_, Options::Inside) => in_header(&self.packet.header),
            (_, Options::Beside) => &[],
        }
    }
}

impl From<Packet> for InHand {
    fn from(packet: Packet) -> Self {
        InHand { packet, body: None }
    }
}

/// How exactly time is kept on links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// To the picosecond.
    Exact,
    /// Each transmission takes whole nanoseconds, cut off.
    Floor1Ns,
    /// As ns-3.19 works them out: seconds as a double, cut to 2⁻⁶⁴ s, times 10⁹, cut off. What takes a whole number of
    /// nanoseconds comes out as one less.
    Ns3,
}

impl Clock {
    /// Time to send `bytes` at `rate` bits per second alone, in picoseconds.
    pub fn tx_time(self, bytes: u64, rate: u64) -> u64 {
        let ps = || (u128::from(bytes) * u128::from(BYTE_PS) / u128::from(rate)) as u64;
        match self {
            Clock::Exact => ps(),
            Clock::Floor1Ns => ps() / 1000 * 1000,
            Clock::Ns3 => ns3_nanoseconds(bytes, rate) * 1000,
        }
    }
}

/// [`Clock::Ns3`], in nanoseconds.
#[inline]
pub(crate) fn ns3_nanoseconds(bytes: u64, rate: u64) -> u64 {
    const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;
    let seconds = bytes as f64 * 8.0 / rate as f64;
    let cut = (seconds * TWO_TO_64) as u128;
    ((cut * 1_000_000_000) >> 64) as u64
}
