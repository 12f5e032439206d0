//! ELAB's two headers, byte for byte: the tunnel's UDP header, whose source port is the virtual path, and behind it the
//! info header.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |    source port: the path      |       destination port        |  UDP (RFC 768)
//! |            length             |   checksum: 0, none (IPv4)    |
//! +-------------------------------+-------------------------------+
//! |             VP_ID             |            VP_RCnt            |  info header (ELAB §4.2)
//! |         reserved          |B|E|           Burst_ID            |
//! |               VP_RBurst_Rate, only if B is set                |
//! +---------------------------------------------------------------+
//! ```
//!
//! Numbers are in network order. The paper's figure of the header is not in its text: the order of the fields is that
//! of their list in §4.2. Nothing here allocates or panics: slices in, results out, so that it can read what a Linux
//! host gets from the wire.

use crate::Wire;

/// Bytes of a UDP header (RFC 768).
pub const UDP_BYTES: usize = 8;
/// Bytes of the info header without a rate.
pub(crate) const SHORT_BYTES: usize = 8;
/// Bytes of the info header with one.
pub(crate) const LONG_BYTES: usize = 12;

/// UDP destination port that identifies ELAB (own choice, from the dynamic range of RFC 6335).
pub const ELAB_PORT: u16 = 0xe1ab;

/// VP_ID of a header that reports on no path; no tunnel has this source port.
pub const NO_PATH: u16 = u16::MAX;

const B: u16 = 2;
const E: u16 = 1;

/// The reason why bytes are not a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAHeader {
    /// There are fewer bytes than it has, or, when writing, than it needs.
    Short {
        /// Bytes needed.
        needed: usize,
        /// Bytes available.
        got: usize,
    },
    /// The UDP destination port is another one.
    OtherPort(u16),
    /// The UDP length is less than both headers have, or would exceed what UDP can express.
    Length(u16),
}

/// The info header (ELAB §4.2). `rate` is present if B is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Path reported on, or [`NO_PATH`].
    pub vp_id: u16,
    /// Packets of it that have arrived.
    pub vp_rcnt: u16,
    /// E: a packet of it has arrived marked.
    pub marked: bool,
    /// Burst that this packet itself belongs to; 0: none.
    pub burst_id: u16,
    /// VP_RBurst_Rate, the arrival rate of a burst on that path.
    pub rate: Option<u32>,
}

impl Info {
    /// Bytes it takes: 8, or 12 with a rate.
    #[inline]
    pub const fn size(&self) -> usize {
        if self.rate.is_some() { LONG_BYTES } else { SHORT_BYTES }
    }

    /// Writes it to the beginning of `bytes`, and returns how many it took.
    ///
    /// # Errors
    /// [`NotAHeader::Short`] if there is no room; in that case nothing is written.
    // ELAB §4.2: VP_ID, VP_RCnt, reserved, B, E, Burst_ID, and VP_RBurst_Rate if B is set.
    #[inline]
    pub fn encode(&self, bytes: &mut [u8]) -> Result<usize, NotAHeader> {
        let (needed, got) = (self.size(), bytes.len());
        let Some(room) = bytes.get_mut(..needed) else { return Err(NotAHeader::Short { needed, got }) };
        let flags = if self.rate.is_some() { B } else { 0 } | if self.marked { E } else { 0 };
        room[0..2].copy_from_slice(&self.vp_id.to_be_bytes());
        room[2..4].copy_from_slice(&self.vp_rcnt.to_be_bytes());
        room[4..6].copy_from_slice(&flags.to_be_bytes());
        room[6..8].copy_from_slice(&self.burst_id.to_be_bytes());
        if let Some(rate) = self.rate {
            room[8..12].copy_from_slice(&rate.to_be_bytes());
        }
        Ok(needed)
    }

