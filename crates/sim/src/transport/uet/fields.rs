//! Fields of Ultra Ethernet's answers, in addition to those of every answer.

use super::Psn;
use crate::rider::Rider;

/// In place of the packet that caused an answer, if a request did.
pub(super) const REQUEST: Psn = Psn::MAX;

/// A selective acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sack {
    /// All packets before this one are here. Every answer has this, so it is not in the option.
    pub expected: Psn,
    /// The packet that caused it.
    pub psn: Psn,
    /// The packet of the lowest bit.
    pub base: Psn,
    /// The packets from there on that are here.
    pub bits: u64,
    /// Packets that are here and wait for an earlier one.
    pub waiting: u32,
    /// Whether the last packet of the flow is here.
    pub last: bool,
    /// The probe that it answers; 0: none.
    pub probe: u32,
}

/// Returns the packet of the lowest bit, unless there is a reason to begin with `psn`, which caused the answer; all
/// before `expected` are here.
pub(super) fn first_told(psn: Psn, expected: Psn) -> Psn {
    psn.saturating_sub(u64::BITS - 1).max(expected + 1)
}

/// Bytes of a typical [`Sack`], where `base` is one of two packets and 22 bits hold the waiting ones, and of any other.
const SHORT: usize = 15;
const LONG: usize = 25;

impl Sack {
    /// Encodes it in wire format.
    pub(super) fn put(&self) -> Rider {
        let begins = self.base == self.psn || self.bits == 0;
        let few = self.probe == 0 && self.waiting < 1 << 22;
        if few && (begins || self.base == first_told(self.psn, self.expected)) {
            let rest = self.waiting << 2 | u32::from(self.last) << 1 | u32::from(begins);
            let mut bytes = [0; SHORT + 1];
            bytes[..4].copy_from_slice(&self.psn.to_le_bytes());
            bytes[4..12].copy_from_slice(&self.bits.to_le_bytes());
            bytes[12..].copy_from_slice(&rest.to_le_bytes());
            return Rider::of(&bytes[..SHORT]);
        }
        let mut bytes = [0; LONG];
        bytes[..4].copy_from_slice(&self.psn.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.base.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.bits.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.waiting.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.probe.to_le_bytes());
        bytes[24] = self.last.into();
        Rider::of(&bytes)
    }

    /// Decodes the bytes of [`Sack::put`], in an answer that says which packet is `expected`; `None` if their length
    /// differs.
    #[inline]
    pub(super) fn get(bytes: &[u8], expected: Psn) -> Option<Sack> {
        let (psn, rest) = bytes.split_first_chunk()?;
        let psn = u32::from_le_bytes(*psn);
        if bytes.len() == SHORT {
            let (bits, rest) = rest.split_first_chunk()?;
            let rest = rest.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
            let base = if rest & 1 == 1 { psn } else { first_told(psn, expected) };
            let bits = u64::from_le_bytes(*bits);
            return Some(Sack { expected, psn, base, bits, waiting: rest >> 2, last: rest & 2 != 0, probe: 0 });
        }
        let (base, rest) = rest.split_first_chunk()?;
        let (bits, rest) = rest.split_first_chunk()?;
        let (waiting, rest) = rest.split_first_chunk()?;
        let (probe, rest) = rest.split_first_chunk()?;
        let &[last] = rest else { return None };
        Some(Sack {
            expected,
            psn,
            base: u32::from_le_bytes(*base),
            bits: u64::from_le_bytes(*bits),
            waiting: u32::from_le_bytes(*waiting),
            last: last != 0,
            probe: u32::from_le_bytes(*probe),
        })
    }
}

/// The blocks of bytes that an answer reports beyond those below byte `cumulative`, for packets of `mss` bytes; none if
/// it is not an acknowledgement.
pub(crate) fn blocks(option: &[u8], cumulative: u64, mss: u32) -> Vec<(u64, u64)> {
    let expected = cumulative.div_ceil(u64::from(mss)) as Psn;
    let Some(Sack { base, mut bits, .. }) = Sack::get(option, expected) else { return Vec::new() };
    let (mut found, mut psn) = (Vec::new(), u64::from(base));
    while bits != 0 {
        psn += u64::from(bits.trailing_zeros());
        bits >>= bits.trailing_zeros();
        let run = bits.trailing_ones();
        found.push((psn * u64::from(mss), (psn + u64::from(run)) * u64::from(mss)));
        psn += u64::from(run);
        bits = bits.checked_shr(run).unwrap_or(0);
    }
    found
}

/// Encodes a number of quanta: a sender's request, or its grant.
pub(super) fn put_quanta(quanta: u64) -> Rider {
    Rider::of(&quanta.to_le_bytes())
}

/// Decodes the bytes of [`put_quanta`]; `None` if their length differs.
pub(super) fn get_quanta(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Encodes the number of a probe in wire format.
pub(super) fn put_probe(number: u32) -> Rider {
    Rider::of(&number.to_le_bytes())
}

/// Decodes the bytes of [`put_probe`]; `None` if their length differs.
pub(super) fn get_probe(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            (psn, expected) in (0u32..1 << 24, 0u32..1 << 24),
            (begins, other) in (0usize..3, 0u32..1 << 24),
            bits in prop_oneof![Just(0), any::<u64>()],
            waiting in prop_oneof![0u32..1 << 10, any::<u32>()],
            last: bool,
            probe in prop_oneof![Just(0), any::<u32>()],
        ) {
            let base = [psn, first_told(psn, expected), other][begins];
            let sack = Sack { expected, psn, base, bits, waiting, last, probe };
            let read = Sack::get(&sack.put(), expected);
            // Without bits their starting point does not matter.
            let base = if bits == 0 { read.map_or(0, |sack| sack.base) } else { base };
            prop_assert_eq!(read, Some(Sack { base, ..sack }));
        }

        #[test]
        fn blocks_are_the_packets_that_are_here(expected in 0u32..1000, ahead in 1u32..200, bits: u64) {
            let psn = expected + ahead;
            let base = first_told(psn, expected);
            let blocks = blocks(&Sack { expected, psn, base, bits, ..Sack::default() }.put(), u64::from(expected) * 10, 10);
            let mut seen = 0u64;
            for (from, to) in &blocks {
                (from / 10..to / 10).for_each(|psn| seen |= 1 << (psn - u64::from(base)));
            }
            prop_assert_eq!(seen, bits);
            prop_assert!(blocks.windows(2).all(|pair| pair[0].1 < pair[1].0) && blocks.iter().all(|one| one.0 < one.1));
        }

        #[test]
        fn other_bytes_are_none(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(Sack::get(&bytes, 0).is_some(), [SHORT, LONG].contains(&bytes.len()));
        }
    }

    #[test]
    fn what_most_answers_tell_rides_in_the_packet() {
        let sack = Sack { expected: 60, psn: 100, base: 61, bits: 1 << 39, waiting: 1, last: false, probe: 0 };
        assert!(matches!(sack.put(), Rider::Short(_)));
        assert!(
            matches!(Sack { base: 100, bits: 1, ..sack }.put(), Rider::Short(_)),
            "a mark asks for bits from there on"
        );
        assert!(matches!(Sack { probe: 1, ..sack }.put(), Rider::Long(_)));
        assert!(matches!(Sack { waiting: 1 << 22, ..sack }.put(), Rider::Long(_)));
    }
}
