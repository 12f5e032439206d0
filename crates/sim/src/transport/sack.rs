//! Selective acknowledgement on the wire: which data beyond the cumulative acknowledgement has arrived (RFC 2018), and
//! what has arrived twice (RFC 2883).

use crate::rider::Rider;

/// Maximum number of blocks in one acknowledgement: as many as fit beside timestamps (RFC 2018 §3).
const MOST: usize = 3;
/// Bytes of a block in wire format: two ends of 64 bits, little endian.
const ENCODED: usize = 16;

/// The SACK option of an acknowledgement: byte ranges `start..end`. The first may be a duplicate just received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack {
    blocks: [(u64, u64); MOST],
    n: u8,
}

impl Sack {
    /// No option.
    pub const NONE: Sack = Sack { blocks: [(0, 0); MOST], n: 0 };

    /// One that reports these blocks; those beyond the third are left out.
    pub fn of(blocks: &[(u64, u64)]) -> Self {
        let mut sack = Sack::NONE;
        for (slot, block) in sack.blocks.iter_mut().zip(blocks) {
            *slot = *block;
            sack.n += 1;
        }
        sack
    }

    /// Its blocks, in the order sent.
    pub fn blocks(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.n)]
    }

    /// Whether it has no blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Bytes of the option on the wire, padding included: kind, length and two words per block.
    pub fn wire_bytes(&self) -> u32 {
        if self.n == 0 { 0 } else { 4 + 8 * u32::from(self.n) }
    }

    /// The duplicate it reports, if `cumulative` is its acknowledgement.
    pub fn duplicate(&self, cumulative: u64) -> Option<(u64, u64)> {
        // RFC 2883 §4: the first block lies below the cumulative acknowledgement, or within the second
        match *self.blocks() {
            [first, ..] if first.1 <= cumulative => Some(first),
            [first, second, ..] if second.0 <= first.0 && first.1 <= second.1 => Some(first),
            _ => None,
        }
    }

    /// The blocks that are not a duplicate, in ascending order.
    pub fn fresh(&self, cumulative: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let first = usize::from(self.duplicate(cumulative).is_some());
        let (mut blocks, n) = (self.blocks, usize::from(self.n));
        blocks[first..n].sort_unstable();
        blocks.into_iter().take(n).skip(first)
    }

    /// Encodes it in wire format.
    pub fn encode(&self) -> Rider {
        let words = self.blocks().iter().flat_map(|&(start, end)| [start, end]);
        Rider::of(&words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>())
    }

    /// Decodes the bytes of [`Sack::encode`].
    pub fn decode(bytes: &[u8]) -> Sack {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let mut sack = Sack::NONE;
        for (slot, block) in sack.blocks.iter_mut().zip(bytes.chunks_exact(ENCODED)) {
            *slot = (word(&block[..ENCODED / 2]), word(&block[ENCODED / 2..]));
            sack.n += 1;
        }
        sack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for blocks in [&[][..], &[(1, 2)], &[(5, 1 << 40), (0, 3)], &[(7, 8), (1, 2), (u64::MAX - 1, u64::MAX)]] {
            let sack = Sack::of(blocks);
            assert_eq!(sack.blocks(), blocks);
            assert_eq!(Sack::decode(&sack.encode()), sack);
        }
        // NOP, NOP, kind, length, then 8 bytes per block.
        assert_eq!([0, 1, 3].map(|n| Sack::of(&[(1, 2); 3][..n]).wire_bytes()), [0, 12, 28]);
        assert_eq!(Sack::of(&[(1, 2), (3, 4), (5, 6), (7, 8)]).blocks(), [(1, 2), (3, 4), (5, 6)]);
    }

    #[test]
    fn a_duplicate_is_told_by_where_its_block_lies() {
        // RFC 2883 §4.1: below the acknowledgement, with and without further blocks.
        assert_eq!(Sack::of(&[(10, 20)]).duplicate(20), Some((10, 20)));
        assert!(Sack::of(&[(10, 20), (40, 50)]).fresh(20).eq([(40, 50)]));
        // Above it: within the second block.
        assert_eq!(Sack::of(&[(40, 50), (30, 60), (70, 80)]).duplicate(20), Some((40, 50)));
        assert!(Sack::of(&[(40, 50), (30, 60), (70, 80)]).fresh(20).eq([(30, 60), (70, 80)]));
        // None.
        assert_eq!(Sack::of(&[(40, 50), (60, 70)]).duplicate(20), None);
        assert!(Sack::of(&[(40, 50), (60, 70)]).fresh(20).eq([(40, 50), (60, 70)]));
        assert_eq!(Sack::NONE.duplicate(20), None);
    }
}