    /// Reads it from the beginning of `bytes`, and returns how many it took. Reserved bits are ignored.
    ///
    /// # Errors
    /// [`NotAHeader::Short`] if the bytes end before it does.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<(Info, usize), NotAHeader> {
        let got = bytes.len();
        let short = |needed| NotAHeader::Short { needed, got };
        let head: &[u8; SHORT_BYTES] = bytes.first_chunk().ok_or(short(SHORT_BYTES))?;
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let flags = word(4);
        let rate = if flags & B != 0 {
            let whole: &[u8; LONG_BYTES] = bytes.first_chunk().ok_or(short(LONG_BYTES))?;
            Some(u32::from_be_bytes([whole[8], whole[9], whole[10], whole[11]]))
        } else {
            None
        };
        let info = Info { vp_id: word(0), vp_rcnt: word(2), marked: flags & E != 0, burst_id: word(6), rate };
        Ok((info, info.size()))
    }
}

/// The bytes between the network header and the original transport header: tunnel and info header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shim {
    /// Source port of the tunnel: the virtual path this packet takes.
    pub path: u16,
    /// The info header.
    pub info: Info,
}

impl Shim {
    /// Writes both headers for a packet with `payload` bytes behind them, and returns how many they took.
    ///
    /// # Errors
    /// [`NotAHeader::Short`] if there is no room, [`NotAHeader::Length`] if the packet is longer than UDP can express;
    /// the bytes written then are meaningless.
    pub fn encode(&self, payload: usize, bytes: &mut [u8]) -> Result<usize, NotAHeader> {
        let (needed, got) = (UDP_BYTES + self.info.size(), bytes.len());
        let length = u16::try_from(needed + payload).map_err(|_| NotAHeader::Length(u16::MAX))?;
        let Some(room) = bytes.get_mut(..needed) else { return Err(NotAHeader::Short { needed, got }) };
        room[0..2].copy_from_slice(&self.path.to_be_bytes());
        room[2..4].copy_from_slice(&ELAB_PORT.to_be_bytes());
        room[4..6].copy_from_slice(&length.to_be_bytes());
        // RFC 768: a checksum of zero means that there is none; the inner transport has its own.
        room[6..8].copy_from_slice(&[0, 0]);
        Ok(UDP_BYTES + self.info.encode(&mut room[UDP_BYTES..])?)
    }

    /// Reads both headers from the beginning of a UDP datagram, and returns where their content begins and ends.
    ///
    /// # Errors
    /// [`NotAHeader`]: cut short, not ELAB's, or of an impossible length.
    pub fn decode(bytes: &[u8]) -> Result<(Shim, core::ops::Range<usize>), NotAHeader> {
        let short = NotAHeader::Short { needed: UDP_BYTES + SHORT_BYTES, got: bytes.len() };
        let udp: &[u8; UDP_BYTES] = bytes.first_chunk().ok_or(short)?;
        let word = |at: usize| u16::from_be_bytes([udp[at], udp[at + 1]]);
        if word(2) != ELAB_PORT {
            return Err(NotAHeader::OtherPort(word(2)));
        }
        let (length, got) = (word(4), bytes.len());
        if usize::from(length) < UDP_BYTES + SHORT_BYTES {
            return Err(NotAHeader::Length(length));
        }
        let needed = usize::from(length);
        let datagram = bytes.get(..needed).ok_or(NotAHeader::Short { needed, got })?;
        let (info, took) = Info::decode(&datagram[UDP_BYTES..])?;
        Ok((Shim { path: word(0), info }, UDP_BYTES + took..datagram.len()))
    }
}

/// The header as a simulated packet carries it: the info header's bytes, and how many the tunnel takes on the wire. The
/// tunnel's source port is the packet's path tag. The default is that of a packet which no ELAB host has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the tunnel's headers; 0: the packet has neither header.
    pub tunnel: u8,
    /// The info header.
    pub info: Info,
}

impl Wire for Header {
    #[inline]
    fn get(bytes: &[u8; 16]) -> Self {
        // Twelve bytes are always enough.
        let info = Info::decode(&bytes[..LONG_BYTES]).map_or(Info::default(), |(info, _)| info);
        Header { tunnel: bytes[15], info }
    }

    #[inline]
    fn put(&self, bytes: &mut [u8; 16]) {
        *bytes = [0; 16];
        let written = self.info.encode(bytes);
        debug_assert!(written.is_ok(), "there is room for the longest");
        bytes[15] = self.tunnel;
    }

    #[inline]
    fn wire(&self) -> u32 {
        if self.tunnel == 0 { 0 } else { u32::from(self.tunnel) + self.info.size() as u32 }
    }
}
