//! Messages of ConWeave and SELB to the other leaf: the in-band header of data packets, and the bodies of control
//! packets.
//!
//! | field | bytes | range |
//! |---|---|---|
//! | stamped, phase, mark | 1 | |
//! | bytes charged | 1 | |
//! | way | 2 | path from the source leaf; SELB: its uplink |
//! | epoch | 1 | the last 256 epochs differ |
//! | tx, tail | 5 + 5 | picoseconds modulo 2⁴⁰: 1.1 s |
//!
//! **Resolution.** The paper's programs carry 16-bit times of about a microsecond (conweave-p4) or 64-bit nanoseconds
//! (conweave-ns3). Ours are whole picoseconds like all time here, so that a prediction is exact. Only differences of
//! two times of one flow are ever used, and they are right while below 0.55 s, half the range: the last packet of phase
//! 0 and the TAIL lie less than θ_inactive apart, and a packet is compared with the newest of its flow, which came less
//! than `Layout::flow_idle` before; both are at most 0.2 s.

use crate::{FlowKey, Out, Span, Time, To, Way, Wire};

/// Control packets of the reordering half, by message class: TAIL has arrived, the flow may be rerouted again.
pub const CLEAR: u8 = 1;
/// An early packet found no reorder queue and went out of order.
pub const NO_QUEUE: u8 = 2;
/// First message class available to the scheme itself.
pub(crate) const OWN_CLASSES: u8 = 8;

/// Bytes of the body of every control packet.
pub const BODY: usize = 3;

/// A time modulo 2⁴⁰ ps, as in the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    const BITS: u32 = 40;
    const MASK: u64 = (1 << Self::BITS) - 1;

    /// The stamp of this instant.
    #[inline]
    pub const fn of(time: Time) -> Stamp {
        Stamp(time.0 & Self::MASK)
    }

    /// Picoseconds from `earlier` to this stamp, negative if `earlier` is later; correct while the distance is below
    /// 2³⁹ ps.
    #[inline]
    pub const fn since(self, earlier: Stamp) -> i64 {
        let unused = u64::BITS - Self::BITS;
        ((self.0.wrapping_sub(earlier.0) << unused) as i64) >> unused
    }

    /// The stamp that is as much later than this one as `to` is later than `from`.
    #[inline]
    pub const fn shifted(self, from: Stamp, to: Stamp) -> Stamp {
        Stamp(self.0.wrapping_add(to.0).wrapping_sub(from.0) & Self::MASK)
    }

    /// The instant with this stamp that is nearest to `now`.
    #[inline]
    pub const fn near(self, now: Time) -> Time {
        Time(now.0.saturating_add_signed(self.since(Stamp::of(now))))
    }

    fn get(bytes: &[u8]) -> Stamp {
        bytes.iter().rev().fold(Stamp(0), |stamp, byte| Stamp(stamp.0 << 8 | u64::from(*byte)))
    }

    fn put(self, bytes: &mut [u8]) {
        let length = bytes.len();
        bytes.copy_from_slice(&self.0.to_le_bytes()[..length]);
    }
}

/// A data packet's request to the destination leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    #[default]
    Data,
    /// First of its epoch. ConWeave: answer it (RTT_REQUEST).
    Init,
    /// Last on its path before a reroute: release the packets that overtook it, and answer CLEAR.
    Tail,
}

/// In-band header, all 16 bytes; the default is that of a packet which no source leaf has stamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Whether a source leaf has written it.
    pub stamped: bool,
    /// Sent after a reroute whose TAIL was not known to have arrived ("phase 1").
    pub rerouted: bool,
    /// The request.
    pub mark: Mark,
    /// Bytes charged.
    pub charged: u8,
    /// The path, or the uplink of the source leaf.
    pub way: Way,
    /// Epoch of the flow.
    pub epoch: u8,
    /// When it left the source leaf.
    pub tx: Stamp,
    /// With `rerouted` or [`Mark::Tail`]: when the TAIL left the source leaf.
    pub tail: Stamp,
}

