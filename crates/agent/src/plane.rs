//! The agent's requirements on the fast half. The kernel's is `datapath.rs`; tests have one in memory.

use crate::Failure;
use crate::layout::{COUNTERS, Event, Headers, Own, State, Table};

/// A fast half.
pub trait Plane {
    /// Identifies this host, and shows that the agent is alive.
    ///
    /// # Errors
    /// The fast half is gone.
    fn own(&mut self, own: &Own) -> Result<(), Failure>;

    /// Declares that traffic with this address is that of peer `number`.
    ///
    /// # Errors
    /// The fast half is gone.
    fn meet(&mut self, address: [u8; 4], number: u32) -> Result<(), Failure>;

    /// The decisions about traffic to a peer.
    ///
    /// # Errors
    /// The fast half is gone.
    fn publish(&mut self, number: u32, table: &Table) -> Result<(), Failure>;

    /// Headers that are to go to a peer.
    ///
    /// # Errors
    /// The fast half is gone.
    fn offer(&mut self, number: u32, headers: &Headers) -> Result<(), Failure>;

    /// Returns the counts for a peer.
    ///
    /// # Errors
    /// The fast half is gone.
    fn state(&self, number: u32) -> Result<State, Failure>;

    /// The fates of packets.
    ///
    /// # Errors
    /// The fast half is gone.
    fn counters(&self) -> Result<[u64; COUNTERS.len()], Failure>;

    /// Returns what has arrived since the last call.
    ///
    /// # Errors
    /// The fast half is gone.
    fn events(&mut self) -> Result<Vec<Event>, Failure>;

    /// Makes sure that it is attached. Returns whether it had to be attached again.
    ///
    /// # Errors
    /// It is not, and cannot be.
    fn keep_attached(&mut self) -> Result<bool, Failure>;

    /// Detaches itself: traffic is plain from now on.
    ///
    /// # Errors
    /// It could not be detached.
    fn detach(&mut self) -> Result<(), Failure>;
}
