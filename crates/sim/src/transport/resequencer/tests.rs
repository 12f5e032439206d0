//! Traces worked out by hand, and what holds for any order of arrival.

use super::*;
use proptest::prelude::*;

const LEN: u32 = 1000;
const RULES: Rules = Rules { in_order: Span::ZERO, timeout: Span::from_us(100), limit: 0, periods: None };

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A resequencer of packets by number, each of 1000 bytes.
struct Bench {
    rules: Rules,
    machine: Resequencer<u64>,
    tally: Tally,
}

impl Bench {
    fn new(rules: Rules) -> Self {
        Bench { rules, machine: Resequencer::default(), tally: Tally::default() }
    }

    fn arrive(&mut self, at: u64, number: u64) -> Vec<u64> {
        let mut ready = Vec::new();
        let bytes = (number * u64::from(LEN), LEN);
        self.machine.arrive(&self.rules, us(at), bytes, number, &mut ready, &mut self.tally);
        ready
    }

    fn expire(&mut self, at: u64) -> Vec<u64> {
        let mut ready = Vec::new();
        self.machine.expire(&self.rules, us(at), &mut ready, &mut self.tally);
        ready
    }

    fn deadline(&self) -> Option<Time> {
        self.machine.deadline(&self.rules)
    }
}

#[test]
fn data_in_order_goes_on_at_once() {
    let mut bench = Bench::new(RULES);
    for number in 0..5 {
        assert_eq!(bench.arrive(number, number), [number]);
    }
    assert_eq!((bench.deadline(), bench.tally), (None, Tally::default()));
}

#[test]
fn a_gap_that_closes_lets_all_behind_it_go_in_order() {
    let mut bench = Bench::new(RULES);
    assert_eq!(bench.arrive(0, 0), [0]);
    assert!(bench.arrive(1, 3).is_empty() && bench.arrive(2, 2).is_empty() && bench.arrive(3, 5).is_empty());
    assert_eq!(bench.deadline(), Some(us(101)));
    assert_eq!(bench.arrive(50, 1), [1, 2, 3]);
    assert_eq!(bench.deadline(), Some(us(103)), "5 still waits for 4");
    assert_eq!(bench.arrive(60, 4), [4, 5]);
    assert_eq!((bench.deadline(), bench.tally), (None, Tally { held: 3, ..Tally::default() }));
}

#[test]
fn a_timeout_gives_up_the_gaps_before_what_is_over_and_no_more() {
    let mut bench = Bench::new(RULES);
    assert!(bench.arrive(0, 2).is_empty() && bench.arrive(10, 1).is_empty() && bench.arrive(20, 3).is_empty());
    assert!(bench.arrive(30, 7).is_empty());
    assert!(bench.expire(99).is_empty());
    // The time of 2 is up; 1 lies before it, 3 follows it, 7 has time left.
    assert_eq!(bench.expire(100), [1, 2, 3]);
    assert_eq!((bench.tally.timeouts, bench.deadline()), (1, Some(us(130))));
    assert_eq!(bench.arrive(110, 0), [0], "what was given up goes on as it comes");
    assert_eq!(bench.arrive(111, 2), [2], "and so does what was here before");
    assert_eq!(bench.arrive(112, 4), [4]);
    assert_eq!(bench.expire(130), [7]);
    assert_eq!(bench.tally, Tally { held: 4, timeouts: 2, overflows: 0 });
}

#[test]
fn too_much_held_goes_on_whatever_its_gaps() {
    let mut bench = Bench::new(Rules { limit: 2 * u64::from(LEN), ..RULES });
    assert!(bench.arrive(0, 2).is_empty() && bench.arrive(1, 6).is_empty());
    assert_eq!(bench.arrive(2, 4), [2, 4, 6]);
    assert_eq!((bench.deadline(), bench.tally), (None, Tally { held: 3, timeouts: 0, overflows: 1 }));
    // The ns-3 code's limit counts bytes where packets were meant: 100 bytes hold no packet.
    let mut bench = Bench::new(Rules { limit: 100, ..RULES });
    assert_eq!(bench.arrive(0, 1), [1]);
}

#[test]
fn data_in_order_can_wait_for_more() {
    let mut bench = Bench::new(Rules { in_order: Span::from_us(5), ..RULES });
    assert!(bench.arrive(0, 0).is_empty() && bench.arrive(2, 1).is_empty() && bench.arrive(3, 3).is_empty());
    assert_eq!((bench.deadline(), bench.tally.held), (Some(us(5)), 1));
    assert_eq!(bench.expire(5), [0, 1]);
    assert_eq!(bench.deadline(), Some(us(103)));
    // 3 has waited for longer than data in order would have.
    assert_eq!(bench.arrive(50, 2), [2, 3]);
    assert_eq!(bench.arrive(51, 1), [1], "bytes passed on before do not wait");
    assert_eq!(bench.deadline(), None);
}

proptest! {
    /// Every packet continues once, none waits longer than it may, and if none waits that long, all continue in order.
    #[test]
    fn any_order_of_arrival(
        numbers in prop::collection::vec(0u64..30, 1..80),
        gaps in prop::collection::vec(0u64..40, 80),
        in_order in 0u64..20, timeout in 20u64..400, limit in prop_oneof![Just(0u64), 500u64..20_000],
    ) {
        let rules = Rules { in_order: Span::from_us(in_order), timeout: Span::from_us(timeout), limit, periods: None };
        let mut bench = Bench::new(rules);
        let (mut now, mut arrived, mut passed) = (0, Vec::new(), Vec::new());
        let mut note = |at: u64, bench: &Bench, ready: Vec<u64>| {
            prop_assert!(bench.deadline().is_none_or(|due| due > us(at)), "overdue at {at}");
            passed.extend(ready);
            Ok(())
        };
        for (number, gap) in numbers.iter().zip(gaps) {
            for at in now..now + gap {
                let ready = bench.expire(at);
                note(at, &bench, ready)?;
            }
            now += gap;
            arrived.push(*number);
            let ready = bench.arrive(now, *number);
            note(now, &bench, ready)?;
        }
        let ready = bench.expire(now + timeout);
        note(now + timeout, &bench, ready)?;
        prop_assert_eq!(bench.machine.bytes, 0);
        let comes_again = |number: &u64| numbers.iter().filter(|other| *other == number).count() > 1;
        let in_order = passed.windows(2).all(|two| two[0] <= two[1] || comes_again(&two[1]));
        let gave_up = bench.tally.timeouts + bench.tally.overflows > 0;
        prop_assert!(in_order || gave_up, "{:?}", passed);
        arrived.sort_unstable();
        passed.sort_unstable();
        prop_assert_eq!(arrived, passed);
    }
}
