//! The shim as bytes: C and Rust write and read the same, and neither trusts anything.

use crate::native;
use spinewise_agent::layout;
use spinewise_agent::probes::exceeded;
use spinewise_agent::shim::{Kind, Outer, ROOM, Read, Refused, Shim};
use spinewise_agent::talk::{Speaker, Talk};
use spinewise_policy::Rng;

const PORT: u16 = 57_771;

fn any_shim(rng: &mut Rng) -> Shim {
    let mut header = [0; 16];
    header[..8].copy_from_slice(&rng.bits().to_le_bytes());
    Shim {
        magic: 0x5357,
        version: 1,
        kind: rng.below(3) as u8,
        flags: rng.below(2) as u8,
        way: rng.below(64) as u16,
        instance: rng.bits() as u16,
        echo_way: rng.below(65) as u16,
        header_seq: rng.bits() as u16,
        stamp: rng.bits() as u32,
        echo_packets: rng.bits() as u32,
        echo_stamp: rng.bits() as u32,
        echo_arrived: rng.bits() as u32,
        burst: rng.bits() as u16,
        header,
        ..Shim::default()
    }
}

/// A packet with an inner one of `payload` bytes beyond its IPv4 header.
fn any_packet(rng: &mut Rng) -> (Shim, Outer, Vec<u8>) {
    let shim = any_shim(rng);
    let inner = if shim.kind == 0 { 20 + rng.below(40) as u16 } else { 0 };
    let word = |rng: &mut Rng| (rng.bits() as u32).to_be_bytes();
    let outer = Outer {
        src: word(rng),
        dst: word(rng),
        from: rng.bits() as u16,
        to: PORT,
        length: ROOM as u16 + inner,
        tos: rng.bits() as u8,
        ttl: 64,
        id: rng.bits() as u16,
    };
    let mut bytes = shim.write(&outer).to_vec();
    if inner > 0 {
        bytes.push(0x45);
        bytes.push(0);
        bytes.extend(inner.to_be_bytes());
        bytes.resize(ROOM + 12, 7);
        bytes.extend(outer.src);
        bytes.extend(outer.dst);
        bytes.resize(ROOM + usize::from(inner), 1);
    }
    (shim, outer, bytes)
}

/// The result of C, in Rust's terms.
fn in_words(what: i32) -> Read {
    match what {
        0 => Read::Ours(Kind::Data),
        1 => Read::Ours(Kind::Probe),
        2 => Read::Ours(Kind::Reply),
        3 => Read::NotOurs,
        -7 => Read::Refused(Refused::Short),
        -8 => Read::Refused(Refused::Foreign),
        -9 => Read::Refused(Refused::OtherVersion),
        -10 => Read::Refused(Refused::Malformed),
        other => panic!("edge_read answers {other}"),
    }
}

#[test]
fn structs_are_as_large_in_c_as_in_rust() {
    let sizes = [
        size_of::<Shim>(),
        size_of::<layout::Table>(),
        size_of::<layout::Flow>(),
        size_of::<layout::State>(),
        size_of::<layout::Headers>(),
        size_of::<layout::Own>(),
        size_of::<layout::Event>(),
    ];
    for (which, size) in (0..).zip(sizes) {
        assert_eq!(native::size(which), size, "struct {which}");
    }
    // Names of counters are in the order of the enum: those of refusals are the numbers that edge_read returns.
    assert_eq!(&layout::COUNTERS[7..11], ["short", "foreign", "other_version", "malformed"]);
}

