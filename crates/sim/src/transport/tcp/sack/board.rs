//! The scoreboard: the state of each outstanding segment, and how much of them is thought to be in flight.
//!
//! Segments are numbered from the start of the flow; all but the last of a flow are full. Those that may still be in
//! flight form a list in the order of their last transmission, which RACK reads.

use spinewise_policy::time::Time;
use std::collections::VecDeque;

/// "None" among segment numbers.
const NONE: u64 = u64::MAX;

const SACKED: u8 = 1;
/// Its first transmission, or all of them, are thought lost.
const LOST: u8 = 2;
/// A retransmission is thought to be in flight.
const AGAIN: u8 = 4;
/// It has been sent more than once.
const EVER_AGAIN: u8 = 8;

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
struct Seg {
    /// When it was last sent.
    sent: Time,
    /// Neighbours in the list by time.
    before: u64,
    behind: u64,
    flags: u8,
}

/// The findings from the delivery of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    /// Its number.
    pub number: u64,
    /// When it was last sent.
    pub sent: Time,
    /// It has been sent more than once.
    pub again: bool,
}

/// All outstanding segments.
#[derive(Clone, Debug)]
pub(super) struct Board {
    segs: VecDeque<Seg>,
    /// Number of the first of them.
    first: u64,
    mss: u64,
    /// Number of bytes by which segments begin before a multiple of `mss`: a short segment is behind them.
    shift: u64,
    size: u64,
    /// RFC 6675's pipe: bytes thought to be in flight.
    pipe: u64,
    /// Segments reported beyond the cumulative acknowledgement, and one past the highest.
    sacked: u64,
    fack: u64,
    /// The number below which every segment is sacked or presumed lost; `above` are sacked from there on.
    edge: u64,
    above: u64,
    /// The numbers below which no segment is lost and not sent again; or neither sacked nor sent again.
    lost_from: u64,
    hole_from: u64,
    /// One past the highest that was lost.
    lost_to: u64,
    /// The list by time.
    oldest: u64,
    newest: u64,
}

impl Board {
    /// Creates the board of a flow of `size` bytes in segments of `mss`.
    pub(super) fn new(mss: u32, size: u64) -> Self {
        Board {
            segs: VecDeque::new(),
            first: 0,
            mss: u64::from(mss),
            shift: 0,
            size,
            pipe: 0,
            sacked: 0,
            fack: 0,
            edge: 0,
            above: 0,
            lost_from: 0,
            hole_from: 0,
            lost_to: 0,
            oldest: NONE,
            newest: NONE,
        }
    }

    /// The flow now has `size` bytes, of which `sent` have been sent. Outstanding segments are full, or all there are.
    pub(super) fn resize(&mut self, size: u64, sent: u64) {
        self.size = size;
        if self.segs.is_empty() {
            self.shift = self.first * self.mss - sent;
        }
    }

    /// The number of the first segment that begins at `seq` or later.
    pub(super) fn number(&self, seq: u64) -> u64 {
        (seq + self.shift).div_ceil(self.mss)
    }

    /// Bytes thought to be in flight.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Segments reported beyond the cumulative acknowledgement.
    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// The same in bytes: all are full, except perhaps the last one sent.
    pub(super) fn sacked_bytes(&self) -> u64 {
        let last = self.end().saturating_sub(1);
        let short = if self.sacked > 0 && self.flags(last) & SACKED != 0 { self.mss - self.bytes(last).1 } else { 0 };
        self.sacked * self.mss - short
    }

    /// The number of the first outstanding segment.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Outstanding segments.
    pub(super) fn len(&self) -> u64 {
        self.segs.len() as u64
    }

    /// One past the number of the last segment sent.
    pub(super) fn end(&self) -> u64 {
        self.first + self.len()
    }

    /// First byte and length of a segment.
    pub(super) fn bytes(&self, number: u64) -> (u64, u64) {
        let seq = number * self.mss - self.shift;
        (seq, self.mss.min(self.size - seq))
    }

    fn seg(&mut self, number: u64) -> &mut Seg {
        &mut self.segs[(number - self.first) as usize]
    }

