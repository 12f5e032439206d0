//! A receive buffer with periodic checks (source: public ns-3 code of Hermes, snowzjx/ns3-load-balance,
//! `tcp-resequence-buffer`).
//!
//! It checks its two clocks only once a period, and the periods begin with the packet that finds it idle. In-order data
//! continues as soon as enough of it is there, [`Periods::at_once`] bytes, or when a check finds that nothing in order
//! has continued for more than [`Rules::in_order`]. Data beyond a gap continues when the gap closes, or when a check
//! finds that no gap has closed for more than [`Rules::timeout`].
//!
//! The byte it expects next stays at the gap, even after data beyond the gap has continued. So from then on everything
//! lies beyond a gap that nothing will close, and continues by the clock. A retransmitted segment takes it back to the
//! byte that follows that segment, however much else has come, with the same result again. The first packet of a
//! connection, which should be the acknowledgement that ends the handshake, sets the byte that is expected; if data
//! overtakes it, it is taken for such a retransmission.

use super::{Rules, Tally};
use spinewise_policy::time::{Span, Time};
use std::collections::BTreeMap;

/// The times at which it checks its clocks, and the data that does not wait for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Periods {
    /// It checks this often while anything waits, and once after.
    pub every: Span,
    /// This many payload bytes in order continue at once.
    pub at_once: u64,
}

/// The waiting packets of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Periodic<T> {
    /// Data before this byte has continued, in order or not: data there is a retransmission.
    first: u64,
    /// The byte that is expected.
    next: u64,
    /// The items from `first` to `next`, and their bytes.
    in_order: Vec<T>,
    bytes: u64,
    /// Data beyond, by its first byte, with its end.
    beyond: BTreeMap<u64, (u64, T)>,
    /// The first packet has come.
    begun: bool,
    /// The next check; in the past when nothing waits: it is idle.
    look: Time,
    /// When something in order last continued, and when a gap last closed; or when it began to check.
    moved: Time,
    closed: Time,
}

impl<T> Default for Periodic<T> {
    fn default() -> Self {
        let (in_order, beyond) = (Vec::new(), BTreeMap::new());
        let never = Time::ZERO;
        let (first, next, bytes, begun) = (0, 0, 0, false);
        Periodic { first, next, in_order, bytes, beyond, begun, look: never, moved: never, closed: never }
    }
}

impl<T> Periodic<T> {
    /// A SYN arrives: it waits for a check, as a packet without data does.
    pub(crate) fn greet(&mut self, periods: &Periods, now: Time, item: T) {
        (self.look, self.moved, self.closed) = (now + periods.every, now, now);
        self.in_order.push(item);
    }

    /// Bytes `seq..seq + len` arrive as `item`. Items that may continue now are added to `ready`, in order.
    pub(crate) fn arrive(
        &mut self,
        (rules, periods): (&Rules, &Periods),
        now: Time,
        (seq, len): (u64, u32),
        item: T,
        ready: &mut Vec<T>,
        tally: &mut Tally,
    ) {
        if self.is_empty() && self.look <= now {
            (self.look, self.moved, self.closed) = (now + periods.every, now, now);
        }
        self.expire((rules, periods), now, ready, tally);
        let end = seq + u64::from(len);
        if !self.begun {
            (self.begun, self.next) = (true, seq);
        }
        if seq < self.first {
            let follows = end == self.first;
            self.pass(now, ready);
            if !follows {
                self.next = end;
            }
            self.first = self.next;
            ready.push(item);
        } else if seq > self.next {
            tally.held += u64::from(!self.beyond.contains_key(&seq));
            self.beyond.entry(seq).or_insert((end, item));
        } else if seq == self.next {
            self.join(end, item);
            while let Some((end, item)) = self.beyond.remove(&self.next) {
                self.join(end, item);
                self.closed = now;
            }
            if self.bytes >= periods.at_once {
                self.pass(now, ready);
            }
        } // else it waits here already
    }

    /// Adds the items that may continue at `now` to `ready`.
    pub(crate) fn expire(
        &mut self,
        (rules, periods): (&Rules, &Periods),
        now: Time,
        ready: &mut Vec<T>,
        tally: &mut Tally,
    ) {
        while !self.is_empty() && self.look <= now {
            if self.look.since(self.moved) > rules.in_order {
                self.pass(self.look, ready);
            }
            if self.look.since(self.closed) > rules.timeout {
                self.pass(self.look, ready);
                tally.timeouts += u64::from(!self.beyond.is_empty());
                ready.extend(std::mem::take(&mut self.beyond).into_values().map(|(_, item)| item));
                self.closed = self.look;
            }
            if !self.is_empty() {
                self.look += periods.every;
            }
        }
    }

