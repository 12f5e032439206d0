//! Control that waits for the line beside data.

use crate::packet::{InHand, Packet};
use std::collections::VecDeque;

/// Answers and other control that wait for the line beside data (Ultra Ethernet): ten of them go for each packet of
/// data (the NIC of uet-htsim).
#[derive(Debug, Default)]
pub(super) struct ControlQueue {
    waiting: VecDeque<InHand>,
    /// Turns since data last had one, while both waited.
    turn: u8,
}

/// Turns that control gets, while both wait, before data has one.
const TURNS_OF_CONTROL: u8 = 10;

impl ControlQueue {
    /// Adds a packet to those that wait.
    pub(super) fn join(&mut self, hand: InHand) {
        self.waiting.push_back(hand);
    }

    /// Is it control's turn, given whether data waits?
    pub(super) fn goes(&mut self, data_waits: bool) -> bool {
        if self.waiting.is_empty() || !data_waits {
            return !self.waiting.is_empty();
        }
        self.turn = if self.turn == TURNS_OF_CONTROL { 0 } else { self.turn + 1 };
        self.turn > 0
    }

    /// The first waiting packet.
    pub(super) fn next(&mut self) -> Option<InHand> {
        let next = self.waiting.pop_front();
        if self.waiting.is_empty() {
            // Starts over at the beginning: that place is in the cache.
            self.waiting.clear();
        }
        next
    }

    /// All waiting packets.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.waiting.iter().map(|hand| &hand.packet)
    }

    /// Does any wait?
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }
}
