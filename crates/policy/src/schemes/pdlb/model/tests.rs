//! The models against enumeration, closed forms and values worked out by hand.

use super::*;
extern crate std;
use std::vec::Vec;

const RATIOS: [f64; 5] = [1.2, 1.5, 2.0, 3.0, 6.0];

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    a - b <= tolerance && b - a <= tolerance
}

/// `bad` of 8 paths, 100 µs and `x` times that.
fn paths(bad: u32, x: f64) -> Paths {
    Paths { m: 8.0, bad: f64::from(bad), d_good: 100.0, d_bad: 100.0 * x }
}

fn constants(model: Model) -> Constants {
    Constants {
        model,
        cells: Cells::Floor,
        limit: CellsLimit::Paths,
        w_ref: 44.0,
        max_w: 44.0,
        flow: 10_000.0,
        // 1 Gbps in packets of 1,500 bytes.
        rate: 1.0 / 12.0,
    }
}

fn row(bad: u32, k: &Constants) -> Vec<u32> {
    RATIOS.iter().map(|&x| best_granularity(&paths(bad, x), k, 1..=44)).collect()
}

#[test]
fn eq_2_has_the_values_worked_out() {
    let table = [
        (0.125, [0.109, 0.316, 0.599, 0.997]),
        (0.25, [0.188, 0.527, 0.850, 1.000]),
        (0.5, [0.250, 0.688, 0.965, 1.000]),
    ];
    for (p_bad, expected) in table {
        for (n, value) in [2, 4, 8, 44].into_iter().zip(expected) {
            let p = reordering_probability(p_bad, n);
            assert!(near(p, value, 0.000_501), "P_b {p_bad}, n {n}: {p} is not {value}");
            assert_eq!(p, reordering_over_paths(p_bad * 8.0, 8.0, n));
        }
    }
}

#[test]
fn eq_2_is_the_probability_that_a_bad_cell_precedes_a_good_one() {
    for n in 0..=12u32 {
        for eighths in 0..=8u32 {
            let p_bad = f64::from(eighths) / 8.0;
            let mut inverted = 0.0;
            for bits in 0..1u32 << n {
                // Bit set: bad. In order: no set bit before (below) a clear one.
                let disordered = (0..n).any(|i| bits >> i & 1 == 1 && (i..n).any(|j| bits >> j & 1 == 0));
                if disordered {
                    inverted += power(p_bad, bits.count_ones()) * power(1.0 - p_bad, n - bits.count_ones());
                }
            }
            let p = reordering_probability(p_bad, n);
            assert!(near(p, inverted, 1e-12), "P_b {p_bad}, n {n}: {p} is not {inverted}");
        }
    }
}

#[test]
fn eq_2_has_its_closed_form_symmetry_and_the_authors_form() {
    for n in 0..=44u32 {
        for hundredths in 1..100u32 {
            let (b, g) = (f64::from(hundredths) / 100.0, 1.0 - f64::from(hundredths) / 100.0);
            let p = reordering_probability(b, n);
            let closed = match hundredths {
                50 => f64::from(n + 1) / power(2.0, n),
                _ => (power(g, n + 1) - power(b, n + 1)) / (g - b),
            };
            assert!(near(p, 1.0 - closed, 1e-12));
            assert!(near(p, reordering_probability(g, n), 1e-12), "symmetric");
            assert!(p <= reordering_probability(b, n + 1) + 1e-12, "grows with n");
            let missing = if n >= 2 { power(g, n - 2) * b * (1.0 - b) } else { 0.0 };
            assert!(near(released_reordering(b, n) + missing, p, 1e-12), "all but the term j = n - 1");
        }
    }
}

#[test]
fn eq_1_and_the_cells() {
    assert_eq!(good_probability(2.0, 8.0), 0.75);
    assert_eq!(cells(44.0, 1, 8, Cells::Floor), 8);
    assert_eq!(cells(44.0, 15, 8, Cells::Floor), 2);
    assert_eq!(cells(44.0, 15, 8, Cells::Ceil), 3);
    assert_eq!(cells(44.0, 11, 8, Cells::Ceil), 4);
    assert_eq!(cells(3.0, 44, 8, Cells::Floor), 1);
}

