//! What answers of Ultra Ethernet carry besides what every answer has.

use super::Psn;

/// In the place of the packet that made an answer: a request did.
pub(super) const REQUEST: Psn = Psn::MAX;

/// A selective acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sack {
    /// The packet that made it.
    pub psn: Psn,
    /// The packet that the lowest bit stands for.
    pub base: Psn,
    /// Which packets from there on are here.
    pub bits: u64,
    /// Bytes on the wire that have been received, each packet once.
    pub received: u64,
    /// Packets that are here and wait for one before them.
    pub waiting: u32,
    /// The probe that it answers; 0: none.
    pub probe: u32,
}

/// Bytes of a [`Sack`].
const SACK: usize = 32;

impl Sack {
    /// As it travels.
    pub(super) fn put(&self) -> Box<[u8]> {
        let mut bytes = [0; SACK];
        bytes[..4].copy_from_slice(&self.psn.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.base.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.bits.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.received.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.waiting.to_le_bytes());
        bytes[28..].copy_from_slice(&self.probe.to_le_bytes());
        Box::new(bytes)
    }

    /// What [`Sack::put`] wrote; none in bytes of another length.
    #[inline]
    pub(super) fn get(bytes: &[u8]) -> Option<Sack> {
        let bytes: &[u8; SACK] = bytes.try_into().ok()?;
        let (psn, rest) = bytes.split_first_chunk()?;
        let (base, rest) = rest.split_first_chunk()?;
        let (bits, rest) = rest.split_first_chunk()?;
        let (received, rest) = rest.split_first_chunk()?;
        let (waiting, rest) = rest.split_first_chunk()?;
        Some(Sack {
            psn: u32::from_le_bytes(*psn),
            base: u32::from_le_bytes(*base),
            bits: u64::from_le_bytes(*bits),
            received: u64::from_le_bytes(*received),
            waiting: u32::from_le_bytes(*waiting),
            probe: u32::from_le_bytes(rest.try_into().ok()?),
        })
    }
}

/// The blocks of bytes that an answer says are here, of packets of `mss` bytes; none if it is no acknowledgement.
pub(crate) fn blocks(option: &[u8], mss: u32) -> Vec<(u64, u64)> {
    let Some(Sack { base, mut bits, .. }) = Sack::get(option) else { return Vec::new() };
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

/// A number of quanta as it travels: what a sender wants, or what it is granted.
pub(super) fn put_quanta(quanta: u64) -> Box<[u8]> {
    Box::new(quanta.to_le_bytes())
}

/// What [`put_quanta`] wrote; none in bytes of another length.
pub(super) fn get_quanta(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The number of a probe as it travels.
pub(super) fn put_probe(number: u32) -> Box<[u8]> {
    Box::new(number.to_le_bytes())
}

/// What [`put_probe`] wrote; none in bytes of another length.
pub(super) fn get_probe(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(psn: u32, base: u32, bits: u64, received: u64, waiting: u32, probe: u32) {
            let sack = Sack { psn, base, bits, received, waiting, probe };
            prop_assert_eq!(Sack::get(&sack.put()), Some(sack));
        }

        #[test]
        fn blocks_are_the_packets_that_are_here(base in 0u32..1000, bits: u64) {
            let sack = Sack { base, bits, ..Sack::default() };
            let blocks = blocks(&sack.put(), 10);
            let mut seen = 0u64;
            for (from, to) in &blocks {
                (from / 10..to / 10).for_each(|psn| seen |= 1 << (psn - u64::from(base)));
            }
            prop_assert_eq!(seen, bits);
            prop_assert!(blocks.windows(2).all(|pair| pair[0].1 < pair[1].0) && blocks.iter().all(|one| one.0 < one.1));
        }

        #[test]
        fn other_bytes_are_none(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(Sack::get(&bytes).is_some(), bytes.len() == SACK);
        }
    }
}
