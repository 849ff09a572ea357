//! Interval operations for long loops: no branches, and regular operands only.
//!
//! Each gives what the operation of [`Interval`] gives, or, where an operand or an end is zero, not finite or far from 1,
//! [`IRREGULAR`].

use super::Interval;
use super::directed::{product_error, two_sum};

/// No interval: its ends are the wrong way round.
pub const IRREGULAR: Interval = Interval { lo: 1.0, hi: 0.0 };

/// Between these, in magnitude, Dekker's products and remainders are exact.
const SMALL: f64 = f64::from_bits((1023 - 400) << 52);
const LARGE: f64 = f64::from_bits((1023 + 400) << 52);

#[inline(always)]
fn is_regular(x: f64) -> bool {
    x.abs() > SMALL && x.abs() < LARGE
}

/// The number below a regular one.
#[inline(always)]
pub fn below(x: f64) -> f64 {
    let bits = x.to_bits();
    f64::from_bits(if x < 0.0 { bits.wrapping_add(1) } else { bits.wrapping_sub(1) })
}

/// The number above a regular one.
#[inline(always)]
pub fn above(x: f64) -> f64 {
    -below(-x)
}

/// The ends `lower + error` and `upper + error` rounded outwards.
#[inline(always)]
fn ends(lower: (f64, f64), upper: (f64, f64), regular: bool) -> Interval {
    let lo = if lower.1 < 0.0 { below(lower.0) } else { lower.0 };
    let hi = if upper.1 > 0.0 { above(upper.0) } else { upper.0 };
    if regular && is_regular(lower.0) && is_regular(upper.0) { Interval { lo, hi } } else { IRREGULAR }
}

/// [`Interval::add`] of regular sums.
#[inline(always)]
pub fn add(x: Interval, y: Interval) -> Interval {
    // An unknown operand, or NaN, gives no regular sum.
    ends(two_sum(x.lo, y.lo), two_sum(x.hi, y.hi), true)
}

/// [`Interval::sub`] of regular differences.
#[inline(always)]
pub fn sub(x: Interval, y: Interval) -> Interval {
    ends(two_sum(x.lo, -y.hi), two_sum(x.hi, -y.lo), true)
}

/// [`Interval::mul`] of positive numbers.
#[inline(always)]
pub fn mul(x: Interval, y: Interval) -> Interval {
    let product = |a: f64, b: f64| (a * b, product_error(a, b, a * b));
    let regular = x.lo > SMALL && x.hi < LARGE && y.lo > SMALL && y.hi < LARGE;
    ends(product(x.lo, y.lo), product(x.hi, y.hi), regular)
}

/// [`Interval::div`] of positive numbers.
#[inline(always)]
pub fn div(x: Interval, y: Interval) -> Interval {
    // The sign of the remainder is that of the error, as the divisor is positive.
    let quotient = |a: f64, b: f64| {
        let quotient = a / b;
        let product = quotient * b;
        (quotient, (a - product) - product_error(quotient, b, product))
    };
    let regular = x.lo > SMALL && x.hi < LARGE && y.lo > SMALL && y.hi < LARGE;
    ends(quotient(x.lo, y.hi), quotient(x.hi, y.lo), regular)
}
