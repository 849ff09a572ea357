//! Cosines of rational parts of a turn, and which of their rational combinations are rational numbers.
//!
//! `2 cos(2 pi r / n)` is `z^r + z^-r` with z a primitive n-th root of unity, so that a rational combination of cosines is a
//! polynomial in z. It is zero exactly if the n-th cyclotomic polynomial divides that polynomial: a question of integers
//! ([`vanishes`]).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rug::{Float, Rational};

/// A part of a turn strictly between none and a quarter, other than a sixth, in lowest terms: its cosine is irrational
/// (Niven, Irrational Numbers, 1956, 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Turn {
    numerator: u32,
    denominator: u32,
}

/// A cosine of a part of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cosine {
    /// Half of this integer.
    Halves(i8),
    /// The cosine of a part of a turn, or its negative.
    Of {
        /// The part.
        turn: Turn,
        /// Whether this is the negative of its cosine.
        is_negative: bool,
    },
}

impl Cosine {
    /// The cosine of this part of a turn; `None` for one whose numbers are too large. The denominator is not zero.
    pub fn new(numerator: u64, denominator: u64) -> Option<Cosine> {
        let (mut r, mut n) = (numerator % denominator, denominator);
        // cos(1 - t) = cos t
        if r > n - r {
            r = n - r;
        }
        // cos(1/2 - t) = -cos t
        let is_negative = r > n / 4 && r.checked_mul(4)? > n;
        if is_negative {
            (r, n) = (n - r.checked_mul(2)?, n.checked_mul(2)?);
        }
        let divisor = gcd(r, n);
        let (numerator, denominator) = (u32::try_from(r / divisor).ok()?, u32::try_from(n / divisor).ok()?);
        let sign = if is_negative { -1 } else { 1 };
        Some(match (numerator, denominator) {
            (0, _) => Cosine::Halves(2 * sign),
            (1, 6) => Cosine::Halves(sign),
            (1, 4) => Cosine::Halves(0),
            _ => Cosine::Of { turn: Turn { numerator, denominator }, is_negative },
        })
    }
}

impl Turn {
    /// Numerator and denominator.
    pub fn parts(self) -> (u32, u32) {
        (self.numerator, self.denominator)
    }

    /// Twice the product of two cosines: the cosines of the sum and of the difference.
    pub fn twice_product(self, other: Turn) -> Option<[Cosine; 2]> {
        let [(a, m), (b, n)] = [self, other].map(|turn| (u64::from(turn.numerator), u64::from(turn.denominator)));
        let common = m.checked_mul(n / gcd(m, n))?;
        let (a, b) = (a.checked_mul(common / m)?, b.checked_mul(common / n)?);
        Some([Cosine::new(a.checked_add(b)?, common)?, Cosine::new(a.abs_diff(b), common)?])
    }

    /// The cosine, nearly.
    fn estimate(self) -> f64 {
        Float::with_val(f64::MANTISSA_DIGITS, self.numerator).cos_u(self.denominator).to_f64()
    }

    /// The mean of the conjugates of its cosine, `mu(n) / phi(n)` for the denominator n.
    fn mean(self) -> Rational {
        let (mut mean, mut rest) = (Rational::from(1), self.denominator);
        for prime in primes(self.denominator) {
            rest /= prime;
            if rest.is_multiple_of(prime) {
                return Rational::new();
            }
            mean /= -Rational::from(prime - 1);
        }
        mean
    }
}

/// Roots of unity of a higher order than this are not looked at.
const ORDER: u64 = 1 << 20;
/// Relative to the coefficients, how far apart two estimates are that may be of one number.
const NEAR: f64 = 1e-9;

