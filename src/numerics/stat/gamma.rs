//! Rounding-error constants, never below the real number they stand for.

/// `n u / (1 - n u)`, the constant of `n` successive roundings with unit roundoff `u`, rounded up.
///
/// `None` where n u reaches 1 and no bound exists, or `u` is not in (0, 1).
/// Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1.
pub fn gamma(n: u64, u: f64) -> Option<f64> {
    let nu = product_up(n, u)?;
    if n == 0 {
        return Some(0.0);
    }
    let rest = (1.0 - nu).next_down();
    if rest > 0.0 { Some((nu / rest).next_up()) } else { None }
}

/// `n u`, rounded up: a sum of n + 1 numbers of a format, each addition rounded to nearest with unit roundoff `u`, errs by no more
/// than that share of the sum of their magnitudes, in any order and for any n. One operand of each addition may be no number of
/// the format, such as a product, and is then one of the n + 1.
///
/// Source: S. M. Rump, Error estimation of floating-point summation and dot product, BIT 52(1), 2012; docs/proofs/bounds.md has the proof.
pub fn sum_share(n: u64, u: f64) -> f64 {
    (n as f64).next_up() * u * (1.0 + 2.0 * f64::EPSILON)
}

/// `(1 + u)^-n`, rounded down: a sum of numbers none of which is negative, each of which meets at most `n` additions rounded to
/// nearest, is no less than that share of their exact sum.
pub fn least_share(n: u64, u: f64) -> f64 {
    let (mut power, mut square, mut left) = (1.0f64, (1.0 + u).next_up(), n);
    while left > 0 {
        if left & 1 == 1 {
            power = (power * square).next_up();
        }
        square = (square * square).next_up();
        left >>= 1;
    }
    (1.0 / power).next_down().max(0.0)
}

/// `exp(lambda sqrt(n) u + n u^2 / (1 - u)) - 1`, rounded up, and the probability with which a sum of `terms` terms, each
/// of which meets `n` roundings at most, may exceed it: `2 terms exp(-lambda^2 (1 - u)^2 / 2)`, rounded up and at most 1.
/// Each term's roundings may fail it, however few they are, so the probabilities of all terms add up.
///
/// Holds for independent rounding errors of mean zero. `None` for a lambda that is not positive or a `u` outside (0, 1).
/// Source: N. J. Higham, T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41
/// (2019) A2815-A2835, theorems 2.4 and 3.1.
pub fn probabilistic_gamma(n: u64, terms: u64, u: f64, lambda: f64) -> Option<(f64, f64)> {
    if !(lambda > 0.0 && lambda.is_finite()) {
        return None;
    }
    let nu = product_up(n, u)?;
    let n = if n == 0 { 0.0 } else { (n as f64).next_up() };
    let first = (lambda * n.sqrt().next_up()).next_up() * u;
    let second = (nu * u).next_up() / (1.0 - u).next_down();
    let bound = core_math::expm1((first.next_up() + second.next_up()).next_up()).next_up();
    let shrunk = (lambda * (1.0 - u).next_down()).next_down();
    let exponent = (shrunk * shrunk / 2.0).next_down();
    let failure = (2.0 * (terms as f64).next_up() * core_math::exp(-exponent).next_up()).next_up();
    Some((bound, failure.min(1.0)))
}

/// The `lambda` for which [`probabilistic_gamma`] of so many terms states a failure probability of `failure` or a little
/// less.
/// `None` for a probability outside (0, 1) or a `u` outside (0, 1).
pub fn probabilistic_lambda(terms: u64, u: f64, failure: f64) -> Option<f64> {
    if !(failure > 0.0 && failure < 1.0 && u > 0.0 && u < 1.0) {
        return None;
    }
    let squared = 2.0 * core_math::log(2.0 * terms.max(1) as f64 / failure);
    // A part in 2^40 more than the solution outweighs every rounding on the way back.
    Some(squared.sqrt() / (1.0 - u) * (1.0 + 4096.0 * f64::EPSILON))
}

