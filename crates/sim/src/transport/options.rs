//! The options of MPTCP: the bytes they take, and their contents.

use crate::rider::Rider;
use crate::transport::Greeting;
use crate::transport::sack::Sack;

/// The bytes that options take, padding included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// DSS on data: data acknowledgement and mapping, with checksum.
    pub data: u32,
    /// DSS on an acknowledgement: data acknowledgement.
    pub ack: u32,
    /// MP_CAPABLE on the SYN, on its answer and on the third packet.
    pub capable: [u32; 3],
    /// MP_JOIN on the same.
    pub join: [u32; 3],
    /// SACK blocks that fit beside the rest.
    pub sack_blocks: usize,
}

impl Options {
    /// RFC 8684: §3.3 with 32-bit numbers (4 + 4, and 4 + 4 + 2 + 2 for the mapping), figures 4 and 5 to 8. Time stamps,
    /// DSS and SACK share 40 bytes, which leaves two blocks.
    pub const CHARGED: Options = Options { data: 20, ack: 8, capable: [4, 12, 20], join: [12, 16, 24], sack_blocks: 2 };
    /// They take none.
    pub const FREE: Options = Options { data: 0, ack: 0, capable: [0; 3], join: [0; 3], sack_blocks: 3 };

    /// Bytes of options on packets of the end that opens on this path: all but the first join.
    pub fn on_greeting(&self, path: usize, greeting: Greeting) -> u32 {
        let option = if path > 0 { &self.join } else { &self.capable };
        match greeting {
            Greeting::Syn { .. } => option[0],
            Greeting::Ack => option[2],
        }
    }

    /// Bytes of options on the answer to a SYN.
    pub fn on_answer(&self, path: usize) -> u32 {
        if path > 0 { self.join[1] } else { self.capable[1] }
    }
}

/// The content of a DSS option, beside the SACK option of an acknowledgement. Wire format: eight bytes, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    /// On data: its first byte in the data. On an acknowledgement: the next data byte expected (Data ACK).
    pub data: u64,
    /// On an acknowledgement: its SACK option.
    pub sack: Sack,
}

impl Signal {
    /// Encodes it in wire format.
    pub(crate) fn encode(&self) -> Rider {
        Rider::of(&[&self.data.to_le_bytes()[..], &self.sack.encode()].concat())
    }

    /// Decodes the bytes of [`Signal::encode`]; `None` for a packet without.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Signal> {
        let (data, sack) = bytes.split_first_chunk()?;
        Some(Signal { data: u64::from_le_bytes(*data), sack: Sack::decode(sack) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for sack in [Sack::NONE, Sack::of(&[(1, 2)]), Sack::of(&[(1, 2), (5, 9), (u64::MAX - 1, u64::MAX)])] {
            for data in [0, 1, 1 << 40, u64::MAX] {
                let signal = Signal { data, sack };
                assert_eq!(Signal::decode(&signal.encode()), Some(signal));
            }
        }
        assert_eq!(Signal::decode(&[]), None);
        assert_eq!(Signal::decode(&[0; 7]), None);
    }

    /// All options of an acknowledgement fit into the 40 bytes a TCP header has for them (RFC 9293 §3.1).
    #[test]
    fn options_fit_into_a_header() {
        let time_stamps = 12;
        let blocks = [(1, 2); 3];
        for options in [Options::CHARGED, Options::FREE] {
            let sack = Sack::of(&blocks[..options.sack_blocks]).wire_bytes();
            assert!(time_stamps + options.ack + sack <= 40);
            let most = options.capable.into_iter().chain(options.join).chain([options.data]).max().unwrap_or(0);
            assert!(time_stamps + most <= 40);
        }
    }
}