/// The rational number that this combination of cosines is; `None` where it is irrational, or not looked at.
///
/// A rational number is the mean of its conjugates. So the only candidate is the combination of the means, and it is the one
/// if the difference vanishes.
pub(super) fn rational<'a>(terms: impl Iterator<Item = (Turn, &'a Rational)> + Clone) -> Option<Rational> {
    let (mut mean, mut estimate, mut size) = (Rational::new(), 0.0, 0.0);
    for (turn, coefficient) in terms.clone() {
        mean += turn.mean() * coefficient;
        let coefficient = coefficient.to_f64();
        estimate += coefficient * turn.estimate();
        size += coefficient.abs();
    }
    // Estimates only save work: what they leave out stays a combination of cosines.
    if (estimate - mean.to_f64()).abs() > NEAR * size {
        return None;
    }
    let mut order = 1u64;
    for (turn, _) in terms.clone() {
        let denominator = u64::from(turn.denominator);
        order = order.checked_mul(denominator / gcd(order, denominator)).filter(|order| *order <= ORDER)?;
    }
    let mut polynomial = RootPolynomial::new();
    add(&mut polynomial, 0, &Rational::from(&mean * -2));
    for (turn, coefficient) in terms {
        let power = u64::from(turn.numerator) * (order / u64::from(turn.denominator));
        add(&mut polynomial, power, coefficient);
        add(&mut polynomial, order - power, coefficient);
    }
    vanishes(polynomial, order).then_some(mean)
}

/// Coefficients by the power of a root of unity, none of them zero.
type RootPolynomial = BTreeMap<u64, Rational>;

fn add(polynomial: &mut RootPolynomial, power: u64, coefficient: &Rational) {
    let own = polynomial.entry(power).or_default();
    *own += coefficient;
    if own.cmp0() == Ordering::Equal {
        polynomial.remove(&power);
    }
}

/// Whether a polynomial is zero at the primitive roots of unity of this order; its powers lie below the order.
///
/// Proof. `x^n - 1` is the product of the cyclotomic polynomials of all divisors d of n. With P the product of
/// `1 - x^(n / p)` over the primes p that divide n, each of these but the n-th divides P, since a d < n divides some n / p,
/// and the n-th one has no root in common with P. So `x^n - 1` divides P times the polynomial exactly if the n-th
/// cyclotomic polynomial divides the polynomial.
fn vanishes(mut polynomial: RootPolynomial, order: u64) -> bool {
    for prime in primes(order as u32) {
        let step = order / u64::from(prime);
        for (power, coefficient) in polynomial.clone() {
            add(&mut polynomial, (power + step) % order, &-coefficient);
        }
    }
    polynomial.is_empty()
}

