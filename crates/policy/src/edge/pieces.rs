//! Tables with one entry per path, cut at the MTU into messages.
//!
//! All hosts of a rack know the same paths and so need not name them: the entries follow in the order of [`paths`].
//! A piece says with which one it begins.
//!
//! ```text
//! piece: first path (u32) | head, the scheme's own (12 bytes) | entries of N bytes
//! ```

use crate::{HostView, Out, To, Way};

/// Bytes in each piece for the scheme itself.
pub(crate) const HEAD: usize = 12;

/// Bytes of a piece before its entries.
pub const LEAD: usize = 4 + HEAD;

/// The most bytes of entries in a piece, whatever the MTU.
const MOST: usize = 9216;

/// Every path from this rack to another rack that has several: destination leaf and way, in an order that all hosts of
/// the rack share.
pub fn paths<'v>(view: &HostView<'v>) -> impl Iterator<Item = (u32, Way)> + use<'v> {
    let own = view.leaf;
    let others = view.ways.iter().enumerate().filter(move |&(leaf, &ways)| leaf as u32 != own && ways > 1);
    others.flat_map(|(leaf, &ways)| (0..ways).map(move |way| (leaf as u32, Way(way))))
}

/// Room for the pieces of `entries` entries of `size` bytes, however small the MTU: actions, and bytes of bodies.
pub const fn room(entries: usize, size: usize) -> (usize, usize) {
    (entries, entries * (LEAD + size))
}

/// The sending of pieces.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    /// The recipient.
    pub to: To,
    /// The scheme's message class.
    pub class: u8,
    /// The largest packet, bytes on the wire.
    pub mtu: u32,
    /// Bytes of headers below the body of each packet.
    pub below: u32,
    /// Data of each piece in addition to its entries.
    pub head: [u8; HEAD],
}

impl Parcel {
    /// Entries of `N` bytes in a full packet; at least one, even if that exceeds the MTU.
    const fn fill<const N: usize>(&self) -> usize {
        let bytes = (self.mtu as usize).saturating_sub(self.below as usize + LEAD);
        let bytes = if bytes < MOST { bytes } else { MOST };
        if bytes < N { 1 } else { bytes / N }
    }

    /// Sends all `entries`, in as many packets as they take. Returns how many.
    pub fn send<const N: usize>(&self, out: &mut Out<'_>, entries: impl Iterator<Item = [u8; N]>) -> u32 {
        let fill = self.fill::<N>();
        let mut body = [0; LEAD + MOST];
        body[4..LEAD].copy_from_slice(&self.head);
        let (mut first, mut held, mut packets) = (0u32, 0usize, 0);
        let mut entries = entries.peekable();
        while let Some(entry) = entries.next() {
            body[LEAD + held * N..LEAD + (held + 1) * N].copy_from_slice(&entry);
            held += 1;
            if held == fill || entries.peek().is_none() {
                body[..4].copy_from_slice(&first.to_le_bytes());
                let body = &body[..LEAD + held * N];
                out.send(self.to, self.class, None, Way::ANY, body, self.below + body.len() as u32);
                first += held as u32;
                (held, packets) = (0, packets + 1);
            }
        }
        packets
    }
}

/// A piece as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a, const N: usize> {
    /// Position of its first entry in the table.
    pub first: u32,
    /// Data that the scheme put before the entries.
    pub head: [u8; HEAD],
    entries: &'a [u8],
}

impl<'a, const N: usize> Piece<'a, N> {
    /// Reads a body; none if it is not one of these.
    pub fn read(body: &'a [u8]) -> Option<Self> {
        let (first, rest) = body.split_first_chunk::<4>()?;
        let (head, entries) = rest.split_first_chunk::<HEAD>()?;
        (entries.len() % N == 0).then_some(Piece { first: u32::from_le_bytes(*first), head: *head, entries })
    }

    /// Its entries, with the paths they are about.
    pub fn entries(&self, view: &HostView<'a>) -> impl Iterator<Item = ((u32, Way), [u8; N])> + use<'a, N> {
        let bytes = self.entries.chunks_exact(N).filter_map(|chunk| chunk.try_into().ok());
        paths(view).skip(self.first as usize).zip(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use crate::out::Action;
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    /// Rack 1 of four: three paths to rack 0, one to rack 2, two to rack 3.
    const VIEW: HostView<'static> = HostView {
        host: 1,
        leaf: 1,
        leaf_of: &[0, 1, 1, 2, 3],
        ways: &[3, 0, 1, 2],
        link_rate: 0,
        path_rate: 0,
        path_rates: &[],
        base_rtt: Span::ZERO,
        base_one_way: Span::ZERO,
        mss: 0,
        mtu: 0,
    };

    /// Wire sizes and bodies of the packets of a parcel of `entries`.
    fn sent(mtu: u32, entries: &[[u8; 8]]) -> Vec<(u32, Vec<u8>)> {
        let (actions, bytes) = room(entries.len(), 8);
        let (mut actions, mut bytes) = (vec![Action::MaskEcn; actions], vec![0; bytes]);
        let mut out = Out::new(&mut actions, &mut bytes);
        let parcel = Parcel { to: To::Rack, class: 5, mtu, below: 42, head: [7; HEAD] };
        let packets = parcel.send(&mut out, entries.iter().copied());
        assert_eq!(packets as usize, out.len());
        let sent = actions[..packets as usize].iter().map(|action| match *action {
            Action::Send { to: To::Rack, class: 5, flow: None, way: Way::ANY, at, len, wire } => {
                (wire, bytes[at as usize..(at + len) as usize].to_vec())
            }
            ref other => panic!("{other:?}"),
        });
        sent.collect()
    }

    #[test]
    fn paths_are_those_with_a_choice() {
        let all: Vec<_> = paths(&VIEW).map(|(leaf, way)| (leaf, way.0)).collect();
        assert_eq!(all, [(0, 0), (0, 1), (0, 2), (3, 0), (3, 1)]);
    }

    #[test]
    fn a_table_is_cut_at_the_mtu_and_put_together_again() {
        let entries: Vec<[u8; 8]> = (0..5u8).map(|n| [n; 8]).collect();
        // 42 below, 16 before the entries: 82 bytes hold three entries of eight.
        for (mtu, sizes) in [(1500, vec![98]), (82, vec![82, 74]), (89, vec![82, 74]), (1, vec![66; 5])] {
            let pieces = sent(mtu, &entries);
            assert_eq!(pieces.iter().map(|(wire, _)| *wire).collect::<Vec<_>>(), sizes, "MTU {mtu}");
            let mut read = vec![];
            for (_, body) in &pieces {
                let piece = Piece::<8>::read(body).expect("one of ours");
                assert_eq!(piece.head, [7; HEAD]);
                read.extend(piece.entries(&VIEW));
            }
            let all: Vec<_> = paths(&VIEW).zip(entries.iter().copied()).collect();
            assert_eq!(read, all, "MTU {mtu}");
        }
        assert!(sent(1500, &[]).is_empty());
    }

    #[test]
    fn what_is_none_of_ours_or_beyond_the_table_is_not_read() {
        let body = &sent(1500, &[[1; 8]])[0].1;
        assert!(Piece::<8>::read(&body[1..]).is_none() && Piece::<8>::read(&[0; 15]).is_none());
        let mut far = body.clone();
        far[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Piece::<8>::read(&far).expect("one of ours").entries(&VIEW).count(), 0);
    }
}
