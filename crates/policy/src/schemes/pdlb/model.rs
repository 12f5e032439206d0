//! Eqs. 1–10 of the paper, one pure function each, and the three other objectives that can stand in for Eq. 9.
//!
//! Only `+ - * /` and comparisons, integer powers by loops: bit-identical on every machine. Units: delays in
//! microseconds, windows and flows in packets, rates in packets per microsecond.

crate::choice! {
    /// The objective of Eq. 10.
    Model {
        /// Round-trip time over window of the authors' code, in correct arithmetic.
        Authors = "authors",
        /// The authors' code to the letter: rate cut to whole packets per millisecond, cells rounded down and not
        /// limited by the paths, last term of the reordering sum missing.
        Released = "released",
        /// Eqs. 1–9 as printed.
        Paper = "paper",
        /// Eqs. 1–6 with an Eq. 7 that waits for the slowest cell and an Eq. 9 that adds up the rounds.
        Repaired = "repaired",
    }
}

crate::choice! {
    /// The way a window that is not a multiple of the granularity is cut.
    Cells {
        /// Whole cells only.
        Floor = "floor",
        /// The last cell may be short.
        Ceil = "ceil",
    }
}

crate::choice! {
    /// The most cells of a round in the `authors` model.
    CellsLimit {
        /// The number of paths, as in the paper's n = min(m, W / gran).
        Paths = "paths",
        /// No limit, as in the authors' code.
        None = "none",
    }
}

/// Knowledge of the paths of one pair (or of one sender).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paths {
    /// m: live paths.
    pub m: f64,
    /// N_b: congested ones.
    pub bad: f64,
    /// D_g: mean delay of the others, µs.
    pub d_good: f64,
    /// D_b: mean delay of the congested, µs; `d_good` when there are none.
    pub d_bad: f64,
}

impl Paths {
    /// P_b: the probability that a cell draws a congested path.
    pub(crate) fn p_bad(&self) -> f64 {
        self.bad / self.m
    }

    /// X = D_b / D_g. (The paper calls it "the ratio of bad paths to good paths"; it is that of their delays.)
    pub fn ratio(&self) -> f64 {
        self.d_bad / self.d_good
    }
}

/// The constants of the models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// The objective.
    pub model: Model,
    /// Rounding of W / gran.
    pub cells: Cells,
    /// Limit of the `authors` model.
    pub limit: CellsLimit,
    /// Window of the `authors` and `released` models, packets.
    pub w_ref: f64,
    /// MaxW: largest window on one path, packets.
    pub max_w: f64,
    /// F_size, packets.
    pub flow: f64,
    /// C: rate of a path, packets per µs.
    pub rate: f64,
}

/// `base` to a whole power.
pub fn power(base: f64, exponent: u32) -> f64 {
    let mut product = 1.0;
    for _ in 0..exponent {
        product *= base;
    }
    product
}

// PDLB Eq. 1
/// P_g: the probability that a cell draws an uncongested path.
pub(crate) fn good_probability(bad: f64, m: f64) -> f64 {
    1.0 - bad / m
}

// PDLB Eq. 2
/// P: the probability that `n` cells, each bad with probability `p_bad`, are reordered: all sequences but
/// good^k bad^(n-k). Each of these n + 1 occurs once, hence no binomial factor.
pub(crate) fn reordering_probability(p_bad: f64, n: u32) -> f64 {
    let p_good = 1.0 - p_bad;
    // s(n) = p_bad · s(n-1) + p_good^n is the sum of Eq. 2, term by term from the other end.
    let (mut in_order, mut all_good) = (1.0, 1.0);
    for _ in 0..n {
        all_good *= p_good;
        in_order = p_bad * in_order + all_good;
    }
    1.0 - in_order
}

// PDLB Eq. 3
/// Eq. 2 with P_b = N_b / m.
pub(crate) fn reordering_over_paths(bad: f64, m: f64, n: u32) -> f64 {
    reordering_probability(1.0 - good_probability(bad, m), n)
}

/// n_i: how many cells a window is cut into: at least one, at most `limit`.
pub fn cells(window: f64, gran: u32, limit: u32, rounding: Cells) -> u32 {
    let parts = window / f64::from(gran);
    let whole = parts as u32;
    let n = match rounding {
        Cells::Ceil if f64::from(whole) < parts => whole + 1,
        _ => whole,
    };
    n.min(limit).max(1)
}

