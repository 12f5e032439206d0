//! Choice of the paths of acknowledgements.

use crate::Kind;

crate::choice! {
    /// The device that chooses the paths of acknowledgements.
    Acks {
        /// The scheme, like those of data.
        AsData = "as_data",
        /// The switches.
        Fabric = "fabric",
    }
}

impl Acks {
    /// Whether the scheme chooses the path of such a packet.
    #[inline]
    pub fn places(self, kind: Kind) -> bool {
        kind == Kind::Data || kind == Kind::Ack && self == Acks::AsData
    }
}
