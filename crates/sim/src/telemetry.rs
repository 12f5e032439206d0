//! In-band network telemetry (INT): fields that ports write into packets of data as they leave, and receivers echo.
//!
//! Li et al., "HPCC: High precision congestion control", SIGCOMM 2019, §4.1: a header of 2 bytes has room for five hops
//! of 8 bytes each. Here a hop reports exact values, where 8 bytes hold them in units of 128 bytes, 80 bytes and a
//! nanosecond; it also names its link, for which the header has 12 bits that all hops mix. The 42 bytes are on the wire
//! of every packet of data and of every answer, whatever the number of hops.

use crate::ids::LinkId;
use crate::packet::Body;
use spinewise_policy::Time;

/// Number of hops that a header has room for. Later ports write nothing.
const MOST_HOPS: usize = 5;
/// Bytes of a header on the wire.
pub(crate) const WIRE_BYTES: u32 = 2 + 8 * MOST_HOPS as u32;
/// Bytes of a hop as it travels here.
const HOP: usize = 32;
/// Bytes of a header as it travels here: the number of hops and their room.
const HEADER: usize = 1 + MOST_HOPS * HOP;

/// A port's report for the packet that starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// The link that the packet leaves by.
    pub link: LinkId,
    /// When it starts.
    pub at: Time,
    /// Bytes that the port has sent before.
    pub sent: u64,
    /// Bytes that wait at the port then.
    pub queue: u32,
    /// Bits per second of the link.
    pub rate: u64,
}

impl Hop {
    fn encode(&self) -> [u8; HOP] {
        let mut bytes = [0; HOP];
        let ends = u64::from(self.link.number()) << 32 | u64::from(self.queue);
        for (place, word) in bytes.chunks_exact_mut(8).zip([self.at.0, self.sent, self.rate, ends]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8; HOP]) -> Hop {
        let word = |n: usize| bytes.as_chunks().0.get(n).map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let [at, sent, rate, ends] = [0, 1, 2, 3].map(word);
        Hop { at: Time(at), sent, rate, link: LinkId::new((ends >> 32) as u32), queue: ends as u32 }
    }
}

/// A header that no port has written into.
pub(crate) fn header() -> Body {
    vec![0; HEADER].into()
}

/// Writes a hop into a header, if there is room.
pub(crate) fn stamp(header: &mut [u8], hop: &Hop) {
    let Some((written, room)) = header.split_first_mut() else { return };
    if let Some(place) = room.chunks_exact_mut(HOP).nth(usize::from(*written)) {
        place.copy_from_slice(&hop.encode());
        *written += 1;
    }
}

/// Splits off a leading header. Two empty parts if there are too few bytes for one.
pub(crate) fn split(option: &[u8]) -> (&[u8], &[u8]) {
    option.split_at_checked(HEADER).unwrap_or_default()
}

/// The hops of a header, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Hops<'a>(&'a [u8]);

impl<'a> Hops<'a> {
    /// Returns the hops written into this header.
    pub fn of(header: &'a [u8]) -> Hops<'a> {
        Hops(header)
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = Hop> + 'a {
        let (written, room) = self.0.split_first().map_or((0, self.0), |(&written, room)| (written, room));
        room.as_chunks().0.iter().take(usize::from(written)).map(Hop::decode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_hops_are_told_as_they_were_written_and_a_sixth_finds_no_room() {
        let hop = |n: u64| Hop {
            link: LinkId::new(n as u32),
            at: Time(n << 40),
            sent: u64::MAX - n,
            queue: 7 * n as u32,
            rate: n << 50,
        };
        let mut written = header();
        for n in 0..6 {
            assert_eq!(Hops::of(&written).iter().collect::<Vec<_>>(), (0..n.min(5)).map(hop).collect::<Vec<_>>());
            stamp(&mut written, &hop(n));
        }
        let with_rest: Vec<u8> = written.iter().copied().chain([1, 2, 3]).collect();
        assert_eq!(split(&with_rest), (&written[..], &[1, 2, 3][..]));
        assert_eq!(split(&[1, 2, 3]), (&[][..], &[][..]));
        assert_eq!(Hops::of(&[]).iter().count(), 0);
        assert_eq!(WIRE_BYTES, 42);
    }
}
