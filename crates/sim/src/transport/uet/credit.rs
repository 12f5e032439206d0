//! Receiver credit (RCCC): a receiver paces its senders, which send only as much as they have been granted.
//!
//! The rules are those of uet-htsim (`uec.cpp`: computePullTarget, handlePull, UecSink::pull). Credit counts in quanta
//! of 256 bytes. A sender states up to where it requests credit, its *target*; a receiver grants up to there, one
//! *pull* at a time.

use super::UetConfig;
use crate::transport::contract::{After, Asks};

/// Bytes of a quantum, as a power of two.
const SHIFT: u32 = 8;
/// Start of the count at both ends, quanta. Targets may lie below the credit that has been granted.
const BEGIN: u64 = 100_000_000;

/// A number of quanta in bytes.
fn bytes(quanta: u64) -> i64 {
    (quanta << SHIFT) as i64
}

/// The credit that a sender may use.
#[derive(Clone, Debug)]
pub(super) struct Allowance {
    /// Bytes on the wire that it may send now; the last packet may overdraw.
    bytes: i64,
    most: i64,
    /// The receiver has not been heard from yet: the first window is sent without asking.
    speculating: bool,
    /// The credit granted, and the last target, quanta.
    granted: u64,
    target: u64,
}

/// The data that a sender has left to send, bytes on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    /// Never sent.
    pub new: i64,
    /// Bytes to be sent again.
    pub again: i64,
    /// The most that its own window would let it send, if it has one.
    pub window: Option<i64>,
    /// Bytes of a full packet on the wire.
    pub mtu: i64,
    /// Flows of its host that wait for the NIC, itself included.
    pub sharing: i64,
}

impl Allowance {
    pub(super) fn new(most: i64) -> Self {
        Allowance { bytes: most, most, speculating: true, granted: BEGIN, target: BEGIN }
    }

    pub(super) fn may_send(&self) -> bool {
        self.bytes > 0
    }

    /// Whether another packet may be sent once these bytes have been.
    pub(super) fn covers(&self, wire: u32) -> bool {
        self.bytes > i64::from(wire)
    }

    pub(super) fn spend(&mut self, wire: u32) {
        self.bytes -= i64::from(wire);
    }

    /// The receiver has been heard from: the rest of the first window is void.
    pub(super) fn hear(&mut self) {
        if std::mem::take(&mut self.speculating) {
            self.bytes = self.bytes.min(0);
        }
    }

    /// The receiver has granted up to here.
    pub(super) fn take(&mut self, granted: u64) {
        self.hear();
        if granted > self.granted {
            self.bytes = (self.bytes + bytes(granted - self.granted)).min(self.most);
            self.granted = granted;
        }
    }

    /// Sets the target up to which it requests credit, with this left to send.
    pub(super) fn set_target(&mut self, left: &Backlog) -> u64 {
        let mut wants = left.new + left.again;
        if let Some(window) = left.window {
            wants = wants.min(window + left.mtu);
        }
        wants = wants.min(self.most) - self.bytes;
        if self.speculating && left.new > 0 {
            wants = wants.max(left.mtu);
        }
        if left.sharing > 1 {
            wants /= left.sharing;
        }
        self.target = ((wants + bytes(self.granted) + (1 << SHIFT) - 1) >> SHIFT) as u64;
        self.target
    }

    /// The last target.
    pub(super) fn target(&self) -> u64 {
        self.target
    }
}

/// The credit that a receiver grants one of its senders.
#[derive(Clone, Debug)]
pub(super) struct Account {
    granted: u64,
    target: u64,
    /// It is among those that the pacer of its host serves first.
    asks: bool,
    /// Its turns to come: it is queued once more among those that are granted credit unasked each time it is satisfied.
    turns: u32,
    /// Counts the granting packets, for their entropy values.
    pulls: u16,
}

impl Account {
    pub(super) fn new() -> Self {
        Account { granted: BEGIN, target: BEGIN, asks: false, turns: 0, pulls: 0 }
    }

    /// Its sender requests credit up to here, or has to retransmit a packet. Returns whether it is to be served from
    /// now on.
    pub(super) fn hear(&mut self, target: Option<u64>, again: bool) -> bool {
        let more = target.is_some_and(|target| target > self.target);
        self.target = self.target.max(target.unwrap_or(0));
        let joins = (more || again) && !self.asks;
        self.asks |= joins;
        self.turns += u32::from(joins);
        joins
    }

    /// Whether it has a turn to come.
    pub(super) fn has_turn(&self) -> bool {
        self.turns > 0
    }

    /// Quanta that its sender still requests.
    fn wanting(&self) -> u64 {
        self.target.saturating_sub(self.granted)
    }

    /// Grants a pull. Returns the quanta granted, up to where, the entropy value, if it has one, and whether it is served again.
    pub(super) fn grant(&mut self, config: &UetConfig, asks: Asks) -> (u64, u64, Option<u16>, After) {
        let pull = u64::from(config.pull_bytes) >> SHIFT;
        let before = self.granted;
        let most = config.most_window as u64 >> SHIFT;
        let after = match asks {
            Asks::Yes => {
                self.granted = (before + pull).min(self.target.max(before));
                self.asks = self.wanting() > 0;
                if self.asks { After::Asks } else { After::Idles }
            }
            Asks::No => {
                self.granted += pull;
                let ahead = self.granted.saturating_sub(self.target);
                if self.wanting() == 0 && ahead < most { After::Idles } else { After::Leaves }
            }
        };
        self.turns -= u32::from(after == After::Leaves);
        self.pulls = (self.pulls + 1) % config.pull_values as u16;
        (self.granted - before, self.granted, (config.pull_values > 1).then_some(self.pulls), after)
    }
}
