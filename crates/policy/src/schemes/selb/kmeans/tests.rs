//! Algorithm 1 against the best division there is, found by dynamic programming.

use super::*;
extern crate std;
use std::{eprintln, vec, vec::Vec};

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    length: Option<u64>,
    cluster: u8,
}

impl Point for Path {
    fn length(&self) -> Option<u64> {
        self.length
    }
    fn cluster(&self) -> u8 {
        self.cluster
    }
    fn assign(&mut self, cluster: u8) {
        self.cluster = cluster;
    }
}

fn paths(lengths: &[u64]) -> Vec<Path> {
    lengths.iter().map(|length| Path { length: Some(*length), cluster: 0 }).collect()
}

fn assigned(lengths: &[u64], k: usize, start: Start) -> (Vec<u8>, Clusters) {
    let mut points = paths(lengths);
    let clusters = classify(&mut points, k, start, &mut Rng::stream(1, "test", 0));
    (points.iter().map(Point::cluster).collect(), clusters)
}

/// Sum of squared distances to the mean of each one's cluster.
fn cost(lengths: &[u64], clusters: &[u8]) -> f64 {
    let mut whole = 0.0;
    for cluster in 0..MOST_K as u8 {
        let members = || lengths.iter().zip(clusters).filter(|(_, c)| **c == cluster).map(|(l, _)| *l as f64);
        let mean = members().sum::<f64>() / members().count().max(1) as f64;
        whole += members().map(|length| (length - mean) * (length - mean)).sum::<f64>();
    }
    whole
}

/// The lowest cost of any division into at most `k` clusters: on a line the best clusters are stretches, so dynamic
/// programming over the sorted lengths finds it.
fn least_cost(lengths: &[u64], k: usize) -> f64 {
    let mut sorted: Vec<f64> = lengths.iter().map(|l| *l as f64).collect();
    sorted.sort_by(f64::total_cmp);
    let stretch = |from: usize, to: usize| {
        let members = &sorted[from..to];
        let mean = members.iter().sum::<f64>() / members.len() as f64;
        members.iter().map(|l| (l - mean) * (l - mean)).sum::<f64>()
    };
    let mut best: Vec<f64> = (0..=sorted.len()).map(|to| if to == 0 { 0.0 } else { stretch(0, to) }).collect();
    for _ in 1..k {
        best = (0..=sorted.len())
            .map(|to| (0..to).map(|from| best[from] + stretch(from, to)).fold(best[to], f64::min))
            .collect();
    }
    best[sorted.len()]
}

/// Queue lengths such as switches have them: evenly spread, mostly empty with a few long ones, around two levels, and in
/// steps of a packet with many alike.
fn queues(rng: &mut Rng, trial: u32) -> Vec<u64> {
    let n = [4, 8, 16, 64][(trial / 4 % 4) as usize];
    (0..n)
        .map(|_| match trial % 4 {
            0 => rng.below(400_000) as u64,
            1 => {
                if rng.below(3) == 0 {
                    rng.below(400_000) as u64
                } else {
                    0
                }
            }
            2 => rng.below(20_000) as u64 + if rng.below(2) == 0 { 150_000 } else { 0 },
            _ => rng.below(12) as u64 * 1_048,
        })
        .collect()
}

#[test]
fn lengths_far_apart_are_told_apart_whatever_the_start() {
    let lengths = [100_000, 0, 1_048, 250_000, 0, 104_800, 2_096, 251_000];
    for start in [Start::Quantile, Start::Random] {
        for seed in 0..200 {
            let mut points = paths(&lengths);
            let clusters = classify(&mut points, 3, start, &mut Rng::stream(seed, "test", 0));
            let means: Vec<f64> = clusters.centroids().iter().map(|c| c.sum as f64 / f64::from(c.count)).collect();
            assert!(means.is_sorted(), "{means:?}");
            if start == Start::Quantile {
                assert_eq!(points.iter().map(Point::cluster).collect::<Vec<_>>(), [1, 0, 0, 2, 0, 1, 0, 2]);
                assert_eq!(means, [786.0, 102_400.0, 250_500.0]);
            }
        }
    }
}

