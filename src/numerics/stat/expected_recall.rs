//! Expected recall of an approximate top-k.

use std::collections::BTreeMap;

/// Mean and variance of the recall of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedRecall {
    /// In [0, 1].
    pub mean: f64,
    /// Of a single row.
    pub variance: f64,
}

/// Recall of a top-`k` that keeps the best element of each bin, when the `k` winners fall on any `k` of the positions
/// with equal probability.
///
/// With N positions in bins of sizes n_b, a bin is without winner with probability q_b = C(N - n_b, k) / C(N, k), and
/// mean = (1/k) sum_b (1 - q_b) (FACTS 5.4; the case K' = 1 of Samaga et al., arXiv 2506.04165). The variance is exact
/// too: the bins' covariances are q_bc - q_b q_c with q_bc = C(N - n_b - n_c, k) / C(N, k). All by products of `k`
/// ratios, arranged so that nothing cancels. The mean over R independent rows has `variance / R`.
///
/// `None` if `k` is 0 or above the number of positions. Cost: `k` times the square of the number of distinct sizes.
pub fn expected_recall(bin_sizes: impl IntoIterator<Item = u64>, k: u64) -> Option<ExpectedRecall> {
    let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
    let mut positions = 0u64;
    for size in bin_sizes.into_iter().filter(|size| *size > 0) {
        *counts.entry(size).or_default() += 1.0;
        positions = positions.checked_add(size)?;
    }
    if k == 0 || k > positions {
        return None;
    }
    // 1 - q: the product of (1 - size / (N - i)) less one, negated.
    let hit = |size: u64| -product_minus_one(k, |i| size as f64 / (positions - i) as f64);
    let groups: Vec<(u64, f64, f64)> = counts.iter().map(|(size, count)| (*size, *count, hit(*size))).collect();
    let winners = k as f64;
    let mean = groups.iter().map(|(_, count, hit)| count * hit).sum::<f64>() / winners;

    let mut variance = groups.iter().map(|(_, count, hit)| count * hit * (1.0 - hit)).sum::<f64>();
    for (size, count, hit) in &groups {
        for (other_size, other_count, other_hit) in &groups {
            let pairs = if size == other_size { count * (count - 1.0) } else { count * other_count };
            let both_empty = (1.0 - hit) * (1.0 - other_hit);
            if pairs == 0.0 || both_empty == 0.0 {
                continue;
            }
            // q_bc / (q_b q_c) is the product of 1 - n_b n_c / ((N - n_b - i)(N - n_c - i)).
            let excess = product_minus_one(k, |i| {
                let left = |size: u64| positions.saturating_sub(size + i) as f64;
                (*size as f64 / left(*size)) * (*other_size as f64 / left(*other_size))
            });
            variance += pairs * both_empty * excess;
        }
    }
    // Zero, as for one position a bin, may come out a rounding error below.
    Some(ExpectedRecall { mean, variance: (variance / (winners * winners)).max(0.0) })
}

/// `prod_{i < factors} (1 - loss(i)) - 1` for losses of 0 or more, where one of 1 or more makes the product 0. Without
/// cancellation: every term of the recurrence has the same sign.
fn product_minus_one(factors: u64, loss: impl Fn(u64) -> f64) -> f64 {
    let mut excess = 0.0;
    for i in 0..factors {
        let loss = loss(i);
        if loss >= 1.0 {
            return -1.0;
        }
        excess -= loss * (1.0 + excess);
    }
    excess
}

#[cfg(test)]
mod tests {
    use super::*;
    use rug::{Float, Integer};

    fn choose(n: u64, k: u64) -> Integer {
        Integer::from(n).binomial(u32::try_from(k).unwrap())
    }

    /// The expected recall of Samaga et al. (arXiv 2506.04165; FACTS 5.4), to 500 bits: B buckets of N/B positions, the
    /// best `kept` of each.
    fn samaga(n: u64, buckets: u64, k: u64, kept: u64) -> f64 {
        let size = n / buckets;
        let wide = |n: Integer| Float::with_val(500, n);
        let mut lost = Float::new(500);
        for r in kept + 1..=k.min(size) {
            lost += wide(choose(k, r) * choose(n - k, size - r) * (r - kept)) / wide(choose(n, size));
        }
        1.0 - (lost * buckets / k).to_f64()
    }

    /// FACTS 5.4: N = 32768, K = 40, M = 1024 gives .9818; .9966 and .9993 keep more per bucket.
    #[test]
    fn published_recalls() {
        let recall = expected_recall([32; 1024], 40).unwrap();
        assert!((recall.mean - 0.9818).abs() < 5e-5, "{recall:?}");
        assert!((recall.mean - samaga(32768, 1024, 40, 1)).abs() < 1e-14);
        assert!((samaga(32768, 256, 40, 2) - 0.9966).abs() < 5e-5);
        assert!((samaga(32768, 64, 40, 4) - 0.9993).abs() < 5e-5);
        for (n, buckets, k) in [(4096, 128, 64), (256, 16, 16), (1000, 10, 100), (64, 4, 64)] {
            let recall = expected_recall(vec![n / buckets; buckets as usize], k).unwrap();
            assert!((recall.mean - samaga(n, buckets, k, 1)).abs() < 1e-13, "{n} {buckets} {k}");
        }
    }

    /// All placements of k winners on a few positions, counted.
    #[test]
    fn mean_and_variance_are_those_of_the_enumeration() {
        for bins in [&[3u64, 3, 3][..], &[5, 1, 4], &[1, 1, 1, 1], &[10], &[2, 2, 6, 0]] {
            let n: u64 = bins.iter().sum();
            let bin_of: Vec<usize> =
                bins.iter().enumerate().flat_map(|(b, size)| std::iter::repeat_n(b, *size as usize)).collect();
            for k in 1..=n {
                let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
                for winners in (0u32..1 << n).filter(|set| u64::from(set.count_ones()) == k) {
                    let mut hit = vec![false; bins.len()];
                    (0..n as usize).filter(|i| winners >> i & 1 == 1).for_each(|i| hit[bin_of[i]] = true);
                    let recall = hit.iter().filter(|h| **h).count() as f64 / k as f64;
                    (sum, squares, count) = (sum + recall, squares + recall * recall, count + 1.0);
                }
                let mean = sum / count;
                let got = expected_recall(bins.iter().copied(), k).unwrap();
                assert!((got.mean - mean).abs() < 1e-13, "{bins:?} {k}");
                assert!((got.variance - (squares / count - mean * mean)).abs() < 1e-13, "{bins:?} {k} {got:?}");
            }
        }
    }

    #[test]
    fn no_winners_or_too_many() {
        assert_eq!(expected_recall([4, 4], 0), None);
        assert_eq!(expected_recall([4, 4], 9), None);
        assert_eq!(expected_recall([], 1), None);
    }
}
