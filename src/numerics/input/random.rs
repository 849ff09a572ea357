//! Random numbers from random bits, with the same result on every machine.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// Draws from one stream. Only IEEE operations and correctly rounded functions lie between the bits and the numbers.
pub struct Sampler {
    rng: ChaCha8Rng,
    /// The second normal of the last pair.
    spare: Option<f64>,
}

/// 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;

impl Sampler {
    /// Draws from the keystream of this generator, from where it stands.
    pub(super) fn new(rng: ChaCha8Rng) -> Sampler {
        Sampler { rng, spare: None }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Uniform on [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * UNIT
    }

    /// Uniform on (0, 1), an odd multiple of 2^-53.
    #[inline]
    pub fn open_uniform(&mut self) -> f64 {
        // Odd multiples of the unit: neither 0 nor 1, whose logarithms are no numbers to draw.
        ((self.bits() >> 12 << 1) + 1) as f64 * UNIT
    }

    /// Uniform on [-1, 1), a multiple of 2^-53.
    #[inline]
    pub fn signed_uniform(&mut self) -> f64 {
        (self.bits() as i64 >> 10) as f64 * UNIT
    }

    /// A point uniform in the unit disc without its centre: u and u^2 + v^2, and v.
    #[inline]
    pub(super) fn disc(&mut self) -> (f64, f64, f64) {
        loop {
            let (u, v) = (self.signed_uniform(), self.signed_uniform());
            let squared = u * u + v * v;
            if squared < 1.0 && squared > 0.0 {
                return (u, v, squared);
            }
        }
    }

    /// Normal of mean 0 and variance 1: G. Marsaglia, T. A. Bray, A Convenient Method for Generating Normal Variables,
    /// SIAM Review 6 (1964) 260-264, with a correctly rounded logarithm.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let (u, v, squared) = self.disc();
        // Marsaglia's polar method: a logarithm and a root, both correctly rounded, so that all platforms draw the same bits.
        let factor = (-2.0 * core_math::log(squared) / squared).sqrt();
        self.spare = Some(v * factor);
        u * factor
    }

    /// Standard Gumbel: -ln(-ln u), u uniform on (0, 1).
    #[inline]
    pub fn gumbel(&mut self) -> f64 {
        -core_math::log(-core_math::log(self.open_uniform()))
    }

    /// Uniform on 0..`limit`, without bias; 0 for a limit of 0. D. Lemire, Fast Random Integer Generation in an
    /// Interval, ACM Trans. Model. Comput. Simul. 29 (2019), algorithm 5.
    pub fn below(&mut self, limit: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(limit);
        if (product as u64) < limit {
            // Lemire's method: draws from the short last interval are thrown away, so that no number is more likely.
            let short = limit.wrapping_neg() % limit;
            while (product as u64) < short {
                product = u128::from(self.bits()) * u128::from(limit);
            }
        }
        (product >> 64) as u64
    }

    /// `count` distinct numbers below `limit` in random order, each set equally likely; all of them if there are fewer.
    /// R. W. Floyd's algorithm (Bentley, Floyd, CACM 30 (1987) 754-757), then a shuffle.
    pub fn distinct_below(&mut self, limit: usize, count: usize) -> Vec<usize> {
        let mut taken = BTreeSet::new();
        let mut chosen = Vec::with_capacity(count.min(limit));
        for last in limit.saturating_sub(count)..limit {
            let candidate = self.below(last as u64 + 1) as usize;
            // Floyd's method: memory and draws are those of what is chosen, however large the range is.
            let next = if taken.insert(candidate) { candidate } else { last };
            taken.insert(next);
            chosen.push(next);
        }
        // Floyd's order is not random: later numbers come later more often.
        for i in (1..chosen.len()).rev() {
            chosen.swap(i, self.below(i as u64 + 1) as usize);
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::super::{InputKey, Streams};
    use super::Sampler;

    fn sampler() -> Sampler {
        Streams::new(&InputKey { suite: "test".into(), input: "none".into(), n: 0, seed: 0 }).sampler(0, 0)
    }

    /// Mean of `n` draws against what it should be, in standard errors.
    fn off(n: u32, mean: f64, variance: f64, mut draw: impl FnMut() -> f64) -> f64 {
        let sum: f64 = (0..n).map(|_| draw()).sum();
        (sum / f64::from(n) - mean) / (variance / f64::from(n)).sqrt()
    }

    /// Each moment within four standard errors: all together fail by chance less than once in a thousand generators.
    #[test]
    fn moments() {
        let mut s = sampler();
        let n = 200_000;
        let mut check = |mean: f64, variance: f64, draw: &dyn Fn(&mut Sampler) -> f64| {
            let z = off(n, mean, variance, || draw(&mut s));
            assert!(z.abs() < 4.0, "mean {mean}: {z} standard errors");
        };
        check(0.5, 1.0 / 12.0, &Sampler::uniform);
        check(0.5, 1.0 / 12.0, &Sampler::open_uniform);
        check(1.0 / 3.0, 4.0 / 45.0, &|s| s.signed_uniform().powi(2));
        check(0.0, 1.0, &Sampler::normal);
        check(1.0, 2.0, &|s| s.normal().powi(2));
        check(3.0, 96.0, &|s| s.normal().powi(4));
        // Neighbours, among them the two of a pair, are uncorrelated.
        check(0.0, 1.0, &|s| s.normal() * s.normal());
        check(0.577_215_664_901_532_9, std::f64::consts::PI.powi(2) / 6.0, &Sampler::gumbel);
        check(3.0, 4.0, &|s| s.below(7) as f64);
        // P(|normal| > 3) = 0.0026998.
        check(0.002_699_8, 0.002_692_5, &|s| f64::from(u8::from(s.normal().abs() > 3.0)));
    }

    #[test]
    fn bounds_hold_and_sets_are_distinct() {
        let mut s = sampler();
        assert_eq!(s.below(0), 0);
        assert_eq!(s.below(1), 0);
        let mut counts = [0u32; 5];
        for _ in 0..1000 {
            let u = s.open_uniform();
            assert!(0.0 < u && u < 1.0);
            let mut chosen = s.distinct_below(5, 2);
            chosen.iter().for_each(|i| counts[*i] += 1);
            chosen.dedup();
            assert_eq!(chosen.len(), 2);
        }
        // Each is chosen with probability 2/5: within five standard deviations of sqrt(240).
        assert!(counts.iter().all(|c| (f64::from(*c) - 400.0).abs() < 78.0), "{counts:?}");
        let mut all = s.distinct_below(4, 9);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2, 3]);
    }
}