// PDLB Eq. 4
/// W_i from W_{i-1}: one packet more if in order, half if not; at most n · MaxW, and never less than one packet
/// (the printed map falls below one for P near 1).
pub(crate) fn next_window(window: f64, p: f64, n: u32, max_w: f64) -> f64 {
    let expected = (window + 1.0) * (1.0 - p) + window / 2.0 * p;
    let cap = f64::from(n) * max_w;
    let next = if expected > cap { cap } else { expected };
    if next < 1.0 { 1.0 } else { next }
}

/// A flow's rounds at one granularity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// W_s.
    pub sum: f64,
    /// r: index of the first round at which W_s reaches F_size.
    pub r: f64,
    /// Sum over the rounds, including W_0's, of what `each` returned.
    pub total: f64,
}

// PDLB Eq. 5
/// Runs Eq. 4 from W_0 = m · MaxW until W_s ≥ F_size; `each(window, cells)` is summed over the rounds. Once a round
/// repeats, so do all that follow, and they are counted at once.
pub(crate) fn window_sum(gran: u32, paths: &Paths, k: &Constants, each: impl Fn(f64, u32) -> f64) -> Rounds {
    let m = paths.m as u32;
    let mut window = paths.m * k.max_w;
    let mut n = cells(window, gran, m, k.cells);
    let mut rounds = Rounds { sum: window, r: 0.0, total: each(window, n) };
    while rounds.sum < k.flow {
        let n_next = cells(window, gran, m, k.cells);
        let next = next_window(window, reordering_over_paths(paths.bad, paths.m, n_next), n_next, k.max_w);
        let mut times = 1.0;
        if next == window && n_next == n {
            let parts = (k.flow - rounds.sum) / next;
            let whole = parts as u64 as f64;
            times = if whole < parts { whole + 1.0 } else { whole };
        }
        (window, n) = (next, n_next);
        rounds.sum += times * window;
        rounds.r += times;
        rounds.total += times * each(window, n);
    }
    rounds
}

// PDLB Eq. 6
/// W̄ = W_s / r as printed (the sum has r + 1 terms); r = 1 if the first window holds the flow.
pub(crate) fn mean_window(rounds: &Rounds) -> f64 {
    rounds.sum / if rounds.r < 1.0 { 1.0 } else { rounds.r }
}

// PDLB Eq. 7
/// RTT of a round: D_b with probability `p_slow`, D_g otherwise, plus the time to send W packets over n paths. Printed:
/// `p_slow` = (N_b/m)^W̄, which means that every single packet is on a bad path.
pub(crate) fn round_trip_time(p_slow: f64, paths: &Paths, window: f64, n: f64, rate: f64) -> f64 {
    (1.0 - p_slow) * paths.d_good + p_slow * paths.d_bad + window / (n * rate)
}

// PDLB Eq. 8
/// Eq. 7 in terms of X.
pub fn round_trip_time_by_ratio(p_slow: f64, paths: &Paths, window: f64, n: f64, rate: f64) -> f64 {
    ((paths.ratio() - 1.0) * p_slow + 1.0) * paths.d_good + window / (n * rate)
}

// PDLB Eq. 9
/// FCT of a flow, by the last printed line, whose second term is gran / C. The exponent of N_b/m, W̄, is rounded to the
/// nearest whole number (no fractional powers here); the term vanishes for any realistic W̄, hence X with it.
pub(crate) fn flow_completion_time(gran: u32, paths: &Paths, mean_window: f64, k: &Constants) -> f64 {
    let p_slow = power(paths.p_bad(), (mean_window + 0.5) as u32);
    k.flow / mean_window * ((paths.ratio() - 1.0) * p_slow + 1.0) * paths.d_good + f64::from(gran) / k.rate
}

// PDLB Eq. 10
/// The candidate with the lowest cost; the first of equals; 1 when no path is congested, as in the authors' code (every
/// model agrees: nothing is reordered then).
pub(crate) fn best_granularity(paths: &Paths, k: &Constants, candidates: impl Iterator<Item = u32>) -> u32 {
    if paths.bad <= 0.0 {
        return 1;
    }
    let mut best = (f64::INFINITY, 1);
    for gran in candidates {
        let cost = cost(gran, paths, k);
        if cost < best.0 {
            best = (cost, gran);
        }
    }
    best.1
}