#[test]
fn eq_4_to_6_by_hand() {
    assert_eq!(next_window(10.0, 0.0, 2, 44.0), 11.0);
    assert_eq!(next_window(10.0, 1.0, 2, 44.0), 5.0);
    assert_eq!(next_window(10.0, 0.5, 2, 44.0), 8.0);
    assert_eq!(next_window(100.0, 0.0, 2, 44.0), 88.0);
    assert_eq!(next_window(1.0, 1.0, 2, 44.0), 1.0);
    // One path, in order: 44, then 44 each round by the cap: 1,000 packets need r = 22 (44 · 23 = 1,012).
    let alone = Paths { m: 1.0, ..paths(0, 1.0) };
    let k = Constants { flow: 1_000.0, ..constants(Model::Paper) };
    let rounds = window_sum(1, &alone, &k, |window, _| window);
    assert_eq!(rounds, Rounds { sum: 1_012.0, r: 22.0, total: 1_012.0 });
    assert_eq!(mean_window(&rounds), 46.0);
    let short = window_sum(1, &alone, &Constants { flow: 10.0, ..k }, |_, _| 1.0);
    assert_eq!((short.r, mean_window(&short)), (0.0, 44.0));
}

#[test]
fn rounds_counted_at_once_are_the_rounds_counted_one_by_one() {
    for bad in 0..=7 {
        for gran in 1..=44 {
            let (p, k) = (paths(bad, 3.0), constants(Model::Paper));
            let (mut window, mut sum, mut r) = (352.0, 352.0, 0.0);
            while sum < k.flow {
                let n = cells(window, gran, 8, k.cells);
                window = next_window(window, reordering_over_paths(p.bad, p.m, n), n, k.max_w);
                sum += window;
                r += 1.0;
            }
            let at_once = window_sum(gran, &p, &k, |_, _| 1.0);
            assert_eq!(at_once.r, r, "bad {bad}, gran {gran}");
            assert_eq!(at_once.total, r + 1.0);
            assert!(near(at_once.sum, sum, 1e-6));
        }
    }
}

#[test]
fn eq_7_to_9_agree_with_each_other() {
    let (p, k) = (paths(2, 3.0), constants(Model::Paper));
    for p_slow in [0.0, 0.25, 1.0] {
        let (a, b) =
            (round_trip_time(p_slow, &p, 20.0, 4.0, 0.1), round_trip_time_by_ratio(p_slow, &p, 20.0, 4.0, 0.1));
        assert!(near(a, b, 1e-9));
        assert!(near(a, 100.0 + 200.0 * p_slow + 50.0, 1e-9));
    }
    // 10,000 packets in windows of 100 at 100 µs, and 12 packets at 12 µs.
    assert!(near(flow_completion_time(12, &p, 100.0, &k), 10_000.0 + 144.0, 1e-6));
    // W̄ of 2: (2/8)² of the rounds are slow.
    let slow = 5_000.0 * (2.0 * 0.0625 + 1.0) * 100.0 + 12.0;
    assert!(near(flow_completion_time(1, &p, 2.0, &k), slow, 1e-6));
}

#[test]
fn the_released_code_has_the_optima_worked_out() {
    let k = constants(Model::Released);
    assert_eq!(row(1, &k), [5, 7, 8, 9, 12]);
    assert_eq!(row(2, &k), [1, 1, 12, 12, 15]);
    assert_eq!(row(4, &k), [1, 1, 1, 15, 15]);
}

#[test]
fn correct_arithmetic_moves_some_of_them() {
    let k = Constants { limit: CellsLimit::None, ..constants(Model::Authors) };
    assert_eq!(row(1, &k), [5, 6, 8, 9, 12]);
    assert_eq!(row(2, &k), [1, 1, 9, 12, 15]);
    assert_eq!(row(4, &k), [1, 1, 1, 15, 15]);
}

#[test]
fn the_default_at_one_and_ten_gigabits() {
    let k = Constants { cells: Cells::Ceil, ..constants(Model::Authors) };
    assert_eq!(row(1, &k), [1, 7, 9, 11, 15]);
    assert_eq!(row(2, &k), [1, 9, 11, 15, 22]);
    assert_eq!(row(4, &k), [1, 1, 15, 22, 22]);
    let fast = Constants { rate: 10.0 / 12.0, ..k };
    assert_eq!(row(1, &fast), [22, 22, 22, 44, 44]);
    assert_eq!(row(2, &fast), [22, 22, 44, 44, 44]);
    assert_eq!(row(4, &fast), [22, 44, 44, 44, 44]);
    // Rounded down, 23 packets are "one cell" of a window of 44.
    let floor = Constants { cells: Cells::Floor, ..k };
    assert_eq!(row(2, &floor), [1, 8, 9, 12, 15]);
    assert_eq!(row(2, &Constants { rate: 10.0 / 12.0, ..floor }), [15, 15, 23, 23, 23]);
}

