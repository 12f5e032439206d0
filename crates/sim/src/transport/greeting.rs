//! The packets that open a connection (RFC 9293 §3.5).

/// The next packet of an opening connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// A SYN.
    Syn {
        /// A SYN has been sent before.
        again: bool,
    },
    /// The acknowledgement of the SYN-ACK; data may follow at once.
    Ack,
}
