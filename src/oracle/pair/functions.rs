//! Functions made of others: each bound is the sum of the bounds of pair arithmetic.

use super::basic::KNOWN;
use super::{Pair, Tables, add, div, exp, expm1, power_of_two};

/// One, but for less than 2^-110.
pub const NEARLY_ONE: Pair = Pair { hi: 1.0, lo: 0.0, error: power_of_two(-110) };

/// `(e^2|x| - 1) / (e^2|x| + 1)` with the sign of x.
///
/// With `e = expm1(2 |x|)` it is `e / (e + 2)`, whose derivative by e, `2 / (e + 2)^2`, is positive: an error of e gives at
/// most what the quotient's bound adds up for numerator and denominator apart. From 40 on it is above 1 - 2 e^-80 >
/// 1 - 2^-114.
#[inline(always)]
pub fn tanh(x: Pair, tables: &Tables) -> Pair {
    let size = if x.hi < 0.0 { x.neg() } else { x };
    let e = expm1(Pair { hi: 2.0 * size.hi, lo: 2.0 * size.lo, error: 2.0 * size.error }, tables);
    let quotient = div(e, add(e, Pair::exact(2.0)));
    let result = if is_large(size, 40.0) { NEARLY_ONE } else { quotient };
    if x.hi < 0.0 { result.neg() } else { result }
}

/// `1 / (1 + e^-x)`, the formula as it stands; from 80 on above 1 - e^-80 > 1 - 2^-115.
#[inline(always)]
pub fn logistic(x: Pair, tables: &Tables) -> Pair {
    let one = Pair::exact(1.0);
    let quotient = div(one, add(one, exp(x.neg(), tables)));
    if is_large(x, 80.0) { NEARLY_ONE } else { quotient }
}

/// Whether a finite x is above the limit for certain.
#[inline(always)]
pub fn is_large(x: Pair, limit: f64) -> bool {
    x.hi > limit + 1.0 && x.hi < f64::INFINITY && x.error < KNOWN
}