    fn flags(&self, number: u64) -> u8 {
        self.segs[(number - self.first) as usize].flags
    }

    /// Whether the first outstanding segment is presumed lost.
    pub(super) fn first_is_lost(&self) -> bool {
        self.segs.front().is_some_and(|seg| seg.flags & LOST != 0)
    }

    /// Returns how many times a segment with these flags counts in the pipe (RFC 6675 §4, SetPipe).
    fn weight(flags: u8) -> u64 {
        if flags & SACKED != 0 { 0 } else { u64::from(flags & LOST == 0) + u64::from(flags & AGAIN != 0) }
    }

    /// Changes the flags of a segment, and the pipe with them.
    fn change(&mut self, number: u64, flags: u8) {
        let len = self.bytes(number).1;
        let seg = self.seg(number);
        let before = std::mem::replace(&mut seg.flags, flags);
        self.pipe = self.pipe + len * Self::weight(flags) - len * Self::weight(before);
    }

    /// The next new segment is sent.
    pub(super) fn push(&mut self, now: Time) {
        let number = self.end();
        self.segs.push_back(Seg { sent: now, before: NONE, behind: NONE, flags: 0 });
        self.pipe += self.bytes(number).1;
        self.join(number);
    }

    /// A segment is sent again.
    pub(super) fn again(&mut self, number: u64, now: Time) {
        self.leave(number);
        self.change(number, self.flags(number) | AGAIN | EVER_AGAIN);
        self.seg(number).sent = now;
        self.join(number);
    }

    /// The segments in `start..end` have arrived. Reports those not known to have arrived; returns their bytes.
    pub(super) fn deliver(&mut self, start: u64, end: u64, mut tell: impl FnMut(Delivery)) -> u64 {
        let from = self.number(start).max(self.first);
        let to = if end >= self.size { self.end() } else { ((end + self.shift) / self.mss).min(self.end()) };
        let mut bytes = 0;
        for number in from..to {
            let flags = self.flags(number);
            if flags & SACKED == 0 {
                self.change(number, flags & EVER_AGAIN | SACKED);
                self.leave(number);
                self.sacked += 1;
                self.above += u64::from(number >= self.edge);
                self.fack = self.fack.max(number + 1);
                bytes += self.bytes(number).1;
                tell(Delivery { number, sent: self.seg(number).sent, again: flags & EVER_AGAIN != 0 });
            }
        }
        bytes
    }

    /// Everything below byte `una` is acknowledged. Reports segments not known to have arrived; returns their bytes.
    pub(super) fn advance(&mut self, una: u64, tell: impl FnMut(Delivery)) -> u64 {
        let bytes = self.deliver(0, una, tell);
        while self.first < self.end() && self.bytes(self.first).0 < una {
            self.above -= u64::from(self.first >= self.edge);
            self.sacked -= 1;
            self.segs.pop_front();
            self.first += 1;
        }
        self.edge = self.edge.max(self.first);
        bytes
    }

    /// RFC 6675 §4, IsLost: presumes lost every segment with `threshold` sacked segments above it. (The rule in bytes,
    /// that more than `threshold - 1` full segments are sacked, is equivalent, because only a flow's last segment is
    /// not full.)
    pub(super) fn lose_overtaken(&mut self, threshold: u64) {
        while threshold > 0 && self.above >= threshold {
            let flags = self.flags(self.edge);
            if flags & SACKED != 0 {
                if self.above == threshold {
                    return;
                }
                self.above -= 1;
            } else if flags & LOST == 0 {
                self.change(self.edge, flags | LOST);
                if flags & AGAIN == 0 {
                    self.leave(self.edge);
                }
                self.note_lost(self.edge);
            }
            self.edge += 1;
        }
    }

    /// All transmissions of a segment are lost.
    pub(super) fn lose(&mut self, number: u64) {
        self.leave(number);
        self.change(number, self.flags(number) & EVER_AGAIN | LOST);
        self.note_lost(number);
        self.hole_from = self.hole_from.min(number);
    }

