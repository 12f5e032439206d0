//! SELB's Algorithm 1: k-means of queue lengths, one number per path.
//!
//! Centroids are kept as fractions, sum and count of their members: distances compare exactly, so that "until centroids
//! do not change" is well defined, and no rounding can make the cost rise. Nothing is copied or sorted; the values stay
//! in the rows they come from, however many there are, and only the centroids are on the stack.
//!
//! Lengths are numbers on a line. So clusters are stretches of it, and stay in order: cluster 0 is that of the shortest
//! queues, the paper's backup, whatever the start.

use crate::Rng;

/// The most clusters.
pub(crate) const MOST_K: usize = 16;

/// Rounds after which the classification is used as it is, settled or not (own choice; a switch cannot wait).
pub(crate) const MOST_ROUNDS: u8 = 20;

crate::choice! {
    /// The start of the centroids.
    Start {
        /// The k quantiles of the different lengths: the same clusters for the same queues.
        Quantile = "quantile",
        /// Any k different lengths, drawn at random, as printed.
        Random = "random",
    }
}

/// An item with a length that can be put into a cluster.
pub trait Point {
    /// Its length; with `None` it takes no part.
    fn length(&self) -> Option<u64>;
    /// The cluster it was put into.
    fn cluster(&self) -> u8;
    /// Puts it there.
    fn assign(&mut self, cluster: u8);
}

/// The mean length of some points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Centroid {
    /// The sum of their lengths.
    pub sum: u64,
    /// Number of centroids; at least one.
    pub count: u32,
}

/// The result: the points know their clusters, numbered by length.
#[derive(Clone, Copy, Debug)]
pub struct Clusters {
    centroids: [Centroid; MOST_K],
    k: usize,
    /// Rounds it took, including the last one, which changes nothing if settled.
    pub rounds: u8,
    /// Whether the centroids settled.
    pub settled: bool,
}

impl Clusters {
    /// The centroids, shortest first: min(k, different lengths) of them.
    pub fn centroids(&self) -> &[Centroid] {
        &self.centroids[..self.k]
    }
}

impl Centroid {
    /// Whether `length` is strictly nearer to this one than to `other`.
    #[inline]
    pub fn nearer(&self, other: &Centroid, length: u64) -> bool {
        self.distance(length) * u128::from(other.count) < other.distance(length) * u128::from(self.count)
    }

    /// Distance times count.
    #[inline]
    fn distance(&self, length: u64) -> u128 {
        (u128::from(length) * u128::from(self.count)).abs_diff(u128::from(self.sum))
    }
}

impl PartialEq for Centroid {
    fn eq(&self, other: &Centroid) -> bool {
        u128::from(self.sum) * u128::from(other.count) == u128::from(other.sum) * u128::from(self.count)
    }
}

/// Classifies `points` into at most `k` clusters, `1..=MOST_K`.
// SELB Algorithm 1
pub(crate) fn classify<P: Point>(points: &mut [P], k: usize, start: Start, rng: &mut Rng) -> Clusters {
    let (centroids, k) = match start {
        Start::Quantile => quantiles(points, k.clamp(1, MOST_K)),
        Start::Random => different(points, k.clamp(1, MOST_K), rng),
    };
    let mut clusters = Clusters { centroids, k, rounds: 0, settled: false };
    while !clusters.settled && clusters.rounds < MOST_ROUNDS {
        clusters.rounds += 1;
        clusters.settled = !round(points, &mut clusters.centroids[..k]);
    }
    clusters
}

/// Assigns every point to the nearest centroid, then moves every centroid to the mean of its points. Returns whether
/// any has moved.
// SELB Algorithm 1: the body of "repeat"
pub fn round<P: Point>(points: &mut [P], centroids: &mut [Centroid]) -> bool {
    let mut members = [Centroid::default(); MOST_K];
    for point in points {
        if let Some(length) = point.length() {
            let cluster = nearest(centroids, length);
            point.assign(cluster as u8);
            members[cluster].sum += length;
            members[cluster].count += 1;
        }
    }
    let mut moved = false;
    for (centroid, members) in centroids.iter_mut().zip(&members) {
        // SELB Algorithm 1: "if C_j is not empty"
        if members.count > 0 {
            moved |= centroid != members;
            *centroid = *members;
        }
    }
    moved
}

/// The centroid closest to `length`; in a tie the shorter.
fn nearest(centroids: &[Centroid], length: u64) -> usize {
    let mut closest = 0;
    for (index, centroid) in centroids.iter().enumerate().skip(1) {
        if centroid.nearer(&centroids[closest], length) {
            closest = index;
        }
    }
    closest
}

/// The next length above `below`, or the shortest of all for `None`.
fn next<P: Point>(points: &[P], below: Option<u64>) -> Option<u64> {
    points.iter().filter_map(Point::length).filter(|length| below.is_none_or(|below| *length > below)).min()
}

/// The distinct lengths, in order.
fn lengths<P: Point>(points: &[P]) -> impl Iterator<Item = u64> {
    core::iter::successors(next(points, None), |length| next(points, Some(*length)))
}

/// Starts at the middles of k equal parts of the distinct lengths in order.
fn quantiles<P: Point>(points: &[P], k: usize) -> ([Centroid; MOST_K], usize) {
    let many = lengths(points).count();
    let k = k.min(many);
    let wanted = |j: usize| (2 * j + 1) * many / (2 * k);
    take(points, k, |at, taken| at == wanted(taken))
}

/// Starts at k distinct lengths, every set equally likely.
// SELB Algorithm 1: "randomly select k different values from Q"
fn different<P: Point>(points: &[P], k: usize, rng: &mut Rng) -> ([Centroid; MOST_K], usize) {
    let many = lengths(points).count();
    let k = k.min(many);
    // Each in turn with the share of those still needed among those still to come.
    take(points, k, |at, taken| (rng.below((many - at) as u32) as usize) < k - taken)
}

/// Makes centroids of `k` of the distinct lengths: those for which `wanted(position, taken so far)`.
fn take<P: Point>(points: &[P], k: usize, mut wanted: impl FnMut(usize, usize) -> bool) -> ([Centroid; MOST_K], usize) {
    let (mut centroids, mut taken) = ([Centroid::default(); MOST_K], 0);
    for (at, length) in lengths(points).enumerate() {
        if taken < k && wanted(at, taken) {
            centroids[taken] = Centroid { sum: length, count: 1 };
            taken += 1;
        }
    }
    (centroids, taken)
}

#[cfg(test)]
mod tests;