    /// When [`Self::expire`] is due, if anything waits.
    pub(crate) fn deadline(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.look)
    }

    fn is_empty(&self) -> bool {
        self.in_order.is_empty() && self.beyond.is_empty()
    }

    /// Takes the expected item.
    fn join(&mut self, end: u64, item: T) {
        self.bytes += end - self.next;
        self.next = end;
        self.in_order.push(item);
    }

    /// Passes on the items in order.
    fn pass(&mut self, now: Time, ready: &mut Vec<T>) {
        ready.append(&mut self.in_order);
        self.bytes = 0;
        self.first = self.next;
        self.moved = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 1000;
    const PERIODS: Periods = Periods { every: Span::from_us(10), at_once: 100 };
    const RULES: Rules =
        Rules { in_order: Span::from_us(5), timeout: Span::from_us(100), limit: 0, periods: Some(PERIODS) };

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[derive(Default)]
    struct Bench {
        machine: Periodic<u64>,
        tally: Tally,
    }

    impl Bench {
        /// Packet `number` of 1000 bytes arrives.
        fn arrive(&mut self, at: u64, number: u64) -> Vec<u64> {
            self.bytes(at, number * LEN, LEN, number)
        }

        fn bytes(&mut self, at: u64, seq: u64, len: u64, name: u64) -> Vec<u64> {
            let mut ready = Vec::new();
            self.machine.arrive((&RULES, &PERIODS), us(at), (seq, len as u32), name, &mut ready, &mut self.tally);
            ready
        }

        fn expire(&mut self, at: u64) -> Vec<u64> {
            let mut ready = Vec::new();
            self.machine.expire((&RULES, &PERIODS), us(at), &mut ready, &mut self.tally);
            ready
        }
    }

    #[test]
    fn what_is_large_and_next_waits_for_nothing_and_what_is_small_for_a_look() {
        let mut bench = Bench::default();
        assert_eq!(bench.arrive(0, 0), [0]);
        assert_eq!(bench.machine.deadline(), None);
        // The check at 10 us finds nothing; this begins a period of its own.
        assert!(bench.bytes(20, LEN, 99, 1).is_empty());
        assert_eq!(bench.machine.deadline(), Some(us(30)));
        assert!(bench.expire(29).is_empty());
        assert_eq!(bench.expire(30), [1]);
        // The first of these checks comes too soon after the last packet has been passed on.
        assert_eq!(bench.bytes(40, LEN + 99, 200, 2), [2]);
        assert!(bench.bytes(46, LEN + 299, 1, 3).is_empty());
        assert_eq!(bench.machine.deadline(), Some(us(50)));
        assert_eq!(bench.expire(50), [3], "at 50 us it had been 10 us since");
    }

    #[test]
    fn a_small_packet_goes_on_with_the_next_large_one() {
        let mut bench = Bench::default();
        assert!(bench.bytes(0, 0, 50, 1).is_empty());
        assert_eq!(bench.bytes(3, 50, 50, 2), [1, 2]);
    }

    #[test]
    fn a_gap_that_closes_lets_all_behind_it_go() {
        let mut bench = Bench::default();
        assert_eq!(bench.arrive(0, 0), [0]);
        assert!(bench.arrive(12, 3).is_empty() && bench.arrive(13, 2).is_empty() && bench.arrive(14, 2).is_empty());
        assert!(bench.expire(100).is_empty());
        assert_eq!(bench.arrive(101, 1), [1, 2, 3]);
        assert_eq!((bench.machine.deadline(), bench.tally.held, bench.tally.timeouts), (None, 2, 0));
    }

    #[test]
    fn a_gap_that_was_given_up_is_still_waited_for() {
        let mut bench = Bench::default();
        assert_eq!(bench.arrive(0, 0), [0]);
        assert!(bench.arrive(20, 2).is_empty() && bench.arrive(95, 3).is_empty());
        // 100 us after 20 us it is not over: more than that must have passed, so the next check finds it.
        assert!(bench.expire(120).is_empty());
        assert_eq!(bench.expire(130), [2, 3]);
        assert_eq!(bench.tally.timeouts, 1);
        // Packet 1 comes late, and 4 has to wait for packet 2, which will not come again.
        assert_eq!(bench.arrive(140, 1), [1]);
        assert!(bench.arrive(141, 4).is_empty());
        assert_eq!(bench.expire(250), [4]);
        assert!(bench.arrive(260, 5).is_empty());
    }

    #[test]
    fn data_that_overtakes_the_end_of_the_handshake_confuses_it() {
        let mut bench = Bench::default();
        bench.machine.greet(&PERIODS, us(0), 77);
        assert_eq!(bench.machine.deadline(), Some(us(10)));
        assert_eq!(bench.expire(10), [77], "the SYN");
        assert_eq!(bench.arrive(100, 0), [0]);
        assert_eq!(bench.bytes(101, 0, 0, 88), [88], "the acknowledgement of the SYN-ACK");
        assert!(bench.arrive(102, 1).is_empty() && bench.arrive(103, 2).is_empty());
        assert_eq!(bench.expire(210), [1, 2]);
        let mut bench = Bench::default();
        assert!(bench.bytes(99, 0, 0, 88).is_empty());
        assert_eq!((bench.arrive(100, 0), bench.arrive(101, 1)), (vec![88, 0], vec![1]));
    }

    #[test]
    fn what_is_sent_again_goes_on_and_turns_expectation_back() {
        let mut bench = Bench::default();
        for number in 0..4 {
            assert_eq!(bench.arrive(number, number), [number]);
        }
        assert_eq!(bench.arrive(10, 3), [3], "the last one: it was what it expected to follow on");
        assert_eq!(bench.arrive(11, 4), [4]);
        assert!(bench.bytes(12, 5 * LEN, 50, 55).is_empty());
        assert_eq!(bench.arrive(13, 4), [55, 4], "and so it was with a small one behind it");
        assert_eq!(bench.bytes(14, 5 * LEN + 50, LEN - 50, 5), [5]);
        assert_eq!(bench.arrive(20, 1), [1]);
        assert!(bench.arrive(21, 6).is_empty(), "it expects packet 2");
        assert_eq!(bench.arrive(22, 2), [2]);
        assert_eq!(bench.expire(200), [6]);
    }
}
