//! The flow label of one end of a TCP connection, as in Linux: `sk_txhash`, which switches hash with the addresses.
//!
//! Read in the kernel's sources and patches (`include/net/sock.h`, `net/ipv4/tcp_timer.c`, `tcp_input.c`):
//!
//! | rule | function |
//! |---|---|
//! | a random label; another one as it is thought over, which is switched on by `net.core.txrehash` | [`Label::rethink`] |
//! | `tcp_write_timeout`: each timeout, of a SYN too, has the label thought over | for [`crate::Event::Timeout`] |
//! | `tcp_rcv_spurious_retrans`, from Linux 6.7: data received before, under another label than the data before | [`Heard::calls`] |
//! | the same up to Linux 6.6: data that begins where the last duplicate did | [`Heard::calls`] |
//!
//! | our word | Linux's |
//! |---|---|
//! | label | txhash, of which the IPv6 flow label is made |
//! | heard | `lrcv_flowlabel`, `duplicate_sack[0]` |
//!
//! Departures:
//! - Labels have 16 bits for 20.
//! - The next byte that a receiver expects is the one of its last acknowledgement. Where acknowledgements wait, a
//!   duplicate of data that came since is not recognized as one.
//! - A SYN-ACK that is sent again keeps its label; in Linux it has another (from memory).

use crate::{Packet, Rng, Sight, Way};

crate::choice! {
    /// The event that makes a receiver take another label for its acknowledgements.
    Receiver {
        /// A duplicate under another label than the data before: its sender has had a timeout (Linux from 6.7).
        NewLabel = "new_label",
        /// Data that begins where the last duplicate did (Linux up to 6.6).
        SameSegment = "same_segment",
        /// Nothing.
        Off = "off",
    }
}

/// The label of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// 0: none has been drawn.
    value: u16,
    /// The previous label; 0: there was none.
    before: u16,
}

impl Label {
    /// The label as a packet tag; drawn before the first use.
    #[inline]
    pub fn way(&mut self, rng: &mut Rng) -> Way {
        if self.value == 0 {
            self.rethink(rng);
        }
        Way(self.value)
    }

    /// Whether a label has been drawn.
    pub fn is_drawn(&self) -> bool {
        self.value > 0
    }

    /// Draws any label, possibly the old one. All ones mean none.
    pub fn rethink(&mut self, rng: &mut Rng) {
        self.before = self.value;
        self.value = 1 + rng.below(u32::from(u16::MAX) - 1) as u16;
    }

    /// Reports the choices: the label, and the previous one or else the one that would come next.
    pub fn tell(mut self, sight: &mut Sight<'_>, mut rng: Rng) {
        sight.offer(self.way(&mut rng));
        if self.before == 0 {
            self.before = Label::default().way(&mut rng).0;
        }
        sight.offer(Way(self.before));
    }

    /// Adopts this label.
    pub fn become_number(&mut self, number: u16) {
        (self.before, self.value) = (self.value, number);
    }

    /// The label as a number.
    pub fn number(&self) -> u16 {
        self.value
    }
}

/// A receiver's memory of the data it has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// First byte it lacks, by its last acknowledgement.
    expected: u64,
    /// Where the last duplicate began, plus one, in the 32 bits of TCP; 0 if there was none.
    duplicate: u32,
    /// The label of the last data; 0: there was none.
    label: u16,
}

impl Heard {
    /// It acknowledges everything before this byte.
    #[inline]
    pub fn acknowledges(&mut self, next: u64) {
        self.expected = self.expected.max(next);
    }

    /// Notes that data has arrived. Returns whether packets sent back must get another label.
    pub fn calls(&mut self, data: &Packet, rule: Receiver) -> bool {
        let again = data.payload > 0 && data.seq + u64::from(data.payload) <= self.expected;
        let from = (data.seq as u32).wrapping_add(1);
        let calls = again
            && match rule {
                Receiver::NewLabel => self.label != data.way.0,
                Receiver::SameSegment => self.duplicate == from,
                Receiver::Off => false,
            };
        self.label = data.way.0;
        if again {
            self.duplicate = from;
        }
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u64, label: u16) -> Packet {
        Packet { seq, payload: 1000, way: Way(label), ..Packet::default() }
    }

    #[test]
    fn a_duplicate_under_a_new_label_calls_once() {
        let mut heard = Heard::default();
        assert!(!heard.calls(&data(0, 7), Receiver::NewLabel), "new data");
        heard.acknowledges(1000);
        assert!(!heard.calls(&data(0, 7), Receiver::NewLabel), "the current label");
        assert!(heard.calls(&data(0, 8), Receiver::NewLabel));
        assert!(!heard.calls(&data(0, 8), Receiver::NewLabel), "now known");
        assert!(!heard.calls(&data(1000, 9), Receiver::NewLabel), "new data under a new label is no duplicate");
        assert!(!heard.calls(&data(500, 9), Receiver::NewLabel), "nor is what is new in part");
    }

    #[test]
    fn the_same_segment_twice_calls_in_older_kernels() {
        let mut heard = Heard::default();
        heard.acknowledges(3000);
        let said = [0, 1000, 1000, 1000, 0, 3000].map(|seq| heard.calls(&data(seq, 7), Receiver::SameSegment));
        assert_eq!(said, [false, false, true, true, false, false]);
        let said = [0, 0].map(|seq| heard.calls(&data(seq, seq as u16 + 9), Receiver::Off));
        assert_eq!(said, [false, false]);
    }

    #[test]
    fn labels_are_neither_none_nor_no_tag() {
        let (mut rng, mut label) = (Rng::stream(1, "test", 0), Label::default());
        assert!(!label.is_drawn());
        for _ in 0..200_000 {
            label.rethink(&mut rng);
            assert!(label.number() > 0 && label.way(&mut rng) != Way::ANY);
        }
    }
}