#[test]
fn there_are_no_more_clusters_than_different_lengths() {
    for start in [Start::Quantile, Start::Random] {
        for (lengths, k, many) in [
            (&[7, 7, 7][..], 3, 1),
            (&[7, 9, 7], 3, 2),
            (&[1, 2, 3, 4], 4, 4),
            (&[1, 2, 3, 4], 9, 4),
            (&[5], 1, 1),
            (&[], 3, 0),
            (&[0, 1, 2], 1, 1),
        ] {
            let (assigned, clusters) = assigned(lengths, k, start);
            assert_eq!((clusters.centroids().len(), clusters.settled), (many, true), "{lengths:?}");
            let least = if many == 0 { 0.0 } else { least_cost(lengths, many) };
            assert_eq!(cost(lengths, &assigned), least, "{lengths:?}");
        }
    }
}

#[test]
fn a_path_without_a_length_takes_no_part() {
    let mut points = paths(&[10, 20, 900]);
    points.insert(1, Path { length: None, cluster: 9 });
    let clusters = classify(&mut points, 2, Start::Quantile, &mut Rng::stream(1, "test", 0));
    assert_eq!(points.iter().map(|p| p.cluster).collect::<Vec<_>>(), [0, 9, 0, 1]);
    assert_eq!(clusters.centroids()[0].count, 2);
}

#[test]
fn distances_compare_exactly_and_the_shorter_wins_a_tie() {
    let [low, high] = [Centroid { sum: 10, count: 3 }, Centroid { sum: 20, count: 3 }];
    assert!(!high.nearer(&low, 5) && !low.nearer(&high, 5), "5 lies in the middle of 10/3 and 20/3");
    assert_eq!(nearest(&[low, high], 5), 0);
    assert_eq!(nearest(&[low, high], 6), 1);
    assert_eq!(Centroid { sum: 10, count: 3 }, Centroid { sum: 40, count: 12 });
    let long = Centroid { sum: u64::MAX, count: 1 };
    assert!(long.nearer(&low, u64::MAX) && low.nearer(&long, 0));
}

#[test]
fn a_cluster_that_loses_its_members_keeps_its_centroid() {
    let mut points = paths(&[0, 4, 4, 4, 8, 8, 8, 12]);
    let mut centroids = [3, 6, 9].map(|sum| Centroid { sum, count: 1 });
    assert!(!round(&mut points, &mut centroids), "4 is nearer to 3 and 8 to 9 than either to 6");
    assert_eq!(points.iter().map(Point::cluster).collect::<Vec<_>>(), [0, 0, 0, 0, 2, 2, 2, 2]);
    assert_eq!((centroids[1].sum, centroids[1].count), (6, 1));
}

#[test]
fn random_starts_take_every_set_of_different_lengths_as_often() {
    let points = paths(&[5, 5, 5, 5, 6, 7, 8]);
    let mut rng = Rng::stream(1, "test", 0);
    let mut seen = [0u32; 16];
    for _ in 0..12_000 {
        let (centroids, k) = different(&points, 2, &mut rng);
        assert_eq!(k, 2);
        seen[1 << (centroids[0].sum - 5) | 1 << (centroids[1].sum - 5)] += 1;
    }
    assert_eq!(seen.iter().filter(|n| **n > 0).count(), 6);
    assert!(seen.iter().all(|n| *n == 0 || n.abs_diff(2_000) < 200), "{seen:?}");
}

