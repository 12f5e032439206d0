//! Options of transports: data that travels with a packet in addition to its fields.

/// Bytes of a short option.
const ROOM: usize = 15;

/// An option. A short one rides in its packet, where no scheme's header is.
#[derive(Clone, Debug)]
pub enum Rider {
    /// Stored in the packet: at most [`ROOM`] bytes, and at the end how many.
    Short([u8; ROOM + 1]),
    /// Stored beside the packet.
    Long(Box<[u8]>),
}

/// The place of a run's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Options {
    /// Short ones in the packet: no scheme writes a header there.
    Inside,
    /// Stored beside the packet.
    Beside,
}

impl Rider {
    /// No bytes.
    pub const NONE: Rider = Rider::Short([0; ROOM + 1]);

    /// These bytes.
    #[inline(always)]
    pub fn of(bytes: &[u8]) -> Rider {
        if bytes.len() > ROOM {
            return Rider::Long(bytes.into());
        }
        let mut short = [0; ROOM + 1];
        short[..bytes.len()].copy_from_slice(bytes);
        short[ROOM] = bytes.len() as u8;
        Rider::Short(short)
    }
}

impl From<Box<[u8]>> for Rider {
    fn from(bytes: Box<[u8]>) -> Rider {
        Rider::Long(bytes)
    }
}

impl std::ops::Deref for Rider {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        match self {
            Rider::Short(short) => in_header(short),
            Rider::Long(bytes) => bytes,
        }
    }
}

/// The option in the place of a scheme's header.
#[inline(always)]
pub(crate) fn in_header(header: &[u8; ROOM + 1]) -> &[u8] {
    &header[..usize::from(header[ROOM]).min(ROOM)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{InHand, Packet};

    #[test]
    fn an_option_is_read_as_it_was_given_wherever_it_lies() {
        for lie in [Options::Inside, Options::Beside] {
            for len in 0..40 {
                let bytes: Vec<u8> = (1..=len).collect();
                let hand = InHand::with_option(Packet::default(), Rider::of(&bytes), lie);
                assert_eq!(hand.option(lie), bytes, "{lie:?}");
                let inside = lie == Options::Inside && usize::from(len) <= ROOM || len == 0;
                assert_eq!(hand.body.is_none(), inside, "{len} bytes {lie:?}");
            }
        }
    }

    #[test]
    fn a_header_of_a_scheme_is_no_option() {
        let packet = Packet { header: [7; 16], ..Packet::default() };
        assert!(InHand::from(packet).option(Options::Beside).is_empty());
    }
}
