//! Mixing functions: stable on every machine, build and thread.

/// The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014):
/// every input bit changes every output bit with probability one half.
#[inline]
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Mixes two words; the order matters.
#[inline]
pub const fn mix2(a: u64, b: u64) -> u64 {
    mix(mix(a ^ 0x9e37_79b9_7f4a_7c15) ^ b)
}

/// Maps a hash evenly onto `0..n` by its high bits (no division).
#[inline]
pub const fn spread(hash: u64, n: u32) -> u32 {
    (((hash >> 32) * n as u64) >> 32) as u32
}

/// A stable hash of a name, for named random streams.
pub const fn name(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    let mut i = 0;
    while i < bytes.len() {
        h = mix(h ^ bytes[i] as u64);
        i += 1;
    }
    h
}

/// MurmurHash3_x86_32 (Appleby) of three little-endian words, used for headers by the public ns-3 code of ConWeave.
pub const fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut hash = seed;
    let mut i = 0;
    while i < words.len() {
        let word = words[i].wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
        i += 1;
    }
    hash ^= 4 * words.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}