#[test]
fn the_default_never_gets_finer_as_the_delays_part() {
    let ratios = [1.02, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0];
    for m in [2u32, 4, 8, 16] {
        for bad in 1..m {
            for (gigabits, d_good) in [(1.0, 20.0), (1.0, 100.0), (10.0, 100.0), (40.0, 200.0), (100.0, 20.0)] {
                let k = Constants { rate: gigabits / 12.0, cells: Cells::Ceil, ..constants(Model::Authors) };
                let mut last = 0;
                for x in ratios {
                    let p = Paths { m: f64::from(m), bad: f64::from(bad), d_good, d_bad: d_good * x };
                    let gran = best_granularity(&p, &k, 1..=44);
                    assert!(gran >= last, "m {m}, bad {bad}, {gigabits} Gbps, {d_good} us, X {x}: {gran} < {last}");
                    last = gran;
                }
            }
        }
    }
}

#[test]
fn the_printed_optimum_follows_max_w_and_rounding_but_not_the_delays() {
    let optimum = |max_w: f64, cells: Cells, bad: u32| {
        let granularities = row(bad, &Constants { max_w, cells, ..constants(Model::Paper) });
        assert!(granularities.iter().all(|&gran| gran == granularities[0]), "X matters: {granularities:?}");
        granularities[0]
    };
    for bad in 1..=4 {
        for max_w in [44.0, 65.0, 258.0] {
            assert_eq!(optimum(max_w, Cells::Ceil, bad), 44, "MaxW {max_w}, bad {bad}");
        }
        assert!((11..=12).contains(&optimum(9.0, Cells::Ceil, bad)));
        assert!((6..=8).contains(&optimum(9.0, Cells::Floor, bad)));
        assert!((31..=38).contains(&optimum(44.0, Cells::Floor, bad)));
        assert!((36..=44).contains(&optimum(65.0, Cells::Floor, bad)));
        assert_eq!(optimum(258.0, Cells::Floor, bad), 44);
    }
}

#[test]
fn without_congested_paths_every_model_sprays() {
    for model in [Model::Authors, Model::Released, Model::Paper, Model::Repaired] {
        let k = constants(model);
        assert_eq!(best_granularity(&paths(0, 1.0), &k, 1..=44), 1);
        // This holds not only by rule: one packet has the lowest cost.
        let costs: Vec<f64> = (1..=44).map(|gran| cost(gran, &paths(0, 1.0), &k)).collect();
        assert!(costs.iter().all(|&cost| cost >= costs[0]), "{model:?}");
    }
}

#[test]
fn the_repaired_model_reacts_to_the_delays() {
    let k = Constants { max_w: 9.0, cells: Cells::Ceil, ..constants(Model::Repaired) };
    let granularities = row(4, &k);
    assert!(granularities.windows(2).all(|pair| pair[0] <= pair[1]), "{granularities:?}");
    assert!(granularities[4] > granularities[0], "{granularities:?}");
}

#[test]
fn the_released_sum_is_the_same_to_the_bit_and_long_ones_are_quick() {
    let term_by_term = |p_bad: f64, n: u32| {
        let (p_good, mut sum) = (1.0 - p_bad, 0.0);
        for j in 1..n.saturating_sub(1) {
            sum += power(p_good, j - 1) * p_bad * (1.0 - power(p_bad, n - j));
        }
        sum
    };
    for bad in 1..8 {
        for n in [1, 2, 3, 4, 44, 63, 64, 65, 66, 127, 128, 129, 130, 500] {
            let p_bad = f64::from(bad) / 8.0;
            assert_eq!(released_reordering(p_bad, n).to_bits(), term_by_term(p_bad, n).to_bits(), "{bad} of 8, {n}");
        }
    }
    // A search over all granularities of the longest window that is allowed: 10⁵ steps, not 10⁸ for the finest alone.
    let k = Constants { w_ref: f64::from(MOST_CELLS), ..constants(Model::Released) };
    assert!((0..100).all(|_| best_granularity(&paths(4, 2.0), &k, 1..=4096) >= 1));
}
