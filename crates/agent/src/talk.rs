//! Messages between agents over plain UDP, outside the tunnel: that they are running, and their schemes' messages.
//!
//! ```text
//! "SWTK" | version (1) | kind (1) | host (2) | instance (2) | 2 reserved bytes | body
//! ```

use std::cell::Cell;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

/// Version of the format.
const VERSION: u8 = 1;
const MAGIC: [u8; 4] = *b"SWTK";
const HEAD: usize = 12;
/// A header of the scheme.
const ENTRY: usize = 16;
/// Number of ports used for sending; a prime, so that in a round over peers a peer is not always sent to by the same
/// port.
const MOUTHS: usize = 7;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Talk {
    /// An agent is here and asks whether there is one there.
    Hello,
    /// The answer: there is one.
    Welcome,
    /// This agent is leaving: traffic to it must be plain.
    Bye,
    /// A message of the scheme.
    Message {
        /// Its class.
        class: u8,
        /// Its body.
        body: Vec<u8>,
    },
    /// Headers of the scheme that found no packet to carry them.
    Headers(Vec<[u8; 16]>),
}

/// The sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// Its number.
    pub host: u16,
    /// The life of its agent.
    pub instance: u16,
}

impl Talk {
    /// Encodes it as bytes.
    pub fn write(&self, from: Speaker) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let kind = match self {
            Talk::Hello => 1,
            Talk::Welcome => 2,
            Talk::Bye => 3,
            Talk::Message { .. } => 4,
            Talk::Headers(_) => 5,
        };
        bytes.extend([VERSION, kind]);
        bytes.extend(from.host.to_be_bytes());
        bytes.extend(from.instance.to_be_bytes());
        bytes.extend([0, 0]);
        match self {
            Talk::Hello | Talk::Welcome | Talk::Bye => {}
            Talk::Message { class, body } => {
                bytes.push(*class);
                bytes.extend(body);
            }
            Talk::Headers(headers) => {
                for header in headers {
                    bytes.extend(header);
                }
            }
        }
        bytes
    }

    /// Parses bytes, which are not trusted.
    pub fn read(bytes: &[u8]) -> Option<(Speaker, Talk)> {
        let (head, body) = bytes.split_first_chunk::<HEAD>()?;
        if head[..4] != MAGIC || head[4] != VERSION {
            return None;
        }
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let talk = match head[5] {
            1 => Talk::Hello,
            2 => Talk::Welcome,
            3 => Talk::Bye,
            4 => {
                let (class, body) = body.split_first()?;
                Talk::Message { class: *class, body: body.to_vec() }
            }
            5 if body.len().is_multiple_of(ENTRY) => {
                Talk::Headers(body.chunks_exact(ENTRY).filter_map(|entry| entry.try_into().ok()).collect())
            }
            _ => return None,
        };
        Some((Speaker { host: word(6), instance: word(8) }, talk))
    }
}

/// Its sockets.
pub struct Line {
    socket: UdpSocket,
    /// Messages use one port after another, so that no single dead path silences an agent.
    mouths: Vec<UdpSocket>,
    next: Cell<usize>,
    me: Speaker,
    /// Datagrams that were not valid messages, or not from the claimed sender.
    pub refused: u64,
}

impl Line {
    /// Opens a line at this address and port.
    ///
    /// # Errors
    /// It is in use, or the address is not this host's.
    pub fn open(address: Ipv4Addr, port: u16, me: Speaker) -> std::io::Result<Line> {
        let socket = UdpSocket::bind(SocketAddrV4::new(address, port))?;
        socket.set_nonblocking(true)?;
        let mouth = |_| {
            let mouth = UdpSocket::bind(SocketAddrV4::new(address, 0))?;
            mouth.set_nonblocking(true)?;
            Ok(mouth)
        };
        let mouths = (0..MOUTHS).map(mouth).collect::<std::io::Result<_>>()?;
        Ok(Line { socket, mouths, next: Cell::new(0), me, refused: 0 })
    }

    /// Makes this life of the agent the sender from now on.
    pub fn renew(&mut self, instance: u16) {
        self.me.instance = instance;
    }

    /// Says something. What cannot be sent now is lost, as on any network.
    pub fn say(&self, to: Ipv4Addr, port: u16, talk: &Talk) {
        let next = self.next.get();
        self.next.set((next + 1) % self.mouths.len());
        let _lost = self.mouths[next].send_to(&talk.write(self.me), SocketAddrV4::new(to, port));
    }

    /// The messages received since; `address_of` gives a host's address.
    pub fn listen(&mut self, address_of: impl Fn(u16) -> Option<Ipv4Addr>) -> Vec<(Speaker, Talk)> {
        /// Maximum per call.
        const MOST: usize = 512;
        let mut heard = Vec::new();
        let mut room = [0; 65_536];
        while heard.len() < MOST {
            let Ok((length, from)) = self.socket.recv_from(&mut room) else { break };
            let read = Talk::read(&room[..length]);
            match read.filter(|(speaker, _)| address_of(speaker.host).is_some_and(|address| address == from.ip())) {
                Some(talk) => heard.push(talk),
                None => self.refused += 1,
            }
        }
        heard
    }
}
