//! What opens a connection, packet by packet (RFC 9293 §3.5).

/// What an opening connection sends next.
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
