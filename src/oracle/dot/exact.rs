//! Sums of products in MPFR with enough bits never to round.

use rug::float::prec_min;
use rug::{Assign, Float};

use super::facts::{Facts, ceil_log2};

/// The sum of products of `lhs` and `rhs`, exactly, at the precision that takes; the longer one is cut to the shorter.
///
/// Infinities and NaN follow IEEE. A zero has the sign that IEEE addition in order gives; the empty sum is +0.
pub fn exact_dot(lhs: impl Iterator<Item = f64>, rhs: impl Iterator<Item = f64>) -> Float {
    let pairs: Vec<(f64, f64)> = lhs.zip(rhs).collect();
    // All products are multiples of 2^grid below 2^top, and so many of them stay below 2^(top + ceil_log2).
    let (grid, top) = pairs
        .iter()
        .filter(|(a, b)| a.is_finite() && b.is_finite() && *a != 0.0 && *b != 0.0)
        .map(|(a, b)| (Facts::of(&[*a]), Facts::of(&[*b])))
        .map(|(a, b)| (a.grid + b.grid, a.top + b.top))
        .fold((i32::MAX, i32::MIN), |(grid, top), (low, high)| (grid.min(low), top.max(high)));
    let bits = top.saturating_sub(grid).max(0) + ceil_log2(pairs.len());
    let start = if pairs.is_empty() { 0.0 } else { -0.0 };
    let mut sum = Float::with_val(bits.unsigned_abs().max(prec_min()), start);
    let (mut x, mut y) = (Float::new(f64::MANTISSA_DIGITS), Float::new(f64::MANTISSA_DIGITS));
    for (a, b) in pairs {
        x.assign(a);
        y.assign(b);
        // A fused multiply-add: one rounding, to a precision that holds the result.
        sum += &x * &y;
    }
    sum
}