#[test]
fn the_cost_never_rises_and_the_end_is_a_fixed_point() {
    let mut rng = Rng::stream(1, "queues", 0);
    let (mut longest, mut unsettled) = (0, 0);
    for trial in 0..4_000 {
        let lengths = queues(&mut rng, trial);
        let start = if trial % 3 == 0 { Start::Random } else { Start::Quantile };
        let k = 2 + (trial / 16 % 4) as usize;
        let mut points = paths(&lengths);
        // Round by round, as the whole does it.
        let (mut centroids, k) = match start {
            Start::Quantile => quantiles(&points, k),
            Start::Random => different(&points, k, &mut rng.clone()),
        };
        let (mut before, mut rounds) = (f64::INFINITY, 0);
        loop {
            let moved = round(&mut points, &mut centroids[..k]);
            rounds += 1;
            let now = cost(&lengths, &points.iter().map(|p| p.cluster).collect::<Vec<_>>());
            assert!(now <= before * (1.0 + 1e-12), "{before} to {now}: {lengths:?}");
            before = now;
            if !moved {
                break;
            }
        }
        // Sixty-four paths may need a few more rounds; those of a real leaf settle.
        unsettled += u32::from(rounds > u32::from(MOST_ROUNDS));
        assert!(lengths.len() == 64 || rounds <= u32::from(MOST_ROUNDS), "{rounds} rounds: {lengths:?}");
        longest = longest.max(rounds);
        let again = points.clone();
        assert!(!round(&mut points, &mut centroids[..k]));
        assert!(points.iter().zip(&again).all(|(a, b)| a.cluster == b.cluster), "{lengths:?}");
        let mut whole = paths(&lengths);
        let clusters = classify(&mut whole, k, start, &mut rng);
        assert_eq!(clusters.settled, rounds <= u32::from(MOST_ROUNDS));
        assert_eq!(u32::from(clusters.rounds), rounds.min(u32::from(MOST_ROUNDS)));
        if clusters.settled {
            assert!(whole.iter().zip(&again).all(|(a, b)| a.cluster == b.cluster), "{lengths:?}");
        }
    }
    eprintln!("at most {longest} rounds; {unsettled} of 4,000 want more than {MOST_ROUNDS}");
    assert!(unsettled < 40 && longest < 40, "{unsettled} want more rounds, at most {longest}");
}

/// Returns how much costlier than the best division the classification is, over many queues: (mean, maximum, share of
/// the best).
fn gap(start: Start, k: usize, n: usize) -> (f64, f64, f64) {
    let mut rng = Rng::stream(2, "queues", n as u64);
    let mut gaps = vec![];
    for trial in 0..4_000 {
        let lengths: Vec<u64> = queues(&mut rng, trial);
        if lengths.len() != n {
            continue;
        }
        let mut points = paths(&lengths);
        classify(&mut points, k, start, &mut rng);
        let found = cost(&lengths, &points.iter().map(|p| p.cluster).collect::<Vec<_>>());
        let least = least_cost(&lengths, k);
        assert!(found >= least * (1.0 - 1e-9), "better than the best: {lengths:?}");
        // Relative to the cost of one cluster, so that a best of zero can be compared with.
        let one = cost(&lengths, &vec![0; n]).max(1.0);
        gaps.push((found - least) / one);
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let best = gaps.iter().filter(|gap| **gap < 1e-9).count() as f64 / gaps.len() as f64;
    (mean, gaps.iter().copied().fold(0.0, f64::max), best)
}

#[test]
fn the_gap_to_the_best_division_is_small_and_the_quantile_start_is_no_worse() {
    for n in [8, 16, 64] {
        let [quantile, random] = [Start::Quantile, Start::Random].map(|start| {
            let (mean, worst, best) = gap(start, 3, n);
            let percent = best * 100.0;
            eprintln!("{n} paths, {start:?}: mean gap {mean:.5}, greatest {worst:.4}, {percent:.0} % at the best");
            assert!(best > 0.3, "{n} paths, {start:?}: {percent:.0} % at the best");
            mean
        });
        assert!(quantile < 0.015 && random < 0.025, "{n} paths: mean gaps {quantile} and {random}");
        assert!(quantile < random, "{n} paths: mean gaps {quantile} and {random}");
    }
}