impl Wire for Header {
    #[inline]
    fn get(bytes: &[u8; 16]) -> Self {
        let mark = match bytes[0] >> 2 & 3 {
            1 => Mark::Init,
            2 => Mark::Tail,
            _ => Mark::Data,
        };
        Header {
            stamped: bytes[0] & 1 != 0,
            rerouted: bytes[0] & 2 != 0,
            mark,
            charged: bytes[1],
            way: Way(u16::from_le_bytes([bytes[2], bytes[3]])),
            epoch: bytes[4],
            tx: Stamp::get(&bytes[5..10]),
            tail: Stamp::get(&bytes[10..15]),
        }
    }

    #[inline]
    fn put(&self, bytes: &mut [u8; 16]) {
        *bytes = [0; 16];
        bytes[0] = self.stamped as u8 | (self.rerouted as u8) << 1 | (self.mark as u8) << 2;
        bytes[1] = self.charged;
        bytes[2..4].copy_from_slice(&self.way.0.to_le_bytes());
        bytes[4] = self.epoch;
        self.tx.put(&mut bytes[5..10]);
        self.tail.put(&mut bytes[10..15]);
    }

    #[inline]
    fn wire(&self) -> u32 {
        self.charged as u32
    }
}

/// The body of a control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// Epoch of the packet that caused it.
    pub epoch: u8,
    /// Path of that packet.
    pub way: Way,
}

impl Body {
    /// Builds a body about this packet.
    pub fn about(header: &Header) -> Body {
        Body { epoch: header.epoch, way: header.way }
    }

    /// Encodes it as bytes.
    pub fn put(&self) -> [u8; BODY] {
        let [low, high] = self.way.0.to_le_bytes();
        [self.epoch, low, high]
    }

    /// Parses bytes; `None` if they are not of this form.
    pub fn get(bytes: &[u8]) -> Option<Body> {
        let &[epoch, low, high] = bytes else { return None };
        Some(Body { epoch, way: Way(u16::from_le_bytes([low, high])) })
    }

    /// Sends it to leaf `leaf` about `flow`, as a control packet of `wire` bytes on a hashed path.
    pub fn send(&self, out: &mut Out<'_>, leaf: u32, class: u8, flow: FlowKey, wire: u32) {
        out.send(To::Leaf(leaf), class, Some(flow), Way::ANY, &self.put(), wire);
    }
}

/// The time from `from` to `to` in whole microseconds and a fraction, for series.
pub fn microseconds(from: Time, to: Time) -> f64 {
    let span: Span = to.since(from);
    span.as_us_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_bodies_survive_the_wire() {
        for mark in [Mark::Data, Mark::Init, Mark::Tail] {
            let header = Header {
                stamped: true,
                rerouted: true,
                mark,
                charged: 4,
                way: Way(0xabcd),
                epoch: 255,
                tx: Stamp::of(Time(0x0123_4567_89ab_cdef)),
                tail: Stamp::of(Time(u64::MAX)),
            };
            let mut bytes = [0xff; 16];
            header.put(&mut bytes);
            assert_eq!(Header::get(&bytes), header);
            assert_eq!(header.wire(), 4);
            let body = Body::about(&header);
            assert_eq!(Body::get(&body.put()), Some(body));
            assert_eq!(Body::get(&body.put()[1..]), None);
        }
        assert_eq!(Header::get(&[0; 16]), Header::default());
        assert_eq!(Header::default().wire(), 0);
    }

    #[test]
    fn stamps_wrap() {
        let range = 1u64 << 40;
        for base in [0, 5, range - 7, range, 3 * range - 1, 1 << 60] {
            for distance in [0, 1, 999, range / 2 - 1] {
                let (early, late) = (Time(base), Time(base + distance));
                let (a, b) = (Stamp::of(early), Stamp::of(late));
                assert_eq!(b.since(a), distance as i64);
                assert_eq!(a.since(b), -(distance as i64));
                assert_eq!((a.near(late), b.near(early)), (early, late));
                let later = Time(base + 2_000_000);
                assert_eq!(Stamp::of(later).shifted(a, b).near(later), later + Span(distance));
            }
        }
    }
}