/// The primes that divide a number.
fn primes(mut number: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut candidate = 2;
    while number > 1 {
        if candidate > number / candidate {
            candidate = number;
        }
        if number.is_multiple_of(candidate) {
            found.push(candidate);
            while number.is_multiple_of(candidate) {
                number /= candidate;
            }
        }
        candidate += 1;
    }
    found
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A combination of cosines of parts of a turn, with the rational part of those that are rational.
    fn combination(parts: &[(i64, u64, u64)]) -> (Rational, Vec<(Turn, Rational)>) {
        let (mut constant, mut terms) = (Rational::new(), Vec::new());
        for (coefficient, numerator, denominator) in parts {
            match Cosine::new(*numerator, *denominator).unwrap() {
                Cosine::Halves(halves) => constant += Rational::from((coefficient * i64::from(halves), 2)),
                Cosine::Of { turn, is_negative } => {
                    terms.push((turn, Rational::from(if is_negative { -coefficient } else { *coefficient })));
                }
            }
        }
        (constant, terms)
    }

    fn value(parts: &[(i64, u64, u64)]) -> Option<Rational> {
        let (constant, terms) = combination(parts);
        Some(rational(terms.iter().map(|(turn, coefficient)| (*turn, coefficient)))? + constant)
    }

    /// 10^12 (cos 72 + cos 144 degrees) is -10^12 / 2; one cosine more is irrational, however close estimates are.
    #[test]
    fn a_combination_that_is_nearly_rational_is_not() {
        let many = 1_000_000_000_000;
        assert_eq!(value(&[(many, 1, 5), (many, 2, 5)]), Some(Rational::from((-many, 2))));
        assert_eq!(value(&[(many + 1, 1, 5), (many, 2, 5)]), None);
    }

    #[test]
    fn a_cosine_has_one_name() {
        for denominator in 1..60u64 {
            for numerator in 0..2 * denominator {
                let exact = (std::f64::consts::TAU * numerator as f64 / denominator as f64).cos();
                let named = match Cosine::new(numerator, denominator).unwrap() {
                    Cosine::Halves(halves) => f64::from(halves) / 2.0,
                    Cosine::Of { turn, is_negative } => {
                        assert!(turn.numerator > 0 && 4 * turn.numerator < turn.denominator, "{turn:?}");
                        if is_negative { -turn.estimate() } else { turn.estimate() }
                    }
                };
                assert!((exact - named).abs() < 1e-14, "cosine of {numerator}/{denominator}: {named}");
            }
        }
        assert!(Cosine::new(1, 1 << 40).is_none() && Cosine::new(u64::MAX / 3, u64::MAX).is_none());
    }

    /// All n-th roots of unity add up to zero, those of one power of a primitive one too, and nothing less does.
    #[test]
    fn sums_over_a_whole_turn_vanish() {
        for n in 2..100u64 {
            for step in [1, 3, n - 1] {
                let whole: Vec<(i64, u64, u64)> = (0..n).map(|j| (1, step * j % n, n)).collect();
                let expected = if step % n == 0 { n as i64 } else { 0 };
                assert_eq!(value(&whole), Some(Rational::from(expected)), "{n}");
            }
        }
        for n in [5u64, 7, 8, 9, 12, 15, 30] {
            let most: Vec<(i64, u64, u64)> = (0..n).map(|j| (if j == 1 { 2 } else { 1 }, j, n)).collect();
            assert_eq!(value(&most), None, "{n}");
        }
    }

    /// `2 cos(2 pi / 5) + 2 cos(4 pi / 5) = -1`; `cos(pi / 5) - cos(2 pi / 5) = 1/2`; the golden ratio is irrational, however
    /// close a quotient comes to it.
    #[test]
    fn rational_combinations_are_told_from_near_ones() {
        assert_eq!(value(&[(2, 1, 5), (2, 2, 5)]), Some(Rational::from(-1)));
        assert_eq!(value(&[(1, 1, 10), (-1, 1, 5)]), Some(Rational::from((1, 2))));
        assert_eq!(value(&[(2, 1, 10)]), None);
        // Fibonacci numbers: the difference is 1e-17 of its terms.
        assert_eq!(value(&[(2 * 701_408_733, 1, 10), (-1_134_903_170, 0, 1)]), None);
        assert_eq!(value(&[(1, 1, 7), (1, 2, 7), (1, 3, 7)]), Some(Rational::from((-1, 2))));
        assert_eq!(value(&[(1, 1, 8), (1, 3, 8)]), Some(Rational::new()));
        assert_eq!(value(&[(1, 1, 8), (1, 1, 12)]), None);
    }

    #[test]
    fn products_are_sums() {
        for (a, m, b, n) in [(1, 5, 2, 5), (1, 5, 1, 7), (1, 8, 1, 8), (1, 12, 1, 5), (1, 9, 2, 9)] {
            let [Cosine::Of { turn: x, is_negative: s }, Cosine::Of { turn: y, is_negative: t }] =
                [Cosine::new(a, m), Cosine::new(b, n)].map(Option::unwrap)
            else {
                panic!("irrational cosines")
            };
            let sum: f64 = x
                .twice_product(y)
                .unwrap()
                .map(|cosine| match cosine {
                    Cosine::Halves(halves) => f64::from(halves) / 2.0,
                    Cosine::Of { turn, is_negative } => turn.estimate() * if is_negative { -1.0 } else { 1.0 },
                })
                .iter()
                .sum();
            let sign = if s == t { 1.0 } else { -1.0 };
            let cosine = |a, n| (std::f64::consts::TAU * a as f64 / n as f64).cos();
            assert!((sign * sum - 2.0 * cosine(a, m) * cosine(b, n)).abs() < 1e-14);
        }
    }
}