/// The cost of `gran` under the chosen model: less is better.
pub fn cost(gran: u32, paths: &Paths, k: &Constants) -> f64 {
    match k.model {
        Model::Authors => {
            let limit = if k.limit == CellsLimit::Paths { paths.m as u32 } else { u32::MAX };
            let n = cells(k.w_ref, gran, limit, k.cells);
            time_per_packet(n, reordering_over_paths(paths.bad, paths.m, n), paths, k.w_ref, k.rate)
        }
        Model::Released => {
            let n = cells(k.w_ref, gran, u32::MAX, Cells::Floor);
            let whole = (k.rate * 1000.0) as u32 as f64 / 1000.0;
            let rate = if whole > 0.0 { whole } else { k.rate };
            time_per_packet(n, released_reordering(paths.p_bad(), n), paths, k.w_ref, rate)
        }
        Model::Paper => {
            let rounds = window_sum(gran, paths, k, |_, _| 0.0);
            flow_completion_time(gran, paths, mean_window(&rounds), k)
        }
        Model::Repaired => {
            let p_good = good_probability(paths.bad, paths.m);
            let round = |window: f64, n: u32| {
                // All cells are needed: the round is slow unless each of its n cells is on a good path.
                round_trip_time(1.0 - power(p_good, n), paths, window, f64::from(n), k.rate)
            };
            window_sum(gran, paths, k, round).total
        }
    }
}

/// The authors' objective, inverted: round-trip time over expected window, one round of `w_ref` packets in `n` cells.
/// The window is `w_ref` if in order and half of it if not; the round is slow unless every cell is on a good path.
pub(crate) fn time_per_packet(n: u32, p: f64, paths: &Paths, w_ref: f64, rate: f64) -> f64 {
    let window = (1.0 - p) * w_ref + p * (w_ref / 2.0);
    let p_fast = power(good_probability(paths.bad, paths.m), n);
    round_trip_time(1.0 - p_fast, paths, w_ref, f64::from(n), rate) / window
}

/// Eq. 2 as the authors' code sums it, by the first bad cell j and not all bad after it: j = 1..n-2, where n-1 is
/// missing.
pub(crate) fn released_reordering(p_bad: f64, n: u32) -> f64 {
    let p_good = 1.0 - p_bad;
    let (mut sum, mut good) = (0.0, 1.0);
    let mut powers = Descending::new(p_bad, n);
    for j in 1..n.saturating_sub(1) {
        sum += good * p_bad * (1.0 - powers.at(n - j));
        good *= p_good;
    }
    sum
}

/// The most cells that a window is cut into: as many packets as the longest window has.
pub(crate) const MOST_CELLS: u32 = 10_000;
/// Powers computed at once.
const BLOCK: usize = 64;

/// Powers of a number from a high one down, each equal to the product that [`power`] gives, without starting over each
/// time: every 64th is kept, and those in between are recomputed from there.
struct Descending {
    base: f64,
    kept: [f64; MOST_CELLS as usize / BLOCK + 1],
    block: [f64; BLOCK],
    first: usize,
}

impl Descending {
    /// Powers below `end`, which is at most [`MOST_CELLS`].
    fn new(base: f64, end: u32) -> Descending {
        debug_assert!(end <= MOST_CELLS, "parameters bound the window");
        let mut powers =
            Descending { base, kept: [1.0; MOST_CELLS as usize / BLOCK + 1], block: [1.0; BLOCK], first: usize::MAX };
        let mut product = 1.0;
        for exponent in 1..end as usize {
            product *= base;
            if exponent % BLOCK == 0 {
                powers.kept[exponent / BLOCK] = product;
            }
        }
        powers
    }

    fn at(&mut self, exponent: u32) -> f64 {
        let exponent = exponent as usize;
        let first = exponent / BLOCK;
        if self.first != first {
            self.first = first;
            let mut product = self.kept[first];
            for power in &mut self.block {
                *power = product;
                product *= self.base;
            }
        }
        self.block[exponent % BLOCK]
    }
}

#[cfg(test)]
mod tests;