/// `n * u` rounded up; `None` if `u` is not in (0, 1).
fn product_up(n: u64, u: f64) -> Option<f64> {
    if !(u > 0.0 && u < 1.0) {
        return None;
    }
    let n = if n < 1 << 53 { n as f64 } else { (n as f64).next_up() };
    let product = n * u;
    // The fused form gives the rounding error of the product exactly: most products are exact and stay so.
    Some(if n.mul_add(u, -product) > 0.0 { product.next_up() } else { product })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::{BF16, F32, FORMATS};
    use rug::Float;

    #[test]
    fn what_a_sum_keeps_is_below_the_real_share_and_what_it_errs_by_above() {
        for u in [BF16.unit_roundoff(), F32.unit_roundoff()] {
            for n in [0u64, 1, 2, 255, 1023, 131_071, 1 << 20] {
                let errs = Float::with_val(400, n) * u;
                let share = sum_share(n, u);
                assert!(errs <= share && share <= errs * (1.0 + 1e-14) + 1e-300, "{n} {share}");
                let power = (Float::with_val(400, 1.0 + u).ln() * Float::with_val(400, n)).exp();
                let kept = Float::with_val(400, &power * least_share(n, u));
                assert!(kept <= 1.0 && (kept >= 1.0 - 1e-9 || power > 1e300), "{n} {kept}");
            }
        }
    }

    #[test]
    fn gamma_is_the_next_float_or_two_above_the_real_one() {
        for format in FORMATS {
            let u = format.unit_roundoff();
            for n in [1u64, 2, 3, 7, 100, 255, 1000, 4096, 1_000_003] {
                let nu = Float::with_val(400, n) * u;
                match gamma(n, u) {
                    None => assert!(nu >= 1),
                    Some(bound) => {
                        let rest = Float::with_val(400, 1u32 - &nu);
                        let exact = Float::with_val(400, &nu / &rest);
                        assert!(exact <= bound, "{} {n}", format.name);
                        assert!(Float::with_val(400, &exact * (1.0 + 1e-15)) >= bound, "{} {n}", format.name);
                    }
                }
            }
        }
        assert_eq!(gamma(0, BF16.unit_roundoff()), Some(0.0));
        assert_eq!(gamma(256, BF16.unit_roundoff()), None);
        assert_eq!(gamma(1, 0.0), None);
        assert_eq!(gamma(u64::MAX, F32.unit_roundoff()), None);
    }

    #[test]
    fn probabilistic_gamma_lies_above_its_formula_and_below_gamma() {
        for (n, terms, format) in
            [(100u64, 100u64, &BF16), (4096, 4096, &F32), (1 << 22, 1 << 22, &F32), (638, 65536, &F32)]
        {
            let u = format.unit_roundoff();
            let lambda = probabilistic_lambda(terms, u, 1e-6).unwrap();
            let (bound, failure) = probabilistic_gamma(n, terms, u, lambda).unwrap();
            let wide = |x: f64| Float::with_val(300, x);
            let first: Float = wide(lambda) * wide(n as f64).sqrt() * u;
            let second: Float = wide(n as f64) * u * u / (1 - wide(u));
            let exact = (first + second).exp_m1();
            assert!(exact <= bound && exact * 1.000_000_000_001 >= bound, "n = {n}");
            let shrunk: Float = wide(lambda) * (1 - wide(u));
            let half_square: Float = shrunk.square() / 2u32;
            let chance: Float = 2 * wide(terms as f64) * (-half_square).exp();
            assert!(chance <= failure && failure <= 1e-6 && failure > 0.99e-6, "n = {n}: {failure}");
            if let Some(certain) = gamma(n, u) {
                assert!(n < 1000 || bound < certain);
            }
        }
        assert_eq!(probabilistic_gamma(10, 10, F32.unit_roundoff(), 0.0), None);
        assert_eq!(probabilistic_lambda(10, F32.unit_roundoff(), 1.5), None);
        assert_eq!(probabilistic_gamma(10, 10, F32.unit_roundoff(), 1e-3).unwrap().1, 1.0);
    }
}