#[test]
fn both_write_the_same_and_read_what_was_written() {
    let mut rng = Rng::stream(1, "codec", 0);
    for _ in 0..20_000 {
        let (shim, outer, bytes) = any_packet(&mut rng);
        assert_eq!(native::write(&shim, &outer)[..], bytes[..ROOM]);
        // RFC 1071: a header with its checksum sums to all ones.
        let sum: u32 = bytes[..20].chunks_exact(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        let (read, back) = Shim::read(&bytes, bytes.len(), PORT);
        assert!(matches!(read, Read::Ours(kind) if kind as u8 == shim.kind), "{read:?}");
        assert_eq!(back, shim);
    }
}

/// A million packets, each corrupted somewhere: C and Rust agree on every one, what passes for data goes from the two
/// outer hosts to the same two inner ones, and every other verdict is counted.
#[test]
fn a_million_malformed_packets_are_read_alike_by_both() {
    let mut rng = Rng::stream(2, "fuzz", 0);
    let mut seen = [0u32; 8];
    for round in 0..1_000_000u32 {
        let (_, _, mut bytes) = any_packet(&mut rng);
        match round % 4 {
            0 => bytes.iter_mut().for_each(|byte| *byte = rng.bits() as u8),
            1 => bytes.truncate(rng.below(bytes.len() as u32 + 1) as usize),
            _ => {
                for _ in 0..=rng.below(3) {
                    let at = rng.below(bytes.len() as u32) as usize;
                    bytes[at] = rng.bits() as u8;
                }
            }
        }
        let length = bytes.len() as u32 + if round % 16 == 0 { rng.below(64) } else { 0 };
        let (read, shim) = Shim::read(&bytes, length as usize, PORT);
        let (what, of_c) = native::read(&bytes, length, PORT);
        assert_eq!(in_words(what), read, "{bytes:02x?}");
        match read {
            Read::Ours(kind) => {
                assert_eq!(shim, of_c, "{bytes:02x?}");
                assert!(kind != Kind::Data || bytes[12..20] == bytes[ROOM + 12..ROOM + 20], "misrouted");
                seen[kind as usize] += 1;
            }
            Read::NotOurs => seen[3] += 1,
            Read::Refused(why) => seen[4 + why as usize] += 1,
        }
    }
    assert!(seen.iter().all(|&count| count > 100), "every verdict occurs: {seen:?}");
}

#[test]
fn talk_is_read_as_it_was_written_and_noise_is_not() {
    let speaker = Speaker { host: 513, instance: 77 };
    let talks = [
        Talk::Hello,
        Talk::Welcome,
        Talk::Bye,
        Talk::Message { class: 2, body: vec![1, 2, 3] },
        Talk::Headers(vec![[5; 16], [6; 16]]),
    ];
    for talk in &talks {
        let bytes = talk.write(speaker);
        assert_eq!(Talk::read(&bytes), Some((speaker, talk.clone())));
        for length in 0..12 {
            assert_eq!(Talk::read(&bytes[..length]), None, "cut short");
        }
        for (at, value) in [(0, b'X'), (4, 9), (5, 0), (5, 6)] {
            let mut spoiled = bytes.clone();
            spoiled[at] = value;
            assert_eq!(Talk::read(&spoiled), None, "byte {at}");
        }
    }
    let mut cut = talks[4].write(speaker);
    cut.pop();
    assert_eq!(Talk::read(&cut), None, "half a header");
    let mut rng = Rng::stream(3, "noise", 0);
    for _ in 0..100_000 {
        let noise: Vec<u8> = (0..rng.below(64)).map(|_| rng.bits() as u8).collect();
        assert_eq!(Talk::read(&noise), None);
    }
}

#[test]
fn time_exceeded_is_read_and_nothing_else() {
    // A router at 10.1.2.3 reports to 10.0.0.1 a UDP packet, number 0x1234, to 10.9.9.9 from port 50000 to 57771 (RFC
    // 792).
    let mut packet = vec![0x45, 0, 0, 56, 0, 0, 0, 0, 64, 1, 0, 0, 10, 1, 2, 3, 10, 0, 0, 1, 11, 0, 0, 0, 0, 0, 0, 0];
    packet.extend([0x45, 0, 0, 76, 0x12, 0x34, 0x40, 0, 1, 17, 0, 0, 10, 0, 0, 1, 10, 9, 9, 9]);
    packet.extend([0xc3, 0x50, 0xe1, 0xab, 0, 56, 0, 0]);
    let expected = ([10, 1, 2, 3].into(), 0x1234, [10, 9, 9, 9].into(), (50_000, PORT));
    assert_eq!(exceeded(&packet), Some(expected));
    for length in 0..packet.len() - 4 {
        assert_eq!(exceeded(&packet[..length]), None, "cut to {length}");
    }
    for (at, value) in [(20, 3), (21, 1), (28 + 9, 6), (0, 0x41), (28, 0x42)] {
        let mut other = packet.clone();
        other[at] = value;
        assert_eq!(exceeded(&other), None, "byte {at}");
    }
}
