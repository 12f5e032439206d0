//! RFC 6675's scoreboard by hand, and against a recount.

use super::*;
use proptest::prelude::*;

fn sent(n: u64, size: u64) -> Board {
    let mut board = Board::new(1000, size);
    (0..n).for_each(|k| board.push(Time(k)));
    board
}

fn sack(board: &mut Board, from: u64, to: u64) -> u64 {
    board.deliver(from * 1000, to * 1000, |_| {})
}

fn lost(board: &Board) -> Vec<u64> {
    (board.first..board.end()).filter(|&n| board.flags(n) & (LOST | SACKED) == LOST).collect()
}

/// RFC 6675 §4, IsLost, in its own words: this many discontiguous sequences, or more than this many bytes less one
/// segment, sacked above.
fn is_lost_by_the_text(board: &Board, number: u64, threshold: u64) -> bool {
    let above: Vec<u64> = (number + 1..board.end()).filter(|&n| board.flags(n) & SACKED != 0).collect();
    let bytes: u64 = above.iter().map(|&n| board.bytes(n).1).sum();
    let sequences = above.iter().filter(|&&n| !above.contains(&(n - 1))).count() as u64;
    sequences >= threshold || bytes > (threshold - 1) * 1000
}

#[test]
fn three_segments_above_make_one_lost() {
    // 0 to 9 in flight; 2, 4 and 5 arrive.
    let mut board = sent(10, 1 << 20);
    assert_eq!(board.pipe(), 10_000);
    sack(&mut board, 2, 3);
    sack(&mut board, 4, 5);
    board.lose_overtaken(3);
    assert_eq!((lost(&board), board.pipe(), board.sacked()), (vec![], 8_000, 2));
    sack(&mut board, 5, 6);
    board.lose_overtaken(3);
    // Above 0 and 1 there are three; above 3 only two.
    assert_eq!((lost(&board), board.pipe()), (vec![0, 1], 5_000));
    assert_eq!(board.next_lost(), Some(0));
    board.again(0, Time(20));
    assert_eq!((board.next_lost(), board.pipe()), (Some(1), 6_000));
    board.again(1, Time(21));
    assert_eq!((board.next_lost(), board.pipe()), (None, 7_000));
    // Rule (3): 3 is a hole below the highest that is sacked, 6 is not.
    assert_eq!(board.next_hole(), Some(3));
    board.again(3, Time(22));
    // It is neither lost nor sacked, so it counts twice.
    assert_eq!((board.next_hole(), board.pipe()), (None, 8_000));
    assert_eq!(board.last_hole(), Some(9));
    // 6 arrives: 3 is now lost as well, except for the data sent again.
    sack(&mut board, 6, 7);
    board.lose_overtaken(3);
    assert_eq!((lost(&board), board.pipe()), (vec![0, 1, 3], 6_000));
    // All up to 6 is acknowledged: 7 to 9 remain.
    assert_eq!(board.advance(7_000, |_| {}), 3_000);
    assert_eq!((board.first(), board.len(), board.pipe(), board.sacked()), (7, 3, 3_000, 0));
    assert_eq!((board.next_lost(), board.next_hole()), (None, None));
}

#[test]
fn a_short_last_segment_counts_as_one() {
    // Three segments, the last of one byte: two above the first make two.
    let mut board = sent(4, 3_001);
    assert_eq!(board.pipe(), 3_001);
    assert_eq!(board.deliver(1000, 3_001, |_| {}), 2_001);
    board.lose_overtaken(3);
    assert_eq!((lost(&board), board.pipe()), (vec![0], 0));
}

#[test]
fn deliveries_are_told_once_with_their_last_transmission() {
    let mut board = sent(4, 1 << 20);
    let mut told = Vec::new();
    board.lose(1);
    board.again(1, Time(50));
    sack(&mut board, 3, 4);
    board.deliver(1000, 4000, |d| told.push((d.number, d.sent.0, d.again)));
    board.advance(2000, |d| told.push((d.number, d.sent.0, d.again)));
    assert_eq!(told, [(1, 50, true), (2, 2, false), (0, 0, false)]);
}

#[test]
fn the_list_is_by_time_of_sending() {
    let order = |board: &mut Board| {
        let mut seen = Vec::new();
        board.by_time(|_, number, _| {
            seen.push(number);
            true
        });
        seen
    };
    let mut board = sent(5, 1 << 20);
    board.lose(1);
    board.lose(3);
    assert_eq!(order(&mut board), [0, 2, 4]);
    board.again(1, Time(9));
    assert_eq!(order(&mut board), [0, 2, 4, 1]);
    // Found again: 3 takes its old place, and 1 keeps that of its last transmission.
    board.find_all();
    assert_eq!(order(&mut board), [0, 2, 3, 4, 1]);
    assert_eq!((lost(&board), board.pipe()), (vec![], 6_000));
    sack(&mut board, 0, 1);
    sack(&mut board, 1, 2);
    assert_eq!(order(&mut board), [2, 3, 4]);
}

proptest! {
    /// Whatever happens, pipe, losses and the list by time match a recount.
    #[test]
    fn counting_afresh(ops in proptest::collection::vec((0u8..6, 0u64..24, 1u64..5), 1..80), threshold in 1u64..5) {
        let mut board = Board::new(1000, 24_300);
        let (mut now, mut una) = (0, 0);
        for (what, at, n) in ops {
            now += 1;
            match what {
                0 | 1 => (0..n).for_each(|k| {
                    if board.end() < 25 {
                        board.push(Time(now * 100 + k));
                    }
                }),
                2 => {
                    let end = (at + n).min(board.end());
                    board.deliver(at * 1000, if end == 25 { 24_300 } else { end * 1000 }, |_| {});
                }
                3 => {
                    una = una.max((una + n).min(board.end()));
                    board.advance((una * 1000).min(24_300), |_| {});
                }
                4 => if let Some(number) = board.next_lost() {
                    board.again(number, Time(now * 100));
                },
                _ if n == 4 => board.lose_all(),
                _ if n == 3 => board.find_all(),
                _ => {}
            }
            board.lose_overtaken(threshold);
            let numbers = board.first..board.end();
            for number in numbers.clone().filter(|&n| board.flags(n) & SACKED == 0) {
                let by_text = is_lost_by_the_text(&board, number, threshold);
                prop_assert!(board.flags(number) & LOST != 0 || !by_text || number < board.edge, "{}", number);
                prop_assert!(!by_text || number < board.edge);
            }
            let pipe: u64 = numbers.clone().map(|n| Board::weight(board.flags(n)) * board.bytes(n).1).sum();
            prop_assert_eq!(board.pipe(), pipe);
            let sacked = numbers.clone().filter(|&n| board.flags(n) & SACKED != 0).count() as u64;
            prop_assert_eq!(board.sacked(), sacked);
            let open = |n: &u64| board.flags(*n) & (LOST | SACKED | AGAIN) == LOST;
            let first = numbers.clone().find(open);
            prop_assert_eq!(board.clone().next_lost(), first);
            let mut times = Vec::new();
            board.by_time(|board, number, sent| {
                times.push((sent, number));
                assert!(board.flags(number) & SACKED == 0);
                true
            });
            prop_assert!(times.is_sorted());
        }
    }
}
