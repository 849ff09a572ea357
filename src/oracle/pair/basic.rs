//! Sums, products, quotients and square roots of pairs.

use super::super::interval::two_sum;
use super::{GROWN, IRREGULAR, Pair, power_of_two};

/// Operands and results between these are far from underflow and overflow: products of two halves, their errors and
/// quotients stay normal, or are lost within 2^-140 of the result.
pub const SMALL: f64 = power_of_two(-900);
const LARGE: f64 = power_of_two(900);

/// Inexact operands are known to this relative error at least, so that second-order terms are below 2^-19 of the first.
pub const KNOWN: f64 = power_of_two(-20);
/// Covers those second-order terms.
pub const SECOND_ORDER: f64 = 1.0 + power_of_two(-18);

/// Whether a magnitude is far from underflow and overflow; NaN is not.
#[inline(always)]
pub fn is_moderate(x: f64) -> bool {
    x.abs() > SMALL && x.abs() < LARGE
}

/// The exact sum of two numbers, `|a| >= |b|` or `a` zero (Dekker 1971).
#[inline(always)]
pub fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// The exact product of two numbers, where it is far from underflow and overflow.
#[inline(always)]
pub fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// The product of two double-word numbers, normalised: within 6 u^2 of it, as [`mul`] proves.
#[inline(always)]
pub fn product(x: (f64, f64), y: (f64, f64)) -> (f64, f64) {
    let (high, low) = two_product(x.0, y.0);
    fast_two_sum(high, low + x.1.mul_add(y.0, x.0 * y.1))
}

/// `x + y`.
///
/// Proof. AccurateDWPlusDW, within 3u^2 / (1 - 4u) < 2^-104 of the sum (Joldes, Muller and Popescu, ACM TOMS 44(2),
/// 2017, algorithm 6, theorem 3.1). If both low parts are zero, every step is exact. Sums do not underflow. A bound
/// that underflows stands for an error below the smallest subnormal; every sum is a multiple of that, so the error is
/// zero. A zero with an error, such as an inexact number less itself, is regular: only of exact zeros the sign matters.
#[inline(always)]
pub fn add(x: Pair, y: Pair) -> Pair {
    let (s_high, s_low) = two_sum(x.hi, y.hi);
    let (t_high, t_low) = two_sum(x.lo, y.lo);
    let (v_high, v_low) = fast_two_sum(s_high, s_low + t_high);
    let (hi, lo) = fast_two_sum(v_high, t_low + v_low);
    let is_exact = x.lo == 0.0 && y.lo == 0.0;
    let rounding = if is_exact { 0.0 } else { hi.abs() * power_of_two(-104) };
    let error = (x.error + y.error + rounding) * GROWN;
    let regular =
        hi.abs() < LARGE && x.hi.abs() < LARGE && y.hi.abs() < LARGE && error < LARGE && (hi != 0.0 || error > 0.0);
    if regular { Pair { hi, lo, error } } else { IRREGULAR }
}

/// `x - y`.
#[inline(always)]
pub fn sub(x: Pair, y: Pair) -> Pair {
    add(x, y.neg())
}

/// `x y`.
///
/// Proof. DWTimesDW2, within 6u^2 of the product (Joldes, Muller and Popescu 2017, algorithm 11; 5u^2 by Muller and
/// Rideau, ACM TOMS 48(1), 2022), taken as 2^-103. A cross product that underflows loses 2^-1075, below 2^-170 of
/// the result. The operands' errors add `|x| dy + |y| dx + dx dy`.
#[inline(always)]
pub fn mul(x: Pair, y: Pair) -> Pair {
    let (hi, lo) = product((x.hi, x.lo), (y.hi, y.lo));
    let is_exact = x.lo == 0.0 && y.lo == 0.0 && x.error == 0.0 && y.error == 0.0;
    let rounding = if is_exact { 0.0 } else { hi.abs() * power_of_two(-103) };
    let carried = (x.hi.abs() * y.error + y.hi.abs() * x.error) * SECOND_ORDER + x.error * y.error;
    let error = (carried + rounding) * GROWN;
    let regular = is_moderate(x.hi) && is_moderate(y.hi) && is_moderate(hi) && error < LARGE;
    if regular { Pair { hi, lo, error } } else { IRREGULAR }
}

/// `x / y`.
///
/// Proof. With `q = RN(x_hi / y_hi)`, the product `q y_hi = p + e` is within 2.01u of `x_hi`, so `x_hi - p` is exact
/// (Sterbenz). The remainder `x - q y = (x_hi - p) + (x_lo - e - q y_lo)` is made with three roundings, of numbers below
/// 2.01u, 3.1u and 5.2u of `x_hi`; dividing it by `y_hi` instead of `y` loses u of it, and the division rounds once
/// more: together (2.01 + 3.1 + 5.2 + 5.2 + 5.2) u^2 < 32 u^2 = 2^-101 of the quotient. Of two f64 the remainder is
/// an f64, and zero where the quotient is one (Dekker 1971). The operands' errors give `(dx + |q| dy) / (|y| - dy)`.
#[inline(always)]
pub fn div(x: Pair, y: Pair) -> Pair {
    let quotient = x.hi / y.hi;
    let (product, product_low) = two_product(quotient, y.hi);
    let remainder = (x.hi - product) + (-quotient).mul_add(y.lo, x.lo - product_low);
    let (hi, lo) = fast_two_sum(quotient, remainder / y.hi);
    let is_exact = x.lo == 0.0 && y.lo == 0.0 && x.error == 0.0 && y.error == 0.0 && remainder == 0.0;
    let rounding = if is_exact { 0.0 } else { hi.abs() * power_of_two(-101) };
    let carried = (x.error + quotient.abs() * y.error) / y.hi.abs() * SECOND_ORDER;
    let error = (carried + rounding) * GROWN;
    let regular = is_moderate(x.hi)
        && is_moderate(y.hi)
        && is_moderate(quotient)
        && y.error < y.hi.abs() * KNOWN
        && error < LARGE;
    if regular { Pair { hi, lo, error } } else { IRREGULAR }
}

/// The square root.
///
/// Proof. With `s = RN(sqrt x_hi)`, the remainder `x_hi - s^2` is an f64 (Dekker 1971) below 2.01u of `x`, and
/// `d = x - s^2` below 3.02u of it. `s + d / (2s)` is short of `sqrt(s^2 + d)` by `d^2 / (8 s^3)` < 1.2 u^2 s; rounding d and
/// the quotient loses 1.52 u^2 s each: together below 8 u^2 = 2^-103 (the same algorithm has 25/8 u^2 in Lefevre et
/// al., ACM TOMS 49(1), 2023). An error dx of x gives at most `dx / s`.
#[inline(always)]
pub fn sqrt(x: Pair) -> Pair {
    let root = x.hi.sqrt();
    let remainder = (-root).mul_add(root, x.hi) + x.lo;
    let (hi, lo) = fast_two_sum(root, remainder / (2.0 * root));
    // A sum of two f64 is zero only where nothing is left.
    let rounding = if remainder == 0.0 { 0.0 } else { hi * power_of_two(-103) };
    let error = (x.error / root + rounding) * GROWN;
    let regular = x.hi > SMALL && x.hi < LARGE && x.error < x.hi * KNOWN;
    if regular { Pair { hi, lo, error } } else { IRREGULAR }
}

/// `1 / sqrt(x)`, by the two.
#[inline(always)]
pub fn rsqrt(x: Pair) -> Pair {
    div(Pair::exact(1.0), sqrt(x))
}