    /// Everything that has not arrived is lost.
    pub(super) fn lose_all(&mut self) {
        for number in self.first..self.end() {
            if self.flags(number) & SACKED == 0 {
                self.lose(number);
            }
        }
    }

    /// Marks nothing as lost after all.
    pub(super) fn find_all(&mut self) {
        for number in self.first..self.end() {
            let flags = self.flags(number);
            if flags & (SACKED | LOST) == LOST {
                let was_out = flags & AGAIN == 0;
                self.change(number, flags & !LOST);
                if was_out {
                    self.join_in_order(number);
                }
            }
        }
        self.lost_to = self.first;
    }

    fn note_lost(&mut self, number: u64) {
        self.lost_from = self.lost_from.min(number);
        self.lost_to = self.lost_to.max(number + 1);
    }

    /// The first segment that is lost and has not been sent again since.
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        self.lost_from = self.lost_from.max(self.first);
        while self.lost_from < self.lost_to {
            if self.flags(self.lost_from) & (SACKED | LOST | AGAIN) == LOST {
                return Some(self.lost_from);
            }
            self.lost_from += 1;
        }
        None
    }

    /// RFC 6675 §4, NextSeg rule (3): the first segment below the highest sacked that is neither sacked nor sent again.
    pub(super) fn next_hole(&mut self) -> Option<u64> {
        self.hole_from = self.hole_from.max(self.first);
        while self.hole_from < self.fack.min(self.end()) {
            if self.flags(self.hole_from) & (SACKED | AGAIN) == 0 {
                return Some(self.hole_from);
            }
            self.hole_from += 1;
        }
        None
    }

    /// The highest segment that has not arrived.
    pub(super) fn last_hole(&self) -> Option<u64> {
        let at = self.segs.iter().rposition(|seg| seg.flags & SACKED == 0)?;
        Some(self.first + at as u64)
    }

    /// A recovery begins: segments that earlier ones have examined are examined again.
    pub(super) fn rewind(&mut self) {
        (self.lost_from, self.hole_from) = (self.first, self.first);
    }

    /// Goes through what may be in flight, least recently sent first, while `goes_on` returns true for (number, sent).
    /// That segment may be taken out meanwhile.
    pub(super) fn by_time(&mut self, mut goes_on: impl FnMut(&mut Board, u64, Time) -> bool) {
        let mut number = self.oldest;
        while number != NONE {
            let Seg { sent, behind, .. } = *self.seg(number);
            if !goes_on(self, number, sent) {
                return;
            }
            number = behind;
        }
    }

    /// Takes a segment out of the list by time.
    fn leave(&mut self, number: u64) {
        let Seg { before, behind, .. } = *self.seg(number);
        if before != NONE {
            self.seg(before).behind = behind;
        } else if self.oldest == number {
            self.oldest = behind;
        } else {
            return; // not in the list
        }
        if behind != NONE {
            self.seg(behind).before = before;
        } else {
            self.newest = before;
        }
        let seg = self.seg(number);
        (seg.before, seg.behind) = (NONE, NONE);
    }

    /// Appends a segment to the list by time.
    fn join(&mut self, number: u64) {
        let newest = std::mem::replace(&mut self.newest, number);
        self.seg(number).before = newest;
        if newest == NONE {
            self.oldest = number;
        } else {
            self.seg(newest).behind = number;
        }
    }

    /// Puts a segment back into the list by time, where it belongs.
    fn join_in_order(&mut self, number: u64) {
        let sent = self.seg(number).sent;
        let mut before = self.newest;
        while before != NONE && self.seg(before).sent > sent {
            before = self.seg(before).before;
        }
        let behind = if before == NONE { self.oldest } else { self.seg(before).behind };
        let seg = self.seg(number);
        (seg.before, seg.behind) = (before, behind);
        if before == NONE {
            self.oldest = number;
        } else {
            self.seg(before).behind = number;
        }
        if behind == NONE {
            self.newest = number;
        } else {
            self.seg(behind).before = number;
        }
    }
}

#[cfg(test)]
mod tests;
